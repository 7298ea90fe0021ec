"""The coordinates in which k² parameters are searched: the same minimum, in fewer products."""

import numpy as np
import pytest

from calibrant.scaling import MatrixScaling
from calibrant.scaling._linear import _ClassScales, _penalty_curvature
from calibrant.scaling._softmax_fit import SoftmaxLoss


def problem(kind, n=200, k=6):
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


def objective(scaler):
    w, b = scaler.coef_, scaler.intercept_
    k = len(b)
    off = w - np.diag(np.diag(w))
    return scaler.loss_ + scaler.l2 * ((off**2).sum() / (k * (k - 1)) + (b**2).mean())


@pytest.mark.parametrize("kind", ["correlated", "rare classes"])
def test_scales_lead_to_the_same_minimum_in_fewer_products(kind, monkeypatch):
    h, y = problem(kind)
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
    assert objective(plain) - 1e-6 < objective(scaled) < objective(plain) + 1e-9
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
