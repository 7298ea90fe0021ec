"""Two predictors with priors of different kinds, and one beside a predictor that may be right."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import multivariate_normal, norm

import calibrant as cal
from calibrant._core.binning import EqualWidth
from calibrant._data.to_samples import to_samples
from calibrant._inference.cells import problem_of
from calibrant._inference.gap_pairs import GapPair, Reading, _covariance
from calibrant._inference.numbers import PLAUSIBLE
from calibrant._inference.second_moments import SlotNoise, second_moments
from calibrant._inference.slots import Slots
from coverage_worlds import run_line


def pair_of(y, *predictors, n_draws=400):
    slots = (
        Slots.of_problem(problem_of(to_samples(y, u), "binary", EqualWidth(10))) for u in predictors
    )
    return GapPair(SlotNoise(second_moments(tuple(slots), None), n_draws, 0))


def stated(n, seed, gaps):
    """Predictions in the middles of ten bins that are off by these gaps, and their labels."""
    rng = np.random.default_rng((91, seed))
    tenth = rng.integers(0, 10, n)
    u = (tenth + 0.5) / 10
    return (rng.random(n) < u + np.asarray(gaps)[tenth]).astype(int), u


def likelihoods(pair):
    """Those of the observed gaps under each prior, by SciPy, slot by slot and all together."""
    live = np.ones(pair.moments.size, dtype=bool)
    smooth, own = pair._components(live)
    gap = pair._gaps_by_class()
    parts = [*smooth, *own]
    sizes = pair._variances(parts, gap)
    prior = sum(
        size * (part[0] if part.ndim == 3 else np.diag(part[0]))
        for size, part in zip(sizes, parts, strict=True)
    )
    noise, out = pair._covariances[0], np.zeros((2, 2))
    index = pair._slots[0][0]
    for j in range(2):
        own_slots = np.flatnonzero(pair.moments.owners[index] == j)
        block = np.ix_(own_slots, own_slots)
        out[j, 0] = multivariate_normal(cov=(noise + prior)[block]).logpdf(gap[0, own_slots])
        for s in own_slots:
            density = [norm.pdf(gap[0, s], scale=v[s, s] ** 0.5) for v in (noise, noise + prior)]
            out[j, 1] += np.log(np.mean(density))
    return out


def test_likelihoods_are_those_of_scipy():
    y, u = stated(1500, 0, 0.06 * (-1.0) ** np.arange(10))
    pair = pair_of(y, u, u**1.3)
    slow = likelihoods(pair)
    live = np.ones(pair.moments.size, dtype=bool)
    gap = pair._gaps_by_class()
    smooth, own = pair._components(live)
    parts = [*smooth, *own]
    prior = _covariance(pair._variances(parts, gap), parts)
    fast = pair._log_likelihoods(live, prior, gap)
    # A constant is left out: the same for each prior of a predictor.
    np.testing.assert_allclose(np.diff(fast, axis=1), np.diff(slow, axis=1), rtol=1e-9)


def allowed(first, second):
    """The pairs of different priors, where those of the two predictors have these likelihoods."""
    y, u = stated(300, 1, np.zeros(10))
    pair = pair_of(y, u, u**1.1, n_draws=40)

    class Given(GapPair):
        def _log_likelihoods(self, live, prior, gap):
            return np.array([first, second])

    return Given(pair.noise)._posteriors(np.ones(pair.moments.size, dtype=bool)).pairs[2:]


def test_priors_differ_where_the_gaps_do_not_speak_against_it():
    assert PLAUSIBLE == 2.0
    assert allowed((0.0, 0.0), (0.0, 0.0)) == [(0, 1), (1, 0)]
    assert allowed((0.0, -1.5), (0.0, -1.5)) == [(0, 1), (1, 0)]
    assert allowed((0.0, -3.0), (0.0, -3.0)) == []
    assert allowed((-3.0, 0.0), (0.0, -3.0)) == [(1, 0)]
    assert allowed((0.0, -3.0), (-3.0, 0.0)) == [(0, 1)]


def test_a_predictor_beside_one_that_is_right_is_off_by_their_distance():
    y, u = stated(600, 4, np.zeros(10))
    lower, half, narrow = pair_of(y, u, u - 0.01), pair_of(y, u, u[::-1]), pair_of(y, u, u * 0.1)
    for j, distance in ((0, -0.01), (1, 0.01)):
        np.testing.assert_allclose(lower._rooms[j].limits(), distance, atol=1e-12)
    # All rows of the first are in one bin of the second: a tenth of them may be off alone.
    np.testing.assert_allclose(narrow._rooms[0].free, 1.0)
    np.testing.assert_allclose(narrow._rooms[1].free, 0.0, atol=1e-9)
    slots = half.moments.slots[0]
    mean_square = np.average(slots.gap**2, weights=slots.weight)
    # Every bin shares one with the bin of the largest gap.
    usual = max(mean_square**0.5, np.abs(slots.gap).max())
    np.testing.assert_allclose(half._rooms[0].usual, usual)
    np.testing.assert_allclose(
        lower._rooms[0].usual,
        np.maximum(np.abs(lower.moments.slots[0].gap), mean_square**0.5),
    )
    # These may have any gap between none and the distance, and a usual one beside it.
    room = narrow._rooms[0]
    for size, more in ((np.inf, room.usual[0]), (0.01, 0.01)):
        ends = np.sort([room.apart, np.zeros(10)], axis=0) + np.array([[-more], [more]])
        np.testing.assert_allclose(room.limits(size), ends)


def test_how_far_gaps_can_differ_is_0_for_a_predictor_and_itself():
    y, u = stated(600, 4, np.zeros(10))
    freedom = [pair_of(y, u, v)._freedom for v in (u, u - 1e-6, u - 0.01, u[::-1])]
    assert freedom[0] == 0.0 < freedom[1] < 0.01 < freedom[2] < freedom[3] <= 1.0
    pair = pair_of(y, u, u - 0.01)
    shares = [np.average(0.01 / r.usual, weights=s.weight)
              for r, s in zip(pair._rooms, pair.moments.slots, strict=True)]  # fmt: skip
    np.testing.assert_allclose(freedom[2] ** 2, np.mean(shares), rtol=1e-9)


def test_targets_of_their_own_leave_room_for_them():
    """Top labels: whether the prediction is right is another target for each predictor."""
    y, u = stated(600, 5, np.zeros(10))
    other = np.where(np.arange(600) % 4 == 0, 1 - y, y)
    slots = [Slots.of_problem(problem_of(to_samples(z, u), "binary", EqualWidth(10)))
             for z in (y, other)]  # fmt: skip
    pair = GapPair(SlotNoise(second_moments(tuple(slots), None), 40, 0))
    changed = np.bincount((10 * u).astype(int), y != other) / np.bincount((10 * u).astype(int))
    np.testing.assert_allclose(pair._rooms[0].limits(), [-changed, changed], atol=1e-12)


def test_rows_that_the_other_predictor_does_not_count_may_be_off_alone():
    y, u = stated(600, 6, np.zeros(10))
    slots = [Slots.of_problem(problem_of(to_samples(y, u), "binary", EqualWidth(10)))] * 2
    left_out = np.arange(600) % 4 == 0
    slots[1] = replace(slots[1], w=np.where(left_out, 0.0, 1.0)[:, None])
    room = GapPair(SlotNoise(second_moments(tuple(slots), None), 40, 0))._rooms[0]
    tenth = (10 * u).astype(int)
    np.testing.assert_allclose(room.free, np.bincount(tenth, left_out) / np.bincount(tenth))


def test_gaps_beside_a_predictor_that_is_right_are_known():
    y, u = stated(600, 7, np.zeros(10))
    pair = pair_of(y, u, u + 0.02)
    for j, distance in ((0, -0.02), (1, 0.02)):
        zero = pair.moments.owners == j
        for gaps in pair._true_gaps(zero).gaps:
            own, other = pair.moments.parts(gaps)[j], pair.moments.parts(gaps)[1 - j]
            assert not own.any()
            np.testing.assert_allclose(other, distance, atol=1e-12)
    nobody = np.zeros(pair.moments.size, dtype=bool)
    assert np.ptp(pair._true_gaps(nobody).gaps[0]) > 0.02


def test_gaps_are_known_only_where_all_rows_have_a_predictor_that_is_right():
    y, u = stated(600, 7, np.zeros(10))
    pair = pair_of(y, u, u + 0.02)
    zero = (pair.moments.owners == 0) & (np.arange(pair.moments.size) < 4)
    low, high = pair._rooms[1].limits_where(zero)
    np.testing.assert_allclose(low[:4], high[:4])
    assert (low[4:] == -np.inf).all() and (high[4:] == np.inf).all()


def test_the_largest_value_is_the_distance_to_the_predictor_that_is_right():
    y, u = stated(600, 7, np.zeros(10))
    pair, nobody = pair_of(y, u, u + 0.02), np.zeros(20, dtype=bool)
    readings = [
        Reading(mean_gap, mean_gap, float(mean_gap(s.gap[None], s.weight[None])[0]), nobody)
        for s in pair.moments.slots
    ]
    for j in (0, 1):
        assert pair._largest_value(readings, j, 0.025) == pytest.approx(0.02)


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


def mean_gap(gap, weight):
    return (weight * np.abs(gap)).sum(axis=1) / weight.sum(axis=1)


@pytest.mark.parametrize("first", [True, False])
def test_the_largest_value_shows_as_little_as_observed_with_the_stated_chance(first):
    """Samples of gaps of that size in every bin, drawn anew, against a predictor that is right."""
    n, gaps = 1500, 0.06 * (-1.0) ** np.arange(10)
    y, u = stated(n, 2, gaps)
    right = np.full(n, y.mean())
    pair = pair_of(y, *((u, right) if first else (right, u)), n_draws=4000)
    j, nobody = (0 if first else 1), np.zeros(pair.moments.size, dtype=bool)
    readings = [
        Reading(mean_gap, mean_gap, float(mean_gap(s.gap[None], s.weight[None])[0]), nobody)
        for s in pair.moments.slots
    ]
    largest = pair._largest_value(readings, j, 0.025)
    assert largest > 0.06  # not the least favourable size, were it below the truth
    observed = readings[j].value - readings[1 - j].value
    rng, shown = np.random.default_rng(92), []
    sign = np.sign(pair.moments.slots[j].gap)
    tenth = np.rint(10 * u - 0.5).astype(int)
    q = np.clip(u + largest * sign[tenth], 0.0, 1.0)
    for _ in range(1500):
        z = rng.random(n) < q
        off = np.abs(np.bincount(tenth, z - u, 10)).sum() / n
        shown.append(off - abs(z.mean() - right[0]))
    # The other predictor is right in draws of it: what its constant is off by here is left out.
    assert 0.005 < np.mean(np.array(shown) <= observed) < 0.08


def net_gap(gap, weight):
    return np.abs((weight * gap).sum(axis=1)) / weight.sum(axis=1)


def test_gaps_of_one_size_have_the_signs_of_the_observed_ones():
    """With signs at random, gaps of ten bins would cancel each other."""
    y, u = stated(2000, 3, np.full(10, 0.05))
    pair, nobody = pair_of(y, u, np.full(2000, y.mean())), np.zeros(11, dtype=bool)
    readings = [
        Reading(net_gap, net_gap, float(net_gap(s.gap[None], s.weight[None])[0]), nobody)
        for s in pair.moments.slots
    ]
    assert 0.05 < pair._largest_value(readings, 0, 0.025) < 0.1


@pytest.mark.parametrize("first", [True, False])
def test_the_largest_value_is_a_limit_on_the_side_of_the_predictor_that_is_off(first):
    n = 1500
    y, u = stated(n, 2, 0.06 * (-1.0) ** np.arange(10))
    right = np.full(n, y.mean())
    pair = pair_of(y, *((u, right) if first else (right, u)))
    j, owners = (0 if first else 1), pair.moments.owners
    readings = [
        Reading(mean_gap, mean_gap, float(mean_gap(s.gap[None], s.weight[None])[0]), owners == own)
        for own, s in enumerate(pair.moments.slots)
    ]
    off = readings[j].may_be_zero
    readings[j] = Reading(mean_gap, mean_gap, readings[j].value, np.zeros_like(off))
    low, high, _ = pair.limits(readings, 0.95)
    largest = pair._largest_value(readings, j, 0.025)
    ends = (low, largest) if first else (-largest, high)
    assert (low, high) == pytest.approx(ends, rel=1e-9)
    assert low > 0 if first else high < 0


def test_limits_hold_gaps_that_change_their_sign_from_bin_to_bin():
    """Without the largest value beside a predictor that may be right 43 of 100 samples did."""
    assert run_line("zigzag", "ece", 300, 20, law=50, bootstrap=0).coverage >= 0.85


def test_limits_hold_a_few_rows_that_are_far_off():
    """Where both predictors have one prior, 70 of 100 samples did."""
    line = run_line("2 % sure and half right", "ece", 2000, 20, law=50, bootstrap=0)
    assert line.coverage >= 0.85
