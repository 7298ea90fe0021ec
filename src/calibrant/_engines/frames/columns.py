"""A frame's columns as numbers under names of our own, what must hold of every row, and the errors
of rows for which it does not: how many, why, and one of them as an example.
"""

from __future__ import annotations

from collections.abc import Sequence

import narwhals as nw

from calibrant._core.errors import InputError, nearest
from calibrant._data.frame_samples import FrameSamples, Labels
from calibrant._data.links import OVERSHOOT, ROUNDED
from calibrant._engines.frames.collecting import one_row, totals
from calibrant._engines.frames.expressions import (
    Expr,
    Float64,
    Frame,
    all_of,
    any_of,
    col,
    exact,
    floor,
    is_within,
    number,
    smallest,
    sums_to_one,
    total,
    where,
)
from calibrant._engines.frames.partitions import open_frame

_NOTHING = "y_true and y_proba must have at least one row; got none"
_LOGITS = "If these are logits, pass from_logits=True"
# For each check of `sound`: what is wrong with rows that fail it, and what to do.
_WHY = {
    "gone": (
        "lack a prediction, a label or a weight (null or NaN)",
        "evaluate(..., missing='drop') drops and counts these rows",
    ),
    "weight": ("have a sample_weight that is negative or not finite", "Fix or drop them"),
    "logit": ("have a logit in y_proba that is not finite", "Fix or drop them"),
    "prediction": (
        "have a prediction in y_proba outside [0, 1]",
        _LOGITS + "; if they are percentages, divide by 100",
    ),
    "row": (
        "have predictions in y_proba that do not sum to 1",
        _LOGITS + ". If they are one-against-rest scores, or a row may have several labels, "
        "collect the frame: multilabel(y_true, y_proba) measures each column",
    ),
    "soft": (
        "have a soft label in y_true outside [0, 1]",
        "Vote counts must be whole numbers in every row; otherwise divide them by their row's "
        "total",
    ),
    "soft row": (
        "have soft labels in y_true that do not sum to 1",
        f"Drop rows without votes{ROUNDED}",
    ),
    "count": (
        "have vote counts that are negative, not whole, or more than all votes",
        "Fix or drop them; give shares of votes in every row, or in none",
    ),
    "no votes": ("have no votes", "Drop them: counts need at least one vote in every row"),
    "stated": (
        "have counts that do not add up to votes=",
        "Counts include the number of votes, so leave out votes=",
    ),
    "class": (
        "have a y_true that is not a class",
        "Class indices start at 0; other labels need classes=[...] in column order",
    ),
    "target": (
        "have a y_true that is neither 0, 1 nor a probability",
        "If the labels are names or other numbers, pass classes=[negative, positive]; if they "
        "count the votes for class 1, votes= names the column of all votes",
    ),
}


def prediction_names(samples: FrameSamples) -> list[str]:
    """The short names of the columns of predictions in queries: p0, p1, ..."""
    return [f"p{r}" for r in range(len(samples.predictions))]


def target_names(samples: FrameSamples) -> list[str]:
    """The short names of the columns of targets in queries: q0, q1, ..."""
    return [f"q{r}" for r in range(len(samples.targets))]


def has_weights(samples: FrameSamples) -> bool:
    """Whether checked rows have a column of weights `w`: the samples have weights, or rows may be
    dropped by a weight of 0.
    """
    return samples.weighted or samples.missing == "drop"


