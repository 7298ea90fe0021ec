"""Scalers as JSON: text that people can read, numbers that come back to the last bit.

    {"format": "calibrant-scaler", "version": 1, "kind": "TemperatureScaling",
     "options": {"from_logits": true}, "learned": {"temperature_": 1.7}, ...,
     "fitted_rows": {"n_distinct": 2000, "hashes": "...", "repeated": {}}}

`fitted_rows` are at most 4,096 hashes of rows, by which those of the fit are recognised. Nothing
in it is executed when it is read.
"""

from __future__ import annotations

import dataclasses
import json
import math
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from calibrant._core.atomic_files import atomic_write
from calibrant._core.binning import Edges, EqualWidth, LevelSets, Quantile
from calibrant._core.errors import StateError, nearest
from calibrant._core.state_file import parsed_json, shortened, whole_number
from calibrant.scaling._predictions import LARGEST_LOGIT, Predictions
from calibrant.scaling._same_rows import FittedRows

if TYPE_CHECKING:
    from calibrant.scaling._scaler import Scaler

FORMAT = "calibrant-scaler"
VERSION = 1
RULES = {rule.__name__: rule for rule in (EqualWidth, Quantile, Edges, LevelSets)}
COUNTS = ("n_classes_", "n_rows_", "n_iter_")
LOSSES = ("loss_before_", "loss_")
# A map of more classes than any has: its columns are a number that nothing else bears out.
MOST_COLUMNS = 1_000_000


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
        "fitted_rows": None if scaler._fitted_rows is None else scaler._fitted_rows.to_dict(),
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
    with atomic_write(path) as beside:
        beside.write_text(text, encoding="utf-8")


def _read(text: str | bytes, where: str) -> Scaler:
    from calibrant.scaling import SCALERS

    try:
        content = parsed_json(text)
    except (ValueError, RecursionError) as error:
        raise StateError(f"{where} is not a whole JSON document ({error})") from None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise StateError(f"{where} is not a Calibrant scaler: its format is not {FORMAT!r}")
    if content.get("version") != VERSION:
        raise StateError(
            f"{where} has the format version {shortened(content.get('version'))}; this Calibrant "
            f"reads version {VERSION}: upgrade the older side"
        )
    kind = content.get("kind")
    if not isinstance(kind, str) or kind not in SCALERS:
        said = shortened(kind)
        hint = nearest(said, SCALERS)
        raise StateError(f"{where} holds an unknown kind of scaler, {said}: {hint}")
    try:
        return _restored(SCALERS[kind], content)
    except Exception as error:  # what anyone may have written: numbers too large, nests too deep
        said = f"{type(error).__name__}: {str(error)[:500]}"
        raise StateError(f"{where} is damaged: {said}") from None


def _restored(kind: type[Scaler], content: dict[str, Any]) -> Scaler:
    scaler = kind(**{name: _rule(value) for name, value in content["options"].items()})
    scaler._check_options()
    for name in kind._learned:
        learned = _arrays(content["learned"][name])
        for part in learned if isinstance(learned, tuple) else (learned,):
            if (np.abs(part) > LARGEST_LOGIT).any():
                raise ValueError(f"{name} is too large for a map")
        setattr(scaler, name, learned)
    for name in COUNTS:
        setattr(scaler, name, whole_number(content[name], name))
    for name in LOSSES:
        setattr(scaler, name, float(content[name]))
    k = content["columns"]
    scaler._columns = None if k is None else whole_number(k, "columns")
    if scaler.n_classes_ != (scaler._columns or 2) or scaler.n_classes_ > MOST_COLUMNS:
        raise ValueError(f"{shortened(k)} columns, and {scaler.n_classes_} classes")
    scaler._fitted_on = None if content["fitted_on"] is None else str(content["fitted_on"])
    rows = content.get("fitted_rows")
    scaler._fitted_rows = None if rows is None else FittedRows.from_dict(rows)
    scaler._check_learned()
    # A few rows through the map show whether the parts fit together.
    tried = _rows_to_try(scaler._columns)
    with np.errstate(all="ignore"):
        out = scaler._apply(Predictions(tried, scaler.from_logits, np.dtype(float)))
    if out.shape != tried.shape or not np.isfinite(out).all():
        raise ValueError("its numbers do not make a map")
    return scaler


def _rows_to_try(columns: int | None) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Rows that are undecided, and sure of the first class and of the last."""
    if columns is None:
        rows = np.array([0.5, 0.0, 1.0])
    else:
        rows = np.full((3, columns), 1 / columns)
        rows[1:] = 0.0
        rows[1, 0] = rows[2, -1] = 1.0
    return rows


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
