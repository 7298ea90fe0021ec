"""Wherever samples lie, they give the same numbers: counts to the last one, sums to 1e-12.

One suite for arrays, tensors and every kind of frame: the boundary table, the laws, the oracles.
"""

from __future__ import annotations

import functools
from bisect import bisect_left, bisect_right
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

import calibrant as cal
from every_engine import ENGINES, LAZY, call

RNG = np.random.default_rng(12345)
N = 2000
P = RNG.random(N)
Y = (RNG.random(N) < P**1.3).astype(int)
# Data A of the oracles: these five, drawn in this order.
DATA = {"p": P, "y": Y, "s": P**1.3, "w": RNG.random(N)}
# Weights of which some are 0: rows that are not there.
DATA["v"] = np.where(DATA["w"] < 0.1, 0.0, DATA["w"])

K = 3
LOGITS = RNG.normal(size=(N, K)) * 2
ROWS = np.exp(LOGITS) / np.exp(LOGITS).sum(axis=1, keepdims=True)
SOFT = RNG.dirichlet(np.ones(K), N)
REPORTS = [f"p{r}" for r in range(K)]
SINGLES = [f"f{r}" for r in range(K)]
LOGIT_NAMES = [f"h{r}" for r in range(K)]
SOFT_NAMES = [f"q{r}" for r in range(K)]
MANY = {"label": RNG.integers(0, K, N), "v": DATA["v"]}
for values, names in ((ROWS, REPORTS), (LOGITS, LOGIT_NAMES), (SOFT, SOFT_NAMES)):
    MANY |= dict(zip(names, values.T.copy(), strict=True))
MANY |= {name: MANY[p].astype(np.float32) for name, p in zip(SINGLES, REPORTS, strict=True)}
DATA |= {"f": P.astype(np.float32), "h": np.log(P / (1 - P))}


def sums(name, columns, y, p, *, bins=15, measures=None, from_logits=False, **options):
    """The state of an accumulator that was given these columns."""
    made = cal.Accumulator(bins=bins, measures=measures, from_logits=from_logits)
    return call(name, made.update, columns, y, p, **options)


def same_state(found, expected, *, rtol=1e-12):
    """Two accumulators hold the same sums."""
    assert found.recipe() == expected.recipe()
    a, b = found.packed(), expected.packed()
    assert a.keys() == b.keys()
    for key, values in b.items():
        # Masses between nodes are differences; all else is a sum of what is not negative.
        scale = 0.0 if key not in ("logits", "residuals") else 10 * rtol * np.abs(values).max()
        if key in ("cells", "top_cells", "classwise"):
            np.testing.assert_array_equal(a[key][..., 0], values[..., 0], err_msg=key)
        np.testing.assert_allclose(a[key], values, rtol=rtol, atol=1e-14 + scale, err_msg=key)


# --- the boundary table --------------------------------------------------------------------------


def around(edges, dtype=np.float64):
    """0, 1, each edge, and its neighbours one ulp away."""
    edges = np.unique(np.array([0.0, 1.0, *edges]).astype(dtype))
    beside = [np.nextafter(edges, np.array(end, dtype)) for end in (-1, 2)]
    predictions = np.concatenate([edges, *beside, [np.finfo(dtype).smallest_subnormal]])
    predictions = predictions[(predictions >= 0) & (predictions <= 1)].astype(dtype)
    return np.random.default_rng(0).permutation(predictions)


COUNTS = (1, 2, 3, 7, 10, 15, 20, 49, 64, 100)
# Each query takes these long to plan, or is that of Polars again. Products of 49 and of 100 with
# their edges are rounded to either side; one bin has no edge.
FEW_COUNTS = dict.fromkeys(("dask", "ibis", "polars in memory"), (49, 100, 1))
FEW_COUNTS |= {"spark": (49, 100), "duckdb": (49, 100, 1, 15)}
SINGLE, RIGHT = np.float32, "right"


