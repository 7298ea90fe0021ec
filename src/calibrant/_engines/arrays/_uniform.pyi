from numpy import float64
from numpy.typing import NDArray

_F = NDArray[float64]

def uniform_error(h: _F, w: _F, wz: _F, sigma: float, start: int, stop: int) -> float: ...
