"""What a number is worth, as one-line functions: noise floor, interval, verdict."""

from __future__ import annotations

import math
import numbers
from collections.abc import Sequence
from typing import Any

from calibrant.binning import Bins, both_rules
from calibrant.errors import InputError
from calibrant.inference.blocks import as_groups
from calibrant.inference.judged import checked_votes
from calibrant.inference.worth import SOFT_HAVE_NO_FLOOR, Worth
from calibrant.inputs.accept import accept
from calibrant.inputs.arrays import to_array
from calibrant.inputs.columns import pick
from calibrant.measures.catalogue import Measure, find
from calibrant.options import public
from calibrant.results.uncertainty import Interval, NoiseFloor, Verdict
from calibrant.samples.samples import Samples
from calibrant.summary import Summary


@public
def noise_floor(
    y_true: Any,
    y_proba: Any,
    *,
    measure: str = "ece",
    bins: Bins = 15,
    votes: Any = None,
    n_resamples: int = 1000,
    seed: int = 0,
    sample_weight: Any = None,
    from_logits: bool = False,
    classes: Sequence[Any] | None = None,
    data: Any = None,
) -> NoiseFloor:
    """What a measure shows when the reports are exactly right, with a p-value for what it shows.

    Targets are drawn from the reports `n_resamples` times (a fifth of that for measures that are
    not sums over bins). Hard labels are drawn as outcomes. Soft labels are the means of `votes`
    votes, a number or one per row; without it they have no noise floor. The mean of the truthful
    errors is exact (Lu et al., theorem 3.1): the mean of ``u (1 - u)``, over n.

    Examples
    --------
    >>> import calibrant as cal
    >>> floor = cal.noise_floor([0, 1, 1, 0] * 25, [0.2, 0.7, 0.9, 0.4] * 25)
    >>> round(floor.mean, 3), floor.p_value < 0.05
    (0.065, True)
    """
    samples = accept(
        y_true, y_proba, sample_weight=sample_weight, from_logits=from_logits, classes=classes,
        data=data,
    )  # fmt: skip
    worth, chosen, value = _worth(
        samples, measure, bins, n_resamples=n_resamples, seed=seed, votes=votes
    )
    found = worth.noise_floor(chosen, value)
    if found is None:
        raise InputError(SOFT_HAVE_NO_FLOOR)
    return found


@public
def interval(
    y_true: Any,
    y_proba: Any,
    *,
    measure: str = "ece",
    bins: Bins = 15,
    level: float = 0.95,
    groups: Any = None,
    n_resamples: int = 1000,
    seed: int = 0,
    sample_weight: Any = None,
    from_logits: bool = False,
    classes: Sequence[Any] | None = None,
    data: Any = None,
) -> Interval:
    """Where the true value of a measure lies, with the upward bias of samples taken out.

    Errors of bins, and smooth ones, get the true values of all worlds between calibrated and worse
    than seen that could have shown the value (see `calibrant.inference.family`); `debiased_l2` has
    a closed form (Sun et al., 2024); losses and classwise errors the basic bootstrap. `groups`
    names clusters of rows that are drawn together (patients, games, days).

    Examples
    --------
    >>> import calibrant as cal
    >>> found = cal.interval([0, 1, 1, 0] * 25, [0.2, 0.7, 0.9, 0.4] * 25)
    >>> found.low > 0.1, 0.25 in found
    (True, True)
    """
    if not isinstance(level, numbers.Real) or not 0 < float(level) < 1:
        raise InputError(f"level must be a number between 0 and 1, such as 0.95; got {level!r}")
    samples = accept(
        y_true, y_proba, sample_weight=sample_weight, from_logits=from_logits, classes=classes,
        data=data,
    )  # fmt: skip
    worth, chosen, value = _worth(
        samples, measure, bins, n_resamples=n_resamples, seed=seed, level=float(level),
        groups=group_index(groups, samples, data),
    )  # fmt: skip
    return worth.interval(chosen, value)


