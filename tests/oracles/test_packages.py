"""The numbers that other packages give, where they follow the same definition.

Where they do not, `test_peer_rules.py` shows what they do instead.
"""

from __future__ import annotations

import warnings
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import calibrant as cal
from needs import need

Array = NDArray[Any]
N_BINS = 15


class Known:
    """Data with values known to the last digit, and the soft labels they were drawn from."""

    def __init__(self) -> None:
        rng = np.random.default_rng(12345)
        n = 2000
        self.p = rng.random(n)
        self.y = (rng.random(n) < self.p**1.3).astype(int)
        self.soft = self.p**1.3
        self.w = rng.random(n)


@pytest.fixture(scope="module")
def known() -> Known:
    return Known()


@pytest.fixture(scope="module")
def rows() -> tuple[Array, Array, Array]:
    """Multiclass labels, predictions and weights; no prediction lies on an edge of 15 bins."""
    rng = np.random.default_rng(2024)
    p = rng.dirichlet([0.5, 1.0, 2.0, 0.8], 1500)
    sharper = p**1.6 / (p**1.6).sum(axis=1, keepdims=True)
    y = (rng.random((1500, 1)) > p.cumsum(axis=1)).sum(axis=1)
    return y, sharper, rng.random(1500)


# --- values on record -----------------------------------------------------------------------------
# Computed with netcal 1.4.0, torchmetrics 1.9.0 in float64, relplot 1.0.3, uncertainty-calibration
# 0.1.4 and model-diagnostics 1.5.0; they hold whether or not these are installed.

EXACTLY = {"rel": 1e-13, "abs": 0}


def test_recorded_expected_calibration_error(known: Known) -> None:
    assert cal.ece(known.y, known.p, bins=15) == pytest.approx(0.06535473973067683, **EXACTLY)


def test_recorded_error_against_soft_labels(known: Known) -> None:
    value = cal.soft_ece(known.soft, known.p, bins=15)
    assert value == pytest.approx(0.06625415423008271, **EXACTLY)


def test_recorded_root_mean_square_error(known: Known) -> None:
    value = cal.ece(known.y, known.p, bins=15, norm="l2")
    assert value == pytest.approx(0.07579900331735678, **EXACTLY)


def test_recorded_maximum_error(known: Known) -> None:
    value = cal.ece(known.y, known.p, bins=15, norm="max")
    assert value == pytest.approx(0.13259157485115414, **EXACTLY)


def equal_mass_edges(predictions: Array, m: int) -> cal.Edges:
    """uncertainty-calibration's bins: midpoints between m nearly equal runs of sorted predictions.

    Its runs are those of `numpy.array_split` (the longer ones first), not the ranks of
    `cal.Quantile`, so its bins are handed over as edges; they are closed on the right.
    """
    runs = np.array_split(np.sort(predictions), m)
    middles = [(a[-1] + b[0]) / 2 for a, b in pairwise(runs)]
    return cal.Edges([0.0, *middles, 1.0], closed="right")


def test_recorded_debiased_error(known: Known) -> None:
    value = cal.debiased_l2(known.y, known.p, bins=equal_mass_edges(known.p, 15))
    assert value == pytest.approx(0.0672638885434399, **EXACTLY)


def test_recorded_decomposition_of_the_brier_score(known: Known) -> None:
    parts = cal.brier_decomposition(known.y, known.p)
    # A difference of sums of order 1 has their rounding: absolute, not relative.
    assert parts.miscalibration == pytest.approx(0.007812226501596631, rel=0, abs=1e-15)
    assert parts.discrimination == pytest.approx(0.0886678439852931, rel=0, abs=1e-15)
    assert parts.uncertainty == pytest.approx(0.24570974999999995, rel=0, abs=1e-15)
    weighted = cal.brier_decomposition(known.y, known.p, sample_weight=known.w)
    assert weighted.miscalibration == pytest.approx(0.009517422059322739, rel=0, abs=1e-15)


