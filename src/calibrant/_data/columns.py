"""Columns named in a frame: ``ece("label", "p", data=frame)``."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import permutations
from typing import Any

from calibrant._core.errors import InputError, nearest


def is_lazy(data: Any) -> bool:
    """Whether the rows are somewhere else: a lazy frame, a database's relation, a cluster's."""
    if data is None or isinstance(data, dict | list | tuple):
        return False
    import narwhals as nw

    try:
        return isinstance(nw.from_native(data), nw.LazyFrame)
    except (TypeError, nw.exceptions.DuplicateError):
        return False


OWN_LABELS = (
    "compare holds all models against the same labels. Where each has its own, such as whether its "
    "own answer was right, one model's confidence would meet another's correctness"
)


def check_label_is_shared(label: Any, predictions: Mapping[str, Any], known: Sequence[str]) -> None:
    """An error if the column of labels is one model's own, as its name beside another's says:
    correct_a and correct_b, where the models' predictions are conf_a and conf_b.
    """
    columns = {name: each for name, each in predictions.items() if isinstance(each, str)}
    if not isinstance(label, str):
        return
    own = re.split(_BETWEEN, label)
    for (mine, first), (other, second) in permutations(columns.items(), 2):
        parts = re.split(_BETWEEN, first), re.split(_BETWEEN, second)
        swaps = {(str(mine), str(other))}
        if len(parts[0]) == len(parts[1]):
            swaps |= {(a, b) for a, b in zip(*parts, strict=True) if a != b}
        for a, b in swaps:
            sibling = "".join(b if part == a else part for part in own)
            if a in own and sibling in known:
                raise InputError(
                    f"y_true names the column {label!r}, which is that of {mine!r}: {other!r} has "
                    f"{sibling!r}. {OWN_LABELS}: evaluate each model by itself, with its own labels"
                )


_BETWEEN = r"([._/ -])"


def check_column_order(predictions: Sequence[str], targets: Sequence[str]) -> None:
    """An error if the numbers in columns' names are out of order, as texts are sorted (p_0, p_1,
    p_10, p_2): label 2 would be held against the column p_10.
    """
    numbers = _numbers(predictions)
    inner = sorted(numbers)
    if numbers == inner or inner not in (
        list(range(len(inner))), list(range(1, len(inner) + 1))
    ):  # fmt: skip
        return
    if len(targets) > 1 and _numbers(targets) == numbers:
        return  # soft labels in the same order
    raise InputError(
        f"y_proba names the columns {', '.join(map(repr, predictions[:SHUFFLED]))}, ...: their "
        f"numbers "
        "are not in order, while class indices go by the order of the columns. Sort them by their "
        "numbers, or say which class each column is of with classes=[...]"
    )


SHUFFLED = 4


def _numbers(names: Sequence[str]) -> list[int]:
    """The numbers that names of one kind end in; none if one has no number."""
    matches = [re.fullmatch(r"(.*?)(\d{1,9})", name, re.DOTALL) for name in names]
    if any(match is None for match in matches) or len({match[1] for match in matches if match}) > 1:
        return []
    return [int(match[2]) for match in matches if match]


def pick(data: Any, names: Any, argument: str) -> Any:
    """The column (or columns) of `data` that an argument names."""
    import narwhals as nw

    try:
        frame = nw.from_native(data, eager_only=True)
    except nw.exceptions.DuplicateError as error:
        raise InputError("data has two columns of one name: give each its own") from error
    except TypeError as error:
        raise InputError(
            f"data must be a pandas, polars or pyarrow frame; got {type(data).__name__}"
            + (": collect it first, for this needs the rows in memory" if is_lazy(data) else "")
        ) from error
    wanted = [names] if isinstance(names, str) else names
    if not isinstance(wanted, list | tuple) or not all(isinstance(name, str) for name in wanted):
        raise InputError(
            f"with data=, {argument} must be a column's name or a list of names; got {names!r}"
        )
    for name in wanted:
        if name not in frame.columns:
            raise InputError(
                f"{argument} names the column {name!r}, which data does not have: "
                f"{nearest(name, frame.columns)}"
            )
    if len(set(wanted)) < len(wanted):
        twice = next(name for name in wanted if wanted.count(name) > 1)
        raise InputError(f"{argument} names the column {twice!r} twice: name each class once")
    if isinstance(names, str):
        column = frame[names]
        # Such a name is a pattern to polars, even of the only column there is.
        return (column.alias("column") if names.startswith("^") else column).to_native()
    # By their places: polars takes names such as '*' for patterns.
    return frame[:, [frame.columns.index(name) for name in wanted]].to_native()
