"""Calibrant: can these predicted probabilities be believed?

>>> import calibrant as cal
>>> cal.ece([0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4], bins=10)
0.25
"""

from typing import TYPE_CHECKING, Any

from calibrant._core.version import __version__

if TYPE_CHECKING:
    from calibrant._api.annotator_ceiling import annotator_ceiling
    from calibrant._api.annotators import annotators
    from calibrant._api.bayes_error import bayes_error
    from calibrant._api.bin_sensitivity import bin_sensitivity
    from calibrant._api.check import check
    from calibrant._api.clinical import clinical_summary
    from calibrant._api.compare import compare
    from calibrant._api.conventions import conventions
    from calibrant._api.decision_curve import decision_curve
    from calibrant._api.decompose import decompose
    from calibrant._api.evaluate import evaluate
    from calibrant._api.files.evaluate_file import evaluate_file
    from calibrant._api.find_segments import find_segments
    from calibrant._api.metrics.binned import (
        ace,
        debiased_l2,
        ece,
        ks_error,
        soft_ece,
        sweep_ece,
        tace,
    )
    from calibrant._api.metrics.curves import ici
    from calibrant._api.metrics.cutoffs import atb, cutoff_ce, cutoff_test
    from calibrant._api.metrics.distribution import dist_ce, ent_ce, jsd, kl, rank_cs, wasserstein
    from calibrant._api.metrics.losses import (
        accuracy,
        brier_decomposition,
        brier_score,
        classification_error,
        confidence_loss,
        log_loss,
        spherical_loss,
    )
    from calibrant._api.metrics.ranking import accuracy_at_coverage, aurc, auroc, risk_coverage
    from calibrant._api.metrics.significance import (
        cox_calibration,
        hosmer_lemeshow,
        spiegelhalter,
        truthful_test,
    )
    from calibrant._api.metrics.smooth import ls_ece, smooth_ece, smooth_reliability
    from calibrant._api.metrics.top_label import top_label_ece
    from calibrant._api.metrics.truthful import classwise_ce, confidence_ce, lin_ce
    from calibrant._api.metrics.uncertainty import interval, noise_floor, verdict, vote_noise
    from calibrant._api.multilabel import multilabel
    from calibrant._api.rank_robustness import rank_robustness
    from calibrant._api.recommend import recommend
    from calibrant._api.reliability import classwise_reliability, reliability
    from calibrant._api.reliability_curve import reliability_curve
    from calibrant._api.report.report import report
    from calibrant._api.streaming.accumulator import Accumulator
    from calibrant._api.streaming.monitor import Monitor
    from calibrant._api.vote_profile import entropy_bands, vote_profile
    from calibrant._core.binning import Edges, EqualWidth, LevelSets, Quantile
    from calibrant._core.errors import (
        CalibrantError,
        CalibrantWarning,
        CheckFailed,
        InputError,
        MissingExtra,
        NotDefined,
        StateError,
        UnknownOption,
    )
    from calibrant._data.readers.read_rows import read_file
    from calibrant._data.vote_table import count_votes
    from calibrant._measures.catalogue import catalogue
    from calibrant._research.audits.audit import audit
    from calibrant._research.papers.reproduce import reproduce
    from calibrant.results._bin_sensitivity import BinSensitivity
    from calibrant.results._check import Check
    from calibrant.results._clinical import ClinicalSummary
    from calibrant.results._comparison import Comparison
    from calibrant.results._conventions import Conventions
    from calibrant.results._decision_curve import DecisionCurve
    from calibrant.results._evaluation import Estimate, Evaluation
    from calibrant.results._loss_decomposition import LossDecomposition
    from calibrant.results._multilabel import Multilabel
    from calibrant.results._recommendation import Recommendation
    from calibrant.results._reliability import ClasswiseReliability, ReliabilityTable
    from calibrant.results._reliability_curve import ReliabilityCurve
    from calibrant.results._risk_coverage import RiskCoverage
    from calibrant.results._robustness import RankRobustness
    from calibrant.results._segments import Segments
    from calibrant.results._slices import Slices
    from calibrant.results._smooth_curve import SmoothCurve
    from calibrant.results._uncertainty import (
        CalibrationTest,
        CoxCalibration,
        Interval,
        NoiseFloor,
        Verdict,
        VoteNoise,
    )
    from calibrant.results._vote_profile import VoteProfile
    from calibrant.results._windows import Windows
    from calibrant.scaling import (
        BetaCalibration,
        DirichletCalibration,
        HistogramBinning,
        IsotonicCalibration,
        LabelSmoothingTemperature,
        MatrixScaling,
        PlattScaling,
        TemperatureScaling,
        VectorScaling,
    )

