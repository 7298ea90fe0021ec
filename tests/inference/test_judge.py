"""The rate behind a judge's answers: twins, coverage, and what breaks which method."""

from __future__ import annotations

import itertools
import json
import math

import numpy as np
import pytest

import calibrant as cal
from calibrant._inference import judged as inside
from calibrant._inference.judged import JudgedRows
from judge_worlds import JudgeWorld, covered, decided
from needs import need

POWERED, ROGAN = "prediction-powered rate", "Rogan-Gladen rate"


def sample(seed=0, n=60, m=400, scores=False):
    rng = np.random.default_rng(seed)
    right = rng.random(n + m) < 0.4
    says = np.where(right, rng.random(n + m) < 0.8, rng.random(n + m) < 0.2).astype(float)
    if scores:
        says = (says + rng.random(n + m)) / 2
    return right[:n].astype(float), says[:n], says[n:]


# --- slow twins, from the definitions -------------------------------------------------------------


def mean(values):
    return math.fsum(values) / len(values)


def powered_twin(h, j, others):
    n, m = len(h), len(others)
    mh, mj, mo = mean(h), mean(j), mean(others)
    cov = mean([(a - mh) * (b - mj) for a, b in zip(h, j, strict=True)])
    spread = math.fsum((b - mj) ** 2 for b in j) + math.fsum((b - mo) ** 2 for b in others)
    lam = cov / ((1 + n / m) * spread / (n + m))
    return mean([lam * b for b in others]) + mean([a - lam * b for a, b in zip(h, j, strict=True)])


def rogan_twin(h, j, others):
    sens = mean([b for a, b in zip(h, j, strict=True) if a == 1])
    spec = mean([1 - b for a, b in zip(h, j, strict=True) if a == 0])
    return (mean(others) - (1 - spec)) / (sens + spec - 1)


def kappa_twin(h, j):
    n = len(h)
    both = {
        (a, b): sum((x, y) == (a, b) for x, y in zip(h, j, strict=True)) / n
        for a, b in itertools.product((0, 1), repeat=2)
    }
    human = {a: both[a, 0] + both[a, 1] for a in (0, 1)}
    judge = {b: both[0, b] + both[1, b] for b in (0, 1)}
    chance = human[0] * judge[0] + human[1] * judge[1]
    most = min(human[0], judge[0]) + min(human[1], judge[1])
    return (both[0, 0] + both[1, 1] - chance) / (1 - chance), (most - chance) / (1 - chance)


@pytest.mark.parametrize("seed", range(4))
def test_values_are_those_of_the_definitions(seed):
    h, j, others = sample(seed)
    found = cal.judge(h, j, others)
    assert found.rate == pytest.approx(powered_twin(h, j, others), abs=1e-12)
    assert found[ROGAN].value == pytest.approx(rogan_twin(h, j, others), abs=1e-12)
    agreement, ceiling = kappa_twin(h, j)
    assert found.kappa == pytest.approx(agreement, abs=1e-12)
    assert found["largest kappa at these rates"].value == pytest.approx(ceiling, abs=1e-12)
    assert found["sensitivity"].value == pytest.approx(j[h == 1].mean())
    assert found["specificity"].value == pytest.approx(1 - j[h == 0].mean())
    assert found["bias of the judge"].value == pytest.approx(j.mean() - h.mean())
    assert found["rate by the judge alone"].value == pytest.approx(np.append(j, others).mean())
    for line in found:
        assert math.isnan(line.low) or line.low <= line.value <= line.high
    h, j, others = sample(seed, scores=True)
    assert cal.judge(h, j, others).rate == pytest.approx(powered_twin(h, j, others), abs=1e-12)


def test_the_largest_kappa_is_reached_and_never_passed():
    """Over all tables with these margins: 12 rows, 5 yes by people, 8 by the judge."""
    found = []
    for both in range(1, 6):
        h = [1] * 5 + [0] * 7
        j = [1] * both + [0] * (5 - both) + [1] * (8 - both) + [0] * (both - 1)
        found.append(cal.judge(h, j))
    ceilings = {round(each["largest kappa at these rates"].value, 12) for each in found}
    assert len(ceilings) == 1
    assert max(each.kappa for each in found) == pytest.approx(ceilings.pop())


