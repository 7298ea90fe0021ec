"""The sums that intervals, noise floors and verdicts of a lazy frame are computed from."""

from __future__ import annotations

from typing import Any

from calibrant._api.rows import number_clusters
from calibrant._core.binning import Rule
from calibrant._core.errors import InputError, counted
from calibrant._core.typing import Array, Index
from calibrant._data.frame_samples import FrameSamples
from calibrant._data.missing import find_missing_rows
from calibrant._engines import frames
from calibrant._engines.cells import PooledColumns
from calibrant._inference.pooled_rows import PooledRows, PooledSums
from calibrant._summaries.frame import FrameSummary


def sums_of_frame(
    samples: FrameSamples, summary: FrameSummary, rules: tuple[Rule, Rule], clusters: str | None
) -> PooledSums:
    """The sums of a lazy frame for intervals. Soft labels and clusters, named by the column
    `clusters`, take another query, which pools rows.
    """
    if samples.voted or (clusters is None and not summary.findings.soft):
        return PooledSums(summary, rules, voted=samples.voted)
    columns = frames.pooled_columns(samples, summary.scalar, summary.cells, clusters)
    return PooledSums(summary, rules, pooled_rows(columns))


def pooled_rows(columns: PooledColumns) -> PooledRows:
    """The rows that pooled columns stand for, with their clusters numbered."""
    groups: Index | None = None
    if columns.clusters is not None:
        groups = numbered_clusters(columns.clusters, columns.n)
    return PooledRows.from_columns(columns, groups)


def numbered_clusters(names: Any, n: Array) -> Index:
    """The number of each group's cluster, from the name of the cluster and the group's number of
    rows n. Raises an InputError for rows without one.
    """
    values, missing = find_missing_rows(names, "groups")
    if missing.any():
        raise InputError(
            f"groups is missing in {counted(int(n[missing].sum()), 'row', '')}: every row needs a "
            "cluster. Give a row without one a cluster of its own"
        )
    return number_clusters(values, missing, n.size)
