"""From a frame's columns to clean ones: reports, targets and weights that can be summed.

A row that cannot be measured is never dropped here: it is marked, and its values are replaced by
harmless ones, so that the one query which sums can also count what is wrong.
"""

from __future__ import annotations

from collections.abc import Sequence

import narwhals as nw

from calibrant.engines.frames.expressions import (
    Expr,
    Float64,
    Frame,
    at_least,
    clipped,
    col,
    every,
    exact,
    floor,
    number,
    some,
    total,
    within,
)
from calibrant.engines.frames.partitions import opened
from calibrant.samples.frames import FrameSamples
from calibrant.samples.samples import Notion
from calibrant.samples.tolerances import OVERSHOOT, ROW_SUM_TOLD


def report_names(samples: FrameSamples) -> list[str]:
    return [f"p{r}" for r in range(len(samples.reports))]


def target_names(samples: FrameSamples) -> list[str]:
    return [f"q{r}" for r in range(len(samples.targets))]


def has_weights(samples: FrameSamples) -> bool:
    """Whether clean rows have a column `w`: rows that are left out weigh nothing."""
    return samples.weighted or samples.missing == "drop"


def raw(samples: FrameSamples, keep: Sequence[str] = ()) -> Frame:
    """The columns as doubles, under names of our own; labels as class indices; `gone` where
    something is missing; and columns to keep as they are.
    """
    out = {} if samples.sound else {"gone": missing(samples)}
    for name, column in zip(report_names(samples), samples.reports, strict=True):
        out[name] = col(column).cast(Float64)
    for name, column in zip(target_names(samples), samples.targets, strict=True):
        out[name] = _index(samples, column) if samples.labels else col(column).cast(Float64)
    if samples.weight is not None:
        out["w"] = col(samples.weight).cast(Float64)
    out |= {f"by{j}": col(name) for j, name in enumerate(keep)}
    columns = dict.fromkeys((*samples.columns, *keep))
    return opened(samples.frame, list(columns)).select(**out)


def _index(samples: FrameSamples, column: str) -> Expr:
    """The place of a label among the classes; -1 for a label that is none of them."""
    assert samples.labels is not None
    text = isinstance(samples.labels[0], str)
    label = col(column).cast(nw.String if text else Float64)
    found = [
        nw.when(label == (name if text else exact(name)))
        .then(nw.lit(r + 1.0))
        .otherwise(nw.lit(0.0))
        for r, name in enumerate(samples.labels)
    ]
    return total(found) - 1.0


def missing(samples: FrameSamples) -> Expr:
    """Whether a report, a label or a weight is null or NaN."""
    schema = samples.frame.collect_schema()
    flags = [col(name).is_null() for name in samples.columns]
    flags += [
        col(name).is_nan().fill_null(False) for name in samples.columns if schema[name].is_float()
    ]
    return some(flags)


def sound(samples: FrameSamples) -> dict[str, Expr]:
    """What must hold of the raw columns of a row, each by name."""
    out = {}
    if samples.weighted:
        out["weight"] = col("w").is_finite() & (col("w") >= 0.0)
    names = report_names(samples)
    if samples.from_logits:
        out["logit"] = every([col(name).is_finite() for name in names])
    elif samples.multiclass:
        out["report"] = within(nw.min_horizontal(*names), -OVERSHOOT, 1 + OVERSHOOT)
        out["report"] &= within(nw.max_horizontal(*names), -OVERSHOOT, 1 + OVERSHOOT)
        tolerance = samples.row_sum_tolerance
        out["row"] = within(total([col(n) for n in names]) - 1.0, -tolerance, tolerance)
    else:
        out["report"] = within(col("p0"), -OVERSHOOT, 1 + OVERSHOOT)
    if samples.soft_rows:
        targets = [col(name) for name in target_names(samples)]
        out["soft"] = every([within(q, -OVERSHOOT, 1 + OVERSHOOT) for q in targets])
        out["soft row"] = within(total(targets) - 1.0, -OVERSHOOT, OVERSHOOT)
    elif samples.multiclass:
        q = col("q0")
        out["class"] = (q >= 0.0) & (q < float(samples.n_classes)) & (floor(q) == q)
    else:
        out["target"] = within(col("q0"), -OVERSHOOT, 1 + OVERSHOOT)
    return out


