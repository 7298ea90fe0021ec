"""Worlds of two predictors, whose measures are compared."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .populations import Array, Draw, Population
from .worlds import KINDS, SAID, SAID_RIGHT, SAID_SHARES, by_name, sigmoid, softmax

# Differences that are asked for, binary and of classes.
MEASURES = ("ece", "smooth_ece", "lin_ce", "brier", "ks_error", "mce")
# Losses of soft labels whose votes are not known have no simple truth.
SOFT = tuple(measure for measure in MEASURES if measure != "brier")
# Fitted coefficients, which `compare` takes as measures.
FITTED = ("slope", "intercept", "intercept_in_the_large")
OF_CLASSES = (*MEASURES, "classwise_ece", "ace", "confidence_ce")


def slopes(first: float, second: float, noise: float = 0.0, spread: float = 1.5) -> Draw:
    """Two logistic predictors; with noise, each reads the logit of the truth with its own error."""

    def draw(n: int, rng: np.random.Generator) -> tuple[Array, Array]:
        h = rng.normal(0.0, spread, n)
        seen = h + noise * rng.normal(size=(2, n))
        return sigmoid(np.array([[first], [second]]) * seen), sigmoid(h)

    return draw


def networks(k: int, temperatures: Sequence[float], noises: Sequence[float], margin: float) -> Draw:
    """Two networks on the same rows of k classes: common scores, and noise of their own.

    The right class stands out by a margin that differs from row to row, so most rows are easy.
    """

    def draw(n: int, rng: np.random.Generator) -> tuple[Array, Array]:
        h = rng.normal(0.0, 1.0, (n, k))
        h[np.arange(n), rng.integers(0, k, n)] += margin * rng.gamma(2.0, 2.0, n)
        own = rng.normal(size=(2, n, k)) * np.reshape(noises, (2, 1, 1))
        return softmax((h + own) * np.reshape(temperatures, (2, 1, 1))), softmax(h)

    return draw


def _temperatures(k: int, first: float, second: float) -> Draw:
    def draw(n: int, rng: np.random.Generator) -> tuple[Array, Array]:
        h = rng.normal(0.0, 2.0, (n, k))
        return np.stack([softmax(h * first), softmax(h * second)]), softmax(h)

    return draw


def _sure_and_half_right(n: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Two rows of a hundred are at 0.99 and half right; a second model is mildly off."""
    q, odd = rng.beta(2, 3, n), rng.random(n) < 0.02
    first, second = np.where(odd, 0.99, q), np.where(odd, 0.8, np.clip(q + 0.02, 0.0, 1.0))
    return np.stack([first, second]), np.where(odd, 0.5, q)


