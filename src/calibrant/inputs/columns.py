"""Columns named in a frame: ``ece("label", "p", data=frame)``."""

from __future__ import annotations

from typing import Any

from calibrant.errors import InputError, nearest


def is_lazy(data: Any) -> bool:
    """Whether the rows are somewhere else: a lazy frame, a database's relation, a cluster's."""
    if data is None or isinstance(data, dict | list | tuple):
        return False
    import narwhals as nw

    try:
        return isinstance(nw.from_native(data), nw.LazyFrame)
    except (TypeError, nw.exceptions.DuplicateError):
        return False


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
        return frame[names].to_native()
    return frame.select(list(wanted)).to_native()
