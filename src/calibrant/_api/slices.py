"""Slices: one evaluation for each value of a column, or combination of values of several
columns.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant._api.limits import checked_limit
from calibrant._api.resampling import Resampling
from calibrant._api.rows import take_clusters
from calibrant._core.bin_tables import FIELDS, BinTable
from calibrant._core.errors import InputError, counted
from calibrant._core.messages import setting
from calibrant._data.arrays import to_array
from calibrant._data.columns import pick
from calibrant._data.samples import Samples
from calibrant._data.slice_names import row_names, rows_by_name
from calibrant._inference.pooled_rows import PooledSums
from calibrant._inference.streams import NO_FLOOR, StreamFloor, counts_once, noise_floor
from calibrant._inference.uncertainty import Uncertainty
from calibrant._measures.catalogue import HEADLINE, Measure, Shape, find
from calibrant._measures.gap_scale import gap_scale
from calibrant._summaries.samples import Summary
from calibrant._summaries.stream import StreamSummary
from calibrant.results._check import Limit
from calibrant.results._rendering import percent
from calibrant.results._slices import Slice, Slices

# The name, the number of rows and the sums of a slice; None if no row has weight.
SliceOfSums = tuple[str, int, PooledSums | None]


@dataclass(frozen=True, kw_only=True)
class SliceOptions:
    """What to compute for each slice; slices are judged by the measure `headline`."""

    headline: Measure
    shown: Sequence[Measure]
    # Whether the measures were chosen by name.
    asked: bool
    # The largest error that is tolerated; None for slices without intervals and verdicts.
    tolerance: float | None
    # The confidence level of each slice, and the number of slices.
    level: float
    n_slices: int

    @property
    def joint_level(self) -> float:
        """The Bonferroni level of each slice: all slices and all rows jointly have `level`."""
        return 1.0 - (1.0 - self.level) / (1 + self.n_slices)


def slices_of_samples(
    samples: Samples,
    by: Any,
    data: Any,
    measures: Sequence[Measure],
    resampling: Resampling,
    *,
    asked: bool = False,
    tolerance: float | None = None,
) -> Slices:
    """Evaluate each slice of the samples by itself, with bins of its own.

    `by` names columns of `data`, or has a value for each row. `asked` says that the user chose the
    measures by name. With a `tolerance`, slices have intervals and verdicts too.
    """
    labels, name = slice_labels(by, samples, data)
    headline, shown = slice_measures(measures, samples.shape, asked=asked)
    notes, slices = [], []
    parts = rows_by_name(labels)
    options = SliceOptions(
        headline=headline,
        shown=shown,
        asked=asked,
        tolerance=tolerance,
        level=resampling.level,
        n_slices=len(parts),
    )
    for label, rows in parts.items():
        subset = samples.take(rows)
        if subset.weights is not None and not (subset.weights > 0).any():
            notes.append(no_weight_note(label, rows.size))
            continue
        own = replace(resampling, groups=take_clusters(resampling.groups, rows))
        one, note = slice_of_rows(label, subset, own, options)
        slices.append(one)
        notes += note
    return slices_with_verdicts(name, slices, notes, options)


def slice_of_rows(
    label: str, subset: Samples, resampling: Resampling, options: SliceOptions
) -> tuple[Slice, list[str]]:
    """One slice with its values and noise floor, and notes on it.

    With a tolerance it has an interval too. A slice of one cluster has neither floor nor interval.
    """
    summary = Summary(subset, *resampling.rules, together=not options.asked)
    values = _values_of(options.shown, options.headline, summary)
    groups = resampling.groups
    n_clusters = None if groups is None else int(groups.max()) + 1
    plain = Slice(name=label, n=subset.n, values=values, n_clusters=n_clusters)
    plain = _with_means(plain, summary.bins)
    if n_clusters == 1:
        return plain, [_one_cluster_note(label)]
    uncertainty = resampling.uncertainty(subset, (options.headline,))
    return _with_noise_and_interval(plain, uncertainty, options), []


def slices_with_verdicts(
    by: str, slices: Sequence[Slice], notes: list[str], options: SliceOptions, each: str = "slice"
) -> Slices:
    """The table of slices with corrected p-values, and with verdicts if there is a tolerance.

    `by` names the columns, and `each` is the word for a slice in notes, to which notes are added.
    """
    level = options.level
    if options.tolerance is None:
        return ranked_slices(by, options.headline, slices, notes)
    if len(slices) > 1:
        notes.append(
            f"intervals are at {percent(level)} for each {each}; beyond the tolerance means beyond "
            f"it at {percent(options.joint_level)}, corrected for the number of {each}s"
        )
    ranked = ranked_slices(by, options.headline, slices, notes)
    rows = tuple(_with_verdict(row, 1.0 - level) for row in ranked)
    return replace(ranked, rows=rows, level=level, tolerance=options.tolerance)


def _values_of(shown: Sequence[Measure], headline: Measure, summary: Summary) -> dict[str, float]:
    """The value of each measure in a slice, by name; NaN for a measure without a value.

    If the `headline` has no value its InputError is raised.
    """
    out = {}
    for measure in shown:
        try:
            out[measure.name] = measure.compute(summary)
        except InputError:
            if measure is headline:
                raise
            out[measure.name] = math.nan
    return out


def _with_noise_and_interval(
    plain: Slice, uncertainty: Uncertainty, options: SliceOptions
) -> Slice:
    """A slice with its noise floor and, if there is a tolerance, its interval.

    The interval decides whether the slice is within the tolerance.
    """
    headline = options.headline
    value = plain.values[headline.name]
    floor = uncertainty.noise_floor(headline, value)
    if floor is not None:
        excess = _excess(value, floor.mean)
        plain = replace(plain, noise_95=floor.upper, p_value=floor.p_value, excess=excess)
    if options.tolerance is None:
        return plain
    interval = uncertainty.interval(headline, value)
    scale = gap_scale(headline, uncertainty.summary(uncertainty.samples))
    limit = Limit(headline.name, "max", scale.value(options.tolerance))
    checked = checked_limit(limit, None, interval, uncertainty, scale)
    if checked.verdict == "fail" and options.n_slices > 1:
        # As in `check`, a failure is tested again at the level for so many slices.
        strict = replace(uncertainty, level=options.joint_level)
        checked = replace(checked, joint=strict.interval(headline, value))
    return replace(
        plain,
        accuracy=_accuracy(plain, uncertainty),
        low=interval.low,
        high=interval.high,
        estimate=interval.estimate,
        within_tolerance={"pass": True, "fail": False}.get(checked.verdict),
    )


def _accuracy(plain: Slice, uncertainty: Uncertainty) -> tuple[float, float, float] | None:
    """The accuracy of a slice with the limits of its interval; None unless predictions are
    confidences in answers that are right or wrong.
    """
    if not uncertainty.of_confidences or uncertainty.soft:
        return None
    measure = find("accuracy", "multiclass" if uncertainty.samples.multiclass else "answers")
    interval = uncertainty.interval(measure, plain.mean_target)
    return plain.mean_target, interval.low, interval.high


def _with_verdict(slice_: Slice, alpha: float) -> Slice:
    """A slice with its verdict, from its corrected p-value and whether it is within the tolerance.

    It is miscalibrated if the p-value is below `alpha`, or the error exceeds the tolerance.
    """
    if slice_.p_corrected < alpha or slice_.within_tolerance is False:
        return replace(slice_, verdict="miscalibrated")
    kept = slice_.within_tolerance is True
    return replace(slice_, verdict="calibrated within noise" if kept else "not enough data")


# --- what slices of rows, frames and files share --------------------------------------------------


def ranked_slices(
    by: str, headline: Measure, slices: Sequence[Slice], notes: Sequence[str]
) -> Slices:
    """The table of slices with Holm-corrected p-values, the largest error first.

    Slices are ordered by the estimate and not by the p-value: in many rows a small error is surer,
    but less bad. An InputError is raised if there are no slices.
    """
    if not slices:
        raise InputError(f"{setting('by', by)} leaves no slice with positive weight")
    corrected = holm([each.p_value for each in slices])
    parts = [replace(each, p_corrected=p) for each, p in zip(slices, corrected, strict=True)]
    parts.sort(key=lambda each: (-_error_size(each, headline.name), _nan_last(each.p_corrected)))
    return Slices(by=by, measure=headline.name, rows=tuple(parts), notes=tuple(notes))


def _error_size(slice_: Slice, measure: str) -> float:
    """The best available estimate of a slice's error: unbiased, else above noise, else plain."""
    known = (slice_.estimate, slice_.excess, slice_.values[measure])
    return next((size for size in known if not math.isnan(size)), -math.inf)


