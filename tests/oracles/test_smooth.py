"""LS-ECE and smECE against slow twins: sums over every sample, sign changes resolved."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.signal import fftconvolve
from scipy.special import expit, log_ndtr, ndtr

import calibrant as cal
from calibrant import InputError
from calibrant._core.grid import UnitGrid
from calibrant._data.to_samples import to_samples
from calibrant._measures.smooth import valid_convolution
from calibrant._measures.smooth_ece import fixed_point, smooth_errors
from calibrant._summaries.smooth import SmoothSummary, smallest_sigma
from every_engine import available, engine
from needs import need

RNG = np.random.default_rng(11)
SIGMAS = (1.0, 0.1, 0.01)


def known_a():
    rng = np.random.default_rng(12345)
    p = rng.random(2000)
    y = (rng.random(2000) < p**1.3).astype(int)
    return y, p, p**1.3, rng.random(2000)


def gauss_legendre(f, edges, order=20, at_once=32):
    """The integral of |f| with every interval cut where f changes sign."""
    nodes, weights = np.polynomial.legendre.leggauss(order)
    # Within the interval: at its very ends a box begins or stops.
    inside = np.linspace(1e-9, 1 - 1e-9, 9)
    edges, total = np.asarray(edges, dtype=float), 0.0
    for start in range(0, len(edges) - 1, at_once):
        ends = edges[start : start + at_once + 1]
        inner = ends[:-1, None] + np.diff(ends)[:, None] * inside
        values = f(inner.ravel()).reshape(inner.shape)
        cuts = [
            brentq(lambda t: float(f(np.array([t]))[0]), inner[i, j], inner[i, j + 1])
            for i, j in np.argwhere(values[:, :-1] * values[:, 1:] < 0)
        ]
        parts = np.sort([*ends, *cuts])
        middle, half = (parts[1:] + parts[:-1]) / 2, np.diff(parts) / 2
        t = middle[:, None] + half[:, None] * nodes
        total += float(half @ (np.abs(f(t.ravel())).reshape(t.shape) @ weights))
    return total


def ls_ece_twin(h, z, w, sigma):
    order = np.argsort(h)
    h, z, w = h[order], z[order], w[order]

    def f(t):
        near = slice(*np.searchsorted(h, (t.min() - 9 * sigma, t.max() + 9 * sigma)))
        away = (t[:, None] - h[near]) / sigma
        kernel = np.exp(-0.5 * away**2) / (sigma * math.sqrt(2 * math.pi)) * w[near]
        return kernel @ z[near] * expit(-t) - kernel @ (1 - z[near]) * expit(t)

    # Intervals of half a sigma (or half a unit, for the sigmoid) wherever there is mass.
    step = min(sigma, 1.0) / 2
    cells = np.unique(np.floor(h / step).astype(int))
    reach = math.ceil(9 * sigma / step)
    covered = np.unique((cells[:, None] + np.arange(-reach, reach + 1)).ravel())
    total = 0.0
    for group in np.split(covered, np.flatnonzero(np.diff(covered) > 1) + 1):
        total += gauss_legendre(f, np.append(group, group[-1] + 1) * step)
    return total / w.sum()


def logits_of(kind, n):
    rng = np.random.default_rng(n)
    return {
        "normal": 2 * rng.standard_normal(n),
        "extreme": rng.uniform(-39.9, 39.9, n),
        "equal": np.full(n, 0.3),
        "two-point": np.where(rng.random(n) < 0.5, 1e-3, -1e-3),
    }[kind]


@pytest.mark.parametrize("sigma", SIGMAS)
@pytest.mark.parametrize("kind", ["normal", "extreme", "equal", "two-point"])
def test_gaussian_is_the_integral(kind, sigma):
    # The twin goes over as many intervals as noise is narrow.
    for n in (1, 2, 10, 60 if sigma > 0.01 else 20):
        h = logits_of(kind, n)
        rng = np.random.default_rng(n + 1)
        z, w = (rng.random(n) < expit(0.7 * h)).astype(float), np.ones(n)
        expected = ls_ece_twin(h, z, w, sigma)
        for name in available():
            with engine(name):
                found = cal.ls_ece(z, h, sigma=sigma, from_logits=True)
            assert found == pytest.approx(expected, rel=1e-6), (n, name)


@pytest.mark.parametrize(
    ("kind", "sigma"), [("normal", 0.01), ("normal", 1.0), ("extreme", 0.1), ("extreme", 1.0)]
)
def test_gaussian_of_many_samples(kind, sigma):
    n = 500
    h = logits_of(kind, n)
    z = (np.random.default_rng(1).random(n) < expit(0.7 * h)).astype(float)
    found = cal.ls_ece(z, h, sigma=sigma, from_logits=True)
    assert found == pytest.approx(ls_ece_twin(h, z, np.ones(n), sigma), rel=1e-6)


@pytest.mark.parametrize("noise", ["gaussian", "uniform"])
@pytest.mark.parametrize("sigma", SIGMAS)
def test_predictions_at_0_and_1_are_clipped_to_eps(sigma, noise):
    """Certain predictions have no logit: they count as eps and 1 - eps."""
    rng = np.random.default_rng(2)
    p = rng.choice([0.0, 1.0, 1e-9, 0.3, 0.5], 400)
    z = (rng.random(400) < 0.1 + 0.8 * p).astype(float)
    for eps in (1e-6, 1e-3, 1e-15):
        h = np.clip(p, eps, 1 - eps)
        h = np.log(h / (1 - h))
        twin = ls_ece_twin if noise == "gaussian" else uniform_twin
        found = cal.ls_ece(z, p, sigma=sigma, noise=noise, eps=eps)
        assert found == pytest.approx(twin(h, z, np.ones(400), sigma), rel=1e-6)


@pytest.mark.parametrize("measure", [cal.smooth_ece, cal.ls_ece])
def test_memory_does_not_grow_with_the_sample(measure):
    """A million rows more: next to nothing more is allocated beside the input."""
    import tracemalloc

    most = []
    for n in (300_000, 1_300_000):  # both in lanes, each with a grid of its own
        p = np.random.default_rng(3).random(n)
        y = (np.random.default_rng(4).random(n) < p).astype(float)
        options = {"sigma": 0.1} if measure is cal.ls_ece else {}
        measure(y, p, **options)
        tracemalloc.start()
        measure(y, p, **options)
        most.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert most[1] < most[0] + 8 * 1_000_000 / 4


@pytest.mark.parametrize("sigma", SIGMAS)
def test_gaussian_with_soft_targets_and_weights(sigma):
    h, z, w = logits_of("normal", 200), RNG.random(200), RNG.random(200)
    found = cal.ls_ece(z, h, sigma=sigma, from_logits=True, sample_weight=w)
    assert found == pytest.approx(ls_ece_twin(h, z, w, sigma), rel=1e-6)


@pytest.mark.parametrize("noise", ["gaussian", "uniform"])
def test_many_samples_equal_their_distinct_places(noise):
    """20,000 rows on 40 places are 40 weighted rows, which the twin can integrate."""
    rng = np.random.default_rng(5)
    places = rng.normal(size=40) * 2
    rows = rng.integers(0, 40, 20_000)
    z = (rng.random(20_000) < expit(places[rows] * 1.5)).astype(float)
    w = np.bincount(rows, minlength=40).astype(float)
    mean_z = np.bincount(rows, weights=z, minlength=40) / w
    twin = ls_ece_twin if noise == "gaussian" else uniform_twin
    for sigma in SIGMAS:
        found = cal.ls_ece(z, places[rows], sigma=sigma, noise=noise, from_logits=True)
        assert found == pytest.approx(twin(places, mean_z, w, sigma), rel=1e-6)


def uniform_twin(h, z, w, sigma):
    def f(t):
        inside = np.abs(t[:, None] - h) <= sigma / 2
        return inside @ (w * z) * expit(-t) - inside @ (w * (1 - z)) * expit(t)

    edges = np.unique(np.concatenate([h - sigma / 2, h + sigma / 2]))
    return gauss_legendre(f, edges) / (sigma * w.sum())


@pytest.mark.parametrize("sigma", [1.0, 0.1, 0.01])
@pytest.mark.parametrize("kind", ["normal", "extreme", "equal", "two-point"])
def test_uniform_is_the_integral(kind, sigma):
    for n in (1, 2, 10, 300):
        h, rng = logits_of(kind, n), np.random.default_rng(n)
        z, w = rng.random(n), rng.random(n) + 0.1
        found = cal.ls_ece(z, h, sigma=sigma, noise="uniform", from_logits=True, sample_weight=w)
        assert found == pytest.approx(uniform_twin(h, z, w, sigma), rel=1e-9), n


def test_uniform_at_extreme_logits_does_not_cancel():
    """All positive at logit 39: the error is the integral of sigmoid(-t), about exp(-39)."""
    found = cal.ls_ece([1, 1], [39.0, 39.0], sigma=0.1, noise="uniform", from_logits=True)
    exact = (math.exp(-38.95) - math.exp(-39.05)) / 0.1
    assert found == pytest.approx(exact, rel=1e-9)


@pytest.mark.parametrize("noise", ["gaussian", "uniform"])
def test_monte_carlo_agrees_within_three_standard_errors(noise):
    from calibrant._measures.smooth import ls_ece_monte_carlo

    y, p, _, _ = known_a()
    h = np.log(p / (1 - p))
    exact = cal.ls_ece(y, p, sigma=0.2, noise=noise)
    for seed in range(4):
        rng = np.random.default_rng(seed)
        value, error = ls_ece_monte_carlo(h, y * 1.0, np.ones(2000), 0.2, noise, 700, rng)
        assert abs(value - exact) <= 3 * error
    options = {"sigma": 0.2, "noise": noise, "method": "monte-carlo", "n_draws": 500}
    one = cal.ls_ece(y, p, rng=np.random.default_rng(3), **options)
    assert one == cal.ls_ece(y, p, rng=np.random.default_rng(3), **options)


def reflected(t, u, sigma):
    """The Gaussian reflected at 0 and 1, as a sum over images."""
    images = np.arange(-6, 7) * 2
    k = np.zeros((t.size, u.size))
    for shift in images:
        for sign in (1, -1):
            k += np.exp(-0.5 * ((t[:, None] - sign * u + shift) / sigma) ** 2)
    return k / (sigma * math.sqrt(2 * math.pi))


def smooth_twin(u, z, w, sigma):
    def f(t):
        return reflected(t, u, sigma) @ (w * (z - u)) / w.sum()

    return gauss_legendre(f, np.linspace(0, 1, max(9, int(4 / sigma))))


@pytest.mark.parametrize("sigma", [0.3, 0.05, 0.01])
def test_smooth_ece_at_a_bandwidth(sigma):
    rng = np.random.default_rng(2)
    u = np.concatenate([rng.random(24), [0.0, 1.0, 0.0, 1.0, 1e-7, 0.9999]])
    z, w = rng.random(30), rng.random(30)
    expected = smooth_twin(u, z, w, sigma)
    for name in available():
        with engine(name):
            found = cal.smooth_ece(z, u, sigma=sigma, sample_weight=w)
        assert found == pytest.approx(expected, rel=1e-8), name


def test_smooth_ece_at_its_fixed_point():
    rng = np.random.default_rng(3)
    u = rng.random(30)
    z = (rng.random(30) < u**2).astype(float)
    w = np.ones(30)
    found = cal.smooth_ece(z, u)
    assert found == pytest.approx(smooth_twin(u, z, w, found), rel=1e-8)
    expected = brentq(lambda s: smooth_twin(u, z, w, s) - s, 0.02, 0.5, xtol=1e-10)
    assert found == pytest.approx(expected, abs=1e-8)


def test_relplot_agrees_to_its_own_accuracy():
    metrics = need("relplot.metrics")
    y, p, soft, _ = known_a()
    assert cal.smooth_ece(y, p) == pytest.approx(metrics.smECE(p, y * 1.0), abs=2e-3)
    assert cal.smooth_ece(soft, p) == pytest.approx(metrics.smECE(p, soft), abs=2e-3)
    at = metrics.smECE_sigma(p, y * 1.0, 0.05)
    assert cal.smooth_ece(y, p, sigma=0.05) == pytest.approx(at, abs=2e-3)


class TestFacts:
    def test_two_point_data(self):
        """Binned ECE jumps between |mean y - 1/2| and 1/2 with the bins; LS-ECE stays."""
        rng = np.random.default_rng(0)
        x = np.where(rng.random(1000) < 0.5, -0.5, 0.5)
        y, h = (x > 0).astype(int), 1e-3 * x
        base = abs(y.mean() - 0.5)
        for m in range(1, 101):
            jump = cal.ece(y, expit(h), bins=m)
            assert jump == pytest.approx(0.5 if m % 2 == 0 else base, abs=1e-3)
        flat = [cal.ls_ece(y, h, sigma=1 / m, from_logits=True) for m in range(10, 101, 10)]
        assert max(flat) - min(flat) < 4e-3

    def test_continuous_where_binned_ece_jumps(self):
        """Along a path of predictors from 1/2 - d to 1/2 + d the steps shrink with the path's."""
        y, _, _, _ = known_a()
        base = np.random.default_rng(1).normal(size=2000) * 1e-6
        path = np.linspace(-0.02, 0.02, 41)

        def largest(measure):
            values = [measure(shift) for shift in path]
            return np.abs(np.diff(values)).max()

        smooth = largest(lambda s: cal.ls_ece(y, base + s, sigma=0.1, from_logits=True))
        fixed = largest(lambda s: cal.smooth_ece(y, expit(base + s)))
        binned = largest(
            lambda s: cal.ece(y, np.where(y == 1, expit(base + s), expit(base - s)), bins=2)
        )
        assert smooth < 2e-3 and fixed < 2e-3
        assert binned > 0.3

    def test_the_schedule_tends_to_the_true_error(self):
        """z is 1 with probability u^2: the true ECE is the integral of u - u^2, 1/6."""
        errors = []
        for n in (1000, 30_000, 1_000_000):
            rng = np.random.default_rng(n)
            u = rng.random(n)
            errors.append(abs(cal.ls_ece(rng.random(n) < u**2, u, sigma="schedule") - 1 / 6))
        assert errors[2] < 1e-3 and errors[2] < errors[0]
        # And to 0 for a calibrated predictor, where only noise is left.
        left = []
        for n in (1000, 30_000, 1_000_000):
            rng = np.random.default_rng(n)
            u = rng.random(n)
            left.append(cal.ls_ece(rng.random(n) < u, u, sigma="schedule"))
        assert left[0] > left[1] > left[2] and left[2] < 0.01

    def test_a_prediction_equal_to_its_target_has_no_smooth_error(self):
        p = RNG.random(500)
        assert cal.smooth_ece(p, p) == 0.0


