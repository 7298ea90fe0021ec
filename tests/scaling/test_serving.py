"""A map in a service: few rows, single numbers, small files, and Python or SQL in its place."""

import json
import math
import sqlite3
import warnings
from functools import cache

import numpy as np
import pytest

from calibrant import InputError, StateError, scaling
from calibrant._data.logprobs import LOGPROBS
from calibrant.scaling import (
    SCALERS,
    BetaCalibration,
    IsotonicCalibration,
    PlattScaling,
    PriorShift,
    QuadraticScaling,
    SameRows,
    TemperatureScaling,
    VectorScaling,
)
from calibrant.scaling._predictions import to_few_predictions, to_predictions
from needs import need

RNG = np.random.default_rng(11)
N = 200
GIVEN = {False: {}, True: {"from_logits": True}, LOGPROBS: {"from_logprobs": True}}
WRITTEN = [
    TemperatureScaling,
    scaling.LabelSmoothingTemperature,
    VectorScaling,
    PlattScaling,
    QuadraticScaling,
    BetaCalibration,
    PriorShift,
]


def rows(columns, given, n=N, seed=0):
    """Labels and predictions: probabilities, logits or log-probabilities."""
    rng = np.random.default_rng(seed)
    if columns is None:
        h = 3 * rng.normal(size=n)
        y, p = rng.random(n) < 1 / (1 + np.exp(-0.5 * h)), 1 / (1 + np.exp(-h))
    else:
        h = 3 * rng.normal(size=(n, columns))
        y, p = (0.5 * h + rng.gumbel(size=h.shape)).argmax(axis=1), np.exp(h)
        p = p / p.sum(axis=1, keepdims=True)
    return y.astype(int), {False: p, True: h, LOGPROBS: np.log(p)}[given]


@cache
def fitted(kind, columns, given):
    y, p = rows(columns, given)
    options = {"from_logits": False, **GIVEN[given]}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return kind(**options).fit(y, p)


@pytest.mark.parametrize("given", GIVEN)
@pytest.mark.parametrize("columns", [None, 2, 4])
@pytest.mark.parametrize("kind", SCALERS)
def test_few_rows_become_what_many_rows_become(kind, columns, given):
    scaler = fitted(SCALERS[kind], columns, given)
    _, many = rows(columns, given, 200, seed=5)
    expected = scaler.transform(many)
    for dtype, made in ((np.float64, list), (np.float64, np.array), (np.float32, np.array)):
        few = many[:20].astype(dtype)
        given_rows = few.tolist() if made is list else few
        quick = to_few_predictions(given_rows, given, columns)
        slow = to_predictions(given_rows, given=given)
        assert quick is not None
        assert quick.values.tolist() == slow.values.tolist()
        assert quick.precision == slow.precision and quick.from_logits == slow.from_logits
        if dtype is np.float64:
            np.testing.assert_allclose(scaler.transform(given_rows), expected[:20], rtol=1e-13)


def test_few_rows_are_not_changed_and_not_shared():
    p = np.array([0.2, 0.7])
    scaler = PriorShift(prior=0.5, source_prior=0.5).fit_unlabelled(p)
    out = scaler.transform(p)
    out[:] = 0
    assert p.tolist() == [0.2, 0.7]


@pytest.mark.parametrize(
    ("few", "said"),
    [
        ([], "at least one row"),
        ([math.nan], "finite numbers"),
        ([0.2, 1.3], r"y_proba\[1\] is 1.3"),
        ([[0.2, 0.8]], r"must have the shape \(n,\)"),
        ([[0.2], [0.3, 0.4]], "rows of equal length"),
        (["a"], "y_proba"),
    ],
)
def test_what_is_wrong_with_few_rows_is_said_as_ever(few, said):
    with pytest.raises(InputError, match=said):
        fitted(PlattScaling, None, False).transform(few)


def test_rows_that_do_not_sum_to_one_are_an_error_also_if_few():
    scaler = fitted(TemperatureScaling, 4, False)
    with pytest.raises(InputError, match="sum"):
        scaler.transform([[0.1, 0.2, 0.3, 0.5]])


@pytest.mark.parametrize("kind", [k for k in SCALERS if k != "VennAbers"])
@pytest.mark.parametrize("given", GIVEN)
def test_a_number_becomes_a_number(kind, given):
    scaler = fitted(SCALERS[kind], None, given)
    number = float(rows(None, given, 1, seed=9)[1][0])
    made = scaler.transform(number)
    assert type(made) is float
    assert made == scaler.transform([number])[0] == scaler.transform(np.float64(number))
    single = np.float32(number)
    assert scaler.transform(single) == pytest.approx(made, abs=1e-4)


def test_numbers_that_are_no_prediction():
    scaler = fitted(PlattScaling, None, False)
    assert scaler.transform(1) == scaler.transform([1.0])[0]
    with pytest.raises(InputError, match=r"is 1\.5: predictions must lie in"):
        scaler.transform(1.5)
    with pytest.raises(InputError, match=r"\(n, 4\), as in fit; it is a single number"):
        fitted(PlattScaling, 4, False).transform(0.5)
    with pytest.raises(StateError, match="not fitted"):
        PlattScaling().transform(0.5)