def test_closed_form_of_two_levels() -> None:
    p = np.repeat([0.5, 0.6], [4, 5])
    y = np.array([1, 0, 0, 0, 1, 1, 1, 1, 0])
    assert cal.ece(y, p, bins=10) == pytest.approx(2 / 9, **EXACTLY)
    assert cal.ece(y, p, bins=10, norm="l2") == pytest.approx(0.22360679774997896, **EXACTLY)
    assert cal.ece(y, p, bins=10, norm="max") == pytest.approx(0.25, **EXACTLY)


# --- scikit-learn ---------------------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
def test_scikit_learn_losses_of_binary_predictions(known: Known, weighted: bool) -> None:
    metrics = need("sklearn.metrics")
    w = known.w if weighted else None
    expected = metrics.brier_score_loss(known.y, known.p, sample_weight=w)
    assert cal.brier_score(known.y, known.p, sample_weight=w) == pytest.approx(expected, rel=1e-12)
    expected = metrics.log_loss(known.y, known.p, sample_weight=w)
    assert cal.log_loss(known.y, known.p, sample_weight=w) == pytest.approx(expected, rel=1e-12)
    expected = metrics.zero_one_loss(known.y, known.p > 0.5, sample_weight=w)
    value = cal.classification_error(known.y, known.p, sample_weight=w)
    assert value == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
def test_scikit_learn_losses_of_multiclass_predictions(
    rows: tuple[Array, Array, Array], weighted: bool
) -> None:
    metrics = need("sklearn.metrics")
    y, p, weight = rows
    w = weight if weighted else None
    expected = metrics.brier_score_loss(y, p, sample_weight=w, scale_by_half=False)
    assert cal.brier_score(y, p, sample_weight=w) == pytest.approx(expected, rel=1e-12)
    expected = metrics.log_loss(y, p, sample_weight=w)
    assert cal.log_loss(y, p, sample_weight=w) == pytest.approx(expected, rel=1e-12)
    expected = metrics.zero_one_loss(y, p.argmax(axis=1), sample_weight=w)
    assert cal.classification_error(y, p, sample_weight=w) == pytest.approx(expected, rel=1e-12)


def test_certain_mistakes_are_lifted_to_the_floor() -> None:
    y, p = [1, 0, 1], [0.0, 0.5, 1.0]
    expected = need("sklearn.metrics").log_loss(y, [1e-12, 0.5, 1.0])
    assert cal.log_loss(y, p) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("strategy", ["uniform", "quantile"])
def test_scikit_learn_calibration_curve(known: Known, strategy: str) -> None:
    curve = need("sklearn.calibration").calibration_curve
    fractions, means = curve(known.y, known.p, n_bins=10, strategy=strategy)
    # Its quantile edges interpolate between predictions; closed on the right, they part the rows as
    # Quantile does where 10 divides n and no two predictions are equal.
    rule = cal.EqualWidth(10, closed="right") if strategy == "uniform" else cal.Quantile(10)
    table = cal.reliability(known.y, known.p, bins=rule).columns()
    assert table["mean_target"] == pytest.approx(fractions.tolist(), rel=1e-12)
    assert table["mean_predicted"] == pytest.approx(means.tolist(), rel=1e-12)


def test_scikit_learn_isotonic_regression_is_the_recalibration(known: Known) -> None:
    isotonic = need("sklearn.isotonic").IsotonicRegression()
    fitted = isotonic.fit_transform(known.p, known.y, sample_weight=known.w)
    after = np.average((fitted - known.y) ** 2, weights=known.w)
    parts = cal.brier_decomposition(known.y, known.p, sample_weight=known.w)
    assert parts.brier - parts.miscalibration == pytest.approx(after, rel=1e-10)


# --- torchmetrics, in double precision and without predictions of 1 -------------------------------


@pytest.mark.parametrize("norm", ["l1", "l2", "max"])
@pytest.mark.parametrize("m", [5, 15, 40])
def test_torchmetrics_of_binary_predictions(known: Known, norm: str, m: int) -> None:
    torch, classification = need("torch"), need("torchmetrics.classification")
    metric = classification.BinaryCalibrationError(n_bins=m, norm=norm)
    expected = float(metric(torch.tensor(known.p), torch.tensor(known.y)))
    assert cal.ece(known.y, known.p, bins=m, norm=norm) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("norm", ["l1", "l2", "max"])
