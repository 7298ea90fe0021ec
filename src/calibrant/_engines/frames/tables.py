"""Tables of bins."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from calibrant._core.bin_tables import BinTable
from calibrant._core.binning import (
    CellCuts,
    Cuts,
    Edges,
    EqualWidth,
    FixedRule,
    LevelSets,
    Quantile,
    Rule,
    fixed_cuts,
)
from calibrant._core.errors import NO_WEIGHT, InputError
from calibrant._core.given_cells import Cells as GivenCells
from calibrant._core.typing import Array
from calibrant._data.frame_input import named_columns
from calibrant._data.frame_samples import FrameSamples
from calibrant._data.samples import Notion
from calibrant._engines.arrays.counting import stack, without_dropped
from calibrant._engines.cells import Cells
from calibrant._engines.frames.classes import (
    class_cells,
    class_columns,
    class_refinement_pass,
    class_sums,
)
from calibrant._engines.frames.expressions import col
from calibrant._engines.frames.quantiles import level_sets
from calibrant._engines.frames.query import Query, check_samples
from calibrant._engines.frames.refining import EqualMass
from calibrant._engines.protocol import Findings
from calibrant._engines.refine import Refinement, refine


def scalar_sums(
    samples: FrameSamples, notion: Notion, cuts: Cuts, *, squares: bool = True
) -> tuple[Array, Findings]:
    """The sums (bins, fields) of the binary or the confidence problem between given cuts, and the
    findings.
    """
    groups = Query(samples, notion).add_fields().add_cuts(cuts).run()
    return groups.binned(cuts), groups.findings


def bin_table(
    samples: FrameSamples, notion: Notion, rule: Rule, *, squares: bool = True
) -> tuple[BinTable, Cuts, Findings]:
    """The bin sums of the binary or the confidence problem by any rule of bins, the cuts between
    the bins, and the findings.
    """
    if isinstance(rule, GivenCells):
        return _cell_table(samples, notion, rule)
    if isinstance(rule, LevelSets):
        return level_sets(samples, notion)
    if isinstance(rule, Quantile):
        check_ranks(rule)
        groups = Query(samples, notion).add_fields().add_cells(Cells(EqualWidth(1))).run()
        bins = EqualMass(samples, notion, groups, rule.m).own
        return bins.table, bins.cuts, groups.findings
    assert isinstance(rule, FixedRule)
    cuts = fixed_cuts(rule, samples.precision)
    sums, findings = scalar_sums(samples, notion, cuts)
    return without_dropped(sums[None], rule, True), cuts, findings


def _cell_table(
    samples: FrameSamples, notion: Notion, rule: GivenCells
) -> tuple[BinTable, Cuts, Findings]:
    """The table of given cells: the engine groups the rows by the columns that they name."""
    if not rule.names:
        raise InputError(
            "cells of a lazy frame are columns of the frame: give their names, Cells('site', 'age')"
        )
    names = named_columns(rule.names, "bins", samples.frame.collect_schema())
    groups = Query(samples, notion, by=names).add_fields().run()
    keys = [groups.columns[f"by{j}"].tolist() for j in range(len(rule.names))]
    if any(key is None or key != key for column in keys for key in column):
        raise InputError(f"{rule} has no value in some rows: drop or fill them")
    labels = [", ".join(map(str, row)) for row in zip(*keys, strict=True)]
    order = sorted(range(len(labels)), key=labels.__getitem__)
    cuts = CellCuts.of([labels[j] for j in order])
    return BinTable(groups.fields[order][None]), cuts, groups.findings


def refuse_cells(rule: Rule) -> None:
    """Raise an InputError for given cells of every class of a lazy frame."""
    if isinstance(rule, GivenCells):
        raise InputError(
            "cells for each class need the rows in memory: collect the frame first, or measure "
            "the top label"
        )


def check_ranks(rule: Quantile) -> None:
    """Raise InputError if the rule puts equal predictions into different bins by rank, which needs
    sorted rows.
    """
    if rule.ties == "rank":
        raise InputError(
            "bins by rank need the rows in order, which only frames in memory have: use "
            f"Quantile({rule.m}), which keeps ties together, or collect the frame first"
        )


def classwise_table(
    samples: FrameSamples, rule: Rule, *, squares: bool = True
) -> tuple[BinTable, Findings]:
    """One table with the bin sums of every class against the rest, each class with its own bins,
    and the findings.
    """
    if samples.multiclass:
        refuse_cells(rule)
    else:  # one problem, which is its own class
        table, _, findings = bin_table(samples, "binary", rule)
        return table, findings
    findings = check_samples(samples)
    if isinstance(rule, FixedRule):
        sums = class_sums(samples, fixed_cuts(rule, samples.precision))
        return without_dropped(sums, rule, True), findings
    if isinstance(rule, LevelSets):
        columns = class_columns(samples)
        return stack([level_sets(column, "binary")[0] for column in columns]), findings
    assert isinstance(rule, Quantile)
    check_ranks(rule)
    problems = ClassQuantiles(samples).refined(rule.m)
    return stack([groups.table for groups in problems.values()]), findings


@dataclass
class ClassQuantiles:
    """Bins of equal mass of each class against the rest.

    One query sums the cells of all classes, and refinement passes then serve all classes together.
    """

    samples: FrameSamples
    # One of the edges between cells: the cells after it hold the predictions above it.
    threshold: float = 0.5

    @cached_property
    def _cells(self) -> Cells:
        """Fine cells of [0, 1] with one more edge, at the threshold."""
        return Cells(Edges([0.0, self.threshold, 1.0], closed="right"))

    @cached_property
    def _sums(self) -> Array:
        """The sums of each class's cells, (classes, cells, fields)."""
        return class_cells(self.samples, self._cells)

    def refined(self, m: int, *, above: bool = False) -> dict[int, Refinement]:
        """The rows of each class as groups that lie within one of m bins of equal mass, by the
        class's index.

        With `above` only predictions above the threshold are binned, and classes without any are
        left out.
        """
        cuts, first = self._cells.cuts(self.samples.precision), 0
        if above:
            limit = np.asarray(self.threshold, dtype=self.samples.precision).astype(np.float64)
            first = int(cuts.find(np.nextafter(limit, np.inf)))
        problems = {
            r: Refinement.from_cells(sums, cuts, m, first=first)
            for r, sums in enumerate(self._sums)
            if sums[first:, 1].sum() > 0
        }
        if not above and len(problems) < len(self._sums):
            raise InputError(NO_WEIGHT)
        refine(problems, class_refinement_pass(self.samples))
        return problems


