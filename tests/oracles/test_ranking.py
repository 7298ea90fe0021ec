"""Ranking and abstention: ties, weights, soft labels, classes; intervals; one outcome alone."""

from __future__ import annotations

import math

import numpy as np
import pytest

import calibrant as cal
import twins
from needs import need


def tied(n: int = 60, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Predictions on a few values, whole weights, and outcomes."""
    rng = np.random.default_rng(seed)
    p = rng.integers(1, 8, n) / 8
    return (rng.random(n) < p).astype(int), p, rng.integers(0, 4, n).astype(float)


def problem(y: np.ndarray, p: np.ndarray, w: np.ndarray | None = None) -> twins.Problem:
    weights = [1.0] * len(p) if w is None else w.tolist()
    return twins.Problem(p.tolist(), y.astype(float).tolist(), weights)


@pytest.mark.parametrize("weighted", [False, True])
def test_ties_are_exact(weighted: bool) -> None:
    y, p, w = tied()
    given = problem(y, p, w if weighted else None)
    options = {"sample_weight": w} if weighted else {}
    assert cal.auroc(y, p, **options) == pytest.approx(twins.auroc(given), rel=1e-13)
    assert cal.aurc(y, p, **options) == pytest.approx(twins.aurc(given), rel=1e-13)
    for coverage in (0.01, 0.3, 0.8, 1.0):
        found = cal.accuracy_at_coverage(y, p, coverage=coverage, **options)
        expected = twins.accuracy_at_coverage(given, coverage)
        assert found == pytest.approx(expected, rel=1e-13)
        curve = cal.risk_coverage(y, p, **options)
        assert curve.accuracy_at(coverage) == pytest.approx(expected, rel=1e-12)


def test_without_ties_it_is_the_mean_of_running_error_rates() -> None:
    rng = np.random.default_rng(1)
    p = rng.random(200)
    y = (rng.random(200) < p).astype(int)
    errors = 1 - y[np.argsort(-p)]
    assert cal.aurc(y, p) == pytest.approx(np.mean(np.cumsum(errors) / np.arange(1, 201)))
    curve = cal.risk_coverage(y, p)
    assert curve.risk == pytest.approx(np.cumsum(errors) / np.arange(1, 201))
    assert curve.aurc == pytest.approx(cal.aurc(y, p))


def test_a_soft_label_is_both_outcomes_in_part() -> None:
    rng = np.random.default_rng(2)
    p, z = rng.random(40).round(1), rng.random(40)
    given = problem(z, p)
    assert cal.auroc(z, p) == pytest.approx(twins.auroc(given), rel=1e-13)
    assert cal.aurc(z, p) == pytest.approx(twins.aurc(given), rel=1e-13)
    # As many rows of each outcome as the label says.
    twice = np.concatenate([z, 1 - z])
    both = np.concatenate([np.ones(40), np.zeros(40)]).astype(int)
    whole = cal.auroc(both, np.concatenate([p, p]), sample_weight=twice)
    assert cal.auroc(z, p) == pytest.approx(whole, rel=1e-12)


def test_scikit_learn_agrees() -> None:
    metrics = need("sklearn.metrics")
    y, p, w = tied(200)
    assert cal.auroc(y, p) == pytest.approx(metrics.roc_auc_score(y, p), rel=1e-13)
    expected = metrics.roc_auc_score(y, p, sample_weight=w)
    assert cal.auroc(y, p, sample_weight=w) == pytest.approx(expected, rel=1e-13)
    rng = np.random.default_rng(3)
    rows = rng.dirichlet(np.ones(4), 200)
    labels = (rows.cumsum(axis=1) < rng.random(200)[:, None]).sum(axis=1)
    expected = metrics.roc_auc_score(labels, rows, multi_class="ovr")
    assert cal.auroc(labels, rows, notion="classwise") == pytest.approx(expected, rel=1e-13)
    hit = (rows.argmax(axis=1) == labels).astype(int)
    expected = metrics.roc_auc_score(hit, rows.max(axis=1))
    assert cal.auroc(labels, rows) == pytest.approx(expected, rel=1e-13)
    assert cal.aurc(labels, rows) == pytest.approx(cal.aurc(hit, rows.max(axis=1)), rel=1e-13)


def test_two_classes_as_the_top_label() -> None:
    y, p = np.array([1, 0, 1, 0]), np.array([0.9, 0.2, 0.4, 0.7])
    right, sure = np.array([1, 1, 0, 0]), np.array([0.9, 0.8, 0.6, 0.7])
    assert cal.aurc(y, p, notion="confidence") == pytest.approx(cal.aurc(right, sure))
    at_all = cal.accuracy_at_coverage(y, p, coverage=1.0, notion="confidence")
    assert at_all == pytest.approx(1 - cal.classification_error(y, p))


def test_delong_by_hand() -> None:
    """The variance from placements, as DeLong, DeLong and Clarke-Pearson write it."""
    y, p, _ = tied(80, 4)
    up, down = p[y == 1], p[y == 0]
    pairs = (up[:, None] > down) + 0.5 * (up[:, None] == down)
    variance = pairs.mean(1).var(ddof=1) / up.size + pairs.mean(0).var(ddof=1) / down.size
    found = cal.interval(y, p, measure="auroc")
    assert found.standard_error == pytest.approx(math.sqrt(variance), rel=0.03)
    logit = math.log(found.value / (1 - found.value))
    half = 1.96 * math.sqrt(variance) / (found.value * (1 - found.value))
    assert found.low == pytest.approx(1 / (1 + math.exp(half - logit)), abs=0.02)
    assert found.high == pytest.approx(1 / (1 + math.exp(-half - logit)), abs=0.02)


@pytest.mark.parametrize("clusters", [False, True])
def test_limits_hold_the_truth_as_often_as_they_say(clusters: bool) -> None:
    rng = np.random.default_rng(5)
    very_many = rng.beta(2, 2, 40_000)
    truth = {m: getattr(cal, m)(very_many, very_many) for m in ("auroc", "aurc")}
    truth["accuracy_at_coverage"] = cal.accuracy_at_coverage(very_many, very_many)
    inside = dict.fromkeys([*truth, "curve"], 0)
    for _ in range(60):
        p = rng.beta(2, 2, 60 if clusters else 200)
        y = (rng.random(p.size) < p).astype(int)
        options: dict = {}
        if clusters:  # four rows that are one
            p, y = np.repeat(p, 4), np.repeat(y, 4)
            options["groups"] = np.repeat(np.arange(60), 4)
        for name, value in truth.items():
            found = cal.interval(y, p, measure=name, **options)
            inside[name] += found.low <= value <= found.high
        curve = cal.risk_coverage(y, p, **options)
        at = int(np.argmin(np.abs(curve.coverage - 0.5)))
        risk = 1 - cal.accuracy_at_coverage(very_many, very_many, coverage=curve.coverage[at])
        inside["curve"] += curve.low[at] <= risk <= curve.high[at]
    assert min(inside.values()) >= 51, inside


def test_one_outcome_has_no_ranking() -> None:
    for seen in (0, 1):
        with pytest.raises(cal.NotDefined, match=f"every label is {seen}"):
            cal.auroc([seen] * 4, [0.1, 0.2, 0.3, 0.4])
    found = cal.evaluate([1] * 4, [0.1, 0.2, 0.3, 0.4])
    assert "auroc" not in found and any(
        note.startswith("auroc: not computed") for note in found.notes
    )
    models = {"a": [0.1, 0.2, 0.3, 0.4], "b": [0.5, 0.2, 0.3, 0.4]}
    compared = cal.compare([1] * 4, models, n_resamples=50)
    assert "auroc" not in compared.measures
    assert any("auroc: not computed" in note for note in compared.notes)
    with pytest.raises(cal.NotDefined, match="the class 2"):
        cal.auroc([0, 1, 0], np.full((3, 3), 1 / 3), notion="classwise")


def test_a_perfect_ranking_is_not_certain() -> None:
    found = cal.interval([0, 0, 0, 1, 1], [0.1, 0.2, 0.3, 0.8, 0.9], measure="auroc")
    assert found.value == found.high == 1.0 and found.low < 0.5


def test_ranking_is_no_matter_of_calibration() -> None:
    y, p, _ = tied()
    for measure in ("auroc", "aurc", "accuracy_at_coverage"):
        with pytest.raises(cal.InputError, match="ranking, not calibration"):
            cal.noise_floor(y, p, measure=measure)
        with pytest.raises(cal.InputError, match="ranking, not calibration"):
            cal.verdict(y, p, measure=measure)
        before, after = (cal.evaluate(y, u, measures=[measure])[measure] for u in (p, p**3))
        assert before == pytest.approx(after, rel=1e-12)
    with pytest.raises(cal.InputError, match="auroc"):
        cal.evaluate(y, p, measures=["average_precision"])


def test_higher_is_better_where_tables_rank() -> None:
    rng = np.random.default_rng(6)
    p = rng.random(300)
    y = (rng.random(300) < p).astype(int)
    models = {"noise": rng.random(300), "right": p}
    found = cal.compare(y, models, measures=["roc_auc", "aurc"], n_resamples=100)
    assert found.measures == ("auroc", "aurc")
    assert found.order("auroc") == found.order("aurc") == ["right", "noise"]
    assert found.difference("right", "noise", "auroc").better == "right"
    assert cal.check(y, p, at_least={"auroc": 0.6}).verdict == "pass"


@pytest.mark.parametrize("bad", [0, 1.5, "half", True, math.nan])
def test_a_coverage_is_a_share(bad: object) -> None:
    with pytest.raises(cal.InputError, match="coverage must be a share"):
        cal.accuracy_at_coverage([0, 1], [0.2, 0.7], coverage=bad)
    with pytest.raises(cal.InputError, match="coverage must be a share"):
        cal.risk_coverage([0, 1], [0.2, 0.7]).accuracy_at(bad)


def test_the_curve_is_a_table_and_a_picture(tmp_path) -> None:
    need("matplotlib")
    y, p, w = tied(500)
    curve = cal.risk_coverage(y, p, sample_weight=w)
    assert list(curve.to_frame("pandas").columns) == [
        "coverage",
        "threshold",
        "risk",
        "low",
        "high",
    ]
    assert curve.coverage[-1] == 1.0 and (curve.low <= curve.risk).all()
    assert (curve.high >= curve.risk).all() and "not calibration" in repr(curve)
    display = curve.plot(name="a model")
    display = cal.risk_coverage(y, 1 - p).plot(ax=display.ax_, name="another")
    assert display.save(tmp_path / "a.png").stat().st_size > 1000
    many = np.random.default_rng(0).random(5000)
    assert len(cal.risk_coverage((many > 0.5).astype(int), many).risk) == 200
    with pytest.raises(cal.InputError, match="no order of rows"):
        cal.risk_coverage([0, 1, 2], np.eye(3), notion="classwise")
