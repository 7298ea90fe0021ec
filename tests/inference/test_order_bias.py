"""Theorem 4.3 as a tool: the bias of an order by a truthful error, and whether it is covered."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import calibrant as cal
from calibrant._api import order_bias
from calibrant._api.cross_fitting import FOLDS, fold_of
from calibrant._api.model_rows import model_set
from calibrant._api.rows import GivenRows

TRUTHS = np.array([0.01, 0.05, 0.5, 0.95, 0.99])
FIXED = cal.Edges([0, 0.35, 0.7, 1])


def drawn(n, seed, *predictors):
    """Features and labels of a world of five values, and what predictors of it say."""
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 5, n)
    y = (rng.random(n) < TRUTHS[x]).astype(int)
    return y, {f"{i}": np.asarray(h)[x] for i, h in enumerate(predictors)}


def rising(pairs):
    """Levels and values of the increasing least-squares fit, by pooling neighbours that fall."""
    levels = sorted({u for u, _ in pairs})
    blocks = []
    for level in levels:
        z = [z for u, z in pairs if u == level]
        blocks.append([math.fsum(z), len(z), 1])
        while len(blocks) > 1 and blocks[-2][0] * blocks[-1][1] >= blocks[-1][0] * blocks[-2][1]:
            last = blocks.pop()
            blocks[-1] = [a + b for a, b in zip(blocks[-1], last, strict=True)]
    return levels, [total / n for total, n, size in blocks for _ in range(size)]


def at(fit, u):
    levels, values = fit
    if u <= levels[0]:
        return values[0]
    for (a, va), (b, vb) in itertools.pairwise(zip(levels, values, strict=True)):
        if u <= b:
            return va + (vb - va) * (u - a) / (b - a)
    return values[-1]


def twin_losses(problems, fold):
    """Mean loss as given, after a fit to the same rows, and cross-fitted; problems are (u, z, rest)
    by class.
    """
    sums = [0.0, 0.0, 0.0]
    for u, z, rest in problems:
        whole = rising(list(zip(u, z, strict=True)))
        parts = [
            rising([(a, b) for a, b, f in zip(u, z, fold, strict=True) if f != j])
            for j in range(FOLDS)
        ]
        for a, b, f, extra in zip(u, z, fold, rest, strict=True):
            for i, v in enumerate((a, at(whole, a), at(parts[f], a))):
                sums[i] += extra + (v - b) ** 2
    return [total / len(problems[0][0]) / len(problems) for total in sums]


def problems_of(measure, y, p):
    if measure == "lin_ce":
        return [(p.tolist(), y.tolist(), [0.0] * len(y))]
    if measure == "classwise_ce":
        return [
            (p[:, r].tolist(), (y == r).astype(float).tolist(), [0.0] * len(y))
            for r in range(p.shape[1])
        ]
    hits = (p.argmax(axis=1) == y).astype(float)
    return [(p.max(axis=1).tolist(), hits.tolist(), (1 - hits).tolist())]


@pytest.mark.parametrize("measure", ["lin_ce", "classwise_ce", "confidence_ce"])
def test_the_bias_is_that_of_its_twin(measure):
    rng = np.random.default_rng(1)
    p = rng.dirichlet([0.8, 0.8, 0.8], 120)
    y = (p.cumsum(axis=1) < rng.random((120, 1))).sum(axis=1)
    sharp = p**2 / (p**2).sum(axis=1, keepdims=True)
    models = {"truth": p, "sharp": sharp}
    if measure == "lin_ce":
        y, models = (y == 0).astype(int), {name: h[:, 0] for name, h in models.items()}
    found = cal.compare(y, models, measures=[measure], bins=4, seed=3)
    order = found.order_bias[measure]
    one = model_set(GivenRows(y_true=y, y_proba=models), None, False, None).samples["truth"]
    fold = fold_of(one, None, FOLDS, 3).tolist()
    means = {name: twin_losses(problems_of(measure, y, h), fold) for name, h in models.items()}
    for row in order:
        given, fitted, crossed = means[row.predictor]
        low, high, _ = found.limits[found.names.index(row.predictor), 0] * (len(y) - 1)
        assert row.loss == pytest.approx(crossed, rel=1e-12)
        plain = len(y) * found.value(row.predictor, measure) - crossed
        assert row.bias == pytest.approx(min(max(plain, row.low), row.high), abs=1e-12)
        assert row.low <= max(0, given - crossed) + low and row.high >= given - fitted + high
    (pair,) = order.pairs
    plain = means[pair.second][2] - len(y) * found.value(pair.first, measure)
    assert pair.margin == pytest.approx(min(max(plain, pair.low), pair.high), abs=1e-12)
    low, high, _ = found.limits[found.names.index(pair.first), 0] * (len(y) - 1)
    assert pair.low < means[pair.second][1] - means[pair.first][0] - high
    assert pair.high > means[pair.second][2] - means[pair.first][0] - low


def true_margin(ahead, behind, n):
    """The loss of the second after recalibration, less n times the expected error of the first."""

    def recalibrated(h):
        return np.array([TRUTHS[h == v].mean() for v in h])

    def risk(h):
        return float((h**2 - 2 * h * TRUTHS + TRUTHS).mean())

    cells = np.digitize(ahead, [0.35, 0.7])
    gaps = [((cells == c) * (ahead - TRUTHS)).mean() ** 2 for c in range(3)]
    return risk(recalibrated(behind)) - risk(ahead) - (n - 1) * sum(gaps)


SHY = 0.85 * TRUTHS + 0.15 * 0.5  # informed, and too far from the ends
LEVEL, HIGH = np.full(5, 0.5), np.full(5, 0.6)  # these know nothing; the first knows it


def test_orders_are_covered_while_the_bias_is_below_the_gap():
    def order(n, *predictors):
        y, models = drawn(n, 0, *predictors)
        return cal.compare(y, models, measures=["lin_ce"], bins=FIXED).order_bias["lin_ce"]

    # Calibrated, and of 100 bins the noise is small beside the gap of 0.156.
    rng = np.random.default_rng(0)
    truth = rng.beta(0.3, 0.3, 3000)
    y, models = (rng.random(3000) < truth).astype(int), {"a": truth, "b": np.full(3000, 0.6)}
    found = cal.compare(y, models, measures=["lin_ce"], bins=cal.Quantile(100))
    (pair,) = found.order_bias["lin_ce"].pairs
    assert (pair.first, pair.second, pair.covered) == ("a", "b", True)
    assert pair.low < 0.156 < pair.high + 0.01
    assert found.order_bias["lin_ce"].sentence == (
        "The order by LinCE is guaranteed to be that of the losses after recalibration for 1 of 1 "
        "pair of predictors (theorem 4.3 of Lu et al., arXiv:2510.06388)."
    )
    # Informed and ahead, but by a bias that has grown with n: so is it against the level one.
    found = order(3000, SHY, HIGH, LEVEL)
    assert [row.predictor for row in found] == ["2", "0", "1"]
    assert found.pair("0", "1").covered is False and true_margin(SHY, HIGH, 3000) < 0
    # The order by the error is not that of the losses.
    assert found.pair("0", "2").covered is False and true_margin(LEVEL, SHY, 3000) < 0
    assert found.rows[1].loss < found.rows[0].loss
    assert found.sentence.startswith("The order by LinCE is guaranteed")
    assert "for 0 of 3 pairs of predictors (theorem 4.3 of Lu et al., " in found.sentence
    assert "in 2 the bias exceeds the gap of the losses" in found.sentence
    # The same two in few rows cannot be told apart.
    assert order(60, SHY, HIGH).pairs[0].covered is None


@pytest.mark.parametrize(("first", "second"), [(TRUTHS, HIGH), (SHY, HIGH), (SHY, LEVEL)])
def test_limits_hold_the_margin_and_the_bias(first, second):
    n, held, biases = 800, [], []
    for seed in range(80):
        y, models = drawn(n, seed, first, second)
        found = cal.compare(y, models, measures=["lin_ce"], bins=FIXED).order_bias["lin_ce"]
        (pair,) = found.pairs
        ahead, behind = (first, second) if pair.first == "0" else (second, first)
        held.append(pair.low <= true_margin(ahead, behind, n) <= pair.high)
        row = next(row for row in found if row.predictor == "0")
        # n E[error] less the loss that is left: of the first against itself.
        biases.append(row.low - 1e-12 <= -true_margin(first, first, n) <= row.high)
    assert np.mean(held) >= 0.9
    assert np.mean(biases) >= 0.9


def test_the_bias_is_right_on_average():
    """In bins by rank too, and of classes, whose bias is the mean over classes."""
    n, found = 300, []
    for seed in range(150):
        y, models = drawn(n, seed, SHY, HIGH)
        two = {name: np.column_stack([1 - h, h]) for name, h in models.items()}
        for order in (
            cal.compare(y, models, measures=["lin_ce"], bins=FIXED).order_bias["lin_ce"],
            cal.compare(y, two, measures=["classwise_ce"], bins=FIXED).order_bias["classwise_ce"],
        ):
            found.append(next(row.bias for row in order if row.predictor == "0"))
    found = np.reshape(found, (-1, 2))
    error = found[:, 0].std() / math.sqrt(len(found))
    assert abs(found[:, 0].mean() - -true_margin(SHY, SHY, n)) < 3 * error
    np.testing.assert_allclose(found[:, 0], found[:, 1], rtol=0.2)  # 1 - p has other edges


def test_many_predictions_are_put_together_at_no_cost(monkeypatch):
    rng = np.random.default_rng(0)
    truth = rng.random(20_000)
    z, fold = (rng.random(20_000) < truth) * 1.0, rng.integers(0, FOLDS, 20_000)
    pooled = [((fit - z) ** 2).mean() for fit in order_bias.increasing_fits(truth**2, z, fold)]
    monkeypatch.setattr(order_bias, "MOST_LEVELS", 1 << 20)
    exact = [((fit - z) ** 2).mean() for fit in order_bias.increasing_fits(truth**2, z, fold)]
    assert pooled != exact and pooled == pytest.approx(exact, rel=5e-4)


def test_it_is_there_where_a_truthful_error_is_named_and_rows_are_alike():
    y, models = drawn(200, 5, TRUTHS, HIGH)
    assert cal.compare(y, models).order_bias is None
    assert "order_bias" not in cal.compare(y, models, measures=["ece", "brier"]).to_dict()
    found = cal.compare(y, models, measures=["brier", "lin_ce", "confidence_ce"])
    assert list(found.to_dict()["order_bias"]) == ["lin_ce", "confidence_ce"]
    assert found.to_dict()["order_bias"]["lin_ce"]["pairs"][0]["first"] == "0"
    assert "Order by LinCE" in str(found) and "not_covered" in found._repr_html_()
    logits = {name: np.log(h / (1 - h)) for name, h in models.items()}
    same = cal.compare(y, logits, measures=["lin_ce"], from_logits=True).order_bias["lin_ce"]
    assert same.rows[0].bias == pytest.approx(found.order_bias["lin_ce"].rows[0].bias, abs=1e-9)
    for given, why in (
        ({"sample_weight": np.arange(200) + 1.0}, "weights"),
        ({"groups": np.arange(200) // 2}, "clusters"),
    ):
        left_out = cal.compare(y, models, measures=["lin_ce"], **given)
        assert left_out.order_bias is None
        assert left_out.notes[-1].endswith(f"does not cover rows with {why}")
    votes = np.column_stack([3 - 3 * y, 3 * y])
    two = {name: np.column_stack([1 - h, h]) for name, h in models.items()}
    assert cal.compare(votes, two, measures=["classwise_ce"]).notes[-1].endswith("with votes")
    three = {name: np.column_stack([1 - h, h / 2, h / 2]) for name, h in models.items()}
    assert cal.compare(y, three, measures=["lin_ce"]).order_bias is None  # the whole distribution


def test_soft_labels_count_as_they_are():
    y, models = drawn(2000, 3, TRUTHS, HIGH)
    soft = np.clip(0.7 * TRUTHS[np.searchsorted(TRUTHS, models["0"])] + 0.3 * y, 0, 1)
    (pair,) = cal.compare(soft, models, measures=["lin_ce"], bins=FIXED).order_bias["lin_ce"].pairs
    assert pair.first == "0" and pair.covered


def test_a_pair_that_is_not_there():
    y, models = drawn(100, 5, TRUTHS, HIGH)
    order = cal.compare(y, models, measures=["lin_ce"]).order_bias["lin_ce"]
    with pytest.raises(cal.InputError, match="must be two of 0, 1; got '0' and '2'"):
        order.pair("0", "2")
