"""Rows are matched by position: pandas objects whose indexes say otherwise are refused."""

import inspect
import re

import numpy as np
import pandas as pd
import pytest

import calibrant as cal
from calibrant import InputError

rng = np.random.default_rng(0)
N = 120
P = rng.random(N)
Y = (rng.random(N) < P).astype(int)
SHUFFLED = rng.permutation(N)
FUNCTIONS = {
    name: function
    for name in cal.__all__
    if inspect.isfunction(function := getattr(cal, name))
    and {"y_true", "y_proba"} <= set(inspect.signature(function).parameters)
    and "path" not in inspect.signature(function).parameters
}
# Arguments with an entry for each row.
ROWS = {"y_true", "y_proba", "sample_weight", "groups", "by", "votes", "time"}
OTHERS = [
    (name, argument)
    for name, function in FUNCTIONS.items()
    for argument in inspect.signature(function).parameters
    if argument in ROWS
]


def series(values, index=None):
    return pd.Series(np.asarray(values), index=index)


def call(name, given):
    if name == "compare":
        given["y_proba"] = {"a": given["y_proba"], "b": P**2}
    if name == "check":
        given["at_most"] = {"ece": 0.5}
    return FUNCTIONS[name](given.pop("y_true"), given.pop("y_proba"), **given)


def test_every_function_refuses_rows_in_another_order():
    order = series(np.arange(N), SHUFFLED).index
    for name, argument in OTHERS:
        given = {"y_true": series(Y), "y_proba": series(P)}
        values = {"y_true": Y, "y_proba": P}.get(argument, np.arange(N) % 4 + 1)
        given[argument] = series(values, order)
        with pytest.raises(InputError) as error:  # the locals of a failure name the function
            call(name, given)
        sentence = r"same indexes in another order.*reindex.*to_numpy"
        assert re.search(sentence, str(error.value)), f"{name}({argument}=): {error.value}"


def test_the_error_names_both_arguments_and_the_row():
    with pytest.raises(InputError) as error:
        cal.ece(series(Y), series(P, range(5, N + 5)))
    assert str(error.value).startswith(
        "y_true and y_proba have different indexes (row 0 is 0 and 5), while rows are matched by"
    )
    with pytest.raises(InputError, match=r"y_true and y_proba\['b'\] have"):
        cal.compare(series(Y), {"a": P, "b": series(P, SHUFFLED)})
    frame = pd.DataFrame({"y": Y, "p": P})
    with pytest.raises(InputError, match="data and groups have"):
        cal.evaluate("y", "p", data=frame, uncertainty=True, groups=series(Y, SHUFFLED))
    for stream, more in ((cal.Accumulator(), {}), (cal.Monitor(every="1d"), {"time": 0})):
        with pytest.raises(InputError, match="y_true and sample_weight have"):
            stream.update(series(Y), P, sample_weight=series(P, SHUFFLED), **more)
        assert stream.n_rows == 0
    with pytest.raises(InputError, match="y_true and y_proba have"):
        cal.PlattScaling().fit(series(Y), pd.DataFrame({"a": 1 - P, "b": P}, index=SHUFFLED))


def test_equal_indexes_and_things_without_one_are_taken():
    expected = cal.ece(Y, P)
    assert cal.ece(series(Y, SHUFFLED), series(P, SHUFFLED.copy())) == expected
    assert cal.ece(series(Y, SHUFFLED), P) == expected
    assert cal.ece(Y.tolist(), series(P, SHUFFLED)) == expected
    assert cal.ece(series(Y, SHUFFLED).to_numpy(), series(P)) == expected
    gaps = [None, *range(1, N)]
    assert cal.ece(series(Y, gaps), series(P, [np.nan, *range(1, N)])) == expected
    assert cal.ece(series(Y, np.arange(N) * 1.0), series(P)) == expected


def test_ids_bring_predictors_into_order():
    shuffled = series(P)[SHUFFLED]
    ids = {"y_true": range(N), "b": SHUFFLED}
    found = cal.compare(series(Y), {"a": P, "b": shuffled}, ids=ids, measures=["brier"])
    assert found.value("a", "brier") == found.value("b", "brier")
