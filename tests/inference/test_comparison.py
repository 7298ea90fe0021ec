"""compare(): values, differences, ranks, slices, and what it says."""

import json
import math

import numpy as np
import pytest

import calibrant as cal
from calibrant import InputError
from calibrant._inference.means import influences, mean_limits
from needs import need
from rivals import (
    CASES,
    FEW,
    binary,
    case,
    compared,
    multi,
    sigmoid,
)

N = 30
Y, U = binary(N)
GOOD = {"a": U["right"], "b": U["over"]}


# --- values ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", CASES)
def test_values_are_those_of_evaluate(name):
    y, u, measures, options = case(name)
    found = compared(name)
    assert found.names == tuple(u) and found.measures == measures
    for key, predictions in u.items():
        alone = cal.evaluate(y, predictions, measures=measures, bins=7, **options)
        for measure in measures:
            assert found.value(key, measure) == pytest.approx(alone[measure], rel=1e-12), measure
    assert found.recipe["weighted"] == ("weighted" in name)
    assert found.recipe["from_logits"] == ("logits" in name)
    assert np.isfinite(found.pairs).all()


def test_the_usual_measures():
    assert cal.compare(Y, GOOD, n_resamples=50).measures == (
        "ece",
        "smooth_ece",
        "lin_ce",
        "brier",
        "log_loss",
        "classification_error",
        "auroc",
    )
    y, x = multi(N)
    del x["dull"]
    found = cal.compare(y, x, from_logits=True, n_resamples=50)
    assert found.measures == (
        "ece",
        "smooth_ece",
        "classwise_ce",
        "confidence_ce",
        "brier",
        "log_loss",
        "accuracy",
        "auroc",
        "aurc",
    )
    assert found.recipe["n"] == N and found.recipe["n_classes"] == 4
    assert found.recipe["bin_counts"] == [5, 20, 100]


# --- differences ----------------------------------------------------------------------------------


def test_a_difference_by_hand():
    y, u = binary()
    found = cal.compare(y, u, measures=["brier"], level=0.8, n_resamples=101)
    d = found.difference("over", "dull", "brier")
    assert d.value == pytest.approx(cal.brier_score(y, u["over"]) - cal.brier_score(y, u["dull"]))
    # BCa limits of the mean difference of the rows' losses.
    rows = (u["over"] - y) ** 2 - (u["dull"] - y) ** 2
    low, high, error = mean_limits(influences(rows, None, None), 0.8)
    assert (d.low, d.high) == pytest.approx((d.value + low, d.value + high), rel=1e-9)
    assert high == pytest.approx(1.2816 * error, rel=0.15)
    assert d.low < d.value < d.high
    assert (d.measure, d.first, d.second, d.level) == ("brier", "over", "dull", 0.8)
    back = found.difference("dull", "over", "brier")
    assert (back.value, back.better) == (-d.value, d.better)
    assert (back.low, back.high) == pytest.approx((-d.high, -d.low))
    wide = cal.compare(y, u, measures=["brier"], level=0.99, n_resamples=101)
    e = wide.difference("over", "dull", "brier")
    assert e.low < d.low < d.high < e.high


def test_who_is_better():
    y, u = binary(2000)
    found = cal.compare(y, u, measures=["brier", "ece"])
    assert found.difference("right", "dull", "brier").better == "right"
    assert found.difference("dull", "right", "brier").better == "right"
    assert found.difference("over", "right", "ece").better == "right"
    assert found.difference("over", "right").measure == "ece"
    twin = np.clip(u["right"] + np.random.default_rng(1).normal(0, 1e-3, 2000), 0, 1)
    close = cal.compare(y, {"right": u["right"], "twin": twin}, measures=["brier"])
    assert close.difference("right", "twin", "brier").better is None


