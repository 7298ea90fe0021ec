"""WindowedSums, the state of a Monitor: sums for each window of time, and for all before.

Where there are more windows than are to be kept, the oldest are merged. The state depends on the
rows alone: neither on their order, nor on the order in which monitors were merged.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
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
    """Windows that were merged into one: their start and stop, and the sums of their rows.

    Times are microseconds since 1970.
    """

    start: int
    stop: int
    sums: Accumulator

    def __str__(self) -> str:
        return f"from {moment(self.start).isoformat()} to before {moment(self.stop).isoformat()}"


@dataclass(eq=False)
class WindowedSums:
    """The sums of each window, by its start in microseconds since 1970, and of `earlier` ones.

    `blank` is an Accumulator without rows, from which new windows are copied; `every` is the width
    of a window, and `keep` the largest number of windows, None for any. An Accumulator is never
    changed in place: a window that gets more rows gets a new one.
    """

    blank: Accumulator
    every: WindowWidth
    keep: int | None
    # Whether rows come in clusters: a row's weight is then one over the rows of its cluster.
    grouped: bool = False
    windows: dict[int, Accumulator] = field(default_factory=dict)
    earlier: MergedWindows | None = None
    # The same of the rows of each slice, by its name; empty unless the monitor has slices.
    slices: dict[str, WindowedSums] = field(default_factory=dict)

    @property
    def columns(self) -> int:
        """The number of columns of y_proba: 1 for (n,) predictions, 0 before the first rows."""
        return next(iter(self.windows.values())).columns if self.windows else 0

    def copy(self) -> WindowedSums:
        """An independent copy: rows added to one do not change the other."""
        slices = {name: own.copy() for name, own in self.slices.items()}
        return replace(self, windows=dict(self.windows), slices=slices)

    def slice(self, name: str) -> WindowedSums:
        """The sums of a slice, which is begun if it is new."""
        empty = WindowedSums(self.blank, self.every, self.keep, self.grouped)
        return self.slices.setdefault(name, empty)

    def starts(self, first: int | None = None, stop: int | None = None) -> list[int]:
        """The starts of the windows from `first` to before `stop`, in order; None is an open side.

        Times are microseconds since 1970.
        """
        return sorted(
            start
            for start in self.windows
            if (first is None or first <= start) and (stop is None or start < stop)
        )

    def streams(self) -> list[Accumulator]:
        """All accumulators: each window's in order of time, then that of merged earlier windows."""
        last = [] if self.earlier is None else [self.earlier.sums]
        return [*(self.windows[start] for start in self.starts()), *last]

    def add(self, parts: Iterable[tuple[int, StreamSums]], columns: int) -> None:
        """Add new sums to their windows.

        `parts` has (start of a window, sums of the new rows in it); `columns` is the number of
        columns of y_proba.
        """
        grown: dict[int, Accumulator] = {}
        for start, sums in parts:
            stream = grown.get(start, self._sums_of_window(start))
            grown[start] = stream.copy().add(sums, columns)
        self.windows.update(grown)
        self._merge_oldest()

    def merge(self, other: WindowedSums) -> None:
        """Add another monitor's windows to these; the caller must have compared the recipes."""
        grown = {
            start: self._sums_of_window(start).copy().merge(sums)
            for start, sums in other.windows.items()
        }
        self.windows.update(grown)
        if other.earlier is not None:
            self._add_earlier(other.earlier)
        self._merge_oldest()
        for name, slice_ in other.slices.items():
            self.slice(name).merge(slice_)

    def _sums_of_window(self, start: int) -> Accumulator:
        """The accumulator of the window that begins at `start`; `blank` if the window is new."""
        return self.windows.get(start, self.blank)

    def _merge_oldest(self) -> None:
        """Merge the oldest windows into `earlier` until at most `keep` windows are left."""
        while self.keep is not None and len(self.windows) > self.keep:
            start = min(self.windows)
            self._add_earlier(MergedWindows(start, start + self.every.us, self.windows[start]))
            del self.windows[start]

    def _add_earlier(self, more: MergedWindows) -> None:
        """Merge windows into `earlier`, whose start and stop then enclose both."""
        old = self.earlier
        if old is None:
            self.earlier = more
        else:
            sums = old.sums.copy().merge(more.sums)
            self.earlier = MergedWindows(min(old.start, more.start), max(old.stop, more.stop), sums)

    def between(self, start: int | None, stop: int | None) -> Accumulator:
        """The sums of the windows that begin from `start` to before `stop`; None is an open side.

        Merged windows count as one: an InputError is raised if only some of them lie in the span.
        """
        out = self.blank.copy()
        out.counts_clusters = self.grouped
        if self.earlier is not None and _contains_merged(self.earlier, start, stop):
            out.merge(self.earlier.sums)
        for at in self.starts(start, stop):
            out.merge(self.windows[at])
        return out

    def packed(self) -> tuple[dict[str, Array], dict[str, Any]]:
        """The state for a state file: its arrays by name, and an index of plain data.

        Each array is stacked over the windows in order of time, the merged ones last, and then over
        those of each slice. The index has the keys "windows" (the starts as ISO texts), "earlier"
        ([start, stop], or None if nothing was merged) and, where there are slices, "slices": the
        name of each with an index of its own.
        """
        index = self._index()
        slices = [(name, self.slices[name]) for name in sorted(self.slices)]
        if slices:
            index["slices"] = [[name, own._index()] for name, own in slices]
        parts = [self, *(own for _, own in slices)]
        packed = [stream.packed() for part in parts for stream in part.streams()]
        names = packed[0] if packed else {}
        return {name: np.stack([each[name] for each in packed]) for name in names}, index

    def _index(self) -> dict[str, Any]:
        """What the arrays of these windows are of, as plain data."""
        earlier, span = self.earlier, None
        if earlier is not None:
            span = [moment(earlier.start).isoformat(), moment(earlier.stop).isoformat()]
        starts = [moment(start).isoformat() for start in self.starts()]
        return {"windows": starts, "earlier": span}

    def unpack(
        self, recipe: Mapping[str, Any], arrays: Mapping[str, Array], index: Mapping[str, Any]
    ) -> None:
        """Replace the state by one that `packed` gave; a ValueError for impossible times.

        `recipe` says how the sums were made (see `Accumulator.recipe`); `arrays` and `index` are
        the two results of `packed`.
        """
        at = self._unpack_windows(recipe, arrays, index, 0)
        for name, own in index.get("slices", []):
            if not isinstance(name, str) or name in self.slices:
                raise ValueError(f"the slice {name!r:.50}")
            at = self.slice(name)._unpack_windows(recipe, arrays, own, at)
        if self.slices and self.n_rows != sum(own.n_rows for own in self.slices.values()):
            raise ValueError("slices with other numbers of rows than all together")

    @property
    def n_rows(self) -> int:
        """The number of rows in all windows, and before."""
        return sum(stream.n_rows for stream in self.streams())

    def _unpack_windows(
        self,
        recipe: Mapping[str, Any],
        arrays: Mapping[str, Array],
        index: Mapping[str, Any],
        at: int,
    ) -> int:
        """Replace the windows by those of the arrays from row `at` on; return where they end."""
        starts = [single(text, "windows") for text in index["windows"]]
        if starts != sorted({self.every.start(start) for start in starts}):
            raise ValueError(f"windows that do not begin every {self.every}")
        span = index["earlier"]
        n = len(starts) + (span is not None)
        streams = [
            Accumulator.unpacked(recipe, {name: array[j] for name, array in arrays.items()})
            for j in range(at, at + n)
        ]
        self.windows = dict(zip(starts, streams, strict=False))
        if span is not None:
            start, stop = (single(text, "earlier") for text in span)
            if not start < stop:
                raise ValueError(f"earlier windows {span} that end before they start")
            self.earlier = MergedWindows(start, stop, streams[-1])
        return at + n


def n_stacked(index: Mapping[str, Any]) -> int:
    """The number of windows whose arrays are stacked, by the index of a state file."""
    own = len(index["windows"]) + (index["earlier"] is not None)
    return own + sum(n_stacked(part) for _, part in index.get("slices", []))


def _contains_merged(earlier: MergedWindows, start: int | None, stop: int | None) -> bool:
    """Whether the span from `start` to `stop` contains all merged windows; False if it has none.

    An InputError is raised if it contains some of them: their sums can no longer be separated. None
    for `start` or `stop` leaves that side open.
    """
    whole = (start is None or start <= earlier.start) and (stop is None or earlier.stop <= stop)
    after = start is not None and earlier.stop <= start
    before = stop is not None and stop <= earlier.start
    if not (whole or after or before):
        raise InputError(
            f"the windows {earlier} were merged into one (keep=): include all of them or none"
        )
    return whole
