"""A measure over the windows of a monitor, with its noise floor."""

from __future__ import annotations

import importlib
from datetime import UTC, timedelta
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from calibrant._core.errors import InputError, nearest
from calibrant._core.validation import public
from calibrant.results._plots.canvas import (
    DrawnFromPredictions,
    Size,
    fill_band,
    frame_strip,
    style_frame,
)
from calibrant.results._plots.captions import about_strip
from calibrant.results._plots.legends import LegendOption, check_legend, place_legend
from calibrant.results._plots.style import COLOURS, COLUMN, GREY, Looks
from calibrant.results._plots.typing import WindowsData

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# With more windows than this, markers would overlap.
_CROWD = 80


class WindowsDisplay(DrawnFromPredictions):
    """A measure over time, with its noise floor and the rows of each window.

    Use `Windows.plot`, or `from_predictions` and `from_estimator` for rows with times. Where the
    line leaves the grey area, a calibrated model would be above it in less than 5 of 100 windows;
    rings are windows within it. The line is broken where windows have no rows.

    Parameters
    ----------
    windows : Windows
        The windows to draw.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where the diagram is drawn.
    line_ : matplotlib Line2D
        The measure.
    noise_ : matplotlib PolyCollection or None
        The grey area; None for a measure without a noise floor.
    counts_ax_ : matplotlib Axes or None
        The strip on top.

    Examples
    --------
    >>> from calibrant.plots import WindowsDisplay
    >>> y, p = [0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4]
    >>> time = ["2026-01-05", "2026-01-05", "2026-01-06", "2026-01-06"]
    >>> display = WindowsDisplay.from_predictions(y, p, time=time, every="1d")
    >>> display.line_.get_ydata().tolist() == display.windows.columns()["ece"]
    True
    """

    def __init__(self, windows: WindowsData) -> None:
        self.windows = windows

    @public
    def plot(
        self,
        *,
        measure: str | None = None,
        ax: Axes | None = None,
        counts: bool = True,
        legend: LegendOption = True,
        size: Size = None,
        color: Any = None,
    ) -> Self:
        """Draw the diagram.

        Parameters
        ----------
        measure : str, optional
            A column of numbers of the table, "shift" included; left out, the measure with a noise
            floor.
        ax : matplotlib Axes, optional
            Where to draw; left out, on a new figure.
        counts : bool, default True
            Whether to draw the strip of rows.
        legend : bool or str, default True
            Whether to draw a legend where there is room, or its location inside the axes.
        size : "column" or tuple of two floats, optional
            Size of a new figure: 3.3 x 2.6 inches, or (width, height) in inches.
        color : matplotlib color, optional
            Color of everything drawn.

        Returns
        -------
        self
            The display, drawn.
        """
        columns = self.windows.columns()
        check_legend(legend)
        name = self._measure_name(measure, columns)
        with self._canvas(ax, (COLUMN, 2.6), size) as axes:
            handles = self._draw(axes, name, columns, COLOURS[0] if color is None else color)
            self.counts_ax_ = _draw_row_strip(axes, columns) if counts else None
            place_legend(axes, handles, legend)
        self._sentences = self._explain(name, len(columns["start"]), counts)
        return self

    def _explain(self, name: str, n: int, counts: bool) -> list[str]:
        """The sentences of the caption, of `n` windows of the measure `name`."""
        floor = ""
        if self.noise_ is not None:
            floor = (
                "The grey area is the noise floor: a calibrated model would be above it in less "
                "than 5% of windows. Rings are windows within it."
            )
        line = f"The line is {name} of each of {n} windows of {self.windows.every}."
        return [line, floor, about_strip(counts, "number of rows in each window")]

    def _measure_name(self, measure: str | None, columns: dict[str, list[Any]]) -> str:
        """The name of the column to draw: `measure`, or a default if that is None.

        The default is the measure with a noise floor, or else the first one. A name that is not a
        column of numbers is an error.
        """
        numbers = [name for name in columns if name not in ("start", "n_missing")]
        name = measure or self.windows.measure or next(iter(next(iter(self.windows)).values))
        if name not in numbers:
            raise InputError(f"these windows have no {name!r}: {nearest(name, numbers)}")
        return name

    def _draw(self, ax: Axes, name: str, columns: dict[str, list[Any]], colour: Any) -> list[Any]:
        """Draw a column over time; if it has a noise floor, shade the area up to it.

        Windows within that area are rings, the others dots; more than `_CROWD` windows have
        neither. Returns the handles of the legend.
        """
        starts, values = columns["start"], np.array(columns[name], dtype=np.float64)
        noise = np.array(columns.get("noise_95", np.nan * values), dtype=np.float64)
        floored = name == self.windows.measure and not np.isnan(noise).all()
        x, y, floor = _break_at_gaps(starts, values, noise)
        (self.line_,) = ax.plot(x, y, color=colour, linewidth=1.2, zorder=3, label=name)
        handles: list[Any] = [self.line_]
        self.noise_ = None
        if floored:
            looks: Looks = {"alpha": 0.25, "zorder": 1, "label": "noise floor (95%)"}
            self.noise_ = fill_band(ax, x, 0, floor, GREY, **looks)
            handles.append(self.noise_)
        if len(values) <= _CROWD:
            clear = values > noise if floored else np.ones(values.size, dtype=bool)
            face = np.where(clear, colour, "white")
            ax.scatter(starts, values, s=12, c=face, edgecolors=colour, linewidths=0.9, zorder=4)
        if floored or (np.nanmin(values) >= 0 and name != "shift"):
            ax.set_ylim(bottom=0)
        else:
            ax.axhline(0, color=GREY, linewidth=0.8, zorder=1)
        _format_time_axis(ax)
        style_frame(ax, ylabel=name)
        return handles


def _break_at_gaps(starts: list[Any], values: Any, noise: Any) -> tuple[list[Any], Any, Any]:
    """The times, values and noise floors of a line that is broken where windows are missing.

    Windows without rows are not in the table: a point whose values are NaN breaks the line there.
    """
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


def _format_time_axis(ax: Axes) -> None:
    """Label the horizontal axis with dates in UTC."""
    # matplotlib's dates have no types.
    dates: Any = importlib.import_module("matplotlib.dates")
    locator = dates.AutoDateLocator(minticks=3, maxticks=7, tz=UTC)
    ax.xaxis.set_major_locator(locator)
    ax.xaxis.set_major_formatter(dates.ConciseDateFormatter(locator, tz=UTC))
    # On the left, as the year is written at the right end.
    ax.set_xlabel("start (UTC)", loc="left")
    ax.margins(x=0.03)


def _draw_row_strip(ax: Axes, columns: dict[str, list[Any]]) -> Any:
    """Draw the number of rows of each window as a strip over the diagram; return its axes."""
    over: Any = ax.inset_axes((0, 1.05, 1, 0.16), sharex=ax, label="calibrant counts")
    over.vlines(columns["start"], 0, columns["n"], color=GREY, linewidth=1.6, alpha=0.7)
    peak = max(columns["n"])
    over.set(ylim=(0, 1.15 * peak), yticks=[peak], yticklabels=[f"{peak:,}"])
    over.tick_params(labelbottom=False)
    frame_strip(over, "rows")
    return over
