"""Excel, Stata, SAS and R: the same rows give the same numbers, and odd files their sentence."""

from __future__ import annotations

import json

import numpy as np
import pytest

import calibrant as cal
from cli.command import main
from needs import need

pd = need("pandas")
need("pyarrow")


def frame(n: int = 200):
    rng = np.random.default_rng(0)
    p = rng.random(n)
    site = np.where(np.arange(n) % 2, "a", "b")
    return pd.DataFrame({"label": (rng.random(n) < p).astype(int), "p": p, "site": site})


def written(folder, kind: str):
    """The frame in a file of a kind."""
    path = folder / {"excel": "f.xlsx", "stata": "f.dta", "r": "f.rds", "rda": "f.rda"}[kind]
    if kind == "excel":
        need("openpyxl")
        frame().to_excel(path, index=False, sheet_name="risks")
    elif kind == "stata":
        frame().to_stata(path, write_index=False)
    elif kind == "r":
        need("pyreadr").write_rds(str(path), frame())
    else:
        need("pyreadr").write_rdata(str(path), frame(), df_name="risks")
    return path


@pytest.mark.parametrize("kind", ["excel", "stata", "r", "rda"])
def test_the_same_rows_give_the_same_numbers(tmp_path, kind: str) -> None:
    rows = frame()
    found = cal.evaluate_file(written(tmp_path, kind), by="site")
    expected = cal.evaluate(rows.label, rows.p)
    for name in ("ece", "brier", "auroc"):
        assert found[name] == pytest.approx(expected[name], rel=1e-12)
    assert {each.name for each in found.slices} == {"a", "b"}
    if kind in ("excel", "rda"):  # what was chosen is said
        assert any("risks" in line for line in found.inferred)


def test_a_sas_transport_file(tmp_path) -> None:
    """Two columns of doubles, written by hand: IBM's numbers, in lines of 80 bytes."""
    path = tmp_path / "f.xpt"
    path.write_bytes(transport([[0, 1, 1, 0], [0.25, 0.75, 0.5, 0.125]], ["LABEL", "P"]))
    found = cal.evaluate_file(path, y_true="LABEL", y_proba="P")
    assert found["brier"] == pytest.approx(np.mean([0.25**2, 0.25**2, 0.5**2, 0.125**2]))
    assert "labels are hard (0 or 1)" in found.inferred


def test_zeros_of_a_sas_transport_file_are_zero(tmp_path) -> None:
    path = tmp_path / "f.xpt"
    columns = [[0, 1, 1, 0], [0.0, 1.0, 0.5, 0.0], [0, 2, 1, 3], [0, 0, 7, 7]]
    path.write_bytes(transport(columns, ["LABEL", "P", "W", "SITE"]))
    read = cal.read_file(path, sample_weight="W", columns="SITE")
    assert read.y_true.tolist() == columns[0] and read.y_proba.tolist() == columns[1]
    assert read.sample_weight is not None and read.sample_weight.tolist() == columns[2]
    assert read.columns["SITE"].tolist() == columns[3]


