"""Files in which rows are lost are errors: stray quotes, short arrays, missing row groups."""

from __future__ import annotations

import bz2
import gzip
import io
import struct
import zipfile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import calibrant as cal
from calibrant import InputError
from calibrant._data.readers.csv_errors import Header, header_of
from calibrant._data.readers.csv_quotes import Quotes, check_quotes
from calibrant._data.readers.find import File
from needs import need

need("pyarrow")

rng = np.random.default_rng(3)
P = rng.random(1000).round(3)
Y = (rng.random(1000) < P).astype(int)
HEAD = b"label,p,text\n"
ROWS = [b"%d,%.3f,fine" % row for row in zip(Y, P, strict=True)]
# A file is read in blocks of a mebibyte: eight thousand rows with these words are more than one.
WORDS = b" the quick brown fox jumps over a lazy dog and waits until it is time to go home" * 2
LONG_ROWS = [row + WORDS for row in ROWS]
PACK = {
    "csv": bytes,
    "csv.gz": gzip.compress,
    "csv.bz2": lambda text: bz2.compress(text, 1),
    "csv.zst": lambda text: need("pyarrow").compress(text, codec="zstd", asbytes=True),
}


def written(folder, suffix, rows):
    file = folder / f"rows.{suffix}"
    file.write_bytes(PACK[suffix](HEAD + b"\n".join(rows) + b"\n"))
    return file


@pytest.mark.parametrize("by", [None, "text"])
@pytest.mark.parametrize("suffix", PACK)
class TestStrayQuotes:
    def test_one_in_a_row_that_ends_like_the_file(self, tmp_path, suffix, by):
        rows = [*ROWS[:10], ROWS[-1].replace(b"fine", b'"fine'), *ROWS[11:]]
        file = written(tmp_path, suffix, rows)
        with pytest.raises(InputError, match="line 12 opens a quote that is never closed"):
            cal.evaluate_file(file, by=by)

    @pytest.mark.parametrize("text", [b"two words", b"two, words"])
    def test_one_that_the_next_text_closes(self, tmp_path, suffix, by, text):
        rows = [*ROWS[:10], b'1,0.75,"stray', *ROWS[11:500], b'0,0.5,"%b"' % text, *ROWS[501:]]
        file = written(tmp_path, suffix, rows)
        with pytest.raises(InputError, match=r"line 12 opens a quote that line 502 closes within"):
            cal.evaluate_file(file, by=by)

    def test_one_in_a_file_of_many_blocks(self, tmp_path, suffix, by):
        rows = [*LONG_ROWS * 8, b'1,0.75,"stray', *ROWS]
        file = written(tmp_path, suffix, rows)
        with pytest.raises(InputError, match="line 8002 opens a quote that is never closed"):
            cal.evaluate_file(file, by=by)

    def test_sound_texts_stay(self, tmp_path, suffix, by):
        texts = [b'"two, words"', b'"a ""b"" c"', b'"two\nlines"', b'5" screen', b'""', b'"a" b']
        texts = [text[:2] + WORDS + text[2:] if len(text) > 2 else text for text in texts]
        rows = [row.replace(b"fine", texts[i % 6]) for i, row in enumerate(ROWS * 10)]
        assert cal.evaluate_file(written(tmp_path, suffix, rows), by=by).recipe["n"] == 10_000


@pytest.mark.parametrize("by", [None, "text"])
@pytest.mark.parametrize("suffix", PACK)
class TestSwallowedRows:
    """Both quotes stand where a field begins or ends: the file is legal, and rows are one text."""

    @pytest.mark.parametrize(("times", "end"), [(1, b'"'), (1, b'\n"'), (8, b'"')])
    def test_to_the_last_line(self, tmp_path, suffix, by, times, end):
        rows = LONG_ROWS * times  # eight times are more than a block
        rows = [*rows[:10], b'1,0.75,"stray', *rows[11:-1], rows[-1] + end]
        last = len(rows) + 1 + (b"\n" in end)
        n = f"{last - 11:,}"
        with pytest.raises(
            InputError,
            match=f"line 12 opens a quote that line {last} closes: .* {n} lines, which look like",
        ):
            cal.evaluate_file(written(tmp_path, suffix, rows), by=by)

    def test_a_few_rows(self, tmp_path, suffix, by):
        rows = [*LONG_ROWS * 8, b'1,0.75,"stray', *ROWS[1:3], b'1,,fine"', *ROWS]
        with pytest.raises(InputError, match=r"line 8002 opens .* line 8005 closes: .* 4 lines"):
            cal.evaluate_file(written(tmp_path, suffix, rows), by=by, missing="drop")


