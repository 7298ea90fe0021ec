"""One query: rows grouped by step functions of their prediction, sums per group, and nothing else.

What a group is used for is settled on the host (`groups`): one query feeds bins, grids and losses.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from weakref import WeakKeyDictionary

import narwhals as nw

from calibrant._core.binning import Cuts, fixed_cuts
from calibrant._data.frame_samples import FrameSamples
from calibrant._data.samples import Notion
from calibrant._engines.cells import N_LINEAR, Cells
from calibrant._engines.frames.collecting import collected
from calibrant._engines.frames.columns import has_weights
from calibrant._engines.frames.expressions import Expr, Float64, Frame, col, floor, number, total
from calibrant._engines.frames.groups import APART, Groups
from calibrant._engines.frames.keys import octave_layers, steps_of
from calibrant._engines.frames.problem import findings, folded, scalar
from calibrant._engines.protocol import Findings

# The findings of the last pass over samples whose rows can all be measured.
_CHECKED: WeakKeyDictionary[FrameSamples, Findings] = WeakKeyDictionary()


def check_samples(samples: FrameSamples) -> Findings:
    """The findings about the rows of samples, from an earlier pass or from a query of its own.
    Raises InputError if some row is invalid.
    """
    if samples not in _CHECKED:
        Query(samples, "confidence").run()
    return _CHECKED[samples]


@dataclass
class Query:
    """One query over the rows of a scalar problem, which groups them and sums each group.

    Methods add to the request: `steps` are step functions of the prediction by which rows are
    grouped, `sums` the expressions to sum. Columns are called `u` (prediction), `z` (target), `w`
    (weight).
    """

    samples: FrameSamples
    notion: Notion
    # Columns of the frame by which rows are grouped as well.
    by: Sequence[str] = ()
    frame: Frame = None
    # Columns to make from the problem's, layer by layer: planners prefer few wide layers.
    layers: list[dict[str, Expr]] = field(default_factory=list)
    steps: list[Expr] = field(default_factory=list)
    # The cell of the logit grid, not one of the steps since logarithms may err in the last bit.
    logit_cell: Expr | None = None
    # What to add up in every group: sums of the problem, and counts of findings.
    sums: dict[str, Expr] = field(default_factory=dict)
    finding_sums: dict[str, Expr] = field(default_factory=dict)
    # The columns of predictions whose smallest and largest value of each group come back.
    ends: tuple[str, ...] = ("u",)

    def __post_init__(self) -> None:
        self.frame = scalar(self.samples, self.notion, self.by)
        self.finding_sums = {name: col(name) for name in findings(self.samples)}

    @property
    def weighted(self) -> bool:
        """Whether the problem has a column of weights, `w`."""
        return has_weights(self.samples)

    def weigh(self, value: Expr) -> Expr:
        """The value times the row's weight; without weights, the value itself."""
        return col("w") * value if self.weighted else value

    def let(self, *layers: dict[str, Expr], after: int = 0) -> None:
        """Add columns to compute before the sums, in layers: each layer may use the columns of
        earlier layers. The first of them comes after the query's first `after` layers.
        """
        while len(self.layers) < after + len(layers):
            self.layers.append({})
        for depth, layer in enumerate(layers, start=after):
            self.layers[depth] |= layer

    def add_fields(self) -> Query:
        """Request the sums of `BinTable.FIELDS`, and return the query. Sums that equal others, as
        they do without weights or with 0/1 targets, are left out.
        """
        u, z = col("u"), col("z")
        if self.weighted:
            self.sums |= {"n": number(col("w") > 0.0), "w": col("w"), "ww": col("w") * col("w")}
        self.sums |= {"wu": self.weigh(u), "wz": self.weigh(z)}
        self.sums |= {"wuu": self.weigh(u * u), "wuz": self.weigh(u * z)}
        if not self.samples.hard:
            self.sums["wzz"] = self.weigh(z * z)
        if self.weighted:
            self.sums["wwz"] = col("w") * self.weigh(z)
        return self

    def add_cuts(self, cuts: Cuts) -> Query:
        """Group also by the bins between the cuts, and return the query."""
        steps = steps_of(col("u"), cuts, self.samples.precision)
        if steps is not None:
            self.steps.append(steps)
        return self

    def add_cells(self, cells: Cells) -> Query:
        """Group also by the cells of the prediction, and return the query."""
        self.steps += self._cell_steps("u", cells)
        return self

    def _cell_steps(self, prediction: str, cells: Cells, after: int = 0) -> list[Expr]:
        """Step functions of the column `prediction` that together rise at every edge of the cells.
        The columns that they need are added as layers, after the first `after` layers.
        """
        cuts = fixed_cuts(cells.rule, self.samples.precision)
        steps = steps_of(col(prediction), cuts, self.samples.precision)
        out = [] if steps is None else [steps]
        if cells.fine:
            self.let(*octave_layers(prediction), after=after)
            out += [floor(col(prediction) * float(N_LINEAR)), col(f"{prediction}_octave")]
        return out

    def add_top_cells(self, cells: Cells) -> Query:
        """Group also by the cells of the confidence, and request the sums of the confidence problem
        of binary rows: the larger of u and 1 - u against the target of its class. Return the query.
        """
        top = col("u") > 0.5
        hit = nw.when(top).then(col("z")).otherwise(1.0 - col("z"))
        self.let({"fold": folded(self.samples, col("u")), "hit": hit})
        steps = total([*self._cell_steps("fold", cells, after=1), nw.lit(1.0)])
        # Below 1/2 the larger of u and 1 - u falls as u grows.
        self.steps.append(steps * nw.when(top).then(nw.lit(1.0)).otherwise(nw.lit(-1.0)))
        fold, hit = col("fold"), col("hit")
        self.sums |= {"wf": self.weigh(fold), "wff": self.weigh(fold * fold)}
        self.sums |= {"wh": self.weigh(hit), "wfh": self.weigh(fold * hit)}
        if not self.samples.hard:
            self.sums["whh"] = self.weigh(hit * hit)
        if self.weighted:
            self.sums["wwh"] = col("w") * self.weigh(hit)
        return self

    def run(self, most: int | None = None) -> Groups:
        """Run the query, check all rows, and return the sums of the groups. Raises InputError if a
        row is invalid. `most` limits the number of groups collected; None collects all.
        """
        key = total(self.steps) if self.steps else nw.lit(0.0)
        key = key.cast(nw.Int64)
        if self.logit_cell is not None:
            key = key + self.logit_cell.cast(nw.Int64) * APART
        groups = self.grouped(key, most)
        groups.check_rows()
        if most is None:  # whether logarithms were clipped is known of passes that take some
            _CHECKED[self.samples] = replace(groups.findings, n_log_clipped=0)
        return groups

    def grouped(self, key: Expr, most: int | None = None) -> Groups:
        """Run the query with `key` as the grouping expression (besides the columns in `by`), and
        return the sums of the groups; rows stay unchecked. `most` limits the number of groups; None
        collects all.
        """
        by = [f"by{j}" for j in range(len(self.by))]
        sums = self.finding_sums | {name: value.cast(Float64) for name, value in self.sums.items()}
        frame = self.frame
        for layer in self.layers:
            frame = frame.with_columns(**layer)
        frame = frame.select(*dict.fromkeys((*by, *self.ends)), key=key, **sums)
        ends = []
        for name in self.ends:
            suffix = "" if name == "u" else f" of {name}"
            ends += [col(name).min().alias(f"low{suffix}"), col(name).max().alias(f"high{suffix}")]
        totals = [nw.len().alias("rows"), *(col(name).sum() for name in sums), *ends]
        frame = frame.group_by(*by, "key").agg(*totals)
        result = collected(frame if most is None else frame.head(most))
        return Groups.from_result(self.samples, result)