__all__ = [
    "Accumulator",
    "BetaCalibration",
    "BinSensitivity",
    "CalibrantError",
    "CalibrantWarning",
    "CalibrationTest",
    "Check",
    "CheckFailed",
    "ClasswiseReliability",
    "ClinicalSummary",
    "Comparison",
    "Conventions",
    "CoxCalibration",
    "DecisionCurve",
    "DirichletCalibration",
    "Edges",
    "EqualWidth",
    "Estimate",
    "Evaluation",
    "HistogramBinning",
    "InputError",
    "Interval",
    "IsotonicCalibration",
    "LabelSmoothingTemperature",
    "LevelSets",
    "LossDecomposition",
    "MatrixScaling",
    "MissingExtra",
    "Monitor",
    "Multilabel",
    "NoiseFloor",
    "NotDefined",
    "PlattScaling",
    "Quantile",
    "RankRobustness",
    "Recommendation",
    "ReliabilityCurve",
    "ReliabilityTable",
    "RiskCoverage",
    "Segments",
    "Slices",
    "SmoothCurve",
    "StateError",
    "TemperatureScaling",
    "UnknownOption",
    "VectorScaling",
    "Verdict",
    "VoteNoise",
    "VoteProfile",
    "Windows",
    "__version__",
    "accuracy",
    "accuracy_at_coverage",
    "ace",
    "annotator_ceiling",
    "annotators",
    "atb",
    "audit",
    "aurc",
    "auroc",
    "bayes_error",
    "bin_sensitivity",
    "brier_decomposition",
    "brier_score",
    "catalogue",
    "check",
    "classification_error",
    "classwise_ce",
    "classwise_reliability",
    "clinical_summary",
    "compare",
    "confidence_ce",
    "confidence_loss",
    "conventions",
    "count_votes",
    "cox_calibration",
    "cutoff_ce",
    "cutoff_test",
    "debiased_l2",
    "decision_curve",
    "decompose",
    "dist_ce",
    "ece",
    "ent_ce",
    "entropy_bands",
    "evaluate",
    "evaluate_file",
    "find_segments",
    "hosmer_lemeshow",
    "ici",
    "interval",
    "jsd",
    "kl",
    "ks_error",
    "lin_ce",
    "log_loss",
    "ls_ece",
    "multilabel",
    "noise_floor",
    "rank_cs",
    "rank_robustness",
    "read_file",
    "recommend",
    "reliability",
    "reliability_curve",
    "report",
    "reproduce",
    "risk_coverage",
    "smooth_ece",
    "smooth_reliability",
    "soft_ece",
    "spherical_loss",
    "spiegelhalter",
    "sweep_ece",
    "tace",
    "top_label_ece",
    "truthful_test",
    "verdict",
    "vote_noise",
    "vote_profile",
    "wasserstein",
]

