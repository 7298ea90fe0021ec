"""The decision curve: net benefit by threshold, for models, everyone and no one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from calibrant._core.validation import public
from calibrant.results._plots.canvas import Drawn, canvas
from calibrant.results._plots.legends import below
from calibrant.results._plots.names import short_name
from calibrant.results._plots.style import COLUMN, GREY, INK, look
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
        self, *, ax: Axes | None = None, band: bool = True, recalibrated: bool = False
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

        Returns
        -------
        self
            The display, drawn.
        """
        curve, t = self.curve, np.asarray(self.curve.thresholds)
        with canvas(ax, (COLUMN, 2.7)) as axes:
            self.ax_, self.figure_ = axes, axes.figure
            handles: list[Any] = []
            self.lines_ = {}
            for turn, name in enumerate(curve.models):
                part, colour = curve.benefits[name], look(turn)["color"]
                (line,) = axes.plot(
                    t, part.value, color=colour, linewidth=1.4, zorder=3,
                    label=short_name(name, 24),
                )  # fmt: skip
                handles.append(line)
                self.lines_[name] = line
                if band:
                    axes.fill_between(
                        t, part.low, part.high, color=colour, alpha=0.15, linewidth=0, zorder=1.5
                    )
                if recalibrated and part.recalibrated is not None:
                    (dashed,) = axes.plot(
                        t, part.recalibrated, color=colour, linewidth=1.1, zorder=2.8,
                        linestyle=(0, (4, 2)), label=f"{short_name(name, 18)}, recalibrated",
                    )  # fmt: skip
                    handles.append(dashed)
            for name, colour, words in (("all", GREY, "act on all"), ("none", INK, "on none")):
                (line,) = axes.plot(
                    t, curve.benefits[name].value, color=colour, linewidth=1, zorder=2, label=words
                )
                handles.append(line)
                self.lines_[name] = line
            self._frame(axes)
            below(axes, handles)
        return self

    def _frame(self, ax: Axes) -> None:
        best = max(float(np.max(self.curve.benefits[n].high)) for n in self.curve.models)
        top = max(best, float(self.curve.prevalence), 1e-3)
        # Far below 0 nobody would act: the room is for what is above.
        ax.set_ylim(-0.25 * top, 1.08 * top)
        ax.set(xlabel="threshold probability", ylabel="net benefit")
        ax.spines[["top", "right"]].set_visible(False)
        ax.spines[["left", "bottom"]].set(color=GREY, linewidth=0.8)
        ax.grid(True, color="#e8e8e8", linewidth=0.6)
        ax.set_axisbelow(True)
        ax.margins(x=0.01)
