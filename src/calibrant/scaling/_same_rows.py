"""Recognise rows that a map was fitted to, in any order and also if only some of them come back.

On these rows a map looks better than it is, so they must not be used to evaluate it.

A fitted map keeps a 64-bit hash of each row of predictions (never of labels). For more than 4,096
rows it keeps the 4,096 smallest hashes: two sets of rows keep the same rows of those that they have
in common, whatever their order, so that the share of rows in common can be estimated for any number
of them.

Equal predictions are not always the same row: rounded ones repeat by chance, and certain ones are
all 1. A value that several rows have identifies none of them, so only values that a set has once
are counted. How often such a value equals one of the fit by chance is estimated from how many
values come twice in a set; only an excess over that is reported.
"""

from __future__ import annotations

import base64
import hashlib
import math
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant._core.errors import CalibrantWarning

Hashes = NDArray[np.uint64]

KEPT = 4096
# Rows of a batch that are examined: far more than an estimate of the share needs.
MAX_EXAMINED = 1 << 15
# The largest chance that rows which only repeat by chance are taken for rows of the fit.
BY_CHANCE = 0.01
CROWD = 10
_LARGEST = 2**64 - 1
_BLOCK = 1 << 20


class SameRows(CalibrantWarning):
    """A map is applied to rows that it was fitted to, on which it looks better than it is.

    Examples
    --------
    >>> import warnings
    >>> from calibrant.scaling import PlattScaling, SameRows
    >>> predictions, labels = [0.2, 0.9, 0.6, 0.7, 0.8, 0.1], [0, 1, 1, 0, 1, 0]
    >>> scaler = PlattScaling().fit(labels, predictions)
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore", SameRows)
    ...     recalibrated = scaler.transform(predictions)
    """


ADVICE = (
    "on them it looks better than it is. Evaluate it on held-out rows. If you only apply it, use "
    "fit_transform, or silence calibrant.scaling.SameRows with warnings.filterwarnings"
)


def overlap_sentence(share: float, name: str) -> str:
    """The sentence that says which share of rows the map `name` was fitted to."""
    portion = "all" if share >= 0.995 else "less than 1%" if share < 0.005 else f"{share:.0%}"
    return f"{portion} of these rows were used to fit {name}"


def fingerprint(hashes: Hashes, columns: int | None) -> str:
    """A digest of rows in their order, from the hash of each row. It also recognises rows whose
    predictions repeat so much that hashes of single rows do not identify them.
    """
    digest = hashlib.blake2b(f"{hashes.size} rows of {columns}".encode(), digest_size=16)
    digest.update(np.ascontiguousarray(hashes).data)
    return digest.hexdigest()


def identifies_rows(hashes: Hashes) -> bool:
    """Whether the hashes identify these rows: other rows would hardly have the same values, each as
    often, by chance. A constant prediction, for example, does not identify its rows.
    """
    from scipy.special import gammaln

    n, counts = hashes.size, np.unique(hashes, return_counts=True)[1]
    every = np.ones(n, dtype=np.bool_)
    if _ChanceTest(every, every, counts).p(n) < BY_CHANCE:
        return True
    chance = gammaln(n + 1) + float((counts * np.log(counts / n) - gammaln(counts + 1)).sum())
    return bool(chance < math.log(BY_CHANCE))


