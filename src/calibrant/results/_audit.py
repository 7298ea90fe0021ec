"""Audit: which properties measures were found to have, with the witnesses."""

from __future__ import annotations

import builtins
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from calibrant._core.errors import InputError
from calibrant.results._notebook import boxed, folded, html_table, notes
from calibrant.results._rendering import as_frame, as_text, json_value, shown

_WORDS = {True: "yes", False: "no", None: "?"}


@dataclass(frozen=True, eq=False)
class AuditVerdict:
    """One property of one measure: whether it holds, what is claimed, and what shows it.

    `holds` is None where nothing could be decided. `witness` is enough to compute the numbers in
    `evidence` again: see `Audit.replay`.
    """

    measure: str
    shape: str
    property: str
    holds: bool | None
    claim: bool | None
    evidence: dict[str, float]
    witness: dict[str, Any] | None
    sentence: str

    @builtins.property
    def agrees(self) -> bool | None:
        """Whether the finding is what the catalogue claims; None where it claims nothing."""
        if self.claim is None:
            return None
        return self.holds is self.claim

    def to_dict(self) -> dict[str, Any]:
        return {
            "measure": self.measure,
            "shape": self.shape,
            "property": self.property,
            "holds": self.holds,
            "claim": self.claim,
            "agrees": self.agrees,
            "evidence": json_value(self.evidence),
            "witness": json_value(self.witness),
            "sentence": self.sentence,
        }

    def __repr__(self) -> str:
        claim = "" if self.claim is None else f", claimed {_WORDS[self.claim]}"
        return (
            f"AuditVerdict({self.measure} ({self.shape}) {self.property}: "
            f"{_WORDS[self.holds]}{claim}; {self.sentence})"
        )


Replay = Callable[[AuditVerdict], dict[str, float]]


@dataclass(frozen=True, eq=False)
class Audit:
    """What `audit` found out: a row per measure, shape and property."""

    rows: tuple[AuditVerdict, ...]
    notes: tuple[str, ...]
    recipe: dict[str, Any]
    again: Replay | None = field(default=None, repr=False)

    def __len__(self) -> int:
        return len(self.rows)

    def __bool__(self) -> bool:
        """Whether every claim is borne out: ``assert audit("ece")`` can fail."""
        return not self.disagreements

    def verdict(self, measure: str, property: str, shape: str | None = None) -> AuditVerdict:
        """One row; `shape` is needed where the measure was audited for both."""
        found = [
            row for row in self.rows
            if (row.measure, row.property) == (measure, property) and shape in (None, row.shape)
        ]  # fmt: skip
        if not found:
            raise InputError(f"this audit has no row for {measure!r} and {property!r}")
        if len(found) > 1:
            raise InputError(
                f"{measure!r} was audited for both shapes: say shape='binary' or 'multiclass'"
            )
        return found[0]

    def replay(self, row: AuditVerdict) -> dict[str, float]:
        """The numbers of a row's witness, computed again from the witness alone."""
        if row.witness is None or self.again is None:
            raise InputError(f"there is no witness to replay: {row.sentence}")
        return self.again(row)

    @property
    def disagreements(self) -> tuple[AuditVerdict, ...]:
        """The rows that do not bear out what is claimed: refuted, or undecided."""
        return tuple(row for row in self.rows if row.agrees is False)

    @property
    def refuted(self) -> tuple[AuditVerdict, ...]:
        """The rows that show the opposite of what is claimed."""
        return tuple(row for row in self.disagreements if row.holds is not None)

    def columns(self) -> dict[str, list[Any]]:
        """A row per measure, shape and property."""
        names = ("measure", "shape", "property", "holds", "claim", "agrees", "sentence")
        return {name: [getattr(row, name) for row in self.rows] for name in names}

    def table(self) -> dict[str, list[Any]]:
        """A row per measure and shape, a column per property; ! marks what is claimed otherwise."""
        found: dict[tuple[str, str], dict[str, str]] = {}
        for row in self.rows:
            found.setdefault((row.measure, row.shape), {})[row.property] = _cell(row)
        properties = list(dict.fromkeys(row.property for row in self.rows))
        out: dict[str, list[Any]] = {
            "measure": [measure for measure, _ in found],
            "shape": [shape for _, shape in found],
        }
        out.update({p: [cells.get(p, "-") for cells in found.values()] for p in properties})
        return out

    def to_frame(self, backend: str | None = None) -> Any:
        """A row per measure, shape and property, as a pandas, polars or pyarrow frame."""
        return as_frame(self.columns(), backend)

    def to_dict(self) -> dict[str, Any]:
        return {
            "rows": [row.to_dict() for row in self.rows],
            "borne_out": bool(self),
            "notes": list(self.notes),
            "recipe": json_value(self.recipe),
        }

    def to_json(self) -> str:
        """Everything, with the witnesses, as JSON."""
        return json.dumps(self.to_dict())

    def to_markdown(self) -> str:
        """The table and what stands behind each cell, as Markdown."""
        return "\n".join(
            [f"# {self._title()}", "", *(f"{note}\n" for note in self._said()),
             as_markdown(self.table()), "", "## What was found", "",
             as_markdown(self.columns()), ""]
        )  # fmt: skip

    def save(self, folder: Any) -> Path:
        """Write audit.csv, audit.json and audit.md to a folder, which is made if need be."""
        import csv

        where = Path(folder)
        where.mkdir(parents=True, exist_ok=True)
        with (where / "audit.csv").open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(self.columns())
            rows = zip(*self.columns().values(), strict=True)
            writer.writerows([[shown(cell) for cell in row] for row in rows])
        (where / "audit.json").write_text(self.to_json(), encoding="utf-8")
        (where / "audit.md").write_text(self.to_markdown(), encoding="utf-8")
        return where

    def _title(self) -> str:
        n = len({(row.measure, row.shape) for row in self.rows})
        return f"Audit of {n} measure{'s' if n != 1 else ''}"

    def _said(self) -> tuple[str, ...]:
        claimed = [row for row in self.rows if row.claim is not None]
        wrong = tuple(f"! {row!r}" for row in self.disagreements)
        if not claimed:
            return (*wrong, *self.notes)
        borne_out = sum(row.agrees is True for row in claimed)
        return (f"{borne_out} of {len(claimed)} claims borne out", *wrong, *self.notes)

    def __repr__(self) -> str:
        said = "".join(f"  {line}\n" for line in self._said())
        few = {(row.measure, row.shape) for row in self.rows}
        text = f"{self._title()}\n{said}\n" + as_text(self.table(), indent="  ")
        if len(few) > 2:
            return text
        lines = "\n".join(f"  {row.property}: {row.sentence}" for row in self.rows)
        return f"{text}\n\n{lines}"

    def _repr_html_(self) -> str:
        return boxed(
            html_table(self.table(), self._title()),
            notes(self._said()),
            folded("What was found", html_table(self.columns())),
        )


def as_markdown(columns: dict[str, list[Any]]) -> str:
    """Columns as a Markdown table."""
    lines = ["| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
    for row in zip(*columns.values(), strict=True):
        cells = (shown(cell).replace("|", "\\|") for cell in row)
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _cell(row: AuditVerdict) -> str:
    if row.property == "bin_sensitivity":
        return f"{row.evidence['flips']:.0%}"
    return _WORDS[row.holds] + (" !" if row.agrees is False else "")
