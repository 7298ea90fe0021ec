"""How the gaps of slots vary from sample to sample, drawn from their second moments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from calibrant._core.typing import Array, Index
from calibrant._inference.blocks import Blocks
from calibrant._inference.second_moments import SecondMoments, Slots, block_noise


@dataclass(frozen=True, eq=False)
class FineSlots:
    """Slots within slots, of each predictor: where a measure is not of bins, gaps are found in
    wider slots than its value is read from. `parents` are the wider slot of each.
    """

    slots: tuple[Slots, ...]
    parents: tuple[Index, ...]
    blocks: tuple[Blocks, ...]


@dataclass(frozen=True, eq=False)
class SlotNoise:
    """Draws of the noise of gaps, and of slots' weights, that all measures of the slots share."""

    moments: SecondMoments
    n_draws: int
    seed: int
    fine: FineSlots | None = None

    @cached_property
    def drawn(self) -> tuple[list[Array], list[Array]]:
        """Noise of gaps, and drawn weights, of each predictor: (draws, slots)."""
        factor, p = self.moments.noise_factor, self.moments.size
        drawn = self.normal(len(factor), 8) @ factor
        share = self.moments.stacked("weight") / self.moments.totals
        shares = np.maximum(share + drawn[:, p:], 0.0)
        ratio = np.divide(shares, share, out=np.ones_like(shares), where=share > 0)
        weights = self.moments.parts(shares * self.moments.totals)
        if self.fine is not None:
            return self._fine(self.fine, self.moments.parts(ratio))
        # A residual is that of the weight drawn, and noise of the weight that there is.
        noise = np.divide(drawn[:, :p], ratio, out=np.zeros_like(ratio), where=ratio > 0)
        return self.moments.parts(noise), weights

    def _fine(self, fine: FineSlots, ratios: Sequence[Array]) -> tuple[list[Array], list[Array]]:
        noise, weights = [], []
        for j, (slots, parent, blocks) in enumerate(
            zip(fine.slots, fine.parents, fine.blocks, strict=True)
        ):
            gap = self.moments.slots[j].gap[parent]
            sums = block_noise(slots, blocks, gap) * self.moments.widening
            # Predictors on the same rows share their noise.
            normal = self.normal(len(sums), 10 if self.moments.paired else 10 + j)
            drawn = np.maximum(ratios[j], 0.1)[:, parent] * slots.weight
            noise.append(normal @ sums / drawn)
            weights.append(drawn)
        return noise, weights

    def normal(self, size: int, stream: int) -> Array:
        """Standard normal numbers (draws, size), the same for the same stream."""
        rng = np.random.default_rng((self.seed, stream))
        return rng.standard_normal((self.n_draws, size))
