"""Spline scaling against a slow twin: other basis, penalty by quadrature, another optimiser."""

import warnings
from functools import partial

import numpy as np
import pytest
from scaling_problems import BINARY, NEW, binary
from scipy.optimize import minimize

import calibrant as cal
from calibrant import CalibrantWarning, InputError
from calibrant._data.links import sigmoid
from calibrant.scaling import (
    BetaCalibration,
    CentredIsotonic,
    IsotonicCalibration,
    PlattScaling,
    QuadraticScaling,
    SplineScaling,
    VennAbers,
)
from calibrant.scaling._spline_fit import (
    FOLDS,
    GRID,
    Levels,
    Spline,
    fit_spline,
    place_knots,
    smoothest,
)


def powers(x, knots, order=0):
    """Natural cubic splines by truncated powers (Hastie, Tibshirani and Friedman, eq. 5.4)."""
    x = np.asarray(x, dtype=float)
    falling = (1.0, 3.0, 6.0)[order]

    def d(j):
        parts = [np.maximum(x - knots[i], 0) ** (3 - order) for i in (j, len(knots) - 1)]
        return falling * (parts[0] - parts[1]) / (knots[-1] - knots[j])

    last = d(len(knots) - 2)
    line = {0: [np.ones_like(x), x], 1: [0 * x, np.ones_like(x)], 2: [0 * x, 0 * x]}[order]
    return np.stack([*line, *(d(j) - last for j in range(len(knots) - 2))], axis=-1)


def curve(seed=0, n=150, wave=0.8):
    rng = np.random.default_rng(seed)
    h = np.sort(rng.normal(size=n) * 2)
    return h, (rng.random(n) < 1 / (1 + np.exp(-(0.7 * h + wave * np.sin(1.5 * h))))) * 1.0


@pytest.mark.parametrize("smoothing", [1e-2, 1e-4])
@pytest.mark.parametrize("wave", [0.0, 3.0])
def test_the_fit_is_the_best_increasing_spline(smoothing, wave):
    h, z = curve(wave=wave)
    w = np.random.default_rng(1).random(h.size)
    scaler = SplineScaling(n_knots=6, smoothing=smoothing, from_logits=True)
    scaler.fit(z, h, sample_weight=w)
    knots = scaler.knots_[0]
    u, on_unit = (h - knots[0]) / np.ptp(knots), (knots - knots[0]) / np.ptp(knots)
    basis, grid = powers(u, on_unit), np.linspace(0, 1, 801)
    slopes = powers(grid, on_unit, 1)
    # Squares of second derivatives are parabolas between knots: two points of Gauss each.
    middle, half = (on_unit[1:] + on_unit[:-1]) / 2, np.diff(on_unit) / 2
    bends = [powers(middle + side * half / np.sqrt(3), on_unit, 2) for side in (-1, 1)]
    penalty = sum(np.einsum("p,pi,pj->ij", half, b, b) for b in bends)

    def loss(theta):
        eta = basis @ theta
        rows = np.logaddexp(0, eta) - z * eta
        return w @ rows / w.sum() + smoothing / 2 * theta @ penalty @ theta

    found = minimize(
        loss,
        [0.0, 1.0, 0, 0, 0, 0],
        method="SLSQP",
        options={"ftol": 1e-13, "maxiter": 2000},
        constraints={"type": "ineq", "fun": lambda t: slopes @ t},
    )
    mine = np.linalg.solve(powers(on_unit, on_unit), scaler.values_[0])
    np.testing.assert_allclose(
        1 / (1 + np.exp(-basis @ mine)), scaler.fit_transform(z, h, sample_weight=w), atol=1e-9
    )
    bent = wave and smoothing < 1e-3
    # Where it must bend to increase, mine asks for a little more than 801 slopes do.
    assert loss(mine) == pytest.approx(found.fun, abs=1e-3 if bent else 1e-7)
    assert loss(mine) >= found.fun - 1e-7
    assert (slopes @ mine).min() >= -1e-9
    if bent:
        free = minimize(loss, found.x, method="BFGS").x
        assert (slopes @ free).min() < -0.1  # the rule was needed


def test_the_pieces_of_a_spline():
    knots = np.array([0.0, 0.2, 0.5, 1.0])
    spline, values = Spline(knots), np.array([0.0, 1.0, -1.0, 2.0])
    theta = np.linalg.solve(powers(knots, knots), values)
    x = np.linspace(-3.9, 4.9, 301)
    np.testing.assert_allclose(spline.basis(x) @ values, powers(x, knots) @ theta, atol=1e-9)
    np.testing.assert_allclose(spline.slopes @ values, powers(knots, knots, 1) @ theta, atol=1e-9)
    far = spline.basis(np.array([-4.0, -1e100, 5.0, 1e100])) @ values
    assert far[0] == far[1] and far[2] == far[3]
    # The coordinates of the search: a constant, a line of slope 1, and bends of penalty 1.
    turned = spline.turn.T @ spline.penalty @ spline.turn
    np.testing.assert_allclose(turned, np.diag([0.0, 0, 1, 1]), atol=1e-9)
    np.testing.assert_allclose(spline.rises @ spline.turn[:, 1], 1.0)


