"""Progress of long work, shown where someone is watching: rows read, and tasks of many steps."""

from __future__ import annotations

import importlib.util
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock
from types import TracebackType
from typing import TextIO

# Seconds before the first line on a terminal, between later ones, and between lines of a log.
FIRST, EVERY, IN_LOG = 0.5, 0.1, 5.0
# Letters of a task's bar.
BAR = 32

Step = Callable[[], None]


class RowProgress:
    """A line about rows that were read, on `file` (standard error by default). On a terminal it is
    drawn over; elsewhere each line follows the last.

    `show` is True or False; None means on a terminal only. Threads may share one object.
    """

    def __init__(
        self, n_bytes: int, *, show: bool | None = None, label: str = "", file: TextIO | None = None
    ) -> None:
        """`n_bytes` is the size of all files to be read; `label` is the beginning of each line."""
        self._file = sys.stderr if file is None else file
        self._terminal = self._file.isatty()
        self._shown = self._terminal if show is None else show
        self._asked = bool(show)
        self._label = f"{label}: " if label else ""
        self._n_bytes, self._bytes, self._rows = n_bytes, 0, 0
        self._lock = Lock()
        self._start = time.monotonic()
        self._next = self._start + (FIRST if self._terminal else IN_LOG)
        self._drawn = False

    def add(self, rows: int, n_bytes: int) -> None:
        """Count rows that were read and their bytes, and draw the line again if enough time has
        passed.
        """
        if not self._shown:
            return
        with self._lock:
            self._rows += rows
            self._bytes += n_bytes
            now = time.monotonic()
            if now < self._next:
                return
            self._next = now + (EVERY if self._terminal else IN_LOG)
            # On a terminal, clear what is left of a longer line, and return to the start.
            end = "\x1b[K\r" if self._terminal else "\n"
            share = min(self._bytes / self._n_bytes, 1.0) if self._n_bytes else 0.0
            self._draw(f"{self._text(now)}, {share:.0%}{end}")

    def _text(self, now: float) -> str:
        """The line to draw: the label, the number of rows so far, and the rows per second. `now` is
        a time of the monotonic clock.
        """
        rate = self._rows / max(now - self._start, 1e-9)
        return f"{self._label}{self._rows:,} rows, {format_rate(rate)} a second"

    def _draw(self, text: str) -> None:
        """Print a text, which includes its line end, and remember that something was drawn."""
        self._drawn = True
        print(text, end="", file=self._file, flush=True)

    def __enter__(self) -> RowProgress:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Draw a last line with the total time, if a line was drawn before or `show` is True."""
        if self._drawn or (self._shown and self._asked):
            now = time.monotonic()
            end = "\x1b[K\n" if self._terminal else "\n"
            self._draw(f"{self._text(now)}, {now - self._start:.1f} s{end}")


def format_rate(number: float) -> str:
    """A rate with three digits and a word for its size: "950", "12.3 thousand", "153 million"."""
    for size, name in ((1e9, " billion"), (1e6, " million"), (1e3, " thousand")):
        if number >= size:
            return f"{number / size:.3g}{name}"
    return f"{number:.3g}"


class TaskProgress:
    """Draws a bar for each task on `file` (standard error by default), if that is a terminal.

    Elsewhere nothing is shown or, with `in_log`, a line every five seconds, so that readers of a
    log see progress too.

    >>> with TaskProgress(show=False).task("Replications", 3) as step:
    ...     for _ in range(3):
    ...         step()
    """

    def __init__(
        self, show: bool = True, file: TextIO | None = None, *, in_log: bool = False
    ) -> None:
        self._file = sys.stderr if file is None else file
        self._shown = show and self._file.isatty()
        self._logged = show and in_log and not self._shown

    @contextmanager
    def task(self, label: str, total: int) -> Iterator[Step]:
        """Yield a function to be called after each of the `total` steps of a task."""
        if self._logged:
            yield self._log(label, total)
        elif not self._shown:
            yield _no_step
        elif importlib.util.find_spec("rich") is not None:
            with self._rich_bar(label, total) as step:
                yield step
        else:
            with self._plain_bar(label, total) as step:
                yield step

    def _log(self, label: str, total: int) -> Step:
        """A step function that prints "label: done of total" at most every five seconds."""
        done, due = 0, time.monotonic() + IN_LOG

        def step() -> None:
            """Count a step, and print a line if it is time."""
            nonlocal done, due
            done += 1
            if time.monotonic() >= due:
                due = time.monotonic() + IN_LOG
                print(f"{label}: {done} of {total}", file=self._file, flush=True)

        return step

    @contextmanager
    def _rich_bar(self, label: str, total: int) -> Iterator[Step]:
        """Yield a step function that moves a bar of the package rich."""
        from rich.console import Console
        from rich.progress import Progress as Bars

        with Bars(console=Console(file=self._file)) as bars:
            task = bars.add_task(label, total=total)
            yield lambda: bars.advance(task)

    @contextmanager
    def _plain_bar(self, label: str, total: int) -> Iterator[Step]:
        """Yield a step function that draws a bar of BAR characters, for terminals
        without the package rich.
        """
        done = drawn = 0

        def step() -> None:
            """Count a step, and draw the bar again if it has grown by a character."""
            nonlocal done, drawn
            done += 1
            reached = done * BAR // max(total, 1)
            if reached > drawn:  # a terminal is slow: draw only what can be seen
                drawn = reached
                bar = "#" * reached + "." * (BAR - reached)
                print(f"\r{label} [{bar}]", end="", file=self._file, flush=True)

        try:
            yield step
        finally:
            if drawn:
                print(file=self._file, flush=True)


def _no_step() -> None:
    """The step function of a task that is not shown: it does nothing."""
