"""What the right predictions show by chance, against slow redraws, enumeration and exact means."""

import json
import warnings
from dataclasses import replace
from functools import cache
from itertools import product

import numpy as np
import pytest

import calibrant as cal
from calibrant import InputError
from calibrant._data.to_samples import to_samples
from calibrant._inference.blocks import blocks_of
from calibrant._inference.bootstrap import draw_blocks
from calibrant._inference.budget import FINE
from calibrant._inference.cells import Problem, cells_of, observed_draw, problem_of
from calibrant._inference.null import drawn_samples, null_drawn
from calibrant._inference.uncertainty import Uncertainty
from calibrant._measures.catalogue import find
from calibrant._summaries.samples import Summary
from needs import need


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def predictions(n, seed=0):
    return sigmoid(np.random.default_rng((3, seed)).normal(0, 1.5, n))


def outcomes(u, seed=0):
    return (np.random.default_rng((4, seed)).random(u.size) < u).astype(int)


def agrees(drawn, slow, what=""):
    """Two sets of draws have the same mean and 95 % point, within what chance allows."""
    error = np.sqrt(drawn.var() / drawn.size + slow.var() / slow.size)
    assert abs(drawn.mean() - slow.mean()) < 4 * error, what
    # The 95 % point of a roughly normal law scatters about 2.1 times as much as the mean.
    assert abs(np.quantile(drawn, 0.95) - np.quantile(slow, 0.95)) < 9 * error, what


# --- slow twins -----------------------------------------------------------------------------------


REDRAWN = ("ece", "rmsce", "mce", "lin_ce", "debiased_l2", "ks_error", "sweep_ece", "brier",
           "log_loss", "tace", "ls_ece")  # fmt: skip


@cache
def redrawn(n):
    """These measures of n samples of outcomes: (n, measures)."""
    u, rng = predictions(400), np.random.default_rng(5)
    draws = ((rng.random(400) < u).astype(int) for _ in range(n))
    found = (cal.evaluate(y, u, measures=REDRAWN) for y in draws)
    return np.array([[each[name] for name in REDRAWN] for each in found])


@pytest.mark.parametrize("name", REDRAWN)
def test_noise_floor_against_redrawn_rows(name):
    u = predictions(400)
    y = outcomes(u)
    floor = cal.noise_floor(y, u, measure=name, n_resamples=2000)
    slow = redrawn(160)[:, REDRAWN.index(name)]
    error = slow.std() * np.sqrt(1 / slow.size + 1 / (floor.n_draws or 1e9))
    assert abs(floor.mean - slow.mean()) < 4 * error
    assert abs(floor.upper - np.quantile(slow, 0.95)) < 9 * error
    assert floor.value == pytest.approx(cal.evaluate(y, u, measures=[name])[name])
    share = (slow >= floor.value * (1 - 1e-12)).mean()
    assert floor.p_value == pytest.approx(share, abs=0.12)


OF_CLASSES = ("ece", "classwise_ece", "lin_ce", "confidence_ce", "brier")


@cache
def redrawn_labels():
    """Predictions of four classes, labels that follow them, and measures of 200 more such."""
    rng = np.random.default_rng(6)
    p = rng.dirichlet(np.full(4, 0.8), 200)
    draw = lambda: (np.cumsum(p, axis=1) < rng.random(200)[:, None]).sum(axis=1)  # noqa: E731
    y, found = draw(), (cal.evaluate(draw(), p, measures=OF_CLASSES) for _ in range(200))
    return y, p, np.array([[each[name] for name in OF_CLASSES] for each in found])


@pytest.mark.parametrize("name", OF_CLASSES)
def test_noise_floor_of_many_classes_against_redrawn_rows(name):
    y, p, measured = redrawn_labels()
    floor = cal.noise_floor(y, p, measure=name)
    slow = measured[:, OF_CLASSES.index(name)]
    error = slow.std() * np.sqrt(1 / 200 + 1 / (floor.n_draws or 1e9))
    assert abs(floor.mean - slow.mean()) < 4 * error
    assert abs(floor.upper - np.quantile(slow, 0.95)) < 9 * error


