"""How often tests reject right predictions where the textbook's law does not hold."""

import math

import numpy as np
import pytest

import calibrant as cal
from calibrant import InputError
from needs import need

# 5 %, and twice the standard error of so many repetitions above it.
REPEATS = 150
MOST = 0.05 + 2 * math.sqrt(0.05 * 0.95 / REPEATS)


def rejected(draw, function):
    rng = np.random.default_rng(12)
    return np.mean([function(*draw(rng)).p_value < 0.05 for _ in range(REPEATS)])


# --- Cox: weights, soft labels, clusters ----------------------------------------------------------


def weighted(rng, n=100):
    u = rng.random(n)
    return (rng.random(n) < u).astype(int), u, rng.lognormal(0, 1.5, n)


def voted(rng, n=100, m=3):
    u = rng.random(n)
    return rng.binomial(m, u) / m, u


def clustered(rng, n_clusters=60):
    """Rows of a cluster share prediction and outcome, or nearly; clusters of 1 to 40 rows."""
    size = np.minimum(1 + 2 * rng.pareto(1.2, n_clusters), 40).astype(int)
    group = np.repeat(np.arange(n_clusters), size)
    # A forecast repeated with small changes, the outcome shared.
    h = rng.normal(0, 1.5, n_clusters)
    u = 1 / (1 + np.exp(-h))
    y = (rng.random(n_clusters) < u).astype(int)
    return y[group], u[group], group


def test_cox_of_weighted_outcomes_keeps_its_size():
    size = rejected(weighted, lambda y, u, w: cal.cox_calibration(y, u, sample_weight=w))
    assert size <= MOST  # the likelihood ratio: .6


@pytest.mark.parametrize("m", [3, 50])
def test_cox_of_votes_keeps_its_size(m):
    size = rejected(lambda rng: voted(rng, m=m), cal.cox_calibration)
    assert 0 < size <= MOST  # the likelihood ratio: 0


@pytest.mark.parametrize("name", ["cox_calibration", "spiegelhalter", "truthful_test"])
def test_clusters_count_in_p_values(name):
    test = getattr(cal, name)
    assert rejected(clustered, lambda y, u, g: test(y, u, groups=g)) <= MOST  # by rows: .4 and more


def test_cox_limits_hold_the_truth_with_weights_votes_and_clusters():
    rng = np.random.default_rng(3)
    held = np.zeros((3, REPEATS))
    for i in range(REPEATS):
        y, u, w = weighted(rng)
        z, v = voted(rng)
        yc, uc, group = clustered(rng)
        fits = (
            cal.cox_calibration(y, u, sample_weight=w),
            cal.cox_calibration(z, v),
            cal.cox_calibration(yc, uc, groups=group),
        )
        held[:, i] = [fit.slope_low <= 1 <= fit.slope_high for fit in fits]
    assert (held.mean(axis=1) >= 0.90).all()


def test_cox_has_power_with_weights_votes_and_clusters():
    rng = np.random.default_rng(4)
    h = rng.normal(0, 1.5, 2000)
    u, truth = 1 / (1 + np.exp(-2 * h)), 1 / (1 + np.exp(-h))
    y = (rng.random(2000) < truth).astype(int)
    w = rng.lognormal(0, 1, 2000)
    assert cal.cox_calibration(y, u, sample_weight=w).p_value < 1e-6
    assert cal.cox_calibration(rng.binomial(5, truth) / 5, u).p_value < 1e-6
    group = np.arange(2000) // 4
    for name in ("cox_calibration", "spiegelhalter", "truthful_test"):
        assert 0 < getattr(cal, name)(y, u, groups=group).p_value < 1e-4


@pytest.mark.parametrize("factor", [0.25, 1000.0, 3.7])
def test_weights_times_a_constant_change_no_test(factor):
    y, u, w = weighted(np.random.default_rng(5), 200)
    group = np.arange(200) // 3
    for options in ({}, {"groups": group}):
        for name in ("cox_calibration", "spiegelhalter", "truthful_test"):
            test = getattr(cal, name)
            one = test(y, u, sample_weight=w, **options).to_dict()
            other = test(y, u, sample_weight=factor * w, **options).to_dict()
            for key, value in one.items():
                if isinstance(value, float):
                    assert other[key] == pytest.approx(value, rel=1e-9, abs=1e-12), (name, key)


