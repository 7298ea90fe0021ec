"""Checks of limits from sums: of lazy frames, which their own engine sums, of files and of
states.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from calibrant._api.limited_models import NO_WEIGHT, Change, Checks, SumsModel, check_limits
from calibrant._api.limits import LimitOn
from calibrant._api.resampling import Resampling
from calibrant._api.slices import SliceOfSums
from calibrant._core.errors import NeedsRows
from calibrant._core.validation import N_RESAMPLES, check_level
from calibrant._inference.pooled_rows import PooledSums
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
    results = list(_check_sums_of(sums, n, values, baseline, None, checks))
    checks = replace(checks, limits=sliced)
    for name, n_slice, own in slices:
        if own is None:
            results += (
                LimitCheck(each.limit, name, n_slice, math.nan, None, NO_WEIGHT) for each in sliced
            )
        else:
            before = None if baselines is None else baselines.get(name)
            results += _check_sums_of(own, n_slice, None, before, name, checks)
    return Check(tuple(results), n, n_missing, level, point)


def _check_sums_of(
    sums: PooledSums,
    n: int,
    values: Mapping[str, float] | None,
    baseline: SummedBaseline | None,
    where: str | None,
    checks: Checks,
) -> Iterator[LimitCheck]:
    """Check every limit by the sums of n rows, of all rows or of the slice `where`."""
    if baseline is None:
        return check_limits(SumsModel(sums, checks, n, values), None, where)
    model = SumsModel(sums, checks, n, values, baseline.joint)
    old = SumsModel(baseline.sums, checks, n, baseline.values)
    return check_limits(model, Change(model, old, paired=True), where)


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
        changed = each.limit.of_change and before is not None
        old = before[each.limit.measure] if changed and before is not None else None
        results.append(
            LimitCheck(
                each.limit,
                None,
                n,
                values[each.limit.measure],
                None,
                baseline=old,
                n_baseline=n_before if changed else None,
            )
        )
    return Check(tuple(results), n, n_missing, None, True)
