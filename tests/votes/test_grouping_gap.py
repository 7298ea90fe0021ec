"""What grouping hides from SMECE: theorem 3.10 as a number, its interval, vote noise taken out."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import calibrant as cal
import twins

sys.path.insert(0, str(Path(__file__).parents[1] / "laws"))
import test_catalogue_laws as laws

LAWS = (
    laws.test_only_shares_of_weight_matter,
    laws.test_the_order_of_rows_does_not_matter,
    laws.test_a_whole_weight_is_a_repetition,
    laws.test_a_row_of_no_weight_is_no_row,
    laws.test_the_layout_of_arrays_does_not_matter,
)
every_shape = pytest.mark.parametrize("shape", ["binary", "multiclass"])


@every_shape
@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.__name__)
def test_the_laws_of_the_catalogue_hold(law: Any, shape: str, monkeypatch: Any) -> None:
    monkeypatch.setitem(laws.NAMES, shape, ["grouping_gap"])
    law(shape, "soft")


def sample(shape: str, n: int = 400, seed: int = 0) -> tuple[Any, Any, Any]:
    """Label distributions, predictions that are too sure, and weights."""
    rng = np.random.default_rng(seed)
    if shape == "binary":
        h = rng.normal(0, 1.5, n)
        return 1 / (1 + np.exp(-h)), 1 / (1 + np.exp(-1.5 * h + rng.normal(0, 1, n))), rng.random(n)
    h = rng.normal(0, 1.5, (n, 3))
    q, p = np.exp(h), np.exp(1.5 * h + rng.normal(0, 1, (n, 3)))
    return q / q.sum(axis=1, keepdims=True), p / p.sum(axis=1, keepdims=True), rng.random(n)


@every_shape
def test_it_is_the_mean_distance_less_smece_in_any_bins(shape: str) -> None:
    q, p, w = sample(shape)
    u, z = p, q
    if shape == "multiclass":
        rows, top = np.arange(len(p)), p.argmax(axis=1)
        u, z = p[rows, top], q[rows, top]
    distance = float(np.average(np.abs(u - z), weights=w))
    for bins in (1, 15, cal.Quantile(10), cal.LevelSets()):
        gap = cal.grouping_gap(q, p, bins=bins, sample_weight=w)
        smece = cal.soft_ece(q, p, bins=bins, sample_weight=w)
        assert gap == pytest.approx(distance - smece, rel=1e-12, abs=1e-15)
    # With a bin for each row nothing is grouped.
    assert gap == pytest.approx(0.0, abs=1e-15)
    as_rows = p if shape == "multiclass" else np.stack([1 - p, p], axis=1)
    targets = q if shape == "multiclass" else np.stack([1 - q, q], axis=1)
    case = twins.Case(shape, as_rows.tolist(), targets.tolist(), w.tolist())
    found = cal.grouping_gap(q, p, sample_weight=w)
    assert found == pytest.approx(twins.twin_of_grouping_gap(case), rel=1e-12)


@every_shape
def test_it_follows_the_number_of_bins(shape: str) -> None:
    q, p, _ = sample(shape)
    found = cal.bin_sensitivity(q, p, bins=(5, 10, 20), measures=["grouping_gap"])
    for m in (5, 10, 20):
        assert found.at(m)["grouping_gap"] == pytest.approx(cal.grouping_gap(q, p, bins=m))


def test_a_step_as_small_as_you_like_makes_smece_jump_by_it() -> None:
    """Theorem 3.10: the error is continuous at predictions where nothing is hidden."""
    shares, p = np.array([0.9, 0.5, 0.2, 0.4]), np.array([0.7, 0.7, 0.3, 0.3])
    hidden = cal.grouping_gap(shares, p, bins=cal.LevelSets())
    assert hidden == pytest.approx(0.15) and cal.soft_ece(shares, p, bins=cal.LevelSets()) < 1e-15
    moved = p + 1e-9 * np.arange(4)
    jump = cal.soft_ece(shares, moved, bins=cal.LevelSets())
    assert jump == pytest.approx(hidden, abs=1e-8)


@every_shape
def test_hard_labels_are_refused_in_one_line(shape: str) -> None:
    y = [0, 1, 1]
    p = [0.2, 0.7, 0.4] if shape == "binary" else [[0.8, 0.2], [0.3, 0.7], [0.6, 0.4]]
    with pytest.raises(cal.NotDefined, match="needs soft labels or votes") as refused:
        cal.grouping_gap(y, p)
    assert "\n" not in str(refused.value)
    with pytest.raises(cal.NotDefined, match="'grouping_gap' has no value"):
        cal.evaluate(y, p, measures=["grouping_gap"])
    assert "grouping_gap" not in cal.evaluate(y, p)
    unanimous = np.array([[3, 0], [0, 3], [0, 3]])  # votes say that labels are distributions
    assert cal.grouping_gap(unanimous, [[0.8, 0.2], [0.3, 0.7], [0.6, 0.4]]) >= 0.0


@every_shape
def test_streams_and_lazy_frames_give_it(shape: str) -> None:
    q, p, _ = sample(shape)
    expected = cal.grouping_gap(q, p)
    stream = cal.Accumulator()
    for part in np.array_split(np.arange(len(p)), 3):
        stream.update(q[part], p[part])
    assert stream.evaluate()["grouping_gap"] == pytest.approx(expected, rel=1e-12)
    pl = pytest.importorskip("polars")
    columns = {f"q{r}": x for r, x in enumerate(np.atleast_2d(q.T))}
    columns |= {f"p{r}": x for r, x in enumerate(np.atleast_2d(p.T))}
    names = [[c for c in columns if c[0] == letter] for letter in "qp"]
    y, u = (each if len(each) > 1 else each[0] for each in names)
    found = cal.grouping_gap(y, u, data=pl.DataFrame(columns).lazy())
    assert found == pytest.approx(expected, rel=1e-12)
    torch = pytest.importorskip("torch")
    assert cal.grouping_gap(torch.tensor(q), torch.tensor(p)) == pytest.approx(expected, rel=1e-12)


def population_gap(q: Any, p: Any) -> float:
    return float(cal.grouping_gap(q, p))


@every_shape
@pytest.mark.parametrize("right", [False, True])
def test_the_interval_holds_what_votes_without_noise_would_show(shape: str, right: bool) -> None:
    """Of 5 votes a row: the raw value is too large, the interval of each sample holds the truth."""
    q, p, _ = sample(shape, 40_000, seed=1)
    if right:  # nothing is hidden, and all of the raw value is noise of votes
        p = q
    truth = population_gap(q, p)
    held, raw = 0, []
    for seed in range(8):
        rng = np.random.default_rng((7, seed))
        rows = rng.choice(len(q), 600)
        if shape == "binary":
            counts = rng.binomial(5, q[rows])
            found = cal.interval(
                counts / 5, p[rows], measure="grouping_gap", votes=5, n_resamples=100
            )
        else:
            counts = rng.multinomial(5, q[rows])
            found = cal.interval(counts, p[rows], measure="grouping_gap", n_resamples=100)
        held += found.low <= truth <= found.high
        raw.append(found.value)
        assert found.low <= found.estimate <= found.high
    assert held >= 7
    assert min(raw) > truth + 0.01  # vote noise: 5 votes scatter by .2


def test_without_votes_the_interval_is_about_the_labels_given() -> None:
    q, p, _ = sample("binary", 40_000, seed=1)
    truth, held = population_gap(q, p), 0
    for seed in range(8):
        rows = np.random.default_rng((8, seed)).choice(len(q), 600)
        found = cal.interval(q[rows], p[rows], measure="grouping_gap", n_resamples=100)
        held += found.low <= truth <= found.high
    assert held >= 7
    assert "minus that of ece" in found.method


def test_models_on_the_same_votes_are_compared_by_labels_given_alone() -> None:
    q, p, _ = sample("multiclass", 200)
    counts = np.random.default_rng(0).multinomial(5, q)
    models = {"a": p, "b": 0.5 * p + 0.5 * q}
    with pytest.raises(cal.NotDefined, match="Use resample='rows'"):
        cal.compare(counts, models, measures=["grouping_gap"], n_resamples=50, bin_counts=(5,))
    found = cal.compare(
        counts, models, measures=["grouping_gap"], resample="rows", n_resamples=50, bin_counts=(5,)
    ).difference("a", "b", "grouping_gap")
    assert found.low <= found.value <= found.high
