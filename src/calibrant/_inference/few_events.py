"""Losses and errors of rows in which one outcome, or a miss, was hardly seen.

What a handful of events scatters by, or none, the rows do not tell: rows that are all right may
even have one loss, and a single miss that was called impossible may cost more than all else. The
limits of the number of events are Poisson's; an event costs what those seen did and what the
predictions say together.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from calibrant._core.distances import distances
from calibrant._core.loss_sums import COMPLEMENTS, FIELDS, N_PROPER
from calibrant._core.typing import Array, Counts, Index, Mask
from calibrant._data.links import LOG_FLOOR
from calibrant._data.samples import Samples
from calibrant._inference.means import distribution_blocks, distribution_rows
from calibrant._inference.numbers import FEW_EVENTS, NO_MISS, TOWARDS
from calibrant._inference.rounding import CERTAIN


class Losses(NamedTuple):
    """A loss of rows with hard labels; `few` where misses, hits or one of two outcomes are, or
    predictions are all but certain.
    """

    samples: Samples
    loss: str
    few: bool
    wrong: Array

    @classmethod
    def from_samples(
        cls, samples: Samples, loss: str, values: Mapping[str, Array]
    ) -> Losses | None:
        """Those of samples with these losses; none of soft labels."""
        wrong = values["classification"]
        misses = int(np.count_nonzero(wrong == 1.0))
        hits = int(np.count_nonzero(wrong == 0.0))
        if misses + hits < samples.n:
            return None
        counts = [misses, hits]
        if not samples.multiclass:
            events = int(np.count_nonzero(samples.targets))
            counts += [events, samples.n - events]
        few = min(counts) < FEW_EVENTS or n_certain(values) > 0
        return cls(samples, loss, few, wrong)

    def room(self, level: float) -> tuple[float, float]:
        """How far limits lie from the mean at least; 0 where nothing is rare."""
        return few_event_limits((self.samples,), self.loss, level) if self.few else (0.0, 0.0)

    def room_apart(
        self, other: Losses, level: float, within: Mask | None = None
    ) -> tuple[float, float]:
        """How far limits lie from the difference of two means of the same rows at least; of some
        rows `within` these, where others do not differ.
        """
        low = high = 0.0
        if self.few or other.few:
            low, high = few_event_limits((self.samples, other.samples), self.loss, level, within)
        room = self._unlike(other, level)
        return min(low, -room), max(high, room)

    def _unlike(self, other: Losses, level: float) -> float:
        """How far two shares of misses may be apart by rows that one misses and the other does not,
        where a few such rows were seen. (Where none was, as of maps that keep the order of classes,
        the two may be alike for good.)
        """
        if COMPLEMENTS.get(self.loss, self.loss) != "classification":
            return 0.0
        seen = int(np.count_nonzero(self.wrong != other.wrong))
        if not 0 < seen < FEW_EVENTS:
            return 0.0
        return (poisson_limits(seen, level)[1] - seen) / self.samples.n


def n_certain(values: Mapping[str, Array]) -> int:
    """How many rows of hard labels are all but certain, by their losses: that of the confidence is
    its squared distance from whether the row is right, and 1 more where it is not. None where
    misses of such were seen, and hits: then their scatter tells what they cost.
    """
    wrong = values["classification"]
    off = np.sqrt(np.maximum(values["confidence"] - wrong, 0.0))
    chance = np.where(wrong > 0.5, 1.0 - off, off)
    certain = chance * wrong.size <= NO_MISS
    n, misses = int(certain.sum()), int((wrong[certain] > 0.5).sum())
    return n if min(misses, n - misses) < FEW_EVENTS else 0


class _Kind(NamedTuple):
    """Events of one kind: what one in each row costs, how likely the predictions say it is, where
    it happened, and in which rows it may.
    """

    cost: Array
    chance: Array
    happened: Mask
    own: Mask


def few_event_limits(
    predictors: Sequence[Samples],
    loss: str,
    level: float,
    within: Mask | None = None,
) -> tuple[float, float]:
    """How far limits lie from the mean loss of one predictor, or from that of the first less that
    of the second, where hardly any row is a miss, or hardly any is none, or one of two outcomes is
    rare; 0 where none of this is so.
    """
    first = predictors[0]
    w = np.ones(first.n) if first.weights is None else first.weights.astype(np.float64)
    shares = w / w.sum()
    low = high = 0.0
    for kind in _kinds(predictors, loss):
        down, up = _poisson_room(kind, shares, level, within)
        low, high = min(low, down), max(high, up)
    return low, high


def _poisson_room(
    kind: _Kind, shares: Array, level: float, within: Mask | None
) -> tuple[float, float]:
    """How far limits lie from the mean by the number of events alone."""
    own = kind.own if within is None else kind.own & within
    rare, chance, sign = kind.happened[own], kind.chance[own], 1.0
    if 2 * int(rare.sum()) > rare.size:
        rare, chance, sign = ~rare, 1.0 - chance, -1.0
    events, total = int(rare.sum()), float(chance.sum())
    if events >= FEW_EVENTS or not rare.size:
        return 0.0, 0.0
    moved = shares[own] * kind.cost[own]
    expected = float(chance @ moved) / total if total > 0.0 else float(moved.mean())
    each = sign * (float(moved[rare].sum()) + expected) / (events + 1)
    ends = [(n - events) * each for n in poisson_limits(events, level)]
    return min(ends), max(ends)


def _kinds(predictors: Sequence[Samples], loss: str) -> Iterator[_Kind]:
    """Misses of the label that the predictors together hold likeliest; of two outcomes the events
    too; and misses of rows of which a predictor is all but certain.
    """
    multiclass, n = predictors[0].multiclass, predictors[0].n
    misses, events = [], []
    certain: list[list[_Kind]] = [[] for _ in predictors]
    for blocks in zip(*(distribution_blocks(samples) for samples in predictors), strict=True):
        p = sum(p for p, _ in blocks) / len(blocks)
        label = blocks[0][1].argmax(axis=1)
        values = _by_outcome(blocks[0][0], loss, multiclass)
        for other, _ in blocks[1:]:
            values = values - _by_outcome(other, loss, multiclass)
        misses.append(_missing(values, p, label))
        if not multiclass:
            every = np.ones(len(p), np.bool_)
            events.append(_Kind(values[:, 1] - values[:, 0], p[:, 1], label == 1, every))
        for (own, _), parts in zip(blocks, certain, strict=True):
            kind = _missing(values, own, label)
            # What they say of a miss is next to nothing: it may as well be any of them.
            alike = np.ones(len(own))
            parts.append(kind._replace(chance=alike, own=kind.chance * n <= NO_MISS))
    for parts in filter(None, (misses, events, *certain)):
        yield _Kind(*(np.concatenate(part) for part in zip(*parts, strict=True)))


def _missing(values: Array, p: Array, label: Index) -> _Kind:
    """The misses of rows with these values, one for each outcome."""
    rows, k = np.arange(len(p)), p.shape[1]
    top = p.argmax(axis=1)
    others = p.copy()
    others[rows, top] = 0.0
    chance = others.sum(axis=1)
    # Of rows that are certain there is no mean over misses: any of them will do.
    mean = np.einsum("ij,ij->i", others, values) / np.maximum(chance, CERTAIN)
    missed = np.where(chance > CERTAIN, mean, values[rows, (top + 1) % k])
    return _Kind(missed - values[rows, top], chance, label != top, np.ones(len(p), np.bool_))


def _by_outcome(p: Array, loss: str, multiclass: bool) -> Array:
    """The loss of each row, or its distance from a label, under each outcome: (n, k)."""
    if loss in COMPLEMENTS:
        return 1.0 - _by_outcome(p, COMPLEMENTS[loss], multiclass)
    if loss not in FIELDS[:N_PROPER]:
        labels = np.eye(p.shape[1])
        each = (np.broadcast_to(label, p.shape) for label in labels)
        of_outcomes = [distances(p, q, floor=LOG_FLOOR, only=loss)[loss] for q in each]
        return np.stack(of_outcomes, axis=1)
    rows, top = np.arange(len(p)), p.argmax(axis=1)
    hit = np.zeros(p.shape)
    hit[rows, top] = 1.0
    squares = np.einsum("ij,ij->i", p, p)[:, None]
    out: Array
    if loss == "brier":
        out = (squares - 2.0 * p + 1.0) * (1.0 if multiclass else 0.5)
    elif loss == "log":
        out = -np.log(np.maximum(p, LOG_FLOOR))
    elif loss == "spherical":
        out = 1.0 - p / np.sqrt(np.where(squares > 0.0, squares, 1.0))
    else:
        out = 1.0 - hit
        if loss == "confidence":
            out += (p[rows, top][:, None] - hit) ** 2
    return out


def unseen_targets(samples: Samples, votes: Counts, level: float) -> Array:
    """Targets (n, k) as they would be with as many misses as those seen allow, or as many hits
    where these are the rarer. `votes` are behind each row; one where labels are hard.
    """
    p, z = distribution_rows(samples)
    return _Rare.from_votes(p, z, votes, p.argmax(axis=1)).targets_at(level, 1.0)


def possible_targets(
    samples: Samples, votes: Counts, level: float
) -> list[tuple[str, float, Array]]:
    """Targets with fewer and with more of what is rare than was seen, as far as the limits of its
    number: misses (or hits), and of two outcomes events (or none). Each with what is rare, and how
    far towards the lower limit (-1) or the upper one (1) it is.
    """
    p, z = distribution_rows(samples)
    usual = {"misses": p.argmax(axis=1)}
    if not samples.multiclass:
        usual["events"] = np.zeros(samples.n, np.intp)
    sides = {kind: _Rare.from_votes(p, z, votes, best) for kind, best in usual.items()}
    return [
        (kind, far, side.targets_at(level, far))
        for kind, side in sides.items()
        if side.seen < FEW_EVENTS
        for far in TOWARDS
    ]


class _Rare(NamedTuple):
    """What is rare of the votes for one class of each row or against it: its part of the targets
    `z`, what other votes would be if they were rare too, and how many votes are.
    """

    z: Array
    part: Array
    others: Array
    rare: Array
    seen: float
    total: float

    @classmethod
    def from_votes(cls, p: Array, z: Array, votes: Counts, best: Index) -> _Rare:
        for_it = np.eye(p.shape[1])[best]
        against = np.where(for_it > 0.0, 0.0, np.maximum(p, CERTAIN))
        against /= against.sum(axis=1, keepdims=True)
        total = float(votes.sum())
        seen = float(votes @ (1.0 - z[np.arange(len(p)), best]))
        if 2.0 * seen > total:
            return cls(z, z * for_it, against, for_it, total - seen, total)
        return cls(z, z * (1.0 - for_it), for_it, against, seen, total)

    def targets_at(self, level: float, far: float) -> Array:
        """The targets so far towards the lower limit of the number of rare votes (-1) or the upper
        one (1).
        """
        fewest, most = poisson_limits(self.seen, level)
        if far > 0.0:
            more = far * (most - self.seen) / max(self.total - self.seen, 1.0)
            moved = min(more, 1.0) * (self.rare - self.z)
        else:
            fewer = far * (self.seen - fewest) / max(self.seen, 1.0)
            moved = fewer * (self.part - self.part.sum(axis=1, keepdims=True) * self.others)
        return self.z + moved


def poisson_limits(events: float, level: float) -> tuple[float, float]:
    """Limits of the expected number of events, of which so many happened."""
    from scipy.special import gammaincinv

    tail = (1.0 - level) / 2.0
    fewest = float(gammaincinv(events, tail)) if events else 0.0
    return fewest, float(gammaincinv(events + 1, 1.0 - tail))


def unseen_share(units: float, level: float) -> float:
    """The largest share of rows of another kind that so many rows may well not show at all."""
    return float(1.0 - ((1.0 - level) / 2.0) ** (1.0 / max(units, 1.0)))


def with_unseen(
    value: float, limits: tuple[float, float], ends: tuple[float, float], units: float, level: float
) -> tuple[float, float]:
    """Limits of a mean between two ends, with room for rows that are not there: few rows that are
    all alike do not tell how they scatter.
    """
    share = unseen_share(units, level)
    low, high = (value + share * (end - value) for end in ends)
    return max(min(limits[0], low), ends[0]), min(max(limits[1], high), ends[1])
