"""Labels that are names, or numbers of another kind, as class indices."""

from __future__ import annotations

from typing import Any

import numpy as np

from calibrant.errors import InputError, nearest
from calibrant.inputs.labels import places
from calibrant.inputs.readers.chunks import Chunk, Column, Names, place_of
from calibrant.inputs.readers.find import File


def numbered(
    file: File,
    chunk: Chunk,
    labels: Column | Names,
    classes: tuple[Any, ...] | None,
    reports: Column,
) -> Column:
    """The index of each label in `classes`; numbers stay as they are where classes are names."""
    multiclass = reports.values.ndim == 2
    if classes is None:
        assert isinstance(labels, Names)
        raise _needs_classes(file, chunk, labels)
    place = places(classes, reports.values.shape[1] if multiclass else 2, multiclass)
    gaps = None
    if isinstance(labels, Column):
        # Names of text only title the columns of labels that are numbers.
        if labels.values.ndim == 2 or all(isinstance(name, str) for name in place):
            return labels
        known, codes = np.unique(labels.values, return_inverse=True)
        gaps, labels = labels.gaps, Names(codes.reshape(-1), known.tolist())
    index = np.array([_index(place, name) for name in labels.known], dtype=np.int64)
    found = index[labels.codes]
    if gaps is not None:
        found[gaps] = MISSING
    unknown = found == UNKNOWN
    if unknown.any():
        row = int(np.argmax(unknown))
        raise InputError(
            f"{place_of(file, chunk.first_row + row, chunk.line)}: y_true is "
            f"{labels.known[labels.codes[row]]!r}, which is not in classes: "
            f"{nearest(labels.known[labels.codes[row]], [str(name) for name in place])}"
        )
    absent = found == MISSING
    return Column(np.where(absent, 0, found), absent if absent.any() else None)


MISSING, UNKNOWN = -1, -2


def _index(place: dict[Any, int], name: Any) -> int:
    if name is None or name != name:
        return MISSING
    return place.get(name, UNKNOWN)


def _needs_classes(file: File, chunk: Chunk, labels: Names) -> InputError:
    named = np.array([isinstance(name, str) for name in labels.known], dtype=np.bool_)
    row = int(np.argmax(named[labels.codes]))
    return InputError(
        f"{place_of(file, chunk.first_row + row, chunk.line)}: y_true is "
        f"{labels.known[labels.codes[row]]!r}, a name: say which label is which column of y_proba "
        "with classes=[...]; of a binary problem, classes=[negative, positive]"
    )
