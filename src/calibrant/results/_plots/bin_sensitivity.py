"""Each measure against the number of bins: how much of a value is the choice of its bins."""

# ruff: noqa: N803 - X is the name that scikit-learn has for features.

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from calibrant._core.validation import public
from calibrant.results._bin_sensitivity import BinSensitivity
from calibrant.results._plots.canvas import Drawn, canvas, panels
from calibrant.results._plots.legends import below, below_panels
from calibrant.results._plots.style import COLUMN, GREY, look

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class BinSensitivityDisplay(Drawn):
    """A line for each measure over all numbers of bins; a panel for each scale of values.

    Use `from_predictions` or `from_estimator`, or `BinSensitivity.plot`. A line that keeps rising
    adds the noise of ever smaller bins; a measure that has none is a level line. The thin upright
    line is at the usual number of bins.

    Attributes
    ----------
    found : the `BinSensitivity` that is drawn
    axes_ : matplotlib's axes, one for each scale
    figure_ : matplotlib's figure, or the part of it that `ax` gave
    lines_ : the line of each measure, by name

    Examples
    --------
    >>> from calibrant.results._plots.bin_sensitivity import BinSensitivityDisplay
    >>> y, p = [0, 1, 1, 0] * 5, [0.2, 0.7, 0.9, 0.4] * 5
    >>> display = BinSensitivityDisplay.from_predictions(y, p, bins=[5, 10], measures=["ece"])
    >>> display.lines_["ece"].get_xdata().tolist()
    [5, 10]
    """

    def __init__(self, found: BinSensitivity) -> None:
        self.found = found

    @classmethod
    @public
    def from_predictions(
        cls,
        y_true: Any,
        y_proba: Any,
        *,
        bins: Iterable[int] = range(1, 101),
        measures: Sequence[str] | None = None,
        sample_weight: Any = None,
        from_logits: bool = False,
        classes: Sequence[Any] | None = None,
        data: Any = None,
        ax: Axes | None = None,
        mark: int | None = 15,
    ) -> BinSensitivityDisplay:
        """The diagram of labels and predictions: the options of `calibrant.bin_sensitivity`, then
        those of `plot`.
        """
        from calibrant._api.bin_sensitivity import bin_sensitivity

        found = bin_sensitivity(
            y_true, y_proba, bins=bins, measures=measures, sample_weight=sample_weight,
            from_logits=from_logits, classes=classes, data=data,
        )  # fmt: skip
        return cls(found).plot(ax=ax, mark=mark)

    @classmethod
    @public
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        bins: Iterable[int] = range(1, 101),
        measures: Sequence[str] | None = None,
        sample_weight: Any = None,
        y_soft: Any = None,
        response_method: str | tuple[str, ...] = "predict_proba",
        from_logits: bool = False,
        pos_label: Any = None,
        ax: Axes | None = None,
        mark: int | None = 15,
    ) -> BinSensitivityDisplay:
        """The diagram of a fitted classifier on rows X with labels y, or with soft labels `y_soft`.

        Two classes: the predictions of the second, or of `pos_label`. More: all of them, or with
        `pos_label` that class against the rest.
        """
        from calibrant.integrations._responses import read_problem, resolve_methods

        problem = read_problem(
            estimator, X, y, y_soft=y_soft, pos_label=pos_label,
            methods=resolve_methods(response_method, from_logits),
        )  # fmt: skip
        return cls.from_predictions(
            problem.y_true, problem.y_proba, bins=bins, measures=measures,
            sample_weight=sample_weight, from_logits=problem.from_logits, classes=problem.classes,
            ax=ax, mark=mark,
        )  # fmt: skip

    @public
    def plot(
        self,
        *,
        measures: Sequence[str] | None = None,
        ax: Axes | None = None,
        mark: int | None = 15,
    ) -> BinSensitivityDisplay:
        """Draw on `ax` or in its place, or on a new figure.

        `measures` chooses some of those that were computed, `mark` is the number of bins at which
        the upright line is (None: without).
        """
        names = self.found.measures if measures is None else tuple(measures)
        values = {name: self.found[name] for name in names}
        scales = list(dict.fromkeys(self.found.scales[name] for name in names))
        self.lines_: dict[str, Any] = {}
        turns = {name: turn for turn, name in enumerate(names)}
        if len(scales) == 1:
            with canvas(ax, (COLUMN, 2.6)) as axes:
                self.figure_, self.axes_ = axes.figure, [axes]
                self._panel(axes, scales[0], values, turns, mark)
                self._finish(axes)
                below(axes, list(self.lines_.values()))
            return self
        size = (COLUMN, 0.7 + 1.35 * len(scales) + 0.08 * len(names))
        with panels(ax, len(scales), 1, size, sharex=True) as (figure, grid):
            self.figure_, self.axes_ = figure, list(grid[:, 0])
            for axes, scale in zip(self.axes_, scales, strict=True):
                of_scale = {n: v for n, v in values.items() if self.found.scales[n] == scale}
                self._panel(axes, scale, of_scale, turns, mark)
            self._finish(self.axes_[-1])
            below_panels(figure, self.axes_[-1], list(self.lines_.values()))
        return self

    def _panel(
        self,
        ax: Axes,
        scale: str,
        values: dict[str, tuple[float, ...]],
        turns: dict[str, int],
        mark: int | None,
    ) -> None:
        bins = self.found.bins
        for name, found in values.items():
            looks = {**look(turns[name]), "linewidth": 1.2, "zorder": 3, "label": name}
            (self.lines_[name],) = ax.plot(
                bins, found, markersize=3, markevery=_markers(bins, turns[name]), **looks
            )
        if mark is not None:
            ax.axvline(mark, color=GREY, linewidth=0.8, linestyle=(0, (1, 2)), zorder=1)
        ax.set_xscale("log")
        ax.set_ylabel(scale)
        ax.set_ylim(bottom=0)
        ax.spines[["top", "right"]].set_visible(False)
        ax.grid(True, color="#e8e8e8", linewidth=0.6)
        ax.ticklabel_format(axis="y", style="sci", scilimits=(-3, 4), useMathText=False)

    def _finish(self, ax: Axes) -> None:
        """Ticks at round numbers of bins."""
        from matplotlib.ticker import FixedLocator, NullLocator, ScalarFormatter

        low, high = self.found.bins[0], self.found.bins[-1]
        round_ones = [m * ten for ten in (1, 10, 100, 1000, 10000) for m in (1, 2, 5)]
        ax.xaxis.set_major_locator(FixedLocator([m for m in round_ones if low <= m <= high]))
        ax.xaxis.set_minor_locator(NullLocator())
        ax.xaxis.set_major_formatter(ScalarFormatter())
        ax.set_xlabel("bins")


def _markers(bins: tuple[int, ...], turn: int) -> list[int]:
    """Where a line has its markers: some of its points, not those of its neighbours."""
    if len(bins) <= 12:
        return list(range(len(bins)))
    ends = np.log([bins[0], bins[-1]])
    places = ends[0] + (ends[1] - ends[0]) * (np.arange(6) + (turn % 7) / 7) / 6
    return sorted({int(np.searchsorted(np.log(bins), place)) for place in places})
