"""Softmax of a linear map of class scores: vector scaling, matrix scaling, Dirichlet calibration.

The maps differ in the scores they read and in the coefficients that are free. Scores of different
classes are correlated and have any scale, so the search for the best coefficients runs in
coordinates in which scores have mean 0 and unit spread and, for matrices, are uncorrelated.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from calibrant._core.errors import InputError
from calibrant._core.validation import is_number, public
from calibrant._data.links import softmax
from calibrant._engines.softmax_sums import SoftmaxModel
from calibrant.scaling._docstrings import documented
from calibrant.scaling._formula import Inputs, Node, softmax_nodes
from calibrant.scaling._predictions import FloatArray, Predictions
from calibrant.scaling._problem import Problem, Solution
from calibrant.scaling._scaler import Scaler
from calibrant.scaling._softmax_fit import (
    Minimum,
    SoftmaxLoss,
    VectorForm,
    deviations,
    not_reached,
    spread,
    summed_minimum,
)
from calibrant.scaling._summed_rows import SoftmaxPasses, SummedRows

SEPARABLE = (
    "the fitted map is right on every row, so a steeper map always fits better and the search has "
    "no end: the parameters are those of its last step. Fit on more rows, or use {instead}"
)


def check_l2(argument: str, value: Any) -> None:
    """Raise an InputError unless the penalty `argument` is a finite number of at least 0."""
    if not is_number(value) or not 0 <= float(value) < np.inf:
        raise InputError(f"{argument} must be a finite number, at least 0; got {value!r}")


class LinearMap(Scaler):
    """softmax(coef . scores + intercept), where coef is a factor for each class or a matrix."""

    _learned: ClassVar[tuple[str, ...]] = ("coef_", "intercept_")
    _tried_on = ("multiclass",)
    # Dimensions of `coef_`: 1 for a factor for each class, 2 for a matrix.
    _coef_ndim: ClassVar[int]
    coef_: FloatArray
    intercept_: FloatArray

    def _scores(self, predictions: Predictions) -> FloatArray:
        """The class scores that the map is linear in: logits as they came, or logarithms of
        probabilities, (n, k).
        """
        return predictions.class_scores()

    def _check_learned(self) -> None:
        """Raise a ValueError if coefficients or biases read from a file do not fit the map's number
        of classes.
        """
        k = self.n_classes_
        for name, ndim in (("coef_", self._coef_ndim), ("intercept_", 1)):
            if np.shape(getattr(self, name)) != (k,) * ndim:
                raise ValueError(f"{name} does not fit {k} classes")

    def _apply(self, predictions: Predictions) -> FloatArray:
        """Recalibrated probabilities, in the shape of the predictions."""
        scores = self._scores(predictions)
        mapped = scores * self.coef_ if self._coef_ndim == 1 else scores @ self.coef_.T
        out = softmax(mapped + self.intercept_)
        return out if predictions.columns else out[:, 1]


@documented
class VectorScaling(LinearMap):
    r"""Vector scaling: each class's logit gets its own factor and its own bias.

    .. math:: q_i = \mathrm{softmax}(v \odot s_i + b)

    where s are logits or, with ``from_logits=False``, logarithms of probabilities, and v, b
    minimise the log loss; b has mean 0. Predictions (n,) are two classes: a logit h is (-h/2, h/2).
    Logits that differ by a constant in each row give different fits, as in the paper.

    Attributes
    ----------
    coef_ : ndarray of shape (k,)
        v, one factor for each class.
    intercept_ : ndarray of shape (k,)
        b, one bias for each class.

    References
    ----------
    Guo, Pleiss, Sun and Weinberger (2017), arXiv:1706.04599, section 4.2.

    Examples
    --------
    >>> from calibrant import examples
    >>> from calibrant.scaling import VectorScaling
    >>> fashion = examples.load("fashion")
    >>> scaler = VectorScaling().fit(fashion.val_soft_labels, fashion.val_logits)
    >>> scaler.coef_.shape, scaler.intercept_.shape
    ((10,), (10,))
    """

    _coef_ndim = 1

    @public
    def __init__(self, *, from_logits: bool = True, from_logprobs: bool = False) -> None:
        super().__init__(from_logits=from_logits, from_logprobs=from_logprobs)

    @classmethod
    def _n_parameters(cls, k: int) -> float:
        """The number of fitted parameters for k classes: a factor and a bias for each."""
        return 2 * k

    def _solve(self, problem: Problem) -> Solution:
        """Fit the factors and biases with the least log loss."""
        return _fit_vector(problem, self._scores(problem.predictions))

    def _solve_sums(self, rows: SummedRows) -> tuple[Solution, float | None]:
        """Fit the factors and biases of rows (n, k) that are summed."""
        k = rows.columns or 2
        mean, variance, _ = rows.moments()
        deviation = deviations(mean, np.sqrt(variance))
        passes, unit = SoftmaxPasses(rows, SoftmaxModel.vector(k)), np.eye(k)
        turn = np.block([[unit / deviation, 0.0 * unit], [-unit * (mean / deviation), unit]])
        minimum = summed_minimum(passes, turn, np.concatenate([deviation, mean - mean.mean()]))
        found = passes(turn @ minimum.at)
        factors, bias = np.split(turn @ minimum.at, 2)
        cautions = () if minimum.reached else (not_reached(minimum.n_iter),)
        if not found.n_wrong and rows.facts.hard:
            cautions = (SEPARABLE.format(instead="TemperatureScaling"),)
        solution = Solution(
            {"coef_": factors, "intercept_": centred(bias)}, cautions, minimum.n_iter
        )
        return solution, found.floored / found.weight

    def _formula(self, inputs: Inputs) -> list[Node]:
        """The map as a formula of the inputs, one node for each output."""
        terms = zip(inputs.scores, self.coef_, self.intercept_, strict=True)
        steepest, furthest = (np.abs(each).max() for each in (self.coef_, self.intercept_))
        largest = 2 * (steepest * inputs.largest + furthest)
        return inputs.of_classes(softmax_nodes([s * v + b for s, v, b in terms], largest))


@documented
class MatrixScaling(LinearMap):
    r"""Matrix scaling: a linear map of the logits, with an optional penalty.

    .. math:: q_i = \mathrm{softmax}(W s_i + b)

    where s are logits or, with ``from_logits=False``, logarithms of probabilities. W and b minimise
    the log loss plus

    .. math:: \lambda \Bigl[ \frac{1}{k(k-1)} \sum_{r \ne t} W_{rt}^2 + \frac{1}{k} \sum_r b_r^2
        \Bigr]

    with ``l2`` for lambda (the off-diagonal and intercept regularisation of Kull et al.; 0 by
    default). With few rows, k² + k parameters overfit: with many classes give an ``l2``, and choose
    it on separate rows. Predictions (n,) are two classes: a logit h is (-h/2, h/2).

    Parameters
    ----------
    l2 : float, default 0.0
        lambda, the weight of the penalty; finite and not negative.

    Attributes
    ----------
    coef_ : ndarray of shape (k, k)
        W, one row for each class.
    intercept_ : ndarray of shape (k,)
        b, one bias for each class.

    References
    ----------
    Guo, Pleiss, Sun and Weinberger (2017), arXiv:1706.04599, section 4.2; Kull et al. (2019),
    arXiv:1910.12656.

    Examples
    --------
    >>> from calibrant import examples
    >>> from calibrant.scaling import MatrixScaling
    >>> fashion = examples.load("fashion")
    >>> scaler = MatrixScaling(l2=0.1).fit(fashion.val_soft_labels, fashion.val_logits)
    >>> scaler.coef_.shape
    (10, 10)
    """

    _coef_ndim = 2
    _option_checks = (("l2", check_l2),)

    @public
    def __init__(
        self, *, l2: float = 0.0, from_logits: bool = True, from_logprobs: bool = False
    ) -> None:
        self.l2 = l2
        super().__init__(from_logits=from_logits, from_logprobs=from_logprobs)

    @classmethod
    def _n_parameters(cls, k: int) -> float:
        """The number of fitted parameters for k classes: a matrix (k, k) and k biases."""
        return k * k + k

    def _solve(self, problem: Problem) -> Solution:
        """Fit the matrix and the biases with the least sum of log loss and penalty."""
        return _fit_matrix(problem, self._scores(problem.predictions), float(self.l2))


@documented
class DirichletCalibration(MatrixScaling):
    r"""Dirichlet calibration: the correct map for Dirichlet-distributed predictions of each class.

    .. math:: q_i = \mathrm{softmax}(W \ln p_i + b)

    where p are the predicted probabilities (the softmax of logits, with ``from_logits=True``),
    lifted to 1e-12. W and b minimise the log loss plus

    .. math:: \lambda \Bigl[ \frac{1}{k(k-1)} \sum_{r \ne t} W_{rt}^2 + \frac{1}{k} \sum_r b_r^2
        \Bigr]

    with ``l2`` for lambda (ODIR; 0 by default). Predictions (n,) are the two classes (1 - p, p),
    for which this is beta calibration without its constraints.

    Parameters
    ----------
    l2 : float, default 0.0
        lambda, the weight of the penalty; finite and not negative.

    Attributes
    ----------
    coef_ : ndarray of shape (k, k)
        W, one row for each class.
    intercept_ : ndarray of shape (k,)
        b, one bias for each class.

    References
    ----------
    Kull, Perello-Nieto, Kängsepp, Silva Filho, Song and Flach (2019), Beyond temperature scaling,
    NeurIPS, arXiv:1910.12656.

    Examples
    --------
    >>> from calibrant import examples
    >>> from calibrant.scaling import DirichletCalibration
    >>> fashion = examples.load("fashion")
    >>> scaler = DirichletCalibration(l2=0.01).fit(fashion.val_labels, fashion.val_proba)
    >>> scaler.loss_ < scaler.loss_before_
    True
    """

    @public
    def __init__(
        self, *, l2: float = 0.0, from_logits: bool = False, from_logprobs: bool = False
    ) -> None:
        super().__init__(l2=l2, from_logits=from_logits, from_logprobs=from_logprobs)

    def _scores(self, predictions: Predictions) -> FloatArray:
        """The class scores that the map is linear in: the logarithms of probabilities, (n, k)."""
        return predictions.log_probabilities()


def _fit_vector(problem: Problem, scores: FloatArray) -> Solution:
    """Fit the factors v and biases b with the least log loss of softmax(v * scores + b), searched
    from v = 1 and b = 0.
    """
    k = problem.n_classes
    mean, deviation = spread(scores, problem.shares)
    form = VectorForm((scores - mean) / deviation)
    minimum = SoftmaxLoss(
        forward=form.forward, back=form.back, targets=problem.targets, shares=problem.shares
    ).minimum(np.concatenate([deviation, mean - mean.mean()]))
    factors = minimum.at[:k] / deviation
    bias = minimum.at[k:] - factors * mean
    cautions = about_search(minimum, scores * factors + bias, problem, "TemperatureScaling")
    return Solution({"coef_": factors, "intercept_": centred(bias)}, cautions, minimum.n_iter)


def _fit_matrix(problem: Problem, scores: FloatArray, l2: float) -> Solution:
    """Fit the matrix W and biases b with the least log loss of softmax(W scores + b) plus penalty,
    searched from the identity matrix and b = 0. `l2` is the weight of the penalty.
    """
    k, shares = problem.n_classes, problem.shares
    mean = shares @ scores
    whitening = _whitening(scores - mean, mean, shares, l2)
    unit = (scores - mean) @ whitening

    def pull(theta: FloatArray) -> FloatArray:
        """The gradient of the penalty in the search coordinates theta (the biases, then the matrix
        for whitened scores by rows).
        """
        # The penalty is a function of W and b, and theta holds their whitened form.
        matrix = theta[k:].reshape(k, k) @ whitening
        d_matrix, d_bias = penalty_gradients(matrix, theta[:k] - matrix @ mean, l2)
        d_turned = (d_matrix - np.outer(d_bias, mean)) @ whitening
        return np.concatenate([d_bias, d_turned.ravel()])

    penalty = _penalty_curvature(whitening, mean, l2)
    units: dict[int, NDArray[Any]] = {8: unit, 4: unit.astype(np.float32)}
    minimum = SoftmaxLoss(
        forward=lambda theta: units[theta.itemsize] @ theta[k:].reshape(k, k).T + theta[:k],
        back=lambda eta: np.concatenate([eta.sum(axis=0), (eta.T @ units[eta.itemsize]).ravel()]),
        targets=problem.targets,
        shares=shares,
        pull=pull if l2 else None,
        scales_at=lambda p: _ClassScales(units[4], shares, p, penalty),
    ).minimum(np.concatenate([mean - mean.mean(), np.linalg.inv(whitening).ravel()]))
    matrix = minimum.at[k:].reshape(k, k) @ whitening
    bias = minimum.at[:k] - matrix @ mean
    instead = "" if l2 else "l2=..."
    cautions = about_search(minimum, scores @ matrix.T + bias, problem, instead)
    return Solution({"coef_": matrix, "intercept_": centred(bias)}, cautions, minimum.n_iter)


class _ClassScales:
    """Coordinates phi in which the loss curves by about 1 in every direction (`Scales`).

    They are, first, coordinates of each class: rows count in it by p (1 - p), where p is the
    predicted probability, so that the curvature of a rare class differs from that of a common one
    by orders of magnitude. Second, coordinates that all classes share, if there is a penalty: what
    is added to every class alike changes the penalty alone. These are more coordinates than there
    are parameters, which does no harm to a search by conjugate gradients.
    """

    radius = 4.0

    def __init__(
        self, unit: NDArray[np.float32], shares: FloatArray, p: FloatArray, penalty: FloatArray
    ) -> None:
        """`unit` (n, k) are whitened scores, `shares` (n,) the weights, `p` (n, k) the
        probabilities around which the loss is scaled, and `penalty` (k, k + 1, k + 1) its curvature
        by class.
        """
        rows = np.hstack([np.ones((len(unit), 1), dtype=np.float32), unit])
        weights = (shares[:, None] * p * (1.0 - p)).astype(np.float32)
        curves = np.stack([(rows * w[:, None]).T @ rows for w in weights.T]) + penalty
        self._own, self._back = _root_and_inverse(curves)
        self._shared = _root_and_inverse(penalty.sum(axis=0))[0] if penalty.any() else None

    def turn(self, phi: FloatArray) -> FloatArray:
        """The parameters theta (biases, then the matrix by rows) at the search coordinates phi."""
        k = len(self._own)
        own = np.einsum("cij,cj->ci", self._own, phi[: k * (k + 1)].reshape(k, k + 1))
        if self._shared is not None:
            own += self._shared @ phi[k * (k + 1) :]
        return np.concatenate([own[:, 0], own[:, 1:].ravel()])

    def turn_gradient(self, gradient: FloatArray) -> FloatArray:
        """The gradient in phi from the gradient in theta."""
        rows = self._rows(gradient)
        own: FloatArray = np.einsum("cij,cj->ci", self._own, rows).ravel()
        if self._shared is None:
            return own
        return np.concatenate([own, self._shared @ rows.sum(axis=0)])

    def undo(self, theta: FloatArray) -> FloatArray:
        """Search coordinates phi of the parameters theta; the coordinates that all classes share
        are 0.
        """
        own: FloatArray = np.einsum("cij,cj->ci", self._back, self._rows(theta)).ravel()
        return own if self._shared is None else np.append(own, np.zeros(len(self._shared)))

    def _rows(self, theta: FloatArray) -> FloatArray:
        """The parameters theta as a matrix with one row for each class, (k, k + 1): its bias, then
        its row of W.
        """
        k = len(self._own)
        return np.hstack([theta[:k, None], theta[k:].reshape(k, k)])


def _root_and_inverse(curves: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Two symmetric square roots for each matrix (..., m, m): that of its inverse, and that of the
    matrix itself. Eigenvalues next to 0 are raised to 1e-6 of the largest, so that the roots are
    finite.
    """
    values, vectors = np.linalg.eigh(curves)
    scale = np.sqrt(np.maximum(values, np.maximum(1e-6 * values[..., -1:], 1e-12)))[..., None, :]
    turned = np.swapaxes(vectors, -1, -2)
    return (vectors / scale) @ turned, (vectors * scale) @ turned


