"""Checked predictions in the forms that maps read: class scores, log-odds, probabilities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant._core.errors import InputError
from calibrant._data.arrays import to_array
from calibrant._data.columns import pick
from calibrant._data.links import (
    LOG_FLOOR,
    ROW_SUM_TOLD,
    both_classes,
    logit,
    sigmoid,
    softmax,
)
from calibrant._data.logprobs import LOGPROBS, Given, probabilities_of
from calibrant._data.samples import Samples
from calibrant._data.to_samples import to_samples
from calibrant._summaries.samples import Summary

FloatArray = NDArray[np.float64]

# Fewer rows are taken for a request to a service: they are read by a faster function, and it is not
# checked whether the map was fitted to them, which so few rows could hardly show.
FEW_ROWS = 50
_PLAIN_TYPES = (np.dtype(np.float64), np.dtype(np.float32))
# Logits beyond this are as good as infinite; up to it, squares and sums stay finite.
LARGEST_LOGIT = 1e100


@dataclass(frozen=True, eq=False)
class Predictions:
    """Checked predictions (n,) or (n, k) in float64: logits or probabilities.

    Logits are used unchanged. Probabilities are lifted to 1e-12 before a logarithm is taken,
    because nothing can be learnt from an infinite one. `precision` is that of the given
    predictions.
    """

    values: FloatArray
    from_logits: bool
    precision: np.dtype[Any]

    @property
    def columns(self) -> int | None:
        """The number of columns of the predictions; None for (n,)."""
        return int(self.values.shape[1]) if self.values.ndim == 2 else None

    def probabilities(self) -> FloatArray:
        """The predictions as probabilities, in their own shape."""
        if not self.from_logits:
            return self.values
        return sigmoid(self.values) if self.values.ndim == 1 else softmax(self.values)

    def class_scores(self) -> FloatArray:
        """One score per class, (n, k): logits as they came, or logarithms of probabilities.

        A binary logit h is the pair (-h/2, h/2), which treats both classes alike.
        """
        h = self.values
        if self.from_logits:
            return h if h.ndim == 2 else np.stack([-h / 2, h / 2], axis=1)
        return np.log(np.maximum(both_classes(h), LOG_FLOOR))

    def log_probabilities(self) -> FloatArray:
        """The logarithm of each class's probability, (n, k)."""
        scores = self.class_scores()
        if not self.from_logits:
            return scores
        shifted = scores - scores.max(axis=1, keepdims=True)
        return shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))

    def log_odds(self) -> FloatArray:
        """The logit of each class against the rest, in the predictions' own shape."""
        if not self.from_logits:
            u = np.clip(self.values, LOG_FLOOR, 1.0 - LOG_FLOOR)
            return np.log(u) - np.log1p(-u)
        return self.values if self.values.ndim == 1 else _against_rest(self.values)


@dataclass(frozen=True, eq=False)
class PooledPredictions(Predictions):
    """Logits (n,) of probabilities, of which none was rounded to 1; those of 0 and 1 are infinite.
    Logarithms are those that probabilities have.
    """

    def class_scores(self) -> FloatArray:
        """The logarithms of the probabilities of both classes, (n, 2), lifted to LOG_FLOOR."""
        both = np.stack([self.values, -self.values], axis=1)
        return np.maximum(-np.logaddexp(0.0, both), np.log(LOG_FLOOR))

    def log_probabilities(self) -> FloatArray:
        """The same as the class scores."""
        return self.class_scores()

    def log_odds(self) -> FloatArray:
        """The logits of probabilities in [LOG_FLOOR, 1 - LOG_FLOOR]."""
        return np.clip(self.values, *logit(np.array([LOG_FLOOR, 1.0 - LOG_FLOOR])))


def _against_rest(logits: FloatArray) -> FloatArray:
    """The logit of each class against the rest, (n, k): its own logit, less the log-sum-exp of the
    others'.

    To subtract a class's own term from the sum over all loses precision for the top class only:
    there the others are summed by themselves.
    """
    rows, top = np.arange(len(logits)), logits.argmax(axis=1)
    shifted = logits - logits.max(axis=1, keepdims=True)
    others = shifted.copy()
    others[rows, top] = -np.inf
    second = others.max(axis=1)
    log_others = second + np.log(np.exp(others - second[:, None]).sum(axis=1))
    powers = np.exp(shifted)
    log_rest = np.log(np.maximum(powers.sum(axis=1, keepdims=True) - powers, 1.0))
    log_rest[rows, top] = log_others
    return shifted - log_rest


def predictions_of(samples: Samples) -> Predictions:
    """The predictions of checked samples, clipped to [0, 1], or for logits to [-1e100, 1e100]."""
    values = samples.predictions.astype(np.float64)
    if samples.from_logits:
        values = np.clip(values, -LARGEST_LOGIT, LARGEST_LOGIT)
    else:
        values = np.clip(values, 0.0, 1.0)
    return Predictions(np.ascontiguousarray(values), samples.from_logits, samples.precision)


def to_predictions(y_proba: Any, *, given: Given, data: Any = None) -> Predictions:
    """Predictions without targets, after the same checks as those with targets; `given` says
    whether they are logits (True), log-probabilities (LOGPROBS) or probabilities (False).
    """
    if data is not None:
        y_proba = pick(data, y_proba, "y_proba")
    shape = to_array(y_proba, "y_proba").shape if y_proba is not None else ()
    if shape and shape[0] == 0:
        raise InputError("y_proba must have at least one row; got none")
    samples = to_samples(np.zeros(shape[0] if shape else 1, np.int64), y_proba, from_logits=given)
    _ = Summary(samples).losses  # the pass that checks every value
    return predictions_of(samples)


def to_few_predictions(y_proba: Any, given: Given, columns: int | None) -> Predictions | None:
    """A fast `to_predictions` for a list or array of fewer than FEW_ROWS rows, in a tenth of its
    time; None for any unusual input, which `to_predictions` must read or refuse.

    `columns` is the number of columns in the fit, None for (n,).
    """
    kind = type(y_proba)
    if kind is list and 0 < len(y_proba) < FEW_ROWS:
        try:
            values = np.array(y_proba)
        except ValueError:
            return None
    elif kind is np.ndarray:
        values = y_proba
    else:
        return None
    if values.dtype not in _PLAIN_TYPES or not 0 < len(values) < FEW_ROWS:
        return None
    if values.ndim != (1 if columns is None else 2) or (columns and values.shape[1] != columns):
        return None
    precision, values = values.dtype, np.ascontiguousarray(values, dtype=np.float64)
    low, high = values.min(), values.max()
    if given is True:
        usual = low >= -LARGEST_LOGIT and high <= LARGEST_LOGIT
    elif given == LOGPROBS:
        usual = low > -np.inf and high <= 0.0
    else:
        usual = low >= 0.0 and high <= 1.0 and (columns is None or _sum_to_one(values))
    if not usual:
        return None
    if given == LOGPROBS:
        return Predictions(probabilities_of(values), False, _PLAIN_TYPES[0])
    values = values.copy() if values is y_proba else values
    return Predictions(values, given is True, _PLAIN_TYPES[0] if given is True else precision)


def _sum_to_one(rows: FloatArray) -> bool:
    """Whether every row sums to 1, within the tolerance ROW_SUM_TOLD."""
    return bool((np.abs(rows.sum(axis=1) - 1.0) <= ROW_SUM_TOLD).all())
