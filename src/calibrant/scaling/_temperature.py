"""Temperature scaling: one number for all classes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np

from calibrant._core.validation import public
from calibrant._data.links import softmax
from calibrant.scaling._device_temperature import logits_on_device
from calibrant.scaling._formula import Inputs, Node, softmax_nodes
from calibrant.scaling._predictions import FloatArray, Predictions
from calibrant.scaling._problem import Problem, Solution
from calibrant.scaling._scaler import Scaler

LOWEST, HIGHEST = 1e-3, 1e3
# The first and second derivative of a loss at 1/T.
Derivative = Callable[[float], tuple[float, float]]


class TemperatureScaling(Scaler):
    r"""Temperature scaling: logits divided by one number, so that the top label stays.

    .. math:: q_i = \mathrm{softmax}(s_i / T)

    where s are logits or, with ``from_logits=False``, logarithms of probabilities, and T minimises
    the log loss. The loss is convex in 1/T; its minimum is found by Newton's method on the exact
    derivatives. T is kept in [0.001, 1000], with a warning at either end: predictions that are
    right on every row have no best temperature. A binary prediction is a single logit, divided by
    T.

    Parameters
    ----------
    from_logits : bool, default True
        Whether the predictions are logits (else probabilities).
    from_logprobs : bool, default False
        Whether the predictions are log-probabilities: exp is applied to (n,), a softmax to (n, k).
        Goes before `from_logits`.

    Attributes
    ----------
    temperature_ : float
        T, in [0.001, 1000]; above 1 the predictions were overconfident.
    n_classes_, n_rows_, n_iter_ : int
        Classes and rows of the fit, and steps of the optimiser.
    loss_before_, loss_ : float
        Log loss on the rows of the fit, before and after.

    References
    ----------
    Guo, Pleiss, Sun and Weinberger (2017), On Calibration of Modern Neural Networks, ICML,
    arXiv:1706.04599.

    Examples
    --------
    >>> from calibrant import examples
    >>> from calibrant.scaling import TemperatureScaling
    >>> fashion = examples.load("fashion")
    >>> scaler = TemperatureScaling().fit(fashion.val_labels, fashion.val_logits)
    >>> round(scaler.temperature_, 3)
    1.79
    >>> scaler.transform(fashion.test_logits).shape
    (4000, 10)
    """

    _learned: ClassVar[tuple[str, ...]] = ("temperature_",)
    _class_by_class = False
    temperature_: float

    @public
    def __init__(self, *, from_logits: bool = True, from_logprobs: bool = False) -> None:
        self.from_logits = from_logits
        self.from_logprobs = from_logprobs

    @classmethod
    def _n_parameters(cls, k: int) -> float:
        return 1

    def _check_learned(self) -> None:
        if not isinstance(self.temperature_, float) or not LOWEST <= self.temperature_ <= HIGHEST:
            raise ValueError(f"a temperature outside [{LOWEST}, {HIGHEST:.0f}]")

    def _solve(self, problem: Problem) -> Solution:
        return fit_temperature(problem)

    def _fit_on_device(
        self, y_true: Any, y_proba: Any, sample_weight: Any, classes: Sequence[Any] | None
    ) -> bool:
        self._check_options()
        logits = None
        if self._given is True:
            logits = logits_on_device(y_true, y_proba, sample_weight, classes)
        if logits is None:
            return False
        loss_before = logits.loss_before  # checks every value on its way
        solution = Solution({"temperature_": 1.0})
        if not logits.says_nothing():
            solution = _solution(logits.derivatives)
        self.temperature_ = np.asarray(solution.learned["temperature_"]).item()
        self.n_classes_ = self._columns = logits.samples.n_classes
        self.n_rows_, self.n_iter_ = logits.samples.n, solution.n_iter
        self.loss_before_, self.loss_ = loss_before, logits.loss(1.0 / self.temperature_)
        self._remember_rows(logits.row_hashes())
        self._warn(solution.cautions)
        return True

    def _formula(self, inputs: Inputs) -> list[Node]:
        scaled = [s / self.temperature_ for s in inputs.scores]
        return inputs.of_classes(softmax_nodes(scaled, inputs.largest / self.temperature_))

    def _apply(self, predictions: Predictions) -> FloatArray:
        out = softmax(predictions.class_scores() / self.temperature_)
        return out if predictions.columns else out[:, 1]


def fit_temperature(problem: Problem) -> Solution:
    """The temperature of class scores at which the log loss of a problem is least."""
    scores = problem.predictions.class_scores()
    # Equal scores become exact zeros: a prediction that says nothing leaves T where it is.
    scores = scores - scores.max(axis=1, keepdims=True)
    if not scores.any():
        return Solution({"temperature_": 1.0})
    hits = (problem.targets * scores).sum(axis=1)
    return _solution(lambda slope: derivatives(slope, scores, hits, problem.shares))


def _solution(derivative: Derivative) -> Solution:
    """The temperature at which the loss is least, with a warning where it ran to an end."""
    slope, n_iter = _best_slope(derivative)
    cautions: tuple[str, ...] = ()
    if slope >= 1 / LOWEST:
        cautions = (
            f"the temperature ran to its lower end, {LOWEST}: the predictions are right on "
            "every row, and any lower temperature fits better still. Fit on more rows",
        )
    elif slope <= 1 / HIGHEST:
        cautions = (
            f"the temperature ran to its upper end, {HIGHEST:.0f}: the predictions say nothing "
            "about the targets, or the wrong way round. Check the order of the rows and of "
            "the classes",
        )
    return Solution({"temperature_": 1.0 / slope}, cautions, n_iter)


def derivatives(
    slope: float, scores: FloatArray, hits: FloatArray, shares: FloatArray
) -> tuple[float, float]:
    """The first and second derivative of the log loss in slope = 1/T; `hits` are the scores of what
    happened.
    """
    p = softmax(slope * scores)
    room = p * scores
    mean = room.sum(axis=1)
    # In the room of the product: a new array for each step costs as much as what is put there.
    np.subtract(scores, mean[:, None], out=room)
    room *= room
    room *= p
    return float(shares @ (mean - hits)), float(shares @ room.sum(axis=1))


def _best_slope(derivative: Derivative) -> tuple[float, int]:
    """Newton's method on 1/T, kept inside a bracket that shrinks with every step."""
    low, high = 1 / HIGHEST, 1 / LOWEST
    if derivative(low)[0] >= 0:
        return low, 0
    if derivative(high)[0] <= 0:
        return high, 0
    slope = 1.0
    for n_iter in range(1, 200):  # noqa: B007 - halving alone would end well before
        first, second = derivative(slope)
        if first == 0:
            break
        low, high = (slope, high) if first < 0 else (low, slope)
        step = first / second if second > 0 else np.inf
        if abs(step) <= 1e-14 * slope:
            break
        # Past the bracket Newton's step is no use: take the middle, in orders of magnitude.
        after = slope - step if low < slope - step < high else float(np.sqrt(low * high))
        if abs(after - slope) <= 1e-14 * slope:
            break
        slope = after
    return slope, n_iter
