"""Recalibrated rows in a file, under names that every verb finds by itself."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant._core.errors import InputError
from calibrant._core.optional import need
from calibrant._data.labels import number_of
from calibrant._data.readers.find import SUFFIXES
from calibrant._data.readers.read_rows import Rows

_FORMATS_WRITTEN = ("parquet", "csv", "jsonl", "arrow", "npz")
# The most classes that a message lists.
SHOWN = 5
FORMATS = {
    suffix: format
    for format in _FORMATS_WRITTEN
    for suffix in SUFFIXES[format]
    if suffix != ".json"  # a map
}


def format_of(path: str | Path) -> str:
    """Give the format of a file of rows by the ending of its name; an error for others."""
    suffix = Path(path).suffix.lower()
    if suffix == ".json":
        raise InputError(
            f"{path}: with --apply, -o names the file of the recalibrated rows, which cannot be "
            ".json. --scaler names the map's file; rows as JSON lines end in .jsonl"
        )
    if suffix not in FORMATS:
        raise InputError(f"{path}: rows are written to {', '.join(FORMATS)}; this is none of them")
    return FORMATS[suffix]


def check_map_name(path: str | Path) -> None:
    """Raise an error if the name for a map's file ends like a file of rows."""
    suffix = Path(path).suffix.lower()
    if suffix in FORMATS:
        raise InputError(f"{path}: a map is JSON; give it a name that ends in .json")


def write_rows(path: Path, rows: Rows, *, labelled: bool) -> None:
    """Write rows to a file in the format that its name ends in.

    The columns are y_true (if `labelled`), y_proba (for several classes y_proba_0, ... or
    y_proba_CLASS), weight, and the columns of --keep.
    """
    format = format_of(path)
    columns = _columns_to_write(rows, labelled, as_matrix=format == "npz")
    if format == "npz":
        with path.open("wb") as file:
            np.savez(file, **columns)
    elif format == "csv":
        _write_csv(path, columns, "\t" if path.suffix.lower() == ".tsv" else ",")
    elif format == "jsonl":
        with path.open("w", encoding="utf-8") as file:
            for row in _rows_of_columns(columns):
                file.write(json.dumps(dict(zip(columns, row, strict=True))) + "\n")
    else:
        table = need("pyarrow", "writing Arrow").table(columns)
        if format == "parquet":
            need("pyarrow.parquet", "writing Parquet").write_table(table, str(path))
        else:
            need("pyarrow.feather", "writing Arrow").write_feather(table, str(path))


def _columns_to_write(rows: Rows, labelled: bool, *, as_matrix: bool) -> dict[str, Any]:
    """Give the columns to write, by name.

    With `as_matrix`, for .npz, predictions and labels of several classes stay one array each, and
    labels are numbers.
    """
    named = _class_names(rows)
    rows = _sort_numbered_classes(rows)
    out: dict[str, Any] = {}
    if labelled:
        if rows.y_true.ndim == 2:
            counted = named if named and _are_numbered_from(1, named) else None
            out |= _class_columns("y_true", rows.y_true, counted, as_matrix)
        elif named and not as_matrix:
            out["y_true"] = _labels_by_name(named, rows.y_true)
        else:
            out["y_true"] = rows.y_true
    out |= _class_columns("y_proba", rows.y_proba, named, as_matrix or not rows.multiclass)
    if rows.sample_weight is not None:
        out["weight"] = rows.sample_weight
    for name, values in rows.others.items():
        if name in out:
            raise InputError(f"--keep {name}: the output has a column of that name already")
        out[name] = np.array(["" if value is None else str(value) for value in values.tolist()])
    return out


def _sort_numbered_classes(rows: Rows) -> Rows:
    """Sort classes called 0 to k-1 by number, so that y_proba_0 is class 0.

    Rows with other classes are returned unchanged.
    """
    numbers = [number_of(name) for name in rows.chosen.classes or ()] if rows.multiclass else []
    k = len(numbers)
    if not numbers or set(numbers) != set(range(k)):
        return rows
    return take_classes(rows, [numbers.index(number) for number in range(k)], tuple(range(k)))


def take_classes(rows: Rows, order: list[int], classes: tuple[Any, ...]) -> Rows:
    """Reorder the classes of the rows: predictions, labels and names.

    `order` has the old index of each new class, and `classes` are the names in the new order.
    """
    soft = rows.y_true.ndim == 2
    return replace(
        rows,
        y_proba=rows.y_proba[:, order],
        y_true=rows.y_true[:, order] if soft else np.argsort(order)[rows.y_true],
        chosen=replace(rows.chosen, classes=classes),
        vote_table=None,
    )


def _class_names(rows: Rows) -> tuple[str, ...] | None:
    """Give the names of classes to write; None if classes are written by number.

    Names that are numbers are kept only if they count from 1: a reader takes others for the numbers
    of columns, which count from 0.
    """
    classes = rows.chosen.classes if rows.multiclass else None
    if classes is None:
        return None
    named = tuple(map(str, classes))
    if any(name.isdigit() for name in named) and not _are_numbered_from(1, named):
        return None
    return named


def _are_numbered_from(first: int, names: tuple[str, ...]) -> bool:
    """Whether the names are consecutive numbers from `first` on, in any order."""
    numbers = sorted(int(name) if name.isdigit() else -1 for name in names)
    return numbers == list(range(first, first + len(names)))


def _labels_by_name(named: tuple[str, ...], y_true: NDArray[Any]) -> NDArray[Any]:
    """Give labels by the names of their classes, in place of their indices, (n,).

    They are numbers if all names are numbers without leading zeros (1, not 01), else texts.
    """
    plain = all(name.isdigit() and str(int(name)) == name for name in named)
    labels = np.array([int(name) for name in named] if plain else named)
    return np.take(labels, y_true)


def renamed_labels(path: str | Path, rows: Rows) -> str | None:
    """A message on labels that are written as numbers; None if labels are written as read.

    In .npz files, and if predictions are of one class, labels are numbers.
    """
    classes = rows.chosen.classes
    if classes is None or rows.y_true.ndim == 2:
        return None
    names = tuple(map(str, classes))
    as_read = rows.multiclass and _class_names(rows) is not None and format_of(path) != "npz"
    if as_read or _are_numbered_from(0, names):
        return None
    pairs = ", ".join(f"{name!r} as {number}" for number, name in enumerate(names[:SHOWN]))
    more = ", ..." if len(names) > SHOWN else ""
    return f"labels are written as numbers: {pairs}{more}"


def _class_columns(
    stem: str, values: NDArray[Any], named: tuple[str, ...] | None, as_matrix: bool
) -> dict[str, Any]:
    """Give the columns of a matrix by name: one per class, called `stem`_CLASS.

    With `as_matrix` there is one, `stem`, the array itself. `named` are the names of classes; None
    numbers them from 0.
    """
    if as_matrix:
        return {stem: values}
    ends = named or range(values.shape[1])
    return {f"{stem}_{end}": values[:, j] for j, end in enumerate(ends)}


def _rows_of_columns(columns: dict[str, Any]) -> Any:
    """Iterate over the rows of the columns, as tuples of Python values."""
    return zip(*(values.tolist() for values in columns.values()), strict=True)


def _write_csv(path: Path, columns: dict[str, Any], delimiter: str) -> None:
    """Write the columns to a CSV file with a header."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, delimiter=delimiter, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(_rows_of_columns(columns))
