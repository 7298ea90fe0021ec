"""SmoothCurve: a reliability curve without bins."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from calibrant._core.errors import InputError
from calibrant._measures.smooth_rows import curve_limits
from calibrant.results._notebook import boxed, html_table, notes, side_by_side
from calibrant.results._reliability import ReliabilityTable
from calibrant.results._rendering import as_frame, as_text, json_value
from calibrant.results._sketch import curve_sketch

if TYPE_CHECKING:
    from calibrant.results._plots.smooth import SmoothReliabilityDisplay


# Bins that a curve is held against, and rows that one of them needs to speak.
N_CHECKED, ENOUGH = 25, 20
BIAS = (
    "The curve is an average over neighbouring predictions: where the frequency changes within a "
    "bandwidth it does not follow, and its band knows nothing of that bias."
)


@dataclass(frozen=True)
class OutsideBin:
    """A bin whose mean target a curve contradicts: their intervals do not meet."""

    lower: float
    upper: float
    n: int
    mean_predicted: float
    mean_target: float
    low: float
    high: float
    curve: float


def bins_outside(curve: SmoothCurve, table: ReliabilityTable) -> tuple[OutsideBin, ...]:
    """The bins that lie outside a curve's 95% band, by intervals that hold for all bins together.

    Where a curve has no band it is held against the bins' intervals itself.
    """
    columns = table.intervals(1 - 0.05 / table.table.n_bins)
    limits = curve.columns() if curve.n_effective is None else curve.intervals()
    places = np.asarray(limits["prediction"])
    known = np.isfinite(limits["mean_target"])
    if not known.any():
        return ()

    def at(name: str, where: float) -> float:
        return float(np.interp(where, places[known], np.asarray(limits[name])[known]))

    out = []
    for j, n in enumerate(columns["n"]):
        if n < ENOUGH:
            continue
        u, low, high = (columns[name][j] for name in ("mean_predicted", "low", "high"))
        middle = at("mean_target", u)
        lowest, highest = (at(name, u) if name in limits else middle for name in ("low", "high"))
        if high < lowest or low > highest:
            out.append(
                OutsideBin(columns["lower"][j], columns["upper"][j], int(n), u,
                           columns["mean_target"][j], low, high, middle)
            )  # fmt: skip
    return tuple(out)


@dataclass(frozen=True, eq=False)
class SmoothCurve:
    """Places along the predictions (or their logits), with the smoothed density, mean target, and
    the difference whose absolute value integrates to the error.

    It is an average over neighbouring predictions, so where the frequency changes within a
    bandwidth it does not follow, and its band knows nothing of that bias. `outside` has the bins of
    the same rows (25 of equal width, those with 20 rows or more) that lie outside its band, `notes`
    says so; with such bins no page draws it unasked.

    `n` is the effective number of rows, `n_effective` that behind each point; it is None for soft
    labels, whose scatter a curve does not know.
    """

    points: Mapping[str, NDArray[np.float64]]
    kind: str
    sigma: float
    notion: str
    n_effective: NDArray[np.float64] | None = None
    n: float = math.nan
    is_hard: bool = True
    outside: tuple[OutsideBin, ...] = ()

    @property
    def notes(self) -> tuple[str, ...]:
        """What to know before it is believed: its bias, and the bins that it contradicts."""
        return (BIAS, *([self.contradiction] if self.outside else ()))

    @property
    def contradiction(self) -> str:
        """The bins outside the band, in a sentence; empty if there are none."""
        if not self.outside:
            return ""
        worst = max(self.outside, key=lambda part: abs(part.mean_target - part.curve))
        many = len(self.outside)
        bins = "1 bin lies" if many == 1 else f"{many} bins lie"
        target = "accuracy" if self.notion == "confidence" and self.is_hard else "mean target"
        return (
            f"{bins} outside its band: {worst.n:,} predictions from {worst.lower:.2f} to "
            f"{worst.upper:.2f} have the {target} {worst.mean_target:.3f}, where the curve says "
            f"{worst.curve:.3f}. Trust the bins."
        )

    def columns(self) -> dict[str, list[Any]]:
        return {name: values.tolist() for name, values in self.points.items()}

    @property
    def n_near(self) -> NDArray[np.float64]:
        """How many rows lie about a bandwidth from each point: below 1 the curve says nothing."""
        out: NDArray[np.float64] = self.n * self.points["density"] * self.sigma
        return out * math.sqrt(2.0 * math.pi)

    def intervals(self, level: float = 0.95) -> dict[str, list[Any]]:
        """The columns with limits of each point's mean target, `low` and `high` (Wilson's).

        They are for one point at a time, and for the *smoothed* mean target: what the curve would
        be if every outcome were replaced by its chance. Soft labels have none.
        """
        if self.n_effective is None:
            raise InputError(
                "this curve has no intervals: they need hard labels, and weights that are held in "
                "memory. Use calibrant.reliability, whose bins have them for soft labels too"
            )
        low, high = curve_limits(self.points["mean_target"], self.n_effective, level)
        return {**self.columns(), "low": low.tolist(), "high": high.tolist()}

    def to_frame(self, backend: str | None = None, *, level: float | None = None) -> Any:
        """A pandas, polars or pyarrow frame; with `level`, limits of the mean targets too."""
        return as_frame(self.columns() if level is None else self.intervals(level), backend)

    def plot(
        self, *, ax: Any = None, name: str | None = None, level: float | None = 0.95
    ) -> SmoothReliabilityDisplay:
        """The smoothed diagram, on `ax` or a new figure, with a band. Needs matplotlib."""
        from calibrant.results._plots.smooth import SmoothReliabilityDisplay

        return SmoothReliabilityDisplay(self, name=name).plot(ax=ax, level=level)

    def to_dict(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "sigma": self.sigma,
            "notion": self.notion,
            "points": json_value(self.columns()),
            "outside": [json_value(vars(part)) for part in self.outside],
            "notes": list(self.notes),
        }

    def to_json(self) -> str:
        return json.dumps(self.to_dict())

    def _title(self) -> str:
        scale = "predictions" if self.kind == "unit" else "logits"
        return f"{self.notion}, smoothed over {scale}, sigma {self.sigma:.4g}"

    def _some(self) -> dict[str, list[Any]]:
        step = max(1, len(next(iter(self.points.values()))) // 16)
        return {name: values[::step] for name, values in self.columns().items()}

    def __repr__(self) -> str:
        notes = "".join(f"\n  {note}" for note in self.notes)
        return f"SmoothCurve ({self._title()}){notes}\n" + as_text(self._some(), indent="  ")

    def _repr_html_(self) -> str:
        held = np.where(self.n_near >= 1, self.points["mean_target"], np.nan)
        top = self.notion == "confidence"
        target = "mean soft label" if not self.is_hard else "accuracy" if top else "frequency"
        names = "confidence" if top else "prediction", target
        sketch = curve_sketch(self.points["prediction"].tolist(), held.tolist(), names)
        shown = html_table(self._some(), f"Smoothed reliability: {self._title()}")
        return boxed(notes(self.notes), side_by_side(sketch, shown))
