"""Which recalibration map suits some rows, by the rule of `recommend`, and which are shown."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant._api.cross_fitting import FOLDS
from calibrant._api.recommend import choose_map, n_parameters
from calibrant._core.errors import CalibrantError, InputError, nearest
from calibrant._core.map_names import METHODS
from calibrant._core.messages import name_of, setting
from calibrant._core.typing import Index
from calibrant._data.samples import Samples
from calibrant.results._recommendation import UNCHANGED
from calibrant.scaling._load import new_scaler
from calibrant.scaling._scaler import Scaler

# The maps that are shown for each kind of problem, beside the one that is chosen.
_BINARY, _MULTICLASS = ("platt", "beta", "isotonic", "histogram"), ("temperature",)
_BY_CLASS = ("vector", "isotonic")


@dataclass(frozen=True, eq=False)
class MapChoice:
    """The recalibration maps to show, and which of them was chosen.

    `maps` has them by class name, the simplest first. `chosen` is a class name, None if none helps,
    and `why` says in words why. `scores` has the log loss of each map that was tried, on rows that
    it was not fitted to.
    """

    maps: dict[str, Scaler]
    chosen: str | None
    why: str
    scores: dict[str, float]
    notes: tuple[str, ...] = ()


def checked_maps(names: Any) -> tuple[str, ...] | None:
    """The names of maps that the user gave, checked, each once; None to let the data choose."""
    if names is None:
        return None
    given = [names] if isinstance(names, str) else names
    if not isinstance(given, Iterable) or not (listed := list(given)):
        raise InputError(
            f"{name_of('recalibrate')} must name at least one map, such as ['beta', 'isotonic']; "
            f"got {names!r}"
        )
    for name in listed:
        if name not in METHODS:
            raise InputError(
                f"{setting('recalibrate', name)} is not a map: {nearest(name, METHODS)}"
            )
    return tuple(dict.fromkeys(listed))


def try_maps(
    samples: Samples, groups: Index | None, names: tuple[str, ...] | None = None, seed: int = 0
) -> MapChoice:
    """The map that `recommend` chooses for these rows, and the maps to show beside it.

    If none could be chosen because of an error, the error is the reason given.
    """
    n_units = samples.n if groups is None else int(groups.max()) + 1
    folds = max(2, min(FOLDS, n_units))
    try:
        found = choose_map(samples, groups, maps=names, folds=folds, seed=seed)
    except CalibrantError as error:
        return MapChoice(
            _unfitted_maps(samples, names or _maps_to_show(samples, ())), None, f"{error}.", {}
        )
    table = {UNCHANGED: UNCHANGED, **METHODS}
    scores = {table[row.map]: row.loss for row in found}
    chosen = METHODS[found.best] if found.helps else None
    shown = names or _maps_to_show(samples, tuple(row.map for row in found), found.best)
    return MapChoice(
        _unfitted_maps(samples, shown),
        chosen,
        _reason_in_words(found.why, found.n),
        scores,
        found.notes,
    )


def _reason_in_words(reason: str, n: int) -> str:
    """The sentence on why a map, or none, was chosen from n rows."""
    return (
        f"The rule of cal.recommend and calibrant scale --map auto, on {n:,} rows of both halves, "
        f"gives: {reason}"
    )


def _maps_to_show(
    samples: Samples, tried: tuple[str, ...], best: str = UNCHANGED
) -> tuple[str, ...]:
    """The names of the maps to show, the simplest first.

    They are the usual ones among those `tried`, and the best.
    """
    usual = (*_MULTICLASS, *_BY_CLASS) if samples.multiclass else _BINARY
    kept = [name for name in usual if name in tried or name in _MULTICLASS or not tried]
    if best not in (UNCHANGED, *kept):
        kept.append(best)
    return tuple(sorted(kept, key=lambda name: n_parameters(name, samples.n_classes)))


def _unfitted_maps(samples: Samples, names: tuple[str, ...]) -> dict[str, Scaler]:
    """New maps, not yet fitted, by class name; `names` are those that users type."""
    made = (new_scaler(METHODS[name], from_logits=samples.from_logits) for name in names)
    return {type(scaler).__name__: scaler for scaler in made}


def on_simplex(samples: Samples) -> NDArray[Any]:
    """The predictions in the form that a map takes: rows of probabilities that sum to 1.

    Logits and (n,) predictions are returned unchanged; other rows may be off 1 by rounding.
    """
    if samples.from_logits or not samples.multiclass:
        return samples.predictions
    rows = np.clip(samples.predictions.astype(np.float64), 0.0, 1.0)
    return rows / rows.sum(axis=1, keepdims=True)