def test_torchmetrics_of_the_top_label(rows: tuple[Array, Array, Array], norm: str) -> None:
    torch, classification = need("torch"), need("torchmetrics.classification")
    y, p, _ = rows
    metric = classification.MulticlassCalibrationError(p.shape[1], n_bins=N_BINS, norm=norm)
    expected = float(metric(torch.tensor(p), torch.tensor(y)))
    # The multiclass metric rounds to single precision whatever it is given.
    assert cal.ece(y, p, bins=N_BINS, norm=norm) == pytest.approx(expected, rel=0, abs=1e-6)


def test_torchmetrics_top_label_in_double_precision(rows: tuple[Array, Array, Array]) -> None:
    torch, classification = need("torch"), need("torchmetrics.classification")
    y, p, _ = rows
    hits = torch.tensor((p.argmax(axis=1) == y).astype(int))
    metric = classification.BinaryCalibrationError(n_bins=N_BINS)
    expected = float(metric(torch.tensor(p.max(axis=1)), hits))
    assert cal.ece(y, p, bins=N_BINS) == pytest.approx(expected, rel=1e-12)


# --- netcal ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("m", [5, 15, 40])
def test_ece_is_that_of_netcal(known: Known, rows: tuple[Array, Array, Array], m: int) -> None:
    metrics = need("netcal.metrics")
    y, p, _ = rows
    for name, norm in (("ECE", "l1"), ("MCE", "max")):
        metric = getattr(metrics, name)(m)
        expected = float(metric.measure(known.p, known.y))
        assert cal.ece(known.y, known.p, bins=m, norm=norm) == pytest.approx(expected, rel=1e-12)
        expected = float(metric.measure(p, y))
        assert cal.ece(y, p, bins=m, norm=norm) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("m", [5, 15, 40])
def test_ace_of_netcal_is_the_plain_mean_of_gaps(
    known: Known, rows: tuple[Array, Array, Array], m: int
) -> None:
    # Average Calibration Error; `cal.ace` is the adaptive one, over bins of equally many rows.
    metric = need("netcal.metrics").ACE(m)
    rng = np.random.default_rng(1)
    few = rng.beta(0.5, 8, 2000)  # some bins are empty or nearly so
    y, p, _ = rows
    for labels, predictions in (
        (known.y, known.p),
        (y, p),
        ((rng.random(2000) < few**1.2).astype(int), few),
    ):
        table = cal.reliability(labels, predictions, bins=m).columns()
        gaps = np.abs(np.subtract(table["mean_predicted"], table["mean_target"]))
        expected = float(metric.measure(predictions, labels))
        assert np.nanmean(gaps) == pytest.approx(expected, rel=1e-12)
    assert abs(cal.ace(labels, predictions, bins=m) - expected) > 0.01


def test_histogram_binning_is_that_of_netcal_off_the_edges(known: Known) -> None:
    binning = need("netcal.binning").HistogramBinning
    for predictions, same in ((known.p, True), (np.round(known.p, 1), False)):
        theirs = binning(10)
        theirs.fit(predictions, known.y)
        ours = cal.HistogramBinning(bins=10).fit(known.y, predictions)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # these are the rows of the fit
            difference = np.abs(ours.transform(predictions) - theirs.transform(predictions))
        assert (difference.max() < 1e-12) == same


# --- relplot --------------------------------------------------------------------------------------


@pytest.mark.parametrize("m", [5, 15, 40])
def test_relplot_takes_soft_labels(known: Known, m: int) -> None:
    binned_ece = need("relplot").metrics.binnedECE
    expected = float(binned_ece(known.p, known.soft, nbins=m))
    assert cal.soft_ece(known.soft, known.p, bins=m) == pytest.approx(expected, rel=1e-12)
    expected = float(binned_ece(known.p, known.y, nbins=m))
    assert cal.ece(known.y, known.p, bins=m) == pytest.approx(expected, rel=1e-12)


# --- uncertainty-calibration ----------------------------------------------------------------------


