"""Reliability diagrams with matplotlib, in the style of scikit-learn's Display objects."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self

from calibrant._core.errors import InputError, one_of
from calibrant._core.validation import public
from calibrant.results._plots.canvas import DrawnFromPredictions, Size, fit_height
from calibrant.results._plots.captions import (
    about_bins,
    about_curve,
    about_diagonal,
    about_error,
    about_pale,
    about_strip,
    rows_of_table,
)
from calibrant.results._plots.diagram_parts import (
    CURVE,
    GAPS,
    bin_cells,
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
from calibrant.results._plots.legends import LegendOption, check_legend
from calibrant.results._plots.names import legend_label
from calibrant.results._plots.style import (
    COLOURS,
    COLUMN,
    FULL_ROWS,
    INK,
    Looks,
    colour_indexes,
    opacity_of,
    series_style,
)
from calibrant.results._plots.typing import CurveData, ReliabilityData

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# With more bins than this, bars and markers would overlap.
_CROWD = 60
STYLES = ("points", "bars")


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
    bars_, gaps_ : matplotlib BarContainer or None
        With ``style="bars"``, the bars of bins, and the gaps between them and the predictions.

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
        style: str = "points",
        level: float | None = 0.95,
        curve: str | None = "default",
        counts: bool = True,
        ref_line: bool = True,
        cutoff: Any = None,
        legend: LegendOption = True,
        size: Size = None,
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
        style : {"points", "bars"}, default "points"
            How bins are drawn: as points with a curve of the rows, or as bars with the gap to the
            mean prediction shaded. Bars have no curve unless `curve` names one.
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
        legend : bool or str, default True
            Whether to draw a legend where there is room, or its location inside the axes.
        size : "column" or tuple of two floats, optional
            Size of a new figure: 3.3 x 2.6 inches, or (width, height) in inches.
        color : matplotlib color, optional
            Color of everything drawn.
        line_kwargs : mapping, optional
            Options of matplotlib's ``Axes.plot``, for the curve and for the points of bins.

        Returns
        -------
        self
            The display, drawn.
        """
        one_of("style", style, STYLES)
        check_legend(legend)
        bars = style == "bars"
        fitted = None if bars and curve == "default" else fitted_curve(self.table, curve, level)
        interval = cutoff_interval(cutoff)
        if bars:
            self._check_bars(ax)
        y_label = y_label_of(self.table.notion, self.table.is_hard)
        with self._canvas(ax, (COLUMN, COLUMN), size) as axes:
            index = draw_empty_diagram(axes, x_label_of(self.table.notion), y_label, ref_line)
            own = index if self._colour_index is None else self._colour_index
            self._draw(own, name, bars, level, fitted, counts, color, line_kwargs or {})
            self.cutoff_ = None
            if interval is not None:
                self.cutoff_ = draw_cutoff(axes, interval, self.line_.get_color())
            if self._is_last:
                draw_legend(axes, legend)
                fit_height(axes)
        self._sentences = self._explain(name, bars, level, fitted, counts, ref_line)
        return self

    def _check_bars(self, ax: Axes | None) -> None:
        """Check that bins can be drawn as bars: they have a width, and no other is on the axes."""
        columns = self.table.columns()
        if any(
            upper <= lower for lower, upper in zip(columns["lower"], columns["upper"], strict=True)
        ):
            raise InputError(
                "style='bars' needs bins with a width, and these have none: draw style='points'"
            )
        if ax is not None and count_curves(ax):
            raise InputError(
                "style='bars' draws one predictor on an axes, and these have one already: draw "
                "style='points', or side by side with calibrant.plots.before_after"
            )

    def _explain(
        self,
        name: str | None,
        bars: bool,
        level: float | None,
        fitted: CurveData | None,
        counts: bool,
        ref_line: bool,
    ) -> list[str]:
        """The sentences of the caption; the arguments are those of `plot`."""
        table = self.table
        x, y = x_label_of(table.notion), y_label_of(table.notion, table.is_hard)
        shown = self.name if name is None else name
        of = "" if shown is None else f" of {shown}"
        cells, nonempty = bin_cells(table, None)
        is_crowded = int(nonempty.sum()) > _CROWD
        few = bool((cells["n"][nonempty] < FULL_ROWS).any()) and not is_crowded
        return [
            f"Reliability diagram{of} ({rows_of_table(table)}; {table.words(level)[0]}).",
            about_error(table, level),
            about_bins(table, None if is_crowded else level, x, y, "Bars" if bars else "Points"),
            "The shaded gap is the distance from the bar to the mean prediction." if bars else "",
            about_curve(fitted, level is not None),
            about_pale(few),
            "The vertical shading is the interval of predictions with the largest accumulated gap."
            if self.cutoff_ is not None
            else "",
            about_diagonal(ref_line),
            about_strip(counts, "share of rows in each bin"),
        ]

    def _draw(
        self,
        index: int,
        name: str | None,
        bars: bool,
        level: float | None,
        fitted: CurveData | None,
        counts: bool,
        color: Any,
        line_kwargs: Mapping[str, Any],
    ) -> None:
        """Draw bins, their intervals, the fitted curve with its band, and the strip of rows.

        `index` is that of the curve in the cycle of colours, which `color` overrides. More than
        `_CROWD` bins are small points without intervals. If `fitted` is None, a line joins the
        bins, up to as many, unless they are `bars`. If `level` is None, there are no intervals and
        no band. The artists are kept in the attributes.
        """
        ax, table = self.ax_, self.table
        cells, nonempty = bin_cells(table, level)
        x, y = cells["mean_predicted"][nonempty], cells["mean_target"][nonempty]
        looks = bin_style(index, x.size > _CROWD) | ({} if color is None else {"color": color})
        value, limits = table.words(level)
        label = legend_label(self.name if name is None else name, value)
        drawn = {**looks, "label": label, **line_kwargs}
        alone = {} if fitted is None and not bars else {"linestyle": "none"}
        alone |= {"marker": "none"} if bars else {}
        (self.line_,) = ax.plot(x, y, gid=CURVE, **{**drawn, **alone})
        self.bars_: Any = None
        self.gaps_: Any = None
        self.curve_ = self.band_ = None
        shown = opacity_of(cells["n"][nonempty])
        if bars:
            own_cells = {key: part[nonempty] for key, part in cells.items()}
            self._draw_bars(own_cells, looks["color"], label)
        elif x.size <= _CROWD:
            pale_bins(ax, self.line_, shown)
        if fitted is not None:
            line = {**drawn, "linestyle": series_style(index)["linestyle"], "linewidth": 1.5}
            self.curve_ = draw_fitted(ax, fitted, {**line, **line_kwargs})
            if level is not None:
                self.band_ = draw_band(ax, fitted, looks["color"])
        self.intervals_ = None
        if level is not None and x.size <= _CROWD:
            low, high = cells["low"][nonempty], cells["high"][nonempty]
            colour, opacity = (INK, 0.8) if bars else (looks["color"], 0.45)
            own: Looks = {"color": colour, "linewidth": 1.0 if bars else 1.6, "zorder": 2.5}
            self.intervals_ = ax.vlines(x, low, high, alpha=opacity * shown, gid=limits, **own)
        self.counts_ax_ = draw_row_strip(ax, cells, looks["color"]) if counts else None

    def _draw_bars(self, cells: dict[str, Any], colour: Any, label: str) -> None:
        """Draw a bar for each bin, as wide as the bin and as high as its mean target, and its gap.

        `label` is that of the bars in the legend. `cells` are the columns of the nonempty bins. The
        gap is shaded from the mean target to the
        mean prediction, so that shaded heights, weighted by rows, add up to the ECE.
        """
        ax, left, height = self.ax_, cells["lower"], cells["mean_target"]
        width, opacity = cells["upper"] - left, opacity_of(cells["n"])
        looks: Looks = {"align": "edge", "edgecolor": "white", "linewidth": 0.5, "clip_on": True}
        self.bars_ = ax.bar(left, height, width, color=colour, zorder=1.6, label=label, **looks)
        gap = cells["mean_predicted"] - height
        shade: Looks = {**looks, "edgecolor": COLOURS[1], "hatch": "////", "zorder": 1.7}
        self.gaps_ = ax.bar(
            left, gap, width, bottom=height, color=to_pale(COLOURS[1]), label=GAPS, **shade
        )
        for bar, alpha in zip(self.bars_, opacity, strict=True):
            bar.set_alpha(0.75 * alpha)


def to_pale(colour: Any) -> tuple[float, ...]:
    """A colour that hides little of what it is drawn over."""
    from matplotlib.colors import to_rgba

    return (*to_rgba(colour)[:3], 0.2)


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
        legend: LegendOption = True,
        size: Size = None,
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
        legend : bool or str, default True
            Whether to draw a legend where there is room, or its location inside the axes.
        size : "column" or tuple of two floats, optional
            Size of a new figure: 3.3 x 2.6 inches, or (width, height) in inches.

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
            looks: Looks = {"curve": curve, "counts": counted, "ref_line": ref_line}
            display.plot(ax=ax, level=level, legend=legend, size=size, **looks)
            ax, size = display.ax_, None
            self.displays_.append(display)
        self.ax_, self.figure_ = self.displays_[0].ax_, self.displays_[0].figure_
        first = self.displays_[0]
        errors = (f"{name} ({table.words(level)[0]})" for name, table in self.tables.items())
        of = f"Reliability diagram of {', '.join(errors)}: {rows_of_table(first.table)}."
        self._sentences = [of, *first._sentences[1:]]
        return self
