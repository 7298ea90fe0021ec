"""A measure over the windows of a monitor, with what chance alone would show."""

# ruff: noqa: N803 - X is the name that scikit-learn has for features.

from __future__ import annotations

import importlib
from collections.abc import Sequence
from datetime import UTC, timedelta
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from calibrant._core.errors import InputError, nearest
from calibrant._core.validation import public
from calibrant.results._plots.canvas import Drawn, canvas
from calibrant.results._plots.legends import below
from calibrant.results._plots.style import COLOURS, COLUMN, GREY
from calibrant.results._windows import Windows

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Beyond this number of windows a marker for each would hide its neighbours.
_CROWD = 80


class WindowsDisplay(Drawn):
    """A measure over time, with its noise floor and the rows of each window.

    Use `Windows.plot`, or `from_predictions` and `from_estimator` for rows with times. Where the
    line leaves the grey area, a calibrated model would be above it in less than 5 of 100 windows;
    rings are windows within it. The line is broken where windows have no rows.

    Attributes
    ----------
    windows : the `Windows` that are drawn
    ax_, figure_ : matplotlib's axes and figure
    line_ : the measure
    noise_ : the grey area, or None for a measure without a noise floor
    counts_ax_ : the axes of the strip on top, or None

    Examples
    --------
    >>> from calibrant.results._plots.windows import WindowsDisplay
    >>> y, p = [0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4]
    >>> time = ["2026-01-05", "2026-01-05", "2026-01-06", "2026-01-06"]
    >>> display = WindowsDisplay.from_predictions(y, p, time=time, every="1d")
    >>> display.line_.get_ydata().tolist() == display.windows.columns()["ece"]
    True
    """

    def __init__(self, windows: Windows) -> None:
        self.windows = windows

    @classmethod
    @public
    def from_predictions(
        cls,
        y_true: Any,
        y_proba: Any,
        *,
        time: Any,
        every: Any = "1d",
        bins: Any = 15,
        measures: Sequence[str] | None = None,
        baseline: Any = None,
        sample_weight: Any = None,
        from_logits: bool = False,
        classes: Sequence[Any] | None = None,
        data: Any = None,
        measure: str | None = None,
        ax: Axes | None = None,
        counts: bool = True,
        color: Any = None,
    ) -> WindowsDisplay:
        """The diagram of labels and predictions with a `time` for each row, in windows of `every`:
        the options of `calibrant.Monitor`, then those of `plot`.
        """
        from calibrant._api.streaming.monitor import Monitor

        monitor = Monitor(
            every=every, bins=bins, measures=measures, from_logits=from_logits, classes=classes
        )
        monitor.update(y_true, y_proba, time=time, sample_weight=sample_weight, data=data)
        return cls(monitor.evaluate(baseline=baseline)).plot(
            measure=measure, ax=ax, counts=counts, color=color
        )

    @classmethod
    @public
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        time: Any,
        every: Any = "1d",
        bins: Any = 15,
        baseline: Any = None,
        sample_weight: Any = None,
        y_soft: Any = None,
        response_method: str | tuple[str, ...] = "predict_proba",
        from_logits: bool = False,
        pos_label: Any = None,
        measure: str | None = None,
        ax: Axes | None = None,
        counts: bool = True,
        color: Any = None,
    ) -> WindowsDisplay:
        """The diagram of a fitted classifier on rows X with labels y, or with soft labels `y_soft`,
        and a `time` for each row.
        """
        from calibrant.integrations._responses import read_problem, resolve_methods

        problem = read_problem(
            estimator, X, y, y_soft=y_soft, pos_label=pos_label,
            methods=resolve_methods(response_method, from_logits),
        )  # fmt: skip
        classes = None if problem.classes is None else [*problem.classes]
        return cls.from_predictions(
            problem.y_true, problem.y_proba, time=time, every=every, bins=bins, baseline=baseline,
            sample_weight=sample_weight, from_logits=problem.from_logits, classes=classes,
            measure=measure, ax=ax, counts=counts, color=color,
        )  # fmt: skip

    @public
    def plot(
        self,
        *,
        measure: str | None = None,
        ax: Axes | None = None,
        counts: bool = True,
        color: Any = None,
    ) -> WindowsDisplay:
        """Draw on `ax`, or on a new figure.

        `measure` is any column of numbers of the table, "shift" included; left out, it is the one
        that noise floors are of. `counts` for the strip of rows.
        """
        columns = self.windows.columns()
        name = self._resolved(measure, columns)
        with canvas(ax, (COLUMN, 2.6)) as axes:
            self.ax_, self.figure_ = axes, axes.figure
            self._draw(axes, name, columns, COLOURS[0] if color is None else color)
            self.counts_ax_ = _strip(axes, columns) if counts else None
        return self

    def _resolved(self, measure: str | None, columns: dict[str, list[Any]]) -> str:
        numbers = [name for name in columns if name not in ("start", "n_missing")]
        name = measure or self.windows.measure or next(iter(self.windows.parts[0].values))
        if name not in numbers:
            raise InputError(f"these windows have no {name!r}: {nearest(name, numbers)}")
        return name

    def _draw(self, ax: Axes, name: str, columns: dict[str, list[Any]], colour: Any) -> None:
        starts, values = columns["start"], np.array(columns[name], dtype=np.float64)
        noise = np.array(columns.get("noise_95", np.nan * values), dtype=np.float64)
        floored = name == self.windows.measure and not np.isnan(noise).all()
        x, y, floor = _broken(starts, values, noise)
        (self.line_,) = ax.plot(x, y, color=colour, linewidth=1.2, zorder=3, label=name)
        handles: list[Any] = [self.line_]
        self.noise_ = None
        if floored:
            self.noise_ = ax.fill_between(
                x, 0, floor, color=GREY, alpha=0.25, linewidth=0, zorder=1,
                label="within chance (95%)",
            )  # fmt: skip
            handles.append(self.noise_)
        if len(values) <= _CROWD:
            clear = values > noise if floored else np.ones(values.size, dtype=bool)
            ax.scatter(
                starts, values, s=12, c=np.where(clear, colour, "white"), edgecolors=colour,
                linewidths=0.9, zorder=4,
            )  # fmt: skip
        if floored or (np.nanmin(values) >= 0 and name != "shift"):
            ax.set_ylim(bottom=0)
        else:
            ax.axhline(0, color=GREY, linewidth=0.8, zorder=1)
        _clock(ax)
        ax.set_ylabel(name)
        ax.spines[["top", "right"]].set_visible(False)
        ax.spines[["left", "bottom"]].set(color=GREY, linewidth=0.8)
        ax.grid(True, color="#e8e8e8", linewidth=0.6)
        ax.set_axisbelow(True)
        below(ax, handles)


