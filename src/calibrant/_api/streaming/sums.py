"""WindowedSums: the state of a Monitor. An Accumulator for each window, one for all before.

Windows that are too many are merged, the oldest first. The state then depends on the rows alone:
not on their order, nor on who has merged with whom.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from calibrant._api.streaming.accumulator import Accumulator
from calibrant._api.streaming.spans import WindowWidth
from calibrant._core.errors import InputError
from calibrant._core.typing import Array
from calibrant._data.times import moment, single
from calibrant._engines.arrays.streams import StreamSums


@dataclass(frozen=True, eq=False)
class MergedWindows:
    """Windows that were merged into one: from when, until when, and their sums."""

    start: int
    stop: int
    sums: Accumulator

    def __str__(self) -> str:
        return f"from {moment(self.start).isoformat()} to before {moment(self.stop).isoformat()}"


class WindowedSums:
    """Accumulators by the start of their window, in microseconds. None of them is ever changed:
    a window that grows gets another one.
    """

    def __init__(
        self, blank: Accumulator, every: WindowWidth, keep: int | None, grouped: bool = False
    ) -> None:
        self.blank = blank
        self.every = every
        self.keep = keep
        # Whether a row's weight is one over the number of rows in its cluster.
        self.grouped = grouped
        self.windows: dict[int, Accumulator] = {}
        self.earlier: MergedWindows | None = None

    @property
    def columns(self) -> int:
        """Columns of y_proba: 1 for (n,) predictions, 0 before the first rows."""
        return next(iter(self.windows.values())).columns if self.windows else 0

    def copy(self) -> WindowedSums:
        """The same windows; what is added to one is not in the other."""
        out = WindowedSums(self.blank, self.every, self.keep, self.grouped)
        out.windows, out.earlier = dict(self.windows), self.earlier
        return out

    def streams(self) -> list[Accumulator]:
        """All accumulators: each window, and what came before."""
        before = [] if self.earlier is None else [self.earlier.sums]
        return [*before, *self.windows.values()]

    def add(self, parts: Iterable[tuple[int, StreamSums]], columns: int) -> None:
        """Add what an engine has summed for some windows."""
        grown = {start: self._window(start).copy().add(sums, columns) for start, sums in parts}
        self.windows.update(grown)
        self._fold()

    def merge(self, other: WindowedSums) -> None:
        """Add another's windows; the caller has checked that the recipes agree."""
        grown = {
            start: self._window(start).copy().merge(sums) for start, sums in other.windows.items()
        }
        self.windows.update(grown)
        if other.earlier is not None:
            self._add_earlier(other.earlier)
        self._fold()

    def _window(self, start: int) -> Accumulator:
        return self.windows.get(start, self.blank)

    def _fold(self) -> None:
        """Merge the oldest windows while there are more than `keep`."""
        while self.keep is not None and len(self.windows) > self.keep:
            start = min(self.windows)
            self._add_earlier(MergedWindows(start, start + self.every.us, self.windows[start]))
            del self.windows[start]

    def _add_earlier(self, more: MergedWindows) -> None:
        """Merge windows into `earlier`."""
        old = self.earlier
        if old is None:
            self.earlier = more
        else:
            sums = old.sums.copy().merge(more.sums)
            self.earlier = MergedWindows(min(old.start, more.start), max(old.stop, more.stop), sums)

    def between(self, start: int | None, stop: int | None) -> Accumulator:
        """The windows from `start` to before `stop` together; None leaves a side open."""
        out = self.blank.copy()
        if self.earlier is not None and _holds_all(self.earlier, start, stop):
            out.merge(self.earlier.sums)
        for at in sorted(self.windows):
            if (start is None or start <= at) and (stop is None or at < stop):
                out.merge(self.windows[at])
        return out

    def packed(self) -> tuple[dict[str, Array], dict[str, Any]]:
        """All arrays, stacked over the windows and then `earlier`, and the times of these."""
        starts, earlier = sorted(self.windows), self.earlier
        packed = [self.windows[start].packed() for start in starts]
        span = None
        if earlier is not None:
            packed.append(earlier.sums.packed())
            span = [moment(earlier.start).isoformat(), moment(earlier.stop).isoformat()]
        names = packed[0] if packed else {}
        arrays = {name: np.stack([each[name] for each in packed]) for name in names}
        return arrays, {
            "windows": [moment(start).isoformat() for start in starts],
            "earlier": span,
        }

    def unpack(
        self, recipe: Mapping[str, Any], arrays: Mapping[str, Array], index: Mapping[str, Any]
    ) -> None:
        """Replace the state by what was packed."""
        starts = [single(text, "windows") for text in index["windows"]]
        if starts != sorted({self.every.start(start) for start in starts}):
            raise ValueError(f"windows that do not begin every {self.every}")
        span = index["earlier"]
        n = len(starts) + (span is not None)
        streams = [
            Accumulator.unpacked(recipe, {name: array[j] for name, array in arrays.items()})
            for j in range(n)
        ]
        self.windows = dict(zip(starts, streams, strict=False))
        if span is not None:
            start, stop = (single(text, "earlier") for text in span)
            if not start < stop:
                raise ValueError(f"earlier windows {span} that end before they begin")
            self.earlier = MergedWindows(start, stop, streams[-1])


def _holds_all(earlier: MergedWindows, start: int | None, stop: int | None) -> bool:
    """Whether a span of time contains all merged windows; an error if it contains some of them."""
    whole = (start is None or start <= earlier.start) and (stop is None or earlier.stop <= stop)
    after = start is not None and earlier.stop <= start
    before = stop is not None and stop <= earlier.start
    if not (whole or after or before):
        raise InputError(
            f"the windows {earlier} were merged into one (keep=): ask for all of them or for none"
        )
    return whole
