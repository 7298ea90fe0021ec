"""The catalogue: everything that Calibrant knows about each measure.

No other module knows a measure by its name. To add one, write its formula over statistics, its
entry below, its public function in `_api/metrics`, and its twin in `tests/twins.py`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from calibrant._core.bin_tables import BinTable
from calibrant._core.errors import InputError, NotDefined, nearest
from calibrant._measures.binned import binned_error, binned_errors, debiased_l2, debiased_l2s
from calibrant._measures.decomposition import decompose, isotonic_fit
from calibrant._measures.of_cells import (
    CellSums,
    brier_miscalibrations,
    each_draw,
    ks_errors,
    levels_of_draws,
    ls_eces,
    smooth_eces,
    sweep_errors,
)
from calibrant._measures.ordered import ks_error, sweep_error
from calibrant._measures.smooth import LS_SIGMA, ls_ece_of_grid
from calibrant._measures.statistics import STATISTICS, OneTable, Statistics
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

Array = NDArray[np.float64]

Shape = Literal["binary", "multiclass"]
# True, False, or None where the property does not apply.
Claim = bool | None


@dataclass(frozen=True)
class Claims:
    """What a measure promises, for its default rule of binning.

    Truthful: reporting the true probabilities minimises its expectation, at every n. Continuous: it
    does not jump when a prediction moves by a hair. Complete: it tends to 0 for calibrated
    predictors. Sound: for the others it stays above what calibrated ones tend to. Both are limits
    where bins grow in number while each still fills, and where the noise of the logit-smoothed
    error shrinks; sums of squares over W^2 are multiplied by the number of bins. Weighted: weights
    are shares, times a constant they change nothing. `audit` tests every claim.
    """

    truthful: Claim
    continuous: Claim
    complete: Claim
    sound: Claim
    weighted: Claim = True


@dataclass(frozen=True)
class Listed:
    """The lists that include a measure when none is named, and its rank in each; 0: not included.

    Parameters
    ----------
    headline : int, default 0
        The first lines of the report page.
    bins : int, default 0
        The report page's chart of measures against the number of bins.
    recalibration : int, default 0
        The report page's table before and after recalibration.
    compare : int, default 0
        `compare`.
    robustness : int, default 0
        The rank correlations of errors and losses in `compare`.
    monitor : int, default 0
        `Monitor`.
    scale : int, default 0
        `calibrant scale`.
    metric : int, default 0
        The metric for the Hugging Face library `evaluate`.
    """

    headline: int = 0
    bins: int = 0
    recalibration: int = 0
    compare: int = 0
    robustness: int = 0
    monitor: int = 0
    scale: int = 0
    metric: int = 0


Group = Literal[
    "binned", "unbinned", "truthful", "classwise", "losses", "decomposition", "distribution"
]
# Title and description of each group of measures, in the order of the report page.
GROUPS: dict[Group, tuple[str, str]] = {
    "binned": ("Errors over bins", "gaps between mean prediction and mean target, bin by bin"),
    "unbinned": ("Errors without bins", "smoothed, or in order of the predictions"),
    "truthful": ("Truthful errors", "in expectation smallest for the true probabilities"),
    "classwise": ("Over all classes", "every class against the rest"),
    "losses": ("Losses", "calibration and sharpness together"),
    "decomposition": (
        "The Brier score taken apart", "miscalibration less discrimination plus uncertainty"
    ),
    "distribution": ("Whole distributions", "soft labels against whole predictions"),
}  # fmt: skip

# How a confidence interval is computed: limits of a mean of rows, of the rate of outcomes, of the
# Brier score's discrimination, by test inversion over a family of populations, or by resampling.
IntervalMethod = Literal["mean", "rate", "discrimination", "inversion", "bootstrap"]
# What an interval costs: a second whatever the number of rows; time in proportion to the entries of
# the predictions; seconds; or too long unless the measure is asked for by name.
Cost = Literal["low", "rows", "medium", "high"]


@dataclass(frozen=True)
class Measure:
    """One entry of the catalogue."""

    name: str
    title: str
    formula: str
    notion: str
    shapes: tuple[Shape, ...]
    # A name of `STATISTICS`: what `compute` reads.
    statistic: str
    low: float
    high: float
    claims: Claims
    reference: str
    function: str
    compute: Callable[[Statistics], float]
    higher_is_better: bool = False
    # Whether `evaluate` leaves it out for hard labels, where it says nothing of its own.
    soft_only: bool = False

    # --- many samples at once: optional, for speed; `compute` on each of them gives the same ------
    # The value of every class of a bin table.
    of_tables: Callable[[BinTable], Array] | None = None
    # The same of a whole population, where the measure corrects for the number of rows.
    of_population: Callable[[BinTable], Array] | None = None
    # The value of many drawn samples from sums over fine cells, where it is not of bins.
    of_cells: Callable[[CellSums], Array] | None = None
    # The value of residuals (draws, cells times classes) and total weights (draws,) of vectors.
    of_vectors: Callable[[Array, Array], Array] | None = None

    # The upper end in words, where it depends on the data.
    high_text: str = ""
    # The power of a gap that a value is: 2 for sums of squares (see `gap_scale`).
    power: int = 1
    # The noise of calibrated predictions, as a gap, falls like n to the minus this.
    rate: float = 0.5
    # What else it is called, in papers and by other libraries.
    aliases: tuple[str, ...] = ()

    # --- where and how it is shown ----------------------------------------------------------------
    # The group of measures that it belongs to, and its rank there; equal ranks keep their order
    # here.
    group: Group = field(kw_only=True)
    rank: int = 100
    # The field's name for it in sentences, and for soft labels if that is another; else its title.
    label: str = ""
    soft_label: str = ""
    # The lists that include it unasked; for (n, k) predictions, if those are others.
    listed: Listed = Listed()
    listed_multiclass: Listed | None = None
    # The attribute of what its function returns that it is; "" where that is the number itself.
    attribute: str = ""

    # --- inference --------------------------------------------------------------------------------
    # How its interval is computed; "" for the way that fits its statistic.
    interval: IntervalMethod | Literal[""] = ""
    # Its exact mean where predictions u with weights w are calibrated and labels hard.
    null_mean: Callable[[Array, Array], float] | None = None
    # What its interval costs; "" for what its statistic costs. On soft labels, if that differs.
    cost: Cost | Literal[""] = ""
    cost_soft: Cost | Literal[""] = ""
    # How gaps make up its value: a fault in a share s of the rows counts s, sqrt(s), or in full.
    gaps: Literal["mean", "root", "largest"] = "mean"

    # --- what it reads ----------------------------------------------------------------------------
    # Whether it is defined by bins of equal mass, whatever rule is given for all measures.
    equal_mass: bool = False
    # Whether it needs what its statistic has beyond any bins: the order of the predictions.
    needs_order: bool = True
    # The field of `LossSums` that it is the mean of.
    loss: str = ""

    def __post_init__(self) -> None:
        if self.statistic not in STATISTICS:
            raise ValueError(f"{self.name}: there is no statistic {self.statistic!r}")

    @property
    def range(self) -> str:
        return f"[{self.low:g}, {self.high_text or format(self.high, 'g')}]"

    @property
    def is_error(self) -> bool:
        """Whether it is a calibration error: near 0 where predictions are calibrated."""
        return self.notion not in ("loss", "distribution") and self.claims.complete is not None

    @property
    def is_binned(self) -> bool:
        """Whether its value depends on a rule of binning."""
        return STATISTICS[self.statistic].is_binned

    @property
    def scale(self) -> str:
        """What its values are, as the axis of a chart says: values of one scale share an axis."""
        if self.notion in ("loss", "distribution"):
            return self.title
        if self.gaps == "largest":
            return "largest gap"
        return "squared gap" if self.power == 2 and self.is_binned else "mean gap"

    @property
    def interval_method(self) -> IntervalMethod:
        """How its confidence interval is computed."""
        if self.interval:
            return self.interval
        if STATISTICS[self.statistic].problem == "rows":
            return "mean"
        return "inversion" if self._many is not None else "bootstrap"

    @property
    def _many(self) -> object:
        return self.table_formula or self.cell_formula or self.of_vectors

    @property
    def table_formula(self) -> Callable[[BinTable], Array] | None:
        """Its value for every class of a bin table; None where it is not of one bin table."""
        statistic = STATISTICS[self.statistic]
        if self.of_tables is not None or not statistic.is_binned or statistic.problem == "full":
            return self.of_tables if statistic.is_binned else None

        def formula(table: BinTable) -> Array:
            parts = (OneTable(table.of_class(r)) for r in range(table.n_classes))
            return np.array([self.compute(part) for part in parts])

        return formula

    @property
    def cell_formula(self) -> Callable[[CellSums], Array] | None:
        """Its value for many drawn samples from sums over fine cells; None where it has none."""
        if self.of_cells is not None or self.statistic != "levels" or self.interval:
            return self.of_cells
        if self.of_tables is not None:
            many = self.of_tables
            return lambda sums: many(levels_of_draws(sums))
        return lambda sums: each_draw(sums, lambda table: self.compute(OneTable(table)))

    def resampling_cost(self, *, soft: bool = False) -> Cost:
        """What its interval costs."""
        if soft and self.cost_soft:
            return self.cost_soft
        if self.cost:
            return self.cost
        if self.statistic == "losses":
            return "rows"
        of_few_bins = self.of_tables is not None and not STATISTICS[self.statistic].over_classes
        return "low" if of_few_bins and self.is_binned else "medium"

    def called(self, *, soft: bool = False) -> str:
        """Its name in a sentence: ECE, or SMECE of soft labels."""
        return (self.soft_label if soft else "") or self.label or self.title

    def rank_in(self, where: str, shape: Shape) -> int:
        """Its rank in a list of measures (a field of `Listed`); 0 where it is not included."""
        other = self.listed_multiclass if shape == "multiclass" else None
        return int(getattr(other or self.listed, where))

    def __reduce__(self) -> Any:
        """An entry of the catalogue is pickled by its name: its formula may have none."""
        if any(entry is self for entry in _ENTRIES):
            return find, (self.name, self.shapes[0])
        return super().__reduce__()


_BINNED = Claims(truthful=False, continuous=False, complete=True, sound=True)
_LINEAR = Claims(truthful=True, continuous=False, complete=True, sound=True)
_PROPER = Claims(truthful=True, continuous=True, complete=False, sound=False)
_DISTANCE = Claims(truthful=False, continuous=True, complete=False, sound=False)
_NONE = Claims(truthful=None, continuous=None, complete=None, sound=None, weighted=None)

_NAEINI = "Naeini, Cooper and Hauskrecht (2015), AAAI; Guo et al. (2017), arXiv:1706.04599"
_NIXON = "Nixon et al. (2019), arXiv:1904.01685"
_LU = "Lu, Wu, Hartline and Hu, Truthful Calibration Errors for Multi-Class Prediction"
_BAAN = "Baan et al. (2022), arXiv:2210.16133"
_CORP = "Dimitriadis, Gneiting and Jordan (2021), doi:10.1073/pnas.2016191118"
_LOG_HIGH = 27.64  # -log of the floor of clipped predictions

_BOTH: tuple[Shape, ...] = ("binary", "multiclass")
_BINARY: tuple[Shape, ...] = ("binary",)
_MULTI: tuple[Shape, ...] = ("multiclass",)


def _isotonic(part: str) -> Callable[[Statistics], float]:
    def compute(summary: Statistics) -> float:
        parts = decompose(summary.levels, isotonic_fit(summary.levels))
        return float(getattr(parts, part))

    return compute


def _uncertainty(summary: Statistics) -> float:
    """Of the mean target alone: any bins give it, where an order cannot be had."""
    try:
        return _isotonic("uncertainty")(summary)
    except NotDefined:
        return decompose(summary.bins).uncertainty


def _root_debiased(table: BinTable) -> NDArray[np.float64]:
    out: NDArray[np.float64] = np.sqrt(np.maximum(debiased_l2s(table), 0.0))
    return out


def _mean_loss(loss: str) -> Callable[[Statistics], float]:
    return lambda summary: summary.losses.mean(loss)


def _mean_distance(loss: str) -> Callable[[Statistics], float]:
    return lambda summary: summary.distribution.mean(loss)


def _corrected(summary: Statistics) -> float:
    return linear_error(summary.confidence_bins) + confidence_correction(summary.confidence_bins)


_BRIER = Listed(headline=5, recalibration=4, compare=4, robustness=3, monitor=2, scale=3, metric=3)

_ENTRIES: tuple[Measure, ...] = (
    # --- binned errors of the scalar problem: P(y = 1), or the top label ---
    Measure("ece", "expected calibration error", "(1/W) sum_B |R_B|", "scalar", _BOTH, "bins",
            0, 1, _BINNED, _NAEINI + "; on soft labels SMECE, Leznik (2026), arXiv:2603.14092",
            "ece", lambda s: binned_error(s.bins), of_tables=binned_errors, group="binned",
            label="ECE", soft_label="SMECE", listed=Listed(1, 1, 1, 1, 1, 1, 1, 1),
            aliases=("SMECE", "soft_ece", "expected_calibration_error")),
    Measure("rmsce", "root-mean-square calibration error", "sqrt((1/W) sum_B R_B^2 / W_B)",
            "scalar", _BOTH, "bins", 0, 1, _BINNED, "Hendrycks et al. (2019), arXiv:1812.04606",
            "ece(norm='l2')", lambda s: binned_error(s.bins, "l2"),
            of_tables=lambda t: binned_errors(t, "l2"), group="binned", gaps="root",
            label="RMSCE", listed=Listed(monitor=5, bins=4)),
    Measure("mce", "maximum calibration error", "max_B |R_B| / W_B", "scalar", _BOTH, "bins",
            0, 1, Claims(False, False, False, False), _NAEINI, "ece(norm='max')",
            lambda s: binned_error(s.bins, "max"),
            of_tables=lambda t: binned_errors(t, "max"), group="binned", gaps="largest",
            label="MCE", listed=Listed(monitor=6, bins=5), aliases=("maximum_calibration_error",)),
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
            # On soft labels a sweep seldom meets a fall, and tries as many bins as rows.
            cost_soft="high"),
    Measure("ks_error", "Kolmogorov-Smirnov calibration error",
            "max_t (1/W) |sum_{u<=t} w (u - z)|", "scalar", _BOTH, "levels", 0, 1, _BINNED,
            "Gupta et al. (2021), arXiv:2006.12800", "ks_error", lambda s: ks_error(s.levels),
            of_cells=ks_errors, group="unbinned", rank=3, label="KS error", cost="low"),
    # --- over all classes ---
    Measure("classwise_ece", "classwise calibration error", "(1/k) sum_r (1/W) sum_B |R_{B,r}|",
            "classwise", _MULTI, "class_bins", 0, 1, _BINNED,
            "Kull et al. (2019), arXiv:1910.12656", "ece(notion='classwise')",
            lambda s: binned_error(s.class_bins), of_tables=binned_errors, group="classwise",
            label="classwise ECE", listed=Listed(headline=3, bins=7)),
    Measure("ace", "adaptive calibration error",
            "(1/k) sum_r (1/W) sum_B |R_{B,r}| over equal-mass bins", "classwise", _MULTI,
            "class_quantile_bins", 0, 1, _BINNED, _NIXON, "ace",
            lambda s: binned_error(s.class_equal_mass_bins), of_tables=binned_errors,
            group="binned", equal_mass=True, label="ACE", listed=Listed(bins=8)),
    Measure("ace", "adaptive calibration error", "(1/W) sum_B |R_B| over equal-mass bins",
            "scalar", _BINARY, "quantile_bins", 0, 1, _BINNED, _NIXON, "ace",
            lambda s: binned_error(s.equal_mass_bins), of_tables=binned_errors, group="binned",
            equal_mass=True, cost="medium", label="ACE"),
    Measure("tace", "thresholded adaptive calibration error",
            "adaptive calibration error of the predictions above 0.01", "classwise", _MULTI,
            "above", 0, 1, Claims(False, False, True, False), _NIXON, "tace",
            lambda s: binned_error(s.above(THRESHOLD)), of_tables=binned_errors, group="binned",
            equal_mass=True, label="TACE"),
    Measure("tace", "thresholded adaptive calibration error",
            "adaptive calibration error of the predictions above 0.01", "scalar", _BINARY,
            "above", 0, 1, Claims(False, False, True, False), _NIXON, "tace",
            lambda s: binned_error(s.above(THRESHOLD)), of_tables=binned_errors, group="binned",
            equal_mass=True, label="TACE"),
    # --- smooth ---
    # At a tie the top label of a row changes, which no smoothing of its confidence prevents.
    *(Measure("ls_ece", "logit-smoothed calibration error",
              "integral |(1/W) sum w K(t - h)(z - sigmoid(t))| dt", "scalar", (shape,),
              "logit_grid", 0, 1, Claims(False, shape == "binary", True, True),
              "Chidambaram, Lee, McSwiggen and Rezchikov (2024), ICML", "ls_ece",
              lambda s: ls_ece_of_grid(s.logit_grid, LS_SIGMA), of_cells=ls_eces, group="unbinned",
              rank=2, label="LS-ECE")
      for shape in _BOTH),
    *(Measure("smooth_ece", "smooth calibration error",
              "sigma with integral |(1/W) sum w (z - u) K(t, u)| dt = sigma", "scalar", (shape,),
              "smooth", 0, 1, Claims(False, shape == "binary", True, True),
              "Blasiok and Nakkiran (2024), arXiv:2309.12236", "smooth_ece",
              lambda s: s.smooth, of_cells=smooth_eces, rate=1 / 3, aliases=("smECE", "smooth_ce"),
              group="unbinned", rank=1, label="smECE", listed=Listed(headline=2, metric=2))
      for shape in _BOTH),
    # --- truthful ---
    Measure("lin_ce", "truthful calibration error (LinCE)", "(1/W^2) sum_B R_B^2", "scalar",
            _BINARY, "quantile_bins", 0, 1, _LINEAR, _LU + ", theorem 3.1", "lin_ce",
            lambda s: linear_error(s.quantile_bins), of_tables=linear_errors, power=2,
            aliases=("LinCE",), group="truthful", rank=1, label="LinCE", null_mean=linear_null_mean,
            listed=Listed(headline=3, bins=2, recalibration=2, compare=2, robustness=2, scale=2)),
    Measure("lin_ce", "truthful full calibration error (LinCE)",
            "(1/W^2) sum_B ||R_B||_2^2", "full", _MULTI, "full_bins", 0, 2,
            Claims(True, False, True, False), _LU + ", theorem 3.1", "lin_ce",
            lambda s: vector_linear_error(s.full_bins), power=2, aliases=("LinCE",),
            of_vectors=vector_linear_errors, group="truthful", rank=1, label="LinCE"),
    Measure("classwise_ce", "truthful classwise error", "(1/k) sum_r (1/W^2) sum_B R_{B,r}^2",
            "classwise", _MULTI, "class_quantile_bins", 0, 1, _LINEAR, _LU + ", section 3.1",
            "classwise_ce", lambda s: linear_error(s.class_quantile_bins),
            of_tables=linear_errors, power=2, group="truthful", rank=3, label="classwise LinCE",
            listed=Listed(bins=9, compare=2, robustness=4, scale=2)),
    Measure("confidence_ce", "truthful confidence error",
            "(1/W^2) (sum_B R_B^2 + sum w^2 (1 - z)) of the top label", "confidence", _BOTH,
            "confidence_bins", 0, 2, _LINEAR, _LU + ", theorem 3.3", "confidence_ce",
            _corrected, of_tables=corrected_errors, of_population=linear_errors, power=2,
            aliases=("confidence_ce_corrected", "ConfCE corrected"), group="truthful", rank=2,
            label="corrected ConfCE", null_mean=corrected_null_mean,
            listed_multiclass=Listed(
                headline=4, bins=3, recalibration=2, compare=3, robustness=3)),
    Measure("confidence_ce_uncorrected", "squared confidence error",
            "(1/W^2) sum_B R_B^2 of the top label", "confidence", _MULTI, "confidence_bins", 0, 1,
            Claims(False, False, True, True), _LU + ", example C.1",
            "confidence_ce(corrected=False)", lambda s: linear_error(s.confidence_bins),
            of_tables=linear_errors, power=2, aliases=("ConfCE",), group="binned", label="ConfCE",
            null_mean=linear_null_mean, listed=Listed(robustness=2)),
    # --- losses ---
    Measure("brier", "Brier score", "(1/W) sum w (u - z)^2", "loss", _BINARY, "losses",
            0, 1, _PROPER, "Brier (1950), Monthly Weather Review 78", "brier_score",
            _mean_loss("brier"), group="losses", loss="brier", label="Brier score", listed=_BRIER,
            aliases=("brier_score",)),
    Measure("brier", "Brier score", "(1/W) sum w sum_r (p_r - z_r)^2", "loss", _MULTI, "losses",
            0, 2, _PROPER, "Brier (1950), Monthly Weather Review 78", "brier_score",
            _mean_loss("brier"), group="losses", loss="brier", label="Brier score", listed=_BRIER,
            aliases=("brier_score",)),
    Measure("log_loss", "log loss", "-(1/W) sum w sum_r z_r log p_r", "loss", _BOTH, "losses",
            0, _LOG_HIGH, _PROPER, "Good (1952), Journal of the Royal Statistical Society B 14",
            "log_loss", _mean_loss("log"), aliases=("cross_entropy", "nll"), group="losses",
            loss="log", listed=Listed(headline=6, recalibration=3, compare=5, robustness=2,
                                      monitor=3, scale=4, metric=4)),
    Measure("spherical_loss", "spherical loss", "1 - (1/W) sum w (z . p) / ||p||_2", "loss", _BOTH,
            "losses", 0, 1, _PROPER,
            "Gneiting and Raftery (2007), doi:10.1198/016214506000001437",
            "spherical_loss", _mean_loss("spherical"), group="losses", loss="spherical",
            cost="medium", listed=Listed(robustness=4)),
    Measure("classification_error", "classification error", "1 - (1/W) sum w z_top", "loss", _BOTH,
            "losses", 0, 1, Claims(True, False, False, False), _LU + ", definition B.6",
            "classification_error", _mean_loss("classification"), group="losses",
            loss="classification", listed=Listed(compare=6, robustness=1, monitor=4, scale=5),
            listed_multiclass=Listed(headline=7, compare=6, robustness=1, monitor=4, scale=5)),
    Measure("confidence_loss", "confidence loss", "(1/W) sum w [1 - z + (c - z)^2]", "loss", _BOTH,
            "losses", 0, 2, Claims(True, False, False, False), _LU + ", section 4.2",
            "confidence_loss", _mean_loss("confidence"), group="losses", loss="confidence",
            cost="medium", listed=Listed(robustness=5)),
    # --- the Brier score taken apart (isotonic, of the scalar problem) ---
    Measure("brier_miscalibration", "Brier score: miscalibration",
            "Brier score less that of the isotonic recalibration", "scalar", _BOTH, "levels",
            0, 1, Claims(False, False, True, True), _CORP, "brier_decomposition",
            _isotonic("miscalibration"), of_cells=brier_miscalibrations, power=2, rate=1 / 3,
            group="decomposition", attribute="miscalibration"),
    Measure("brier_discrimination", "Brier score: discrimination",
            "uncertainty less the Brier score of the isotonic recalibration", "scalar", _BOTH,
            "levels", 0, 0.25, _NONE, _CORP, "brier_decomposition", _isotonic("discrimination"),
            higher_is_better=True, group="decomposition", attribute="discrimination",
            interval="discrimination"),
    Measure("brier_uncertainty", "Brier score: uncertainty",
            "the Brier score of always reporting the mean target", "scalar", _BOTH, "levels",
            0, 0.25, _NONE, _CORP, "brier_decomposition", _uncertainty, group="decomposition",
            attribute="uncertainty", interval="rate", needs_order=False),
    # --- whole distributions ---
    Measure("dist_ce", "distribution calibration error", "(1/W) sum w (1/2) sum_r |p_r - q_r|",
            "distribution", _BOTH, "distribution", 0, 1, _DISTANCE, _BAAN, "dist_ce",
            _mean_distance("distribution"), soft_only=True, aliases=("DistCE",), label="DistCE",
            group="distribution", loss="distribution", cost="medium", listed=Listed(headline=8)),
    Measure("ent_ce", "entropy calibration error", "(1/W) sum w |H(p) - H(q)|", "distribution",
            _BOTH, "distribution", 0, math.inf, _DISTANCE, _BAAN, "ent_ce",
            _mean_distance("entropy"), soft_only=True, high_text="log k", aliases=("EntCE",),
            label="EntCE", group="distribution", loss="entropy", cost="medium"),
    Measure("rank_cs", "ranking calibration score",
            "(1/W) sum w 1[q_a > q_b implies p_a > p_b]", "distribution", _BOTH, "distribution",
            0, 1, Claims(False, False, False, False), _BAAN, "rank_cs",
            _mean_distance("rank"), higher_is_better=True, soft_only=True, aliases=("RankCS",),
            label="RankCS", group="distribution", loss="rank", cost="medium"),
)  # fmt: skip


# The threshold of `tace`.
THRESHOLD = 0.01
# The measure that verdicts, slices and pages are about unless another is named.
HEADLINE = "ece"


def catalogue(shape: Shape | None = None) -> tuple[Measure, ...]:
    """Every measure, or those that apply to predictions of one shape.

    Parameters
    ----------
    shape : {"binary", "multiclass"}, optional
        Predictions (n,) ("binary") or (n, k) ("multiclass"); by default both.

    Returns
    -------
    tuple of Measure
        An entry has a `name`, `title`, `formula`, `range`, `reference`, `aliases` and `claims`.

    Examples
    --------
    >>> import calibrant as cal
    >>> [measure.name for measure in cal.catalogue("binary")][:4]
    ['ece', 'rmsce', 'mce', 'debiased_l2']
    >>> cal.catalogue()[0].title
    'expected calibration error'
    """
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
    global _ENTRIES
    before = _ENTRIES
    _ENTRIES = (*before, *measures)
    try:
        yield
    finally:
        _ENTRIES = before


def listed(where: str, shape: Shape) -> tuple[Measure, ...]:
    """The measures that a list includes unasked, in its order; `where` is a field of `Listed`."""
    ranked = [(m.rank_in(where, shape), m) for m in catalogue(shape)]
    return tuple(m for rank, m in sorted(ranked, key=lambda pair: pair[0]) if rank)


def equal_mass_names() -> tuple[str, ...]:
    """Names of the measures that are defined by bins of equal mass."""
    return tuple(dict.fromkeys(m.name for m in _ENTRIES if m.equal_mass))


# Names of other people's measures, which are about the order of predictions.
_RANKING = ("auc", "auroc", "roc_auc", "roc_auc_score", "auprc", "average_precision", "gini")


def find(name: str, shape: Shape) -> Measure:
    """The measure of this name or alias for this shape, or an error with the nearest name."""
    own = canonical(name)
    for measure in catalogue(shape):
        if measure.name == own:
            return measure
    names = [measure.name for measure in catalogue(shape)]
    if own in {measure.name for measure in _ENTRIES}:
        raise InputError(f"the measure {name!r} is not defined for {shape} predictions")
    raise InputError(f"no measure is called {name!r}: {nearest_measure(name, names)}")


def entry_of(name: str) -> Measure:
    """The first entry of a name: for what does not depend on the shape of the predictions."""
    return next(measure for measure in _ENTRIES if measure.name == name)


def canonical(name: Any) -> Any:
    """The catalogue's own name for a name or an alias, in upper or lower case; what is neither
    comes back as it is.

    A name as it is written comes first: SMECE (soft labels) is not smECE (smooth).
    """
    if not isinstance(name, str):
        return name
    for alike in (str, _plain):
        names = _named(name, alike)
        if len(names) == 1:
            return names[0]
    return name


def _named(name: str, alike: Callable[[str], str]) -> list[str]:
    """The measures that are called this, where names that are `alike` count as one."""
    names = [m.name for m in _ENTRIES if alike(name) in map(alike, (m.name, *m.aliases))]
    return list(dict.fromkeys(names))


def _plain(name: str) -> str:
    return name.casefold().replace("-", "_").replace(" ", "_")


def nearest_measure(name: object, names: Iterable[str]) -> str:
    """A hint that ends an error message: which measure may have been meant."""
    if isinstance(name, str) and _plain(name) in _RANKING:
        return "it measures ranking, not calibration, and is not offered"
    meant = _named(name, _plain) if isinstance(name, str) else []
    if len(meant) > 1:
        return f"it may be {' or '.join(f'{m!r} ({_written(name, m)})' for m in meant)}"
    return nearest(name, names)


def _written(name: object, own: str) -> str:
    """How papers write the alias of a measure that a name may stand for."""
    alias = next(a for a in entry_of(own).aliases if _plain(a) == _plain(str(name)))
    return f"written {alias}"
