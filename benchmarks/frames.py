"""The same sums from every engine: rows of one Parquet file, asked of each frame library.

    python benchmarks/frames.py [--rows 20000000] [--repeats 3] [--engines polars duckdb ...]

`ece` is one query for fifteen bins; `everything` is all that `evaluate` says of (n,) predictions:
fine cells, quantile bins, losses and the moments behind the smooth errors. Times are medians of
calls in one process, the file in the page cache; values must agree with arrays.
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
from files import machine, write


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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rows", type=int, default=20_000_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--engines", nargs="+", choices=ENGINES, default=list(ENGINES))
    parser.add_argument("--folder", help="where the file is written; about 5 bytes a row")
    options = parser.parse_args()
    print(machine(), flush=True)
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        path = os.path.join(folder, "rows.parquet")
        write(path, options.rows)
        print(f"{options.rows:,} rows, float32 predictions and int8 labels")
        print(f"{'engine':10}{'ece, s':>10}{'everything, s':>16}", flush=True)
        expected = None
        for name in options.engines:
            data = ENGINES[name](path)
            error, ece = timed(lambda d=data: cal.ece("label", "p", data=d), options.repeats)
            _, all_of_it = timed(lambda d=data: cal.evaluate("label", "p", data=d), 1)
            expected = error if expected is None else expected
            if not math.isclose(error, expected, rel_tol=1e-11):
                sys.exit(f"{name} says {error!r}, not {expected!r}")
            print(f"{name:10}{ece:10.2f}{all_of_it:16.1f}", flush=True)


def timed(call: Callable[[], Any], repeats: int) -> tuple[Any, float]:
    """The value, and the median of as many calls after a first one."""
    value = call()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        value = call()
        times.append(time.perf_counter() - start)
    return value, statistics.median(times)


if __name__ == "__main__":
    main()