def test_labels_that_are_the_predictions_have_a_p_of_1():
    u = np.random.default_rng(6).random(300)
    found = cal.cox_calibration(u, u)
    assert found.p_value == 1.0 and found.slope == pytest.approx(1)


def test_groups_are_checked():
    y, u, _ = weighted(np.random.default_rng(7), 40)
    for name in ("cox_calibration", "spiegelhalter", "truthful_test"):
        with pytest.raises(InputError, match="40 rows"):
            getattr(cal, name)(y, u, groups=[1, 2, 3])
    with pytest.raises(InputError, match=r"truthful_test\(\.\.\., groups=\.\.\.\)"):
        cal.hosmer_lemeshow(y, u, groups=np.arange(40) // 2)
    polars = need("polars")
    frame = polars.DataFrame({"y": y, "u": u, "patient": np.arange(40) // 2})
    by_name = cal.cox_calibration("y", "u", data=frame, groups="patient")
    assert by_name == cal.cox_calibration(y, u, groups=np.arange(40) // 2)
    with pytest.raises(InputError, match="'patients', which data does not have"):
        cal.cox_calibration("y", "u", data=frame, groups="patients")


# --- few events -----------------------------------------------------------------------------------


def rare(rng, n=100):
    u = rng.beta(0.5, 99.5, n)
    return (rng.random(n) < u).astype(int), u


@pytest.mark.parametrize("name", ["spiegelhalter", "truthful_test", "hosmer_lemeshow"])
def test_rare_events_keep_the_size(name):
    # By the normal and the chi-square laws: .09, .05, .13.
    assert rejected(rare, getattr(cal, name)) <= MOST


def test_truthful_test_of_rare_events_with_weights_keeps_its_size():
    def draw(rng):
        return *rare(rng), rng.lognormal(0, 1.5, 100)

    def test(y, u, w):
        return cal.truthful_test(y, u, sample_weight=w)

    assert rejected(draw, test) <= MOST  # by the scaled chi-square: .11


def test_small_counts_are_told_and_drawn_with_a_seed():
    y, u = rare(np.random.default_rng(8))
    found = cal.hosmer_lemeshow(y, u)
    assert (
        "000 draws of outcomes" in found.null and "expects only" in found.note and found.seed == 0
    )
    assert found == cal.hosmer_lemeshow(y, u)
    other = cal.hosmer_lemeshow(y, u, seed=1)
    assert other.seed == 1 and other.p_value == pytest.approx(found.p_value, abs=0.03)
    fitted = cal.hosmer_lemeshow(y, u, fitted=True)
    assert "chi-square" in fitted.null and "use fewer bins" in fitted.note and fitted.seed is None
    for rule in (cal.Quantile(10, ties="rank"), cal.LevelSets(), cal.EqualWidth(40)):
        assert 0 < cal.hosmer_lemeshow(y, u, bins=rule).p_value <= 1
    with pytest.raises(InputError, match="seed"):
        cal.spiegelhalter(y, u, seed=-1)


@pytest.mark.parametrize("name", ["spiegelhalter", "truthful_test", "hosmer_lemeshow"])
def test_drawn_p_values_can_be_small(name):
    """Eight events where a half was expected: a chance of about 1e-7, beyond any count of draws."""
    u = np.full(100, 0.005) + np.arange(100) * 1e-6
    y = np.zeros(100, dtype=int)
    y[:80:10] = 1
    p = getattr(cal, name)(y, u, **({} if name == "spiegelhalter" else {"bins": 2})).p_value
    assert 0 < p < 1e-4
    certain = getattr(cal, name)(np.ones(2000, dtype=int), np.full(2000, 0.01) + u[0]).p_value
    assert 0 < certain < 1e-30 or name == "hosmer_lemeshow"