@pytest.mark.parametrize("measure", ["brier", "log_loss", "ece", "lin_ce"])
def test_pairing_makes_an_interval_short(measure):
    """Nearly the same predictions: what a draw does to one it does to the other."""
    y, u = binary(800)
    h = np.log(u["over"] / (1 - u["over"]))
    twin = sigmoid(h * 1.001 + np.random.default_rng(2).normal(0, 0.002, 800))
    found = cal.compare(y, {"a": u["over"], "b": twin}, measures=[measure])
    d = found.difference("a", "b", measure)
    low, high, _ = found.limits[0, 0]
    assert 0 < d.high - d.low < 0.2 * (high - low)


def test_the_same_predictions_do_not_differ():
    y, u = binary()
    measures = ["ece", "lin_ce", "brier", "log_loss", "ks_error"]
    u = {"a": u["over"], "b": u["over"].copy()}
    found = cal.compare(y, u, measures=measures, n_resamples=50)
    for measure in measures:
        d = found.difference("a", "b", measure)
        assert (d.value, d.low, d.high, d.better) == (0.0, 0.0, 0.0, None)
        ranking = found.ranking(measure)
        assert ranking["rank"] == ranking["rank_low"] == [1, 1]
        assert ranking["rank_high"] == [2, 2] and ranking["best"] == [0.5, 0.5]
        assert found.leaders(measure) == ["a", "b"] and found.tied(measure) == ["b"]


def test_differences_from_the_best_or_from_a_reference():
    y, u = binary(600)
    found = cal.compare(y, u, measures=["brier", "ece"], n_resamples=50)
    order = found.order("brier")
    best = found.differences("brier")
    assert [d.first for d in best] == order[1:] and {d.second for d in best} == {order[0]}
    assert [d.estimate for d in best] == sorted(d.estimate for d in best)
    assert best[0].estimate >= 0
    dull = found.differences("brier", "dull")
    assert {d.second for d in dull} == {"dull"}
    assert [d.first for d in dull] == [name for name in order if name != "dull"]


# --- ranks ----------------------------------------------------------------------------------------


def test_ranks_of_a_comparison():
    y, u = binary(300)
    rng = np.random.default_rng(38)
    u = {**u, "same": u["dull"], "coin": np.full(300, 0.5), "noise": rng.random(300)}
    found = cal.compare(y, u, measures=FEW, n_resamples=50)
    assert any(found.higher_is_better) and not all(found.higher_is_better)
    for measure in found.measures:
        table = found.ranking(measure)
        assert table["predictor"] == found.order(measure)
        assert table[measure] == [found.value(name, measure) for name in table["predictor"]]
        assert table["rank"] == sorted(table["rank"]) and table["rank"][0] == 1
        at = dict(zip(table["predictor"], table["rank"], strict=True))
        assert at["same"] == at["dull"]
    assert sorted(found.order("brier")) == sorted(u)


@pytest.mark.parametrize("level", [0.8, 0.95])
def test_ranks_are_counts_of_the_differences(level):
    """By hand from `difference` alone: nothing else decides a rank, a tie or who is best."""
    y, u = binary(250)
    u = {**u, "same": u["dull"], "coin": np.full(250, 0.5)}
    found = cal.compare(y, u, measures=FEW, n_resamples=50, level=level)
    clear = 0
    for measure, higher in zip(found.measures, found.higher_is_better, strict=True):
        sign = -1 if higher else 1
        table = found.ranking(measure)
        for i, name in enumerate(table["predictor"]):
            rivals = [found.difference(name, other, measure) for other in u if other != name]
            behind = sum(sign * d.estimate > 0 for d in rivals)
            worse = sum(d.better not in (None, name) for d in rivals)
            better = sum(d.better == name for d in rivals)
            assert table["rank"][i] == 1 + behind
            assert (table["rank_low"][i], table["rank_high"][i]) == (1 + worse, 5 - better)
            assert 1 + worse <= 1 + behind <= 5 - better
            assert (table["best"][i] >= (1 + level) / 2) == (better == 4)
            clear += better == 4
        # No one comes before a rival that is clearly better.
        order = found.order(measure)
        for i, first in enumerate(order):
            for later in order[i + 1 :]:
                assert found.difference(first, later, measure).better != later
    assert clear  # or the equivalence could not fail


