"""What the user gave becomes Samples, or a clear error."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant._core.errors import InputError
from calibrant._core.messages import values_of
from calibrant._data.answers import are_answers
from calibrant._data.arrays import stays_on_device, to_array
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
from calibrant._data.columns import (
    check_apart,
    check_column_order,
    check_columns_of_classes,
    is_lazy,
    names_of_columns,
    pick,
)
from calibrant._data.counts import labels_of, votes_per_row
from calibrant._data.labels import encode
from calibrant._data.logits import kind_of_logits
from calibrant._data.logprobs import FROM_LOGPROBS, Given, probabilities_of, read_given
from calibrant._data.missing import check_missing, own_rows, without_missing
from calibrant._data.samples import Samples
from calibrant._data.source import Source


def to_samples_in_place(
    y_true: Any,
    y_proba: Any,
    sample_weight: Any = None,
    from_logits: Given = False,
    classes: Sequence[Any] | None = None,
    data: Any = None,
    missing: str = "error",
    *,
    votes: Any = None,
    stream: bool = False,
) -> Source:
    """Samples where they are: lazy frames stay in their engine, tensors on their device."""
    if is_lazy(data):
        from calibrant._data.frames import frame_to_samples

        return frame_to_samples(
            y_true, y_proba, data, sample_weight=sample_weight, from_logits=from_logits,
            classes=classes, missing=missing, votes=votes, stream=stream,
        )  # fmt: skip
    if data is None and stays_on_device(y_proba):
        from calibrant._data.tensors import tensors_to_samples

        return tensors_to_samples(
            y_true, y_proba, sample_weight=sample_weight, from_logits=from_logits,
            classes=classes, missing=missing, votes=votes, stream=stream,
        )  # fmt: skip
    return to_samples(
        y_true, y_proba, sample_weight=sample_weight, from_logits=from_logits, classes=classes,
        data=data, missing=missing, votes=votes, stream=stream,
    )  # fmt: skip


def to_samples(
    y_true: Any,
    y_proba: Any,
    sample_weight: Any = None,
    from_logits: Given = False,
    classes: Sequence[Any] | None = None,
    data: Any = None,
    missing: str = "error",
    *,
    votes: Any = None,
    stream: bool = False,
) -> Samples:
    """Samples in memory, from arrays, tensors or columns. Shapes and types are settled here; values
    are checked where they are summed. Rows of a `stream` are some of many.
    """
    names: tuple[str, ...] | None = None
    answers = are_answers(y_true, data)
    if data is not None:
        check_apart(y_true, y_proba)
        if isinstance(y_proba, list | tuple):
            names = tuple(str(name) for name in y_proba)
            if classes is None:
                check_column_order(names, [y_true] if isinstance(y_true, str) else y_true)
        y_true = pick(data, y_true, "y_true")
        y_proba = pick(data, y_proba, "y_proba")
        if sample_weight is not None:
            sample_weight = pick(data, sample_weight, "sample_weight")
        if isinstance(votes, str):
            votes = pick(data, votes, "votes")
    else:
        check_names(y_true, y_proba)
    columns = names or names_of_columns(y_proba)
    logits, logprobs = read_given(from_logits)
    tolerance, label_tolerance = (sum_tolerance(value) for value in (y_proba, y_true))
    kept: NDArray[np.bool_] | None = None
    if check_missing(missing) == "drop":
        y_true, y_proba, sample_weight, kept = without_missing(y_true, y_proba, sample_weight)
    predictions = checked_predictions(to_array(y_proba, "y_proba"))
    if logprobs:
        predictions = probabilities_of(predictions)
    targets = to_array(y_true, "y_true")
    if (targets.size == 0 or predictions.shape[0] == 0) and kept is None:
        raise InputError(
            f"{values_of('y_true')} and {values_of('y_proba')} must hold at least one row; got none"
        )
    n_classes = predictions.shape[1] if predictions.ndim == 2 else 2
    label_note: str | None = None
    if classes is not None:
        targets, label_note = encode(targets, classes, n_classes, predictions.ndim == 2)
        check_columns_of_classes(columns, list(classes))
        names = tuple(str(name) for name in classes)
    own_votes = None
    if votes is not None:
        own_votes = votes_per_row(own_rows(votes, kept), predictions.shape[0])
    labels = labels_of(targets, own_votes, 1 if predictions.ndim == 1 else n_classes, stream=stream)
    targets = checked_targets(labels.targets, predictions)
    weights, exponent = None, 0
    if sample_weight is not None:
        weights = checked_weights(sample_weight, predictions.shape[0])
        exponent = weight_exponent(float(weights.max(initial=0)))
        if exponent:
            weights = np.ldexp(weights.astype(np.float64), -exponent)
    if logits:
        kind = kind_of_logits(predictions, lambda part: part.astype(np.float64), tolerance)
        warn_of_logits(kind, stream, predictions.ndim == 2)
    return Samples(
        predictions,
        targets,
        weights,
        logits,
        names,
        (
            *inferred_from(targets, predictions, logits, label_note, labels.note, answers=answers),
            *([FROM_LOGPROBS] if logprobs else []),
            *scaled_by(exponent),
        ),
        tolerance,
        0 if kept is None else int(np.count_nonzero(~kept)),
        label_tolerance,
        exponent,
        kept,
        labels.votes,
        answers and predictions.ndim == 1,
    )
