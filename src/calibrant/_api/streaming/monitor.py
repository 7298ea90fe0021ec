"""Monitor: an Accumulator for each window of time, from as many writers as there are."""

from __future__ import annotations

import numbers
import os
import threading
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from calibrant._api.cells_of_sums import is_over_bins, over_cells
from calibrant._api.evaluate_samples import choose_measures
from calibrant._api.streaming.accumulator import Accumulator
from calibrant._api.streaming.added_files import AddedFiles, unpacked_files
from calibrant._api.streaming.batches import check_grouped, sum_by_window
from calibrant._api.streaming.recipe import check_same_recipe
from calibrant._api.streaming.spans import window_width
from calibrant._api.streaming.summed_stream import alternatives
from calibrant._api.streaming.sums import WindowedSums, n_stacked
from calibrant._core.binning import Bins, FixedRule
from calibrant._core.errors import InputError, StateError
from calibrant._core.given_cells import Cells
from calibrant._core.messages import name_of, setting, worded
from calibrant._core.typing import Shape
from calibrant._core.validation import public
from calibrant._data.samples import shape_of
from calibrant._data.times import moment, single
from calibrant._measures.catalogue import Measure, catalogue, listed, of_answers
from calibrant._summaries.requirements import in_stream
from calibrant.results._windows import Windows

if TYPE_CHECKING:
    from calibrant._core.atomic_files import Version
    from calibrant._core.state_file import Saved
    from calibrant.results._certificate import Certificate
    from calibrant.results._evaluation import Evaluation


