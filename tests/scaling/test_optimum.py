"""Each fit is the optimum of its own loss, as an independent search with its own loss finds it."""

import numpy as np
import pytest
from scaling_problems import BINARY, KINDS, MULTICLASS, NEW, SHAPES, softmax
from scipy.optimize import check_grad, isotonic_regression, minimize

from calibrant.scaling import (
    SCALERS,
    BetaCalibration,
    HistogramBinning,
    IsotonicCalibration,
    MatrixScaling,
    PlattScaling,
    TemperatureScaling,
)
from calibrant.scaling._linear import _ClassScales, _penalty_curvature, penalty_gradients
from calibrant.scaling._softmax_fit import SoftmaxLoss
from calibrant.scaling._temperature import derivatives
from needs import need

LOGS = np.log(MULTICLASS.proba)


def cross_entropy(eta, targets, weights):
    log_rows = eta - np.log(np.exp(eta).sum(axis=1, keepdims=True))
    return -np.sum(weights[:, None] * targets * log_rows) / weights.sum()


def binary_entropy(eta, targets, weights):
    p = 1 / (1 + np.exp(-eta))
    return -np.sum(weights * (targets * np.log(p) + (1 - targets) * np.log(1 - p))) / weights.sum()


def odir(theta, l2, k=4):
    matrix, bias = theta[: k * k].reshape(k, k), theta[k * k :]
    off = matrix[~np.eye(k, dtype=bool)]
    return l2 * (np.mean(off**2) + np.mean(bias**2))


def matrix_eta(theta, scores, k=4):
    return scores @ theta[: k * k].reshape(k, k).T + theta[k * k :]


IDENTITY = np.append(np.eye(4).ravel(), np.zeros(4))
# The scaler, its predictions, the loss of parameters written down again, where to start.
MULTI = {
    "temperature": ("TemperatureScaling", {}, lambda t: MULTICLASS.logits / t[0], [1.0]),
    "temperature of probabilities": (
        "TemperatureScaling", {"from_logits": False}, lambda t: LOGS / t[0], [1.0]),
    "vector": ("VectorScaling", {}, lambda t: MULTICLASS.logits * t[:4] + t[4:],
               [1.0] * 4 + [0.0] * 4),
    "matrix": ("MatrixScaling", {}, lambda t: matrix_eta(t, MULTICLASS.logits), IDENTITY),
    "matrix, penalty": ("MatrixScaling", {"l2": 0.3},
                        lambda t: matrix_eta(t, MULTICLASS.logits), IDENTITY),
    "Dirichlet": ("DirichletCalibration", {}, lambda t: matrix_eta(t, LOGS), IDENTITY),
    "Dirichlet, penalty": ("DirichletCalibration", {"l2": 0.05},
                           lambda t: matrix_eta(t, LOGS), IDENTITY),
}  # fmt: skip


@pytest.mark.parametrize("targets", ["soft", "hard"])
@pytest.mark.parametrize("case", MULTI)
def test_multiclass_optimum(case, targets):
    kind, options, eta, start = MULTI[case]
    z = MULTICLASS.soft if targets == "soft" else np.eye(4)[MULTICLASS.hard]
    w = MULTICLASS.weights.astype(float)
    l2 = options.get("l2", 0.0)

    def loss(theta):
        return cross_entropy(eta(theta), z, w) + (odir(theta, l2) if l2 else 0.0)

    scaler = SCALERS[kind](**options)
    predictions = MULTICLASS.predictions(scaler.from_logits)
    scaler.fit(getattr(MULTICLASS, targets), predictions, sample_weight=w)
    expected = minimize(loss, start, method="BFGS", options={"gtol": 1e-7, "maxiter": 5000}).fun
    found = scaler.loss_
    if l2:
        found += odir(np.append(scaler.coef_.ravel(), scaler.intercept_), l2)
    assert found == pytest.approx(expected, abs=1e-6)
    assert found <= expected + 1e-9


H, P = BINARY.logits, BINARY.proba
SCALAR = {
    "temperature": ("TemperatureScaling", {}, lambda t: H / t[0], [1.0]),
    "Platt": ("PlattScaling", {}, lambda t: t[0] * H + t[1], [1.0, 0.0]),
    "Platt of logits": ("PlattScaling", {"from_logits": True}, lambda t: t[0] * H + t[1], [1, 0]),
    "vector": ("VectorScaling", {}, lambda t: t[0] * H + t[1], [1.0, 0.0]),
    "beta": (
        "BetaCalibration",
        {},
        lambda t: t[0] * np.log(P) - t[1] * np.log(1 - P) + t[2],
        [1, 1, 0],
    ),
    "Dirichlet": (
        "DirichletCalibration",
        {},
        lambda t: t[0] * np.log(P) - t[1] * np.log(1 - P) + t[2],
        [1, 1, 0],
    ),
}


