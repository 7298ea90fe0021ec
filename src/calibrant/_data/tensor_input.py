"""Tensors as samples on the device where they lie; labels and weights may also be arrays or lists.

Predictions never leave their device, unless it has no float64 (mps): then they are summed on the
host, copied there block by block.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from calibrant._core.errors import InputError
from calibrant._core.messages import values_of
from calibrant._core.typing import Mask
from calibrant._core.validation import have_no_index
from calibrant._data.array_input import RowInput
from calibrant._data.arrays import plain_tensor, precision_name, to_array
from calibrant._data.checks import check_names, weight_exponent
from calibrant._data.counts import Labels, labels_of
from calibrant._data.labels import encode_known
from calibrant._data.links import OVERSHOOT
from calibrant._data.logprobs import above_zero_message
from calibrant._data.missing import find_missing_rows
from calibrant._data.tensor_samples import TensorSamples, as_array, holds_float64

Values = Tensor | NDArray[Any]
# Copying this many entries to the host is faster than a query on the device.
_FEW = 1 << 12
have_no_index(Tensor)


class TensorInput(RowInput[TensorSamples]):
    """The adapter of tensors: labels, weights and votes are moved to the device where sums are
    taken.
    """

    sample_type = TensorSamples

    def read(
        self, y_true: Any, y_proba: Any, sample_weight: Any, votes: Any, *, drop: bool
    ) -> None:
        """Store the arguments, tensors detached from the graph of gradients, and choose the device
        of the sums: that of the predictions, or the host if that device has no float64. With
        `drop`, drop the rows in which a value is missing.
        """
        check_names(y_true, y_proba)
        y_true = _detach(y_true, "y_true")
        y_proba = _detach(y_proba, "y_proba")
        sample_weight = _detach(sample_weight, "sample_weight")
        device = y_proba.device
        self.device_of_sums = device if holds_float64(device) else torch.device("cpu")
        super().read(y_true, y_proba, sample_weight, votes, drop=drop)

    def values(self, value: Any, argument: str) -> Values:
        """An argument as a tensor if it is one, else as an array. `argument` is its
        name in errors.
        """
        return value if isinstance(value, Tensor) else to_array(value, argument)

    def without_missing(
        self, y_true: Any, y_proba: Any, sample_weight: Any
    ) -> tuple[Any, Any, Any, Mask | None]:
        """Drop the rows in which a label, a prediction or a weight is missing. Returns the three
        arguments without these rows, and a mask (an array) of the remaining rows; the mask is None
        if no row is dropped.
        """
        arguments = {"y_true": y_true, "y_proba": y_proba, "sample_weight": sample_weight}
        given: dict[str, Values] = {}
        gaps = []
        for name, value in arguments.items():
            if isinstance(value, Tensor):
                given[name] = value
                gaps.append(_rows_with_nan(value))
            elif value is not None:
                given[name], gone = find_missing_rows(value, name)
                gaps.append(torch.from_numpy(np.array(gone)))
        if len({tuple(value.shape[:1]) for value in given.values()}) > 1:
            return y_true, y_proba, sample_weight, None  # an error of the checks that follow
        kept = torch.stack([gap.to(y_proba.device) for gap in gaps]).any(dim=0).logical_not()
        here: Mask = as_array(kept)
        if here.all():
            return y_true, y_proba, sample_weight, None
        rows = {
            name: value[kept.to(value.device)] if isinstance(value, Tensor) else value[here]
            for name, value in given.items()
        }
        return rows["y_true"], rows["y_proba"], rows.get("sample_weight"), here

    def exponentiate(self) -> None:
        """Turn log-probabilities into probabilities: (n,) by exp, rows (n, k) by softmax. Raise
        InputError for a value above 0.
        """
        logs = self.as_double(self.predictions)
        above = (logs > OVERSHOOT).reshape(logs.shape[0], -1).any(1)
        if bool(above.any()):
            row = int(above.int().argmax())
            raise InputError(
                above_zero_message(f"{values_of('y_proba')}[{row}]", logs[row].cpu().numpy())
            )
        logs = logs.clamp(max=0.0)
        self.predictions = logs.exp() if logs.ndim == 1 else logs.softmax(1)

    def class_indices(self, classes: list[Any]) -> tuple[Values, str]:
        """Labels as indices of the classes that they name, and a note on how labels were read. Of
        labels on a device only the distinct ones are copied to the host.
        """
        multiclass = self.n_columns is not None
        if not isinstance(self.targets, Tensor):
            return encode_known(self.targets, classes, multiclass)
        uniques, where = torch.unique(self.targets, return_inverse=True)
        distinct = as_array(uniques)
        try:
            codes, note = encode_known(distinct, classes, multiclass)
        except InputError:
            encode_known(
                as_array(self.targets), classes, multiclass
            )  # names the first unknown label
            raise
        if codes is distinct:  # labels are class indices already
            return self.targets, note
        return torch.from_numpy(codes).to(self.targets.device)[where], note

    def read_labels(self, stream: bool) -> None:
        """Read labels and votes in the same way as arrays, and move both to the device of the sums.
        `stream`: the rows are one part of many.
        """
        super().read_labels(stream)
        self.targets = self._to_device_of_sums(self.targets)
        if self.votes is not None:
            self.votes = self._to_device_of_sums(self.votes)

    def shares(self, votes: NDArray[np.int64] | None, stream: bool) -> Labels:
        """Labels in which counts of votes have become shares. Labels are copied to the host only if
        they may be counts. `votes` are the numbers of votes behind the rows, (n,), from the
        argument `votes`, or None; `stream`: the rows are one part of many.
        """
        n_columns = self.n_columns or 1
        if not isinstance(self.targets, Tensor):
            return labels_of(self.targets, votes, n_columns, stream=stream)
        if not _may_be_counts(self.targets, votes is not None, n_columns == 1):
            return Labels(self.targets, votes)
        here = as_array(self.targets)
        labels = labels_of(here, votes, n_columns, stream=stream)
        if labels.targets is here:
            return Labels(self.targets, labels.votes, labels.note)
        return labels

    def scale_weights(self) -> None:
        """Move weights to the device of the sums, and divide them by a power of two if their powers
        would overflow or underflow.
        """
        weights = self._to_device_of_sums(self.weights)
        self.exponent = weight_exponent(float(weights.max())) if weights.numel() else 0
        if self.exponent:
            down = torch.tensor(-self.exponent, device=self.device_of_sums)
            weights = torch.ldexp(weights.double(), down)
        self.weights = weights

    def as_double(self, part: Tensor) -> Tensor:
        """Some of the predictions (`part`) as float64, or as float32 if their device has no
        float64. A small part is copied to the host, which is faster than to ask the device.
        """
        if part.numel() <= _FEW:
            part = part.cpu()
        return part.double() if holds_float64(part.device) else part.float()

    def _to_device_of_sums(self, values: Values) -> Tensor:
        """Labels or weights (arrays or tensors) as a tensor on the device where sums are taken."""
        if isinstance(values, Tensor):
            return values.to(self.device_of_sums)
        kind = {"b": np.bool_, "i": np.int64, "u": np.int64}.get(values.dtype.kind, np.float64)
        return torch.from_numpy(np.array(values, dtype=kind)).to(self.device_of_sums)


def _detach(value: Any, argument: str) -> Any:
    """A tensor detached from the graph of gradients, in a type that every device knows; any other
    value is returned unchanged. `argument` is its name in errors.
    """
    if not isinstance(value, Tensor):
        return value
    plain = plain_tensor(value, argument)
    rare = precision_name(plain) in ("uint16", "uint32", "uint64")
    return plain.to(torch.int64) if rare else plain


def _may_be_counts(targets: Tensor, beside_votes: bool, binary: bool) -> bool:
    """Whether labels may be counts of votes, so that they must be looked at on the host.
    `beside_votes`: the user also gives numbers of votes.
    """
    if targets.ndim != 2 or 0 in targets.shape:
        return beside_votes and binary
    if binary:
        return True
    if targets.is_complex() or targets.dtype == torch.bool:
        return False
    if targets.is_floating_point():
        few = targets[: max(1, _FEW // targets.shape[1])]
        if not bool((few == few.floor()).all()):
            return False
    return bool((targets.amax() > 1) | (targets.sum(1).amax() > 1))


def _rows_with_nan(values: Tensor) -> Tensor:
    """A mask (n,) of the rows that hold a NaN."""
    if values.ndim < 2 or 0 in values.shape:
        return values.isnan().reshape(values.shape[:1])
    return values.flatten(1).amax(dim=1).isnan()  # the maximum of a row with a NaN is NaN
