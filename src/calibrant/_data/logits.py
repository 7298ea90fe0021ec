"""Numbers that are said to be logits and look like something else."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from typing import Any

from calibrant._core.errors import CalibrantWarning, InputError
from calibrant._core.messages import setting, values_of

# The least number of rows (n, k), and of values (n,), of which it is no accident if all of them
# look like something else than logits.
ROWS_THAT_TELL, VALUES_THAT_TELL = 3, 10
PROBABILITIES, LOG_PROBABILITIES = "probabilities", "log-probabilities"


def kind_of_logits(predictions: Any, as_double: Callable[[Any], Any], tolerance: float) -> str:
    """What numbers that the user calls logits, an array or a tensor, look like instead.

    PROBABILITIES: all lie in [0, 1], and rows sum to 1 within the tolerance. LOG_PROBABILITIES:
    predictions (n,) all of which are 0 or below; rows (n, k) are never called so, because their
    softmax is right. "": they look like logits, or there are too few rows to tell. `as_double`
    turns a part of the predictions into doubles.
    """
    n, rows = int(predictions.shape[0]), predictions.ndim == 2
    if n < (ROWS_THAT_TELL if rows else VALUES_THAT_TELL):
        return ""
    unit, low = True, not rows
    step = max(1, (1 << 9) // (int(predictions.shape[1]) if rows else 1))
    start = 0
    while start < n:  # the first look mostly ends it
        x = as_double(predictions[start : start + step])
        unit = unit and bool(x.min() >= 0) and bool(x.max() <= 1)
        if unit and rows:
            unit = bool((abs(x.sum(1) - 1.0) <= tolerance).all())
        low = low and bool(x.max() <= 0)
        if not (unit or low):
            return ""
        start, step = start + step, 4 * step if step < 1 << 20 else step
    if unit and low:  # all are 0, which a model that knows nothing gives as logits
        return ""
    return PROBABILITIES if unit else LOG_PROBABILITIES


def check_kind_of_logits(kind: str, *, multiclass: bool) -> None:
    """Raise InputError, or warn, if numbers that the user calls logits look like another kind, as
    found by `kind_of_logits`.

    Rows of probabilities, which cannot be logits, are an error. Probabilities and log-probabilities
    (n,) are a warning, because logits may look like them. The kind "" is neither.
    """
    if kind == PROBABILITIES and multiclass:
        raise InputError(
            f"{values_of('y_proba')} has rows in [0, 1] that sum to 1 while from_logits is True: "
            "these are probabilities, and a softmax would flatten them. Leave out from_logits "
            "(--from-logits); for a scaler, pass from_logits=False"
        )
    if kind == PROBABILITIES:
        warn_caller(
            f"every {values_of('y_proba')} lies in [0, 1] while from_logits is True: if these are "
            "probabilities, leave out from_logits (--from-logits; for a scaler, pass "
            "from_logits=False)"
        )
    elif kind == LOG_PROBABILITIES:
        warn_caller(
            f"no {values_of('y_proba')} is above 0 while from_logits is True: if these are "
            f"log-probabilities, pass {setting('from_logprobs', True)} instead. If they are logits "
            "of a rare event, ignore this warning"
        )


def warn_caller(message: str) -> None:
    """Issue a CalibrantWarning that points to the line of the user's code that called Calibrant."""
    level, frame = 1, sys._getframe()
    while frame is not None and str(frame.f_globals.get("__name__")).startswith("calibrant"):
        level, frame = level + 1, frame.f_back  # type: ignore[assignment]
    warnings.warn(message, CalibrantWarning, stacklevel=level)
