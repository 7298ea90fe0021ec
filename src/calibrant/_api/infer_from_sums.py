"""Intervals, noise floors and verdicts from sums by cell: of lazy frames, files and streams."""

from __future__ import annotations

from calibrant._api.evaluate_samples import Options
from calibrant._api.evaluate_uncertainty import add_uncertainty
from calibrant._core.binning import Rule
from calibrant._core.errors import InputError
from calibrant._core.validation import check_level, check_resamples
from calibrant._inference.pooled_rows import uncertainty_of_sums, why_not_pooled
from calibrant._inference.uncertainty import Uncertainty
from calibrant._measures.catalogue import Measure
from calibrant._summaries.stream import StreamSummary
from calibrant.results._evaluation import Evaluation


def infer_from_sums(
    result: Evaluation,
    summary: StreamSummary,
    rules: tuple[Rule, Rule],
    measures: tuple[Measure, ...],
    options: Options,
) -> Evaluation:
    """Add intervals, noise floors and a verdict to an evaluation, from the sums of its rows.

    `rules` are those of fixed and of quantile bins; `measures` are those that shall have an
    interval. An InputError if one that was asked for by name has none.
    """
    asked, reasons = options.measures is not None, {}
    for measure in measures:
        reasons.setdefault(why_not_pooled(measure, summary.n_columns), []).append(measure.name)
    possible = tuple(m for m in measures if not why_not_pooled(m, summary.n_columns))
    without = {why: names for why, names in reasons.items() if why}
    if asked and without:
        raise InputError(_no_interval(without))
    uncertainty = pooled_uncertainty(
        summary, rules, possible, options.level, options.n_resamples, options.seed
    )
    why = "; ".join(without)
    return add_uncertainty(result, uncertainty, options.tolerance, asked=True, why_without=why)


def pooled_uncertainty(
    summary: StreamSummary,
    rules: tuple[Rule, Rule],
    measures: tuple[Measure, ...],
    level: float,
    n_resamples: int,
    seed: int,
) -> Uncertainty:
    """The Uncertainty of measures from sums by fine cell; `rules` are those of fixed and of
    quantile bins.
    """
    check_resamples(n_resamples, seed)
    cells, given = summary.sums["cells"], (int(n_resamples), int(seed))
    return uncertainty_of_sums(cells, rules, measures, check_level(level), *given)


def check_pooled(measure: Measure, n_columns: int) -> None:
    """Raise an InputError for a measure that has no interval from sums; `n_columns` is the number
    of columns of predictions.
    """
    why = why_not_pooled(measure, n_columns)
    if why:
        raise InputError(_no_interval({why: [measure.name]}))


def _no_interval(reasons: dict[str, list[str]]) -> str:
    """The message that measures have no interval from sums, by reason in one sentence each."""
    each = (f"{', '.join(names)}: {why}" for why, names in reasons.items())
    return (
        f"no interval from sums for {'; '.join(each)}. Name other measures, or collect a sample of "
        "rows and evaluate that"
    )