def transport(columns: list[list[float]], names: list[str]) -> bytes:
    def line(text: str) -> bytes:
        return text.ljust(80).encode()

    def ibm(value: float) -> bytes:
        if value == 0:
            return bytes(8)
        exponent = 0
        while value >= 1:
            value, exponent = value / 16, exponent + 1
        while value < 1 / 16:
            value, exponent = value * 16, exponent - 1
        return bytes([64 + exponent]) + int(value * 2**56).to_bytes(7, "big")

    def described(name: str, place: int) -> bytes:
        head = (1).to_bytes(2, "big") + bytes(2) + (8).to_bytes(2, "big")
        head += (place + 1).to_bytes(2, "big") + name.ljust(8).encode() + b" " * 40 + b" " * 8
        head += bytes(6) + bytes(2) + b" " * 8 + bytes(4) + (8 * place).to_bytes(4, "big")
        return head.ljust(140, b"\0")

    when = "01JAN26:00:00:00"
    out = line("HEADER RECORD*******LIBRARY HEADER RECORD!!!!!!!" + "0" * 30)
    out += line("SAS     SAS     SASLIB  9.4     linux   " + " " * 24 + when) + line(when)
    out += line("HEADER RECORD*******MEMBER  HEADER RECORD!!!!!!!" + "0" * 17 + "1600000000140")
    out += line("HEADER RECORD*******DSCRPTR HEADER RECORD!!!!!!!" + "0" * 30)
    out += line("SAS     F       SASDATA 9.4     linux   " + " " * 24 + when) + line(when)
    count = f"{len(names):04d}"
    out += line(f"HEADER RECORD*******NAMESTR HEADER RECORD!!!!!!!000000{count}" + "0" * 20)
    body = b"".join(described(name, j) for j, name in enumerate(names))
    out += body.ljust(-(-len(body) // 80) * 80)
    out += line("HEADER RECORD*******OBS     HEADER RECORD!!!!!!!" + "0" * 30)
    rows = b"".join(ibm(v) for row in zip(*columns, strict=True) for v in row)
    return out + rows.ljust(-(-len(rows) // 80) * 80)


def test_what_cannot_be_read_says_so(tmp_path) -> None:
    for name, words in (("a.dta", "as Stata"), ("a.sas7bdat", "as SAS")):
        (tmp_path / name).write_bytes(b"no such thing at all" * 40)
        with pytest.raises(cal.InputError, match=f"cannot be read {words}: .*CSV or Parquet"):
            cal.evaluate_file(tmp_path / name)
    for name, words in (("a.sav", "read_sav"), ("a.xls", "xlsx"), ("a.pkl", "to_parquet")):
        (tmp_path / name).write_bytes(b"x")
        with pytest.raises(cal.InputError, match=f"a format that cannot be read. .*{words}"):
            cal.evaluate_file(tmp_path / name)


def test_two_frames_in_one_file_are_not_guessed(tmp_path, monkeypatch) -> None:
    need("pyreadr")
    import pyreadr

    path = written(tmp_path, "rda")
    monkeypatch.setattr(pyreadr, "read_r", lambda path: {"a": frame(), "b": frame()})
    with pytest.raises(cal.InputError, match=r"one data frame; it holds 2 \(a, b\)"):
        cal.evaluate_file(path)


def test_a_missing_package_is_named(tmp_path, monkeypatch) -> None:
    import sys

    path = written(tmp_path, "stata")
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(cal.MissingExtra, match=r"the extra 'formats'"):
        cal.evaluate_file(path)


ANSWERS = pd.DataFrame(
    {
        "label": pd.Categorical(["no", "yes", "yes", "yes", "no", "no"], categories=["yes", "no"]),
        "p": [0.2, 0.7, 0.6, 0.9, 0.1, 0.4],
        "site": pd.Categorical(["north", "south"] * 3),
        "id": pd.Categorical(list("fedcba"), categories=list("badcfe")),
    }
)


def stata(folder, table, **options):
    path = folder / "f.dta"
    table.to_stata(path, write_index=False, **options)
    return path


def test_value_labels_of_stata_are_names(tmp_path) -> None:
    path = stata(tmp_path, ANSWERS)
    found = cal.evaluate_file(path, classes=["no", "yes"], by="site", measures=["brier"])
    expected = cal.brier_score((ANSWERS.label == "yes").astype(int), ANSWERS.p)
    assert found["brier"] == pytest.approx(expected)
    assert {each.name for each in found.slices} == {"north", "south"}
    assert any("value labels are read for 'label', 'site', 'id'" in line for line in found.inferred)
    read = cal.read_file(path, classes=["no", "yes"], columns="id")
    assert read.columns["id"].tolist() == list("fedcba")
    with pytest.raises(cal.InputError, match=r"row 0: y_true is 'no', a name: name the class"):
        cal.evaluate_file(path)


@pytest.mark.parametrize("kind", ["csv", "dta"])
def test_rows_are_matched_by_value_labels(tmp_path, capsys, kind) -> None:
    path, other = stata(tmp_path, ANSWERS), tmp_path / f"g.{kind}"
    turned = ANSWERS.iloc[::-1].assign(id=pd.Categorical(list("abcdef")))
    if kind == "csv":
        turned.to_csv(other, index=False)
    else:
        turned.to_stata(other, write_index=False)
    rows = ["compare", str(path), str(other), "--classes", "no,yes", "--id", "id"]
    assert main([*rows, "--measures", "brier", "--json"]) == 0
    (difference,) = json.loads(capsys.readouterr().out)["differences"]["brier"]
    assert difference["low"] == difference["high"] == 0


@pytest.mark.parametrize("kind", ["parquet", "xlsx", "dta", "jsonl"])
@pytest.mark.parametrize("of", [int, float, str])
def test_ids_are_one_as_numbers_and_as_text(tmp_path, capsys, kind, of) -> None:
    path, other = tmp_path / f"f.{kind}", tmp_path / "g.csv"
    table = ANSWERS[["p"]].assign(label=[0, 1, 1, 1, 0, 0], id=[9, 8, 7, 6, 5, 4])
    table.iloc[::-1].to_csv(other, index=False)
    table["id"] = table["id"].astype(of)
    if kind == "xlsx":
        need("openpyxl")
        table.to_excel(path, index=False)
    elif kind == "dta":
        table.to_stata(path, write_index=False)
    elif kind == "jsonl":
        table.to_json(path, orient="records", lines=True)
    else:
        table.to_parquet(path)
    rows = ["compare", str(path), str(other), "--id", "id", "--measures", "brier", "--json"]
    assert main(rows) == 0
    (difference,) = json.loads(capsys.readouterr().out)["differences"]["brier"]
    assert difference["low"] == difference["high"] == 0


@pytest.mark.filterwarnings("ignore:(?s).*Stata value labels")
@pytest.mark.parametrize("labels", [[0, 1], [False, True], ["0", "1"]])
def test_value_labels_that_are_numbers(tmp_path, labels) -> None:
    y = [1, 0, 1, 1, 0, 0]
    table = pd.DataFrame(
        {
            "label": pd.Categorical([labels[each] for each in y], categories=labels[::-1]),
            "p": pd.Categorical([0.7, 0.2, 0.7, 0.9, 0.2, 0.9]),
            "w": pd.Categorical([2, 1, 1, 2, 1, 4], categories=[4, 2, 1]),
        }
    )
    path = stata(tmp_path, table)
    read = cal.read_file(path, sample_weight="w", y_proba="p")
    assert read.y_true.tolist() == y and read.y_proba.tolist() == table.p.tolist()
    assert read.sample_weight is not None and read.sample_weight.tolist() == table.w.tolist()
    assert cal.read_file(path, classes=["0", "1"]).y_true.tolist() == y


def test_columns_with_labels_for_some_values(tmp_path) -> None:
    """Labels often stand for a few special numbers; no row is lost by them."""
    table = pd.DataFrame({
        "label": [0, 1, 1, 0], "p": [0.0, 0.75, 0.5, 0.125], "w": [1, 2, 3, 4],
        "site": [1, 2, 9, 9], "grade": [1.0, np.nan, 2.0, 2.5], "bare": [1, 2, 3, 4],
    })  # fmt: skip
    names = {
        "label": {1: "event"},
        "p": {0: "none"},
        "w": {4: "four or more"},
        "site": {1: "north", 2: "north", 5: "south"},
        "grade": {1: "a"},
        "bare": {9: "x"},
    }
    path = stata(tmp_path, table, value_labels=names)
    options = {"sample_weight": "w", "classes": [0, "event"]}
    read = cal.read_file(path, columns=["site", "grade", "bare"], **options)
    assert read.y_true.tolist() == [0, 1, 1, 0] and read.y_proba.tolist() == table.p.tolist()
    assert read.sample_weight is not None and read.sample_weight.tolist() == [1, 2, 3, 4]
    assert read.columns["site"].tolist() == ["north", "north", "9", "9"]
    assert read.columns["grade"].tolist() == ["a", None, "2", "2.5"]
    assert read.columns["bare"].tolist() == [1, 2, 3, 4]


def test_words_of_value_labels(tmp_path) -> None:
    table = pd.DataFrame({"label": [0, 1], "p": pd.Categorical(["unlikely", "likely"])})
    path = stata(tmp_path, table)
    words = {"likely": 0.7, "unlikely": 0.2}
    assert cal.read_file(path, words=words).y_proba.tolist() == [0.2, 0.7]
    with pytest.raises(cal.InputError, match=r"row 0: p is 'unlikely', .*words="):
        cal.read_file(path)


def sheet(folder, rows):
    openpyxl = need("openpyxl")
    book = openpyxl.Workbook()
    for number, row in enumerate(rows, 1):
        for place, value in enumerate(row, 1):
            book.active.cell(number, place).value = value
    path = folder / "f.xlsx"
    book.save(path)
    return path


def test_text_of_a_sheet_is_text(tmp_path) -> None:
    """As in a CSV: ids keep their zeros, and NA is a class where it is one."""
    rows = [["label", "p", "id"], ["NA", 0.2, "1"], ["None", 0.7, "01"], ["NA", 0.1, "null"],
            ["None", 0.9, "nan"], ["None", 0.6, None]]  # fmt: skip
    path = sheet(tmp_path, rows)
    other = tmp_path / "f.csv"
    other.write_text("\n".join(",".join("" if c is None else str(c) for c in r) for r in rows))
    for file in (path, other):
        read = cal.read_file(file, classes=["NA", "None"], columns="id")
        assert read.y_true.tolist() == [0, 1, 0, 1, 1]
        assert read.columns["id"].tolist() == ["1", "01", "null", "nan", None]
        with pytest.raises(cal.InputError, match=r"y_true is missing, here and in 1 more"):
            cal.read_file(file, classes=["no", "None"])
    found = cal.evaluate_file(path, classes=["NA", "None"], by="id", measures=["brier"])
    assert {each.name for each in found.slices} == {"1", "01", "null", "nan", "(missing)"}


def test_numbers_written_as_text_in_a_sheet(tmp_path) -> None:
    rows = [["label", "p", "w"], ["1", " 0.7", 2], ["0", "0.2", "1"], [True, 0.5, "3"],
            ["0", "NA", 1], ["NA", 0.5, 1]]  # fmt: skip
    read = cal.read_file(sheet(tmp_path, rows), sample_weight="w", missing="drop")
    assert read.y_true.tolist() == [1, 0, 1] and read.y_proba.tolist() == [0.7, 0.2, 0.5]
    assert read.sample_weight is not None and read.sample_weight.tolist() == [2, 1, 3]
    assert read.n_missing == 2


def test_two_columns_of_one_name_in_a_sheet(tmp_path) -> None:
    path = sheet(tmp_path, [["label", "p", "p"], [1, 0.7, 0.1], [0, 0.2, 0.9]])
    with pytest.raises(cal.InputError, match=r"two columns 'p'|could be .*'p' or .*'p'"):
        cal.evaluate_file(path)
    with pytest.raises(cal.InputError, match="has two columns 'p'"):
        cal.evaluate_file(path, y_proba="p")


@pytest.mark.parametrize("before", [0, 2])
@pytest.mark.parametrize(
    ("row", "words"),
    [([1, "85%"], "p is '85%', which is not a number. Percentages.*percent=True"),
     ([1, "likely"], "p is 'likely', .*words="), ([1, None], "y_proba is missing"),
     ([1, 1.7], "1.7"), ([None, 0.5], "y_true is missing"), ([None, None], "is missing")],
)  # fmt: skip
def test_rows_of_a_sheet_have_the_numbers_beside_them(tmp_path, before, row, words) -> None:
    rows = [[None]] * before + [["label", "p"], [1, 0.5], [0, 0.4], row, [1, 0.9]]
    with pytest.raises(cal.InputError, match=rf"f\.xlsx, row {before + 4}: .*{words}"):
        cal.evaluate_file(sheet(tmp_path, rows))


def test_an_empty_sheet(tmp_path) -> None:
    for rows in ([], [["label", "p"]]):
        with pytest.raises(cal.InputError, match="no rows: there is nothing to measure"):
            cal.evaluate_file(sheet(tmp_path, rows))


def test_a_factor_of_numbers(tmp_path) -> None:
    table = pd.DataFrame(
        {
            "label": pd.Categorical(["0", "1", "1"], categories=["1", "unknown", "0"]),
            "p": [0.2, 0.7, 0.9],
        }
    )
    path = tmp_path / "f.rds"
    need("pyreadr").write_rds(str(path), table)
    assert cal.read_file(path).y_true.tolist() == [0, 1, 1]


@pytest.mark.parametrize("kind", ["xlsx", "csv"])
@pytest.mark.parametrize("rows", [12, 5000])
def test_a_row_of_totals_is_the_one_that_is_named(tmp_path, kind, rows) -> None:
    """One text makes text of a whole column: its row is wrong, and not the first one."""
    if kind == "xlsx":
        need("openpyxl")
    rng = np.random.default_rng(0)
    p = rng.random(rows).round(3)
    label = [*(rng.random(rows) < p).astype(int).tolist(), "Total"]
    frame = need("pandas").DataFrame({"label": label, "p": [*p.tolist(), 0.5]})
    file = tmp_path / f"rows.{kind}"
    frame.to_excel(file, index=False) if kind == "xlsx" else frame.to_csv(file, index=False)
    place = rf"{'row' if kind == 'xlsx' else 'line'} {rows + 2}"
    said = rf"{place}: y_true is 'Total', a name, but [\d,]+ labels .* such as a total"
    with pytest.raises(cal.InputError, match=said):
        cal.evaluate_file(file)
    with pytest.raises(cal.InputError, match=place):
        cal.read_file(file, missing="drop")
