"""A frame's columns as numbers under names of our own, and what must hold of every row."""

from __future__ import annotations

from collections.abc import Sequence

import narwhals as nw

from calibrant._data.frame_samples import FrameSamples, Labels
from calibrant._data.links import OVERSHOOT
from calibrant._engines.frames.expressions import (
    Expr,
    Float64,
    Frame,
    col,
    every,
    exact,
    floor,
    is_within,
    smallest,
    some,
    sums_to_one,
    total,
)
from calibrant._engines.frames.partitions import opened


def prediction_names(samples: FrameSamples) -> list[str]:
    return [f"p{r}" for r in range(len(samples.predictions))]


def target_names(samples: FrameSamples) -> list[str]:
    return [f"q{r}" for r in range(len(samples.targets))]


def has_weights(samples: FrameSamples) -> bool:
    """Whether clean rows have a column `w`: rows that are left out weigh nothing."""
    return samples.weighted or samples.missing == "drop"


def raw(samples: FrameSamples, keep: Sequence[str] = ()) -> Frame:
    """The columns as doubles, under names of our own; labels as class indices; `gone` where
    something is missing, or `ok` where all is known to be well; and columns to keep as they are.
    """
    out = (
        {"ok": nw.lit(True), "found_ok": nw.lit(1.0)}
        if samples.sound
        else {"gone": missing(samples)}
    )
    for name, column in zip(prediction_names(samples), samples.predictions, strict=True):
        out[name] = samples.column(column).cast(Float64)
    for name, column in zip(target_names(samples), samples.targets, strict=True):
        target = samples.column(column)
        known = samples.labels
        out[name] = target.cast(Float64) if known is None else _index(known, target)
    if samples.vote_columns:
        votes = [samples.column(name).cast(Float64) for name in samples.vote_columns]
        out["m"] = total(votes)
        # The counts of the other class of a binary problem, which must be sound too.
        out["fewest"] = smallest(votes)
        out["whole"] = every([floor(each) == each for each in votes])
        if samples.stated_votes is not None:
            out["stated"] = samples.column(samples.stated_votes).cast(Float64)
    if samples.weight is not None:
        out["w"] = samples.column(samples.weight).cast(Float64)
    out |= {f"by{j}": samples.column(name) for j, name in enumerate(keep)}
    return opened(samples.frame, list(dict.fromkeys((*samples.columns, *keep)))).select(**out)


def _index(labels: Labels, target: Expr) -> Expr:
    """The index of a label among the classes; -1 for a label that is none of them."""
    as_text, as_double = target.cast(nw.String), target.cast(Float64)

    def equals(value: str | int | float) -> Expr:
        if isinstance(value, str):
            return as_text == value
        return target == value if isinstance(value, int) else as_double == exact(value)

    indices = [
        nw.when(equals(value)).then(nw.lit(r + 1.0)).otherwise(nw.lit(0.0)) for value, r in labels
    ]
    return total(indices or [nw.lit(0.0)]) - 1.0


def missing(samples: FrameSamples) -> Expr:
    """Whether a prediction, a label or a weight is null or NaN."""
    schema = samples.frame.collect_schema()
    flags = [samples.column(name).is_null() for name in samples.columns]
    flags += [
        samples.is_nan(samples.column(name)) for name in samples.columns if schema[name].is_float()
    ]
    return some(flags)


def sound(samples: FrameSamples) -> dict[str, Expr]:
    """Conditions that the raw columns of a row must meet, each by name."""
    out = {}
    if samples.weighted:
        out["weight"] = col("w").is_finite() & (col("w") >= 0.0)
    names = prediction_names(samples)
    if samples.from_logits:
        out["logit"] = every([col(name).is_finite() for name in names])
    elif samples.multiclass:
        # Where engines pass over NaN, the sum of the row is NaN.
        not_below = nw.min_horizontal(*names) >= exact(-OVERSHOOT)
        out["prediction"] = not_below & (nw.max_horizontal(*names) <= exact(1 + OVERSHOOT))
        out["row"] = sums_to_one([col(n) for n in names], samples.row_sum_tolerance)
    else:
        out["prediction"] = is_within(col("p0"), -OVERSHOOT, 1 + OVERSHOOT)
    if samples.vote_columns:
        targets = [col(name) for name in target_names(samples)]
        whole = every([(q >= 0.0) & (floor(q) == q) & (q <= col("m")) for q in targets])
        out["count"] = whole & col("whole") & (col("fewest") >= 0.0) & col("m").is_finite()
        out["no votes"] = col("m") >= 1.0
        if samples.stated_votes is not None:
            out["stated"] = col("stated") == col("m")
    elif samples.soft_rows:
        targets = [col(name) for name in target_names(samples)]
        out["soft"] = every([is_within(q, -OVERSHOOT, 1 + OVERSHOOT) for q in targets])
        out["soft row"] = sums_to_one(targets, samples.label_sum_tolerance)
    elif samples.multiclass:
        q = col("q0")
        out["class"] = (q >= 0.0) & (q < float(samples.n_classes)) & (floor(q) == q)
    else:
        out["target"] = is_within(col("q0"), -OVERSHOOT, 1 + OVERSHOOT)
    return out