def counts_for(name, closed, dtype):
    """Frames elsewhere take every second count: each one with either end closed, and in either
    precision, but not in all four ways.
    """
    counts = FEW_COUNTS.get(name, COUNTS)
    return counts[(closed == RIGHT) ^ (dtype is SINGLE) :: 2] if name in LAZY else counts


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("closed", ["left", "right"])
def test_the_boundary_table_of_equal_widths(engine_name, closed, dtype):
    find = bisect_right if closed == "left" else bisect_left
    for m in counts_for(engine_name, closed, dtype):
        edges = [float(dtype(float(Fraction(j, m)))) for j in range(1, m)]
        predictions = around(edges, dtype)
        labels = np.random.default_rng(1).integers(0, 2, predictions.size)
        bins = [find(edges, float(u)) for u in predictions]
        columns = {"y": labels, "p": predictions}
        table = call(
            engine_name, cal.reliability, columns, "y", "p", bins=cal.EqualWidth(m, closed)
        ).table
        np.testing.assert_array_equal(table.n[0], np.bincount(bins, minlength=m))
        np.testing.assert_array_equal(table.sum_wz[0], np.bincount(bins, labels, minlength=m))


# Queries take these a second or more to plan, carry out, or both.
SLOW = ("dask", "ibis", "spark")
# In memory and streaming, Polars is given the same expressions.
FEWER = (*SLOW, "polars in memory")

CUSTOM_EDGES = {
    "uneven": [0.1, 0.25, 0.3, 0.9, 1 / 3],
    "at the ends' neighbours": [5e-324, 1e-300, 0.5, float(np.nextafter(1.0, 0.0))],
    "a hair apart": [0.5, float(np.nextafter(0.5, 1.0)), 0.6, float(np.nextafter(0.6, 0.0))],
}


CUSTOM_EDGES["all of them"] = sorted({edge for some in CUSTOM_EDGES.values() for edge in some})


@pytest.mark.parametrize(
    ("engine_name", "kind"),
    [(n, kind) for n in ENGINES for kind in CUSTOM_EDGES if (kind == "all of them") == (n in LAZY)],
)
def test_the_boundary_table_of_edges_of_ones_own(engine_name, kind):
    inner = sorted(CUSTOM_EDGES[kind])
    predictions = around(inner)
    labels = np.random.default_rng(1).integers(0, 2, predictions.size)
    rule = cal.Edges([0.0, *inner, 1.0])
    found = call(
        engine_name, cal.reliability, {"y": labels, "p": predictions}, "y", "p", bins=rule
    ).table
    bins = [bisect_right(inner, float(u)) for u in predictions]
    np.testing.assert_array_equal(found.n[0], np.bincount(bins, minlength=len(inner) + 1))
    np.testing.assert_array_equal(found.sum_wz[0], np.bincount(bins, labels, len(inner) + 1))


def cell_edges():
    """2,048 cells of one width, the first and the last of them cut into eighths of octaves."""
    octaves = [2.0**-e * (1 + f / 8) for e in range(11, 41) for f in range(8)]
    octaves = np.array([edge for edge in octaves if edge < 1 / 2048])
    return np.unique(np.concatenate([octaves, np.arange(1, 2048) / 2048, 1 - octaves]))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_the_boundary_table_of_fine_cells(engine_name, dtype):
    """Every edge of the cells of a stream, of the predictions and of the larger of u and 1 - u."""
    # Plans that are not compiled take milliseconds a row. Eight edges are an octave: every seventh
    # one is each of the eight in some octave.
    # With the 14 inner edges of 15 bins they make the 2526 cells that results speak of.
    assert len(cell_edges()) + 14 + 1 == 2526
    predictions = around(cell_edges()[:: 7 if engine_name == "spark" else 1], dtype)
    labels = np.random.default_rng(1).integers(0, 2, predictions.size)
    columns = {"y": labels, "p": predictions}
    measures = ["ks_error", "confidence_ce"]
    found = sums(engine_name, columns, "y", "p", measures=measures)
    same_state(found, sums("numpy", columns, "y", "p", measures=measures))


