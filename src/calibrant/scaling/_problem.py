"""What a map is fitted to (predictions, soft targets, weights), and what a fit returns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from calibrant._data.links import LOG_FLOOR, both_classes
from calibrant._data.logprobs import Given
from calibrant._data.samples import Samples
from calibrant._data.to_samples import to_samples
from calibrant._summaries.samples import Summary
from calibrant.scaling._predictions import FloatArray, Predictions, predictions_of

Learned = float | FloatArray | tuple[FloatArray, ...]


@dataclass(frozen=True, eq=False)
class Problem:
    """What a map is fitted to: predictions, targets (n, k) whose rows sum to 1, and the weight of
    each row, times its number of votes where targets are shares of votes. Rows that stand for many
    may have negative weights.

    `loss_before` is the log loss of the predictions as they came. `votes` (n,) are
    the numbers of votes, or None.
    """

    predictions: Predictions
    targets: FloatArray
    weights: FloatArray
    loss_before: float
    class_names: tuple[str, ...]
    votes: FloatArray | None = None
    # The sum of the squared shares of the rows that these stand for; None where they are the rows.
    squares: float | None = None

    def with_targets(self, targets: FloatArray) -> Problem:
        """The same rows with other targets (n, k), each row counting once instead of by its number
        of votes.
        """
        weights = self.weights if self.votes is None else self.weights / self.votes
        return replace(self, targets=targets, weights=weights, votes=None)

    @property
    def n_classes(self) -> int:
        """The number of classes; 2 for predictions (n,)."""
        return int(self.targets.shape[1])

    @cached_property
    def shares(self) -> FloatArray:
        """The weights, scaled to sum to 1, (n,)."""
        return self.weights / self.weights.sum()

    @cached_property
    def hard(self) -> bool:
        """Whether every target of positive weight is one class for certain."""
        return bool((self.targets.max(axis=1)[self.weights != 0] == 1.0).all())

    def ruled_out(self) -> tuple[int, float]:
        """The number of rows in which a class that happened was predicted with probability 0 (at
        most LOG_FLOOR), and the share of the weight that such classes have.
        """
        if self.predictions.from_logits:
            return 0, 0.0
        rows = both_classes(self.predictions.values)
        mass = np.where(rows <= LOG_FLOOR, self.targets, 0.0).sum(axis=1)
        return int(np.count_nonzero(mass)), float(self.shares @ mass)

    def log_loss(self, proba: FloatArray) -> float:
        """The weighted mean log loss of probabilities (n,) or (n, k)."""
        return log_loss(self.targets, self.shares, proba)


def to_problem(y_true: Any, y_proba: Any, *, given: Given, **rows: Any) -> Problem:
    """A checked problem from the labels and predictions that the user gives, or an InputError.

    `given` says what the predictions are (logits, log-probabilities, probabilities); `rows` are the
    other keywords that belong to rows, such as sample_weight.
    """
    return problem_of(weighted_by_votes(to_samples(y_true, y_proba, from_logits=given, **rows)))


def problem_of(samples: Samples, *, check: bool = True) -> Problem:
    """The problem of these samples. Without `check` their values are known to be sound, and the log
    loss is not computed.
    """
    # The log loss checks every value on its way.
    loss_before = Summary(samples).losses.mean("log") if check else float("nan")
    k, raw = samples.n_classes, samples.targets
    if raw.ndim == 1 and samples.multiclass:
        targets = np.zeros((samples.n, k))
        targets[np.arange(samples.n), raw.astype(np.int64)] = 1.0
    elif raw.ndim == 1:
        targets = both_classes(np.clip(raw.astype(np.float64), 0.0, 1.0))
    else:
        targets = np.clip(raw.astype(np.float64), 0.0, 1.0)
        targets /= targets.sum(axis=1, keepdims=True)
    weights = np.ones(samples.n) if samples.weights is None else samples.weights.astype(np.float64)
    names = class_names_of(samples.class_names, k)
    voted = None if samples.votes is None else samples.votes.astype(np.float64)
    return Problem(predictions_of(samples), targets, weights, loss_before, names, voted)


def class_names_of(names: tuple[str, ...] | None, k: int) -> tuple[str, ...]:
    """The names of k classes; their numbers where there are none. The name of a single column is
    not that of a class.
    """
    return names if names is not None and len(names) == k else tuple(map(str, range(k)))


def weighted_by_votes(samples: Samples) -> Samples:
    """The samples with the weight of each row multiplied by its number of votes; without votes they
    are returned unchanged.

    The likelihood of votes weighs rows so: with m_i votes on row i, c_ir of them for class r, ln
    prod_i prod_r p_ir^c_ir = sum_i m_i sum_r (c_ir / m_i) ln p_ir.
    """
    if samples.votes is None:
        return samples
    votes = samples.votes.astype(np.float64)
    weights = votes if samples.weights is None else votes * samples.weights
    return replace(samples, weights=weights)


def log_loss(targets: FloatArray, shares: FloatArray, proba: FloatArray) -> float:
    """The log loss of probabilities (n,), of class 1, or (n, k); those below LOG_FLOOR count as
    LOG_FLOOR. `targets` are in either shape, and `shares` (n,) are weights that sum to 1.
    """
    logs = np.log(np.maximum(both_classes(proba), LOG_FLOOR))
    return 0.0 - float(shares @ (both_classes(targets) * logs).sum(axis=1))


@dataclass(frozen=True)
class Solution:
    """The outcome of a fit: the fitted attributes by name, the texts of warnings for the user, and
    the number of steps of the search.
    """

    learned: dict[str, Learned]
    cautions: tuple[str, ...] = ()
    n_iter: int = 0


def named_classes(names: Sequence[str]) -> str:
    """The classes as text for a message: "class a" or "classes a, b"; only the first ten are
    named.
    """
    more = f" and {len(names) - 10} more" if len(names) > 10 else ""
    return f"{'class' if len(names) == 1 else 'classes'} {', '.join(names[:10])}{more}"


def about_absent(names: list[str]) -> list[str]:
    """The warning for classes without a target (`names`), as a list of one text; an empty list if
    there are none.
    """
    if not names:
        return []
    its = "its probability is" if len(names) == 1 else "their probabilities are"
    return [
        f"the fit had no target of {named_classes(names)}, so {its} driven towards 0: fit on rows "
        "of every class, or use TemperatureScaling"
    ]


def about_ruled_out(n: int, share: float) -> list[str]:
    """The warning for n rows in which a class that happened was predicted with probability 0, as a
    list of one text; an empty list if their `share` of the log loss is below 1 %.
    """
    if share < 0.01:
        return []
    rows = "1 row" if n == 1 else f"{n:,} rows"
    return [
        f"{rows} had a prediction of 0 for the observed outcome. Its logarithm is taken at 1e-12, "
        f"which makes {share:.0%} of the loss and distorts the map for all rows. If the "
        "predictions were rounded, fit to unrounded ones or to logits; IsotonicCalibration and "
        "HistogramBinning are not affected"
    ]


def brief_text(value: Learned) -> str:
    """A fitted attribute as short text: its numbers or, if it has more than 12 or consists of
    several arrays, how many.
    """
    if isinstance(value, tuple):
        return f"{len(value)} x {value[0].size}" if len(value) == 1 else f"{len(value)} arrays"
    array = np.asarray(value)
    if array.size > 12:
        return f"array of {' x '.join(str(size) for size in array.shape)}"
    return np.array2string(array, precision=4, separator=", ").replace("\n", "")
