"""Small expressions that mean the same number in every engine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import narwhals as nw
import numpy as np

# narwhals expressions and lazy frames.
Expr: TypeAlias = Any
Frame: TypeAlias = Any

Float64 = nw.Float64
col = nw.col


def exact(value: float) -> Expr:
    """An expression for a number that every engine reads to its last bit.

    An engine that writes SQL may round a literal with many decimals, but not one with few, nor one
    with an exponent; so the number is written as a sum of these literals. The first has eight
    digits and is nearly equal to the number, so that the rest is a double too, and so is their sum.
    (A division by a power of two would do as well, but engines that guard it against 0 write it
    many times longer, and a query for quantiles has a hundred of these numbers.)
    """
    value = float(value)
    if _is_exact_text(value):
        return value
    most = float(f"{value:.8g}")
    return nw.lit(most) + exact(value - most)


def exact_in(frame: Frame) -> Callable[[float], Expr]:
    """The function that turns a number into an exact literal for the engine of a frame: `float`
    where the engine writes no SQL, else `exact`.

    Each literal is planned, and a query for quantiles of classes has hundreds.
    """
    kind = frame.implementation
    return float if kind.is_polars() or kind.is_dask() or kind.is_pyspark() else exact


def _is_exact_text(value: float) -> bool:
    """Whether SQL engines read the number's decimal text without rounding: it has at most 15
    digits, or an exponent.
    """
    text = repr(value)
    return "e" in text or len(text.strip("-0").replace(".", "")) <= 15


def rounded(value: float, precision: np.dtype[Any]) -> float:
    """The number as predictions of this precision are compared with it."""
    return float(np.asarray(value, dtype=precision))


def number(flag: Expr) -> Expr:
    """1.0 where the flag is true, 0.0 where it is false."""
    return flag.cast(Float64)


def where(flag: Expr, value: Any, other: Any) -> Expr:
    """The first value (an expression or a number) where the flag is true, the other where it is
    false or null.
    """
    return nw.when(flag).then(value).otherwise(other)


def powers_of(t: Expr, count: int) -> list[Expr]:
    """The first powers of t, from the power 0 on: as many as `count`, which is 2 or more."""
    out = [nw.lit(1.0), t]
    while len(out) < count:
        out.append(out[-1] * t)
    return out


def sigmoid(logit: Expr, small: Expr) -> Expr:
    """The probability of a logit; `small` is exp(-|logit|), which engines compute anew wherever it
    is written, so that callers may make it a column.
    """
    return where(logit >= 0.0, 1.0, small) / (1.0 + small)


def clipped_logit(u: Expr, eps: float, name: str) -> list[dict[str, Expr]]:
    """Two layers of columns: `{name}_inside`, the probability u clipped to [eps, 1 - eps], and
    `name`, the logit of that.
    """
    inside = col(f"{name}_inside")
    return [
        {f"{name}_inside": clipped(u, eps, 1.0 - eps)},
        {name: (inside / (1.0 - inside)).log()},
    ]


def _combine_in_pairs(join: Callable[[Expr, Expr], Expr], parts: Sequence[Expr]) -> Expr:
    """All parts combined by the operation `join`, pair by pair, in a tree of little depth, because
    engines recurse into expressions.
    """
    parts = list(parts)
    while len(parts) > 1:
        joined = [join(a, b) for a, b in zip(parts[::2], parts[1::2], strict=False)]
        parts = joined + parts[len(joined) * 2 :]
    return parts[0]


def total(parts: Sequence[Expr]) -> Expr:
    """The sum of the expressions `parts`."""
    return _combine_in_pairs(lambda a, b: a + b, parts)


def all_of(flags: Sequence[Expr]) -> Expr:
    """Whether all of the boolean expressions are true."""
    return _combine_in_pairs(lambda a, b: a & b, flags)


def any_of(flags: Sequence[Expr]) -> Expr:
    """Whether any of the boolean expressions is true."""
    return _combine_in_pairs(lambda a, b: a | b, flags)


def largest(parts: Sequence[Any]) -> Expr:
    """The largest of some columns (by name) or expressions in each row. A single one is returned
    unchanged, since Spark takes two or more.
    """
    one = col(parts[0]) if isinstance(parts[0], str) else parts[0]
    return nw.max_horizontal(*parts) if len(parts) > 1 else one


def smallest(parts: Sequence[Any]) -> Expr:
    """The smallest of some columns (by name) or expressions in each row. A single one is returned
    unchanged, since Spark takes two or more.
    """
    one = col(parts[0]) if isinstance(parts[0], str) else parts[0]
    return nw.min_horizontal(*parts) if len(parts) > 1 else one


def first_to_reach(value: Expr, names: Sequence[str]) -> Expr:
    """The index of the first of the named columns that is at or above the value, in each row; their
    number if none is.
    """
    none = float(len(names))
    indices = [where(col(name) >= value, float(j), none) for j, name in enumerate(names)]
    return smallest([index.alias(name) for index, name in zip(indices, names, strict=True)])


def floor(x: Expr) -> Expr:
    """The largest whole number up to x, as a double; some engines' own functions return
    integers.
    """
    return x.floor().cast(Float64)


def at_least(x: Expr, low: Expr) -> Expr:
    """The larger of x and `low` in each row, as an expression; `low` where x is null."""
    return where(x > low, x, low)


def clipped(x: Expr, low: float = 0.0, high: float = 1.0) -> Expr:
    """x limited to [low, high]. A zero at a limit gets the sign of the limit's zero."""
    bottom, top = exact(low), exact(high)
    return where(x > bottom, where(x < top, x, top), bottom)


def sums_to_one(parts: Sequence[Expr], tolerance: float) -> Expr:
    """Whether the parts sum to 1 within a tolerance; false for NaN, whether the engine takes NaN to
    be above all numbers or unordered.
    """
    return (total(parts) - 1.0).abs() <= exact(tolerance)


def is_within(x: Expr, low: float, high: float) -> Expr:
    """Whether low <= x <= high; false for NaN, whether the engine takes NaN to be above all numbers
    or unordered.
    """
    return (x >= exact(low)) & (x <= exact(high))
