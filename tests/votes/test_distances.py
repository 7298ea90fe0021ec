"""Jensen-Shannon, Kullback-Leibler and Wasserstein, against SciPy and against printed scores."""

from __future__ import annotations

import math
import os
from pathlib import Path

import numpy as np
import pytest

import calibrant as cal
from calibrant import InputError
from needs import need

RNG = np.random.default_rng(0)
PREDICTED = RNG.dirichlet([0.4] * 5, 80)
VOTES = RNG.multinomial(7, [0.4, 0.3, 0.1, 0.1, 0.1], 80)
SHARES = VOTES / 7


def test_scipy_says_the_same() -> None:
    distance, stats = need("scipy.spatial.distance"), need("scipy.stats")
    pairs = list(zip(SHARES, PREDICTED, strict=True))
    expected = np.mean([distance.jensenshannon(q, p) for q, p in pairs])
    assert cal.jsd(SHARES, PREDICTED) == pytest.approx(expected, rel=1e-9)
    bits = np.mean([distance.jensenshannon(q, p, base=2) ** 2 for q, p in pairs])
    assert cal.jsd(SHARES, PREDICTED, squared=True, base=2) == pytest.approx(bits, rel=1e-9)
    entropy = np.mean([stats.entropy(q, p) for q, p in pairs])
    assert cal.kl(SHARES, PREDICTED) == pytest.approx(entropy, rel=1e-12)
    at = [0.0, 1.0, 4.0, 5.0, 9.0]
    for positions, used in ((None, range(5)), (at, at)):
        moved = np.mean([stats.wasserstein_distance(used, used, q, p) for q, p in pairs])
        found = cal.wasserstein(SHARES, PREDICTED, positions=positions)
        assert found == pytest.approx(moved, rel=1e-12)


def test_kl_is_the_log_loss_less_the_entropy_of_the_votes() -> None:
    entropy = -np.sum(SHARES * np.log(np.where(SHARES > 0, SHARES, 1)), axis=1).mean()
    expected = cal.log_loss(SHARES, PREDICTED) - entropy
    assert cal.kl(SHARES, PREDICTED) == pytest.approx(expected, rel=1e-12)
    labels = SHARES.argmax(axis=1)
    assert cal.kl(labels, PREDICTED) == pytest.approx(cal.log_loss(labels, PREDICTED), rel=1e-12)


def test_ends_of_the_ranges() -> None:
    apart = ([[1.0, 0.0, 0.0]], [[0.0, 0.0, 1.0]])
    assert cal.jsd(*apart, squared=True) == pytest.approx(math.log(2), rel=1e-15)
    assert cal.jsd(*apart, base=2) == pytest.approx(1, rel=1e-15)
    assert cal.dist_ce(*apart, norm="l1") == 2
    assert (cal.wasserstein(*apart), cal.wasserstein(*apart, normalize=True)) == (2, 1)
    for function in (cal.jsd, cal.kl, cal.wasserstein):
        assert function(PREDICTED, PREDICTED) == 0


def test_of_two_classes_wasserstein_is_total_variation() -> None:
    y, p = SHARES[:, 0], PREDICTED[:, 0]
    assert cal.wasserstein(y, p) == pytest.approx(cal.dist_ce(y, p), rel=1e-14)
    both = [np.stack([1 - x, x], axis=1) for x in (y, p)]
    for function in (cal.jsd, cal.kl, cal.wasserstein):
        assert function(y, p) == pytest.approx(function(*both), rel=1e-12)


def test_a_prediction_of_0_under_a_share_is_lifted_and_noted() -> None:
    y, p = [[0.9, 0.1], [0.5, 0.5]], [[1.0, 0.0], [0.5, 0.5]]
    lifted = (0.9 * math.log(0.9) + 0.1 * math.log(0.1 / 1e-12)) / 2
    assert cal.kl(y, p) == pytest.approx(lifted, rel=1e-12)
    assert cal.kl(y, p, zero="infinite") == math.inf
    with pytest.raises(InputError, match=r"1 entries where y_true is positive.*zero='lift'"):
        cal.kl(y, p, zero="raise")
    # A 0 that no share needs is nothing to speak of.
    assert cal.kl([[1.0, 0.0]], [[1.0, 0.0]], zero="infinite") == 0
    found = cal.evaluate(y, p, measures=["kl"])
    assert found["kl"] == cal.kl(y, p)
    assert any("1 prediction below 1e-12" in note and "KL" in note for note in found.notes)


def test_directions_are_printed() -> None:
    titles = {m.name: m.title for m in cal.catalogue("multiclass")}
    assert "target || prediction" in titles["kl"]
    assert "root" in titles["jsd"] and "divergence" in titles["js_divergence"]
    assert cal.kl([[0.9, 0.1]], [[0.5, 0.5]]) != cal.kl([[0.5, 0.5]], [[0.9, 0.1]])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: cal.jsd(SHARES, PREDICTED, base=1), "base must be a number above 1"),
        (lambda: cal.jsd(SHARES, PREDICTED, base="2"), "base must be a number above 1"),
        (lambda: cal.kl(SHARES, PREDICTED, zero="inf"), "zero"),
        (lambda: cal.dist_ce(SHARES, PREDICTED, norm="l2"), "norm"),
        (lambda: cal.wasserstein(SHARES, PREDICTED, positions=[0, 1]), "each of the 5 classes"),
        (lambda: cal.wasserstein(SHARES, PREDICTED, positions=[0, 1, 1, 2, 3]), "must increase"),
        (lambda: cal.wasserstein(SHARES, PREDICTED, positions=["a"] * 5), "must be numbers"),
    ],
)
def test_options_that_do_not_fit(call, message) -> None:
    with pytest.raises(InputError, match=message):
        call()


def test_chance_on_chaosnli_scores_as_scipy_has_it() -> None:
    """The board's two columns, of even predictions and of two networks, on 1,514 items of 100
    votes.
    """
    folder = Path(os.environ.get("CALIBRANT_DATA", ""))
    path = folder / "snli_roberta-base_seed1_dev_test_logits_chaosnli.npz"
    if not path.is_file():
        pytest.skip("CALIBRANT_DATA names no folder with votes of ChaosNLI")
    data = np.load(path)
    counts = np.concatenate([data["dev_chaos_counts"], data["test_chaos_counts"]])
    logits = np.concatenate([data["dev_logits"], data["test_logits"]])
    voted = counts.sum(axis=1) > 0
    counts, logits = counts[voted], logits[voted]
    assert len(counts) == 1514
    even = np.full(counts.shape, 1 / 3)
    assert round(cal.jsd(counts, even), 4) == 0.3829
    assert round(cal.kl(counts, even), 4) == 0.5455
    distance = need("scipy.spatial.distance")
    raw = np.exp(logits.astype(float))
    p = raw / raw.sum(axis=1, keepdims=True)
    expected = [distance.jensenshannon(q, row) for q, row in zip(counts / 100, p, strict=True)]
    assert cal.jsd(counts, logits, from_logits=True) == pytest.approx(np.mean(expected), rel=1e-6)
