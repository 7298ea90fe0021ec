"""Intervals and noise floors of several measures of the same rows, from the same draws.

`cal.interval` and `cal.noise_floor` draw anew for each measure, and that is most of their time. A
measure alone has the limits and the floor that it has among others: `test_intervals.py` holds them
to it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import calibrant as cal
from calibrant._api.rows import group_index
from calibrant._core.binning import both_rules
from calibrant._data.to_samples import to_samples
from calibrant._inference.uncertainty import Uncertainty
from calibrant._measures.catalogue import Measure, find
from calibrant._summaries.samples import Summary


def intervals(y: Any, p: Any, measures: Iterable[str], **options: Any) -> dict[str, cal.Interval]:
    """What `cal.interval` gives for each of the measures."""
    uncertainty, values = _measured(y, p, measures, **options)
    return {m.name: uncertainty.interval(m, value) for m, value in values.items()}


def noise_floors(
    y: Any, p: Any, measures: Iterable[str], **options: Any
) -> dict[str, cal.NoiseFloor]:
    """What `cal.noise_floor` gives for each of the measures, all of which have one."""
    uncertainty, values = _measured(y, p, measures, **options)
    found = {m.name: uncertainty.noise_floor(m, value) for m, value in values.items()}
    assert None not in found.values()
    return found


def _measured(
    y: Any,
    p: Any,
    measures: Iterable[str],
    *,
    groups: Any = None,
    sample_weight: Any = None,
    **options: Any,
) -> tuple[Uncertainty, dict[Measure, float]]:
    samples = to_samples(y, p, sample_weight=sample_weight)
    rules = both_rules(15, samples.n)
    chosen = tuple(find(name, samples.shape) for name in measures)
    uncertainty = Uncertainty(
        samples,
        *rules,
        chosen,
        groups=group_index(groups, samples, None),
        votes=samples.votes,
        **options,
    )
    summary = Summary(samples, *rules)
    return uncertainty, {measure: measure.compute(summary) for measure in chosen}
