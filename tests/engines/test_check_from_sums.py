"""Checks of lazy frames: limits of all rows, slices, clusters, coefficients and changes."""

from functools import cache

import pytest
from test_inference_from_sums import halved_rows as checked_rows
from test_inference_from_sums import some_of

import calibrant as cal
from calibrant import InputError
from every_engine import LAZY, call
from pairs import pairs


def assert_alike(found, known, near=2e-2):
    """Both checks have the same limits, verdicts and numbers of rows, and nearly the same
    limits."""
    assert found.verdict == known.verdict and len(found.rows) == len(known.rows)
    for one, other in zip(known.rows, found.rows, strict=True):
        assert (other.limit, other.where, other.n) == (one.limit, one.where, one.n)
        assert other.value == pytest.approx(one.value, rel=1e-4)
        assert other.n_clusters == one.n_clusters and other.n_to_pass == one.n_to_pass
        assert other.effective_n == pytest.approx(one.effective_n)
        width = one.interval.high - one.interval.low
        ends = (one.interval.low, one.interval.high)
        assert (other.interval.low, other.interval.high) == pytest.approx(ends, abs=near * width)
        assert other.verdict == one.verdict


LIMITS = {"at_most": {"ece": 0.08, "brier": 0.25}}
CASES = {
    "plain": {**LIMITS, "at_least": {"slope": 0.5, "auroc": 0.6}},
    "weights": {**LIMITS, "sample_weight": "w"},
    "clusters": {**LIMITS, "groups": "g", "at_least": {"slope": 0.5}},
    "slices": {"at_most": {"ece": 0.3, "brier": 0.3}, "at_least": {"slope": 0.3}, "by": "half"},
    "change": {"baseline": "q", "max_increase": {"ece": 0.02, "brier": 0.01}},
    "change of clusters": {"baseline": "q", "max_increase": {"brier": 0.0}, "groups": "g"},
    "slices of clusters": {"at_most": {"ece": 0.3, "lin_ce": 0.1}, "by": "half", "groups": "g"},
    "slices in order": {"at_most": {"lin_ce": 0.1}, "by": "half"},
    "slices of quantile bins": {"at_most": {"ece": 0.3}, "by": "half", "bins": cal.Quantile(5)},
    "change of slices": {
        "baseline": "q",
        "max_increase": {"ece": 0.02, "brier": 0.01},
        "by": "half",
    },
    "the same predictions": {"baseline": "p", "max_increase": {"brier": 0.001}},
}


# What a case asks of an engine in a query, or in a part of one, of its own.
ASKED = ("by", "groups", "sample_weight", "baseline", "at_least", "bins", "lin_ce")


def crossed():
    """DuckDB with every case; each other engine with and without all that a case may ask."""
    others = [engine for engine in LAZY if engine != "duckdb"]
    asked = {
        name: tuple(key in {**case, **case.get("at_most", {})} for key in ASKED)
        for name, case in CASES.items()
    }
    rows = [(engine, name, *asked[name]) for name in CASES for engine in others]
    met = pairs((engine, *flags) for engine, _, *flags in rows)
    first = {(engine, *flags): (engine, name) for engine, name, *flags in reversed(rows)}
    return [("duckdb", name) for name in CASES] + [first[tuple(row)] for row in met]


@cache
def checked_arrays(case, in_spark):
    """The check of the columns in memory."""
    rows = some_of(checked_rows, "spark" if in_spark else "")
    columns = {name: rows[v] if v in list(rows) else v for name, v in CASES[case].items()}
    return cal.check(rows["y"], rows["p"], **columns)


@pytest.mark.parametrize(("engine_name", "case"), crossed())
def test_lazy_frames_are_checked_as_arrays(engine_name, case):
    rows = some_of(checked_rows, engine_name)
    found = call(engine_name, cal.check, rows, "y", "p", **CASES[case])
    assert_alike(found, checked_arrays(case, engine_name == "spark"))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"ids": "g"}, "ids= needs rows in memory"),
        ({"max_increase": {"ece": 0.1}}, "baseline"),
        ({"groups": "g", "point": True}, "groups has no effect"),
        ({"at_most": {"classwise_ece": 0.1}, "p": ["r", "p"]}, "every class of each row"),
    ],
)
def test_what_sums_of_a_frame_do_not_check_is_refused(options, message):
    given = {"p": "p", "at_most": {"ece": 0.1}, **options}
    rows, p = {**checked_rows(), "r": 1 - checked_rows()["p"]}, given.pop("p")
    with pytest.raises(InputError, match=message):
        call("duckdb", cal.check, rows, "y", p, **given)


@pytest.mark.parametrize("by", [None, "half"])
def test_values_alone_are_judged(by):
    rows, limits = checked_rows(), {"at_most": {"ece": 0.08}, "max_increase": {"brier": 0.02}}
    found = call("polars", cal.check, rows, "y", "p", baseline="q", by=by, point=True, **limits)
    columns = {"baseline": rows["q"], "by": by and rows[by], "point": True}
    known = cal.check(rows["y"], rows["p"], **columns, **limits)
    assert found.verdict == known.verdict and found.point
    for one, other in zip(known.rows, found.rows, strict=True):
        assert (other.limit, other.where, other.n) == (one.limit, one.where, one.n)
        assert other.value == pytest.approx(one.value, rel=1e-12) and other.interval is None
        assert other.baseline == (one.baseline and pytest.approx(one.baseline, rel=1e-12))


CHANGE = {"baseline": "q", "max_increase": {"brier": 0.1}}


@pytest.mark.parametrize("options", [{}, CHANGE, {"groups": "g"}], ids=str)
def test_slices_without_weight_are_undecided(options):
    rows = checked_rows()
    rows = {**rows, "w": [float(name == "first") for name in rows["half"]]}
    given = {"at_most": {"lin_ce": 0.1}, "by": "half", "sample_weight": "w", **options}
    found = call("polars", cal.check, rows, "y", "p", **given)
    assert {row.where: row.reason for row in found.rows} == {
        None: "",
        "first": "",
        "second": "its rows have no weight",
    }


def test_slices_of_one_cluster_are_undecided_beside_a_baseline():
    rows = {**checked_rows(), "one": ["a"] * 1500 + ["b"] * 1500}
    given = {"baseline": "q", "max_increase": {"brier": 0.01}, "by": "one", "groups": "one"}
    found = call("polars", cal.check, rows, "y", "p", **given)
    assert [row.reason for row in found.rows[1:]] == ["one cluster cannot be resampled"] * 2
