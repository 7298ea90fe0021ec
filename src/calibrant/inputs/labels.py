"""Labels of any kind, told apart by ``classes=``, as class indices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.errors import InputError, nearest


def encode(
    labels: NDArray[Any], classes: Sequence[Any], n_classes: int, multiclass: bool
) -> NDArray[Any]:
    """Class indices for labels, in the order of `classes` (the order of y_proba's columns)."""
    names = list(classes)
    if len(names) != n_classes:
        what = f"y_proba has {n_classes} columns" if multiclass else "a binary problem has 2"
        raise InputError(f"classes must name every class once: {what}; got {len(names)} names")
    if len(set(names)) != len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InputError(f"classes must name every class once; {twice!r} is there twice")
    # Rows of class probabilities need no decoding, nor do indices where the names are text: then
    # the names only title the columns.
    if labels.ndim == 2 or (labels.dtype.kind in "iub" and all(isinstance(c, str) for c in names)):
        return labels
    found, where = np.unique(labels, return_inverse=True)
    place = {name: index for index, name in enumerate(names)}
    codes = np.empty(found.size, dtype=np.int64)
    for j, label in enumerate(found.tolist()):
        if label not in place:
            row = int(np.argmax(labels == found[j]))
            raise InputError(
                f"y_true[{row}] is {label!r}, which is not in classes: "
                f"{nearest(label, [str(name) for name in names])}"
            )
        codes[j] = place[label]
    return codes[where.reshape(labels.shape)]