def test_where_more_is_better_the_order_turns():
    rng = np.random.default_rng(39)
    z = rng.dirichlet(np.ones(3), 100)
    p = {"bad": rng.dirichlet(np.ones(3), 100), "good": 0.9 * z + 0.1 / 3}
    found = cal.compare(z, p, measures=["rank_cs", "dist_ce"], n_resamples=50)
    assert found.higher_is_better == (True, False)
    assert found.value("good", "rank_cs") > found.value("bad", "rank_cs")
    assert found.order("rank_cs") == found.order("dist_ce") == ["good", "bad"]
    assert found.difference("good", "bad", "rank_cs").better == "good"
    assert found.difference("bad", "good", "rank_cs").better == "good"
    assert found.ranking("rank_cs")["best"] == pytest.approx([1.0, 0.0], abs=1e-3)
    assert found.differences("rank_cs")[0].value < 0

    y, u = binary(600)
    found = cal.compare(y, u, measures=["brier_discrimination"], n_resamples=50)
    values = [found.value(name, "brier_discrimination") for name in found.order(found.measures[0])]
    assert values == sorted(values, reverse=True)
    assert found.order("brier_discrimination")[-1] == "dull"
    assert found.difference("right", "dull", "brier_discrimination").better == "right"
    assert found.ranking("brier_discrimination")["rank"][-1] == 3


# --- slices ---------------------------------------------------------------------------------------


def test_slices_of_every_predictor():
    y, u = binary(300)
    del u["dull"]
    where = np.array(["x", "y", "z"])[np.arange(300) % 3]
    found = cal.compare(y, u, measures=["ece", "brier"], by=where, n_resamples=50)
    assert found.slices.keys() == u.keys()
    for name, slices in found.slices.items():
        alone = cal.evaluate(
            y, u[name], measures=["ece", "brier"], by=where, uncertainty=True, n_resamples=50
        ).slices
        assert slices.to_dict() == alone.to_dict()
        rows = where == "y"
        assert slices["y"].values["brier"] == pytest.approx(cal.brier_score(y[rows], u[name][rows]))
    assert cal.compare(y, u, measures=["ece"], n_resamples=50).slices is None
    again = json.loads(found.to_json())["slices"]
    assert again["over"]["slices"]["n"] == [100, 100, 100]
    shares = np.round(3 * np.random.default_rng(45).random(300)) / 3
    voted = cal.compare(shares, u, measures=["ece"], by=where, votes=3, n_resamples=50)
    assert all(0 < part.p_value <= 1 for part in voted.slices["over"])


def test_slices_are_judged_against_a_tolerance_as_those_of_evaluate():
    rng = np.random.default_rng(0)
    p, by = rng.random(3000), np.repeat(["a", "b", "c"], 1000)
    y = (rng.random(3000) < np.where(by == "b", p**3, p)).astype(int)
    found = cal.compare(
        y, {"m": p, "n": p / 2}, measures=["ece"], by=by, tolerance=0.09, n_resamples=200
    )
    alone = cal.evaluate(
        y, p, measures=["ece"], by=by, tolerance=0.09, n_resamples=200, uncertainty=True
    )
    assert found.slices["m"].to_dict() == alone.slices.to_dict()
    words = {each.name: each.against_tolerance for each in found.slices["m"]}
    assert words["b"] == "beyond" and words["a"] == words["c"] == "within"
    assert found.slices["m"].tolerance == found.recipe["tolerance"] == 0.09
    models = {"m": p, "n": p / 2}
    assert "tolerance" not in cal.compare(y, models, measures=["ece"], n_resamples=50).recipe
    with pytest.raises(InputError, match="tolerance"):
        cal.compare(y, models, tolerance=2)


# --- what it says ---------------------------------------------------------------------------------


