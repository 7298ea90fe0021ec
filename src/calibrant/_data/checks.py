"""Checks of shapes and types that arrays, tensors and frames share; values are checked later."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant._core.errors import InputError
from calibrant._core.messages import Note, argument_order, find_note, setting, values_of
from calibrant._data.answers import ANSWERS
from calibrant._data.arrays import precision_name, to_array
from calibrant._data.columns import check_frames_paired
from calibrant._data.links import HALF_ROW_SUM_TOLERANCE, ROW_SUM_TOLERANCE
from calibrant._data.logits import LOG_PROBABILITIES, tell_kind_of_logits
from calibrant._data.samples import Shape, shape_of

# The largest weight is in this range, or all are scaled: up to fourth powers are numbers.
WEIGHTS = (2.0**-150, 2.0**150)


def warn_of_logits(kind: str, stream: bool, multiclass: bool) -> None:
    """Warn of logits that look like something else; a few rows of a stream prove little."""
    if not (stream and kind == LOG_PROBABILITIES):
        tell_kind_of_logits(kind, multiclass=multiclass)


def weight_exponent(largest: float) -> int:
    """The power of two that weights are divided by, which is exact: 0 unless their powers, which
    variances need, would be too large or too small for numbers.
    """
    if not (math.isfinite(largest) and largest > 0) or WEIGHTS[0] <= largest <= WEIGHTS[1]:
        return 0
    return math.frexp(largest)[1]


def scaled_by(exponent: int) -> tuple[str, ...]:
    """The note on scaled weights."""
    return (f"weights divided by 2^{exponent}",) if exponent else ()


def sum_tolerance(rows: Any) -> float:
    """How far from 1 rows may sum, by the precision in which they came."""
    return HALF_ROW_SUM_TOLERANCE.get(precision_name(rows), ROW_SUM_TOLERANCE)


def check_names(y_true: Any, y_proba: Any) -> None:
    """An error for nothing at all, for a column's name without a frame, or for frames whose columns
    are paired otherwise than their names say.
    """
    for argument, value in (("y_true", y_true), ("y_proba", y_proba)):
        if value is None or isinstance(value, str):
            raise InputError(
                f"{values_of(argument)} must be numbers; it is {value!r}: give an array, or name a "
                "column of data=frame"
            )
    check_frames_paired(y_true, y_proba)


def check_bool(from_logits: Any) -> bool:
    """Whether the predictions are logits, if what was said of it can be read."""
    if not isinstance(from_logits, bool | np.bool_):
        raise InputError(f"from_logits must be True or False; got {from_logits!r}")
    return bool(from_logits)


def _numeric(array: NDArray[Any], argument: str) -> NDArray[Any]:
    if array.dtype.kind in "OUSMmV":
        what = "text" if array.dtype.kind in "US" else f"dtype {array.dtype}"
        if array.dtype.kind == "O" and array.size and _is_list(array.flat[0]):
            raise InputError(
                f"{values_of(argument)} must be numbers; it holds a list in each row: give them as "
                "an array of the shape (n, k), np.stack(column), or a column for each class"
            )
        hint = (
            f": say which label is which column with {setting('classes', [...])}"
            if argument == "y_true"
            else ": convert it to numbers"
        )
        raise InputError(f"{values_of(argument)} must be numbers; it holds {what}{hint}")
    if array.dtype.kind == "c":
        raise InputError(f"{values_of(argument)} must be real numbers; it holds complex ones")
    return array


def _is_list(value: Any) -> bool:
    return isinstance(value, list | tuple | np.ndarray)


def checked_predictions(predictions: NDArray[Any]) -> NDArray[Any]:
    """Predictions, if they have a shape and a type that predictions can have."""
    _numeric(predictions, "y_proba")
    if predictions.ndim not in (1, 2):
        raise InputError(
            f"{values_of('y_proba')} must have the shape (n,) for binary or (n, k) for multiclass "
            f"predictions; got {predictions.shape}{_flattened(predictions)}"
        )
    if predictions.ndim == 2 and predictions.shape[1] == 0:
        raise InputError(
            f"{values_of('y_proba')} has the shape {predictions.shape}: it has no columns, where "
            "every class needs one"
        )
    if predictions.ndim == 2 and predictions.shape[1] < 2:
        raise InputError(
            f"{values_of('y_proba')} has the shape {predictions.shape}: one column is one class "
            "only, where two are needed. For a binary problem give the probability of class 1 as "
            f"(n,): {values_of('y_proba')}[:, 0]"
        )
    if predictions.dtype.kind == "f" and predictions.dtype.itemsize > 8:
        return predictions.astype(np.float64)
    return predictions


def _flattened(predictions: NDArray[Any]) -> str:
    """How a map of predictions becomes rows: which axis the classes are on is not guessed."""
    if predictions.ndim < 3:
        return ""
    return (
        ". Of a map, put its classes last and its positions into rows: (B, C, ...) by "
        f"np.moveaxis({values_of('y_proba')}, 1, -1).reshape(-1, {predictions.shape[1]}), (B, ..., "
        f"C) by {values_of('y_proba')}.reshape(-1, {predictions.shape[-1]}), a binary one by "
        f"ravel(); and {values_of('y_true')}.ravel()"
    )


def checked_targets(targets: NDArray[Any], predictions: NDArray[Any]) -> NDArray[Any]:
    """Targets, if they fit the predictions."""
    _numeric(targets, "y_true")
    n = predictions.shape[0]
    if targets.shape[:1] != (n,):
        raise InputError(
            f"{values_of('y_true')} and {values_of('y_proba')} must have the same number of rows; "
            f"got {targets.shape[0]} and {n}"
            if targets.ndim
            else f"{values_of('y_true')} must have one entry per row; got a single "
            f"{targets.item()!r}"
        )
    if targets.ndim == 2 and targets.shape == (n, 1):
        targets = targets[:, 0]
    if predictions.ndim == 1 and targets.ndim != 1:
        raise InputError(
            f"{values_of('y_true')} has the shape {targets.shape} while {values_of('y_proba')} is "
            "(n,): binary predictions need targets of the shape (n,), or counts of votes for both "
            f"classes, (n, 2). If there are several classes, give {values_of('y_proba')} as (n, "
            f"k); the order is {argument_order()}"
        )
    if predictions.ndim == 2 and targets.ndim == 2 and targets.shape != predictions.shape:
        raise InputError(
            f"{values_of('y_true')} and {values_of('y_proba')} must have the same classes; got "
            f"{targets.shape[1]} and {predictions.shape[1]} columns"
        )
    if targets.ndim > 2:
        raise InputError(
            f"{values_of('y_true')} must have the shape (n,) or (n, k); got {targets.shape}"
        )
    return targets


def checked_weights(sample_weight: Any, n: int) -> NDArray[Any]:
    """Weights, if there is one per row."""
    weights = _numeric(to_array(sample_weight, "sample_weight"), "sample_weight")
    if weights.shape != (n,):
        raise InputError(
            f"sample_weight must have one weight per row, the shape ({n},); got {weights.shape}"
        )
    return weights


def inferred_from(
    targets: NDArray[Any],
    predictions: NDArray[Any],
    from_logits: bool,
    labels: str | None = None,
    votes: str | None = None,
    *,
    answers: bool = False,
) -> tuple[str, ...]:
    """What the shapes and types were taken to mean, the labels by their classes, and counts of
    votes; the result echoes it.
    """
    kind = "logits" if from_logits else "probabilities"
    inferred: list[str] = [shape_note(kind, 1 if predictions.ndim == 1 else predictions.shape[1])]
    if votes is not None:
        inferred.append(votes)
    elif targets.ndim == 2:
        inferred.append("targets are rows of class probabilities")
    elif labels is not None:
        inferred.append(labels)
    elif predictions.ndim == 2:
        inferred.append("targets are class indices")
    elif answers:
        inferred.append(ANSWERS)
    if predictions.ndim == 2 and predictions.shape[1] == 2:
        inferred.append(TWO_COLUMNS)
    return tuple(inferred)


def shape_note(kind: str, n_columns: int) -> Note:
    """The note on what so many columns of predictions were taken for."""
    if n_columns == 1:
        return Note(f"binary {kind}", "shape", multiclass=False)
    return Note(f"multiclass {kind}, {n_columns} classes", "shape", multiclass=True)


def noted_shape(inferred: tuple[str, ...]) -> Shape:
    """The shape of a problem, as the notes on its input have it."""
    shape = find_note(inferred, "shape")
    if shape is not None and shape.values["multiclass"]:
        return "multiclass"
    return shape_of(1, find_note(inferred, ANSWERS.code) is not None)


def softness_note(text: str, *, soft: bool) -> Note:
    """The note on whether labels are probabilities, now that they have been seen."""
    return Note(f"labels are {text}", "labels", soft=soft)


def noted_soft(inferred: tuple[str, ...]) -> bool:
    """Whether labels are probabilities, as the notes on the input have it."""
    labels = find_note(inferred, "labels")
    return labels is not None and bool(labels.values["soft"])


# Two columns may be meant as a binary problem, whose errors are others.
TWO_COLUMNS = Note(
    "of two columns, errors are those of the top label, whichever class it is; for those of "
    "P(y = 1) give the second column alone",
    "two columns",
)
