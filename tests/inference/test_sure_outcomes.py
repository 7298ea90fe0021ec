"""Outcomes that are all alike: rates cannot leave [0, 1], but the error of another sample may still
be larger than the one seen, and a fault that was not seen is not ruled out.
"""

import numpy as np
import pytest

import calibrant as cal
from calibrant._data.to_samples import to_samples
from calibrant._inference.few_events import count_certain_rows, poisson_limits, possible_targets
from judged import intervals

FAST = {"n_resamples": 200}


def never(rng):
    """Nothing ever happens; the true error is the mean prediction, 0.0636."""
    return np.zeros(1000, int), rng.beta(0.7, 1.5, 1000) * 0.2


def always(rng):
    """A model that is always right and says 0.8 to 1; the true error is 0.1."""
    return np.ones(500, int), rng.uniform(0.8, 1.0, 500)


def few(rng):
    """Some sure alarms, nearly all of them false; the true error is 0.0352."""
    alarm = rng.random(1000) < 0.03
    outcomes = alarm & (rng.random(1000) < 0.05)
    return outcomes.astype(int), np.where(alarm, 0.9, 0.01)


@pytest.mark.parametrize(
    ("world", "truths"),
    [(never, {"ece": 0.2 * 0.7 / 2.2}), (few, {"ece": 0.0352}),
     (always, {"ece": 0.1, "rmsce": np.sqrt(0.01 + 0.04 / 12), "ks_error": 0.1, "ace": 0.1,
               "smooth_ece": 0.1})],
)  # fmt: skip
def test_a_limit_that_is_broken_seldom_passes(world, truths):
    """At most 2.5 % should; before, four in ten did."""
    n, passed = 8, dict.fromkeys(truths, 0)
    at_most = {measure: 0.99 * truth for measure, truth in truths.items()}
    for seed in range(n):
        y, p = world(np.random.default_rng((3, seed)))
        for row in cal.check(y, p, at_most=at_most, **FAST).rows:
            passed[row.limit.measure] += row.verdict == "pass"
    # At 2.5 %, 2 or more of 8 have a chance of 2 %; at four in ten, 1 or none one of 11 %.
    assert max(passed.values()) <= 1, passed


def test_both_limits_move_where_all_outcomes_are_alike():
    interval = cal.interval(np.ones(100, int), np.full(100, 0.7))
    # A rate of 0.97 gives a hundred ones in a row one time in twenty.
    assert 0.25 < interval.low < 0.28
    assert interval.high == pytest.approx(0.3)
    y, p = never(np.random.default_rng(0))
    found = cal.interval(y, p)
    error = p.std() / np.sqrt(p.size)
    assert found.high == pytest.approx(p.mean() + 1.96 * error, abs=0.5 * error)
    assert p.mean() - 5 * error < found.low < p.mean() - 1.5 * error


@pytest.mark.parametrize(
    ("measure", "limit", "share"),
    [
        ("log_loss", 0.1, 0.1 / 27.64),
        ("brier", 0.1, 0.1),
        ("rmsce", 0.05, 0.05**2),
        ("debiased_l2", 0.05, 0.05**2),
        ("mce", 0.05, 0.05 / 15),
        ("lin_ce", 0.01, 0.1),
        ("ece", 0.02, 0.02),
    ],
)
def test_a_pass_needs_rows_that_would_have_shown_the_fault(measure, limit, share):
    """Predictions of 0 that are all right: only rows enough make that a pass."""
    needed = int(np.log(0.025) / np.log1p(-share))
    for n, verdict in ((int(0.95 * needed), "undecided"), (int(1.4 * needed) + 1, "pass")):
        y, p = np.zeros(n, int), np.zeros(n)
        assert cal.check(y, p, at_most={measure: limit}, **FAST).verdict == verdict, n


