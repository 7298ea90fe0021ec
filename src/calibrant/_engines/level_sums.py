"""Sums of rows by prediction, and by narrow cells where the predictions are too many."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from calibrant._core.typing import Array
from calibrant._engines.cells import N_LINEAR

# The most distinct predictions that are kept.
MOST_LEVELS = 1 << 18
# Cells in a range of 1 of the logit; they are as narrow in the prediction as in a stream.
PER_LOGIT = 128
_EPS = 1e-15


@dataclass(frozen=True, eq=False)
class LevelSums:
    """The sums of weights, weight times prediction and weight times target, (3, levels), of each
    distinct prediction or, if not `exact`, of each cell, whose number `key` is.
    """

    key: Array
    sums: Array
    exact: bool = True

    @classmethod
    def of_rows(cls, u: Array, z: Array, w: Array) -> LevelSums:
        """The sums of predictions u, targets z and weights w, (n,)."""
        kept = w > 0
        u, z, w = u[kept], z[kept], w[kept]
        return _grouped(u, np.stack([w, w * u, w * z]))

    @classmethod
    def merged(cls, parts: Sequence[LevelSums]) -> LevelSums:
        """The sums of the rows of all parts."""
        exact = all(part.exact for part in parts)
        parts = parts if exact else [part.in_cells() for part in parts]
        key = np.concatenate([part.key for part in parts])
        return _grouped(key, np.concatenate([part.sums for part in parts], axis=1), exact=exact)

    def in_cells(self) -> LevelSums:
        """The same sums by cell."""
        if not self.exact:
            return self
        inside = np.clip(self.key, _EPS, 1.0 - _EPS)
        logits = np.log(inside) - np.log1p(-inside)
        cell = np.floor(self.key * N_LINEAR) + np.floor(logits * PER_LOGIT)
        return _grouped(cell, self.sums, exact=False)

    @property
    def levels(self) -> tuple[Array, Array, Array]:
        """The predictions in order (of cells their mean), with weight and mean target of each."""
        w, wu, wz = self.sums
        return (self.key if self.exact else wu / w), w, wz / w


def _grouped(key: Array, sums: Array, *, exact: bool = True) -> LevelSums:
    """The sums of entries with equal keys; by cell if these are too many."""
    keys, at = np.unique(key, return_inverse=True)
    added = np.stack([np.bincount(at, row, keys.size).astype(np.float64) for row in sums])
    out = LevelSums(keys, added, exact)
    return out.in_cells() if exact and keys.size > MOST_LEVELS else out
