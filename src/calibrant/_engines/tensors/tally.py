"""What a pass finds on its way, kept on the device, and brought here with its sums in one piece."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from calibrant._core.typing import Array
from calibrant._data.samples import BadRow
from calibrant._engines.protocol import BAD_ROW, SOFT, Findings, new_status


class Tally:
    """The counters of a pass and its first bad row.

    Nothing here waits for the device: a bad row is known when the sums come, so what is summed
    meanwhile must be safe to index with whatever the row holds.
    """

    def __init__(self, device: torch.device) -> None:
        # Counters as float64, exact up to 2^53, so that they travel with the sums.
        self.counts = torch.zeros(new_status().size, dtype=torch.float64, device=device)
        self.counts[BAD_ROW] = torch.inf

    def check(self, good: Tensor, start: int) -> None:
        """Note the first row of a block that is not good."""
        rows = torch.arange(start, start + good.numel(), dtype=torch.float64, device=good.device)
        first = torch.where(good, torch.inf, rows).amin()
        self.counts[BAD_ROW] = torch.minimum(self.counts[BAD_ROW], first)

    def count(self, slot: int, flags: Tensor) -> None:
        self.counts[slot] += flags.sum()

    def note_soft(self, targets: Tensor) -> None:
        """Note whether some target is a fraction."""
        soft = ((targets != 0) & (targets != 1)).any()
        self.counts[SOFT] = torch.maximum(self.counts[SOFT], soft.double())


def bring_back(tally: Tally, *sums: Tensor) -> tuple[NDArray[np.int64], list[Array]]:
    """The status and the sums, in one transfer; a BadRow if there was one."""
    packed = torch.cat([tally.counts, *(part.reshape(-1) for part in sums)]).cpu().numpy()
    head, at = packed[: tally.counts.numel()], tally.counts.numel()
    if np.isfinite(head[BAD_ROW]):
        raise BadRow(int(head[BAD_ROW]))
    status = new_status()
    status[BAD_ROW + 1 :] = head[BAD_ROW + 1 :].astype(np.int64)
    out = []
    for part in sums:
        out.append(packed[at : at + part.numel()].reshape(part.shape).copy())
        at += part.numel()
    return status, out


def resolved(tally: Tally, *sums: Tensor) -> tuple[Findings, list[Array]]:
    """The findings and the sums, in one transfer; a BadRow if there was one."""
    status, out = bring_back(tally, *sums)
    return Findings.from_status(status), out
