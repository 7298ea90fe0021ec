"""Frames that lie elsewhere: what is refused, what is told, and that only sums leave them."""

from __future__ import annotations

import datetime
import sys
from itertools import product

import narwhals as nw
import numpy as np
import pytest

import calibrant as cal
from calibrant import InputError, MissingExtra
from calibrant._core.binning import Cuts
from calibrant._data.to_samples import to_source
from calibrant._engines.frames import losses, partitions, quantiles, query, streams
from every_engine import FRAMES, LAZY, frame
from needs import need
from pairs import pairs

pl = need("polars")

# Spark has its own file: it takes its time.
every_lazy = pytest.mark.parametrize("name", [name for name in LAZY if name != "spark"])

RNG = np.random.default_rng(11)
N, K = 900, 3
P = RNG.random(N)
Y = (RNG.random(N) < P).astype(int)
ROWS = RNG.dirichlet(np.ones(K), N)
SOFT = RNG.dirichlet(np.ones(K), N)
COLUMNS = {
    "y": Y,
    "p": P,
    "s": np.sqrt(P),
    "w": RNG.random(N) * (RNG.random(N) < 0.9),
    "label": RNG.integers(0, K, N),
    "word": np.array(["cat", "dog", "eel"])[RNG.integers(0, K, N)],
    "day": [datetime.date(2026, 1, 1 + i % 3) for i in range(N)],
    "site": [("a", "b", None)[i % 7 % 3] for i in range(N)],
}
REPORTS, SOFTS = [f"p{r}" for r in range(K)], [f"q{r}" for r in range(K)]
COLUMNS |= dict(zip(REPORTS, ROWS.T.copy(), strict=True))
COLUMNS |= dict(zip(SOFTS, SOFT.T.copy(), strict=True))
EAGER = pl.DataFrame(COLUMNS)
LAZY_FRAME = EAGER.lazy()


def with_changed(column, row, value):
    """The columns with one value changed; None where it is to be missing."""
    values = list(COLUMNS[column])
    values[row] = value
    return COLUMNS | {column: values}


# --- what is refused before anything is read -----------------------------------------------------

