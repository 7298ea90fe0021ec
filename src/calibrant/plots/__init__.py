"""Diagrams with matplotlib, as Display classes; importing this room costs nothing.

>>> from calibrant.plots import ReliabilityDisplay
>>> ReliabilityDisplay.from_predictions([0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4], bins=2).table.n
4
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from calibrant.results._plots.bin_sensitivity import BinSensitivityDisplay
    from calibrant.results._plots.classwise import ClasswiseDisplay
    from calibrant.results._plots.comparison import ComparisonDisplay
    from calibrant.results._plots.overlay import OverlaidReliabilityDisplay
    from calibrant.results._plots.reliability import ReliabilityDisplay
    from calibrant.results._plots.robustness import RankRobustnessDisplay
    from calibrant.results._plots.slices import SlicesDisplay
    from calibrant.results._plots.smooth import SmoothReliabilityDisplay
    from calibrant.results._plots.windows import WindowsDisplay

__all__ = [
    "BinSensitivityDisplay",
    "ClasswiseDisplay",
    "ComparisonDisplay",
    "OverlaidReliabilityDisplay",
    "RankRobustnessDisplay",
    "ReliabilityDisplay",
    "SlicesDisplay",
    "SmoothReliabilityDisplay",
    "WindowsDisplay",
]

_WHERE = {
    "BinSensitivityDisplay": "bin_sensitivity",
    "ClasswiseDisplay": "classwise",
    "ComparisonDisplay": "comparison",
    "OverlaidReliabilityDisplay": "overlay",
    "RankRobustnessDisplay": "robustness",
    "ReliabilityDisplay": "reliability",
    "SlicesDisplay": "slices",
    "SmoothReliabilityDisplay": "smooth",
    "WindowsDisplay": "windows",
}


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"calibrant.results._plots.{_WHERE[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
