"""A grid of small reliability diagrams, one for each class against the rest, the worst first."""

# ruff: noqa: N803 - X is the name that scikit-learn has for features.

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from calibrant._core.binning import Bins
from calibrant._core.validation import check_count, public
from calibrant.results._class_tables import ClasswiseReliability
from calibrant.results._plots.canvas import Drawn, panels
from calibrant.results._plots.diagram_parts import CURVE, x_label_of, y_label_of
from calibrant.results._plots.names import short_names
from calibrant.results._plots.style import COLOURS, COLUMN, GREY, INK
from calibrant.results._reliability import ReliabilityTable

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Diagrams side by side in one column of a paper.
_ACROSS = 3
# Letters that a diagram's title has room for.
_TITLE = 15


class ClasswiseDisplay(Drawn):
    """Small reliability diagrams of each class against the rest, the largest error first.

    Use `from_predictions` or `from_estimator`, or `ClasswiseReliability.plot`. Bars are intervals
    for the mean target; grey columns show the share of rows in each bin, the highest one of a
    diagram at half of its height. The line below says how many classes are not shown.

    Attributes
    ----------
    tables : the `ClasswiseReliability` that is drawn
    axes_ : matplotlib's axes, one for each class that is shown
    figure_ : matplotlib's figure, or the part of it that `ax` gave
    lines_ : the curves
    intervals_ : the bars of each curve, or None
    note_ : the line below

    Examples
    --------
    >>> from calibrant.results._plots.classwise import ClasswiseDisplay
    >>> rows = [[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.3, 0.3, 0.4], [0.1, 0.7, 0.2]]
    >>> display = ClasswiseDisplay.from_predictions([0, 1, 2, 1], rows, bins=2, cap=2)
    >>> display.note_.get_text()
    '2 of 3 classes, worst first; columns: share of rows'
    """

    def __init__(self, tables: ClasswiseReliability) -> None:
        self.tables = tables

    @classmethod
    @public
    def from_predictions(
        cls,
        y_true: Any,
        y_proba: Any,
        *,
        bins: Bins = 10,
        sample_weight: Any = None,
        from_logits: bool = False,
        classes: Sequence[Any] | None = None,
        data: Any = None,
        cap: int = 12,
        ax: Axes | None = None,
        level: float | None = 0.95,
        counts: bool = True,
        color: Any = None,
    ) -> ClasswiseDisplay:
        """The diagrams of labels and (n, k) predictions: the options of
        `calibrant.classwise_reliability`, then those of `plot`.
        """
        from calibrant._api.reliability import classwise_reliability

        tables = classwise_reliability(
            y_true, y_proba, bins=bins, sample_weight=sample_weight, from_logits=from_logits,
            classes=classes, data=data,
        )  # fmt: skip
        return cls(tables).plot(cap=cap, ax=ax, level=level, counts=counts, color=color)

    @classmethod
    @public
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        bins: Bins = 10,
        sample_weight: Any = None,
        y_soft: Any = None,
        response_method: str | tuple[str, ...] = "predict_proba",
        from_logits: bool = False,
        cap: int = 12,
        ax: Axes | None = None,
        level: float | None = 0.95,
        counts: bool = True,
        color: Any = None,
    ) -> ClasswiseDisplay:
        """The diagrams of a fitted classifier of three classes or more on rows X with labels y, or
        with soft labels `y_soft`.
        """
        from calibrant.integrations._responses import classes_of, read_problem, resolve_methods

        problem = read_problem(
            estimator, X, y, y_soft=y_soft, pos_label=None,
            methods=resolve_methods(response_method, from_logits),
        )  # fmt: skip
        names = problem.classes if problem.classes is not None else classes_of(estimator)
        return cls.from_predictions(
            problem.y_true, problem.y_proba, bins=bins, sample_weight=sample_weight,
            from_logits=problem.from_logits, classes=[*names], cap=cap, ax=ax, level=level,
            counts=counts, color=color,
        )  # fmt: skip

    @public
    def plot(
        self,
        *,
        cap: int = 12,
        ax: Axes | None = None,
        level: float | None = 0.95,
        counts: bool = True,
        color: Any = None,
    ) -> ClasswiseDisplay:
        """Draw in the place of `ax`, or on a new figure.

        `cap` is the largest number of classes shown, `level` that of the intervals (None: without),
        `counts` for the columns of rows, `color` of the curves.
        """
        check_count("cap", cap, 1, "a whole number of classes, at least 1")
        n = min(int(cap), len(self.tables))
        across = min(_ACROSS, n)
        down = math.ceil(n / across)
        size = COLUMN * across / _ACROSS + (0.3 if across < _ACROSS else 0), 0.62 + 1.2 * down
        with panels(ax, down, across, size, sharex=True, sharey=True) as (figure, axes):
            self.figure_ = figure
            self.axes_: list[Axes] = list(axes.flat[:n])
            for empty in axes.flat[n:]:
                empty.remove()
            self._lines(level, counts, COLOURS[0] if color is None else color)
            for place, each in enumerate(self.axes_):  # a column's last diagram has its ticks
                each.tick_params(labelbottom=place + across >= n, labelleft=place % across == 0)
            self._words(n, counts)
        return self

    def _lines(self, level: float | None, counts: bool, colour: Any) -> None:
        self.lines_, self.intervals_ = [], []
        names = short_names(self.tables.names[: len(self.axes_)], _TITLE)
        for ax, name, table in zip(self.axes_, names, self.tables.tables, strict=False):
            line, bars = small_diagram(ax, table, level, counts, colour)
            ax.set_title(
                f"{name}\nECE {table.ece:.3f}", fontsize="small", pad=3, color=INK, linespacing=1.1
            )
            self.lines_.append(line)
            self.intervals_.append(bars)

    def _words(self, n: int, counts: bool) -> None:
        table = self.tables.tables[0]
        self.figure_.supxlabel(x_label_of(table.notion), fontsize="medium", color=INK)
        self.figure_.supylabel(
            y_label_of(table.notion, table.is_hard), fontsize="medium", color=INK
        )
        rows = "; columns: share of rows" if counts else ""
        of = f"{n} of {len(self.tables)} classes" if n < len(self.tables) else f"All {n} classes"
        self.note_ = self.figure_.suptitle(f"{of}, worst first{rows}", fontsize="small", color=GREY)