def test_a_row_of_many_classes_can_be_twice_as_wrong():
    y, rows = np.zeros(60, int), np.tile([1.0, 0.0, 0.0], (60, 1))
    assert cal.check(y, rows, at_most={"brier": 0.1}, **FAST).verdict == "undecided"
    y, rows = np.zeros(100, int), np.tile([1.0, 0.0, 0.0], (100, 1))
    assert cal.check(y, rows, at_most={"brier": 0.1}, **FAST).verdict == "pass"


def nearly_right(p, n, right, seed):
    """Predictions of p and 1 - p in turn, with the outcome they lean to in so many cases."""
    rng = np.random.default_rng((5, seed))
    p = np.where(np.arange(n) % 2, p, 1 - p)
    return np.where(rng.random(n) < right, p > 0.5, p < 0.5).astype(int), p


def rare_and_one_sure(seed):
    """Calibrated: one row of 0.9, all others of 0.01."""
    p = np.full(80, 0.01)
    p[0] = 0.9
    return (np.random.default_rng((6, seed)).random(80) < p).astype(int), p


@pytest.mark.parametrize("measure", ["brier", "log_loss", "spherical_loss", "confidence_loss"])
def test_losses_that_are_all_alike_do_not_rule_out_a_miss(measure):
    """All rows right, with equal losses: limits were a point, and four in ten passed wrongly."""
    y, p = nearly_right(0.8, 90, 1.0, 0)
    found = cal.interval(y, p, measure=measure)
    other = cal.interval(1 - y, p, measure=measure)
    miss = other.value - found.value
    # 3.69 misses are the most that none seen leaves possible.
    assert found.high == pytest.approx(found.value + 3.69 * miss / 90, rel=1e-3)
    assert other.low == pytest.approx(other.value - 3.69 * miss / 90, rel=1e-3)
    assert "none of these rows is wrong: the interval relies on the predictions" in found.comment
    assert "none of these rows is right" in other.comment


def test_a_loss_above_its_limit_seldom_passes_where_misses_are_rare():
    worlds = [
        (nearly_right(0.8, 90, 0.99, seed), 0.045, 0.04 + 0.01 * 0.6) for seed in range(12)
    ] + [(nearly_right(0.7, 60, 0.98, seed), 0.095, 0.09 + 0.02 * 0.4) for seed in range(12)]
    assert all(truth > limit for _, limit, truth in worlds)
    passed = [cal.check(*rows, at_most={"brier": limit}).verdict for rows, limit, _ in worlds]
    assert passed.count("pass") <= 2


def test_rare_events_beside_a_sure_one():
    """The upper limit was below the truth in four of ten samples."""
    p = rare_and_one_sure(0)[1]
    truths = {
        "classification_error": np.minimum(p, 1 - p).mean(),
        "brier": (p * (1 - p)).mean(),
        "log_loss": -(p * np.log(p) + (1 - p) * np.log(1 - p)).mean(),
    }
    found = [intervals(*rare_and_one_sure(seed), truths) for seed in range(20)]
    for measure, truth in truths.items():
        assert sum(each[measure].high < truth for each in found) <= 2, measure


def test_misses_of_classes_and_of_weights():
    """Sure classes: one miss of 3 costs what the predictions say, and weighs what its row does."""
    rng = np.random.default_rng(0)
    top, n = rng.integers(0, 3, 400), 400
    p = np.full((n, 3), 0.02)
    p[np.arange(n), top] = 0.96
    found = cal.interval(top, p, measure="brier")
    hit, miss = 0.04**2 + 2 * 0.02**2, 0.96**2 + 0.98**2 + 0.02**2
    assert found.value == pytest.approx(hit)
    assert found.high == pytest.approx(hit + 3.69 * (miss - hit) / n, rel=1e-3)
    doubled = cal.interval(top, p, measure="brier", sample_weight=np.full(n, 2.0))
    assert doubled.high == pytest.approx(found.high)
    certain = cal.interval(top, np.eye(3)[top], measure="brier")
    assert certain.high == pytest.approx(3.69 * 2 / n, rel=1e-3)


