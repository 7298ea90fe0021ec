"""compare(): rows matched by ids, and what cannot be compared."""

import math
import warnings

import numpy as np
import pytest

import calibrant as cal
from calibrant import InputError
from needs import need
from rivals import (
    FEW,
    binary,
    multi,
)


def same(first, second):
    assert first.names == second.names
    assert (first.values == second.values).all()
    assert (first.limits == second.limits).all() and (first.pairs == second.pairs).all()
    assert first.robustness == second.robustness


@pytest.mark.parametrize("kind", ["text", "numbers"])
def test_rows_are_matched_by_ids(kind):
    y, u = binary(120)
    ids = np.arange(120) * 7
    if kind == "text":
        ids = np.array([f"row {i}" for i in ids])
    rng = np.random.default_rng(40)
    a, b = rng.permutation(120), rng.permutation(120)
    shuffled = {"right": u["right"][a], "over": u["over"][b], "dull": u["dull"]}
    given = {"y_true": ids, "right": ids[a], "over": list(ids[b])}
    found = cal.compare(y, shuffled, ids=given, measures=FEW, n_resamples=50)
    aligned = cal.compare(y, u, measures=FEW, n_resamples=50)
    same(found, aligned)
    assert found.recipe["matched_by_ids"] and not aligned.recipe["matched_by_ids"]
    unmatched = cal.compare(y, shuffled, measures=["brier"], n_resamples=50)
    assert found.value("over", "brier") != unmatched.value("over", "brier")


def test_predictors_that_are_called_by_numbers_are_matched_by_ids():
    y, u = binary(60)
    order = np.random.default_rng(40).permutation(60)
    ids = {"y_true": np.arange(60), 2: order}
    found = cal.compare(
        y, {1: u["right"], 2: u["over"][order]}, ids=ids, measures=["brier"], n_resamples=50
    )
    assert found.value("2", "brier") == cal.brier_score(y, u["over"])


def test_rows_of_classes_are_matched_by_ids():
    y, x = multi(80)
    order = np.random.default_rng(41).permutation(80)
    moved = {**x, "over": x["over"][order]}
    w = np.linspace(0.5, 2, 80)
    options = {
        "from_logits": True,
        "sample_weight": w,
        "n_resamples": 50,
        "measures": ("ece", "classwise_ce", "brier", "auroc"),
    }
    found = cal.compare(y, moved, ids={"y_true": np.arange(80), "over": order}, **options)
    same(found, cal.compare(y, x, **options))


def test_rows_matched_by_columns_of_a_frame():
    pandas = need("pandas")
    y, u = binary(90)
    order = np.random.default_rng(42).permutation(90)
    frame = pandas.DataFrame(
        {
            "y": y,
            "a": u["right"],
            "b": u["over"][order],
            "id": np.arange(90),
            "id_b": order,
            "w": np.linspace(1, 2, 90),
            "where": np.arange(90) % 2,
            "game": np.arange(90) % 9,
        }
    )
    few = {"measures": FEW, "n_resamples": 50}
    options = {"data": frame, "sample_weight": "w", "groups": "game", "by": "where", **few}
    plain = cal.compare(
        y, {"a": u["right"], "b": u["over"]}, sample_weight=frame.w, groups=frame.game, **few
    )
    for ids in (
        {"y_true": "id", "b": "id_b"},
        {"y_true": frame["id"], "b": frame["id_b"]},
    ):
        found = cal.compare("y", {"a": "a", "b": "b"}, ids=ids, **options)
        same(found, plain)
        assert found.slices["b"].by == "where"
    with pytest.raises(InputError, match=r"ids names the column 'idd'.*did you mean 'id'"):
        cal.compare("y", {"a": "a", "b": "b"}, ids={"y_true": "idd"}, data=frame)


def test_matching_many_rows_takes_no_time():
    """A look-up a row, not a search: at 60,000 rows a search would take minutes."""
    n = 60_000
    rng = np.random.default_rng(43)
    y, u, order = rng.integers(0, 2, n), rng.random(n), rng.permutation(n)
    found = cal.compare(
        y,
        {"a": u, "b": u[order]},
        ids={"y_true": np.arange(n), "b": order},
        measures=["ece"],
        n_resamples=50,
        bin_counts=(5,),
    )
    assert found.difference("a", "b").value == 0.0