def test_one_is_dropped_where_the_rule_says_so(engine_name):
    columns = {"p": [0.2, 1.0, 0.7, 1.0, float(np.nextafter(1.0, 0.0))], "y": [0, 1, 1, 0, 1]}
    for closed in ("right",) if engine_name in SLOW else ("left", "right"):
        rule = cal.EqualWidth(10, closed, drop_one=True)
        table = call(engine_name, cal.reliability, columns, "y", "p", bins=rule)
        assert table.n_dropped == 2
        assert table.n == 3


# --- the same sums as from arrays ----------------------------------------------------------------

PROBLEMS = {
    "binary": (DATA, "y", "p", {}),
    "soft and weighted": (DATA, "s", "p", {"sample_weight": "v"}),
    "single precision": (DATA, "y", "f", {}),
    "logits": (DATA, "y", "h", {"from_logits": True}),
    "classes": (MANY, "label", REPORTS, {}),
    "weighted classes": (MANY, "label", REPORTS, {"sample_weight": "v"}),
    "soft classes": (MANY, SOFT_NAMES, REPORTS, {}),
    "logits of classes": (MANY, "label", LOGIT_NAMES, {"from_logits": True}),
    "classes in single precision": (MANY, "label", SINGLES, {}),
    "weighted soft classes in single precision": (
        MANY,
        SOFT_NAMES,
        SINGLES,
        {"sample_weight": "v"},
    ),
}
# Where queries take long, each of what a problem may have meets each other once: soft labels with
# weights, and logits of classes, have an evaluation below.
FOR_FEWER = ("single precision", "weighted soft classes in single precision")
FOR_DUCKDB = (*FOR_FEWER, "logits")
EVALUATED = ("binary", "soft and weighted", "classes")
PAIRS = [
    (n, p)
    for n in ENGINES
    for p in (FOR_FEWER if n in FEWER else FOR_DUCKDB if n == "duckdb" else PROBLEMS)
    if not (n in LAZY and p in EVALUATED)
]
# Of rows in Spark, where plans that are not compiled take milliseconds for each; and of those of a
# problem in Dask, which then come in one partition: laws and oracles have two.
FIRST = 120


@functools.cache
def rows_for(name, problem):
    """Columns and options of a problem, or of its first rows."""
    columns, y, p, options = PROBLEMS[problem]
    return _first(problem) if name in SLOW else columns, y, p, options


@functools.cache
def _first(problem):
    return {key: values[:FIRST] for key, values in PROBLEMS[problem][0].items()}


@functools.cache
def sums_of_arrays(problem, few):
    columns, y, p, options = rows_for("spark" if few else "numpy", problem)
    return sums("numpy", columns, y, p, **options)


@pytest.mark.parametrize(("engine_name", "problem"), PAIRS)
def test_everything_is_summed_alike(engine_name, problem):
    columns, y, p, options = rows_for(engine_name, problem)
    found, expected = (
        sums(engine_name, columns, y, p, **options),
        sums_of_arrays(problem, engine_name in SLOW),
    )
    # Exponentials differ in their last bit, and logits of predictions near 1 by more.
    same_state(found, expected, rtol=1e-10 if "logits" in problem else 1e-12)


# --- laws ----------------------------------------------------------------------------------------

FEW = {"measures": ["ece", "ks_error", "log_loss"]}


@functools.cache
def few_sums_of_arrays(in_spark):
    return sums("numpy", _first("binary") if in_spark else DATA, "y", "p", **FEW)


def some_rows(name):
    n = FIRST if name == "spark" else N
    return Y[:n], P[:n]


