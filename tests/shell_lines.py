"""Lines of a shell as a guide shows them; every command of ours runs in the tests' own process."""

from __future__ import annotations

import contextlib
import io
import os
import re
import select
import shlex
import subprocess
import sys
import tempfile
import unittest.mock
from pathlib import Path
from typing import TextIO

from calibrant._cli import main

# One command without pipes and patterns, perhaps with its exit code told.
_PLAIN = re.compile(r"calibrant ([^|;&<>$`*\\]*)(?:; echo (?:\$\?|\"exit \$\?\"))?")
# The command as a function of the shell, which asks this process: one of its own would take a
# second to import everything. Words end with a zero byte, and what is asked with two.
_ASKING = r"""
calibrant() {
    local code
    printf '%s\0' "$PWD" "$@" '' > "$CALIBRANT_ASKED/words"
    read -r code < "$CALIBRANT_ASKED/code"
    cat "$CALIBRANT_ASKED/err" >&2
    cat "$CALIBRANT_ASKED/out"
    return "$code"
}
"""


# Columns of what pages show.
WIDEST = "88"


def run_line(line: str, folder: str | Path = ".") -> tuple[int, str]:
    """The exit code of a line and all that it prints, as wide as pages show it."""
    with unittest.mock.patch.dict(os.environ, COLUMNS=WIDEST):
        return _run_line(line, folder)


def _run_line(line: str, folder: str | Path) -> tuple[int, str]:
    plain = _PLAIN.fullmatch(line)
    if plain is None:
        return (_run_in_shell if hasattr(os, "mkfifo") else _run_installed)(line, folder)
    out = io.StringIO()
    code = run_main(shlex.split(plain[1]), folder, out, out)
    if "; echo" in line:
        out.write(f"exit {code}\n" if "exit" in line.rpartition(";")[2] else f"{code}\n")
        code = 0
    return code, out.getvalue()


def _path() -> str:
    """First what is installed beside this Python, whatever else is on the path."""
    return os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])


def _run_installed(line: str, folder: str | Path) -> tuple[int, str]:
    """With the command that is installed, in processes of its own."""
    done = subprocess.run(
        ["bash", "-c", line],
        cwd=folder,
        env={**os.environ, "PATH": _path()},
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
        timeout=300,
    )
    return done.returncode, done.stdout


def _run_in_shell(line: str, folder: str | Path) -> tuple[int, str]:
    with tempfile.TemporaryDirectory() as asked, tempfile.TemporaryFile("w+") as printed:
        words, code = Path(asked, "words"), Path(asked, "code")
        os.mkfifo(words)
        os.mkfifo(code)
        # Open for both, or it would be at its end between two commands.
        asking = os.open(words, os.O_RDWR)
        shell = subprocess.Popen(
            ["bash", "-c", _ASKING + line],
            cwd=folder,
            stdout=printed,
            stderr=subprocess.STDOUT,
            env={**os.environ, "CALIBRANT_ASKED": asked, "PATH": _path()},
        )
        try:
            while shell.poll() is None:
                if select.select([asking], [], [], 0.02)[0]:
                    _answer(asking, Path(asked))
        finally:
            os.close(asking)
            shell.kill()
            shell.wait()
        printed.seek(0)
        return shell.returncode, printed.read()


def _answer(asking: int, asked: Path) -> None:
    """Run one command for the shell."""
    said = b""
    while not said.endswith(b"\0\0"):
        said += os.read(asking, 65536)
    where, *arguments = said[:-2].decode().split("\0")
    out, err = io.StringIO(), io.StringIO()
    code = run_main(arguments, where, out, err)
    (asked / "out").write_text(out.getvalue(), encoding="utf-8")
    (asked / "err").write_text(err.getvalue(), encoding="utf-8")
    (asked / "code").write_text(f"{code}\n", encoding="utf-8")


def run_main(arguments: list[str], folder: str | Path, out: TextIO, err: TextIO) -> int:
    """The command line in this process: another one takes a second to import everything."""
    with contextlib.chdir(folder), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            return main(arguments)
        except SystemExit as end:  # help, or a wrong option
            return int(end.code or 0)
