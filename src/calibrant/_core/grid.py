"""Mass on fixed smoothing grids: what the smooth measures need of a sample. Grids add up.

A grid's nodes lie at fixed places, whatever the data: two grids of one spacing always fit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from calibrant._core.typing import Array

# The logits that a grid holds. A probability this close to 0 or 1 is 4e-18 away from it.
LOGIT_LIMIT = 40.0
# The spacings of the grids in the state of every stream; three times as fine as LS_SIGMA needs.
STREAM_SPACING = 2.0**-10
STREAM_UNIT_CELLS = 1 << 14
# Extra nodes at either end, so that a row is deposited without a check whether its nodes exist.
SPARE = 2
# From the width of the noise and a number of cells to the integral of |f| over [0, 1], where f is a
# residual smoothed by noise of this width, at the nodes of this many cells.
Smoothed = Callable[[float, int], float]


@dataclass(frozen=True, eq=False)
class LogitGrid:
    """The sums of w z (`plus`) and of w (1 - z) (`minus`), where w is the weight and z the target
    of a row, deposited at the nodes: the logits ``spacing * j`` for whole numbers j.

    Both have the shape (classes, nodes); the middle node is the logit 0.
    """

    spacing: float
    plus: Array
    minus: Array

    def __add__(self, other: LogitGrid) -> LogitGrid:
        """The grid of all rows of both grids, which must have the same spacing."""
        if self.spacing != other.spacing:
            raise ValueError(f"grids of spacings {self.spacing} and {other.spacing}")
        return LogitGrid(self.spacing, self.plus + other.plus, self.minus + other.minus)

    @staticmethod
    def n_nodes(spacing: float, limit: float = LOGIT_LIMIT) -> int:
        """The number of nodes for logits from -limit to limit, with SPARE nodes more
        at either end.
        """
        return 2 * (int(np.ceil(limit / spacing)) + SPARE) + 1

    @cached_property
    def total_weight(self) -> Array:
        """The sum of weights of each class, (classes,)."""
        return self.plus.sum(axis=1) + self.minus.sum(axis=1)


@dataclass(frozen=True, eq=False)
class UnitGrid:
    """The sums of w (z - u), where w is the weight, u the prediction and z the target of a row,
    deposited at the nodes ``j / cells`` of [0, 1]: (classes, 1, cells + 1).

    With a middle axis of length 3 the sums are those of w, w u and w z, from which a
    curve can be drawn.
    """

    sums: Array

    def __add__(self, other: UnitGrid) -> UnitGrid:
        """The grid of all rows of both grids, which must have the same shape."""
        if self.sums.shape != other.sums.shape:
            raise ValueError(f"grids of shapes {self.sums.shape} and {other.sums.shape}")
        return UnitGrid(self.sums + other.sums)

    @property
    def cells(self) -> int:
        """The number of intervals between neighbouring nodes."""
        return int(self.sums.shape[2]) - 1

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return int(self.sums.shape[0])

    def smoothed(self, r: int) -> Smoothed | None:
        """A function from (width of the noise, number of cells) to the integral of the absolute
        smoothed residual of class r, computed on the device where the grid lies. None for a grid in
        memory, which the caller smooths itself.
        """
        return None

    @property
    def residual(self) -> Array:
        """The sum of w (z - u), weight times target less prediction, at each node,
        (classes, cells + 1).
        """
        if self.sums.shape[1] == 1:
            return self.sums[:, 0]
        return self.sums[:, 2] - self.sums[:, 1]


def cubic_weights(t: Any) -> tuple[Any, Any, Any, Any]:
    """The shares of a mass that four neighbouring nodes get by cubic interpolation; it lies between
    the two middle ones, a part `t` of the way. `t` is an array or a tensor.
    """
    a, b, c = t + 1.0, t - 1.0, t - 2.0
    return -t * b * c / 6.0, a * b * c / 2.0, -a * t * c / 2.0, a * t * b / 6.0
