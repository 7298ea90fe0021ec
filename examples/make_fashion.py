"""Make the predictions that ship as ``calibrant.examples.load("fashion")``.

Two kinds of network are trained on Fashion-MNIST: a *teacher* (an average of several networks that
saw most of the training images) and a *student* (a small network fitted for a long time to few
images, and so overconfident).  Their logits on a validation and a test split go to one ``.npz``.

    python examples/make_fashion.py [--data DIR] [--out FILE]

Needs scikit-learn (which brings threadpoolctl), and Debian's package ``dataset-fashion-mnist`` or
the same four files from elsewhere.
"""

from __future__ import annotations

import argparse
import gzip
import sys
import time
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPClassifier
from threadpoolctl import threadpool_limits

Floats = npt.NDArray[np.floating[Any]]
Bytes = npt.NDArray[np.uint8]

PACKAGE = "dataset-fashion-mnist"
DEFAULT_DATA = Path("/usr/share/datasets/fashion-mnist")
DEFAULT_OUT = Path(__file__).resolve().parents[1] / "src" / "calibrant" / "examples" / "fashion.npz"
MAX_BYTES = 300_000

SEED = 20170828
# The epochs were chosen on the training images that neither network learns from, not on the
# official test images, so the shipped splits took no part in any choice.
TEACHER_ROWS = 54_000
TEACHER_SIZE = 5
TEACHER_HIDDEN = (256, 128)
TEACHER_EPOCHS = 20
STUDENT_ROWS = 4_000
STUDENT_HIDDEN = (64,)
STUDENT_EPOCHS = 60
VAL_ROWS = 2_000
TEST_ROWS = 4_000
SHIRT = 6
BINS = 15


def read_idx(path: Path) -> Bytes:
    """Read one gzipped IDX file of unsigned bytes."""
    with gzip.open(path, "rb") as stream:
        raw = stream.read()
    if raw[:3] != b"\x00\x00\x08":
        raise SystemExit(f"{path} is not an IDX file of unsigned bytes")
    ndim = raw[3]
    shape = np.frombuffer(raw, dtype=">u4", count=ndim, offset=4)
    data = np.frombuffer(raw, dtype=np.uint8, offset=4 + 4 * ndim)
    if data.size != int(np.prod(shape, dtype=np.int64)):
        raise SystemExit(f"{path} is truncated: its header promises shape {tuple(shape.tolist())}")
    return data.reshape(shape.tolist())


def read_data(folder: Path) -> tuple[Floats, Bytes, Floats, Bytes]:
    """Training images and labels, then test images and labels; images flat, scaled to [0, 1]."""
    names = [
        f"{split}-{kind}-ubyte.gz"
        for split in ("train", "t10k")
        for kind in ("images-idx3", "labels-idx1")
    ]
    missing = [name for name in names if not (folder / name).is_file()]
    if missing:
        raise SystemExit(
            f"Fashion-MNIST not found: {folder} has no {', '.join(missing)}.\n"
            f"On Debian, install the package {PACKAGE} (apt-get install {PACKAGE}); "
            "elsewhere, give the folder that holds the four files with --data DIR."
        )
    train_x, train_y, test_x, test_y = (read_idx(folder / name) for name in names)
    return _flat(train_x), train_y, _flat(test_x), test_y


def _flat(images: Bytes) -> Floats:
    return images.reshape(len(images), -1).astype(np.float32) / np.float32(255)


