"""From the arguments of a public function to its samples, and the note on those of two columns.

A function whose last argument is ``**rows: Unpack[Rows]`` hands these on: defaults are here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, TypeVar, cast

from calibrant._data.checks import TWO_COLUMNS
from calibrant._data.logprobs import given_as
from calibrant._data.samples import Samples
from calibrant._data.source import Source
from calibrant._data.to_samples import to_samples, to_source

R = TypeVar("R")


@dataclass(frozen=True, kw_only=True)
class GivenRows:
    """Rows as users give them: arrays, or names of columns of `data`."""

    y_true: Any = None
    y_proba: Any
    sample_weight: Any = None
    groups: Any = None
    by: Any = None
    votes: Any = None
    ids: Any = None
    data: Any = None


def as_source(
    y_true: Any,
    y_proba: Any,
    *,
    sample_weight: Any = None,
    votes: Any = None,
    from_logits: bool = False,
    from_logprobs: bool = False,
    classes: Sequence[Any] | None = None,
    data: Any = None,
    missing: str = "error",
) -> Source:
    """Samples where they are: lazy frames stay in their engine, tensors on their device."""
    given = given_as(from_logits, from_logprobs)
    return to_source(y_true, y_proba, sample_weight, given, classes, data, missing, votes=votes)


def as_samples(
    y_true: Any,
    y_proba: Any,
    *,
    sample_weight: Any = None,
    votes: Any = None,
    from_logits: bool = False,
    from_logprobs: bool = False,
    classes: Sequence[Any] | None = None,
    data: Any = None,
    missing: str = "error",
) -> Samples:
    """Samples in memory."""
    given = given_as(from_logits, from_logprobs)
    return to_samples(y_true, y_proba, sample_weight, given, classes, data, missing, votes=votes)


def of_two_columns(samples: Source, notion: str) -> bool:
    """Whether a value is of the top label of two columns, and would differ for P(y = 1)."""
    if samples.n_columns != 2:
        return False
    from calibrant._inference.calibration_tests import SCALAR  # slow to import

    return notion in SCALAR


def note_two_columns(found: R, samples: Source, notion: str) -> R:
    """The result, with a note if it is of the top label of two columns."""
    if not of_two_columns(samples, notion):
        return found
    result: Any = found
    if any(field.name == "notes" for field in fields(result)):
        return cast(R, replace(result, notes=(*result.notes, TWO_COLUMNS)))
    return cast(R, replace(result, note="; ".join(filter(None, [result.note, TWO_COLUMNS]))))
