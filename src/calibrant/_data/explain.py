"""The sentence for a bad row: one with a value that no measure can take. The pass that sums finds
the row, and only then is it looked at.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from calibrant._core.errors import InputError
from calibrant._core.messages import argument_order, values_of, worded
from calibrant._core.texts import message
from calibrant._core.typing import Array, Mask
from calibrant._data.checks import first_entry
from calibrant._data.links import OVERSHOOT, ROUNDED
from calibrant._data.samples import BadRow, RowSamples, Samples
from calibrant._data.source import Source


@contextmanager
def explained(samples: Source) -> Iterator[None]:
    """Inside the block, turn the BadRow that a pass over the samples raises into an InputError that
    says what is wrong with the row, and what to do.
    """
    try:
        yield
    except BadRow as bad:
        if isinstance(samples, Samples):
            message = explain(samples, first_bad_row(samples, bad.row))
        else:  # the engine names the first one: that row alone is brought here
            message = explain(samples.row(bad.row), 0, shown=bad.row, whole=samples)
        if samples.n_missing:
            message += f" (rows are numbered without the {samples.n_missing} dropped)"
        raise InputError(message) from None


def check_rows(samples: Samples) -> None:
    """Raise InputError for the first row with a value that no measure can take, such as NaN. This
    is for rows that are used before a pass sums, and so checks, them.
    """
    row = first_bad_row(samples, samples.n)
    if row < samples.n:
        raise InputError(explain(samples, row))


def check_not_swapped(samples: Source) -> None:
    """Raise InputError if every prediction is 0 or 1. Callers ask this if targets are known to be
    fractions: labels and predictions may then be swapped.

    There is no error if the targets' numbers of votes are known: targets are then certainly shares
    of votes, and may be compared with predictions of 0 and 1.
    """
    if not samples.voted and samples.every_prediction_is_zero_or_one():
        raise swapped_error()


def swapped_error() -> InputError:
    """The error for labels and predictions that seem to be swapped."""
    return InputError(
        f"{values_of('y_true')} holds fractions while every {values_of('y_proba')} is 0 or 1: the "
        f"arguments seem to be swapped. The order is {argument_order()}. If {values_of('y_true')} "
        f"holds shares of votes, give the number of votes with "
        f"{worded(python='votes=', command='--votes COLUMN')}, or give vote counts"
    )


def first_bad_row(samples: Samples, known: int) -> int:
    """The first row before the row `known` whose values no measure can take; `known` itself, which
    is such a row, if there is none before it.

    Threads and columns of a pass stop at some bad row, which need not be the first.
    """
    step = max(1, (1 << 16) // samples.n_classes)
    for start in range(0, known, step):
        bad = _bad_rows(samples, slice(start, min(start + step, known)))
        if bad.any():
            return start + int(np.argmax(bad))
    return known


def _bad_rows(samples: Samples, rows: slice) -> Mask:
    """A mask of the rows in this slice that no measure can take: a prediction, target or weight is
    not finite or out of range, or probabilities do not sum to 1.
    """
    with np.errstate(invalid="ignore"):
        u = samples.predictions[rows].astype(np.float64).reshape(-1, samples.predictions[0].size)
        bad = ~np.isfinite(u).all(axis=1)
        if not samples.from_logits:
            bad |= ((u < -OVERSHOOT) | (u > 1 + OVERSHOOT)).any(axis=1)
            if samples.multiclass:
                bad |= np.abs(u.sum(axis=1) - 1.0) > samples.row_sum_tolerance
        z = samples.targets[rows].astype(np.float64)
        if z.ndim == 2:
            bad |= ~((z >= -OVERSHOOT) & (z <= 1 + OVERSHOOT)).all(axis=1)
            bad |= ~(np.abs(z.sum(axis=1) - 1.0) <= samples.label_sum_tolerance)
        elif samples.multiclass:
            bad |= ~((z >= 0) & (z < samples.n_classes) & (z == np.floor(z)))
        else:
            bad |= ~((z >= -OVERSHOOT) & (z <= 1 + OVERSHOOT))
        if samples.weights is not None:
            w = samples.weights[rows].astype(np.float64)
            bad |= ~(np.isfinite(w) & (w >= 0))
    return bad


def explain(
    samples: Samples, row: int, *, shown: int | None = None, whole: Source | None = None
) -> str:
    """The error message about a row that no measure can take: what is wrong, and what to do.

    `row` is its number within `samples`, and `shown` its number in the message, by default the
    same. `whole` are all samples, if `samples` are only some of them.
    """
    number, whole = row if shown is None else shown, samples if whole is None else whole
    return (
        _weight_fault(samples, row, number)
        or _prediction_fault(samples, row, number, whole)
        or _target_fault(samples, row, number, whole)
        or f"row {number} cannot be read"
    )


def _weight_fault(samples: Samples, row: int, shown: int) -> str | None:
    """The error message about a row's weight; None if the weight is sound. `shown` is the row's
    number in the message.
    """
    if samples.weights is None:
        return None
    w = float(samples.weights[row])
    if math.isfinite(w) and w >= 0:
        return None
    return f"sample_weight[{shown}] is {w!r}: weights must be finite and not negative"


def _prediction_fault(samples: Samples, row: int, shown: int, whole: Source) -> str | None:
    """The error message about a row's prediction; None if the prediction is sound. `shown` is the
    row's number in the message; `whole` are all samples, of which `samples` may be some.
    """
    values = np.atleast_1d(samples.predictions[row]).astype(np.float64)
    for column, value in enumerate(values.tolist()):
        place = f"{shown}, {column}" if samples.multiclass else f"{shown}"
        location = f"{values_of('y_proba')}[{place}]"
        if not math.isfinite(value):
            return message("infinite", at=location, value=repr(value))
        if not samples.from_logits and not -OVERSHOOT <= value <= 1 + OVERSHOOT:
            if value < 0 and _none_is_above_zero(whole):
                return message("log_range", at=location, value=repr(value))
            return message("range", at=location, value=repr(value))
    total = float(values.sum())
    is_row = samples.multiclass and not samples.from_logits
    if is_row and abs(total - 1.0) > samples.row_sum_tolerance:
        tolerance = f"{samples.row_sum_tolerance:g}"
        at = f"{values_of('y_proba')}[{shown}]"
        return message("row_sum", at=at, value=repr(total), tolerance=tolerance)
    return None


def _none_is_above_zero(samples: Source) -> bool:
    """Whether all predictions are 0 or below, as log-probabilities are. False if the rows are in a
    lazy frame, where they are not looked at.
    """
    return isinstance(samples, RowSamples) and bool((samples.predictions <= 0).all())


def _target_fault(samples: Samples, row: int, shown: int, whole: Source) -> str | None:
    """The error message about a row's target; None if the target is sound. `shown` is the row's
    number in the message; `whole` are all samples, of which `samples` may be some.
    """
    target = np.asarray(samples.targets[row], dtype=np.float64)
    if target.ndim == 1:
        return _soft_label_fault(target, shown, samples.label_sum_tolerance, whole)
    value: Any = target.item()
    label = samples.targets[row].item()  # as it came: a float may not hold it
    if isinstance(label, float) and label.is_integer():
        label = int(label)
    at = f"{values_of('y_true')}[{shown}]"
    if not math.isfinite(value):
        return message("infinite_target", at=at, value=repr(value))
    if samples.multiclass:
        k = samples.n_classes
        if value != int(value):
            return message("index_fraction", at=at, value=repr(value), k=k, last=k - 1)
        if not 0 <= value < k:
            return message("index_range", at=at, value=repr(label), last=k - 1)
    elif not -OVERSHOOT <= value <= 1 + OVERSHOOT:
        hint = message("target_names")
        if value > 1 and value == int(value):
            hint += message("target_votes")
        return message("target", at=at, value=repr(label), hint=hint)
    return None


def _soft_label_fault(target: Array, shown: int, tolerance: float, whole: Source) -> str | None:
    """The error message about a row of soft labels, (k,); None if the row is sound. `tolerance` is
    how far from 1 the row may sum, `shown` its number in the message; `whole` are all samples.
    """
    for column, value in enumerate(target.tolist()):
        if not (math.isfinite(value) and -OVERSHOOT <= value <= 1 + OVERSHOOT):
            return (
                f"{values_of('y_true')}[{shown}, {column}] is {value!r}: soft labels must lie in "
                f"[0, 1]. Vote counts must be whole numbers in every row{_first_fraction(whole)}; "
                "otherwise divide them by their row's total"
            )
    total = float(target.sum())
    if abs(total - 1.0) > tolerance:
        at, hint = f"{values_of('y_true')}[{shown}]", ROUNDED if total else ""
        return message("soft_sum", at=at, value=repr(total), hint=hint)
    return None


def _first_fraction(samples: Source) -> str:
    """The first soft label that is not a whole number, as text in parentheses, to show in an error
    why labels are not counts of votes. "" if there is none, or if the rows are in a lazy frame.
    """
    if not isinstance(samples, RowSamples):
        return ""
    targets = np.asarray(samples.targets.tolist(), dtype=np.float64)
    fractions = ~(np.isfinite(targets) & (np.floor(targets) == targets))
    if not fractions.any():
        return ""
    place, at = first_entry(values_of("y_true"), fractions)
    return f" ({place} is {targets[at].item()!r})"
