"""Files that are not what they should be, and places that cannot be written: a sentence and a 3."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from command import BETTER, OUTCOMES, REPORTS, binary, csv, run

import calibrant as cal
from calibrant._cli.options import OptionNames
from calibrant._core.messages import name_of, named_by, setting, settings, values_of
from cli.command import main

GOOD = "label,p\n" + "1,0.9\n0,0.2\n1,0.7\n0,0.1\n" * 20
FILES = {
    "no.csv": None,
    "zero.csv": b"",
    "zero.jsonl": b"",
    "zero.parquet": b"",
    "zero.npz": b"",
    "zero.arrow": b"",
    "header.csv": b"label,p\n",
    "numbers.csv": b"1,0.5\n0,0.2\n",
    "latin.csv": "label,p,näme\n1,0.5,a\n".encode("latin-1"),
    "utf16.csv": GOOD.encode("utf-16"),
    "binary.csv": b"label,p\n1,\x00\n",
    "cut.jsonl": b'{"label": 1, "p": 0.5}\n{"label": 1, "p"',
    "junk.parquet": b"label,p\n1,0.5\n",
    "ragged.csv": b"label,p\n1,0.5\n0\n",
    "words.csv": b"label,p\n1,often\n",
    "no_names.csv": b"a,b\n1,0.5\n",
    "anything.dat": GOOD.encode(),
}
SAID = {
    "no.csv": "there is no file",
    "zero.csv": "holds no rows",
    "zero.jsonl": "holds no rows",
    "zero.parquet": "0 bytes",
    "zero.npz": "0 bytes",
    "zero.arrow": "0 bytes",
    "header.csv": "holds no rows",
    "numbers.csv": "add a line of names",
    "latin.csv": "line 1 is not UTF-8 text",
    "utf16.csv": "is UTF-16 text: save it as UTF-8",
    "binary.csv": "which is not a number",
    "cut.jsonl": "line 2",
    "junk.parquet": "cannot be read as Parquet",
    "ragged.csv": "line 3",
    "words.csv": "line 2: p is 'often'",
    "no_names.csv": "the labels are not given (--label)",
    "anything.dat": "Give --format, one of",
}


@pytest.mark.parametrize("name", FILES)
def test_a_bad_file_is_one_sentence_everywhere(tmp_path, capsys, name):
    path = tmp_path / name
    if FILES[name] is not None:
        path.write_bytes(FILES[name])
    for verb, *arguments in (
        ("report", path),
        ("check", path, "--max", "ece=0.05"),
        ("conventions", path),
        ("scale", "--fit", path),
        ("compare", path, binary(tmp_path)),
    ):
        assert main([verb, *map(str, arguments)]) == 3, verb
        printed = capsys.readouterr()
        assert printed.out == "" and printed.err.count("\n") == 1, verb
        assert printed.err.startswith("calibrant: ") and SAID[name] in printed.err, verb
        assert "should not happen" not in printed.err, verb


def test_folders_and_patterns(tmp_path, capsys):
    (tmp_path / "empty").mkdir()
    assert main(["report", str(tmp_path / "empty")]) == 3
    assert "has no files that can be read" in capsys.readouterr().err
    assert main(["report", str(tmp_path / "day-*.csv")]) == 3
    assert "no file matches" in capsys.readouterr().err
    for day in (1, 2):
        (tmp_path / f"day-{day}.csv").write_text(GOOD)
    assert main(["report", str(tmp_path / "day-*.csv"), "--measures", "ece"]) == 0
    assert "160 rows" in capsys.readouterr().out
    assert main(["report", str(tmp_path), "--measures", "ece"]) == 0
    assert "160 rows" in capsys.readouterr().out


def test_mixed_line_endings_and_marks_of_order_are_read(tmp_path, capsys):
    lines = GOOD.splitlines()
    mixed = "".join(line + ("\r\n", "\n", "\r")[i % 3] for i, line in enumerate(lines))
    outputs = []
    for content in (GOOD, mixed, "\ufeff" + GOOD, GOOD.rstrip("\n")):
        path = tmp_path / "rows.csv"
        path.write_bytes(content.encode())
        assert main(["check", str(path), "--max", "ece=0.5", "--json"]) == 0
        outputs.append(capsys.readouterr().out)
    assert len(set(outputs)) == 1 and '"n": 80' in outputs[0]


def test_bytes_in_a_column_that_nobody_reads_do_not_matter(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_bytes(b"label,p,who\n" + b"1,0.9,n\xe4me\n0,0.2,b\n" * 40)
    assert main(["check", str(path), "--max", "ece=0.5"]) == 0
    assert main(["check", str(path), "--max", "ece=0.5", "--by", "who"]) == 3


@pytest.fixture
def read_only(tmp_path):
    """A folder that nobody, or nobody here, can write to."""
    if os.name == "nt":
        pytest.skip("a folder's mode does not keep anyone out")
    if os.geteuid() == 0:  # may write everywhere but where the system itself says no
        return Path("/sys")
    folder = tmp_path / "read-only"
    folder.mkdir(mode=0o555)
    return folder


def test_a_read_only_folder_is_said_before_the_work(tmp_path, read_only, capsys):
    path = str(binary(tmp_path))
    other = str(csv(tmp_path / "other.csv", {"label": OUTCOMES, "p": BETTER}))
    for arguments, name in (
        (["report", path, "-o"], "page.html"),
        (["compare", path, other, "-o"], "page.html"),
        (["scale", "--fit", path, "-o"], "map.json"),
        (["scale", "--fit", path, "--apply", other, "-o"], "out.csv"),
        (["audit", "ece", "-o"], "audit"),
        (["reproduce", "truthful", "-o"], "paper"),
        (["demo", "-o"], "try"),
    ):
        out = str(read_only / name)
        assert main([*arguments, out]) == 3
        printed = capsys.readouterr()
        assert printed.err.startswith(f"calibrant: {out} cannot be written: ")
        assert printed.err.count("\n") == 1 and printed.out == ""


def test_as_a_user_sees_it(tmp_path, read_only):
    done = run("report", binary(tmp_path), "-o", read_only / "page.html")
    assert done.returncode == 3 and done.stdout == "" and done.stderr.count("\n") == 1
    done = run("report", tmp_path / "rows.cvs")
    assert done.returncode == 3 and "did you mean 'rows.csv'?" in done.stderr


def test_a_folder_where_a_file_should_be(tmp_path, capsys):
    path = str(binary(tmp_path))
    assert main(["report", path, "-o", str(tmp_path)]) == 3
    assert "is a folder: name a file in it" in capsys.readouterr().err
    for verb in (["audit", "ece"], ["demo"], ["reproduce", "truthful"]):
        assert main([*verb, "-o", path]) == 3
        assert "is a file: name a folder" in capsys.readouterr().err


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    """A map that was fitted to such a file."""
    folder = tmp_path_factory.mktemp("fitted")
    assert main(["scale", "--fit", str(binary(folder)), "-o", str(folder / "map.json")]) == 0
    return (folder / "map.json").read_bytes()


@pytest.mark.parametrize(
    "line",
    [
        "report a.csv -o a.csv",
        "report rows.html --format csv -o rows.html",
        "report rows.html --format csv -o ./link.html",
        "compare one=a.csv two=b.csv -o b.csv",
        "compare one=rows.html two=b.csv --format csv -o rows.html",
        "compare one=a.csv two=b.csv --scale-on rows.html b.csv --format csv -o rows.html",
        "decide rows.png --format csv -o rows.png",
        "decide one=a.csv two=rows.png --format csv -o rows.png",
        "monitor rows.html -o rows.html",
        "check . --format csv --max ece=0.1 --junit a.csv",
        "scale --fit a.csv -o a.csv",
        "scale --fit a.csv --scaler b.csv",
        "scale --fit a.csv --apply a.csv -o a.csv",
        "scale --fit a.csv --apply b.csv --scaler a.csv -o c.csv",
        "scale --fit a.csv --apply b.csv --scaler new.json -o new.json",
        "scale --apply a.csv --scaler map.json -o map.json",
        "scale --fit a.csv --apply . --format csv -o b.csv",
        "scale --fit a.csv --apply *.csv -o b.csv",
    ],
)
def test_no_input_is_written_over(tmp_path, monkeypatch, capsys, fitted, line):
    monkeypatch.chdir(tmp_path)
    for name in ("a.csv", "b.csv", "rows.html", "rows.png"):
        binary(tmp_path, name)
    (tmp_path / "link.html").symlink_to("rows.html")
    (tmp_path / "map.json").write_bytes(fitted)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert main(line.split()) == 3
    printed = capsys.readouterr()
    assert printed.out == "" and printed.err.count("\n") == 1
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_page_is_named_as_one(tmp_path, capsys):
    path, other = str(binary(tmp_path)), str(binary(tmp_path, "other.csv"))
    for arguments in (["report", path], ["compare", path, other]):
        assert main([*arguments, "-o", str(tmp_path / "page.pdf")]) == 3
        assert "a page is HTML" in capsys.readouterr().err
    only = ["--measures", "ece", "--recalibrate", "platt"]
    assert main(["report", path, *only, "-o", str(tmp_path / "page.HTM")]) == 0


def test_columns_that_are_not_there(tmp_path, capsys):
    path = str(binary(tmp_path))
    for option in ("--label", "--proba", "--weight", "--by", "--groups"):
        assert main(["report", path, option, "labell"]) == 3
        said = capsys.readouterr().err
        assert f"calibrant: {option} names the column 'labell'" in said
        assert "did you mean 'label'?" in said
    assert main(["report", path, "--by", "labell", "--stream"]) == 3
    assert "calibrant: --by names the column" in capsys.readouterr().err


def test_an_empty_cluster_is_refused(tmp_path, capsys):
    who = ["" if i == 7 else i // 5 for i in range(len(OUTCOMES))]
    path = str(csv(tmp_path / "r.csv", {"label": OUTCOMES, "p": REPORTS, "who": who}))
    assert main(["report", path, "--groups", "who", "--measures", "ece"]) == 3
    assert "empty in 1 row, first in row 7" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("made", "python", "command"),
    [
        (lambda: setting("by", "day"), "by='day'", "--by day"),
        (lambda: setting("format"), "format=", "--format"),
        (lambda: setting("exact", False), "exact=False", "--one-pass"),
        (lambda: setting("classes", [...]), "classes=[...]", "--classes A,B,..."),
        (lambda: setting("at_most", {"ece": ...}), "at_most={'ece': ...}", "--max ece=..."),
        (
            lambda: setting("bins", cal.Quantile(9)),
            "bins=Quantile(m=9, ties='together')",
            "--bins quantile:9",
        ),
        (lambda: settings(answer="a", gold="b"), "answer='a', gold='b'", "--answer a --gold b"),
        (lambda: name_of("sample_weight"), "sample_weight", "--weight"),
        (lambda: f"{values_of('y_proba')}[3] is 85.0", "y_proba[3] is 85.0", "y_proba[3] is 85.0"),
    ],
)
def test_messages_name_options(made, python, command):
    assert made() == python
    with named_by(OptionNames()):
        assert made() == command
    assert made() == python


def test_columns_that_could_be_meant_are_named_with_their_options(tmp_path, capsys):
    path = csv(tmp_path / "a.csv", {"label": OUTCOMES, "target": OUTCOMES, "p": REPORTS})
    assert main(["report", str(path)]) == 3
    assert capsys.readouterr().err.endswith(
        f"the labels could be the column 'label' or the column 'target' of {path}: choose one with "
        "--label\n"
    )
    path = csv(tmp_path / "b.csv", {"label": OUTCOMES, "pred": OUTCOMES, "confidence": REPORTS})
    assert main(["report", str(path)]) == 3
    said = capsys.readouterr().err
    assert said.startswith("calibrant: the predictions could be the column 'confidence'")
    assert said.endswith(
        "If it is: --answer pred --gold label --proba confidence; if not: --proba confidence\n"
    )
