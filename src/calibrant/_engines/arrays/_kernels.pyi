from typing import Any

from numpy import float64, int32, int64
from numpy.typing import NDArray

_F = NDArray[float64]

def add_unweighted(
    sums: _F,
    predictions: NDArray[Any],
    targets: NDArray[Any],
    inner: _F,
    start: NDArray[int32],
    crowded: bool,
    squares: bool,
    block: int,
    status: NDArray[int64],
) -> None: ...
def add_weighted(
    sums: _F,
    predictions: NDArray[Any],
    targets: _F,
    weights: _F,
    inner: _F,
    start: NDArray[int32],
    crowded: bool,
    status: NDArray[int64],
) -> None: ...
def add_rows(
    predictions: NDArray[Any],
    labels: NDArray[int64] | None,
    targets: _F | None,
    weights: _F | None,
    confidences: _F,
    hits: _F,
    classwise: _F | None,
    losses: _F | None,
    inner: _F,
    start: NDArray[int32],
    crowded: bool,
    squares: bool,
    tolerance: float,
    label_tolerance: float,
    log_floor: float,
    status: NDArray[int64],
) -> None: ...
