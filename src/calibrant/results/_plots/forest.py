"""Several centres: a forest plot, and the mean calibration curve."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from calibrant._core.errors import InputError
from calibrant._core.validation import public
from calibrant.results._plots.canvas import Drawn, Size, fill_band
from calibrant.results._plots.captions import about_diagonal
from calibrant.results._plots.diagram_parts import draw_empty_diagram
from calibrant.results._plots.legends import LegendOption, check_legend, place_legend
from calibrant.results._plots.rows_of_dots import (
    bar_entry,
    dot_entry,
    draw_dots,
    height_of,
    legend_of_rows,
    name_rows,
)
from calibrant.results._plots.style import COLOURS, COLUMN, GREY, INK, Looks
from calibrant.results._plots.typing import CentresData
from calibrant.results._rendering import percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# What each quantity is called on its axis, and its value where predictions are right.
_AXES = {
    "slope": ("calibration slope", 1.0),
    "intercept_in_the_large": ("calibration in the large", 0.0),
    "observed_expected": ("O:E ratio", 1.0),
    "c_statistic": ("C-statistic", None),
}


class ForestDisplay(Drawn):
    """A forest plot: a row per centre, their mean, and the interval of a new centre.

    Use `Centres.plot`.

    Parameters
    ----------
    centres : Centres
        The centres to draw.
    quantity : str, default "slope"
        `slope`, `intercept_in_the_large`, `observed_expected` or `c_statistic`.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where the diagram is drawn.
    """

    def __init__(self, centres: CentresData, *, quantity: str = "slope") -> None:
        self.centres = centres
        self.quantity = quantity

    @public
    def plot(
        self, *, ax: Axes | None = None, legend: LegendOption = True, size: Size = None
    ) -> Self:
        """Draw the forest plot.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; left out, on a new figure.
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
        own, mean = self.centres.each[self.quantity], self.centres[self.quantity]
        kept = [j for j, value in enumerate(own["value"]) if value == value]
        names, counts, value, low, high = (
            [own[key][j] for j in kept] for key in ("centre", "n", "value", "low", "high")
        )
        label, right = _AXES[self.quantity]
        n = len(kept)
        with self._canvas(ax, (COLUMN, height_of(n + 2) + 0.25), size) as axes:
            draw_dots(axes, value, (low, high))
            axes.hlines(n + 0.5, mean.new_low, mean.new_high, color=GREY, linewidth=1.2)
            across = (mean.low, mean.estimate, mean.high, mean.estimate)
            down = (n + 0.5, n + 0.15, n + 0.5, n + 0.85)
            axes.fill(across, down, color=INK, zorder=3)  # a diamond
            name_rows(axes, names, 26, counts)
            axes.set_ylim(n + 1.2, -0.5)
            if self.quantity == "observed_expected":
                axes.set_xscale("log")
                axes.xaxis.set_major_formatter("{x:g}")
                axes.xaxis.set_minor_formatter("{x:g}")
            if right is not None:
                axes.axvline(right, color=GREY, linewidth=0.8, linestyle=(0, (4, 3)), zorder=1)
            axes.set_xlabel(f"{label} by centre (rows)")
            level = f"{percent(self.centres.level)} interval"
            entries = [
                dot_entry("centre", None),
                bar_entry(level, None),
                dot_entry("mean of centres", INK, marker="D"),
                dot_entry("a new centre", GREY, marker="", linestyle="-"),
            ]
            legend_of_rows(axes, entries, legend, on_own_figure=ax is None)
        level = percent(self.centres.level)
        reference = "" if right is None else f" The dashed line is at {right:g}, its ideal value."
        self._sentences = [
            f"The {label} of each of {n} centres, with {level} confidence intervals; numbers of "
            "rows are in parentheses.",
            "The diamond is the mean of centres by random effects, as wide as its interval; the "
            f"line through it is the {level} prediction interval of a new centre.{reference}",
        ]
        return self


class CentreCurveDisplay(Drawn):
    """The mean calibration curve of several centres, with its band and that of a new centre.

    Use `Centres.plot_curve`.

    Parameters
    ----------
    centres : Centres
        The centres to draw.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where the diagram is drawn.
    line_ : matplotlib Line2D
        The curve.
    """

    def __init__(self, centres: CentresData) -> None:
        self.centres = centres

    @public
    def plot(
        self, *, ax: Axes | None = None, legend: LegendOption = True, size: Size = None
    ) -> Self:
        """Draw the curve.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; left out, on a new figure.
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
        points, level = self.centres.curve, percent(self.centres.level)
        x = points["prediction"]
        if not x.size:
            raise InputError("there is no mean curve: fewer than three centres have a fitted curve")
        with self._canvas(ax, (COLUMN, COLUMN), size) as axes:
            draw_empty_diagram(axes, "predicted probability", "observed frequency", True)
            looks: Looks = {"alpha": 0.2, "label": f"a new centre, {level}"}
            new = fill_band(axes, x, points["new_low"], points["new_high"], GREY, **looks)
            looks = {"alpha": 0.3, "label": f"its {level} interval"}
            band = fill_band(axes, x, points["low"], points["high"], COLOURS[0], **looks)
            looks = {"color": COLOURS[0], "linewidth": 1.5, "label": "mean of centres"}
            (self.line_,) = axes.plot(x, points["mean_target"], **looks)
            place_legend(axes, [self.line_, band, new], legend)
        self._sentences = [
            f"The line is the mean calibration curve of the centres, with its {level} confidence "
            f"interval; the grey band is the {level} prediction interval of a new centre.",
            about_diagonal(True),
        ]
        return self
