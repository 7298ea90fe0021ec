"""Every example in the README runs and prints what it says."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

from needs import need
from shell_lines import run_line

README = Path(__file__).parents[2] / "README.md"
TEXT = README.read_text(encoding="utf-8")


def test_readme_examples():
    failures, tried = doctest.testfile(str(README), module_relative=False)
    assert tried > 8
    assert failures == 0


def test_the_first_screen_line_by_line(tmp_path):
    """As a newcomer copies it; that the command is installed is held by tests/cli."""
    need("altair")
    lines = re.findall(r"^    \.venv/bin/(calibrant [^#\n]+)", TEXT, re.MULTILINE)
    assert [line.split()[1] for line in lines] == ["demo", "report", "check"]
    printed = ""
    for line in lines:
        code, said = run_line(line.strip(), tmp_path)
        assert code == 0, said
        printed += said
    assert (tmp_path / "page.html").stat().st_size > 100_000
    quoted = " ".join(re.findall(r"^> (.+)$", TEXT, re.MULTILINE))
    assert quoted in " ".join(printed.split())


def test_links_lead_somewhere():
    paths = re.findall(r"\]\(([^)#:]+)\)", TEXT)
    assert len(paths) > 10
    assert [path for path in paths if not (README.parent / path).exists()] == []


def test_the_readme_is_read_in_a_minute():
    assert len(TEXT.splitlines()) <= 150
    pictures = re.findall(r'(?:src|srcset)="([^"]+)"', TEXT)
    assert len(pictures) == 4
    for path in pictures:
        assert (README.parent / path).stat().st_size < 150_000