N = 30
KEYS = np.arange(N)


@pytest.mark.parametrize(
    ("ids", "words"),
    [
        (
            {"y_true": KEYS, "a": KEYS[:-1]},
            "ids of 'a' differ from those of y_true: 1 missing, such as 29",
        ),
        (
            {"y_true": KEYS[1:], "a": KEYS},
            "ids of 'a' differ from those of y_true: 1 extra, such as 0",
        ),
        ({"y_true": KEYS, "a": KEYS + 1}, "1 missing, such as 0 and 1 extra, such as 30"),
        (
            {"y_true": KEYS, "a": np.where(KEYS == 3, 2, KEYS)},
            "ids of 'a' must be unique; 2 appears more than once",
        ),
        ({"y_true": np.zeros(N, int), "a": KEYS}, "ids of 'y_true' must be unique; 0 appears"),
        ({"y_true": KEYS, "model": KEYS}, "ids names 'model', but y_proba has no predictor"),
        ({"a": KEYS}, "ids must map 'y_true'"),
        (KEYS, "ids must map 'y_true'"),
        ({"y_true": KEYS[:3], "a": KEYS[:3]}, f"a: there are 3 ids for {N} rows"),
        ({"y_true": np.arange(N + 1), "a": np.arange(N + 1)}, f"there are {N + 1} ids for {N}"),
        ({"y_true": np.ones((N, 2)), "a": KEYS}, "ids of 'y_true' must be one id per row"),
        ({"y_true": KEYS, "a": 3}, "ids of 'a' must be one id per row"),
        ({"y_true": "id", "a": KEYS}, "ids of 'y_true' must be one id per row"),
        ({"y_true": KEYS, "a": [1, [2, 3]]}, "ids cannot be read"),
    ],
)
def test_ids_that_do_not_match_are_refused(ids, words):
    y, u = binary(N)
    with pytest.raises(InputError) as caught:
        cal.compare(y, {"a": u["right"], "b": u["over"]}, ids=ids)
    assert words in str(caught.value)


# --- what is refused ------------------------------------------------------------------------------


Y, U = binary(N)
GOOD = {"a": U["right"], "b": U["over"]}
HOLE = np.where(np.arange(N) == 3, np.nan, U["over"])


@pytest.mark.parametrize(
    ("u", "options", "words"),
    [
        ({"a": U["right"]}, {}, "two or more predictors to compare; got 1"),
        ({}, {}, "two or more predictors to compare; got 0"),
        (U["right"], {}, "y_proba must map names to predictions.*got ndarray"),
        ([U["right"], U["over"]], {}, "y_proba must map names to predictions.*got list"),
        ({"a": U["right"], "hole": HOLE}, {}, r"hole: y_proba\[3\] is nan"),
        ({"a": U["right"], "high": U["over"] + 1}, {}, r"high: y_proba\[\d+\]"),
        ({"a": U["right"], "short": U["over"][:5]}, {}, "short: .*number of rows; got 30 and 5"),
        ({"a": U["right"], "none": None}, {}, "none: y_proba must be numbers"),
        ({"a": U["right"], "single": 0.5}, {}, r"single: y_proba must have the shape"),
        (
            {"a": U["right"], "two": np.stack([1 - HOLE, HOLE], axis=1)},
            {},
            r"same classes; the shapes are a \('n',\), two \('n', 2\)",
        ),
        ({1: U["right"], "1": U["over"]}, {}, "two predictors are named '1'"),
        (GOOD, {"measures": []}, "measures must name at least one measure"),
        (GOOD, {"measures": "ece"}, "measures must be a list of names"),
        (GOOD, {"measures": ["brierr"]}, "no measure is called 'brierr': did you mean 'brier'"),
        (GOOD, {"measures": ["classwise_ce"]}, "not defined for binary"),
        (GOOD, {"level": 0}, "level must be a number between 0 and 1"),
        (GOOD, {"level": 1.0}, "level must be a number between 0 and 1"),
        (GOOD, {"level": 95}, "level must be a number between 0 and 1"),
        (GOOD, {"level": "high"}, "level must be a number between 0 and 1"),
        (GOOD, {"level": math.nan}, "level must be a number between 0 and 1"),
        (GOOD, {"n_resamples": 10}, "n_resamples must be a whole number, at least 50"),
        (GOOD, {"seed": -1}, "seed must be a whole number"),
        (GOOD, {"groups": np.zeros(N)}, "at least two groups"),
        (GOOD, {"groups": np.arange(3)}, "groups must name a group for each of the 30 rows"),
        (GOOD, {"by": [1, 2]}, "each of the 30 rows"),
        (GOOD, {"by": "where"}, "no frame was given"),
        (GOOD, {"sample_weight": np.zeros(N)}, "a: sample_weight is 0 in every row"),
        (GOOD, {"bin_counts": ()}, "bin_counts must hold at least one number of bins"),
        (GOOD, {"bin_counts": 5}, "bin_counts must be numbers of bins"),
        (GOOD, {"bin_counts": "5"}, "bin_counts must be numbers of bins"),
        (GOOD, {"bin_counts": (5, 0)}, "bin_counts: bins must be at least 1"),
        (GOOD, {"bin_counts": (5.5,)}, "bin_counts: bins must be a whole number"),
        (GOOD, {"bins": 0}, "bins must be at least 1"),
        (GOOD, {"from_logits": "yes"}, "from_logits must be True or False"),
        (GOOD, {"mesures": ["ece"]}, "has no option 'mesures': did you mean 'measures'"),
    ],
)
def test_what_cannot_be_compared_is_refused(u, options, words):
    with pytest.raises(InputError, match=words):
        cal.compare(Y, u, **options)


