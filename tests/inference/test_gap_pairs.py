"""Differences of absolute errors: what cancels, what is decided, and what limits contain."""

import numpy as np
import pytest

import calibrant as cal
from calibrant import Quantile
from calibrant._data.to_samples import to_samples
from calibrant._inference.blocks import blocks_of
from calibrant._inference.cells import problem_of
from calibrant._inference.gap_pairs import GapPair
from calibrant._inference.second_moments import SlotNoise, second_moments
from calibrant._inference.slots import Slots, class_slots
from rivals import sigmoid
from slopes import ABSOLUTE, difference, differences, named_better, outcomes, times_held


def test_a_predictor_differs_from_itself_by_nothing():
    y, h = outcomes(400, 0)
    u, measures = sigmoid(1.4 * h), [*ABSOLUTE, "mce", "lin_ce", "atb"]
    for measure, same in differences(y, u, u.copy(), measures).items():
        assert same.low == same.high == 0.0, measure
    # Moved by a hair within their bins, two predictors are still all but one.
    for measure, near in differences(y, u, u * (1 - 1e-9), measures).items():
        assert near.high - near.low <= 1e-4, measure


def test_common_rows_cancel():
    """Two slopes on the same rows against the same two on rows of their own."""
    y, h = outcomes(2000, 1)
    other_y, other_h = outcomes(2000, 2)
    paired = cal.check(
        y, sigmoid(1.5 * h), baseline=sigmoid(1.35 * h), max_increase={"ece": 0.01}
    ).rows[0]
    apart = cal.check(
        y,
        sigmoid(1.5 * h),
        baseline={"y_true": other_y, "y_proba": sigmoid(1.35 * other_h)},
        paired=False,
        max_increase={"ece": 0.01},
    ).rows[0]
    widths = [each.interval.high - each.interval.low for each in (paired, apart)]
    assert widths[1] > 1.7 * widths[0]


def test_the_better_of_two_slopes_is_named():
    """On 2,000 rows an oracle names it in every sample; limits laid end to end named none."""
    assert named_better(ABSOLUTE, 1.35, [10]) == dict.fromkeys(ABSOLUTE, 1)


def test_a_recalibrated_predictor_is_named():
    measures = ("ece", "smooth_ece", "ks_error")
    assert named_better(measures, 1.0, [20]) == dict.fromkeys(measures, 1)


def test_limits_contain_the_difference_of_two_slopes():
    """Of six samples, of which `make long` has forty, five or more do with a chance of 0.97."""
    assert times_held(300, 1.35, 0.0156, range(100, 106)) >= 5


@pytest.mark.parametrize("kind", ["weights", "clusters", "soft", "classes", "own labels"])
def test_other_data_have_sharp_differences(kind):
    """The interval of a difference is well within what the two single intervals allow."""
    y, h = outcomes(1500, 3)
    rng = np.random.default_rng(54)
    models = {"a": sigmoid(1.8 * h), "b": sigmoid(1.4 * h)}
    options = {}
    if kind == "weights":
        options["sample_weight"] = np.exp(rng.normal(0, 0.7, y.size))
    elif kind == "clusters":
        options["groups"] = np.arange(y.size) // 5
    elif kind == "soft":
        y = rng.beta(4 * sigmoid(h) + 0.1, 4 * (1 - sigmoid(h)) + 0.1)
    elif kind == "classes":
        scores = rng.normal(0, 2, (1500, 4))
        right, *tempered = (np.exp(t * scores) for t in (1.0, 1.8, 1.4))
        right /= right.sum(axis=1, keepdims=True)
        y = (right.cumsum(axis=1) < rng.random(1500)[:, None]).sum(axis=1)
        models = {
            name: each / each.sum(axis=1, keepdims=True)
            for name, each in zip("ab", tempered, strict=True)
        }
    else:
        y = {"a": y, "b": np.where(rng.random(y.size) < 0.03, 1 - y, y)}
    measures = ["ece", "lin_ce"] if kind != "classes" else ["ece", "classwise_ece", "classwise_ce"]
    found = cal.compare(y, models, measures=measures, bin_counts=(5,), **options)
    for j, measure in enumerate(measures):
        d = found.difference("a", "b", measure)
        (low, high, _), (least, most, _) = found.limits[:, j]
        ends = (high - least) - (low - most)
        assert d.high - d.low < 0.6 * ends, measure
        assert d.better == "b", measure


