"""The engine of samples held as arrays: every name that `dispatch.Engine` asks for."""

from calibrant.engines.counting import bin_table, class_columns, classwise_table, rows_above
from calibrant.engines.losses import loss_sums
from calibrant.engines.passes import matrix_sums, scalar_sums, whole_problem
from calibrant.engines.smooth import logit_grid, unit_grid
from calibrant.engines.streams import stream_sums
from calibrant.engines.vectors import vector_table

__all__ = [
    "bin_table",
    "class_columns",
    "classwise_table",
    "logit_grid",
    "loss_sums",
    "matrix_sums",
    "rows_above",
    "scalar_sums",
    "stream_sums",
    "unit_grid",
    "vector_table",
    "whole_problem",
]
