"""Columns named in a frame: ``ece("label", "p", data=frame)``."""

from __future__ import annotations

import importlib.util
import os
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import permutations
from typing import Any, Literal

import numpy as np

from calibrant._core.errors import InputError, MissingExtra, nearest
from calibrant._core.messages import name_of, setting, worded
from calibrant._core.typing import Index
from calibrant._data.arrays import collect_hint, full_name, is_elsewhere, to_array

# The marks between the parts of a column's name; split by it, "p_cat" is ["p", "_", "cat"].
_MARK = re.compile(r"([._/ -])")


def is_lazy(data: Any) -> bool:
    """Whether data is a frame whose rows are not in memory: a lazy frame, a relation of a database
    or a cluster's frame.
    """
    if data is None or isinstance(data, dict | list | tuple):
        return False
    import narwhals as nw

    try:
        return isinstance(nw.from_native(data), nw.LazyFrame)
    except (TypeError, nw.exceptions.DuplicateError):
        return False


def scan_if_path(data: Any) -> Any:
    """Open the Parquet file at a path as a lazy frame, by polars or else DuckDB. Data that is no
    path is returned unchanged.
    """
    if not isinstance(data, str | os.PathLike):
        return data
    path = os.fspath(data)
    if not path.endswith((".parquet", ".pq")):
        raise InputError(
            f"data={path!r} must be a frame, or the path of a Parquet file that ends in .parquet; "
            "read other files with calibrant.read_file or with your frame library"
        )
    if not os.path.exists(path) and not any(sign in path for sign in "*?["):
        raise InputError(f"data={path!r}: there is no such file")
    for engine in ("polars", "duckdb"):
        if importlib.util.find_spec(engine) is not None:
            return _opened(path, engine)
    raise MissingExtra("polars", None, "reading a Parquet file lazily")


def _opened(path: str, engine: Literal["polars", "duckdb"]) -> Any:
    """The lazy frame of a Parquet file; an InputError if its footer cannot be read."""
    import narwhals as nw

    try:
        frame = nw.scan_parquet(path, backend=engine)
        frame.collect_schema()
    except Exception as error:  # every engine has errors of its own
        why = str(error).splitlines()[0]
        raise InputError(f"data={path!r} cannot be read as Parquet: {why}") from error
    return frame.to_native()


def column_names(data: Any) -> list[str]:
    """The names of the columns of a frame or mapping; an empty list for any other value."""
    if isinstance(data, Mapping):
        return list(data)
    if is_lazy(data):
        import narwhals as nw

        return nw.from_native(data).collect_schema().names()
    # Tables of PyArrow have their names in another attribute.
    names: Any = getattr(data, "column_names", None)
    return list(getattr(data, "columns", ()) if names is None else names)


def check_different_columns(y_true: Any, y_proba: Any) -> None:
    """Raise InputError if one column is named both as labels and as predictions, or if the names of
    the columns show that labels and predictions are in different orders (`check_paired`).
    """
    labels, predictions = (
        {names} if isinstance(names, str) else set(names) if _are_names(names) else set()
        for names in (y_true, y_proba)
    )
    both = sorted(labels & predictions)
    if both:
        raise InputError(
            f"{name_of('y_true')} and {name_of('y_proba')} both name the column {both[0]!r}: "
            "predictions that are held "
            "against themselves are never wrong. Name the column of labels, and that of predictions"
        )
    if _are_names(y_true) and _are_names(y_proba):
        check_paired(y_true, y_proba)


