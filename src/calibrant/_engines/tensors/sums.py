"""BinSums: the sums of BinTable.FIELDS per bin, on the device."""

from __future__ import annotations

import torch
from torch import Tensor

from calibrant._core.bin_tables import FIELDS, label_fields
from calibrant._engines.tensors.blocks import Scalars

N, SUM_W, SUM_W2, SUM_WU, SUM_WZ, SUM_WU2, SUM_WUZ, SUM_WZ2, SUM_W2Z = range(len(FIELDS))
# Threads of a device that add to one number wait for each other: few bins get many copies.
_CELLS_ON_DEVICE = 1 << 14
_MOST_COPIES = 256


class BinSums:
    """Sums of the fields of BinTable per bin, on the device, added up block by block. The caller
    gives each row's bin, from 0.
    """

    def __init__(
        self, m: int, device: torch.device, *, weighted: bool, squares: bool = True
    ) -> None:
        self.m, self.weighted, self.squares = m, weighted, squares
        self.copies = _copies(m, device)
        shape = (len(FIELDS), m * self.copies)
        self._sums = torch.zeros(shape, dtype=torch.float64, device=device)

    def add(self, index: Tensor, block: Scalars) -> None:
        """Add the rows of a block of a scalar problem to their bins; `index` has the bin of each
        row.
        """
        self.add_predictions(index, block.u, block.w)
        self.add_targets(index, block.u, block.z, block.w)

    def add_predictions(self, index: Tensor, u: Tensor, w: Tensor | None) -> None:
        """Add the fields without targets: counts, weights w (None: 1) and predictions u."""
        at = _take_turns(index, self.copies)
        if w is None:
            self._add(N, at, torch.ones((), dtype=torch.float64, device=u.device).expand_as(u))
            wu = u
        else:
            wu = w * u
            for field, values in ((N, (w > 0).double()), (SUM_W, w), (SUM_W2, w * w)):
                self._add(field, at, values)
        self._add(SUM_WU, at, wu)
        if self.squares:
            self._add(SUM_WU2, at, wu * u)

    def add_targets(self, index: Tensor, u: Tensor, z: Tensor, w: Tensor | None) -> None:
        """Add the fields with targets z, from predictions u and weights w (None: 1). Rows with a
        target of 0 may be left out, since they add 0.
        """
        at = _take_turns(index, self.copies)
        wz = z if w is None else w * z
        for field, values in ((SUM_WZ, wz), (SUM_WUZ, wz * u), (SUM_WZ2, wz * z)):
            self._add(field, at, values)
        if w is not None:
            self._add(SUM_W2Z, at, w * w * z)

    def _add(self, field: int, at: Tensor, values: Tensor) -> None:
        """Add the values to one field of the sums, in the columns `at`."""
        self._sums[field].index_add_(0, at, values)

    def result(self) -> Tensor:
        """The sums of each bin over all copies, (bins, fields)."""
        sums = self._sums.reshape(len(FIELDS), self.m, self.copies).sum(dim=2).T.clone()
        if not self.weighted:
            sums[:, SUM_W] = sums[:, SUM_W2] = sums[:, N]
            sums[:, SUM_W2Z] = sums[:, SUM_WZ]
        return sums


def sums_of_columns(columns: Tensor, index: Tensor, m: int) -> Tensor:
    """The sums of m bins of columns that share their bins, (..., m): `columns` is (..., n), and
    `index` (n,) has the bin of each row.
    """
    copies = _copies(m, index.device)
    sums = columns.new_zeros((*columns.shape[:-1], m * copies))
    sums.index_add_(columns.ndim - 1, _take_turns(index, copies), columns)
    return sums.reshape(*columns.shape[:-1], m, copies).sum(dim=-1)


def _copies(m: int, device: torch.device) -> int:
    """The number of copies of m bins among which the rows on a device take turns."""
    return 1 if device.type == "cpu" else max(1, min(_MOST_COPIES, _CELLS_ON_DEVICE // m))


def _take_turns(index: Tensor, copies: int) -> Tensor:
    """The column of each row's bin in the sums, where rows take turns among the copies of a bin."""
    if copies == 1:
        return index
    return index * copies + torch.arange(index.numel(), device=index.device) % copies


def fields_of_labels(n: Tensor, u: Tensor, u2: Tensor, z: Tensor, uz: Tensor) -> Tensor:
    """The fields of BinTable on the last dimension, for weights of 1 and targets of 0 or 1.

    `n` is the number of rows; the others are sums of predictions u, of u^2, of targets z, and of u
    z.
    """
    return torch.stack(label_fields(n, u, u2, z, uz), dim=-1)
