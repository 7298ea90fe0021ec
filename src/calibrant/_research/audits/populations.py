"""Populations: predictors known to be calibrated, or known not to be, of any size.

The functions here draw n rows. Those that give one array give predictions; those that give more
give predictions, true probabilities and, where there is a third, weights. Predictions are P(y = 1),
(n,), in the binary part, and rows of class probabilities, (n, k), in the multiclass part.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from calibrant._measures.catalogue import Shape
from calibrant._research.audits.misreports import tempered
from calibrant._research.audits.subjects import Array
from calibrant._research.audits.worlds import Labels

# Predictions and true probabilities of n rows, and their weights where they have any.
Draw = Callable[[np.random.Generator, int], tuple[Array, Array] | tuple[Array, Array, Array]]
ALL = frozenset({"confidence", "confidence by class", "classwise", "full"})
_BELOW_TOP = frozenset({"classwise", "full"})
_BY_CLASS = ALL - {"confidence"}


@dataclass(frozen=True, eq=False)
class Population:
    """A predictor and the truth behind it.

    `draw` gives predictions and true probabilities of n rows, and weights if `weighted`. `broken`
    has the notions of calibration that it fails, such as "classwise"; it is empty if it is
    calibrated.
    """

    name: str
    draw: Draw
    broken: frozenset[str] = frozenset()
    weighted: bool = False


def populations(shape: Shape) -> tuple[Population, ...]:
    """The populations that measures of a shape are tested on, calibrated ones first."""
    return _BINARY if shape == "binary" else _MULTICLASS


def _truth_follows(
    draw: Callable[[np.random.Generator, int], Array],
    truth: Callable[[Array], Array] = lambda predictions: predictions,
) -> Draw:
    """A function that draws predictions, and true probabilities that are a function of them.

    By default the truth equals the predictions, which are then calibrated.
    """

    def both(rng: np.random.Generator, n: int) -> tuple[Array, Array]:
        predictions = draw(rng, n)
        return predictions, truth(predictions)

    return both


# --- binary: predictions u, truth P(y = 1) ---


def _uniform(rng: np.random.Generator, n: int) -> Array:
    """Predictions that are uniform on [0, 1]."""
    return rng.random(n)


def _levels(rng: np.random.Generator, n: int) -> Array:
    """Predictions that have five distinct values."""
    return rng.choice([0.1, 0.3, 0.5, 0.7, 0.9], n)


def _inner(rng: np.random.Generator, n: int) -> Array:
    """Predictions that are uniform on [0.15, 0.85]."""
    return rng.uniform(0.15, 0.85, n)


def _ignorant(rng: np.random.Generator, n: int) -> tuple[Array, Array]:
    """The prediction 1/2 for all rows, and true probabilities that are uniform on [0, 1]."""
    return np.full(n, 0.5), rng.random(n)


def _wave(u: Array) -> Array:
    """True probabilities that lie above and below the predictions u by turns."""
    return u + 0.15 * np.sin(4 * np.pi * u)


def _rare(rng: np.random.Generator, n: int) -> Array:
    """Predictions of which half are 0.005 and the others uniform on [0.1, 0.9]."""
    return np.where(rng.random(n) < 0.5, 0.005, rng.uniform(0.1, 0.9, n))


def _certain(rng: np.random.Generator, n: int) -> Array:
    """Predictions of 0 or 1 that are right every time.

    What a measure shows here is neither noise nor error.
    """
    return rng.integers(0, 2, n).astype(np.float64)


def _thin_tails(rng: np.random.Generator, n: int) -> Array:
    """Predictions around 1/2: however many rows there are, the outermost bins have only a few."""
    return rng.beta(12, 12, n)


def _rare_events(rng: np.random.Generator, n: int) -> Array:
    """Predictions like click rates, nearly half of them below a hundredth."""
    return 10 ** rng.uniform(-3.5, -0.3, n)


def _heavy(rng: np.random.Generator, n: int) -> Array:
    """Weights of which the largest hundredth has about an eighth of the whole."""
    return np.exp(1.2 * rng.normal(size=n))


def _uniform_weighted(rng: np.random.Generator, n: int) -> tuple[Array, Array, Array]:
    """Calibrated predictions, uniform on [0, 1], with heavy weights."""
    u = rng.random(n)
    return u, u, _heavy(rng, n)


def _near_one(rng: np.random.Generator, n: int) -> Array:
    """Predictions of which half are near 0.98 and the others uniform on [0.1, 0.9]."""
    return np.where(rng.random(n) < 0.5, rng.uniform(0.97, 0.99, n), rng.uniform(0.1, 0.9, n))


def _in_the_middle(rng: np.random.Generator, n: int) -> Array:
    """Predictions of which a third are near 1/2, a third below and a third above."""
    low, high = rng.uniform(0.05, 0.45, n), rng.uniform(0.55, 0.95, n)
    middle = rng.uniform(0.48, 0.52, n)
    return np.choose(rng.integers(0, 3, n), (low, middle, high))


def _by_weight(rng: np.random.Generator, n: int) -> tuple[Array, Array, Array]:
    """Predictions that are too low by 0.15 in light rows, and too high by 0.15 in heavy ones."""
    u, heavy = rng.uniform(0.55, 0.85, n), rng.random(n) < 0.5
    return u, u + np.where(heavy, -0.15, 0.15), np.where(heavy, 4.0, 1.0)


_BINARY = (
    Population("calibrated: predictions of every size", _truth_follows(_uniform)),
    Population("calibrated: five levels", _truth_follows(_levels)),
    Population("calibrated: 1/2 for all", _ignorant),
    Population("calibrated: certain and right", _truth_follows(_certain)),
    Population("calibrated: thin tails", _truth_follows(_thin_tails)),
    Population("calibrated: rare events", _truth_follows(_rare_events)),
    Population("calibrated: heavy weights", _uniform_weighted, weighted=True),
    Population("overconfident", _truth_follows(_uniform, lambda u: tempered(u, 2.0)), ALL),
    Population("a quarter too high", _truth_follows(_uniform, lambda u: 0.8 * u), ALL),
    Population("turned round", _truth_follows(_uniform, lambda u: 1 - u), ALL),
    Population("now too high, now too low", _truth_follows(_inner, _wave), ALL),
    Population(
        "wrong where predictions are below 0.01",
        _truth_follows(_rare, lambda u: np.where(u < 0.01, 0.2, u)),
        ALL,
    ),
    Population(
        "wrong where predictions are above 0.95",
        _truth_follows(_near_one, lambda u: np.where(u > 0.95, 0.8, u)),
        ALL,
    ),
    # Half of the wrong ones predict the other class: their confidences are right on average.
    Population(
        "wrong where predictions are near 1/2",
        _truth_follows(_in_the_middle, lambda u: np.where(abs(u - 0.5) < 0.03, 0.7, u)),
        _BELOW_TOP,
    ),
    Population("wrong by weight alone", _by_weight, ALL, weighted=True),
)


# --- multiclass: rows ---


def _rows(confidence: Array, share: Array, top: Labels) -> Array:
    """Rows of three class probabilities, (n, 3).

    The class `top` gets the confidence, the next class (class 0 follows class 2) gets `share` of
    what is left, and the third class gets the rest.
    """
    rest = 1 - confidence
    rows, out = np.arange(len(top)), np.empty((len(top), 3))
    for rank, part in enumerate((confidence, share * rest, (1 - share) * rest)):
        out[rows, (top + rank) % 3] = part
    return out


def _draw_rows(rng: np.random.Generator, n: int) -> tuple[Array, Array, Labels]:
    """Random arguments of `_rows` for n rows: confidences from 1/2 up, shares, top classes."""
    return rng.uniform(0.5, 1, n), rng.uniform(0.1, 0.9, n), rng.integers(0, 3, n)


def _calibrated_rows(rng: np.random.Generator, n: int) -> Array:
    """Random rows of three class probabilities with confidences from 1/2 to 1."""
    return _rows(*_draw_rows(rng, n))


def _few_rows(rng: np.random.Generator, n: int) -> Array:
    """Rows of class probabilities of which only four are distinct."""
    kinds = np.array([[0.6, 0.3, 0.1], [0.2, 0.7, 0.1], [0.1, 0.1, 0.8], [0.4, 0.35, 0.25]])
    return kinds[rng.integers(0, len(kinds), n)]


def _ignorant_rows(rng: np.random.Generator, n: int) -> tuple[Array, Array]:
    """The same prediction for all rows, and true probabilities that scatter about it."""
    base = np.array([0.5, 0.3, 0.2])
    moved = rng.choice([-0.15, 0.15], (n, 1)) * np.array([1.0, -1.0, 0.0])
    return np.tile(base, (n, 1)), base + moved


def _turned_rows(rng: np.random.Generator, n: int) -> tuple[Array, Array]:
    """Rows whose true probability of the top class falls as its prediction rises."""
    c, share, top = _draw_rows(rng, n)
    return _rows(c, share, top), _rows(1.5 - c, share, top)


def _swapped_rows(rng: np.random.Generator, n: int) -> tuple[Array, Array]:
    """Rows whose two classes below the top have each other's true probabilities."""
    c, _, top = _draw_rows(rng, n)
    share = rng.choice([0.3, 0.7], n)
    return _rows(c, share, top * 0), _rows(c, 1 - share, top * 0)


