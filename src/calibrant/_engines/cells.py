"""Fine fixed cells for streams: sums per cell merge, and bins of any kind are put together later.

The cells are 2,048 equal ones, with eight per octave near 0 and near 1 where predictions crowd. The
edges of the stream's own rule are among theirs, so that its bins come out exactly; quantile bins
and ordered measures come out as finely as the cells are.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from calibrant._core.bin_tables import FIELDS, BinTable
from calibrant._core.binning import Cuts, FixedRule, fixed_cuts, outer_edges
from calibrant._core.typing import Array, Mask

N_LINEAR = 2048
OCTAVES = range(11, 41)


def cell_edges() -> Array:
    """The inner edges of the fine cells of [0, 1], in order, without those of any rule of bins."""
    octaves = np.array([2.0**-e * (1 + f / 8) for e in OCTAVES for f in range(8)])
    octaves = octaves[octaves < 1 / N_LINEAR]
    linear = np.arange(1, N_LINEAR) / N_LINEAR
    return np.unique(np.concatenate([octaves, linear, 1.0 - octaves]))


@dataclass(frozen=True, eq=False)
class Cells:
    """The cells of a stream whose ordinary bins follow `rule`. With `fine` the bins are cut at the
    edges of the fine cells too; without it, the cells are the rule's bins alone.
    """

    rule: FixedRule
    fine: bool = True

    @property
    def _nominal(self) -> tuple[Array, Mask]:
        """All inner edges of the cells in double precision, in order, and which of them are the
        rule's.
        """
        return _nominal(self.rule, self.fine)

    @property
    def m(self) -> int:
        """How many cells there are."""
        return int(self._nominal[0].size) + 1

    def cuts(self, precision: np.dtype[Any]) -> Cuts:
        """The inner edges of the cells, rounded as predictions of this precision meet them."""
        return _cuts(self.rule, self.fine, precision)

    def bins(self, cells: Array) -> BinTable:
        """The table of the rule's own bins, each the sum of its cells; `cells` has the shape
        (cells, fields).
        """
        _, is_rule = self._nominal
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
def _nominal(rule: FixedRule, fine: bool) -> tuple[Array, Mask]:
    """All inner edges of the cells in order, and which of them are the rule's.

    The order never depends on the precision of the predictions, so that the states of float32 and
    of float64 streams add up.
    """
    own = outer_edges(rule)[1:-1]
    if rule.drops_one:
        own = np.append(own, 1.0)
    if not fine:
        return own, np.ones(own.size, dtype=np.bool_)
    edges = np.concatenate([own, np.setdiff1d(cell_edges(), own)])
    order = np.argsort(edges, kind="stable")
    return edges[order], order < own.size


@lru_cache(maxsize=16)
def _cuts(rule: FixedRule, fine: bool, precision: np.dtype[Any]) -> Cuts:
    """The inner edges of the cells for predictions of one precision.

    The rule's edges are those that its ordinary bins have in this precision. Rounded edges may
    coincide but never fall.
    """
    edges, is_rule = _nominal(rule, fine)
    inner = edges.astype(precision).astype(np.float64) if precision.itemsize < 8 else edges.copy()
    inner[is_rule] = fixed_cuts(rule, precision).inner
    inner = np.maximum.accumulate(inner)
    inner.flags.writeable = False  # cached: every caller gets the same array
    return Cuts(inner)
