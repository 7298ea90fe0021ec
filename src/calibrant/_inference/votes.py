"""Votes drawn, and how shares of votes scatter."""

from __future__ import annotations

import numpy as np

from calibrant._core.typing import Array, Counts, Index


def one_vote(z: Array, rng: np.random.Generator) -> Index:
    """A vote of each row, drawn from its shares."""
    through = np.cumsum(z, axis=1)
    drawn = rng.random(len(z)) * through[:, -1]
    index = (through <= drawn[:, None]).sum(axis=1)
    return np.minimum(index, z.shape[1] - 1).astype(np.intp)


def vote_residuals(z: Array, m: Counts, rng: np.random.Generator) -> Array:
    """A vector for each row whose square has the mean of the votes' covariance: a vote drawn from
    the row, less the shares, over ``sqrt(m - 1)``.
    """
    out = -z / np.sqrt(np.maximum(m - 1, 1))[:, None]
    rows = np.arange(len(z))
    picked = one_vote(z, rng)
    out[rows, picked] += 1.0 / np.sqrt(np.maximum(m - 1, 1))
    return np.where((m > 1)[:, None], out, 0.0)
