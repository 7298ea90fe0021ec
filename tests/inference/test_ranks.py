"""Rank correlations: SciPy's numbers, the published margins, and a clear word where none exists."""

from __future__ import annotations

import json
import math
import time
import tracemalloc
import warnings
from itertools import combinations, pairwise

import numpy as np
import pytest
from scipy import stats

from calibrant import InputError, rank_robustness
from calibrant._inference.ranks import (
    average_ranks,
    maximum_dominance_set,
    spearman_margin,
    spearman_table,
)

RNG = np.random.default_rng(20)
TABLES = {
    "no ties": RNG.normal(size=(200, 4)),
    "some ties": RNG.integers(0, 40, (200, 4)).astype(float),
    "mostly ties": RNG.integers(0, 3, (50, 4)).astype(float),
    "two rows": np.array([[0.0, 1.0], [1.0, 0.0]]),
    "infinite": np.where(RNG.random((30, 3)) < 0.2, np.inf, RNG.random((30, 3))),
}
every_table = pytest.mark.parametrize("name", TABLES)


@every_table
def test_ranks_are_scipys(name):
    table = TABLES[name]
    np.testing.assert_array_equal(average_ranks(table), stats.rankdata(table, axis=0))


@every_table
def test_correlations_are_scipys(name):
    table = TABLES[name]
    ours = spearman_table(table)
    for i in range(table.shape[1]):
        for j in range(table.shape[1]):
            expected = stats.spearmanr(table[:, i], table[:, j]).statistic
            assert ours[i, j] == pytest.approx(expected, abs=1e-12)
    np.testing.assert_array_equal(spearman_table(table, table[:, :1]), ours[:, :1])


@pytest.mark.parametrize("n", [2, 3, 1000, 20_001])
def test_the_same_order_is_one_exactly_and_its_reverse_minus_one(n):
    x = np.random.default_rng(n).permutation(n) // 2 if n > 3 else np.arange(n)
    same = spearman_table(np.column_stack([x, np.exp(x / n), -x]))
    assert same[0].tolist() == [1.0, 1.0, -1.0]
    assert spearman_margin(1.0, n) == 0.0


def test_a_constant_column_ranks_nothing_and_no_warning_is_given():
    table = np.column_stack([np.arange(5), np.full(5, 0.1)])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rho = spearman_table(table)
    assert rho[0, 0] == 1.0
    assert np.isnan([rho[0, 1], rho[1, 0], rho[1, 1]]).all()


def test_inputs_are_left_alone():
    table = RNG.random((9, 2))
    table.flags.writeable = False
    before = table.copy()
    spearman_table(table)
    np.testing.assert_array_equal(table, before)


def test_the_margin_is_the_formula_and_gives_the_published_ones():
    assert spearman_margin(0.6, 400) == pytest.approx(1.96 * 0.64 / 20, rel=1e-15)
    # The cross-model column of table 1 of Lu et al. names no N; 3,682 to 3,774 give every margin of
    # it, for correlations that are rounded themselves.
    printed = [
        (0.974, 2), (0.654, 18), (0.604, 20), (0.672, 18), (0.624, 20), (0.841, 9),
        (0.976, 2), (0.639, 19), (0.582, 21), (0.662, 18), (0.608, 20), (0.828, 10),
        (0.999, 0), (0.891, 7), (0.753, 14), (0.895, 6), (0.760, 14), (0.884, 7),
        (0.992, 0), (0.875, 8), (0.873, 8), (0.910, 6), (0.907, 6), (0.997, 0),
    ]  # fmt: skip
    for rho, thousandths in printed:
        most = spearman_margin(rho - 0.0005, 3700)
        least = spearman_margin(rho + 0.0005, 3700)
        assert least < (thousandths + 0.5) / 1000 and most > (thousandths - 0.5) / 1000, rho


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ([[1.0, 2.0]], "2 or more predictors to compare; got 1"),
        (np.empty((0, 3)), "2 or more predictors"),
        ([1.0, 2.0], r"shape \(n, c\)"),
        (np.empty((3, 0)), r"c >= 1; got \(3, 0\)"),
        ([["a"], ["b"]], "must be numbers"),
        ([[1.0, 2.0], [3.0, math.nan], [1.0, 1.0]], "1 NaN, the first for predictor 1 in column 1"),
    ],
)
def test_what_cannot_be_ranked_is_refused(table, words):
    with pytest.raises(InputError, match=words):
        spearman_table(table)


def test_columns_of_different_predictors_are_refused():
    with pytest.raises(InputError, match="same predictors; got 3 and 2 rows"):
        spearman_table([[1], [2], [3]], [[1], [2]])


# --- the table of the paper, on data whose answers are known --------------------------------------


