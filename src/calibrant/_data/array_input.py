"""Arrays, and whatever becomes an array, as samples in memory."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from calibrant._core.errors import InputError
from calibrant._core.messages import values_of
from calibrant._core.typing import Array, Mask
from calibrant._data.answers import are_answers
from calibrant._data.arrays import to_array
from calibrant._data.checks import (
    check_names,
    checked_predictions,
    checked_targets,
    checked_weights,
    describe,
    sum_tolerance,
    weight_exponent,
)
from calibrant._data.columns import check_different_columns, names_of_columns, pick
from calibrant._data.counts import Labels, labels_of, votes_per_row
from calibrant._data.input import Input
from calibrant._data.labels import encode_known
from calibrant._data.logits import LOG_PROBABILITIES, check_kind_of_logits, kind_of_logits
from calibrant._data.logprobs import FROM_LOGPROBS, probabilities_of
from calibrant._data.missing import votes_of_kept, without_missing
from calibrant._data.samples import RowSamples, Samples

R = TypeVar("R", bound=RowSamples[Any])


class RowInput(Input[R]):
    """The steps of reading labels and predictions that arrays and tensors share."""

    sample_type: ClassVar[type[Any]]
    # A mask of the rows, as the user gave them, that were not dropped; None if none was dropped.
    kept: Mask | None = None
    # The exponent of the power of two that weights were divided by.
    exponent: int = 0

    def read(
        self, y_true: Any, y_proba: Any, sample_weight: Any, votes: Any, *, drop: bool
    ) -> None:
        """Store the arguments as arrays or tensors, and check the predictions. With `drop`, drop
        the rows in which a value is missing.
        """
        self.row_sum_tolerance = sum_tolerance(y_proba)
        self.label_sum_tolerance = sum_tolerance(y_true)
        if drop:
            y_true, y_proba, sample_weight, self.kept = self.without_missing(
                y_true, y_proba, sample_weight
            )
        self.predictions = checked_predictions(self.values(y_proba, "y_proba"))
        self.targets = self.values(y_true, "y_true")
        self.weights, self.votes = sample_weight, votes
        if (0 in self.targets.shape or self.predictions.shape[0] == 0) and self.kept is None:
            raise InputError(
                f"{values_of('y_true')} and {values_of('y_proba')} must have at least one row; got "
                "none"
            )
        if self.predictions.ndim == 2:
            self.n_columns = int(self.predictions.shape[1])

    def encode(self, classes: list[Any], *, are_indices: bool) -> None:
        """Turn labels (n,) into indices of these classes, and note how labels were read. Labels
        that are indices already (`are_indices`), and soft labels (n, k), stay.
        """
        if self.targets.ndim == 2 and self.targets.shape[1] == 1:
            self.targets = self.targets[:, 0]
        if self.targets.ndim == 1 and not are_indices:
            self.targets, self.label_note = self.class_indices(classes)

    def read_labels(self, stream: bool) -> None:
        """Turn counts of votes into shares, and check that targets fit the predictions. `stream`:
        the rows are one part of many.
        """
        if self.votes is not None or self.targets.ndim != 1:
            self._read_votes(stream)
        self.targets = checked_targets(self.targets, self.predictions)

    def _read_votes(self, stream: bool) -> None:
        """Turn counts of votes into shares, and store the number of votes behind each row.
        `stream`: the rows are one part of many.
        """
        votes = None
        if self.votes is not None:
            votes = votes_per_row(votes_of_kept(self.votes, self.kept), self.predictions.shape[0])
        labels = self.shares(votes, stream)
        self.targets, self.votes, self.votes_note = labels.targets, labels.votes, labels.note

    def read_weights(self) -> None:
        """Check that there is one weight per row, and scale weights whose powers would overflow."""
        weights = self.values(self.weights, "sample_weight")
        self.weights = checked_weights(weights, self.predictions.shape[0])
        self.scale_weights()

    def check_logits(self, stream: bool) -> None:
        """Raise InputError, or warn, if logits look like probabilities or log-probabilities. In a
        `stream` (rows are one part of many) there is no warning of log-probabilities, because a few
        rows prove little.
        """
        kind = kind_of_logits(self.predictions, self.as_double, self.row_sum_tolerance)
        if not (stream and kind == LOG_PROBABILITIES):  # a few rows prove little
            check_kind_of_logits(kind, multiclass=self.n_columns is not None)

    def samples(self) -> R:
        """The samples, with notes on how the input was read."""
        notes = describe(
            "logits" if self.logits else "probabilities",
            self.n_columns,
            soft_rows=self.targets.ndim == 2,
            label_note=self.label_note,
            votes_note=self.votes_note,
            answers=self.answers,
        )
        if self.logprobs:
            notes += (FROM_LOGPROBS,)
        if self.exponent:
            notes += (f"weights divided by 2^{self.exponent}",)
        return self.sample_type(
            predictions=self.predictions,
            targets=self.targets,
            weights=self.weights,
            from_logits=self.logits,
            class_names=self.class_names,
            inferred=notes,
            row_sum_tolerance=self.row_sum_tolerance,
            n_missing=0 if self.kept is None else int(np.count_nonzero(~self.kept)),
            label_sum_tolerance=self.label_sum_tolerance,
            weight_exponent=self.exponent,
            kept=self.kept,
            votes=self.votes,
            answers=self.answers and self.n_columns is None,
        )

    @abstractmethod
    def values(self, value: Any, argument: str) -> Any:
        """An argument as an array or a tensor; `argument` is its name in errors."""

    @abstractmethod
    def without_missing(
        self, y_true: Any, y_proba: Any, sample_weight: Any
    ) -> tuple[Any, Any, Any, Mask | None]:
        """Drop the rows in which a label, a prediction or a weight is missing. Returns the three
        arguments without these rows, and a mask of the remaining rows; the mask is None if no row
        is dropped.
        """

    @abstractmethod
    def class_indices(self, classes: list[Any]) -> tuple[Any, str]:
        """Labels (n,) as indices of the classes that they name, and a note on how
        labels were read.
        """

    @abstractmethod
    def shares(self, votes: NDArray[np.int64] | None, stream: bool) -> Labels:
        """Labels in which counts of votes have become shares. `votes` are the numbers of votes
        behind the rows, (n,), from the argument `votes`, or None; `stream`: the rows are one part
        of many.
        """

    @abstractmethod
    def scale_weights(self) -> None:
        """Divide weights by a power of two if their powers would overflow or underflow."""

    @abstractmethod
    def as_double(self, part: Any) -> Any:
        """Some of the predictions (`part`) as float64, or in the highest precision that their
        device has.
        """


class ArrayInput(RowInput[Samples]):
    """The adapter of arrays, tensors in memory, and columns of a frame in memory; it copies only
    what it must.
    """

    sample_type = Samples

    def __init__(self, data: Any = None) -> None:
        """Store the frame in memory that has the arguments as columns; None if the arguments are
        arrays.
        """
        self.data = data

    def read(
        self, y_true: Any, y_proba: Any, sample_weight: Any, votes: Any, *, drop: bool
    ) -> None:
        """Store the arguments (columns of the frame `data` if there is one) as arrays, and check
        the predictions. With `drop`, drop the rows in which a value is missing.
        """
        self.answers = are_answers(y_true, self.data)
        if self.data is None:
            check_names(y_true, y_proba)
        else:
            check_different_columns(y_true, y_proba)
            if isinstance(y_proba, list | tuple):
                self.class_names = tuple(str(name) for name in y_proba)
            y_true = pick(self.data, y_true, "y_true")
            y_proba = pick(self.data, y_proba, "y_proba")
            if sample_weight is not None:
                sample_weight = pick(self.data, sample_weight, "sample_weight")
            if isinstance(votes, str):
                votes = pick(self.data, votes, "votes")
        if not isinstance(y_proba, np.ndarray):
            self.column_names = self.class_names or names_of_columns(y_proba)
        super().read(y_true, y_proba, sample_weight, votes, drop=drop)

    values = staticmethod(to_array)
    without_missing = staticmethod(without_missing)

    def exponentiate(self) -> None:
        """Turn log-probabilities into probabilities."""
        self.predictions = probabilities_of(self.predictions)

    def class_indices(self, classes: list[Any]) -> tuple[NDArray[Any], str]:
        """Labels (n,) as indices of the classes that they name, and a note on how
        labels were read.
        """
        return encode_known(self.targets, classes, self.n_columns is not None)

    def shares(self, votes: NDArray[np.int64] | None, stream: bool) -> Labels:
        """Labels in which counts of votes have become shares. `votes` are the numbers of votes
        behind the rows, (n,), from the argument `votes`, or None; `stream`: the rows are one part
        of many.
        """
        return labels_of(self.targets, votes, self.n_columns or 1, stream=stream)

    def scale_weights(self) -> None:
        """Divide weights by a power of two if their powers would overflow or underflow."""
        self.exponent = weight_exponent(float(self.weights.max(initial=0)))
        if self.exponent:
            self.weights = np.ldexp(self.weights.astype(np.float64), -self.exponent)

    def as_double(self, part: Any) -> Array:
        """Some of the predictions (`part`) as float64."""
        return part.astype(np.float64)
