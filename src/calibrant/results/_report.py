"""Report: everything that the report page shows, as data."""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from calibrant.results._conventions import Conventions
from calibrant.results._evaluation import Evaluation
from calibrant.results._glossary import Entry
from calibrant.results._reliability import ReliabilityTable
from calibrant.results._rendering import json_value
from calibrant.results._smooth_curve import SmoothCurve


@dataclass(frozen=True, eq=False)
class BinView:
    """One problem in every number of bins: a table for each of `counts`, by rule.

    `values` has the measures of those tables, by rule and name, in the order of `counts`.
    """

    labels: str
    counts: tuple[int, ...]
    tables: dict[str, tuple[ReliabilityTable, ...]]
    values: dict[str, dict[str, list[float]]]
    curve: SmoothCurve

    def table(self, rule: str, m: int) -> ReliabilityTable:
        """The table of a rule ("equal-width" or "quantile") and a number of bins."""
        return self.tables[rule][self.counts.index(m)]

    def to_dict(self, level: float) -> dict[str, Any]:
        return {
            "labels": self.labels,
            "counts": list(self.counts),
            "tables": {
                rule: [table.to_dict(level) for table in tables]
                for rule, tables in self.tables.items()
            },
            "values": json_value(self.values),
            "curve": self.curve.to_dict(),
        }


@dataclass(frozen=True)
class BinSensitivity:
    """One measure over numbers of bins, by one rule."""

    measure: str
    rule: str
    counts: tuple[int, ...]
    values: tuple[float, ...]


@dataclass(frozen=True)
class Change:
    """One measure on the held-out half, before and after recalibration.

    `low` and `high` are limits of the change (after less before) from common resamples; None for
    errors over bins, which have limits of their own instead.
    """

    measure: str
    before: float
    after: float
    low: float | None = None
    high: float | None = None
    before_limits: tuple[float, float] | None = None
    after_limits: tuple[float, float] | None = None
    after_noise_95: float | None = None


@dataclass(frozen=True, eq=False)
class BeforeAfter:
    """What recalibration does: a map chosen and fitted on one half of the rows, measured on the
    other. `why` says how it was chosen, `tried` the Brier scores by which, `outcome` whether it
    helps on the measured half.
    """

    method: str
    learned: str
    split: str
    n_fitted: int
    n_measured: int
    changes: tuple[Change, ...]
    before: ReliabilityTable
    after: ReliabilityTable
    notes: tuple[str, ...] = ()
    why: str = ""
    tried: dict[str, float] = field(default_factory=dict)
    outcome: str = ""

    def to_dict(self, level: float) -> dict[str, Any]:
        return {
            "method": self.method,
            "learned": self.learned,
            "why": self.why,
            "tried": json_value(self.tried),
            "outcome": self.outcome,
            "split": self.split,
            "n_fitted": self.n_fitted,
            "n_measured": self.n_measured,
            "changes": [json_value(vars(change)) for change in self.changes],
            "before": self.before.to_dict(level),
            "after": self.after.to_dict(level),
            "notes": list(self.notes),
        }


def spoken(method: str) -> str:
    """A map's name as people say it: Platt scaling."""
    first, *rest = re.findall(r"[A-Z][a-z]+", method) or [method]
    return " ".join([first, *map(str.lower, rest)])


@dataclass(frozen=True, eq=False)
class Report:
    """What `report` found out, and its page.

    `evaluation` has every measure with its interval and noise floor. `save(path)` writes one HTML
    file that needs nothing else; `to_html()` is its text.
    """

    name: str
    answer: str
    sentences: tuple[str, ...]
    evaluation: Evaluation
    headlines: tuple[str, ...]
    groups: tuple[tuple[str, str, tuple[str, ...]], ...]
    views: tuple[BinView, ...]
    sensitivity: tuple[BinSensitivity, ...]
    before_after: BeforeAfter | None
    conventions: Conventions | None
    glossary: tuple[Entry, ...]
    # What is not on the page, and why.
    absent: dict[str, str]
    recipe: dict[str, Any]

    @property
    def level(self) -> float:
        return float(self.recipe["options"]["level"])

    def to_dict(self) -> dict[str, Any]:
        tools, change = self.conventions, self.before_after
        return {
            "name": self.name,
            "answer": self.answer,
            "sentences": list(self.sentences),
            "evaluation": self.evaluation.to_dict(),
            "headlines": list(self.headlines),
            "groups": [
                {"title": title, "what": what, "measures": list(names)}
                for title, what, names in self.groups
            ],
            "views": [view.to_dict(self.level) for view in self.views],
            "sensitivity": [json_value(vars(part)) for part in self.sensitivity],
            "before_after": change.to_dict(self.level) if change else None,
            "conventions": tools.to_dict() if tools else None,
            "glossary": [json_value(vars(entry)) for entry in self.glossary],
            "absent": self.absent,
            "recipe": json_value(self.recipe),
        }

    def to_json(self) -> str:
        """Everything on the page but its looks."""
        return json.dumps(self.to_dict())

    def to_html(self) -> str:
        """The page as one text. Needs `pip install 'calibrant[report]'`."""
        from calibrant.results._pages.report_page import report_page

        return report_page(self)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the page; an interruption leaves the old file or the new one, whole."""
        from calibrant.results._pages.write import write_page

        return write_page(path, self.to_html)

    def __repr__(self) -> str:
        said = "\n".join(f"  {line}" for line in (self.answer, *self.sentences))
        rows = self.evaluation.recipe["n"]
        return f"Report on {self.name!r}, {rows:,} rows\n{said}\n  save(path) writes the page"

    def _repr_html_(self) -> str:
        return self.evaluation._repr_html_()
