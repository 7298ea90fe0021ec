"""The cell of axes in a grid of subplots: their place, and the gaps that are theirs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Inches by which a tick label may reach over the right edge of its axes.
_REACH = 0.12


def cell_of(ax: Axes) -> Any:
    """The cell of the axes in pixels, (left, bottom, right, top), between those of its neighbours.

    The gap on the left and the gap below belong to it, less the room for a title below.
    """
    root: Any = ax.figure.figure
    own, figure = _place(ax), root.bbox
    inch = ax.figure.dpi
    left, bottom, right, top = figure.x0, figure.y0, figure.x1, own.y1
    title = 1.8 * float(ax.title.get_fontsize()) / 72 * inch
    for other in root.axes:
        if other is ax or other.get_subplotspec() is None or not _is_beside(other, ax):
            continue
        box = _place(other)
        if box.x1 <= own.x0 and _overlap(box.intervaly, own.intervaly):
            left = max(left, box.x1 + (_REACH + 0.04) * inch)
        if box.x0 >= own.x1 and _overlap(box.intervaly, own.intervaly):
            right = min(right, own.x1 + _REACH * inch)
        if box.y1 <= own.y0 and _overlap(box.intervalx, own.intervalx):
            bottom = max(bottom, box.y1 + title)
    if ax.get_title():
        top = min(own.y1 + title, figure.y1)
    return left, bottom, right, top


def _is_beside(other: Axes, ax: Axes) -> bool:
    """Whether two axes are of the same figure, and not in one another's place."""
    return other.figure is ax.figure or other.axison


def _place(ax: Axes) -> Any:
    """Where the axes would be without a locator, in pixels."""
    figure: Any = ax.figure
    return ax.get_position(original=True).transformed(figure.transSubfigure)


def _overlap(first: Any, second: Any) -> bool:
    """Whether two intervals have more than an end in common."""
    return bool(min(first[1], second[1]) > max(first[0], second[0]) + 1)


def fill_cell(subfigure: Any, ax: Axes) -> None:
    """Give a subfigure that replaces axes their cell: Matplotlib gives it a share of the figure."""
    left, bottom, right, _ = cell_of(ax)
    parent: Any = ax.figure
    corners = [(left, bottom), (right, _place(ax).y1)]
    low, high = parent.transSubfigure.inverted().transform(corners)
    subfigure.bbox_relative.p0, subfigure.bbox_relative.p1 = low, high
