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
    """Bins, level, draws and clusters, all of which have been checked."""

    # Bins of a fixed width, and of quantiles.
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
        """Intervals and noise floors of some measures; `blocks` are shared with other models."""
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
