"""Columns that rows are divided by: each value, or range of values, gets a number and a name."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant._core.errors import InputError
from calibrant._data.slice_names import MISSING

# Numbers with at most so many distinct values are told apart by value.
FEW_VALUES = 12
# Distinct values of a column that are told apart; rarer ones are put together.
MOST_VALUES = 50
OTHER = "(other)"


@dataclass(frozen=True, eq=False)
class SegmentColumn:
    """A column as numbers from 0, one for each of `labels`."""

    name: str
    codes: NDArray[np.intp]
    labels: tuple[str, ...]
    # Whether numbers were cut into ranges, and how many values were put together as others.
    ranges: bool = False
    n_others: int = 0

    def said(self, code: int) -> str:
        """A label of this column in a sentence."""
        label = self.labels[code]
        return f"{self.name} {label}" if self.ranges and label != MISSING else (
            f"{self.name} = {label}"
        )  # fmt: skip


def segment_column(name: str, values: NDArray[Any], parts: int) -> SegmentColumn:
    """The column of these values; many numbers are cut at quantiles into `parts` ranges."""
    if values.ndim != 1:
        raise InputError(f"segments[{name!r}] must have one value a row; got {values.shape}")
    numbers = _as_numbers(values)
    if numbers is not None:
        return _of_numbers(name, numbers, parts)
    texts = np.array([MISSING if _is_missing(v) else str(v) for v in values.tolist()])
    return _of_texts(name, texts)


def _as_numbers(values: NDArray[Any]) -> NDArray[np.float64] | None:
    """The values as numbers, also where they are text, as in files; None if some are none."""
    if values.dtype.kind in "fiu":
        return values.astype(np.float64)
    if values.dtype.kind not in "OUST":
        return None
    given = values.tolist()
    if any(isinstance(value, bool) for value in given):
        return None
    try:
        return np.array([np.nan if _is_missing(v) else float(v) for v in given], np.float64)
    except (TypeError, ValueError):
        return None


def _is_missing(value: Any) -> bool:
    return value is None or value != value or value == ""


def _of_texts(name: str, texts: NDArray[Any]) -> SegmentColumn:
    labels, codes, counts = np.unique(texts, return_inverse=True, return_counts=True)
    if labels.size <= MOST_VALUES:
        return SegmentColumn(name, codes, tuple(map(str, labels)))
    # The most frequent stay, in their order.
    kept = np.sort(np.argsort(-counts, kind="stable")[: MOST_VALUES - 1])
    place = np.full(labels.size, kept.size, dtype=np.intp)
    place[kept] = np.arange(kept.size)
    n_others = int(labels.size - kept.size)
    return SegmentColumn(name, place[codes], (*map(str, labels[kept]), OTHER), n_others=n_others)


def _of_numbers(name: str, numbers: NDArray[np.float64], parts: int) -> SegmentColumn:
    known = ~np.isnan(numbers)
    values = np.unique(numbers[known])
    if values.size <= FEW_VALUES:
        codes = np.searchsorted(values, numbers)
        labels = [f"{value:g}" for value in values]
        return _with_missing(name, codes, labels, known)
    cuts = np.unique(np.quantile(numbers[known], np.arange(1, parts) / parts, method="lower"))
    # A cut belongs to the range above it; one at the lowest value would leave nothing below.
    cuts = cuts[cuts > values[0]]
    codes = np.searchsorted(cuts, numbers, side="right")
    ends = [values[0], *cuts, values[-1]]
    labels = [
        f"{low:.4g} to {'below ' if i + 2 < len(ends) else ''}{high:.4g}"
        for i, (low, high) in enumerate(pairwise(ends))
    ]
    return _with_missing(name, codes, labels, known, ranges=True)


def _with_missing(
    name: str, codes: NDArray[np.intp], labels: list[str], known: NDArray[np.bool_],
    *, ranges: bool = False,
) -> SegmentColumn:  # fmt: skip
    if not known.all():
        codes = np.where(known, codes, len(labels))
        labels = [*labels, MISSING]
    return SegmentColumn(name, codes.astype(np.intp), tuple(labels), ranges)