def test_notions_are_their_scalar_problems():
    rows = RNG.dirichlet(np.ones(4), 400)
    y = RNG.integers(0, 4, 400)
    top, hit = rows.max(axis=1), rows.argmax(axis=1) == y
    for measure in (lambda *a, **k: cal.ls_ece(*a, sigma=0.1, **k), cal.smooth_ece):
        assert measure(y, rows) == pytest.approx(measure(hit, top), rel=1e-10)
        classes = [measure(y == r, rows[:, r]) for r in range(4)]
        assert measure(y, rows, notion="classwise") == pytest.approx(np.mean(classes), rel=1e-10)
    uniform = cal.ls_ece(y, rows, sigma=0.1, noise="uniform", notion="classwise")
    classes = [cal.ls_ece(y == r, rows[:, r], sigma=0.1, noise="uniform") for r in range(4)]
    assert uniform == pytest.approx(np.mean(classes), rel=1e-10)
    binary = cal.ls_ece(hit, top, sigma=0.1, notion="confidence")
    both = cal.ls_ece(hit, np.stack([1 - top, top], 1), sigma=0.1)
    assert binary == pytest.approx(both, rel=1e-9)


def test_logits_and_probabilities_agree():
    h = RNG.normal(size=300) * 3
    y = RNG.integers(0, 2, 300)
    for noise in ("gaussian", "uniform"):
        one = cal.ls_ece(y, h, sigma=0.1, noise=noise, from_logits=True)
        assert one == pytest.approx(cal.ls_ece(y, expit(h), sigma=0.1, noise=noise), rel=1e-7)
    assert cal.smooth_ece(y, h, from_logits=True) == pytest.approx(cal.smooth_ece(y, expit(h)))


