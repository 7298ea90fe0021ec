"""Every shell session of the guide, run line by line in one folder."""

from __future__ import annotations

import doctest
import os
import re
import subprocess
import sys
from pathlib import Path

from needs import need

GUIDE = Path(__file__).parents[2] / "docs" / "command-line.md"


def sessions():
    """Each command and what is printed under it."""
    for block in re.findall(r"```text\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, expected = part.partition("\n")
            yield command, expected.rstrip() + "\n"


def test_the_guide_says_what_happens(tmp_path):
    need("pyarrow")
    # The command that is installed beside this Python, whatever else is on the path.
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    checker, tried = doctest.OutputChecker(), 0
    for command, expected in sessions():
        done = subprocess.run(
            ["bash", "-c", command], cwd=tmp_path, env={**os.environ, "PATH": path}, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False, timeout=120,
        )  # fmt: skip
        printed = done.stdout.rstrip() + "\n"
        same = checker.check_output(expected, printed, doctest.ELLIPSIS)
        assert same, f"$ {command}\n{printed}\nis not\n{expected}"
        tried += 1
    assert tried > 10