def _penalty_curvature(whitening: FloatArray, mean: FloatArray, l2: float) -> FloatArray:
    """The matrix of second derivatives of the penalty in the search parameters of each class, (k, k
    + 1, k + 1); the bias of the class comes first.
    """
    k = len(mean)
    to_bias = np.concatenate([[1.0], -whitening @ mean])
    of_matrix = 2 * l2 / (k * (k - 1))
    out = np.tile(2 * l2 / k * np.outer(to_bias, to_bias), (k, 1, 1))
    own = whitening.T[:, :, None] * whitening.T[:, None, :]
    out[:, 1:, 1:] += of_matrix * (whitening @ whitening - own)
    return out


def penalty_gradients(
    matrix: FloatArray, bias: FloatArray, l2: float
) -> tuple[FloatArray, FloatArray]:
    """The gradients of the penalty in the matrix W and in the bias b. The penalty is l2 times (the
    mean of the squares off the diagonal of W plus the mean of the squares of b).
    """
    k = len(bias)
    off = matrix - np.diag(np.diag(matrix))
    return 2 * l2 * off / (k * (k - 1)), 2 * l2 * bias / k


def centred(bias: FloatArray) -> FloatArray:
    """The biases less their mean. Adding one number to all classes does not change a softmax."""
    return bias - bias.mean()


