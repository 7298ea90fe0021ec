"""What holds for every map, whatever its formula."""

import subprocess
import sys
import warnings

import numpy as np
import pytest
from scaling_problems import BINARY, KINDS, MULTICLASS, NEW, PENALISED, SHAPES, TEMPERATURES

import calibrant as cal
from calibrant import CalibrantWarning, examples
from calibrant.scaling import (
    SCALERS,
    HistogramBinning,
    IsotonicCalibration,
    PlattScaling,
    TemperatureScaling,
)
from needs import need


@pytest.mark.parametrize("from_logits", [True, False])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kind", KINDS)
def test_probabilities_come_out(kind, shape, from_logits):
    made, new = SHAPES[shape], NEW[shape]
    scaler = SCALERS[kind](from_logits=from_logits).fit(made.hard, made.predictions(from_logits))
    predictions = new.predictions(from_logits)
    out = scaler.transform(predictions)
    assert out.shape == predictions.shape and out.dtype == np.float64
    assert (out >= 0).all() and (out <= 1).all()
    if shape == "multiclass":
        np.testing.assert_allclose(out.sum(axis=1), 1, atol=1e-12)
    assert scaler.n_classes_ == (4 if shape == "multiclass" else 2)
    assert scaler.n_rows_ == 400 and scaler.n_iter_ >= 0
    assert scaler.loss_before_ == cal.log_loss(
        made.hard, made.predictions(from_logits), from_logits=from_logits
    )


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kind", KINDS)
def test_a_fit_helps_and_does_not_touch_its_arguments(kind, shape):
    made = SHAPES[shape]
    scaler = SCALERS[kind]()
    arrays = [made.soft.copy(), made.predictions(scaler.from_logits).copy(), made.weights.copy()]
    for array in arrays:
        array.setflags(write=False)
    scaler.fit(arrays[0], arrays[1], sample_weight=arrays[2])
    assert scaler.loss_ < scaler.loss_before_ + (0.05 if kind == "HistogramBinning" else 0)


def test_temperature_keeps_the_order_of_classes():
    out = (
        TemperatureScaling()
        .fit(MULTICLASS.hard, MULTICLASS.logits)
        .transform(NEW["multiclass"].logits)
    )
    order = np.argsort(NEW["multiclass"].logits, axis=1)
    np.testing.assert_array_equal(np.argsort(out, axis=1), order)


@pytest.mark.parametrize("kind", ["TemperatureScaling", "PlattScaling", "BetaCalibration",
                                  "IsotonicCalibration", "CentredIsotonic", "VennAbers",
                                  "SplineScaling", "PriorShift"])  # fmt: skip
def test_binary_maps_increase(kind):
    scaler = SCALERS[kind](from_logits=False).fit(BINARY.hard, BINARY.proba)
    assert (np.diff(scaler.transform(np.linspace(0, 1, 501))) >= 0).all()


