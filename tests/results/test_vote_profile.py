"""Predictions beside votes: every table against a slow twin, and what is expected against the law
that votes were drawn by.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

import calibrant as cal
from needs import need

RNG = np.random.default_rng(18)
N, K = 400, 3
P = RNG.dirichlet(np.full(K, 0.6), N)
VOTES = RNG.integers(2, 8, N)
COUNTS = RNG.multinomial(VOTES, P)
SHARES = COUNTS / VOTES[:, None]
SURER = P**2 / (P**2).sum(axis=1, keepdims=True)


def slow_entropy(row):
    return -sum(x * math.log(x) for x in row if x > 0)


@pytest.fixture(scope="module")
def profile():
    return cal.vote_profile(COUNTS, P, bins=10)


def test_bins_have_the_spread_of_their_votes(profile):
    top, u = P.argmax(axis=1), P.max(axis=1)
    for j in range(10):
        own = [i for i in range(N) if min(int(u[i] * 10), 9) == j]
        assert profile.bins["n"][j] == len(own)
        if not own:
            continue
        z = sum(SHARES[i, top[i]] for i in own) / len(own)
        middle = sum(u[i] for i in own) / len(own)
        variance = sum(u[i] * (1 - u[i]) / VOTES[i] for i in own) / len(own) ** 2
        assert profile.bins["mean_target"][j] == pytest.approx(z)
        assert profile.bins["low"][j] == pytest.approx(max(0, middle - 1.959964 * variance**0.5))


def test_distances_are_those_of_dist_ce(profile):
    distance = [0.5 * sum(abs(p - q)) for p, q in zip(P, SHARES, strict=True)]
    share = [sum(j / 20 <= d < (j + 1) / 20 for d in distance) / N for j in range(20)]
    np.testing.assert_allclose(profile.distances["share"], share)
    middles = (np.array(profile.distances["lower"]) + profile.distances["upper"]) / 2
    assert middles @ share == pytest.approx(cal.dist_ce(COUNTS, P), abs=0.025)
    assert sum(profile.distances["expected"]) == pytest.approx(1)


def test_entropies_and_bands(profile):
    labels = np.array([slow_entropy(row) for row in SHARES])
    predicted = np.array([slow_entropy(row) for row in P])
    edges = np.linspace(0, math.log(K), 11)
    for j in range(10):
        own = (predicted >= edges[j]) & (predicted < edges[j + 1])
        assert profile.entropies["n"][j] == own.sum()
        if own.any():
            assert profile.entropies["label"][j] == pytest.approx(labels[own].mean())
    bands = cal.entropy_bands(COUNTS)
    assert sorted(set(bands)) == profile.bands["band"]
    for name, value in zip(profile.bands["band"], profile.bands["dist_ce"], strict=True):
        own = bands == name
        assert value == pytest.approx(cal.dist_ce(COUNTS[own], P[own]))
    assert sum(profile.bands["n"]) == N
    # Rows of one entropy are in one band.
    assert len({(name, round(h, 9)) for name, h in zip(bands, labels, strict=True)}) == len(
        set(labels.round(9))
    )


def test_right_predictions_are_as_expected_and_others_are_not(profile):
    for part, seen in ((profile.entropies, "label"), (profile.bands, "dist_ce")):
        prefix = "" if seen == "label" else f"{seen}_"
        rows = zip(part[seen], part[f"{prefix}low"], part[f"{prefix}high"], strict=True)
        out = [not low <= value <= high for value, low, high in rows if value == value]
        assert sum(out) <= 1
    # In bands of agreement right predictions seem unsure, and this is expected of them.
    assert (
        profile.bands["overconfidence"][0] < -0.05 and profile.bands["overconfidence_high"][0] < 0
    )
    wrong = cal.vote_profile(COUNTS, SURER)
    seen, high = (np.array(wrong.bands[name]) for name in ("dist_ce", "dist_ce_high"))
    assert (seen > high).all()
    outside = np.array(wrong.bins["mean_target"]) < wrong.bins["low"]
    assert outside.sum() >= 4


def test_the_same_from_shares_pairs_and_one_vote_each(monkeypatch):
    # Draws of what is expected.
    monkeypatch.setattr("calibrant._api.vote_profile.MOST_PROFILES", 30)
    profile = cal.vote_profile(COUNTS, P, bins=10)
    assert repr(cal.vote_profile(SHARES, P, votes=VOTES, bins=10)) == repr(profile)
    pairs = cal.vote_profile(np.column_stack([VOTES - COUNTS[:, 0], COUNTS[:, 0]]), P[:, 0])
    beside = cal.vote_profile(COUNTS[:, 0], P[:, 0], votes=VOTES)
    assert pairs.to_dict() == beside.to_dict() and pairs.notion == "binary"
    hard = cal.vote_profile(COUNTS.argmax(axis=1), P)
    assert hard.n_votes == N and hard.bands["band"] == ["1 of 1: entropy 0.00"]
    assert cal.vote_profile([[3, 0]], [[0.5, 0.5]]).n == 1
    weighted = cal.vote_profile(COUNTS, P, sample_weight=np.where(np.arange(N) < 200, 1.0, 0.0))
    half = cal.vote_profile(COUNTS[:200], P[:200])
    np.testing.assert_allclose(weighted.distances["share"], half.distances["share"])


def test_soft_labels_without_votes_are_an_error():
    with pytest.raises(cal.InputError, match="give votes="):
        cal.vote_profile(SHARES, P)
    with pytest.raises(cal.InputError, match="bands must be a whole number"):
        cal.vote_profile(COUNTS, P, bands=0)
    with pytest.raises(cal.InputError, match=r"y_true\[0\] is .*sum to 1"):
        cal.entropy_bands([[0.5, 0.2], [1.0, 0.0]])


def test_bands_of_labels_of_every_kind():
    data = need("pandas").DataFrame(COUNTS, columns=["a", "b", "c"]).assign(n=VOTES)
    named = cal.entropy_bands(["a", "b", "c"], data=data, bands=3)
    np.testing.assert_array_equal(named, cal.entropy_bands(SHARES, bands=3))
    positive = COUNTS[:, 0]
    np.testing.assert_array_equal(
        cal.entropy_bands(positive, votes=VOTES), cal.entropy_bands(positive / VOTES)
    )
    found = cal.evaluate(COUNTS, P, by=cal.entropy_bands(COUNTS), measures=["dist_ce", "ece"])
    assert len(found.slices) == len(set(cal.entropy_bands(COUNTS)))


def test_diagrams_are_drawn(profile):
    need("matplotlib")
    import matplotlib.pyplot as plt

    shown = profile.plot()
    assert len(shown.axes_) == 4
    texts = {ax.get_xlabel() for ax in shown.axes_}
    assert "entropy of the prediction" in texts and "distance of a row from its votes" in texts
    _, ax = plt.subplots()
    assert profile.plot(kind="bands", ax=ax).axes_ == [ax]
    with pytest.raises(cal.InputError, match="kind"):
        profile.plot(kind="band")


def test_the_page_shows_the_votes():
    need("jinja2")
    one, n = {"recalibrate": "temperature"}, 150
    counts, p = COUNTS[:n], P[:n]
    page = cal.report(counts, p, measures=["ece", "dist_ce"], classes=["cat", "dog", "hen"], **one)
    text = page.to_html()
    for id_ in ("votes-reliability", "votes-distances", "votes-entropies", "vote-table"):
        assert f'id="{id_}"' in text
    assert f"{VOTES[:n].sum():,} votes on {n} rows" in text
    assert page.to_dict()["votes"]["n_votes"] == VOTES[:n].sum()
    plain = cal.report(counts.argmax(axis=1), p, measures=["ece"], **one)
    assert plain.votes is None and 'id="votes"' not in plain.to_html()
