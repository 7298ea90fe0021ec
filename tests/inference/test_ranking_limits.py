"""Limits of AUROC, AURC and accuracy at a coverage, alone and of two models, where they are nearly
perfect: what few events show is skewed, and some kinds of them were not seen at all.
"""

import math

import numpy as np
import pytest

import calibrant as cal
from calibrant._inference.paired import _largest_decrease

REPEATS = 80
# What is expected of 95 % limits on one side of 80 samples is 2; more than this is 1 in 500.
MOST = 7


def scores(rng, y, apart):
    return rng.normal(size=y.size) + apart * y


def chances(scores):
    return 1 / (1 + np.exp(-scores))


def mislabelled(rng, n, rate, apart=4.0, share=0.025):
    """A model that tells events apart, but for some that look as all others do."""
    y = (rng.random(n) < rate).astype(int)
    lost = (rng.random(n) < share) & (y == 1)
    return y, scores(rng, np.where(lost, 0, y), apart), lost


def exponential(rng, n, rate, auroc):
    """Scores of events are those of others times a factor: some events rank as low as can be."""
    y = (rng.random(n) < rate).astype(int)
    odds = rng.exponential(size=n) * np.where(y == 1, auroc / (1 - auroc), 1.0)
    return y, odds / (1 + odds)


def missed(truth, limits):
    """How often the truth lies below and above."""
    limits = np.array(limits)
    return int((truth < limits[:, 0]).sum()), int((truth > limits[:, 1]).sum())


@pytest.mark.parametrize(("n", "rate"), [(60, 0.5), (1000, 0.03)])
def test_auroc_holds_the_truth_where_some_events_look_like_others(n, rate):
    alone, truth = [], 0.975 * 0.99766 + 0.025 * 0.5  # Phi(4 / sqrt 2) of those told apart
    for seed in range(REPEATS):
        y, found, _ = mislabelled(np.random.default_rng(seed), n, rate)
        alone.append(limits := cal.interval(y, chances(found), measure="auroc"))
    assert max(missed(truth, [(each.low, each.high) for each in alone])) <= MOST
    # And tell something: the wider ones before were 0.2 to 0.3 wide.
    assert np.mean([each.high - each.low for each in alone]) < 0.13
    assert 0 < limits.low < limits.value < limits.high <= 1


@pytest.mark.parametrize(
    ("auroc", "n", "rate"), [(0.9, 60, 0.5), (0.97, 300, 0.1), (0.99, 100, 0.2)]
)
def test_auroc_holds_the_truth_of_long_tails(auroc, n, rate):
    alone = []
    for seed in range(REPEATS):
        y, p = exponential(np.random.default_rng((1, seed)), n, rate, auroc)
        limits = cal.interval(y, p, measure="auroc")
        # A model that ranks the wrong way round is as far from 0 as this one is from 1.
        turned = cal.interval(1 - y, p, measure="auroc")
        assert (1 - turned.high, 1 - turned.low) == pytest.approx((limits.low, limits.high))
        alone.append((limits.low, limits.high))
    assert max(missed(auroc, alone)) <= MOST


def test_risks_and_accuracies_of_classes_hold_the_truth():
    def drawn(rng, n):
        logits = 7 * rng.normal(size=(n, 3))
        p = np.exp(logits - logits.max(axis=1, keepdims=True))
        p /= p.sum(axis=1, keepdims=True)
        y = (p.cumsum(axis=1) > rng.random((n, 1))).argmax(axis=1)
        return np.where(rng.random(n) < 0.01, rng.integers(0, 3, n), y), p

    for measure in ("aurc", "accuracy_at_coverage"):
        truth = getattr(cal, measure)(*drawn(np.random.default_rng(0), 400_000))
        alone = []
        for seed in range(REPEATS):
            limits = cal.interval(*drawn(np.random.default_rng(1 + seed), 60), measure=measure)
            alone.append((limits.low, limits.high))
        assert max(missed(truth, alone)) <= MOST, measure
        assert np.mean(np.diff(alone)) < 0.2, measure


@pytest.mark.parametrize(("n", "rate"), [(80, 0.4), (1000, 0.03)])
def test_differences_hold_where_one_model_does_not_know_some_events(n, rate):
    apart, truth = [], 0.025 * (0.5 - 0.99766)
    for seed in range(REPEATS):
        rng = np.random.default_rng(seed)
        y, first, lost = mislabelled(rng, n, rate)
        noise = first - 4 * (y & ~lost)
        second = 0.8 * noise + 0.6 * rng.normal(size=n) + 4 * y
        pair = {"a": chances(first), "b": chances(second)}
        found = cal.compare(y, pair, measures=["auroc"], n_resamples=50, bin_counts=(1,))
        limits = found.difference("a", "b", "auroc")
        apart.append((limits.low, limits.high))
    assert max(missed(truth, apart)) <= MOST


def test_differences_of_models_that_are_alike_are_short():
    rng = np.random.default_rng(0)
    y = (rng.random(2000) < 0.1).astype(int)
    first = scores(rng, y, 3.0)
    second = first + 0.1 * rng.normal(size=y.size)
    found = cal.compare(y, {"a": chances(first), "b": chances(second)}, measures=["auroc"])
    apart, alone = (
        found.difference("a", "b", "auroc"),
        cal.interval(y, chances(first), measure="auroc"),
    )
    assert apart.high - apart.low < 0.3 * (alone.high - alone.low)


class TestTheFarthestPoint:
    """Of the ellipse with quarters of their own, against every point of its outline."""

    @staticmethod
    def outlined(ours, theirs, like):
        around = np.linspace(0, 2 * np.pi, 20_001)
        x, y = np.cos(around), like * np.cos(around) + math.sqrt(1 - like**2) * np.sin(around)
        x = np.where(x < 0, ours[0] * x, ours[1] * x)
        y = np.where(y < 0, theirs[0] * y, theirs[1] * y)
        return float((y - x).max())

    def test_it_is_on_the_outline(self):
        rng = np.random.default_rng(0)
        for like in (-0.9, -0.3, 0.0, 0.4, 0.8, 0.97, 1.0):
            for _ in range(20):
                ours, theirs = rng.random((2, 2)) ** 3
                expected = self.outlined(ours, theirs, like)
                assert _largest_decrease(tuple(ours), tuple(theirs), like) == pytest.approx(
                    expected, rel=1e-3
                ), (ours, theirs, like)

    def test_two_that_are_the_same_are_not_apart(self):
        assert _largest_decrease((0.3, 0.1), (0.3, 0.1), 1.0) == 0.0
        assert _largest_decrease((0.0, 0.0), (0.0, 0.0), 0.0) == 0.0
