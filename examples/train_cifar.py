"""Train pools of checkpoints on CIFAR-100, and measure every checkpoint on its device.

Each trace is one network trained from scratch on a random share of the 50,000 training images. Its
logits on the 10,000 test images are kept after every epoch, and measured on random halves of these
images: the temperature is fitted on one half, losses and errors are those of the other. A trace is
one CSV in the folder; traces whose file is there already are not trained again, so that several
short runs make one pool.

    python examples/train_cifar.py --images DIR --out within --preset within --device cuda
    python examples/train_cifar.py --images DIR --out cross --preset cross --device cuda
    python examples/train_cifar.py --out within --table cifar100_within.csv      # join the traces

Needs torch, and CIFAR-100 as ``cifar-100-python`` (https://www.cs.toronto.edu/~kriz/cifar.html, the
Python version) or as ``cifar100.npz`` with train_images, train_labels, test_images, test_labels.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import math
import os
import pickle
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

# Recipe of Lu, Wu, Hartline and Hu, appendix F: batches of 256, SGD with momentum 0.9, weight decay
# 5e-4, a cosine over 100 epochs, crops with padding 4, mirrored images, mixed precision. They
# fine-tune ImageNet's weights at 224 x 224 with a learning rate of 1e-3; from scratch at 32 x 32
# it takes a larger one, with a warm-up.
BATCH, MOMENTUM, DECAY, RATE, WARM_UP, PADDING = 256, 0.9, 5e-4, 0.1, 0.05, 4
NETWORKS = (
    "resnet20-16", "mobile-075", "resnet9-32", "resnet8-32", "resnet14-16", "mobile-050",
    "vgg-48", "resnet9-16", "resnet8-16", "vgg-32",
)  # fmt: skip
# As in the paper: 40 shares of one network, or five of each of several; networks, shares, epochs.
PRESETS: dict[str, tuple[tuple[str, ...], tuple[float, ...], int]] = {
    "small": (("resnet9-16",), (0.5, 1.0), 2),
    "within": (("resnet9-32",), tuple(i / 40 for i in (*range(40, 0, -2), *range(39, 0, -2))), 100),
    "cross": (NETWORKS, (1.0, 0.8, 0.6, 0.4, 0.2), 20),
}
# Random halves of the test images: each split is used both ways. The first is the paper's seed.
SPLIT_SEEDS = (42, 43, 44, 45)
# Which of these halves are measured with drawn labels too, and at each how manieth epoch.
NULL_HALVES, NULL_EVERY = (0, 1), 2
TEST_BATCH = 2500


# --- images --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Images:
    """Images (n, 32, 32, 3) as bytes, and fine labels, of training and of test."""

    train_images: np.ndarray
    train_labels: np.ndarray
    test_images: np.ndarray
    test_labels: np.ndarray


def read_images(folder: Path) -> Images:
    """CIFAR-100 from ``cifar100.npz``, or from the two official pickles of the Python version."""
    path = folder / "cifar100.npz"
    if path.is_file():
        with np.load(path) as arrays:
            return Images(**{name: arrays[name] for name in Images.__dataclass_fields__})
    parts: list[np.ndarray] = []
    for name in ("train", "test"):
        path = folder / "cifar-100-python" / name
        if not path.is_file():
            raise SystemExit(
                f"CIFAR-100 not found: {folder} has neither cifar100.npz nor "
                f"cifar-100-python/{name}. Name its folder with --images"
            )
        with path.open("rb") as stream:
            stored = pickle.load(stream, encoding="latin1")
        parts.append(stored["data"].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1))
        parts.append(np.asarray(stored["fine_labels"], np.int64))
    return Images(*parts)


# --- networks ------------------------------------------------------------------------------------


def normalised(a: int, b: int, size: int = 3, stride: int = 1, groups: int = 1) -> list[nn.Module]:
    """A convolution and the normalisation of its batch."""
    convolution = nn.Conv2d(a, b, size, stride, size // 2, groups=groups, bias=False)
    return [convolution, nn.BatchNorm2d(b)]


class Block(nn.Module):
    """Layers around a short cut; the sum goes through `last`."""

    def __init__(self, layers: list[nn.Module], cut: nn.Module, last: nn.Module) -> None:
        super().__init__()
        self.path, self.cut, self.last = nn.Sequential(*layers), cut, last

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.last(self.path(x) + self.cut(x))
        return out


def residual(a: int, b: int, stride: int = 1) -> nn.Module:
    """Two convolutions of 3 x 3 around a short cut."""
    same = a == b and stride == 1
    cut = nn.Identity() if same else nn.Sequential(*normalised(a, b, 1, stride))
    layers = [*normalised(a, b, 3, stride), nn.ReLU(), *normalised(b, b)]
    return Block(layers, cut, nn.ReLU())


def inverted(a: int, b: int, stride: int, wider: int) -> nn.Module:
    """A wide convolution per channel between two of 1 x 1, as in MobileNet."""
    layers = [*normalised(a, wider * a, 1), nn.Hardswish()]
    layers += [*normalised(wider * a, wider * a, 3, stride, wider * a), nn.Hardswish()]
    layers += normalised(wider * a, b, 1)
    if a == b and stride == 1:
        return Block(layers, nn.Identity(), nn.Identity())
    return nn.Sequential(*layers)


def build(name: str, classes: int = 100) -> nn.Module:
    """A network for images of 32 x 32 by kind and width: its layers, a mean over places, logits."""
    kind, size = name.split("-")
    w = int(size)
    if kind == "mobile":  # `size` is the width in percent
        c = [8 * round(n * w / 800) for n in (32, 48, 64, 96, 160)]
        layers = [*normalised(3, c[0], 3), nn.Hardswish(), inverted(c[0], c[1], 2, 3)]
        layers += [inverted(c[1], c[1], 1, 3), inverted(c[1], c[2], 2, 4)]
        layers += [inverted(c[2], c[2], 1, 4), inverted(c[2], c[3], 1, 4)]
        layers += [inverted(c[3], c[4], 2, 4), inverted(c[4], c[4], 1, 4)]
        width = c[4]
    elif kind == "vgg":
        layers = []
        for a, b in ((3, w), (w, w), (w, 2 * w), (2 * w, 4 * w), (4 * w, 8 * w)):
            layers += [*normalised(a, b), nn.ReLU()]
            layers += [nn.MaxPool2d(2)] if b > w or a == w else []
        width = 8 * w
    elif kind == "resnet9":
        layers = [*normalised(3, w), nn.ReLU()]
        for a, b, deeper in ((w, 2 * w, True), (2 * w, 4 * w, False), (4 * w, 8 * w, True)):
            layers += [*normalised(a, b), nn.ReLU(), nn.MaxPool2d(2)]
            layers += [residual(b, b)] if deeper else []
        width = 8 * w
    else:  # three stages of residual blocks: 6 n + 2 layers
        each = (int(kind.removeprefix("resnet")) - 2) // 6
        layers = [*normalised(3, w), nn.ReLU()]
        for stage in range(3):
            b = w << stage
            layers += [residual(b if stage == 0 else b // 2, b, 1 if stage == 0 else 2)]
            layers += [residual(b, b) for _ in range(each - 1)]
        width = 4 * w
    return nn.Sequential(nn.Sequential(*layers), nn.Linear(width, classes))


def logits_of(network: nn.Module, x: Tensor) -> Tensor:
    """Logits in single precision; on a GPU the layers before them are in bfloat16."""
    with torch.autocast(x.device.type, torch.bfloat16, enabled=x.is_cuda):
        features = network[0](x).mean(dim=(2, 3))  # type: ignore[index]
    out: Tensor = network[1](features.float())  # type: ignore[index]
    return out


# --- training ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Run:
    """One trace to train: a network, its share of the training images, and how long."""

    network: str
    share: float
    epochs: int

    @property
    def name(self) -> str:
        return f"{self.network}_{round(1000 * self.share):04d}"

    @property
    def seed(self) -> int:
        return 10_000 * NETWORKS.index(self.network) + round(1000 * self.share)


class Pictures:
    """Images and labels on a device: those of training with a frame around them, as bytes."""

    def __init__(self, data: Images, device: torch.device) -> None:
        self.device, self.n_train = device, len(data.train_labels)
        images = self._on(data.train_images)
        self.mean, self.spread = images.float().mean((0, 1, 2)), images.float().std((0, 1, 2))
        self.train = nn.functional.pad(images, (0, 0, *4 * (PADDING,)))
        self.train_labels, self.test_labels = (
            self._on(data.train_labels),
            self._on(data.test_labels),
        )
        self.test = self.normalised(self._on(data.test_images))

    def _on(self, values: np.ndarray) -> Tensor:
        return torch.from_numpy(np.ascontiguousarray(values)).to(self.device)

    def normalised(self, images: Tensor) -> Tensor:
        """Bytes (n, 32, 32, 3) as normalised numbers, with the channels as the second dimension."""
        x = ((images.float() - self.mean) / self.spread).permute(0, 3, 1, 2)
        return x.bfloat16() if x.is_cuda else x


class Lane:
    """One network on a device, trained trace after trace by the same step.

    On a GPU a step, from bytes of images to new weights, is one captured CUDA graph; several lanes
    run side by side, each on its own stream.
    """

    def __init__(self, name: str, pictures: Pictures) -> None:
        self.name, self.pictures, device = name, pictures, pictures.device
        self.logits = torch.empty((len(pictures.test_labels), 100), device=device)
        self.network = build(name).to(device, memory_format=torch.channels_last)
        self.rate = torch.zeros((), device=device)
        self.optimiser = torch.optim.SGD(
            self.network.parameters(), lr=self.rate, momentum=MOMENTUM, weight_decay=DECAY,
            fused=True,
        )  # fmt: skip
        # What a step reads: the epoch's images in order, how each is moved, and where the step is.
        most = max(pictures.n_train, BATCH)
        self.order = torch.zeros(most, dtype=torch.long, device=device)
        self.moves = torch.zeros((3, most), dtype=torch.long, device=device)
        self.place = torch.arange(32, device=device)
        self.first = torch.arange(BATCH, device=device)
        self.at = self.first.clone()
        self.n_done, self.n_all = (torch.zeros((), device=device) for _ in range(2))
        self.stream = torch.cuda.Stream() if device.type == "cuda" else None
        self.train_graph = self._captured(self._train_step, warm_up=3)
        self.test_graph = self._captured(self._test_step, warm_up=1)

    def _captured(self, step: Any, warm_up: int) -> Any:
        """The step as a CUDA graph to replay; the step itself on a CPU."""
        if self.stream is None:
            return None
        self.stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.stream):
            for _ in range(warm_up):
                self.at.copy_(self.first)
                step()
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=self.stream, capture_error_mode="thread_local"):
            step()
        return graph

    def _train_step(self) -> None:
        """One batch: move its images, and change the weights."""
        self.network.train()
        rows = self.order[self.at]
        dx, dy, mirror = self.moves[:, self.at]
        columns = torch.where(mirror[:, None] > 0, 31 - self.place, self.place) + dx[:, None]
        lines = self.place + dy[:, None]
        framed = self.pictures.train
        x = framed[rows[:, None, None], lines[:, :, None], columns[:, None, :]]
        progress = self.n_done / self.n_all.clamp(min=1)
        rising = (progress / WARM_UP).clamp(max=1)
        falling = ((progress - WARM_UP) / (1 - WARM_UP)).clamp(min=0)
        self.rate.copy_(RATE * torch.minimum(rising, 0.5 * (1 + torch.cos(math.pi * falling))))
        self.optimiser.zero_grad(set_to_none=True)
        logits = logits_of(self.network, self.pictures.normalised(x))
        nn.functional.cross_entropy(logits, self.pictures.train_labels[rows]).backward()
        self.optimiser.step()
        self.n_done += 1
        self.at += BATCH

    def _test_step(self) -> None:
        """The logits of all test images."""
        self.network.eval()
        with torch.no_grad():
            for start in range(0, len(self.logits), TEST_BATCH):
                part = slice(start, start + TEST_BATCH)
                self.logits[part] = logits_of(self.network, self.pictures.test[part])

    def _run(self, graph: Any, step: Any) -> None:
        step() if graph is None else graph.replay()

    def start(self, run: Run) -> None:
        """Begin a trace: new weights, and its share of the images."""
        self.run, self.epoch = run, 0
        torch.manual_seed(run.seed)
        fresh = build(run.network).state_dict()
        n = self.pictures.n_train
        chosen = np.random.default_rng(run.seed).permutation(n)[: round(run.share * n)]
        with self._streaming():
            for name, values in self.network.state_dict().items():
                values.copy_(fresh[name])
            for state in self.optimiser.state.values():
                if state.get("momentum_buffer") is not None:
                    state["momentum_buffer"].zero_()
            self.chosen = torch.from_numpy(chosen).to(self.pictures.device)
            self.generator = torch.Generator(self.pictures.device).manual_seed(run.seed)
            self.kept = torch.empty((run.epochs, *self.logits.shape), device=self.logits.device)
            self.steps = max(1, len(chosen) // BATCH)
            self.n_done.zero_()
            self.n_all.fill_(self.steps * run.epochs)
        self.left = 0

    def _streaming(self) -> Any:
        return torch.cuda.stream(self.stream)

    def advance(self) -> bool:
        """Do one step; True when the trace is finished."""
        with self._streaming():
            if self.left == 0:
                self._shuffle()
                self.left = self.steps
            self._run(self.train_graph, self._train_step)
            self.left -= 1
            if self.left == 0:
                self._run(self.test_graph, self._test_step)
                self.kept[self.epoch] = self.logits
                self.epoch += 1
        return self.left == 0 and self.epoch == self.run.epochs

    def _shuffle(self) -> None:
        """Begin an epoch: another order of the images, each moved by up to four pixels."""
        n = len(self.chosen)
        make: Any = {"generator": self.generator, "device": self.chosen.device}
        order = self.chosen[torch.randperm(n, **make)]
        self.order[:n] = order
        if n < BATCH:  # fewer images than a batch has: they come more than once
            self.order[:BATCH] = order.repeat(-(-BATCH // n))[:BATCH]
        self.moves[:2] = torch.randint(0, 2 * PADDING + 1, self.moves[:2].shape, **make)
        self.moves[2] = torch.randint(0, 2, self.moves[2].shape, **make)
        self.at.copy_(self.first)


def train(runs: Sequence[Run], pictures: Pictures, lanes: int) -> Iterator[tuple[Run, Tensor, Any]]:
    """Train the runs, several side by side. Yield each with its logits (epochs, rows, classes) on
    the device, and the event that says when they are there (None on a CPU).
    """
    waiting = list(runs)
    active: list[Lane] = []
    while active or waiting:
        while waiting and len(active) < lanes:
            active.append(Lane(waiting[0].network, pictures))
            active[-1].start(waiting.pop(0))
        for lane in list(active):
            if not lane.advance():
                continue
            yield lane.run, lane.kept, None if lane.stream is None else lane.stream.record_event()
            if waiting and waiting[0].network == lane.name:
                lane.start(waiting.pop(0))
            else:
                if lane.stream is not None:  # what it still has to do needs its memory
                    lane.stream.synchronize()
                active.remove(lane)


# --- measuring -----------------------------------------------------------------------------------


def halves(n: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Rows of validation and of test: each random split of the rows into halves, both ways."""
    out = []
    for seed in SPLIT_SEEDS:
        order = np.random.default_rng(seed).permutation(n)
        parts = order[: n // 2], order[n // 2 :]
        out += [parts, parts[::-1]]
    return out


def measure_trace(run: Run, logits: Tensor, labels: Tensor) -> list[dict[str, Any]]:
    """A row for each epoch and each half of the test images. Some have a second row, with labels
    drawn from the scaled predictions: these are exactly calibrated by construction.

    A draw shares one exponential variable per row and class among all checkpoints, as real
    checkpoints share their rows.
    """
    from calibrant._research.papers.pool import measure_predictor

    rows = []
    splits = [[torch.from_numpy(p).to(labels.device) for p in s] for s in halves(len(labels))]
    generator = torch.Generator().manual_seed(SPLIT_SEEDS[0])
    shape = (len(NULL_HALVES), *logits.shape[1:])
    races = torch.empty(shape, dtype=torch.float64).exponential_(generator=generator)
    races = races.to(labels.device)
    for epoch, raw in enumerate(logits, start=1):
        z = raw.double()
        for half, (val, test) in enumerate(splits):
            row = measure_predictor(z[val], labels[val], z[test], labels[test])
            same = {"trace": run.name, "architecture": run.network, "epoch": epoch, "half": half}
            rows.append({**same, "labels": "real", **row})
            if half in NULL_HALVES and epoch % NULL_EVERY == 0:
                scaled = z / row["temperature"]
                race = races[NULL_HALVES.index(half)]
                y = (race / scaled.softmax(dim=1)).argmin(dim=1)
                drawn = measure_predictor(scaled[val], y[val], scaled[test], y[test])
                rows.append({**same, "labels": "drawn", **drawn})
    return rows


def write_rows(rows: Sequence[dict[str, Any]], path: Path) -> None:
    """Write rows as CSV, numbers with six digits; compressed if the name ends in .gz."""
    partial = path.with_name(f".partial-{path.name}")
    opened: Any = gzip.open if path.suffix == ".gz" else open
    with opened(partial, "wt", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(rows[0])
        for row in rows:
            writer.writerow(f"{v:.6g}" if isinstance(v, float) else v for v in row.values())
    os.replace(partial, path)  # a run that was cut short leaves no file behind


def join(folder: Path, path: Path) -> None:
    """Write the rows of all traces of a folder as one table."""
    rows = []
    for trace in sorted(folder.glob("*.csv")):
        with trace.open(newline="", encoding="utf-8") as stream:
            rows += list(csv.DictReader(stream))
    write_rows(rows, path)


class Measurer:
    """Measures traces while others train: a thread of its own and, on a GPU, a stream of its own,
    whose small kernels go first.
    """

    def __init__(self, labels: Tensor, out: Path) -> None:
        self.labels, self.out = labels, out
        self.stream = torch.cuda.Stream(priority=-1) if labels.is_cuda else None

    def __call__(self, run: Run, logits: Tensor, ready: Any) -> None:
        """Measure a trace, once its logits are `ready`, and write its rows."""
        began = time.time()
        with torch.cuda.stream(self.stream):
            if self.stream is not None:
                self.stream.wait_event(ready)
            rows = measure_trace(run, logits, self.labels)
        write_rows(rows, self.out / f"{run.name}.csv")
        each = 1e3 * (time.time() - began) / len(rows)
        print(f"measured {run.name}: {each:.1f} ms a row", file=sys.stderr, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--out", type=Path, required=True, help="folder of the traces")
    parser.add_argument("--images", type=Path, help="folder of CIFAR-100")
    parser.add_argument("--preset", choices=PRESETS, default="small")
    parser.add_argument("--epochs", type=int, help="instead of the preset's")
    parser.add_argument(
        "--most", type=int, help="train at most so many traces, and come back later"
    )
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--lanes", type=int, default=4, help="traces that train side by side")
    parser.add_argument("--table", type=Path, help="write the rows of all traces here")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    if options.images is not None:
        networks, shares, epochs = PRESETS[options.preset]
        runs = [Run(network, s, options.epochs or epochs) for network in networks for s in shares]
        runs = [run for run in runs if not (options.out / f"{run.name}.csv").exists()]
        runs = runs[: options.most]
        torch.backends.cudnn.benchmark = True
        sys.setswitchinterval(1e-4)  # the thread that measures must not keep the trainer waiting
        began = time.time()
        pictures = Pictures(read_images(options.images), torch.device(options.device))
        measure = Measurer(pictures.test_labels, options.out)
        with ThreadPoolExecutor(1) as executor:
            measured = []
            for run, logits, ready in train(runs, pictures, options.lanes):
                measured.append(executor.submit(measure, run, logits, ready))
                passed = time.time() - began
                print(f"trained {run.name} ({passed:.0f} s)", file=sys.stderr, flush=True)
                del logits  # its memory is free as soon as it is measured
        for future in measured:
            future.result()
    if options.table is not None:
        join(options.out, options.table)


if __name__ == "__main__":
    main()
