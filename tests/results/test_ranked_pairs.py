"""Ranks out of intervals of differences, at the edges."""

import numpy as np
import pytest

import calibrant as cal
from calibrant.results._ranked_pairs import ranks_of

SURE = 0.975


def two(low, high, estimate, values=(0.3, 0.2), *, higher=False, level=0.95):
    """The ranks of two predictors, of which the first less the second has this interval."""
    pairs = np.zeros((2, 2, 3))
    pairs[0, 1], pairs[1, 0] = (low, high, estimate), (-high, -low, -estimate)
    return ranks_of(pairs, np.array(values), higher_is_better=higher, level=level)


def test_confidence_is_a_normal_law_scaled_to_the_limit_towards_0():
    from scipy.stats import norm

    z = norm.ppf(0.975)
    found = two(-1, 4, 2)
    assert found.best == pytest.approx([1 - norm.cdf(z * 2 / 3), norm.cdf(z * 2 / 3)])
    found = two(-4, 1, -2)
    assert found.best == pytest.approx([norm.cdf(z * 2 / 3), 1 - norm.cdf(z * 2 / 3)])
    assert (found.rank.tolist(), found.order) == ([1, 2], [0, 1])
    found = two(-4, 1, -2, higher=True)
    assert (found.rank.tolist(), found.order) == ([2, 1], [1, 0])
    assert two(-0.5, 0.5, 0.1, level=0.5).best[1] == pytest.approx(
        norm.cdf(norm.ppf(0.75) * 0.1 / 0.6)
    )


@pytest.mark.parametrize(
    ("interval", "best"),
    [
        ((0.0, 0.0, 0.0), [0.5, 0.5]),  # the same predictions
        ((0.0, 0.0, 1.0), [0.5, 0.5]),  # an estimate that is outside
        ((0.5, 0.5, 0.5), [0.0, 1.0]),
        ((-1.0, 1.0, 0.0), [0.5, 0.5]),
        ((-np.inf, np.inf, 1.0), [0.5, 0.5]),
        ((np.inf, np.inf, np.inf), [0.0, 1.0]),
        ((1.0, np.inf, np.inf), [0.0, 1.0]),
        ((1.0, 2.0, -3.0), [1 - SURE, SURE]),  # an estimate on the other side of 0
        ((-1.0, 3.0, np.nan), [0.1635475, 0.8364525]),  # none: the middle
    ],
)
def test_confidence_at_the_edges(interval, best):
    found = two(*interval)
    assert found.best.tolist() == pytest.approx(best)
    assert (found.low <= found.rank).all() and (found.rank <= found.high).all()


def test_of_an_unknown_interval_values_decide_the_order_and_nothing_the_confidence():
    found = two(np.nan, np.nan, np.nan)
    assert np.isnan(found.best).all() and found.order == [1, 0]
    assert found.rank.tolist() == [2, 1] and found.low.tolist() == [1, 1]
    assert found.high.tolist() == [2, 2]
    assert np.isnan(two(np.nan, 1.0, 0.0).best).all()


@pytest.mark.parametrize("level", [0.5, 0.8, 0.9, 0.95, 0.99, 0.999])
def test_confidence_and_interval_never_contradict_each_other(level):
    """A limit of exactly 0 does not exclude it; the next number does."""
    sure = (1 + level) / 2
    for size in (1e-300, 1e-9, 0.1, 1.0, 7.0):
        touching = two(0.0, 2 * size, size, level=level)
        assert touching.best[1] < sure and touching.high.tolist() == [2, 2]
        beyond = two(np.nextafter(0.0, 1.0), 2 * size, size, level=level)
        assert beyond.best[1] >= sure and beyond.high.tolist() == [2, 1]


def test_nobody_comes_before_one_who_is_clearly_better():
    """Estimates that go round in a circle: b has the better rank, and a is clearly better."""
    pairs = np.zeros((5, 5, 3))

    def put(a, b, low, high, estimate):
        pairs[a, b], pairs[b, a] = (low, high, estimate), (-high, -low, -estimate)

    put(0, 1, -3, -1, -2)
    for other in (2, 3, 4):
        put(0, other, -5, 5, 1)
        put(1, other, -5, 5, -1)
    found = ranks_of(pairs, np.arange(5.0), higher_is_better=False, level=0.95)
    assert found.rank[0] == 4 and found.rank[1] == 2
    assert found.order.index(0) < found.order.index(1)
    assert (found.low <= found.rank).all() and (found.rank <= found.high).all()