def _zigzag(n: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Ten stated values, too high and too low by turns; a second model is half as far off."""
    tenth = rng.integers(0, 10, n)
    u, gap = (tenth + 0.5) / 10, np.where(tenth % 2 == 0, 0.06, -0.06)
    q = np.clip(u + gap, 0.0, 1.0)
    return np.stack([u, np.clip(u + gap / 2, 0.0, 1.0)]), q


def _few_rows_apart(n: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """A right predictor, and one that turns one prediction of a hundred over."""
    q, turned = rng.beta(0.7, 0.7, n), rng.random(n) < 0.01
    return np.stack([q, np.where(turned, 1 - q, q)]), q


def _parted_crowds(n: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Two crowds at one prediction whose errors cancel; a second model parts them by 0.02."""
    kind, u = rng.random(n), rng.random(n)
    sign = np.select([kind < 0.3, kind < 0.6], [1.0, -1.0], 0.0)
    first = np.where(sign != 0, 0.5, np.where(u < 0.5, 0.5 * u, 0.5 + 0.5 * u))
    return np.stack([first, first + 0.02 * sign]), first + 0.3 * sign


def _two_confused(n: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Two of six classes are confused in a quarter of the labels; a second model is too steep."""
    h = rng.normal(0.0, 2.0, (n, 6))
    right, confused = softmax(h), softmax(h)
    confused[:, :2] = 0.75 * right[:, :2] + 0.25 * right[:, 1::-1]
    return np.stack([right, softmax(1.2 * h)]), confused


def _frequent_and_rare(n: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Thirty classes of Zipf's frequencies; one model is too sure of the frequent ones."""
    frequency = 1 / np.arange(1, 31) ** 1.3
    frequency /= frequency.sum()
    h = rng.normal(0.0, 1.0, (n, 30)) + np.log(frequency)
    h[np.arange(n), rng.choice(30, n, p=frequency)] += 3
    return np.stack([softmax(h + 0.25 * np.log(frequency)), softmax(0.8 * h)]), softmax(h)


def _two_values(n: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Nineteen of twenty rows at two values, 0.06 off; a second model is half as far off."""
    h, kind = rng.normal(0.0, 1.0, n), rng.random(n)
    u = np.where(kind < 0.5, 0.2, np.where(kind < 0.95, 0.8, sigmoid(h)))
    q = np.where(kind < 0.5, 0.26, np.where(kind < 0.95, 0.74, sigmoid(0.8 * h)))
    return np.stack([u, (u + q) / 2]), q


def _wave(n: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """One predictor oscillates about the other, which is right."""
    u = rng.beta(2, 2, n)
    q = np.clip(u + 0.08 * np.sin(9 * u), 0.0, 1.0)
    return np.stack([u, q]), q


def _both_right(n: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """One knows more of each row than the other; both are right on average."""
    u = rng.beta(2, 2, n)
    more = rng.beta(8 * u, 8 * (1 - u))
    return np.stack([u, more]), more


def _rare(n: int, rng: np.random.Generator) -> tuple[Array, Array]:
    h = rng.normal(-4.0, 0.8, n)
    return np.stack([sigmoid(h + 0.5), sigmoid(h + 0.2)]), sigmoid(h)


def _own_answers(n: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Two language models: what each says of its own answers, and how often it is right."""
    said = rng.choice(5, (2, n), p=SAID_SHARES)
    better = SAID_RIGHT + np.array([[0.0], [0.5]]) * (SAID - SAID_RIGHT)
    return SAID[said], np.stack([better[0][said[0]], better[1][said[1]]])


_SLOPES = slopes(1.5, 1.35)
_BEFORE_AFTER = slopes(1.5, 1.02)
# ECE 0.045 and 0.057, at accuracies of 0.71 and of 0.91.
_NETWORKS = networks(10, (1.182, 1.235), (0.25, 0.35), margin=1.2)
_ACCURATE = networks(10, (1.766, 2.196), (0.5, 0.7), margin=3.0)


def _pair(draw: Draw, **options: object) -> Population:
    return Population(draw, pair=True, **{"measures": MEASURES, **options})  # type: ignore[arg-type]


PAIRS: dict[str, dict[str, Population]] = {
    "pairs": {
        "slopes 1.5 and 1.35": _pair(_SLOPES),
        "before and after temperature": _pair(_BEFORE_AFTER),
        "most rows at two values": _pair(_two_values),
        "oscillating and calibrated": _pair(_wave, calibrated=(False, True)),
        "two alike": _pair(slopes(1.3, 1.3, noise=0.3), alike=True),
        "a predictor and itself": _pair(slopes(1.5, 1.5), alike=True),
        "slopes 2 and 1.6": _pair(slopes(2.0, 1.6)),
        "slopes 1.2 and 0.85": _pair(slopes(1.2, 0.85)),
        "two calibrated": _pair(_both_right, calibrated=(True, True)),
        "rare events, two shifts": _pair(_rare),
    },
    "pairs hard to hold": {
        "2 % sure and half right": _pair(_sure_and_half_right, rows=(1000,)),
        "zigzag": _pair(_zigzag, rows=(2000,)),
        "1 % of rows turned over": _pair(_few_rows_apart, calibrated=(True, False), rows=(600,)),
        "crowds parted by 0.02": _pair(_parted_crowds, rows=(1000,)),
        "slopes 1 and 1.03": _pair(slopes(1.0, 1.03), calibrated=(True, False), rows=(500,)),
    },
    "pairs of classes": {
        "two networks": _pair(_NETWORKS, rows=(10_000,), measures=OF_CLASSES),
        "two accurate networks": _pair(_ACCURATE, rows=(10_000,), measures=OF_CLASSES),
        "3 classes, before and after temperature": _pair(
            _temperatures(3, 1.6, 1.0), calibrated=(False, True), measures=OF_CLASSES
        ),
        "10 classes, temperatures 1.6 and 1.4": _pair(
            _temperatures(10, 1.6, 1.4), rows=(1000, 2000), measures=OF_CLASSES
        ),
        "two of 6 classes confused": _pair(
            _two_confused, rows=(800, 2000), measures=(*OF_CLASSES, "top_label_ece", "classwise_ce")
        ),
        "30 classes, frequent and rare": _pair(
            _frequent_and_rare, rows=(1000,), measures=("ece", "classwise_ce", "confidence_ce")
        ),
    },
    "pairs of fits": {
        "two similar networks": _pair(slopes(1.3, 1.25, noise=0.5), rows=(2000,), measures=FITTED),
        "two networks, 300 rows": _pair(slopes(1.5, 1.0, noise=0.5), rows=(300,), measures=FITTED),
        "slopes of 1.5 and 1.35": _pair(_SLOPES, rows=(2000,), measures=FITTED),
        "two networks, clusters": _pair(
            slopes(1.5, 1.35, noise=0.5), rows=(2000,), clusters="small", measures=FITTED
        ),
        "two networks, survey weights": _pair(
            slopes(1.5, 1.35, noise=0.5), rows=(2000,), weights=1.0, measures=FITTED
        ),
        "two networks, other rows": _pair(
            slopes(1.5, 1.0, noise=0.5), rows=(2000,), other_rows=True, measures=FITTED
        ),
    },
    "pairs of other data": {
        "slopes, survey weights": _pair(_SLOPES, weights=1.0),
        "slopes, clusters": _pair(_SLOPES, clusters="small"),
        "slopes, one huge cluster": _pair(_SLOPES, clusters="huge"),
        "slopes, soft labels": _pair(_SLOPES, labels="votes", measures=SOFT),
        "slopes, 1 to 10 votes": _pair(_SLOPES, labels="votes", votes=0, votes_known=True),
        "slopes, other rows": _pair(_SLOPES, other_rows=True),
        "before and after, other rows": _pair(_BEFORE_AFTER, other_rows=True),
        "own labels": _pair(_own_answers, own_labels=True),
    },
}
ALL_KINDS = {**KINDS, **PAIRS}
WORLDS = by_name(ALL_KINDS)
