"""Clusters (`groups=`): they count wherever chance is spoken of, or are refused with a reason."""

import json
import math

import numpy as np
import pytest

import calibrant as cal
from calibrant import InputError
from calibrant._inference.blocks import blocks_of
from calibrant._inference.paths import LEAST_P, weighted_chi_square_tail
from calibrant._measures.proportions import design_effects
from cli.command import main
from judged import intervals
from needs import need

FAST = {"n_resamples": 200}


def games(n_games=60, rows=20, seed=0):
    """Forecasts that are right, each repeated through its game: rows of a game are one outcome."""
    rng = np.random.default_rng((41, seed))
    game = np.repeat(np.arange(n_games), rows)
    u = rng.uniform(0.05, 0.95, n_games)
    y = (rng.random(n_games) < u).astype(int)[game]
    return y, np.clip(u[game] + rng.normal(0, 0.01, game.size), 0, 1), game


# --- bars of bins ---------------------------------------------------------------------------------


def test_rows_alone_have_no_design_effect():
    rng = np.random.default_rng(0)
    z, bins = (rng.random(400) < 0.4).astype(float), rng.integers(0, 4, 400)
    found = design_effects(bins, z, None, np.arange(400), 4)
    assert found == pytest.approx(np.ones(4), abs=0.02)


def test_copies_count_once():
    """Every row ten times: a bin is worth as many rows as there are clusters in it."""
    rng = np.random.default_rng(1)
    z, bins = (rng.random(200) < 0.4).astype(float), rng.integers(0, 3, 200)
    groups = np.repeat(np.arange(200), 10)
    found = design_effects(np.repeat(bins, 10), np.repeat(z, 10), None, groups, 3)
    assert found == pytest.approx(np.full(3, 10.0), rel=0.03)
    weighted = design_effects(np.repeat(bins, 10), np.repeat(z, 10), np.full(2000, 7.0), groups, 3)
    assert weighted == pytest.approx(found)


@pytest.mark.parametrize("measure", ["ece", "lin_ce", "debiased_l2", "smooth_ece", "brier"])
def test_an_interval_of_copies_is_that_of_the_rows(measure):
    """Four copies of each row say no more than the rows, and would say twice as much."""
    rng = np.random.default_rng(3)
    u = rng.random(150)
    y = (rng.random(150) < u**1.5).astype(int)
    copies, groups = (np.repeat(y, 4), np.repeat(u, 4)), np.repeat(np.arange(150), 4)
    rows, clusters, alone = (
        cal.interval(*given, measure=measure, groups=own, n_resamples=300)
        for given, own in (((y, u), None), (copies, groups), (copies, None))
    )
    width = rows.high - rows.low
    assert clusters.high - clusters.low == pytest.approx(width, rel=0.25)
    assert alone.high - alone.low < 0.7 * width


def test_a_bin_in_which_nothing_happened_is_worth_its_clusters():
    found = design_effects(np.zeros(40, int), np.zeros(40), None, np.repeat(np.arange(4), 10), 1)
    assert found == pytest.approx([10.0])


def test_bars_of_bins_hold_the_truth_of_clusters():
    """Nominal 95 %: with clusters 95, without 85 in such worlds."""
    inside = {True: 0, False: 0}
    total = 0
    far = np.random.default_rng(1).normal(0, 0.8, 300)
    for seed in range(40):
        rng = np.random.default_rng((42, seed))
        g = np.repeat(np.arange(40), rng.integers(1, 40, 40))
        h = rng.normal(0, 1, g.size) + rng.normal(0, 0.7, 40)[g]
        p = 1 / (1 + np.exp(-h))
        y = rng.random(g.size) < 1 / (1 + np.exp(-h - rng.normal(0, 0.8, 40)[g]))
        truth = (1 / (1 + np.exp(-h[:, None] - far))).mean(axis=1)
        for clustered in inside:
            table = cal.reliability(y.astype(int), p, bins=4, groups=g if clustered else None)
            found = table.intervals()
            for j in range(4):
                rows = (p >= j / 4) & (p < (j + 1) / 4)
                inside[clustered] += found["low"][j] <= truth[rows].mean() <= found["high"][j]
        total += 4
    assert inside[True] / total > 0.91 > inside[False] / total


def test_bars_are_wider_in_evaluations_pages_and_json():
    y, p, game = games()
    alone, together = (
        cal.evaluate(y, p, measures=["ece"], uncertainty=True, groups=g, **FAST)
        for g in (None, game)
    )
    width = [
        np.nanmean(np.subtract(t["high"], t["low"]))
        for t in (each.reliability.intervals() for each in (alone, together))
    ]
    assert width[1] > 2 * width[0]
    rows = [x for x in together.reliability.intervals()["n_effective"] if x == x]
    assert max(rows) < 20 and rows == [round(x, 1) for x in rows]
    assert "n_effective" in json.loads(together.to_json())["reliability"]["bins"]
    page = cal.report(y, p, groups=game, measures=["ece"], recalibrate="temperature")
    bins = page.views[0].tables["equal-width"][14]
    low = together.reliability.intervals()["low"]
    assert np.array_equal(bins.intervals()["low"], low, equal_nan=True)


