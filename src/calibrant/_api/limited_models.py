"""Models whose values are limited: of rows in memory or of sums, and the check of each limit."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from calibrant._api.baseline import Side
from calibrant._api.limits import LimitOn, checked_limit, count_independent, rows_to_pass
from calibrant._api.resampling import Resampling
from calibrant._core.errors import InputError, NotDefined
from calibrant._inference.coefficients import FittedCoefficient, fit_coefficient
from calibrant._inference.differences import Differences
from calibrant._inference.pooled_rows import PooledSums
from calibrant._inference.uncertainty import Uncertainty
from calibrant._measures.catalogue import Measure
from calibrant._measures.coefficients import Coefficient
from calibrant._measures.gap_scale import GapScale, gap_scale
from calibrant._measures.statistics import Statistics
from calibrant._summaries.samples import Summary
from calibrant.results._check import FEWEST_ROWS, Limit, LimitCheck
from calibrant.results._uncertainty import Interval

# Why a slice is undecided.
NO_WEIGHT = "its rows have no weight"
ONE_CLUSTER = "one cluster cannot be resampled"
# From a confidence level to the lower limit, the upper limit and the estimate of a difference.
LimitsAt: TypeAlias = Callable[[float], tuple[float, float, float]]


@dataclass(frozen=True)
class Checks:
    """The limits to check, and the options of intervals by which rows are checked."""

    limits: tuple[LimitOn, ...]
    resampling: Resampling
    # Limits times (slices and all rows): how many checks there are that may fail by chance.
    number: int
    point: bool

    @property
    def level(self) -> float:
        """The confidence level of each check by itself."""
        return self.resampling.level

    @property
    def strict_level(self) -> float:
        """The Bonferroni level: all limits together fail by chance as rarely as one alone."""
        return 1.0 - (1.0 - self.level) / self.number

    @property
    def measures(self) -> tuple[Measure, ...]:
        """The measures that have limits, each once."""
        limited = (each.what for each in self.limits)
        return tuple(dict.fromkeys(each for each in limited if isinstance(each, Measure)))


class LimitedModel:
    """One model, with the values and intervals of whatever is limited: from `n` rows in memory
    (`RowModel`), or from sums (`SumsModel`).
    """

    def __init__(self, checks: Checks, seed: int, summary: Statistics, n: int) -> None:
        self.checks, self.seed, self.summary, self.n = checks, seed, summary, n
        self._uncertainty: Uncertainty | None = None
        self._fits: dict[str, FittedCoefficient] = {}

    def _make_uncertainty(self, level: float) -> Uncertainty:
        """Make the object that computes intervals at a level."""
        raise NotImplementedError

    def scale(self, what: Measure) -> GapScale:
        """What translates between a measure and gaps."""
        return gap_scale(what, self.summary)

    def is_same(self, other: Any) -> bool:
        """Whether both models predict the same for the same rows, so that changes are exactly 0."""
        return False

    def check_slice(self) -> None:
        """Raise an InputError, with the reason, if these rows cannot be judged as a slice."""
        raise NotImplementedError

    def uncertainty(self, level: float) -> Uncertainty:
        """The object that computes intervals at a level. Those of all levels share their draws."""
        if self._uncertainty is None:
            self._uncertainty = self._make_uncertainty(self.checks.level)
        return replace(self._uncertainty, level=level)

    def fit(self, what: Coefficient) -> FittedCoefficient:
        """The fit of a coefficient of Cox's recalibration. It is made once for each coefficient."""
        if what.name not in self._fits:
            plain = self.uncertainty(self.checks.level)
            self._fits[what.name] = fit_coefficient(what, plain.plain_problem, plain.groups)
        return self._fits[what.name]

    def value(self, what: Measure | Coefficient) -> float:
        """The value of a measure or a coefficient for these rows; NotDefined without one."""
        if isinstance(what, Measure):
            return what.compute(self.summary)
        fit = self.fit(what)
        if fit.why_not and math.isnan(fit.value):
            raise NotDefined(fit.why_not)
        return fit.value

    def interval(self, what: Measure | Coefficient, level: float) -> Interval:
        """The confidence interval of a measure or a coefficient at this level."""
        if isinstance(what, Measure):
            return self.uncertainty(level).interval(what, self.value(what))
        fit = self.fit(what)
        low, high = fit.limits(level)
        return Interval(
            what.name,
            fit.value,
            low,
            high,
            level,
            "confidence intervals of Cox's recalibration",
            standard_error=fit.error,
            estimate=fit.value,
        )

    def difference_limits_from(
        self, other: LimitedModel, what: Measure | Coefficient, paired: bool
    ) -> LimitsAt:
        """A function from a confidence level to the interval of this model's value minus the
        other's.

        The function returns (lower limit, upper limit, estimate). `paired` says whether both models
        have the same rows.
        """
        values = self.value(what), other.value(what)
        if isinstance(what, Measure):
            level = self.checks.level
            both = Differences(*self._pair(other, level), paired)
            return partial(both.limits, what, values)
        ours, theirs = self._fits_of_pair(other, what)
        apart = ours.plus(theirs, -1.0, paired=paired)

        def limits(level: float) -> tuple[float, float, float]:
            """The lower limit, the upper limit and the estimate of a coefficient's change."""
            low, high = apart.limits(level)
            return low, high, apart.value

        return limits

    def _fits_of_pair(
        self, other: LimitedModel, what: Coefficient
    ) -> tuple[FittedCoefficient, FittedCoefficient]:
        """The fits of both models from which the difference of a coefficient is computed."""
        return self.fit(what), other.fit(what)

    def _pair(self, other: LimitedModel, level: float) -> tuple[Uncertainty, Uncertainty]:
        """The two objects that compute intervals of differences at a level."""
        return self.uncertainty(level), other.uncertainty(level)

    def count_independent(self) -> dict[str, Any]:
        """The fields "effective_n" and "n_clusters" of a LimitCheck, by name."""
        plain = self.uncertainty(self.checks.level)
        return count_independent(plain.samples, plain.groups, plain.counts)

    def check(self, each: LimitOn, where: str | None) -> LimitCheck:
        """Check a limit of a value by the value's interval; with `checks.point`, by the value
        alone. `where` names the slice, None for all rows.
        """
        limit, what, checks = each.limit, each.what, self.checks
        value = self.value(what)
        if checks.point:
            return LimitCheck(limit, where, self.n, value, None)
        interval = self.interval(what, checks.level)
        if isinstance(what, Measure):
            scale, uncertainty = self.scale(what), self.uncertainty(checks.level)
            result = replace(checked_limit(limit, where, interval, uncertainty, scale), n=self.n)
        else:
            result = LimitCheck(limit, where, self.n, value, interval, **self.count_independent())
        if checks.number > 1 and result.verdict == "fail":
            result = replace(result, joint=self.interval(what, checks.strict_level))
        return result

    def rows_to_detect(self, each: LimitOn) -> int:
        """The number of rows needed to detect a change as large as the limit.

        Coefficients and limits of 0 have no formula: the number is then FEWEST_ROWS.
        """
        what, limit = each.what, each.limit
        if isinstance(what, Coefficient) or limit.value <= 0:
            return FEWEST_ROWS
        scale = replace(self.scale(what), offset=0.0)
        as_value = (
            Limit(what.name, "min", what.high - limit.value)
            if what.higher_is_better
            else Limit(what.name, "max", what.low + limit.value)
        )
        level, rule = self.checks.level, self.checks.resampling.rules[0]
        return rows_to_pass(what, as_value, level, rule, scale)


