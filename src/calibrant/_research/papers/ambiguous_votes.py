"""A folder of predictors and of the votes that people gave on the same rows.

Each .npz file holds a predictor (`logits` or `probs`) with the votes on its rows in an array whose
name ends in `counts` or `votes`; or votes with `labels`, which belong to every predictor of the
folder that has the same labels. Names may begin with `dev_`, `val_` or `test_`: the parts of this
file are concatenated. Rows without a vote are left out.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant._core.errors import InputError
from calibrant._core.typing import Array, Counts
from calibrant._research.papers.predictions import names_of_sets, npz_files

_PARTS = ("", "dev_", "val_", "test_")
_PREDICTIONS = (("logits", True), ("probs", False), ("proba", False))
_VOTES = ("counts", "votes")
# Smaller probabilities are raised to this before their logarithm, as in the library's maps.
_FLOOR = 1e-12
ACCEPTED = (
    "predictions ('logits' or 'probs', (n, k)) with votes on the same rows (an array (n, k) whose "
    "name ends in 'counts' or 'votes'), or votes with 'labels' that a predictor in the folder has "
    "too"
)


@dataclass(frozen=True, eq=False)
class VotedPredictor:
    """A predictor's logits, (n, k), and the number of votes for each class, (n, k)."""

    name: str
    rows: str  # the set of rows it belongs to
    logits: Array
    votes: Counts

    @property
    def shares(self) -> Array:
        """The share of the votes that each class has in each row, (n, k)."""
        return self.votes / self.votes.sum(axis=1, keepdims=True)


@dataclass(frozen=True, eq=False)
class _FilePart:
    """The arrays that a file holds under one prefix ("dev_", ...); None for a missing one."""

    logits: NDArray[Any] | None
    labels: NDArray[Any] | None
    votes: NDArray[Any] | None


def read_votes(
    data: str | os.PathLike[str],
) -> tuple[tuple[VotedPredictor, ...], tuple[str, ...]]:
    """Read every predictor of a folder that has votes, and the names of the unreadable files.

    Shapes and values are checked. It is an error if no predictor has votes.
    """
    read = {path.stem: _read_parts(path) for path in npz_files(data)}
    files = {name: parts for name, parts in read.items() if parts is not None}
    found = []
    for name, parts in files.items():
        pairs = [(part.logits, part.votes) for part in parts]
        own = [(x, v) for x, v in pairs if x is not None and v is not None]
        if own:
            found.append(_join_pairs(name, "", own))
            continue
        shared = _shared_votes(parts, files)
        if shared is not None:
            logits, votes, rows = shared
            found.append(_join_pairs(name, rows, [(logits, votes)]))
    unreadable = tuple(name for name, parts in read.items() if parts is None)
    if not found:
        broken = f" ({', '.join(unreadable)} cannot be read)" if unreadable else ""
        raise InputError(
            f"data={str(data)!r} has no predictor with votes{broken}. It must hold {ACCEPTED}"
        )
    # Predictors with equal votes form a set, unless their votes come from a file of another name.
    keys = [each.votes.tobytes() for each in found]
    sets = names_of_sets(zip(keys, [each.name for each in found], strict=True))
    named = [replace(p, rows=p.rows or sets[key]) for key, p in zip(keys, found, strict=True)]
    return tuple(named), unreadable


def _read_parts(path: Path) -> list[_FilePart] | None:
    """Read the arrays of a file, a part for each prefix of array names ("dev_", ...).

    The list is empty if the file has no usable part; None if the file cannot be read.
    """
    try:
        with np.load(path, allow_pickle=False) as file:
            return [
                part for prefix in _PARTS if (part := _read_part(path, file, prefix)) is not None
            ]
    except InputError:
        raise
    except Exception:  # zipfile, zlib, NumPy and the system each have their own
        return None


def _read_part(path: Path, file: Mapping[str, NDArray[Any]], prefix: str) -> _FilePart | None:
    """Read the logits, labels and votes of a file under one prefix of array names ("dev_", ...).

    None if there are neither votes nor predictions with labels, or if the predictions are no matrix
    of numbers.
    """
    names = [name[len(prefix) :] for name in file if name.startswith(prefix)]
    if prefix == "":
        names = [name for name in names if not name.startswith(_PARTS[1:])]
    votes = next((name for name in names if name.endswith(_VOTES)), None)
    kind = next(((name, logits) for name, logits in _PREDICTIONS if name in names), None)
    labelled = "labels" in names
    if votes is None and (kind is None or not labelled):
        return None
    logits = None
    if kind is not None:
        values = file[prefix + kind[0]]
        if values.ndim != 2 or values.dtype.kind not in "fiu":
            return None
        logits = values.astype(np.float64)
        if not kind[1]:
            if not (logits >= 0).all():
                raise InputError(f"data: {path.name}: {prefix + kind[0]!r} must be probabilities")
            logits = np.log(np.maximum(logits, _FLOOR))
    return _FilePart(
        logits,
        file[f"{prefix}labels"] if labelled else None,
        None if votes is None else file[prefix + votes],
    )


def _shared_votes(
    parts: list[_FilePart], files: Mapping[str, list[_FilePart]]
) -> tuple[NDArray[Any], NDArray[Any], str] | None:
    """A predictor's logits, votes from another file with the same labels, and that file's name.

    `parts` are the predictor's, and `files` has those of all files by name. None if no other file
    has votes on the same labels, in the shape of the logits.
    """
    for part in parts:
        if part.logits is None or part.labels is None:
            continue
        for name, others in files.items():
            for other in others:
                if other.logits is None and other.votes is not None and other.labels is not None:
                    same_classes = other.votes.shape == part.logits.shape
                    if same_classes and np.array_equal(other.labels, part.labels):
                        return part.logits, other.votes, name
    return None


def _join_pairs(
    name: str, set_name: str, pairs: list[tuple[NDArray[Any], NDArray[Any]]]
) -> VotedPredictor:
    """Check the (logits, votes) pairs of a predictor, and join their rows into one predictor.

    `set_name` is the name of its set of rows, or "". Rows without a vote are dropped. It is an
    error if shapes differ, if values are not valid, or if too few rows remain.
    """
    for logits, votes in pairs:
        if votes.shape != logits.shape:
            raise InputError(
                f"data: {name}: votes must have the shape of the predictions, {logits.shape}; got "
                f"{votes.shape}"
            )
        whole = votes.dtype.kind in "iu" or bool((np.asarray(votes) % 1 == 0).all())
        if not whole or (votes.astype(np.float64) < 0).any():
            raise InputError(f"data: {name}: votes must be whole numbers, at least 0")
        if not np.isfinite(logits).all():
            row = int(np.flatnonzero(~np.isfinite(logits).all(axis=1))[0])
            raise InputError(f"data: {name}: row {row} of its predictions is not finite")
    logits, votes = (np.concatenate(each) for each in zip(*pairs, strict=True))
    voted = votes.sum(axis=1) > 0
    if np.count_nonzero(voted) < 2 * logits.shape[1]:
        raise InputError(
            f"data: {name}: only {np.count_nonzero(voted)} rows have votes; at least "
            f"{2 * logits.shape[1]} are needed, since half are used for fitting"
        )
    return VotedPredictor(name, set_name, logits[voted], votes[voted].astype(np.int64))
