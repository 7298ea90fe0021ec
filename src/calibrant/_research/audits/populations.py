"""Populations: predictors known to be calibrated, or known not to be, of any size.

The functions here draw n rows. Those that give one array give predictions; those that give more
give predictions, true probabilities and, where there is a third, weights. Predictions are P(y = 1),
(n,), in the binary part, and rows of class probabilities, (n, k), in the multiclass part.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from calibrant._core.typing import Array
from calibrant._measures.catalogue import Shape
from calibrant._research.audits.misreports import tempered
from calibrant._research.audits.worlds import Labels

# Predictions and true probabilities of n rows, and their weights where they have any.
Draw = Callable[[np.random.Generator, int], tuple[Array, Array] | tuple[Array, Array, Array]]
ALL = frozenset({"confidence", "confidence by class", "classwise", "full"})
_BELOW_TOP = frozenset({"classwise", "full"})
_BY_CLASS = ALL - {"confidence"}


@dataclass(frozen=True, eq=False)
class Population:
    """A predictor together with the true probabilities, from which samples of any size are drawn.

    `draw` takes a generator and a number of rows n, and gives n predictions, their true
    probabilities, and weights if `weighted`. `broken` has the notions of calibration that the
    predictor violates, such as "classwise"; it is empty for a calibrated one.
    """

    name: str
    draw: Draw
    broken: frozenset[str] = frozenset()
    weighted: bool = False


def populations(shape: Shape) -> tuple[Population, ...]:
    """The populations on which measures of a shape are tested, calibrated ones first."""
    return _BINARY if shape == "binary" else _MULTICLASS


def _with_truth(
    draw: Callable[[np.random.Generator, int], Array],
    truth: Callable[[Array], Array] = lambda predictions: predictions,
) -> Draw:
    """Turn a function that draws predictions into one that also gives their true probabilities.

    `truth` maps predictions to true probabilities. By default both are equal: the predictions are
    calibrated.
    """

    def draw_with_truth(rng: np.random.Generator, n: int) -> tuple[Array, Array]:
        """Draw n predictions, and give them with their true probabilities."""
        predictions = draw(rng, n)
        return predictions, truth(predictions)

    return draw_with_truth


def _weighted(draw: Callable[[np.random.Generator, int], Array]) -> Draw:
    """Turn a function that draws calibrated predictions into one that also gives heavy weights.

    The largest hundredth of the weights has about an eighth of their total.
    """

    def draw_with_weights(rng: np.random.Generator, n: int) -> tuple[Array, Array, Array]:
        """Draw n predictions, and give them as predictions and as the truth, with weights."""
        predictions = draw(rng, n)
        return predictions, predictions, np.exp(1.2 * rng.normal(size=n))

    return draw_with_weights


# --- binary: predictions u, truth P(y = 1) ---


def _uniform_predictions(rng: np.random.Generator, n: int) -> Array:
    """Draw n predictions, (n,), uniform on [0, 1]."""
    return rng.random(n)


def _in_the_middle(rng: np.random.Generator, n: int) -> Array:
    """Draw n predictions, (n,): a third near 1/2, a third below and a third above."""
    low, high = rng.uniform(0.05, 0.45, n), rng.uniform(0.55, 0.95, n)
    middle = rng.uniform(0.48, 0.52, n)
    return np.choose(rng.integers(0, 3, n), (low, middle, high))


def _wrong_by_weight(rng: np.random.Generator, n: int) -> tuple[Array, Array, Array]:
    """Draw n predictions that are 0.15 too low in light rows and 0.15 too high in heavy ones.

    The result is predictions, true probabilities and weights (1 or 4), each (n,).
    """
    u, heavy = rng.uniform(0.55, 0.85, n), rng.random(n) < 0.5
    return u, u + np.where(heavy, -0.15, 0.15), np.where(heavy, 4.0, 1.0)


_BINARY = (
    Population("calibrated: a wide range of predictions", _with_truth(_uniform_predictions)),
    Population(
        "calibrated: five levels",
        _with_truth(lambda rng, n: rng.choice([0.1, 0.3, 0.5, 0.7, 0.9], n)),
    ),
    Population("calibrated: 1/2 for all", lambda rng, n: (np.full(n, 0.5), rng.random(n))),
    Population(
        "calibrated: certain and right",
        _with_truth(lambda rng, n: rng.integers(0, 2, n).astype(np.float64)),
    ),
    # The outermost bins have few rows at any n.
    Population("calibrated: thin tails", _with_truth(lambda rng, n: rng.beta(12, 12, n))),
    # Like click rates: nearly half are below 0.01.
    Population(
        "calibrated: rare events", _with_truth(lambda rng, n: 10 ** rng.uniform(-3.5, -0.3, n))
    ),
    Population("calibrated: heavy weights", _weighted(_uniform_predictions), weighted=True),
    Population("overconfident", _with_truth(_uniform_predictions, lambda u: tempered(u, 2.0)), ALL),
    Population("too high by a quarter", _with_truth(_uniform_predictions, lambda u: 0.8 * u), ALL),
    Population("reversed", _with_truth(_uniform_predictions, lambda u: 1 - u), ALL),
    Population(
        "alternately too high and too low",
        _with_truth(
            lambda rng, n: rng.uniform(0.15, 0.85, n), lambda u: u + 0.15 * np.sin(4 * np.pi * u)
        ),
        ALL,
    ),
    Population(
        "miscalibrated where predictions are below 0.01",
        _with_truth(
            lambda rng, n: np.where(rng.random(n) < 0.5, 0.005, rng.uniform(0.1, 0.9, n)),
            lambda u: np.where(u < 0.01, 0.2, u),
        ),
        ALL,
    ),
    Population(
        "miscalibrated where predictions are above 0.95",
        _with_truth(
            lambda rng, n: np.where(
                rng.random(n) < 0.5, rng.uniform(0.97, 0.99, n), rng.uniform(0.1, 0.9, n)
            ),
            lambda u: np.where(u > 0.95, 0.8, u),
        ),
        ALL,
    ),
    # Half of the wrong ones predict the other class: their confidences are right on average.
    Population(
        "miscalibrated where predictions are near 1/2",
        _with_truth(_in_the_middle, lambda u: np.where(abs(u - 0.5) < 0.03, 0.7, u)),
        _BELOW_TOP,
    ),
    Population("miscalibrated only by weight", _wrong_by_weight, ALL, weighted=True),
)


# --- multiclass: rows ---


def _rows_of_three(confidence: Array, share: Array, top: Labels) -> Array:
    """Rows of three class probabilities, (n, 3), from the confidence in each row's top class.

    The class `top` gets `confidence`, the next class (0 follows 2) gets the part `share` of the
    remainder, and the third class the rest.
    """
    rest = 1 - confidence
    rows, out = np.arange(len(top)), np.empty((len(top), 3))
    for rank, part in enumerate((confidence, share * rest, (1 - share) * rest)):
        out[rows, (top + rank) % 3] = part
    return out


def _draw_rows(rng: np.random.Generator, n: int) -> tuple[Array, Array, Labels]:
    """Draw the arguments of `_rows_of_three` for n rows.

    They are confidences from 1/2 to 1, shares of the remainder, and top classes, each (n,).
    """
    return rng.uniform(0.5, 1, n), rng.uniform(0.1, 0.9, n), rng.integers(0, 3, n)


def _calibrated_rows(rng: np.random.Generator, n: int) -> Array:
    """Draw n rows of three class probabilities, (n, 3), with confidences from 1/2 to 1."""
    return _rows_of_three(*_draw_rows(rng, n))


def _four_distinct_rows(rng: np.random.Generator, n: int) -> Array:
    """Draw n rows of class probabilities, (n, 3), from four distinct rows."""
    kinds = np.array([[0.6, 0.3, 0.1], [0.2, 0.7, 0.1], [0.1, 0.1, 0.8], [0.4, 0.35, 0.25]])
    return kinds[rng.integers(0, len(kinds), n)]


def _constant_row(rng: np.random.Generator, n: int) -> tuple[Array, Array]:
    """The same prediction n times, and n true rows that scatter about it, each (n, 3)."""
    base = np.array([0.5, 0.3, 0.2])
    moved = rng.choice([-0.15, 0.15], (n, 1)) * np.array([1.0, -1.0, 0.0])
    return np.tile(base, (n, 1)), base + moved


def _reversed_rows(rng: np.random.Generator, n: int) -> tuple[Array, Array]:
    """Draw predictions and truth, (n, 3), in which a more confident top class is less likely to be
    right.
    """
    c, share, top = _draw_rows(rng, n)
    return _rows_of_three(c, share, top), _rows_of_three(1.5 - c, share, top)


def _swapped_rows(rng: np.random.Generator, n: int) -> tuple[Array, Array]:
    """Draw predictions and truth, (n, 3), that differ by swapping the two classes below the top."""
    c, _, top = _draw_rows(rng, n)
    share = rng.choice([0.3, 0.7], n)
    return _rows_of_three(c, share, top * 0), _rows_of_three(c, 1 - share, top * 0)


def _small_classes(rng: np.random.Generator, n: int) -> tuple[Array, Array]:
    """Draw predictions and truth, (n, 20), that are wrong in eighteen rare classes.

    These classes are predicted below 0.01: nine too low and nine too high.
    """
    low, high = np.full((n, 9), 0.001), np.full((n, 9), 0.008)
    first = rng.uniform(0.5, 0.9, n)
    large = np.stack([first, 1 - 9 * 0.009 - first], axis=1)
    return np.hstack([large, low, high]), np.hstack([large, high, low])


def _thin_tailed_rows(rng: np.random.Generator, n: int) -> Array:
    """Draw n rows, (n, 3), with confidences around 3/4: the outermost bins have few rows."""
    return _rows_of_three(
        0.5 + 0.5 * rng.beta(12, 12, n), rng.beta(12, 12, n), rng.integers(0, 3, n)
    )


def _rare_rows(rng: np.random.Generator, n: int) -> Array:
    """Draw n rows, (n, 3), in which two classes are rare: at most 0.1, and at most 0.01."""
    rare = np.stack([10 ** rng.uniform(-2, -1, n), 10 ** rng.uniform(-3, -2, n)], axis=1)
    return np.hstack([1 - rare.sum(axis=1, keepdims=True), rare])


def _sure_rows(rng: np.random.Generator, n: int) -> tuple[Array, Array]:
    """Draw predictions and truth, (n, 3), that differ where the confidence is near 0.98.

    Half of the rows have such a confidence; their top class has the true probability 0.8.
    """
    sure = rng.random(n) < 0.5
    c = np.where(sure, rng.uniform(0.97, 0.99, n), rng.uniform(0.5, 0.9, n))
    share, top = rng.uniform(0.3, 0.7, n), rng.integers(0, 3, n)
    return _rows_of_three(c, share, top), _rows_of_three(np.where(sure, 0.8, c), share, top)


def _rows_wrong_by_weight(rng: np.random.Generator, n: int) -> tuple[Array, Array, Array]:
    """Draw rows whose confidence is 0.15 too low if they are light, and 0.15 too high if heavy.

    The result is predictions (n, 3), true probabilities (n, 3) and weights (n,) of 1 or 4.
    """
    c, share, top = rng.uniform(0.6, 0.8, n), rng.uniform(0.3, 0.7, n), rng.integers(0, 3, n)
    heavy = rng.random(n) < 0.5
    truth = _rows_of_three(c + np.where(heavy, -0.15, 0.15), share, top)
    return _rows_of_three(c, share, top), truth, np.where(heavy, 4.0, 1.0)


def _rows_wrong_by_class(rng: np.random.Generator, n: int) -> tuple[Array, Array]:
    """Draw predictions and truth, (n, 3), whose error in the confidence depends on the top class.

    The confidence is 0.15 too high where class 0 is the top, and 0.15 too low where class 2 is.
    """
    c, share, top = rng.uniform(0.6, 0.8, n), rng.uniform(0.3, 0.7, n), rng.integers(0, 3, n)
    return _rows_of_three(c, share, top), _rows_of_three(c + 0.15 * (top - 1.0), share, top)


_MULTICLASS = (
    Population("calibrated: a wide range of confidences", _with_truth(_calibrated_rows)),
    Population("calibrated: four different rows", _with_truth(_four_distinct_rows)),
    Population("calibrated: one row for all", _constant_row),
    Population(
        "calibrated: certain and right",
        _with_truth(lambda rng, n: np.eye(3)[rng.integers(0, 3, n)]),
    ),
    Population("calibrated: thin tails", _with_truth(_thin_tailed_rows)),
    Population("calibrated: rare classes", _with_truth(_rare_rows)),
    Population("calibrated: heavy weights", _weighted(_calibrated_rows), weighted=True),
    Population("overconfident", _with_truth(_calibrated_rows, lambda p: tempered(p, 2.0)), ALL),
    Population("higher confidence, lower accuracy", _reversed_rows, ALL),
    Population("classes below the top swapped", _swapped_rows, _BELOW_TOP),
    Population("miscalibrated where predictions are below 0.01", _small_classes, _BELOW_TOP),
    Population("miscalibrated where confidences are above 0.95", _sure_rows, ALL),
    Population("miscalibrated only by weight", _rows_wrong_by_weight, ALL, weighted=True),
    Population("miscalibrated only by predicted class", _rows_wrong_by_class, _BY_CLASS),
)
