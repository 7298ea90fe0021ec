"""The interval rule as expressions: step functions of a report, by which rows are grouped.

Rows are grouped by sums of step functions, each of which never falls as the report grows and steps
at every edge it is made for. Such a sum steps wherever one of its parts does: no group reaches over
an edge, and one report of a group tells, by the rule itself, which bin the group is in.
"""

from __future__ import annotations

import math
from typing import Any

import narwhals as nw
import numpy as np

from calibrant.binning import Closed, Cuts, EqualWidth, fixed_cuts
from calibrant.engines.cells import N_LINEAR
from calibrant.engines.frames.expressions import (
    Expr,
    Float64,
    at_least,
    at_most,
    col,
    exact,
    floor,
    number,
    total,
)


def steps_of(u: Expr, cuts: Cuts, precision: np.dtype[Any]) -> Expr | None:
    """A step function for cuts; None where there are none."""
    if cuts.m == 1:
        return None
    inner = cuts.inner
    has_one = bool(inner[-1] == 1.0)  # a bin for the report 1 alone
    equal = _equal_width(inner[:-1] if has_one else inner, precision)
    if equal is None:
        return total([number(u >= exact(edge)) for edge in inner])
    out = equal_steps(u, equal.m, equal.closed, precision)
    return out + number(u >= 1.0) if has_one else out


def _equal_width(inner: np.ndarray[Any, np.dtype[np.float64]], precision: Any) -> EqualWidth | None:
    """The rule of equal widths that these edges are of, if they are."""
    sides: tuple[Closed, ...] = ("left", "right")
    for closed in sides:
        rule = EqualWidth(inner.size + 1, closed)
        if np.array_equal(inner, fixed_cuts(rule, precision).inner):
            return rule
    return None


def equal_steps(u: Expr, m: int, closed: Closed, precision: np.dtype[Any]) -> Expr:
    """The number of edges j/m at or below u (below u, if closed on the right): guessed by a
    product, then corrected by comparing with the neighbouring edges, j/m rounded as a double is.
    """
    guess = floor(u * float(m))
    # By a column that is m everywhere: by a constant, polars multiplies with its reciprocal.
    divisor = u * 0.0 + float(m)
    lower, upper = guess / divisor, (guess + 1.0) / divisor
    if precision.itemsize < 8:
        lower, upper = (edge.cast(nw.Float32).cast(Float64) for edge in (lower, upper))
    if closed == "left":
        return guess - number(u < lower) + number(u >= upper)
    return guess - number(u <= lower) + number(u > upper)


def octave_layers(u: str) -> list[dict[str, Expr]]:
    """Columns, each layer of which needs those before it, that end in `{u}_octave`: a step function
    for the cells near 0 and 1, eight per octave.

    The distance to the nearer end is brought to [1, 2) by a power of two, which is exact. If the
    logarithm errs by one at a border between octaves, the place there is the same all the same.
    Near 1 an edge belongs to the cell above it, so places are rounded up there.
    """
    report, near, power = col(u), col(f"{u}_near"), col(f"{u}_power")
    nearer = nw.when(report >= 0.5).then(1.0 - report).otherwise(report)
    inside = at_least(at_most(nearer, exact(1.0 / N_LINEAR)), exact(2.0**-43))
    place = near * nw.lit(2.0) ** (-power) * 8.0
    lower = floor(place)
    upper = lower + number(place > lower)
    return [
        {f"{u}_near": inside},
        {f"{u}_power": floor(near.log() * (1.0 / math.log(2.0)))},
        {
            f"{u}_octave": nw.when(report >= 0.5)
            .then(-(upper + 8.0 * power))
            .otherwise(lower + 8.0 * power)
        },
    ]
