from typing import Any

from numpy import float64, int64
from numpy.typing import NDArray

_F = NDArray[float64]

def take_columns(predictions: NDArray[Any], out: NDArray[Any]) -> None: ...
def add_bins(
    columns: NDArray[Any],
    n: int,
    rows: NDArray[int64],
    firsts: NDArray[int64],
    slack: float,
    sums: _F | None,
    edges: _F | None,
    above: _F | None,
    threshold: float,
) -> None: ...
def add_weighed_bins(
    columns: NDArray[Any],
    n: int,
    weights: _F | None,
    rows: NDArray[int64] | None,
    firsts: NDArray[int64] | None,
    targets: _F | None,
    slack: float,
    sums: _F | None,
    above: _F | None,
    threshold: float,
) -> None: ...
def add_residuals(
    residual: _F,
    predictions: NDArray[Any],
    labels: NDArray[int64] | None,
    targets: _F | None,
    weights: _F | None,
    rows: NDArray[int64],
    cells: NDArray[int64],
) -> None: ...
