"""Structured vector and matrix scaling: the optimum of the published objective, and its limits."""

import warnings

import numpy as np
import pytest
from scaling_problems import BINARY, MULTICLASS, NEW, multiclass, softmax
from scipy.optimize import minimize, minimize_scalar

from calibrant import CalibrantWarning, InputError
from calibrant.scaling import (
    MatrixScaling,
    StructuredMatrixScaling,
    StructuredVectorScaling,
    TemperatureScaling,
    VectorScaling,
)

KINDS = {"vector": StructuredVectorScaling, "matrix": StructuredMatrixScaling}


def log_loss(rows, targets, weights):
    return -np.sum(weights[:, None] * targets * np.log(rows)) / weights.sum()


def objective(which, scores, targets, weights, penalties):
    """The published objective of steps away from the identity, in plain words."""
    k, n = targets.shape[1], weights.sum()

    def value(theta):
        step, b = theta[:-k], theta[-k:]
        matrix = np.diag(step) if which == "vector" else step.reshape(k, k)
        rows = softmax(scores @ (np.eye(k) + matrix).T + b)
        diagonal = np.diag(matrix)
        off = (matrix**2).sum() - (diagonal**2).sum()
        on_b, on_diagonal, on_off = penalties
        return (
            log_loss(rows, targets, weights)
            + on_b * k / n * (b**2).sum()
            + on_diagonal * k / n * (diagonal**2).sum()
            + on_off * k * (k - 1) / n * off
        )

    return value


def slow_twin(which, logits, targets, weights, penalties=(1.0, 1.0, 1.0)):
    """Temperature, the objective and its least value, all by searches without
    derivatives of ours.
    """
    k = targets.shape[1]
    temperature = minimize_scalar(
        lambda t: log_loss(softmax(logits / t), targets, weights),
        bounds=(0.1, 10),
        method="bounded",
        options={"xatol": 1e-10},
    ).x
    share = 1 / (weights.sum() + 1)
    scores = np.log((1 - share) * softmax(logits / temperature) + share / k)
    value = objective(which, scores, targets, weights, penalties)
    start = np.zeros(2 * k if which == "vector" else k * k + k)
    found = minimize(value, start, method="BFGS", options={"gtol": 1e-7, "maxiter": 2000})
    return temperature, value, found


def steps(scaler, which):
    k = scaler.n_classes_
    step = scaler.coef_ - (1.0 if which == "vector" else np.eye(k))
    return np.append(step.ravel(), scaler.intercept_)


@pytest.mark.parametrize("targets", ["soft", "hard"])
@pytest.mark.parametrize("which", KINDS)
def test_the_fit_is_the_optimum(which, targets):
    w = MULTICLASS.weights.astype(float)
    z = MULTICLASS.soft if targets == "soft" else np.eye(4)[MULTICLASS.hard]
    penalties = (0.7, 1.3, 0.4)
    names = ("l2_intercept", "l2_diagonal", "l2_off_diagonal")[: 2 if which == "vector" else 3]
    scaler = KINDS[which](**dict(zip(names, penalties, strict=False)))
    scaler.fit(getattr(MULTICLASS, targets), MULTICLASS.logits, sample_weight=w)
    temperature, value, found = slow_twin(which, MULTICLASS.logits, z, w, penalties)
    assert scaler.temperature_ == pytest.approx(temperature, rel=1e-6)
    assert scaler.uniform_ == pytest.approx(1 / (w.sum() + 1), rel=1e-12)
    at = steps(scaler, which)
    assert value(at) == pytest.approx(found.fun, abs=1e-9)
    assert value(at) <= found.fun + 1e-11
    np.testing.assert_allclose(at, found.x, atol=2e-4)
    assert scaler.loss_ == pytest.approx(
        log_loss(
            scaler.fit_transform(getattr(MULTICLASS, targets), MULTICLASS.logits, sample_weight=w),
            z,
            w,
        ),
        rel=1e-9,
    )


@pytest.mark.parametrize("which", KINDS)
def test_two_classes_and_one_column(which):
    z = np.stack([1 - BINARY.hard, BINARY.hard], axis=1)
    logits = np.stack([-BINARY.logits / 2, BINARY.logits / 2], axis=1)
    _, value, found = slow_twin(which, logits, z, np.ones(400))
    scaler = KINDS[which]().fit(BINARY.hard, BINARY.logits)
    assert value(steps(scaler, which)) == pytest.approx(found.fun, abs=1e-9)


# probmetrics 1.3.0 (Apache-2.0, PyPI): SVSCalibrator and SMSCalibrator with their defaults, fitted
# to MULTICLASS.proba and MULTICLASS.hard; single precision, and its search stops early.
PROBMETRICS = {
    "vector": (
        [0.9457516, 0.974933, 1.101688, 1.0505737],
        [-0.01027856, -0.00314902, 0.05575735, -0.04232981],
        [0.06938759, 0.1263752, 0.18689013, 0.6173471],
    ),
    "matrix": (
        [
            [0.9453397, -0.00668692, 0.02800239, 0.03066435],
            [0.03290012, 0.9738529, 0.00845102, -0.06666058],
            [0.0112335, -0.06504013, 1.1075032, 0.01989904],
            [-0.02582785, 0.08076634, -0.07106032, 1.0482613],
        ],
        [0.0910418, -0.00789008, -0.01207095, -0.07108092],
        [0.07423122, 0.11791104, 0.19301811, 0.61483963],
    ),
}


