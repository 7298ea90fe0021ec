"""True gaps of two predictors, drawn from one model of the rows, and the bound of a difference."""

from dataclasses import replace

import numpy as np
import pytest

import calibrant as cal
from calibrant._core.binning import EqualWidth
from calibrant._data.to_samples import to_samples
from calibrant._inference.blocks import blocks_of
from calibrant._inference.cells import problem_of
from calibrant._inference.gap_pairs import GapPair
from calibrant._inference.row_gaps import RowGaps, Target
from calibrant._inference.second_moments import (
    FineSlots,
    SlotNoise,
    independent_moments,
    second_moments,
)
from calibrant._inference.slots import Slots
from coverage_worlds import run_line
from rivals import sigmoid
from slopes import outcomes


def bins_of(y, u, m=10):
    return Slots.of_problem(problem_of(to_samples(y, u), "binary", EqualWidth(m)))


def model_of(*slots, n_draws=400):
    return RowGaps(SlotNoise(second_moments(tuple(slots), None), n_draws, 0))


def stated(n, seed, gaps):
    """Predictions in the middles of ten bins that are off by these gaps, and their labels."""
    rng = np.random.default_rng((91, seed))
    tenth = rng.integers(0, 10, n)
    u = (tenth + 0.5) / 10
    return (rng.random(n) < u + np.asarray(gaps)[tenth]).astype(int), u


# --- the model, written from its definition with a matrix of rows ---------------------------------


def averages(slots):
    """The matrix (nonempty slots, n) that takes means over the rows of each slot."""
    out = (slots.index[:, 0] == np.arange(slots.size)[:, None]) * slots.w[:, 0]
    out = out[out.sum(axis=1) > 0]
    return out / out.sum(axis=1, keepdims=True)


def members(slots):
    """One column of rows, (n, slots), for each nonempty slot: 1 for its rows."""
    return (averages(slots) > 0).T.astype(float)


def parts_of_rows(model):
    """The known part of all gaps, (p,), and the covariance of every part, one list for those with a
    broad prior and one for the others, in the model's order.
    """
    first, second = model.moments.slots
    a, b = averages(first), averages(second)
    u, v = first.u[:, 0], second.u[:, 0]
    together = model.moments.paired
    same = (first.z == second.z)[:, 0] & (first.w > 0)[:, 0] & (second.w > 0)[:, 0]
    same = same.astype(float) if together else np.zeros(u.size)

    def stack(of_first, of_second):
        return np.concatenate([a @ of_first, b @ of_second])

    means = [(u + v) / 2, (u + v) / 2] if together else [u, v]
    known = (
        stack(-(u - v) * same / 2, (u - v) * same / 2) if together else np.zeros(len(a) + len(b))
    )
    shifts = [m * (1 - m) for m in means]
    slopes = [m * (1 - m) * np.log(m / (1 - m)) for m in means]
    mean = np.concatenate([a @ means[0], b @ means[1]])
    kernel = np.exp(-0.5 * ((mean[:, None] - mean) / 0.25) ** 2)
    broad, fitted = [], []
    if together:
        columns = [stack((u - v) * same, (u - v) * same)]
        columns += [stack(s[0] * same, s[1] * same) for s in (shifts, slopes)]
        broad += [2.0**2 * np.outer(c, c) for c in columns]
        share = stack(same, same)
        fitted.append(kernel * np.outer(share, share))
        for each in (first, second):
            loads = np.concatenate([a @ members(each), b @ members(each)]) * share[:, None]
            fitted.append(loads @ loads.T)
    if (same < 1).any():
        for j in (0, 1):
            alone = [(1 - same) * (j == i) for i in (0, 1)]
            for s in (shifts, slopes):
                column = stack(s[0] * alone[0], s[1] * alone[1])
                broad.append(2.0**2 * np.outer(column, column))
            share = stack(*alone)
            fitted += [kernel * np.outer(share, share), np.diag(share**2)]
    return known, broad, fitted


def prior(model, zero=None):
    """The mean and the covariance of true gaps with the variances that the model has fitted."""
    zero = np.zeros(model.moments.size, dtype=bool) if zero is None else zero
    known, broad, fitted = parts_of_rows(model)
    gap, noise = model._observed(zero)
    sizes = model._variances(gap - known, noise)[len(broad) :]
    total = sum(broad) + sum(size * each for size, each in zip(sizes, fitted, strict=True))
    return known, total, sizes


