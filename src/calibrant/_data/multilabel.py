"""Multi-label rows: each row may have several labels or none, and each label is a binary problem of
its own, in the rows in which it was annotated.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant._core.errors import InputError
from calibrant._core.messages import setting
from calibrant._core.typing import Index, Mask
from calibrant._data.arrays import to_array
from calibrant._data.checks import checked_weights, first_entry
from calibrant._data.columns import (
    check_different_columns,
    check_frames_paired,
    check_paired,
    is_lazy,
    pick,
)
from calibrant._data.links import OVERSHOOT
from calibrant._data.logprobs import Given, read_given
from calibrant._data.missing import find_missing_entries
from calibrant._data.samples import Samples
from calibrant._data.to_samples import to_samples


@dataclass(frozen=True, eq=False)
class LabelColumns:
    """Targets and predictions (n, labels), weights of rows, and a mask of the targets that are
    annotated (known).
    """

    names: tuple[str, ...]
    targets: NDArray[Any]
    annotated: Mask
    predictions: NDArray[Any]
    weights: NDArray[Any] | None
    given: Given
    # A note if rows look like one class each, not like several labels; else "".
    note: str = ""

    @property
    def n(self) -> int:
        """The number of rows."""
        return int(self.targets.shape[0])

    def rows_of(self, label: int) -> Index:
        """The numbers of the rows that count for a label: the label (a column number) is annotated,
        and the weight is above 0.
        """
        rows = self.annotated[:, label]
        if self.weights is not None:
            rows = rows & (self.weights > 0)
        return np.flatnonzero(rows)

    def samples_of(self, label: int) -> Samples:
        """The samples of the binary problem of one label, a column number."""
        rows = self.rows_of(label)
        weights = None if self.weights is None else self.weights[rows]
        predictions = np.ascontiguousarray(self.predictions[rows, label])
        return to_samples(self.targets[rows, label], predictions, weights, self.given)


def label_columns(
    y_true: Any,
    y_proba: Any,
    *,
    labels: Sequence[Any] | None,
    sample_weight: Any,
    given: Given,
    data: Any,
) -> LabelColumns:
    """The user's arguments as columns of labels; raise InputError if they do not have the shape (n,
    labels). A target that is null or NaN is not annotated (not known), and its prediction is
    ignored.
    """
    titles = None if labels is None else tuple(str(label) for label in labels)
    if data is not None:
        check_different_columns(y_true, y_proba)
        y_true = None if y_true is None else pick(data, y_true, "y_true")
        y_proba = None if y_proba is None else pick(data, y_proba, "y_proba")
        if sample_weight is not None:
            sample_weight = pick(data, sample_weight, "sample_weight")
    for argument, value in (("y_true", y_true), ("y_proba", y_proba)):
        if value is None or isinstance(value, str):
            raise InputError(
                f"{argument} must be numbers (n, labels); it is {value!r}: give an array, or name "
                "columns of data=frame"
            )
        if is_lazy(value):
            raise InputError(f"{argument} must be in memory, one column per label: collect() it")
    names = _label_names(y_true, y_proba)
    targets, gone = find_missing_entries(y_true, "y_true")
    predictions, absent = find_missing_entries(y_proba, "y_proba")
    _check_shapes(targets, predictions)
    n_labels = targets.shape[1]
    if titles is not None and len(titles) != n_labels:
        raise InputError(f"labels must name {n_labels} columns; it names {len(titles)}")
    if titles is not None and names is not None:
        check_paired(titles, names, ("labels", "the columns"))
    own = titles or names or tuple(str(j) for j in range(n_labels))
    if len(set(own)) < len(own):
        twice = next(name for name in own if own.count(name) > 1)
        raise InputError(
            f"two labels are called {twice!r}: give each its own name with labels=[...]"
        )
    targets, predictions = (
        _checked_numbers(targets, "y_true"),
        _checked_numbers(predictions, "y_proba"),
    )
    logits, logprobs = read_given(given)
    _check_entries(targets, predictions, ~gone, absent, own, in_unit=not (logits or logprobs))
    weights = None if sample_weight is None else _checked_weights(sample_weight, targets.shape[0])
    note = _one_class_note(targets, predictions, gone) if not (logits or logprobs) else ""
    return LabelColumns(own, targets, ~gone, predictions, weights, given, note)


def _label_names(y_true: Any, y_proba: Any) -> tuple[str, ...] | None:
    """The names of the labels: those of the columns of y_true, or else of y_proba; None if neither
    is a frame. Raise InputError if the two have their labels in different orders.
    """
    names = [
        tuple(map(str, value.columns)) if hasattr(value, "columns") else None
        for value in (y_true, y_proba)
    ]
    true, proba = names
    if true and proba and true != proba and set(true) & set(proba):
        raise InputError(
            f"the columns of y_true are {', '.join(true[:4])}..., those of y_proba "
            f"{', '.join(proba[:4])}...: give the same labels in the same order"
        )
    check_frames_paired(y_true, y_proba)
    return true or proba


def _check_shapes(targets: NDArray[Any], predictions: NDArray[Any]) -> None:
    """Raise InputError unless both arrays have the same shape (n, labels) with at least
    one entry.
    """
    for argument, array in (("y_true", targets), ("y_proba", predictions)):
        if array.ndim != 2:
            more = ". One label is a binary problem: evaluate(y_true, y_proba)"
            raise InputError(
                f"{argument} must have the shape (n, labels), one column per label; got "
                f"{array.shape}{more if array.ndim == 1 else ''}"
            )
    if targets.shape != predictions.shape:
        raise InputError(
            "y_true and y_proba must have the same shape (n, labels); got "
            f"{targets.shape} and {predictions.shape}"
        )
    if 0 in targets.shape:
        raise InputError(f"y_true must have at least one row and one label; got {targets.shape}")


def _checked_numbers(array: NDArray[Any], argument: str) -> NDArray[Any]:
    """The array itself; raise InputError unless it holds numbers or truth values. `argument` is its
    name in the message.
    """
    if array.dtype.kind not in "biuf":
        kind = "text" if array.dtype.kind in "US" else f"dtype {array.dtype}"
        raise InputError(f"{argument} must be numbers; it holds {kind}: give 0 or 1 for each label")
    return array


def _checked_weights(sample_weight: Any, n: int) -> NDArray[Any]:
    """The weights of n rows, (n,); raise InputError unless all are finite and at least 0."""
    weights = checked_weights(to_array(sample_weight, "sample_weight"), n)
    good = np.isfinite(weights) & (weights >= 0)
    if not good.all():
        row = int(np.argmin(good))
        raise InputError(
            f"sample_weight[{row}] is {float(weights[row])!r}: weights must be finite and not "
            "negative"
        )
    return weights


def _check_entries(
    targets: NDArray[Any],
    predictions: NDArray[Any],
    annotated: Mask,
    absent: Mask,
    names: tuple[str, ...],
    *,
    in_unit: bool,
) -> None:
    """Raise InputError for the first annotated entry with a prediction or target that cannot be
    measured; the message names its row and label.

    `annotated` masks the known targets, `absent` the missing predictions; both are (n, labels).
    `in_unit`: predictions must lie in [0, 1].
    """
    with np.errstate(invalid="ignore"):
        bad = absent | ~np.isfinite(predictions)
        if in_unit:
            bad |= (predictions < -OVERSHOOT) | (predictions > 1 + OVERSHOOT)
        wrong = (targets < -OVERSHOOT) | (targets > 1 + OVERSHOOT)
    need_of_predictions = "predictions must be finite numbers"
    if in_unit:
        need_of_predictions = (
            "predictions must lie in [0, 1]. If these are logits, pass "
            f"{setting('from_logits', True)}"
        )
    need_of_targets = (
        "labels must be 0, 1 or a probability; NaN means that a label was not annotated"
    )
    for argument, values, flags, need in (
        ("y_proba", predictions, bad & annotated, need_of_predictions),
        ("y_true", targets, wrong & annotated, need_of_targets),
    ):
        if flags.any():
            entry, at = first_entry(argument, flags)
            place = f"{entry} (label {names[at[1]]!r})"
            if argument == "y_proba" and absent[at]:
                raise InputError(
                    f"{place} is missing, but its label is annotated: give a prediction, or NaN as "
                    "the label"
                )
            raise InputError(f"{place} is {values[at].item()!r}: {need}")


def _one_class_note(targets: NDArray[Any], predictions: NDArray[Any], gone: Mask) -> str:
    """A note that `evaluate` suits these data better, if all rows of targets and of predictions sum
    to 1, as when each row has exactly one of several classes; else "". `gone` masks the missing
    targets.
    """
    if gone.any() or targets.shape[1] < 2 or targets.shape[0] < 2:
        return ""
    of_one = (np.abs(predictions.sum(axis=1, dtype=np.float64) - 1.0) < 1e-3).all()
    if not of_one or not (targets.sum(axis=1) == 1).all():
        return ""
    return (
        "every row of y_proba and of y_true sums to 1, as if a row had one of several classes: in "
        "that case evaluate(y_true, y_proba) gives more"
    )
