"""Calibrant beside other tools on the same arrays, in one process, as ratios.

    python benchmarks/run.py [CASE ...] [--quick] [--json FILE]

Every tool runs as its users call it: Calibrant with all its checks, the others with theirs. Times
are medians; the tools take turns, so that a slow spell of the machine hits them all. A tool that is
not installed is left out and named.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import time
import tracemalloc
import warnings
from collections.abc import Callable
from importlib import metadata
from typing import Any

import numpy as np

import calibrant as cal

Tools = dict[str, Callable[[], Any]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("cases", nargs="*", choices=[[], *CASES], help="which; default all")
    parser.add_argument("--quick", action="store_true", help="a hundredth of the rows")
    parser.add_argument("--json", metavar="FILE", help="write the figures to a file too")
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    print(machine())
    figures = {}
    for name in options.cases or CASES:
        print(f"\n{name}: {(CASES[name].__doc__ or '').strip()}", flush=True)
        figures[name] = CASES[name](100 if options.quick else 1)
    if options.json:
        with open(options.json, "w") as file:
            json.dump({"machine": machine(), "figures": figures}, file, indent=1)


def machine() -> str:
    packages = ("numpy", "calibrant", "relplot", "torchmetrics", "torch", "scikit-learn", "netcal")
    versions = ", ".join(f"{name} {version(name)}" for name in packages if version(name))
    threads = os.environ.get("CALIBRANT_THREADS", "default")
    return f"{platform.machine()}, {os.cpu_count()} cores, threads {threads}; {versions}"


def version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return ""


def compare(tools: Tools, unit: float, unit_name: str, repeats: int = 5) -> dict[str, float]:
    """Median times in turns; the ratio is to Calibrant's, the first."""
    times: dict[str, list[float]] = {name: [] for name in tools}
    answers: dict[str, Any] = {}
    for name in list(tools):
        try:
            answers[name] = tools[name]()  # once unmeasured: imports, caches
        except ImportError as error:
            print(f"  {name}: left out ({error})")
            del tools[name], times[name]
    for _ in range(repeats):
        for name, tool in tools.items():
            if sum(times[name]) > 60:  # the slowest tools have made their point
                continue
            turn = time.perf_counter()
            while (
                True
            ):  # short calls are repeated: one alone would time the caches of the last turn
                began = time.perf_counter()
                tool()
                times[name].append(time.perf_counter() - began)
                if time.perf_counter() - turn > 0.1:
                    break
    medians = {name: statistics.median(values) for name, values in times.items()}
    ours = next(iter(medians.values()))
    for name, value in medians.items():
        shown = f"{float(answers[name]):.6f}" if np.ndim(answers[name]) == 0 else ""
        print(f"  {name:42} {value * unit:10.2f} {unit_name}  x{value / ours:8.1f}   {shown}")
    return medians


