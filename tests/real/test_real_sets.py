"""Real predictors' saved probabilities, where they are at hand.

The sets are not part of this project. They are looked for in the folder that CALIBRANT_DATA names,
or beside the repository in `shared/data`; what is not there is skipped.
"""

import math
import os
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

import calibrant as cal
from calibrant._measures.peer_rules import (
    mccaffrey_ece,
    netcal_ece,
    relplot_ece,
    scikit_learn_gap,
    torchmetrics_ece,
    uncertainty_calibration_ece,
    uncertainty_calibration_equal_mass_ece,
)
from every_engine import available, engine
from needs import compiled_only, need

Array = NDArray[Any]

REPOSITORY = Path(__file__).resolve().parents[2]
FOLDER = Path(os.environ.get("CALIBRANT_DATA") or REPOSITORY.parent / "shared" / "data")

# One network of each family stands for the rest, which differ in nothing that matters here.
FAMILIES = (
    "cifar10_vgg",
    "cifar10_resnet",
    "cifar10_mobilenetv2",
    "cifar100_vgg",
    "cifar100_resnet",
    "cifar100_mobilenetv2",
)
STANDS_FOR_ITS_FAMILY = {
    "cifar10_vgg16_bn",
    "cifar10_resnet32",
    "cifar10_mobilenetv2_x1_0",
    "cifar100_resnet32",
}


class Problem(NamedTuple):
    labels: Array
    predictions: Array
    from_logits: bool


def load(name: str) -> dict[str, Array]:
    path = FOLDER / f"{name}.npz"
    if not path.is_file():
        pytest.skip(f"{name}.npz is not at hand: CALIBRANT_DATA names the folder to look in")
    with np.load(path, allow_pickle=False) as arrays:
        return dict(arrays)


def problem(name: str) -> Problem:
    arrays = load(name)
    for predictions, labels, from_logits in (
        ("prob", "outcome", False),
        ("probs", "labels", False),
        ("logits", "labels", True),
        ("test_logits", "test_labels", True),
        ("densenet161_tv_conf", "labels", False),
    ):
        if predictions in arrays:
            found = arrays[labels]
            if predictions == "densenet161_tv_conf":  # top-label confidences: was the label right?
                found = arrays["densenet161_tv_pred"] == found
            return Problem(found, arrays[predictions], from_logits)
    pytest.skip(f"{name}.npz holds labels only")


def found_sets() -> list[Any]:
    names = sorted(path.stem for path in FOLDER.glob("*.npz")) if FOLDER.is_dir() else []
    chosen = [
        name for name in names if not name.startswith(FAMILIES) or name in STANDS_FOR_ITS_FAMILY
    ]
    absent = pytest.mark.skip(reason=f"no real predictions in {FOLDER.name}: set CALIBRANT_DATA")
    return chosen or [pytest.param("none", marks=absent)]


@pytest.mark.parametrize("name", found_sets())
def test_every_set_evaluates(name: str) -> None:
    labels, predictions, from_logits = problem(name)
    if predictions.size > 2_000_000:
        labels, predictions = labels[:500], predictions[:500]  # 1,000 classes: a part is enough
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = cal.evaluate(labels, predictions, from_logits=from_logits)
    assert result.reliability.n == len(predictions)
    assert result.reliability.n_dropped == 0
    assert sum(result.reliability.columns()["n"]) == len(predictions)
    shape = "multiclass" if predictions.ndim == 2 else "binary"
    described = {measure.name: measure for measure in cal.catalogue(shape)}
    for measure, value in result.values.items():
        low, high = described[measure].low, described[measure].high
        assert (
            low - 1e-12 <= value <= (math.log(predictions.shape[-1]) if high is None else high)
        ), measure
    if predictions.ndim == 2:
        assert result.classes is not None
        assert sum(result.classes["mean_target"]) == pytest.approx(1.0, abs=1e-9)
        assert sum(result.classes["mean_predicted"]) == pytest.approx(1.0, abs=1e-4)