def clean(samples: FrameSamples, keep: Sequence[str] = ()) -> Frame:
    """Rows of probabilities and targets in [0, 1], with what was found out about each:

    `found_ok` and `found_gone`; `found_clipped`, numbers brought back to [0, 1]; `found_off`, 1 for
    a row that sums to 1 only just; `found_fraction`, 1 for a target that is one.
    """
    names, targets = report_names(samples), target_names(samples)
    if samples.sound:
        return raw(samples, keep).with_columns(ok=nw.lit(True), found_ok=nw.lit(1.0))
    ok = every(list(sound(samples).values())).fill_null(False)
    if samples.missing == "drop":
        ok = ok & ~col("gone")
    frame = raw(samples, keep).with_columns(ok=ok)
    values = {name: col(name) for name in (*names, *targets)}
    if has_weights(samples):
        values["w"] = col("w") if samples.weighted else nw.lit(1.0)
    # A row of ones, or of logits 0, harms nothing on the way to a refusal or to weight 0.
    harmless = dict.fromkeys(names, 0.0 if samples.from_logits else 1.0)
    frame = frame.with_columns(
        **{
            name: nw.when(col("ok")).then(value).otherwise(nw.lit(harmless.get(name, 0.0)))
            for name, value in values.items()
        }
    )
    frame = frame.with_columns(**findings(samples))
    in_unit = [*([] if samples.from_logits else names), *([] if samples.hard else targets)]
    if in_unit:
        frame = frame.with_columns(**{name: clipped(col(name)) for name in in_unit})
    return _probabilities(samples, frame) if samples.from_logits else frame


def findings(samples: FrameSamples) -> dict[str, Expr]:
    """What there is to tell about the numbers of a sound row as they came."""
    names, targets = report_names(samples), target_names(samples)
    out = {"found_ok": number(col("ok"))}
    if samples.sound:
        return out
    if samples.missing == "drop":
        out["found_gone"] = number(col("gone"))
    may_overshoot = [] if samples.from_logits else list(names)
    if not samples.multiclass and not samples.hard:
        may_overshoot += targets
    if may_overshoot:
        over = [number((col(name) < 0.0) | (col(name) > 1.0)) for name in may_overshoot]
        out["found_clipped"] = total(over)
    if samples.multiclass and not samples.from_logits:
        excess = total([col(name) for name in names]) - 1.0
        out["found_off"] = number(~within(excess, -ROW_SUM_TOLD, ROW_SUM_TOLD) & col("ok"))
    if not samples.hard:
        out["found_fraction"] = number(some([(col(q) > 0.0) & (col(q) < 1.0) for q in targets]))
    return out


def _probabilities(samples: FrameSamples, frame: Frame) -> Frame:
    """Logits as probabilities; those of a binary problem stay there too, as `h`."""
    if not samples.multiclass:
        frame = frame.with_columns(h=col("p0"), small=(-col("p0").abs()).exp())
        up = nw.when(col("h") >= 0.0).then(nw.lit(1.0)).otherwise(col("small"))
        return frame.with_columns(p0=up / (1.0 + col("small")))
    names = report_names(samples)
    frame = frame.with_columns(top=nw.max_horizontal(*names))
    frame = frame.with_columns(**{name: (col(name) - col("top")).exp() for name in names})
    frame = frame.with_columns(top=total([col(name) for name in names]))
    return frame.with_columns(**{name: col(name) / col("top") for name in names})


def scalar(samples: FrameSamples, notion: Notion, keep: Sequence[str] = ()) -> Frame:
    """Clean rows with the scalar problem of a notion: report `u`, target `z`."""
    frame = clean(samples, keep)
    if samples.multiclass:
        return with_top_label(samples, frame)
    if notion == "binary":
        return frame.with_columns(u=col("p0"), z=col("q0"))
    frame = frame.with_columns(u=folded(samples, col("p0")))
    upper = col("p0") > 0.5
    if samples.from_logits:  # what grids take: the sigmoid of a small logit may round to 1/2
        on_grid = nw.when(col("h") > 0.0).then(col("q0")).otherwise(1.0 - col("q0"))
        frame = frame.with_columns(grid_z=on_grid, h=col("h").abs())
    return frame.with_columns(z=nw.when(upper).then(col("q0")).otherwise(1.0 - col("q0")))


def folded(samples: FrameSamples, u: Expr) -> Expr:
    """The larger of u and 1 - u, the latter in the reports' own precision."""
    mirrored = 1.0 - u
    if samples.precision.itemsize < 8:
        mirrored = mirrored.cast(nw.Float32).cast(Float64)
    return nw.when(u > 0.5).then(u).otherwise(mirrored)


def with_top_label(samples: FrameSamples, frame: Frame) -> Frame:
    """The largest report `u`, its class `top` (the lowest of equals), and its target `z`."""
    names, k = report_names(samples), samples.n_classes
    frame = frame.with_columns(u=nw.max_horizontal(*names))
    places = [
        nw.when(col(name) >= col("u")).then(nw.lit(float(r))).otherwise(nw.lit(float(k)))
        for r, name in enumerate(names)
    ]
    frame = frame.with_columns(top=nw.min_horizontal(*places))
    if not samples.soft_rows:
        return frame.with_columns(z=number(col("q0") == col("top")))
    targets = [
        nw.when(col("top") == float(r)).then(col(q)).otherwise(nw.lit(0.0))
        for r, q in enumerate(target_names(samples))
    ]
    return frame.with_columns(z=total(targets))


def lifted(x: Expr, low: float) -> Expr:
    """x, or the floor that it is below."""
    return at_least(x, exact(low))
