"""Result classes: what the functions of Calibrant return.

Each prints as text, shows as HTML in a notebook, and becomes JSON (`to_json`) or a frame
(`to_frame`). Importing this module imports none of them.
"""

from importlib import import_module
from typing import Any

# Where each result class is defined. Editors and type checkers read the stub instead, which
# `.ci/stub.py` writes from this list.
_MODULES = {
    "_annotator_ceiling": ("AnnotatorCeiling", "Predictor"),
    "_annotators": ("Annotator", "Annotators"),
    "_audit": ("Audit", "AuditVerdict"),
    "_base": ("Record", "Result"),
    "_bayes_error": ("BayesError",),
    "_bin_sensitivity": ("BinSensitivity",),
    "_bounds": ("Bound", "Bounds", "ReliabilityBounds"),
    "_box_matches": ("BoxMatches",),
    "_centres": ("AcrossCentres", "Centres"),
    "_certificate": ("Certificate",),
    "_check": ("Check", "Limit", "LimitCheck"),
    "_clinical": ("ClinicalSummary", "ClinicalValue"),
    "_comparison": ("Comparison",),
    "_conventions": ("Convention", "Conventions"),
    "_decision_curve": ("DecisionCurve", "NetBenefit"),
    "_evaluation": ("Estimate", "Evaluation"),
    "_judged_rate": ("JudgedQuantity", "JudgedRate"),
    "_optimism": ("Optimism", "OptimismOfMeasure"),
    "_order_bias": ("CoveredOrder", "OrderBias", "PredictorBias"),
    "_ranked_pairs": ("CoefficientDifference", "Difference"),
    "_reliability": ("ClasswiseReliability", "ReliabilityTable"),
    "_reliability_curve": ("ReliabilityCurve",),
    "_report": ("BeforeAfter", "BinView", "Change", "Entry", "Report"),
    "_risk_coverage": ("RiskCoverage",),
    "_robustness": ("RankCorrelation", "RankRobustness"),
    "_sampled_answers": ("SampledAnswers", "SampledConfidence"),
    "_slices": ("Slice", "Slices"),
    "_smooth_curve": ("OutsideBin", "SmoothCurve"),
    "_uncertainty": (
        "CalibrationTest",
        "CoxCalibration",
        "Interval",
        "NoiseFloor",
        "Verdict",
        "VoteNoise",
    ),
    "_vote_profile": ("VoteProfile",),
    "_window_slices": ("WindowSlice", "WindowSlices"),
    "_windows": ("Window", "Windows"),
}
_WHERE = {name: module for module, names in _MODULES.items() for name in names}

__all__ = sorted(_WHERE)


def __getattr__(name: str) -> Any:
    """Import the module of a result class on first access to the class."""
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_WHERE[name]}"), name)


def __dir__() -> list[str]:
    """The names of this module and of all result classes, imported or not."""
    return sorted({*globals(), *__all__})
