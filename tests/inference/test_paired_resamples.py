"""Resamples of rows: measures without a formula for many of them are computed for each."""

import numpy as np
import pytest

import calibrant as cal
from calibrant import EqualWidth, Quantile
from calibrant._core.binning import both_rules
from calibrant._data.to_samples import to_samples
from calibrant._inference.bootstrap import draw_blocks, replicates
from calibrant._inference.budget import MAX_BLOCKS, few_draws
from calibrant._measures.catalogue import find
from rivals import binary, case


def drawn_values(samples, name, bins, draws):
    fixed, quantile = both_rules(bins, samples.n)
    measure = find(name, "multiclass" if samples.multiclass else "binary")
    return replicates(samples, measure, fixed, quantile, draws)


@pytest.mark.parametrize("name", ["binary", "binary soft weighted", "multi logits", "multi soft"])
def test_a_resample_is_the_sample_with_counts_as_weights(name):
    """Blocks are rows where n <= 1,000, so every draw can be had from evaluate() with weights."""
    y, u, _, options = case(name)
    given = options.pop("sample_weight", None)
    predictions = u["over"]
    samples = to_samples(y, predictions, given, options.get("from_logits", False))
    draws = draw_blocks(len(y), 3, 3)
    assert sorted(draws.blocks) == list(range(len(y)))
    assert (draws.counts.sum(axis=1) == len(y)).all()
    for measure in ("ece", "brier", "lin_ce"):
        drawn = drawn_values(samples, measure, 7, draws)
        for counts, value in zip(draws.counts, drawn, strict=True):
            weights = counts[draws.blocks] * (1 if given is None else given)
            expected = cal.evaluate(
                y, predictions, measures=[measure], bins=7, sample_weight=weights, **options
            )
            assert value == pytest.approx(expected[measure], rel=1e-9, abs=1e-14)


@pytest.mark.parametrize("bins", ["level-sets", EqualWidth(6, drop_one=True)])
def test_rules_without_edges_are_computed_anew(bins):
    y, u = binary(60)
    predictions = np.round(u["over"], 2)
    predictions[:3] = 1.0
    draws = draw_blocks(60, 20, 0)
    drawn = drawn_values(to_samples(y, predictions), "ece", bins, draws)
    for counts, value in zip(draws.counts, drawn, strict=True):
        expected = cal.ece(y, predictions, bins=bins, sample_weight=counts[draws.blocks])
        assert value == pytest.approx(expected, rel=1e-9)


def test_an_interval_of_what_has_no_family_is_of_these_resamples():
    y, u = binary(60)
    u = {name: np.round(value, 2) for name, value in u.items()}
    rule = EqualWidth(6, drop_one=True)
    found = cal.compare(y, u, measures=["ece"], bins=rule, n_resamples=250)
    alone = cal.interval(y, u["over"], measure="ece", bins=rule, n_resamples=250)
    at = found.names.index("over")
    assert found.limits[at, 0].tolist() == [alone.low, alone.high, alone.estimate]
    drawn = drawn_values(to_samples(y, u["over"]), "ece", rule, draw_blocks(60, few_draws(250), 0))
    assert alone.standard_error == pytest.approx(drawn.std(ddof=1), rel=1e-9)


def test_large_samples_are_dealt_into_blocks():
    draws = draw_blocks(2500, 50, 0)
    assert draws.counts.shape == (50, MAX_BLOCKS) == (50, 1000)
    assert set(np.bincount(draws.blocks)) == {2, 3}
    # At random: rows that come in turns of ten would otherwise share their blocks.
    assert (draws.blocks != np.arange(2500) % 1000).mean() > 0.9


@pytest.mark.parametrize("n", [1, 7, 300, 2500])
def test_resamples_are_those_of_a_loop(n):
    """Many are drawn at a time, with the numbers that one after the other has."""
    rng = np.random.default_rng((4, 7))
    n_blocks = min(n, MAX_BLOCKS)
    blocks = rng.permutation(n) % n_blocks
    rows = [np.bincount(rng.integers(0, n_blocks, n_blocks), None, n_blocks) for _ in range(70)]
    draws = draw_blocks(n, 70, 4)
    assert (draws.blocks == blocks).all() and (draws.counts == rows).all()
    assert (draw_blocks(n, 9, 4).counts == rows[:9]).all()


def test_groups_are_drawn_whole():
    y, u = binary(90)
    index = np.arange(90) % 3
    draws = draw_blocks(90, 60, 5, index)
    assert (draws.blocks == index).all() and draws.counts.shape == (60, 3)
    drawn = drawn_values(to_samples(y, u["right"]), "ece", 15, draws)
    for r in (0, 59):
        weights = draws.counts[r][index]
        assert drawn[r] == pytest.approx(cal.ece(y, u["right"], sample_weight=weights))


def test_a_draw_without_what_a_measure_is_about_says_nothing_new():
    """Only one prediction is above the threshold of tace: many draws are without it."""
    y, _ = binary(40)
    rare = np.zeros(40)
    rare[0] = 0.5
    draws = draw_blocks(40, 100, 0)
    assert (draws.counts[:, draws.blocks[0]] == 0).any()
    drawn = drawn_values(to_samples(y, rare), "tace", Quantile(15), draws)
    assert drawn == pytest.approx(np.full(100, abs(0.5 - y[0])))