def two_of_them(k, n, right, seed, tops=(0.9, 0.7)):
    """Tops of .9 and of .7 on the same rows, of which so many are right."""
    rng = np.random.default_rng((11, seed))
    y = rng.integers(0, k, n)
    top = np.where(rng.random(n) < right, y, (y + 1) % k)
    models = {}
    for name, sure in zip("ab", tops, strict=True):
        p = np.full((n, k), (1 - sure) / (k - 1))
        p[np.arange(n), top] = sure
        models[name] = p if k > 2 else p[:, 1]
    return y, models


def apart(measure, k, right):
    """How far the losses of the two truly are apart."""

    def loss(sure, hit):
        other = (1 - sure) / (k - 1)
        at_label = sure if hit else other
        size = sure**2 + (k - 1) * other**2
        return {
            "brier": (size - 2 * at_label + 1) / (2 if k == 2 else 1),
            "log_loss": -np.log(at_label),
            "spherical_loss": 1 - at_label / np.sqrt(size),
            "confidence_loss": 1 - hit + (sure - hit) ** 2,
        }[measure]

    a, b = (right * loss(sure, 1) + (1 - right) * loss(sure, 0) for sure in (0.9, 0.7))
    return a - b


@pytest.mark.parametrize(("k", "right"), [(2, 0.99), (5, 0.99), (10, 0.02)])
def test_differences_of_losses_where_misses_or_hits_are_rare(k, right):
    """Where all rows are right two losses differ by one number: limits were that number, and the
    truth was beside it in four of ten samples.
    """
    losses = ("brier", "log_loss", "spherical_loss", "confidence_loss")
    outside = dict.fromkeys(losses, 0)
    for seed in range(12):
        y, models = two_of_them(k, 90, right, seed)
        found = cal.compare(y, models, measures=losses, n_resamples=50, bin_counts=(5,))
        for measure in losses:
            limits = found.difference("a", "b", measure)
            outside[measure] += not limits.low <= apart(measure, k, right) <= limits.high
    assert max(outside.values()) <= 2, outside


def test_differences_of_two_samples_where_misses_are_rare():
    truth, outside = apart("brier", 2, 0.99), 0
    for seed in range(12):
        y, models = two_of_them(2, 90, 0.99, seed)
        other, before = two_of_them(2, 90, 0.99, 100 + seed)
        found = cal.check(
            y,
            models["a"],
            baseline={"y_true": other, "y_proba": before["b"]},
            paired=False,
            max_increase={"brier": 0.001},
            n_resamples=50,
        )
        limits = found.rows[0].interval
        outside += not limits.low <= truth <= limits.high
    assert outside <= 2


# Errors by how far the confidence is from how often it is right.
FAR_OFF = {
    "ece": abs,
    "classwise_ece": lambda gap: 2 / 3 * abs(gap),
    "top_label_ece": abs,
    "confidence_ce": np.square,
    "lin_ce": lambda gap: gap**2 / 2,
}


def test_differences_of_errors_where_misses_are_rare():
    """Where all rows are right two errors differ by one number: limits were that number, and the
    truth was beside it in four of ten samples.
    """
    tops, right, outside = (0.995, 0.9), 0.985, dict.fromkeys(FAR_OFF, 0)
    for seed in range(7):
        y, models = two_of_them(3, 60, right, seed, tops)
        found = cal.compare(y, models, measures=list(FAR_OFF), n_resamples=50, bin_counts=(5,))
        for measure, off_by in FAR_OFF.items():
            truth = float(np.subtract(*(off_by(top - right) for top in tops)))
            limits = found.difference("a", "b", measure)
            outside[measure] += not limits.low <= truth <= limits.high
    assert max(outside.values()) <= 1, outside


