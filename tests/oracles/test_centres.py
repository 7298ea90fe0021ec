"""Several centres: random effects against metafor and a twin, coverage, values of centres."""

from __future__ import annotations

import json
import math
from statistics import NormalDist

import numpy as np
import pytest

import calibrant as cal
from calibrant._inference.random_effects import random_effects, variances_between

# Vaccinated and not, sick and healthy, in 13 trials of BCG (Colditz et al. 1994).
BCG = [(4, 119, 11, 128), (6, 300, 29, 274), (3, 228, 11, 209), (62, 13536, 248, 12619),
       (33, 5036, 47, 5761), (180, 1361, 372, 1079), (8, 2537, 10, 619), (505, 87886, 499, 87892),
       (29, 7470, 45, 7232), (17, 1699, 65, 1600), (186, 50448, 141, 27197), (5, 2493, 3, 2338),
       (27, 16886, 29, 17825)]  # fmt: skip


def bcg(measure: str) -> tuple[np.ndarray, np.ndarray]:
    """Log risk ratios or log odds ratios, and their variances."""
    a, b, c, d = np.array(BCG, dtype=float).T
    if measure == "RR":
        return np.log(a / (a + b) / (c / (c + d))), 1 / a - 1 / (a + b) + 1 / c - 1 / (c + d)
    return np.log(a * d / (b * c)), 1 / a + 1 / b + 1 / c + 1 / d


def test_metafor_has_the_same_summary() -> None:
    """rma(yi, vi) in Viechtbauer (2010), doi:10.18637/jss.v036.i03: tau^2 0.3132, mean -0.7145 with
    the standard error 0.1798.
    """
    y, v = bcg("RR")
    found = random_effects(y, v, 0.95)
    assert (found.mean, found.tau**2) == pytest.approx((-0.7145, 0.3132), abs=5e-5)
    assert (1 / (v + found.tau**2)).sum() ** -0.5 == pytest.approx(0.1798, abs=5e-5)


def test_metafor_has_the_same_confidence_distribution_of_tau() -> None:
    """confint(res) of log odds ratios: tau^2 from 0.1302 to 1.1812 by the Q-profile method
    (metafor-project.org, van Houwelingen et al. 2002).
    """
    draws = np.sort(variances_between(*bcg("OR")))
    found = np.interp([0.025, 0.975], (np.arange(draws.size) + 0.5) / draws.size, draws)
    assert found == pytest.approx((0.1302, 1.1812), rel=2e-3)


def twin(y: list[float], v: list[float], level: float) -> dict[str, float]:
    """REML by golden section; the interval of a new centre by bisection, from the definitions."""
    k = len(y)

    def weighted(t2: float) -> tuple[float, float, float]:
        w = [1 / (each + t2) for each in v]
        mean = sum(a * b for a, b in zip(w, y, strict=True)) / sum(w)
        q = sum(a * (b - mean) ** 2 for a, b in zip(w, y, strict=True))
        return sum(w), mean, q

    def loss(t2: float) -> float:
        total, _, q = weighted(t2)
        return sum(math.log(each + t2) for each in v) + math.log(total) + q

    low, high, ratio = 0.0, 100.0 * max(v), (math.sqrt(5) - 1) / 2
    for _ in range(200):
        a, b = high - ratio * (high - low), low + ratio * (high - low)
        low, high = (low, b) if loss(a) < loss(b) else (a, high)
    t2 = low if loss(low) < loss(0.0) else 0.0
    total, mean, q = weighted(t2)

    from scipy.stats import chi2, t

    error = math.sqrt((q / (k - 1) if q > k - 1 else 1.0) / total)
    half = t.ppf(0.5 + level / 2, k - 1) * error
    draws = []
    for j in range(400):
        goal = chi2.ppf(1 - (j + 0.5) / 400, k - 1)
        down, up = 0.0, 1e6
        for _ in range(200 if weighted(0.0)[2] > goal else 0):
            middle = (down + up) / 2
            down, up = (middle, up) if weighted(middle)[2] > goal else (down, middle)
        size, centre, _ = weighted(down)
        draws.append(NormalDist(centre, math.sqrt(down + 1 / size)))

    def quantile(goal: float) -> float:
        down, up = -1e3, 1e3
        for _ in range(100):
            middle = (down + up) / 2
            below = sum(each.cdf(middle) for each in draws) / len(draws) < goal
            down, up = (middle, up) if below else (down, middle)
        return down

    return {
        "mean": mean,
        "error": error,
        "low": mean - half,
        "high": mean + half,
        "tau": math.sqrt(t2),
        "new_low": min(mean - half, quantile((1 - level) / 2)),
        "new_high": max(mean + half, quantile((1 + level) / 2)),
    }