def test_parts_merge_to_the_whole_and_the_order_of_rows_does_not_matter(engine_name):
    order = np.random.default_rng(2).permutation(FIRST if engine_name == "spark" else N)
    third = order.size // 3
    parts = [
        {key: DATA[key][rows] for key in ("y", "p")} for rows in (order[:third], order[third:])
    ]
    # States are merged here, wherever their sums are from: one part of a frame elsewhere is enough.
    places = (engine_name, "numpy" if engine_name in LAZY else engine_name)
    first, second = (
        sums(place, part, "y", "p", **FEW) for place, part in zip(places, parts, strict=True)
    )
    same_state(first.merge(second), few_sums_of_arrays(engine_name == "spark"))


def test_a_whole_weight_is_a_repetition_and_none_is_no_row(engine_name):
    y, p = some_rows(engine_name)
    times = np.random.default_rng(3).integers(0, 4, y.size)
    labels, options = y, {}
    if engine_name in SLOW:  # which have named labels here, in the same query
        labels, options = np.array(["no", "yes"])[y], {"classes": ["no", "yes"]}
    weighted = {"y": labels, "p": p, "w": times.astype(float)}
    repeated = {"y": np.repeat(y, times), "p": np.repeat(p, times)}
    found = call(
        engine_name, cal.reliability, weighted, "y", "p", sample_weight="w", **options
    ).table
    expected = cal.reliability(repeated["y"], repeated["p"]).table
    np.testing.assert_array_equal(
        found.n[0], np.bincount((p[times > 0] * 15).astype(int), minlength=15)
    )
    np.testing.assert_array_equal(found.sum_w, expected.sum_w)
    np.testing.assert_allclose(found.sum_wu, expected.sum_wu, rtol=1e-12)
    np.testing.assert_array_equal(found.sum_wz, expected.sum_wz)


# Others have flags in the closed form, and named labels with weights.
quick_engine = pytest.mark.parametrize("engine_name", [e for e in ENGINES if e not in SLOW])


@quick_engine
def test_labels_of_0_and_1_may_be_of_any_type(engine_name):
    y, p = some_rows(engine_name)
    kinds = (y, y.astype(float), y.astype(bool), y.astype(np.int8))
    values = [
        call(engine_name, cal.ece, {"p": p, "y": labels}, "y", "p", bins=10) for labels in kinds
    ]
    np.testing.assert_allclose(values, cal.ece(y, p, bins=10), atol=1e-13)


@quick_engine
def test_named_labels_are_told_apart(engine_name):
    y, p = some_rows(engine_name)
    columns = {"p": p, "word": np.array(["no", "yes"])[y]}
    found = call(engine_name, cal.ece, columns, "word", "p", classes=["no", "yes"])
    assert found == pytest.approx(cal.ece(y, p), rel=1e-12)


def test_ties_go_to_the_lowest_class(engine_name):
    columns = {"a": [0.5, 0.2, 0.25], "b": [0.5, 0.4, 0.25], "c": [0.0, 0.4, 0.5], "y": [0, 2, 2]}
    error = call(engine_name, cal.classification_error, columns, "y", ["a", "b", "c"])
    assert error == pytest.approx(1 / 3)


# --- oracles -------------------------------------------------------------------------------------


def equal_mass_edges(predictions, m):
    """The bins of the package that the debiased value is from: between runs of sorted
    predictions.
    """
    runs = np.array_split(np.sort(predictions), m)
    return cal.Edges([0.0, *((a[-1] + b[0]) / 2 for a, b in pairwise(runs)), 1.0], closed="right")


def test_the_oracles(engine_name):
    """Values that other packages print for the same data, in double precision."""
    oracles = {
        0.06535473973067683: (cal.ece, "y", {}),
        0.06625415423008271: (cal.ece, "s", {}),
        0.07579900331735678: (cal.ece, "y", {"norm": "l2"}),
        0.13259157485115414: (cal.ece, "y", {"norm": "max"}),
        0.0672638885434399: (cal.debiased_l2, "y", {"bins": equal_mass_edges(P, 15)}),
    }
    for value, (function, y, options) in oracles.items():
        if engine_name in FEWER and ("norm" in options or y == "s"):
            continue  # a norm is taken of the sums of the error; soft labels are evaluated below
        assert call(engine_name, function, DATA, y, "p", **options) == pytest.approx(
            value, rel=1e-12
        )


