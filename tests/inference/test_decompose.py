"""A loss taken apart by cross-fitted recalibration, in worlds where the parts are known."""

from __future__ import annotations

import numpy as np
import pytest

import calibrant as cal


def world(n: int = 4000, seed: int = 0, power: float = 2.0):
    """Outcomes, their true probabilities, and predictions that are too sure of them."""
    rng = np.random.default_rng(seed)
    truth = rng.uniform(0.02, 0.98, n)
    sharp = truth**power / (truth**power + (1 - truth) ** power)
    return (rng.random(n) < truth).astype(int), truth, sharp


@pytest.mark.parametrize("loss", ["log_loss", "brier", "spherical_loss"])
def test_the_parts_are_those_of_the_world(loss):
    y, truth, sharp = world()
    found = cal.decompose(y, sharp, loss=loss)
    function = {"brier": cal.brier_score}.get(loss) or getattr(cal, loss)
    assert found.loss == pytest.approx(function(y, sharp))
    assert found.calibration + found.refinement == pytest.approx(found.loss)
    assert found.overconfidence + found.underconfidence == pytest.approx(found.calibration)
    # A rising map takes the predictions back to the truth.
    assert found.refinement == pytest.approx(function(y, truth), rel=0.01)
    low, high = found.intervals["calibration"]
    assert 0 < low < found.calibration < high
    assert found.overconfidence > 10 * abs(found.underconfidence)
    assert found.in_sample >= found.calibration
    assert "overconfidence" in found.sentence and found.candidates[found.map] == found.refinement


def test_underconfidence_is_told_apart():
    y, _, blunt = world(power=0.4)
    found = cal.decompose(y, blunt)
    assert found.underconfidence > 10 * abs(found.overconfidence)


def test_a_fit_in_sample_finds_what_is_not_there():
    gains, optimistic = [], []
    for seed in range(8):
        y, truth, _ = world(150, seed)
        found = cal.decompose(y, truth, loss="brier", recalibrate="isotonic")
        gains.append(found.calibration)
        optimistic.append(found.in_sample)
    assert min(optimistic) > 0.0 and np.mean(gains) < 0.0
    y, truth, _ = world(2000, 9)
    quiet = cal.decompose(y, truth)
    assert "no significant gain" in quiet.sentence or "worse" in quiet.sentence


def test_classes_soft_labels_weights_and_clusters():
    rng = np.random.default_rng(1)
    truth = rng.dirichlet([0.7, 0.7, 0.7], 1500)
    sharp = truth**2 / (truth**2).sum(axis=1, keepdims=True)
    soft = cal.decompose(truth, sharp)  # not cut to their modes: the truth is within reach
    assert soft.refinement == pytest.approx(cal.log_loss(truth, truth), rel=1e-3)
    counts = np.array([rng.multinomial(5, q) for q in truth])
    votes = cal.decompose(counts, sharp)
    assert votes.refinement == pytest.approx(cal.log_loss(counts, truth), rel=0.01)
    logits = np.log(np.clip(sharp, 1e-9, None))
    again = cal.decompose(truth, logits, from_logits=True)
    assert again.calibration == pytest.approx(soft.calibration, rel=1e-4)
    y, _, p = world(600, 2)
    weighted = cal.decompose(y, p, sample_weight=np.full(600, 3.0))
    assert weighted.refinement == pytest.approx(cal.decompose(y, p).refinement)
    groups = np.repeat(np.arange(60), 10)
    apart, clustered = cal.decompose(y, p), cal.decompose(y, p, groups=groups)
    assert clustered.loss == pytest.approx(apart.loss)
    assert clustered.to_frame("pandas").shape == (6, 4)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"loss": "ece"}, "loss='ece' is not known"),
        ({"recalibrate": "betta"}, "did you mean 'beta'"),
        ({"folds": 1}, "folds must be"),
        ({"folds": 9}, "needs at least as many rows; got 4"),
        ({"level": 2}, "level must be"),
    ],
)
def test_what_cannot_be_taken_apart_is_said(options, message):
    with pytest.raises(cal.InputError, match=message):
        cal.decompose([0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4], **options)


def test_one_outcome_alone_is_refused():
    """A map that rules out the other would remove all of the loss, in every sample without an
    event: one in three of 100 calibrated predictions of 1 %.
    """
    for y in (np.zeros(200, int), np.ones(200, int)):
        with pytest.raises(cal.InputError, match="y_true holds only one class"):
            cal.decompose(y, np.full(200, 0.005))


def test_all_of_the_loss_is_written_out():
    y = np.arange(2000) % 2
    found = cal.decompose(y, np.where(y, 0.05, 0.95), loss="brier")
    assert "100 %" in found.sentence
