"""LS-ECE and smECE as losses: no bins, no jumps."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from calibrant._core.errors import InputError
from calibrant._core.grid import cubic_weights
from calibrant._core.validation import check_eps, is_number, public
from calibrant._engines.arrays.streams import EPS
from calibrant._measures.smooth import (
    LS_SIGMA,
    NODES_PER_SIGMA,
    SUMMED_PER_SIGMA,
    TAIL,
    WIDE_SIGMA,
    cubic_through,
)
from calibrant._summaries.smooth import (
    smallest_sigma,
    smallest_unit_sigma,
    spacing_for,
    unit_cells_for,
)
from calibrant.losses._problem import problem_of


def smooth_masses(
    position: Tensor, mass: Tensor, size: int, damping: Tensor, n_points: int
) -> Tensor:
    """Smooth masses (problems, rows), which lie at `position` on a ring of `size` nodes, by noise:
    the values at `n_points` points of equal spacing, (problems, n_points).

    `damping` holds the factors by which the noise multiplies the lowest frequencies; higher
    frequencies are removed.
    """
    spectrum = torch.fft.rfft(deposit(position, mass, size))[:, : damping.numel()]
    return torch.fft.irfft(spectrum * damping, n=n_points)


def deposit(position: Tensor, mass: Tensor, size: int) -> Tensor:
    """Deposit masses (problems, rows) at the nodes of a ring: the mass at each node, (problems,
    size). Each mass is divided among the four nodes around its position by cubic interpolation, so
    that gradients reach the position.
    """
    first = position.detach().floor()
    t = position - first
    nodes = torch.cat([first + offset for offset in (-1, 0, 1, 2)], dim=1)
    # NaN has no position; its mass is NaN too, so that the loss becomes NaN.
    nodes = nodes.nan_to_num(0.0).long().remainder(size)
    masses = torch.cat([mass * part for part in cubic_weights(t)], dim=1)
    return masses.new_zeros(masses.shape[0], size).scatter_add(1, nodes, masses)


def integral_of_absolute(f: Tensor, spacing: float) -> Tensor:
    """The integral of |f| for each row of f, (problems, nodes), whose nodes have equal spacing.
    Beyond both ends f is 0 or continues as its mirror image.

    As in `calibrant._measures.smooth.integral_of_absolute`, it is a sum and, where f changes sign,
    the terms of Euler and Maclaurin for the kink of |f|. The terms are computed at every node, so
    that nothing waits until the sign changes are counted.
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
    # A straight line where there is no kink, so that neither the value nor the gradient divides by
    # 0.
    f0, f1, f2, f3 = (
        torch.where(crosses, values, line)
        for values, line in zip(around, (1.5, 0.5, -0.5, -1.5), strict=True)
    )
    c1, c2, c3 = cubic_through(f0, f1, f2, f3)
    at = _zero_of_cubic(f1, f2, (c1, c2, c3))
    upward = torch.where(f2 >= 0, 2.0, -2.0).to(f.dtype)
    slope = c1 + at * (2.0 * c2 + 3.0 * at * c3)
    q = at * (at - 1.0)
    kinks = slope * (q + 1 / 6) / 2 - (2.0 * c2 + 6.0 * c3 * at) * (q * (at - 0.5)) / 6
    kinks = kinks + 6.0 * c3 * (q * q - 1 / 30) / 24
    kinks = torch.where(crosses, upward * kinks, torch.zeros_like(kinks))
    return spacing * (total[:, 0] + kinks.sum(dim=1))


def _zero_of_cubic(f1: Tensor, f2: Tensor, cubic: tuple[Tensor, Tensor, Tensor]) -> Tensor:
    """The position between two nodes, from 0 at the first to 1 at the second, at which the cubic
    through four nodes is 0. `f1` and `f2` are its values at the two nodes, and `cubic` its
    coefficients of the first, second and third power.
    """
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


# The default bandwidth of smECE as a loss: about the fixed point that small batches usually have.
SMOOTH_SIGMA = 0.1


