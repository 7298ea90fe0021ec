"""The catalogue: everything that Calibrant knows about each measure.

No other module knows a measure by its name. To add one, write its formula over statistics, its
entry below, its public function in `_api/metrics`, and its twin in `tests/twins.py`.
"""

from __future__ import annotations

import copyreg
import math
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cache, lru_cache, partial
from typing import Any

import numpy as np

from calibrant._core.bin_tables import BinTable
from calibrant._core.errors import InputError, NotDefined, nearest
from calibrant._core.typing import Array, Shape
from calibrant._measures.binned import binned_error, binned_errors, debiased_l2, debiased_l2s
from calibrant._measures.cell_formulas import (
    brier_discriminations,
    brier_miscalibrations,
    brier_uncertainties,
    ks_errors,
    ls_eces,
    smooth_eces,
    sweep_errors,
)
from calibrant._measures.cutoffs import (
    averaged_two_bin_error,
    averaged_two_bin_errors,
    averaged_two_bin_spread,
    cutoff_error,
    cutoff_errors,
)
from calibrant._measures.decomposition import decompose, decompose_isotonic
from calibrant._measures.local_regression import (
    distance_quantile,
    e50s,
    e90s,
    emax,
    emaxs,
    ici,
    icis,
)
from calibrant._measures.measure import GROUPS, Claim, Claims, Group, Listed, Measure
from calibrant._measures.ordered import ks_error, sweep_error
from calibrant._measures.ranking import (
    COVERAGE,
    accuracy_at,
    accuracy_influence,
    aurc,
    aurc_influence,
    auroc,
    auroc_influence,
    mean_target,
)
from calibrant._measures.runs import RUN, hle_rms
from calibrant._measures.smooth import LS_SIGMA, ls_ece_of_grid
from calibrant._measures.statistics import Statistics
from calibrant._measures.truthful import (
    confidence_correction,
    corrected_errors,
    corrected_null_mean,
    linear_error,
    linear_errors,
    linear_null_mean,
    vector_linear_error,
    vector_linear_errors,
)
from calibrant._measures.votes import mean_excess, summed_excess, top_excess

__all__ = [
    "GROUPS",
    "HEADLINE",
    "OF_LOGARITHMS",
    "OWN_BINS",
    "THRESHOLD",
    "Claim",
    "Claims",
    "Group",
    "Listed",
    "Measure",
    "Shape",
    "canonical",
    "catalogue",
    "entry_of",
    "equal_mass_names",
    "find",
    "listed",
    "names_in_summaries",
    "nearest_measure",
    "of_answers",
    "registered",
]

_BINNED = Claims(truthful=False, continuous=False, complete=True, sound=True)
_LINEAR = Claims(truthful=True, continuous=False, complete=True, sound=True)
_PROPER = Claims(truthful=True, continuous=True, complete=False, sound=False)
_DISTANCE = Claims(truthful=False, continuous=True, complete=False, sound=False)
_NONE = Claims(truthful=None, continuous=None, complete=None, sound=None, weighted=None)

_NAEINI = "Naeini, Cooper and Hauskrecht (2015), AAAI; Guo et al. (2017), arXiv:1706.04599"
_NIXON = "Nixon et al. (2019), arXiv:1904.01685"
_LU = "Lu, Wu, Hartline and Hu, Truthful Calibration Errors for Multi-Class Prediction"
_BAAN = "Baan et al. (2022), arXiv:2210.16133"
_CHAOS = "Nie, Zhou and Bansal (2020), arXiv:2010.03532"
_LEWIDI = "Leonardelli et al. (2025), arXiv:2510.08460"
_CORP = "Dimitriadis, Gneiting and Jordan (2021), doi:10.1073/pnas.2016191118"
_BREIMAN = "Breiman, Friedman, Olshen and Stone (1984), Classification and Regression Trees"
_ACCURACY = ("acc", "accuracy_score")
_LOG_HIGH = 27.64  # -log of the floor of clipped predictions

_BOTH: tuple[Shape, ...] = ("binary", "multiclass")
_BINARY: tuple[Shape, ...] = ("binary",)
_MULTI: tuple[Shape, ...] = ("multiclass",)


# With (n,) predictions a right answer is an event: y may say whether an answer was right.
_AUSTIN = "Austin and Steyerberg (2019), doi:10.1002/sim.8281"
_NOTIONS: tuple[tuple[str, Shape], ...] = (("classwise", "multiclass"), ("scalar", "binary"))
_RISKS: tuple[tuple[Shape, str], ...] = (("binary", ", y = 1 being right"), ("multiclass", ""))


def _isotonic_part(part: str) -> Callable[[Statistics], float]:
    """A function from statistics to the part of the isotonic Brier decomposition that is named
    `part` (a field of `BrierDecomposition`).
    """

    def compute(summary: Statistics) -> float:
        return float(getattr(decompose_isotonic(summary.levels), part))

    return compute


def _uncertainty(summary: Statistics) -> float:
    """The uncertainty part of the Brier score, which depends on the targets alone.

    It is computed from the level sets, or from ordinary bins where a source does not give
    predictions in order.
    """
    try:
        return _isotonic_part("uncertainty")(summary)
    except NotDefined:
        return decompose(summary.bins).uncertainty


def _root_debiased(table: BinTable) -> Array:
    """The debiased root-mean-square error of each class, 0 where its square is below 0."""
    return np.sqrt(np.maximum(debiased_l2s(table), 0.0))


