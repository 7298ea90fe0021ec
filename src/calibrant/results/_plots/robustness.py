"""Rank robustness as rows of dots: does an error keep its order of predictors?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from calibrant._core.errors import InputError, one_of
from calibrant._core.validation import public
from calibrant.results._plots.canvas import Drawn, Size
from calibrant.results._plots.captions import shown_of
from calibrant.results._plots.legends import place_legend
from calibrant.results._plots.rows_of_dots import draw_dots, height_of, name_rows, rows_with_room
from calibrant.results._plots.style import COLUMN, GREY
from calibrant.results._plots.typing import RobustnessData

if TYPE_CHECKING:
    from matplotlib.axes import Axes

RELATIONS = ("bins", "loss", "dominance")
# What a correlation near 1 means, by relation.
_MEANINGS = {
    "bins": "Near 1, two numbers of bins order the predictors alike.",
    "loss": "Near 1, the error and the loss order the predictors alike.",
    "dominance": "Near 1, the error orders the predictors as dominance does.",
}


class RankRobustnessDisplay(Drawn):
    """Rank correlations of errors, with their margins, or intervals over groups of predictors.

    With themselves at other "bins", with a "loss", or with the order of "dominance". Near 1 an
    error keeps the order; below 0 it reverses it. Use `RankRobustness.plot`.

    Parameters
    ----------
    robustness : RankRobustness
        The correlations to draw.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where the diagram is drawn.
    dots_, bars_ : matplotlib collections
        The correlations, and their intervals or margins.

    Examples
    --------
    >>> import calibrant as cal
    >>> y, p = [0, 1, 1, 0] * 25, [0.1, 0.8, 0.9, 0.2] * 25
    >>> models = {f"power {i}": [each ** (i / 4) for each in p] for i in range(1, 9)}
    >>> display = cal.compare(y, models, measures=["ece"]).robustness.plot()
    >>> display.ax_.get_xlabel()
    'rank correlation (N = 8)'
    """

    def __init__(self, robustness: RobustnessData) -> None:
        self.robustness = robustness

    @public
    def plot(
        self,
        *,
        relation: str = "bins",
        measures: Sequence[str] | None = None,
        ax: Axes | None = None,
        size: Size = None,
        color: Any = None,
    ) -> Self:
        """Draw the correlations of one relation.

        Parameters
        ----------
        relation : {"bins", "loss", "dominance"}, default "bins"
            What the errors are correlated with.
        measures : sequence of str, optional
            Some of the measures; left out, all. A correlation is not drawn where there was nothing
            to rank.
        ax : matplotlib Axes, optional
            Where to draw; left out, on a new figure.
        size : "column" or tuple of two floats, optional
            Size of a new figure: 3.3 x 2.6 inches, or (width, height) in inches.
        color : matplotlib color, optional
            Color of everything drawn.

        Returns
        -------
        self
            The display, drawn.
        """
        one_of("relation", relation, RELATIONS)
        rows = [
            row
            for row in self.robustness.select(relation=relation)
            if row.value is not None and (measures is None or row.measure in measures)
        ]
        if not rows:
            raise InputError(
                f"there is no rank correlation with relation={relation!r}"
                + ("" if measures is None else f" of {list(measures)!r}")
            )
        n = len(rows)
        rows = rows[: rows_with_room(ax, size)]
        value = np.array([row.value for row in rows])
        margin = np.array([row.margin for row in rows])
        with self._canvas(ax, (COLUMN, height_of(len(rows))), size) as axes:
            limits = np.maximum(value - margin, -1), np.minimum(value + margin, 1)
            if rows[0].low is not None:
                limits = np.array([row.low for row in rows]), np.array([row.high for row in rows])
            self.dots_, self.bars_ = draw_dots(axes, value, limits, color=color)
            name_rows(axes, [_label(row) for row in rows], 32)
            low = min(0.0, float(limits[0].min()) - 0.05)
            axes.set(xlim=(low, 1), xlabel=f"rank correlation (N = {rows[0].n})")
            axes.axvline(0, color=GREY, linewidth=0.8, zorder=1)
            place_legend(axes, [])
        bars = "95% intervals over groups of predictors"
        if rows[0].low is None:
            bars = "95% margins of independent predictors"
        self._sentences = [
            f"Dots are rank correlations over {rows[0].n} predictors; bars are {bars}.",
            _MEANINGS[relation],
            shown_of(len(rows), n, "correlations", "first"),
        ]
        return self


def _label(row: Any) -> str:
    """The label of a row: the two orders of predictors that are correlated.

    For the relation "bins" it is the measure and the two numbers of bins: ``ece, 5 / 20``.
    """
    if row.relation != "bins":
        return f"{row.second}, {row.first}"
    first, second = (name.removeprefix(row.measure).strip("()") for name in (row.first, row.second))
    return f"{row.measure}, {first} / {second}"
