"""VoteRows: labels from people without a prediction beside them, as rows of shares."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant._core.errors import InputError
from calibrant._core.messages import setting
from calibrant._core.typing import Array, Mask
from calibrant._data.arrays import to_array
from calibrant._data.checks import first_entry
from calibrant._data.counts import labels_of, votes_per_row
from calibrant._data.links import ROUNDED, ROW_SUM_TOLERANCE


@dataclass(frozen=True, eq=False)
class VoteRows:
    """Shares of votes (n, k), and the number of votes behind each row, if that is known."""

    shares: Array
    votes: NDArray[np.int64] | None
    # Whether labels came as (n,): shares or counts of class 1.
    binary: bool

    @property
    def counts(self) -> NDArray[np.int64]:
        """The number of votes for each class in each row, (n, k); `votes` must be known."""
        assert self.votes is not None
        return np.rint(self.shares * self.votes[:, None]).astype(np.int64)


def read_vote_rows(y_true: Any, votes: Any) -> VoteRows:
    """Counts or shares of votes, (n, k) or (n,), as rows of shares. `votes` are the numbers of
    votes behind shares, or behind counts of class 1; None if they are not known.
    """
    labels = to_array(y_true, "y_true")
    if labels.ndim not in (1, 2) or labels.shape[0] == 0 or labels.dtype.kind not in "iufb":
        raise InputError(
            "y_true must hold counts or shares of votes, numbers of the shape (n, k) or (n,), "
            f"with at least one row; got the shape {labels.shape}, {labels.dtype}"
        )
    per_row = None if votes is None else votes_per_row(votes, labels.shape[0])
    binary = labels.ndim == 1 or labels.shape[1] == 1
    labels = labels[:, 0] if labels.ndim == 2 and binary else labels
    found = labels_of(labels, per_row, 1 if binary else labels.shape[1])
    shares = np.asarray(found.targets, dtype=np.float64)
    _check_shares(shares)
    rows = np.stack([1.0 - shares, shares], axis=1) if binary else shares
    _check_whole(rows, found.votes)
    return VoteRows(rows, found.votes, binary)


def _check_shares(shares: Array) -> None:
    """Raise InputError unless all shares lie in [0, 1], and rows (n, k) sum to 1."""
    bad = ~((shares >= 0) & (shares <= 1))
    if bad.any():
        _check_no_stray_count(shares)
        first = _first_value(shares, bad)
        raise InputError(
            f"{first}: shares of votes must lie in [0, 1]. If these are counts, give whole "
            f"numbers: rows (n, k), or (n,) with {setting('votes')}"
        )
    if shares.ndim == 2:
        off = np.abs(shares.sum(axis=1) - 1.0) > ROW_SUM_TOLERANCE
        if off.any():
            row = int(np.argmax(off))
            raise InputError(
                f"y_true[{row}] sums to {shares[row].sum():.6g}: rows of shares must sum to 1, and "
                f"vote counts must be whole numbers in every row{ROUNDED}"
            )


def _check_no_stray_count(shares: Array) -> None:
    """Raise InputError if labels look like counts of votes in which one entry is not whole; the
    message names that entry.
    """
    whole = np.isfinite(shares) & (np.floor(shares) == shares)
    several = whole & (shares > 1)
    if several.any() and not whole.all():
        raise InputError(
            f"{_first_value(shares, ~whole)}, while {_first_value(shares, several)}: vote counts "
            "must be finite whole numbers in every row, and shares must lie in [0, 1]"
        )


def _first_value(shares: Array, chosen: Mask) -> str:
    """The first entry at which the mask `chosen` is True, as text: "y_true[3, 1] is 0.5"."""
    place, at = first_entry("y_true", chosen)
    return f"{place} is {shares[at].item()!r}"


def _check_whole(rows: Array, votes: NDArray[np.int64] | None) -> None:
    """Raise InputError if shares times the row's number of votes are far from whole numbers."""
    if votes is None:
        return
    counts = rows * votes[:, None]
    # Shares are often rounded to two or three decimals when they are written down.
    off = np.abs(counts - np.rint(counts)).max(axis=1) > 0.25
    if off.any():
        row = int(np.argmax(off))
        raise InputError(
            f"y_true[{row}] is {np.round(rows[row], 4).tolist()}, which cannot be shares of "
            f"votes[{row}] = {votes[row]} votes. Give the counts themselves, or leave out "
            f"{setting('votes')}"
        )
