"""TensorSamples: samples as torch tensors, summed on the device where they are."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from calibrant._data.samples import RowSamples, Samples

if TYPE_CHECKING:
    from torch import Tensor, device

_ARRAY_TYPES = {"torch.float16": np.float16, "torch.float64": np.float64}


@dataclass(frozen=True, eq=False)
class TensorSamples(RowSamples["Tensor"]):
    """Predictions, targets and weights as tensors, with shapes and types known to be right.

    Only `calibrant._data` makes these. Targets and weights lie where the sums are taken: on the
    predictions' device, or, where that has no float64 (mps), on the host, to which the predictions
    are then copied block by block.
    """

    engine: ClassVar[str] = "calibrant._engines.tensors"
    # A device checks many entries as fast as few.
    glance: ClassVar[int] = 1 << 20

    @property
    def precision(self) -> np.dtype[Any]:
        """The dtype in which predictions are compared with bin edges: float64 for logits, else that
        of `precision_of`.
        """
        return np.dtype(np.float64) if self.from_logits else precision_of(self.predictions)

    @property
    def place(self) -> device:
        """The device on which sums are taken."""
        return self.targets.device

    def prediction_block(self, start: int, stop: int) -> Tensor:
        """Predictions of the rows from `start` up to `stop` on the device of the sums: float64 if
        they came as doubles or whole numbers, else float32. Logits stay logits.
        """
        raw = self.predictions[start:stop].to(self.place)
        return raw.double() if precision_of(raw).itemsize == 8 else raw.float()

    def weight_block(self, start: int, stop: int) -> Tensor | None:
        """Weights of the rows from `start` up to `stop` as float64; None if rows have
        no weights.
        """
        return None if self.weights is None else self.weights[start:stop].double()

    def row(self, number: int) -> Samples:
        """The samples of one row as arrays on the host; `number` is the row's number."""
        return self.take(slice(number, number + 1)).in_memory()

    def in_memory(self) -> Samples:
        """The same samples as arrays, copied to the host."""
        tensors = ("predictions", "targets", "weights", "votes")
        here = {
            name: as_array(vars(self)[name]) for name in tensors if vars(self)[name] is not None
        }
        return Samples(**(vars(self) | here))


def precision_of(predictions: Tensor) -> np.dtype[Any]:
    """The NumPy dtype in which these predictions are compared with bin edges: their own dtype;
    float32 for bfloat16, which NumPy lacks; float64 for whole numbers.
    """
    if not predictions.is_floating_point():
        return np.dtype(np.float64)
    return np.dtype(_ARRAY_TYPES.get(str(predictions.dtype), np.float32))


def as_array(values: Tensor) -> NDArray[Any]:
    """A tensor's numbers as an array on the host; bfloat16, which NumPy lacks, becomes float32."""
    here = values.detach().cpu()
    if here.is_floating_point() and precision_of(here) == np.float32:
        here = here.float()
    return here.numpy()


@cache
def holds_float64(where: device) -> bool:
    """Whether a device can compute in float64, in which everything is summed."""
    import torch

    try:
        torch.zeros(1, dtype=torch.float64, device=where)
    except (TypeError, RuntimeError):
        return False
    return True
