"""The search for segments by sums: the table of the rows, from engines that keep them."""

from __future__ import annotations

import numpy as np
import pytest

import calibrant as cal
from calibrant._data.to_samples import to_samples
from calibrant._engines.frames import segments as by_sums
from calibrant._inference.cells import problem_of
from calibrant._inference.segments import noise_of_cells, noise_of_rows, search
from needs import need

pl, duckdb = need("polars"), need("duckdb")
NAMES = ["age", "ward", "dose", "smoker", "grade", "code"]


@pytest.fixture(scope="module")
def frame():
    """Numbers, text, truth values, missing ones of each kind, and text with many values."""
    rng = np.random.default_rng(0)
    n = 4000
    p = rng.uniform(0.05, 0.95, n)
    ward = rng.choice(["a", "b", "c", None, ""], n)
    grade = rng.integers(0, 4, n).astype(float)
    grade[rng.random(n) < 0.05] = np.nan
    risk = np.where(ward == "b", p / 1.4, p)
    return pl.DataFrame({
        "y": (rng.random(n) < risk).astype(int), "p": p, "soft": rng.random(n),
        "w": rng.integers(0, 4, n) / 2, "age": rng.integers(20, 90, n),
        "ward": pl.Series(ward.tolist(), dtype=pl.String), "dose": rng.normal(size=n),
        "smoker": rng.random(n) < 0.3, "grade": grade,
        "code": rng.choice([f"c{i}" for i in range(70)], n),
        "p1": p / 2, "p2": 1 - p, "p3": p / 2, "k": rng.integers(0, 3, n),
        "day": pl.Series(rng.choice([f"{d}" for d in range(30)], n)),
    })  # fmt: skip


@pytest.fixture(scope="module")
def path(frame, tmp_path_factory):
    to = tmp_path_factory.mktemp("segments") / "rows.parquet"
    frame.write_parquet(to)
    return to


def places(frame, path):
    query = f"select * from '{path}'"
    return {"polars": frame.lazy(), "duckdb": duckdb.sql(query), "path": path, "text": str(path)}


def same(found, wanted):
    """Whether two searches have one table; segments of equal ratios may change places."""
    mine, theirs = ({row.name: row for row in each} for each in (found, wanted))
    assert mine.keys() == theirs.keys() and len(mine) > 5
    for name, row in mine.items():
        other = theirs[name]
        assert row.n == other.n and row.values == other.values
        for field in ("mean_predicted", "mean_target", "gap", "ratio"):
            value = getattr(other, field)
            assert getattr(row, field) == pytest.approx(value, rel=1e-9, abs=1e-12), (name, field)
    assert found.multicalibration_error == pytest.approx(wanted.multicalibration_error)
    assert found.notes[: len(wanted.notes)] == wanted.notes and found.n == wanted.n


@pytest.fixture(scope="module")
def in_memory(frame):
    return cal.find_segments("y", "p", NAMES, data=frame, n_draws=100)


@pytest.mark.parametrize("where", ["polars", "duckdb", "path", "text"])
def test_the_table_is_that_of_the_rows(frame, path, in_memory, where):
    data = places(frame, path)[where]
    found = cal.find_segments("y", "p", NAMES, data=data, n_draws=100)
    same(found, in_memory)
    assert "summed by" in found.notes[-1]
    if where in ("polars", "duckdb"):
        again = cal.find_segments("y", "p", NAMES, data=data, n_draws=100)
        assert again.p_value == pytest.approx(found.p_value, rel=1e-6)


@pytest.mark.parametrize("where", ["polars", "duckdb"])
@pytest.mark.parametrize(
    ("y", "p", "options"),
    [
        ("y", "p", {"sample_weight": "w", "depth": 1}),
        ("soft", "p", {"depth": 1}),
        ("k", ["p1", "p2", "p3"], {"depth": 1, "min_rows": 5}),
        ("y", "p", {"depth": 3, "parts": 3}),
    ],
)
def test_weights_soft_labels_classes_and_depth(frame, path, where, y, p, options):
    names = ["age", "ward", "grade", "day"]
    options = {**options, "n_draws": 100}
    found = cal.find_segments(y, p, names, data=places(frame, path)[where], **options)
    same(found, cal.find_segments(y, p, names, data=frame, **options))


@pytest.mark.parametrize("where", ["polars", "duckdb"])
def test_numbers_of_very_many_values_are_cut_by_the_engine(frame, path, where, set_limits):
    set_limits(segment_values=12)
    names = ["dose", "age"]
    data = places(frame, path)[where]
    found = cal.find_segments("y", "p", names, data=data, n_draws=100)
    same(found, cal.find_segments("y", "p", names, data=frame, n_draws=100))
    with pytest.raises(cal.InputError, match="'code' has more than 12 distinct values"):
        cal.find_segments("y", "p", ["code"], data=data)


def test_p_values_are_those_of_drawn_outcomes(frame):
    """Of calibrated predictions, in the middle of the distribution and in its tail."""
    rng = np.random.default_rng(1)
    frame, names = frame.head(1500), ["age", "ward", "smoker"]
    pairs = []
    for seed in range(8):
        y = (rng.random(len(frame)) < frame["p"].to_numpy()).astype(int)
        own = frame.with_columns(y=pl.Series(y))
        options = {"seed": seed, "n_draws": 500}
        rows, sums = (
            cal.find_segments("y", "p", names, data=data, **options).p_value
            for data in (own, own.lazy())
        )
        pairs.append((rows, sums))
    difference = np.diff(np.array(pairs), axis=1)
    assert np.abs(difference).max() < 0.12 and abs(difference.mean()) < 0.03


