"""VoteTable: votes one below the other, counted by item and class; who gave which is kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calibrant._core.errors import InputError, nearest
from calibrant._core.messages import setting
from calibrant._core.typing import Array, Index
from calibrant._core.validation import public
from calibrant._data.arrays import to_array
from calibrant._data.columns import is_lazy, pick
from calibrant._data.labels import classes_among, encode


@dataclass(frozen=True, eq=False)
class VoteTable:
    """Votes counted by item and class, as `count_votes` returns them.

    Attributes
    ----------
    counts : ndarray of shape (n, k)
        Number of votes for each class, one row per item; every function takes it, or the table
        itself, as `y_true`.
    items : ndarray of shape (n,)
        Id of each item, in the order of the rows.
    classes : tuple of length k
        Names of the classes, in the order of the columns.
    item_index : ndarray of shape (n_votes,)
        Row of `counts` for the item of each vote, in the order of the votes.
    class_index : ndarray of shape (n_votes,)
        Column of `counts` for the class of each vote.
    annotator : ndarray of shape (n_votes,) or None
        The annotator of each vote, if there is a column for it.
    n_unmatched : int
        Number of votes on other items than those requested, which are not counted.

    Examples
    --------
    >>> import calibrant as cal
    >>> long = {"item": ["a", "a", "b"], "label": ["cat", "dog", "dog"]}
    >>> cal.count_votes(long, item="item", label="label").shares.tolist()
    [[0.5, 0.5], [0.0, 1.0]]
    """

    counts: NDArray[np.int64]
    items: NDArray[Any]
    classes: tuple[Any, ...]
    item_index: Index
    class_index: Index
    annotator: NDArray[Any] | None = None
    n_unmatched: int = 0

    @property
    def votes(self) -> NDArray[np.int64]:
        """Number of votes on each item."""
        return self.counts.sum(axis=1)

    @property
    def shares(self) -> Array:
        """Share of the votes that each class has, a row an item."""
        return self.counts / self.votes[:, None]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        """The counts, (n, k), so that functions take the table itself as `y_true`."""
        return np.array(self.counts, dtype=dtype, copy=True if copy is None else copy)

    def __repr__(self) -> str:
        """The numbers of votes, annotators and items, and the first classes, on one line."""
        votes = self.votes
        people = ""
        if self.annotator is not None:
            people = f" by {len(set(self.annotator.tolist())):,} annotators"
        left = f"; {self.n_unmatched:,} on other items not counted" if self.n_unmatched else ""
        return (
            f"VoteTable({votes.sum():,} votes{people} on {len(self.items):,} items, "
            f"{spread_of(votes)} each; classes {', '.join(map(repr, self.classes[:5]))}"
            f"{', ...' if len(self.classes) > 5 else ''}{left})"
        )


def spread_of(votes: NDArray[Any]) -> str:
    """The least and the largest number of votes in words: "3 to 5", or "3" if all are the same."""
    low, high = int(votes.min()), int(votes.max())
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


@public
def count_votes(
    data: Any,
    *,
    item: str,
    label: str,
    annotator: str | None = None,
    classes: Sequence[Any] | None = None,
    items: ArrayLike | None = None,
) -> VoteTable:
    """Count a long table of votes, with one row per vote, by item and class.

    Parameters
    ----------
    data : data frame or mapping
        Table with a row for each vote: pandas, polars, PyArrow, a lazy frame of any engine, or a
        mapping of column names to arrays.
    item : str
        Column of item ids, which predictions have too.
    label : str
        Column of labels: names of classes or class indices.
    annotator : str, optional
        Column of annotators; nobody may vote twice on an item.
    classes : sequence, optional
        Names of the classes in the order of the columns of `y_proba`; by default the labels that
        occur, sorted: numbers, and texts that are numbers, by their size.
    items : array-like of shape (n,), optional
        Ids of the predictions' rows: `counts` has a row for each, in this order. By default items
        are in the order in which they first occur.

    Returns
    -------
    VoteTable
        `counts`, for use as `y_true`; `items`, `classes`, `shares`, `votes`, and the votes
        themselves.

    Raises
    ------
    InputError
        If a column is missing, a label is not a class, an item of `items` has no votes, or somebody
        votes twice on an item.

    Examples
    --------
    >>> import calibrant as cal
    >>> long = {
    ...     "item": ["a", "a", "a", "b", "b"],
    ...     "label": ["cat", "dog", "cat", "dog", "dog"],
    ...     "annotator": ["ann", "bob", "eve", "ann", "bob"],
    ... }
    >>> votes = cal.count_votes(
    ...     long, item="item", label="label", annotator="annotator", classes=["cat", "dog"]
    ... )
    >>> votes.counts.tolist()
    [[2, 1], [0, 2]]
    >>> round(cal.dist_ce(votes.counts, [[0.6, 0.4], [0.2, 0.8]]), 4)
    0.1333
    """
    columns = _columns(data, {"item": item, "label": label, "annotator": annotator})
    labels = columns["label"]
    if classes is None:
        classes = classes_among(labels.tolist())
        if len(classes) < 2:
            raise InputError(
                f"label holds only {classes[0]!r}: name all classes, in the order of the "
                f"predictions' columns, with {setting('classes', [...])}"
            )
    codes, _ = encode(labels, classes, len(classes), True, argument="label")
    items = None if items is None else to_array(items, "items")
    annotators = columns.get("annotator")
    return table_of(columns["item"].tolist(), codes, annotators, tuple(classes), items)


def table_of(
    ids: list[Any],
    codes: NDArray[Any],
    annotator: NDArray[Any] | None,
    classes: tuple[Any, ...],
    items: NDArray[Any] | None = None,
) -> VoteTable:
    """Count votes by item and class.

    Each vote has the id of its item (`ids`), its class index (`codes`) and perhaps its annotator.
    `items` are the ids of the table's rows in their order; by default those that occur. Raise
    InputError for an item without votes, and for an annotator who votes twice on one.
    """
    wrong = ~((codes >= 0) & (codes < len(classes)) & (codes == np.floor(codes)))
    if wrong.any():
        row = int(np.argmax(wrong))
        raise InputError(
            f"label[{row}] is {codes[row].item()!r}: class indices must lie in "
            f"0..{len(classes) - 1}"
        )
    rows = _row_of_item(ids, items)
    index = np.array([rows.get(each, -1) for each in ids], dtype=np.intp)
    kept = index >= 0
    index, of_class = index[kept], codes[kept].astype(np.intp)
    who = None if annotator is None else annotator[kept]
    counts = np.zeros((len(rows), len(classes)), dtype=np.int64)
    np.add.at(counts, (index, of_class), 1)
    names = list(rows)
    without = np.flatnonzero(counts.sum(axis=1) == 0)
    if without.size:
        name = names[without[0]]
        hint = nearest(name, [str(each) for each in set(ids)])
        if any(str(each) == str(name) for each in ids):
            hint = (
                f"items are {_type_of(name)}, but those of data are {_type_of(ids[0])}: give both "
                "as the same type"
            )
        raise InputError(
            f"items[{without[0]}], {name!r}, has no votes; {without.size} of {len(names)} items "
            f"have none: {hint}"
        )
    if who is not None:
        _check_one_vote_each(index, who, names)
    out = np.empty(len(names), dtype=object)
    out[:] = names
    plain = np.array(names) if items is None else items
    plain = plain if plain.ndim == 1 else out
    n_dropped = int(np.count_nonzero(~kept))
    return VoteTable(counts, plain, classes, index, of_class, who, n_dropped)


def _type_of(item: Any) -> str:
    """The name of the type of an item's id, for messages: "text", "int"."""
    return "text" if isinstance(item, str) else type(item).__name__