def test_differences_of_errors_of_two_samples_where_misses_are_rare():
    measure, tops, right, outside = "confidence_ce", (0.97, 0.9), 0.99, 0
    truth = float(np.subtract(*(FAR_OFF[measure](top - right) for top in tops)))
    for seed in range(10):
        y, models = two_of_them(3, 80, right, seed, tops)
        other, before = two_of_them(3, 80, right, 100 + seed, tops)
        found = cal.check(
            y,
            models["a"],
            baseline={"y_true": other, "y_proba": before["b"]},
            paired=False,
            max_increase={measure: 0.001},
            n_resamples=50,
        )
        limits = found.rows[0].interval
        outside += not limits.low <= truth <= limits.high
    assert outside <= 2


def test_how_far_an_error_moves_with_more_and_fewer_misses():
    """One of 80 rows is wrong: by the limits of Poisson 0.025 to 5.57 of them would be."""
    y = np.zeros(80, int)
    y[0] = 1
    models = {"a": np.full(80, 0.001), "b": np.full(80, 0.1)}
    limits = cal.compare(y, models, measures=["ece"]).difference("a", "b", "ece")
    seen = abs(0.001 - 1 / 80) - abs(0.1 - 1 / 80)
    fewest, most = (abs(0.001 - n / 80) - abs(0.1 - n / 80) for n in (0.0253, 5.572))
    assert fewest < seen < most
    # As far, or as far as the limits of the two alone allow.
    a, b = (cal.interval(y, p, measure="ece") for p in models.values())
    assert limits.low <= max(fewest, a.low - b.high) + 1e-6
    assert limits.high >= min(most, a.high - b.low) - 1e-4


def test_the_classes_that_both_hold_likeliest_need_not_agree():
    """All right by the one and all wrong by the other: a miss by both together moves them apart."""
    y = np.array([0, 1] * 45)
    models = {"a": np.where(y, 0.9, 0.1), "b": np.where(y, 0.4, 0.6)}
    limits = cal.compare(y, models, measures=["brier"]).difference("a", "b", "brier")
    seen = 0.01 - 0.36
    turned = 0.81 - 0.16
    assert limits.low == pytest.approx(seen)
    assert limits.high == pytest.approx(seen + 3.69 * (turned - seen) / 90, rel=1e-3)


def test_parts_of_a_loss_where_misses_are_rare():
    """Limits of the loss were a point where all rows are right, and its parts hardly wider."""
    y, models = two_of_them(2, 120, 1.0, 0)
    found = cal.decompose(y, models["a"])
    low, high = found.intervals["loss"]
    assert low == pytest.approx(-np.log(0.9)) == found.loss
    assert high == pytest.approx(-np.log(0.9) + 3.69 * np.log(9) / 120, rel=1e-3)
    gained, left = found.intervals["calibration"], found.intervals["refinement"]
    # Sure as it has become, a miss costs it more than it did.
    assert gained[0] < 0 < found.calibration < gained[1] and left[1] > 2 * high
    assert found.intervals["underconfidence"] == gained
    assert found.intervals["overconfidence"] == (0.0, 0.0)


EVERY_CLASS = ["classwise_ece", "ace", "tace", "lin_ce", "classwise_ce"]
FAR = ["dist_ce", "kl", "jsd", "manhattan", "wasserstein"]


def test_errors_over_classes_and_distances_where_misses_are_rare():
    """Thirty rows that are all right: limits were a point, and missed in half of the samples."""
    q, p = np.array([0.985, 0.01, 0.005]), np.tile([0.8, 0.1, 0.1], (30, 1))
    truths = cal.evaluate(np.tile(q, (30, 1)), p, measures=EVERY_CLASS).values
    each = [cal.evaluate([c] * 30, p, measures=FAR) for c in range(3)]
    truths |= {measure: q @ [found[measure] for found in each] for measure in FAR}
    outside = dict.fromkeys([*EVERY_CLASS, *FAR], 0)
    for seed in range(12):
        y = np.random.default_rng((12, seed)).choice(3, 30, p=q)
        for measure, found in intervals(y, p, outside, **FAST).items():
            outside[measure] += not found.low <= truths[measure] <= found.high
    assert max(outside.values()) <= 2, outside


