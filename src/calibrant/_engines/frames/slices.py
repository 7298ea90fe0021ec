"""The rows of a frame that have the same values in some columns, as samples of their own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import narwhals as nw

from calibrant._core.errors import InputError
from calibrant._core.messages import setting
from calibrant._data.frame_samples import FrameSamples
from calibrant._data.slice_names import row_names
from calibrant._engines.frames.collecting import collected
from calibrant._engines.frames.columns import column_value
from calibrant._engines.frames.expressions import Expr, Float64, all_of, any_of, exact

# The most slices that are summed one by one.
MOST_SLICES = 1000


@dataclass(frozen=True, eq=False)
class Slice:
    """The samples of a slice, its number of rows `n`, whether some row has weight, and whether all
    rows are of one cluster.
    """

    samples: FrameSamples
    n: int
    has_weight: bool
    is_one_cluster: bool


def slices_of(
    samples: FrameSamples, by: Sequence[str], clusters: str | None = None
) -> dict[str, Slice]:
    """The slices (rows with equal values of the columns `by`) by name, in order; one query finds
    their values. `clusters` is the column that names clusters.
    """
    values = {f"by{j}": column_value(samples, name) for j, name in enumerate(by)}
    sums = {"n": nw.len()}
    if samples.weight is not None:
        values["w"] = samples.column(samples.weight).cast(Float64)
        sums["w"] = nw.col("w").max()
    if clusters is not None:
        values["g"] = samples.column(clusters)
        sums |= {"first": nw.col("g").min(), "last": nw.col("g").max()}
    keys = [f"by{j}" for j in range(len(by))]
    grouped = samples.frame.select(**values).group_by(*keys).agg(**sums).head(MOST_SLICES + 1)
    found = collected(grouped)
    if len(found) > MOST_SLICES:
        raise InputError(
            f"{setting('by', ', '.join(by))} has more than {MOST_SLICES:,} values, and each is a "
            "slice with sums of its own: choose a coarser column"
        )
    columns = {name: found[name].to_list() for name in found.columns}
    names = row_names([columns[key] for key in keys]).tolist()
    out = {}
    for name in sorted(set(names)):
        rows = [i for i, each in enumerate(names) if each == name]
        same = [all_of([_is(samples, values[key], columns[key][i]) for key in keys]) for i in rows]
        ends = {columns[end][i] for i in rows for end in ("first", "last") if end in columns}
        out[name] = Slice(
            replace(samples, frame=samples.frame.filter(any_of(same))),
            sum(columns["n"][i] for i in rows),
            samples.weight is None or any((columns["w"][i] or 0.0) > 0.0 for i in rows),
            len(ends) == 1,
        )
    return out


def _is(samples: FrameSamples, column: Expr, value: Any) -> Expr:
    """Whether a column has this value, which may be missing, as an expression that is never
    null.
    """
    if value is None:
        return column.is_null()
    if isinstance(value, float):
        same = samples.is_nan(column) if value != value else column == exact(value)
    else:
        same = column == nw.lit(value)
    return same.fill_null(False)
