"""Intervals, verdicts and limits of bins: closed forms, options, and whatever input comes."""

import json
import math
import os
import warnings
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import calibrant as cal
from calibrant import InputError
from calibrant._core.binning import both_rules
from calibrant._data.to_samples import to_samples
from calibrant._inference.budget import QUICK_ENTRIES, quick_measures
from calibrant._inference.uncertainty import Uncertainty
from calibrant._measures.catalogue import find
from calibrant._summaries.samples import Summary
from needs import need

REPOSITORY = Path(__file__).resolve().parents[2]
FOLDER = Path(os.environ.get("CALIBRANT_DATA") or REPOSITORY.parent / "shared" / "data")


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def sample(n, slope=1.0, shift=0.0, seed=0):
    rng = np.random.default_rng((13, seed))
    h = rng.normal(0, 1.5, n)
    return (rng.random(n) < sigmoid(h)).astype(int), sigmoid(slope * h + shift)


@pytest.fixture
def no_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


# --- limits of a bin's mean target ----------------------------------------------------------------


@pytest.mark.parametrize("level", [0.8, 0.95, 0.99])
@pytest.mark.parametrize("method", ["wilson", "clopper-pearson"])
def test_limits_of_proportions(method, level):
    stats = need("scipy.stats")
    hits, rows = [0, 1, 3, 10, 40, 7], [1, 5, 3, 30, 80, 7]
    y = np.concatenate([np.repeat([1, 0], [k, n - k]) for k, n in zip(hits, rows, strict=True)])
    u = np.repeat((np.arange(6) + 0.5) / 6, rows)
    found = cal.reliability(y, u, bins=6).intervals(level, method)
    name = {"wilson": "wilson", "clopper-pearson": "exact"}[method]
    for j, (k, n) in enumerate(zip(hits, rows, strict=True)):
        exact = stats.binomtest(k, n).proportion_ci(level, method=name)
        assert found["low"][j] == pytest.approx(exact.low, abs=1e-12)
        assert found["high"][j] == pytest.approx(exact.high, abs=1e-12)


def test_wilson_is_the_default_of_hard_labels_and_beta_that_of_soft_ones():
    y, u = sample(200)
    table = cal.reliability(y, u, bins=5)
    assert table.intervals() == table.intervals(method="wilson")
    soft = np.random.default_rng(0).beta(2 * u + 0.5, 2 * (1 - u) + 0.5)
    table = cal.reliability(soft, u, bins=5)
    assert table.intervals() == table.intervals(method="beta")


@pytest.mark.parametrize("weighted", [False, True])
def test_limits_of_soft_labels(weighted):
    stats = need("scipy.stats")
    rng = np.random.default_rng(1)
    z = rng.beta(3, 5, 40)
    w = rng.random(40) if weighted else np.ones(40)
    table = cal.reliability(z, np.full(40, 0.4), bins=1, sample_weight=w if weighted else None)
    n = w.sum() ** 2 / (w**2).sum()
    mean = (w * z).sum() / w.sum()
    variance = ((w * (z - mean) ** 2).sum() / w.sum()) / (n - 1)
    normal = table.intervals(0.9, "normal")
    half = 1.6448536269514722 * math.sqrt(variance)
    assert (normal["low"][0], normal["high"][0]) == pytest.approx((mean - half, mean + half))
    size = mean * (1 - mean) / variance - 1
    beta = stats.beta(mean * size, (1 - mean) * size)
    found = table.intervals(0.9, "beta")
    assert (found["low"][0], found["high"][0]) == pytest.approx((beta.ppf(0.05), beta.ppf(0.95)))


def test_limits_of_weighted_outcomes_use_the_effective_number_of_rows():
    y, u = np.array([1, 0, 0, 1, 0]), np.full(5, 0.4)
    w = np.array([2.0, 1.0, 1.0, 0.0, 4.0])
    n, p = 8.0**2 / 22.0, 0.25
    z = 1.959963984540054
    centre = (p + z * z / (2 * n)) / (1 + z * z / n)
    half = z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n)) / (1 + z * z / n)
    found = cal.reliability(y, u, bins=1, sample_weight=w).intervals()
    assert (found["low"][0], found["high"][0]) == pytest.approx((centre - half, centre + half))


