"""What uncertainty costs: intervals and noise floors, comparisons, and pages, beside plain values.

    python benchmarks/resampling.py            everything
    python benchmarks/resampling.py intervals  one part: intervals, smooth, compare, report

A line has the median of the wall times, the least processor time (of all threads; it hardly
depends on what else the machine does), and its ratio to the plain evaluation of the same rows.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from known_truth.worlds import softmax
from numpy.typing import NDArray

import calibrant as cal

Rows = tuple[NDArray[Any], NDArray[Any]]
SIZES = ((4000, 1), (4000, 10), (50_000, 10), (10_000, 100))
NETWORKS = 12


def rows(n: int, k: int, seed: int = 0) -> Rows:
    """Labels of a calibrated model, and predictions that are too sure of themselves."""
    rng = np.random.default_rng(seed)
    if k == 1:
        h = rng.normal(0.0, 1.5, n)
        y = (rng.random(n) < 1 / (1 + np.exp(-h))).astype(np.int64)
        return y, 1 / (1 + np.exp(-1.4 * h))
    h = rng.normal(0.0, 2.0, (n, k))
    y = (np.cumsum(softmax(h), axis=1)[:, :-1] < rng.random(n)[:, None]).sum(axis=1)
    return y, softmax(1.4 * h)


def timed(work: Callable[[], Any], repeats: int) -> tuple[float, float]:
    """Median wall time and least processor time, after a first call for imports and caches."""
    work()
    wall, processor = [], []
    for _ in range(repeats):
        start, used = time.perf_counter(), time.process_time()
        work()
        wall.append(time.perf_counter() - start)
        processor.append(time.process_time() - used)
    return statistics.median(wall), min(processor)


def line(what: str, wall: float, processor: float, plain: float | None = None) -> None:
    ratio = "" if plain is None else f"  {processor / plain:6.0f} x plain"
    print(f"{what:44s} {wall:7.2f} s, processor {processor:7.2f} s{ratio}", flush=True)


def intervals(repeats: int) -> None:
    for n, k in SIZES:
        y, p = rows(n, k)
        _, plain = timed(lambda y=y, p=p: cal.evaluate(y, p), repeats)
        found = timed(lambda y=y, p=p: cal.evaluate(y, p, uncertainty=True), repeats)
        size = f"{n:,} rows" if k == 1 else f"{n:,} x {k}"
        line(f"evaluate(uncertainty=True), {size}", *found, plain)


def smooth(repeats: int) -> None:
    """What smooth ECE adds to the interval of ECE, up to `QUICK_ROWS` rows and beyond."""
    for n in (100_000, 1_000_000, 4_000_000):
        y, p = rows(n, 1)
        for names in (["ece"], ["ece", "smooth_ece"]):
            make = partial(cal.evaluate, y, p, measures=names, uncertainty=True)
            line(f"intervals of {' and '.join(names)}, {n:,} rows", *timed(make, repeats))


def compare(repeats: int) -> None:
    rng = np.random.default_rng(1)
    y, p = rows(10_000, 10)
    networks = {
        f"network {i}": softmax((1 + 0.05 * i) * np.log(p) + rng.normal(0, 0.2, p.shape))
        for i in range(NETWORKS)
    }
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "page.html"
        found = timed(lambda: cal.compare(y, networks).save(page), repeats)
        line(f"compare of {NETWORKS} networks, 10,000 x 10, page", *found)
        files = [str(Path(folder) / f"{name}.npz") for name in networks]
        for file, predictions in zip(files, networks.values(), strict=True):
            np.savez(file, y_true=y, y_proba=predictions)
        found = of_command(["compare", *files, "-o", str(page)], repeats)
        line(f"calibrant compare, {NETWORKS} networks, 10,000 x 10", *found)


def report(repeats: int) -> None:
    for n in (4000, 1_000_000):
        y, p = rows(n, 10)
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "rows.npz"
            np.savez(file, y_true=y, y_proba=p)
            found = of_command(["report", str(file), "-o", f"{folder}/page.html"], repeats)
        line(f"calibrant report, {n:,} x 10", *found)


def of_command(arguments: list[str], repeats: int) -> tuple[float, float]:
    """The same of a process from start to end, imports included."""
    # As users have it: compiled modules are kept from one run to the next.
    env = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    wall, processor = [], []
    for _ in range(repeats + 1):
        start, used = time.perf_counter(), _of_children()
        command = [sys.executable, "-m", "calibrant", *arguments]
        subprocess.run(command, check=True, capture_output=True, env=env)
        wall.append(time.perf_counter() - start)
        processor.append(_of_children() - used)
    return statistics.median(wall[1:]), min(processor[1:])


def _of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


PARTS = {"intervals": intervals, "smooth": smooth, "compare": compare, "report": report}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("parts", nargs="*", help=f"which: {', '.join(PARTS)}; default all")
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    for part in options.parts or PARTS:
        PARTS[part](options.repeats)


if __name__ == "__main__":
    main()
