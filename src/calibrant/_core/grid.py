"""Mass on fixed smoothing grids: what the smooth measures need of a sample. Grids add up.

A grid's nodes lie at fixed places, whatever the data: two grids of one spacing always fit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from calibrant._core.typing import Array

# The logits that a grid holds. A probability this close to 0 or 1 is 4e-18 away from it.
LOGIT_LIMIT = 40.0
# The grids that every stream's state shares; fine enough for LS_SIGMA three times over.
STREAM_SPACING = 2.0**-10
STREAM_UNIT_CELLS = 1 << 14
# Nodes to spare at either end, so that a deposit never needs a check.
SPARE = 2
# The integral of |f| over [0, 1], where f is a residual after noise of a width, by so many cells.
Smoothed = Callable[[float, int], float]


@dataclass(frozen=True, eq=False)
class LogitGrid:
    """Sums of w z (`plus`) and w (1 - z) (`minus`) at the logits ``spacing * j``, per class.

    Both have the shape (classes, nodes), the middle node at the logit 0.
    """

    spacing: float
    plus: Array
    minus: Array

    def __add__(self, other: LogitGrid) -> LogitGrid:
        if self.spacing != other.spacing:
            raise ValueError(f"grids of spacings {self.spacing} and {other.spacing}")
        return LogitGrid(self.spacing, self.plus + other.plus, self.minus + other.minus)

    @staticmethod
    def n_nodes(spacing: float, limit: float = LOGIT_LIMIT) -> int:
        """Nodes that hold the logits up to a limit, with those to spare."""
        return 2 * (int(np.ceil(limit / spacing)) + SPARE) + 1

    @cached_property
    def total_weight(self) -> Array:
        return self.plus.sum(axis=1) + self.minus.sum(axis=1)


@dataclass(frozen=True, eq=False)
class UnitGrid:
    """Sums of w (z - u) at the predictions ``j / cells``, per class: (classes, 1, cells + 1).

    With three rows in place of the one they are w, w u and w z, from which a curve can be drawn.
    """

    sums: Array

    def __add__(self, other: UnitGrid) -> UnitGrid:
        if self.sums.shape != other.sums.shape:
            raise ValueError(f"grids of shapes {self.sums.shape} and {other.sums.shape}")
        return UnitGrid(self.sums + other.sums)

    @property
    def cells(self) -> int:
        return int(self.sums.shape[2]) - 1

    @property
    def n_classes(self) -> int:
        return int(self.sums.shape[0])

    def smoothed(self, r: int) -> Smoothed | None:
        """What smooths the residual of class r where it lies; None if that is here."""
        return None

    @property
    def residual(self) -> Array:
        """w (z - u) at the nodes, per class."""
        if self.sums.shape[1] == 1:
            return self.sums[:, 0]
        return self.sums[:, 2] - self.sums[:, 1]
