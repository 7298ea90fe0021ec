"""ReliabilityTable: the bins as something people read."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from calibrant._core.bin_tables import BinTable, ratio
from calibrant._core.binning import Cuts, FixedRule, LevelSets, Rule, outer_edges
from calibrant._measures.binned import binned_error
from calibrant._measures.proportions import is_hard, mean_target_limits
from calibrant.results._notebook import Drawing, boxed, html_table, side_by_side
from calibrant.results._rendering import as_frame, as_text, json_value
from calibrant.results._sketch import reliability_sketch

if TYPE_CHECKING:
    from calibrant.results._plots.reliability import ReliabilityDisplay


@dataclass(frozen=True, eq=False)
class ReliabilityTable:
    """One row per bin, empty bins included: edges, rows, mean prediction, mean target, gap.

    `n_dropped` counts samples that the rule leaves out of every bin (0 but for ``drop_one``).
    """

    table: BinTable
    rule: Rule
    cuts: Cuts
    notion: str
    # How many rows of each bin say as much as one, where rows come in clusters; None: each does.
    design: NDArray[np.float64] | None = None

    @property
    def n_dropped(self) -> int:
        return self.table.n_dropped

    @property
    def n(self) -> int:
        """Rows in bins."""
        return int(self.table.n.sum())

    @property
    def ece(self) -> float:
        """The calibration error of these bins: their mean gap, without signs."""
        return binned_error(self.table)

    @property
    def is_hard(self) -> bool:
        """Whether all targets are 0 or 1."""
        return is_hard(self.table)

    def _edges(self) -> tuple[list[float], list[float]]:
        m = self.table.n_bins
        if isinstance(self.rule, FixedRule):
            edges = outer_edges(self.rule)
        elif isinstance(self.rule, LevelSets):
            values = self.table.mean_u[0]
            return values.tolist(), values.tolist()
        else:
            edges = np.concatenate([[0.0], np.minimum(self.cuts.inner, 1.0), [1.0]])
        return edges[:m].tolist(), edges[1 : m + 1].tolist()

    def columns(self) -> dict[str, list[Any]]:
        """The table as named columns; NaN where a bin is empty."""
        table = self.table
        lower, upper = self._edges()
        mean_u, mean_z = table.mean_u[0], table.mean_z[0]
        return {
            "bin": list(range(table.n_bins)),
            "lower": lower,
            "upper": upper,
            "n": table.n[0].tolist(),
            "weight": table.sum_w[0].tolist(),
            "mean_predicted": mean_u.tolist(),
            "mean_target": mean_z.tolist(),
            "gap": ratio(table.residual[0], table.sum_w[0]).tolist(),
        }

    def intervals(self, level: float = 0.95, method: str | None = None) -> dict[str, list[Any]]:
        """The columns with limits of each bin's mean target, `low` and `high`.

        Wilson's (default) or "clopper-pearson" for hard labels; "beta" (default) or "normal" for
        soft ones, from the scatter of the labels themselves. Clusters (`groups`) count: then
        `n_effective` is how many independent rows those of a bin are worth.
        """
        low, high = mean_target_limits(self.table, level, method, self.design)
        worth = {}
        if self.design is not None:
            table = self.table
            rows = ratio(table.sum_w[0] ** 2, table.sum_w2[0]) / self.design
            worth = {"n_effective": rows.tolist()}
        return {**self.columns(), **worth, "low": low.tolist(), "high": high.tolist()}

    def to_frame(self, backend: str | None = None, *, level: float | None = None) -> Any:
        """A pandas, polars or pyarrow frame; with `level`, limits of the mean targets too."""
        columns = self.columns() if level is None else self.intervals(level)
        return as_frame(columns, backend)

    def plot(
        self, *, ax: Any = None, name: str | None = None, level: float | None = 0.95
    ) -> ReliabilityDisplay:
        """The reliability diagram, on `ax` or a new figure, with intervals. Needs matplotlib."""
        # Late: drawing is asked for, and a table knows nothing of it until then.
        from calibrant.results._plots.reliability import ReliabilityDisplay

        return ReliabilityDisplay(self, name=name).plot(ax=ax, level=level)

    def chart(self, *, level: float = 0.95) -> Any:
        """The reliability diagram as an interactive Altair chart, for notebooks. Needs Altair."""
        from calibrant.results._plots.notebook_charts import reliability_chart

        return reliability_chart(self, level=level)

    def to_dict(self, level: float | None = None) -> dict[str, Any]:
        columns = self.columns() if level is None else self.intervals(level)
        return {
            "rule": str(self.rule),
            "notion": self.notion,
            "n_dropped": self.n_dropped,
            "bins": json_value(columns),
        }

    def to_json(self) -> str:
        return json.dumps(self.to_dict())

    @property
    def title(self) -> str:
        dropped = f"; {self.n_dropped} rows in no bin" if self.n_dropped else ""
        return f"{self.notion}, {self.rule}{dropped}"

    def display_columns(self, level: float | None = None) -> dict[str, list[Any]]:
        """The columns a person reads: without weights where they only repeat the rows."""
        columns = self.columns() if level is None else self.intervals(level)
        if columns["weight"] == columns["n"]:
            del columns["weight"]
        return columns

    def __repr__(self) -> str:
        table = as_text(self.display_columns(), indent="  ", most=200)
        return f"ReliabilityTable ({self.title})\n{table}"

    def sketch(self, level: float | None = 0.95) -> Drawing:
        """The reliability diagram as a small SVG drawing."""
        top = self.notion == "confidence"
        soft = "mean soft label" if not self.is_hard else ""
        names = (
            "mean confidence" if top else "mean prediction",
            soft or ("accuracy" if top else "observed frequency"),
        )
        return reliability_sketch(self.columns() if level is None else self.intervals(level), names)

    def _repr_html_(self) -> str:
        level = 0.95
        shown = html_table(self.display_columns(level), f"Reliability: {self.title}")
        return boxed(side_by_side(self.sketch(level), shown))