def test_grids_merge_and_clips_are_told():
    y, p, _, _ = known_a()
    p = p.copy()
    p[:3] = 0.0, 1.0, 1e-9
    whole = cal.evaluate(y, p)
    assert any(note.startswith("3 predictions were clipped") for note in whole.notes)
    one = cal.evaluate(y[2:], p[2:], bins=cal.EqualWidth(10, drop_one=True))
    assert any(note.startswith("1 prediction was clipped") for note in one.notes)
    one = cal.evaluate(y[1:2], p[1:2], bins=cal.EqualWidth(10, drop_one=True), measures=["brier"])
    assert "1 prediction of exactly 1 is in no bin (drop_one)" in one.notes
    parts = (
        cal.Accumulator().update(y[:700], p[:700]).merge(cal.Accumulator().update(y[700:], p[700:]))
    )
    one = cal.Accumulator().update(y, p).evaluate()
    for name in ("ls_ece", "smooth_ece"):
        assert parts.evaluate()[name] == pytest.approx(one[name], rel=1e-12)
        assert one[name] == pytest.approx(whole[name], rel=1e-6)


def test_the_engines_agree():
    y, p, soft, w = known_a()
    values = {}
    for name in available():
        with engine(name):
            values[name] = (
                cal.ls_ece(soft, p, sigma=0.03, sample_weight=w),
                cal.smooth_ece(soft, p, sample_weight=w),
                cal.ls_ece(y, p.astype(np.float32), sigma=0.5),
            )
    for found in values.values():
        assert found == pytest.approx(values["numpy"], rel=1e-11)