def _mean_loss(loss: str) -> Callable[[Statistics], float]:
    """A function from statistics to the mean of the loss named `loss`, a field of `LossSums`."""
    return lambda summary: summary.losses.mean(loss)


def _mean_distance(loss: str) -> Callable[[Statistics], float]:
    """A function from statistics to a mean distance between distributions.

    `loss` is the field of `LossSums` that has the distance.
    """
    return lambda summary: summary.distribution.mean(loss)


def _truthful_confidence_error(summary: Statistics) -> float:
    """The truthful confidence error: the linear error of the top label plus the correction that
    makes it truthful.
    """
    return linear_error(summary.confidence_bins) + confidence_correction(summary.confidence_bins)


def _grouping_gap(summary: Statistics) -> float:
    """The mean distance of predictions from their targets, less SMECE; NotDefined for hard labels,
    whose distance is the loss of a single outcome.
    """
    distance, error = (part.compute(summary) for part in _GROUPED)
    if not summary.soft:
        raise NotDefined(
            "the grouping gap needs soft labels or votes: every label is 0 or 1, and the gap "
            "compares predictions with the probability of each row's label"
        )
    return max(0.0, distance - error)


_BRIER = Listed(
    summary=3,
    headline=5,
    recalibration=4,
    compare=4,
    robustness=3,
    monitor=2,
    scale=3,
    metric=3,
    judge=3,
    clinical=2,
    ceiling=4,
)

_ECE = Measure(
    "ece", "expected calibration error", "(1/W) sum_B |R_B|", "scalar", _BOTH, "bins", 0, 1,
    _BINNED, _NAEINI + "; on soft labels SMECE, Leznik (2026), arXiv:2603.14092", "ece",
    lambda s: binned_error(s.bins), of_tables=binned_errors, group="binned", label="ECE",
    soft_label="SMECE", listed=Listed(
        headline=1, bins=1, recalibration=1, compare=1, robustness=1, monitor=1, scale=1, metric=1,
        judge=1, summary=1),
    aliases=("SMECE", "soft_ece", "expected_calibration_error"), label_bounds="bins",
    certifiable=True,
)  # fmt: skip
# The grouping gap is the mean distance of predictions from their targets, minus SMECE.
_GROUPED = (
    Measure("top_distance", "mean distance of predictions from targets", "(1/W) sum w |u - z|",
            "distribution", _BOTH, "distribution", 0, 1, _DISTANCE, "", "",
            _mean_distance("top_distance"), group="distribution", loss="top_distance",
            vote_model=True),
    _ECE,
)  # fmt: skip

