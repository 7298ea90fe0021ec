"""Verdicts: the tests they rest on, what they name, and how often they are right.

The worlds, and the tables with more samples, are in `benchmarks/verdicts.py`. Seeds are fixed.
"""

import math
from functools import partial

import numpy as np
import polars
import pytest

import calibrant as cal
from calibrant import examples
from calibrant._api import verdicts
from calibrant._api.metrics.uncertainty import _uncertainty_of_measure
from calibrant._data.to_samples import to_samples
from calibrant._inference import calibration_tests as tests
from calibrant.results import Interval, NoiseFloor
from calibrant.results._verdict import (
    _chance_in_words,
    curve_words,
    mean_words,
    slope_words,
    tone_of,
)
from verdict_worlds import WITHOUT_VOTES, false_alarms, judged, worlds

FAST = {"n_resamples": 200}


def off(world, n, seed):
    """Labels and predictions that are off by an ECE of 0.03."""
    rng = np.random.default_rng(seed)
    u, truth = worlds.OFF[world](n, rng)
    return worlds.outcomes(truth, rng), u


# --- power ----------------------------------------------------------------------------------------


def test_a_slope_shows_where_the_noise_floor_sees_nothing():
    """The noise floor alone said "not enough data" above a slope of 0.78 [0.64, 0.91]."""
    y, u = off("slope", 700, 5)
    found = cal.verdict(y, u)
    assert cal.noise_floor(y, u).p_value > 0.2 and found.low == 0
    assert found.verdict == "miscalibrated" and found.decided_by == "slope"
    assert found.slope_high < 1 and found.within_tolerance is None and found.p_value < 0.05
    assert str(found).startswith(
        "Miscalibrated: predictions are too extreme (calibration slope 0.78, 98% CI 0.62 to "
        "0.94). ECE 0."
    )
    assert str(found).endswith(
        "There is not enough data to say whether the error exceeds the tolerance of 0.05."
    )
    # The error is not 0, so that as many rows are needed as `check` says.
    held = cal.check(y, u, at_most={"ece": 0.05}).rows[0]
    assert found.rows_needed == held.rows_needed > 700


@pytest.mark.parametrize(
    ("world", "n", "named"),
    [
        ("slope", 1300, "slope"),
        ("normal logits, too extreme", 1300, "slope"),
        ("shift", 2500, "mean"),
        ("normal logits, shift", 2500, "mean"),
        ("oscillation", 3000, "curve"),
        ("oscillation in the middle", 3000, "curve"),
        ("four waves", 3000, "curve"),
    ],
)
def test_what_is_off_is_found_and_named(world, n, named):
    """Of ten samples eight to nine are expected (`make long` has thirty)."""
    found = worlds.power(world, n, 10, seed=5)
    assert 10 - found[""] >= 6, found
    assert found[named] >= (1 if named == "curve" else 5), found


def waves_found(times, height):
    """The p-values of the curve where there are so many waves."""
    out = []
    for seed in range(6):
        rng = np.random.default_rng((3, seed))
        u = rng.uniform(0.1, 0.9, 3000)
        y = worlds.outcomes(u + height * np.sin(2 * math.pi * times * (u - 0.1) / 0.8), rng)
        uncertainty, *_ = _uncertainty_of_measure(
            to_samples(y, u), "ece", 15, n_resamples=500, seed=0
        )
        out.append(tests.curve_p(uncertainty.calibrated_draws(uncertainty.plain_problem)[0]))
    return out


@pytest.mark.parametrize("times", [2, 3, 4, 5])
def test_waves_up_to_a_dozen_half_turns_are_found(times):
    assert max(waves_found(times, 0.09)) < 0.01


