"""Class priors: read from what a user gives, found in labels, or in predictions without labels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from calibrant._core.errors import InputError
from calibrant._core.validation import is_number
from calibrant._data.links import LOG_FLOOR, softmax
from calibrant.scaling._predictions import FloatArray

Prior = float | Sequence[float] | FloatArray
MAX_STEPS = 20_000
# EM ends at a step shorter than SHORT; the search for the ratio ends at a gradient of norm FLAT.
SHORT, FLAT = 1e-10, 1e-10
# A share below one in a million that still shrinks by more than 1 in 10,000 a step tends to 0.
SHRINKING, NO_SHARE = 1 - 1e-4, 1e-6


@dataclass(frozen=True, eq=False)
class PriorFit:
    """The result of a search: one number for each class (a prior, or a ratio of priors), the number
    of steps, and whether it converged. `vanished` are the classes whose likeliest share is 0.
    """

    values: FloatArray
    n_iter: int
    reached: bool
    vanished: tuple[int, ...] = ()


def as_prior(given: Any, argument: str, n_classes: int | None = None) -> FloatArray:
    """The prior `given` by the user as one share for each class, (k,), which sum to 1; a single
    number is the share of class 1 of two. An InputError that names the argument if it is no prior,
    or not one of `n_classes` classes.
    """
    need = (
        f"{argument} must be the share of class 1, a number between 0 and 1 such as 0.02, or a "
        "list of the shares of all classes that sums to 1"
    )
    if is_number(given):
        if not 0 < float(given) < 1:
            more = ". If it is a percentage, divide it by 100" if 1 <= float(given) <= 100 else ""
            raise InputError(f"{need}; got {given!r}{more}")
        prior = np.array([1.0 - float(given), float(given)])
    else:
        try:
            prior = np.asarray(given, dtype=np.float64)
        except (TypeError, ValueError):
            raise InputError(f"{need}; got {given!r}") from None
        if prior.ndim != 1 or prior.size < 2 or not abs(prior.sum() - 1.0) <= 1e-6:
            raise InputError(f"{need}; got {given!r}")
        if not (prior > 0).all():
            raise InputError(f"{argument} must give every class a share above 0; got {given!r}")
        prior = prior / prior.sum()
    if n_classes is not None and prior.size != n_classes:
        raise InputError(
            f"{argument} must have a share for each of the {n_classes} classes of y_proba, in its "
            f"order; it has {prior.size}"
        )
    return prior


def shares_of_labels(mass: FloatArray, names: Sequence[str], remedy: str) -> FloatArray:
    """The share of each class in the labels, (k,), from their `mass` in each class; an InputError,
    which ends with `remedy`, if a class has none.
    """
    absent = [name for name, own in zip(names, mass, strict=True) if not own > 0]
    if absent:
        raise InputError(
            f"y_true has no label of class {absent[0]}, so its share cannot be adjusted: {remedy}"
        )
    return mass / mass.sum()


def prior_by_em(proba: FloatArray, source: FloatArray, shares: FloatArray) -> PriorFit:
    """The prior under which unlabelled predictions are likeliest, by the EM algorithm of Saerens et
    al. `proba` (n, k) are predictions that are calibrated at the prior `source`, `shares` (n,) the
    weights.
    """
    likelihood = proba / source
    prior = source
    for step in range(1, MAX_STEPS + 1):
        mixture = np.maximum(likelihood @ prior, np.finfo(np.float64).tiny)
        growth = (shares / mixture) @ likelihood
        last, prior = prior, prior * growth
        prior = prior / prior.sum()
        if np.abs(prior - last).max() <= SHORT:
            # A share with a limit above 0 has stopped changing; one that still shrinks tends to 0.
            vanished = np.flatnonzero((growth < SHRINKING) & (prior < NO_SHARE))
            return PriorFit(prior, step, True, tuple(vanished.tolist()))
    return PriorFit(prior, MAX_STEPS, False)


def ratio_by_labels(log_p: FloatArray, targets: FloatArray, shares: FloatArray) -> PriorFit:
    """Fit the ratio r of new to old prior, a number for each class, with the least log loss of the
    predictions p r / sum(p r), from log p (n, k).

    A probability of 0 (at or below LOG_FLOOR) stays 0 whatever the ratio is. Such classes are left
    out of their rows, and labels that have such a probability do not count.
    """
    possible = log_p > np.log(LOG_FLOOR)
    movable = np.where(possible, targets, 0.0)
    mass = shares * movable.sum(axis=1)
    prior: FloatArray = shares @ movable
    seen, rows = prior > 0, mass != 0
    log_p = np.where(possible, log_p, -np.inf)[rows][:, seen]
    share, shares_of_rows = prior[seen] / mass.sum(), mass[rows] / mass.sum()

    def value_and_gradient(theta: FloatArray) -> tuple[float, FloatArray]:
        """The log loss and its gradient at theta, the logarithms of the ratio."""
        scores = log_p + theta
        top = scores.max(axis=1)
        powers = np.exp(scores - top[:, None])
        total = powers.sum(axis=1)
        value = float(shares_of_rows @ (top + np.log(total)) - share @ theta)
        return value, (shares_of_rows / total) @ powers - share

    def curvature(theta: FloatArray, moved: FloatArray) -> FloatArray:
        """The Hessian of the log loss at theta times the direction `moved`."""
        q = softmax(log_p + theta)
        return (shares_of_rows @ q) * moved - (shares_of_rows * (q @ moved)) @ q

    mean = shares_of_rows @ np.exp(log_p) if mass.any() else share
    return best_ratio(shares @ targets, prior, mean, value_and_gradient, curvature)


def best_ratio(
    mass: FloatArray,
    movable: FloatArray,
    mean: FloatArray,
    value_and_gradient: Callable[[FloatArray], tuple[float, FloatArray]],
    curvature: Callable[[FloatArray, FloatArray], FloatArray],
) -> PriorFit:
    """The ratio of new to old prior with the least log loss, a number for each class.

    `mass` (k,) is that of the labels of each class, `movable` that of labels whose predictions are
    not 0. The other arguments are of the classes of which some are: their `mean` predictions, and
    the loss with its derivatives as functions of the logarithms of the ratio.
    """
    from scipy.optimize import minimize

    # A class without labels gets the smallest ratio, which fits best. A class whose labels all have
    # a prediction of 0 keeps the ratio 1: its rows say nothing about it.
    ratio, seen = np.where(mass > 0, 1.0, LOG_FLOOR), movable > 0
    if not seen.any():
        return PriorFit(ratio, 0, True)
    share = movable[seen] / movable.sum()
    # Coordinates in which the loss curves about equally.
    scale = 1.0 / np.sqrt(np.maximum(share * (1.0 - share), LOG_FLOOR))

    def scaled(phi: FloatArray) -> tuple[float, FloatArray]:
        """The loss and its gradient at phi, the logarithms of the ratio divided by `scale`."""
        value, gradient = value_and_gradient(scale * phi)
        return value, scale * gradient

    start = np.log(share) - np.log(mean)
    found = minimize(
        scaled,
        (start - start @ share) / scale,
        jac=True,
        hessp=lambda phi, along: scale * curvature(scale * phi, scale * along),
        method="trust-ncg",
        options={"gtol": FLAT, "maxiter": 200, "max_trust_radius": 1e3},
    )
    steepest = np.abs(scaled(found.x)[1]).max()
    log_ratio = scale * found.x
    ratio[seen] = np.exp(np.clip(log_ratio - log_ratio @ share, -100.0, 100.0))
    return PriorFit(ratio, int(found.nit), bool(steepest <= 1e-6))
