"""Odd numbers and odd names in files and frames: the right number, or an InputError."""

import json
from datetime import UTC, datetime, timedelta, timezone

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import calibrant as cal
from calibrant import InputError
from cli.command import main

HUGE = "1" * 5000  # more digits than Python makes a number of


def lines(path, *texts):
    path.write_text("".join(f"{text}\n" for text in texts))
    return path


def ece(*arguments, **options):
    return cal.evaluate(*arguments, measures=["ece"], **options)["ece"]


@pytest.mark.parametrize("digits", [30, 400, 5000])
@pytest.mark.parametrize("field", ["label", "p", "w", "probs", "text"])
def test_whole_numbers_of_many_digits_in_json(tmp_path, digits, field):
    number = "1" * digits
    rows = {
        "label": '{"label": %s, "p": 0.5, "w": 1}',
        "p": '{"label": 1, "p": %s, "w": 1}',
        "w": '{"label": 1, "p": 0.5, "w": %s}',
        "probs": '{"label": 1, "probs": [0.5, %s], "w": 1}',
        "text": '{"label": 1, "p": "%s", "w": 1}',
    }
    sound = '{"label": 1, "p": 0.5, "probs": [0.5, 0.5], "w": 1}'
    path = lines(tmp_path / "rows.jsonl", sound, rows[field] % number)
    proba = "probs" if field == "probs" else "p"
    with pytest.raises(InputError, match="line 2"):
        cal.evaluate_file(path, y_proba=proba, sample_weight="w")


def test_a_huge_number_that_nobody_asks_for_is_passed_over(tmp_path):
    rows = ('{"label": 1, "p": 0.5, "x": HUGE}'.replace("HUGE", HUGE), '{"label": 0, "p": 0.4}')
    path = lines(tmp_path / "rows.jsonl", *rows)
    assert cal.evaluate_file(path, measures=["ece"])["ece"] == pytest.approx(0.45)


NAMES = ["*", "^p$", "", "a.b", 'a"b', "a`b", "a\nb", "[x]", "by0"]
FRAMES = {
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
    "pyarrow": pa.table,
    "lazy": pl.LazyFrame,
    "duckdb": lambda columns: duckdb.from_arrow(pa.table(columns)),
}


@pytest.mark.parametrize("library", FRAMES)
@pytest.mark.parametrize("name", NAMES)
def test_columns_of_odd_names(library, name):
    """'*' and '^p$' are patterns to some engines: other columns than those that were meant."""
    frame = FRAMES[library]({"label": [1, 0], name: [0.5, 0.4], "p": [0.9, 0.1], "q": [0.5, 0.6]})
    calls = {
        "predictions": lambda: ece("label", name, data=frame),
        "rows": lambda: ece("label", [name, "q"], data=frame),
        "weights": lambda: ece("label", "p", sample_weight=name, data=frame),
        "slices": lambda: len(
            list(cal.evaluate("label", "p", data=frame, measures=["ece"], by=name).slices)
        ),
    }
    # Rows and weights by turns: every library has names in both, and every name is in both.
    del calls[("rows", "weights")[(NAMES.index(name) + list(FRAMES).index(library)) % 2]]
    right = {"predictions": 0.45, "rows": 0.55, "weights": 0.1, "slices": 2}
    for what, call in calls.items():
        if library in ("lazy", "duckdb") and name in ("*", "^p$", ""):
            with pytest.raises(InputError, match=r"rename it first|does not have"):
                call()
        else:
            assert call() == pytest.approx(right[what]), what


@pytest.mark.parametrize("format", ["csv", "jsonl", "parquet"])
@pytest.mark.parametrize("name", NAMES)
def test_columns_of_odd_names_in_files(tmp_path, format, name):
    frame = pl.DataFrame({"label": [1, 0], name: [0.5, 0.4], "p": [0.9, 0.1]})
    path = tmp_path / f"rows.{format}"
    if format == "jsonl":
        lines(path, *(json.dumps(row) for row in frame.to_dicts()))
    else:
        getattr(frame, f"write_{format}")(path)
    assert cal.evaluate_file(path, y_proba=name, measures=["ece"])["ece"] == pytest.approx(0.45)


def test_a_model_whose_column_is_called_star(tmp_path, capsys):
    path = tmp_path / "rows.csv"
    path.write_text("label,*,p\n" + "1,0.5,0.9\n0,0.4,0.1\n" * 20)
    only = ("--measures", "brier", "--json")
    assert main(["compare", str(path), "--models", "a=*", "b=p", *only]) == 0
    found = json.loads(capsys.readouterr().out)["values"]["brier"]
    assert found == pytest.approx([0.205, 0.01])


LISTS = {"label": [1, 0, 1], "probs": [[0.5, 0.5], [0.1, 0.9], [0.2, 0.8]]}


@pytest.mark.parametrize("library", FRAMES)
@pytest.mark.parametrize("missing", ["error", "drop"])
@pytest.mark.parametrize("second", [[0.1, 0.9], None, [0.1], [None, 0.9]])
def test_columns_of_lists_are_refused(library, missing, second):
    probs = [LISTS["probs"][0], second, LISTS["probs"][2]]
    frame = FRAMES[library]({"label": LISTS["label"], "probs": probs, "p": [0.1, 0.2, 0.3]})
    for y_true, y_proba in (("label", "probs"), ("probs", "p")):
        with pytest.raises(InputError, match=r"must be numbers|missing value|equal length"):
            ece(y_true, y_proba, data=frame, missing=missing)


def test_records_of_a_frame_in_memory_are_refused():
    """Their fields have names, which a label would have to be held against."""
    frame = pl.DataFrame({"label": [1, 0], "probs": [{"1": 0.5, "0": 0.5}, {"1": 0.1, "0": 0.9}]})
    with pytest.raises(InputError, match="y_proba holds records"):
        ece("label", "probs", data=frame)


EAST, WEST = timezone(timedelta(hours=5)), timezone(-timedelta(hours=5))


@pytest.mark.parametrize(
    "time",
    [
        10**30,
        -(10**30),
        10**400,
        [10**30, 1],
        np.array([10**30, 1], dtype=object),
        pd.Series([10**30, 1]),
        1e300,
        2**63,
        float("inf"),
        datetime.max.replace(tzinfo=WEST),
        datetime.min.replace(tzinfo=EAST),
    ],
    ids=lambda value: str(value)[:20],
)
def test_times_beyond_all_years(time):
    with pytest.raises(InputError, match=r"time(\[0\])? is .*must lie in the years 1 to 9999"):
        cal.Monitor(every="1d").update([1, 0], [0.5, 0.4], time=time)


def test_edges_of_windows_beyond_all_years():
    monitor = cal.Monitor(every="1d").update(
        [1, 0], [0.5, 0.4], time=datetime(2026, 1, 1, tzinfo=UTC)
    )
    with pytest.raises(InputError, match="must lie in the years 1 to 9999"):
        monitor.between(10**30, None)