def test_a_single_outcome_that_no_draw_shows_decides():
    """Predictions of 0 alone in their bin, one of them wrong: too little for the noise floor."""
    rng = np.random.default_rng(1)
    u = np.append(np.zeros(200), rng.uniform(0.2, 0.8, 1800))
    y = worlds.outcomes(u, rng)
    assert cal.verdict(y, u, **FAST).verdict == "calibrated within noise"
    y[0] = 1
    assert decided(y, u, **FAST) == "curve" and cal.noise_floor(y, u, **FAST).p_value > 0.2
    # Rounded predictions of 0 are beside others: what they miss is within rounding.
    u[100:200] = 0.01
    assert decided(y, u, **FAST) == ""


def test_the_statistic_of_waves_by_hand():
    """Squares of scores in standard deviations of calibrated samples: 1 / sqrt(k) times that of the
    wave of k half turns, from 2 to 12.
    """
    rng = np.random.default_rng(3)
    u = np.sort(rng.uniform(0.1, 0.9, 60))
    y = worlds.outcomes(u, rng)
    uncertainty, *_ = _uncertainty_of_measure(to_samples(y, u), "ece", 15, n_resamples=500, seed=0)
    drawn = uncertainty.calibrated_draws(uncertainty.plain_problem)[0]
    cells = drawn.cells
    weight = [w * math.sqrt(p * (1 - p)) for w, p in zip(cells.w, cells.u, strict=True)]
    observed, of_draws = 0.0, np.zeros(len(drawn.wz))
    for k in range(2, 13):
        wave, before = np.zeros(len(weight)), 0.0
        for j, each in enumerate(weight):
            middle = (before + each / 2) / sum(weight)
            wave[j] = math.cos(math.pi * k * middle) / (cells.u[j] * (1 - cells.u[j])) ** 0.25
            before += each
        scores = (drawn.wz - drawn.wu) @ wave
        scale = math.sqrt(k) * np.mean(scores**2)
        observed += ((cells.wz - cells.w * cells.u) @ wave) ** 2 / scale
        of_draws += scores**2 / scale
    chance = (1 + np.count_nonzero(of_draws >= observed)) / (1 + len(of_draws))
    assert tests.curve_p(drawn) == pytest.approx(chance) and 0.05 < chance < 0.95


def test_faster_waves_are_left_to_the_noise_floor():
    """To look for them too would take power from slow ones."""
    assert np.median(waves_found(10, 0.09)) > 0.1


# --- false alarms ---------------------------------------------------------------------------------


@pytest.mark.parametrize("world", WITHOUT_VOTES)
def test_calibrated_predictions_are_rarely_called_miscalibrated(world):
    """Five in a hundred are allowed: of ten, four or more have a chance of 0.001."""
    assert false_alarms(world, 10) <= 3


def test_few_heavy_events_do_not_make_a_slope():
    """Wald's interval alone excludes 1 in a tenth of samples where 1.5 % are allowed."""
    rng, alarms, of_wald = np.random.default_rng(4), 0, 0
    for _ in range(80):
        found = judged(
            **{
                {"y_true": "y", "y_proba": "u"}.get(name, name): value
                for name, value in worlds.CALIBRATED["weights, rare"](150, rng).items()
            }
        )
        if found.slope is not None:
            alarms += found.p_values["slope"] < 0.015
            of_wald += found.slope.p_value(1.0) < 0.015
    assert of_wald >= 6 and alarms <= 4


def test_two_ways_of_drawing_must_both_speak_against_predictions():
    """Of clusters with rare events the signs of residuals alone know nothing."""
    rng = np.random.default_rng(3)
    options = worlds.CALIBRATED["clusters of 5, rare"](200, rng)
    y, u = options.pop("y_true"), options.pop("y_proba")
    uncertainty, *_ = _uncertainty_of_measure(
        to_samples(y, u), "ece", 15, n_resamples=500, seed=0, groups=options["groups"]
    )
    draws = uncertainty.calibrated_draws(uncertainty.plain_problem)
    found = judged(y, u, **options)
    assert len(draws) == 2
    assert found.p_values["mean"] == max(tests.mean_p(each) for each in draws)
    assert found.p_values["curve"] == max(tests.curve_p(each) for each in draws)


# --- one verdict, without contradictions ----------------------------------------------------------


