"""The table of a monitor's windows: one evaluation for each window of time.

A "stream" is here the Accumulator of one window: sums of its rows.
"""

from __future__ import annotations

import math
import numbers
from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime
from typing import Any

from calibrant._api.evaluate_samples import Options, choose_measures
from calibrant._api.slices import floor_of_sums, holm
from calibrant._api.streaming.accumulator import Accumulator
from calibrant._api.streaming.sums import WindowedSums
from calibrant._core.bin_tables import BinTable
from calibrant._core.errors import InputError, counted
from calibrant._core.messages import setting
from calibrant._data.checks import TWO_COLUMNS
from calibrant._data.times import moment
from calibrant._inference.streams import (
    counts_once,
    p_of_change,
    running_e_values,
    shift_of,
)
from calibrant._measures.catalogue import Measure
from calibrant.results._windows import ALARM, Window, Windows

# Measures that a reader sees unless they were asked for by name.
N_SHOWN = 3


def windows_table(
    sums: WindowedSums,
    n_without_time: int,
    span: tuple[int | None, int | None],
    asked: Iterable[str] | None,
    baseline: Any,
) -> Windows:
    """Evaluate the windows of a monitor that begin in a span of time, as a table.

    `span` has the start and the stop in microseconds since 1970, None for an open side. `asked`
    names the measures, None for all. `baseline` is what each window is compared with: an
    Accumulator, a number of windows before it, or None for nothing. `n_without_time` rows were
    dropped.
    """
    total = sums.between(None, None)
    if not total.n_rows:
        raise InputError("this Monitor holds no samples yet: call update(..., time=...) first")
    whole = total.evaluate(measures=asked)
    chosen = choose_measures(tuple(whole.values), total.shape)
    headline = next((m for m in chosen if m.statistic == "bins" and m.of_tables), None)
    starts = _window_starts(sums, *span)
    windows = [
        _evaluate_window(moment(start), sums.windows[start], chosen, headline) for start in starts
    ]
    if baseline is not None:
        before = _baselines(sums, starts, total.columns, baseline)
        windows = [
            _with_change(window, sums.windows[start], other)
            for window, start, other in zip(windows, starts, before, strict=True)
        ]
    # Merged windows still count as evidence, unless a span was asked for.
    folded = sums.earlier.sums if sums.earlier is not None and span[0] is None else None
    streams = [sums.windows[start] for start in starts]
    windows = _with_corrected_p_values(windows, streams, folded, grouped=sums.grouped)
    no_floor = _no_floor_notes(total, grouped=sums.grouped)
    two_columns = (TWO_COLUMNS,) if total.columns == 2 else ()
    notes = (*_notes(sums, starts, n_without_time), *two_columns, *whole.notes, *no_floor)
    out = Windows(
        every=str(sums.every),
        measure=None if headline is None else headline.name,
        rows=tuple(windows),
        notes=notes,
        baseline=None if baseline is None else _describe_baseline(baseline),
        shown=tuple(m.name for m in (chosen if asked is not None else chosen[:N_SHOWN])),
    )
    return replace(out, notes=(*notes, *_summary_notes(out)))


def _with_corrected_p_values(
    windows: list[Window], streams: list[Accumulator], before: Accumulator | None, *, grouped: bool
) -> list[Window]:
    """The windows with Holm-corrected p-values, and the e-value of all evidence up to each.

    `streams` are the sums of the windows, and `before` those of merged earlier windows, if any. The
    e-values are NaN if some window has soft labels, or weights that do not come from clusters.
    """
    corrected = holm([window.p_value for window in windows])
    first = [] if before is None else [before]
    streams = [*first, *streams]
    tables = [_bin_sums(stream) if stream.weight > 0 else None for stream in streams]
    has_floors = all(
        table is None or _has_evidence(stream, table, grouped)
        for table, stream in zip(tables, streams, strict=True)
    )
    evidence = running_e_values(tables) if has_floors else [math.nan] * len(tables)
    evidence = evidence[len(first) :]
    return [
        replace(window, p_corrected=p, e_value=e_value)
        for window, p, e_value in zip(windows, corrected, evidence, strict=True)
    ]


def _summary_notes(windows: Windows) -> list[str]:
    """Notes on the number of windows with a small corrected p-value, and on an alarm."""
    notes = []
    known = [window for window in windows if not math.isnan(window.p_value)]
    if known:
        out = windows.standing_out
        which = f", the first {_time_as_text(out[0].start)}" if out else ""
        notes.append(
            f"{len(out) or 'none'} of {counted(len(known), 'window', '')} stand"
            f"{'' if len(out) > 1 else 's'} out once their number is taken into account "
            f"(p_corrected below 0.05){which}"
        )
    if windows.alarm is not None:
        notes.append(
            f"alarm: by {_time_as_text(windows.alarm.start)} the evidence against calibration had "
            f"reached {ALARM:g} (e_value), which calibrated predictions ever do with a chance of "
            "at most 5%"
        )
    return notes


def _window_starts(sums: WindowedSums, first: int | None, last: int | None) -> list[int]:
    """The starts of the windows from `first` to before `last`; an InputError if there are none.

    Times are microseconds since 1970; None leaves a side open.
    """
    starts = sorted(sums.windows)
    inside = [s for s in starts if (first is None or first <= s) and (last is None or s < last)]
    if not inside:
        raise InputError(
            f"no window with rows begins in that span: the first begins at "
            f"{moment(starts[0]).isoformat()}, the last at {moment(starts[-1]).isoformat()}"
        )
    return inside


