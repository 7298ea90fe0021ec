"""Labels of a file as class indices, by the rule of `calibrant._data.labels`."""

from __future__ import annotations

from typing import Any

import numpy as np

from calibrant._core.errors import InputError, nearest
from calibrant._data.labels import Lookup, are_indices, named_once, short, taken
from calibrant._data.readers.chunks import Chunk, Column, Names, location_of
from calibrant._data.readers.columns import ColumnMapping
from calibrant._data.readers.csv_errors import EMPTY
from calibrant._data.readers.find import File

MISSING, UNKNOWN = -1, -2


def numbered(
    file: File, chunk: Chunk, labels: Column | Names, chosen: ColumnMapping, predictions: Column
) -> tuple[Column, str | None]:
    """The class index of each label, and what labels were taken for."""
    multiclass = predictions.values.ndim == 2
    if chosen.classes is None:
        if isinstance(labels, Names):
            raise _needs_classes(file, chunk, labels)
        return labels, None
    n_classes = predictions.values.shape[1] if multiclass else 2
    classes = named_once(chosen.classes, n_classes, multiclass)
    gaps = None
    if isinstance(labels, Column):
        if labels.values.ndim == 2:
            return labels, None
        # The fields of a record have no order that a number could count: there names alone hold.
        if not chosen.of_record and are_indices(labels.values.dtype.kind, classes):
            return labels, taken(classes, multiclass, indices=True)
        known, codes = np.unique(labels.values, return_inverse=True)
        gaps, labels = labels.gaps, Names(codes.reshape(-1), known.tolist())
    find = Lookup(classes)
    index = np.array([_index(find, name, file) for name in labels.known], dtype=np.int64)
    class_index = index[labels.codes]
    if gaps is not None:
        class_index[gaps] = MISSING
    unknown = class_index == UNKNOWN
    if unknown.any():
        row = int(np.argmax(unknown))
        raise _unknown(file, chunk, row, labels.known[labels.codes[row]], chosen)
    absent = class_index == MISSING
    column = Column(np.where(absent, 0, class_index), absent if absent.any() else None)
    return column, taken(classes, multiclass, indices=False)


def _index(find: Lookup, name: Any, file: File) -> int:
    if name is None or name != name:
        return MISSING
    index = find.find(name)
    typed = file.format in ("csv", "excel")
    if index is None and typed and isinstance(name, str) and name.strip() in EMPTY:
        return MISSING  # read as text, where it would be a gap among numbers
    return UNKNOWN if index is None else index


def _unknown(file: File, chunk: Chunk, row: int, label: Any, chosen: ColumnMapping) -> InputError:
    known = [str(name) for name in chosen.classes or ()]
    hint = nearest(label, known)
    if chosen.of_record and not isinstance(label, str):
        hint = (
            "the fields of a record are classes by their names, which labels must have too; "
            f"use one of {', '.join(map(repr, known))}"
        )
    if chosen.from_one:
        hint = (
            "the columns are numbered from 1, and so are classes. If these are others, say which "
            "class each column is of with classes=[...]"
        )
    location = location_of(file, chunk.first_row + row, chunk.line)
    return InputError(f"{location}: y_true is {short(label)}, which is not in classes: {hint}")


def _needs_classes(file: File, chunk: Chunk, labels: Names) -> InputError:
    named = np.array([isinstance(name, str) for name in labels.known], dtype=np.bool_)
    row = int(np.argmax(named[labels.codes]))
    return InputError(
        f"{location_of(file, chunk.first_row + row, chunk.line)}: y_true is "
        f"{labels.known[labels.codes[row]]!r}, a name: say which label is which column of y_proba "
        "with classes=[...]; of a binary problem, classes=[negative, positive]"
    )
