"""Sums of many slices in one read of the rows, which are neither sorted by slice nor copied.

Rows are added in their order by one thread, so that the bits do not depend on the machine.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from calibrant._core.bin_tables import FIELDS, label_fields
from calibrant._core.binning import Cuts
from calibrant._core.errors import ODD_WEIGHTS, InputError
from calibrant._core.loss_sums import FIELDS as LOSS_FIELDS
from calibrant._core.typing import Array, Index
from calibrant._data.samples import Notion, Samples
from calibrant._engines.arrays.passes import (
    ScalarBlock,
    cut_into_spans,
    matrix_sums,
    raise_bad,
    scalar_blocks,
    usual_block,
)
from calibrant._engines.arrays.selection import kernels
from calibrant._engines.cells import Cells
from calibrant._engines.protocol import new_status

# The losses that are summed with the cells.
_BRIER = (LOSS_FIELDS.index("brier"),)


@dataclass(eq=False)
class SliceArrays:
    """The sums of numbered slices, in `cells` of their predictions, and of their `losses`.

    `losses` are the positions in `loss_sums.FIELDS` that are summed, if any. The first axis of each
    array is that of slices, with room for more of them.
    """

    cells: Cells
    losses: tuple[int, ...]
    # By name: "hard" (cells, labels, 4) of unweighted rows with labels 0 and 1, "soft" (cells,
    # fields) of others, and "losses" (fields). Arrays without rows are not there.
    sums: dict[str, Array] = field(default_factory=dict)

    def add(self, samples: Samples, slices: NDArray[np.int32], n: int) -> None:
        """Add rows, each to the slice of its number in `slices`; there are n slices so far."""
        if samples.weight_exponent:  # another batch would have another scale
            raise InputError(ODD_WEIGHTS)
        if self.losses and samples.multiclass:
            self._add_rows_of_classes(samples, slices, n)
            return
        notion: Notion = "confidence" if samples.multiclass else "binary"
        rows = max(1, samples.n) if samples.is_plain else usual_block(samples)
        spans, status = cut_into_spans(samples.n, rows), new_status()
        cuts = self.cells.cuts(samples.precision)
        for start, u, z, w in scalar_blocks(samples, notion, spans, status):
            own = slices[start : start + u.size]
            hard = self._add_block((start, u, z, w), own, cuts, n)
            if self.losses:
                # The squares of rows with labels 0 and 1 are there already.
                rest = slice(hard if self.losses == _BRIER else 0, None)
                arrays = (u[rest], z[rest], None if w is None else w[rest], own[rest])
                losses = self._array("losses", n)
                kernels().add_losses_of_slices(losses, *arrays, self.losses, status)
            raise_bad(status, start)

    def _add_block(self, block: ScalarBlock, slices: NDArray[np.int32], cuts: Cuts, n: int) -> int:
        """Add a block of a scalar problem to the sums in cells; n is the number of slices.

        Returns how many rows were added by label.
        """
        start, u, z, w = block
        status, done = new_status(), 0
        if w is None:
            hard = self._array("hard", n)
            done = kernels().add_hard_slices(hard, u, z, slices, cuts, status)
            raise_bad(status, start)
        if done < u.size:
            soft, rest = self._array("soft", n), (u[done:], z[done:])
            weights = None if w is None else w[done:]
            kernels().add_slices(soft, *rest, weights, slices[done:], cuts, status)
            raise_bad(status, start + done)
        return done

    def _add_rows_of_classes(self, samples: Samples, slices: NDArray[np.int32], n: int) -> None:
        """Add (n, k) predictions and their losses. A kernel reads whole rows, so that these are
        sorted by slice.
        """
        cuts = self.cells.cuts(samples.precision)
        cells, losses = self._array("soft", n), self._array("losses", n)
        for number, rows in rows_of_each(slices):
            total = matrix_sums(samples.take(rows), confidence=cuts, losses=True)
            assert total.confidence is not None and total.losses is not None
            cells[number] += total.confidence
            losses[number] += total.losses

    def _array(self, name: str, n: int) -> Array:
        """The sums of this name, with room for n slices."""
        shapes = {
            "hard": (self.cells.m, 2, 4),
            "soft": (self.cells.m, len(FIELDS)),
            "losses": (len(LOSS_FIELDS),),
        }
        old = self.sums.get(name)
        if old is None or len(old) < n:
            room = n if old is None else max(n, 2 * len(old))
            self.sums[name] = np.zeros((room, *shapes[name]))
            if old is not None:
                self.sums[name][: len(old)] = old
        return self.sums[name]

    def merge(self, other: SliceArrays, numbers: Index, n: int) -> None:
        """Add other sums: `numbers` has the number here of each slice there, and n is how many
        slices there are here.
        """
        for name, sums in other.sums.items():
            self._array(name, n)[numbers[: len(sums)]] += sums[: len(numbers)]

    def sums_of(self, number: int) -> dict[str, Array]:
        """The arrays of the slice of this number, named as in the state of a stream."""
        cells = np.zeros((self.cells.m, len(FIELDS)))
        parts = {name: sums[number] for name, sums in self.sums.items() if number < len(sums)}
        if "hard" in parts:
            cells += _fields_of_labels(parts["hard"])
        if "soft" in parts:
            cells += parts["soft"]
        out: dict[str, Array] = {"cells": cells}
        if self.losses:
            losses = parts.get("losses", np.zeros(len(LOSS_FIELDS)))
            if "hard" in parts and self.losses == _BRIER:
                losses = losses + _losses_of_labels(parts["hard"])
            out |= {"losses": losses, "distribution_weight": np.zeros(1)}
        return out


def _fields_of_labels(hard: Array) -> Array:
    """The sums of all fields, (cells, fields), from those of each label, (cells, labels, 4)."""
    (n0, u0, squares0), (n1, u1, squares1) = (hard[:, label, :3].T for label in (0, 1))
    return np.stack(label_fields(n0 + n1, u0 + u1, squares0 + squares1, n1, u1), axis=1)


def _losses_of_labels(hard: Array) -> Array:
    """The sums of losses, as far as those of each label have them: rows and squares."""
    n, _, _, squares = hard.sum(axis=(0, 1))
    by_field = {"n": n, "sum_w": n, "brier": squares}
    return np.array([by_field.get(name, 0.0) for name in LOSS_FIELDS])


def rows_of_each(slices: NDArray[np.int32]) -> Iterator[tuple[int, Index]]:
    """Yield the number of each slice that has rows, and its row numbers in increasing order."""
    # NumPy sorts numbers of two bytes by their digits, several times as fast as others.
    small = slices.astype(np.uint16) if slices.max(initial=0) < 1 << 16 else slices
    order = np.argsort(small, kind="stable")
    counts = np.bincount(slices)
    ends = np.cumsum(counts)
    for number in np.flatnonzero(counts).tolist():
        yield number, order[ends[number] - counts[number] : ends[number]]
