"""Diagrams with matplotlib, as Display classes; importing this module imports no plotting package.

>>> from calibrant.plots import ReliabilityDisplay
>>> ReliabilityDisplay.from_predictions([0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4], bins=2).table.n
4
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
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

# Drawn from their results alone; to the others `_displays` adds constructors for predictions.
_OF_RESULTS = {
    "AnnotatorsDisplay": "calibrant.results._plots.annotators",
    "BeforeAfterDisplay": "calibrant.results._plots.before_after",
    "CentreCurveDisplay": "calibrant.results._plots.forest",
    "ClinicalDisplay": "calibrant.results._plots.clinical",
    "DecisionCurveDisplay": "calibrant.results._plots.decision_curve",
    "ForestDisplay": "calibrant.results._plots.forest",
    "RankRobustnessDisplay": "calibrant.results._plots.robustness",
    "SlicesDisplay": "calibrant.results._plots.slices",
    "VoteProfileDisplay": "calibrant.results._plots.vote_profile",
    "before_after": "calibrant.results._plots.before_after",
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_OF_RESULTS.get(name, "calibrant.integrations._displays")), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
