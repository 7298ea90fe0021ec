"""Small data sets whose numbers are recorded: every kind of labels, predictions and rows."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np

# Decimals of predictions: the last digit of another machine's exponential is not in them.
DECIMALS = 12


@dataclass(frozen=True)
class Rows:
    """Labels, the predictions of two models, and what else a function is told about the rows."""

    y: np.ndarray
    p: np.ndarray
    # A second model of the same rows.
    other: np.ndarray
    # Weights and vote counts, for every function.
    options: dict[str, Any] = field(default_factory=dict)
    # Cluster of each row, for functions that infer.
    groups: np.ndarray | None = None

    @property
    def inferring(self) -> dict[str, Any]:
        """Options of functions that resample rows."""
        return self.options | ({} if self.groups is None else {"groups": self.groups})

    @property
    def by(self) -> np.ndarray:
        """A slice for each row: two thirds of the rows, and one third."""
        return np.where(np.arange(len(self.y)) % 3 == 0, "third", "rest")


def expit(logits: np.ndarray) -> np.ndarray:
    return np.round(1 / (1 + np.exp(-logits)), DECIMALS)


def softmax(logits: np.ndarray) -> np.ndarray:
    raised = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.round(raised / raised.sum(axis=1, keepdims=True), DECIMALS)


def spread(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """Numbers near a normal law, by sums of uniform ones: the same on every machine."""
    return rng.random((12, *shape)).sum(axis=0) - 6


def draw(rng: np.random.Generator, true: np.ndarray) -> np.ndarray:
    """An outcome for each row: 0 or 1, or the index of a class."""
    u = rng.random(len(true))
    return (u < true) * 1 if true.ndim == 1 else (u[:, None] > true.cumsum(axis=1)[:, :-1]).sum(1)


def draw_votes(rng: np.random.Generator, true: np.ndarray, most: int) -> np.ndarray:
    """Vote counts of each class, 2 to `most` votes a row."""
    full = np.column_stack([1 - true, true]) if true.ndim == 1 else true
    asked = rng.integers(2, most + 1, len(full))
    counts = np.zeros(full.shape, int)
    for vote in range(most):
        rows = np.flatnonzero(asked > vote)
        counts[rows, draw(rng, full)[rows]] += 1
    return counts


def binary(seed: int, n: int, shift: float = 0.0) -> tuple[np.random.Generator, np.ndarray, Rows]:
    """An overconfident model and a better one, with hard labels; the truth, and what draws on."""
    rng = np.random.default_rng(seed)
    logits = 1.3 * spread(rng, n) + shift
    true = expit(logits)
    p, other = expit(1.5 * logits + 0.2), expit(1.1 * logits + 0.3 * spread(rng, n))
    return rng, true, Rows(draw(rng, true), p, other)


def classes(seed: int, n: int, k: int) -> tuple[np.random.Generator, np.ndarray, Rows]:
    """The same over k classes."""
    rng = np.random.default_rng(seed)
    logits = 1.2 * spread(rng, n, k) + np.linspace(0, 1, k)
    true = softmax(logits)
    p, other = softmax(1.6 * logits), softmax(1.1 * logits + 0.4 * spread(rng, n, k))
    return rng, true, Rows(draw(rng, true), p, other)


def _binary_sets() -> dict[str, Rows]:
    rng, true, plain = binary(1, 500)
    weights = np.round(0.2 + 3 * rng.random(500) ** 2, 6)
    clusters = np.sort(rng.integers(0, 90, 500))
    counts = draw_votes(rng, true, 7)
    p, other = plain.p, plain.other
    certain = np.where(rng.random(500) < 0.25, p.round(), p)
    f32 = p.astype(np.float32), other.astype(np.float32)
    return {
        "binary": plain,
        "binary, soft labels": Rows(true, p, other),
        "binary, votes": Rows(counts[:, 1] / counts.sum(1), p, other, {"votes": counts.sum(1)}),
        "binary, weights": Rows(plain.y, p, other, {"sample_weight": weights}),
        "binary, clusters": Rows(plain.y, p, other, groups=clusters),
        "binary, two decimals": Rows(plain.y, p.round(2), other.round(2)),
        "binary, exact 0 and 1": Rows(plain.y, certain, other),
        "binary, float32": Rows(plain.y, *f32),
        "binary, calibrated": Rows(plain.y, true, p),
        "binary, few rows": binary(2, 60)[2],
        "binary, rare events": binary(3, 1200, shift=-4)[2],
    }


def _class_sets() -> dict[str, Rows]:
    rng, true, plain = classes(4, 400, 3)
    weights = np.round(0.2 + 3 * rng.random(400) ** 2, 6)
    clusters = np.sort(rng.integers(0, 80, 400))
    p, other = plain.p, plain.other
    return {
        "3 classes": plain,
        "3 classes, soft labels": Rows(true, p, other),
        "3 classes, votes": Rows(draw_votes(rng, true, 7), p, other),
        "3 classes, weights": Rows(plain.y, p, other, {"sample_weight": weights}),
        "3 classes, clusters": Rows(plain.y, p, other, groups=clusters),
        "3 classes, float32": Rows(plain.y, p.astype(np.float32), other.astype(np.float32)),
        "10 classes": classes(5, 600, 10)[2],
        "10 classes, two decimals": _in_hundredths(classes(6, 400, 10)[2]),
    }


def _in_hundredths(rows: Rows) -> Rows:
    """Predictions in hundredths that add up to 1: the largest class takes what rounding left."""

    def hundredths(p: np.ndarray) -> np.ndarray:
        whole = np.floor(100 * p).astype(int)
        whole[np.arange(len(p)), p.argmax(axis=1)] += 100 - whole.sum(axis=1)
        return whole / 100

    return Rows(rows.y, hundredths(rows.p), hundredths(rows.other))


def _logit_sets() -> dict[str, Rows]:
    two, three = binary(7, 400)[2], classes(8, 300, 3)[2]

    def logits(p: np.ndarray) -> np.ndarray:
        z = np.log(np.clip(p, 1e-9, 1))
        return np.round(z - np.log(np.clip(1 - p, 1e-9, 1)) if p.ndim == 1 else z, DECIMALS)

    said = {"from_logits": True}
    return {
        "binary, logits": Rows(two.y, logits(two.p), logits(two.other), said),
        "3 classes, logits": Rows(three.y, logits(three.p), logits(three.other), said),
    }


@cache
def data_sets() -> dict[str, Rows]:
    """All data sets by name."""
    return _binary_sets() | _class_sets() | _logit_sets()