_ENTRIES: tuple[Measure, ...] = (
    # --- binned errors of the scalar problem: P(y = 1), or the top label ---
    _ECE,
    # Its claims are not tested: the audit draws hard labels, for which it is not defined.
    Measure("grouping_gap", "error that grouping hides from SMECE",
            "(1/W) sum w |u - z| - (1/W) sum_B |R_B|", "distribution", _BOTH,
            "bins_and_distances", 0, 1, _NONE,
            "Chidambaram, Lee, McSwiggen and Rezchikov (2024), ICML, theorem 3.10",
            "grouping_gap", _grouping_gap, parts=_GROUPED, soft_only=True, group="binned",
            label="grouping gap", loss="top_distance", cost="medium",
            listed=Listed(headline=2), vote_model=True),
    Measure("rmsce", "root-mean-square calibration error", "sqrt((1/W) sum_B R_B^2 / W_B)",
            "scalar", _BOTH, "bins", 0, 1, _BINNED, "Hendrycks et al. (2019), arXiv:1812.04606",
            "ece(norm='l2')", lambda s: binned_error(s.bins, "l2"),
            of_tables=lambda t: binned_errors(t, "l2"),
            label_bounds="bins", group="binned", gaps="root",
            label="RMSCE", listed=Listed(monitor=5, bins=4)),
    Measure("mce", "maximum calibration error", "max_B |R_B| / W_B", "scalar", _BOTH, "bins",
            0, 1, Claims(False, False, False, False), _NAEINI, "ece(norm='max')",
            lambda s: binned_error(s.bins, "max"),
            of_tables=lambda t: binned_errors(t, "max"),
            label_bounds="bins", group="binned", gaps="largest",
            label="MCE", listed=Listed(monitor=6, bins=5), aliases=("maximum_calibration_error",)),
    # Runs always have 100 rows, so calibrated predictions have an error of about 0.05 at any sample
    # size.
    Measure("hle_rms", "root-mean-square error of Humanity's Last Exam",
            "sqrt((1/W) sum_B R_B^2 / 100) over runs of 100 rows, without the last", "scalar",
            _BOTH, "levels", 0, 1, Claims(None, None, False, None, False),
            "Phan et al. (2025), arXiv:2501.14249; Hendrycks et al. (2019), arXiv:1812.04606",
            "hle_rms", lambda s: hle_rms(s.levels), group="unbinned", rank=9,
            label="HLE RMS", on_request=True, cost="medium", aliases=("calib_err", "HLE")),
    Measure("debiased_l2", "debiased root-mean-square error",
            "sqrt(max(0, (1/W) sum_B W_B [(R_B/W_B)^2 - var_B(z)/(n_B - 1)])), "
            "n_B = W_B^2 / sum_B w^2", "scalar", _BOTH,
            "quantile_bins", 0, 1, _BINNED,
            "Kumar, Liang and Ma (2019), arXiv:1909.10155; Broecker (2012), "
            "doi:10.1007/s00382-011-1191-1", "debiased_l2",
            lambda s: debiased_l2(s.quantile_bins), of_tables=_root_debiased,
            of_population=lambda t: binned_errors(t, "l2"), group="binned", gaps="root",
            listed=Listed(bins=6)),
    Measure("sweep_ece", "ECE with a sweep over the number of bins",
            "ECE at the most equal-mass bins whose mean targets never fall", "scalar", _BOTH,
            "levels", 0, 1, Claims(False, False, True, False),
            "Roelofs, Cain, Shlens and Mozer (2022), arXiv:2012.08668", "sweep_ece",
            lambda s: sweep_error(s.levels), of_cells=sweep_errors, rate=1 / 3, group="unbinned",
            rank=4, label="ECE sweep",
            # With soft labels the means of bins seldom fall, so the sweep tries as many bins as
            # rows.
            cost_soft="high"),
    Measure("ks_error", "Kolmogorov-Smirnov calibration error",
            "max_t (1/W) |sum_{u<=t} w (u - z)|", "scalar", _BOTH, "levels", 0, 1, _BINNED,
            "Gupta et al. (2021), arXiv:2006.12800", "ks_error", lambda s: ks_error(s.levels),
            of_cells=ks_errors, group="unbinned", rank=3, label="KS error", cost="low",
            certifiable=True),
    Measure("cutoff_ce", "cutoff calibration error",
            "max_{s<=t} (1/W) |sum_{s<=u<=t} w (u - z)|", "scalar", _BOTH, "levels", 0, 1, _BINNED,
            "Rossellini et al. (2025), arXiv:2502.19851; Arrieta-Ibarra et al. (2022), JMLR 23",
            "cutoff_ce", lambda s: cutoff_error(s.levels), of_cells=cutoff_errors,
            group="unbinned", rank=4, label="cutoff error", cost="low",
            aliases=("kuiper", "ecce_r", "kuiper_statistic", "cutoff_calibration_error"),
            certifiable=True),
    # --- distances between a local regression and the diagonal ---
    Measure("ici", "integrated calibration index", "(1/W) sum w |loess(u) - u|", "scalar", _BINARY,
            "levels", 0, 1, Claims(False, None, True, None), _AUSTIN, "ici",
            lambda s: ici(s.levels), of_cells=icis, group="unbinned", rank=5, label="ICI",
            on_request=True, listed=Listed(clinical=3),
            aliases=("integrated_calibration_index", "eavg")),
    Measure("e50", "median distance to the diagonal", "median of |loess(u) - u|", "scalar", _BINARY,
            "levels", 0, 1, Claims(False, None, True, None), _AUSTIN, "ici(part='e50')",
            lambda s: distance_quantile(s.levels, 0.5), of_cells=e50s, group="unbinned", rank=6,
            label="E50", on_request=True, listed=Listed(clinical=4)),
    Measure("e90", "90th percentile of the distance to the diagonal",
            "90% quantile of |loess(u) - u|", "scalar", _BINARY, "levels", 0, 1,
            Claims(False, None, True, None), _AUSTIN, "ici(part='e90')",
            lambda s: distance_quantile(s.levels, 0.9), of_cells=e90s, group="unbinned", rank=7,
            label="E90", on_request=True, listed=Listed(clinical=5)),
    Measure("emax", "largest distance to the diagonal", "max |loess(u) - u|", "scalar", _BINARY,
            "levels", 0, 1, Claims(False, None, True, None), _AUSTIN, "ici(part='emax')",
            lambda s: emax(s.levels), of_cells=emaxs, group="unbinned", rank=8, gaps="largest",
            label="Emax", on_request=True, listed=Listed(clinical=6)),
    # It bins the rows of each class apart, which takes another read: only on request.
    Measure("top_label_ece", "top-label calibration error, given the class",
            "(1/W) sum_r sum_B |R_B| of the rows whose top label is r", "confidence by class",
            _MULTI, "confidence_by_class", 0, 1, _BINNED,
            "Gupta and Ramdas (2022), ICLR, arXiv:2107.08353", "top_label_ece",
            lambda s: binned_error(s.confidence_by_class.as_one_class()), of_tables=binned_errors,
            label_bounds="bins", group="classwise", rank=2, label="TL-ECE", on_request=True,
            cost="medium", aliases=("TL-ECE", "tl_ece", "top_label_calibration_error"),
            certifiable=True),
    # --- over all classes ---
    Measure("classwise_ece", "classwise calibration error", "(1/k) sum_r (1/W) sum_B |R_{B,r}|",
            "classwise", _MULTI, "class_bins", 0, 1, _BINNED,
            "Kull et al. (2019), arXiv:1910.12656", "ece(notion='classwise')",
            lambda s: binned_error(s.class_bins), of_tables=binned_errors,
            label_bounds="bins", group="classwise",
            label="classwise ECE", listed=Listed(headline=3, bins=7), certifiable=True),
    Measure("ace", "adaptive calibration error",
            "(1/k) sum_r (1/W) sum_B |R_{B,r}| over equal-mass bins", "classwise", _MULTI,
            "class_quantile_bins", 0, 1, _BINNED, _NIXON, "ace",
            lambda s: binned_error(s.class_equal_mass_bins), of_tables=binned_errors,
            label_bounds="bins", group="binned", equal_mass=True, label="ACE",
            listed=Listed(bins=8)),
    Measure("ace", "adaptive calibration error", "(1/W) sum_B |R_B| over equal-mass bins",
            "scalar", _BINARY, "quantile_bins", 0, 1, _BINNED, _NIXON, "ace",
            lambda s: binned_error(s.equal_mass_bins), of_tables=binned_errors,
            label_bounds="bins", group="binned",
            equal_mass=True, cost="medium", label="ACE"),
    *(Measure("tace", "thresholded adaptive calibration error",
              "adaptive calibration error of the predictions above 0.01", notion, (shape,),
              "above", 0, 1, Claims(False, False, True, False), _NIXON, "tace",
              lambda s: binned_error(s.above(THRESHOLD)), of_tables=binned_errors,
              label_bounds="bins", group="binned", equal_mass=True, label="TACE")
      for notion, shape in _NOTIONS),
    # --- smooth ---
    # At a tie the top label of a row changes, which no smoothing of its confidence prevents.
    *(Measure("ls_ece", "logit-smoothed calibration error",
              "integral |(1/W) sum w K(t - h)(z - sigmoid(t))| dt", "scalar", (shape,),
              "logit_grid", 0, 1, Claims(False, shape == "binary", True, True),
              "Chidambaram, Lee, McSwiggen and Rezchikov (2024), ICML", "ls_ece",
              lambda s: ls_ece_of_grid(s.logit_grid, LS_SIGMA), of_cells=ls_eces, group="unbinned",
              rank=2, label="LS-ECE", certifiable=True)
      for shape in _BOTH),
    *(Measure("smooth_ece", "smooth calibration error",
              "sigma with integral |(1/W) sum w (z - u) K(t, u)| dt = sigma", "scalar", (shape,),
              "smooth", 0, 1, Claims(False, shape == "binary", True, True),
              "Blasiok and Nakkiran (2024), arXiv:2309.12236", "smooth_ece",
              lambda s: s.smooth, of_cells=smooth_eces, rate=1 / 3, aliases=("smECE", "smooth_ce"),
              group="unbinned", rank=1, label="smooth ECE",
              listed=Listed(headline=2, compare=2, metric=2, judge=2, summary=2),
              certifiable=True)
      for shape in _BOTH),
    # --- truthful ---
    Measure("lin_ce", "truthful calibration error (LinCE)", "(1/W^2) sum_B R_B^2", "scalar",
            _BINARY, "quantile_bins", 0, 1, _LINEAR, _LU + ", theorem 3.1", "lin_ce",
            lambda s: linear_error(s.quantile_bins), of_tables=linear_errors, power=2,
            form="squares", aliases=("LinCE",),
            label_bounds="bins", group="truthful", rank=1, label="LinCE",
            null_mean=linear_null_mean, vote_excess=top_excess,
            listed=Listed(headline=3, bins=2, recalibration=2, compare=2, robustness=2, scale=2),
            certifiable=True),
    # At a tie the top label of a row changes, and the effect of naming another label is unknown.
    *(Measure("atb", "averaged two-bin calibration error",
              "(1/W^2) integral of (sum_{u<q} w (u - z))^2 + (sum_{u>=q} w (u - z))^2 dq",
              "scalar", (shape,), "levels", 0, 1,
              Claims(shape == "binary", shape == "binary", True, True),
              "Hartline, Hu and Wu (2026), PMLR 336, arXiv:2508.13100", "atb",
              lambda s: averaged_two_bin_error(s.levels), of_cells=averaged_two_bin_errors,
              power=2, form="nearness", null_mean=linear_null_mean, group="truthful", rank=2,
              label="ATB",
              cost="low", spread=lambda s: averaged_two_bin_spread(s.levels),
              aliases=("averaged_two_bin", "averaged_two_bin_error"), certifiable=True)
      for shape in _BOTH),
    Measure("lin_ce", "truthful full calibration error (LinCE)",
            "(1/W^2) sum_B ||R_B||_2^2", "full", _MULTI, "full_bins", 0, 2,
            Claims(True, False, True, False), _LU + ", theorem 3.1", "lin_ce",
            lambda s: vector_linear_error(s.full_bins), power=2, form="squares",
            aliases=("LinCE",),
            of_vectors=vector_linear_errors, group="truthful", rank=1, label="LinCE",
            vote_excess=summed_excess, certifiable=True),
    Measure("classwise_ce", "truthful classwise error", "(1/k) sum_r (1/W^2) sum_B R_{B,r}^2",
            "classwise", _MULTI, "class_quantile_bins", 0, 1, _LINEAR, _LU + ", section 3.1",
            "classwise_ce", lambda s: linear_error(s.class_quantile_bins),
            of_tables=linear_errors, power=2, form="squares",
            label_bounds="bins", group="truthful", rank=3,
            label="classwise LinCE",
            vote_excess=mean_excess,
            listed=Listed(bins=9, compare=2, robustness=4, scale=2), certifiable=True),
    Measure("confidence_ce", "truthful confidence error",
            "(1/W^2) (sum_B R_B^2 + sum w^2 (1 - z)) of the top label", "confidence", _BOTH,
            "confidence_bins", 0, 2, _LINEAR, _LU + ", theorem 3.3", "confidence_ce",
            _truthful_confidence_error, of_tables=corrected_errors,
            of_population=linear_errors, power=2,
            form="squares", aliases=("confidence_ce_corrected", "ConfCE corrected"), folds=True,
            group="truthful", rank=2, label="corrected ConfCE", null_mean=corrected_null_mean,
            vote_excess=top_excess, listed_multiclass=Listed(
                headline=4, bins=3, recalibration=2, compare=3, robustness=3)),
    Measure("confidence_ce_uncorrected", "squared confidence error",
            "(1/W^2) sum_B R_B^2 of the top label", "confidence", _MULTI, "confidence_bins", 0, 1,
            Claims(False, False, True, True), _LU + ", example C.1",
            "confidence_ce(corrected=False)", lambda s: linear_error(s.confidence_bins),
            of_tables=linear_errors, power=2, form="squares", aliases=("ConfCE",),
            label_bounds="bins", group="binned", label="ConfCE", null_mean=linear_null_mean,
            listed=Listed(robustness=2), vote_excess=top_excess, certifiable=True),
    # --- losses ---
    Measure("brier", "Brier score", "(1/W) sum w (u - z)^2", "loss", _BINARY, "losses",
            0, 1, _PROPER, "Brier (1950), Monthly Weather Review 78", "brier_score",
            _mean_loss("brier"), label_bounds="distance", group="losses",
            loss="brier", label="Brier score", listed=_BRIER,
            aliases=("brier_score",), vote_excess=mean_excess),
    Measure("brier", "Brier score", "(1/W) sum w sum_r (p_r - z_r)^2", "loss", _MULTI, "losses",
            0, 2, _PROPER, "Brier (1950), Monthly Weather Review 78", "brier_score",
            _mean_loss("brier"), label_bounds="distance", group="losses",
            loss="brier", label="Brier score", listed=_BRIER,
            aliases=("brier_score",), vote_excess=summed_excess),
    Measure("log_loss", "log loss", "-(1/W) sum w sum_r z_r log p_r", "loss", _BOTH, "losses",
            0, _LOG_HIGH, _PROPER, "Good (1952), Journal of the Royal Statistical Society B 14",
            "log_loss", _mean_loss("log"), aliases=("cross_entropy", "nll"),
            label_bounds="score", group="losses",
            loss="log", listed=Listed(headline=6, recalibration=3, compare=5, robustness=2,
                                      monitor=3, scale=4, metric=4)),
    Measure("spherical_loss", "spherical loss", "1 - (1/W) sum w (z . p) / ||p||_2", "loss", _BOTH,
            "losses", 0, 1, _PROPER,
            "Gneiting and Raftery (2007), doi:10.1198/016214506000001437",
            "spherical_loss", _mean_loss("spherical"),
            label_bounds="score", group="losses", loss="spherical",
            cost="medium", listed=Listed(robustness=4)),
    Measure("classification_error", "classification error", "1 - (1/W) sum w z_top", "loss", _BOTH,
            "losses", 0, 1, Claims(True, False, False, False), _LU + ", definition B.6",
            "classification_error", _mean_loss("classification"),
            label_bounds="score", group="losses",
            loss="classification", folds=True,
            listed=Listed(compare=6, robustness=1, monitor=4, scale=5, ceiling=5),
            listed_multiclass=Listed(robustness=1, monitor=4, scale=5, ceiling=5)),
    Measure("confidence_loss", "confidence loss", "(1/W) sum w [1 - z + (c - z)^2]", "loss", _BOTH,
            "losses", 0, 2, Claims(True, False, False, False), _LU + ", section 4.2",
            "confidence_loss", _mean_loss("confidence"),
            label_bounds="score", group="losses", loss="confidence",
            cost="medium", listed=Listed(robustness=5), vote_excess=top_excess, folds=True),
    # --- the Brier score taken apart (isotonic, of the scalar problem) ---
    Measure("brier_miscalibration", "Brier score: miscalibration",
            "Brier score less that of the isotonic recalibration", "scalar", _BOTH, "levels",
            0, 1, Claims(False, False, True, True), _CORP, "brier_decomposition",
            _isotonic_part("miscalibration"), of_cells=brier_miscalibrations, power=2, rate=1 / 3,
            group="decomposition", attribute="miscalibration"),
    Measure("brier_discrimination", "Brier score: discrimination",
            "uncertainty less the Brier score of the isotonic recalibration", "scalar", _BOTH,
            "levels", 0, 0.25, _NONE, _CORP, "brier_decomposition",
            _isotonic_part("discrimination"),
            higher_is_better=True, group="decomposition", attribute="discrimination",
            interval="discrimination", of_cells=brier_discriminations),
    Measure("brier_uncertainty", "Brier score: uncertainty",
            "the Brier score of always reporting the mean target", "scalar", _BOTH, "levels",
            0, 0.25, _NONE, _CORP, "brier_decomposition", _uncertainty, group="decomposition",
            attribute="uncertainty", interval="rate", needs_order=False,
            of_cells=brier_uncertainties, vote_excess=top_excess),
    # --- whole distributions ---
    Measure("dist_ce", "distribution calibration error", "(1/W) sum w (1/2) sum_r |p_r - q_r|",
            "distribution", _BOTH, "distribution", 0, 1, _DISTANCE, _BAAN, "dist_ce",
            _mean_distance("distribution"), soft_only=True, aliases=("DistCE",), label="DistCE",
            group="distribution", loss="distribution", cost="medium",
            listed=Listed(headline=8, ceiling=1), vote_model=True),
    Measure("ent_ce", "entropy calibration error", "(1/W) sum w |H(p) - H(q)|", "distribution",
            _BOTH, "distribution", 0, math.inf, _DISTANCE, _BAAN, "ent_ce",
            _mean_distance("entropy"), soft_only=True, high_text="log k", aliases=("EntCE",),
            label="EntCE", group="distribution", loss="entropy", cost="medium",
            listed=Listed(ceiling=3), vote_model=True),
    Measure("rank_cs", "ranking calibration score",
            "(1/W) sum w 1[q_a > q_b implies p_a > p_b]", "distribution", _BOTH, "distribution",
            0, 1, Claims(False, False, False, False), _BAAN, "rank_cs",
            _mean_distance("rank"), higher_is_better=True, soft_only=True, aliases=("RankCS",),
            label="RankCS", group="distribution", loss="rank", cost="medium", vote_model=True),
    # The community's leaderboard prints the Jensen-Shannon distance, a root, and calls it JSD.
    Measure("jsd", "Jensen-Shannon distance (root, nats)",
            "(1/W) sum w sqrt(H((p + q)/2) - (H(p) + H(q))/2)", "distribution", _BOTH,
            "distribution", 0, math.sqrt(math.log(2.0)), _DISTANCE, _CHAOS, "jsd",
            _mean_distance("root_jensen_shannon"), soft_only=True, high_text="sqrt(log 2)",
            aliases=("jensen_shannon", "js_distance"), label="JSD", group="distribution",
            loss="root_jensen_shannon", cost="medium", listed=Listed(ceiling=2),
            vote_model=True),
    Measure("js_divergence", "Jensen-Shannon divergence (nats)",
            "(1/W) sum w [H((p + q)/2) - (H(p) + H(q))/2]", "distribution", _BOTH, "distribution",
            0, math.log(2.0), _DISTANCE, "Lin (1991), doi:10.1109/18.61115", "jsd(squared=True)",
            _mean_distance("jensen_shannon"), soft_only=True, on_request=True, high_text="log 2",
            aliases=("jensen_shannon_divergence",), label="JS divergence", group="distribution",
            loss="jensen_shannon", cost="medium", vote_model=True),
    Measure("kl", "KL divergence, target || prediction (nats)",
            "(1/W) sum w sum_r q_r log(q_r / p_r)", "distribution", _BOTH, "distribution", 0,
            _LOG_HIGH, _PROPER, _CHAOS, "kl", _mean_distance("relative_entropy"), soft_only=True,
            aliases=("kl_divergence", "kullback_leibler"), label="KL(target || prediction)",
            group="distribution", loss="relative_entropy", cost="medium", vote_model=True),
    Measure("manhattan", "Manhattan distance", "(1/W) sum w sum_r |p_r - q_r|", "distribution",
            _BOTH, "distribution", 0, 2, _DISTANCE, _LEWIDI, "dist_ce(norm='l1')",
            _mean_distance("absolute"), soft_only=True, on_request=True,
            aliases=("manhattan_distance", "l1_distance"), label="Manhattan distance",
            group="distribution", loss="absolute", cost="medium", vote_model=True),
    Measure("wasserstein", "Wasserstein distance of ordered classes",
            "(1/W) sum w sum_r |P_r - Q_r| of cumulative p and q", "distribution", _BOTH,
            "distribution", 0, math.inf, _DISTANCE, _LEWIDI, "wasserstein",
            _mean_distance("transport"), soft_only=True, on_request=True, high_text="k - 1",
            aliases=("earth_mover", "emd", "wasserstein_1"), label="Wasserstein distance",
            group="distribution", loss="transport", cost="medium", vote_model=True),
    # --- accuracy, ranking and abstention: no matter of calibration ---
    # Of (n,) predictions by name only: whether y = 1 is an event or a right answer, arrays do not
    # say.
    Measure("accuracy", "accuracy", "(1/W) sum w z_top", "loss", _MULTI, "losses", 0, 1, _NONE,
            _BREIMAN, "accuracy", _mean_loss("hits"), higher_is_better=True,
            label_bounds="score", group="ranking",
            rank=0, label="accuracy", loss="hits",
            listed=Listed(headline=7, compare=6, summary=4), aliases=_ACCURACY),
    Measure("accuracy", "accuracy at the threshold 1/2", "(1/W) sum w z_top", "loss",
            _BINARY, "losses", 0, 1, _NONE, _BREIMAN, "accuracy", _mean_loss("hits"),
            higher_is_better=True,
            label_bounds="score", group="ranking", rank=0, label="accuracy", loss="hits",
            on_request=True, folds=True, listed=Listed(summary=4), aliases=_ACCURACY),
    Measure("auroc", "area under the ROC curve",
            "P(u of an event > u of a non-event) + P(equal) / 2", "scalar", _BOTH, "levels", 0, 1,
            _NONE, "Hanley and McNeil (1982), Radiology 143; DeLong, DeLong and Clarke-Pearson "
            "(1988), doi:10.2307/2531595", "auroc", lambda s: auroc(s.levels),
            higher_is_better=True, group="ranking", rank=1, label="AUROC", cost="low",
            moved=auroc_influence, listed=Listed(compare=7, headline=9, clinical=1, summary=5),
            aliases=("roc_auc", "roc_auc_score", "AUC", "c_statistic", "concordance")),
    *(Measure("aurc", "area under the risk-coverage curve" + of_what,
              "(1/W) sum w (mean of 1 - z over rows predicted at least as high)", "scalar",
              (shape,), "levels", 0, 1, _NONE,
              "Geifman, Uziel and El-Yaniv (2019), arXiv:1805.08206", "aurc",
              lambda s: aurc(s.levels), group="ranking", rank=2, label="AURC", cost="low",
              moved=aurc_influence,
              listed=Listed(board=8, compare=8 if shape == "multiclass" else 0))
      for shape, of_what in _RISKS),
    *(Measure("accuracy_at_coverage", f"accuracy at {COVERAGE:.0%} coverage" + of_what,
              f"mean z of the {COVERAGE:.0%} of rows with the highest predictions", "scalar",
              (shape,), "levels", 0, 1, _NONE,
              "Geifman and El-Yaniv (2017), arXiv:1705.08500", "accuracy_at_coverage",
              lambda s: accuracy_at(s.levels), higher_is_better=True, group="ranking", rank=3,
              label=f"accuracy at {COVERAGE:.0%} coverage", cost="low", moved=accuracy_influence)
      for shape, of_what in _RISKS),
)  # fmt: skip

