"""Several predictors in one reliability diagram."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Self

from calibrant._core.errors import InputError
from calibrant._core.validation import public
from calibrant.results._plots.canvas import DrawnFromPredictions
from calibrant.results._plots.diagram_parts import turn_of
from calibrant.results._plots.reliability import ReliabilityDisplay
from calibrant.results._plots.style import turns_of
from calibrant.results._plots.typing import ReliabilityData

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class OverlaidReliabilityDisplay(DrawnFromPredictions):
    """A curve for each of several predictors, in one reliability diagram.

    Use `from_predictions` or `from_estimator`, or give tables by name. Intervals of more than two
    curves hide one another: they are drawn only if `level` is given.

    Parameters
    ----------
    tables : mapping of str to ReliabilityTable
        The table of each predictor, by name.

    Attributes
    ----------
    displays_ : list of ReliabilityDisplay
        The display of each predictor.
    ax_, figure_ : matplotlib Axes and Figure
        Where the diagram is drawn.

    Examples
    --------
    >>> from calibrant.plots import OverlaidReliabilityDisplay
    >>> models = {"first": [0.2, 0.7, 0.9, 0.4], "second": [0.1, 0.8, 0.8, 0.6]}
    >>> display = OverlaidReliabilityDisplay.from_predictions([0, 1, 1, 0], models, bins=2)
    >>> [each.line_.get_label() for each in display.displays_]
    ['first: ECE 0.250', 'second: ECE 0.075']
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
