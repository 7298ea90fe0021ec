"""Sums of rows by cell of the logits of their predictions, with moments within each cell.

In a cell of the width `WIDTH` a logistic curve is a polynomial of degree 6 to 14 digits. So the
sums of w t^j and w z t^j, for a row's weight w, target z and distance t of its logit from the
cell's centre, give likelihood, scores and information of any logistic model of the logit, as the
rows themselves do. Sums of parts add up.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar, TypeAlias

import numpy as np

from calibrant._core.errors import check_squares
from calibrant._core.typing import Array, Index, Mask

# The width of a cell on the logit scale, and the number of powers of t that are summed.
WIDTH = 2.0**-5
POWERS = 7
# Kinds of targets: cells of their own, so that hard labels are numbers and not sums. Rows without
# weight are a kind that is only checked.
KINDS = 4
NO_EVENT, SOFT, EVENT, NO_WEIGHT = range(KINDS)
# What is summed for the noise of soft and of weighted targets: see `LogitSums.noise`.
NOISE = ("gap", "gap_h", "square", "variance", "noise_0", "noise_1", "noise_2")

# A logistic model: its intercept, its slope, and the inverse (2, 2) of its information.
LogisticModel: TypeAlias = tuple[float, float, Array]


@dataclass(frozen=True, eq=False)
class LogitSums:
    """Sums of a scalar problem by cell of the logit h of its prediction and kind of target.

    By cell, (cells,): the centre `at`, the `kind` of its targets, whether its predictions were
    `moved` away from 0 or 1, the smallest and the largest logit `low` and `high`, the rows of
    positive weight `n`, and the sum of squared weights `w2`. Moments (cells, powers): `w` of the
    weight, `wz` of weight times target, `wzz` of weight times squared target.
    """

    at: Array
    kind: Index
    moved: Mask
    low: Array
    high: Array
    n: Array
    w2: Array
    w: Array
    wz: Array
    wzz: Array
    # Whether rows have weights of their own, and whether every target is 0 or 1.
    weighted: bool
    hard: bool
    # Sums by cell, (cells, 7), of the gap w (z - u) of the prediction u and of its product with h,
    # of w (z - u)^2, of w u (1 - u), and of w^2 u (1 - u) times 1, h and h^2. None where targets
    # are hard and rows count once, whose noise is known.
    noise: Array | None = None

    def select(self, chosen: Mask) -> LogitSums:
        """The sums of some of the cells."""
        columns = {
            name: getattr(self, name)[chosen]
            for name in ("at", "kind", "moved", "low", "high", "n", "w2", "w", "wz", "wzz")
        }
        noise = None if self.noise is None else self.noise[chosen]
        return LogitSums(**columns, weighted=self.weighted, hard=self.hard, noise=noise)

    def centred(self) -> LogitSums:
        """The same sums about the middle of the logits that each cell has.

        A logistic curve of a steep slope is no polynomial as far as the centre of a cell may be
        from predictions that are all next to each other.
        """
        if self.w.shape[1] == 1:
            return self
        middle, reach = 0.5 * (self.low + self.high), 0.5 * (self.high - self.low)
        by = middle - self.at
        w, wz, wzz = (_moved(each, by, reach) for each in (self.w, self.wz, self.wzz))
        return replace(self, at=middle, w=w, wz=wz, wzz=wzz)

    @property
    def effective(self) -> float:
        """The effective number of rows."""
        weight, squares = float(self.w[:, 0].sum()), float(self.w2.sum())
        check_squares(weight, squares)
        return weight**2 / squares


def _moved(moments: Array, by: Array, reach: Array) -> Array:
    """Moments (cells, powers) about points that are `by` further. No distance is above `reach`,
    which keeps what is nothing but rounding from counting.
    """
    out = np.zeros(moments.shape)
    for j in range(moments.shape[1]):
        for k in range(j + 1):
            out[:, j] += math.comb(j, k) * (-by) ** (j - k) * moments[:, k]
        most = np.abs(moments[:, 0]) * reach**j
        out[:, j] = np.clip(out[:, j], -most, most)
    return out


@dataclass(frozen=True, eq=False)
class ClusterScores:
    """Scores of logistic models by cluster, and what the noise within clusters is estimated from.

    `leverage` is (models, clusters) and `scores` (models, 2, clusters), with the factors 1 and h
    for the logit h. `sums` (clusters,) are by name those of the weight w; of the residual z - u,
    its square, the deviation sqrt(u (1 - u)) and the variance u (1 - u) of rows; of w times square
    and variance; of w times deviation, and that times h ("scale"); of w^2 times variance times 1,
    h and h^2 ("noise"); of w times residual, and that times h ("gap"); and counts of rows.
    """

    NAMES: ClassVar[tuple[str, ...]] = (
        "weight", "residual", "square", "deviation", "variance", "weighted_square",
        "weighted_variance", "scale", "scale_h", "noise_0", "noise_1", "noise_2", "gap", "gap_h",
        "non_events", "events",
    )  # fmt: skip

    sums: dict[str, Array]
    leverage: Array
    scores: Array

    def added(self, index: Index, size: int) -> ClusterScores:
        """The scores added up by cluster; `index` is the number of each one's cluster, of `size`,
        or -1 where it does not count.
        """
        kept = index >= 0

        def add(values: Array) -> Array:
            """The sums by cluster along the last axis."""
            flat = values[..., kept].reshape(-1, int(kept.sum()))
            rows = [np.bincount(index[kept], each, size) for each in flat]
            out: Array = np.array(rows, dtype=np.float64).reshape(*values.shape[:-1], size)
            return out

        sums = {name: add(values) for name, values in self.sums.items()}
        return ClusterScores(sums, add(self.leverage), add(self.scores))
