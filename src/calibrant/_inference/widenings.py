"""Widenings: what rows alone do not tell, and limits must allow for all the same.

Each has a name, which an interval records where it acted, its reason, its source, and the line of
`benchmarks/coverage.py` that shows what it buys. Where events are few inside a method (outcomes
drawn whole, Student's quantiles of few clusters) the draws themselves are wider.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from calibrant._core.typing import Array
from calibrant._inference.context import Context
from calibrant._inference.few_events import Losses, unseen_share, unseen_targets
from calibrant._inference.methods import Found, moved_by
from calibrant._inference.numbers import FEW_EVENTS
from calibrant._measures.catalogue import Measure
from calibrant._measures.statistics import STATISTICS

Widen = Callable[[Context, Measure, float, Found], tuple[float, float]]


@dataclass(frozen=True)
class Widening:
    """One widening: `limits` gives the limits with it."""

    name: str
    reason: str
    reference: str
    command: str
    limits: Widen


def widened(
    rows: Context, measure: Measure, value: float, found: Found
) -> tuple[Found, tuple[str, ...]]:
    """Limits with all widenings, and the names of those that acted."""
    acted = []
    for each in WIDENINGS:
        low, high = each.limits(rows, measure, value, found)
        if low < found.low or high > found.high:
            acted.append(each.name)
            found = replace(found, low=min(low, found.low), high=max(high, found.high))
    if rows.groups is not None and rows.blocks.student(rows.samples.weights) > NOTICED:
        acted.append(FEW_CLUSTERS)
    return found, tuple(acted)


# Student's factor that a reader would notice: of 30 clusters or fewer.
NOTICED = 1.04
FEW_CLUSTERS = "few clusters"


def losses_of(rows: Context, measure: Measure) -> Losses | None:
    """The losses of hard labels, or distances from them, that a measure is a mean of."""
    of_labels = measure.statistic == "distribution" and rows.votes is None
    if rows.soft or not (measure.notion == "loss" or of_labels):
        return None

    # Which rows are misses, and whether those are few, is the same for every loss.
    def make() -> Losses | None:
        values = rows.made.row_values(distribution=False)
        return Losses.from_samples(rows.samples, measure.loss, values)

    found: Losses | None = rows.once("losses", make)
    return None if found is None else found._replace(loss=measure.loss)


def _few_events(rows: Context, measure: Measure, value: float, found: Found) -> tuple[float, float]:
    if measure.interval_method != "mean":
        return found.low, found.high
    losses = losses_of(rows, measure)
    if losses is None or found.estimate is None:
        return found.low, found.high
    fewest, most = losses.room(rows.level)
    return found.estimate + fewest, found.estimate + most


def with_targets(rows: Context, measure: Measure, targets: Array) -> float:
    """The measure with other targets (n, k)."""
    own = targets if rows.samples.multiclass else np.ascontiguousarray(targets[:, 1])
    # As shares of votes: no wonder that certain predictions meet fractions.
    made_up = replace(rows.samples, targets=own, votes=np.ones(rows.samples.n, np.int64))
    return measure.compute(rows.summary(made_up, measure))


def _unseen_targets(rows: Context) -> Array | None:
    votes = np.broadcast_to(1 if rows.votes is None else rows.votes, rows.samples.n)
    z, u = rows.plain_problem.z, rows.plain_problem.u
    right = z if rows.samples.multiclass else np.where(u > 0.5, z, 1.0 - z)
    hits, total = float(votes @ right), int(votes.sum())
    if min(hits, total - hits) >= FEW_EVENTS:
        return None
    return unseen_targets(rows.samples, votes, rows.level)


def _unseen_misses(
    rows: Context, measure: Measure, value: float, found: Found
) -> tuple[float, float]:
    of_votes = measure.statistic == "distribution" and rows.votes is not None
    unknown = rows.soft and rows.vote_rows is None
    if unknown or not (STATISTICS[measure.statistic].over_classes or of_votes):
        return found.low, found.high
    targets = rows.once(("unseen", rows.level), lambda: _unseen_targets(rows))
    if targets is None:
        return found.low, found.high
    centre = value if found.estimate is None else found.estimate
    end = centre + with_targets(rows, measure, targets) - value
    return end, end


def _unseen_kinds(
    rows: Context, measure: Measure, value: float, found: Found
) -> tuple[float, float]:
    if measure.interval_method != "influence" or rows.resampling == "votes":
        return found.low, found.high
    share = unseen_share(moved_by(rows, measure).units, rows.level)
    if value <= 0.0 or value >= 1.0:
        return (0.0, share) if value <= 0.0 else (1.0 - share, 1.0)
    # Rows of which predictions know nothing rank in the middle.
    return 1.0 - share / 2.0, share / 2.0


def _all_alike(rows: Context, measure: Measure, value: float, found: Found) -> tuple[float, float]:
    low, high = found.low, found.high
    if low < high or low not in (measure.low, measure.high) or math.isinf(measure.high):
        return low, high
    share = unseen_share(rows.samples.n, rows.level)
    room = (measure.high - measure.low) * share**measure.power
    return (low, low + room) if low == measure.low else (high - room, high)


WIDENINGS = (
    Widening(
        "few events",
        "a handful of events, or of misses, does not tell how a mean loss varies: their number has "
        "Poisson's limits, and each costs what those seen and the predictions say",
        "Garwood (1936), doi:10.1093/biomet/28.3-4.437",
        "python benchmarks/coverage.py found rare --singles --measures log_loss brier",
        _few_events,
    ),
    Widening(
        "unseen misses",
        "rows that are nearly all right do not tell how an error over all classes varies: it is "
        "looked at with as many misses as those seen allow",
        "Garwood (1936), doi:10.1093/biomet/28.3-4.437",
        'python benchmarks/coverage.py "many classes" --singles --measures classwise_ece',
        _unseen_misses,
    ),
    Widening(
        "unseen kinds",
        "a share of rows of another kind, of which predictions know nothing, may not have been "
        "seen at all",
        "Clopper and Pearson (1934), doi:10.1093/biomet/26.4.404",
        "python benchmarks/coverage.py rare --singles --measures auroc",
        _unseen_kinds,
    ),
    Widening(
        "all rows alike",
        "rows without a single fault do not exclude one: an interval of no width at the end of a "
        "measure's range gets what so many rows may well not show",
        "Clopper and Pearson (1934), doi:10.1093/biomet/26.4.404",
        'python benchmarks/coverage.py found --world "nearly all sure" --singles --rows 300',
        _all_alike,
    ),
)