def test_different_numbers_of_classes_are_refused():
    rng = np.random.default_rng(44)
    y = rng.integers(0, 3, N)
    p = {"three": rng.dirichlet(np.ones(3), N), "four": rng.dirichlet(np.ones(4), N)}
    with pytest.raises(InputError, match=r"three \('n', 3\), four \('n', 4\)"):
        cal.compare(y, p)


def test_what_is_not_there_is_refused():
    found = cal.compare(Y, GOOD, measures=["ece", "brier"], n_resamples=50)
    with pytest.raises(InputError, match="no predictor is called 'c'"):
        found.difference("a", "c")
    with pytest.raises(InputError, match="no predictor is called 'c'"):
        found.differences("ece", "c")
    with pytest.raises(InputError, match="no measure 'brie': did you mean 'brier'"):
        found.value("a", "brie")
    with pytest.raises(InputError, match="no measure 'lin_ce'"):
        found.ranking("lin_ce")
    with pytest.raises(InputError, match="no measure 'ece': use one of 'brier'"):
        cal.compare(Y, GOOD, measures=["brier"], n_resamples=50).order()


@pytest.mark.parametrize("n", [1, 2])
def test_fewer_rows_than_bins(n):
    y, u = binary(n)
    del u["dull"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = cal.compare(y, u, n_resamples=50)
        p = {name: np.stack([1 - v, v], axis=1) for name, v in u.items()}
        rows = cal.compare(y, p, n_resamples=50)
        assert str(found) and str(rows) and found.to_json() and rows.to_json()
    assert found.recipe["n"] == n
    for each in (found, rows):
        for measure in each.measures:
            d = each.difference("right", "over", measure)
            assert d.low <= d.high and math.isfinite(d.low) and math.isfinite(d.high)


def test_constant_predictors():
    u = {"half": np.full(N, 0.5), "base": np.full(N, Y.mean()), "zero": np.zeros(N)}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        measures = ["ece", "lin_ce", "brier", "brier_discrimination"]
        found = cal.compare(Y, u, measures=measures, n_resamples=50)
        assert str(found)
    assert found.value("base", "ece") == pytest.approx(0, abs=1e-12)
    assert found.value("half", "ece") == pytest.approx(abs(0.5 - Y.mean()))
    assert found.order("ece")[0] == "base"
    # None tells one row from another: all share the first rank.
    assert found.ranking("brier_discrimination")["rank"] == [1, 1, 1]
