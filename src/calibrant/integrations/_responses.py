"""The responses of a fitted classifier, as labels, predictions and classes for a measure."""

# ruff: noqa: N803 - X is the name that scikit-learn has for features.

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant._core.errors import InputError, nearest
from calibrant._data.arrays import to_array
from calibrant._data.counts import are_counts
from calibrant._data.explain import check_rows
from calibrant._data.labels import Lookup, are_indices, encode
from calibrant._data.logprobs import Given
from calibrant._data.to_samples import to_samples

METHODS = ("predict_proba", "decision_function")


@dataclass(frozen=True)
class Problem:
    """Labels and predictions of a classifier, in the form that a measure takes.

    `y_proba` is (n,) for two classes or for one against the rest, and (n, k) for more. `y_true`
    holds hard or soft labels. `classes` are the labels of the columns, or None where `y_true` holds
    0 and 1 or soft labels. `from_logits` says whether `y_proba` holds logits.
    """

    y_true: Any
    y_proba: Any
    classes: Any
    from_logits: bool


def resolve_methods(response_method: Any, from_logits: Any) -> tuple[str, ...]:
    """Check which methods of an estimator may give predictions, in order of preference.

    The scores of `decision_function` count as logits only if the caller says so: the method without
    `from_logits` is an error, and so is `from_logits` without the method.
    """
    one = isinstance(response_method, str)
    methods = (response_method,) if one else tuple(response_method)
    if not methods or any(method not in METHODS for method in methods):
        raise InputError(
            f"response_method must be 'predict_proba', 'decision_function' or a tuple of both, in "
            f"order of preference; got {response_method!r}"
        )
    if "decision_function" in methods and from_logits is not True:
        raise InputError(
            "decision_function gives scores, not probabilities: if they are logits, pass "
            "from_logits=True"
        )
    if "decision_function" not in methods and from_logits is not False:
        raise InputError(
            "predict_proba gives probabilities, so from_logits must be False: to read logits, use "
            "response_method='decision_function'"
        )
    return methods


def available_method(estimator: Any, methods: tuple[str, ...]) -> str:
    """The first of these methods that the estimator has; an error if it has none of them."""
    for method in methods:
        if hasattr(estimator, method):
            return method
    hint = (
        ". If its decision_function gives logits, use response_method='decision_function' and "
        "from_logits=True"
        if hasattr(estimator, "decision_function")
        else ""
    )
    raise InputError(f"{type(estimator).__name__} has no {' and no '.join(methods)}{hint}")


def classes_of(estimator: Any, *, all_named: bool = False) -> NDArray[Any]:
    """The labels of the estimator's classes, in the order of its columns of predictions.

    An estimator that is not fitted, or that has several outputs, is an error; so is a single class,
    unless the caller names all classes (`all_named`).
    """
    classes = getattr(estimator, "classes_", None)
    if classes is None:
        raise InputError(
            f"{type(estimator).__name__} has no classes_, which name the columns of its "
            "predictions: fit it first, or give its predictions to the measure itself, with "
            "classes=[...]"
        )
    if isinstance(classes, list) and any(np.ndim(part) for part in classes):
        raise InputError(
            f"{type(estimator).__name__} has several outputs: measure each of them alone"
        )
    labels = to_array(classes, "classes_")
    if labels.size < 2 and not all_named:
        raise InputError(
            f"{type(estimator).__name__} knows only 1 class: it was fitted to rows of one label"
        )
    return labels


def check_seen(y: Any, classes: NDArray[Any]) -> None:
    """Raise an error for a label in `y` that is not among the estimator's classes.

    Such a label occurs where a training fold lacks a class. Missing labels are skipped.
    """
    labels = to_array(y, "y")
    names = classes.tolist()
    if labels.ndim != 1 or are_indices(labels.dtype.kind, names):
        return
    known = Lookup(names)
    # Missing labels raise an error of their own later.
    given = [each for each in dict.fromkeys(labels.tolist()) if each is not None and each == each]
    unseen = [label for label in given if known.find(label) is None]
    if unseen:
        row = labels.tolist().index(unseen[0])
        raise InputError(
            f"y_true[{row}] is {unseen[0]!r}, which the estimator has not seen; its classes are "
            f"{names}. If a training fold may lack a class, use a stratified split, or name all "
            "classes with scorer(..., classes=[...]): unseen classes then have the probability 0"
        )


def add_unseen_classes(
    values: Any, seen: NDArray[Any], names: list[Any], logits: bool
) -> NDArray[Any]:
    """Predictions with a column for each class in `names`, (n, len(names)).

    `values` has a column for each of the classes `seen` by the estimator, or is (n,) for the second
    of two. An unseen class gets the probability 0. If `values` are `logits`, an unseen class is an
    error, since no finite logit stands for the probability 0.
    """
    array = to_array(values, "predictions")
    if array.ndim == 1:  # probabilities of the second of two classes
        array = np.stack([np.zeros_like(array) if logits else 1 - array, array], axis=1)
    if array.shape[1] != seen.size:
        raise _wrong_column_count(seen.size, array.shape[1])
    known = Lookup(names)
    columns: list[int] = []
    for label in seen.tolist():
        column = known.find(label)
        if column is None:
            raise InputError(f"classes lacks the estimator's class {label!r}: name all of them")
        columns.append(column)
    if logits and len(columns) < len(names):
        raise InputError(
            "an unseen class has the probability 0, which has no logit: use "
            "response_method='predict_proba'"
        )
    out = np.zeros((array.shape[0], len(names)), dtype=array.dtype)
    out[:, columns] = array
    return out