def test_verdict_slope_and_p_value_agree():
    """Not enough data is never said above a slope whose interval excludes 1."""
    kinds = set()
    for seed in range(60):
        rng = np.random.default_rng((9, seed))
        n, slope = int(rng.choice([40, 150, 500, 1200])), rng.choice([0.5, 0.75, 1.0, 1.3])
        u = rng.random(n)
        y = rng.random(n) < 1 / (1 + np.exp(-slope * np.log(u / (1 - u))))
        groups = np.arange(n) // 2 if seed % 3 == 0 else None
        level = 0.9 if seed % 5 == 0 else 0.95
        found = cal.verdict(y, u, groups=groups, level=level, n_resamples=100)
        excludes = found.slope is not None and not found.slope_low <= 1 <= found.slope_high
        assert not excludes or found.verdict == "miscalibrated", found
        by_test = found.decided_by not in ("", "tolerance")
        assert by_test == (found.p_value < 1 - level), found
        assert (found.verdict == "miscalibrated") == bool(found.decided_by), found
        if "Not enough data" in found.sentence:
            assert found.sentence.startswith("Not enough data to say whether the error exceeds")
            assert found.within_tolerance is None
        kinds.add((found.verdict, excludes))
    assert kinds >= {("miscalibrated", True), ("not enough data", False), ("miscalibrated", False)}


def test_what_may_be_wrong_is_said_where_nothing_decides():
    y, u = off("slope", 700, 0)
    found = cal.verdict(y, u)
    assert cal.cox_calibration(y, u).slope_high < 1 < found.slope_high
    assert found.verdict == "not enough data" and found.decided_by == ""
    assert str(found).endswith(
        "Predictions may be too extreme (calibration slope 0.84, 98% CI 0.67 to 1.01)."
    )
    calm = cal.verdict(*off("shift", 1300, 3))
    assert calm.verdict == "not enough data" and "may be" not in str(calm)


def decided(y, u, **options):
    return cal.verdict(y, u, **options).decided_by


def test_what_decided():
    assert decided(*off("slope", 1300, 1)) == "slope"
    assert decided(*off("shift", 2500, 6)) == "mean"
    curve = cal.verdict(*off("three waves", 2600, 8))
    assert curve.decided_by == "curve"
    assert cal.noise_floor(*off("three waves", 2600, 8)).p_value > 0.2
    assert "the gap varies with the prediction by more than chance explains (smooth test" in str(
        curve
    )
    rng = np.random.default_rng(4)
    fast = rng.random(3000)
    y = rng.random(3000) < np.clip(fast + 0.07 * np.where(fast * 15 % 2 < 1, 1, -1), 0, 1)
    assert decided(y, fast) == "noise floor"
    rng = np.random.default_rng(0)
    u = rng.random(4000)
    assert decided(rng.random(4000) < u, u) == ""
    # Where all are convincing the most specific one is named.
    assert decided(rng.random(4000) < u**2, u) in ("slope", "mean")


def test_a_wrong_mean_is_named_with_both_means():
    found = cal.verdict(*off("shift", 5000, 6))
    assert str(found).startswith(
        "Miscalibrated, within the tolerance of 0.05: predictions are too "
    )
    assert " points on average (mean prediction 0." in str(found)
    assert "observed frequency 0." in str(found) and str(found).count("on average") == 1


def test_a_side_is_named_only_where_it_is_no_chance():
    shirt = examples.load("fashion-shirt")
    y, p = shirt.test_labels[:300], shirt.test_proba[:300]
    assert abs(np.mean(p) - np.mean(y)) > 0.01
    found = cal.verdict(y, p)
    assert found.decided_by == "slope" and "on average" not in str(found)
    assert "too high by 2 points on average" in str(
        cal.verdict(shirt.test_labels, shirt.test_proba)
    )


