"""The risk-coverage diagram: the risk of answering only what is surest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from calibrant._core.validation import public
from calibrant.results._plots.canvas import DrawnFromPredictions, Size, fill_band, style_frame
from calibrant.results._plots.legends import LegendOption, check_legend, place_legend
from calibrant.results._plots.names import legend_label
from calibrant.results._plots.style import COLUMN, Looks, series_style
from calibrant.results._plots.typing import RiskCoverageData
from calibrant.results._rendering import percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# The mark (gid) of each curve that is drawn here: they are counted, so that a second curve on the
# same axes takes the next colour.
_CURVE = "calibrant risk"


class RiskCoverageDisplay(DrawnFromPredictions):
    """The risk of answering only what is surest, against the share that is answered.

    Use `from_predictions` or `from_estimator`, or `RiskCoverage.plot`. It shows ranking and
    accuracy together, not calibration. Draw another on the same axes with ``ax=display.ax_``.

    Parameters
    ----------
    curve : RiskCoverage
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
        The limits.

    Examples
    --------
    >>> from calibrant.plots import RiskCoverageDisplay
    >>> display = RiskCoverageDisplay.from_predictions([1, 1, 0, 0], [0.9, 0.8, 0.7, 0.6])
    >>> display.line_.get_ydata().round(4).tolist()
    [0.0, 0.0, 0.3333, 0.5]
    """

    def __init__(self, curve: RiskCoverageData, *, name: str | None = None) -> None:
        self.curve = curve
        self.name = name

    @public
    def plot(
        self,
        *,
        ax: Axes | None = None,
        name: str | None = None,
        band: bool = True,
        legend: LegendOption = True,
        size: Size = None,
        color: Any = None,
    ) -> Self:
        """Draw the curve.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; left out, on a new figure.
        name : str, optional
            The name of the predictor, for the legend.
        band : bool, default True
            Whether to draw the limits, at each coverage by itself.
        legend : bool or str, default True
            Whether to draw a legend where there is room, or its location inside the axes.
        size : "column" or tuple of two floats, optional
            Size of a new figure: 3.3 x 2.6 inches, or (width, height) in inches.
        color : matplotlib color, optional
            Color of everything drawn.

        Returns
        -------
        self
            The display, drawn.
        """
        check_legend(legend)
        columns = {key: np.asarray(values) for key, values in self.curve.columns().items()}
        x = columns["coverage"]
        with self._canvas(ax, (COLUMN, 2.6), size) as axes:
            index = sum(line.get_gid() == _CURVE for line in axes.get_lines())
            colour = series_style(index)["color"] if color is None else color
            text = f"AURC {self.curve.aurc:.3g}"
            label = legend_label(self.name if name is None else name, text, 24)
            looks: Looks = {"color": colour, "linewidth": 1.4, "zorder": 3, "drawstyle": "default"}
            (self.line_,) = axes.plot(x, columns["risk"], label=label, gid=_CURVE, **looks)
            self.band_ = None
            if band:
                label = f"{percent(self.curve.level)} at each coverage"
                ends = columns["low"], columns["high"]
                self.band_ = fill_band(axes, x, *ends, colour, label=label)
            self._style_axes(axes, columns, legend)
        level = percent(self.curve.level)
        self._sentences = [
            "The line is the risk if only the rows with the highest confidence are kept, against "
            "their share, the coverage. A low line ranks well; it does not show calibration.",
            f"The band is its {level} confidence interval, at each coverage by itself."
            if band
            else "",
            f"AURC, the area under the line, is {self.curve.aurc:.3g}.",
        ]
        return self

    def _style_axes(self, ax: Axes, columns: dict[str, Any], legend: LegendOption) -> None:
        """Label the axes, fit the vertical one to the curves, and draw the grid and the legend.

        `columns` are the points of the curve, as arrays; `legend` is that of `plot`.
        """
        hard = "error rate" if self.curve.notion == "confidence" else "share of y = 0"
        risk = hard if self.curve.is_hard else "mean of 1 − soft label"
        ax.set(xlabel="coverage: share of rows kept", ylabel=f"risk: {risk}", xlim=(0, 1))
        _, top = ax.get_ylim()
        # The band at the first few rows is wide and carries no information, so it is cut.
        most = float(columns["high"][columns["coverage"] >= 0.05].max(initial=0.0))
        seen = [float(np.max(line.get_ydata())) for line in ax.get_lines()]
        needed = 1.15 * max(most if self.band_ is not None else 0.0, *seen, 1e-3)
        # The limit that an earlier curve has set is no limit for this one.
        ax.set_ylim(0, min(top, needed) if len(seen) == 1 else max(top, needed))
        style_frame(ax)
        handles = [line for line in ax.get_lines() if line.get_gid() == _CURVE]
        place_legend(ax, [*handles, *([self.band_] if self.band_ is not None else [])], legend)
