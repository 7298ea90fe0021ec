"""Every shell session of the guide, run line by line in one folder."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

from needs import need
from shell_lines import run_line

GUIDE = Path(__file__).parents[2] / "docs" / "reference" / "command-line.md"


def sessions():
    """Each command and what is printed under it."""
    for block in re.findall(r"```text\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, expected = part.partition("\n")
            yield command, expected.rstrip() + "\n"


def test_the_guide_says_what_happens(tmp_path):
    need("pyarrow")
    checker, tried = doctest.OutputChecker(), 0
    for command, expected in sessions():
        printed = run_line(command, tmp_path)[1].rstrip() + "\n"
        same = checker.check_output(expected, printed, doctest.ELLIPSIS)
        assert same, f"$ {command}\n{printed}\nis not\n{expected}"
        tried += 1
    assert tried > 10
