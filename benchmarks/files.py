"""Files of any size: Calibrant beside queries written by hand for DuckDB and Polars.

    python benchmarks/files.py [--format parquet] [--rows 200000000] [--repeats 5] [--folder DIR]
                               [--json FILE] [--by] [--check] [--report]

The error of 15 equal-width bins over predictions and labels: float32 and int8 in Parquet, all
digits of a double in CSV and JSON lines (5 million rows by default). The file is written to a
temporary folder and deleted; it is read once before, so that all find it in the page cache. Every
tool runs in a process of its own, which tells its own peak of memory; tools take turns, and times
are medians. Calibrant checks every value on its way; the queries check nothing. `intervals` is
Calibrant with an interval, a noise floor and a verdict.

With `--by` the file is a Parquet of eleven columns, 60 million rows by default, and ECE is asked
for 50 countries, then ECE and Brier score for 250 crossings of two columns; with `--check` each
country is held against a limit, beside the check of all rows; with `--report` the page of
everything is made. Processor seconds are those of all threads; a `check` and a `report` are whole
commands.
"""

from __future__ import annotations

import argparse
import contextlib
import io
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
BY = {"country": ["country"], "two columns": ["country", "device"]}
OF_SLICES = tuple(f"{tool}, {by}" for by in BY for tool in ("calibrant", "duckdb", "polars"))
CHECKS = ("check", "check, country")
REPORTS = ("report", "report, country")
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


def slices_by_calibrant(path: str, by: list[str]) -> float:
    import calibrant as cal

    measures = ["ece", "brier"][: len(by)]
    slices = cal.evaluate_file(path, by=by, measures=measures).slices
    return max(part.values["ece"] for part in slices)


def slices_by_duckdb(path: str, by: list[str]) -> float:
    """The largest ECE of a slice; with two columns the Brier scores are summed too."""
    import duckdb

    columns = ", ".join(by)
    squares = ", sum((p - label) * (p - label)) AS sq" if len(by) > 1 else ""
    brier = ", sum(sq) / sum(n)" if len(by) > 1 else ""
    query = f"""
        SELECT {columns}, sum(abs(s)) / sum(n) AS ece{brier} FROM (
            SELECT {columns}, least(cast(floor(p * 15) AS INTEGER), 14) AS bin, count(*) AS n,
                   sum(p) - sum(label) AS s{squares}
            FROM '{path}' GROUP BY ALL) GROUP BY {columns} ORDER BY ece DESC
    """
    return float(duckdb.sql(query).fetchall()[0][len(by)])


def slices_by_polars(path: str, by: list[str]) -> float:
    import polars as pl

    p, label = pl.col("p").cast(pl.Float64), pl.col("label").cast(pl.Int64)
    sums = [pl.len().alias("n"), (p.sum() - label.sum()).alias("s")]
    values = [(pl.col("s").abs().sum() / pl.col("n").sum()).alias("ece")]
    if len(by) > 1:
        sums.append(((p - label) ** 2).sum().alias("sq"))
        values.append((pl.col("sq").sum() / pl.col("n").sum()).alias("brier"))
    bins = (pl.col("p") * 15).floor().cast(pl.Int8).clip(0, 14).alias("bin")
    found = pl.scan_parquet(path).group_by(*by, bins).agg(*sums).group_by(*by).agg(*values)
    return float(found.collect(engine="streaming")["ece"].max())


