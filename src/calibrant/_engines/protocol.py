"""What an engine's kernels are, whichever language they are written in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from calibrant._core.binning import Cuts
from calibrant._core.typing import Array

# Slots of the status array that a kernel fills while it sums.
BAD_ROW, N_CLIPPED, N_ROWS_OFF, SOFT, N_LOG_CLIPPED, N_LOGIT_CLIPPED = range(6)


# Rows of a block of scalars. A block is large enough to outweigh its table of sums.
BLOCK_ENTRIES = 1 << 17


def scalar_block(cuts: Cuts) -> int:
    """Rows of a scalar block whose sums are put together before they are added to others."""
    return max(BLOCK_ENTRIES, 16 * cuts.m)


class Kernels(Protocol):
    """Sums over one block. `status[BAD_ROW]` is the first bad row of the block, or -1.

    Without `squares` a kernel may leave the sums of squared predictions out, if that is faster.
    """

    name: str

    def add_scalar(
        self,
        sums: Array,
        predictions: NDArray[Any],
        targets: NDArray[Any],
        weights: Array | None,
        cuts: Cuts,
        squares: bool,
        status: NDArray[np.int64],
    ) -> None:
        """Add a block of a scalar problem to `sums` (bins x fields)."""

    def add_rows(
        self,
        predictions: NDArray[Any],
        targets: NDArray[Any],
        weights: Array | None,
        confidences: Array,
        hits: Array,
        classwise: Array | None,
        losses: Array | None,
        cuts: Cuts,
        squares: bool,
        tolerance: float,
        label_tolerance: float,
        status: NDArray[np.int64],
    ) -> None:
        """Read a block of probability rows once: top label, classwise sums, losses."""

    def fold(
        self,
        confidences: NDArray[Any],
        hits: Array,
        predictions: NDArray[Any],
        targets: NDArray[Any],
    ) -> None:
        """Binary rows as a two-class top-label problem; at 1/2 the class 0 is predicted."""

    def add_losses(
        self,
        losses: Array,
        predictions: NDArray[Any],
        targets: NDArray[Any],
        weights: Array | None,
        fields: tuple[int, ...],
        status: NDArray[np.int64],
    ) -> None:
        """Add the proper losses of binary predictions; at least these fields of the sums."""

    def deposit_logits(
        self,
        plus: Array,
        minus: Array,
        predictions: NDArray[Any],
        targets: NDArray[Any],
        weights: Array | None,
        nodes_per_unit: float,
        low: float,
        high: float,
        from_logits: bool,
        status: NDArray[np.int64],
    ) -> None:
        """Add w z and w (1 - z) at the logit of each prediction, clipped to [low, high]."""

    def deposit_units(
        self,
        nodes: Array,
        predictions: NDArray[Any],
        targets: NDArray[Any],
        weights: Array | None,
        status: NDArray[np.int64],
    ) -> None:
        """Add w (z - u) at each prediction; with three rows of `nodes`: w, w u and w z."""


@dataclass(frozen=True)
class Findings:
    """What a pass saw on its way, beside the sums."""

    n_predictions_clipped: int = 0
    n_rows_off_simplex: int = 0
    n_log_clipped: int = 0
    soft: bool = False
    # Whether some soft labels are votes, which may be held against predictions of 0 and 1.
    voted: bool = False
    # Whether some labels say if an answer was right.
    answers: bool = False

    @staticmethod
    def from_status(status: NDArray[np.int64]) -> Findings:
        return Findings(
            int(status[N_CLIPPED]),
            int(status[N_ROWS_OFF]),
            int(status[N_LOG_CLIPPED]),
            bool(status[SOFT]),
        )

    def __add__(self, other: Findings) -> Findings:
        return Findings(
            self.n_predictions_clipped + other.n_predictions_clipped,
            self.n_rows_off_simplex + other.n_rows_off_simplex,
            self.n_log_clipped + other.n_log_clipped,
            self.soft or other.soft,
            self.voted or other.voted,
            self.answers or other.answers,
        )


def new_status() -> NDArray[np.int64]:
    status = np.zeros(6, dtype=np.int64)
    status[BAD_ROW] = -1
    return status
