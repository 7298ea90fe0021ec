"""Single absolute errors: the paths of gaps, the noise along them, and the limits they give."""

from typing import Any

import numpy as np
import pytest
from scipy.special import expit, logit, ndtri
from scipy.stats import binom

import calibrant as cal
from calibrant._core.binning import both_rules
from calibrant._data.to_samples import to_samples
from calibrant._inference.gap_paths import GapPaths
from calibrant._inference.inversion import Path
from calibrant._inference.methods import gap_paths
from calibrant._inference.numbers import FEW_EVENTS
from calibrant._inference.readings import SlotReading, slot_reading
from calibrant._inference.uncertainty import Uncertainty
from calibrant._measures.catalogue import find


def made(y: Any, u: Any, name: str = "ece", bins: int = 15, **given: Any) -> Any:
    """What a measure's slots are, and the paths of its gaps."""
    weights = given.pop("sample_weight", None)
    samples = to_samples(y, u, sample_weight=weights)
    measure = find(name, "multiclass" if samples.multiclass else "binary")
    rows = Uncertainty(samples, *both_rules(bins), (measure,), **given)
    reading = slot_reading(measure, rows)
    return reading, gap_paths(rows, reading)


def at(paths: GapPaths, reading: SlotReading, gap: Any) -> tuple[float, Any]:
    return paths._values(gap, reading.of_sample, reading.of_population)


def test_inversion_of_a_known_law() -> None:
    """Values normal about the truth with standard deviation 1: the interval is 1.96 either way."""
    normal = ndtri((np.arange(2000) + 0.5) / 2000)
    path = Path(np.linspace(0, 20, 81).tolist(), lambda t: (t, t + normal))
    assert path.crossing(0.975, 5.0) == pytest.approx(3.04, abs=0.01)
    assert path.crossing(0.5, 5.0) == pytest.approx(5.0, abs=0.01)
    assert path.crossing(0.025, 5.0) == pytest.approx(6.96, abs=0.01)
    assert path.crossing(0.975, 1.0) == 0.0
    # Beyond the last point what is usual keeps its distance.
    assert path.crossing(0.025, 30.0) == pytest.approx(31.96, abs=0.01)


@pytest.mark.parametrize("name", ["ece", "ace", "smooth_ece"])
def test_paths_begin_without_gaps_and_rise(name: str) -> None:
    rng = np.random.default_rng(0)
    h = rng.normal(0, 1.5, 2000)
    reading, paths = made((rng.random(2000) < expit(h)).astype(int), expit(1.6 * h), name)
    lower, upper = paths._paths(reading.of_sample, reading.of_population)
    for path in lower:
        truths = [path.point(j)[0] for j in range(len(path.points))]
        assert truths[0] == 0.0 and truths[-1] > reading.value
        assert (np.diff(truths) >= -1e-9).all()
    for path in upper:
        truths = [path.point(j)[0] for j in range(len(path.points))]
        assert (np.diff(truths) >= -1e-9).all() and truths[-1] > reading.value


def test_bins_that_are_surely_off_keep_their_gaps() -> None:
    """Of fifteen bins one is off by .3: on both paths it is as far off as seen, to begin with."""
    rng = np.random.default_rng(1)
    u = rng.random(4000)
    q = np.clip(u + 0.3 * ((u > 0.4) & (u < 7 / 15)), 0, 1)
    _, paths = made((rng.random(4000) < q).astype(int), u)
    sure = np.flatnonzero(paths._real)
    assert 6 in sure and sure.size < 4
    seen = paths.slots.gap[6]
    assert paths._equal_gaps(1.0)[6] == paths._few_gaps(0.0)[6] == pytest.approx(seen)
    others = np.delete(np.arange(15), sure)
    np.testing.assert_allclose(np.abs(paths._equal_gaps(1.0)[others]), paths.errors[others])
    assert not paths._few_gaps(0.0)[others].any()
    assert np.count_nonzero(paths._few_gaps(3.0)[others]) == 3


