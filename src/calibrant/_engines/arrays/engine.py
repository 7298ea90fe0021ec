"""The engine of samples in arrays: every name of the protocol `dispatch.Engine`."""

from calibrant._engines.arrays.counting import bin_table, class_columns, classwise_table, rows_above
from calibrant._engines.arrays.losses import loss_sums
from calibrant._engines.arrays.passes import matrix_sums, scalar_sums, whole_problem
from calibrant._engines.arrays.smooth import logit_grid, unit_grid
from calibrant._engines.arrays.streams import stream_sums
from calibrant._engines.arrays.top_classes import top_class_table
from calibrant._engines.arrays.vectors import vector_table

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
    "top_class_table",
    "unit_grid",
    "vector_table",
    "whole_problem",
]