def _small_classes(rng: np.random.Generator, n: int) -> tuple[Array, Array]:
    """Rows of twenty classes, eighteen predicted below 0.01: nine too low and nine too high."""
    low, high = np.full((n, 9), 0.001), np.full((n, 9), 0.008)
    first = rng.uniform(0.5, 0.9, n)
    large = np.stack([first, 1 - 9 * 0.009 - first], axis=1)
    return np.hstack([large, low, high]), np.hstack([large, high, low])


def _certain_rows(rng: np.random.Generator, n: int) -> Array:
    """Rows of 0s and a single 1."""
    return np.eye(3)[rng.integers(0, 3, n)]


def _thin_rows(rng: np.random.Generator, n: int) -> Array:
    """Rows whose confidences lie around 3/4, with few in the outermost bins."""
    return _rows(0.5 + 0.5 * rng.beta(12, 12, n), rng.beta(12, 12, n), rng.integers(0, 3, n))


def _rare_rows(rng: np.random.Generator, n: int) -> Array:
    """Rows in which one class has a tenth or less, and another a hundredth or less."""
    rare = np.stack([10 ** rng.uniform(-2, -1, n), 10 ** rng.uniform(-3, -2, n)], axis=1)
    return np.hstack([1 - rare.sum(axis=1, keepdims=True), rare])


