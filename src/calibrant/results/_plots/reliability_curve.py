"""The reliability diagram of a curve that follows the rows, with its band."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from calibrant._core.validation import public
from calibrant.results._plots.canvas import DrawnFromPredictions, fit_height
from calibrant.results._plots.diagram_parts import (
    CURVE,
    clear_corners,
    draw_band,
    draw_empty_diagram,
    legend,
    prediction_label,
    strip_axes,
    y_label_of,
)
from calibrant.results._plots.names import legend_label
from calibrant.results._plots.style import COLUMN, Looks, series_style
from calibrant.results._plots.typing import CurveData

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class ReliabilityCurveDisplay(DrawnFromPredictions):
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
        x_label, y_label = prediction_label(curve.notion), y_label_of(curve.notion, curve.is_hard)
        with self._canvas(ax, (COLUMN, COLUMN)) as axes:
            index = draw_empty_diagram(axes, x_label, y_label, ref_line)
            colour = series_style(index)["color"] if color is None else color
            label = legend_label(self.name if name is None else name, curve.called, 24)
            looks: Looks = {"color": colour, "linewidth": 1.5, "zorder": 3, "clip_on": False}
            looks |= {"label": label, **(line_kwargs or {})}
            x, y = points["prediction"], points["mean_target"]
            (self.line_,) = axes.plot(x, y, gid=CURVE, **looks)
            self.band_ = None
            low = high = y
            if band and "low" in points:
                low, high = points["low"], points["high"]
                self.band_ = draw_band(axes, curve, colour)
            clear_corners(axes, x, low, high)
            self.counts_ax_ = _strip(axes, np.asarray(curve.shares), colour) if counts else None
            legend(axes)
            fit_height(axes)
        return self


def _strip(ax: Axes, shares: Any, colour: Any) -> Any:
    """The share of rows in places of equal width, over the diagram."""
    over = strip_axes(ax, "rows")
    over.stairs(shares, np.linspace(0.0, 1.0, shares.size + 1), fill=True, color=colour, alpha=0.3)
    peak = max(over.get_ylim()[1], float(shares.max()))
    over.set(ylim=(0, peak), yticks=[peak], yticklabels=[f"{peak:.0%}"])
    return over
