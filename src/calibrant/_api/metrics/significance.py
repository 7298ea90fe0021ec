"""Tests of calibration, as one-line functions."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Unpack, cast

import numpy as np
from numpy.typing import ArrayLike

from calibrant._api.cox_limits import cox_with_limits
from calibrant._api.rows import (
    as_samples,
    as_source,
    cluster_column,
    group_index,
    note_two_columns,
    take_clusters,
)
from calibrant._core.arguments import Reading
from calibrant._core.binning import Bins, Cuts, Quantile, Rule, as_rule, rank_bins
from calibrant._core.errors import InputError, check_weight_total, one_of
from calibrant._core.typing import Array, Index, Mask
from calibrant._core.validation import check_eps, check_level, check_seed, public
from calibrant._data.columns import is_lazy, scan_if_path
from calibrant._data.explain import check_not_swapped, explained
from calibrant._data.frame_samples import FrameSamples
from calibrant._data.links import logit
from calibrant._data.samples import Notion, Samples
from calibrant._data.source import Source
from calibrant._engines.arrays.counting import bin_table
from calibrant._engines.arrays.passes import whole_problem
from calibrant._engines.arrays.streams import EPS
from calibrant._inference import coefficients, paths, significance
from calibrant._inference.cells import Problem, problem_of
from calibrant._inference.numbers import SMALL_COUNT
from calibrant._measures.catalogue import catalogue
from calibrant._measures.truthful import linear_null_mean
from calibrant._summaries.samples import resolve_notion
from calibrant.results._uncertainty import CalibrationTest, CoxCalibration


@public
def spiegelhalter(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    notion: str | None = None,
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    seed: int = 0,
    **rows: Unpack[Reading],
) -> CalibrationTest:
    r"""Spiegelhalter's test: is the Brier score as expected from the predictions?

    .. math:: Z = \frac{\sum w (z - u)(1 - 2u)}{\sqrt{\sum w^2 (1 - 2u)^2 u (1 - u)}}

    Z is standard normal for calibrated predictions and many rows; the p-value is two-sided. If few
    rows decide (rare events, heavy weights), it comes from outcomes drawn from the predictions.
    Hard labels only.

    Parameters
    ----------
    notion (scalar)
    groups (variances)
    seed
    data (in memory)

    Returns
    -------
    CalibrationTest
        `statistic`, `p_value`, and in words the null distribution (`null`) and a `note`.

    Raises
    ------
    InputError
        Also if labels are soft: the test needs outcomes.

    References
    ----------
    Spiegelhalter (1986), doi:10.1002/sim.4780050506.

    Examples
    --------
    >>> import calibrant as cal
    >>> round(cal.spiegelhalter([0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4]).statistic, 4)
    -1.005
    """
    check_seed(seed)
    samples = as_samples(y_true, y_proba, sample_weight=sample_weight, **rows)
    problem = scalar_problem(samples, notion, Quantile(1))
    clusters = group_index(groups, samples, rows.get("data"))
    check_outcomes(problem, "Spiegelhalter's test")
    name, null = "Spiegelhalter z", "standard normal, two-sided"
    z = significance.spiegelhalter_z(problem.u, problem.z, problem.weights)
    if math.isnan(z):
        note = "every prediction is 0, 1/2 or 1, so the test is not defined"
        return CalibrationTest(name, z, 1.0, null, note)
    if clusters is not None:
        z, p = significance.clustered_spiegelhalter(problem, clusters)
        return CalibrationTest(name, z, p, cluster_null(clusters))
    chance = significance.spiegelhalter_p(problem, z, int(seed))
    if chance.n_draws:
        return CalibrationTest(name, z, chance.p_value, f"{chance}, two-sided", seed=int(seed))
    return CalibrationTest(name, z, chance.p_value, null)


@public
def hosmer_lemeshow(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    bins: Bins = Quantile(10),
    fitted: bool = False,
    notion: str | None = None,
    groups: ArrayLike | None = None,
    seed: int = 0,
    **rows: Unpack[Reading],
) -> CalibrationTest:
    r"""The Hosmer-Lemeshow test: are the counts in bins of equal size as expected?

    .. math:: \sum_B \frac{(O_B - E_B)^2}{n_B \bar u_B (1 - \bar u_B)}

    Chi-square with as many degrees of freedom as bins for predictions on new data, and two fewer if
    the model was `fitted` to these rows. Hard labels only, without weights or clusters.

    Parameters
    ----------
    bins (quantile)
    fitted : bool, default False
        Whether the model was fitted to these rows.
    notion (scalar)
    groups : None, optional
        Not supported, because the test assumes independent rows; passing them is an error.
    seed
    data (in memory)

    Returns
    -------
    CalibrationTest
        `statistic`, `p_value`, and in words the null distribution (`null`) and a `note`.

    Raises
    ------
    InputError
        Also if labels are soft: the test needs outcomes.

    Notes
    -----
    If a bin is expected to hold fewer than two events or non-events, the chi-square test rejects
    calibrated predictions too often. The p-value then comes from outcomes drawn from the
    predictions with `seed` (for a `fitted` model it cannot, and `note` warns).

    References
    ----------
    Hosmer and Lemeshow (1980), doi:10.1080/03610928008827941.

    Examples
    --------
    >>> import calibrant as cal
    >>> test = cal.hosmer_lemeshow([0, 1, 1, 0] * 25, [0.2, 0.7, 0.9, 0.4] * 25, bins=2)
    >>> round(test.statistic, 1), test.p_value < 1e-4
    (33.9, True)
    """
    check_seed(seed)
    if groups is not None:
        raise InputError(
            "groups= is not supported by the Hosmer-Lemeshow test, which assumes independent "
            "rows. Use truthful_test(..., groups=...) or cox_calibration(..., groups=...)"
        )
    samples = as_samples(y_true, y_proba, **rows)
    resolved = scalar_notion(samples, notion)
    rule = as_rule(bins, default=Quantile, n=samples.n)
    with explained(samples):
        table, cuts, findings = bin_table(samples, resolved, rule)
    if findings.soft:
        check_not_swapped(samples)
        raise InputError(_NEEDS_OUTCOMES.format("the Hosmer-Lemeshow test"))
    statistic, n_bins = significance.hosmer_lemeshow(table)
    df = n_bins - 2 if fitted else n_bins
    if df < 1:
        raise InputError(
            f"the Hosmer-Lemeshow test needs {'three' if fitted else 'one'} or more bins with "
            f"predictions strictly between 0 and 1; there are {n_bins}"
        )
    name, chi_square = "Hosmer-Lemeshow", f"chi-square with {df} degrees of freedom"
    least = significance.smallest_count(table)
    few = f"{rule}; a bin expects only {least:.2g} events or non-events"
    if least >= SMALL_COUNT or fitted:
        p = significance.chi_square_tail(statistic, df)
        note = str(rule)
        if least < SMALL_COUNT:
            note = f"{few}, so the test may reject too often; use fewer bins"
        return note_two_columns(
            CalibrationTest(name, statistic, p, chi_square, note), samples, resolved
        )
    u = whole_problem(samples, resolved)[0]
    chance = significance.hosmer_lemeshow_p(table, u, _bins_of_rows(u, rule, cuts), int(seed))
    found = CalibrationTest(name, statistic, chance.p_value, str(chance), few, int(seed))
    return note_two_columns(found, samples, resolved)


@public
def truthful_test(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    measure: str = "lin_ce",
    bins: Bins = Quantile(15),
    notion: str | None = None,
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    seed: int = 0,
    **rows: Unpack[Reading],
) -> CalibrationTest:
    """Test of calibration by a truthful error, whose mean and variance under calibration are known.

    ``E[LinCE] = E[ATB] = sum w^2 u (1 - u) / W^2`` whatever the bins, and the variances have closed
    forms too. The p-value of LinCE comes from the scaled chi-square distribution with this mean and
    variance. ATB is a sum of squares with known weights; it needs no bins and, after sorting,
    linear time. If few rows decide (small samples, rare events, heavy weights) it comes from
    outcomes drawn from the predictions; with clusters, from the covariance of their residuals. Hard
    labels only.

    Parameters
    ----------
    measure : {"lin_ce", "atb"}, default "lin_ce"
        The truthful error: of bins (LinCE), or of two bins averaged over their boundary (ATB).
    bins
        For LinCE: number of quantile bins, edges, or a rule (`EqualWidth`, `Quantile`, `Edges`).
        `"cbrt"` and `"auto"` choose the number of bins by the number of rows.
    notion (scalar)
    groups (variances)
    seed
    data (in memory)

    Returns
    -------
    CalibrationTest
        `statistic`, `p_value`, and in words the null distribution (`null`) and a `note`.

    Raises
    ------
    InputError
        Also if labels are soft: the test needs outcomes.

    References
    ----------
    Lu, Wu, Hartline and Hu (2026), Truthful Calibration Errors for Multi-Class Prediction, theorem
    3.1; Hartline, Hu and Wu (2026), arXiv:2508.13100.

    Examples
    --------
    >>> import calibrant as cal
    >>> cal.truthful_test([0, 1, 1, 0] * 25, [0.2, 0.7, 0.9, 0.4] * 25).p_value < 1e-4
    True
    >>> found = cal.truthful_test([0, 1, 0, 0] * 25, [0.2, 0.7, 0.9, 0.4] * 25, measure="atb")
    >>> found.p_value < 1e-4
    True
    """
    check_seed(seed)
    is_binned = _is_binned(measure)
    samples = as_samples(y_true, y_proba, sample_weight=sample_weight, **rows)
    problem = scalar_problem(samples, notion, bins)
    clusters = group_index(groups, samples, rows.get("data"))
    rule = as_rule(bins, default=Quantile, n=problem.u.size)
    check_outcomes(problem, "the truthful test")
    test = _binned_test if is_binned else _averaged_test
    return note_two_columns(test(problem, clusters, rule, int(seed)), samples, "confidence")


def _is_binned(measure: str) -> bool:
    """Whether the truthful error of this name uses bins; the others use the predictions' order.

    An InputError is raised for a name that is no truthful error.
    """
    known = {
        each.name: each.is_binned
        for each in catalogue("binary")
        if each.claims.truthful and each.null_mean is linear_null_mean
    }
    return known[one_of("measure", measure, known)]


def _binned_test(
    problem: Problem, clusters: Index | None, rule: Rule, seed: int
) -> CalibrationTest:
    """Test calibration by the truthful error in bins, LinCE.

    `clusters` has the number of each row's cluster, or is None; `rule` is that of the bins.
    """
    value, mean, variance = significance.linear_null(problem)
    name = "truthful error (LinCE)"
    if clusters is not None:
        p = significance.clustered_truthful_p(problem, clusters)
        return CalibrationTest(name, value, p, cluster_null(clusters), str(rule))
    chance = significance.truthful_p(problem, value, mean, variance, seed)
    return result_of_test(name, value, chance, _known_moments(mean, variance), str(rule), seed)


def _averaged_test(problem: Problem, clusters: Index | None, _: Rule, seed: int) -> CalibrationTest:
    """Test calibration by ATB, the error in two bins averaged over where the two meet.

    `clusters` has the number of each row's cluster, or is None; the rule of bins is ignored.
    """
    name, note = "averaged two-bin error (ATB)", "two bins, averaged over their boundary"
    mean, variance = paths.averaged_null(problem)
    value = paths.averaged_value(problem)
    if clusters is not None:
        p = paths.clustered_averaged_p(problem, clusters)
        return CalibrationTest(name, value, p, cluster_null(clusters), note)
    chance = paths.averaged_p(problem, seed)
    return result_of_test(name, value, chance, _known_moments(mean, variance), note, seed)


def _known_moments(mean: float, variance: float) -> str:
    """Say which mean and standard deviation a test's value has if predictions are calibrated."""
    return f"mean {mean:.3g} and standard deviation {math.sqrt(variance):.3g} when calibrated"


