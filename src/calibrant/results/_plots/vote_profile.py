"""Predictions beside votes in four diagrams, each with what calibrated predictions would show."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from calibrant._core.errors import one_of
from calibrant._core.validation import public
from calibrant.results._plots.canvas import Drawn, Size, style_frame
from calibrant.results._plots.diagram_parts import x_label_of
from calibrant.results._plots.legends import (
    LegendOption,
    check_legend,
    legend_below_figure,
    place_legend,
)
from calibrant.results._plots.style import COLUMN, GREY, Looks, series_style
from calibrant.results._rendering import percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from calibrant.results._plots.typing import VoteProfileData

SEEN, EXPECTED = series_style(0)["color"], series_style(1)["color"]
_BAND = {"color": EXPECTED, "alpha": 0.25, "linewidth": 0}
_SEEN: dict[str, Any] = {"color": SEEN, "markersize": 4, "label": "observed"}
_DIAGONAL: dict[str, Any] = {"color": GREY, "linewidth": 0.9, "linestyle": (0, (5, 4))}
# What each diagram shows, for captions.
_MEANINGS = {
    "reliability": "Points are bins of predictions: the mean share of votes in each.",
    "distances": "The histogram is of distances between a row's prediction and its votes.",
    "entropies": "Points are bins by the entropy of the prediction: their votes' mean entropy.",
    "bands": "Points are bands by the entropy of the votes: the mean distance to the prediction.",
}
KINDS = tuple(_MEANINGS)


class VoteProfileDisplay(Drawn):
    """The diagrams of a `VoteProfile`.

    Parameters
    ----------
    profile : VoteProfile
        The profile to draw.
    """

    def __init__(self, profile: VoteProfileData) -> None:
        self.profile = profile

    @property
    def expected(self) -> str:
        """The label of what calibrated predictions would show with as many votes, in orange."""
        return f"expected if calibrated ({percent(self.profile.level)})"

    @public
    def plot(
        self,
        *,
        kind: str | None = None,
        ax: Axes | None = None,
        legend: LegendOption = True,
        size: Size = None,
    ) -> Self:
        """Draw one diagram, or all four.

        Parameters
        ----------
        kind : {"reliability", "distances", "entropies", "bands"}, optional
            One diagram; left out, all four on a new figure, or where there is room for one (on
            `ax` or in a column), the first.
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
        kinds = KINDS if kind is None else (one_of("kind", kind, KINDS),)
        if ax is not None or size == "column":  # room for one of them
            kinds = kinds[:1]
        height = 9.6 if len(kinds) > 1 else 2.9
        with self._panels(ax, (len(kinds), 1), (COLUMN, height), size) as several:
            handles = [self._draw(*each) for each in zip(kinds, several, strict=True)]
            if len(kinds) > 1:  # all four diagrams use the same colours
                legend_below_figure(self.figure_, handles[0], legend)
            else:
                place_legend(several[0], handles[0], legend)
        self._sentences = [
            "Blue is observed. Orange is what calibrated predictions would show with as many "
            f"votes: the mean, and where {percent(self.profile.level)} of samples lie.",
            *(_MEANINGS[each] for each in kinds),
        ]
        return self

    def _draw(self, kind: str, ax: Axes) -> list[Any]:
        """Draw the diagram of a kind, such as "bands", and return the handles of its legend."""
        draw: dict[str, Callable[[Axes], list[Any]]] = {
            "reliability": self._draw_reliability,
            "distances": self._draw_distances,
            "entropies": self._draw_entropies,
            "bands": self._draw_bands,
        }
        handles = draw[kind](ax)
        style_frame(ax)
        return handles

    def _draw_reliability(self, ax: Axes) -> list[Any]:
        """Draw the mean share of votes by bin of the predictions.

        Bars about the diagonal show how far the votes of calibrated predictions scatter. Returns
        the handles of the legend.
        """
        at = _nonempty_bins(self.profile.bins, "mean_predicted")
        x = at["mean_predicted"]
        ax.plot([0, 1], [0, 1], **_DIAGONAL)
        reach = np.maximum(np.stack([x - at["low"], at["high"] - x]), 0.0)
        looks: Looks = {"ecolor": EXPECTED, "elinewidth": 4, "alpha": 0.35}
        spread = ax.errorbar(x, x, yerr=reach, fmt="none", label=self.expected, **looks)
        seen = ax.plot(x, at["mean_target"], "o", **_SEEN)
        ax.set(xlabel=x_label_of(self.profile.notion), ylabel="mean share of votes")
        ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
        return [*seen, spread]

    def _draw_distances(self, ax: Axes) -> list[Any]:
        """Draw a histogram of the distances between predictions and votes.

        Steps show the histogram that calibrated predictions would give. Returns the handles of the
        legend.
        """
        columns = {key: np.asarray(v, dtype=float) for key, v in self.profile.distances.items()}
        lower = columns["lower"]
        edges = np.append(lower, columns["upper"][-1])
        looks: Looks = {"color": SEEN, "alpha": 0.35, "linewidth": 0}
        bars = ax.bar(
            lower, columns["share"], np.diff(edges), align="edge", label="observed", **looks
        )
        label = "expected if calibrated"
        steps = ax.stairs(columns["expected"], edges, color=EXPECTED, linewidth=1.4, label=label)
        ax.set(xlabel="distance of a row from its votes", ylabel="share of rows", xlim=(0, 1))
        return [bars, steps]

    def _draw_entropies(self, ax: Axes) -> list[Any]:
        """Draw the mean entropy of the votes by bin of the predictions' entropy.

        A line and a band show what calibrated predictions would give. Returns the
        handles of the legend.
        """
        at = _nonempty_bins(self.profile.entropies, "predicted")
        x, top = at["predicted"], float(self.profile.entropies["upper"][-1])
        ax.plot([0, top], [0, top], **_DIAGONAL)
        ax.fill_between(x, at["low"], at["high"], **_BAND)
        (line,) = ax.plot(x, at["expected"], color=EXPECTED, linewidth=1.2, label=self.expected)
        seen = ax.plot(x, at["label"], "o", **_SEEN)
        ax.set(xlabel="entropy of the prediction", ylabel="mean entropy of the votes")
        ax.set(xlim=(0, 1.02 * top), ylim=(0, 1.02 * top))
        return [*seen, line]

    def _draw_bands(self, ax: Axes) -> list[Any]:
        """Draw the mean distance between predictions and votes in each band of the votes' entropy.

        Dashes and bars show what calibrated predictions would give. Returns the
        handles of the legend.
        """
        bands = self.profile.bands
        place = np.arange(len(bands["band"]))
        low, high, middle, seen = (
            np.asarray(bands[name], dtype=float)
            for name in ("dist_ce_low", "dist_ce_high", "dist_ce_expected", "dist_ce")
        )
        ax.vlines(place, low, high, color=EXPECTED, linewidth=5, alpha=0.35)
        (dash,) = ax.plot(place, middle, "_", color=EXPECTED, markersize=10, label=self.expected)
        dots = ax.plot(place, seen, "o", **_SEEN)
        ax.set_xticks(place, [f"{float(each):.2f}" for each in bands["entropy"]])
        ax.set(xlabel="mean entropy of the votes, by band", ylabel="mean distance (dist_ce)")
        ax.set_xlim(-0.5, len(place) - 0.5)
        ax.set_ylim(bottom=0)
        return [*dots, dash]


def _nonempty_bins(columns: dict[str, list[Any]], key: str) -> dict[str, NDArray[np.float64]]:
    """The columns as arrays of the bins that hold rows, where the column `key` is finite."""
    arrays = {name: np.asarray(values, dtype=float) for name, values in columns.items()}
    kept = np.isfinite(arrays[key])
    return {name: values[kept] for name, values in arrays.items()}
