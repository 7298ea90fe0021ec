"""Section 4 of Lu, Wu, Hartline and Hu in batches of a real size, with features drawn anew.

Theorem 4.1: of calibrated predictors the better informed has no larger truthful error. Theorem 4.2:
recalibration never raises it. Theorem 4.3: nor do nearly calibrated predictors change places, up to
their bias. The same facts for batches of two or three, by enumeration, are among the spec's facts.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pytest

import calibrant as cal

RULES = [cal.LevelSets(), cal.Quantile(4), cal.Edges([0, 0.35, 0.7, 1])]
every_rule = pytest.mark.parametrize("rule", RULES, ids=str)
FIXED_RULES = [RULES[0], RULES[2]]  # those whose cells do not depend on the other predictions
TRUTHFUL = {
    "binary": lambda y, p, rule: cal.lin_ce(y, p, bins=rule),
    "full": lambda y, p, rule: cal.lin_ce(y, p, bins=rule),
    "classwise": lambda y, p, rule: cal.classwise_ce(y, p, bins=rule),
    "confidence": lambda y, p, rule: cal.confidence_ce(y, p, bins=rule),
}
every_truthful = pytest.mark.parametrize("name", TRUTHFUL)
# Every rule and every error, where how they go together was seen already.
some_of_each = pytest.mark.parametrize(
    ("name", "rule"),
    [*zip(TRUTHFUL, [*RULES, RULES[0]], strict=True), ("binary", RULES[2])],
    ids=str,
)


@dataclass
class World:
    """Feature values with their chances and the distribution of the label given each."""

    chances: np.ndarray
    truths: np.ndarray  # (m,) or (m, k)

    def recalibrated(self, h):
        """E[phi(y) | h(x)], the canonical recalibration."""
        out = np.empty_like(self.truths)
        for prediction in np.unique(h, axis=0):
            alike = (h == prediction).reshape(len(h), -1).all(axis=1)
            out[alike] = np.average(self.truths[alike], axis=0, weights=self.chances[alike])
        return out

    def batches(self, n, redraws, seed):
        rng = np.random.default_rng(seed)
        for _ in range(redraws):
            x = rng.choice(len(self.chances), n, p=self.chances)
            truths = self.truths[x]
            if truths.ndim == 1:
                yield x, (rng.random(n) < truths).astype(int)
            else:
                yield x, (rng.random((n, 1)) > truths.cumsum(axis=1)[:, :-1]).sum(axis=1)

    def errors(self, error, rule, predictors, *, n=40, redraws=120, seed=0):
        """(redraws, predictors): the error of each predictor on the same batches."""
        return np.array(
            [[error(y, h[x], rule) for h in predictors] for x, y in self.batches(n, redraws, seed)]
        )

    def risk(self, name, h):
        """E of the loss that belongs to an error, with h calibrated or not."""
        if name == "binary":
            loss = h**2 - 2 * h * self.truths + self.truths
        elif name == "confidence":
            top = h.argmax(axis=1)
            c, q = h[range(len(h)), top], self.truths[range(len(h)), top]
            loss = 1 - q + (c**2 - 2 * c * q + q)
        else:
            scale = h.shape[1] if name == "classwise" else 1
            loss = (h**2 - 2 * h * self.truths + self.truths).sum(axis=1) / scale
        return float(self.chances @ loss)

    def expected(self, name, rule, h, n):
        """Theorems 3.1 and 3.3 with x drawn, where a prediction's cell is its own affair.

        n E = sum_C (E[d^2; C] + (n - 1) E[d; C]^2) + E[q (1 - q)], d = u - q.
        """
        pairs = [(h, self.truths)]
        if name == "classwise":
            pairs = list(zip(h.T, self.truths.T, strict=True))
        elif name == "confidence":
            rows, top = range(len(h)), h.argmax(axis=1)
            pairs = [(h[rows, top], self.truths[rows, top])]
        total = 0.0
        for u, q in pairs:
            cells = u if isinstance(rule, cal.LevelSets) else np.digitize(u, [0.35, 0.7])
            total += self.chances @ (q * (1 - q) + (1 - q if name == "confidence" else 0))
            for cell in np.unique(cells):
                part, d = self.chances * (cells == cell), u - q
                total += part @ d**2 + (n - 1) * (part @ d) ** 2
        return total / len(pairs) / n


def mean_and_error(values):
    return values.mean(axis=0), values.std(axis=0, ddof=1) / math.sqrt(len(values))


BINARY = World(np.array([0.2, 0.3, 0.1, 0.25, 0.15]), np.array([0.05, 0.3, 0.45, 0.7, 0.95]))
ROWS = World(
    np.array([0.3, 0.3, 0.2, 0.2]),
    np.array([[0.6, 0.3, 0.1], [0.2, 0.7, 0.1], [0.15, 0.05, 0.8], [0.4, 0.35, 0.25]]),
)
WRONG = {
    # Overconfident; and two features alike, so that recalibration is not the truth either.
    "binary": [[0.01, 0.1, 0.2, 0.9, 0.99], [0.2, 0.6, 0.6, 0.9, 0.9]],
    "rows": [
        [[0.9, 0.05, 0.05], [0.05, 0.9, 0.05], [0.02, 0.02, 0.96], [0.8, 0.1, 0.1]],
        [[0.2, 0.3, 0.5], [0.2, 0.3, 0.5], [0.1, 0.1, 0.8], [0.1, 0.8, 0.1]],
    ],
}


def setting(name: str) -> tuple[World, list[Any]]:
    if name == "binary":
        return BINARY, [np.array(h) for h in WRONG["binary"]]
    return ROWS, [np.array(h) for h in WRONG["rows"]]


@cache
def errors_before_and_after(name, rule, i):
    """The errors of a wrong predictor and of what recalibration makes of it."""
    world, predictors = setting(name)
    h = predictors[i]
    return world.errors(TRUTHFUL[name], rule, [h, world.recalibrated(h)], redraws=60)


@every_rule
@every_truthful
def test_theorem_4_2_recalibration_lowers_a_truthful_error(name, rule):
    world, predictors = setting(name)
    for i, h in enumerate(predictors):
        mended = world.recalibrated(h)
        values = errors_before_and_after(name, rule, i)
        gain, spread = mean_and_error(values[:, 0] - values[:, 1])
        assert gain > 3 * spread  # 6.6 times the spread, or more
        # What is left is the label's noise, 1/n of the risk of the recalibrated prediction.
        left, spread = mean_and_error(values[:, 1])
        assert abs(left - world.risk(name, mended) / 40) < 4 * spread


@pytest.mark.parametrize("rule", FIXED_RULES, ids=str)
@pytest.mark.parametrize("name", ["binary", "classwise", "confidence"])
def test_theorem_4_2_in_closed_form(name, rule):
    world, predictors = setting(name)
    for i, h in enumerate(predictors):
        mended = world.recalibrated(h)
        means, spreads = mean_and_error(errors_before_and_after(name, rule, i))
        for mean, spread, prediction in zip(means, spreads, (h, mended), strict=True):
            assert abs(mean - world.expected(name, rule, prediction, 40)) < 4 * spread
        for n in (1, 2, 10, 1000):
            raw, best = (world.expected(name, rule, prediction, n) for prediction in (h, mended))
            assert best < raw
            assert best == pytest.approx(world.risk(name, mended) / n, rel=1e-12)


def test_recalibration_can_raise_the_errors_that_are_not_truthful():
    # Predictions a hair apart share a bin, where their mistakes cancel; the truth is spread over
    # all.
    truths = (np.arange(50) + 0.5) / 50
    world = World(np.full(50, 0.02), truths)
    flat = 0.52 + 1e-4 * (np.arange(50) - 25)
    np.testing.assert_allclose(world.recalibrated(flat), truths)
    bins = cal.EqualWidth(10)
    two_rows = [np.column_stack([1 - p, p]) for p in (flat, truths)]
    confidence = World(world.chances, two_rows[1])
    for place, error, predictions in [
        (world, lambda y, p, rule: cal.ece(y, p, bins=rule), [flat, truths]),
        (confidence, lambda y, p, rule: cal.ece(y, p, bins=rule, notion="confidence"), two_rows),
    ]:
        values = place.errors(error, bins, predictions, n=50, redraws=60)
        raised, spread = mean_and_error(values[:, 1] - values[:, 0])
        assert raised > 5 * spread, place
    values = world.errors(TRUTHFUL["binary"], bins, [flat, truths], n=50, redraws=400)
    gain, spread = mean_and_error(values[:, 0] - values[:, 1])
    assert gain > 5 * spread


def test_recalibration_can_raise_the_uncorrected_confidence_error():
    # A constant prediction whose top label is unlikely: little noise to be held against it.
    world = World(np.array([1.0]), np.array([[0.1, 0.5, 0.4]]))
    h = np.array([[0.35, 0.33, 0.32]])
    mended = world.recalibrated(h)
    for corrected in (False, True):
        raw, best = (expected_of_one(world, p, corrected=corrected) for p in (h, mended))
        assert (best > raw + 0.05) is not corrected


def expected_of_one(world, h, *, corrected=True):
    """E of the confidence error in a world of one feature, for a batch of one."""
    chances = world.truths[0]
    return sum(q * cal.confidence_ce([y], h, corrected=corrected) for y, q in enumerate(chances))


# --- theorem 4.1 ----------------------------------------------------------------------------------


def garbled(world, *kernels):
    """A world whose features are (x, what the first kernel made of x, what the next made of that).

    Returns it with the calibrated predictors from the best informed one to the worst. Kernels see
    no label, so the label's distribution stays that of x.
    """
    paths = [((x,), chance) for x, chance in enumerate(world.chances)]
    for kernel in kernels:
        paths = [
            ((*path, b), chance * kernel[path[-1]][b])
            for path, chance in paths
            for b in range(len(kernel[0]))
        ]
    seen = np.array([path for path, _ in paths])
    wide = World(np.array([chance for _, chance in paths]), world.truths[seen[:, 0]])
    shape = wide.truths.shape
    codes = [
        np.broadcast_to(column.reshape(-1, *[1] * (len(shape) - 1)), shape) for column in seen.T
    ]
    return wide, [wide.recalibrated(code) for code in codes]


NOISY = {
    5: [[0.8, 0.2, 0.0], [0.7, 0.3, 0.0], [0.1, 0.8, 0.1], [0.0, 0.2, 0.8], [0.0, 0.1, 0.9]],
    4: [[0.9, 0.1, 0.0], [0.1, 0.8, 0.1], [0.0, 0.1, 0.9], [0.5, 0.3, 0.2]],
}
NOISIER = [[0.7, 0.3], [0.5, 0.5], [0.2, 0.8]]


@some_of_each
def test_theorem_4_1_a_garbled_predictor_has_the_larger_error(name, rule):
    world, _ = setting(name)
    wide, line = garbled(world, NOISY[len(world.chances)], NOISIER)
    np.testing.assert_allclose(line[0], wide.truths, rtol=1e-12)
    risks = [wide.risk(name, h) for h in line]
    assert risks == sorted(risks)
    values = wide.errors(TRUTHFUL[name], rule, [line[0], line[-1]], redraws=250)
    lost, spread = mean_and_error(values[:, 1] - values[:, 0])
    assert lost > 5 * spread
    # The whole difference is that of the proper loss.
    assert abs(lost - (risks[-1] - risks[0]) / 40) < 4 * spread


@pytest.mark.parametrize("rule", FIXED_RULES, ids=str)
@pytest.mark.parametrize("name", ["binary", "classwise", "confidence"])
def test_theorem_4_1_at_every_size_in_closed_form(name, rule):
    world, _ = setting(name)
    wide, line = garbled(world, NOISY[len(world.chances)], NOISIER)
    for n in (1, 2, 10, 1000):
        errors = [wide.expected(name, rule, h, n) for h in line]
        assert errors == sorted(errors)
        assert errors[-1] > 1.01 * errors[0]


def test_theorem_4_1_needs_predictors_calibrated_in_full():
    # Constant predictions carry the same information, so each dominates the other. The first is
    # right about its top label, 0, but that is not the likeliest: calibrated in confidence alone.
    world = World(np.array([1.0]), np.array([[0.4, 0.6, 0.0]]))
    aside, truth = np.array([[0.4, 0.3, 0.3]]), world.truths
    assert expected_of_one(world, aside) == pytest.approx(1 - 0.4**2, rel=1e-12)
    assert expected_of_one(world, truth) == pytest.approx(1 - 0.6**2, rel=1e-12)


# --- theorem 4.3 ----------------------------------------------------------------------------------


@pytest.mark.parametrize("rule", FIXED_RULES, ids=str)
@pytest.mark.parametrize("name", ["binary", "classwise", "confidence"])
def test_theorem_4_3_the_order_stands_while_the_bias_is_below_the_gap(name, rule):
    world, _ = setting(name)
    f = 0.8 * world.truths + 0.2 * world.truths.mean(axis=0)  # informed, shy of the ends
    g = world.recalibrated(np.ones_like(world.truths))  # knows nothing, and knows it
    gap = world.risk(name, g) - world.risk(name, world.recalibrated(f))

    def bias(h, n):
        return n * world.expected(name, rule, h, n) - world.risk(name, world.recalibrated(h))

    assert abs(bias(g, 40)) < 1e-12
    assert 0 < bias(f, 10) < gap < bias(f, 2000)
    for n, stands in ((10, True), (2000, False)):
        values = world.errors(TRUTHFUL[name], rule, [f, g], n=n, redraws=200 if n == 10 else 20)
        lead, spread = mean_and_error(n * (values[:, 1] - values[:, 0]))
        # n (E[g] - E[f]) >= gap - bias(f), with equality because g has no bias of its own.
        assert abs(lead - (gap - bias(f, n))) < 4 * spread
        assert (lead > 2 * spread) if stands else (lead < -3 * spread)  # 5 times it, or more


@some_of_each
def test_theorem_4_3_a_biased_rival_only_falls_further_behind(name, rule):
    world, _ = setting(name)
    n, f = 10, 0.98 * world.truths + 0.02 * world.truths.mean(axis=0)
    constant = 0.8 if world.truths.ndim == 1 else [0.1, 0.2, 0.7]
    g = np.broadcast_to(constant, world.truths.shape).copy()
    values = n * world.errors(TRUTHFUL[name], rule, [f, g], n=n, redraws=100)
    means, spreads = mean_and_error(values)
    bias = means[0] - world.risk(name, world.recalibrated(f))
    assert abs(bias) < 0.02 + 4 * spreads[0]
    lead, spread = mean_and_error(values[:, 1] - values[:, 0])
    gap = world.risk(name, world.recalibrated(g)) - world.risk(name, world.recalibrated(f))
    assert lead > gap - 0.02 - 4 * spread
    assert lead > 5 * spread
