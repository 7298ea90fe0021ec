"""Tensors on a GPU: whole public calls, and the fused read of logits against a copy of the same
bytes, plain torch and torchmetrics.

    python benchmarks/gpu.py [--gigabytes 8] [--only calls|reads|intervals]

First every sum is compared with the plain float64 read on a part of the rows; then medians of CUDA
events around whole calls (launches and the transfer of the sums included) are printed as bytes per
second and as a share of a device copy measured in the same run.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).parents[1] / "src"))

import calibrant as cal
from calibrant._core.binning import EqualWidth, fixed_cuts
from calibrant._data.tensor_samples import TensorSamples
from calibrant._engines.cells import Cells
from calibrant._engines.tensors import fused
from calibrant._engines.tensors.rows import plain_row_pass
from calibrant.scaling import TemperatureScaling

DOUBLE = np.dtype(np.float64)
BINS = fixed_cuts(EqualWidth(15), DOUBLE)
CELLS = Cells(EqualWidth(15)).cuts(DOUBLE)


def milliseconds(call: Callable[[], object], repeats: int = 9) -> float:
    """The median time of a call between two events."""
    for _ in range(2):
        call()
    times = []
    for _ in range(repeats):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        call()
        end.record()
        torch.cuda.synchronize()
        times.append(start.elapsed_time(end))
    return statistics.median(times)


def copy_milliseconds(x: torch.Tensor) -> float:
    """The time in which the device copies the same bytes."""
    target = torch.empty_like(x)
    return milliseconds(lambda: target.copy_(x))


def logits_of(n: int, k: int, dtype: torch.dtype) -> TensorSamples:
    """Normal logits; six labels of ten are the top one, the others any."""
    x = torch.empty(n, k, dtype=dtype, device="cuda")
    y = torch.randint(0, k, (n,), device="cuda")
    step = max(1, (1 << 26) // k)
    for i in range(0, n, step):
        x[i : i + step] = torch.randn(x[i : i + step].shape, device="cuda") * 2.5
        right = torch.rand(y[i : i + step].shape, device="cuda") < 0.6
        y[i : i + step] = torch.where(right, x[i : i + step].argmax(1), y[i : i + step])
    return TensorSamples(x, y, None, True)


def check(samples: TensorSamples, rows: int = 20_000) -> str:
    """Top-label counts must be equal; sums within float32's rounding."""
    k = samples.n_classes
    part = TensorSamples(samples.predictions[:rows], samples.targets[:rows], None, True)
    by_class = BINS if k <= fused.LONGEST_IN_REGISTERS else None
    for cuts in (BINS, CELLS):
        a = fused.row_pass(part, by_class, cuts, True)
        b = plain_row_pass(part, by_class, cuts, True)
        assert np.array_equal(a.confidence[:, 0], b.confidence[:, 0]), "counts of the top label"
        np.testing.assert_allclose(a.confidence, b.confidence, rtol=1e-6, atol=1e-5)
        np.testing.assert_allclose(a.losses, b.losses, rtol=1e-6)
    if by_class is None:
        return "equal"
    moved = int(np.abs(a.classwise[:, :, 0] - b.classwise[:, :, 0]).sum() / 2)
    keep = [0, 1, 2, 3, 4, 6, 7]
    if not moved:
        np.testing.assert_allclose(
            a.classwise[..., keep], b.classwise[..., keep], rtol=1e-5, atol=1e-6
        )
    return f"equal; {moved} of {rows * k} class entries beside an edge"


