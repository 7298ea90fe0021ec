"""Loss sums of tensors, block by block."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from calibrant._core.loss_sums import FIELDS, N_PROPER, LossSums
from calibrant._core.typing import Array
from calibrant._data.links import LOG_FLOOR
from calibrant._data.tensor_samples import TensorSamples
from calibrant._engines.protocol import Findings
from calibrant._engines.tensors.blocks import Rows, row_blocks, scalar_blocks
from calibrant._engines.tensors.choice import has_kernels
from calibrant._engines.tensors.rows import row_losses, row_pass
from calibrant._engines.tensors.tally import Tally, resolved


def loss_sums(
    samples: TensorSamples,
    *,
    distribution: bool = False,
    only: str | None = None,
    spacing: Array | None = None,
) -> tuple[LossSums, Findings]:
    """Sums of the proper losses, with `distribution` also of the distances between predicted and
    target distributions, and the findings.

    `spacing` is the distance between neighbouring classes (None: 1). `only` saves nothing here, and
    is ignored.
    """
    if samples.multiclass and not distribution:
        total = row_pass(samples, None, None, True)
        assert total.losses is not None
        return LossSums(total.losses, samples.n_classes), total.findings
    if has_kernels(samples.predictions) and not distribution:
        from calibrant._engines.tensors import scalars

        fast = scalars.loss_sums(samples)
        if fast is not None:
            return fast
    tally = Tally(samples.place)
    sums = torch.zeros(len(FIELDS), dtype=torch.float64, device=samples.place)
    for rows in row_blocks(samples, tally) if samples.multiclass else _two_columns(samples, tally):
        sums[:N_PROPER] += row_losses(rows, rows.top_label(), tally)
        if distribution:
            sums[N_PROPER:] += _distances(rows, spacing)
    if not samples.multiclass:
        sums[FIELDS.index("brier")] /= 2  # one class's square, not both
    findings, (out,) = resolved(tally, sums)
    return LossSums(out, samples.n_classes, distribution), findings


def _two_columns(samples: TensorSamples, tally: Tally) -> Iterator[Rows]:
    """Yield binary predictions and targets block by block, as rows of two classes."""
    for block in scalar_blocks(samples, "binary", tally):
        p = torch.stack([1.0 - block.u, block.u], dim=1)
        q = torch.stack([1.0 - block.z, block.z], dim=1)
        yield Rows(p, None, q, block.w, torch.ones_like(block.u, dtype=torch.bool))


def _distances(rows: Rows, spacing: Array | None) -> Tensor:
    """The sums over a block of each distance between predicted and target distributions, in the
    order of `loss_sums.FIELDS` from N_PROPER on. `distances` of the core does the same for arrays.
    """
    p, q = rows.p, rows.target_rows()
    c, top = p.max(dim=1, keepdim=True)
    difference = torch.special.entr(p).sum(dim=1) - torch.special.entr(q).sum(dim=1)
    manhattan, divergence = (p - q).abs().sum(dim=1), _jensen_shannon(p, q)
    crossing = (p - q).cumsum(dim=1)[:, :-1].abs()
    if spacing is not None:
        crossing = crossing * torch.as_tensor(spacing, dtype=p.dtype, device=p.device)
    values = torch.stack(
        [
            0.5 * manhattan,
            difference.abs(),
            difference,
            _same_ranking(p, q).double(),
            manhattan,
            divergence,
            divergence.sqrt(),
            torch.xlogy(q, q / p.clamp(min=LOG_FLOOR)).sum(dim=1).clamp(min=0.0),
            crossing.sum(dim=1),
            (c - q.gather(1, top)).abs()[:, 0],
        ]
    )
    return values.sum(dim=1) if rows.w is None else (values * rows.w).sum(dim=1)


def _jensen_shannon(p: Tensor, q: Tensor) -> Tensor:
    """The Jensen-Shannon divergence of each row of p from the same row of q. It has two forms, as
    in the core: logarithms cancel where p is near q.
    """
    s = p + q
    d = torch.where(s > 0, (p - q) / s, 0.0)
    near = d.abs() < 0.5
    close = torch.where(near, d, 0.0)
    tangent = 2.0 * close * close.atanh() + (-close * close).log1p()
    a, b = 2.0 * p / s, 2.0 * q / s
    terms = torch.where(near, tangent, torch.xlogy(a, a) + torch.xlogy(b, b))
    return 0.25 * (s * terms).sum(dim=1)


def _same_ranking(p: Tensor, q: Tensor) -> Tensor:
    """Which rows of p rank the classes as q does: wherever q is strictly larger for one class than
    for another, so is p.
    """
    ranked_q, order = q.sort(dim=1, descending=True, stable=True)
    ranked_p = p.gather(1, order)
    smallest_before = ranked_p.cummin(dim=1).values[:, :-1]
    largest_after = ranked_p.flip(1).cummax(dim=1).values.flip(1)[:, 1:]
    strict = ranked_q[:, :-1] > ranked_q[:, 1:]
    return (~strict | (smallest_before > largest_after)).all(dim=1)