def _excess(value: float, noise: float) -> float:
    """The error above noise: sqrt(value^2 - noise^2), or 0 if the noise is larger.

    `noise` is the mean value under calibration; the result is NaN if that is NaN.
    """
    if math.isnan(noise):
        return math.nan
    return math.sqrt(max(0.0, value * abs(value) - noise * abs(noise)))


def no_weight_note(label: str, n: int) -> str:
    """The note on a slice that was dropped because all of its n rows have the weight 0."""
    return f"{label}: {counted(n, 'row', '')} without positive weight dropped"


@dataclass(frozen=True)
class SlicesOfSums:
    """The options of slices that are made from sums, for rows in other engines or in files."""

    by: tuple[str, ...]
    headline: Measure
    measures: Sequence[Measure]
    # Notes on measures that cannot be computed from sums.
    notes: Sequence[str]

    @classmethod
    def from_measures(
        cls, by: tuple[str, ...], measures: Sequence[Measure], shape: Shape, *, asked: bool
    ) -> SlicesOfSums:
        """The options for slices by these columns; `asked`: the user chose the measures by name."""
        headline, shown = slice_measures(measures, shape, asked=asked, of_sums=True)
        return cls(by, headline, shown, _note_not_summed(measures, shown) if asked else [])

    def evaluate_slices(self, sums: Iterable[tuple[str, int, StreamSummary | None]]) -> Slices:
        """The table of slices with their noise floors, the largest error first.

        `sums` has the name, the number of rows and the sums of each slice; None without weight.
        """
        slices, notes = [], list(self.notes)
        for label, n, summary in sums:
            if summary is not None and summary.bins.total_weight[0] > 0:
                slices.append(_slice_of_sums(label, n, summary, self.measures, self.headline))
            else:
                notes.append(no_weight_note(label, n))
        return ranked_slices(", ".join(self.by), self.headline, slices, notes)

    def infer_slices(
        self,
        sums: Iterable[SliceOfSums],
        tolerance: float | None,
        level: float,
        n_resamples: int,
        seed: int,
    ) -> Slices:
        """The table of slices with noise floors and, if there is a `tolerance`, intervals and
        verdicts.

        `sums` are those of each slice, in fine cells.
        """
        every, notes = list(sums), list(self.notes)
        options = SliceOptions(
            headline=self.headline,
            shown=self.measures,
            asked=True,
            tolerance=tolerance,
            level=level,
            n_slices=len(every),
        )
        slices = []
        for label, n, own in every:
            if own is None or not own.summary.bins.total_weight[0] > 0:
                notes.append(no_weight_note(label, n))
                continue
            groups = own.rows.groups
            n_clusters = None if groups is None else int(groups.max()) + 1
            plain = _slice_of_sums(label, n, own.summary, self.measures, self.headline)
            plain = replace(plain, n_clusters=n_clusters)
            if n_clusters == 1:
                notes.append(_one_cluster_note(label))
                slices.append(replace(plain, noise_95=math.nan, p_value=math.nan, excess=math.nan))
                continue
            uncertainty = own.uncertainty((self.headline,), level, n_resamples, seed)
            slices.append(_with_noise_and_interval(plain, uncertainty, options))
        return slices_with_verdicts(", ".join(self.by), slices, notes, options)


