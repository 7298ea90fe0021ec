from typing import Any

from numpy import float64, int32, int64, uint8, uint64
from numpy.typing import NDArray

_F = NDArray[float64]

def add_cells(
    mass: _F, predictions: NDArray[Any], weights: _F | None, status: NDArray[int64]
) -> None: ...
def add_subcells(
    mass: _F,
    smallest: NDArray[uint64],
    largest: NDArray[uint64],
    predictions: NDArray[Any],
    weights: _F | None,
    wanted: NDArray[uint8],
    low: NDArray[uint64],
    high: NDArray[uint64],
    shift: NDArray[int32],
) -> None: ...
def gather(
    values: _F,
    masses: _F,
    predictions: NDArray[Any],
    weights: _F | None,
    wanted: NDArray[uint8],
    low: NDArray[uint64],
    high: NDArray[uint64],
) -> int: ...
