"""ATB, the averaged two-bin error, as a loss."""

from __future__ import annotations

import torch
from torch import Tensor

from calibrant._core.errors import InputError, one_of
from calibrant._core.validation import public
from calibrant.losses._problem import problem_of


@public
def atb_loss(
    input: Tensor,
    target: Tensor,
    *,
    from_logits: bool,
    norm: str = "l2",
    root: bool = False,
    notion: str | None = None,
    sample_weight: Tensor | None = None,
    reduction: str = "mean",
) -> Tensor:
    r"""Averaged two-bin error of a batch, with gradients: `calibrant.atb`.

    .. math:: \frac{1}{W^2} \int_0^1 \Bigl( \sum_{u_i < q} w_i (u_i - z_i) \Bigr)^2
        + \Bigl( \sum_{u_i \ge q} w_i (u_i - z_i) \Bigr)^2 dq

    For (n,) predictions, and for each class against the rest, it is truthful: over the outcomes of
    a batch no predictions have a lower expectation than the true probabilities. Their expectation
    is not 0 but ``sum u (1 - u) / n^2``, about 1/(6 n) or less: the floor of a batch of n rows.

    The predictions are sorted. The gradient exists if no two predictions are equal (otherwise it is
    that of one possible order) and no row's top label is about to change.

    Parameters
    ----------
    input : tensor of shape (n,) or (n, k)
        Predicted probabilities or, with `from_logits`, logits; (n,) is of P(y = 1).
    target : tensor of shape (n,) or (n, k)
        Labels: 0/1 or probabilities for (n,); for (n, k) class indices, or soft labels (n, k).
    from_logits : bool
        Whether `input` holds logits. It is never guessed, and there is no default.
    norm : {"l2", "l1"}, default "l2"
        Squares over W^2, or absolute values over W, which are not truthful.
    root : bool, default False
        Whether to take the square root, for `norm="l2"`: on the scale of gaps, but not truthful. A
        mean over classes has the root of the mean. Where the root is 0, its gradient is set to 0.
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
    Hartline, Hu and Wu (2026), A Perfectly Truthful Calibration Measure, PMLR 336,
    arXiv:2508.13100.

    Examples
    --------
    >>> import torch
    >>> from calibrant.losses import atb_loss
    >>> p = torch.tensor([0.2, 0.7, 0.9, 0.4], requires_grad=True)
    >>> loss = atb_loss(p, torch.tensor([0, 1, 1, 0]), from_logits=False)
    >>> round(loss.item(), 6)
    0.01225
    >>> loss.backward()
    """
    one_of("norm", norm, ("l2", "l1"))
    if root and norm == "l1":
        raise InputError(
            "root=True is for squared errors, and norm='l1' is not squared: leave out one of them"
        )
    problem = problem_of(input, target, from_logits, notion, sample_weight, reduction)
    u, order = problem.u.sort(dim=1, stable=True)
    partial = problem.residual.gather(1, order).cumsum(dim=1)
    ends = partial[:, -1:]
    # Nothing lies below the first prediction, and everything below 1.
    widths = torch.diff(u, dim=1, prepend=torch.zeros_like(u[:, :1]), append=torch.ones_like(ends))
    below = torch.cat([torch.zeros_like(ends), partial], dim=1)
    if norm == "l1":
        errors = (widths * (below.abs() + (ends - below).abs())).sum(dim=1) / problem.total
    else:
        errors = (widths * (below**2 + (ends - below) ** 2)).sum(dim=1) / problem.total**2
    if not root:
        return problem.reduce(errors, reduction)
    return safe_root(problem.reduce(errors, reduction))


def safe_root(value: Tensor) -> Tensor:
    """The square root of a tensor, with a gradient of 0 (instead of infinity) where the tensor is
    0. NaN stays NaN.
    """
    some = value > 0
    root = torch.where(some, value, torch.ones_like(value)).sqrt()
    # NaN is not above 0, and 0 times NaN is NaN.
    return torch.where(some, root, 0.0 * value)
