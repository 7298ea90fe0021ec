"""The compiled scanner against the readers that need none: the same columns, the same errors."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import calibrant as cal
from calibrant import InputError
from calibrant._data.readers import csv, json_values, jsonl
from calibrant._data.readers.columns import ReadRequest
from calibrant._data.readers.scanner import scanner
from calibrant._data.readers.source import file_rows
from every_engine import engine
from needs import need, need_compiled

need("pyarrow")
need_compiled(scanner())

AS_OFTEN = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
TWICE_AS_OFTEN = settings(AS_OFTEN, max_examples=120)


@pytest.mark.parametrize(
    "text",
    ["0", "-0", "-0.0", "1", "0.1", "1e-5", "1E+5", "5e-324", "2.4703282292062327e-324", "1e400",
     "1.7976931348623157e308", "1.7976931348623159e308", "2.2250738585072011e-308", "-1e-400",
     "9007199254740993", "0.30000000000000004", "123456789012345678901234567890",
     "0.500000000000000166533453693773481063544750213623046875",
     "8.5", "9223372036854775807", "0.00000000000000000000000012345678901234567",
     "7205759403792793.5", "1" + "0" * 300, "0." + "0" * 300 + "1", "1e23",
     "8.442911973260991817e-309"],
)  # fmt: skip
def test_hard_numbers(text):
    found = scanner().decimal(text.encode())
    assert found is None or repr(found) == repr(float(text))
    assert found is not None or len(text) > 20


@AS_OFTEN
@given(st.floats(allow_nan=False, allow_infinity=False), st.integers(0, 25))
def test_numbers_are_those_of_python(number, digits):
    for text in (repr(number), f"{number:.{digits}e}", f"{number:.{digits}g}"):
        found = scanner().decimal(text.encode())
        assert found is None or repr(found) == repr(float(text))
    assert scanner().decimal(repr(number).replace("e+", "e").encode()) is not None


@pytest.mark.parametrize("text", ["", "-", "+1", "01", "1.", ".5", "1e", "1e+", "0x1", "1_0", "1 "])
def test_what_is_no_number(text):
    assert scanner().decimal(text.encode()) is None


def outcome(path, fields, **options):
    """What is read of a file, chunk by chunk, or the error."""
    try:
        rows = file_rows(ReadRequest(path, **fields, **options))
        out = []
        for piece in rows.pieces():
            for batch in rows.batches(piece):
                samples = batch.samples(False, None)
                location = batch.chunk.location
                first = location.number(0)
                line = None if location.line is None else location.line(first)
                arrays = (batch.y_true, batch.y_proba, batch.sample_weight, batch.rows)
                out.append(
                    (
                        first,
                        batch.chunk.n_rows,
                        line,
                        samples.n_missing,
                        batch.taken,
                        *((None, None) if a is None else (a.dtype, a.tolist()) for a in arrays),
                    )
                )
        # Values are looked at when they are summed.
        value = cal.evaluate_file(path, **fields, **options, measures=["ece"])["ece"]
        return repr(out), value
    except InputError as error:
        return str(error)


def same_both_ways(path, fields, **options):
    found = outcome(path, fields, **options)
    with engine("numpy"):
        expected = outcome(path, fields, **options)
    if isinstance(expected, str):
        assert found == expected
    else:
        assert found[0] == expected[0]
        assert found[1] == pytest.approx(expected[1], rel=1e-12)


# Labels and predictions as they are, and as they should not be.
ODD = st.sampled_from([
    "null", "true", "false", "NaN", "Infinity", "-Infinity", "-0", "-0.0", "1.0", "1e0", "1E-2",
    "01", "1.", ".5", "+1", "0x1", "1e400", "5e-324", "12345678901234567890", str(2**53),
    str(2**53 + 1), "-1", "1" * 700, '"0.5"', '"1"', '"-0"', '" 0.5"', '"0.5 "', '"85%"', '"0,5"',
    '"yes"', '""', '"1_0"', '"nan"', '"\\u0031"', "[]", "[1]", "[0.5, 0.5]", '{"a": 1}', "{}",
    "nul", "tru", "", "0.12345678901234567890123456789",
    "0.500000000000000166533453693773481063544750213623046875",
])  # fmt: skip
PLAIN = st.one_of(st.sampled_from(["0", "1"]), st.floats(0, 1).map(repr))
KEYS = st.sampled_from(['"other"', '"p.x"', '"a.b"', '"\\u0070"', '"é"', '"label "', '"p"', '"r"'])
# Any sign, and often one that means something.
SIGNS = st.one_of(
    st.sampled_from('a1 "\\/{}[],:\n\r\t\x00\x1f\x7f\x85\u2028é'),
    st.integers(0, 0x10FFFF).filter(lambda code: not 0xD800 <= code < 0xE000).map(chr),
)


def texts(longest):
    """Texts of any sign. (`st.text` first looks all of Unicode through, which takes seconds.)"""
    return st.lists(SIGNS, max_size=longest).map("".join)


VALUES = st.one_of(
    ODD,
    st.recursive(
        st.none() | st.booleans() | st.integers() | texts(20),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts(3), inner),
        max_leaves=6,
    ).map(json.dumps),
    texts(12).map(lambda text: json.dumps(text, ensure_ascii=False)),
    st.sampled_from(
        ['"\\x"', '"\\ud800"', '"\t"', '"\\u12g4"', '"open', "[1,]", "[1 2]", '{"a" 1}']
    ),
)
BLANK = st.sampled_from(["", "", "", " ", "\t", "\r", "\x0b"])
LINE_ENDS = st.sampled_from(["\n", "\n", "\n", "\r\n", "\n\n", "\n \n", "\n\x0c\n"])


@st.composite
def records(draw, odd):
    """A line; mostly a plain one."""
    values = st.one_of(PLAIN, PLAIN, ODD) if odd else PLAIN
    parts = [
        f'{draw(BLANK)}"label"{draw(BLANK)}:{draw(BLANK)}{draw(values)}{draw(BLANK)}',
        f'"p": {draw(values)}',
        f'"r": {{"w": {draw(PLAIN)}, "q": {draw(values)}}}',
    ]
    if odd:
        parts += [f"{draw(KEYS)}: {draw(VALUES)}" for _ in range(draw(st.integers(0, 2)))]
        parts = draw(st.permutations(parts))[: draw(st.integers(2, 5))]
    return "{" + ",".join(parts) + "}" + draw(BLANK)


@st.composite
def json_files(draw):
    plain = draw(st.lists(records(False), min_size=1, max_size=6))
    some = draw(st.lists(records(True), max_size=2))
    at = draw(st.integers(0, len(plain)))
    text = "".join(line + draw(LINE_ENDS) for line in plain[:at] + some + plain[at:])
    mark = draw(st.sampled_from([b"", b"", b"\xef\xbb\xbf"]))
    return mark + (text if draw(st.booleans()) else text.rstrip("\n")).encode(
        "utf-8", "surrogatepass"
    )


FIELDS = [
    {"y_true": "label", "y_proba": "p"},
    {"y_true": "label", "y_proba": "p", "sample_weight": "r.w"},
    {"y_true": "label", "y_proba": "r.q"},
    {"y_true": "label", "y_proba": ["p", "r.q"], "classes": ["0", "1"]},
    {"y_true": "label", "y_proba": "p", "classes": ["no", "yes"]},
    {"y_true": "p", "y_proba": "p"},
]


# How a file is read: what is done about gaps, bytes of a block, rows of a chunk.
WAYS = {
    "missing": st.sampled_from(["error", "drop"]),
    "block": st.sampled_from([1 << 20, 50]),
    "rows": st.sampled_from([1 << 19, 3]),
}


@TWICE_AS_OFTEN
@given(text=json_files(), fields=st.sampled_from(FIELDS), **WAYS)
def test_json_lines(tmp_path, monkeypatch, missing, block, text, fields, rows):
    check_json_lines(tmp_path, monkeypatch, missing, block, text, fields, rows)


@pytest.mark.parametrize("missing", ["error", "drop"])
@pytest.mark.parametrize("block", [1 << 20, 50])
@pytest.mark.parametrize(
    ("text", "fields", "rows"),
    [
        (b'{"label": 1, "p": 0.5, "p": 0.25}', FIELDS[0], 9),
        (b'{"label": 1, "r": {"q": 1}, "r": {"w": 1}}', FIELDS[2], 9),
        (b'{"label": 1, "r.q": 1, "r": {"q": 0.5}}', FIELDS[2], 9),
        (b'{"label": 1, "r": 3}\n{"label": 1, "r": {"q": 0.5}}', FIELDS[2], 9),
        (b'{"label": 1, "p": 0.5}\n{"label": 1, "p": 0.5, "x": "\xff"}', FIELDS[0], 9),
        (
            b'{"label": true, "p": 0.5}\n{"label": null, "p": 0.5}\n{"label": 0.5, "p": 1}',
            FIELDS[0],
            2,
        ),
        (b'{"label": true, "p": 0.5}\n{"p": 0.5}', FIELDS[0], 9),
    ],
)
def test_odd_json_lines(tmp_path, monkeypatch, missing, block, text, fields, rows):
    check_json_lines(tmp_path, monkeypatch, missing, block, text, fields, rows)


def check_json_lines(tmp_path, monkeypatch, missing, block, text, fields, rows):
    monkeypatch.setattr(jsonl, "BLOCK", block)
    monkeypatch.setattr("calibrant._data.readers.source.CHUNK", rows)
    path = tmp_path / "rows.jsonl"
    path.write_bytes(text)
    same_both_ways(path, fields, missing=missing)


LISTS = st.one_of(
    st.lists(PLAIN, min_size=3, max_size=3), st.lists(st.one_of(PLAIN, ODD), min_size=2, max_size=4)
).map(lambda row: "[" + " , ".join(row) + "]")


@AS_OFTEN
@given(st.lists(st.tuples(st.sampled_from("012"), LISTS | ODD), min_size=1, max_size=6))
def test_scanned_lists_are_those_of_json(tmp_path, rows):
    path = tmp_path / "rows.jsonl"
    path.write_text("\n".join(f'{{"label": {y}, "probs": {p}}}' for y, p in rows))
    same_both_ways(path, {"y_true": "label", "y_proba": "probs"}, missing="drop")


CSV_ODD = st.sampled_from([
    "", " ", "NA", "nan", "N/A", " 0.5", "0.5 ", "\t0.5", '"0.5"', '" 0.5"', '""', '"0,5"', "0,5",
    "01", "1.", ".5", "+1", "-0", "1e-5", "1e400", "inf", "0x1", "1_0", "85%", "yes", "true",
    '"a""b"', '"a\nb"', '"open', '5"', '"a"b', "12345678901234567890", "é", "1" * 400,
])  # fmt: skip


HEADERS = [
    "label,p,text\n",
    "label,p,text\r\n",
    "\ufefflabel,p,text\n",
    '"label","p","te\nxt"\n',
    "\nlabel,p,text\n",
    "label,p,text\r",
]


@st.composite
def csv_files(draw):
    """Files that are mostly plain. (Lone carriage returns end rows too, but cut other chunks.)"""
    cells = st.one_of(*[PLAIN] * 12, CSV_ODD)
    texts = st.sampled_from(["x", "", "some words", '"a, b"', '"two\nlines"', '"say ""hi"""'])
    rows = draw(st.lists(st.tuples(cells, cells, st.one_of(texts, CSV_ODD)), max_size=8))
    ends = [draw(st.sampled_from(["\n", "\n", "\n", "\r\n", "\n\n", "\r\n\r\n"])) for _ in rows]
    body = "".join(",".join(row) + end for row, end in zip(rows, ends, strict=True))
    head = draw(st.sampled_from(HEADERS))
    return (head + (body if draw(st.booleans()) else body.rstrip("\r\n"))).encode()