def _notes(sums: WindowedSums, starts: list[int], n_without_time: int) -> list[str]:
    """Notes on time zones, on windows without rows, on merged windows and on dropped rows.

    `starts` are the starts of the windows shown, in microseconds since 1970.
    """
    notes = ["times without a zone are taken to be in UTC"]
    empty = (starts[-1] - starts[0]) // sums.every.us + 1 - len(starts)
    if empty:
        notes.append(f"{counted(empty, 'window', '')} between the first and the last without rows")
    if sums.earlier is not None:
        notes.append(
            f"{counted(sums.earlier.sums.n_rows, 'row', '')} {sums.earlier} merged, not in "
            f"windows (keep={sums.keep})"
        )
    if n_without_time:
        notes.append(
            f"{counted(n_without_time, 'row', '')} without a time dropped "
            f"({setting('missing', 'drop')})"
        )
    return notes


def _time_as_text(start: datetime) -> str:
    """A time as text, without seconds of 0, and without the hour at midnight."""
    return start.strftime("%Y-%m-%d %H:%M:%S").removesuffix(":00").removesuffix(" 00:00")


def _no_floor_notes(total: Accumulator, *, grouped: bool) -> tuple[str, ...]:
    """A note with the reason why windows have no noise floor; () if they have one.

    `total` has the sums of all rows; `grouped` says whether rows come in clusters, each of weight
    1.
    """
    if total.soft:
        return ("soft labels have no noise floor of their own",)
    if grouped:
        clusters = counted(round(total.weight), "cluster", "")
        return (
            f"{clusters}, each of which counts once; there is no noise floor or p-value where rows "
            "come in clusters: e_value is the evidence against calibration",
        )
    if not counts_once(_bin_sums(total)):
        return ("there is no noise floor or p-value where rows have weights other than 1",)
    return ()


def _bin_sums(stream: Accumulator) -> BinTable:
    """The sums of the rows of an accumulator in its ordinary bins."""
    return stream.summary().bins


def _evaluate_window(
    start: datetime, stream: Accumulator, chosen: tuple[Measure, ...], headline: Measure | None
) -> Window:
    """One row of the table: a window's measures, noise floor, p-value and means.

    Noise floor and p-value are those of the measure `headline`, NaN if it is None. All values are
    NaN in a window whose rows have no weight.
    """
    window = Window(
        start=start,
        n=stream.n_rows,
        n_missing=stream.n_missing,
        mean_predicted=math.nan,
        mean_target=math.nan,
        values={measure.name: math.nan for measure in chosen},
    )
    if not stream.weight > 0:
        return window
    evaluation = stream.copy()._evaluate(Options(measures=[m.name for m in chosen]), None)
    window = replace(window, values=evaluation.values)
    table = evaluation.reliability.table
    value = math.nan if headline is None else evaluation[headline.name]
    floor = floor_of_sums(table, headline, value, soft=stream.soft)
    window = replace(window, noise_95=floor.upper, p_value=floor.p_value)
    weight, predicted, target = (
        float(each.sum()) for each in (table.sum_w, table.sum_wu, table.sum_wz)
    )
    if not weight:
        return window
    return replace(window, mean_predicted=predicted / weight, mean_target=target / weight)


def _has_evidence(stream: Accumulator, table: BinTable, grouped: bool) -> bool:
    """Whether evidence against calibration can be computed from the sums of a window.

    Its labels must be hard, and each row must count once, or each cluster if rows are `grouped`.
    """
    return not stream.soft and (grouped or counts_once(table))


def _describe_baseline(baseline: Any) -> str:
    """The baseline of the table, in words."""
    if isinstance(baseline, Accumulator):
        return f"a baseline of {baseline.n_rows} rows"
    return "the window before" if baseline == 1 else f"the {baseline} windows before each"


def _baselines(
    sums: WindowedSums, starts: list[int], columns: int, baseline: Any
) -> list[Accumulator]:
    """The sums to compare each window with, one Accumulator for each of `starts`.

    An Accumulator as `baseline` serves for all windows; it must have the same bins and columns. A
    number stands for the windows in that many widths of time before each window. An InputError is
    raised for anything else.
    """
    if isinstance(baseline, Accumulator):
        rule = sums.blank.rule
        if baseline.rule != rule or baseline.columns != columns:
            raise InputError(
                f"baseline must have the monitor's bins ({rule}) and columns ({columns}); it has "
                f"{baseline.rule} and {baseline.columns}"
            )
        return [baseline] * len(starts)
    if not isinstance(baseline, numbers.Integral) or isinstance(baseline, bool) or baseline < 1:
        raise InputError(
            "baseline must be an Accumulator, such as monitor.between(start, stop), or how many "
            f"windows before each to compare it with; got {baseline!r}"
        )
    out, every = [], sorted(sums.windows)
    for start in starts:
        before = sums.blank.copy()
        first = bisect_left(every, start - int(baseline) * sums.every.us)
        for other in every[first : bisect_left(every, start)]:
            before.merge(sums.windows[other])
        out.append(before)
    return out


def _with_change(window: Window, stream: Accumulator, before: Accumulator) -> Window:
    """A window with the change of its gap since the baseline, and the p-value of the change.

    The gap is the mean target less the mean prediction; `before` has the sums of the baseline. The
    window is unchanged if it or the baseline has no weight; the p-value is NaN if rows have weights
    other than 1.
    """
    if not stream.weight > 0 or not before.weight > 0:
        return window
    now, then = _bin_sums(stream), _bin_sums(before)
    p = math.nan
    if counts_once(now) and counts_once(then):
        p = p_of_change(now, then, soft=stream.soft or before.soft)
    return replace(window, shift=shift_of(now, then), p_change=p)
