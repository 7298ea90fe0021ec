"""Unit grids that stay on a CUDA device: one read gives a fine one and every coarser one, and they
are smoothed there.
"""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
import torch
from torch import Tensor

from calibrant._core.grid import Smoothed, UnitGrid
from calibrant._core.typing import Array
from calibrant._engines.protocol import Findings
from calibrant._engines.tensors import grid_kernels as kernels
from calibrant._engines.tensors.scalars import Column, deposit, masses
from calibrant._measures.smooth import TAIL, WIDE_SIGMA

# From MANY_ROWS rows on, the first read makes the fine grid that 10^8 calibrated rows need.
MANY_ROWS, FINE_CELLS = 1 << 20, 1 << 16
# Nodes that one program smooths.
NODES = 1024


class DeviceUnitGrid(UnitGrid):
    """Sums of target less prediction at the nodes of a grid of [0, 1], for one problem, on a
    device.
    """

    def __init__(self, residuals: Tensor) -> None:
        object.__setattr__(self, "_residuals", residuals)
        self._residuals: Tensor

    @cached_property
    def sums(self) -> Array:
        """The sums at nodes brought to the host, (1, 1, nodes)."""
        return self._residuals.cpu().numpy()[None, None]

    @property
    def cells(self) -> int:
        """The number of cells, one less than the number of nodes."""
        return self._residuals.numel() - 1

    @property
    def n_classes(self) -> int:
        """The number of classes, always 1."""
        return 1

    def smoothed(self, r: int) -> Smoothed:
        """The function from a width of noise and a number of cells to the integral of the smoothed
        residual's absolute value. The class `r` is ignored, since there is one.
        """
        return self._integral

    @cached_property
    def cosines(self) -> Tensor:
        """The coefficients of the cosine series of the residuals; `smooth_ece.cosines_of` has those
        of arrays.
        """
        ends_doubled = self._residuals.clone()
        ends_doubled[:: self.cells] *= 2.0
        mirrored = torch.cat([ends_doubled, ends_doubled[1:-1].flip(0)])
        return torch.fft.rfft(mirrored).real / 2.0

    def _integral(self, width: float, cells: int) -> float:
        """The integral over [0, 1] of the absolute residual smoothed by noise of this width,
        computed on this many cells; `smooth_ece._smoothed` does the same for arrays.
        """
        sigma = min(width, WIDE_SIGMA)
        left = min(cells, math.ceil(TAIL / (math.pi * sigma)))
        device = self._residuals.device
        damped = torch.empty((cells + 1, 2), dtype=torch.float64, device=device)
        # A float argument would become float32, so the bits of the double are passed as an integer.
        (bits,) = struct.unpack("<q", struct.pack("<d", -0.5 * (math.pi * sigma) ** 2))
        programs = -(-(cells + 1) // NODES)
        kernels.damp[(programs,)](self.cosines, damped, bits, left, cells, BLOCK=NODES)
        f = torch.fft.irfft(torch.view_as_complex(damped), n=2 * cells, norm="forward")
        parts = torch.empty(programs, dtype=torch.float64, device=device)
        kernels.add_absolute[(programs,)](f, parts, cells, BLOCK=NODES)
        return float(parts.cpu().numpy().sum()) / cells


def unit_grid(column: Column, cells: int) -> tuple[DeviceUnitGrid, Findings] | None:
    """The sums of target less prediction on a grid of this many cells of [0, 1], mass beyond the
    ends folded back inside, and the findings. None if some target is neither 0 nor 1.

    The read of a column is cached, and serves coarser grids too.
    """
    kept: _CachedGrids | None = column.kept.get("unit grids")
    if kept is None or kept.fine % cells:
        fine = FINE_CELLS if column.n >= MANY_ROWS and FINE_CELLS % cells == 0 else cells
        status = column.new_status()
        moments = deposit(column, status, 1, fine + 4, float(fine), 1, 0.0, 1.0).sum(dim=0)[0]
        # The grids that may be asked for next are begun while the device still reads rows.
        grids = {size: _coarser_grid(moments, fine // size) for size in {cells, fine}}
        grids[fine].cosines  # noqa: B018
        found = column.resolved(status)
        if found is None:
            return None
        column.kept["unit grids"] = kept = _CachedGrids(fine, moments, found[0], grids)
    if cells not in kept.grids:
        kept.grids[cells] = _coarser_grid(kept.moments, kept.fine // cells)
    return kept.grids[cells], kept.findings


@dataclass(eq=False)
class _CachedGrids:
    """The moments of a fine grid's cells, with the findings, and the coarser grids made from them
    so far, by number of cells.
    """

    fine: int
    moments: Tensor
    findings: Findings
    grids: dict[int, DeviceUnitGrid]


def _coarser_grid(moments: Tensor, together: int) -> DeviceUnitGrid:
    """The grid whose cells each join `together` neighbouring cells of a finer grid, from the finer
    cells' moments (cells and 4 spare, 4).
    """
    if together > 1:
        # One spare cell is before the cells and three are after; the first of these holds u = 1.
        inside = moments[1:-3].reshape(-1, 4 * together) @ _coarsening(moments.device, together)
        moments = torch.cat([moments[:1], inside, moments[-3:]])
    at_nodes = masses(moments[None, None])[0]
    residuals = at_nodes[1:-2].clone()
    # Masses beyond the ends are folded back.
    residuals[1] += at_nodes[0]
    residuals[-2] += at_nodes[-2]
    residuals[-3] += at_nodes[-1]
    return DeviceUnitGrid(residuals)


@lru_cache(maxsize=8)
def _coarsening(device: torch.device, together: int) -> Tensor:
    """The matrix (4 times together, 4) that turns the moments of neighbouring cells into those of
    one cell joining them: the offset t in the cell r becomes (r + t) / together.
    """
    out = np.zeros((together, 4, 4))
    for r in range(together):
        for power in range(4):
            for k in range(power + 1):
                out[r, k, power] = math.comb(power, k) * float(r) ** (power - k) / together**power
    return torch.from_numpy(out.reshape(-1, 4)).to(device)
