"""ClasswiseReliability: one reliability table for each class against the rest."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from calibrant._core.errors import InputError, nearest
from calibrant.results._reliability import ReliabilityTable
from calibrant.results._rendering import as_frame, as_html, as_text, json_value

if TYPE_CHECKING:
    from calibrant.results._plots.classwise import ClasswiseDisplay


@dataclass(frozen=True, eq=False)
class ClasswiseReliability:
    """A `ReliabilityTable` for each class, the one with the largest error first.

    Look one up by the name of its class: ``tables["Shirt"]``.
    """

    names: tuple[str, ...]
    tables: tuple[ReliabilityTable, ...]

    def __getitem__(self, name: Any) -> ReliabilityTable:
        if str(name) not in self.names:
            raise InputError(f"no class is called {name!r}: {nearest(name, self.names)}")
        return self.tables[self.names.index(str(name))]

    def __iter__(self) -> Iterator[tuple[str, ReliabilityTable]]:
        return iter(zip(self.names, self.tables, strict=True))

    def __len__(self) -> int:
        return len(self.names)

    def columns(self) -> dict[str, list[Any]]:
        """A row per class: mean prediction, mean target, calibration error."""
        sums = [table.table for table in self.tables]
        weight = [float(t.sum_w.sum()) for t in sums]
        return {
            "class": list(self.names),
            "mean_predicted": [
                float(t.sum_wu.sum()) / w for t, w in zip(sums, weight, strict=True)
            ],
            "mean_target": [float(t.sum_wz.sum()) / w for t, w in zip(sums, weight, strict=True)],
            "ece": [table.ece for table in self.tables],
        }

    def bins(self, level: float | None = None) -> dict[str, list[Any]]:
        """A row per class and bin; with `level`, limits of the mean targets too."""
        out: dict[str, list[Any]] = {}
        for name, table in self:
            columns = table.columns() if level is None else table.intervals(level)
            out.setdefault("class", []).extend([name] * len(columns["bin"]))
            for key, values in columns.items():
                out.setdefault(key, []).extend(values)
        return out

    def to_frame(self, backend: str | None = None, *, level: float | None = None) -> Any:
        """A row per class and bin, as a pandas, polars or pyarrow frame."""
        return as_frame(self.bins(level), backend)

    def to_dict(self) -> dict[str, Any]:
        return {
            "rule": str(self.tables[0].rule),
            "classes": json_value(self.columns()),
            "bins": json_value(self.bins()),
        }

    def to_json(self) -> str:
        return json.dumps(self.to_dict())

    def plot(
        self, *, ax: Any = None, cap: int = 12, level: float | None = 0.95
    ) -> ClasswiseDisplay:
        """A small diagram for each of the `cap` worst classes. Needs matplotlib."""
        from calibrant.results._plots.classwise import ClasswiseDisplay

        return ClasswiseDisplay(self).plot(ax=ax, cap=cap, level=level)

    @property
    def title(self) -> str:
        return f"Reliability of {len(self)} classes, worst first; {self.tables[0].rule}"

    def __repr__(self) -> str:
        return f"{self.title}\n" + as_text(self.columns(), indent="  ")

    def _repr_html_(self) -> str:
        return as_html(self.columns(), self.title)
