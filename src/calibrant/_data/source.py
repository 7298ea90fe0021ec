"""Source: what every kind of samples says of itself, wherever its numbers lie."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from calibrant._core.typing import Shape
from calibrant._data.samples import Samples


class Source(Protocol):
    """The properties and methods that all samples have: samples as arrays, as tensors on a device,
    or as columns of a frame of any engine.
    """

    @property
    def engine(self) -> str:
        """The name of the module that sums these samples."""

    @property
    def multiclass(self) -> bool:
        """Whether predictions are rows of class probabilities."""

    @property
    def shape(self) -> Shape:
        """The kind of problem: "binary", "answers" (labels say if an answer was right) or
        "multiclass".
        """

    @property
    def answers(self) -> bool:
        """Whether labels say if an answer was right, so that predictions are confidences in the
        answer.
        """

    @property
    def n_columns(self) -> int:
        """The number of columns of predictions: one for each class, or 1 for a binary problem."""

    @property
    def n_classes(self) -> int:
        """The number of classes; 2 for binary predictions."""

    @property
    def from_logits(self) -> bool:
        """Whether predictions are logits."""

    @property
    def class_names(self) -> tuple[str, ...] | None:
        """Names of the classes; None if none are known."""

    @property
    def inferred(self) -> tuple[str, ...]:
        """Notes on how the input was read."""

    @property
    def precision(self) -> np.dtype[Any]:
        """The dtype in which predictions are compared with bin edges."""

    @property
    def weighted(self) -> bool:
        """Whether rows have weights."""

    @property
    def soft_rows(self) -> bool:
        """Whether targets are rows of class probabilities."""

    @property
    def voted(self) -> bool:
        """Whether the number of votes behind each row's target is known."""

    @property
    def n_missing(self) -> int:
        """The number of rows that were dropped, when the samples were made, because a value was
        missing.
        """

    def count_rows(self) -> int:
        """The number of rows that are not dropped; for a lazy frame a query counts them."""

    def row(self, number: int) -> Samples:
        """The samples of one row, by its number, as arrays in memory."""

    def every_prediction_is_zero_or_one(self) -> bool:
        """Whether all predictions are 0 or 1, as if labels were given in their place."""


def has_raw_logits(samples: Source) -> bool:
    """Whether the predictions go to a grid as raw logits: True for logits of a binary problem."""
    return samples.from_logits and not samples.multiclass