def result_of_test(
    name: str, value: float, chance: significance.PValue, null: str, note: str, seed: int
) -> CalibrationTest:
    """The CalibrationTest for a value and its p-value, which comes from a formula or from draws.

    `chance` is the p-value with its number of draws; `null` and `note` are texts on the
    distribution under calibration and on the bins.
    """
    if chance.n_draws:
        null += f"; {chance}"
    if chance.p_value == 0.0:
        note += "; an outcome was observed that a prediction of exactly 0 or 1 excludes"
    drawn_with = seed if chance.n_draws else None
    return CalibrationTest(name, value, chance.p_value, null, note, drawn_with)


@public
def cox_calibration(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    level: float = 0.95,
    eps: float = EPS,
    notion: str | None = None,
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    **rows: Unpack[Reading],
) -> CoxCalibration:
    r"""Cox's slope and intercepts: the targets regressed on the logits of the predictions.

    .. math:: \operatorname{logit} P(z = 1) = a + b \operatorname{logit} u

    `slope` b and `intercept` a together, and `intercept_at_slope_1`: a alone with b = 1, known as
    calibration in the large. Calibrated predictions have slope 1 and both intercepts 0, which
    `p_value` tests together.

    Parameters
    ----------
    level
        Confidence level of the intervals.
    eps : float, default 1e-06
        Predictions are clipped to [eps, 1 - eps] before their logits are taken.
    notion (scalar)
    groups (variances)
    data

    Returns
    -------
    CoxCalibration
        `slope`, `intercept` and `intercept_at_slope_1` with their confidence intervals, `p_value`,
        `note`, `n_clipped` and the fit `without_clipped`.

    Notes
    -----
    For independent outcomes, intervals come from the curvature of the likelihood, and the p-value
    from the likelihood-ratio test. For soft labels, weights and clusters, intervals come from the
    variance of the scores, with Student's t and the effective number of rows or clusters as degrees
    of freedom. `p_value` is then the larger of two: Wald's test with that variance, and the score
    test with the variance implied by the predictions.

    If outcomes are all equal, or separated by the predictions, there is no finite fit: values are
    NaN, with a `note`. `n_clipped` is the number of clipped predictions, and `without_clipped` the
    fit without them.

    Rows of lazy frames and Parquet files are summed in one query, by moments within cells of the
    logit, which give the same fit up to rounding; weights and clusters need a second query.

    References
    ----------
    Cox (1958), doi:10.1093/biomet/45.3-4.562; Miller, Hui and Tierney (1991),
    doi:10.1002/sim.4780100805.

    Examples
    --------
    >>> import calibrant as cal
    >>> fit = cal.cox_calibration([0, 1, 1, 0, 0, 1], [0.2, 0.7, 0.9, 0.4, 0.6, 0.3])
    >>> round(fit.slope, 3), round(fit.intercept_at_slope_1, 3)
    (1.07, -0.087)
    """
    check_level(level)
    check_eps(eps)
    rows["data"] = scan_if_path(rows.get("data"))
    if is_lazy(rows["data"]):
        source = cast(FrameSamples, as_source(y_true, y_proba, sample_weight=sample_weight, **rows))
        # Imported when a frame of another engine is given: arrays do without.
        from calibrant._api.cox_of_frame import cox_of_frame

        clusters = cluster_column(groups, rows["data"])
        resolved = scalar_notion(source, notion)
        fit = cox_of_frame(source, resolved, float(level), eps, clusters)
        return note_two_columns(fit, source, "confidence")
    samples = as_samples(y_true, y_proba, sample_weight=sample_weight, **rows)
    problem = scalar_problem(samples, notion, Quantile(1))
    clusters = group_index(groups, samples, rows.get("data"))
    return note_two_columns(cox_of(problem, clusters, float(level), eps), samples, "confidence")