def test_each_corner_has_half_of_a_row_and_for_rogan_and_gladen_a_quarter():
    """All of ten answers are right: Wilson's interval at (10 + 1/2) / (10 + 1), and with a quarter
    a symmetric one about the rate that (10 + 1/4) / (10 + 1/2) gives.
    """
    human, others = np.repeat([0.0, 1.0], 10), np.zeros(400)
    rows = JudgedRows(human, np.append(human, others), np.ones(420), None, 0.95)
    q = rows.quantile
    # Labelled rows vary about the cornered share, and so does each corner.
    share, n, few = 10.5 / 11, 22.0, 22 / 19
    variance = few * (10 * (1 - share) ** 2 + 0.5 * (1 - share) ** 2 + 0.5 * share**2) / 11**2
    independent = share * (1 - share) / variance
    assert inside.mean_answer(rows, 1.0).low == pytest.approx(independent / (independent + q**2))
    assert rows.with_corners[-1] == pytest.approx(0.5 / n)
    hit = 10.25 / 10.5
    found = inside.rogan_gladen(rows)
    cornered = max((0.0 - (1 - hit)) / (2 * hit - 1), 0.0)
    errors = 10 * (1 - hit) ** 2 + 0.25 * (1 - hit) ** 2 + 0.25 * hit**2
    variance = 21 / 19 * (1 - cornered) ** 2 * errors / 10.5**2 / (2 * hit - 1) ** 2
    assert found.high == pytest.approx(cornered + q * math.sqrt(variance))


def test_a_published_example():
    """276 comparisons of a public study: 28 with labels, sensitivity 1/4, specificity 21/24, and 40
    of 248 others; its PPI++ estimate is 0.145."""
    h, j = [1] * 4 + [0] * 24, [1, 0, 0, 0] + [1] * 3 + [0] * 21
    found = cal.judge(h, j, [1] * 40 + [0] * 208, level=0.9)
    assert round(found.rate, 3) == 0.145
    assert found.interval == pytest.approx((0.065, 0.292), abs=0.03)
    assert found[ROGAN].high - found[ROGAN].low > 0.9  # nearly nothing is known


# Tables of people by judge ((yes, yes), (yes, no), (no, yes), (no, no)); kappa, its standard error
# and its largest value by statsmodels 0.15.0 (`inter_rater.cohens_kappa`).
STATSMODELS = [
    ((40, 8, 12, 60), 0.6575342465753425, 0.06961501895871473, 0.9315068493150686),
    ((3, 2, 1, 94), 0.6511627906976745, 0.18756533499126096, 0.8837209302325582),
    ((20, 30, 5, 45), 0.3, 0.08261355820929153, 0.5),
]


@pytest.mark.parametrize(("table", "kappa", "error", "most"), STATSMODELS)
def test_kappa_and_its_standard_error_are_those_of_statsmodels(table, kappa, error, most):
    h, j = np.repeat([1.0, 1, 0, 0], table), np.repeat([1.0, 0, 1, 0], table)
    rows = JudgedRows(h, j, np.ones(h.size), None, 0.95)
    value, ceiling, influences = inside._kappa_and_influences(rows, rows.shares)
    assert (value, ceiling) == pytest.approx((kappa, most), abs=1e-12)
    assert math.sqrt((influences**2).sum()) == pytest.approx(error, abs=1e-12)
    ours = cal.judge(h, j)["kappa"]
    assert (ours.low, ours.high) == pytest.approx(
        (kappa - 1.96 * error, kappa + 1.96 * error), abs=0.11
    )


def test_the_variance_is_that_of_the_formula():
    """Prediction-powered, without corners: var(h - lam j) / n + lam^2 var(j) / m."""
    h, j, others = sample(3, n=4000, m=9000)
    rows = JudgedRows(h, np.append(j, others), np.ones(13000), None, 0.95)
    lam = inside._Moments.of(rows, rows.shares).lam(rows)
    expected = math.sqrt(np.var(h - lam * j) / 4000 + lam**2 * np.var(others) / 9000)
    found = inside.prediction_powered(rows)
    assert (found.high - found.low) / (2 * 1.96) == pytest.approx(expected, rel=2e-3)


# --- what it takes --------------------------------------------------------------------------------


def lines(result):
    return np.array([(each.value, each.low, each.high) for each in result])


def test_gaps_are_unlabelled_rows_and_order_does_not_matter():
    h, j, others = sample()
    one = cal.judge(h, j, others)
    human = np.append(h, np.full(others.size, np.nan))
    order = np.random.default_rng(0).permutation(human.size)
    two = cal.judge(human[order], np.append(j, others)[order])
    assert lines(one) == pytest.approx(lines(two), nan_ok=True)
    assert (one.labels_needed, one.n, one.n_unlabelled) == (two.labels_needed, 60, 400)


