"""The band of a smoothed curve: its rows by hand, and how often it holds the truth."""

from __future__ import annotations

import numpy as np
import pytest

import calibrant as cal
from calibrant import InputError


def kernel(places, u, sigma, kind):
    """The weight of each prediction at each place, summed over mirror images by hand."""

    def bell(d):
        return np.exp(-0.5 * (d / sigma) ** 2)

    t = places[:, None]
    if kind == "logit":
        return bell(t - np.log(u / (1 - u)))
    return sum(bell(t - u - 2 * j) + bell(t + u - 2 * j) for j in range(-2, 4))


def places_of(curve):
    return curve.points["logit" if curve.kind == "logit" else "prediction"]


@pytest.mark.parametrize("kind", ["unit", "logit"])
@pytest.mark.parametrize("sigma", [0.03, 0.1, 0.4])
@pytest.mark.parametrize("weighted", [False, True])
def test_effective_rows_by_hand(kind, sigma, weighted):
    rng = np.random.default_rng(0)
    u = rng.beta(0.5, 0.8, 120)
    w = rng.exponential(size=120) if weighted else None
    y = (rng.random(120) < u).astype(int)
    curve = cal.smooth_reliability(y, u, kind=kind, sigma=sigma, sample_weight=w)
    weights = np.ones(120) if w is None else w
    k = kernel(places_of(curve), np.clip(u, 1e-6, 1 - 1e-6), sigma, kind) * weights
    held = k.sum(axis=1) > 1e-6
    expected = k.sum(axis=1)[held] ** 2 / (k[held] ** 2).sum(axis=1)
    np.testing.assert_allclose(curve.n_effective[held], expected, rtol=0.025)
    assert curve.n == pytest.approx(weights.sum() ** 2 / (weights**2).sum())
    near = (k / weights).sum(axis=1) if not weighted else None
    if near is not None:
        np.testing.assert_allclose(curve.n_near, near, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("kind", ["unit", "logit"])
def test_the_band_holds_the_smoothed_truth(kind):
    """At 95 %, over samples and places with a row near by; the truth is smoothed with the curve.

    Every second sample is of predictions that are wrong.
    """
    rng = np.random.default_rng(1)
    held = tried = 0
    # Places beside each other hold the truth together: every eighth says as much.
    for nth in range(30):
        u = rng.beta(0.6, 0.9, 300)
        chance = u ** (1 + nth % 2)
        curve = cal.smooth_reliability((rng.random(300) < chance).astype(int), u, kind=kind)
        near = np.flatnonzero(curve.n_near >= 1)[::8]
        k = kernel(places_of(curve)[near], np.clip(u, 1e-6, 1 - 1e-6), curve.sigma, kind)
        truth = k @ chance / k.sum(axis=1)
        columns = curve.intervals(0.95)
        low, high = np.array(columns["low"])[near], np.array(columns["high"])[near]
        held += ((low <= truth) & (truth <= high)).sum()
        tried += near.size
    assert 0.93 < held / tried < 0.995


def test_limits_lie_about_the_curve_and_narrow_with_more_rows():
    rng = np.random.default_rng(0)
    widths = []
    for n in (200, 20_000):
        u = rng.random(n)
        curve = cal.smooth_reliability(rng.random(n) < u, u, sigma=0.05)
        columns = {key: np.array(values) for key, values in curve.intervals(0.9).items()}
        assert (columns["low"] <= columns["mean_target"]).all()
        assert (columns["high"] >= columns["mean_target"]).all()
        assert (columns["low"] >= 0).all() and (columns["high"] <= 1).all()
        widths.append(np.median(columns["high"] - columns["low"]))
    assert widths[1] == pytest.approx(widths[0] / 10, rel=0.15)


def test_a_gap_between_predictions_is_nothing_and_no_warning():
    # Logits 60 apart at a small bandwidth: between them there is no mass at all.
    curve = cal.smooth_reliability(
        [0, 1, 0, 1], [-30.0, -29.99, 30.0, 29.99], from_logits=True, kind="logit", sigma=0.05
    )
    middle = np.abs(curve.points["logit"]) < 10
    assert np.isnan(curve.points["mean_target"][middle]).all()
    assert np.isnan(np.array(curve.intervals()["low"])[middle]).all()
    assert (curve.n_near[middle] < 1e-9).all()


def test_soft_labels_have_no_band():
    curve = cal.smooth_reliability([0.2, 0.9, 0.4], [0.1, 0.8, 0.5])
    assert curve.n_effective is None and not curve.is_hard
    with pytest.raises(InputError, match="need hard labels"):
        curve.intervals()
    frame = pytest.importorskip("pandas")
    assert isinstance(curve.to_frame("pandas"), frame.DataFrame)