def constructed(n=60):
    """A pool in a line from best to worst: one error keeps the line, one turns with its bins."""
    quality = np.arange(n, dtype=float)
    losses = {"classification_error": quality / n, "log_loss": quality**2}
    errors = {
        ("steady", 2000): quality,
        ("steady", 5): np.sqrt(quality),
        ("turning", 2000): quality,
        ("turning", 20): np.where(quality % 2, quality, 0.0),
        ("turning", 5): -quality,
    }
    return errors, losses


def test_each_measure_has_its_rows_in_the_order_of_the_paper():
    errors, losses = constructed()
    result = rank_robustness(errors, losses)
    pairs = [(r.first, r.second) for r in result.select(measure="turning")]
    assert pairs == [
        ("classification_error", "turning(2000)"),
        ("classification_error", "turning(20)"),
        ("classification_error", "turning(5)"),
        ("log_loss", "turning(2000)"),
        ("log_loss", "turning(20)"),
        ("log_loss", "turning(5)"),
        ("turning(2000)", "turning(20)"),
        ("turning(2000)", "turning(5)"),
        ("turning(20)", "turning(5)"),
        ("dominance order", "turning(2000)"),
        ("dominance order", "turning(20)"),
        ("dominance order", "turning(5)"),
    ]
    assert len(result.rows) == len(pairs) + 2 * 2 + 1 + 2


def test_its_numbers():
    errors, losses = constructed()
    result = rank_robustness(errors, losses)
    assert result.chain == tuple(range(60))
    assert [r.value for r in result.select(measure="steady")] == [1.0] * 7
    between = {(r.first, r.second): r for r in result.select(measure="turning", relation="bins")}
    assert between["turning(2000)", "turning(5)"].value == -1.0
    mixed = between["turning(2000)", "turning(20)"]
    expected = stats.spearmanr(errors["turning", 2000], errors["turning", 20]).statistic
    assert mixed.value == pytest.approx(expected, abs=1e-12)
    assert mixed.margin == pytest.approx(1.96 * (1 - expected**2) / math.sqrt(60), rel=1e-12)


def test_dominance_ranks_only_the_line():
    # Predictor 2 is best on one loss and worst on the other: comparable with nobody.
    losses = {"a": [0.3, 0.1, 0.0, 0.2], "b": [0.3, 0.1, 0.9, 0.2]}
    errors = {("ece", 10): [3.0, 1.0, 50.0, 2.0]}
    result = rank_robustness(errors, losses, names=["worst", "best", "odd", "mid"])
    assert result.chain == (1, 3, 0)
    (row,) = result.select(relation="dominance")
    assert (row.value, row.n) == (1.0, 3)
    assert result.to_dict()["chain_names"] == ["best", "mid", "worst"]
    assert result.select(relation="loss")[0].value == pytest.approx(-0.2)


def test_what_cannot_be_ranked_is_none_in_every_form():
    # No predictor beats the other, and one error is constant.
    result = rank_robustness({("ece", 10): [0.5, 0.5]}, {"a": [0.0, 1.0], "b": [1.0, 0.0]})
    assert len(result.chain) == 1
    assert [(r.value, r.margin) for r in result.rows] == [(None, None)] * 3
    assert json.loads(result.to_json())["correlations"]["spearman"] == [None] * 3
    assert "ece(10)                    2" in repr(result)
    assert "<td>ece(10)</td><td></td><td></td><td>2</td>" in result._repr_html_()
    for backend in ("pandas", "polars", "pyarrow"):
        pytest.importorskip(backend)
        frame = result.to_frame(backend)
        assert np.isnan(np.asarray(frame["margin"], dtype=float)).all()


def test_an_unmeasured_predictor_is_named():
    errors, losses = constructed(3)
    errors["steady", 5] = [0.1, math.nan, 0.2]
    with pytest.raises(InputError, match=r"errors\[\('steady', 5\)\] has 1 NaN.*'net-b' \(row 1\)"):
        rank_robustness(errors, losses, names=["net-a", "net-b", "net-c"])


@pytest.mark.parametrize(
    ("errors", "losses", "words"),
    [
        ({}, {"a": [1, 2]}, "at least one entry"),
        ({("ece", 5): [1, 2]}, {"a": [1, 2, 3]}, "same number of predictors; got 2 and 3"),
        (
            {("ece", 5): [1, 2], ("ece", 9): [1, 2, 3]},
            {"a": [1, 2]},
            "must have 2 predictors",
        ),
        ({("ece", 5): [[1, 2]]}, {"a": [1, 2]}, "must be one column"),
        ({("ece", 5): [1]}, {"a": [1]}, "2 or more predictors"),
    ],
)
def test_tables_that_do_not_fit_are_refused(errors, losses, words):
    with pytest.raises(InputError, match=words):
        rank_robustness(errors, losses)


# --- the longest line of predictors, each better on every loss than the next ---------------------


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
def test_the_line_is_the_longest_of_all_subsets(n_losses, n_values):
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
        ([[0.1, 0.2]], None, "2 or more predictors to compare; got 1"),
        (np.empty((0, 2)), None, "2 or more predictors to compare; got 0"),
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