def check_paired(
    first: Sequence[str], second: Sequence[str], arguments: tuple[str, str] = ("y_true", "y_proba")
) -> None:
    """Raise InputError if two lists of columns, which belong together by position, have names in
    different orders: y_cat and y_dog with p_dog and p_cat. `arguments` are the names of both lists
    in the message.
    """
    if len(first) != len(second) or len(first) < 2:
        return
    for split in (_MARK.split, list):
        mine, others = _differing_parts(first, split), _differing_parts(second, split)
        same = (set(mine) & set(others)) - {""}
        if len(set(mine)) < len(mine) or len(set(others)) < len(others):
            continue  # one column twice is another error
        # Numbers may be counted from 0 in one and from 1 in the other, and single letters may agree
        # by chance: these endings count only if both sides have the same set of them.
        weak = split is list or all(each.isdigit() for each in same)
        if weak and set(mine) != set(others):
            continue
        for at, (a, b) in enumerate(zip(mine, others, strict=True)):
            if a != b and (a in same or b in same):
                ending, own = (a, first[at]) if a in same else (b, second[at])
                other = second[others.index(a)] if a in same else first[mine.index(b)]
                raise InputError(
                    f"{name_of(arguments[0])} and {name_of(arguments[1])} pair {first[at]!r} with "
                    f"{second[at]!r}, while {own!r} and {other!r} both end in {ending!r}: give the "
                    "columns in the same order"
                )


def check_frames_paired(y_true: Any, y_proba: Any) -> None:
    """Raise InputError if the columns of two frames in memory have names in different orders, as
    `check_paired` does. Other arguments, such as arrays, are not checked.
    """
    if hasattr(y_true, "columns") and hasattr(y_proba, "columns"):
        if is_elsewhere(y_true) or is_elsewhere(y_proba):
            return  # a Spark column answers to any attribute
        first, second = ([str(name) for name in column_names(each)] for each in (y_true, y_proba))
        check_paired(first, second)


def names_of_columns(y_proba: Any) -> tuple[str, ...]:
    """The names of the columns of y_proba, if it is a frame in memory and all names are text; else
    ().
    """
    if not hasattr(y_proba, "columns") or is_elsewhere(y_proba):
        return ()
    names = column_names(y_proba)
    return tuple(names) if all(isinstance(name, str) for name in names) else ()


def _differing_parts(names: Sequence[str], split: Callable[[str], list[str]]) -> list[str]:
    """The part of each name that tells it from the others: without what all names begin with, and
    what all names end with. `split` cuts a name into parts.
    """
    parts = [split(name.lower()) for name in names]
    fewest = min(map(len, parts))
    start, end = 0, 0
    while start < fewest and len({each[start] for each in parts}) == 1:
        start += 1
    while end < fewest - start and len({each[-1 - end] for each in parts}) == 1:
        end += 1
    return ["".join(each[start : len(each) - end]) for each in parts]


def _are_names(names: Any) -> bool:
    """Whether the value is a list or tuple of texts."""
    return isinstance(names, list | tuple) and all(isinstance(name, str) for name in names)


OWN_LABELS = (
    "One set of labels applies to all models. If each model has its own labels, such as whether "
    "its answer was right, one model's confidence would be paired with another's correctness"
)


def check_label_is_shared(
    label: Any, predictions: Mapping[str, Any], known: Sequence[str], *, can_have_own: bool = True
) -> None:
    """Raise InputError if the one column of labels for all models belongs to one model by its name:
    the label is correct_a, there is a column correct_b, and the models' predictions are conf_a and
    conf_b.

    `known` are the names of all columns. `can_have_own` says whether each model could be given its
    own labels, which the message then advises.
    """
    if not isinstance(label, str):
        return
    for mine, other, a, b in _model_pairs(predictions):
        sibling = _replace_part(label, a, b)
        if sibling is not None and sibling in known:
            each = worded(
                python=f"y_true={{{mine!r}: {label!r}, {other!r}: {sibling!r}, ...}}",
                command=f"--labels {mine}={label} {other}={sibling}",
            )
            raise InputError(
                f"{name_of('y_true')} names the column {label!r}, which belongs to {mine!r}: "
                f"{other!r} has {sibling!r}. {OWN_LABELS}: "
                + (
                    f"give each its own, {each}"
                    if can_have_own
                    else "evaluate the models one by one"
                )
            )


