"""A grid of small reliability diagrams, one for each class against the rest, the worst first."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from calibrant._core.validation import check_count, public
from calibrant.results._plots.canvas import DrawnFromPredictions, panels
from calibrant.results._plots.diagram_parts import (
    CURVE,
    bin_cells,
    draw_fitted,
    fitted_curve,
    x_label_of,
    y_label_of,
)
from calibrant.results._plots.names import short_names
from calibrant.results._plots.style import COLOURS, COLUMN, GREY, INK, Looks
from calibrant.results._plots.typing import ClasswiseData, CurveData, ReliabilityData

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Number of diagrams side by side in one column of a paper.
_ACROSS = 3
# Letters that a diagram's title has room for.
_TITLE = 15


class ClasswiseDisplay(DrawnFromPredictions):
    """Small reliability diagrams of each class against the rest, the largest error first.

    Use `from_predictions` or `from_estimator`, or `ClasswiseReliability.plot`. Lines are isotonic
    curves of the rows, points are bins. Bars are intervals for the mean target; grey columns show
    the share of rows in each bin, the highest of a diagram at half of its height. The line below
    says how many classes are shown.

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
    note_ : matplotlib Text
        The line below.

    Examples
    --------
    >>> from calibrant.plots import ClasswiseDisplay
    >>> rows = [[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.3, 0.3, 0.4], [0.1, 0.7, 0.2]]
    >>> display = ClasswiseDisplay.from_predictions([0, 1, 2, 1], rows, bins=2, cap=2)
    >>> display.note_.get_text()
    '2 of 3 classes, worst first; columns: share of rows'
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
        color: Any = None,
    ) -> Self:
        """Draw the diagrams.

        Parameters
        ----------
        cap : int, default 12
            The largest number of classes shown.
        ax : matplotlib Axes, optional
            Whose place the diagrams take; left out, a new figure.
        level : float or None, default 0.95
            Level of the intervals; None draws none.
        curve : {"default", "isotonic", "local"} or None, default "default"
            The curve of the rows: isotonic by default, where rows are in memory. None joins the
            bins by a line.
        counts : bool, default True
            Whether to draw columns that show the share of rows in each bin.
        color : matplotlib color, optional
            Color of the curves.

        Returns
        -------
        self
            The display, drawn.
        """
        check_count("cap", cap, 1, "a whole number of classes, at least 1")
        n = min(int(cap), len(self.tables))
        across = min(_ACROSS, n)
        down = math.ceil(n / across)
        size = COLUMN * across / _ACROSS + (0.3 if across < _ACROSS else 0), 0.62 + 1.2 * down
        with panels(ax, down, across, size, sharex=True, sharey=True) as (figure, axes):
            self.figure_ = figure
            self.axes_ = list(axes.flat[:n])
            for empty in axes.flat[n:]:
                empty.remove()
            self._draw_classes(level, curve, counts, COLOURS[0] if color is None else color)
            for i, each in enumerate(
                self.axes_
            ):  # only the last diagram of a column has tick labels
                each.tick_params(labelbottom=i + across >= n, labelleft=i % across == 0)
            self._label_figure(n, counts)
        return self

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
            fitted = fitted_curve(table, curve, None)
            line, bars, joined = small_diagram(ax, table, level, fitted, counts, colour)
            ax.set_title(
                f"{name}\nECE {table.ece:.3f}", fontsize="small", pad=3, color=INK, linespacing=1.1
            )
            self.lines_.append(line)
            self.intervals_.append(bars)
            self.curves_.append(joined)

    def _label_figure(self, n: int, counts: bool) -> None:
        """Label the axes of the figure, and note how many of all classes are shown (`n`).

        With `counts`, the note also explains the columns.
        """
        table = self.tables.tables[0]
        self.figure_.supxlabel(x_label_of(table.notion), fontsize="medium", color=INK)
        self.figure_.supylabel(
            y_label_of(table.notion, table.is_hard), fontsize="medium", color=INK
        )
        rows = "; columns: share of rows" if counts else ""
        of = f"{n} of {len(self.tables)} classes" if n < len(self.tables) else f"All {n} classes"
        self.note_ = self.figure_.suptitle(f"{of}, worst first{rows}", fontsize="small", color=GREY)


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
