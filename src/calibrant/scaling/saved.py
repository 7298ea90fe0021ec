"""Scalers as JSON: text that people can read, numbers that come back to the last bit.

    {"format": "calibrant-scaler", "version": 1, "kind": "TemperatureScaling",
     "options": {"from_logits": true}, "learned": {"temperature_": 1.7}, ...}

Nothing in it is executed when it is read.
"""

from __future__ import annotations

import dataclasses
import json
import math
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from calibrant.binning import Edges, EqualWidth, LevelSets, Quantile
from calibrant.errors import CalibrantError, StateError, nearest
from calibrant.scaling.reports import Reports
from calibrant.whole_files import replacing

if TYPE_CHECKING:
    from calibrant.scaling.scaler import Scaler

FORMAT = "calibrant-scaler"
VERSION = 1
RULES = {rule.__name__: rule for rule in (EqualWidth, Quantile, Edges, LevelSets)}
COUNTS = ("n_classes_", "n_rows_", "n_iter_")
LOSSES = ("loss_before_", "loss_")


def to_json(scaler: Scaler) -> str:
    """The text of a fitted scaler."""
    content = {
        "format": FORMAT,
        "version": VERSION,
        "kind": type(scaler).__name__,
        "options": {name: _option(value) for name, value in scaler.get_params().items()},
        "learned": {name: _plain(getattr(scaler, name)) for name in scaler._learned},
        "columns": scaler._columns,
        "fitted_on": scaler._fitted_on,
        **{name: getattr(scaler, name) for name in (*COUNTS, *LOSSES)},
    }
    return json.dumps(content, allow_nan=False)


def from_json(text: str | bytes) -> Scaler:
    """The scaler that `to_json` wrote; a StateError if it cannot be."""
    return _read(text, "this text")


def load(path: str | os.PathLike[str]) -> Scaler:
    """The scaler that `save` wrote; a StateError if the file does not hold one."""
    return _read(Path(path).read_bytes(), str(path))


def write(path: str | os.PathLike[str], text: str) -> None:
    """Write atomically: the old file stays whole until the new one is complete on disk."""
    with replacing(path) as beside:
        beside.write_text(text, encoding="utf-8")


def _read(text: str | bytes, where: str) -> Scaler:
    from calibrant.scaling import SCALERS

    try:
        content = json.loads(text)
    except ValueError as error:
        raise StateError(f"{where} is not a whole JSON document ({error})") from None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise StateError(f"{where} is not a Calibrant scaler: its format is not {FORMAT!r}")
    if content.get("version") != VERSION:
        raise StateError(
            f"{where} has the format version {content.get('version')}; this Calibrant reads "
            f"version {VERSION}: upgrade the older side"
        )
    if content.get("kind") not in SCALERS:
        hint = nearest(content.get("kind"), SCALERS)
        raise StateError(
            f"{where} holds an unknown kind of scaler, {content.get('kind')!r}: {hint}"
        )
    try:
        return _restored(SCALERS[content["kind"]], content)
    except (AttributeError, CalibrantError, IndexError, KeyError, TypeError, ValueError) as error:
        raise StateError(f"{where} is damaged: {type(error).__name__}: {error}") from None


def _restored(kind: type[Scaler], content: dict[str, Any]) -> Scaler:
    scaler = kind(**{name: _rule(value) for name, value in content["options"].items()})
    scaler._check_options()
    for name in kind._learned:
        setattr(scaler, name, _arrays(content["learned"][name]))
    for name in COUNTS:
        setattr(scaler, name, int(content[name]))
    for name in LOSSES:
        setattr(scaler, name, float(content[name]))
    scaler._columns, scaler._fitted_on = content["columns"], content["fitted_on"]
    # One row through the map shows whether the parts fit together.
    k = scaler._columns
    row = Reports(np.full((1, k) if k else 1, 1 / (k or 2)), scaler.from_logits, np.dtype(float))
    out = scaler._apply(row)
    if out.shape != row.values.shape or not np.isfinite(out).all():
        raise ValueError("its numbers do not make a map")
    return scaler


def _option(value: Any) -> Any:
    """An option as JSON has it; a rule of bins by its name and fields."""
    if isinstance(value, EqualWidth | Quantile | Edges | LevelSets):
        return {"rule": type(value).__name__, **dataclasses.asdict(value)}
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    return list(value) if isinstance(value, tuple) else value


def _rule(value: Any) -> Any:
    if isinstance(value, dict):
        fields = dict(value)
        return RULES[fields.pop("rule")](**fields)
    return value


def _plain(value: Any) -> Any:
    """Numbers as lists; an array for each class as {"each": lists}; NaN as null."""
    if isinstance(value, tuple):
        return {"each": [_plain(array) for array in value]}
    if isinstance(value, np.ndarray):
        return (
            [_plain(part) for part in value] if value.ndim > 1 else [*map(_plain, value.tolist())]
        )
    return None if math.isnan(value) else value


def _arrays(value: Any) -> Any:
    if isinstance(value, dict):
        return tuple(np.asarray(array, dtype=np.float64) for array in value["each"])
    return float(value) if isinstance(value, float | int) else np.asarray(value, dtype=np.float64)
