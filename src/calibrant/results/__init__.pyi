# Written by .ci/stub.py: change the functions, then run it.

from calibrant.results._annotator_ceiling import AnnotatorCeiling, Predictor
from calibrant.results._annotators import Annotator, Annotators
from calibrant.results._audit import Audit, AuditVerdict
from calibrant.results._base import Record, Result
from calibrant.results._bayes_error import BayesError
from calibrant.results._bin_sensitivity import BinSensitivity
from calibrant.results._bounds import Bound, Bounds, ReliabilityBounds
from calibrant.results._box_matches import BoxMatches
from calibrant.results._centres import AcrossCentres, Centres
from calibrant.results._certificate import Certificate
from calibrant.results._check import Check, Limit, LimitCheck
from calibrant.results._clinical import ClinicalSummary, ClinicalValue
from calibrant.results._comparison import Comparison
from calibrant.results._conventions import Convention, Conventions
from calibrant.results._decision_curve import DecisionCurve, NetBenefit
from calibrant.results._evaluation import Estimate, Evaluation
from calibrant.results._judged_rate import JudgedQuantity, JudgedRate
from calibrant.results._optimism import Optimism, OptimismOfMeasure
from calibrant.results._order_bias import CoveredOrder, OrderBias, PredictorBias
from calibrant.results._ranked_pairs import CoefficientDifference, Difference
from calibrant.results._reliability import ClasswiseReliability, ReliabilityTable
from calibrant.results._reliability_curve import ReliabilityCurve
from calibrant.results._report import BeforeAfter, BinView, Change, Entry, Report
from calibrant.results._risk_coverage import RiskCoverage
from calibrant.results._robustness import RankCorrelation, RankRobustness
from calibrant.results._sampled_answers import SampledAnswers, SampledConfidence
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
from calibrant.results._window_slices import WindowSlice, WindowSlices
from calibrant.results._windows import Window, Windows

__all__ = [
    "AcrossCentres",
    "Annotator",
    "AnnotatorCeiling",
    "Annotators",
    "Audit",
    "AuditVerdict",
    "BayesError",
    "BeforeAfter",
    "BinSensitivity",
    "BinView",
    "Bound",
    "Bounds",
    "BoxMatches",
    "CalibrationTest",
    "Centres",
    "Certificate",
    "Change",
    "Check",
    "ClasswiseReliability",
    "ClinicalSummary",
    "ClinicalValue",
    "CoefficientDifference",
    "Comparison",
    "Convention",
    "Conventions",
    "CoveredOrder",
    "CoxCalibration",
    "DecisionCurve",
    "Difference",
    "Entry",
    "Estimate",
    "Evaluation",
    "Interval",
    "JudgedQuantity",
    "JudgedRate",
    "Limit",
    "LimitCheck",
    "NetBenefit",
    "NoiseFloor",
    "Optimism",
    "OptimismOfMeasure",
    "OrderBias",
    "OutsideBin",
    "Predictor",
    "PredictorBias",
    "RankCorrelation",
    "RankRobustness",
    "Record",
    "ReliabilityBounds",
    "ReliabilityCurve",
    "ReliabilityTable",
    "Report",
    "Result",
    "RiskCoverage",
    "SampledAnswers",
    "SampledConfidence",
    "Slice",
    "Slices",
    "SmoothCurve",
    "Verdict",
    "VoteNoise",
    "VoteProfile",
    "Window",
    "WindowSlice",
    "WindowSlices",
    "Windows",
]
