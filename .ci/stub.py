"""Write the stubs of public modules, which editors and type checkers read.

A public name is imported when it is first used, and the docstring of a public function or of a
recalibration map is completed when it is defined: both happen at run time, which editors and type
checkers do not look at. The stubs have every public function with its whole signature and
docstring, and every map with its whole docstring; other classes are imported from where they are.
These are `calibrant`, `calibrant.scaling`, `calibrant.results` and `calibrant.plots`.

    python .ci/stub.py    # writes the stubs; a test compares them with the code
"""

from __future__ import annotations

import ast
import builtins
import inspect
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType

import calibrant
from calibrant import plots, results, scaling
from calibrant._core.arguments import BUNDLES, bundled_keywords

STUB = Path(calibrant.__file__).with_suffix(".pyi")
SCALING_STUB = Path(scaling.__file__).with_suffix(".pyi")
RESULTS_STUB = Path(results.__file__).with_suffix(".pyi")
PLOTS_STUB = Path(plots.__file__).with_suffix(".pyi")
_NOTICE = "# Written by .ci/stub.py: change the functions, then run it.\n"
_LONG_LINES = "# ruff: noqa: E501, N803\n"
_BOUNDS = calibrant.Bounds.__module__
_ABSTRACT = "__abstractmethods__"


def stub() -> str:
    """The text of the stub as the formatter leaves it."""
    imports = {"from calibrant._core.version import __version__"}
    imports.update(f"from calibrant import {name} as {name}" for name in calibrant._SUBMODULES)
    functions: list[str] = []
    for name, module in sorted(calibrant._MODULE_OF.items()):
        if inspect.isfunction(getattr(calibrant, name)):
            definition = _definition(module, name)
            imports.update(_imports_for(definition, module))
            shown = [ast.unparse(definition)]
            if " | Between" in shown[0]:  # of labels that are sets: bounds
                imports |= {"from typing import overload", f"from {_BOUNDS} import Bounds"}
                shown = [f"@overload\n{each}" for each in _overloads(shown[0])]
            docstring = _docstring(getattr(calibrant, name))
            functions += [f"{each}\n{docstring}" for each in shown]
        else:
            where = f"{module}.{results._WHERE[name]}" if module == results.__name__ else module
            imports.add(f"from {where} import {name}")
    names = f"__all__ = {calibrant.__all__!r}"
    return _formatted("\n".join([_NOTICE + _LONG_LINES, *sorted(imports), names, *functions]))


def scaling_stub() -> str:
    """The text of the stub of `calibrant.scaling`: every map with signatures and docstrings."""
    imports, classes = {"from calibrant.scaling._load import SCALERS"}, []
    # A class stands after those that it inherits from.
    for name in sorted(scaling.__all__, key=lambda name: (_n_bases(name), name)):
        thing = getattr(scaling, name)
        if name in scaling.SCALERS:
            definition = _class_definition(thing)
            used = set(_imports_for(definition, thing.__module__))
            imports.update(line for line in used if line.split()[-1] not in scaling.SCALERS)
            head, *members = ast.unparse(definition).splitlines(keepends=True)
            classes.append(f"{head}{_docstring(thing)}\n{''.join(members)}")
        elif name != "SCALERS":
            imports.add(f"from {thing.__module__} import {name}")
    names = f"__all__ = {scaling.__all__!r}"
    return _formatted("\n".join([_NOTICE, *sorted(imports), names, *classes]))


def stub_of_names(package: ModuleType) -> str:
    """The stub of `calibrant.results` or `calibrant.plots`: names, from where they are defined."""
    names = {name: getattr(package, name).__module__ for name in package.__all__}
    imports = [f"from {module} import {name}" for name, module in names.items()]
    return _formatted("\n".join([_NOTICE, *imports, f"__all__ = {package.__all__!r}"]))


def _n_bases(name: str) -> int:
    return len(getattr(getattr(scaling, name), "__mro__", ()))


