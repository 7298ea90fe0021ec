"""Labels of a file as class indices, by the rule of `calibrant._data.labels`."""

from __future__ import annotations

from typing import Any

import numpy as np

from calibrant._core.errors import InputError, nearest
from calibrant._core.messages import setting, two_classes
from calibrant._data.labels import Lookup, are_indices, named_once, short, taken
from calibrant._data.readers.chunks import Chunk, Column, Names, location_of, plain_number
from calibrant._data.readers.columns import ColumnMapping
from calibrant._data.readers.csv_errors import EMPTY
from calibrant._data.readers.find import File

MISSING, UNKNOWN = -1, -2
# Formats in which people type: what is text may be a number, or empty.
_TYPED = ("csv", "excel")


def numbered(
    file: File, chunk: Chunk, labels: Column | Names, chosen: ColumnMapping, predictions: Column
) -> tuple[Column, str | None]:
    """The class index of each label, and what labels were taken for."""
    multiclass = predictions.values.ndim == 2
    if chosen.classes is None:
        if isinstance(labels, Names):
            return _numbers_before_a_name(file, chunk, labels), None
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
    if index is None and file.format in _TYPED and isinstance(name, str) and name.strip() in EMPTY:
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
            f"class each column is of with {setting('classes', [...])}"
        )
    location = location_of(file, chunk.first_row + row, chunk.line)
    return InputError(f"{location}: y_true is {short(label)}, which is not in classes: {hint}")


def _numbers_before_a_name(file: File, chunk: Chunk, labels: Names) -> Column:
    """Labels that are numbers in text, of a file whose later rows have a name; an error for the
    first name.
    """
    numbers = [plain_number(name) if isinstance(name, str) else None for name in labels.known]
    gone = np.array([_is_empty(name) for name in labels.known], dtype=np.bool_)
    named = np.array([isinstance(name, str) for name in labels.known], dtype=np.bool_) & ~gone
    odd = named & np.array([number is None for number in numbers], dtype=np.bool_)
    if not odd.any() and file.format in _TYPED:
        values = np.array([0.0 if number is None else number for number in numbers])
        return Column(values[labels.codes], gone[labels.codes] if gone.any() else None)
    first = int(np.argmax((odd if odd.any() else named)[labels.codes]))
    location = location_of(file, chunk.first_row + first, chunk.line)
    said = f"{location}: y_true is {labels.known[labels.codes[first]]!r}, a name"
    among = np.count_nonzero((named & ~odd)[labels.codes])
    if odd.any() and among > np.count_nonzero(odd[labels.codes]):
        raise InputError(
            f"{said}, where {among:,} labels read with it are numbers: remove the row if it is no "
            "row, such as a total, or give all rows numbers, or names and "
            f"{setting('classes', [...])}"
        )
    raise InputError(
        f"{said}: say which label is which column of y_proba with {setting('classes', [...])}; of "
        f"a binary problem, {two_classes()}"
    )


def _is_empty(name: Any) -> bool:
    return name is None or (isinstance(name, str) and name.strip() in EMPTY)