def small_diagram(
    ax: Axes, table: ReliabilityTable, level: float | None, counts: bool, colour: Any
) -> tuple[Any, Any]:
    """One diagram that can be read an inch wide: the curve and its bars."""
    columns = table.columns() if level is None else table.intervals(level)
    cells = {key: np.asarray(values, dtype=np.float64) for key, values in columns.items()}
    held = cells["weight"] > 0
    ax.set(xlim=(0, 1), ylim=(0, 1), xticks=[0, 0.5, 1], yticks=[0, 0.5, 1])
    ax.set_xticklabels(["0", ".5", "1"])
    ax.set_yticklabels(["0", ".5", "1"])
    ax.set_box_aspect(1)
    ax.spines[["top", "right"]].set_visible(False)
    ax.plot([0, 1], [0, 1], color=GREY, linewidth=0.7, linestyle=(0, (4, 3)), zorder=2)
    if counts:
        _columns(ax, cells)
    x, y = cells["mean_predicted"][held], cells["mean_target"][held]
    (line,) = ax.plot(
        x, y, color=colour, marker="o", markersize=2.4, linewidth=0.9, zorder=3, gid=CURVE,
        clip_on=False,
    )  # fmt: skip
    bars = None
    if level is not None:
        bars = ax.vlines(x, cells["low"][held], cells["high"][held], color=colour, linewidth=1,
                         alpha=0.45, zorder=2.5)  # fmt: skip
    return line, bars


def _columns(ax: Axes, cells: dict[str, Any]) -> None:
    """The share of rows in each bin, behind the curve."""
    share = cells["weight"] / cells["weight"].max() / 2
    width = cells["upper"] - cells["lower"]
    if np.ptp(width) < 1e-9 < width[0]:
        ax.bar(cells["lower"], share, width, align="edge", color="#e0e0e0", zorder=1.2)
    else:  # bins of several widths: where each one's predictions lie
        ax.vlines(cells["mean_predicted"], 0, share, color="#d4d4d4", linewidth=2.2, zorder=1.2)
