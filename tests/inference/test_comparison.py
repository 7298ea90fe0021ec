"""compare(): values, paired resamples, ranks, rows matched by ids, and what is refused."""

import json
import math
import os
import warnings
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import calibrant as cal
from calibrant._core.binning import EqualWidth, Quantile
from calibrant._core.errors import InputError
from calibrant._data.to_samples import to_samples
from calibrant._engines.arrays.counting import bin_table
from calibrant._inference.budget import MAX_BLOCKS, WHOLE_RESAMPLES
from calibrant._inference.means import influences, mean_limits
from calibrant._inference.paired import Scatter, difference_limits, draw_blocks, replicates
from calibrant._inference.problems import Problems
from calibrant._inference.robustness import rank_robustness
from calibrant._measures.catalogue import find
from needs import need

REPOSITORY = Path(__file__).resolve().parents[2]
FOLDER = Path(os.environ.get("CALIBRANT_DATA") or REPOSITORY.parent / "shared" / "data")

BINARY = ("ece", "rmsce", "mce", "debiased_l2", "ace", "lin_ce", "confidence_ce",
          "brier", "log_loss", "spherical_loss", "classification_error", "confidence_loss",
          "ks_error", "brier_miscalibration")  # fmt: skip
MULTI = ("ece", "rmsce", "classwise_ece", "ace", "classwise_ce", "confidence_ce_uncorrected",
         "confidence_ce", "lin_ce", "brier", "log_loss", "spherical_loss",
         "classification_error", "confidence_loss")  # fmt: skip
