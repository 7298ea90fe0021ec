"""Columns that rows are divided by: each value, or range of values, gets a number and a name.

Of rows in memory the numbers are found at once (`segment_column`). Of rows elsewhere the values and
how often each occurs, or the ends and quantiles of a number, make a rule (`rule_of_counts`,
`rule_of_cuts`), by which an engine numbers them: the same numbers and names.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant._core.errors import InputError
from calibrant._core.typing import Array, Index, Mask
from calibrant._data.slice_names import MISSING

# Numbers with at most so many distinct values are told apart by value.
FEW_VALUES = 12
# Distinct values of a column that are told apart; rarer ones are put together.
MOST_VALUES = 50
OTHER = "(other)"
# Doubles hold every whole number below this.
MOST_WHOLE = 2**53


@dataclass(frozen=True, eq=False)
class SegmentColumn:
    """A column as numbers from 0, one for each of `labels`."""

    name: str
    codes: Index
    labels: tuple[str, ...]
    # Whether numbers were cut into ranges, and how many values were put together as others.
    ranges: bool = False
    n_others: int = 0

    def phrase(self, code: int) -> str:
        """A label of this column in a sentence."""
        label = self.labels[code]
        sign = " " if self.ranges and label != MISSING else " = "
        return f"{self.name}{sign}{label}"


@dataclass(frozen=True, eq=False)
class SegmentRule:
    """How the values of a column become numbers from 0, one for each of `labels`.

    A value is looked up in `codes`, or, if there are `cuts`, goes to the range that they give it.
    """

    name: str
    labels: tuple[str, ...]
    codes: dict[Any, int]
    cuts: Array | None = None
    # The numbers of values that are missing, and of those that are not told apart.
    missing: int | None = None
    others: int | None = None
    ranges: bool = False
    n_others: int = 0

    def code(self, value: Any) -> int:
        """The number of a value."""
        if _is_missing(value):
            assert self.missing is not None
            return self.missing
        if self.cuts is not None:
            return int(np.searchsorted(self.cuts, float(value), side="right"))
        others = -1 if self.others is None else self.others
        return self.codes.get(value, others)

    def column(self, codes: Index) -> SegmentColumn:
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
    labels = [name_of(value) for value, _ in known]
    many = len(set(labels)) > FEW_VALUES
    if many and _exceed_doubles(np.array(numbers), len(set(labels))):
        return _rule_of_texts(name, values, counts)
    if many:
        distinct, at = np.unique(np.array(numbers), return_inverse=True)
        rows = np.bincount(at, np.array([n for _, n in known], np.float64), distinct.size)
        # The value of a rank, as `np.quantile(..., method="lower")` has it.
        ranks = np.floor((rows.sum() - 1) * (np.arange(1, parts) / parts))
        cuts = distinct[np.searchsorted(np.cumsum(rows), ranks, side="right")]
        return rule_of_cuts(name, float(distinct[0]), cuts, float(distinct[-1]), some_missing)
    # Names in the order of their numbers: 01 and 1 are one number, and two names.
    pairs = sorted(zip(numbers, labels, strict=True))
    order = list(dict.fromkeys(label for _, label in pairs))
    codes = {value: order.index(label) for (value, _), label in zip(known, labels, strict=True)}
    missing = len(order) if some_missing else None
    order += [MISSING] if some_missing else []
    return SegmentRule(name, tuple(order), codes, missing=missing)


def rule_of_cuts(
    name: str, low: float, cuts: Array, high: float, some_missing: bool
) -> SegmentRule:
    """The rule of numbers from low to high, cut at these of them."""
    inner = _inner_cuts(cuts, low)
    labels = _range_labels([low, *inner, high])
    missing = len(labels) if some_missing else None
    labels += [MISSING] if some_missing else []
    return SegmentRule(name, tuple(labels), {}, inner, missing, ranges=True)


def name_of(value: Any) -> str:
    """A value as text: a number so that no other has the same, 3.0 as 3."""
    if not isinstance(value, float | np.floating):
        return str(value)
    number = float(value)
    short = f"{number + 0.0:g}"  # -0.0 is 0
    if float(short) == number:
        return short
    return str(int(number)) if number.is_integer() and abs(number) < MOST_WHOLE else repr(number)


# A number as programs write it. 01 and 1E2 are more often names: of a street, of an article.
_WRITTEN = re.compile(r"\s*[+-]?(?:(?:0|[1-9]\d*)(?:\.\d*)?|\.\d+)(?:[eE][+-]\d+)?\s*")


def _numbers_of(values: Sequence[Any]) -> list[float] | None:
    """The values as numbers, also where they are text, as in files; None if some are none."""
    if any(isinstance(value, bool | np.bool_) for value in values):
        return None
    if any(isinstance(value, str) and not _WRITTEN.fullmatch(value) for value in values):
        return None
    try:
        return [float(value) for value in values]
    except (TypeError, ValueError, OverflowError):
        return None


def _rule_of_texts(
    name: str, values: Sequence[Hashable], counts: Sequence[int], parts: int = 0
) -> SegmentRule:
    """The rule of names, whatever `parts` numbers would be cut into."""
    texts = [MISSING if _is_missing(value) else name_of(value) for value in values]
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
    if values.dtype.kind in "fiu":
        return _number_column(name, values, parts)
    texts = np.array([MISSING if _is_missing(v) else name_of(v) for v in values.tolist()])
    labels, at, counts = np.unique(texts, return_inverse=True, return_counts=True)
    distinct = [None if label == MISSING else str(label) for label in labels]
    # Of other kinds, such as times, every value is a name.
    make_rule = rule_of_counts if values.dtype.kind in "OUST" else _rule_of_texts
    rule = make_rule(name, distinct, counts.tolist(), parts)
    return rule.column(np.array([rule.code(value) for value in distinct], dtype=np.intp)[at])


def _is_missing(value: Any) -> bool:
    return value is None or value != value or value == ""


def _most_frequent(counts: NDArray[Any]) -> tuple[Index, Index]:
    """The number of each value, and those that are told apart: the most frequent, in their order.
    Others have the number after them.
    """
    kept = np.arange(counts.size)
    if counts.size > MOST_VALUES:
        kept = np.sort(np.argsort(-counts, kind="stable")[: MOST_VALUES - 1])
    place = np.full(counts.size, kept.size, dtype=np.intp)
    place[kept] = np.arange(kept.size)
    return place, kept


def _text_column(name: str, texts: NDArray[Any]) -> SegmentColumn:
    labels, at, counts = np.unique(texts, return_inverse=True, return_counts=True)
    rule = _rule_of_texts(name, labels.tolist(), counts.tolist())
    return rule.column(np.array([rule.code(label) for label in labels.tolist()], np.intp)[at])


def _number_column(name: str, given: NDArray[Any], parts: int) -> SegmentColumn:
    known = ~np.isnan(given)
    values = np.unique(given[known])
    if values.size <= FEW_VALUES:  # as they are: doubles do not hold every whole number
        codes = np.searchsorted(values, given)
        return _add_missing(name, codes, [name_of(value) for value in values.tolist()], known)
    if _exceed_doubles(values.astype(np.float64), values.size):
        return _text_column(name, np.where(known, given.astype(str), MISSING))
    numbers, values = given.astype(np.float64), values.astype(np.float64)
    quantiles = np.quantile(numbers[known], np.arange(1, parts) / parts, method="lower")
    cuts = _inner_cuts(quantiles, values[0])
    codes = np.searchsorted(cuts, numbers, side="right")
    labels = _range_labels([values[0], *cuts, values[-1]])
    return _add_missing(name, codes, labels, known, ranges=True)


def _inner_cuts(cuts: Array, lowest: float) -> Array:
    """A cut belongs to the range above it; one at the lowest value would leave nothing below."""
    distinct = np.unique(cuts)
    return distinct[distinct > lowest]


def _range_labels(ends: Sequence[float]) -> list[str]:
    return [
        f"{low} to {'below ' if i + 2 < len(ends) else ''}{high}"
        for i, (low, high) in enumerate(pairwise(_shown(ends)))
    ]


def _shown(ends: Sequence[float]) -> list[str]:
    """Whole numbers as they are, others with as few digits as tell them apart, four at least."""
    known = [float(end) for end in ends if np.isfinite(end)]
    if all(end.is_integer() and abs(end) < MOST_WHOLE for end in known):
        return [f"{end:.0f}" for end in ends]
    for digits in range(4, 18):
        texts = [f"{end:.{digits}g}" for end in ends]
        if len(set(texts)) == len(set(ends)):
            break
    return texts


def _exceed_doubles(numbers: Array, n_values: int) -> bool:
    """Whether doubles are too coarse for these values, as for ids of 19 digits: they are names."""
    return bool(np.unique(numbers).size < n_values and np.abs(numbers).max() > MOST_WHOLE)


def _add_missing(
    name: str, codes: Index, labels: list[str], known: Mask, *, ranges: bool = False
) -> SegmentColumn:
    if not known.all():
        codes = np.where(known, codes, len(labels))
        labels = [*labels, MISSING]
    return SegmentColumn(name, codes.astype(np.intp), tuple(labels), ranges)