@pytest.mark.parametrize("targets", ["soft", "hard"])
@pytest.mark.parametrize("case", SCALAR)
def test_binary_optimum(case, targets):
    kind, options, eta, start = SCALAR[case]
    z, w = getattr(BINARY, targets), BINARY.weights.astype(float)
    scaler = SCALERS[kind](**options)
    scaler.fit(z, BINARY.predictions(scaler.from_logits), sample_weight=w)
    found = minimize(
        lambda t: binary_entropy(eta(t), z, w),
        start,
        method="Nelder-Mead",
        options={"xatol": 1e-9, "fatol": 1e-12, "maxiter": 10_000, "maxfev": 10_000},
    )
    assert scaler.loss_ == pytest.approx(found.fun, abs=1e-6)
    assert scaler.loss_ <= found.fun + 1e-9


def test_beta_keeps_its_constraints():
    """Predictions whose left end is turned round would want a < 0."""
    rng = np.random.default_rng(5)
    p = rng.uniform(0.01, 0.99, 500)
    z = 1 / (1 + np.exp(-(-0.8 * np.log(p) - 1.2 * np.log(1 - p) - 1.5)))
    scaler = BetaCalibration().fit(z, p)
    assert scaler.a_[0] == 0 and scaler.b_[0] > 0
    found = minimize(
        lambda t: binary_entropy(-t[0] * np.log(1 - p) + t[1], z, np.ones(500)),
        [1, 0],
        method="Nelder-Mead",
        options={"xatol": 1e-9, "fatol": 1e-13},
    )
    assert scaler.loss_ == pytest.approx(found.fun, abs=1e-9)


def test_platt_is_logistic_regression():
    linear = need("sklearn.linear_model")
    model = linear.LogisticRegression(C=np.inf, tol=1e-10).fit(H[:, None], BINARY.hard)
    scaler = PlattScaling(from_logits=True).fit(BINARY.hard, H)
    assert scaler.slope_[0] == pytest.approx(model.coef_[0, 0], abs=1e-5)
    assert scaler.intercept_[0] == pytest.approx(model.intercept_[0], abs=1e-5)


def test_smoothed_targets_are_those_of_platt():
    theirs = need("sklearn.calibration")._sigmoid_calibration
    w = BINARY.weights.astype(float)
    scaler = PlattScaling(smooth_targets=True, from_logits=True)
    scaler.fit(BINARY.hard, H, sample_weight=w)
    a, b = theirs(H, BINARY.hard, sample_weight=w)
    assert scaler.slope_[0] == pytest.approx(-a, rel=1e-4)
    assert scaler.intercept_[0] == pytest.approx(-b, rel=1e-3, abs=1e-4)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("targets", ["soft", "hard"])
def test_isotonic_is_scikit_learns(targets, weighted):
    theirs = need("sklearn.isotonic").IsotonicRegression(out_of_bounds="clip", y_min=0, y_max=1)
    p = P.round(2)  # with ties
    w = BINARY.weights + 1.0 if weighted else np.ones(len(p))
    z = getattr(BINARY, targets)
    scaler = IsotonicCalibration()
    fitted = scaler.fit_transform(z, p, sample_weight=w)
    theirs.fit(p, z, sample_weight=w)
    np.testing.assert_allclose(fitted, theirs.predict(p), atol=1e-12)
    between = np.linspace(0, 1, 1001)
    np.testing.assert_allclose(scaler.transform(between), theirs.predict(between), atol=1e-12)


def test_isotonic_pools_by_weight():
    scaler = IsotonicCalibration()
    fitted = scaler.fit_transform([1, 0, 1], [0.2, 0.5, 0.7], sample_weight=[1, 3, 1])
    np.testing.assert_allclose(fitted, [0.25, 0.25, 1.0])
    order = np.argsort(P)
    expected = isotonic_regression(BINARY.soft[order], weights=BINARY.weights[order] + 1.0).x
    fitted = scaler.fit_transform(BINARY.soft, P, sample_weight=BINARY.weights + 1.0)
    np.testing.assert_allclose(fitted[order], expected, atol=1e-12)


@pytest.mark.parametrize("bins", [10, "quantile", [0, 0.3, 0.35, 1]])
def test_histogram_gives_the_mean_of_each_bin(bins):
    scaler = HistogramBinning(bins=bins)
    fitted = scaler.fit_transform(BINARY.soft, P, sample_weight=BINARY.weights)
    index = np.searchsorted(scaler.edges_[0], P, side="right")
    for j in np.unique(index):
        w = BINARY.weights[index == j]
        if w.sum() > 0:
            expected = (w @ BINARY.soft[index == j]) / w.sum()
            np.testing.assert_allclose(fitted[index == j], expected, rtol=1e-12)