def test_json_round_trip():
    y, u = binary()
    found = cal.compare(y, u, bin_counts=(np.int64(5), 10), seed=2, level=0.9, n_resamples=60)
    again = json.loads(found.to_json())
    assert again == found.to_dict()
    assert again["values"] == found.columns()
    assert again["values"]["predictor"] == ["right", "over", "dull"]
    for measure in found.measures:
        assert again["rankings"][measure] == found.ranking(measure)
        assert again["differences"][measure] == [vars(d) for d in found.differences(measure)]
    assert (
        again["robustness"] is None and again["slices"] is None
    )  # of three there is nothing to say
    assert "binary probabilities" in again["inferred"]
    assert again["recipe"] == {
        "n": 200,
        "n_classes": 2,
        "bins": "15 equal-width bins, left-closed",
        "truthful_bins": "15 quantile bins, ties together",
        "bin_counts": [5, 10],
        "from_logits": False,
        "weighted": False,
        "level": 0.9,
        "n_resamples": 60,
        "seed": 2,
        "grouped": False,
        "matched_by_ids": False,
    }
    assert all(type(m) is int for m in found.recipe["bin_counts"])


@pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow"])
def test_frames_of_a_comparison(backend):
    need(backend)
    found = cal.compare(Y, GOOD, measures=["ece", "brier"], n_resamples=50)
    frame = found.to_frame(backend)
    names = list(frame.column_names if backend == "pyarrow" else frame.columns)
    assert names == ["predictor", "ece", "brier"]
    column = frame["brier"]
    values = column.to_pylist() if backend == "pyarrow" else list(column)
    assert values == [found.value(name, "brier") for name in ("a", "b")]


def test_what_it_shows():
    y, u = binary()
    found = cal.compare(y, u, measures=["brier", "ece"], n_resamples=50)
    for shown in (repr(found), found._repr_html_()):
        for word in (
            "right",
            "over",
            "dull",
            "brier",
            "ece",
            "200 rows",
            "Ranks by brier",
            "behind_best",
        ):
            assert word in shown
        assert "Rank robustness" not in shown
    assert "labels are hard" in repr(found)
    assert found._repr_html_().count("<table>") == found._repr_html_().count("</table>") == 2


def test_names_are_escaped():
    name = "<script>alert('&')</script>"
    u = {name: U["right"], 2: U["over"]}
    found = cal.compare(Y, u, measures=["ece"], by=np.arange(N) % 2, n_resamples=50)
    html = found._repr_html_()
    assert "<script" not in html and "&lt;script&gt;" in html
    assert name in repr(found)
    assert found.names == (name, "2")
    assert found.difference("2", name).first == "2"


def test_ranked_has_the_distance_to_the_best():
    y, u = binary(500)
    found = cal.compare(y, u, measures=["ece", "brier"], n_resamples=50)
    table = found.ranked("brier")
    ranking = found.ranking("brier")
    assert table["predictor"] == found.order("brier")
    for i, name in enumerate(table["predictor"]):
        low, high = ranking["rank_low"][i], ranking["rank_high"][i]
        assert table["ranks"][i] == (str(low) if low == high else f"{low} to {high}")
        if i == 0:
            assert math.isnan(table["behind_best"][0]) and math.isnan(table["low"][0])
            continue
        d = found.difference(name, table["predictor"][0], "brier")
        shown = [table[column][i] for column in ("behind_best", "low", "high")]
        assert shown == [d.estimate, d.low, d.high]
        assert d.low <= d.estimate <= d.high and d.estimate >= 0


def test_rank_robustness_needs_eight_predictors_and_errors_that_were_asked_for():
    """Rows of 1.000 +- 0.000 of two to seven models said nothing."""
    rng = np.random.default_rng(0)
    u = rng.random(100)
    y = (rng.random(100) < u).astype(int)
    models = {f"m{j}": np.clip(u ** (1 + j / 5), 0, 1) for j in range(8)}
    some = dict(list(models.items())[:7])
    assert cal.compare(y, some, measures=["ece"], n_resamples=50).robustness is None
    found = cal.compare(y, models, measures=["ece", "brier"], n_resamples=50).robustness
    assert found.n == 8 and {row.measure for row in found.rows} == {"ece"}
    assert cal.compare(y, models, measures=["brier"], n_resamples=50).robustness is None
    assert len({row.measure for row in cal.compare(y, models, n_resamples=50).robustness.rows}) > 1