@pytest.mark.filterwarnings("ignore:.*the temperature reached its upper end")
@pytest.mark.parametrize("from_logits", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_a_constant_predictor_makes_no_nan(kind, from_logits):
    for shape, level in (("multiclass", 0.25), ("binary", 0.3)):
        made = SHAPES[shape]
        predictions = np.full(made.proba.shape, 1.0 if from_logits else level)
        scaler = SCALERS[kind](from_logits=from_logits)
        out = scaler.fit_transform(made.hard, predictions)
        assert np.isfinite(out).all()
        assert (out == out[0]).all()
        if kind not in TEMPERATURES:  # all others know the base rate
            mean = made.hard.mean() if shape == "binary" else np.bincount(made.hard) / 400
            if kind == "VennAbers":  # (positives + 1) / (rows + 2), divided by the sum
                mean = (400 * mean + 1) / (400 + 2 if shape == "binary" else 400 + 4)
            if kind in PENALISED:  # as far as the penalty lets them: a part of the way
                even = 1 / scaler.n_classes_
                way = np.ravel((out[0] - even) / (mean - even))
                assert (way > 0.5).all() and (way < 1).all()
            else:
                np.testing.assert_allclose(out[0], mean, atol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_zeros_ones_and_huge_logits_are_survived(kind):
    p = np.array([0.0, 1.0, 0.0, 1.0, 0.4, 0.6])
    out = SCALERS[kind](from_logits=False).fit_transform(
        [0, 1, 0, 1, 1, 0, 0, 1, 1, 0, 0, 1], [*p, *p]
    )
    assert np.isfinite(out).all()
    h = np.array([[1e300, -1e300, 0], [0, 1e300, 5], [-1e300, 0, 1], [3, 2, 1.0]] * 3)
    y = [0, 1, 2, 1, 1, 0, 2, 0, 2, 2, 0, 1]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CalibrantWarning)
        out = SCALERS[kind](from_logits=True).fit_transform(y, h)
    assert np.isfinite(out).all()


def test_two_columns_are_one_probability():
    both = np.stack([1 - BINARY.proba, BINARY.proba], axis=1)
    new = np.stack([1 - NEW["binary"].proba, NEW["binary"].proba], axis=1)
    for kind in KINDS:
        one = SCALERS[kind](from_logits=False).fit(BINARY.hard, BINARY.proba)
        two = SCALERS[kind](from_logits=False).fit(BINARY.hard, both)
        out = two.transform(new)
        np.testing.assert_allclose(out[:, 1], one.transform(NEW["binary"].proba), atol=1e-5)
        np.testing.assert_allclose(out.sum(axis=1), 1, atol=1e-12)


def test_rows_mapped_to_nothing_stay_as_they_were():
    rows = np.array([[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8], [0.4, 0.35, 0.25]])
    scaler = IsotonicCalibration().fit([0, 1, 2, 0], rows)
    scaler.values_ = tuple(np.zeros_like(values) for values in scaler.values_)
    np.testing.assert_allclose(scaler.transform(rows[::-1]), rows[::-1])


def test_empty_bins_leave_predictions_alone():
    scaler = HistogramBinning(bins=10).fit([0, 1], [0.05, 0.95])
    assert np.isnan(scaler.values_[0]).sum() == 8
    assert scaler.transform([0.01, 0.33, 0.99]).tolist() == [0.0, 0.33, 1.0]


def test_labels_by_name_and_columns_of_a_frame():
    pandas = need("pandas")
    frame = pandas.DataFrame(
        {"said": np.where(BINARY.hard == 1, "yes", "no"), "p": BINARY.proba, "w": BINARY.weights}
    )
    expected = PlattScaling().fit(BINARY.hard, BINARY.proba, sample_weight=BINARY.weights)
    scaler = PlattScaling().fit("said", "p", sample_weight="w", classes=["no", "yes"], data=frame)
    assert scaler.slope_ == expected.slope_
    out = scaler.transform("p", data=frame[:9])
    np.testing.assert_array_equal(out, expected.transform(BINARY.proba[:9]))


def test_tensors_and_half_precision():
    torch = need("torch")
    logits = torch.tensor(MULTICLASS.logits).to(torch.bfloat16)
    scaler = TemperatureScaling().fit(torch.tensor(MULTICLASS.hard), logits)
    plain = TemperatureScaling().fit(MULTICLASS.hard, logits.double().numpy())
    assert scaler.temperature_ == plain.temperature_


def test_every_map_calibrates_the_example():
    shirt = examples.load("fashion-shirt")
    before = cal.ece(shirt.test_soft_labels, shirt.test_proba)
    for kind in KINDS:
        if kind == "LabelSmoothingTemperature":  # is not fitted to the soft labels
            continue
        scaler = SCALERS[kind](from_logits=False).fit(shirt.val_soft_labels, shirt.val_proba)
        assert cal.ece(shirt.test_soft_labels, scaler.transform(shirt.test_proba)) < before


def test_a_fitted_map_shows_itself():
    scaler = TemperatureScaling()
    assert repr(scaler) == "TemperatureScaling(from_logits=True)"
    scaler.fit(MULTICLASS.hard, MULTICLASS.logits)
    assert f"temperature_={scaler.temperature_:.4f}"[:18] in repr(scaler)
    assert "log loss" in repr(scaler) and "400 rows" in repr(scaler)
    for kind in KINDS:
        shown = repr(SCALERS[kind](from_logits=True).fit(MULTICLASS.hard, MULTICLASS.logits))
        assert len(shown) < 300


def test_importing_costs_no_heavy_package():
    program = (
        "import sys, calibrant.scaling as s\n"
        "s.TemperatureScaling().fit([0, 1, 0], [-1.0, 2.0, 0.5])\n"
        "print([name for name in ('scipy', 'sklearn', 'pandas') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.strip() == "[]", done.stderr
