"""Few cases in place of a full crossing: every pair of values of two factors stays.

Faults of crossings need one value, or two that meet (a label kind in an engine, weights of a
measure), hardly ever four at once. A law over measures x engines x labels x weights x types is
therefore run on a part of the crossing in which each measure meets every engine, each engine every
kind of label, and so on.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from heapq import heapify, heappop, heappushpop
from itertools import combinations
from typing import Any


def pairs(rows: Iterable[tuple[Any, ...]], strength: int = 2) -> list[tuple[Any, ...]]:
    """The rows needed for every pair of values that occurs in `rows`, in the order given.

    `rows` is the crossing: `itertools.product(engines, labels, weights)`, or a list from which
    what makes no sense has been left out: a pair that no row has is not asked for. The same rows
    give the same part in every process. With `strength=3`, every three values that meet stay.

    >>> len(pairs((a, b, c, d) for a in "xyz" for b in "xyz" for c in "xyz" for d in "xyz"))
    9
    """
    rows = [tuple(row) for row in rows]
    numbers: dict[Hashable, int] = {}  # of values in their places: numbers are quick to compare
    coded = [tuple(numbers.setdefault(v, len(numbers)) for v in _named(row)) for row in rows]
    meetings = [set(combinations(row, min(strength, len(row)))) for row in coded]
    missing = set().union(*meetings)
    # What a row still adds only falls, so a row that is best by its last count, and still has
    # that count, is best: most rows are counted once or twice. Ties go to the earlier row.
    heap = [(-len(found), at) for at, found in enumerate(meetings)]
    heapify(heap)
    taken = []
    while missing:
        counted, at = heappop(heap)
        while (gain := -len(meetings[at] & missing)) != counted:
            counted, at = heappushpop(heap, (gain, at))
        taken.append(at)
        missing -= meetings[at]
    return [rows[at] for at in sorted(taken)]


def _named(row: tuple[Any, ...]) -> Iterator[Hashable]:
    return enumerate(map(_name, row))


def _name(value: Any) -> Hashable:
    """The value, or, of arrays and dictionaries, which object it is."""
    try:
        hash(value)
    except TypeError:
        return ("object", id(value))
    return (type(value), value)  # True is not 1, nor 1.0