def data(model):
    used = np.flatnonzero(model.moments.stacked("weight") > 0)
    factor = model.moments.noise_factor[:, used]
    return used, model.moments.stacked("gap")[used], factor.T @ factor


def given(mean, covariance, noise, observed):
    """Mean and covariance of true gaps, given the observed ones."""
    gain = np.linalg.solve(covariance + noise, covariance).T
    return mean + gain @ (observed - mean), covariance - gain @ covariance


KINDS = ["same labels", "own labels", "other rows", "rows left out"]


def pair(kind, n=1500, n_draws=4000):
    y, u = stated(n, 0, 0.05 * np.sin(np.arange(10)))
    v = np.clip(0.02 + 0.9 * u + 0.03 * np.cos(np.arange(n)), 0.01, 0.99)
    if kind == "other rows":
        z, w = stated(n, 1, np.zeros(10))
        moments = independent_moments(*(second_moments((bins_of(*s),), None)
                                        for s in ((y, u), (z, w**1.2))))  # fmt: skip
        return RowGaps(SlotNoise(moments, n_draws, 0))
    first, second = bins_of(y, u), bins_of(y, v)
    if kind == "own labels":
        second = bins_of(np.where(np.arange(n) % 3 == 0, 1 - y, y), v)
    if kind == "rows left out":
        second = replace(second, w=np.where(np.arange(n) % 4 == 0, 0.0, 1.0)[:, None])
    return model_of(first, second, n_draws=n_draws)


