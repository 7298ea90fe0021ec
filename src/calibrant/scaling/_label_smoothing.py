"""Label-smoothing temperature scaling: a temperature for the votes, from the majority alone."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from calibrant._core.errors import InputError
from calibrant._core.validation import is_number, public
from calibrant._data.links import both_classes
from calibrant.scaling._docstrings import documented
from calibrant.scaling._predictions import FloatArray
from calibrant.scaling._problem import Problem, Solution
from calibrant.scaling._temperature import TemperatureScaling


def _check_smoothing(argument: str, value: Any) -> None:
    """Raise an InputError unless the option `argument` has a value in [0, 1] or None."""
    if value is not None and not (is_number(value) and 0 <= value <= 1):
        raise InputError(f"{argument} must be a number in [0, 1] or None; got {value!r}")


@documented
class LabelSmoothingTemperature(TemperatureScaling):
    r"""Temperature scaling to smoothed majority votes, for labels without their votes.

    .. math:: q_i = \mathrm{softmax}(s_i / T), \quad
        T \text{ minimises } - \sum_i w_i \sum_r \tilde z_{ir} \ln q_{ir}, \quad
        \tilde z_i = (1 - \varepsilon) e_{y_i} + \varepsilon / k,
        \quad \varepsilon = \frac{1}{W} \sum_i w_i (1 - p_{i, y_i})

    where y is the label that most annotators chose, p are the predicted probabilities before
    scaling and s the logits (logarithms of p with ``from_logits=False``). A temperature fitted to
    majority votes treats rows on which people disagree as certain, so it is too low. The
    probability that the predictor itself gives to other labels stands in for the disagreement.

    Soft labels and vote counts are read as their majority (tied classes share it), and each row
    counts once, for any number of votes. The top label does not change, and T lies in [0.001,
    1000].

    Parameters
    ----------
    smoothing : float in [0, 1], optional
        epsilon; by default as above. If you know how often single votes differ from the majority,
        for example from a pilot study, give that rate. 0 is `TemperatureScaling` to majority votes.

    Attributes
    ----------
    temperature_ : float
        T, in [0.001, 1000]; above 1 the predictions were overconfident.
    smoothing_ : float
        epsilon: the probability that each label gives to the other classes, the same for all rows.
    loss_before_, loss_ : float
        Log loss on the rows of the fit, against the given targets, before and after. This map does
        not minimise it, so it may rise.

    Notes
    -----
    Majority labels do not show how much people disagree. For an overconfident predictor epsilon is
    little more than its error rate. The map helps if the predictor errs about as often as single
    votes differ from the majority, and is far too flat if it errs more often. If you have votes,
    fit `TemperatureScaling` or `DirichletCalibration` to them: one vote per row is enough for a
    temperature.

    References
    ----------
    Tao, Luo, Dong and Xu (2026), Confidence Calibration under Ambiguous Ground Truth,
    arXiv:2603.22879.

    Examples
    --------
    >>> from calibrant import examples
    >>> from calibrant.scaling import LabelSmoothingTemperature, TemperatureScaling
    >>> fashion = examples.load("fashion")
    >>> smoothed = LabelSmoothingTemperature().fit(fashion.val_labels, fashion.val_logits)
    >>> plain = TemperatureScaling().fit(fashion.val_labels, fashion.val_logits)
    >>> round(smoothed.smoothing_, 3), smoothed.temperature_ > plain.temperature_
    (0.205, True)
    """

    _learned: ClassVar[tuple[str, ...]] = ("temperature_", "smoothing_")
    _option_checks = (("smoothing", _check_smoothing),)
    _of_votes = False
    _needs_rows = "its targets are the majority of each row"
    _tried_on = ()
    smoothing_: float

    @public
    def __init__(
        self,
        *,
        smoothing: float | None = None,
        from_logits: bool = True,
        from_logprobs: bool = False,
    ) -> None:
        self.smoothing = smoothing
        super().__init__(from_logits=from_logits, from_logprobs=from_logprobs)

    def _check_learned(self) -> None:
        """Raise a ValueError if the temperature or the smoothing read from a file is out of
        range.
        """
        super()._check_learned()
        if not isinstance(self.smoothing_, float) or not 0 <= self.smoothing_ <= 1:
            raise ValueError("a smoothing outside [0, 1]")

    def _solve(self, problem: Problem) -> Solution:
        """Fit the smoothing, and the temperature with the least log loss against the smoothed
        majority labels.
        """
        majority = problem.with_targets(_majority(problem.targets))
        epsilon = _mass_off_majority(majority) if self.smoothing is None else self.smoothing
        smoothed = (1.0 - epsilon) * majority.targets + epsilon / problem.n_classes
        solution = super()._solve(majority.with_targets(smoothed))
        return replace(solution, learned={**solution.learned, "smoothing_": float(epsilon)})

    def _fit_on_device(self, y_true: Any, y_proba: Any, **rows: Any) -> bool:
        """Return False always: the rows are read into memory, also from a device."""
        return False


def _majority(targets: FloatArray) -> FloatArray:
    """Targets (n, k) with all mass on the class with the largest share; classes that tie divide it
    equally.
    """
    top = targets == targets.max(axis=1, keepdims=True)
    return top / top.sum(axis=1, keepdims=True)


def _mass_off_majority(problem: Problem) -> float:
    """The mean probability that the predictions give to classes other than the row's majority
    class.
    """
    rows = both_classes(problem.predictions.probabilities())
    held = 1.0 - (problem.targets * rows).sum(axis=1)
    return float(np.clip(problem.shares @ held, 0.0, 1.0))