def _whitening(centred: FloatArray, mean: FloatArray, shares: FloatArray, l2: float) -> FloatArray:
    """The symmetric matrix (k, k) that makes `centred` scores (less their mean `mean`) uncorrelated
    and of unit variance. The penalty's curvature is counted in, relative to a class with 1/k of the
    rows.
    """
    k = len(mean)
    total = (shares[:, None] * centred).T @ centred
    total += 2 * l2 * (np.eye(k) / (k - 1) + np.outer(mean, mean))
    values, vectors = np.linalg.eigh(total)
    # Directions in which scores do not vary keep their scale.
    moving = values > max(1e-10 * float(values[-1]), 1e-24)
    scale = np.sqrt(np.where(moving, values, 1.0))
    return (vectors / scale) @ vectors.T


def about_search(
    minimum: Minimum, eta: FloatArray, problem: Problem, instead: str
) -> tuple[str, ...]:
    """The warnings about a search, if any: it stopped early, or no finite map is best; `eta` (n, k)
    are the fitted logits.

    No finite map is best if the map is right on every row; `instead` then says what to use. It is
    empty where a penalty prevents that.
    """
    if instead and problem.hard and _right_everywhere(eta, problem):
        return (SEPARABLE.format(instead=instead),)
    return () if minimum.reached else (not_reached(minimum.n_iter),)


def _right_everywhere(eta: FloatArray, problem: Problem) -> bool:
    """Whether the map predicts the target's class in every row of positive weight; doubling all
    logits would then lower the loss still further.
    """
    own = problem.targets == 1.0
    margin = np.where(own, eta, -np.inf).max(axis=1) - np.where(own, -np.inf, eta).max(axis=1)
    return bool((margin[problem.weights != 0] > 0).all())
