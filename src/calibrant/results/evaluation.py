"""Evaluation: every measure that applies, with what was inferred and how to get it again."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from calibrant.errors import InputError, nearest
from calibrant.results.reliability import ReliabilityTable
from calibrant.results.rendering import as_frame, as_html, as_text, json_value


@dataclass(frozen=True)
class Estimate:
    """One measure's value, with the recipe that gave it."""

    name: str
    value: float
    title: str
    notion: str
    rule: str
    truthful: bool | None
    higher_is_better: bool = False

    def __float__(self) -> float:
        return self.value


@dataclass(frozen=True, eq=False)
class Evaluation:
    """What `evaluate` found out.

    Look a value up by name: ``evaluation["ece"]``. `inferred` says what the input was taken for,
    `notes` what was clipped or tolerated, `recipe` the options that give the same numbers again.
    """

    estimates: tuple[Estimate, ...]
    reliability: ReliabilityTable
    classes: dict[str, list[Any]] | None
    inferred: tuple[str, ...]
    notes: tuple[str, ...]
    recipe: dict[str, Any]

    def __getitem__(self, name: str) -> float:
        for estimate in self.estimates:
            if estimate.name == name:
                return estimate.value
        known = [estimate.name for estimate in self.estimates]
        raise InputError(f"this evaluation has no measure {name!r}: {nearest(name, known)}")

    def __contains__(self, name: object) -> bool:
        return any(estimate.name == name for estimate in self.estimates)

    @property
    def values(self) -> dict[str, float]:
        """Every measure's value by name."""
        return {estimate.name: estimate.value for estimate in self.estimates}

    def columns(self) -> dict[str, list[Any]]:
        return {
            "measure": [e.name for e in self.estimates],
            "value": [e.value for e in self.estimates],
            "notion": [e.notion for e in self.estimates],
            "bins": [e.rule for e in self.estimates],
            "truthful": [e.truthful for e in self.estimates],
            "title": [e.title for e in self.estimates],
        }

    def to_frame(self, backend: str | None = None) -> Any:
        """A row per measure, as a pandas, polars or pyarrow frame."""
        return as_frame(self.columns(), backend)

    def to_dict(self) -> dict[str, Any]:
        return {
            "measures": [
                {
                    "name": e.name,
                    "value": json_value(e.value),
                    "title": e.title,
                    "notion": e.notion,
                    "bins": e.rule or None,
                    "truthful": e.truthful,
                    "higher_is_better": e.higher_is_better,
                }
                for e in self.estimates
            ],
            "reliability": self.reliability.to_dict(),
            "classes": json_value(self.classes),
            "inferred": list(self.inferred),
            "notes": list(self.notes),
            "recipe": json_value(self.recipe),
        }

    def to_json(self) -> str:
        """Everything but the samples, as JSON."""
        return json.dumps(self.to_dict())

    def __repr__(self) -> str:
        said = "\n".join(f"  {line}" for line in (*self.inferred, *self.notes))
        short = {k: v for k, v in self.columns().items() if k != "title"}
        return f"Evaluation of {self.recipe['n']} rows\n{said}\n\n" + as_text(short, indent="  ")

    def _repr_html_(self) -> str:
        import html

        said = "".join(f"<li>{html.escape(line)}</li>" for line in (*self.inferred, *self.notes))
        return (
            as_html(self.columns(), f"Evaluation of {self.recipe['n']} rows")
            + f"<ul>{said}</ul>"
            + self.reliability._repr_html_()
        )
