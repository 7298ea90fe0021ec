"""From a frame's columns to clean ones: predictions, targets and weights that can be summed.

A row that cannot be measured is never dropped here: it is marked, and its values are replaced by
harmless ones, so that the one query which sums can also count what is wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import TypeVar
from weakref import WeakKeyDictionary

import narwhals as nw

from calibrant._data.frame_samples import FrameSamples
from calibrant._data.links import ROW_SUM_TOLD
from calibrant._data.samples import Notion
from calibrant._engines.frames.columns import (
    has_weights,
    prediction_names,
    raw,
    sound,
    target_names,
)
from calibrant._engines.frames.expressions import (
    Expr,
    Float64,
    Frame,
    all_of,
    any_of,
    at_least,
    clipped,
    col,
    exact,
    first_to_reach,
    is_within,
    number,
    sigmoid,
    sums_to_one,
    total,
    where,
)

Plan = TypeVar("Plan")


def plan_once(plan: Callable[..., Plan]) -> Callable[..., Plan]:
    """Decorator for a function that makes a plan (an unread frame, or samples of one): each plan is
    made once and cached as long as its samples live.

    Every pass starts from the same plan, and making it takes as long as a query of a few thousand
    rows.
    """
    cache: WeakKeyDictionary[FrameSamples, dict[tuple[object, ...], Plan]] = WeakKeyDictionary()

    @wraps(plan)
    def cached_plan(samples: FrameSamples, *options: object) -> Plan:
        """The plan for these samples and options, made at the first call."""
        plans = cache.setdefault(samples, {})
        # An empty list of columns to keep is the same plan as none.
        key = tuple(tuple(each) if isinstance(each, list) else each for each in options if each)
        if key not in plans:
            plans[key] = plan(samples, *options)
        return plans[key]

    return cached_plan


@plan_once
def clean(samples: FrameSamples, keep: Sequence[str] = ()) -> Frame:
    """The checked rows: probabilities `p0`, `p1`, ..., targets `q0`, ..., the weight `w` if there
    is any, `ok` (whether the row is valid), and the columns named in `keep` as `by0`, ...

    Numbers are clipped to [0, 1]; for hard labels of several classes `q0` is the class's index.
    Findings about each row are columns too: `found_ok`, 1 for a valid row; `found_gone`, 1 where a
    value is missing; `found_clipped`, the count of clipped numbers; `found_off`, 1 for a row whose
    sum is tolerated but not 1; `found_fraction`, 1 for a soft target. Those that cannot occur are
    left out.
    """
    names, targets = prediction_names(samples), target_names(samples)
    if samples.sound:
        return raw(samples, keep)
    ok = all_of(list(sound(samples).values())).fill_null(False)
    # DuckDB takes NaN to lie within the limits that a Parquet file's statistics give.
    if samples.missing == "drop" or samples.frame.implementation.is_duckdb():
        ok = ok & ~col("gone")
    frame = raw(samples, keep).with_columns(ok=ok)
    values = {name: col(name) for name in (*names, *targets)}
    if samples.vote_columns:  # shares; rows without votes are not sound, and divide by nothing
        votes = at_least(col("m"), nw.lit(1.0))
        values |= {name: col(name) / votes for name in targets}
    if has_weights(samples):
        values["w"] = col("w") if samples.weighted else nw.lit(1.0)
    # Rows that will be refused, or get weight 0, meanwhile have predictions of 1/2 or logits of 0.
    harmless = dict.fromkeys(names, 0.0 if samples.from_logits else 0.5)
    in_unit = {*([] if samples.from_logits else names), *([] if samples.hard else targets)}
    sane = {
        name: where(
            col("ok"), clipped(value) if name in in_unit else value, harmless.get(name, 0.0)
        )
        for name, value in values.items()
    }
    frame = frame.with_columns(**sane, **findings(samples))
    return with_probabilities(samples, frame) if samples.from_logits else frame


def findings(samples: FrameSamples) -> dict[str, Expr]:
    """The columns of findings (counts of clipped values and the like) about each row's raw numbers,
    by name; `clean` describes them. All but `found_gone` are 0 for an invalid row.
    """
    names, targets = prediction_names(samples), target_names(samples)
    out = {"found_ok": number(col("ok"))}
    if samples.sound:
        return out
    if samples.missing == "drop":
        out["found_gone"] = number(col("gone"))
    may_overshoot = [] if samples.from_logits else list(names)
    if not (samples.multiclass or samples.hard or samples.vote_columns):
        may_overshoot += targets
    if may_overshoot:
        over = [number((col(n) < 0.0) | (col(n) > 1.0)) for n in may_overshoot]
        out["found_clipped"] = _if_sound(total(over))
    if samples.multiclass and not samples.from_logits:
        exact_row = sums_to_one([col(name) for name in names], ROW_SUM_TOLD)
        out["found_off"] = _if_sound(number(~exact_row))
    if samples.from_logits:
        predictions = [col(name) for name in names]
        unit = all_of([is_within(prediction, 0.0, 1.0) for prediction in predictions])
        if samples.multiclass:
            unit = unit & sums_to_one(predictions, samples.row_sum_tolerance)
        else:
            out["found_low"] = _if_sound(number(col("p0") <= 0.0))
        out["found_unit"] = _if_sound(number(unit))
    if not samples.hard:
        whole = col("m") if samples.vote_columns else nw.lit(1.0)
        fractions = any_of([(col(q) > 0.0) & (col(q) < whole) for q in targets])
        out["found_fraction"] = _if_sound(number(fractions))
    return out


def _if_sound(count: Expr) -> Expr:
    """The count where the row is valid (`ok`), 0 elsewhere."""
    return where(col("ok"), count, 0.0)


def with_probabilities(samples: FrameSamples, frame: Frame) -> Frame:
    """The frame with its logits turned into probabilities. Binary logits are also kept, as the
    column `h`.
    """
    if not samples.multiclass:
        frame = frame.with_columns(h=col("p0"), small=(0.0 - col("p0").abs()).exp())
        return frame.with_columns(p0=sigmoid(col("h"), col("small")))
    names = prediction_names(samples)
    frame = frame.with_columns(top=nw.max_horizontal(*names))
    frame = frame.with_columns(**{name: (col(name) - col("top")).exp() for name in names})
    frame = frame.with_columns(top=total([col(name) for name in names]))
    return frame.with_columns(**{name: col(name) / col("top") for name in names})


@plan_once
def scalar(samples: FrameSamples, notion: Notion, keep: Sequence[str] = ()) -> Frame:
    """The checked rows of the binary or the confidence problem, with its prediction `u` and target
    `z` as columns, and those named in `keep`. Samples of (n, k) predictions always give the
    confidence problem.
    """
    frame = clean(samples, keep)
    if samples.multiclass:
        return with_top_label(samples, frame)
    if notion == "binary":
        return frame.with_columns(u=col("p0"), z=col("q0"))
    frame = frame.with_columns(u=folded(samples, col("p0")))
    if samples.from_logits:  # what grids take: the sigmoid of a small logit may round to 1/2
        on_grid = where(col("h") > 0.0, col("q0"), 1.0 - col("q0"))
        frame = frame.with_columns(grid_z=on_grid, h=col("h").abs())
    return frame.with_columns(z=where(col("p0") > 0.5, col("q0"), 1.0 - col("q0")))


def folded(samples: FrameSamples, u: Expr) -> Expr:
    """The larger of u and 1 - u for the prediction u. 1 - u is rounded to float32 where predictions
    are float32 or shorter.
    """
    mirrored = 1.0 - u
    if samples.precision.itemsize < 8:
        mirrored = mirrored.cast(nw.Float32).cast(Float64)
    return where(u > 0.5, u, mirrored)


def with_top_label(samples: FrameSamples, frame: Frame) -> Frame:
    """The frame with the largest prediction `u`, its class `top` (the lowest of equals), and the
    target `z` of that class.
    """
    names = prediction_names(samples)
    frame = frame.with_columns(u=nw.max_horizontal(*names))
    frame = frame.with_columns(top=first_to_reach(col("u"), names))
    if not samples.soft_rows:
        return frame.with_columns(z=number(col("q0") == col("top")))
    targets = target_names(samples)
    of_top = [where(col("top") == float(r), col(q), 0.0) for r, q in enumerate(targets)]
    return frame.with_columns(z=total(of_top))


def lifted(x: Expr, low: float) -> Expr:
    """The larger of x and the number `low`."""
    return at_least(x, exact(low))
