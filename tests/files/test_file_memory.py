"""Memory stays bounded: files several times the bound are read within it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from forks import answer
from needs import need

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/status").exists(), reason="the system does not tell a process's peak"
)

# Growth beyond what a small file of the same kind takes; and what files are at least as large as.
BOUND = 40 << 20
LARGE = 60 << 20
# Rows of a prediction of 8 bytes and a label of 1 that take as much; wide rows are read sooner.
MANY = 7 << 20

PROGRAM = """
import calibrant as cal
from calibrant._data.readers import arrow
arrow.MAPPED_FROM = 1 << 20
small, large, options = arguments

def peak():  # of this process alone: what getrusage tells begins with the parent's
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM"))

cal.evaluate_file(small, **options)
before = peak()
found = cal.evaluate_file(large, **options)
say({"growth": peak() - before, "n": found.recipe["n"]})
"""


def growth_of(small, large, *, unpacked=0, **options):
    assert max(large.stat().st_size, unpacked) >= LARGE
    return answer(PROGRAM, small, large, options)


def rows(n):
    """Predictions and labels that repeat after 2^20 rows, so that they are made at once."""
    rng = np.random.default_rng(0)
    p = rng.random(1 << 20)
    return np.resize(p, n), np.resize((rng.random(p.size) < p).astype(np.int8), n)


def repeated(path, head, block, size):
    with path.open("wb") as out:
        out.write(head)
        for _ in range(-(-size // len(block))):
            out.write(block)
    return path


@pytest.fixture
def folder(tmp_path):
    yield tmp_path
    for path in tmp_path.iterdir():  # large: not for a later look
        path.unlink()


def test_csv_with_quantile_bins(folder):
    need("pyarrow")
    block = b"".join(b"%d,0.%06d,some words\n" % (i % 2, i * 7919 % 1000000) for i in range(30_000))
    small = repeated(folder / "small.csv", b"label,p,text\n", block, 10 << 20)
    large = repeated(folder / "large.csv", b"label,p,text\n", block, 75 << 20)
    found = growth_of(small, large, measures=["ece", "lin_ce"])
    assert found["growth"] < BOUND and found["n"] > 3_400_000


def test_jsonl_with_long_answers(folder):
    answer = "a long answer " * 100
    block = "".join(
        json.dumps({"correct": i % 2, "confidence": i % 97 / 97, "answer": answer}) + "\n"
        for i in range(1000)
    ).encode()
    small = repeated(folder / "small.jsonl", b"", block, 10 << 20)
    large = repeated(folder / "large.jsonl", b"", block, LARGE)
    assert growth_of(small, large, measures=["ece"])["growth"] < BOUND


def test_parquet_in_one_row_group(folder):
    pa, pq = need("pyarrow"), need("pyarrow.parquet")
    # Pieces of a row group take most of the bound of other formats.
    many, bound = MANY * 3 // 2, BOUND * 3 // 2
    for name, n in (("small", 1 << 20), ("large", many)):
        p, y = rows(n)
        table = pa.table({"p": p, "label": y})
        pq.write_table(table, folder / f"{name}.parquet", row_group_size=n, use_dictionary=False)
    found = growth_of(folder / "small.parquet", folder / "large.parquet", measures=["ece"])
    assert found["growth"] < bound and found["n"] == many


@pytest.mark.parametrize("kind", ["file", "stream"])
def test_arrow_in_one_batch(folder, kind):
    pa = need("pyarrow")
    for name, n in (("small", 1 << 20), ("large", MANY)):
        p, y = rows(n)
        batch = pa.record_batch({"p": p, "label": y})
        make = pa.ipc.new_file if kind == "file" else pa.ipc.new_stream
        with make(folder / f"{name}.arrow", batch.schema) as out:
            out.write_batch(batch)
    found = growth_of(folder / "small.arrow", folder / "large.arrow", measures=["ece", "lin_ce"])
    assert found["growth"] < BOUND and found["n"] == MANY


@pytest.mark.parametrize("packed", [False, True])
def test_archives_of_arrays(folder, packed):
    n = LARGE // 8
    for name, size in (("small", 1 << 20), ("large", n)):
        p, y = rows(size)
        if packed:  # to pack zeros takes the least time
            np.savez_compressed(folder / f"{name}.npz", p=p * 0, label=y * 0)
        else:
            np.savez(folder / f"{name}.npz", p=p, label=y)
    found = growth_of(folder / "small.npz", folder / "large.npz", unpacked=8 * n, measures=["ece"])
    assert found["growth"] < BOUND and found["n"] == n
