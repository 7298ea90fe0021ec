"""RiskCoverage: the error rate of answering only what is surest, at every coverage."""

from __future__ import annotations

import numbers
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from calibrant._core.errors import InputError, counted
from calibrant.results._base import Result
from calibrant.results._rendering import percent

if TYPE_CHECKING:
    from calibrant.results._plots.risk_coverage import RiskCoverageDisplay

NOT_CALIBRATION = (
    "This curve measures ranking, not calibration: monotone recalibration does not change it."
)
# The most rows of the table that are printed.
_SHOWN = 10


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class RiskCoverage(Result):
    """A risk-coverage curve: the risk among the rows with the highest predictions.

    Made by `risk_coverage`. It measures ranking and accuracy together, not calibration.

    Attributes
    ----------
    coverage, risk : ndarray
        The share of rows kept (of their weight), and the mean of 1 - target among them.
    threshold : ndarray
        The lowest prediction that is kept.
    low, high : ndarray
        Limits of the risk, pointwise over coverages.
    aurc : float
        The area under the curve, of all thresholds (see `calibrant.aurc`).
    notion : str
        What is ranked: "binary" (P(y = 1)), or "confidence" for the top label.
    level : float
        The confidence level of the intervals.
    n : int
        The number of rows with positive weight.
    is_hard : bool
        Whether all targets are 0 or 1.
    steps : tuple of ndarray
        Coverage and risk at every distinct prediction, in decreasing order.
    note : str
        Remarks, such as which of two columns was used.

    Examples
    --------
    >>> import calibrant as cal
    >>> curve = cal.risk_coverage([1, 1, 0, 0] * 25, [0.9, 0.8, 0.7, 0.6] * 25)
    >>> curve.risk.round(4).tolist()
    [0.0, 0.0, 0.3333, 0.5]
    """

    _json_keys = "aurc notion level n points note"
    _table_key = "points"

    coverage: NDArray[np.float64]
    risk: NDArray[np.float64]
    threshold: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    aurc: float
    notion: str
    level: float
    n: int
    is_hard: bool
    steps: tuple[NDArray[np.float64], NDArray[np.float64]]
    note: str = ""

    def accuracy_at(self, coverage: float) -> float:
        """Give the accuracy among the share of rows with the highest predictions.

        If equal predictions are kept only in part, each of them counts in part, as in
        `calibrant.accuracy_at_coverage`.

        Parameters
        ----------
        coverage : float in (0, 1]
            The share of rows that is answered.

        Returns
        -------
        float
            The mean target of the rows kept.
        """
        real = isinstance(coverage, numbers.Real) and not isinstance(coverage, bool)
        if not real or not 0.0 < coverage <= 1.0:
            raise InputError(
                f"coverage must be a share of the rows above 0 and at most 1; got {coverage!r}"
            )
        kept, risk = self.steps
        errors = np.interp(coverage, [0.0, *kept], [0.0, *(kept * risk)])
        return float(1.0 - errors / coverage)

    def columns(self) -> dict[str, list[Any]]:
        """Give a row per point of the curve.

        Returns
        -------
        dict of str to list
            `coverage`, `threshold`, `risk`, `low` and `high`.
        """
        names = ("coverage", "threshold", "risk", "low", "high")
        return {name: getattr(self, name).tolist() for name in names}

    def display_columns(self) -> dict[str, list[Any]]:
        """Give a few of the points, which is what is printed.

        Returns
        -------
        dict of str to list
            Columns of equal length.
        """
        wanted = np.linspace(0.0, 1.0, _SHOWN + 1)[1:]
        rows = np.unique(np.minimum(np.searchsorted(self.coverage, wanted), self.risk.size - 1))
        return {name: [values[i] for i in rows] for name, values in self.columns().items()}

    @property
    def title(self) -> str:
        """The number of rows and the area, in one line."""
        what = "top label" if self.notion == "confidence" else "P(y = 1)"
        return (
            f"Risk and coverage ({what}) of {counted(self.n, 'row')}: AURC {self.aurc:.4f}; "
            f"{percent(self.level)} confidence intervals"
        )

    def _messages(self) -> tuple[str, ...]:
        """Sentences shown with the table: that this is ranking, not calibration, and the note."""
        return tuple(filter(None, [NOT_CALIBRATION, self.note]))

    def plot(
        self,
        *,
        ax: Any = None,
        name: str | None = None,
        legend: bool | str = True,
        size: str | tuple[float, float] | None = None,
    ) -> RiskCoverageDisplay:
        """Draw the curve, with its band. Needs matplotlib.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw on; by default, a new figure.
        name : str, optional
            The name of the predictor, for the legend.
        legend : bool or str, default True
            Whether to draw a legend where there is room, or its location inside the axes.
        size : "column" or tuple of two floats, optional
            Size of a new figure: 3.3 x 2.6 inches, or (width, height) in inches.

        Returns
        -------
        RiskCoverageDisplay
            The diagram; its `save` writes it to a file.
        """
        from calibrant.results._plots.risk_coverage import RiskCoverageDisplay

        return RiskCoverageDisplay(self, name=name).plot(ax=ax, legend=legend, size=size)