def _rows_weighted(rng: np.random.Generator, n: int) -> tuple[Array, Array, Array]:
    """Calibrated rows with heavy weights."""
    p = _calibrated_rows(rng, n)
    return p, p, _heavy(rng, n)


def _sure_rows(rng: np.random.Generator, n: int) -> tuple[Array, Array]:
    """Rows of which half are predicted with confidences near 0.98, and have 0.8 in truth."""
    sure = rng.random(n) < 0.5
    c = np.where(sure, rng.uniform(0.97, 0.99, n), rng.uniform(0.5, 0.9, n))
    share, top = rng.uniform(0.3, 0.7, n), rng.integers(0, 3, n)
    return _rows(c, share, top), _rows(np.where(sure, 0.8, c), share, top)


def _rows_by_weight(rng: np.random.Generator, n: int) -> tuple[Array, Array, Array]:
    """Rows whose confidence is too low by 0.15 if they are light, and too high if heavy."""
    c, share, top = rng.uniform(0.6, 0.8, n), rng.uniform(0.3, 0.7, n), rng.integers(0, 3, n)
    heavy = rng.random(n) < 0.5
    truth = _rows(c + np.where(heavy, -0.15, 0.15), share, top)
    return _rows(c, share, top), truth, np.where(heavy, 4.0, 1.0)


def _rows_by_class(rng: np.random.Generator, n: int) -> tuple[Array, Array]:
    """Rows whose confidence is too high where class 0 is the top, and too low where class 2 is."""
    c, share, top = rng.uniform(0.6, 0.8, n), rng.uniform(0.3, 0.7, n), rng.integers(0, 3, n)
    return _rows(c, share, top), _rows(c + 0.15 * (top - 1.0), share, top)


_MULTICLASS = (
    Population("calibrated: confidences of every size", _truth_follows(_calibrated_rows)),
    Population("calibrated: four different rows", _truth_follows(_few_rows)),
    Population("calibrated: one row for all", _ignorant_rows),
    Population("calibrated: certain and right", _truth_follows(_certain_rows)),
    Population("calibrated: thin tails", _truth_follows(_thin_rows)),
    Population("calibrated: rare classes", _truth_follows(_rare_rows)),
    Population("calibrated: heavy weights", _rows_weighted, weighted=True),
    Population("overconfident", _truth_follows(_calibrated_rows, lambda p: tempered(p, 2.0)), ALL),
    Population("the surer, the more often wrong", _turned_rows, ALL),
    Population("the classes below the top exchanged", _swapped_rows, _BELOW_TOP),
    Population("wrong where predictions are below 0.01", _small_classes, _BELOW_TOP),
    Population("wrong where confidences are above 0.95", _sure_rows, ALL),
    Population("wrong by weight alone", _rows_by_weight, ALL, weighted=True),
    Population("wrong by predicted class alone", _rows_by_class, _BY_CLASS),
)
