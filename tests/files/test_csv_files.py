"""CSV as people have it: quotes, marks, odd line ends, odd separators; faults with their line."""

from __future__ import annotations

import gzip
from contextlib import nullcontext

import numpy as np
import pytest
from file_makers import OUTCOMES, REPORTS, write

import calibrant as cal
from calibrant import InputError
from every_engine import engine
from needs import need

need("pyarrow")


@pytest.fixture(params=["pyarrow", "standard library"], autouse=True)
def parser(request, monkeypatch):
    """Every test here reads with PyArrow, and as if it were not installed."""
    if request.param == "standard library":
        monkeypatch.setattr("calibrant._data.readers.source.find_spec", lambda _: None)
        monkeypatch.setattr("calibrant._data.readers.csv.CsvReader._batch", None)
    return request.param


@pytest.fixture
def file(tmp_path):
    return tmp_path / "rows.csv"


def ece_of(file, text, **options):
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return cal.evaluate_file(file, bins=10, **options, measures=["ece"])["ece"]


EXPECTED = cal.ece([0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4], bins=10)


@pytest.mark.parametrize(
    "text",
    ["label,p\n0,0.2\n1,0.7\n1,0.9\n0,0.4\n",
     "label,p\n0,0.2\n1,0.7\n1,0.9\n0,0.4",
     "label,p\r\n0,0.2\r\n1,0.7\r\n1,0.9\r\n0,0.4\r\n",
     "label,p\n0,0.2\r\n\n1,0.7\n\r\n1,0.9\r\n0,0.4\n",
     "label,p\r0,0.2\r1,0.7\r1,0.9\r0,0.4\r",
     "\ufefflabel,p\n0,0.2\n1,0.7\n1,0.9\n0,0.4\n",
     '"label","p"\n"0","0.2"\n1,0.7\n1,.9\n0,4e-1\n',
     'label,text,p\n0,"a\nb",0.2\n1,"say ""hi"", he said",0.7\n1,,0.9\n0,"é",0.4\n',
     "label;p\n0;0.2\n1;0.7\n1;0.9\n0;0.4\n",
     "label\tp\n0\t0.2\n1\t0.7\n1\t0.9\n0\t0.4\n",
     "LABEL,P\nfalse,0.2\nTrue,0.7\nTRUE,0.9\n0,0.4\n",
     "label,p\n0, 0.2\n1, 0.7 \n1,0.9\n0,0.4\n"],
    ids=["plain", "no end", "crlf", "mixed", "cr", "bom", "quoted", "texts", "semicolons", "tabs",
         "truth values", "spaces"],
)  # fmt: skip
def test_csv_in_every_dress(file, text):
    assert ece_of(file, text) == EXPECTED


def test_an_odd_separator_is_told(file):
    ece_of(file, "label;p\n0;0.2\n1;0.7\n")
    assert "columns are separated by ';'" in cal.evaluate_file(file).inferred


def test_tabs_by_the_name_of_the_file(tmp_path):
    path = tmp_path / "rows.tsv"
    path.write_text("label\tp, of rain\n0\t0.2\n1\t0.7\n")
    found = cal.evaluate_file(path, y_proba="p, of rain", bins=10)
    assert found["ece"] == cal.ece([0, 1], [0.2, 0.7], bins=10)


@pytest.mark.parametrize("word", ["", "NA", "nan", "null", "N/A", " ", "   ", "\t", " NA ", '" "'])
def test_gaps_are_counted(file, word):
    text = f"label,p\n0,0.2\n1,{word}\n1,0.7\n{word},0.3\n1,0.9\n0,0.4\n"
    assert ece_of(file, text, missing="drop") == EXPECTED
    assert cal.evaluate_file(file, missing="drop").recipe["n_missing"] == 2
    with pytest.raises(InputError, match=r"rows\.csv, line 3: y_proba is missing"):
        cal.evaluate_file(file)


def test_labels_that_turn_soft_late(file, set_limits):
    set_limits(csv_blocks=(1 << 10,))
    y, p = OUTCOMES.astype(float), REPORTS
    y[-1] = 0.25
    write(file.parent, "csv", {"label": y, "p": p})
    assert cal.evaluate_file(file, measures=["ece"])["ece"] == pytest.approx(
        cal.ece(y, p), rel=1e-12
    )


def lines_of(*, at, bad, n=2000):
    rows = [f"{i % 2},{(i % 97) / 97},text {i}" for i in range(n)]
    rows[at] = bad
    return "label,p,text\n" + "\n".join(rows) + "\n"