def test_requests_are_not_looked_through_for_rows_of_the_fit():
    scaler = fitted(PlattScaling, None, False)
    _, p = rows(None, False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for value in p[:300]:
            scaler.transform([value])
        scaler.transform(p[:49])
    with pytest.warns(SameRows, match="all of these rows"):
        scaler.transform(p[:50])
    assert scaler.share_fitted(p[:30]) == 1.0  # asked for, it is answered


def test_a_serving_map_takes_no_look(tmp_path):
    scaler = fitted(PlattScaling, None, False)
    _, p = rows(None, False)
    scaler.save(tmp_path / "map.json")
    serving = scaling.load(tmp_path / "map.json", serving=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        made = serving.transform(p)
        again = scaling.from_json(scaler.to_json(), serving=True).transform(p)
    with pytest.warns(SameRows):
        assert (scaling.load(tmp_path / "map.json").transform(p) == made).all()
    assert (again == made).all()
    with pytest.raises(InputError, match="serving must be True or False; got 'yes'"):
        scaling.load(tmp_path / "map.json", serving="yes")


def test_a_map_can_be_saved_without_its_rows(tmp_path):
    scaler = fitted(PlattScaling, None, False)
    _, p = rows(None, False)
    scaler.save(tmp_path / "small.json", fitted_rows=False)
    text = (tmp_path / "small.json").read_text()
    content = json.loads(text)
    assert content["fitted_rows"] is None and content["fitted_on"] is None and len(text) < 500
    small = scaling.load(tmp_path / "small.json")
    assert small.share_fitted(p) is None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        made = small.transform(p)
    with pytest.warns(SameRows):
        assert (scaler.transform(p) == made).all()
    with pytest.raises(InputError, match="fitted_rows must be True or False"):
        scaler.to_json(fitted_rows=0)


@cache
def duckdb_connection():
    """One for all tests: opening a connection takes as long as a query."""
    return need("duckdb").connect()


def function_of(scaler, name="recalibrate"):
    made: dict = {}
    exec(scaler.to_python(name), made)
    return made[name]


def hard_rows(columns, given):
    """New rows, and predictions next to 0 and 1."""
    _, many = rows(columns, given, 60, seed=3)
    if columns is None:
        ends = np.array([0.0, 1.0, 1e-15, 1 - 1e-15, 1e-9, 0.5])
        more = {False: ends, True: [-800.0, 800.0, 0.0], LOGPROBS: np.log(ends[1:])}[given]
        return np.concatenate([many, more])
    sure = np.full((2, columns), 1e-14)
    sure[[0, 1], [0, columns - 1]] = 1 - (columns - 1) * 1e-14
    more = {False: sure, True: np.log(sure) * 20, LOGPROBS: np.log(sure)}[given]
    return np.concatenate([many, more])


@pytest.mark.parametrize("given", GIVEN)
@pytest.mark.parametrize("columns", [None, 2, 4])
@pytest.mark.parametrize("kind", WRITTEN)
def test_written_as_python_it_is_the_same_map(kind, columns, given):
    scaler = fitted(kind, columns, given)
    function, new = function_of(scaler), hard_rows(columns, given)
    found, expected = [function(row) for row in new.tolist()], scaler.transform(new)
    np.testing.assert_allclose(found, expected, rtol=1e-14, atol=1e-300)
    many = np.linspace(-30, 30, 2001)
    if columns is None and (np.exp(many) == [math.exp(x) for x in many]).all():
        # Where NumPy and Python have the same functions, numbers are equal to the last bit.
        assert found == expected.tolist()


# Predictions that rounding has carried beyond their end, and what is none.
ODD = {
    False: [1 + 1e-7, -1e-7, 1 + 9e-5, 1.5, -0.1, math.nan, math.inf],
    True: [1e200, -1e200, math.nan, math.inf, -math.inf],
    LOGPROBS: [1e-7, -math.inf, 0.5, math.nan, math.inf],
}
ODD_ROWS = {
    False: [
        [1 + 1e-7, 0.0, -1e-7],
        [0.5, 0.25, 0.25005],
        [0.2, 0.3, 0.9],
        [0.0, 0.0, 0.0],
        [0.5, math.nan, 0.5],
        [1.2, -0.1, -0.1],
    ],
    True: [[300.0, 0.0, -300.0], [0.0, math.nan, 1.0], [0.0, math.inf, 1.0]],
    LOGPROBS: [[1e-7, -30.0, -40.0], [-1.0, -math.inf, -0.5], [0.5, -1.0, -1.0], [-math.inf] * 3],
}


def odd_rows(columns, given):
    """Of one column and of three."""
    return {None: ODD, 3: ODD_ROWS}[columns][given] if columns in (None, 3) else []


@cache
def mapped_in(database, kind, columns, given):
    """What a database makes of hard rows, of a missing one, and of odd ones.

    In one query: DuckDB takes as long to read the map as to look at every row.
    """
    names = ["p"] if columns is None else [f"p{j}" for j in range(columns)]
    written = fitted(kind, columns, given).to_sql(names if columns else "p")
    shown = ", ".join([written] if columns is None else written)
    hard, odd = hard_rows(columns, given), odd_rows(columns, given)
    table = [*np.reshape(hard, (len(hard), -1)).tolist(), [None] * len(names)]
    table += [np.ravel(row).tolist() for row in odd]
    connection = duckdb_connection() if database == "duckdb" else sqlite3.connect(":memory:")
    types = ", ".join(f"{name} DOUBLE PRECISION" for name in names)
    connection.execute("DROP TABLE IF EXISTS t")
    connection.execute(f"CREATE TABLE t (i INTEGER, {types})")
    one = f"({', '.join('?' * (len(names) + 1))})"
    connection.execute(
        f"INSERT INTO t VALUES {', '.join([one] * len(table))}",
        [value for i, row in enumerate(table) for value in (i, *row)],
    )
    found = connection.execute(f"SELECT {shown} FROM t ORDER BY i").fetchall()
    return found[: len(hard)], found[len(hard)], found[len(hard) + 1 :]


@pytest.mark.parametrize("given", GIVEN)
@pytest.mark.parametrize("columns", [None, 2, 3])
@pytest.mark.parametrize("kind", WRITTEN)
@pytest.mark.parametrize("database", ["sqlite", "duckdb"])
def test_written_as_sql_it_is_the_same_map(kind, columns, given, database):
    hard, missing, _ = mapped_in(database, kind, columns, given)
    new = hard_rows(columns, given)
    assert set(missing) == {None}  # a missing prediction stays missing
    expected = fitted(kind, columns, given).transform(new).reshape(len(new), -1)
    np.testing.assert_allclose(np.array(hard), expected, rtol=4e-14, atol=1e-300)


def test_an_increasing_quadratic_map_and_an_sql_expression_as_column():
    y, p = rows(None, False)
    scaler = QuadraticScaling(increasing=True).fit(y, p)
    new = np.linspace(0, 1, 41)
    expected = scaler.transform(new)
    np.testing.assert_allclose([function_of(scaler)(x) for x in new.tolist()], expected, rtol=4e-14)
    written = scaler.to_sql("x / 40.0")
    connection = sqlite3.connect(":memory:")
    for x, value in enumerate(expected.tolist()):
        ((found,),) = connection.execute(f"SELECT {written} FROM (SELECT {x} AS x)")
        assert found == pytest.approx(value, rel=4e-14)


def test_written_python_checks_what_it_is_given():
    function = function_of(fitted(PlattScaling, None, False), "map_of_shop")
    for value, said in ((1.5, "1.5 is not a probability"), (math.nan, "nan is not a probability")):
        with pytest.raises(ValueError, match=said):
            function(value)
    with pytest.raises(ValueError, match="nan is not a logit"):
        function_of(fitted(TemperatureScaling, 4, True))([0.0, 1.0, math.nan, 0.0])


def test_what_cannot_be_written_is_an_error():
    isotonic = fitted(IsotonicCalibration, None, False)
    for method, argument in (("to_python", "f"), ("to_sql", "p")):
        with pytest.raises(
            InputError, match=f"{method} writes only maps of few parameters, and Isotonic"
        ):
            getattr(isotonic, method)(argument)
        with pytest.raises(StateError, match="not fitted"):
            getattr(PlattScaling(), method)(argument)
    scaler = fitted(PlattScaling, None, False)
    for name in ("two words", "class", 3):
        with pytest.raises(InputError, match="name must be that of a Python function"):
            scaler.to_python(name)
    for columns in (["p", "q"], " ", 3):
        with pytest.raises((InputError, TypeError)):
            scaler.to_sql(columns)
    with pytest.raises(InputError, match="a list of 4 columns"):
        fitted(PlattScaling, 4, False).to_sql(["a", "b", "c"])


def answers_of(function, values):
    """What each value becomes; None where it is refused."""
    out = []
    for value in values:
        try:
            out.append(np.ravel(function(value)))
        except ValueError:
            out.append(None)
    return out


def assert_same_answers(found, expected):
    assert [each is None for each in found] == [each is None for each in expected]
    for own, right in zip(found, expected, strict=True):
        if right is not None:
            np.testing.assert_allclose(own, right, rtol=1e-6, atol=1e-200)


@pytest.mark.parametrize("given", GIVEN)
@pytest.mark.parametrize("columns", [None, 3])
@pytest.mark.parametrize("kind", WRITTEN)
def test_what_is_refused_is_refused_by_what_is_written(kind, columns, given):
    """A number for what is no prediction is worse than none: Python raises, SQL gives NULL."""
    scaler = fitted(kind, columns, given)
    new = odd_rows(columns, given)
    made = (lambda row: scaler.transform([row])) if columns else scaler.transform
    expected = answers_of(made, new)
    assert 0 < sum(each is None for each in expected) < len(new)
    assert_same_answers(answers_of(function_of(scaler), new), expected)
    _, _, found = mapped_in("duckdb", kind, columns, given)
    assert_same_answers([None if row[0] is None else row for row in found], expected)
