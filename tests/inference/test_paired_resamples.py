"""Resamples that are common to every predictor of the same rows."""

import math
import warnings

import numpy as np
import pytest

import calibrant as cal
from calibrant._core.binning import EqualWidth, Quantile
from calibrant._data.to_samples import to_samples
from calibrant._engines.arrays.counting import bin_table
from calibrant._inference.budget import MAX_BLOCKS, WHOLE_RESAMPLES
from calibrant._inference.paired import draw_blocks, replicates
from calibrant._inference.problems import Problems
from calibrant._measures.catalogue import find
from rivals import (
    CASES,
    LOSSES,
    binary,
    case,
    compared,
    multi,
    softmax,
)


def the_counts(draws, r):
    return draws.counts[r][draws.blocks]


FIXED = {
    "binary": ("ece", "rmsce", "mce", *LOSSES, "ks_error"),
    "multi": ("ece", "rmsce", "classwise_ece", *LOSSES),
}


@pytest.mark.parametrize("name", CASES)
def test_a_resample_is_the_sample_with_counts_as_weights(name):
    """Lots are rows where n <= 1,000, so every draw can be had from evaluate() with weights."""
    y, u, _, options = case(name)
    measures = FIXED["binary" if name.startswith("binary") else "multi"]
    given = options.pop("sample_weight", None)
    found = compared(name)
    draws = draw_blocks(len(y), 60, 3, None, given)
    assert sorted(draws.blocks) == list(range(len(y)))
    assert (draws.counts.sum(axis=1) == len(y)).all()
    for r in (0, 59):
        weights = the_counts(draws, r) * (1 if given is None else given)
        for i, predictions in enumerate(u.values()):
            expected = cal.evaluate(
                y, predictions, measures=measures, bins=7, sample_weight=weights, **options
            )
            for measure in measures:
                drawn = found.draws[found.measures.index(measure)][i, r]
                assert drawn == pytest.approx(expected[measure], rel=1e-9, abs=1e-14), measure


def test_a_resample_keeps_the_quantile_bins_of_the_sample():
    y, u = binary(300)
    measures = ("lin_ce", "ace", "debiased_l2", "confidence_ce")
    found = cal.compare(y, u, measures=measures, bins=8, n_resamples=50, seed=1)
    draws = draw_blocks(300, 50, 1)
    for i, predictions in enumerate(u.values()):
        edges = {}
        for notion in ("binary", "confidence"):
            _, cuts, _ = bin_table(to_samples(y, predictions), notion, Quantile(8))
            edges[notion] = cal.Edges([0.0, *cuts.inner, 1.0])
        for r in (0, 24, 49):
            for j, measure in enumerate(measures):
                notion = "confidence" if measure.startswith("confidence") else "binary"
                # Drawn twice, a row is two rows, not one of weight 2.
                rows = np.repeat(np.arange(300), the_counts(draws, r).astype(int))
                # In given edges `ace` is the ECE: by name it would have quantile bins of its own.
                named = "ece" if measure == "ace" else measure
                expected = cal.evaluate(
                    y[rows], predictions[rows], measures=[named], bins=edges[notion]
                )
                drawn = found.draws[j][i, r]
                assert drawn == pytest.approx(expected[named], rel=1e-9), (measure, r)


def test_a_resample_keeps_the_quantile_bins_of_every_class():
    y, x = multi(200, 3)
    p = {name: softmax(value) for name, value in x.items()}
    measures = ("ace", "classwise_ce", "confidence_ce_uncorrected", "confidence_ce")
    found = cal.compare(y, p, measures=measures, bins=6, n_resamples=50, seed=2)
    draws = draw_blocks(200, 50, 2)
    for i, rows in enumerate(p.values()):
        for r in (0, 49):
            w = the_counts(draws, r)
            ace, linear = [], []
            for k in range(3):
                z = (y == k).astype(int)
                _, cuts, _ = bin_table(to_samples(z, rows[:, k]), "binary", Quantile(6))
                edges = cal.Edges([0.0, *cuts.inner, 1.0])
                ace.append(cal.ece(z, rows[:, k], bins=edges, sample_weight=w))
                linear.append(cal.lin_ce(z, rows[:, k], bins=edges, sample_weight=w))
            assert found.draws[0][i, r] == pytest.approx(np.mean(ace), rel=1e-9)
            assert found.draws[1][i, r] == pytest.approx(np.mean(linear), rel=1e-9)
            top, hit = rows.max(axis=1), (rows.argmax(axis=1) == y).astype(float)
            _, cuts, _ = bin_table(to_samples(y, rows), "confidence", Quantile(6))
            gaps = np.bincount(cuts.find(top), w * (top - hit), cuts.m)
            squared = (gaps**2).sum() / w.sum() ** 2
            correction = (1 - (w * hit).sum() / w.sum()) / w.sum()
            assert found.draws[2][i, r] == pytest.approx(squared, rel=1e-9)
            assert found.draws[3][i, r] == pytest.approx(squared + correction, rel=1e-9)


@pytest.mark.parametrize(
    "bins", ["level-sets", cal.EqualWidth(6, drop_one=True), cal.Quantile(6, ties="rank")]
)
def test_rules_without_edges_are_computed_anew(bins):
    y, u = binary(60)
    u = {name: np.round(value, 2) for name, value in u.items()}
    u["over"][:3] = 1.0
    found = cal.compare(y, u, measures=["ece", "lin_ce"], bins=bins, n_resamples=250)
    draws = draw_blocks(60, 250, 0)
    dropping = isinstance(bins, cal.EqualWidth)
    for drawn in found.draws:
        assert drawn.shape == (3, WHOLE_RESAMPLES if dropping else 250)
    if isinstance(bins, cal.Quantile):
        return  # bins stay where the rows put them
    for r in (0, 199):
        expected = cal.ece(y, u["over"], bins=bins, sample_weight=the_counts(draws, r))
        assert found.draws[0][1, r] == pytest.approx(expected, rel=1e-9)


