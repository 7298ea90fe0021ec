"""check(): whether measures are within limits, or noise leaves that undecided."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Unpack

import numpy as np
from numpy.typing import ArrayLike

from calibrant._api.baseline import Pair, Side, needs_ids, pair_of, side_of
from calibrant._api.limited_models import Change, Checks, RowModel, check_limits
from calibrant._api.limits import limits_of, limits_of_slices
from calibrant._api.resampling import Resampling
from calibrant._api.rows import GivenRows, check_without, read_cells
from calibrant._core.arguments import WeightedRowsWithGaps
from calibrant._core.binning import Bins, both_rules
from calibrant._core.errors import InputError
from calibrant._core.given_cells import Cells
from calibrant._core.messages import name_of, setting, worded
from calibrant._core.validation import check_level, check_resamples, public
from calibrant._data.arrays import is_summed_on_device
from calibrant._data.checks import TWO_COLUMNS
from calibrant._data.columns import is_lazy, scan_if_path
from calibrant.results._check import Check, LimitCheck, Policy, with_policy


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
    tolerance: float | None = None,
    undecided_slices: Policy = "undecided",
    votes: ArrayLike | None = None,
    n_resamples: int = 1000,
    seed: int = 0,
    **rows: Unpack[WeightedRowsWithGaps],
) -> Check:
    """Check measures against limits, or against a baseline: pass, fail, or undecided by noise.

    A limit passes if the whole confidence interval of the measure, or of its change from the
    baseline, satisfies it. It fails if the whole interval violates it, and is undecided otherwise.
    The check passes if all limits pass, and fails if one limit fails. Only a pass is true: ``assert
    check(...)`` fails on a fail and on an undecided check, and ``check(...).assert_passed()`` says
    why.

    Parameters
    ----------
    at_most : mapping of str to float, optional
        Largest acceptable value by name of a measure: a name of `catalogue()`, or "slope",
        "intercept" or "intercept_in_the_large" of `cox_calibration`.
    at_least : mapping of str to float, optional
        Smallest acceptable value by name of a measure. Use it for measures that are better the
        higher they are; a slope may have both.
    baseline : array-like, str or mapping, optional
        What to compare with: predictions (or the name of their column) for the same rows in the
        same order. For other rows, a mapping with `y_true` and `y_proba` and, if used,
        `sample_weight`, `groups`, `by`, `ids` and `data`.
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
        difference has a wider interval; with ids, pass `paired=False` for that.
    own_labels : bool, default False
        Whether labels of rows with the same id may differ, because they say whether each model's
        own answer was right. Otherwise different labels are an error.
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
    tolerance : float in (0, 1), optional
        Largest acceptable ECE of a slice: slices are then checked against it instead of the limits,
        which apply to all rows.
    undecided_slices : {"undecided", "warn", "fail"}, default "undecided"
        How an undecided slice counts: undecided, like any limit; only a note ("warn"); or a fail.
    votes
        Number of votes behind each soft label; counts as `y_true` need none. Losses and distances
        have no noise floor without it.
    n_resamples
    seed
    data

    Returns
    -------
    Check
        `verdict` ("pass", "fail" or "undecided"), true only for a pass, and every limit with its
        interval; prints as a table.

    Raises
    ------
    InputError
        Also if there is no limit, if a limit always or never passes, or if worse models would
        pass it.

    Notes
    -----
    Two errors are possible, each with a chance of at most ``(1 - level) / 2``. A false pass: some
    limit is violated, but the check passes. This needs a wrong decision on the violated limit
    itself, so intervals need no correction for the number of limits. (An undecided slice that only
    warns is not covered.) A false fail: no limit is violated, but one fails. These chances add up
    over limits and slices, so a fail is decided at the corrected level ``1 - (1 - level) /
    number``.

    Resampling cannot show what the sample lacks: an error in a share s of all rows is absent from n
    rows with probability ``(1 - s)^n``. So a pass also needs enough rows to show an error as large
    as the limit, and fewer than 30 rows are always undecided.

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
    of_slices = limits_of_slices(tolerance, undecided_slices, by)
    rows["data"] = scan_if_path(rows.get("data"))
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
    asked = (at_most, at_least, max_increase, max_decrease)
    lazy = is_lazy(given.data)
    if lazy:
        check_without(ids=ids, own_labels=own_labels or None, paired=paired)
    needs_rows = isinstance(bins, Cells) or any(x is not None for x in (votes, by, ids, paired))
    if lazy or (not needs_rows and is_summed_on_device(y_proba)):
        changes = {"max_increase": max_increase, "max_decrease": max_decrease}
        check_options(
            [(kind, name) for kind, of_kind in changes.items() for name in of_kind or {}],
            baseline=baseline is not None,
            own_labels=own_labels,
            point=point,
            groups=groups is not None,
        )
        check_resamples(n_resamples, seed)
        options: dict[str, Any] = {
            "level": check_level(level),
            "n_resamples": int(n_resamples),
            "seed": int(seed),
            "point": bool(point),
        }
        summed: Check | None
        # Each is imported where it is needed.
        if lazy:
            from calibrant._api.check_frame import check_frame

            summed = check_frame(given, rows, baseline, asked, of_slices, bins, **options)
        else:
            from calibrant._api.on_device import check_on_device

            summed = check_on_device(given, rows, baseline, asked, bins, **options)
        if summed is not None:
            return with_policy(summed, undecided_slices)
    new = side_of(given, rows)
    limits = limits_of(new.samples.shape, *asked)
    bins, own_rows = read_cells(bins, given.data), baseline is None and by is None
    rules, level = both_rules(bins, new.samples.n, cells=own_rows), check_level(level)
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
    names = list(new.rows_of_slices)
    check_resamples(n_resamples, seed)
    resampling = Resampling(rules=rules, level=level, n_resamples=int(n_resamples), seed=int(seed))
    sliced = limits if of_slices is None else limits_of(new.samples.shape, of_slices)
    checks = Checks(limits, resampling, len(limits) + len(names) * len(sliced), point)
    results = list(_check_limits(new, pair, None, checks))
    for name in names:
        own = None if pair is None else _slice_of_pair(pair, name)
        results += _check_limits(
            _slice_of(new, name), own, str(name), replace(checks, limits=sliced)
        )
    samples = new.samples
    notes = () if pair is None else pair.notes
    notes += (TWO_COLUMNS,) if samples.multiclass and samples.n_classes == 2 else ()
    found = Check(tuple(results), samples.n, samples.n_missing, level, bool(point), notes)
    return with_policy(found, undecided_slices)


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
    "ids": "ids match rows with those of a baseline, but no baseline was given",
    "own_labels": "own_labels=True concerns a baseline's labels, but no baseline was given",
}


def _slice_of(side: Side, name: Any) -> Side:
    """The rows of the slice with this name, as another Side."""
    return side.take(side.rows_of_slices.get(name, np.zeros(0, np.intp)))


def _slice_of_pair(pair: Pair, name: Any) -> Pair:
    """The rows of the slice with this name, of the checked model and of the baseline."""
    return replace(pair, new=_slice_of(pair.new, name), old=_slice_of(pair.old, name))


def _check_limits(
    side: Side, pair: Pair | None, where: str | None, checks: Checks
) -> Iterator[LimitCheck]:
    """Check every limit, on all rows or on one slice; yield a LimitCheck for each.

    `where` names the slice, None for all rows. `pair` has the checked model's rows with the
    baseline's, None without a baseline.
    """
    change = None
    if pair is not None:
        new = RowModel(pair.new, checks)
        change = Change(new, RowModel(pair.old, checks, independent=not pair.paired), pair.paired)
    return check_limits(RowModel(side, checks), change, where)
