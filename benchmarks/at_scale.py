"""Billions of rows without a file: whether time is linear, memory flat, and values right.

    python benchmarks/at_scale.py [--rows 1e7 1e8 1e9] [--cases intervals everything ...]
                                  [--json FILE]

A reader makes rows in place of decoding them: chunks of float32 predictions and labels, from a seed
and the number of the chunk. It stands where the reader of Parquet stands, so that all of
`evaluate_file` runs: pieces, threads, checks, sums, refinement passes. Every measurement has a
process of its own, which tells its own peak of memory.

Predictions p are uniform, and y = 1 with the chance p + p (1 - p) / 10, so the ECE is 1/60 in any
equal bins. Of clusters each has 1,000 rows and a chance that is too high or too low; as many are of
either kind, so the ECE of all is the same.

| case | what runs |
|---|---|
| made | rows are made and thrown away: what the generator costs |
| intervals | ECE and Brier score with intervals, noise floors and a verdict |
| everything | all measures, without intervals |
| slices | ECE of 50 slices |
| clusters | the ECE with an interval by clusters, of rows / 1000 clusters |
| merge | 100 states of an Accumulator, saved, loaded and merged |
| duckdb | the case "intervals" of a lazy frame: rows are made of hashes by DuckDB |
| floats | doubles, whose sums by bin are held against sums of whole numbers |
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from threading import Lock
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import numpy as np

import calibrant as cal
from calibrant._api.evaluate_samples import Options
from calibrant._api.files.evaluate_file import evaluate_request
from calibrant._core.bin_tables import FIELDS
from calibrant._core.progress import RowProgress
from calibrant._data.readers import find, source
from calibrant._data.readers.chunks import Chunk, Column, Field, Location, Names, Reader
from calibrant._data.readers.columns import ReadRequest
from calibrant._data.readers.find import File
from calibrant._data.readers.passes import over_pieces
from calibrant._data.readers.source import file_rows
from files import peak_memory

TRUTH, SLOPE = 1 / 60, 0.1
# Rows of a chunk, which have a seed of their own; the fewest rows of a piece, and the largest share
# of a file: those of Parquet.
CHUNK, PIECE, SHARE = 1 << 19, 1 << 20, 1 / 32
IN_CLUSTER, STATES, N_SLICES, BINS = 1000, 100, 50, 15
# How far the chances of a cluster lie from those of all, as a share of p (1 - p).
APART = 0.8
MEASURES = ("ece", "brier")
# Columns of the table; what else a case tells is written behind them.
SHOWN = ("rows", "seconds", "processor", "mebibytes", "passes", "ece", "width", "holds")


class MadeReader(Reader):
    """A file that says how many rows there are, with which seed; they are made when they are read.

    `read` counts the rows that were made, of all readers.
    """

    read = 0
    # The exact sum of predictions in each of 15 bins, in units of 2^-53 (upper and lower halves),
    # and one double to which every prediction is added.
    exact, running = np.zeros((2, BINS), dtype=np.int64), 0.0
    _lock = Lock()

    def __init__(self, file: File) -> None:
        self.file = file
        self._spec = json.loads(file.path.read_text())
        self.n_rows = self._spec["rows"]
        self.names = ("p", "label", "user", "country")

    def precision(self, name: str) -> str:
        return "double" if self._spec.get("double") else "single"

    def pieces(self, fields: Sequence[Field]) -> list[tuple[int, int]]:
        """Ranges of rows, of whole chunks."""
        n = self._spec["rows"]
        step = max(PIECE, CHUNK * math.ceil(n * SHARE / CHUNK))
        return [(start, min(start + step, n)) for start in range(0, n, step)]

    def chunks(
        self, piece: tuple[int, int], fields: Sequence[Field], rows: int
    ) -> Generator[Chunk, None, None]:
        for start in range(*piece, CHUNK):
            n = min(CHUNK, piece[1] - start)
            columns = self._make(start, n)
            with self._lock:
                MadeReader.read += n
            wanted = {field: columns[field.name] for field in fields}
            yield Chunk(Location(self.file, start), n, n, wanted)

    def _make(self, start: int, n: int) -> dict[str, Column | Names]:
        """The columns of a chunk."""
        spec = self._spec
        rng = np.random.Generator(np.random.SFC64((spec["seed"], start // CHUNK)))
        u = self._doubles(rng, n) if spec.get("double") else rng.random(n, dtype=np.float32)
        more = u - u * u
        columns: dict[str, Column | Names] = {}
        if spec.get("clusters"):
            # Clusters' rows stand together, as those of users in a log that is sorted by user.
            first, last = start // IN_CLUSTER, (start + n - 1) // IN_CLUSTER
            known = np.arange(first, last + 1)
            codes = np.arange(start, start + n) // IN_CLUSTER - first
            columns["user"] = Names(codes, known.tolist())
            apart = np.where(known % 2, APART, -APART).astype(np.float32)
            more *= np.float32(SLOPE) + apart[codes]
        else:
            more *= np.float32(SLOPE)
        more += u
        label = rng.random(n, dtype=np.float32) < more
        columns |= {"p": Column(u), "label": Column(label.view(np.int8))}
        if spec.get("sliced"):
            codes = rng.integers(0, N_SLICES, n, dtype=np.int8).astype(np.intp)
            columns["country"] = Names(codes, [f"country {j}" for j in range(N_SLICES)])
        return columns

    def _doubles(self, rng: np.random.Generator, n: int) -> np.ndarray[Any, Any]:
        """Doubles of 53 random bits; their sums are counted on the way."""
        whole = rng.integers(0, 1 << 53, n, dtype=np.int64)
        u = whole * 2.0**-53
        bins = (whole * BINS) >> 53
        # Sums of half a million numbers below 2^27 are whole numbers that a double holds.
        halves = [
            np.bincount(bins, half, BINS).astype(np.int64)
            for half in (whole >> 27, whole & ((1 << 27) - 1))
        ]
        with self._lock:
            MadeReader.exact = MadeReader.exact + halves
            running = np.concatenate([[MadeReader.running], u])
            MadeReader.running = float(np.cumsum(running, out=running)[-1])
        return u


def register() -> None:
    """Let `evaluate_file` know the format "made", whose files end in .made."""
    find.SUFFIXES["made"] = (".made",)
    new = source._new_reader
    source._new_reader = lambda file: MadeReader(file) if file.format == "made" else new(file)


def made(folder: str, rows: int, **spec: Any) -> str:
    """A file of some bytes that stands for so many rows."""
    path = Path(folder) / f"rows-{rows}.made"
    path.write_text(json.dumps({"rows": rows, "seed": 0, **spec}))
    return str(path)


# --- the cases ------------------------------------------------------------------------------------


def of_interval(result: Any) -> dict[str, float]:
    """The ECE, the width of its interval, and whether the truth is inside."""
    estimate = result.estimate("ece")
    interval = estimate.interval
    return {
        "ece": estimate.value,
        "width": interval.high - interval.low,
        "holds": float(interval.low <= TRUTH <= interval.high),
    }


def run_made(folder: str, n: int) -> dict[str, float]:
    rows = file_rows(ReadRequest(made(folder, n), y_true="label", y_proba="p"))
    with RowProgress(rows.n_bytes, show=False) as shown:
        list(over_pieces(rows, lambda batches: sum(batch.n for batch in batches), shown))
    return {}


def run_intervals(folder: str, n: int) -> dict[str, float]:
    return of_interval(cal.evaluate_file(made(folder, n), measures=MEASURES, uncertainty=True))


def run_everything(folder: str, n: int) -> dict[str, float]:
    result = cal.evaluate_file(made(folder, n))
    return {"ece": result["ece"], "measures": float(len(result.estimates))}


def run_slices(folder: str, n: int) -> dict[str, float]:
    path = made(folder, n, sliced=True)
    slices = cal.evaluate_file(path, by="country", measures=["ece"]).slices
    off = max(abs(part.values["ece"] - TRUTH) for part in slices)
    return {"ece": TRUTH + off, "slices": float(len(list(slices)))}


def run_clusters(folder: str, n: int) -> dict[str, float]:
    path = made(folder, n, clusters=True)
    return of_interval(cal.evaluate_file(path, measures=["ece"], uncertainty=True, groups="user"))


def run_merge(folder: str, n: int) -> dict[str, float]:
    """States of parts, each from rows of its own, and the time to load and merge them."""
    for j in range(STATES):
        state = cal.Accumulator()
        rows = file_rows(
            ReadRequest(made(folder, n // STATES, seed=j), y_true="label", y_proba="p")
        )
        for piece in rows.pieces():
            with closing(rows.batches(piece)) as batches:
                for batch in batches:
                    state.update(batch.y_true, batch.y_proba)
        state.save(Path(folder) / f"{j}.state")
    size = (Path(folder) / "0.state").stat().st_size
    start = time.process_time()
    total = cal.Accumulator.load(Path(folder) / "0.state")
    for j in range(1, STATES):
        total.merge(cal.Accumulator.load(Path(folder) / f"{j}.state"))
    seconds = time.process_time() - start
    assert total.n_rows == n // STATES * STATES
    found = of_interval(total.evaluate(measures=["ece"], uncertainty=True))
    return {**found, "merge_s": seconds, "state_kib": size / 1024}


HASHED = f"""
    SELECT u::FLOAT AS p, (v < u + {SLOPE} * u * (1 - u))::TINYINT AS label
    FROM (SELECT (h >> 40) / 16777216.0 AS u, (hash(h) >> 40) / 16777216.0 AS v
          FROM (SELECT hash(i) AS h FROM range({{n}}) t(i)))
