"""Temperature scaling: one number for all classes.

Logits in torch tensors on a device are read there: the derivatives of the loss are summed on the
device, block by block, and two numbers a step come to the host. The search is over slope = 1/T,
where T is the temperature.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from calibrant._core.validation import public
from calibrant._data.arrays import stays_on_device
from calibrant._data.links import LOG_FLOOR, softmax
from calibrant._engines.softmax_sums import SoftmaxModel
from calibrant._summaries.samples import Summary
from calibrant.scaling._docstrings import documented
from calibrant.scaling._formula import Inputs, Node, softmax_nodes
from calibrant.scaling._predictions import FloatArray, Predictions
from calibrant.scaling._problem import Problem, Solution
from calibrant.scaling._same_rows import Hashes, hash_factors, splitmix64
from calibrant.scaling._scaler import Scaler
from calibrant.scaling._summed_rows import SoftmaxPasses, SummedRows

if TYPE_CHECKING:
    from torch import Tensor

    from calibrant._data.tensor_samples import TensorSamples

LOWEST, HIGHEST = 1e-3, 1e3
# The number of entries of a tensor that are read together.
BLOCK = 1 << 24
# The first and second derivative of a loss at 1/T.
Derivative = Callable[[float], tuple[float, float]]
# The solution where all scores of every row are equal: they hold no information on T.
UNCHANGED = Solution({"temperature_": 1.0})


@documented
class TemperatureScaling(Scaler):
    r"""Temperature scaling: logits divided by one number, which does not change the top label.

    .. math:: q_i = \mathrm{softmax}(s_i / T)

    where s are logits or, with ``from_logits=False``, logarithms of probabilities, and T minimises
    the log loss. The loss is convex in 1/T; its minimum is found by Newton's method on the exact
    derivatives. T is limited to [0.001, 1000], with a warning at either end: predictions that are
    right on every row have no best temperature. A binary prediction is a single logit, divided by
    T.

    Attributes
    ----------
    temperature_ : float
        T, in [0.001, 1000]; above 1 the predictions were overconfident.

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
        super().__init__(from_logits=from_logits, from_logprobs=from_logprobs)

    @classmethod
    def _n_parameters(cls, k: int) -> float:
        """The number of fitted parameters for k classes: the temperature alone."""
        return 1

    def _check_learned(self) -> None:
        """Raise a ValueError if the temperature read from a file is out of range."""
        check_temperature(self.temperature_)

    def _solve(self, problem: Problem) -> Solution:
        """Fit the temperature with the least log loss."""
        return fit_temperature(problem)

    def _solve_sums(self, rows: SummedRows) -> tuple[Solution, float | None]:
        """Fit the temperature of rows (n, k) that are summed."""
        passes = SoftmaxPasses(rows, SoftmaxModel.temperature(rows.columns or 2))

        def derivative(slope: float) -> tuple[float, float]:
            """The first and the second derivative of the log loss."""
            sums = passes([slope])
            return float(sums.gradient[0]) / sums.weight, float(sums.hessian[0, 0]) / sums.weight

        solution = UNCHANGED if rows.moments()[2] else _solution(derivative)
        found = passes([1.0 / float(np.asarray(solution.learned["temperature_"]))])
        return solution, found.floored / found.weight

    def _fit_on_device(self, y_true: Any, y_proba: Any, **rows: Any) -> bool:
        """Fit the temperature to logits (n, k) and labels on a device, and return True; False if
        the arguments are of another kind, so that they must be read into memory.
        """
        self._check_options()
        logits = _logits_on_device(y_true, y_proba, rows) if self._given is True else None
        if logits is None:
            return False
        loss_before = logits.loss_before()  # checks every value on its way
        solution = UNCHANGED if logits.are_constant() else _solution(logits.derivatives)
        self._set_fit(solution, logits.samples.n_classes, logits.samples.n)
        self._keep_hashes(logits.row_hashes())
        self.loss_before_, self.loss_ = loss_before, logits.loss(1.0 / self.temperature_)
        self._warn(solution.cautions)
        return True

    def _formula(self, inputs: Inputs) -> list[Node]:
        """The map as a formula of the inputs, one node for each output."""
        scaled = [s / self.temperature_ for s in inputs.scores]
        return inputs.of_classes(softmax_nodes(scaled, inputs.largest / self.temperature_))

    def _apply(self, predictions: Predictions) -> FloatArray:
        """Recalibrated probabilities, in the shape of the predictions."""
        out = softmax(predictions.class_scores() / self.temperature_)
        return out if predictions.columns else out[:, 1]


