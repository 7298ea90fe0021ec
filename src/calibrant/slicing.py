"""One evaluation for each value of a column."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.binning import Rule
from calibrant.errors import InputError
from calibrant.inference.judged import checked_votes
from calibrant.inference.worth import Worth
from calibrant.inputs.arrays import to_array
from calibrant.inputs.columns import pick
from calibrant.measures.catalogue import Measure, find
from calibrant.results.slices import Slice, Slices
from calibrant.samples.samples import Samples
from calibrant.slice_names import row_names
from calibrant.summary import Summary


def sliced(
    samples: Samples,
    by: Any,
    data: Any,
    rule: Rule,
    measures: Sequence[Measure],
    *,
    votes: Any,
    seed: int,
) -> Slices:
    """The slices of samples by a column; all bins are those of the rule, within each slice."""
    labels, name = slice_labels(by, samples, data)
    headline = find("ece", "multiclass" if samples.multiclass else "binary")
    shown = shown_of(measures, headline)
    counts = checked_votes(votes, samples)
    notes, found = [], []
    for label in dict.fromkeys(np.sort(labels).tolist()):
        rows = np.flatnonzero(labels == label)
        part = rows_of(samples, rows)
        if part.weights is not None and not (part.weights > 0).any():
            notes.append(f"{label}: {rows.size} rows without weight, left out")
            continue
        summary = Summary(part, rule, rule, together=True)
        values = {m.name: m.compute(summary) for m in shown}
        votes_here = counts if counts is None or counts.ndim == 0 else counts[rows]
        worth = Worth(part, rule, rule, (headline,), seed=seed, votes=votes_here)
        floor = worth.noise_floor(headline, values[headline.name])
        p, upper = (math.nan, math.nan) if floor is None else (floor.p_value, floor.upper)
        found.append(Slice(label, part.n, values, upper, p, math.nan))
    if not found:
        raise InputError(f"by={name!r} leaves no slice with weight")
    return Slices(name, headline.name, ranked(found, headline.name), tuple(notes))


def ranked(found: Sequence[Slice], measure: str) -> tuple[Slice, ...]:
    """The slices with corrected p-values, the worst first."""
    corrected = holm([part.p_value for part in found])
    parts = [replace(part, p_corrected=p) for part, p in zip(found, corrected, strict=True)]
    return tuple(
        sorted(parts, key=lambda part: (_last_if_nan(part.p_corrected), -part.values[measure]))
    )


def shown_of(measures: Sequence[Measure], headline: Measure) -> list[Measure]:
    """The measures that slices have: of bins and losses, the headline among them."""
    shown = [m for m in measures if m.statistic in ("bins", "losses")]
    return shown if headline.name in {m.name for m in shown} else [headline, *shown]


def _last_if_nan(value: float) -> float:
    return 2.0 if math.isnan(value) else value


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's correction: the chance that any of so many calibrated slices looks this bad."""
    p = np.asarray(p_values, dtype=np.float64)
    known = np.flatnonzero(~np.isnan(p))
    order = known[np.argsort(p[known], kind="stable")]
    out = np.full(p.size, math.nan)
    steps = p[order] * (known.size - np.arange(known.size))
    out[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return [float(value) for value in out]


def slice_labels(by: Any, samples: Samples, data: Any) -> tuple[NDArray[Any], str]:
    """The name of every row's slice, and what the slices are by."""
    names = "slice"
    if data is not None and isinstance(by, str | list | tuple):
        columns = [by] if isinstance(by, str) else list(by)
        names = ", ".join(map(str, columns))
        arrays = [_values(pick(data, column, "by")) for column in columns]
    else:
        if isinstance(by, str):
            raise InputError(f"by={by!r} names a column, but there is no data=frame to find it in")
        arrays = [_values(by)]
    arrays = [samples.own_rows(array) for array in arrays]
    for array in arrays:
        if array.shape != (samples.n,):
            raise InputError(
                f"by must hold a value for each of the {samples.n} rows; got {array.shape}"
            )
    return row_names([array.tolist() for array in arrays]), names


def _values(column: Any) -> NDArray[Any]:
    """A column as an array; None where a frame's column has no value."""
    if isinstance(column, np.ndarray | list | tuple):
        return to_array(column, "by")
    import narwhals as nw

    try:
        series = nw.from_native(column, series_only=True)
    except TypeError:
        return to_array(column, "by")
    pairs = zip(series.to_list(), series.is_null().to_list(), strict=True)
    out = np.empty(len(series), dtype=object)
    out[:] = [None if null else value for value, null in pairs]
    return out


def rows_of(samples: Samples, rows: NDArray[np.intp]) -> Samples:
    """Some rows of samples."""
    weights = None if samples.weights is None else samples.weights[rows]
    return replace(
        samples,
        reports=samples.reports[rows],
        targets=samples.targets[rows],
        weights=weights,
        kept=None,
    )
