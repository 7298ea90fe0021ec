"""What is wrong with a file is told with the file, the place, and what to do."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest
from file_makers import FORMATS, LABELS, OUTCOMES, REPORTS, ROWS, write

import calibrant as cal
from calibrant import InputError, UnknownOption
from needs import need

FIVE = ("parquet", "csv", "jsonl", "arrow", "npz")


def refused(path, match, **options):
    with pytest.raises(InputError, match=match) as caught:
        cal.evaluate_file(path, **options)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("format", FORMATS)
def test_a_missing_column_is_told_with_the_nearest(tmp_path, format):
    path = write(tmp_path, format, {"label": OUTCOMES, "confidence": REPORTS})
    for option in ("y_proba", "sample_weight", "by"):
        refused(
            path, rf"{option} names.*rows\.\w+ does.*mean 'confidence'", **{option: "confidnce"}
        )
    refused(path, "did you mean 'label'", y_true="lable")


@pytest.mark.parametrize("format", FIVE)
def test_columns_without_a_usual_name_are_listed(tmp_path, format):
    path = write(tmp_path, format, {"a": OUTCOMES, "b": REPORTS})
    refused(path, r"y_true is not given.*The columns are 'a', 'b'")
    refused(path, r"y_proba is not given.*\(y_proba, .*The columns are 'a', 'b'", y_true="a")


@pytest.mark.parametrize("format", FIVE[1:])
@pytest.mark.parametrize(("half", "other"), [("test", "val"), ("dev", "aux")])
def test_the_columns_of_one_half_are_proposed(tmp_path, format, half, other):
    columns = {f"{other}_p": REPORTS, f"{half}_y": OUTCOMES, f"{half}_p": REPORTS}
    path = write(tmp_path, format, {f"{other}_x": OUTCOMES, **columns})
    refused(path, rf"For the {half}_\.\.\. columns: y_true='{half}_y', y_proba='{half}_p'$")
    found = cal.evaluate_file(path, y_true=f"{half}_y", y_proba=f"{half}_p")
    assert found["brier"] == pytest.approx(np.mean((OUTCOMES - REPORTS) ** 2))


def test_the_half_with_logits_is_proposed_with_its_option(tmp_path):
    arrays = {
        f"{half}_{name}": values
        for half in ("val", "test")
        for name, values in (("logits", 4 * REPORTS), ("labels", OUTCOMES))
    }
    path = write(tmp_path, "npz", arrays)
    words = "y_true='test_labels', y_proba='test_logits', from_logits=True"
    refused(path, f"For the test_... columns: {words}$")


def test_several_usual_names_are_not_chosen_from(tmp_path):
    path = write(tmp_path, "npz", {"label": OUTCOMES, "target": OUTCOMES, "p": REPORTS})
    refused(path, "y_true could be the column 'label' or the column 'target'.*name one of them")
    path = write(
        tmp_path, "npz", {"y": LABELS, "confidence": REPORTS, "p0": REPORTS, "p1": REPORTS}
    )
    refused(path, "y_proba could be the column 'confidence' or the columns 'p0' to 'p1'")


def test_numbered_columns_need_every_number(tmp_path):
    path = write(tmp_path, "npz", {"y": LABELS, "p0": REPORTS, "p2": REPORTS})
    refused(path, "y_proba is not given")


def test_logits_are_never_taken_for_predictions(tmp_path):
    path = write(tmp_path, "npz", {"label": OUTCOMES, "logits": 4 * REPORTS})
    refused(path, r"If these are logits: y_proba='logits', from_logits=True")
    refused(path, "predictions must lie in", y_proba="logits")
    found = cal.evaluate_file(path, from_logits=True)
    assert found["ece"] == pytest.approx(cal.ece(OUTCOMES, 4 * REPORTS, from_logits=True))


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("row", [0, 617, REPORTS.size - 1])
def test_a_bad_prediction_is_told_with_its_place(tmp_path, format, row, set_limits):
    set_limits(chunk_rows=500)
    bad = REPORTS.copy()
    bad[row] = 85.0
    path = write(tmp_path, format, {"label": OUTCOMES, "p": bad})
    line = {"csv": f"line {row + 2}", "jsonl": f"line {row + 1}"}.get(format, f"row {row}")
    refused(path, rf"rows\.\w+, {line}: y_proba\[{row}\] is 85\.0.*divide by 100")
    negative = OUTCOMES.astype(np.int8)
    negative[row] = -1
    path = write(tmp_path, format, {"label": negative, "p": REPORTS})
    refused(path, rf"{line}: y_true\[{row}\] is -1")


@pytest.mark.parametrize("format", FIVE)
def test_the_first_of_several_bad_rows_is_told(tmp_path, format, set_limits):
    set_limits(chunk_rows=100)
    bad = REPORTS.copy()
    bad[[77, 550, 1200]] = -3
    path = write(tmp_path, format, {"label": OUTCOMES, "p": bad}, group=100)
    refused(path, r"y_proba\[77\] is -3")


@pytest.mark.parametrize("format", FORMATS)
def test_a_row_that_does_not_sum_to_one(tmp_path, format):
    rows = ROWS.copy()
    rows[600, 1] += 0.5
    path = write(tmp_path, format, {"label": LABELS, "probs": rows})
    refused(path, r"y_proba\[600\] sums to 1\.5")


@pytest.mark.parametrize("format", FORMATS)
def test_names_of_labels_need_classes(tmp_path, format):
    names = np.where(OUTCOMES > 0, "yes", "no").astype("U5")
    names[40] = "maybe"
    path = write(tmp_path, format, {"label": names, "p": REPORTS})
    refused(path, r"y_true is '(yes|no)', a name: name the class.*classes=\[negative, positive\]")
    said = refused(path, "y_true is 'maybe', which is not in classes", classes=["no", "yes"])
    assert {"csv": "line 42", "jsonl": "line 41"}.get(format, "row 40") in said
    refused(path, "classes must name every class once", classes=["no", "yes", "maybe"])


@pytest.mark.parametrize("format", FORMATS)
def test_predictions_and_weights_that_are_text(tmp_path, format):
    text = np.array([f"v{i}" for i in range(OUTCOMES.size)])
    path = write(tmp_path, format, {"label": OUTCOMES, "p": REPORTS, "text": text})
    place = {"csv": "line 2", "jsonl": "line 1"}.get(format, "row 0")
    match = "'text' holds" if "npz" in format else f"{place}: text is 'v0', which is not a number"
    refused(path, match, y_proba="text")
    refused(path, match, sample_weight="text")


def test_files_that_do_not_fit_together(tmp_path):
    write(tmp_path, "npz", {"label": LABELS, "probs": ROWS}, name="a")
    three = ROWS[:, :3] / ROWS[:, :3].sum(axis=1, keepdims=True)
    write(tmp_path, "npz", {"label": LABELS % 3, "probs": three}, name="b")
    refused(tmp_path, r"y_proba has 4 columns in .*a\.npz, 3 in .*b\.npz")
    write(tmp_path, "npz", {"label": LABELS, "prob": ROWS}, name="b")
    refused(tmp_path, r"'probs', which .*b\.npz does not have: did you mean 'prob'")


def test_weights_that_are_all_zero(tmp_path):
    path = write(tmp_path, "npz", {"label": OUTCOMES, "p": REPORTS, "w": OUTCOMES * 0})
    refused(path, "sample_weight is 0 in every row", sample_weight="w")


def test_swapped_columns_are_noticed(tmp_path):
    path = write(tmp_path, "parquet", {"label": OUTCOMES, "p": REPORTS})
    refused(path, "columns seem to be swapped. y_true is 'p'", y_true="p", y_proba="label")


def test_shapes_that_do_not_fit(tmp_path):
    path = write(tmp_path, "npz", {"label": ROWS, "p": REPORTS, "x": ROWS, "z": REPORTS})
    refused(path, r"rows\.npz: y_true has the shape \(\d+, 4\) while y_proba is \(n,\)")
    refused(path, "holds lists: name it alone", y_true="z", y_proba=["x", "p"])
    refused(path, "one column is one class, but", y_true="z", y_proba=["p"])


def test_arguments_that_are_no_columns(tmp_path):
    path = write(tmp_path, "npz", {"label": OUTCOMES, "p": REPORTS})
    refused(path, "y_true must be a column's name", y_true=OUTCOMES)
    refused(path, "names the column 'p' twice", y_proba=["p", "p"])
    refused(path, "empty list", y_proba=[])
    refused(path, "one column", sample_weight=["p"])
    refused(path, "missing='skip' is not known", missing="skip")
    refused(path, "from_logits must be True or False", from_logits="yes")
    with pytest.raises(UnknownOption, match="did you mean 'y_proba'"):
        cal.evaluate_file(path, y_prob="p")


@pytest.mark.parametrize("format", FIVE)
def test_an_error_leaves_no_thread_behind(tmp_path, format, set_limits):
    set_limits(chunk_rows=100)
    bad = REPORTS.copy()
    bad[10] = 2
    path = write(tmp_path, format, {"label": OUTCOMES, "p": bad}, group=100)
    before = set(threading.enumerate())
    with pytest.raises(InputError) as held:  # with it, every frame that it came through
        cal.evaluate_file(path)
    until = time.monotonic() + 20
    while set(threading.enumerate()) - before and time.monotonic() < until:
        time.sleep(0.01)
    assert set(threading.enumerate()) - before == set() and held.value


class TestDamage:
    @pytest.mark.parametrize("format", ["parquet", "arrow", "feather", "npz", "packed-npz"])
    def test_something_else_under_a_wrong_name(self, tmp_path, format):
        path = write(tmp_path, format, {"label": OUTCOMES, "p": REPORTS})
        path.write_bytes(b"label,p\n1,0.5\n" * 100)
        refused(path, r"rows\.\w+ cannot be read as \w+")

    @pytest.mark.parametrize("format", [*FORMATS[3:], "parquet"])
    def test_files_cut_short(self, tmp_path, format):
        path = write(tmp_path, format, {"label": OUTCOMES, "p": REPORTS})
        whole = path.read_bytes()
        path.write_bytes(whole[: len(whole) * 3 // 5])
        refused(path, r"rows\.\w+ (cannot be read|ends too early)")

    def test_a_page_overwritten(self, tmp_path):
        path = write(tmp_path, "parquet", {"label": OUTCOMES, "p": REPORTS}, group=5000)
        whole = bytearray(path.read_bytes())
        whole[2000:2600] = b"\xff" * 600
        path.write_bytes(bytes(whole))
        with pytest.raises(InputError):
            cal.evaluate_file(path, exact=False)

    def test_an_archive_with_python_objects_is_not_loaded(self, tmp_path):
        labels = np.array(["yes", None], dtype=object)
        path = write(tmp_path, "npz", {"label": labels, "p": REPORTS[:2]})
        refused(path, "Python objects, which are never loaded", classes=["no", "yes"])

    def test_arrays_of_different_lengths(self, tmp_path):
        path = write(tmp_path, "npz", {"label": OUTCOMES, "p": REPORTS[:-1]})
        refused(path, r"same number of rows; 'label' has 1250, 'p' has 1249")

    def test_arrays_of_odd_shapes(self, tmp_path):
        path = write(tmp_path, "npz", {"label": OUTCOMES, "p": np.float64(0.5)})
        refused(path, r"'p' has the shape \(\)")
        path = write(tmp_path, "npz", {"label": OUTCOMES, "p": REPORTS.reshape(-1, 1, 1)})
        refused(path, r"'p' has the shape \(1250, 1, 1\)")

    def test_lists_of_several_lengths(self, tmp_path):
        pa, pq = need("pyarrow"), need("pyarrow.parquet")
        rows = [*[[0.5, 0.5]] * 6, None, [0.2, 0.3, 0.5]]
        table = pa.table({"label": [0, 1] * 4, "probs": rows})
        pq.write_table(table, tmp_path / "rows.parquet")
        need("pyarrow.feather").write_feather(table, tmp_path / "rows.arrow")
        for name in ("rows.parquet", "rows.arrow"):
            said = f"{name}, row 7: the list of the column 'probs' has 3 numbers, but others have 2"
            refused(tmp_path / name, said)

    def test_lists_of_nothing(self, tmp_path):
        pa, pq = need("pyarrow"), need("pyarrow.parquet")
        table = pa.table({"label": [0, 1], "probs": pa.array([[], []], pa.list_(pa.float64()))})
        pq.write_table(table, tmp_path / "rows.parquet")
        refused(tmp_path / "rows.parquet", r"y_proba has the shape \(2, 0\) and thus no columns")

    def test_times_are_no_numbers(self, tmp_path):
        pa, pq = need("pyarrow"), need("pyarrow.parquet")
        when = pa.array([0, 1], pa.timestamp("s"))
        pq.write_table(pa.table({"label": [0, 1], "p": when}), tmp_path / "rows.parquet")
        refused(tmp_path / "rows.parquet", r"the column 'p' holds timestamp")
