"""The calibration decision loss: against a linear program over all decisions, and by hand."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.optimize import linprog

import calibrant as cal
from calibrant._measures.decision_loss import calibration_decision_loss, threshold_gains


def by_linear_program(p, q, w):
    """The largest gain over proper scores in [0, 1], each a convex G with slopes at its points.

    Unknown are G and a slope of it at every p and q, and at 0 and 1.
    """
    x = np.unique(np.concatenate([[0.0, 1.0], p, q]))
    m = x.size
    at = {value: j for j, value in enumerate(x)}
    c = np.zeros(2 * m)
    for a, b, share in zip(p, q, w / w.sum(), strict=True):
        i, j = at[a], at[b]
        c[j] -= share
        c[i] += share
        c[m + i] += share * (b - a)
    rows, limits = [], []
    for j in range(m - 1):  # slopes rise, and lie under and over what G does between points
        width = x[j + 1] - x[j]
        low, high = np.zeros(2 * m), np.zeros(2 * m)
        low[[j, j + 1, m + j]] = 1.0, -1.0, width
        high[[j, j + 1, m + j + 1]] = -1.0, 1.0, -width
        rows += [low, high]
        limits += [0.0, 0.0]
    for j, outcome in itertools.product(range(m), (0.0, 1.0)):  # 0 <= G + slope (z - x) <= 1
        score = np.zeros(2 * m)
        score[[j, m + j]] = 1.0, outcome - x[j]
        rows += [score, -score]
        limits += [1.0, 0.0]
    found = linprog(c, A_ub=np.array(rows), b_ub=limits, bounds=[(None, None)] * (2 * m))
    assert found.status == 0
    return -found.fun


@pytest.mark.parametrize("seed", range(12))
def test_the_decision_loss_is_the_optimum_of_a_linear_program(seed):
    rng = np.random.default_rng(seed)
    m = int(rng.integers(1, 8))
    p, q, w = rng.random(m), rng.random(m), rng.random(m)
    if seed % 3 == 0:
        p, q = p.round(1), q.round(1)
        p, kept = np.unique(p, return_index=True)
        q, w = q[kept], w[kept]
    assert calibration_decision_loss(p, q, w) == pytest.approx(by_linear_program(p, q, w), abs=1e-7)


def test_gains_are_the_sum_by_definition():
    rng = np.random.default_rng(1)
    p, q, w, t = rng.random(20), rng.random(20), rng.random(20), rng.random(50)
    inside = (np.minimum(p, q) <= t[:, None]) & (t[:, None] <= np.maximum(p, q))
    expected = (w * np.abs(q - t[:, None]) * inside).sum(axis=1)
    np.testing.assert_allclose(threshold_gains(p, q, w, t), expected, atol=1e-12)


@pytest.mark.parametrize("seed", range(6))
def test_between_one_threshold_and_twice_it_and_twice_the_ece(seed):
    rng = np.random.default_rng(seed)
    p, q, w = rng.random(9), rng.random(9), rng.random(9)
    w = w / w.sum()
    loss = calibration_decision_loss(p, q, w)
    t = np.unique(np.concatenate([p, q]))
    one = float((threshold_gains(p, q, w, t) / np.maximum(t, 1 - t)).max())
    assert one - 1e-12 <= loss <= 2 * one + 1e-12
    assert loss <= 2 * float(w @ np.abs(p - q)) + 1e-12


def test_decision_losses_of_one_and_two_predictions_by_hand():
    half = np.array([0.5])
    # Sure of what is a coin: staying out gains 1/2 of the largest stakes.
    assert calibration_decision_loss(np.array([1.0]), half, half) == pytest.approx(0.5)
    assert calibration_decision_loss(half, half, half) == 0.0
    assert calibration_decision_loss(np.array([0.0]), np.array([1.0]), half) == pytest.approx(1.0)
    # Two faults on either side of 1/2 are two thresholds, three actions: both gain in full.
    p, q, w = np.array([0.2, 0.8]), np.array([0.0, 1.0]), np.ones(2)
    one = 0.5 * 0.2 / 0.8
    assert calibration_decision_loss(p, q, w) == pytest.approx(0.2)
    assert one < 0.2 <= 2 * one


def test_of_a_table_and_of_a_decision_curve():
    rng = np.random.default_rng(0)
    p = rng.beta(0.6, 0.9, 4000).round(2)
    y = (
        rng.random(4000)
        < 1 / (1 + np.exp(-0.5 * np.log(np.clip(p, 0.01, 0.99) / (1 - np.clip(p, 0.01, 0.99)))))
    ).astype(int)
    table = cal.reliability(y, p, bins=cal.LevelSets())
    columns = {k: np.array(v) for k, v in table.columns().items()}
    expected = by_linear_program(columns["mean_predicted"], columns["mean_target"], columns["n"])
    assert table.decision_loss() == pytest.approx(expected, abs=1e-7)
    curve = cal.decision_curve(y, p)
    loss, single = curve.calibration_decision_loss("model"), curve.decision_loss("model")[0]
    assert single - 1e-12 <= loss <= 2 * single + 1e-12
    assert loss == pytest.approx(table.decision_loss(), rel=0.2)  # in the sample it is a bit more
    assert "calibration decision loss at these thresholds" in repr(curve)
    fewer = cal.decision_curve(y, p, thresholds=[0.1, 0.5]).calibration_decision_loss("model")
    assert 0.0 < fewer < loss  # fewer decisions
    with pytest.raises(cal.InputError, match="was not recalibrated"):
        cal.decision_curve(y, p, recalibration=None).calibration_decision_loss("model")
    assert cal.reliability([0, 1], [0.5, 0.5]).decision_loss() == 0.0
