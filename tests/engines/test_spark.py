"""Spark for real: a local session, its strict arithmetic, its partitions, and states from its jobs.

That it gives the numbers of arrays is shown together with all other engines.
"""

from __future__ import annotations

import datetime
from functools import partial

import numpy as np
import pytest

import calibrant as cal
from calibrant import InputError
from every_engine import frame, spark
from needs import need

RNG = np.random.default_rng(5)
N, K = 400, 3
P = RNG.random(N)
Y = (RNG.random(N) < P).astype(int)
ROWS = RNG.dirichlet(np.ones(K), N)
REPORTS = [f"model.{r}" for r in range(K)]  # a dot means something to Spark
COLUMNS = {
    "y": Y,
    "p": P,
    "label": RNG.integers(0, K, N),
    "day": [datetime.date(2026, 1, 1 + i % 4) for i in range(N)],
    **dict(zip(REPORTS, ROWS.T.copy(), strict=True)),
}


USUAL = {
    "codegen.wholeStage": "true",
    "codegen.factoryMode": "FALLBACK",
    "subexpressionElimination.enabled": "true",
    "adaptive.enabled": "true",
}


@pytest.fixture
def compiled():
    """Plans are compiled, and changed on the way, as they are unless somebody asks for other."""
    settings = spark().conf
    before = {name: settings.get(f"spark.sql.{name}") for name in USUAL}
    for name, value in USUAL.items():
        settings.set(f"spark.sql.{name}", value)
    yield
    for name, value in before.items():
        settings.set(f"spark.sql.{name}", value)


@pytest.fixture(scope="module")
def data():
    return frame("spark", COLUMNS)


@pytest.mark.usefixtures("compiled")
def test_days_in_one_pass(data):
    options = {"by": "day", "measures": ["ece", "brier"]}
    found = cal.evaluate("label", REPORTS, data=data, **options)
    expected = cal.evaluate(COLUMNS["label"], ROWS, by=COLUMNS["day"], measures=["ece", "brier"])
    assert {part.name for part in found.slices} == {part.name for part in expected.slices}
    for part in expected.slices:
        assert found.slices[part.name].n == part.n
        assert found.slices[part.name].values == pytest.approx(part.values, rel=1e-12)
    assert "summed in pyspark" in found.inferred


