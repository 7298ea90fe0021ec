"""The tables of a monitor's slices, and their alarms corrected for the number of slices."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from calibrant._api.streaming.accumulator import Accumulator
from calibrant._api.streaming.sums import WindowedSums
from calibrant._api.streaming.tables import windows_table
from calibrant._core.errors import counted
from calibrant._core.typing import Array
from calibrant._inference.streams import corrected_e_values
from calibrant.results._evaluation import Evaluation
from calibrant.results._window_slices import WindowSlice, WindowSlices
from calibrant.results._windows import ALARM, Windows

Span = tuple[int | None, int | None]


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
    fixed = baseline is not None and whole.baseline is not None and not _is_number(baseline)
    evidence = "e_change" if fixed else "e_value"
    names = [name for name in sorted(sums.slices) if sums.slices[name].starts(*span)]
    notes, tables = [], {}
    for name in names:
        own = _baseline_of(baseline, name) if fixed else baseline
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


def _is_number(baseline: Any) -> bool:
    """Whether a baseline is a number of windows before each."""
    return not isinstance(baseline, tuple | Accumulator | Evaluation) and not hasattr(
        baseline, "total"
    )


def _or_0(value: float) -> float:
    """The value, and 0 for NaN."""
    return 0.0 if math.isnan(value) else value


def _baseline_of(baseline: Any, name: str) -> Any:
    """The baseline of a slice; None if it has none."""
    if isinstance(baseline, tuple):
        return baseline
    own = getattr(baseline, "slice_monitor", lambda _: None)(name)
    return own if own is not None and own.n_rows else None


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
