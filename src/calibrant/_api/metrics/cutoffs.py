"""Errors of cutoffs as one-line functions: rows predicted below a threshold, and the others."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Unpack

from numpy.typing import ArrayLike

from calibrant._api.metrics.significance import (
    check_outcomes,
    cluster_null,
    result_of_test,
    scalar_problem,
)
from calibrant._api.rows import as_samples, as_source, group_index, note_two_columns
from calibrant._core.arguments import Reading, Rows
from calibrant._core.bin_tables import BinTable
from calibrant._core.binning import LevelSets, Quantile
from calibrant._core.errors import InputError, one_of
from calibrant._core.validation import check_seed, public
from calibrant._data.source import Source
from calibrant._inference.paths import clustered_cutoff_p, cutoff_p, worst_cutoffs
from calibrant._measures.cutoffs import Cutoffs, averaged_two_bin_error, cutoff_error
from calibrant._summaries.samples import Summary, resolve_notion
from calibrant.results._rendering import shown
from calibrant.results._uncertainty import CalibrationTest


@public
def atb(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    norm: str = "l2",
    root: bool = False,
    notion: str | None = None,
    **rows: Unpack[Rows],
) -> float:
    r"""Averaged two-bin calibration error: truthful, continuous, complete and sound at once.

    .. math:: \frac{1}{W^2} \int_0^1 \Bigl( \sum_{u_i < q} w_i (u_i - z_i) \Bigr)^2
        + \Bigl( \sum_{u_i \ge q} w_i (u_i - z_i) \Bigr)^2 dq

    The squared gaps of two bins, averaged over their boundary. Range [0, 1], lower is better. For
    (n,) predictions, the true probabilities have the lowest expectation of all predictions, which
    is ``sum w^2 u (1 - u) / W^2``. A small change of a prediction changes the value only a little.
    Both hold for each class against the rest too, but not for the top label, which changes at a
    tie.

    Values are small and squared: `root` gives them on the scale of gaps.

    Parameters
    ----------
    norm : {"l2", "l1"}, default "l2"
        Squares over W^2, or absolute values over W, which are not truthful.
    root : bool, default False
        Whether the square root is returned, for `norm="l2"`: for a mean over classes, the root of
        the mean. It ranks predictors in the same order, but is not truthful.
    notion

    Returns
    -------
    float
        The calibration error, in [0, 1].

    Raises
    ------
    InputError
        Also if `norm` is none of these, or `root` is combined with absolute values.

    See Also
    --------
    lin_ce : the truthful error of fixed bins. truthful_test : a test of calibration by this error,
    with ``measure="atb"``.

    References
    ----------
    Hartline, Hu and Wu (2026), A Perfectly Truthful Calibration Measure, PMLR 336,
    arXiv:2508.13100.

    Examples
    --------
    >>> import calibrant as cal
    >>> round(cal.atb([0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4]), 6)
    0.01225
    >>> round(cal.atb([0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4], root=True), 4)
    0.1107

    A prediction moves by a hair, and so does its error:

    >>> round(cal.atb([0, 1], [0.5, 0.5]), 9), round(cal.ece([0, 1], [0.5, 0.5]), 9)
    (0.0, 0.0)
    >>> near = [0.5 - 1e-9, 0.5 + 1e-9]
    >>> round(cal.atb([0, 1], near), 8), round(cal.ece([0, 1], near, bins=2), 8)
    (0.0, 0.5)
    """
    one_of("norm", norm, ("l2", "l1"))
    if root and norm == "l1":
        raise InputError("root=True is for squared errors: drop norm='l1', which is already a gap")
    value = averaged_two_bin_error(
        _sums_by_prediction(as_source(y_true, y_proba, **rows), notion), norm
    )
    return math.sqrt(value) if root else value


@public
def cutoff_ce(
    y_true: ArrayLike, y_proba: ArrayLike, *, notion: str | None = None, **rows: Unpack[Rows]
) -> float:
    r"""Cutoff calibration error: the largest accumulated gap of any interval of predictions.

    .. math:: \max_{s \le t} \frac{1}{W} \Bigl| \sum_{s \le u_i \le t} w_i (u_i - z_i) \Bigr|

    Known as Kuiper's statistic and as ECCE-R. No bins. Range [0, 1], lower is better; it lies
    between the Kolmogorov-Smirnov error, whose intervals all start at the lowest prediction, and
    twice that error.

    Parameters
    ----------
    notion

    Returns
    -------
    float
        The calibration error, in [0, 1].

    See Also
    --------
    cutoff_test : its p-value, and the interval of predictions where it is reached. ks_error : the
    largest accumulated gap from the lowest prediction.

    References
    ----------
    Arrieta-Ibarra et al. (2022), Metrics of Calibration for Probabilistic Predictions, JMLR 23;
    Rossellini et al. (2025), arXiv:2502.19851.

    Examples
    --------
    >>> import calibrant as cal
    >>> round(cal.cutoff_ce([0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4]), 4)
    0.15
    """
    return cutoff_error(_sums_by_prediction(as_source(y_true, y_proba, **rows), notion))


@public
def cutoff_test(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    notion: str | None = None,
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    seed: int = 0,
    **rows: Unpack[Reading],
) -> CalibrationTest:
    """Test of calibration by the cutoff error, and where it is reached.

    If predictions are calibrated, the partial sums of residuals in their order are a random walk,
    and the cutoff error is its range. With many predictions it is the range of a Brownian motion
    with the variance ``sum w^2 u (1 - u) / W^2`` (Feller, 1951). With few distinct predictions, few
    rows, rare events or heavy weights, walks are simulated. Hard labels only.

    Parameters
    ----------
    notion (scalar)
    groups (variances)
    seed
    data (in memory)

    Returns
    -------
    CalibrationTest
        `statistic` (the cutoff error), `p_value`, the interval of predictions `where` it is
        reached, and in words the null distribution (`null`) and a `note`.

    Raises
    ------
    InputError
        Also if labels are soft: the test needs outcomes.

    See Also
    --------
    cutoff_ce : the error alone.

    References
    ----------
    Feller (1951), The asymptotic distribution of the range of sums of independent random variables;
    Arrieta-Ibarra et al. (2022), Metrics of Calibration for Probabilistic Predictions, JMLR 23.

    Examples
    --------
    >>> import calibrant as cal
    >>> found = cal.cutoff_test([0, 0, 1, 0, 1, 1] * 50, [0.1, 0.3, 0.5, 0.6, 0.8, 0.9] * 50)
    >>> found.where, round(found.statistic, 3), found.p_value < 0.05
    ((0.6, 0.6), 0.1, True)
    """
    check_seed(seed)
    samples = as_samples(y_true, y_proba, sample_weight=sample_weight, **rows)
    problem = scalar_problem(samples, notion, Quantile(15))
    clusters = group_index(groups, samples, rows.get("data"))
    check_outcomes(problem, "the cutoff test")
    where = worst_cutoffs(problem)
    value, note = abs(where.gap), _largest_gap_in_words(where)
    if clusters is not None:
        null, chance = cluster_null(clusters), clustered_cutoff_p(problem, clusters, int(seed))
    else:
        chance = cutoff_p(problem, value, int(seed))
        null = "range of a random walk" if chance.n_draws else "range of a Brownian motion"
    found = result_of_test("cutoff error", value, chance, null, note, int(seed))
    found = replace(found, where=(where.lower, where.upper))
    return note_two_columns(found, samples, "confidence")


def _largest_gap_in_words(found: Cutoffs) -> str:
    """Say in which interval of predictions the accumulated gap is largest, and its sign."""
    if found.gap == 0.0:
        return "no interval of predictions has a gap"
    lean = "too high" if found.gap > 0 else "too low"
    return f"predictions from {shown(found.lower)} to {shown(found.upper)} are {lean}"


def _sums_by_prediction(samples: Source, notion: str | None) -> BinTable:
    """Sums of the rows of each distinct prediction, for a single column or for each class.

    The notion says what a prediction is; "full" has no order and raises an InputError.
    """
    resolved = resolve_notion(samples, notion)
    if resolved == "full":
        raise InputError(
            "notion='full' has no order of predictions: use lin_ce(...), which takes whole rows"
        )
    return Summary(samples).table(resolved, LevelSets())
