"""reliability_curve(): a curve that follows the rows, isotonic or local, with its band."""

from __future__ import annotations

from typing import Any, Unpack, cast

from numpy.typing import ArrayLike

from calibrant._api.row_curves import BANDS_OF, fitted_curve
from calibrant._api.rows import (
    as_samples,
    as_source,
    cluster_column,
    group_index,
    note_two_columns,
)
from calibrant._core.arguments import Rows
from calibrant._core.binning import EqualWidth
from calibrant._core.errors import InputError, check_weight_total, one_of
from calibrant._core.typing import Index
from calibrant._core.validation import check_count, check_level, is_number, public
from calibrant._data.columns import is_lazy, scan_if_path
from calibrant._data.explain import check_not_swapped, explained
from calibrant._data.frame_samples import FrameSamples
from calibrant._data.samples import Notion, Samples
from calibrant._data.source import Source
from calibrant._inference.cells import Problem, problem_of
from calibrant._inference.context import rows_of_weight, take_rows
from calibrant._summaries.samples import resolve_notion
from calibrant.results._reliability_curve import ReliabilityCurve


@public
def reliability_curve(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    method: str = "isotonic",
    band: str | None = "default",
    span: float | None = None,
    notion: str | None = None,
    level: float = 0.95,
    groups: ArrayLike | None = None,
    seed: int = 0,
    **rows: Unpack[Rows],
) -> ReliabilityCurve:
    """A reliability curve without bins that follows the rows, with a band.

    ``method="isotonic"`` is the increasing curve nearest to the labels (CORP): it steps where the
    frequencies step, however few rows that takes. ``method="local"`` is a local regression
    (parabolas) that looks as far as a share of the rows lies, a share that is chosen by generalised
    cross validation. Neither has a bandwidth that is the same everywhere, as the curve of
    `smooth_reliability` has.

    Parameters
    ----------
    method : {"isotonic", "local"}, default "isotonic"
        How the curve is fitted.
    band : {"default", "consistency", "confidence", "pointwise"} or None, default "default"
        For the isotonic curve `"consistency"` (the default: where the curves of calibrated
        predictions lie, by redrawing outcomes) or `"confidence"` (limits that hold everywhere
        together, at any number of rows; of hard labels without weights or clusters); for the local
        one `"pointwise"` limits.
    span : float in (0, 1], optional
        The share of rows in the window of a local regression; chosen by default.
    notion (scalar)
    level
        Level of the band.
    groups
        Cluster of each row (patient, document, game); rows of one cluster vary together.
    seed
        Seed of a consistency band's draws; the same seed gives the same result.
    data

    Returns
    -------
    ReliabilityCurve
        The curve with its band, its table (`columns`), its height anywhere (`at`) and its diagram
        (`plot`).

    Notes
    -----
    Lazy frames and Parquet files are summed by distinct prediction up to 2^15 rows, with the curve
    of rows, and in some 5,000 cells of predictions beyond. Of 10^6 rows the local curve of cells
    then differs from that of rows by up to 7e-5; the isotonic one by 5e-4 on average, and by up to
    0.03 at the ends of its steps.

    References
    ----------
    Dimitriadis, Gneiting and Jordan (2021), doi:10.1073/pnas.2016191118 (isotonic curve,
    consistency band). Dimitriadis, Duembgen, Henzi, Puke and Ziegel (2023),
    doi:10.1093/biomet/asac068 (confidence band). Cleveland and Grosse (1991), Statistics and
    Computing 1 (local regression).

    Examples
    --------
    >>> import calibrant as cal
    >>> curve = cal.reliability_curve([0, 1, 0, 1] * 9, [0.2, 0.7, 0.8, 0.9] * 9)
    >>> curve.at([0.2, 0.75, 0.9]).tolist(), curve.band
    ([0.0, 0.5, 1.0], 'consistency')
    """
    chosen = checked_band(method, band, span, level, seed)
    rows["data"] = data = scan_if_path(rows.get("data"))
    if is_lazy(data):
        # Imported when a frame of another engine is given: arrays do without.
        from calibrant._api.curve_of_frame import CurveOfFrame

        source = cast(FrameSamples, as_source(y_true, y_proba, **rows))
        own = _checked_notion(source, notion)
        cells = CurveOfFrame(source, own, cluster_column(groups, data), int(seed))
        return note_two_columns(cells.curve(method, chosen, float(level), span), source, own)
    samples = as_samples(y_true, y_proba, **rows)
    resolved = _checked_notion(samples, notion)
    problem, index = scalar_problem(
        samples, resolved, group_index(groups, samples, rows.get("data"))
    )
    curve = fitted_curve(
        problem, resolved, method, chosen, float(level), groups=index, span=span, seed=int(seed)
    )
    return note_two_columns(curve, samples, resolved)


def checked_band(method: Any, band: Any, span: Any, level: Any, seed: Any) -> str | None:
    """The band of a curve, "default" replaced by the method's own; an InputError for an argument
    that the method does not take.
    """
    check_level(level)
    one_of("method", method, BANDS_OF)
    check_count("seed", seed, 0, "a whole number, 0 or more")
    if band is not None:
        one_of("band", band, ("default", *BANDS_OF[method]))
    _check_span(span, method)
    return BANDS_OF[method][0] if band == "default" else band


def _checked_notion(samples: Source, notion: str | None) -> Notion:
    """The notion that a curve is of; an InputError for those of all classes."""
    resolved = resolve_notion(samples, notion)
    if resolved in ("classwise", "full"):
        raise InputError(
            f"a curve needs one problem, so notion={notion!r} is not supported: give one class's "
            "column as y_proba and (y_true == class) as y_true"
        )
    return resolved


def scalar_problem(
    samples: Samples, notion: Notion, groups: Index | None
) -> tuple[Problem, Index | None]:
    """The checked predictions, targets and weights of rows with a weight above 0; their clusters.

    The clusters are numbers, or None.
    """
    with explained(samples):
        problem = problem_of(samples, notion, EqualWidth(15))
    assert problem is not None
    if not problem.hard:
        check_not_swapped(samples)
    check_weight_total(float(problem.weights.sum()), samples.n)
    kept = rows_of_weight(samples)
    if kept is None:
        return problem, groups
    samples, groups = take_rows(samples, groups, kept)
    problem = problem_of(samples, notion, EqualWidth(15))
    assert problem is not None
    return problem, groups


def _check_span(span: Any, method: str) -> None:
    """Raise an InputError unless the span is None, or a share in (0, 1] with the method "local"."""
    if span is None:
        return
    if not is_number(span) or not 0.0 < span <= 1.0:
        raise InputError(f"span must be a share of the rows above 0 and at most 1; got {span!r}")
    if method != "local":
        raise InputError("span is an option of method='local': an isotonic curve has no span")
