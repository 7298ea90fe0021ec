"""Made-up predictors for the tests of recalibration: overconfident, with soft and hard targets."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant.scaling import SCALERS

Array = NDArray[Any]


class Made(NamedTuple):
    logits: Array
    proba: Array
    hard: Array
    soft: Array
    weights: Array

    def predictions(self, from_logits: bool) -> Array:
        return self.logits if from_logits else self.proba

    def rows(self, which: Any) -> "Made":
        return Made(*(array[which] for array in self))


def softmax(logits: Array) -> Array:
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


def multiclass(seed: int = 0, n: int = 400, k: int = 4) -> Made:
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=(n, k)) * 1.3 + np.linspace(0, 0.6, k)
    soft = softmax(truth)
    hard = np.array([rng.choice(k, p=row) for row in soft])
    logits = 2.2 * truth + rng.normal(size=(n, k)) * 0.5
    return Made(logits, softmax(logits), hard, soft, rng.integers(0, 4, n))


def binary(seed: int = 1, n: int = 400) -> Made:
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=n) * 1.5 - 0.4
    soft = 1 / (1 + np.exp(-truth))
    hard = (rng.random(n) < soft).astype(int)
    logits = 1.8 * truth + 0.5 + rng.normal(size=n) * 0.3
    return Made(logits, 1 / (1 + np.exp(-logits)), hard, soft, rng.integers(0, 4, n))


MULTICLASS, BINARY = multiclass(), binary()
SHAPES = {"multiclass": MULTICLASS, "binary": BINARY}
NEW = {"multiclass": multiclass(10, 150), "binary": binary(11, 150)}
KINDS = sorted(SCALERS)
PARAMETRIC = [name for name in KINDS if name not in ("IsotonicCalibration", "HistogramBinning")]
# Maps that need no class in particular: one number for all of them.
TEMPERATURES = [name for name in KINDS if not SCALERS[name]._class_by_class]
# Maps that a penalty holds to temperature scaling, the more the fewer rows there are.
PENALISED = [name for name in KINDS if name.startswith("Structured")]
