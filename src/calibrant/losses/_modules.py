"""The losses as modules: options once, then (input, target)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from calibrant._core.validation import public
from calibrant._engines.arrays.streams import EPS
from calibrant._measures.smooth import LS_SIGMA
from calibrant.losses._cutoffs import atb_loss
from calibrant.losses._smooth import SMOOTH_SIGMA, ls_ece_loss, smooth_ece_loss
from calibrant.losses._soft_bins import soft_binned_ece_loss


class _CalibrationLoss(torch.nn.Module):
    """A loss of a batch as a torch module; the function `_function` computes it, with `options` as
    keywords.
    """

    _function: Callable[..., Tensor]

    def __init__(self, **options: Any) -> None:
        """Store the options, and check them on a small batch."""
        super().__init__()
        self.options = options
        # Options are checked now, and not in the middle of the first epoch.
        shape = (2, 2) if options["notion"] == "classwise" else (2,)
        type(self)._function(torch.full(shape, 0.5), torch.full(shape, 0.5), **options)

    def forward(self, input: Tensor, target: Tensor, sample_weight: Tensor | None = None) -> Tensor:
        """Compute the error of a batch.

        Parameters
        ----------
        input : tensor of shape (n,) or (n, k)
            Predicted probabilities or, with `from_logits`, logits; (n,) is of P(y = 1).
        target : tensor of shape (n,) or (n, k)
            Labels: 0/1 or probabilities for (n,); for (n, k) class indices, or soft labels (n, k).
        sample_weight : tensor of shape (n,), optional
            Weight of each row, at least 0.

        Returns
        -------
        Tensor
            The error, of the shape (); (k,) with ``reduction="none"``.
        """
        return type(self)._function(input, target, sample_weight=sample_weight, **self.options)

    def extra_repr(self) -> str:
        """List the options, for `print(module)`.

        Returns
        -------
        str
            The options that are not None.
        """
        shown = (f"{name}={value!r}" for name, value in self.options.items() if value is not None)
        return ", ".join(shown)


class LSECELoss(_CalibrationLoss):
    """Logit-smoothed ECE of a batch as a module: `ls_ece_loss`.

    Parameters
    ----------
    from_logits : bool
        Whether the module gets logits. It is never guessed, and there is no default.
    sigma : float, default 0.1
        Width of the noise, on the scale of logits.
    eps : float, default 1e-06
        Predictions are clipped to [eps, 1 - eps] before their logits are taken.
    notion : {"binary", "confidence", "classwise"}, optional
        What is judged: `"binary"` for (n,); for (n, k) the top label (`"confidence"`, the default)
        or the mean over classes (`"classwise"`).
    reduction : {"mean", "sum", "none"}, default "mean"
        How to combine the errors of the classes of `"classwise"`.

    Examples
    --------
    >>> import torch
    >>> from calibrant.losses import LSECELoss
    >>> loss = LSECELoss(from_logits=False)
    >>> round(loss(torch.tensor([0.2, 0.7, 0.9, 0.4]), torch.tensor([0, 1, 1, 0])).item(), 4)
    0.2504
    """

    _function = staticmethod(ls_ece_loss)

    @public
    def __init__(
        self,
        *,
        from_logits: bool,
        sigma: float = LS_SIGMA,
        eps: float = EPS,
        notion: str | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(
            from_logits=from_logits, sigma=sigma, eps=eps, notion=notion, reduction=reduction
        )


class SmoothECELoss(_CalibrationLoss):
    """Smooth ECE (smECE) of a batch at a bandwidth as a module: `smooth_ece_loss`.

    Parameters
    ----------
    from_logits : bool
        Whether the module gets logits. It is never guessed, and there is no default.
    sigma : float, default 0.1
        Bandwidth, on the scale of probabilities.
    notion : {"binary", "confidence", "classwise"}, optional
        What is judged: `"binary"` for (n,); for (n, k) the top label (`"confidence"`, the default)
        or the mean over classes (`"classwise"`).
    reduction : {"mean", "sum", "none"}, default "mean"
        How to combine the errors of the classes of `"classwise"`.

    Examples
    --------
    >>> import torch
    >>> from calibrant.losses import SmoothECELoss
    >>> loss = SmoothECELoss(from_logits=True, notion="classwise")
    >>> loss
    SmoothECELoss(from_logits=True, sigma=0.1, notion='classwise', reduction='mean')
    >>> loss(torch.zeros(4, 3), torch.tensor([0, 1, 2, 0])).shape
    torch.Size([])
    """

    _function = staticmethod(smooth_ece_loss)

    @public
    def __init__(
        self,
        *,
        from_logits: bool,
        sigma: float = SMOOTH_SIGMA,
        notion: str | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(from_logits=from_logits, sigma=sigma, notion=notion, reduction=reduction)


class ATBLoss(_CalibrationLoss):
    """Averaged two-bin error of a batch as a module: `atb_loss`.

    Parameters
    ----------
    from_logits : bool
        Whether the module gets logits. It is never guessed, and there is no default.
    norm : {"l2", "l1"}, default "l2"
        Squares over W^2, or absolute values over W, which are not truthful.
    root : bool, default False
        Whether to take the square root, for `norm="l2"`.
    notion : {"binary", "confidence", "classwise"}, optional
        What is judged: `"binary"` for (n,); for (n, k) the top label (`"confidence"`, the default)
        or the mean over classes (`"classwise"`).
    reduction : {"mean", "sum", "none"}, default "mean"
        How to combine the errors of the classes of `"classwise"`.

    Examples
    --------
    >>> import torch
    >>> from calibrant.losses import ATBLoss
    >>> loss = ATBLoss(from_logits=False)
    >>> round(loss(torch.tensor([0.2, 0.7, 0.9, 0.4]), torch.tensor([0, 1, 1, 0])).item(), 6)
    0.01225
    """

    _function = staticmethod(atb_loss)

    @public
    def __init__(
        self,
        *,
        from_logits: bool,
        norm: str = "l2",
        root: bool = False,
        notion: str | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(
            from_logits=from_logits, norm=norm, root=root, notion=notion, reduction=reduction
        )


class SoftBinnedECELoss(_CalibrationLoss):
    """Soft-binned ECE of a batch as a module: `soft_binned_ece_loss`.

    Parameters
    ----------
    from_logits : bool
        Whether the module gets logits. It is never guessed, and there is no default.
    bins : int, default 15
        Number of bins, of equal width.
    temperature : float, default 0.001
        Softness of the bins.
    norm : {"l2", "l1", "squares"}, default "l2"
        How to combine the bins.
    notion : {"binary", "confidence", "classwise"}, optional
        What is judged: `"binary"` for (n,); for (n, k) the top label (`"confidence"`, the default)
        or the mean over classes (`"classwise"`).
    reduction : {"mean", "sum", "none"}, default "mean"
        How to combine the errors of the classes of `"classwise"`.

    Examples
    --------
    >>> import torch
    >>> from calibrant.losses import SoftBinnedECELoss
    >>> loss = SoftBinnedECELoss(from_logits=False, norm="l1")
    >>> round(loss(torch.tensor([0.2, 0.7, 0.9, 0.4]), torch.tensor([0, 1, 1, 0])).item(), 4)
    0.25
    """

    _function = staticmethod(soft_binned_ece_loss)

    @public
    def __init__(
        self,
        *,
        from_logits: bool,
        bins: int = 15,
        temperature: float = 1e-3,
        norm: str = "l2",
        notion: str | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(
            from_logits=from_logits,
            bins=bins,
            temperature=temperature,
            norm=norm,
            notion=notion,
            reduction=reduction,
        )
