"""The noise of votes: corrections against enumerations of all votes, and what users are told."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

import calibrant as cal
from calibrant import InputError, catalogue
from calibrant._inference.voted_rows import vote_residuals, whole_counts
from calibrant._measures.catalogue import find
from judged import intervals


def world(n=600, k=3, m=5, seed=0):
    """Overconfident predictions, the distributions behind the votes, and their counts."""
    rng = np.random.default_rng(seed)
    q = rng.dirichlet(np.ones(k), n)
    p = q**1.5 * np.exp(rng.normal(0, 0.3, (n, k)))
    votes = np.broadcast_to(m, (n,)).astype(np.int64)
    return p / p.sum(axis=1, keepdims=True), q, rng.multinomial(votes, q), votes


# --- slow twins: every outcome of the votes, with its chance --------------------------------------


def outcomes(q, m):
    """Counts of m votes from q, with their chances, in whole fractions."""
    for counts in itertools.product(range(m + 1), repeat=len(q)):
        if sum(counts) == m:
            chance = Fraction(math.factorial(m))
            for c, each in zip(counts, q, strict=True):
                chance *= Fraction(each) ** c / math.factorial(c)
            yield counts, chance


TRUE = [
    (Fraction(1, 2), Fraction(1, 3), Fraction(1, 6)),
    (Fraction(1, 5), Fraction(1, 5), Fraction(3, 5)),
]
PREDICTED = np.array([[0.7, 0.2, 0.1], [0.3, 0.4, 0.3]])
VOTES = (2, 3)
CORRECTED = sorted(
    {m.name for m in catalogue("multiclass") if m.vote_excess is not None} - {"brier_uncertainty"}
)


@pytest.mark.parametrize("name", CORRECTED)
def test_exact_corrections_have_the_mean_of_the_truth(name):
    """Over all votes of two rows, of 2 and of 3 votes, the mean is the value against q."""
    expected = 0.0
    for (a, pa), (b, pb) in itertools.product(*map(outcomes, TRUE, VOTES)):
        shares = np.array([np.array(a) / VOTES[0], np.array(b) / VOTES[1]])
        if ((shares == 0) | (shares == 1)).all():
            estimate = cal.evaluate(shares, PREDICTED, measures=[name], bins=2)[name]
        else:
            estimate = cal.vote_noise(shares, PREDICTED, measure=name, votes=VOTES, bins=2).estimate
        expected += float(pa * pb) * estimate
    q = np.array([[float(x) for x in row] for row in TRUE])
    assert expected == pytest.approx(cal.evaluate(q, PREDICTED, measures=[name], bins=2)[name])


def test_a_binary_brier_score_is_corrected_by_the_variance_of_its_share():
    z, u, m = np.array([0.5, 1.0, 1 / 3]), np.array([0.4, 0.8, 0.3]), np.array([2, 4, 3])
    found = cal.vote_noise(z, u, measure="brier", votes=m)
    twin = sum((u[i] - z[i]) ** 2 - z[i] * (1 - z[i]) / (m[i] - 1) for i in range(3)) / 3
    assert found.estimate == pytest.approx(twin)
    assert found.noise == pytest.approx(found.value - twin)


def test_the_scatter_of_true_targets_is_that_of_votes_less_their_own():
    p, q, counts, _ = world(4000, m=4)
    top = p.argmax(axis=1)
    true = q[np.arange(len(q)), top].var()
    found = cal.interval(counts, p, measure="brier_uncertainty")
    assert found.value > 2 * true
    assert found.estimate == pytest.approx(true, abs=0.004) and true in found


def test_vote_residuals_have_the_covariance_of_shares():
    z, m = np.array([[0.5, 0.25, 0.25]]).repeat(40_000, axis=0), np.full(40_000, 4)
    drawn = vote_residuals(z, m, np.random.default_rng(0))
    assert drawn.mean(axis=0) == pytest.approx([0, 0, 0], abs=0.01)
    twin = (np.diag(z[0]) - np.outer(z[0], z[0])) / 3
    assert (drawn.T @ drawn / len(z)) == pytest.approx(twin, abs=0.003)
    assert not vote_residuals(z[:5], np.ones(5, int), np.random.default_rng(0)).any()


# --- what is left of the bias ---------------------------------------------------------------------


BOUNDED = sorted(m.name for m in catalogue("multiclass") if m.vote_model)


# Of a ranking few votes tell too little: the guide says so.
@pytest.mark.parametrize("m", [2, 5])
@pytest.mark.parametrize("name", [name for name in BOUNDED if name != "rank_cs"])
def test_most_of_the_noise_is_taken_out(name, m):
    p, q, counts, _ = world(1000, m=m, seed=3)
    true = cal.evaluate(q, p, measures=[name])[name]
    found = cal.vote_noise(counts, p, measure=name)
    assert abs(found.estimate - true) < 0.4 * abs(found.value - true)
    assert found.low <= found.estimate <= found.high and found.low <= true <= found.high


@pytest.mark.parametrize("k", [2, 3])
def test_intervals_hold_the_truth_that_plain_ones_miss(k):
    p, q, counts, _ = world(300, k=k, m=4, seed=7)
    for name in ("dist_ce", "brier"):
        true = cal.evaluate(q, p, measures=[name])[name]
        plain = cal.interval(counts, p, measure=name, resample="rows", n_resamples=200)
        both = cal.interval(counts, p, measure=name, n_resamples=200)
        same = cal.interval(counts, p, measure=name, resample="votes", n_resamples=200)
        assert true not in plain and true in both and true in same
        assert plain.value == both.value == same.value
        assert len({plain.estimand, both.estimand, same.estimand}) == 3


def test_binned_errors_of_these_rows_are_known_better_than_those_of_rows_like_these():
    rng = np.random.default_rng(4)
    u = rng.random(1500)
    q = rng.beta(2 * u + 0.05, 2 * (1 - u) + 0.05)  # right on average, and far from it row by row
    z = rng.binomial(20, q) / 20
    for name in ("ece", "lin_ce", "ks_error"):
        both, same = (
            cal.interval(z, u, measure=name, votes=20, resample=how, n_resamples=200)
            for how in ("both", "votes")
        )
        true = cal.evaluate(q, u, measures=[name])[name]
        assert true in same
        assert same.high - same.low < both.high - both.low
    p, q, counts, _ = world(500, m=6)
    for name in ("classwise_ece", "classwise_ce", "lin_ce"):
        true = cal.evaluate(q, p, measures=[name])[name]
        found = cal.interval(counts, p, measure=name, resample="votes", n_resamples=200)
        assert true in found and found.estimate < found.value


def of_kind(kind, n=60):
    """Labels, predictions and options: counts of votes, or shares of so many."""
    votes = np.where(np.arange(n) % 3 == 0, 1 if kind == "some of one vote" else 2, 4)
    p, _, counts, _ = world(n, k=2 if kind in ("counts of 2", "shares") else 3, m=votes)
    if kind == "shares":
        return counts[:, 1] / votes, p[:, 1], {"votes": votes}
    return counts, p, {}


@pytest.mark.parametrize("kind", ["3 classes", "counts of 2", "shares", "some of one vote"])
def test_every_measure_has_limits_with_other_votes_of_the_same_rows(kind):
    """Some read slots of another width, or shares that no longer summed to 1."""
    y, p, options = of_kind(kind)
    shape = "multiclass" if p.ndim == 2 and p.shape[1] > 2 else "binary"
    of_curves = {"ici", "e50", "e90", "emax"} if kind == "counts of 2" else set()
    names = {m.name for m in catalogue(shape) if not m.vote_model} - of_curves - {"sweep_ece"}
    options |= {"measures": sorted(names), "resample": "votes", "n_resamples": 50}
    found = cal.evaluate(y, p, uncertainty=True, **options)
    other = p**1.3 / (p**1.3).sum(axis=1, keepdims=True) if p.ndim == 2 else p**1.3
    compared = cal.compare(y, {"a": p, "b": other}, bin_counts=(5,), **options)
    for name in sorted(names):
        each, apart = found.estimate(name).interval, compared.difference("a", "b", name)
        assert each.low <= each.estimate <= each.high, name
        assert apart.low <= apart.estimate <= apart.high, name


@pytest.mark.parametrize("resample", ["votes", "both"])
def test_the_averaged_two_bin_error_is_no_wider_than_its_votes(resample):
    """Read from finer slots than its form has, its limits would be three times as wide."""
    for seed in range(3):
        p, q, counts, _ = world(400, m=5, seed=seed)
        true = cal.evaluate(q, p, measures=["atb"])["atb"]
        found = cal.interval(counts, p, measure="atb", resample=resample, n_resamples=200)
        assert true in found and found.high - found.low < 2 * true


@pytest.mark.parametrize("name", ["ece", "atb", "confidence_ce_uncorrected", "auroc", "aurc"])
def test_votes_of_rows_that_have_one_scatter_as_the_others_do(name):
    """Four rows in five have one vote: as if these had no noise, no interval of the ECE held it."""
    held, widths = 0, {1: [], 5: []}
    for seed in range(8):
        rng = np.random.default_rng((5, seed))
        q = rng.dirichlet(np.ones(3), 300)
        true = cal.evaluate(q, q, measures=[name])[name]
        for m in widths:
            votes = np.where(rng.random(300) < 0.8, m, 5)
            found = cal.interval(
                rng.multinomial(votes, q), q, measure=name, resample="votes", n_resamples=200
            )
            widths[m].append(found.high - found.low)
            held += m == 1 and found.low - 1e-12 <= true <= found.high
    assert held >= 6
    assert np.mean(widths[1]) > 1.3 * np.mean(widths[5])


def test_few_votes_prefer_the_overconfident_and_corrected_differences_do_not():
    p, q, counts, _ = world(1500, m=2, seed=1)
    softer = p**0.67 / (p**0.67).sum(axis=1, keepdims=True)
    models = {"too sure": p, "right": softer}
    true = cal.dist_ce(q, p) - cal.dist_ce(q, softer)
    options = {"measures": ["dist_ce", "brier"], "n_resamples": 100, "bin_counts": (5,)}
    plain = cal.compare(counts, models, resample="rows", **options)
    found = cal.compare(counts, models, **options)
    assert plain.difference("too sure", "right", "dist_ce").better == "too sure"
    difference = found.difference("too sure", "right", "dist_ce")
    assert difference.low <= true <= difference.high and difference.better != "too sure"
    brier = found.difference("too sure", "right", "brier")
    assert brier.estimate == pytest.approx(
        cal.brier_score(counts, p) - cal.brier_score(counts, softer)
    )  # the same votes, the same noise: it cancels
    assert any("for the label distributions" in note for note in found.notes)


def test_rows_that_are_right_have_limits_that_reach_0_and_1():
    _, q, counts, _ = world(300, m=5, seed=2)
    assert cal.verdict(counts, q, measure="dist_ce", tolerance=0.1, n_resamples=200).low == 0
    assert cal.interval(counts, q, measure="rank_cs", n_resamples=200).high == 1


# --- what is said ---------------------------------------------------------------------------------


def test_soft_labels_without_votes_say_that_the_noise_is_in_it():
    p, _, counts, _ = world(200)
    found = cal.interval(counts / 5, p, measure="dist_ce")
    assert "votes=" in found.note and "as many votes" in found.estimand
    assert "votes=" not in cal.interval(counts / 5, p, measure="log_loss").note
    hard = cal.interval(counts.argmax(axis=1), p, measure="brier")
    assert hard.note == "" and hard.about == ""


def test_an_evaluation_shows_value_estimate_and_what_they_are_about():
    p, _, counts, _ = world(300)
    names = ["ece", "brier", "dist_ce", "rank_cs"]
    found = cal.evaluate(counts, p, measures=names, uncertainty=True, n_resamples=200)
    assert found.recipe["resampled"] == "both"
    assert any("for the label distributions" in note for note in found.notes)
    assert found["brier"] == cal.brier_score(counts / 5, p)
    for name in names[1:]:
        each = found.estimate(name)
        assert each.noise_floor is not None and each.interval.about
        assert abs(each.estimate - each.value) > 0.02
    assert found.to_dict()["measures"][1]["interval"]["estimand"].endswith("many votes per row")


def test_rows_of_one_vote_are_said_and_counted():
    p, q, _, _ = world(1200, seed=6)
    rng = np.random.default_rng(6)
    votes = rng.integers(1, 6, len(p))
    shares = rng.multinomial(votes, q) / votes[:, None]
    found = cal.vote_noise(shares, p, measure="brier", votes=votes)
    assert found.single == int((votes == 1).sum()) and f"({found.single})" in found.note
    assert found.estimate == pytest.approx(cal.brier_score(q, p), abs=0.02)
    assert "1 to 5 votes" in repr(found)


def test_what_few_rows_tell_of_those_of_one_vote_is_in_the_limits():
    """One row in ten has two votes: how votes scatter is known from these alone, and limits that
    took it for known were above the truth in a quarter of the samples.
    """
    world = np.random.default_rng(0).dirichlet([1.0, 1.0, 1.0], 100_000)
    sharper = world**1.8 / (world**1.8).sum(axis=1, keepdims=True)
    truth = ((world - sharper) ** 2).sum(axis=1).mean()
    above, below, widths = 0, 0, []
    for seed in range(24):
        rng = np.random.default_rng((21, seed))
        rows = rng.integers(0, 100_000, 200)
        votes = np.where(rng.random(200) < 0.9, 1, 2)
        counts = rng.multinomial(votes, world[rows])
        found = cal.interval(counts, sharper[rows], measure="brier")
        above, below = above + (found.low > truth), below + (found.high < truth)
        widths.append(found.high - found.low)
    assert above <= 3 and below <= 3
    assert np.mean(widths) > 0.2  # 0.1 if the scatter were known


def test_one_vote_a_row_cannot_be_corrected():
    p, _, counts, _ = world(200, m=1)
    hard = counts.argmax(axis=1)
    assert cal.interval(hard, p, measure="brier", votes=1).estimate == cal.brier_score(hard, p)
    soft = np.where(counts == 1, 0.9, 0.05)
    found = cal.interval(soft, p, measure="dist_ce", votes=1)
    assert "one vote" in found.note and found.estimate == found.value
    with pytest.raises(InputError, match="one vote"):
        cal.interval(soft, p, measure="dist_ce", votes=1, resample="both")
    for how in ("both", "votes"):
        with pytest.raises(InputError, match="one vote"):
            cal.interval(counts, p, measure="dist_ce", votes=1, resample=how)
    with pytest.raises(InputError, match="one vote"):
        cal.vote_noise(soft, p, votes=1)


def test_labels_that_are_no_shares_of_votes_are_left_as_they_are():
    p, q, _, _ = world(200)
    found = cal.interval(q, p, measure="dist_ce", votes=3)
    assert (
        "not shares of the given numbers of votes" in found.note and found.estimate == found.value
    )
    with pytest.raises(InputError, match="not shares of the given numbers of votes"):
        cal.vote_noise(q, p, votes=3)
    rounded = np.array([[0.33, 0.67], [0.67, 0.33]] * 20)
    assert cal.vote_noise(rounded, rounded[::-1], votes=3, measure="brier").noise > 0.1


def test_options_of_votes_are_checked():
    p, _, counts, _ = world(60)
    with pytest.raises(InputError, match="resample='both' needs the number of votes"):
        cal.interval(counts / 5, p, resample="both")
    with pytest.raises(InputError, match="is not known: use one of 'rows'"):
        cal.interval(counts, p, resample="columns")
    with pytest.raises(InputError, match="votes"):
        cal.vote_noise(counts / 5, p)
    with pytest.raises(InputError, match="only 0 and 1"):
        cal.vote_noise(np.eye(3)[[0, 1, 2, 0]], p[:4], votes=3)


def test_weights_are_repetitions():
    """Twice the weight is the row twice; rows of no weight are not there."""
    p, _, counts, _ = world(120)
    w = np.arange(120) % 3
    for name in ("brier", "classwise_ce"):
        weighted = cal.vote_noise(counts, p, measure=name, sample_weight=w)
        kept = counts[w > 0], p[w > 0]
        own = cal.vote_noise(*kept, measure=name, sample_weight=w[w > 0])
        assert weighted.estimate == pytest.approx(own.estimate)
    rows = np.repeat(np.arange(120), w)
    repeated = cal.vote_noise(counts[rows], p[rows], measure="brier").estimate
    assert cal.vote_noise(counts, p, measure="brier", sample_weight=w).estimate == pytest.approx(
        repeated
    )


@pytest.mark.parametrize("how", ["both", "votes"])
def test_small_and_odd_rows_have_limits(how):
    cases = [
        ([[1, 1]], [[0.4, 0.6]]),
        ([[2, 0], [1, 1], [1, 1]], [[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]]),
        ([[1, 1, 0]] * 8, [[0.2, 0.3, 0.5]] * 8),
        ([[3, 1], [1, 0], [0, 2], [5, 5]], [[0.5, 0.5]] * 4),
    ]
    for counts, p in cases:
        names = ("dist_ce", "brier", "ece")
        judged = intervals(np.array(counts), np.array(p), names, resample=how, n_resamples=50)
        for name, found in judged.items():
            assert np.isfinite([found.low, found.high, found.estimate]).all(), (counts, name)
            assert found.low <= found.estimate <= found.high


def test_the_catalogue_says_what_votes_do_to_each_measure():
    for measure in catalogue():
        assert ("adds to the value" in measure.vote_noise) == measure.votes_add
        assert not (measure.vote_model and measure.vote_excess is not None)
    assert find("log_loss", "binary").vote_noise == "averages out over many rows"


@pytest.mark.parametrize(("measure", "seeds"), [("dist_ce", (2, 3)), ("ent_ce", (12, 13))])
def test_differences_from_predictions_that_are_right(measure, seeds):
    """What votes show of a spread is never less than none, so predictions that are right seemed to
    be off: the others lay above the limits, in one of five samples at worst.
    """
    for seed in seeds:
        rng = np.random.default_rng((31, seed))
        scores = rng.normal(0, 1.5, (150, 3))
        right, steep = (np.exp(t * scores) for t in (1.0, 1.25))
        right, steep = (each / each.sum(axis=1, keepdims=True) for each in (right, steep))
        votes = rng.multinomial(3, right)
        true = getattr(cal, measure)(right, steep)
        for models in ({"right": right, "steep": steep}, {"steep": steep, "right": right}):
            found = cal.compare(votes, models, measures=[measure], n_resamples=50, bin_counts=(1,))
            limits = found.difference("steep", "right", measure)
            assert limits.low <= true <= limits.high, seed


def test_predictions_that_votes_rule_out_are_not_taken_to_be_right():
    rng = np.random.default_rng(0)
    scores = rng.normal(0, 1.5, (150, 3))
    right, steep, flat = (np.exp(t * scores) for t in (1.0, 2.5, 0.3))
    right, steep, flat = (each / each.sum(axis=1, keepdims=True) for each in (right, steep, flat))
    votes = rng.multinomial(8, right)
    found = cal.compare(votes, {"steep": steep, "flat": flat}, measures=["dist_ce"], n_resamples=50)
    limits = found.difference("flat", "steep", "dist_ce")
    assert limits.high < cal.dist_ce(steep, flat)
    assert limits.low <= cal.dist_ce(right, flat) - cal.dist_ce(right, steep) <= limits.high


def test_shares_of_two_digits_are_counts_of_a_dozen_votes():
    """And a tenth of a vote is none."""
    m = np.full(13, 12)
    counts = np.stack([np.arange(13), 12 - np.arange(13)], axis=1)
    assert (whole_counts(np.round(counts / 12, 2), m) == counts).all()
    assert whole_counts(np.array([[0.49, 0.51]]), np.array([10])) is None


@pytest.mark.parametrize("m", range(2, 13))
def test_shares_of_up_to_twelve_votes_may_have_two_digits(m):
    counts = np.stack([np.arange(m + 1), m - np.arange(m + 1)], axis=1)
    votes = np.full(m + 1, m)
    assert np.array_equal(whole_counts(np.round(counts / m, 2), votes), counts)
    # No number of votes is 0.08 off a whole one by rounding.
    assert whole_counts((counts + np.array([0.08, -0.08])) / m, votes) is None


# --- one estimate ---------------------------------------------------------------------------------


def binary_votes(seed, n=1500, m=5, slope=0.8):
    """Predictions that are too extreme, the true shares, and the shares of m votes."""
    rng = np.random.default_rng(seed)
    x = rng.normal(0, 1.2, n)
    q = 1 / (1 + np.exp(-slope * x - rng.normal(0, 0.5, n)))
    return 1 / (1 + np.exp(-x)), q, rng.binomial(m, q) / m


@pytest.mark.parametrize("name", ["ece", "smooth_ece", "brier_discrimination", "dist_ce"])
def test_an_interval_and_vote_noise_have_one_estimate(name):
    p, _, z = binary_votes(0, n=400)
    found = cal.vote_noise(z, p, measure=name, votes=5)
    assert found.estimate == cal.interval(z, p, measure=name, votes=5).estimate
    assert ("infinitely many votes" in found.estimand) == (name == "dist_ce")


@pytest.mark.parametrize("slope", [0.8, 0.6])
def test_the_ece_without_vote_noise_is_right_on_average(slope):
    errors = []
    for seed in range(12):
        p, q, z = binary_votes(seed, slope=slope)
        estimate = cal.vote_noise(z, p, measure="ece", votes=5).estimate
        errors.append(estimate - cal.ece(q, p))
    # By test inversion over the votes alone it is 0.0026 too low at the slope of 0.8.
    assert abs(np.mean(errors)) < 0.002


def test_no_number_of_rows_is_asked_for_where_only_more_votes_decide():
    p, _, z = binary_votes(0)
    low, high = cal.check(z, p, at_most={"dist_ce": 0.05}, votes=5).rows[0].bounds
    assert 0 < low < high

    def checked(limit):
        return cal.check(z, p, at_most={"dist_ce": limit}, votes=5).rows[0]

    within = checked((low + high) / 2)
    assert within.verdict == "undecided" and within.rows_needed is None
    assert "no number of rows can decide this with 5 votes per row" in within.sentence
    assert "enough data" not in within.sentence
    beyond = checked(high + 0.2 * (within.interval.high - high))
    # About as many rows as shrink the distance to the bound to a fifth, for most samples.
    assert beyond.verdict == "undecided" and 25 * 1500 < beyond.rows_needed < 60 * 1500
    said = cal.verdict(z, p, measure="dist_ce", tolerance=(low + high) / 2, votes=5)
    assert said.rows_needed is None and "would be needed" not in said.sentence
    assert "more rows cannot narrow this interval below" in said.sentence
