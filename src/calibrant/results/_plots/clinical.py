"""One figure of predicted risks: curve, band, logistic line, histogram by outcome, statistics."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from calibrant._core.validation import public
from calibrant._data.links import sigmoid
from calibrant.results._plots.canvas import Drawn, Size, is_new_figure
from calibrant.results._plots.captions import about_band, about_diagonal
from calibrant.results._plots.curves import ReliabilityCurveDisplay
from calibrant.results._plots.diagram_parts import (
    CURVE,
    diagonal_entry,
    mark_entries,
    predictor_entries,
    strip_axes,
)
from calibrant.results._plots.legends import LegendOption, check_legend, place_legend
from calibrant.results._plots.style import COLOURS, COLUMN, INK, Looks
from calibrant.results._plots.typing import ClinicalData, CurveData, ReliabilityData
from calibrant.results._rendering import percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# What stands beside the diagram, and what it is called there.
_STATISTICS = {
    "slope": "slope",
    "intercept_in_the_large": "calibration in the large",
    "observed_expected": "O:E",
    "c_statistic": "C",
    "brier": "Brier",
    "ici": "ICI",
}


# Inches that a figure needs for a diagram with the statistics beside it.
_WITH_STATISTICS = 4.5


class ClinicalDisplay(Drawn):
    """A calibration plot as clinical papers have it.

    Use `clinical_plot`. The curve is a local regression with its band, the dashed line is logistic
    recalibration (slope and intercept), and the strip on top has the risks of rows with the event
    above its line and those of the others below it, each on its own scale.

    Parameters
    ----------
    curve : ReliabilityCurve
        The local regression.
    table : ReliabilityTable
        The bins of the strip.
    summary : ClinicalSummary
        The statistics beside the diagram.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where the diagram is drawn.
    line_, logistic_ : matplotlib Line2D
        The curve, and the logistic line (None where it has no finite fit).
    """

    def __init__(self, curve: CurveData, table: ReliabilityData, summary: ClinicalData) -> None:
        self.curve = curve
        self.table = table
        self.summary = summary

    @public
    def plot(
        self, *, ax: Axes | None = None, legend: LegendOption = True, size: Size = None
    ) -> Self:
        """Draw the figure.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; left out, on a new figure. Without room beside the diagram, on `ax` or in
            one column of a paper, the statistics are in `caption` alone.
        legend : bool or str, default True
            Whether to draw a legend where there is room, or its location inside the axes.
        size : "column" or tuple of two floats, optional
            Size of a new figure: 3.3 x 2.6 inches, or (width, height) in inches.

        Returns
        -------
        self
            The display, drawn.
        """
        check_legend(legend)
        with self._canvas(ax, (1.75 * COLUMN, 1.15 * COLUMN), size) as axes:
            drawn = ReliabilityCurveDisplay(self.curve).plot(ax=axes, counts=False, legend=False)
            self.line_ = drawn.line_
            self.logistic_ = self._draw_logistic(axes)
            self._draw_risks(axes)
            if is_new_figure(axes) and axes.figure.bbox.width / axes.figure.dpi >= _WITH_STATISTICS:
                # The longest line is broken, or the diagram would be smaller.
                lines = "\n".join(self._statistics()).replace("the large ", "the large\n   ")
                looks: Looks = {"va": "top", "fontsize": "small", "linespacing": 1.5}
                axes.text(1.05, 1.0, lines, transform=axes.transAxes, **looks)
            place_legend(
                axes, [*predictor_entries(axes), *mark_entries(axes), diagonal_entry()], legend
            )
        logistic = self.logistic_ is not None
        self._sentences = [
            f"The line is a {self.curve.called}. {about_band(self.curve)}",
            "The dashed line is logistic recalibration." if logistic else "",
            about_diagonal(True),
            "The strip on top has predictions of rows with the event above its line and of the "
            "others below it, each on its own scale.",
            f"{', '.join(self._statistics())}; {percent(self.curve.level)} confidence intervals.",
        ]
        return self

    def _draw_logistic(self, ax: Axes) -> Any:
        """Draw the line of logistic recalibration where risks lie, and return it, or None."""
        slope, intercept = self.summary["slope"], self.summary["intercept"]
        if slope != slope:
            return None
        at = self.curve.columns()["prediction"]
        x = np.linspace(max(min(at), 1e-4), min(max(at), 1 - 1e-4), 200)
        y = sigmoid(intercept + slope * np.log(x / (1 - x)))
        looks: Looks = {"color": INK, "linewidth": 1.1, "linestyle": (0, (4, 2)), "gid": CURVE}
        (line,) = ax.plot(x, y, label="logistic recalibration", **looks)
        return line

    def _draw_risks(self, ax: Axes) -> None:
        """Draw the strip: events upwards, the others downwards, each to its own largest bin."""
        cells = {key: np.asarray(part, dtype=float) for key, part in self.table.columns().items()}
        over = strip_axes(ax, "events\nothers")
        events = cells["weight"] * np.nan_to_num(cells["mean_target"])
        others = cells["weight"] - events
        for part, sign, colour in ((events, 1, COLOURS[1]), (others, -1, COLOURS[0])):
            heights = sign * part / max(float(part.max()), 1e-300)
            width = cells["upper"] - cells["lower"]
            over.bar(cells["lower"], heights, width, align="edge", color=colour, alpha=0.6)
        over.axhline(0.0, color=INK, linewidth=0.6)
        over.set(ylim=(-1.05, 1.05), yticks=[])

    def _statistics(self) -> list[str]:
        """The lines beside the diagram: rows, events, and values with their limits."""
        lines = [f"n {self.summary.n:,}", f"events {self.summary.events:,.6g}"]
        for name, title in _STATISTICS.items():
            value = self.summary[name]
            if value != value:
                lines.append(f"{title} not estimable")
                continue
            limits = f" ({value.low:.2f} to {value.high:.2f})" if value.low == value.low else ""
            lines.append(f"{title} {value.estimate:.2f}{limits}")
        return lines
