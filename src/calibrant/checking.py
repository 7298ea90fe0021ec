"""The gate: limits, and whether the data tell that they are kept; check()."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from calibrant.binning import Bins, Rule, both_rules
from calibrant.errors import InputError, refuse_none_left
from calibrant.inputs.accept import accept
from calibrant.measures.catalogue import Measure, Shape, find
from calibrant.options import public
from calibrant.results.check import FEWEST_ROWS, Check, Limit, Limited
from calibrant.results.uncertainty import Interval
from calibrant.samples.samples import Samples
from calibrant.scores.uncertainty import group_index
from calibrant.slicing import rows_of, slice_labels
from calibrant.summary import Summary
from calibrant.worth_of_evaluation import worth_of

# A fault in a share s of all rows makes an error of s, but for sums of squares over W^2, where it
# makes s^2, and for roots of means of squares, where it makes the root of s.
POWERS = dict.fromkeys(("lin_ce", "classwise_ce", "confidence_ce", "confidence_ce_corrected"), 0.5)
POWERS |= dict.fromkeys(("rmsce", "debiased_l2"), 2.0)
# To show that an error is exactly 0, no number of rows is enough.
MOST_TO_PASS = 10**12


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
    fails. ``point=True`` looks at the values alone, which on few rows is a throw of dice.

    What a sample does not show, no resampling of it shows either: a fault in a share s of all rows
    is not seen once in n rows with probability ``(1 - s)^n``. So a pass also needs rows enough to
    have shown a fault as large as the limit, and fewer than 30 decide nothing.

    `by` checks each slice too, at a level that reckons with their number. A limit that cannot be
    broken, or cannot be kept, is an error, and so is a check of nothing.

    Examples
    --------
    >>> import calibrant as cal
    >>> from calibrant.checking import check
    >>> y, p = [0, 1, 1, 0] * 25, [0.2, 0.7, 0.9, 0.4] * 25
    >>> check(y, p, at_most={"ece": 0.05}).verdict
    'fail'
    >>> check(y, p, at_most={"brier": 0.2}).verdict
    'pass'
    >>> check(y[:12], p[:12], at_most={"ece": 0.2}).verdict
    'undecided'
    """
    samples = accept(
        y_true, y_proba, sample_weight=sample_weight, from_logits=from_logits, classes=classes,
        data=data, missing=missing,
    )  # fmt: skip
    limits = limits_of(at_most, at_least, "multiclass" if samples.multiclass else "binary")
    rules = both_rules(bins)
    refuse_none_left(samples.n)
    index = group_index(groups, samples, data)
    drawn = {"n_resamples": n_resamples, "seed": seed}
    parts = list(_checked(samples, limits, rules, level, point, index, drawn, None))
    if by is not None:
        labels, _ = slice_labels(by, samples, data)
        found = sorted(set(labels.tolist()))
        # As likely to fail by chance in any of the slices as one of them alone would be.
        each = 1.0 - (1.0 - level) / len(found)
        for label in found:
            rows = np.flatnonzero(labels == label)
            own = None if index is None else np.unique(index[rows], return_inverse=True)[1]
            part = rows_of(samples, rows)
            parts += _checked(part, limits, rules, each, point, own, drawn, str(label))
    return Check(tuple(parts), samples.n, samples.n_missing, float(level), bool(point))


def limits_of(
    at_most: Mapping[str, float] | None, at_least: Mapping[str, float] | None, shape: Shape
) -> tuple[tuple[Measure, Limit], ...]:
    """The limits and their measures; an error for one that says nothing."""
    told = [
        *(Limit(name, "max", value) for name, value in (at_most or {}).items()),
        *(Limit(name, "min", value) for name, value in (at_least or {}).items()),
    ]
    if not told:
        raise InputError("there is no limit to check: say at_most={'ece': 0.05}, or at_least=")
    out = []
    for limit in told:
        measure = find(limit.measure, shape)
        _refuse_empty(measure, limit)
        out.append((measure, limit))
    return tuple(out)


def _refuse_empty(measure: Measure, limit: Limit) -> None:
    """An error for a limit that every value keeps, or none."""
    value = limit.value
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
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


def _checked(
    samples: Samples,
    limits: tuple[tuple[Measure, Limit], ...],
    rules: tuple[Rule, Rule],
    level: float,
    point: bool,
    groups: Any,
    drawn: dict[str, Any],
    where: str | None,
) -> Iterator[Limited]:
    """Every limit, of all rows or of a slice."""
    weightless = samples.weights is not None and not (samples.weights > 0).any()
    single = groups is not None and int(np.max(groups)) < 1
    if where is not None and (weightless or single):
        said = "its rows have no weight" if weightless else "one cluster cannot be resampled"
        for _, limit in limits:
            yield Limited(limit, where, samples.n, math.nan, None, said)
        return
    summary = Summary(samples, *rules)
    n_worth = _n_worth(samples, groups)
    worth = worth_of(
        samples, *rules, tuple(dict.fromkeys(measure for measure, _ in limits)), level=level,
        groups=groups, votes=None, data=None, **drawn,
    )  # fmt: skip
    for measure, limit in limits:
        value = measure.compute(summary)
        interval: Interval | None = None if point else worth.interval(measure, value)
        least = _rows_to_pass(measure, limit, level, rules[0])
        yield Limited(limit, where, samples.n, value, interval, "", n_worth, least)


def _n_worth(samples: Samples, groups: Any) -> float:
    """How many equal rows the rows are worth; clusters count as one each."""
    w: Any = np.ones(samples.n) if samples.weights is None else samples.weights.astype(np.float64)
    if groups is not None:
        w = np.bincount(groups, weights=w)
    squares = float((w * w).sum())
    return float(w.sum()) ** 2 / squares if squares else 0.0


def _rows_to_pass(measure: Measure, limit: Limit, level: float, rule: Rule) -> int:
    """The rows that would have shown, but for a chance of (1 - level) / 2, a fault in so many of
    them that the limit is broken.
    """
    room = limit.value - measure.low if limit.kind == "max" else measure.high - limit.value
    # A row is at most as wrong as the measure can be.
    share = (room / (measure.high - measure.low)) ** POWERS.get(measure.name, 1.0)
    if measure.name == "mce":  # a bin of its own is enough for a fault; it is taken to be average
        share /= getattr(rule, "m", 1)
    if not share:
        return MOST_TO_PASS
    rows = math.log((1.0 - level) / 2.0) / math.log1p(-min(share, 0.999))
    return min(MOST_TO_PASS, max(FEWEST_ROWS, math.ceil(rows)))


def check_values(
    values: Mapping[str, float], limits: tuple[tuple[Measure, Limit], ...], n: int, n_missing: int
) -> Check:
    """Limits held against values alone, of rows that are not at hand."""
    parts = (Limited(limit, None, n, values[limit.measure], None) for _, limit in limits)
    return Check(tuple(parts), n, n_missing, None, True)