def cox_of(problem: Problem, clusters: Index | None, level: float, eps: float) -> CoxCalibration:
    """Cox's slope and intercepts, from one prediction u and one target z per row.

    Predictions are clipped to [eps, 1 - eps]. If some were clipped, the result has a note, and the
    fit without them.
    """
    u = np.clip(problem.u, eps, 1.0 - eps)
    moved = (u != problem.u) & (problem.weights > 0)
    fit = coefficients.cox_fits(problem, logit(u), clusters)
    rows = np.ones(problem.n) if problem.counts is None else problem.counts
    n_moved = round(float(rows[moved].sum()))
    kept = ~moved & (problem.weights > 0)
    without = None
    if n_moved and kept.any():
        own = take_clusters(clusters, kept)
        without = coefficients.cox_fits(_take_problem_rows(problem, kept), logit(u[kept]), own)
    return cox_with_limits(fit, without, n_moved, level, eps)


def _take_problem_rows(problem: Problem, kept: Mask) -> Problem:
    """The problem of the rows that the mask `kept` marks."""
    weights, counts = (None if a is None else a[kept] for a in (problem.w, problem.counts))
    u, z, bins = problem.u[kept], problem.z[kept], problem.bins[kept]
    return replace(problem, u=u, z=z, w=weights, bins=bins, counts=counts)