@pytest.mark.usefixtures("compiled")
@pytest.mark.parametrize("kind", ["timestamp", "timestamp_ntz"])
def test_windows_do_not_go_by_the_zone_of_the_session(kind):
    at = [datetime.datetime(2026, 1, 1, 7 * i % 100 // 24, 7 * i % 24) for i in range(1, 7)]
    monitor = partial(cal.Monitor, every="6h", measures=["brier"])  # what else is longer to compile
    pyarrow = need("pyarrow")
    times = pyarrow.array(at, pyarrow.timestamp("us", "UTC" if kind == "timestamp" else None))
    table = pyarrow.table({"y": Y[:6], "p": P[:6], "at": times})
    rows = spark().createDataFrame(table, f"y long, p double, at {kind}")
    settings = spark().conf
    zone = settings.get("spark.sql.session.timeZone")
    try:
        settings.set("spark.sql.session.timeZone", "America/New_York")
        found = monitor().update("y", "p", time="at", data=rows).evaluate()
    finally:
        settings.set("spark.sql.session.timeZone", zone)
    expected = monitor().update(Y[:6], P[:6], time=at).evaluate()
    assert [(w.start, w.n) for w in found] == [(w.start, w.n) for w in expected]
    assert found.columns()["brier"] == pytest.approx(expected.columns()["brier"], rel=1e-12)


@pytest.mark.usefixtures("compiled")
def test_a_state_from_a_job_merges_with_others(data, tmp_path):
    cal.Accumulator(bins=10).update("y", "p", data=data).save(tmp_path / "monday")
    state = cal.Accumulator.load(tmp_path / "monday").merge(cal.Accumulator(bins=10).update(Y, P))
    twice = cal.Accumulator(bins=10).update(np.tile(Y, 2), np.tile(P, 2))
    assert state.n_rows == 2 * N
    assert state.evaluate().values == pytest.approx(twice.evaluate().values, rel=1e-10)


@pytest.mark.usefixtures("compiled")
@pytest.mark.parametrize(
    ("values", "said"),
    [
        ([2.0], rf"1 of {N} rows .*outside \[0, 1\], such as .*'p': 2.0"),
        ([np.nan, None], rf"2 of {N} rows lack a prediction"),
    ],
)
def test_bad_rows_are_refused_under_strict_arithmetic(values, said):
    """Spark's ANSI mode stops at a NaN that is cast or a division by 0: neither must be reached,
    nor in what compiled plans compute beforehand because it occurs twice.
    """
    assert spark().conf.get("spark.sql.ansi.enabled") == "true"
    bad = {"y": Y.tolist(), "p": [*values, *P[len(values) :]]}
    with pytest.raises(InputError, match=said):
        cal.evaluate("y", "p", data=frame("spark", bad), measures=["ece", "log_loss", "ls_ece"])


def test_rows_with_something_missing_are_left_out_and_counted():
    gaps = {"y": [None, *Y[1:].tolist()], "p": [*P[:-1], np.nan]}
    measures = ["ece", "log_loss", "smooth_ece"]
    found = cal.evaluate("y", "p", data=frame("spark", gaps), missing="drop", measures=measures)
    assert found.recipe["n_missing"] == 2
    expected = cal.evaluate(Y[1:-1], P[1:-1], measures=measures)
    assert found.values == pytest.approx(expected.values, rel=1e-9)


def test_predictions_of_0_and_1_have_logarithms(data):
    sure = {"y": [0, 1, 1, 0], "p": [0.0, 1.0, 0.0, 0.25]}
    found = cal.log_loss("y", "p", data=frame("spark", sure))
    assert found == pytest.approx(cal.log_loss(sure["y"], sure["p"]), rel=1e-12)


def test_log_probabilities_may_have_a_dot_in_their_name():
    logs = frame("spark", {"y": Y[:50], "log.p": np.log(P[:50])})
    found = cal.brier_score("y", "log.p", data=logs, from_logprobs=True)
    assert found == pytest.approx(cal.brier_score(Y[:50], P[:50]), rel=1e-12)


def test_empty_partitions_are_no_matter_and_empty_frames_are_refused(data):
    many = data.filter("p < 0.01").repartition(20)
    inside = P < 0.01
    assert cal.ece("y", "p", data=many) == pytest.approx(cal.ece(Y[inside], P[inside]), rel=1e-12)
    with pytest.raises(InputError, match="at least one row; got none"):
        cal.ece("y", "p", data=data.filter("p < 0"))


def test_a_missing_column_is_told(data):
    with pytest.raises(InputError, match=r"'model.9', which data does not have: did you mean"):
        cal.ece("label", [*REPORTS[:2], "model.9"], data=data)
    with pytest.raises(InputError, match="the column 'day' holds the type Date"):
        cal.ece("y", "day", data=data)


def test_quantiles_and_a_closer_look(data):
    """Of more rows than an evaluation has in every engine; vectors are in test_lin_ece.py."""
    found = cal.confidence_ce("label", REPORTS, data=data)
    expected = cal.confidence_ce(COLUMNS["label"], ROWS)
    assert found == pytest.approx(expected, rel=1e-12)


class TestWhereItIsNotTaken:
    """The message names the library and the way: many have a DataFrame."""

    WAY = r"pyspark\.sql.*DataFrame, whose rows are in another engine.*\.toPandas\(\)"

    @pytest.mark.parametrize(
        "function",
        [
            lambda data: cal.conventions("y", "p", data=data),
            lambda data: cal.multilabel(["y"], ["p"], data=data),
            lambda data: cal.interval(Y, P, groups=data),
        ],
    )
    def test_as_data(self, function):
        with pytest.raises(InputError, match=self.WAY):
            function(frame("spark", {"y": Y, "p": P, "label": P}))

    def test_as_arrays(self):
        data = frame("spark", {"y": Y, "p": P})
        for y, p in ((data["y"], data["p"]), (data, data), (Y, data["p"])):
            with pytest.raises(
                InputError, match=r"pyspark\.sql.*give the frame and name its columns"
            ):
                cal.ece(y, p)