@public
def ls_ece_loss(
    input: Tensor,
    target: Tensor,
    *,
    from_logits: bool,
    sigma: float = LS_SIGMA,
    eps: float = EPS,
    notion: str | None = None,
    sample_weight: Tensor | None = None,
    reduction: str = "mean",
) -> Tensor:
    r"""Logit-smoothed ECE of a batch, with gradients: `calibrant.ls_ece` with Gaussian noise.

    .. math:: \int \Bigl| \frac{1}{W} \sum_i w_i K_\sigma(t - h_i) (z_i - \rho(t)) \Bigr| \, dt

    where h is the logit of the prediction, rho the sigmoid and K the Gaussian density. The gradient
    exists if the integrand changes its sign only at isolated points, as it almost always does, and
    no row's top label is about to change.

    Parameters
    ----------
    input : tensor of shape (n,) or (n, k)
        Predicted probabilities or, with `from_logits`, logits; (n,) is of P(y = 1).
    target : tensor of shape (n,) or (n, k)
        Labels: 0/1 or probabilities for (n,); for (n, k) class indices, or soft labels (n, k).
    from_logits : bool
        Whether `input` holds logits. It is never guessed, and there is no default.
    sigma : float, default 0.1
        Width of the noise, on the scale of logits.
    eps : float, default 1e-06
        Predictions are clipped to [eps, 1 - eps] before their logits are taken, beyond which there
        is no gradient; logits of the shape (n,) are clipped to [-40, 40] instead.
    notion : {"binary", "confidence", "classwise"}, optional
        What is judged: `"binary"` for (n,); for (n, k) the top label (`"confidence"`, the default)
        or the mean over classes (`"classwise"`).
    sample_weight : tensor of shape (n,), optional
        Weight of each row, at least 0; 0 leaves a row out, as for padding.
    reduction : {"mean", "sum", "none"}, default "mean"
        How to combine the errors of the classes of `"classwise"`; `"none"` returns each.

    Returns
    -------
    Tensor
        The error, of the shape () and on the device of `input`; (k,) with ``reduction="none"``.

    Raises
    ------
    InputError
        If shapes, types or options do not fit, or, on the CPU, a value is out of range. On other
        devices values are not checked before the computation; there the loss is NaN.

    References
    ----------
    Chidambaram, Lee, McSwiggen and Rezchikov (2024), How Flawed Is ECE? An Analysis via Logit
    Smoothing, ICML, arXiv:2402.10046.

    Examples
    --------
    >>> import torch
    >>> from calibrant.losses import ls_ece_loss
    >>> p = torch.tensor([0.2, 0.7, 0.9, 0.4], requires_grad=True)
    >>> loss = ls_ece_loss(p, torch.tensor([0, 1, 1, 0]), from_logits=False)
    >>> round(loss.item(), 4)
    0.2504
    >>> loss.backward()
    >>> [round(g, 2) for g in p.grad.tolist()]
    [0.25, -0.25, -0.25, 0.25]
    """
    _check_sigma(sigma, smallest_sigma())
    check_eps(eps)
    problem = problem_of(input, target, from_logits, notion, sample_weight, reduction)
    spacing = spacing_for(sigma)
    # Every `coarser`-th node is a point of the integral: these are the points of the measure.
    coarser = max(1, int(min(sigma, 1.0) / SUMMED_PER_SIGMA / spacing + 1e-9))
    half = coarser * math.ceil(
        (problem.largest_logit(eps) + TAIL * sigma) / (spacing * coarser) + 4
    )
    size, n_points = _ring_size(2 * half, coarser)
    h = problem.logits(eps)
    damping = _gaussian_factors(
        sigma, 2.0 * math.pi / (size * spacing), min(size, n_points) // 2, h
    )
    masses = torch.cat([problem.w * problem.z, problem.w * (1.0 - problem.z)])
    position = (h / spacing + half).repeat(2, 1)
    smooth = smooth_masses(position, masses, size, damping / (spacing * coarser), n_points)
    plus, minus = smooth.chunk(2)
    t = (torch.arange(n_points, device=h.device, dtype=h.dtype) * coarser - half) * spacing
    # z - rho(t) is split into a term for events and one for non-events, so that nothing cancels at
    # the ends.
    difference = plus * (-t).sigmoid() - minus * t.sigmoid()
    errors = integral_of_absolute(difference, spacing * coarser) / problem.total
    return problem.reduce(errors, reduction)


