"""Exact quantile bins of rows that can be read again but are not kept in memory: sums of cells
first, then refinement passes over the few cells that an edge of a bin falls into.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from calibrant._core.bin_tables import FIELDS, BinTable
from calibrant._core.binning import ROUNDING, Cuts, middle_rank_bins
from calibrant._core.errors import InputError
from calibrant._core.typing import Array, Index, Mask

Key = TypeVar("Key", bound=Hashable)
Spans = tuple[Array, Array]
Groups = tuple[Array, Array, Array]
# One refinement pass over the spans of several problems (by key), in one reading of the rows. It
# reads the rows with low <= prediction <= high for some span, and returns them in groups: their
# smallest and largest prediction, and their sums (groups x fields). With a number of parts, a
# span's rows are grouped by floor((u - low) / (high - low) * parts); with None, by prediction.
JointPass = Callable[[dict[Key, Spans], int | None], dict[Key, Groups]]

# Up to this many rows are grouped by prediction at once; more are cut into finer parts first.
FEW_ROWS = 1 << 18
PARTS = 4096


@dataclass
class Refinement:
    """Groups of rows in order of their predictions, refined until each group lies within one of m
    bins of equal mass.

    The borders of bins are ranks: cumulative weights j W / m of the total W. A group with a border
    inside is refined, until it has one prediction only; others are in one bin as a whole. Two
    passes over the rows suffice for any number of rows that fits a disk, and mostly one.
    """

    low: Array
    high: Array
    sums: Array
    m: int

    @classmethod
    def from_cells(cls, cells: Array, cuts: Cuts, m: int, *, first: int = 0) -> Refinement:
        """The refinement whose groups are the cells with weight: `cells` has their sums (cells,
        fields), `cuts` the edges between them. Cells before number `first` are left out.
        """
        nonempty = cells[:, FIELDS.index("sum_w")] > 0
        nonempty[:first] = False
        low = np.concatenate([[0.0], cuts.inner])[nonempty]
        high = np.concatenate([np.nextafter(cuts.inner, -np.inf), [1.0]])[nonempty]
        return cls(low, high, cells[nonempty], m)

    @property
    def needs_refining(self) -> Mask:
        """Which groups must be refined: those of several predictions with a border between bins
        inside.
        """
        if not self.low.size:
            return np.zeros(0, dtype=np.bool_)
        return _has_border_inside(self.sums[:, 1], self.m) & (self.low < self.high)

    def replace_groups(self, low: Array, high: Array, sums: Array) -> None:
        """Replace the groups that must be refined by finer groups, with lowest and highest
        predictions `low` and `high` and sums (groups, fields).
        """
        open_ = self.needs_refining
        check_same_rows(float(self.sums[open_, 0].sum()), float(sums[:, 0].sum()))
        low = np.concatenate([self.low[~open_], low])
        high = np.concatenate([self.high[~open_], high])
        sums = np.concatenate([self.sums[~open_], sums])
        weighty = np.flatnonzero(sums[:, 1] > 0)
        order = weighty[np.argsort(low[weighty], kind="stable")]
        self.low, self.high, self.sums = low[order], high[order], sums[order]

    @property
    def bins(self) -> Index:
        """The number of each group's bin."""
        return middle_rank_bins(self.sums[:, FIELDS.index("sum_w")], self.m)

    @property
    def table(self) -> BinTable:
        """The sums of the m bins, as a table."""
        merged = np.zeros((self.m, len(FIELDS)))
        np.add.at(merged, self.bins, self.sums)
        return BinTable(merged[None])

    @property
    def cuts(self) -> Cuts:
        """The m - 1 edges between the bins. A bin begins at the lowest prediction of its first
        group; an empty bin begins where the next one does.
        """
        first = np.searchsorted(self.bins, np.arange(1, self.m))
        starts = np.append(self.low, np.nextafter(self.high[-1], np.inf))
        return Cuts(starts[first])


def refine(problems: Mapping[Key, Refinement], read: JointPass[Key]) -> None:
    """Refine all problems in place until none has a group left that must be refined. `read` passes
    over the rows once for all problems that need it.
    """
    while True:
        open_ = {key: problem.needs_refining for key, problem in problems.items()}
        open_ = {key: flags for key, flags in open_.items() if flags.any()}
        if not open_:
            return
        n_rows = sum(float(problems[key].sums[flags, 0].sum()) for key, flags in open_.items())
        spans = {
            key: (problems[key].low[flags], problems[key].high[flags])
            for key, flags in open_.items()
        }
        groups = read(spans, parts_for(n_rows))
        for key in spans:
            problems[key].replace_groups(*groups[key])


def parts_for(n_rows: float, *, in_engine: bool = False) -> int | None:
    """The number of parts to cut each span of rows into in the next pass; None where the rows are
    few enough to be grouped by prediction.

    An engine that groups (`in_engine`) sends the sums of few columns, so that more rows are few;
    and its spans are small, so that fewer parts suffice.
    """
    if in_engine:
        return None if n_rows <= 4 * FEW_ROWS else PARTS // 16
    return None if n_rows <= FEW_ROWS else PARTS


def _has_border_inside(mass: Array, m: int) -> Mask:
    """Which groups have a border between two of m bins of equal mass inside.

    `mass` is the weight of each group, in order of predictions; the borders are at the cumulative
    weights j W / m of the total W.
    """
    through = np.cumsum(mass)
    total = through[-1]
    # With slack for rounding, so that a group too many may be refined but never one too few.
    below = np.ceil((through - mass) * m / total * (1 - ROUNDING))
    above = np.floor(through * m / total * (1 + ROUNDING))
    first = np.maximum(below, 1)
    last = np.minimum(above, m - 1)
    return first <= last


def check_same_rows(before: float, after: float) -> None:
    """Raise InputError unless two passes read the same number of rows: the data changed in
    between.
    """
    if before != after:
        raise InputError(
            f"the data changed while they were read: {before:.0f} rows in one pass, {after:.0f} in "
            "the next. Measure a copy that no process writes to"
        )
