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
    """The methods that every engine has; each turns samples into sums. The module `arrays.engine`
    is the reference.
    """

    def scalar_sums(
        self, samples: Any, notion: Notion, cuts: Cuts, *, squares: bool = True
    ) -> tuple[Array, Findings]:
        """The sums (bins, fields of `BinTable`) of a scalar problem in the bins between the cuts,
        and the findings.

        The problem is binary (the probability of class 1 against the label) or that of the
        confidence (the largest probability against whether its class is right). Without `squares`
        the sums of squared predictions may be left out.
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
        """The requested sums of (n, k) predictions, from one read; the others are None.

        `classwise` and `confidence` are the cuts between the bins of every class against the rest,
        and of the top label; `losses` requests the sums of the proper losses.
        """

    def bin_table(
        self, samples: Any, notion: Notion, rule: Rule, *, squares: bool = True
    ) -> tuple[BinTable, Cuts, Findings]:
        """The bin sums of the binary or the confidence problem by any rule of bins, the cuts
        between the bins, and the findings.
        """

    def classwise_table(
        self, samples: Any, rule: Rule, *, squares: bool = True
    ) -> tuple[BinTable, Findings]:
        """One table with the bin sums of every class against the rest, each class with its own
        bins, and the findings.
        """

    def top_class_table(self, samples: Any, rule: Rule) -> tuple[BinTable, Findings]:
        """The table of the confidence problem with the rows of each predicted class as a class of
        the table, and the findings.
        """

    def vector_table(
        self, samples: Any, rule: Rule, phi: Array | None = None
    ) -> tuple[VectorTable, Findings]:
        """Sums by cell of vector predictions, for a linear property of the label, and the findings.

        `phi` (k, d) has the property's value for each class; None means the label itself, as a
        vector with a 1 for its class. A cell is which coordinate is largest and the bin of that
        coordinate.
        """

    def loss_sums(
        self,
        samples: Any,
        *,
        distribution: bool = False,
        only: str | None = None,
        spacing: Array | None = None,
    ) -> tuple[LossSums, Findings]:
        """Sums of the proper losses, with `distribution` also of the distances between predicted
        and target distributions, and the findings.

        If `only` one loss is named the sums of others may be NaN. `spacing` is the distance between
        neighbouring classes, 1 by default.
        """

    def logit_grid(
        self, samples: Any, notion: Notion, spacing: float, eps: float, *, whole: bool = False
    ) -> tuple[LogitGrid, Findings, int]:
        """The scalar problem as masses on a grid of logits, the findings, and how many logits were
        clipped.

        Nodes are `spacing` apart; probabilities are clipped to [eps, 1 - eps]. Without `whole` the
        nodes that clipped probabilities cannot reach may be left out.
        """

    def unit_grid(
        self, samples: Any, notion: Notion, cells: int, *, residual_only: bool = True
    ) -> tuple[UnitGrid, Findings]:
        """The scalar problem as masses on a grid of [0, 1] with this many cells, and the findings.

        The masses are the sums of weight times (target less prediction), or, without
        `residual_only`, three sums: of weights, of weighted predictions and of weighted targets.
        """

    def stream_sums(self, samples: Any, cells: Cells, holds: frozenset[str]) -> StreamSums:
        """The sums that an Accumulator keeps of these samples, in its `cells`. `holds` has the
        names of the groups of arrays to sum (`requirements.holdings`).
        """

    def class_columns(self, samples: Any) -> Iterator[Any]:
        """Yield each class against the rest, as the samples of a binary problem."""

    def rows_above(self, samples: Any, threshold: float) -> Any:
        """The samples of a binary problem restricted to the rows of positive weight with a
        prediction above the threshold; None if there are none.
        """

    def whole_problem(
        self, samples: Any, notion: Notion
    ) -> tuple[Array, Array, Array | None, Findings]:
        """Predictions, targets, weights (None for equal ones) and findings of all rows of a scalar
        problem, for results that sums cannot give.
        """


def engine_of(samples: Source) -> Engine:
    """The engine that sums these samples (arrays, tensors or frames), imported at the first use."""
    return cast(Engine, import_module(samples.engine))
