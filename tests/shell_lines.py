"""Lines of a shell as a guide shows them; what needs no shell runs in the tests' own process."""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

from calibrant._cli import main

# One command without pipes and patterns, perhaps with its exit code told.
_PLAIN = re.compile(r"calibrant ([^|;&<>$`*\\]*)(?:; echo (?:\$\?|\"exit \$\?\"))?")


def run_line(line: str, folder: str | Path = ".") -> tuple[int, str]:
    """The exit code of a line and all that it prints."""
    plain = _PLAIN.fullmatch(line)
    if plain is None:
        # The command that is installed beside this Python, whatever else is on the path.
        path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
        done = subprocess.run(
            ["bash", "-c", line], cwd=folder, env={**os.environ, "PATH": path}, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False, timeout=300,
        )  # fmt: skip
        return done.returncode, done.stdout
    out = io.StringIO()
    code = run_main(shlex.split(plain[1]), folder, out, out)
    if "; echo" in line:
        out.write(f"exit {code}\n" if "exit" in line.rpartition(";")[2] else f"{code}\n")
        code = 0
    return code, out.getvalue()


def run_main(arguments: list[str], folder: str | Path, out: io.StringIO, err: io.StringIO) -> int:
    """The command line in this process: another one takes a second to import everything."""
    with contextlib.chdir(folder), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            return main(arguments)
        except SystemExit as end:  # help, or a wrong option
            return int(end.code or 0)
