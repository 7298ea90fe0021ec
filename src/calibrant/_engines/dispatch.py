"""Which engine sums which samples: arrays in NumPy, tensors on their device, frames in their own
engine. Every engine is a module with the same names, and formulas do not depend on the engine.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import Any, Protocol, cast

from calibrant._core.bin_tables import BinTable, VectorTable
from calibrant._core.binning import Cuts, Rule
from calibrant._core.grid import LogitGrid, UnitGrid
from calibrant._core.loss_sums import LossSums
from calibrant._core.typing import Array
from calibrant._data.samples import Notion
from calibrant._data.source import Source
from calibrant._engines.arrays.passes import MatrixSums
from calibrant._engines.arrays.streams import StreamSums
from calibrant._engines.cells import Cells
from calibrant._engines.protocol import Findings


class Engine(Protocol):
    """What every engine can sum. The module `arrays.engine` is the reference."""

    def scalar_sums(
        self, samples: Any, notion: Notion, cuts: Cuts, *, squares: bool = True
    ) -> tuple[Array, Findings]:
        """The sums (bins, fields) of a scalar problem in the bins between given cuts, and the
        findings.

        The problem is binary (the probability of class 1 against the label) or that of the
        confidence (the largest probability against whether its class is right). Fields are those of
        `BinTable`; without `squares` the sums of squared predictions may be left out.
        """

    def matrix_sums(
        self,
        samples: Any,
        *,
        classwise: Cuts | None = None,
        confidence: Cuts | None = None,
        losses: bool = False,
        squares: bool = True,
    ) -> MatrixSums:
        """The sums of (n, k) predictions that are asked for, from one read; the others are None.

        `classwise` and `confidence` are the cuts between the bins of every class against the rest,
        and of the top label; `losses` asks for the sums of the proper losses.
        """

    def bin_table(
        self, samples: Any, notion: Notion, rule: Rule, *, squares: bool = True
    ) -> tuple[BinTable, Cuts, Findings]:
        """The table of the binary or the confidence problem by any rule of bins, the cuts between
        the bins that were used, and the findings.
        """

    def classwise_table(
        self, samples: Any, rule: Rule, *, squares: bool = True
    ) -> tuple[BinTable, Findings]:
        """The table of every class against the rest, each with its own bins, and the findings."""

    def top_class_table(self, samples: Any, rule: Rule) -> tuple[BinTable, Findings]:
        """The table of the confidence problem, the rows of each predicted class apart, and the
        findings.
        """

    def vector_table(
        self, samples: Any, rule: Rule, phi: Array | None = None
    ) -> tuple[VectorTable, Findings]:
        """The table of a linear property of the label, and the findings.

        `phi` (k, d) has the property's value for each class; None stands for the label itself, as a
        vector with a 1 for its class.
        """

    def loss_sums(
        self,
        samples: Any,
        *,
        distribution: bool = False,
        only: str | None = None,
        spacing: Array | None = None,
    ) -> tuple[LossSums, Findings]:
        """Sums of the proper losses, on request of the distances between distributions too, and the
        findings.

        Where `only` one loss is asked for the others may be NaN. `spacing` is how far neighbouring
        classes are apart, 1 by default.
        """

    def logit_grid(
        self, samples: Any, notion: Notion, spacing: float, eps: float, *, whole: bool = False
    ) -> tuple[LogitGrid, Findings, int]:
        """Masses at the nodes of the logit grid, the findings, and how many logits were clipped.

        Nodes are `spacing` apart; probabilities are clipped to [eps, 1 - eps]. A grid that is not
        `whole` may leave out the nodes that clipped probabilities cannot reach.
        """

    def unit_grid(
        self, samples: Any, notion: Notion, cells: int, *, residual_only: bool = True
    ) -> tuple[UnitGrid, Findings]:
        """Masses at the ends of equal cells of [0, 1], and the findings.

        The masses are the sums of weight times (target less prediction), or else, without
        `residual_only`, three sums: of weights, of weighted predictions and of weighted targets.
        """

    def stream_sums(self, samples: Any, cells: Cells, holds: frozenset[str]) -> StreamSums:
        """The sums that an Accumulator keeps, in as few reads as the engine can.

        `holds` has the names of the groups of arrays to sum (`requirements.holdings`).
        """

    def class_columns(self, samples: Any) -> Iterator[Any]:
        """Yield each class against the rest, as the samples of a binary problem."""

    def rows_above(self, samples: Any, threshold: float) -> Any:
        """The rows of a binary problem with positive weight and a prediction above a threshold;
        None if there are none.
        """

    def whole_problem(
        self, samples: Any, notion: Notion
    ) -> tuple[Array, Array, Array | None, Findings]:
        """Predictions, targets, weights (None for equal ones) and findings of all rows of a scalar
        problem, for results that sums do not give.
        """


def engine_of(samples: Source) -> Engine:
    """The engine that sums these samples, imported when first needed."""
    return cast(Engine, import_module(samples.engine))
