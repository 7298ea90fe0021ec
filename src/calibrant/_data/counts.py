"""Counts of votes as labels: the shares that measures read, and the votes behind each row.

Labels are counts where they say so themselves: rows of whole numbers, of which at least one sums to
more than 1; or, of a binary problem, numbers of votes for class 1 above 1 beside ``votes=``, the
numbers of all votes. Rows that sum to 1 everywhere are one-hot labels, whose shares are the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant._core.errors import InputError
from calibrant._core.messages import Note, setting, values_of, worded
from calibrant._core.typing import Mask
from calibrant._data.arrays import to_array
from calibrant._data.links import OVERSHOOT
from calibrant._data.logits import warn_caller

# The codes of notes on how labels that come from votes were read.
COUNTED, COUNTED_BESIDE = "counts of votes", "counts of votes for class 1"
ONE_HOT, NOT_COUNTED = "one-hot rows", "shares, not counts"
# The most votes on a row: random generators draw no more, and nobody collects more.
MOST_VOTES = 10**9 - 1
# The number of entries that are looked at in one step: soft labels have a fraction in the first.
_GLANCE = 1 << 16


class BadCount(InputError):
    """An error about a row of labels or votes. The template of its message has # in place of the
    row's number, so that readers of files can put in the number within the file.
    """

    def __init__(self, row: int, template: str) -> None:
        """Store the row's number, and the template: the message with # in place of that number."""
        super().__init__(self.message(template, row))
        self.row, self.template = row, template

    def __reduce__(self) -> tuple[type[BadCount], tuple[int, str]]:
        """Pickle and copy the error by its row and template."""
        return type(self), (self.row, self.template)

    @staticmethod
    def message(template: str, row: int) -> str:
        """The template with # replaced by the row's number."""
        return template.replace("#", str(row))


@dataclass(frozen=True, eq=False)
class Labels:
    """Targets as measures use them, the votes behind each row, and a note on how the labels were
    read.
    """

    # An array, or a tensor where nothing had to be divided.
    targets: Any
    votes: NDArray[np.int64] | None = None
    note: Note | None = None

    def is_taken_as(self, code: str) -> bool:
        """Whether the labels were read in the way that the code of a note, such as COUNTED, stands
        for.
        """
        return self.note is not None and self.note.code == code


def vote_note(code: str) -> Note:
    """The note on how labels were read (as counts of votes, as shares), by its code: COUNTED,
    COUNTED_BESIDE, ONE_HOT or NOT_COUNTED.
    """
    text = {
        COUNTED: "targets are vote counts, read as shares",
        COUNTED_BESIDE: f"targets are vote counts for class 1 out of {setting('votes')}, read as "
        "shares",
        ONE_HOT: "targets are one-hot rows of class 0 and class 1",
        NOT_COUNTED: f"targets of 0 and 1 with {setting('votes')} are read as shares of the votes, "
        "not as counts",
    }[code]
    return Note(text, code)


def note_undecided(stream: bool) -> Note:
    """The note on labels that are all 0 or 1 while ``votes=`` is above 1, so that they could be
    shares or counts. They are read as shares, with a warning. In a stream, where not all rows are
    seen together, raise InputError.
    """
    labels = f"{values_of('y_true')} holds only 0 and 1, and {setting('votes')} is above 1"
    both = worded(python=", y_true of the shape (n, 2)", command=" with --counts A,B")
    if stream:
        without = worded(python="", command=", or leave out --stream")
        raise InputError(
            f"{labels}: as not all rows are seen together, these could be shares or vote counts. "
            f"Give the counts of both classes{both}{without}"
        )
    warn_caller(
        f"{labels}: they are read as shares, all of the votes or none. If they count the votes for "
        f"class 1, give the counts of both classes{both}"
    )
    return vote_note(NOT_COUNTED)


def labels_of(
    targets: NDArray[Any], votes: NDArray[np.int64] | None, n_columns: int, *, stream: bool = False
) -> Labels:
    """Labels in which counts of votes have become shares.

    `votes` are the numbers of votes behind the rows, (n,), from the argument `votes`, or None.
    `n_columns` is the number of columns of predictions, 1 for a binary problem. `stream`: the rows
    are one part of many.
    """
    binary = n_columns == 1
    if targets.ndim == 2 and targets.shape[1] == max(2, n_columns) and are_counts(targets):
        return _shares_of_rows(targets, votes, binary=binary)
    if binary and _is_one_hot_pair(targets):
        return Labels(targets[:, 1], votes, vote_note(ONE_HOT))
    if not binary or votes is None or targets.shape != votes.shape:
        return Labels(targets, votes)
    if targets.dtype.kind not in "iuf" or not (targets > 1 + OVERSHOOT).any():
        undecided = bool((votes > 1).any() and np.isin(targets, (0, 1)).all())
        return Labels(targets, votes, note_undecided(stream) if undecided else None)
    return _shares_of_positives(targets, votes)


