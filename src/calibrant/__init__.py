"""Calibrant: can these predicted probabilities be believed?

>>> import calibrant as cal
>>> cal.ece([0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4], bins=10)
0.25
"""

from typing import TYPE_CHECKING, Any

from calibrant._api.conventions import conventions
from calibrant._api.evaluate import evaluate
from calibrant._api.metrics.binned import ace, debiased_l2, ece, ks_error, soft_ece, sweep_ece, tace
from calibrant._api.metrics.distribution import dist_ce, ent_ce, rank_cs
from calibrant._api.metrics.losses import (
    brier_decomposition,
    brier_score,
    classification_error,
    confidence_loss,
    log_loss,
    spherical_loss,
)
from calibrant._api.metrics.smooth import ls_ece, smooth_ece, smooth_reliability
from calibrant._api.metrics.truthful import classwise_ce, confidence_ce, lin_ce
from calibrant._api.reliability import classwise_reliability, reliability
from calibrant._api.streaming.accumulator import Accumulator
from calibrant._core.binning import Edges, EqualWidth, LevelSets, Quantile
from calibrant._core.errors import (
    CalibrantError,
    CalibrantWarning,
    InputError,
    MissingExtra,
    StateError,
)
from calibrant._measures.catalogue import catalogue
from calibrant.results._conventions import Conventions
from calibrant.results._evaluation import Estimate, Evaluation
from calibrant.results._reliability import ReliabilityTable
from calibrant.results._smooth_curve import SmoothCurve

if TYPE_CHECKING:
    from calibrant._api.bin_sensitivity import bin_sensitivity
    from calibrant._api.check import check
    from calibrant._api.compare import compare
    from calibrant._api.files.evaluate_file import evaluate_file, read_file
    from calibrant._api.metrics.significance import (
        cox_calibration,
        hosmer_lemeshow,
        spiegelhalter,
        truthful_test,
    )
    from calibrant._api.metrics.uncertainty import interval, noise_floor, verdict
    from calibrant._api.report.report import report
    from calibrant._api.streaming.monitor import Monitor
    from calibrant._inference.robustness import rank_robustness
    from calibrant._research.audits.audit import audit
    from calibrant._research.papers.reproduce import reproduce
    from calibrant.results._bin_sensitivity import BinSensitivity
    from calibrant.results._check import Check
    from calibrant.results._class_tables import ClasswiseReliability
    from calibrant.results._comparison import Comparison
    from calibrant.results._robustness import RankRobustness
    from calibrant.results._slices import Slices
    from calibrant.results._uncertainty import (
        CalibrationTest,
        CoxCalibration,
        Interval,
        NoiseFloor,
        Verdict,
    )
    from calibrant.results._windows import Windows
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
    "audit": "calibrant._research.audits.audit",
    "compare": "calibrant._api.compare",
    "evaluate_file": "calibrant._api.files.evaluate_file",
    "Check": "calibrant.results._check",
    "ClasswiseReliability": "calibrant.results._class_tables",
    "BinSensitivity": "calibrant.results._bin_sensitivity",
    "Windows": "calibrant.results._windows",
    "read_file": "calibrant._api.files.evaluate_file",
    "bin_sensitivity": "calibrant._api.bin_sensitivity",
    "check": "calibrant._api.check",
    "report": "calibrant._api.report.report",
    "Monitor": "calibrant._api.streaming.monitor",
    "rank_robustness": "calibrant._inference.robustness",
    "reproduce": "calibrant._research.papers.reproduce",
    "Comparison": "calibrant.results._comparison",
    "RankRobustness": "calibrant.results._robustness",
    "Slices": "calibrant.results._slices",
    "CalibrationTest": "calibrant.results._uncertainty",
    "CoxCalibration": "calibrant.results._uncertainty",
    "Interval": "calibrant.results._uncertainty",
    "NoiseFloor": "calibrant.results._uncertainty",
    "Verdict": "calibrant.results._uncertainty",
    "BetaCalibration": "calibrant.scaling",
    "DirichletCalibration": "calibrant.scaling",
    "HistogramBinning": "calibrant.scaling",
    "IsotonicCalibration": "calibrant.scaling",
    "MatrixScaling": "calibrant.scaling",
    "PlattScaling": "calibrant.scaling",
    "TemperatureScaling": "calibrant.scaling",
    "VectorScaling": "calibrant.scaling",
    "cox_calibration": "calibrant._api.metrics.significance",
    "hosmer_lemeshow": "calibrant._api.metrics.significance",
    "spiegelhalter": "calibrant._api.metrics.significance",
    "truthful_test": "calibrant._api.metrics.significance",
    "interval": "calibrant._api.metrics.uncertainty",
    "noise_floor": "calibrant._api.metrics.uncertainty",
    "verdict": "calibrant._api.metrics.uncertainty",
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
