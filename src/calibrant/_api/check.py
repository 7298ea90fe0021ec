"""check(): whether measures keep their limits, or noise leaves it undecided."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeAlias, Unpack, cast

import numpy as np
from numpy.typing import ArrayLike

from calibrant._api.baseline import Pair, Side, needs_ids, pair_of, side_of
from calibrant._api.limits import LimitOn, checked_limit, effective_rows, limits_of, rows_to_pass
from calibrant._api.resampling import Resampling
from calibrant._api.rows import GivenRows, as_source
from calibrant._core.arguments import WeightedRowsWithGaps
from calibrant._core.binning import Bins, both_rules
from calibrant._core.errors import InputError, NeedsRows, NotDefined
from calibrant._core.messages import name_of, setting, worded
from calibrant._core.validation import N_RESAMPLES, check_level, check_resamples, public
from calibrant._data.checks import TWO_COLUMNS
from calibrant._data.columns import is_lazy
from calibrant._data.frame_samples import FrameSamples
from calibrant._data.samples import Samples
from calibrant._inference.coefficients import Coefficient, FittedCoefficient, fit_coefficient
from calibrant._inference.differences import Differences
from calibrant._inference.paired import SamplingErrors, difference_limits, independent_limits
from calibrant._inference.pooled_rows import PooledSums
from calibrant._inference.uncertainty import Uncertainty
from calibrant._measures.catalogue import Measure
from calibrant._measures.gap_scale import gap_scale
from calibrant._summaries.samples import Summary
from calibrant.results._check import FEWEST_ROWS, Check, Limit, LimitCheck
from calibrant.results._uncertainty import Interval

# From a confidence level to the lower limit, the upper limit and the estimate of a difference.
LimitsAt: TypeAlias = Callable[[float], tuple[float, float, float]]


@public
def check(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    at_most: Mapping[str, float] | None = None,
    at_least: Mapping[str, float] | None = None,
    baseline: Any = None,
    max_increase: Mapping[str, float] | None = None,
    max_decrease: Mapping[str, float] | None = None,
    ids: ArrayLike | None = None,
    paired: bool | None = None,
    own_labels: bool = False,
    level: float = 0.95,
    point: bool = False,
    bins: Bins = 15,
    groups: ArrayLike | None = None,
    by: ArrayLike | None = None,
    votes: ArrayLike | None = None,
    n_resamples: int = 1000,
    seed: int = 0,
    **rows: Unpack[WeightedRowsWithGaps],
) -> Check:
    """Check measures against limits, or against a baseline: pass, fail, or undecided by noise.

    A limit is kept if the whole confidence interval of the measure, or of its change from the
    baseline, lies on its good side, broken if the whole interval lies on the other, and undecided
    otherwise. All must be kept to pass; one broken limit fails. Only a pass is true:
    ``assert check(...)`` fails where a limit is broken and where noise decides, and
    ``check(...).assert_passed()`` says why.

    Parameters
    ----------
    at_most : mapping of str to float, optional
        Largest acceptable value by name of a measure: a name of `catalogue()`, or "slope",
        "intercept" or "intercept_in_the_large" of `cox_calibration`.
    at_least : mapping of str to float, optional
        Smallest acceptable value by name of a measure. What is better the higher it is takes this
        limit; a slope may have both.
    baseline : array-like, str or mapping, optional
        What to compare with. Predictions (or the name of their column) are of the same rows in the
        same order. Other rows come as a mapping with `y_true` and `y_proba`, and where there are
        any `sample_weight`, `groups`, `by`, `ids` and `data`.
    max_increase : mapping of str to float, optional
        Largest acceptable increase from the baseline by name of a measure that is better the lower
        it is; 0 asks for no increase, a negative number for an improvement.
    max_decrease : mapping of str to float, optional
        Largest acceptable decrease from the baseline by name of a measure that is better the higher
        it is.
    ids : array-like of shape (n,) or str, optional
        Id of each row, matched with the `ids` of the baseline.
    paired : bool, optional
        Whether the baseline has the same rows. By default it has if ids or, without ids, all labels
        agree; `notes` of the result says so. Otherwise the two are independent samples, whose
        difference is known less well; with ids that have to be said.
    own_labels : bool, default False
        Whether labels of rows with the same id may differ, because they say whether each model's
        own answer was right. Without it that is an error.
    level
        Confidence level of the intervals.
    point : bool, default False
        Whether to compare the values alone, without intervals, which is unreliable on few rows.
    bins
    groups
        Cluster of each row (patient, document, game); intervals, and the rows that a pass needs,
        count clusters.
    by
        A value for each row, or names of columns: every slice must meet the limits too.
    votes
        Number of votes behind each soft label; counts as `y_true` carry their own. Losses and
        distances have no noise floor without it.
    n_resamples
    seed
    data (with intervals)

    Returns
    -------
    Check
        `verdict` ("pass", "fail" or "undecided"), true only for a pass, and every limit with its
        interval; prints as a table.

    Raises
    ------
    InputError
        If the input cannot be read as labels and probabilities; the message names the first bad
        row. Also if there is no limit, one that every value keeps or none can keep, or one that a
        model keeps by becoming worse.

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
    >>> worse = [0.4, 0.5, 0.7, 0.5] * 25
    >>> cal.check(y, worse, baseline=p, max_increase={"brier": 0.01}).verdict
    'fail'
    """
    given = GivenRows(
        y_true=y_true,
        y_proba=y_proba,
        sample_weight=rows.get("sample_weight"),
        groups=groups,
        by=by,
        votes=votes,
        ids=ids,
        data=rows.get("data"),
    )
    if is_lazy(given.data):
        summed = cast(FrameSamples, as_source(y_true, y_proba, votes=votes, **rows))
        check_summed(by=by, groups=groups, baseline=baseline, ids=ids, point=point)
        limits = limits_of(at_most, at_least, summed.shape, max_increase, max_decrease)
        check_resamples(n_resamples, seed)
        return _check_frame(summed, limits, bins, level, int(n_resamples), int(seed))
    new = side_of(given, rows)
    limits = limits_of(at_most, at_least, new.samples.shape, max_increase, max_decrease)
    rules, level = both_rules(bins, new.samples.n), check_level(level)
    of_baseline = {"ids": ids is not None, "own_labels": own_labels}
    check_options(
        [(each.limit.kind, each.limit.measure) for each in limits if each.limit.of_change],
        baseline=baseline is not None,
        needs_baseline=[argument for argument, is_given in of_baseline.items() if is_given],
        point=point,
        groups=groups is not None,
    )
    pair = None
    if baseline is not None:
        pair = pair_of(new, baseline, given, rows, paired=paired, own_labels=own_labels)
    names = [] if new.slices is None else sorted(set(new.slices.tolist()))
    check_resamples(n_resamples, seed)
    resampling = Resampling(rules=rules, level=level, n_resamples=int(n_resamples), seed=int(seed))
    checks = _Checks(limits, resampling, (1 + len(names)) * len(limits), point)
    results = list(_check_limits(new, pair, None, checks))
    for name in names:
        own = None if pair is None else _slice_of_pair(pair, name)
        results += _check_limits(_slice_of(new, name), own, str(name), checks)
    samples = new.samples
    notes = () if pair is None else pair.notes
    notes += (TWO_COLUMNS,) if samples.multiclass and samples.n_classes == 2 else ()
    return Check(tuple(results), samples.n, samples.n_missing, level, bool(point), notes)


def check_summed(**given: Any) -> None:
    """Raise an InputError for the first argument that was given and that sums of a lazy frame do
    not serve.
    """
    for name, value in given.items():
        if value is not None and value is not False:
            raise InputError(
                f"{name_of(name)} needs the rows, which stay where they are in a frame of another "
                "engine: collect a sample of them and check that"
            )


def _check_frame(
    samples: FrameSamples,
    limits: tuple[LimitOn, ...],
    bins: Bins,
    level: float,
    n_resamples: int,
    seed: int,
) -> Check:
    """Check limits on a lazy frame, which its own engine sums."""
    # Imported when a frame of another engine is given: arrays do without.
    from calibrant._summaries.frame import sum_frame

    rules, names = both_rules(bins, samples.count_rows), {each.what.name for each in limits}
    summary, sums = sum_frame(samples, rules, tuple(names), fine=True)
    measures = (each.what for each in limits if isinstance(each.what, Measure))
    values = {measure.name: measure.compute(summary) for measure in measures}
    pooled, given = PooledSums(summary, rules), (values, limits, sums.n_rows, sums.n_missing)
    return check_sums(pooled, *given, level=level, n_resamples=n_resamples, seed=seed)


def check_options(
    changes: Sequence[tuple[str, str]],
    *,
    baseline: bool,
    needs_baseline: Sequence[str] = (),
    own_labels: bool = False,
    ids: bool = False,
    point: bool = False,
    groups: bool = False,
) -> None:
    """Raise InputError for options that contradict each other, or that have no effect.

    `changes` are the limits of changes, by argument and measure; `needs_baseline` are arguments
    that were given and are about a baseline.
    """
    if point and groups:
        raise InputError(
            f"{name_of('groups')} has no effect with {setting('point', True)}, which computes no "
            "interval: drop one of them"
        )
    if changes and not baseline:
        argument, measure = changes[0]
        raise InputError(
            f"{setting(argument, {measure: ...})} needs a "
            + worded(
                python="baseline= to compare with",
                command="baseline to compare with: say --baseline FILE",
            )
        )
    if baseline and not changes:
        raise InputError(
            f"{name_of('baseline')} has no effect without a limit of a change: say "
            f"{setting('max_increase', {'ece': 0.005})}"
        )
    if needs_baseline and not baseline:
        argument = needs_baseline[0]
        without = f"{name_of(argument)} has no effect without {name_of('baseline')}"
        python = _WITHOUT_BASELINE.get(argument, without)
        raise InputError(worded(python=python, command=without))
    if own_labels and not ids:
        raise needs_ids()


_WITHOUT_BASELINE = {
    "ids": "ids match rows with those of a baseline: there is none",
    "own_labels": "own_labels=True is of a baseline's labels: there is none",
}


def _slice_of(side: Side, name: Any) -> Side:
    """The rows of the slice with this name, as another Side."""
    assert side.slices is not None
    return side.take(np.flatnonzero(side.slices == name))


def _slice_of_pair(pair: Pair, name: Any) -> Pair:
    """The rows of the slice with this name, of the checked model and of the baseline."""
    return replace(pair, new=_slice_of(pair.new, name), old=_slice_of(pair.old, name))


@dataclass(frozen=True)
class _Checks:
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

    def model(self, side: Side, *, independent: bool = False) -> _Model:
        """The rows of one model, ready to compute the values and intervals that have limits.

        With `independent` the rows are others than the other model's: resamples then have another
        seed.
        """
        seed = self.resampling.seed + (1 if independent else 0)
        return _Model(side, self, replace(self.resampling, seed=seed, groups=side.groups))


class _Model:
    """The rows of one model, with the values and intervals of whatever is limited."""

    def __init__(self, side: Side, checks: _Checks, resampling: Resampling) -> None:
        self.side, self.checks, self.resampling = side, checks, resampling
        self.summary = Summary(side.samples, *resampling.rules)
        self._uncertainties: dict[float, Uncertainty] = {}
        self._fits: dict[str, FittedCoefficient] = {}

    def uncertainty(self, level: float) -> Uncertainty:
        """The object that computes intervals at a level. It is made once for each level."""
        if level not in self._uncertainties:
            limited = (each.what for each in self.checks.limits)
            measures = tuple(dict.fromkeys(each for each in limited if isinstance(each, Measure)))
            at_level = replace(self.resampling, level=level)
            self._uncertainties[level] = at_level.uncertainty(self.side.samples, measures)
        return self._uncertainties[level]

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
            return self.uncertainty(level).interval(what, what.compute(self.summary))
        fit = self.fit(what)
        low, high = fit.limits(level)
        return Interval(
            what.name,
            fit.value,
            low,
            high,
            level,
            "limits of Cox's recalibration",
            standard_error=fit.error,
            estimate=fit.value,
        )

    def difference_limits_from(
        self, other: _Model, what: Measure | Coefficient, paired: bool
    ) -> LimitsAt:
        """A function from a confidence level to limits of this model's value less the other's.

        The function returns (lower limit, upper limit, estimate). `paired` says whether both models
        have the same rows.
        """
        values = self.value(what), other.value(what)
        if isinstance(what, Measure):
            level = self.checks.level
            both = Differences(self.uncertainty(level), other.uncertainty(level), paired)
            return partial(both.limits, what, values)
        ours, theirs = (SamplingErrors(each.fit(what).influences) for each in (self, other))
        limits = difference_limits if paired else independent_limits
        return partial(limits, values[0] - values[1], ours, theirs)


def _check_limits(
    side: Side, pair: Pair | None, where: str | None, checks: _Checks
) -> Iterator[LimitCheck]:
    """Check every limit, on all rows or on one slice; yield a LimitCheck for each.

    `where` names the slice, None for all rows. `pair` has the checked model's rows with the
    baseline's, None without a baseline. A slice that cannot be judged is undecided, with the
    reason.
    """
    new = checks.model(side)
    both = None
    if pair is not None:
        both = checks.model(pair.new), checks.model(pair.old, independent=not pair.paired)
    for each in checks.limits:
        sides = (side,) if not each.limit.of_change or pair is None else (pair.new, pair.old)
        reason = "" if where is None else next(filter(None, map(_why_undecided, sides)), "")
        if not reason:
            try:
                if each.limit.of_change:
                    assert both is not None and pair is not None
                    yield _check_change(each, where, *both, pair, checks)
                else:
                    yield _check_value(each, where, new, checks)
                continue
            except InputError as error:
                # A slice or a coefficient without a value is undecided; all rows must have one.
                if where is None and isinstance(each.what, Measure):
                    raise
                reason = str(error)
        yield LimitCheck(each.limit, where, side.samples.n, math.nan, None, reason)


def _why_undecided(side: Side) -> str:
    """The reason, in words, why a slice cannot be judged; "" if it can."""
    samples, groups = side.samples, side.groups
    if not samples.n:
        return "it has no rows in the baseline"
    if samples.weights is not None and not (samples.weights > 0).any():
        return "its rows have no weight"
    single = groups is not None and int(np.max(groups)) < 1
    return "one cluster cannot be resampled" if single else ""


def _check_value(each: LimitOn, where: str | None, model: _Model, checks: _Checks) -> LimitCheck:
    """Check a limit of a value by the value's interval; with `checks.point`, by the value alone.

    `where` names the slice, None for all rows.
    """
    limit, what, n = each.limit, each.what, model.side.samples.n
    value = model.value(what)
    if checks.point:
        return LimitCheck(limit, where, n, value, None)
    interval = model.interval(what, checks.level)
    if isinstance(what, Measure):
        scale = gap_scale(what, model.summary)
        uncertainty = model.uncertainty(checks.level)
        result = replace(checked_limit(limit, where, interval, uncertainty, scale), n=n)
    else:
        result = LimitCheck(limit, where, n, value, interval, **_count_independent(model))
    if checks.number > 1 and result.verdict == "fail":
        result = replace(result, joint=model.interval(what, checks.strict_level))
    return result


def _check_change(
    each: LimitOn, where: str | None, new: _Model, old: _Model, pair: Pair, checks: _Checks
) -> LimitCheck:
    """Check a limit of the change from the baseline `old` to the checked model `new`.

    `where` names the slice, None for all rows.
    """
    limit, what = each.limit, each.what
    n, m = new.side.samples.n, old.side.samples.n
    value, before = new.value(what), old.value(what)
    n_baseline = None if pair.paired else m
    if checks.point:
        return LimitCheck(limit, where, n, value, None, baseline=before, n_baseline=n_baseline)
    same = pair.paired and _same_predictions(new.side.samples, old.side.samples)
    limits = new.difference_limits_from(old, what, pair.paired)

    def interval(level: float) -> Interval:
        """The interval of the change at a level; exactly 0 where both models predict the same."""
        low, high, estimate = (0.0, 0.0, 0.0) if same else limits(level)
        return Interval(
            what.name,
            value - before,
            low,
            high,
            level,
            "resamples of the same rows" if pair.paired else "resamples of two samples",
            new.resampling.seed,
            estimate=estimate,
        )

    counts = _count_independent(new), _count_independent(old)
    fewest = min(counts, key=lambda rows: rows["effective_n"])
    result = LimitCheck(
        limit,
        where,
        n,
        value,
        interval(checks.level),
        baseline=before,
        n_baseline=n_baseline,
        n_to_pass=_rows_to_detect(each, new, checks),
        **fewest,
        same=same,
    )
    if checks.number > 1 and result.verdict == "fail":
        result = replace(result, joint=interval(checks.strict_level))
    return result


def _same_predictions(new: Samples, old: Samples) -> bool:
    """Whether both models predict the same for the same rows, so that the change is exactly 0."""
    columns = ("from_logits", "predictions", "targets", "weights")
    return all(np.array_equal(getattr(new, each), getattr(old, each)) for each in columns)


def _count_independent(model: _Model) -> dict[str, Any]:
    """The fields "effective_n" and "n_clusters" of a LimitCheck, by name.

    "effective_n" is the number of independent rows of equal weight; "n_clusters" is None without
    clusters.
    """
    samples, groups = model.side.samples, model.side.groups
    return {
        "effective_n": effective_rows(samples, groups),
        "n_clusters": None if groups is None else int(np.unique(groups).size),
    }


def _rows_to_detect(each: LimitOn, model: _Model, checks: _Checks) -> int:
    """The number of rows needed to detect a change as large as the limit.

    Coefficients and limits of 0 have no formula: the number is then FEWEST_ROWS.
    """
    what, limit = each.what, each.limit
    if isinstance(what, Coefficient) or limit.value <= 0:
        return FEWEST_ROWS
    scale = replace(gap_scale(what, model.summary), offset=0.0)
    as_value = (
        Limit(what.name, "min", what.high - limit.value)
        if what.higher_is_better
        else Limit(what.name, "max", what.low + limit.value)
    )
    return rows_to_pass(what, as_value, checks.level, checks.resampling.rules[0], scale)


def check_sums(
    sums: PooledSums,
    values: Mapping[str, float],
    limits: tuple[LimitOn, ...],
    n: int,
    n_missing: int,
    *,
    level: float,
    seed: int,
    n_resamples: int = N_RESAMPLES,
) -> Check:
    """Check limits of measures by intervals from sums by cell, for rows that are not in memory.

    `values` maps measures to values of n rows.
    Raises NeedsRows for what has no interval from sums: changes, coefficients, and some measures.
    """
    measures = []
    for each in limits:
        if each.limit.of_change or not isinstance(each.what, Measure):
            raise NeedsRows(f"{each.limit} needs the rows, and there are sums alone")
        measures.append(each.what)
    sums.refuse(measures)
    plain = sums.uncertainty(tuple(measures), level, n_resamples, seed)
    joint = replace(plain, level=1.0 - (1.0 - level) / len(limits))
    pooled, results = plain.summary(plain.samples), []
    for each, measure in zip(limits, measures, strict=True):
        value = values[measure.name]
        interval, scale = plain.interval(measure, value), gap_scale(measure, pooled)
        result = replace(checked_limit(each.limit, None, interval, plain, scale), n=n)
        if len(limits) > 1 and result.verdict == "fail":
            result = replace(result, joint=joint.interval(measure, value))
        results.append(result)
    return Check(tuple(results), n, n_missing, level, False)


def check_values(
    values: Mapping[str, float],
    limits: tuple[LimitOn, ...],
    n: int,
    n_missing: int,
    before: Mapping[str, float] | None = None,
    n_before: int | None = None,
) -> Check:
    """Check limits by values alone, without intervals, for rows that are not in memory.

    `values` maps measures to values of n rows, `before` those to values of the baseline's
    `n_before` rows; both of the latter are None without a baseline.
    """
    results = []
    for each in limits:
        name = each.limit.measure
        old, m = (
            (before[name], n_before)
            if each.limit.of_change and before is not None
            else (None, None)
        )
        results.append(
            LimitCheck(each.limit, None, n, values[name], None, baseline=old, n_baseline=m)
        )
    return Check(tuple(results), n, n_missing, None, True)