def check_labels_are_own(
    labels: Mapping[str, Any], predictions: Mapping[str, Any], known: Sequence[str]
) -> None:
    """Raise InputError if the name of a model's column of labels shows that it belongs to another
    model, or if some models share a column of labels and others do not. `known` are the names of
    all columns.
    """
    texts = [each for each in labels.values() if isinstance(each, str)]
    twice = next((text for text in texts if texts.count(text) > 1), None)
    for mine, other, a, b in _model_pairs(predictions):
        given = labels.get(mine)
        right = None if not isinstance(given, str) else _replace_part(given, b, a)
        if right is not None and right in known and a not in _MARK.split(str(given)):
            raise InputError(
                f"{_labels_option()} gives {mine!r} the labels {given!r}, which belong to "
                f"{other!r}; its own are {right!r}. One model's confidence would be paired with "
                "another's correctness"
            )
    if twice is not None and len(set(texts)) > 1:
        raise InputError(
            f"{_labels_option()} gives the column {twice!r} to two models and other columns to the "
            "rest: give each model its own labels, or one set to all"
        )


def _labels_option() -> str:
    """The name of the option for labels of each model, in Python ("y_true") or on the
    command line.
    """
    return worded(python="y_true", command="--labels")


def _model_pairs(predictions: Mapping[str, Any]) -> Iterator[tuple[str, str, str, str]]:
    """Each ordered pair of models, with the parts of column names that stand for the models:
    (model, other model, part for the model, part for the other).
    """
    columns = {name: each for name, each in predictions.items() if isinstance(each, str)}
    for (mine, first), (other, second) in permutations(columns.items(), 2):
        parts = _MARK.split(first), _MARK.split(second)
        swaps = {(str(mine), str(other))}
        if len(parts[0]) == len(parts[1]):
            swaps |= {(a, b) for a, b in zip(*parts, strict=True) if a != b}
        yield from ((mine, other, a, b) for a, b in sorted(swaps))


def _replace_part(name: str, a: str, b: str) -> str | None:
    """A column's name in which the part a is replaced by the part b; None if the name has no part
    a.
    """
    parts = _MARK.split(name)
    return "".join(b if part == a else part for part in parts) if a in parts else None


def check_column_order(predictions: Sequence[str], targets: Sequence[str]) -> None:
    """Raise InputError if the columns of predictions have numbers in their names that are not in
    order, as when names are sorted as text (p_0, p_1, p_10, p_2): class 2 would be taken for the
    column p_10. There is no error if the columns of targets have the same order.
    """
    numbers = _numbers_in_names(predictions)
    inner = sorted(numbers)
    if numbers == inner or not are_consecutive(inner):
        return
    if len(targets) > 1 and _numbers_in_names(targets) == numbers:
        return  # soft labels in the same order
    raise InputError(
        f"{name_of('y_proba')} names the columns "
        f"{', '.join(map(repr, predictions[:SHUFFLED]))}, ...: their numbers are not in order, but "
        "class indices follow the order of the columns. Sort the columns by their numbers, or "
        f"name the class of each with {setting('classes', [...])}"
    )


SHUFFLED = 4


def are_consecutive(numbers: list[int]) -> bool:
    """Whether the numbers are 0, 1, 2, ... or 1, 2, 3, ..., in this order."""
    n = len(numbers)
    return numbers in ([*range(n)], [*range(1, n + 1)])


def _numbers_in_names(names: Sequence[str]) -> list[int]:
    """The numbers at the end of the names, if the names are otherwise the same; else an
    empty list.
    """
    matches = [re.fullmatch(r"(.*?)(\d{1,9})", name, re.DOTALL) for name in names]
    if any(match is None for match in matches) or len({match[1] for match in matches if match}) > 1:
        return []
    return [int(match[2]) for match in matches if match]


# Names of columns that an error lists.
LISTED = 30


def classes_by_endings(names: Sequence[str], classes: Sequence[Any]) -> tuple[Any, ...] | None:
    """The class at the end of each column's name (cat for p_cat), if every class has exactly one
    column; else None.
    """
    endings = [re.compile(rf"(?:^|[._ -]){re.escape(str(name))}$") for name in classes]
    of_class = [next((r for r, end in enumerate(endings) if end.search(n)), -1) for n in names]
    if sorted(of_class) != list(range(len(classes))):
        return None
    return tuple(classes[r] for r in of_class)


