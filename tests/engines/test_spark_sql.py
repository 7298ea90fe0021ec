"""`calibrant sql`: what DuckDB and Spark make of the printed text are the numbers of Python."""

from __future__ import annotations

import functools
import json

import numpy as np
import pytest

import calibrant as cal
from calibrant._cli import main
from calibrant._cli.sql import MEASURES
from every_engine import spark
from needs import need

RNG = np.random.default_rng(8)
N = 3_000
# Edges of bins, what lies beside them, and both ends.
EDGES = np.arange(16) / 15
NEAR = np.concatenate([EDGES, np.nextafter(EDGES[1:], 0), np.nextafter(EDGES[:-1], 1)])
P = np.where(RNG.random(N) < 0.5, RNG.choice(NEAR, N), RNG.random(N))
Y = (RNG.random(N) < P**1.3).astype(int)
# The names are those that the text has for columns of its own, crosswise.
COLUMNS = {
    "z": P,
    "u": Y,
    "label": RNG.integers(0, 5, N) / 4,
    'proba `" x': np.round(RNG.random(N), 2),
    "single": P.astype(np.float32),
    "w": RNG.integers(1, 4, N),
    "k": RNG.random(N) * 3,
    "boolean": Y == 1,
}
CASES = [
    ("u", "z", None, 15),
    ("boolean", "z", "w", 15),
    ("label", 'proba `" x', None, 10),
    ("label", 'proba `" x', "k", 10),
    ("u", "single", "w", 15),
    ("u", 'proba `" x', None, 100),
    ("u", "z", None, 1),
]


@functools.cache
def tables():
    """The engines, each with the columns as a table called `levels`, as a step of the text is."""
    rows = need("pyarrow").table({name: np.asarray(each) for name, each in COLUMNS.items()})
    duckdb = need("duckdb").connect()
    duckdb.register("levels", rows)
    spark().createDataFrame(rows).createOrReplaceTempView("levels")
    return {"duckdb": duckdb, "spark": spark()}


def rows_of(engine, text, **named):
    """The one row that a query gives, by name of its columns."""
    if engine == "duckdb":
        return tables()["duckdb"].sql(text).to_arrow_table().to_pylist()[0]
    return tables()["spark"].sql(text, args=named).collect()[0].asDict()


def printed(capsys, *arguments):
    assert main(["sql", *map(str, arguments)]) == 0
    return capsys.readouterr().out


def numbers(y, p, w, bins):
    y, p = np.asarray(COLUMNS[y], dtype=float), COLUMNS[p]
    weight = None if w is None else COLUMNS[w]
    names = [name for name in MEASURES if name != "soft_ece"]
    found = cal.evaluate(y, p, sample_weight=weight, bins=bins, measures=names).values
    return found | {"soft_ece": cal.soft_ece(y, p, sample_weight=weight, bins=bins)}


# A query takes Spark ten seconds: every label, prediction and weight in four of them, and bins.
OF_SPARK = [CASES[at] for at in (1, 3, 4, 6)]


@pytest.mark.parametrize(
    ("case", "engine"),
    [*((case, "duckdb") for case in CASES), *((case, "spark") for case in OF_SPARK)],
    ids=str,
)
def test_the_query_gives_the_numbers_of_python(case, engine, capsys):
    y, p, w, bins = case
    names = ("--table", "levels", "--label", y, "--proba", p, "--bins", bins)
    weight = () if w is None else ("--weight", w)
    found = rows_of(engine, printed(capsys, "--dialect", engine, *names, *weight))
    assert found.pop("n") == N
    assert found == pytest.approx(numbers(*case), rel=1e-12, abs=1e-12)
    assert set(found) == set(MEASURES)


def test_macros_of_duckdb(capsys):
    tables()["duckdb"].execute(printed(capsys, "--dialect", "duckdb", "--bins", 10))
    for y, p, w, bins in CASES:
        columns = ", ".join('"' + name.replace('"', '""') + '"' for name in (y, p))
        weight = 1 if w is None else f'"{w}"'
        given = f"('levels', {columns}, weight := {weight}, bins := {bins})"
        expected = numbers(y, p, w, bins)
        found = rows_of("duckdb", f"SELECT * FROM calibrant{given}")
        assert found.pop("n") == N and found == pytest.approx(expected, rel=1e-12, abs=1e-12)
        for name, value in expected.items():
            (one,) = rows_of("duckdb", f"SELECT calibrant_{name}{given}").values()
            assert one == pytest.approx(value, rel=1e-12, abs=1e-12), name
    (default,) = rows_of("duckdb", "SELECT calibrant_ece('levels', u, z)").values()
    assert default == pytest.approx(cal.ece(Y, P, bins=10), abs=1e-12)


def test_parameters_of_spark(capsys):
    query = printed(capsys, "--dialect", "spark")
    for y, p, *_ in CASES[2:5:2]:
        quoted = ["`" + name.replace("`", "``") + "`" for name in (y, p)]
        found = rows_of("spark", query, table="levels", label=quoted[0], proba=quoted[1])
        assert found["ece"] == pytest.approx(numbers(y, p, None, 15)["ece"], abs=1e-12)


@pytest.mark.parametrize("engine", ["duckdb", "spark"])
@pytest.mark.parametrize(
    ("y", "p"),
    [("1", "1.5"), ("2", "0.5"), ("NULL", "0.5"), ("1", "NULL"), ("1", "CAST('NaN' AS DOUBLE)")],
)
def test_rows_that_python_refuses_are_errors(engine, y, p, capsys):
    given = f"(SELECT {y} AS y, {p} AS p UNION ALL SELECT 1, 0.5) AS rows"
    names = ("--table", given, "--label", "y", "--proba", "p")
    query = printed(capsys, "--dialect", engine, *names)
    with pytest.raises(Exception, match=r"must lie in \[0, 1\]"):
        rows_of(engine, query)


def test_what_is_asked_for(capsys):
    found = json.loads(printed(capsys, "--dialect", "duckdb", "--json"))
    assert found["dialect"] == "duckdb" and found["sql"].count("CREATE") == 1 + len(MEASURES)
    assert main(["sql", "--dialect", "duckdb", "--table", "t", "--proba", "p"]) == 3
    assert "needs --label too" in capsys.readouterr().err
    assert main(["sql", "--dialect", "duckdb", "--weight", "w"]) == 3
    assert "macros need none" in capsys.readouterr().err
