"""Limits of losses and errors where events, non-events, misses or hits are few.

With fewer than `FEW_EVENTS` of them the sample variance is unreliable: rows that are all right may
have equal losses, and one miss of an all but certain prediction may cost more than all other rows.
So the number of events gets Poisson limits. The cost of one event is the mean of the observed ones
and of one more that the predictions expect.
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
from calibrant._inference.means import distribution_blocks, distribution_rows, row_weights
from calibrant._inference.numbers import FEW_EVENTS, NO_MISS, TOWARDS
from calibrant._inference.rounding import CERTAIN


class Losses(NamedTuple):
    """A loss of rows with hard labels.

    `loss` is its name. `few`: misses, hits or one of two outcomes are few, or there are all but
    certain predictions. `wrong` is 1 for a row whose top label is wrong, else 0.
    """

    samples: Samples
    loss: str
    few: bool
    wrong: Array
    # How many equal rows each row stands for, (n,).
    counts: Array

    @classmethod
    def from_samples(
        cls, samples: Samples, loss: str, values: Mapping[str, Array], counts: Array | None = None
    ) -> Losses | None:
        """The losses of samples; `values` are the losses of every row by name, and `counts` is how
        many equal rows each row stands for, (n,), one each if None. None for soft labels.
        """
        wrong = values["classification"]
        if not ((wrong == 1.0) | (wrong == 0.0)).all():
            return None
        counts = np.ones(samples.n) if counts is None else counts
        n, misses = counts.sum(), counts[wrong == 1.0].sum()
        outcomes = [misses, n - misses]
        if not samples.multiclass:
            events = counts[np.asarray(samples.targets) != 0].sum()
            outcomes += [events, n - events]
        few = min(outcomes) < FEW_EVENTS or count_certain_rows(values, counts) > 0
        return cls(samples, loss, few, wrong, counts)

    def limits(self, level: float) -> tuple[float, float]:
        """The lower and the upper limit of the mean loss, less the mean, that its interval must
        reach to; 0 and 0 where nothing is rare.
        """
        if not self.few:
            return 0.0, 0.0
        return few_event_limits((self.samples,), self.loss, level, counts=self.counts)

    def difference_limits(
        self, other: Losses, level: float, within: Mask | None = None
    ) -> tuple[float, float]:
        """The lower and the upper limit of the difference of two mean losses on the same rows, less
        the difference, that its interval must reach to; 0 and 0 where nothing is rare.

        With `within`, only events in these rows count, since other rows do not differ.
        """
        low = high = 0.0
        if self.few or other.few:
            both = (self.samples, other.samples)
            low, high = few_event_limits(both, self.loss, level, within, self.counts)
        margin = self._discordance_margin(other, level)
        return min(low, -margin), max(high, margin)

    def _discordance_margin(self, other: Losses, level: float) -> float:
        """How far the true difference of two error rates may lie from the observed one, by the
        Poisson limit of the number of rows that one predictor misses and the other does not.

        0 for other losses, where these rows are not few, and also where there are none: two maps
        that keep the order of classes never differ.
        """
        if COMPLEMENTS.get(self.loss, self.loss) != "classification":
            return 0.0
        discordant = round(float(self.counts[self.wrong != other.wrong].sum()))
        if not 0 < discordant < FEW_EVENTS:
            return 0.0
        return (poisson_limits(discordant, level)[1] - discordant) / float(self.counts.sum())


def count_certain_rows(values: Mapping[str, Array], counts: Array) -> int:
    """How many rows of hard labels have an all but certain prediction; `values` are the losses of
    every row by name, and `counts` how many equal rows each stands for.

    0 if these rows have both misses and hits in sufficient number, whose variance then shows what
    they cost. The confidence is recovered from the losses: the "confidence" loss is its squared
    distance from 1 for a right row and from 0 for a wrong one, plus 1 if the row is wrong.
    """
    wrong = values["classification"]
    distance = np.sqrt(np.maximum(values["confidence"] - wrong, 0.0))
    miss_probability = np.where(wrong > 0.5, 1.0 - distance, distance)
    certain = miss_probability * counts.sum() <= NO_MISS
    n, misses = (round(counts[rows].sum()) for rows in (certain, certain & (wrong > 0.5)))
    return n if min(misses, n - misses) < FEW_EVENTS else 0


class _Events(NamedTuple):
    """Events of one kind, by row, (n,) each: what the event adds to the loss, its predicted
    probability, whether it happened, and whether it can happen in this row.
    """

    cost: Array
    probability: Array
    happened: Mask
    possible: Mask


def few_event_limits(
    predictors: Sequence[Samples],
    loss: str,
    level: float,
    within: Mask | None = None,
    counts: Array | None = None,
) -> tuple[float, float]:
    """The lower and the upper limit of the mean loss of one predictor, less the mean, or of the
    difference of two, less the difference.

    They follow from the Poisson intervals of the numbers of events, of misses, and of misses of all
    but certain predictions; 0 and 0 where none of them is rare. With `within` only these rows
    count. `counts` is how many equal rows each row stands for, (n,); one each if None.
    """
    w = row_weights(predictors[0])
    if counts is None:
        counts = np.ones(w.size)
    shares = w / w.sum() / counts
    low = high = 0.0
    for kind in _kinds_of_events(predictors, loss, float(counts.sum())):
        down, up = _poisson_margins(kind, shares, counts, level, within)
        low, high = min(low, down), max(high, up)
    return low, high


def _poisson_margins(
    kind: _Events, shares: Array, counts: Array, level: float, within: Mask | None
) -> tuple[float, float]:
    """The lower and the upper limit of a mean loss, less the mean, from the Poisson interval of the
    number of events, or of non-events if these are rarer; 0 and 0 if neither is rare.

    `shares` is the share of the total weight of each of the `counts` equal rows that a row stands
    for.
    """
    own = kind.possible if within is None else kind.possible & within
    rare, probability, sign, n = kind.happened[own], kind.probability[own], 1.0, counts[own]
    if 2 * n[rare].sum() > n.sum():
        rare, probability, sign = ~rare, 1.0 - probability, -1.0
    events, total = round(n[rare].sum()), float(n @ probability)
    if events >= FEW_EVENTS or not rare.size:
        return 0.0, 0.0
    costs = n * shares[own] * kind.cost[own]
    expected = float((probability @ costs) / total if total > 0.0 else costs.sum() / n.sum())
    each = sign * (float(costs[rare].sum()) + expected) / (events + 1)
    ends = [(n - events) * each for n in poisson_limits(events, level)]
    return min(ends), max(ends)


def _kinds_of_events(predictors: Sequence[Samples], loss: str, n_rows: float) -> Iterator[_Events]:
    """The kinds of events that may be rare, one after the other.

    They are the misses of the label that is likeliest by the predictors' mean; with two outcomes
    the events too; and for each predictor the misses of its all but certain predictions, of which
    `n_rows` rows would be expected to have none.
    """
    multiclass = predictors[0].multiclass
    misses, events = [], []
    certain: list[list[_Events]] = [[] for _ in predictors]
    for blocks in zip(*(distribution_blocks(samples) for samples in predictors), strict=True):
        p = sum(p for p, _ in blocks) / len(blocks)
        label = blocks[0][1].argmax(axis=1)
        values = _loss_by_outcome(blocks[0][0], loss, multiclass)
        for other, _ in blocks[1:]:
            values = values - _loss_by_outcome(other, loss, multiclass)
        misses.append(_misses(values, p, label))
        if not multiclass:
            every = np.ones(len(p), np.bool_)
            events.append(_Events(values[:, 1] - values[:, 0], p[:, 1], label == 1, every))
        for (own, _), parts in zip(blocks, certain, strict=True):
            kind = _misses(values, own, label)
            # Their miss probabilities are next to 0 and tell nothing: all rows are equally likely.
            equal = np.ones(len(own))
            possible = kind.probability * n_rows <= NO_MISS
            parts.append(kind._replace(probability=equal, possible=possible))
    for parts in filter(None, (misses, events, *certain)):
        yield _Events(*(np.concatenate(part) for part in zip(*parts, strict=True)))


def _misses(values: Array, p: Array, label: Index) -> _Events:
    """The misses of predictions p, (n, k), with the classes `label`, (n,); `values` are the losses
    of each row under each possible label, (n, k).
    """
    rows, k = np.arange(len(p)), p.shape[1]
    top = p.argmax(axis=1)
    others = p.copy()
    others[rows, top] = 0.0
    probability = others.sum(axis=1)
    # A certain prediction has no mean over its misses: the next class stands for them.
    mean = np.einsum("ij,ij->i", others, values) / np.maximum(probability, CERTAIN)
    missed = np.where(probability > CERTAIN, mean, values[rows, (top + 1) % k])
    cost = missed - values[rows, top]
    return _Events(cost, probability, label != top, np.ones(len(p), np.bool_))


def _loss_by_outcome(p: Array, loss: str, multiclass: bool) -> Array:
    """The loss of each row, or its distance from the label, under each possible label: (n, k). p
    are the predictions, (n, k).
    """
    if loss in COMPLEMENTS:
        return 1.0 - _loss_by_outcome(p, COMPLEMENTS[loss], multiclass)
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
    """Targets (n, k) that have as many misses as the upper Poisson limit of their number, or as
    many hits where hits are rarer. `votes` is the number of votes of each row; 1 for hard labels.
    """
    p, z = distribution_rows(samples)
    return _RareVotes.from_votes(p, z, votes, p.argmax(axis=1)).targets_at(level, 1.0)


def possible_targets(
    samples: Samples, votes: Counts, level: float
) -> list[tuple[str, float, Array]]:
    """Other targets, with fewer and with more rare events than observed, within the Poisson limits
    of their number.

    Misses (or hits) and, with two outcomes, events (or non-events) are rare if there are fewer than
    `FEW_EVENTS`. Each entry has the kind of event ("misses" or "events"), how far its targets are
    towards the lower limit (-1) or the upper one (1), and the targets (n, k).
    """
    p, z = distribution_rows(samples)
    common_class = {"misses": p.argmax(axis=1)}
    if not samples.multiclass:
        common_class["events"] = np.zeros(samples.n, np.intp)
    kinds = {
        kind: _RareVotes.from_votes(p, z, votes, of_row) for kind, of_row in common_class.items()
    }
    return [
        (kind, towards, votes_of_kind.targets_at(level, towards))
        for kind, votes_of_kind in kinds.items()
        if votes_of_kind.n_rare < FEW_EVENTS
        for towards in TOWARDS
    ]


class _RareVotes(NamedTuple):
    """The rarer of the votes for one class of each row and the votes against it.

    `z` are the targets (n, k), `rare_part` the rare votes' part of them. `as_common` and `as_rare`
    are the targets (n, k) that a row would have if its only vote were a common or a rare one.
    `n_rare` is the number of rare votes, of `total` votes.
    """

    z: Array
    rare_part: Array
    as_common: Array
    as_rare: Array
    n_rare: float
    total: float

    @classmethod
    def from_votes(cls, p: Array, z: Array, votes: Counts, chosen: Index) -> _RareVotes:
        """The rarer of the votes for and against the class `chosen` of each row. Votes against it
        are taken to be spread over the other classes as the predictions p, (n, k), are.
        """
        in_favour = np.eye(p.shape[1])[chosen]
        against = np.where(in_favour > 0.0, 0.0, np.maximum(p, CERTAIN))
        against /= against.sum(axis=1, keepdims=True)
        total = float(votes.sum())
        n_against = float(votes @ (1.0 - z[np.arange(len(p)), chosen]))
        if 2.0 * n_against > total:
            return cls(z, z * in_favour, against, in_favour, total - n_against, total)
        return cls(z, z * (1.0 - in_favour), in_favour, against, n_against, total)

    def targets_at(self, level: float, towards: float) -> Array:
        """The targets (n, k) with a number of rare votes between the observed one and a Poisson
        limit of it.

        `towards` is the part of the way: 1 is the upper limit, -1 the lower one.
        """
        fewest, most = poisson_limits(self.n_rare, level)
        if towards > 0.0:
            share = towards * (most - self.n_rare) / max(self.total - self.n_rare, 1.0)
            change = min(share, 1.0) * (self.as_rare - self.z)
        else:
            share = towards * (self.n_rare - fewest) / max(self.n_rare, 1.0)
            rare_share = self.rare_part.sum(axis=1, keepdims=True)
            change = share * (self.rare_part - rare_share * self.as_common)
        return self.z + change


def poisson_limits(events: float, level: float) -> tuple[float, float]:
    """Garwood's lower and upper limit of the expected number of events, given the
    observed number.
    """
    from scipy.special import gammaincinv

    tail = (1.0 - level) / 2.0
    fewest = float(gammaincinv(events, tail)) if events else 0.0
    return fewest, float(gammaincinv(events + 1, 1.0 - tail))


def unseen_share(units: float, level: float) -> float:
    """The largest share that a part of the population may have without being seen in a sample of so
    many units (rows or clusters), at this level (Clopper and Pearson).
    """
    return float(1.0 - ((1.0 - level) / 2.0) ** (1.0 / max(units, 1.0)))


def with_unseen(
    value: float, limits: tuple[float, float], ends: tuple[float, float], units: float, level: float
) -> tuple[float, float]:
    """The `limits` of a mean that lies between two `ends`, widened by the share of the population
    that the sample may not show: few rows with equal values do not tell how values vary.
    """
    share = unseen_share(units, level)
    low, high = (value + share * (end - value) for end in ends)
    return max(min(limits[0], low), ends[0]), min(max(limits[1], high), ends[1])
