"""Smooth errors at both ends of their bandwidth: exact limits, or a clear error."""

import math

import numpy as np
import pytest
from scipy.optimize import brentq

import calibrant as cal
from calibrant import InputError
from calibrant._data.to_samples import to_samples
from calibrant._measures import smooth
from calibrant._summaries.smooth import SmoothSummary
from every_engine import engine
from needs import need

Y, P = [0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4]


def two_digits(n=3000):
    rng = np.random.default_rng(3)
    p = np.clip(np.round(rng.random(n), 2), 0.01, 0.99)
    return (rng.random(n) < p**1.3).astype(int), p, rng.random(n)


@pytest.mark.parametrize("sigma", [1e-8, 1e-12, 1e-16, 1e-20, 1e-100, 1e-300])
def test_narrow_uniform_noise_tends_to_the_error_over_level_sets(sigma):
    y, p, w = two_digits()
    limit = cal.ece(y, p, bins=cal.LevelSets(), sample_weight=w)
    found = cal.ls_ece(y, p, sigma=sigma, noise="uniform", sample_weight=w)
    assert found == pytest.approx(limit, rel=1e-12)
    assert cal.ls_ece(Y, P, sigma=sigma, noise="uniform") == pytest.approx(0.25, rel=1e-14)
    for noise in ("uniform", "gaussian"):
        drawn = cal.ls_ece(
            y,
            p,
            sigma=sigma,
            noise=noise,
            method="monte-carlo",
            n_draws=500,
            rng=np.random.default_rng(1),
        )
        assert drawn == pytest.approx(cal.ls_ece(y, p, sigma=sigma, noise="uniform"), rel=0.15)


def test_intervals_that_only_just_overlap():
    # One double apart: with noise of less than that they are two levels, with more they are one.
    h = np.array([1.0, np.nextafter(1.0, 2.0)])
    z, w, gap = np.array([0.0, 1.0]), np.ones(2), np.spacing(1.0)
    rho = 1 / (1 + np.exp(-1.0))
    apart = smooth.ls_ece_uniform(h, z, w, gap / 4)
    assert apart == pytest.approx(0.5, rel=1e-12)
    together = smooth.ls_ece_uniform(h, z, w, 1e6 * gap)
    assert together == pytest.approx(rho - 0.5, rel=1e-5)


@pytest.mark.parametrize("noise", ["gaussian", "uniform"])
@pytest.mark.parametrize("sigma", [1e6, 1e12, 1e100, 1e308])
def test_wide_noise_tends_to_one_half(noise, sigma):
    y, p, w = two_digits()
    found = cal.ls_ece(y, p, sigma=sigma, noise=noise, sample_weight=w)
    assert found == pytest.approx(0.5, abs=3 / sigma + 1e-14)
    assert found <= 0.5 + 1e-15  # a sum is rounded in another way by other processors


def test_wide_gaussian_noise_is_the_same_integral_without_its_grid(monkeypatch):
    y, p, w = two_digits()
    rows = np.stack([1 - p, p], axis=1)
    for notion, given in ((None, p), ("classwise", rows)):
        samples = to_samples(y, given, sample_weight=w)
        summary = SmoothSummary(samples, notion or "binary")
        wide = [summary.ls_ece(sigma, "gaussian") for sigma in (65.0, 100.0, 400.0)]
        with monkeypatch.context() as patch:
            patch.setattr(smooth, "WIDE_SIGMA", np.inf)
            on_grid = [summary.ls_ece(sigma, "gaussian") for sigma in (65.0, 100.0, 400.0)]
        np.testing.assert_allclose(wide, on_grid, rtol=1e-11)


def test_wide_noise_on_every_engine():
    y, p, _ = two_digits(300)
    expected = cal.ls_ece(y, p, sigma=1e5)
    frame = need("polars").DataFrame({"y": y, "p": p}).lazy()
    assert cal.ls_ece("y", "p", data=frame, sigma=1e5) == pytest.approx(expected, rel=1e-12)
    torch = need("torch")
    with engine("torch"):
        tensors = torch.tensor(y), torch.tensor(p)
        assert cal.ls_ece(*tensors, sigma=1e5) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("sigma", [1e-5, 1e-8, 1e-300])
def test_smooth_ece_below_its_grid_is_refused(sigma):
    with pytest.raises(InputError, match=r"sigma=.* too small.*LevelSets"):
        cal.smooth_ece(Y, P, sigma=sigma)  # 1e-8 gave 0.348, where the limit is 0.25
    with pytest.raises(InputError, match="too small"):
        cal.smooth_reliability(Y, P, sigma=sigma)


def test_smooth_ece_as_narrow_as_its_grid_allows():
    assert cal.smooth_ece(Y, P, sigma=3.1e-5) == pytest.approx(0.25, rel=1e-9)
    assert cal.smooth_ece(Y, P, sigma=1e308) == pytest.approx(0.05, rel=1e-9)  # the mean's


@pytest.mark.parametrize("off", [0.1, 0.01, 1e-3, 3e-4, 1e-4, 1e-5])
def test_smooth_ece_of_what_is_all_but_calibrated(off):
    """Two predictions that lie close together, one as much too low as the other is too high: the
    error is off x erf(distance / sigma), on grids from the usual one to the finest.
    """
    distance = 8 / 2**20
    u = np.array([0.5 - distance, 0.5 + distance])

    def excess(sigma):
        return off * math.erf(distance / sigma / math.sqrt(2)) - sigma

    expected = brentq(excess, 1e-7, 1.0, xtol=1e-16)
    assert 5e-6 < expected < 1e-3  # cells of the usual grid are 6e-5 wide, of the finest 1e-6
    found = cal.smooth_ece(u + np.array([off, -off]), u)
    assert found == pytest.approx(expected, rel=1e-6)


def test_curves_need_a_bandwidth_that_fits():
    for sigma in (1e-6, 1e6):
        with pytest.raises(InputError, match="does not fit a curve over logits"):
            cal.smooth_reliability(Y, P, kind="logit", sigma=sigma)
    narrow = cal.smooth_reliability(Y, P, sigma=1e-4)
    density = np.array(narrow.columns()["density"])
    assert density.min() > -1e-6 * density.max()  # a grid too coarse rings


@pytest.mark.parametrize("n_draws", [0, -5, 2.5, True, "many"])
def test_draws_are_counted(n_draws):
    with pytest.raises(InputError, match="n_draws must be a whole number, 1 or more"):
        cal.ls_ece(Y, P, method="monte-carlo", n_draws=n_draws)


def test_one_draw_and_a_seed_in_place_of_a_generator():
    assert 0 <= cal.ls_ece(Y, P, method="monte-carlo", n_draws=1) <= 1
    with pytest.raises(InputError, match=r"numpy\.random\.Generator"):
        cal.ls_ece(Y, P, method="monte-carlo", rng=0)
