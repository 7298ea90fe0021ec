# Written by .ci/stub.py: change the functions, then run it.

from calibrant.results._plots.annotators import AnnotatorsDisplay
from calibrant.results._plots.before_after import BeforeAfterDisplay, before_after
from calibrant.results._plots.bin_sensitivity import BinSensitivityDisplay
from calibrant.results._plots.classwise import ClasswiseDisplay
from calibrant.results._plots.clinical import ClinicalDisplay
from calibrant.results._plots.comparison import ComparisonDisplay
from calibrant.results._plots.curves import ReliabilityCurveDisplay, SmoothReliabilityDisplay
from calibrant.results._plots.decision_curve import DecisionCurveDisplay
from calibrant.results._plots.forest import CentreCurveDisplay, ForestDisplay
from calibrant.results._plots.reliability import OverlaidReliabilityDisplay, ReliabilityDisplay
from calibrant.results._plots.risk_coverage import RiskCoverageDisplay
from calibrant.results._plots.risk_histogram import RiskHistogramDisplay
from calibrant.results._plots.robustness import RankRobustnessDisplay
from calibrant.results._plots.slices import SlicesDisplay
from calibrant.results._plots.vote_profile import VoteProfileDisplay
from calibrant.results._plots.windows import WindowsDisplay

__all__ = [
    "AnnotatorsDisplay",
    "BeforeAfterDisplay",
    "BinSensitivityDisplay",
    "CentreCurveDisplay",
    "ClasswiseDisplay",
    "ClinicalDisplay",
    "ComparisonDisplay",
    "DecisionCurveDisplay",
    "ForestDisplay",
    "OverlaidReliabilityDisplay",
    "RankRobustnessDisplay",
    "ReliabilityCurveDisplay",
    "ReliabilityDisplay",
    "RiskCoverageDisplay",
    "RiskHistogramDisplay",
    "SlicesDisplay",
    "SmoothReliabilityDisplay",
    "VoteProfileDisplay",
    "WindowsDisplay",
    "before_after",
]
