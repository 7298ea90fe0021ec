"""Labels of any kind, told apart by ``classes=``, as class indices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.errors import InputError, nearest


def encode(labels: NDArray[Any], classes: Any, n_classes: int, multiclass: bool) -> NDArray[Any]:
    """Class indices for labels, in the order of `classes` (the order of y_proba's columns)."""
    place = places(classes, n_classes, multiclass)
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    # Rows of class probabilities need no decoding, nor do indices where the names are text: then
    # the names only title the columns.
    as_titles = labels.dtype.kind in "iub" and all(isinstance(name, str) for name in place)
    if labels.ndim != 1 or as_titles:
        return labels
    if labels.dtype.kind == "O":  # may hold anything, so it cannot be sorted
        return np.array([_place(place, label, i) for i, label in enumerate(labels)], dtype=np.int64)
    found, first, where = np.unique(labels, return_index=True, return_inverse=True)
    codes = np.empty(found.size, dtype=np.int64)
    for j in np.argsort(first):  # in order of rows, so that an error names the first
        codes[j] = _place(place, found[j].item(), int(first[j]))
    return codes[where.reshape(labels.shape)]


def places(classes: Any, n_classes: int, multiclass: bool) -> dict[Any, int]:
    """The index of every label; an error unless each class is named once."""
    if isinstance(classes, str) or not isinstance(classes, Sequence | np.ndarray | range):
        raise InputError(f"classes must be a list of labels in column order; got {classes!r}")
    names = classes.tolist() if isinstance(classes, np.ndarray) else list(classes)
    if len(names) != n_classes:
        what = f"y_proba has {n_classes} columns" if multiclass else "a binary problem has 2"
        raise InputError(f"classes must name every class once: {what}; got {len(names)} names")
    try:
        place = {name: index for index, name in enumerate(names)}
    except TypeError:
        raise InputError(f"classes must be numbers or text; got {names!r}") from None
    if len(place) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InputError(f"classes must name every class once; {twice!r} is there twice")
    return place


def _place(place: dict[Any, int], label: Any, row: int) -> int:
    if label is None or label != label:
        raise InputError(f"y_true[{row}] is missing ({label!r}): drop such rows before measuring")
    try:
        return place[label]
    except (KeyError, TypeError):
        raise InputError(
            f"y_true[{row}] is {label!r}, which is not in classes: "
            f"{nearest(label, [str(name) for name in place])}"
        ) from None