@public
def verdict(
    y_true: Any,
    y_proba: Any,
    *,
    measure: str = "ece",
    tolerance: float = 0.05,
    bins: Bins = 15,
    level: float = 0.95,
    groups: Any = None,
    votes: Any = None,
    n_resamples: int = 1000,
    seed: int = 0,
    sample_weight: Any = None,
    from_logits: bool = False,
    classes: Sequence[Any] | None = None,
    data: Any = None,
) -> Verdict:
    """Calibrated within noise, miscalibrated, or not enough data to tell; in a sentence.

    Miscalibrated: the value is larger than calibrated reports show by chance. Calibrated within
    noise: it is not, and a true error above `tolerance` can be excluded. Not enough data: it is
    not, and such an error cannot be excluded; `rows_needed` is how many rows would do, from the
    width of the interval falling with the root of n.

    Examples
    --------
    >>> import calibrant as cal
    >>> cal.verdict([0, 1, 1, 0, 1, 1], [0.2, 0.7, 0.9, 0.4, 0.6, 0.7]).verdict
    'not enough data'
    """
    if not isinstance(level, numbers.Real) or not 0 < float(level) < 1:
        raise InputError(f"level must be a number between 0 and 1, such as 0.95; got {level!r}")
    if not isinstance(tolerance, numbers.Real) or not float(tolerance) > 0:
        raise InputError(f"tolerance must be a number above 0; got {tolerance!r}")
    samples = accept(
        y_true, y_proba, sample_weight=sample_weight, from_logits=from_logits, classes=classes,
        data=data,
    )  # fmt: skip
    worth, chosen, value = _worth(
        samples, measure, bins, n_resamples=n_resamples, seed=seed, level=float(level),
        groups=group_index(groups, samples, data), votes=votes,
    )  # fmt: skip
    return verdict_of(
        worth.interval(chosen, value), worth.noise_floor(chosen, value), samples.n, tolerance,
        clustered=worth.groups is not None,
    )  # fmt: skip


def verdict_of(
    interval: Interval, floor: NoiseFloor | None, n: int, tolerance: float, *, clustered: bool
) -> Verdict:
    """The verdict that an interval and a noise floor give."""
    name, low, high = interval.measure, interval.low, interval.high
    span = f"its true value lies between {low:.4f} and {high:.4f} ({interval.level:.0%})"
    if floor is None:
        p, upper = math.nan, math.nan
        beyond = low > 0
        seen = f"{name} is {interval.value:.4f}"
    else:
        p, upper = floor.p_value, floor.upper
        # Clusters scatter more than single rows, which is what the interval knows and p does not.
        beyond = p < 0.05 and (low > 0 or (p < 0.025 and not clustered))
        chance = "by chance" + (" on rows that do not belong together" if clustered else "")
        seen = f"{name} is {interval.value:.4f}; calibrated reports show up to {upper:.4f} {chance}"
    rows_needed: int | None = None
    if beyond:
        kind = "miscalibrated"
        size = "" if high > tolerance else f", within the tolerance of {tolerance:g}"
        sentence = f"Miscalibrated{size}: {seen}, and {span}."
    elif high <= tolerance:
        kind = "calibrated within noise"
        sentence = (
            f"Calibrated within noise: {seen}, and an error above {high:.4f} can be excluded "
            f"({interval.level:.0%})."
        )
    else:
        kind = "not enough data"
        rows_needed = math.ceil(n * (high / tolerance) ** 2)
        sentence = (
            f"Not enough data: {seen}, but an error of {high:.4f} cannot be excluded. To exclude "
            f"one of {tolerance:g}, about {rows_needed:,} rows would be needed; there are {n:,}."
        )
    return Verdict(
        kind, sentence, name, interval.value, low, high, upper, p, float(tolerance), n, rows_needed
    )


def group_index(groups: Any, samples: Samples, data: Any) -> Any:
    """Clusters as numbers, from an array or a column of data."""
    if groups is None:
        return None
    if data is not None and isinstance(groups, str):
        groups = pick(data, groups, "groups")
    array, n = samples.own_rows(to_array(groups, "groups")), samples.n
    if array.shape != (n,):
        raise InputError(f"groups must name a group for each of the {n} rows; got {array.shape}")
    index = as_groups(array, n)
    if int(index.max()) < 1:
        raise InputError("groups must hold at least two groups: one alone cannot be resampled")
    return index


def check_resamples(n_resamples: Any, seed: Any) -> None:
    whole = isinstance(n_resamples, numbers.Integral) and not isinstance(n_resamples, bool)
    if not whole or int(n_resamples) < 50:
        raise InputError(
            f"n_resamples must be a whole number, at least 50: fewer have no 95 % point worth the "
            f"name; got {n_resamples!r}"
        )
    if not isinstance(seed, numbers.Integral) or isinstance(seed, bool) or int(seed) < 0:
        raise InputError(f"seed must be a whole number, 0 or more; got {seed!r}")


def _worth(
    samples: Samples,
    measure: str,
    bins: Bins,
    *,
    n_resamples: int,
    seed: int,
    level: float = 0.95,
    groups: Any = None,
    votes: Any = None,
) -> tuple[Worth, Measure, float]:
    """The measure and its value, all rows checked, and what is needed to judge it."""
    check_resamples(n_resamples, seed)
    fixed, quantile = both_rules(bins)
    chosen = find(measure, "multiclass" if samples.multiclass else "binary")
    value = chosen.compute(Summary(samples, fixed, quantile))
    worth = Worth(
        samples, fixed, quantile, (chosen,), level, int(n_resamples), int(seed), groups,
        checked_votes(votes, samples),
    )  # fmt: skip
    return worth, chosen, value
