"""SmoothSummary: the smoothing grids of one problem, and what they give."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from calibrant.engines.counting import class_columns
from calibrant.engines.passes import NO_CUTS, scalar_sums, whole_problem
from calibrant.engines.protocol import Findings
from calibrant.engines.smooth import logit_grid, unit_grid
from calibrant.errors import NO_WEIGHT, InputError
from calibrant.inputs.explain import explained, refuse_swapped
from calibrant.measures.smooth import (
    NODES_PER_SIGMA,
    logit_curve,
    ls_ece_monte_carlo,
    ls_ece_of_grid,
    ls_ece_uniform,
    smooth_ece_of_grid,
    unit_curve,
)
from calibrant.samples.samples import Notion, Samples
from calibrant.statistics.grid import LOGIT_LIMIT, LogitGrid, UnitGrid

NOISES = ("gaussian", "uniform")
# Reports are clipped this far from 0 and 1 before their logit is taken.
EPS = 1e-6
# The sigmoid itself must be resolved, however wide the noise.
WIDEST_SPACING = 2.0**-5
# Nodes that a grid may have.
MOST_NODES = 1 << 22
UNIT_CELLS = 1 << 14
# Cells of the unit grid per bandwidth.
CELLS_PER_SIGMA = 32
MOST_UNIT_CELLS = 1 << 20


def spacing_for(sigma: float) -> float:
    """The spacing of the logit grid for a bandwidth."""
    return min(WIDEST_SPACING, sigma / NODES_PER_SIGMA)


def smallest_sigma() -> float:
    """The smallest bandwidth whose grid fits."""
    return NODES_PER_SIGMA * 2 * LOGIT_LIMIT / MOST_NODES


def schedule_sigma(samples: Samples) -> float:
    """n^(-1/3), n being the effective number of rows."""
    if samples.weights is None:
        return float(samples.n ** (-1.0 / 3.0))
    w = samples.weights.astype(np.float64)
    squares = float((w * w).sum())
    if not squares > 0:
        raise InputError(NO_WEIGHT)
    return float((w.sum() ** 2 / squares) ** (-1.0 / 3.0))


@dataclass
class SmoothSummary:
    """Grids of a problem on demand, and what was found on the way."""

    samples: Samples
    notion: Notion
    eps: float = EPS
    findings: Findings = field(default_factory=Findings)
    n_logits_clipped: int = 0

    def logit_grid(self, sigma: float) -> LogitGrid:
        """Masses of what happened and what did not, on the logit grid."""
        with explained(self.samples):
            grid, found, clipped = logit_grid(
                self.samples, self.notion, spacing_for(sigma), self.eps
            )
        self._note(found)
        self.n_logits_clipped = clipped
        if not grid.total_weight[0] > 0:
            raise InputError(NO_WEIGHT)
        return grid

    def ls_ece(self, sigma: float, noise: str) -> float:
        """LS-ECE as the integral it is."""
        if noise == "gaussian":
            return ls_ece_of_grid(self.logit_grid(sigma), sigma)
        values = [ls_ece_uniform(h, z, w, sigma) for h, z, w in self._problems()]
        return float(np.mean(values))

    def monte_carlo(
        self, sigma: float, noise: str, n_draws: int, rng: np.random.Generator
    ) -> float:
        """LS-ECE by draws, as the paper does it."""
        values = [
            ls_ece_monte_carlo(h, z, w, sigma, noise, n_draws, rng)[0]
            for h, z, w in self._problems()
        ]
        return float(np.mean(values))

    def smooth_ece(self, sigma: float | None) -> float:
        """smECE at its fixed point or at a bandwidth, on a grid fine enough for it."""
        cells, total = UNIT_CELLS, self.checked_weight()
        while True:
            value = smooth_ece_of_grid(self.unit_grid(cells), total, sigma)
            width = value if sigma is None else sigma
            if width * cells >= CELLS_PER_SIGMA or cells >= MOST_UNIT_CELLS:
                return value
            cells = min(MOST_UNIT_CELLS, 4 * cells)

    def unit_grid(self, cells: int = UNIT_CELLS, *, residual_only: bool = True) -> UnitGrid:
        """Masses on [0, 1]."""
        with explained(self.samples):
            grid, found = unit_grid(self.samples, self.notion, cells, residual_only=residual_only)
        self._note(found)
        return grid

    def _note(self, found: Findings) -> None:
        if found.soft and not self.findings.soft:
            refuse_swapped(self.samples)
        self.findings = found

    def checked_weight(self) -> float:
        """The sum of weights, once every row is known to be sound."""
        if self.samples.weights is not None:
            notion: Notion = "confidence" if self.notion == "classwise" else self.notion
            with explained(self.samples):
                scalar_sums(self.samples, notion, NO_CUTS, squares=False)
        return self.total_weight

    def schedule(self) -> float:
        """The bandwidth of the schedule."""
        self.checked_weight()
        return schedule_sigma(self.samples)

    @property
    def total_weight(self) -> float:
        weights = self.samples.weights
        if weights is None:
            return float(self.samples.n)
        total = float(weights.sum(dtype=np.float64))
        if total == 0 and not (weights < 0).any():
            raise InputError(NO_WEIGHT)
        return total

    def curve(self, kind: str, sigma: float) -> dict[str, NDArray[np.float64]]:
        """The smoothed curve: places, density, mean target, and the difference integrated."""
        if kind == "logit":
            return logit_curve(self.logit_grid(sigma), sigma)
        grid = self.unit_grid(residual_only=False)
        return unit_curve(grid, self.checked_weight(), sigma)

    def _problems(
        self,
    ) -> list[tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]]:
        """Logits, targets and weights of the problem, or of each class's."""
        samples = self.samples
        with explained(samples):
            if self.notion == "classwise":
                parts = [self._problem(column, "binary") for column in class_columns(samples)]
            else:
                parts = [self._problem(samples, self.notion)]
        if not parts[0][2].sum() > 0:
            raise InputError(NO_WEIGHT)
        return parts

    def _problem(
        self, samples: Samples, notion: Notion
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        if samples.from_logits and not samples.multiclass:
            self._note(scalar_sums(samples, notion, NO_CUTS, squares=False)[1])
            h = samples.reports.astype(np.float64)
            z = samples.targets.astype(np.float64)
            if notion == "confidence":
                z, h = np.where(h > 0, z, 1.0 - z), np.abs(h)
            h = np.clip(h, -LOGIT_LIMIT, LOGIT_LIMIT)
            weights = samples.weights
        else:
            u, z, weights, found = whole_problem(samples, notion)
            self._note(found)
            u = np.clip(u, self.eps, 1.0 - self.eps)
            h = np.log(u / (1.0 - u))
        w = np.ones(h.size) if weights is None else weights.astype(np.float64)
        return h, z, w
