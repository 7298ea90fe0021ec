"""SmoothCurve: a reliability curve without bins."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.results.rendering import as_frame, as_html, as_text, json_value


@dataclass(frozen=True, eq=False)
class SmoothCurve:
    """Places along the reports (or their logits), with the smoothed density, mean target, and the
    difference whose absolute value integrates to the error.
    """

    points: Mapping[str, NDArray[np.float64]]
    kind: str
    sigma: float
    notion: str

    def columns(self) -> dict[str, list[Any]]:
        return {name: values.tolist() for name, values in self.points.items()}

    def to_frame(self, backend: str | None = None) -> Any:
        """A pandas, polars or pyarrow frame."""
        return as_frame(self.columns(), backend)

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
        return as_html(self._some(), f"Smoothed reliability: {self._title()}")