# For labels that say whether an answer was right: the answer was given, whatever the confidence.
_OF_ANSWERS = Measure(
    "accuracy", "accuracy", "(1/W) sum w z", "scalar", _BINARY, "bins", 0, 1, _NONE, _BREIMAN,
    "accuracy", lambda s: mean_target(s.bins), higher_is_better=True, group="ranking", rank=0,
    label="accuracy", cost="low", needs_order=False,
    moved=partial(accuracy_influence, coverage=1.0),
    listed=Listed(headline=7, compare=6, monitor=4, summary=4), aliases=_ACCURACY,
)  # fmt: skip


# The threshold of `tace`.
THRESHOLD = 0.01
# The default measure of verdicts, slices and pages.
HEADLINE = "ece"


def catalogue(shape: Shape | None = None) -> tuple[Measure, ...]:
    """Every measure, or those that apply to predictions of one shape.

    Parameters
    ----------
    shape : {"binary", "answers", "multiclass"}, optional
        Predictions (n,) ("binary"; "answers" if labels say whether an answer was right) or (n, k)
        ("multiclass"); by default those of (n,) and (n, k).

    Returns
    -------
    tuple of Measure
        An entry has a `name`, `title`, `formula`, `range`, `reference`, `aliases` and `claims`.

    Examples
    --------
    >>> import calibrant as cal
    >>> [measure.name for measure in cal.catalogue("binary")][:4]
    ['ece', 'grouping_gap', 'rmsce', 'mce']
    >>> cal.catalogue()[0].title
    'expected calibration error'
    """
    if shape == "answers":
        own = (_OF_ANSWERS if m.name == "accuracy" else m for m in catalogue("binary"))
        return tuple(m for m in own if not m.folds)
    return tuple(m for m in _ENTRIES if shape is None or shape in m.shapes)