@TWICE_AS_OFTEN
@given(text=csv_files(), **WAYS)
def test_scanned_csv_is_what_arrow_reads(tmp_path, monkeypatch, missing, block, text, rows):
    monkeypatch.setattr(csv, "BLOCKS", (block, 1 << 24))
    monkeypatch.setattr("calibrant._data.readers.source.CHUNK", rows)
    path = tmp_path / "rows.csv"
    path.write_bytes(text)
    same_both_ways(path, {"y_true": "label", "y_proba": "p"}, missing=missing)


def test_plain_blocks_are_scanned(tmp_path, monkeypatch):
    """Neither Python's reader nor Arrow is asked about them."""
    rng = np.random.default_rng(0)
    y, p = rng.integers(0, 2, 40_000), rng.random(40_000)  # two blocks
    expected = cal.ece(y, p)

    def never(*_):
        raise AssertionError

    monkeypatch.setattr(jsonl.JsonlReader, "_parsed", never)
    monkeypatch.setattr(csv.CsvReader, "_batch", never)
    rows = list(zip(y.tolist(), p.tolist(), strict=True))
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(f'{{"label": {a}, "text": "é", "p": {b}}}\n' for a, b in rows))
    assert cal.evaluate_file(path, measures=["ece"])["ece"] == pytest.approx(expected, rel=1e-12)
    path = tmp_path / "rows.csv"
    path.write_text("label,text,p\n" + "".join(f'{a},"a,\nb",{b}\n' for a, b in rows))
    assert cal.evaluate_file(path, measures=["ece"])["ece"] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("format", ["csv", "jsonl"])
