"""The sentence for a bad row: the pass that sums finds it, and only then is it looked at."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from calibrant.errors import InputError
from calibrant.samples.samples import BadRow, Samples
from calibrant.samples.tolerances import OVERSHOOT


@contextmanager
def explained(samples: Samples) -> Iterator[None]:
    """Turn the bad row that a pass stops at into an InputError that says what to do."""
    try:
        yield
    except BadRow as bad:
        raise InputError(explain(samples, bad.row)) from None


def explain(samples: Samples, row: int) -> str:
    """Why this row cannot be measured, and what to do about it."""
    complaints = (_weight(samples, row), _report(samples, row), _target(samples, row))
    return next((said for said in complaints if said), f"row {row} cannot be read")


def _weight(samples: Samples, row: int) -> str | None:
    if samples.weights is None:
        return None
    w = float(samples.weights[row])
    if math.isfinite(w) and w >= 0:
        return None
    return f"sample_weight[{row}] is {w!r}: weights must be finite and not negative"


def _report(samples: Samples, row: int) -> str | None:
    values = np.atleast_1d(samples.reports[row]).astype(np.float64)
    for column, value in enumerate(values.tolist()):
        place = f"y_proba[{row}, {column}]" if samples.multiclass else f"y_proba[{row}]"
        if not math.isfinite(value):
            return f"{place} is {value!r}: reports must be finite numbers. Remove or mend that row"
        if not samples.from_logits and not -OVERSHOOT <= value <= 1 + OVERSHOOT:
            return (
                f"{place} is {value!r}: reports must lie in [0, 1]. If these are logits, pass "
                "from_logits=True; if they are percentages, divide by 100"
            )
    total = float(values.sum())
    is_row = samples.multiclass and not samples.from_logits
    if is_row and abs(total - 1.0) > samples.row_sum_tolerance:
        return (
            f"y_proba[{row}] sums to {total!r}: rows must sum to 1 (within "
            f"{samples.row_sum_tolerance:g}). If these are logits, pass from_logits=True; if "
            "they are one-against-rest scores, measure each column as a binary problem"
        )
    return None


def _target(samples: Samples, row: int) -> str | None:
    target = np.asarray(samples.targets[row], dtype=np.float64)
    if target.ndim == 1:
        return _target_row(target, row)
    value: Any = target.item()
    shown = int(value) if math.isfinite(value) and value == int(value) else value
    if not math.isfinite(value):
        return f"y_true[{row}] is {value!r}: targets must be finite numbers. Remove that row"
    if samples.multiclass:
        k = samples.n_classes
        if value != int(value):
            return (
                f"y_true[{row}] is {value!r}: with y_proba of the shape (n, {k}), y_true must be "
                f"class indices 0..{k - 1}, or rows of {k} class probabilities"
            )
        if not 0 <= value < k:
            return (
                f"y_true[{row}] is {shown!r}: class indices must lie in 0..{k - 1}. If the labels "
                "are names or numbers of another kind, pass classes=[...] in column order"
            )
    elif not 0 <= value <= 1:
        hint = "If the labels are names or other numbers, pass classes=[negative, positive]"
        return f"y_true[{row}] is {shown!r}: targets must be 0, 1 or a probability. {hint}"
    return None


def _target_row(target: np.ndarray[Any, np.dtype[np.float64]], row: int) -> str | None:
    for column, value in enumerate(target.tolist()):
        if not (math.isfinite(value) and 0 <= value <= 1 + OVERSHOOT):
            return (
                f"y_true[{row}, {column}] is {value!r}: soft labels must lie in [0, 1]. Counts of "
                "votes must be divided by their row's total first"
            )
    total = float(target.sum())
    if abs(total - 1.0) > OVERSHOOT:
        return (
            f"y_true[{row}] sums to {total!r}: rows of class probabilities must sum to 1. Rows "
            "without votes must be left out"
        )
    return None