class TestCurves:
    @pytest.mark.parametrize("kind", ["unit", "logit"])
    def test_the_difference_integrates_to_the_error(self, kind):
        y, p, _, _ = known_a()
        curve = cal.smooth_reliability(y, p, kind=kind, sigma=0.2)
        points = curve.columns()
        place = np.array(points["prediction" if kind == "unit" else "logit"])
        area = np.trapezoid(np.abs(points["difference"]), place)
        expected = (
            cal.smooth_ece(y, p, sigma=0.2) if kind == "unit" else cal.ls_ece(y, p, sigma=0.2)
        )
        assert area == pytest.approx(expected, rel=1e-3)
        assert np.trapezoid(points["density"], place) == pytest.approx(1, abs=2e-3)
        target = np.array(points["mean_target"])
        assert ((target >= 0) & (target <= 1)).all()

    def test_the_smoothed_curve_is_found(self):
        rng = np.random.default_rng(0)
        u = rng.random(200_000)
        points = cal.smooth_reliability(rng.random(200_000) < u**2, u, sigma=0.03).columns()
        prediction, target = np.array(points["prediction"]), np.array(points["mean_target"])
        middle = (prediction > 0.1) & (prediction < 0.9)
        assert np.abs(target - prediction**2)[middle].max() < 0.02

    def test_forms_of_a_smooth_curve(self):
        curve = cal.smooth_reliability([0, 1, 1], [0.2, 0.6, 0.9])
        assert "smoothed over predictions" in repr(curve) and "<table>" in curve._repr_html_()
        assert len(curve.to_frame("pandas")) == 513
        assert '"kind": "unit"' in curve.to_json()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"sigma": 0}, "sigma must be a positive number; got 0"),
        ({"sigma": -1.0}, "positive"),
        ({"sigma": math.nan}, "positive"),
        ({"sigma": math.inf}, "finite"),
        ({"sigma": "wide"}, "sigma='wide' is not known"),
        ({"sigma": 1e-6}, r"too small for the grid: the smallest that fits is \d"),
        ({"sigma": 0.1, "noise": "gausian"}, "did you mean 'gaussian'"),
        ({"sigma": 0.1, "method": "mc"}, "method='mc' is not known"),
        ({"sigma": 0.1, "eps": 0.7}, "eps must be"),
        ({"sigma": 0.1, "eps": 1e-17}, "eps must be"),
        ({"sigma": 0.1, "notion": "full"}, "no smooth error"),
    ],
)
def test_bad_options_get_a_sentence(options, said):
    rows = [[0.2, 0.8], [0.6, 0.4]]
    with pytest.raises(InputError, match=said):
        cal.ls_ece([0, 1], rows if "notion" in options else [0.2, 0.7], **options)


