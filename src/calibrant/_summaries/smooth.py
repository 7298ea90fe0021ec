"""SmoothSummary: the smoothing grids of one problem, and what they give."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from calibrant._core.errors import NotDefined, check_weight_total
from calibrant._core.grid import LOGIT_LIMIT, STREAM_SPACING, LogitGrid, UnitGrid
from calibrant._data.explain import check_not_swapped, explained
from calibrant._data.samples import Notion, Samples
from calibrant._data.source import Source, has_raw_logits
from calibrant._data.tensor_samples import TensorSamples
from calibrant._engines.arrays.passes import NO_CUTS
from calibrant._engines.arrays.selection import kernels
from calibrant._engines.arrays.smooth import uniform_error
from calibrant._engines.arrays.streams import EPS
from calibrant._engines.dispatch import engine_of
from calibrant._engines.protocol import Findings, new_status
from calibrant._measures.kernel_ece import (
    beta_bandwidth,
    beta_error,
    grid_bandwidth,
    reflected_error,
)
from calibrant._measures.smooth import (
    LS_SIGMA,
    NODES_PER_SIGMA,
    logit_curve,
    ls_ece_monte_carlo,
    ls_ece_of_grid,
    ls_ece_uniform,
)
from calibrant._measures.smooth_ece import smooth_ece_of_grid, unit_curve
from calibrant._measures.smooth_links import (
    LINKS,
    SHAPES,
    SPECTRA,
    linked_error,
    piecewise_error,
)
from calibrant._measures.smooth_rows import effective_rows

NOISES = (*SPECTRA, *SHAPES)
# The widest spacing of nodes: the sigmoid itself must be resolved, however wide the noise.
WIDEST_SPACING = 2.0**-5
# The most nodes of a logit grid.
MOST_NODES = 1 << 22
UNIT_CELLS = 1 << 14
# Cells of the unit grid per bandwidth.
CELLS_PER_SIGMA = 32
MOST_UNIT_CELLS = 1 << 20

# The widths of uniform noise that the compiled integral takes: outside only limits are left.
COMPILED_SIGMAS = (1e-12, 64.0)

# Logits (or predictions under another link), targets and weights of a problem, an entry per row.
ProblemRows = tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]


def spacing_for(sigma: float) -> float:
    """The distance between nodes of the logit grid for noise of width `sigma`. For the default
    width it is the spacing in streams, so that a stream has the same value to the last digits.
    """
    if sigma == LS_SIGMA:
        return STREAM_SPACING
    return min(WIDEST_SPACING, sigma / NODES_PER_SIGMA)


def is_fine_enough(value: float, width: float, cells: int) -> bool:
    """Whether a unit grid with this number of cells resolves noise of this width; always if the
    error `value` is 0, since a finer grid would show nothing more.
    """
    return value == 0.0 or width * cells >= CELLS_PER_SIGMA


def smallest_sigma() -> float:
    """The smallest width of noise whose logit grid has no more than MOST_NODES nodes."""
    return NODES_PER_SIGMA * 2 * LOGIT_LIMIT / MOST_NODES


def smallest_unit_sigma() -> float:
    """The smallest width of noise that the finest grid on [0, 1] resolves."""
    return CELLS_PER_SIGMA / MOST_UNIT_CELLS


def unit_cells_for(sigma: float) -> int:
    """The number of cells of a grid on [0, 1] that resolves noise of width `sigma`, limited to the
    finest grid.
    """
    cells = UNIT_CELLS
    while cells < MOST_UNIT_CELLS and sigma * cells < CELLS_PER_SIGMA:
        cells *= 2
    return cells


def _deposited(
    h: NDArray[np.float64], z: NDArray[np.float64], w: NDArray[np.float64], sigma: float
) -> LogitGrid:
    """Sums of w z and of w (1 - z) at the nodes of a grid, of rows at any places h."""
    spacing, status = spacing_for(sigma), new_status()
    plus, minus = np.zeros((2, LogitGrid.n_nodes(spacing)))
    low, high = -LOGIT_LIMIT, LOGIT_LIMIT
    kernels().deposit_logits(plus, minus, h, z, w, 1.0 / spacing, low, high, True, status)
    return LogitGrid(spacing, plus[None], minus[None])


def _error_of_rows(rows: ProblemRows, sigma: float, noise: str, link: str) -> float:
    """LS-ECE of one problem, by integration."""
    if (noise, link) == ("uniform", "logit"):
        return ls_ece_uniform(*rows, sigma)
    if noise in SPECTRA:
        return linked_error(_deposited(*rows, sigma), sigma, noise, link)
    return piecewise_error(*rows, sigma, noise, link)


@dataclass
class SmoothSummary:
    """The smoothing grids of one problem, made at the first use, and the statistics that they give.

    LS-ECE adds noise to the logits of predictions, smECE to the predictions themselves; `sigma` is
    the width of the noise. Probabilities are kept `eps` away from 0 and 1 before logits are taken.
    """

    samples: Source
    notion: Notion
    eps: float = EPS
    findings: Findings = field(default_factory=Findings)
    n_logits_clipped: int = 0

    def __post_init__(self) -> None:
        self.engine = engine_of(self.samples)

    def logit_grid(self, sigma: float) -> LogitGrid:
        """Sums of weight times target and of weight times (1 - target) at the nodes of the logit
        grid.
        """
        with explained(self.samples):
            grid, findings, clipped = self.engine.logit_grid(
                self.samples, self.notion, spacing_for(sigma), self.eps
            )
        self._keep_findings(findings)
        self.n_logits_clipped = clipped
        check_weight_total(grid.total_weight[0])
        return grid

    def ls_ece(self, sigma: float, noise: str, link: str = "logit") -> float:
        """LS-ECE by integration, without random draws; `noise` is one of NOISES, `link` of LINKS.
        The classwise notion has the mean over classes.
        """
        if (noise, link) == ("gaussian", "logit"):
            return ls_ece_of_grid(self.logit_grid(sigma), sigma)
        if noise in SPECTRA and link == "logit":
            return linked_error(self.logit_grid(sigma), sigma, noise, link)
        if (noise, link) == ("uniform", "logit"):
            compiled = self._compiled_uniform(sigma)
            if compiled is not None:
                return compiled
        problems = self._logit_problems(link)
        return float(np.mean([_error_of_rows(rows, sigma, noise, link) for rows in problems]))

    def _compiled_uniform(self, sigma: float) -> float | None:
        """LS-ECE with uniform noise from a compiled kernel; None where there is none for these
        samples and this width.
        """
        within = COMPILED_SIGMAS[0] <= sigma <= COMPILED_SIGMAS[1]
        if not (within and isinstance(self.samples, Samples)):
            return None
        with explained(self.samples):
            compiled = uniform_error(self.samples, self.notion, sigma, self.eps)
        if compiled is None:
            return None
        integral, total, findings = compiled
        self._keep_findings(findings)
        check_weight_total(total)
        return integral / total

    def monte_carlo(
        self, sigma: float, noise: str, n_draws: int, rng: np.random.Generator
    ) -> float:
        """LS-ECE by random draws of the noise, as the paper does it. The classwise notion has the
        mean over classes.
        """
        values = [
            ls_ece_monte_carlo(h, z, w, sigma, noise, n_draws, rng)[0]
            for h, z, w in self._logit_problems()
        ]
        return float(np.mean(values))

    def smooth_ece(self, sigma: float | None, tried: float | None = None) -> float:
        """smECE with noise of width `sigma`; for None with the width that equals the error. The
        grid is as fine as that requires: finer than the first where that has been `tried` before,
        by who knows the total of weights.
        """
        cells, most = UNIT_CELLS, 1.0
        if tried is not None:
            cells, most = 4 * cells, CELLS_PER_SIGMA / cells
        total = self.total_weight if tried is None else tried
        while True:
            # A width that this grid does not resolve is searched for on a finer one.
            least = CELLS_PER_SIGMA / cells if cells < MOST_UNIT_CELLS else 0.0
            value = smooth_ece_of_grid(self.unit_grid(cells), total, sigma, (least, most))
            width = value if sigma is None else sigma
            if is_fine_enough(value, width, cells) or cells >= MOST_UNIT_CELLS:
                return value
            cells, most = min(MOST_UNIT_CELLS, 4 * cells), least

    def kernel_ece(self, kernel: str, bandwidth: float | None) -> float:
        """ECE by kernel density estimates with a kernel of KERNELS, or with beta kernels ("beta"),
        the mean over classes of the classwise notion; by default at each problem's own bandwidth.
        """
        if kernel == "beta":
            every = self._logit_problems("identity")
            counts = every[0][2] > 0.0  # the weights of all classes are the same
            if counts.sum() < 2:
                raise NotDefined("leave-one-out estimates need at least two rows")
            errors = []
            for rows in every:
                u, z, w = (column[counts] for column in rows)
                errors.append(beta_error(u, z, w, bandwidth or beta_bandwidth(u, w)))
            return float(np.mean(errors))
        coarse = self.unit_grid(unit_cells_for(bandwidth or 1.0), residual_only=False)
        total, squares = self._weights
        values = []
        for r in range(coarse.n_classes):
            own = bandwidth or grid_bandwidth(coarse, r, total**2 / squares)
            cells, grid = unit_cells_for(own), coarse
            if cells > coarse.cells:
                grid = self.unit_grid(cells, residual_only=False)
            values.append(reflected_error(grid, r, max(own, smallest_unit_sigma()), kernel))
        return float(np.mean(values))

    def unit_grid(self, cells: int = UNIT_CELLS, *, residual_only: bool = True) -> UnitGrid:
        """Masses at the ends of equal cells of [0, 1]: weight times (target less prediction), or,
        without `residual_only`, weights, weighted predictions and weighted targets.
        """
        with explained(self.samples):
            grid, findings = self.engine.unit_grid(
                self.samples, self.notion, cells, residual_only=residual_only
            )
        self._keep_findings(findings)
        return grid

    def _keep_findings(self, findings: Findings) -> None:
        """Keep the findings of the last pass over the rows. Raises InputError if labels are soft
        and every prediction is 0 or 1, which looks like swapped arguments.
        """
        if findings.soft and not self.findings.soft:
            check_not_swapped(self.samples)
        self.findings = findings

    @cached_property
    def _weights(self) -> tuple[float, float]:
        """The sum of weights and the sum of squared weights. A pass that computes them also checks
        every row.
        """
        samples = self.samples
        if isinstance(samples, Samples | TensorSamples) and samples.weights is None:
            return float(samples.n), float(samples.n)
        notion: Notion = "confidence" if self.notion == "classwise" else self.notion
        with explained(samples):
            sums, _ = self.engine.scalar_sums(samples, notion, NO_CUTS, squares=False)
        check_weight_total(sums[0, 1])
        return float(sums[0, 1]), float(sums[0, 2])

    @property
    def total_weight(self) -> float:
        """The sum of weights."""
        return self._weights[0]

    def schedule(self) -> float:
        """The width of noise n^(-1/3) that a sample of n rows suggests, n being the effective
        number of rows.
        """
        total, squares = self._weights
        return float((total**2 / squares) ** (-1.0 / 3.0))

    def curve(self, kind: str, sigma: float) -> dict[str, NDArray[np.float64]]:
        """The smoothed reliability curve: arrays "prediction", "density", "mean_target" and
        "difference" (what is integrated), an entry per point. `kind` says where noise is added:
        "logit" (which adds an array "logit") or "unit".
        """
        if kind == "logit":
            return logit_curve(self.logit_grid(sigma), sigma)
        grid = self.unit_grid(unit_cells_for(sigma), residual_only=False)
        return unit_curve(grid, self.total_weight, sigma)

    def rows_behind(
        self, kind: str, sigma: float, points: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64] | None, float]:
        """The effective number of rows at each point of a curve, and that of all rows. The first is
        None for soft labels, and for weights outside memory, whose squares are not known by point.
        `kind` is "logit" or "unit", where the noise is added.
        """
        squared = self._with_squared_weights()
        if squared is None or self.findings.soft:
            return None, self._weights[0] ** 2 / self._weights[1]
        if kind == "logit":
            masses = [part.logit_grid(sigma) for part in (self, squared)]
            both = [grid.plus[0] + grid.minus[0] for grid in masses]
            middle = (both[0].size - 1) // 2
            nodes = (np.arange(both[0].size) - middle) * masses[0].spacing
        else:
            cells = unit_cells_for(sigma)
            grids = [part.unit_grid(cells, residual_only=False) for part in (self, squared)]
            both = [grid.sums[0, 0] for grid in grids]
            nodes = np.arange(both[0].size) / grids[0].cells
        n = effective_rows(points, nodes, both[0], both[1], sigma, reflected=kind == "unit")
        return n, self._weights[0] ** 2 / self._weights[1]

    def _with_squared_weights(self) -> SmoothSummary | None:
        """The summary of the same rows with their weights squared; itself without weights, None for
        weights that are not in memory.
        """
        if not self.samples.weighted:
            return self
        if not isinstance(self.samples, Samples) or self.samples.weights is None:
            return None
        weights = self.samples.weights.astype(np.float64) ** 2
        return SmoothSummary(replace(self.samples, weights=weights), self.notion, self.eps)

    def _logit_problems(self, link: str = "logit") -> list[ProblemRows]:
        """The rows of the problem, as a list of one; for the classwise notion a list with those of
        each class.
        """
        samples = self.samples
        with explained(samples):
            if self.notion == "classwise":
                parts = [
                    self._logit_problem(column, "binary", link)
                    for column in self.engine.class_columns(samples)
                ]
            else:
                parts = [self._logit_problem(samples, self.notion, link)]
        check_weight_total(parts[0][2].sum())
        return parts

    def _logit_problem(self, samples: Source, notion: Notion, link: str) -> ProblemRows:
        """The rows of one scalar problem; logits are clipped."""
        raw = has_raw_logits(samples) and link == "logit"
        if raw and isinstance(samples, Samples | TensorSamples):
            self._keep_findings(self.engine.scalar_sums(samples, notion, NO_CUTS, squares=False)[1])
            here = samples if isinstance(samples, Samples) else samples.in_memory()
            h = here.predictions.astype(np.float64)
            z = here.targets.astype(np.float64)
            if notion == "confidence":
                z, h = np.where(h > 0, z, 1.0 - z), np.abs(h)
            h = np.clip(h, -LOGIT_LIMIT, LOGIT_LIMIT)
            weights = here.weights
        else:
            u, z, weights, findings = self.engine.whole_problem(samples, notion)
            self._keep_findings(findings)
            u = np.clip(u, self.eps, 1.0 - self.eps)
            h = LINKS[link].forward(u)
        w = np.ones(h.size) if weights is None else weights.astype(np.float64)
        return h, z, w
