"""find_segments: in which groups of rows predictions are wrong.

A segment is the rows with one value of a column, or with one combination of values of several
columns, a crossing. Its gap is here the mean prediction less the mean target.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calibrant._api.metrics.significance import scalar_problem
from calibrant._api.rows import as_samples, as_source, group_index, note_two_columns
from calibrant._core.arguments import Reading
from calibrant._core.bin_tables import FIELDS
from calibrant._core.binning import Quantile
from calibrant._core.errors import InputError, check_weight_total
from calibrant._core.typing import Index
from calibrant._core.validation import check_count, check_seed, is_number, public
from calibrant._data.arrays import to_array
from calibrant._data.columns import is_lazy, pick, scan_if_path
from calibrant._data.frame_input import named_columns
from calibrant._data.samples import Samples
from calibrant._data.segment_columns import MOST_VALUES, SegmentColumn, segment_column
from calibrant._inference.cells import Problem, problem_of
from calibrant._inference.segments import (
    ModelNoise,
    ObservedNoise,
    SegmentSearch,
    labels_of,
    noise_of_cells,
    noise_of_rows,
    search,
)
from calibrant._inference.significance import student_quantile
from calibrant._summaries.samples import resolve_notion
from calibrant.results._rendering import shown
from calibrant.results._segments import Segment, Segments

PARTS, MIN_ROWS, N_DRAWS = 5, 30, 500


@dataclass(frozen=True, kw_only=True)
class SearchOptions:
    """The checked options of the search for segments, and of the tests that judge them."""

    depth: int = 2
    parts: int = PARTS
    min_rows: int = MIN_ROWS
    # The smallest gap that matters; and whether gaps are compared with the gap of all rows, None
    # to do so where that gap is more than chance.
    min_gap: float = 0.0
    contrast: bool | None = None
    n_draws: int = N_DRAWS
    seed: int = 0

    def __post_init__(self) -> None:
        """Raise an InputError for an option out of range."""
        check_seed(self.seed)
        check_count("depth", self.depth, 1)
        check_count("parts", self.parts, 2)
        check_count("min_rows", self.min_rows, 1)
        check_count("n_draws", self.n_draws, 100)
        if not is_number(self.min_gap) or not 0 <= float(self.min_gap) < 1:
            raise InputError(
                f"min_gap must be a number from 0 to 1, such as 0.02; got {self.min_gap!r}"
            )
        if self.contrast is not None and not isinstance(self.contrast, bool | np.bool_):
            raise InputError(f"contrast must be True, False or None; got {self.contrast!r}")


@public
def find_segments(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    segments: Mapping[str, ArrayLike] | Sequence[str] | str,
    *,
    depth: int = 2,
    parts: int = PARTS,
    min_rows: int = MIN_ROWS,
    min_gap: float = 0.0,
    contrast: bool | None = None,
    notion: str | None = None,
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    votes: ArrayLike | None = None,
    n_draws: int = N_DRAWS,
    seed: int = 0,
    **rows: Unpack[Reading],
) -> Segments:
    r"""Find miscalibrated segments: values of columns, and their crossings.

    .. math:: \frac{\sum_{i \in S} w_i (u_i - z_i)}{\sqrt{\sum_{i \in S} w_i^2 u_i (1 - u_i)}}

    is the ratio of a segment S. Every value of every column is a segment, and every crossing of up
    to `depth` columns. If all rows together are miscalibrated, a segment is judged by its contrast,
    the gap of the segment minus that of all rows, so a common shift is not reported in every
    segment. Segments are ranked by the lower end of the interval of their absolute gap, or
    contrast, so large errors come first, not the most significant ones. These lower ends hold for
    all segments simultaneously, in 95 % of samples; segments with the lower end 0 follow, by their
    ratio.

    Among thousands of segments, some ratio is large by chance, so p-values account for the whole
    search. Outcomes are drawn from the predictions, once for all segments, and the largest ratio of
    each draw gives the null distribution. With many rows, blocks are drawn instead, with the same
    variances. With clusters, or soft labels without votes, the variance of the observed residuals
    is used.

    Parameters
    ----------
    segments : mapping of str to array-like, or list of str
        Columns to search: a mapping of names to one value per row or, with `data`, the columns'
        names.
    depth : int, default 2
        The largest number of columns to cross.
    parts : int, default 5
        Number of ranges into which a column of more than 12 distinct numbers is cut, at its
        quantiles.
    min_rows : int, default 30
        Segments with fewer rows are not tested, nor are those with so few events that a single
        outcome could decide.
    min_gap : float in [0, 1), default 0.0
        The smallest gap, or contrast, that matters: segments with smaller ones are not listed,
        except the worst if all are smaller.
    contrast : bool, optional
        Whether a segment's gap is compared with that of all rows, or with 0. By default, with that
        of all rows if it is significant (p < 0.05).
    notion (scalar)
    groups (variances)
    votes (of soft labels)
    n_draws : int, default 500
        Number of draws for the p-values.
    seed
    data : data frame, mapping or path, optional
        Frame whose columns the other arguments name: pandas, polars, PyArrow in memory; a lazy
        frame of polars, DuckDB, Spark or Dask, or the path of a Parquet file, which are summed
        where they are.

    Returns
    -------
    Segments
        Every segment that was tested, the worst first: `worst`, `p_value`, `sentence`, `to_frame`.

    Raises
    ------
    InputError
        If the input cannot be read as labels and probabilities, a column has another number of
        rows, or no segment has enough rows.

    See Also
    --------
    evaluate : with `by`, every measure of the values of one column.

    Notes
    -----
    For a lazy frame or a Parquet file, only the sums of every combination of the columns' values
    are collected, at most a million, so memory does not grow with the rows. The table is the same.
    For the p-values, the sum of each combination's residuals is drawn from a normal distribution
    with its variance under calibration, instead of single outcomes. `groups` and `votes` need rows
    in memory.

    References
    ----------
    Tax et al. (2025), MCGrad, arXiv:2506.11251; Hebert-Johnson et al. (2018), Multicalibration;
    Westfall and Young (1993), Resampling-Based Multiple Testing.

    Examples
    --------
    >>> import numpy as np
    >>> import calibrant as cal
    >>> rng = np.random.default_rng(0)
    >>> p = rng.uniform(0.1, 0.9, 5000)
    >>> age, ward = rng.integers(20, 90, 5000), rng.choice(["a", "b", "c"], 5000)
    >>> risk = np.where((age > 75) & (ward == "b"), p / 2, p)
    >>> found = cal.find_segments(rng.random(5000) < risk, p, {"age": age, "ward": ward})
    >>> found.worst.name, found.p_value < 0.01
    ('age 75 to 89, ward = b', True)
    """
    options = SearchOptions(
        depth=depth,
        parts=parts,
        min_rows=min_rows,
        min_gap=min_gap,
        contrast=contrast,
        n_draws=n_draws,
        seed=seed,
    )
    data = rows["data"] = scan_if_path(rows.get("data"))
    if is_lazy(data):
        if groups is not None or votes is not None:
            raise InputError(
                f"{'groups' if votes is None else 'votes'} needs the rows in memory: collect the "
                "frame first"
            )
        frame = as_source(y_true, y_proba, sample_weight=sample_weight, **rows)
        return note_two_columns(
            _segments_of_frame(frame, segments, notion, options), frame, "confidence"
        )
    samples = as_samples(y_true, y_proba, sample_weight=sample_weight, votes=votes, **rows)
    problem = scalar_problem(samples, notion, Quantile(15))
    columns = segment_columns(segments, data, samples, parts)
    clusters = group_index(groups, samples, data)
    found = _segments_of_rows(samples, problem, columns, clusters, options)
    return note_two_columns(found, samples, "confidence")


def segments_of_samples(
    samples: Samples, segments: Any, data: Any, groups: Index | None, depth: int, seed: int
) -> Segments:
    """Search validated rows for segments, by the default options of `find_segments`.

    `segments` names columns of `data` or maps names to columns; `groups` are clusters as numbers.
    """
    options = SearchOptions(depth=depth, seed=seed)
    columns = segment_columns(segments, data, samples, options.parts)
    problem = problem_of(samples, resolve_notion(samples, None), Quantile(15))
    assert problem is not None
    return _segments_of_rows(samples, problem, columns, groups, options)


def _segments_of_rows(
    samples: Samples,
    problem: Problem,
    columns: list[SegmentColumn],
    groups: Index | None,
    options: SearchOptions,
) -> Segments:
    """Search rows in memory for segments; `groups` are clusters as numbers, or None."""
    found = _search_segments(noise_of_rows(problem, samples.votes, groups), columns, options)
    w = problem.weights
    sums = (float(x) for x in (w.sum(), w @ problem.u, w @ problem.z))
    return _segments_table(found, columns, _Totals(problem.n, *sums), options)


def _search_segments(
    noise: ModelNoise | ObservedNoise, columns: list[SegmentColumn], options: SearchOptions
) -> SegmentSearch:
    """Find all segments that have enough rows to be judged; an InputError without any.

    `noise` has the residuals of the rows, and draws residuals of calibrated predictions for
    p-values.
    """
    found = search(
        noise,
        columns,
        min(options.depth, len(columns)),
        min_rows=options.min_rows,
        n_draws=options.n_draws,
        seed=int(options.seed),
    )
    if found is None:
        raise InputError(
            f"no segment has {options.min_rows} rows and enough events: give columns with fewer "
            "values, or a smaller min_rows"
        )
    return found


def _segments_of_frame(
    samples: Any, segments: Any, notion: str | None, options: SearchOptions
) -> Segments:
    """Search a lazy frame for segments: its engine sums the rows of each combination of values.

    Only these sums are loaded.
    """
    from calibrant._engines.frames.segments import cell_sums, segment_rules

    if isinstance(segments, Mapping):
        raise InputError(
            "segments must name columns of data=, because the rows are in another engine; got a "
            "mapping. Collect the frame to search other columns"
        )
    if samples.vote_columns:
        raise InputError(
            "y_true holds vote counts, which need the rows in memory: collect the frame"
        )
    once = list(dict.fromkeys(segments)) if isinstance(segments, list | tuple) else segments
    names = named_columns(once, "segments", samples.frame.collect_schema())
    if not names:
        raise InputError("segments must name at least one column; got none")
    resolved = resolve_notion(samples, notion)
    if resolved in ("classwise", "full"):
        raise InputError(f"notion={resolved!r} has no single gap per row: use 'confidence'")
    groups, columns = cell_sums(samples, resolved, segment_rules(samples, names, options.parts))
    fields = dict(zip(FIELDS, groups.fields.T, strict=True))
    check_weight_total(float(fields["sum_w"].sum()), groups.n_rows)
    known = not groups.findings.soft
    n, w, wu, wz = (fields[name] for name in ("n", "sum_w", "sum_wu", "sum_wz"))
    noise = noise_of_cells(
        (n, w, wu, wz),
        fields["sum_w2"],
        groups["spread" if known else "seen"],
        None if known else groups["spread"],
    )
    found = _search_segments(noise, columns, options)
    totals = _Totals(groups.n_rows, *(float(each.sum()) for each in (w, wu, wz)))
    summed = (
        f"summed by {samples.where} in {n.size:,} combinations of values; p-values use normal "
        "draws of their residuals"
    )
    return _segments_table(found, columns, totals, options, (summed,))


def segment_columns(segments: Any, data: Any, samples: Samples, parts: int) -> list[SegmentColumn]:
    """The columns to search, numbers among them cut into at most `parts` ranges.

    An InputError is raised for a column without one value for each row.
    """
    if isinstance(segments, str):
        segments = [segments]
    if isinstance(segments, Mapping):
        given = {str(name): to_array(values, "segments") for name, values in segments.items()}
    elif data is None:
        raise InputError(
            "segments must be a mapping of names to columns, or, with data=, names of its columns; "
            f"got {type(segments).__name__} without data="
        )
    else:
        given = {str(name): pick(data, name, "segments") for name in segments}
    if not given:
        raise InputError("segments must name at least one column; got none")
    out = []
    for name, values in given.items():
        own: NDArray[Any] = samples.values_of_kept(np.asarray(values))
        if own.shape[:1] != (samples.n,):
            raise InputError(
                f"segments[{name!r}] must have one value for each of {samples.n} rows; got "
                f"{own.shape[0] if own.ndim else 'a single value'}"
            )
        out.append(segment_column(name, own, parts))
    return out


@dataclass(frozen=True)
class _Totals:
    """The number of all rows, and the sums over them of weights w, of w u and of w z.

    u is a row's prediction or confidence, and z its target.
    """

    n: int
    w: float
    wu: float
    wz: float


def _segments_table(
    found: SegmentSearch,
    columns: list[SegmentColumn],
    totals: _Totals,
    options: SearchOptions,
    more_notes: tuple[str, ...] = (),
) -> Segments:
    """The table of segments, those first that are most certainly wrong.

    `found` are all segments, `columns` the columns searched, `more_notes` further notes.
    """
    whole = totals.wu - totals.wz
    # Whether the gap of all rows is more than chance.
    off = abs(whole) > student_quantile(0.975, math.inf) * np.sqrt(found.variance)
    against_all = bool(off if options.contrast is None else options.contrast)
    min_gap = float(options.min_gap)
    rows, largest = [], 0.0
    for crossing in found.crossings:
        for i in range(crossing.cells.size):
            weight, wu, wz = (float(part) for part in crossing.sums[1:, i])
            largest = max(largest, abs(wu - wz) / totals.w)
            gap, error = (wu - wz) / weight, float(np.sqrt(crossing.variance[i])) / weight
            contrast = gap
            if against_all:
                contrast = gap - whole / totals.w
                error = _contrast_error(crossing.variance[i], weight, found.variance, totals.w)
            ratio = contrast / error if error > 0 else 0.0
            codes = labels_of(columns, crossing.columns, int(crossing.cells[i]))
            chosen = [(columns[c], code) for c, code in zip(crossing.columns, codes, strict=True)]
            rows.append(
                Segment(
                    name=", ".join(column.phrase(code) for column, code in chosen),
                    values={column.name: column.labels[code] for column, code in chosen},
                    n=int(crossing.sums[0, i]),
                    mean_predicted=wu / weight,
                    mean_target=wz / weight,
                    gap=gap,
                    ratio=ratio,
                    p_value=found.p_value(ratio),
                    contrast=contrast,
                    at_least=max(0.0, abs(contrast) - found.critical * error),
                )
            )
    # Of two segments that are off alike the one that is made of fewer columns comes first.
    rows.sort(key=lambda row: (-row.at_least, -abs(row.ratio)))
    notes = [_overall_note(totals), *_notes(found, columns), *more_notes]
    kept = [row for row in rows if abs(row.contrast) >= min_gap] or rows[:1]
    if len(kept) < len(rows):
        few = len(rows) - len(kept)
        notes.append(f"{few:,} of {len(rows):,} segments are off by less than {min_gap:g}")
    names = tuple(column.name for column in columns)
    return Segments(
        rows=tuple(kept),
        p_value=kept[0].p_value,
        multicalibration_error=largest,
        columns_searched=names,
        depth=options.depth,
        n=totals.n,
        n_draws=options.n_draws,
        notes=tuple(notes),
        against_all_rows=against_all,
        min_gap=min_gap,
    )


def _contrast_error(
    variance: float, weight: float, total_variance: float, total_weight: float
) -> float:
    """The standard error of a segment's contrast: its gap less the gap of all rows.

    `variance` is that of the segment's summed residuals and `weight` its weight; `total_variance`
    and `total_weight` are the same of all rows, the segment included.
    """
    inside = variance * (1.0 / weight - 1.0 / total_weight) ** 2
    return float(np.sqrt(inside + max(total_variance - variance, 0.0) / total_weight**2))


def _overall_note(totals: _Totals) -> str:
    """The note on the gap of all rows together, which segments share."""
    predicted, target = totals.wu / totals.w, totals.wz / totals.w
    gap = 100.0 * (predicted - target)
    lean = "too high" if gap > 0 else "too low"
    return (
        f"all rows together: predicted {shown(predicted)}, observed {shown(target)}, "
        f"{abs(gap):.2g} points {lean}"
    )


def _notes(found: SegmentSearch, columns: list[SegmentColumn]) -> list[str]:
    """Notes on columns cut into ranges or with many values, and on segments with too few rows."""
    notes = []
    cut = [column.name for column in columns if column.ranges]
    if cut:
        notes.append(f"numeric columns were cut at quantiles: {', '.join(cut)}")
    for column in columns:
        if column.n_others:
            notes.append(
                f"{column.name}: the {MOST_VALUES - 1} most frequent values are kept, and the "
                f"{column.n_others:,} others are pooled"
            )
    if found.n_small:
        notes.append(
            f"{found.n_small:,} segments were not tested, because they have too few rows or events"
        )
    return notes
