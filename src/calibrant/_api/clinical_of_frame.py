"""clinical_summary() of a lazy frame: values from its engine's sums, limits from pooled rows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from calibrant._api.clinical_of_sums import FROM_CELLS, cells_as_levels, known_from
from calibrant._api.clinical_values import Draws, summary_from, without_values
from calibrant._api.cox_of_frame import cox_of_frame
from calibrant._api.pooled_sums import sums_of_frame
from calibrant._core.binning import EqualWidth, Quantile, Rule
from calibrant._data.frame_input import named_columns
from calibrant._data.frame_samples import FrameSamples
from calibrant._engines.arrays.streams import EPS
from calibrant._engines.frames.quantiles import MOST_LEVELS
from calibrant._engines.frames.slices import Slice, slices_of
from calibrant._measures.catalogue import listed
from calibrant._summaries.frame import sum_frame
from calibrant.results._clinical import ClinicalSummary

_RULES: tuple[Rule, Rule] = (EqualWidth(15), Quantile(15))


def clinical_of_frame(samples: FrameSamples, draws: Draws, by: Any) -> ClinicalSummary:
    """The clinical summary of a lazy frame, and of its subgroups by the columns `by`, each of which
    is summed by itself.
    """
    plain = _summary_of_frame(samples, draws)
    if by is None:
        return plain
    names = named_columns(by, "by", samples.frame.collect_schema())
    parts = {
        name: _subgroup(plain, part, draws)
        for name, part in slices_of(samples, names, draws.clusters).items()
    }
    return replace(plain, by=", ".join(names), subgroups=parts)


def _subgroup(plain: ClinicalSummary, part: Slice, draws: Draws) -> ClinicalSummary:
    """The summary of a subgroup; without values where no row has weight, or where all rows are of
    one cluster. `plain` is that of all rows.
    """
    if not part.has_weight:
        return without_values(plain, part.n, "no row has any weight")
    if part.is_one_cluster:
        return without_values(plain, part.n, "a single cluster cannot be resampled")
    return _summary_of_frame(part.samples, draws)


def _summary_of_frame(samples: FrameSamples, draws: Draws) -> ClinicalSummary:
    """The clinical summary of all rows of a lazy frame."""
    measures = listed("clinical", "binary")
    names = tuple(measure.name for measure in measures)
    summary, sums = sum_frame(samples, _RULES, names, fine=True)
    pooled = sums_of_frame(samples, summary, _RULES, draws.clusters)
    uncertainty = pooled.uncertainty(measures, draws.level, draws.n_resamples, draws.seed)
    few = sums.n_rows <= MOST_LEVELS
    statistics, note = (summary, "") if few else (cells_as_levels(summary), FROM_CELLS)
    cox = cox_of_frame(samples, "binary", draws.level, EPS, draws.clusters)
    return summary_from(uncertainty, known_from(pooled, statistics, note, cox))
