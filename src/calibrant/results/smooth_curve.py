"""SmoothCurve: a reliability curve without bins."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from calibrant.errors import InputError
from calibrant.measures.smooth_rows import curve_limits
from calibrant.results.notebook import boxed, html_table, side_by_side
from calibrant.results.rendering import as_frame, as_text, json_value
from calibrant.results.sketch import curve_sketch

if TYPE_CHECKING:
    from calibrant.show.smooth_diagram import SmoothReliabilityDisplay


@dataclass(frozen=True, eq=False)
class SmoothCurve:
    """Places along the reports (or their logits), with the smoothed density, mean target, and the
    difference whose absolute value integrates to the error.

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
        from calibrant.show.smooth_diagram import SmoothReliabilityDisplay

        return SmoothReliabilityDisplay(self, name=name).plot(ax=ax, level=level)

    def to_dict(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "sigma": self.sigma,
            "notion": self.notion,
            "points": json_value(self.columns()),
        }

    def to_json(self) -> str:
        return json.dumps(self.to_dict())

    def _title(self) -> str:
        scale = "reports" if self.kind == "unit" else "logits"
        return f"{self.notion}, smoothed over {scale}, sigma {self.sigma:.4g}"

    def _some(self) -> dict[str, list[Any]]:
        step = max(1, len(next(iter(self.points.values()))) // 16)
        return {name: values[::step] for name, values in self.columns().items()}

    def __repr__(self) -> str:
        return f"SmoothCurve ({self._title()})\n" + as_text(self._some(), indent="  ")

    def _repr_html_(self) -> str:
        held = np.where(self.n_near >= 1, self.points["mean_target"], np.nan)
        top = self.notion == "confidence"
        target = "mean soft label" if not self.is_hard else "accuracy" if top else "frequency"
        names = "confidence" if top else "report", target
        sketch = curve_sketch(self.points["report"].tolist(), held.tolist(), names)
        shown = html_table(self._some(), f"Smoothed reliability: {self._title()}")
        return boxed(side_by_side(sketch, shown))
