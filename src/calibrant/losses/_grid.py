"""Smoothing on a grid, as the measures do it, in operations that torch differentiates.

Mass goes to the four nodes around its place by cubic interpolation, whose slope is that of the
smoothed sum to the third order of the spacing; a Fourier transform damps each frequency. Cost and
memory are those of the nodes and of the rows, never of their product.
"""

from __future__ import annotations

import torch
from torch import Tensor


def smoothed(position: Tensor, mass: Tensor, size: int, damping: Tensor, n_points: int) -> Tensor:
    """Masses (problems, rows) at places on a ring of nodes, smoothed, at points of equal spacing.

    `damping` holds what is left of the first frequencies; of the others nothing is.
    """
    spectrum = torch.fft.rfft(deposited(position, mass, size))[:, : damping.numel()]
    smooth: Tensor = torch.fft.irfft(spectrum * damping, n=n_points)
    return smooth


def deposited(position: Tensor, mass: Tensor, size: int) -> Tensor:
    """The mass at each node of a ring."""
    first = position.detach().floor()
    t = position - first
    a, b, c = t + 1.0, t - 1.0, t - 2.0
    parts = (-t * b * c / 6.0, a * b * c / 2.0, -a * t * c / 2.0, a * t * b / 6.0)
    nodes = torch.cat([first + offset for offset in (-1, 0, 1, 2)], dim=1)
    # What is not a number has no place; its mass is not one either, and the loss says so.
    nodes = nodes.nan_to_num(0.0).long().remainder(size)
    masses = torch.cat([mass * part for part in parts], dim=1)
    return masses.new_zeros(masses.shape[0], size).scatter_add(1, nodes, masses)


def integral_of_absolute(f: Tensor, spacing: float) -> Tensor:
    """The integral of |f| over the nodes of each row, f being 0 or even beyond both ends.

    As `calibrant._measures.smooth.integral_of_absolute`: a sum, and where f changes sign the terms
    of Euler and Maclaurin for the kink of |f|. Every node is looked at, so that nothing waits for
    how many there are.
    """
    size = f.abs()
    total = size.sum(dim=1, keepdim=True)
    crosses = (f[:, :-1] >= 0) != (f[:, 1:] >= 0)
    # Where there is no mass f is rounding noise of either sign, in thousands of nodes.
    crosses &= size[:, :-1] + size[:, 1:] > 0.5 * torch.finfo(f.dtype).eps * total.detach()
    # Beyond an end f goes on as its mirror image.
    around = (
        torch.cat([f[:, 1:2], f[:, :-2]], dim=1),
        f[:, :-1],
        f[:, 1:],
        torch.cat([f[:, 2:], f[:, -2:-1]], dim=1),
    )
    # A straight line wherever there is no kink: no division by 0 there, nor in its gradient.
    f0, f1, f2, f3 = (
        torch.where(crosses, values, line)
        for values, line in zip(around, (1.5, 0.5, -0.5, -1.5), strict=True)
    )
    c1 = f2 - f1 / 2.0 - f0 / 3.0 - f3 / 6.0
    c2 = (f0 + f2) / 2.0 - f1
    c3 = (f3 - f0) / 6.0 + (f1 - f2) / 2.0
    at = _crossing(f1, f2, (c1, c2, c3))
    upward = torch.where(f2 >= 0, 2.0, -2.0).to(f.dtype)
    slope = c1 + at * (2.0 * c2 + 3.0 * at * c3)
    q = at * (at - 1.0)
    kinks = slope * (q + 1 / 6) / 2 - (2.0 * c2 + 6.0 * c3 * at) * (q * (at - 0.5)) / 6
    kinks = kinks + 6.0 * c3 * (q * q - 1 / 30) / 24
    kinks = torch.where(crosses, upward * kinks, torch.zeros_like(kinks))
    return spacing * (total[:, 0] + kinks.sum(dim=1))


def _crossing(f1: Tensor, f2: Tensor, cubic: tuple[Tensor, Tensor, Tensor]) -> Tensor:
    """Where, between two nodes, the cubic through four of them is 0."""
    c1, c2, c3 = cubic
    at = f1 / (f1 - f2)
    for _ in range(2):
        value = f1 + at * (c1 + at * (c2 + at * c3))
        slope = c1 + at * (2.0 * c2 + 3.0 * at * c3)
        # A cubic that is flat where it should cross says nothing: the chord's crossing stays.
        steep = slope.abs() > value.abs()
        step = value / torch.where(steep, slope, torch.ones_like(slope))
        at = torch.where(steep, (at - step).clamp(0.0, 1.0), at)
    return at
