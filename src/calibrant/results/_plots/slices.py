"""Slices as rows of dots, the worst first, each with its noise floor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from calibrant._core.validation import public
from calibrant.results._plots.canvas import Drawn, Size
from calibrant.results._plots.captions import shown_of
from calibrant.results._plots.legends import LegendOption, check_legend
from calibrant.results._plots.names import short_name
from calibrant.results._plots.rows_of_dots import (
    bar_entry,
    chance_entry,
    check_cap,
    dot_entry,
    draw_chance_marks,
    draw_dots,
    draw_sample_crosses,
    height_of,
    legend_of_rows,
    name_rows,
    ring_entry,
    rows_with_room,
    sample_entry,
)
from calibrant.results._plots.style import COLUMN
from calibrant.results._plots.typing import NamedRowsData
from calibrant.results._rendering import percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Slices with a corrected p-value below this are significant.
_CHANCE = 0.05


class SlicesDisplay(Drawn):
    """The calibration error of each slice, the smallest p-value first.

    Use `Slices.plot`. An upright mark is the noise floor: a calibrated model would stay below it in
    95 of 100 slices of that size. A ring is a slice whose error is not significant, corrected for
    the number of slices.

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

    def __init__(self, slices: NamedRowsData) -> None:
        self.slices = slices

    @public
    def plot(
        self,
        *,
        cap: int = 30,
        ax: Axes | None = None,
        legend: LegendOption = True,
        size: Size = None,
        color: Any = None,
    ) -> Self:
        """Draw the slices.

        Parameters
        ----------
        cap : int, default 30
            The largest number of slices shown.
        ax : matplotlib Axes, optional
            Where to draw; left out, on a new figure.
        legend : bool or str, default True
            Whether to draw a legend where there is room, or its location inside the axes.
        size : "column" or tuple of two floats, optional
            Size of a new figure: 3.3 x 2.6 inches, or (width, height) in inches.
        color : matplotlib color, optional
            Color of the dots.

        Returns
        -------
        self
            The display, drawn.
        """
        slices = self.slices
        check_legend(legend)
        n = min(check_cap(cap), len(slices), rows_with_room(ax, size))
        columns = {key: values[:n] for key, values in slices.columns().items()}
        noise, chance = np.array(columns["noise_95"]), np.array(columns["p_corrected"])
        sample, limits = columns[slices.measure], None
        values = sample
        if "low" in columns:
            limits = (np.array(columns["low"]), np.array(columns["high"]))
            # The dot is the estimate, which lies in the interval. The noise floor applies to the
            # sample value, which gets a cross.
            values = _estimates_or_values(columns["estimate"], sample)
        with self._canvas(ax, (COLUMN, height_of(n) + 0.25), size) as axes:
            self.dots_, self.bars_ = draw_dots(
                axes, values, limits, filled=~(chance >= _CHANCE), color=color
            )
            self.samples_ = draw_sample_crosses(axes, sample, values, color)
            self.noise_ = None if np.isnan(noise).all() else draw_chance_marks(axes, noise)
            name_rows(axes, columns[slices.by], 26, columns["n"])
            axes.set_xlim(left=0)
            axes.set_xlabel(f"{slices.measure} by {short_name(slices.by)} (rows)")
            legend_of_rows(axes, self._legend_entries(color), legend, on_own_figure=ax is None)
        self._sentences = self._explain(n)
        return self

    def _explain(self, n: int) -> list[str]:
        """The sentences of the caption; `n` is the number of slices shown."""
        slices, level = self.slices, percent(self.slices.level)
        dots = f"Dots are {slices.measure} in each slice by {slices.by}"
        if self.bars_ is not None:
            dots = f"Dots are bias-corrected estimates of {slices.measure} in each slice by "
            dots += f"{slices.by}, with {level} confidence intervals"
        noise = ""
        if self.noise_ is not None:
            noise = (
                "Upright marks are noise floors: a calibrated model would stay below them in 95% "
                "of slices of that size. Rings are slices whose error is not significant at 5%, "
                "corrected for the number of slices."
            )
        return [
            f"{dots}, the smallest p-value first; numbers of rows are in parentheses.",
            noise,
            "Crosses are the values in the sample." if self.samples_ is not None else "",
            shown_of(n, len(slices), "slices", "first"),
        ]

    def _legend_entries(self, color: Any) -> list[Any]:
        """The legend's entries for the marks that are drawn."""
        entries = [dot_entry("significant", color)]
        if self.noise_ is not None:
            entries += [ring_entry("not significant", color), chance_entry("noise floor (95%)")]
        if self.bars_ is not None:
            entries.append(bar_entry(f"{percent(self.slices.level)} interval", color))
        if self.samples_ is not None:
            entries.append(sample_entry(color))
        return entries


def _estimates_or_values(estimates: Sequence[float], values: Sequence[float]) -> list[float]:
    """The estimate of each slice, or its sample value where the estimate is NaN."""
    pairs = zip(estimates, values, strict=True)
    return [value if estimate != estimate else estimate for estimate, value in pairs]
