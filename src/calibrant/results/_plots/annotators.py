"""Annotators as rows of dots: how far each agrees with the rest, beside what anybody would."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from calibrant._core.validation import public
from calibrant.results._plots.canvas import Drawn, canvas
from calibrant.results._plots.legends import below, below_all
from calibrant.results._plots.rows_of_dots import checked_cap, dots, height_of, name_rows
from calibrant.results._plots.style import COLOURS, COLUMN, GREY
from calibrant.results._plots.typing import AnnotatorsData

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class AnnotatorsDisplay(Drawn):
    """The agreement of each annotator with the rest, those that stand out first.

    Use `Annotators.plot`. An upright mark is the agreement that any votes of the same items would
    have; a ring is an annotator whose agreement chance explains, once their number is taken into
    account.

    Parameters
    ----------
    annotators : Annotators
        The annotators, or groups, to draw.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where the diagram is drawn.
    dots_ : matplotlib PathCollection
        The agreements.
    bars_ : matplotlib LineCollection
        Their intervals.
    expected_ : matplotlib PathCollection
        The marks.

    Examples
    --------
    >>> import calibrant as cal
    >>> long = {"item": [1, 1, 1, 2, 2, 2], "label": [0, 0, 1, 1, 1, 1], "who": list("abcabc")}
    >>> votes = cal.count_votes(long, item="item", label="label", annotator="who")
    >>> cal.annotators(votes).plot().ax_.get_xlabel()
    'agreement with the rest by annotator (votes)'
    """

    def __init__(self, annotators: AnnotatorsData) -> None:
        self.annotators = annotators

    @public
    def plot(self, *, cap: int = 30, ax: Axes | None = None, color: Any = None) -> Self:
        """Draw the annotators.

        Parameters
        ----------
        cap : int, default 30
            The largest number of annotators shown.
        ax : matplotlib Axes, optional
            Where to draw; left out, on a new figure.
        color : matplotlib color, optional
            Color of the dots.

        Returns
        -------
        self
            The display, drawn.
        """
        people = self.annotators
        n = min(checked_cap(cap), len(people))
        columns = {key: values[:n] for key, values in people.columns().items()}
        chance = np.array(columns["p_agreement_corrected"], dtype=float)
        with canvas(ax, (COLUMN, height_of(n) + 0.25)) as axes:
            self.ax_, self.figure_ = axes, axes.figure
            self.dots_, self.bars_ = dots(
                axes, columns["agreement"], (columns["low"], columns["high"]),
                filled=chance < 1.0 - people.level, color=color,
            )  # fmt: skip
            self.expected_ = axes.scatter(
                columns["expected"], np.arange(n), marker="|", s=40, color=GREY, linewidths=1.4,
                zorder=2,
            )  # fmt: skip
            name_rows(axes, [f"{name} ({votes})" for name, votes in
                             zip(columns[people.by], columns["n"], strict=True)], 26)  # fmt: skip
            axes.set_xlabel(f"agreement with the rest by {people.by} (votes)")
            handles = self._handles(color)
            if ax is None:
                below_all(axes.figure, handles)
            else:
                below(axes, handles)
        return self

    def _handles(self, color: Any) -> list[Any]:
        from matplotlib.lines import Line2D

        dot: dict[str, Any] = {"marker": "o", "linestyle": "none", "markersize": 4}
        colour = COLOURS[0] if color is None else color
        level = f"{100 * self.annotators.level:g}% interval"
        return [
            Line2D([], [], color=colour, label="stands out", **dot),
            Line2D([], [], color=colour, markerfacecolor="white", label="chance explains it",
                   **dot),
            Line2D([], [], color=GREY, linestyle="none", marker="|", markersize=7,
                   markeredgewidth=1.4, label="any votes of these items"),
            Line2D([], [], color=colour, linewidth=2.2, alpha=0.35, label=level),
        ]  # fmt: skip
