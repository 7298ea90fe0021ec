"""Check: whether limits are kept, in a word, a sentence and a code."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import Any, Literal

from calibrant.results.rendering import as_html, as_text, json_value
from calibrant.results.uncertainty import Interval

Verdict = Literal["pass", "fail", "undecided"]
CODES: dict[Verdict, int] = {"pass": 0, "fail": 1, "undecided": 2}
# More rows than this are not a piece of advice.
MOST_ROWS = 1e12
# Resampling fewer rows than these says little about the rows that were not seen.
FEWEST_ROWS = 30


@dataclass(frozen=True)
class Limit:
    """The largest or the smallest value that a measure may have."""

    measure: str
    kind: Literal["max", "min"]
    value: float

    def __str__(self) -> str:
        return f"{self.measure} {'<=' if self.kind == 'max' else '>='} {self.value:g}"

    def kept_by(self, low: float, high: float) -> Verdict:
        """Whether all values between two keep the limit, none does, or some do; NaN: some."""
        worst, best = (high, low) if self.kind == "max" else (-low, -high)
        limit = self.value if self.kind == "max" else -self.value
        if worst <= limit:
            return "pass"
        return "fail" if best > limit else "undecided"


@dataclass(frozen=True)
class Limited:
    """One limit held against all rows, or against a slice.

    `interval` is of the measure's true value; None where the value alone was looked at, or where
    `reason` says why there is nothing to look at. `n_worth` is how many equal rows the rows are
    worth, weights and clusters reckoned with; a pass needs `n_to_pass` of them.
    """

    limit: Limit
    where: str | None
    n: int
    value: float
    interval: Interval | None
    reason: str = ""
    n_worth: float = math.inf
    n_to_pass: int = 0

    @property
    def too_few(self) -> bool:
        """Whether the interval looks decided, but there are too few rows to believe it."""
        return self.interval is not None and (
            self.n_worth < FEWEST_ROWS
            or (self.n_worth < self.n_to_pass and self._of_interval(self.interval) == "pass")
        )

    @property
    def verdict(self) -> Verdict:
        if self.reason or math.isnan(self.value) or self.too_few:
            return "undecided"
        if self.interval is None:
            return self.limit.kept_by(self.value, self.value)
        return self._of_interval(self.interval)

    def _of_interval(self, interval: Interval) -> Verdict:
        return self.limit.kept_by(interval.low, interval.high)

    @property
    def rows_needed(self) -> int | None:
        """About how many rows would decide, as intervals shrink with the root of their number."""
        found = self.interval
        if found is None or self.verdict != "undecided":
            return None
        if self.too_few:
            return max(FEWEST_ROWS, self.n_to_pass)
        centre = (found.low + found.high) / 2 if found.estimate is None else found.estimate
        far = self.limit.value - centre
        end = found.high if far > 0 else found.low
        needed = self.n * ((end - centre) / far) ** 2 if far else math.inf
        if not self.n < needed < MOST_ROWS:
            return None
        step = (
            int(10 ** (int(math.log10(needed)) - 1)) or 1
        )  # two digits: it is no more exact than that
        return step * math.ceil(needed / step)

    @property
    def sentence(self) -> str:
        about = f"{self.where}: " if self.where else ""
        return f"{about}{self.verdict}, {self.limit}: {self._because()}"

    def _because(self) -> str:
        seen = f"it is {self.value:.4f} on {self.n:,} rows"
        if self.reason or math.isnan(self.value):
            return self.reason or "it cannot be computed"
        if self.interval is None:
            return f"{seen}; noise was not reckoned with"
        low, high, level = self.interval.low, self.interval.high, 100 * self.interval.level
        said = f"{seen}, and its true value lies between {low:.4f} and {high:.4f} ({level:.4g}%)"
        if self.verdict != "undecided":
            return said
        needed = self.rows_needed
        if self.too_few:
            return f"{said}; but {self.n_worth:,.0f} rows are too few to tell, {needed:,} would do"
        return said + (f"; about {needed:,} rows would tell" if needed else "; too close to tell")


@dataclass(frozen=True, eq=False)
class Check:
    """What `check` found out: `verdict` is "pass", "fail" or "undecided", `code` is 0, 1 or 2."""

    parts: tuple[Limited, ...]
    n: int
    n_missing: int
    level: float | None
    point: bool

    @property
    def verdict(self) -> Verdict:
        found = {part.verdict for part in self.parts}
        if "fail" in found:
            return "fail"
        return "pass" if found == {"pass"} else "undecided"

    @property
    def code(self) -> int:
        return CODES[self.verdict]

    def columns(self) -> dict[str, list[Any]]:
        parts, nan = self.parts, math.nan
        out: dict[str, list[Any]] = {"limit": [str(part.limit) for part in parts]}
        if any(part.where for part in parts):
            out["rows of"] = [part.where or "all" for part in parts]
        out |= {"n": [part.n for part in parts], "value": [part.value for part in parts]}
        if not self.point:
            out["low"] = [part.interval.low if part.interval else nan for part in parts]
            out["high"] = [part.interval.high if part.interval else nan for part in parts]
        return {**out, "verdict": [part.verdict for part in parts]}

    def to_dict(self) -> dict[str, Any]:
        return {
            "verdict": self.verdict,
            "code": self.code,
            "n": self.n,
            "n_missing": self.n_missing,
            "level": self.level,
            "point": self.point,
            "limits": [
                {
                    "measure": part.limit.measure,
                    part.limit.kind: part.limit.value,
                    "slice": part.where,
                    "n": part.n,
                    "value": json_value(part.value),
                    "interval": part.interval.to_dict() if part.interval else None,
                    "verdict": part.verdict,
                    "rows_needed": part.rows_needed,
                    "sentence": part.sentence,
                }
                for part in self.parts
            ],
        }

    def to_json(self) -> str:
        return json.dumps(self.to_dict())

    def __repr__(self) -> str:
        return f"Check: {self.verdict}\n{as_text(self.columns(), indent='  ')}"

    def _repr_html_(self) -> str:
        return as_html(self.columns(), f"Check: {self.verdict}")