def test_draws_have_the_covariance_of_segments_that_overlap():
    """Two columns that are the same make the same segments: nothing more is searched."""
    rng = np.random.default_rng(0)
    cells = rng.integers(0, 4, 64)
    ones, spread = np.full(64, 50.0), rng.uniform(5, 15, 64)
    rows = (ones, ones, ones / 2, ones / 2 + rng.normal(0, 3, 64))
    noise = noise_of_cells(rows, ones, spread, None)

    def column(name):
        return by_sums.SegmentColumn(name, cells, ("a", "b", "c", "d"))

    options = {"min_rows": 1, "n_draws": 200, "seed": 0}
    one = search(noise, [column("x")], 1, **options)
    two = search(noise, [column("x"), column("y")], 2, **options)
    np.testing.assert_allclose(one.largest, two.largest, rtol=1e-12)


def test_what_cannot_be_done_by_sums_is_named(frame, path, set_limits):
    lazy = frame.lazy()
    for option in ("groups", "votes"):
        with pytest.raises(cal.InputError, match=f"{option} needs the rows in memory"):
            cal.find_segments("y", "p", ["age"], data=lazy, **{option: "age"})
    with pytest.raises(cal.InputError, match="got a mapping"):
        cal.find_segments("y", "p", {"age": [1]}, data=lazy)
    with pytest.raises(cal.InputError, match="'agee', which data does not have"):
        cal.find_segments("y", "p", ["agee"], data=lazy)
    with pytest.raises(cal.InputError, match="segments must name a column; it names none"):
        cal.find_segments("y", "p", [], data=lazy)
    with pytest.raises(cal.InputError, match="there is no such file"):
        cal.find_segments("y", "p", ["age"], data=path.with_name("none.parquet"))
    with pytest.raises(cal.InputError, match=r"ends in .parquet"):
        cal.find_segments("y", "p", ["age"], data="rows.csv")
    with pytest.raises(cal.InputError, match="no segment has 9000 rows"):
        cal.find_segments("y", "p", ["age"], data=lazy, min_rows=9000)
    set_limits(segment_cells=10)
    with pytest.raises(cal.InputError, match="2 columns have more than 10 combinations"):
        cal.find_segments("y", "p", ["age", "ward"], data=lazy)


@pytest.mark.parametrize("where", ["polars", "duckdb"])
def test_odd_columns_are_divided_as_those_in_memory(where):
    """Columns with names that queries use, without any value, of one, of dates and categories."""
    rng = np.random.default_rng(0)
    n = 300
    frame = pl.DataFrame(
        {
            "y": rng.integers(0, 2, n),
            "p": rng.random(n),
            "by0": rng.integers(0, 3, n),
            "u": rng.choice(["it's", 'a"b'], n),
            "nothing": pl.Series([None] * n, dtype=pl.String),
            "one": np.ones(n),
            "kind": pl.Series(rng.choice(["a", "b"], n)).cast(pl.Categorical),
            "day": pl.Series(rng.integers(0, 3, n)).cast(pl.Date),
            "number": [str(i) for i in rng.integers(0, 90, n)],
            "edge": np.where(rng.random(n) < 0.2, np.inf, rng.random(n)),
            "flag": pl.Series([None if i == 2 else bool(i) for i in rng.integers(0, 3, n)]),
        }
    )
    names = frame.columns[2:]
    data = frame.lazy() if where == "polars" else duckdb.from_arrow(frame.to_arrow())
    options = {"n_draws": 100, "min_rows": 5, "depth": 2}
    found = cal.find_segments("y", "p", [*names, "u"], data=data, **options)
    same(found, cal.find_segments("y", "p", names, data=frame, **options))


def test_no_row_and_a_single_one(frame):
    with pytest.raises(cal.InputError, match="row"):
        cal.find_segments("y", "p", ["ward", "age"], data=frame.head(0).lazy())
    with pytest.raises(cal.InputError, match="no segment has 30 rows"):
        cal.find_segments("y", "p", ["ward"], data=frame.head(1).lazy())


def test_many_columns_are_packed_into_several_numbers(frame, set_limits):
    set_limits(segment_codes=30)
    names = ["age", "ward", "smoker"]
    found = cal.find_segments("y", "p", names, data=frame.lazy(), n_draws=100)
    same(found, cal.find_segments("y", "p", names, data=frame, n_draws=100))


def test_nan_in_a_parquet_file_is_seen_by_duckdb(tmp_path):
    """DuckDB decides what is NaN from statistics of the file, which leave NaN out."""
    p = np.random.default_rng(0).random(100)
    p[3] = np.nan
    rows = pl.DataFrame({"y": np.zeros(100, int), "p": p})
    rows.write_parquet(tmp_path / "rows.parquet")
    data = duckdb.sql(f"select * from '{tmp_path / 'rows.parquet'}'")
    with pytest.raises(cal.InputError, match="1 of 100 rows lack a prediction"):
        cal.ece("y", "p", data=data)
    found = cal.evaluate("y", "p", data=data, measures=["ece"], missing="drop")
    assert found.recipe["n_missing"] == 1
    assert found["ece"] == pytest.approx(cal.ece(np.zeros(99), np.delete(p, 3)))


def test_a_segment_is_judged_from_ten_even_chances_on():
    """Of eight one outcome more or less decides; weights of all rows alike change nothing."""
    y, u = np.arange(200) % 2, np.full(200, 0.5)
    for weight in (None, np.full(200, 3.0)):
        samples = to_samples(y, u, sample_weight=weight)
        noise = noise_of_rows(problem_of(samples, "binary", cal.EqualWidth(1)), None, None)
        each = 0.25 if weight is None else 0.25 * 3.0**2
        assert 8 * each < noise.least < 14 * each