def _one_cluster_note(label: str) -> str:
    """The note on a slice whose rows are all of one cluster."""
    return f"{label}: a slice of one cluster has no noise floor and no interval"


def _slice_of_sums(
    label: str, n: int, summary: StreamSummary, shown: Sequence[Measure], headline: Measure
) -> Slice:
    """One slice from the sums of its n rows; `shown` are the measures to compute."""
    values = {measure.name: measure.compute(summary) for measure in shown}
    soft = summary.findings.soft
    floor = floor_of_sums(summary.bins, headline, values[headline.name], soft=soft)
    slice_ = Slice(
        name=label,
        n=n,
        values=values,
        noise_95=floor.upper,
        p_value=floor.p_value,
        excess=_excess(values[headline.name], floor.mean),
    )
    return _with_means(slice_, summary.bins)


def _with_means(slice_: Slice, table: BinTable) -> Slice:
    """A slice with the mean prediction and mean target of all its rows, also those in no bin."""
    w, wu, wz = (
        float(getattr(table, name)[0].sum() + table.dropped[0, FIELDS.index(name)])
        for name in ("sum_w", "sum_wu", "sum_wz")
    )
    return replace(slice_, mean_predicted=wu / w, mean_target=wz / w)


def floor_of_sums(
    table: BinTable, measure: Measure | None, value: float, *, soft: bool
) -> StreamFloor:
    """The noise floor of a measure, from sums in bins; NO_FLOOR if there is none.

    It needs hard labels, rows of weight 1, and a measure that is computed from bins.
    """
    if measure is None or measure.of_tables is None or soft or not counts_once(table):
        return NO_FLOOR
    return noise_floor(table, measure.of_tables, value)