def pair_of(y, *predictors):
    slots = (
        Slots.of_problem(problem_of(to_samples(y, u), "binary", Quantile(10))) for u in predictors
    )
    return GapPair(SlotNoise(second_moments(tuple(slots), None), 200, 0))


def chance_of_redraws(y, u, rng):
    """The chance of mean and trend of the residuals over ten bins, the rarer of them twice, by
    outcomes drawn from the predictions one by one.
    """
    bins = np.argsort(np.argsort(u)) * 10 // u.size
    middle = np.array([u[bins == b].mean() for b in range(10)])[bins]
    ways = np.stack([np.ones(u.size), middle - middle.mean()], axis=1)
    drawn = np.abs(((rng.random((1000, u.size)) < u) - u) @ ways)
    return 2.0 * float((drawn >= np.abs((y - u) @ ways)).mean(axis=0).min())


def test_what_is_called_off_is_what_redraws_call_off():
    """Calibrated predictions of 100 rows are, with the stated chance at most; and the samples of
    which draws of outcomes say so.
    """
    called = slow = alike = 0
    for seed in range(200):
        y, h = outcomes(100, 1000 + seed)
        found = pair_of(y, sigmoid(h), sigmoid(2 * h)).has_trend(0, 0.05)
        drawn = chance_of_redraws(y, sigmoid(h), np.random.default_rng((57, seed))) < 0.05
        called, slow, alike = called + found, slow + drawn, alike + (found == drawn)
    assert called <= 16  # of 10 or fewer that are expected, two standard errors more
    assert abs(called - slow) <= 5 and alike >= 194, (called, slow, alike)


def test_a_slope_is_called_off_whichever_of_two_predictors_has_it():
    called = 0
    for seed in range(40):
        y, h = outcomes(2500, 2000 + seed)
        pair = pair_of(y, sigmoid(h), sigmoid(1.2 * h))
        called += pair.has_trend(1, 0.0125)
    assert called >= 36, called


def test_predictors_that_err_on_either_side_keep_room_about_the_value():
    """Noise that raises one error lowers the other, and what is taken out as bias follows it: the
    limits reach about as far as values of samples scatter (0.018), on both sides of the value.
    """
    rng = np.random.default_rng((8, 3))
    x = 0.1 + 0.8 * rng.random(1000)
    y = (rng.random(1000) < x).astype(int)
    found = difference(y, x + 0.04, x - 0.04, "ece")
    assert min(found.high - found.value, found.value - found.low) > 1.85 * 0.018


def one_too_steep_and_one_too_flat(seed):
    """A sample whose noise makes the flat predictor seem right and the steep one worse."""
    rng = np.random.default_rng((11, 888, seed))
    h = rng.normal(0, 1.5, 2000)
    y = (rng.random(2000) < sigmoid(h)).astype(int)
    return y, sigmoid(1.2 * h), sigmoid(0.85 * h)


@pytest.mark.parametrize("seed", [3, 6, 22, 41])
def test_noise_does_not_make_one_of_two_that_err_on_either_side_right(seed):
    """The true difference is 0.0034, 0.6 to 1.5 standard errors above these samples' values."""
    found = difference(*one_too_steep_and_one_too_flat(seed), "smooth_ece")
    assert found.low < 0.0034 < found.high


def test_only_predictors_that_err_on_either_side_of_the_same_labels_are_opposed():
    opposed = {(1.2, 0.85): 0, (1.5, 1.35): 0}
    for seed in range(20):
        y, h = outcomes(2000, 3000 + seed)
        for first, second in opposed:
            opposed[first, second] += pair_of(y, sigmoid(first * h), sigmoid(second * h)).opposed
    assert opposed[1.2, 0.85] >= 18 and opposed[1.5, 1.35] == 0, opposed


