"""Mistakes that other tools are known to make, and that are not made here.

Where it is cheap, the other tool's mistake is shown beside the right answer: a test that no tool
ever failed would prove little.
"""

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import calibrant as cal
from calibrant._measures.catalogue import entry_of
from every_engine import each_array_engine, engine
from needs import need

Array = NDArray[Any]


# The data that reference values of several tools are known for.
RNG = np.random.default_rng(12345)
REPORTS = RNG.random(2000)
LABELS = (RNG.random(2000) < REPORTS**1.3).astype(int)
SOFT = REPORTS**1.3


def torchmetrics_error(predictions: Array, labels: Array, n_bins: int = 15) -> float:
    torch, classification = need("torch"), need("torchmetrics.classification")
    metric = classification.BinaryCalibrationError(n_bins=n_bins, norm="l1")
    return float(metric(torch.tensor(predictions), torch.tensor(labels)))


def netcal_error(predictions: Array, labels: Array, n_bins: int, **options: Any) -> float:
    return float(need("netcal.metrics").ECE(n_bins, **options).measure(predictions, labels))


def relplot_error(predictions: Any, labels: Any, n_bins: int) -> float:
    return float(need("relplot").metrics.binnedECE(predictions, labels, nbins=n_bins))


def uncertainty_error(predictions: Array, labels: Array, n_bins: int) -> float:
    return float(need("calibration").get_ece(predictions, labels, num_bins=n_bins))


def concentrated(n: int, dtype: Any) -> tuple[Array, Array]:
    """Predictions of 0.9 with 7 of 8 right: one bin gets all the rows."""
    return np.full(n, 0.9, dtype=dtype), (np.arange(n) % 8 > 0).astype(np.int64)


# --- sums in the precision of the predictions saturate --------------------------------------------


@each_array_engine
@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_sums_of_low_precision_predictions_do_not_saturate(dtype: Any, engine_name: str) -> None:
    predictions, labels = concentrated(1_000_000, dtype)
    with engine(engine_name):
        assert cal.ece(labels, predictions) == pytest.approx(
            float(predictions[0]) - 0.875, rel=1e-12
        )


def test_sums_of_low_precision_predictions_saturate_elsewhere() -> None:
    predictions, labels = concentrated(100_000, np.float16)
    assert torchmetrics_error(predictions, labels) != pytest.approx(0.025, abs=0.01)


# --- logits are guessed from the values ---------------------------------------------------------


@each_array_engine
@pytest.mark.parametrize("hair", [1 + 1e-7, -1e-9])
def test_a_hair_outside_the_range_changes_nothing(hair: float, engine_name: str) -> None:
    nearly = REPORTS.copy()
    nearly[0] = hair
    with engine(engine_name):
        assert cal.ece(LABELS, nearly) == cal.ece(LABELS, np.clip(nearly, 0, 1))
        assert cal.brier_score(LABELS, nearly) == cal.brier_score(LABELS, np.clip(nearly, 0, 1))


def test_a_missing_number_does_not_turn_predictions_into_logits() -> None:
    with_nan = REPORTS.copy()
    with_nan[7] = np.nan
    with pytest.raises(cal.InputError, match=r"y_proba\[7\] is nan"):
        cal.ece(LABELS, with_nan)


@pytest.mark.parametrize("value", [1 + 1e-7, -1e-9, np.nan])
def test_one_value_turns_all_predictions_into_logits_elsewhere(value: float) -> None:
    nearly = REPORTS.copy()
    nearly[0] = value
    assert torchmetrics_error(REPORTS, LABELS) == pytest.approx(0.0653547)
    assert torchmetrics_error(nearly, LABELS) > 0.2


@pytest.mark.parametrize("batch", [13, 999])
def test_the_size_of_batches_does_not_change_the_answer(batch: int) -> None:
    overshooting = REPORTS.copy()
    overshooting[::50] = 1 + 1e-6
    whole = cal.evaluate(LABELS, overshooting, measures=["ece", "brier"])
    state = cal.Accumulator()
    for start in range(0, REPORTS.size, batch):
        rows = slice(start, start + batch)
        state.update(LABELS[rows], overshooting[rows])
    parts = state.evaluate(measures=["ece", "brier"])
    for measure in ("ece", "brier"):
        assert parts[measure] == pytest.approx(whole[measure], rel=1e-12)
    assert any(note.startswith("40 predictions outside [0, 1]") for note in parts.notes)