@pytest.mark.parametrize("at", [0, 1555])
@pytest.mark.parametrize(
    ("bad", "said"),
    [
        ("1,abc,x", "p is 'abc', which is not a number"),
        ("1,85%,x", "p is '85%', which is not a number. Percentages"),
        ('1,"0,5",x', "p is '0,5', which is not a number. Decimals need a point"),
        ("maybe,0.5,x", "label is 'maybe', which is not a number|y_true is 'maybe', a name"),
        ("1," + " " * 99 + ",x", "p is ' +...', which is not a number"),
        ("1,0.5", "has 2 columns, but the first line names 3"),
        ("1,0.5,x,y", "has 4 columns, but the first line names 3"),
        ("1,1.5,x", r"y_proba\[\d+\] is 1\.5"),
        ("7,0.5,x", r"y_true\[\d+\] is 7"),
    ],
)
def test_faults_are_told_with_their_line(file, set_limits, at, bad, said):
    set_limits(csv_blocks=(1 << 12,))
    file.write_text(lines_of(at=at, bad=bad))
    with pytest.raises(InputError, match=rf"rows\.csv, line {at + 2}:? ({said})"):
        cal.evaluate_file(file)


def test_lines_within_quotes_and_empty_lines_are_counted(file):
    file.write_text('label,text,p\n0,"three\nlines\nhere",0.2\n\n1,x,0.7\n1,x,zero\n')
    with pytest.raises(InputError, match=r"line 7: p is 'zero'"):
        cal.evaluate_file(file)
    file.write_text('label,text,p\n0,"three\nlines\nhere",0.2\n\n1,x,0.7\n1,x,9\n')
    with pytest.raises(InputError, match=r"line 7: y_proba\[2\] is 9"):
        cal.evaluate_file(file)


@pytest.mark.parametrize("rows_after", [3, 30_000])
def test_a_quote_that_is_never_closed_is_told(file, rows_after):
    """In the last column nothing else is amiss: Arrow takes all lines after it for one text."""
    rest = "".join(f"{i % 2},0.{i % 9 + 1},fine\n" for i in range(rows_after))
    file.write_text('label,p,text\n0,0.25,x\n1,0.75,"never closed\n' + rest)
    with pytest.raises(InputError, match=r"rows\.csv, line 3 opens a quote that is never closed"):
        cal.evaluate_file(file)
    file.write_text('label,p,text\n0,0.25,x\n1,0.75,"closed\n' + "a, b, c\n" * rows_after + '"\n')
    assert cal.evaluate_file(file).recipe["n"] == 2


@pytest.mark.parametrize(
    "end",
    [
        '1,0.75,"a text\n0,0.5,that looks like a row"\n',
        '1,0.75,"a text\nof lines"',
        '1,0.75,5" screen\n',
        "1,0.75,\n\n",
        '1,0.750,"z"\r\n',
        "1,,x\n",
    ],
)
def test_ends_that_are_sound(file, end):
    file.write_text(f"label,p,text\n0,0.25,x\n{end}", newline="")
    n = 2 if "1,," not in end else 1
    assert cal.evaluate_file(file, missing="drop").recipe["n"] == n


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be"])
def test_wide_characters_are_told(file, encoding):
    mark = b"" if encoding == "utf-16" else b"\xfe\xff"
    file.write_bytes(mark + "label,p\n0,0.2\n".encode(encoding))
    with pytest.raises(InputError, match="is UTF-16 text: save it as UTF-8"):
        cal.evaluate_file(file)


def test_other_encodings_are_told_where_they_matter(file):
    file.write_bytes("label,p,who\n0,0.2,Zoë\n1,0.7,Zoë\n".encode("latin-1"))
    assert cal.evaluate_file(file).recipe["n"] == 2  # nobody asks for names
    with pytest.raises(InputError, match=r"line 2 is not UTF-8 text \(byte 0xeb\)"):
        cal.evaluate_file(file, by="who")
    file.write_bytes("label,p,größe\n0,0.2,1\n".encode("latin-1"))
    with pytest.raises(InputError, match=r"line 1 is not UTF-8 text"):
        cal.evaluate_file(file)


def test_a_file_without_names(file):
    file.write_text("0,0.2\n1,0.7\n")
    with pytest.raises(InputError, match="line 1 holds numbers, but the first line must name"):
        cal.evaluate_file(file)


def test_two_columns_of_one_name(file):
    file.write_text("label,p,p\n0,0.2,0.3\n1,0.7,0.6\n")
    with pytest.raises(InputError, match=r"two columns 'p'|could be"):
        cal.evaluate_file(file)
    with pytest.raises(InputError, match="two columns 'p'"):
        cal.evaluate_file(file, y_proba="p")


def test_bytes_that_are_no_text(file):
    file.write_bytes(bytes(range(256)) * 8)
    with pytest.raises(InputError, match=r"rows\.csv"):
        cal.evaluate_file(file)


def test_rows_longer_than_a_block(file, set_limits):
    set_limits(csv_blocks=(1 << 12, 1 << 15))
    long = {700: "x" * 6000, 1100: "y\n" * 5000}
    rows = zip(OUTCOMES, REPORTS, strict=True)
    lines = [f'{y},{p},"{long.get(i, "short")}"' for i, (y, p) in enumerate(rows)]
    file.write_text("\n".join(["label,p,text", *lines]))
    expected = cal.evaluate(OUTCOMES, REPORTS, measures=["ece", "lin_ce"])
    found = cal.evaluate_file(file, measures=["ece", "lin_ce"])
    assert found.values == pytest.approx(expected.values, rel=1e-12)
    assert found.recipe["n"] == OUTCOMES.size
    set_limits(csv_blocks=(1 << 12,))
    with pytest.raises(InputError, match=r"rows\.csv cannot be read as CSV: a row has more than"):
        cal.evaluate_file(file)


