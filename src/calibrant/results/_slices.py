"""Slices: one evaluation for each value of a column, and which of them stand out."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from calibrant._core.errors import InputError, nearest
from calibrant.results._notebook import boxed, html_table, notes
from calibrant.results._rendering import as_frame, as_text, json_value

if TYPE_CHECKING:
    from calibrant.results._plots.slices import SlicesDisplay


@dataclass(frozen=True, eq=False)
class Slice:
    """One slice: its rows, every measure's value, and how far its calibration error can be trusted.

    `p_value` is that of the noise floor, `p_corrected` the same corrected for looking at all slices
    (Holm, 1979): below ``1 - level`` of the evaluation, the slice is miscalibrated even so. NaN
    where there is none. `estimate`, `low` and `high` are of the measure's true value, as far as
    intervals were asked for (``uncertainty=True``); `within_tolerance` is True where the whole
    interval keeps the tolerance, False where none of it does once the number of slices is taken
    into account, None where these rows cannot tell.
    """

    name: str
    n: int
    values: dict[str, float]
    noise_95: float
    p_value: float
    p_corrected: float
    estimate: float = math.nan
    low: float = math.nan
    high: float = math.nan
    within_tolerance: bool | None = None
    verdict: str = ""
    n_clusters: int | None = None


@dataclass(frozen=True, eq=False)
class Slices:
    """Evaluations of slices, the hardest to explain by chance first: by corrected p-value, then by
    `measure`.
    """

    by: str
    measure: str
    parts: tuple[Slice, ...]
    notes: tuple[str, ...] = ()
    level: float = 0.95
    # The size of a gap that verdicts were held against; None where there are none.
    tolerance: float | None = None

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
        """The slice that is the hardest to explain by chance; see `largest` too."""
        return self.parts[0]

    @property
    def largest(self) -> Slice:
        """The slice with the largest value of `measure`, which on few rows may be chance."""
        return max(self.parts, key=lambda part: part.values[self.measure])

    def columns(self) -> dict[str, list[Any]]:
        def column(name: str) -> list[Any]:
            return [getattr(part, name) for part in self.parts]

        names = list(self.parts[0].values)
        clustered = any(part.n_clusters is not None for part in self.parts)
        judged = ("estimate", "low", "high") if self.tolerance is not None else ()
        decided = ("verdict", "within_tolerance") if self.tolerance is not None else ()
        return {
            self.by: column("name"),
            **{name: column(name) for name in ("n", *(("n_clusters",) if clustered else ()))},
            **{name: [part.values[name] for part in self.parts] for name in names},
            **{name: column(name) for name in judged},
            **{name: column(name) for name in ("noise_95", "p_value", "p_corrected", *decided)},
        }

    def to_frame(self, backend: str | None = None) -> Any:
        """A row per slice, as a pandas, polars or pyarrow frame."""
        return as_frame(self.columns(), backend)

    def to_dict(self) -> dict[str, Any]:
        return {
            "by": self.by,
            "measure": self.measure,
            "level": self.level,
            "tolerance": self.tolerance,
            "slices": json_value(self.columns()),
            "notes": list(self.notes),
        }

    def to_json(self) -> str:
        return json.dumps(self.to_dict())

    def plot(self, *, ax: Any = None, cap: int = 30) -> SlicesDisplay:
        """The worst slices with their noise floors, on `ax` or a new figure. Needs matplotlib."""
        from calibrant.results._plots.slices import SlicesDisplay

        return SlicesDisplay(self).plot(ax=ax, cap=cap)

    def display_columns(self) -> dict[str, list[Any]]:
        """The columns a person reads."""
        columns = self.columns()
        kept = (
            self.by, "n", "n_clusters", self.measure, "estimate", "low", "high", "noise_95",
            "p_value", "p_corrected", "verdict",
        )  # fmt: skip
        return {name: columns[name] for name in kept if name in columns}

    @property
    def title(self) -> str:
        return f"Slices by {self.by}, worst first (by corrected p-value)"

    def __repr__(self) -> str:
        said = "".join(f"\n  {note}" for note in self.notes)
        return f"{self.title}{said}\n{as_text(self.display_columns(), indent='  ', most=200)}"

    def _repr_html_(self) -> str:
        return boxed(html_table(self.display_columns(), self.title), notes(self.notes))
