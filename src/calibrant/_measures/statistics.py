"""Statistics: what a measure reads, and what each statistic takes to compute."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

from calibrant._core.bin_tables import BinTable, VectorTable
from calibrant._core.errors import NotDefined
from calibrant._core.grid import LogitGrid
from calibrant._core.loss_sums import LossSums


def _undefined_statistic(statistic: str) -> NotDefined:
    """The NotDefined error to raise for a statistic that a source of data does not define."""
    return NotDefined(f"these data do not have the statistic {statistic!r}")


class Statistics(Protocol):
    """The statistics of one set of samples, whether an array, a frame, a file or a stream has them.

    A measure reads these and nothing else. A source that inherits from this class raises
    `NotDefined` for each statistic that it does not define.
    """

    @property
    def soft(self) -> bool:
        """Whether labels are known to be distributions: some is not 0 or 1, or votes are given.

        Known only after another statistic was read.
        """
        raise _undefined_statistic("soft")

    @property
    def bins(self) -> BinTable:
        """The scalar problem (P(y = 1), or the top label) in the ordinary bins."""
        raise _undefined_statistic("bins")

    @property
    def quantile_bins(self) -> BinTable:
        """The scalar problem in bins of equal mass, or in the rule given for all measures."""
        raise _undefined_statistic("quantile_bins")

    @property
    def equal_mass_bins(self) -> BinTable:
        """The scalar problem in bins of equal mass, whatever rule was given."""
        raise _undefined_statistic("equal_mass_bins")

    @property
    def confidence_bins(self) -> BinTable:
        """The top-label problem in the rule of `quantile_bins`."""
        raise _undefined_statistic("confidence_bins")

    @property
    def levels(self) -> BinTable:
        """The scalar problem with a bin for each distinct prediction, in order."""
        raise _undefined_statistic("levels")

    @property
    def class_bins(self) -> BinTable:
        """Each class against the rest in the ordinary bins."""
        raise _undefined_statistic("class_bins")

    @property
    def class_quantile_bins(self) -> BinTable:
        """Each class against the rest in the rule of `quantile_bins`."""
        raise _undefined_statistic("class_quantile_bins")

    @property
    def class_equal_mass_bins(self) -> BinTable:
        """Each class against the rest in bins of equal mass, whatever rule was given."""
        raise _undefined_statistic("class_equal_mass_bins")

    @property
    def confidence_by_class(self) -> BinTable:
        """The top-label problem in the ordinary bins, the rows of each predicted class apart."""
        raise _undefined_statistic("confidence_by_class")

    @property
    def full_bins(self) -> VectorTable:
        """Whole predicted distributions as vectors, by cell (top class and bin of its value)."""
        raise _undefined_statistic("full_bins")

    @property
    def losses(self) -> LossSums:
        """Sums of the proper losses."""
        raise _undefined_statistic("losses")

    @property
    def distribution(self) -> LossSums:
        """Sums of distances between predicted and target distributions."""
        raise _undefined_statistic("distribution")

    @property
    def bins_and_distances(self) -> tuple[BinTable, LossSums]:
        """The scalar problem in the ordinary bins, and distances of predictions from targets."""
        return self.bins, self.distribution

    @property
    def logit_grid(self) -> LogitGrid:
        """The scalar problem as masses on the logit grid."""
        raise _undefined_statistic("logit_grid")

    @property
    def smooth(self) -> float:
        """The smooth calibration error at its fixed point."""
        raise _undefined_statistic("smooth")

    def above(self, threshold: float) -> BinTable:
        """Predictions above a threshold in bins of equal mass, for each class that has any."""
        raise _undefined_statistic("above")


class OneTable(Statistics):
    """Statistics that consist of one bin table of a scalar problem: every statistic of bins is this
    table.
    """

    def __init__(self, table: BinTable) -> None:
        self._table = table

    @property
    def bins(self) -> BinTable:
        """The given table."""
        return self._table

    quantile_bins = equal_mass_bins = confidence_bins = levels = bins
    class_bins = class_quantile_bins = class_equal_mass_bins = confidence_by_class = bins

    def above(self, threshold: float) -> BinTable:
        """The given table, whatever the threshold."""
        return self._table


Problem = Literal["scalar", "confidence", "by class", "classwise", "full", "rows"]
Binning = Literal["fixed", "quantile", "levels", ""]


@dataclass(frozen=True)
class Statistic:
    """The problem and the bins of a statistic, and the requirements to compute it.

    Parameters
    ----------
    problem : {"scalar", "confidence", "by class", "classwise", "full", "rows"}
        P(y = 1) or the top label; always the top label; the top label, the rows of each predicted
        class apart; each class against the rest; the whole distribution; or row by row.
    binning : {"fixed", "quantile", "levels", ""}
        The rule of the ordinary measures, that of the truthful ones, a bin for each distinct
        prediction, or no bins.
    sums : str, default ""
        The array that a stream must sum for it, beside its cells.
    merges : bool, default False
        Whether bins of one count can be put together from finer ones, so that many bin counts and
        many resamples come from one read of the rows.
    in_streams : bool, default True
        Whether a stream can ever give it: sums of one pass do.
    """

    problem: Problem
    binning: Binning = ""
    sums: str = ""
    merges: bool = False
    in_streams: bool = True

    @property
    def is_binned(self) -> bool:
        """Whether its value depends on a rule of binning."""
        return self.binning in ("fixed", "quantile")

    @property
    def is_ordered(self) -> bool:
        """Whether it needs the predictions of a scalar problem in order."""
        return self.binning in ("quantile", "levels") and self.problem != "classwise"

    @property
    def has_class_quantiles(self) -> bool:
        """Whether it has quantile bins made separately for each class."""
        return self.problem == "classwise" and self.binning == "quantile"

    @property
    def over_classes(self) -> bool:
        """Whether it is a table with an entry for every class."""
        return self.problem in ("classwise", "full")


STATISTICS = {
    "bins": Statistic("scalar", "fixed", merges=True),
    "quantile_bins": Statistic("scalar", "quantile", merges=True),
    "confidence_bins": Statistic("confidence", "quantile", "top_cells", merges=True),
    "confidence_by_class": Statistic("by class", "fixed", "by_class", merges=True),
    "levels": Statistic("scalar", "levels"),
    "class_bins": Statistic("classwise", "fixed", "classwise", merges=True),
    "class_quantile_bins": Statistic("classwise", "quantile", "classwise", merges=True),
    "above": Statistic("classwise", "quantile", in_streams=False),
    "full_bins": Statistic("full", "quantile", in_streams=False),
    "losses": Statistic("rows", sums="losses"),
    "distribution": Statistic("rows", sums="losses"),
    "bins_and_distances": Statistic("scalar", "fixed", sums="losses"),
    "logit_grid": Statistic("scalar", sums="logits"),
    "smooth": Statistic("scalar", sums="residuals"),
}
