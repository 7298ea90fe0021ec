"""Temperature first, then a penalised step away from it: the fits of structured scaling.

The scores of a structured map are logarithms of the predictions after temperature scaling, drawn a
little towards the uniform distribution, so that none is infinite. The penalty holds the map to
these scores: with few rows it is temperature scaling, with many it is free.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant._data.links import softmax
from calibrant.scaling._linear import about_search, centred
from calibrant.scaling._predictions import FloatArray, Predictions
from calibrant.scaling._problem import Learned, Problem, Solution
from calibrant.scaling._softmax_fit import SoftmaxLoss
from calibrant.scaling._temperature import HIGHEST, LOWEST, fit_temperature

# Weights whose mean is below this were meant as shares of 1, not as numbers of rows.
SMALLEST_MEAN_WEIGHT = 0.1


@dataclass(frozen=True)
class Penalties:
    """What the squares of intercepts, of the diagonal less 1, and of all else are multiplied by."""

    intercept: float
    diagonal: float
    off_diagonal: float = 0.0

    @property
    def all(self) -> bool:
        return min(self.intercept, self.diagonal, self.off_diagonal) > 0


def scaled_scores(predictions: Predictions, temperature: float, uniform: float) -> FloatArray:
    """ln((1 - uniform) softmax(s / T) + uniform / k), one score a class."""
    rows = softmax(predictions.log_probabilities() / temperature)
    out: FloatArray = np.log((1.0 - uniform) * rows + uniform / rows.shape[1])
    return out


def check_scaling(temperature: object, uniform: object) -> None:
    """A ValueError unless these are a temperature and a share of the uniform distribution."""
    if not isinstance(temperature, float) or not LOWEST <= temperature <= HIGHEST:
        raise ValueError(f"a temperature outside [{LOWEST}, {HIGHEST:.0f}]")
    if not isinstance(uniform, float) or not 0.0 < uniform < 1.0:
        raise ValueError("a share of the uniform distribution outside (0, 1)")


def fit_structured_vector(problem: Problem, intercept: float, diagonal: float) -> Solution:
    """The best v and b of softmax(v x + b), held to v = 1 and b = 0."""
    start = _Start(problem)
    k, x = problem.n_classes, start.scores
    penalties = Penalties(intercept * start.per_row, diagonal * start.per_row, np.inf)
    pulled = 2.0 * np.repeat([penalties.diagonal, penalties.intercept], k)
    units: dict[int, NDArray[Any]] = {8: x, 4: x.astype(np.float32)}

    def curves(p: FloatArray) -> FloatArray:
        weights = problem.shares[:, None] * p * (1.0 - p)
        return np.concatenate([(weights * x**2).sum(axis=0), weights.sum(axis=0)])

    return start.solution(
        forward=lambda theta: units[theta.itemsize] * theta[:k] + theta[k:],
        back=lambda eta: np.concatenate([(eta * units[eta.itemsize]).sum(axis=0), eta.sum(axis=0)]),
        pulled=pulled,
        curves=curves,
        coef=lambda theta: 1.0 + theta[:k],
        penalised=penalties.all,
    )


def fit_structured_matrix(
    problem: Problem, intercept: float, diagonal: float, off_diagonal: float
) -> Solution:
    """The best W and b of softmax(W x + b), held to W = I and b = 0."""
    start = _Start(problem)
    k, x = problem.n_classes, start.scores
    penalties = Penalties(
        intercept * start.per_row, diagonal * start.per_row, off_diagonal * (k - 1) * start.per_row
    )
    of_matrix = np.full((k, k), penalties.off_diagonal)
    np.fill_diagonal(of_matrix, penalties.diagonal)
    pulled = 2.0 * np.concatenate([of_matrix.ravel(), np.full(k, penalties.intercept)])
    units: dict[int, NDArray[Any]] = {8: x, 4: x.astype(np.float32)}

    def curves(p: FloatArray) -> FloatArray:
        weights = problem.shares[:, None] * p * (1.0 - p)
        return np.concatenate([(weights.T @ x**2).ravel(), weights.sum(axis=0)])

    return start.solution(
        forward=lambda t: units[t.itemsize] @ t[: k * k].reshape(k, k).T + t[k * k :],
        back=lambda eta: np.concatenate([(eta.T @ units[eta.itemsize]).ravel(), eta.sum(axis=0)]),
        pulled=pulled,
        curves=curves,
        coef=lambda theta: np.eye(k) + theta[: k * k].reshape(k, k),
        penalised=penalties.all,
    )


class _Start:
    """Temperature scaling of a problem, and the scores that are left to be mended."""

    def __init__(self, problem: Problem) -> None:
        # Weights are numbers of rows here: how much rows say is weighed against the penalty.
        n = float(problem.weights.sum())
        self.problem = problem
        first = fit_temperature(problem)
        self.temperature = float(np.asarray(first.learned["temperature_"]))
        self.cautions, self.n_iter = first.cautions, first.n_iter
        self.uniform = 1.0 / (n + 1.0)
        self.per_row = problem.n_classes / n
        self.scores = scaled_scores(problem.predictions, self.temperature, self.uniform)
        counted = problem.weights[problem.weights > 0]
        if counted.mean() < SMALLEST_MEAN_WEIGHT:
            self.cautions += (
                f"the weights sum to {n:.3g} for {counted.size:,} rows, and the penalty takes "
                f"them for {n:.3g} rows. If they are shares, multiply them by the number of rows",
            )

    def solution(
        self,
        *,
        forward: Callable[[FloatArray], FloatArray],
        back: Callable[[FloatArray], FloatArray],
        pulled: FloatArray,
        curves: Callable[[FloatArray], FloatArray],
        coef: Callable[[FloatArray], FloatArray],
        penalised: bool,
    ) -> Solution:
        """The map at which log loss and penalty are least; parameters are steps away from I."""
        k, problem = self.problem.n_classes, self.problem
        loss = SoftmaxLoss(
            forward=forward,
            back=back,
            targets=problem.targets,
            shares=problem.shares,
            pull=lambda theta: pulled * theta,
            offset=self.scores,
            scales_at=lambda p: _OwnScales(curves(p) + pulled),
        )
        minimum = loss.minimum(np.zeros(len(pulled)))
        instead = "" if penalised else "penalties above 0"
        about = about_search(minimum, loss.logits(minimum.at), problem, instead)
        learned: dict[str, Learned] = {
            "temperature_": self.temperature,
            "uniform_": self.uniform,
            "coef_": coef(minimum.at),
            "intercept_": centred(minimum.at[-k:]),
        }
        return Solution(learned, (*self.cautions, *about), self.n_iter + minimum.n_iter)


class _OwnScales:
    """Each parameter in units in which the loss curves by about 1 along it."""

    radius = 4.0

    def __init__(self, curves: FloatArray) -> None:
        self._scale = 1.0 / np.sqrt(np.maximum(curves, 1e-12))

    def turn(self, phi: FloatArray) -> FloatArray:
        return phi * self._scale

    def turn_gradient(self, gradient: FloatArray) -> FloatArray:
        return gradient * self._scale

    def undo(self, theta: FloatArray) -> FloatArray:
        return theta / self._scale
