"""The tables of a monitor: one evaluation for each window of time, of all rows and of each slice.

A "stream" is here the Accumulator of one window: sums of its rows.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime
from numbers import Integral
from typing import Any

import numpy as np

from calibrant._api.evaluate_samples import Options, choose_measures
from calibrant._api.slices import floor_of_sums, holm
from calibrant._api.streaming.accumulator import Accumulator
from calibrant._api.streaming.baselines import (
    baseline_of_slice,
    describe_number,
    evidence_of_change,
    fixed_baseline,
    number_before,
    sums_before,
    with_change,
)
from calibrant._api.streaming.sums import WindowedSums
from calibrant._core.errors import InputError, counted
from calibrant._core.messages import setting
from calibrant._core.typing import Array
from calibrant._data.checks import TWO_COLUMNS
from calibrant._data.times import moment, time_as_text
from calibrant._inference.streams import corrected_e_values, counts_once, running_e_values
from calibrant._measures.catalogue import Measure
from calibrant.results._evaluation import Evaluation
from calibrant.results._verdict import mean_words
from calibrant.results._window_slices import WindowSlice, WindowSlices
from calibrant.results._windows import ALARM, Window, Windows

# Start and stop in microseconds since 1970; None for an open side.
Span = tuple[int | None, int | None]

# Measures that a reader sees unless they were asked for by name.
N_SHOWN = 3


def windows_table(
    sums: WindowedSums,
    n_without_time: int,
    span: Span,
    asked: Iterable[str] | None,
    baseline: Any,
    slices: int = 1,
) -> Windows:
    """Evaluate the windows of a monitor that begin in a span of time, as a table.

    `span` has the start and the stop in microseconds since 1970, None for an open side. `asked`
    names the measures, None for all. `baseline` is what each window is compared with (see
    `fixed_baseline`), a number of windows before it, or None for nothing. `n_without_time` rows
    were dropped. So many `slices` are compared with a baseline.
    """
    total = sums.between(None, None)
    if not total.n_rows:
        raise InputError("this Monitor holds no samples yet: call update(..., time=...) first")
    whole = total.evaluate(measures=asked)
    chosen = choose_measures(tuple(whole.values), total.shape)
    headline = next((m for m in chosen if m.statistic == "bins" and m.of_tables), None)
    # All windows are evidence, also those that are not shown: whoever looks later starts no count.
    shown = set(_window_starts(sums, *span))
    starts = _window_starts(sums, None, span[1])
    windows = [
        _evaluate_window(moment(start), sums.windows[start], chosen, headline) for start in starts
    ]
    described: str | None = None
    of_change: tuple[str, ...] = ()
    if baseline is not None:
        notion = whole.reliability.notion
        windows, described, of_change = _with_changes(
            windows, sums, starts, baseline, notion, slices=slices
        )
    # Merged windows still count as evidence.
    folded = sums.earlier.sums if sums.earlier is not None else None
    streams = [sums.windows[start] for start in starts]
    windows = _with_corrected_p_values(windows, streams, folded, grouped=sums.grouped)
    windows = [window for window, at in zip(windows, starts, strict=True) if at in shown]
    no_floor = _no_floor_notes(total, grouped=sums.grouped)
    two_columns = (TWO_COLUMNS,) if total.columns == 2 else ()
    own = _notes(sums, sorted(shown), n_without_time)
    notes = (*own, *two_columns, *whole.notes, *no_floor, *of_change)
    out = Windows(
        every=str(sums.every),
        measure=None if headline is None else headline.name,
        rows=tuple(windows),
        notes=notes,
        baseline=described,
        shown=tuple(m.name for m in (chosen if asked is not None else chosen[:N_SHOWN])),
    )
    confidence = whole.reliability.notion == "confidence"
    return replace(out, notes=(*notes, *_summary_notes(out, confidence=confidence)))


def _with_changes(
    windows: list[Window],
    sums: WindowedSums,
    starts: list[int],
    given: Any,
    notion: str,
    *,
    slices: int,
) -> tuple[list[Window], str, tuple[str, ...]]:
    """The windows with their changes from a baseline, its description, and notes on it.

    Windows of the baseline itself have no change. `given`, `notion` and `slices` have the meaning
    that they have in `fixed_baseline` and `evidence_of_change`.
    """
    fixed = fixed_baseline(given, sums, notion)
    streams = [sums.windows[start] for start in starts]
    if fixed is None:
        n = number_before(given)
        before = sums_before(sums, starts, n)
        compared = [
            with_change(window, stream, then.summary().bins, soft=then.soft)
            if then.n_rows
            else window
            for window, stream, then in zip(windows, streams, before, strict=True)
        ]
        return compared, describe_number(n), ()
    compared = [
        window if fixed.is_own(start) else with_change(window, stream, fixed.table, soft=fixed.soft)
        for window, start, stream in zip(windows, starts, streams, strict=True)
    ]
    evidence, reason = evidence_of_change(sums, starts, fixed, slices=slices)
    compared = [replace(window, e_change=e) for window, e in zip(compared, evidence, strict=True)]
    notes = (f"no evidence of a change from the baseline (e_change): {reason}",) if reason else ()
    return compared, fixed.described, notes


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
    tables = [stream.summary().bins if stream.weight > 0 else None for stream in streams]
    has_floors = all(
        table is None or (not stream.soft and (grouped or counts_once(table)))
        for table, stream in zip(tables, streams, strict=True)
    )
    evidence = running_e_values(tables) if has_floors else [math.nan] * len(tables)
    evidence = evidence[len(first) :]
    return [
        replace(window, p_corrected=p, e_value=e_value)
        for window, p, e_value in zip(windows, corrected, evidence, strict=True)
    ]


def _summary_notes(windows: Windows, *, confidence: bool) -> list[str]:
    """Notes on the number of windows with a small corrected p-value, and on an alarm."""
    notes = []
    known = [window for window in windows if not math.isnan(window.p_value)]
    if known:
        out = windows.standing_out
        which = f", the first {time_as_text(out[0].start)}" if out else ""
        notes.append(
            f"{len(out) or 'none'} of {counted(len(known), 'window', '')} "
            f"{'are' if len(out) > 1 else 'is'} significantly miscalibrated, corrected for the "
            f"number of windows (p_corrected below 0.05){which}"
        )
    if windows.alarm is not None:
        notes.append(
            f"alarm: by {time_as_text(windows.alarm.start)} the evidence against calibration had "
            f"reached {ALARM:g} (e_value){_gap_since(windows, windows.alarm, confidence)}. With "
            "calibrated predictions, this ever happens with a chance of at most 5%"
        )
    if windows.change_alarm is not None:
        notes.append(
            f"alarm: by {time_as_text(windows.change_alarm.start)} the evidence of a change from "
            f"the baseline had reached {ALARM:g} (e_change)"
            f"{_gap_since(windows, windows.change_alarm, confidence)}. Without a change, this ever "
            "happens with a chance of at most 5%"
        )
    return notes


def _gap_since(windows: Windows, alarm: Window, confidence: bool) -> str:
    """A clause on how far predictions are off in the windows shown since an alarm."""
    since = [each for each in windows if each.start >= alarm.start and each.n]
    known = [each for each in since if not math.isnan(each.mean_predicted)]
    if not known:
        return ""
    n = sum(each.n for each in known)
    predicted, target = (
        sum(each.n * getattr(each, name) for each in known) / n
        for name in ("mean_predicted", "mean_target")
    )
    return f"; since then {mean_words(predicted, target, confidence=confidence, soft=False)}"


def _window_starts(sums: WindowedSums, first: int | None, last: int | None) -> list[int]:
    """The starts of the windows from `first` to before `last`; an InputError if there are none.

    Times are microseconds since 1970; None leaves a side open.
    """
    inside = sums.starts(first, last)
    if not inside:
        starts = sums.starts()
        raise InputError(
            f"no window with rows begins in that span: the first begins at "
            f"{moment(starts[0]).isoformat()}, the last at {moment(starts[-1]).isoformat()}"
        )
    return inside


def _notes(sums: WindowedSums, starts: list[int], n_without_time: int) -> list[str]:
    """Notes on time zones, on windows without rows, on merged windows and on dropped rows.

    `starts` are the starts of the windows shown, in microseconds since 1970.
    """
    notes = ["times without a time zone are read as UTC"]
    empty = (starts[-1] - starts[0]) // sums.every.us + 1 - len(starts)
    if empty:
        notes.append(f"{counted(empty, 'window', '')} between the first and the last without rows")
    if sums.earlier is not None:
        notes.append(
            f"{counted(sums.earlier.sums.n_rows, 'row', '')} {sums.earlier} merged and not shown "
            f"as windows (keep={sums.keep})"
        )
    if n_without_time:
        notes.append(
            f"{counted(n_without_time, 'row', '')} without a time dropped "
            f"({setting('missing', 'drop')})"
        )
    return notes


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
            f"{clusters}, each counted once. Clusters have no noise floor or p-value: e_value is "
            "the evidence against calibration",
        )
    if not counts_once(total.summary().bins):
        return ("weighted rows have no noise floor or p-value",)
    return ()


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


def sliced_table(
    whole: Windows,
    sums: WindowedSums,
    by: str,
    span: Span,
    asked: Iterable[str] | None,
    baseline: Any,
) -> Windows:
    """The table of all rows with that of each slice, which are named by the columns `by`.

    The other arguments are those of `windows_table`. Slices without a window in the span are left
    out. Each slice is compared with its own baseline: its own windows, or the same slice of another
    monitor.
    """
    # A number of windows before each is no fixed baseline.
    fixed = whole.baseline is not None and not isinstance(baseline, Integral)
    evidence = "e_change" if fixed else "e_value"
    names = [name for name in sorted(sums.slices) if sums.slices[name].starts(*span)]
    notes, tables = [], {}
    for name in names:
        own = baseline_of_slice(baseline, name) if fixed else baseline
        asked_of = list(whole.rows[0].values) if asked is None else list(asked)
        tables[name] = windows_table(sums.slices[name], 0, span, asked_of, own, len(names))
        tables[name] = replace(tables[name], shown=whole.shown)
        if fixed and own is None:
            notes.append(f"{name}: no {evidence}, because the baseline does not have this slice")
    if isinstance(baseline, Accumulator | Evaluation):
        notes = [f"slices have no {evidence}, because the baseline has no slices"]
    left = len(sums.slices) - len(names)
    if left:
        notes.append(f"{counted(left, 'slice', '')} without rows in this span")
    starts, values = _evidence_by_time(tables, evidence)
    corrected = corrected_e_values(values) if values.size else values
    rows = [
        _slice_row(name, tables[name], whole.measure, evidence, starts, corrected[:, j])
        for j, name in enumerate(tables)
    ]
    rows.sort(key=lambda row: (-_or_0(row.e_corrected), -_or_0(row.e_value), row.name))
    slices = WindowSlices(
        by=by,
        measure=whole.measure or next(iter(whole.rows[0].values)),
        evidence=evidence,
        rows=tuple(rows),
        notes=tuple(notes),
    )
    if not slices.alarms:
        return replace(whole, slices=slices)
    named = ", ".join(row.name for row in slices.alarms[:5])
    more = f" and {len(slices.alarms) - 5} more" if len(slices.alarms) > 5 else ""
    note = (
        f"alarm in {counted(len(slices.alarms), 'slice', '')} by {by}, corrected for the number of "
        f"slices ({len(rows)}): {named}{more}"
    )
    return replace(whole, slices=slices, notes=(*whole.notes, note))


def _or_0(value: float) -> float:
    """The value, and 0 for NaN."""
    return 0.0 if math.isnan(value) else value


def _evidence_by_time(tables: dict[str, Windows], column: str) -> tuple[list[Any], Array]:
    """The starts of all windows of all slices, and the evidence of each slice by then, (t, k).

    A slice has the evidence 1 before its first window, and that of its last one in others' windows;
    one without evidence has 1 throughout.
    """
    starts = sorted({row.start for table in tables.values() for row in table})
    values = np.ones((len(starts), len(tables)))
    for j, table in enumerate(tables.values()):
        known = {row.start: getattr(row, column) for row in table}
        last = 1.0
        for i, start in enumerate(starts):
            now = known.get(start, math.nan)
            last = last if math.isnan(now) else now
            values[i, j] = last
    return starts, values


def _slice_row(
    name: str,
    table: Windows,
    measure: str | None,
    evidence: str,
    starts: list[Any],
    corrected: Array,
) -> WindowSlice:
    """The row of one slice: its newest window, and the evidence in all.

    `corrected` is the corrected evidence by each of `starts`, of all slices.
    """
    newest = table.latest
    e_value = getattr(newest, evidence)
    over = np.flatnonzero(corrected >= ALARM)
    return WindowSlice(
        name=name,
        n=sum(row.n for row in table),
        start=newest.start,
        mean_predicted=newest.mean_predicted,
        mean_target=newest.mean_target,
        value=newest.values[measure or next(iter(newest.values))],
        e_value=e_value,
        e_corrected=math.nan if math.isnan(e_value) else float(corrected[-1]),
        alarm=starts[over[0]] if over.size else None,
        windows=table,
    )
