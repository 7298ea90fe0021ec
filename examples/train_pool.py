"""Train a pool of predictors: checkpoints of small networks on random subsets of Fashion-MNIST.

Each run trains one architecture on a random share of the 60,000 training images, and keeps the
logits of every epoch on 5,000 validation and 5,000 test images (the official test images, split by
a fixed permutation): one ``.npz`` a run, which ``calibrant reproduce truthful --data DIR`` reads.
Runs whose file is there already are not trained again.

    python examples/train_pool.py --out DIR                              # a small pool on a CPU
    python examples/train_pool.py --out DIR --device cuda --preset within --workers 6
    python examples/train_pool.py --out DIR --device cuda --preset cross --workers 6
    python examples/train_pool.py --out DIR --table FILE                 # measure a trained pool

Needs torch, and Debian's package ``dataset-fashion-mnist`` or the same four files from elsewhere.
"""

from __future__ import annotations

import argparse
import gzip
import math
import os
import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

DEFAULT_DATA = Path("/usr/share/datasets/fashion-mnist")
SPLIT_SEED = 42
VALIDATION_ROWS = 5_000
BATCH = 256
ARCHITECTURES = tuple(f"{kind}-{size}" for kind in ("mlp", "cnn", "res") for size in "sml")
# As in Lu, Wu, Hartline and Hu: 40 shares of one architecture, or five of each of nine.
PRESETS: dict[str, tuple[tuple[str, ...], tuple[float, ...], int]] = {
    "small": (("mlp-s",), (0.02, 0.05, 0.1, 0.2), 8),
    "within": (("cnn-s",), tuple(i / 40 for i in range(1, 41)), 50),
    "cross": (ARCHITECTURES, (0.2, 0.4, 0.6, 0.8, 1.0), 40),
}


def read_images(folder: Path, split: str) -> tuple[np.ndarray, np.ndarray]:
    """Images (n, 28, 28) and labels of one split, as bytes."""
    arrays = []
    for kind, header in (("images-idx3", 16), ("labels-idx1", 8)):
        path = folder / f"{split}-{kind}-ubyte.gz"
        if not path.is_file():
            raise SystemExit(
                f"Fashion-MNIST not found: {path} is missing. On Debian, install the package "
                "dataset-fashion-mnist; elsewhere, name the folder of the four files with --data"
            )
        with gzip.open(path) as stream:
            arrays.append(np.frombuffer(stream.read()[header:], np.uint8))
    return arrays[0].reshape(-1, 28, 28), arrays[1].astype(np.int64)


class Residual(nn.Module):
    """Two convolutions around a short cut."""

    def __init__(self, width_in: int, width: int, stride: int) -> None:
        super().__init__()
        self.path = nn.Sequential(
            nn.Conv2d(width_in, width, 3, stride, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU(),
            nn.Conv2d(width, width, 3, 1, 1, bias=False), nn.BatchNorm2d(width),
        )  # fmt: skip
        plain = stride == 1 and width_in == width
        self.cut = nn.Identity() if plain else nn.Conv2d(width_in, width, 1, stride, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.path(x) + self.cut(x))


def build(architecture: str) -> nn.Module:
    """A network by kind and size."""
    kind, size = architecture.split("-")
    if kind == "mlp":
        width = {"s": 128, "m": 256, "l": 512}[size]
        return nn.Sequential(
            nn.Flatten(), nn.Linear(784, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(),
            nn.Linear(width, 10),
        )  # fmt: skip
    width = {"s": 8, "m": 16, "l": 32}[size]
    if kind == "cnn":
        layers: list[nn.Module] = []
        for a, b in ((1, width), (width, 2 * width), (2 * width, 4 * width)):
            layers += [nn.Conv2d(a, b, 3, padding=1, bias=False), nn.BatchNorm2d(b), nn.ReLU()]
            layers += [nn.MaxPool2d(2)]
    else:
        layers = [nn.Conv2d(1, width, 3, padding=1, bias=False), nn.BatchNorm2d(width), nn.ReLU()]
        for a, b, stride in ((width, width, 1), (width, 2 * width, 2), (2 * width, 4 * width, 2)):
            layers += [Residual(a, b, stride)]
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4 * width, 10))


