"""Curves: a measure's mean value at growing sizes of a population, and what it tends to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from calibrant.audits.populations import Population, populations
from calibrant.audits.subjects import Array, Subject, limit_values
from calibrant.audits.worlds import draw_labels

SIZES = (125, 500, 2_000, 8_000)
# Means of small samples need more draws, and cost less.
_REPEATS = (24, 12, 8, 6)
_TWINS = 4
# Where draws differ by more than this from their mean (some are 0), as many times more are made.
_NOISY = 0.15
_MORE = 10
# Along the rules used here errors that vanish fall like n^(-1/3) or faster.
_VANISHES = -0.15
_STAYS = -0.08
# A miscalibrated population against its calibrated twin at the largest size.
_LIKE_TWIN = 1.4
_UNLIKE_TWIN = 2.0
_NOTHING = 1e-12


@dataclass(frozen=True, eq=False)
class Curve:
    """Mean errors of one population at `SIZES`, and at the largest of its twin: the same reports
    with labels drawn from them, so that they are calibrated.
    """

    population: Population
    values: Array
    twin: float = np.nan
    more: int = 1

    @property
    def slope(self) -> float:
        """The power of n that the values follow."""
        seen = self.values > _NOTHING
        if not seen[-1] and np.isfinite(self.values[-1]):
            return -np.inf
        if seen.sum() < 2:
            return np.nan
        logs = np.log(np.array(SIZES)[seen]), np.log(self.values[seen])
        return float(np.polyfit(*logs, 1)[0])

    @property
    def limit(self) -> float:
        """0 or the last value; nan where the sizes do not tell."""
        if self.slope < _VANISHES:
            return 0.0
        return float(self.values[-1]) if self.slope > _STAYS else np.nan

    @property
    def limit_beside_twin(self) -> float:
        """The same for a measure that vanishes on the twin: noise falls off the values for long,
        but if they vanish too they end where the twin does.
        """
        last = float(self.values[-1])
        if last <= _LIKE_TWIN * max(self.twin, _NOTHING):
            return 0.0
        return last if last > _UNLIKE_TWIN * self.twin else np.nan


def curves(subjects: Sequence[Subject], seed: int) -> dict[str, list[Curve]]:
    """Each subject's curves over all populations of its shape."""
    out: dict[str, list[Curve]] = {s.name: [] for s in subjects}
    for number, population in enumerate(populations(subjects[0].shape) if subjects else ()):
        means, noise = means_of(subjects, population, number, seed)
        twins = np.full(len(subjects), np.nan)
        if population.broken:
            last = len(SIZES) - 1
            twins = _draws(subjects, population, last, [seed, number], _TWINS, twin=True).mean(0)
        for i, subject in enumerate(subjects):
            curve = Curve(population, means[:, i], float(twins[i]))
            if not population.broken and noise[i] > _NOISY and not curve.slope < _VANISHES:
                more, _ = means_of([subject], population, number, seed, more=_MORE)
                curve = Curve(population, more[:, 0], curve.twin, _MORE)
            out[subject.name].append(curve)
    return out


def means_of(
    subjects: Sequence[Subject], population: Population, number: int, seed: int, more: int = 1
) -> tuple[Array, Array]:
    """Mean errors, a row per size and a column per subject; and how unsure the last row is."""
    means = np.empty((len(SIZES), len(subjects)))
    for size, repeats in enumerate(_REPEATS):
        drawn = _draws(subjects, population, size, [seed, number], repeats * more)
        means[size] = drawn.mean(axis=0)
    spread = drawn.std(axis=0, ddof=1) / np.sqrt(len(drawn))
    return means, spread / np.maximum(np.abs(means[-1]), _NOTHING)


def _draws(
    subjects: Sequence[Subject], population: Population, size: int, seed: list[int],
    repeats: int, *, twin: bool = False,
) -> Array:  # fmt: skip
    """The error of each subject (columns) in each draw (rows)."""
    rng = np.random.default_rng([*seed, size])
    drawn = np.empty((repeats, len(subjects)))
    for row in range(repeats):
        reports, truth = population.draw(rng, SIZES[size])
        labels = draw_labels(reports if twin else truth, rng)
        drawn[row] = limit_values(subjects, labels, reports)
    return np.stack([s.error(drawn[:, i]) for i, s in enumerate(subjects)], axis=1)
