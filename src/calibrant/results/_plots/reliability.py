"""Reliability diagrams with matplotlib, in the style of scikit-learn's Display objects."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from calibrant._core.errors import InputError
from calibrant._core.validation import public
from calibrant.results._plots.canvas import DrawnFromPredictions, fit_height
from calibrant.results._plots.diagram_parts import (
    CURVE,
    bin_cells,
    clear_corners,
    count_curves,
    cutoff_interval,
    draw_band,
    draw_cutoff,
    draw_empty_diagram,
    draw_fitted,
    draw_legend,
    draw_row_strip,
    fitted_curve,
    pale_bins,
    x_label_of,
    y_label_of,
)
from calibrant.results._plots.names import legend_label
from calibrant.results._plots.style import COLUMN, Looks, colour_indexes, opacity_of, series_style
from calibrant.results._plots.typing import CurveData, ReliabilityData

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# With more bins than this, bars and markers would overlap.
_CROWD = 60


class ReliabilityDisplay(DrawnFromPredictions):
    """A reliability diagram: the isotonic curve of the rows, and each bin's mean target.

    Use `from_predictions` or `from_estimator`, or `ReliabilityTable.plot`. Points above the
    diagonal are predictions that were too low, points below it predictions that were too high. Bars
    are intervals for the mean target (see `ReliabilityTable.intervals`), the grey band is where
    the curves of calibrated predictions would lie (see `reliability_curve`), and the strip on top
    shows where the predictions lie. Draw another on the same axes with ``ax=display.ax_``.

    Parameters
    ----------
    table : ReliabilityTable
        The bins to draw.
    name : str, optional
        The name of the predictor, for the legend.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where the diagram is drawn.
    line_ : matplotlib Line2D
        The points of bins; joined by a line where no curve is drawn.
    curve_ : matplotlib Line2D or None
        The curve of the rows.
    band_ : matplotlib PolyCollection or None
        The band of the curve.
    intervals_ : matplotlib LineCollection or None
        The bars.
    cutoff_ : matplotlib Rectangle or None
        The shaded interval of predictions.
    counts_ax_ : matplotlib Axes or None
        The strip on top.

    Examples
    --------
    >>> from calibrant.plots import ReliabilityDisplay
    >>> display = ReliabilityDisplay.from_predictions([0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4], bins=2)
    >>> display.line_.get_ydata().tolist()
    [0.0, 1.0]
    """

    # Its index in the cycle of colours where several are drawn together; None for the next colour.
    _colour_index: int | None = None
    # Whether it is the last on its figure: only then is the height fitted, which takes time.
    _is_last = True

    def __init__(self, table: ReliabilityData, *, name: str | None = None) -> None:
        self.table = table
        self.name = name

    @public
    def plot(
        self,
        *,
        ax: Axes | None = None,
        name: str | None = None,
        level: float | None = 0.95,
        curve: str | None = "default",
        counts: bool = True,
        ref_line: bool = True,
        cutoff: Any = None,
        color: Any = None,
        line_kwargs: Mapping[str, Any] | None = None,
    ) -> Self:
        """Draw the diagram.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; left out, on a new figure.
        name : str, optional
            The name of the predictor, for the legend.
        level : float or None, default 0.95
            Level of the intervals and of the curve's band; None draws none.
        curve : {"default", "isotonic", "local"} or None, default "default"
            The curve of the rows: isotonic by default, where rows are in memory. None joins the
            bins by a line.
        counts : bool, default True
            Whether to draw the strip that shows the share of rows in each bin.
        ref_line : bool, default True
            Whether to draw the diagonal.
        cutoff : CalibrationTest or tuple of two floats, optional
            The interval of predictions to shade: the result of `cutoff_test`, or two predictions.
        color : matplotlib color, optional
            Color of everything drawn.
        line_kwargs : mapping, optional
            Options of matplotlib's ``Axes.plot``, for the curve and for the points of bins.

        Returns
        -------
        self
            The display, drawn.
        """
        fitted = fitted_curve(self.table, curve, level)
        interval = cutoff_interval(cutoff)
        y_label = y_label_of(self.table.notion, self.table.is_hard)
        with self._canvas(ax, (COLUMN, COLUMN)) as axes:
            index = draw_empty_diagram(axes, x_label_of(self.table.notion), y_label, ref_line)
            own = index if self._colour_index is None else self._colour_index
            self._draw(own, name, level, fitted, counts, color, line_kwargs or {})
            self.cutoff_ = None
            if interval is not None:
                self.cutoff_ = draw_cutoff(axes, interval, self.line_.get_color())
            draw_legend(axes)
            if self._is_last:
                fit_height(axes)
        return self

    def _draw(
        self,
        index: int,
        name: str | None,
        level: float | None,
        fitted: CurveData | None,
        counts: bool,
        color: Any,
        line_kwargs: Mapping[str, Any],
    ) -> None:
        """Draw points of bins, their bars, the fitted curve with its band, and the strip of rows.

        `index` is that of the curve in the cycle of colours, which `color` overrides. More than
        `_CROWD` bins are small points without bars. If `fitted` is None, a line joins the bins, up
        to as many. If `level` is None, there are no bars and no band. The artists are kept in the
        attributes.
        """
        ax, table = self.ax_, self.table
        cells, nonempty = bin_cells(table, level)
        x, y = cells["mean_predicted"][nonempty], cells["mean_target"][nonempty]
        looks = bin_style(index, x.size > _CROWD) | ({} if color is None else {"color": color})
        value, limits = table.words(level)
        label = legend_label(self.name if name is None else name, value)
        drawn = {**looks, "label": label, **line_kwargs}
        alone = {} if fitted is None else {"linestyle": "none"}
        (self.line_,) = ax.plot(x, y, gid=CURVE, **{**drawn, **alone})
        self.curve_ = self.band_ = None
        if fitted is not None:
            line = {
                **drawn,
                "linestyle": series_style(index)["linestyle"],
                "linewidth": 1.5,
                **line_kwargs,
            }
            self.curve_ = draw_fitted(ax, fitted, line)
            if level is not None:
                self.band_ = draw_band(ax, fitted, looks["color"])
        shown = opacity_of(cells["n"][nonempty])
        if x.size <= _CROWD:
            pale_bins(ax, self.line_, shown)
        self.intervals_ = None
        low, high = y, y
        if level is not None and x.size <= _CROWD:
            low, high = cells["low"][nonempty], cells["high"][nonempty]
            bars: Looks = {"color": looks["color"], "linewidth": 1.6, "zorder": 2.5}
            self.intervals_ = ax.vlines(x, low, high, alpha=0.45 * shown, gid=limits, **bars)
        clear_corners(ax, x, low, high)
        if self.curve_ is not None:
            heights = self.curve_.get_ydata()
            clear_corners(ax, np.asarray(self.curve_.get_xdata()), heights, heights)
        self.counts_ax_ = draw_row_strip(ax, cells, looks["color"]) if counts else None


def bin_style(index: int, crowded: bool) -> dict[str, Any]:
    """Options of `Axes.plot` for the bins of the curve with this index in the cycle of colours.

    If bins are `crowded`, they are small dots without a line.
    """
    drawn = {
        **series_style(index),
        "markersize": 4.5,
        "linewidth": 1.2,
        "markeredgecolor": "white",
        "markeredgewidth": 0.6,
        "zorder": 3,
        "clip_on": False,
    }
    if crowded:
        drawn |= {"markersize": 2, "markeredgewidth": 0, "linestyle": "none"}
    return drawn


class OverlaidReliabilityDisplay(DrawnFromPredictions):
    """A curve for each of several predictors, in one reliability diagram.

    Use `from_predictions` or `from_estimator`, or give tables by name. Intervals of more than two
    curves hide one another: they are drawn only if `level` is given.

    Parameters
    ----------
    tables : mapping of str to ReliabilityTable
        The table of each predictor, by name.

    Attributes
    ----------
    displays_ : list of ReliabilityDisplay
        The display of each predictor.
    ax_, figure_ : matplotlib Axes and Figure
        Where the diagram is drawn.

    Examples
    --------
    >>> from calibrant.plots import OverlaidReliabilityDisplay
    >>> models = {"first": [0.2, 0.7, 0.9, 0.4], "second": [0.1, 0.8, 0.8, 0.6]}
    >>> display = OverlaidReliabilityDisplay.from_predictions([0, 1, 1, 0], models, bins=2)
    >>> [each.line_.get_label() for each in display.displays_]
    ['first: ECE 0.250', 'second: ECE 0.075']
    """

    def __init__(self, tables: Mapping[str, ReliabilityData]) -> None:
        if not tables:
            raise InputError("tables must hold the table of one predictor or more, by name")
        self.tables = dict(tables)

    @public
    def plot(
        self,
        *,
        ax: Axes | None = None,
        level: float | None = None,
        curve: str | None = "default",
        counts: bool = True,
        ref_line: bool = True,
    ) -> Self:
        """Draw the curves.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; left out, on a new figure.
        level : float, optional
            Level of the intervals and of the curves' bands; left out, none are drawn.
        curve : {"default", "isotonic", "local"} or None, default "default"
            The curve of the rows: isotonic by default, where rows are in memory. None joins the
            bins by a line.
        counts : bool, default True
            Whether to draw the strip of rows, for up to three predictors.
        ref_line : bool, default True
            Whether to draw the diagonal.

        Returns
        -------
        self
            The display, drawn.
        """
        self.displays_: list[ReliabilityDisplay] = []
        indexes, before = colour_indexes(self.tables), 0 if ax is None else count_curves(ax)
        for name, table in self.tables.items():
            display = ReliabilityDisplay(table, name=name)
            display._colour_index = before + indexes[name]
            display._is_last = len(self.displays_) == len(self.tables) - 1
            counted = counts and len(self.tables) <= 3
            display.plot(ax=ax, level=level, curve=curve, counts=counted, ref_line=ref_line)
            ax = display.ax_
            self.displays_.append(display)
        self.ax_, self.figure_ = self.displays_[0].ax_, self.displays_[0].figure_
        return self
