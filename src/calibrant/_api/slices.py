"""One evaluation for each value of a column."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant._api.metrics.uncertainty import limited
from calibrant._core.binning import Rule
from calibrant._core.errors import InputError
from calibrant._data.arrays import to_array
from calibrant._data.columns import pick
from calibrant._data.samples import Samples
from calibrant._data.slice_names import row_names
from calibrant._inference.resampling import checked_votes
from calibrant._inference.uncertainty import Uncertainty
from calibrant._measures.catalogue import HEADLINE, Measure, Shape, find
from calibrant._measures.gap_scale import gap_scale, is_error
from calibrant._summaries.samples import Summary
from calibrant.results._check import Limit
from calibrant.results._rendering import percent
from calibrant.results._slices import Slice, Slices


@dataclass(frozen=True)
class Judging:
    """How slices get intervals and verdicts: against which tolerance, at which level."""

    tolerance: float
    level: float
    n_resamples: int


def sliced(
    samples: Samples,
    by: Any,
    data: Any,
    fixed: Rule,
    quantile: Rule,
    measures: Sequence[Measure],
    *,
    votes: Any,
    seed: int,
    groups: Any = None,
    asked: bool = False,
    judging: Judging | None = None,
) -> Slices:
    """The slices of samples by a column; bins are those of the rules, within each slice.

    `groups` are clusters as numbers; `asked` says that the measures were chosen by name; with
    `judging`, slices have intervals and verdicts too.
    """
    labels, name = slice_labels(by, samples, data)
    headline, shown = slice_measures(measures, samples.shape, asked=asked)
    counts = checked_votes(votes, samples)
    notes, found = [], []
    names = list(dict.fromkeys(np.sort(labels).tolist()))
    for label in names:
        rows = np.flatnonzero(labels == label)
        part = samples.take(rows)
        if part.weights is not None and not (part.weights > 0).any():
            notes.append(f"{label}: {rows.size} rows without weight, left out")
            continue
        summary = Summary(part, fixed, quantile, together=not asked)
        values = _values_of(shown, headline, summary)
        own = None if groups is None else np.unique(groups[rows], return_inverse=True)[1]
        n_clusters = None if own is None else int(own.max()) + 1
        plain = Slice(label, part.n, values, math.nan, math.nan, math.nan, n_clusters=n_clusters)
        if n_clusters == 1:
            notes.append(f"{label}: one cluster alone has no noise floor and no interval")
            found.append(plain)
            continue
        votes_here = counts if counts is None or counts.ndim == 0 else counts[rows]
        level, draws = (0.95, 1000) if judging is None else (judging.level, judging.n_resamples)
        worth = Uncertainty(
            part, fixed, quantile, (headline,), level, draws, seed, groups=own, votes=votes_here
        )
        found.append(_with_chance(plain, headline, worth, judging, len(names)))
    if not found:
        raise InputError(f"by={name!r} leaves no slice with weight")
    if judging is not None and len(found) > 1:
        strict = percent(_together(judging.level, len(names)))
        notes.append(
            f"low and high are at {percent(judging.level)} for each slice; beyond the tolerance is "
            f"what is so at {strict}, for the number of slices"
        )
    level = 0.95 if judging is None else judging.level
    tolerance = None if judging is None else judging.tolerance
    parts = ranked(found, headline.name)
    if judging is not None:
        parts = tuple(_judged(part, 1.0 - level) for part in parts)
    return Slices(name, headline.name, parts, tuple(notes), level, tolerance)


def _values_of(shown: Sequence[Measure], headline: Measure, summary: Summary) -> dict[str, float]:
    """The measures of a slice; NaN for one that its rows do not have."""
    out = {}
    for measure in shown:
        try:
            out[measure.name] = measure.compute(summary)
        except InputError:
            if measure is headline:
                raise
            out[measure.name] = math.nan
    return out


def _with_chance(
    part: Slice, headline: Measure, worth: Uncertainty, judging: Judging | None, n_slices: int
) -> Slice:
    """A slice with its noise floor and, if it is to be judged, its interval."""
    value = part.values[headline.name]
    floor = worth.noise_floor(headline, value)
    if floor is not None:
        part = replace(part, noise_95=floor.upper, p_value=floor.p_value)
    if judging is None:
        return part
    interval = worth.interval(headline, value)
    scale = gap_scale(headline, worth.summary(worth.samples))
    limit = Limit(headline.name, "max", scale.value(judging.tolerance))
    held = limited(limit, None, interval, worth, scale)
    if held.verdict == "fail" and n_slices > 1:
        # As `check` has it: one of so many fails by chance as seldom as one alone would.
        strict = _at_level(worth, _together(judging.level, n_slices))
        held = replace(held, joint=strict.interval(headline, value))
    return replace(
        part, low=interval.low, high=interval.high,
        estimate=math.nan if interval.estimate is None else interval.estimate,
        within_tolerance={"pass": True, "fail": False}.get(held.verdict),
    )  # fmt: skip


def _at_level(worth: Uncertainty, level: float) -> Uncertainty:
    """The same samples at another level, without what was drawn for the first."""
    return Uncertainty(
        worth.samples, worth.fixed, worth.quantile, worth.measures, level, worth.n_resamples,
        worth.seed, worth.groups, worth.votes,
    )  # fmt: skip


def _together(level: float, n_slices: int) -> float:
    """The level at which each slice and all rows are held, so that together they keep `level`."""
    return 1.0 - (1.0 - level) / (1 + n_slices)


def _judged(part: Slice, alpha: float) -> Slice:
    """A slice with its verdict, once its p-value is corrected."""
    if part.p_corrected < alpha or part.within_tolerance is False:
        return replace(part, verdict="miscalibrated")
    kept = part.within_tolerance is True
    return replace(part, verdict="calibrated within noise" if kept else "not enough data")


def ranked(found: Sequence[Slice], measure: str) -> tuple[Slice, ...]:
    """The slices with corrected p-values, the hardest to explain by chance first."""
    corrected = holm([part.p_value for part in found])
    parts = [replace(part, p_corrected=p) for part, p in zip(found, corrected, strict=True)]
    return tuple(
        sorted(parts, key=lambda part: (_last_if_nan(part.p_corrected), -part.values[measure]))
    )


def slice_measures(
    measures: Sequence[Measure], shape: Shape, *, asked: bool, of_sums: bool = False
) -> tuple[Measure, list[Measure]]:
    """The measure that slices are judged by, and all that they have.

    Unasked they have those of bins and losses; `of_sums`, of which there is nothing else, has no
    others. Resampler by is the ECE, or the first error that was asked for; the ECE where it was
    losses alone.
    """
    quick = [m for m in measures if m.statistic in ("bins", "losses")]
    shown = list(measures) if asked and not of_sums else quick
    errors = [m for m in shown if is_error(m) and (m.statistic == "bins" or not of_sums)]
    ece = find(HEADLINE, shape)
    headline = errors[0] if errors and asked and ece not in errors else ece
    return headline, shown if headline in shown else [headline, *shown]


def not_of_sums(measures: Sequence[Measure], shown: Sequence[Measure]) -> list[str]:
    """A note on measures that were asked for but that sums of slices do not have."""
    gone = [m.name for m in measures if m not in shown]
    if not gone:
        return []
    return [f"slices have no {', '.join(gone)} here: they need the rows of each slice in memory"]


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
