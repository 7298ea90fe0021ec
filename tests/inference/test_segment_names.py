"""Segments are told apart by name: 1 and 01, 1E2 and 100, ids beyond the doubles."""

from __future__ import annotations

import json

import numpy as np
import pytest

import calibrant as cal
from cli.command import csv, run
from needs import need

rng = np.random.default_rng(4)
N = 900
P = rng.uniform(0.1, 0.9, N)
Y = (rng.random(N) < P).astype(int)
KINDS = {
    "leading zeros": ["1", "01", "001"],
    "exponents": ["100", "1E2", "1e2"],
    "decimals": ["1", "1.0", "1.00"],
    "many digits": [2**60, 2**60 + 1, 2**60 + 2],
    "near floats": [0.1, np.nextafter(0.1, 1), 0.1000001],
    "large floats": [1234567.0, 1234568.0, 12.5],
    "beyond 64 bits": [str(2**70), str(2**70 + 1), "5"],
}
NAMES = {
    "near floats": ["0.1", "0.10000000000000002", "0.1000001"],
    "large floats": ["1234567", "1234568", "12.5"],
}


def column(kind):
    values = KINDS[kind]
    return [values[i % 3] for i in range(N)]


def doors(values, tmp_path):
    pl, pd = need("polars"), need("pandas")
    frame = {"y": Y, "p": P, "c": values}
    table = pl.DataFrame(frame, schema_overrides={"y": pl.Int64})
    table.write_parquet(tmp_path / "rows.parquet")
    yield "array", cal.find_segments(Y, P, {"c": values})
    yield "numpy", cal.find_segments(Y, P, {"c": np.array(values)})
    yield "pandas", cal.find_segments("y", "p", ["c"], data=pd.DataFrame(frame))
    yield "polars", cal.find_segments("y", "p", ["c"], data=table)
    yield "lazy", cal.find_segments("y", "p", ["c"], data=table.lazy())
    yield "parquet", cal.find_segments("y", "p", ["c"], data=tmp_path / "rows.parquet")
    duckdb = need("duckdb")
    query = duckdb.sql(f"select * from '{tmp_path / 'rows.parquet'}'")
    yield "duckdb", cal.find_segments("y", "p", ["c"], data=query)


@pytest.mark.parametrize("kind", KINDS)
def test_names_are_names(kind, tmp_path):
    wanted = NAMES.get(kind, [str(value) for value in KINDS[kind]])
    for door, found in doors(column(kind), tmp_path):
        names = {row.name: row.n for row in found}
        assert names == {f"c = {name}": N // 3 for name in wanted}, door


@pytest.mark.parametrize("kind", ["leading zeros", "exponents", "many digits", "decimals"])
def test_on_the_command_line(kind, tmp_path):
    file = csv(tmp_path / "rows.csv", {"label": Y, "p": P, "c": column(kind)})
    done = run("report", file, "--segments", "c", "--measures", "ece", "--json")
    assert done.returncode == 0, done.stderr
    found = json.dumps(json.loads(done.stdout)["segments"])
    assert all(f"c = {name}" in found for name in KINDS[kind])


def test_codes_with_zeros_are_no_ranges():
    """Codes of articles are many, and their numbers mean nothing."""
    codes = [f"{i % 40:03d}" for i in range(N)]
    found = cal.find_segments(Y, P, {"code": codes}, min_rows=10)
    assert {row.name for row in found} <= {f"code = {i:03d}" for i in range(40)}
    ages = [str(20 + i % 40) for i in range(N)]
    assert any("to below" in row.name for row in cal.find_segments(Y, P, {"age": ages}))


@pytest.mark.parametrize("written", ["{}", "{}.5", ".{}", "+{}", "-{}", " {} ", "{}e+03", "{}E-3"])
def test_numbers_as_programs_write_them_are_ranges(written):
    texts = [written.format(10 + i % 40) for i in range(N)]
    assert any(" to " in row.name for row in cal.find_segments(Y, P, {"x": texts}))


@pytest.mark.parametrize("kind", KINDS)
def test_slices_and_clusters_are_told_apart_too(kind, tmp_path):
    by = column(kind)
    wanted = {str(value) for value in KINDS[kind]}
    found = cal.evaluate(Y, P, by=by, measures=["ece"]).slices.columns()
    assert found["n"] == [N // 3] * 3
    file = csv(tmp_path / "rows.csv", {"label": Y, "p": P, "c": by})
    sliced = cal.evaluate_file(file, by="c", measures=["ece"]).slices.columns()
    assert set(sliced["c"]) == wanted
    clustered, expected, merged = (
        [fit.slope_low, fit.slope_high, fit.intercept_low, fit.intercept_high, fit.p_value]
        for groups in (by, np.arange(N) % 3, np.arange(N) % 3 > 0)
        for fit in [cal.cox_calibration(Y, P, groups=groups)]
    )
    # Clusters are numbered in another order, so that sums differ in their last digits.
    assert clustered == pytest.approx(expected, rel=1e-9)
    assert clustered != pytest.approx(merged, rel=1e-3)


MANY = np.arange(N) % 20
RANGES = {
    "whole numbers": (1_000_001 + MANY, "1000001 to below 1000004"),
    "years": (1990 + MANY, "1990 to below 1993"),
    "fractions": (1_000_001 + MANY / 1000, "1000001 to below 1000001.003"),
    "with an infinite one": (np.where(MANY == 19, np.inf, MANY), "15 to inf"),
}


@pytest.mark.parametrize("kind", RANGES)
def test_ranges_have_ends_that_tell_them_apart(kind, tmp_path):
    values, wanted = RANGES[kind]
    for door, found in doors(values.tolist(), tmp_path):
        names = [row.name for row in found]
        assert len(set(names)) == len(names) == 5, door
        assert f"c {wanted}" in names, door


def test_many_ids_of_many_digits_are_names(tmp_path):
    """As doubles they would be one number: a range of all rows."""
    for door, found in doors((2**60 + MANY).tolist(), tmp_path):
        names = {row.name: row.n for row in found}
        assert names == {f"c = {2**60 + i}": N // 20 for i in range(20)}, door
