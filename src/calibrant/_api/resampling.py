"""Resampling: how the measures of some rows get their intervals and noise floors."""

from __future__ import annotations

from dataclasses import dataclass

from calibrant._core.binning import Rule
from calibrant._core.typing import Index
from calibrant._core.validation import N_RESAMPLES
from calibrant._data.samples import Samples
from calibrant._inference.blocks import Blocks
from calibrant._inference.uncertainty import Uncertainty
from calibrant._measures.catalogue import Measure


@dataclass(frozen=True, kw_only=True)
class Resampling:
    """The checked options of intervals and noise floors: bins, level, draws and clusters."""

    # The rule of the ordinary bins, of fixed width, and that of the quantile bins.
    rules: tuple[Rule, Rule]
    level: float = 0.95
    n_resamples: int = N_RESAMPLES
    seed: int = 0
    # The cluster of each row as a number.
    groups: Index | None = None
    # What is drawn anew where labels are shares of votes; "" for what the votes allow.
    resample: str = ""

    def uncertainty(
        self, samples: Samples, measures: tuple[Measure, ...], blocks: Blocks | None = None
    ) -> Uncertainty:
        """Make the Uncertainty of some measures: it computes their intervals and noise floors.

        `blocks` are the rows or clusters to resample, shared with other models; None makes new
        ones.
        """
        return Uncertainty(
            samples,
            *self.rules,
            measures,
            self.level,
            self.n_resamples,
            self.seed,
            self.groups,
            samples.votes,
            blocks,
            resample=self.resample,
        )