def slice_measures(
    measures: Sequence[Measure], shape: Shape, *, asked: bool, of_sums: bool = False
) -> tuple[Measure, list[Measure]]:
    """The measure that slices are judged by, and the list of all measures that they show.

    Unless `asked` for by name, these are measures of bins and of losses; with `of_sums`, for rows
    that are not in memory, there are no others. Slices are judged by the ECE, or by the first
    calibration error if errors without the ECE were asked for.
    """
    quick = [m for m in measures if has_sums_of_slices(m)]
    shown = list(measures) if asked and not of_sums else quick
    errors = [m for m in shown if m.is_error and (m.statistic == "bins" or not of_sums)]
    ece = find(HEADLINE, shape)
    headline = errors[0] if errors and asked and ece not in errors else ece
    return headline, shown if headline in shown else [headline, *shown]


def has_sums_of_slices(measure: Measure) -> bool:
    """Whether the sums of a slice, in bins and of losses, give the measure as its rows do."""
    return measure.statistic in ("bins", "losses")


def _note_not_summed(measures: Sequence[Measure], shown: Sequence[Measure]) -> list[str]:
    """A note on measures that were asked for but need more than sums; [] without any."""
    absent = [m.name for m in measures if m not in shown]
    if not absent:
        return []
    names = ", ".join(absent)
    return [f"slices have no {names} here, because the rows of each slice are not in memory"]


def _nan_last(value: float) -> float:
    """A p-value as a key to sort by: 2, larger than any other, for NaN."""
    return 2.0 if math.isnan(value) else value


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm-corrected p-values; NaN for NaN.

    A corrected p-value bounds the probability that any of so many calibrated slices looks this bad.
    """
    p = np.asarray(p_values, dtype=np.float64)
    known = np.flatnonzero(~np.isnan(p))
    order = known[np.argsort(p[known], kind="stable")]
    out = np.full(p.size, math.nan)
    steps = p[order] * (known.size - np.arange(known.size))
    out[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return [float(value) for value in out]


def slice_labels(by: Any, samples: Samples, data: Any) -> tuple[NDArray[Any], str]:
    """The name of every row's slice, (n,), and the names of the columns as one text.

    `by` names columns of `data`, or has a value for each row; the text is then "slice".
    """
    names = "slice"
    if data is not None and isinstance(by, str | list | tuple):
        columns = [by] if isinstance(by, str) else list(by)
        names = ", ".join(map(str, columns))
        arrays = [_column_values(pick(data, column, "by")) for column in columns]
    else:
        if isinstance(by, str):
            raise InputError(f"by={by!r} names a column, but no frame was given: pass data=")
        arrays = [_column_values(by)]
    arrays = [samples.values_of_kept(array) for array in arrays]
    for array in arrays:
        if array.shape != (samples.n,):
            raise InputError(
                f"by must hold a value for each of the {samples.n} rows; got {array.shape}"
            )
    return row_names(arrays), names


def labels_of_rows(by: Any, data: Any) -> NDArray[Any]:
    """The name of every row's slice, (n,); `by` names columns of `data`, or has a value a row."""
    if isinstance(by, str):
        by = [by]
    if all(isinstance(name, str) for name in by) and data is not None:
        columns = [_column_values(pick(data, name, "by")) for name in by]
    else:
        columns = [_column_values(by)]
    return row_names(columns)


def _column_values(column: Any) -> NDArray[Any]:
    """A column as an array, (n,), with None for missing values of a frame's column."""
    if isinstance(column, np.ndarray | list | tuple):
        return to_array(column, "by")
    import narwhals as nw

    try:
        series = nw.from_native(column, series_only=True)
    except TypeError:
        return to_array(column, "by")
    pairs = zip(series.to_list(), series.is_null().to_list(), strict=True)
    out = np.empty(len(series), dtype=object)
    out[:] = [None if null else value for value, null in pairs]
    return out