@pytest.mark.parametrize("method", ["wilson", "clopper-pearson", "normal", "beta"])
@pytest.mark.parametrize("soft", [False, True])
def test_limits_of_difficult_bins(method, soft, no_warning):
    y = np.array([1.0, 1.0, 0.0, 0.3 if soft else 0.0, 0.3 if soft else 0.0])
    found = cal.reliability(y, [0.9, 0.9, 0.1, 0.5, 0.5], bins=10).intervals(method=method)
    for j, n in enumerate(found["n"]):
        low, high = found["low"][j], found["high"][j]
        if n == 0:
            assert math.isnan(low) and math.isnan(high)
        else:
            assert 0 <= low <= found["mean_target"][j] + 1e-12
            assert found["mean_target"][j] - 1e-12 <= high <= 1


def test_limits_in_frames_and_what_is_refused():
    y, u = sample(100)
    table = cal.reliability(y, u, bins=4)
    pandas = need("pandas")
    frame = table.to_frame("pandas", level=0.9)
    assert isinstance(frame, pandas.DataFrame)
    assert frame["low"].tolist() == table.intervals(0.9)["low"]
    assert "low" not in table.to_frame("pandas")
    with pytest.raises(InputError, match="did you mean 'wilson'"):
        table.intervals(method="wilsn")


@pytest.mark.parametrize("level", [0.0, 1.0, 95, -0.1])
def test_levels_of_bins_out_of_range_are_refused(level):
    with pytest.raises(InputError, match="level"):
        cal.reliability([0, 1], [0.2, 0.7], bins=2).intervals(level)


# --- how intervals are made -----------------------------------------------------------------------


def test_equal_weights_change_little():
    y, u = sample(1500, 1.5)
    plain = cal.interval(y, u)
    for weight in (1.0, 7.0):
        same = cal.interval(y, u, sample_weight=np.full(1500, weight))
        assert (same.low, same.high) == pytest.approx((plain.low, plain.high), abs=0.012)


def test_rows_without_weight_are_not_there():
    y, u = sample(300, 1.5)
    w = np.random.default_rng(0).integers(0, 3, 300).astype(float)
    held = w > 0
    for name in ("ece", "brier", "debiased_l2"):
        found = cal.interval(y, u, measure=name, sample_weight=w)
        alone = cal.interval(y[held], u[held], measure=name, sample_weight=w[held])
        assert (found.low, found.high) == pytest.approx((alone.low, alone.high), rel=1e-9)


def test_intervals_shrink_with_rows_and_grow_with_the_level():
    widths = []
    for n in (400, 1600, 6400):
        found = cal.interval(*sample(n, 2.0))
        widths.append(found.high - found.low)
    assert widths[0] > widths[1] > widths[2]
    assert widths[0] / widths[2] == pytest.approx(4, rel=0.4)
    y, u = sample(800, 2.0)
    narrow, wide = (cal.interval(y, u, level=level) for level in (0.5, 0.99))
    assert wide.low < narrow.low < narrow.high < wide.high


# --- every measure --------------------------------------------------------------------------------

ENTRIES = {m.name: m for m in cal.catalogue("binary")}
BINARY = list(ENTRIES)
MULTICLASS = [m.name for m in cal.catalogue("multiclass")]
SOFT = ("soft", "votes")


@cache
def data(shape, kind):
    rng = np.random.default_rng(len("soft" if kind in SOFT else kind))
    n = 40
    w = rng.random(n) * 2 if kind == "weighted" else None
    if shape == "binary":
        u = rng.random(n)
        return rng.random(n) if kind in SOFT else (rng.random(n) < u).astype(int), u, w
    p = rng.dirichlet(np.full(3, 0.7), n)
    return rng.dirichlet(np.ones(3), n) if kind in SOFT else rng.integers(0, 3, n), p, w


def check_worth(shape, name, y, p, w=None, **options):
    measure = next(m for m in cal.catalogue(shape) if m.name == name)
    found = cal.interval(y, p, measure=name, n_resamples=50, sample_weight=w, **options)
    assert measure.low <= found.low <= found.high <= measure.high
    assert math.isfinite(found.high)
    return measure


EACH = [("binary", name) for name in BINARY] + [("multiclass", name) for name in MULTICLASS]


# Votes are beside soft labels, which have no noise floor without them.
KINDS = ("hard", "soft", "weighted", "grouped", "votes")


@cache
def drawn(shape, kind):
    groups = np.arange(40) // 5 if kind == "grouped" else None
    return drawn_from(*data(shape, kind), groups, 3 if kind == "votes" else None)


