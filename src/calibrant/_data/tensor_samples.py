"""TensorSamples: samples held as torch tensors, to be summed on the device where they lie."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from calibrant._data.samples import Samples
from calibrant._data.tolerances import ROW_SUM_TOLERANCE

if TYPE_CHECKING:
    from torch import Tensor, device

# Entries that are looked at together when labels are suspected in the place of predictions.
_GLANCE = 1 << 20
_ARRAY_TYPES = {"torch.float16": np.float16, "torch.float64": np.float64}


@dataclass(frozen=True, eq=False)
class TensorSamples:
    """Predictions, targets and weights as tensors, with shapes and types known to be right.

    Only `calibrant._data` makes these. Targets and weights lie where the sums are taken: on the
    predictions' device, or, where that has no float64 (mps), on the host, to which the predictions
    are then copied block by block.
    """

    predictions: Tensor
    targets: Tensor
    weights: Tensor | None = None
    from_logits: bool = False
    class_names: tuple[str, ...] | None = None
    inferred: tuple[str, ...] = ()
    # How far from 1 a row may sum: more where rounding alone, to half precision, does more.
    row_sum_tolerance: float = ROW_SUM_TOLERANCE
    # Rows that were left out, as the caller said, because something in them was missing.
    n_missing: int = 0
    # How far from 1 a row of soft labels may sum, which need not be as precise as the predictions.
    label_sum_tolerance: float = ROW_SUM_TOLERANCE
    # The power of two by which weights that over- or underflow when squared were divided.
    weight_exponent: int = 0

    engine: ClassVar[str] = "calibrant._engines.tensors"

    @property
    def n(self) -> int:
        return int(self.predictions.shape[0])

    @property
    def multiclass(self) -> bool:
        return self.predictions.ndim == 2

    @property
    def n_classes(self) -> int:
        return int(self.predictions.shape[1]) if self.multiclass else 2

    @property
    def weighted(self) -> bool:
        return self.weights is not None

    @property
    def soft_rows(self) -> bool:
        return self.targets.ndim == 2

    @property
    def precision(self) -> np.dtype[Any]:
        """The precision in which predictions meet bin edges."""
        return np.dtype(np.float64) if self.from_logits else precision_of(self.predictions)

    @property
    def place(self) -> device:
        """The device on which sums are taken."""
        return self.targets.device

    def prediction_block(self, start: int, stop: int) -> Tensor:
        """Predictions as they came, as float32 where that holds them and as float64 elsewhere."""
        raw = self.predictions[start:stop].to(self.place)
        return raw.double() if precision_of(raw).itemsize == 8 else raw.float()

    def weight_block(self, start: int, stop: int) -> Tensor | None:
        """Weights as float64."""
        return None if self.weights is None else self.weights[start:stop].double()

    def row(self, number: int) -> Samples:
        return self._part(slice(number, number + 1)).in_memory()

    def every_prediction_is_zero_or_one(self) -> bool:
        if self.from_logits:
            return False
        step = max(1, _GLANCE // self.n_classes)
        for start in range(0, self.n, step):  # the first look mostly ends it
            predictions = self.predictions[start : start + step]
            if not bool(((predictions == 0) | (predictions == 1)).all()):
                return False
        return True

    def in_memory(self) -> Samples:
        """The same samples as arrays: everything is copied to the host."""
        return Samples(
            as_array(self.predictions),
            as_array(self.targets),
            None if self.weights is None else as_array(self.weights),
            self.from_logits,
            self.class_names,
            self.inferred,
            self.row_sum_tolerance,
            self.n_missing,
            label_sum_tolerance=self.label_sum_tolerance,
            weight_exponent=self.weight_exponent,
        )

    def _part(self, rows: slice) -> TensorSamples:
        weights = None if self.weights is None else self.weights[rows]
        return replace(
            self, predictions=self.predictions[rows], targets=self.targets[rows], weights=weights
        )


def precision_of(predictions: Tensor) -> np.dtype[Any]:
    """The precision of an array that holds these numbers; of bfloat16, which NumPy lacks, float32.
    Whole numbers meet edges as doubles.
    """
    if not predictions.is_floating_point():
        return np.dtype(np.float64)
    return np.dtype(_ARRAY_TYPES.get(str(predictions.dtype), np.float32))


def as_array(values: Tensor) -> NDArray[Any]:
    """A tensor's numbers on the host."""
    here = values.detach().cpu()
    if here.is_floating_point() and precision_of(here) == np.float32:
        here = here.float()
    array: NDArray[Any] = here.numpy()
    return array


def holds_float64(where: device) -> bool:
    """Whether a device has float64, in which everything is summed."""
    import torch

    try:
        torch.zeros(1, dtype=torch.float64, device=where)
    except (TypeError, RuntimeError):
        return False
    return True
