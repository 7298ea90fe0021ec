"""Slices as rows of dots, the worst first, each with what chance alone would show."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from calibrant._core.validation import public
from calibrant.results._plots.canvas import Drawn, canvas
from calibrant.results._plots.legends import below, below_all
from calibrant.results._plots.names import short_name
from calibrant.results._plots.rows_of_dots import (
    checked_cap,
    dots,
    height_of,
    name_rows,
    sample_marks,
)
from calibrant.results._plots.style import COLOURS, COLUMN, GREY
from calibrant.results._plots.typing import SlicesData

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# A corrected p-value below this is not put down to chance.
_CHANCE = 0.05


class SlicesDisplay(Drawn):
    """The calibration error of each slice, the hardest to explain by chance first.

    Use `Slices.plot`. An upright mark is what a calibrated model would stay below in 95 of 100
    slices of that size; a ring is a slice that chance explains, once the number of slices is taken
    into account.

    Parameters
    ----------
    slices : Slices
        The slices to draw.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where the diagram is drawn.
    dots_ : matplotlib PathCollection
        The errors: bias-corrected estimates where slices have intervals.
    bars_ : matplotlib LineCollection or None
        The intervals; None where slices have none.
    samples_ : matplotlib PathCollection or None
        The values of the sample, where dots are bias-corrected estimates.
    noise_ : matplotlib PathCollection or None
        The marks; None where there is no noise floor.

    Examples
    --------
    >>> import calibrant as cal
    >>> y, p = [0, 1, 1, 0] * 50, [0.2, 0.7, 0.9, 0.4] * 50
    >>> display = cal.evaluate(y, p, measures=["ece"], by=["a", "b"] * 100).slices.plot()
    >>> display.ax_.get_xlabel()
    'ece by slice (rows)'
    """

    def __init__(self, slices: SlicesData) -> None:
        self.slices = slices

    @public
    def plot(self, *, cap: int = 30, ax: Axes | None = None, color: Any = None) -> Self:
        """Draw the slices.

        Parameters
        ----------
        cap : int, default 30
            The largest number of slices shown.
        ax : matplotlib Axes, optional
            Where to draw; left out, on a new figure.
        color : matplotlib color, optional
            Color of the dots.

        Returns
        -------
        self
            The display, drawn.
        """
        slices = self.slices
        n = min(checked_cap(cap), len(slices))
        columns = {key: values[:n] for key, values in slices.columns().items()}
        noise, chance = np.array(columns["noise_95"]), np.array(columns["p_corrected"])
        with canvas(ax, (COLUMN, height_of(n) + 0.25)) as axes:
            self.ax_, self.figure_ = axes, axes.figure
            limits = None
            if "low" in columns:
                limits = (np.array(columns["low"]), np.array(columns["high"]))
            sample = columns[slices.measure]
            # Beside an interval stands the estimate that it contains; the noise floor is about the
            # value of the sample.
            values = sample if limits is None else _known(columns["estimate"], sample)
            self.dots_, self.bars_ = dots(
                axes, values, limits, filled=~(chance >= _CHANCE), color=color
            )
            self.samples_ = sample_marks(axes, sample, values, color)
            self.noise_ = None
            if not np.isnan(noise).all():
                self.noise_ = axes.scatter(
                    noise, np.arange(n), marker="|", s=40, color=GREY, linewidths=1.4, zorder=2
                )
            name_rows(axes, [f"{name} ({rows})" for name, rows in
                             zip(columns[slices.by], columns["n"], strict=True)], 26)  # fmt: skip
            axes.set_xlim(left=0)
            axes.set_xlabel(f"{slices.measure} by {short_name(slices.by)} (rows)")
            handles = self._handles(n, color)
            if ax is None:
                below_all(axes.figure, handles)
            else:
                below(axes, handles)
        return self

    def _handles(self, n: int, color: Any) -> list[Any]:
        from matplotlib.lines import Line2D

        dot: dict[str, Any] = {"marker": "o", "linestyle": "none", "markersize": 4}
        colour = COLOURS[0] if color is None else color
        handles = [Line2D([], [], color=colour, label="beyond chance", **dot)]
        if self.noise_ is not None:
            handles += [
                Line2D([], [], color=colour, markerfacecolor="white", label="chance explains it",
                       **dot),
                Line2D([], [], color=GREY, linestyle="none", marker="|", markersize=7,
                       markeredgewidth=1.4, label="95% point of chance"),
            ]  # fmt: skip
        if self.bars_ is not None:
            level = f"{100 * self.slices.level:g}% interval"
            handles.append(Line2D([], [], color=colour, linewidth=2.2, alpha=0.35, label=level))
        if self.samples_ is not None:
            label = "in the sample"
            cross = {**dot, "marker": "x", "markeredgewidth": 0.9}
            handles.append(Line2D([], [], color=colour, label=label, **cross))
        if n < len(self.slices):
            label = f"{n} of {len(self.slices)} slices, worst first"
            handles.append(Line2D([], [], linestyle="none", label=label))
        return handles


def _known(estimates: Sequence[float], values: Sequence[float]) -> list[float]:
    """The estimates, and values where there is no interval."""
    pairs = zip(estimates, values, strict=True)
    return [value if estimate != estimate else estimate for estimate, value in pairs]