@pytest.mark.parametrize("tau", [0.0, 0.2, 1.0])
def test_random_effects_agree_with_their_twin(tau: float) -> None:
    rng = np.random.default_rng(int(10 * tau))
    v = 0.05 * rng.uniform(0.3, 3.0, 7)
    y = rng.normal(1.0, np.sqrt(v + tau**2))
    expected = twin(y.tolist(), v.tolist(), 0.9)
    found = random_effects(y, v, 0.9)
    for name, value in expected.items():
        # A variance between tabulated places is interpolated.
        assert getattr(found, name) == pytest.approx(value, rel=1e-3, abs=1e-4), name
    for name in ("mean", "error", "low", "high", "tau"):
        assert getattr(found, name) == pytest.approx(expected[name], rel=1e-5, abs=1e-6), name


def test_centres_that_agree_by_chance_do_not_narrow_the_mean() -> None:
    """Estimates closer than their errors: the mean is no surer than that of all rows pooled."""
    y, v = np.array([1.0, 1.01, 0.99, 1.0]), np.array([0.04, 0.05, 0.03, 0.06])
    found = random_effects(y, v, 0.95)
    assert found.tau == 0.0 and found.error == pytest.approx((1 / v).sum() ** -0.5, rel=1e-12)
    assert found.high - found.low > 2 * 1.96 * (1 / v).sum() ** -0.5
    expected = twin(y.tolist(), v.tolist(), 0.95)
    assert (found.low, found.high) == pytest.approx((expected["low"], expected["high"]))


@pytest.mark.parametrize("share", [0.3, 0.6])
def test_the_interval_of_a_new_centre_holds(share: float) -> None:
    """The usual interval of 20 centres, which takes tau as known, holds 82 to 91 % of them."""
    rng, inside, n = np.random.default_rng(4), 0, 200
    tau = math.sqrt(0.04 * share / (1 - share))
    for _ in range(n):
        v = 0.04 * rng.uniform(0.3, 3.0, 20)
        found = random_effects(rng.normal(0.0, np.sqrt(v + tau**2)), v, 0.95)
        inside += found.new_low <= rng.normal(0.0, tau) <= found.new_high
    assert 0.915 <= inside / n <= 0.98


