from typing import Any

from numpy import float64, int32, int64
from numpy.typing import NDArray

_F = NDArray[float64]

def add_slices(
    sums: _F,
    predictions: NDArray[Any],
    targets: NDArray[Any],
    weights: _F | None,
    slices: NDArray[int32],
    inner: _F,
    start: NDArray[int32],
    crowded: bool,
    status: NDArray[int64],
) -> None: ...
def add_hard_slices(
    hard: _F,
    predictions: NDArray[Any],
    targets: NDArray[Any],
    slices: NDArray[int32],
    inner: _F,
    start: NDArray[int32],
    crowded: bool,
    status: NDArray[int64],
) -> int: ...
def add_losses_of_slices(
    losses: _F,
    predictions: NDArray[Any],
    targets: NDArray[Any],
    weights: _F | None,
    slices: NDArray[int32],
    log_floor: float,
    wanted: int,
    status: NDArray[int64],
) -> None: ...
