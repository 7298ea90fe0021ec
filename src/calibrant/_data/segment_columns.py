"""Columns that rows are divided by: each value, or range of values, gets a number and a name.

For rows in memory the numbers are found at once (`segment_column`). For rows in an engine a rule is
made first, from the values and how often each occurs (`rule_of_counts`), or from a number's least
and largest value and quantiles (`rule_of_cuts`). By this rule the engine numbers the rows: numbers
and names are the same as in memory.
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
from calibrant._core.typing import Array, Index
from calibrant._data.slice_names import MISSING

# Up to this many distinct numbers of a column are segments; more are cut into ranges.
FEW_VALUES = 12
# The most segments of a column of names; the rarest names share one.
MOST_VALUES = 50
OTHER = "(other)"
# Doubles hold every whole number below this.
MOST_WHOLE = 2**53


@dataclass(frozen=True, eq=False)
class SegmentColumn:
    """A column that divides the rows into segments (a value, or a range of values): row i is in the
    segment named `labels[codes[i]]`.
    """

    name: str
    codes: Index
    labels: tuple[str, ...]
    # Whether numbers were cut into ranges, and how many distinct values share the label OTHER.
    ranges: bool = False
    n_others: int = 0

    def phrase(self, code: int) -> str:
        """The segment with the number `code` in words: "age = 30", or "age 30 to 40"
        for a range.
        """
        label = self.labels[code]
        sign = " " if self.ranges and label != MISSING else " = "
        return f"{self.name}{sign}{label}"


@dataclass(frozen=True, eq=False)
class SegmentRule:
    """How the values of a column become segment numbers (codes) from 0, one for each of `labels`.

    A value is looked up in `codes`; if there are `cuts`, it goes to the range between two cuts.
    """

    name: str
    labels: tuple[str, ...]
    codes: dict[Any, int]
    cuts: Array | None = None
    # The number for missing values and the number for rare ones; None if there are none.
    missing: int | None = None
    others: int | None = None
    ranges: bool = False
    n_others: int = 0

    def code(self, value: Any) -> int:
        """The number of the segment that a value belongs to; -1 if the rule has no
        segment for it.
        """
        if _is_missing(value):
            return -1 if self.missing is None else self.missing
        if self.cuts is not None:
            return int(np.searchsorted(self.cuts, float(value), side="right"))
        others = -1 if self.others is None else self.others
        return self.codes.get(value, others)

    def column(self, codes: Index) -> SegmentColumn:
        """The column made by this rule; `codes` is the number of each row's segment, which an
        engine found.
        """
        return SegmentColumn(self.name, codes, self.labels, self.ranges, self.n_others)


def rule_of_counts(
    name: str, values: Sequence[Hashable], counts: Sequence[int], parts: int
) -> SegmentRule:
    """The rule for a column with these distinct values; `counts` are the numbers of rows that have
    each value. More than a few distinct numbers are cut at quantiles into `parts` ranges.
    """
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
        return _rule_of_quantiles(name, distinct, rows, parts, some_missing)
    # Names in the order of their numbers: 01 and 1 are one number, and two names.
    pairs = sorted(zip(numbers, labels, strict=True))
    order = list(dict.fromkeys(label for _, label in pairs))
    codes = {value: order.index(label) for (value, _), label in zip(known, labels, strict=True)}
    missing = len(order) if some_missing else None
    order += [MISSING] if some_missing else []
    return SegmentRule(name, tuple(order), codes, missing=missing)


def _rule_of_quantiles(
    name: str, distinct: Array, rows: NDArray[Any], parts: int, some_missing: bool
) -> SegmentRule:
    """The rule for numbers in `parts` ranges between quantiles. `distinct` are the numbers that
    occur, in increasing order, and `rows` the numbers of rows that have each.
    """
    # The value of a rank, as `np.quantile(..., method="lower")` has it.
    ranks = np.floor((rows.sum() - 1) * (np.arange(1, parts) / parts))
    cuts = distinct[np.searchsorted(np.cumsum(rows), ranks, side="right")]
    return rule_of_cuts(name, float(distinct[0]), cuts, float(distinct[-1]), some_missing)


def rule_of_cuts(
    name: str, low: float, cuts: Array, high: float, some_missing: bool
) -> SegmentRule:
    """The rule for numbers from `low` to `high`, in ranges that begin at `low` and at each of the
    cuts. `some_missing`: the rule gets a segment for missing values.
    """
    distinct = np.unique(cuts)
    # A range begins at its cut, so that a cut at the lowest value would leave an empty range below.
    inner = distinct[distinct > low]
    labels = _range_labels([low, *inner, high])
    missing = len(labels) if some_missing else None
    labels += [MISSING] if some_missing else []
    return SegmentRule(name, tuple(labels), {}, inner, missing, ranges=True)


def name_of(value: Any) -> str:
    """A value as text, different for different numbers; whole floats have no decimal point: 3.0 is
    "3".
    """
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
    """The values as floats, also where text writes a number; None if one of them is not
    a number.
    """
    if any(isinstance(value, bool | np.bool_) for value in values):
        return None
    if any(isinstance(value, str) and not _WRITTEN.fullmatch(value) for value in values):
        return None
    try:
        return [float(value) for value in values]
    except (TypeError, ValueError, OverflowError):
        return None


def _rule_of_texts(name: str, values: Sequence[Hashable], counts: Sequence[int]) -> SegmentRule:
    """The rule that takes each value as a name and, where there are many, puts the rarest into one
    segment.
    """
    texts = [MISSING if _is_missing(value) else name_of(value) for value in values]
    labels, at = np.unique(np.array(texts), return_inverse=True)
    rows = np.bincount(at, np.array(counts, np.float64), labels.size)
    place, kept = _most_frequent(rows)
    others = None if labels.size <= MOST_VALUES else kept.size
    code = {value: int(place[i]) for value, i in zip(values, at, strict=True)}
    missing = next((c for value, c in code.items() if _is_missing(value)), None)
    own = {v: c for v, c in code.items() if not _is_missing(v) and c != others}
    shown = (*map(str, labels[kept]), *(() if others is None else (OTHER,)))
    n_others = int(labels.size - kept.size)
    return SegmentRule(name, shown, own, None, missing, others, n_others=n_others)


def segment_column(name: str, values: NDArray[Any], parts: int) -> SegmentColumn:
    """The segments of a column of values, one per row; more than a few distinct numbers are cut at
    quantiles into `parts` ranges.
    """
    if values.ndim != 1:
        raise InputError(f"segments[{name!r}] must have one value per row; got {values.shape}")
    if values.dtype.kind in "fiu":
        return _number_column(name, values, parts)
    texts = np.array([MISSING if _is_missing(v) else name_of(v) for v in values.tolist()])
    labels, at, counts = np.unique(texts, return_inverse=True, return_counts=True)
    distinct = [None if label == MISSING else str(label) for label in labels]
    if values.dtype.kind in "OUST":
        rule = rule_of_counts(name, distinct, counts.tolist(), parts)
    else:  # values of other kinds, such as times, are taken as names
        rule = _rule_of_texts(name, distinct, counts.tolist())
    return rule.column(_codes_of(rule, distinct)[at])


def _is_missing(value: Any) -> bool:
    """Whether a value is None, NaN or an empty text."""
    return value is None or value != value or value == ""


def _most_frequent(counts: NDArray[Any]) -> tuple[Index, Index]:
    """Choose the values that keep a segment of their own: the most frequent. `counts` is the number
    of rows that have each value.

    Returns the segment number of each value, and the positions of the chosen values, in their
    order. All other values share the number after those.
    """
    kept = np.arange(counts.size)
    if counts.size > MOST_VALUES:
        kept = np.sort(np.argsort(-counts, kind="stable")[: MOST_VALUES - 1])
    place = np.full(counts.size, kept.size, dtype=np.intp)
    place[kept] = np.arange(kept.size)
    return place, kept


def _number_column(name: str, given: NDArray[Any], parts: int) -> SegmentColumn:
    """The segments of a column of numbers: each distinct number if these are few, else `parts`
    ranges between quantiles. NaN is a segment of its own.
    """
    known = ~np.isnan(given)
    values, counts = np.unique(given[known], return_counts=True)
    n_missing = int(np.count_nonzero(~known))
    if values.size <= FEW_VALUES:  # unchanged: doubles do not hold every whole number
        labels = [*map(name_of, values.tolist()), *([MISSING] if n_missing else [])]
        # NaN is sorted behind all numbers.
        return SegmentColumn(name, np.searchsorted(values, given), tuple(labels))
    doubles = values.astype(np.float64)
    if not _exceed_doubles(doubles, values.size):
        rule = _rule_of_quantiles(name, doubles, counts, parts, n_missing > 0)
        assert rule.cuts is not None
        codes = np.searchsorted(rule.cuts, given.astype(np.float64), side="right")
        # The segment of missing values is the last one.
        return rule.column(np.where(known, codes, len(rule.labels) - 1))
    distinct = [*values.tolist(), *([None] if n_missing else [])]
    rule = _rule_of_texts(name, distinct, [*counts.tolist(), n_missing][: len(distinct)])
    return rule.column(_codes_of(rule, distinct)[np.searchsorted(values, given)])


def _codes_of(rule: SegmentRule, values: Sequence[Any]) -> Index:
    """The segment number of each of these values."""
    return np.array([rule.code(value) for value in values], dtype=np.intp)


def _range_labels(ends: Sequence[float]) -> list[str]:
    """The names of the ranges between consecutive ends: "1 to below 5", and of the last range "5 to
    9".
    """
    return [
        f"{low} to {'below ' if i + 2 < len(ends) else ''}{high}"
        for i, (low, high) in enumerate(pairwise(_end_texts(ends)))
    ]


def _end_texts(ends: Sequence[float]) -> list[str]:
    """The ends of ranges as text: whole numbers in full, others with at least four digits, and with
    as many digits as make them different.
    """
    known = [float(end) for end in ends if np.isfinite(end)]
    if all(end.is_integer() and abs(end) < MOST_WHOLE for end in known):
        return [f"{end:.0f}" for end in ends]
    for digits in range(4, 18):
        texts = [f"{end:.{digits}g}" for end in ends]
        if len(set(texts)) == len(set(ends)):
            break
    return texts


def _exceed_doubles(numbers: Array, n_values: int) -> bool:
    """Whether some of `n_values` distinct values are equal as doubles (`numbers`) because they are
    too large, such as ids of 19 digits. The caller reads these numbers as names.
    """
    return bool(np.unique(numbers).size < n_values and np.abs(numbers).max() > MOST_WHOLE)
