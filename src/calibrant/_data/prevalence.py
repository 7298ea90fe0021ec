"""Rows of a case-control sample, reweighted to the prevalence of the population."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from calibrant._core.errors import InputError
from calibrant._core.validation import is_number
from calibrant._data.samples import Samples


def check_prevalence(prevalence: Any) -> None:
    """Raise an InputError unless it is None, or a share strictly between 0 and 1."""
    if prevalence is not None and not (is_number(prevalence) and 0.0 < prevalence < 1.0):
        raise InputError(
            "prevalence must be the share of events in the population, above 0 and below 1; got "
            f"{prevalence!r}"
        )


def with_prevalence(samples: Samples, prevalence: float) -> Samples:
    """The samples with weights that give events the share `prevalence` of the weight: each event
    counts prevalence / (share of events), each other row (1 - prevalence) / (share of others).
    """
    z = samples.targets.astype(np.float64)
    if not ((z == 0.0) | (z == 1.0)).all():
        raise InputError(
            "prevalence= reweights rows by their outcome, and needs outcomes that are 0 or 1; "
            "some of these are soft labels: leave out prevalence="
        )
    w = np.ones(samples.n) if samples.weights is None else samples.weights.astype(np.float64)
    share = float(w @ z) / max(float(w.sum()), 1e-300)
    if not 0.0 < share < 1.0:
        raise InputError(
            "prevalence= needs rows with the event and rows without it; here every outcome is "
            f"{'1' if share > 0 else '0'}"
        )
    factor = np.where(z > 0, prevalence / share, (1.0 - prevalence) / (1.0 - share))
    return replace(samples, weights=w * factor)