REFUSED = {
    "a missing column": (("yy", "p"), {}, "'yy', which data does not have: did you mean 'y'"),
    "a missing prediction": (("y", ["p0", "p9"]), {}, "y_proba names the column 'p9'"),
    "a missing weight": (("y", "p"), {"sample_weight": "ww"}, "sample_weight names the column"),
    "a missing slice": (("y", "p"), {"by": "dai"}, "did you mean 'day'"),
    "words": (
        ("word", "p"),
        {},
        "column 'word' holds text: name the class of each label .*classes=",
    ),
    "words as predictions": (("y", "word"), {}, "y_proba must be numbers; the column 'word'"),
    "dates": (("y", "day"), {}, "the column 'day' holds the type Date"),
    "dates as labels": (("day", "p"), {"classes": [0, 1]}, "numbers or text; the column 'day'"),
    "an array for a name": ((Y, "p"), {}, "must be a column's name or a list of names"),
    "one class": (("y", ["p"]), {}, "one column is one class, but"),
    "no class": (("y", []), {}, "y_proba must name a column; it names none"),
    "no label": (([], "p"), {}, "y_true must name a column; it names none"),
    "no weight": (
        ("y", "p"),
        {"sample_weight": []},
        "sample_weight must name a column; it names none",
    ),
    "rows for scalars": ((REPORTS, "p"), {}, "order is \\(y_true, y_proba\\)"),
    "other classes": ((["q0", "q1"], REPORTS), {}, "same classes; got 2 and 3"),
    "a class twice": (("label", ["p0", "p0"]), {}, "'p0' twice"),
    "two weights": (("y", "p"), {"sample_weight": ["w", "p"]}, "one column; it names 2"),
    "too few names": (("label", REPORTS), {"classes": ["cat"]}, "name every class once"),
    "names of another kind": (("word", REPORTS), {"classes": [0, 1, 2]}, "not in classes, such as"),
    "words for numbers": (("s", "p"), {"classes": ["a", 1]}, "which holds the type Float64"),
    "a flag": (("y", "p"), {"from_logits": "yes"}, "from_logits must be True or False"),
    "an option": (("y", "p"), {"missing": "skip"}, "missing='skip' is not known"),
    "ranks": (("y", "p"), {"bins": cal.Quantile(5, ties="rank")}, "need the rows in order"),
    "an unknown measure": (("y", "p"), {"measures": ["eec"]}, "did you mean 'ece'"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_is_refused_with_a_hint(case):
    names, options, said = REFUSED[case]
    with pytest.raises(InputError, match=said):
        cal.evaluate(*names, data=LAZY_FRAME, **options)


def test_measures_of_rows_say_that_rows_are_needed():
    for options in ({"noise": "uniform"}, {"method": "monte-carlo"}):
        with pytest.raises(InputError, match=r"rows themselves, which stay in polars: collect"):
            cal.ls_ece("y", "p", sigma=0.1, data=LAZY_FRAME, **options)
    with pytest.raises(InputError, match="distinct vector"):
        cal.lin_ce("label", REPORTS, bins=cal.LevelSets(), data=LAZY_FRAME)
    with pytest.raises(InputError, match="collect the columns first"):
        cal.conventions("y", "p", data=LAZY_FRAME)


def test_too_much_to_bring_here_is_refused(monkeypatch):
    monkeypatch.setattr(quantiles, "MOST_LEVELS", N - 1)
    with pytest.raises(InputError, match="more than 899 distinct predictions"):
        cal.ks_error("y", "p", data=LAZY_FRAME)
    monkeypatch.setattr(streams, "MOST_GROUPS", 50)
    with pytest.raises(InputError, match="too many values"):
        cal.evaluate("y", "p", by="w", data=LAZY_FRAME, measures=["ece"])
    monkeypatch.setattr(losses, "MOST_RANKED", 2)
    with pytest.raises(InputError, match="at most 2 classes; got 3"):
        cal.rank_cs(SOFTS, REPORTS, data=LAZY_FRAME)


# --- rows that cannot be measured ----------------------------------------------------------------

BAD = {
    "a prediction above 1": ("p", 1.5, ("y", "p"), {}, r"outside \[0, 1\], such as .*'p': 1.5"),
    "a prediction below 0": ("p", -0.01, ("y", "p"), {}, r"outside \[0, 1\]"),
    "an infinite prediction": ("p", np.inf, ("y", "p"), {}, r"outside \[0, 1\]"),
    "an infinite logit": ("p", np.inf, ("y", "p"), {"from_logits": True}, "not finite"),
    "a label": ("y", 2, ("y", "p"), {}, "neither 0, 1 nor a probability.*'y': 2"),
    "a fraction": ("s", 1.2, ("s", "p"), {}, "neither 0, 1 nor a probability"),
    "a class": ("label", 3, ("label", REPORTS), {}, "a y_true that is not a class.*'label': 3"),
    "half a class": ("label", 0.5, ("label", REPORTS), {}, "a y_true that is not a class"),
    "a negative class": ("label", -1, ("label", REPORTS), {}, "a y_true that is not a class"),
    "a word": ("word", "ant", ("word", REPORTS), {"classes": ["cat", "dog", "eel"]}, "'ant'"),
    "nearly a word": (
        "word",
        "Cat",
        ("word", REPORTS),
        {"classes": ["cat", "dog", "eel"]},
        r"a y_true that is not in classes, such as 'Cat': did you mean 'cat'\?$",
    ),
    "a number that is no label": (
        "y",
        7,
        ("y", "p"),
        {"classes": [0, 1]},
        "not in classes, such as 7: use one of '0', '1'$",
    ),
    "a row": ("p1", 0.9999, ("label", REPORTS), {}, "do not sum to 1"),
    "a large prediction": ("p1", 7.0, ("label", REPORTS), {}, r"outside \[0, 1\]"),
    "a negative prediction": ("p1", -0.5, ("label", REPORTS), {}, r"outside \[0, 1\]"),
    "a soft row": (
        "q1",
        0.9999,
        (SOFTS, REPORTS),
        {},
        "soft labels .* do not sum to 1.*were rounded",
    ),
    "a soft label": ("q1", 3.0, (SOFTS, REPORTS), {}, r"soft label .* outside \[0, 1\]"),
    "a weight": ("w", -1.0, ("y", "p"), {"sample_weight": "w"}, "sample_weight that is negative"),
    "an infinite weight": ("w", np.inf, ("y", "p"), {"sample_weight": "w"}, "not finite"),
    "a missing prediction": ("p", None, ("y", "p"), {}, r"lack a prediction.*missing='drop'"),
    "NaN": ("p", np.nan, ("y", "p"), {}, "lack a prediction"),
    "NaN in a row": ("p2", np.nan, ("label", REPORTS), {}, "lack a prediction"),
    "a missing label": ("y", None, ("y", "p"), {}, "lack a prediction, a label"),
    "a missing word": ("word", None, ("word", REPORTS), {"classes": ["cat", "dog", "eel"]}, "lack"),
    "a missing weight": ("w", None, ("y", "p"), {"sample_weight": "w"}, "lack"),
}


# One of each kind.
A_FEW = ("an infinite logit", "half a class", "a word", "a row", "NaN", "a missing label")
BAD_ROWS = [("polars streaming", case) for case in BAD]
# DuckDB has infinities, NaN, gaps, words and sums of its own; on which side of a limit a number
# lies, and what is said of a word, are the same expressions and words.
ALIKE = (
    "a prediction below 0", "a fraction", "a negative class", "nearly a word", "a large prediction",
    "a number that is no label", "a soft label", "a weight", "a missing weight", "a class",
    "a soft row", "a negative prediction",
)  # fmt: skip
BAD_ROWS += [("duckdb", case) for case in BAD if case not in ALIKE]
# Where all measures are asked for at once: what a logarithm or a quotient may meet.
ALL_MEASURES = {"duckdb": ("an infinite logit", "NaN"), "ibis": ("NaN",), "dask": ("NaN",)}
# The same expressions as one of the two above: what reads numbers, words and gaps its own way.
BAD_ROWS += [("polars in memory", case) for case in ("half a class", "NaN")]
BAD_ROWS += [("ibis", case) for case in ("half a class", "a row", "NaN")]
BAD_ROWS += [("dask", case) for case in ("an infinite logit", "a word", "NaN", "a missing label")]


@pytest.mark.parametrize(("name", "case"), BAD_ROWS)
def test_bad_rows_are_counted_and_one_is_shown(name, case):
    column, value, names, options, said = BAD[case]
    data = frame(name, with_changed(column, 17, value))
    everything = ["ece", "brier", "ks_error", "ls_ece", "smooth_ece"]
    measures = everything if case in ALL_MEASURES.get(name, A_FEW) else ["ece"]
    with pytest.raises(InputError, match=f"1 of {N} rows .*{said}"):
        cal.evaluate(*names, data=data, measures=measures, **options)


def test_several_bad_rows_are_all_counted():
    values = np.where(np.arange(N) % 100 == 0, 1.5, P)
    with pytest.raises(InputError, match=rf"9 of {N} rows have a prediction in y_proba outside"):
        cal.ece("y", "p", data=pl.LazyFrame({"y": Y, "p": values}))
    # Whatever else they lack, rows without a prediction are told first.
    with pytest.raises(InputError, match=rf"1 of {N} rows lack"):
        cal.ece("y", "p", data=pl.LazyFrame({"y": [None, *Y[1:]], "p": values}))


GAPS = [("polars streaming", column) for column in ("p2", "label", "w")]
GAPS += [("polars in memory", "p2"), ("duckdb", "label"), ("dask", "p2"), ("ibis", "w")]


@pytest.mark.parametrize(("name", "column"), GAPS)
def test_rows_with_something_missing_are_left_out_and_counted(name, column):
    gaps = with_changed(column, 3, None)
    gaps[column][5] = None
    if column != "label":
        gaps[column][8] = np.nan
    measures = ["ece", "brier", "ls_ece"]
    if name not in ("dask", "ibis"):  # whose queries take long to plan
        measures += ["classwise_ece", "confidence_ce", "smooth_ece"]
    options = {"sample_weight": "w", "missing": "drop", "measures": measures}
    found = cal.evaluate("label", REPORTS, data=frame(name, gaps), by="day", **options)
    expected = cal.evaluate("label", REPORTS, data=frame("polars", gaps), **options)
    n_missing = 2 if column == "label" else 3
    assert found.recipe["n_missing"] == expected.recipe["n_missing"] == n_missing
    assert found.recipe["n"] == sum(part.n for part in found.slices) == N - n_missing
    assert found.notes == expected.notes
    assert found.values == pytest.approx(expected.values, rel=1e-7)


@pytest.mark.parametrize("name", ["polars streaming", "duckdb"])
def test_a_bad_row_is_told_though_others_are_left_out(name):
    gaps = with_changed("p", 3, None)
    gaps["p"][5] = 2.0
    with pytest.raises(InputError, match=rf"1 of {N} rows have a prediction .*'p': 2.0"):
        cal.evaluate("y", "p", data=frame(name, gaps), missing="drop", measures=["ece"])


@every_lazy
def test_frames_without_rows_are_refused(name):
    data = frame(name, {"y": Y[:3], "p": P[:3], "w": P[:3] + 2})
    empty = nw.from_native(data).filter(nw.col("w") < 0).to_native()
    with pytest.raises(InputError, match="at least one row; got none"):
        cal.ece("y", "p", data=empty)
    with pytest.raises(InputError, match="at least one row; got none"):
        cal.ks_error("y", "p", data=empty)


@pytest.mark.parametrize("name", ["polars streaming", "duckdb"])
def test_rows_without_weight_are_refused(name):
    data = frame(name, COLUMNS | {"w": np.zeros(N)})
    for ask in (cal.evaluate, cal.ece, cal.debiased_l2, cal.brier_score, cal.smooth_ece):
        with pytest.raises(InputError, match="sample_weight is 0 in every row"):
            ask("y", "p", sample_weight="w", data=data)


def test_overshoot_is_brought_back_and_counted():
    over = {"y": Y, "p": P.copy(), "s": np.sqrt(P)}
    over["p"][:3] = [-5e-5, 1 + 9e-5, -0.0]
    over["s"][5] = 1 + 1e-5
    for y in ("y", "s"):
        lazy, eager = (
            cal.Accumulator(measures=["ece", "brier"]).update(y, "p", data=kind(over)).evaluate()
            for kind in (pl.LazyFrame, pl.DataFrame)
        )
        assert lazy.notes == eager.notes
        assert "were clipped" in lazy.notes[0]
    rows = {**COLUMNS, "p0": COLUMNS["p0"].copy()}
    rows["p0"][:4] += 5e-5
    lazy, eager = (
        cal.evaluate("label", REPORTS, data=kind(rows), measures=["ece", "brier"])
        for kind in (pl.LazyFrame, pl.DataFrame)
    )
    assert lazy.notes == eager.notes
    assert "sum to 1 only within rounding tolerance" in lazy.notes[0]


def test_predictions_of_0_and_1_are_clipped_alike():
    sure = {"y": [0, 1, 1, 0, 1], "p": [0.0, 1.0, 0.0, 1e-13, 0.5]}
    lazy, eager = (cal.evaluate("y", "p", data=kind(sure)) for kind in (pl.LazyFrame, pl.DataFrame))
    assert lazy.notes == eager.notes
    assert len(lazy.notes) == 2
    assert lazy["log_loss"] == pytest.approx(eager["log_loss"], rel=1e-12)


def test_swapped_arguments_are_noticed():
    for ask in (cal.evaluate, cal.ece):
        with pytest.raises(InputError, match="seem to be swapped"):
            ask("p", "y", data=LAZY_FRAME)


def test_data_that_change_between_passes_are_told():
    duckdb = need("duckdb")
    data = duckdb.connect().sql("select random() as p, 1 as y from range(5000)")
    with pytest.raises(InputError, match="the data changed while they were read"):
        cal.debiased_l2("y", "p", data=data)


# --- every measure, as from arrays ---------------------------------------------------------------

BINARY = {
    "ece": cal.ece,
    "soft_ece": cal.soft_ece,
    "ace": cal.ace,
    "tace": cal.tace,
    "debiased_l2": cal.debiased_l2,
    "sweep_ece": cal.sweep_ece,
    "ks_error": cal.ks_error,
    "smooth_ece": cal.smooth_ece,
    "ls_ece": lambda *args, **options: cal.ls_ece(*args, sigma=0.2, **options),
    "lin_ce": cal.lin_ce,
    "confidence_ce": cal.confidence_ce,
    "brier_score": cal.brier_score,
    "log_loss": cal.log_loss,
    "spherical_loss": cal.spherical_loss,
    "classification_error": cal.classification_error,
    "confidence_loss": cal.confidence_loss,
    "dist_ce": cal.dist_ce,
    "ent_ce": cal.ent_ce,
    "rank_cs": cal.rank_cs,
    "jsd": cal.jsd,
    "kl": cal.kl,
    "wasserstein": cal.wasserstein,
    "top label": lambda *args, **options: cal.ece(*args, notion="confidence", **options),
    "smooth top label": lambda *args, **options: cal.smooth_ece(
        *args, notion="confidence", **options
    ),
    "quantiles": lambda *args, **options: cal.ece(*args, bins=cal.Quantile(7), **options),
    "level sets": lambda *args, **options: cal.ece(*args, bins="level-sets", **options),
}
CLASSES = {name: BINARY[name] for name in BINARY if "top label" not in name} | {
    "classwise_ce": cal.classwise_ce,
    "classwise": lambda *args, **options: cal.ece(*args, notion="classwise", **options),
    "classwise ks": lambda *args, **options: cal.ks_error(*args, notion="classwise", **options),
    "classwise ls": lambda *args, **options: cal.ls_ece(
        *args, sigma=0.2, notion="classwise", **options
    ),
    "classwise smooth": lambda *args, **options: cal.smooth_ece(
        *args, notion="classwise", **options
    ),
    "a property": lambda *args, **options: cal.lin_ce(*args, phi=[0.5, 3, 1], **options),
    "two properties": lambda *args, **options: cal.lin_ce(
        *args, phi=[[0, 1], [1, 1], [2, -1]], bins=6, **options
    ),
}


@pytest.mark.parametrize(
    ("name", "measure", "y"), pairs(product(("polars streaming", "duckdb"), BINARY, ("y", "s")))
)
def test_every_measure_of_a_binary_problem(name, measure, y):
    options = {"sample_weight": "w"} if y == "s" else {}
    found = BINARY[measure](y, "p", data=frame(name, COLUMNS), **options)
    assert found == pytest.approx(BINARY[measure](y, "p", data=EAGER, **options), rel=1e-9)


@pytest.mark.parametrize("y", ["label", "soft"])
@pytest.mark.parametrize("measure", CLASSES)
def test_every_measure_of_classes(measure, y):
    y, options = (SOFTS, {"sample_weight": "w"}) if y == "soft" else (y, {})
    found = CLASSES[measure](y, REPORTS, data=LAZY_FRAME, **options)
    assert found == pytest.approx(CLASSES[measure](y, REPORTS, data=EAGER, **options), rel=1e-9)


@pytest.mark.parametrize("measure", ["smooth top label", "top label", "ls_ece", "confidence_ce"])
def test_logits_of_a_binary_problem(measure):
    columns = {"y": Y, "h": np.append(RNG.normal(size=N - 3) * 5, [45.0, -60.0, 1e-17])}
    found = BINARY[measure]("y", "h", from_logits=True, data=pl.LazyFrame(columns))
    expected = BINARY[measure]("y", "h", from_logits=True, data=pl.DataFrame(columns))
    assert found == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(
    "bins", [cal.Quantile(10), cal.EqualWidth(10, "right"), cal.Edges([0, 0.2, 1]), cal.LevelSets()]
)
@pytest.mark.parametrize("names", [("y", "p"), ("label", REPORTS)])
def test_a_rule_is_used_for_all_measures(names, bins):
    found = cal.evaluate(*names, bins=bins, data=LAZY_FRAME)
    expected = cal.evaluate(*names, bins=bins, data=EAGER)
    for estimate in found.estimates:
        if "cells" not in estimate.rule:
            wanted = expected.estimate(estimate.name)
            # The grid of a stream is finer than LS-ECE's own by default.
            accuracy = 1e-7 if estimate.name == "ls_ece" else 1e-9
            assert estimate.value == pytest.approx(wanted.value, rel=accuracy, abs=1e-13)
            assert estimate.rule == wanted.rule
    assert found.recipe["bins"] == str(bins)
    table, wanted = found.reliability, expected.reliability
    np.testing.assert_allclose(table.table.sums, wanted.table.sums, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize(
    "names", [["classwise_ce"], ["ace"], ["ace", "tace", "lin_ce", "classwise_ce", "dist_ce"]]
)
def test_measures_that_take_more_passes_can_be_asked_for(names):
    found = cal.evaluate("label", REPORTS, measures=names, data=LAZY_FRAME)
    expected = cal.evaluate("label", REPORTS, measures=names, data=EAGER)
    assert found.values == pytest.approx(expected.values, rel=1e-9)
    assert found.columns()["bins"] == expected.columns()["bins"]


def test_quantile_edges_lie_between_the_bins():
    table = cal.reliability("y", "p", bins=cal.Quantile(6), data=LAZY_FRAME)
    columns = table.columns()
    for j, (lower, upper) in enumerate(zip(columns["lower"], columns["upper"], strict=True)):
        inside = (lower <= P) & ((upper > P) | (j == 5))
        assert inside.sum() == columns["n"][j] == N / 6


def test_the_result_says_where_and_how_it_was_summed():
    found = cal.evaluate("y", "p", data=LAZY_FRAME)
    assert found.inferred == (
        "binary probabilities",
        "summed in polars",
        "labels are hard (0 or 1)",
    )
    assert found.recipe["engine"] == "polars"
    rules = {estimate.name: estimate.rule for estimate in found.estimates}
    assert rules["lin_ce"] == "15 quantile bins, ties together"
    assert rules["ks_error"] == "exact level sets"


# --- types of columns ----------------------------------------------------------------------------


def test_numbers_of_any_type_are_read():
    duckdb = need("duckdb")
    rows = "(0.2, 0::hugeint, 1::utinyint), (0.7, 1, 2), (0.9, 1, 1), (0.4, 0, 1)"
    data = duckdb.connect().sql(f"select * from (values {rows}) t(p, y, w)")
    assert cal.ece("y", "p", data=data, bins=10) == pytest.approx(0.25, rel=1e-14)
    expected = cal.ece([0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4], sample_weight=[1, 2, 1, 1], bins=10)
    assert cal.ece("y", "p", sample_weight="w", data=data, bins=10) == pytest.approx(expected)
    flags = pl.LazyFrame({"y": [True, False, True], "p": [1, 0, 0]})
    assert cal.brier_score("y", "p", data=flags) == pytest.approx(1 / 3)


HALVES = {
    "polars": lambda columns: pl.LazyFrame(columns),
    "dask": lambda columns: need("dask.dataframe").from_pandas(
        need("pandas").DataFrame(columns), npartitions=2
    ),
}


@pytest.mark.parametrize("bins", [10, 15, 3000, cal.EqualWidth(10, "right"), cal.Quantile(10)])
@pytest.mark.parametrize("library", HALVES)
def test_predictions_in_half_precision_meet_edges_rounded_to_it(library, bins):
    p = P.astype(np.float16)
    p[:9] = np.arange(1, 10) / 10
    data = HALVES[library]({"y": Y, "p": p})
    notions = ["binary", "confidence"]
    if library == "dask" and bins != 10:  # which takes longer: each notion with some of the rules
        notions = ["confidence" if bins == 3000 or isinstance(bins, cal.Quantile) else "binary"]
    for notion in notions:
        found = cal.ece("y", "p", data=data, bins=bins, notion=notion)
        assert found == pytest.approx(cal.ece(Y, p, bins=bins, notion=notion), rel=1e-12)
        # They would be others among edges that are not rounded.
        if bins == 10:
            assert abs(found - cal.ece(Y, p.astype(float), bins=10, notion=notion)) > 1e-6


@pytest.mark.parametrize("library", HALVES)
def test_rows_in_half_precision_sum_to_1_as_well_as_they_can(library):
    rows, labels = ROWS.astype(np.float16), COLUMNS["label"]
    assert np.abs(rows.astype(float).sum(axis=1) - 1).max() > 1e-4
    data = HALVES[library]({"label": labels} | dict(zip(REPORTS, rows.T.copy(), strict=True)))
    found = cal.evaluate("label", REPORTS, data=data, measures=["ece", "brier"])
    expected = cal.evaluate(labels, rows, measures=["ece", "brier"])
    assert found.values == pytest.approx(expected.values, rel=1e-12)
    # So do soft labels, beside predictions of any precision.
    columns = dict(zip(SOFTS, rows.T.copy(), strict=True))
    data = HALVES[library]({name: COLUMNS[name] for name in REPORTS} | columns)
    found = cal.soft_ece(SOFTS, REPORTS, data=data)
    assert found == pytest.approx(cal.soft_ece(rows, ROWS), rel=1e-9)


@pytest.mark.parametrize("kind", [pl.String, pl.Categorical, pl.Enum(["cat", "dog", "eel"])])
def test_labels_of_words(kind):
    data = LAZY_FRAME.with_columns(pl.col("word").cast(kind))
    classes = ["cat", "dog", "eel"]
    found = cal.evaluate("word", REPORTS, classes=classes, data=data)
    expected = cal.evaluate("word", REPORTS, classes=classes, data=EAGER)
    assert found["brier"] == pytest.approx(expected["brier"], rel=1e-12)
    assert sorted(found.classes["class"]) == classes


@pytest.mark.parametrize(
    ("labels", "classes"),
    [([1, 2, 2], [1, 2]), ([-1.0, 1, 1], [-1, 1]), ([0, 1, 1], [False, True])],
)
def test_labels_of_numbers(labels, classes):
    data = pl.LazyFrame({"y": labels, "p": [0.25, 0.5, 1.0]})
    assert cal.brier_score("y", "p", classes=classes, data=data) == pytest.approx(0.3125 / 3)


LARGE = 2**53  # from here on doubles do not tell whole numbers apart
SPELLINGS = {
    "decimals and words": (["0", "1.0", "true", "1", "False"], [0, 1]),
    "spaces, zeros and exponents": ([" 0", "01", "1e0", "1 ", "0.0"], ["0", "1"]),
    "names that are numbers in words": (["1", "0.0", "0", "true", "1e0"], ["true", "false"]),
    "two names of one number": ([2, 1, 2, 2, 1], ["01", "1", "2"]),
    "large numbers": ([LARGE, LARGE + 1, LARGE + 1, LARGE, LARGE + 1], [LARGE, LARGE + 1]),
    "a large number that is none": ([LARGE, LARGE + 1] * 2 + [LARGE], [LARGE, LARGE + 2]),
    "a number that is none": (["0", "1.5", "1", "0", "1"], [0, 1]),
}


@every_lazy
@pytest.mark.parametrize("case", SPELLINGS)
def test_labels_are_read_as_those_of_arrays_are(name, case):
    labels, classes = SPELLINGS[case]
    k = len(classes)
    rows = RNG.dirichlet(np.ones(k), 5)
    data = frame(name, {"y": labels} | {f"p{r}": rows[:, r].copy() for r in range(k)})
    args = ("y", [f"p{r}" for r in range(k)])
    if "is none" in case:
        with pytest.raises(InputError, match="not in classes"):
            cal.brier_score(np.array(labels), rows, classes=classes)
        with pytest.raises(InputError, match="not in classes, such as"):
            cal.brier_score(*args, data=data, classes=classes)
        return
    expected = cal.brier_score(np.array(labels), rows, classes=classes)
    # Functions and streams have their labels from one place: each engine, and each case, has both.
    if (list(LAZY).index(name) + list(SPELLINGS).index(case)) % 2:
        found = cal.brier_score(*args, data=data, classes=classes)
    else:
        stream = cal.Accumulator(classes=classes, measures=["brier"]).update(*args, data=data)
        found = stream.evaluate()["brier"]
    assert found == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("make", [pl.DataFrame, pl.LazyFrame, need("pandas").DataFrame])
def test_what_to_do_with_a_list_in_each_row_is_said(make):
    data = make({"y": COLUMNS["label"].tolist(), "rows": ROWS.tolist()})
    with pytest.raises(InputError, match=r"a column for each class|a column of each entry"):
        cal.ece("y", "rows", data=data)


def test_columns_of_any_name():
    names = {"y": "select", "p": 'p of "it"', "w": "ok", "day": "u"}
    for name in ("duckdb", "dask", "ibis"):
        data = frame(name, {names[key]: COLUMNS[key] for key in names})
        found = cal.evaluate(
            "select", 'p of "it"', sample_weight="ok", by="u", measures=["ece"], data=data
        )
        assert found["ece"] == pytest.approx(cal.ece(Y, P, sample_weight=COLUMNS["w"]), rel=1e-12)


# --- slices --------------------------------------------------------------------------------------


SLICES = [("polars streaming", by) for by in ("day", "site")]
# Dates, words and gaps, all at once.
SLICES += [(name, ["site", "day"]) for name in LAZY if name != "spark"]


@pytest.mark.parametrize(("name", "by"), SLICES)
def test_slices_in_one_pass(name, by):
    options = {"by": by, "measures": ["ece", "brier", "mce"]}
    found = cal.evaluate("y", "p", data=frame(name, COLUMNS), **options).slices
    expected = cal.evaluate("y", "p", data=EAGER, **options).slices
    assert found.by == expected.by
    assert {part.name for part in found} == {part.name for part in expected}
    for part in expected:
        assert found[part.name].n == part.n
        assert found[part.name].values == pytest.approx(part.values, rel=1e-12)
        assert found[part.name].noise_95 == pytest.approx(part.noise_95, rel=0.1)
        assert found[part.name].p_value == pytest.approx(part.p_value, abs=0.07)


def test_slices_of_weights_and_soft_labels_have_no_noise_floor():
    for y, options in (("s", {}), ("y", {"sample_weight": "w"})):
        options["measures"] = ["ece"]
        slices_ = cal.evaluate(y, "p", by="day", data=LAZY_FRAME, **options).slices
        assert len(slices_) == 3
        assert np.isnan(slices_.worst.p_value)


def test_slices_without_weight_are_told():
    data = LAZY_FRAME.with_columns(w=pl.when(pl.col("site") == "a").then(0.0).otherwise(1.0))
    options = {"sample_weight": "w", "measures": ["ece"]}
    slices_ = cal.evaluate("y", "p", by="site", data=data, **options).slices
    assert len(slices_) == 2
    assert "a: " in slices_.notes[0] and "without positive weight" in slices_.notes[0]


# --- only sums leave the engine ------------------------------------------------------------------


@pytest.fixture
def collected_rows(monkeypatch):
    """The number of rows that each query brought here."""
    rows = []
    real = query.collected

    def counted(lazy):
        result = real(lazy)
        rows.append(len(result))
        return result

    monkeypatch.setattr(query, "collected", counted)
    return rows


def big(n):
    p = RNG.random(n)
    return pl.LazyFrame({"y": (RNG.random(n) < p).astype(np.int8), "p": p})


def test_bins_alone_leave_for_a_binned_error(collected_rows):
    cal.ece("y", "p", data=big(5000))
    assert collected_rows == [15]


def test_an_evaluation_is_one_query_and_one_look_for_all_quantile_rules(collected_rows):
    found = cal.evaluate("y", "p", data=big(60_000))
    # One for nearly everything, and a look for the bins of equal mass of two notions and of the
    # predictions above a threshold. The ends of groups tell that distinct predictions are many.
    first, look = collected_rows
    assert 10_000 < first < 50_000
    assert look < 1000
    assert "ks_error" not in found and "brier_uncertainty" in found
    assert any(
        "ks_error, " in n and "not computed, there are more than 32,768" in n for n in found.notes
    )


def test_a_stream_is_one_query(collected_rows):
    cal.Accumulator().update("y", "p", data=big(5000))
    assert len(collected_rows) == 1


def test_rows_are_read_for_what_is_asked_and_checked_once(collected_rows):
    """A pass over a large frame is dear: none for distances of soft labels that nobody asked for,
    and none to check rows that an earlier pass has checked.
    """
    cal.evaluate(SOFTS, REPORTS, measures=["ece", "brier"], data=LAZY_FRAME)
    assert len(collected_rows) == 1
    cal.evaluate(SOFTS, REPORTS, measures=["dist_ce"], data=LAZY_FRAME)
    assert len(collected_rows) == 1 + 2
    collected_rows.clear()
    cal.lin_ce("label", REPORTS, data=LAZY_FRAME)
    assert len(collected_rows) == 2  # beside that of vectors: cells, and edges of quantiles
    collected_rows.clear()
    cal.lin_ce("label", REPORTS, phi=[0, 1, 2], bins=cal.EqualWidth(3), data=LAZY_FRAME)
    assert len(collected_rows) == 1


@pytest.mark.parametrize("name", ["polars streaming", "duckdb"])
def test_vectors_that_a_rule_drops_have_weight_and_no_residual(name):
    rows = np.array([[1.0, 0.0], [0.0, 1.0], [0.7, 0.3], [0.2, 0.8], [1.0, 0.0]])
    columns = {"y": [0, 0, 1, 1, 1], "p0": rows[:, 0].tolist(), "p1": rows[:, 1].tolist()}
    rule = cal.EqualWidth(4, drop_one=True)
    found = cal.lin_ce("y", ["p0", "p1"], data=frame(name, columns), bins=rule)
    expected = cal.lin_ce(columns["y"], rows, bins=rule)
    assert found == pytest.approx(expected, rel=1e-12)
    assert found != pytest.approx(cal.lin_ce(columns["y"], rows, bins=4), rel=1e-3)


def test_rows_of_vectors_are_checked():
    """Of those that can be measured alone there may be none."""
    bad = pl.LazyFrame({"y": [0, 1], "p0": [0.5, 0.2], "p1": [0.4, 0.2]})
    for options in ({}, {"phi": [1, 2]}, {"bins": cal.EqualWidth(2)}):
        with pytest.raises(InputError, match=r"2 of 2 rows .* do not sum to 1"):
            cal.lin_ce("y", ["p0", "p1"], data=bad, **options)


@pytest.mark.parametrize("name", [name for name in FRAMES if name not in LAZY])
def test_eager_frames_need_no_query(name, collected_rows):
    cal.evaluate("y", "p", data=frame(name, COLUMNS))
    assert collected_rows == []


def test_the_widest_span_is_cut_before_it_is_sorted(monkeypatch):
    """Predictions crowded into one cell: a look cuts it into parts, the next one into
    predictions.
    """
    import calibrant._engines.refine as refine

    monkeypatch.setattr(refine, "FEW_ROWS", 500)
    p = 0.3 + RNG.random(5000) * 1e-5
    columns = {"y": RNG.integers(0, 2, 5000), "p": p}
    for name in ("polars streaming", "duckdb", "ibis"):
        found = cal.reliability("y", "p", bins=cal.Quantile(4), data=frame(name, columns)).table
        expected = cal.reliability("y", "p", bins=cal.Quantile(4), data=pl.DataFrame(columns)).table
        np.testing.assert_array_equal(found.n, expected.n)
        np.testing.assert_allclose(found.sums, expected.sums, rtol=1e-12)


def test_a_missing_package_is_named(monkeypatch):
    data = frame("duckdb", COLUMNS)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtra, match=r"from duckdb needs the package 'pyarrow'"):
        cal.ece("y", "p", data=data)


def test_the_steps_of_a_dask_frame_travel_to_other_processes():
    cloudpickle = need("cloudpickle")
    samples = to_source("y", "p", data=frame("dask", COLUMNS))
    asked = query.Query(samples, "binary").add_fields().add_cuts(Cuts(np.array([0.5])))
    packed = cloudpickle.dumps(asked.frame.steps)
    rows = partitions._apply_steps(nw.from_native(EAGER.to_pandas()), cloudpickle.loads(packed))
    np.testing.assert_array_equal(rows["u"].to_numpy(), P)


def test_groups_of_several_partitions_keep_their_ends():
    samples = to_source("y", "p", data=HALVES["dask"]({"y": Y, "p": P}))
    groups = query.Query(samples, "binary").add_fields().add_cuts(Cuts(np.array([0.5]))).run()
    order = np.argsort(groups["low"])
    parts = P[P < 0.5], P[P >= 0.5]
    np.testing.assert_array_equal(groups["low"][order], [part.min() for part in parts])
    np.testing.assert_array_equal(groups["high"][order], [part.max() for part in parts])


# --- states --------------------------------------------------------------------------------------


def test_states_of_frames_and_arrays_merge(tmp_path):
    half = N // 2
    first = cal.Accumulator(bins=10).update("y", "p", data=EAGER[:half].lazy())
    first.save(tmp_path / "frame")
    second = cal.Accumulator(bins=10).update(Y[half:], P[half:])
    merged = cal.Accumulator.load(tmp_path / "frame").merge(second).evaluate()
    whole = cal.Accumulator(bins=10).update(Y, P).evaluate()
    assert merged.values == pytest.approx(whole.values, rel=1e-10)


def test_a_refused_frame_leaves_the_state_as_it_was():
    stream = cal.Accumulator().update("y", "p", data=LAZY_FRAME)
    before = stream.packed()["cells"].copy()
    with pytest.raises(InputError, match="outside"):
        stream.update("y", "p", data=LAZY_FRAME.with_columns(p=pl.col("p") * 2))
    np.testing.assert_array_equal(stream.packed()["cells"], before)
    assert stream.n_rows == N


def test_one_row_can_be_looked_at():
    samples = to_source("label", REPORTS, "w", data=LAZY_FRAME)
    row = samples.row(4)
    np.testing.assert_array_equal(row.predictions, ROWS[4:5])
    assert row.targets == COLUMNS["label"][4]
    assert row.weights == COLUMNS["w"][4]


@pytest.mark.parametrize("argument", ["y_true", "y_proba", "sample_weight"])
@pytest.mark.parametrize("kind", ["polars", "pandas", "pyarrow"])
def test_an_empty_list_of_names_is_refused_of_an_eager_frame(argument, kind):
    frame = LAZY_FRAME.collect()
    data = {"polars": frame, "pandas": frame.to_pandas(), "pyarrow": frame.to_arrow()}[kind]
    names = {"y_true": "y", "y_proba": "p", argument: []}
    with pytest.raises(InputError, match=f"{argument} must name a column; it names none"):
        cal.ece(data=data, **names)