def test_single_precision_predictions_meet_edges_as_in_the_measures():
    single = np.array([0.69, 0.7, 0.71], dtype=np.float32)
    scaler = HistogramBinning(bins=10).fit([0, 1, 1], single)
    assert scaler.transform(np.array([0.7], dtype=np.float32)).tolist() == [1.0]
    assert scaler.transform([0.7]).tolist() == [1.0]


# --- gradients ------------------------------------------------------------------------------------


def test_gradients_are_exact():
    rng = np.random.default_rng(3)
    z, w, s = MULTICLASS.soft, np.full(400, 1 / 400), MULTICLASS.logits
    loss = SoftmaxLoss(
        lambda t: s @ t[4:].reshape(4, 4).T + t[:4],
        lambda e: np.append(e.sum(axis=0), (e.T @ s).ravel()),
        z,
        w,
        pull=lambda t: 0.3 * t,
    )
    theta, along = rng.normal(size=20) * 0.3, rng.normal(size=20)
    error = check_grad(
        lambda t: loss.value_and_gradient(t)[0], lambda t: loss.value_and_gradient(t)[1], theta
    )
    assert error < 1e-5
    step = 1e-6 * along
    change = loss.value_and_gradient(theta + step)[1] - loss.value_and_gradient(theta - step)[1]
    np.testing.assert_allclose(loss.curvature(theta, along), change / 2e-6, atol=1e-6)

    matrix, bias = rng.normal(size=(4, 4)), rng.normal(size=4)
    flat = np.append(matrix.ravel(), bias)
    d_matrix, d_bias = penalty_gradients(matrix, bias, 0.7)
    given = np.append(d_matrix.ravel(), d_bias)
    assert check_grad(lambda t: odir(t, 0.7), lambda _: given, flat) < 1e-5

    def mean(slope):
        return cross_entropy(slope * s, z, w)

    hits = (z * s).sum(axis=1)
    first, second = derivatives(0.7, s, hits, w)
    assert first == pytest.approx((mean(0.7 + 1e-5) - mean(0.7 - 1e-5)) / 2e-5, rel=1e-7)
    higher, lower = (derivatives(0.7 + d, s, hits, w)[0] for d in (1e-5, -1e-5))
    assert second == pytest.approx((higher - lower) / 2e-5, rel=1e-7)


# --- what targets and weights mean ----------------------------------------------------------------


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kind", KINDS)
def test_whole_weights_are_repetitions(kind, shape):
    made, new = SHAPES[shape], NEW[shape]
    scaler, again = SCALERS[kind](), SCALERS[kind]()
    predictions = made.predictions(scaler.from_logits)
    scaler.fit(made.soft, predictions, sample_weight=made.weights)
    rows = np.repeat(np.arange(len(predictions)), made.weights)
    again.fit(made.soft[rows], predictions[rows])
    held_out = new.predictions(scaler.from_logits)
    np.testing.assert_allclose(scaler.transform(held_out), again.transform(held_out), atol=1e-6)
    assert scaler.loss_ == pytest.approx(again.loss_, abs=1e-10)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kind", KINDS)
def test_certain_soft_targets_are_hard_ones(kind, shape):
    made, new = SHAPES[shape], NEW[shape]
    scaler, again = SCALERS[kind](), SCALERS[kind]()
    predictions = made.predictions(scaler.from_logits)
    scaler.fit(made.hard, predictions)
    certain = np.eye(4)[made.hard] if shape == "multiclass" else made.hard.astype(float)
    again.fit(certain, predictions)
    held_out = new.predictions(scaler.from_logits)
    np.testing.assert_array_equal(scaler.transform(held_out), again.transform(held_out))


@pytest.mark.parametrize("kind", KINDS)
def test_logits_and_probabilities_give_the_same_map(kind):
    """But for vector and matrix scaling, which see how logits differ from log probabilities."""
    shape = "binary" if kind in ("VectorScaling", "MatrixScaling") else "multiclass"
    made, new = SHAPES[shape], NEW[shape]
    of_logits = SCALERS[kind](from_logits=True).fit(made.soft, made.logits)
    of_proba = SCALERS[kind](from_logits=False).fit(made.soft, made.proba)
    tolerance = 0.02 if shape == "binary" else 1e-4
    np.testing.assert_allclose(
        of_logits.transform(new.logits), of_proba.transform(new.proba), atol=tolerance
    )