@contextmanager
def registered(*measures: Measure) -> Iterator[None]:
    """Add measures to the catalogue for the length of a `with` block, after those that it has.

    For trying out an entry, in a test or a notebook, before it is written down here.

    Examples
    --------
    >>> from dataclasses import replace
    >>> with registered(replace(find("ece", "binary"), name="my_error", aliases=())):
    ...     find("my_error", "binary").scale
    'mean gap'
    """
    before = _ENTRIES
    _set_entries((*before, *measures))
    try:
        yield
    finally:
        _set_entries(before)


def _set_entries(entries: tuple[Measure, ...]) -> None:
    """Replace the entries of the catalogue, and forget what was found among those before."""
    global _ENTRIES
    _ENTRIES = entries
    _by_name.cache_clear()
    _own_name.cache_clear()


def listed(where: str, shape: Shape) -> tuple[Measure, ...]:
    """The measures that a list includes by default, in the order of the list.

    `where` names the list, as a field of `Listed` ("headline", "compare", ...).
    """
    ranked = [(m.rank_in(where, shape), m) for m in catalogue(shape)]
    return tuple(m for rank, m in sorted(ranked, key=lambda pair: pair[0]) if rank)


# Measures with a logarithm of predictions, as the note on clipped ones names them.
OF_LOGARITHMS = {"log_loss": "the log loss", "kl": "KL"}
# The bins of measures that take no number of bins, in words.
OWN_BINS = {
    "hle_rms": f"runs of {RUN} rows, without the last",
    "sweep_ece": "the most bins of equal mass with rising rates",
}


