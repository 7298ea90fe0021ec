"""Fine fixed cells for streams: sums per cell merge, and bins of any kind are put together later.

The cells are 2,048 equal ones, with eight per octave near 0 and near 1 where predictions crowd. The
edges of the stream's own rule are among theirs, so that its bins come out exactly; quantile bins
and ordered measures are as fine as the cells. If there are many slices, each has fewer cells, 128
and one per octave: enough for the noise in a bin, which hardly differs within them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np

from calibrant._core.bin_tables import FIELDS, BinTable
from calibrant._core.binning import Cuts, FixedRule, fixed_cuts, outer_edges
from calibrant._core.typing import Array, Mask

N_LINEAR = 2048
LAST_OCTAVE = 40
# The same for each of many slices, and how many cells an octave has.
N_OF_SLICES = 128
PER_OCTAVE = {N_LINEAR: 8, N_OF_SLICES: 1}
# Labels between 0 and 1 are pooled in this many cells, and those nearer to 0 or 1 than this are
# hard.
LABELS, ROUNDED = 128, 1e-9
# With more groups of a cluster, cell and label, clusters are put together into this many blocks.
# Clusters do not depend on each other, so neither do blocks, and intervals resample as many.
MOST_GROUPS, BLOCKS = 1 << 21, 1 << 9
# Where two predictors are pooled: the cells of one half of [0, 1], of equal width on the scale of
# the square root of the distance from its end, about those that smooth errors are read from.
HALF = 136.0


def cell_edges(n_linear: int = N_LINEAR) -> Array:
    """The inner edges of the fine fixed cells of [0, 1], in increasing order, whatever the rule of
    bins. `n_linear` is the number of equal cells.
    """
    first, per = n_linear.bit_length() - 1, PER_OCTAVE[n_linear]
    parts = [(e, f) for e in range(first, LAST_OCTAVE + 1) for f in range(per)]
    octaves = np.array([2.0**-e * (1 + f / per) for e, f in parts])
    octaves = octaves[octaves < 1 / n_linear]
    linear = np.arange(1, n_linear) / n_linear
    return np.unique(np.concatenate([octaves, linear, 1.0 - octaves]))


@dataclass(frozen=True, eq=False)
class PooledColumns:
    """Rows with one label, one cell of predictions and one cluster, an entry for each group:
    the number of rows, the sums of weights and of squared weights, the mean prediction and the mean
    label.

    `clusters` are the names of the groups' clusters, None for independent rows; `hard` says that
    all labels are 0 or 1.
    """

    n: Array
    w: Array
    w2: Array
    u: Array
    z: Array
    clusters: Any = field(kw_only=True)
    hard: bool = field(kw_only=True)


def pooled_groups(totals: Array, ends: Array, sums: Array, clusters: Any) -> PooledColumns:
    """The pooled columns of groups of rows: `totals` (3, groups) are their numbers of rows and sums
    of weights and of squared weights, `ends` (2, groups) their smallest and largest prediction,
    `sums` (groups, 2) the sums of weight times prediction and of weight times label, and `clusters`
    the names of their clusters, None for independent rows.
    """
    kept = totals[1] > 0
    n, w, w2 = totals[:, kept]
    means = sums[kept] / w[:, None]
    # Equal predictions stay equal in groups of different labels.
    low, high = ends[:, kept]
    u, z = np.where(low == high, low, means[:, 0]), means[:, 1]
    hard = bool((np.minimum(z, 1.0 - z) < ROUNDED).all())
    names = None if clusters is None else clusters[kept]
    return PooledColumns(n, w, w2, u, z, clusters=names, hard=hard)


@dataclass(frozen=True, eq=False)
class Cells:
    """The cells in which a stream sums its rows. With `fine` they are the bins of `rule`, cut
    further at the edges of the fine fixed cells; else they are the bins themselves. `n_linear` is
    the number of equal fine cells.
    """

    rule: FixedRule
    fine: bool = True
    n_linear: int = N_LINEAR

    @property
    def _all_edges(self) -> tuple[Array, Mask]:
        """All inner edges of the cells in double precision, in order, and which of them are edges
        of the rule's bins.
        """
        return _all_edges(self.rule, self.fine, self.n_linear)

    @property
    def m(self) -> int:
        """The number of cells."""
        return int(self._all_edges[0].size) + 1

    def cuts(self, precision: np.dtype[Any]) -> Cuts:
        """The inner edges of the cells, rounded as predictions of this precision are compared with
        them.
        """
        return _cuts(self.rule, self.fine, self.n_linear, precision)

    def bins(self, cells: Array) -> BinTable:
        """The table of the rule's bins, from the sums of the cells (cells, fields) that make each
        bin up.
        """
        _, is_rule = self._all_edges
        starts = np.concatenate([[0], np.flatnonzero(is_rule) + 1])
        sums = np.add.reduceat(cells, starts, axis=0)[None]
        if self.rule.drops_one:
            return BinTable(sums[:, :-1].copy(), sums[:, -1].copy())
        return BinTable(sums)

    @staticmethod
    def empty(m: int) -> Array:
        """Sums of 0 for m cells, (cells, fields)."""
        return np.zeros((m, len(FIELDS)))


# Cached, because streams ask for the edges with every update.
@lru_cache(maxsize=16)
def _all_edges(rule: FixedRule, fine: bool, n_linear: int) -> tuple[Array, Mask]:
    """All inner edges of the cells in increasing order, and which of them are edges of the rule's
    bins.

    The order is the same for every precision of the predictions, so that the states of float32 and
    of float64 streams add up.
    """
    own = outer_edges(rule)[1:-1]
    if rule.drops_one:
        own = np.append(own, 1.0)
    if not fine:
        return own, np.ones(own.size, dtype=np.bool_)
    edges = np.concatenate([own, np.setdiff1d(cell_edges(n_linear), own)])
    order = np.argsort(edges, kind="stable")
    return edges[order], order < own.size


@lru_cache(maxsize=16)
def _cuts(rule: FixedRule, fine: bool, n_linear: int, precision: np.dtype[Any]) -> Cuts:
    """The inner edges of the cells for predictions of one precision.

    The edges of the rule's bins are those that `fixed_cuts` gives in this precision. Rounded edges
    may coincide but never fall.
    """
    edges, is_rule = _all_edges(rule, fine, n_linear)
    inner = edges.astype(precision).astype(np.float64) if precision.itemsize < 8 else edges.copy()
    inner[is_rule] = fixed_cuts(rule, precision).inner
    inner = np.maximum.accumulate(inner)
    inner.flags.writeable = False  # cached: every caller gets the same array
    return Cuts(inner)
