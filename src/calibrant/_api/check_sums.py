"""Checks of limits from sums: of lazy frames, which their own engine sums, of files and of
states.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from calibrant._api.limited_models import (
    NO_WEIGHT,
    ONE_CLUSTER,
    Checks,
    SumsModel,
    check_change,
    check_value,
)
from calibrant._api.limits import LimitOn
from calibrant._api.resampling import Resampling
from calibrant._api.slices import SliceOfSums
from calibrant._core.errors import InputError, NeedsRows
from calibrant._core.validation import N_RESAMPLES, check_level
from calibrant._inference.pooled_rows import PooledSums
from calibrant._measures.catalogue import Measure
from calibrant.results._check import Check, LimitCheck


@dataclass(frozen=True, eq=False)
class SummedBaseline:
    """The sums of a baseline on the same rows, the sums of both models, pooled where both have the
    same cells, and values of the baseline by measure, where its sums do not give them.
    """

    sums: PooledSums
    joint: tuple[PooledSums, PooledSums]
    values: Mapping[str, float] = field(default_factory=dict)


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
    point: bool = False,
    slices: Sequence[SliceOfSums] = (),
    baseline: SummedBaseline | None = None,
    baselines: Mapping[str, SummedBaseline] | None = None,
    of_slices: tuple[LimitOn, ...] | None = None,
) -> Check:
    """Check limits by intervals from sums by cell, for rows that are not in memory; with `point` by
    values alone.

    `values` maps measures to values of n rows; `slices` are the name, the number of rows and the
    sums of each slice, and `baselines` the baseline of each by its name; `of_slices` are limits of
    slices, where those are others. Raises NeedsRows for what has no interval from sums: changes
    without a `baseline`, and some measures.
    """
    for each in limits:
        if each.limit.of_change and baseline is None:
            raise NeedsRows(
                f"{each.limit} needs the rows, but only sums are available: drop this limit, or "
                "give arrays"
            )
    resampling = Resampling(
        rules=sums.rules, level=check_level(level), n_resamples=n_resamples, seed=seed
    )
    sliced = limits if of_slices is None else of_slices
    checks = Checks(limits, resampling, len(limits) + len(slices) * len(sliced), point)
    results = list(_check_model(SumsModel(sums, checks, n, values), baseline, None, checks))
    checks = replace(checks, limits=sliced)
    for name, n_slice, own in slices:
        if own is None:
            empty = (
                LimitCheck(each.limit, name, n_slice, math.nan, None, NO_WEIGHT) for each in sliced
            )
            results += empty
            continue
        before = None if baselines is None else baselines.get(name)
        results += _check_model(SumsModel(own, checks, n_slice), before, name, checks)
    return Check(tuple(results), n, n_missing, level, point)


def _check_model(
    model: SumsModel, baseline: SummedBaseline | None, where: str | None, checks: Checks
) -> Iterator[LimitCheck]:
    """Check every limit, of all rows or of the slice `where`; yield a LimitCheck for each. A slice
    that cannot be judged is undecided, with the reason.
    """
    old = None
    if baseline is not None:
        old, model.joint = (
            SumsModel(baseline.sums, checks, model.n, baseline.values),
            baseline.joint,
        )
    for each in checks.limits:
        try:
            if model.sums.is_one_cluster:
                raise InputError(ONE_CLUSTER)
            if each.limit.of_change:
                assert old is not None
                yield check_change(each, where, model, old, checks, paired=True)
            else:
                yield check_value(each, where, model, checks)
        except InputError as error:
            # A slice or a coefficient without a value is undecided; all rows must have one.
            if where is None and isinstance(each.what, Measure):
                raise
            yield LimitCheck(each.limit, where, model.n, math.nan, None, str(error))


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