KINDS = ("rows", "weights", "clusters", "soft")


@pytest.mark.parametrize("kind", KINDS)
def test_values_along_a_path_are_those_of_whole_samples(kind: str) -> None:
    """The slow twin: new labels for the same predictions, with the true gaps of a known world."""
    rng = np.random.default_rng(KINDS.index(kind))
    n = 1200
    u = expit(rng.normal(0, 1.5, n))
    q = expit(logit(u) / 1.4)
    weights = rng.gamma(2.0, 0.5, n) if kind == "weights" else None
    groups = np.arange(n) // 3 if kind == "clusters" else None

    def labels() -> Any:
        if kind == "soft":
            return rng.binomial(5, q) / 5
        if groups is not None:  # half of the clusters have one number for all of their rows
            shared = rng.random(n // 3) < 0.5
            own, common = rng.random(n), rng.random(n // 3)[groups]
            return (np.where(shared[groups], common, own) < q).astype(int)
        return (rng.random(n) < q).astype(int)

    slow = [cal.ece(labels(), u, sample_weight=weights) for _ in range(300)]
    fast = []
    for _ in range(6):
        reading, paths = made(labels(), u, sample_weight=weights, groups=groups)
        gap = paths.slots.mean(q[:, None] - paths.slots.u)
        truth, shown = at(paths, reading, gap)
        assert truth == pytest.approx(cal.ece(q, u, sample_weight=weights), rel=1e-6)
        fast.append((shown.mean(), shown.std()))
    mean, spread = np.mean(fast, axis=0)
    assert mean == pytest.approx(np.mean(slow), rel=0.06)
    assert spread == pytest.approx(np.std(slow), rel=0.25)


def test_few_events_are_whole_events() -> None:
    """Forty rows at .01 with a gap of .02: binomial noise, of the rate where the gap is."""
    y = np.zeros(400, int)
    y[::50] = 1
    _, paths = made(y, np.full(400, 0.01), bins=1, n_resamples=50_000)
    rare, noise = paths._rare_event_noise(np.full(paths.slots.size, 0.002))
    assert rare.tolist() == [0]
    trials = paths._trials[0]
    assert trials * 0.012 < FEW_EVENTS
    events = np.rint((noise[:, 0] + 0.012) * trials).astype(int)
    np.testing.assert_allclose((noise[:, 0] + 0.012) * trials, events, atol=1e-6)
    seen = np.bincount(events, minlength=16)[:16] / events.size
    np.testing.assert_allclose(seen, binom.pmf(np.arange(16), trials, 0.012), atol=0.012)
    # And of failures, where these are rare.
    _, turned = made(1 - y, np.full(400, 0.99), bins=1, n_resamples=50_000)
    _, mirrored = turned._rare_event_noise(np.full(turned.slots.size, -0.002))
    assert mirrored.mean() == pytest.approx(0.0, abs=0.0005)
    assert mirrored.max() <= 0.012 + 1e-9


def test_the_limits_of_a_largest_gap_are_those_of_one_bin() -> None:
    rng = np.random.default_rng(2)
    u = rng.random(3000)
    q = np.clip(u + 0.3 * ((u > 0.4) & (u < 7 / 15)), 0, 1)
    y = (rng.random(3000) < q).astype(int)
    found = cal.interval(y, u, measure="mce")
    bins = cal.reliability(y, u).columns()
    rate, rows = np.array(bins["mean_target"]), np.array(bins["n"])
    gap = np.abs(rate - np.array(bins["mean_predicted"]))
    far = gap + 1.96 * np.sqrt(rate * (1 - rate) / rows)
    assert found.high == pytest.approx(far.max(), rel=0.1)
    assert 0.1 < found.low < 0.3 < found.high
    # All bins alike: their noise shows in the largest, and the lower limit allows for that.
    y = (rng.random(3000) < np.clip(u + 0.1, 0, 1)).astype(int)
    assert cal.interval(y, u, measure="mce").low < 0.1


@pytest.mark.parametrize("measure", ["rmsce", "debiased_l2"])
def test_roots_have_the_limits_of_their_squares(measure: str) -> None:
    """Eight bins of known noise: the mean of squared gaps is a noncentral chi-square."""
    from scipy.stats import ncx2

    rng = np.random.default_rng(3)
    u = np.repeat((np.arange(8) + 0.5) / 8, 500)
    y = (rng.random(4000) < np.clip(u + 0.05, 0, 1)).astype(int)
    found = cal.interval(y, u, measure=measure, bins=8)
    gap = (y - u).reshape(8, 500).mean(axis=1)
    noise = np.mean([np.var(row) / 500 for row in (y - u).reshape(8, 500)])
    scale, value = noise / 8, np.mean(gap**2)
    for end, chance in ((found.low, 0.975), (found.high, 0.025)):
        shown = ncx2.cdf(value / scale, 8, end**2 / scale)
        assert shown == pytest.approx(chance, abs=0.02)


@pytest.mark.parametrize("prediction", [1e-300, 1e-6, 0.01, 0.2, 0.9, 1.0 - 1e-9, 1.0])
@pytest.mark.parametrize("measure", ["ece", "mce", "ks_error", "smooth_ece", "rmsce"])
def test_one_prediction_that_is_far_off(measure, prediction):
    """The limits of a share of 523 in 1,000, whatever noise certain predictions would have."""
    y = np.repeat([1, 0], [523, 477])
    found = cal.interval(y, np.full(1000, prediction), measure=measure)
    error = 0.0158
    assert found.low < found.value - 1.5 * error and found.high > found.value + 1.5 * error
    assert found.high - found.low < 6.0 * error


def test_luck_counts_as_one_standard_error_at_most() -> None:
    """Values that calibrated predictions show on fewer days than one in six have the same upper
    limit, and others a higher one.
    """
    rng = np.random.default_rng(60)
    u = rng.beta(2, 2, 1000)
    reading, paths = made((rng.random(1000) < u).astype(int), u)
    formulas = reading.of_sample, reading.of_population
    (path,) = paths._paths(*formulas)[1]
    shown = [path.quantile(0, q) for q in (0.02, 0.09, 0.15, 0.2)]
    high = [paths.limits(*formulas, value, 0.95).high for value in shown]
    assert high[0] == high[1] == high[2] < high[3]


def test_gaps_are_smoothed_with_those_next_to_them() -> None:
    """One cell alone is off: cells at 0.05 have half of its gap or more, and at 0.1 less than a
    third.
    """
    u = np.repeat(np.linspace(0.2, 0.8, 31), 200)
    y = np.tile(np.arange(200) / 200, 31) < u
    y[15 * 200 : 16 * 200] = np.arange(200) < 130
    _, paths = made(y.astype(int), u, "smooth_ece")
    mean, smooth = paths.slots.mean_u, paths._smoothed
    share = [float(np.interp(0.5 + far, mean, smooth)) / smooth.max() for far in (0.05, 0.1)]
    assert 0.5 < share[0] < 0.75 and share[1] < 0.33


def test_cells_are_as_narrow_as_outcomes_ask_for() -> None:
    """Fine ones are 0.008 wide in the middle and 0.0001 at the ends. Wide ones hold ten rows of few
    and a thirtieth of many.
    """
    u = np.linspace(0, 1, 200_001)
    reading, _ = made((np.arange(200_001) % 2).astype(int), u, "smooth_ece")
    fine, width = reading.fine.index[:, 0], 1 / 200_000
    assert 0.006 < np.count_nonzero(fine == fine[100_000]) * width < 0.011
    assert 0.00005 < np.count_nonzero(fine == 0) * width < 0.00015
    assert 22 <= reading.slots.size <= 45
    few, _ = made((np.arange(100) % 2).astype(int), u[1000::2000], "smooth_ece")
    assert 7 <= 100 / few.slots.size <= 14
