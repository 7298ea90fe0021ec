"""The reference of the command line has every command and option (its examples: test_guides)."""

from __future__ import annotations

import importlib
import re
import sys
from pathlib import Path

import pytest

from calibrant._cli.command import VERBS, build_parser

DOCS = Path(__file__).parents[2] / "docs"
GUIDE = DOCS / "reference" / "command-line.md"
# What the page says once of all of them.
EVERYWHERE = {"-h", "--help", "--json", "--debug"}
BARE = {"info", "demo", "completion"}


@pytest.fixture(scope="module")
def made():
    sys.path.insert(0, str(DOCS / "make"))
    try:
        commands = importlib.import_module("commands")
        yield commands.placed(GUIDE.read_text(encoding="utf-8"))
    finally:
        sys.path.remove(str(DOCS / "make"))


def options_under(heading: str, page: str) -> set[str]:
    """The options in the first column of the tables below a heading."""
    text = page.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    cells = re.findall(r"^\| `([^`]+)` \|", text, re.MULTILINE)
    return {word.strip(",") for cell in cells for word in cell.split() if word.startswith("-")}


def test_every_command_is_described(made):
    table = made.partition("\n## ")[0]
    for name in VERBS:
        assert f"`{name}`" in table
        assert name in BARE or f"\n## {name}\n" in made


def test_every_option_is_described(made):
    shared = options_under("Columns and formats", made)
    assert {"--label", "--proba", "--counts", "--confidence", "--acc-norm"} <= shared
    for verb in build_parser().verbs():
        if verb.name in BARE:
            continue
        known = {text for action in verb._actions for text in action.option_strings} - EVERYWHERE
        own = options_under(verb.name, made)
        assert own <= known
        assert known <= own | shared, verb.name


def test_no_mark_is_left(made):
    assert "<!-- options" not in made
