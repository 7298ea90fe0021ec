"""Temperature scaling of logits in torch tensors, on the device where they are: the derivatives of
the loss are summed there, block by block, and two numbers a step come to the host.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from calibrant._data.arrays import stays_on_device
from calibrant._data.links import LOG_FLOOR
from calibrant._summaries.samples import Summary
from calibrant.scaling._same_rows import Hashes, hash_factors, mixed

if TYPE_CHECKING:
    from torch import Tensor

    from calibrant._data.tensor_samples import TensorSamples

# Entries that are looked at together.
BLOCK = 1 << 24


def logits_on_device(
    y_true: Any, y_proba: Any, sample_weight: Any, classes: Sequence[Any] | None
) -> DeviceLogits | None:
    """Rows of logits with labels, if that is what these are and if they lie on a device."""
    if not stays_on_device(y_proba) or getattr(y_proba, "ndim", 0) != 2:
        return None
    from calibrant._data.tensor_input import TensorInput

    samples = TensorInput().build(
        y_true, y_proba, sample_weight=sample_weight, from_logits=True, classes=classes
    )
    if samples.soft_rows or samples.place != samples.predictions.device:
        return None
    return DeviceLogits(samples)


@dataclass(frozen=True, eq=False)
class DeviceLogits:
    """Logits (n, k) and class indices on a device."""

    samples: TensorSamples

    @cached_property
    def loss_before(self) -> float:
        """The log loss of the logits as they are; every value is checked on the way."""
        return Summary(self.samples).losses.mean("log")

    def says_nothing(self) -> bool:
        """Whether all logits of every row are equal."""
        x = self.samples.predictions
        return not bool((x.amax(dim=1) != x.amin(dim=1)).any())

    def derivatives(self, slope: float) -> tuple[float, float]:
        """The first and second derivative of the log loss in slope = 1/T."""

        def of_block(scores: Tensor, own: Tensor) -> tuple[Tensor, Tensor]:
            p = (slope * scores).softmax(dim=1)
            mean = (p * scores).sum(dim=1)
            spread = p.mul_(scores.sub_(mean[:, None]).square_()).sum(dim=1)
            return mean - own, spread

        first, second = self._mean(of_block)
        return first, second

    def loss(self, slope: float) -> float:
        """The log loss of softmax(slope * logits), with the one floor."""

        def of_block(scores: Tensor, own: Tensor) -> tuple[Tensor]:
            total = (slope * scores).exp_().sum(dim=1).log_()
            return ((total - slope * own).clamp(max=-float(np.log(LOG_FLOOR))),)

        return self._mean(of_block)[0]

    def row_hashes(self) -> Hashes:
        """What `_same_rows.row_hashes` makes of the same rows in memory."""
        import torch

        x = self.samples.predictions
        factors = torch.from_numpy(hash_factors(int(x.shape[1])).view(np.int64)).to(x.device)
        out = torch.empty(self.samples.n, dtype=torch.int64, device=x.device)
        for rows in self._spans():
            # Zero is added so that -0 and 0 are one. Products wrap around, as unsigned ones do.
            bits = (x[rows].float() + 0.0).view(torch.int32).long() & 0xFFFFFFFF
            out[rows] = (bits * factors).sum(dim=1)
        return mixed(out.cpu().numpy().view(np.uint64))

    def _mean(self, of_block: Callable[[Tensor, Tensor], tuple[Tensor, ...]]) -> list[float]:
        """Weighted means of numbers that a block's rows have, in one transfer. A block is scores
        below the row's largest, so that equal ones are exact zeros, and the label's own.
        """
        import torch

        samples, totals, weight = self.samples, [], 0.0
        for rows in self._spans():
            x = samples.predictions[rows].double()
            scores = x - x.amax(dim=1, keepdim=True)
            own = scores.gather(1, samples.targets[rows].long()[:, None])[:, 0]
            w = samples.weight_block(rows.start, rows.stop)
            values = torch.stack(of_block(scores, own))
            totals.append(values.sum(dim=1) if w is None else values @ w)
        if samples.weights is None:
            weight = float(samples.n)
        else:
            weight = float(samples.weights.double().sum())
        sums: list[float] = torch.stack(totals).sum(dim=0).tolist()
        return [total / weight for total in sums]

    def _spans(self) -> Iterator[slice]:
        n, step = self.samples.n, max(1, BLOCK // self.samples.n_classes)
        for start in range(0, n, step):
            yield slice(start, min(start + step, n))