def by_command(tool: str, path: str) -> float:
    """A command of Calibrant, in this process: its exit code."""
    from calibrant._cli import main as command

    verb, *by = tool.split(", ")
    sliced = ["--by", *by] if by else []
    if verb == "check":
        return float(command(["check", path, "--max", "ece=0.01", *sliced, "--json"]))
    page = str(Path(path).with_suffix(".html"))
    return float(command(["report", path, "-o", page, *sliced, "--json"]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--format", choices=ROWS, default="parquet")
    parser.add_argument("--rows", type=int, help="200 million of Parquet, 5 million of text")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--folder", help="where the file is written; 5 to 40 bytes a row")
    parser.add_argument("--json", metavar="FILE", help="write the figures to a file too")
    parser.add_argument("--by", action="store_true", help="slices, beside queries for them")
    parser.add_argument("--check", action="store_true", help="a check, with slices and without")
    parser.add_argument("--report", action="store_true", help="the page of everything")
    parser.add_argument("--tool", help=argparse.SUPPRESS)
    parser.add_argument("--path", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.tool:
        print(json.dumps(measured(options.tool, options.path)))
        return
    print(machine(), flush=True)
    chosen = [(options.by, OF_SLICES), (options.check, CHECKS), (options.report, REPORTS)]
    tools = tuple(tool for asked, names in chosen if asked for tool in names)
    rows = options.rows or (60_000_000 if tools else ROWS[options.format])
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        path = str(Path(folder) / f"rows.{options.format}")
        if tools:
            write_log(path, rows)
        else:
            (write if options.format == "parquet" else write_text)(path, rows)
        size = cached(path)
        print(f"{rows:,} rows, {size / 1e6:,.0f} MB of {options.format}", flush=True)
        figures = side_by_side(path, options.repeats, tools or TOOLS)
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


def write_log(path: str, rows: int) -> None:
    """A log of predictions as shops keep them, eleven columns, two of them categories."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng, writer = np.random.default_rng(0), None
    countries, shares = [f"country_{i:02d}" for i in range(50)], rng.dirichlet(np.full(50, 3.0))
    devices = ["phone", "tablet", "desktop", "tv", "watch"]
    first, block = np.datetime64("2026-01-01", "us"), 1 << 20
    for start in range(0, rows, block):
        n = min(block, rows - start)
        p, country = rng.beta(1.0, 3.0, n), rng.choice(50, n, p=shares).astype(np.int32)
        true = np.clip(p * (1 + 0.1 * np.sin(country)), 0, 1)
        device = rng.integers(0, 5, n, dtype=np.int32)
        columns = {
            "p": p.astype(np.float32),
            "label": (rng.random(n) < true).astype(np.int64),
            "country": pa.DictionaryArray.from_arrays(country, countries),
            "device": pa.DictionaryArray.from_arrays(device, devices),
            "time": first + (np.arange(start, start + n) * 500_000).astype("timedelta64[us]"),
            "user": rng.integers(0, 3_000_000, n),
            "price": rng.gamma(2.0, 10.0, n).astype(np.float32),
            "position": rng.integers(0, 20, n).astype(np.int16),
            "age": rng.integers(18, 90, n).astype(np.int8),
            "campaign": rng.integers(0, 2000, n).astype(np.int32),
            "returning": rng.random(n) < 0.4,
        }
        table = pa.table(columns)
        writer = writer or pq.ParquetWriter(path, table.schema)
        writer.write_table(table)
    if writer is not None:
        writer.close()


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
    name = tool.partition(", ")[0]
    import_module("calibrant._cli" if tool in (*CHECKS, *REPORTS) else ours.get(name, name))
    if name == "intervals":
        import_module("calibrant._api.evaluate_uncertainty")
    if tool in OF_SLICES:
        import_module("scipy.special")
    if name in ours and path.endswith(".parquet"):
        import_module("pyarrow.parquet")
    calls: dict[str, Any] = {"calibrant": by_calibrant, "intervals": with_intervals}
    calls |= {"duckdb": by_duckdb, "polars": by_polars}
    of_slices = {
        "calibrant": slices_by_calibrant,
        "duckdb": slices_by_duckdb,
        "polars": slices_by_polars,
    }
    name, _, by = tool.partition(", ")
    start, used = time.perf_counter(), time.process_time()
    if tool in (*CHECKS, *REPORTS):
        with contextlib.redirect_stdout(io.StringIO()):
            value = by_command(tool, path)
    else:
        value = of_slices[name](path, BY[by]) if by else calls[name](path)
    seconds, processor = time.perf_counter() - start, time.process_time() - used
    peak = peak_memory() / 2**20
    return {"seconds": seconds, "processor": processor, "mebibytes": peak, "value": value}


def peak_memory() -> int:
    """Bytes. Linux tells it of the process alone; what getrusage tells there begins with the
    parent's.
    """
    if sys.platform == "linux":
        lines = Path("/proc/self/status").read_text().splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def side_by_side(path: str, repeats: int, tools: tuple[str, ...]) -> dict[str, Any]:
    """Every tool in turn, so that a slow spell of the machine hits them all."""
    runs: dict[str, list[dict[str, float]]] = {tool: [] for tool in tools}
    for _ in range(repeats):
        for tool in tools:
            command = [sys.executable, __file__, "--tool", tool, "--path", path]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                sys.exit(f"{tool} failed:\n{done.stderr}")
            runs[tool].append(json.loads(done.stdout))
    return {
        tool: {
            "seconds": statistics.median(run["seconds"] for run in found),
            "processor": statistics.median(run["processor"] for run in found),
            "mebibytes": max(run["mebibytes"] for run in found),
            "value": found[0]["value"],
        }
        for tool, found in runs.items()
    }


def show(figures: dict[str, Any], rows: int) -> None:
    first = next(iter(figures.values()))["seconds"]
    names = f"{'seconds':>9}{'processor':>11}{'ratio':>8}{'M rows/s':>10}{'peak MiB':>10}"
    print(f"{'':24}{names}   value")
    for tool, found in figures.items():
        seconds, peak = found["seconds"], found["mebibytes"]
        speed = rows / seconds / 1e6
        print(
            f"{tool:24}{seconds:9.2f}{found['processor']:11.2f}{seconds / first:8.2f}"
            f"{speed:10.0f}{peak:10.0f}   {found['value']:.6f}"
        )


def machine() -> str:
    packages = ("calibrant", "pyarrow", "duckdb", "polars")
    versions = ", ".join(f"{name} {metadata.version(name)}" for name in packages)
    return f"{platform.machine()}, {os.cpu_count()} cores; {versions}"


if __name__ == "__main__":
    main()