def drawn_from(y, p, w=None, groups=None, votes=None):
    """What gives every measure its interval and its noise floor, from the same draws."""
    samples = to_samples(y, p, w, votes=votes)
    rules, every = both_rules(15, samples.n), tuple(cal.catalogue(samples.shape))
    uncertainty = Uncertainty(samples, *rules, every, 0.95, 50, 0, groups, samples.votes)
    return uncertainty, Summary(samples, *rules)


@pytest.mark.parametrize("kind", KINDS[:4])
@pytest.mark.parametrize("shape", ["binary", "multiclass"])
def test_every_measure_has_an_interval(shape, kind, no_warning):
    for measure in measures_of(shape, kind):
        check_interval(measure, *drawn(shape, kind))


def measures_of(shape, kind):
    """The catalogue's measures, without those of parts, which refuse hard labels."""
    return [m for m in cal.catalogue(shape) if kind in ("soft", "votes") or not m.parts]


def check_interval(measure, uncertainty, summary):
    found = uncertainty.interval(measure, measure.compute(summary))
    assert measure.low <= found.low <= found.high <= measure.high, measure.name
    assert math.isfinite(found.high), measure.name


@pytest.mark.parametrize("kind", ["hard", "weighted", "votes"])
@pytest.mark.parametrize("shape", ["binary", "multiclass"])
def test_every_error_has_a_noise_floor(shape, kind, no_warning):
    uncertainty, summary = drawn(shape, kind)
    for measure in measures_of(shape, kind):
        floor = uncertainty.noise_floor(measure, measure.compute(summary))
        if measure.is_ranking:
            assert floor is None, measure.name
            continue
        assert measure.low <= floor.mean <= measure.high, measure.name
        assert measure.low <= floor.upper <= measure.high, measure.name
        assert 0 < floor.p_value <= 1, measure.name


# Each measure alone, of each kind by turns.
@pytest.mark.parametrize(
    ("shape", "name", "kind"), [(*each, KINDS[i % 5]) for i, each in enumerate(EACH)]
)
def test_a_measure_alone_is_as_among_all(shape, name, kind, no_warning):
    y, p, w = data(shape, kind)
    options = {"measure": name, "n_resamples": 50, "sample_weight": w}
    uncertainty, summary = drawn(shape, kind)
    measure = find(name, shape)
    value = measure.compute(summary)
    if kind in ("soft", "grouped"):
        groups = np.arange(40) // 5 if kind == "grouped" else None
        found = cal.interval(y, p, groups=groups, **options)
        assert found == uncertainty.interval(measure, value)
        return
    votes = 3 if kind == "votes" else None
    if measure.is_ranking:
        said = f"{name} measures (ranking|accuracy), not calibration"
        with pytest.raises(InputError, match=said):
            cal.noise_floor(y, p, votes=votes, **options)
        return
    floor = cal.noise_floor(y, p, votes=votes, **options)
    assert floor == uncertainty.noise_floor(measure, value)
    if votes is None:
        assert cal.interval(y, p, **options) == uncertainty.interval(measure, value)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_intervals_of_few_rows(n, no_warning):
    u = np.linspace(0.2, 0.9, n)
    hard, soft = drawn_from(np.arange(n) % 2, u), drawn_from(np.linspace(0.3, 0.6, n), u)
    for name, measure in ENTRIES.items():
        try:
            check_interval(measure, *hard)
        except cal.NotDefined:
            # Of one outcome there may be nothing to rank; every other measure has a value.
            assert measure.parts or (n == 1 and measure.is_ranking), name
        check_interval(measure, *soft)


@pytest.mark.parametrize("prediction", [0.0, 0.37, 0.5, 1.0])
@pytest.mark.parametrize("name", ["ece", "lin_ce", "debiased_l2", "ks_error", "ls_ece", "brier",
                                  "sweep_ece", "brier_miscalibration"])  # fmt: skip
def test_constant_predictions(name, prediction, no_warning):
    y = np.arange(30) % 3 == 0
    check_worth("binary", name, y.astype(int), np.full(30, prediction))
    check_worth("binary", name, np.ones(30, int), np.full(30, prediction))


def test_one_row_excludes_nothing():
    for name in ("ece", "rmsce", "debiased_l2"):
        found = cal.verdict([1], [0.9], measure=name)
        assert found.verdict == "not enough data", name
        # Whoever said 0.9 and was right once may well be right in one of three.
        assert cal.interval([1], [0.9], measure=name).high > 0.56, name