@pytest.mark.parametrize("resample", ["both", "votes"])
def test_votes_that_are_unanimous_do_not_rule_out_others(resample):
    q, p = np.array([0.985, 0.01, 0.005]), np.tile([0.8, 0.1, 0.1], (30, 1))
    outside = dict.fromkeys(("dist_ce", "ent_ce", "kl", "jsd", "classwise_ce"), 0)
    truths = cal.evaluate(np.tile(q, (30, 1)), p, measures=list(outside)).values
    for seed in range(6):
        counts = np.random.default_rng((13, seed)).multinomial(2, q, 30)
        found = intervals(counts, p, outside, resample=resample, n_resamples=50)
        for measure, limits in found.items():
            outside[measure] += not limits.low <= truths[measure] <= limits.high
    # Votes are unanimous in four of ten samples.
    assert max(outside.values()) <= 1, outside


def test_limits_of_few_misses_are_those_of_their_number():
    """Two of forty rows wrong: 0.24 to 7.2 are expected."""
    y = np.array([1, 2] + [0] * 38)
    p = np.tile([0.9, 0.05, 0.05], (40, 1))
    found = cal.interval(y, p, measure="dist_ce")
    cost = 0.95 - 0.1
    assert found.high >= found.value + (7.2247 - 2) * cost / 40 - 1e-4
    assert found.low <= found.value - (2 - 0.2422) * cost / 40 + 1e-4
    # The entropy of a label is 0, whichever it is.
    same = cal.interval(y, p, measure="ent_ce")
    assert same.high - same.low < 1e-12


@pytest.mark.parametrize("measure", EVERY_CLASS)
def test_predictions_that_are_certain_and_right_have_limits(measure):
    y = np.arange(60) % 3
    found = cal.interval(y, np.eye(3)[y], measure=measure, **FAST)
    assert found.value == found.low == 0.0 < found.high < 0.1


def mass(targets, column):
    return float(targets[np.arange(len(targets)), column].sum())


class TestPossibleTargets:
    """As much of what is rare as the limits of its number allow."""

    def at(self, y, p):
        samples = to_samples(y, p)
        votes = np.ones(len(y), np.int64)
        return {(kind, far): z for kind, far, z in possible_targets(samples, votes, 0.95)}

    def test_misses_of_classes(self):
        y = np.array([0, 1, 2] * 20)
        p = np.full((60, 3), 0.1)
        p[np.arange(60), y] = 0.8
        y = np.where(np.arange(60) < 2, (y + 1) % 3, y)
        found = self.at(y, p)
        assert {kind for kind, _ in found} == {"misses"}
        fewest, most = poisson_limits(2, 0.95)
        right = {far: mass(z, p.argmax(axis=1)) for (_, far), z in found.items()}
        assert right[-1.0] == pytest.approx(60 - fewest)
        assert right[0.5] == pytest.approx(60 - (2 + most) / 2)
        assert right[1.0] == pytest.approx(60 - most)
        for z in found.values():
            assert z.min() >= 0.0 and np.allclose(z.sum(axis=1), 1.0)

    def test_hits_where_these_are_rare(self):
        p = np.tile([0.6, 0.3, 0.1], (50, 1))
        y = np.where(np.arange(50) < 1, 0, 1)
        found = self.at(y, p)
        hits = {far: mass(z, np.zeros(50, int)) for (_, far), z in found.items()}
        fewest, most = poisson_limits(1, 0.95)
        assert hits[1.0] == pytest.approx(most) and hits[-1.0] == pytest.approx(fewest)
        # What is no hit any more is what the predictions say of the others.
        assert found["misses", -1.0][0, 1:] == pytest.approx((1 - fewest) * np.array([0.75, 0.25]))

    def test_events_where_misses_are_not_rare(self):
        y = np.where(np.arange(40) < 3, 1, 0)
        p = np.where(np.arange(40) % 2, 0.6, 0.2)
        found = self.at(y, p)
        assert {kind for kind, _ in found} == {"events"}
        events = {far: float(z[:, 1].sum()) for (_, far), z in found.items()}
        assert events[1.0] == pytest.approx(poisson_limits(3, 0.95)[1])
        assert events[-1.0] == pytest.approx(poisson_limits(3, 0.95)[0])

    def test_nothing_is_rare(self):
        assert self.at(np.array([0, 1] * 30), np.full(60, 0.6)) == {}