def test_an_interval_beyond_the_tolerance_decides_where_no_test_does():
    y, u = off("slope", 400, 0)
    uncertainty, chosen, _ = _uncertainty_of_measure(
        to_samples(y, u), "ece", 15, n_resamples=60, seed=0
    )
    interval = Interval("ece", 0.1, 0.06, 0.15, 0.95, "given", estimate=0.1)
    floor = NoiseFloor("ece", 0.1, 0.08, 0.11, 0.5, 99, "given")
    found = verdicts.verdict_of(interval, floor, 0.05, chosen, uncertainty)
    assert found.decided_by == "tolerance" and found.within_tolerance is False
    assert found.verdict == "miscalibrated" and str(found).startswith("Miscalibrated: ECE 0.100")


# --- the slope ------------------------------------------------------------------------------------


def test_the_slope_is_that_of_cox():
    y, u = off("slope", 900, 3)
    found, fit = cal.verdict(y, u, **FAST), cal.cox_calibration(y, u, level=0.98)
    assert found.slope == pytest.approx(fit.slope) and found.slope_level == pytest.approx(0.98)
    assert (found.slope_low, found.slope_high) == pytest.approx((fit.slope_low, fit.slope_high))
    strict = cal.verdict(y, u, level=0.99, **FAST)
    assert strict.slope_level == pytest.approx(0.996) and strict.slope_low < found.slope_low


def test_the_slope_of_many_rows_is_that_of_cells(monkeypatch):
    y, u = off("slope", 5000, 3)
    by_rows = judged(y, u).slope
    monkeypatch.setattr(tests, "FITTED_CELLS_FROM", 1000)
    by_cells = judged(y, u).slope
    assert by_cells.value == pytest.approx(by_rows.value, rel=1e-4) and by_cells != by_rows
    assert by_cells.error == pytest.approx(by_rows.error, rel=1e-3)
    assert by_cells.p_value(1.0) == pytest.approx(by_rows.p_value(1.0), rel=0.01)


def test_a_slope_that_is_named_has_an_interval_without_1():
    """The score alone rejects in some samples whose interval, by Wald, holds 1."""
    by_score_alone = 0
    for seed in range(60):
        rng = np.random.default_rng((2, seed))
        u = rng.beta(1, 12, 250)
        y = rng.random(250) < u**1.4
        found = judged(y.astype(int), u)
        if found.slope is None:
            continue
        low, high = found.slope_limits(0.95)
        assert (found.p_values["slope"] < 0.015) == (not low <= 1 <= high)
        assert found.p_values["slope"] >= found.slope.p_value(1.0)
        by_score_alone += found.p_values["slope"] == found.slope.p_value(1.0)
    assert by_score_alone >= 5


def test_a_wrong_mean_is_no_wrong_slope():
    rng = np.random.default_rng(3)
    u = rng.beta(1, 9, 3000)
    y = rng.random(3000) < 1 / (1 + np.exp(-np.log(u / (1 - u)) - 0.5))
    uncertainty, *_ = _uncertainty_of_measure(to_samples(y, u), "ece", 15, n_resamples=500, seed=0)
    drawn = uncertainty.calibrated_draws(uncertainty.plain_problem)[0]
    assert tests.mean_p(drawn) < 1e-6 and tests.slope_p(drawn) > 0.01
    assert cal.verdict(y, u, **FAST).decided_by == "mean"


def test_predictions_of_0_and_1_have_no_part_in_the_slope():
    rng = np.random.default_rng(2)
    u = rng.choice([0.0, 0.2, 0.5, 0.8, 1.0], 1500)
    y = rng.random(1500) < 0.1 + 0.8 * u
    fit = cal.cox_calibration(y, u)
    found = cal.verdict(y, u, **FAST)
    assert found.slope == pytest.approx(fit.without_clipped.slope)
    assert abs(found.slope - fit.slope) > 0.2
    certain = cal.verdict(y, np.round(u), **FAST)
    assert certain.slope is None and certain.decided_by == "noise floor"