"""


def run_duckdb(folder: str, n: int) -> dict[str, float]:
    import duckdb

    rows = duckdb.sql(HASHED.format(n=n))
    return of_interval(cal.evaluate("label", "p", data=rows, measures=MEASURES, uncertainty=True))


def run_floats(folder: str, n: int) -> dict[str, float]:
    """The relative error of the sums of predictions: the worst of 15 bins, and one running sum."""
    request = ReadRequest(made(folder, n, double=True), y_true="label", y_proba="p")
    found = evaluate_request(request, Options(measures=["ece"]), fine=True)
    table = found.sums.summary.bins.sums[0]
    assert int(table[:, FIELDS.index("n")].sum()) == n
    high, low = MadeReader.exact.tolist()
    exact = [Fraction((a << 27) + b, 1 << 53) for a, b in zip(high, low, strict=True)]
    sums = map(Fraction, table[:, FIELDS.index("sum_wu")].tolist())
    worst = max(abs(mine / true - 1) for mine, true in zip(sums, exact, strict=True))
    running = abs(Fraction(MadeReader.running) / sum(exact) - 1)
    return {
        "ece": found.result["ece"],
        "worst_bin": float(worst),
        "running_sum": float(running),
    }


CASES: dict[str, Callable[[str, int], dict[str, float]]] = {
    "made": run_made, "intervals": run_intervals, "everything": run_everything,
    "slices": run_slices, "clusters": run_clusters, "merge": run_merge, "duckdb": run_duckdb,
    "floats": run_floats,
}  # fmt: skip


# --- measuring ------------------------------------------------------------------------------------


def measured(case: str, n: int) -> dict[str, float]:
    """A case in this process: seconds, processor seconds, peak of memory, passes, values."""
    register()
    with tempfile.TemporaryDirectory() as folder:
        # What is imported late, and what is computed once, comes before the clock.
        CASES[case](folder, 20_000)
        MadeReader.read, MadeReader.running = 0, 0.0
        MadeReader.exact = np.zeros_like(MadeReader.exact)
        start, used = time.perf_counter(), time.process_time()
        values = CASES[case](folder, n)
        seconds, processor = time.perf_counter() - start, time.process_time() - used
    return {
        "rows": n,
        "seconds": seconds,
        "processor": processor,
        "mebibytes": peak_memory() / 2**20,
        "passes": MadeReader.read / n if case != "duckdb" else math.nan,
        **values,
    }


def show(case: str, found: dict[str, float]) -> None:
    """A line of the table."""
    n = found["rows"]
    line = f"{case:12}{n:8.0e}{found['seconds']:9.1f}{found['processor']:11.1f}"
    line += f"{found['processor'] / n * 1e9:9.1f}{found['mebibytes']:10.0f}{found['passes']:8.2g}"
    if "ece" in found:
        line += f"{found['ece'] - TRUTH:+12.1e}"
    if "width" in found:
        line += f"{found['width']:10.2e}{found['width'] * math.sqrt(n):10.3f}"
        line += "   yes" if found["holds"] else "    no"
    rest = {name: value for name, value in found.items() if name not in SHOWN}
    print(line + "".join(f"  {name} {value:.3g}" for name, value in rest.items()), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rows", type=float, nargs="+", default=[1e7, 1e8, 1e9])
    parser.add_argument("--cases", nargs="+", choices=CASES, default=list(CASES))
    parser.add_argument("--json", metavar="FILE", help="write the figures to a file too")
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(measured(options.cases[0], int(options.rows[0]))))
        return
    print(f"{platform.machine()}, {os.cpu_count()} cores; calibrant {cal.__version__}")
    print(
        f"{'case':12}{'rows':>8}{'seconds':>9}{'processor':>11}{'ns/row':>9}{'peak MiB':>10}"
        f"{'passes':>8}{'ece - 1/60':>12}{'width':>10}{'x sqrt(n)':>10}  holds",
        flush=True,
    )
    figures: dict[str, list[dict[str, float]]] = {}
    for case in options.cases:
        for n in map(int, options.rows):
            command = [sys.executable, __file__, "--one", "--cases", case, "--rows", str(n)]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                sys.exit(f"{case} of {n} rows failed:\n{done.stderr}")
            figures.setdefault(case, []).append(json.loads(done.stdout.splitlines()[-1]))
            show(case, figures[case][-1])
    if options.json:
        Path(options.json).write_text(json.dumps(figures))


if __name__ == "__main__":
    main()
