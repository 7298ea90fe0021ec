"""LS-ECE with any noise and any link (section 4 of the paper) against twins in plain Python."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise, product
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest

import calibrant as cal
from every_engine import call

NORMAL = NormalDist()
# Density, reach and kinks of each noise of width 1.
NOISES: dict[str, tuple[Callable[[float], float], float, tuple[float, ...]]] = {
    "gaussian": (NORMAL.pdf, 9.0, ()),
    "logistic": (lambda x: 0.25 / math.cosh(x / 2) ** 2, 40.0, ()),
    "uniform": (lambda x: float(abs(x) < 0.5), 0.5, (-0.5, 0.5)),
    "triangular": (lambda x: max(0.0, 2 - 4 * abs(x)), 0.5, (-0.5, 0.0, 0.5)),
    "laplace": (lambda x: 0.5 * math.exp(-abs(x)), 40.0, (0.0,)),
}
LINKS: dict[str, tuple[Callable[[float], float], Callable[[float], float]]] = {
    "logit": (lambda u: math.log(u / (1 - u)), lambda t: 1 / (1 + math.exp(-t))),
    "probit": (NORMAL.inv_cdf, NORMAL.cdf),
    "identity": (lambda u: u, lambda t: min(max(t, 0.0), 1.0)),
}


def twin(rows: list[tuple[float, float, float]], sigma: float, noise: str, link: str) -> float:
    """Midpoints between all places where the integrand may have a kink or a jump."""
    (density, reach, kinks), (forward, back) = NOISES[noise], LINKS[link]
    at = [(forward(u), z, w) for u, z, w in rows]
    total = math.fsum(w for _, _, w in rows)
    low, high = (end(h for h, _, _ in at) for end in (min, max))
    low, high = low - reach * sigma, high + reach * sigma
    edges = {low, high, *(h + k * sigma for h, _, _ in at for k in kinks)}
    edges |= {t for t in (0.0, 1.0) if link == "identity" and low < t < high}
    parts = []
    for a, b in pairwise(sorted(edges)):
        n = max(8, math.ceil(60 * (b - a) / min(sigma, 0.5)))
        for j in range(n):
            t = a + (j + 0.5) * (b - a) / n
            gap = math.fsum(w * density((t - h) / sigma) * (z - back(t)) for h, z, w in at)
            parts.append(abs(gap) * (b - a) / n)
    return math.fsum(parts) / sigma / total


def rows_of(n: int) -> list[tuple[float, float, float]]:
    rng = np.random.default_rng(n)
    labels = np.where(rng.random(n) < 0.5, rng.integers(0, 2, n), rng.random(n))
    return list(zip(*(x.tolist() for x in (rng.random(n), labels, rng.random(n))), strict=True))


@pytest.mark.parametrize(("noise", "link"), list(product(NOISES, LINKS)))
def test_every_noise_and_link_has_the_number_of_the_twin(noise: str, link: str) -> None:
    for n, sigma in ((1, 0.3), (7, 0.1), (7, 2.0)):
        u, z, w = zip(*rows_of(n), strict=True)
        found = cal.ls_ece(z, u, sample_weight=w, sigma=sigma, noise=noise, link=link)
        assert found == pytest.approx(twin(rows_of(n), sigma, noise, link), abs=2e-5), (n, sigma)


@pytest.mark.parametrize("link", LINKS)
def test_the_stated_error_holds(link: str) -> None:
    """SciPy's adaptive quadrature of ten rows, piece by piece."""
    from scipy import integrate, optimize

    forward, back = LINKS[link]
    u, z, w = (np.array(x) for x in zip(*rows_of(10), strict=True))
    h, sigma = np.array([forward(x) for x in u.tolist()]), 0.4
    for noise, (density, reach, kinks) in NOISES.items():

        def f(t: float, density: Any = density) -> float:
            near = [density((t - x) / sigma) for x in h.tolist()]
            return float((w * near) @ (z - back(t))) / sigma

        low, high = h.min() - reach * sigma, h.max() + reach * sigma
        own = np.add.outer(h, sigma * np.array(kinks)).ravel()
        edges = np.unique([*np.linspace(low, high, 200), 0.0, 1.0, *own])
        total = 0.0
        for a, b in pairwise(edges[(edges >= low) & (edges <= high)].tolist()):
            a, b = a + 1e-13, b - 1e-13
            ends = [a, b]
            if f(a) * f(b) < 0:
                ends.insert(1, optimize.brentq(f, a, b, xtol=1e-14))
            total += sum(abs(integrate.quad(f, *pair, epsabs=1e-13)[0]) for pair in pairwise(ends))
        found = cal.ls_ece(z, u, sample_weight=w, sigma=sigma, noise=noise, link=link)
        limit = 1e-7 if noise in ("gaussian", "logistic") else 1e-9
        assert abs(found - total / w.sum()) < limit, noise


