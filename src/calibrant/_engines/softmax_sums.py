"""The log loss of a softmax that is linear in its parameters, summed with both derivatives."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calibrant._core.typing import Array

# The largest loss of a row in the log loss, whose probabilities have a floor.
MOST_LOSS = -float(np.log(1e-12))


@dataclass(frozen=True, eq=False)
class FitFacts:
    """What a fit tells of its rows: their number and weight, the log loss of the predictions, the
    weight of each class's targets, of those whose predictions are above the floor and of its
    predictions, whether targets are hard, and rows with a probability of 0 for what happened, their
    number and weight.
    """

    n_rows: int
    weight: float
    loss: float
    mass: Array
    movable: Array
    predicted: Array
    hard: bool
    ruled_out: tuple[int, float]


@dataclass(frozen=True)
class SoftmaxModel:
    """Which parameters a class's logit is linear in: for each class pairs (parameter, whether it
    multiplies the class's score rather than 1). With `offset` the score itself is added. The logits
    of other classes, for which there is None, are left out of the softmax.
    """

    classes: tuple[tuple[tuple[int, bool], ...] | None, ...]
    offset: bool = False

    @classmethod
    def temperature(cls, k: int) -> SoftmaxModel:
        """One factor for the scores of all classes."""
        return cls((((0, True),),) * k)

    @classmethod
    def vector(cls, k: int) -> SoftmaxModel:
        """A factor and a bias for each class: the factors come first."""
        return cls(tuple(((r, True), (k + r, False)) for r in range(k)))

    @classmethod
    def biases(cls, seen: list[bool]) -> SoftmaxModel:
        """A bias for each of the classes that were seen; their scores have the factor 1."""
        numbers = iter(range(len(seen)))
        return cls(tuple(((next(numbers), False),) if s else None for s in seen), offset=True)

    @property
    def own_classes(self) -> list[int]:
        """The classes whose logits the model has."""
        return [r for r, pairs in enumerate(self.classes) if pairs is not None]

    @property
    def n_parameters(self) -> int:
        """The number of parameters."""
        return 1 + max(j for pairs in self.classes for j, _ in pairs or ())


@dataclass(frozen=True, eq=False)
class SoftmaxSums:
    """Sums over rows at some parameters: of weights, of the loss, of the loss with the floor of
    probabilities, of the gradient and the Hessian; and the rows that the map is not right on.
    """

    weight: float
    loss: float
    floored: float
    gradient: Array
    hessian: Array
    n_wrong: float

    def __add__(self, other: SoftmaxSums) -> SoftmaxSums:
        """The sums of the rows of both."""
        return SoftmaxSums(*(getattr(self, n) + getattr(other, n) for n in self.__annotations__))


def softmax_sums(
    model: SoftmaxModel, theta: Array, scores: Array, targets: Array, weights: Array
) -> SoftmaxSums:
    """The sums of rows in memory: scores and targets (n, k), weights (n,). A score of -inf is that
    of a class which is not possible.
    """
    # A row of the arrays for each class: there are few, and sums over them are fast in this order.
    classes = model.own_classes
    x, q = (np.ascontiguousarray(each.T[classes]) for each in (scores, targets))
    pairs = [model.classes[r] or () for r in classes]
    eta = x.copy() if model.offset else np.zeros(x.shape)
    for c, own in enumerate(pairs):
        for j, scaled in own:
            eta[c] += theta[j] * x[c] if scaled else theta[j]
    eta -= eta.max(axis=0)
    p = np.exp(eta)
    total = p.sum(axis=0)
    p /= total
    losses = np.log(total) - np.maximum(eta, -1e300)  # of each class; -inf times 0 is no number
    hit = q > 0
    wrong = np.where(hit, eta, -np.inf).max(axis=0) <= np.where(hit, -np.inf, eta).max(axis=0)
    gradient, hessian = np.zeros(len(theta)), np.zeros((len(theta),) * 2)
    mean = np.zeros((len(theta), len(weights)))
    ones = np.ones(len(weights))
    for c, own in enumerate(pairs):
        residual, mass = weights * (p[c] - q[c]), weights * p[c]
        features = {j: x[c] if scaled else ones for j, scaled in own}
        for j, feature in features.items():
            gradient[j] += residual @ feature
            mean[j] += p[c] * feature
            for i, other in features.items():
                hessian[j, i] += (mass * feature) @ other
    hessian -= (mean * weights) @ mean.T
    loss = float(weights @ (q * losses).sum(axis=0))
    floored = float(weights @ (q * np.minimum(losses, MOST_LOSS)).sum(axis=0))
    n_wrong = float(np.count_nonzero(wrong & (weights > 0)))
    return SoftmaxSums(float(weights.sum()), loss, floored, gradient, hessian, n_wrong)
