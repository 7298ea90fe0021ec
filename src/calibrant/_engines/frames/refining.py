"""Bins of equal mass of a scalar problem, of its confidence and of its upper predictions: all from
one list of groups, so that one reading of the rows refines the groups for all of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from calibrant._core.errors import NO_WEIGHT, InputError
from calibrant._core.typing import Array, Index, Mask
from calibrant._data.frame_samples import FrameSamples
from calibrant._data.samples import Notion
from calibrant._engines.frames.expressions import rounded
from calibrant._engines.frames.groups import Groups, fold_of
from calibrant._engines.frames.quantiles import group_key
from calibrant._engines.frames.query import Query
from calibrant._engines.refine import Refinement, check_same_rows, parts_for


@dataclass(frozen=True, eq=False)
class Pieces:
    """Groups of rows in order of their predictions: no prediction lies in two of them. `sums` and
    `top_sums` (groups, fields) are those of the problem and of its confidence.
    """

    low: Array
    high: Array
    sums: Array
    top_sums: Array | None = None

    @classmethod
    def from_groups(cls, groups: Groups, *, fold: bool) -> Pieces:
        """The pieces that the groups of a query make; with `fold` those of the confidence too."""
        top = groups.top_fields if fold else None
        return cls(groups["low"], groups["high"], groups.fields, top).in_order()

    def in_order(self) -> Pieces:
        """The pieces in order, those that overlap joined, without those that have no weight.

        Groups of one query may overlap by a last bit: logarithms err by as much.
        """
        weighty = self.sums[:, 1] > 0
        order, starts = _runs(self.low[weighty], self.high[weighty])
        chosen = np.flatnonzero(weighty)[order]
        if not chosen.size:
            raise InputError(NO_WEIGHT)
        top = None if self.top_sums is None else np.add.reduceat(self.top_sums[chosen], starts)
        return Pieces(
            np.minimum.reduceat(self.low[chosen], starts),
            np.maximum.reduceat(self.high[chosen], starts),
            np.add.reduceat(self.sums[chosen], starts),
            top,
        )

    def replaced(self, gone: Mask, others: Pieces) -> Pieces:
        """The pieces without those marked as `gone`, and with others in their place."""
        top = None
        if self.top_sums is not None and others.top_sums is not None:
            top = np.concatenate([self.top_sums[~gone], others.top_sums])
        return Pieces(
            np.concatenate([self.low[~gone], others.low]),
            np.concatenate([self.high[~gone], others.high]),
            np.concatenate([self.sums[~gone], others.sums]),
            top,
        ).in_order()


@dataclass(frozen=True, eq=False)
class View:
    """What a problem sees of the pieces: which of them are rows of its own, the number of the group
    that each of these is in, and the groups.
    """

    chosen: Mask
    at: Index
    groups: Refinement

    @property
    def open(self) -> Mask:
        """Which of the pieces must be refined."""
        out = np.zeros(self.chosen.size, dtype=np.bool_)
        out[self.chosen] = self.groups.needs_refining[self.at]
        return out


def _view_of(pieces: Pieces, chosen: Mask, m: int) -> View:
    """The view of the chosen pieces, each a group."""
    at = np.arange(int(chosen.sum()))
    sums = pieces.sums[chosen]
    return View(chosen, at, Refinement(pieces.low[chosen], pieces.high[chosen], sums, m))


def _folded_view(pieces: Pieces, precision: np.dtype[Any], m: int) -> View:
    """The view of the confidence, the larger of u and 1 - u for the prediction u: pieces below and
    above 1/2 whose confidences overlap are one group.
    """
    assert pieces.top_sums is not None
    ends = fold_of(pieces.low, precision), fold_of(pieces.high, precision)
    low, high = np.minimum(*ends), np.maximum(*ends)
    order, starts = _runs(low, high)
    at = np.empty(order.size, dtype=np.intp)
    at[order] = np.repeat(np.arange(starts.size), np.diff(np.append(starts, order.size)))
    groups = Refinement(
        np.minimum.reduceat(low[order], starts),
        np.maximum.reduceat(high[order], starts),
        np.add.reduceat(pieces.top_sums[order], starts),
        m,
    )
    return View(np.ones(order.size, dtype=np.bool_), at, groups)


def _runs(low: Array, high: Array) -> tuple[Index, Index]:
    """The order of intervals by their lower ends, and where, in this order, a run of overlapping
    ones starts.
    """
    order = np.argsort(low, kind="stable")
    through = np.maximum.accumulate(high[order])
    starts = np.flatnonzero(np.r_[True, low[order][1:] > through[:-1]][: order.size])
    return order, starts


class EqualMass:
    """Bins of equal mass of a scalar problem of a frame, from the groups of a query that has read
    its rows: of the problem itself, with `fold` also of its confidence, and with a `threshold`, at
    which no group reaches over, also of the predictions above. All have m bins, and are refined
    together.
    """

    def __init__(
        self,
        samples: FrameSamples,
        notion: Notion,
        groups: Groups,
        m: int,
        *,
        fold: bool = False,
        threshold: float | None = None,
    ) -> None:
        self._samples, self._notion = samples, notion
        self._m, self._fold = m, fold
        self._threshold = None if threshold is None else rounded(threshold, samples.precision)
        self._pieces = Pieces.from_groups(groups, fold=fold)

    @property
    def own(self) -> Refinement:
        """The groups of the problem, each within one bin."""
        return self._refined["own"]

    @property
    def folded(self) -> Refinement:
        """The groups of the confidence, each within one bin."""
        return self._refined["folded"]

    @property
    def above(self) -> Refinement:
        """The groups above the threshold, each within one bin; there may be none."""
        return self._refined["above"]

    @cached_property
    def _refined(self) -> dict[str, Refinement]:
        """The groups of every problem, from as many passes over the rows as it takes: one, or two
        where many rows share a piece.
        """
        while True:
            views = self._views()
            open_ = np.any([view.open for view in views.values()], axis=0)
            open_ &= self._pieces.low < self._pieces.high
            if not open_.any():
                return {name: view.groups for name, view in views.items()}
            self._pieces = self._pieces.replaced(open_, self._read(open_))

    def _views(self) -> dict[str, View]:
        """What each problem sees of the pieces."""
        pieces = self._pieces
        views = {"own": _view_of(pieces, np.ones(pieces.low.size, dtype=np.bool_), self._m)}
        if self._fold:
            views["folded"] = _folded_view(pieces, self._samples.precision, self._m)
        if self._threshold is not None:
            views["above"] = _view_of(pieces, pieces.low > self._threshold, self._m)
        return views

    def _read(self, open_: Mask) -> Pieces:
        """The pieces that the rows of some pieces make, from a query about them: one for each
        prediction, or, of many rows, for each of many parts of each.
        """
        pieces = self._pieces
        n_rows = float(pieces.sums[open_, 0].sum())
        parts = parts_for(n_rows, in_engine=True)
        query = Query(self._samples, self._notion)
        query.finding_sums = {}  # all rows have been checked
        if parts is None:
            query.add_levels(fold=self._fold)
        else:
            query.add_fields()
            if self._fold:
                query.add_top_sums()
        # All other rows form one more group. A filter would be cheaper, but engines move it to the
        # front, and compute the prediction again for each of its comparisons.
        key = group_key(self._samples, pieces.low[open_], pieces.high[open_], parts)
        groups = query.grouped(key)
        found = Pieces.from_groups(groups.select(groups["key"] >= 0), fold=self._fold)
        check_same_rows(n_rows, float(found.sums[:, 0].sum()))
        return found
