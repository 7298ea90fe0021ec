"""Calibration errors as losses of torch, through which gradients flow.

>>> import torch
>>> from calibrant.losses import SmoothECELoss
>>> logits, labels = torch.randn(64, 10, requires_grad=True), torch.randint(10, (64,))
>>> fit = torch.nn.functional.cross_entropy(logits, labels)
>>> (fit + SmoothECELoss(from_logits=True)(logits, labels)).backward()

Each is the error of a batch, the same number that the function of the library gives for the same
rows; gradients exist almost everywhere. They take (input, target), in the order of torch.
"""

from __future__ import annotations

from calibrant._core.errors import MissingExtra

try:
    import torch as _torch  # noqa: F401
except ImportError as error:
    raise MissingExtra("torch", "torch", "calibrant.losses") from error

from calibrant.losses._cutoffs import atb_loss
from calibrant.losses._modules import ATBLoss, LSECELoss, SmoothECELoss, SoftBinnedECELoss
from calibrant.losses._smooth import ls_ece_loss, smooth_ece_loss
from calibrant.losses._soft_bins import soft_binned_ece_loss

__all__ = [
    "ATBLoss",
    "LSECELoss",
    "SmoothECELoss",
    "SoftBinnedECELoss",
    "atb_loss",
    "ls_ece_loss",
    "smooth_ece_loss",
    "soft_binned_ece_loss",
]
