"""A folder of saved predictions: what real predictors predicted, and what happened.

Each .npz file holds one predictor, by one of the pairs of names below, or several on the same rows:
`<model>_conf` and `<model>_pred`, top-label confidences and predicted classes, beside `labels`.
Predictors with the same labels belong to one set, over which a paper takes means.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from calibrant._api.metrics.binned import ece
from calibrant._core.errors import InputError
from calibrant.examples import load
from calibrant.scaling._linear import VectorScaling
from calibrant.scaling._temperature import TemperatureScaling

Array: TypeAlias = NDArray[Any]

# Predictions, labels, whether the predictions are logits; the first pair that a file has is read.
_PAIRS = (
    ("test_logits", "test_labels", True),
    ("logits", "labels", True),
    ("probs", "labels", False),
    ("proba", "labels", False),
    ("prob", "outcome", False),
)
ACCEPTED = ", ".join(f"{r!r} with {z!r}" for r, z, _ in _PAIRS) + (
    ", or '<model>_conf' and '<model>_pred' with 'labels'"
)


@dataclass(frozen=True, eq=False)
class Predictor:
    """One predictor's predictions, (n,) or (n, k), and the labels they are compared with."""

    name: str
    rows: str  # the set it belongs to
    labels: Array
    predictions: Array
    from_logits: bool


@dataclass(frozen=True)
class Predictions:
    """All predictors of a folder, and why the other files were skipped."""

    predictors: tuple[Predictor, ...]
    left_out: Mapping[str, str]

    @property
    def sets(self) -> dict[str, list[Predictor]]:
        """The predictors by the name of the set of rows that they belong to."""
        sets: dict[str, list[Predictor]] = {}
        for predictor in self.predictors:
            sets.setdefault(predictor.rows, []).append(predictor)
        return sets


def shipped_predictions() -> Predictions:
    """What comes with the library: a small network for ten kinds of clothes, its predictions as
    they are and recalibrated by two maps, and those of one kind against the rest.
    """
    fashion, shirt = load("fashion"), load("fashion-shirt")
    maps = {
        name: made.fit(fashion.val_labels, fashion.val_logits)
        for name, made in (
            ("temperature scaled", TemperatureScaling()),
            ("vector scaled", VectorScaling()),
        )
    }
    labels, logits = fashion.test_labels, fashion.test_logits
    of_classes = [
        Predictor("unchanged", "fashion", labels, logits, True),
        *(
            Predictor(name, "fashion", labels, fitted.transform(logits), False)
            for name, fitted in maps.items()
        ),
    ]
    binary = Predictor("unchanged", "shirt", shirt.test_labels, shirt.test_proba, False)
    return Predictions((*of_classes, binary), {})


def npz_files(data: str | os.PathLike[str]) -> list[Path]:
    """The .npz files of the folder `data`; an InputError if `data` is not a folder."""
    named = isinstance(data, str | os.PathLike) and os.fspath(data)
    folder = Path(data).expanduser() if named else None
    if folder is None or not folder.is_dir():
        raise InputError(f"data={str(data)!r} is not a folder: name one with .npz files in it")
    return sorted(folder.glob("*.npz"))


def read_predictions(data: str | os.PathLike[str]) -> Predictions:
    """Read and check every .npz file of a folder, before anything is measured.

    It is an error if a value is not valid, or if no file has predictions.
    """
    keyed: list[tuple[bytes, Predictor]] = []
    left_out: dict[str, str] = {}
    for path in npz_files(data):
        try:
            with np.load(path, allow_pickle=False) as file:
                arrays = {name: file[name] for name in file.files}
        except Exception as error:  # zipfile, zlib, NumPy and the system each have their own
            left_out[path.name] = f"cannot be read: {error}"
            continue
        predictors = _predictors_of_file(path, arrays)
        if not predictors:
            left_out[path.name] = "no predictions with labels: it has " + ", ".join(sorted(arrays))
        keyed += predictors
    for _, predictor in keyed:
        _check_values(predictor)
    if not keyed:
        why = next((f" ({k}: {v})" for k, v in left_out.items()), "; it has no .npz file")
        raise InputError(
            f"data={str(data)!r} has no predictions that can be read{why}. Each .npz must hold "
            f"{ACCEPTED}"
        )
    # Of several predictors in one file, that file's name counts.
    sets = names_of_sets((key, p.rows or p.name) for key, p in keyed)
    return Predictions(tuple(replace(p, rows=sets[key]) for key, p in keyed), left_out)