def test_a_resample_may_miss_what_a_measure_is_about(no_warning):
    u, y = np.full(60, 0.001), np.zeros(60, int)
    u[0], y[0] = 0.5, 1
    check_worth("binary", "tace", y, u)
    w = np.zeros(60)
    w[:2] = 1
    for name in ("ece", "brier", "ks_error"):
        check_worth("binary", name, y, u, w)


# --- verdicts -------------------------------------------------------------------------------------


def test_the_three_verdicts():
    bad = cal.verdict(*sample(2000, 2.0))
    assert bad.verdict == "miscalibrated"
    assert bad.low > 0 and bad.p_value < 0.05 and bad.rows_needed is None
    assert str(bad).startswith("Miscalibrated: predictions are too extreme (calibration slope 0.5")
    assert ". ECE 0." in str(bad) and bad.decided_by == "slope" and bad.slope_high < 1
    good = cal.verdict(*sample(20_000))
    assert good.verdict == "calibrated within noise"
    assert good.low == 0 and good.high < 0.05 and good.rows_needed is None
    few = cal.verdict(*sample(60))
    assert few.verdict == "not enough data"
    assert few.rows_needed > 60 and f"{few.rows_needed:,} rows" in str(few)
    for found in (bad, good, few):
        again = json.loads(found.to_json())
        assert again["verdict"] == found.verdict and again["sentence"] == str(found)
        assert repr(found).startswith(f"Verdict({found.verdict}")


def test_rows_are_needed_where_an_error_is_shown_and_the_tolerance_is_not_decided():
    rng = np.random.default_rng(0)
    p = rng.random(2000)
    y = (rng.random(2000) < np.clip(p + 0.05, 0, 1)).astype(int)
    found = cal.verdict(y, p, tolerance=0.04, n_resamples=200)
    assert found.verdict == "miscalibrated" and found.within_tolerance is None
    assert str(found).endswith(
        "There is not enough data to say whether the error exceeds the tolerance of 0.04."
    )
    assert found.rows_needed > 2000
    sure = cal.verdict(y, p, tolerance=0.2, n_resamples=200)
    assert sure.verdict == "miscalibrated" and sure.within_tolerance and sure.rows_needed is None


def test_the_rows_needed_are_enough_as_a_rule():
    """From the same world; the upper limit there is about the tolerance, and scatters."""
    fast = {"n_resamples": 100}
    needed = [cal.verdict(*sample(150, seed=seed), **fast).rows_needed for seed in range(14)]
    needed = [rows for rows in needed if rows is not None]
    assert len(needed) >= 8
    shares = []
    for times in (0.2, 1.0, 2.0):
        found = [
            cal.verdict(*sample(int(times * rows), seed=100 + seed), **fast).verdict
            for seed, rows in enumerate(needed)
        ]
        shares.append(found.count("calibrated within noise") / len(found))
    print(f"calibrated within noise at 0.2, 1 and 2 times the rows needed: {shares}")
    assert shares[0] < 0.4 <= shares[1] and shares[2] >= 0.8


def test_the_tolerance_decides():
    y, u = sample(1500, 1.15)
    assert cal.verdict(y, u, tolerance=0.5).verdict != "not enough data"
    big = cal.verdict(*sample(20_000, 1.15), tolerance=0.2)
    assert big.verdict == "miscalibrated" and "within the tolerance of 0.2" in str(big)
    strict = cal.verdict(*sample(500), tolerance=1e-4)
    assert strict.verdict == "not enough data"
    for tolerance in (0, -1, "a", None):
        with pytest.raises(InputError, match="tolerance"):
            cal.verdict(y, u, tolerance=tolerance)


def test_verdicts_of_soft_labels_come_from_the_interval():
    rng = np.random.default_rng(2)
    u = rng.random(3000)
    right = rng.binomial(5, u) / 5
    plain, voted = cal.verdict(right, u), cal.verdict(right, u, votes=5)
    assert plain.verdict == voted.verdict == "calibrated within noise"
    assert plain.p_value == voted.p_value and 0.05 < plain.p_value <= 1
    wrong = cal.verdict(rng.binomial(5, u**2) / 5, u)
    assert wrong.verdict == "miscalibrated" and wrong.low > 0


