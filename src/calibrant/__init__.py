"""Calibrant: can these predicted probabilities be believed?

>>> import calibrant as cal
>>> cal.ece([0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4], bins=10)
0.25
"""

from typing import TYPE_CHECKING, Any

from calibrant.accumulator import Accumulator
from calibrant.binning import Edges, EqualWidth, LevelSets, Quantile
from calibrant.comparison import compare
from calibrant.errors import (
    CalibrantError,
    CalibrantWarning,
    InputError,
    MissingExtra,
    StateError,
)
from calibrant.evaluation import evaluate, reliability
from calibrant.inference.robustness import rank_robustness
from calibrant.measures.catalogue import catalogue
from calibrant.peer_conventions import conventions
from calibrant.results.comparison import Comparison
from calibrant.results.conventions import Conventions
from calibrant.results.evaluation import Estimate, Evaluation
from calibrant.results.reliability import ReliabilityTable
from calibrant.results.robustness import RankRobustness
from calibrant.results.slices import Slices
from calibrant.results.smooth_curve import SmoothCurve
from calibrant.results.uncertainty import (
    CalibrationTest,
    CoxCalibration,
    Interval,
    NoiseFloor,
    Verdict,
)
from calibrant.scores.binned import ace, debiased_l2, ece, ks_error, soft_ece, sweep_ece, tace
from calibrant.scores.distribution import dist_ce, ent_ce, rank_cs
from calibrant.scores.losses import (
    brier_decomposition,
    brier_score,
    classification_error,
    confidence_loss,
    log_loss,
    spherical_loss,
)
from calibrant.scores.significance import (
    cox_calibration,
    hosmer_lemeshow,
    spiegelhalter,
    truthful_test,
)
from calibrant.scores.smooth import ls_ece, smooth_ece, smooth_reliability
from calibrant.scores.truthful import classwise_ce, confidence_ce, lin_ce
from calibrant.scores.uncertainty import interval, noise_floor, verdict

if TYPE_CHECKING:
    from calibrant.auditing import audit
    from calibrant.reproducing import reproduce
    from calibrant.scaling import (
        BetaCalibration,
        DirichletCalibration,
        HistogramBinning,
        IsotonicCalibration,
        MatrixScaling,
        PlattScaling,
        TemperatureScaling,
        VectorScaling,
    )

__version__ = "0.1.0"

__all__ = [
    "Accumulator",
    "BetaCalibration",
    "CalibrantError",
    "CalibrantWarning",
    "CalibrationTest",
    "Comparison",
    "Conventions",
    "CoxCalibration",
    "DirichletCalibration",
    "Edges",
    "EqualWidth",
    "Estimate",
    "Evaluation",
    "HistogramBinning",
    "InputError",
    "Interval",
    "IsotonicCalibration",
    "LevelSets",
    "MatrixScaling",
    "MissingExtra",
    "NoiseFloor",
    "PlattScaling",
    "Quantile",
    "RankRobustness",
    "ReliabilityTable",
    "Slices",
    "SmoothCurve",
    "StateError",
    "TemperatureScaling",
    "VectorScaling",
    "Verdict",
    "__version__",
    "ace",
    "audit",
    "brier_decomposition",
    "brier_score",
    "catalogue",
    "classification_error",
    "classwise_ce",
    "compare",
    "confidence_ce",
    "confidence_loss",
    "conventions",
    "cox_calibration",
    "debiased_l2",
    "dist_ce",
    "ece",
    "ent_ce",
    "evaluate",
    "hosmer_lemeshow",
    "interval",
    "ks_error",
    "lin_ce",
    "log_loss",
    "ls_ece",
    "noise_floor",
    "rank_cs",
    "rank_robustness",
    "reliability",
    "reproduce",
    "smooth_ece",
    "smooth_reliability",
    "soft_ece",
    "spherical_loss",
    "spiegelhalter",
    "sweep_ece",
    "tace",
    "truthful_test",
    "verdict",
]

_SCALERS = (
    "BetaCalibration",
    "DirichletCalibration",
    "HistogramBinning",
    "IsotonicCalibration",
    "MatrixScaling",
    "PlattScaling",
    "TemperatureScaling",
    "VectorScaling",
)


def __getattr__(name: str) -> Any:
    """What measuring does not need is imported when first asked for."""
    if name in _SCALERS:
        from calibrant import scaling

        return getattr(scaling, name)
    if name == "audit":
        from calibrant.auditing import audit

        return audit
    if name == "reproduce":
        from calibrant.reproducing import reproduce

        return reproduce
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
