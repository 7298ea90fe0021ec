"""Counts of intervals that contain the truth, for tests: every world by its kind and name."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from calibrant._data.to_samples import to_samples
from calibrant._measures.catalogue import Measure

from .estimates import singles
from .lines import measures_of, truth_of_side
from .pairs import ALL_KINDS
from .populations import drawn
from .truths import Truth
from .worlds import world_name


class Count(NamedTuple):
    """Samples whose interval contains the truth, lies wholly below it, wholly above it."""

    holds: int
    below: int
    above: int

    @property
    def share(self) -> float:
        return self.holds / max(1, sum(self))

    @property
    def standard_error(self) -> float:
        return math.sqrt(max(self.share * (1 - self.share), 0.01) / max(1, sum(self)))

    def __str__(self) -> str:
        return f"{self.share:.0%}±{self.standard_error:.0%} ({self.below}/{self.above})"


def truth_of(kind: str, name: str) -> Truth:
    """The truth of a world of one predictor."""
    return truth_of_side(world_name(ALL_KINDS, kind, name), 0)


def measured(kind: str, name: str, measures: Sequence[str] | None) -> tuple[Measure, ...]:
    """The measures that a world has a truth for."""
    return measures_of(ALL_KINDS[kind][name], measures)


def coverage(
    kind: str, name: str, n: int, reps: int, measures: Sequence[str] | None = None, *,
    seed: int = 0, n_resamples: int = 1000,
) -> dict[str, Count]:  # fmt: skip
    """How often the interval of each measure contains its true value."""
    truth, chosen = truth_of(kind, name), measured(kind, name, measures)
    counts = np.zeros((len(chosen), 3), int)
    for rep in range(reps):
        sample = drawn(truth.population, n, rep, seed)
        like = to_samples(sample.y, sample.u, sample_weight=sample.w)
        intervals = singles(sample, [m.name for m in chosen], n_resamples)
        for j, (measure, interval) in enumerate(zip(chosen, intervals, strict=True)):
            true = truth.value(measure, like)
            counts[j, 1 if interval.high < true else 2 if interval.low > true else 0] += 1
    return {m.name: Count(*row) for m, row in zip(chosen, counts.tolist(), strict=True)}
