"""Each peer rule gives the number that the real package gives."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import calibrant as cal
from calibrant._measures.peer_rules import (
    PEER_RULES,
    PeerRule,
    leznik_ece,
    mccaffrey_ece,
    netcal_ece,
    relplot_ece,
    scikit_learn_gap,
    torchmetrics_ece,
    uncertainty_calibration_debiased_l2,
    uncertainty_calibration_ece,
    uncertainty_calibration_equal_mass_ece,
)
from looped import looped
from needs import need

Array = NDArray[np.float64]
Rule = Callable[[Array, Array, int], float]

N_ROWS = 2000
BIN_COUNTS = (5, 10, 15, 20)


def softmax_rows(seed: int, n_classes: int = 4) -> tuple[Array, NDArray[np.int64]]:
    """Overconfident rows on the simplex, some of them saturated, with their class indices."""
    rng = np.random.default_rng(seed)
    logits = 2.0 * rng.normal(size=(N_ROWS, n_classes))
    logits[: N_ROWS // 20, 1] += 60.0  # top-label confidences of exactly 1
    rows = np.exp(logits - logits.max(axis=1, keepdims=True))
    rows /= rows.sum(axis=1, keepdims=True)
    flattened = np.cumsum(rows**0.7, axis=1)
    draws = rng.random(N_ROWS) * flattened[:, -1]
    classes = (draws[:, None] > flattened).sum(axis=1)
    return rows, classes.astype(np.int64)


def top_label(rows: Array, classes: NDArray[np.int64]) -> tuple[Array, Array]:
    return rows.max(axis=1), (rows.argmax(axis=1) == classes).astype(np.float64)


def outcomes(predictions: Array, rng: np.random.Generator) -> Array:
    """0/1 targets of a predictor that is too low here and too high there, also at 0 and at 1.

    Gaps of one sign would add up to the same error however the rows are binned.
    """
    chances = predictions + 0.3 * np.cos(34.0 * predictions)
    return (rng.random(predictions.size) < chances).astype(np.float64)


def problems() -> dict[str, tuple[Array, Array]]:
    made: dict[str, tuple[Array, Array]] = {}
    for seed in (0, 1, 2, 12345):
        rng = np.random.default_rng(seed)
        predictions = rng.random(N_ROWS)
        made[f"random-{seed}"] = (predictions, outcomes(predictions, rng))
    rng = np.random.default_rng(7)
    for parts in (10, 15, 20):
        predictions = rng.integers(0, parts + 1, N_ROWS) / parts  # every edge, 0 and 1 among them
        made[f"edges-{parts}"] = (predictions, outcomes(predictions, rng))
        beside = np.nextafter(predictions, rng.integers(0, 2, N_ROWS).astype(np.float64))
        made[f"beside-edges-{parts}"] = (beside, outcomes(beside, rng))
    predictions = rng.random(N_ROWS)
    predictions[:200], predictions[200:500], predictions[500:800] = (
        0.0,
        1.0,
        rng.integers(0, 11, 300) / 10,
    )
    made["zeros-ones-edges"] = (predictions, outcomes(predictions, rng))
    predictions = rng.choice([0.05, 0.3, 0.31, 0.6, 0.7, 0.999, 1.0], N_ROWS)
    made["heavy-ties"] = (predictions, outcomes(predictions, rng))
    predictions = np.where(rng.random(N_ROWS) < 0.5, 0.7, rng.random(N_ROWS))
    made["half-tied"] = (predictions, outcomes(predictions, rng))
    predictions = (rng.integers(0, 101, N_ROWS) / 100).astype(np.float32).astype(np.float64)
    made["from-float32"] = (predictions, outcomes(predictions, rng))
    made["top-label"] = top_label(*softmax_rows(3))
    return made


PROBLEMS = problems()

every_problem = looped("problem", PROBLEMS)
every_bin_count = pytest.mark.parametrize("n_bins", BIN_COUNTS)


def torchmetrics_number(predictions: Array, targets: Array, n_bins: int, dtype: str) -> float:
    torch, classification = need("torch"), need("torchmetrics.classification")
    metric = classification.BinaryCalibrationError(
        n_bins=n_bins, norm="l1", validate_args=len(targets) < 1_000_000
    )
    preds = torch.tensor(predictions, dtype=getattr(torch, dtype))
    metric.update(preds, torch.tensor(targets, dtype=torch.int64))  # to call it does so twice
    return float(metric.compute())


def scikit_learn_number(predictions: Array, targets: Array, n_bins: int) -> float:
    curve = need("sklearn.calibration").calibration_curve(targets, predictions, n_bins=n_bins)
    return float(np.mean(np.abs(curve[0] - curve[1])))


def netcal_number(predictions: Array, targets: Array, n_bins: int) -> float:
    return float(need("netcal.metrics").ECE(n_bins).measure(predictions, targets))


def relplot_number(predictions: Array, targets: Array, n_bins: int) -> float:
    return float(need("relplot").metrics.binnedECE(predictions, targets, nbins=n_bins))


def uncertainty_number(function: str, **options: Any) -> Rule:
    def number(predictions: Array, targets: Array, n_bins: int) -> float:
        measure = getattr(need("calibration"), function)
        labels = targets.astype(np.int64)
        return float(measure(predictions, labels, num_bins=n_bins, **options))

    return number


DOUBLE_PRECISION_PEERS: dict[str, tuple[Rule, Rule]] = {
    "scikit-learn": (scikit_learn_gap, scikit_learn_number),
    "netcal": (netcal_ece, netcal_number),
    "relplot": (relplot_ece, relplot_number),
    "uncertainty get_ece": (uncertainty_calibration_ece, uncertainty_number("get_ece")),
    "uncertainty get_ece_em": (
        uncertainty_calibration_equal_mass_ece,
        uncertainty_number("get_ece_em"),
    ),
}


@every_bin_count
@every_problem
@pytest.mark.parametrize("peer", DOUBLE_PRECISION_PEERS)
def test_double_precision_peers_agree(peer: str, problem: str, n_bins: int) -> None:
    ours, theirs = DOUBLE_PRECISION_PEERS[peer]
    predictions, targets = PROBLEMS[problem]
    expected = theirs(predictions, targets, n_bins)
    assert ours(predictions, targets, n_bins) == pytest.approx(expected, rel=0, abs=1e-12)


@every_bin_count
@every_problem
def test_torchmetrics_agrees_in_single_precision(problem: str, n_bins: int) -> None:
    predictions, targets = PROBLEMS[problem]
    expected = torchmetrics_number(predictions, targets, n_bins, "float32")
    assert torchmetrics_ece(predictions, targets, n_bins) == pytest.approx(
        expected, rel=0, abs=1e-6
    )


@every_bin_count
@every_problem
def test_torchmetrics_agrees_in_double_precision(problem: str, n_bins: int) -> None:
    predictions, targets = PROBLEMS[problem]
    expected = torchmetrics_number(predictions, targets, n_bins, "float64")
    ours = torchmetrics_ece(predictions, targets, n_bins, precision=np.float64)
    assert ours == pytest.approx(expected, rel=0, abs=1e-12)


@every_bin_count
@every_problem
def test_uncertainty_debiased_agrees(problem: str, n_bins: int) -> None:
    predictions, targets = PROBLEMS[problem]
    calibration = need("calibration")
    # get_calibration_error itself has no bin count; this is the function it hands over to.
    if calibration.utils.is_discrete(predictions):
        expected = calibration.get_binning_ce(predictions, targets.astype(np.int64))
    else:
        expected = uncertainty_number("lower_bound_scaling_ce")(predictions, targets, n_bins)
    ours = uncertainty_calibration_debiased_l2(predictions, targets, n_bins)
    assert ours == pytest.approx(expected, rel=0, abs=1e-12)


@every_problem
def test_uncertainty_debiased_agrees_as_called(problem: str) -> None:
    predictions, targets = PROBLEMS[problem]
    expected = need("calibration").get_calibration_error(predictions, targets.astype(np.int64))
    ours = uncertainty_calibration_debiased_l2(predictions, targets, 15)
    assert ours == pytest.approx(expected, rel=0, abs=1e-12)


@pytest.mark.parametrize("n_rows", [4, 20, 30, 40])
def test_uncertainty_debiased_agrees_on_bins_of_one_to_three_rows(n_rows: int) -> None:
    predictions, targets = (column[:n_rows] for column in PROBLEMS["random-0"])
    expected = need("calibration").get_calibration_error(predictions, targets.astype(np.int64))
    ours = uncertainty_calibration_debiased_l2(predictions, targets, 15)
    assert ours == pytest.approx(expected, rel=0, abs=1e-12)


@pytest.mark.parametrize("kind", ["rows", "logits", "float32", "tied", "tied in part", "two"])
def test_uncertainty_debiased_is_of_all_classes(kind: str) -> None:
    rows, labels = softmax_rows(5, 2 if kind == "two" else 4)
    if kind.startswith("tied"):  # as of a binned model: in every column, or in some
        rng, n_tied = np.random.default_rng(1), 4 if kind == "tied" else 2
        some = rng.multinomial(20, np.full(n_tied, 1 / n_tied), len(rows)) / 20
        rest = rng.dirichlet(np.ones(2), len(rows))
        rows = some if kind == "tied" else np.hstack([some / 2, rest / 2])
    given = rows.astype(np.float32) if kind == "float32" else rows
    expected = need("calibration").get_calibration_error(given.astype(np.float64), labels)
    if kind == "logits":
        table = cal.conventions(labels, np.log(np.maximum(rows, 1e-300)), from_logits=True)
    else:
        table = cal.conventions(labels, given)
    found = {row.tool: row.at_default for row in table.rows}
    ours = found["uncertainty-calibration get_calibration_error"]
    assert ours == pytest.approx(expected, rel=1e-9)
    one_hot = cal.conventions(np.eye(rows.shape[1])[labels], given).rows
    assert kind == "logits" or ours in [row.at_default for row in one_hot]


@every_bin_count
def test_more_bins_than_rows(n_bins: int) -> None:
    predictions, targets = np.array([0.2, 0.9, 0.9]), np.array([0.0, 1.0, 0.0])
    for ours, theirs in DOUBLE_PRECISION_PEERS.values():
        expected = theirs(predictions, targets, n_bins)
        assert ours(predictions, targets, n_bins) == pytest.approx(expected, rel=0, abs=1e-12)


def multiclass_number(peer: str, rows: Array, classes: NDArray[np.int64], n_bins: int) -> float:
    if peer == "torchmetrics":
        torch, classification = need("torch"), need("torchmetrics.classification")
        metric = classification.MulticlassCalibrationError(rows.shape[1], n_bins=n_bins)
        return float(metric(torch.tensor(rows), torch.tensor(classes)))
    if peer == "netcal":
        return float(need("netcal.metrics").ECE(n_bins).measure(rows, classes))
    if peer == "relplot":
        metrics = need("relplot").metrics
        pair = metrics.multiclass_logits_to_confidences(rows, classes, probs=True)
        return float(metrics.binnedECE(*pair, nbins=n_bins))
    calibration = need("calibration")
    if peer == "uncertainty debiased":
        return float(calibration.lower_bound_scaling_top_ce(rows, classes, num_bins=n_bins))
    function = getattr(calibration, peer)
    return float(function(rows, classes, num_bins=n_bins, mode="top-label"))


@every_bin_count
@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize(
    ("peer", "ours", "tolerance"),
    [
        ("torchmetrics", torchmetrics_ece, 1e-6),
        ("netcal", netcal_ece, 1e-12),
        ("relplot", relplot_ece, 1e-12),
        ("get_ece", uncertainty_calibration_ece, 1e-12),
        ("get_ece_em", uncertainty_calibration_equal_mass_ece, 1e-12),
        ("uncertainty debiased", uncertainty_calibration_debiased_l2, 1e-12),
    ],
)
def test_rows_of_probabilities_are_judged_by_their_top_label(
    peer: str, ours: Rule, tolerance: float, seed: int, n_bins: int
) -> None:
    rows, classes = softmax_rows(seed)
    predictions, targets = top_label(rows, classes)
    expected = multiclass_number(peer, rows, classes, n_bins)
    assert ours(predictions, targets, n_bins) == pytest.approx(expected, rel=0, abs=tolerance)


def one_and_nearly_one() -> tuple[Array, Array]:
    """100 predictions of 1 with accuracy 0.9, and 100 of 0.91 with accuracy 1."""
    predictions = np.repeat([1.0, 0.91], 100)
    targets = np.concatenate([np.repeat([1.0, 0.0], [90, 10]), np.ones(100)])
    return predictions, targets


@pytest.mark.parametrize("ours", [torchmetrics_ece, relplot_ece])
def test_one_in_a_bin_of_its_own_hides_a_cancelling_gap(ours: Rule) -> None:
    assert ours(*one_and_nearly_one(), 10) == pytest.approx(0.095, abs=1e-6)


@pytest.mark.parametrize("ours", [netcal_ece, uncertainty_calibration_ece, mccaffrey_ece])
def test_one_in_the_last_bin(ours: Rule) -> None:
    assert ours(*one_and_nearly_one(), 10) == pytest.approx(0.005, abs=1e-12)


def test_one_in_no_bin_loses_its_gap() -> None:
    assert leznik_ece(*one_and_nearly_one(), 10) == pytest.approx(0.045, abs=1e-12)


def test_one_in_a_bin_of_its_own_in_the_packages() -> None:
    problem = one_and_nearly_one()
    assert torchmetrics_number(*problem, 10, "float32") == pytest.approx(0.095, abs=1e-6)
    assert relplot_number(*problem, 10) == pytest.approx(0.095, abs=1e-12)


def test_relplot_division_may_leave_one_in_the_last_bin() -> None:
    # 1 / (1 / 93) rounds to just under 93, so there 1 shares a bin with the predictions below it.
    predictions, targets = np.array([1.0, 0.999]), np.array([0.0, 1.0])
    for n_bins, expected in ((93, 0.4995), (94, 0.5005)):
        assert relplot_ece(predictions, targets, n_bins) == pytest.approx(expected, abs=1e-12)
        assert relplot_number(predictions, targets, n_bins) == pytest.approx(expected, abs=1e-12)


def test_a_prediction_on_an_edge_has_no_agreed_bin() -> None:
    # 0.3 belongs to [0.3, 0.4) with 0.35. Only the definition puts it there.
    predictions, targets = np.array([0.3, 0.35]), np.array([1.0, 0.0])
    together, apart = 0.175, 0.525
    assert mccaffrey_ece(predictions, targets, 10) == pytest.approx(together)
    for ours in (netcal_ece, relplot_ece, uncertainty_calibration_ece):
        assert ours(predictions, targets, 10) == pytest.approx(apart)


def test_scikit_learn_weighs_bins_alike() -> None:
    predictions = np.array([0.1] * 999 + [0.9])
    targets = np.zeros(1000)
    assert scikit_learn_gap(predictions, targets, 10) == pytest.approx(0.5)
    assert scikit_learn_number(predictions, targets, 10) == pytest.approx(0.5)
    assert mccaffrey_ece(predictions, targets, 10) == pytest.approx(0.1008)


def test_torchmetrics_single_precision_sums_drift_and_then_stop() -> None:
    n = 2**24 + 2**18  # a float32 count cannot pass 2**24
    predictions = np.full(n, 0.9)
    targets = np.ones(n)
    targets[::8] = 0.0
    expected = torchmetrics_number(predictions, targets, 15, "float32")
    assert mccaffrey_ece(predictions[:8], targets[:8], 15) == pytest.approx(0.025, abs=1e-9)
    assert abs(expected - 0.025) > 0.005
    assert torchmetrics_ece(predictions, targets, 15) == pytest.approx(expected, rel=0, abs=1e-6)


def soft_problem() -> tuple[Array, Array]:
    predictions = PROBLEMS["random-12345"][0]
    return predictions, predictions**1.3


def test_soft_targets_are_refused_where_the_rule_says_so() -> None:
    predictions, soft = soft_problem()
    torch, classification = need("torch"), need("torchmetrics.classification")
    with pytest.raises(RuntimeError, match="Detected the following values in `target`"):
        classification.BinaryCalibrationError()(torch.tensor(predictions), torch.tensor(soft))
    with pytest.raises(ValueError, match=r"Only binary|label|Unknown"):
        scikit_learn_number(predictions, soft, 10)
    for function in ("get_ece", "get_ece_em"):
        with pytest.raises(ValueError, match="integer"):
            getattr(need("calibration"), function)(predictions, soft)
    with pytest.raises(ValueError, match="integer"):
        need("calibration").get_calibration_error(predictions, soft)


@every_bin_count
def test_soft_targets_are_right_in_relplot(n_bins: int) -> None:
    predictions, soft = soft_problem()
    expected = relplot_number(predictions, soft, n_bins)
    for ours in (relplot_ece, mccaffrey_ece, leznik_ece):
        assert ours(predictions, soft, n_bins) == pytest.approx(expected, rel=0, abs=1e-12)


@every_bin_count
def test_soft_targets_are_wrong_in_netcal(n_bins: int) -> None:
    predictions, soft = soft_problem()
    wrong = netcal_number(predictions, soft, n_bins)
    assert wrong > 5 * mccaffrey_ece(predictions, soft, n_bins)
    assert netcal_ece(predictions, soft, n_bins) == pytest.approx(wrong, rel=0, abs=1e-12)


def test_mccaffrey_table() -> None:
    # The tutorial's eight occupied bins. Its accuracies, rounded to two digits, are the targets.
    counts = np.array([6, 12, 18, 10, 12, 14, 16, 12])
    mean_predicteds = np.array([0.24, 0.36, 0.44, 0.52, 0.68, 0.74, 0.86, 0.92])
    accuracies = np.array([0.50, 0.67, 0.56, 0.60, 0.58, 0.71, 0.75, 0.83])
    predictions, targets = np.repeat(mean_predicteds, counts), np.repeat(accuracies, counts)
    assert mccaffrey_ece(predictions, targets, 10) == pytest.approx(0.1270, rel=0, abs=1e-12)


def test_known_value_of_the_common_data_set() -> None:
    rng = np.random.default_rng(12345)
    predictions = rng.random(N_ROWS)
    targets = (rng.random(N_ROWS) < predictions**1.3).astype(np.float64)
    assert mccaffrey_ece(predictions, targets, 15) == pytest.approx(0.06535473973067683, abs=1e-15)
    debiased = uncertainty_calibration_debiased_l2(predictions, targets, 15)
    assert debiased == pytest.approx(0.0672638885434399, abs=1e-14)


@pytest.mark.parametrize("rule", PEER_RULES, ids=lambda rule: rule.tool)
def test_a_rule_says_what_it_is(rule: PeerRule) -> None:
    predictions, targets = PROBLEMS["zeros-ones-edges"]
    predictions.setflags(write=False)
    value = rule.compute(predictions, targets, rule.default_bins)
    assert type(value) is float
    assert 0.0 <= value <= 1.0
    assert rule.why.endswith(".") and "\n" not in rule.why
    assert rule.rule and rule.version


def test_tools_are_named_once() -> None:
    tools = [rule.tool for rule in PEER_RULES]
    assert len(set(tools)) == len(tools)