# Where each public name is defined: a module is imported when one of its names is first used, so
# that `import calibrant` costs next to nothing.
_NAMES = {
    "calibrant._api.annotator_ceiling": ("annotator_ceiling",),
    "calibrant._api.annotators": ("annotators",),
    "calibrant._api.bayes_error": ("bayes_error",),
    "calibrant._api.bin_sensitivity": ("bin_sensitivity",),
    "calibrant._api.check": ("check",),
    "calibrant._api.clinical": ("clinical_summary",),
    "calibrant._api.compare": ("compare",),
    "calibrant._api.conventions": ("conventions",),
    "calibrant._api.decision_curve": ("decision_curve",),
    "calibrant._api.decompose": ("decompose",),
    "calibrant._api.evaluate": ("evaluate",),
    "calibrant._api.files.evaluate_file": ("evaluate_file",),
    "calibrant._api.find_segments": ("find_segments",),
    "calibrant._api.metrics.binned": (
        "ace",
        "debiased_l2",
        "ece",
        "ks_error",
        "soft_ece",
        "sweep_ece",
        "tace",
    ),
    "calibrant._api.metrics.curves": ("ici",),
    "calibrant._api.metrics.cutoffs": ("atb", "cutoff_ce", "cutoff_test"),
    "calibrant._api.metrics.distribution": (
        "dist_ce",
        "ent_ce",
        "jsd",
        "kl",
        "rank_cs",
        "wasserstein",
    ),
    "calibrant._api.metrics.losses": (
        "accuracy",
        "brier_decomposition",
        "brier_score",
        "classification_error",
        "confidence_loss",
        "log_loss",
        "spherical_loss",
    ),
    "calibrant._api.metrics.ranking": (
        "accuracy_at_coverage",
        "auroc",
        "aurc",
        "risk_coverage",
    ),
    "calibrant._api.metrics.significance": (
        "cox_calibration",
        "hosmer_lemeshow",
        "spiegelhalter",
        "truthful_test",
    ),
    "calibrant._api.metrics.smooth": (
        "ls_ece",
        "smooth_ece",
        "smooth_reliability",
    ),
    "calibrant._api.metrics.top_label": ("top_label_ece",),
    "calibrant._api.metrics.truthful": (
        "classwise_ce",
        "confidence_ce",
        "lin_ce",
    ),
    "calibrant._api.metrics.uncertainty": (
        "interval",
        "noise_floor",
        "verdict",
        "vote_noise",
    ),
    "calibrant._api.multilabel": ("multilabel",),
    "calibrant._api.recommend": ("recommend",),
    "calibrant._api.reliability": (
        "classwise_reliability",
        "reliability",
    ),
    "calibrant._api.reliability_curve": ("reliability_curve",),
    "calibrant._api.report.report": ("report",),
    "calibrant._api.vote_profile": (
        "entropy_bands",
        "vote_profile",
    ),
    "calibrant._api.streaming.accumulator": ("Accumulator",),
    "calibrant._api.streaming.monitor": ("Monitor",),
    "calibrant._core.binning": (
        "Edges",
        "EqualWidth",
        "LevelSets",
        "Quantile",
    ),
    "calibrant._core.errors": (
        "CalibrantError",
        "CalibrantWarning",
        "CheckFailed",
        "InputError",
        "MissingExtra",
        "NotDefined",
        "StateError",
        "UnknownOption",
    ),
    "calibrant._data.readers.read_rows": ("read_file",),
    "calibrant._data.vote_table": ("count_votes",),
    "calibrant._api.rank_robustness": ("rank_robustness",),
    "calibrant._measures.catalogue": ("catalogue",),
    "calibrant._research.audits.audit": ("audit",),
    "calibrant._research.papers.reproduce": ("reproduce",),
    "calibrant.results._bin_sensitivity": ("BinSensitivity",),
    "calibrant.results._check": ("Check",),
    "calibrant.results._clinical": ("ClinicalSummary",),
    "calibrant.results._comparison": ("Comparison",),
    "calibrant.results._conventions": ("Conventions",),
    "calibrant.results._decision_curve": ("DecisionCurve",),
    "calibrant.results._evaluation": (
        "Estimate",
        "Evaluation",
    ),
    "calibrant.results._loss_decomposition": ("LossDecomposition",),
    "calibrant.results._multilabel": ("Multilabel",),
    "calibrant.results._recommendation": ("Recommendation",),
    "calibrant.results._reliability": ("ClasswiseReliability", "ReliabilityTable"),
    "calibrant.results._reliability_curve": ("ReliabilityCurve",),
    "calibrant.results._risk_coverage": ("RiskCoverage",),
    "calibrant.results._robustness": ("RankRobustness",),
    "calibrant.results._segments": ("Segments",),
    "calibrant.results._slices": ("Slices",),
    "calibrant.results._smooth_curve": ("SmoothCurve",),
    "calibrant.results._uncertainty": (
        "CalibrationTest",
        "CoxCalibration",
        "Interval",
        "NoiseFloor",
        "Verdict",
        "VoteNoise",
    ),
    "calibrant.results._vote_profile": ("VoteProfile",),
    "calibrant.results._windows": ("Windows",),
    "calibrant.scaling": (
        "BetaCalibration",
        "DirichletCalibration",
        "HistogramBinning",
        "IsotonicCalibration",
        "LabelSmoothingTemperature",
        "MatrixScaling",
        "PlattScaling",
        "TemperatureScaling",
        "VectorScaling",
    ),
}
_MODULE_OF = {name: module for module, names in _NAMES.items() for name in names}
_SUBMODULES = ("examples", "integrations", "losses", "plots", "results", "scaling")


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name in _SUBMODULES:
        return import_module(f"calibrant.{name}")
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_MODULE_OF[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_SUBMODULES})