def _class_definition(kind: type) -> ast.ClassDef:
    """A map without its docstring and without the bodies of its methods."""
    tree = _tree(kind.__module__)
    (node,) = (n for n in tree.body if isinstance(n, ast.ClassDef) and n.name == kind.__name__)
    node.decorator_list = []
    # Without a method that its base class leaves open a map could not be made.
    shown = {"__init__", *(n for base in kind.__mro__ for n in getattr(base, _ABSTRACT, ()))}
    body: list[ast.stmt] = []
    for each in node.body[1:]:
        if isinstance(each, ast.FunctionDef) and (each.name in shown or each.name[0] != "_"):
            each.decorator_list = [d for d in each.decorator_list if ast.unparse(d) != "public"]
            text = None if each.name.startswith("_") else ast.get_docstring(each, clean=False)
            each.body = [ast.Expr(ast.Constant(text or ...))]
            body.append(each)
        elif isinstance(each, ast.AnnAssign) and each.value is None and each.simple:
            body.append(each)
    node.body = body or [ast.Pass()]
    return node


def _definition(module: str, name: str) -> ast.FunctionDef:
    """A public function without decorators and body."""
    for node in _tree(module).body:
        if isinstance(node, ast.FunctionDef) and node.name == name:
            node.decorator_list, node.body = [], []
            rows = node.args.kwarg
            bundle = ast.unparse(rows.annotation) if rows and rows.annotation else ""
            if bundle in BUNDLES:
                node.args.kwarg = None
                node.args.kwonlyargs += _keywords(bundle).kwonlyargs
                node.args.kw_defaults += _keywords(bundle).kw_defaults
            return node
    raise LookupError(f"{module} defines no function {name}")


def _overloads(signature: str) -> tuple[str, str]:
    """The signature with labels alone, and with sets of labels, whose result is `Bounds`."""
    head, _, _ = signature.rpartition(" -> ")
    of_sets = head.replace("ArrayLike | Between", "Between", 1)
    return signature.replace(" | Between", "", 1), f"{of_sets} -> Bounds:"


def _keywords(bundle: str) -> ast.arguments:
    """The keywords of a bundle as arguments of a function."""
    shown = [
        f"{each.name}: {each.annotation} = {each.default!r}" for each in bundled_keywords(bundle)
    ]
    (function,) = ast.parse(f"def _(*, {', '.join(shown)}): ...").body
    assert isinstance(function, ast.FunctionDef)
    return function.args


def _docstring(thing: object) -> str:
    """The docstring that `help` shows, as the body of a function or class."""
    text = str(inspect.getdoc(thing))
    prefix = "r" if "\\" in text else ""
    return textwrap.indent(f'{prefix}"""{text}\n"""', "    ")


@cache
def _tree(module: str) -> ast.Module:
    path = import_module(module).__file__
    return ast.parse(Path(str(path)).read_text(encoding="utf-8"))


def _imports_for(definition: ast.stmt, module: str) -> Iterator[str]:
    """Imports of the names that a signature uses, as the module has them."""
    known = {
        alias.asname or alias.name: f"{_from(node)}import {ast.unparse(alias)}"
        for tree in (_tree("calibrant._core.arguments"), _tree(module))
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    }
    names = [node for node in ast.walk(definition) if isinstance(node, ast.Name)]
    used = {node.id for node in names if isinstance(node.ctx, ast.Load)}
    for name in used - vars(builtins).keys():
        yield known.get(name, f"from {module} import {name}")


def _from(node: ast.Import | ast.ImportFrom) -> str:
    return f"from {node.module} " if isinstance(node, ast.ImportFrom) else ""


def _formatted(text: str) -> str:
    for command in (["check", "--select=I", "--fix", "--quiet"], ["format", "--quiet"]):
        ruff = [sys.executable, "-m", "ruff", *command, "--stdin-filename", str(STUB), "-"]
        text = subprocess.run(ruff, input=text, text=True, check=True, capture_output=True).stdout
    return text


if __name__ == "__main__":
    STUB.write_text(stub(), encoding="utf-8")
    SCALING_STUB.write_text(scaling_stub(), encoding="utf-8")
    RESULTS_STUB.write_text(stub_of_names(results), encoding="utf-8")
    PLOTS_STUB.write_text(stub_of_names(plots), encoding="utf-8")
