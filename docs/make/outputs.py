"""Run the examples of pages and write what they print below them: after a change of texts.

    python docs/make/outputs.py docs/howto/*.md      # only outputs that differ are replaced
    git diff docs                                    # read every one of them

What a page shortens by "..." and no longer fits is written out in full, to be shortened again.
"""

from __future__ import annotations

import contextlib
import doctest
import os
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))

import page_examples
from page_examples import Fence


class _Kept(doctest.DocTestRunner):
    """Keeps what failing examples print, by the line that they end on."""

    def __init__(self) -> None:
        super().__init__(verbose=False, optionflags=doctest.ELLIPSIS)
        self.got: list[tuple[doctest.Example, str]] = []

    def report_failure(self, out: Any, test: Any, example: doctest.Example, got: str) -> None:
        self.got.append((example, got))


def renewed(page: str, name: str) -> str:
    """The page with outputs as they are now."""
    scope: dict[str, Any] = {}
    for file, content in page_examples._FILE.findall(page):
        Path(file).write_text(content, encoding="utf-8")
    for fence in page_examples.fences(page):
        pasted = fence.language in ("bash", "python") and ">>> " not in fence.text
        if pasted and fence.printed is not None:
            page = _below(page, fence, name, scope)
        elif fence.language == "console":
            page = page.replace(fence.text, _console(fence.text), 1)
        elif pasted:
            page_examples._RUNS[fence.language](fence, name, scope)
        else:
            page = page.replace(fence.text, _session(fence, name, scope), 1)
    return page


def _below(page: str, fence: Fence, name: str, scope: dict[str, Any]) -> str:
    _, wrong = page_examples._RUNS[fence.language](fence, name, scope)
    if not wrong:
        return page
    got = wrong[0].partition("\ngot\n")[2]
    before, found, after = page.partition(fence.text)
    return before + found + after.replace(fence.printed or "", got, 1)


def _console(text: str) -> str:
    def again(command: re.Match[str]) -> str:
        _, printed = page_examples.run_line(command[1])
        same = doctest.OutputChecker().check_output(command[2], printed, doctest.ELLIPSIS)
        return command[0] if same else f"$ {command[1]}\n{printed}"

    return page_examples._COMMAND.sub(again, text)


def _session(fence: Fence, name: str, scope: dict[str, Any]) -> str:
    runner = _Kept()
    test = doctest.DocTestParser().get_doctest(fence.text, scope, name, name, fence.line + 1)
    runner.run(test, out=lambda _: None, clear_globs=False)
    scope.update(test.globs)
    lines = fence.text.splitlines(keepends=True)
    for example, got in reversed(runner.got):
        start = example.lineno + example.source.count("\n")
        lines[start : start + example.want.count("\n")] = [got]
    return "".join(lines)


def main(paths: list[str]) -> None:
    os.environ["MPLBACKEND"] = "Agg"
    for path in map(Path, paths):
        page = path.read_text(encoding="utf-8")
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            new = renewed(page, path.name)
        if new != page:
            path.write_text(new, encoding="utf-8")
            print(path)


if __name__ == "__main__":
    main(sys.argv[1:])
