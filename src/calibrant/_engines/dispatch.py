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
        """Bin sums (bins x fields) of the binary or the confidence problem in given cuts."""

    def matrix_sums(
        self,
        samples: Any,
        *,
        classwise: Cuts | None = None,
        confidence: Cuts | None = None,
        losses: bool = False,
        squares: bool = True,
    ) -> MatrixSums:
        """Classwise bin sums, top-label bin sums and loss sums of (n, k) predictions, in one
        read.
        """

    def bin_table(
        self, samples: Any, notion: Notion, rule: Rule, *, squares: bool = True
    ) -> tuple[BinTable, Cuts, Findings]:
        """The table of a scalar notion and any rule, with the cuts that were used."""

    def classwise_table(
        self, samples: Any, rule: Rule, *, squares: bool = True
    ) -> tuple[BinTable, Findings]:
        """The table of every class against the rest, each with its own bins."""

    def top_class_table(self, samples: Any, rule: Rule) -> tuple[BinTable, Findings]:
        """The table of the top label's problem, separately for each predicted class."""

    def vector_table(
        self, samples: Any, rule: Rule, phi: Array | None = None
    ) -> tuple[VectorTable, Findings]:
        """The table of a linear property of the label."""

    def loss_sums(
        self,
        samples: Any,
        *,
        distribution: bool = False,
        only: str | None = None,
        spacing: Array | None = None,
    ) -> tuple[LossSums, Findings]:
        """Sums of the proper losses; of the distances between distributions too, on request.

        Where `only` one loss is asked for the others may be NaN. `spacing` is how far neighbouring
        classes are apart, 1 by default.
        """

    def logit_grid(
        self, samples: Any, notion: Notion, spacing: float, eps: float, *, whole: bool = False
    ) -> tuple[LogitGrid, Findings, int]:
        """Masses on the logit grid, and how many logits were clipped."""

    def unit_grid(
        self, samples: Any, notion: Notion, cells: int, *, residual_only: bool = True
    ) -> tuple[UnitGrid, Findings]:
        """Masses on the unit grid."""

    def stream_sums(self, samples: Any, cells: Cells, holds: frozenset[str]) -> StreamSums:
        """The sums that an Accumulator keeps, in as few reads as the engine can."""

    def class_columns(self, samples: Any) -> Iterator[Any]:
        """Each class against the rest, as a binary problem of its own."""

    def rows_above(self, samples: Any, threshold: float) -> Any:
        """The rows of a binary problem with positive weight and a prediction above a threshold;
        None if there are none.
        """

    def whole_problem(
        self, samples: Any, notion: Notion
    ) -> tuple[Array, Array, Array | None, Findings]:
        """Predictions, targets and weights in full, for what cannot be had from sums."""


def engine_of(samples: Source) -> Engine:
    """The engine that sums these samples, imported when first needed."""
    return cast(Engine, import_module(samples.engine))
