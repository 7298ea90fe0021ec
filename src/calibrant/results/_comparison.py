"""Comparison: several predictors side by side, with what their order is worth."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from calibrant._core.errors import InputError, nearest
from calibrant._measures.catalogue import Shape, canonical
from calibrant.results._glossary import Entry, entry
from calibrant.results._notebook import boxed, folded, html_table, notes
from calibrant.results._reliability import ReliabilityTable
from calibrant.results._rendering import as_frame, as_text, json_value
from calibrant.results._robustness import RankRobustness
from calibrant.results._slices import Slices

if TYPE_CHECKING:
    from calibrant.results._plots.comparison import ComparisonDisplay

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Difference:
    """One measure of `first` less that of `second`, on the same rows.

    `value` is the difference of the sample's values. Each lies above its true one by an amount of
    its own; `estimate` is the difference without that bias, and the limits are about it. They come
    from resamples of the rows that are common to both, so they shrink as the two agree. `better`
    is None where the limits hold 0: the data do not tell the two apart.
    """

    measure: str
    first: str
    second: str
    value: float
    low: float
    high: float
    level: float
    better: str | None
    estimate: float = 0.0


@dataclass(frozen=True, eq=False)
class Comparison:
    """What `compare` found out.

    `values` has a row per predictor and a column per measure; `draws` the same, resampled: a list
    of arrays (predictors, resamples), one per measure.
    """

    names: tuple[str, ...]
    measures: tuple[str, ...]
    higher_is_better: tuple[bool, ...]
    values: Array
    draws: tuple[Array, ...]
    # Limits and estimate of each value, (predictors, measures, 3).
    limits: Array
    # Limits and estimate of each difference, (measures, predictors, predictors, 3).
    pairs: Array
    level: float
    robustness: RankRobustness | None
    slices: dict[str, Slices] | None
    inferred: tuple[str, ...]
    notes: tuple[str, ...]
    recipe: dict[str, Any]
    # Each predictor's bins, for the curves of all of them together.
    tables: tuple[ReliabilityTable, ...] = ()

    def value(self, name: str, measure: str) -> float:
        """One predictor's value of a measure."""
        return float(self.values[self._name(name), self._measure(measure)])

    def _name(self, name: str) -> int:
        if name not in self.names:
            raise InputError(f"no predictor is called {name!r}: {nearest(name, self.names)}")
        return self.names.index(name)

    def _measure(self, measure: str) -> int:
        measure = canonical(measure)
        if measure not in self.measures:
            hint = nearest(measure, self.measures)
            raise InputError(f"this comparison has no measure {measure!r}: {hint}")
        return self.measures.index(measure)

    def difference(self, first: str, second: str, measure: str = "ece") -> Difference:
        """How much larger a measure is for `first` than for `second`."""
        a, b, j = self._name(first), self._name(second), self._measure(measure)
        seen = float(self.values[a, j] - self.values[b, j])
        measure = self.measures[j]
        if a == b:
            return Difference(measure, first, second, 0.0, 0.0, 0.0, self.level, None)
        low, high, estimate = (float(x) for x in self.pairs[j, a, b])
        better = None
        if low > 0 or high < 0:
            better = first if (low > 0) == self.higher_is_better[j] else second
        return Difference(measure, first, second, seen, low, high, self.level, better, estimate)

    def intervals(self, measure: str = "ece") -> dict[str, list[Any]]:
        """Each predictor's value with limits of its true value, best first.

        A sample's error lies above the true one, so a value may be above its `high`; `estimate` is
        the value without that bias.
        """
        j = self._measure(measure)
        order = [self.names.index(name) for name in self.order(measure)]
        limits = self.limits[:, j]
        return {
            "predictor": [self.names[i] for i in order],
            measure: [float(self.values[i, j]) for i in order],
            "low": [float(limits[i, 0]) for i in order],
            "high": [float(limits[i, 1]) for i in order],
            "estimate": [float(limits[i, 2]) for i in order],
        }

    def differences(self, measure: str = "ece", reference: str | None = None) -> list[Difference]:
        """Every predictor less the reference, by default the best one; best first."""
        order = self.order(measure)
        base = order[0] if reference is None else reference
        return [self.difference(name, base, measure) for name in order if name != base]

    def order(self, measure: str = "ece") -> list[str]:
        """Names from the best to the worst."""
        ranks = self._ranks(self.values[:, self._measure(measure)][:, None], measure)[:, 0]
        return [self.names[i] for i in np.argsort(ranks, kind="stable")]

    def ranking(self, measure: str = "ece") -> dict[str, list[Any]]:
        """Ranks with their uncertainty: a row per predictor, best first.

        `rank_low` and `rank_high` hold the rank in all but the extreme resamples; `best` is the
        share of resamples in which the predictor comes first.
        """
        j = self._measure(measure)
        drawn = self._ranks(self.draws[j], measure)
        tail = (1.0 - self.level) / 2.0
        low, high = np.quantile(drawn, [tail, 1.0 - tail], axis=1, method="nearest")
        ranks = self._ranks(self.values[:, j][:, None], measure)[:, 0]
        order = np.argsort(ranks, kind="stable")
        return {
            "predictor": [self.names[i] for i in order],
            measure: [float(self.values[i, j]) for i in order],
            "rank": [int(ranks[i]) for i in order],
            "rank_low": [int(low[i]) for i in order],
            "rank_high": [int(high[i]) for i in order],
            "best": [float((drawn[i] == 1).mean()) for i in order],
        }

    def _ranks(self, values: Array, measure: str) -> NDArray[np.int64]:
        """1 for the best, along the first axis; equal values share the better rank."""
        signed = -values if self.higher_is_better[self._measure(measure)] else values
        smaller: NDArray[np.int64] = (signed[None] < signed[:, None]).sum(axis=1)
        return smaller + 1

    def columns(self) -> dict[str, list[Any]]:
        """A row per predictor: every measure."""
        columns: dict[str, list[Any]] = {"predictor": list(self.names)}
        for j, measure in enumerate(self.measures):
            columns[measure] = self.values[:, j].tolist()
        return columns

    def to_frame(self, backend: str | None = None) -> Any:
        """A row per predictor, as a pandas, polars or pyarrow frame."""
        return as_frame(self.columns(), backend)

    def to_dict(self) -> dict[str, Any]:
        return {
            "values": json_value(self.columns()),
            "rankings": {m: json_value(self.ranking(m)) for m in self.measures},
            "differences": {
                m: [json_value(vars(d)) for d in self.differences(m)] for m in self.measures
            },
            "robustness": None if self.robustness is None else self.robustness.to_dict(),
            "slices": (
                None if self.slices is None
                else {name: part.to_dict() for name, part in self.slices.items()}
            ),
            "inferred": list(self.inferred),
            "notes": list(self.notes),
            "recipe": json_value(self.recipe),
        }  # fmt: skip

    def to_json(self) -> str:
        return json.dumps(self.to_dict())

    def plot(
        self,
        *,
        ax: Any = None,
        kind: str = "values",
        measures: Sequence[str] | None = None,
        cap: int = 30,
    ) -> ComparisonDisplay:
        """The predictors, best first: their "values", "ranks" or "differences" from the best, each
        with its uncertainty, on `ax` or a new figure. Needs matplotlib.
        """
        from calibrant.results._plots.comparison import ComparisonDisplay

        return ComparisonDisplay(self).plot(ax=ax, kind=kind, measures=measures, cap=cap)

    @property
    def glossary(self) -> tuple[Entry, ...]:
        """What the catalogue says of the measures."""
        shape: Shape = "binary" if "binary" in self.inferred[0] else "multiclass"
        return tuple(entry(name, shape) for name in self.measures)

    def to_html(self, *, name: str | None = None, source: Any = None) -> str:
        """The comparison page as one text. Needs `pip install 'calibrant[report]'`."""
        from calibrant.results._pages.comparison_page import comparison_page

        return comparison_page(self, name, source)

    def save(
        self, path: str | os.PathLike[str], *, name: str | None = None, source: Any = None
    ) -> Path:
        """Write the comparison page: one HTML file that needs nothing else.

        `name` is its title; `source` tells where the rows come from, as for `report`.
        """
        from calibrant.results._pages.write import write_page

        return write_page(path, lambda: self.to_html(name=name, source=source))

    def chart(self) -> Any:
        """Values with intervals, the measure chosen from a list, for notebooks. Needs Altair."""
        from calibrant.results._plots.notebook_charts import comparison_chart

        return comparison_chart(self)

    def ranked(self, measure: str) -> dict[str, list[Any]]:
        """The ranking, with the difference from the best one beside it."""
        columns = self.ranking(measure)
        found = {d.first: d for d in self.differences(measure)}
        names = columns["predictor"]
        columns["ranks"] = [
            f"{a}" if a == b else f"{a} to {b}"
            for a, b in zip(columns.pop("rank_low"), columns.pop("rank_high"), strict=True)
        ]
        columns["behind_best"] = [found[n].value if n in found else math.nan for n in names]
        columns["low"] = [found[n].low if n in found else math.nan for n in names]
        columns["high"] = [found[n].high if n in found else math.nan for n in names]
        return columns

    def __repr__(self) -> str:
        said = "\n".join(f"  {line}" for line in (*self.inferred, *self.notes))
        head = f"Comparison of {len(self.names)} predictors on {self.recipe['n']} rows\n{said}\n\n"
        parts = [as_text(self.columns(), indent="  ")]
        main = self.measures[0]
        parts.append(f"Ranks by {main}\n" + as_text(self.ranked(main), indent="  "))
        if self.robustness is not None:
            parts.append(
                f"{self.robustness.caption}\n" + as_text(self.robustness.table(), indent="  ")
            )
        return head + "\n\n".join(parts)

    def _repr_html_(self) -> str:
        main = self.measures[0]
        n = f"{len(self.names)} predictors on {self.recipe['n']} rows"
        parts = [
            html_table(self.columns(), f"Comparison of {n}"),
            notes((*self.inferred, *self.notes)),
            html_table(self.ranked(main), f"Ranks by {main}"),
        ]
        if self.robustness is not None:
            parts.append(folded(self.robustness.caption, html_table(self.robustness.table())))
        return boxed(*parts)
