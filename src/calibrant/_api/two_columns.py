"""The note of predictions of two columns: errors are those of the top label."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any, TypeVar, cast

from calibrant._data.checks import TWO_COLUMNS
from calibrant._data.source import Source

R = TypeVar("R")


def of_two_columns(samples: Source, notion: str) -> bool:
    """Whether a value is of the top label of two columns, and would differ for P(y = 1)."""
    if samples.n_columns != 2:
        return False
    from calibrant._inference.calibration_tests import SCALAR  # slow to import

    return notion in SCALAR


def noted(found: R, samples: Source, notion: str) -> R:
    """The result, with a note if it is of the top label of two columns."""
    if not of_two_columns(samples, notion):
        return found
    result: Any = found
    if any(field.name == "notes" for field in fields(result)):
        return cast(R, replace(result, notes=(*result.notes, TWO_COLUMNS)))
    return cast(R, replace(result, note="; ".join(filter(None, [result.note, TWO_COLUMNS]))))
