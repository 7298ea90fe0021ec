"""Which sums a measure requires, and which sources can give it."""

from __future__ import annotations

from collections.abc import Iterable

from calibrant._core.binning import LevelSets, Rule
from calibrant._core.errors import InputError
from calibrant._core.given_cells import Cells
from calibrant._measures.catalogue import Measure, Shape, canonical, catalogue, nearest_measure
from calibrant._measures.statistics import STATISTICS

# Each class's own quantile bins, and vectors of all classes, make long queries: up to so many
# classes an evaluation of everything asks a frame of another engine for them.
FRAME_CLASSES = 20
# The statistic of distances between distributions, which streams sum for soft labels.
DISTANCES = "distribution"


def known_measures(names: Iterable[str]) -> tuple[str, ...]:
    """The catalogue's own names of the measures asked for, without repetition. InputError for a
    name that the catalogue does not have.
    """
    if isinstance(names, str):
        raise InputError(f"measures must be a list of names; got the text {names!r}")
    known = tuple(dict.fromkeys(measure.name for measure in catalogue()))
    asked = {name: canonical(name) for name in names}
    for name, own in asked.items():
        if own not in known:
            raise InputError(f"there is no measure {name!r}: {nearest_measure(name, known)}")
    return tuple(dict.fromkeys(asked.values()))


def _statistics(names: tuple[str, ...], multiclass: bool) -> set[str]:
    """The names of the statistics that these measures read, of (n, k) or of (n,) predictions."""
    shape: Shape = "multiclass" if multiclass else "binary"
    return {m.statistic for m in catalogue(shape) if m.name in names}


def needs_fine_cells(names: tuple[str, ...] | None) -> bool:
    """Whether some of the measures needs the predictions in order, so that a stream must sum fine
    cells besides its bins. None stands for all measures.
    """
    if names is None:
        return True
    return any(STATISTICS[s].is_ordered for k in (False, True) for s in _statistics(names, k))


def holdings(names: tuple[str, ...] | None, multiclass: bool) -> frozenset[str]:
    """The names of the groups of arrays that a stream must sum for these measures, of (n, k) or of
    (n,) predictions. None stands for all measures but those given on request only.
    """
    if names is None:
        needed = {STATISTICS[m.statistic].sums for m in catalogue() if not m.on_request}
    else:
        statistics = _statistics(names, multiclass)
        # If asked for by name, distances are summed for hard labels too, which takes longest.
        needed = {STATISTICS[s].sums for s in statistics} | (statistics & {DISTANCES})
    sums = {"cells", *needed} - {""}
    return frozenset(sums - ({"top_cells"} if multiclass else {"classwise"}))


def is_available(measure: Measure, names: tuple[str, ...] | None, multiclass: bool) -> bool:
    """Whether a stream that sums for the measures `names` (None: all) also has the sums that this
    measure reads.
    """
    if STATISTICS[measure.statistic].is_ordered and not needs_fine_cells(names):
        return False
    return holdings((measure.name,), multiclass) - {DISTANCES} <= holdings(names, multiclass)


def in_stream(measure: Measure, *, own_bins: bool, approximate: bool) -> bool:
    """Whether a stream can give the measure, for labels of the right kind. `own_bins` says that one
    rule of fixed bins was given for all measures; `approximate` that quantile bins, and predictions
    in order, may be approximated by the stream's cells.
    """
    statistic = STATISTICS[measure.statistic]
    if not statistic.in_streams:
        return False
    if statistic.has_class_quantiles:
        return own_bins and not measure.equal_mass
    return approximate or not is_from_cells(measure, own_bins=own_bins)


def is_from_cells(measure: Measure, *, own_bins: bool) -> bool:
    """Whether a stream only approximates the measure by its cells, because the measure needs the
    predictions in order. `own_bins` says that one rule of fixed bins was given for all measures.
    """
    statistic = STATISTICS[measure.statistic]
    if statistic.merges and statistic.is_ordered:
        return not own_bins or measure.equal_mass
    return statistic.binning == "levels" and measure.needs_order


def in_frame(measure: Measure, n_columns: int, truthful: Rule) -> bool:
    """Whether an evaluation of all measures in a frame includes this one; a measure asked for by
    name is always given. Measures whose queries would be too long are left out.

    `n_columns` is the number of columns of predictions, `truthful` the rule of bins of the truthful
    measures.
    """
    statistic = STATISTICS[measure.statistic]
    if statistic.problem == "full" and isinstance(truthful, LevelSets):
        return False
    if isinstance(truthful, Cells) and statistic.problem in ("classwise", "full", "by class"):
        return n_columns == 1
    by_class = statistic.over_classes and statistic.binning == "quantile"
    return n_columns <= FRAME_CLASSES or not by_class


def follows_rule(measure: Measure) -> bool:
    """Whether the measure uses the one rule of fixed bins given for all measures instead of its
    quantile bins, so that a stream can give it.
    """
    statistic = STATISTICS[measure.statistic]
    return statistic.merges and statistic.binning == "quantile" and not measure.equal_mass
