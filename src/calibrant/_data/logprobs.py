"""Log-probabilities, as language models give them, become probabilities."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from calibrant._core.errors import InputError
from calibrant._core.messages import name_of, setting, values_of
from calibrant._core.typing import Array
from calibrant._core.validation import check_flag
from calibrant._data.links import OVERSHOOT, softmax

# The form of predictions: probabilities (False), logits (True) or log-probabilities.
Given: TypeAlias = bool | Literal["logprobs"]
LOGPROBS: Literal["logprobs"] = "logprobs"


def given_as(from_logits: Any, from_logprobs: Any) -> Given:
    """The form in which predictions are given: False for probabilities, True for logits, "logprobs"
    for log-probabilities. Raise InputError if both options are True.
    """
    logits = check_flag("from_logits", from_logits)
    logprobs = check_flag("from_logprobs", from_logprobs)
    if logits and logprobs:
        raise InputError(
            "from_logits and from_logprobs are both True: a log-probability is the logarithm of a "
            "probability, a logit is not. Pass one of them"
        )
    return LOGPROBS if logprobs else logits


def read_given(given: Any) -> tuple[bool, bool]:
    """Split the result of `given_as` into two flags: whether predictions are logits, and whether
    they are log-probabilities. At most one is True.
    """
    if isinstance(given, str) and given == LOGPROBS:
        return False, True
    return check_flag("from_logits", given), False


# The note that results show.
FROM_LOGPROBS = "from log-probabilities"


def probabilities_of(values: NDArray[Any]) -> Array:
    """The probabilities of log-probabilities: exp of (n,), or the softmax of rows (n, k), which
    makes them sum to 1 even if some classes were left out. Raise InputError for a value above 0, or
    a row with -inf in every column.
    """
    logs = values.astype(np.float64)
    row = first_above_zero(logs)
    if row is not None:
        raise InputError(above_zero_message(f"{values_of('y_proba')}[{row}]", values[row]))
    row = first_impossible(logs)
    if row is not None:
        raise InputError(
            f"{values_of('y_proba')}[{row}] is -inf in every column: no class has a probability"
        )
    return exponentials(logs)


# exp(-SMALLEST) is 0 in float64.
SMALLEST = 800.0


def exponentials(logs: Array) -> Array:
    """The exp of log-probabilities (n,), or the softmax of rows (n, k), without checks; values
    above 0 count as 0.
    """
    logs = np.minimum(logs, 0.0)
    if logs.ndim == 1:
        return np.exp(logs)
    # A softmax cannot take -inf, the logarithm of 0; a logarithm so far below the largest gives 0
    # too.
    return softmax(np.maximum(logs, logs.max(axis=1, keepdims=True) - SMALLEST))


def first_impossible(logs: Array) -> int | None:
    """The first row of (n, k) log-probabilities in which all classes have the probability 0; None
    if there is no such row, or if the shape is (n,).
    """
    empty = np.isneginf(logs).all(axis=1) if logs.ndim == 2 else np.zeros(0, dtype=np.bool_)
    return int(np.argmax(empty)) if empty.any() else None


def first_above_zero(logs: Array) -> int | None:
    """The first row with a value above 0, which is impossible for a log-probability; None if there
    is no such row. Excesses as small as rounding errors are ignored.
    """
    above = logs > OVERSHOOT
    rows = above if above.ndim == 1 else above.any(axis=1)
    return int(np.argmax(rows)) if rows.any() else None


def above_zero_message(location: str, value: Any) -> str:
    """The error message for a log-probability, or a row of them, above 0. `location` says where in
    the input it stands.
    """
    shown = value.tolist() if isinstance(value, np.ndarray) else float(value)
    return (
        f"{location} is {shown!r}: log-probabilities are at most 0. If these are probabilities, "
        f"leave out {name_of('from_logprobs')}; if they are logits, pass "
        f"{setting('from_logits', True)}"
    )