def test_columns_of_a_frame():
    pandas = need("pandas")
    h, j, others = sample()
    human = np.append(h, np.full(others.size, np.nan))
    columns = {"h": human, "j": np.append(j, others), "q": np.arange(460) // 4, "w": np.ones(460)}
    frame = pandas.DataFrame(columns)
    named = cal.judge("h", "j", groups="q", sample_weight="w", data=frame)
    given = cal.judge(human, columns["j"], groups=columns["q"])
    assert lines(named) == pytest.approx(lines(given), nan_ok=True)


def test_whole_weights_are_repeated_rows_and_clusters_of_one_row_are_none():
    h, j, others = sample()
    weights = np.random.default_rng(0).integers(1, 4, 460)
    many = np.repeat(np.arange(460), weights)
    human, says = np.append(h, np.full(400, np.nan)), np.append(j, others)
    weighted = cal.judge(human, says, sample_weight=weights)
    # Repeated rows are clusters, and values are theirs.
    repeated = cal.judge(human[many], says[many], groups=many)
    for name in ("sensitivity", "kappa", "bias of the judge", ROGAN):
        assert weighted[name].value == pytest.approx(repeated[name].value)
        assert weighted[name].low == pytest.approx(repeated[name].low, abs=0.02)
    alone = cal.judge(human, says, groups=np.arange(460))
    assert lines(alone) == pytest.approx(lines(cal.judge(human, says)), nan_ok=True)
    zero = cal.judge(np.append(human, 1.0), np.append(says, 0.0), sample_weight=[1] * 460 + [0])
    assert lines(zero) == pytest.approx(lines(cal.judge(human, says)), nan_ok=True)


def test_clusters_widen_the_intervals():
    h, j, others = sample()
    plain = cal.judge(np.tile(h, 5), np.tile(j, 5), np.tile(others, 5))
    groups = np.append(np.tile(np.arange(60), 5), 60 + np.tile(np.arange(400), 5))
    found = cal.judge(np.tile(h, 5), np.tile(j, 5), np.tile(others, 5), groups=groups)
    for name in (POWERED, ROGAN, "kappa", "sensitivity"):
        ratio = (found[name].high - found[name].low) / (plain[name].high - plain[name].low)
        assert 1.8 < ratio < 2.6  # root of 5, less what corners add


def test_without_unlabelled_rows_people_give_the_rate():
    h, j, _ = sample()
    found = cal.judge(h, j)
    assert found.rate == pytest.approx(h.mean(), abs=1e-15)
    assert found.interval == (found.rows[0].low, found.rows[0].high)
    assert math.isnan(found.p_value)
    assert POWERED not in [line.quantity for line in found]
    from scipy.stats import binomtest

    wilson = binomtest(int(h.sum()), h.size).proportion_ci(method="wilson")
    assert found.interval == pytest.approx((wilson.low, wilson.high), abs=0.01)


def test_scores_have_a_calibration_and_a_threshold():
    h, j, others = sample(scores=True)
    found = cal.judge(h, j, others, threshold=0.6)
    assert found.threshold == 0.6
    assert found.calibration["ece"] == cal.ece(h, j)
    assert found["Brier score of the scores"].low < cal.brier_score(h, j)
    answers = (j >= 0.6).astype(float), (others >= 0.6).astype(float)
    assert found[ROGAN].value == pytest.approx(cal.judge(h, *answers)[ROGAN].value)
    assert "0.6" in " ".join(found.notes)


def test_shares_of_people_have_a_rate_and_no_kappa():
    h, j, others = sample()
    found = cal.judge((h + 0.5) / 2, j, others)
    assert found.rate == pytest.approx((cal.judge(h, j, others).rate + 0.5) / 2)
    assert math.isnan(found[ROGAN].value)
    assert math.isnan(found.kappa)
    assert "shares" in found.notes[0]


def test_json_and_text():
    h, j, others = sample(scores=True)
    found = cal.judge(h, j, others)
    record = json.loads(found.to_json())
    assert record["rate"] == found.rate
    assert record["interval"] == list(found.interval)
    assert record["calibration"]["measures"][0]["name"] == "ece"
    assert f"95% CI {found.interval[0]:.4f}" in repr(found)
    assert len(record["quantities"]["value"]) == len(found)


def test_labels_needed_agree_with_the_width_they_are_for():
    h, j, others = sample(n=200, m=4000)
    found = cal.judge(h, j, others)
    width = found.interval[1] - found.interval[0]
    assert cal.judge(h, j, others, width=width * 1.0001).labels_needed in (199, 200)
    asked = cal.judge(h, j, others, width=0.06).labels_needed
    rng = np.random.default_rng(2)
    world = JudgeWorld(asked, 4200 - asked, 0.4, 0.8, 0.8)
    widths = [
        np.diff([(e := inside.prediction_powered(world.rows(rng))).low, e.high])[0]
        for _ in range(50)
    ]
    assert np.mean(widths) == pytest.approx(0.06, rel=0.1)
    # More than there are: labels alone would have to do it.
    far = cal.judge(h, j, others, width=0.005)
    assert far.labels_needed > 4200
    assert "more than these 4,200 rows" in repr(far)
    # What labels for all rows would reach, which needs no judge.
    reached = far.width * np.sqrt(far.labels_needed / 4200)
    assert f"labels for all of them would give about {reached:.3g}" in repr(far)
    assert cal.judge(h, j, others, width=reached * 1.001).labels_needed <= 4200
    # With more answers by the judge, fewer labels do it.
    labels, answers = cal.judge(h, j, others, width=0.03).rows_needed
    assert labels < cal.judge(h, j, width=0.03).labels_needed < answers
    wider = JudgeWorld(labels, answers - labels, 0.4, 0.8, 0.8)
    widths = [
        np.diff([(e := inside.prediction_powered(wider.rows(rng))).low, e.high])[0]
        for _ in range(20)
    ]
    assert np.mean(widths) == pytest.approx(0.03, rel=0.1)


def test_rows_that_all_have_labels_are_not_asked_for_labels():
    h, j = np.tile([1, 1, 0, 0], 50), np.tile([1, 1, 0, 1], 50)
    found = cal.judge(h, j)
    more = found.labels_needed - 200
    assert more > 0 and f"{more:,} more. All of these 200 rows have one already" in repr(found)
    assert "labels for all of them" not in repr(found) and "p-value" not in repr(found)
    assert "p-value 1 of a difference" in repr(cal.judge(h, j, j))
    # A judge that knows nothing saves no labels.
    assert cal.judge(h, np.tile([0, 1], 100)).rows_needed is None


def test_a_judge_that_does_not_look_has_no_rogan_gladen_rate():
    h = [1, 0] * 30
    found = cal.judge(h, [0, 1] * 30, [0, 1] * 50)
    assert math.isnan(found[ROGAN].value)
    assert "1 or less" in found.notes[0]
    same = cal.judge([1] * 30, [1, 0] * 15, [0, 1] * 50)
    assert math.isnan(same.kappa) is False
    assert math.isnan(same["specificity"].value)
    assert "all human labels are the same" in same.notes[0]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: cal.judge([1, 0], [1, 0, 1]), "same rows: got 2 and 3"),
        (lambda: cal.judge([1, np.nan], [1, 0]), "human has 1 label: at least 2"),
        (lambda: cal.judge([1, 0], [1, np.nan]), "judged is missing in 1 row, first in row 1"),
        (lambda: cal.judge([1, 0], [7, 3]), r"judged\[0\] is 7: it must be a number from 0 to 1"),
        (lambda: cal.judge(["yes", "no"], [1, 0]), "human must hold numbers from 0 to 1"),
        (lambda: cal.judge("h", "j"), "give the frame as data="),
        (lambda: cal.judge([1, 0], [1, 0], width=2), "width must be a number between 0 and 1"),
        (lambda: cal.judge([1, 0], [1, 0], threshold=0), "threshold must be"),
        (lambda: cal.judge([1, 0], [1, 0], sample_weight=[1, -1]), "not negative"),
        (lambda: cal.judge([1, 0], [1, 0], [1], groups=[1, 2]), "each of the 3 rows"),
        (lambda: cal.judge([1, 0], [1, 0], levle=0.9), "did you mean 'level'"),
    ],
)
def test_errors_say_what_to_do(call, message):
    with pytest.raises(cal.InputError, match=message):
        call()


