"""Venn-Abers calibration against isotonic refits, its guarantee, and what venn-abers gives."""

import warnings

import numpy as np
import pytest
from scaling_problems import BINARY, MULTICLASS, NEW, multiclass
from scipy.optimize import isotonic_regression

import calibrant as cal
from calibrant import CalibrantWarning, InputError
from calibrant._engines.arrays.selection import kernels
from calibrant.scaling import IsotonicCalibration, VennAbers
from calibrant.scaling._venn_abers import with_a_one
from every_engine import available, engine

P = [0.05, 0.12, 0.12, 0.2, 0.28, 0.33, 0.41, 0.47, 0.47, 0.55, 0.62, 0.7, 0.78, 0.85, 0.91]
Y = [0, 0, 1, 0, 0, 1, 0, 1, 0, 1, 0, 1, 1, 0, 1]
ROWS = [0.01, 0.05, 0.1, 0.12, 0.3, 0.47, 0.5, 0.66, 0.8, 0.91, 0.97]


def refitted(p, z, w, new, label):
    """Isotonic regression with the new row among the others, read off at that row."""
    x, t, m = np.append(p, new), np.append(z, label), np.append(w, 1.0)
    levels, index = np.unique(x, return_inverse=True)
    mass = np.bincount(index, m)
    fit = isotonic_regression(np.bincount(index, m * t) / mass, weights=mass)
    return fit.x[np.searchsorted(levels, new)]


@pytest.mark.skipif("native" not in available(), reason="the kernels were not built")
@pytest.mark.parametrize("seed", range(30))
def test_the_compiled_steps_have_the_same_bits(seed):
    assert hasattr(kernels().draws, "isotonic_with_a_one")
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 300))
    mass = np.ones(n) if seed % 3 == 0 else rng.random(n)
    z = rng.random(n) if seed % 2 else (rng.random(n) < 0.4) * 1.0
    total = np.cumsum(mass), np.cumsum(mass * z)
    compiled = with_a_one(*total)
    with engine("numpy"):
        plain = with_a_one(*total)
    assert np.array_equal(compiled, plain)


@pytest.mark.parametrize("seed", range(16))
def test_both_probabilities_are_those_of_refits(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 60))
    p = rng.random(n) if seed % 2 else rng.random(n).round(1)
    z = (rng.random(n) < p) * 1.0
    if seed % 3 == 0:
        z = np.clip(p + 0.2 * rng.normal(size=n), 0, 1)
    if seed % 5 == 0:
        z = 1 - z  # the wrong way round
    w = rng.random(n) * 3 if seed % 4 == 0 else np.ones(n)
    scaler = VennAbers().fit(z, p, sample_weight=w)
    new = np.concatenate([rng.random(12), p[:4], [0, 1]])
    low, high = scaler.predict_both(new)
    for s, *both in zip(new, low, high, strict=True):
        expected = [refitted(p, z, w, s, label) for label in (0.0, 1.0)]
        np.testing.assert_allclose(both, expected, atol=1e-13)
    assert (low < high).all()
    np.testing.assert_allclose(
        scaler._apply(scaler._predictions(new, None)), high / (1 - low + high), rtol=1e-15
    )


def test_the_map_is_what_the_package_venn_abers_gives():
    """Numbers of VennAbers().predict_proba of venn-abers 1.5.4."""
    low = [0, 0, 0, 1 / 5, 1 / 5, 2 / 5, 2 / 5, 3 / 7, 1 / 2, 3 / 5, 3 / 5]
    high = [1 / 3, 1 / 3, 2 / 5, 2 / 5, 4 / 7, 3 / 5, 2 / 3, 3 / 4, 3 / 4, 1, 1]
    merged = [0.25, 0.25, 0.28571428571428575, 0.3333333333333333, 0.41666666666666663, 0.5,
              0.5263157894736842, 0.5675675675675675, 0.6, 0.7142857142857143,
              0.7142857142857143]  # fmt: skip
    scaler = VennAbers().fit(Y, P)
    found = scaler.predict_both(ROWS)
    np.testing.assert_allclose(found, [low, high], rtol=1e-15)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        np.testing.assert_allclose(scaler.transform(ROWS), merged, rtol=1e-15)


