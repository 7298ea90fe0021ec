"""Which sums a stream must hold for which measures."""

from __future__ import annotations

from collections.abc import Iterable

from calibrant._core.errors import InputError
from calibrant._engines.arrays.streams import HOLDINGS
from calibrant._measures.catalogue import Measure, Shape, canonical, catalogue, nearest_measure

# Beside the cells, which are always there.
_NEEDS = {
    "class_bins": "classwise",
    "class_quantile_bins": "classwise",
    "losses": "losses",
    "distribution": "losses",
    "logit_grid": "logits",
    "smooth": "residuals",
}
_ORDERED = ("quantile_bins", "confidence_bins", "levels", "full_bins")


def known_measures(names: Iterable[str]) -> tuple[str, ...]:
    """The catalogue's own names of what was asked for, once each, if it has them."""
    if isinstance(names, str):
        raise InputError(f"measures must be a list of names; got the text {names!r}")
    known = tuple(dict.fromkeys(measure.name for measure in catalogue()))
    asked = {name: canonical(name) for name in names}
    for name, own in asked.items():
        if own not in known:
            raise InputError(f"there is no measure {name!r}: {nearest_measure(name, known)}")
    return tuple(dict.fromkeys(asked.values()))


def _statistics(names: tuple[str, ...], multiclass: bool) -> set[str]:
    shape: Shape = "multiclass" if multiclass else "binary"
    return {m.statistic for m in catalogue(shape) if m.name in names}


def needs_fine_cells(names: tuple[str, ...] | None) -> bool:
    """Whether the bins alone are not enough: something needs the predictions in order."""
    if names is None:
        return True
    every = _statistics(names, False) | _statistics(names, True)
    return not every.isdisjoint(_ORDERED)


def holdings(names: tuple[str, ...] | None, multiclass: bool) -> frozenset[str]:
    """The arrays to sum for these measures; None means all."""
    if names is None:
        every = set(HOLDINGS)
    else:
        statistics = _statistics(names, multiclass)
        every = {"cells", *(_NEEDS[s] for s in statistics if s in _NEEDS)}
        if "confidence_bins" in statistics:
            every.add("top_cells")
    return frozenset(every - ({"top_cells"} if multiclass else {"classwise"}))


def is_available(measure: Measure, names: tuple[str, ...] | None, multiclass: bool) -> bool:
    """Whether a stream that sums for the measures of these names has the sums of this one too."""
    if measure.statistic in _ORDERED and not needs_fine_cells(names):
        return False
    return holdings((measure.name,), multiclass) <= holdings(names, multiclass)
