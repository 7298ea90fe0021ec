"""A seed gives the same limits of a lazy frame in every run, whatever the order of its groups.

Predictions, labels and weights are short binary fractions: their sums are exact, and those of
groups the same to the last bit. Logits are not, and engines add them in any order.
"""

from datetime import date
from functools import cache

import narwhals as nw
import numpy as np
import pytest

import calibrant as cal
from calibrant._engines.frames.groups import Groups
from calibrant.scaling import PlattScaling
from every_engine import LAZY, call
from needs import need
from rivals import sigmoid

N = 600
MEASURES = ("ece", "smooth_ece", "lin_ce", "brier", "brier_discrimination")
CASES = {
    "hard": {"y": "y"},
    "soft": {"y": "s"},
    "weights": {"y": "y", "sample_weight": "w"},
    "clusters": {"y": "y", "groups": "g"},
    "all": {"y": "s", "sample_weight": "w", "groups": "name"},
}
# The groups of all engines are sorted in one place: DuckDB, which gives them in an order that
# changes, is asked for every case, Polars for the plainest, and every engine for all at once.
FULLY = ("polars streaming", "duckdb")


@cache
def columns(shuffled=False):
    """Rows of two predictors; `shuffled` ones are the same in another order."""
    rng = np.random.default_rng(91)
    h = rng.normal(0, 1.5, N)
    rows = {
        "y": (rng.random(N) < sigmoid(h)).astype(int),
        "s": np.round(64 * sigmoid(h + rng.normal(0, 0.3, N))) / 64,
        "p": np.round(1022 * sigmoid(1.3 * h) + 1) / 1024,
        "q": np.round(1022 * sigmoid(0.8 * h + rng.normal(0, 0.5, N)) + 1) / 1024,
        "w": rng.integers(1, 9, N) / 8,
        "g": np.arange(N) // 4,
        "name": np.array([f"patient {j // 4}" for j in range(N)]),
    }
    order = rng.permutation(N) if shuffled else np.arange(N)
    return {name: values[order] for name, values in rows.items()}


def numbers_in(value):
    """All numbers in the dictionary of a result, in order."""
    if isinstance(value, dict | list | tuple):
        parts = value.values() if isinstance(value, dict) else value
        return [number for part in parts for number in numbers_in(part)]
    return [float(value)] if isinstance(value, int | float) else []


def evaluated(engine_name, rows, y, **options):
    found = call(
        engine_name, cal.evaluate, rows, y, "p",
        measures=MEASURES, uncertainty=True, n_resamples=200, seed=3, **options,
    )  # fmt: skip
    return numbers_in(found.to_dict()["measures"])


def compared(engine_name, rows, y, **options):
    def compare(labels, predictions, **given):
        return cal.compare(labels, {"p": predictions[0], "q": predictions[1]}, **given)

    found = call(
        engine_name, compare, rows, y, ["p", "q"],
        measures=MEASURES[:3], n_resamples=200, seed=3, **options,
    )  # fmt: skip
    return numbers_in(found.to_dict()["differences"])


ASKED = [("duckdb", case, f) for case in CASES for f in (evaluated, compared)]
ASKED += [("polars streaming", case, f) for case in ("hard", "all") for f in (evaluated, compared)]
ASKED += [(e, "all", compared) for e in LAZY if e not in FULLY]


@pytest.mark.parametrize(("engine_name", "case", "function"), ASKED)
def test_a_seed_gives_the_same_limits(engine_name, case, function):
    first = function(engine_name, columns(), **CASES[case])
    assert len(first) >= 15
    again = function(engine_name, columns(shuffled=True), **CASES[case])
    np.testing.assert_array_equal(again, first)


@pytest.mark.parametrize("engine_name", FULLY)
def test_maps_are_the_same_whatever_the_order_of_rows(engine_name):
    def fitted(shuffled):
        scaler = PlattScaling()
        call(engine_name, scaler.fit, columns(shuffled), "s", "p", sample_weight="w")
        return scaler.transform(np.linspace(0.01, 0.99, 99))

    first = fitted(shuffled=False)
    for shuffled in (False, True):
        np.testing.assert_allclose(fitted(shuffled), first, rtol=1e-9)


@pytest.mark.parametrize(
    "keys",
    [
        ["b", "a", "10", "9"],
        [2.5, -1.0, 0.0, 7.0],
        [2**70, 3, 10**25, -1],
        [None, "b", "a", ""],
        [None, True, 3, "3"],
        [date(2024, 1, 3), date(2023, 5, 9), None, date(2024, 1, 1)],
    ],
)
def test_keys_of_any_type_have_one_order(keys):
    def ordered(rows):
        result = {"by0": [keys[j] for j in rows], "key": [j % 2 for j in rows], "sum": rows}
        frame = need("pandas").DataFrame({**result, "by0": np.array(result["by0"], dtype=object)})
        groups = Groups.from_result(None, nw.from_native(frame), {})
        return list(zip(groups.columns["by0"], groups["sum"], strict=True))

    first = ordered([0, 1, 2, 3])
    assert ordered([3, 1, 0, 2]) == ordered([2, 0, 3, 1]) == first