# --- predictions of exactly 1 and 0 ---------------------------------------------------------------


def one_and_nearly_one() -> tuple[Array, Array]:
    """100 predictions of 1 with accuracy 0.9, and 100 of 0.91 with accuracy 1."""
    labels = np.concatenate([np.repeat([1, 0], [90, 10]), np.ones(100, int)])
    return np.repeat([1.0, 0.91], 100), labels


@each_array_engine
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_one_shares_the_last_bin(dtype: Any, engine_name: str) -> None:
    predictions, labels = one_and_nearly_one()
    rows = np.stack([1 - predictions, predictions], axis=1)
    with engine(engine_name):
        assert cal.ece(labels, predictions.astype(dtype), bins=10) == pytest.approx(0.005, abs=1e-7)
        assert cal.ece(labels, rows.astype(dtype), bins=10) == pytest.approx(0.005, abs=1e-7)


def test_one_has_a_bin_of_its_own_elsewhere() -> None:
    predictions, labels = one_and_nearly_one()
    assert torchmetrics_error(predictions, labels, 10) == pytest.approx(0.095, abs=1e-6)
    assert relplot_error(predictions, labels, 10) == pytest.approx(0.095)


@each_array_engine
@pytest.mark.parametrize(
    "rule",
    [
        cal.EqualWidth(10),
        cal.EqualWidth(10, "right"),
        cal.Quantile(10),
        cal.Quantile(10, ties="rank"),
        cal.LevelSets(),
        cal.Edges([0, 0.5, 1], "right"),
    ],
    ids=str,
)
def test_no_rule_drops_a_row(rule: Any, engine_name: str) -> None:
    """Neither predictions of 0 or 1 nor the smallest prediction get lost."""
    predictions = np.concatenate([np.zeros(30), np.ones(20), REPORTS[:150]])
    with engine(engine_name):
        for values in (predictions, REPORTS[:150]):
            table = cal.reliability(np.zeros(values.size, int), values, bins=rule)
            assert (table.n, table.n_dropped) == (values.size, 0)
            columns = table.columns()
            total = sum(
                n * mean
                for n, mean in zip(columns["n"], columns["mean_predicted"], strict=True)
                if n
            )
            assert total == pytest.approx(values.sum(), rel=1e-12)


def test_predictions_of_0_that_come_true_are_seen() -> None:
    predictions, labels = np.zeros(100), np.arange(100) % 4 == 0
    assert cal.ece(labels, predictions) == 0.25
    assert cal.ace(labels, predictions) == 0.25


# --- soft labels --------------------------------------------------------------------------------


@each_array_engine
def test_soft_labels_give_the_error_against_them(engine_name: str) -> None:
    with engine(engine_name):
        found = cal.ece(SOFT, REPORTS, bins=15)
    assert found == pytest.approx(0.06625415423008271, rel=1e-12)


@pytest.mark.parametrize("measure", [m.name for m in cal.catalogue("binary")])
def test_every_measure_takes_soft_labels(measure: str) -> None:
    """Soft labels of 0 and 1 are hard labels; others are not rounded to them."""
    if entry_of(measure).parts:  # it refuses hard labels
        pytest.skip("of soft labels alone: see tests/votes/test_grouping_gap.py")
    hard = cal.evaluate(LABELS, REPORTS, measures=[measure])[measure]
    as_soft = cal.evaluate(LABELS.astype(float), REPORTS, measures=[measure])[measure]
    assert as_soft == pytest.approx(hard, rel=1e-12, abs=1e-15)
    soft = cal.evaluate(SOFT, REPORTS, measures=[measure])[measure]
    rounded = cal.evaluate((SOFT > 0.5).astype(int), REPORTS, measures=[measure])[measure]
    assert math.isfinite(soft)
    if measure != "rank_cs":  # whose ranking a rounding keeps
        assert soft != pytest.approx(rounded, rel=1e-3)


