"""Names for the arrays that functions take and give."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
# Positions: the bin, the cell or the cluster of each row.
Index = NDArray[np.intp]
# Whole numbers of things: votes, draws.
Counts = NDArray[np.int64]
Mask = NDArray[np.bool_]
