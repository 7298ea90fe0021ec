"""Rare events in clusters and of soft labels: floors, intervals and verdicts keep what they promise
where what was seen does not tell how events scatter.
"""

import numpy as np
import pytest

import calibrant as cal
from calibrant import InputError
from calibrant._api.metrics.uncertainty import _uncertainty_of_measure
from calibrant._data.to_samples import to_samples
from calibrant._inference import null, slots
from calibrant._inference.blocks import blocks_of
from calibrant._inference.cells import design_effect, dispersion, problem_of
from calibrant._inference.class_errors import errors_over_classes
from calibrant._inference.null import (
    null_drawn,
    null_of_rare_events,
    rare_event_bins,
    with_rare_events,
)
from calibrant._inference.uncertainty import Uncertainty
from calibrant._measures.catalogue import find
from judged import noise_floors


def repeated(rng, n_clusters, rate, truth=1.0, copies=4):
    """Rare events, each row so many times; the true rate is `truth` times the predicted one."""
    u = np.clip(rate * np.exp(rng.normal(0, 0.8, n_clusters)), 0, 0.5)
    y = (rng.random(n_clusters) < truth * u).astype(int)
    group = np.repeat(np.arange(n_clusters), copies)
    return y[group], u[group], group


def labelled(rng, n_clusters, k, copies):
    p = rng.dirichlet(np.full(k, 0.1), n_clusters)
    y = (p.cumsum(axis=1) > rng.random((n_clusters, 1))).argmax(axis=1)
    group = np.repeat(np.arange(n_clusters), copies)
    return y[group], p[group], group


def alarms(draw, *measures, n=24, level=0.05):
    """By measure, how many of so many samples with the right predictions show p < 0.05."""
    rng = np.random.default_rng(7)
    found = dict.fromkeys(measures, 0)
    for _ in range(n):
        y, u, *group = draw(rng)
        groups = group[0] if group else None
        floors = noise_floors(y, u, measures, groups=groups, n_resamples=200)
        for measure, floor in floors.items():
            found[measure] += floor.p_value < level
    return found


# --- promises -------------------------------------------------------------------------------------


def test_right_predictions_of_rare_clusters_are_rarely_condemned():
    """By the signs of residuals alone: ACE 14, LS-ECE 8 of 24."""
    measures = ("ace", "ece", "ls_ece", "emax", "brier_miscalibration")
    found = alarms(lambda rng: repeated(rng, 500, 0.01), *measures)
    assert max(found.values()) <= 4, found


def test_right_predictions_of_many_classes_in_clusters_are_rarely_condemned():
    """By the signs of residuals alone: two of three."""
    assert alarms(lambda rng: labelled(rng, 500, 50, 3), "ace", n=10)["ace"] <= 2


def test_shares_of_few_votes_for_many_classes_are_rarely_condemned():
    """By the signs of residuals alone: 5 of 24."""

    def draw(rng):
        p = rng.dirichlet(np.full(50, 0.1), 600)
        return rng.multinomial(3, p) / 3, p

    assert alarms(draw, "ace")["ace"] <= 3


def test_a_few_soft_labels_among_rare_events_change_nothing():
    """By the sums of bins alone: Emax 42 %, LS-ECE 24 % of samples."""

    def draw(rng):
        u = 0.004 * rng.gamma(1, 1, 2000)
        z = (rng.random(2000) < u).astype(float)
        z[:10] = rng.binomial(50, u[:10]) / 50
        z[0] = u[0] = 0.02
        return z, u

    found = alarms(draw, "emax", "ls_ece")
    assert max(found.values()) <= 3, found


def test_verdicts_on_rare_clusters():
    """Three clusters are expected to have the event: nothing is known, whatever was seen.

    By the signs of residuals alone the ACE of three in eight condemned.
    """
    rng = np.random.default_rng(3)
    for _ in range(8):
        y, u, groups = repeated(rng, 1000, 0.002)
        for measure in ("ece", "ace"):
            found = cal.verdict(y, u, measure=measure, groups=groups, n_resamples=100)
            assert not found.sentence.startswith("Miscalibrated"), found


