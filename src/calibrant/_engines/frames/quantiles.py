"""Bins that depend on the predictions: of equal mass, and one for each distinct prediction."""

from __future__ import annotations

import narwhals as nw
import numpy as np

from calibrant._core.bin_tables import BinTable
from calibrant._core.binning import Cuts
from calibrant._core.errors import NotDefined
from calibrant._core.typing import Array
from calibrant._data.frame_samples import FrameSamples
from calibrant._data.samples import Notion
from calibrant._engines.frames.collecting import collected
from calibrant._engines.frames.expressions import Expr, col, exact_in, floor, where
from calibrant._engines.frames.groups import Groups
from calibrant._engines.frames.query import Query
from calibrant._engines.protocol import Findings

# The most distinct predictions whose sums are brought here.
MOST_LEVELS = 1 << 20
# The finest equal cells by which rows outside of some spans are counted, and the most cells that a
# query lists. Their number is a power of two: products with it are exact.
FINEST, MOST_LISTED = 1 << 14, 500
# Rows at which to look first where fewer distinct predictions are wanted.
MOST_SEEN = 1 << 17


def group_key(samples: FrameSamples, low: Array, high: Array, parts: int | None) -> Expr:
    """The expression by which rows within the spans [low, high], which do not overlap, are grouped;
    -1 for rows outside all spans.

    If `parts` is None it is the prediction itself, else a number for each of the equal parts of
    each span. A row's span is found by bisection. Before that, its cell shows of
    most rows that they lie in no span.
    """
    u, exact = col("u"), exact_in(samples.frame)
    order = np.argsort(low)
    low, high = low[order], high[order]

    def within(j: int) -> Expr:
        """The key of a row in span j."""
        if parts is None:
            return u
        a, b = low[j], high[j]
        return floor((u - exact(a)) / exact(b - a) * float(parts)) + float(j * (parts + 1))

    def among(first: int, last: int) -> Expr:
        """The key of a row in one of the spans from number `first` to the one before `last`."""
        if last - first == 1:
            inside = (u >= exact(low[first])) & (u <= exact(high[first]))
            return where(inside, within(first), -1.0)
        middle = (first + last) // 2
        is_lower = u < exact(low[middle])
        return where(is_lower, among(first, middle), among(middle, last))

    n, cells = _cells_of(low, high)
    near = floor(u * float(n)).cast(nw.Int64).is_in(cells)
    return where(near, among(0, low.size), -1.0)


def _cells_of(low: Array, high: Array) -> tuple[int, list[int]]:
    """A number of equal cells of [0, 1], and those of them that the spans reach into: few enough to
    be listed in a query.
    """
    n = FINEST
    while True:
        first, last = (np.floor(ends * n).astype(np.int64) for ends in (low, high))
        if n == 1 or int((last - first).sum()) + low.size <= MOST_LISTED:
            each = [np.arange(a, b + 1) for a, b in zip(first, last, strict=True)]
            return n, np.unique(np.concatenate(each)).tolist()
        n //= 2


def level_sets(
    samples: FrameSamples,
    notion: Notion,
    most: int | None = None,
    known: Groups | None = None,
) -> tuple[BinTable, Cuts, Findings]:
    """A bin for every distinct prediction: the table, the cuts between the bins, and the findings.
    NotDefined if there are more than `most` distinct predictions (None: MOST_LEVELS); `known`
    groups of the rows, or a look at some rows, may show that already.
    """
    asked = most is None
    most = MOST_LEVELS if most is None else most
    query = Query(samples, notion).add_levels()
    if not _has_more(query, most, known):
        groups = query.grouped(col("u"), most + 1)
        if groups["low"].size <= most:
            groups.check_rows()
            order = np.argsort(groups["low"], kind="stable")
            values, sums = groups["low"][order], groups.fields[order]
            nonempty = sums[:, 0] > 0  # a level that only rows of weight 0 have is not a level
            return BinTable(sums[nonempty][None]), Cuts(values[nonempty][1:]), groups.findings
    unless = "" if asked else " unless you name the measure"
    raise NotDefined(
        f"there are more than {most:,} distinct predictions, too many to collect{unless}: "
        "use a measure over bins, or collect the frame"
    )


def _has_more(query: Query, most: int, known: Groups | None) -> bool:
    """Whether there are surely more than `most` distinct predictions, by the ends of known groups
    or by some of the rows.

    To group all rows by prediction takes longer than all else, and is in vain if they are many.
    """
    if known is not None and np.union1d(known["low"], known["high"]).size > most:
        return True
    if most > MOST_SEEN // 2:
        return False
    some = query.frame.head(MOST_SEEN).group_by("u").agg(nw.len().alias("rows"))
    return len(collected(some)) > most
