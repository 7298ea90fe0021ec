from typing import Any

from numpy import float64, int64, uint64
from numpy.typing import NDArray

_F = NDArray[float64]
_K = NDArray[uint64]

def n_cells() -> int: ...
def count_cells(
    counts: NDArray[int64],
    predictions: NDArray[Any],
    targets: NDArray[Any],
    weights: _F | None,
    status: NDArray[int64],
) -> None: ...
def fold(
    confidences: NDArray[Any], hits: _F, predictions: NDArray[Any], targets: NDArray[Any]
) -> None: ...
def deal_keys(
    keys: _K, places: NDArray[int64], predictions: NDArray[Any], targets: NDArray[Any]
) -> None: ...
def deal_rows(keyed: _K, places: NDArray[int64], predictions: NDArray[Any], first: int) -> None: ...
def levels_of_keys(
    keys: _K, other: _K, hits: _F, starts: NDArray[int64], first: int, last: int
) -> int: ...
def levels_of_rows(
    columns: _F,
    keyed: _K,
    other: _K,
    targets: NDArray[Any],
    weights: _F | None,
    starts: NDArray[int64],
    first: int,
    last: int,
) -> int: ...
def sort_rows(keyed: _K, other: _K, starts: NDArray[int64], first: int, last: int) -> None: ...
def pool(blocks: _F, w: _F, wz: _F, wz2: _F) -> int: ...
