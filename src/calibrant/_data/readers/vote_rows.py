"""Votes in files: counts in columns, numbers of votes beside shares, and rows that are one vote."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant._core.errors import InputError
from calibrant._core.messages import name_of
from calibrant._core.typing import Index
from calibrant._data.counts import COUNTED, COUNTED_BESIDE, labels_of, votes_per_row
from calibrant._data.readers.columns import ReadRequest
from calibrant._data.vote_table import VoteTable, table_of


def check_vote_columns(request: ReadRequest) -> None:
    """Raise InputError if the options of a request that concern votes contradict each other."""
    if request.counts is not None:
        for name in ("y_true", "votes", "item", "annotator"):
            if getattr(request, name) is not None:
                raise InputError(
                    f"{name_of('counts')} and {name_of(name)} both give the labels: counts include "
                    f"the number of votes, so leave out {name_of(name)}"
                )
    if request.annotator is not None and request.item is None:
        raise InputError(
            f"{name_of('annotator')} is given without {name_of('item')}: if each row is one vote, "
            "name the column of the items voted on"
        )
    if request.item is not None and request.votes is not None:
        raise InputError(
            f"{name_of('item')} means that each row is one vote: leave out {name_of('votes')}"
        )


def counted_labels(
    y_true: NDArray[Any], y_proba: NDArray[Any], votes: NDArray[Any] | None, *, asked: bool
) -> tuple[NDArray[Any], NDArray[np.int64] | None]:
    """The labels, and the number of votes of each row (None if it is not known). Counts of class 1,
    (n,), become counts of both classes, (n, 2).

    `asked` says that the user called the labels counts. Rows with one vote each are then counts
    too, and labels that cannot be counts are an InputError.
    """
    n_columns = y_proba.shape[1] if y_proba.ndim == 2 else 1
    given = None if votes is None else votes_per_row(votes, y_proba.shape[0])
    labels = labels_of(y_true, given, n_columns)
    if labels.is_taken_as(COUNTED_BESIDE) and given is not None:
        return np.column_stack([given - y_true, y_true]).astype(np.int64), given
    if labels.is_taken_as(COUNTED):
        return y_true.astype(np.int64), labels.votes
    if asked:
        _check_counts(y_true)
        return y_true, np.ones(y_true.shape[0], dtype=np.int64)
    return y_true, labels.votes


def _check_counts(y_true: NDArray[Any]) -> None:
    """Raise InputError unless every row of labels has exactly one vote. The caller has recognised
    labels with more votes as counts already.
    """
    if y_true.ndim == 2 and np.isin(y_true, (0, 1)).all() and (y_true.sum(axis=1) == 1).all():
        return
    raise InputError(
        "counts must be whole numbers of votes, one column for each class, with at least one vote "
        f"in every row. If these are shares of votes, give them as labels ({name_of('y_true')}), "
        f"with {name_of('votes')} for the number of votes"
    )


def votes_by_item(
    y_true: NDArray[Any],
    parts: Mapping[str, NDArray[Any] | None],
    item: NDArray[Any],
    annotator: NDArray[Any] | None,
    classes: tuple[Any, ...],
) -> tuple[VoteTable, Index]:
    """Count votes, one per row, by item: the table of counts, and the number of the first row of
    each item.

    `parts` are further arrays by name, such as y_proba, or None; raise InputError if the rows of
    one item differ in one of them.
    """
    if y_true.ndim != 1:
        raise InputError(
            f"{name_of('item')} means that each row is one vote: y_true must be one column of "
            "labels"
        )
    table = table_of(item.tolist(), y_true, annotator, classes)
    first = np.full(len(table.items), -1, dtype=np.intp)
    first[table.item_index[::-1]] = np.arange(table.item_index.size)[::-1]
    for name, values in parts.items():
        if values is None:
            continue
        known = values[first[table.item_index]]
        other = np.any(np.asarray(values != known).reshape(len(values), -1), axis=1)
        if other.any():
            row = int(np.argmax(other))
            raise InputError(
                f"{name} differs between the rows of the item {item[row]!r}: "
                f"{_value_text(known[row])} and {_value_text(values[row])}. Each row is one vote, "
                "so all rows of an item must have the same value"
            )
    return table, first


def _value_text(value: Any) -> str:
    """A number or a row of numbers as text."""
    return str(value.tolist() if isinstance(value, np.ndarray | np.generic) else value)
