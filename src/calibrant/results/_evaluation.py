"""Evaluation: every measure that applies, with what was inferred and how to get it again."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from calibrant._core.errors import InputError, nearest
from calibrant._measures.catalogue import canonical
from calibrant.results._notebook import boxed, folded, html_table, notes, side_by_side
from calibrant.results._reliability import ReliabilityTable
from calibrant.results._rendering import as_frame, as_text, json_value, percent, shown

if TYPE_CHECKING:
    from calibrant.results._plots.reliability import ReliabilityDisplay
    from calibrant.results._slices import Slices
    from calibrant.results._uncertainty import Interval, NoiseFloor, Verdict


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
    interval: Interval | None = None
    noise_floor: NoiseFloor | None = None

    def __float__(self) -> float:
        return self.value

    @property
    def estimate(self) -> float:
        """The value without the bias of a sample; NaN where it is not known."""
        found = None if self.interval is None else self.interval.estimate
        return math.nan if found is None else found


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
    verdict: Verdict | None = None
    slices: Slices | None = None

    def estimate(self, name: str) -> Estimate:
        """One measure with its recipe, interval and noise floor."""
        own = canonical(name)
        for estimate in self.estimates:
            if estimate.name == own:
                return estimate
        known = [estimate.name for estimate in self.estimates]
        raise InputError(f"this evaluation has no measure {name!r}: {nearest(name, known)}")

    def __getitem__(self, name: str) -> float:
        return self.estimate(name).value

    def __contains__(self, name: object) -> bool:
        own = canonical(name)
        return any(estimate.name == own for estimate in self.estimates)

    @property
    def values(self) -> dict[str, float]:
        """Every measure's value by name."""
        return {estimate.name: estimate.value for estimate in self.estimates}

    def columns(self) -> dict[str, list[Any]]:
        return {
            "measure": [e.name for e in self.estimates],
            "value": [e.value for e in self.estimates],
            **self._worth_columns(),
            "notion": [e.notion for e in self.estimates],
            "bins": [e.rule for e in self.estimates],
            "truthful": [e.truthful for e in self.estimates],
            "title": [e.title for e in self.estimates],
        }

    def _worth_columns(self) -> dict[str, list[Any]]:
        """The estimate without bias, limits of the true value and the noise floor, where they were
        asked for.
        """
        nan = math.nan
        if not any(e.interval or e.noise_floor for e in self.estimates):
            return {}
        return {
            "estimate": [e.estimate for e in self.estimates],
            "low": [e.interval.low if e.interval else nan for e in self.estimates],
            "high": [e.interval.high if e.interval else nan for e in self.estimates],
            "noise_mean": [e.noise_floor.mean if e.noise_floor else nan for e in self.estimates],
            "noise_95": [e.noise_floor.upper if e.noise_floor else nan for e in self.estimates],
            "p_value": [e.noise_floor.p_value if e.noise_floor else nan for e in self.estimates],
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
                    "estimate": json_value(e.estimate),
                    "title": e.title,
                    "notion": e.notion,
                    "bins": e.rule or None,
                    "truthful": e.truthful,
                    "higher_is_better": e.higher_is_better,
                    "interval": e.interval.to_dict() if e.interval else None,
                    "noise_floor": e.noise_floor.to_dict() if e.noise_floor else None,
                }
                for e in self.estimates
            ],
            "reliability": self.reliability.to_dict(self.recipe.get("level")),
            "classes": json_value(self.classes),
            "inferred": list(self.inferred),
            "notes": list(self.notes),
            "recipe": json_value(self.recipe),
            "verdict": self.verdict.to_dict() if self.verdict else None,
            "slices": self.slices.to_dict() if self.slices else None,
        }

    def to_json(self) -> str:
        """Everything but the samples, as JSON."""
        return json.dumps(self.to_dict())

    def plot(
        self, *, ax: Any = None, name: str | None = None, level: float | None = 0.95
    ) -> ReliabilityDisplay:
        """The reliability diagram, on `ax` or a new figure, with intervals. Needs matplotlib."""
        return self.reliability.plot(ax=ax, name=name, level=level)

    def chart(self, *, level: float = 0.95) -> Any:
        """The reliability diagram as an interactive Altair chart, for notebooks. Needs Altair."""
        return self.reliability.chart(level=level)

    def __repr__(self) -> str:
        said = "\n".join(f"  {line}" for line in self._said())
        short = {k: v for k, v in self.columns().items() if k != "title"}
        slices = f"\n\n{self.slices!r}" if self.slices else ""
        head = f"Evaluation of {self.recipe['n']} rows\n{said}\n\n"
        return head + as_text(short, indent="  ") + slices

    def _said(self) -> tuple[str, ...]:
        verdict = (str(self.verdict),) if self.verdict else ()
        return (*verdict, *self.inferred, *self.notes)

    def _repr_html_(self) -> str:
        columns = self.columns()
        titles = columns.pop("title")
        level = self.recipe.get("level", 0.95)
        measures = html_table(_short(columns, level), "", tips={"measure": titles})
        bins = html_table(self.reliability.display_columns(level))
        head = f"<p>Evaluation of {self.recipe['n']:,} rows</p>{notes(self._said())}"
        parts = [
            side_by_side(self.reliability.sketch(level), head),
            measures,
            folded(f"Reliability: {self.reliability.title}", bins),
        ]
        if self.classes is not None:
            n = len(self.classes["class"])
            parts.append(folded(f"{n} classes, worst first", html_table(self.classes)))
        if self.slices is not None:
            slices = html_table(self.slices.display_columns()) + notes(self.slices.notes)
            parts.append(folded(self.slices.title, slices))
        return boxed(*parts)


def _short(columns: dict[str, list[Any]], level: float) -> dict[str, list[Any]]:
    """The measures in as few columns as a notebook has room for."""
    out = dict(columns)
    if "low" in out:
        limits = zip(out.pop("low"), out.pop("high"), strict=True)
        said = [f"{shown(low)} to {shown(high)}" if low == low else "" for low, high in limits]
        noise, p = out.pop("noise_95"), out.pop("p_value")
        del out["noise_mean"]
        first = {name: out.pop(name) for name in ("measure", "value", "estimate")}
        out = {**first, f"{percent(level)} CI": said, "noise_95": noise, "p_value": p, **out}
    return out