def problem(u, z, w=None):
    return problem_of(to_samples(z, u, sample_weight=w), "binary", cal.EqualWidth(5))


def null_tables(found, n_draws, rng, groups=None):
    blocks = blocks_of(found.n, groups, 0)
    return null_drawn(found, found.fine_cells, blocks, n_draws, rng).tables()


def test_tables_of_redrawn_outcomes_with_weights():
    u = predictions(150)
    w = np.random.default_rng(1).random(150) * 3
    w[::10] = 0
    rng = np.random.default_rng(2)
    tables = null_tables(problem(u, outcomes(u), w), 1500, rng)
    slow = np.array(
        [cal.ece((rng.random(150) < u).astype(int), u, bins=5, sample_weight=w) for _ in range(600)]
    )
    agrees(find("ece", "binary").of_tables(tables), slow)
    exact = cal.reliability(outcomes(u), u, bins=5, sample_weight=w).table
    for field in ("sum_w", "sum_w2", "sum_wu"):
        expected = np.broadcast_to(getattr(exact, field), getattr(tables, field).shape)
        np.testing.assert_allclose(getattr(tables, field), expected, rtol=1e-12)


def test_tables_of_redrawn_outcomes_without_weights_are_those_with_equal_ones():
    u = predictions(300)
    y = outcomes(u)
    rng = np.random.default_rng(3)
    plain = null_tables(problem(u, y), 2000, rng)
    ones = null_tables(problem(u, y, np.ones(300)), 2000, rng)
    for name in ("ece", "rmsce", "lin_ce"):
        measure = find(name, "binary").of_tables
        agrees(measure(plain), measure(ones), name)


@pytest.mark.parametrize("rows_together", [False, True])
def test_labels_that_scatter_have_the_floor_of_their_own_scatter(rows_together):
    """Right on average and not row by row: redrawn votes would scatter too little."""
    rng = np.random.default_rng(4)
    u = predictions(600)
    groups = np.arange(600) // 3 if rows_together else None

    def labels():
        q = rng.beta(3 * u, 3 * (1 - u))
        z = rng.binomial(20, q) / 20
        return np.repeat(z[::3], 3) + 0 * u if rows_together else z

    if rows_together:
        u = np.repeat(u[::3], 3)
    slow = np.array([cal.ece(labels(), u, bins=5) for _ in range(300)])
    found = [
        find("ece", "binary").of_tables(null_tables(problem(u, labels()), 300, rng, groups))
        for _ in range(8)
    ]
    assert np.mean(found) == pytest.approx(slow.mean(), rel=0.08)
    assert np.quantile(found, 0.95) == pytest.approx(np.quantile(slow, 0.95), rel=0.1)


@pytest.mark.parametrize("votes", [3, 10, 50])
def test_shares_that_are_right_on_average_are_rarely_called_wrong(votes):
    """Redrawn votes called them wrong in 35, 87 and 100 of 100 samples."""
    wrong = 0
    for seed in range(16):
        u = predictions(400, seed)
        rng = np.random.default_rng((12, votes, seed))
        z = rng.binomial(votes, rng.beta(3 * u, 3 * (1 - u))) / votes
        floor = cal.noise_floor(z, u, votes=votes, n_resamples=300)
        assert "scatter" in floor.method
        wrong += floor.p_value < 0.05
    assert wrong <= 4  # 0.8 expected: 5 have a chance of 0.001