def sample(k: int = 6, n: int = 150, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    centre = np.repeat(np.arange(k), n)
    h = rng.normal(-0.5, 1.2, k * n)
    q = 1 / (1 + np.exp(-(rng.normal(0, 0.3, k)[centre] + h)))
    return (rng.random(k * n) < q).astype(int), 1 / (1 + np.exp(-h)), centre


def test_values_of_centres_are_those_of_the_clinical_summary() -> None:
    y, p, centre = sample()
    found = cal.centres(y, p, by=centre)
    own = centre == 2
    alone = cal.clinical_summary(y[own], p[own], n_resamples=50)
    for row in found:
        each = found.each[row.quantity]
        assert each["value"][2] == pytest.approx(alone[row.quantity], rel=1e-9)
        assert each["n"][2] == 150 and each["events"][2] == y[own].sum()
        if row.quantity in ("slope", "intercept_in_the_large"):
            assert each["low"][2] == pytest.approx(alone[row.quantity].low, rel=1e-9)
        else:  # limits there have more degrees of freedom, or a skewness
            assert each["low"][2] == pytest.approx(alone[row.quantity].low, rel=0.02)
        assert row.new_low < row.low < row.estimate < row.high < row.new_high
        assert row.centres == 6
    values = np.log(found.each["observed_expected"]["value"])
    assert math.exp(values.min()) < found["observed_expected"].estimate < math.exp(values.max())


def test_the_curve_of_equal_centres_is_that_of_one() -> None:
    """Six copies of one centre: tau is 0, and the mean is its own spline on the logit scale."""
    y, p, _ = sample(k=1, n=400)
    found = cal.centres(np.tile(y, 6), np.tile(p, 6), by=np.repeat(np.arange(6), y.size))
    assert found["slope"].tau == pytest.approx(0.0, abs=1e-6)
    assert found["slope"].estimate == pytest.approx(cal.cox_calibration(y, p).slope, rel=1e-9)
    h = np.log(p / (1 - p))
    a, b, c = np.quantile(h, [0.1, 0.5, 0.9])

    def basis(x: np.ndarray) -> np.ndarray:
        """Harrell's restricted cubic spline with three knots."""
        one, two, three = (np.maximum(x - knot, 0) ** 3 for knot in (a, b, c))
        bend = one - two * (c - a) / (c - b) + three * (b - a) / (c - b)
        return np.stack([np.ones(x.size), x, bend], axis=1)

    theta = np.zeros(3)
    for _ in range(100):
        q = 1 / (1 + np.exp(-basis(h) @ theta))
        information = basis(h).T @ (basis(h) * (q * (1 - q))[:, None])
        theta = theta + np.linalg.solve(information, basis(h).T @ (y - q))
    at = found.curve["prediction"]
    expected = 1 / (1 + np.exp(-basis(np.log(at / (1 - at))) @ theta))
    assert found.curve["mean_target"] == pytest.approx(expected, rel=1e-6)
    assert (found.curve["new_low"] <= found.curve["low"]).all()


def test_weights_clusters_and_soft_labels() -> None:
    y, p, centre = sample()
    twice = cal.centres(
        np.tile(y, 2), np.tile(p, 2), by=np.tile(centre, 2), groups=np.tile(np.arange(y.size), 2)
    )
    weighted = cal.centres(y, p, by=centre, sample_weight=np.full(y.size, 2.0))
    for quantity in ("slope", "observed_expected", "c_statistic"):
        one, two = twice.each[quantity], weighted.each[quantity]
        assert one["value"] == pytest.approx(two["value"], rel=1e-9)
        assert one["low"] == pytest.approx(two["low"], rel=5e-3)
    soft = cal.centres(np.where(y == 1, 0.9, 0.1), p, by=centre)
    assert soft["observed_expected"].centres == soft["slope"].centres == 6


def test_centres_without_a_value_are_left_out_by_name() -> None:
    y, p, centre = sample()
    y[centre == 0] = 0
    own = centre == 1
    y[own] = p[own] > 0.5
    found = cal.centres(y, p, by=centre)
    assert [row.centres for row in found] == [4, 5, 5, 4]
    assert "0 was not used: no event is seen" in found["observed_expected"].note
    assert "1 was not used: its C-statistic is 1" in found["c_statistic"].note
    assert math.isnan(found.each["slope"]["value"][0]) and found.to_dict()["by"] == "slice"
    few = cal.centres(y[centre < 3], p[centre < 3], by=centre[centre < 3])
    assert math.isnan(few["slope"].estimate) and "fewer than 3" in few["slope"].note


def test_what_it_cannot_do() -> None:
    y, p, centre = sample()
    with pytest.raises(cal.InputError, match=r"by must name 3 or more centres.* got 2"):
        cal.centres(y, p, by=centre % 2)
    with pytest.raises(cal.InputError, match="needs one outcome"):
        cal.centres(y, np.stack([1 - p, p / 2, p / 2], axis=1), by=centre)
    with pytest.raises(cal.InputError, match="did you mean 'slope'"):
        cal.centres(y, p, by=centre).plot("slop")


def test_diagrams_and_the_command(tmp_path, capsys) -> None:
    """The command prints what the function gives, and draws either diagram."""
    pytest.importorskip("matplotlib")
    from calibrant._cli import main

    y, p, centre = sample()
    found, path, picture = cal.centres(y, p, by=centre), tmp_path / "risks.csv", tmp_path / "a.svg"
    rows = [f"{a},{b!r},{c}" for a, b, c in zip(y, p.tolist(), centre, strict=True)]
    path.write_text("\n".join(["event,risk,ward", *rows]))
    own = ["centres", str(path), "--label", "event", "--proba", "risk"]
    assert main([*own, "--by", "ward", "--draw", "curve", "-o", str(picture), "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["table"]["estimate"] == pytest.approx([row.estimate for row in found], rel=1e-9)
    assert picture.exists()
    assert main(own) == 3 and "--by must name" in capsys.readouterr().err
    for row in found:
        axes = found.plot(row.quantity).ax_
        assert next(text.get_text() for text in axes.get_yticklabels()) == "0 (150)"
    line = found.plot_curve().line_
    assert line.get_ydata() == pytest.approx(found.curve["mean_target"])


def test_each_centre_has_the_intervals_of_its_clinical_summary():
    rng = np.random.default_rng(8)
    hospital, x = rng.integers(0, 6, 900), rng.normal(size=900)
    risk = 1 / (1 + np.exp(2 - 1.2 * x))
    died = (rng.random(900) < 1 / (1 + np.exp(2.3 - x))).astype(int)
    found = cal.centres(died, risk, by=hospital)
    summaries = {
        name: cal.clinical_summary(died[hospital == name], risk[hospital == name])
        for name in range(6)
    }
    for quantity, columns in found.each.items():
        assert len(columns["centre"]) == 6
        for row, name in enumerate(columns["centre"]):
            alone = summaries[int(name)][quantity]
            ends = [columns[end][row] for end in ("value", "low", "high")]
            assert ends == pytest.approx([alone.value, alone.low, alone.high])
