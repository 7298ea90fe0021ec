"""check(): whether measures keep their limits, or noise leaves it undecided."""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from calibrant._api.evaluate_uncertainty import uncertainty_of
from calibrant._api.metrics.uncertainty import group_index, limited
from calibrant._api.slices import slice_labels
from calibrant._core.binning import Bins, Rule, both_rules
from calibrant._core.errors import InputError, check_some_left
from calibrant._core.validation import check_level, public
from calibrant._data.logprobs import given_as
from calibrant._data.samples import Samples
from calibrant._data.to_samples import to_samples
from calibrant._inference.uncertainty import Uncertainty
from calibrant._measures.catalogue import Measure, Shape, find
from calibrant._measures.gap_scale import gap_scale
from calibrant._summaries.samples import Summary
from calibrant.results._check import Check, Limit, LimitCheck


@public
def check(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    at_most: Mapping[str, float] | None = None,
    at_least: Mapping[str, float] | None = None,
    level: float = 0.95,
    point: bool = False,
    bins: Bins = 15,
    groups: ArrayLike | None = None,
    by: ArrayLike | None = None,
    n_resamples: int = 1000,
    seed: int = 0,
    sample_weight: ArrayLike | None = None,
    from_logits: bool = False,
    from_logprobs: bool = False,
    classes: Sequence[Any] | None = None,
    data: Any = None,
    missing: str = "error",
) -> Check:
    """Check measures against limits: pass, fail, or undecided because of noise.

    A limit is kept if the whole confidence interval of the measure lies on its good side, broken if
    the whole interval lies on the other, and undecided otherwise. All must be kept to pass; one
    broken limit fails. Only a pass is true: ``assert check(...)`` fails where a limit is broken and
    where noise decides.

    Parameters
    ----------
    y_true : array-like of shape (n,) or (n, k), str or list of str
        Labels: 0/1, class indices, probabilities (soft labels), or a column's name with `data`.
    y_proba : array-like of shape (n,) or (n, k), str or list of str
        Predicted probabilities; (n,) is P(y = 1). With `data`, a column's name, or one per class.
    at_most : mapping of str to float, optional
        Largest acceptable value by name of a measure; a name of `catalogue()`.
    at_least : mapping of str to float, optional
        Smallest acceptable value by name of a measure; a name of `catalogue()`.
    level : float in (0, 1), default 0.95
        Confidence level of the intervals.
    point : bool, default False
        Whether to compare the values alone, without intervals, which is unreliable on few rows.
    bins : int, str, sequence of float or bin rule, default 15
        A number means so many equal-width bins for ordinary errors and so many quantile bins for
        truthful ones; a rule (`EqualWidth`, `Quantile`, `Edges`, `LevelSets`) is used for both.
        `"cbrt"` and `"auto"` are numbers that follow from the number of rows.
    groups : array-like of shape (n,) or str, optional
        Cluster of each row (patient, document, game); intervals, and the rows that a pass needs,
        count clusters.
    by : array-like of shape (n,), str or list of str, optional
        Value of each row, or names of columns: every slice must keep the limits too.
    n_resamples : int, default 1000
        Number of resamples behind each interval and noise floor.
    seed : int, default 0
        Seed of all random draws; the same seed gives the same result.
    sample_weight : array-like of shape (n,) or str, optional
        Weight of each row, at least 0; every row counts 1 by default.
    from_logits : bool, default False
        Whether `y_proba` holds logits: a sigmoid is applied to (n,), a softmax to (n, k).
    from_logprobs : bool, default False
        Whether `y_proba` holds log-probabilities: exp is applied to (n,), a softmax to (n, k).
    classes : sequence, optional
        Names of the classes in the order of the columns of `y_proba`; for (n,): negative, positive.
    data : data frame or mapping, optional
        Frame in memory whose columns the other arguments name: pandas, polars, PyArrow.
    missing : {"error", "drop"}, default "error"
        What to do with rows in which a value is missing: raise an error, or drop and count them.

    Returns
    -------
    Check
        `verdict` ("pass", "fail" or "undecided"), true only for a pass, and every limit with its
        interval; prints as a table.

    Raises
    ------
    InputError
        If the input cannot be read as labels and probabilities; the message names the first bad
        row. Also if there is no limit, or one that every value keeps or none can keep.

    Notes
    -----
    Two errors can be made, each with a chance of at most ``(1 - level) / 2``. A false pass: some
    limit is broken in truth, and all are found to be kept. The one that is broken must then have
    been found to be kept too, so every interval has the plain level, however many there are. A
    false fail: all limits are kept in truth, and one is found to be broken. Chances of that add up
    over limits and slices, so what fails must do so at a level that takes their number into
    account, ``1 - (1 - level) / number``.

    What a sample does not show, no resampling of it shows either: a fault in a share s of all rows
    is not seen once in n rows with probability ``(1 - s)^n``. So a pass also needs rows enough to
    have shown a fault as large as the limit, and fewer than 30 decide nothing.

    Examples
    --------
    >>> import calibrant as cal
    >>> y, p = [0, 1, 1, 0] * 25, [0.2, 0.7, 0.9, 0.4] * 25
    >>> cal.check(y, p, at_most={"ece": 0.05}).verdict
    'fail'
    >>> cal.check(y, p, at_most={"brier": 0.2}).verdict
    'pass'
    >>> cal.check(y[:12], p[:12], at_most={"ece": 0.2}).verdict
    'undecided'
    """
    given = given_as(from_logits, from_logprobs)
    samples = to_samples(y_true, y_proba, sample_weight, given, classes, data, missing)
    limits = limits_of(at_most, at_least, samples.shape)
    rules = both_rules(bins, samples.n)
    level = check_level(level)
    check_some_left(samples.n)
    if point and groups is not None:
        raise InputError(
            "groups has no effect with point=True, which computes no interval: drop one of them"
        )
    index = group_index(groups, samples, data)
    labels = None if by is None else slice_labels(by, samples, data)[0]
    names = [] if labels is None else sorted(set(labels.tolist()))
    checks = _Checks(limits, rules, level, (1 + len(names)) * len(limits), point, n_resamples, seed)
    results = list(_checked(samples, index, None, checks))
    for name in names:
        rows = np.flatnonzero(labels == name)
        own = None if index is None else np.unique(index[rows], return_inverse=True)[1]
        results += _checked(samples.take(rows), own, str(name), checks)
    return Check(tuple(results), samples.n, samples.n_missing, level, bool(point))