def fit(
    x: Floats, y: Bytes, *, hidden: Sequence[int], epochs: int, alpha: float, batch: int, seed: int
) -> MLPClassifier:
    """Train one network for a fixed number of epochs."""
    model = MLPClassifier(
        hidden_layer_sizes=tuple(hidden),
        alpha=alpha,
        batch_size=batch,
        max_iter=epochs,
        # Both the teacher's early end and the student's late one are chosen, so no stopping rule.
        n_iter_no_change=epochs,
        random_state=seed,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(x, y)
    return model


def forward(model: MLPClassifier, x: Floats) -> Floats:
    """The activations before the softmax, which scikit-learn does not hand out."""
    h = x
    for weight, bias in zip(model.coefs_[:-1], model.intercepts_[:-1], strict=True):
        h = np.maximum(h @ weight + bias, 0)
    logits: Floats = h @ model.coefs_[-1] + model.intercepts_[-1]
    return logits.astype(np.float64)


def softmax(logits: Floats) -> Floats:
    """Row-wise softmax in double precision."""
    z = np.asarray(logits, dtype=np.float64)
    e = np.exp(z - z.max(axis=1, keepdims=True))
    proba: Floats = e / e.sum(axis=1, keepdims=True)
    return proba


def stored(logits: Floats) -> npt.NDArray[np.float16]:
    """Centre each row (the softmax does not see it) so that half precision loses least."""
    centred: Floats = logits - logits.mean(axis=1, keepdims=True)
    return centred.astype(np.float16)


def ece(confidence: Floats, target: Floats) -> float:
    """Binned calibration error over equal-width bins; the target may be 0/1 or a probability."""
    index = np.minimum((confidence * BINS).astype(np.int64), BINS - 1)
    gap = np.bincount(index, weights=confidence - target, minlength=BINS)
    return float(np.abs(gap).sum() / len(confidence))


def report(split: str, logits: Floats, teacher: Floats, labels: Bytes) -> None:
    """Print what the stored arrays of one split say."""
    p, q = softmax(logits), softmax(teacher)
    row = np.arange(len(p))
    for who, proba in (("student", p), ("teacher", q)):
        top = proba.argmax(axis=1)
        line = (
            f"{split:4s} {who}: accuracy {np.mean(top == labels):.4f}"
            f"  mean confidence {proba.max(axis=1).mean():.4f}"
            f"  NLL {-np.log(proba[row, labels]).mean():.4f}"
            f"  top-label ECE {ece(proba[row, top], (top == labels).astype(np.float64)):.4f}"
        )
        if who == "student":
            line += f"  against teacher {ece(p[row, top], q[row, top]):.4f}"
        print(line)
    shirt = (labels == SHIRT).astype(np.float64)
    print(
        f"{split:4s} P(shirt): student ECE {ece(p[:, SHIRT], shirt):.4f}"
        f"  against teacher {ece(p[:, SHIRT], q[:, SHIRT]):.4f}"
        f"  teacher ECE {ece(q[:, SHIRT], shirt):.4f}"
    )


def main(argv: Sequence[str] | None = None) -> int:
    """Train, predict, write the file and print what is in it."""
    parser = argparse.ArgumentParser(description="Make the Fashion-MNIST example predictions.")
    parser.add_argument("--data", type=Path, default=DEFAULT_DATA, help="folder of the .gz files")
    parser.add_argument("--out", type=Path, default=DEFAULT_OUT, help="the .npz to write")
    args = parser.parse_args(argv)

    start = time.perf_counter()

    def say(text: str) -> None:
        print(f"[{time.perf_counter() - start:6.1f} s] {text}", flush=True)

    train_x, train_y, test_x, test_y = read_data(args.data)
    say(f"read {len(train_x)} training and {len(test_x)} test images")

    # The student's images are none of the teacher's, so that the two do not err alike merely
    # because they learnt the same mislabelled images.
    order = np.random.default_rng(SEED).permutation(len(train_x))
    for_teacher = order[:TEACHER_ROWS]
    for_student = order[TEACHER_ROWS : TEACHER_ROWS + STUDENT_ROWS]
    rows = np.random.default_rng(SEED + 1).permutation(len(test_x))
    splits = {"val": rows[:VAL_ROWS], "test": rows[VAL_ROWS : VAL_ROWS + TEST_ROWS]}

    student = fit(
        train_x[for_student],
        train_y[for_student],
        hidden=STUDENT_HIDDEN,
        epochs=STUDENT_EPOCHS,
        alpha=0.0,
        batch=100,
        seed=SEED,
    )
    say(f"student trained on {STUDENT_ROWS} images, final training loss {student.loss_:.4f}")

    mean = np.zeros((len(test_x), 10))
    for k in range(TEACHER_SIZE):
        member = fit(
            train_x[for_teacher],
            train_y[for_teacher],
            hidden=TEACHER_HIDDEN,
            epochs=TEACHER_EPOCHS,
            alpha=1e-3,
            batch=200,
            seed=SEED + 1 + k,
        )
        mean += softmax(forward(member, test_x)) / TEACHER_SIZE
        say(f"teacher {k + 1} of {TEACHER_SIZE} trained, final training loss {member.loss_:.4f}")

    student_logits = stored(forward(student, test_x))
    teacher_logits = stored(np.log(np.maximum(mean, np.finfo(np.float64).tiny)))
    arrays: dict[str, npt.NDArray[Any]] = {}
    for split, index in splits.items():
        arrays[f"{split}_logits"] = student_logits[index]
        arrays[f"{split}_teacher_logits"] = teacher_logits[index]
        arrays[f"{split}_labels"] = test_y[index]
        report(split, student_logits[index], teacher_logits[index], test_y[index])

    args.out.parent.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(args.out, allow_pickle=False, **arrays)
    size = args.out.stat().st_size
    say(f"wrote {args.out} ({size} bytes)")
    if size > MAX_BYTES:
        print(f"the file is over {MAX_BYTES} bytes: lower VAL_ROWS or TEST_ROWS", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    # The order of a floating-point sum depends on the number of BLAS threads, and training
    # amplifies the difference, so one thread is what makes a run repeatable.
    with threadpool_limits(limits=1):
        sys.exit(main())