def row_hashes(values: NDArray[Any]) -> Hashes:
    """A hash of each row, (n,). Rows that are equal in single precision have the same hash,
    whatever their type.
    """
    rows = values.reshape(len(values), -1)
    factors = hash_factors(rows.shape[1])
    out = np.empty(len(rows), dtype=np.uint64)
    step = max(1, _BLOCK // max(1, rows.shape[1]))
    with np.errstate(over="ignore"):
        for at in range(0, len(rows), step):
            # Zero is added so that -0 and 0 are one.
            bits = (rows[at : at + step].astype(np.float32) + np.float32(0)).view(np.uint32)
            out[at : at + step] = bits.astype(np.uint64) @ factors
    return splitmix64(out)


def hash_factors(columns: int) -> Hashes:
    """An odd number with well-mixed bits for each column; a row's hash multiplies the column's
    entry by it.
    """
    return splitmix64(np.arange(1, columns + 1, dtype=np.uint64)) | np.uint64(1)


def splitmix64(x: Hashes) -> Hashes:
    """The SplitMix64 function, which mixes bits: numbers that differ in one bit become numbers that
    differ in about half of them.
    """
    x = x + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@dataclass(frozen=True, eq=False)
class Overlap:
    """The overlap of some new rows with the rows of a fit.

    `share` is the share of new rows that were in the fit: None where rows repeat so much that they
    would not be recognised, and 0.0 where none was found. `examined` are the positions of rows
    whose values could identify them, `seen` says which of these equal a row of the fit, and
    `by_chance` is the share that is expected to equal one if none is a row of the fit.
    """

    share: float | None
    examined: NDArray[np.intp]
    seen: NDArray[np.bool_]
    by_chance: float = 0.0


def overlap_with_itself(n: int) -> Overlap:
    """The overlap of the n rows of a fit with themselves: all of them are seen. At most about
    MAX_EXAMINED rows are listed as examined.
    """
    examined = np.arange(0, n, max(1, -(-n // MAX_EXAMINED)))
    return Overlap(1.0, examined, np.ones(examined.size, dtype=np.bool_))


@dataclass(frozen=True, eq=False)
class FittedRows:
    """The smallest distinct hashes of a fit's rows, in increasing order, the number of rows that
    have each, and the number of distinct hashes of all rows; a sample by which rows of the fit are
    recognised.
    """

    hashes: Hashes
    counts: NDArray[np.int64]
    n_distinct: int

    @classmethod
    def from_hashes(cls, every: Hashes) -> FittedRows:
        """The sample of the KEPT smallest distinct hashes, from the hashes of all rows."""
        hashes, counts = np.unique(every, return_counts=True)
        return cls(hashes[:KEPT], counts[:KEPT].astype(np.int64), int(hashes.size))

    @classmethod
    def merged(cls, parts: Sequence[FittedRows]) -> FittedRows:
        """The sample of the rows of all parts. The number of distinct rows is estimated from how
        dense the smallest hashes are.
        """
        hashes, at = np.unique(np.concatenate([part.hashes for part in parts]), return_inverse=True)
        counts = np.bincount(at, np.concatenate([part.counts for part in parts])).astype(np.int64)
        distinct = hashes.size
        if any(part.n_distinct > part.hashes.size for part in parts):
            distinct = max(KEPT + 1, int(KEPT / float(hashes[KEPT - 1]) * 2.0**64))
        return cls(hashes[:KEPT], counts[:KEPT], distinct)

    def overlap(self, new: Hashes) -> Overlap:
        """The overlap of new rows, given by their hashes, with the rows of the fit, less the rows
        that equal one by chance.
        """
        last = int(self.hashes[-1]) if self.n_distinct > self.hashes.size else _LARGEST
        examined = np.flatnonzero(new <= np.uint64(last))
        if examined.size > MAX_EXAMINED:
            last = int(last * (MAX_EXAMINED / examined.size))
            examined = np.flatnonzero(new <= np.uint64(last))
        new, kept = new[examined], self.hashes <= np.uint64(last)
        old, counts = self.hashes[kept], self.counts[kept]
        if not new.size or not old.size:
            return Overlap(None, examined, np.zeros(new.size, dtype=np.bool_))
        kinds, index, own = np.unique(new, return_inverse=True, return_counts=True)
        nearest = np.minimum(np.searchsorted(old, kinds), old.size - 1)
        seen = old[nearest] == kinds
        # A value of several rows of the fit identifies none of them, however many new rows have it.
        tests = [_ChanceTest(~(seen & (counts[nearest] > 1)), seen, counts, most=2)]
        # With at least this many new rows, repeats are counted among the new rows alone, because
        # rows of the fit may repeat for another reason. With fewer new rows, repeats would seem
        # rarer than they are.
        if new.size >= counts.sum():
            tests.append(_ChanceTest(own == 1, seen, own))
        p, test = min(((len(tests) * t.p(t.n_seen), t) for t in tests), key=lambda pair: pair[0])
        used = test.usable[index]
        examined, by_chance = examined[used], test.by_chance
        if p < BY_CHANCE:
            share = (test.n_seen / test.n - by_chance) / (1 - by_chance)
            return Overlap(share, examined, seen[index][used], by_chance)
        distinguishable = min(len(tests) * t.p(t.n) for t in tests) < BY_CHANCE
        return Overlap(0.0 if distinguishable else None, examined, seen[index][used], by_chance)

    def to_dict(self) -> dict[str, Any]:
        """The contents as a dict for a JSON file: "n_distinct", "hashes" as little-endian bytes in
        base 64, and "repeated", which gives the number of rows of each hash that several have, by
        its position.
        """
        return {
            "n_distinct": self.n_distinct,
            "hashes": base64.b64encode(self.hashes.astype("<u8").tobytes()).decode(),
            "repeated": {str(i): int(self.counts[i]) for i in np.flatnonzero(self.counts > 1)},
        }

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> FittedRows:
        """The fitted rows from the dict that `to_dict` wrote; an error, mostly a ValueError, for
        any other dict.
        """
        raw = np.frombuffer(base64.b64decode(content["hashes"], validate=True), dtype="<u8")
        hashes, n_distinct = raw.astype(np.uint64), int(content["n_distinct"])
        counts = np.ones(hashes.size, dtype=np.int64)
        for position, count in content["repeated"].items():
            counts[int(position)] = count
        if not 0 < hashes.size <= min(KEPT, n_distinct) or (hashes[1:] <= hashes[:-1]).any():
            raise ValueError("its hashes of rows are not in order")
        if (counts < 1).any() or (n_distinct > hashes.size and hashes.size < KEPT):
            raise ValueError("its counts of rows are inconsistent")
        return cls(hashes, counts, n_distinct)


@dataclass(frozen=True, eq=False)
class _ChanceTest:
    """A significance test whether new rows equal rows of a fit more often than by chance.

    `usable` says which of the new values could identify a row, and `seen` which of them equal a
    value of the fit. `counts` are the numbers of rows that share each value within one set of rows;
    values of more than `most` rows are not used to estimate how often rows repeat.
    """

    usable: NDArray[np.bool_]
    seen: NDArray[np.bool_]
    counts: NDArray[np.int64]
    most: float = math.inf

    @property
    def n(self) -> int:
        """The number of new values that could identify a row."""
        return int(self.usable.sum())

    @property
    def n_seen(self) -> int:
        """The number of new values that could identify a row and equal a value of the fit."""
        return int((self.usable & self.seen).sum())

    @property
    def repeated(self) -> int:
        """The number of rows in the set that share their value with another row of the set."""
        return int(self.counts[(self.counts > 1) & (self.counts <= self.most)].sum())

    @property
    def by_chance(self) -> float:
        """The estimated chance (Good and Turing) that one more row has the value of a
        row in the set.
        """
        return self.repeated / max(1, self.repeated + int((self.counts == 1).sum()))

    def p(self, n_seen: int) -> float:
        """The p-value: the chance that at least `n_seen` of the values equal values of a fit by
        chance alone.

        The rate of chance matches has the beta distribution that follows from Jeffreys' prior,
        after Good and Turing's estimate was raised by three of its standard errors (Esty 1983):
        where rows are of few kinds, one kind that came once does not yet mean that there are
        others.
        """
        from scipy.special import betaln, gammaln

        if n_seen == 0:
            return 1.0
        # The count of a frequent value says nothing about the number of distinct values.
        counts, n = np.minimum(self.counts, CROWD), self.n
        rows, once, twice = (
            int(c) for c in (counts.sum(), (counts == 1).sum(), (counts == 2).sum())
        )
        error = math.sqrt(once * (rows - once) / rows + 2 * twice)
        once_at_least = max(0.0, once - 3 * error)
        a, b = self.repeated + once - once_at_least + 0.5, once_at_least + 0.5
        j = np.arange(n_seen, n + 1, dtype=np.float64)
        logs = gammaln(n + 1) - gammaln(j + 1) - gammaln(n - j + 1)
        logs += betaln(a + j, b + n - j) - betaln(a, b)
        return min(1.0, float(np.exp(logs).sum()))


# --- predictions that came out of a map --------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _HashedRows:
    """A set of rows by their distinct hashes in increasing order; `seen` is the share of the rows
    with each hash that were in a map's fit, and n the number of rows.
    """

    hashes: Hashes
    seen: NDArray[np.float64]
    n: int

    @classmethod
    def from_hashes(cls, hashes: Hashes, seen: NDArray[np.bool_]) -> _HashedRows:
        """The set of rows from the hash of each row, and whether the row was in the map's fit."""
        kinds, index = np.unique(hashes, return_inverse=True)
        return cls(kinds, np.bincount(index, seen) / np.bincount(index), int(hashes.size))

    @property
    def identifies(self) -> bool:
        """Whether most rows have a hash that no other row has, so that a hash identifies its
        row.
        """
        return self.hashes.size > 0.9 * self.n

    def seen_shares(self, new: Hashes) -> NDArray[np.float64]:
        """The share of rows with the same hash that were in the map's fit, for each new row with a
        known hash, in their order. New rows with an unknown hash are left out.
        """
        nearest = np.minimum(np.searchsorted(self.hashes, new), self.hashes.size - 1)
        return self.seen[nearest[self.hashes[nearest] == new]]


@dataclass(frozen=True, eq=False)
class _MappedPredictions:
    """A record of predictions that the map `name` made in this session; `share` of their rows were
    in the map's fit.

    `given` are the map's inputs and `made` its outputs, by their hashes; `digest` is that of all
    outputs.
    """

    name: str
    given: _HashedRows
    made: _HashedRows
    # The share of all rows that was examined.
    examined: float
    share: float
    digest: str

    def share_of(self, made: Hashes, others: list[Hashes]) -> float:
        """The share of rows of the fit among the rows of some predictions, which have the hashes
        `made`; 0 if these are not recognised as outputs of this map.

        `others` are hashes of other predictions of the same rows, among which may be the map's
        inputs.
        """
        if self.digest == _digest(made):
            return self.share
        if self.made.identifies:
            return self._share(self.made.seen_shares(made), made.size)
        # Predictions that repeat do not identify their rows; the map's input may.
        enough = 0.5 * self.examined * made.size
        if not self.given.identifies or self.made.seen_shares(made).size < enough:
            return 0.0
        shares = (self._share(self.given.seen_shares(each), each.size) for each in others)
        return max(shares, default=0.0)

    def _share(self, seen: NDArray[np.float64], n: int) -> float:
        """The mean of `seen`, the shares of rows that were recognised; 0 if no more than half of
        the n rows that could be recognised were.
        """
        return float(seen.mean()) if seen.size > 0.5 * self.examined * n else 0.0


def _digest(hashes: Hashes) -> str:
    """A digest of a set of rows, from their hashes, that is the same in every order of the rows."""
    return hashlib.blake2b(np.sort(hashes).tobytes(), digest_size=16).hexdigest()


# The last few predictions that maps made of rows of their fit; a later comparison may be given all
# or some of them.
_MAPPED: deque[_MappedPredictions] = deque(maxlen=16)


def remember(name: str, given: NDArray[Any], made: NDArray[Any], overlap: Overlap) -> None:
    """Record the hashes of a map's inputs `given` and outputs `made` if rows of its fit are among
    them, so that `about_mapped` can recognise the outputs later.
    """
    if not overlap.share:
        return
    rows, hashes = overlap.examined, row_hashes(made)
    _MAPPED.append(
        _MappedPredictions(
            name,
            _HashedRows.from_hashes(row_hashes(given[rows]), overlap.seen),
            _HashedRows.from_hashes(hashes[rows], overlap.seen),
            rows.size / len(made),
            overlap.share,
            _digest(hashes),
        )
    )


def about_mapped(predictions: Mapping[str, NDArray[Any]]) -> dict[str, str]:
    """Warnings, by predictor, about predictions that a map made in this session for rows of its own
    fit.

    They are recognised by their hashes, in any order and also if only some of them are given; other
    predictors have no entry.
    """
    if not _MAPPED:
        return {}
    hashes = {name: row_hashes(values) for name, values in predictions.items()}
    notes = {}
    for name, made in hashes.items():
        others = [each for other, each in hashes.items() if other != name]
        share, by = max((each.share_of(made, others), each.name) for each in _MAPPED)
        if share > 0:
            notes[name] = (
                f"{overlap_sentence(share, by)}, which made these predictions: they look better "
                "than they are. Compare on held-out rows"
            )
    return notes