def test_the_smallest_sigma_is_small_enough_and_works():
    assert smallest_sigma() < 0.005
    assert cal.ls_ece([0, 1], [0.2, 0.7], sigma=smallest_sigma()) == pytest.approx(0.25, abs=1e-4)
    uniform = cal.ls_ece([0, 1], [0.2, 0.7], sigma=1e-6, noise="uniform")
    assert uniform == pytest.approx(0.25, abs=1e-4)


def test_the_schedule_counts_effective_rows():
    y, p, _, _ = known_a()
    assert SmoothSummary(to_samples(y, p), "binary").schedule() == pytest.approx(2000 ** (-1 / 3))
    weights = np.r_[np.ones(1000), np.zeros(1000)]
    effective = SmoothSummary(to_samples(y, p, sample_weight=weights), "binary").schedule()
    assert effective == pytest.approx(1000 ** (-1 / 3))


@pytest.mark.parametrize("bad", [math.nan, math.inf, 1.5, -0.2])
@pytest.mark.parametrize("function", [cal.ls_ece, cal.smooth_ece, cal.smooth_reliability])
def test_bad_values_name_their_row(function, bad):
    p = np.full(300_000, 0.5)
    p[250_001] = bad
    with pytest.raises(InputError, match=r"y_proba\[250001\]"):
        function(np.arange(300_000) % 2, p)
    with pytest.raises(InputError, match="sample_weight is 0 in every row"):
        function([0, 1], [0.2, 0.7], sample_weight=[0, 0])


