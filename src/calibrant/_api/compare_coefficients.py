"""Slopes and intercepts in compare(): values, differences, and which predictor is closer to 1 or 0.

A coefficient has no better end: predictors are ordered by their distance from its target. Of the
distances d1 and d2 of two slopes from 1, with their signs, ``|d1| - |d2|`` is not normal near 1,
but ``d1 - d2`` and ``d1 + d2`` are. Its interval follows from theirs (`distance_limits`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np

from calibrant._api.cox_limits import clipping_note
from calibrant._core.errors import InputError, NotDefined, errors_about
from calibrant._core.messages import name_of
from calibrant._core.typing import Array
from calibrant._engines.arrays.streams import EPS
from calibrant._inference.coefficients import (
    FittedCoefficient,
    distance_limits,
    fit_coefficients,
)
from calibrant._inference.uncertainty import Uncertainty
from calibrant._measures.coefficients import (
    COEFFICIENTS,
    Coefficient,
    canonical_compared,
    check_spelling,
)
from calibrant.results._comparison import Comparison
from calibrant.results._ranked_pairs import Closeness

# The fits of each coefficient to one predictor, and to two predictors on the same rows.
Fits = Sequence[FittedCoefficient]
PairFits = Callable[[int, int], tuple[Fits, Fits]]


@dataclass(frozen=True)
class NamedMeasures:
    """The measures that compare() was asked for: `others` are those of the catalogue (None for the
    usual ones), `order` has all names in their order.
    """

    others: Any
    coefficients: tuple[Coefficient, ...] = ()
    order: tuple[str, ...] = ()

    @classmethod
    def of(cls, measures: Any) -> NamedMeasures:
        """The coefficients among `measures`, apart from the rest."""
        if isinstance(measures, str) or not isinstance(measures, Iterable):
            return cls(measures)
        names = tuple(measures)
        order = tuple(dict.fromkeys(map(canonical_compared, names)))
        for name in order:
            check_spelling(name)
        fitted = tuple(COEFFICIENTS[name] for name in order if name in COEFFICIENTS)
        if not fitted:
            return cls(names)
        return cls(tuple(name for name in order if name not in COEFFICIENTS), fitted, order)

    def check_without(self, **given: Any) -> None:
        """Raise an InputError if coefficients are combined with what they have no values for."""
        for option, value in given.items():
            if self.coefficients and value is not None and value is not False:
                name = self.coefficients[0].name
                raise InputError(
                    f"{name_of(option)} and the measure {name} cannot be combined: "
                    f"{_INSTEAD[option]}"
                )


_INSTEAD = {
    "by": "clinical_summary(by=...), or report --clinical --by, gives those of subgroups",
    "ceiling": "annotators state no probabilities that a slope could be fitted to",
    "resample": "slopes and intercepts have intervals for new rows; use resample='rows'",
}


def coefficients_of_rows(
    found: Comparison, named: NamedMeasures, rows: Mapping[str, Uncertainty]
) -> Comparison:
    """The comparison of predictors in memory with slopes and intercepts, and notes on clipping."""
    fits: list[Fits] = []
    clipped = {}
    for name, each in rows.items():
        problem = each.plain_problem
        fits.append(fit_coefficients(named.coefficients, problem, each.groups))
        moved = np.clip(problem.u, EPS, 1.0 - EPS) != problem.u
        clipped[name] = int(np.count_nonzero(moved & (problem.weights > 0)))
    found = replace(found, notes=(*found.notes, *clipped_notes(clipped)))
    return add_coefficients(found, named, fits, lambda a, b: (fits[a], fits[b]))


def add_coefficients(
    found: Comparison, named: NamedMeasures, singles: Sequence[Fits], pair: PairFits
) -> Comparison:
    """The comparison with slopes and intercepts in their places among the measures. `singles` are
    the fits of each predictor; `pair` gives those that two predictors' differences come from.
    """
    k, m = len(found.names), len(named.coefficients)
    for name, fits in zip(found.names, singles, strict=True):
        for fit in fits:
            if math.isnan(fit.value):
                with errors_about(name):
                    raise NotDefined(f"{fit.why_not}; compare other measures")
    values = np.array([[fit.value for fit in fits] for fits in singles])
    limits = np.array([[(*f.limits(found.level), f.value) for f in fits] for fits in singles])
    pairs, farther, p_values = np.zeros((m, k, k, 3)), np.zeros((m, k, k, 3)), np.ones((m, k, k))
    for a, b in combinations(range(k), 2):
        ours, theirs = pair(a, b)
        for j, each in enumerate(named.coefficients):
            compared = _compared(each, ours[j], theirs[j], found.level)
            pairs[j, a, b], farther[j, a, b], p = compared
            for table in (pairs, farther):
                table[j, b, a] = 0.0 - table[j, a, b, [1, 0, 2]]
            p_values[j, a, b] = p_values[j, b, a] = p
    closeness = {
        each.name: Closeness(each.target, farther[j], p_values[j])
        for j, each in enumerate(named.coefficients)
    }
    # A measure that is not defined here was dropped.
    names = (*found.measures, *closeness)
    order = [names.index(name) for name in named.order if name in names]
    higher = (*found.higher_is_better, *(False for _ in closeness))
    return replace(
        found,
        measures=tuple(names[i] for i in order),
        higher_is_better=tuple(higher[i] for i in order),
        values=np.concatenate([found.values.reshape(k, -1), values], axis=1)[:, order],
        limits=np.concatenate([found.limits.reshape(k, -1, 3), limits], axis=1)[:, order],
        pairs=np.concatenate([found.pairs, pairs])[order],
        closeness=closeness,
    )


def _compared(
    what: Coefficient, first: FittedCoefficient, second: FittedCoefficient, level: float
) -> tuple[Array, Array, float]:
    """Limits and estimate of a coefficient's difference, and of how much farther the first is from
    the target; and the p-value of no difference.
    """
    apart = first.plus(second, -1.0)
    total = first.plus(second, 1.0)
    middle = 2.0 * what.target
    low, high = total.limits(level)
    ends = apart.limits(level)
    farther = distance_limits(ends, (low - middle, high - middle))
    estimate, _ = distance_limits((apart.value,) * 2, (total.value - middle,) * 2)
    return (
        np.array([*ends, apart.value]),
        np.array([*farther, estimate]),
        apart.p_value(0.0),
    )


def clipped_notes(clipped: Mapping[str, int]) -> tuple[str, ...]:
    """The notes on how many predictions of each predictor were clipped for their logits."""
    return tuple(
        f"{name}: {clipping_note(n, EPS)} for slope and intercepts"
        for name, n in clipped.items()
        if n
    )
