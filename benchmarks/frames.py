"""The same sums from every engine: rows of one Parquet file, asked of each frame library.

    python benchmarks/frames.py [--rows 20000000] [--repeats 3] [--engines polars duckdb ...]

`ece` is one query for fifteen bins; `everything` is all that `evaluate` says of (n,) predictions:
fine cells, quantile bins, losses and the moments behind the smooth errors; `segments` searches
three columns and their crossings. Times are medians of calls in one process, the file in the page
cache, beside hand-written SQL of the same sums; values must agree with arrays.
"""

from __future__ import annotations

import argparse
import math
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import calibrant as cal
from files import BLOCK, cached, machine


def arrays(path: str) -> Any:
    import pyarrow.parquet as pq

    return pq.read_table(path)


def polars(path: str) -> Any:
    import polars as pl

    return pl.scan_parquet(path)


def duckdb(path: str) -> Any:
    import duckdb

    return duckdb.read_parquet(path)


def ibis(path: str) -> Any:
    import ibis

    return ibis.duckdb.connect().read_parquet(path)


def dask(path: str) -> Any:
    import dask.dataframe as dd

    return dd.read_parquet(path, split_row_groups=True)


def spark(path: str) -> Any:
    from pyspark.sql import SparkSession

    session = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.driver.memory", "4g")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("ERROR")
    return session.read.parquet(path)


ENGINES: dict[str, Callable[[str], Any]] = {
    "arrays": arrays, "polars": polars, "duckdb": duckdb, "ibis": ibis, "dask": dask,
    "spark": spark,
}  # fmt: skip


# The same work in a few lines of SQL: fifteen bins; the sums from which everything comes, in groups
# as fine as the smoothing grids; and sums by three columns. Nothing is checked.
SQL = {
    "ece": "select floor(p * 15) as bin, count(*), sum(p) - sum(label) from {rows} group by bin",
    "everything": """
        select c, h_cell, label, count(*), min(p), max(p), sum(t), sum(t * t), sum(t * t * t),
            sum(t * t * t * t), sum(h), sum(h * h), sum(h * h * h), sum(log), sum(spherical),
            sum(1 - u), sum((1 - u) * (1 - u))
        from (
            select *, u * 16384 - c as t, place - h_cell as h, ln(seen) as log,
                seen / sqrt(u * u + (1 - u) * (1 - u)) as spherical
            from (
                select *, floor(u * 16384) as c, floor(place) as h_cell,
                    greatest(if(label = 1, u, 1 - u), 1e-12) as seen
                from (
                    select *, ln(inside / (1 - inside)) * 1024 as place
                    from (
                        select p, p::double as u, label,
                            least(greatest(u, 1e-6), 1 - 1e-6) as inside
                        from {rows}
                    )
                )
            )
        ) group by c, h_cell, label""",
    "segments": """
        select country, device, position // 4 as part, count(*), sum(p), sum(label), sum(p * p),
            sum(p * label), sum(p * (1 - p)) from {rows} group by country, device, part""",
}
SEGMENTS = ["country", "device", "position"]


def plain_sql(path: str) -> dict[str, float]:
    """Processor seconds of the hand-written queries, without bringing their results into order."""
    import duckdb as library

    rows = library.read_parquet(path)
    columns = set(rows.columns)
    times = {}
    for name, text in SQL.items():
        if name != "segments" or columns.issuperset(SEGMENTS):
            query = text.format(rows=f"'{path}'")
            times[name] = timed(lambda q=query: library.execute(q).fetchall(), 1)[1]
    return times


def write_columns(path: str, rows: int) -> None:
    """Predictions, labels and three columns to search for segments, in row groups."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng, writer = np.random.default_rng(0), None
    names = {"country": [f"country {j}" for j in range(50)], "device": [*"abcde"]}
    for start in range(0, rows, BLOCK):
        n = min(BLOCK, rows - start)
        p = rng.beta(1.0, 3.0, n)
        codes = {name: rng.integers(0, len(each), n) for name, each in names.items()}
        right = np.clip(p * (1 + 0.1 * np.sin(codes["country"])), 0, 1)
        columns = {
            "p": p.astype(np.float32),
            "label": (rng.random(n) < right).astype(np.int8),
            "position": rng.integers(0, 20, n).astype(np.int16),
        }
        for name, each in names.items():
            columns[name] = pa.DictionaryArray.from_arrays(codes[name].astype(np.int32), each)
        table = pa.table(columns)
        writer = writer or pq.ParquetWriter(path, table.schema)
        writer.write_table(table)
    if writer is not None:
        writer.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rows", type=int, default=20_000_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--engines", nargs="+", choices=ENGINES, default=list(ENGINES))
    parser.add_argument("--folder", help="where the file is written; about 7 bytes a row")
    parser.add_argument("--file", help="a Parquet file to read, in place of one that is written")
    options = parser.parse_args()
    print(machine(), flush=True)
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        path = options.file or os.path.join(folder, "rows.parquet")
        if not options.file:
            write_columns(path, options.rows)
            print(f"{options.rows:,} rows, float32 predictions and int8 labels")
        cached(path)
        print(f"{'processor seconds':20}{'ece':>8}{'everything':>12}{'segments':>10}", flush=True)
        show("plain SQL, duckdb", plain_sql(path))
        expected = None
        for name in options.engines:
            data = ENGINES[name](path)
            error, ece = timed(lambda d=data: cal.ece("label", "p", data=d), options.repeats)
            _, all_of_it = timed(lambda d=data: cal.evaluate("label", "p", data=d), 1)
            _, found = timed(lambda d=data: cal.find_segments("label", "p", SEGMENTS, data=d), 1)
            expected = error if expected is None else expected
            if not math.isclose(error, expected, rel_tol=1e-11):
                sys.exit(f"{name} says {error!r}, not {expected!r}")
            show(name, {"ece": ece, "everything": all_of_it, "segments": found})


def show(name: str, times: dict[str, float]) -> None:
    """A line of the table."""
    print(
        f"{name:20}"
        + "".join(
            f"{times[key]:{width}.2f}" if key in times else ""
            for key, width in (("ece", 8), ("everything", 12), ("segments", 10))
        ),
        flush=True,
    )


def timed(call: Callable[[], Any], repeats: int) -> tuple[Any, float]:
    """The value, and the median processor seconds of as many calls after a first one; of Spark and
    its Java, seconds by the clock.
    """
    value = call()
    clock = time.perf_counter if "pyspark" in sys.modules else time.process_time
    times = []
    for _ in range(repeats):
        start = clock()
        value = call()
        times.append(clock() - start)
    return value, statistics.median(times)


if __name__ == "__main__":
    main()