def test_the_default_is_gaussian_noise_on_logits_to_the_last_bit() -> None:
    u, z, _ = zip(*rows_of(50), strict=True)
    assert cal.ls_ece(z, u) == cal.ls_ece(z, u, noise="gaussian", link="logit")
    given = {"noise": "uniform", "sigma": 0.2}
    assert cal.ls_ece(z, u, **given) == cal.ls_ece(z, u, **given, link="logit")  # type: ignore[arg-type]


@pytest.mark.parametrize(("noise", "link"), list(product(NOISES, LINKS)))
def test_it_tends_to_the_error_over_distinct_predictions(noise: str, link: str) -> None:
    """Theorem 4.6 needs only a density that is continuous almost everywhere."""
    p = np.repeat(np.linspace(0.1, 0.9, 9), 30)
    y = np.random.default_rng(0).random(p.size) < p**2
    exact = cal.ece(y, p, bins=cal.LevelSets())
    assert cal.ls_ece(y, p, sigma=1e-3, noise=noise, link=link) == pytest.approx(exact, abs=0.003)


@pytest.mark.parametrize("noise", NOISES)
def test_a_step_across_one_half_is_no_jump(noise: str) -> None:
    """Definition 3.1, where the binned error jumps by 1/2."""
    y = np.array([0, 1] * 50)
    for link in LINKS:
        found = [
            cal.ls_ece(y, 0.5 + np.where(y == 1, step, -step), noise=noise, link=link)
            for step in (0.0, 1e-6)
        ]
        assert abs(found[0] - found[1]) < 1e-4


@pytest.mark.parametrize("engine_name", ["numpy", "native", "torch", "polars", "duckdb"])
def test_every_engine_has_every_noise_and_link(engine_name: str) -> None:
    rng = np.random.default_rng(1)
    data = {"y": rng.integers(0, 2, 40), "p": rng.random(40), "w": rng.integers(1, 4, 40) * 1.0}
    for noise, link in (("logistic", "logit"), ("triangular", "probit"), ("laplace", "identity")):
        given: dict[str, Any] = {"noise": noise, "link": link, "sigma": 0.3}
        expected = cal.ls_ece(data["y"], data["p"], sample_weight=data["w"], **given)
        if engine_name == "duckdb" and link != "logit":
            with pytest.raises(cal.InputError, match="needs the rows themselves"):
                call(engine_name, cal.ls_ece, data, "y", "p", sample_weight="w", **given)
            continue
        found = call(engine_name, cal.ls_ece, data, "y", "p", sample_weight="w", **given)
        assert found == pytest.approx(expected, rel=1e-11), (noise, link)


def test_all_classes_and_raw_logits() -> None:
    rng = np.random.default_rng(2)
    h, y = rng.normal(0, 2, (60, 3)), rng.integers(0, 3, 60)
    p = np.exp(h) / np.exp(h).sum(axis=1, keepdims=True)
    for noise, link in product(("gaussian", "laplace"), ("probit", "identity")):
        given: dict[str, Any] = {"noise": noise, "link": link, "sigma": 0.2}
        each = [cal.ls_ece(y == r, p[:, r], **given) for r in range(3)]
        found = cal.ls_ece(y, p, notion="classwise", **given)
        assert found == pytest.approx(np.mean(each), rel=1e-12)
        raw = cal.ls_ece(y == 0, h[:, 0], from_logits=True, **given)
        assert raw == pytest.approx(cal.ls_ece(y == 0, 1 / (1 + np.exp(-h[:, 0])), **given))


def test_equal_masses_of_either_sign_end() -> None:
    """Where the integrand is rounding noise alone, pieces are not halved for ever."""
    p = np.repeat([0.25, 0.75], 200)
    for noise in ("uniform", "triangular", "laplace"):
        found = cal.ls_ece(p, p, noise=noise, link="identity", sigma=1e-3)
        assert found == pytest.approx(cal.ls_ece(p, p, sigma=1e-3, link="identity"), abs=1e-3)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"noise": "cauchy"}, "noise"),
        ({"link": "log"}, "link"),
        ({"noise": "laplace", "sigma": 65.0}, "at most 64"),
        ({"noise": "logistic", "sigma": 1e-5}, "too small for the grid"),
        ({"noise": "laplace", "method": "monte-carlo"}, "leave method='exact'"),
        ({"link": "probit", "method": "monte-carlo"}, "leave method='exact'"),
    ],
)
def test_what_is_not_offered_is_refused_in_one_line(given: dict[str, Any], says: str) -> None:
    with pytest.raises(cal.InputError, match=says) as refused:
        cal.ls_ece([0, 1], [0.2, 0.7], **given)
    assert "\n" not in str(refused.value)
