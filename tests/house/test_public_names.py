"""The public surface: what users may rely on is written down here, and nothing else is public."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
from pathlib import Path

import pytest

import calibrant as cal
from needs import need

ROOT = Path(__file__).parents[2]
SOURCE = Path(cal.__file__).parent
# Packages whose names users may import, each with an `__all__` of its own.
PUBLIC = (
    "calibrant",
    "calibrant.examples",
    "calibrant.losses",
    "calibrant.plots",
    "calibrant.results",
    "calibrant.scaling",
)
# Modules that other packages are told to import by name.
INTEGRATIONS = {
    "sklearn",
    "torchmetrics",
    "evaluate_metric",
    "inspect_ai",
    "lm_eval",
    "mlflow",
    "ignite",
    "tensorboard",
    "evidently",
    "hugging_face",
}


def test_every_other_module_is_private():
    """A module is public by the list above, or its path has a leading underscore somewhere."""
    loose = []
    for module in pkgutil.walk_packages(cal.__path__, "calibrant."):
        private = any(name.startswith("_") for name in module.name.split("."))
        room, _, name = module.name.rpartition(".")
        known = module.name in (*PUBLIC, "calibrant.integrations") or (
            room == "calibrant.integrations" and name in INTEGRATIONS
        )
        if not (private or known):
            loose.append(module.name)
    assert loose == []


def test_public_names_are_those_written_down():
    """A name that goes or comes is a decision: write it into public_names.txt."""
    need("torch")  # of the losses
    written = (Path(__file__).parent / "public_names.txt").read_text(encoding="utf-8").split()
    rooms = ((room, importlib.import_module(room).__all__) for room in PUBLIC)
    assert sorted(f"{room}.{name}" for room, names in rooms for name in names) == sorted(written)


@pytest.mark.parametrize("room", PUBLIC)
def test_every_public_name_is_there_and_listed_by_dir(room):
    if room == "calibrant.losses":
        need("torch")
    module = importlib.import_module(room)
    for name in getattr(module, "__all__", ()):
        assert getattr(module, name) is not None
        assert name in dir(module)


PRIVATE = re.compile(r"\bcalibrant\._(?!_)\w+")
IMPORT = re.compile(r"^\s*(?:>>> )?(?:from|import) .*$", re.MULTILINE)


def docstrings(tree: ast.AST) -> set[int]:
    """What developers read: public docstrings have a test of their own."""
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef)
    bodies = (node.body for node in ast.walk(tree) if isinstance(node, kinds))
    return {id(body[0].value) for body in bodies if body and isinstance(body[0], ast.Expr)}


def test_messages_name_public_paths_only():
    """Text that a user reads never leads into a private room; a bare path is for an import."""
    wrong = []
    for path in SOURCE.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        if "calibrant" not in IMPORT.sub("", text):  # to parse all of them takes seconds
            continue
        tree = ast.parse(text)
        inside = docstrings(tree)
        wrong += [
            f"{path.relative_to(SOURCE)}:{node.lineno}: {node.value[:80]}"
            for node in ast.walk(tree)
            if isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and id(node) not in inside
            and PRIVATE.search(node.value)
            and not re.fullmatch(r"calibrant(\.\w+)*\.?", node.value)
        ]
    assert wrong == []


def test_guides_name_public_paths_only():
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    inside = {"CONTRIBUTING.md", "layout.md", "CHANGELOG.md"}
    wrong = [
        f"{page.name}: {match}"
        for page in pages
        if page.name not in inside
        for match in PRIVATE.findall(page.read_text(encoding="utf-8"))
    ]
    assert wrong == []