# --- slices and compare ---------------------------------------------------------------------------


def test_slices_know_their_clusters():
    y, p, game = games()
    by = np.where(game < 30, "a", "b")
    slices = cal.evaluate(
        y, p, measures=["ece"], by=by, uncertainty=True, groups=game, **FAST
    ).slices
    assert [part.n_clusters for part in slices] == [30, 30]
    for part in slices:
        rows = by == part.name
        alone = cal.interval(y[rows], p[rows], groups=game[rows], **FAST)
        assert (part.low, part.high) == (alone.low, alone.high)
        floor = cal.noise_floor(y[rows], p[rows], groups=game[rows], **FAST)
        assert part.p_value == floor.p_value
    assert "n_clusters" in slices.columns()


def test_a_slice_of_one_cluster_has_no_p_value():
    y, p, game = games(6)
    by = np.where(game == 0, "one", "more")
    slices = cal.evaluate(y, p, measures=["ece"], by=by, groups=game).slices
    assert math.isnan(slices["one"].p_value) and not math.isnan(slices["more"].p_value)
    assert any("one cluster" in note for note in slices.notes)


def test_compared_slices_know_them_too():
    y, p, game = games()
    by = np.where(game < 30, "a", "b")
    found = cal.compare(
        y, {"m": p, "other": p**2}, measures=["ece"], by=by, groups=game, n_resamples=60
    )
    assert [part.n_clusters for part in found.slices["m"]] == [30, 30]


# --- what has no effect is an error ---------------------------------------------------------------


def test_groups_without_effect_are_an_error(tmp_path):
    y, p, game = games(6)
    with pytest.raises(InputError, match="groups has no effect"):
        cal.evaluate(y, p, groups=game)
    with pytest.raises(InputError, match="groups has no effect"):
        cal.check(y, p, at_most={"ece": 0.1}, point=True, groups=game)
    lazy = need("polars").DataFrame({"y": y, "p": p, "g": game}).lazy()
    alone = cal.evaluate("y", "p", data=lazy, groups="g", by="g", measures=["ece"]).slices
    assert any("a slice of one cluster has no noise floor" in note for note in alone.notes)
    assert [each.n_clusters for each in alone] == [1] * len(alone)
    checked = cal.check("y", "p", data=lazy, at_most={"ece": 0.1}, groups="g", by="g")
    assert {each.reason for each in checked.rows[1:]} == {"one cluster cannot be resampled"}
    path = tmp_path / "rows.csv"
    lines = [
        f"{a},{b!r},{c}" for a, b, c in zip(y.tolist(), p.tolist(), game.tolist(), strict=True)
    ]
    path.write_text("\n".join(["label,p,g", *lines]))
    with pytest.raises(InputError, match="groups has no effect"):
        cal.evaluate_file(path, groups="g")


def test_streams_refuse_them_with_a_reason():
    with pytest.raises(
        InputError, match="no option 'groups': clusters change the uncertainty of a value"
    ):
        cal.Accumulator().update([0, 1], [0.2, 0.7], groups=[0, 1])
    with pytest.raises(InputError, match=r"make it with Monitor\(grouped=True\)"):
        cal.Monitor().update([0, 1], [0.2, 0.7], groups=[0, 1], time="2026-01-05")
    for function in (cal.ece, cal.conventions, cal.bin_sensitivity, cal.debiased_l2):
        with pytest.raises(InputError, match="no option 'groups': clusters"):
            function([0, 1], [0.2, 0.7], groups=[0, 1])


@pytest.mark.parametrize(
    ("groups", "words"),
    [
        ("patient", "no frame was given"),
        ([0, 1], "each of the 4 rows"),
        ([0, 0, 0, 0], "at least two groups"),
        ([0.0, 1.0, math.nan, 1.0], "missing in 1 row, first in row 2"),
        (["a", None, "b", "b"], "missing in 1 row, first in row 1"),
    ],
)
@pytest.mark.parametrize(
    "function", [cal.verdict, cal.interval, cal.noise_floor, cal.reliability, cal.report]
)
def test_what_names_no_clusters_is_refused(function, groups, words):
    with pytest.raises(InputError, match=words):
        function([0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4], groups=groups)


def test_an_unknown_column_is_refused(tmp_path, capsys):
    frame = need("pandas").DataFrame({"y": [0, 1] * 20, "p": [0.3, 0.6] * 20, "site": [1, 2] * 20})
    for function in (cal.verdict, cal.interval, cal.noise_floor, cal.report):
        with pytest.raises(InputError, match="siet"):
            function("y", "p", data=frame, groups="siet")
    with pytest.raises(InputError, match="siet"):
        cal.evaluate("y", "p", data=frame, groups="siet", uncertainty=True)
    path = tmp_path / "rows.csv"
    frame.to_csv(path, index=False)
    for verb in (["report"], ["check", "--max", "ece=0.1"]):
        assert main([verb[0], str(path), *verb[1:], "--groups", "siet"]) == 3
        assert "siet" in capsys.readouterr().err
    assert main(["check", str(path), "--max", "ece=0.1", "--point", "--groups", "site"]) == 3
    assert "--groups has no effect with --point" in capsys.readouterr().err
    assert main(["report", str(path), "--stream", "--groups", "siet"]) == 3
    assert "siet" in capsys.readouterr().err


