"""A pool of predictors: saved logits on validation and test rows, and each one's errors and losses.

A pool is a folder of ``.npz`` files. Each holds ``val_logits``, ``val_labels``, ``test_logits`` and
``test_labels``, the logits of one predictor (n, k) or of a trace of checkpoints (c, n, k); or only
``logits`` and ``labels``, which are then split into halves by a fixed permutation.
"""

from __future__ import annotations

import csv
import gzip
import json
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant._api.rows import as_source
from calibrant._core.atomic_files import atomic_write
from calibrant._core.binning import EqualWidth, Quantile
from calibrant._core.errors import InputError
from calibrant._data.samples import Notion
from calibrant._measures.binned import binned_error
from calibrant._measures.truthful import linear_error
from calibrant._summaries.samples import Summary
from calibrant.scaling._temperature import TemperatureScaling

BIN_COUNTS = (2000, 20, 5)
# The losses by their names in a table, with their names in `loss_sums.FIELDS`.
LOSSES = {
    "classification_error": "classification",
    "log_loss": "log",
    "brier": "brier",
    "spherical_loss": "spherical",
    "confidence_loss": "confidence",
}
ERRORS = ("conf_ece", "conf_ce", "conf_ce_corrected", "classwise_ce")
# The columns of a table that are no numbers.
TEXTS = ("trace", "architecture", "labels")
SPLIT_SEED = 42
_OF_BOTH = {"val_logits", "val_labels", "test_logits", "test_labels"}


@dataclass(frozen=True, eq=False)
class Trace:
    """The logits and labels of one file of a pool, for validation and for test.

    Logits are (checkpoints, rows, classes). A pool is a folder of predictors tested on the same
    rows.
    """

    name: str
    val_logits: NDArray[Any]
    val_labels: NDArray[Any]
    test_logits: NDArray[Any]
    test_labels: NDArray[Any]


def _arrays(path: Path, *, names_alone: bool = False) -> dict[str, NDArray[Any]]:
    """Read the arrays of a .npz file by name; an InputError if it cannot be read.

    With `names_alone` no array is read, and each name has an empty one.
    """
    try:
        with np.load(path, allow_pickle=False) as arrays:
            if names_alone:
                return dict.fromkeys(arrays.files, np.empty(0))
            return {name: arrays[name] for name in arrays.files}
    except Exception as error:  # zipfile, zlib, NumPy and the system each have their own
        raise InputError(
            f"{path.name} cannot be read as .npz ({error}): save it again, or remove it from the "
            "folder"
        ) from None


def is_halved(path: Path) -> bool:
    """Whether a file has no validation rows of its own; half of its rows then serve as such."""
    return "val_logits" not in _arrays(path, names_alone=True)


def pool_files(folder: Path) -> list[Path]:
    """The .npz files of a folder that hold logits and labels; an InputError if there are none."""
    if not folder.is_dir():
        raise InputError(f"{folder} is not a folder: a pool is a folder of .npz files")
    files_with_logits = []
    for path in sorted(folder.glob("*.npz")):
        names = set(_arrays(path, names_alone=True))
        if {"logits", "labels"} <= names or names >= _OF_BOTH:
            files_with_logits.append(path)
    if not files_with_logits:
        raise InputError(
            f"{folder} holds no pool: no .npz file in it has val_logits and test_logits, or logits "
            "and labels"
        )
    return files_with_logits


