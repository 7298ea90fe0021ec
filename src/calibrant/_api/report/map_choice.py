"""Which recalibration map suits some rows: the simplest as good as the best, on rows that it was
not fitted to.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant._core.errors import CalibrantError, InputError, nearest
from calibrant._core.map_names import METHODS
from calibrant._data.links import LOG_FLOOR
from calibrant._data.samples import Samples
from calibrant.results._rendering import distinct_numbers
from calibrant.results._report import spoken
from calibrant.scaling._load import SCALERS, new_scaler
from calibrant.scaling._predictions import to_predictions
from calibrant.scaling._scaler import Scaler

# Entries on which maps are tried before one is chosen: each is fitted several times.
TRIED = 20_000
# Rows a class that a map with parameters for each class needs, and classes that it may have.
ROWS_A_CLASS, MOST_CLASSES = 20, 100
AS_THEY_ARE = "as they are"
# The maps of each kind of problem, the simplest first.
_BINARY = ("platt", "beta", "isotonic", "histogram")
_MULTICLASS, _BY_CLASS = ("temperature",), ("vector", "isotonic")


@dataclass(frozen=True, eq=False)
class Trial:
    """The maps, the simplest first; the one that was chosen, None if none helps; why; and the
    Brier score of each on rows that it was not fitted to.
    """

    maps: dict[str, Scaler]
    chosen: str | None
    why: str
    scores: dict[str, float]


def checked_maps(names: Any) -> tuple[str, ...] | None:
    """The maps that were named, each once; None if the data are to choose."""
    if names is None:
        return None
    given = [names] if isinstance(names, str) else names
    if not isinstance(given, Iterable) or not (listed := list(given)):
        raise InputError(
            f"recalibrate must name one map or more, such as ['beta', 'isotonic']; got {names!r}"
        )
    for name in listed:
        if name not in METHODS:
            raise InputError(f"recalibrate={name!r} is no map: {nearest(name, METHODS)}")
    return tuple(dict.fromkeys(listed))


def left_out(samples: Samples) -> str | None:
    """Why maps with parameters for each class are not tried unasked, in a sentence."""
    k = samples.n_classes
    if not samples.multiclass or (k <= MOST_CLASSES and samples.n >= ROWS_A_CLASS * k):
        return None
    which = " and ".join(spoken(METHODS[name]) for name in _BY_CLASS)
    why = (
        f"they are tried unasked for {MOST_CLASSES} classes at most"
        if k > MOST_CLASSES
        else f"they need {ROWS_A_CLASS} rows a class in the fitted half"
    )
    return f"{which} were not tried: {why} (recalibrate= names maps to try)."


def _candidates(samples: Samples, names: tuple[str, ...] | None) -> list[Scaler]:
    """The maps that may be chosen, the simplest first, or as they were named."""
    if names is None:
        names = _BINARY if not samples.multiclass else _MULTICLASS
        if samples.multiclass and left_out(samples) is None:
            names += _BY_CLASS
    return [new_scaler(METHODS[name], from_logits=samples.from_logits) for name in names]


def tried(
    samples: Samples, groups: NDArray[np.intp] | None, names: tuple[str, ...] | None = None
) -> Trial:
    """The simplest map that is as good as the best, by Brier score on rows of other folds.

    The Brier score, because the log loss of certainties that were wrong is what its floor makes it:
    by that loss any map that takes them back helps, whatever it does to all other rows. So a map
    must raise neither, and lower one of them by more than chance easily does.
    """
    most = max(1000, TRIED // samples.n_classes)
    rows = samples.take(np.arange(min(samples.n, most)))
    groups = None if groups is None else renumbered(groups, np.arange(rows.n))
    own = to_predictions(plain(rows), given=rows.from_logits).probabilities()
    losses = {AS_THEY_ARE: _losses(own, rows)}
    maps = {type(scaler).__name__: scaler for scaler in _candidates(rows, names)}
    # Certainties that were wrong bend maps that are fitted to logarithms: those come last.
    bent = bool((losses[AS_THEY_ARE][1] >= -0.999 * np.log(LOG_FLOOR)).any())
    in_order = sorted(maps, key=lambda name: bent and maps[name]._of_logarithms)
    for name in in_order:
        mapped = _cross_fitted(maps[name], rows, groups)
        if mapped is not None:
            losses[name] = _losses(mapped, rows)
    weights = np.ones(rows.n) if rows.weights is None else rows.weights.astype(np.float64)
    scores = {name: float(weights @ loss[0] / weights.sum()) for name, loss in losses.items()}

    def behind(one: str, other: str, which: int) -> float:
        """By how much one's loss is above the other's, in standard errors."""
        return _in_errors(losses[one][which] - losses[other][which], weights, groups)

    harmless = [
        name for name in losses if name != AS_THEY_ARE
        and scores[name] <= scores[AS_THEY_ARE] and behind(name, AS_THEY_ARE, 1) <= 1
    ]  # fmt: skip
    best = min([AS_THEY_ARE, *harmless], key=lambda name: scores[name])
    # Nested maps differ by very little: a simpler one is given up for a clear gain only.
    chosen = next((name for name in harmless if behind(name, best, 0) <= 2), AS_THEY_ARE)
    # No map at all is given up for less, for the other half will tell whether it helps.
    if behind(AS_THEY_ARE, chosen, 0) <= 0.5 and behind(AS_THEY_ARE, chosen, 1) <= 1:
        chosen = AS_THEY_ARE
    why = _why(chosen, {name: scores[name] for name in losses}, bent=bent)
    return Trial(
        {name: maps[name] for name in in_order}, None if chosen == AS_THEY_ARE else chosen, why,
        scores,
    )  # fmt: skip


def _why(chosen: str, scores: dict[str, float], *, bent: bool) -> str:
    """The reason of a choice, in a sentence, and the scores behind it."""
    texts = distinct_numbers(tuple(scores.values()))
    each = ", ".join(f"{spoken(name)} {text}" for name, text in zip(scores, texts, strict=True))
    how = f"Brier score on rows of the fitted half that a map was not fitted to: {each}"
    if chosen == AS_THEY_ARE:
        return (
            "On the fitted half none of those tried is clearly better than the predictions as they "
            f"are ({how})."
        )
    first = (
        ", and because certainties that were wrong (predictions of exactly 0 or 1) bend maps that "
        "are fitted to logarithms"
        if bent and not SCALERS[chosen]._of_logarithms
        else ""
    )
    return f"Chosen as the simplest of those within two standard errors of the best{first} ({how})."


def _cross_fitted(
    scaler: Scaler, samples: Samples, groups: NDArray[np.intp] | None
) -> NDArray[np.float64] | None:
    """Each row's prediction through a map that was fitted to the other folds; None if one fails."""
    # Of many rows a part is enough to fit to.
    n_folds = 2 if samples.n > 2000 else 3 if samples.n > 1000 else 5
    # The rows are in random order already; a group is in one fold.
    fold = (np.arange(samples.n) if groups is None else groups) % n_folds
    out = np.zeros(samples.predictions.shape)
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            for j in range(n_folds):
                rest = samples.take(np.flatnonzero(fold != j))
                here = samples.take(np.flatnonzero(fold == j))
                scaler.fit(rest.targets, plain(rest), sample_weight=rest.weights, votes=rest.votes)
                out[fold == j] = scaler.transform(plain(here))
    except CalibrantError:
        return None
    return out


