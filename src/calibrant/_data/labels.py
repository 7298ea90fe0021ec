"""Which label is which class: the one rule for arrays, tensors, frames, files and streams.

A label belongs to the class of its name, and a number and its text are one name: 0, 0.0 and "0",
True and 1. Where no class has a number for its name (``classes=["cat", "dog"]``), labels that are
numbers are class indices (of a binary problem, outcomes), and the names only title the classes.
Classes called true and false are 1 and 0.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant._core.errors import InputError, nearest
from calibrant._core.messages import CLASSES, Note, values_of
from calibrant._data.arrays import without_objects

_TRUTH = {"true": 1, "false": 0}
_SHOWN = 3


class Titles(tuple[str, ...]):
    """Names of classes whose labels are class indices already, so that no label is looked up."""

    __slots__ = ()


class Lookup:
    """Finds the index of a label's class, by the label's text or by its number."""

    def __init__(self, names: Sequence[Any]) -> None:
        """Store the names of the classes, in the order of their indices."""
        self.names = tuple(names)
        self._by_text = {str(name): index for index, name in enumerate(names)}
        self._by_truth = {text.lower(): i for text, i in self._by_text.items()}
        self._by_number: dict[int | float, int | None] = {}
        for index, name in enumerate(names):
            number = number_of(name)
            if number is not None:  # classes "01" and "1" share a number, which then names neither
                self._by_number[number] = None if number in self._by_number else index
        if are_truths(names):
            self._by_number |= {_TRUTH[text]: self._by_truth[text] for text in _TRUTH}

    def find(self, label: Any) -> int | None:
        """The index of the class that a label names; None if it names no class. A label is looked
        up by its text, then by its number or truth value.
        """
        text = str(label)
        if text in self._by_text:
            return self._by_text[text]
        number = number_of(label)
        if isinstance(label, bool | np.bool_) and text.lower() in self._by_truth:
            return self._by_truth[text.lower()]
        if number is None and isinstance(label, str):
            number = _TRUTH.get(label.strip().lower())
        return None if number is None else self._by_number.get(number)


def number_of(name: Any) -> int | float | None:
    """The number that a name is or, as text, writes ("1.0"); None if it is not a finite number."""
    if isinstance(name, Decimal):
        name = str(name)
    if isinstance(name, str):
        try:
            number = float(name) if "_" not in name else math.nan  # only Python has 1_000
        except ValueError:
            return None
        if math.isfinite(number) and number.is_integer():
            return _exact_number(name.strip())
    elif isinstance(name, numbers.Integral | np.bool_):
        return int(name)
    elif isinstance(name, numbers.Real):
        number = float(name)
    else:
        return None
    if not math.isfinite(number):
        return None
    return int(number) if number.is_integer() else number


def _exact_number(text: str) -> int | float:
    """Read a number from text. A whole number is read exactly, also where a double would round it,
    as for "9007199254740993.0"; any other number becomes a float.
    """
    try:
        exact = Decimal(text)
    except ArithmeticError:  # an exponent beyond all bounds, of a number next to 0
        return 0
    return int(exact) if exact == exact.to_integral_value() else float(text)


def classes_among(labels: Iterable[Any]) -> list[Any]:
    """The distinct classes that labels name: numbers first, in increasing order, then all others,
    sorted as text. Labels that write one number, such as 1 and "1.0", are one class.
    """
    by_number: dict[int | float, Any] = {}
    others = set()
    # If several labels write one number, the number itself or else the shortest text is the class.
    shortest = sorted(set(labels), key=lambda each: (len(str(each)), str(each)))
    for label in sorted(shortest, key=lambda each: isinstance(each, str)):
        number = number_of(label)
        if number is None:
            others.add(label)
        else:
            by_number.setdefault(number, label)
    return [by_number[number] for number in sorted(by_number)] + sorted(others, key=str)


def are_indices(kind: str, names: Iterable[Any]) -> bool:
    """Whether labels are class indices and not names: they are numbers (`kind` is NumPy's "b", "i",
    "u" or "f"), while no class has a number or a truth value as its name.
    """
    if kind not in "biuf":
        return False
    known = list(names)
    return not are_truths(known) and all(number_of(name) is None for name in known)


def are_truths(names: Iterable[Any]) -> bool:
    """Whether both true and false are among the names of the classes, where they stand
    for 1 and 0.
    """
    return {str(name).lower() for name in names} >= set(_TRUTH)


def note_on_labels(names: Sequence[Any], multiclass: bool, indices: bool) -> str:
    """The note that tells the user how labels were read: as class indices (`indices`), or as names
    of classes.
    """
    shown = [repr(str(name)) for name in names[:_SHOWN]]
    more = ", ..." if len(names) > _SHOWN else ""
    if indices and multiclass:
        listed = ", ".join(f"{r} is {name}" for r, name in enumerate(shown))
        return Note(f"labels are class indices: {listed}{more}", CLASSES)
    if indices:
        return f"labels are numbers: 0 is {shown[0]} (negative), 1 is {shown[1]} (positive)"
    if multiclass:
        listed = ", ".join(f"{name} is column {r}" for r, name in enumerate(shown))
        return Note(f"labels are names of classes: {listed}{more}", CLASSES)
    return f"labels are names of classes: {shown[0]} is 0 (negative), {shown[1]} is 1 (positive)"


def note_on_stream_labels(names: Sequence[Any], multiclass: bool) -> str:
    """The note on how labels of a stream are read, where some may be names and others class
    indices.
    """
    by_name = note_on_labels(names, multiclass, indices=False)
    either = f"{by_name}, or class indices"
    return either if are_indices("i", names) else by_name


def encode(
    labels: NDArray[Any],
    classes: Any,
    n_classes: int,
    multiclass: bool,
    *,
    argument: str = "y_true",
) -> tuple[NDArray[Any], str | None]:
    """Labels as class indices, in the order of `classes`, and a note on how labels were read. Rows
    of class probabilities, and labels for which `classes` are `Titles`, are returned unchanged,
    with None. `argument` is the name of the labels in errors.
    """
    names = checked_class_names(classes, n_classes, multiclass)
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    # Rows of class probabilities need no decoding.
    if labels.ndim != 1 or isinstance(classes, Titles):
        return labels, None
    return encode_known(labels, names, multiclass, argument=argument)


def encode_known(
    labels: NDArray[Any], names: list[Any], multiclass: bool, *, argument: str = "y_true"
) -> tuple[NDArray[Any], str]:
    """Labels (n,) as class indices, and a note on how labels were read. `names` are the classes,
    checked by `checked_class_names`; `argument` is the name of the labels in errors.
    """
    if labels.dtype.kind == "O":
        labels = without_objects(labels)
    indices = are_indices(labels.dtype.kind, names)
    label_note = note_on_labels(names, multiclass, indices)
    if indices:
        return labels, label_note
    known = Lookup(names)
    if labels.dtype.kind == "O":  # may hold anything, so it cannot be sorted
        class_index = [_class_index(known, label, argument, i) for i, label in enumerate(labels)]
        return np.array(class_index, dtype=np.int64), label_note
    distinct, first, where = np.unique(labels, return_index=True, return_inverse=True)
    codes = np.empty(distinct.size, dtype=np.int64)
    for j in np.argsort(first):  # in order of rows, so that an error names the first
        codes[j] = _class_index(known, distinct[j].item(), argument, int(first[j]))
    return codes[where.reshape(labels.shape)], label_note


def checked_class_names(classes: Any, n_classes: int, multiclass: bool) -> list[Any]:
    """The names of the classes as a list; raise InputError unless there are `n_classes` names, all
    different.
    """
    if isinstance(classes, str) or not isinstance(classes, Sequence | np.ndarray | range):
        raise InputError(f"classes must be a list of labels in column order; got {classes!r}")
    names = classes.tolist() if isinstance(classes, np.ndarray) else list(classes)
    if len(names) != n_classes:
        what = f"y_proba has {n_classes} columns" if multiclass else "a binary problem has 2"
        raise InputError(f"classes must name every class once: {what}; got {len(names)} names")
    try:
        distinct = set(names)
    except TypeError:
        raise InputError(f"classes must be numbers or text; got {names!r}") from None
    if len(distinct) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InputError(f"classes must name every class once; {twice!r} appears twice")
    texts = [str(name) for name in names]
    if len(set(texts)) < len(texts):
        twice = next(text for text in texts if texts.count(text) > 1)
        raise InputError(
            f"classes must name every class once; {twice} appears as a number and as text, which "
            "are the same name"
        )
    return names


def short_repr(label: Any) -> str:
    """The repr of a label for a message, cut to 60 characters."""
    shown = repr(label)
    return shown if len(shown) <= 60 else f"{shown[:57]}..."


def _class_index(known: Lookup, label: Any, argument: str, row: int) -> int:
    """The index of the class that a label names; raise InputError if the label is missing or names
    no class. `argument` and `row` say in the message where the label stands.
    """
    if label is None or label != label:
        raise InputError(
            f"{values_of(argument)}[{row}] is missing ({label!r}): drop rows with missing labels "
            "before measuring"
        )
    index = known.find(label)
    if index is None:
        raise InputError(
            f"{values_of(argument)}[{row}] is {short_repr(label)}, which is not in classes: "
            f"{nearest(label, [str(name) for name in known.names])}"
        )
    return index
