from typing import Any

from numpy import float64, int64
from numpy.typing import NDArray

def add_losses(
    losses: NDArray[float64],
    predictions: NDArray[Any],
    targets: NDArray[Any],
    weights: NDArray[float64] | None,
    log_floor: float,
    wanted: int,
    status: NDArray[int64],
) -> None: ...
