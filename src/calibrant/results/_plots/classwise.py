"""A grid of small reliability diagrams, one for each class against the rest, the worst first."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from calibrant._core.validation import check_count, public
from calibrant.results._plots.canvas import DrawnFromPredictions, Size, figure_size, panels
from calibrant.results._plots.captions import about_curve, rows_of_table, shown_of
from calibrant.results._plots.diagram_parts import (
    CURVE,
    bin_cells,
    draw_fitted,
    fitted_curve,
    x_label_of,
    y_label_of,
)
from calibrant.results._plots.fitting import fit_panels, has_layout_engine
from calibrant.results._plots.names import short_names
from calibrant.results._plots.style import COLOURS, COLUMN, GREY, INK, Looks
from calibrant.results._plots.typing import ClasswiseData, CurveData, ReliabilityData
from calibrant.results._rendering import percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Number of diagrams side by side in one column of a paper.
_ACROSS = 3
# Letters that a diagram's title has room for.
_TITLE = 15
# Inches that a diagram needs at least, in width and height, with its title.
_LEAST = (0.85, 1.0)


class ClasswiseDisplay(DrawnFromPredictions):
    """Small reliability diagrams of each class against the rest, the largest error first.

    Use `from_predictions` or `from_estimator`, or `ClasswiseReliability.plot`. Lines are isotonic
    curves of the rows, points are bins. Bars are intervals for the mean target; grey columns show
    the share of rows in each bin, the highest of a diagram at half of its height.

    Parameters
    ----------
    tables : ClasswiseReliability
        The tables to draw.

    Attributes
    ----------
    axes_ : list of matplotlib Axes
        One for each class that is shown.
    figure_ : matplotlib Figure or SubFigure
        Where the diagrams are drawn.
    lines_ : list of matplotlib Line2D
        The points of the bins of each class.
    curves_ : list of matplotlib Line2D or None
        The curves of the rows.
    intervals_ : list of matplotlib LineCollection or None
        The bars of each class.

    Examples
    --------
    >>> from calibrant.plots import ClasswiseDisplay
    >>> rows = [[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.3, 0.3, 0.4], [0.1, 0.7, 0.2]]
    >>> display = ClasswiseDisplay.from_predictions([0, 1, 2, 1], rows, bins=2, cap=2)
    >>> display.caption().partition(". ")[0]
    'Reliability diagrams of each class against the rest, the largest error first'
    """

    def __init__(self, tables: ClasswiseData) -> None:
        self.tables = tables

    @public
    def plot(
        self,
        *,
        cap: int = 12,
        ax: Axes | None = None,
        level: float | None = 0.95,
        curve: str | None = "default",
        counts: bool = True,
        size: Size = None,
        color: Any = None,
    ) -> Self:
        """Draw the diagrams.

        Parameters
        ----------
        cap : int, default 12
            The largest number of classes shown; fewer where there is no room for them.
        ax : matplotlib Axes, optional
            Whose place the diagrams take; left out, a new figure.
        level : float or None, default 0.95
            Level of the intervals; None draws none.
        curve : {"default", "isotonic", "local"} or None, default "default"
            The curve of the rows: isotonic by default, where rows are in memory. None joins the
            bins by a line.
        counts : bool, default True
            Whether to draw columns that show the share of rows in each bin.
        size : "column" or tuple of two floats, optional
            Size of a new figure: 3.3 x 2.6 inches, or (width, height) in inches.
        color : matplotlib color, optional
            Color of the curves.

        Returns
        -------
        self
            The display, drawn.
        """
        check_count("cap", cap, 1, "a whole number of classes, at least 1")
        n, across = _room_for(ax, size, min(int(cap), len(self.tables)))
        down = math.ceil(n / across)
        usual = COLUMN * across / _ACROSS + (0.3 if across < _ACROSS else 0), 0.45 + 1.2 * down
        with panels(ax, down, across, usual, size, sharex=True, sharey=True) as (figure, axes):
            self.figure_ = figure
            self.axes_ = list(axes.flat[:n])
            for empty in axes.flat[n:]:
                empty.remove()
            self._draw_classes(level, curve, counts, COLOURS[0] if color is None else color)
            for i, each in enumerate(
                self.axes_
            ):  # only the last diagram of a column has tick labels
                each.tick_params(labelbottom=i + across >= n, labelleft=i % across == 0)
            self._label_figure()
        self._sentences = self._explain(n, level, counts)
        return self

    def _explain(self, n: int, level: float | None, counts: bool) -> list[str]:
        """The sentences of the caption; `n` is the number of classes shown."""
        first, fitted = self.tables.tables[0], self.curves_[0]
        bins = "Points are bins" + (
            f" with {percent(level)} confidence intervals." if level is not None else "."
        )
        return [
            "Reliability diagrams of each class against the rest, the largest error first. Each "
            f"has {rows_of_table(first)}.",
            bins,
            "" if fitted is None else about_curve(self._fitted, False),
            "Grey columns show the share of rows in each bin." if counts else "",
            shown_of(n, len(self.tables), "classes", "worst"),
        ]

    def _draw_classes(
        self, level: float | None, curve: str | None, counts: bool, colour: Any
    ) -> None:
        """Draw a small diagram for each class that is shown, the largest error first.

        The artists are kept in `lines_`, `intervals_` and `curves_`. The arguments are those of
        `plot`.
        """
        self.lines_, self.intervals_, self.curves_ = [], [], []
        names = short_names(self.tables.names[: len(self.axes_)], _TITLE)
        for ax, name, table in zip(self.axes_, names, self.tables.tables, strict=False):
            self._fitted = fitted = fitted_curve(table, curve, None)
            line, bars, joined = small_diagram(ax, table, level, fitted, counts, colour)
            ax.set_title(
                f"{name}\nECE {table.ece:.3f}", fontsize="small", pad=3, color=INK, linespacing=1.1
            )
            self.lines_.append(line)
            self.intervals_.append(bars)
            self.curves_.append(joined)

    def _label_figure(self) -> None:
        """Label the axes of the figure as a whole."""
        table, figure = self.tables.tables[0], self.figure_
        x, y = x_label_of(table.notion), y_label_of(table.notion, table.is_hard)
        below = figure.supxlabel(x, fontsize="medium", color=INK)
        left = figure.supylabel(y, fontsize="medium", color=INK)
        if has_layout_engine(figure):
            return
        letters = figure.dpi / 72 * float(below.get_fontsize()) * 1.4
        below.set(x=0.5, y=0.0, va="bottom")
        left.set(x=0.0, y=0.5, ha="left")
        fit_panels(figure, self.axes_, letters, letters)


def _room_for(ax: Axes | None, size: Size, n: int) -> tuple[int, int]:
    """How many of `n` diagrams have room on `ax` or a figure of a chosen size, and side by side."""
    if ax is None and size is None:
        return n, min(_ACROSS, n)
    width, height = figure_size(ax, (COLUMN, COLUMN), size)
    if ax is not None:
        width, height = (each / ax.figure.dpi for each in ax.get_window_extent().size)
    across = max(1, min(_ACROSS, n, int((width - 0.35) / _LEAST[0])))
    down = max(1, int((height - 0.35) / _LEAST[1]))
    return min(n, across * down), across


def small_diagram(
    ax: Axes,
    table: ReliabilityData,
    level: float | None,
    fitted: CurveData | None,
    counts: bool,
    colour: Any,
) -> tuple[Any, Any, Any]:
    """Draw a reliability diagram that is readable at a width of an inch.

    Returns the line of the bins, their bars (None if `level` is None), and the curve `fitted` to
    the rows (None if `fitted` is None; then a line joins the bins). With `counts`, columns behind
    them show the share of rows in each bin.
    """
    cells, nonempty = bin_cells(table, level)
    ax.set(xlim=(0, 1), ylim=(0, 1), xticks=[0, 0.5, 1], yticks=[0, 0.5, 1])
    ax.set_xticklabels(["0", ".5", "1"])
    ax.set_yticklabels(["0", ".5", "1"])
    ax.set_box_aspect(1)
    ax.spines[["top", "right"]].set_visible(False)
    ax.plot([0, 1], [0, 1], color=GREY, linewidth=0.7, linestyle=(0, (4, 3)), zorder=2)
    if counts:
        _draw_row_shares(ax, cells)
    x, y = cells["mean_predicted"][nonempty], cells["mean_target"][nonempty]
    looks: dict[str, Any] = {"color": colour, "linewidth": 0.9, "clip_on": False}
    style = "-" if fitted is None else "none"
    dot: Looks = {"marker": "o", "markersize": 2.4, "zorder": 3, **looks}
    (line,) = ax.plot(x, y, gid=CURVE, linestyle=style, **dot)
    joined = None if fitted is None else draw_fitted(ax, fitted, looks)
    bars = None
    if level is not None:
        low, high = cells["low"][nonempty], cells["high"][nonempty]
        bars = ax.vlines(x, low, high, color=colour, linewidth=1, alpha=0.45, zorder=2.5)
    return line, bars, joined


def _draw_row_shares(ax: Axes, cells: dict[str, Any]) -> None:
    """Draw the share of rows in each bin behind the curve; the highest is half the diagram high.

    `cells` are the columns of `bin_cells`.
    """
    share = cells["weight"] / cells["weight"].max() / 2
    width = cells["upper"] - cells["lower"]
    if np.ptp(width) < 1e-9 < width[0]:
        ax.bar(cells["lower"], share, width, align="edge", color="#e0e0e0", zorder=1.2)
    else:  # bins of several widths: a line at each mean prediction
        ax.vlines(cells["mean_predicted"], 0, share, color="#d4d4d4", linewidth=2.2, zorder=1.2)