def read_trace(path: Path) -> Trace:
    """Read and check the logits and labels of one file of a pool.

    A file without validation rows is split into halves by a fixed permutation.
    """
    arrays = _arrays(path)
    if "val_logits" in arrays:
        parts = [arrays[n] for n in ("val_logits", "val_labels", "test_logits", "test_labels")]
    else:
        logits, labels = arrays["logits"], arrays["labels"]
        if logits.shape[0] != labels.shape[0]:
            raise InputError(
                f"{path.name}: logits has {logits.shape[0]} rows and labels {labels.shape[0]}"
            )
        order = np.random.default_rng(SPLIT_SEED).permutation(labels.size)
        val, test = np.split(order, [labels.size // 2])
        parts = [logits[val], labels[val], logits[test], labels[test]]
    val_logits, val_labels, test_logits, test_labels = parts
    for logits, labels, kind in (
        (val_logits, val_labels, "val"),
        (test_logits, test_labels, "test"),
    ):
        if logits.shape[-2] != labels.shape[0]:
            raise InputError(
                f"{path.name}: {kind}_logits has {logits.shape[-2]} rows and {kind}_labels "
                f"{labels.shape[0]}"
            )
    if val_logits.ndim == 2:
        val_logits, test_logits = val_logits[None], test_logits[None]
    return Trace(path.stem, val_logits, val_labels, test_logits, test_labels)


def check_pool(files: Sequence[Path]) -> None:
    """Raise an InputError if files have different test labels, or if there is but one predictor."""
    first: NDArray[Any] | None = None
    for path in files:
        trace = read_trace(path)
        if first is None:
            first = trace.test_labels
        elif not np.array_equal(first, trace.test_labels):
            raise InputError(
                f"{path.name} and {files[0].name} have different test labels: all predictors of a "
                "pool need the same test rows in the same order"
            )
    if len(files) == 1 and len(read_trace(files[0]).val_logits) < 2:
        raise InputError(
            f"the pool holds one predictor, {files[0].stem}: ranking needs two or more"
        )


def measure_predictor(
    val_logits: Any, val_labels: Any, test_logits: Any, test_labels: Any
) -> dict[str, float]:
    """Measure one predictor: its temperature, and its losses and errors on test rows, by name.

    The temperature is fitted to the validation rows and applied to the test rows. Errors are named
    with their number of bins, as in "conf_ece_20". Tensors are measured on their device, where rows
    are checked once for all measures.
    """
    scaler = TemperatureScaling().fit(val_labels, _doubles(val_logits))
    z = _doubles(test_logits)
    is_array = isinstance(z, np.ndarray)
    p = scaler.transform(z) if is_array else (z / scaler.temperature_).softmax(1)
    classes = Summary(as_source(test_labels, p))
    top = classes
    notion: Notion = "confidence"
    if not is_array:  # the top label alone is read many times faster
        top, notion = Summary(as_source(test_labels == p.argmax(1), p.amax(1))), "binary"
    row: dict[str, float] = {
        "n_test": len(test_labels),
        "n_classes": p.shape[1],
        "temperature": scaler.temperature_,
        **{name: classes.losses.mean(field) for name, field in LOSSES.items()},
    }
    for m in BIN_COUNTS:
        fixed, quantile = EqualWidth(m, closed="right"), Quantile(m, ties="rank")
        plain = linear_error(top.table(notion, quantile, squares=False))
        row[f"conf_ece_{m}"] = binned_error(top.table(notion, fixed, squares=False))
        row[f"conf_ce_{m}"] = plain
        # The correction is the share of wrong top labels, over n.
        row[f"conf_ce_corrected_{m}"] = plain + row["classification_error"] / len(test_labels)
        row[f"classwise_ce_{m}"] = linear_error(classes.table("classwise", quantile, squares=False))
    return row


def _doubles(logits: Any) -> Any:
    """Logits in double precision: a tensor on its device, anything else as an array."""
    is_tensor = type(logits).__module__.partition(".")[0] == "torch"
    return logits.double() if is_tensor else np.asarray(logits, np.float64)


def _measure_file(path: Path) -> list[dict[str, Any]]:
    """Measure each checkpoint of a file: a row of numbers for each.

    A row has the file's name, the checkpoint's index, and the numbers of `measure_predictor`.
    """
    trace = read_trace(path)
    return [
        {
            "trace": trace.name,
            "checkpoint": c,
            **measure_predictor(
                trace.val_logits[c], trace.val_labels, trace.test_logits[c], trace.test_labels
            ),
        }
        for c in range(len(trace.val_logits))
    ]


def measure_pool(
    folder: Path, *, workers: int = 1, done: Callable[[int, int], None] | None = None
) -> list[dict[str, Any]]:
    """Measure every predictor of a pool: a row of numbers (see `measure_predictor`) for each.

    `workers` processes share the files. `done` is called after each file, with the number of
    finished files and the number of all.
    """
    files = pool_files(folder)
    check_pool(files)
    rows: list[dict[str, Any]] = []
    for i, measured_rows in enumerate(_measure_files(files, workers)):
        rows += measured_rows
        if done is not None:
            done(i + 1, len(files))
    return rows


def _measure_files(files: Sequence[Path], workers: int) -> Iterator[list[dict[str, Any]]]:
    """Yield the rows of each file, in the order of the files, measured by `workers` processes."""
    if workers == 1:
        yield from map(_measure_file, files)
        return
    with ProcessPoolExecutor(workers) as executor:
        yield from executor.map(_measure_file, files)


def write_table(rows: Sequence[dict[str, Any]], path: Path) -> None:
    """Write the rows of a pool as CSV, floats with six digits."""
    with (
        atomic_write(path) as temporary,
        temporary.open("w", newline="", encoding="utf-8") as stream,
    ):
        writer = csv.writer(stream)
        writer.writerow(rows[0])
        for row in rows:
            writer.writerow(f"{v:.6g}" if isinstance(v, float) else v for v in row.values())


def read_table(path: Path) -> dict[str, list[Any]]:
    """Read the columns of a pool's table by name; an InputError if one is missing."""
    opened: Any = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", newline="", encoding="utf-8") as stream:
        names, *rows = list(csv.reader(stream)) or [[]]
    wanted = {"n_test", "n_classes", *LOSSES, *(f"{e}_{m}" for e in ERRORS for m in BIN_COUNTS)}
    missing = sorted(wanted.difference(names if rows else ()))
    if missing:
        raise InputError(f"{path.name} is not a table of a pool: it lacks {missing[0]!r}")
    # A column of numbers is one JSON list: parsed cell by cell it takes ten times as long.
    return {
        name: list(cells) if name in TEXTS else json.loads(f"[{','.join(cells)}]")
        for name, cells in zip(names, zip(*rows, strict=True), strict=True)
    }