def test_the_smoothing_is_that_of_slow_cross_validation():
    h, z = curve(3, 100, 2.0)
    chosen = SplineScaling(n_knots=5, from_logits=True).fit(z, h)
    knots = chosen.knots_[0]
    x, spline = (h - knots[0]) / np.ptp(knots), Spline((knots - knots[0]) / np.ptp(knots))
    losses, basis = np.zeros((GRID.size, h.size)), spline.basis(x)
    for j in range(FOLDS):
        values = 0.7 * knots
        for i, smoothing in enumerate(GRID):
            out = np.arange(h.size) % FOLDS == j

            def loss(values, kept=~out, smoothing=smoothing):
                eta = basis[kept] @ values
                rows = np.logaddexp(0, eta) - z[kept] * eta
                pulled = smoothing * spline.penalty @ values
                rest = 1 / (1 + np.exp(-eta)) - z[kept]
                slope = rest @ basis[kept] / h.size + pulled
                return rows.sum() / h.size + values @ pulled / 2, slope

            values = minimize(loss, values, jac=True, method="BFGS", options={"gtol": 1e-6}).x
            eta = basis[out] @ values
            losses[i, out] = np.logaddexp(0, eta) - z[out] * eta
    best = losses.mean(axis=1).argmin()
    behind = losses - losses[best]
    within = behind.mean(axis=1) <= 0.5 * behind.std(axis=1) / np.sqrt(h.size) + 1e-7
    assert within.argmax() > 0 and chosen.smoothing_[0] == GRID[within.argmax()]
    assert smoothest(losses, np.full(h.size, 1 / h.size)) == within.argmax()


def test_neither_the_scale_of_weights_nor_the_order_of_rows_matters():
    h, z = curve(4, 200)
    w = np.random.default_rng(0).integers(1, 5, 200)
    scaler = SplineScaling(from_logits=True).fit(z, h, sample_weight=w)
    rows = np.random.default_rng(1).permutation(np.repeat(np.arange(200), w))
    again = SplineScaling(from_logits=True).fit(z[rows], h[rows])
    light = SplineScaling(from_logits=True).fit(z, h, sample_weight=w / 1000)
    for other in (again, light):
        assert other.smoothing_ == scaler.smoothing_
        np.testing.assert_allclose(other.values_[0], scaler.values_[0], atol=1e-6)


def test_where_the_truth_is_a_line_it_is_platt_scaling_and_elsewhere_better():
    better = []
    for seed in range(2):
        for wave, straight in ((0.0, True), (0.9, False)):
            h, z = curve(seed, 1500, wave)
            new, y = curve(seed + 50, 4000, wave)
            spline, platt = (
                cal.log_loss(y, kind(from_logits=True).fit(z, h).transform(new))
                for kind in (SplineScaling, PlattScaling)
            )
            if straight:
                assert spline < platt + 0.003
            else:
                better.append(platt - spline)
    assert min(better) > 0.002


def test_many_levels_are_pooled_for_the_choice_alone(monkeypatch):
    made = binary(5, 3000)
    monkeypatch.setattr("calibrant.scaling._spline_fit.CELLS", 3000)
    plain = SplineScaling().fit(made.hard, made.proba)
    monkeypatch.undo()
    pooled = SplineScaling(smoothing=plain.smoothing_[0]).fit(made.hard, made.proba)
    chosen = SplineScaling().fit(made.hard, made.proba)
    np.testing.assert_allclose(pooled.values_[0], plain.values_[0], atol=1e-6)
    assert abs(np.log10(chosen.smoothing_[0] / plain.smoothing_[0])) < 1.5


@pytest.mark.parametrize("bend", ["line", "waves", "step"])
def test_pooling_costs_nothing(monkeypatch, bend):
    """The expected log loss on the truth, smoothing chosen on 500 cells and on all rows."""
    rng = np.random.default_rng(3)
    x = 1.5 * rng.normal(size=5000)
    logit = {"line": 0.5 * x - 1, "waves": x + np.sin(2 * x), "step": np.where(x > 0, 2.0, -1.0)}
    q = 1 / (1 + np.exp(-logit[bend]))
    y, p = (rng.random(x.size) < q).astype(int), 1 / (1 + np.exp(-x))
    losses = []
    for cells in (500, x.size):
        monkeypatch.setattr("calibrant.scaling._spline_fit.CELLS", cells)
        losses.append(cal.log_loss(q, SplineScaling().fit_transform(y, p)))
    assert losses[0] - losses[1] < 2e-4