def _losses(proba: NDArray[np.float64], samples: Samples) -> NDArray[np.float64]:
    """Each row's Brier score and log loss."""
    targets = samples.targets.astype(np.float64)
    if samples.multiclass and targets.ndim == 1:
        targets = np.eye(samples.n_classes)[samples.targets.astype(np.int64)]
    elif not samples.multiclass:
        proba, targets = np.stack([1 - proba, proba], 1), np.stack([1 - targets, targets], 1)
    brier = ((proba - targets) ** 2).sum(axis=1)
    log = -(targets * np.log(np.maximum(proba, LOG_FLOOR))).sum(axis=1)
    return np.stack([brier if samples.multiclass else brier / 2, log])


def _in_errors(
    difference: NDArray[np.float64], weights: NDArray[np.float64], groups: NDArray[np.intp] | None
) -> float:
    """A mean difference over its standard error, rows of one group together."""
    total = float(weights @ difference)
    deviations = weights * (difference - total / weights.sum())
    if groups is not None:
        deviations = np.bincount(groups, deviations)
    error = float(np.sqrt((deviations**2).sum()))
    if error <= 1e-12 * (1.0 + abs(total)):
        return 0.0 if abs(total) <= error else float(np.sign(total)) * np.inf
    return total / error


def renumbered(groups: NDArray[np.intp] | None, rows: NDArray[np.intp]) -> NDArray[np.intp] | None:
    """The groups of some rows, numbered anew."""
    if groups is None:
        return None
    return np.unique(groups[rows], return_inverse=True)[1].astype(np.intp)


def plain(samples: Samples) -> NDArray[Any]:
    """Predictions that a map takes: rows which half precision rounded off the simplex are put
    back.
    """
    if samples.from_logits or not samples.multiclass:
        return samples.predictions
    rows = np.clip(samples.predictions.astype(np.float64), 0.0, 1.0)
    out: NDArray[np.float64] = rows / rows.sum(axis=1, keepdims=True)
    return out
