"""Files of any size: Calibrant beside queries written by hand for DuckDB and Polars.

    python benchmarks/files.py [--format parquet] [--rows 200000000] [--repeats 5] [--folder DIR]
                               [--json FILE]

The error of 15 equal-width bins over predictions and labels: float32 and int8 in Parquet, all
digits of a double in CSV and JSON lines (5 million rows by default). The file is written to a
temporary folder and deleted; it is read once before, so that all find it in the page cache. Every
tool runs in a process of its own, which tells its own peak of memory; tools take turns, and times
are medians. Calibrant checks every value on its way; the queries check nothing. `intervals` is
Calibrant with an interval, a noise floor and a verdict.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from importlib import import_module, metadata
from pathlib import Path
from typing import Any

TOOLS = ("calibrant", "intervals", "duckdb", "polars")
# Rows that are made and written at a time.
BLOCK = 1 << 22
ROWS = {"parquet": 200_000_000, "csv": 5_000_000, "jsonl": 5_000_000}


def by_calibrant(path: str) -> float:
    import calibrant as cal

    return cal.evaluate_file(path, measures=["ece"])["ece"]


def with_intervals(path: str) -> float:
    """The same with an interval, a noise floor and a verdict, from the sums of the same pass."""
    import calibrant as cal

    return cal.evaluate_file(path, measures=["ece"], uncertainty=True)["ece"]


def by_duckdb(path: str) -> float:
    import duckdb

    query = f"""
        SELECT sum(abs(s)) / sum(n) FROM (
            SELECT least(cast(floor(p * 15) AS INTEGER), 14) AS bin, count(*) AS n,
                   sum(p) - sum(label) AS s
            FROM '{path}' GROUP BY bin)
    """
    return float(duckdb.sql(query).fetchall()[0][0])


def by_polars(path: str) -> float:
    import polars as pl

    bins = (pl.col("p") * 15).floor().cast(pl.Int8).clip(0, 14).alias("bin")
    gap = (pl.col("p").cast(pl.Float64).sum() - pl.col("label").cast(pl.Int64).sum()).alias("s")
    scan = {".parquet": pl.scan_parquet, ".csv": pl.scan_csv, ".jsonl": pl.scan_ndjson}
    sums = scan[Path(path).suffix](path).group_by(bins).agg(pl.len().alias("n"), gap)
    whole = sums.select(pl.col("s").abs().sum() / pl.col("n").sum())
    return float(whole.collect(engine="streaming").item())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--format", choices=ROWS, default="parquet")
    parser.add_argument("--rows", type=int, help="200 million of Parquet, 5 million of text")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--folder", help="where the file is written; 5 to 40 bytes a row")
    parser.add_argument("--json", metavar="FILE", help="write the figures to a file too")
    parser.add_argument("--tool", choices=TOOLS, help=argparse.SUPPRESS)
    parser.add_argument("--path", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.tool:
        print(json.dumps(measured(options.tool, options.path)))
        return
    print(machine(), flush=True)
    rows = options.rows or ROWS[options.format]
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        path = str(Path(folder) / f"rows.{options.format}")
        (write if options.format == "parquet" else write_text)(path, rows)
        size = cached(path)
        print(f"{rows:,} rows, {size / 1e6:,.0f} MB of {options.format}", flush=True)
        figures = side_by_side(path, options.repeats)
    show(figures, rows)
    if options.json:
        Path(options.json).write_text(json.dumps({"machine": machine(), "figures": figures}))


def write(path: str, rows: int) -> None:
    """Predictions that are a little too sure, in row groups of the usual size."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(0)
    schema = pa.schema([("p", pa.float32()), ("label", pa.int8())])
    with pq.ParquetWriter(path, schema) as writer:
        for start in range(0, rows, BLOCK):
            n = min(BLOCK, rows - start)
            p = rng.random(n, dtype=np.float32)
            label = (rng.random(n, dtype=np.float32) < p**1.2).astype(np.int8)
            writer.write_table(pa.table({"p": p, "label": label}, schema=schema))


def write_text(path: str, rows: int) -> None:
    """The same predictions as doubles, line by line."""
    import numpy as np

    rng = np.random.default_rng(0)
    line = "{},{}\n" if path.endswith(".csv") else '{{"label": {}, "p": {}}}\n'
    with open(path, "w") as file:
        if path.endswith(".csv"):
            file.write("label,p\n")
        for start in range(0, rows, 1 << 16):
            n = min(1 << 16, rows - start)
            p = rng.random(n)
            label = (rng.random(n) < p**1.2).astype(np.int8)
            file.writelines(map(line.format, label.tolist(), p.tolist()))


def cached(path: str) -> int:
    """Read a file once, so that all find it in the page cache; its size."""
    with open(path, "rb") as file:
        while file.read(1 << 24):
            pass
    return os.path.getsize(path)


def measured(tool: str, path: str) -> dict[str, float]:
    """Seconds of the call alone, after its imports, and the most memory the process had."""
    ours = dict.fromkeys(("calibrant", "intervals"), "calibrant._api.files.evaluate_file")
    import_module(ours.get(tool, tool))
    if tool == "intervals":
        import_module("calibrant._api.infer_from_sums")
    if tool in ours and path.endswith(".parquet"):
        import_module("pyarrow.parquet")
    calls = {"calibrant": by_calibrant, "intervals": with_intervals}
    call = {**calls, "duckdb": by_duckdb, "polars": by_polars}[tool]
    start = time.perf_counter()
    value = call(path)
    seconds = time.perf_counter() - start
    return {"seconds": seconds, "mebibytes": peak_memory() / 2**20, "value": value}


def peak_memory() -> int:
    """Bytes. Linux tells it of the process alone; what getrusage tells there begins with the
    parent's.
    """
    if sys.platform == "linux":
        lines = Path("/proc/self/status").read_text().splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def side_by_side(path: str, repeats: int) -> dict[str, Any]:
    """Every tool in turn, so that a slow spell of the machine hits them all."""
    runs: dict[str, list[dict[str, float]]] = {tool: [] for tool in TOOLS}
    for _ in range(repeats):
        for tool in TOOLS:
            command = [sys.executable, __file__, "--tool", tool, "--path", path]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                sys.exit(f"{tool} failed:\n{done.stderr}")
            runs[tool].append(json.loads(done.stdout))
    return {
        tool: {
            "seconds": statistics.median(run["seconds"] for run in found),
            "mebibytes": max(run["mebibytes"] for run in found),
            "value": found[0]["value"],
        }
        for tool, found in runs.items()
    }


def show(figures: dict[str, Any], rows: int) -> None:
    ours = figures["calibrant"]["seconds"]
    print(f"{'':12}{'seconds':>9}{'ratio':>8}{'M rows/s':>10}{'peak MiB':>10}   value")
    for tool, found in figures.items():
        seconds, peak = found["seconds"], found["mebibytes"]
        speed = rows / seconds / 1e6
        ratio = seconds / ours
        print(
            f"{tool:12}{seconds:9.2f}{ratio:8.2f}{speed:10.0f}{peak:10.0f}   {found['value']:.6f}"
        )


def machine() -> str:
    packages = ("calibrant", "pyarrow", "duckdb", "polars")
    versions = ", ".join(f"{name} {metadata.version(name)}" for name in packages)
    return f"{platform.machine()}, {os.cpu_count()} cores; {versions}"


if __name__ == "__main__":
    main()
