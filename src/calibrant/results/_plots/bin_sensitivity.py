"""Each measure against the number of bins: how much of a value is the choice of its bins."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from calibrant._core.validation import public
from calibrant.results._plots.canvas import DrawnFromPredictions, Size
from calibrant.results._plots.legends import LegendOption, check_legend, legend_below_panels
from calibrant.results._plots.style import COLUMN, GREY, series_style
from calibrant.results._plots.typing import SensitivityData

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class BinSensitivityDisplay(DrawnFromPredictions):
    """A line for each measure over all numbers of bins; a panel for each scale of values.

    Use `from_predictions` or `from_estimator`, or `BinSensitivity.plot`. A line that keeps rising
    adds the noise of ever smaller bins; a measure without bins is a level line. The thin upright
    line is at the usual number of bins.

    Parameters
    ----------
    sensitivity : BinSensitivity
        The values to draw.

    Attributes
    ----------
    axes_ : list of matplotlib Axes
        One for each scale.
    figure_ : matplotlib Figure or SubFigure
        Where the lines are drawn.
    lines_ : dict of str to matplotlib Line2D
        The line of each measure.

    Examples
    --------
    >>> from calibrant.plots import BinSensitivityDisplay
    >>> y, p = [0, 1, 1, 0] * 5, [0.2, 0.7, 0.9, 0.4] * 5
    >>> display = BinSensitivityDisplay.from_predictions(y, p, bins=[5, 10], measures=["ece"])
    >>> display.lines_["ece"].get_xdata().tolist()
    [5, 10]
    """

    def __init__(self, sensitivity: SensitivityData) -> None:
        self.sensitivity = sensitivity

    @public
    def plot(
        self,
        *,
        measures: Sequence[str] | None = None,
        ax: Axes | None = None,
        mark: int | None = 15,
        legend: LegendOption = True,
        size: Size = None,
    ) -> Self:
        """Draw the lines.

        Parameters
        ----------
        measures : sequence of str, optional
            Some of the measures that were computed; left out, all.
        ax : matplotlib Axes, optional
            Where to draw, or whose place several panels take; left out, a new figure.
        mark : int or None, default 15
            The number of bins at which the upright line is; None draws none.
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
        names = self.sensitivity.measures if measures is None else tuple(measures)
        values = {name: self.sensitivity[name] for name in names}
        scales = list(dict.fromkeys(self.sensitivity.scales[name] for name in names))
        self.lines_: dict[str, Any] = {}
        indexes = {name: index for index, name in enumerate(names)}
        n = len(scales)
        height = 2.6 if n == 1 else 0.7 + 1.35 * n + 0.08 * len(names)
        with self._panels(ax, (n, 1), (COLUMN, height), size, sharex=True) as several:
            for axes, scale in zip(several, scales, strict=True):
                of_scale = {k: v for k, v in values.items() if self.sensitivity.scales[k] == scale}
                self._draw_panel(axes, scale, of_scale, indexes, mark)
            self._label_bins(several[-1])
            legend_below_panels(several, list(self.lines_.values()), legend)
        bins = self.sensitivity.bins
        self._sentences = [
            f"Each measure at {len(bins)} numbers of bins, {bins[0]} to {bins[-1]}. A rising line "
            "adds the noise of smaller bins; a measure without bins is a level line.",
            f"The dotted line is at {mark} bins." if mark is not None else "",
        ]
        return self

    def _draw_panel(
        self,
        ax: Axes,
        scale: str,
        values: dict[str, tuple[float, ...]],
        indexes: dict[str, int],
        mark: int | None,
    ) -> None:
        """Draw the measures that share a scale of values into one panel.

        `values` has a value for each number of bins, by measure, and `indexes` each measure's index
        in the cycle of colours. A vertical line is at `mark` bins; None draws none.
        """
        bins = self.sensitivity.bins
        for name, line in values.items():
            looks = {**series_style(indexes[name]), "linewidth": 1.2, "zorder": 3, "label": name}
            (self.lines_[name],) = ax.plot(
                bins, line, markersize=3, markevery=_marker_indexes(bins, indexes[name]), **looks
            )
        if mark is not None:
            ax.axvline(mark, color=GREY, linewidth=0.8, linestyle=(0, (1, 2)), zorder=1)
        ax.set_xscale("log")
        ax.set_ylabel(scale)
        ax.set_ylim(bottom=0)
        ax.spines[["top", "right"]].set_visible(False)
        ax.grid(True, color="#e8e8e8", linewidth=0.6)
        ax.ticklabel_format(axis="y", style="sci", scilimits=(-3, 4), useMathText=False)

    def _label_bins(self, ax: Axes) -> None:
        """Put the ticks of the horizontal axis at round numbers of bins: 1, 2, 5, 10 and so on."""
        from matplotlib.ticker import FixedLocator, NullLocator, ScalarFormatter

        low, high = self.sensitivity.bins[0], self.sensitivity.bins[-1]
        round_ones = [m * ten for ten in (1, 10, 100, 1000, 10000) for m in (1, 2, 5)]
        ax.xaxis.set_major_locator(FixedLocator([m for m in round_ones if low <= m <= high]))
        ax.xaxis.set_minor_locator(NullLocator())
        ax.xaxis.set_major_formatter(ScalarFormatter())
        ax.set_xlabel("bins")


def _marker_indexes(bins: tuple[int, ...], index: int) -> list[int]:
    """The indexes of those points of a line that get a marker.

    Of more than 12 points about six do, at other places for each `index` of a line.
    """
    if len(bins) <= 12:
        return list(range(len(bins)))
    ends = np.log([bins[0], bins[-1]])
    places = ends[0] + (ends[1] - ends[0]) * (np.arange(6) + (index % 7) / 7) / 6
    return sorted({int(np.searchsorted(np.log(bins), each)) for each in places})
