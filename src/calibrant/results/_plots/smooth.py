"""The reliability diagram without bins: a smoothed curve, with a band where there is one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from calibrant._core.validation import public
from calibrant.results._plots.canvas import DrawnFromPredictions, fill_band, fit_height
from calibrant.results._plots.diagram_parts import (
    CURVE,
    OUTSIDE,
    clear_corners,
    draw_empty_diagram,
    legend,
    prediction_label,
    strip_axes,
    y_label_of,
)
from calibrant.results._plots.names import legend_label
from calibrant.results._plots.style import COLUMN, Looks, series_style
from calibrant.results._plots.typing import SmoothData

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class SmoothReliabilityDisplay(DrawnFromPredictions):
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
        color : matplotlib color, optional
            Color of everything drawn.
        line_kwargs : mapping, optional
            Options of matplotlib's ``Axes.plot``.

        Returns
        -------
        self
            The display, drawn.
        """
        notion, is_hard = self.curve.notion, self.curve.is_hard
        with self._canvas(ax, (COLUMN, COLUMN)) as axes:
            index = draw_empty_diagram(
                axes, prediction_label(notion), y_label_of(notion, is_hard), ref_line
            )
            colour = series_style(index)["color"] if color is None else color
            self._draw(axes, level, colour, self.name if name is None else name, line_kwargs or {})
            self.density_ax_ = self._strip(axes, colour) if density else None
            legend(axes)
            fit_height(axes)
        return self

    def _draw(
        self,
        ax: Axes,
        level: float | None,
        colour: Any,
        name: str | None,
        line_kwargs: Mapping[str, Any],
    ) -> None:
        curve = self.curve
        with_band = level is not None and curve.n_effective is not None
        columns = curve.intervals(level) if with_band and level is not None else curve.columns()
        # The line has a gap where no row is near.
        supported = curve.n_near >= 1
        drawn = {key: np.where(supported, values, np.nan) for key, values in columns.items()}
        x, y = np.asarray(columns["prediction"]), drawn["mean_target"]
        label = legend_label(name, f"smoothed, σ = {curve.sigma:.2g}", 24)
        looks: Looks = {
            "color": colour,
            "linewidth": 1.4,
            "zorder": 3,
            "label": label,
            "clip_on": False,
        }
        (self.line_,) = ax.plot(x, y, gid=CURVE, **{**looks, **line_kwargs})
        self.band_ = None
        low, high = y, y
        if with_band and level is not None:
            low, high = drawn["low"], drawn["high"]
            gid = f"{100 * level:g}% interval, pointwise"
            self.band_ = fill_band(ax, x, low, high, colour, gid=gid)
        self.outside_ = self._mark_outside(ax)
        clear_corners(ax, x[supported], low[supported], high[supported])

    def _mark_outside(self, ax: Axes) -> Any:
        """Draw the bins that the curve contradicts."""
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

    def _strip(self, ax: Axes, colour: Any) -> Any:
        """Where predictions lie, unless a strip of bins shows it already."""
        kind = "density" if self.curve.kind == "unit" else "density\n(logits)"
        over = strip_axes(ax, kind)
        if len(over.patches):
            return over
        x, density = self.curve.points["prediction"], self.curve.points["density"]
        over.fill_between(x, 0, density, color=colour, alpha=0.2, linewidth=0)
        over.plot(x, density, color=colour, linewidth=1, clip_on=False)
        over.set(ylim=(0, max(over.get_ylim()[1], float(density.max()))), yticks=[])
        return over
