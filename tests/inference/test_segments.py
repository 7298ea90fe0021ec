"""The search for segments: what it finds, what it costs to search, and what it refuses."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import calibrant as cal


def world(n: int = 3000, seed: int = 0):
    rng = np.random.default_rng(seed)
    p = rng.uniform(0.1, 0.9, n)
    columns = {
        "age": rng.integers(20, 90, n),
        "ward": rng.choice(["a", "b", "c"], n),
        "dose": rng.random(n),
        "smoker": rng.random(n) < 0.3,
    }
    return p, columns, rng


def test_a_planted_segment_is_the_worst():
    p, columns, rng = world()
    wrong = (columns["ward"] == "b") & columns["smoker"]
    y = (rng.random(p.size) < np.where(wrong, p * 0.5, p)).astype(int)
    found = cal.find_segments(y, p, columns, n_draws=100)
    assert found.worst.values == {"ward": "b", "smoker": "True"}
    assert found.worst.n == wrong.sum() and found.p_value < 0.01
    assert found.worst.gap == pytest.approx((p - y)[wrong].mean()) and "too high" in str(found)
    assert "Wrong in ward = b, smoker = True" in found.sentence
    assert found.notes[0].startswith(f"all rows together: predicted {p.mean():.4f}, observed ")
    everywhere = cal.find_segments((rng.random(p.size) < 0.8 * p).astype(int), p, columns)
    assert "points too high" in everywhere.notes[0] and "too high" in everywhere.sentence


def test_every_segment_as_a_loop_over_rows_has_it():
    p, columns, rng = world(400, 1)
    some = {name: columns[name] for name in ("ward", "smoker")}
    y, w = (rng.random(400) < p).astype(int), rng.exponential(size=400)
    found = cal.find_segments(y, p, some, sample_weight=w, min_rows=1, n_draws=100)
    masks = {}
    for size in (1, 2):
        for chosen in itertools.combinations(some, size):
            for values in itertools.product(*(np.unique(some[name]) for name in chosen)):
                mask = np.logical_and.reduce(
                    [some[c] == v for c, v in zip(chosen, values, strict=True)]
                )
                masks[", ".join(f"{c} = {v}" for c, v in zip(chosen, values, strict=True))] = mask
    assert {row.name for row in found} == set(masks)
    for row in found:
        mask = masks[row.name]
        total = (w * (p - y))[mask].sum()
        assert row.n == mask.sum()
        assert row.ratio == pytest.approx(total / np.sqrt((w**2 * p * (1 - p))[mask].sum()))
        assert row.mean_target == pytest.approx(np.average(y[mask], weights=w[mask]))
    largest = max(abs((w * (p - y))[mask].sum()) for mask in masks.values()) / w.sum()
    assert found.multicalibration_error == pytest.approx(largest)
    assert [abs(row.ratio) for row in found] == sorted((abs(r.ratio) for r in found), reverse=True)


def test_the_search_finds_nothing_more_often_than_it_says():
    """Of calibrated predictions, in both ways of drawing."""
    chances = {"outcomes": [], "blocks": []}
    for seed in range(24):
        p, columns, rng = world(600, 100 + seed)
        p = p**3
        y = (rng.random(600) < p).astype(int)
        chances["outcomes"].append(cal.find_segments(y, p, columns, n_draws=100).p_value)
        groups = np.arange(600)  # clusters of one row: the variance is that of the residuals seen
        found = cal.find_segments(y, p, columns, groups=groups, n_draws=100)
        chances["blocks"].append(found.p_value)
    for name, values in chances.items():
        assert np.mean(np.array(values) < 0.1) < 0.26, name
        assert np.mean(np.array(values) < 0.5) > 0.2, name


def test_blocks_say_what_outcomes_say(monkeypatch):
    p, columns, rng = world(2000, 3)
    y = (rng.random(2000) < p).astype(int)
    exact = cal.find_segments(y, p, columns, n_draws=400)
    monkeypatch.setattr("calibrant._inference.segments.AFFORDABLE", 0)
    near = cal.find_segments(y, p, columns, n_draws=400)
    for a, b in zip(exact, near, strict=True):
        assert a.ratio == b.ratio
        assert a.p_value == pytest.approx(b.p_value, abs=0.12)


def test_clusters_widen_what_chance_explains():
    p, columns, rng = world(60, 4)
    y = (rng.random(60) < p**1.5).astype(int)
    many = {name: np.repeat(values, 20) for name, values in columns.items()}
    y, p, groups = np.repeat(y, 20), np.repeat(p, 20), np.repeat(np.arange(60), 20)
    plain, clustered = (
        cal.find_segments(y, p, many, groups=given, n_draws=100) for given in (None, groups)
    )
    assert plain.p_value < 0.01 < clustered.p_value


def rare_clusters(seed, *, size, shared):
    """Calibrated predictions of about 5 %, in clusters of rows that one draw decides, or not."""
    rng = np.random.default_rng((9, seed))
    clusters = np.arange(1000) // size
    p = rng.beta(0.5, 10, 1000)
    draws = rng.random(1000)[clusters] if shared else rng.random(1000)
    columns = {f"x{i}": rng.integers(0, 4, 1000) for i in range(3)}
    return (draws < p).astype(int), p, columns, clusters


@pytest.mark.parametrize(("size", "shared"), [(1, False), (5, True)])
def test_rare_events_in_clusters_are_no_segments(size, shared):
    """Segments without an event hardly scatter: nine in ten calibrated samples were condemned."""
    found = [rare_clusters(seed, size=size, shared=shared) for seed in range(8)]
    p_values = [
        cal.find_segments(y, p, columns, groups=clusters, n_draws=100).p_value
        for y, p, columns, clusters in found
    ]
    assert sum(p < 0.05 for p in p_values) <= 1


def test_a_planted_segment_is_found_in_rare_clusters():
    hits = 0
    for seed in range(5):
        y, p, columns, clusters = rare_clusters(seed, size=5, shared=False)
        bad = (columns["x0"] == 1) & (columns["x1"] == 2)
        y[bad] = np.random.default_rng(seed).random(bad.sum()) < 0.3
        found = cal.find_segments(y, p, columns, groups=clusters, n_draws=100)
        hits += found.p_value < 0.05
    assert hits >= 4


def test_rare_soft_labels_are_no_segments():
    p_values = []
    for seed in range(40):
        rng = np.random.default_rng((11, seed))
        p = rng.beta(0.5, 10, 500)
        columns = {f"x{i}": rng.integers(0, 4, 500) for i in range(3)}
        p_values.append(cal.find_segments(rng.binomial(5, p) / 5, p, columns).p_value)
    assert sum(p < 0.05 for p in p_values) <= 3


def test_numbers_are_cut_and_rare_values_put_together():
    p, columns, rng = world(4000, 5)
    columns["id"] = [f"u{i}" for i in rng.integers(0, 500, 4000)]
    columns["age"] = np.where(rng.random(4000) < 0.1, np.nan, columns["age"])
    y = (rng.random(4000) < p).astype(int)
    found = cal.find_segments(y, p, columns, depth=1, parts=4, n_draws=100)
    ages = [row.name for row in found if row.name.startswith("age")]
    assert len(ages) == 5 and "age = (missing)" in ages
    assert any("others together" in note for note in found.notes)
    assert any("cut at their quantiles: age, dose" in note for note in found.notes)
    assert sum(row.n for row in found if row.name.startswith("dose")) == 4000
    assert found["ward = b"].n == (columns["ward"] == "b").sum()
    with pytest.raises(cal.InputError, match="there is no segment 'ward = d'"):
        found["ward = d"]


def test_columns_of_a_frame_soft_labels_and_classes():
    pd = pytest.importorskip("pandas")
    p, columns, rng = world(1000, 6)
    y = (rng.random(1000) < p).astype(int)
    frame = pd.DataFrame({"y": y, "p": p, **columns})
    by_name = cal.find_segments("y", "p", ["ward", "smoker"], data=frame, n_draws=100)
    some = {name: columns[name] for name in ("ward", "smoker")}
    assert by_name.to_dict() == cal.find_segments(y, p, some, n_draws=100).to_dict()
    texts = {
        name: np.asarray(values).astype(str).astype(object) for name, values in columns.items()
    }
    as_text = cal.find_segments(y, p, texts, n_draws=100)
    assert as_text.to_dict() == cal.find_segments(y, p, columns, n_draws=100).to_dict()
    assert by_name.to_frame("pandas").shape == (len(by_name), 8)
    soft = cal.find_segments(np.clip(p + 0.2, 0, 1), p, some, n_draws=100)
    assert soft.p_value < 0.05 and "too low" in soft.sentence
    rows = np.stack([p, (1 - p) / 2, (1 - p) / 2], axis=1)
    assert len(cal.find_segments(np.where(y, 0, 1), rows, some, n_draws=100)) == len(by_name)


@pytest.mark.parametrize(
    ("segments", "options", "message"),
    [
        (["ward"], {}, "without data="),
        ({}, {}, "at least one column"),
        ({"ward": ["a", "b"]}, {}, "one value for each of 4 rows; got 2"),
        ({"ward": list("abab")}, {"depth": 0}, "depth must be"),
        ({"ward": list("abab")}, {"parts": 1}, "parts must be"),
        ({"ward": list("abab")}, {"n_draws": 5}, "n_draws must be"),
        ({"ward": list("abab")}, {}, "no segment has 30 rows"),
    ],
)
def test_what_cannot_be_searched_is_said(segments, options, message):
    with pytest.raises(cal.InputError, match=message):
        cal.find_segments([0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4], segments, **options)
