"""Annotators as rows of dots: how far each agrees with the rest, beside what anybody would."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from calibrant._core.validation import public
from calibrant.results._plots.canvas import Drawn
from calibrant.results._plots.rows_of_dots import (
    bar_sign,
    chance_sign,
    check_cap,
    dot_sign,
    draw_chance_marks,
    draw_dots,
    height_of,
    legend_of_rows,
    name_rows,
    ring_sign,
)
from calibrant.results._plots.style import COLUMN
from calibrant.results._plots.typing import NamedRowsData

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

    def __init__(self, annotators: NamedRowsData) -> None:
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
        n = min(check_cap(cap), len(people))
        columns = {key: values[:n] for key, values in people.columns().items()}
        limits = (columns["low"], columns["high"])
        stands_out = np.array(columns["p_agreement_corrected"], dtype=float) < 1.0 - people.level
        with self._canvas(ax, (COLUMN, height_of(n) + 0.25)) as axes:
            self.dots_, self.bars_ = draw_dots(
                axes, columns["agreement"], limits, filled=stands_out, color=color
            )
            self.expected_ = draw_chance_marks(axes, columns["expected"])
            name_rows(axes, columns[people.by], 26, columns["n"])
            axes.set_xlabel(f"agreement with the rest by {people.by} (votes)")
            signs = [
                dot_sign("stands out", color),
                ring_sign("chance explains it", color),
                chance_sign("any votes of these items"),
                bar_sign(f"{100 * people.level:g}% interval", color),
            ]
            legend_of_rows(axes, signs, on_own_figure=ax is None)
        return self
