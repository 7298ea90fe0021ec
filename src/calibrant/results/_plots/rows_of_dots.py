"""Rows of dots with bars, names to their left: how comparisons and slices are drawn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from calibrant._core.validation import check_count
from calibrant.results._plots.canvas import (
    Size,
    figure_size,
    has_chosen_size,
    is_new_figure,
    style_frame,
)
from calibrant.results._plots.figure_cells import cell_of
from calibrant.results._plots.fitting import SMALLEST
from calibrant.results._plots.legends import LegendOption, legend_below_figure, place_legend
from calibrant.results._plots.names import short_names
from calibrant.results._plots.style import COLOURS, GREY

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Letters that a name has room for beside the dots, on a figure one column of a paper wide.
_NAMES = 20
# The share of their height that axes of the caller keep with a legend below.
_KEPT = 0.72
# Inches that a row takes.
_ROW = 0.17


def check_cap(cap: Any) -> int:
    """Check the largest number of rows to draw: a whole number, at least 1."""
    return check_count("cap", cap, 1, "a whole number of rows, at least 1")


def height_of(n: int) -> float:
    """The height in inches of a figure with `n` rows."""
    return max(0.6, _ROW * n) + 0.85


def rows_with_room(ax: Axes | None, size: Size) -> int:
    """The largest number of rows whose names do not touch, on `ax` or a figure of a chosen size.

    A figure of the usual size grows with its rows.
    """
    if ax is not None and not is_new_figure(ax):
        height = _KEPT * ax.get_window_extent().height / ax.figure.dpi
    elif size is not None:
        height = figure_size(ax, (0.0, 0.0), size)[1] - 0.95
    else:
        return 10**6
    return max(1, int(height / (1.25 * SMALLEST / 72)))


def draw_dots(
    ax: Axes,
    values: ArrayLike,
    limits: tuple[ArrayLike, ArrayLike] | None,
    *,
    filled: ArrayLike | None = None,
    color: Any = None,
) -> tuple[Any, Any]:
    """Draw a row for each value, from the top: a dot, and a bar from its lower to its upper limit.

    Dots that are not `filled` are rings, for values that do not differ from chance. Returns the
    dots, and the bars (None if `limits` is None).
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
    style_frame(ax, grid="x", ylim=(n - 0.5, -0.5))
    ax.spines["left"].set_visible(False)
    ax.grid(False, axis="y")
    ax.margins(x=0.08)
    ax.locator_params(axis="x", nbins=5)
    return points, bars


def draw_sample_crosses(
    ax: Axes, values: ArrayLike, estimates: ArrayLike, color: Any = None
) -> Any:
    """Draw a small cross at each value of the sample that differs from its estimate.

    Returns the crosses, or None if no value differs.
    """
    values, estimates = np.asarray(values), np.asarray(estimates)
    differs = ~np.isclose(values, estimates, rtol=1e-6, atol=0.0, equal_nan=True)
    if not differs.any():
        return None
    places = np.flatnonzero(differs)
    colour = COLOURS[0] if color is None else color
    return ax.scatter(
        values[differs], places, s=14, marker="x", color=colour, linewidths=0.9, zorder=2.8
    )


def name_rows(
    ax: Axes, names: Sequence[object], most: int = _NAMES, counts: Sequence[int] | None = None
) -> None:
    """Write names to the left of the rows, with `counts` in parentheses if they are given.

    Names are shortened to `most` letters, or to fewer where the cell of the axes is narrow. They
    are smaller where rows are close, and only some rows have theirs where that is not enough.
    """
    if counts is not None:
        names = [f"{name} ({n})" for name, n in zip(names, counts, strict=True)]
    labels, step = ax.get_yticklabels(), 1
    letters = float(labels[0].get_fontsize()) if labels else 8.0
    if not is_new_figure(ax) or has_chosen_size(ax):
        room, pitch = _room_for_names(ax, len(names))
        step = max(1, int(np.ceil(1.15 * SMALLEST / pitch)))
        letters = max(SMALLEST, min(letters, pitch * step / 1.15))
        most = max(6, min(most, int(room / (0.62 * letters))))
    shown = short_names(names, most)
    ax.set_yticks(range(0, len(names), step), shown[::step], fontsize=letters)
    ax.tick_params(axis="y", length=0)


def _room_for_names(ax: Axes, n: int) -> tuple[float, float]:
    """The width that names may have, and the height of each of `n` rows, both in points."""
    inch = ax.figure.dpi
    if is_new_figure(ax):
        width, height = (each / inch for each in ax.figure.bbox.size)
        return 72 * 0.45 * width, 72 * (height - 0.95) / max(n, 1)
    box = ax.get_window_extent()
    left, _, right, _ = cell_of(ax)
    return 72 * 0.5 * (right - left) / inch, 72 * _KEPT * box.height / inch / max(n, 1)


def draw_chance_marks(ax: Axes, values: ArrayLike) -> Any:
    """Draw a vertical mark in each row at the value that chance alone would show."""
    places = np.arange(np.size(np.asarray(values)))
    return ax.scatter(values, places, marker="|", s=40, color=GREY, linewidths=1.4, zorder=2)


# Entries of a legend under rows of dots.


def dot_entry(label: str, color: Any, **looks: Any) -> Any:
    """The legend's entry for a dot with this label; `color` None is the first colour.

    `looks` are options of `Line2D`: ``markerfacecolor="white"`` makes it a ring.
    """
    from matplotlib.lines import Line2D

    colour = COLOURS[0] if color is None else color
    dot: dict[str, Any] = {"marker": "o", "linestyle": "none", "markersize": 4, "color": colour}
    return Line2D([], [], label=label, **{**dot, **looks})


def ring_entry(label: str, color: Any) -> Any:
    """The legend's entry for a ring, a dot that is not filled."""
    return dot_entry(label, color, markerfacecolor="white")


def sample_entry(color: Any) -> Any:
    """The legend's entry for crosses at values of the sample."""
    return dot_entry("in the sample", color, marker="x", markeredgewidth=0.9)


def chance_entry(label: str) -> Any:
    """The legend's entry for vertical marks at values that chance would show."""
    return dot_entry(label, GREY, marker="|", markersize=7, markeredgewidth=1.4)


def bar_entry(label: str, color: Any) -> Any:
    """The legend's entry for an interval: a thick pale line."""
    return dot_entry(label, color, marker="", linestyle="-", linewidth=2.2, alpha=0.35)


def legend_of_rows(
    ax: Axes, handles: list[Any], legend: LegendOption, *, on_own_figure: bool
) -> None:
    """Put a legend under the rows of dots, or where `legend` says.

    On a figure or subfigure of their own it goes under everything there, otherwise under the axes.
    """
    if on_own_figure:
        legend_below_figure(ax.figure, handles, legend)
    else:
        place_legend(ax, handles, legend)