def test_clusters_and_weights_are_in_the_slope():
    y, u = off("slope", 600, 6)
    groups, w = np.repeat(np.arange(200), 3), np.linspace(0.2, 3, 600)
    options = {"groups": groups, "sample_weight": w}
    found = cal.verdict(np.repeat(y[:200], 3), np.repeat(u[:200], 3), **options, **FAST)
    fit = cal.cox_calibration(np.repeat(y[:200], 3), np.repeat(u[:200], 3), level=0.98, **options)
    assert found.slope == pytest.approx(fit.slope)
    assert found.slope_low == pytest.approx(min(fit.slope_low, 1.0))


@pytest.mark.parametrize(
    ("y", "u"),
    [
        (np.ones(80), np.linspace(0.5, 0.9, 80)),
        (np.arange(80) >= 40, np.linspace(0.1, 0.9, 80)),
        (np.arange(80) % 2, np.full(80, 0.4)),
    ],
)
def test_without_a_slope_its_share_goes_to_the_noise_floor(y, u):
    found = judged(y.astype(int), u)
    assert found.slope is None and "slope" not in found.p_values
    assert found.adjusted["noise floor"] == pytest.approx(
        min(1, found.p_values["noise floor"] / 0.9)
    )
    told = cal.verdict(y.astype(int), u, **FAST)
    assert told.slope is told.slope_low is told.slope_high is told.slope_level is None


def test_the_smallest_p_value_over_its_share_decides():
    p_values = {"slope": 0.06, "mean": 0.02, "noise floor": 0.2, "curve": 0.03}
    found = tests.CalibrationTests(p_values, tests.FittedCoefficient(0.8, 0.1, math.inf), 0.5, 0.5)
    assert found.p_value == pytest.approx(0.1) and found.first == "mean"
    sure = tests.CalibrationTests(
        {"slope": 1e-9, "mean": 0.3, "noise floor": 1e-12, "curve": 0.001}, None, 0.5, 0.5
    )
    assert sure.first == "slope"
    assert sum(tests.SHARES.values()) <= 1.2 + 1e-9  # no more than 6 % of false alarms at 95 %


@pytest.mark.parametrize(("chance", "named"), [(0.7e-6, "slope"), (1.4e-6, "noise floor")])
def test_a_slope_is_named_before_a_smaller_p_value_where_it_convinces(chance, named):
    """One in a million does, and the noise floor says less of what is wrong."""
    p_values = {"slope": 0.4 * chance, "mean": 0.3, "noise floor": 1e-9, "curve": 0.3}
    slope = tests.FittedCoefficient(0.8, 0.04, math.inf)
    assert tests.CalibrationTests(p_values, slope, 0.5, 0.5).first == named


@pytest.mark.parametrize(("shift", "named"), [(1.5, "mean"), (0.02, "slope")])
def test_of_two_errors_beyond_doubt_the_larger_one_is_named(shift, named):
    """Both p-values are as small as can be shown; predictions are off by 26 points or by 0.3."""
    rng = np.random.default_rng(1)
    h = rng.normal(0, 1.7, 60_000)
    y = (rng.random(h.size) < 1 / (1 + np.exp(shift - 0.8 * h))).astype(int)
    y[:3000] = 0  # the mean is off beyond doubt
    found = judged(y, 1 / (1 + np.exp(-h)))
    assert max(found.adjusted["slope"], found.adjusted["mean"]) < tests.CONVINCING
    assert found.first == named


@pytest.mark.parametrize(
    ("name", "share"), [("slope", 0.4), ("mean", 0.2), ("noise floor", 0.5), ("curve", 0.1)]
)
def test_the_share_of_each_test(name, share):
    """Half of it loses the power that is promised, twice of it makes too many false alarms."""
    p_values = dict.fromkeys(tests.SHARES, 1.0) | {name: 0.01}
    found = tests.CalibrationTests(p_values, tests.FittedCoefficient(0.8, 0.1, math.inf), 0.5, 0.5)
    assert found.p_value == pytest.approx(0.01 / share) and found.first == name


