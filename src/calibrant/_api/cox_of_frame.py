"""Cox's calibration slope and intercepts of a lazy frame, whose rows are summed where they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from calibrant._api.cox_limits import cox_with_limits
from calibrant._api.pooled_sums import numbered_clusters
from calibrant._core.errors import check_weight_total
from calibrant._core.typing import Array
from calibrant._data.explain import check_not_swapped
from calibrant._data.frame_samples import FrameSamples
from calibrant._data.samples import Notion
from calibrant._engines.frames.logits import (
    cluster_scores,
    logit_sums,
    score_squares,
    sums_of_groups,
)
from calibrant._engines.logit_sums import ClusterScores, LogisticModel, LogitSums
from calibrant._inference.coefficients import LogisticFit
from calibrant._inference.cox_sums import cox_fits_from
from calibrant._inference.numbers import MOST_LEVERAGE
from calibrant.results._uncertainty import CoxCalibration


def cox_of_frame(
    samples: FrameSamples, notion: Notion, level: float, eps: float, clusters: str | None = None
) -> CoxCalibration:
    """Cox's slope and intercepts of a lazy frame: one query, and one more for weights and for
    clusters, which the column `clusters` names.
    """
    groups, findings = logit_sums(samples, notion, eps)
    if findings.soft:
        check_not_swapped(samples)
    sums = sums_of_groups(groups, eps, findings)
    check_weight_total(float(sums.w[:, 0].sum()), groups.n_rows)
    return cox_of_sums(sums, FrameRows(samples, notion, eps, clusters), level)


def cox_of_sums(sums: LogitSums, rows: FrameRows, level: float) -> CoxCalibration:
    """Cox's slope and intercepts from sums by cell of the logits of these rows."""
    n_moved, kept = int(sums.n[sums.moved].sum()), ~sums.moved
    fits = cox_fits_from(sums, rows)
    without = None
    if n_moved and kept.any():
        without = cox_fits_from(sums.select(kept), replace(rows, clipped=False))
    return cox_with_limits(fits, without, n_moved, level, rows.eps)


@dataclass(frozen=True)
class FrameRows:
    """The rows of a lazy frame, read once more for what depends on the fits."""

    samples: FrameSamples
    notion: Notion
    eps: float
    clusters: str | None = None
    # Whether rows whose predictions were clipped are among them.
    clipped: bool = True

    def score_squares(self, fits: Sequence[LogisticFit]) -> Array:
        """Sums of squared scores over 1 less the leverage, (fits, 3)."""
        models = [_model(fit) for fit in fits]
        found = score_squares(self.samples, self.notion, self.eps, models, MOST_LEVERAGE)
        return found.sum(axis=0) if self.clipped else found[0]

    def cluster_scores(self, fits: Sequence[LogisticFit]) -> ClusterScores | None:
        """The scores by cluster; None where rows are independent."""
        if self.clusters is None:
            return None
        models = [_model(fit) for fit in fits]
        groups, parts = cluster_scores(self.samples, self.notion, self.eps, self.clusters, models)
        index = numbered_clusters(groups.columns["by0"], groups["rows"])
        if not self.clipped:
            index = np.where(groups.columns["key"].astype(np.intp) == 1, -1, index)
        return parts.added(index, int(index.max()) + 1)


def _model(fit: LogisticFit) -> LogisticModel:
    """A fit as the engine reads it, with the inverse of its information as a matrix (2, 2)."""
    inverse = np.zeros((2, 2))
    inverse[: fit.n_free, : fit.n_free] = fit.inverse_information
    return fit.intercept, fit.slope, inverse