def test_ranks_of_any_pairs_lie_between_their_limits():
    rng = np.random.default_rng(5)
    for _ in range(50):
        n = int(rng.integers(1, 7))
        pairs = np.zeros((n, n, 3))
        for a in range(n):
            for b in range(a + 1, n):
                low, high = np.sort(rng.normal(size=2))
                estimate = rng.normal()
                pairs[a, b], pairs[b, a] = (low, high, estimate), (-high, -low, -estimate)
        found = ranks_of(pairs, rng.random(n), higher_is_better=bool(rng.random() < 0.5), level=0.9)
        assert (found.low <= found.rank).all() and (found.rank <= found.high).all()
        alone = found.high == 1
        assert ((found.best >= 0.95) == alone).all() and sorted(found.order) == list(range(n))


def test_what_is_not_clear_is_ranked_by_the_distance_from_the_best():
    """Each difference is estimated by itself: b - c may be negative though b is farther from a."""
    pairs = np.zeros((3, 3, 3))
    for a, b, estimate in ((1, 0, 0.0045), (2, 0, 0.0041), (1, 2, -0.001)):
        pairs[a, b], pairs[b, a] = (-0.02, 0.03, estimate), (-0.03, 0.02, -estimate)
    found = ranks_of(pairs, np.array([0.021, 0.027, 0.026]), higher_is_better=False, level=0.95)
    assert (found.order, found.rank.tolist()) == ([0, 2, 1], [1, 3, 2])
    # A significant difference decides whatever the distances.
    pairs[1, 2], pairs[2, 1] = (-0.004, -0.001, -0.002), (0.001, 0.004, 0.002)
    found = ranks_of(pairs, np.array([0.021, 0.027, 0.026]), higher_is_better=False, level=0.95)
    assert (found.order, found.rank.tolist()) == ([0, 1, 2], [1, 2, 3])


def test_one_predictor_alone_is_the_best():
    found = ranks_of(np.zeros((1, 1, 3)), np.array([0.3]), higher_is_better=False, level=0.95)
    assert found.best.tolist() == [1.0] and found.order == [0]
    assert (found.rank, found.low, found.high) == ([1], [1], [1])


def made(gaps, n=4000, seed=0):
    """Predictors that are too high by some gaps."""
    rng = np.random.default_rng(seed)
    p = 0.2 + 0.6 * rng.random(n)
    y = (rng.random(n) < p).astype(int)
    models = {name: np.clip(p + gap, 0, 1) for name, gap in gaps.items()}
    return cal.compare(y, models, measures=["brier"], n_resamples=50)


@pytest.mark.parametrize(
    ("gaps", "sentence"),
    [
        ({"a": 0.0, "b": 0.2}, "By Brier score, a is best: b is significantly worse."),
        (
            {"a": 0.0, "b": 0.2, "c": 0.3},
            "By Brier score, a is best: every other one is significantly worse.",
        ),
        ({"a": 0.0, "b": 0.0}, "By Brier score, a and b are not significantly different."),
        (
            {"a": 0.0, "b": 0.0, "c": 0.0},
            "By Brier score, a comes first, but none of the others is significantly different.",
        ),
        (
            {"a": 0.0, "b": 0.0, "c": 0.2},
            "By Brier score, a comes first. b is not significantly different from it; the other is "
            "significantly worse.",
        ),
        (
            {"a": 0.0, "b": 0.0, "c": 0.0, "d": 0.2, "e": 0.2},
            "By Brier score, a comes first. b and c are not significantly different from it; the "
            "other 2 are significantly worse.",
        ),
    ],
)
def test_the_sentence_is_that_of_the_differences(gaps, sentence):
    assert made(gaps).sentence("brier") == sentence


def test_no_table_says_both_that_one_is_surely_best_and_that_it_is_not_clear():
    """As compare once did: the best in every resample, and no clear difference."""
    said = 0
    for seed in range(6):
        rng = np.random.default_rng(seed)
        p = rng.random(400)
        y = (rng.random(400) < p).astype(int)
        models = {"a": p, "b": p**1.3, "c": np.sqrt(p)}
        found = cal.compare(y, models, measures=["ece", "brier", "auroc"], n_resamples=50)
        for measure in found.measures:
            table, tied = found.ranking(measure), found.tied(measure)
            assert (table["best"][0] >= SURE) == (not tied)
            assert ("is best" in found.sentence(measure)) == (not tied)
            said += not tied
    assert 0 < said < 18