@public
def smooth_ece_loss(
    input: Tensor,
    target: Tensor,
    *,
    from_logits: bool,
    sigma: float = SMOOTH_SIGMA,
    notion: str | None = None,
    sample_weight: Tensor | None = None,
    reduction: str = "mean",
) -> Tensor:
    r"""Smooth ECE (smECE) of a batch at a bandwidth, with gradients: `calibrant.smooth_ece`.

    .. math:: \int_0^1 \Bigl| \frac{1}{W} \sum_i w_i (z_i - u_i) \tilde K_\sigma(t, u_i) \Bigr|
        \, dt

    where K is the Gaussian reflected at 0 and 1. The gradient exists if the integrand changes its
    sign only at isolated points, as it almost always does, and no row's top label is about to
    change.

    Parameters
    ----------
    input : tensor of shape (n,) or (n, k)
        Predicted probabilities or, with `from_logits`, logits; (n,) is of P(y = 1).
    target : tensor of shape (n,) or (n, k)
        Labels: 0/1 or probabilities for (n,); for (n, k) class indices, or soft labels (n, k).
    from_logits : bool
        Whether `input` holds logits. It is never guessed, and there is no default.
    sigma : float, default 0.1
        Bandwidth, on the scale of probabilities. The measure's own fixed point is not available: it
        would be another loss for each batch.
    notion : {"binary", "confidence", "classwise"}, optional
        What is judged: `"binary"` for (n,); for (n, k) the top label (`"confidence"`, the default)
        or the mean over classes (`"classwise"`).
    sample_weight : tensor of shape (n,), optional
        Weight of each row, at least 0; 0 leaves a row out, as for padding.
    reduction : {"mean", "sum", "none"}, default "mean"
        How to combine the errors of the classes of `"classwise"`; `"none"` returns each.

    Returns
    -------
    Tensor
        The error, of the shape () and on the device of `input`; (k,) with ``reduction="none"``.

    Raises
    ------
    InputError
        If shapes, types or options do not fit, or, on the CPU, a value is out of range. On other
        devices values are not checked before the computation; there the loss is NaN.

    References
    ----------
    Blasiok and Nakkiran (2024), Smooth ECE: Principled Reliability Diagrams via Kernel Smoothing,
    arXiv:2309.12236.

    Examples
    --------
    >>> import torch
    >>> from calibrant.losses import smooth_ece_loss
    >>> p = torch.tensor([0.2, 0.7, 0.9, 0.4], requires_grad=True)
    >>> loss = smooth_ece_loss(p, torch.tensor([0, 1, 1, 0]), from_logits=False)
    >>> round(loss.item(), 4)
    0.2269
    >>> loss.backward()
    """
    _check_sigma(sigma, smallest_unit_sigma())
    problem = problem_of(input, target, from_logits, notion, sample_weight, reduction)
    cells = unit_cells_for(sigma)
    points = min(cells, 1 << math.ceil(math.log2(max(64.0, NODES_PER_SIGMA / sigma))))
    # [0, 1] and its mirror image are a ring of the length 2, on which the noise is plain.
    damping = _gaussian_factors(sigma, math.pi, points, problem.u)
    ring = smooth_masses(
        problem.u * cells, -problem.residual, 2 * cells, damping * points, 2 * points
    )
    f = ring + ring.flip(1).roll(1, dims=1)
    f = f[:, : points + 1]
    # The end nodes stand for half a cell each.
    ends = 0.5 * (f[:, 0].abs() + f[:, -1].abs()) / points
    errors = (integral_of_absolute(f, 1.0 / points) - ends) / problem.total
    return problem.reduce(errors, reduction)


def _ring_size(n_nodes: int, coarser: int) -> tuple[int, int]:
    """The number of nodes of a ring: at least `n_nodes`, and fast for a Fourier transform; and its
    number of points, if only every `coarser`-th node is a point.
    """
    wanted = -(-n_nodes // coarser)
    power = 1 << max(0, wanted.bit_length() - 3)
    n_points = next(power * m for m in (4, 5, 6, 8) if power * m >= wanted)
    return coarser * n_points, n_points


def _gaussian_factors(sigma: float, step: float, most: int, like: Tensor) -> Tensor:
    """The factors by which Gaussian noise of width `sigma` multiplies the frequencies 0, step, 2
    step, ...: at most `most` + 1 of them, up to the frequency at which TAIL says that nothing is
    left. `like` is a tensor of the wanted type and device.
    """
    n_left = min(most, math.ceil(TAIL / (sigma * step))) + 1
    k = torch.arange(n_left, device=like.device, dtype=like.dtype)
    return torch.exp(-0.5 * (sigma * step * k) ** 2)


def _check_sigma(sigma: Any, least: float) -> None:
    """Raise InputError unless the width of the noise, `sigma`, is a number from `least` to
    WIDE_SIGMA.
    """
    if not is_number(sigma) or not least <= float(sigma) <= WIDE_SIGMA:
        raise InputError(
            f"sigma must be a number between {least:.1e} and {WIDE_SIGMA:g}; got {sigma!r}"
        )
