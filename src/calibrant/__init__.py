"""Calibrant: can these predicted probabilities be believed?

>>> import calibrant as cal
>>> cal.ece([0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4], bins=10)
0.25
"""

from typing import TYPE_CHECKING, Any

from calibrant.accumulator import Accumulator
from calibrant.binning import Edges, EqualWidth, LevelSets, Quantile
from calibrant.errors import (
    CalibrantError,
    CalibrantWarning,
    InputError,
    MissingExtra,
    StateError,
)
from calibrant.evaluation import evaluate, reliability
from calibrant.measures.catalogue import catalogue
from calibrant.peer_conventions import conventions
from calibrant.results.conventions import Conventions
from calibrant.results.evaluation import Estimate, Evaluation
from calibrant.results.reliability import ReliabilityTable
from calibrant.results.smooth_curve import SmoothCurve
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
from calibrant.scores.smooth import ls_ece, smooth_ece, smooth_reliability
from calibrant.scores.truthful import classwise_ce, confidence_ce, lin_ce

if TYPE_CHECKING:
    from calibrant.auditing import audit
    from calibrant.checking import check
    from calibrant.class_by_class import classwise_reliability
    from calibrant.comparison import compare
    from calibrant.file_evaluation import evaluate_file, read_file
    from calibrant.inference.robustness import rank_robustness
    from calibrant.monitor import Monitor
    from calibrant.over_bin_counts import bin_sensitivity
    from calibrant.reporting import report
    from calibrant.reproducing import reproduce
    from calibrant.results.bin_sensitivity import BinSensitivity
    from calibrant.results.check import Check
    from calibrant.results.class_tables import ClasswiseReliability
    from calibrant.results.comparison import Comparison
    from calibrant.results.robustness import RankRobustness
    from calibrant.results.slices import Slices
    from calibrant.results.uncertainty import (
        CalibrationTest,
        CoxCalibration,
        Interval,
        NoiseFloor,
        Verdict,
    )
    from calibrant.results.windows import Windows
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
    from calibrant.scores.significance import (
        cox_calibration,
        hosmer_lemeshow,
        spiegelhalter,
        truthful_test,
    )
    from calibrant.scores.uncertainty import interval, noise_floor, verdict

__version__ = "0.1.0"

__all__ = [
    "Accumulator",
    "BetaCalibration",
    "BinSensitivity",
    "CalibrantError",
    "CalibrantWarning",
    "CalibrationTest",
    "Check",
    "ClasswiseReliability",
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
    "Monitor",
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
    "Windows",
    "__version__",
    "ace",
    "audit",
    "bin_sensitivity",
    "brier_decomposition",
    "brier_score",
    "catalogue",
    "check",
    "classification_error",
    "classwise_ce",
    "classwise_reliability",
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
    "evaluate_file",
    "hosmer_lemeshow",
    "interval",
    "ks_error",
    "lin_ce",
    "log_loss",
    "ls_ece",
    "noise_floor",
    "rank_cs",
    "rank_robustness",
    "read_file",
    "reliability",
    "report",
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

# Measuring needs none of these: each is imported when it is first asked for.
_LATER = {
    "audit": "calibrant.auditing",
    "compare": "calibrant.comparison",
    "evaluate_file": "calibrant.file_evaluation",
    "Check": "calibrant.results.check",
    "ClasswiseReliability": "calibrant.results.class_tables",
    "BinSensitivity": "calibrant.results.bin_sensitivity",
    "Windows": "calibrant.results.windows",
    "read_file": "calibrant.file_evaluation",
    "classwise_reliability": "calibrant.class_by_class",
    "bin_sensitivity": "calibrant.over_bin_counts",
    "check": "calibrant.checking",
    "report": "calibrant.reporting",
    "Monitor": "calibrant.monitor",
    "rank_robustness": "calibrant.inference.robustness",
    "reproduce": "calibrant.reproducing",
    "Comparison": "calibrant.results.comparison",
    "RankRobustness": "calibrant.results.robustness",
    "Slices": "calibrant.results.slices",
    "CalibrationTest": "calibrant.results.uncertainty",
    "CoxCalibration": "calibrant.results.uncertainty",
    "Interval": "calibrant.results.uncertainty",
    "NoiseFloor": "calibrant.results.uncertainty",
    "Verdict": "calibrant.results.uncertainty",
    "BetaCalibration": "calibrant.scaling",
    "DirichletCalibration": "calibrant.scaling",
    "HistogramBinning": "calibrant.scaling",
    "IsotonicCalibration": "calibrant.scaling",
    "MatrixScaling": "calibrant.scaling",
    "PlattScaling": "calibrant.scaling",
    "TemperatureScaling": "calibrant.scaling",
    "VectorScaling": "calibrant.scaling",
    "cox_calibration": "calibrant.scores.significance",
    "hosmer_lemeshow": "calibrant.scores.significance",
    "spiegelhalter": "calibrant.scores.significance",
    "truthful_test": "calibrant.scores.significance",
    "interval": "calibrant.scores.uncertainty",
    "noise_floor": "calibrant.scores.uncertainty",
    "verdict": "calibrant.scores.uncertainty",
}


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    found = getattr(import_module(_LATER[name]), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