# Where rows are the point, and not measures.
FEW = ("ece", "lin_ce", "brier", "auroc")
LOSSES = ("classification_error", "log_loss", "brier", "spherical_loss", "confidence_loss")


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def softmax(x):
    powers = np.exp(x - x.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


def binary(n=200, seed=0):
    """A predictor that is right, one overconfident and one that knows little."""
    rng = np.random.default_rng((31, seed))
    h = rng.normal(0, 1.5, n)
    y = (rng.random(n) < sigmoid(h)).astype(int)
    u = {"right": sigmoid(h), "over": sigmoid(2.5 * h), "dull": sigmoid(rng.normal(0, 1, n))}
    return y, u


def multi(n=150, k=4, seed=0):
    """Logits of three predictors; the same with `softmax`."""
    rng = np.random.default_rng((32, seed))
    x = rng.normal(0, 1.5, (n, k))
    y = np.array([rng.choice(k, p=row) for row in softmax(x)])
    return y, {"right": x, "over": 2.5 * x, "dull": 0.4 * x + rng.normal(0, 1, (n, k))}


# --- values ---------------------------------------------------------------------------------------


def case(name):
    weights = np.random.default_rng(33).integers(0, 4, 150).astype(float)
    if name.startswith("binary"):
        y, u = binary(150)
        del u["dull"]
        options = {"sample_weight": weights} if "weighted" in name else {}
        if "soft" in name:
            y = np.round(sigmoid(np.random.default_rng(34).normal(0, 1, 150)), 2)
            return y, u, (*BINARY, "dist_ce", "rank_cs"), options
        return y, u, BINARY, options
    y, x = multi(150)
    del x["dull"]
    options = {"sample_weight": weights} if "weighted" in name else {}
    if "logits" in name:
        return y, x, MULTI, {**options, "from_logits": True}
    p = {key: softmax(value) for key, value in x.items()}
    if "soft" in name:
        y = np.random.default_rng(35).dirichlet(np.ones(4), 150)
        return y, p, (*MULTI, "dist_ce", "ent_ce", "rank_cs"), options
    return y, p, MULTI, options


# Every two of shape, soft labels, weights and logits meet, and miss each other, in one of these.
CASES = ("binary", "binary soft weighted", "multi logits", "multi soft", "multi weighted",
         "multi logits weighted")  # fmt: skip


@cache
def compared(name):
    y, u, measures, options = case(name)
    return cal.compare(y, u, measures=measures, bins=7, n_resamples=60, seed=3, **options)


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
    assert all(np.isfinite(drawn).all() for drawn in found.draws)


def test_the_usual_measures():
    assert cal.compare(Y, GOOD, n_resamples=50).measures == (
        "ece", "smooth_ece", "lin_ce", "brier", "log_loss", "classification_error", "auroc"
    )  # fmt: skip
    y, x = multi(N)
    del x["dull"]
    found = cal.compare(y, x, from_logits=True, n_resamples=50)
    assert found.measures == (
        "ece", "smooth_ece", "classwise_ce", "confidence_ce", "brier", "log_loss",
        "classification_error", "auroc", "aurc",
    )  # fmt: skip
    assert found.recipe["n"] == N and found.recipe["n_classes"] == 4
    assert found.recipe["bin_counts"] == [5, 20, 100]


# --- paired resamples -----------------------------------------------------------------------------


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
    apart = np.quantile(found.draws[0][0], 0.975) - np.quantile(found.draws[0][0], 0.025)
    assert 0 < d.high - d.low < 0.15 * math.sqrt(2) * apart


def test_the_same_predictions_do_not_differ():
    y, u = binary()
    measures = ["ece", "lin_ce", "brier", "log_loss", "ks_error"]
    u = {"a": u["over"], "b": u["over"].copy()}
    found = cal.compare(y, u, measures=measures, n_resamples=50)
    for measure in measures:
        d = found.difference("a", "b", measure)
        assert (d.value, d.low, d.high, d.better) == (0.0, 0.0, 0.0, None)
        ranking = found.ranking(measure)
        assert ranking["rank"] == ranking["rank_low"] == ranking["rank_high"] == [1, 1]
        assert ranking["best"] == [1.0, 1.0]


def test_differences_from_the_best_or_from_a_reference():
    y, u = binary(600)
    found = cal.compare(y, u, measures=["brier", "ece"], n_resamples=50)
    order = found.order("brier")
    best = found.differences("brier")
    assert [d.first for d in best] == order[1:] and {d.second for d in best} == {order[0]}
    assert [d.value for d in best] == sorted(d.value for d in best) and best[0].value >= 0
    dull = found.differences("brier", "dull")
    assert {d.second for d in dull} == {"dull"}
    assert [d.first for d in dull] == [name for name in order if name != "dull"]


# --- coverage -------------------------------------------------------------------------------------


@cache
def truth():
    """Differences of the two predictors of `coverage`, integrated over the logit's law."""
    h = np.linspace(-9, 9, 200_001)
    mass = np.exp(-(h**2) / (2 * 1.5**2))
    mass /= mass.sum()
    p = sigmoid(h)
    errors, losses = [], []
    for u in predictors(h).values():
        bins = np.searchsorted(np.arange(1, 11) / 10, u, side="right")
        errors.append(np.abs(np.bincount(bins, mass * (u - p))).sum())
        losses.append((mass * ((u - p) ** 2)).sum())
    return {"ece": errors[0] - errors[1], "brier": losses[0] - losses[1]}


def predictors(h):
    return {"over": sigmoid(2.2 * h + 0.5), "under": sigmoid(0.5 * h)}


@cache
def coverage(measure, n, reps):
    below = above = 0
    for seed in range(reps):
        rng = np.random.default_rng((36, seed))
        h = rng.normal(0, 1.5, n)
        y = (rng.random(n) < sigmoid(h)).astype(int)
        found = cal.compare(
            y, predictors(h), measures=[measure], bins=10, bin_counts=(5,), n_resamples=100
        )
        d = found.difference("over", "under", measure)
        below += d.high < truth()[measure]
        above += d.low > truth()[measure]
    return 1 - (below + above) / reps, below, above


def test_intervals_of_differences_of_a_loss_hold_the_truth():
    share, below, above = coverage("brier", 300, 80)
    assert 0.90 <= share <= 0.99, (share, below, above)


def test_intervals_of_differences_of_an_error_hold_the_truth():
    share, below, above = coverage("ece", 300, 20)
    assert share >= 0.75, (share, below, above)  # at 95 %, less has a chance of 0.0003


def test_clusters_widen_the_interval():
    """Forty clusters that share an error: resampling rows takes them for 1,000 draws."""
    rng = np.random.default_rng(37)
    group = np.repeat(np.arange(40), 25)
    shared = rng.normal(0, 1, 40)[group]
    y = (rng.random(1000) < sigmoid(shared * 2)).astype(int)
    u = {"a": np.full(1000, 0.3), "b": np.full(1000, 0.6)}
    options = {"measures": ["brier", "ece"], "n_resamples": 100, "bin_counts": (5,)}
    rows = cal.compare(y, u, **options)
    whole = cal.compare(y, u, groups=group, **options)
    for measure in ("brier", "ece"):
        narrow, wide = rows.difference("a", "b", measure), whole.difference("a", "b", measure)
        assert narrow.value == wide.value
        assert wide.high - wide.low > 2 * (narrow.high - narrow.low)
    one_each = cal.compare(y, u, groups=np.arange(1000), **options)
    d, e = one_each.difference("a", "b", "brier"), rows.difference("a", "b", "brier")
    assert d.high - d.low == pytest.approx(e.high - e.low, rel=0.15)


# --- ranks ----------------------------------------------------------------------------------------


def test_ranks():
    y, u = binary(300)
    rng = np.random.default_rng(38)
    u = {**u, "same": u["dull"], "coin": np.full(300, 0.5), "noise": rng.random(300)}
    found = cal.compare(y, u, measures=FEW, n_resamples=50)
    assert any(found.higher_is_better) and not all(found.higher_is_better)
    for measure, higher in zip(found.measures, found.higher_is_better, strict=True):
        table = found.ranking(measure)
        assert table["predictor"] == found.order(measure)
        values = [found.value(name, measure) for name in table["predictor"]]
        assert table[measure] == values == sorted(values, reverse=higher)
        before = [sum((v > value) if higher else (v < value) for v in values) for value in values]
        assert table["rank"] == [1 + n for n in before]
        assert table["rank"][0] == 1
        for low, rank, high in zip(
            table["rank_low"], table["rank"], table["rank_high"], strict=True
        ):
            assert 1 <= low <= high <= 6
            assert low <= rank + 1 and rank <= high + 1
        assert sum(table["best"]) >= 1 - 1e-12
        at = dict(zip(table["predictor"], table["rank"], strict=True))
        assert at["same"] == at["dull"]
    assert sorted(found.order("brier")) == sorted(u)


def test_ranks_of_draws_by_hand():
    y, u = binary(60)
    found = cal.compare(y, u, measures=["brier"], n_resamples=80, level=0.9)
    drawn = found.draws[0]
    ranks = np.array([[1 + (drawn[:, r] < drawn[i, r]).sum() for r in range(80)] for i in range(3)])
    table = found.ranking("brier")
    for row, name in enumerate(table["predictor"]):
        own = np.sort(ranks[found.names.index(name)])
        assert table["best"][row] == pytest.approx((own == 1).mean())
        assert table["rank_low"][row] == own[round(0.05 * 79)]
        assert table["rank_high"][row] == own[round(0.95 * 79)]


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
    assert found.ranking("rank_cs")["best"] == [1.0, 0.0]
    assert found.differences("rank_cs")[0].value < 0

    y, u = binary(600)
    found = cal.compare(y, u, measures=["brier_discrimination"], n_resamples=50)
    values = [found.value(name, "brier_discrimination") for name in found.order(found.measures[0])]
    assert values == sorted(values, reverse=True)
    assert found.order("brier_discrimination")[-1] == "dull"
    assert found.difference("right", "dull", "brier_discrimination").better == "right"
    assert found.ranking("brier_discrimination")["rank"][-1] == 3


# --- ids ------------------------------------------------------------------------------------------


def same(first, second):
    assert first.names == second.names
    assert (first.values == second.values).all()
    for a, b in zip(first.draws, second.draws, strict=True):
        assert (a == b).all()
    assert first.robustness == second.robustness


@pytest.mark.parametrize("kind", ["text", "numbers"])
def test_rows_are_matched_by_ids(kind):
    y, u = binary(120)
    ids = np.arange(120) * 7
    if kind == "text":
        ids = np.array([f"row {i}" for i in ids])
    rng = np.random.default_rng(40)
    a, b = rng.permutation(120), rng.permutation(120)
    shuffled = {"right": u["right"][a], "over": u["over"][b], "dull": u["dull"]}
    given = {"y_true": ids, "right": ids[a], "over": list(ids[b])}
    found = cal.compare(y, shuffled, ids=given, measures=FEW, n_resamples=50)
    aligned = cal.compare(y, u, measures=FEW, n_resamples=50)
    same(found, aligned)
    assert found.recipe["matched_by_ids"] and not aligned.recipe["matched_by_ids"]
    unmatched = cal.compare(y, shuffled, measures=["brier"], n_resamples=50)
    assert found.value("over", "brier") != unmatched.value("over", "brier")


def test_rows_of_classes_are_matched_by_ids():
    y, x = multi(80)
    order = np.random.default_rng(41).permutation(80)
    moved = {**x, "over": x["over"][order]}
    w = np.linspace(0.5, 2, 80)
    options = {"from_logits": True, "sample_weight": w, "n_resamples": 50,
               "measures": ("ece", "classwise_ce", "brier", "auroc")}  # fmt: skip
    found = cal.compare(y, moved, ids={"y_true": np.arange(80), "over": order}, **options)
    same(found, cal.compare(y, x, **options))


def test_columns_of_a_frame():
    pandas = need("pandas")
    y, u = binary(90)
    order = np.random.default_rng(42).permutation(90)
    frame = pandas.DataFrame({
        "y": y, "a": u["right"], "b": u["over"][order], "id": np.arange(90), "id_b": order,
        "w": np.linspace(1, 2, 90), "where": np.arange(90) % 2, "game": np.arange(90) % 9,
    })  # fmt: skip
    few = {"measures": FEW, "n_resamples": 50}
    options = {"data": frame, "sample_weight": "w", "groups": "game", "by": "where", **few}
    plain = cal.compare(
        y, {"a": u["right"], "b": u["over"]}, sample_weight=frame.w, groups=frame.game, **few
    )
    for ids in (
        {"y_true": "id", "b": "id_b"},
        {"y_true": frame["id"], "b": frame["id_b"]},
    ):
        found = cal.compare("y", {"a": "a", "b": "b"}, ids=ids, **options)
        same(found, plain)
        assert found.slices["b"].by == "where"
    with pytest.raises(InputError, match=r"ids names the column 'idd'.*did you mean 'id'"):
        cal.compare("y", {"a": "a", "b": "b"}, ids={"y_true": "idd"}, data=frame)


def test_matching_many_rows_takes_no_time():
    """A look-up a row, not a search: at 60,000 rows a search would take minutes."""
    n = 60_000
    rng = np.random.default_rng(43)
    y, u, order = rng.integers(0, 2, n), rng.random(n), rng.permutation(n)
    found = cal.compare(
        y, {"a": u, "b": u[order]}, ids={"y_true": np.arange(n), "b": order},
        measures=["ece"], n_resamples=50, bin_counts=(5,),
    )  # fmt: skip
    assert found.difference("a", "b").value == 0.0


N = 30
KEYS = np.arange(N)


@pytest.mark.parametrize(
    ("ids", "words"),
    [
        ({"y_true": KEYS, "a": KEYS[:-1]}, "ids of 'a' do not match: 1 of y_true's are missing, "
         "such as 29"),
        ({"y_true": KEYS[1:], "a": KEYS}, "ids of 'a' do not match: 1 are not in y_true, such as "
         "0"),
        ({"y_true": KEYS, "a": KEYS + 1}, "1 of y_true's are missing, such as 0 and 1 are not in "
         "y_true, such as 30"),
        ({"y_true": KEYS, "a": np.where(KEYS == 3, 2, KEYS)}, "ids of 'a' must be unique; 2 is"),
        ({"y_true": np.zeros(N, int), "a": KEYS}, "ids of 'y_true' must be unique; 0 is"),
        ({"y_true": KEYS, "model": KEYS}, "ids has 'model', which is no predictor"),
        ({"a": KEYS}, "ids must map 'y_true'"),
        (KEYS, "ids must map 'y_true'"),
        ({"y_true": KEYS[:3], "a": KEYS[:3]}, f"a: there are 3 ids for {N} rows"),
        ({"y_true": np.arange(N + 1), "a": np.arange(N + 1)}, f"there are {N + 1} ids for {N}"),
        ({"y_true": np.ones((N, 2)), "a": KEYS}, "ids of 'y_true' must be one id per row"),
        ({"y_true": KEYS, "a": 3}, "ids of 'a' must be one id per row"),
        ({"y_true": "id", "a": KEYS}, "ids of 'y_true' must be one id per row"),
        ({"y_true": KEYS, "a": [1, [2, 3]]}, "ids cannot be read"),
    ],
)  # fmt: skip
def test_ids_that_do_not_match_are_refused(ids, words):
    y, u = binary(N)
    with pytest.raises(InputError) as caught:
        cal.compare(y, {"a": u["right"], "b": u["over"]}, ids=ids)
    assert words in str(caught.value)


# --- what is refused ------------------------------------------------------------------------------


Y, U = binary(N)
GOOD = {"a": U["right"], "b": U["over"]}
HOLE = np.where(np.arange(N) == 3, np.nan, U["over"])


@pytest.mark.parametrize(
    ("u", "options", "words"),
    [
        ({"a": U["right"]}, {}, "two predictors or more to compare; got 1"),
        ({}, {}, "two predictors or more to compare; got 0"),
        (U["right"], {}, "y_proba must map names to predictions.*got ndarray"),
        ([U["right"], U["over"]], {}, "y_proba must map names to predictions.*got list"),
        ({"a": U["right"], "hole": HOLE}, {}, r"hole: y_proba\[3\] is nan"),
        ({"a": U["right"], "high": U["over"] + 1}, {}, r"high: y_proba\[\d+\]"),
        ({"a": U["right"], "short": U["over"][:5]}, {}, "short: .*number of rows; got 30 and 5"),
        ({"a": U["right"], "none": None}, {}, "none: y_proba must be numbers"),
        ({"a": U["right"], "single": 0.5}, {}, r"single: y_proba must have the shape"),
        ({"a": U["right"], "two": np.stack([1 - HOLE, HOLE], axis=1)}, {},
         r"same classes; the shapes are a \('n',\), two \('n', 2\)"),
        ({1: U["right"], "1": U["over"]}, {}, "two predictors are called '1'"),
        (GOOD, {"measures": []}, "measures must name one measure or more"),
        (GOOD, {"measures": "ece"}, "measures must be a list of names"),
        (GOOD, {"measures": ["brierr"]}, "no measure is called 'brierr': did you mean 'brier'"),
        (GOOD, {"measures": ["classwise_ce"]}, "not defined for binary"),
        (GOOD, {"level": 0}, "level must be a number between 0 and 1"),
        (GOOD, {"level": 1.0}, "level must be a number between 0 and 1"),
        (GOOD, {"level": 95}, "level must be a number between 0 and 1"),
        (GOOD, {"level": "high"}, "level must be a number between 0 and 1"),
        (GOOD, {"level": math.nan}, "level must be a number between 0 and 1"),
        (GOOD, {"n_resamples": 10}, "n_resamples must be a whole number, at least 50"),
        (GOOD, {"seed": -1}, "seed must be a whole number"),
        (GOOD, {"groups": np.zeros(N)}, "at least two groups"),
        (GOOD, {"groups": np.arange(3)}, "groups must name a group for each of the 30 rows"),
        (GOOD, {"by": [1, 2]}, "each of the 30 rows"),
        (GOOD, {"by": "where"}, "no data=frame"),
        (GOOD, {"sample_weight": np.zeros(N)}, "a: sample_weight is 0 in every row"),
        (GOOD, {"bin_counts": ()}, "bin_counts must hold one number of bins or more"),
        (GOOD, {"bin_counts": 5}, "bin_counts must be numbers of bins"),
        (GOOD, {"bin_counts": "5"}, "bin_counts must be numbers of bins"),
        (GOOD, {"bin_counts": (5, 0)}, "bin_counts: bins must be at least 1"),
        (GOOD, {"bin_counts": (5.5,)}, "bin_counts: bins must be a whole number"),
        (GOOD, {"bins": 0}, "bins must be at least 1"),
        (GOOD, {"from_logits": "yes"}, "from_logits must be True or False"),
        (GOOD, {"mesures": ["ece"]}, "has no option 'mesures': did you mean 'measures'"),
    ],
)  # fmt: skip
def test_what_cannot_be_compared_is_refused(u, options, words):
    with pytest.raises(InputError, match=words):
        cal.compare(Y, u, **options)


def test_different_numbers_of_classes_are_refused():
    rng = np.random.default_rng(44)
    y = rng.integers(0, 3, N)
    p = {"three": rng.dirichlet(np.ones(3), N), "four": rng.dirichlet(np.ones(4), N)}
    with pytest.raises(InputError, match=r"three \('n', 3\), four \('n', 4\)"):
        cal.compare(y, p)


def test_what_is_not_there_is_refused():
    found = cal.compare(Y, GOOD, measures=["ece", "brier"], n_resamples=50)
    with pytest.raises(InputError, match="no predictor is called 'c'"):
        found.difference("a", "c")
    with pytest.raises(InputError, match="no predictor is called 'c'"):
        found.differences("ece", "c")
    with pytest.raises(InputError, match="no measure 'brie': did you mean 'brier'"):
        found.value("a", "brie")
    with pytest.raises(InputError, match="no measure 'lin_ce'"):
        found.ranking("lin_ce")
    with pytest.raises(InputError, match="no measure 'ece': use one of 'brier'"):
        cal.compare(Y, GOOD, measures=["brier"], n_resamples=50).order()


@pytest.mark.parametrize("n", [1, 2])
def test_fewer_rows_than_bins(n):
    y, u = binary(n)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = cal.compare(y, u, n_resamples=60)
        p = {name: np.stack([1 - v, v], axis=1) for name, v in u.items()}
        rows = cal.compare(y, p, n_resamples=60)
        assert str(found) and str(rows) and found.to_json() and rows.to_json()
    assert found.recipe["n"] == n
    for each in (found, rows):
        for measure in each.measures:
            d = each.difference("right", "over", measure)
            assert d.low <= d.high and math.isfinite(d.low) and math.isfinite(d.high)


def test_constant_predictors():
    u = {"half": np.full(N, 0.5), "base": np.full(N, Y.mean()), "zero": np.zeros(N)}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        measures = ["ece", "lin_ce", "brier", "brier_discrimination"]
        found = cal.compare(Y, u, measures=measures, n_resamples=50)
        assert str(found)
    assert found.value("base", "ece") == pytest.approx(0, abs=1e-12)
    assert found.value("half", "ece") == pytest.approx(abs(0.5 - Y.mean()))
    assert found.order("ece")[0] == "base"
    # None tells one row from another: all share the first rank.
    assert found.ranking("brier_discrimination")["rank"] == [1, 1, 1]


# --- slices ---------------------------------------------------------------------------------------


def test_slices_of_every_predictor():
    y, u = binary(300)
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
    assert again["robustness"]["n"] == 3 and again["slices"] is None
    assert "binary probabilities" in again["inferred"]
    assert again["recipe"] == {
        "n": 200, "n_classes": 2, "bins": "15 equal-width bins, left-closed",
        "truthful_bins": "15 quantile bins, ties together", "bin_counts": [5, 10],
        "from_logits": False, "weighted": False, "level": 0.9, "n_resamples": 60, "seed": 2,
        "grouped": False, "matched_by_ids": False,
    }  # fmt: skip
    assert all(type(m) is int for m in found.recipe["bin_counts"])


@pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow"])
def test_frames(backend):
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
        for word in ("right", "over", "dull", "brier", "ece", "200 rows", "Ranks by brier",
                     "behind_best", "Rank robustness over 3 predictors"):  # fmt: skip
            assert word in shown
    assert "labels are hard" in repr(found)
    assert found._repr_html_().count("<table>") == found._repr_html_().count("</table>") == 3


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
        assert shown == [d.value, d.low, d.high]
        assert d.value >= 0


# --- robustness -----------------------------------------------------------------------------------


def losses_of(y, predictions):
    return {
        "classification_error": cal.classification_error(y, predictions),
        "log_loss": cal.log_loss(y, predictions),
        "brier": cal.brier_score(y, predictions),
        "spherical_loss": cal.spherical_loss(y, predictions),
        "confidence_loss": cal.confidence_loss(y, predictions),
    }


def errors_of(y, predictions, m):
    equal, mass = EqualWidth(m), Quantile(m)
    if np.ndim(predictions) == 1:
        return {
            "ece": cal.ece(y, predictions, bins=equal),
            "lin_ce": cal.lin_ce(y, predictions, bins=mass),
        }
    return {
        "classwise_ce": cal.classwise_ce(y, predictions, bins=mass),
        "confidence_ce": cal.confidence_ce(y, predictions, bins=mass),
        "confidence_ce_uncorrected": cal.confidence_ce(y, predictions, bins=mass, corrected=False),
        "ece": cal.ece(y, predictions, bins=equal),
    }


@pytest.mark.parametrize("shape", ["binary", "multi"])
def test_robustness_is_that_of_the_values(shape):
    rng = np.random.default_rng(46)
    if shape == "binary":
        y, u = binary(250)
        h = np.log(u["right"] / (1 - u["right"]))
        u = {f"m{i}": sigmoid(h * rng.uniform(0.3, 3) + rng.normal(0, 0.5, 250)) for i in range(7)}
    else:
        y, x = multi(250)
        noise = rng.normal(0, 1, (7, *x["right"].shape))
        u = {
            f"m{i}": softmax(rng.uniform(0.3, 3) * x["right"] + i / 7 * noise[i]) for i in range(7)
        }
    counts = (20, 5, 60)
    found = cal.compare(
        y, u, measures=["ece"], bins=9, bin_counts=(20, 5, 60, 5), n_resamples=50
    ).robustness
    losses, errors = {}, {}
    for predictions in u.values():
        for name, value in losses_of(y, predictions).items():
            losses.setdefault(name, []).append(value)
    names = list(errors_of(y, predictions, 5))
    for name in names:
        for m in counts:
            errors[name, m] = [errors_of(y, predictions, m)[name] for predictions in u.values()]
    expected = rank_robustness(errors, losses, names=list(u))
    assert found.n == 7 and found.names == tuple(u) and found.chain == expected.chain
    assert len(found.rows) == len(expected.rows) == len(names) * (15 + 3 + 3)
    for ours, theirs in zip(found.rows, expected.rows, strict=True):
        assert (ours.measure, ours.relation, ours.first, ours.second, ours.n) == (
            theirs.measure, theirs.relation, theirs.first, theirs.second, theirs.n
        )  # fmt: skip
        assert ours.value == pytest.approx(theirs.value, abs=1e-12)
        assert ours.margin == pytest.approx(theirs.margin, abs=1e-12)


# Spearman with the classification error at 2,000, 20 and 5 bins. On 19 networks on CIFAR-100:
OF_NINETEEN = {
    "ece": (0.79, -0.64, -0.54),
    "confidence_ce_uncorrected": (0.78, -0.41, -0.49),
    "confidence_ce": (0.96, -0.30, -0.43),
    "classwise_ce": (0.94, 0.38, 0.48),
}
# The same on the 13 of them that may be at hand here.
OF_THIRTEEN = {
    "ece": (0.742, -0.495, -0.313),
    "confidence_ce_uncorrected": (0.621, -0.286, -0.242),
    "confidence_ce": (0.912, -0.066, -0.143),
    "classwise_ce": (0.896, 0.335, 0.368),
}


@cache
def pool():
    """CIFAR-100 networks, a temperature fitted on one half of the test rows, compared on the
    other.
    """
    files = sorted(FOLDER.glob("cifar100_*.npz")) if FOLDER.is_dir() else []
    if len(files) != 13:
        pytest.skip("the 13 sets of CIFAR-100 are not at hand: CALIBRANT_DATA names the folder")
    order = np.random.default_rng(42).permutation(10_000)
    first, second = order[:5000], order[5000:]
    scaled = {}
    for file in files:
        with np.load(file, allow_pickle=False) as arrays:
            labels = arrays["labels"]
            logits = arrays.get("logits")
            if logits is None:
                logits = np.log(np.maximum(arrays["probs"], 1e-12, dtype=np.float64))
        scaler = cal.TemperatureScaling().fit(labels[first], logits[first].astype(np.float64))
        scaled[file.stem] = scaler.transform(logits[second].astype(np.float64))
    return cal.compare(
        labels[second], scaled, measures=["ece", "brier"], bin_counts=(2000, 20, 5), n_resamples=50
    )


@pytest.mark.parametrize("measure", OF_THIRTEEN)
def test_bins_turn_the_order_of_real_networks(measure):
    rows = pool().robustness.select(measure=measure, relation="loss")
    found = [row.value for row in rows if row.first == "classification_error"]
    assert found == pytest.approx(OF_THIRTEEN[measure], abs=0.03)
    # Six networks fewer: the signs are those of all 19, and the values not far off.
    assert np.sign(found).tolist() == np.sign(OF_NINETEEN[measure]).tolist()
    assert found == pytest.approx(OF_NINETEEN[measure], abs=0.3)
    assert found[0] == pytest.approx(OF_NINETEEN[measure][0], abs=0.17)


def test_the_order_of_real_networks_by_a_loss_is_firm():
    found = pool()
    table = found.ranking("brier")
    assert table["rank"] == list(range(1, 14))
    for low, rank, high in zip(table["rank_low"], table["rank"], table["rank_high"], strict=True):
        assert low <= rank <= high
    best, worst = table["predictor"][0], table["predictor"][-1]
    assert found.difference(best, worst, "brier").better == best
    assert len(found.robustness.chain) == 6


def test_slices_are_judged_against_a_tolerance_as_those_of_evaluate():
    rng = np.random.default_rng(0)
    p, by = rng.random(3000), np.repeat(["a", "b", "c"], 1000)
    y = (rng.random(3000) < np.where(by == "b", p**3, p)).astype(int)
    found = cal.compare(
        y, {"m": p, "n": p / 2}, measures=["ece"], by=by, tolerance=0.06, n_resamples=200
    )
    alone = cal.evaluate(
        y, p, measures=["ece"], by=by, tolerance=0.06, n_resamples=200, uncertainty=True
    )
    assert found.slices["m"].to_dict() == alone.slices.to_dict()
    words = {each.name: each.against_tolerance for each in found.slices["m"]}
    assert words["b"] == "beyond" and words["a"] == words["c"] == "within"
    assert found.slices["m"].tolerance == found.recipe["tolerance"] == 0.06
    models = {"m": p, "n": p / 2}
    assert "tolerance" not in cal.compare(y, models, measures=["ece"], n_resamples=50).recipe
    with pytest.raises(InputError, match="tolerance"):
        cal.compare(y, models, tolerance=2)


@pytest.mark.parametrize("measure", ["lin_ce", "top_label_ece", "classwise_ece"])
def test_differences_are_within_what_the_limits_of_the_two_allow(measure):
    """Of squares and of errors over all classes they went beyond: two whose limits do not meet were
    tied.
    """
    rng = np.random.default_rng(1)
    scores = rng.normal(0, 1.5, (500, 10))
    steep, right = (np.exp(t * scores) for t in (2.0, 1.0))
    steep, right = (each / each.sum(axis=1, keepdims=True) for each in (steep, right))
    y = (rng.random(500)[:, None] > right.cumsum(axis=1)).sum(axis=1)
    found = cal.compare(y, {"steep": steep, "right": right}, measures=[measure], n_resamples=200)
    limits = found.difference("steep", "right", measure)
    (low, high, _), (least, most, _) = found.limits[:, 0]
    assert (
        low - most - 1e-12 <= limits.low <= limits.estimate <= limits.high <= high - least + 1e-12
    )
    if low > most:
        assert limits.better == "right"


def test_limits_that_lie_beyond_those_of_the_two_end_there():
    still = np.zeros((1, 50))
    first = Scatter(None, still, alone=lambda level: (0.1, 0.2, 0.15))
    second = Scatter(None, still, alone=lambda level: (0.0, 0.05, 0.02))
    for value, end in ((0.5, 0.2), (-0.5, 0.05), (0.1, 0.1)):
        found = difference_limits(value, first, second, 0.95)
        assert found == pytest.approx((end, end, end))


def test_a_share_that_no_row_moves_has_limits_of_its_own():
    """Of six events that are told apart perfectly the difference was a point, and a gate passed."""
    y = np.r_[np.ones(6, int), np.zeros(54, int)]
    apart = np.where(y == 1, 0.9, 0.1) + np.linspace(-0.05, 0.05, 60)
    same = np.full(60, 0.1)
    alone = cal.interval(y, apart, measure="auroc")
    for one, other, sign in ((apart, same, 1), (same, apart, -1)):
        found = cal.compare(y, {"a": one, "b": other}, measures=["auroc"])
        limits = found.difference("a", "b", "auroc")
        ends = sorted(sign * end for end in (limits.low, limits.high))
        assert ends[0] <= alone.low - 0.5 + 1e-12 and ends[1] >= 0.5
    # What keeps the order keeps what is of nothing else, told apart or not.
    for scores in (apart, np.roll(apart, 3)):
        found = cal.compare(y, {"a": scores, "b": scores**2}, measures=["auroc"])
        limits = found.difference("a", "b", "auroc")
        assert limits.low == limits.high == 0.0
    gate = cal.check(y, apart, baseline=same, max_decrease={"auroc": -0.49})
    assert gate.verdict == "undecided"
    other = cal.check(
        y, apart, baseline={"y_true": y, "y_proba": same}, paired=False,
        max_decrease={"auroc": -0.49},
    )  # fmt: skip
    assert other.rows[0].interval.low <= alone.low - 0.5 + 1e-12


def test_rows_that_one_of_two_misses_are_as_rare_as_their_number_allows():
    """One row of a hundred that only the second misses: there may be 5.57, and none."""
    y, p = _calibrated(100)
    turned = p.copy()
    row = int(np.flatnonzero((p > 0.5) == y)[0])
    turned[row] = 1 - p[row]
    models = {"a": p, "b": turned, "c": p**1.0001}
    found = cal.compare(y, models, measures=["classification_error"], n_resamples=50)
    limits = found.difference("b", "a", "classification_error")
    assert limits.low <= 0.01 - 0.04572 + 1e-5 and limits.high >= 0.01 + 0.04572 - 1e-5
    # A map that keeps the order of classes keeps what is missed.
    same = found.difference("a", "c", "classification_error")
    assert same.low == same.high == 0.0


def test_of_two_predictors_there_is_no_order_to_be_kept():
    y, p = _calibrated(100)
    two = cal.compare(y, {"a": p, "b": p**1.5}, measures=["brier"], n_resamples=50)
    assert "of two, a correlation can only be 1 or -1" in str(two)


def _calibrated(n):
    rng = np.random.default_rng(8)
    p = rng.uniform(0.1, 0.9, n)
    return (rng.random(n) < p).astype(int), p
