"""Source: what every kind of samples says of itself, wherever its numbers lie."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from calibrant._data.samples import Samples, Shape


class Source(Protocol):
    """Samples as arrays, as tensors on a device, or as columns of a frame of any engine."""

    @property
    def engine(self) -> str:
        """The module that sums these samples."""

    @property
    def multiclass(self) -> bool:
        """Whether predictions are rows of class probabilities."""

    @property
    def shape(self) -> Shape:
        """ "binary", "answers" or "multiclass"."""

    @property
    def answers(self) -> bool:
        """Whether labels say if an answer was right."""

    @property
    def n_columns(self) -> int:
        """Columns of predictions: one for each class, or one for a binary problem."""

    @property
    def n_classes(self) -> int:
        """The classes; 2 for binary predictions."""

    @property
    def from_logits(self) -> bool:
        """Whether predictions are logits."""

    @property
    def class_names(self) -> tuple[str, ...] | None:
        """Names of the classes."""

    @property
    def inferred(self) -> tuple[str, ...]:
        """Notes on what the input was taken for."""

    @property
    def precision(self) -> np.dtype[Any]:
        """The precision in which predictions meet bin edges."""

    @property
    def weighted(self) -> bool:
        """Whether rows have weights."""

    @property
    def soft_rows(self) -> bool:
        """Whether targets are rows of class probabilities."""

    @property
    def voted(self) -> bool:
        """Whether it is known how many votes the targets are of."""

    @property
    def n_missing(self) -> int:
        """Rows dropped already because something in them was missing."""

    def count_rows(self) -> int:
        """How many rows there are, dropped ones not counted; of a lazy frame, by a query."""

    def row(self, number: int) -> Samples:
        """One row, brought here to be looked at."""

    def every_prediction_is_zero_or_one(self) -> bool:
        """Whether these look like labels in the place of predictions."""