def test_an_error_may_be_least_between_the_limits_of_a_rare_rate():
    """Four events of 200 may be 10.24 or 1.09: halfway to more of them the prediction is right."""
    y, u = np.arange(200) < 4, np.full(200, 0.0356)
    rows, ece, _ = _uncertainty_of_measure(to_samples(y.astype(int), u), "ece", 15, 50, seed=0)
    changes = rows.with_rare_events(ece, 0.0156, 0.95).values()
    assert min(changes) == pytest.approx(-0.0156, abs=2e-5)
    assert max(changes) == pytest.approx(0.02 - 1.09 / 200, abs=2e-5)


def test_lower_limits_of_few_events_hold_the_truth():
    """A quarter of the events that were predicted: those that were not seen scatter too.

    By the scatter seen alone, 8 of 40 were above it.
    """
    rng = np.random.default_rng(5)
    above = 0
    for _ in range(20):
        y, u, groups = repeated(rng, 1000, 0.01, truth=0.25)
        truth = 0.75 * float(u.mean())
        above += cal.interval(y, u, groups=groups, n_resamples=200).low > truth
    assert above <= 1


def test_clusters_that_are_off_are_still_found():
    rng = np.random.default_rng(9)
    found = 0
    for _ in range(12):
        y, u, groups = repeated(rng, 400, 0.2, truth=0.5, copies=5)
        found += cal.noise_floor(y, u, groups=groups, n_resamples=200).p_value < 0.05
    assert found >= 9


def test_copies_have_the_p_value_of_the_rows():
    measures = ("ece", "debiased_l2", "smooth_ece", "ace")
    for seed in range(3):
        rng = np.random.default_rng(seed)
        u = rng.random(150)
        y = (rng.random(150) < u**1.5).astype(int)
        group = np.repeat(np.arange(150), 4)
        rows = noise_floors(y, u, measures, n_resamples=400)
        copies = noise_floors(y[group], u[group], measures, groups=group, n_resamples=400)
        for measure in measures:
            expected = pytest.approx(rows[measure].p_value, abs=0.12)
            assert copies[measure].p_value == expected, measure


def test_the_upper_point_and_the_p_value_say_the_same():
    """A value above the 95 % point has p below 5 %, and the other way round."""
    measures = ("ks_error", "smooth_ece", "ls_ece", "ici", "sweep_ece", "ece")
    said = {measure: set() for measure in measures}
    for seed in range(30):
        rng = np.random.default_rng(seed)
        u = rng.random(500)
        y = (rng.random(500) < u + 0.12 * (0.5 - u)).astype(int)
        for measure, floor in noise_floors(y, u, measures, n_resamples=100).items():
            near = 2.5 / floor.n_draws
            if abs(floor.p_value - 0.05) > near:
                said[measure].add(floor.p_value < 0.05)
                assert (floor.value > floor.upper) == (floor.p_value < 0.05), (measure, seed)
    assert all(each == {True, False} for each in said.values()), said


# --- what has no floor ----------------------------------------------------------------------------


@pytest.mark.parametrize("measure", ["brier", "log_loss", "dist_ce", "brier_discrimination"])
def test_what_is_no_error_has_no_floor_with_clusters(measure):
    y, u, groups = repeated(np.random.default_rng(0), 100, 0.2)
    with pytest.raises(InputError, match=f"^{measure} has no noise floor with groups=, because"):
        cal.noise_floor(y, u, measure=measure, groups=groups)
    assert cal.evaluate(y, u, measures=[measure], groups=groups, uncertainty=True)[measure] > 0
    assert cal.noise_floor(y, u, measure=measure).upper > 0
    with pytest.raises(InputError, match="soft labels have no noise floor"):
        cal.noise_floor(np.clip(y, 0.1, 0.9), u, measure=measure, groups=groups)


