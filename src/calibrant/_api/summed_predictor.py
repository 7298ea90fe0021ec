"""A predictor that is known by its sums: its rows stay in another engine, or on a device."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from calibrant._core.bin_tables import BinTable
from calibrant._core.binning import Cuts, Rule
from calibrant._core.errors import NotDefined
from calibrant._inference.pooled_rows import PooledSums
from calibrant._measures.catalogue import Measure


@dataclass(eq=False)
class SummedPredictor(ABC):
    """One predictor: its samples, their statistics, and the sums that intervals are
    computed from.
    """

    samples: Any
    # Its statistics and findings: a FrameSummary, or a Summary of tensors.
    summary: Any
    sums: PooledSums
    n_rows: int
    n_missing: int

    @property
    @abstractmethod
    def table(self) -> tuple[BinTable, Cuts]:
        """The scalar problem in the ordinary bins, and the cuts between them."""

    @abstractmethod
    def joint_sums(
        self, other: Any, rules: tuple[Rule, Rule], clusters: Any
    ) -> tuple[PooledSums, PooledSums]:
        """The sums of this predictor and of another on the same rows, pooled where both have the
        same cells. `clusters` says which cluster each row is of, None for independent rows.
        """

    def values(self, measures: Sequence[Measure], *, asked: bool) -> dict[str, float]:
        """The measures' values by name, without those that have none for these rows; NotDefined if
        measures were `asked` for by name.
        """
        out = {}
        for measure in measures:
            try:
                out[measure.name] = measure.compute(self.summary)
            except NotDefined:
                if asked:
                    raise
        return out