def test_truth_values_in_several_blocks(file, set_limits):
    set_limits(csv_blocks=(1 << 12,))
    lines = [f"{'true' if y else 'false'},{p}" for y, p in zip(OUTCOMES, REPORTS, strict=True)]
    file.write_text("\n".join(["correct,confidence", *lines]))
    assert cal.evaluate_file(file, measures=["ece"]).recipe["n"] == OUTCOMES.size
    file.write_text("\n".join(["correct,confidence", *lines[:900], "perhaps,0.5", *lines]))
    with pytest.raises(InputError, match="line 902: correct is 'perhaps', but the first"):
        cal.evaluate_file(file, measures=["ece"])


@pytest.mark.parametrize("pack", ["gz", "bz2", "zst"])
def test_packed_files(tmp_path, pack):
    path = write(tmp_path, "csv", {"label": OUTCOMES, "p": REPORTS})
    text = path.read_bytes()
    name = {"gz": "gzip", "bz2": "bz2", "zst": "zstd"}[pack]
    with need("pyarrow").output_stream(tmp_path / f"packed.csv.{pack}", compression=name) as out:
        out.write(text)
    found = cal.evaluate_file(tmp_path / f"packed.csv.{pack}", measures=["ece", "lin_ce"])
    expected = cal.evaluate(OUTCOMES, REPORTS, measures=["ece", "lin_ce"])
    assert found.values == pytest.approx(expected.values, rel=1e-12)
    (tmp_path / "short.csv.gz").write_bytes(gzip.compress(text)[:5000])
    with pytest.raises(InputError, match=r"short\.csv\.gz (cannot be read|ends too early)"):
        cal.evaluate_file(tmp_path / "short.csv.gz")
    for at in range(20, 600, 60):  # damaged, wherever it is noticed
        packed = bytearray(gzip.compress(text))
        packed[at] ^= 0xFF
        (tmp_path / "damaged.csv.gz").write_bytes(packed)
        with pytest.raises(InputError, match=r"damaged\.csv\.gz"):
            cal.evaluate_file(tmp_path / "damaged.csv.gz")
    (tmp_path / "odd.csv").write_bytes(gzip.compress(text))  # packed under another name
    assert cal.evaluate_file(tmp_path / "odd.csv").recipe["n"] == REPORTS.size


def test_the_label_may_be_what_rows_are_grouped_by(file):
    write(file.parent, "csv", {"label": OUTCOMES, "p": np.round(REPORTS, 2)})
    found = cal.evaluate_file(file, by="label")
    assert {part.name: part.n for part in found.slices} == {
        "0": int((OUTCOMES == 0).sum()),
        "1": int((OUTCOMES == 1).sum()),
    }
    by_prediction = cal.evaluate_file(file, by="p", measures=["ece"])
    assert len(by_prediction.slices) == np.unique(np.round(REPORTS, 2)).size


def test_predictions_that_rows_are_grouped_by(file):
    file.write_text("label,p\n0,0.2\n1, \n1,0.7\n0,NA\n")
    found = cal.evaluate_file(file, by="p", missing="drop", measures=["ece"])
    assert found.recipe["n"] == 2 and found.recipe["n_missing"] == 2
    file.write_text("label,p\n0,0.2\n1,often\n1,0.7\n")
    with pytest.raises(InputError, match="line 3: p is 'often', which is not a number"):
        cal.evaluate_file(file, by="p")


def test_blanks_around_numbers_that_rows_are_grouped_by(file):
    file.write_text("label,p\n0,0.2\n1, 0.7 \n")
    assert cal.evaluate_file(file, by="p", measures=["brier"])["brier"] == pytest.approx(0.065)


@pytest.mark.parametrize("chosen", [nullcontext, lambda: engine("numpy")])
@pytest.mark.parametrize(
    ("labels", "options"),
    [
        (("no", "yes"), {"classes": ["no", "yes"]}),
        (("false", "True"), {}),
        ((" 0", "1 "), {}),
        (("0.0", "1.0"), {}),
    ],
)
def test_labels_that_begin_late(file, chosen, labels, options):
    """What a column holds is not known before the first block with anything in it."""
    file.write_text("label,p\n" + ",0.4\n" * 250_000 + f"{labels[1]},0.4\n{labels[0]},0.3\n")
    with chosen():
        found = cal.evaluate_file(file, missing="drop", measures=["brier"], **options)
    assert found["brier"] == pytest.approx((0.36 + 0.09) / 2)
    assert found.recipe["n_missing"] == 250_000
