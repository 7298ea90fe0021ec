"""Baselines: what a monitor's windows are compared with, and the changes that they show."""

from __future__ import annotations

import math
import numbers
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from calibrant._api.streaming.accumulator import Accumulator
from calibrant._api.streaming.sums import WindowedSums
from calibrant._core.bin_tables import BinTable
from calibrant._core.errors import InputError, counted
from calibrant._core.messages import name_of
from calibrant._data.times import moment, time_as_text
from calibrant._inference.change import running_change
from calibrant._inference.streams import counts_once, p_of_change, shift_of
from calibrant.results._evaluation import Evaluation

if TYPE_CHECKING:
    from calibrant.results._windows import Window

# Sums of weights that are those of clusters but for rounding.
_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class Baseline:
    """Accepted rows, one for all windows: their bins, whether labels are soft, and their name.

    Windows that begin from `start` to before `stop` are the baseline itself, in microseconds since
    1970; both are None for rows from elsewhere. `grouped` says whether clusters count once in it,
    None if that is not known.
    """

    table: BinTable
    soft: bool
    described: str
    grouped: bool | None = None
    start: int | None = None
    stop: int | None = None

    def is_own(self, start: int) -> bool:
        """Whether the window that begins at `start` is part of the baseline."""
        return self.stop is not None and (self.start or start) <= start < self.stop

    def why_no_evidence(self, grouped: bool) -> str:
        """Why there is no evidence of a change from this baseline; "" if there is.

        `grouped` says whether the monitor counts clusters.
        """
        if self.grouped is False and grouped:
            return "its rows have no clusters, but the monitor's rows do"
        if self.grouped and not grouped:
            return "its rows have clusters, but the monitor's rows do not"
        sums = self.table
        if not grouped:
            return "" if counts_once(sums) else "its rows have weights other than 1"
        w, w2 = sums.sums[0, :, 1], sums.sums[0, :, 2]
        as_clusters = (w2 <= w + _ROUNDING).all() and (w <= sums.n[0] + _ROUNDING).all()
        if self.grouped is None and (counts_once(sums) or not as_clusters):
            return "it does not count clusters: give windows of a Monitor with grouped=True"
        return ""


def fixed_baseline(given: Any, sums: WindowedSums, notion: str) -> Baseline | None:
    """The baseline that is one for all windows; None for a number of windows before each.

    `given` is an Accumulator, an Evaluation, a Monitor, or the (start, stop) of windows of this
    monitor in microseconds since 1970. An InputError is raised unless its bins and columns are
    those of the monitor; `notion` is what the monitor's bins measure.
    """
    rule, columns = sums.blank.rule, sums.columns
    if isinstance(given, Evaluation):
        bins = given.reliability
        if (bins.rule, bins.notion) != (rule, notion):
            raise _unlike(f"{rule}, {notion}", f"{bins.rule}, {bins.notion}")
        if bins.design is not None:
            raise InputError(
                f"{name_of('baseline')} is an Evaluation with clusters, but its bins hold single "
                "rows: give windows of a Monitor with grouped=True"
            )
        return Baseline(bins.table, not bins.is_hard, _rows_of(bins.n))
    if isinstance(given, tuple):
        start, stop = given
        own = sums.between(start, stop)
        if not own.weight > 0:
            raise InputError(f"{name_of('baseline')} is a time span without rows")
        since = "" if start is None else f"from {time_as_text(moment(start))} to "
        rows = counted(own.n_rows, "row", "")
        named = f"the windows {since}before {time_as_text(moment(stop))} ({rows})"
        return Baseline(own.summary().bins, own.soft, named, sums.grouped, start, stop)
    grouped = None
    if not isinstance(given, Accumulator) and hasattr(given, "total"):
        given, grouped = given.total(), given.grouped
    if not isinstance(given, Accumulator):
        return None
    if given.rule != rule or given.columns != columns:
        raise _unlike(f"{rule}) and columns ({columns}", f"{given.rule} and {given.columns}")
    return Baseline(given.summary().bins, given.soft, _rows_of(given.n_rows), grouped)


