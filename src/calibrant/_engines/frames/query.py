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
from calibrant._engines.cells import LABELS, N_LINEAR, Cells
from calibrant._engines.frames.collecting import collected, totals
from calibrant._engines.frames.columns import has_weights
from calibrant._engines.frames.expressions import (
    Expr,
    Float64,
    Frame,
    any_of,
    col,
    floor,
    number,
    total,
    where,
)
from calibrant._engines.frames.groups import (
    APART,
    Derived,
    Groups,
    fold_of,
    mirrored_sums,
    products_of,
)
from calibrant._engines.frames.keys import octave_layers, steps_of
from calibrant._engines.frames.problem import findings, folded, scalar
from calibrant._engines.protocol import Findings
from calibrant._engines.refine import check_same_rows

# The findings of the last pass over samples whose rows can all be measured, and their number.
_CHECKED: WeakKeyDictionary[FrameSamples, tuple[Findings, float]] = WeakKeyDictionary()


def check_samples(samples: FrameSamples) -> Findings:
    """The findings about the rows of samples, from an earlier pass or from a query of its own.
    Raises InputError if some row is invalid.
    """
    if samples not in _CHECKED:
        Query(samples, "confidence").run()
    return _CHECKED[samples][0]


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
    # The one of them that steps at multiples of 1 / N_LINEAR, which finer equal cells do without.
    equal_step: Expr | None = None
    # The cell of the logit grid, not one of the steps since logarithms may err in the last bit; or
    # the cell of the label, which does not step with the prediction.
    outer_cell: Expr | None = None
    # What to add up in every group: sums of the problem, and counts of findings.
    sums: dict[str, Expr] = field(default_factory=dict)
    finding_sums: dict[str, Expr] = field(default_factory=dict)
    # The columns of predictions whose smallest and largest value of each group come back.
    ends: tuple[str, ...] = ("u",)
    # Sums of products with the target: the name of the sum of the other factor ("w": the weight),
    # and the product. They need no sum of their own where rows are grouped by the target as well.
    products: dict[str, tuple[str, Expr]] = field(default_factory=dict)
    # The column of the target in the products, and whether to group by it where it is 0 or 1.
    target: str = "z"
    has_many_groups: bool = False
    # Whether no group has predictions on both sides of 1/2.
    has_half: bool = False
    # Columns of the groups that are computed here, from sums.
    derived: dict[str, Derived] = field(default_factory=dict)

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
        u = col("u")
        self._add_targets()
        self.sums |= {"wu": self.weigh(u), "wuu": self.weigh(u * u)}
        self.products["wuz"] = "wu", self.weigh(u * col("z"))
        return self

    def add_levels(self, *, fold: bool = False) -> Query:
        """Request the sums of `BinTable.FIELDS` in groups of one prediction each, with `fold` also
        those of the confidence, and return the query. The products of a sum and the one prediction
        are computed here.
        """
        self._add_targets()
        if fold:
            self.derived |= mirrored_sums()
            precision = self.samples.precision
            self.derived |= products_of("f", "h", lambda groups: fold_of(groups["low"], precision))
        self.derived |= products_of("u", "z", lambda groups: groups["low"])
        return self

    def _add_targets(self) -> None:
        """Request the sums of weights and targets, without predictions."""
        z = col("z")
        if self.weighted:
            self.sums |= {"n": number(col("w") > 0.0), "w": col("w"), "ww": col("w") * col("w")}
            self.products["wwz"] = "ww", col("w") * self.weigh(z)
        self.add_target_sum()
        if not self.samples.hard:
            self.sums["wzz"] = self.weigh(z * z)

    def add_target_sum(self) -> None:
        """Request the sum of weights, where rows have any, and that of weighted targets, `wz`."""
        if self.weighted:
            self.sums.setdefault("w", col("w"))
        self.products["wz"] = "w", self.weigh(col(self.target))

    def add_cuts(self, cuts: Cuts) -> Query:
        """Group also by the bins between the cuts, and return the query."""
        steps = steps_of(col("u"), cuts, self.samples.precision)
        if steps is not None:
            self.steps.append(steps)
        return self

    def add_label_cells(self) -> Query:
        """Group also by narrow cells of the target, and return the query."""
        self.outer_cell = floor(col("z") * float(LABELS))
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
            equal = floor(col(prediction) * float(N_LINEAR))
            out += [equal, col(f"{prediction}_octave")]
            if prediction == "u":
                self.equal_step = equal
        return out

    def add_top_cells(self, cells: Cells) -> Query:
        """Group also by the cells of the confidence, and request the sums of the confidence problem
        of binary rows: the larger of u and 1 - u against the target of its class. Return the query.
        """
        top = col("u") > 0.5
        self.let({"fold": folded(self.samples, col("u"))})
        steps = total([*self._cell_steps("fold", cells, after=1), nw.lit(1.0)])
        # Below 1/2 the larger of u and 1 - u falls as u grows.
        self.has_half = True
        self.steps.append(steps * where(top, 1.0, -1.0))
        return self.add_top_sums()

    def add_top_sums(self) -> Query:
        """Request the sums of the confidence problem of binary rows in groups that lie on one side
        of 1/2, and return the query.
        """
        self.derived |= mirrored_sums()
        if self.samples.precision.itemsize < 8:  # 1 - u is rounded, and its sums are its own
            fold = folded(self.samples, col("u"))
            self.sums |= {"wf": self.weigh(fold), "wff": self.weigh(fold * fold)}
            self.products["wfz"] = "wf", self.weigh(fold * col("z"))
            for name in ("wf", "wff", "wfz"):
                del self.derived[name]
        return self

    def run(self, most: int | None = None) -> Groups:
        """Run the query, check all rows, and return the sums of the groups. Raises InputError if a
        row is invalid. `most` limits the number of groups collected; None collects all.
        """
        key = total(self.steps) if self.steps else nw.lit(0.0)
        key = key.cast(nw.Int64)
        if self.outer_cell is not None:
            key = key + self.outer_cell.cast(nw.Int64) * APART
        groups = self._by_target(key) if self._parts_targets else self.grouped(key, most)
        groups.check_rows()
        if most is None:  # whether logarithms were clipped is known of passes that take some
            findings = replace(groups.findings, n_log_clipped=0)
            _CHECKED[self.samples] = findings, groups.total("rows")
        return groups

    def run_again(self) -> tuple[Groups, Findings]:
        """The groups of all rows by the query's steps, and the findings: those of an earlier pass
        if there was one. InputError if that had other rows.
        """
        if self.samples not in _CHECKED:
            groups = self.run()
            return groups, groups.findings
        findings, n_rows = _CHECKED[self.samples]
        self.finding_sums = {}
        groups = self.grouped(total(self.steps).cast(nw.Int64))
        check_same_rows(n_rows, groups.total("rows"))
        return groups, findings

    @property
    def _parts_targets(self) -> bool:
        """Whether rows are also grouped by their target of 0 or 1. With many groups every sum is
        in another place of the memory, so that twice the groups take less time than twice the sums.
        """
        return self.has_many_groups and self.samples.hard and not self.by

    def _by_target(self, key: Expr) -> Groups:
        """The sums of the groups with a key. The engine sums the rows of each target apart, and
        those about which there is a finding, since these are rare.
        """
        rare, found = self._rare_findings, dict(self.finding_sums)
        odd = nw.lit(0)
        if rare:
            found = {name: value for name, value in found.items() if name not in rare}
            findings_of_row = [value for name, value in rare.items() if name != "found_ok"]
            is_odd = any_of([~col("ok"), *(value > 0.0 for value in findings_of_row)])
            odd = where(is_odd, 1, 0)
        target = col(self.target).cast(nw.Int64)
        parts = self._collected(key * 4 + target * 2 + odd, {**found, **self.sums}, None)
        groups = parts.with_targets_joined({k: other for k, (other, _) in self.products.items()})
        if not rare:
            return groups
        if not groups.total("odd"):
            return replace(groups, counts={"found_ok": groups.total("rows")})
        return replace(groups, counts=totals(self.frame, rare))

    @property
    def _rare_findings(self) -> dict[str, Expr]:
        """The findings that few rows have, by name, and which rows are valid, as nearly all are.
        None where rows may be dropped, since these may be many.
        """
        if self.samples.missing == "drop" or self.samples.sound:
            return {}
        names = ("found_ok", "found_clipped", "found_off", "found_log_clipped")
        return {name: self.finding_sums[name] for name in names if name in self.finding_sums}

    def grouped(self, key: Expr, most: int | None = None) -> Groups:
        """Run the query with `key` as the grouping expression (besides the columns in `by`), and
        return the sums of the groups; rows stay unchecked. `most` limits the number of groups; None
        collects all.
        """
        products = {name: product for name, (_, product) in self.products.items()}
        return self._collected(key, self.finding_sums | self.sums | products, most)

    def _collected(self, key: Expr, sums: dict[str, Expr], most: int | None) -> Groups:
        """The sums of the groups with equal `key` and equal columns `by`: at most `most` groups, or
        all.
        """
        by = [f"by{j}" for j in range(len(self.by))]
        sums = {name: value.cast(Float64) for name, value in sums.items()}
        frame = self.frame
        for layer in self.layers:
            frame = frame.with_columns(**layer)
        frame = frame.select(*dict.fromkeys((*by, *self.ends)), key=key, **sums)
        ends = []
        for name in self.ends:
            suffix = "" if name == "u" else f" of {name}"
            ends += [col(name).min().alias(f"low{suffix}"), col(name).max().alias(f"high{suffix}")]
        of_groups = [nw.len().alias("rows"), *(col(name).sum() for name in sums), *ends]
        frame = frame.group_by(*by, "key").agg(*of_groups)
        result = collected(frame if most is None else frame.head(most))
        return Groups.from_result(self.samples, result, self.derived)