@compiled_only
@pytest.mark.parametrize(
    "name",
    [
        "20news_probs",
        "imdb_probs",
        "adult_test_random_forest_binary",
        "cifar10_resnet32",
        "538_march_madness_in_game_men",
        "pop_tampere2003_24h_3class",
    ],
)
def test_both_engines_give_the_same_numbers(name: str) -> None:
    labels, predictions, from_logits = problem(name)
    found = []
    for engine_name in available():
        with engine(engine_name):
            found.append(cal.evaluate(labels, predictions, from_logits=from_logits))
    assert found[0].values == pytest.approx(found[1].values, rel=1e-9, abs=1e-13)
    assert found[0].notes == found[1].notes
    assert found[0].reliability.columns()["n"] == found[1].reliability.columns()["n"]


def test_known_error_of_a_network() -> None:
    """DenseNet-40 on CIFAR-10 before recalibration: ECE 0.0550 with 15 bins, log loss 0.4275."""
    labels, logits, _ = problem("cifar10_densenet40_val_test")
    result = cal.evaluate(labels, logits, from_logits=True)
    assert result["ece"] == pytest.approx(0.0550, abs=5e-5)
    shifted = logits.astype(np.float64) - logits.max(axis=1, keepdims=True)
    log_rows = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    losses = -log_rows[np.arange(len(labels)), labels]
    clipped = np.minimum(losses, -math.log(1e-12))
    assert (losses > clipped).sum() == 1
    assert any(
        note.startswith("1 prediction below 1e-12 for the observed class") for note in result.notes
    )
    assert result["log_loss"] == pytest.approx(clipped.mean(), rel=1e-12)
    assert result["log_loss"] == pytest.approx(0.4275, abs=5e-5)


def test_overshoot_of_single_precision_is_told() -> None:
    labels, rows, _ = problem("imdb_probs")
    assert rows.max() > 1
    result = cal.evaluate(labels, rows)
    outside = int(((rows < 0) | (rows > 1)).sum())
    off = int((np.abs(rows.astype(np.float64).sum(axis=1) - 1) > 1e-5).sum())
    assert any(note.startswith(f"{outside:,} predictions outside [0, 1]") for note in result.notes)
    assert any(note.startswith(f"{off:,} rows of y_proba") for note in result.notes)
    assert result["ece"] == pytest.approx(cal.ece(labels, np.clip(rows, 0, 1)), abs=1e-12)


def test_exact_zeros_and_ones_are_counted_and_told() -> None:
    labels, rows, _ = problem("20news_probs")
    at_label = rows[np.arange(len(labels)), labels]
    assert (at_label == 0).any()
    assert (rows == 1).any()
    result = cal.evaluate(labels, rows)
    told = f"{int((at_label < 1e-12).sum()):,} predictions below 1e-12 for the observed class"
    assert any(note.startswith(told) for note in result.notes)
    confidences = rows.max(axis=1)
    last = result.reliability.columns()["n"][-1]
    assert last == int((confidences >= np.float32(14 / 15)).sum())


def test_half_precision_logits_are_read_as_they_are() -> None:
    labels, logits, from_logits = problem("cifar100_resnet32")
    assert logits.dtype == np.float16
    assert from_logits
    for measure in (cal.ece, cal.classwise_ce, cal.brier_score, cal.log_loss):
        found = measure(labels, logits, from_logits=True)
        assert found == measure(labels, logits.astype(np.float64), from_logits=True)


def test_logits_and_their_softmax_agree() -> None:
    labels, logits, _ = problem("cifar10_resnet32")
    powers = np.exp(logits.astype(np.float64) - logits.max(axis=1, keepdims=True))
    rows = powers / powers.sum(axis=1, keepdims=True)
    for measure in (cal.ece, cal.ace, cal.lin_ce, cal.classwise_ce, cal.brier_score):
        found = measure(labels, logits, from_logits=True)
        assert found == pytest.approx(measure(labels, rows), rel=1e-9)


@pytest.mark.parametrize("seed", [0, 1])
def test_logits_in_column_order(seed: int) -> None:
    """These arrays come in Fortran order; nothing else about them is unusual."""
    arrays = load(f"snli_roberta-base_seed{seed}_dev_test_logits_chaosnli")
    logits, labels = arrays["test_logits"], arrays["test_labels"]
    found = cal.evaluate(labels, logits, from_logits=True)
    expected = cal.evaluate(labels, np.ascontiguousarray(logits), from_logits=True)
    assert found.values == expected.values


