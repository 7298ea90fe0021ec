"""Some rows of samples: weights follow, and the mask of the rows as given does not."""

from __future__ import annotations

import importlib

import numpy as np
import pytest

from calibrant import Edges, EqualWidth, LevelSets, Quantile
from calibrant._data.to_samples import to_samples, to_source
from calibrant._engines.arrays.counting import rows_above
from needs import need

Y = [0, 1, 1, 0, 1]
P = [0.1, np.nan, 0.9, 0.4, 0.7]
W = [1.0, 2.0, 3.0, 4.0, 5.0]
COUNTS = np.random.default_rng(16).multinomial(5, [0.4, 0.3, 0.2, 0.1], 20) + np.eye(
    20, 4, dtype=int
)
VOTES = COUNTS.sum(axis=1)
SHARES = COUNTS / VOTES[:, None]
ROWS = np.full((20, 4), 0.25)


def dropped(**options):
    return to_samples(Y, P, sample_weight=W, missing="drop", **options)


@pytest.mark.parametrize(
    "rows",
    [slice(1, 3), np.array([1, 2]), np.array([False, True, True, False])],
    ids=["slice", "numbers", "mask"],
)
def test_rows_take_their_targets_and_weights_along(rows):
    some = dropped().take(rows)
    assert some.n == 2
    assert some.predictions.tolist() == [0.9, 0.4]
    assert some.targets.tolist() == [1, 0]
    assert some.weights.tolist() == [3.0, 4.0]


def test_the_mask_of_the_rows_as_given_is_not_carried_along():
    """It was by most copies of this code: values of as many rows as were given lost one more."""
    samples = dropped()
    assert samples.values_of_kept(np.arange(5)).tolist() == [0, 2, 3, 4]
    again = samples.take(np.array([0, 0, 1, 2, 3]))
    assert again.kept is None
    assert again.values_of_kept(np.arange(5)).tolist() == [0, 1, 2, 3, 4]


def test_rows_above_a_threshold_have_no_mask_either():
    above = rows_above(dropped(), 0.5)
    assert above.kept is None and above.predictions.tolist() == [0.9, 0.7]


def test_tensors_are_taken_alike(monkeypatch):
    torch = pytest.importorskip("torch")
    monkeypatch.setenv("CALIBRANT_ENGINE", "torch")
    samples = to_source(
        torch.tensor(Y), torch.tensor(P, dtype=torch.float64), sample_weight=W, missing="drop"
    )
    assert samples.kept.tolist() == dropped().kept.tolist() and samples.n_missing == 1
    some = samples.take(torch.tensor([0, 3]))
    assert some.kept is None and some.in_memory().kept is None
    assert some.predictions.tolist() == [0.1, 0.7] and some.weights.tolist() == [1.0, 5.0]
    assert samples.row(2).predictions.tolist() == [0.4]
    assert importlib.import_module(some.engine).rows_above(samples, 0.5).kept is None


def test_shape_and_columns():
    assert (dropped().shape, dropped().n_columns, dropped().n_classes) == ("binary", 1, 2)
    rows = to_samples([0, 2], [[0.2, 0.3, 0.5], [0.1, 0.1, 0.8]])
    assert (rows.shape, rows.n_columns, rows.n_classes) == ("multiclass", 3, 3)


@pytest.mark.parametrize(
    ("rule", "is_fixed", "drops_one"),
    [
        (EqualWidth(10), True, False),
        (EqualWidth(10, drop_one=True), True, True),
        (Edges([0, 0.5, 1]), True, False),
        (Quantile(10), False, False),
        (LevelSets(), False, False),
    ],
    ids=str,
)
def test_rules_say_whether_they_are_fixed_and_drop_one(rule, is_fixed, drops_one):
    assert (rule.is_fixed, rule.drops_one) == (is_fixed, drops_one)


def test_votes_stay_with_their_rows():
    samples = to_samples(COUNTS, ROWS)
    np.testing.assert_array_equal(samples.votes, VOTES)
    np.testing.assert_array_equal(samples.take(slice(3, 9)).votes, VOTES[3:9])
    assert to_samples(SHARES, ROWS).votes is None
    gaps = ROWS.copy()
    gaps[5, 0] = np.nan
    dropped = to_samples(COUNTS, gaps, missing="drop")
    np.testing.assert_array_equal(dropped.votes, np.delete(VOTES, 5))
    beside = to_samples(SHARES, gaps, missing="drop", votes=VOTES)
    np.testing.assert_array_equal(beside.votes, np.delete(VOTES, 5))


def test_tensors_keep_their_votes(monkeypatch):
    torch = need("torch")
    monkeypatch.setenv("CALIBRANT_ENGINE", "torch")
    samples = to_source(torch.tensor(COUNTS), torch.tensor(ROWS))
    assert samples.votes.tolist() == VOTES.tolist()
    here = samples.take(slice(0, 7)).in_memory()
    np.testing.assert_array_equal(here.votes, VOTES[:7])
    np.testing.assert_array_equal(here.targets, SHARES[:7])