def _predictors_of_file(path: Path, arrays: Mapping[str, Array]) -> list[tuple[bytes, Predictor]]:
    """The predictors of a file, each with a key that is equal for predictors of the same rows.

    The list is empty if the file has no known pair of predictions and labels.
    """
    models = [
        name[:-5] for name in arrays if name.endswith("_conf") and f"{name[:-5]}_pred" in arrays
    ]
    if models and "labels" in arrays:
        labels = arrays["labels"]
        key = _rows_key(labels, 0)
        keyed = []
        for model in models:
            predictions, predicted = arrays[f"{model}_conf"], arrays[f"{model}_pred"]
            _check_shapes(path, f"{model}_conf", predictions, labels, "labels")
            _check_shapes(path, f"{model}_pred", predicted, labels, "labels")
            keyed.append(
                (key, Predictor(model, path.stem, predicted == labels, predictions, False))
            )
        return keyed
    for name, label_name, from_logits in _PAIRS:
        if name in arrays and label_name in arrays:
            predictions, labels = arrays[name], arrays[label_name]
            _check_shapes(path, name, predictions, labels, label_name)
            key = _rows_key(labels, predictions.shape[1] if predictions.ndim == 2 else 0)
            return [(key, Predictor(path.stem, "", labels, predictions, from_logits))]
    return []


def _check_shapes(
    path: Path, name: str, predictions: Array, labels: Array, label_name: str
) -> None:
    """Raise an InputError unless predictions and labels have rows and matching shapes.

    `name` and `label_name` are the arrays' names in the file.
    """
    if predictions.ndim not in (1, 2) or (labels.ndim != 1 and labels.shape != predictions.shape):
        raise InputError(
            f"data: {path.name}: {name!r} must be (n,) or (n, k), and {label_name!r} (n,) or of "
            f"the same shape; got {predictions.shape} and {labels.shape}"
        )
    if len(predictions) != len(labels) or not len(labels):
        raise InputError(
            f"data: {path.name}: {name!r} has {len(predictions)} rows and {label_name!r} has "
            f"{len(labels)}: both need the same rows, at least one"
        )


def _check_values(predictor: Predictor) -> None:
    """Raise an InputError that names the predictor if one of its values is not valid."""
    try:
        ece(predictor.labels, predictor.predictions, bins=1, from_logits=predictor.from_logits)
    except InputError as error:
        raise InputError(f"data: {predictor.name}: {error}") from None


def _rows_key(labels: Array, classes: int) -> bytes:
    """A key of a set of rows: equal for the same labels in the same order and as many classes.

    `classes` is the number of classes, or 0 for predictions (n,).
    """
    numeric = labels.dtype.kind in "biuf"
    return (labels.astype(np.float64) if numeric else labels).tobytes() + classes.to_bytes(
        8, "little"
    )


def names_of_sets(keyed: Iterable[tuple[bytes, str]]) -> dict[bytes, str]:
    """The name of each set of predictors, by its key: the common beginning of its members' names.

    A pair is a predictor's key, which is equal for predictors of one set, and its name.
    """
    members: dict[bytes, list[str]] = {}
    for key, name in keyed:
        members.setdefault(key, []).append(name)
    return {key: _common_beginning(names) for key, names in members.items()}


def _common_beginning(names: list[str]) -> str:
    """The words, separated by underscores, that all names begin with; the first name if none."""
    parts = []
    for part in zip(*(name.split("_") for name in names), strict=False):
        if len(set(part)) > 1:
            break
        parts.append(part[0])
    return "_".join(parts) or names[0]
