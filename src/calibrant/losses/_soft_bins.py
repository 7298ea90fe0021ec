"""Binned errors with soft assignment as losses: every prediction belongs a little to each bin."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from calibrant._core.errors import InputError, one_of
from calibrant._core.validation import check_count, is_number, public
from calibrant.losses._cutoffs import safe_root
from calibrant.losses._problem import problem_of


@public
def soft_binned_ece_loss(
    input: Tensor,
    target: Tensor,
    *,
    from_logits: bool,
    bins: int = 15,
    temperature: float = 1e-3,
    norm: str = "l2",
    notion: str | None = None,
    sample_weight: Tensor | None = None,
    reduction: str = "mean",
) -> Tensor:
    r"""Soft-binned ECE of a batch, with gradients: bins of equal width that overlap.

    .. math:: a_{ij} = \frac{e^{-(u_i - c_j)^2 / T}}{\sum_l e^{-(u_i - c_l)^2 / T}},
        \quad R_j = \sum_i w_i a_{ij} (u_i - z_i), \quad W_j = \sum_i w_i a_{ij}

    with the bins' middles c and the temperature T. `norm="l1"` is ``sum |R_j| / W``, `"l2"` the
    root of ``sum R_j^2 / W_j / W`` (over classes, of its mean), and `"squares"` is ``sum R_j^2 /
    W^2``. As T tends to 0 they tend to `calibrant.ece` with that norm, in bins of equal width, and
    `"squares"` to `calibrant.lin_ce` for (n,); for (n, k) to `calibrant.confidence_ce` without its
    correction or, for `"classwise"`, to `calibrant.classwise_ce`.

    `"squares"` is smooth; the others have no gradient where a bin's gap is 0. None has a gradient
    where the top label of a row is about to change. Only hard bins are truthful: between two soft
    bins a prediction's noise is halved, which rewards moving it there.

    Parameters
    ----------
    input : tensor of shape (n,) or (n, k)
        Predicted probabilities or, with `from_logits`, logits; (n,) is of P(y = 1).
    target : tensor of shape (n,) or (n, k)
        Labels: 0/1 or probabilities for (n,); for (n, k) class indices, or soft labels (n, k).
    from_logits : bool
        Whether `input` holds logits. It is never guessed, and there is no default.
    bins : int, default 15
        Number of bins, of equal width.
    temperature : float, default 0.001
        Softness of the bins, T of the formula. Below about ``bins ** -2 / 50`` the bins are almost
        hard, and their gradients are those of predictions that never leave their bins.
    norm : {"l2", "l1", "squares"}, default "l2"
        How to combine the bins.
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
    Karandikar, Cain, Tran, Lakshminarayanan, Shlens, Mozer and Roelofs (2021), Soft Calibration
    Objectives for Neural Networks, NeurIPS, arXiv:2108.00106.

    Examples
    --------
    >>> import torch
    >>> from calibrant.losses import soft_binned_ece_loss
    >>> p = torch.tensor([0.2, 0.7, 0.9, 0.4], requires_grad=True)
    >>> y = torch.tensor([0, 1, 1, 0])
    >>> loss = soft_binned_ece_loss(p, y, from_logits=False, norm="l1")
    >>> round(loss.item(), 4)
    0.25
    >>> loss.backward()
    """
    check_count("bins", bins, 1, "a whole number, 1 or more")
    if not is_number(temperature) or not 0.0 < float(temperature) < math.inf:
        raise InputError(f"temperature must be a positive number; got {temperature!r}")
    one_of("norm", norm, ("l2", "l1", "squares"))
    problem = problem_of(input, target, from_logits, notion, sample_weight, reduction)
    u = problem.u
    middles = (torch.arange(bins, device=u.device, dtype=u.dtype) + 0.5) / bins
    share = (-((u[:, :, None] - middles) ** 2) / temperature).softmax(dim=2)
    gaps = (problem.residual[:, :, None] * share).sum(dim=1)
    total = problem.total[:, None]
    if norm == "l1":
        return problem.reduce(gaps.abs().sum(dim=1) / problem.total, reduction)
    if norm == "squares":
        return problem.reduce(((gaps / total) ** 2).sum(dim=1), reduction)
    weight = (problem.w[:, :, None] * share).sum(dim=1)
    # An almost empty bin hardly counts, and the square of its weight, by which a gradient divides,
    # would be 0.
    some = weight > torch.finfo(weight.dtype).tiny ** (1 / 3) * total
    mean_gap = gaps / torch.where(some, weight, total)
    errors = (mean_gap * (gaps / total)).sum(dim=1)
    return safe_root(problem.reduce(errors, reduction))
