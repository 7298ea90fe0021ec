"""What an error tells to install is what helps: every MissingExtra against pyproject.toml."""

import ast
import pickle
import re
import sys
import tomllib
from pathlib import Path

import pytest

import calibrant as cal

ROOT = Path(__file__).parents[2]
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]


def packages(extra):
    """Every package that an extra brings, those of extras within it too."""
    found = set()
    for line in EXTRAS[extra]:
        name = re.match(r"[\w-]+", line)[0]
        inner = re.match(r"calibrant\[([\w,]+)\]", line)
        found |= set().union(*map(packages, inner[1].split(","))) if inner else {name}
    return found


def raised():
    """The package and the extra of every MissingExtra in the source, where both are written."""
    for path in (ROOT / "src").rglob("*.py"):
        text = path.read_text()
        for node in ast.walk(ast.parse(text)) if re.search(r"MissingExtra\(|need\(", text) else ():
            called = getattr(node, "func", None)
            name = getattr(called, "id", getattr(called, "attr", None))
            if isinstance(node, ast.Call) and name == "MissingExtra":
                yield path.name, *node.args[:2]
            if isinstance(node, ast.Call) and name == "need" and len(node.args) == 3:
                yield path.name, node.args[0], node.args[2]


CALLS = list(raised())


def test_the_source_has_such_errors():
    assert len(CALLS) > 8


def test_an_extra_has_the_package_that_is_missing():
    for where, package, extra in CALLS:
        extras = [node.value for node in ast.walk(extra) if isinstance(node, ast.Constant)]
        for name in (one for one in extras if isinstance(one, str) and one in EXTRAS):
            if isinstance(package, ast.Constant):
                assert package.value in packages(name), f"{where}: calibrant[{name}]"
        assert isinstance(extra, ast.Constant | ast.IfExp), where
    if isinstance(extra, ast.Constant):
        assert extra.value is None or extra.value in EXTRAS
        # What is in no extra is not to be looked for in one.
        if extra.value is None and isinstance(package, ast.Constant):
            user = [name for name in EXTRAS if name not in ("test", "docs")]
            assert not any(package.value in packages(name) for name in user)


def test_pages_need_packages_of_their_extra():
    """The one error whose package is a variable."""
    found = set()
    for path in (ROOT / "src/calibrant/results/_pages").glob("*.py"):
        found |= set(re.findall(r'\bneed\("(\w+)"\)', path.read_text()))
    assert found and {name.replace("vl_convert", "vl-convert-python") for name in found} <= (
        packages("report")
    )


# Imported under another name than they are installed by; None is no package of its own.
INSTALLED_AS = {
    "sklearn": "scikit-learn",
    "vl_convert": "vl-convert-python",
    "inspect_ai": "inspect-ai",
    "ignite": "pytorch-ignite",
    "mlflow": "mlflow-skinny",
}
# Whose users have them already: frames and engines are looked at only when they are given.
USERS_OWN = {
    "pandas",
    "polars",
    "duckdb",
    "dask",
    "ibis",
    "triton",
    "datasets",
    "matplotlib_inline",
}


IMPORT = re.compile(r"^\s*(?:from\s+(\w+)[\w.]*\s+import\b|import\s+(.+))", re.MULTILINE)


def may_import(text, known):
    """Whether a line looks like an import of something else: to parse all files takes seconds."""
    for line in IMPORT.finditer(text):
        names = line[1] or ",".join(re.findall(r"(?:^|,)\s*(\w+)", line[2]))
        if not {INSTALLED_AS.get(name, name) for name in names.split(",")} <= known:
            return True
    return "__import__" in text or (";" in text and re.search(r";\s*(import|from)\b", text))


def imported(known):
    """Packages that modules of ours import, wherever in the file, if some may not be known."""
    for path in (ROOT / "src").rglob("*.py"):
        if not may_import(path.read_text(), known):
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            names = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and not node.level:
                names = [node.module]
            yield from ((name.partition(".")[0], path.name) for name in names)


def test_every_import_is_declared():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    always = {re.match(r"[\w-]+", line)[0] for line in project["dependencies"]}
    optional = set().union(*(packages(name) for name in EXTRAS if name not in ("test", "docs")))
    known = {*sys.stdlib_module_names, *always, *optional, *USERS_OWN, "calibrant"}
    undeclared = {
        (name, where)
        for name, where in imported(known)
        if INSTALLED_AS.get(name, name) not in known
    }
    assert not undeclared


@pytest.mark.parametrize(
    "line", ["import peer", "import os, peer", "    from peer.part import x", "import peer as p"]
)
def test_an_import_that_is_not_declared_is_found(line):
    assert may_import(f"import os\n{line}\n", {"os"})
    assert not may_import(f"import os\n{line}\n", {"os", "peer"})


def test_the_install_command_is_told_and_the_error_can_be_pickled():
    error = cal.MissingExtra("pandas", None, "to_frame()")
    assert str(error).endswith("not installed: pip install pandas")
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is cal.MissingExtra and str(again) == str(error)
    error = cal.MissingExtra("matplotlib", "plot", "a plot")
    assert str(error).endswith("not installed: pip install matplotlib (the extra 'plot')")
    # Until calibrant is published, pip knows extras by the names of their packages alone.
    assert packages("report") >= {"jinja2", "altair"}
    text = str(cal.MissingExtra("jinja2", "report", "a page"))
    assert all(name in text for name in packages("report")) and "calibrant[" not in text
