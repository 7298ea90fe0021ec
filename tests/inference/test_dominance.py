"""The longest line of predictors, each better on every loss than the next."""

from __future__ import annotations

import math
import time
import tracemalloc
from itertools import combinations, pairwise

import numpy as np
import pytest

from calibrant import InputError
from calibrant._inference.ranks import maximum_dominance_set


def better(a, b):
    """The definition, one loss at a time."""
    return all(x <= y for x, y in zip(a, b, strict=True)) and any(
        x < y for x, y in zip(a, b, strict=True)
    )


def longest_lines(losses):
    """Every longest line as its losses from the best on, out of all subsets."""
    rows = [tuple(row) for row in losses.tolist()]
    comparable = [
        sum(1 << j for j, b in enumerate(rows) if better(a, b) or better(b, a)) for a in rows
    ]
    found, size = [], 0
    for subset in range(1, 1 << len(rows)):
        members = [i for i in range(len(rows)) if subset >> i & 1]
        a_line = all(not subset & ~(comparable[i] | 1 << i) for i in members)
        if len(members) < size or not a_line:
            continue
        if len(members) > size:
            found, size = [], len(members)
        found.append(sorted(rows[i] for i in members))
    return found


@pytest.mark.parametrize("n_values", [2, 3, 6, 1000], ids=lambda v: f"{v} values")
@pytest.mark.parametrize("n_losses", [1, 2, 3, 5])
def test_it_is_the_longest_of_all_subsets(n_losses, n_values):
    rng = np.random.default_rng(100 * n_losses + n_values)
    for n in [2, 3, 4, 5, 6, 7, 8, 9] * 3:
        losses = rng.integers(0, n_values, (n, n_losses)).astype(float)
        line = losses[maximum_dominance_set(losses)]
        every = longest_lines(losses)
        assert len(line) == len(every[0])
        # And of the longest, the one that the documentation promises.
        assert [tuple(row) for row in line.tolist()] == min(every)


@pytest.mark.parametrize("noise", [0.0, 0.01, 0.1, 1.0])
def test_each_is_better_than_every_later_one(noise):
    rng = np.random.default_rng(3)
    losses = np.round(rng.random((300, 1)) + noise * rng.normal(size=(300, 5)), 2)
    line = maximum_dominance_set(losses)
    assert len(set(line.tolist())) == len(line) >= 2
    assert all(better(losses[a], losses[b]) for a, b in combinations(line, 2))


def test_one_loss_gives_every_distinct_predictor_in_order():
    rng = np.random.default_rng(4)
    losses = rng.integers(0, 50, 200).astype(float)
    values, first = np.unique(losses, return_index=True)
    line = maximum_dominance_set(losses[:, None])
    np.testing.assert_array_equal(line, first)
    np.testing.assert_array_equal(losses[line], values)


def test_predictors_that_each_win_somewhere_give_a_line_of_one():
    x = np.linspace(0, 1, 30)
    assert maximum_dominance_set(np.column_stack([x, 1 - x])).tolist() == [0]


def test_equal_predictors_are_not_comparable_and_the_first_stands_for_them():
    assert maximum_dominance_set(np.full((4, 3), 0.2)).tolist() == [0]
    losses = [[0.5, 0.5], [0.1, 0.1], [0.5, 0.5], [0.1, 0.1], [-0.0, 0.0], [0.0, -0.0]]
    assert maximum_dominance_set(losses).tolist() == [4, 1, 0]


def test_a_tie_on_some_losses_is_enough():
    assert maximum_dominance_set([[0.1, 0.3], [0.1, 0.2], [0.1, 0.4]]).tolist() == [1, 0, 2]


def test_the_losses_of_the_line_do_not_depend_on_the_order_of_rows():
    rng = np.random.default_rng(5)
    losses = rng.integers(0, 8, (80, 3)).astype(float)
    line = losses[maximum_dominance_set(losses)]
    for _ in range(20):
        shuffled = rng.permutation(losses)
        np.testing.assert_array_equal(shuffled[maximum_dominance_set(shuffled)], line)


def test_increasing_transforms_and_the_order_of_losses_keep_its_length():
    rng = np.random.default_rng(6)
    losses = rng.random((150, 4))
    length = len(maximum_dominance_set(losses))
    assert len(maximum_dominance_set(np.exp(3 * losses))) == length
    assert len(maximum_dominance_set(losses[:, ::-1])) == length
    # Better turned to worse, the lines are the same ones.
    assert len(maximum_dominance_set(-losses)) == length


def test_an_infinite_loss_is_a_loss():
    losses = [[math.inf, 1.0], [0.5, 1.0], [math.inf, 2.0]]
    assert maximum_dominance_set(losses).tolist() == [1, 0, 2]


@pytest.mark.parametrize(
    ("losses", "names", "words"),
    [
        ([[0.1, 0.2]], None, "2 predictors or more to compare; got 1"),
        (np.empty((0, 2)), None, "2 predictors or more to compare; got 0"),
        ([[0.1], [math.nan]], None, "losses has 1 NaN, the first for predictor 1:"),
        ([[0.1, math.nan], [0.2, 0.3]], ["a", "b"], r"predictor 'a' \(row 0\) in column 1"),
        ([0.1, 0.2], None, r"shape \(n, c\)"),
        ([[0.1], [0.2]], ["a"], "names must have 2 entries"),
    ],
)
def test_what_has_no_order_is_refused(losses, names, words):
    with pytest.raises(InputError, match=words):
        maximum_dominance_set(losses, names=names)


def test_four_thousand_predictors_are_quick_and_take_little_memory():
    rng = np.random.default_rng(7)
    losses = rng.random((4000, 1)) + 0.01 * rng.normal(size=(4000, 5))
    losses.flags.writeable = False
    began = time.perf_counter()
    line = maximum_dominance_set(losses)
    assert time.perf_counter() - began < 10  # 0.11 s on two slow cores
    assert all(better(losses[a], losses[b]) for a, b in pairwise(line))
    # Watched memory is slow memory: of fewer. A matrix of all pairs alone is 1 MB.
    some = losses[:1000]
    tracemalloc.start()
    maximum_dominance_set(some)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4 * some.nbytes + 1000 * 64
