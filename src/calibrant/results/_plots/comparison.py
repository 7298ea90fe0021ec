"""Several predictors side by side: values, ranks or differences, each with its uncertainty."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from calibrant._core.errors import InputError, one_of
from calibrant._core.validation import public
from calibrant._measures.catalogue import find
from calibrant.results._plots.canvas import DrawnFromPredictions, Size
from calibrant.results._plots.captions import shown_of
from calibrant.results._plots.legends import LegendOption, check_legend
from calibrant.results._plots.names import short_name
from calibrant.results._plots.rows_of_dots import (
    bar_entry,
    check_cap,
    dot_entry,
    draw_dots,
    draw_sample_crosses,
    height_of,
    legend_of_rows,
    name_rows,
    ring_entry,
    rows_with_room,
    sample_entry,
)
from calibrant.results._plots.style import COLUMN, GREY
from calibrant.results._plots.typing import ComparisonData
from calibrant.results._rendering import percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes

KINDS = ("values", "ranks", "differences")


class ComparisonDisplay(DrawnFromPredictions):
    """Predictors from the best to the worst, with how sure that is.

    Use `from_predictions` or `from_estimator`, or `Comparison.plot`. A kind is "values"
    (dots: bias-corrected estimates; bars: confidence intervals), "ranks" (bars: confidence
    intervals of the ranks) or "differences" (from the best predictor; a ring: the interval includes
    0). A cross is the value of the sample, where it is another number: raw values of calibration
    errors are biased upwards. Several measures stand side by side, the rows in the order of the
    first.

    Parameters
    ----------
    comparison : Comparison
        The comparison to draw.

    Attributes
    ----------
    names_ : list of str
        The predictors that are shown, from the top.
    axes_ : list of matplotlib Axes
        One for each measure.
    figure_ : matplotlib Figure or SubFigure
        Where the dots are drawn.
    dots_, bars_ : dict of str to matplotlib collections
        Values and intervals, by measure.

    Examples
    --------
    >>> from calibrant.plots import ComparisonDisplay
    >>> y = [0, 1, 1, 0] * 25
    >>> models = {"good": [0.1, 0.8, 0.9, 0.2] * 25, "bad": [0.3, 0.5, 0.6, 0.6] * 25}
    >>> ComparisonDisplay.from_predictions(y, models, measures=["brier"]).names_
    ['good', 'bad']
    """

    def __init__(self, comparison: ComparisonData) -> None:
        self.comparison = comparison

    @public
    def plot(
        self,
        *,
        kind: str = "values",
        measures: Sequence[str] | None = None,
        cap: int = 30,
        ax: Axes | None = None,
        legend: LegendOption = True,
        size: Size = None,
        color: Any = None,
    ) -> Self:
        """Draw the predictors.

        Parameters
        ----------
        kind : {"values", "ranks", "differences"}, default "values"
            What is drawn of each predictor.
        measures : sequence of str, optional
            Measures to draw; left out, the first.
        cap : int, default 30
            The largest number of predictors shown.
        ax : matplotlib Axes, optional
            Where to draw, or whose place several measures take; left out, a new figure.
        legend : bool or str, default True
            Whether to draw a legend where there is room, or its location inside the axes.
        size : "column" or tuple of two floats, optional
            Size of a new figure: 3.3 x 2.6 inches, or (width, height) in inches.
        color : matplotlib color, optional
            Color of dots and bars.

        Returns
        -------
        self
            The display, drawn.
        """
        one_of("kind", kind, KINDS)
        drawn = [self.comparison.measures[0]] if measures is None else list(measures)
        if not drawn:
            raise InputError("measures must name one measure or more")
        check_legend(legend)
        most = min(check_cap(cap), rows_with_room(ax, size))
        self.names_ = self.comparison.order(drawn[0])[:most]
        self.dots_: dict[str, Any] = {}
        self.bars_: dict[str, Any] = {}
        self.samples_: dict[str, Any] = {}
        n = len(drawn)
        usual = COLUMN if n <= 2 else 1.4 + 1.35 * n, height_of(len(self.names_)) + 0.2
        with self._panels(ax, (1, n), usual, size, sharey=True) as several:
            for axes, measure in zip(several, drawn, strict=True):
                self._draw_panel(axes, kind, measure, color)
                if n > 1 and kind != "ranks":  # four-digit tick labels need room
                    axes.locator_params(axis="x", nbins=3 if ax is None and size is None else 2)
            name_rows(several[0], self.names_, 12 if n == 2 else 20)
            own_figure = ax is None or n > 1
            entries = self._legend_entries(kind, color)
            legend_of_rows(several[0], entries, legend, on_own_figure=own_figure)
        self._sentences = self._explain(kind, drawn)
        return self

    def _explain(self, kind: str, measures: list[str]) -> list[str]:
        """The sentences of the caption, of a kind of diagram of these measures."""
        names, level = self.comparison.names, percent(self.comparison.level)
        shown, listed = len(self.names_), ", ".join(measures)
        near = self.comparison.closeness
        differ = ", ".join(near[m].distance_of(m) if m in near else m for m in measures)
        crosses = any(marks is not None for marks in self.samples_.values())
        dots = {
            "values": f"Dots are bias-corrected estimates of {listed}, with {level} confidence "
            "intervals.",
            "ranks": f"Dots are ranks by {listed}, with {level} confidence intervals.",
            "differences": f"Dots are differences in {differ} from the best predictor, with "
            f"{level} intervals that hold for all pairs together. A ring is a difference whose "
            "interval includes 0.",
        }[kind]
        return [
            f"Predictors from the best to the worst by {measures[0]}.",
            dots,
            "Crosses are the values in the sample." if crosses else "",
            shown_of(shown, len(names), "predictors", "best"),
        ]

    def _draw_panel(self, ax: Axes, kind: str, measure: str, color: Any) -> None:
        """Draw the predictors in `names_` by one measure: dots, bars, and crosses at sample values.

        `kind` is "values", "ranks" or "differences"; ranks have no crosses. The artists are kept in
        `dots_`, `bars_` and `samples_`.
        """
        rows = self._drawn_numbers(kind, measure)
        value, low, high = (np.array([rows[name][i] for name in self.names_]) for i in range(3))
        filled = [rows[name][3] for name in self.names_]
        points, bars = draw_dots(ax, value, (low, high), filled=filled, color=color)
        self.dots_[measure], self.bars_[measure] = points, bars
        self.samples_[measure] = None
        if kind != "ranks":
            sample = [rows[name][4] for name in self.names_]
            self.samples_[measure] = draw_sample_crosses(ax, sample, value, color)
        if kind == "differences":
            ax.axvline(0, color=GREY, linewidth=0.8, zorder=1)
            best = short_name(self._best_name(measure), 20)
            ax.set_xlabel(f"{self._difference_of(measure)} minus that of\n{best}")
        elif kind == "ranks":
            n = len(self.comparison.names)
            ax.set_xlabel(f"rank by {measure}")
            ax.set_xticks(np.unique(np.linspace(1, n, min(n, 5)).round()))
            ax.set_xlim(0.5, n + 0.5)
        else:
            ax.set_xlabel(measure)
            ax.ticklabel_format(axis="x", style="sci", scilimits=(-3, 4))

    def _difference_of(self, measure: str) -> str:
        """What is subtracted: a measure by its name, or a distance as a formula."""
        comparison, near = self.comparison, self.comparison.closeness.get(measure)
        if near is not None:
            return str(near.distance_of(measure))
        return find(measure, comparison.shape).called(soft=comparison.soft)

    def _best_name(self, measure: str) -> str:
        """The name of the best predictor by this measure."""
        return self.comparison.order(measure)[0]

    def _drawn_numbers(
        self, kind: str, measure: str
    ) -> dict[str, tuple[float, float, float, bool, float]]:
        """The numbers drawn of each predictor, by its name, as a tuple of five.

        They are the estimate, its lower and upper limit, whether the dot is filled, and the value
        of the sample. A dot is empty for a difference that is not significant. Of ranks, the
        estimate and the value of the sample are both the rank.
        """
        comparison = self.comparison
        if kind == "differences":
            rows = {
                d.first: (*d.behind, d.better is not None, getattr(d, "farther", d.value))
                for d in comparison.differences(measure)
            }
            return {self._best_name(measure): (0.0, 0.0, 0.0, True, 0.0), **rows}
        if kind == "ranks":
            columns = comparison.ranking(measure)
            keys = ("rank", "rank_low", "rank_high", "rank")
        else:
            columns = comparison.intervals(measure)
            keys = ("estimate", "low", "high", measure)
        numbers = zip(*(columns[key] for key in keys), strict=True)
        return {
            name: (estimate, low, high, True, sample)
            for name, (estimate, low, high, sample) in zip(
                columns["predictor"], numbers, strict=True
            )
        }

    def _legend_entries(self, kind: str, color: Any) -> list[Any]:
        """The entries of the legend: dot and bar, and cross and ring where they are drawn.

        `kind` is that of the diagram.
        """
        level = percent(self.comparison.level)
        words = {
            "values": ("estimate", f"{level} confidence interval"),
            "ranks": ("by the estimated differences", f"{level} confidence interval"),
            "differences": ("estimate", f"{level} interval"),
        }[kind]
        entries = [dot_entry(words[0], color), bar_entry(words[1], color)]
        if any(marks is not None for marks in self.samples_.values()):
            entries.append(sample_entry(color))
        if kind == "differences":
            entries.append(ring_entry("not significantly different", color))
        return entries