def test_weights_and_groups_reach_zero_exactly():
    """The calibrated world has an error of 0, not of what sums leave over."""
    y, u = sample(800)
    for options in ({"sample_weight": np.full(800, 2.0)}, {"groups": np.arange(800) // 4}):
        found = cal.interval(y, u, **options)
        assert found.low == 0.0 and found.reaches_zero
        assert "includes 0" in repr(found)


def test_a_change_below_0_does_not_include_it():
    y, u = sample(3000)
    worse = {"y_true": y, "y_proba": u**3}
    change = cal.check(y, u, baseline=worse, max_increase={"ece": 0.0}).rows[0].interval
    assert change.high < 0 and not change.reaches_zero
    assert "includes 0" not in repr(change)


def test_same_seed_same_answer():
    y, u = sample(300, 1.5)
    for options in ({}, {"measure": "ace"}, {"measure": "ks_error"}):
        one, same, other = (cal.interval(y, u, seed=seed, **options) for seed in (1, 1, 2))
        assert one == same
        assert (one.low, one.high) != (other.low, other.high)


def test_what_an_interval_says():
    y, u = sample(500, 2.0)
    found = cal.interval(y, u)
    assert found.value == cal.ece(y, u)
    assert found.low in found and found.high in found and 1.0 not in found
    assert not found.reaches_zero and "sample value" in repr(found) and "95%" in repr(found)
    again = json.loads(found.to_json())
    assert again == found.to_dict()
    assert "chi-square" in cal.interval(y, u, measure="debiased_l2").method
    assert "test inversion" in found.method
    assert "clusters" in cal.interval(y, u, measure="brier", groups=np.arange(500) // 5).method


# --- options --------------------------------------------------------------------------------------


@pytest.mark.parametrize("function", [cal.interval, cal.verdict])
@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"level": 0}, "level"),
        ({"level": 1}, "level"),
        ({"level": 95}, "level"),
        ({"level": "0.95"}, "level"),
        ({"measure": "rmcse"}, "did you mean 'rmsce'"),
        ({"n_resamples": 10}, "at least 50"),
        ({"seed": -3}, "seed"),
        ({"groups": [0, 1]}, "each of the 4 rows"),
        ({"groups": [1, 1, 1, 1]}, "at least two groups"),
        ({"groups": [[0, 1], [0, 1]]}, "each of the 4 rows"),
        ({"sample_weight": [0, 0, 0, 0]}, "at least one must be positive"),
        ({"group": [0, 1, 0, 1]}, "did you mean 'groups'"),
    ],
)
def test_options_out_of_range_are_refused(function, options, words):
    with pytest.raises(InputError, match=words):
        function([0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4], **options)


def test_rows_of_one_game_do_not_condemn_a_forecast():
    """Right forecasts, each repeated through its game: as single rows they look far off."""
    rng = np.random.default_rng(4)
    games = np.repeat(np.arange(60), 40)
    u = rng.uniform(0.05, 0.95, 60)
    y = (rng.random(60) < u).astype(int)[games]
    p = np.clip(u[games] + rng.normal(0, 0.01, games.size), 0, 1)
    apart, together = cal.verdict(y, p), cal.verdict(y, p, groups=games)
    assert apart.verdict == "miscalibrated"
    assert apart.p_value < 0.025
    # What clusters show by chance is known to the noise floor too.
    assert together.low == 0 and together.p_value > 0.05
    assert together.verdict == "not enough data"
    assert "clusters like these would be needed" in together.sentence
    found = cal.evaluate(y, p, measures=["ece"], uncertainty=True, groups=games)
    assert found.verdict == together


def test_groups_may_be_names_or_a_column():
    y, u = sample(200)
    groups = np.arange(200) // 10
    named = [f"patient {g}" for g in groups.tolist()]
    first = cal.interval(y, u, groups=groups)
    assert cal.interval(y, u, groups=named).high == pytest.approx(first.high, rel=0.25)
    frame = need("pandas").DataFrame({"y": y, "u": u, "patient": groups})
    assert cal.interval("y", "u", data=frame, groups="patient") == first
    with pytest.raises(InputError, match="patient"):
        cal.interval("y", "u", data=frame, groups="patents")


# --- evaluations ----------------------------------------------------------------------------------


