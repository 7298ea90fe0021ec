"""The coefficients of Cox's recalibration: slope and intercepts, by their public names.

They are fitted to all rows together. Values of 1 (slope) and 0 (intercepts) are best, so predictors
are ordered by their distance from these.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any

from calibrant._core.errors import InputError
from calibrant._measures.catalogue import Measure, Shape, canonical, catalogue, find


@dataclass(frozen=True)
class Coefficient:
    """A coefficient of Cox's recalibration, ``logit P(z = 1) = a + b logit u``, with its range and
    the value of calibrated predictions, `target`.
    """

    name: str
    title: str
    label: str
    # Its place in (intercept, slope), and whether the slope is fitted too.
    row: int
    with_slope: bool
    target: float
    low: float = -math.inf
    high: float = math.inf
    higher_is_better: bool = False
    formula: str = "logit P(z = 1) = a + b logit u"
    range: str = "any number"
    reference: str = "Cox 1958"
    function: str = "cox_calibration"
    claims: Mapping[str, bool | None] = field(default_factory=dict, hash=False)

    def called(self, *, soft: bool = False) -> str:
        """The name of the coefficient in a sentence, for labels of any kind."""
        return self.label


_ALL = (
    Coefficient("slope", "calibration slope b", "calibration slope", 1, True, 1.0),
    Coefficient(
        "intercept",
        "calibration intercept a, fitted with the slope",
        "calibration intercept",
        0,
        True,
        0.0,
    ),
    Coefficient(
        "intercept_in_the_large",
        "calibration in the large: a where b = 1",
        "calibration in the large",
        0,
        False,
        0.0,
    ),
)
COEFFICIENTS = {each.name: each for each in _ALL} | {
    "calibration_slope": _ALL[0],
    "intercept_at_slope_1": _ALL[2],
}


def find_compared(name: str, shape: Shape) -> Measure | Coefficient:
    """The coefficient or the catalogue's measure with this name; an InputError without one."""
    known = COEFFICIENTS.get(name) if isinstance(name, str) else None
    return known or find(name, shape)


def canonical_compared(name: Any) -> Any:
    """The own name of a coefficient or a measure, from its name or alias, in any case."""
    known = COEFFICIENTS.get(name.lower()) if isinstance(name, str) else None
    return canonical(name) if known is None else known.name


def check_spelling(name: Any) -> None:
    """Raise an InputError if a name is that of no measure and nearly that of a coefficient."""
    measures = {measure.name for measure in catalogue()}
    if isinstance(name, str) and name not in COEFFICIENTS and canonical(name) not in measures:
        meant = get_close_matches(name.lower(), COEFFICIENTS, 1, 0.8)
        if meant:
            raise InputError(f"no measure is called {name!r}: did you mean {meant[0]!r}?")
