"""Counts of votes in columns of a lazy frame: found by a small query, divided in every pass."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import narwhals as nw

from calibrant._core.errors import InputError
from calibrant._core.validation import is_number
from calibrant._data.counts import (
    COUNTED,
    COUNTED_BESIDE,
    NOT_COUNTED,
    undecided_in_streams,
    undecided_labels,
    vote_note,
)
from calibrant._data.frame_samples import column_of
from calibrant._data.logits import warn_caller

# Rows that are looked at first: soft labels mostly show a fraction there.
_FEW = 256
_EVERY_ROW = "calibrant votes of every row"


@dataclass(frozen=True, eq=False)
class VoteCounts:
    """The columns whose sum is a row's number of votes, if labels are counts of them."""

    frame: Any
    targets: tuple[str, ...]
    votes: tuple[str, ...] = ()
    # A column that must say the same.
    stated: str | None = None
    note: str | None = None


def read_counts(
    frame: Any, targets: tuple[str, ...], votes: Any, *, multiclass: bool, stream: bool
) -> VoteCounts:
    """Labels as they are read_counts; `votes` names a column, or is one number for all rows."""
    if is_number(votes):
        frame = frame.with_columns(**{_EVERY_ROW: nw.lit(float(votes))})
        votes = _EVERY_ROW
    schema = frame.collect_schema()
    if not all(schema[name].is_numeric() for name in targets):
        return VoteCounts(frame, targets)
    if len(targets) > 1 and not multiclass:  # votes for class 0 and for class 1
        return VoteCounts(frame, targets[1:], targets, votes, vote_note(COUNTED))
    if len(targets) > 1:
        if _has_fraction(frame, targets) or not _any_several(frame, targets):
            return VoteCounts(frame, targets)
        return VoteCounts(frame, targets, targets, votes, vote_note(COUNTED))
    if multiclass or votes is None:
        return VoteCounts(frame, targets)
    if _any_above_one(frame, targets[0]):
        return VoteCounts(frame, targets, (votes,), None, vote_note(COUNTED_BESIDE))
    whole = schema[targets[0]].is_integer() or not _has_fraction(frame, targets)
    undecided = whole and _any_above_one(frame, votes)
    if undecided and stream:
        raise InputError(undecided_in_streams())
    if undecided:
        warn_caller(undecided_labels())
    return VoteCounts(frame, targets, note=vote_note(NOT_COUNTED) if undecided else None)


def check_votes_name(votes: Any, schema: Any) -> None:
    """Raise InputError unless votes are a column of numbers, or one number of at least 1."""
    if is_number(votes) and votes >= 1 and float(votes).is_integer():
        return
    if not isinstance(votes, str):
        raise InputError(
            "with a lazy frame, votes must be a column's name, or a whole number of at least 1 for "
            f"all rows; got {votes if is_number(votes) else type(votes).__name__}"
        )
    if not schema[votes].is_numeric():
        raise InputError(f"votes must be numbers; the column {votes!r} holds {schema[votes]}")


def _column(frame: Any, name: str) -> Any:
    """A column as doubles."""
    return column_of(frame, name).cast(nw.Float64)


def _has_fraction(frame: Any, names: tuple[str, ...]) -> bool:
    """Whether one of the first rows has a number that is not whole."""
    schema = frame.collect_schema()
    floats = [name for name in names if not schema[name].is_integer()]
    if not floats:
        return False
    places = {f"c{j}": _column(frame, name) for j, name in enumerate(floats)}
    rows = frame.select(**places).head(_FEW).collect()
    numbers = [x for place in places for x in rows[place].to_list() if x is not None and x == x]
    return any(not float(x).is_integer() for x in numbers)


def _any_several(frame: Any, names: tuple[str, ...]) -> bool:
    """Whether some row holds more than one vote."""
    columns = [_column(frame, name) for name in names]
    total = columns[0]
    for column in columns[1:]:
        total = total + column
    # Sums of shares may end just above 1.
    return _any_row(frame, (total > 1.5) & (total.is_finite()))


def _any_above_one(frame: Any, name: str) -> bool:
    return _any_row(frame, _column(frame, name) > 1.5)


def _any_row(frame: Any, flag: Any) -> bool:
    found = frame.select(flag=flag.fill_null(False)).filter(nw.col("flag")).head(1).collect()
    return not found.is_empty()
