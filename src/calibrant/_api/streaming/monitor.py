"""Monitor: an Accumulator for each window of time, from as many writers as there are."""

from __future__ import annotations

import numbers
import os
import threading
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

import numpy as np

from calibrant._api.evaluate_samples import choose
from calibrant._api.streaming.accumulator import Accumulator, check_same_recipe
from calibrant._api.streaming.batches import batch_of
from calibrant._api.streaming.spans import window_width
from calibrant._api.streaming.sums import WindowedSums
from calibrant._core.binning import Bins, FixedRule
from calibrant._core.errors import InputError, StateError
from calibrant._core.validation import public
from calibrant._data.times import moment, single
from calibrant._measures.catalogue import listed
from calibrant._summaries.requirements import in_stream
from calibrant.results._windows import Windows

if TYPE_CHECKING:
    from calibrant._core.state_file import Saved


class Monitor:
    """Calibration over time: sums for each window, from any number of writers, in little memory.

    >>> import calibrant as cal
    >>> monitor = cal.Monitor(every="1d", bins=10)
    >>> _ = monitor.update([0, 1], [0.2, 0.7], time="2026-01-05T09:30:00Z")
    >>> _ = monitor.update([1, 0], [0.9, 0.4], time=["2026-01-05T23:59", "2026-01-06T00:01"])
    >>> [window.n for window in monitor.evaluate()]
    [3, 1]

    `every` is the width of windows: "1d", "6h", "15m", a timedelta, or seconds. They begin at
    multiples of it since 1970 in UTC, and times without a zone are taken to be in UTC. Rows that
    come late are added to their own window.

    `measures` are those that windows can be asked for. Left out, they are some of bins and losses,
    which need a kilobyte a window; "all" holds what every measure of a stream needs, some 1.7 MB a
    window. `keep` limits how many windows are held: older ones are put together in `earlier`, so
    that nothing is lost from the total.

    ``missing="drop"`` leaves out rows in which a time, prediction, label or weight is missing,
    counts and tells them; otherwise they are an error. `bins`, `from_logits`, `classes` and
    `approximate` are those of an `Accumulator`. Threads may share a monitor: no update is lost.
    """

    @public
    def __init__(
        self,
        *,
        every: Any = "1d",
        bins: Bins = 15,
        measures: Iterable[str] | None = None,
        from_logits: bool = False,
        classes: Sequence[Any] | None = None,
        missing: str = "error",
        keep: int | None = None,
        approximate: bool = False,
    ) -> None:
        is_count = isinstance(keep, numbers.Integral) and not isinstance(keep, bool) and keep > 0
        if keep is not None and not is_count:
            raise InputError(f"keep must be a number of windows, at least 1, or None; got {keep!r}")
        if measures is None:  # bins and losses: a kilobyte a window (docs/monitoring.md)
            measures = tuple(m.name for m in listed("monitor", "binary"))
        blank = Accumulator(
            bins=bins,
            from_logits=from_logits,
            classes=classes,
            measures=None if measures == "all" else measures,
            missing=missing,
            approximate=approximate,
        )
        self._sums = WindowedSums(blank, window_width(every), None if keep is None else int(keep))
        # Rows without a time, dropped as the caller asked.
        self.n_without_time = 0
        # Locked while windows replace others, never while rows are summed.
        self._lock = threading.Lock()

    @public
    def update(
        self, y_true: Any, y_proba: Any, *, time: Any, sample_weight: Any = None, data: Any = None
    ) -> Monitor:
        """Add samples, each to the window of its time.

        `time` is one time for all rows, or one for each: datetimes, ISO texts, NumPy or frame
        columns of them, or seconds since 1970. Bad input raises an InputError and leaves every
        window as it was.

        With `data` the others name its columns. A frame of a database or a cluster (polars lazy,
        DuckDB, Spark, Dask) is summed there, if all its rows have one time, given as a datetime.
        """
        sums = self._sums
        batch = batch_of(
            sums.blank, sums.every, y_true, y_proba, time, sample_weight=sample_weight, data=data
        )
        with self._lock:
            if sums.columns not in (0, batch.columns):
                raise InputError(
                    f"y_proba has {batch.columns} column{'s' if batch.columns > 1 else ''}; this "
                    f"Monitor has been given {sums.columns} so far"
                )
            if not sums.columns:
                self._check_measurable(batch.columns)
            sums.add(batch.parts, batch.columns)
            self.n_without_time += batch.n_without_time
        return self

    def _check_measurable(self, columns: int) -> None:
        """An error for measures that no window would ever show, before weeks of rows are in."""
        if self.measures is None:
            return
        blank = self._sums.blank
        for measure in choose(self.measures, "multiclass" if columns > 1 else "binary"):
            # Whether labels are soft, as distances between distributions need, is not known yet.
            if not in_stream(measure, own_bins=blank.own_bins, approximate=blank.approximate):
                raise InputError(
                    f"the measure {measure.name!r} needs the samples themselves, which a Monitor "
                    "does not keep: drop it from measures, or see approximate= of Accumulator"
                )

    def merge(self, other: Monitor) -> Monitor:
        """Add another writer's windows to this one's; recipes must agree."""
        if not isinstance(other, Monitor):
            raise StateError(f"a Monitor merges with Monitors only; got {type(other).__name__}")
        check_same_recipe(self.recipe(), other.recipe())
        # What the other has, first: two locks at a time could wait for each other for ever.
        more, n_without_time = other._now()
        with self._lock:
            mine, theirs = self._sums.columns, more.columns
            if 0 not in (mine, theirs) and mine != theirs:
                raise StateError(f"states of {mine} and {theirs} columns cannot be merged")
            self._sums.merge(more)
            self.n_without_time += n_without_time
        return self

    def _now(self) -> tuple[WindowedSums, int]:
        """The windows and the rows without a time of one moment."""
        with self._lock:
            return self._sums.copy(), self.n_without_time

    def __getstate__(self) -> dict[str, Any]:
        """What is copied and pickled: all of one moment, without the lock."""
        sums, n_without_time = self._now()
        return {"_sums": sums, "n_without_time": n_without_time}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _lock=threading.Lock())

    def windows(self) -> dict[datetime, Accumulator]:
        """The start of each window and its sums, the oldest first, as copies."""
        by_start = self._now()[0].windows
        return {moment(start): by_start[start].copy() for start in sorted(by_start)}

    @property
    def earlier(self) -> Accumulator | None:
        """Everything before the oldest window that is held, where `keep` has put it together."""
        earlier = self._sums.earlier
        return None if earlier is None else earlier.sums.copy()

    def total(self) -> Accumulator:
        """Everything together."""
        return self._now()[0].between(None, None)

    def between(self, start: Any, stop: Any) -> Accumulator:
        """The windows from `start` to before `stop` together; None leaves a side open."""
        return self._now()[0].between(*self._span(start, stop))

    def _span(self, start: Any, stop: Any) -> tuple[int | None, int | None]:
        first = None if start is None else self._edge(start, "start")
        last = None if stop is None else self._edge(stop, "stop")
        if first is not None and last is not None and first >= last:
            raise InputError(f"start must lie before stop; got {start!r} and {stop!r}")
        return first, last

    def _edge(self, time: Any, argument: str) -> int:
        us, every = single(time, argument), self._sums.every
        at = every.start(us)
        if at != us:
            raise InputError(
                f"{argument} must be where a window of {every} begins, such as "
                f"{moment(at).isoformat()} or {moment(at + every.us).isoformat()}; got {time!r}"
            )
        return at

    @public
    def evaluate(
        self,
        *,
        measures: Iterable[str] | None = None,
        start: Any = None,
        stop: Any = None,
        baseline: Accumulator | int | None = None,
    ) -> Windows:
        """A row for each window from `start` to before `stop`: rows, measures, noise floor.

        `baseline` adds how far each window differs from other rows: those of an Accumulator with
        the same bins, such as ``between(start, stop)`` or a validation set; or, for a number, those
        of that many windows before it.
        """
        # Late: those who only write never need it.
        from calibrant._api.streaming.tables import evaluated

        span = self._span(start, stop)
        other = baseline.copy() if isinstance(baseline, Accumulator) else baseline
        return evaluated(*self._now(), span, measures, other)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the state to a file; the old file stays whole until the new one is complete."""
        from calibrant._core.state_file import State, write

        sums, n_without_time = self._now()
        arrays, index = sums.packed()
        index["n_without_time"] = n_without_time
        write(path, State("monitor", self.recipe(), arrays, index))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Monitor:
        """The monitor that was saved to a file."""
        from calibrant._core.state_file import read, refused

        state = read(path, "monitor")
        with refused(path):
            return cls.restored(state)

    @classmethod
    def restored(cls, saved: Saved) -> Monitor:
        """The monitor that a file holds."""
        from calibrant._core.state_file import whole_number

        recipe, index = saved.recipe, saved.index
        out = cls(every=recipe["every"], keep=recipe["keep"])
        out._sums.blank = Accumulator.unpacked(recipe, {"counts": np.zeros(7)})
        n_windows = len(index["windows"]) + (index["earlier"] is not None)
        out._sums.unpack(recipe, saved.arrays(out._sums.blank.shapes, n_windows), index)
        out.n_without_time = whole_number(index["n_without_time"], "n_without_time")
        return out

    def recipe(self) -> dict[str, Any]:
        """How windows are cut and summed: monitors merge only where this is the same."""
        sums = self._sums
        return {"every": str(sums.every), "keep": sums.keep, **sums.blank.recipe()}

    @property
    def every(self) -> str:
        """The width of windows, as text."""
        return str(self._sums.every)

    @property
    def keep(self) -> int | None:
        """How many windows are held at most."""
        return self._sums.keep

    @property
    def rule(self) -> FixedRule:
        """The bins."""
        return self._sums.blank.rule

    @property
    def measures(self) -> tuple[str, ...] | None:
        """What windows can be asked for; None for all that a stream has."""
        return self._sums.blank.measures

    @property
    def n_rows(self) -> int:
        """Rows in all windows, and before."""
        return sum(stream.n_rows for stream in self._now()[0].streams())

    @property
    def n_missing(self) -> int:
        """Rows left out because a prediction, label or weight was missing; see `n_without_time`
        too.
        """
        return sum(stream.n_missing for stream in self._now()[0].streams())

    def __repr__(self) -> str:
        starts = sorted(self._now()[0].windows)
        if not starts:
            return f"Monitor(no rows yet, windows of {self.every}, {self.rule})"
        span = f"from {moment(starts[0]).isoformat()} to {moment(starts[-1]).isoformat()}"
        windows = f"{len(starts)} window{'s' if len(starts) > 1 else ''} of {self.every}"
        return f"Monitor({self.n_rows} rows in {windows} {span}, {self.rule})"
