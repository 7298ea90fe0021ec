"""The uncertainty of one measure: noise_floor(), interval(), verdict() and vote_noise()."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Unpack, cast

import numpy as np
from numpy.typing import ArrayLike

from calibrant._api.resampling import Resampling
from calibrant._api.rows import (
    as_samples,
    as_source,
    cluster_column,
    group_index,
    is_top_label_of_two,
    note_two_columns,
    read_cells,
)
from calibrant._api.verdicts import verdict_of
from calibrant._core.arguments import WeightedRows
from calibrant._core.binning import Bins, both_rules
from calibrant._core.errors import InputError
from calibrant._core.given_cells import Cells
from calibrant._core.validation import (
    N_RESAMPLES,
    check_level,
    check_resample,
    check_resamples,
    public,
)
from calibrant._data.arrays import is_summed_on_device
from calibrant._data.checks import TWO_COLUMNS
from calibrant._data.columns import is_lazy, scan_if_path
from calibrant._data.frame_samples import FrameSamples
from calibrant._data.samples import Samples
from calibrant._data.tensor_samples import TensorSamples
from calibrant._inference.noise_floors import why_no_floor
from calibrant._inference.uncertainty import Uncertainty
from calibrant._measures.catalogue import Measure, find
from calibrant._measures.gap_scale import checked_tolerance
from calibrant._measures.statistics import Statistics
from calibrant._summaries.samples import Summary
from calibrant.results._uncertainty import Interval, NoiseFloor, Verdict, VoteNoise


@public
def noise_floor(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    measure: str = "ece",
    bins: Bins = 15,
    groups: ArrayLike | None = None,
    votes: ArrayLike | None = None,
    n_resamples: int = 1000,
    seed: int = 0,
    **rows: Unpack[WeightedRows],
) -> NoiseFloor:
    """What a measure shows by chance if predictions are calibrated, with a p-value.

    Hard labels are drawn as outcomes from the predictions, `n_resamples` times for errors over bins
    and fewer for others; losses have known moments. For soft labels and clusters, the signs of the
    residuals are drawn, which only assumes that predictions are right on average; if events are
    rare, outcomes are drawn too, and the higher floor is used. Losses and distances of soft labels
    need `votes`: labels are then drawn as means of that many votes.

    Parameters
    ----------
    measure
    bins
    groups
        Cluster of each row (patient, document, game), where rows are not independent.
    votes
        Number of votes behind each soft label; counts as `y_true` need none. Losses and distances
        have no noise floor without it.
    n_resamples
        Number of samples drawn for errors over bins; others take fewer.
    seed
    data

    Returns
    -------
    NoiseFloor
        `value`, its `mean` and 95% point `upper` under calibration, `p_value`, and the `method`.

    Raises
    ------
    InputError
        Also if the measure has no noise floor: losses and distances of soft labels without
        `votes`, or with `groups`, and measures of ranking (`auroc`, `aurc`, accuracy at coverage),
        which have no particular value for calibrated predictions.

    Notes
    -----
    The mean of the truthful errors of hard labels is exact (theorem 3.1 of the paper): the mean of
    ``u (1 - u)``, over n.

    References
    ----------
    Lu, Wu, Hartline and Hu (2026), Truthful Calibration Errors for Multi-Class Prediction, theorem
    3.1.

    Examples
    --------
    >>> import calibrant as cal
    >>> floor = cal.noise_floor([0, 1, 1, 0] * 25, [0.2, 0.7, 0.9, 0.4] * 25)
    >>> round(floor.mean, 3), floor.p_value < 0.05
    (0.066, True)
    """
    samples, clusters = _samples_and_clusters(y_true, y_proba, votes, groups, rows)
    uncertainty, chosen, summary = _uncertainty_of_measure(
        samples, measure, read_cells(bins, rows["data"]), n_resamples, seed, clusters
    )
    floor = uncertainty.noise_floor(chosen, chosen.compute(summary))
    if floor is None:
        raise InputError(why_no_floor(chosen, soft=uncertainty.soft))
    return note_two_columns(floor, samples, chosen.notion)


@public
def interval(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    measure: str = "ece",
    bins: Bins = 15,
    level: float = 0.95,
    groups: ArrayLike | None = None,
    votes: ArrayLike | None = None,
    resample: str | None = None,
    n_resamples: int = 1000,
    seed: int = 0,
    **rows: Unpack[WeightedRows],
) -> Interval:
    """A confidence interval for a measure, corrected for the bias of small samples.

    Calibration errors have intervals by test inversion over a least-favourable family of
    populations, from calibrated to worse than observed; losses and distances have BCa intervals for
    a mean, widened by Poisson intervals if fewer than ten events, or wrong top labels, were
    observed.

    Parameters
    ----------
    measure
    bins
    level (and verdicts)
    groups
    votes (taken out)
    resample
    n_resamples
    seed
    data

    Returns
    -------
    Interval
        `value`, `low`, `high`, `level`, the `method`, and the bias-corrected `estimate`. ``x in
        interval`` tests whether x lies in it.

    Notes
    -----
    The interval is for the value in the population, in the bins of this sample. A sample's
    calibration error lies above it on average, so `value` may lie above `high`.

    Shares of m votes vary around the label distributions, so losses and distances against shares
    are too large, whatever the number of rows. With `votes`, squares are corrected by the shares'
    variance, z (1 - z) / (m - 1). Votes identify other distances only in part: their intervals are
    bounds over all label distributions compatible with the votes (see the page on votes), and
    `method` says so. `estimand` says what the interval estimates.

    References
    ----------
    DiCiccio and Romano (1990), Nonparametric confidence limits by resampling methods and least
    favorable families, International Statistical Review 58; DiCiccio and Efron (1992), More
    accurate confidence intervals in exponential families, Biometrika 79.

    Examples
    --------
    >>> import calibrant as cal
    >>> found = cal.interval([0, 1, 1, 0] * 25, [0.2, 0.7, 0.9, 0.4] * 25)
    >>> found.low > 0.1, 0.25 in found
    (True, True)
    """
    level = check_level(level)
    samples, clusters = _samples_and_clusters(y_true, y_proba, votes, groups, rows)
    uncertainty, chosen, summary = _uncertainty_of_measure(
        samples,
        measure,
        read_cells(bins, rows["data"]),
        n_resamples,
        seed,
        clusters,
        level=level,
        resample=resample,
    )
    found = uncertainty.interval(chosen, chosen.compute(summary))
    return note_two_columns(found, samples, chosen.notion)


@public
def verdict(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    measure: str = "ece",
    tolerance: float = 0.05,
    bins: Bins = 15,
    level: float = 0.95,
    groups: ArrayLike | None = None,
    votes: ArrayLike | None = None,
    resample: str | None = None,
    n_resamples: int = 1000,
    seed: int = 0,
    **rows: Unpack[WeightedRows],
) -> Verdict:
    """Say whether predictions are calibrated or miscalibrated, or whether there is not enough data.

    Four tests decide whether predictions are calibrated: tests of the calibration slope, the mean
    prediction, the measure's noise floor, and a smooth curve of gaps. The measure's confidence
    interval is then compared with `tolerance`.

    Parameters
    ----------
    measure
    tolerance
        Largest value of the measure, as a gap, that you can accept.
    bins
    level (and verdicts)
    groups
    votes (taken out)
    resample
    n_resamples
    seed
    data

    Returns
    -------
    Verdict
        `verdict` ("calibrated within noise", "miscalibrated" or "not enough data"), `decided_by`,
        `value`, `low`, `high`, `slope` and `rows_needed`; prints as one or two sentences.

    Notes
    -----
    Miscalibrated: a test rejects. `decided_by` names it, and `p_value`, the p-value of all tests
    together, is below ``1 - level``. Calibrated within noise: no test rejects, and an error above
    `tolerance` can be excluded. Not enough data: no test rejects, and an error above `tolerance`
    cannot be excluded. `rows_needed` is about how many rows would decide whether the error exceeds
    the tolerance.

    Each test has a share of ``1 - level``: 0.4 for the slope, 0.2 for the mean, 0.5 for the noise
    floor and 0.1 for the curve. At a level of 95% calibrated predictions are called miscalibrated
    in at most 6% of samples, and in 3 to 5% in simulations, since the tests overlap. The slope's
    interval has the level of its test, 98%: if it excludes 1, the verdict is "miscalibrated".
    Losses, and errors over all classes (`classwise_ece`, `ace`, ...), are judged only by their
    noise floor: several classes have no single slope.

    For errors that are sums of squares (`lin_ce`, `classwise_ce`, ...) intervals are converted to
    the gap that gives them if every bin has it; for losses the tolerance is on their own scale. The
    tolerance is compared as in `check`.

    References
    ----------
    Cox (1958), doi:10.1093/biomet/45.3-4.562, for the slope; Neyman (1937),
    doi:10.1080/03461238.1937.10404821, for smooth tests. The shares are Calibrant's own.

    Examples
    --------
    >>> import calibrant as cal
    >>> cal.verdict([0, 1, 1, 0, 1, 1], [0.2, 0.7, 0.9, 0.4, 0.6, 0.7]).verdict
    'not enough data'
    """
    level, tolerance = check_level(level), checked_tolerance(tolerance, measure)
    samples, clusters = _samples_and_clusters(y_true, y_proba, votes, groups, rows)
    uncertainty, chosen, summary = _uncertainty_of_measure(
        samples,
        measure,
        read_cells(bins, rows["data"]),
        n_resamples,
        seed,
        clusters,
        level=level,
        resample=resample,
    )
    if chosen.is_ranking:
        raise InputError(
            f"measure={measure!r} measures {chosen.in_place_of_calibration}, not calibration, so "
            "it has no verdict: name a calibration error, or get its interval with cal.interval"
        )
    value = chosen.compute(summary)
    interval, floor = uncertainty.interval(chosen, value), uncertainty.noise_floor(chosen, value)
    found = verdict_of(interval, floor, tolerance, chosen, uncertainty)
    if not is_top_label_of_two(samples, chosen.notion):
        return found
    more = f"{TWO_COLUMNS[0].upper()}{TWO_COLUMNS[1:]}"
    return replace(found, sentence=f"{found.sentence} {more}.")


@public
def vote_noise(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    measure: str = "dist_ce",
    votes: ArrayLike | None = None,
    bins: Bins = 15,
    seed: int = 0,
    **rows: Unpack[WeightedRows],
) -> VoteNoise:
    r"""Remove vote noise from a measure: its value against the label distributions.

    Shares z of m votes vary around the label distribution q. Squares have an unbiased correction,

    .. math:: \|p - z\|^2 - \frac{1 - \|z\|^2}{m - 1}
        \quad\text{has the mean}\quad \|p - q\|^2

    and so have the truthful errors, by the sum of the shares' variances. Measures that are linear
    in the labels need no correction. Votes identify other distances only in part: these have bounds
    over all label distributions compatible with the votes, and the estimate is their midpoint. For
    ECE and other errors of bins the estimate is that of `interval`.

    Parameters
    ----------
    y_true
        Counts of votes (n, k), or their shares; with `data`, columns' names.
    measure
    votes
        Number of votes behind each label; counts as `y_true` need none.
    bins
    seed
    data (in memory)

    Returns
    -------
    VoteNoise
        `value` against the shares, `estimate` without vote noise, `noise`, their difference, the
        `method`, and for distances the bounds `low` and `high`.

    Raises
    ------
    InputError
        If the input cannot be read as labels and probabilities, if the number of votes is not
        known, or if votes do not show how they vary: one per row, or labels that are not shares of
        the given numbers of votes.

    Notes
    -----
    An exact estimate is for these rows, and unbiased: it may be below 0. `interval` with `votes`
    has the confidence interval, for rows like these or for these rows (``resample="votes"``).

    Examples
    --------
    >>> import numpy as np, calibrant as cal
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.dirichlet([1, 1, 1], 2000)
    >>> shares = np.array([rng.multinomial(5, q) for q in truth]) / 5
    >>> found = cal.vote_noise(shares, truth, measure="brier", votes=5)
    >>> round(found.value, 3), round(abs(found.estimate), 2)
    (0.099, 0.0)
    """
    samples = as_samples(y_true, y_proba, votes=votes, **rows)
    _ = Summary(samples).losses  # every value is checked on its way
    if samples.votes is None:
        raise InputError(
            "vote_noise needs the number of votes of each row: give votes=, or vote counts as "
            "y_true"
        )
    uncertainty, chosen, summary = _uncertainty_of_measure(
        samples, measure, bins, N_RESAMPLES, seed, resample="both"
    )
    value = chosen.compute(summary)
    voted = uncertainty.vote_rows
    if voted is None:
        raise InputError(
            "y_true holds only 0 and 1, so there is no vote noise to remove. Give shares of votes"
        )
    bounds = uncertainty.interval(chosen, value) if chosen.vote_model else None
    return VoteNoise(
        chosen.name,
        value,
        uncertainty.without_vote_noise(chosen, value),
        int(voted.m.min()),
        float(np.median(voted.m)),
        int(voted.m.max()),
        voted.singles,
        voted.method(chosen),
        uncertainty.vote_note(chosen),
        *((None, None) if bounds is None else (bounds.low, bounds.high)),
    )


def _samples_and_clusters(
    y_true: Any, y_proba: Any, votes: Any, groups: Any, rows: WeightedRows
) -> tuple[Samples | FrameSamples | TensorSamples, Any]:
    """The rows, and the number of each row's cluster, or None without clusters. Rows of a lazy
    frame stay where they are, and their clusters are the name of a column; so do large tensors on
    an accelerator, whose clusters are numbered there.
    """
    rows["data"] = data = scan_if_path(rows.get("data"))
    if is_lazy(data):
        lazy = cast(FrameSamples, as_source(y_true, y_proba, votes=votes, **rows))
        return lazy, cluster_column(groups, data)
    if votes is None and is_summed_on_device(y_proba):
        # Imported where large tensors are given.
        from calibrant._api.tensor_predictor import read_on_device

        here = read_on_device(y_true, {"": y_proba}, groups, rows)
        if here is not None:
            return here[0][""], here[1]
    samples = as_samples(y_true, y_proba, votes=votes, **rows)
    return samples, group_index(groups, samples, data)


def _uncertainty_of_measure(
    samples: Samples | FrameSamples | TensorSamples,
    measure: str,
    bins: Bins,
    n_resamples: int,
    seed: int,
    groups: Any = None,
    *,
    level: float = 0.95,
    resample: Any = None,
) -> tuple[Uncertainty, Measure, Statistics]:
    """The Uncertainty of one measure, the measure found by name, and the rows' statistics.

    `groups` has the number of each row's cluster, or is the column of a lazy frame that names them;
    None without clusters.
    """
    check_resamples(n_resamples, seed)
    chosen = find(measure, samples.shape)
    if isinstance(samples, FrameSamples):
        # Imported when a frame of another engine is given: arrays do without.
        from calibrant._api.pooled_sums import sums_of_frame
        from calibrant._summaries.frame import sum_frame

        if resample is not None:
            check_resample(resample, None)
        rules = both_rules(bins, samples.count_rows, cells=True)
        summary, _ = sum_frame(samples, rules, (chosen.name,), fine=True)
        sums = sums_of_frame(samples, summary, rules, groups)
        sums.refuse([chosen])
        return sums.uncertainty((chosen,), level, n_resamples, seed), chosen, summary
    if isinstance(samples, TensorSamples):
        from calibrant._api.tensor_predictor import sums_on_device

        if resample is None and not isinstance(bins, Cells):
            rules = both_rules(bins, samples.n)
            sums = sums_on_device(samples, rules, groups)
            if not sums.why_not(chosen):
                uncertainty = sums.uncertainty((chosen,), level, n_resamples, seed)
                return uncertainty, chosen, Summary(samples, *rules)
        samples, groups = samples.in_memory(), None if groups is None else groups.cpu().numpy()
    resampling = Resampling(
        rules=both_rules(bins, samples.n, cells=True),
        level=level,
        n_resamples=int(n_resamples),
        seed=int(seed),
        groups=groups,
        resample=check_resample(resample, samples.votes),
    )
    uncertainty, rules = resampling.uncertainty(samples, (chosen,)), resampling.rules
    return uncertainty, chosen, Summary(samples, *rules)
