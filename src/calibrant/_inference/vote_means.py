"""RecalibratedMean: what votes are on average, given the prediction, and how well that is known."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

# Beyond so many classes the mean has a slope alone.
SHIFTED_CLASSES = 30
# What is held against a square of parameters.
HELD = 1e-3
# Parts of the least probability that may have been mixed into all of them, how large that must be
# to be looked at, and what the log-likelihood must gain.
MIXED, LEAST_MIXED, EVIDENCE_OF_MIXING = (0.5, 0.75, 0.9, 0.96, 0.99, 0.999), 1e-3, 4.0


def normalised(logs: Array) -> Array:
    """Rows of probabilities from their logarithms, which need not be normalised."""
    out: Array = np.exp(logs - logs.max(axis=-1, keepdims=True))
    out /= out.sum(axis=-1, keepdims=True)
    return out


@dataclass(frozen=True, eq=False)
class RecalibratedMean:
    """Predictions after a slope on their logarithms h and a shift for each class.

    Parameters are the slope, then the shifts of all classes but the last.
    """

    h: Array
    z: Array
    w: Array
    slope: float
    shift: Array
    shifts: int

    @cached_property
    def mean(self) -> Array:
        return normalised(self.slope * self.h + self.shift)

    @cached_property
    def information(self) -> Array:
        return information(self.h, self.mean, self.w, self.shifts) + HELD * np.eye(self.shifts + 1)

    def contracted(self, columns: Array) -> Array:
        """What sums over classes of columns (n, k) times log-means change by with each parameter:
        (n, parameters). The columns need not be positive, nor sum to the same in every row.
        """
        total = columns.sum(axis=1)
        centre = (self.mean * self.h).sum(axis=1)
        slope = (columns * self.h).sum(axis=1) - centre * total
        shifts = columns[:, : self.shifts] - self.mean[:, : self.shifts] * total[:, None]
        return np.concatenate([slope[:, None], shifts], axis=1)

    def moved(self, steps: Array) -> Array:
        """How the means of rows move with steps of the parameters, (n, k) of (n, parameters)."""
        eta = steps[:, :1] * self.h
        eta[:, : self.shifts] += steps[:, 1:]
        out: Array = self.mean * (eta - (self.mean * eta).sum(axis=1, keepdims=True))
        return out

    @cached_property
    def steps(self) -> Array:
        """How far each row moves the parameters: (n, parameters)."""
        return self.steps_of(self.z)

    def steps_of(self, z: Array) -> Array:
        """How far rows of other shares would move them, to first order."""
        scores = self.contracted(self.w[:, None] * (z - self.mean))
        return np.asarray(np.linalg.solve(self.information, scores.T).T, dtype=np.float64)

    def without_each(self) -> Array:
        """The mean of every row as the other rows have it, to first order."""
        return self.mean - self.moved(self.steps)

    def at(self, step: Array) -> Array:
        """The means where the parameters are larger by so much."""
        shift = self.shift.copy()
        shift[: self.shifts] += step[1:]
        return normalised((self.slope + float(step[0])) * self.h + shift)

    def drawn_steps(self, n_draws: int, rng: np.random.Generator) -> Array:
        """Steps that scatter as the parameters do from sample to sample: (draws, parameters)."""
        return rng.standard_normal((n_draws, len(self.steps))) @ self.steps


def recalibrated_mean(p: Array, z: Array, w: Array) -> RecalibratedMean:
    """The recalibration of predictions that is most likely given the shares; a little is held
    against leaving them as they are.

    Predictions that were mixed with equal ones, as label smoothing does, never come near 0: where
    the shares show it, they are taken apart first.
    """
    k = p.shape[1]
    least = min(float(p.min()), (1.0 - 1e-9) / k)
    as_they_are, likely = _most_likely(p, z, w)
    if least <= LEAST_MIXED:
        return as_they_are
    apart = [(p - part * least) / (1.0 - k * part * least) for part in MIXED]
    best, gain = max((_most_likely(each, z, w) for each in apart), key=lambda fit: fit[1])
    return best if gain > likely + EVIDENCE_OF_MIXING else as_they_are


def _most_likely(p: Array, z: Array, w: Array) -> tuple[RecalibratedMean, float]:
    """The most likely slope and shifts, and their log-likelihood."""
    k = p.shape[1]
    h = np.log(np.maximum(p, 1e-6))
    h = h - h.mean(axis=1, keepdims=True)
    shifts = k - 1 if k <= SHIFTED_CLASSES else 0
    w = w * (len(w) / w.sum())

    def mean_at(theta: Array) -> Array:
        return normalised(theta[0] * h + np.append(theta[1:], np.zeros(k - shifts)))

    def gain(theta: Array) -> float:
        """The likelihood, less what is held against a move from slope 1 and no shifts."""
        likely = float(w @ (z * np.log(np.maximum(mean_at(theta), 1e-300))).sum(axis=1))
        return likely - 0.5 * HELD * float((theta - start) @ (theta - start))

    start = np.append(1.0, np.zeros(shifts))
    theta, best = start, gain(start)
    for _ in range(100):
        mean = mean_at(theta)
        away = w[:, None] * (z - mean)
        score = np.append((away * h).sum(), away.sum(axis=0)[:shifts]) - HELD * (theta - start)
        step = np.linalg.solve(information(h, mean, w, shifts) + HELD * np.eye(theta.size), score)
        # Where predictions are all but certain a whole step overshoots, and the next one back.
        while (found := gain(theta + step)) < best and np.abs(step).max() >= 1e-9:
            step = step / 2.0
        theta, best = theta + step, found
        if np.abs(step).max() < 1e-9:
            break
    slope, shift = float(theta[0]), np.append(theta[1:], np.zeros(k - shifts))
    return RecalibratedMean(h, z, w, slope, shift, shifts), best


def information(h: Array, mean: Array, w: Array, shifts: int) -> Array:
    """What rows of weights w tell of a slope and of shifts."""
    wm = w[:, None] * mean
    centre = (mean * h).sum(axis=1)
    out = np.zeros((shifts + 1, shifts + 1))
    out[0, 0] = (wm * h * h).sum() - (w * centre**2).sum()
    cross = (wm * (h - centre[:, None])).sum(axis=0)[:shifts]
    out[0, 1:] = out[1:, 0] = cross
    out[1:, 1:] = (np.diag(wm.sum(axis=0)) - mean.T @ wm)[:shifts, :shifts]
    return out