def names_in_summaries() -> tuple[str, ...]:
    """The names of the measures that a summary shows of many, in the order of the list."""
    ranks = {m.name: m.rank_in("summary", shape) for shape in _BOTH for m in catalogue(shape)}
    return tuple(sorted((name for name, rank in ranks.items() if rank), key=lambda n: ranks[n]))


def of_answers(names: Iterable[str]) -> tuple[str, ...]:
    """The names of measures that apply where labels say whether an answer was right.

    Accuracy takes the place of the classification error, and measures that take predictions for one
    of two classes (`Measure.folds`) are left out.
    """
    folds = {m.name for m in _ENTRIES if m.folds} - {_OF_ANSWERS.name}
    own = (_OF_ANSWERS.name if name == "classification_error" else name for name in names)
    return tuple(dict.fromkeys(name for name in own if name not in folds))


def equal_mass_names() -> tuple[str, ...]:
    """Names of the measures that are defined by bins of equal mass."""
    return tuple(dict.fromkeys(m.name for m in _ENTRIES if m.equal_mass))


# Hints for other libraries' measures that have other values, so these names are not aliases.
_ELSEWHERE = {
    **dict.fromkeys(("error", "error_rate", "err"), "did you mean 'classification_error'?"),
    **dict.fromkeys(("mae", "mse", "rmse"), "'brier' is the mean squared error of probabilities"),
    "ks": "did you mean 'ks_error'?",
    **dict.fromkeys(
        ("slope", "calibration_slope", "intercept", "intercept_in_the_large"),
        "it is fitted to all rows: clinical_summary and cox_calibration give it with its interval, "
        "compare compares models by it, and check can limit it",
    ),
    "f1": "it does not measure calibration; 'classification_error' is the rate of errors",
}
# Names of other libraries' measures of ranking.
_RANKING = ("auprc", "average_precision", "gini", "pr_auc")