def test_threads_do_not_change_a_bit(tmp_path, monkeypatch, format):
    monkeypatch.setattr(csv, "BLOCKS", (1 << 10, 1 << 24))
    monkeypatch.setattr(jsonl, "BLOCK", 1 << 10)
    p = np.random.default_rng(0).random(600)
    lines = {"csv": "{},{}\n", "jsonl": '{{"label": {}, "p": {}}}\n'}[format]
    path = tmp_path / f"rows.{format}"
    path.write_text(
        "label,p\n" * (format == "csv") + "".join(lines.format(i % 2, x) for i, x in enumerate(p))
    )
    found = []
    for threads in ("1", "2", "3"):
        monkeypatch.setenv("CALIBRANT_THREADS", threads)
        found.append(cal.evaluate_file(path).values)
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize("format", ["csv", "jsonl"])
@pytest.mark.parametrize("bad", ["7", '"often"', ""])
def test_the_line_of_a_fault_far_into_a_file(tmp_path, monkeypatch, format, bad):
    monkeypatch.setattr(csv, "BLOCKS", (1 << 10, 1 << 24))
    monkeypatch.setattr(jsonl, "BLOCK", 1 << 10)
    cells = ["0.25"] * 900
    cells[700] = bad if bad or format == "csv" else "null"
    lines = {"csv": "1,{}\n\n", "jsonl": '{{"label": 1, "p": {}}}\n\n'}[format]
    path = tmp_path / f"rows.{format}"
    path.write_text("label,p\n" * (format == "csv") + "".join(map(lines.format, cells)))
    line = 1401 + (format == "csv")
    with pytest.raises(InputError, match=rf"rows\.{format}, line {line}: ") as error:
        cal.evaluate_file(path)
    with engine("numpy"), pytest.raises(InputError) as other:
        cal.evaluate_file(path)
    assert str(error.value) == str(other.value)


def test_columns_that_are_not_for_the_scanner():
    assert json_values.json_scan([csv.Field("a", "text")], lambda name: 0) is None
    nested = [csv.Field("a", "number"), csv.Field("a.b", "number")]
    assert json_values.json_scan(nested, lambda name: 0) is None
    assert json_values.json_scan(nested[::-1], lambda name: 0) is None
    assert math.isnan(scanner().json_lines(b'{"a":NaN}', 0, 9, *A_FIELD)[2][0][0][0])


A_FIELD = ([(b"", 1, 1, -1, 1), (b"a", 0, 0, 0, 1)], [0])