def test_more_votes_lower_the_noise_floor():
    u = predictions(500)
    rng = np.random.default_rng(5)
    floors = [cal.noise_floor(rng.binomial(k, u) / k, u, votes=k) for k in (1, 4, 100)]
    assert floors[0].mean / floors[1].mean == pytest.approx(2, rel=0.1)
    assert floors[0].mean / floors[2].mean == pytest.approx(10, rel=0.1)
    assert "scatter" in floors[1].method
    # One vote is an outcome.
    y = outcomes(u)
    one, hard = cal.noise_floor(y, u, votes=1), cal.noise_floor(y, u)
    assert one.mean == pytest.approx(hard.mean, rel=0.05)


def test_whole_samples_are_drawn_from_the_predictions():
    p = np.array([[0.7, 0.2, 0.1], [0.0, 0.5, 0.5], [0.0, 0.0, 1.0]])
    rng = np.random.default_rng(6)
    drawn = np.stack([s.targets for s in drawn_samples(to_samples([0, 1, 2], p), 3000, rng)])
    shares = np.stack([(drawn == r).mean(axis=0) for r in range(3)], axis=1)
    np.testing.assert_allclose(shares, p, atol=0.04)
    assert (drawn[:, 2] == 2).all() and (drawn[:, 1] > 0).all()
    voted = next(iter(drawn_samples(to_samples(p, p), 1, rng, votes=10))).targets
    np.testing.assert_allclose(voted.sum(axis=1), 1)
    np.testing.assert_allclose(voted * 10, np.rint(voted * 10), atol=1e-9)


# --- exact means ----------------------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
def test_the_mean_of_the_truthful_error_is_that_of_all_outcomes(weighted):
    u = np.array([0.05, 0.3, 0.35, 0.5, 0.8, 0.81, 0.99])
    w = np.array([1.0, 2.0, 0.5, 3.0, 1.0, 0.1, 1.5]) if weighted else None
    for bins in (cal.EqualWidth(3), cal.Quantile(2), cal.EqualWidth(1)):
        mean = 0.0
        for outcome in product((0, 1), repeat=7):
            chance = np.prod(np.where(np.array(outcome) == 1, u, 1 - u))
            mean += chance * cal.lin_ce(outcome, u, bins=bins, sample_weight=w)
        floor = cal.noise_floor(
            [0, 1, 0, 1, 1, 1, 1], u, measure="lin_ce", bins=bins, sample_weight=w
        )
        assert floor.exact_mean
        assert floor.mean == pytest.approx(mean, rel=1e-12)


def test_the_mean_of_the_corrected_confidence_error_is_that_of_all_outcomes():
    p = np.array([[0.6, 0.3, 0.1], [0.2, 0.5, 0.3], [0.1, 0.1, 0.8], [0.4, 0.35, 0.25]])
    for name, w in product(("confidence_ce_uncorrected", "confidence_ce"), (None, [5, 1, 2, 2])):
        mean = 0.0
        for outcome in product(range(3), repeat=4):
            chance = np.prod(p[np.arange(4), list(outcome)])
            options = {"measures": [name], "bins": 2, "sample_weight": w}
            mean += chance * cal.evaluate(list(outcome), p, **options)[name]
        floor = cal.noise_floor([0, 1, 2, 0], p, measure=name, bins=2, sample_weight=w)
        assert floor.exact_mean and floor.mean == pytest.approx(mean, rel=1e-12)


def test_other_means_are_drawn():
    u = predictions(100)
    assert not cal.noise_floor(outcomes(u), u).exact_mean
    assert find("ece", "binary").null_mean is None


# --- resamples ------------------------------------------------------------------------------------


def drawn_rows(samples, groups):
    """Resamples as the sample with other weights."""
    draws = draw_blocks(samples.n, 5, 9, groups)
    base = np.ones(samples.n) if samples.weights is None else samples.weights
    return [replace(samples, weights=counts[draws.blocks] * base) for counts in draws.counts]


