"""Two reliability diagrams side by side, on the same axes: before and after a change."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from calibrant._core.errors import InputError
from calibrant._core.validation import public
from calibrant.results._plots.canvas import (
    Drawn,
    Size,
    fit_height,
    has_chosen_size,
    is_new_figure,
    panels,
)
from calibrant.results._plots.captions import rows_of_table
from calibrant.results._plots.diagram_parts import mark_entries
from calibrant.results._plots.fitting import has_layout_engine, run_layout, wrap_labels
from calibrant.results._plots.legends import LegendOption, check_legend, legend_below_figure
from calibrant.results._plots.names import short_names
from calibrant.results._plots.reliability import ReliabilityDisplay
from calibrant.results._plots.typing import ReliabilityData

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Width in inches of a pair on the width of a page, and letters that a title of a panel has for each
# inch of the figure's width.
_WIDTH = 5.5
_LETTERS = 5


class BeforeAfterDisplay(Drawn):
    """Two reliability diagrams side by side, with the same axes.

    Use `before_after`.

    Parameters
    ----------
    before, after : ReliabilityTable
        The bins of both.
    names : tuple of two str, default ('before', 'after')
        The titles of the panels.
    scaler : Scaler, optional
        The fitted map between both, which the caption then names.

    Attributes
    ----------
    displays_ : list of ReliabilityDisplay
        The display of each panel.
    axes_ : list of matplotlib Axes
        Both panels.
    figure_ : matplotlib Figure or SubFigure
        Where they are drawn.
    """

    def __init__(
        self,
        before: ReliabilityData,
        after: ReliabilityData,
        *,
        names: tuple[str, str] = ("before", "after"),
        scaler: Any = None,
    ) -> None:
        if isinstance(names, str) or len(tuple(names)) != 2:
            raise InputError(f"names must be two names, of both panels; got {names!r}")
        self.tables = (before, after)
        self.names = (str(names[0]), str(names[1]))
        self._about_map = _about_map(scaler)

    @public
    def plot(
        self,
        *,
        ax: Axes | None = None,
        style: str = "points",
        level: float | None = 0.95,
        curve: str | None = "default",
        counts: bool = True,
        legend: LegendOption = True,
        size: Size = None,
    ) -> Self:
        """Draw both diagrams.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Whose place both take; left out, a new figure.
        style : {"points", "bars"}, default "points"
            How bins are drawn: as points with a curve of the rows, or as bars with the gap to the
            mean prediction shaded.
        level : float or None, default 0.95
            Level of the intervals and of the curves' bands; None draws none.
        curve : {"default", "isotonic", "local"} or None, default "default"
            The curve of the rows: isotonic by default, where rows are in memory.
        counts : bool, default True
            Whether to draw the strips that show the share of rows in each bin.
        legend : bool or str, default True
            Whether to draw a legend below, or its location inside the panel on the right.
        size : "column" or tuple of two floats, optional
            Size of a new figure: 3.3 x 2.6 inches, or (width, height) in inches; left out, it is
            5.5 inches wide.

        Returns
        -------
        self
            The display, drawn.
        """
        check_legend(legend)
        usual = (_WIDTH, 3.1 + 0.3 * counts)
        shown: Any = {"style": style, "level": level, "curve": curve, "counts": counts}
        with panels(ax, 1, 2, usual, size, sharex=True, sharey=True) as (figure, grid):
            self.axes_, self.figure_ = list(grid.flat), figure
            self.displays_ = []
            width = figure.bbox.width / figure.dpi
            titles = short_names(self.names, int(_LETTERS * width))
            for axes, table, title in zip(self.axes_, self.tables, titles, strict=True):
                display = ReliabilityDisplay(table)
                display._is_last = False
                self.displays_.append(display.plot(ax=axes, **shown))
                axes.set_title(f"{title}\n{table.words(level)[0]}", fontsize="medium")
            self.axes_[1].set_ylabel("")
            self._place(legend)
        parts = (
            f"{name} ({rows_of_table(table)}; {table.words(level)[0]})"
            for name, table in zip(self.names, self.tables, strict=True)
        )
        about = self.displays_[0]._sentences[1:]
        self._sentences = [f"Reliability diagrams: {' and '.join(parts)}.", self._about_map, *about]
        return self

    def _place(self, legend: LegendOption) -> None:
        """Fit the height of a new figure and the labels of panels, and put the legend below."""
        first, figure = self.axes_[0], self.figure_
        entries = mark_entries(first)
        fit_height(first)
        if has_chosen_size(first):
            for axes in self.axes_:  # height that squares leave is not between them and the legend
                axes.set_anchor("S")
        if has_layout_engine(first):
            run_layout(first)
        for axes in self.axes_:
            wrap_labels(axes)
        legend_below_figure(figure, entries, legend)
        if legend is True and is_new_figure(first) and not has_chosen_size(first) and entries:
            inches = figure.legends[0].get_window_extent().height / figure.dpi
            figure.set_figheight(figure.get_figheight() + inches + 0.05)


@public
def before_after(
    before: Any,
    after: Any,
    *,
    names: tuple[str, str] = ("before", "after"),
    scaler: Any = None,
    ax: Axes | None = None,
    style: str = "points",
    level: float | None = 0.95,
    curve: str | None = "default",
    counts: bool = True,
    legend: LegendOption = True,
    size: Size = None,
) -> BeforeAfterDisplay:
    """Draw two reliability diagrams side by side, with the same axes. Needs matplotlib.

    Parameters
    ----------
    before, after : ReliabilityTable or Evaluation
        What is drawn on the left and on the right.
    names : tuple of two str, default ('before', 'after')
        The titles of the panels; the error is added to each.
    scaler : Scaler, optional
        The fitted map between both. The caption then says which it is, its temperature if it has
        one, and the number of rows of its fit.
    ax : matplotlib Axes, optional
        Whose place both take; left out, a new figure.
    style : {"points", "bars"}, default "points"
        How bins are drawn: as points with a curve of the rows, or as bars with the gap to the mean
        prediction shaded.
    level : float or None, default 0.95
        Level of the intervals and of the curves' bands; None draws none.
    curve : {"default", "isotonic", "local"} or None, default "default"
        The curve of the rows: isotonic by default, where rows are in memory.
    counts : bool, default True
        Whether to draw the strips that show the share of rows in each bin.
    legend : bool or str, default True
        Whether to draw a legend below, or its location inside the panel on the right.
    size : "column" or tuple of two floats, optional
        Size of a new figure: 3.3 x 2.6 inches, or (width, height) in inches; left out, it is 5.5
        inches wide.

    Returns
    -------
    BeforeAfterDisplay
        The diagrams; `save` writes them to a file, and `caption` explains them.

    Examples
    --------
    >>> import calibrant as cal
    >>> y, p = [0, 1, 1, 0] * 25, [0.2, 0.7, 0.9, 0.4] * 25
    >>> scaler = cal.TemperatureScaling(from_logits=False).fit(y, p)
    >>> tables = cal.reliability(y, p), cal.reliability(y, scaler.transform(p))
    >>> pair = cal.plots.before_after(*tables, scaler=scaler)
    >>> [axes.get_title() for axes in pair.axes_]
    ['before\\nECE 0.250', 'after\\nECE 0.000']
    >>> pair.caption().split(". ")[1]
    'Temperature scaling (temperature 0.001) was fitted to 100 rows'
    """
    tables = (_table_of("before", before), _table_of("after", after))
    return BeforeAfterDisplay(*tables, names=names, scaler=scaler).plot(
        ax=ax, style=style, level=level, curve=curve, counts=counts, legend=legend, size=size
    )


def _about_map(scaler: Any) -> str:
    """Say which map a fitted one is, and how many rows it was fitted to; "" without one."""
    if scaler is None:
        return ""
    if not hasattr(scaler, "_in_caption") or not hasattr(scaler, "n_rows_"):
        raise InputError(
            "scaler must be a fitted map, such as TemperatureScaling().fit(y_true, y_proba); got "
            f"{type(scaler).__name__}"
        )
    sentence: str = scaler._in_caption()
    return sentence


def _table_of(argument: str, result: Any) -> ReliabilityData:
    """The bins of a result: its own, or those of an evaluation."""
    table = getattr(result, "reliability", result)
    if not (hasattr(table, "words") and hasattr(table, "intervals")):
        raise InputError(
            f"{argument} must be the result of reliability() or evaluate(); got "
            f"{type(result).__name__}"
        )
    found: ReliabilityData = table
    return found
