"""Predictors of the same rows, for the tests that compare them."""

from functools import cache

import numpy as np

import calibrant as cal

BINARY = ("ece", "rmsce", "mce", "debiased_l2", "ace", "lin_ce", "confidence_ce",
          "brier", "log_loss", "spherical_loss", "classification_error", "confidence_loss",
          "ks_error", "brier_miscalibration")  # fmt: skip
MULTI = ("ece", "rmsce", "classwise_ece", "ace", "classwise_ce", "confidence_ce_uncorrected",
         "confidence_ce", "lin_ce", "brier", "log_loss", "spherical_loss",
         "classification_error", "confidence_loss")  # fmt: skip
# Where rows are the point, and not measures.
FEW = ("ece", "lin_ce", "brier", "auroc")
LOSSES = ("classification_error", "log_loss", "brier", "spherical_loss", "confidence_loss")


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def softmax(x):
    powers = np.exp(x - x.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


def binary(n=200, seed=0):
    """A predictor that is right, one overconfident and one that knows little."""
    rng = np.random.default_rng((31, seed))
    h = rng.normal(0, 1.5, n)
    y = (rng.random(n) < sigmoid(h)).astype(int)
    u = {"right": sigmoid(h), "over": sigmoid(2.5 * h), "dull": sigmoid(rng.normal(0, 1, n))}
    return y, u


def multi(n=150, k=4, seed=0):
    """Logits of three predictors; the same with `softmax`."""
    rng = np.random.default_rng((32, seed))
    x = rng.normal(0, 1.5, (n, k))
    y = np.array([rng.choice(k, p=row) for row in softmax(x)])
    return y, {"right": x, "over": 2.5 * x, "dull": 0.4 * x + rng.normal(0, 1, (n, k))}


def case(name):
    weights = np.random.default_rng(33).integers(0, 4, 150).astype(float)
    if name.startswith("binary"):
        y, u = binary(150)
        del u["dull"]
        options = {"sample_weight": weights} if "weighted" in name else {}
        if "soft" in name:
            y = np.round(sigmoid(np.random.default_rng(34).normal(0, 1, 150)), 2)
            return y, u, (*BINARY, "dist_ce", "rank_cs"), options
        return y, u, BINARY, options
    y, x = multi(150)
    del x["dull"]
    options = {"sample_weight": weights} if "weighted" in name else {}
    if "logits" in name:
        return y, x, MULTI, {**options, "from_logits": True}
    p = {key: softmax(value) for key, value in x.items()}
    if "soft" in name:
        y = np.random.default_rng(35).dirichlet(np.ones(4), 150)
        return y, p, (*MULTI, "dist_ce", "ent_ce", "rank_cs"), options
    return y, p, MULTI, options


# Every two of shape, soft labels, weights and logits meet, and miss each other, in one of these.
CASES = (
    "binary",
    "binary soft weighted",
    "multi logits",
    "multi soft",
    "multi weighted",
    "multi logits weighted",
)


@cache
def compared(name):
    y, u, measures, options = case(name)
    return cal.compare(y, u, measures=measures, bins=7, n_resamples=60, seed=3, **options)


def calibrated(n):
    rng = np.random.default_rng(8)
    p = rng.uniform(0.1, 0.9, n)
    return (rng.random(n) < p).astype(int), p