@pytest.mark.parametrize("m", [5, 15, 40])
def test_uncertainty_calibration_ece(
    known: Known, rows: tuple[Array, Array, Array], m: int
) -> None:
    calibration = need("calibration")
    right = cal.EqualWidth(m, closed="right")
    expected = calibration.get_ece(known.p, known.y, num_bins=m)
    assert cal.ece(known.y, known.p, bins=right) == pytest.approx(expected, rel=1e-12)
    expected = calibration.get_ece_em(known.p, known.y, num_bins=m)
    value = cal.ece(known.y, known.p, bins=equal_mass_edges(known.p, m))
    assert value == pytest.approx(expected, rel=1e-12)
    y, p, _ = rows
    expected = calibration.get_ece(p, y, num_bins=m, mode="top-label")
    assert cal.ece(y, p, bins=right) == pytest.approx(expected, rel=1e-12)
    expected = calibration.get_ece(p, y, num_bins=m, mode="marginal")
    assert cal.ece(y, p, bins=right, notion="classwise") == pytest.approx(expected, rel=1e-12)


def test_uncertainty_calibration_debiased_error(
    known: Known, rows: tuple[Array, Array, Array]
) -> None:
    calibration = need("calibration")
    expected = calibration.get_calibration_error(known.p, known.y)
    value = cal.debiased_l2(known.y, known.p, bins=equal_mass_edges(known.p, 15))
    assert value == pytest.approx(expected, rel=1e-12)
    # Every class has equal-mass edges of its own, which one `Edges` cannot say; equal-width bins
    # are common to all.
    y, p, _ = rows
    options = {"num_bins": 8, "binning_scheme": calibration.utils.get_equal_prob_bins}
    right = cal.EqualWidth(8, closed="right")
    expected = calibration.lower_bound_scaling_ce(p, y, mode="marginal", **options)
    value = cal.debiased_l2(y, p, bins=right, notion="classwise")
    assert value == pytest.approx(expected, rel=1e-12)
    expected = calibration.lower_bound_scaling_ce(p, y, mode="top-label", **options)
    assert cal.debiased_l2(y, p, bins=right) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(("m", "n", "same"), [(15, 1995, True), (15, 2000, False)])
def test_uncertainty_calibration_debiased_error_where_bins_divide_the_rows(
    known: Known, m: int, n: int, same: bool
) -> None:
    calibration = need("calibration")
    expected = calibration.get_calibration_error(known.p[:n], known.y[:n])
    value = cal.debiased_l2(known.y[:n], known.p[:n], bins=m)
    assert (abs(value - expected) < 1e-12) == same


def test_uncertainty_calibration_root_mean_square_error(known: Known) -> None:
    calibration = need("calibration")
    options = {"num_bins": 12, "binning_scheme": calibration.utils.get_equal_prob_bins}
    expected = calibration.lower_bound_scaling_ce(known.p, known.y, debias=False, **options)
    right = cal.EqualWidth(12, closed="right")
    value = cal.ece(known.y, known.p, bins=right, norm="l2")
    assert value == pytest.approx(expected, rel=1e-12)


# --- model-diagnostics ----------------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("labels", ["hard", "soft"])
@pytest.mark.parametrize("predictions", ["distinct", "tied"])
def test_model_diagnostics_decomposition(
    known: Known, weighted: bool, labels: str, predictions: str
) -> None:
    scoring = need("model_diagnostics.scoring")
    w = known.w if weighted else None
    p = known.p if predictions == "distinct" else np.round(known.p, 1)
    # Soft labels that rise with the predictions would be recalibrated without any error.
    target = known.y if labels == "hard" else 0.5 + 0.5 * np.sin(9 * known.soft)
    frame = scoring.decompose(
        y_obs=target, y_pred=p, weights=w, scoring_function=scoring.SquaredError()
    )
    parts = cal.brier_decomposition(target, p, sample_weight=w)
    assert parts.brier == pytest.approx(frame["score"][0], rel=1e-12)
    for name in ("miscalibration", "discrimination", "uncertainty"):
        assert getattr(parts, name) == pytest.approx(frame[name][0], rel=1e-11, abs=1e-15), name