class TestAllButCertain:
    """Every tenth row is predicted with certainty, and one in fifty of these is wrong."""

    def rows(self, seed, k=2):
        rng = np.random.default_rng((23, seed))
        n = 200
        sure = np.arange(n) % 10 == 0
        top = rng.integers(0, k, n)
        right = rng.random(n) < np.where(sure, 0.98, 0.7)
        y = np.where(right, top, (top + 1) % k)
        found = []
        for certain in (1.0, 0.7):
            each = np.where(sure, certain, 0.7)
            p = np.repeat((1 - each)[:, None] / (k - 1), k, axis=1)
            p[np.arange(n), top] = each
            found.append(p if k > 2 else p[:, 1])
        return y, {"certain": found[0], "cautious": found[1]}

    def truths(self, k=2):
        """The true log losses of both."""
        other = -np.log(0.3 / (k - 1))
        cautious = 0.9 * (-0.7 * np.log(0.7) + 0.3 * other)
        return {
            "certain": cautious + 0.1 * 0.02 * -np.log(1e-12),
            "cautious": cautious + 0.1 * (-0.98 * np.log(0.7) + 0.02 * other),
        }

    @pytest.mark.parametrize("k", [2, 4])
    def test_limits_hold_the_loss_and_differences(self, k):
        """Limits of half of the samples were too low: none of their certain rows was wrong."""
        truth, above, apart, better = self.truths(k), 0, 0, 0
        for seed in range(12):
            y, models = self.rows(seed, k)
            models = dict(sorted(models.items(), reverse=bool(seed % 2)))
            above += cal.interval(y, models["certain"], measure="log_loss").high < truth["certain"]
            found = cal.compare(y, models, measures=["log_loss"], n_resamples=50, bin_counts=(5,))
            limits = found.difference("certain", "cautious", "log_loss")
            apart += not limits.low <= truth["certain"] - truth["cautious"] <= limits.high
            better += limits.better == "certain"
        assert above <= 1 and apart <= 1 and better == 0

    def test_what_a_miss_would_cost(self):
        seed = next(i for i in range(9) if self.certain_right(i))
        y, models = self.rows(seed)
        found = cal.interval(y, models["certain"], measure="log_loss")
        assert found.high == pytest.approx(found.value + 3.689 * -np.log(1e-12) / 200, rel=1e-3)
        assert "20 predictions are nearly certain" in found.note
        # All but certain is as certain, and a miss of either may be the one that was not seen.
        top = models["certain"] == 1.0
        other = cal.interval(y, np.where(top, 1 - 1e-6, models["certain"]), measure="log_loss")
        certain = top | (models["certain"] == 0.0)
        costs = np.where(top[certain], 1e-6, 1e-12)
        mean = float((-np.log(costs)).mean())
        assert other.high == pytest.approx(other.value + 3.689 * mean / 200, rel=1e-3)
        # One that is sure, but not beyond what so many rows could show, is as ever.
        almost = np.clip(models["certain"], 1e-3, 1 - 1e-3)
        assert "certain" not in cal.interval(y, almost, measure="log_loss").note
        # Where misses of such were seen they tell what they cost.
        often = np.where(certain & (np.arange(200) < 60), 1 - y, models["certain"])
        thrice = np.tile(y, 3), np.tile(often, 3)
        assert "certain" not in cal.interval(*thrice, measure="log_loss").note
        # What is lost to a miss is bounded: these limits are wide enough without.
        assert cal.interval(y, models["certain"], measure="brier").note == ""

    def certain_right(self, seed):
        y, models = self.rows(seed)
        p = models["certain"]
        return bool(np.all((y == p) | ((p > 0) & (p < 1))))


