"""Weights: does the measure treat them as shares of the total?

Multiplying all weights by a constant, dropping rows of weight 0, and leaving out weights of 1 must
not change the value. A measure that divides by the number of rows, or forgets the weights in one of
its sums, fails one of the three.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from calibrant._core.typing import Array
from calibrant._measures.catalogue import Shape
from calibrant._research.audits.subjects import NO_VALUES, Subject, values
from calibrant._research.audits.worlds import Labels, draw_labels
from calibrant.results._audit import AuditVerdict

_N_SAMPLES = 3
_N_ROWS = 60
_FACTORS = (1e-3, 7.0, 1e6)
# Sums of other weights are rounded differently, and the root of a small difference magnifies that.
_ROUNDING = 1e-9

# Labels, predictions and weights (None for none).
Sample = tuple[Labels, Array, Array | None]


def weighting(subjects: Sequence[Subject], *, seed: int) -> list[AuditVerdict]:
    """A verdict for each subject on whether it treats weights as shares of the total.

    Subjects are measures under test, all of one shape.
    """
    refuted: dict[str, AuditVerdict] = {}
    tried = {s.name: 0 for s in subjects}
    for number in range(_N_SAMPLES if subjects else 0):
        for words, first, second in _sample_pairs(subjects[0].shape, number, seed):
            one, two = (values(subjects, *sample) for sample in (first, second))
            for i, subject in enumerate(subjects):
                tried[subject.name] += bool(np.isfinite(one[i]) or np.isfinite(two[i]))
                if subject.name not in refuted and not _are_equal(one[i], two[i]):
                    refuted[subject.name] = subject.verdict(
                        "weighted",
                        False,
                        f"with {words} it goes from {one[i]:.4g} to {two[i]:.4g}",
                        {"before": float(one[i]), "after": float(two[i])},
                        {"number": number, "seed": seed, "change": words},
                    )
    return [refuted.get(s.name) or _verdict_unrefuted(s, tried[s.name]) for s in subjects]


def _verdict_unrefuted(subject: Subject, tried: int) -> AuditVerdict:
    """The verdict on a subject that gives equal values for each pair of samples.

    `tried` is the number of pairs with a finite value; the verdict is undecided if it is 0.
    """
    if not tried:
        return subject.verdict("weighted", None, NO_VALUES, {"tried": 0})
    words = f"equal values in {tried} pairs of samples with equal weight shares"
    return subject.verdict("weighted", True, words, {"tried": tried})


def _sample_pairs(shape: Shape, number: int, seed: int) -> Iterator[tuple[str, Sample, Sample]]:
    """Yield pairs of samples that must have equal values, as (what differs, first, second).

    A sample is labels, predictions and weights. The first item says in words how the second sample
    differs. `number` and `seed` determine the random numbers.
    """
    rng = np.random.default_rng([seed, number])
    truth = rng.random(_N_ROWS) if shape == "binary" else rng.dirichlet(np.ones(3), _N_ROWS)
    labels, weights = draw_labels(truth, rng), rng.gamma(1.0, size=_N_ROWS)
    # Predictions that are a little off: an error that is 0 shows nothing.
    predictions = 0.7 * truth + 0.3 * truth.mean(axis=0)
    for factor in _FACTORS:
        scaled = (labels, predictions, factor * weights)
        yield f"all weights multiplied by {factor:g}", (labels, predictions, weights), scaled
    yield (
        "weights of 1 dropped",
        (labels, predictions, np.ones(_N_ROWS)),
        (labels, predictions, None),
    )
    kept = np.arange(_N_ROWS) % 3 > 0
    without = (labels[kept], predictions[kept], weights[kept])
    yield "rows of weight 0 dropped", (labels, predictions, weights * kept), without


def _are_equal(first: float, second: float) -> bool:
    """Whether two values are equal up to rounding; NaN equals NaN, and infinities can be equal."""
    if not (np.isfinite(first) and np.isfinite(second)):
        return bool(first == second or (np.isnan(first) and np.isnan(second)))
    return bool(abs(first - second) <= _ROUNDING * max(abs(first), abs(second)))


def replay(subject: Subject, witness: dict[str, Any]) -> dict[str, float]:
    """Recompute the values of the two samples of a witness, under the keys "before" and "after"."""
    for words, *samples in _sample_pairs(subject.shape, witness["number"], witness["seed"]):
        if words == witness["change"]:
            before, after = (float(values([subject], *sample)[0]) for sample in samples)
            return {"before": before, "after": after}
    raise KeyError(witness["change"])
