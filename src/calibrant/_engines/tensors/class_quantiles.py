"""Bins of equal mass in every class, on a CUDA device, without a sort: counts by the bits of the
probabilities find the edges, and one more read sums between them. The memory that this takes does
not grow with the rows, but for two numbers a row.

Entries are in single precision, so that those within some 2e-7 of an edge may fall on either side
of it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
import triton
import triton.language as tl
from numpy.typing import NDArray
from torch import Tensor

from calibrant._core.bin_tables import FIELDS
from calibrant._core.binning import ROUNDING
from calibrant._data.tensor_samples import TensorSamples
from calibrant._engines.protocol import Findings
from calibrant._engines.tensors import class_kernels as kernels
from calibrant._engines.tensors import fused
from calibrant._engines.tensors.sums import fields_of_labels

# The bins of a class that a thread keeps in its registers.
MOST_BINS = 16
PARTS, CELLS = 512, 4096
# Threads of a program, each with a class; and programs, if there are rows for as many.
LANES = 128
UNROLL = 2
PROGRAMS = 132 * 16
NOTHING = -1


def fits(samples: TensorSamples, m: int) -> bool:
    """Whether the kernels can read these."""
    short = samples.n_classes <= fused.LONGEST_IN_REGISTERS and samples.n <= fused.ROWS
    return m <= MOST_BINS and short and fused.fits(samples, None)


def class_quantiles(
    samples: TensorSamples, m: int, above: float | None = None, *, squares: bool = True
) -> tuple[NDArray[np.float64], Findings]:
    """Sums (classes, m, fields) of each class in m bins of equal mass; only of the entries above a
    number, if one is given.
    """
    top, share, findings = fused.norms(samples)
    read = _Entries(samples, top, share, NOTHING if above is None else bits_of(above))
    found = read.table(m, squares=squares).cpu().numpy().reshape(samples.n_classes, m, len(FIELDS))
    return found, findings


def bits_of(number: float) -> int:
    """The bits of the largest single number at or below one of [0, 1]."""
    single = np.float32(number)
    if float(single) > number:
        single = np.nextafter(single, np.float32(0))
    return int(single.view(np.int32))


@dataclass(eq=False)
class _Entries:
    """The entries of rows that were checked, as the kernels read them."""

    samples: TensorSamples
    top: Tensor
    share: Tensor
    above: int

    def __post_init__(self) -> None:
        self.x, self.y = self.samples.predictions, self.samples.targets.long()
        self.n, self.k = self.x.shape
        self.device = self.x.device
        self.cols = min(LANES, triton.next_power_of_2(self.k))
        self.blocks = -(-self.k // self.cols)
        rows = LANES // self.cols
        self.rows_each = rows * max(1, -(-self.n // (rows * max(1, PROGRAMS // self.blocks))))
        self.grid = (self.blocks, -(-self.n // self.rows_each))
        self.shape = {
            "LOGITS": self.samples.from_logits, "COLS": self.cols, "LANES": LANES, "UNROLL": UNROLL,
        }  # fmt: skip

    @property
    def _rows(self) -> tuple[Tensor, ...]:
        return self.x, self.top, self.share

    @property
    def _sizes(self) -> tuple[int, ...]:
        return self.n, self.k, self.x.stride(0)

    def _counts(self, *shape: int) -> Tensor:
        return torch.zeros(shape, dtype=torch.int32, device=self.device)

    def table(self, m: int, *, squares: bool) -> Tensor:
        """The fields of every class and bin, (classes * m, fields)."""
        edges, n = self._edges(m)
        sums = torch.zeros((4, self.k, MOST_BINS), dtype=torch.float64, device=self.device)
        # Logits become single numbers with an error of some 2e-7: so may their sums of some rows.
        kernels.add_to_class_bins[self.grid](
            *self._rows, edges, sums, *self._sizes, self.rows_each, self.above,
            SUM=tl.float32 if self.samples.from_logits else tl.float64, SQUARES=squares,
            **self.shape, num_warps=4,
        )  # fmt: skip
        kernels.add_labels[(-(-self.n // 256),)](
            *self._rows, self.y, edges, sums[2:], *self._sizes, self.above,
            LOGITS=self.samples.from_logits, BLOCK=256,
        )  # fmt: skip
        sums[:2] = torch.nn.functional.pad(sums[:2, :, :m], (1, MOST_BINS - m)).diff(dim=2)
        if not squares:
            sums[1] = torch.nan
        u, u2, z, uz = (part.reshape(-1) for part in sums[:, :, :m])
        return fields_of_labels(n.double().reshape(-1), u, u2, z, uz)

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
