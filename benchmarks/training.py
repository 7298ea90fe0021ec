"""Does a calibration error in the training loss help? Measured on rows that nothing was fitted to.

    python benchmarks/training.py [digits|synthetic ...] [--seeds 5] [--epochs 60]

A small network is trained on few rows: by cross-entropy alone, and by cross-entropy plus a weight
times each loss of `calibrant.losses`, of the same rows. The weight is the one of a few that has the
lowest log loss on validation rows; so is the epoch of "stopped early". Each is measured on test
rows as it is and after temperature scaling, which is fitted to the validation rows. Prints means
over seeds (splits and initial weights), and for log loss and ECE the difference to cross-entropy
alone with its standard error over seeds: differences are paired.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn import functional

import calibrant as cal
from calibrant import losses
from calibrant.scaling import TemperatureScaling

Array = NDArray[Any]
Loss = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]
BATCH = 128
# Gaps and squares are of different sizes, and so are their weights.
GAPS, SQUARES = (0.3, 1.0, 3.0), (3.0, 10.0, 30.0)
LOSSES: dict[str, tuple[Loss, tuple[float, ...]]] = {
    "+ LS-ECE": (losses.LSECELoss(from_logits=True, sigma=0.5), GAPS),
    "+ smECE": (losses.SmoothECELoss(from_logits=True), GAPS),
    "+ ATB": (losses.ATBLoss(from_logits=True), SQUARES),
    "+ soft-binned": (losses.SoftBinnedECELoss(from_logits=True), GAPS),
}
MEASURES = ("accuracy", "log loss", "ECE", "smECE", "root ATB")


@dataclass
class Rows:
    x: torch.Tensor
    y: torch.Tensor


Split = tuple[Rows, Rows, Rows]


def digits(seed: int) -> Split:
    """Handwritten digits of scikit-learn, a fifth of the labels of every split redrawn."""
    from sklearn.datasets import load_digits

    x, y = load_digits(return_X_y=True)
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(y.size) < 0.2, rng.integers(0, 10, y.size), y)
    return _split(x / 16.0, y, (600, 400), rng)


def synthetic(seed: int) -> Split:
    """Two classes, whose log odds are a rough function of ten of twenty numbers."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(11_200, 20))
    hidden = np.random.default_rng(1).normal(size=(10, 30))
    h = 1.5 * np.tanh(x[:, :10] @ hidden) @ np.random.default_rng(2).normal(size=30) / math.sqrt(30)
    y = (rng.random(h.size) < 1 / (1 + np.exp(-2.0 * h))).astype(np.int64)
    return _split(x, y, (800, 400), rng)


def _split(x: Array, y: Array, sizes: tuple[int, int], rng: np.random.Generator) -> Split:
    order = rng.permutation(y.size)
    parts = np.split(order, np.cumsum(sizes))
    rows = [Rows(torch.tensor(x[p], dtype=torch.float32), torch.tensor(y[p])) for p in parts]
    return rows[0], rows[1], rows[2]


DATA = {"digits": (digits, 10), "synthetic": (synthetic, 1)}


def trained(
    split: Split, outputs: int, loss: Loss | None, weight: float, epochs: int, seed: int
) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
    """Logits of validation and test rows: at the end, and at the best epoch of validation."""
    train, val, test = split
    torch.manual_seed(seed)
    net = torch.nn.Sequential(
        torch.nn.Linear(train.x.shape[1], 128), torch.nn.ReLU(),
        torch.nn.Linear(128, 128), torch.nn.ReLU(), torch.nn.Linear(128, outputs),
    )  # fmt: skip
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)

    def logits(rows: torch.Tensor) -> torch.Tensor:
        out: torch.Tensor = net(rows)
        return out[:, 0] if outputs == 1 else out

    best, stopped = math.inf, None
    for _ in range(epochs):
        for rows in torch.randperm(train.y.numel()).split(BATCH):
            x, y = logits(train.x[rows]), train.y[rows]
            value = _cross_entropy(x, y)
            if loss is not None:
                value = value + weight * loss(x, y)
            optimizer.zero_grad()
            value.backward()
            optimizer.step()
        with torch.no_grad():
            end = logits(val.x), logits(test.x)
            now = float(_cross_entropy(end[0], val.y))
        if now < best:
            best, stopped = now, end
    assert stopped is not None
    final, early = ((a.numpy(), b.numpy()) for a, b in (end, stopped))
    return final, early


