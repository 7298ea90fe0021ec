"""Populations that try to break a certificate, and samples of them by prediction."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class World:
    """Predictions u, the share of rows of each, and the true chance of the event there."""

    u: np.ndarray
    share: np.ndarray
    chance: np.ndarray

    @property
    def residual(self):
        return self.share * (self.u - self.chance)

    def draw(self, n, samples, rng):
        """Mean residuals by prediction, (samples, predictions), and mean squares, (samples,)."""
        rows = rng.multinomial(n, self.share, size=samples)
        events = rng.binomial(rows, self.chance)
        squares = rows * self.u**2 + events * (1 - 2 * self.u)
        return (rows * self.u - events) / n, squares.sum(axis=1) / n


def _world(u, share, chance):
    u, share, chance = np.broadcast_arrays(*map(np.atleast_1d, (u, share, chance)))
    return World(u * 1.0, share / share.sum(), np.clip(chance, 0.0, 1.0))


_MIDDLES = (np.arange(15) + 0.5) / 15
_MANY = (np.arange(300) + 0.5) / 300


def worlds(n):
    """The worlds by name; some are made for n rows."""
    small = 3.0 / n
    signs = np.where(np.arange(15) % 2, 1.0, -1.0)
    return {
        "calibrated": _world(_MIDDLES, 1.0, _MIDDLES),
        "one bin, all too high": _world(0.9, 1.0, 0.8),
        "one bin, a coin": _world(0.6, 1.0, 0.5),
        "signs in turn": _world(_MIDDLES, 1.0, _MIDDLES + 0.06 * signs),
        "gaps as large as noise": _world(_MIDDLES, 1.0, _MIDDLES + signs * 0.5 / np.sqrt(n / 15)),
        "sure, with misses that are not seen": _world(1.0, 1.0, 1.0 - small),
        "sure of no event": _world(0.0, 1.0, small),
        "one bad bin of few rows": _world([0.1, 0.9], [1 - small, small], [0.1, 0.1]),
        "rare events": _world(0.01 * _MIDDLES, 1.0, 0.012 * _MIDDLES),
        "more predictions than rows": _world(_MANY, 1.0, _MANY**1.2),
        "always wrong": _world([0.02, 0.98], 1.0, [0.98, 0.02]),
    }


def errors(residual):
    """ECE by prediction, KS, cutoff error and root of LinCE from mean residuals, (..., u)."""
    path = np.cumsum(residual, axis=-1)
    path = np.concatenate([np.zeros((*path.shape[:-1], 1)), path], axis=-1)
    return {
        "ece": np.abs(residual).sum(axis=-1),
        "ks_error": np.abs(path).max(axis=-1),
        "cutoff_ce": path.max(axis=-1) - path.min(axis=-1),
        "lin_ce": np.sqrt((residual**2).sum(axis=-1)),
    }
