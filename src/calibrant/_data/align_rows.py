"""Rows of several sources brought into one order by their ids."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant._core.errors import InputError
from calibrant._core.typing import Index
from calibrant._data.arrays import to_array
from calibrant._data.columns import pick


@dataclass(frozen=True, eq=False)
class Alignment:
    """The rows of several sources that have the same ids. `rows[name][i]` is the row, in the source
    `name`, of the i-th id that all sources have, in the order of the first source.
    """

    rows: dict[str, Index]
    # The ids of each source that some other source does not have.
    unmatched: dict[str, list[Any]]


_WHOLE = re.compile(r"(-?\d+)\.0+")


def id_texts(values: Iterable[Any]) -> list[str]:
    """Ids as text that does not depend on the format they are read from: 1, 1.0 and "1"
    give "1".
    """
    texts = [str(int(value) if _is_whole_float(value) else value) for value in values]
    # Text files write whole floats as 1.0. Only if all ids look so are they numbers: versions do
    # not.
    matches = [_WHOLE.fullmatch(text) for text in texts]
    return [match[1] for match in matches if match] if all(matches) else texts


def _is_whole_float(value: Any) -> bool:
    """Whether a value is a float without a fraction, such as 1.0."""
    return isinstance(value, float | np.floating) and bool(value == value // 1)


def row_of_id(
    ids: Iterable[Any], need: str, fault: str = "appears more than once"
) -> dict[Any, int]:
    """A dict from each id to its row. If an id is there twice, raise InputError with the message
    "`need`; the id `fault`".
    """
    rows: dict[Any, int] = {}
    for row, key in enumerate(ids):
        if key in rows:
            raise InputError(f"{need}; {key!r} {fault}")
        rows[key] = row
    return rows


def unique_ids(values: Any, name: str, data: Any) -> dict[Any, int]:
    """A dict from each id of the predictor `name` to its row. `values` are the ids, or the name of
    a column of `data`; raise InputError if an id is there twice.
    """
    if data is not None and isinstance(values, str):
        values = pick(data, values, "ids")
    array = to_array(values, "ids")
    if array.ndim != 1:
        raise InputError(f"ids of {name!r} must be one id per row; got the shape {array.shape}")
    return row_of_id(array.tolist(), f"ids of {name!r} must be unique")


def align(sources: Mapping[str, Mapping[Any, int]]) -> Alignment:
    """Match the rows of several sources by id. `sources` has, for each source, a dict from id to
    row.
    """
    common = set.intersection(*(set(rows) for rows in sources.values()))
    order = [key for key in next(iter(sources.values())) if key in common]
    return Alignment(
        {
            name: np.array([rows[key] for key in order], dtype=np.intp)
            for name, rows in sources.items()
        },
        {name: [key for key in rows if key not in common] for name, rows in sources.items()},
    )


def rows_in_order(ids: Mapping[str, Any], names: Sequence[str], data: Any) -> dict[str, Index]:
    """For each predictor in `names` that has ids, the row numbers that bring its rows into the
    order of the ids of y_true. Raise InputError unless the predictor and y_true have the same ids.
    """
    unknown = [name for name in ids if name != "y_true" and name not in names]
    if unknown:
        raise InputError(
            f"ids names {unknown[0]!r}, but y_proba has no predictor of that name: {names}"
        )
    wanted = unique_ids(ids["y_true"], "y_true", data)
    out = {}
    for name in names:
        if name not in ids:
            continue
        aligned = align({"y_true": wanted, "own": unique_ids(ids[name], name, data)})
        missing, extra = aligned.unmatched["y_true"], aligned.unmatched["own"]
        faults = []
        if missing:
            faults.append(f"{len(missing)} missing, such as {missing[0]!r}")
        if extra:
            faults.append(f"{len(extra)} extra, such as {extra[0]!r}")
        if faults:
            raise InputError(f"ids of {name!r} differ from those of y_true: {' and '.join(faults)}")
        out[name] = aligned.rows["own"]
    return out


def differing_rows(first: NDArray[Any], second: NDArray[Any]) -> NDArray[np.bool_]:
    """A mask (n,) of the rows that differ between two arrays of labels (n,), or of
    shares (n, k).
    """
    differ: NDArray[np.bool_] = first != second
    return differ if differ.ndim == 1 else np.asarray(differ.any(axis=1))
