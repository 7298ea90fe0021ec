"""Slices: one evaluation for each value of a column, and which of them stand out."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from calibrant.results._base import MOST_LINES, TableOfRows, column
from calibrant.results._rendering import percent, range_text, shown
from calibrant.results._text_tables import fitted_text

if TYPE_CHECKING:
    from calibrant.results._plots.slices import SlicesDisplay

# The most letters of a printed line.
_WIDTH = 100


@dataclass(frozen=True, eq=False, kw_only=True)
class Slice:
    """One slice: its rows, every measure's value, and how far its calibration error can be trusted.

    What was not computed is NaN or None.

    Attributes
    ----------
    name : str
        The value of the column.
    n : int
        Rows of the slice.
    values : dict of str to float
        Each measure's value.
    noise_95 : float
        What a calibrated model would stay below in 95% of samples of this size.
    p_value : float
        The chance that calibrated predictions show as large an error.
    p_corrected : float
        The p-value corrected for the number of slices (Holm, 1979): below ``1 - level`` of the
        evaluation, the slice is miscalibrated.
    estimate, low, high : float
        The value without the bias of a sample, and its confidence interval; with
        ``uncertainty=True``.
    within_tolerance : bool or None
        True if the whole interval is within the tolerance; False if the whole interval, corrected
        for the number of slices, is beyond it; None if these rows cannot decide.
    verdict : str
        The verdict in a word.
    n_clusters : int or None
        Clusters of the slice, where rows come in clusters.
    mean_predicted, mean_target : float
        The mean prediction and the observed frequency; of several classes the mean confidence and
        the accuracy.
    excess : float
        The value without what noise alone shows on average, ``sqrt(value^2 - noise^2)``: what
        slices are ordered by where there is no estimate. NaN without a noise floor.

    accuracy : tuple of three floats or None
        The accuracy and the limits of its interval, where predictions are confidences and slices
        have intervals.

    Examples
    --------
    >>> import calibrant as cal
    >>> y, p = [0, 1, 1, 0] * 25, [0.2, 0.7, 0.9, 0.4] * 25
    >>> cal.evaluate(y, p, measures=["ece"], by=["a", "b"] * 50).slices["a"].n
    50
    """

    name: str = field(metadata=column("{by}"))
    n: int
    n_clusters: int | None = field(default=None, metadata=column(when="_clustered"))
    mean_predicted: float = math.nan
    mean_target: float = math.nan
    values: dict[str, float] = field(metadata=column(each_entry=True))
    estimate: float = field(default=math.nan, metadata=column(when="tolerance"))
    low: float = field(default=math.nan, metadata=column(when="tolerance"))
    high: float = field(default=math.nan, metadata=column(when="tolerance"))
    noise_95: float = math.nan
    p_value: float = math.nan
    p_corrected: float = math.nan
    verdict: str = field(default="", metadata=column(when="tolerance"))
    within_tolerance: bool | None = field(
        default=None, metadata=column(when="tolerance", shown=False)
    )
    excess: float = field(default=math.nan, metadata=column(None))
    accuracy: tuple[float, float, float] | None = field(default=None, metadata=column(None))

    @property
    def against_tolerance(self) -> str:
        """Whether the tolerance is kept, in a word: within, beyond or undecided."""
        return {True: "within", False: "beyond", None: "undecided"}[self.within_tolerance]


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Slices(TableOfRows[Slice]):
    """Evaluations of slices, the worst first.

    They are ordered by the bias-corrected estimate of `measure`; the p-value is the chance of as
    large a value for a calibrated model. Made by ``evaluate(..., by=...)``; look a slice up by its
    name.

    Attributes
    ----------
    by : str
        The column.
    measure : str
        The measure used to order and judge slices.
    rows : tuple of Slice
        The slices.
    notes : tuple of str
        What to know about them.
    level : float
        Level of the intervals.
    tolerance : float or None
        The tolerance of the verdicts, as a gap; None without verdicts.

    Examples
    --------
    >>> import calibrant as cal
    >>> y, p = [0, 1, 1, 0] * 50, [0.2, 0.7, 0.9, 0.4] * 50
    >>> slices = cal.evaluate(y, p, measures=["ece"], by=["a", "b"] * 100).slices
    >>> [(each.name, each.n) for each in slices]
    [('b', 100), ('a', 100)]
    """

    _json_keys = "by measure level tolerance slices notes"
    _table_key = "slices"

    by: str
    measure: str
    rows: tuple[Slice, ...]
    notes: tuple[str, ...] = ()
    level: float = 0.95
    tolerance: float | None = None

    def __getitem__(self, name: Any) -> Slice:
        """Give the slice of this name; an error if there is none."""
        return self._row_named(name, f"there is no slice {name!r} of {self.by!r}")

    @property
    def worst(self) -> Slice:
        """The slice with the largest error, by its bias-corrected estimate."""
        return self.rows[0]

    @property
    def largest(self) -> Slice:
        """The slice with the largest sample value of `measure`, which may be noise."""
        return max(self.rows, key=lambda row: row.values[self.measure])

    def display_columns(self) -> dict[str, list[Any]]:
        """Give the columns for display: of the measures, `measure` alone.

        Returns
        -------
        dict of str to list
            Columns of equal length.
        """
        table = super().display_columns()
        if any(row.accuracy for row in self.rows):
            first, n, *others = table.items()
            title = f"accuracy ({percent(self.level)} CI)"
            table = dict([first, n, (title, [_accuracy_text(row) for row in self.rows]), *others])
        if self.tolerance is not None:
            table[f"tolerance {self.tolerance:g}"] = self._values("against_tolerance")
        return table

    def _is_shown(self, name: str) -> bool:
        """Whether the column of this name is printed; of measures only `measure` is."""
        own = name == self.measure or name not in self.rows[0].values
        return own and super()._is_shown(name)

    def _table_text(self) -> str:
        """As of other tables; columns that do not fit 100 letters stand in a table below."""
        text = super()._table_text()
        if len(self) > MOST_LINES or max(map(len, text.splitlines())) <= _WIDTH:
            return text
        return fitted_text(self.display_columns(), _WIDTH, indent="  ")

    @property
    def _clustered(self) -> bool | None:
        """True if rows come in clusters (groups that are resampled together), else None.

        None drops the column `n_clusters`, which is declared with ``when="_clustered"``.
        """
        return any(row.n_clusters is not None for row in self.rows) or None

    def plot(
        self,
        *,
        ax: Any = None,
        cap: int = 30,
        legend: bool | str = True,
        size: str | tuple[float, float] | None = None,
    ) -> SlicesDisplay:
        """Draw the worst slices with their noise floors. Needs matplotlib.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw on; by default, a new figure.
        cap : int, default 30
            The largest number of slices shown.
        legend : bool or str, default True
            Whether to draw a legend where there is room, or its location inside the axes.
        size : "column" or tuple of two floats, optional
            Size of a new figure: 3.3 x 2.6 inches, or (width, height) in inches.

        Returns
        -------
        SlicesDisplay
            The diagram; its `save` writes it to a file.
        """
        from calibrant.results._plots.slices import SlicesDisplay

        return SlicesDisplay(self).plot(ax=ax, cap=cap, legend=legend, size=size)

    @property
    def title(self) -> str:
        """The column and the order, in one line."""
        return f"Slices by {self.by}, worst first (by the estimate of {self.measure})"


def _accuracy_text(row: Slice) -> str:
    """The accuracy of a slice with its interval; "" where it has none."""
    if row.accuracy is None:
        return ""
    value, low, high = row.accuracy
    return f"{shown(value)} ({range_text(low, high)})"
