"""The decision curve: net benefit by threshold, for models, everyone and no one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from calibrant._core.validation import public
from calibrant.results._plots.canvas import Drawn, Size, fill_band, style_frame
from calibrant.results._plots.legends import LegendOption, check_legend, place_legend
from calibrant.results._plots.names import short_name
from calibrant.results._plots.style import COLUMN, GREY, INK, Looks, series_style
from calibrant.results._plots.typing import DecisionData

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class DecisionCurveDisplay(Drawn):
    """The net benefits of a `DecisionCurve`.

    Parameters
    ----------
    curve : DecisionCurve
        The curves to draw.
    """

    def __init__(self, curve: DecisionData) -> None:
        self.curve = curve

    @public
    def plot(
        self,
        *,
        ax: Axes | None = None,
        band: bool = True,
        recalibrated: bool = False,
        legend: LegendOption = True,
        size: Size = None,
    ) -> Self:
        """Draw the curves.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; left out, on a new figure.
        band : bool, default True
            Whether to draw the limits of the models, at each threshold by itself.
        recalibrated : bool, default False
            Whether to draw the models after recalibration too, dashed.
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
        curve, t = self.curve, np.asarray(self.curve.thresholds)
        self.lines_ = {}
        with self._canvas(ax, (COLUMN, 2.7), size) as axes:
            handles: list[Any] = []
            for index, name in enumerate(curve.models):
                part, colour = curve.benefits[name], series_style(index)["color"]
                label = short_name(name, 24)
                (line,) = axes.plot(
                    t, part.value, color=colour, linewidth=1.4, zorder=3, label=label
                )
                handles.append(line)
                self.lines_[name] = line
                if band:
                    fill_band(axes, t, part.low, part.high, colour, alpha=0.15)
                if recalibrated and part.recalibrated is not None:
                    label = f"{short_name(name, 18)}, recalibrated"
                    dashed: Looks = {"linestyle": (0, (4, 2)), "linewidth": 1.1, "zorder": 2.8}
                    handles += axes.plot(t, part.recalibrated, color=colour, label=label, **dashed)
            for name, colour, words in (("all", GREY, "act on all"), ("none", INK, "act on none")):
                (line,) = axes.plot(
                    t, curve.benefits[name].value, color=colour, linewidth=1, zorder=2, label=words
                )
                handles.append(line)
                self.lines_[name] = line
            # Far below 0 no strategy is of use, so the axis ends a little below 0.
            best = max(float(np.max(curve.benefits[name].high)) for name in curve.models)
            top = max(best, float(curve.prevalence), 1e-3)
            style_frame(axes, ylim=(-0.25 * top, 1.08 * top))
            axes.set(xlabel="threshold probability", ylabel="net benefit")
            axes.margins(x=0.01)
            place_legend(axes, handles, legend)
        self._sentences = [
            "The lines are the net benefit of acting on every row whose prediction reaches the "
            "threshold; grey and black are acting on all rows and on none.",
            "Bands are confidence intervals, at each threshold by itself." if band else "",
            "Dashed lines are the models after recalibration." if recalibrated else "",
        ]
        return self