def _cross_entropy(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    if x.ndim == 1:
        return functional.binary_cross_entropy_with_logits(x, y.float())
    return functional.cross_entropy(x, y)


def measured(y: Array, x: Array, *, from_logits: bool) -> list[float]:
    cut = 0.0 if from_logits else 0.5
    top = x.argmax(axis=1) if x.ndim == 2 else x > cut
    return [
        float((top == y).mean()),
        cal.log_loss(y, x, from_logits=from_logits),
        cal.ece(y, x, from_logits=from_logits),
        cal.smooth_ece(y, x, from_logits=from_logits),
        cal.atb(y, x, root=True, from_logits=from_logits),
    ]


def both(split: Split, logits: tuple[Array, Array]) -> tuple[list[float], list[float]]:
    """The measures of the test rows, as they are and after temperature scaling."""
    val, test = split[1].y.numpy(), split[2].y.numpy()
    scaled = TemperatureScaling().fit(val, logits[0]).transform(logits[1])
    plain = measured(test, logits[1], from_logits=True)
    return plain, measured(test, scaled, from_logits=False)


def one_seed(data: str, seed: int, epochs: int) -> tuple[dict[str, list[float]], dict[str, float]]:
    """The measures of each way of training, and the weights that were chosen."""
    make, outputs = DATA[data]
    split = make(seed)
    val = split[1].y.numpy()
    plain, early = trained(split, outputs, None, 0.0, epochs, seed)
    found = {"cross-entropy": plain, "stopped early": early}
    chosen = {}
    for name, (loss, weights) in LOSSES.items():
        tried = {w: trained(split, outputs, loss, w, epochs, seed)[0] for w in weights}
        chosen[name] = min(tried, key=lambda w: cal.log_loss(val, tried[w][0], from_logits=True))
        found[name] = tried[chosen[name]]
    rows: dict[str, list[float]] = {}
    for name, logits in found.items():
        rows[name], rows[f"{name}, temperature"] = both(split, logits)
    return rows, chosen


def table(data: str, seeds: int, epochs: int) -> None:
    results = [one_seed(data, seed, epochs) for seed in range(seeds)]
    print(f"{data}, {seeds} seeds, {epochs} epochs")
    heads = [f"{m:>9}" for m in MEASURES]
    print(f"{'':28}", *heads, " log loss - that of CE     ECE - that of CE")
    for name in results[0][0]:
        values = np.array([rows[name] for rows, _ in results])
        base = np.array([rows["cross-entropy"] for rows, _ in results])
        means = [f"{value:9.4f}" for value in values.mean(axis=0)]
        differences = [_difference(values[:, j] - base[:, j]) for j in (1, 2)]
        print(f"{name:28}", *means, *(differences if name != "cross-entropy" else ()))
    for name in LOSSES:
        weights = [f"{chosen[name]:g}" for _, chosen in results]
        print(f"weights chosen, {name[2:]}: {', '.join(weights)}")


def _difference(values: Array) -> str:
    error = values.std(ddof=1) / math.sqrt(values.size) if values.size > 1 else math.nan
    return f"   {values.mean():+8.4f} +- {error:.4f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("data", nargs="*", choices=[[], *DATA], default=[])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--epochs", type=int, default=60)
    options = parser.parse_args()
    torch.set_num_threads(1)  # batches are small: threads would wait for each other
    for data in options.data or DATA:
        table(data, options.seeds, options.epochs)


if __name__ == "__main__":
    main()
