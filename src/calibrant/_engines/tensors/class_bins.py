"""Every entry of (n, k) predictions in bins of its class, on a CUDA device: between given edges, or
in bins of equal mass, whose edges are found by counting bits.

Entries are in single precision, so that those within some 2e-7 of an edge may fall on either side
of it. The memory that this takes does not grow with the rows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
import triton.language as tl
from torch import Tensor

from calibrant._core.binning import ROUNDING
from calibrant._engines.tensors import class_kernels as kernels
from calibrant._engines.tensors.sums import fields_of_labels

# The most bins of a class: a thread keeps the sums of all in its registers.
MOST_BINS = 16
PARTS, CELLS = 512, 4096
# Threads of a program, each with a class; and the number of programs, if rows are enough.
LANES = 128
PROGRAMS = 132 * 16
# Rows that a thread asks for at once, and rows that are summed in single precision.
DEPTH, RUN = 8, 64
# From MANY_ROWS rows on, one row in ONE_OF says where borders lie, with a slack of SURE standard
# deviations.
MANY_ROWS, ONE_OF, SURE = 1 << 18, 8, 7.0
NOTHING = -1
# Classes times copies of a table to which labels are added.
COPIED_CELLS = 2048


@dataclass(eq=False)
class Entries:
    """All entries of (n, k) predictions, checked, to be summed in bins of their class by Triton
    kernels: probabilities or logits `x`, and labels `y`.
    """

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
        # With few classes, the number of threads that leaves the fewest without a class.
        self.lanes = max((LANES, 2 * LANES, 4 * LANES), key=lambda lanes: lanes // self.k / lanes)
        self.cols = min(self.lanes, self.k)
        self.blocks = -(-self.k // self.cols)
        rows = self.lanes // self.cols
        self.rows_each = rows * max(1, -(-self.n // (rows * max(1, PROGRAMS // self.blocks))))
        self.grid = (self.blocks, -(-self.n // self.rows_each))
        self.shape = {
            "LOGITS": self.logits,
            "COLS": self.cols,
            "LANES": self.lanes,
            "DEPTH": DEPTH,
            "num_warps": self.lanes // 32,
        }

    @property
    def _rows(self) -> tuple[Tensor, ...]:
        """The tensors from which kernels compute probabilities: predictions, each row's largest
        logit, and 1 over its sum of exponentials.
        """
        return self.x, self.top, self.share

    @property
    def _sizes(self) -> tuple[int, ...]:
        """The numbers that every kernel takes: rows, classes, step between rows, rows of a program,
        and the bits of the number that entries must exceed.
        """
        return self.n, self.k, self.x.stride(0), self.rows_each, self.above

    def _counts(self, *shape: int) -> Tensor:
        """A tensor of zero counts on the device, of this shape, as 32-bit whole numbers."""
        return torch.zeros(shape, dtype=torch.int32, device=self.device)

    def quantile_fields(self, m: int, *, squares: bool) -> Tensor:
        """The sums of every class in its own m bins of equal mass, (classes, m, fields of
        BinTable). Without `squares` the sums of squared predictions are NaN.
        """
        edges, n = self._edges(m)
        u, u2 = self._sums(edges, m, squares=squares)
        return fields_of_labels(n.double(), u, u2, *self._labels(edges, m))

    def fixed_fields(self, inner: Tensor) -> Tensor:
        """The sums of every class in the bins between the same inner edges, (classes, bins, fields
        of BinTable); sums of squares are NaN.
        """
        m = inner.numel() + 1
        edges = self.top.new_full((self.k, MOST_BINS), 3.0)
        edges[:, : m - 1] = inner
        u, n = self._sums(edges, m, counts=True)
        return fields_of_labels(n, u, torch.full_like(u, torch.nan), *self._labels(edges, m))

    def _sums(
        self, edges: Tensor, m: int, *, squares: bool = False, counts: bool = False
    ) -> tuple[Tensor, Tensor]:
        """Two tensors (classes, m): the sum of predictions in every class and bin, and the sum of
        their squares or, with `counts`, the number of entries. The second is NaN if neither is
        requested.
        """
        below = torch.zeros((2, self.k, MOST_BINS), dtype=torch.float64, device=self.device)
        # Probabilities of logits err by some 2e-7, so sums over some rows may be float32 too.
        sums = {"SUM": tl.float32 if self.logits else tl.float64, "RUN": RUN}
        wanted = {"SQUARES": squares, "COUNTS": counts}
        kernels.add_to_class_bins[self.grid](
            *self._rows, edges, below, *self._sizes, M=m, **sums, **wanted, **self.shape
        )
        u, more = torch.nn.functional.pad(below[:, :, :m], (1, 0)).diff(dim=2)
        return u, more if squares or counts else torch.full_like(u, torch.nan)

    def _labels(self, edges: Tensor, m: int) -> Tensor:
        """The number of rows whose label's probability is in each bin of the label's class, and the
        sum of these probabilities, (2, classes, m).
        """
        copies = max(1, COPIED_CELLS // self.k)
        own = torch.zeros((copies, self.k, MOST_BINS, 2), dtype=torch.float64, device=self.device)
        kernels.add_labels[(-(-self.n // 256),)](
            *self._rows,
            self.y,
            edges,
            own,
            self.n,
            self.k,
            self.x.stride(0),
            self.above,
            LOGITS=self.logits,
            BLOCK=256,
            COPIES=copies,
        )
        return own.sum(dim=0)[:, :m].permute(2, 0, 1)

    def _leading_bits(self, j: Tensor, m: int) -> tuple[Tensor, Tensor, tuple[Tensor, ...]]:
        """The rank that decides each border j of m bins, (classes, m - 1); the number of entries of
        each class; and, as `_find_rank` returns it, the leading 12 bits of the prediction at that
        rank with counts.

        A sample of the rows narrows the search, so that most entries need not be counted; if it
        misses a border, all entries are counted.
        """
        if self.n >= MANY_ROWS and m > 1:
            part = slice(None, None, ONE_OF)
            some = replace(
                self,
                x=self.x[part],
                y=self.y[part],
                top=self.top[part].contiguous(),
                share=self.share[part].contiguous(),
            )
            found = self._bits_in_windows(*some._windows(j, m), j, m)
            if found is not None:
                return found
        through = self._cells().cumsum(1)
        total = through[:, -1:].double()
        rank = _ranks(j, m, total)
        return rank, total, _find_rank(through, rank)

    def _cells(self) -> Tensor:
        """The number of entries of each class in each cell, that is by their leading 12 bits,
        (classes, CELLS).
        """
        counts = self._counts(self.k, CELLS)
        kernels.count_cells[self.grid](*self._rows, counts, *self._sizes, **self.shape)
        return counts

    def _windows(self, j: Tensor, m: int) -> tuple[Tensor, Tensor]:
        """The first and the last cell (leading 12 bits) between which each border almost surely
        lies in a larger sample, (classes, m - 1) each.
        """
        through = self._cells().cumsum(1)
        total = through[:, -1:].double()
        middle = j * total / m
        slack = SURE * (middle * (1 - j / m)).sqrt() + SURE
        first, last = (
            torch.searchsorted(through, at.long().clamp(min=0), right=True)
            for at in (middle - slack, middle + slack)
        )
        return first.cummax(dim=1).values, last.clamp(max=CELLS - 1).cummax(dim=1).values

    def _bits_in_windows(
        self, first: Tensor, last: Tensor, j: Tensor, m: int
    ) -> tuple[Tensor, Tensor, tuple[Tensor, ...]] | None:
        """The result of `_leading_bits`, from the entries in the cells from `first` to `last`
        alone; None if some border is elsewhere.
        """
        low, high = self._counts(2, self.k, MOST_BINS)
        low[:, : m - 1], high[:, : m - 1] = first << 18, (last + 1) << 18
        counts = self._counts(self.k, CELLS)
        reached = self.top.new_zeros((self.k, MOST_BINS + 1), dtype=torch.float64)
        windows = (low.view(torch.float32), high.view(torch.float32))
        kernels.count_windows[self.grid](
            *self._rows, *windows, counts, reached, *self._sizes, M=m - 1, **self.shape
        )
        through = counts.cumsum(1)
        total = reached[:, m - 1 : m]
        rank = _ranks(j, m, total)
        # How many entries below each window are in no window.
        upto = torch.nn.functional.pad(through, (1, 0)).gather(1, first)
        elsewhere = (total - reached[:, : m - 1]).long() - upto
        cell, before, equal = _find_rank(through, rank - elsewhere)
        sound = (rank >= elsewhere) & (cell >= first) & (cell <= last) | (total == 0)
        return (rank, total, (cell, before + elsewhere, equal)) if bool(sound.all()) else None

    def _edges(self, m: int) -> tuple[Tensor, Tensor]:
        """The inner edges of m bins of equal mass, (classes, MOST_BINS), where the unused ones are
        above every entry; and the number of entries in each bin, (classes, m).

        `quantiles.quantile_edges` finds the same edges by a sort.
        """
        j = torch.arange(1, m, dtype=torch.float64, device=self.device)
        rank, total, (bits, before, equal) = self._leading_bits(j, m)
        for shift in (18, 9):
            prefixes = torch.full((self.k, MOST_BINS), 2**31 - 1, dtype=torch.int32).to(self.device)
            prefixes[:, : m - 1] = bits
            parts = self._counts(self.k, MOST_BINS, PARTS)
            kernels.count_parts[self.grid](
                *self._rows, prefixes, parts, *self._sizes, M=m - 1, SHIFT=shift, **self.shape
            )
            place = torch.searchsorted(bits, bits)
            mine = parts.gather(1, place[:, :, None].expand(-1, -1, PARTS)).cumsum(2)
            part, more, equal = _find_rank(mine, (rank - before)[:, :, None])
            bits, before = bits * PARTS + part[:, :, 0], before + more[:, :, 0]
            equal = equal[:, :, 0]
        in_lower = (2 * before + equal).double() * m <= 2.0 * j * total * (1 + ROUNDING)
        values = bits.to(torch.int32).view(torch.float32)
        # The next float32: no entry lies between.
        above = torch.nextafter(values, values.new_full((), torch.inf))
        edges = values.new_full((self.k, MOST_BINS), 3.0)
        edges[:, : m - 1] = torch.where(in_lower, above, values).cummax(dim=1).values
        borders = torch.where(in_lower, before + equal, before).cummax(dim=1).values
        ends = torch.zeros_like(total).long()
        return edges, torch.cat([ends, borders, total.long()], dim=1).diff(dim=1)


def _ranks(j: Tensor, m: int, total: Tensor) -> Tensor:
    """The rank (from 0) of the entry, among `total` entries, that decides where the bin j of m bins
    of equal mass begins.
    """
    return ((j * total / m).ceil() - 1).clamp(min=0).long()


def _find_rank(through: Tensor, rank: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The cell that contains each rank (from 0), the number of entries before that cell, and the
    number in it. `through` has the cumulative counts of cells along the last dimension.
    """
    cell = torch.searchsorted(through, rank, right=True).clamp(max=through.shape[-1] - 1)
    upto = through.gather(-1, cell)
    before = torch.where(cell > 0, through.gather(-1, (cell - 1).clamp(min=0)), 0)
    return cell, before, upto - before
