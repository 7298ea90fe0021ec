"""Bins of equal mass and level sets, by sorting a column on its device."""

from __future__ import annotations

import torch
from torch import Tensor

from calibrant._core.binning import ROUNDING
from calibrant._engines.tensors.blocks import Scalars


def quantile_edges(u: Tensor, w: Tensor | None, m: int) -> Tensor:
    """The inner edges (g, m - 1) of m bins of equal mass, equal predictions together, of each row
    of u (g, n). `w` (n,) are weights, None for equal ones.

    `arrays.quantiles` finds the same edges of arrays: a prediction's middle rank decides on which
    side of an edge it falls; it is doubled, so that whole numbers stay whole.
    """
    g, n = u.shape
    if m == 1:
        return u.new_empty((g, 0))
    number = torch.arange(1, m, dtype=torch.float64, device=u.device)
    if w is None:
        ordered = u.sort(dim=1).values
        total = u.new_full((g, 1), float(n))
        at = ((number * n / m).ceil() - 1).long().expand(g, m - 1)
        through = torch.arange(n + 1, dtype=torch.float64, device=u.device).expand(g, n + 1)
    else:
        ordered, order = u.sort(dim=1, stable=True)
        sums = w[order].cumsum(dim=1)
        total = sums[:, -1:]
        at = torch.searchsorted(sums, number * total / m).clamp(max=n - 1)
        through = torch.cat([sums.new_zeros((g, 1)), sums], dim=1)
    values = ordered.gather(1, at)
    below = through.gather(1, torch.searchsorted(ordered, values))
    upto = through.gather(1, torch.searchsorted(ordered, values, right=True))
    in_lower = (below + upto) * m <= 2.0 * number * total * (1 + ROUNDING)
    above = torch.nextafter(values, values.new_full((), torch.inf))
    return torch.where(in_lower, above, values).cummax(dim=1).values


def bins_by_rank(u: Tensor, w: Tensor | None, m: int) -> Tensor:
    """The bin of each row, where m bins get equal shares of the ranks of predictions u (cumulative
    weights w).
    """
    order, in_order = _order_by_rank(u, w, m)
    bins = torch.empty_like(order)
    bins[order] = in_order
    return bins


def rank_order(whole: Scalars, m: int) -> tuple[Scalars, Tensor]:
    """The rows of a scalar problem sorted by prediction, and in that order each row's bin, where m
    bins get equal shares of the ranks.
    """
    order, bins = _order_by_rank(whole.u, whole.w, m)
    return _reordered(whole, order), bins


def _order_by_rank(u: Tensor, w: Tensor | None, m: int) -> tuple[Tensor, Tensor]:
    """The row numbers sorted by prediction u, and in that order each row's bin, where m bins get
    equal shares of the ranks (cumulative weights w).
    """
    order = u.argsort(stable=True)
    return order, ranked_bins(None if w is None else w[order], order.numel(), m, order.device)


def ranked_bins(w: Tensor | None, n: int, m: int, device: torch.device) -> Tensor:
    """The bin of each of n rows in order of their predictions, where m bins get equal shares of the
    ranks. Ranks are cumulative weights along the last dimension of w; None stands for equal ones.
    """
    if w is None:
        ranks = torch.arange(1, n + 1, device=device)
        return (ranks * m + n - 1) // n - 1
    through = w.cumsum(dim=-1)
    # If all weights are 0 the quotient is NaN; the caller notices it from the sums.
    bins = (through * m / through[..., -1:] * (1 - ROUNDING)).ceil() - 1
    return bins.nan_to_num(0.0).clamp(0, m - 1).long()


def level_order(whole: Scalars) -> tuple[Scalars, Tensor, Tensor]:
    """The rows of a scalar problem sorted by prediction, in that order the number of each row's
    level (distinct prediction), and the distinct predictions.
    """
    taken = _reordered(whole, whole.u.argsort(stable=True))
    first = torch.ones_like(taken.u, dtype=torch.bool)
    first[1:] = taken.u[1:] != taken.u[:-1]
    return taken, first.cumsum(dim=0) - 1, taken.u[first]


def _reordered(whole: Scalars, order: Tensor) -> Scalars:
    """The same scalar problem with its rows in another order."""
    return Scalars(whole.u[order], whole.z[order], None if whole.w is None else whole.w[order])
