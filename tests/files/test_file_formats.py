"""Whatever the format and the kind of rows, files have the numbers of the same arrays."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest
from file_makers import FORMATS, KINDS, LABELS, NAMES, OUTCOMES, REPORTS, RIGHT, ROWS, write

import calibrant as cal
from calibrant import InputError, read_file
from forks import answer
from needs import need

# A stream's grids have a spacing of their own.
ON_GRIDS = ("ls_ece", "smooth_ece")
# One measure of every pass over the rows.
PASSES = ("ece", "lin_ce", "brier")


@pytest.fixture(autouse=True)
def _small_chunks(set_limits):
    """Many chunks and pieces, so that they must be put together."""
    set_limits(chunk_rows=450, parquet_piece_rows=500, npz_piece_rows=1000, csv_blocks=(1 << 13,))


def same_numbers(found, expected):
    """Exactly those of the arrays, name by name, and by the same rules."""
    assert set(found.values) == set(expected.values)
    for name, value in found.values.items():
        assert value == pytest.approx(expected[name], rel=1e-12, abs=1e-15), name
        assert found.estimate(name).rule == expected.estimate(name).rule
    np.testing.assert_array_equal(
        found.reliability.columns()["n"], expected.reliability.columns()["n"]
    )


@cache
def evaluated_arrays(kind, measures):
    _, (y_true, y_proba, *weights), options = KINDS[kind]
    weight = weights[0] if weights else None
    return cal.evaluate(y_true, y_proba, sample_weight=weight, measures=measures, **options)


def measures_of(format, kind):
    """All, once for each format and each kind, and in half of the formats where classes have
    names; otherwise one of every pass that there is: what is read does not depend on the measure.
    """
    nth = list(KINDS).index(kind) - list(FORMATS).index(format)
    if nth % len(FORMATS) == 0 or (kind in ("class names", "titles") and nth % 2 == 0):
        return None
    return PASSES + ("classwise_ece",) * (np.ndim(KINDS[kind][1][1]) == 2)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("format", FORMATS)
def test_files_have_the_numbers_of_arrays(tmp_path, format, kind):
    columns, arrays, options = KINDS[kind]
    path = write(tmp_path, format, columns)
    weight = "w" if "w" in columns else None
    measures = measures_of(format, kind)
    found = cal.evaluate_file(path, sample_weight=weight, measures=measures, **options)
    expected = evaluated_arrays(kind, measures)
    y_proba = arrays[1]
    same_numbers(found, expected)
    assert found.recipe["n"] == expected.recipe["n"] == len(y_proba)
    assert found.inferred[:2] == expected.inferred[:2]
    assert any("by its name" in line for line in found.inferred)
    if np.ndim(y_proba) == 2 and measures is None:
        titles = options.get("classes")
        assert set(found.classes["class"]) >= set(titles or ())
        assert sorted(found.classes["ece"]) == pytest.approx(sorted(expected.classes["ece"]))


@pytest.mark.parametrize("format", ["parquet", "csv", "jsonl", "stream", "npz", "packed-npz"])
def test_threads_do_not_change_a_bit(tmp_path, format, monkeypatch):
    paths = [
        write(tmp_path, format, {"label": OUTCOMES[part], "p": REPORTS[part]}, name=name)
        for name, part in (("a", slice(0, 850)), ("b", slice(850, None)))
    ]
    found = []
    for threads in ("1", "5"):
        monkeypatch.setenv("CALIBRANT_THREADS", threads)
        found.append(cal.evaluate_file(paths, measures=PASSES).values)
    assert found[0] == found[1]


@pytest.mark.parametrize("bins", [[0, 0.2, 0.5, 1], cal.EqualWidth(10, "right"), cal.Edges([0, 1])])
def test_a_rule_is_used_for_every_measure(tmp_path, bins):
    path = write(tmp_path, "npz", {"label": OUTCOMES, "p": np.round(REPORTS, 1)})
    found = cal.evaluate_file(path, bins=bins)
    expected = cal.evaluate(OUTCOMES, np.round(REPORTS, 1), bins=bins)
    same_numbers(found, expected)
    assert found.estimate("lin_ce").rule == expected.estimate("lin_ce").rule
    assert found.recipe["truthful_bins"] == expected.recipe["truthful_bins"]


def test_single_precision_meets_edges_as_arrays_do(tmp_path):
    on_edges = (np.arange(16) / 15).astype(np.float32)
    p = np.concatenate([on_edges, np.nextafter(on_edges, np.float32(0)), REPORTS]).clip(0, 1)
    p = p.astype(np.float32)
    y = (np.arange(p.size) % 3 == 0).astype(np.int8)
    for format in ("parquet", "arrow", "npz"):
        path = write(tmp_path, format, {"label": y, "p": p})
        same_numbers(cal.evaluate_file(path), cal.evaluate(y, p))


@pytest.mark.parametrize("other", [np.float32, np.float16, np.int64])
def test_predictions_of_several_precisions_are_doubles(tmp_path, other):
    low, high = np.round(REPORTS).astype(other), REPORTS
    write(tmp_path, "parquet", {"label": OUTCOMES, "p": low}, name="a")
    write(tmp_path, "parquet", {"label": OUTCOMES, "p": high}, name="b")
    found = cal.evaluate_file(tmp_path)
    both = np.concatenate([low.astype(np.float64), high])
    same_numbers(found, cal.evaluate(np.tile(OUTCOMES, 2), both))


def test_half_precision_is_tolerated_as_in_arrays(tmp_path):
    rows = ROWS.astype(np.float16)
    path = write(tmp_path, "npz", {"label": LABELS, "probs": rows})
    expected = cal.evaluate(LABELS, rows, measures=["ece", "brier"])
    assert cal.evaluate_file(path, measures=["ece", "brier"]).values == pytest.approx(
        expected.values, rel=1e-12
    )


@pytest.mark.parametrize("format", ["npz", "packed-npz"])
def test_arrays_of_any_order_of_bytes_and_columns(tmp_path, format):
    columns = {
        "label": LABELS.astype(">i4"),
        "probs": np.asfortranarray(ROWS.astype(">f8")),
    }
    path = write(tmp_path, format, columns)
    found = cal.evaluate_file(path, measures=["ece", "brier"])
    expected = cal.evaluate(LABELS, ROWS, measures=["ece", "brier"])
    assert found.values == pytest.approx(expected.values, rel=1e-12)


def arrow_file(tmp_path, columns, *, parquet=True):
    pa = need("pyarrow")
    table = pa.table(columns)
    path = tmp_path / ("rows.parquet" if parquet else "rows.arrow")
    if parquet:
        need("pyarrow.parquet").write_table(table, path, row_group_size=300)
        return path
    with pa.ipc.new_file(path, table.schema) as writer:
        writer.write_table(table, max_chunksize=300)
    return path


@pytest.mark.parametrize("parquet", [True, False])
class TestColumnsOfArrow:
    def test_fields_of_structs_by_their_paths(self, tmp_path, parquet):
        pa = need("pyarrow")
        inner = pa.StructArray.from_arrays(
            [pa.array(REPORTS), pa.array(["text"] * REPORTS.size)], ["confidence", "answer"]
        )
        path = arrow_file(tmp_path, {"correct": OUTCOMES > 0, "response": inner}, parquet=parquet)
        found = cal.evaluate_file(path, y_proba="response.confidence")
        same_numbers(found, cal.evaluate(RIGHT, REPORTS))
        with pytest.raises(InputError, match=r"did you mean 'response\.confidence'"):
            cal.evaluate_file(path, y_proba="response.confidnce")

    def test_names_that_are_numbered_already(self, tmp_path, parquet):
        pa = need("pyarrow")
        labels = pa.array(np.array(NAMES)[LABELS]).dictionary_encode()
        path = arrow_file(tmp_path, {"label": labels, "probs": list(ROWS)}, parquet=parquet)
        found = cal.evaluate_file(path, classes=NAMES, measures=["ece"])
        assert found["ece"] == pytest.approx(cal.ece(LABELS, ROWS), rel=1e-12)

    def test_decimals_and_lists_of_a_fixed_length(self, tmp_path, parquet):
        pa = need("pyarrow")
        decimals = pa.array(np.round(REPORTS, 3)).cast(pa.decimal128(12, 3))
        path = arrow_file(tmp_path, {"y": OUTCOMES, "p": decimals}, parquet=parquet)
        rounded = np.round(REPORTS, 3)
        assert cal.evaluate_file(path, measures=["ece"])["ece"] == pytest.approx(
            cal.ece(OUTCOMES, rounded)
        )
        rows = pa.FixedSizeListArray.from_arrays(pa.array(ROWS.ravel()), 4)
        path = arrow_file(tmp_path, {"y": LABELS, "probs": rows}, parquet=parquet)
        assert cal.evaluate_file(path, measures=["ece"])["ece"] == pytest.approx(
            cal.ece(LABELS, ROWS)
        )

    def test_gaps_of_every_kind_are_counted(self, tmp_path, parquet):
        pa = need("pyarrow")
        rows = [None if i == 3 else list(row) for i, row in enumerate(ROWS)]
        rows[7][2] = None
        labels = [None if i in (3, 11) else int(label) for i, label in enumerate(LABELS)]
        weights = [math.nan if i == 20 else None if i == 21 else 1.5 for i in range(len(rows))]
        path = arrow_file(
            tmp_path, {"label": labels, "probs": pa.array(rows), "w": weights}, parquet=parquet
        )
        found = cal.evaluate_file(path, sample_weight="w", missing="drop")
        gone = [3, 7, 11, 20, 21]
        kept = np.delete(np.arange(len(rows)), gone)
        expected = cal.evaluate(LABELS[kept], ROWS[kept], sample_weight=np.full(kept.size, 1.5))
        assert found["ece"] == pytest.approx(expected["ece"], rel=1e-12)
        assert found.recipe["n_missing"] == 5 and found.recipe["n"] == kept.size
        assert any("5 rows were dropped" in note for note in found.notes)
        with pytest.raises(
            InputError, match=r"rows\.\w+, row 3: y_proba is missing, here and in 1"
        ):
            cal.evaluate_file(path, sample_weight="w")


@pytest.mark.parametrize("format", FORMATS)
def test_all_rows_as_arrays(tmp_path, format):
    columns, (labels, rows), options = KINDS["class names"]
    path = write(tmp_path, format, columns | {"w": np.arange(labels.size)})
    held = read_file(path, sample_weight="w", **options)
    np.testing.assert_array_equal(np.array(NAMES)[held.y_true], labels)
    np.testing.assert_array_equal(held.y_proba, rows)
    np.testing.assert_array_equal(held.sample_weight, np.arange(labels.size))
    assert held.class_names == tuple(NAMES) and held.n_missing == 0
    assert "label" in held.inferred[0]


def test_columns_named_by_their_classes(tmp_path):
    named = {f"proba_{name}": ROWS[:, j] for j, name in enumerate(NAMES)}
    path = write(tmp_path, "csv", {"label": np.array(NAMES)[LABELS], **named})
    found = cal.evaluate_file(path, measures=["ece"])
    assert found["ece"] == pytest.approx(cal.ece(LABELS, ROWS), rel=1e-12)
    assert any("'cat', 'dog'" in line for line in found.inferred)
    told = cal.evaluate_file(path, classes=NAMES[::-1])
    assert told["ece"] == pytest.approx(cal.ece(3 - LABELS, ROWS[:, ::-1]), rel=1e-12)
    assert told.recipe["columns"]["y_proba"] == [f"proba_{name}" for name in NAMES[::-1]]
    with pytest.raises(InputError, match="but the columns are 'proba_cat'"):
        cal.evaluate_file(path, classes=["cat", "dog", "eel", "wolf"])


def test_classes_that_look_like_numbers_are_names_in_a_csv(tmp_path):
    path = write(tmp_path, "csv", {"label": LABELS % 2, "p0": ROWS[:, 0], "p1": 1 - ROWS[:, 0]})
    both = np.column_stack([ROWS[:, 0], 1 - ROWS[:, 0]])
    found = cal.evaluate_file(path, classes=["1", "0"], measures=["ece"])
    assert found["ece"] == pytest.approx(cal.ece(1 - LABELS % 2, both), rel=1e-12)


def test_measures_are_chosen_and_unknown_ones_refused(tmp_path):
    path = write(tmp_path, "npz", {"label": OUTCOMES, "p": REPORTS})
    found = cal.evaluate_file(path, measures=["lin_ce", "ece"])
    assert found.values == pytest.approx(
        cal.evaluate(OUTCOMES, REPORTS, measures=["lin_ce", "ece"]).values, rel=1e-12
    )
    quick = cal.evaluate_file(path, measures=["lin_ce"], exact=False)
    assert "cells" in quick.estimate("lin_ce").rule and quick.recipe["exact"] is False
    with pytest.raises(InputError, match="did you mean 'lin_ce'"):
        cal.evaluate_file(path, measures=["lin_c"])
    with pytest.raises(InputError, match="'tace' takes more than one pass"):
        cal.evaluate_file(path, measures=["tace"], exact=False)
    with pytest.raises(InputError, match="fixed in advance"):
        cal.evaluate_file(path, bins=cal.Quantile(10))


def test_without_pyarrow_npz_jsonl_and_csv_are_read_and_others_say_what_to_install(tmp_path):
    for format in ("npz", "jsonl", "parquet", "csv", "arrow"):
        write(tmp_path, format, {"label": OUTCOMES, "p": REPORTS}, name=format)
    program = """
import sys
assert "pyarrow" not in sys.modules
sys.modules["pyarrow"] = None
import calibrant as cal
read = ("npz.npz", "jsonl.jsonl", "csv.csv")
found = [cal.evaluate_file(arguments[0] / name) for name in read]
refused = []
for name in ("parquet.parquet", "arrow.arrow"):
    try:
        cal.evaluate_file(arguments[0] / name)
    except cal.MissingExtra as error:
        refused.append(str(error))
say(([each["ece"] for each in found], refused))
"""
    values, refused = answer(program, tmp_path)
    assert values == pytest.approx([cal.ece(OUTCOMES, REPORTS)] * 3)
    assert len(refused) == 2
    assert all("(the extra 'cli')" in line for line in refused)
