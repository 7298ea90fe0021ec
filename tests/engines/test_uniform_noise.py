"""LS-ECE with uniform noise: the compiled integral beside the closed form in NumPy."""

from itertools import pairwise

import numpy as np
import pytest

import calibrant as cal
from calibrant._measures.smooth import ls_ece_uniform
from every_engine import engine
from needs import compiled_only


def rows(kind, n):
    rng = np.random.default_rng(n)
    u = rng.random(n)
    p = {
        "spread": u,
        "crowded": 0.3 + 1e-7 * u,
        "at both ends": np.where(u < 0.5, 1e-4 * u, 1 - 1e-4 * u),
        "zeros and ones": np.clip(2 * u - 0.5, 0.0, 1.0),
        "three digits": np.round(u, 3),
        "one value": np.full(n, 0.7),
        "float32": u.astype(np.float32),
    }[kind]
    return p, (rng.random(n) < 0.5 * (u + p)).astype(int), rng


@compiled_only
@pytest.mark.parametrize("sigma", [1e-9, 1e-3, 0.1, 1.0, 30.0])
@pytest.mark.parametrize("labels", ["hard", "soft", "weighted"])
@pytest.mark.parametrize(
    "kind",
    ["spread", "crowded", "at both ends", "zeros and ones", "three digits", "one value", "float32"],
)
def test_both_engines_have_one_value(kind, labels, sigma):
    for n in (40, 500) if kind == "zeros and ones" else (1, 2, 500):
        p, y, rng = rows(kind, n)
        z = rng.random(n) if labels == "soft" else y
        w = rng.exponential(size=n) * (rng.random(n) < 0.8) + 0.01 if labels == "weighted" else None
        found = {}
        for name in ("native", "numpy"):
            with engine(name):
                found[name] = cal.ls_ece(z, p, sigma=sigma, noise="uniform", sample_weight=w)
        # Logits of equal predictions are one number here, and may differ by rounding in NumPy.
        assert found["native"] == pytest.approx(found["numpy"], rel=1e-11, abs=1e-15)


def test_an_order_that_is_there_is_not_made_again():
    p, y, rng = rows("spread", 400)
    h = np.log(p / (1 - p))
    order = np.argsort(h)
    z, w = y.astype(float), rng.exponential(size=400)
    assert ls_ece_uniform(h[order], z[order], w[order], 0.1, in_order=True) == pytest.approx(
        ls_ece_uniform(h, z, w, 0.1), rel=1e-13
    )


@compiled_only
def test_top_labels_of_many_classes():
    rng = np.random.default_rng(0)
    p, y = rng.dirichlet([0.4] * 5, 300), rng.integers(0, 5, 300)
    values = []
    for name in ("native", "numpy"):
        with engine(name):
            values.append(cal.ls_ece(y, p, sigma=0.1, noise="uniform"))
    assert values[0] == pytest.approx(values[1], rel=1e-11)


@compiled_only
@pytest.mark.parametrize("sigma", [0.003, 0.1, 5.0])
@pytest.mark.parametrize("weighted", [False, True])
def test_segments_of_the_ends_add_up_wherever_they_are_cut(weighted, sigma):
    from calibrant._engines.arrays.native import uniform_error

    n = 6000
    rng = np.random.default_rng(1)
    h = np.sort(rng.normal(0, 2, n))
    # Calibrated: the integrand changes its sign all the time, in some blocks and not in others.
    z = (rng.random(n) < 1 / (1 + np.exp(-h))).astype(float)
    w = rng.exponential(size=n) if weighted else np.ones(n)
    whole = uniform_error(h, w, w * z, sigma, 0, 2 * n)
    assert whole / sigma / w.sum() == pytest.approx(ls_ece_uniform(h, z, w, sigma), rel=1e-12)
    cuts = [0, *np.sort(rng.integers(0, 2 * n, 7)).tolist(), 2 * n]
    parts = [uniform_error(h, w, w * z, sigma, *ends) for ends in pairwise(cuts)]
    assert sum(parts) == pytest.approx(whole, rel=1e-12)


@compiled_only
def test_many_rows_are_cut_into_segments():
    p, y, _ = rows("spread", 140_000)
    h = np.log(p / (1 - p))
    value = cal.ls_ece(y, p, sigma=0.1, noise="uniform", eps=1e-9)
    assert value == pytest.approx(ls_ece_uniform(h, y * 1.0, np.ones(p.size), 0.1), rel=1e-12)
