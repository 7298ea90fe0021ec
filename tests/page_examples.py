"""Runs the examples of a page from top to bottom: Python sessions, and commands of a shell.

A fence with prompts is a session, and all sessions of a page share their names. In a ```console
fence a line that begins with "$ " is a command, and what follows is what it prints; "..." stands
for anything. A command must succeed: one that is shown to fail says so with `echo "exit $?"`. A
```toml fence with a title is a file of that name.
"""

from __future__ import annotations

import doctest
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shell_lines import run_line

_FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_FILE = re.compile(r'^```toml title="([\w.]+)"\n(.*?)^```$', re.MULTILINE | re.DOTALL)
_COMMAND = re.compile(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)


@dataclass(frozen=True)
class Fence:
    language: str
    text: str
    line: int


def fences(page: str) -> Iterator[Fence]:
    for found in _FENCE.finditer(page):
        yield Fence(found[1], found[2], page.count("\n", 0, found.start()))


def has_examples(page: str) -> bool:
    return any(fence.language == "console" or ">>> " in fence.text for fence in fences(page))


def run_page(text: str, name: str) -> tuple[int, list[str]]:
    """How many examples were tried in the current folder, and what went wrong."""
    scope: dict[str, Any] = {}
    tried, wrong = 0, []
    for file, content in _FILE.findall(text):
        Path(file).write_text(content, encoding="utf-8")
    for fence in fences(text):
        run = _run_console if fence.language == "console" else _run_session
        n, failures = run(fence, name, scope)
        tried += n
        wrong += failures
    return tried, wrong


def _run_session(fence: Fence, name: str, scope: dict[str, Any]) -> tuple[int, list[str]]:
    said: list[str] = []
    test = doctest.DocTestParser().get_doctest(fence.text, scope, name, name, fence.line + 1)
    results = doctest.DocTestRunner(verbose=False).run(test, out=said.append, clear_globs=False)
    scope.update(test.globs)
    return results.attempted, ["".join(said)] if results.failed else []


def _run_console(fence: Fence, name: str, _: dict[str, Any]) -> tuple[int, list[str]]:
    commands = _COMMAND.findall(fence.text)
    wrong = []
    for command, wanted in commands:
        code, printed = run_line(command)
        same = doctest.OutputChecker().check_output(wanted, printed, doctest.ELLIPSIS)
        if code or not same:
            where = f"{name}, line {fence.line + 1}: $ {command}\n"
            wrong.append(f"{where}wanted\n{wanted}\ngot (exit {code})\n{printed}")
    return len(commands), wrong
