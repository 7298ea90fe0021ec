"""What a page says of files: their names, and no more of their folders than tells them apart."""

import shlex
from argparse import Namespace

import pytest

from calibrant._cli.inputs import command_without_folders, file_names


@pytest.mark.parametrize(
    ("paths", "names"),
    [
        (["/home/ann/secret/rows.csv"], ["rows.csv"]),
        (["rows.csv"], ["rows.csv"]),
        (["a/rows.csv", "b/rows.csv", "b/more.csv"], ["a/rows.csv", "b/rows.csv", "more.csv"]),
        (["x/a/r.csv", "y/a/r.csv"], ["x/a/r.csv", "y/a/r.csv"]),
        (["a/r.csv", "a/r.csv"], ["r.csv", "r.csv"]),
        (["r.csv", "a/r.csv"], ["r.csv", "a/r.csv"]),
        (["runs/year=2024/*.parquet"], ["*.parquet"]),
        (["runs/"], ["runs"]),
        (["."], ["."]),
        ([], []),
    ],
)
def test_names_without_folders(paths, names):
    assert file_names(paths) == names


def test_the_command_has_names_too():
    files = ["old=/data/a/one.csv", "/data/b/two words.csv"]
    typed = shlex.join(["calibrant", "compare", *files, "--out=/tmp/x/page.html", "--bins", "10"])
    options = Namespace(files=files, out="/tmp/x/page.html", typed=typed)
    told = command_without_folders(options, ["/data/a/one.csv", "/data/b/two words.csv"])
    assert told == {
        "command": "calibrant compare old=one.csv 'two words.csv' --out=page.html --bins 10",
        "files": "old=one.csv, two words.csv",
    }
