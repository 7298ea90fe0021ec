"""The engine of samples in frames that lie elsewhere: polars lazy, DuckDB, Spark, Dask, Ibis.

All of them through narwhals, by one code path: every name that `dispatch.Engine` asks for is a
query or a few, and only sums leave the frame's own engine.
"""

from calibrant._engines.frames.classes import class_columns, matrix_sums, rows_above
from calibrant._engines.frames.grids import logit_grid, unit_grid
from calibrant._engines.frames.losses import loss_sums
from calibrant._engines.frames.pooled import joint_columns, pooled_columns
from calibrant._engines.frames.quantiles import level_sets
from calibrant._engines.frames.refining import EqualMass
from calibrant._engines.frames.streams import stream_groups, stream_sums, sums_of_groups
from calibrant._engines.frames.tables import (
    ClassQuantiles,
    bin_table,
    check_ranks,
    classwise_table,
    scalar_sums,
    top_class_table,
    whole_problem,
)
from calibrant._engines.frames.vectors import vector_table

__all__ = [
    "ClassQuantiles",
    "EqualMass",
    "bin_table",
    "check_ranks",
    "class_columns",
    "classwise_table",
    "joint_columns",
    "level_sets",
    "logit_grid",
    "loss_sums",
    "matrix_sums",
    "pooled_columns",
    "rows_above",
    "scalar_sums",
    "stream_groups",
    "stream_sums",
    "sums_of_groups",
    "top_class_table",
    "unit_grid",
    "vector_table",
    "whole_problem",
]