def cluster_null(clusters: Index) -> str:
    """Name the distribution under calibration of a test that sums over clusters."""
    return f"scatter of {int(clusters.max()) + 1:,} clusters"


def _bins_of_rows(u: Array, rule: Rule, cuts: Cuts) -> Index:
    """The index of the bin that each prediction u lies in, (n,).

    `cuts` are the edges of the bins. Bins by rank may separate equal predictions and have no edges:
    they hold equal numbers of rows in order.
    """
    if isinstance(rule, Quantile) and rule.ties == "rank":
        bins = np.empty(u.size, dtype=np.intp)
        bins[np.argsort(u, kind="stable")] = rank_bins(u.size, rule.m)
        return bins
    return cuts.find(u)


_NEEDS_OUTCOMES = (
    "{} needs outcomes (0 or 1), but y_true holds soft labels. For vote counts, or shares with "
    "votes=, cal.noise_floor gives a p-value for every measure except rankings"
)


def check_outcomes(problem: Problem, test: str) -> None:
    """Raise an InputError unless all labels are 0 or 1; `test` is its name in the error."""
    if not problem.hard:
        raise InputError(_NEEDS_OUTCOMES.format(test))


def scalar_notion(samples: Source, notion: str | None) -> Notion:
    """The notion that a test is about, "binary" or "confidence"; an InputError for others."""
    resolved = resolve_notion(samples, notion)
    if resolved in ("classwise", "full"):
        raise InputError(
            f"a test needs one problem, so notion={notion!r} is not supported: give one class's "
            "column as y_proba and (y_true == class) as y_true"
        )
    return resolved


def scalar_problem(samples: Samples, notion: str | None, bins: Bins) -> Problem:
    """The predictions, targets, weights and bins of the rows that a test is about, checked.

    An InputError is raised for bins without edges.
    """
    resolved = scalar_notion(samples, notion)
    rule = as_rule(bins, default=Quantile, n=samples.n)
    with explained(samples):
        problem = problem_of(samples, resolved, rule)
    if problem is None:
        raise InputError(f"this test needs bins with edges; got {rule}")
    if not problem.hard:
        check_not_swapped(samples)
    check_weight_total(float(problem.weights.sum()), samples.n)
    return problem