class RowModel(LimitedModel):
    """One model of rows in memory."""

    def __init__(self, side: Side, checks: Checks, *, independent: bool = False) -> None:
        """With `independent` the rows are others than the other model's: resamples then have
        another seed.
        """
        seed = checks.resampling.seed + (1 if independent else 0)
        summary = Summary(side.samples, *checks.resampling.rules)
        super().__init__(checks, seed, summary, side.samples.n)
        self.side = side

    def _make_uncertainty(self, level: float) -> Uncertainty:
        given = replace(
            self.checks.resampling, level=level, seed=self.seed, groups=self.side.groups
        )
        return given.uncertainty(self.side.samples, self.checks.measures)

    def count_independent(self) -> dict[str, Any]:
        return count_independent(self.side.samples, self.side.groups)

    def is_same(self, other: Any) -> bool:
        columns = ("from_logits", "predictions", "targets", "weights")
        new, old = self.side.samples, other.side.samples
        return all(np.array_equal(getattr(new, each), getattr(old, each)) for each in columns)

    def check_slice(self) -> None:
        samples, groups = self.side.samples, self.side.groups
        if not samples.n:
            raise InputError("it has no rows in the baseline")
        if samples.weights is not None and not (samples.weights > 0).any():
            raise InputError(NO_WEIGHT)
        if groups is not None and int(np.max(groups)) < 1:
            raise InputError(ONE_CLUSTER)