def test_swallowed_rows_behind_a_first_column(tmp_path):
    """The columns behind the text are known at its end alone, which is far."""
    rows = [WORDS + b" fine,%d,%.3f" % row for row in zip(Y, P, strict=True)] * 8
    rows[10], rows[-1] = b'"' + rows[10], rows[-1].replace(b"fine", b'fine"')
    file = tmp_path / "rows.csv"
    file.write_bytes(b"text,label,p\n" + b"\n".join(rows))
    with pytest.raises(InputError, match="line 12 opens a quote that line 8001 closes"):
        cal.evaluate_file(file)


@pytest.mark.parametrize("mark", [",", ";", "\t", "|"])
@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
@pytest.mark.parametrize(
    ("head", "row", "opening", "closing"),
    [
        ("text,label,p", "fine,{},{}", '"stray,{},{}', 'fine",{},{}'),
        ("label,text,p", "{},fine,{}", '{},"stray,{}', '{},fine",{}'),
        ("label,p,model,text", "{},{},a,fine", '{},{},"a,fine', '{},{},a",fine'),
        ("label,p", "{},{}", '{},"{}', '{},{}"'),
    ],
)
def test_swallowed_rows_of_every_column(tmp_path, mark, line_end, head, row, opening, closing):
    lines = [row.format(*each) for each in zip(Y, P, strict=True)]
    lines[10], lines[500] = opening.format(1, 0.25), closing.format(0, 0.5)
    file = tmp_path / ("rows.tsv" if mark == "\t" else "rows.csv")
    text = line_end.join([head, *lines, ""]).replace(",", mark)
    file.write_text(text, newline="")
    with pytest.raises(
        InputError, match=r"line 12 opens a quote that line 502 closes: .* 491 lines"
    ):
        cal.evaluate_file(file)


TEXTS = [
    "Well, I think so.\nIt is, after all, true.\nYes, yes, yes.\n" * 20,
    "First, then\n" * 50,
    "Sort these:\n1, 2, 3\n6, 5, 4\n9, 8, 7",
    "Sort these:\n1,2,3\n6,5,4\n9,8,7",
    "name,age,town\nAnn,41,Rome\nBob,17,Bonn\nCem,33,Graz\n",
    "x = [1,\n2,\n3]\nprint(x, 0.5, 1)\n",
    "| a | b |\n|---|---|\n| 0.1 | 0.2 |\n" * 5,
    "He said:\n0,5 is a half\n1,5 is more\n2,5 too",
    "0.5\n0.25\n0.125\n",
    "\n\n\n,,\n,,\n,,\n",
]


@pytest.mark.parametrize("head", ["label,p,text", "text,label,p", "p,text"])
@pytest.mark.parametrize("number", ["{:.3f}", "{:.0f}"])
def test_texts_of_lines_are_no_rows(tmp_path, head, number):
    names = head.split(",")
    rows = []
    for i, (y, p) in enumerate(zip(Y, P, strict=True)):
        text = '"' + TEXTS[i % len(TEXTS)].replace('"', '""') + '"'
        cells = {"label": str(y), "p": number.format(p), "text": text}
        rows.append(",".join(cells[name] for name in names))
    file = tmp_path / "rows.csv"
    file.write_text("\n".join([head, *rows, ""]))
    header = header_of(File(file, "csv"))
    check_quotes(header)
    if "label" in names:
        assert cal.evaluate_file(file).recipe["n"] == 1000