def _columns(data: Any, names: dict[str, str | None]) -> dict[str, NDArray[Any]]:
    """The arrays of the columns that the arguments name, by argument; arguments that are None are
    left out. `names` has the column's name for each argument. Only these columns of a
    lazy frame are collected.
    """
    wanted = {argument: name for argument, name in names.items() if name is not None}
    if is_lazy(data):
        import narwhals as nw

        from calibrant._data.frame_input import named_columns

        frame: Any = nw.from_native(data)
        schema = frame.collect_schema()
        for argument, name in wanted.items():
            named_columns(name, argument, schema)
        data = frame.select(*dict.fromkeys(wanted.values())).collect().to_native()
    out = {}
    for argument, name in wanted.items():
        if isinstance(data, Mapping):
            if name not in data:
                raise InputError(
                    f"{argument} names the column {name!r}, which data does not have: "
                    f"{nearest(name, list(data))}"
                )
            out[argument] = to_array(data[name], argument)
        else:
            out[argument] = to_array(pick(data, name, argument), argument)
    sizes = {argument: array.shape for argument, array in out.items()}
    if len(set(sizes.values())) > 1 or any(len(shape) != 1 for shape in sizes.values()):
        shapes = ", ".join(f"{argument} {shape}" for argument, shape in sizes.items())
        raise InputError(
            f"data must have one value per vote in each column; the shapes are {shapes}"
        )
    if out["item"].size == 0:
        raise InputError("data must have at least one vote; got none")
    _check_none_missing(out)
    return out


def _check_none_missing(columns: dict[str, NDArray[Any]]) -> None:
    """Raise InputError for the first None or NaN in the columns, a dict from argument to array."""
    for argument, array in columns.items():
        for row, value in enumerate(array.tolist()):
            if value is None or value != value:
                raise InputError(
                    f"{argument}[{row}] is missing ({value!r}): drop votes with missing values "
                    "before counting"
                )


def _row_of_item(ids: list[Any], items: NDArray[Any] | None) -> dict[Any, int]:
    """A dict from the id of each item to its row in the table: in the order of `items`, or of first
    votes if `items` is None. Raise InputError if an item is named twice.
    """
    if items is None:
        return {each: row for row, each in enumerate(dict.fromkeys(ids))}
    if items.ndim != 1:
        raise InputError(f"items must be one id per row; got the shape {items.shape}")
    rows: dict[Any, int] = {}
    for row, each in enumerate(items.tolist()):
        if each in rows:
            raise InputError(
                f"items[{row}] is {each!r}, as is items[{rows[each]}]: name each item once"
            )
        rows[each] = row
    return rows


def _check_one_vote_each(index: Index, who: NDArray[Any], names: list[Any]) -> None:
    """Raise InputError if an annotator votes twice on an item. `index` is the row of each vote's
    item, `who` the annotator of each vote, and `names` are the ids of the items.
    """
    seen: set[tuple[int, Any]] = set()
    for pair in zip(index.tolist(), who.tolist(), strict=True):
        if pair in seen:
            raise InputError(
                f"annotator {pair[1]!r} votes twice on the item {names[pair[0]]!r}: keep one of "
                f"the votes, or leave out {setting('annotator')}"
            )
        seen.add(pair)
