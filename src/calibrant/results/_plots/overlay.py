"""Several predictors in one reliability diagram."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Self

from calibrant._core.errors import InputError
from calibrant._core.validation import public
from calibrant.results._plots.canvas import Drawn
from calibrant.results._plots.diagram_parts import turn_of
from calibrant.results._plots.reliability import ReliabilityDisplay
from calibrant.results._plots.style import turns_of
from calibrant.results._plots.typing import ReliabilityData

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class OverlaidReliabilityDisplay(Drawn):
    """A curve for each of several predictors, in one reliability diagram.

    Parameters
    ----------
    tables : mapping of str to ReliabilityTable
        The table of each predictor, by name.
    """

    def __init__(self, tables: Mapping[str, ReliabilityData]) -> None:
        if not tables:
            raise InputError("tables must hold the table of one predictor or more, by name")
        self.tables = dict(tables)

    @public
    def plot(
        self,
        *,
        ax: Axes | None = None,
        level: float | None = None,
        curve: str | None = "default",
        counts: bool = True,
        ref_line: bool = True,
    ) -> Self:
        """Draw the curves.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; left out, on a new figure.
        level : float, optional
            Level of the intervals and of the curves' bands; left out, none are drawn.
        curve : {"default", "isotonic", "local"} or None, default "default"
            The curve of the rows: isotonic by default, where rows are in memory. None joins the
            bins by a line.
        counts : bool, default True
            Whether to draw the strip of rows, for up to three predictors.
        ref_line : bool, default True
            Whether to draw the diagonal.

        Returns
        -------
        self
            The display, drawn.
        """
        self.displays_: list[ReliabilityDisplay] = []
        turns, before = turns_of(self.tables), 0 if ax is None else turn_of(ax)
        for name, table in self.tables.items():
            display = ReliabilityDisplay(table, name=name)
            display._turn = before + turns[name]
            display._is_last = len(self.displays_) == len(self.tables) - 1
            display.plot(
                ax=ax, level=level, curve=curve, counts=counts and len(self.tables) <= 3,
                ref_line=ref_line,
            )  # fmt: skip
            ax = display.ax_
            self.displays_.append(display)
        self.ax_, self.figure_ = self.displays_[0].ax_, self.displays_[0].figure_
        return self