def torchmetrics_call(samples: TensorSamples) -> Callable[[], object] | None:
    try:
        from torchmetrics.functional.classification import multiclass_calibration_error
    except ImportError:
        return None
    rows = max(1, min(samples.n, (1 << 28) // samples.n_classes))
    x, y = samples.predictions[:rows], samples.targets[:rows]
    return lambda: multiclass_calibration_error(
        x, y, num_classes=samples.n_classes, n_bins=15, validate_args=False
    )


def measure(k: int, dtype: torch.dtype, gigabytes: float) -> list[dict[str, object]]:
    size = torch.empty(0, dtype=dtype).element_size()
    samples = logits_of(int(gigabytes * 1e9) // (k * size), k, dtype)
    x = samples.predictions
    n_bytes = x.numel() * size
    checked = check(samples)
    copy = copy_milliseconds(x)
    rate = 2 * n_bytes / copy / 1e9
    name = f"{samples.n:,} x {k:,} {str(dtype).removeprefix('torch.')}"
    print(f"\n{name}, {n_bytes / 1e9:.1f} GB, copy {rate:.2f} TB/s read + written; {checked}")
    rows = []

    def show(what: str, time: float, scale: float = 1.0) -> None:
        took = time * scale
        speed = n_bytes / took / 1e9
        rows.append({"data": name, "what": what, "ms": took, "TB/s": speed, "share": speed / rate})
        print(
            f"  {what:48} {took:9.3f} ms {speed:6.2f} TB/s {100 * speed / rate:5.0f} % of the copy"
        )

    show(
        "top label in 15 bins, losses",
        milliseconds(lambda: fused.row_pass(samples, None, BINS, True)),
    )
    show(
        "top label in fine cells, losses",
        milliseconds(lambda: fused.row_pass(samples, None, CELLS, True)),
    )
    if k <= fused.LONGEST_IN_REGISTERS:
        show(
            "top label, losses and classwise bins",
            milliseconds(lambda: fused.row_pass(samples, BINS, BINS, True)),
        )
    part_rows = max(1, samples.n // 8)
    part = TensorSamples(x[:part_rows], samples.targets[:part_rows], None, True)
    show(
        "the same in plain torch, float64 (from an eighth)",
        milliseconds(lambda: plain_row_pass(part, BINS if k <= 4096 else None, BINS, True), 3),
        samples.n / part_rows,
    )
    peer = torchmetrics_call(samples)
    if peer is not None:
        rows_there = max(1, min(samples.n, (1 << 28) // k))
        show("torchmetrics, top label only (scaled)", milliseconds(peer, 5), samples.n / rows_there)
    return rows


LOSSES = ("brier_score", "log_loss", "spherical_loss")
SMOOTH = ("ls_ece", "smooth_ece")
ORDERED = ("ks_error", "sweep_ece", "brier_decomposition")
BINARY_CALLS = ("ece", *LOSSES, "lin_ce", *SMOOTH, *ORDERED, "evaluate")
ROW_CALLS = ("ece", "log_loss", "confidence_ce", *SMOOTH, *ORDERED, "classwise_ce", "evaluate")


def binary_of(n: int, power: float = 1.1) -> tuple[torch.Tensor, torch.Tensor]:
    """Labels in one byte and predictions in single precision; calibrated with the power 1."""
    p = torch.rand(n, device="cuda")
    y = (torch.rand(n, device="cuda") < p**power).to(torch.int8)
    return y, p


def calls(
    name: str, names: tuple[str, ...], y: torch.Tensor, p: torch.Tensor, **options: object
) -> list[dict[str, object]]:
    """Times of public calls, from tensors to a number, beside a copy of the predictions."""
    copy = copy_milliseconds(p)
    print(f"\nwhole calls, {name}: a copy of the predictions takes {copy:.2f} ms")
    rows: list[dict[str, object]] = []
    for what in names:
        took = milliseconds(lambda: getattr(cal, what)(y, p, **options), 5)  # noqa: B023
        rows.append({"data": name, "what": what, "ms": took, "copies": took / copy})
        print(f"  {what:24} {took:9.2f} ms {took / copy:9.1f} copies", flush=True)
    return rows


def check_calls(
    names: tuple[str, ...], y: torch.Tensor, p: torch.Tensor, **options: object
) -> None:
    """Public calls on the device must give what arrays give."""
    for what in names:
        here, there = (getattr(cal, what)(*at, **options) for at in ((y.cpu(), p.cpu()), (y, p)))
        for key in here.values if what == "evaluate" else [""]:
            a, b = (float(v[key]) if key else float(getattr(v, "brier", v)) for v in (here, there))
            # Softmax in single precision moves a confidence by some 2e-7.
            close = 1e-5 if options else 1e-9
            assert abs(a - b) <= close * abs(a) + close * 1e-3, (what, key, a, b)


def whole_calls() -> list[dict[str, object]]:
    check_calls(BINARY_CALLS, *binary_of(200_000))
    part = logits_of(20_000, 30, torch.bfloat16)
    check_calls(ROW_CALLS, part.targets, part.predictions, from_logits=True)
    figures = calls("10^8 float32 and int8", BINARY_CALLS, *binary_of(10**8))
    # The smaller an error, the finer the grid that a smooth one needs.
    figures += calls("the same, calibrated", ("smooth_ece", "evaluate"), *binary_of(10**8, 1.0))
    torch.cuda.empty_cache()
    rows = logits_of(10**6, 1000, torch.bfloat16)
    figures += calls(
        "10^6 x 1,000 bfloat16 logits", ROW_CALLS, rows.targets, rows.predictions, from_logits=True
    )
    return figures + fit_calls()


Decisions = dict[str, Callable[..., object]]


def decisions(groups: object) -> Decisions:
    """What is decided of labels, predictions and another model's, by name."""
    limits = {"at_most": {"ece": 0.05}, "max_increase": {"ece": 0.01}}
    return {
        "interval": lambda y, p, q: cal.interval(y, p),
        "interval of smooth_ece": lambda y, p, q: cal.interval(y, p, measure="smooth_ece"),
        "interval of soft labels": lambda y, p, q: cal.interval(0.3 * y + 0.35, p),
        "interval with clusters": lambda y, p, q: cal.interval(y, p, groups=groups),
        "noise_floor": lambda y, p, q: cal.noise_floor(y, p),
        "verdict": lambda y, p, q: cal.verdict(y, p),
        "check with a baseline": lambda y, p, q: cal.check(y, p, baseline=q, **limits).rows[1],
        "compare": lambda y, p, q: cal.compare(
            y, {"p": p, "q": q}, measures=["ece", "brier"]
        ).difference("p", "q", "ece"),
    }


def decision_calls() -> list[dict[str, object]]:
    """Decisions of tensors beside those of arrays: limits must agree to 5 % of their width."""
    figures = []
    for n in (2_000_000, 10**8):
        y, p = binary_of(n)
        q = (p**1.05).clamp(0, 1)
        groups = torch.arange(n, device="cuda") // 100
        host = [each.cpu().numpy() for each in (y, p, q)]
        print(f"\n{n:,} rows, arrays and tensors")
        for name, call in decisions(groups).items():
            there, took = call(y, p, q), milliseconds(lambda: call(y, p, q), 3)  # noqa: B023
            line = f"  {name:28} {took:9.1f} ms"
            if n < 10**7:
                here = decisions(groups.cpu().numpy())[name](*host)
                one, other = (getattr(each, "interval", None) or each for each in (here, there))
                ends = ("low", "high") if hasattr(one, "low") else ("mean", "upper")
                a, b = ([getattr(each, end) for end in ends] for each in (one, other))
                assert abs(a[0] - b[0]) + abs(a[1] - b[1]) < 0.1 * (a[1] - a[0]), (name, a, b)
            figures.append({"data": f"{n:,} rows", "what": name, "ms": took})
            print(line, flush=True)
    return figures


def interval_calls() -> list[dict[str, object]]:
    """Times of evaluations with intervals, noise floors and a verdict beside those without."""
    figures = decision_calls()
    rows = logits_of(10**6, 1000, torch.bfloat16)
    for what, (labels, predictions), options in (
        ("10^8 float32 and int8", binary_of(10**8), {}),
        (
            "10^6 x 1,000 bfloat16 logits",
            (rows.targets, rows.predictions),
            {"from_logits": True},
        ),
    ):
        print(f"\nevaluate, {what}")
        for measures in (["ece"], ["ece", "smooth_ece", "ks_error"], None):
            for uncertainty in (False, True):
                took = milliseconds(
                    lambda: cal.evaluate(
                        labels,  # noqa: B023
                        predictions,  # noqa: B023
                        measures=measures,  # noqa: B023
                        uncertainty=uncertainty,  # noqa: B023
                        **options,  # noqa: B023
                    ),
                    3,
                )
                which = f"{measures or 'all measures'}, uncertainty={uncertainty}"
                figures.append({"data": what, "what": which, "ms": took})
                print(f"  {which:40} {took:9.2f} ms", flush=True)
    return figures


def fit_calls() -> list[dict[str, object]]:
    """Temperature scaling, whose loss has its minimum inside (top labels) or at an end (random)."""
    rows, figures = logits_of(200_000, 1000, torch.bfloat16), []
    print("\nTemperatureScaling.fit, 200,000 x 1,000 bfloat16 logits")
    for what, y in (
        ("six labels of ten are the top one", rows.targets),
        ("random labels", torch.randint(0, 1000, (rows.n,), device="cuda")),
    ):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # random labels: the temperature runs to its end
            took = milliseconds(lambda: TemperatureScaling().fit(y, rows.predictions), 3)  # noqa: B023
        figures.append({"data": "200,000 x 1,000 bfloat16", "what": f"fit, {what}", "ms": took})
        print(f"  {what:36} {took:9.2f} ms", flush=True)
    return figures


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--gigabytes", type=float, default=8.0)
    parser.add_argument("--only", choices=("calls", "reads", "intervals"))
    parser.add_argument("--json", help="write the figures here")
    options = parser.parse_args()
    torch.manual_seed(0)
    print(torch.cuda.get_device_name(), "torch", torch.__version__)
    figures = whole_calls() if options.only in (None, "calls") else []
    figures += interval_calls() if options.only in (None, "intervals") else []
    for k, dtype in () if options.only in ("calls", "intervals") else (
        (1000, torch.bfloat16), (1000, torch.float32), (100, torch.bfloat16), (10, torch.bfloat16),
        (4096, torch.bfloat16), (128_256, torch.bfloat16),
    ):  # fmt: skip
        figures += measure(k, dtype, options.gigabytes)
        torch.cuda.empty_cache()
    if options.json:
        Path(options.json).write_text(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