def test_a_resample_is_a_repetition_of_rows():
    u = predictions(60)
    samples = to_samples(outcomes(u), u, sample_weight=None)
    for part in drawn_rows(samples, None):
        times = part.weights.astype(int)
        assert times.sum() == 60
        y, p = np.repeat(samples.targets, times), np.repeat(u, times)
        for name in ("ece", "lin_ce", "ks_error", "brier"):
            value = find(name, "binary").compute(Summary(part))
            assert value == pytest.approx(cal.evaluate(y, p, measures=[name])[name], rel=1e-10)


def test_a_resample_of_groups_takes_them_whole():
    u = predictions(60)
    weights = np.random.default_rng(0).random(60)
    groups = np.arange(60) // 6
    samples = to_samples(outcomes(u), u, sample_weight=weights)
    for part in drawn_rows(samples, groups):
        times = np.rint(part.weights / weights).astype(int).reshape(10, 6)
        np.testing.assert_allclose(part.weights, times.ravel() * weights)
        assert (times == times[:, :1]).all() and times[:, 0].sum() == 10


@pytest.mark.parametrize("width", [FINE, 0.5])
@pytest.mark.parametrize("weighted", [False, True])
def test_cells_are_the_sample(width, weighted):
    u = np.concatenate([predictions(2000), [0.0, 1.0, 0.5, 0.5]])
    y = outcomes(u)
    w = np.random.default_rng(0).random(u.size) if weighted else None
    cells = cells_of(problem(u, y, w), width)
    assert cells.n.sum() == u.size
    exact = cal.reliability(y, u, bins=5, sample_weight=w).table
    table = observed_draw(cells).tables()
    for name in ("sum_w", "sum_w2", "sum_wu", "sum_wz", "sum_wz2"):
        np.testing.assert_allclose(getattr(table, name), getattr(exact, name), err_msg=name)
    assert (np.diff(cells.u) > 0).all()


@pytest.mark.parametrize(
    "name", ["ks_error", "ls_ece", "smooth_ece", "brier_miscalibration", "sweep_ece"]
)
def test_measures_of_cells_are_those_of_rows(name):
    """Nearly: a value and what it is compared with are both of cells."""
    h = np.random.default_rng(1).normal(0, 1.5, 3000)
    u, y = sigmoid(1.5 * h), outcomes(sigmoid(h))
    measure = find(name, "binary")
    seen = observed_draw(problem(u, y).fine_cells)
    assert measure.of_cells(seen)[0] == pytest.approx(
        measure.compute(Summary(to_samples(y, u))), rel=0.08
    )


@pytest.mark.parametrize("shape", ["binary", "multiclass"])
@pytest.mark.parametrize("kind", ["hard", "soft", "weighted", "dropping"])
def test_the_formula_over_many_tables_is_the_measure(shape, kind):
    rng = np.random.default_rng(10)
    weight = rng.random(80) if kind == "weighted" else None
    bins = cal.EqualWidth(6, drop_one=True) if kind == "dropping" else 6
    if shape == "binary":
        p = np.round(rng.random(80), 1)
        y = rng.random(80) if kind == "soft" else rng.integers(0, 2, 80)
    else:
        p = rng.dirichlet(np.full(3, 0.5), 80)
        p[0] = (1, 0, 0)
        y = rng.dirichlet(np.ones(3), 80) if kind == "soft" else rng.integers(0, 3, 80)
    quantile = bins if kind == "dropping" else cal.Quantile(6)
    rule = bins if kind == "dropping" else cal.EqualWidth(6)
    summary = Summary(to_samples(y, p, sample_weight=weight), rule, quantile)
    found = 0
    for measure in cal.catalogue(shape):
        if measure.of_tables is not None:
            if kind == "dropping" and measure.name in ("ace", "tace"):
                continue  # they keep bins of equal mass
            table = getattr(summary, measure.statistic)
            if measure.statistic == "above":
                table = table(0.01)
            if measure.notion == "confidence by class":
                table = (
                    table.as_one_class()
                )  # classes share out the rows: one problem, as it is drawn
            values = measure.of_tables(table)
            assert values.shape == (table.n_classes,)
            assert values.mean() == pytest.approx(measure.compute(summary), rel=1e-12, abs=1e-15)
            found += 1
    assert found >= 5