def _broken(starts: list[Any], values: Any, noise: Any) -> tuple[list[Any], Any, Any]:
    """The points with a gap after each window that the next does not follow at once."""
    steps = [after - before for before, after in pairwise(starts)]
    step = min(steps, default=timedelta(0))
    x: list[Any] = []
    places: list[int] = []
    for i, start in enumerate(starts):
        x.append(start)
        places.append(i)
        if i < len(steps) and steps[i] > 1.5 * step:
            x.append(start + step)
            places.append(-1)
    gap = np.array(places) < 0
    return x, np.where(gap, np.nan, values[places]), np.where(gap, np.nan, noise[places])


def _clock(ax: Axes) -> None:
    # matplotlib's dates have no types.
    dates: Any = importlib.import_module("matplotlib.dates")
    locator = dates.AutoDateLocator(minticks=3, maxticks=7, tz=UTC)
    ax.xaxis.set_major_locator(locator)
    ax.xaxis.set_major_formatter(dates.ConciseDateFormatter(locator, tz=UTC))
    ax.set_xlabel("start of window, UTC")
    ax.margins(x=0.03)


def _strip(ax: Axes, columns: dict[str, list[Any]]) -> Any:
    """The rows of each window, over the diagram."""
    over: Any = ax.inset_axes((0, 1.05, 1, 0.16), sharex=ax, label="calibrant counts")
    over.vlines(columns["start"], 0, columns["n"], color=GREY, linewidth=1.6, alpha=0.7)
    peak = max(columns["n"])
    over.set(ylim=(0, 1.15 * peak), yticks=[peak], yticklabels=[f"{peak:,}"])
    over.tick_params(labelbottom=False, length=0, labelsize="small")
    over.spines[["left", "right", "top"]].set_visible(False)
    over.spines["bottom"].set(color=GREY, linewidth=0.8)
    over.grid(False)
    over.set_ylabel("rows", fontsize="small")
    return over