class SumsModel(LimitedModel):
    """One model of `n` rows that were summed. `values` are its measures' values if they are
    known; `joint` are the sums of this model and of its baseline, pooled where both have the same
    cells.
    """

    def __init__(
        self,
        sums: PooledSums,
        checks: Checks,
        n: int,
        values: Mapping[str, float] | None = None,
        joint: tuple[PooledSums, PooledSums] | None = None,
    ) -> None:
        super().__init__(checks, checks.resampling.seed, sums.summary, n)
        self.sums, self._values, self.joint = sums, values or {}, joint

    def _make_uncertainty(self, level: float) -> Uncertainty:
        self.sums.refuse(self.checks.measures)
        return self._uncertainty_of(self.sums, level)

    def _uncertainty_of(self, sums: PooledSums, level: float) -> Uncertainty:
        """The object that computes intervals from some sums at a level."""
        given = self.checks.resampling
        return sums.uncertainty(self.checks.measures, level, given.n_resamples, given.seed)

    def scale(self, what: Measure) -> GapScale:
        plain = self.uncertainty(self.checks.level)
        return gap_scale(what, plain.summary(plain.samples))

    def value(self, what: Measure | Coefficient) -> float:
        return self._values[what.name] if what.name in self._values else super().value(what)

    def is_same(self, other: Any) -> bool:
        if self.joint is None:
            return False
        new, old = (sums.rows.samples for sums in self.joint)
        return all(
            np.array_equal(getattr(new, each), getattr(old, each))
            for each in ("predictions", "targets")
        )

    def check_slice(self) -> None:
        if self.sums.is_one_cluster:
            raise InputError(ONE_CLUSTER)

    def _fits_of_pair(
        self, other: LimitedModel, what: Coefficient
    ) -> tuple[FittedCoefficient, FittedCoefficient]:
        if self.joint is None:
            return super()._fits_of_pair(other, what)
        # Only rows that both have in common say how the two fits vary together.
        both = self._pair(other, self.checks.level)
        ours, theirs = (fit_coefficient(what, each.plain_problem, each.groups) for each in both)
        return replace(ours, value=self.value(what)), replace(theirs, value=other.value(what))

    def _pair(self, other: LimitedModel, level: float) -> tuple[Uncertainty, Uncertainty]:
        assert self.joint is not None
        ours, theirs = (self._uncertainty_of(sums, level) for sums in self.joint)
        return ours, theirs


@dataclass(frozen=True, eq=False)
class Change:
    """The change from the baseline `old` to the checked model `new`; `paired` says whether both
    have the same rows.
    """

    new: LimitedModel
    old: LimitedModel
    paired: bool

    def check_slice(self) -> None:
        """Raise an InputError, with the reason, if these rows cannot be judged as a slice."""
        self.new.check_slice()
        self.old.check_slice()

    def check(self, each: LimitOn, where: str | None) -> LimitCheck:
        """Check a limit of a change by the change's interval; with `checks.point`, by the change
        alone. `where` names the slice, None for all rows.
        """
        new, old, paired, checks = self.new, self.old, self.paired, self.new.checks
        limit, what = each.limit, each.what
        value, before = new.value(what), old.value(what)
        n_baseline = None if paired else old.n
        if checks.point:
            return LimitCheck(
                limit, where, new.n, value, None, baseline=before, n_baseline=n_baseline
            )
        same = paired and new.is_same(old)
        limits = new.difference_limits_from(old, what, paired)

        def interval(level: float) -> Interval:
            """The interval of the change at a level; 0 where both models predict the same."""
            low, high, estimate = (0.0, 0.0, 0.0) if same else limits(level)
            return Interval(
                what.name,
                value - before,
                low,
                high,
                level,
                "resamples of the same rows" if paired else "resamples of two samples",
                new.seed,
                estimate=estimate,
            )

        counts = new.count_independent(), old.count_independent()
        fewest = min(counts, key=lambda rows: rows["effective_n"])
        result = LimitCheck(
            limit,
            where,
            new.n,
            value,
            interval(checks.level),
            baseline=before,
            n_baseline=n_baseline,
            n_to_pass=new.rows_to_detect(each),
            **fewest,
            same=same,
        )
        if checks.number > 1 and result.verdict == "fail":
            result = replace(result, joint=interval(checks.strict_level))
        return result


def check_limits(
    model: LimitedModel, change: Change | None, where: str | None
) -> Iterator[LimitCheck]:
    """Check every limit, of all rows or of the slice `where`; yield a LimitCheck for each.

    `change` is the model's change from a baseline, None without one. A slice that cannot be judged
    is undecided, with the reason.
    """
    for each in model.checks.limits:
        limited = change if change is not None and each.limit.of_change else model
        try:
            if where is not None:
                limited.check_slice()
            yield limited.check(each, where)
        except InputError as error:
            # A slice or a coefficient without a value is undecided; all rows must have one.
            if where is None and isinstance(each.what, Measure):
                raise
            yield LimitCheck(each.limit, where, model.n, math.nan, None, str(error))
