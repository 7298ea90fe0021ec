"""Predictions from real data that ship with the library.

``load("fashion")`` gives a ten-class example and ``load("fashion-shirt")`` a binary view of it.
``README.md`` in this folder describes how the predictions were made.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from calibrant._core.errors import one_of
from calibrant._data.links import sigmoid, softmax

__all__ = ["Example", "load", "names"]

FloatArray = npt.NDArray[np.floating[Any]]
Float64Array = npt.NDArray[np.float64]
Int64Array = npt.NDArray[np.int64]
ScalarT = TypeVar("ScalarT", bound=np.generic)

_CLASS_NAMES = (
    "T-shirt/top",
    "Trouser",
    "Pullover",
    "Dress",
    "Coat",
    "Sandal",
    "Shirt",
    "Sneaker",
    "Bag",
    "Ankle boot",
)
_SHIRT = _CLASS_NAMES.index("Shirt")

_DESCRIPTIONS = {
    "fashion": (
        "Fashion-MNIST, ten classes: an overconfident student network, "
        "with soft labels from a teacher ensemble."
    ),
    "fashion-shirt": (
        "Fashion-MNIST, 'Shirt' against the rest: the binary view of the example 'fashion'."
    ),
}


# Comparing arrays with == has no single truth value, so examples compare by identity.
@dataclass(frozen=True, eq=False)
class Example:
    """Predictions, labels and soft labels of a validation and a test split.

    With k > 2 classes, logits and soft labels have shape (n, k). In a binary example they have
    shape (n,) and refer to the second class, label 1. All arrays are read-only.

    Attributes
    ----------
    name : str
        The name that `load` takes.
    description : str
        One sentence on the data and the predictor.
    class_names : tuple of str
        The names of the classes, in the order of the labels.
    val_logits, test_logits : ndarray of shape (n, k) or (n,)
        The student network's logits.
    val_labels, test_labels : ndarray of shape (n,)
        Labels as class indices.
    val_soft_labels, test_soft_labels : ndarray of shape (n, k) or (n,)
        Class probabilities from the teacher ensemble.
    val_proba, test_proba : ndarray of shape (n, k) or (n,)
        The student network's probabilities.

    Examples
    --------
    >>> from calibrant import examples
    >>> fashion = examples.load("fashion")
    >>> fashion.val_logits.shape, fashion.test_proba.shape
    ((2000, 10), (4000, 10))
    """

    name: str
    description: str
    class_names: tuple[str, ...]
    val_logits: FloatArray = field(repr=False)
    val_labels: Int64Array = field(repr=False)
    val_soft_labels: Float64Array = field(repr=False)
    test_logits: FloatArray = field(repr=False)
    test_labels: Int64Array = field(repr=False)
    test_soft_labels: Float64Array = field(repr=False)

    @property
    def val_proba(self) -> Float64Array:
        """The student's probabilities on the validation split."""
        return _proba(self.val_logits)

    @property
    def test_proba(self) -> Float64Array:
        """The student's probabilities on the test split."""
        return _proba(self.test_logits)


def names() -> tuple[str, ...]:
    """List the examples.

    Returns
    -------
    tuple of str
        The names that `load` takes.

    Examples
    --------
    >>> from calibrant import examples
    >>> examples.names()
    ('fashion', 'fashion-shirt')
    """
    return tuple(_DESCRIPTIONS)


def load(name: str = "fashion") -> Example:
    """Load an example by name.

    Parameters
    ----------
    name : {"fashion", "fashion-shirt"}, default "fashion"
        Ten classes, or the binary view 'Shirt' against the rest.

    Returns
    -------
    Example
        Logits, labels and soft labels of a validation and a test split.

    Raises
    ------
    InputError
        If there is no example of that name.

    Examples
    --------
    >>> from calibrant import examples
    >>> shirt = examples.load("fashion-shirt")
    >>> shirt.class_names, shirt.test_labels.shape
    (('rest', 'Shirt'), (4000,))
    """
    one_of("name", name, names())
    return _loaded(name)


@cache
def _loaded(name: str) -> Example:
    """An example by its name, read once: its arrays are read-only, so that all
    callers can share them.
    """
    arrays = _read("fashion.npz")
    class_names: tuple[str, ...] = _CLASS_NAMES
    if name == "fashion-shirt":
        class_names = ("rest", "Shirt")
        arrays = {
            key: (value == _SHIRT if key.endswith("_labels") else _one_against_rest(value, _SHIRT))
            for key, value in arrays.items()
        }
    return Example(
        name=name,
        description=_DESCRIPTIONS[name],
        class_names=class_names,
        val_logits=_frozen(arrays["val_logits"]),
        val_labels=_frozen(arrays["val_labels"].astype(np.int64)),
        val_soft_labels=_proba(arrays["val_teacher_logits"]),
        test_logits=_frozen(arrays["test_logits"]),
        test_labels=_frozen(arrays["test_labels"].astype(np.int64)),
        test_soft_labels=_proba(arrays["test_teacher_logits"]),
    )


def _read(filename: str) -> dict[str, npt.NDArray[Any]]:
    """The arrays in a file of this folder by name; logits, stored in half precision,
    become float32.
    """
    resource = resources.files("calibrant.examples").joinpath(filename)
    with resource.open("rb") as stream, np.load(stream, allow_pickle=False) as stored:
        arrays: dict[str, npt.NDArray[Any]] = {key: stored[key] for key in stored.files}
    return {
        key: value.astype(np.float32) if key.endswith("logits") else value
        for key, value in arrays.items()
    }


def _proba(logits: FloatArray) -> Float64Array:
    """Probabilities from logits, read-only: the softmax of rows (n, k), or the sigmoid of (n,)."""
    return _frozen(sigmoid(logits) if logits.ndim == 1 else softmax(logits))


def _one_against_rest(logits: FloatArray, k: int) -> Float64Array:
    """The logit of class k against the rest, (n,): its own logit, less the
    log-sum-exp of the others.

    Computed from the probability it would lose all precision where that is close to 1.
    """
    z = logits.astype(np.float64)
    rest = np.delete(z, k, axis=1)
    top = rest.max(axis=1)
    log_rest = top + np.log(np.exp(rest - top[:, None]).sum(axis=1))
    result: Float64Array = z[:, k] - log_rest
    return result


def _frozen(array: npt.NDArray[ScalarT]) -> npt.NDArray[ScalarT]:
    """The array itself, made read-only."""
    array.setflags(write=False)
    return array
