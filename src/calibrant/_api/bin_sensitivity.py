"""bin_sensitivity(): every measure at every number of bins."""

from __future__ import annotations

import numbers
from collections.abc import Iterable
from typing import Any, Unpack

from numpy.typing import ArrayLike

from calibrant._api.evaluate_samples import choose_measures, describe_input, missing_note, notes_of
from calibrant._api.rows import as_samples
from calibrant._core.arguments import RowsWithGaps
from calibrant._core.errors import InputError
from calibrant._core.validation import public
from calibrant._measures.statistics import STATISTICS
from calibrant._summaries.bin_counts import BinCounts
from calibrant.results._bin_sensitivity import BinSensitivity


@public
def bin_sensitivity(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    bins: Iterable[int] = range(1, 101),
    measures: Iterable[str] | None = None,
    **rows: Unpack[RowsWithGaps],
) -> BinSensitivity:
    """Each measure at every number of bins: how much does a value depend on its bins?

    A count gives that many equal-width bins for ordinary errors and quantile bins for truthful
    ones, as in `evaluate`.

    Parameters
    ----------
    bins : iterable of int, default range(1, 101)
        Numbers of bins, each at least 1.
    measures
        Names of `catalogue()`; by default, those with bins that need one pass over the rows.
        Measures without bins are constant.
    data (in memory)

    Returns
    -------
    BinSensitivity
        `values` of each measure over `bins`, `at(count)`, and their diagram (`plot`).

    Examples
    --------
    >>> import calibrant as cal
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(2000)
    >>> y = rng.random(2000) < p  # calibrated: what there is to see is noise
    >>> found = cal.bin_sensitivity(y, p, measures=["ece", "lin_ce"])
    >>> [round(value, 3) for value in (found.at(5)["ece"], found.at(100)["ece"])]
    [0.013, 0.067]
    """
    counts = _whole_counts(bins)
    samples = as_samples(y_true, y_proba, **rows)
    shape = samples.shape
    chosen = choose_measures(measures, shape)
    if measures is None:
        chosen = tuple(m for m in chosen if STATISTICS[m.statistic].merges)
    if not chosen:
        raise InputError("measures must name one measure or more")
    tables = BinCounts(samples, counts)
    values: dict[str, list[float]] = {m.name: [] for m in chosen}
    flat = {m.name: m.compute(tables.summary) for m in chosen if not m.is_binned}
    for count in counts:
        summary = tables.summary_at(count)
        for m in chosen:
            values[m.name].append(flat[m.name] if m.name in flat else m.compute(summary))
    findings = tables.summary.findings
    table = tables.summary.table(tables.summary.scalar, tables.summary.fixed)
    notes = notes_of(findings, table, measures=values)
    if samples.n_missing:
        notes = (missing_note(samples.n_missing), *notes)
    return BinSensitivity(
        bins=counts,
        values={name: tuple(column) for name, column in values.items()},
        scales={m.name: m.scale for m in chosen},
        flat=tuple(flat),
        n=samples.n,
        inferred=describe_input(samples, findings),
        notes=notes,
    )


def _whole_counts(bins: Any) -> tuple[int, ...]:
    """The numbers of bins in increasing order, each once; an InputError for anything else."""
    counts = tuple(bins) if isinstance(bins, Iterable) and not isinstance(bins, str) else (bins,)
    for m in counts:
        if isinstance(m, bool) or not isinstance(m, numbers.Integral) or m < 1:
            raise InputError(
                "bins must be numbers of bins, whole and at least 1, such as range(1, 101); "
                f"got {m!r}"
            )
    if not counts:
        raise InputError("bins must hold one number of bins or more")
    return tuple(sorted({int(m) for m in counts}))
