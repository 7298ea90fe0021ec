"""Bins that depend on the predictions: of equal mass, and one for each distinct prediction."""

from __future__ import annotations

import narwhals as nw
import numpy as np

from calibrant._core.bin_tables import BinTable
from calibrant._core.binning import Cuts
from calibrant._core.errors import NO_WEIGHT, InputError, NotDefined
from calibrant._core.typing import Array
from calibrant._data.frame_samples import FrameSamples
from calibrant._data.samples import Notion
from calibrant._engines.cells import Cells
from calibrant._engines.frames.expressions import Expr, any_of, col, exact_in, floor, total
from calibrant._engines.frames.query import Query
from calibrant._engines.protocol import Findings
from calibrant._engines.refine import RefinementPass, quantile_groups

# The most distinct predictions whose sums are brought here.
MOST_LEVELS = 1 << 20


def quantile_table(
    samples: FrameSamples, notion: Notion, m: int, cells: Cells, sums: Array
) -> tuple[BinTable, Cuts]:
    """The table of m exact bins of equal mass, and the cuts between them. `sums` (cells, fields)
    are the sums already known of the `cells`; rows of some cells are read again.
    """
    if not sums[:, 1].sum() > 0:
        raise InputError(NO_WEIGHT)
    cuts = cells.cuts(samples.precision)
    groups = quantile_groups(sums, cuts, m, refinement_pass(samples, notion))
    return groups.table, groups.cuts


def refinement_pass(samples: FrameSamples, notion: Notion) -> RefinementPass:
    """A function that reads the rows in given spans of predictions again and sums them in groups
    (see `refine.RefinementPass`).

    Its arguments are the spans' lowest and highest predictions, and the number of parts to cut a
    span into, or None for a group per distinct prediction. It returns the smallest and the largest
    prediction of each group, and the groups' sums (groups, fields).
    """

    def read(low: Array, high: Array, parts: int | None) -> tuple[Array, Array, Array]:
        """The smallest and largest prediction and the sums of each group of rows within the
        spans.
        """
        query = Query(samples, notion).add_fields()
        # All other rows form one more group. A filter would be cheaper, but engines move it to the
        # front, and compute the prediction again for each of its comparisons.
        groups = query.grouped(group_key(samples, low, high, parts))
        inside = groups["key"] >= 0
        return groups["low"][inside], groups["high"][inside], groups.fields[inside]

    return read


def group_key(samples: FrameSamples, low: Array, high: Array, parts: int | None) -> Expr:
    """The expression by which rows within the spans [low, high] are grouped; -1 for rows outside
    all spans.

    If `parts` is None it is the prediction itself, else a number for each of the equal parts of
    each span.
    """
    u, exact = col("u"), exact_in(samples.frame)
    spans = [u.is_between(exact(a), exact(b)) for a, b in zip(low, high, strict=True)]
    if parts is None:
        return nw.when(any_of(spans)).then(u).otherwise(nw.lit(-1.0))
    keys = []
    for j, (a, b, span) in enumerate(zip(low, high, spans, strict=True)):
        part = floor((u - exact(a)) / exact(b - a) * float(parts))
        number = part + float(j * (parts + 1) + 1)
        keys.append(nw.when(span).then(number).otherwise(nw.lit(0.0)))
    return total(keys) - 1.0


def level_sets(
    samples: FrameSamples, notion: Notion, most: int | None = None
) -> tuple[BinTable, Cuts, Findings]:
    """A bin for every distinct prediction: the table, the cuts between the bins, and the findings.
    NotDefined if there are more than `most` distinct predictions (None: MOST_LEVELS).
    """
    most = MOST_LEVELS if most is None else most
    query = Query(samples, notion).add_fields()
    groups = query.grouped(col("u"), most + 1)
    if groups["low"].size > most:
        fewer = "" if most == MOST_LEVELS else " unasked: ask by name"
        raise NotDefined(
            f"there are more than {most:,} distinct predictions, too many to bring here one by "
            f"one{fewer}, use a measure of bins, or collect the frame"
        )
    groups.check_rows()
    order = np.argsort(groups["low"], kind="stable")
    values, sums = groups["low"][order], groups.fields[order]
    nonempty = sums[:, 0] > 0  # a level that only rows of weight 0 have is not a level
    return BinTable(sums[nonempty][None]), Cuts(values[nonempty][1:]), groups.findings
