"""The smallest error that is possible, from votes: no bias of few votes, and an honest interval."""

from __future__ import annotations

import math
import pickle
from itertools import product

import numpy as np
import pytest

import calibrant as cal
from calibrant import InputError
from calibrant._inference.bayes_error import (
    Population,
    largest_share,
    largest_vote_share,
    population_of,
    vote_bias,
)


def world(name: str, n: int, rng: np.random.Generator, k: int = 3) -> np.ndarray:
    """Distributions of rows, of a Dirichlet and not."""
    if name == "dirichlet":
        return rng.dirichlet(np.full(k, 0.3), n)
    if name == "logits":
        raw = np.exp(rng.normal(0, 2, (n, k)))
        return raw / raw.sum(axis=1, keepdims=True)
    sure = rng.dirichlet([40.0, *[0.5] * (k - 1)], n)
    return np.where(rng.random((n, 1)) < 0.8, sure, rng.dirichlet(np.full(k, 2.0), n))


@pytest.mark.parametrize("alpha", [(0.2, 0.2), (1.0, 1.0, 1.0), (2.0, 0.3, 0.3, 0.3), (40, 25, 3)])
def test_largest_shares_of_a_dirichlet_population(alpha: tuple[float, ...]) -> None:
    """Of votes by enumeration, of probabilities by drawing."""
    total = math.fsum(alpha)
    population = Population(np.array(alpha) / total, total)
    for m in (1, 2, 3, 5):
        expected = 0.0
        for votes in product(range(len(alpha)), repeat=m):
            counts = [votes.count(r) for r in range(len(alpha))]
            rising = [
                math.prod(a + j for j in range(c)) for a, c in zip(alpha, counts, strict=True)
            ]
            expected += max(counts) / m * math.prod(rising) / math.prod(total + j for j in range(m))
        assert largest_vote_share(population, m) == pytest.approx(expected, rel=1e-12)
    drawn = np.random.default_rng(0).dirichlet(alpha, 40_000).max(axis=1)
    assert largest_share(population) == pytest.approx(drawn.mean(), abs=5 * drawn.std() / 200)


def test_the_uniform_distribution_of_two_classes_has_a_quarter() -> None:
    uniform = Population(np.array([0.5, 0.5]), 2.0)
    assert 1 - largest_share(uniform) == pytest.approx(0.25, abs=1e-12)
    # Of s votes it is short by 1 / (4 s) for odd s; an even number has what one more has.
    for m in (2, 3, 4, 5, 9):
        odd = m + 1 - m % 2
        assert largest_vote_share(uniform, m) == pytest.approx(0.75 + 0.25 / odd, rel=1e-12)
    assert population_of(np.array([0.5, 0.5]), 2 / 3).concentration == pytest.approx(2.0)


def test_bias_between_many_numbers_of_votes_is_interpolated() -> None:
    population = Population(np.array([0.5, 0.3, 0.2]), 1.0)
    votes = np.arange(20, 60)
    found = vote_bias(population, votes)
    truth = largest_share(population)
    for m in (23, 41, 58):
        exact = largest_vote_share(population, m) - truth
        assert found[m - 20] == pytest.approx(exact, rel=0.02)


@pytest.mark.parametrize("name", ["dirichlet", "logits", "few in doubt"])
@pytest.mark.parametrize("m", [2, 3, 5, 10, 50])
def test_few_votes_do_not_lower_it(name: str, m: int) -> None:
    rng = np.random.default_rng(m)
    q = world(name, 20_000, rng)
    truth = float((1 - q.max(axis=1)).mean())
    found = cal.bayes_error(rng.multinomial(m, q))
    spread = (1 - q.max(axis=1)).std() / math.sqrt(len(q))
    assert found == pytest.approx(truth, abs=0.055 * truth + 4 * spread)
    assert found.low <= truth <= found.high
    plain = cal.bayes_error(rng.multinomial(m, q), debias=False)
    assert plain == pytest.approx(found.plug_in, abs=0.01)
    if m <= 5:
        assert plain.high < truth < 1.06 * found


def test_intervals_cover_the_truth() -> None:
    """Of three worlds and five numbers of votes, 8 samples each: limits are of any population with
    such votes, so that those of Dirichlet's kind lie well inside.
    """
    rng = np.random.default_rng(7)
    held = 0
    for name in ("dirichlet", "logits", "few in doubt"):
        truth = float((1 - world(name, 200_000, rng, 2).max(axis=1)).mean())
        for m in (2, 3, 5, 10, 50):
            for _ in range(8):
                found = cal.bayes_error(rng.multinomial(m, world(name, 300, rng, 2)))
                held += found.low <= truth <= found.high
    assert held / 120 >= 0.95