def moved(images: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """Images shifted by up to two pixels and mirrored, each on its own."""
    n = images.shape[0]
    padded = nn.functional.pad(images, (2, 2, 2, 2))
    shift = torch.randint(0, 5, (2, n), generator=generator, device=images.device)
    rows = shift[0][:, None] + torch.arange(28, device=images.device)
    columns = shift[1][:, None] + torch.arange(28, device=images.device)
    mirror = torch.rand(n, generator=generator, device=images.device) < 0.5
    columns = torch.where(mirror[:, None], columns.flip(1), columns)
    index = torch.arange(n, device=images.device)[:, None, None]
    return padded[:, 0][index, rows[:, :, None], columns[:, None, :]][:, None]


def scaled(images: np.ndarray, device: str) -> torch.Tensor:
    return (torch.from_numpy(images.copy()).to(device).float()[:, None] / 255.0 - 0.286) / 0.353


def train(architecture: str, share: float, epochs: int, data: Path, out: Path, device: str) -> str:
    """Train one run and save its logits; returns its name."""
    name = f"{architecture}_{round(1000 * share):04d}"
    target = out / f"{name}.npz"
    if target.exists():
        return f"{name} (kept)"
    torch.set_num_threads(1 if device != "cpu" else max(1, (os.cpu_count() or 2) // 2))
    seed = 1000 * ARCHITECTURES.index(architecture) + round(1000 * share)
    torch.manual_seed(seed)
    generator = torch.Generator(device=device).manual_seed(seed)
    images, labels = read_images(data, "train")
    chosen = np.random.default_rng(seed).permutation(len(labels))[: round(share * len(labels))]
    x, y = scaled(images[chosen], device), torch.from_numpy(labels[chosen]).to(device)
    held_images, held_labels = read_images(data, "t10k")
    order = np.random.default_rng(SPLIT_SEED).permutation(len(held_labels))
    held = scaled(held_images[order], device)

    model = build(architecture).to(device)
    steps = max(1, len(y) // BATCH)
    optimiser = torch.optim.SGD(
        model.parameters(), lr=0.05, momentum=0.9, weight_decay=5e-4, nesterov=True
    )
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimiser, lambda step: 0.5 * (1 + math.cos(math.pi * step / (epochs * steps)))
    )
    logits = []
    for _ in range(epochs):
        model.train()
        shuffled = torch.randperm(len(y), generator=generator, device=device)
        for step in range(steps):
            rows = shuffled[step * BATCH : (step + 1) * BATCH]
            loss = nn.functional.cross_entropy(model(moved(x[rows], generator)), y[rows])
            optimiser.zero_grad(set_to_none=True)
            loss.backward()
            optimiser.step()
            schedule.step()
        model.eval()
        with torch.no_grad():
            logits.append(torch.cat([model(part) for part in held.split(2500)]).cpu().numpy())
    both = np.stack(logits).astype(np.float16)
    labels_in_order = held_labels[order].astype(np.uint8)
    partial = out / f".{name}.partial.npz"
    np.savez(
        partial,
        val_logits=both[:, :VALIDATION_ROWS],
        val_labels=labels_in_order[:VALIDATION_ROWS],
        test_logits=both[:, VALIDATION_ROWS:],
        test_labels=labels_in_order[VALIDATION_ROWS:],
    )
    os.replace(partial, target)  # a run that was cut short leaves no file behind
    return name


def progress(total: int) -> Callable[[str], None]:
    """Tell what is done, how much of how much, and since when."""
    began, count = time.time(), 0

    def tell(name: str) -> None:
        nonlocal count
        count += 1
        passed = time.time() - began
        print(f"{count:3d}/{total} {name} ({passed:.0f} s)", file=sys.stderr, flush=True)

    return tell


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--out", type=Path, required=True, help="folder of the pool")
    parser.add_argument("--data", type=Path, default=DEFAULT_DATA)
    parser.add_argument("--preset", choices=PRESETS, default="small")
    parser.add_argument("--epochs", type=int, help="instead of the preset's")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--workers", type=int, default=1, help="runs at a time")
    parser.add_argument("--table", type=Path, help="measure the pool and write its table here")
    options = parser.parse_args()
    architectures, shares, epochs = PRESETS[options.preset]
    epochs = options.epochs or epochs
    options.out.mkdir(parents=True, exist_ok=True)
    runs = [(a, s) for a in architectures for s in sorted(shares, reverse=True)]
    tell = progress(len(runs))
    fixed: tuple[Any, ...] = (epochs, options.data, options.out, options.device)
    if options.workers == 1:
        for architecture, share in runs:
            tell(train(architecture, share, *fixed))
    else:
        with ProcessPoolExecutor(options.workers, mp_context=get_context("spawn")) as executor:
            jobs = [executor.submit(train, a, s, *fixed) for a, s in runs]
            for job in as_completed(jobs):
                tell(job.result())
    if options.table is not None:
        from calibrant._research.papers.pool import measure_pool, write_table

        tell = progress(len(runs))
        rows = measure_pool(
            options.out, workers=max(1, (os.cpu_count() or 2) - 1),
            done=lambda i, n: tell("measured"),
        )  # fmt: skip
        write_table(rows, options.table)


if __name__ == "__main__":
    main()