def test_the_probability_of_the_label_that_comes_is_calibrated():
    """Any row of a bag may be the new one. The probability that belongs to its label is then the
    isotonic fit to the whole bag, which is calibrated on it: the guarantee, for any bag.
    """
    rng = np.random.default_rng(0)
    p = rng.random(40).round(2)
    y = (rng.random(40) < p**2).astype(int)
    whole = IsotonicCalibration().fit_transform(y, p)
    for i in range(40):
        rest = np.arange(40) != i
        both = VennAbers().fit(y[rest], p[rest]).predict_both(p[i : i + 1])
        assert both[y[i]][0] == pytest.approx(whole[i], abs=1e-14)
    for value in np.unique(whole):
        assert y[whole == value].mean() == pytest.approx(value)


def test_venn_abers_beats_isotonic_calibration_in_log_loss_on_few_rows():
    scores = {VennAbers: [], IsotonicCalibration: []}
    for seed in range(10):
        rng = np.random.default_rng(seed)
        p, new = rng.random(100), rng.random(500)
        y, later = rng.random(100) < p, rng.random(500) < new
        for kind, found in scores.items():
            found.append(cal.log_loss(later, kind().fit(y, p).transform(new)))
    assert np.mean(scores[VennAbers]) < np.mean(scores[IsotonicCalibration])


def test_classes_each_have_a_pair_and_rows_are_divided_by_their_sum():
    scaler = VennAbers().fit(MULTICLASS.hard, MULTICLASS.proba, sample_weight=MULTICLASS.weights)
    new = NEW["multiclass"].proba
    low, high = scaler.predict_both(new)
    assert low.shape == high.shape == new.shape
    for j in range(4):
        alone = VennAbers().fit(
            MULTICLASS.hard == j, MULTICLASS.proba[:, j], sample_weight=MULTICLASS.weights
        )
        np.testing.assert_array_equal(alone.predict_both(new[:, j]), [low[:, j], high[:, j]])
    merged = high / (1 - low + high)
    np.testing.assert_allclose(scaler.transform(new), merged / merged.sum(1, keepdims=True))


def test_two_columns_have_one_pair_turned_round():
    both = np.stack([1 - BINARY.proba, BINARY.proba], axis=1)
    one, two = VennAbers().fit(BINARY.hard, BINARY.proba), VennAbers().fit(BINARY.hard, both)
    new = NEW["binary"].proba
    low, high = one.predict_both(new)
    found = two.predict_both(np.stack([1 - new, new], axis=1))
    np.testing.assert_allclose(found[0], np.stack([1 - high, low], axis=1))
    np.testing.assert_allclose(found[1], np.stack([1 - low, high], axis=1))


def test_weights_count_rows():
    w = BINARY.weights
    weighted = VennAbers().fit(BINARY.hard, BINARY.proba, sample_weight=w)
    repeated = VennAbers().fit(np.repeat(BINARY.hard, w), np.repeat(BINARY.proba, w))
    new = NEW["binary"].proba
    np.testing.assert_allclose(weighted.predict_both(new), repeated.predict_both(new), atol=1e-14)
    with pytest.warns(CalibrantWarning, match="400 rows sum to 1, .*multiply them by 400"):
        light = VennAbers().fit(BINARY.hard, BINARY.proba, sample_weight=np.full(400, 1 / 400))
    low, high = light.predict_both(new)
    assert (high - low).min() > 0.3


def test_what_cannot_be_predicted():
    scaler = VennAbers().fit(Y, P)
    with pytest.raises(InputError, match=r"shape \(n,\), as in fit"):
        scaler.predict_both(multiclass(n=3).proba)
    with pytest.raises(InputError, match=r"y_proba\[0\] is 1.2"):
        scaler.predict_both([1.2])