# --- shares of human votes ------------------------------------------------------------------------


def test_shares_of_human_votes_as_soft_labels() -> None:
    logits = problem("cifar10_resnet32").predictions
    counts = load("cifar10h_human_counts")["counts"].astype(np.float64)
    votes = counts / counts.sum(axis=1, keepdims=True)
    result = cal.evaluate(votes, logits, from_logits=True)
    assert "labels are soft (probabilities)" in result.inferred
    assert {"dist_ce", "ent_ce", "rank_cs"} <= result.values.keys()
    powers = np.exp(logits.astype(np.float64) - logits.max(axis=1, keepdims=True))
    rows = powers / powers.sum(axis=1, keepdims=True)
    top = rows.argmax(axis=1)
    gaps = rows.max(axis=1) - votes[np.arange(len(votes)), top]
    bins = np.searchsorted(np.arange(1, 15) / 15, rows.max(axis=1), side="right")
    assert result["ece"] == pytest.approx(np.abs(np.bincount(bins, gaps)).sum() / len(votes))
    assert result["dist_ce"] == pytest.approx(0.5 * np.abs(rows - votes).sum(axis=1).mean())
    assert result["brier"] == pytest.approx(((rows - votes) ** 2).sum(axis=1).mean())


@pytest.mark.parametrize(
    ("network", "distance", "smece"), [("resnet20", 0.0971, 0.0703), ("vgg16_bn", 0.0861, 0.0794)]
)
def test_what_grouping_hides_of_the_top_label(network: str, distance: float, smece: float) -> None:
    """Theorem 3.10: the mean distance of confidences from shares of votes, SMECE, their gap."""
    logits = problem(f"cifar10_{network}").predictions
    counts = load("cifar10h_human_counts")["counts"]
    found = cal.soft_ece(counts, logits, from_logits=True)
    gap = cal.grouping_gap(counts, logits, from_logits=True)
    assert (round(found, 4), round(found + gap, 4)) == (smece, distance)
    # About 50 votes a row add to the raw gap; of VGG-16 nothing is left that they show for certain.
    interval = cal.interval(counts, logits, measure="grouping_gap", from_logits=True)
    assert interval.estimate is not None and interval.estimate < gap
    assert (interval.low > 0) == (network == "resnet20")


def test_counts_of_votes_are_their_shares() -> None:
    logits = problem("cifar10_resnet32").predictions
    counts = load("cifar10h_human_counts")["counts"]
    shares = counts / counts.sum(axis=1, keepdims=True)
    for measure in (cal.ece, cal.dist_ce, cal.log_loss):
        found = measure(counts, logits, from_logits=True)
        assert found == pytest.approx(measure(shares, logits, from_logits=True), rel=1e-12)


def test_rows_without_votes_must_be_left_out() -> None:
    arrays = load("snli_roberta-base_seed0_dev_test_logits_chaosnli")
    logits = np.ascontiguousarray(arrays["dev_logits"])
    counts = arrays["dev_chaos_counts"].astype(np.float64)
    voted = counts.sum(axis=1) > 0
    assert 0 < voted.sum() < voted.size
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    first = int(np.argmin(voted))
    with pytest.raises(cal.InputError, match=rf"y_true\[{first}\] sums to 0.0.*without votes"):
        cal.evaluate(shares, logits, from_logits=True)
    result = cal.evaluate(shares[voted], logits[voted], from_logits=True)
    assert result.reliability.n == voted.sum()
    assert 0 < result["dist_ce"] < 1


# --- the conventions of other tools ---------------------------------------------------------------


def scalar_problem(name: str) -> tuple[Array, Array]:
    """A set as the scalar problem that every tool takes: P(y = 1), or the top label."""
    labels, predictions, from_logits = problem(name)
    predictions = predictions.astype(np.float64)
    if from_logits:
        powers = np.exp(predictions - predictions.max(axis=1, keepdims=True))
        predictions = powers / powers.sum(axis=1, keepdims=True)
    if predictions.ndim == 2:
        labels, predictions = predictions.argmax(axis=1) == labels, predictions.max(axis=1)
    return np.clip(predictions, 0, 1), labels.astype(np.float64)