def find(name: str, shape: Shape) -> Measure:
    """The measure with this name or alias for predictions of this shape; an InputError that names
    the nearest if there is none.
    """
    own = canonical(name)
    if isinstance(own, str) and own in (known := _by_name(shape)):
        return known[own]
    names = [measure.name for measure in catalogue(shape)]
    if shape == "answers" and any(m.name == own and m.folds for m in _ENTRIES):
        raise InputError(
            f"the measure {name!r} compares predictions with 1/2, but these labels say whether an "
            "answer was right, whatever the confidence: 'accuracy' is the share of right answers, "
            "and 1 - accuracy that of wrong ones"
        )
    if own in {measure.name for measure in _ENTRIES}:
        raise InputError(f"the measure {name!r} is not defined for {shape} predictions")
    raise InputError(f"no measure is called {name!r}: {nearest_measure(name, names)}")


@cache
def _by_name(shape: Shape) -> dict[str, Measure]:
    """The measures for predictions of this shape, by their own names: the first of each name."""
    return {measure.name: measure for measure in reversed(catalogue(shape))}


def entry_of(name: str) -> Measure:
    """The first catalogue entry with this name, for attributes that are the same for every shape of
    predictions.
    """
    return next(measure for measure in _ENTRIES if measure.name == name)


def canonical(name: Any) -> Any:
    """The catalogue's own name for a measure's name or alias, in upper or lower case; any other
    value is returned unchanged.

    An exact match comes first: SMECE (soft labels) is not smECE (smooth).
    """
    return _own_name(name) if isinstance(name, str) else name


