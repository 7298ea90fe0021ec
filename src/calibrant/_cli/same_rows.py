"""Rows of several models that are the same rows: by their order, or by a column of ids.

Labels are everyone's, or each model's own where a column says whether its own answer was right.
"""

from __future__ import annotations

from functools import partial, reduce
from typing import Any

import numpy as np

from calibrant._core.errors import InputError
from calibrant._data.align_rows import align, differing_rows, id_texts, row_of_id
from calibrant._data.readers.read_rows import Rows


def match_by_position(
    rows_by_model: dict[str, Rows], *, own_labels: bool | None = False
) -> dict[str, Rows]:
    """Match the rows of files by their order; drop rows that are incomplete in some file.

    It is an error if the numbers of rows, labels or weights differ; `own_labels`, as in
    `match_by_id`, only changes the error's advice.
    """
    (first_name, first), *others = rows_by_model.items()
    total = first.n + first.n_missing
    for name, rows in others:
        if rows.n + rows.n_missing != total:
            raise InputError(
                f"{first_name} has {total:,} rows, {name} has {rows.n + rows.n_missing:,}: they "
                "must be the same rows. Match them by a column that names each row: --id COLUMN"
            )
    kept = keep_complete_rows(rows_by_model)
    if not kept[first_name].n:
        raise InputError("every row lacks a value for some model, so no row is left")
    _check_same_rows(
        kept, "in the same order, or match them with --id COLUMN", own_labels=own_labels
    )
    return kept


def keep_complete_rows(rows_by_model: dict[str, Rows]) -> dict[str, Rows]:
    """The rows that every model has, matched by their positions in the files, by model."""
    common = reduce(
        partial(np.intersect1d, assume_unique=True),
        [rows.positions for rows in rows_by_model.values()],
    )
    return {name: rows.take_positions(common) for name, rows in rows_by_model.items()}


def match_by_id(
    rows_by_model: dict[str, Rows], column: str, *, drop: bool, own_labels: bool | None = False
) -> tuple[dict[str, Rows], tuple[str, ...]]:
    """Match the rows of files by a column of ids, in the order of the first file.

    Rows that are not in every file are dropped with `drop`, else an error. Return the matched rows
    by model, and notes on what was dropped. `own_labels` says whether the labels of a row may
    differ, as each model's own right and wrong answers do: True allows it, False only if the names
    of the label columns say so, None never.
    """
    need = f"--id {column} must name each row once"
    aligned = align(
        {
            name: row_of_id(
                id_texts(rows.other("ids", column).tolist()), f"{name}: {need}", "is twice"
            )
            for name, rows in rows_by_model.items()
        }
    )
    for name, keys in aligned.unmatched.items():
        if keys and not drop:
            raise InputError(
                f"{name}: {len(keys):,} rows are not in every file, such as {keys[0]!r}: give the "
                "same rows, or drop these with --missing drop"
            )
    if not next(iter(aligned.rows.values())).size:
        raise InputError(f"no value of --id {column} is in every file, so no row is left")
    notes = tuple(
        f"{name}: {len(keys):,} rows were dropped because not every file has them"
        for name, keys in aligned.unmatched.items()
        if keys
    )
    kept = {name: rows.take(aligned.rows[name]) for name, rows in rows_by_model.items()}
    _check_same_rows(kept, f"for the same {column}", matched=True, own_labels=own_labels)
    return kept, notes


def _check_same_rows(
    rows_by_model: dict[str, Rows],
    hint: str,
    *,
    matched: bool = False,
    own_labels: bool | None = False,
) -> None:
    """Raise an error if labels or weights of rows that should be the same differ.

    `hint` ends the advice in the error. Labels may differ as `own_labels` says (see `match_by_id`),
    but only if rows were `matched` by id.
    """
    (first_name, first), *others = rows_by_model.items()
    for name, rows in others:
        if rows.y_true.shape != first.y_true.shape:
            raise InputError(
                f"the labels of {name} have the shape {rows.y_true.shape}, those of {first_name} "
                f"{first.y_true.shape}"
            )
        other = differing_rows(rows.y_true, first.y_true)
        # Rows in another order differ in labels too. The labels are then the error to report.
        if matched or not other.any():
            _check_weights(name, first_name, rows, first, matched=matched)
        if other.any():
            row = int(np.argmax(other))
            fault = (
                f"{name} and {first_name} have different labels in {int(other.sum()):,} of "
                f"{first.n:,} rows, first in row {int(first.positions[row])} "
                f"({_label(rows, row)} and {_label(first, row)})"
            )
            if own_labels is None:
                raise InputError(
                    f"{fault}, but the models must share one outcome: give the same labels {hint}. "
                    "Models with labels of their own can be given one at a time"
                )
            if _are_right_or_wrong(rows) and _are_right_or_wrong(first):
                if own_labels or are_correctness(rows, first):
                    if matched:
                        continue
                    raise InputError(
                        f"{fault}. If each model has its own labels, match the rows with "
                        "--id COLUMN"
                    )
                hint = (
                    f"{hint}. If they say whether each model's own answer was right: --own-labels "
                    "and --id COLUMN"
                )
            raise InputError(f"{fault}: give the same labels {hint}")


def _label(rows: Rows, row: int) -> Any:
    """Give the label of a row as the file has it: the name of its class, if it has one."""
    label, classes = rows.y_true[row], rows.chosen.classes
    return label if classes is None or rows.y_true.ndim == 2 else classes[int(label)]


def _are_right_or_wrong(rows: Rows) -> bool:
    """Whether labels have two classes, as right and wrong answers do."""
    return rows.y_true.ndim == 1 and not rows.multiclass


def are_correctness(*models: Rows) -> bool:
    """Whether all label columns have names which say that labels mark right answers."""
    return all(rows.chosen.answers for rows in models)


def _check_weights(
    name: str, first_name: str, rows: Rows, first: Rows, *, matched: bool = True
) -> None:
    """Raise an error if two models have different weights for the same rows.

    The error advises to match rows by id, unless they were `matched` already.
    """
    mine, others = first.sample_weight, rows.sample_weight
    # A weight that is missing in both is no difference; the reader reports it.
    if mine is not None and others is not None and not np.array_equal(mine, others, equal_nan=True):
        fault = f"{name} and {first_name} have different weights for the same rows"
        known = "" if matched else ". If rows are in another order, match them with --id COLUMN"
        raise InputError(f"{fault}{known}")