def test_soft_labels_are_refused_or_misread_elsewhere() -> None:
    assert netcal_error(REPORTS, SOFT, 15) > 5 * cal.ece(SOFT, REPORTS)
    with pytest.raises(RuntimeError, match="target"):
        torchmetrics_error(REPORTS, SOFT)
    with pytest.raises(ValueError, match="integer"):
        uncertainty_error(REPORTS, SOFT, 15)


# --- edges --------------------------------------------------------------------------------------


def tenths() -> tuple[Array, Array]:
    predictions = np.tile(np.arange(11) / 10, 40)
    chances = np.clip(predictions + 0.3 * np.cos(34 * predictions), 0, 1)
    return predictions, (np.random.default_rng(1).random(predictions.size) < chances).astype(int)


@each_array_engine
def test_predictions_on_edges_give_one_answer_in_both_precisions(engine_name: str) -> None:
    predictions, labels = tenths()
    with engine(engine_name):
        single = cal.ece(labels, predictions.astype(np.float32), bins=10)
        double = cal.ece(labels, predictions, bins=10)
    assert single == pytest.approx(double, abs=1e-7)
    # Every prediction has a bin of its own but 1, which shares the last with 0.9.
    gaps = [np.sum((predictions - labels)[np.isclose(predictions, j / 10)]) for j in range(9)]
    gaps.append(np.sum((predictions - labels)[predictions > 0.85]))
    assert double == pytest.approx(np.abs(gaps).sum() / predictions.size, rel=1e-12)


@pytest.mark.parametrize("error", [netcal_error, relplot_error, uncertainty_error])
def test_predictions_on_edges_give_two_answers_elsewhere(error: Any) -> None:
    predictions, labels = tenths()
    single = error(predictions.astype(np.float32), labels, 10)
    assert abs(single - error(predictions, labels, 10)) > 0.01


# --- ties ---------------------------------------------------------------------------------------


@each_array_engine
def test_ties_in_quantile_bins_neither_raise_nor_depend_on_row_order(engine_name: str) -> None:
    predictions = np.random.default_rng(2).choice([0.1, 0.3, 0.3, 0.3, 0.8], 1000)
    labels = np.random.default_rng(3).integers(0, 2, 1000)
    with engine(engine_name):
        expected = cal.ace(labels, predictions, bins=7)
        for seed in range(5):
            order = np.random.default_rng(seed).permutation(1000)
            assert cal.ace(labels[order], predictions[order], bins=7) == pytest.approx(
                expected, rel=1e-12
            )
        assert cal.ace(np.arange(100) % 2, np.full(100, 0.3), bins=10) == pytest.approx(0.2)


def test_ties_raise_elsewhere() -> None:
    with pytest.raises(ValueError, match="edge difference"):
        netcal_error(np.full(100, 0.3), np.arange(100) % 2, 10, equal_intervals=False)


# --- pandas, and nothing at all -----------------------------------------------------------------


def test_misaligned_indexes_do_not_change_the_answer() -> None:
    pandas = need("pandas")
    labels = pandas.Series(LABELS, index=np.random.default_rng(0).permutation(2000))
    with pytest.raises(cal.InputError, match="index"):
        cal.ece(labels, pandas.Series(REPORTS))
    assert cal.ece(labels.to_numpy(), pandas.Series(REPORTS)) == cal.ece(LABELS, REPORTS)


def test_misaligned_indexes_change_the_answer_elsewhere() -> None:
    pandas = need("pandas")
    labels = pandas.Series(LABELS, index=np.random.default_rng(0).permutation(2000))
    aligned = relplot_error(REPORTS, LABELS, 10)
    assert relplot_error(pandas.Series(REPORTS), labels, 10) > 2 * aligned


def test_no_data_is_no_perfect_score() -> None:
    with pytest.raises(cal.InputError, match="at least one row"):
        cal.ece([], [])
    with pytest.raises(cal.InputError, match="no samples yet"):
        cal.Accumulator().evaluate()


def test_no_data_is_a_perfect_score_elsewhere() -> None:
    assert need("relplot").smECE(np.array([]), np.array([])) == 0.0


# --- missing numbers ----------------------------------------------------------------------------


def some_missing() -> Array:
    predictions = REPORTS.copy()
    predictions[5:200] = np.nan
    return predictions