# --- coverage: a short form of tests/long/test_long_judge.py --------------------------------------


def rogan_gladen(rows):
    return inside.rogan_gladen(decided(rows))


@pytest.mark.parametrize(
    "world",
    [
        JudgeWorld(100, 1000, 0.5, 0.9, 0.75),
        JudgeWorld(150, 1000, 0.1, 0.8, 0.9, scores=True),
        JudgeWorld(200, 1000, 0.6, 0.9, 0.8, cluster=5, alike=0.5),
    ],
    ids=["plain", "scores", "clusters"],
)
def test_intervals_contain_the_truth(world):
    for method, most in ((inside.prediction_powered, 0.99), (rogan_gladen, 1.0)):
        share, _ = covered(world, method, world.rate, draws=300)
        assert 0.92 <= share <= most, method


def test_sensitivity_bias_and_kappa_contain_the_truth():
    world, human, says = JudgeWorld(150, 0, 0.3, 0.9, 0.8), 0.3, 0.3 * 0.9 + 0.7 * 0.2
    chance = human * says + (1 - human) * (1 - says)
    kappa = (0.3 * 0.9 + 0.7 * 0.8 - chance) / (1 - chance)
    for method, truth in (
        (lambda rows: inside.mean_answer(rows, 1.0), 0.9),
        (lambda rows: inside.mean_answer(rows, 0.0), 0.2),
        (inside.bias, says - human),
        (lambda rows: inside.kappa(rows)[0], kappa),
        (lambda rows: inside.prediction_powered(rows, alone=True), human),
    ):
        assert 0.92 <= covered(world, method, truth, draws=500)[0] <= 0.985


