"""Result classes: what the functions of Calibrant return.

Each prints as text, shows as HTML in a notebook, and becomes JSON (`to_json`) or a frame
(`to_frame`). Importing this module imports none of them.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # names that a type checker sees; `X as X` makes them public
    from calibrant.results._annotator_ceiling import AnnotatorCeiling as AnnotatorCeiling
    from calibrant.results._annotator_ceiling import Predictor as Predictor
    from calibrant.results._annotators import Annotator as Annotator
    from calibrant.results._annotators import Annotators as Annotators
    from calibrant.results._audit import Audit as Audit
    from calibrant.results._audit import AuditVerdict as AuditVerdict
    from calibrant.results._base import Record as Record
    from calibrant.results._base import Result as Result
    from calibrant.results._bayes_error import BayesError as BayesError
    from calibrant.results._bin_sensitivity import BinSensitivity as BinSensitivity
    from calibrant.results._bounds import Bound as Bound
    from calibrant.results._bounds import Bounds as Bounds
    from calibrant.results._bounds import ReliabilityBounds as ReliabilityBounds
    from calibrant.results._box_matches import BoxMatches as BoxMatches
    from calibrant.results._centres import AcrossCentres as AcrossCentres
    from calibrant.results._centres import Centres as Centres
    from calibrant.results._certificate import Certificate as Certificate
    from calibrant.results._check import Check as Check
    from calibrant.results._check import Limit as Limit
    from calibrant.results._check import LimitCheck as LimitCheck
    from calibrant.results._clinical import ClinicalSummary as ClinicalSummary
    from calibrant.results._clinical import ClinicalValue as ClinicalValue
    from calibrant.results._comparison import Comparison as Comparison
    from calibrant.results._conventions import Convention as Convention
    from calibrant.results._conventions import Conventions as Conventions
    from calibrant.results._decision_curve import DecisionCurve as DecisionCurve
    from calibrant.results._decision_curve import NetBenefit as NetBenefit
    from calibrant.results._evaluation import Estimate as Estimate
    from calibrant.results._evaluation import Evaluation as Evaluation
    from calibrant.results._judged_rate import JudgedQuantity as JudgedQuantity
    from calibrant.results._judged_rate import JudgedRate as JudgedRate
    from calibrant.results._optimism import Optimism as Optimism
    from calibrant.results._optimism import OptimismOfMeasure as OptimismOfMeasure
    from calibrant.results._order_bias import CoveredOrder as CoveredOrder
    from calibrant.results._order_bias import OrderBias as OrderBias
    from calibrant.results._order_bias import PredictorBias as PredictorBias
    from calibrant.results._ranked_pairs import CoefficientDifference as CoefficientDifference
    from calibrant.results._ranked_pairs import Difference as Difference
    from calibrant.results._reliability import ClasswiseReliability as ClasswiseReliability
    from calibrant.results._reliability import ReliabilityTable as ReliabilityTable
    from calibrant.results._reliability_curve import ReliabilityCurve as ReliabilityCurve
    from calibrant.results._report import BeforeAfter as BeforeAfter
    from calibrant.results._report import BinView as BinView
    from calibrant.results._report import Change as Change
    from calibrant.results._report import Entry as Entry
    from calibrant.results._report import Report as Report
    from calibrant.results._risk_coverage import RiskCoverage as RiskCoverage
    from calibrant.results._robustness import RankCorrelation as RankCorrelation
    from calibrant.results._robustness import RankRobustness as RankRobustness
    from calibrant.results._sampled_answers import SampledAnswers as SampledAnswers
    from calibrant.results._sampled_answers import SampledConfidence as SampledConfidence
    from calibrant.results._slices import Slice as Slice
    from calibrant.results._slices import Slices as Slices
    from calibrant.results._smooth_curve import OutsideBin as OutsideBin
    from calibrant.results._smooth_curve import SmoothCurve as SmoothCurve
    from calibrant.results._uncertainty import CalibrationTest as CalibrationTest
    from calibrant.results._uncertainty import CoxCalibration as CoxCalibration
    from calibrant.results._uncertainty import Interval as Interval
    from calibrant.results._uncertainty import NoiseFloor as NoiseFloor
    from calibrant.results._uncertainty import Verdict as Verdict
    from calibrant.results._uncertainty import VoteNoise as VoteNoise
    from calibrant.results._vote_profile import VoteProfile as VoteProfile
    from calibrant.results._window_slices import WindowSlice as WindowSlice
    from calibrant.results._window_slices import WindowSlices as WindowSlices
    from calibrant.results._windows import Window as Window
    from calibrant.results._windows import Windows as Windows

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