# --- p-values -------------------------------------------------------------------------------------


def test_p_values_are_uniform_under_the_right_predictions():
    kstest = need("scipy.stats").kstest
    names = ("ece", "rmsce", "lin_ce", "brier", "ks_error")
    measures = tuple(find(name, "binary") for name in names)
    found = []
    for seed in range(140):
        u = predictions(300, seed)
        samples = to_samples(outcomes(u, seed), u)
        worth = Uncertainty(
            samples, cal.EqualWidth(15), cal.Quantile(15), measures, n_resamples=250, seed=seed
        )
        summary = Summary(samples)
        found.append([worth.noise_floor(m, m.compute(summary)).p_value for m in measures])
    for name, p in zip(names, np.array(found).T, strict=True):
        assert kstest(p, "uniform").pvalue > 0.01, name
        assert 0.01 <= (p <= 0.05).mean() <= 0.1, name


@pytest.mark.parametrize("name", ["ece", "lin_ce", "ks_error"])
def test_power_against_overconfident_predictions(name):
    found = []
    for seed in range(15):
        h = np.random.default_rng((11, seed)).normal(0, 1.5, 1000)
        y = outcomes(sigmoid(h), seed)
        found.append(cal.noise_floor(y, sigmoid(2 * h), measure=name, n_resamples=200).p_value)
    assert np.mean(np.array(found) < 0.05) == 1.0


def test_measures_of_which_more_is_better_have_a_lower_point():
    u = predictions(300)
    floor = cal.noise_floor(outcomes(u), u, measure="brier_discrimination")
    assert floor.upper < floor.mean
    useless = cal.noise_floor(outcomes(u)[::-1], u, measure="brier_discrimination")
    assert useless.p_value < 0.01


# --- input and output -----------------------------------------------------------------------------


def test_soft_labels_need_votes():
    u = predictions(50)
    soft = np.random.default_rng(0).random(50)
    with pytest.raises(InputError, match="votes="):
        cal.noise_floor(soft, u, measure="dist_ce")
    assert cal.noise_floor(soft, u, measure="dist_ce", votes=3).p_value < 0.05
    for votes in (0, -1, 2.5, "3", [3, 3], np.zeros(50, int)):
        with pytest.raises(InputError, match="votes"):
            cal.noise_floor(soft, u, votes=votes)


def test_same_seed_same_answer():
    u = predictions(200)
    y = outcomes(u)
    one, same, other = (cal.noise_floor(y, u, seed=seed) for seed in (1, 1, 2))
    assert one == same
    assert one.mean != other.mean


def test_what_it_says():
    u = predictions(200)
    floor = cal.noise_floor(outcomes(u), u)
    again = json.loads(floor.to_json())
    assert again == floor.to_dict() and again["p_value"] == floor.p_value
    assert "a calibrated model would show" in repr(floor) and "95% of samples" in repr(floor)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"measure": "eec"}, "did you mean 'ece'"),
        ({"measure": "classwise_ece"}, "not defined for binary"),
        ({"n_resamples": 49}, "at least 50"),
        ({"n_resamples": 100.0}, "whole number"),
        ({"n_resamples": True}, "whole number"),
        ({"seed": -1}, "seed"),
        ({"seed": 0.5}, "seed"),
        ({"bins": 0}, "bins"),
    ],
)
def test_options_out_of_range_are_refused(options, words):
    with pytest.raises(InputError, match=words):
        cal.noise_floor([0, 1, 1], [0.2, 0.7, 0.9], **options)


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("prediction", [None, 0.0, 0.5, 1.0])
def test_few_rows_and_constant_predictions(n, prediction):
    u = np.full(n, prediction) if prediction is not None else np.linspace(0.1, 0.8, n)
    y = np.arange(n) % 2
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for name in ("ece", "mce", "lin_ce", "debiased_l2", "ks_error", "brier"):
            floor = cal.noise_floor(y, u, measure=name, n_resamples=50)
            assert 0 <= floor.mean <= 1 and 0 <= floor.upper <= 1 and 0 < floor.p_value <= 1


