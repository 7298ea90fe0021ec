"""The Uncertainty of measures from sums by cell, and what sums do not tell, in one sentence."""

from __future__ import annotations

from calibrant._core.binning import Rule
from calibrant._core.errors import NeedsRows
from calibrant._core.validation import check_level, check_resamples
from calibrant._inference.pooled_rows import uncertainty_of_sums, why_not_pooled
from calibrant._inference.uncertainty import Uncertainty
from calibrant._measures.catalogue import Measure
from calibrant._summaries.stream import StreamSummary


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
    if not summary.cells.fine:
        raise NeedsRows(
            "intervals need sums in fine cells, and these are of bins alone, since the measures "
            "were named when sums began: begin without names, or give the rows"
        )
    cells, given = summary.sums["cells"], (int(n_resamples), int(seed))
    return uncertainty_of_sums(cells, rules, measures, check_level(level), *given)


def check_pooled(measure: Measure, n_columns: int) -> None:
    """Raise NeedsRows for a measure that has no interval from sums; `n_columns` is the number
    of columns of predictions.
    """
    why = why_not_pooled(measure, n_columns)
    if why:
        raise NeedsRows(no_interval({why: [measure.name]}))


def no_interval(reasons: dict[str, list[str]]) -> str:
    """The message that measures have no interval from sums, by reason in one sentence each."""
    each = (f"{', '.join(names)}: {why}" for why, names in reasons.items())
    return (
        f"no interval from sums for {'; '.join(each)}. Name other measures, or collect a sample of "
        "rows and evaluate that"
    )
