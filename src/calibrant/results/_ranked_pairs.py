"""Differences of predictors, and what follows from them: order, ranks, ties and a sentence.

Intervals of differences are the one source of all of it, so that no two of them disagree.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant._core.errors import InputError, nearest
from calibrant._measures.coefficients import canonical_compared
from calibrant.results._rendering import shortened

Array = NDArray[np.float64]
Counts = NDArray[np.int64]

_NORMAL = NormalDist()
# Of two, and of more.
_CLOSEST = "closer", "closest"


@dataclass(frozen=True)
class Difference:
    """One measure of `first` less that of `second`, on the same rows.

    The limits come from resamples of the rows that both have in common, so they shrink as the two
    agree.

    Attributes
    ----------
    measure : str
        The measure.
    first, second : str
        The predictors.
    value : float
        The difference of the sample's values.
    low, high : float
        Confidence interval of the true difference; it contains `estimate`.
    level : float
        Level of the interval.
    better : str or None
        The better predictor; None where the interval includes 0.
    estimate : float
        The bias-corrected difference: the bias of the two values may be of different size.

    Examples
    --------
    >>> import calibrant as cal
    >>> y = [0, 1, 1, 0] * 25
    >>> models = {"good": [0.1, 0.8, 0.9, 0.2] * 25, "bad": [0.3, 0.5, 0.6, 0.6] * 25}
    >>> cal.compare(y, models, measures=["brier"]).difference("bad", "good", "brier").better
    'good'
    """

    measure: str
    first: str
    second: str
    value: float
    low: float
    high: float
    level: float
    better: str | None
    estimate: float = 0.0

    @property
    def behind(self) -> tuple[float, float, float]:
        """The estimate, the lower and the upper limit of the difference that ranks follow from."""
        return self.estimate, self.low, self.high


@dataclass(frozen=True)
class CoefficientDifference(Difference):
    """The difference of two slopes or intercepts, and which of them is closer to its target.

    The better predictor is the one whose value is closer to `target`. Two slopes may differ
    significantly and be equally far from 1, such as 0.8 and 1.2: `better` is then None.

    Attributes
    ----------
    measure : str
        "slope", "intercept" or "intercept_in_the_large".
    first, second : str
        The predictors.
    value, estimate : float
        The value of the first minus that of the second.
    low, high : float
        Confidence interval of the true difference.
    level : float
        Level of both intervals.
    better : str or None
        The predictor that is closer to the target; None where the interval of `farther` includes 0.
    target : float
        The value of calibrated predictions: 1 for a slope, 0 for an intercept.
    p_value : float
        P-value of the hypothesis that both have the same true value.
    farther, farther_low, farther_high : float
        How much farther from the target the first is than the second, with its confidence interval.

    Examples
    --------
    >>> import calibrant as cal
    >>> y = [0, 1, 1, 0, 1] * 50
    >>> models = {"sharp": [0.1, 0.8, 0.9, 0.8, 0.2] * 50, "flat": [0.3, 0.6, 0.7, 0.6, 0.4] * 50}
    >>> found = cal.compare(y, models, measures=["slope"])
    >>> apart = found.difference("sharp", "flat", "slope")
    >>> round(apart.value, 2), round(apart.farther, 2), apart.better
    (-1.03, 0.19, None)
    """

    target: float = 0.0
    p_value: float = math.nan
    farther: float = 0.0
    farther_low: float = 0.0
    farther_high: float = 0.0

    @property
    def behind(self) -> tuple[float, float, float]:
        return self.farther, self.farther_low, self.farther_high


@dataclass(frozen=True, eq=False)
class Closeness:
    """How far predictors are from the `target` of a coefficient, every two compared.

    `farther` is (predictors, predictors, 3): limits and estimate of how much farther the first is
    from the target than the second. `p_values` is (predictors, predictors): whether both have the
    same value.
    """

    target: float
    farther: Array
    p_values: Array

    def distance_of(self, name: str) -> str:
        """The distance of the coefficient of this name from its target, as a formula."""
        return f"|{name} \N{MINUS SIGN} {self.target:g}|" if self.target else f"|{name}|"


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class RankedPairs:
    """Predictors of which every two are compared: all that is said of their order rests on that.

    `values` is (predictors, measures). `limits` is (predictors, measures, 3): the lower and upper
    limit and the bias-corrected estimate of each value. `pairs` is (measures, predictors,
    predictors, 3): the same three numbers of the first predictor's value less that of the second.
    `closeness` has the slopes and intercepts among the measures, which are better the closer they
    are to a target: their order follows from it.

    Examples
    --------
    >>> import calibrant as cal
    >>> y = [0, 1, 1, 0] * 25
    >>> models = {"good": [0.1, 0.8, 0.9, 0.2] * 25, "bad": [0.3, 0.5, 0.6, 0.6] * 25}
    >>> cal.compare(y, models, measures=["brier"]).sentence("brier")
    'By Brier score, good is best: bad is significantly worse.'
    """

    names: tuple[str, ...]
    measures: tuple[str, ...]
    higher_is_better: tuple[bool, ...]
    values: Array
    limits: Array
    pairs: Array
    level: float
    closeness: Mapping[str, Closeness] = field(default_factory=dict)

    @property
    @abstractmethod
    def _sentence_names(self) -> Mapping[str, str]:
        """The name of each measure in sentences, by its name in code."""

    def _predictor_index(self, name: str) -> int:
        """The index, in `names`, of the predictor of this name; an error if there is none."""
        if name not in self.names:
            raise InputError(f"no predictor is called {name!r}: {nearest(name, self.names)}")
        return self.names.index(name)

    def _measure_index(self, measure: str) -> int:
        """The index, in `measures`, of the measure of this name; an error if there is none."""
        measure = canonical_compared(measure)
        if measure not in self.measures:
            hint = nearest(measure, self.measures)
            raise InputError(f"this comparison has no measure {measure!r}: {hint}")
        return self.measures.index(measure)

    def _ranks(self, measure: str) -> Ranks:
        """The ranks and the order of the predictors by one measure."""
        j = self._measure_index(measure)
        pairs, values, higher = self.pairs[j], self.values[:, j], self.higher_is_better[j]
        near = self.closeness.get(self.measures[j])
        if near is not None:
            pairs, values = near.farther, np.abs(values - near.target)
        return ranks_of(pairs, values, higher_is_better=higher, level=self.level)

    def difference(self, first: str, second: str, measure: str = "ece") -> Difference:
        """Say how much larger a measure is for `first` than for `second`.

        Parameters
        ----------
        first, second : str
            Names of the predictors.
        measure : str, default "ece"
            Name of the measure.

        Returns
        -------
        Difference
            The difference with its interval. For a slope or an intercept, a `CoefficientDifference`
            with the difference of their distances from 1 or 0.
        """
        a, b, j = (
            self._predictor_index(first),
            self._predictor_index(second),
            self._measure_index(measure),
        )
        value = float(self.values[a, j] - self.values[b, j])
        measure = self.measures[j]
        if measure in self.closeness:
            return self._coefficient_difference(a, b, j)
        if a == b:
            return Difference(measure, first, second, 0.0, 0.0, 0.0, self.level, None)
        low, high, estimate = (float(x) for x in self.pairs[j, a, b])
        if low <= high:
            estimate = min(max(estimate, low), high)
        better = None
        if low > 0 or high < 0:
            better = first if (low > 0) == self.higher_is_better[j] else second
        return Difference(measure, first, second, value, low, high, self.level, better, estimate)

    def _coefficient_difference(self, a: int, b: int, j: int) -> CoefficientDifference:
        """The difference of the coefficient j of two predictors."""
        name, first, second = self.measures[j], self.names[a], self.names[b]
        near = self.closeness[name]
        low, high, apart = self.pairs[j, a, b].tolist()
        least, most, farther = near.farther[a, b].tolist()
        better = None
        if least > 0 or most < 0:
            better = second if least > 0 else first
        return CoefficientDifference(
            name, first, second, apart, low, high, self.level, better, apart, near.target,
            float(near.p_values[a, b]), farther, least, most,
        )  # fmt: skip

    def differences(self, measure: str = "ece", reference: str | None = None) -> list[Difference]:
        """Give the difference of every predictor from one of them, best first.

        Parameters
        ----------
        measure : str, default "ece"
            Name of the measure.
        reference : str, optional
            The predictor to compare with; left out, the best.

        Returns
        -------
        list of Difference
            One for each other predictor.
        """
        order = self.order(measure)
        base = order[0] if reference is None else reference
        return [self.difference(name, base, measure) for name in order if name != base]

    def order(self, measure: str = "ece") -> list[str]:
        """Give the names from the best to the worst.

        Significant differences decide first, then the bias-corrected difference from the best one.
        The values of a sample may be in another order, since each has a bias of its own.

        Parameters
        ----------
        measure : str, default "ece"
            Name of the measure.

        Returns
        -------
        list of str
            The predictors.
        """
        return [self.names[i] for i in self._ranks(measure).order]

    def ranking(self, measure: str = "ece") -> dict[str, list[Any]]:
        """Give ranks with their uncertainty, best first.

        Parameters
        ----------
        measure : str, default "ece"
            Name of the measure.

        Returns
        -------
        dict of str to list
            `predictor`, the measure's sample value, its bias-corrected `estimate`, and the ranks.
            `rank` counts the predictors that are significantly better, or are estimated to be
            closer to the best one, from 1.
            `rank_low` counts those that are significantly better, and `rank_high` leaves room for
            all but those that are significantly worse. `best` is the smallest of the confidences
            that the predictor is better than each other one; it is ``(1 + level) / 2`` or more only
            where it is significantly better than all of them. The values need not add up to 1.
        """
        j, ranks = self._measure_index(measure), self._ranks(measure)
        order = ranks.order
        return {
            "predictor": [self.names[i] for i in order],
            measure: [float(self.values[i, j]) for i in order],
            "estimate": [float(self.limits[i, j, 2]) for i in order],
            "rank": [int(ranks.rank[i]) for i in order],
            "rank_low": [int(ranks.low[i]) for i in order],
            "rank_high": [int(ranks.high[i]) for i in order],
            "best": [float(ranks.best[i]) for i in order],
        }

    def ranked(self, measure: str) -> dict[str, list[Any]]:
        """Give the ranking with the difference from the best predictor.

        Parameters
        ----------
        measure : str
            Name of the measure.

        Returns
        -------
        dict of str to list
            `predictor`, the measure's sample value, its `estimate`, `rank`, `best` (in four
            digits) and `ranks` as in `ranking`; `behind_best`, `low` and `high`, the
            bias-corrected difference from the best predictor and its confidence interval. For
            slopes and intercepts, that is how much farther from 1 or 0 the predictor is, and
            `difference` and `p_value` are those of the values.
        """
        columns = self.ranking(measure)
        columns["best"] = [round(confidence, 4) for confidence in columns["best"]]
        behind = {d.first: d for d in self.differences(measure)}
        columns["ranks"] = [
            f"{a}" if a == b else f"{a} to {b}"
            for a, b in zip(columns.pop("rank_low"), columns.pop("rank_high"), strict=True)
        ]
        for i, column in enumerate(("behind_best", "low", "high")):
            columns[column] = [
                behind[name].behind[i] if name in behind else math.nan
                for name in columns["predictor"]
            ]
        if canonical_compared(measure) in self.closeness:
            nan = math.nan
            apart = [behind.get(name) for name in columns["predictor"]]
            columns["difference"] = [nan if each is None else each.value for each in apart]
            columns["p_value"] = [getattr(each, "p_value", nan) for each in apart]
        return columns

    def tied(self, measure: str = "ece") -> list[str]:
        """Give the predictors that are not significantly different from the best one.

        Parameters
        ----------
        measure : str, default "ece"
            Name of the measure.

        Returns
        -------
        list of str
            Their names, best first, without that of the best.
        """
        return [d.first for d in self.differences(measure) if d.better is None]

    def leaders(self, measure: str = "ece") -> list[str]:
        """Give the predictors that tables print in bold.

        Parameters
        ----------
        measure : str, default "ece"
            Name of the measure.

        Returns
        -------
        list of str
            The best predictor, and those tied with it whose estimate is at least as good.
        """
        j, best = self._measure_index(measure), self.order(measure)[0]
        own, near = self.limits[:, j, 2], self.closeness.get(self.measures[j])
        worse = np.abs(own - near.target) if near else -own if self.higher_is_better[j] else own
        estimates = dict(zip(self.names, worse, strict=True))
        level = [name for name in self.tied(measure) if estimates[name] <= estimates[best]]
        return [best, *level]

    def sentence(self, measure: str = "ece") -> str:
        """Say which predictor is best, and whether that is significant.

        Parameters
        ----------
        measure : str, default "ece"
            Name of the measure.

        Returns
        -------
        str
            A sentence.
        """
        own = self.measures[self._measure_index(measure)]
        name = self._sentence_names[own]
        return f"By {name}, {self._finding(measure)}"

    def _sentences(self) -> list[str]:
        """Which predictor is best by every measure; measures that agree share a sentence."""
        by_finding: dict[str, list[str]] = {}
        for measure in self.measures:
            name = self._sentence_names[measure]
            by_finding.setdefault(self._finding(measure), []).append(name)
        return [f"By {listing(names)}, {finding}" for finding, names in by_finding.items()]

    def _finding(self, measure: str) -> str:
        """The clause on which predictor is best by this measure."""
        best, *others = map(shortened, self.order(measure))
        tied = list(map(shortened, self.tied(measure)))
        near = self.closeness.get(self.measures[self._measure_index(measure)])
        leads, comes, other, worse = "is best", "comes first", "different", "worse"
        if near is not None:
            leads = comes = f"is {_CLOSEST[len(others) > 1]} to {near.target:g}"
            other = worse = "farther away"
        if not tied:
            rest = others[0] if len(others) == 1 else "every other one"
            return f"{best} {leads}: {rest} is significantly {worse}."
        if len(others) == 1:
            first, second = map(shortened, self.names)
            if near is not None:
                return f"neither {first} nor {second} is significantly closer to {near.target:g}."
            return f"{first} and {second} are not significantly different."
        if len(tied) == len(others):
            return f"{best} {comes}, but none of the others is significantly {other}."
        are, n = "are" if len(tied) > 1 else "is", len(others) - len(tied)
        rest = "the other is" if n == 1 else f"the other {n} are"
        from_it = "" if near is not None else " from it"
        return (
            f"{best} {comes}. {listing(tied)} {are} not significantly {other}{from_it}; "
            f"{rest} significantly {worse}."
        )


def listing(names: list[str]) -> str:
    """Join names for a sentence: "A", "A and B", "A, B and C"."""
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


class Ranks(NamedTuple):
    """Predictors by one measure: all that can be said of their order. Each array is (predictors,).

    `rank` is 1 plus the number of predictors that are estimated to be better. `low`, the best
    possible rank, is 1 plus the number that are significantly better; `high`, the worst possible
    one, is the number of predictors less those that are significantly worse. So ``low <= rank <=
    high``. `best` is the confidence that a predictor is better than every other. `order` has the
    indices of the predictors, best first.
    """

    rank: Counts
    low: Counts
    high: Counts
    best: Array
    order: list[int]


def ranks_of(pairs: Array, values: Array, *, higher_is_better: bool, level: float) -> Ranks:
    """Rank n predictors by one measure, from the differences of every two.

    Parameters
    ----------
    pairs : ndarray of shape (n, n, 3)
        Limits and estimate of the value of each predictor less that of each other.
    values : ndarray of shape (n,)
        The values, which decide between equals and where a difference has no estimate.
    higher_is_better : bool
        Whether a higher value is better.
    level : float
        Confidence level of the intervals.

    Returns
    -------
    Ranks
        Ranks, their limits, the confidence of being best, and the order.
    """
    n, badness = len(values), -values if higher_is_better else values
    with np.errstate(invalid="ignore", divide="ignore"):
        low, high, estimate = _badness_gaps(pairs, badness, higher_is_better=higher_is_better)
        confidence = _confidence_better(low, high, estimate, level)
        worse, better = low > 0, high < 0
        first = _best_first(1 + (estimate > 0).sum(axis=1), badness, worse)[0]
        rank = 1 + (_as_printed(estimate, worse | better, first) > 0).sum(axis=1)
    np.fill_diagonal(confidence, 1.0)
    return Ranks(
        rank=rank,
        low=1 + worse.sum(axis=1),
        high=n - better.sum(axis=1),
        best=confidence.min(axis=1),
        order=_best_first(rank, badness, worse),
    )


def _as_printed(estimate: Array, clear: NDArray[np.bool_], first: int) -> Array:
    """Differences whose signs agree with the column that tables print: that from the first one.

    Each difference is estimated by itself, so that of two predictors need not be the difference of
    their distances from the first. Where it is not significant, the distances decide.
    """
    behind = estimate[:, first]
    distances = behind[:, None] - behind
    own = clear | np.isnan(distances)
    own[first] = own[:, first] = True
    return np.where(own, estimate, distances)


def _badness_gaps(
    pairs: Array, badness: Array, *, higher_is_better: bool
) -> tuple[Array, Array, Array]:
    """The differences in badness of every two predictors: lower limits, upper limits, estimates.

    Each is (n, n). Badness is the value, or minus the value where higher is better: above 0, the
    predictor of the row is worse than that of the column. A missing estimate becomes the sign of
    the difference in the sample.
    """
    low, high, estimate = np.moveaxis(pairs, -1, 0)
    if higher_is_better:
        low, high, estimate = -high, -low, -estimate
    # A missing estimate, or one outside its limits, must not contradict the limits.
    known = ~(np.isnan(low) | np.isnan(high))
    middle = np.where(np.isnan(estimate), low + (high - low) / 2.0, estimate)
    estimate = np.where(known, np.clip(middle, low, high), estimate)
    seen = np.sign(badness[:, None] - badness)
    return low, high, np.where(np.isnan(estimate), seen, estimate)


def _confidence_better(low: Array, high: Array, estimate: Array, level: float) -> Array:
    """The confidence that the predictor of each row is better than that of each column, (n, n).

    `low`, `high` and `estimate` are differences in badness (`_badness_gaps`). An interval at this
    level reaches z standard errors to each side, where z is a quantile of the normal distribution.
    So the estimate is ``z |estimate| / distance`` standard errors from 0, where the distance is
    that from the estimate to the limit on the side of 0. The confidence is above ``(1 + level) /
    2`` where the interval shows the row's predictor to be better, and nowhere else. It is NaN
    without limits.
    """
    size, width = np.abs(estimate), high - low
    clear, sure = (low > 0) | (high < 0), (1.0 + level) / 2.0
    near = np.where(estimate > 0, estimate - low, high - estimate)
    # If the estimate is the limit itself, the whole width stands in for the distance.
    near = np.where((near > 0) | (width == 0), near, width)
    ratio = np.where(size > 0, size / near, 0.0)
    # An infinite difference would give infinity over infinity.
    errors = _NORMAL.inv_cdf(sure) * np.where(np.isinf(size) & clear, np.inf, ratio)
    one_side: Array = np.vectorize(_NORMAL.cdf, otypes=[float])(errors)
    # Rounding at a limit of 0 must not contradict the interval.
    one_side = np.where(
        clear, np.maximum(one_side, sure), np.minimum(one_side, np.nextafter(sure, 0.0))
    )
    out = np.where(estimate > 0, 1.0 - one_side, one_side)
    return np.where(np.isnan(low) | np.isnan(high), np.nan, out)


def _best_first(rank: Counts, badness: Array, worse: NDArray[np.bool_]) -> list[int]:
    """The indices of the predictors, sorted by rank, then by badness, then by input order.

    `worse[i, j]` says that i is significantly worse than j. No predictor comes before one that is
    significantly better, even if the estimated differences form a circle.
    """
    rest = [int(i) for i in np.lexsort((np.arange(len(rank)), badness, rank))]
    order = []
    while rest:
        first = next((i for i in rest if not worse[i, rest].any()), rest[0])
        order.append(first)
        rest.remove(first)
    return order