def test_a_few_labels_that_all_agree_do_not_make_a_judge_perfect():
    """With 20 labels a good judge often makes no error at all."""
    world = JudgeWorld(20, 5000, 0.05, 0.9, 0.97)
    assert covered(world, inside.prediction_powered, 0.05, draws=500)[0] >= 0.93


def test_what_breaks_which_method():
    plain = {"n": 300, "m": 5000, "sensitivity": 0.95, "specificity": 0.75}
    for world, powered, rogan in (
        (JudgeWorld(rate=0.6, rate_labelled=0.4, **plain), False, True),  # labelled by the truth
        (JudgeWorld(rate=0.3, rate_labelled=0.6, **plain), False, True),  # another rate
        (JudgeWorld(rate=0.6, preferred=3.0, **plain), False, False),  # labelled by the answer
        (JudgeWorld(rate=0.6, preferred=3.0, weighted=True, **plain), True, True),
        (JudgeWorld(rate=0.6, judge_labelled=(0.95, 0.95), **plain), False, False),  # other errors
    ):
        for method, holds in ((inside.prediction_powered, powered), (rogan_gladen, rogan)):
            share, _ = covered(world, method, world.rate, draws=200)
            assert (share > 0.9) if holds else (share < 0.7), (world, method)


def test_the_p_value_finds_rows_that_are_no_random_part():
    rng = np.random.default_rng(0)
    fair, chosen = JudgeWorld(200, 2000, 0.5, 0.9, 0.8), JudgeWorld(200, 2000, 0.5, 0.9, 0.8, 0.8)
    p = np.array([inside.random_part_p_value(fair.rows(rng)) for _ in range(400)])
    assert abs(np.mean(p < 0.1) - 0.1) < 0.05
    rows = chosen.rows(rng)
    assert inside.random_part_p_value(rows) < 0.001
    found = cal.judge(rows.human, rows.judged[:200], rows.judged[200:])
    assert "not a random sample" in found.notes[0]


def test_rows_needed_are_those_of_the_correlation():
    """1.25 (1 - r^2) v / w labels, and 5 r^2 v / w answers, for v near that of labels alone."""
    rng = np.random.default_rng(4)
    h = rng.integers(0, 2, 800)
    j, others = np.where(rng.random(800) < 0.9, h, 1 - h), rng.integers(0, 2, 8000)
    squared, variance = np.corrcoef(h, j)[0, 1] ** 2, h.var()
    found = {width: cal.judge(h, j, others, width=width).rows_needed for width in (0.02, 0.01)}
    for width, (labels, answers) in found.items():
        alone = variance / (width / (2 * 1.959964)) ** 2
        assert labels == pytest.approx(1.25 * (1 - squared) * alone, rel=0.07)
        assert answers == pytest.approx(5 * squared * alone, rel=0.07)
    # Half the width takes four times the rows.
    for fine, coarse in zip(found[0.01], found[0.02], strict=True):
        assert fine == pytest.approx(4 * coarse, rel=1e-3)
    # No fewer than there are already.
    assert cal.judge(h, j, others, width=0.06).rows_needed[0] == 800
