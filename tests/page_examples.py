"""Runs the examples of a page from top to bottom: sessions, scripts, and commands of a shell.

A fence with prompts is a session, and all sessions and scripts of a page share their names. In a
```console fence a line that begins with "$ " is a command, and what follows is what it prints;
"..." stands for anything. A command must succeed: one that is shown to fail says so with
`echo "exit $?"`. A ```toml fence with a title is a file of that name.

What is there to be pasted has no prompts: ```python is a script, ```bash holds commands, and a
```text fence right below holds what they print. `<!-- not run: why -->` above one leaves it alone.
"""

from __future__ import annotations

import ast
import contextlib
import doctest
import io
import re
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shell_lines import run_line

_FENCE = re.compile(
    r"(?P<unrun>^<!-- not run: .+ -->\n+)?^```(?P<language>\w+)\n(?P<text>.*?)^```$"
    r"(?:\n+^```text\n(?P<printed>.*?)^```$)?",
    re.MULTILINE | re.DOTALL,
)
_FILE = re.compile(r'^```toml title="([\w.]+)"\n(.*?)^```$', re.MULTILINE | re.DOTALL)
_COMMAND = re.compile(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)


@dataclass(frozen=True)
class Fence:
    language: str
    text: str
    line: int
    printed: str | None = None


def fences(page: str) -> Iterator[Fence]:
    for found in _FENCE.finditer(page):
        if not found["unrun"]:
            line = page.count("\n", 0, found.start("language"))
            yield Fence(found["language"], found["text"], line, found["printed"])


def has_examples(page: str) -> bool:
    runs = {"console", "bash", "python"}
    return any(fence.language in runs or ">>> " in fence.text for fence in fences(page))


def run_page(text: str, name: str, scope: dict[str, Any] | None = None) -> tuple[int, list[str]]:
    """How many examples were tried in the current folder, and what went wrong.

    Sessions and scripts share the names of `scope`, to which they add their own.
    """
    scope = {} if scope is None else scope
    tried, wrong = 0, []
    for file, content in _FILE.findall(text):
        Path(file).write_text(content, encoding="utf-8")
    for fence in fences(text):
        pasted = _RUNS.get(fence.language) if ">>> " not in fence.text else None
        n, failures = (pasted or _run_session)(fence, name, scope)
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


def _run_commands(fence: Fence, name: str, _: dict[str, Any]) -> tuple[int, list[str]]:
    lines = fence.text.replace("\\\n", "").splitlines()
    commands = [line for line in lines if line.strip() and not line.startswith("#")]
    answers = [run_line(command) for command in commands]
    failed = any(code for code, _ in answers)
    return len(commands), _wrong(fence, name, "".join(printed for _, printed in answers), failed)


def _run_script(fence: Fence, name: str, scope: dict[str, Any]) -> tuple[int, list[str]]:
    out, failed, statements = io.StringIO(), False, 1
    with contextlib.redirect_stdout(out):
        try:
            tree = ast.parse(fence.text, name)
            statements = len(tree.body)
            exec(compile(tree, name, "exec"), scope)
        except Exception:
            out.write(traceback.format_exc())
            failed = True
    return statements, _wrong(fence, name, out.getvalue(), failed)


def _wrong(fence: Fence, name: str, printed: str, failed: bool) -> list[str]:
    wanted = fence.printed
    checker = doctest.OutputChecker()
    same = wanted is None or checker.check_output(wanted, printed, doctest.ELLIPSIS)
    where = f"{name}, line {fence.line + 1}:\n{fence.text}"
    return [f"{where}wanted\n{wanted}\ngot\n{printed}"] if failed or not same else []


_RUNS = {"console": _run_console, "bash": _run_commands, "python": _run_script}
