"""SmoothCurve: a reliability curve without bins."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from calibrant._core.errors import InputError
from calibrant._measures.smooth_rows import curve_limits
from calibrant.results._base import Result
from calibrant.results._notebook import html_box, html_list, html_table, side_by_side
from calibrant.results._reliability import ReliabilityTable
from calibrant.results._rendering import as_frame
from calibrant.results._sketch import curve_axes, curve_sketch
from calibrant.results._text_tables import as_text

if TYPE_CHECKING:
    from calibrant.results._plots.curves import SmoothReliabilityDisplay


# The number of bins that a curve is compared with, and the fewest rows that a bin must have.
N_CHECKED, ENOUGH = 25, 20
BIAS = (
    "The curve averages over neighbouring predictions. It misses changes within a bandwidth, and "
    "its band does not include that bias."
)


@dataclass(frozen=True)
class OutsideBin:
    """A bin whose mean target a curve contradicts: their intervals do not meet.

    Attributes
    ----------
    lower, upper : float
        The edges of the bin.
    n : int
        Its rows.
    mean_predicted, mean_target : float
        Its means.
    low, high : float
        The interval of its mean target.
    curve : float
        The curve at its mean prediction.

    Examples
    --------
    >>> import calibrant as cal
    >>> cal.smooth_reliability([0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4], sigma=0.2).outside
    ()
    """

    lower: float
    upper: float
    n: int
    mean_predicted: float
    mean_target: float
    low: float
    high: float
    curve: float


def bins_outside(curve: SmoothCurve, table: ReliabilityTable) -> tuple[OutsideBin, ...]:
    """Find bins whose interval does not overlap a curve's 95% band.

    The intervals of the bins hold for all bins together at 95%; bins of fewer than 20 rows are
    skipped. Where a curve has no band, the curve itself is compared with the bins' intervals.
    """
    columns = table.intervals(1 - 0.05 / table.table.n_bins)
    limits = curve.columns() if curve.n_effective is None else curve.intervals()
    predictions = np.asarray(limits["prediction"])
    known = np.isfinite(limits["mean_target"])
    if not known.any():
        return ()

    def interpolated(name: str, where: float) -> float:
        """The curve's column `name` at the prediction `where`, interpolated between points."""
        return float(np.interp(where, predictions[known], np.asarray(limits[name])[known]))

    out = []
    for j, n in enumerate(columns["n"]):
        if n < ENOUGH:
            continue
        u, low, high = (columns[name][j] for name in ("mean_predicted", "low", "high"))
        middle = interpolated("mean_target", u)
        lowest, highest = (
            interpolated(name, u) if name in limits else middle for name in ("low", "high")
        )
        if high < lowest or low > highest:
            names = ("lower", "upper", "mean_predicted", "mean_target", "low", "high")
            own = {name: columns[name][j] for name in names}
            out.append(OutsideBin(**own, n=int(n), curve=middle))
    return tuple(out)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class SmoothCurve(Result):
    """A smoothed reliability curve: points along the predictions (or their logits).

    The curve averages over neighbouring predictions: it misses changes within a bandwidth, and its
    band does not include that bias. Made by `smooth_reliability`.

    Attributes
    ----------
    points : mapping of str to ndarray
        `prediction`, the smoothed `density` and `mean_target`, and the difference whose absolute
        value integrates to the error.
    kind : {"unit", "logit"}
        Whether predictions or their logits are smoothed.
    sigma : float
        The bandwidth.
    notion : str
        What is measured: "binary", or "confidence" for the top label.
    n_effective : ndarray or None
        The effective number of rows at each point; None for soft labels, whose variance is unknown.
    n : float
        The effective number of rows.
    is_hard : bool
        Whether all targets are 0 or 1.
    outside : tuple of OutsideBin
        Bins of the same rows (25 of equal width, those with 20 rows or more) that lie outside the
        band. If there are any, pages do not draw the curve by default.
    note : str
        Remarks, such as which of two columns was used.

    Examples
    --------
    >>> import calibrant as cal
    >>> curve = cal.smooth_reliability([0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4], sigma=0.2)
    >>> curve.kind, curve.sigma
    ('unit', 0.2)
    """

    _json_keys = "kind sigma notion points outside notes"
    _table_key = "points"

    points: Mapping[str, NDArray[np.float64]]
    kind: str
    sigma: float
    notion: str
    n_effective: NDArray[np.float64] | None = None
    n: float = math.nan
    is_hard: bool = True
    outside: tuple[OutsideBin, ...] = ()
    note: str = ""

    @property
    def notes(self) -> tuple[str, ...]:
        """The curve's bias, the bins that it contradicts, and `note`."""
        return tuple(filter(None, [BIAS, self.contradiction, self.note]))

    @property
    def contradiction(self) -> str:
        """A sentence on the bins outside the band; empty if there are none."""
        if not self.outside:
            return ""
        worst = max(self.outside, key=lambda each: abs(each.mean_target - each.curve))
        many = len(self.outside)
        bins = "1 bin lies" if many == 1 else f"{many} bins lie"
        target = "accuracy" if self.notion == "confidence" and self.is_hard else "mean target"
        return (
            f"{bins} outside its band: {worst.n:,} predictions from {worst.lower:.2f} to "
            f"{worst.upper:.2f} have the {target} {worst.mean_target:.3f}, but the curve gives "
            f"{worst.curve:.3f}. Trust the bins."
        )

    def columns(self) -> dict[str, list[Any]]:
        """Give a row per point.

        Returns
        -------
        dict of str to list
            The `points`.
        """
        return {name: values.tolist() for name, values in self.points.items()}

    @property
    def n_near(self) -> NDArray[np.float64]:
        """Rows within about a bandwidth of each point; below 1, the curve is meaningless."""
        out: NDArray[np.float64] = self.n * self.points["density"] * self.sigma
        return out * math.sqrt(2.0 * math.pi)

    def intervals(self, level: float = 0.95) -> dict[str, list[Any]]:
        """Give the columns with the confidence interval (Wilson's) of each point's mean target.

        They are for one point at a time, and for the *smoothed* mean target: what the curve would
        be if every outcome were replaced by its probability. Soft labels have none.

        Parameters
        ----------
        level : float in (0, 1), default 0.95
            Level of the intervals.

        Returns
        -------
        dict of str to list
            `columns`, `low` and `high`.
        """
        if self.n_effective is None:
            raise InputError(
                "this curve has no intervals: they need hard labels, and weights in memory. Use "
                "calibrant.reliability, whose bins have intervals for soft labels too"
            )
        low, high = curve_limits(self.points["mean_target"], self.n_effective, level)
        return {**self.columns(), "low": low.tolist(), "high": high.tolist()}

    def to_frame(self, backend: str | None = None, *, level: float | None = None) -> Any:
        """Give a row per point, as a frame.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}, optional
            Library of the frame; by default, the first of them that is installed.
        level : float in (0, 1), optional
            Level of the confidence intervals of the mean targets; by default, there are none.

        Returns
        -------
        frame
            The columns.
        """
        return as_frame(self.columns() if level is None else self.intervals(level), backend)

    def plot(
        self,
        *,
        ax: Any = None,
        name: str | None = None,
        level: float | None = 0.95,
        density: bool = True,
        legend: bool | str = True,
        size: str | tuple[float, float] | None = None,
    ) -> SmoothReliabilityDisplay:
        """Draw the smoothed diagram, with a band. Needs matplotlib.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw on; by default, a new figure.
        name : str, optional
            The name of the predictor, for the legend.
        level : float or None, default 0.95
            Level of the band; None draws none.
        density : bool, default True
            Whether to draw the strip that shows the density of the predictions.
        legend : bool or str, default True
            Whether to draw a legend where there is room, or its location inside the axes.
        size : "column" or tuple of two floats, optional
            Size of a new figure: 3.3 x 2.6 inches, or (width, height) in inches.

        Returns
        -------
        SmoothReliabilityDisplay
            The diagram; its `save` writes it to a file.
        """
        from calibrant.results._plots.curves import SmoothReliabilityDisplay

        return SmoothReliabilityDisplay(self, name=name).plot(
            ax=ax, level=level, density=density, legend=legend, size=size
        )

    @property
    def title(self) -> str:
        """The notion and the bandwidth, in one line."""
        scale = "predictions" if self.kind == "unit" else "logits"
        return f"{self.notion}, smoothed over {scale}, sigma {self.sigma:.4g}"

    @property
    def _printed_rows(self) -> slice:
        return slice(None, None, max(1, len(self.points["prediction"]) // 16))

    def __repr__(self) -> str:
        notes = "".join(f"\n  {note}" for note in self.notes)
        table = as_text(self.display_columns(), indent="  ")
        return f"SmoothCurve ({self.title}){notes}\n{table}"

    def _repr_html_(self) -> str:
        """A drawing of the curve and some of its points as HTML, for notebooks.

        The drawing leaves out points that have less than one row within about a bandwidth.
        """
        supported = np.where(self.n_near >= 1, self.points["mean_target"], np.nan)
        axes = curve_axes(self.notion, self.is_hard)
        sketch = curve_sketch(self.points["prediction"].tolist(), supported.tolist(), axes)
        shown = html_table(self.display_columns(), f"Smoothed reliability: {self.title}")
        return html_box(html_list(self.notes), side_by_side(sketch, shown))
