"""Reliability diagrams without bins: a curve that follows the rows, or a smoothed one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from calibrant._core.validation import public
from calibrant.results._plots.canvas import DrawnFromPredictions, Size, fill_band, fit_height
from calibrant.results._plots.captions import about_band, about_diagonal, about_strip
from calibrant.results._plots.diagram_parts import (
    CURVE,
    OUTSIDE,
    draw_band,
    draw_empty_diagram,
    draw_legend,
    prediction_label,
    strip_axes,
    y_label_of,
)
from calibrant.results._plots.legends import LegendOption, check_legend
from calibrant.results._plots.names import legend_label
from calibrant.results._plots.style import COLUMN, Looks, series_style
from calibrant.results._plots.typing import CurveData, DiagramData, SmoothData
from calibrant.results._rendering import percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class _CurveDisplay(DrawnFromPredictions):
    """A Display of one curve in a reliability diagram, alone or over another one's diagram."""

    curve: DiagramData
    name: str | None

    @contextmanager
    def _diagram(
        self, ax: Axes | None, ref_line: bool, color: Any, legend: LegendOption, size: Size
    ) -> Iterator[tuple[Axes, Any]]:
        """Yield the axes to draw a curve on, and the curve's colour.

        Axes without curves first get an empty diagram, with the diagonal if `ref_line`. If `color`
        is None, the colour is the next of the cycle. Afterwards the legend is drawn, and the height
        fitted. `legend` and `size` are those of `plot`.
        """
        check_legend(legend)
        x_label = prediction_label(self.curve.notion)
        y_label = y_label_of(self.curve.notion, self.curve.is_hard)
        with self._canvas(ax, (COLUMN, COLUMN), size) as axes:
            index = draw_empty_diagram(axes, x_label, y_label, ref_line)
            yield axes, series_style(index)["color"] if color is None else color
            draw_legend(axes, legend)
            fit_height(axes)

    def _draw_line(self, x: Any, y: Any, name: str | None, text: str, looks: Looks) -> Any:
        """Draw the curve through (x, y), and return its line.

        The legend shows ``name: text``, or the text alone without a name; `name` None is the
        Display's own name. `looks` are options of `Axes.plot`.
        """
        label = legend_label(self.name if name is None else name, text, 24)
        usual: Looks = {"zorder": 3, "clip_on": False, "label": label}
        (line,) = self.ax_.plot(x, y, gid=CURVE, **{**usual, **looks})
        return line


