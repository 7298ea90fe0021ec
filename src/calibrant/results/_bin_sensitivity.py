"""BinSensitivity: each measure at every number of bins."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from calibrant._core.errors import InputError, nearest
from calibrant._measures.catalogue import canonical
from calibrant.results._notebook import boxed, html_table, notes
from calibrant.results._rendering import as_frame, as_text, json_value
from calibrant.results._sketch import sparkline

if TYPE_CHECKING:
    from calibrant.results._plots.bin_sensitivity import BinSensitivityDisplay


@dataclass(frozen=True, eq=False)
class BinSensitivity:
    """What `bin_sensitivity` found out: a value of each measure for each number of `bins`.

    `scales` says what each measure is in ("mean gap", "squared gap"), `flat` names those that have
    no bins. `n` is the number of rows.
    """

    bins: tuple[int, ...]
    values: Mapping[str, tuple[float, ...]]
    scales: Mapping[str, str]
    flat: tuple[str, ...]
    n: int
    inferred: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def measures(self) -> tuple[str, ...]:
        return tuple(self.values)

    def __getitem__(self, measure: str) -> tuple[float, ...]:
        """One measure's values, in the order of `bins`."""
        measure = canonical(measure)
        if measure not in self.values:
            raise InputError(
                f"there is no measure {measure!r} here: {nearest(measure, self.values)}"
            )
        return self.values[measure]

    def at(self, m: int) -> dict[str, float]:
        """Every measure at m bins."""
        if m not in self.bins:
            near = min(self.bins, key=lambda count: abs(count - m))
            raise InputError(f"{m!r} bins were not looked at; the nearest number is {near}")
        place = self.bins.index(m)
        return {name: values[place] for name, values in self.values.items()}

    def columns(self) -> dict[str, list[Any]]:
        """A row per number of bins."""
        return {"bins": list(self.bins)} | {name: list(v) for name, v in self.values.items()}

    def spread(self) -> dict[str, list[Any]]:
        """A row per measure: its lowest and highest value, and at how many bins."""
        lowest = {name: min(values) for name, values in self.values.items()}
        highest = {name: max(values) for name, values in self.values.items()}
        return {
            "measure": list(self.values),
            "lowest": list(lowest.values()),
            "lowest_at": [self._where(name, lowest[name]) for name in self.values],
            "highest": list(highest.values()),
            "highest_at": [self._where(name, highest[name]) for name in self.values],
        }

    def _where(self, name: str, value: float) -> int:
        return self.bins[self.values[name].index(value)]

    def to_frame(self, backend: str | None = None) -> Any:
        """A row per number of bins, as a pandas, polars or pyarrow frame."""
        return as_frame(self.columns(), backend)

    def to_dict(self) -> dict[str, Any]:
        return {
            "bins": list(self.bins),
            "values": json_value(self.values),
            "scales": dict(self.scales),
            "flat": list(self.flat),
            "n": self.n,
            "inferred": list(self.inferred),
            "notes": list(self.notes),
        }

    def to_json(self) -> str:
        return json.dumps(self.to_dict())

    def plot(
        self, *, ax: Any = None, measures: Sequence[str] | None = None
    ) -> BinSensitivityDisplay:
        """Each measure against the number of bins, on `ax` or a new figure. Needs matplotlib."""
        from calibrant.results._plots.bin_sensitivity import BinSensitivityDisplay

        return BinSensitivityDisplay(self).plot(ax=ax, measures=measures)

    def chart(self) -> Any:
        """The lines as an interactive Altair chart, for notebooks. Needs Altair."""
        from calibrant.results._plots.notebook_charts import bin_sensitivity_chart

        return bin_sensitivity_chart(self)

    @property
    def title(self) -> str:
        counts = f"{self.bins[0]} to {self.bins[-1]} bins" if len(self.bins) > 1 else "one number"
        return f"{len(self.values)} measures of {self.n} rows at {counts}"

    def __repr__(self) -> str:
        said = "".join(f"\n  {line}" for line in (*self.inferred, *self.notes))
        return f"{self.title}{said}\n\n" + as_text(self.spread(), indent="  ")

    def _repr_html_(self) -> str:
        lines = [sparkline(self.values[name]) for name in self.values]
        ends = f"{self.bins[0]} to {self.bins[-1]} bins"
        columns = {**self.spread(), ends: lines}
        return boxed(html_table(columns, self.title), notes((*self.inferred, *self.notes)))
