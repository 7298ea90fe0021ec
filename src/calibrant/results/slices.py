"""Slices: one evaluation for each value of a column, and which of them stand out."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from calibrant.errors import InputError, nearest
from calibrant.results.notebook import boxed, html_table, notes
from calibrant.results.rendering import as_frame, as_text, json_value

if TYPE_CHECKING:
    from calibrant.show.slices_diagram import SlicesDisplay


@dataclass(frozen=True, eq=False)
class Slice:
    """One slice: its rows, every measure's value, and what its calibration error is worth.

    `p_value` is that of the noise floor, `p_corrected` the same corrected for looking at all slices
    (Holm, 1979): below 0.05, the slice is miscalibrated even so. NaN where soft labels have none.
    """

    name: str
    n: int
    values: dict[str, float]
    noise_95: float
    p_value: float
    p_corrected: float


@dataclass(frozen=True, eq=False)
class Slices:
    """Evaluations of slices, the worst first: by corrected p-value, then by `measure`."""

    by: str
    measure: str
    parts: tuple[Slice, ...]
    notes: tuple[str, ...] = ()

    def __getitem__(self, name: Any) -> Slice:
        for part in self.parts:
            if part.name == str(name):
                return part
        known = [part.name for part in self.parts]
        raise InputError(f"there is no slice {name!r} of {self.by!r}: {nearest(str(name), known)}")

    def __iter__(self) -> Iterator[Slice]:
        return iter(self.parts)

    def __len__(self) -> int:
        return len(self.parts)

    @property
    def worst(self) -> Slice:
        """The slice that is the hardest to explain by chance."""
        return self.parts[0]

    def columns(self) -> dict[str, list[Any]]:
        names = list(self.parts[0].values)
        return {
            self.by: [part.name for part in self.parts],
            "n": [part.n for part in self.parts],
            **{name: [part.values[name] for part in self.parts] for name in names},
            "noise_95": [part.noise_95 for part in self.parts],
            "p_value": [part.p_value for part in self.parts],
            "p_corrected": [part.p_corrected for part in self.parts],
        }

    def to_frame(self, backend: str | None = None) -> Any:
        """A row per slice, as a pandas, polars or pyarrow frame."""
        return as_frame(self.columns(), backend)

    def to_dict(self) -> dict[str, Any]:
        return {
            "by": self.by,
            "measure": self.measure,
            "slices": json_value(self.columns()),
            "notes": list(self.notes),
        }

    def to_json(self) -> str:
        return json.dumps(self.to_dict())

    def plot(self, *, ax: Any = None, cap: int = 30) -> SlicesDisplay:
        """The worst slices with their noise floors, on `ax` or a new figure. Needs matplotlib."""
        from calibrant.show.slices_diagram import SlicesDisplay

        return SlicesDisplay(self).plot(ax=ax, cap=cap)

    def shown_columns(self) -> dict[str, list[Any]]:
        """The columns a person reads."""
        columns = self.columns()
        kept = (self.by, "n", self.measure, "noise_95", "p_value", "p_corrected")
        return {name: columns[name] for name in kept}

    @property
    def title(self) -> str:
        return f"Slices by {self.by}, worst first"

    def __repr__(self) -> str:
        said = "".join(f"\n  {note}" for note in self.notes)
        return f"{self.title}{said}\n{as_text(self.shown_columns(), indent='  ', most=200)}"

    def _repr_html_(self) -> str:
        return boxed(html_table(self.shown_columns(), self.title), notes(self.notes))