def test_soft_labels_that_are_the_predictions_are_calibrated():
    """What is left of residuals is rounding, of which a slope was made."""
    for seed in range(12):
        u = np.random.default_rng(seed).random(2000)
        found = cal.verdict(u, np.nextafter(u, seed % 2), **FAST)
        assert found.verdict == "calibrated within noise" and found.p_value == 1


def test_both_sides_count():
    drawn = np.random.default_rng(0).normal(size=20_000)
    assert tests._two_sided(drawn, 1.96) == pytest.approx(0.05, rel=0.1)
    assert tests._two_sided(drawn, -1.96) == pytest.approx(0.05, rel=0.1)
    assert tests._two_sided(np.exp(drawn), 0.05) < 0.01  # few where few are rare
    assert tests._two_sided(drawn, 0.0) == pytest.approx(1.0, abs=0.05)


# --- classes --------------------------------------------------------------------------------------


def sharpened(n, power, seed=0):
    """Classes whose predictions are too sharp."""
    drawn = worlds.classes(4, 1.5)(n, np.random.default_rng(seed))
    p = drawn["y_proba"] ** power
    return drawn["y_true"], p / p.sum(axis=1, keepdims=True)


def test_confidences_of_the_top_label_have_a_slope():
    y, p = sharpened(1500, 1.4)
    found = cal.verdict(y, p, **FAST)
    fit = cal.cox_calibration(y, p, level=0.98)
    assert found.slope == pytest.approx(fit.slope) and found.slope_high < 1
    assert found.decided_by == "mean"
    assert "overconfident by 9 points on average (mean confidence 0.704" in str(found)
    assert ", accuracy 0." in str(found) and "Overconfident" not in str(found)


def test_confidences_in_answers_are_overconfident(tmp_path):
    """Labels called correct say so wherever rows are: in arrays, frames, files and streams."""
    rng = np.random.default_rng(0)
    p = rng.choice([0.9, 0.95, 0.99], 600)
    y = (rng.random(600) < p - 0.38).astype(int)
    frame = polars.DataFrame({"correct": y, "confidence": p})
    frame.write_csv(tmp_path / "rows.csv")
    stream = cal.Accumulator()
    stream.update(frame["correct"], frame["confidence"])
    names = {"y_true": "correct", "y_proba": "confidence"}
    told = [
        cal.verdict(**names, data=frame),
        cal.evaluate(**names, data=frame.lazy(), uncertainty=True).verdict,
        cal.evaluate_file(tmp_path / "rows.csv", uncertainty=True).verdict,
        stream.evaluate(uncertainty=True).verdict,
    ]
    points = round(100 * (p.mean() - y.mean()))
    assert all(f"verconfident by {points} points" in str(each) for each in told)
    assert f"too high by {points} points" in str(cal.verdict(y, p))


@pytest.mark.parametrize("measure", ["classwise_ece", "lin_ce", "brier"])
def test_errors_over_all_classes_and_losses_have_the_noise_floor_alone(measure):
    y, p = sharpened(1500, 1.4)
    found = cal.verdict(y, p, measure=measure, n_resamples=100)
    assert found.decided_by == "noise floor" and found.slope is None
    assert found.p_value == cal.noise_floor(y, p, measure=measure, n_resamples=100).p_value


def test_a_binary_confidence_error_asks_about_confidences():
    """Too high by as much above 1/2 as below: confidences are right on average."""
    rng = np.random.default_rng(1)
    u = rng.random(6000)
    y = rng.random(6000) < np.clip(u - 0.08, 0, 1)
    assert judged(y, u, "lin_ce").p_value < 1e-6
    found = judged(y, u, "confidence_ce")
    assert found.predicted == pytest.approx(np.maximum(u, 1 - u).mean())
    assert found.p_values["mean"] > 1e-3


# --- words ----------------------------------------------------------------------------------------


