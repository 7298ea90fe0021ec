"""Write src/calibrant/__init__.pyi, what editors and type checkers read of the package.

A public name is imported when it is first used, and the docstring of a public function is completed
when the function is defined: both happen at run time, which editors and type checkers do not look
at. The stub has every public function with its whole signature and docstring, and imports the
classes from where they are.

    python .ci/stub.py    # writes the stub; a test compares it with the code
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

import calibrant
from calibrant._core.arguments import BUNDLES, bundled_keywords

STUB = Path(calibrant.__file__).with_suffix(".pyi")
_NOTICE = """\
# Written by .ci/stub.py: change the functions, then run it.
# ruff: noqa: E501
"""


def stub() -> str:
    """The text of the stub as the formatter leaves it."""
    imports = {"from calibrant._core.version import __version__"}
    imports.update(f"from calibrant import {name} as {name}" for name in calibrant._SUBMODULES)
    functions: list[str] = []
    for name, module in sorted(calibrant._MODULE_OF.items()):
        if inspect.isfunction(getattr(calibrant, name)):
            definition = _definition(module, name)
            imports.update(_imports_for(definition, module))
            functions.append(f"{ast.unparse(definition)}\n{_docstring(name)}")
        else:
            imports.add(f"from {module} import {name}")
    names = f"__all__ = {calibrant.__all__!r}"
    return _formatted("\n".join([_NOTICE, *sorted(imports), names, *functions]))


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


def _keywords(bundle: str) -> ast.arguments:
    """The keywords of a bundle as arguments of a function."""
    shown = [
        f"{each.name}: {each.annotation} = {each.default!r}" for each in bundled_keywords(bundle)
    ]
    (function,) = ast.parse(f"def _(*, {', '.join(shown)}): ...").body
    assert isinstance(function, ast.FunctionDef)
    return function.args


def _docstring(name: str) -> str:
    """The docstring that `help` shows, as the body of the function."""
    text = str(inspect.getdoc(getattr(calibrant, name)))
    prefix = "r" if "\\" in text else ""
    return textwrap.indent(f'{prefix}"""{text}\n"""', "    ")


@cache
def _tree(module: str) -> ast.Module:
    path = import_module(module).__file__
    return ast.parse(Path(str(path)).read_text(encoding="utf-8"))


def _imports_for(definition: ast.FunctionDef, module: str) -> Iterator[str]:
    """Imports of the names that a signature uses, as the module has them."""
    known = {
        alias.asname or alias.name: f"{_from(node)}import {ast.unparse(alias)}"
        for tree in (_tree("calibrant._core.arguments"), _tree(module))
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    }
    used = {node.id for node in ast.walk(definition) if isinstance(node, ast.Name)}
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
