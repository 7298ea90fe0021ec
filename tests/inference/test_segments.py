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
    assert "Miscalibrated: ward = b, smoker = True" in found.sentence
    assert found.notes[0].startswith(f"all rows together: predicted {p.mean():.4f}, observed ")
    everywhere = cal.find_segments((rng.random(p.size) < 0.8 * p).astype(int), p, columns)
    assert "points too high" in everywhere.notes[0] and "too high" in everywhere.sentence


def test_a_segment_varies_as_ten_even_outcomes_do_at_least():
    """52 outcomes of probability 1/20 have less variance than ten of 1/2, and 53 have more."""
    sizes = {"51 rows": 51, "54 rows": 54, "rest": 500}
    groups = {"part": np.repeat(list(sizes), list(sizes.values()))}
    u = np.full(605, 0.05)
    y = (np.random.default_rng(0).random(605) < u).astype(int)
    found = cal.find_segments(y, u, groups, n_draws=100)
    assert {row.values["part"] for row in found} == {"54 rows", "rest"}


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


def test_blocks_say_what_outcomes_say(set_limits):
    p, columns, rng = world(2000, 3)
    y = (rng.random(2000) < p).astype(int)
    exact = cal.find_segments(y, p, columns, n_draws=400)
    set_limits(segment_additions=0)
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
    assert any("others are pooled" in note for note in found.notes)
    assert any("cut at quantiles: age, dose" in note for note in found.notes)
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
    assert by_name.to_frame("pandas").shape == (len(by_name), 10)
    soft = cal.find_segments(np.clip(p + 0.2, 0, 1), p, some, n_draws=100, contrast=False)
    assert soft.p_value < 0.05 and "too low" in soft.sentence
    alike = cal.find_segments(np.clip(p + 0.2, 0, 1), p, some, n_draws=100)
    assert alike.p_value > 0.05
    assert "No segment differs significantly from all rows together" in alike.sentence
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


def shifted_world(n=200_000):
    """Every row 5 % too high, a cohort like all others, and 10 points more in a corner."""
    rng = np.random.default_rng(7)
    truth = rng.uniform(0.1, 0.8, n)
    columns = {
        "cohort": rng.choice(["old", "new"], n),
        "site": np.char.add("s", rng.integers(0, 40, n).astype(str)),
    }
    wrong = columns["site"] == "s17"
    p = truth * 1.05 + np.where(wrong, 0.1, 0.0)
    return (rng.random(n) < truth).astype(int), p, columns, wrong


def test_of_many_rows_the_largest_error_is_first_and_not_the_surest():
    y, p, columns, wrong = shifted_world()
    found = cal.find_segments(y, p, columns, depth=1, n_draws=100)
    assert found.against_all_rows and found.worst.name == "site = s17"
    all_gap = (p - y).mean()
    assert found.worst.contrast == pytest.approx((p - y)[wrong].mean() - all_gap)
    assert 0.05 < found.worst.at_least < found.worst.contrast < 0.12
    assert "points above the gap of all rows, at least" in found.sentence
    assert all(row.p_value > 0.05 and row.at_least == 0 for row in found.rows[1:])
    lows = [row.at_least for row in found]
    assert lows == sorted(lows, reverse=True)
    # Judged against 0, every segment shares the shift of all.
    plain = cal.find_segments(y, p, columns, depth=1, n_draws=100, contrast=False)
    assert plain["cohort = new"].p_value < 0.001 and plain.worst.name == "site = s17"
    corner = slice(0, None, 4)  # of fewer rows there, the cohort is the surest, and still not first
    few = np.ones(y.size, bool)
    few[np.flatnonzero(wrong)[corner]] = False
    few = ~wrong | ~few
    own = {name: values[few] for name, values in columns.items()}
    plain = cal.find_segments(y[few], p[few], own, depth=1, n_draws=100, contrast=False)
    assert abs(plain["cohort = new"].ratio) > abs(plain.worst.ratio)
    assert plain.worst.name == "site = s17"


def test_the_contrast_has_the_error_of_a_part_against_the_whole():
    """Ratios of contrasts where all rows are off alike are standard normal."""
    ratios = []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        p = rng.uniform(0.1, 0.8, 2000)
        y = rng.random(2000) < p
        columns = {"part": rng.choice(["a", "b", "c"], 2000, p=[0.1, 0.3, 0.6])}
        found = cal.find_segments(y, p, columns, contrast=True, n_draws=100)
        ratios += [row.ratio for row in found]
    assert np.std(ratios) == pytest.approx(1.0, abs=0.12) and abs(np.mean(ratios)) < 0.2


def test_gaps_that_do_not_matter_are_left_out():
    y, p, columns, _ = shifted_world(50_000)
    found = cal.find_segments(y, p, columns, depth=1, n_draws=100, min_gap=0.05)
    assert [row.name for row in found] == ["site = s17"]
    assert found.notes[-1] == "41 of 42 segments are off by less than 0.05"
    none = cal.find_segments(y, p, columns, depth=1, n_draws=100, min_gap=0.5)
    assert len(none) == 1 and none.sentence.startswith(
        "No segment is off by 0.5 or more: the worst"
    )
    for bad in (-0.1, 1, "2%"):
        with pytest.raises(cal.InputError, match="min_gap must be a number from 0 to 1"):
            cal.find_segments(y, p, columns, min_gap=bad)
    with pytest.raises(cal.InputError, match="contrast must be True, False or None"):
        cal.find_segments(y, p, columns, contrast="no")


def test_where_all_rows_are_right_segments_are_judged_against_0():
    p, columns, rng = world(2000, 4)
    found = cal.find_segments(rng.random(2000) < p, p, columns, n_draws=100)
    assert not found.against_all_rows and all(row.contrast == row.gap for row in found)
    assert "the gap of all rows" not in found.sentence


def test_sums_of_a_lazy_frame_give_the_same_order():
    pl = pytest.importorskip("polars")
    y, p, columns, _ = shifted_world(30_000)
    rows = pl.DataFrame({"y": y, "p": p, **columns})
    found = cal.find_segments("y", "p", ["cohort", "site"], data=rows, depth=1, n_draws=200)
    summed = cal.find_segments("y", "p", ["cohort", "site"], data=rows.lazy(), depth=1, n_draws=200)
    assert summed.worst.name == found.worst.name == "site = s17" and summed.against_all_rows
    assert summed.worst.contrast == pytest.approx(found.worst.contrast)
    assert summed.worst.at_least == pytest.approx(found.worst.at_least, abs=0.005)