@lru_cache(maxsize=1000)
def _own_name(name: str) -> str:
    """The catalogue's own name for a name or alias; any other name is returned unchanged."""
    for alike in (str, _normalized_name):
        names = _names_that_match(name, alike)
        if len(names) == 1:
            return names[0]
    return name


def _names_that_match(name: str, alike: Callable[[str], str]) -> list[str]:
    """The catalogue's own names of the measures with this name or alias.

    `alike` normalizes a name; names that are equal afterwards match.
    """
    names = [m.name for m in _ENTRIES if alike(name) in map(alike, (m.name, *m.aliases))]
    return list(dict.fromkeys(names))


def _normalized_name(name: str) -> str:
    """The name in lower case, with "_" in place of "-" and spaces."""
    return name.casefold().replace("-", "_").replace(" ", "_")


def nearest_measure(name: object, names: Iterable[str]) -> str:
    """The end of an error message about an unknown measure: a hint at the measure that may have
    been meant.
    """
    if isinstance(name, str) and _normalized_name(name) in _RANKING:
        return "it measures ranking, not calibration, and is not available; 'auroc' and 'aurc' are"
    elsewhere = _ELSEWHERE.get(_normalized_name(name)) if isinstance(name, str) else None
    if elsewhere is not None:
        return elsewhere
    meant = _names_that_match(name, _normalized_name) if isinstance(name, str) else []
    if len(meant) > 1:
        return f"it may be {' or '.join(f'{m!r} ({_alias_spelling(name, m)})' for m in meant)}"
    return nearest(name, names, cutoff=0.6)


def _alias_spelling(name: object, own: str) -> str:
    """The spelling of the alias that the unclear name `name` matches, as a hint: "written SMECE".

    `own` is the catalogue's name of the measure.
    """
    alias = next(
        a for a in entry_of(own).aliases if _normalized_name(a) == _normalized_name(str(name))
    )
    return f"written {alias}"


def _reduce_measure(measure: Measure) -> Any:
    """The pickle form of a measure: its name if it is in the catalogue, or else all its parts.

    The formula of an entry may be a lambda, which cannot be pickled.
    """
    if measure is _OF_ANSWERS:
        return find, (measure.name, "answers")
    if any(entry is measure for entry in _ENTRIES):
        return find, (measure.name, measure.shapes[0])
    return measure.__reduce_ex__(2)


copyreg.pickle(Measure, _reduce_measure)
