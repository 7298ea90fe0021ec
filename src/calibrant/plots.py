"""Diagrams with matplotlib, as Display classes; importing this module imports no plotting package.

>>> from calibrant.plots import ReliabilityDisplay
>>> ReliabilityDisplay.from_predictions([0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4], bins=2).table.n
4
"""

from importlib import import_module
from typing import Any

# Where each name comes from: displays that are drawn from their results alone, and those to which
# `_displays` adds constructors for predictions. Editors and type checkers read the stub instead,
# which `.ci/stub.py` writes from this list.
_MODULES = {
    "calibrant.results._plots.annotators": ("AnnotatorsDisplay",),
    "calibrant.results._plots.before_after": ("BeforeAfterDisplay", "before_after"),
    "calibrant.results._plots.clinical": ("ClinicalDisplay",),
    "calibrant.results._plots.decision_curve": ("DecisionCurveDisplay",),
    "calibrant.results._plots.forest": ("CentreCurveDisplay", "ForestDisplay"),
    "calibrant.results._plots.robustness": ("RankRobustnessDisplay",),
    "calibrant.results._plots.slices": ("SlicesDisplay",),
    "calibrant.results._plots.vote_profile": ("VoteProfileDisplay",),
    "calibrant.integrations._displays": (
        "BinSensitivityDisplay",
        "ClasswiseDisplay",
        "ComparisonDisplay",
        "OverlaidReliabilityDisplay",
        "ReliabilityCurveDisplay",
        "ReliabilityDisplay",
        "RiskCoverageDisplay",
        "RiskHistogramDisplay",
        "SmoothReliabilityDisplay",
        "WindowsDisplay",
    ),
}
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names}

__all__ = sorted(_MODULE_OF)


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULE_OF[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