def test_losses_of_certain_predictions_that_are_wrong_are_no_chance():
    """Of certain predictions nothing but what they say can be shown: spread 0, and p was 1."""
    rng = np.random.default_rng(3)
    sure = (rng.random(300) < 0.5).astype(int)
    y = np.where(rng.random(300) < 0.08, 1 - sure, sure)
    for k in (2, 3):
        p = sure.astype(float) if k == 2 else np.eye(3)[sure]
        for measure in ("brier", "log_loss", "classification_error", "spherical_loss"):
            wrong = cal.noise_floor(y, p, measure=measure)
            right = cal.noise_floor(sure, p, measure=measure)
            assert (wrong.p_value, wrong.p_low) == (1e-12, 1.0), (k, measure)
            assert (right.p_value, right.p_low) == (1.0, 1.0), (k, measure)


def test_no_floor_is_beyond_what_a_loss_can_be():
    assert cal.noise_floor([1], [0.8], measure="classification_error").upper == 1.0


def test_where_more_is_better_a_calibrated_model_stays_above():
    rng = np.random.default_rng(4)
    p = rng.random(300)
    y = (rng.random(300) < p).astype(int)
    floor = cal.noise_floor(y, p, measure="brier_discrimination")
    assert floor.upper < floor.mean < floor.value * 1.5
    assert f"stay above {floor.upper:.4f} in 95% of samples" in str(floor)
    assert "stay below" in str(cal.noise_floor(y, p, measure="brier"))


def test_an_error_that_no_population_shows_has_a_lower_limit():
    """A curve of predictions turned round leaves [0, 1], and no member of the family does: the
    largest distance had a lower limit of 0, below that of the 90th percentile.
    """
    rng = np.random.default_rng(1)
    h = 1.5 * rng.normal(size=1000)
    y = (rng.random(1000) < 1 / (1 + np.exp(-h))).astype(int)
    largest, most = (cal.interval(y, 1 / (1 + np.exp(h)), measure=m) for m in ("emax", "e90"))
    assert most.low < largest.low < largest.high <= 1.0


def test_predictions_are_certain_where_all_rows_together_expect_no_miss():
    """A miss in one of a hundred samples of as many rows is none, one in fifty is not."""
    for chance, certain in ((0.006, 400), (0.018, 0)):
        rows = np.full(400, chance / 400)
        values = {"classification": np.zeros(400), "confidence": rows**2}
        assert count_certain_rows(values, np.ones(len(values["classification"]))) == certain


def test_a_difference_that_turns_on_the_way_to_more_events_is_seen():
    """Three events in 100 rows, of which there may be 8.8. A constant that is right halfway has no
    error there, and errs as much as now at the end; the other predictor always errs as much, too
    low in one half of the rows and too high in the other.
    """
    y = (np.arange(100) % 40 == 0).astype(int)
    most = poisson_limits(3, 0.95)[1] / 100
    right = (0.03 + most) / 2
    other = np.where(np.arange(100) < 50, 0.0, 0.3)

    def difference(z):
        gaps = z[:50].mean() - 0.0, z[50:].mean() - 0.3
        return abs(z.mean() - right) - np.abs(gaps).mean()

    given = to_samples(y, other), np.ones(100, np.int64), 0.95
    moved = [difference(z[:, 1]) - difference(y) for kind, _, z in possible_targets(*given)]
    assert min(moved) == pytest.approx(-(right - 0.03), rel=0.1)
