"""Tolerances and limits: one scale for every measure, one rule for verdict and check."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest

import calibrant as cal
from calibrant import Check, EqualWidth, Estimate, InputError, Interval, NoiseFloor, Quantile
from calibrant._api.evaluate_uncertainty import interval_notes
from calibrant._api.metrics import uncertainty
from calibrant._data.to_samples import to_samples
from calibrant._measures.catalogue import find
from calibrant._measures.gap_scale import gap_scale
from calibrant._summaries.samples import Summary
from calibrant.results import Limit, LimitCheck
from calibrant.results._rendering import distinct_numbers, in_full
from calibrant.results._verdict import _numbers_in_words

FAST = {"n_resamples": 200}


def calibrated(n, seed=0):
    rng = np.random.default_rng((31, seed))
    p = rng.uniform(0.05, 0.8, n)
    return (rng.random(n) < p).astype(int), p


def classes(n, k, seed=0):
    rng = np.random.default_rng((32, seed))
    p = rng.dirichlet(np.ones(k), n)
    return np.array([rng.choice(k, p=row) for row in p]), p


# --- the scale ------------------------------------------------------------------------------------


@pytest.mark.parametrize("gap", [0.01, 0.15])
@pytest.mark.parametrize("measure", ["ece", "rmsce", "ace", "lin_ce", "brier_miscalibration"])
def test_a_gap_in_every_row_is_the_gap_of_every_measure(measure, gap):
    """Soft labels that are off by the same everywhere: no noise, and one gap for all measures."""
    p = np.linspace(0.2, 0.8, 300)
    samples = to_samples(p - gap, p)
    summary, chosen = Summary(samples, EqualWidth(15), Quantile(15)), find(measure, "binary")
    value = chosen.compute(summary)
    scale = gap_scale(chosen, summary)
    assert scale.gap(value) == pytest.approx(gap, rel=1e-6)
    assert scale.value(gap) == pytest.approx(value, rel=1e-6)


def test_weights_are_in_the_scale():
    rng = np.random.default_rng(0)
    p, w = np.linspace(0.2, 0.8, 300), rng.exponential(size=300) * 7
    summary = Summary(to_samples(p - 0.1, p, sample_weight=w), EqualWidth(15), Quantile(15))
    chosen = find("lin_ce", "binary")
    assert gap_scale(chosen, summary).gap(chosen.compute(summary)) == pytest.approx(0.1)


@pytest.mark.parametrize(
    "measure", ["classwise_ce", "confidence_ce", "confidence_ce_uncorrected", "lin_ce"]
)
def test_the_scale_of_squares_over_classes(measure):
    """A gap of every bin gives back the value, whatever the classes; corrections come off first."""
    y, p = classes(500, 4)
    summary, chosen = Summary(to_samples(y, p)), find(measure, "multiclass")
    scale, value = gap_scale(chosen, summary), chosen.compute(summary)
    assert scale.power == 2 and scale.value(scale.gap(value)) == pytest.approx(value)
    offset = 0.0
    if measure == "confidence_ce":
        offset = value - find("confidence_ce_uncorrected", "multiclass").compute(summary)
        assert offset > 0
    assert scale.offset == pytest.approx(offset) and scale.gap(offset) == 0


@pytest.mark.parametrize("measure", ["ece", "rmsce", "lin_ce", "brier_miscalibration"])
def test_a_gap_of_15_points_is_not_within_a_tolerance_of_5(measure):
    y, p = calibrated(4000)
    found = cal.verdict(y, p + 0.15, measure=measure, **FAST)
    assert found.verdict == "miscalibrated" and found.within_tolerance is False
    assert found.gap_low > 0.05 and "within the tolerance" not in str(found)


def test_squares_over_classes_are_not_within_it_either():
    y, p = classes(1500, 3)
    sharp = p**4 / (p**4).sum(axis=1, keepdims=True)
    for measure in ("classwise_ce", "confidence_ce"):
        found = cal.verdict(y, sharp, measure=measure, n_resamples=100)
        assert found.verdict == "miscalibrated" and found.within_tolerance is not True, measure


def test_limits_of_few_rows_that_lie_outside_are_not_said_to_be_unsure():
    """It said of limits from .42 to .59 that they do not show whether they exceed .05."""
    found = cal.verdict(np.ones(20, int), np.linspace(0.3, 0.6, 20), **FAST)
    assert found.verdict == "miscalibrated" and found.low > 0.3
    assert "to say whether" not in str(found)
    assert str(found).endswith("But 20 rows are too few to rely on the interval.")


@pytest.mark.parametrize("measure", ["ece", "lin_ce", "brier_miscalibration"])
def test_25_calibrated_rows_are_not_enough_for_any_measure(measure):
    found = cal.verdict(*calibrated(25), measure=measure, **FAST)
    assert found.verdict == "not enough data"
    assert str(found).startswith("Not enough data to say whether the error exceeds the tolerance")
    assert "25 rows are too few; about" in str(found)
    # Not the fewest that decide anything: so many as make the interval short enough.
    assert found.gap_high > found.tolerance and found.rows_needed > 150


# --- verdict and check ----------------------------------------------------------------------------


def test_verdict_and_check_never_contradict():
    """Over data of all kinds: the same interval, the same rule, the same answer."""
    agreed = set()
    for seed in range(24):
        rng = np.random.default_rng((33, seed))
        n = int(rng.choice([20, 80, 400, 3000]))
        y, p = calibrated(n, seed)
        p = np.clip(p + rng.choice([0.0, 0.03, 0.1, 0.2]), 0, 1)
        tolerance = float(rng.choice([0.01, 0.05, 0.08, 0.2]))
        groups = np.arange(n) // 2 if rng.random() < 0.3 else None
        options = {"groups": groups, "seed": seed, "n_resamples": 60}
        told = cal.verdict(y, p, tolerance=tolerance, **options)
        held = cal.check(y, p, at_most={"ece": tolerance}, **options)
        expected = {True: "pass", False: "fail", None: "undecided"}[told.within_tolerance]
        assert held.verdict == expected, (seed, told, held)
        if held.verdict == "pass":
            assert told.verdict == "calibrated within noise" or "within the tol" in str(told)
        if held.verdict == "fail":
            assert told.verdict == "miscalibrated" and "within the tolerance" not in str(told)
        agreed.add((told.verdict, held.verdict))
    assert {("miscalibrated", "fail"), ("calibrated within noise", "pass")} <= agreed


def test_squares_agree_too():
    y, p = calibrated(900)
    told = cal.verdict(y, np.clip(p + 0.1, 0, 1), measure="lin_ce", **FAST)
    summary = Summary(to_samples(y, np.clip(p + 0.1, 0, 1)), EqualWidth(15), Quantile(15))
    limit = gap_scale(find("lin_ce", "binary"), summary).value(0.05)
    held = cal.check(y, np.clip(p + 0.1, 0, 1), at_most={"lin_ce": limit}, **FAST)
    assert {True: "pass", False: "fail", None: "undecided"}[told.within_tolerance] == held.verdict


def fake(low, high, p, level=0.95, value=0.06, p_low=math.nan):
    """The verdict of an interval and a noise floor that are given."""
    y, p_hat = calibrated(500)
    worth, chosen, _ = uncertainty._uncertainty_of_measure(
        to_samples(y, p_hat), "ece", 15, n_resamples=60, seed=0, level=level
    )
    interval = Interval("ece", value, low, high, level, "given", estimate=low)
    floor = NoiseFloor("ece", value, 0.03, 0.05, p, 99, "given", p_low=p_low)
    return uncertainty.verdict_of(interval, floor, 0.05, chosen, worth)


@pytest.mark.parametrize(
    ("p", "level", "kind"),
    [
        (0.02, 0.95, "miscalibrated"),
        (0.02, 0.99, "calibrated within noise"),
        (0.004, 0.99, "miscalibrated"),
        (0.04, 0.9, "miscalibrated"),
        (0.04, 0.95, "calibrated within noise"),
    ],
)
def test_the_level_moves_the_thresholds(p, level, kind):
    assert fake(0.001, 0.045, p, level).verdict == kind


def test_predictions_that_are_better_than_chance_allows_are_said_to_be():
    found = fake(0.0, 0.01, 0.999, value=0.001, p_low=0.0004)
    assert "lower than expected for a calibrated model (p = 0.0004)" in str(found)
    assert "used to fit the model" in str(found)
    assert "lower than" not in str(fake(0.0, 0.01, 0.5, value=0.005, p_low=0.5))


def test_a_value_outside_its_interval_is_commented_everywhere():
    interval = Interval("lin_ce", 3e-4, 0.0, 1e-4, 0.95, "given", estimate=2e-5)
    assert interval.comment == (
        "raw values are biased upwards; the bias-corrected estimate is 2e-05"
    )
    assert interval.comment == interval.to_dict()["comment"]
    assert "estimate 2e-05; sample value" in repr(interval)
    assert f"({interval.bias})" in repr(interval)
    held = LimitCheck(Limit("lin_ce", "max", 1e-3), None, 500, 3e-4, interval)
    assert f"({interval.bias})" in held.sentence
    assert Interval("ece", 0.05, 0.0, 0.1, 0.95, "given").comment == ""
    rows = [
        Estimate(name, value, "", "binary", "", None, interval=replace(interval, value=value))
        for name, value in (("ece", 3e-4), ("lin_ce", 3e-4), ("mce", 5e-5))
    ]
    (note,) = interval_notes(rows)
    assert note.startswith("ece, lin_ce: raw values are biased upwards")
    assert "near 0" not in note


@pytest.mark.parametrize(("value", "high"), [(1.0, 0.9999999), (0.999999, 0.99999)])
def test_a_value_that_no_reader_sees_outside_is_not_commented(value, high):
    interval = Interval("ls_ece", value, 0.99, high, 0.95, "given")
    assert interval.comment == ""
    assert not interval_notes(
        [Estimate("ls_ece", value, "", "binary", "", None, interval=interval)]
    )


def test_estimates_stand_beside_values_and_the_estimand_is_named():
    y, p = calibrated(300)
    result = cal.evaluate(y, p, measures=["ece", "lin_ce"], uncertainty=True, **FAST)
    columns = result.columns()
    assert list(columns)[:4] == ["measure", "value", "estimate", "low"]
    assert columns["estimate"] == [e.interval.estimate for e in result.estimates]
    told = json.loads(result.to_json())
    for row in told["measures"]:
        assert row["estimate"] == row["interval"]["estimate"]
        assert "population" in row["interval"]["estimand"]
    assert "population" in told["recipe"]["estimand"]
    assert "estimate" in repr(result) and "estimate" in result._repr_html_()


# --- check ----------------------------------------------------------------------------------------


def part(verdict, joint=None):
    ends = {"pass": (0.0, 0.04), "fail": (0.06, 0.1), "undecided": (0.0, 0.1)}[verdict]
    interval = Interval("ece", 0.05, *ends, 0.95, "given")
    return LimitCheck(Limit("ece", "max", 0.05), None, 900, 0.05, interval, joint=joint)


def test_only_a_pass_is_true():
    for verdict, truth in (("pass", True), ("fail", False), ("undecided", False)):
        assert bool(Check((part(verdict),), 900, 0, 0.95, False)) is truth
    y, p = calibrated(3000)
    assert cal.check(y, p, at_most={"brier": 0.3}, **FAST)
    assert not cal.check(y, p, at_most={"brier": 0.01}, **FAST)


def test_a_fail_of_many_needs_the_level_of_many():
    wide = Interval("ece", 0.05, 0.04, 0.12, 0.99975, "given")
    narrow = Interval("ece", 0.05, 0.055, 0.12, 0.99975, "given")
    assert part("fail", wide).verdict == "undecided" and part("fail", narrow).verdict == "fail"
    held = part("fail", wide)
    assert "99.975% CI 0.0400 to 0.1200, corrected for the number" in held.sentence
    assert "95% CI" not in held.sentence and held.deciding is wide
    assert part("undecided", wide).deciding is not wide  # undecided at the plain level already
    shown = Check((held, part("pass", wide)), 900, 0, 0.95, False).to_markdown()
    assert "| 0.0400 | 0.1200 | 99.975% | undecided |" in shown and "| 95% | pass |" in shown
    assert part("pass", wide).verdict == "pass"


def test_slices_fail_at_a_level_that_knows_their_number_and_pass_at_the_plain_one():
    y, p = calibrated(1200)
    by = np.arange(1200) % 4
    off = np.where(by == 3, np.clip(p + 0.2, 0, 1), p)
    found = cal.check(y, off, at_most={"ece": 0.12}, by=by, **FAST)
    for name in range(4):
        held = next(each for each in found.rows if each.where == str(name))
        rows = by == name
        assert held.interval == cal.interval(y[rows], off[rows], **FAST)
        if held.joint is not None:
            strict = cal.interval(y[rows], off[rows], level=1 - 0.05 / 5, **FAST)
            assert held.joint == strict
    last = next(each for each in found.rows if each.where == "3")
    assert last.joint is not None


@pytest.mark.parametrize("limits", ["ece=0.02", ["ece"], 0.02, ("ece", 0.02)])
@pytest.mark.parametrize("option", ["at_most", "at_least"])
def test_limits_that_are_no_mapping_are_refused(option, limits):
    with pytest.raises(InputError, match=f"{option} must map names of measures to limits"):
        cal.check([0, 1, 1], [0.2, 0.7, 0.9], **{option: limits})


@pytest.mark.parametrize("tolerance", [5, 1, 0, -0.1, math.nan, math.inf, "0.05", None, True])
def test_tolerances_that_decide_nothing_are_refused(tolerance):
    y, p = calibrated(40)
    for function in (cal.verdict, cal.evaluate, cal.report):
        with pytest.raises(InputError, match="tolerance must be a number between 0 and 1"):
            function(y, p, tolerance=tolerance)


def test_the_tolerance_of_a_loss_is_on_its_own_scale():
    y, p = calibrated(200)
    assert cal.verdict(y, p, measure="log_loss", tolerance=2.0, **FAST).within_tolerance is True
    above = cal.verdict(y, p, measure="log_loss", tolerance=0.1, **FAST)
    assert above.verdict == "not enough data" and above.rows_needed is None
    assert "a loss can be high" in str(above)


# --- digits ---------------------------------------------------------------------------------------


def test_numbers_of_a_sentence_can_be_distinct_numbers():
    assert distinct_numbers((0.05, 0.0, 0.1)) == ["0.0500", "0", "0.1000"]
    assert distinct_numbers((5e-6, 0.0, 7.25e-6)) == ["5e-06", "0", "7.25e-06"]
    assert distinct_numbers((0.000119999,), (0.00012,)) == ["0.000119999"]
    assert distinct_numbers((0.050001, 0.05)) == ["0.050001", "0.050000"]
    for a, b in ((0.1234567, 0.12345671), (1e-9, 1.0001e-9), (123.4567891234, 123.4567891235)):
        x, y = distinct_numbers((a, b))
        assert float(x) < float(y)
    assert in_full(0.05) == "0.05" and in_full(5) == "5" and in_full(1e-6) == "1e-06"


def test_an_interval_that_ends_at_its_value_is_printed_so():
    """No "ECE 0.258333333333 (95% CI 0 to 0.258333333334)"."""
    value = 31 / 120
    interval = Interval("ece", value, 0.0, value + 1e-12, 0.95, "given", estimate=0.1)
    assert "0 to 0.2583," in repr(interval) and "sample value 0.2583;" in repr(interval)
    held = LimitCheck(Limit("ece", "max", 0.05), None, 12, value, interval)
    assert "0.2583333" not in _numbers_in_words(held, None, 0.05, "ECE")
    apart = Interval("ece", value, 0.0, value * (1 + 1e-5), 0.95, "given", estimate=0.1)
    assert "0.25834," in repr(apart)


def test_what_decides_can_be_seen():
    """No "classwise_ce <= 0.00012: it is 0.0001"; no 0.0000 between 0.0000 and 0.0000."""
    interval = Interval("classwise_ce", 1.201e-4, 1.2004e-4, 2e-4, 0.95, "given", estimate=1.3e-4)
    held = LimitCheck(Limit("classwise_ce", "max", 1.2e-4), None, 900, 1.201e-4, interval)
    assert held.verdict == "fail" and "<= 0.00012:" in held.sentence
    assert "0.00012004" in held.sentence and "is 0.0001 " not in held.sentence
    small = cal.verdict(*calibrated(40_000), measure="lin_ce", **FAST)
    assert "0.0000" not in str(small) and f"{small.value:.3g}" in str(small)


# --- rows needed ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("power", "rate", "growth"), [(1, 0.5, 4.0), (2, 0.5, 4.0), (1, 1 / 3, 8.0), (2, 1 / 3, 8.0)]
)
def test_rows_follow_the_rate_of_the_measure(power, rate, growth):
    """An upper limit of twice the limit, as a gap: four times the rows, or eight."""
    from calibrant._measures.gap_scale import GapScale

    scale = GapScale(power, 0.07 if power == 2 else 1.0, 0.0, rate)
    interval = Interval("m", scale.value(0.1), 0.0, scale.value(0.1), 0.95, "", estimate=0.0)
    held = LimitCheck(
        Limit("m", "max", scale.value(0.05)), None, 10_000, 0.1, interval, scale=scale
    )
    assert held.rows_needed == pytest.approx(2 * growth * 10_000, rel=0.06)


@pytest.mark.parametrize("measure", ["ece", "lin_ce"])
def test_the_rows_needed_are_met_by_most_samples_of_that_size(measure):
    needed = [
        cal.verdict(*calibrated(300, seed), measure=measure, **FAST).rows_needed
        for seed in range(5)
    ]
    rows = int(np.median([n for n in needed if n]))
    decided = [
        cal.verdict(*calibrated(n, 100 + seed), measure=measure, **FAST).verdict
        == "calibrated within noise"
        for n in (rows, rows // 8)
        for seed in range(8)
    ]
    assert sum(decided[:8]) >= 6 and sum(decided[8:]) <= 4


def test_clusters_needed_are_named():
    rng = np.random.default_rng(5)
    clusters = np.repeat(np.arange(40), 20)
    p = rng.uniform(0.1, 0.9, clusters.size)
    y = (rng.random(clusters.size) < p).astype(int)
    found = cal.verdict(y, p, groups=clusters, tolerance=0.02, **FAST)
    assert found.verdict == "not enough data"
    assert found.clusters_needed == pytest.approx(found.rows_needed / 20, rel=0.1)
    assert f"in {found.clusters_needed:,} clusters like these" in str(found)
    held = cal.check(y, p, groups=clusters, at_most={"ece": 0.02}, **FAST)
    assert json.loads(held.to_json())["limits"][0]["clusters_needed"] > 40


def test_few_clusters_are_named_where_their_interval_would_decide():
    y, p = calibrated(2000)
    clusters = np.arange(2000) % 8
    found = cal.verdict(y, p, groups=clusters, **FAST)
    assert found.high < found.tolerance and found.verdict == "not enough data"
    assert "8 clusters are too few; about 18,000 rows in 72 clusters" in str(found)
    assert found.clusters_needed == 72
    unequal = np.minimum(clusters, 3)
    assert "4 clusters (equivalent to 2 of equal size) are too few" in str(
        cal.verdict(y, p, groups=unequal, **FAST)
    )
    weights = np.r_[np.full(20, 99.0), np.full(1980, 0.01)]
    assert "2,000 rows (equivalent to 20 of equal weight) are too few" in str(
        cal.verdict(y, p, sample_weight=weights, **FAST)
    )


def test_small_numbers_keep_their_digits_where_others_need_more():
    numbers = (0.05501, 0.0498, 0.06, 0.004056)
    assert distinct_numbers(numbers, (0.05,), places=3) == ["0.0550", "0.0498", "0.0600", "0.00406"]


def test_one_row_is_too_few():
    assert "1 row is too few; about" in str(cal.verdict([1], [0.4], **FAST))
    assert "25 rows are too few; about" in str(cal.verdict(*calibrated(25), **FAST))


def test_a_tolerance_beyond_the_rate_of_the_outcome_is_told():
    """Eight in a thousand, and predictions of one: less than the tolerance of .05 off."""
    rng = np.random.default_rng(7)
    y = (rng.random(3000) < 0.008).astype(int)
    said = "larger than the prevalence of the rarer outcome"
    low = cal.verdict(y, np.full(3000, 0.001), **FAST)
    assert low.within_tolerance and said in str(low) and "always predicting 0" in str(low)
    high = cal.verdict(1 - y, np.full(3000, 0.999), **FAST)
    assert said in str(high) and "always predicting 1" in str(high)
    assert said not in str(cal.verdict(y, np.full(3000, 0.008), tolerance=0.006, **FAST))
    y, p = calibrated(4000)
    assert said not in str(cal.verdict(y, p, **FAST))