def test_certain_predictions_that_are_right_have_no_noise():
    floor = cal.noise_floor([0, 1, 1, 0], [0.0, 1.0, 1.0, 0.0])
    assert (floor.mean, floor.upper, floor.p_value) == (0.0, 0.0, 1.0)
    wrong = cal.noise_floor([1, 1, 1, 0], [0.0, 1.0, 1.0, 0.0])
    assert wrong.p_value < 0.01


@pytest.mark.parametrize(
    "bins",
    [cal.LevelSets(), cal.Quantile(4, ties="rank"), cal.EqualWidth(4, drop_one=True), [0, 0.3, 1]],
)
def test_every_rule_has_a_noise_floor(bins):
    u = np.round(predictions(80), 1)
    y = outcomes(u)
    rng = np.random.default_rng(12)
    floor = cal.noise_floor(y, u, bins=bins)
    slow = np.array([cal.ece((rng.random(80) < u).astype(int), u, bins=bins) for _ in range(300)])
    error = slow.std() * np.sqrt(1 / 300 + 1 / (floor.n_draws or 1e9))
    assert abs(floor.mean - slow.mean()) < 4 * error


def test_a_problem_without_weight_in_a_bin():
    found = Problem(
        np.array([0.2, 0.9]), np.array([0.0, 1.0]), np.array([1.0, 0.0]), np.array([0, 4]), 5, True
    )
    assert found.gaps().tolist() == pytest.approx([-0.2, 0, 0, 0, 0])


@pytest.mark.parametrize("measure", ["ece", "ks_error"])
def test_one_calibrated_sample_in_twenty_lies_above(measure):
    """Not one in ten: bounds of a mean do not tell these apart."""
    rng = np.random.default_rng(12)
    u = rng.random(300)
    labels = (rng.random((700, 300)) < u).astype(int)
    floor = cal.noise_floor(labels[0], u, measure=measure, n_resamples=2000)
    compute = getattr(cal, measure)
    above = np.mean([compute(y, u) > floor.upper for y in labels])
    assert 0.025 < above < 0.075  # 0.05, give or take three times 0.008


def test_rows_have_cells_of_their_own_where_they_are_few():
    """Up to a thousand; of more, those of about the same prediction share one."""
    for n, apart in ((900, True), (1100, False)):
        u = np.linspace(0.3, 0.7, n)
        cells = problem_of(to_samples(np.arange(n) % 2, u), "binary", cal.EqualWidth(1)).fine_cells
        assert (cells.size > 0.9 * n) == apart
    # 0.004 wide in the middle; and a row at 1 / 2 within 0.0001.
    for n, least, most in ((100_001, 0.003, 0.005), (1000, 0.00004, 0.00008)):
        u = np.linspace(0.45, 0.55, n) if n > 1000 else np.linspace(0.4995, 0.5005, n)
        cells = problem_of(to_samples(np.arange(n) % 2, u), "binary", cal.EqualWidth(1)).fine_cells
        width = np.ptp(u) / n * np.median(cells.w)
        assert least < width < most, width


def test_predictions_next_to_0_share_a_cell():
    """One in a million is told from one in 500,000, and not one in five millions from less."""
    for pair, size in (((1e-6, 2e-6), 2), ((2e-7, 4e-7), 1)):
        u = np.tile(pair, 50)
        cells = problem_of(
            to_samples(np.arange(100) % 2, u), "binary", cal.EqualWidth(1)
        ).fine_cells
        assert cells.size == size