# --- parts ----------------------------------------------------------------------------------------


def test_which_events_are_rare():
    weight, rates = np.array([100.0, 100.0, 100.0, 0.0, 4.0]), np.array([0.05, 0.5, 0.95, 0.1, 0.5])
    rare = rare_event_bins(weight, weight, rates, 1.0)
    assert rare.bins.tolist() == [0, 2, 4]
    assert rare.trials.tolist() == [100, 100, 4]
    assert rare_event_bins(weight, weight, rates, 4.0).trials.tolist() == [25, 25, 1]
    assert rare_event_bins(weight, weight, rates, 8.0).bins.tolist() == [0, 1, 2, 4]
    # Rows of weight 2 are half as many.
    assert rare_event_bins(2 * weight, 4 * weight, rates, 1.0).trials.tolist() == [100, 100, 4]
    own, place = rare.find_cells(np.array([0, 1, 1, 4, 2]))
    assert own.tolist() == [0, 3, 4] and place.tolist() == [0, 2, 1]


def test_rare_events_scatter_as_so_many_outcomes():
    weight = np.array([50.0, 50.0])
    rare = rare_event_bins(weight, weight, np.array([0.02, 0.98]), 5.0)
    noise = rare.draw_residuals(np.array([0.02, 0.98]), 40_000, np.random.default_rng(0))
    assert noise.mean(axis=0) == pytest.approx(0.0, abs=0.05)
    assert noise.var(axis=0) == pytest.approx(5.0 * 50.0 * 0.02 * 0.98, rel=0.05)
    assert set(np.unique(np.round(noise[:, 0] + 1.0, 9))) <= {0.0, 5.0, 10.0, 15.0, 20.0, 25.0}


@pytest.mark.parametrize("votes", [1, 5])
@pytest.mark.parametrize("copies", [1, 4])
def test_how_many_rows_an_outcome_counts_as(votes, copies):
    rng = np.random.default_rng(2)
    u = rng.random(2000)
    z = rng.binomial(votes, u) / votes
    group = np.repeat(np.arange(2000), copies)
    problem = problem_of(to_samples(z[group], u[group]), "binary", cal.EqualWidth(10))
    found = problem.outcome_size(blocks_of(problem.n, group if copies > 1 else None, 0))
    assert found == pytest.approx(copies / votes, rel=0.15)


