from numpy import float64
from numpy.typing import NDArray

_F = NDArray[float64]

def uniform_error(h: _F, plus: _F, minus: _F, sigma: float) -> float: ...