def test_words_of_curve_mean_and_slope():
    assert slope_words(1.2345, (1.004, 1.5), 0.98, confidence=False) == (
        "predictions are not extreme enough (calibration slope 1.234, 98% CI 1.004 to 1.500)"
    )
    assert slope_words(-0.5, (-0.8, -0.2), 0.97, confidence=True).startswith(
        "confidences are ranked in reverse (calibration slope -0.50, 97% CI"
    )
    assert mean_words(0.0131, 0.0101, confidence=False, soft=False) == (
        "predictions are too high by 0.3 points on average (mean prediction 0.013, observed "
        "frequency 0.010)"
    )
    assert mean_words(0.7, 0.71, confidence=True, soft=False) == (
        "underconfident by 1 point on average (mean confidence 0.700, accuracy 0.710)"
    )
    assert "mean label 0.710)" in mean_words(0.7, 0.71, confidence=True, soft=True)
    assert curve_words(0.00312).endswith("p = 0.0031)")


def test_only_an_error_beyond_the_tolerance_is_red():
    rng = np.random.default_rng(5)
    u = rng.random(1300)
    y = rng.random(1300) < u**2
    for tolerance, within, tone in (
        (0.05, False, "bad"),
        (0.17, None, "unsure"),
        (0.5, True, "good"),
    ):
        found = cal.verdict(y, u, tolerance=tolerance, **FAST)
        assert found.verdict == "miscalibrated" and found.within_tolerance is within
        assert tone_of(found) == tone
    assert tone_of(cal.verdict(*off("slope", 40, 1), **FAST)) == "unsure" == tone_of(None)
    u = np.random.default_rng(0).random(9000)
    assert tone_of(cal.verdict(np.random.default_rng(2).random(9000) < u, u, **FAST)) == "good"


# --- words --------------------------------------------------------------------------------------


def test_a_verdict_never_contradicts_itself():
    """It said "calibrated within noise" beside a sample value above what a calibrated model would
    stay below: the noise floor is the 95 % point, and the verdict decides at a share of 5 %.
    """
    cases = [("ece", 1, 27), ("ece", 1, 40), ("smooth_ece", 1, 8), ("classwise_ce", 2, 16)]
    for measure, columns, seed in cases:
        rng = np.random.default_rng(seed)
        u = rng.random(900)
        y = (rng.random(900) < u).astype(int)
        y, u = (y, u) if columns == 1 else (1 - y, np.stack([u, 1 - u], 1))
        found = cal.verdict(y, u, measure=measure, **FAST)
        floor = cal.noise_floor(y, u, measure=measure, **FAST)
        assert found.value > found.noise_upper and found.verdict != "miscalibrated"
        assert "would stay below" not in str(found)
        percent = f"{100 * floor.p_value:.1f}%"
        assert f"above that value in {percent} of samples (the verdict needs less than" in str(
            found
        )


def test_words_of_the_noise_floor_between_its_two_points():
    below, above = _floor(value=0.030, p=0.08), _floor(value=0.033, p=0.04)
    words = partial(_chance_in_words, decides=0.025)
    # The usual words do where the value is on the side that the verdict says.
    assert words(below, beyond=False, by_floor=False) == ""
    assert words(_floor(value=0.05, p=0.001), beyond=True, by_floor=True) == ""
    assert words(above, beyond=True, by_floor=False) == ""  # another test decided
    assert words(above, beyond=False, by_floor=False) == (
        "a calibrated model would be above that value in 4.0% of samples (the verdict needs less "
        "than 2.5%)"
    )
    # A verdict of a lower level decides below the 95 % point.
    assert _chance_in_words(below, 0.1, beyond=True, by_floor=True).endswith(
        "in 8.0% of samples (the verdict needs less than 10.0%)"
    )
    low = _floor(value=0.033, p=0.01)
    assert words(low, beyond=False, by_floor=False).endswith("but the interval reaches 0")
    better = NoiseFloor("brier_discrimination", 0.1, 0.15, 0.12, 0.04, 200, "")
    assert "would be below that value" in words(better, beyond=False, by_floor=False)
    assert words(None, beyond=False, by_floor=False) == ""


def _floor(value, p):
    """A noise floor of 0.0317."""
    return NoiseFloor("ece", value, 0.02, 0.0317, p, 200, "")
