"""Rows that cannot be measured: how many, why, and one of them as an example."""

from __future__ import annotations

import narwhals as nw

from calibrant._core.errors import InputError, nearest
from calibrant._data.frame_samples import FrameSamples
from calibrant._data.links import ROUNDED
from calibrant._engines.frames.collecting import collected
from calibrant._engines.frames.columns import raw, sound
from calibrant._engines.frames.expressions import col, number

_NOTHING = "y_true and y_proba must hold at least one row; got none"
_LOGITS = "If these are logits, pass from_logits=True"
_WHY = {
    "gone": (
        "lack a prediction, a label or a weight (null or NaN)",
        "evaluate(..., missing='drop') leaves such rows out and counts them",
    ),
    "weight": ("have a sample_weight that is negative or not finite", "mend or remove them"),
    "logit": ("have a logit in y_proba that is not finite", "mend or remove them"),
    "prediction": (
        "have a prediction in y_proba outside [0, 1]",
        _LOGITS + "; if they are percentages, divide by 100",
    ),
    "row": (
        "have predictions in y_proba that do not sum to 1",
        _LOGITS + "; if they are one-against-rest scores, or labels that a row may have several "
        "of, collect the frame: multilabel(y_true, y_proba) measures each column",
    ),
    "soft": (
        "have a soft label in y_true outside [0, 1]",
        "Counts of votes must be whole numbers in every row, or be divided by their row's total",
    ),
    "soft row": (
        "have soft labels in y_true that do not sum to 1",
        f"Rows without votes must be left out{ROUNDED}",
    ),
    "count": (
        "have counts of votes that are negative, not whole, or more than all votes",
        "Fix or remove them; shares of votes must be in every row, or in none",
    ),
    "no votes": ("have no votes", "Remove them: counts need at least one vote in every row"),
    "stated": (
        "have another number of votes than votes= says",
        "Counts carry their own numbers of votes, so leave out votes=",
    ),
    "class": (
        "have a y_true that is none of the classes",
        "Class indices start at 0; other labels need classes=[...] in column order",
    ),
    "target": (
        "have a y_true that is neither 0, 1 nor a probability",
        "If the labels are names or other numbers, pass classes=[negative, positive]; if they "
        "count the votes for class 1, votes= names the column of all votes",
    ),
}


def check_rows(samples: FrameSamples, n_rows: float, n_sound: float, n_missing: int) -> None:
    """Raise InputError if there are rows that are neither sound nor to be dropped."""
    if n_rows == 0:
        raise InputError(_NOTHING)
    if n_rows == n_sound + n_missing:
        return
    checks = {"gone": ~col("gone"), **sound(samples)}
    frame = raw(samples).with_columns(
        **{f"is {name}": number(~check.fill_null(False)) for name, check in checks.items()}
    )
    if samples.missing == "drop":
        frame = frame.filter(~col("gone"))
    sums = [col(f"is {name}").sum() for name in checks]
    counts = collected(frame.with_columns(key=nw.lit(0)).group_by("key").agg(*sums))
    for name in checks:
        count = int(counts[f"is {name}"].to_list()[0] or 0)
        if count:
            rows, example = f"{count} of {n_rows:.0f} rows", _example(samples, name)
            if samples.labels is not None and name in ("class", "target"):
                raise InputError(f"{rows} have {_not_in_classes(samples, example)}")
            problem, hint = _WHY[name]
            raise InputError(f"{rows} {problem}, such as {example}. {hint}")
    raise InputError("the data changed while they were read: measure a copy nobody writes to")


def _not_in_classes(samples: FrameSamples, example: dict[str, object]) -> str:
    """The reason why a label is not among the classes that were given."""
    label = example[samples.targets[0]]
    hint = nearest(label, samples.class_names or ())
    return f"a y_true that is not in classes, such as {label!r}: {hint}"


def _example(samples: FrameSamples, name: str) -> dict[str, object]:
    """The columns of one row that fails a check."""
    frame = raw(samples, samples.columns)
    check = ~col("gone") if name == "gone" else sound(samples)[name]
    bad = ~check.fill_null(False)
    if samples.missing == "drop":
        bad = bad & ~col("gone")
    names = [f"by{j}" for j in range(len(samples.columns))]
    row = collected(frame.filter(bad).select(*names).head(1))
    return {column: row[f"by{j}"].to_list()[0] for j, column in enumerate(samples.columns)}
