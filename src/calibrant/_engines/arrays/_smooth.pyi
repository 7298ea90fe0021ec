from typing import Any

from numpy import float64, int64
from numpy.typing import NDArray

_F = NDArray[float64]

def deposit_logits(
    plus: _F,
    minus: _F,
    predictions: NDArray[Any],
    targets: NDArray[Any],
    weights: _F | None,
    nodes_per_unit: float,
    low: float,
    high: float,
    from_logits: bool,
    status: NDArray[int64],
) -> None: ...
def deposit_units(
    nodes: _F,
    predictions: NDArray[Any],
    targets: NDArray[Any],
    weights: _F | None,
    status: NDArray[int64],
) -> None: ...
