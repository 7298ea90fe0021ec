"""Scalers as JSON: text that people can read, and numbers that come back to the last bit.

    {"format": "calibrant-scaler", "version": 1, "kind": "TemperatureScaling",
     "options": {"from_logits": true}, "learned": {"temperature_": 1.7}, ...,
     "fitted_rows": {"n_distinct": 2000, "hashes": "...", "repeated": {}}}

`fitted_rows` are at most 4,096 hashes of rows, by which the rows of the fit are recognised. Nothing
in the text is executed when it is read. This module knows the format and plain dicts only;
`_scaler` writes them, and `_load` builds scalers from them.
"""

from __future__ import annotations

import dataclasses
import json
import math
from typing import Any

import numpy as np

from calibrant._core.binning import Edges, EqualWidth, LevelSets, Quantile
from calibrant._core.errors import StateError
from calibrant._core.state_file import parsed_json, shortened

FORMAT = "calibrant-scaler"
VERSION = 1
RULES = {rule.__name__: rule for rule in (EqualWidth, Quantile, Edges, LevelSets)}
COUNTS = ("n_classes_", "n_rows_", "n_iter_")
LOSSES = ("loss_before_", "loss_")


def to_text(content: dict[str, Any]) -> str:
    """The content of a fitted scaler as JSON, headed by the format and its version."""
    return json.dumps({"format": FORMAT, "version": VERSION, **content}, allow_nan=False)


def from_text(text: str | bytes, source: str) -> dict[str, Any]:
    """The content that `to_text` wrote, or a StateError that names the source of the text."""
    try:
        content = parsed_json(text)
    except (ValueError, RecursionError) as error:
        raise StateError(f"{source} is not a whole JSON document ({error})") from None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise StateError(f"{source} is not a Calibrant scaler: its format is not {FORMAT!r}")
    if content.get("version") != VERSION:
        raise StateError(
            f"{source} has the format version {shortened(content.get('version'))}; this Calibrant "
            f"reads version {VERSION}: upgrade the older side"
        )
    return content


def encode_option(value: Any) -> Any:
    """The value of an option in a form that JSON can hold: a binning rule as a dict of its name and
    fields, an array as a list.
    """
    if isinstance(value, EqualWidth | Quantile | Edges | LevelSets):
        given = (field.name for field in dataclasses.fields(value) if field.init)
        return {"rule": type(value).__name__, **{name: getattr(value, name) for name in given}}
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    return list(value) if isinstance(value, tuple) else value


def decode_option(value: Any) -> Any:
    """The value of an option from the form that `encode_option` wrote."""
    if isinstance(value, dict):
        fields = dict(value)
        return RULES[fields.pop("rule")](**fields)
    return value


def encode_learned(value: Any) -> Any:
    """A fitted attribute in a form that JSON can hold: an array as a list, a tuple of arrays (one
    for each class) as {"each": [lists]}, NaN as null.
    """
    if isinstance(value, tuple):
        return {"each": [encode_learned(array) for array in value]}
    if isinstance(value, np.ndarray):
        items = value if value.ndim > 1 else value.tolist()
        return [encode_learned(item) for item in items]
    return None if math.isnan(value) else value


def decode_learned(value: Any) -> Any:
    """The fitted attribute (number, array or tuple of arrays) from the form that `encode_learned`
    wrote.
    """
    if isinstance(value, dict):
        return tuple(np.asarray(array, dtype=np.float64) for array in value["each"])
    return float(value) if isinstance(value, float | int) else np.asarray(value, dtype=np.float64)
