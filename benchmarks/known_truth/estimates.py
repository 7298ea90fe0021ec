"""What is measured on one sample: intervals, values, and a plain bootstrap beside them.

Only public functions are called, so that any method of inference can be measured.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

import calibrant as cal
from calibrant._measures.coefficients import COEFFICIENTS

from .populations import Array, Drawn

A, B = "a", "b"
Find = Callable[[Drawn, Sequence[str], int], list[Any]]


class Ends(NamedTuple):
    """Low, high and value; nan where a sample does not have a measure, such as the AUROC of one
    class.
    """

    low: float = math.nan
    high: float = math.nan
    value: float = math.nan


def singles(sample: Drawn, measures: Sequence[str], n_resamples: int) -> list[Any]:
    """The interval of each measure."""
    return [
        fitted(sample.y, sample.u, sample.w, measure, sample.groups)
        if measure in COEFFICIENTS
        else cal.interval(
            sample.y, sample.u, measure=measure, sample_weight=sample.w, groups=sample.groups,
            votes=sample.votes, n_resamples=n_resamples,
        )
        for measure in measures
    ]  # fmt: skip


def fitted(y: Array, u: Array, w: Array | None, name: str, groups: Any = None) -> Ends:
    """The interval and the value of a coefficient of Cox's recalibration."""
    cox = cal.cox_calibration(y, u, sample_weight=w, groups=groups)
    field = "intercept_at_slope_1" if name == "intercept_in_the_large" else name
    low, high, value = (getattr(cox, field + end) for end in ("_low", "_high", ""))
    return Ends(low, high, value)


def differences(sample: Drawn, measures: Sequence[str], n_resamples: int) -> list[Any]:
    """The interval of each difference, of predictors on the same rows or on their own."""
    y, (first, second) = sample.y, sample.u
    if isinstance(y, tuple):
        found = cal.check(
            y[0], first, baseline={"y_true": y[1], "y_proba": second}, paired=False,
            max_increase=dict.fromkeys(measures, 0.001), n_resamples=n_resamples,
        )  # fmt: skip
        by_measure = {row.limit.measure: row.interval for row in found.rows}
        return [by_measure[measure] for measure in measures]
    labels = {A: y[0], B: y[1]} if y.ndim == 2 and first.ndim == 1 else y
    compared = cal.compare(
        labels, {A: first, B: second}, measures=measures, bin_counts=(5,), groups=sample.groups,
        votes=sample.votes, sample_weight=sample.w, n_resamples=n_resamples,
    )  # fmt: skip
    return [compared.difference(A, B, measure) for measure in measures]


def intervals_of(find: Find, sample: Drawn, measures: Sequence[str], n_resamples: int) -> list[Any]:
    """What `singles` or `differences` give, or nan for measures that the sample does not have."""
    try:
        return find(sample, measures, n_resamples)
    except cal.NotDefined:
        if len(measures) == 1:
            return [Ends()]
        return [intervals_of(find, sample, [each], n_resamples)[0] for each in measures]


def values(sample: Drawn, measures: Sequence[str], pairs: bool) -> Array:
    """The value of each measure, or the difference of two."""
    if not pairs:
        return _values(sample.y, sample.u, sample.w, measures)
    first, second = (
        _values(y, u, sample.w, measures) for y, u in zip(labels_of(sample), sample.u, strict=True)
    )
    return first - second


def labels_of(sample: Drawn) -> tuple[Any, Any]:
    """The labels of both predictors of a pair."""
    own = isinstance(sample.y, tuple) or sample.y.shape == np.shape(sample.u)
    return (sample.y[0], sample.y[1]) if own else (sample.y, sample.y)


def _values(y: Array, u: Array, w: Array | None, measures: Sequence[str]) -> Array:
    coefficients = {n: fitted(y, u, w, n).value for n in measures if n in COEFFICIENTS}
    others = [name for name in measures if name not in coefficients]
    try:
        found = cal.evaluate(y, u, measures=others, sample_weight=w) if others else {}
    except cal.NotDefined:
        if len(measures) == 1:
            return np.array([math.nan])
        return np.concatenate([_values(y, u, w, [measure]) for measure in measures])
    return np.array([(coefficients if m in coefficients else found)[m] for m in measures])


# --- a plain bootstrap ----------------------------------------------------------------------------


def plain_bootstrap(
    sample: Drawn, measures: Sequence[str], pairs: bool, draws: int, rng: np.random.Generator
) -> Array:
    """Percentiles of each measure over resamples of rows, or of clusters: shape (2, measures)."""
    found = [values(_resampled(sample, pairs, rng), measures, pairs) for _ in range(draws)]
    return np.nanquantile(found, (0.025, 0.975), axis=0)


def _resampled(sample: Drawn, pairs: bool, rng: np.random.Generator) -> Drawn:
    if isinstance(sample.y, tuple):  # rows of their own
        kept = [rng.integers(0, len(y), len(y)) for y in sample.y]
        y = tuple(y[rows] for y, rows in zip(sample.y, kept, strict=True))
        return Drawn(y, tuple(u[rows] for u, rows in zip(sample.u, kept, strict=True)), *[None] * 3)
    own = pairs and sample.y.shape == np.shape(sample.u)
    n = sample.y.shape[1] if own else len(sample.y)
    rows = rng.integers(0, n, n) if sample.groups is None else _clusters(sample.groups, rng)
    return Drawn(
        sample.y[:, rows] if own else sample.y[rows],
        sample.u[:, rows] if pairs else sample.u[rows],
        None if sample.w is None else sample.w[rows], None, None,
    )  # fmt: skip


def _clusters(groups: Array, rng: np.random.Generator) -> Array:
    """The rows of as many clusters as there are, drawn with replacement; clusters are in order."""
    names, starts, sizes = np.unique(groups, return_index=True, return_counts=True)
    chosen = rng.integers(0, len(names), len(names))
    return np.concatenate([starts[c] + np.arange(sizes[c]) for c in chosen])