def _unlike(own: str, other: str) -> InputError:
    """The error for a baseline that has other bins, or bins of another kind."""
    return InputError(f"baseline must have the monitor's bins ({own}); it has {other}")


def _rows_of(n: int) -> str:
    """A baseline of n rows, in words."""
    return f"a baseline of {n} rows"


def baseline_of_slice(baseline: Any, name: str) -> Any:
    """The baseline of a slice; None if it has none."""
    if isinstance(baseline, tuple):
        return baseline
    own = getattr(baseline, "slice_monitor", lambda _: None)(name)
    return own if own is not None and own.n_rows else None


def number_before(baseline: Any) -> int:
    """A number of windows before each as a baseline; an InputError for anything else."""
    if not isinstance(baseline, numbers.Integral) or isinstance(baseline, bool) or baseline < 1:
        raise InputError(
            "baseline must be an Accumulator (such as monitor.between(start, stop)), a Monitor, "
            "an Evaluation, a span (start, stop) of this monitor, or a number of preceding "
            f"windows; got {baseline!r}"
        )
    return int(baseline)


def describe_number(n: int) -> str:
    """A number of windows before each as a baseline, in words."""
    return "the window before" if n == 1 else f"the {n} windows before each"


def sums_before(sums: WindowedSums, starts: list[int], n: int) -> list[Accumulator]:
    """The sums of the windows in `n` widths of time before each of `starts`."""
    out, every = [], sums.starts()
    for start in starts:
        before = sums.blank.copy()
        first = bisect_left(every, start - n * sums.every.us)
        for other in every[first : bisect_left(every, start)]:
            before.merge(sums.windows[other])
        out.append(before)
    return out


def with_change(window: Window, stream: Accumulator, then: BinTable, *, soft: bool) -> Window:
    """A window with the change of its gap since the baseline, and the p-value of the change.

    The gap is the mean target less the mean prediction; `then` has the sums of the baseline, and
    `soft` says whether its labels are. The window is unchanged if it or the baseline has no weight;
    the p-value is NaN if rows have weights other than 1.
    """
    if not stream.weight > 0 or not then.sum_w.sum() > 0:
        return window
    now = stream.summary().bins
    p = math.nan
    if counts_once(now) and counts_once(then):
        p = p_of_change(now, then, soft=stream.soft or soft)
    return replace(window, shift=shift_of(now, then), p_change=p)


def evidence_of_change(
    sums: WindowedSums, starts: Sequence[int], baseline: Baseline, *, slices: int = 1
) -> tuple[list[float], str]:
    """The evidence of a change after each window, NaN where there is none, and why there is none.

    `starts` are the windows. Those that were merged into one count as well, before them.
    Windows before the end of a baseline of this monitor do not count.
    """
    none = [math.nan] * len(starts)
    reason = baseline.why_no_evidence(sums.grouped)
    if reason:
        return none, reason
    judged = [at for at in starts if baseline.stop is None or at >= baseline.stop]
    streams = [sums.windows[at] for at in judged]
    if baseline.stop is None and sums.earlier is not None:
        streams, judged = [sums.earlier.sums, *streams], [sums.earlier.start, *judged]
    if not streams:
        return none, "no window begins after it"
    tables = [stream.summary().bins if stream.weight > 0 else None for stream in streams]
    if not sums.grouped and not all(table is None or counts_once(table) for table in tables):
        return none, "rows have weights other than 1"
    origin = judged[0] if baseline.stop is None else baseline.stop
    order = [(at - origin) // sums.every.us + 1 for at in judged]
    found = running_change(tables, order, baseline.table, grouped=sums.grouped, slices=slices)
    kept = dict(zip(judged, found, strict=True))
    return [kept.get(at, math.nan) for at in starts], ""