@pytest.mark.parametrize("which", KINDS)
def test_the_authors_package_finds_the_same_map(which):
    coef, bias, first = PROBMETRICS[which]
    scaler = KINDS[which](from_logits=False).fit(MULTICLASS.hard, MULTICLASS.proba)
    assert scaler.temperature_ == pytest.approx(1 / 0.47775964597535026, rel=1e-7)
    np.testing.assert_allclose(scaler.coef_, coef, atol=1e-3)
    np.testing.assert_allclose(scaler.intercept_, bias, atol=1e-3)
    np.testing.assert_allclose(scaler.transform(NEW["multiclass"].proba[:1])[0], first, atol=2e-4)


@pytest.mark.parametrize("which", KINDS)
def test_much_penalty_is_temperature_scaling(which):
    names = [name for name in KINDS[which]().get_params() if name.startswith("l2")]
    scaler = KINDS[which](**dict.fromkeys(names, 1e9)).fit(MULTICLASS.hard, MULTICLASS.logits)
    plain = TemperatureScaling().fit(MULTICLASS.hard, MULTICLASS.logits)
    new = NEW["multiclass"].logits
    share = 1 / 401
    expected = (1 - share) * plain.transform(new) + share / 4
    np.testing.assert_allclose(scaler.transform(new), expected, atol=1e-7)


def test_many_rows_leave_the_penalty_behind_and_few_rows_do_not():
    """With few rows for many parameters, a penalised matrix beats a free one on new rows."""
    made, new = multiclass(3, 150, 8), multiclass(4, 4000, 8)

    def lost(scaler):
        return log_loss(scaler.transform(new.logits), np.eye(8)[new.hard], np.ones(4000))

    free = MatrixScaling().fit(made.hard, made.logits)
    held = StructuredMatrixScaling().fit(made.hard, made.logits)
    assert lost(held) < lost(free) - 0.1
    many = np.full(150, 1e6)  # as if each row were a million
    again = StructuredMatrixScaling().fit(made.hard, made.logits, sample_weight=many)
    scores = np.log(softmax(made.logits / again.temperature_))
    free = MatrixScaling().fit(made.hard, scores)
    assert again.loss_ == pytest.approx(free.loss_, abs=1e-5) and held.loss_ > free.loss_ + 0.01


def test_weights_that_sum_to_1_are_told():
    shares = np.full(400, 1 / 400)
    with pytest.warns(CalibrantWarning, match="sum to 1 for 400 rows.*multiply them"):
        StructuredVectorScaling().fit(MULTICLASS.hard, MULTICLASS.logits, sample_weight=shares)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        some = (np.arange(400) % 20 == 0).astype(float)  # rows without weight are no rows
        StructuredVectorScaling().fit(MULTICLASS.hard, MULTICLASS.logits, sample_weight=some)


def test_separable_rows_have_a_map():
    """The share of the uniform distribution and the penalty keep it finite."""
    y = MULTICLASS.logits.argmax(axis=1)
    with pytest.warns(CalibrantWarning, match="lower end"):
        scaler = StructuredMatrixScaling().fit(y, MULTICLASS.logits)
    assert np.abs(scaler.coef_).max() < 10
    assert scaler.transform(NEW["multiclass"].logits).min() > 0


@pytest.mark.parametrize("name", ["l2_intercept", "l2_diagonal", "l2_off_diagonal"])
@pytest.mark.parametrize("value", [-1, np.nan, np.inf, "much", True])
def test_penalties_are_checked(name, value):
    with pytest.raises(InputError, match=f"{name} must be a finite number, at least 0; got"):
        StructuredMatrixScaling(**{name: value}).fit([0, 1], [0.2, 0.7])


def test_without_penalties_separable_rows_are_told():
    with pytest.warns(CalibrantWarning, match="use penalties above 0"):
        StructuredVectorScaling(l2_intercept=0.0, l2_diagonal=0.0).fit(
            MULTICLASS.logits.argmax(axis=1), MULTICLASS.logits
        )


def test_what_is_added_to_all_logits_of_a_row_is_lost_on_them():
    rng = np.random.default_rng(0)
    logits = rng.normal(0, 1.5, (4000, 3)) + 2 * rng.normal(size=(4000, 1))
    y = (logits * [0.5, 1.0, 1.5] + rng.gumbel(size=(4000, 3))).argmax(axis=1)
    plain = logits - logits.mean(axis=1, keepdims=True)
    for kind in KINDS.values():
        fit = kind().fit(y, logits)
        other = kind().fit(y, plain)
        np.testing.assert_allclose(fit.transform(plain), other.transform(logits), atol=1e-5)
        assert fit.loss_ > VectorScaling().fit(y, logits).loss_ + 0.05
