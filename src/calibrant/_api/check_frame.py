"""check() of a lazy frame: its own engine sums all rows, every slice, and pairs with a baseline."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import Any

from calibrant._api.check_sums import SummedBaseline, check_sums
from calibrant._api.compare_frame import FramePredictor, count_frame_rows
from calibrant._api.limits import LimitOn, limits_of, measures_of
from calibrant._api.rows import GivenRows, cluster_column
from calibrant._api.slices import SliceOfSums, has_sums_of_slices
from calibrant._api.slices_of_frame import FrameSlices
from calibrant._core.binning import Bins, Rule, both_rules
from calibrant._data.frame_input import named_columns
from calibrant._data.frame_samples import FrameSamples
from calibrant._engines.cells import N_LINEAR, N_OF_SLICES
from calibrant._engines.frames.slices import slices_of
from calibrant._measures.catalogue import canonical, catalogue
from calibrant.results._check import Check


def _measures_named(asked: Iterable[Mapping[str, float] | None]) -> tuple[str, ...]:
    """The measures among the names of all limits; others are coefficients, or are no names at all,
    which is an error later.
    """
    known = {measure.name for measure in catalogue()}
    names = (canonical(name) for limits in asked for name in limits or ())
    return tuple(dict.fromkeys(name for name in names if name in known))


def check_frame(
    given: GivenRows,
    rows: Mapping[str, Any],
    baseline: str | list[str] | None,
    asked: tuple[Mapping[str, float] | None, ...],
    of_slices: Mapping[str, float] | None,
    bins: Bins,
    *,
    point: bool,
    **draws: Any,
) -> Check:
    """Check columns of the lazy frame ``given.data`` by the limits `asked` for: at most, at least,
    increase and decrease.

    `rows` are options of rows that the model and its baseline share; `baseline` names the columns
    of another model's predictions; `of_slices` are limits of slices, where those are others. With
    `point` values are judged alone. `draws` are the level, the number of draws and the seed.
    """
    clusters = cluster_column(given.groups, given.data)
    rules = both_rules(bins, lambda: count_frame_rows(given.data))
    names = _measures_named((*asked, of_slices))
    read = partial(
        FramePredictor.read,
        rows={**rows, "votes": given.votes},
        rules=rules,
        clusters=clusters,
        measures=names,
    )
    new = read(given.y_true, given.y_proba)
    limits = limits_of(new.samples.shape, *asked)
    sliced = None if of_slices is None else limits_of(new.samples.shape, of_slices)
    old = None if baseline is None else read(given.y_true, baseline)
    slices: list[SliceOfSums] = []
    baselines: dict[str, SummedBaseline] = {}
    if given.by is not None:
        by = named_columns(given.by, "by", new.samples.frame.collect_schema())
        frame_slices = FrameSlices(new.samples, by, rules, clusters, names)
        if old is None:
            slices = list(_sums_of_slices(frame_slices, sliced or limits))
        else:
            slices, baselines = _pairs_of_slices(frame_slices, old.samples)
    measures = measures_of(limits)
    pair = None if old is None else _pair(new, old, rules, clusters)
    if not point:
        for each in filter(None, (old, new)):
            each.sums.refuse(measures)
    return check_sums(
        new.sums,
        new.values(measures, asked=True),
        limits,
        new.n_rows,
        new.n_missing,
        point=point,
        slices=slices,
        baseline=pair,
        baselines=baselines,
        of_slices=sliced,
        **draws,
    )


def _pair(
    new: FramePredictor, old: FramePredictor, rules: tuple[Rule, Rule], clusters: str | None
) -> SummedBaseline:
    """The baseline `old` of a model on the same rows."""
    return SummedBaseline(old.sums, new.joint_sums(old, rules, clusters))


def _sums_of_slices(slices: FrameSlices, limits: tuple[LimitOn, ...]) -> Iterator[SliceOfSums]:
    """Yield the sums of every slice: from one query, unless a limit needs predictions in order."""
    measures = measures_of(limits)
    if not all(map(has_sums_of_slices, measures)):
        return slices.each_summed()
    # Coefficients are fitted to the cells, which must then be fine.
    n_linear = N_OF_SLICES if len(measures) == len(limits) else N_LINEAR
    losses = any(measure.statistic == "losses" for measure in measures)
    return slices.sums(losses=losses, n_linear=n_linear)


def _pairs_of_slices(
    slices: FrameSlices, baseline: FrameSamples
) -> tuple[list[SliceOfSums], dict[str, SummedBaseline]]:
    """The sums of every slice, and those of its baseline by name, each from queries of its own."""
    sums: list[SliceOfSums] = []
    baselines = {}
    before = slices_of(baseline, slices.by, slices.clusters)
    for name, part in slices_of(slices.samples, slices.by, slices.clusters).items():
        new, old = map(slices.predictor, (part, before[name]))
        sums.append((name, part.n, None if new is None else new.sums))
        if new is not None and old is not None:
            clusters = None if new.sums.is_one_cluster else slices.clusters
            baselines[name] = _pair(new, old, slices.rules, clusters)
    return sums, baselines
