"""Reliability curves of a lazy frame, from rows pooled in narrow cells of their predictions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from calibrant._api.pooled_sums import pooled_rows
from calibrant._api.row_curves import BANDS_OF, PLACES, fitted_curve
from calibrant._core.binning import EqualWidth
from calibrant._core.errors import InputError, check_weight_total
from calibrant._core.typing import Array
from calibrant._data.explain import check_not_swapped
from calibrant._data.frame_samples import FrameSamples
from calibrant._data.samples import Notion
from calibrant._engines.frames.curves import CellGroups, bin_groups, curve_groups
from calibrant._inference.cells import Problem, problem_of
from calibrant._inference.pooled_rows import PooledRows
from calibrant._measures.proportions import design_effects
from calibrant.results._reliability import ReliabilityTable
from calibrant.results._reliability_curve import ReliabilityCurve


@dataclass(frozen=True, eq=False)
class CurveOfFrame:
    """Reliability curves of a lazy frame, whose rows are pooled by one query when the first curve
    is asked for. `clusters` is the column that names clusters.
    """

    samples: FrameSamples
    notion: Notion
    clusters: str | None = None
    seed: int = 0

    def __call__(
        self, method: str = "isotonic", level: float = 0.95, *, band: bool = True
    ) -> ReliabilityCurve:
        """The curve by this method, with its usual band, as reliability tables ask for it."""
        return self.curve(method, BANDS_OF[method][0] if band else None, level)

    def __getstate__(self) -> dict[str, Any]:
        """The attributes to pickle: the pooled rows, and not the frame that they were read from."""
        self.rows  # noqa: B018 - read before the frame is gone
        return {**vars(self), "samples": None, "weighted": self.weighted}

    @cached_property
    def weighted(self) -> bool:
        """Whether rows have weights."""
        return self.samples.weighted

    @cached_property
    def groups(self) -> CellGroups:
        """The rows pooled by cell, label and cluster."""
        found = curve_groups(self.samples, self.notion, PLACES, self.clusters)
        check_weight_total(float(found.columns.w.sum()), 1)
        if not found.columns.hard:
            check_not_swapped(self.samples)
        return found

    @cached_property
    def rows(self) -> PooledRows:
        """The pooled rows. Labels of one cell have one prediction, the mean of the cell."""
        found = pooled_rows(self.groups.columns)
        predictions = self.groups.mean[self.groups.cell]
        return replace(found, samples=replace(found.samples, predictions=predictions))

    @cached_property
    def problem(self) -> Problem:
        """The scalar problem of the pooled rows."""
        problem = problem_of(self.rows.samples, "binary", EqualWidth(15), counts=self.rows.counts)
        assert problem is not None
        return problem

    def curve(
        self, method: str, band: str | None, level: float, span: float | None = None
    ) -> ReliabilityCurve:
        """The curve by this method, with its band; None for no band."""
        problem, groups = self.problem, self.rows.groups
        if band == "confidence" and self.weighted:
            raise InputError("band='confidence' counts outcomes and does not support weights")
        curve = fitted_curve(
            problem,
            self.notion,
            method,
            band,
            level,
            groups=groups,
            span=span,
            seed=self.seed,
            extent=self._ends(),
        )
        return self._in_own_units(curve)

    def _ends(self) -> tuple[Array, Array]:
        """The smallest and the largest prediction behind each distinct mean one."""
        order = np.argsort(self.groups.mean, kind="stable")
        return self.groups.low[order], self.groups.high[order]

    def _in_own_units(self, curve: ReliabilityCurve) -> ReliabilityCurve:
        """The curve with the number of rows, and the weights that rows have: pooled rows have
        weights of the mean 1.
        """
        columns = self.groups.columns
        scale = float(columns.w.sum()) / float(self.problem.weights.sum())
        points = {**curve.points, "weight": curve.points["weight"] * scale}
        return replace(curve, points=points, n=round(float(columns.n.sum())))


def with_curve_of_frame(table: ReliabilityTable, samples: FrameSamples) -> ReliabilityTable:
    """The reliability table of a lazy frame, whose curves are fitted when they are asked for."""
    notion: Any = table.notion
    return replace(table, fit=CurveOfFrame(samples, notion))


def with_bars_of_frame(
    table: ReliabilityTable, samples: FrameSamples, clusters: str
) -> ReliabilityTable:
    """The reliability table of a lazy frame with error bars and a curve that allow for clusters,
    which the column `clusters` names.
    """
    notion: Any = table.notion
    found, bins = bin_groups(samples, notion, table.cuts, clusters)
    rows = pooled_rows(found.columns)
    assert rows.groups is not None
    z, w = rows.samples.targets, rows.samples.weights
    counts = 1.0 if rows.counts is None else rows.counts
    own = bins[found.cell]
    design = design_effects(own, z, w, rows.groups, table.table.n_bins, counts)
    return replace(table, design=design, fit=CurveOfFrame(samples, notion, clusters))
