"""Votes drawn, and the laws of what may be behind them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant._inference.vote_means import normalised

Array = NDArray[np.float64]
Counts = NDArray[np.int64]


def one_vote(z: Array, rng: np.random.Generator) -> NDArray[np.intp]:
    """A vote of each row, drawn from its shares."""
    through = np.cumsum(z, axis=1)
    drawn = rng.random(len(z)) * through[:, -1]
    index = (through <= drawn[:, None]).sum(axis=1)
    out: NDArray[np.intp] = np.minimum(index, z.shape[1] - 1).astype(np.intp)
    return out


def vote_residuals(z: Array, m: Counts, rng: np.random.Generator) -> Array:
    """A vector for each row whose square has the mean of the votes' covariance: a vote drawn from
    the row, less the shares, over ``sqrt(m - 1)``.
    """
    out = -z / np.sqrt(np.maximum(m - 1, 1))[:, None]
    rows = np.arange(len(z))
    picked = one_vote(z, rng)
    out[rows, picked] += 1.0 / np.sqrt(np.maximum(m - 1, 1))
    return np.where((m > 1)[:, None], out, 0.0)


def drawn_counts(m: Counts, q: Array, rng: np.random.Generator) -> Counts:
    """Votes drawn from distributions (..., n, k), m of each row."""
    left = np.broadcast_to(m, q.shape[:-1]).astype(np.int64)
    rest = np.ones(q.shape[:-1])
    out = np.zeros(q.shape, dtype=np.int64)
    for r in range(q.shape[-1] - 1):
        chance = np.divide(q[..., r], rest, out=np.ones_like(rest), where=rest > 0)
        out[..., r] = rng.binomial(left, np.clip(chance, 0.0, 1.0))
        left = left - out[..., r]
        rest = rest - q[..., r]
    out[..., -1] = left
    return out


def some_votes(counts: Counts, j: Counts, rng: np.random.Generator) -> Counts:
    """j of the votes of every row, drawn without replacement."""
    left, rest = j.astype(np.int64), counts.sum(axis=-1)
    left = np.broadcast_to(left, rest.shape)
    out = np.zeros_like(counts)
    for r in range(counts.shape[-1] - 1):
        rest = rest - counts[..., r]
        out[..., r] = rng.hypergeometric(counts[..., r], rest, left)
        left = left - out[..., r]
    out[..., -1] = left
    return out


def dirichlet(mean: Array, spread: float, n_draws: int, rng: np.random.Generator) -> Array:
    """Rows of Dirichlet's law about a mean, (draws, n, k)."""
    shape = (n_draws, *mean.shape)
    if spread <= 0.0:
        return np.broadcast_to(mean, shape)
    if spread >= 1.0:
        through = np.cumsum(mean, axis=1)
        label = (through < rng.random((*shape[:2], 1)) * through[:, -1:]).sum(axis=2)
        out: Array = np.eye(shape[2])[np.minimum(label, shape[2] - 1)]
        return out
    return gamma_rows(np.broadcast_to(mean * (1.0 - spread) / spread, shape), rng)


def towards(mean: Array, spread: float, n_draws: int, rng: np.random.Generator) -> Array:
    """Rows that lie between their mean and a class that is drawn from it, all as far: (draws, n,
    k), of the same mean and second moment as Dirichlet's law.
    """
    out: Array = dirichlet(mean, 1.0, n_draws, rng)
    share = np.sqrt(spread)
    out *= share
    out += (1.0 - share) * mean
    return out


def gamma_rows(a: Array, rng: np.random.Generator) -> Array:
    """Distributions drawn from Dirichlet's law with parameters (n, k)."""
    a = np.maximum(a, 1e-12)
    # A gamma variate of a small shape underflows: the logarithm of one of shape a + 1 does not.
    return normalised(np.log(rng.standard_gamma(a + 1.0)) + np.log(rng.random(a.shape)) / a)


def log_chances(counts: Counts, mean: Array, spread: float) -> Array:
    """The log-likelihood of every row's votes under Dirichlet's law, but for a constant."""
    from scipy.special import gammaln

    m = counts.sum(axis=1)
    if spread >= 1.0:
        own = np.where(counts.max(axis=1) == m, mean[np.arange(len(m)), counts.argmax(axis=1)], 0.0)
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(own), dtype=np.float64)
    if spread <= 1e-6:
        out: Array = (counts * np.log(np.maximum(mean, 1e-12))).sum(axis=1)
        return out
    a = (1.0 - spread) / spread
    each = np.maximum(a * mean, 1e-9)
    own = (gammaln(each + counts) - gammaln(each)).sum(axis=1)
    return np.asarray(own - gammaln(a + m) + gammaln(a), dtype=np.float64)


def log_chances_towards(counts: Counts, mean: Array, spread: float) -> Array:
    """The same where rows lie between their mean and a class, all as far."""
    from scipy.special import logsumexp

    share = np.sqrt(spread)
    if not 0.0 < share < 1.0:
        return log_chances(counts, mean, float(spread))
    mean = np.maximum(mean, 1e-12)
    rest = (1.0 - share) * mean
    logs = np.log(rest)
    own = np.log(mean) + counts * (np.log(rest + share) - logs)
    return np.asarray((counts * logs).sum(axis=1) + logsumexp(own, axis=1), dtype=np.float64)


def log_chances_others(counts: Counts, p: Array, share: float, some: Array) -> Array:
    """The same where rows have the distribution p that is predicted, but for a share of them that
    have one of `some` others.
    """
    from scipy.special import logsumexp

    right = (counts * np.log(np.maximum(p, 1e-12))).sum(axis=1)
    if share <= 0.0:
        return np.asarray(right, dtype=np.float64)
    other = logsumexp(counts @ np.log(np.maximum(some, 1e-12)).T, axis=1) - np.log(len(some))
    both = np.logaddexp(np.log1p(-share) + right, np.log(share) + other)
    return np.asarray(both, dtype=np.float64)


def without(spread: Any, certain: Any) -> Any:
    """The spread of the other rows, where a share of all is certain."""
    return np.clip((spread - certain) / np.maximum(1.0 - certain, 1e-9), 0.0, 1.0)
