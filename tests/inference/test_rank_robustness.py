"""Whether an order of predictors depends on the number of bins."""

import os
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import calibrant as cal
from calibrant import EqualWidth, Quantile, rank_robustness
from rivals import (
    binary,
    calibrated,
    multi,
    sigmoid,
    softmax,
)

REPOSITORY = Path(__file__).resolve().parents[2]
FOLDER = Path(os.environ.get("CALIBRANT_DATA") or REPOSITORY.parent / "shared" / "data")


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
        u = {f"m{i}": sigmoid(h * rng.uniform(0.3, 3) + rng.normal(0, 0.5, 250)) for i in range(8)}
    else:
        y, x = multi(250)
        noise = rng.normal(0, 1, (8, *x["right"].shape))
        u = {
            f"m{i}": softmax(rng.uniform(0.3, 3) * x["right"] + i / 8 * noise[i]) for i in range(8)
        }
    counts = (20, 5, 60)
    asked = list(errors_of(y, next(iter(u.values())), 5))
    found = cal.compare(
        y, u, measures=asked, bins=9, bin_counts=(20, 5, 60, 5), n_resamples=50
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
    assert found.n == 8 and found.names == tuple(u) and found.chain == expected.chain
    assert len(found.rows) == len(expected.rows) == len(names) * (15 + 3 + 3)
    for ours, theirs in zip(found.rows, expected.rows, strict=True):
        assert (ours.measure, ours.relation, ours.first, ours.second, ours.n) == (
            theirs.measure,
            theirs.relation,
            theirs.first,
            theirs.second,
            theirs.n,
        )
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
    """Labels of one half of the test rows, and predictions of CIFAR-100 networks, to which a
    temperature was fitted on the other half.
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
    return labels[second], scaled


BIN_COUNTS = (2000, 20, 5)


@cache
def compared_pool():
    """The networks compared by a loss and by one error: limits of others take a minute."""
    return cal.compare(*pool(), measures=["brier", "ece"], bin_counts=BIN_COUNTS, n_resamples=50)


@cache
def robustness_of_pool():
    """What a comparison finds of all errors: its values are those of functions, as shown above."""
    y, scaled = pool()
    errors = {}
    for predictions in scaled.values():
        for m in BIN_COUNTS:
            for name, value in errors_of(y, predictions, m).items():
                errors.setdefault((name, m), []).append(value)
    loss = [cal.classification_error(y, predictions) for predictions in scaled.values()]
    return rank_robustness(errors, {"classification_error": loss}, names=list(scaled))


@pytest.mark.parametrize("measure", [*OF_THIRTEEN, "ece, compared"])
def test_bins_turn_the_order_of_real_networks(measure):
    measure, _, compared = measure.partition(", ")
    robustness = compared_pool().robustness if compared else robustness_of_pool()
    rows = robustness.select(measure=measure, relation="loss")
    found = [row.value for row in rows if row.first == "classification_error"]
    assert found == pytest.approx(OF_THIRTEEN[measure], abs=0.03)
    # Six networks fewer: the signs are those of all 19, and the values not far off.
    assert np.sign(found).tolist() == np.sign(OF_NINETEEN[measure]).tolist()
    assert found == pytest.approx(OF_NINETEEN[measure], abs=0.3)
    assert found[0] == pytest.approx(OF_NINETEEN[measure][0], abs=0.17)


def test_the_order_of_real_networks_by_a_loss_is_firm():
    found = compared_pool()
    table = found.ranking("brier")
    assert table["rank"] == list(range(1, 14))
    for low, rank, high in zip(table["rank_low"], table["rank"], table["rank_high"], strict=True):
        assert low <= rank <= high
    best, worst = table["predictor"][0], table["predictor"][-1]
    assert found.difference(best, worst, "brier").better == best
    assert len(found.robustness.chain) == 6


@pytest.mark.parametrize("n", [2, 7, 8])
def test_of_few_predictors_there_is_no_order_to_be_kept(n):
    y, p = calibrated(100)
    models = {f"m{i}": p ** (1 + i / 8) for i in range(n)}
    found = cal.compare(y, models, measures=["ece"], n_resamples=50, bin_counts=(5, 10))
    assert (found.robustness is None) == (n < 8)


# --- intervals over groups ---


def runs_of(rng, n_runs, each=12):
    """Two quantities of checkpoints of training runs, correlated within and between runs."""
    level = rng.normal(size=(n_runs, 1))
    drift = np.linspace(-1, 1, each)
    x = level + drift + 0.3 * rng.normal(size=(n_runs, each))
    y = 0.5 * level + rng.normal(size=(n_runs, 1)) - 0.8 * drift
    y = y + 0.3 * rng.normal(size=(n_runs, each))
    return x.ravel(), y.ravel(), np.repeat(np.arange(n_runs), each)


def test_intervals_over_groups_are_a_jackknife():
    from scipy import stats

    rng = np.random.default_rng(4)
    x, y, runs = runs_of(rng, 9)
    x[::5] = np.round(x[::5], 0)  # ties
    names = np.array([f"run {r}" for r in "abcdefghi"])[runs]
    found = rank_robustness({("e", 5): y, ("e", 20): -x}, {"loss": x}, groups=names)
    assert found.n_groups == 9 and "108 predictors in 9 groups" in found.title
    row = found.select(relation="loss")[0]
    without = []
    for run in range(9):
        kept = runs != run
        without.append(stats.spearmanr(x[kept], y[kept]).statistic)
    mean = sum(without) / 9
    variance = 8 / 9 * sum((value - mean) ** 2 for value in without)
    rho = stats.spearmanr(x, y).statistic
    reach = stats.t.ppf(0.975, 8) * variance**0.5 / (1 - rho**2)
    assert row.value == pytest.approx(rho, rel=1e-12)
    expected = [np.tanh(np.arctanh(rho) - reach), np.tanh(np.arctanh(rho) + reach)]
    assert [row.low, row.high] == pytest.approx(expected, rel=1e-10)
    # Opposite orders are opposite in every group.
    opposite = found.select(relation="loss")[1]
    assert opposite.value == opposite.low == opposite.high == -1.0
    assert f"[{row.low:.3f}, {row.high:.3f}]" in found.table()["loss / 5"][0]
    assert {"low", "high"} <= set(found.columns())
    plain = rank_robustness({("e", 5): y, ("e", 20): -x}, {"loss": x})
    assert not {"low", "high"} & set(plain.columns()) and plain.rows[0].low is None
    assert [r.value for r in plain.rows] == [r.value for r in found.rows]


def test_intervals_over_groups_hold_what_the_margin_does_not():
    rng = np.random.default_rng(8)
    x, y, _ = runs_of(rng, 4000)
    truth = rank_robustness({("e", 5): y}, {"loss": x}).rows[0].value
    inside = margin = 0
    for _ in range(200):
        x, y, runs = runs_of(rng, 20)
        row = rank_robustness({("e", 5): y}, {"loss": x}, groups=runs).rows[0]
        inside += row.low <= truth <= row.high
        margin += abs(row.value - truth) <= row.margin
    assert inside >= 182 and margin < 140  # of 200, 95 % wanted


def test_groups_are_checked():
    errors, losses = {("e", 5): [1.0, 2.0, 3.0]}, {"loss": [3.0, 1.0, 2.0]}
    with pytest.raises(cal.InputError, match="groups must have 3 entries"):
        rank_robustness(errors, losses, groups=[0, 1])
    with pytest.raises(cal.InputError, match="two or more groups"):
        rank_robustness(errors, losses, groups=["a", "a", "a"])


def test_intervals_over_groups_are_drawn():
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    rng = np.random.default_rng(2)
    x, y, runs = runs_of(rng, 6)
    found = rank_robustness({("e", 5): y, ("e", 20): x}, {"loss": x}, groups=runs)
    row = found.select(relation="bins")[0]
    segment = found.plot(relation="bins").bars_.get_segments()[0]
    assert sorted(segment[:, 0]) == pytest.approx([row.low, row.high])
