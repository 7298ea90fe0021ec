"""The engine of samples in torch tensors: every name of the protocol `dispatch.Engine`.

Tensors are summed on their device, in blocks of rows, in float64; sums and counters alone come to
the host, in one transfer a pass. `rows.row_pass` is the one read of (n, k) predictions.
"""

from calibrant._engines.tensors.columns import class_columns, rows_above, whole_problem
from calibrant._engines.tensors.grids import logit_grid, unit_grid
from calibrant._engines.tensors.losses import loss_sums
from calibrant._engines.tensors.rows import matrix_sums
from calibrant._engines.tensors.streams import stream_sums
from calibrant._engines.tensors.tables import bin_table, classwise_table, scalar_sums
from calibrant._engines.tensors.top_classes import top_class_table
from calibrant._engines.tensors.vectors import vector_table

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