def check_columns_of_classes(names: Sequence[str], classes: Sequence[Any]) -> None:
    """Raise InputError if the names of prediction columns end in the classes' names, but in another
    order than `classes`. There is no check if all classes are numbers: a number in a column's name
    may be the column's position.
    """
    if not all(str(name).isdigit() for name in classes):
        check_order_of_classes(names, classes, "y_proba")


def check_order_of_classes(names: Sequence[str], classes: Sequence[Any], argument: str) -> None:
    """Raise InputError if the columns' names end in the classes' names, but in another order.
    `argument` is the name of the columns in the message.
    """
    if classes_by_endings(names, classes) not in (None, tuple(classes)):
        raise InputError(
            f"{name_of(argument)} names the columns {', '.join(map(repr, names[:LISTED]))}, but "
            f"the classes are {', '.join(map(repr, classes[:LISTED]))}: name the columns in the "
            "order of the classes"
        )


def pick(data: Any, names: Any, argument: str) -> Any:
    """The column (for one name) or columns (for a list of names) of a frame in memory, or of a
    mapping of names to columns; `argument` is the name of the columns in errors.
    """
    if isinstance(data, Mapping):
        return _pick_from_mapping(data, names, argument)
    import narwhals as nw

    try:
        frame = nw.from_native(data, eager_only=True)
    except nw.exceptions.DuplicateError as error:
        raise InputError("data has two columns of one name: rename one") from error
    except TypeError as error:
        if is_lazy(data):
            raise InputError(f"data is a {collect_hint(data)}") from error
        raise InputError(
            f"data={os.fspath(data)!r} names a file, but this function needs its rows in memory: "
            "read it with your frame library, such as polars.read_parquet"
            if isinstance(data, str | os.PathLike)
            else "data must be a pandas, polars or pyarrow frame, or map names to columns; "
            f"got {full_name(data)}"
        ) from error
    wanted = checked_column_names(names, argument, frame.columns)
    if isinstance(names, str):
        column = frame[names]
        # polars reads this name as a pattern, even if it is the name of the only column.
        return (column.alias("column") if names.startswith("^") else column).to_native()
    # By position, because polars reads names such as '*' as patterns.
    return frame[:, [frame.columns.index(name) for name in wanted]].to_native()


def _pick_from_mapping(data: Mapping[str, Any], names: Any, argument: str) -> Any:
    """The column of this name as it is, or the columns of a list of names as one array (n, k)."""
    wanted = checked_column_names(names, argument, list(data))
    if isinstance(names, str):
        return data[names]
    columns = [to_array(data[name], name) for name in wanted]
    for name, column in zip(wanted, columns, strict=True):
        if column.ndim != 1 or column.size != columns[0].size:
            raise InputError(
                f"{name_of(argument)} names the column {name!r} of the shape {column.shape}: "
                f"{wanted[0]!r} has the shape {columns[0].shape}. Give one value per row in each"
            )
    return np.stack(columns, axis=1)


def take_rows(data: Any, rows: Index) -> Any:
    """The rows with these numbers of a frame in memory, or of a mapping of names to columns."""
    if isinstance(data, Mapping):
        return {name: to_array(column, name)[rows] for name, column in data.items()}
    import narwhals as nw

    return nw.from_native(data, eager_only=True)[rows.tolist()].to_native()


def checked_column_names(names: Any, argument: str, known: Collection[str]) -> Sequence[str]:
    """The names of columns that an argument gives, as a list or tuple; raise InputError if the
    frame does not have one of them, or if one is named twice. `known` are the frame's columns.
    """
    wanted = [names] if isinstance(names, str) else names
    if not isinstance(wanted, list | tuple) or not all(isinstance(name, str) for name in wanted):
        raise InputError(
            f"with data=, {argument} must be a column's name or a list of names; got {names!r}"
        )
    if not wanted:
        raise InputError(f"with data=, {argument} must name a column; it names none")
    for name in wanted:
        if name not in known:
            raise InputError(
                f"{name_of(argument)} names the column {name!r}, which data does not have: "
                f"{nearest(name, known)}"
            )
    if len(set(wanted)) < len(wanted):
        twice = next(name for name in wanted if wanted.count(name) > 1)
        raise InputError(f"{argument} names the column {twice!r} twice: name each class once")
    return wanted