def test_large_samples_are_dealt_into_lots():
    draws = draw_blocks(2500, 50, 0)
    assert draws.n_blocks == MAX_BLOCKS == 1000
    assert set(np.bincount(draws.blocks)) == {2, 3}
    # At random: rows that come in turns of ten would otherwise share their lots.
    assert (draws.blocks != np.arange(2500) % 1000).mean() > 0.9
    y, u = binary(2500)
    found = cal.compare(y, u, measures=["ece", "brier", "mce"], n_resamples=50)
    for r in (0, 49):
        w = the_counts(draws, r)
        assert found.draws[0][1, r] == pytest.approx(cal.ece(y, u["over"], sample_weight=w))
        assert found.draws[1][1, r] == pytest.approx(cal.brier_score(y, u["over"], sample_weight=w))
    # Lots scatter a mean as rows do.
    loss = (u["over"] - y) ** 2
    many = cal.compare(y, u, measures=["brier"], n_resamples=1000, bin_counts=(5,)).draws[0][1]
    assert many.std() == pytest.approx(loss.std() / math.sqrt(2500), rel=0.1)


@pytest.mark.parametrize("n", [1, 7, 300, 2500])
def test_resamples_are_those_of_a_loop(n):
    """Many are drawn at a time, with the numbers that one after the other has."""
    rng = np.random.default_rng((4, 7))
    n_blocks = min(n, MAX_BLOCKS)
    blocks = rng.permutation(n) % n_blocks
    rows = [np.bincount(rng.integers(0, n_blocks, n_blocks), None, n_blocks) for _ in range(70)]
    for weights in (None, np.ones(n)):
        draws = draw_blocks(n, 70, 4, None, weights)
        assert (draws.blocks == blocks).all() and (draws.counts == rows).all()
    some = np.arange(n) < max(1, n // 2)  # some blocks may be without weight: one at a time
    assert n == 1 or (draw_blocks(n, 70, 4, None, some + 0.0).counts == rows).mean() > 0.5


def test_draws_depend_on_the_seed_alone():
    y, u = binary()
    first, again, other = (
        cal.compare(y, u, measures=["ece", "brier"], n_resamples=50, seed=seed)
        for seed in (0, 0, 1)
    )
    for a, b, c in zip(first.draws, again.draws, other.draws, strict=True):
        assert (a == b).all() and not (a == c).any()
    # One predictor's draws do not depend on who else is there.
    less = cal.compare(y, {k: u[k] for k in ("dull", "over")}, measures=["ece"], n_resamples=50)
    assert (less.draws[0][0] == first.draws[0][2]).all()
    assert (less.draws[0][1] == first.draws[0][1]).all()


def test_groups_are_drawn_whole():
    y, u = binary(90)
    groups = np.array(["x", "y", "z"])[np.arange(90) % 3]
    index = np.arange(90) % 3
    draws = draw_blocks(90, 60, 5, index)
    assert (draws.blocks == index).all() and draws.counts.shape == (60, 3)
    found = cal.compare(y, u, measures=["ece", "brier"], groups=groups, n_resamples=60, seed=5)
    assert found.recipe["grouped"]
    for r in (0, 59):
        w = the_counts(draws, r)
        assert found.draws[0][0, r] == pytest.approx(cal.ece(y, u["right"], sample_weight=w))
        expected = cal.brier_score(y, u["right"], sample_weight=w)
        assert found.draws[1][0, r] == pytest.approx(expected)


def test_rows_of_weight_0_are_never_all_that_is_drawn():
    y, u = binary(40)
    w = np.zeros(40)
    w[:2] = 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = cal.compare(
            y, u, measures=["ece", "lin_ce", "brier", "ks_error"], sample_weight=w, n_resamples=300
        )
    assert all(np.isfinite(drawn).all() for drawn in found.draws)
    d = found.difference("over", "right", "brier")
    assert math.isfinite(d.low) and math.isfinite(d.high)


def test_a_draw_without_what_a_measure_is_about_says_nothing_new():
    """Only one prediction is above the threshold of tace: many draws are without it."""
    y, _ = binary(40)
    rare = np.zeros(40)
    rare[0] = 0.5
    other = np.linspace(0.1, 0.9, 40)
    found = cal.compare(y, {"rare": rare, "other": other}, measures=["tace"], n_resamples=100)
    value = found.value("rare", "tace")
    assert value == pytest.approx(abs(0.5 - y[0]))
    assert found.draws[0][0] == pytest.approx(np.full(100, value))
    draws = draw_blocks(40, 100, 0)
    assert (draws.counts[:, draws.blocks[0]] == 0).any()


def test_replicates_of_one_predictor():
    y, u = binary(100)
    draws = draw_blocks(100, 50, 0)
    measures = tuple(find(name, "binary") for name in ("brier", "ece", "log_loss"))
    made = Problems(to_samples(y, u["over"]))
    out = replicates(made, measures, EqualWidth(15), Quantile(15), draws)
    found = cal.compare(y, u, measures=["brier", "ece", "log_loss"], n_resamples=50)
    assert [a.tolist() for a in out] == [a[1].tolist() for a in found.draws]
