"""Net benefits of strategies at thresholds, with limits, from rows or from pooled rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from calibrant._api.cross_fitting import fit_and_apply
from calibrant._core.errors import CalibrantError, InputError, one_of
from calibrant._core.typing import Array, Index
from calibrant._core.validation import check_count
from calibrant._data.samples import Samples
from calibrant._inference.decisions import Acted, Outcomes, gain_limits
from calibrant.results._decision_curve import ALL, NONE, DecisionCurve, NetBenefit
from calibrant.scaling._isotonic import IsotonicCalibration
from calibrant.scaling._platt import PlattScaling

THRESHOLDS = tuple(j / 100 for j in range(1, 100))
MAPS = {"isotonic": IsotonicCalibration, "platt": PlattScaling}
FOLDS = 5
# With at least this many rows of the rarer outcome, the default map is isotonic.
ENOUGH_EVENTS = 200


def check_recalibration(recalibration: Any, seed: Any) -> None:
    """Raise an InputError unless `recalibration` names a map or is None, and the seed is one."""
    check_count("seed", seed, 0, "a whole number, 0 or more")
    if recalibration is not None:
        one_of("recalibration", recalibration, ("default", *MAPS))


@dataclass(frozen=True, eq=False)
class Judged:
    """Predictions of some models for the same rows, and those after recalibration, by model; and
    the name of the map, None without recalibration.
    """

    outcomes: Outcomes
    predictions: Mapping[str, Array]
    mapped: Mapping[str, Array]
    map_name: str | None
    n: int
    # Whether acting on all rows and on none is judged too.
    with_always: bool = True


def curve_of_judged(
    judged: Sequence[Judged], models: tuple[str, ...], thresholds: Array, level: float
) -> DecisionCurve:
    """The decision curves of `models`, of which each is judged in one set of rows or more, and each
    pair in one that has both.
    """
    benefits: dict[str, NetBenefit] = {}
    pairs: dict[tuple[str, str], Any] = {}
    for each in judged:
        own, apart = _benefits(each, thresholds, level)
        benefits, pairs = {**own, **benefits}, {**apart, **pairs}
    strategies = (*models, ALL, NONE)
    first = judged[0]
    words = f"{first.map_name}, {FOLDS}-fold cross-fitted" if first.map_name else ""
    return DecisionCurve(
        models=models,
        thresholds=thresholds,
        benefits={name: benefits[name] for name in strategies},
        pairs={pair: pairs[pair] for pair in combinations(strategies, 2)},
        level=level,
        n=first.n,
        prevalence=first.outcomes.mean(first.outcomes.z),
        recalibration=words,
    )


def _benefits(
    judged: Judged, thresholds: Array, level: float
) -> tuple[dict[str, NetBenefit], dict[tuple[str, str], Any]]:
    """The net benefits of every strategy, and for every pair of them the differences with limits,
    at all thresholds.
    """
    outcomes, strategies = judged.outcomes, dict(judged.predictions)
    if judged.with_always:
        strategies |= {ALL: np.ones(outcomes.z.size), NONE: np.full(outcomes.z.size, -1.0)}
    found = [
        _benefits_at_threshold(t, strategies, judged.mapped, outcomes, level)
        for t in thresholds.tolist()
    ]
    benefits = {
        name: NetBenefit(
            **{key: np.array([alone[name][key] for alone, _ in found]) for key in found[0][0][name]}
        )
        for name in strategies
    }
    pairs = {
        (one, other): tuple(np.array([apart[one, other] for _, apart in found]).T)
        for one, other in combinations(strategies, 2)
    }
    return benefits, pairs


def _benefits_at_threshold(
    t: float,
    strategies: Mapping[str, Array],
    mapped: Mapping[str, Array],
    outcomes: Outcomes,
    level: float,
) -> tuple[dict[str, dict[str, float]], dict[tuple[str, str], tuple[float, float, float]]]:
    """The net benefit of every strategy at the threshold t, and of every pair the difference.

    The first dict has, for each strategy, its columns by name, such as "value", "low" and "high" of
    the net benefit; the second has (difference, lower limit, upper limit) of each pair.
    `strategies` are predictions by name, acting on all and on none included; `mapped` are
    recalibrated ones.
    """
    always = {ALL: True, NONE: False}
    acted = {
        name: Acted.from_rows(u >= t, outcomes, t, always.get(name))
        for name, u in strategies.items()
    }
    z = outcomes.z
    nobody = acted.get(NONE) or Acted.from_rows(np.zeros(z.size, dtype=bool), outcomes, t, False)
    alone = {name: gain_limits(own, nobody, outcomes, t, level) for name, own in acted.items()}
    columns: dict[str, dict[str, float]] = {}
    for name, own in acted.items():
        value, low, high = alone[name]
        columns[name] = {
            "tp_rate": outcomes.mean(np.where(own.positive, z, 0.0)),
            "fp_rate": outcomes.mean(np.where(own.positive, 1.0 - z, 0.0)),
            "value": value,
            "low": low,
            "high": high,
        }
        if name in mapped:
            after = Acted.from_rows(mapped[name] >= t, outcomes, t)
            gain, low, high = gain_limits(after, own, outcomes, t, level)
            changed = {"recalibrated": value + gain, "gain": gain}
            columns[name] |= {**changed, "gain_low": low, "gain_high": high}
    apart = {
        (one, other): alone[one]
        if other == NONE
        else gain_limits(acted[one], acted[other], outcomes, t, level)
        for one, other in combinations(strategies, 2)
    }
    return columns, apart


def chosen_map(recalibration: str | None, outcomes: Outcomes) -> str | None:
    """The name of the map to recalibrate with; None for no recalibration.

    `recalibration` is the user's choice. Rows that are so few that a fold could lack an outcome are
    not recalibrated.
    """
    rows, z = outcomes.rows, outcomes.z
    if recalibration is None or rows.sum() < 2 * FOLDS:
        return None
    rarer = min(float(rows @ z), float(rows @ (1.0 - z)))
    if rarer < FOLDS:
        return None
    if recalibration != "default":
        return recalibration
    return "isotonic" if rarer >= ENOUGH_EVENTS else "platt"


def cross_fitted_predictions(name: str, u: Array, outcomes: Outcomes, fold: Index) -> Array:
    """Each row's prediction after the named map, fitted to the other folds, (n,).

    u are the predictions before the map, and `fold` is the fold of each row.
    """
    rows, out = Samples(u, outcomes.z, outcomes.w), u.copy()
    for j in range(FOLDS):
        here = fold == j
        if here.all() or not here.any():
            continue
        # With only one outcome in the other folds, predictions are unchanged.
        with suppress(CalibrantError):
            out[here] = fit_and_apply(MAPS[name](), rows.take(~here), rows.take(here))
    return out


def check_thresholds(given: Any) -> Array:
    """The user's thresholds in increasing order, each once; None gives 0.01 to 0.99.

    An InputError is raised unless they lie in [0, 1): at 1 nothing is worth a false alarm.
    """
    if given is None:
        return np.array(THRESHOLDS)
    try:
        places = np.unique(np.asarray(list(given), dtype=np.float64))
    except (TypeError, ValueError):
        raise InputError(f"thresholds must be numbers in [0, 1); got {given!r}") from None
    if not places.size:
        raise InputError("thresholds must hold at least one number; got none")
    if not ((places >= 0.0) & (places < 1.0)).all():
        bad = places[~((places >= 0.0) & (places < 1.0))][0]
        raise InputError(
            f"thresholds must lie in [0, 1): {bad:g} does not. If they are percentages, divide "
            "them by 100"
        )
    return places
