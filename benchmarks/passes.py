"""What each function reads and what it brings here: counted, not guessed.

    python benchmarks/passes.py [--rows 2000000] [--of files frames bytes] [--price 5]
                                [--engine duckdb]

`files`: how often each row of a file is read (the reader of `at_scale.py` counts). `frames`: the
queries of a lazy frame, each of which reads its columns once, and the rows and bytes that come
back: what a cluster shuffles is that much from each task. `bytes`: bytes a row of the columns of a
Parquet file, from its footer, and what reading three of them costs at 10^10 rows.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import at_scale
import narwhals as nw
import numpy as np

import calibrant as cal
from calibrant._cli import main as command

N_AT_SCALE, TERABYTE = 10**10, 10**12
COLUMNS = ("p", "label", "country")
CLUSTERS, COUNTRIES = 1000, 50


@dataclass
class Seen:
    """The results of queries: (rows, columns, bytes) of each."""

    results: list[tuple[int, int, int]] = field(default_factory=list)


@contextmanager
def counted_queries() -> Iterator[Seen]:
    """Count the queries that lazy frames run inside the block."""
    seen, collect = Seen(), nw.LazyFrame.collect

    def counting(self: Any, *given: Any, **options: Any) -> Any:
        out = collect(self, *given, **options)
        seen.results.append((*out.shape, out.to_arrow().nbytes))
        return out

    nw.LazyFrame.collect = counting  # type: ignore[method-assign]
    try:
        yield seen
    finally:
        nw.LazyFrame.collect = collect  # type: ignore[method-assign]


# --- lazy frames ----------------------------------------------------------------------------------

BOTH = {"first": "p", "second": "q"}
OF_FRAMES: dict[str, Callable[[Any], Any]] = {
    "ece": lambda d: cal.ece("label", "p", data=d),
    "evaluate, ece": lambda d: cal.evaluate("label", "p", data=d, measures=["ece"]),
    "evaluate": lambda d: cal.evaluate("label", "p", data=d),
    "evaluate, ece, uncertainty": lambda d: cal.evaluate(
        "label", "p", data=d, measures=["ece"], uncertainty=True
    ),
    "evaluate, uncertainty": lambda d: cal.evaluate("label", "p", data=d, uncertainty=True),
    "evaluate, ece, uncertainty, groups": lambda d: cal.evaluate(
        "label", "p", data=d, measures=["ece"], uncertainty=True, groups="user"
    ),
    "evaluate, ece, by": lambda d: cal.evaluate(
        "label", "p", data=d, measures=["ece"], by="country"
    ),
    "interval, verdict (each)": lambda d: cal.interval("label", "p", data=d),
    "check": lambda d: cal.check("label", "p", data=d, at_most={"ece": 0.1}),
    "check, by": lambda d: cal.check("label", "p", data=d, at_most={"ece": 0.1}, by="country"),
    "compare of two columns": lambda d: cal.compare("label", BOTH, data=d, measures=["ece"]),
    "cox_calibration": lambda d: cal.cox_calibration("label", "p", data=d),
    "cox_calibration, groups": lambda d: cal.cox_calibration("label", "p", data=d, groups="user"),
    "decompose": lambda d: cal.decompose("label", "p", data=d),
    "decision_curve": lambda d: cal.decision_curve("label", "p", data=d),
    "clinical_summary": lambda d: cal.clinical_summary("label", "p", data=d),
    "reliability": lambda d: cal.reliability("label", "p", data=d),
    "reliability_curve": lambda d: cal.reliability_curve("label", "p", data=d),
    "find_segments": lambda d: cal.find_segments("label", "p", ["country"], data=d),
    "Accumulator.update": lambda d: cal.Accumulator().update("label", "p", data=d),
}


def frame_of(engine: str, n: int) -> Any:
    """Rows with two predictions, a label, a user and a country, in an engine's table."""
    rng = np.random.default_rng(0)
    p = rng.random(n)
    columns = {
        "p": p,
        "q": np.clip(p + rng.normal(0, 0.05, n), 0, 1),
        "label": (rng.random(n) < p + p * (1 - p) / 10).astype(np.int8),
        "user": rng.integers(0, CLUSTERS, n),
        "country": np.array([f"country {j}" for j in range(COUNTRIES)])[
            rng.integers(0, COUNTRIES, n)
        ],
    }
    import pyarrow as pa

    rows = pa.table(columns)
    if engine == "polars":
        import polars as pl

        return pl.from_arrow(rows).lazy()
    import duckdb

    connection = duckdb.connect()
    connection.execute("CREATE TABLE log AS FROM rows")
    return connection.table("log")


