"""Rows of several files that are the same rows: by their order, or by a column."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from calibrant._cli.rows import Rows
from calibrant._core.errors import InputError
from calibrant._data.columns import OWN_LABELS


def by_position(read: dict[str, Rows]) -> dict[str, Rows]:
    """The same rows of every file; an error if they are not the same."""
    (first_name, first), *others = read.items()
    total = first.n + first.n_missing
    common = first.positions
    for name, rows in others:
        if rows.n + rows.n_missing != total:
            raise InputError(
                f"{first_name} has {total:,} rows, {name} has {rows.n + rows.n_missing:,}: they "
                "must be the same rows. Match them by a column that names each row: --id COLUMN"
            )
        common = np.intersect1d(common, rows.positions, assume_unique=True)
    if not common.size:
        raise InputError("in each row something is missing for some model: nothing is left")
    kept = {name: at(rows, common) for name, rows in read.items()}
    _check_same_rows(kept, "in the same order, or match them with --id COLUMN")
    return kept


def by_id(
    read: dict[str, Rows], column: str, *, drop: bool
) -> tuple[dict[str, Rows], tuple[str, ...]]:
    """The rows of every file in the order of the first, matched by a column."""
    places: dict[str, dict[str, int]] = {}
    for name, rows in read.items():
        ids = rows.other("--id", column).tolist()
        places[name] = {key: i for i, key in enumerate(ids)}
        if len(places[name]) < len(ids):
            twice = next(key for key, n in Counter(ids).items() if n > 1)
            raise InputError(f"{name}: --id {column} must name each row once; {twice!r} is twice")
    first = next(iter(read))
    common = [key for key in places[first] if all(key in place for place in places.values())]
    alone = {name: len(place) - len(common) for name, place in places.items()}
    if any(alone.values()) and not drop:
        name = next(name for name, n in alone.items() if n)
        key = next(key for key in places[name] if not all(key in p for p in places.values()))
        raise InputError(
            f"{name}: {alone[name]:,} rows are not in every file, such as {key!r}: give the same "
            "rows, or leave these out with --missing drop"
        )
    if not common:
        raise InputError(f"no value of --id {column} is in every file: nothing is left")
    notes = tuple(
        f"{name}: {n:,} rows were left out because not every file has them"
        for name, n in alone.items() if n
    )  # fmt: skip
    kept = {
        name: _chosen(rows, np.array([places[name][key] for key in common], dtype=np.intp))
        for name, rows in read.items()
    }
    _check_same_rows(kept, f"for the same {column}")
    return kept, notes


def _check_same_rows(read: dict[str, Rows], hint: str) -> None:
    (first_name, first), *others = read.items()
    for name, rows in others:
        if rows.y_true.shape != first.y_true.shape:
            raise InputError(
                f"the labels of {name} have the shape {rows.y_true.shape}, those of {first_name} "
                f"{first.y_true.shape}"
            )
        _check_weights(name, first_name, rows, first)
        other = rows.y_true != first.y_true
        other = other if other.ndim == 1 else other.any(axis=1)
        if other.any():
            row = int(np.argmax(other))
            said = (
                f"{name} and {first_name} have different labels in {int(other.sum()):,} of "
                f"{first.n:,} rows, first in row {int(first.positions[row])} "
                f"({rows.y_true[row]} and {first.y_true[row]})"
            )
            if _may_be_own(rows) and _may_be_own(first):
                alone = "evaluate each file by itself with calibrant report"
                if _is_correctness(rows) or _is_correctness(first):
                    raise InputError(f"{said}. {OWN_LABELS}: {alone}")
                hint = f"{hint}. If they say whether each model's own answer was right: {alone}"
            raise InputError(f"{said}: give the same labels {hint}")


# What a column is called that says whether an answer was right.
_CORRECT = ("correct", "is_correct", "correctness", "is_right", "accuracy")


def _may_be_own(rows: Rows) -> bool:
    """Whether labels may be of the model and not of the rows: right or wrong."""
    return rows.y_true.ndim == 1 and not rows.multiclass


def _is_correctness(rows: Rows) -> bool:
    return rows.chosen.y_true.names[0].rpartition(".")[2].lower() in _CORRECT


def _check_weights(name: str, first_name: str, rows: Rows, first: Rows) -> None:
    mine, others = first.sample_weight, rows.sample_weight
    if mine is not None and others is not None and not np.array_equal(mine, others):
        raise InputError(f"{name} and {first_name} have different weights for the same rows")


def at(rows: Rows, positions: NDArray[np.intp]) -> Rows:
    """The rows at some positions of the file."""
    return _chosen(rows, np.searchsorted(rows.positions, positions))


def _chosen(rows: Rows, index: NDArray[np.intp]) -> Rows:
    weights = rows.sample_weight
    return replace(
        rows,
        y_true=rows.y_true[index],
        y_proba=rows.y_proba[index],
        sample_weight=None if weights is None else weights[index],
        others={name: values[index] for name, values in rows.others.items()},
        positions=rows.positions[index],
    )
