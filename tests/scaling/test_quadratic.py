"""Quadratic scaling: the optimum with and without its constraint, and what it says of a turn."""

import warnings

import numpy as np
import pytest
from scaling_problems import BINARY, MULTICLASS, NEW
from scipy.optimize import minimize

from calibrant import CalibrantWarning, InputError
from calibrant.scaling import PlattScaling, QuadraticScaling

H = BINARY.logits
W = BINARY.weights.astype(float)


def entropy(eta, z, w):
    return np.sum(w * (z * np.logaddexp(0, -eta) + (1 - z) * np.logaddexp(0, eta))) / w.sum()


def turning(n=1500, seed=3):
    """Outcomes that are likeliest in the middle of the upper half."""
    h = np.random.default_rng(seed).normal(size=n) * 2
    return h, 1 / (1 + np.exp(-(0.3 + 0.5 * h - 0.25 * h**2)))


@pytest.mark.parametrize("targets", ["soft", "hard"])
def test_the_fit_is_the_optimum(targets):
    z = getattr(BINARY, targets)
    scaler = QuadraticScaling(from_logits=True).fit(z, H, sample_weight=W)
    found = minimize(
        lambda t: entropy(t[0] + t[1] * H + t[2] * H**2, z, W),
        [0, 1, 0],
        method="Nelder-Mead",
        options={"xatol": 1e-9, "fatol": 1e-13, "maxiter": 5000, "maxfev": 5000},
    )
    at = [scaler.intercept_[0], scaler.slope_[0], scaler.curvature_[0]]
    np.testing.assert_allclose(at, found.x, atol=1e-5)
    assert scaler.loss_ == pytest.approx(found.fun, abs=1e-10)
    assert scaler.loss_ <= PlattScaling(from_logits=True).fit(z, H, sample_weight=W).loss_ + 1e-12


def test_the_quadratic_map_is_logistic_regression_on_the_logit_and_its_square():
    """probmetrics 1.3.0 (BinaryLogisticCalibrator, quadratic; scikit-learn's solver)."""
    scaler = QuadraticScaling().fit(BINARY.hard, BINARY.proba)
    at = [scaler.intercept_[0], scaler.slope_[0], scaler.curvature_[0]]
    np.testing.assert_allclose(at, [-0.29930508, 0.5005878, -0.02559682], atol=1e-4)


@pytest.mark.parametrize("turned", [1, -1])
def test_a_turn_is_told_and_can_be_forbidden(turned):
    h, z = turning()
    h, z = turned * h, z if turned == 1 else 1 - z
    with pytest.warns(CalibrantWarning, match="falls where predictions rise, on 3.% of the rows"):
        free = QuadraticScaling(from_logits=True).fit(z, h)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        held = QuadraticScaling(increasing=True, from_logits=True).fit(z, h)
    grid = np.linspace(-30, 30, 3001)
    assert (np.diff(free.transform(grid)) < -1e-9).any()
    assert (np.diff(held.transform(grid)) >= 0).all()
    ends = np.array([h.min(), h.max()])

    def kept(t):
        return t[1] + 2 * t[2] * ends

    found = minimize(
        lambda t: entropy(t[0] + t[1] * h + t[2] * h**2, z, np.ones(len(h))),
        [0, 1, 0],
        method="SLSQP",
        constraints={"type": "ineq", "fun": kept},
        options={"ftol": 1e-13},
    )
    at = [held.intercept_[0], held.slope_[0], held.curvature_[0]]
    np.testing.assert_allclose(at, found.x, atol=1e-4)
    assert held.loss_ == pytest.approx(found.fun, abs=1e-9) and free.loss_ < held.loss_


def test_the_constraint_costs_nothing_where_it_does_not_bind():
    free = QuadraticScaling().fit(BINARY.hard, BINARY.proba)
    held = QuadraticScaling(increasing=True).fit(BINARY.hard, BINARY.proba)
    new = NEW["binary"].proba
    np.testing.assert_allclose(held.transform(new), free.transform(new), atol=1e-5)


def test_the_curve_goes_on_straight():
    scaler = QuadraticScaling(from_logits=True).fit(BINARY.soft, H)
    low, high = scaler.range_[0]
    assert (low, high) == (H.min(), H.max())
    for end, way in ((low, -1), (high, 1)):
        q = scaler.transform(end + way * np.array([0.0, 1.0, 2.0, 3.0]))
        line = np.log(q / (1 - q))
        np.testing.assert_allclose(np.diff(line, 2), 0, atol=1e-8)
        slope = scaler.slope_[0] + 2 * scaler.curvature_[0] * end
        assert np.diff(line)[0] == pytest.approx(way * slope, rel=1e-8)


def test_rows_without_weight_do_not_widen_the_range():
    w = np.ones(400)
    w[H.argmax()] = 0
    scaler = QuadraticScaling(from_logits=True).fit(BINARY.soft, H, sample_weight=w)
    assert scaler.range_[0][1] == np.sort(H)[-2]


def test_classes_whose_map_falls_are_named():
    h, z = turning(1500)
    rows = np.stack([1 - 0.5 / (1 + np.exp(-h)), 0.5 / (1 + np.exp(-h))], axis=1)
    rows = np.column_stack([rows[:, 0] / 2, rows[:, 0] / 2, rows[:, 1]])
    soft = np.column_stack([(1 - z) / 2, (1 - z) / 2, z])
    with pytest.warns(CalibrantWarning, match="(map of class|maps of classes) .*c falls? where"):
        QuadraticScaling().fit(soft, rows, classes=["a", "b", "c"])
    assert QuadraticScaling().fit(MULTICLASS.soft, MULTICLASS.proba).slope_.shape == (4,)


def test_the_option_is_checked():
    with pytest.raises(InputError, match="increasing must be True or False; got 'yes'"):
        QuadraticScaling(increasing="yes").fit([0, 1], [0.2, 0.7])
