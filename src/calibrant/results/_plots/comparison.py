"""Several predictors side by side: values, ranks or differences, each with its uncertainty."""

# ruff: noqa: N803 - X is the name that scikit-learn has for features.

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from calibrant._core.binning import Bins
from calibrant._core.errors import InputError, one_of
from calibrant._core.validation import N_RESAMPLES, public
from calibrant.results._comparison import Comparison
from calibrant.results._plots.canvas import Drawn, canvas, panels
from calibrant.results._plots.legends import below, below_all
from calibrant.results._plots.names import short_name
from calibrant.results._plots.rows_of_dots import checked_cap, dots, height_of, name_rows
from calibrant.results._plots.style import COLOURS, COLUMN, GREY

if TYPE_CHECKING:
    from matplotlib.axes import Axes

KINDS = ("values", "ranks", "differences")


class ComparisonDisplay(Drawn):
    """Predictors from the best to the worst, with how sure that is.

    Use `from_predictions` or `from_estimator`, or `Comparison.plot`. A kind is "values" (bars:
    intervals of the true value; a sample's calibration error lies above it, so its dot may be to
    the right of its bar), "ranks" (bars: where the rank lies in resamples) or "differences" (from
    the best predictor; a ring cannot be told from it). Several measures stand side by side, the
    rows in the order of the first.

    Attributes
    ----------
    comparison : the `Comparison` that is drawn
    names_ : the predictors that are shown, from the top
    axes_ : matplotlib's axes, one for each measure
    figure_ : matplotlib's figure, or the part of it that `ax` gave
    dots_, bars_ : by measure

    Examples
    --------
    >>> from calibrant.results._plots.comparison import ComparisonDisplay
    >>> y = [0, 1, 1, 0] * 25
    >>> models = {"good": [0.1, 0.8, 0.9, 0.2] * 25, "bad": [0.3, 0.5, 0.6, 0.6] * 25}
    >>> ComparisonDisplay.from_predictions(y, models, measures=["brier"]).names_
    ['good', 'bad']
    """

    def __init__(self, comparison: Comparison) -> None:
        self.comparison = comparison

    @classmethod
    @public
    def from_predictions(
        cls,
        y_true: Any,
        y_proba: Mapping[str, Any],
        *,
        ids: Mapping[str, Any] | None = None,
        measures: Iterable[str] | None = None,
        bins: Bins = 15,
        level: float = 0.95,
        groups: Any = None,
        n_resamples: int = N_RESAMPLES,
        seed: int = 0,
        sample_weight: Any = None,
        from_logits: bool = False,
        classes: Sequence[Any] | None = None,
        data: Any = None,
        kind: str = "values",
        cap: int = 30,
        ax: Axes | None = None,
    ) -> ComparisonDisplay:
        """The predictors of `y_proba`, name by name: the options of `calibrant.compare`, then those
        of `plot`. All `measures` that are named are drawn.
        """
        from calibrant._api.compare import compare

        asked = None if measures is None else list(measures)
        found = compare(
            y_true, y_proba, ids=ids, measures=asked, bins=bins, level=level, groups=groups,
            n_resamples=n_resamples, seed=seed, sample_weight=sample_weight,
            from_logits=from_logits, classes=classes, data=data,
        )  # fmt: skip
        return cls(found).plot(kind=kind, measures=asked, cap=cap, ax=ax)

    @classmethod
    @public
    def from_estimator(
        cls,
        estimators: Mapping[str, Any],
        X: Any,
        y: Any,
        *,
        y_soft: Any = None,
        response_method: str | tuple[str, ...] = "predict_proba",
        from_logits: bool = False,
        pos_label: Any = None,
        measures: Iterable[str] | None = None,
        bins: Bins = 15,
        level: float = 0.95,
        groups: Any = None,
        n_resamples: int = N_RESAMPLES,
        seed: int = 0,
        sample_weight: Any = None,
        kind: str = "values",
        cap: int = 30,
        ax: Axes | None = None,
    ) -> ComparisonDisplay:
        """Fitted classifiers, name by name, on the same rows X with labels y, or with soft labels
        `y_soft`. All must have the same classes.
        """
        from calibrant.integrations._responses import read_problem, resolve_methods

        if not isinstance(estimators, Mapping) or not estimators:
            raise InputError(
                "estimators must map names to fitted classifiers, such as {'forest': model}; got "
                f"{type(estimators).__name__}"
            )
        methods = resolve_methods(response_method, from_logits)
        problems = {
            name: read_problem(each, X, y, y_soft=y_soft, pos_label=pos_label, methods=methods)
            for name, each in estimators.items()
        }
        first = next(iter(problems.values()))
        for name, problem in problems.items():
            if problem.from_logits != first.from_logits or not _same(problem, first):
                raise InputError(
                    f"{name!r} has other classes or predictions of another kind than "
                    f"{next(iter(problems))!r}: compare classifiers of the same classes"
                )
        return cls.from_predictions(
            first.y_true, {name: problem.y_proba for name, problem in problems.items()},
            measures=measures, bins=bins, level=level, groups=groups, n_resamples=n_resamples,
            seed=seed, sample_weight=sample_weight, from_logits=first.from_logits,
            classes=first.classes, kind=kind, cap=cap, ax=ax,
        )  # fmt: skip

    @public
    def plot(
        self,
        *,
        kind: str = "values",
        measures: Sequence[str] | None = None,
        cap: int = 30,
        ax: Axes | None = None,
        color: Any = None,
    ) -> ComparisonDisplay:
        """Draw on `ax` or in its place, or on a new figure.

        `measures` are those to draw (left out: the first), `cap` is the largest number of
        predictors shown, `color` that of dots and bars.
        """
        one_of("kind", kind, KINDS)
        drawn = [self.comparison.measures[0]] if measures is None else list(measures)
        if not drawn:
            raise InputError("measures must name one measure or more")
        self.names_ = self.comparison.order(drawn[0])[: checked_cap(cap)]
        self.dots_: dict[str, Any] = {}
        self.bars_: dict[str, Any] = {}
        height = height_of(len(self.names_)) + 0.2
        if len(drawn) == 1:
            with canvas(ax, (COLUMN, height)) as axes:
                self.figure_, self.axes_ = axes.figure, [axes]
                self._panel(axes, kind, drawn[0], color)
                name_rows(axes, self.names_)
                handles = self._handles(kind, color)
                if ax is None:
                    below_all(axes.figure, handles)
                else:
                    below(axes, handles)
            return self
        width = COLUMN if len(drawn) == 2 else 1.4 + 1.35 * len(drawn)
        with panels(ax, 1, len(drawn), (width, height), sharey=True) as (figure, grid):
            self.figure_, self.axes_ = figure, list(grid[0])
            for axes, measure in zip(self.axes_, drawn, strict=True):
                self._panel(axes, kind, measure, color)
                if kind != "ranks":  # numbers of four places need room
                    axes.locator_params(axis="x", nbins=3)
            name_rows(self.axes_[0], self.names_, 20 if len(drawn) > 2 else 12)
            below_all(figure, self._handles(kind, color))
        return self

    def _panel(self, ax: Axes, kind: str, measure: str, color: Any) -> None:
        rows = self._rows(kind, measure)
        value, low, high = (np.array([rows[name][i] for name in self.names_]) for i in range(3))
        filled = [rows[name][3] for name in self.names_]
        points, bars = dots(ax, value, (low, high), filled=filled, color=color)
        self.dots_[measure], self.bars_[measure] = points, bars
        if kind == "differences":
            ax.axvline(0, color=GREY, linewidth=0.8, zorder=1)
            ax.set_xlabel(f"{measure} less that of\n{short_name(self._best(measure), 20)}")
        elif kind == "ranks":
            n = len(self.comparison.names)
            ax.set_xlabel(f"rank by {measure}")
            ax.set_xticks(np.unique(np.linspace(1, n, min(n, 5)).round()))
            ax.set_xlim(0.5, n + 0.5)
        else:
            ax.set_xlabel(measure)
            ax.ticklabel_format(axis="x", style="sci", scilimits=(-3, 4))

    def _best(self, measure: str) -> str:
        return self.comparison.order(measure)[0]

    def _rows(self, kind: str, measure: str) -> dict[str, tuple[float, float, float, bool]]:
        """Value, limits, and whether it is told from chance, by predictor."""
        found = self.comparison
        if kind == "differences":
            rows = {d.first: (d.value, d.low, d.high, d.better is not None)
                    for d in found.differences(measure)}  # fmt: skip
            return {self._best(measure): (0.0, 0.0, 0.0, True), **rows}
        if kind == "ranks":
            columns = found.ranking(measure)
            keys = ("rank", "rank_low", "rank_high")
        else:
            columns = found.intervals(measure)
            keys = (measure, "low", "high")
        numbers = zip(*(columns[key] for key in keys), strict=True)
        return {
            name: (v, a, b, True)
            for name, (v, a, b) in zip(columns["predictor"], numbers, strict=True)
        }

    def _handles(self, kind: str, color: Any) -> list[Any]:
        """What the legend says."""
        from matplotlib.lines import Line2D

        colour = COLOURS[0] if color is None else color
        level = f"{100 * self.comparison.level:g}%"
        words = {
            "values": ("in the sample", f"{level} interval of the true value"),
            "ranks": ("in the sample", f"in {level} of resamples"),
            "differences": ("in the sample", f"{level} interval"),
        }[kind]
        dot: dict[str, Any] = {"marker": "o", "linestyle": "none", "markersize": 4, "color": colour}
        handles = [
            Line2D([], [], label=words[0], **dot),
            Line2D([], [], color=colour, linewidth=2.2, alpha=0.35, label=words[1]),
        ]
        if kind == "differences":
            handles.append(
                Line2D([], [], markerfacecolor="white", label="not told from the best", **dot)
            )
        n, shown = len(self.comparison.names), len(self.names_)
        if shown < n:
            handles.append(
                Line2D([], [], linestyle="none", label=f"{shown} of {n} predictors, best first")
            )
        return handles


def _same(problem: Any, first: Any) -> bool:
    """Whether two classifiers pose the same problem."""
    if (problem.classes is None) != (first.classes is None):
        return False
    if problem.classes is not None and list(problem.classes) != list(first.classes):
        return False
    return np.array_equal(np.asarray(problem.y_true), np.asarray(first.y_true))
