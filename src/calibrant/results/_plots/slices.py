"""Slices as rows of dots, the worst first, each with what chance alone would show."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from calibrant._core.validation import public
from calibrant.results._plots.canvas import Drawn
from calibrant.results._plots.names import short_name
from calibrant.results._plots.rows_of_dots import (
    bar_sign,
    chance_sign,
    check_cap,
    dot_sign,
    draw_chance_marks,
    draw_dots,
    draw_sample_crosses,
    height_of,
    legend_of_rows,
    name_rows,
    ring_sign,
    sample_sign,
    text_sign,
)
from calibrant.results._plots.style import COLUMN
from calibrant.results._plots.typing import NamedRowsData

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Slices with a corrected p-value below this are significant.
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

    def __init__(self, slices: NamedRowsData) -> None:
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
        n = min(check_cap(cap), len(slices))
        columns = {key: values[:n] for key, values in slices.columns().items()}
        noise, chance = np.array(columns["noise_95"]), np.array(columns["p_corrected"])
        sample, limits = columns[slices.measure], None
        values = sample
        if "low" in columns:
            limits = (np.array(columns["low"]), np.array(columns["high"]))
            # The dot is the estimate, which lies in the interval. The noise floor applies to the
            # sample value, which gets a cross.
            values = _estimates_or_values(columns["estimate"], sample)
        with self._canvas(ax, (COLUMN, height_of(n) + 0.25)) as axes:
            self.dots_, self.bars_ = draw_dots(
                axes, values, limits, filled=~(chance >= _CHANCE), color=color
            )
            self.samples_ = draw_sample_crosses(axes, sample, values, color)
            self.noise_ = None if np.isnan(noise).all() else draw_chance_marks(axes, noise)
            name_rows(axes, columns[slices.by], 26, columns["n"])
            axes.set_xlim(left=0)
            axes.set_xlabel(f"{slices.measure} by {short_name(slices.by)} (rows)")
            legend_of_rows(axes, self._legend_entries(n, color), on_own_figure=ax is None)
        return self

    def _legend_entries(self, n: int, color: Any) -> list[Any]:
        """The legend's entries for the marks that are drawn; `n` is the number of slices shown."""
        signs = [dot_sign("beyond chance", color)]
        if self.noise_ is not None:
            signs += [ring_sign("chance explains it", color), chance_sign("95% point of chance")]
        if self.bars_ is not None:
            signs.append(bar_sign(f"{100 * self.slices.level:g}% interval", color))
        if self.samples_ is not None:
            signs.append(sample_sign(color))
        if n < len(self.slices):
            signs.append(text_sign(f"{n} of {len(self.slices)} slices, worst first"))
        return signs


def _estimates_or_values(estimates: Sequence[float], values: Sequence[float]) -> list[float]:
    """The estimate of each slice, or its sample value where the estimate is NaN."""
    pairs = zip(estimates, values, strict=True)
    return [value if estimate != estimate else estimate for estimate, value in pairs]