@settings(max_examples=400, deadline=None)
@given(
    st.lists(
        st.sampled_from(['"', '""', ",", "\n", "0.5", "1", "1,0.5,a\n", "0,.25,\n"]), max_size=40
    ),
    st.integers(1, 9),
)
def test_swallowed_rows_are_those_of_one_block(parts, size):
    header = Header(File("rows.csv", "csv"), ("label", "p", "text"))
    data = "".join(parts).encode()

    def said(size):
        quotes = Quotes(header)
        try:
            for start in range(0, len(data), size):
                quotes.add(data[start : start + size])
            quotes.add(b"", end=True)
        except InputError as error:
            return str(error)
        return None

    assert said(size) == said(len(data) + 1)


def lost_lines(text):
    """Character by character: whether a text of several lines is not closed where a field ends."""
    at, begins = 0, True
    while at < len(text):
        if not (begins and text[at] == '"'):
            begins = text[at] in ",\n"
            at += 1
            continue
        start, at = at, at + 1
        while at < len(text) and (text[at] != '"' or text[at : at + 2] == '""'):
            at += 2 if text[at] == '"' else 1
        if at >= len(text):
            return True
        at, begins = at + 1, False
        if "\n" in text[start:at] and at < len(text) and text[at] not in ",\n":
            return True
    return False


@settings(max_examples=400, deadline=None)
@given(st.text('"",\nab', max_size=40), st.integers(1, 9))
def test_quotes_are_those_of_every_character(text, size):
    header = Header(File("rows.csv", "csv"), ("a", "b"))
    data = text.encode()

    def look():
        quotes = Quotes(header)
        for start in range(0, len(data), size):
            quotes.add(data[start : start + size])
        quotes.add(b"", end=True)

    if lost_lines(text):
        with pytest.raises(InputError, match="opens a quote"):
            look()
    else:
        look()


def member(array):
    out = io.BytesIO()
    np.save(out, array)
    return out.getvalue()


@pytest.mark.parametrize("packing", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
@pytest.mark.parametrize("change", [-800, -1, 8])
@pytest.mark.parametrize("which", ["y_true", "y_proba"])
def test_arrays_of_another_length_than_their_shape(tmp_path, packing, change, which):
    """What lies behind a short array in the file is another one, which was read in its place."""
    file = tmp_path / "rows.npz"
    arrays = {"y_true": Y.astype(np.int8).repeat(2), "y_proba": P.repeat(2)}
    with zipfile.ZipFile(file, "w", packing) as archive:
        for name, array in arrays.items():
            data = member(array)
            if name == which:
                data = data[:change] if change < 0 else data + bytes(change)
            archive.writestr(f"{name}.npy", data)
    with pytest.raises(InputError, match=rf"'{which}\.npy' has \d+ bytes .* needs \d+"):
        cal.evaluate_file(file)


def zigzag(number):
    """A whole number as the footer of Parquet writes it, with its mark: i64."""
    number, out = number * 2, b"\x16"
    while number > 127:
        out, number = out + bytes([number % 128 + 128]), number // 128
    return out + bytes([number])


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ([(1000, 1250)], "a row group is missing"),
        ([(250, 200)], "a row group is missing"),
        ([(1000, 950), (250, 200)], "row group 3 has 200 rows, but its column 'label' has 250"),
    ],
)
def test_row_groups_and_footer_disagree(tmp_path, changes, fault):
    parquet, pa = need("pyarrow.parquet"), need("pyarrow")
    out = io.BytesIO()
    parquet.write_table(pa.table({"label": Y, "p": P}), out, row_group_size=250)
    data = out.getvalue()
    start = len(data) - 8 - struct.unpack("<I", data[-8:-4])[0]
    footer = data[start:-8]
    for says, is_now in changes:
        at = footer.rindex(zigzag(says))
        footer = footer[:at] + zigzag(is_now) + footer[at + len(zigzag(says)) :]
    file = tmp_path / "rows.parquet"
    file.write_bytes(data[:start] + footer + data[-8:])
    with pytest.raises(InputError, match=fault):
        cal.evaluate_file(file)


