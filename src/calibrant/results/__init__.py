"""Result classes: what the functions of Calibrant return.

Each prints as text, shows as HTML in a notebook, and becomes JSON (`to_json`) or a frame
(`to_frame`). Importing this module imports none of them.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from calibrant.results._annotator_ceiling import AnnotatorCeiling, Predictor
    from calibrant.results._annotators import Annotator, Annotators
    from calibrant.results._audit import Audit, AuditVerdict
    from calibrant.results._base import Record, Result
    from calibrant.results._bayes_error import BayesError
    from calibrant.results._bin_sensitivity import BinSensitivity
    from calibrant.results._check import Check, Limit, LimitCheck
    from calibrant.results._clinical import ClinicalSummary, ClinicalValue
    from calibrant.results._comparison import Comparison
    from calibrant.results._conventions import Convention, Conventions
    from calibrant.results._decision_curve import DecisionCurve, NetBenefit
    from calibrant.results._evaluation import Estimate, Evaluation
    from calibrant.results._ranked_pairs import Difference
    from calibrant.results._reliability import ClasswiseReliability, ReliabilityTable
    from calibrant.results._reliability_curve import ReliabilityCurve
    from calibrant.results._report import BeforeAfter, BinView, Change, Entry, Report
    from calibrant.results._risk_coverage import RiskCoverage
    from calibrant.results._robustness import RankCorrelation, RankRobustness
    from calibrant.results._slices import Slice, Slices
    from calibrant.results._smooth_curve import OutsideBin, SmoothCurve
    from calibrant.results._uncertainty import (
        CalibrationTest,
        CoxCalibration,
        Interval,
        NoiseFloor,
        Verdict,
        VoteNoise,
    )
    from calibrant.results._vote_profile import VoteProfile
    from calibrant.results._windows import Window, Windows

_MODULES = {
    "_annotator_ceiling": ("AnnotatorCeiling", "Predictor"),
    "_annotators": ("Annotator", "Annotators"),
    "_audit": ("Audit", "AuditVerdict"),
    "_base": ("Record", "Result"),
    "_bayes_error": ("BayesError",),
    "_bin_sensitivity": ("BinSensitivity",),
    "_check": ("Check", "Limit", "LimitCheck"),
    "_clinical": ("ClinicalSummary", "ClinicalValue"),
    "_comparison": ("Comparison",),
    "_conventions": ("Convention", "Conventions"),
    "_decision_curve": ("DecisionCurve", "NetBenefit"),
    "_evaluation": ("Estimate", "Evaluation"),
    "_ranked_pairs": ("Difference",),
    "_reliability": ("ClasswiseReliability", "ReliabilityTable"),
    "_reliability_curve": ("ReliabilityCurve",),
    "_report": ("BeforeAfter", "BinView", "Change", "Entry", "Report"),
    "_risk_coverage": ("RiskCoverage",),
    "_robustness": ("RankCorrelation", "RankRobustness"),
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
    "_windows": ("Window", "Windows"),
}
_WHERE = {name: module for module, names in _MODULES.items() for name in names}

__all__ = [
    "Annotator",
    "AnnotatorCeiling",
    "Annotators",
    "Audit",
    "AuditVerdict",
    "BayesError",
    "BeforeAfter",
    "BinSensitivity",
    "BinView",
    "CalibrationTest",
    "Change",
    "Check",
    "ClasswiseReliability",
    "ClinicalSummary",
    "ClinicalValue",
    "Comparison",
    "Convention",
    "Conventions",
    "CoxCalibration",
    "DecisionCurve",
    "Difference",
    "Entry",
    "Estimate",
    "Evaluation",
    "Interval",
    "Limit",
    "LimitCheck",
    "NetBenefit",
    "NoiseFloor",
    "OutsideBin",
    "Predictor",
    "RankCorrelation",
    "RankRobustness",
    "Record",
    "ReliabilityCurve",
    "ReliabilityTable",
    "Report",
    "Result",
    "RiskCoverage",
    "Slice",
    "Slices",
    "SmoothCurve",
    "Verdict",
    "VoteNoise",
    "VoteProfile",
    "Window",
    "Windows",
]


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_WHERE[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
