"""Bin sensitivity: how often another number of bins turns the order of two predictors round."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np

from calibrant._core.typing import Array
from calibrant._data.links import sigmoid, softmax
from calibrant._measures.catalogue import Shape
from calibrant._research.audits.subjects import Subject, values
from calibrant._research.audits.worlds import Labels, draw_labels
from calibrant.results._audit import AuditVerdict

COUNTS = (5, 15, 50, 200)
N_POOLS = 3
_N_PREDICTORS = 8
_N_ROWS = 1000


def draw_pool(shape: Shape, number: int, seed: int) -> tuple[Labels, list[Array]]:
    """Draw labels of 1000 rows, and the predictions of eight predictors for these rows.

    Predictions are (n,) for the shape "binary", and (n, 4) for "multiclass". The predictors differ
    in accuracy and in sharpness, and all are nearly calibrated. `number` is the index of the pool;
    together with `seed` it determines the random numbers.
    """
    rng = np.random.default_rng([seed, number])
    width = (_N_ROWS,) if shape == "binary" else (_N_ROWS, 4)
    logits = 1.5 * rng.normal(size=width)
    labels = draw_labels(_probabilities(logits), rng)
    predictors = []
    for _ in range(_N_PREDICTORS):
        noise, sharpness = rng.uniform(0, 1.2), rng.uniform(0.7, 1.3)
        seen = logits + noise * rng.normal(size=width)
        # The spread that noise adds to the logits is divided out: all are nearly calibrated.
        predictors.append(_probabilities(sharpness * seen / (1 + noise**2 / 1.5**2)))
    return labels, predictors


def _probabilities(logits: Array) -> Array:
    """Probabilities from logits: sigmoid of logits (n,), softmax of logits (n, k)."""
    return sigmoid(logits) if logits.ndim == 1 else softmax(logits)


def bin_sensitivity(subjects: Sequence[Subject], *, seed: int) -> list[AuditVerdict]:
    """For each subject, how often two predictors change order with the bins.

    Subjects are measures under test that have bins, all of one shape. The verdicts hold a share of
    order changes and neither pass nor fail, as no measure claims this property.
    """
    if not subjects:
        return []
    measured = np.empty((N_POOLS, len(COUNTS), _N_PREDICTORS, len(subjects)))
    for number in range(N_POOLS):
        labels, predictors = draw_pool(subjects[0].shape, number, seed)
        for c, m in enumerate(COUNTS):
            for i, predictions in enumerate(predictors):
                measured[number, c, i] = values(subjects, labels, predictions, bins=m)
    return [_verdict(s, measured[..., i], seed) for i, s in enumerate(subjects)]


def _verdict(subject: Subject, measured: Array, seed: int) -> AuditVerdict:
    """The verdict on one subject: the share of order changes, with the clearest as a witness.

    `measured` are the measure's values, of shape (pools, numbers of bins, predictors). An order
    change is a pair of predictors whose order differs between two numbers of bins.
    """
    flips, total, worst, largest = 0, 0, 0.0, None
    for number in range(N_POOLS):
        for i, j in combinations(range(_N_PREDICTORS), 2):
            gap = measured[number, :, i] - measured[number, :, j]
            for a, b in combinations(range(len(COUNTS)), 2):
                total += 1
                if gap[a] * gap[b] < 0:
                    flips += 1
                    size = min(abs(gap[a]), abs(gap[b]))
                    if size > worst:
                        worst, largest = size, (number, i, j, a, b)
    share = flips / total
    words = f"{share:.0%} of pairs change order between two of {COUNTS} bins"
    if largest is None:
        return subject.verdict("bin_sensitivity", None, words, {"flips": share})
    number, i, j, a, b = largest
    pair = {
        f"{which} at {COUNTS[c]}": float(measured[number, c, p])
        for c in (a, b)
        for which, p in (("first", i), ("second", j))
    }
    bins = [COUNTS[a], COUNTS[b]]
    witness = {"pool": number, "first": i, "second": j, "bins": bins, "seed": seed}
    return subject.verdict("bin_sensitivity", None, words, {"flips": share, **pair}, witness)


def replay(subject: Subject, witness: dict[str, Any]) -> dict[str, float]:
    """Recompute the values that a witness of `bin_sensitivity` stands for.

    They are the values of two predictors at two numbers of bins; keys are such as "first at 5".
    """
    labels, predictors = draw_pool(subject.shape, witness["pool"], witness["seed"])
    return {
        f"{which} at {m}": float(values([subject], labels, predictors[witness[which]], bins=m)[0])
        for m in witness["bins"]
        for which in ("first", "second")
    }
