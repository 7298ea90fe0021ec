"""The interval of predictions whose gaps add up to most, shaded in a reliability diagram."""

from __future__ import annotations

import numbers
from typing import TYPE_CHECKING, Any

from calibrant._core.errors import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Marks what is drawn here, for the legend; the interval follows.
CUTOFF = "calibrant cutoff: "


def cutoff_interval(cutoff: Any) -> tuple[float, float] | None:
    """The interval of a `cutoff_test`, or of a pair of predictions; None for None."""
    if cutoff is None:
        return None
    pair = getattr(cutoff, "where", cutoff)
    if hasattr(cutoff, "where") and pair is None:
        raise InputError(
            f"cutoff must be the result of cutoff_test, which has an interval; that of the "
            f"{getattr(cutoff, 'name', 'test')} has none"
        )
    if not isinstance(pair, tuple | list) or len(pair) != 2 or not all(map(_in_unit, pair)):
        raise InputError(
            "cutoff must be the result of cutoff_test, or two predictions from 0 to 1, the lower "
            f"first; got {cutoff!r}"
        )
    lower, upper = float(pair[0]), float(pair[1])
    if lower > upper:
        raise InputError(f"cutoff must have the lower prediction first; got {cutoff!r}")
    return lower, upper


def _in_unit(value: Any) -> bool:
    number = isinstance(value, numbers.Real) and not isinstance(value, bool)
    return number and 0.0 <= float(value) <= 1.0


def cutoff_words(lower: float, upper: float) -> str:
    """What the legend says of the interval."""
    return f"largest accumulated gap: {lower:.3g} to {upper:.3g}"


def draw_cutoff(ax: Axes, interval: tuple[float, float], colour: Any) -> Any:
    """Shade the interval; its edges are lines, so that a single prediction is seen too."""
    lower, upper = interval
    for edge in sorted({lower, upper}):
        ax.axvline(edge, color=colour, linewidth=0.8, linestyle=(0, (1, 2)), zorder=1.2)
    return ax.axvspan(
        lower, upper, color=colour, alpha=0.12, linewidth=0, zorder=1.1,
        gid=CUTOFF + cutoff_words(lower, upper),
    )  # fmt: skip
