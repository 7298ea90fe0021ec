"""Centres: how a model does at several centres, on average, and what a new one may show."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from calibrant._core.errors import counted
from calibrant.results._base import TableOfRows, column
from calibrant.results._rendering import percent, range_text, shown

if TYPE_CHECKING:
    from calibrant.results._plots.forest import CentreCurveDisplay, ForestDisplay


@dataclass(frozen=True, eq=False, kw_only=True)
class AcrossCentres:
    """One quantity over centres; NaN where fewer than three centres have it.

    Attributes
    ----------
    quantity : str
        `slope`, `intercept_in_the_large`, `observed_expected` or `c_statistic`.
    centres : int
        How many centres have a value.
    estimate, low, high : float
        The mean over centres, with its interval.
    tau : float
        The standard deviation between centres, on the scale of `scale`.
    new_low, new_high : float
        The prediction interval of the true value of a new centre.
    error : float
        The standard error of the mean, on the scale of `scale`.
    scale : {"identity", "log", "logit"}
        The scale on which values are averaged.
    note : str
        The centres without a value, and why.

    Examples
    --------
    >>> import calibrant as cal
    >>> y, p = [0, 1, 1, 0, 1, 0] * 60, [0.2, 0.7, 0.9, 0.4, 0.3, 0.6] * 60
    >>> cal.centres(y, p, by=sorted("abcd" * 90))["c_statistic"].centres
    4
    """

    quantity: str
    centres: int
    estimate: float
    low: float
    high: float
    tau: float
    new_low: float
    new_high: float
    error: float = field(metadata=column(shown=False))
    scale: str = field(metadata=column(shown=False))
    note: str = field(metadata=column(shown=False))

    @property
    def interval(self) -> str:
        """The estimate with both intervals, in words."""
        own, new = range_text(self.low, self.high), range_text(self.new_low, self.new_high)
        return f"{shown(self.estimate)} ({own}; for a new centre {new})"


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Centres(TableOfRows[AcrossCentres]):
    """Slope, calibration in the large, O:E and C-statistic over centres. Made by `centres`.

    Attributes
    ----------
    rows : tuple of AcrossCentres
        Each quantity, averaged over centres.
    each : dict of str to dict
        By quantity, columns with a row per centre: `centre`, `n`, `events`, `value`, `low`, `high`,
        `note`.
    curve : dict of str to ndarray
        The mean calibration curve: `prediction`, `mean_target`, `low`, `high`, and `new_low` and
        `new_high` of a new centre; without points where fewer than three centres have a curve.
    n : int
        The number of rows.
    level : float
        The level of all intervals.
    by : str
        What centres are by.

    Examples
    --------
    >>> import calibrant as cal
    >>> y, p = [0, 1, 1, 0, 1, 0] * 60, [0.2, 0.7, 0.9, 0.4, 0.3, 0.6] * 60
    >>> found = cal.centres(y, p, by=sorted("abcd" * 90))
    >>> found.each["slope"]["centre"]
    ['a', 'b', 'c', 'd']
    """

    _json_keys = "n level by table each curve"
    _table_key = "table"

    rows: tuple[AcrossCentres, ...]
    each: Mapping[str, dict[str, list[Any]]]
    curve: Mapping[str, NDArray[np.float64]]
    n: int
    level: float
    by: str

    def __getitem__(self, quantity: str) -> AcrossCentres:
        """Give a quantity by its name."""
        return self._row_named(quantity, f"no quantity is called {quantity!r}", "quantity")

    @property
    def title(self) -> str:
        """How many rows and centres, in one line."""
        n = len(self.each["slope"]["centre"])
        named = self.by if self.by != "slice" else "centre"
        return (
            f"{counted(self.n, 'row')} of {counted(n, 'centre')} (by {named}), random effects; "
            f"{percent(self.level)} confidence intervals; new_low to new_high is the prediction "
            "interval for a new centre"
        )

    @property
    def notes(self) -> tuple[str, ...]:
        """The centres without a value, by quantity."""
        return tuple(f"{row.quantity}: {row.note}" for row in self.rows if row.note)

    def plot(
        self,
        quantity: str = "slope",
        *,
        ax: Any = None,
        legend: bool | str = True,
        size: str | tuple[float, float] | None = None,
    ) -> ForestDisplay:
        """Draw a forest plot: each centre, their mean, and the interval of a new one.

        Parameters
        ----------
        quantity : str, default "slope"
            `slope`, `intercept_in_the_large`, `observed_expected` or `c_statistic`.
        ax : matplotlib Axes, optional
            Axes to draw on; by default, a new figure.
        legend : bool or str, default True
            Whether to draw a legend where there is room, or its location inside the axes.
        size : "column" or tuple of two floats, optional
            Size of a new figure: 3.3 x 2.6 inches, or (width, height) in inches.

        Returns
        -------
        ForestDisplay
            The diagram; its `save` writes it to a file.
        """
        from calibrant.results._plots.forest import ForestDisplay

        return ForestDisplay(self, quantity=self[quantity].quantity).plot(
            ax=ax, legend=legend, size=size
        )

    def plot_curve(
        self,
        *,
        ax: Any = None,
        legend: bool | str = True,
        size: str | tuple[float, float] | None = None,
    ) -> CentreCurveDisplay:
        """Draw the mean calibration curve, with its band and that of a new centre.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw on; by default, a new figure.
        legend : bool or str, default True
            Whether to draw a legend where there is room, or its location inside the axes.
        size : "column" or tuple of two floats, optional
            Size of a new figure: 3.3 x 2.6 inches, or (width, height) in inches.

        Returns
        -------
        CentreCurveDisplay
            The diagram; its `save` writes it to a file.
        """
        from calibrant.results._plots.forest import CentreCurveDisplay

        return CentreCurveDisplay(self).plot(ax=ax, legend=legend, size=size)