def test_the_oracles_of_measures_without_bins(engine_name):
    if engine_name not in FEWER:  # which have weights below
        parts = call(engine_name, cal.brier_decomposition, DATA, "y", "p")
        assert parts.miscalibration == pytest.approx(0.007812226501596631, rel=1e-11)
        assert parts.discrimination == pytest.approx(0.0886678439852931, rel=1e-11)
    parts = call(engine_name, cal.brier_decomposition, DATA, "y", "p", sample_weight="w")
    assert parts.miscalibration == pytest.approx(0.009517422059322739, rel=1e-11)
    if engine_name not in FEWER:  # whose evaluations below have it
        # To the accuracy of the other package's grid.
        smooth = call(engine_name, cal.smooth_ece, DATA, "y", "p")
        assert smooth == pytest.approx(0.06311058000238019, abs=2e-3)


def test_the_closed_form(engine_name):
    labels = [1, 0, 0, 0, 1, 1, 1, 1, 0]
    if engine_name in SLOW:  # flags are not numbers, and all numbers are cast
        labels = [label == 1 for label in labels]
    columns = {"p": [0.5] * 4 + [0.6] * 5, "y": labels}
    assert call(engine_name, cal.ece, columns, "y", "p") == pytest.approx(2 / 9, rel=1e-14)
    if engine_name not in FEWER:
        squared = call(engine_name, cal.ece, columns, "y", "p", norm="l2")
        assert squared == pytest.approx(0.22360679774997896, rel=1e-14)


@functools.cache
def evaluation_of_arrays(problem, few):
    columns, y, p, options = rows_for("spark" if few else "numpy", problem)
    return call("numpy", cal.evaluate, columns, y, p, **options)


@pytest.mark.parametrize(
    ("engine_name", "problem"),
    [
        (n, p)
        for n in ENGINES
        for p in ("binary", "soft and weighted")
        if p != "binary" or n not in (*FEWER, "duckdb")
    ],
)
def test_an_evaluation_has_the_same_measures(engine_name, problem):
    """Beside those that frames elsewhere take from fine cells, which say so."""
    columns, y, p, options = rows_for(engine_name, problem)
    found = call(engine_name, cal.evaluate, columns, y, p, **options)
    expected = evaluation_of_arrays(problem, engine_name in SLOW)
    for estimate in found.estimates:
        accuracy = {"rel": 1e-7 if estimate.name == "ls_ece" else 1e-9, "abs": 1e-13}
        tolerance = {"abs": 2e-4} if "cells" in estimate.rule else accuracy
        assert estimate.value == pytest.approx(expected[estimate.name], **tolerance), estimate.name
    assert set(expected.values) - set(found.values) <= {"tace"}
    assert found.reliability.columns()["n"] == expected.reliability.columns()["n"]


def test_an_evaluation_of_classes_has_the_same_measures(engine_name):
    problem = "logits of classes" if engine_name in (*FEWER, "duckdb") else "classes"
    columns, y, p, options = rows_for(engine_name, problem)
    found = call(engine_name, cal.evaluate, columns, y, p, **options)
    expected = evaluation_of_arrays(problem, engine_name in SLOW)
    for estimate in found.estimates:
        if estimate.rule == expected.estimate(estimate.name).rule:
            value = expected[estimate.name]
            accuracy = 1e-7 if estimate.name == "ls_ece" else 1e-9
            assert estimate.value == pytest.approx(value, rel=accuracy, abs=1e-13), estimate.name
    assert len(found.estimates) >= 20
    for key in ("mean_predicted", "mean_target", "ece"):
        np.testing.assert_allclose(found.classes[key], expected.classes[key], rtol=1e-9)
