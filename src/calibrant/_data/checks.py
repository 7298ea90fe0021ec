"""Checks of shapes and types that arrays, tensors and frames share; values are checked later."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from calibrant._core.errors import InputError
from calibrant._core.messages import Note, argument_order, find_note, setting, values_of
from calibrant._core.texts import message
from calibrant._core.typing import Mask, Shape
from calibrant._data.answers import ANSWERS
from calibrant._data.arrays import kind_of_tensor, precision_name
from calibrant._data.columns import check_frames_paired
from calibrant._data.links import HALF_ROW_SUM_TOLERANCE, ROW_SUM_TOLERANCE
from calibrant._data.samples import shape_of

# If the largest weight is outside this range, all are scaled: fourth powers must be finite.
WEIGHTS = (2.0**-150, 2.0**150)


def weight_exponent(largest: float) -> int:
    """The exponent e of the power 2^e by which all weights are divided, from the largest weight. It
    is 0 unless fourth powers of weights, which variances need, would overflow or underflow.
    Division by a power of two is exact.
    """
    if not (math.isfinite(largest) and largest > 0) or WEIGHTS[0] <= largest <= WEIGHTS[1]:
        return 0
    return math.frexp(largest)[1]


def sum_tolerance(rows: Any) -> float:
    """How far from 1 the sum of a row of probabilities may be, which depends on the precision of
    `rows`: further in half precision.
    """
    return HALF_ROW_SUM_TOLERANCE.get(precision_name(rows), ROW_SUM_TOLERANCE)


def check_names(y_true: Any, y_proba: Any) -> None:
    """Raise InputError if y_true or y_proba is None or a column's name (there is no frame), or if
    both are frames whose columns have names in different orders.
    """
    if isinstance(y_true, np.ndarray) and isinstance(y_proba, np.ndarray):
        return
    for argument, value in (("y_true", y_true), ("y_proba", y_proba)):
        if value is None or isinstance(value, str):
            raise InputError(
                f"{values_of(argument)} must be numbers; it is {value!r}: give an array, or name a "
                "column of data=frame"
            )
    check_frames_paired(y_true, y_proba)


def first_entry(name: str, chosen: Mask) -> tuple[str, tuple[int, ...]]:
    """The first entry at which a mask is True: as messages name it, "y_true[3, 1]", and its
    index. `name` is the name of the array.
    """
    at = tuple(int(i) for i in np.argwhere(chosen)[0])
    return f"{name}[{', '.join(map(str, at))}]", at


def _check_kind(values: Any, argument: str) -> None:
    """Raise InputError unless an array or a tensor holds real numbers. `argument` is its name in
    the message.
    """
    kind = values.dtype.kind if isinstance(values, np.ndarray) else kind_of_tensor(values)
    if kind in "fiub":
        return
    if kind in "OUSMmV":
        what = "text" if kind in "US" else f"dtype {values.dtype}"
        if kind == "O" and values.size and isinstance(values.flat[0], list | tuple | np.ndarray):
            raise InputError(
                f"{values_of(argument)} must be numbers, but each row holds a list: give an array "
                "of the shape (n, k), np.stack(column), or a column for each class"
            )
        hint = "convert it to numbers"
        if argument == "y_true":
            hint = f"name the class of each column with {setting('classes', [...])}"
        raise InputError(f"{values_of(argument)} must be numbers; it holds {what}: {hint}")
    if kind == "c":
        raise InputError(f"{values_of(argument)} must be real numbers; it holds complex ones")


def checked_predictions(predictions: Any) -> Any:
    """Predictions, an array or a tensor, after checks: raise InputError unless they are real
    numbers of the shape (n,) or (n, k) with k of at least 2. Floats longer than 64 bits become
    float64.
    """
    _check_kind(predictions, "y_proba")
    if predictions.ndim not in (1, 2):
        shape = tuple(predictions.shape)
        raise InputError(
            f"{values_of('y_proba')} must have the shape (n,) for binary or (n, k) for multiclass "
            f"predictions; got {shape}{_how_to_flatten(shape)}"
        )
    if predictions.ndim == 2 and predictions.shape[1] < 2:
        shape = tuple(predictions.shape)
        if shape[1] == 0:
            raise InputError(
                f"{values_of('y_proba')} has the shape {shape} and thus no columns: give one "
                "column for each class"
            )
        raise InputError(
            f"{values_of('y_proba')} has the shape {shape}: one column is one class, but at least "
            "two are needed. For a binary problem give the probability of class 1 as (n,): "
            f"{values_of('y_proba')}[:, 0]"
        )
    if predictions.dtype.itemsize > 8:
        return predictions.astype(np.float64)
    return predictions


def _how_to_flatten(shape: tuple[int, ...]) -> str:
    """The end of an error about predictions of three or more dimensions, such as maps of an image:
    how to reshape them to rows, with the axis of classes second or last. "" for fewer dimensions.
    """
    if len(shape) < 3:
        return ""
    return (
        ". If they are a map, move its classes last and its positions into rows: (B, C, ...) by "
        f"np.moveaxis({values_of('y_proba')}, 1, -1).reshape(-1, {shape[1]}), (B, ..., C) by "
        f"{values_of('y_proba')}.reshape(-1, {shape[-1]}), a binary one by ravel(); and "
        f"{values_of('y_true')}.ravel()"
    )


def checked_targets(targets: Any, predictions: Any) -> Any:
    """Targets, an array or a tensor, after checks: raise InputError unless they are real numbers of
    a shape that fits the predictions. The shape (n, 1) becomes (n,).
    """
    _check_kind(targets, "y_true")
    if targets.ndim == 0:
        raise InputError(
            f"{values_of('y_true')} must have one entry per row; got a single {targets.item()!r}"
        )
    if targets.shape[0] != predictions.shape[0]:
        raise InputError(
            f"{values_of('y_true')} and {values_of('y_proba')} must have the same number of rows; "
            f"got {targets.shape[0]} and {predictions.shape[0]}"
        )
    if targets.ndim == 2 and targets.shape[1] == 1:
        targets = targets[:, 0]
    if targets.ndim == 1:
        return targets
    if predictions.ndim == 1:
        raise InputError(
            f"{values_of('y_true')} has the shape {tuple(targets.shape)} while "
            f"{values_of('y_proba')} is (n,): binary predictions need targets of the shape (n,), "
            "or vote counts for both classes, (n, 2). If there are several classes, give "
            f"{values_of('y_proba')} as (n, k); the order is {argument_order()}"
        )
    if targets.ndim > 2:
        raise InputError(
            f"{values_of('y_true')} must have the shape (n,) or (n, k); got {tuple(targets.shape)}"
        )
    if targets.shape != predictions.shape:
        n, k = targets.shape[1], predictions.shape[1]
        raise InputError(message("same_classes", n=n, k=k))
    return targets


def checked_weights(weights: Any, n: int) -> Any:
    """Weights, an array or a tensor, after checks: raise InputError unless they are real numbers of
    the shape (n,).
    """
    _check_kind(weights, "sample_weight")
    if weights.shape != (n,):
        raise InputError(
            f"sample_weight must have one weight per row, the shape ({n},); "
            f"got {tuple(weights.shape)}"
        )
    return weights


def describe(
    kind: str,
    n_columns: int | None,
    *,
    soft_rows: bool,
    label_note: str | None = None,
    votes_note: str | None = None,
    answers: bool = False,
) -> tuple[str, ...]:
    """Notes on how the input was read, which results repeat.

    `kind` is what predictions are ("probabilities", "logits"), `n_columns` the number of their
    columns, None for a binary problem. `soft_rows`: targets are rows of class probabilities.
    `answers`: labels say if an answer was right.
    """
    notes: list[str] = [shape_note(kind, n_columns or 1)]
    if votes_note is not None:
        notes.append(votes_note)
    elif soft_rows:
        notes.append("targets are rows of class probabilities")
    elif label_note is not None:
        notes.append(label_note)
    elif n_columns is not None:
        notes.append("targets are class indices")
    elif answers:
        notes.append(ANSWERS)
    if n_columns == 2:
        notes.append(TWO_COLUMNS)
    return tuple(notes)


def shape_note(kind: str, n_columns: int) -> Note:
    """The note that says whether predictions of this kind ("probabilities", "logits") are binary or
    multiclass; `n_columns` is the number of their columns.
    """
    if n_columns == 1:
        return Note(f"binary {kind}", "shape", multiclass=False)
    return Note(f"multiclass {kind}, {n_columns} classes", "shape", multiclass=True)


def shape_from_notes(inferred: tuple[str, ...]) -> Shape:
    """The kind of problem, "binary", "answers" or "multiclass", found in the notes on how the input
    was read.
    """
    shape = find_note(inferred, "shape")
    if shape is not None and shape.values["multiclass"]:
        return "multiclass"
    return shape_of(1, find_note(inferred, ANSWERS.code) is not None)


# A note: two columns may be meant as a binary problem, of which calibration errors differ.
TWO_COLUMNS = Note(
    "with two columns, errors are those of the top label, whichever class it is; for errors of "
    "P(y = 1) give only the second column",
    "two columns",
)