def are_counts(rows: NDArray[Any]) -> bool:
    """Whether rows (n, k) are counts of votes: whole numbers, and at least one row sums to more
    than 1.
    """
    if rows.dtype.kind not in "iuf" or rows.shape[1] < 2:
        return False
    several = False
    step = max(1, _GLANCE // rows.shape[1])
    for start in range(0, rows.shape[0], step):
        block = rows[start : start + step]
        if not _are_whole(block).all():
            return False
        several = several or bool((block > 1).any() or (block.sum(axis=1) > 1).any())
    return several


def votes_per_row(votes: Any, n: int) -> NDArray[np.int64]:
    """The number of votes of each row, (n,), from one whole number for all rows or one for each;
    raise InputError for any other value.
    """
    array = to_array(votes, "votes")
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.dtype.kind not in "iuf" or array.shape not in ((), (n,)):
        got = repr(votes) if array.ndim == 0 else f"the shape {array.shape}, {array.dtype}"
        raise InputError(
            f"votes must be a whole number of at least 1, or one for each row ({n} rows); got {got}"
        )
    wrong = ~(_are_whole(array) & (array >= 1) & (array <= MOST_VOTES))
    if wrong.any():
        need = "votes must be whole numbers from 1 to 999,999,999. Drop rows without votes"
        if array.ndim == 0:
            raise InputError(f"votes is {array.item()!r}: {need}")
        row = int(np.argmax(wrong))
        raise BadCount(row, f"votes[#] is {array[row].item()!r}: {need}")
    return np.array(np.broadcast_to(array, (n,)), dtype=np.int64)


def check_same_votes(votes: NDArray[np.int64], counted: NDArray[Any]) -> None:
    """Raise InputError if the numbers of votes from the argument ``votes=`` differ from `counted`,
    the sums of the counts in the labels. Both are (n,).
    """
    differ = votes != counted
    if differ.any():
        row = int(np.argmax(differ))
        raise BadCount(
            row,
            f"votes[#] is {votes[row]}, but the counts in {values_of('y_true')}[#] sum to "
            f"{counted[row]}: counts include the number of votes, so leave out {setting('votes')}",
        )


def _shares_of_rows(
    counts: NDArray[Any], votes: NDArray[np.int64] | None, *, binary: bool
) -> Labels:
    """Counts of votes for each class, (n, k), as shares, with the number of votes of each row. For
    a `binary` problem the shares are those of class 1, (n,). Raise InputError for a negative count,
    a row without votes or with too many, and for `votes` that contradict the counts.
    """
    negative = np.asarray((counts < 0).any(axis=1))
    if negative.any():
        row = int(np.argmax(negative))
        column = int(np.argmax(counts[row] < 0))
        raise BadCount(
            row,
            f"{values_of('y_true')}[#, {column}] is {counts[row, column].item()!r}: vote counts "
            "must not be negative",
        )
    totals = counts.sum(axis=1, dtype=np.float64)
    if (totals == 0).any():
        none = totals == 0
        others = int(np.count_nonzero(none)) - 1
        more = f", and neither have {others} rows after it" if others else ""
        raise BadCount(
            int(np.argmax(none)),
            f"{values_of('y_true')}[#] has no votes{more}: vote counts need at least one in every "
            f"row. Drop rows without votes{_multilabel_hint(counts)}",
        )
    if (totals > MOST_VOTES).any():
        row = int(np.argmax(totals > MOST_VOTES))
        raise BadCount(
            row,
            f"{values_of('y_true')}[#] has {totals[row]:,.0f} votes: a row may have at most "
            f"{MOST_VOTES:,}. If these are weights and not votes, give shares",
        )
    own = totals.astype(np.int64)
    if votes is not None and votes.shape == own.shape:
        check_same_votes(votes, own)
    shares = counts[:, 1] / totals if binary else counts / totals[:, None]
    return Labels(shares, own, vote_note(COUNTED))


def _multilabel_hint(counts: NDArray[Any]) -> str:
    """A hint at `multilabel`, to end an error about counts that are all 0 or 1; "" for other
    counts.
    """
    if counts.max(initial=0) > 1:
        return ""
    use = worded(python="multilabel(y_true, y_proba)", command="report --multilabel")
    return f"; if a row may have several labels, or none, use {use}"


def _shares_of_positives(counts: NDArray[Any], votes: NDArray[np.int64]) -> Labels:
    """Counts of votes for class 1, (n,), divided by all votes of the row; raise InputError for a
    count that is not a whole number from 0 to the row's number of votes.
    """
    wrong = ~(_are_whole(counts) & (counts >= 0) & (counts <= votes))
    if wrong.any():
        row = int(np.argmax(wrong))
        value = counts[row].item()
        if _are_whole(counts[row : row + 1])[0] and value > votes[row]:
            need = f"votes[#] is {votes[row]}, and no more votes can be for class 1"
        else:
            need = (
                f"with {setting('votes')}, labels are read as counts, finite whole numbers "
                "from 0, if one is above 1; if all are from 0 to 1, they are read as shares"
            )
        raise BadCount(row, f"{values_of('y_true')}[#] is {value!r}: {need}")
    return Labels(counts / votes.astype(np.float64), votes, vote_note(COUNTED_BESIDE))


def _is_one_hot_pair(targets: NDArray[Any]) -> bool:
    """Whether all rows of targets are (1, 0) or (0, 1): one vote each, for class 0 or class 1."""
    if targets.ndim != 2 or targets.shape[1] != 2 or targets.dtype.kind not in "iuf":
        return False
    return bool(
        targets.size and np.isin(targets, (0, 1)).all() and (targets.sum(axis=1) == 1).all()
    )


def _are_whole(values: NDArray[Any]) -> Mask:
    """A mask, of the same shape, of the values that are finite whole numbers."""
    if values.dtype.kind != "f":
        return np.ones(values.shape, dtype=np.bool_)
    return np.isfinite(values) & (np.floor(values) == values)
