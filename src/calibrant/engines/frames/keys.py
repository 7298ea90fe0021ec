"""The interval rule as expressions: step functions of a report, by which rows are grouped.

Rows are grouped by sums of step functions, each of which never falls as the report grows and steps
at every edge it is made for. Such a sum steps wherever one of its parts does: no group reaches over
an edge, and one report of a group tells, by the rule itself, which bin the group is in.
"""

from __future__ import annotations

from typing import Any

import narwhals as nw
import numpy as np

from calibrant.binning import Closed, Cuts, EqualWidth, fixed_cuts
from calibrant.engines.cells import N_LINEAR, Cells
from calibrant.engines.frames.expressions import (
    Expr,
    Float64,
    Frame,
    col,
    exact,
    floor,
    number,
    total,
)

# 2^-11, below which cells are cut by octaves, in the unit of `with_octaves`.
_OCTAVES_BELOW = 1.0 / N_LINEAR


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


def with_cell_steps(
    frame: Frame, report: str, cells: Cells, precision: np.dtype[Any]
) -> tuple[Frame, list[Expr]]:
    """Step functions for the edges of cells; the frame may get columns that they need."""
    steps = steps_of(col(report), fixed_cuts(cells.rule, precision), precision)
    out = [] if steps is None else [steps]
    if cells.fine:
        frame = with_octaves(frame, report, f"{report}_octave")
        out += [floor(col(report) * float(N_LINEAR)), col(f"{report}_octave")]
    return frame, out


def with_octaves(frame: Frame, u: str, name: str) -> Frame:
    """The frame with a step function for the cells near 0 and 1, eight per octave.

    The distance to the nearer end is brought to [2^-12, 2^-11) by products with powers of two,
    which are exact; there the cells of an octave are 8, ..., 15 times 2^-15. Near 1 an edge belongs
    to the cell above it, so places are rounded up there.
    """
    upper = number(col(u) >= 0.5)
    nearer = nw.when(col(u) >= 0.5).then(1.0 - col(u)).otherwise(col(u))
    far = exact(_OCTAVES_BELOW)
    frame = frame.with_columns(**{name: nw.when(nearer < far).then(nearer).otherwise(far)})
    shift, shifts = f"{name}_shift", f"{name}_shifts"
    frame = frame.with_columns(**{shifts: nw.lit(0.0)})
    for step in (16, 8, 4, 2, 1):
        is_small = number(col(name) < exact(_OCTAVES_BELOW * 2.0**-step))
        frame = frame.with_columns(**{shift: is_small})
        frame = frame.with_columns(
            **{
                name: col(name) * (col(shift) * (2.0**step - 1.0) + 1.0),
                shifts: col(shifts) + col(shift) * float(step),
            }
        )
    place = col(name) * 2.0**15
    down = floor(place)
    rounded = down + upper * number(place > down)
    octave = rounded - 8.0 * col(shifts)
    # From 16 downwards near 0; upwards from 16 in the upper half, where distances shrink.
    return frame.with_columns(
        **{name: nw.when(col(u) >= 0.5).then(32.0 - octave).otherwise(octave)}
    )