def test_missing_numbers_are_neither_dropped_nor_passed_through() -> None:
    for measure in (cal.ece, cal.ace, cal.brier_score, cal.reliability, cal.evaluate):
        with pytest.raises(cal.InputError, match=r"y_proba\[5\] is nan"):
            measure(LABELS, some_missing())


def test_missing_numbers_are_dropped_or_passed_through_elsewhere() -> None:
    assert math.isfinite(netcal_error(some_missing(), LABELS, 10))
    curve = need("sklearn.calibration").calibration_curve
    assert np.isnan(curve(LABELS, some_missing(), n_bins=10)[1]).any()


# --- rows off the simplex, and other labels -----------------------------------------------------


def test_rows_that_are_no_probabilities_are_refused() -> None:
    rows = np.random.default_rng(4).random((100, 3))
    with pytest.raises(cal.InputError, match=r"y_proba\[0\] sums to"):
        cal.ece(np.arange(100) % 3, rows)


def test_rows_that_are_no_probabilities_are_accepted_elsewhere() -> None:
    torch, classification = need("torch"), need("torchmetrics.classification")
    rows = torch.tensor(np.random.default_rng(4).random((100, 3)))
    metric = classification.MulticlassCalibrationError(3)
    assert math.isfinite(float(metric(rows, torch.arange(100) % 3)))


def test_labels_1_and_2_are_refused_and_left_as_they_are() -> None:
    labels = LABELS + 1
    kept = labels.copy()
    first = int(np.argmax(labels == 2))
    with pytest.raises(cal.InputError, match=rf"y_true\[{first}\] is 2.*classes="):
        cal.ece(labels, REPORTS)
    assert cal.ece(labels, REPORTS, classes=[1, 2]) == cal.ece(LABELS, REPORTS)
    np.testing.assert_array_equal(labels, kept)


def test_labels_1_and_2_are_accepted_elsewhere() -> None:
    assert math.isfinite(netcal_error(REPORTS, LABELS + 1, 10))


# --- classes that never come --------------------------------------------------------------------


@each_array_engine
def test_a_class_that_never_comes_counts_as_a_class(engine_name: str) -> None:
    rng = np.random.default_rng(5)
    rows = rng.dirichlet(np.ones(4), 500)
    labels = rng.integers(0, 3, 500)  # class 3 is never seen
    by_hand = []
    for r in range(4):
        gaps = rows[:, r] - (labels == r)
        bins = np.minimum((rows[:, r] * 16).astype(int), 15)  # 16 is a power of two: no rounding
        by_hand.append(np.abs(np.bincount(bins, gaps)).sum() / 500)
    with engine(engine_name):
        found = cal.ece(labels, rows, bins=16, notion="classwise")
    assert found == pytest.approx(np.mean(by_hand), rel=1e-12)
    assert by_hand[3] > 0.2


# --- what a result is ---------------------------------------------------------------------------


@pytest.mark.parametrize("notion", ["binary", "confidence"])
def test_the_same_call_gives_the_same_numbers(notion: str) -> None:
    rows = np.stack([1 - REPORTS, REPORTS], axis=1)
    predictions = REPORTS if notion == "binary" else rows
    first, second = (cal.evaluate(LABELS, predictions).values for _ in range(2))
    assert first == second


@pytest.mark.parametrize("bins", [15, cal.Quantile(15), cal.LevelSets()], ids=str)
def test_the_error_can_be_rebuilt_from_the_table(bins: Any) -> None:
    columns = cal.reliability(LABELS, REPORTS, bins=bins).columns()
    assert sum(columns["n"]) == REPORTS.size
    rebuilt = math.fsum(
        n * abs(prediction - target)
        for n, prediction, target in zip(
            columns["n"], columns["mean_predicted"], columns["mean_target"], strict=True
        )
        if n
    )
    assert rebuilt / REPORTS.size == pytest.approx(cal.ece(LABELS, REPORTS, bins=bins), rel=1e-12)


def test_the_error_cannot_be_rebuilt_from_a_curve_elsewhere() -> None:
    curve = need("sklearn.calibration").calibration_curve(LABELS, REPORTS, n_bins=15)
    assert len(curve) == 2  # no counts