def test_the_command_takes_clusters_to_slices_and_bars(tmp_path, capsys):
    y, p, game = games(40, 5)
    frame = need("pandas").DataFrame({"label": y, "p": p, "game": game, "side": game % 2})
    path = tmp_path / "rows.csv"
    frame.to_csv(path, index=False)
    assert main(["report", str(path), "--groups", "game", "--by", "side", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["slices"]["slices"]["n_clusters"] == [20, 20]
    assert found["slices"]["tolerance"] == 0.05 and "verdict" in found["slices"]["slices"]
    assert "n_effective" in found["reliability"]["bins"]


def test_of_few_clusters_the_quantiles_are_students():
    """Five equal clusters: t with 4 degrees of freedom; a giant counts for most of them."""
    five = blocks_of(50, np.arange(50) // 10, 0)
    assert five.noise_factor(np.ones(50)) == pytest.approx(np.sqrt(5 / 4) * 2.7764451 / 1.9599640)
    giant = blocks_of(50, np.maximum(np.arange(50) - 40, 0), 0)
    assert giant.noise_factor(np.ones(50)) > 2.0
    assert blocks_of(50, None, 0).noise_factor(np.ones(50)) == pytest.approx(np.sqrt(50 / 49))
    assert blocks_of(2000, np.arange(2000) // 2, 0).noise_factor(np.ones(2000)) < 1.003


def test_an_interval_does_not_depend_on_the_name_of_the_outcome():
    """Cells that a resample has no row of had noise, which half of the Brier score saw."""
    rng = np.random.default_rng(1)
    groups = np.arange(600) // 3
    u = rng.beta(2, 4, 600)
    luck = np.where(rng.random(200)[groups] < 0.3, rng.random(200)[groups], rng.random(600))
    y = (luck < u).astype(int)
    measures = ("brier_miscalibration", "smooth_ece", "sweep_ece", "ici")
    here, there = (
        intervals(*given, measures, groups=groups, n_resamples=1000)
        for given in ((y, u), (1 - y, 1 - u))
    )
    for name in measures:
        high = here[name].high
        # A sweep may have one bin more on one side.
        rel = 0.3 if name == "sweep_ece" else 0.1
        assert there[name].high == pytest.approx(high, rel=rel), name
        assert there[name].low == pytest.approx(here[name].low, abs=0.1 * high), name


@pytest.mark.parametrize(("low", "high"), [(0.02, 0.02), (0.01, 0.03)])
def test_p_values_of_outbreaks_that_did_not_happen_are_not_small(low, high):
    """A hundred clusters of ten that have the event together: in one of eight samples none has, and
    nothing that was seen tells that ten are as one. All tests had p < .01 then.
    """
    small, groups = {}, np.repeat(np.arange(100), 10)
    for seed in range(60):
        rng = np.random.default_rng(seed)
        p = rng.uniform(low, high, 1000)
        y = (rng.random(100)[groups] < p).astype(int)
        found = {
            "spiegelhalter": cal.spiegelhalter(y, p, groups=groups),
            "lin_ce": cal.truthful_test(y, p, groups=groups),
            "atb": cal.truthful_test(y, p, measure="atb", groups=groups),
            "cox": cal.cox_calibration(y, p, groups=groups),
        }
        for name, each in found.items():
            small[name] = small.get(name, 0) + (each.p_value < 0.05)
    assert max(small.values()) <= 6, small
    # What no clusters excuse is found all the same.
    sure = cal.spiegelhalter(np.zeros(1000, int), np.full(1000, 0.3), groups=groups)
    assert sure.p_value < 1e-6


def test_residuals_that_cancel_are_no_error():
    """20 of 1,000 at .02: the statistic is rounding, and the root of its tail was not bracketed."""
    groups = np.repeat(np.arange(100), 10)
    y = (groups < 2).astype(int)
    assert cal.truthful_test(y, np.full(1000, 0.02), measure="atb", groups=groups).p_value == 1.0
    assert weighted_chi_square_tail(1e20, np.array([1.0, 0.5])) == LEAST_P
    assert weighted_chi_square_tail(1.0, np.zeros(3)) == LEAST_P


def test_of_two_clusters_student_s_law_is_not_followed_to_its_end():
    """Its points would be 6.5 times as far out, and an interval say nothing."""
    groups = np.repeat([0, 1], 20)
    assert 2.0 < blocks_of(40, groups, 0).student(None) < 4.0


@pytest.mark.parametrize(("clusters", "values"), [(9, 6), (16, 2)])
def test_few_clusters_have_more_than_two_signs(clusters, values):
    """Two signs of nine clusters have 512 arrangements, fewer than there are draws."""
    signs = blocks_of(32, np.arange(32) % clusters, 0).signs(500, np.random.default_rng(64))
    assert np.unique(signs).size == values
    assert (signs**2).mean() == pytest.approx(1.0, abs=0.03)