@pytest.mark.parametrize(
    ("levels", "mass", "expected"),
    [
        ([0.3], [2.0], [-0.7, 1.3]),
        ([0.1, 0.9], [1, 1], [0.1, 0.9]),
        ([0.0, 1.0, 2.0], [0.01, 9, 0.01], [0.0, 1.0, 2.0]),
        ([0.0, 1.0, 1.0 + 1e-9, 2.0], [1, 1, 1, 1], [0.0, 1.0, 2.0]),
        ([-1e100, 0.0, 1.0, 1e100], [1, 1, 1, 1], [-1e100, 0.0, 1e100]),
    ],
)
def test_knots_are_apart(levels, mass, expected):
    found = place_knots(np.array(levels), np.array(mass, dtype=float), 10)
    np.testing.assert_allclose(found, expected)


def test_few_rows_one_level_and_the_wrong_way_round():
    with pytest.warns(CalibrantWarning, match="right on every row"):
        SplineScaling().fit([0, 0, 1, 1], [0.1, 0.2, 0.7, 0.6])
    wild = SplineScaling(from_logits=True).fit([0, 0, 1, 0, 1, 1], [-1e300] * 3 + [1e300] * 3)
    np.testing.assert_allclose(wild.transform([-1e300, 0, 1e300]), [1 / 3, 1 / 2, 2 / 3], atol=1e-6)
    level = SplineScaling().fit([1, 0, 0, 0], [0.3] * 4)
    np.testing.assert_allclose(level.transform([0.0, 0.9]), [0.25, 0.25], atol=1e-6)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        turned = SplineScaling().fit(1 - BINARY.hard, BINARY.proba)
    out = turned.transform(NEW["binary"].proba)
    np.testing.assert_allclose(out, (1 - BINARY.hard).mean(), atol=1e-4)


def test_a_search_that_cannot_end_says_so(monkeypatch):
    monkeypatch.setattr("calibrant.scaling._spline_fit.MAX_STEPS", 1)
    h, z = curve()
    x = (h - h[0]) / np.ptp(h)
    fit = fit_spline(
        Spline(np.linspace(0, 1, 5)),
        Levels(x, np.full(150, 1 / 150), z),
        np.linspace(-1, 1, 5),
        1e-4,
    )
    assert not fit.reached


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_knots": 1}, "n_knots must be a whole number, at least 2"),
        ({"n_knots": 2.5}, "n_knots must be"),
        ({"smoothing": 0}, "smoothing must be a finite number above 0, or None"),
        ({"smoothing": np.inf}, "got inf"),
        ({"smoothing": "much"}, "got 'much'"),
    ],
)
def test_options_of_a_spline_are_checked(options, message):
    with pytest.raises(InputError, match=message):
        SplineScaling(**options).fit(BINARY.hard, BINARY.proba)


INCREASING = (
    SplineScaling,
    BetaCalibration,
    IsotonicCalibration,
    CentredIsotonic,
    VennAbers,
    partial(QuadraticScaling, increasing=True),
    partial(SplineScaling, smoothing=1e-6),
)


@pytest.mark.parametrize("kind", INCREASING)
def test_no_map_that_promises_to_increase_falls(kind):
    for seed in range(10):
        rng = np.random.default_rng(seed)
        n, size = (3, 5, 8, 30, 100)[seed % 5], (2, 1000)[seed // 5]
        h = size * rng.normal(size=n)
        falling = [h < 0, np.arange(n) == h.argmin(), h + size * rng.normal(size=n) < 0]
        every = (*falling, rng.random(n) < 0.5, np.zeros(n), np.ones(n), sigmoid(-h))
        # Half of the labels by turns: each meets every number of rows, and either size of logits.
        for y in every[seed % 2 :: 2]:
            ends = 6 * np.abs(h).max() + 5
            grid = np.sort(np.concatenate([np.linspace(-ends, ends, 500), h]))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", CalibrantWarning)
                mapped = kind(from_logits=True).fit(y.astype(float), h).transform(grid)
            assert np.diff(mapped).min() > -1e-12


def test_rows_that_are_separated_in_reverse_get_a_constant():
    h = 2 * np.random.default_rng(1).normal(size=200)
    y = (h < 0).astype(int)
    for n in (200, 20, 5):
        scaler = SplineScaling(from_logits=True).fit(y[:n], h[:n])
        np.testing.assert_allclose(scaler.transform([-3.0, 0.1, 9.0]), y[:n].mean(), atol=1e-6)


@pytest.mark.parametrize("kind", [IsotonicCalibration, CentredIsotonic])
def test_isotonic_maps_are_finite_where_thresholds_all_but_touch(kind):
    scaler = kind().fit([0, 1], [0.0, 1e-310])
    assert scaler.transform([0.0, 5e-311, 1e-310, 1.0]).tolist() == [0.0, 0.0, 1.0, 1.0]
