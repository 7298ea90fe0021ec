"""Names for the arrays that functions take and give, and for kinds of problems."""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
# Positions: the bin, the cell or the cluster of each row.
Index = NDArray[np.intp]
# Whole numbers of things: votes, draws.
Counts = NDArray[np.int64]
Mask = NDArray[np.bool_]
# What predictions are of: P(y = 1), whether an answer is right, and the probabilities of classes.
Shape: TypeAlias = Literal["binary", "answers", "multiclass"]