def raw(samples: FrameSamples, keep: Sequence[str] = ()) -> Frame:
    """The frame's columns as doubles under short names, not yet read or checked: predictions `p0`,
    ..., targets `q0`, ..., the weight `w`; labels as class indices.

    A column `gone` says whether a value is missing in the row; samples known to be valid have `ok`
    (true) and `found_ok` (1) instead. Counts of votes add their total `m`, the smallest count
    `fewest`, and whether all are whole numbers, `whole`. The columns named in `keep` are added
    unchanged as `by0`, `by1`, ...
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
        # These are also about the counts of class 0, for which a binary problem has no target.
        out["fewest"] = smallest(votes)
        out["whole"] = all_of([floor(each) == each for each in votes])
        if samples.stated_votes is not None:
            out["stated"] = samples.column(samples.stated_votes).cast(Float64)
    if samples.weight is not None:
        out["w"] = samples.column(samples.weight).cast(Float64)
    out |= {f"by{j}": samples.column(name) for j, name in enumerate(keep)}
    return open_frame(samples.frame, list(dict.fromkeys((*samples.columns, *keep)))).select(**out)


def _index(labels: Labels, target: Expr) -> Expr:
    """The index of a label among the classes, as an expression; -1 for a label that is none of
    them.
    """
    as_text, as_double = target.cast(nw.String), target.cast(Float64)

    def equals(value: str | int | float) -> Expr:
        """Whether the label equals a class's value: text is compared as text, numbers as
        numbers.
        """
        if isinstance(value, str):
            return as_text == value
        return target == value if isinstance(value, int) else as_double == exact(value)

    indices = [where(equals(value), r + 1.0, 0.0) for value, r in labels]
    return total(indices or [nw.lit(0.0)]) - 1.0


def column_value(samples: FrameSamples, name: str) -> Expr:
    """The expression of a column of the frame; categories become their names, as text."""
    kind = samples.frame.collect_schema()[name]
    column = samples.column(name)
    return column.cast(nw.String) if isinstance(kind, nw.Categorical | nw.Enum) else column


def missing(samples: FrameSamples) -> Expr:
    """Whether a prediction, a label or a weight of the row is null or NaN."""
    schema = samples.frame.collect_schema()
    flags = [samples.column(name).is_null() for name in samples.columns]
    flags += [
        samples.is_nan(samples.column(name)) for name in samples.columns if schema[name].is_float()
    ]
    return any_of(flags)


def sound(samples: FrameSamples) -> dict[str, Expr]:
    """The checks that a row must pass to be measured, by name: each expression of the raw columns
    is true for a valid row. The names are keys of `_WHY`, which has their error messages.
    """
    out = {}
    if samples.weighted:
        out["weight"] = col("w").is_finite() & (col("w") >= 0.0)
    names = prediction_names(samples)
    if samples.from_logits:
        out["logit"] = all_of([col(name).is_finite() for name in names])
    elif samples.multiclass:
        # Engines that pass over NaN here find it below, where the sum of the row is NaN.
        not_below = nw.min_horizontal(*names) >= exact(-OVERSHOOT)
        out["prediction"] = not_below & (nw.max_horizontal(*names) <= exact(1 + OVERSHOOT))
        out["row"] = sums_to_one([col(n) for n in names], samples.row_sum_tolerance)
    else:
        out["prediction"] = is_within(col("p0"), -OVERSHOOT, 1 + OVERSHOOT)
    if samples.vote_columns:
        targets = [col(name) for name in target_names(samples)]
        whole = all_of([(q >= 0.0) & (floor(q) == q) & (q <= col("m")) for q in targets])
        out["count"] = whole & col("whole") & (col("fewest") >= 0.0) & col("m").is_finite()
        out["no votes"] = col("m") >= 1.0
        if samples.stated_votes is not None:
            out["stated"] = col("stated") == col("m")
    elif samples.soft_rows:
        targets = [col(name) for name in target_names(samples)]
        out["soft"] = all_of([is_within(q, -OVERSHOOT, 1 + OVERSHOOT) for q in targets])
        out["soft row"] = sums_to_one(targets, samples.label_sum_tolerance)
    elif samples.multiclass:
        q = col("q0")
        out["class"] = (q >= 0.0) & (q < float(samples.n_classes)) & (floor(q) == q)
    else:
        out["target"] = is_within(col("q0"), -OVERSHOOT, 1 + OVERSHOOT)
    return out


def check_rows(samples: FrameSamples, n_rows: float, n_sound: float, n_missing: int) -> None:
    """Raise InputError, with a count and an example, if some rows can neither be measured nor
    dropped. The numbers are counts of all rows, of valid rows, and of rows with a missing value.
    """
    if n_rows == 0:
        raise InputError(_NOTHING)
    if n_rows == n_sound + n_missing:
        return
    checks = {"gone": ~col("gone"), **sound(samples)}
    frame = raw(samples)
    if samples.missing == "drop":
        frame = frame.filter(~col("gone"))
    bad = {name: number(~check.fill_null(False)) for name, check in checks.items()}
    for name, count in totals(frame, bad).items():
        if count:
            rows, example = f"{count:.0f} of {n_rows:.0f} rows", _example(samples, checks[name])
            if samples.labels is not None and name in ("class", "target"):
                raise InputError(f"{rows} have {_not_in_classes(samples, example)}")
            problem, hint = _WHY[name]
            raise InputError(f"{rows} {problem}, such as {example}. {hint}")
    raise InputError(
        "the data changed while they were read: measure a copy that no process writes to"
    )


def _not_in_classes(samples: FrameSamples, example: dict[str, object]) -> str:
    """The part of an error message that names a label outside the given classes, and the nearest
    class. `example` is a row with such a label, from column name to value.
    """
    label = example[samples.targets[0]]
    hint = nearest(label, samples.class_names or ())
    return f"a y_true that is not in classes, such as {label!r}: {hint}"


def _example(samples: FrameSamples, check: Expr) -> dict[str, object]:
    """One row that fails the check, as a dict from each column's name in the frame to its value."""
    frame = raw(samples, samples.columns)
    bad = ~check.fill_null(False)
    if samples.missing == "drop":
        bad = bad & ~col("gone")
    names = [f"by{j}" for j in range(len(samples.columns))]
    row = one_row(frame.filter(bad).select(*names).head(1))
    return {column: row[name] for name, column in zip(names, samples.columns, strict=True)}