class Monitor:
    """Calibration over time: sums for each window, from any number of writers, in little memory.

    Windows start at multiples of `every` since 1970 in UTC, and times without a time zone are read
    as UTC. Late rows are added to their own window. Threads may share a monitor: no update is lost.

    Parameters
    ----------
    every : str, timedelta or float, default "1d"
        Width of windows: "1d", "6h", "15m", a timedelta, or seconds, counted from 1970-01-01 00:00
        UTC (a Thursday); "1w", which begins on Mondays, "1w-sun" on Sundays.
    bins : int, sequence of float, EqualWidth or Edges, default 15
        Bins that are fixed in advance; a rule instead of a number applies to all measures.
    measures : iterable of str or "all", optional
        Names of `catalogue()` that windows can compute; by default, some with bins and losses,
        which need about 1 kB per window. "all" keeps the sums of every measure of a stream, about
        1.7 MB per window.
    from_logits : bool, default False
        Whether `y_proba` holds logits: a sigmoid is applied to (n,), a softmax to (n, k).
    from_logprobs : bool, default False
        Whether `y_proba` holds log-probabilities: exp is applied to (n,), a softmax to (n, k).
    classes : sequence, optional
        Names of the classes in the order of the columns of `y_proba`; for (n,): negative, positive.
    grouped : bool, default False
        Whether rows come in clusters that `update` names (`groups`). Each cluster then counts once,
        whatever its number of rows, and the evidence against calibration (`Window.e_value`) is
        valid for any dependence within clusters.
    missing : {"error", "drop"}, default "error"
        What to do with rows in which a time or another value is missing: raise an error, or drop
        and count them.
    keep : int, optional
        Largest number of windows to keep; older ones are merged into `earlier`. By default all are
        kept.
    approximate : bool, default False
        Whether measures that need all predictions in order are computed from about 2,500 fine cells
        of [0, 1]; otherwise they are not computed.
    by : str or sequence of str, optional
        Names of columns by which rows are split into slices. Each slice has its own windows in the
        same state and needs as much memory.

    Attributes
    ----------
    n_without_time : int
        Number of rows without a time dropped by ``missing="drop"``.
    added : AddedFiles
        The last 1,000 files that ``calibrant monitor --update`` has added.

    Examples
    --------
    >>> import calibrant as cal
    >>> monitor = cal.Monitor(every="1d", bins=10)
    >>> _ = monitor.update([0, 1], [0.2, 0.7], time="2026-01-05T09:30:00Z")
    >>> _ = monitor.update([1, 0], [0.9, 0.4], time=["2026-01-05T23:59", "2026-01-06T00:01"])
    >>> [window.n for window in monitor.evaluate()]
    [3, 1]
    """

    @public
    def __init__(
        self,
        *,
        every: Any = "1d",
        bins: Bins = 15,
        measures: Iterable[str] | None = None,
        from_logits: bool = False,
        from_logprobs: bool = False,
        classes: Sequence[Any] | None = None,
        grouped: bool = False,
        missing: str = "error",
        keep: int | None = None,
        approximate: bool = False,
        by: str | Sequence[str] | None = None,
    ) -> None:
        is_count = isinstance(keep, numbers.Integral) and not isinstance(keep, bool) and keep > 0
        if keep is not None and not is_count:
            raise InputError(f"keep must be a number of windows, at least 1, or None; got {keep!r}")
        if measures is None:  # bins and losses: a kilobyte a window (docs/howto/monitor.md)
            measures = tuple(m.name for m in listed("monitor", "binary"))
        blank = Accumulator(
            bins=bins,
            from_logits=from_logits,
            from_logprobs=from_logprobs,
            classes=classes,
            measures=measures,
            missing=missing,
            approximate=approximate,
        )
        for name in blank.measures or ():
            _check_summable([each for each in catalogue() if each.name == name], blank)
        if not isinstance(grouped, bool):
            raise InputError(f"grouped must be True or False; got {grouped!r}")
        self._sums = WindowedSums(
            blank, window_width(every), None if keep is None else int(keep), grouped
        )
        # The columns of the slices; None for a monitor without slices.
        self.by = _columns_of_slices(by)
        # The number of rows that were dropped because they had no time.
        self.n_without_time = 0
        # The files whose rows were added, if rows came from files.
        self.added = AddedFiles()
        # Locked while windows replace others, never while rows are summed.
        self._lock = threading.Lock()
        # The file that it was loaded from or saved to, as it was then.
        self._version: Version | None = None

    @public
    def update(
        self,
        y_true: ArrayLike,
        y_proba: ArrayLike,
        *,
        time: Any,
        sample_weight: ArrayLike | None = None,
        votes: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        by: ArrayLike | None = None,
        data: Any = None,
    ) -> Monitor:
        """Add samples, each to the window of its time; bad input leaves every window as it was.

        Parameters
        ----------
        y_true : array-like of shape (n,) or (n, k), str or list of str
            Labels: 0/1, class indices, probabilities (soft labels), or a column's name with `data`.
        y_proba : array-like of shape (n,) or (n, k), str or list of str
            Predicted probabilities; (n,) is P(y = 1). With `data`, a column's name, or one per
            class.
        time : datetime, str, float or array-like of shape (n,)
            One time for all rows, or one for each: datetimes, ISO texts, columns of them, or
            seconds since 1970.
        sample_weight : array-like of shape (n,) or str, optional
            Weight of each row, at least 0; every row counts 1 by default.
        votes : int, array-like of shape (n,) or str, optional
            Number of all votes of each row, where (n,) labels are counts of votes for class 1;
            counts of shape (n, k), or (n, 2) for (n,) predictions, carry their own.
        groups : array-like of shape (n,) or str, optional
            Cluster of each row (patient, document, session), for a monitor that is `grouped`. All
            rows of a cluster must come in one call and lie in one window: sums do not store names,
            so a cluster cannot be split over several calls.
        by : array-like of shape (n,), optional
            Slice of each row, for a monitor that was made with `by`; with `data` it is read from
            the columns of that name.
        data : data frame or mapping, optional
            Frame whose columns the other arguments name; one of a database or a cluster is summed
            there if all its rows have one time, given as a datetime.

        Returns
        -------
        Monitor
            This monitor, so that calls can be chained.

        Raises
        ------
        InputError
            If the input cannot be read as labels and probabilities; the message names the first bad
            row. If a cluster's rows lie in more than one window.
        """
        sums = self._sums
        check_grouped(sums.grouped, groups, sample_weight)
        batch = sum_by_window(
            sums.blank,
            sums.every,
            time,
            groups,
            self._slices_of(by, data),
            y_true=y_true,
            y_proba=y_proba,
            sample_weight=sample_weight,
            votes=votes,
            data=data,
        )
        with self._lock:
            if sums.columns not in (0, batch.columns):
                raise InputError(
                    f"y_proba has {batch.columns} column{'s' if batch.columns > 1 else ''}; "
                    f"earlier updates of this Monitor had {sums.columns}"
                )
            if not sums.columns:
                answers = any(part.findings.answers for _, part in batch.parts)
                self._check_measurable(shape_of(batch.columns, answers))
            sums.add(batch.parts, batch.columns)
            for name, parts in batch.slices.items():
                sums.slice(name).add(parts, batch.columns)
            self.n_without_time += batch.n_without_time
        return self

    def _slices_of(self, by: Any, data: Any) -> Any:
        """What the slices of a batch are read from: values, or names of columns; None for none."""
        if self.by is None:
            if by is not None:
                raise InputError("by= needs a Monitor with slices: create it with Monitor(by=...)")
            return None
        if by is None and data is None:
            named = self.by[0] if len(self.by) == 1 else list(self.by)
            raise InputError(
                f"this Monitor was made with by={named!r}: give the slice of each row with by="
            )
        return list(self.by) if by is None else by

    def _check_measurable(self, shape: Shape) -> None:
        """Raise an InputError, at the first rows, for a measure that no window can ever have."""
        if self.measures is None:
            return
        names = of_answers(self.measures) if shape == "answers" else self.measures
        for measure in choose_measures(names, shape):
            _check_summable((measure,), self._sums.blank)

    def merge(self, other: Monitor, *, again: bool = False) -> Monitor:
        """Add another writer's windows to this one's.

        Parameters
        ----------
        other : Monitor
            Monitor with the same recipe; it is not changed.
        again : bool, default False
            Whether to merge even if `calibrant monitor --update` has added one file to both, whose
            rows then count twice.

        Returns
        -------
        Monitor
            This monitor, so that calls can be chained.

        Raises
        ------
        StateError
            If recipes or numbers of classes differ, or if one file was added to both.
        """
        if not isinstance(other, Monitor):
            raise StateError(
                f"a Monitor can be merged only with another Monitor; got {type(other).__name__}"
            )
        check_same_recipe(self.recipe(), other.recipe())
        # The other's state first: holding two locks at a time could deadlock.
        more, n_without_time = other._snapshot()
        twice = None if again else self.added.first_common_file(other.added)
        if twice is not None:
            raise StateError(
                f"both states contain the rows of {twice.name}, which would count twice: merge "
                f"states of different files, or pass {setting('again', True)}"
            )
        with self._lock:
            mine, theirs = self._sums.columns, more.columns
            if 0 not in (mine, theirs) and mine != theirs:
                raise StateError(f"states of {mine} and {theirs} columns cannot be merged")
            self._sums.merge(more)
            self.n_without_time += n_without_time
            self.added.add(other.added.files)
        return self

    def _snapshot(self) -> tuple[WindowedSums, int]:
        """A copy of the windows, and the number of rows without a time at the same moment."""
        with self._lock:
            return self._sums.copy(), self.n_without_time

    def __getstate__(self) -> dict[str, Any]:
        """The attributes to copy or pickle: all of one moment, without the lock."""
        sums, n_without_time = self._snapshot()
        added = AddedFiles(list(self.added.files))
        return {"_sums": sums, "by": self.by, "n_without_time": n_without_time, "added": added}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _lock=threading.Lock(), _version=None)

    def windows(self) -> dict[datetime, Accumulator]:
        """The sums of each window, the oldest first.

        Returns
        -------
        dict of datetime to Accumulator
            Copies of the sums by the start of their window.
        """
        sums = self._snapshot()[0]
        return {moment(start): sums.windows[start].copy() for start in sums.starts()}

    def slice_monitor(self, name: str) -> Monitor:
        """The monitor of one slice.

        Parameters
        ----------
        name : str
            The value of the column.

        Returns
        -------
        Monitor
            A copy of the slice's windows, without slices; it has no rows if the slice does not
            exist.
        """
        sums = self._snapshot()[0]
        out = Monitor(every=sums.every, keep=sums.keep, grouped=sums.grouped)
        out._sums = sums.slice(name)
        return out

    @property
    def earlier(self) -> Accumulator | None:
        """Everything before the oldest window, where `keep` has merged it; None if nothing."""
        earlier = self._sums.earlier
        return None if earlier is None else earlier.sums.copy()

    def total(self) -> Accumulator:
        """Everything together.

        Returns
        -------
        Accumulator
            The sums of all windows, and of what came before them.
        """
        return self._snapshot()[0].between(None, None)

    def between(self, start: Any, stop: Any) -> Accumulator:
        """The windows from `start` to before `stop` together.

        Parameters
        ----------
        start : datetime, str, float or None
            Start of the first window; None for the oldest.
        stop : datetime, str, float or None
            Start of the first window that is excluded; None for no end.

        Returns
        -------
        Accumulator
            The sums of these windows.

        Raises
        ------
        InputError
            If a time is not the start of a window.
        """
        return self._snapshot()[0].between(*self._span_in_microseconds(start, stop))

    def _span_in_microseconds(self, start: Any, stop: Any) -> tuple[int | None, int | None]:
        """`start` and `stop` in microseconds since 1970; None stays None, an open side.

        An InputError is raised unless each is the start of a window, and the first lies before the
        second.
        """
        first = None if start is None else self._checked_window_start(start, name_of("start"))
        last = None if stop is None else self._checked_window_start(stop, name_of("stop"))
        if first is not None and last is not None and first >= last:
            raise InputError(
                f"{name_of('start')} must lie before {name_of('stop')}; got {start!r} and {stop!r}"
            )
        return first, last

    def _checked_window_start(self, time: Any, argument: str) -> int:
        """A time in microseconds since 1970; an InputError unless a window begins then.

        `argument` is the name of the argument, for the error.
        """
        us, every = single(time, argument), self._sums.every
        at = every.start(us)
        if at != us:
            raise InputError(
                f"{argument} must be the start of a window of {every}, such as "
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
        baseline: Accumulator | Monitor | Evaluation | tuple[Any, Any] | int | None = None,
    ) -> Windows:
        """Evaluate each window: rows, measures, noise floor, and change from a baseline.

        Parameters
        ----------
        measures : iterable of str, optional
            Names of `catalogue()`; by default, those given when the monitor was created.
        start : datetime, str or float, optional
            Start of the first window to show; by default the oldest. Windows before it still count
            as evidence: `Window.e_value` and `Window.p_corrected` are the same whatever is shown.
        stop : datetime, str or float, optional
            Start of the first window that is excluded; by default, there is no end. Windows from
            then on are no evidence and raise no alarm.
        baseline : Accumulator, Monitor, Evaluation, (start, stop) or int, optional
            Rows to compare each window with: accepted rows in the same bins, the span of this
            monitor's windows from `start` (None for the oldest) to before `stop`, or a number of
            windows before each. The first four are fixed: evidence of a change from them
            (`Window.e_change`) is valid however often it is checked.

        Returns
        -------
        Windows
            A row for each window, with their diagram (`plot`); its `slices` has the windows of each
            slice.
        """
        # Imported here: programs that only add rows never need it.
        from calibrant._api.streaming.tables import sliced_table, windows_table

        span = self._span_in_microseconds(start, stop)
        if isinstance(baseline, tuple):
            baseline = self._baseline_span(baseline)
        other = baseline.copy() if isinstance(baseline, Accumulator) else baseline
        sums, n_without_time = self._snapshot()
        table = windows_table(sums, n_without_time, span, measures, other)
        if self.by is None:
            return table
        return sliced_table(table, sums, ", ".join(self.by), span, measures, other)

    def over_cells(
        self, *, measures: Iterable[str] | None = None, start: Any = None, stop: Any = None
    ) -> Evaluation:
        """Evaluate errors over cells: each slice of a monitor made with `by` is one bin.

        Parameters
        ----------
        measures : iterable of str, optional
            Names of `catalogue()`; by default, those given when the monitor was created.
        start : datetime, str, float, optional
            Start of the first window; by default the oldest.
        stop : datetime, str, float, optional
            Start of the first window that is excluded; by default, there is no end.

        Returns
        -------
        Evaluation
            As `evaluate` returns for ``bins=Cells(...)`` of these columns.
        """
        if self.by is None:
            raise InputError(
                "over_cells needs a Monitor with slices: create it with Monitor(by=...)"
            )
        span = self._span_in_microseconds(start, stop)
        sums = self._snapshot()[0]
        total = sums.between(*span)
        parts = {name: sums.slices[name].between(*span) for name in sorted(sums.slices)}
        tables = {name: part.summary().bins for name, part in parts.items() if part.n_rows}
        names = None if measures is None else list(measures)
        plain = names
        if names is not None:
            chosen = choose_measures(names, total.shape)
            plain = [m.name for m in chosen if not is_over_bins(m)] or ["ece"]
        result = total.evaluate(measures=plain)
        return over_cells(result, Cells(*self.by), tables, total.shape, names)

    def certify(
        self, measure: str = "ece", *, level: float = 0.999, sigma: float | None = None
    ) -> Certificate:
        """Give a proved upper bound of a calibration error, valid however often it is checked.

        It covers all windows together, and holds if their rows (or clusters, where the monitor is
        `grouped`) are independent and of one population. If the population changes, use
        `Window.e_change`.

        Parameters
        ----------
        measure : str, default "ece"
            A measure that `calibrant.certify` bounds, and that the sums have.
        level : float, default 0.999
            Minimum probability with which the bound holds at all times simultaneously.
        sigma : float, optional
            Width of the noise of a smooth error, fixed in advance.

        Returns
        -------
        Certificate
            As `calibrant.certify` returns.
        """
        return self.total().certify(measure, level=level, sigma=sigma)

    def _baseline_span(self, span: tuple[Any, ...]) -> tuple[int | None, int]:
        """The start and stop of windows as a baseline, in microseconds; None for an open start."""
        if len(span) != 2 or span[1] is None:
            raise InputError(
                f"baseline must be (start, stop), where only start may be None; got {span!r}"
            )
        first, last = self._span_in_microseconds(*span)
        assert last is not None
        return first, last

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the state to a file.

        Parameters
        ----------
        path : str or path-like
            File to write; it is replaced only once the new state is complete.

        Raises
        ------
        StateError
            If the monitor was loaded from this file or saved to it, and another process has written
            it since: its rows would be lost.
        """
        from calibrant._core.state_file import State, write

        sums, n_without_time = self._snapshot()
        arrays, index = sums.packed()
        index["n_without_time"] = n_without_time
        if self.added.files:
            index["added"] = self.added.packed()
        self._version = write(path, State("monitor", self.recipe(), arrays, index), self._version)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Monitor:
        """Read the monitor that was saved to a file.

        Parameters
        ----------
        path : str or path-like
            File that `save` wrote.

        Returns
        -------
        Monitor
            The monitor, ready for more samples.

        Raises
        ------
        StateError
            If the file is damaged, of another kind, or not a state.
        """
        from calibrant._core.state_file import content_errors, read

        state = read(path, "monitor")
        with content_errors(path):
            return cls.restored(state)

    @classmethod
    def restored(cls, saved: Saved) -> Monitor:
        """The monitor that an open state file holds.

        Parameters
        ----------
        saved : Saved
            State file that was read.

        Returns
        -------
        Monitor
            The monitor, ready for more samples.
        """
        from calibrant._core.state_file import whole_number

        recipe, index = saved.recipe, saved.index
        grouped, by = recipe.get("grouped", False), recipe.get("by")
        out = cls(every=recipe["every"], keep=recipe["keep"], grouped=grouped, by=by)
        out._sums.blank = Accumulator.unpacked(recipe, {"counts": np.zeros(7)})
        if by is None and "slices" in index:
            raise ValueError("slices, and no names of their columns")
        out._sums.unpack(recipe, saved.arrays(out._sums.blank.shapes, n_stacked(index)), index)
        out.n_without_time = whole_number(index["n_without_time"], "n_without_time")
        out.added = unpacked_files(index.get("added", []))
        out._version = saved.version
        return out

    def recipe(self) -> dict[str, Any]:
        """How windows are cut and summed; monitors merge only where this is the same.

        Returns
        -------
        dict
            Width, number of windows kept, and the recipe of their sums, as plain data.
        """
        sums = self._sums
        # Only written if set, so that recipes of older states stay the same.
        clusters = {"grouped": True} if sums.grouped else {}
        slices = {} if self.by is None else {"by": list(self.by)}
        own = {"every": str(sums.every), "keep": sums.keep, **clusters, **slices}
        return {**own, **sums.blank.recipe()}

    @property
    def every(self) -> str:
        """The width of windows, as text."""
        return str(self._sums.every)

    @property
    def keep(self) -> int | None:
        """The largest number of windows that are kept; None for all."""
        return self._sums.keep

    @property
    def grouped(self) -> bool:
        """Whether rows come in clusters."""
        return self._sums.grouped

    @property
    def rule(self) -> FixedRule:
        """The rule of the bins in which predictions are summed."""
        return self._sums.blank.rule

    @property
    def measures(self) -> tuple[str, ...] | None:
        """Names of measures that windows can compute; None for all measures of a stream."""
        return self._sums.blank.measures

    @property
    def n_rows(self) -> int:
        """Number of rows in all windows, and before."""
        return self._snapshot()[0].n_rows

    @property
    def n_missing(self) -> int:
        """Number of rows dropped because a value was missing; see `n_without_time` too."""
        return sum(stream.n_missing for stream in self._snapshot()[0].streams())

    def __repr__(self) -> str:
        starts = self._snapshot()[0].starts()
        if not starts:
            return f"Monitor(no rows yet, windows of {self.every}, {self.rule})"
        span = f"from {moment(starts[0]).isoformat()} to {moment(starts[-1]).isoformat()}"
        windows = f"{len(starts)} window{'s' if len(starts) > 1 else ''} of {self.every}"
        return f"Monitor({self.n_rows} rows in {windows} {span}, {self.rule})"


def _columns_of_slices(by: Any) -> tuple[str, ...] | None:
    """The names of the columns of slices; an InputError unless they are texts."""
    if by is None:
        return None
    names = [by] if isinstance(by, str) else by
    known = isinstance(names, list | tuple) and len(names) > 0
    if not known or not all(isinstance(name, str) for name in names):
        raise InputError(f"by must be the name of a column, or several; got {by!r}")
    return tuple(names)


def _check_summable(shapes: Sequence[Measure], blank: Accumulator) -> None:
    """Raise an InputError if no monitor with the options of `blank` can give a measure.

    `blank` is an Accumulator without rows. `shapes` are the catalogue's entries of the measure, one
    for each shape of predictions (binary, answers, multiclass) that may come: it is enough if one
    of them can be given.
    """
    # It is not known yet whether labels are soft, which distances need.
    own, approximate = blank.own_bins, blank.approximate
    if not any(in_stream(each, own_bins=own, approximate=approximate) for each in shapes):
        measure = shapes[0]
        more = alternatives(measure, blank.rule, own, blank.recipe()["cells"])
        raise InputError(
            f"the measure {measure.name!r} needs the rows, which a Monitor does not keep: drop it "
            f"from {name_of('measures')}{worded(python=more, command='')}"
        )
