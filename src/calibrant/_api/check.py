"""check(): whether measures keep their limits, or noise leaves it undecided."""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from calibrant._api.evaluate_uncertainty import uncertainty_of
from calibrant._api.metrics.uncertainty import group_index, limited
from calibrant._api.slices import slice_labels
from calibrant._core.binning import Bins, Rule, both_rules
from calibrant._core.errors import InputError, check_some_left
from calibrant._core.validation import check_level, public
from calibrant._data.samples import Samples
from calibrant._data.to_samples import to_samples
from calibrant._inference.uncertainty import Uncertainty
from calibrant._measures.catalogue import Measure, Shape, find
from calibrant._measures.gap_scale import gap_scale
from calibrant._summaries.samples import Summary
from calibrant.results._check import Check, Limit, Limited


@public
def check(
    y_true: Any,
    y_proba: Any,
    *,
    at_most: Mapping[str, float] | None = None,
    at_least: Mapping[str, float] | None = None,
    level: float = 0.95,
    point: bool = False,
    bins: Bins = 15,
    groups: Any = None,
    by: Any = None,
    n_resamples: int = 1000,
    seed: int = 0,
    sample_weight: Any = None,
    from_logits: bool = False,
    classes: Sequence[Any] | None = None,
    data: Any = None,
    missing: str = "error",
) -> Check:
    """Whether measures keep their limits: pass, fail, or undecided because of noise.

    `at_most` and `at_least` map names of measures to limits. A limit is kept if the whole interval
    of the measure's true value (see `interval`) lies on its good side, broken if the whole interval
    lies on the other, and undecided if it lies between. All must be kept to pass; one broken limit
    fails. Only a pass is true: ``assert check(...)`` fails on a fail and where noise decides.
    ``point=True`` looks at the values alone, which is unreliable on few rows.

    Two errors can be made, each with a chance of at most ``(1 - level) / 2``. A false pass: some
    limit is broken in truth, and all are found to be kept. The one that is broken must then have
    been found to be kept too, so every interval has the plain level, however many there are. A
    false fail: all limits are kept in truth, and one is found to be broken. Chances of that add
    up over limits and slices (`by`), so what fails must do so at a level that takes their number
    into account, ``1 - (1 - level) / number``.

    What a sample does not show, no resampling of it shows either: a fault in a share s of all rows
    is not seen once in n rows with probability ``(1 - s)^n``. So a pass also needs rows enough to
    have shown a fault as large as the limit, and fewer than 30 decide nothing.

    `groups` names clusters of rows: intervals, and the rows that a pass needs, count them. A limit
    that cannot be broken, or cannot be kept, is an error, and so is a check of nothing.

    Examples
    --------
    >>> import calibrant as cal
    >>> from calibrant._api.check import check
    >>> y, p = [0, 1, 1, 0] * 25, [0.2, 0.7, 0.9, 0.4] * 25
    >>> check(y, p, at_most={"ece": 0.05}).verdict
    'fail'
    >>> check(y, p, at_most={"brier": 0.2}).verdict
    'pass'
    >>> check(y[:12], p[:12], at_most={"ece": 0.2}).verdict
    'undecided'
    """
    samples = to_samples(y_true, y_proba, sample_weight, from_logits, classes, data, missing)
    limits = limits_of(at_most, at_least, samples.shape)
    rules = both_rules(bins)
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
) -> Iterator[Limited]:
    """Every limit, of all rows or of a slice."""
    weightless = samples.weights is not None and not (samples.weights > 0).any()
    single = groups is not None and int(np.max(groups)) < 1
    if where is not None and (weightless or single):
        reason = "its rows have no weight" if weightless else "one cluster cannot be resampled"
        for _, limit in checks.limits:
            yield Limited(limit, where, samples.n, math.nan, None, reason)
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
            yield Limited(limit, where, samples.n, math.nan, None, str(error))
            continue
        if checks.point:
            yield Limited(limit, where, samples.n, value, None)
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
    results = (Limited(limit, None, n, values[limit.measure], None) for _, limit in limits)
    return Check(tuple(results), n, n_missing, None, True)
