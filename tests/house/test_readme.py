"""Every example in the README runs and prints what it says."""

from __future__ import annotations

import re
from pathlib import Path

from needs import need
from page_examples import run_page
from shell_lines import run_line

README = Path(__file__).parents[2] / "README.md"
TEXT = README.read_text(encoding="utf-8")
# What a newcomer copies first, line by line.
FIRST_SCREEN = re.compile(r"^```bash\n(.+?)^```$", re.MULTILINE | re.DOTALL)


def test_readme_examples(tmp_path, monkeypatch):
    need("altair")
    monkeypatch.chdir(tmp_path)
    rest, n_first = FIRST_SCREEN.subn("", TEXT, count=1)  # has a test of its own below
    tried, wrong = run_page(rest, "README.md")
    assert n_first == 1 and tried >= 4
    assert not wrong, "\n".join(wrong)


def test_the_first_screen_line_by_line(tmp_path):
    """As a newcomer copies it; that the command is installed is held by tests/cli."""
    need("altair")
    lines = FIRST_SCREEN.search(TEXT)[1].splitlines()
    assert [line.split()[:2] for line in lines] == [
        ["calibrant", verb] for verb in ("demo", "report", "check")
    ]
    printed = ""
    for line in lines:
        code, said = run_line(line.strip(), tmp_path)
        assert code == 0, said
        printed += said
    assert (tmp_path / "page.html").stat().st_size > 100_000
    quoted = " ".join(re.findall(r"^> (.+)$", TEXT, re.MULTILINE))
    assert quoted in " ".join(printed.split())


def test_the_installation_works_on_every_system():
    """From a copy of the repository, in an environment of its own, with an extra that exists."""
    project = need("tomllib").loads((README.parent / "pyproject.toml").read_text(encoding="utf-8"))
    for language, activate in (("sh", ". .venv/bin/activate"), ("bat", r".venv\Scripts\activate")):
        block = re.search(rf"^```{language}\n(.+?)^```$", TEXT, re.MULTILINE | re.DOTALL)[1]
        made, entered, installed = block.splitlines()
        assert made.endswith(" -m venv .venv") and entered == activate
        extra = re.fullmatch(r"pip install ['\"]\.\[(\w+)\]['\"]", installed)[1]
        assert extra in project["project"]["optional-dependencies"]


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


def test_the_moving_picture_moves_and_is_small():
    """If it shows another page than there is: python docs/make/moving_picture.py."""
    (path,) = re.findall(r"!\[[^\]]+\]\(([^)]+\.webp)\)", TEXT)
    picture = README.parent / path
    assert picture.stat().st_size < 2_000_000
    assert b"ANIM" in picture.read_bytes()[:64]