def torchmetrics_number(predictions: Array, targets: Array, n_bins: int) -> float:
    torch, classification = need("torch"), need("torchmetrics.classification")
    metric = classification.BinaryCalibrationError(n_bins=n_bins, norm="l1")
    preds = torch.tensor(predictions, dtype=torch.float32)
    return float(metric(preds, torch.tensor(targets, dtype=torch.int64)))


def scikit_learn_number(predictions: Array, targets: Array, n_bins: int) -> float:
    curve = need("sklearn.calibration").calibration_curve(targets, predictions, n_bins=n_bins)
    return float(np.mean(np.abs(curve[0] - curve[1])))


def netcal_number(predictions: Array, targets: Array, n_bins: int) -> float:
    return float(need("netcal.metrics").ECE(n_bins).measure(predictions, targets))


def relplot_number(predictions: Array, targets: Array, n_bins: int) -> float:
    return float(need("relplot").metrics.binnedECE(predictions, targets, nbins=n_bins))


def uncertainty_number(function: str) -> Callable[[Array, Array, int], float]:
    def number(predictions: Array, targets: Array, n_bins: int) -> float:
        measure = getattr(need("calibration"), function)
        return float(measure(predictions, targets.astype(np.int64), num_bins=n_bins))

    return number


PEERS: dict[str, tuple[Callable[[Array, Array, int], float], Any, float]] = {
    "torchmetrics": (torchmetrics_ece, torchmetrics_number, 1e-6),
    "scikit-learn": (scikit_learn_gap, scikit_learn_number, 1e-12),
    "netcal": (netcal_ece, netcal_number, 1e-12),
    "relplot": (relplot_ece, relplot_number, 1e-12),
    "uncertainty get_ece": (uncertainty_calibration_ece, uncertainty_number("get_ece"), 1e-12),
    "uncertainty get_ece_em": (
        uncertainty_calibration_equal_mass_ece,
        uncertainty_number("get_ece_em"),
        1e-12,
    ),
}
COMPARED = [
    "adult_test_random_forest_binary",
    "20news_probs",
    "cifar10_resnet32",
    "538_nba_games",
    "precip_niamey2016_ens",
]


@pytest.mark.parametrize("name", COMPARED)
@pytest.mark.parametrize("peer", PEERS)
def test_conventions_of_other_tools_hold_on_real_sets(peer: str, name: str) -> None:
    ours, theirs, tolerance = PEERS[peer]
    predictions, targets = scalar_problem(name)
    for n_bins in (10, 15):
        expected = theirs(predictions, targets, n_bins)
        assert ours(predictions, targets, n_bins) == pytest.approx(expected, rel=0, abs=tolerance)


@pytest.mark.parametrize("name", COMPARED)
def test_the_definition_holds_on_real_sets(name: str) -> None:
    predictions, targets = scalar_problem(name)
    for n_bins in (10, 15, 100):
        expected = mccaffrey_ece(predictions, targets, n_bins)
        assert cal.ece(targets, predictions, bins=n_bins) == pytest.approx(expected, rel=1e-12)


NETWORKS = ["cifar10_resnet32", "cifar10_vgg16_bn", "cifar10_mobilenetv2_x1_0", "cifar100_resnet20"]


@pytest.mark.parametrize("name", NETWORKS)
def test_smooth_and_binned_errors_agree_on_networks(name: str) -> None:
    """Chidambaram et al. (2024), figures 3 and 4: with sigma = 1/bins they tell the same story."""
    labels, logits, from_logits = problem(name)
    options = {"from_logits": from_logits}
    for bins in (10, 30, 100):
        binned = cal.ece(labels, logits, bins=bins, **options)
        gaussian = cal.ls_ece(labels, logits, sigma=1 / bins, **options)
        uniform = cal.ls_ece(labels, logits, sigma=1 / bins, noise="uniform", **options)
        assert abs(gaussian - binned) < 0.02 and abs(uniform - binned) < 0.02
    smooth = cal.smooth_ece(labels, logits, **options)
    assert abs(smooth - cal.ece(labels, logits, bins=15, **options)) < 0.02
