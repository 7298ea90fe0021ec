"""Which files are meant: paths, folders and patterns, in an order that stays."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from file_makers import OUTCOMES, REPORTS, write

import calibrant as cal
from calibrant import InputError
from calibrant._data.readers.recognise import find_files


def names(found):
    return [file.path.name for file in found]


def put(folder, *paths):
    for path in paths:
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(b"x")


def test_a_folder_gives_its_files_in_order_and_no_others(tmp_path):
    put(
        tmp_path, "b.csv", "a.csv", "day=2/part-1.csv", "day=10/part-0.csv", "README.md", "log.json"
    )
    put(tmp_path, "_SUCCESS", ".a.csv.crc", "_metadata/x.csv", ".hidden/y.csv")
    found = find_files(tmp_path)
    assert [file.path.relative_to(tmp_path).as_posix() for file in found] == [
        "a.csv",
        "b.csv",
        "day=10/part-0.csv",
        "day=2/part-1.csv",
    ]
    assert {file.format for file in found} == {"csv"}


def test_a_pattern_and_a_list(tmp_path):
    put(tmp_path, "day-2.jsonl", "day-1.jsonl", "other.jsonl")
    assert names(find_files(str(tmp_path / "day-*.jsonl"))) == ["day-1.jsonl", "day-2.jsonl"]
    assert names(find_files([tmp_path / "other.jsonl", str(tmp_path / "day-*")])) == [
        "other.jsonl",
        "day-1.jsonl",
        "day-2.jsonl",
    ]
    with pytest.raises(InputError, match="named twice"):
        find_files([tmp_path / "day-1.jsonl", str(tmp_path / "day-*")])
    with pytest.raises(InputError, match="no file matches"):
        find_files(str(tmp_path / "night-*"))
    with pytest.raises(InputError, match="empty list"):
        find_files([])
    with pytest.raises(InputError, match="path must be a file"):
        find_files(3)


def test_a_name_with_signs_of_a_pattern_is_a_name_first(tmp_path):
    put(tmp_path, "run[1].csv", "run1.csv")
    assert names(find_files(tmp_path / "run[1].csv")) == ["run[1].csv"]


@pytest.mark.parametrize(
    ("name", "format"),
    [("a.PARQUET", "parquet"), ("a.pq", "parquet"), ("a.tsv", "csv"), ("a.ndjson", "jsonl"),
     ("a.json", "jsonl"), ("a.feather", "arrow"), ("a.ipc", "arrow"), ("a.v2.npz", "npz"),
     ("a.csv.gz", "csv"), ("a.jsonl.zst", "jsonl")],
)  # fmt: skip
def test_formats_by_name(tmp_path, name, format):
    put(tmp_path, name)
    assert [file.format for file in find_files(tmp_path / name)] == [format]


def test_a_name_that_does_not_say_needs_a_format(tmp_path):
    put(tmp_path, "part-0", "part-1", "rows.dat")
    with pytest.raises(InputError, match=r"ends in \.dat.*format="):
        find_files(tmp_path / "rows.dat")
    assert find_files(tmp_path / "rows.dat", "csv")[0].format == "csv"
    assert names(find_files(tmp_path, "csv")) == ["part-0", "part-1"]
    with pytest.raises(InputError, match="did you mean 'parquet'"):
        find_files(tmp_path, "parquett")


def test_several_formats_in_one_folder_are_told_apart_by_the_caller(tmp_path):
    put(tmp_path, "a.csv", "b.csv", "c.parquet")
    with pytest.raises(InputError, match=r"several formats \(2 csv, 1 parquet\): choose one"):
        find_files(tmp_path)
    assert names(find_files(tmp_path, "parquet")) == ["c.parquet"]
    with pytest.raises(InputError, match="has no npz files"):
        find_files(tmp_path, "npz")
    assert names(find_files([tmp_path / "a.csv", tmp_path / "c.parquet"])) == ["a.csv", "c.parquet"]


def test_what_is_not_there_is_told_with_the_nearest_name(tmp_path):
    put(tmp_path, "predictions.parquet")
    with pytest.raises(InputError, match=r"did you mean 'predictions\.parquet'"):
        find_files(tmp_path / "prediction.parquet")
    with pytest.raises(InputError, match="there is no folder"):
        find_files(tmp_path / "nowhere" / "a.csv")
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="has no files that can be read"):
        find_files(tmp_path / "empty")
    (tmp_path / "link.csv").symlink_to(tmp_path / "gone.csv")
    with pytest.raises(InputError, match="broken link"):
        find_files(tmp_path / "link.csv")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes on this system")
def test_a_pipe_is_no_file(tmp_path):
    os.mkfifo(tmp_path / "pipe.csv")
    with pytest.raises(InputError, match=r"not an ordinary file.* Write them to a file first"):
        find_files(tmp_path / "pipe.csv")
    with pytest.raises(InputError, match=r"standard input cannot be read.* Write them to a file"):
        find_files("-")


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="whoever runs this may read all")
def test_a_file_that_may_not_be_read(tmp_path):
    put(tmp_path, "secret.csv")
    (tmp_path / "secret.csv").chmod(0)
    with pytest.raises(InputError, match=r"secret\.csv cannot be read: Permission denied"):
        find_files(tmp_path / "secret.csv")


def test_the_home_folder_has_a_sign(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    put(tmp_path, "a.csv")
    assert find_files("~/a.csv")[0].path == Path(tmp_path / "a.csv")


@pytest.mark.parametrize("format", ["parquet", "csv", "jsonl", "arrow", "npz"])
def test_files_together_are_their_rows_together(tmp_path, format):
    for name, part in (("b", slice(1000, None)), ("a", slice(0, 1000))):
        write(tmp_path, format, {"label": OUTCOMES[part], "p": REPORTS[part]}, name=name)
    whole = cal.evaluate(OUTCOMES, REPORTS, measures=["ece", "lin_ce", "brier"])
    for path in (
        tmp_path,
        str(tmp_path / "*"),
        [tmp_path / f"a.{format}", tmp_path / f"b.{format}"],
    ):
        found = cal.evaluate_file(path, measures=["ece", "lin_ce", "brier"])
        assert found.values == pytest.approx(whole.values, rel=1e-12)
        assert found.recipe["files"] == 2 and found.recipe["n"] == REPORTS.size


@pytest.mark.parametrize("format", ["parquet", "csv", "jsonl", "arrow", "npz"])
def test_empty_files_among_others_are_fine_and_alone_are_not(tmp_path, format):
    nothing = {"label": OUTCOMES[:0], "p": REPORTS[:0]}
    write(tmp_path, format, nothing, name="a")
    with pytest.raises(InputError, match="no rows: there is nothing to measure"):
        cal.evaluate_file(tmp_path)
    write(tmp_path, format, {"label": OUTCOMES, "p": REPORTS}, name="b")
    write(tmp_path, format, nothing, name="c")
    found = cal.evaluate_file(tmp_path, measures=["ece", "lin_ce"])
    assert found["ece"] == pytest.approx(cal.ece(OUTCOMES, REPORTS), rel=1e-12)


@pytest.mark.parametrize("format", ["csv", "jsonl"])
def test_files_of_no_bytes_are_empty(tmp_path, format):
    (tmp_path / f"a.{format}").touch()
    with pytest.raises(InputError, match="no rows"):
        cal.evaluate_file(tmp_path / f"a.{format}")
    write(tmp_path, format, {"label": OUTCOMES, "p": REPORTS}, name="b")
    found = cal.evaluate_file(tmp_path)
    assert found["ece"] == pytest.approx(cal.ece(OUTCOMES, REPORTS), rel=1e-12)
    assert "1 of 2 files hold no rows" in found.notes


@pytest.mark.parametrize("format", ["parquet", "arrow", "npz"])
def test_files_of_no_bytes_were_not_written_where_a_format_needs_some(tmp_path, format):
    write(tmp_path, format, {"label": OUTCOMES, "p": REPORTS}, name="b")
    (tmp_path / f"a.{format}").touch()
    with pytest.raises(InputError, match=rf"a\.{format} is empty \(0 bytes\)"):
        cal.evaluate_file(tmp_path)


def test_empty_row_groups_are_fine(tmp_path):
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    table = pa.table({"label": OUTCOMES, "p": REPORTS})
    with pq.ParquetWriter(tmp_path / "rows.parquet", table.schema) as writer:
        for part in (table[:0], table[:1000], table[:0], table[1000:], table[:0]):
            writer.write_table(part)
    found = cal.evaluate_file(tmp_path / "rows.parquet")
    assert found["lin_ce"] == pytest.approx(cal.evaluate(OUTCOMES, REPORTS)["lin_ce"], rel=1e-12)
    assert found.recipe["n"] == np.size(OUTCOMES)
