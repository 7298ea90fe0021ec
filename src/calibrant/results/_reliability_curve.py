"""ReliabilityCurve: a curve that follows the rows, isotonic or local, with a band."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from calibrant._core.errors import counted
from calibrant.results._base import Result
from calibrant.results._notebook import html_box, html_list, html_table, side_by_side
from calibrant.results._rendering import percent
from calibrant.results._sketch import curve_axes, curve_sketch
from calibrant.results._with_diagram import WithDiagram

if TYPE_CHECKING:
    from calibrant.results._plots.curves import ReliabilityCurveDisplay

BANDS = {
    "consistency": "band: pointwise {} range of the curves of a calibrated model",
    "confidence": (
        "band: simultaneous {} confidence interval, valid if the true frequency never decreases"
    ),
    "pointwise": "band: pointwise {} confidence interval of the smoothed frequency",
    None: "",
}
NAMES = {"isotonic": "isotonic (CORP)", "local": "local regression"}
_SHOWN = 16


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class ReliabilityCurve(WithDiagram["ReliabilityCurveDisplay"], Result):
    """A reliability curve without bins and without a fixed bandwidth.

    Made by `reliability_curve`. The isotonic curve never decreases; the local curve uses the
    nearest share of the rows.

    Attributes
    ----------
    points : mapping of str to ndarray
        `prediction`, `mean_target`, `weight`, and with a band `low` and `high`.
    method : {"isotonic", "local"}
        How the curve is fitted.
    band : {"consistency", "confidence", "pointwise"} or None
        The kind of band: the range of calibrated predictions, a simultaneous confidence band, or
        pointwise intervals.
    level : float
        The level of the band.
    notion : str
        What is measured: "binary", or "confidence" for the top label.
    is_hard : bool
        Whether all targets are 0 or 1.
    n : int
        The number of rows with positive weight.
    shares : ndarray
        The share of rows in each of 40 intervals of equal width.
    span : float
        The share of rows in the window of a local regression; NaN for an isotonic curve.
    note : str
        Remarks, such as which of two columns was used.

    Examples
    --------
    >>> import calibrant as cal
    >>> curve = cal.reliability_curve([0, 1, 0, 1], [0.2, 0.7, 0.8, 0.9], band=None)
    >>> curve.at([0.2, 0.75, 0.9]).tolist()
    [0.0, 0.5, 1.0]
    """

    _json_keys = "method band level notion n span points note"
    _table_key = "points"

    points: Mapping[str, NDArray[np.float64]]
    method: str
    band: str | None
    level: float
    notion: str
    is_hard: bool
    n: int
    shares: NDArray[np.float64]
    span: float = math.nan
    note: str = ""

    def without_band(self) -> ReliabilityCurve:
        """Give the curve alone.

        Returns
        -------
        ReliabilityCurve
            The same curve without its band.
        """
        points = {k: v for k, v in self.points.items() if k not in ("low", "high")}
        return replace(self, points=points, band=None)

    def at(self, predictions: Any) -> NDArray[np.float64]:
        """Give the curve's height at some predictions, by linear interpolation.

        Parameters
        ----------
        predictions : float or array-like
            Where to look.

        Returns
        -------
        ndarray
            The heights.
        """
        where = np.asarray(predictions, dtype=np.float64)
        out: NDArray[np.float64] = np.interp(
            where, self.points["prediction"], self.points["mean_target"]
        )
        return out

    def columns(self) -> dict[str, list[Any]]:
        """Give a row per point.

        Returns
        -------
        dict of str to list
            The `points`.
        """
        return {name: values.tolist() for name, values in self.points.items()}

    @property
    def _printed_rows(self) -> slice:
        return slice(None, None, max(1, math.ceil(len(self.points["prediction"]) / _SHOWN)))

    @property
    def called(self) -> str:
        """The method in words, with the span of a local regression."""
        looks = "" if self.span != self.span else f", span {self.span:g}"
        return NAMES[self.method] + looks

    @property
    def band_words(self) -> str:
        """What the band is, in words; empty without one."""
        return BANDS[self.band].format(percent(self.level))

    @property
    def title(self) -> str:
        """The method and the number of rows, in one line."""
        return f"Reliability curve of {counted(self.n, 'row')} ({self.notion}): {self.called}"

    def _messages(self) -> tuple[str, ...]:
        """Sentences shown with the table: what the band is, if there is one, and the note."""
        return tuple(filter(None, [self.band_words if self.band else "", self.note]))

    def _display(self, name: str | None) -> tuple[ReliabilityCurveDisplay, dict[str, Any]]:
        """The curve, with its band and where the predictions lie."""
        from calibrant.results._plots.curves import ReliabilityCurveDisplay

        return ReliabilityCurveDisplay(self, name=name), {}

    def _repr_html_(self) -> str:
        """A drawing of the curve and some of its points as HTML, for notebooks."""
        axes = curve_axes(self.notion, self.is_hard)
        columns = self.columns()
        sketch = curve_sketch(columns["prediction"], columns["mean_target"], axes)
        table = html_table(self.display_columns(), self.title)
        return html_box(html_list(self._messages()), side_by_side(sketch, table))