def test_an_evaluation_with_uncertainty():
    y, u = sample(400, 1.5)
    names = ["ece", "lin_ce", "brier", "ks_error"]
    result = cal.evaluate(y, u, measures=names, uncertainty=True, n_resamples=200, seed=3)
    for name in names:
        estimate = result.estimate(name)
        assert estimate.interval == cal.interval(y, u, measure=name, n_resamples=200, seed=3)
        assert estimate.noise_floor == cal.noise_floor(y, u, measure=name, n_resamples=200, seed=3)
    assert result.verdict == cal.verdict(y, u, n_resamples=200, seed=3)
    assert result.recipe["seed"] == 3 and result.recipe["level"] == 0.95
    assert str(result.verdict) in " ".join(repr(result).split())
    assert "noise_95" in result.to_text()
    again = json.loads(result.to_json())
    assert again["verdict"]["verdict"] == result.verdict.verdict
    assert again["measures"][0]["interval"]["low"] == result.estimate("ece").interval.low
    columns = result.columns()
    assert columns["low"][0] == result.estimate("ece").interval.low
    assert "low" not in cal.evaluate(y, u, measures=names).columns()
    assert cal.evaluate(y, u, measures=names).verdict is None


def test_the_floor_of_soft_labels_is_that_of_their_scatter():
    rng = np.random.default_rng(4)
    u = rng.random(100)
    z = rng.binomial(4, u) / 4
    result = cal.evaluate(
        z, u, measures=["ece", "brier", "dist_ce"], uncertainty=True, n_resamples=50
    )
    assert "scatter" in result.estimate("ece").noise_floor.method
    # How far labels are from predictions row by row, only votes can tell.
    assert result.estimate("dist_ce").noise_floor is None
    assert result.estimate("brier").noise_floor is None


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"level": 2}, "level"),
        ({"tolerance": 0}, "tolerance"),
        ({"n_resamples": 3}, "at least 50"),
        ({"seed": -1}, "seed"),
        ({"groups": [1, 2]}, "groups"),
        ({"votes": 0.5}, "votes"),
    ],
)
def test_an_evaluation_refuses_what_the_functions_refuse(options, words):
    with pytest.raises(InputError, match=words):
        cal.evaluate(
            [0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4], measures=["ece"], uncertainty=True, **options
        )


# --- real sets ------------------------------------------------------------------------------------


def load(name):
    path = FOLDER / f"{name}.npz"
    if not path.is_file():
        pytest.skip(f"{name}.npz is not at hand: CALIBRANT_DATA names the folder to look in")
    with np.load(path, allow_pickle=False) as arrays:
        return dict(arrays)


def test_moments_of_one_game_are_not_independent():
    arrays = load("538_march_madness_in_game_men")
    y, p, games = arrays["outcome"], arrays["prob"], arrays["game"]
    for name in ("ece", "brier"):
        rows = cal.interval(y, p, measure=name, n_resamples=500)
        grouped = cal.interval(y, p, measure=name, n_resamples=500, groups=games)
        assert grouped.high - grouped.low > 2 * (rows.high - rows.low)


@pytest.mark.parametrize("name", ["538_nba_games", "538_mlb_games"])
def test_five_hundred_real_rows_have_a_noise_floor_of_percents(name):
    arrays = load(name)
    floor = cal.noise_floor(arrays["outcome"][:500], arrays["prob"][:500])
    assert 0.02 < floor.mean < 0.1
    assert floor.upper > floor.mean


def test_the_correction_of_the_confidence_error_is_not_in_its_interval():
    """It shrinks with the rows, and the interval is about the population, which has infinitely
    many.
    """
    rng = np.random.default_rng(0)
    p = rng.dirichlet([1, 1, 1], 300)
    y = (p.cumsum(axis=1) > rng.random((300, 1))).argmax(axis=1)
    with_it, without = (
        cal.interval(y, p, measure=name, n_resamples=300)
        for name in ("confidence_ce", "confidence_ce_uncorrected")
    )
    assert with_it.value > without.value
    for end in ("low", "high", "estimate"):
        assert getattr(with_it, end) == pytest.approx(getattr(without, end))


@pytest.mark.parametrize("entries", [0, QUICK_ENTRIES, QUICK_ENTRIES + 1])
def test_quick_measures_are_those_of_few_bins_and_of_few_rows(entries):
    for shape in ("binary", "multiclass"):
        quick = {measure.name for measure in quick_measures(cal.catalogue(shape), entries)}
        assert {"ece", "rmsce", "mce", "debiased_l2", "ks_error", "confidence_ce"} <= quick
        assert quick.isdisjoint({"smooth_ece", "sweep_ece", "tace", "classwise_ce", "dist_ce"})
        assert ("brier" in quick) == ("log_loss" in quick) == (entries <= QUICK_ENTRIES)
