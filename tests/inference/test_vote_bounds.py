"""Bounds of what votes identify only in part: all outcomes of the votes, and other solvers."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from scipy.optimize import linprog, minimize

from calibrant._core.distances import distances
from calibrant._inference.vote_bounds import fold_of, least_above
from calibrant._inference.vote_distances import VotedDistances
from calibrant._inference.vote_experiments import (
    Binomial,
    Unlabelled,
    n_partitions,
    partitions,
    unlabelled_degrees,
)

LOSSES = (
    "distribution",
    "absolute",
    "transport",
    "jensen_shannon",
    "relative_entropy",
    "entropy",
    "root_jensen_shannon",
    "rank",
)


def compositions(m, k):
    """All counts of m votes for k classes."""
    return np.array([c for c in product(range(m + 1), repeat=k) if sum(c) == m])


def chances(counts, q):
    """The chance of each row of counts for votes from q."""
    ways = [math.factorial(sum(c)) / math.prod(map(math.factorial, c)) for c in counts.tolist()]
    return np.array(ways) * np.prod(q**counts, axis=1)


def smoothed(q, k):
    return (1.0 - 0.1 * k) * q + 0.1


def sharpened(q, by=1.5):
    p = q**by
    return p / p.sum(axis=1, keepdims=True)


# --- against every outcome of the votes -----------------------------------------------------------


def functions_of_votes(loss, k, m, n_predictors, rng):
    """Bounds of a few rows for all outcomes of their votes, fitted to other rows."""
    outcomes, n = compositions(m, k), 400
    q = rng.dirichlet(np.ones(k), n)
    counts = rng.multinomial(m, q)
    predictions = [sharpened(q), smoothed(q, k)][:n_predictors]
    mine = [p[:4].repeat(len(outcomes), axis=0) for p in predictions]
    all_counts = np.concatenate([np.tile(outcomes, (4, 1)), counts])
    fold = np.concatenate([np.zeros(len(mine[0]), int), 1 + np.arange(n) % 2])
    rows = tuple(np.concatenate(both) for both in zip(mine, predictions, strict=True))
    found = VotedDistances(rows, all_counts, np.ones(len(fold)), fold).bounds(loss).rows
    return outcomes, mine, found[:, : len(mine[0])].reshape(2, 4, len(outcomes))


def true_shares(k, p, rng):
    """Corners, ties, predictions and random shares."""
    ties = [np.eye(k)[:j].mean(axis=0) for j in range(1, k + 1)]
    return np.concatenate([ties, np.eye(k), *p, rng.dirichlet(np.full(k, 0.5), 50)])


@pytest.mark.parametrize("n_predictors", [1, 2])
@pytest.mark.parametrize(("k", "m"), [(2, 1), (2, 4), (3, 3)])
@pytest.mark.parametrize("loss", LOSSES)
def test_the_mean_over_all_votes_lies_on_its_side_of_the_distance(loss, k, m, n_predictors):
    rng = np.random.default_rng((k, m))
    outcomes, predictions, (low, high) = functions_of_votes(loss, k, m, n_predictors, rng)
    firsts = [p[:: len(outcomes)] for p in predictions]
    for q in true_shares(k, firsts, rng):
        targets = np.tile(q, (4, 1))
        f, *other = (distances(p, targets, floor=1e-12)[loss] for p in firsts)
        f = f - other[0] if other else f
        weights = chances(outcomes, q)
        assert (low @ weights <= f + 0.003).all()
        assert (high @ weights >= f - 0.003).all()


def test_rows_of_more_votes_count_as_means_over_fewer_of_them():
    """Of 12 votes 10 count: the mean over all outcomes of 12 has the same polynomial."""
    some = Binomial(10)
    q = np.array([0.0, 0.1, 0.55, 1.0])
    counts = np.arange(13)
    of_twelve = Binomial(12).chances_of(q)
    twin = some.patterns(counts, np.full(13, 12)).T @ of_twelve
    assert twin == pytest.approx(some.chances_of(q))
    whole = some.patterns(np.array([3]), np.array([10]))
    assert whole == pytest.approx(np.eye(11)[[3]])


@pytest.mark.parametrize(("k", "m"), [(2, 5), (3, 4), (4, 3), (6, 2)])
def test_patterns_without_names_have_the_chances_of_all_outcomes_like_them(k, m):
    q = np.random.default_rng(k).dirichlet(np.ones(k), 5)
    found = Unlabelled(m, k, q)
    outcomes = compositions(m, k)
    twin = np.array([chances(outcomes, each) for each in q])
    patterns = found.patterns(outcomes, np.full(len(outcomes), m))
    np.testing.assert_allclose(found.chances_of(q), (twin @ patterns).T, atol=1e-12)
    assert len(partitions(m, k)) == n_partitions(m, k) == patterns.shape[1]


def test_degrees_without_names_have_few_patterns():
    assert unlabelled_degrees(2)[-1] == 50 and unlabelled_degrees(3)[-1] == 20
    assert unlabelled_degrees(100)[-1] == 10


# --- against other solvers ------------------------------------------------------------------------


def a_programme(m=4, x=0.37, seed=0):
    experiment = Binomial(m)
    law = np.random.default_rng(seed).dirichlet(np.full(experiment.values.size, 0.2))
    seen = experiment.chances @ law  # else a linear programme has no end
    return experiment.chances.T, np.abs(x - experiment.values), seen


def test_without_slack_the_function_is_that_of_a_linear_programme():
    for seed in range(5):
        above, f, seen = a_programme(seed=seed)
        found = least_above(above, f, seen, 1e-3)
        twin = linprog(seen, -above, -f, bounds=(None, None))
        assert (above @ found >= f - 1e-6).all()
        assert seen @ found == pytest.approx(twin.fun, abs=1e-3)


@pytest.mark.parametrize("slack", [0.1, 1.0, 10.0])
def test_with_slack_it_is_that_of_a_quadratic_one(slack):
    above, f, seen = a_programme()

    def price(g):
        return seen @ g + slack / 2 * seen @ g**2

    twin = minimize(
        price,
        np.full(5, f.max()),
        constraints={"type": "ineq", "fun": lambda g: above @ g - f},
        method="SLSQP",
        options={"maxiter": 500, "ftol": 1e-12},
    )
    found = least_above(above, f, seen, slack)
    assert price(found) == pytest.approx(twin.fun, abs=1e-6)
    assert (above @ found >= f - 1e-8).all()


def test_many_rows_have_the_bounds_of_all_laws_with_their_votes():
    """One prediction, and shares of .1 or .7: of three votes all laws with as many of each count
    have means between those that linear programmes find.
    """
    rng = np.random.default_rng(0)
    n, m, x = 25_000, 3, 0.3
    q = np.where(rng.random(n) < 0.4, 0.7, 0.1)
    votes = rng.binomial(m, q)
    p = np.full((n, 2), [1 - x, x])
    found = VotedDistances(
        (p,), np.column_stack([m - votes, votes]), np.ones(n), fold_of(n, None, 0)
    ).bounds("distribution")
    grid = np.linspace(0, 1, 501)
    counts = Binomial(m).chances_of(grid)
    law = Binomial(m).chances_of(np.array([0.1, 0.7])) @ [0.6, 0.4]
    twin = [sign * linprog(sign * np.abs(x - grid), A_eq=counts, b_eq=law).fun for sign in (1, -1)]
    assert found.rows.mean(axis=1) == pytest.approx(twin, abs=0.012)
    assert twin[1] - twin[0] > 0.06  # what more rows do not take away
    assert np.abs(x - q).mean() == pytest.approx(0.28, abs=0.005)
