"""The interval rule as expressions: step functions of a prediction, by which rows are grouped.

Rows are grouped by sums of step functions, each of which never falls as the prediction grows and
steps at every edge it is made for. Such a sum steps wherever one of its parts does: no group
reaches over an edge, and one prediction of a group shows, by the rule itself, which bin the group
is in.
"""

from __future__ import annotations

from typing import Any

import narwhals as nw
import numpy as np

from calibrant._core.binning import Closed, Cuts, EqualWidth, fixed_cuts
from calibrant._engines.cells import N_LINEAR
from calibrant._engines.frames.expressions import (
    Expr,
    Float64,
    col,
    exact,
    floor,
    number,
    total,
    where,
)


def steps_of(u: Expr, cuts: Cuts, precision: np.dtype[Any]) -> Expr | None:
    """An expression that numbers the bins between the cuts: it rises by 1 at every cut as the
    prediction u (of this precision) grows. None if there are no cuts.
    """
    if cuts.m == 1:
        return None
    inner = cuts.inner
    has_one = bool(inner[-1] == 1.0)  # a bin for the prediction 1 alone
    equal = _equal_width(inner[:-1] if has_one else inner, precision)
    if equal is None:
        return total([number(u >= exact(edge)) for edge in inner])
    out = equal_steps(u, equal.m, equal.closed, precision)
    return out + number(u >= 1.0) if has_one else out


def _equal_width(inner: np.ndarray[Any, np.dtype[np.float64]], precision: Any) -> EqualWidth | None:
    """The rule of equal-width bins that has exactly these inner edges; None if there is none."""
    sides: tuple[Closed, ...] = ("left", "right")
    for closed in sides:
        rule = EqualWidth(inner.size + 1, closed)
        if np.array_equal(inner, fixed_cuts(rule, precision).inner):
            return rule
    return None


def equal_steps(u: Expr, m: int, closed: Closed, precision: np.dtype[Any]) -> Expr:
    """The number of edges j/m at or below the prediction u (below it, if bins are `closed` on the
    right), as an expression.

    It is guessed by a product, then corrected by comparing u with the nearest edge, j/m rounded to
    the precision of the predictions. For bins narrower than this precision it is another number,
    which steps at the same edges: of two neighbouring numbers with one nearest edge, no other edge
    is rounded to either.
    """
    nearest = floor(u * float(m) + 0.5)
    # Divided by a column that is m everywhere: polars multiplies by a constant's reciprocal.
    edge = nearest / (u * 0.0 + float(m))
    if precision.itemsize < 8:
        kind = nw.Float16 if precision.itemsize == 2 else nw.Float32
        edge = edge.cast(kind).cast(Float64)
    return nearest - number(u < edge if closed == "left" else u <= edge)


def octave_layers(u: str) -> list[dict[str, Expr]]:
    """Layers of columns, each made from those before it, that end in `{u}_octave`: a number that
    steps at every edge of the fine cells near 0 and 1 (eight per octave) as the prediction `u`
    grows.

    The distance to the nearer end is brought to [2^-12, 2^-11] by powers of two, which is exact, in
    strides of four octaves and then of one. Near 1 an edge belongs to the cell above it, so
    positions are rounded up there.
    """
    prediction, near, stride, scale = (
        col(f"{u}{name}") for name in ("", "_near", "_stride", "_scale")
    )
    far = exact(1.0 / N_LINEAR)
    mirrored = 1.0 - prediction
    from_one = where(mirrored < far, mirrored, far)
    # Scales at least double from octave to octave, and an octave has at most 16 positions. Rounding
    # a negative number down rounds its size up.
    lower = floor(near * scale * 2.0**15) - 16.0 * scale
    upper = floor(near * scale * -(2.0**15)) + 16.0 * scale
    return [
        {f"{u}_near": where(prediction < far, prediction, from_one)},
        {f"{u}_stride": _power_that_reaches(near, 2.0**-15, 16.0, 7)},
        {f"{u}_scale": stride * _power_that_reaches(near * stride, 2.0**-12, 2.0, 3)},
        {f"{u}_octave": where(prediction >= 0.5, upper, lower)},
    ]


def _power_that_reaches(x: Expr, low: float, factor: float, most: int) -> Expr:
    """The smallest power of `factor`, with an exponent from 0 to `most`, that multiplies x up to
    `low` or more; the largest power if none does.
    """

    # Most predictions are far from 0 and 1, and need the first comparison alone.
    def between(first: int, last: int) -> Expr:
        """The smallest of these powers with an exponent from `first` to `last`, by bisection."""
        if first == last:
            return nw.lit(factor**first)
        middle = (first + last) // 2
        is_smaller = x < exact(low / factor**middle)
        return where(is_smaller, between(middle + 1, last), between(first, middle))

    return where(x >= exact(low), 1.0, between(1, most))