def limits_of(
    at_most: Mapping[str, float] | None, at_least: Mapping[str, float] | None, shape: Shape
) -> tuple[tuple[Measure, Limit], ...]:
    """The limits and their measures; an error for a limit that checks nothing."""
    for option, given in (("at_most", at_most), ("at_least", at_least)):
        if given is not None and not isinstance(given, Mapping):
            raise InputError(
                f"{option} must map names of measures to limits, such as {{'ece': 0.05}}; got "
                f"{given!r}"
            )
    limits = [
        *(Limit(name, "max", value) for name, value in (at_most or {}).items()),
        *(Limit(name, "min", value) for name, value in (at_least or {}).items()),
    ]
    if not limits:
        raise InputError("there is no limit to check: say at_most={'ece': 0.05}, or at_least=")
    out = []
    for limit in limits:
        measure = find(limit.measure, shape)
        _check_not_empty(measure, limit)
        out.append((measure, replace(limit, measure=measure.name, value=float(limit.value))))
    return tuple(out)


def _check_not_empty(measure: Measure, limit: Limit) -> None:
    """An error for a limit that every value keeps, or none."""
    value = limit.value
    real = isinstance(value, numbers.Real) and not isinstance(value, bool)
    if not real or not math.isfinite(value):
        raise InputError(f"the limit of {measure.name} must be a number; got {value!r}")
    largest = limit.kind == "max"
    always = value >= measure.high if largest else value <= measure.low
    never = value < measure.low if largest else value > measure.high
    if always or never:
        percent = " If it is a percentage, divide it by 100." if 1 < value <= 100 else ""
        raise InputError(
            f"{measure.name} lies between {measure.low:g} and {measure.high:g}, so {limit} is "
            f"{'always' if always else 'never'} true and checks nothing.{percent}"
        )


@dataclass(frozen=True)
class _Checks:
    """The limits, and how rows are compared with them."""

    limits: tuple[tuple[Measure, Limit], ...]
    rules: tuple[Rule, Rule]
    level: float
    # Limits times slices: each of them may fail by chance.
    number: int
    point: bool
    n_resamples: Any
    seed: Any

    def uncertainty(self, samples: Samples, groups: Any, level: float) -> Uncertainty:
        measures = tuple(dict.fromkeys(measure for measure, _ in self.limits))
        return uncertainty_of(
            samples, *self.rules, measures, level=level, groups=groups,
            n_resamples=self.n_resamples, seed=self.seed,
        )  # fmt: skip


def _checked(
    samples: Samples, groups: Any, where: str | None, checks: _Checks
) -> Iterator[LimitCheck]:
    """Every limit, of all rows or of a slice."""
    weightless = samples.weights is not None and not (samples.weights > 0).any()
    single = groups is not None and int(np.max(groups)) < 1
    if where is not None and (weightless or single):
        reason = "its rows have no weight" if weightless else "one cluster cannot be resampled"
        for _, limit in checks.limits:
            yield LimitCheck(limit, where, samples.n, math.nan, None, reason)
        return
    summary = Summary(samples, *checks.rules)
    uncertainty = checks.uncertainty(samples, groups, checks.level)
    # Seldom needed, and a second set of draws: made for the first limit that is broken.
    strict: Uncertainty | None = None
    for measure, limit in checks.limits:
        try:
            value = measure.compute(summary)
        except InputError as error:
            if where is None:
                raise
            yield LimitCheck(limit, where, samples.n, math.nan, None, str(error))
            continue
        if checks.point:
            yield LimitCheck(limit, where, samples.n, value, None)
            continue
        interval = uncertainty.interval(measure, value)
        scale = gap_scale(measure, summary)
        result = replace(limited(limit, where, interval, uncertainty, scale), n=samples.n)
        if checks.number > 1 and result.verdict == "fail":
            if strict is None:
                strict = checks.uncertainty(
                    samples, groups, 1.0 - (1.0 - checks.level) / checks.number
                )
            result = replace(result, joint=strict.interval(measure, value))
        yield result


def check_values(
    values: Mapping[str, float], limits: tuple[tuple[Measure, Limit], ...], n: int, n_missing: int
) -> Check:
    """Limits compared with values alone, of rows that are not in memory."""
    results = (LimitCheck(limit, None, n, values[limit.measure], None) for _, limit in limits)
    return Check(tuple(results), n, n_missing, None, True)
