"""Curves that follow the rows: against twins, where a smoothed curve fails, and their bands."""

from __future__ import annotations

import numpy as np
import pytest

import calibrant as cal
import twins
from calibrant._api.row_curves import _best_span, _cell_ends
from calibrant._data.to_samples import to_samples
from calibrant._inference.cells import problem_of
from needs import need


def network(n: int = 4000, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Confidences that crowd at 1, as a network's do, and are right there; below they are not."""
    rng = np.random.default_rng(seed)
    u = np.where(rng.random(n) < 0.8, 1 - 0.01 * rng.random(n), rng.uniform(0.5, 0.99, n))
    q = np.where(u > 0.99, 0.97, u - 0.3)
    return (rng.random(n) < q).astype(int), u


def calibrated(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    u = rng.beta(2, 2, n)
    return (rng.random(n) < u).astype(int), u


def test_the_isotonic_curve_is_pool_adjacent_violators() -> None:
    rng = np.random.default_rng(1)
    u, w = rng.integers(0, 12, 60) / 12, rng.integers(1, 4, 60).astype(float)
    y = (rng.random(60) < u).astype(int)
    levels = np.unique(u)
    means = [float(np.average(y[u == v], weights=w[u == v])) for v in levels]
    weights = [float(w[u == v].sum()) for v in levels]
    curve = cal.reliability_curve(y, u, sample_weight=w, band=None)
    assert curve.at(levels) == pytest.approx(twins.pool_adjacent_violators(means, weights))
    assert "low" not in curve.columns() and curve.band is None


@pytest.mark.parametrize("method", ["isotonic", "local"])
def test_a_curve_agrees_with_the_rows_where_a_smoothed_one_does_not(method: str) -> None:
    y, u = network()
    near = (u >= 0.88) & (u < 0.92)
    seen = y[near].mean()
    curve = cal.reliability_curve(y, u, method=method)
    error = np.sqrt(seen * (1 - seen) / near.sum())
    assert abs(float(curve.at(0.9)) - seen) < 2.5 * error
    smooth = cal.smooth_reliability(y, u)
    there = np.interp(0.9, smooth.points["prediction"], smooth.points["mean_target"])
    assert abs(there - seen) > 5 * error  # the reason why there are others


def test_a_consistency_band_holds_calibrated_curves() -> None:
    rng = np.random.default_rng(2)
    inside = []
    for seed in range(40):
        curve = cal.reliability_curve(*calibrated(300, rng), seed=seed)
        where = np.array([0.3, 0.5, 0.7])
        low, high = (
            np.interp(where, curve.points["prediction"], curve.points[k]) for k in ("low", "high")
        )
        inside.append((low <= curve.at(where)) & (curve.at(where) <= high))
    assert 0.88 <= np.mean(inside) <= 1.0
    y, u = network()
    curve = cal.reliability_curve(y, u)
    low = np.interp(0.9, curve.points["prediction"], curve.points["low"])
    assert float(curve.at(0.9)) < low  # and miscalibrated ones fall out of it


def test_a_confidence_band_holds_the_truth_everywhere() -> None:
    rng = np.random.default_rng(3)
    missed = 0
    for _ in range(40):
        u = rng.beta(2, 2, 400)
        q = u**1.5
        curve = cal.reliability_curve((rng.random(400) < q).astype(int), u, band="confidence")
        x = curve.points["prediction"]
        missed += bool(((curve.points["low"] > x**1.5) | (curve.points["high"] < x**1.5)).any())
    assert missed <= 4
    # With many rows it is narrow.
    u = rng.beta(2, 2, 50_000)
    curve = cal.reliability_curve((rng.random(50_000) < u).astype(int), u, band="confidence")
    middle = np.abs(curve.points["prediction"] - 0.5) < 0.2
    assert np.median((curve.points["high"] - curve.points["low"])[middle]) < 0.15


def test_a_local_band_holds_the_truth_at_each_place() -> None:
    rng = np.random.default_rng(4)
    inside = []
    for _ in range(24):
        u = rng.beta(2, 2, 300)
        y = (rng.random(300) < 0.2 + 0.6 * u).astype(int)
        curve = cal.reliability_curve(y, u, method="local")
        where = np.array([0.3, 0.5, 0.7])
        low, high = (
            np.interp(where, curve.points["prediction"], curve.points[k]) for k in ("low", "high")
        )
        inside.append((low <= 0.2 + 0.6 * where) & (0.2 + 0.6 * where <= high))
    assert np.mean(inside) >= 0.88


def test_a_span_is_as_wide_as_the_rows_allow() -> None:
    rng = np.random.default_rng(5)
    u = rng.random(4000)
    line = cal.reliability_curve((rng.random(4000) < u).astype(int), u, method="local")
    wave = 0.5 + 0.4 * np.sin(20 * u)
    waves = cal.reliability_curve((rng.random(4000) < wave).astype(int), u, method="local")
    assert waves.span < 0.3 <= line.span
    assert np.abs(waves.at(u) - wave).mean() < 0.06
    given = cal.reliability_curve((u > 0.5).astype(int), u, method="local", span=0.1)
    assert given.span == 0.1


def test_soft_labels_weights_clusters_and_few_rows() -> None:
    rng = np.random.default_rng(6)
    u = rng.random(200)
    z, w, groups = np.clip(u + rng.normal(0, 0.05, 200), 0, 1), rng.random(200), np.arange(200) // 4
    for method in ("isotonic", "local"):
        curve = cal.reliability_curve(z, u, method=method, sample_weight=w, groups=groups)
        assert np.abs(curve.at(u) - u).mean() < 0.1
        assert (curve.points["low"] <= curve.points["high"]).all() and not curve.is_hard
        for y, p in (([1], [0.3]), ([0, 0], [0.2, 0.2]), ([0, 1, 1], [0.1, 0.5, 0.9])):
            found = cal.reliability_curve(y, p, method=method)
            assert np.isfinite(found.points["mean_target"]).all()
    top = cal.reliability_curve(rng.integers(0, 3, 50), rng.dirichlet(np.ones(3), 50))
    assert (top.notion == "confidence" and "consistency" in repr(top)) or "band" in repr(top)
    with pytest.raises(cal.InputError, match="needs hard labels"):
        cal.reliability_curve(z, u, band="confidence")
    with pytest.raises(cal.InputError, match="is not known"):
        cal.reliability_curve(z, u, method="local", band="confidence")
    with pytest.raises(cal.InputError, match="an isotonic curve has no span"):
        cal.reliability_curve(z, u, span=0.5)
    with pytest.raises(cal.InputError, match="a share of the rows"):
        cal.reliability_curve(z, u, method="local", span=2)


def test_pictures_of_reliability_curves(tmp_path) -> None:
    need("matplotlib")
    y, u = network(150)
    display = cal.reliability(y, u).plot()
    for method, band in (("isotonic", "default"), ("isotonic", "confidence"), ("local", "default")):
        curve = cal.reliability_curve(y, u, method=method, band=band)
        assert curve.plot(name="a model").save(tmp_path / "a.png", dpi=60).stat().st_size > 1000
        curve.plot(ax=display.ax_)
    assert len(display.ax_.get_legend().get_texts()) >= 4
    assert "<svg" in curve._repr_html_() and curve.to_dict()["method"] == "local"


@pytest.mark.parametrize("soft", [False, True])
def test_a_band_of_clusters_lies_where_frequencies_can(soft):
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(30), 10)
    p = np.clip(rng.beta(0.4, 0.4, 300), 0.01, 0.99)
    y = rng.random(30)[groups] < p
    y = np.clip(0.9 * y + 0.05, 0, 1) if soft else y.astype(int)
    found = cal.reliability_curve(y, p, groups=groups)
    assert min(found.points["low"]) >= 0.0 and max(found.points["high"]) <= 1.0


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("soft", [False, True])
def test_a_local_band_has_no_spike_where_the_curve_touches_an_end(seed: int, soft: bool) -> None:
    """Its lower end fell from .8 to .2 where the curve reached 1, with 35 rows of 94 % there."""
    rng = np.random.default_rng(seed)
    u = np.concatenate([rng.beta(2, 5, 900), rng.uniform(0.9, 0.999, 35)])
    chance = np.clip(1.05 * u, 0, 0.99)
    y = rng.binomial(20, chance) / 20 if soft else (rng.random(u.size) < chance).astype(int)
    for turned in (False, True):
        made = cal.reliability_curve(1 - y if turned else y, 1 - u if turned else u, method="local")
        points = made.columns()
        low, high = np.array(points["low"]), np.array(points["high"])
        where, curve = np.array(points["prediction"]), np.array(points["mean_target"])
        end = where < 0.1 if turned else where > 0.9
        away = np.maximum(curve - low, high - curve)[end]
        assert away.max() < 0.25
        assert np.abs(np.diff(low[end])).max() < 0.1 and np.abs(np.diff(high[end])).max() < 0.1


@pytest.mark.parametrize(
    ("n", "rows_each", "least", "most"), [(500, 1, 0.08, 0.12), (100, 100, 0.1, 0.15)]
)
def test_a_span_holds_forty_rows_and_ten_cells(
    n: int, rows_each: int, least: float, most: float
) -> None:
    """Waves so fast that the narrowest span fits best: it is as narrow as it may be."""
    u = np.linspace(0.01, 0.99, n)
    w = np.full(n, float(rows_each))
    wave = 0.5 + 0.4 * np.sin(np.arange(n) * (0.35 if n == 100 else 0.15))
    assert least <= _best_span(u, w, w * wave, float(w.sum())) <= most


def test_a_confidence_band_pays_for_seven_thousand_runs() -> None:
    """Those of 120 cells: of twice as many Bonferroni's correction would ask for four times."""
    u = np.linspace(0.01, 0.99, 2000)
    problem = problem_of(to_samples(np.arange(2000) % 2, u), "binary", cal.EqualWidth(1))
    begins, ends = _cell_ends(problem)
    assert 4000 < begins.size * (begins.size + 1) / 2 < 12_000
    assert (begins[1:] > ends[:-1]).all()
