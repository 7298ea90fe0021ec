"""Reliability diagrams with matplotlib, in the style of scikit-learn's Display objects."""

# ruff: noqa: N803 - X is the name that scikit-learn has for features.

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from calibrant._core.binning import Bins
from calibrant._core.validation import public
from calibrant.results._plots.canvas import Drawn, canvas, fit_height
from calibrant.results._plots.diagram_parts import (
    CURVE,
    clear_corners,
    legend,
    prepare,
    strip,
    turn_of,
    x_label_of,
    y_label_of,
)
from calibrant.results._plots.names import short_name
from calibrant.results._plots.style import COLUMN, look
from calibrant.results._reliability import ReliabilityTable

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Beyond this number of bins a bar and a marker for each would hide one another.
_CROWD = 60


class ReliabilityDisplay(Drawn):
    """A reliability diagram: each bin's mean target against its mean prediction.

    Use `from_predictions` or `from_estimator`, or `ReliabilityTable.plot`. Points above the
    diagonal are predictions that were too low, points below it predictions that were too high. Bars
    are intervals for the mean target (see `ReliabilityTable.intervals`); the strip on top shows
    where the predictions lie. Draw another on the same axes with ``ax=display.ax_``.

    Attributes
    ----------
    table : the `ReliabilityTable` that is drawn
    ax_, figure_ : matplotlib's axes and figure
    line_ : the curve
    intervals_ : the bars, or None
    counts_ax_ : the axes of the strip on top, or None

    Examples
    --------
    >>> import calibrant as cal
    >>> from calibrant.results._plots.reliability import ReliabilityDisplay
    >>> display = ReliabilityDisplay.from_predictions([0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4], bins=2)
    >>> display.line_.get_ydata().tolist()
    [0.0, 1.0]
    """

    def __init__(self, table: ReliabilityTable, *, name: str | None = None) -> None:
        self.table = table
        self.name = name

    @classmethod
    @public
    def from_predictions(
        cls,
        y_true: Any,
        y_proba: Any,
        *,
        bins: Bins = 15,
        notion: str | None = None,
        sample_weight: Any = None,
        from_logits: bool = False,
        classes: Sequence[Any] | None = None,
        data: Any = None,
        name: str | None = None,
        ax: Axes | None = None,
        level: float | None = 0.95,
        counts: bool = True,
        ref_line: bool = True,
        color: Any = None,
        line_kwargs: Mapping[str, Any] | None = None,
    ) -> ReliabilityDisplay:
        """The diagram of labels, hard or soft, and predictions: the options of
        `calibrant.reliability`, then those of `plot`.
        """
        from calibrant._api.reliability import reliability

        table = reliability(
            y_true, y_proba, bins=bins, notion=notion, sample_weight=sample_weight,
            from_logits=from_logits, classes=classes, data=data,
        )  # fmt: skip
        return cls(table, name=name).plot(
            ax=ax, level=level, counts=counts, ref_line=ref_line, color=color,
            line_kwargs=line_kwargs,
        )  # fmt: skip

    @classmethod
    @public
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        bins: Bins = 15,
        notion: str | None = None,
        sample_weight: Any = None,
        y_soft: Any = None,
        response_method: str | tuple[str, ...] = "predict_proba",
        from_logits: bool = False,
        pos_label: Any = None,
        name: str | None = None,
        ax: Axes | None = None,
        level: float | None = 0.95,
        counts: bool = True,
        ref_line: bool = True,
        color: Any = None,
        line_kwargs: Mapping[str, Any] | None = None,
    ) -> ReliabilityDisplay:
        """The diagram of a fitted classifier on rows X with labels y, or with soft labels `y_soft`.

        Two classes: the predictions of the second, or of `pos_label`. More: the top label, or with
        `pos_label` that class against the rest.
        """
        from calibrant.integrations._responses import read_problem, resolve_methods

        problem = read_problem(
            estimator, X, y, y_soft=y_soft, pos_label=pos_label,
            methods=resolve_methods(response_method, from_logits),
        )  # fmt: skip
        return cls.from_predictions(
            problem.y_true, problem.y_proba, bins=bins, notion=notion, sample_weight=sample_weight,
            from_logits=problem.from_logits, classes=problem.classes,
            name=type(estimator).__name__ if name is None else name, ax=ax, level=level,
            counts=counts, ref_line=ref_line, color=color, line_kwargs=line_kwargs,
        )  # fmt: skip

    @public
    def plot(
        self,
        *,
        ax: Axes | None = None,
        name: str | None = None,
        level: float | None = 0.95,
        counts: bool = True,
        ref_line: bool = True,
        color: Any = None,
        line_kwargs: Mapping[str, Any] | None = None,
    ) -> ReliabilityDisplay:
        """Draw on `ax`, or on a new figure.

        `level` of the intervals (None: without), `counts` for the strip of predictions, `ref_line`
        for the diagonal, `color` of everything drawn, `line_kwargs` for matplotlib's ``Axes.plot``.
        """
        with canvas(ax, (COLUMN, COLUMN)) as axes:
            return self._draw(axes, name, level, counts, ref_line, color, line_kwargs or {})

    def _draw(
        self,
        ax: Axes,
        name: str | None,
        level: float | None,
        counts: bool,
        ref_line: bool,
        color: Any,
        line_kwargs: Mapping[str, Any],
    ) -> ReliabilityDisplay:
        table, turn = self.table, turn_of(ax)
        columns = table.columns() if level is None else table.intervals(level)
        cells = {key: np.asarray(values, dtype=np.float64) for key, values in columns.items()}
        held = cells["weight"] > 0
        x, y = cells["mean_predicted"][held], cells["mean_target"][held]
        if turn == 0:
            x_label = x_label_of(table.notion)
            prepare(ax, x_label, y_label_of(table.notion, table.is_hard), ref_line)
        self.ax_, self.figure_ = ax, ax.figure
        looks = look_of(turn, x.size > _CROWD) | ({} if color is None else {"color": color})
        label = labelled(self.name if name is None else name, table.ece)
        (self.line_,) = ax.plot(x, y, gid=CURVE, **{**looks, "label": label, **line_kwargs})
        self.intervals_ = None
        low, high = y, y
        if level is not None and x.size <= _CROWD:
            low, high = cells["low"][held], cells["high"][held]
            self.intervals_ = ax.vlines(
                x, low, high, color=looks["color"], linewidth=1.6, alpha=0.45, zorder=2.5,
                gid=f"{100 * level:g}% interval",
            )  # fmt: skip
        clear_corners(ax, x, low, high)
        self.counts_ax_ = strip(ax, cells, looks["color"]) if counts else None
        legend(ax)
        fit_height(ax)
        return self


def look_of(turn: int, crowded: bool) -> dict[str, Any]:
    """How the curve with this number is drawn; as dots alone where there are very many."""
    drawn = {
        **look(turn), "markersize": 4.5, "linewidth": 1.2, "markeredgecolor": "white",
        "markeredgewidth": 0.6, "zorder": 3, "clip_on": False,
    }  # fmt: skip
    if crowded:
        drawn |= {"markersize": 2, "markeredgewidth": 0, "linestyle": "none"}
    return drawn


def labelled(name: str | None, ece: float) -> str:
    """A curve's line in the legend."""
    return f"ECE {ece:.3f}" if name is None else f"{short_name(name)}: ECE {ece:.3f}"
