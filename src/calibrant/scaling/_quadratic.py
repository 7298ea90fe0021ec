"""Quadratic scaling: a logistic curve over the logit and its square."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from calibrant._core.validation import check_flag, public
from calibrant._data.links import LOG_FLOOR, sigmoid
from calibrant.scaling._docstrings import documented
from calibrant.scaling._formula import Inputs, Node, either
from calibrant.scaling._logistic import fit_increasing, fit_logistic
from calibrant.scaling._one_vs_rest import Column, ColumnFit, OneVsRest
from calibrant.scaling._predictions import FloatArray, Predictions
from calibrant.scaling._problem import Solution, named_classes

# The logit of 1 - 1e-12. Without this limit a few rows of large logits would decide the coefficient
# of the square alone.
LARGEST = float(np.log1p(-LOG_FLOOR) - np.log(LOG_FLOOR))
# The share of rows on which a falling map is worth a warning.
FALLING = 0.01


@documented
class QuadraticScaling(OneVsRest):
    r"""Quadratic scaling: a logistic curve over the logit of a prediction and its square.

    .. math:: q_i = \sigma(a + b h_i + c h_i^2)

    where h is the logit, clipped to [-27.6, 27.6] (probabilities in [1e-12, 1 - 1e-12]), and a, b,
    c minimise the log loss. It is the correct map if the logits of both classes are normally
    distributed with different variances; with c = 0 it is Platt scaling. Beyond the predictions of
    the fit the curve continues as a straight line.

    A parabola turns: on one side of ``h = -b / (2 c)`` higher predictions are mapped to lower ones.
    If the turn lies among the rows of the fit, the map changes their order (and the AUROC) and
    gives two predictions one probability. If that affects 1% of the rows or more, the fit warns.
    ``increasing=True`` prevents it: a, b, c are then the best parameters for which the curve never
    falls, within the predictions of the fit or beyond.

    Predictions (n, k) get a map for each class against the rest, and rows are divided by their sum.

    Parameters
    ----------
    increasing : bool, default False
        Whether to allow only maps that never fall.

    Attributes
    ----------
    intercept_, slope_, curvature_ : ndarray of shape (n_maps,)
        a, b and c of each map: one map for two classes, k for k > 2.
    range_ : tuple of ndarray of shape (2,)
        The lowest and the highest logit of the fit, for each map; beyond them it is straight.

    See Also
    --------
    PlattScaling : without the square.
    BetaCalibration : three parameters too, and never falls.

    References
    ----------
    Berta, Holzmüller, Jordan and Bach (2025), Structured Matrix Scaling for Multi-Class
    Calibration, arXiv:2511.03685.

    Examples
    --------
    >>> from calibrant import examples
    >>> from calibrant.scaling import QuadraticScaling
    >>> shirt = examples.load("fashion-shirt")
    >>> scaler = QuadraticScaling().fit(shirt.val_soft_labels, shirt.val_proba)
    >>> scaler.loss_ < scaler.loss_before_
    True
    """

    _learned = ("intercept_", "slope_", "curvature_", "range_")
    _parameters_per_map = 3
    _option_checks = (("increasing", check_flag),)
    intercept_: FloatArray
    slope_: FloatArray
    curvature_: FloatArray
    range_: tuple[FloatArray, ...]

    @public
    def __init__(
        self,
        *,
        increasing: bool = False,
        from_logits: bool = False,
        from_logprobs: bool = False,
    ) -> None:
        self.increasing = increasing
        super().__init__(from_logits=from_logits, from_logprobs=from_logprobs)

    def _read(self, predictions: Predictions) -> FloatArray:
        """The logit of each class against the rest, clipped to [-LARGEST, LARGEST], in the shape of
        the predictions; this is what the map reads.
        """
        return np.clip(predictions.log_odds(), -LARGEST, LARGEST)

    def _fit_column(self, column: Column) -> ColumnFit:
        """Fit the curve of one class: intercept, slope, curvature, and the range (lowest, highest)
        of its logits.
        """
        h, counted = column.predictions, column.weights != 0
        low, high = float(h[counted].min()), float(h[counted].max())
        fit_to = (column.targets, column.shares)
        if self.increasing:
            # The slope of the curve is a line: if it is at least 0 at both ends, it is so between.
            fit = fit_increasing(np.stack(_by_end_slopes(h, low, high), axis=1), *fit_to)
            first, last = fit.slopes.tolist()
            c = (last - first) / (2 * _distance_or_one(low, high))
            b = first - 2 * c * low
        else:
            fit = fit_logistic(np.stack([h, h**2], axis=1), *fit_to, start=np.array([1.0, 0.0]))
            b, c = fit.slopes.tolist()
        learned = (fit.intercept, b, c, np.array([low, high]))
        return ColumnFit(learned, fit.n_iter, fit.reached, fit.separable)

    def _formula(self, inputs: Inputs) -> list[Node]:
        """The map as a formula of the inputs, one node for each output."""

        def map_of(a: float, b: float, c: float, ends: FloatArray) -> Callable[[Node], Node]:
            """A function from the node of a class's logit to the node of its recalibrated
            probability. `ends` is the range of logits in the fit.
            """

            def curve(h: Node) -> Node:
                """The node of the probability for the node h of a logit, in one form for Python and
                one for SQL.
                """
                h = h.clip(-LARGEST, LARGEST)
                return either(curve_in_steps(h), curve_in_pieces(h))

            def curve_in_steps(h: Node) -> Node:
                """The node of the curve for Python, with the operations of `_map` in their
                order.
                """
                inside = h.clip(*ends)
                slope = b + 2 * c * inside
                slope = slope.clip(0.0, math.inf) if self.increasing else slope
                return (a + b * inside + c * (inside * inside) + (h - inside) * slope).sigmoid()

            def curve_in_pieces(h: Node) -> Node:
                """The node of the curve for SQL: a line below the range of the fit, a line above
                it, and the parabola inside.
                """
                slopes = [b + 2 * c * end for end in ends]
                slopes = [max(slope, 0.0) if self.increasing else slope for slope in slopes]
                outside = [
                    (h - end) * slope + (a + b * end + c * end**2)
                    for end, slope in zip(ends, slopes, strict=True)
                ]
                inside = h * (h * c + b) + a
                largest = abs(a) + LARGEST * (abs(b) + abs(c) * 3 * LARGEST)
                return Node("pieces", (h, *outside, inside), tuple(ends.tolist())).sigmoid(largest)

            return curve

        fits = zip(self.intercept_, self.slope_, self.curvature_, self.range_, strict=True)
        return inputs.one_against_rest([map_of(*fit) for fit in fits])

    def _map(self, j: int, values: FloatArray, precision: np.dtype[Any]) -> FloatArray:
        """The probabilities that the j-th map gives for the logits `values`; beyond the range of
        the fit the curve is straight.
        """
        a, b, c = self.intercept_[j], self.slope_[j], self.curvature_[j]
        inside = np.clip(values, *self.range_[j])
        slope = b + 2 * c * inside
        if self.increasing:  # rounding must not make a slope of 0 negative
            slope = np.maximum(slope, 0.0)
        return sigmoid(a + b * inside + c * inside**2 + (values - inside) * slope)

    def _solution(
        self, columns: Sequence[Column], fits: Sequence[ColumnFit], class_names: tuple[str, ...]
    ) -> Solution:
        """The fits as fitted attributes; with a warning for maps that decrease."""
        solution = super()._solution(columns, fits, class_names)
        if self.increasing or not columns:
            return solution
        b, c = (np.asarray(solution.learned[name]) for name in ("slope_", "curvature_"))
        shares = [
            float(each.shares @ (b[j] + 2 * c[j] * each.predictions < 0))
            for j, each in enumerate(columns)
        ]
        cautions = (*solution.cautions, *_about_falls(np.array(shares), class_names))
        return replace(solution, cautions=cautions)


def _distance_or_one(low: float, high: float) -> float:
    """The distance from `low` to `high`; 1 if they are equal, so that it can be a divisor."""
    return high - low if high > low else 1.0


def _by_end_slopes(h: FloatArray, low: float, high: float) -> tuple[FloatArray, FloatArray]:
    """Two basic parabolas at the logits h: the slope of the first decreases from 1 at `low` to 0 at
    `high`, that of the second increases from 0 to 1.

    Every parabola is a constant plus a multiple of each, and the factors are its slopes at `low`
    and at `high`.
    """
    width = _distance_or_one(low, high)
    return (high * h - h**2 / 2) / width, (h**2 / 2 - low * h) / width


def _about_falls(shares: FloatArray, class_names: tuple[str, ...]) -> tuple[str, ...]:
    """The warning for maps that decrease on at least the share FALLING of the rows, as a tuple of
    one text; empty if there are none. `shares` (n_maps,) are those of the rows where they do.
    """
    many = np.flatnonzero(shares >= FALLING)
    if not many.size:
        return ()
    which = "the map falls"
    if len(shares) > 1:
        maps, verb = ("maps", "fall") if len(many) > 1 else ("map", "falls")
        which = f"the {maps} of {named_classes([class_names[j] for j in many.tolist()])} {verb}"
    return (
        f"{which} where predictions rise, on {shares.max():.0%} of the rows, which changes "
        "their order. increasing=True prevents this",
    )
