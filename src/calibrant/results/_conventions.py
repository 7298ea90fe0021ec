"""Conventions: what each well-known tool would say, and why they differ."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from calibrant.results._notebook import boxed, html_table
from calibrant.results._rendering import as_frame, as_text, json_value


@dataclass(frozen=True)
class Convention:
    """One tool's answer: with its own default number of bins, and with a common one."""

    tool: str
    version: str
    default_bins: int
    at_default: float | None
    at_common: float | None
    answer: str
    rule: str
    why: str


@dataclass(frozen=True)
class Conventions:
    """The same data through every tool's eyes, Calibrant's own definition first."""

    rows: tuple[Convention, ...]
    bins: int
    notion: str

    def columns(self) -> dict[str, list[Any]]:
        return {
            "tool": [row.tool for row in self.rows],
            "version": [row.version for row in self.rows],
            "its_bins": [row.default_bins for row in self.rows],
            "with_its_bins": [row.at_default for row in self.rows],
            f"with_{self.bins}_bins": [row.at_common for row in self.rows],
            "answer": [row.answer for row in self.rows],
            "rule": [row.rule for row in self.rows],
            "why": [row.why for row in self.rows],
        }

    def to_frame(self, backend: str | None = None) -> Any:
        return as_frame(self.columns(), backend)

    def to_dict(self) -> dict[str, Any]:
        return {"bins": self.bins, "notion": self.notion, "tools": json_value(self.columns())}

    def to_json(self) -> str:
        return json.dumps(self.to_dict())

    def __repr__(self) -> str:
        short = {k: v for k, v in self.columns().items() if k not in ("rule", "why", "version")}
        why = "\n".join(f"  {row.tool}: {row.why}" for row in self.rows)
        return f"Conventions ({self.notion})\n{as_text(short, indent='  ')}\n\n{why}"

    def _repr_html_(self) -> str:
        columns = self.columns()
        rules = columns.pop("rule")
        tips = {"tool": rules, "why": rules}
        return boxed(html_table(columns, f"Conventions ({self.notion})", tips=tips))
