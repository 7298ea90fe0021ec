"""The responses of a fitted classifier, as labels, predictions and classes for a measure."""

# ruff: noqa: N803 - X is the name that scikit-learn has for features.

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant._core.errors import InputError, nearest
from calibrant._data.arrays import to_array
from calibrant._data.labels import encode

METHODS = ("predict_proba", "decision_function")


@dataclass(frozen=True)
class Problem:
    """Targets and predictions: (n,) for two classes or for one against the rest, (n, k) for
    more.
    """

    y_true: Any
    y_proba: Any
    classes: Any
    from_logits: bool


def resolve_methods(response_method: Any, from_logits: Any) -> tuple[str, ...]:
    """The methods to read, in order of preference. Scores are logits only with `from_logits`."""
    one = isinstance(response_method, str)
    methods = (response_method,) if one else tuple(response_method)
    if not methods or any(method not in METHODS for method in methods):
        raise InputError(
            f"response_method must be 'predict_proba', 'decision_function' or a tuple of both, in "
            f"order of preference; got {response_method!r}"
        )
    if "decision_function" in methods and from_logits is not True:
        raise InputError(
            "decision_function gives scores, not probabilities: if they are logits, say so with "
            "from_logits=True"
        )
    if "decision_function" not in methods and from_logits is not False:
        raise InputError(
            "predict_proba gives probabilities, so from_logits must be False: to read logits, use "
            "response_method='decision_function'"
        )
    return methods


def available(estimator: Any, methods: tuple[str, ...]) -> str:
    """The first of these methods that the estimator has."""
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


def classes_of(estimator: Any) -> NDArray[Any]:
    """The labels of the estimator's classes, in the order of its columns."""
    classes = getattr(estimator, "classes_", None)
    if classes is None:
        raise InputError(
            f"{type(estimator).__name__} has no classes_, which tells what its columns stand for: "
            "fit it first, or give its predictions to the measure itself, with classes=[...]"
        )
    if isinstance(classes, list) and any(np.ndim(part) for part in classes):
        raise InputError(f"{type(estimator).__name__} has several outputs: measure each by itself")
    labels = to_array(classes, "classes_")
    if labels.size < 2:
        raise InputError(
            f"{type(estimator).__name__} knows 1 class only: it was fitted to rows of one label"
        )
    return labels


def problem_of(
    values: Any, classes: NDArray[Any], y: Any, y_soft: Any, pos_label: Any, from_logits: bool
) -> Problem:
    """The problem that these predictions and labels pose.

    Two classes: the probability of `pos_label`, or of the second class. More: all of them, or with
    `pos_label` that class against the rest.
    """
    if pos_label is None and classes.size > 2:
        soft = _soft(y_soft, classes.size)
        names = classes if soft is None else None
        return Problem(y if soft is None else soft, values, names, from_logits)
    column = 1 if pos_label is None else _column_of(pos_label, classes)
    y_proba = _column(values, column, classes.size, from_logits)
    soft = _soft(y_soft, classes.size)
    if soft is not None:
        return Problem(soft if soft.ndim == 1 else soft[:, column], y_proba, None, from_logits)
    labels, _ = encode(to_array(y, "y"), classes, classes.size, True)
    return Problem((labels == column).astype(np.int8), y_proba, None, from_logits)


def read_problem(
    estimator: Any, X: Any, y: Any, *, y_soft: Any, methods: tuple[str, ...], pos_label: Any
) -> Problem:
    """The problem of an estimator on rows X."""
    method = available(estimator, methods)
    classes = classes_of(estimator)
    values = getattr(estimator, method)(X)
    return problem_of(values, classes, y, y_soft, pos_label, method == "decision_function")


def _soft(y_soft: Any, k: int) -> NDArray[Any] | None:
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


def _column_of(pos_label: Any, classes: NDArray[Any]) -> int:
    names = classes.tolist()
    if pos_label not in names:
        raise InputError(
            f"pos_label={pos_label!r} is not a class of the estimator: "
            f"{nearest(pos_label, [str(name) for name in names])}"
        )
    return int(names.index(pos_label))


def _column(values: Any, column: int, k: int, from_logits: bool) -> Any:
    """The predictions of one class against the rest."""
    if values.ndim == 1:  # of the second of two classes
        return values if column == 1 else (-values if from_logits else 1 - values)
    if values.shape[1] != k:
        raise InputError(
            f"the estimator has {k} classes, but {values.shape[1]} columns of predictions"
        )
    if not from_logits:
        return values[:, column]
    if k > 2:
        raise InputError(
            "pos_label needs probabilities: logits of more than two classes have none of one class "
            "against the rest. Use response_method='predict_proba'"
        )
    return values[:, column] - values[:, 1 - column]