def softmax(z):
    raised = np.exp(z - z.max(axis=1, keepdims=True))
    return raised / raised.sum(axis=1, keepdims=True)


def drawn_classes(q, rng):
    return (rng.random((len(q), 1)) > q.cumsum(axis=1)[:, :-1]).sum(axis=1)


def test_a_class_may_be_calibrated_beside_others_that_are_off():
    """Classes biased by -2 to 2 steps, one of them by none, against a slope of 1.15: with gaps of
    one size in all bins, the noise of the calibrated class counted as gaps, and a fifth of the
    lower limits lay above the true difference of 0.0244.
    """
    rng = np.random.default_rng((21, 1))
    logits = 1.7 * rng.normal(size=(1500, 5))
    y = drawn_classes(softmax(logits), rng)
    biased = softmax(logits + np.array([0.5, 0.25, 0.0, -0.25, -0.5]))
    found = difference(y, biased, softmax(1.15 * logits), "classwise_ece")
    assert found.low < 0.0205 < 0.0244 < found.high


@pytest.mark.parametrize(("measure", "truth"), [("ace", -0.0170), ("classwise_ece", -0.0171)])
def test_two_confused_classes_stand_beside_four_that_are_right(measure, truth):
    """Two of six classes are confused in a quarter of the labels; a second predictor is also 1.2
    times too steep. What noise adds to the first one's error sits in the four right classes: limits
    with gaps of one size in all classes missed the truth in four of five samples.
    """
    held = 0
    for seed in range(6):
        rng = np.random.default_rng((22, seed))
        logits = 2.0 * rng.normal(size=(800, 6))
        right, confused = softmax(logits), softmax(logits)
        confused[:, :2] = 0.75 * right[:, :2] + 0.25 * right[:, 1::-1]
        y = drawn_classes(confused, rng)
        found = difference(y, right, softmax(1.2 * logits), measure)
        held += found.low <= truth <= found.high
    assert held >= 5, held


def test_classes_that_may_be_right_are_those_that_show_noise():
    """Two classes of six are confused; those that may be right are among the other four."""
    rng = np.random.default_rng((22, 9))
    logits = 2.0 * rng.normal(size=(4000, 6))
    right, confused = softmax(logits), softmax(logits)
    confused[:, :2] = 0.75 * right[:, :2] + 0.25 * right[:, 1::-1]
    y = drawn_classes(confused, rng)
    samples = to_samples(y, right)
    slots = class_slots(samples, Quantile(10), above=False)
    moments = second_moments((slots, slots), blocks_of(4000, None, 0))
    pair = GapPair(SlotNoise(moments, 200, 0))
    quiet = pair.may_be_zero(0, 0.0125, rejected=True).reshape(2, 6, 10)
    assert not quiet[1].any()  # the other predictor's
    assert not quiet[0, :2].any()
    assert quiet[0, 2:].any(axis=1).sum() >= 3
    assert (quiet.any(axis=2) == quiet.all(axis=2)).all()  # whole classes
    # Where nothing is rejected, all of the predictor's slots may be 0.
    assert not pair.may_be_zero(0, 0.0125, rejected=False).all()


@pytest.mark.parametrize("measure", ["ece", "smooth_ece", "rmsce", "lin_ce"])
def test_limits_do_not_depend_on_the_order_of_predictors(measure):
    y, h = outcomes(600, 77)
    models = {"a": sigmoid(1.5 * h), "b": sigmoid(1.2 * h)}
    back = dict(reversed(models.items()))
    one, other = (
        cal.compare(y, given, measures=[measure], bin_counts=(5,)).difference("a", "b", measure)
        for given in (models, back)
    )
    assert (one.low, one.high, one.estimate) == (other.low, other.high, other.estimate)
