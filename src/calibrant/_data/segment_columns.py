"""Columns that rows are divided by: each value, or range of values, gets a number and a name.

Of rows in memory the numbers are found at once (`segment_column`). Of rows elsewhere the values and
how often each occurs, or the ends and quantiles of a number, make a rule (`rule_of_counts`,
`rule_of_cuts`), by which an engine numbers them: the same numbers and names.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
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


@dataclass(frozen=True, eq=False)
class SegmentRule:
    """How the values of a column become numbers from 0, one for each of `labels`.

    A value is looked up in `codes`, or, if there are `cuts`, goes to the range that they give it.
    """

    name: str
    labels: tuple[str, ...]
    codes: dict[Any, int]
    cuts: NDArray[np.float64] | None = None
    # The numbers of values that are missing, and of those that are not told apart.
    missing: int | None = None
    others: int | None = None
    ranges: bool = False
    n_others: int = 0

    def column(self, codes: NDArray[np.intp]) -> SegmentColumn:
        """The column, from numbers that an engine found by this rule."""
        return SegmentColumn(self.name, codes, self.labels, self.ranges, self.n_others)


def rule_of_counts(
    name: str, values: Sequence[Hashable], counts: Sequence[int], parts: int
) -> SegmentRule:
    """The rule of a column with these distinct values, and how many rows have each."""
    known = [(value, n) for value, n in zip(values, counts, strict=True) if not _is_missing(value)]
    some_missing = len(known) < len(values)
    numbers = _numbers_of([value for value, _ in known])
    if numbers is None:
        return _rule_of_texts(name, values, counts)
    distinct, at = np.unique(np.array(numbers), return_inverse=True)
    rows = np.bincount(at, np.array([n for _, n in known], np.float64), distinct.size)
    if distinct.size <= FEW_VALUES:
        labels = [f"{value:g}" for value in distinct]
        codes = {value: int(i) for (value, _), i in zip(known, at, strict=True)}
        missing = len(labels) if some_missing else None
        labels += [MISSING] if some_missing else []
        return SegmentRule(name, tuple(labels), codes, missing=missing)
    # The value of a rank, as `np.quantile(..., method="lower")` has it.
    ranks = np.floor((rows.sum() - 1) * (np.arange(1, parts) / parts))
    cuts = distinct[np.searchsorted(np.cumsum(rows), ranks, side="right")]
    return rule_of_cuts(name, float(distinct[0]), cuts, float(distinct[-1]), some_missing)


def rule_of_cuts(
    name: str, low: float, cuts: NDArray[np.float64], high: float, some_missing: bool
) -> SegmentRule:
    """The rule of numbers from low to high, cut at these of them."""
    inner = _inner_cuts(cuts, low)
    labels = _range_labels([low, *inner, high])
    missing = len(labels) if some_missing else None
    labels += [MISSING] if some_missing else []
    return SegmentRule(name, tuple(labels), {}, inner, missing, ranges=True)


def _numbers_of(values: Sequence[Any]) -> list[float] | None:
    """The values as numbers, also where they are text; None if some are none."""
    if any(isinstance(value, bool) for value in values):
        return None
    try:
        return [float(value) for value in values]
    except (TypeError, ValueError):
        return None


def _rule_of_texts(name: str, values: Sequence[Hashable], counts: Sequence[int]) -> SegmentRule:
    texts = [MISSING if _is_missing(value) else str(value) for value in values]
    labels, at = np.unique(np.array(texts), return_inverse=True)
    rows = np.bincount(at, np.array(counts, np.float64), labels.size)
    place, kept = _most_frequent(rows)
    others = None if labels.size <= MOST_VALUES else kept.size
    code = {value: int(place[i]) for value, i in zip(values, at, strict=True)}
    missing = next((c for value, c in code.items() if _is_missing(value)), None)
    told = {v: c for v, c in code.items() if not _is_missing(v) and c != others}
    shown = (*map(str, labels[kept]), *(() if others is None else (OTHER,)))
    n_others = int(labels.size - kept.size)
    return SegmentRule(name, shown, told, None, missing, others, n_others=n_others)


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
    place, kept = _most_frequent(counts)
    n_others = int(labels.size - kept.size)
    return SegmentColumn(name, place[codes], (*map(str, labels[kept]), OTHER), n_others=n_others)


def _most_frequent(counts: NDArray[Any]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """The number of each value, and those that are told apart: the most frequent, in their order.
    Others have the number after them.
    """
    kept = np.arange(counts.size)
    if counts.size > MOST_VALUES:
        kept = np.sort(np.argsort(-counts, kind="stable")[: MOST_VALUES - 1])
    place = np.full(counts.size, kept.size, dtype=np.intp)
    place[kept] = np.arange(kept.size)
    return place, kept


def _of_numbers(name: str, numbers: NDArray[np.float64], parts: int) -> SegmentColumn:
    known = ~np.isnan(numbers)
    values = np.unique(numbers[known])
    if values.size <= FEW_VALUES:
        codes = np.searchsorted(values, numbers)
        labels = [f"{value:g}" for value in values]
        return _with_missing(name, codes, labels, known)
    quantiles = np.quantile(numbers[known], np.arange(1, parts) / parts, method="lower")
    cuts = _inner_cuts(quantiles, values[0])
    codes = np.searchsorted(cuts, numbers, side="right")
    labels = _range_labels([values[0], *cuts, values[-1]])
    return _with_missing(name, codes, labels, known, ranges=True)


def _inner_cuts(cuts: NDArray[np.float64], lowest: float) -> NDArray[np.float64]:
    """A cut belongs to the range above it; one at the lowest value would leave nothing below."""
    distinct = np.unique(cuts)
    return distinct[distinct > lowest]


def _range_labels(ends: Sequence[float]) -> list[str]:
    return [
        f"{low:.4g} to {'below ' if i + 2 < len(ends) else ''}{high:.4g}"
        for i, (low, high) in enumerate(pairwise(ends))
    ]


def _with_missing(
    name: str, codes: NDArray[np.intp], labels: list[str], known: NDArray[np.bool_],
    *, ranges: bool = False,
) -> SegmentColumn:  # fmt: skip
    if not known.all():
        codes = np.where(known, codes, len(labels))
        labels = [*labels, MISSING]
    return SegmentColumn(name, codes.astype(np.intp), tuple(labels), ranges)
