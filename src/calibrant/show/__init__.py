"""Diagrams with matplotlib, as Display classes; importing this room costs nothing.

>>> from calibrant.show import ReliabilityDisplay
>>> ReliabilityDisplay.from_predictions([0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4], bins=2).table.n
4
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from calibrant.show.bin_sensitivity_diagram import BinSensitivityDisplay
    from calibrant.show.classwise_diagram import ClasswiseDisplay
    from calibrant.show.comparison_diagram import ComparisonDisplay
    from calibrant.show.diagrams import ReliabilityDisplay
    from calibrant.show.overlay_diagram import OverlaidReliabilityDisplay
    from calibrant.show.robustness_diagram import RankRobustnessDisplay
    from calibrant.show.slices_diagram import SlicesDisplay
    from calibrant.show.smooth_diagram import SmoothReliabilityDisplay
    from calibrant.show.windows_diagram import WindowsDisplay

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
    "BinSensitivityDisplay": "bin_sensitivity_diagram",
    "ClasswiseDisplay": "classwise_diagram",
    "ComparisonDisplay": "comparison_diagram",
    "OverlaidReliabilityDisplay": "overlay_diagram",
    "RankRobustnessDisplay": "robustness_diagram",
    "ReliabilityDisplay": "diagrams",
    "SlicesDisplay": "slices_diagram",
    "SmoothReliabilityDisplay": "smooth_diagram",
    "WindowsDisplay": "windows_diagram",
}


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_WHERE[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