class ReliabilityCurveDisplay(_CurveDisplay):
    """A reliability diagram without bins, of a curve that follows the rows, with a band.

    Use `from_predictions` or `from_estimator`, or `ReliabilityCurve.plot`. The strip on top shows
    where the predictions lie. The curve may be drawn over a `ReliabilityDisplay`, with its
    ``ax_``.

    Parameters
    ----------
    curve : ReliabilityCurve
        The curve to draw.
    name : str, optional
        The name of the predictor, for the legend.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where the diagram is drawn.
    line_ : matplotlib Line2D
        The curve.
    band_ : matplotlib PolyCollection or None
        The band.
    counts_ax_ : matplotlib Axes or None
        The strip on top.

    Examples
    --------
    >>> from calibrant.plots import ReliabilityCurveDisplay
    >>> display = ReliabilityCurveDisplay.from_predictions([0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4])
    >>> display.line_.get_ydata().tolist()
    [0.0, 0.0, 1.0, 1.0]
    """

    curve: CurveData

    def __init__(self, curve: CurveData, *, name: str | None = None) -> None:
        self.curve = curve
        self.name = name

    @public
    def plot(
        self,
        *,
        ax: Axes | None = None,
        name: str | None = None,
        band: bool = True,
        counts: bool = True,
        ref_line: bool = True,
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
        band : bool, default True
            Whether to draw the curve's band.
        counts : bool, default True
            Whether to draw the strip that shows where the predictions lie.
        ref_line : bool, default True
            Whether to draw the diagonal.
        legend : bool or str, default True
            Whether to draw a legend where there is room, or its location inside the axes.
        size : "column" or tuple of two floats, optional
            Size of a new figure: 3.3 x 2.6 inches, or (width, height) in inches.
        color : matplotlib color, optional
            Color of everything drawn.
        line_kwargs : mapping, optional
            Options of matplotlib's ``Axes.plot``.

        Returns
        -------
        self
            The display, drawn.
        """
        curve = self.curve
        points = {key: np.asarray(values) for key, values in curve.columns().items()}
        x, y = points["prediction"], points["mean_target"]
        with self._diagram(ax, ref_line, color, legend, size) as (axes, colour):
            looks = {"color": colour, "linewidth": 1.5, **(line_kwargs or {})}
            self.line_ = self._draw_line(x, y, name, curve.called, looks)
            self.band_ = None
            if band and "low" in points:
                self.band_ = draw_band(axes, curve, colour)
            self.counts_ax_ = (
                _draw_share_strip(axes, np.asarray(curve.shares), colour) if counts else None
            )
        target = y_label_of(curve.notion, curve.is_hard)
        self._sentences = [
            f"The line is the {target} at each prediction, without bins: {curve.called}.",
            about_band(curve) if self.band_ is not None else "",
            about_diagonal(ref_line),
            about_strip(counts, "share of rows by prediction"),
        ]
        return self


def _draw_share_strip(ax: Axes, shares: Any, colour: Any) -> Any:
    """Draw the share of rows in each of several bins of equal width, as a strip over the diagram.

    Returns the axes of the strip.
    """
    over = strip_axes(ax, "rows")
    over.stairs(shares, np.linspace(0.0, 1.0, shares.size + 1), fill=True, color=colour, alpha=0.3)
    peak = max(over.get_ylim()[1], float(shares.max()))
    over.set(ylim=(0, peak), yticks=[peak], yticklabels=[f"{peak:.0%}"])
    return over


class SmoothReliabilityDisplay(_CurveDisplay):
    """The smoothed mean target against the prediction, without bins.

    Use `from_predictions` or `from_estimator`, or `SmoothCurve.plot`. The curve is an average over
    neighbouring predictions: it does not follow where the frequency changes within a bandwidth, and
    its band does not include that bias. Bins of the same rows that lie outside the band
    (`SmoothCurve.outside`) are drawn over it, as dots with their intervals.

    The curve is drawn where at least one row lies within about a bandwidth. The band is for one
    point at a time, and for the smoothed mean target (see `SmoothCurve.intervals`); soft labels
    have none. The strip on top shows the density of the predictions. The curve may be drawn over a
    `ReliabilityDisplay`, with its ``ax_``.

    Parameters
    ----------
    curve : SmoothCurve
        The curve to draw.
    name : str, optional
        The name of the predictor, for the legend.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where the diagram is drawn.
    line_ : matplotlib Line2D
        The curve.
    band_ : matplotlib PolyCollection or None
        The band.
    outside_ : matplotlib ErrorbarContainer or None
        The bins that lie outside the band.
    density_ax_ : matplotlib Axes or None
        The strip on top.

    Examples
    --------
    >>> from calibrant.plots import SmoothReliabilityDisplay
    >>> y, p = [0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4]
    >>> display = SmoothReliabilityDisplay.from_predictions(y, p, sigma=0.2)
    >>> display.line_.get_label()
    'smoothed, σ = 0.2'
    """

    curve: SmoothData

    def __init__(self, curve: SmoothData, *, name: str | None = None) -> None:
        self.curve = curve
        self.name = name

    @public
    def plot(
        self,
        *,
        ax: Axes | None = None,
        name: str | None = None,
        level: float | None = 0.95,
        density: bool = True,
        ref_line: bool = True,
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
        level : float or None, default 0.95
            Level of the band; None draws none.
        density : bool, default True
            Whether to draw the strip that shows the density of the predictions.
        ref_line : bool, default True
            Whether to draw the diagonal.
        legend : bool or str, default True
            Whether to draw a legend where there is room, or its location inside the axes.
        size : "column" or tuple of two floats, optional
            Size of a new figure: 3.3 x 2.6 inches, or (width, height) in inches.
        color : matplotlib color, optional
            Color of everything drawn.
        line_kwargs : mapping, optional
            Options of matplotlib's ``Axes.plot``.

        Returns
        -------
        self
            The display, drawn.
        """
        with self._diagram(ax, ref_line, color, legend, size) as (axes, colour):
            looks = {"color": colour, "linewidth": 1.4, **(line_kwargs or {})}
            self._draw(axes, level, colour, name, looks)
            self.density_ax_ = self._draw_density_strip(axes, colour) if density else None
        self._sentences = self._explain(level, density, ref_line)
        return self

    def _explain(self, level: float | None, density: bool, ref_line: bool) -> list[str]:
        """The sentences of the caption; the arguments are those of `plot`."""
        curve = self.curve
        target, scale = y_label_of(curve.notion, curve.is_hard), "predictions"
        if curve.kind != "unit":
            scale = "logits"
        line = f"The line is the {target}, smoothed over {scale} with bandwidth {curve.sigma:.2g}."
        band = outside = ""
        if self.band_ is not None and level is not None:
            band = (
                f"The band is its {percent(level)} confidence interval at each prediction by "
                "itself; it does not include the bias of smoothing."
            )
        if self.outside_ is not None:
            outside = "Black dots are bins of the same rows that lie outside the band."
        strip = about_strip(density, f"density of the {scale}")
        return [line, band, outside, about_diagonal(ref_line), strip]

    def _draw(
        self, ax: Axes, level: float | None, colour: Any, name: str | None, looks: Looks
    ) -> None:
        """Draw the curve where rows are near, its band, and the bins outside the band.

        There is no band if `level` is None, or for soft labels. The artists are kept as `line_`,
        `band_` and `outside_`.
        """
        curve = self.curve
        with_band = level is not None and curve.n_effective is not None
        columns = curve.intervals(level) if with_band and level is not None else curve.columns()
        # The line has a gap where no row is near.
        supported = curve.n_near >= 1
        drawn = {key: np.where(supported, values, np.nan) for key, values in columns.items()}
        x, y = np.asarray(columns["prediction"]), drawn["mean_target"]
        self.line_ = self._draw_line(x, y, name, f"smoothed, σ = {curve.sigma:.2g}", looks)
        self.band_ = None
        if with_band and level is not None:
            gid = f"{percent(level)} interval, pointwise"
            self.band_ = fill_band(ax, x, drawn["low"], drawn["high"], colour, gid=gid)
        self.outside_ = self._mark_outside(ax)

    def _mark_outside(self, ax: Axes) -> Any:
        """Draw the bins outside the curve's band as dots with intervals; return them, or None."""
        bins = self.curve.outside
        if not bins:
            return None
        x = [each.mean_predicted for each in bins]
        y = np.array([each.mean_target for each in bins])
        spans = [y - [each.low for each in bins], [each.high for each in bins] - y]
        looks: Looks = {"color": "black", "markersize": 3.5, "linewidth": 1, "zorder": 4}
        marks = ax.errorbar(x, y, yerr=np.maximum(spans, 0), fmt="o", **looks)
        marks.lines[0].set(gid=OUTSIDE, label=OUTSIDE)
        return marks

    def _draw_density_strip(self, ax: Axes, colour: Any) -> Any:
        """Draw the density of predictions as a strip over the diagram, and return the strip's axes.

        A strip that already shows the rows of bins is not changed.
        """
        kind = "density" if self.curve.kind == "unit" else "density\n(logits)"
        over = strip_axes(ax, kind)
        if len(over.patches):
            return over
        x, density = self.curve.points["prediction"], self.curve.points["density"]
        over.fill_between(x, 0, density, color=colour, alpha=0.2, linewidth=0)
        over.plot(x, density, color=colour, linewidth=1, clip_on=False)
        over.set(ylim=(0, max(over.get_ylim()[1], float(density.max()))), yticks=[])
        return over