def test_strong_penalty_leaves_a_diagonal():
    scaler = MatrixScaling(l2=1e6).fit(MULTICLASS.soft, MULTICLASS.logits)
    off = scaler.coef_ - np.diag(np.diag(scaler.coef_))
    assert np.abs(off).max() < 1e-4 and np.abs(scaler.intercept_).max() < 1e-4


def test_a_known_temperature_is_found():
    scaler = TemperatureScaling().fit(softmax(MULTICLASS.logits / 3.7), MULTICLASS.logits)
    assert scaler.temperature_ == pytest.approx(3.7, rel=1e-10)


@pytest.mark.parametrize("l2", [0.0, 0.01])
def test_single_precision_leads_to_the_same_optimum(l2, monkeypatch):
    """Scores of very different scales, whose curvatures differ by many orders of magnitude."""
    rng = np.random.default_rng(0)
    k = 6
    scores = rng.standard_normal((800, k)) * np.logspace(-2, 2, k) + np.arange(k)
    labels = (0.3 * scores / np.logspace(-2, 2, k) + rng.gumbel(size=scores.shape)).argmax(axis=1)
    led = MatrixScaling(l2=l2).fit(labels, scores)
    search = SoftmaxLoss._search

    def doubled(self, start, small, precision, max_iter, radius):
        return search(self, start, small, np.float64, max_iter, radius)

    monkeypatch.setattr(SoftmaxLoss, "_search", doubled)
    exact = MatrixScaling(l2=l2).fit(labels, scores)
    targets, weights = np.eye(k)[labels], np.ones(800)

    def objective(scaler):
        eta = scores @ scaler.coef_.T + scaler.intercept_
        theta = np.concatenate([scaler.coef_.ravel(), scaler.intercept_])
        return cross_entropy(eta, targets, weights) + odir(theta, l2, k)

    assert objective(led) == pytest.approx(objective(exact), rel=1e-10)


# --- the coordinates in which k² parameters are searched -----------------------------------------


def scales_problem(kind, n=200, k=6):
    rng = np.random.default_rng(5)
    if kind == "correlated":
        h = rng.normal(size=(n, k)) @ (
            rng.normal(size=(k, k)) * np.exp(-np.linspace(0, 4, k))[:, None]
        )
    else:
        h = rng.normal(size=(n, k)) - np.linspace(0, 5, k)
    p = np.exp(2 * h) / np.exp(2 * h).sum(axis=1, keepdims=True)
    y = np.minimum((np.cumsum(p, axis=1) < rng.random(n)[:, None]).sum(axis=1), k - 1)
    return 3 * h, y


def matrix_objective(scaler):
    w, b = scaler.coef_, scaler.intercept_
    k = len(b)
    off = w - np.diag(np.diag(w))
    return scaler.loss_ + scaler.l2 * ((off**2).sum() / (k * (k - 1)) + (b**2).mean())


@pytest.mark.parametrize("kind", ["correlated", "rare classes"])
def test_scales_lead_to_the_same_minimum_in_fewer_products(kind, monkeypatch):
    h, y = scales_problem(kind)
    products, curvature = [0], SoftmaxLoss.curvature

    def counted(self, *args):
        products[-1] += 1
        return curvature(self, *args)

    monkeypatch.setattr(SoftmaxLoss, "curvature", counted)
    scaled = MatrixScaling(l2=0.01).fit(y, h)
    products.append(0)
    # The same search in the parameters themselves.
    plain_init = SoftmaxLoss.__post_init__

    def without(self):
        plain_init(self)
        self.scales_at = None

    monkeypatch.setattr(SoftmaxLoss, "__post_init__", without)
    plain = MatrixScaling(l2=0.01).fit(y, h)
    # The plain search may stop a little above the minimum.
    assert (
        matrix_objective(plain) - 1e-6 < matrix_objective(scaled) < matrix_objective(plain) + 1e-9
    )
    assert products[0] < products[1] / 3


@pytest.mark.parametrize("l2", [0.0, 0.1])
def test_scales_are_one_linear_map_and_its_transpose(l2):
    rng = np.random.default_rng(0)
    n, k = 60, 4
    unit, p = rng.normal(size=(n, k)), rng.dirichlet(np.ones(k), n)
    whitening = np.diag(rng.random(k) + 0.5)
    penalty = _penalty_curvature(whitening, rng.normal(size=k), l2)
    scales = _ClassScales(unit.astype(np.float32), np.full(n, 1 / n), p, penalty)
    theta, gradient = rng.normal(size=(2, k * (k + 1)))
    phi = scales.undo(theta)
    assert scales.turn(phi) == pytest.approx(theta, abs=1e-9)
    other = rng.normal(size=phi.size)
    assert other @ scales.turn_gradient(gradient) == pytest.approx(scales.turn(other) @ gradient)