@pytest.mark.parametrize("kind", KINDS)
def test_parts_are_those_of_the_rows(kind):
    model = pair(kind, n_draws=10)
    known, broad, fitted = parts_of_rows(model)
    found, *parts = model._wide_loads
    np.testing.assert_allclose(found[0], known, atol=1e-12)
    for slow, fast in ((broad, parts[0]), (fitted, parts[1])):
        scale = 2.0**2 if slow is broad else 1.0
        for expected, loads in zip(slow, fast, strict=True):
            np.testing.assert_allclose(scale * loads[0] @ loads[0].T, expected, atol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_draws_are_those_of_normal_gaps_given_the_observed_ones(kind):
    model = pair(kind)
    mean, covariance, _ = prior(model)
    used, observed, noise = data(model)
    expected, spread = given(mean, covariance, noise, observed)
    drawn = np.concatenate(model.draw(np.zeros(model.moments.size, dtype=bool)), axis=1)[:, used]
    error = np.sqrt(np.diag(spread))
    np.testing.assert_array_less(np.abs(drawn.mean(axis=0) - expected), 0.08 * error + 1e-4)
    np.testing.assert_allclose(drawn.std(axis=0), error, rtol=0.1, atol=1e-4)


def test_gaps_beside_slots_that_are_right_are_given_that_they_are():
    """The noise that these slots show is known, and tells of that of the others."""
    model = pair("same labels")
    zero = (model.moments.owners == 0) & (np.arange(model.moments.size) < 6)
    mean, covariance, _ = prior(model, zero)
    used, observed, noise = data(model)
    right = np.flatnonzero(zero[used])
    # Observed gaps and those that are 0 are one normal vector.
    gain = np.concatenate([covariance, covariance[:, right]], axis=1)
    together = np.block([[covariance + noise, covariance[:, right]],
                         [covariance[right], covariance[np.ix_(right, right)]]])  # fmt: skip
    together += 1e-12 * np.eye(len(together))
    seen = np.concatenate([observed - mean, -mean[right]])
    expected = mean + gain @ np.linalg.solve(together, seen)
    spread = np.sqrt(np.diag(covariance - gain @ np.linalg.solve(together, gain.T)).clip(1e-12))
    drawn = np.concatenate(model.draw(zero), axis=1)[:, used]
    assert not drawn[:, right].any()
    others = np.setdiff1d(np.arange(used.size), right)
    off = np.abs(drawn.mean(axis=0) - expected)[others]
    np.testing.assert_array_less(off, 0.1 * spread[others] + 3e-4)


def test_variances_are_the_likeliest():
    """None of them is more likely a fifth larger or smaller, but those at their least value."""
    model = pair("same labels", n=40_000, n_draws=10)
    known, broad, fitted = parts_of_rows(model)
    _, observed, noise = data(model)
    sizes = prior(model)[2]

    def log_likelihood(sizes):
        total = noise + sum(broad) + sum(s * f for s, f in zip(sizes, fitted, strict=True))
        off = observed - known
        return -0.5 * (np.linalg.slogdet(total)[1] + off @ np.linalg.solve(total, off))

    best = log_likelihood(sizes)
    for k in range(3):
        for factor in (0.8, 1.25):
            other = [size * (factor if i == k else 1.0) for i, size in enumerate(sizes)]
            assert log_likelihood(other) < best + 0.05, (k, factor)


def test_predictors_in_the_same_bins_differ_by_their_predictions():
    y, u = stated(600, 7, np.zeros(10))
    model = model_of(bins_of(y, u), bins_of(y, u + 0.02))
    first, second = model.draw(np.zeros(20, dtype=bool))
    assert np.ptp(first, axis=0).min() > 0.02
    np.testing.assert_allclose(first - second, 0.02, atol=1e-5)
    for j, distance in ((0, 0.02), (1, -0.02)):
        zero = model.moments.owners == j
        gaps = model.draw(zero)
        assert not gaps[j].any()
        np.testing.assert_allclose(gaps[1 - j], -distance, atol=3e-4)


def test_fine_slots_have_the_loads_of_their_rows():
    """Their means over a wide slot are those of the slot, but for the smooth part."""
    y, u = stated(800, 3, np.zeros(10))
    v = np.clip(u**1.1 + 0.02 * np.cos(np.arange(800)), 0.01, 0.99)
    wide, fine = [bins_of(y, p, 5) for p in (u, v)], [bins_of(y, p, 20) for p in (u, v)]
    parents = tuple(np.arange(20) // 4 for _ in (0, 1))
    blocks = blocks_of(800, None, 0)
    noise = SlotNoise(second_moments(tuple(wide), None), 10, 0,
                      FineSlots(tuple(fine), parents, (blocks, blocks)))  # fmt: skip
    model = RowGaps(noise)
    for j in (0, 1):
        known, broad, fitted = model._loads(Target(wide[j], j, np.arange(5)))
        fine_known, fine_broad, fine_fitted = model._loads(Target(fine[j], j, parents[j]))
        weight = (parents[j] == np.arange(5)[:, None]) * fine[j].weight
        within = weight / weight.sum(axis=1, keepdims=True)
        pairs = [(known, fine_known), *zip(broad, fine_broad, strict=True),
                 *zip(fitted[1:], fine_fitted[1:], strict=True)]  # fmt: skip
        for slow, fast in pairs:
            np.testing.assert_allclose(within @ fast, slow, atol=1e-12)


# --- slots that may be right beside others that are far off ---------------------------------------


def sure_and_half_right(seed, n=2000):
    """Two rows of a hundred are at 0.99 and half right, all others are right."""
    rng = np.random.default_rng((96, seed))
    q, odd = rng.beta(2, 3, n), rng.random(n) < 0.02
    u, q = np.where(odd, 0.99, q), np.where(odd, 0.5, q)
    return (rng.random(n) < q).astype(int), u


def quiet(y, u):
    both = GapPair(model_of(bins_of(y, u), bins_of(y, u**1.1), n_draws=200).noise)
    return both.may_be_zero(0, 0.0125, rejected=True)[:10]


def test_slots_that_are_right_are_taken_to_be_in_nineteen_of_twenty_samples():
    """Each of two tests calls one of twenty off at most."""
    found = [quiet(*sure_and_half_right(seed)) for seed in range(400)]
    assert not any(each[9] for each in found)
    assert 0.93 <= np.mean([each.any() for each in found]) <= 0.97
    assert np.mean([each[:8].sum() for each in found if each.any()]) >= 7.5


def test_slots_of_a_steep_predictor_are_not():
    y, u = stated(3000, 5, 0.06 * np.sign(np.arange(10) - 4.5))
    assert not quiet(y, u).any()


# --- limits ---------------------------------------------------------------------------------------


def test_errors_that_cancel_at_one_prediction_are_apart_at_two():
    """The bound leaves room for them, though the predictions are near each other."""
    for seed in range(3):
        rng = np.random.default_rng((95, seed))
        kind, u = rng.random(1500), rng.random(1500)
        sign = np.select([kind < 0.3, kind < 0.6], [1.0, -1.0], 0.0)
        first = np.where(sign != 0, 0.5, np.where(u < 0.5, 0.5 * u, 0.5 + 0.5 * u))
        second, right = first + 0.05 * sign, first + 0.3 * sign
        y = (rng.random(1500) < right).astype(int)
        found = cal.compare(y, {"first": first, "second": second}, measures=["smooth_ece"])
        truth = cal.smooth_ece(right, first) - cal.smooth_ece(right, second)
        interval = found.difference("first", "second", "smooth_ece")
        assert truth < -0.06
        assert interval.low - 0.01 <= truth <= interval.high


def test_a_hair_that_moves_a_crowd_to_the_next_bin_changes_the_error():
    """Errors of a crowd and of others in its bin cancel, until a hair parts them."""
    for seed in range(8):
        rng = np.random.default_rng((94, seed))
        u = rng.choice([0.05, 0.25, 0.45, 0.55, 0.75, 0.95], 2000)
        crowd, others = (u == 0.55) & (rng.random(2000) < 0.55), u == 0.55
        first = np.where(crowd, 0.6 - 1e-9, u)
        right = np.where(crowd, 0.9, np.where(others, 0.2, u))
        y = (rng.random(2000) < right).astype(int)
        found = cal.compare(
            y, {"first": first, "second": first + 2e-9 * crowd}, measures=["ece"], bins=10
        )
        truth = [cal.ece(right, v, bins=10) for v in (first, first + 2e-9 * crowd)]
        interval = found.difference("first", "second", "ece")
        assert truth[1] > truth[0] + 0.04
        assert interval.low <= truth[0] - truth[1] <= interval.high


@pytest.mark.parametrize("measure", ["ece", "ace", "mce", "smooth_ece", "ks_error", "cutoff_ce"])
def test_two_errors_are_no_farther_apart_than_their_predictions(measure):
    """The limits hold that bound, and little more."""
    y, u = stated(800, 8, 0.03 * np.sin(np.arange(10)))
    found = cal.compare(y, {"first": u, "second": u + 0.004}, measures=[measure], bins=10)
    interval = found.difference("first", "second", measure)
    assert max(-interval.low, interval.high) <= 0.004 * 1.3


def test_limits_in_one_huge_cluster_allow_for_the_distance_of_other_rows():
    """Half of the rows are one cluster, whose predictions are as far apart as others' on average or
    not: with a bound from these rows alone, 3 of 100 limits of `ls_ece` held the difference.
    """
    line = run_line("slopes, one huge cluster", "ls_ece", 1000, 12, law=20, bootstrap=0)
    assert line.coverage >= 0.9


def test_other_rows_leave_a_predictor_the_limits_it_has_alone():
    """Beside a predictor that may be right, the upper limit is at least that of the other. From
    joint draws alone it was lower by 0.02.
    """
    (y, h), (z, g) = outcomes(1000, 5001), outcomes(1000, 6001)
    before, steep = {"y_true": y, "y_proba": sigmoid(h)}, sigmoid(1.5 * g)
    gate = cal.check(z, steep, baseline=before, paired=False, max_increase={"smooth_ece": 0.001})
    alone = cal.interval(z, steep, measure="smooth_ece")
    assert gate.rows[0].interval.high >= alone.high - 1e-12


def test_limits_hold_gaps_that_change_their_sign_from_bin_to_bin():
    assert run_line("zigzag", "ece", 300, 20, law=50, bootstrap=0).coverage >= 0.8


def test_limits_hold_a_few_rows_that_are_far_off():
    """Where no other slots may be right, 65 of 100 samples did."""
    line = run_line("2 % sure and half right", "ece", 2000, 20, law=50, bootstrap=0)
    assert line.coverage >= 0.85