def of_frames(engine: str, n: int) -> None:
    """The table of functions of lazy frames."""
    data = frame_of(engine, n)
    print(f"\nlazy frames: {n:,} rows, {CLUSTERS:,} users, {COUNTRIES} countries, {engine}")
    print(f"{'':36}{'queries':>8}{'rows back':>11}{'most':>10}{'MB back':>9}{'cpu s':>7}")
    for name, call in OF_FRAMES.items():
        used = time.process_time()
        with counted_queries() as seen:
            call(data)
        used = time.process_time() - used
        rows = [result[0] for result in seen.results]
        size = sum(result[2] for result in seen.results) / 1e6
        print(
            f"{name:36}{len(rows):8}{sum(rows):11,}{max(rows):10,}{size:9.2f}{used:7.1f}",
            flush=True,
        )


# --- files ----------------------------------------------------------------------------------------


def by_command(*words: str) -> None:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        code = command(list(words))
    if code not in (0, 1, 2):
        sys.exit(f"{words} ended with {code}:\n{printed.getvalue()}")


def of_file(path: str, **options: Any) -> Any:
    return cal.evaluate_file(path, **options)


OF_FILES: dict[str, Callable[[str], Any]] = {
    "ece": lambda f: of_file(f, measures=["ece"]),
    "ece, uncertainty": lambda f: of_file(f, measures=["ece"], uncertainty=True),
    "ece, uncertainty, groups": lambda f: of_file(
        f, measures=["ece"], uncertainty=True, groups="user"
    ),
    "ece, by": lambda f: of_file(f, measures=["ece"], by="country"),
    "lin_ce (quantile bins)": lambda f: of_file(f, measures=["lin_ce"]),
    "everything": of_file,
    "everything, uncertainty": lambda f: of_file(f, uncertainty=True),
    "everything, exact=False": lambda f: of_file(f, exact=False),
    "ece, bins=cbrt": lambda f: of_file(f, measures=["ece"], bins="cbrt"),
    "calibrant check": lambda f: by_command("check", f, "--max", "ece=0.1"),
    "calibrant check --by": lambda f: by_command("check", f, "--max", "ece=0.1", "--by", "country"),
    "calibrant report": lambda f: by_command("report", f, "-o", str(Path(f).with_suffix(".html"))),
}


def of_files(n: int) -> None:
    """The table of functions of files."""
    at_scale.register()
    print(f"\nfiles: {n:,} rows")
    print(f"{'':36}{'passes':>8}")
    with tempfile.TemporaryDirectory() as folder:
        path = at_scale.made(folder, n, clusters=True, sliced=True)
        for name, call in OF_FILES.items():
            at_scale.MadeReader.read = 0
            call(path)
            print(f"{name:36}{at_scale.MadeReader.read / n:8.2f}", flush=True)


# --- bytes ----------------------------------------------------------------------------------------


def of_bytes(n: int, price: float) -> None:
    """Bytes a row of the columns of Parquet files, and the cost of reading three of them."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(0)
    p = rng.beta(1.0, 3.0, n)
    columns = {
        "p": p.astype(np.float32),
        "p, double": p,
        "p, 4 digits": np.round(p, 4).astype(np.float32),
        "label": (rng.random(n) < p).astype(np.int8),
        "country": pa.DictionaryArray.from_arrays(
            rng.integers(0, COUNTRIES, n, dtype=np.int32),
            [f"country_{j:02}" for j in range(COUNTRIES)],
        ),
        "user": rng.integers(0, n // 10, n),
    }
    print(f"\nbytes a row in Parquet: {n:,} rows, predictions Beta(1, 3)")
    print(f"{'':12}" + "".join(f"{name:>13}" for name in columns) + f"{'three':>10}")
    with tempfile.TemporaryDirectory() as folder:
        for packed in ("snappy", "zstd"):
            path = Path(folder) / f"{packed}.parquet"
            pq.write_table(pa.table(columns), path, compression=packed)
            found = pq.ParquetFile(path).metadata
            groups = [found.row_group(j) for j in range(found.num_row_groups)]
            per_row = {
                name: sum(group.column(j).total_compressed_size for group in groups) / n
                for j, name in enumerate(columns)
            }
            three = sum(per_row[name] for name in COLUMNS)
            sizes = "".join(f"{size:13.3f}" for size in per_row.values())
            print(f"{packed:12}{sizes}{three:10.3f}", flush=True)
            size = three * N_AT_SCALE / TERABYTE
            for passes in (1, 2, 3):
                print(
                    f"  {passes} pass{'es' if passes > 1 else ''} over {', '.join(COLUMNS)} of "
                    f"10^10 rows: {passes * size:.4f} TB, {passes * size * price:.2f} at {price:g} "
                    "a TB"
                )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rows", type=float, default=2e6)
    parser.add_argument("--of", nargs="+", choices=("files", "frames", "bytes"))
    parser.add_argument("--engine", choices=("duckdb", "polars"), default="duckdb")
    parser.add_argument("--price", type=float, default=5.0, help="of a terabyte that is scanned")
    options = parser.parse_args()
    n = int(options.rows)
    asked = options.of or ("files", "frames", "bytes")
    if "files" in asked:
        of_files(n)
    if "frames" in asked:
        of_frames(options.engine, n)
    if "bytes" in asked:
        of_bytes(n, options.price)


if __name__ == "__main__":
    main()