def problem_of(
    values: Any, classes: NDArray[Any], y: Any, y_soft: Any, pos_label: Any, from_logits: bool
) -> Problem:
    """Labels and predictions in the form that a measure takes.

    `values` are the estimator's predictions: (n, k), or (n,) for the second of two classes;
    `classes` are the labels of the columns. With `pos_label`, that class is measured against the
    rest. Without it, two classes are measured by the probability of the second, and more classes
    all together. If `y_soft` is not None, soft labels replace `y`.
    """
    if pos_label is None and classes.size > 2:
        soft = _check_soft_labels(y_soft, classes.size)
        names = classes if soft is None else None
        return Problem(y if soft is None else soft, values, names, from_logits)
    column = 1 if pos_label is None else column_of(pos_label, classes.tolist())
    y_proba = _class_column(to_array(values, "predictions"), column, classes.size, from_logits)
    soft = _check_soft_labels(y_soft, classes.size)
    if soft is not None:
        return Problem(_against_rest(soft, column), y_proba, None, from_logits)
    labels, _ = encode(to_array(y, "y"), classes, classes.size, True)
    return Problem((labels == column).astype(np.int8), y_proba, None, from_logits)


def read_problem(
    estimator: Any, X: Any, y: Any, *, y_soft: Any, methods: tuple[str, ...], pos_label: Any
) -> Problem:
    """Predict rows X with an estimator; return labels and predictions for a measure.

    `methods` are those that may give the predictions, in order of preference. With `y_soft`, soft
    labels replace `y`; with `pos_label`, that class is measured against the rest.
    """
    method = available_method(estimator, methods)
    classes = classes_of(estimator)
    values = getattr(estimator, method)(X)
    return problem_of(values, classes, y, y_soft, pos_label, method == "decision_function")


def _check_soft_labels(y_soft: Any, k: int) -> NDArray[Any] | None:
    """Check that soft labels are (n,) or (n, k), for k classes, and return them as an array.

    None stays None.
    """
    if y_soft is None:
        return None
    soft = to_array(y_soft, "y_soft")
    if soft.ndim == 2 and soft.shape[1] != k:
        raise InputError(
            f"y_soft must have one column per class of the estimator ({k}), in the order of its "
            f"classes_; it has {soft.shape[1]}"
        )
    if soft.ndim not in (1, 2):
        raise InputError(f"y_soft must have the shape (n,) or (n, k); got {soft.shape}")
    return soft


def _against_rest(soft: NDArray[Any], column: int) -> NDArray[Any]:
    """The soft labels of one class, that of `column`, against the rest.

    Shares of shape (n, k) become the column's share, (n,). Counts of votes stay counts, (n, 2): of
    the rest, and of the class. Labels of shape (n,) are unchanged.
    """
    if soft.ndim == 1:
        return soft
    # With uniform predictions, which are valid, any error is about the labels.
    samples = to_samples(soft, np.full(soft.shape, 1 / soft.shape[1]))
    check_rows(samples)
    if not are_counts(soft):
        return soft[:, column]
    return np.stack([soft.sum(axis=1) - soft[:, column], soft[:, column]], axis=1)


def column_of(pos_label: Any, names: list[Any]) -> int:
    """The index of the class `pos_label` in `names`; an error if it is not there."""
    column = Lookup(names).find(pos_label)
    if column is None:
        raise InputError(f"pos_label={pos_label!r} is not a class: {nearest(pos_label, names)}")
    return column


def binary_column(values: Any, column: int, given: Given) -> NDArray[Any]:
    """The predictions of the class in column 0 or 1 of two, (n,): probabilities or logits.

    `given` says whether `values` are logits. Both columns count: probabilities must sum to 1, and
    the logit of one class is the difference of the two columns.
    """
    array = to_array(values, "predictions")
    samples = to_samples(np.zeros(array.shape[0], dtype=np.int8), array, from_logits=given)
    check_rows(samples)
    own: NDArray[Any] = samples.predictions[:, column]
    return own - samples.predictions[:, 1 - column] if samples.from_logits else own


def _class_column(values: NDArray[Any], column: int, k: int, from_logits: bool) -> Any:
    """The predictions of the class in `column` against the rest, (n,), of k classes.

    `values` are (n, k), or (n,) for the second of two classes. Logits of more than two classes are
    an error.
    """
    if values.ndim == 1:  # probabilities of the second of two classes
        return values if column == 1 else (-values if from_logits else 1 - values)
    if values.shape[1] != k:
        raise _wrong_column_count(k, values.shape[1])
    if k == 2:
        return binary_column(values, column, from_logits)
    if from_logits:
        raise InputError(
            "pos_label needs probabilities: with more than two classes, logits give no "
            "probability of one class against the rest. Use response_method='predict_proba'"
        )
    return values[:, column]


def _wrong_column_count(n_classes: int, n_columns: int) -> InputError:
    """The error for predictions that have more or fewer columns than the estimator has classes."""
    return InputError(
        f"the estimator has {n_classes} classes, but {n_columns} columns of predictions"
    )
