"""From the arguments of a public function to its samples and to clusters of rows, and the note on
predictions of two columns.

A public function whose last argument is ``**rows: Unpack[Rows]`` passes these on to `as_source` or
`as_samples`.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any, TypeVar, Unpack, cast

import numpy as np
from numpy.typing import NDArray

from calibrant._core.arguments import RowsWithGaps
from calibrant._core.errors import InputError, counted
from calibrant._core.given_cells import Cells
from calibrant._core.typing import Index, Mask
from calibrant._data.arrays import collect_hint
from calibrant._data.checks import TWO_COLUMNS
from calibrant._data.columns import is_lazy, pick
from calibrant._data.logprobs import given_as
from calibrant._data.missing import find_missing_rows
from calibrant._data.samples import RowSamples, Samples
from calibrant._data.source import Source
from calibrant._data.to_samples import to_samples, to_source

R = TypeVar("R")


@dataclass(frozen=True, kw_only=True)
class GivenRows:
    """Rows as users give them: arrays with a value for each row, or names of columns of `data`."""

    y_true: Any = None
    y_proba: Any
    sample_weight: Any = None
    groups: Any = None
    by: Any = None
    votes: Any = None
    ids: Any = None
    data: Any = None


def as_source(y_true: Any, y_proba: Any, **rows: Unpack[RowsWithGaps]) -> Source:
    """Validate samples without moving them from their frame's engine or tensor's device."""
    return to_source(y_true, y_proba, **_as_validated(rows))


def as_samples(y_true: Any, y_proba: Any, **rows: Unpack[RowsWithGaps]) -> Samples:
    """Validate samples, and bring them into memory as arrays."""
    return to_samples(y_true, y_proba, **_as_validated(rows))


def _as_validated(rows: RowsWithGaps) -> dict[str, Any]:
    """The options of rows as `to_samples` takes them: one says what predictions are given as."""
    given = given_as(rows.get("from_logits", False), rows.get("from_logprobs", False))
    return {**{k: v for k, v in rows.items() if k != "from_logprobs"}, "from_logits": given}


def check_one_outcome(samples: Source, function: str) -> None:
    """Raise an InputError for predictions of several classes, which `function` does not take."""
    if samples.multiclass:
        raise InputError(
            f"{function} needs one outcome, with y_proba of the shape (n,); got (n, "
            f"{samples.n_classes}). Give one class's column as y_proba and (y_true == class) as "
            "y_true"
        )


def read_cells(bins: Any, data: Any) -> Any:
    """The option `bins`, where given cells that name columns have these columns of `data`; of a
    lazy frame they keep their names.
    """
    if not isinstance(bins, Cells) or not bins.names or data is None or is_lazy(data):
        return bins
    columns = [pick(data, name, "bins") for name in bins.names]
    return bins.with_columns([read_groups(column, None)[0] for column in columns])


def check_without(**given: Any) -> None:
    """Raise an InputError for the first argument that was given, and that lazy frames do not take;
    None is not given.
    """
    for name, value in given.items():
        if value is not None:
            raise InputError(
                f"{name}= needs rows in memory, but the frame is in another engine: drop {name}=, "
                "or collect a sample of rows"
            )


def cluster_column(groups: Any, data: Any) -> str | None:
    """The column of a lazy frame that names the cluster of each row; None without clusters."""
    if groups is None:
        return None
    import narwhals as nw  # slow to import

    from calibrant._data.frame_input import named_columns

    names = named_columns(groups, "groups", nw.from_native(data).collect_schema())
    if len(names) != 1:
        raise InputError(
            f"groups must name one column of the frame, which has the cluster of each row; got "
            f"{groups!r}"
        )
    return names[0]


def group_index(groups: Any, samples: RowSamples[Any], data: Any) -> Any:
    """The number of each row's cluster, (n,); None if `groups` is None.

    `groups` names the cluster of each row, or a column of `data`. Dropped rows have no number.
    """
    if groups is None:
        return None
    values, gaps = read_groups(groups, data)
    return number_clusters(samples.values_of_kept(values), samples.values_of_kept(gaps), samples.n)


def read_groups(groups: Any, data: Any) -> tuple[NDArray[Any], Mask]:
    """The name of each row's cluster as the user gave it, (n,), and a mask of missing names.

    `groups` has a name for each row, or names a column of `data`.
    """
    if isinstance(groups, str):
        if data is None:
            raise InputError(
                f"groups={groups!r} names a column, but no frame was given: pass data="
            )
        groups = pick(data, groups, "groups")
    if is_lazy(groups):
        raise InputError(f"groups is a {collect_hint(groups)}")
    return find_missing_rows(groups, "groups")


def number_clusters(array: NDArray[Any], missing: Mask, n: int) -> Index:
    """Number the clusters: each row's cluster as an integer, (n,), from the clusters' names.

    An InputError is raised unless each of n rows has one, and there are two clusters or more.
    """
    if array.shape != (n,):
        raise InputError(f"groups must name a group for each of the {n} rows; got {array.shape}")
    if missing.any():
        raise InputError(
            f"groups is missing in {counted(int(missing.sum()), 'row', '')}, first in row "
            f"{int(np.argmax(missing))}: every row needs a cluster. Give a row without one a "
            "cluster of its own"
        )
    from calibrant._inference.blocks import as_groups  # slow to import

    index = as_groups(array, n)
    if index.size and int(index.max()) < 1:
        raise InputError("groups must hold at least two groups: a single group cannot be resampled")
    return index


def take_clusters(groups: Index | None, rows: NDArray[Any]) -> Index | None:
    """The clusters of some rows, numbered from 0 without gaps; None without clusters."""
    if groups is None:
        return None
    return np.unique(groups[rows], return_inverse=True)[1].astype(np.intp)


def is_top_label_of_two(samples: Source, notion: str) -> bool:
    """Whether a value is about the top label of predictions in two columns.

    Such a value differs from that of the single column P(y = 1).
    """
    if samples.n_columns != 2:
        return False
    from calibrant._inference.calibration_tests import SCALAR  # slow to import

    return notion in SCALAR


def note_two_columns(found: R, samples: Source, notion: str) -> R:
    """Add a note to a result that is about the top label of two columns; else return it as is."""
    if not is_top_label_of_two(samples, notion):
        return found
    result: Any = found
    if any(field.name == "notes" for field in fields(result)):
        return cast(R, replace(result, notes=(*result.notes, TWO_COLUMNS)))
    return cast(R, replace(result, note="; ".join(filter(None, [result.note, TWO_COLUMNS]))))
