"""Populations: predictors known to be calibrated, or known not to be, of any size."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from calibrant.audits.lies import tempered
from calibrant.audits.subjects import Array
from calibrant.audits.worlds import Labels
from calibrant.measures.catalogue import Shape

# Reports and true probabilities of n rows.
Draw = Callable[[np.random.Generator, int], tuple[Array, Array]]
ALL = frozenset({"confidence", "classwise", "full"})


@dataclass(frozen=True, eq=False)
class Population:
    """A predictor and the truth behind it; `broken` says which notions of calibration it fails."""

    name: str
    draw: Draw
    broken: frozenset[str] = frozenset()


def populations(shape: Shape) -> tuple[Population, ...]:
    return _BINARY if shape == "binary" else _MULTICLASS


# --- binary: reports u, truth P(y = 1) ---


def _uniform(rng: np.random.Generator, n: int) -> tuple[Array, Array]:
    u = rng.random(n)
    return u, u


def _levels(rng: np.random.Generator, n: int) -> tuple[Array, Array]:
    u = rng.choice([0.1, 0.3, 0.5, 0.7, 0.9], n)
    return u, u


def _ignorant(rng: np.random.Generator, n: int) -> tuple[Array, Array]:
    return np.full(n, 0.5), rng.random(n)


def _overconfident(rng: np.random.Generator, n: int) -> tuple[Array, Array]:
    u = rng.random(n)
    return u, tempered(u, 2.0)


def _too_high(rng: np.random.Generator, n: int) -> tuple[Array, Array]:
    u = rng.random(n)
    return u, 0.8 * u


def _turned_round(rng: np.random.Generator, n: int) -> tuple[Array, Array]:
    u = rng.random(n)
    return u, 1 - u


def _wave(rng: np.random.Generator, n: int) -> tuple[Array, Array]:
    u = rng.uniform(0.15, 0.85, n)
    return u, u + 0.15 * np.sin(4 * np.pi * u)


def _rare(rng: np.random.Generator, n: int) -> tuple[Array, Array]:
    u = np.where(rng.random(n) < 0.5, 0.005, rng.uniform(0.1, 0.9, n))
    return u, np.where(u < 0.01, 0.2, u)


_BINARY = (
    Population("calibrated: reports of every size", _uniform),
    Population("calibrated: five levels", _levels),
    Population("calibrated: 1/2 for all", _ignorant),
    Population("overconfident", _overconfident, ALL),
    Population("a quarter too high", _too_high, ALL),
    Population("turned round", _turned_round, ALL),
    Population("now too high, now too low", _wave, ALL),
    Population("wrong where reports are below 0.01", _rare, ALL),
)


# --- multiclass: rows ---


def _rows(confidence: Array, share: Array, top: Labels) -> Array:
    """Rows of three with a confidence on the top class, and a share of the rest on the next."""
    rest = 1 - confidence
    rows = np.stack([confidence, share * rest, (1 - share) * rest], axis=1)
    places = (np.arange(3)[None, :] - top[:, None]) % 3
    return np.take_along_axis(rows, places, axis=1)


def _drawn(rng: np.random.Generator, n: int) -> tuple[Array, Array, Labels]:
    return rng.uniform(0.5, 1, n), rng.uniform(0.1, 0.9, n), rng.integers(0, 3, n)


def _calibrated_rows(rng: np.random.Generator, n: int) -> tuple[Array, Array]:
    p = _rows(*_drawn(rng, n))
    return p, p


def _few_rows(rng: np.random.Generator, n: int) -> tuple[Array, Array]:
    kinds = np.array([[0.6, 0.3, 0.1], [0.2, 0.7, 0.1], [0.1, 0.1, 0.8], [0.4, 0.35, 0.25]])
    p = kinds[rng.integers(0, len(kinds), n)]
    return p, p


def _ignorant_rows(rng: np.random.Generator, n: int) -> tuple[Array, Array]:
    base = np.array([0.5, 0.3, 0.2])
    moved = rng.choice([-0.15, 0.15], (n, 1)) * np.array([1.0, -1.0, 0.0])
    return np.tile(base, (n, 1)), base + moved


def _overconfident_rows(rng: np.random.Generator, n: int) -> tuple[Array, Array]:
    p = _rows(*_drawn(rng, n))
    return p, tempered(p, 2.0)


def _turned_rows(rng: np.random.Generator, n: int) -> tuple[Array, Array]:
    c, share, top = _drawn(rng, n)
    return _rows(c, share, top), _rows(1.5 - c, share, top)


def _swapped_rows(rng: np.random.Generator, n: int) -> tuple[Array, Array]:
    c, _, top = _drawn(rng, n)
    share = rng.choice([0.3, 0.7], n)
    return _rows(c, share, top * 0), _rows(c, 1 - share, top * 0)


def _small_classes(rng: np.random.Generator, n: int) -> tuple[Array, Array]:
    """Twenty classes; of the eighteen that are reported below 0.01 half are too low."""
    low, high = np.full((n, 9), 0.001), np.full((n, 9), 0.008)
    first = rng.uniform(0.5, 0.9, n)
    large = np.stack([first, 1 - 9 * 0.009 - first], axis=1)
    return np.hstack([large, low, high]), np.hstack([large, high, low])


_BELOW_TOP = frozenset({"classwise", "full"})
_MULTICLASS = (
    Population("calibrated: confidences of every size", _calibrated_rows),
    Population("calibrated: four different rows", _few_rows),
    Population("calibrated: one row for all", _ignorant_rows),
    Population("overconfident", _overconfident_rows, ALL),
    Population("the surer, the more often wrong", _turned_rows, ALL),
    Population("the classes below the top exchanged", _swapped_rows, _BELOW_TOP),
    Population("wrong where reports are below 0.01", _small_classes, _BELOW_TOP),
)
