"""Check: whether limits are kept, in a word, a sentence and a code."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from typing import Any, Literal

from calibrant._measures.gap_scale import GapScale
from calibrant.results._rendering import as_html, as_text, in_full, json_value, percent, told_apart
from calibrant.results._uncertainty import Interval

Verdict = Literal["pass", "fail", "undecided"]
CODES: dict[Verdict, int] = {"pass": 0, "fail": 1, "undecided": 2}
# More rows than this are not a piece of advice.
MOST_ROWS = 1e12
# Of samples at which an interval just fits half do not: with twice as many rows, most do.
MARGIN = 2.0
# Resampling fewer rows than these says little about the rows that were not seen.
FEWEST_ROWS = 30


@dataclass(frozen=True)
class Limit:
    """The largest or the smallest value that a measure may have."""

    measure: str
    kind: Literal["max", "min"]
    value: float

    def __str__(self) -> str:
        return f"{self.measure} {'<=' if self.kind == 'max' else '>='} {in_full(self.value)}"

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
    `reason` says why there is nothing to look at. `joint` is the interval that a fail needs where
    there are several limits or slices: wide enough that all of them together fail as seldom as one
    alone would. `effective_n` is how many equal rows these are worth, weights and clusters taken
    into account; a pass needs `n_to_pass` of them. `scale` turns values into gaps.
    """

    limit: Limit
    where: str | None
    n: int
    value: float
    interval: Interval | None
    reason: str = ""
    effective_n: float = math.inf
    n_to_pass: int = 0
    scale: GapScale = field(default_factory=GapScale)
    joint: Interval | None = None
    n_clusters: int | None = None
    # What is taken for the true gap when rows needed are asked for (None: the estimate's), and how
    # far up an interval of as many rows usually reaches (0: as far as this one).
    centre: float | None = None
    reach: float = 0.0

    @property
    def too_few(self) -> bool:
        """Whether the interval looks decided, but there are too few rows to believe it."""
        return self.interval is not None and (
            self.effective_n < FEWEST_ROWS
            or (self.effective_n < self.n_to_pass and self._of_intervals(self.interval) == "pass")
        )

    @property
    def verdict(self) -> Verdict:
        if self.reason or math.isnan(self.value) or self.too_few:
            return "undecided"
        if self.interval is None:
            return self.limit.kept_by(self.value, self.value)
        return self._of_intervals(self.interval)

    def _of_intervals(self, interval: Interval) -> Verdict:
        found = self.limit.kept_by(interval.low, interval.high)
        if found == "fail" and self.joint is not None:
            together = self.limit.kept_by(self.joint.low, self.joint.high)
            return "fail" if together == "fail" else "undecided"
        return found

    @property
    def _growth(self) -> float | None:
        """How many times as many rows would decide; None where that cannot be said.

        On the scale of a gap an interval shrinks with the root of n, whatever the power of the
        measure; with its own rate where it reaches 0.
        """
        found = self.interval
        if found is None or self.verdict != "undecided":
            return None
        if self.too_few:
            return max(FEWEST_ROWS, self.n_to_pass) / self.effective_n
        if self.joint is not None:
            found = self.joint if self.limit.kept_by(found.low, found.high) == "fail" else found
        gap = self.scale.gap
        low, high, limit = gap(found.low), gap(found.high), gap(self.limit.value)
        middle = (low + high) / 2 if low > 0 else 0.0
        centre = middle if found.estimate is None else gap(found.estimate)
        centre = centre if self.centre is None else self.centre
        far = limit - centre
        end = max(high, self.reach) if far > 0 else low
        rate = self.scale.rate if low <= 0 else 0.5
        growth = MARGIN * ((end - centre) / far) ** (1.0 / rate) if far else math.inf
        if (far > 0) == (self.limit.kind == "max"):
            growth = max(growth, self.n_to_pass / self.effective_n)
        return growth if growth > 1 and growth * self.n < MOST_ROWS else None

    @property
    def rows_needed(self) -> int | None:
        """About how many rows would decide, in most samples of that size."""
        return self._needed(self.n)

    @property
    def clusters_needed(self) -> int | None:
        """As `rows_needed`, in clusters like these; None where rows are not in clusters."""
        return None if self.n_clusters is None else self._needed(self.n_clusters)

    def _needed(self, n: int) -> int | None:
        growth = self._growth
        if growth is None:
            return None
        needed = growth * n
        if self.too_few:
            return math.ceil(needed * (1 - 1e-12))
        # Two digits: it is no more exact than that.
        step = int(10 ** (int(math.log10(needed)) - 1)) or 1
        return step * math.ceil(needed / step)

    @property
    def sentence(self) -> str:
        about = f"{self.where}: " if self.where else ""
        return f"{about}{self.verdict}, {self.limit}: {self._because()}"

    def _because(self) -> str:
        if self.reason or math.isnan(self.value):
            return self.reason or "it cannot be computed"
        found = self.interval
        if found is None:
            value = told_apart((self.value,), (self.limit.value,))[0]
            return f"it is {value} on {self.n:,} rows; no interval was computed"
        value, low, high = told_apart((self.value, found.low, found.high), (self.limit.value,))
        said = f"it is {value} on {self.n:,} rows, {percent(found.level)} CI {low} to {high}"
        if found.comment:
            said = f"{said} ({found.comment})"
        if self.joint is not None:
            low, high = told_apart((self.joint.low, self.joint.high), (self.limit.value,))
            level = percent(self.joint.level)
            said = f"{said}; at {level}, for the number of limits and slices, {low} to {high}"
        if self.verdict != "undecided":
            return said
        needed = self.needed_text
        if self.too_few:
            few = f"{self.effective_n:,.0f} {'rows' if self.n_clusters is None else 'clusters'}"
            return f"{said}; but {few} are too few to tell, {needed} would do"
        return said + (f"; about {needed} would tell" if needed else "; too close to tell")

    @property
    def needed_text(self) -> str:
        """How much data would decide, in words; empty where that cannot be said."""
        rows, clusters = self.rows_needed, self.clusters_needed
        if rows is None:
            return ""
        return f"{rows:,} rows" + (f" in {clusters:,} clusters like these" if clusters else "")


@dataclass(frozen=True, eq=False)
class Check:
    """What `check` found out: `verdict` is "pass", "fail" or "undecided", `code` is 0, 1 or 2.

    Only a pass is true, so that ``assert check(...)`` fails on a fail and where noise decides.
    """

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

    def __bool__(self) -> bool:
        return self.verdict == "pass"

    def columns(self) -> dict[str, list[Any]]:
        parts, nan = self.parts, math.nan
        out: dict[str, list[Any]] = {"limit": [str(part.limit) for part in parts]}
        if any(part.where for part in parts):
            out["rows of"] = [part.where or "all" for part in parts]
        out |= {"n": [part.n for part in parts], "value": [part.value for part in parts]}
        if not self.point:
            out["estimate"] = [_estimate(part.interval) for part in parts]
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
                    "joint_interval": part.joint.to_dict() if part.joint else None,
                    "rows_needed": part.rows_needed,
                    "clusters_needed": part.clusters_needed,
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


def _estimate(interval: Interval | None) -> float:
    return math.nan if interval is None or interval.estimate is None else interval.estimate
