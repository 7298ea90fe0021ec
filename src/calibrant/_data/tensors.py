"""Tensors of the user become TensorSamples, on the device where they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from calibrant._core.errors import InputError
from calibrant._core.messages import values_of
from calibrant._core.validation import have_no_index
from calibrant._data.arrays import plain_tensor, precision_name, to_array
from calibrant._data.checks import (
    check_names,
    checked_predictions,
    checked_targets,
    checked_weights,
    inferred_from,
    scaled_by,
    sum_tolerance,
    warn_of_logits,
    weight_exponent,
)
from calibrant._data.counts import labels_of, votes_per_row
from calibrant._data.labels import encode
from calibrant._data.links import OVERSHOOT
from calibrant._data.logits import kind_of_logits
from calibrant._data.logprobs import FROM_LOGPROBS, Given, above_zero, read_given
from calibrant._data.missing import check_missing, own_rows, with_gaps
from calibrant._data.tensor_samples import TensorSamples, as_array, holds_float64, precision_of

Values = Tensor | NDArray[Any]
_FEW = 1 << 12
have_no_index(Tensor)


def tensors_to_samples(
    y_true: Any,
    y_proba: Tensor,
    *,
    sample_weight: Any = None,
    from_logits: Given = False,
    classes: Sequence[Any] | None = None,
    missing: str = "error",
    votes: Any = None,
    stream: bool = False,
) -> TensorSamples:
    """Samples on the predictions' device, from tensors; labels and weights may also be arrays or
    lists.

    The checks and their messages are those of arrays. Predictions never leave their device, unless
    it has no float64 (mps): then they are summed on the host, copied there block by block.
    """
    check_names(y_true, y_proba)
    logits, logprobs = read_given(from_logits)
    parts = {"y_true": y_true, "y_proba": y_proba, "sample_weight": sample_weight}
    parts = {name: _detached(value, name) for name, value in parts.items() if value is not None}
    kept: NDArray[np.bool_] | None = None
    if check_missing(missing) == "drop":
        parts, kept = _without_missing(parts)
    predictions: Tensor = parts["y_proba"]
    shape = checked_predictions(_stand_in(predictions))
    if logprobs:
        predictions = _probabilities_of(predictions)
    targets = _values(parts["y_true"], "y_true")
    if (0 in targets.shape or shape.shape[0] == 0) and kept is None:
        raise InputError(
            f"{values_of('y_true')} and {values_of('y_proba')} must hold at least one row; got none"
        )
    label_note: str | None = None
    if classes is not None:
        n_classes = shape.shape[1] if shape.ndim == 2 else 2
        targets, label_note = _encoded(targets, classes, n_classes, shape.ndim == 2)
    own_votes = None
    if votes is not None:
        own_votes = votes_per_row(own_rows(votes, kept), shape.shape[0])
    n_columns = 1 if shape.ndim == 1 else shape.shape[1]
    targets, own_votes, vote_note = _labels(targets, own_votes, n_columns, stream)
    like_targets = checked_targets(_stand_in(targets), shape)
    weights = parts.get("sample_weight")
    if weights is not None:
        weights = _values(weights, "sample_weight")
        checked_weights(_stand_in(weights), shape.shape[0])
    if logits:
        kind = kind_of_logits(predictions, _on_device, sum_tolerance(y_proba))
        warn_of_logits(kind, stream, shape.ndim == 2)
    device_of_sums = (
        predictions.device if holds_float64(predictions.device) else torch.device("cpu")
    )
    here, exponent = None, 0
    if weights is not None:
        here = _placed(weights, device_of_sums)
        exponent = weight_exponent(float(here.max())) if here.numel() else 0
        if exponent:
            here = torch.ldexp(here.double(), torch.tensor(-exponent, device=device_of_sums))
    return TensorSamples(
        predictions,
        _placed(targets, device_of_sums).reshape(like_targets.shape),
        here,
        logits,
        None if classes is None else tuple(str(name) for name in classes),
        (
            *inferred_from(like_targets, shape, logits, label_note, vote_note),
            *([FROM_LOGPROBS] if logprobs else []),
            *scaled_by(exponent),
        ),
        sum_tolerance(y_proba),
        0 if kept is None else int(np.count_nonzero(~kept)),
        sum_tolerance(y_true),
        exponent,
        kept,
        None if own_votes is None else _placed(own_votes, device_of_sums),
    )


def _probabilities_of(logs: Tensor) -> Tensor:
    """As of arrays, on the device."""
    logs = _on_device(logs)
    above = (logs > OVERSHOOT).reshape(logs.shape[0], -1).any(1)
    if bool(above.any()):
        row = int(above.int().argmax())
        raise InputError(above_zero(f"{values_of('y_proba')}[{row}]", logs[row].cpu().numpy()))
    logs = logs.clamp(max=0.0)
    return logs.exp() if logs.ndim == 1 else logs.softmax(1)


def _on_device(part: Tensor) -> Tensor:
    if part.numel() <= _FEW:  # brought here, it is looked at sooner than a device is asked
        part = part.cpu()
    return part.double() if holds_float64(part.device) else part.float()


def _detached(value: Any, argument: str) -> Any:
    """A tensor without its history, in a type that every device knows; other things as they are."""
    if not isinstance(value, Tensor):
        return value
    plain = plain_tensor(value, argument)
    rare = precision_name(plain) in ("uint16", "uint32", "uint64")
    return plain.to(torch.int64) if rare else plain


def _values(value: Any, argument: str) -> Values:
    return value if isinstance(value, Tensor) else to_array(value, argument)


def _stand_in(values: Values) -> NDArray[Any]:
    """An array of the same shape and kind that takes no memory, for checks of shape and kind."""
    if not isinstance(values, Tensor):
        return values
    if values.ndim == 0:
        return as_array(values)  # one number, which the error shows
    if values.is_complex():
        kind: np.dtype[Any] = np.dtype(np.complex128)
    elif values.is_floating_point():
        kind = precision_of(values)
    else:
        kind = np.dtype(np.bool_ if values.dtype == torch.bool else np.int64)
    # What np.broadcast_to makes, in a fraction of its time.
    return np.ndarray(tuple(values.shape), kind, np.zeros(1, kind), strides=(0,) * values.ndim)


def _encoded(
    labels: Values, classes: Any, n_classes: int, multiclass: bool
) -> tuple[Values, str | None]:
    """Class indices for labels, and what they were taken for. Of labels on a device only the
    distinct ones are brought here.
    """
    if not isinstance(labels, Tensor):
        return encode(labels, classes, n_classes, multiclass)
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    if labels.ndim != 1:  # nothing to decode; what is wrong with `classes` is an error all the same
        encode(_stand_in(labels), classes, n_classes, multiclass)
        return labels, None
    uniques, where = torch.unique(labels, return_inverse=True)
    distinct = as_array(uniques)
    try:
        codes, label_note = encode(distinct, classes, n_classes, multiclass)
    except InputError:
        encode(as_array(labels), classes, n_classes, multiclass)  # names the first such row
        raise
    if codes is distinct:  # names are titles only
        return labels, label_note
    return torch.from_numpy(codes).to(labels.device)[where], label_note


def _labels(
    targets: Values, votes: NDArray[np.int64] | None, n_columns: int, stream: bool
) -> tuple[Values, NDArray[np.int64] | None, str | None]:
    """Counts of votes as shares, their votes, and what they were taken for. Only labels that look
    like counts are brought here: people's votes are few.
    """
    if isinstance(targets, Tensor) and not _may_be_counts(
        targets, votes is not None, n_columns == 1
    ):
        return targets, votes, None
    here = as_array(targets) if isinstance(targets, Tensor) else targets
    labels = labels_of(here, votes, n_columns, stream=stream)
    if labels.targets is here:
        return targets, labels.votes, labels.note
    return labels.targets, labels.votes, labels.note


def _may_be_counts(targets: Tensor, beside_votes: bool, binary: bool) -> bool:
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


def _placed(values: Values, device_of_sums: torch.device) -> Tensor:
    """Labels or weights on the device where sums are taken."""
    if isinstance(values, Tensor):
        return values.to(device_of_sums)
    kind = {"b": np.bool_, "i": np.int64, "u": np.int64}.get(values.dtype.kind, np.float64)
    return torch.from_numpy(np.array(values, dtype=kind)).to(device_of_sums)


def _without_missing(parts: dict[str, Any]) -> tuple[dict[str, Any], NDArray[np.bool_] | None]:
    """The rows with nothing missing, and which they are; None where that is all."""
    device = parts["y_proba"].device
    by_argument: dict[str, Values] = {}
    gaps = []
    for name, value in parts.items():
        if isinstance(value, Tensor):
            by_argument[name] = value
            gaps.append(_rows_with_nan(value))
        else:
            by_argument[name], gone = with_gaps(value, name)
            gaps.append(torch.from_numpy(np.array(gone)))
    if (
        len({tuple(value.shape[:1]) for value in by_argument.values()}) > 1
    ):  # an error of the next checks
        return parts, None
    kept = torch.stack([gap.to(device) for gap in gaps]).any(dim=0).logical_not()
    here: NDArray[np.bool_] = as_array(kept)
    if here.all():
        return parts, None
    return {
        name: value[kept.to(value.device)] if isinstance(value, Tensor) else value[here]
        for name, value in by_argument.items()
    }, here


def _rows_with_nan(values: Tensor) -> Tensor:
    if values.ndim < 2 or 0 in values.shape:
        return values.isnan().reshape(values.shape[:1])
    return values.flatten(1).amax(dim=1).isnan()  # a NaN is the largest; no table of flags