def check_temperature(temperature: object) -> None:
    """Raise a ValueError unless a number read from a file is a possible temperature."""
    if not isinstance(temperature, float) or not LOWEST <= temperature <= HIGHEST:
        raise ValueError(f"a temperature outside [{LOWEST}, {HIGHEST:.0f}]")


def fit_temperature(problem: Problem) -> Solution:
    """Fit the temperature T with the least log loss of softmax(scores / T), as a solution with one
    attribute; T is 1 where all scores of every row are equal.
    """
    scores = problem.predictions.class_scores()
    # Equal scores of a row become exact zeros: such a row does not influence T.
    scores = scores - scores.max(axis=1, keepdims=True)
    if not scores.any():
        return UNCHANGED
    hits = (problem.targets * scores).sum(axis=1)
    return _solution(lambda slope: derivatives(slope, scores, hits, problem.shares))


def _solution(derivative: Derivative) -> Solution:
    """The temperature with the least loss, from the function that gives the loss's derivatives at a
    slope 1/T; with a warning if it lies at an end of its range.
    """
    slope, n_iter = _best_slope(derivative)
    cautions: tuple[str, ...] = ()
    if slope >= 1 / LOWEST:
        cautions = (
            f"the temperature reached its lower end, {LOWEST}: the predictions are right on every "
            "row, so a lower temperature always fits better. Fit on more rows",
        )
    elif slope <= 1 / HIGHEST:
        cautions = (
            f"the temperature reached its upper end, {HIGHEST:.0f}: the predictions carry no "
            "information about the targets, or are reversed. Check the order of the rows and of "
            "the classes",
        )
    return Solution({"temperature_": 1.0 / slope}, cautions, n_iter)


def derivatives(
    slope: float, scores: FloatArray, hits: FloatArray, shares: FloatArray
) -> tuple[float, float]:
    """The first and the second derivative of the log loss in slope = 1/T. `scores` is (n, k),
    `hits` (n,) are the scores of each row's target (their mean under a soft target), and `shares`
    (n,) are weights that sum to 1.
    """
    p = softmax(slope * scores)
    room = p * scores
    mean = room.sum(axis=1)
    # The memory of the product is used again: a new array would cost as much as the computation.
    np.subtract(scores, mean[:, None], out=room)
    room *= room
    room *= p
    return float(shares @ (mean - hits)), float(shares @ room.sum(axis=1))


def _best_slope(derivative: Derivative) -> tuple[float, int]:
    """The slope 1/T with the least loss, and the number of steps of the search: Newton's method
    inside a bracket that shrinks with every step.
    """
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
        # Where Newton's step leaves the bracket, take the geometric mean of its ends.
        after = slope - step if low < slope - step < high else float(np.sqrt(low * high))
        if abs(after - slope) <= 1e-14 * slope:
            break
        slope = after
    return slope, n_iter


# --- logits on a device ------------------------------------------------------------------------


def _logits_on_device(y_true: Any, y_proba: Any, rows: dict[str, Any]) -> _DeviceLogits | None:
    """The logits (n, k) and class indices if they lie on one device; None for any other arguments.
    `rows` are the other keywords of a fit, such as sample_weight.
    """
    if not stays_on_device(y_proba) or getattr(y_proba, "ndim", 0) != 2:
        return None
    from calibrant._data.tensor_input import TensorInput

    samples = TensorInput().build(y_true, y_proba, from_logits=True, **rows)
    if samples.soft_rows or samples.place != samples.predictions.device:
        return None
    return _DeviceLogits(samples)


