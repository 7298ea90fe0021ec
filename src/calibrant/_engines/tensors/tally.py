"""What a pass finds on its way, kept on the device, and brought here with its sums in one piece."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from calibrant._core.typing import Array, Counts
from calibrant._data.samples import BadRow
from calibrant._engines.protocol import BAD_ROW, SOFT, Findings, new_status


class Tally:
    """The counters of a pass over rows and the number of its first invalid row, kept on the device.

    No method waits for the device: an invalid row is noticed when the sums come to the host, so
    computations meanwhile must be safe to index with any value of the row.
    """

    def __init__(self, device: torch.device) -> None:
        # Counters as float64, exact up to 2^53, so that they travel with the sums.
        self.counts = torch.zeros(new_status().size, dtype=torch.float64, device=device)
        self.counts[BAD_ROW] = torch.inf

    def check(self, good: Tensor, start: int) -> None:
        """Record the first row that is not `good` in the block that begins at row `start`."""
        rows = torch.arange(start, start + good.numel(), dtype=torch.float64, device=good.device)
        first = torch.where(good, torch.inf, rows).amin()
        self.counts[BAD_ROW] = torch.minimum(self.counts[BAD_ROW], first)

    def count(self, counter: int, flags: Tensor) -> None:
        """Add the number of true flags to a counter, a position in the status (N_CLIPPED, ...)."""
        self.counts[counter] += flags.sum()

    def note_soft(self, targets: Tensor) -> None:
        """Record whether some target is neither 0 nor 1."""
        soft = ((targets != 0) & (targets != 1)).any()
        self.counts[SOFT] = torch.maximum(self.counts[SOFT], soft.double())


def to_host(*tensors: Tensor) -> list[Array]:
    """Float64 tensors as arrays, brought from the device in one transfer; each array has memory of
    its own.
    """
    ends = np.cumsum([part.numel() for part in tensors])[:-1]
    packed = torch.cat([part.reshape(-1) for part in tensors]).cpu().numpy()
    pairs = zip(np.split(packed, ends), tensors, strict=True)
    return [array.reshape(part.shape).copy() for array, part in pairs]


def bring_back(tally: Tally, *sums: Tensor) -> tuple[Counts, list[Array]]:
    """The status array of a pass (see `protocol`) and its sums, brought to the host in one
    transfer. Raises BadRow if a row was invalid.
    """
    counts, *arrays = to_host(tally.counts, *sums)
    if np.isfinite(counts[BAD_ROW]):
        raise BadRow(int(counts[BAD_ROW]))
    status = new_status()
    status[BAD_ROW + 1 :] = counts[BAD_ROW + 1 :].astype(np.int64)
    return status, arrays


def resolved(tally: Tally, *sums: Tensor) -> tuple[Findings, list[Array]]:
    """The findings of a pass and its sums, brought to the host in one transfer. Raises BadRow if a
    row was invalid.
    """
    status, arrays = bring_back(tally, *sums)
    return Findings.from_status(status), arrays