def top_class_table(samples: FrameSamples, rule: Rule) -> tuple[BinTable, Findings]:
    """The table of the confidence problem with the rows of each predicted class as a class of the
    table, and the findings. All classes share the bins of the confidence.
    """
    if isinstance(rule, LevelSets):
        raise InputError(
            "a bin for every distinct confidence of every class would bring all rows into memory: "
            "use Quantile(m) or a number of bins, or collect the frame first"
        )
    refuse_cells(rule)
    if isinstance(rule, Quantile):
        cuts = bin_table(samples, "confidence", rule)[1]
    else:
        assert isinstance(rule, FixedRule)
        cuts = fixed_cuts(rule, samples.precision)
    sums, findings = top_class_sums(samples, cuts)
    return without_dropped(sums, rule, True), findings


def top_class_sums(samples: FrameSamples, cuts: Cuts) -> tuple[Array, Findings]:
    """The bin sums of the rows of each predicted class, (classes, bins, fields), in bins of the
    confidence between the cuts, and the findings.
    """
    query = Query(samples, "confidence").add_fields().add_cuts(cuts)
    # Keys of neighbouring classes are this far apart, so that a key tells the class: the bins have
    # m steps, and the confidence 1.0 may have one more.
    apart = cuts.m + 1
    query.steps.append(col("top") * float(apart))
    groups = query.run()
    classes = groups.columns["key"].astype(np.intp) // apart
    parts = [groups.select(classes == r).binned(cuts) for r in range(samples.n_classes)]
    return np.stack(parts), groups.findings


def whole_problem(
    samples: FrameSamples, notion: Notion
) -> tuple[Array, Array, Array | None, Findings]:
    """Raise InputError always: a frame's engine gives sums, never single rows."""
    raise InputError(
        f"this measure needs the rows themselves, which stay in {samples.where}: collect the frame "
        "(or a sample of it) first"
    )
