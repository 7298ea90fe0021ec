"""Predictions by outcome: rows with the event above a line, the others below it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from calibrant._core.errors import one_of
from calibrant._core.validation import public
from calibrant.results._plots.canvas import DrawnFromPredictions, Size, style_frame
from calibrant.results._plots.captions import rows_of_table
from calibrant.results._plots.diagram_parts import prediction_label
from calibrant.results._plots.legends import LegendOption, check_legend, place_legend
from calibrant.results._plots.names import short_name
from calibrant.results._plots.style import COLOURS, COLUMN, INK, Looks
from calibrant.results._plots.typing import ReliabilityData

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# What the two outcomes of a notion are called: above the line, and below it.
_OUTCOMES = {"confidence": ("right", "wrong")}


class RiskHistogramDisplay(DrawnFromPredictions):
    """Where predictions lie, by outcome: rows with the event above a line, the others below it.

    Use `from_predictions` or `from_estimator`, or give a table. Heights are shares of the rows with
    the same outcome, or of all rows (`of`); a soft label is both outcomes in part. Of several
    classes it shows the top label's confidence where it is right, and where it is wrong.

    Parameters
    ----------
    table : ReliabilityTable
        The bins to draw.
    name : str, optional
        The name of the predictor, for the title.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where the histogram is drawn.
    events_, rest_ : matplotlib BarContainer or LineCollection
        The bars of rows with the event, and of the others.

    Examples
    --------
    >>> from calibrant.plots import RiskHistogramDisplay
    >>> y, p = [0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4]
    >>> display = RiskHistogramDisplay.from_predictions(y, p, bins=2, of="rows")
    >>> [float(bar.get_height()) for bar in display.events_]
    [0.0, 0.5]
    >>> [float(bar.get_height()) for bar in display.rest_]
    [-0.5, 0.0]
    """

    def __init__(self, table: ReliabilityData, *, name: str | None = None) -> None:
        self.table = table
        self.name = name

    @public
    def plot(
        self,
        *,
        ax: Axes | None = None,
        name: str | None = None,
        of: str = "outcome",
        legend: LegendOption = True,
        size: Size = None,
        colors: tuple[Any, Any] | None = None,
    ) -> Self:
        """Draw the histogram.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; left out, on a new figure.
        name : str, optional
            The name of the predictor, for the title.
        of : {"outcome", "rows"}, default "outcome"
            What heights are shares of: of the rows with the same outcome, which shows rare events
            too, or of all rows.
        legend : bool or str, default True
            Whether to draw a legend where there is room, or its location inside the axes.
        size : "column" or tuple of two floats, optional
            Size of a new figure: 3.3 x 2.6 inches, or (width, height) in inches.
        colors : tuple of two matplotlib colors, optional
            Colors of rows with the event, and of the others.

        Returns
        -------
        self
            The display, drawn.
        """
        one_of("of", of, ("outcome", "rows"))
        check_legend(legend)
        up, down = (COLOURS[1], COLOURS[0]) if colors is None else colors
        table = self.table
        cells = {key: np.asarray(values, dtype=float) for key, values in table.columns().items()}
        share = cells["weight"] / cells["weight"].sum()
        # A soft label counts partly as either outcome.
        events = share * np.nan_to_num(cells["mean_target"])
        totals = np.array([events.sum(), (share - events).sum()])
        over = np.where(totals > 0, totals, 1.0) if of == "outcome" else np.ones(2)
        with self._canvas(ax, (COLUMN, 2.2), size) as axes:
            names = _OUTCOMES.get(table.notion, ("y = 1", "y = 0"))
            labels = [
                f"{each}: {part:.3g} %" for each, part in zip(names, 100 * totals, strict=True)
            ]
            self.events_ = _draw_bars(axes, cells, events / over[0], up, labels[0])
            self.rest_ = _draw_bars(axes, cells, (events - share) / over[1], down, labels[1])
            rows = "rows" if np.array_equal(cells["weight"], cells["n"]) else "weight"
            _style_axes(axes, table.notion, f"{rows} of the outcome" if of == "outcome" else rows)
            shown = self.name if name is None else name
            if shown is not None:
                axes.set_title(short_name(shown, 40), fontsize="medium", color=INK)
            place_legend(axes, [self.events_, self.rest_], legend)
        shares = "rows with the same outcome" if of == "outcome" else "all rows"
        self._sentences = [
            f"Predictions by outcome ({rows_of_table(table)}): above the line are rows with "
            f"{names[0]}, below it rows with {names[1]}.",
            f"Heights are shares of {shares}.",
        ]
        return self


def _draw_bars(ax: Axes, cells: dict[str, Any], heights: Any, colour: Any, label: str) -> Any:
    """Draw a bar of the given height for each bin, and return the bars; negative ones hang down.

    `cells` are the columns of a reliability table. Bins without a width are drawn as lines.
    """
    width = cells["upper"] - cells["lower"]
    if width.min() > 0:
        looks: Looks = {"color": colour, "alpha": 0.6, "linewidth": 0}
        return ax.bar(cells["lower"], heights, width, align="edge", label=label, **looks)
    # Level sets have no width: a line where each prediction lies.
    return ax.vlines(
        cells["mean_predicted"], 0, heights, color=colour, linewidth=1, alpha=0.8, label=label
    )


def _style_axes(ax: Axes, notion: str, of: str) -> None:
    """Style the axes of the histogram: a line at 0, and vertical labels without a sign.

    `of` says in words what heights are shares of.
    """
    from matplotlib.ticker import FuncFormatter

    ax.axhline(0, color=INK, linewidth=0.8)
    x_label = prediction_label(notion)
    style_frame(ax, grid="y", xlim=(0, 1), xlabel=x_label, ylabel=f"share of {of}")
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{abs(value):.3g}"))
    ax.locator_params(axis="y", nbins=5)
