"""What an engine's kernels are, whichever language they are written in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from calibrant._core.binning import Cuts
from calibrant._core.typing import Array

# Positions in the status array that a kernel fills while it sums.
BAD_ROW, N_CLIPPED, N_ROWS_OFF, SOFT, N_LOG_CLIPPED, N_LOGIT_CLIPPED = range(6)


# Rows of a block of a scalar problem: enough to outweigh the work on its table of sums.
BLOCK_ENTRIES = 1 << 17


def scalar_block(cuts: Cuts) -> int:
    """The number of rows of a scalar problem to sum at once, so many that their sums outweigh the
    work of adding one table of bins to the total.
    """
    return max(BLOCK_ENTRIES, 16 * cuts.m)


class Kernels(Protocol):
    """Functions that add the sums of one block of rows to arrays in place, and check the rows.

    `status` has a count for each of the names above; `status[BAD_ROW]` is the first row of the
    block that cannot be measured, or -1. Without `squares` a kernel may leave the sums of squared
    predictions out, if that is faster.
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
        """Add the rows of a block of a scalar problem to `sums` (bins, fields), each in its bin."""

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
        """Read a block of probability rows (n, k) once.

        Writes the largest probability of each row to `confidences` and the target of its class to
        `hits`; adds to `classwise` (classes, bins, fields) and to `losses` unless they are None.
        The two tolerances say how far the sums of predictions and of soft labels may be from 1.
        """

    def fold(
        self,
        confidences: NDArray[Any],
        hits: Array,
        predictions: NDArray[Any],
        targets: NDArray[Any],
    ) -> None:
        """Write the larger of p and 1 - p of each binary row to `confidences`, and the target of
        the class that it predicts to `hits`. At p = 1/2 the class 0 is predicted.
        """

    def add_losses(
        self,
        losses: Array,
        predictions: NDArray[Any],
        targets: NDArray[Any],
        weights: Array | None,
        fields: tuple[int, ...],
        status: NDArray[np.int64],
    ) -> None:
        """Add the proper losses of binary predictions to `losses`, of which at least the given
        `fields` (positions in `loss_sums.FIELDS`) must be summed.
        """

    def add_slices(
        self,
        sums: Array,
        predictions: NDArray[Any],
        targets: NDArray[Any],
        weights: Array | None,
        slices: NDArray[np.int32],
        cuts: Cuts,
        status: NDArray[np.int64],
    ) -> None:
        """Add the rows of a block of a scalar problem to `sums` (slices, bins, fields), each in the
        bin of its own slice; `slices` has its number for each row.
        """

    def add_hard_slices(
        self,
        hard: Array,
        predictions: NDArray[Any],
        targets: NDArray[Any],
        slices: NDArray[np.int32],
        cuts: Cuts,
        status: NDArray[np.int64],
    ) -> int:
        """Add unweighted rows with labels 0 and 1 to `hard` (slices, bins, labels, 4).

        For each label these are the number of rows, and the sums of their predictions, of the
        squares of these, and of their squared distances from the label. Returns how many rows were
        added: one with another target ends the pass.
        """

    def add_losses_of_slices(
        self,
        losses: Array,
        predictions: NDArray[Any],
        targets: NDArray[Any],
        weights: Array | None,
        slices: NDArray[np.int32],
        fields: tuple[int, ...],
        status: NDArray[np.int64],
    ) -> None:
        """Add the proper losses of binary predictions to `losses` (slices, fields), each to those
        of its slice; at least the given `fields` must be summed.
        """

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
        """Spread each row's mass over the grid nodes around the logit of its prediction.

        With weight w and target z, w z goes to `plus` and w (1 - z) to `minus`. Predictions are
        clipped to [low, high] first; these are bounds of logits if `from_logits`, else of
        probabilities.
        """

    def deposit_units(
        self,
        nodes: Array,
        predictions: NDArray[Any],
        targets: NDArray[Any],
        weights: Array | None,
        status: NDArray[np.int64],
    ) -> None:
        """Spread each row's mass over the grid nodes around its prediction.

        With weight w, target z and prediction u, the mass is w (z - u) where `nodes` has one row;
        where it has three rows, w, w u and w z.
        """


@dataclass(frozen=True)
class Findings:
    """What a pass over rows noticed beside the sums: how many values were clipped or tolerated, and
    what kind the labels are. Findings of disjoint sets of rows add up.
    """

    n_predictions_clipped: int = 0
    n_rows_off_simplex: int = 0
    n_log_clipped: int = 0
    soft: bool = False
    # Whether some soft labels are shares of votes; predictions of 0 and 1 are then no mistake.
    voted: bool = False
    # Whether labels say if an answer was right.
    answers: bool = False

    @staticmethod
    def from_status(status: NDArray[np.int64]) -> Findings:
        """The findings in a kernel's status array; `voted` and `answers` stay False."""
        return Findings(
            int(status[N_CLIPPED]),
            int(status[N_ROWS_OFF]),
            int(status[N_LOG_CLIPPED]),
            bool(status[SOFT]),
        )

    def __add__(self, other: Findings) -> Findings:
        """The findings of two disjoint sets of rows together."""
        return Findings(
            self.n_predictions_clipped + other.n_predictions_clipped,
            self.n_rows_off_simplex + other.n_rows_off_simplex,
            self.n_log_clipped + other.n_log_clipped,
            self.soft or other.soft,
            self.voted or other.voted,
            self.answers or other.answers,
        )


def new_status() -> NDArray[np.int64]:
    """A status array for a kernel to fill: counts of 0, and -1 for "no invalid row"."""
    status = np.zeros(6, dtype=np.int64)
    status[BAD_ROW] = -1
    return status