def binary_samples(n: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    p = rng.random(n)
    return (rng.random(n) < p**1.2).astype(np.int64), p


def class_samples(n: int, k: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(n, k)).astype(np.float32) * 2
    p = np.exp(logits)
    p /= p.sum(axis=1, keepdims=True)
    return rng.integers(0, k, n), p


def equal_width(shrink: int) -> dict[str, float]:
    """binary ECE, 15 equal-width bins, 10^7 float64, ns a sample."""
    n = 10**7 // shrink
    y, p = binary_samples(n)
    y_float = y.astype(np.float64)

    def relplot() -> Any:
        from relplot.metrics import binnedECE

        return binnedECE(p, y_float, 15)

    def torchmetrics() -> Any:
        import torch
        from torchmetrics.functional.classification import binary_calibration_error

        return binary_calibration_error(torch.from_numpy(p), torch.from_numpy(y), n_bins=15)

    def torchmetrics_alone() -> Any:
        import torch

        threads = torch.get_num_threads()
        torch.set_num_threads(1)
        try:
            return torchmetrics()
        finally:
            torch.set_num_threads(threads)

    def scikit_learn() -> Any:
        from sklearn.calibration import calibration_curve

        true, predicted = calibration_curve(y, p, n_bins=15)
        return np.abs(true - predicted).mean()

    def netcal() -> Any:
        from netcal.metrics import ECE

        return ECE(15).measure(p, y)

    tools: Tools = {
        "calibrant.ece (int labels)": lambda: cal.ece(y, p),
        "calibrant.ece (float labels)": lambda: cal.ece(y_float, p),
        "relplot binnedECE (no checks)": relplot,
        "torchmetrics binary_calibration_error": torchmetrics,
        "torchmetrics, one thread": torchmetrics_alone,
        "scikit-learn calibration_curve": scikit_learn,
        "netcal ECE": netcal,
    }
    return compare(tools, 1e9 / n, "ns")


def quantile(shrink: int) -> dict[str, float]:
    """binary ECE, 15 quantile bins, 10^7 float64, ns a sample."""
    n = 10**7 // shrink
    y, p = binary_samples(n)
    skewed = p**8

    def scikit_learn(predictions: np.ndarray) -> Any:
        from sklearn.calibration import calibration_curve

        true, predicted = calibration_curve(y, predictions, n_bins=15, strategy="quantile")
        return np.abs(true - predicted).mean()

    tools: Tools = {
        "calibrant.ece, Quantile(15)": lambda: cal.ece(y, p, bins=cal.Quantile(15)),
        "scikit-learn calibration_curve": lambda: scikit_learn(p),
        "calibrant.ece, predictions crowded at 0": lambda: cal.ece(
            y, skewed, bins=cal.Quantile(15)
        ),
        "scikit-learn, predictions crowded at 0": lambda: scikit_learn(skewed),
    }
    return compare(tools, 1e9 / n, "ns")


def top_label(shrink: int) -> dict[str, float]:
    """top-label ECE, 15 bins, 50,000 x 1,000 float32, ms."""
    y, p = class_samples(50_000 // shrink, 1000)
    edges = np.arange(1, 15) / 15

    def numpy() -> Any:
        top = p.argmax(axis=1)
        u = p[np.arange(len(p)), top]
        bins = np.searchsorted(edges, u, side="right")
        return np.abs(np.bincount(bins, u - (top == y), 15)).sum() / len(p)

    def torchmetrics() -> Any:
        import torch
        from torchmetrics.functional.classification import multiclass_calibration_error

        return multiclass_calibration_error(
            torch.from_numpy(p), torch.from_numpy(y), num_classes=1000, n_bins=15
        )

    def netcal() -> Any:
        from netcal.metrics import ECE

        return ECE(15).measure(p, y)

    tools: Tools = {
        "calibrant.ece": lambda: cal.ece(y, p),
        "NumPy, by hand, no checks": numpy,
        "torchmetrics multiclass_calibration_error": torchmetrics,
        "netcal ECE": netcal,
    }
    return compare(tools, 1e3, "ms")


def classwise(shrink: int) -> dict[str, float]:
    """classwise ECE, 15 bins, 50,000 x 1,000 float32, ms."""
    y, p = class_samples(50_000 // shrink, 1000)
    by_column = np.asfortranarray(p)
    edges = np.arange(1, 15) / 15

    def numpy() -> Any:
        total = 0.0
        for r in range(p.shape[1]):
            bins = np.searchsorted(edges, p[:, r], side="right")
            total += np.abs(np.bincount(bins, p[:, r] - (y == r), 15)).sum()
        return total / p.size

    def pycalib() -> Any:
        from pycalib.metrics import classwise_ECE

        return classwise_ECE(y, p, bins=15)

    tools: Tools = {
        "calibrant.ece, rows in order": lambda: cal.ece(y, p, notion="classwise"),
        "calibrant.ece, columns in order": lambda: cal.ece(y, by_column, notion="classwise"),
        "calibrant.classwise_ce, bins of equal mass": lambda: cal.classwise_ce(y, p),
        "calibrant.ace": lambda: cal.ace(y, p),
        "calibrant.tace": lambda: cal.tace(y, p),
        "calibrant.lin_ce, full calibration": lambda: cal.lin_ce(y, p),
        "calibrant.evaluate, everything": lambda: cal.evaluate(y, p)["ece"],
        "calibrant.brier_score": lambda: cal.brier_score(y, p),
        "NumPy loop over classes, no checks": numpy,
        "pycalib classwise_ECE": pycalib,
    }
    return compare(tools, 1e3, "ms", repeats=3)


def weighed(shrink: int) -> dict[str, float]:
    """classwise errors of weights and soft labels, 50,000 x 1,000 float32, ms."""
    y, p = class_samples(50_000 // shrink, 1000)
    rng = np.random.default_rng(2)
    w = rng.random(y.size)
    soft = rng.random(p.shape, dtype=np.float32) ** 8
    soft /= soft.sum(axis=1, keepdims=True)
    tools: Tools = {
        "calibrant.ece, weights": lambda: cal.ece(y, p, notion="classwise", sample_weight=w),
        "calibrant.classwise_ce, weights": lambda: cal.classwise_ce(y, p, sample_weight=w),
        "calibrant.ace, weights": lambda: cal.ace(y, p, sample_weight=w),
        "calibrant.ece, soft labels": lambda: cal.ece(soft, p, notion="classwise"),
        "calibrant.classwise_ce, soft labels": lambda: cal.classwise_ce(soft, p),
        "calibrant.ace, soft labels": lambda: cal.ace(soft, p),
    }
    return compare(tools, 1e3, "ms", repeats=3)


def smooth(shrink: int) -> dict[str, float]:
    """smooth errors, 10^6 float64, ns a sample."""
    n = 10**6 // shrink
    y, p = binary_samples(n)

    def relplot() -> Any:
        from relplot.metrics import smECE

        return smECE(p, y.astype(np.float64))

    tools: Tools = {
        "calibrant.smooth_ece": lambda: cal.smooth_ece(y, p),
        "relplot smECE": relplot,
        "calibrant.ls_ece, sigma 0.1": lambda: cal.ls_ece(y, p, sigma=0.1),
        "calibrant.ls_ece, uniform noise": lambda: cal.ls_ece(y, p, sigma=0.1, noise="uniform"),
    }
    return compare(tools, 1e9 / n, "ns")


def losses(shrink: int) -> dict[str, float]:
    """proper losses, 10^6 float64, ns a sample; the ratio is to the plain ECE."""
    n = 10**6 // shrink
    y, p = binary_samples(n)
    tools: Tools = {
        "calibrant.ece": lambda: cal.ece(y, p),
        "calibrant.brier_score": lambda: cal.brier_score(y, p),
        "NumPy Brier score, no checks": lambda: np.mean((p - y) ** 2),
        "calibrant.log_loss": lambda: cal.log_loss(y, p),
        "NumPy log loss, no checks": lambda: -np.mean(np.log(np.where(y == 1, p, 1 - p))),
        "calibrant.spherical_loss": lambda: cal.spherical_loss(y, p),
    }
    return compare(tools, 1e9 / n, "ns")


def ordered(shrink: int) -> dict[str, float]:
    """measures that need an order, 10^6 float64, ns a sample; the ratio is to the plain ECE."""
    n = 10**6 // shrink
    y, p = binary_samples(n)
    soft = p**1.2
    tools: Tools = {
        "calibrant.ece": lambda: cal.ece(y, p),
        "calibrant.ks_error": lambda: cal.ks_error(y, p),
        "calibrant.sweep_ece": lambda: cal.sweep_ece(y, p),
        "calibrant.brier_decomposition": lambda: cal.brier_decomposition(y, p).miscalibration,
        "calibrant.ks_error, soft labels": lambda: cal.ks_error(soft, p),
        "NumPy sort of the predictions alone": lambda: np.sort(p)[0],
        "NumPy argsort alone": lambda: np.argsort(p)[0],
    }
    return compare(tools, 1e9 / n, "ns")


def everything(shrink: int) -> dict[str, float]:
    """evaluate() with every measure, 10^7 float64, ms; the ratio is to the plain ECE."""
    y, p = binary_samples(10**7 // shrink)
    tools: Tools = {
        "calibrant.ece": lambda: cal.ece(y, p),
        "calibrant.evaluate": lambda: cal.evaluate(y, p)["ece"],
    }
    return compare(tools, 1e3, "ms", repeats=3)


def logit_smoothing(shrink: int) -> dict[str, float]:
    """LS-ECE at 10^4 samples, sigma 0.1, ms; the paper draws 10^4 places for its estimate."""
    n = 10**4 // shrink
    y, p = binary_samples(n)

    def by_draws(bits: int) -> Any:
        """The steps of figure 1: a kernel matrix, its product with the labels, two sums."""
        import torch

        kind = {32: torch.float32, 64: torch.float64}[bits]
        h = torch.logit(torch.from_numpy(p).to(kind), 1e-6)[:, None]
        z = torch.from_numpy(y).to(kind)[:, None]
        t = h[torch.randint(n, (10_000,)), 0] + 0.1 * torch.randn(10_000, dtype=kind)
        kernel = torch.exp(-torch.square(t - h) / (2 * 0.1**2)) / (0.1 * (2 * torch.pi) ** 0.5)
        mean = (kernel * z).sum(dim=0) / kernel.sum(dim=0)
        return float((mean - torch.sigmoid(t)).abs().mean())

    tools: Tools = {
        "calibrant.ls_ece": lambda: cal.ls_ece(y, p, sigma=0.1),
        "10^4 draws in torch, float64": lambda: by_draws(64),
        "10^4 draws in torch, float32": lambda: by_draws(32),
    }
    return compare(tools, 1e3, "ms", repeats=9)


def dominance(shrink: int) -> dict[str, float]:
    """the longest line of 4,000 predictors under 5 losses, ms; the value is its length."""
    from calibrant._inference.ranks import maximum_dominance_set

    n = 4000 // shrink
    rng = np.random.default_rng(0)
    # Good predictors tend to be good on every loss, as checkpoints of training runs are.
    losses = rng.random((n, 1)) + 0.01 * rng.normal(size=(n, 5))

    def every_pair() -> Any:
        """The matrix of all pairs at once, then its longest path."""
        ordered = losses[np.argsort(losses[:, 0])]
        better = (ordered[:, None] <= ordered[None]).all(axis=2)
        length = np.zeros(n, dtype=np.int64)
        for i in range(n):
            length[i] = 1 + length[better[:, i]].max(initial=0)
        return length.max()

    tools: Tools = {
        "calibrant maximum_dominance_set": lambda: len(maximum_dominance_set(losses)),
        "NumPy, all pairs in memory, no checks": every_pair,
    }
    return compare(tools, 1e3, "ms", repeats=3)


def fits(shrink: int) -> dict[str, float]:
    """matrix maps of 100 classes on 10,000 rows, l2 = 0.1, processor s; the value is the loss."""
    from calibrant.scaling import DirichletCalibration, MatrixScaling

    n, k = 10_000 // shrink, 100 if shrink == 1 else 10
    rng = np.random.default_rng(0)
    shared = rng.normal(size=(n, 20)) @ rng.normal(size=(20, k))
    scores = {
        "independent": rng.normal(0.0, 2.0, (n, k)),
        "correlated": 0.6 * shared + rng.normal(0.0, 0.5, (n, k)),
    }
    took = {}
    for kind, logits in scores.items():
        labels = (logits + rng.gumbel(size=(n, k))).argmax(axis=1)
        steep = 1.4 * logits
        sure = np.exp(steep - steep.max(axis=1, keepdims=True))
        sure /= sure.sum(axis=1, keepdims=True)
        for scaler, given in ((MatrixScaling, steep), (DirichletCalibration, sure)):
            start = time.process_time()
            fitted = scaler(l2=0.1).fit(labels, given)
            name = f"calibrant {scaler.__name__}, {kind} scores"
            took[name] = time.process_time() - start
            print(f"  {name:52} {took[name]:8.2f} s   {fitted.loss_:.6f}", flush=True)
    return took


def choice(shrink: int) -> dict[str, float]:
    """the choice of a map, as `calibrant scale --map auto` and the page make it, s."""
    import calibrant.scaling as scaling

    rng = np.random.default_rng(0)
    tools: Tools = {}
    for n, k in ((10_000, 2), (10_000, 10), (10_000, 100)):
        h = 2 * rng.normal(size=(n // shrink, k))
        y = (0.6 * h + rng.gumbel(size=h.shape)).argmax(axis=1)
        one = scaling.TemperatureScaling()
        tools[f"calibrant.recommend, {n:,} x {k}"] = lambda y=y, h=h: len(
            cal.recommend(y, h, from_logits=True).rows
        )
        tools[f"one temperature, {n:,} x {k}"] = lambda y=y, h=h, m=one: m.fit(y, h).temperature_
    return compare(tools, 1, "s", repeats=1)


def serving(shrink: int) -> dict[str, float]:
    """one row through a fitted map, as a service calls it, microseconds."""
    from calibrant import scaling

    y, p = binary_samples(2000)
    one, number, hundred = np.array([0.3]), 0.3, p[:100].copy()
    kinds = (scaling.PlattScaling, scaling.TemperatureScaling, scaling.BetaCalibration)
    maps = {kind.__name__: kind(from_logits=False).fit(y, p) for kind in kinds}
    platt = maps["PlattScaling"]
    served = scaling.from_json(platt.to_json(), serving=True)
    written: dict[str, Any] = {}
    exec(platt.to_python(), written)
    tools: Tools = {f"{name}, one row": lambda m=m: m.transform(one)[0] for name, m in maps.items()}
    tools["PlattScaling, a number"] = lambda: platt.transform(number)
    tools["PlattScaling.to_python()"] = lambda: written["recalibrate"](number)
    tools["PlattScaling, 100 rows of its fit"] = lambda: platt.transform(hundred)[0]
    tools["the same, serving=True"] = lambda: served.transform(hundred)[0]
    try:
        from sklearn.linear_model import LogisticRegression

        peer = LogisticRegression(C=np.inf).fit(np.log(p / (1 - p))[:, None], y)
        logit = np.log(one / (1 - one))[:, None]
        tools["scikit-learn LogisticRegression, one row"] = lambda: peer.predict_proba(logit)[0, 1]
    except ImportError as error:
        print(f"  scikit-learn: left out ({error})")
    return compare(tools, 1e6, "us")


def imports(shrink: int) -> dict[str, float]:
    """a fresh interpreter imports the package, ms over NumPy alone."""
    seconds: dict[str, list[float]] = {}
    modules = ("numpy", "calibrant", "relplot", "torchmetrics", "sklearn.calibration", "netcal")
    lines = {module: f"import numpy, {module}" for module in modules}
    # What is imported late is paid for by the first number.
    lines["calibrant, to its first ECE"] = (
        "import numpy, calibrant; calibrant.ece(numpy.array([0, 1]), numpy.array([0.2, 0.9]))"
    )
    # As users have it: compiled modules are kept from one run to the next.
    env = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    for _ in range(5):
        for module, line in lines.items():
            began = time.perf_counter()
            command = [sys.executable, "-c", line]
            done = subprocess.run(command, capture_output=True, check=False, env=env)
            if done.returncode == 0:
                seconds.setdefault(module, []).append(time.perf_counter() - began)
    medians = {name: statistics.median(values) for name, values in seconds.items()}
    for name, value in medians.items():
        print(f"  {name:42} {(value - medians['numpy']) * 1e3:10.0f} ms over NumPy")
    return medians


def memory(shrink: int) -> dict[str, float]:
    """the most that a call allocates beyond its input, KiB."""
    n = 10**6 // shrink
    y, p = binary_samples(n)
    labels, rows = class_samples(20_000 // shrink, 100)
    calls: Tools = {
        "ece, 10^6 binary": lambda: cal.ece(y, p),
        "ece, Quantile(15), 10^6 binary": lambda: cal.ece(y, p, bins=cal.Quantile(15)),
        "log_loss, 10^6 binary": lambda: cal.log_loss(y, p),
        "ks_error, 10^6 binary (sorts)": lambda: cal.ks_error(y, p),
        "ece, 20,000 x 100": lambda: cal.ece(labels, rows),
        "ece classwise, 20,000 x 100": lambda: cal.ece(labels, rows, notion="classwise"),
        "brier_score, 20,000 x 100": lambda: cal.brier_score(labels, rows),
    }
    peaks = {}
    for name, call in calls.items():
        call()
        tracemalloc.start()
        call()
        peaks[name] = tracemalloc.get_traced_memory()[1] / 1024
        tracemalloc.stop()
        print(f"  {name:42} {peaks[name]:10.0f} KiB")
    print(
        f"  (input: {(y.nbytes + p.nbytes) / 1024:.0f} KiB binary, {rows.nbytes / 1024:.0f} rows)"
    )
    return peaks


CASES: dict[str, Callable[[int], dict[str, float]]] = {
    "equal-width": equal_width,
    "quantile": quantile,
    "top-label": top_label,
    "classwise": classwise,
    "weighed": weighed,
    "losses": losses,
    "ordered": ordered,
    "everything": everything,
    "smooth": smooth,
    "logit-smoothing": logit_smoothing,
    "dominance": dominance,
    "fits": fits,
    "choice": choice,
    "serving": serving,
    "imports": imports,
    "memory": memory,
}


if __name__ == "__main__":
    main()
