"""RankRobustness: whether an error keeps its order of predictors, row by row."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from calibrant.results._rendering import as_frame, as_html, as_text, json_value

if TYPE_CHECKING:
    from calibrant.results._plots.robustness import RankRobustnessDisplay

Relation = Literal["loss", "bins", "dominance"]


@dataclass(frozen=True)
class RankCorrelation:
    """One rank correlation of an error: with a loss, with itself at other bins, or with dominance.

    `value` and `margin` are None where there is nothing to rank: a constant column, or a single
    predictor. `n` counts the predictors that were ranked.
    """

    measure: str
    relation: Relation
    first: str
    second: str
    value: float | None
    margin: float | None
    n: int


@dataclass(frozen=True)
class RankRobustness:
    """What `rank_robustness` found out.

    `chain` holds the rows of the maximum dominance set from the best predictor to the worst.
    """

    rows: tuple[RankCorrelation, ...]
    chain: tuple[int, ...]
    names: tuple[str, ...] | None
    n: int

    def select(
        self, *, measure: str | None = None, relation: Relation | None = None
    ) -> tuple[RankCorrelation, ...]:
        """The rows of one measure, of one relation, or of both."""
        return tuple(
            row
            for row in self.rows
            if measure in (None, row.measure) and relation in (None, row.relation)
        )

    def columns(self) -> dict[str, list[Any]]:
        return {
            "measure": [row.measure for row in self.rows],
            "relation": [row.relation for row in self.rows],
            "first": [row.first for row in self.rows],
            "second": [row.second for row in self.rows],
            "spearman": [row.value for row in self.rows],
            "margin": [row.margin for row in self.rows],
            "n": [row.n for row in self.rows],
        }

    def table(self) -> dict[str, list[Any]]:
        """Short and wide, a row per measure: its rank correlation with the first loss, between
        numbers of bins, and with the dominance order, each with its margin.
        """
        measures = list(dict.fromkeys(row.measure for row in self.rows))
        first_loss = next(row.first for row in self.rows if row.relation == "loss")
        columns: dict[str, list[Any]] = {"measure": measures}
        for row in self.rows:
            if row.relation == "loss" and row.first != first_loss:
                continue
            short = [part.replace(row.measure, "").strip("()") for part in (row.first, row.second)]
            name = f"{short[0]} / {short[1]}"
            cells = columns.setdefault(name, [""] * len(measures))
            if row.value is not None:
                cells[measures.index(row.measure)] = f"{row.value:.3f} ± {row.margin:.3f}"
        return columns

    def to_frame(self, backend: str | None = None) -> Any:
        """A row per correlation, as a pandas, polars or pyarrow frame."""
        numbers = ("spearman", "margin")
        columns = {
            # NaN and not None, so that a column stays one of numbers when nothing could be ranked.
            name: [math.nan if v is None else v for v in values] if name in numbers else values
            for name, values in self.columns().items()
        }
        return as_frame(columns, backend)

    def to_dict(self) -> dict[str, Any]:
        return {
            "n": self.n,
            "chain": list(self.chain),
            "chain_names": None if self.names is None else [self.names[i] for i in self.chain],
            "correlations": json_value(self.columns()),
        }

    def to_json(self) -> str:
        return json.dumps(self.to_dict())

    def plot(
        self, *, ax: Any = None, relation: Relation = "bins", measures: Sequence[str] | None = None
    ) -> RankRobustnessDisplay:
        """The correlations of one relation with their margins, on `ax` or a new figure. Needs
        matplotlib.
        """
        from calibrant.results._plots.robustness import RankRobustnessDisplay

        return RankRobustnessDisplay(self).plot(ax=ax, relation=relation, measures=measures)

    @property
    def caption(self) -> str:
        return (
            f"Rank robustness over {self.n} predictors, "
            f"{len(self.chain)} of them in the maximum dominance set"
        )

    def __repr__(self) -> str:
        return f"{self.caption}\n{as_text(self.columns(), indent='  ')}"

    def _repr_html_(self) -> str:
        return as_html(self.columns(), self.caption)