@dataclass(frozen=True, eq=False)
class _DeviceLogits:
    """Logits (n, k) and class indices on a device."""

    samples: TensorSamples

    def loss_before(self) -> float:
        """The log loss of the logits without recalibration; the same pass checks every value."""
        return Summary(self.samples).losses.mean("log")

    def are_constant(self) -> bool:
        """Whether all logits of every row are equal."""
        x = self.samples.predictions
        return not bool((x.amax(dim=1) != x.amin(dim=1)).any())

    def derivatives(self, slope: float) -> tuple[float, float]:
        """The first and the second derivative of the log loss in slope = 1/T."""

        def of_block(scores: Tensor, own: Tensor) -> tuple[Tensor, Tensor]:
            """The two derivatives of each row of a block; `own` is the score of the row's label."""
            p = (slope * scores).softmax(dim=1)
            mean = (p * scores).sum(dim=1)
            spread = p.mul_(scores.sub_(mean[:, None]).square_()).sum(dim=1)
            return mean - own, spread

        first, second = self._mean(of_block)
        return first, second

    def loss(self, slope: float) -> float:
        """The log loss of softmax(slope * logits); no probability is taken below LOG_FLOOR."""

        def of_block(scores: Tensor, own: Tensor) -> tuple[Tensor]:
            """The log loss of each row of a block; `own` is the score of the row's label."""
            total = (slope * scores).exp_().sum(dim=1).log_()
            return ((total - slope * own).clamp(max=-float(np.log(LOG_FLOOR))),)

        return self._mean(of_block)[0]

    def row_hashes(self) -> Hashes:
        """The hash of each row, equal to that of `_same_rows.row_hashes` for these rows in
        memory.
        """
        import torch

        x = self.samples.predictions
        factors = torch.from_numpy(hash_factors(int(x.shape[1])).view(np.int64)).to(x.device)
        out = torch.empty(self.samples.n, dtype=torch.int64, device=x.device)
        for rows in self._spans():
            # Zero is added so that -0 and 0 are one. Products wrap around, as unsigned ones do.
            bits = (x[rows].float() + 0.0).view(torch.int32).long() & 0xFFFFFFFF
            out[rows] = (bits * factors).sum(dim=1)
        return splitmix64(out.cpu().numpy().view(np.uint64))

    def _mean(self, of_block: Callable[[Tensor, Tensor], tuple[Tensor, ...]]) -> list[float]:
        """The weighted means over all rows of numbers that `of_block` computes for each row; they
        come to the host in one transfer.

        `of_block` is given the scores (rows, k) of a block, logits less the largest of their row,
        so that equal logits are exact zeros; and the score of each row's label (rows,).
        """
        import torch

        samples, totals = self.samples, []
        for rows in self._spans():
            x = samples.predictions[rows].double()
            scores = x - x.amax(dim=1, keepdim=True)
            own = scores.gather(1, samples.targets[rows].long()[:, None])[:, 0]
            w = samples.weight_block(rows.start, rows.stop)
            values = torch.stack(of_block(scores, own))
            totals.append(values.sum(dim=1) if w is None else values @ w)
        if samples.weights is None:
            weight = float(samples.n)
        else:
            weight = float(samples.weights.double().sum())
        sums: list[float] = torch.stack(totals).sum(dim=0).tolist()
        return [total / weight for total in sums]

    def _spans(self) -> Iterator[slice]:
        """Yield slices of rows that together hold at most about BLOCK entries each."""
        n, step = self.samples.n, max(1, BLOCK // self.samples.n_classes)
        for start in range(0, n, step):
            yield slice(start, min(start + step, n))