def level(parts: float, k: int):
    """A part of the rows is level between all classes, the others are certain."""

    def rows(n: int, rng: np.random.Generator) -> np.ndarray:
        q = np.eye(k)[rng.integers(0, k, n)]
        q[rng.random(n) < parts] = 1 / k
        return q

    return rows, parts * (k - 1) / k


def alike(*shares: float):
    """Every row has the same shares, each of neighbouring classes, whichever is the first."""

    def rows(n: int, rng: np.random.Generator) -> np.ndarray:
        order = (rng.integers(0, len(shares), (n, 1)) + np.arange(len(shares))) % len(shares)
        return np.array(shares)[order]

    return rows, 1 - max(shares)


@pytest.mark.parametrize(
    "extreme",
    [
        level(0.2, 3),
        level(0.3, 2),
        level(0.1, 2),
        alike(0.65, 0.35),
        alike(0.55, 0.45, *[0.0] * 8),
        alike(0.5, 0.5),
        alike(0.985, 0.01, 0.005),
    ],
)
@pytest.mark.parametrize("n", [30, 300])
def test_intervals_cover_the_truth_of_any_population(extreme, n: int) -> None:
    """No Dirichlet population is near these: limits were below, or above, in up to all samples."""
    rows, truth = extreme
    for m in (2, 5, 50):
        missed = 0
        for seed in range(6):
            rng = np.random.default_rng((3, m, seed))
            found = cal.bayes_error(rng.multinomial(m, rows(n, rng)))
            missed += not found.low <= truth <= found.high
            assert found.low <= found <= found.high
        assert missed <= 1, m  # at 5 % more have a chance of three in a hundred


def test_more_votes_and_not_more_rows_tell_the_population() -> None:
    rng = np.random.default_rng(0)
    q = rng.dirichlet([1.0, 1.0], 20_000)

    def width(m: int, n: int) -> float:
        found = cal.bayes_error(rng.multinomial(m, q[:n]))
        return found.high - found.low

    # Two votes that disagree one time in three: the error is between 0.21 and 1 / 3.
    assert width(2, 20_000) == pytest.approx(1 / 3 - 0.5 * (1 - math.sqrt(1 / 3)), abs=0.02)
    assert width(2, 20_000) > width(5, 20_000) > width(50, 20_000) > 0.03
    assert cal.bayes_error(np.tile([2, 0, 0], (30, 1))).high == pytest.approx(3.69 / 30, rel=1e-3)


def test_one_vote_a_row_is_refused_as_counts_and_with_votes() -> None:
    one = np.eye(3, dtype=int)[[0, 1, 2] * 20]
    for given in ({"y_true": one}, {"y_true": one, "votes": 1}, {"y_true": one.astype(float)}):
        with pytest.raises(cal.InputError, match="one vote per row"):
            cal.bayes_error(**given)


def test_of_shares_it_is_the_mean() -> None:
    q = np.random.default_rng(0).dirichlet([1, 1, 1], 50)
    w = np.arange(50.0)
    found = cal.bayes_error(q, sample_weight=w)
    assert found == pytest.approx(np.average(1 - q.max(axis=1), weights=w), rel=1e-14)
    assert "votes=" in found.note
    binary = cal.bayes_error(q[:, 0])
    assert binary == pytest.approx(np.minimum(q[:, 0], 1 - q[:, 0]).mean(), rel=1e-14)
    assert binary == pytest.approx(cal.bayes_error(np.stack([1 - q[:, 0], q[:, 0]], axis=1)))


def test_counts_and_shares_with_votes_are_alike() -> None:
    counts = np.random.default_rng(1).multinomial(5, [0.6, 0.3, 0.1], 80)
    found = cal.bayes_error(counts)
    again = cal.bayes_error(counts / 5, votes=5)
    assert (found, found.low, found.high) == pytest.approx((again, again.low, again.high))
    two = counts[:, 1]
    assert cal.bayes_error(two, votes=5) == pytest.approx(
        cal.bayes_error(np.stack([5 - two, two], axis=1))
    )


