"""Intervals, noise floors and verdicts from sums by cell: of lazy frames, files and streams."""

from __future__ import annotations

from dataclasses import replace

from calibrant._api.evaluate_samples import Options
from calibrant._api.evaluate_uncertainty import add_uncertainty
from calibrant._api.pooled_uncertainty import no_interval, pooled_uncertainty
from calibrant._core.binning import Rule
from calibrant._core.errors import NeedsRows
from calibrant._inference.pooled_rows import why_not_pooled
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
    interval. Raises NeedsRows if one that was asked for by name has none, and for weights and soft
    labels; where `options` ask for what is cheap, a note says so instead.
    """
    if options.intervals == "cheap":
        try:
            return infer_from_sums(
                result, summary, rules, measures, replace(options, intervals="all", measures=None)
            )
        except NeedsRows as error:
            return replace(result, notes=(*result.notes, str(error)))
    asked = options.measures is not None
    reasons: dict[str, list[str]] = {}
    for measure in measures:
        reasons.setdefault(why_not_pooled(measure, summary.n_columns), []).append(measure.name)
    possible = tuple(m for m in measures if not why_not_pooled(m, summary.n_columns))
    without = {why: names for why, names in reasons.items() if why}
    if asked and without:
        raise NeedsRows(no_interval(without))
    uncertainty = pooled_uncertainty(
        summary, rules, possible, options.level, options.n_resamples, options.seed
    )
    why = "; ".join(without)
    return add_uncertainty(result, uncertainty, options.tolerance, asked=True, why_without=why)
