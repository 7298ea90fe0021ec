"""Rows of dots with bars, names to their left: how comparisons and slices are drawn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from calibrant._core.validation import check_count
from calibrant.results._plots.names import short_names
from calibrant.results._plots.style import COLOURS, GREY

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Letters that names have room for beside the dots, one column wide.
_NAMES = 20
# Inches that a row takes.
_ROW = 0.17


def checked_cap(cap: Any) -> int:
    """How many rows are drawn at most."""
    return check_count("cap", cap, 1, "a whole number of rows, at least 1")


def height_of(n: int) -> float:
    """Inches that a figure of so many rows takes."""
    return max(0.6, _ROW * n) + 0.85


def dots(
    ax: Axes,
    values: ArrayLike,
    limits: tuple[ArrayLike, ArrayLike] | None,
    *,
    filled: ArrayLike | None = None,
    color: Any = None,
) -> tuple[Any, Any]:
    """A dot for each value, from the top, and a bar from its lower to its upper limit.

    Dots that are not `filled` are rings: values that tell nothing from chance.
    """
    colour = COLOURS[0] if color is None else color
    n = np.size(np.asarray(values))
    places = np.arange(n)
    bars = None
    if limits is not None:
        bars = ax.hlines(
            places, limits[0], limits[1], color=colour, linewidth=2.2, alpha=0.35, zorder=2.5
        )
    solid = np.ones(n, dtype=bool) if filled is None else np.asarray(filled)
    face = np.where(solid, str(colour), "white") if isinstance(colour, str) else colour
    points = ax.scatter(
        values, places, s=16, c=face, edgecolors=colour, linewidths=1, zorder=3, clip_on=False
    )
    ax.set_ylim(n - 0.5, -0.5)
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.spines["bottom"].set(color=GREY, linewidth=0.8)
    ax.grid(True, axis="x", color="#e8e8e8", linewidth=0.6)
    ax.grid(False, axis="y")
    ax.set_axisbelow(True)
    ax.margins(x=0.08)
    ax.locator_params(axis="x", nbins=5)
    return points, bars


def sample_marks(ax: Axes, values: ArrayLike, estimates: ArrayLike, color: Any = None) -> Any:
    """A small cross at each value of the sample; None where they are the estimates."""
    values, estimates = np.asarray(values), np.asarray(estimates)
    differs = ~np.isclose(values, estimates, rtol=1e-6, atol=0.0, equal_nan=True)
    if not differs.any():
        return None
    places = np.flatnonzero(differs)
    colour = COLOURS[0] if color is None else color
    return ax.scatter(
        values[differs], places, s=14, marker="x", color=colour, linewidths=0.9, zorder=2.8
    )


def name_rows(ax: Axes, names: Sequence[object], most: int = _NAMES) -> None:
    """The names to the left of the rows."""
    ax.set_yticks(range(len(names)), short_names(names, most))
    ax.tick_params(axis="y", length=0)