def test_an_outcome_counts_as_one_row_at_least_and_as_its_cluster_where_nothing_was_seen():
    assert design_effect(10.0, 4.0) == 1.0  # one winner a race
    assert dispersion(10.0, 0.0) == dispersion(0.0, 0.0) == 1.0
    problem = problem_of(to_samples(np.zeros(40), np.full(40, 0.01)), "binary", cal.EqualWidth(5))
    found = problem.outcome_size(blocks_of(40, np.arange(40) // 4, 0))
    assert found >= 1.0 and np.isfinite(found)


def test_squares_of_blocks_one_at_a_time_are_those_of_all(monkeypatch):
    y, p, groups = labelled(np.random.default_rng(1), 60, 6, 3)
    measure, rules = find("classwise_ece", "multiclass"), (cal.EqualWidth(15), cal.Quantile(15))
    found = Uncertainty(to_samples(y, p), *rules, (measure,), groups=groups)
    bins = errors_over_classes(measure, found).slots
    values = bins.w * (bins.z - bins.u)
    dense = bins.block_squares(found.blocks, values)
    monkeypatch.setattr(slots, "BLOCK_ENTRIES", 0)
    assert bins.block_squares(found.blocks, values) == pytest.approx(dense, rel=1e-12)
    assert dense.sum() > 1.5 * (values**2).sum()


def test_many_bins_count_clusters_too(monkeypatch):
    """Where blocks times bins are too many to be kept, residuals are normal: of clusters still."""
    y, p, groups = labelled(np.random.default_rng(1), 300, 4, 4)
    kept = cal.noise_floor(y, p, measure="classwise_ece", groups=groups, n_resamples=300)
    monkeypatch.setattr(slots, "BLOCK_ENTRIES", 0)
    monkeypatch.setattr(null, "BLOCK_ENTRIES", 0)
    summed = cal.noise_floor(y, p, measure="classwise_ece", groups=groups, n_resamples=300)
    assert summed.upper == pytest.approx(kept.upper, rel=0.15)
    alone = cal.noise_floor(y, p, measure="classwise_ece", n_resamples=300)
    assert alone.upper < 0.7 * kept.upper


def test_squares_of_outcomes_are_the_outcomes():
    y, u, groups = repeated(np.random.default_rng(0), 100, 0.2)
    problem = problem_of(to_samples(y, u), "binary", cal.EqualWidth(5))
    blocks, rng = blocks_of(problem.n, groups, 0), np.random.default_rng(0)
    seen = null_drawn(problem, problem.fine_cells, blocks, 50, rng)
    rare = null_of_rare_events(problem, seen, blocks, rng)
    for drawn in (seen, rare):
        assert np.array_equal(drawn.wz2, drawn.wz)


def test_bins_too_many_to_be_drawn_twice_have_the_scatter_of_the_model(monkeypatch):
    """By the residuals seen alone the floor lies a fifth too low."""
    y, p, groups = labelled(np.random.default_rng(1), 300, 50, 3)
    first = np.arange(groups.size) % 3 == 0  # each row once
    rows = cal.noise_floor(y[first], p[first], measure="ace", n_resamples=200)
    monkeypatch.setattr(slots, "BLOCK_ENTRIES", 0)
    monkeypatch.setattr(null, "BLOCK_ENTRIES", 0)
    copies = cal.noise_floor(y, p, measure="ace", groups=groups, n_resamples=200)
    assert copies.mean == pytest.approx(rows.mean, rel=0.15)


@pytest.mark.parametrize(("rows", "chance"), [(100, 1e-5), (100, 1e-4), (2, 1e-6)])
def test_one_event_that_was_hardly_possible_has_its_own_chance(rows, chance):
    """Of a thousand draws none, or a few, have such an event: the tail fitted to them was ten times
    too short, or said one in a million millions.
    """
    y, p = np.zeros(rows, int), np.full(rows, chance)
    y[0] = 1
    expected = -np.expm1(rows * np.log1p(-chance))
    assert cal.noise_floor(y, p).p_value == pytest.approx(expected, rel=1e-6)
    day = np.full(rows, np.datetime64("2026-01-01"))
    window = cal.Monitor().update(y, p, time=day).evaluate()
    assert window.columns()["p_value"] == pytest.approx([expected], rel=1e-6)
    labels = cal.multilabel(np.c_[y, y], np.c_[p, p], measures=["ece"])
    assert labels.columns()["p_value"] == pytest.approx([expected] * 2, rel=1e-6)


@pytest.mark.parametrize(("votes", "one_by_one"), [(7, True), (14, False)])
def test_labels_of_few_votes_are_drawn_vote_by_vote(votes, one_by_one):
    """Two cells of a bin then vary each for itself; of more votes the bin's sum is enough, and what
    is more or less falls on both.
    """
    rng = np.random.default_rng(65)
    u = np.repeat([0.002, 0.0025], 100)
    z = np.zeros(200)
    z[[5, 120, 180]] = 1 / votes
    problem = problem_of(to_samples(z, u), "binary", cal.EqualWidth(1))
    cells, blocks = problem.fine_cells, blocks_of(200, None, 0)
    noise = with_rare_events(np.zeros((400, cells.size)), problem, cells, blocks, rng)
    assert cells.size == 2 and round(1 / problem.dispersion) == votes
    common = np.corrcoef(noise.T)[0, 1]
    assert common < 0.3 if one_by_one else common > 0.9
