"""Intervals, noise floors and verdicts from sums by cell: of lazy frames, files and streams."""

from __future__ import annotations

from dataclasses import replace

from calibrant._api.evaluate_samples import Options
from calibrant._api.evaluate_uncertainty import add_uncertainty
from calibrant._core.errors import NeedsRows
from calibrant._inference.pooled_rows import PooledSums
from calibrant._measures.catalogue import Measure
from calibrant.results._evaluation import Evaluation


def infer_from_sums(
    result: Evaluation, sums: PooledSums, measures: tuple[Measure, ...], options: Options
) -> Evaluation:
    """Add intervals, noise floors and a verdict to an evaluation, from the sums of its rows.

    `measures` are those that shall have an interval. Raises NeedsRows if one that was asked for by
    name has none, and for weights and soft labels; where `options` ask for what is cheap, a note
    says so instead.
    """
    cheap = options.intervals == "cheap"
    if options.measures is not None and not cheap:
        sums.refuse(measures)
    possible = tuple(measure for measure in measures if not sums.why_not(measure))
    reasons = dict.fromkeys(filter(None, map(sums.why_not, measures)))
    given = (options.level, options.n_resamples, options.seed)
    try:
        uncertainty = sums.uncertainty(possible, *given)
    except NeedsRows as error:
        if not cheap:
            raise
        return replace(result, notes=(*result.notes, str(error)))
    why = "; ".join(reasons)
    result = add_uncertainty(result, uncertainty, options.tolerance, asked=True, why_without=why)
    if not options.clinical or options.measures is not None or sums.summary.n_columns > 1:
        return result
    from calibrant._api.clinical_of_sums import clinical_of_sums

    return replace(result, clinical=clinical_of_sums(sums, uncertainty))
