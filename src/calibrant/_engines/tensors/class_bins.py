"""Every entry of (n, k) predictions in bins of its class, on a CUDA device: between given edges, or
in bins of equal mass, whose edges are found by counting bits.

Entries are in single precision, so that those within some 2e-7 of an edge may fall on either side
of it. The memory that this takes does not grow with the rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import triton
import triton.language as tl
from torch import Tensor

from calibrant._core.binning import ROUNDING
from calibrant._engines.tensors import class_kernels as kernels
from calibrant._engines.tensors.sums import fields_of_labels

# The bins of a class that a thread keeps in its registers.
MOST_BINS = 16
PARTS, CELLS = 512, 4096
# Threads of a program, each with a class; and programs, if there are rows for as many.
LANES = 128
UNROLL = 2
PROGRAMS = 132 * 16
NOTHING = -1
# Classes times copies of a table to which labels are added.
COPIED_CELLS = 2048


@dataclass(eq=False)
class Entries:
    """The entries of rows that were checked, as the kernels read them."""

    x: Tensor
    y: Tensor
    logits: bool
    # Each row's largest logit, and 1 over its sum of exponentials.
    top: Tensor
    share: Tensor
    # The bits of a number: only entries above it count.
    above: int = NOTHING

    def __post_init__(self) -> None:
        self.n, self.k = self.x.shape
        self.device = self.x.device
        self.cols = min(LANES, triton.next_power_of_2(self.k))
        self.blocks = -(-self.k // self.cols)
        rows = LANES // self.cols
        self.rows_each = rows * max(1, -(-self.n // (rows * max(1, PROGRAMS // self.blocks))))
        self.grid = (self.blocks, -(-self.n // self.rows_each))
        self.shape = {
            "LOGITS": self.logits, "COLS": self.cols, "LANES": LANES, "UNROLL": UNROLL,
        }  # fmt: skip

    @property
    def _rows(self) -> tuple[Tensor, ...]:
        return self.x, self.top, self.share

    @property
    def _sizes(self) -> tuple[int, ...]:
        return self.n, self.k, self.x.stride(0)

    def _counts(self, *shape: int) -> Tensor:
        return torch.zeros(shape, dtype=torch.int32, device=self.device)

    def in_equal_mass(self, m: int, *, squares: bool) -> Tensor:
        """The fields of every class in m bins of equal mass, (classes, m, fields)."""
        edges, n = self._edges(m)
        u, u2, _ = self._sums(edges, m, squares=squares, counts=False)
        return fields_of_labels(n.double(), u, u2, *self._labels(edges, m))

    def between(self, inner: Tensor) -> Tensor:
        """The fields of every class in bins between the same edges, but for squares."""
        m = inner.numel() + 1
        edges = self.top.new_full((self.k, MOST_BINS), 3.0)
        edges[:, : m - 1] = inner
        u, u2, n = self._sums(edges, m, squares=False, counts=True)
        return fields_of_labels(n, u, u2, *self._labels(edges, m))

    def _sums(self, edges: Tensor, m: int, *, squares: bool, counts: bool) -> Tensor:
        """u, u^2 and 1 of every class and bin, (3, classes, m)."""
        sums = torch.zeros((3, self.k, MOST_BINS), dtype=torch.float64, device=self.device)
        # Logits become single numbers with an error of some 2e-7: so may their sums of some rows.
        kernels.add_to_class_bins[self.grid](
            *self._rows, edges, sums, *self._sizes, self.rows_each, self.above,
            SUM=tl.float32 if self.logits else tl.float64, SQUARES=squares, COUNTS=counts,
            **self.shape, num_warps=4,
        )  # fmt: skip
        bins = torch.nn.functional.pad(sums[:, :, :m], (1, 0)).diff(dim=2)
        if not squares:
            bins[1] = torch.nan
        return bins

    def _labels(self, edges: Tensor, m: int) -> Tensor:
        """z and uz of every class and bin, (2, classes, m)."""
        copies = max(1, COPIED_CELLS // self.k)
        own = torch.zeros((copies, 2, self.k, MOST_BINS), dtype=torch.float64, device=self.device)
        kernels.add_labels[(-(-self.n // 256),)](
            *self._rows, self.y, edges, own, *self._sizes, self.above,
            LOGITS=self.logits, BLOCK=256, COPIES=copies,
        )  # fmt: skip
        return own.sum(dim=0)[:, :, :m]

    def _edges(self, m: int) -> tuple[Tensor, Tensor]:
        """Inner edges (classes, MOST_BINS), with some that nothing reaches, and the entries of each
        bin. `quantiles.quantile_edges` finds the same by a sort.
        """
        counts = self._counts(self.k, CELLS)
        kernels.count_cells[self.grid](
            *self._rows, counts, *self._sizes, self.rows_each, self.above, **self.shape,
            num_warps=4,
        )  # fmt: skip
        through = counts.cumsum(1)
        total = through[:, -1:].double()
        j = torch.arange(1, m, dtype=torch.float64, device=self.device)
        rank = ((j * total / m).ceil() - 1).clamp(min=0).long()
        bits, before, equal = _picked(through, rank)
        for shift in (18, 9):
            prefixes = torch.full((self.k, MOST_BINS), 2**31 - 1, dtype=torch.int32).to(self.device)
            prefixes[:, : m - 1] = bits
            parts = self._counts(self.k, MOST_BINS, PARTS)
            kernels.count_parts[self.grid](
                *self._rows, prefixes, parts, *self._sizes, self.rows_each, self.above,
                SHIFT=shift, **self.shape, num_warps=4,
            )  # fmt: skip
            place = torch.searchsorted(bits, bits)
            mine = parts.gather(1, place[:, :, None].expand(-1, -1, PARTS)).cumsum(2)
            part, more, equal = _picked(mine, (rank - before)[:, :, None])
            bits, before = bits * PARTS + part[:, :, 0], before + more[:, :, 0]
            equal = equal[:, :, 0]
        in_lower = (2 * before + equal).double() * m <= 2.0 * j * total * (1 + ROUNDING)
        values = bits.to(torch.int32).view(torch.float32)
        # The next single number: none lies between.
        above = torch.nextafter(values, values.new_full((), torch.inf))
        edges = values.new_full((self.k, MOST_BINS), 3.0)
        edges[:, : m - 1] = torch.where(in_lower, above, values).cummax(dim=1).values
        borders = torch.where(in_lower, before + equal, before).cummax(dim=1).values
        ends = torch.zeros_like(total).long()
        return edges, torch.cat([ends, borders, total.long()], dim=1).diff(dim=1)


def _picked(through: Tensor, rank: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Of counts summed along their last dimension: the cell that holds a rank (from 0), how many
    are before it, and how many in it.
    """
    cell = torch.searchsorted(through, rank, right=True).clamp(max=through.shape[-1] - 1)
    upto = through.gather(-1, cell)
    before = torch.where(cell > 0, through.gather(-1, (cell - 1).clamp(min=0)), 0)
    return cell, before, upto - before
