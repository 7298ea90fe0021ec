"""How far a long run has come: a bar in a terminal, silence in a pipe."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO

Step = Callable[[], None]
_WIDTH = 32


class Progress:
    """Draws one bar a task on `file` (standard error), where that is a terminal.

    >>> with Progress(show=False).task("Replications", 3) as step:
    ...     for _ in range(3):
    ...         step()
    """

    def __init__(self, show: bool = True, file: TextIO | None = None) -> None:
        self._file = sys.stderr if file is None else file
        self._shown = show and self._file.isatty()

    @contextmanager
    def task(self, label: str, total: int) -> Iterator[Step]:
        """A task of `total` steps; call what comes back once a step."""
        if not self._shown:
            yield _nothing
        elif importlib.util.find_spec("rich") is not None:
            with self._rich(label, total) as step:
                yield step
        else:
            with self._plain(label, total) as step:
                yield step

    @contextmanager
    def _rich(self, label: str, total: int) -> Iterator[Step]:
        from rich.console import Console
        from rich.progress import Progress as Bars

        with Bars(console=Console(file=self._file)) as bars:
            task = bars.add_task(label, total=total)
            yield lambda: bars.advance(task)

    @contextmanager
    def _plain(self, label: str, total: int) -> Iterator[Step]:
        done = drawn = 0

        def step() -> None:
            nonlocal done, drawn
            done += 1
            reached = done * _WIDTH // max(total, 1)
            if reached > drawn:  # a terminal is slow: draw only what can be seen
                drawn = reached
                bar = "#" * reached + "." * (_WIDTH - reached)
                print(f"\r{label} [{bar}]", end="", file=self._file, flush=True)

        try:
            yield step
        finally:
            if drawn:
                print(file=self._file, flush=True)


def _nothing() -> None:
    """A step that nobody watches."""