@pytest.mark.parametrize("suffix", ["jsonl", "jsonl.gz"])
def test_records_cut_short(tmp_path, suffix):
    lines = b"".join(b'{"label": %d, "p": %.3f}\n' % row for row in zip(Y, P, strict=True))
    file = tmp_path / f"rows.{suffix}"
    if suffix == "jsonl":
        file.write_bytes(lines[:-5])
    else:
        file.write_bytes(gzip.compress(lines)[:-20])
    with pytest.raises(
        InputError, match=r"line 1000 is not JSON|the compressed file is incomplete"
    ):
        cal.evaluate_file(file)


def record_batches(new, **options):
    """A stream or a file of four batches."""
    pa, out = need("pyarrow"), io.BytesIO()
    table = pa.table({"label": Y, "p": P})
    with new(out, table.schema, options=pa.ipc.IpcWriteOptions(**options)) as writer:
        writer.write_table(table, max_chunksize=250)
    return out.getvalue()


@pytest.mark.parametrize("suffix", ["arrow", "arrows", "feather"])
class TestArrowStreams:
    @pytest.mark.parametrize("legacy", [False, True])
    def test_cut_between_batches(self, tmp_path, suffix, legacy):
        pa, file = need("pyarrow"), tmp_path / f"rows.{suffix}"
        data = record_batches(pa.ipc.new_stream, use_legacy_format=legacy)
        file.write_bytes(data)
        assert cal.evaluate_file(file).recipe["n"] == 1000
        source = pa.BufferReader(data)
        ends, reader = [], pa.ipc.open_stream(source)
        for _ in reader:
            ends.append(source.tell())
        assert len(ends) == 4
        for end in ends:  # behind the last batch too: nobody knows that it is the last
            file.write_bytes(data[:end])
            with pytest.raises(InputError, match="ends without the mark that ends a stream"):
                cal.evaluate_file(file)

    def test_joined_ones(self, tmp_path, suffix):
        data = record_batches(need("pyarrow").ipc.new_stream)
        file = tmp_path / f"rows.{suffix}"
        file.write_bytes(data * 2)
        with pytest.raises(InputError, match=f"has {len(data):,} bytes after the end"):
            cal.evaluate_file(file)

    def test_files_with_fewer_batches_than_listed(self, tmp_path, suffix):
        pa, file = need("pyarrow"), tmp_path / f"rows.{suffix}"
        data = record_batches(pa.ipc.new_file)
        file.write_bytes(data)
        assert cal.evaluate_file(file).recipe["n"] == 1000
        source = pa.BufferReader(data)
        source.seek(8)
        reader = pa.ipc.open_stream(source)
        reader.read_next_batch()
        end = source.tell()
        mark = b"\xff\xff\xff\xff\x00\x00\x00\x00"
        file.write_bytes(data[:end] + mark + data[end + len(mark) :])
        with pytest.raises(InputError, match=r"1 batches can be read, but the list .* 4"):
            cal.evaluate_file(file)


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
@pytest.mark.parametrize("array", ["label", "p"])
def test_npz_in_which_a_bit_is_another_one(tmp_path, save, array):
    """The archive has a checksum of every array: other numbers than were written are an error."""
    rng = np.random.default_rng(2)
    p = rng.random(3000)
    file = tmp_path / "rows.npz"
    save(file, label=(rng.random(3000) < p).astype(int), p=p, unused=np.arange(3000))
    whole = cal.evaluate_file(file, measures=["ece"])["ece"]
    content = bytearray(file.read_bytes())
    with zipfile.ZipFile(file) as archive:
        start = archive.getinfo(f"{array}.npy").header_offset
        unused = archive.getinfo("unused.npy").header_offset
    content[start + 300] ^= 1
    file.write_bytes(content)
    for door in (cal.evaluate_file, cal.read_file):
        with pytest.raises(cal.InputError, match=r"damaged|cannot be read as NPZ"):
            door(file)
    content[start + 300] ^= 1
    content[unused + 300] ^= 1  # of what is not read nothing is said
    file.write_bytes(content)
    assert cal.evaluate_file(file, measures=["ece"])["ece"] == whole