def test_hard_labels_correct_shares_that_are_too_sure() -> None:
    """Ushio et al.: whatever rising map the shares went through, the estimate is the same."""
    rng = np.random.default_rng(3)
    q = rng.beta(0.7, 0.7, 3000)
    y = (rng.random(3000) < q).astype(int)
    truth = np.minimum(q, 1 - q).mean()
    sure = q**3 / (q**3 + (1 - q) ** 3)
    found = cal.bayes_error(sure, labels=y, n_resamples=60)
    assert found.plug_in < 0.6 * truth
    assert found == pytest.approx(truth, abs=0.03)
    assert found.low <= truth <= found.high
    assert found == pytest.approx(cal.bayes_error(q, labels=y, n_resamples=60), rel=1e-12)
    rows = cal.bayes_error(np.stack([1 - sure, sure], axis=1), labels=y, n_resamples=60)
    assert rows == found and rows.interval == found.interval


def test_hard_labels_of_three_classes() -> None:
    rng = np.random.default_rng(4)
    q = rng.dirichlet([0.5] * 3, 3000)
    y = (q.cumsum(axis=1)[:, :2] < rng.random((3000, 1))).sum(axis=1)
    sure = q**2 / (q**2).sum(axis=1, keepdims=True)
    truth = (1 - q.max(axis=1)).mean()
    found = cal.bayes_error(sure, labels=y, n_resamples=50)
    assert abs(found - truth) < 0.03 < truth - found.plug_in


def test_the_bayes_error_is_a_number_that_says_how_it_was_found() -> None:
    found = cal.bayes_error([[3, 0], [2, 1], [0, 3], [1, 2]] * 25)
    assert isinstance(found, float) and found.interval == (found.low, found.high)
    again = pickle.loads(pickle.dumps(found))
    assert again == found and again.to_dict() == found.to_dict()
    assert found.best_accuracy == 1 - found
    assert str(found).startswith("Bayes error 0.2500, 95% CI") and "Dirichlet" in str(found)
    assert cal.bayes_error([[4, 0], [0, 4]]) == 0
    mixed = cal.bayes_error([[1, 0, 0], [2, 1, 0], [0, 3, 0], [1, 1, 1]] * 20)
    assert mixed.note == "20 rows have one vote, which cannot show disagreement"


@pytest.mark.parametrize(
    ("given", "options", "message"),
    [
        ([], {}, "at least one row"),
        (["a"], {}, "counts or shares of votes"),
        ([[0, 0], [1, 2]], {}, r"y_true\[0\] has no votes"),
        ([[2, -1], [1, 2]], {}, "negative"),
        ([[0.5, 0.6]], {}, "sums to 1.1"),
        ([[1.5, 1.5]], {}, "whole numbers"),
        ([0.5, 0.3], {"votes": 3}, "cannot be shares of votes"),
        ([[1, 0], [0, 1]], {"votes": 1}, "at least 2 votes"),
        ([[2, 1], [1, 2]], {"labels": [0]}, "2 class indices"),
        ([[2, 1], [1, 2]], {"labels": [0, 2]}, r"labels\[1\] is 2"),
        ([[2, 1], [1, 2]], {"sample_weight": [0, 0]}, "not all of them 0"),
    ],
)
def test_what_cannot_be_read(given, options, message) -> None:
    with pytest.raises(InputError, match=message):
        cal.bayes_error(given, **options)


@pytest.mark.parametrize("bad", [np.nan, np.inf, 4.5])
def test_the_one_count_that_is_none_is_named(bad) -> None:
    counts = np.tile([3.0, 2.0], (6, 1))
    counts[3, 1] = bad
    for function in (cal.bayes_error, cal.annotator_ceiling):
        with pytest.raises(InputError, match=rf"y_true\[3, 1\] is {bad}.*finite whole numbers"):
            function(counts)


def test_shares_that_were_rounded_are_told_of() -> None:
    with pytest.raises(
        InputError, match=r"sums to 0\.99.*if the shares were rounded, give vote counts"
    ):
        cal.bayes_error(np.full((5, 3), 0.33))


def test_few_rows_that_are_alike_do_not_rule_out_others():
    """One row of three votes to two, or five of them, had limits of no width."""
    lows = []
    for n in (1, 5, 50):
        found = cal.bayes_error([[3, 2]] * n)
        assert found == found.high == 0.5
        lows.append(found.low)
    assert lows[0] < 0.05 < lows[1] < 0.3 < lows[2]
    assert "(1 row;" in str(cal.bayes_error([[3, 2]]))
    outside = 0
    for seed in range(60):
        votes = np.random.default_rng(seed).binomial(5, 0.35, 3)
        found = cal.bayes_error(np.stack([5 - votes, votes], axis=1))
        outside += not found.low <= 0.35 <= found.high
    assert outside <= 6
