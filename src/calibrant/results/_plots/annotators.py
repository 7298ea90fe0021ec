"""Annotators as rows of dots: how far each agrees with the rest, and the expected agreement."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from calibrant._core.validation import public
from calibrant.results._plots.canvas import Drawn, Size
from calibrant.results._plots.captions import shown_of
from calibrant.results._plots.legends import LegendOption, check_legend
from calibrant.results._plots.rows_of_dots import (
    bar_entry,
    chance_entry,
    check_cap,
    dot_entry,
    draw_chance_marks,
    draw_dots,
    height_of,
    legend_of_rows,
    name_rows,
    ring_entry,
    rows_with_room,
)
from calibrant.results._plots.style import COLUMN
from calibrant.results._plots.typing import NamedRowsData
from calibrant.results._rendering import percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class AnnotatorsDisplay(Drawn):
    """The agreement of each annotator with the rest, those that stand out first.

    Use `Annotators.plot`. An upright mark is the agreement expected of any votes on the same items.
    A ring is an annotator whose agreement does not differ from it significantly, corrected for the
    number of annotators.

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

    def __init__(self, annotators: NamedRowsData) -> None:
        self.annotators = annotators

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
        """Draw the annotators.

        Parameters
        ----------
        cap : int, default 30
            The largest number of annotators shown.
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
        people = self.annotators
        check_legend(legend)
        n = min(check_cap(cap), len(people), rows_with_room(ax, size))
        columns = {key: values[:n] for key, values in people.columns().items()}
        limits = (columns["low"], columns["high"])
        stands_out = np.array(columns["p_agreement_corrected"], dtype=float) < 1.0 - people.level
        with self._canvas(ax, (COLUMN, height_of(n) + 0.25), size) as axes:
            self.dots_, self.bars_ = draw_dots(
                axes, columns["agreement"], limits, filled=stands_out, color=color
            )
            self.expected_ = draw_chance_marks(axes, columns["expected"])
            name_rows(axes, columns[people.by], 26, columns["n"])
            axes.set_xlabel(f"agreement with the rest by {people.by} (votes)")
            entries = [
                dot_entry("significant", color),
                ring_entry("not significant", color),
                chance_entry("expected agreement"),
                bar_entry(f"{percent(people.level)} interval", color),
            ]
            legend_of_rows(axes, entries, legend, on_own_figure=ax is None)
        level = percent(people.level)
        self._sentences = [
            f"Dots are the agreement of each {people.by} with the rest, with {level} confidence "
            "intervals; numbers of votes are in parentheses.",
            "Upright marks are the agreement expected of any votes on the same items.",
            f"Rings do not differ from it significantly, corrected for the number of {people.by}s.",
            shown_of(n, len(people), f"{people.by}s", "first"),
        ]
        return self