def test_one_gaussian_sample_has_a_closed_form():
    """One positive sample at logit h: the mean of sigmoid(-t), t normal; bounded by known tails."""
    found = cal.ls_ece([1], [30.0], sigma=1.0, from_logits=True)
    # For h this large sigmoid(-t) is exp(-t) but for terms of exp(-2t): exp(-h + sigma^2 / 2).
    assert found == pytest.approx(math.exp(-30 + 0.5), rel=1e-6)
    assert ndtr(-9) < 1e-18 and log_ndtr(-9) < -40  # the tail that the grid leaves out


@pytest.mark.parametrize("power", [0.0, 0.5, 3.0])
def test_the_fixed_point_is_that_of_scipys_search(power):
    def error(width):
        return 0.2 * (1.0 - width) ** power * np.exp(-power * width)

    expected = brentq(lambda width: error(width) - width, 1e-4, 1.0, xtol=1e-15)
    assert fixed_point(error, 1e-4, 1.0) == pytest.approx(expected, abs=2e-13)
    # A step across the diagonal has no fixed point: its place is the answer.
    assert fixed_point(lambda w: 0.5 if w < 0.3 else 0.1, 1e-4, 1.0) == pytest.approx(0.3)


def test_a_rough_version_is_searched_first():
    def plain(width):
        return 0.2 * (1.0 - width) ** 0.5 * np.exp(-0.5 * width)

    looks = []

    def error(width):
        looks.append(width)
        return plain(width)

    expected = brentq(lambda width: plain(width) - width, 1e-4, 1.0, xtol=1e-15)
    for off, most in ((1e-8, 1), (1e-5, 3), (0.3, 99)):  # the last one misleads
        looks.clear()
        found = fixed_point(
            error, 1e-4, 1.0, lambda w, off=off: plain(w) * (1 + off * np.sin(9 * w))
        )
        assert found == pytest.approx(expected, abs=2e-13), off
        assert len(looks) <= most


def test_a_fine_grid_is_left_at_its_fixed_point():
    """Residuals of 10^8 calibrated predictions: the width found is the error at that width."""
    cells, n = 1 << 16, 1e8
    u = np.arange(cells + 1) / cells
    noise = np.random.default_rng(5).normal(size=u.size) * np.sqrt(n / cells * u * (1 - u))
    grid = UnitGrid(noise[None, None])
    found = smooth_errors(grid, n, None, (32 / cells, 128 / cells))[0]
    assert 32 / cells < found < 128 / cells
    assert smooth_errors(grid, n, found)[0] == pytest.approx(found, rel=1e-11)
    assert smooth_errors(grid, n, None)[0] == pytest.approx(found, rel=1e-11)


def test_without_any_residual_no_finer_grid_is_looked_at(monkeypatch):
    """Predictions that are certain and right took sixty times as long as others."""
    from calibrant._summaries import smooth

    asked = []
    deposit = smooth.SmoothSummary.unit_grid

    def counted(self, cells=smooth.UNIT_CELLS, **options):
        asked.append(cells)
        return deposit(self, cells, **options)

    monkeypatch.setattr(smooth.SmoothSummary, "unit_grid", counted)
    y = np.arange(50) % 2
    assert cal.smooth_ece(y, y.astype(float)) == 0.0
    assert asked == [smooth.UNIT_CELLS]


@pytest.mark.parametrize(("n", "m"), [(10, 3), (10, 10), (777, 2), (6001, 2001)])
def test_convolution_is_scipys(n, m):
    rng = np.random.default_rng(n)
    values, kernel = rng.normal(size=n), rng.random(m)
    expected = fftconvolve(values, kernel, mode="valid")
    assert np.array_equal(valid_convolution(values, kernel), expected)
