"""The input builder: the steps that make samples of what the user gave, in one order for all kinds.

Arrays, tensors and lazy columns differ in how a step is done, which is what their adapters say
(`array_input`, `tensor_input`, `frame_input`). Shapes and types are checked on the way; values are
checked where they are summed.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Generic, TypeVar

from calibrant._core.errors import InputError
from calibrant._data.between import Between
from calibrant._data.columns import check_column_order, check_columns_of_classes
from calibrant._data.labels import Titles, checked_class_names
from calibrant._data.logprobs import Given, read_given
from calibrant._data.missing import check_missing

S = TypeVar("S")


class Input(ABC, Generic[S]):
    """The steps that turn arguments of one kind (arrays, tensors, columns of a lazy frame) into
    samples of type S.
    """

    predictions: Any
    targets: Any
    weights: Any = None
    votes: Any = None
    # The number of columns of predictions, one for each class; None for a binary problem.
    n_columns: int | None = None
    # What the columns of predictions are called, where they have names.
    column_names: tuple[str, ...] = ()
    class_names: tuple[str, ...] | None = None
    logits = False
    logprobs = False
    # Whether (n,) labels say if an answer was right.
    answers = False
    # Notes on how labels were read: by their classes, and as vote counts.
    label_note: str | None = None
    votes_note: str | None = None

    def build(
        self,
        y_true: Any,
        y_proba: Any,
        sample_weight: Any = None,
        from_logits: Given = False,
        classes: Sequence[Any] | None = None,
        missing: str = "error",
        *,
        votes: Any = None,
        stream: bool = False,
    ) -> S:
        """Make samples of the user's arguments; raise InputError if they do not fit together.

        `missing` is "error" or "drop", for rows in which a value is missing. `stream` says that the
        rows are one part of many.
        """
        if isinstance(y_true, Between):
            raise InputError(
                "y_true is Between(lo, hi), which only evaluate(...) and report(...) take: they "
                "give the bounds of each measure, as in evaluate(y_true, y_proba)['ece'].low"
            )
        self.logits, self.logprobs = read_given(from_logits)
        self.read(y_true, y_proba, sample_weight, votes, drop=check_missing(missing) == "drop")
        if self.logprobs:
            self.exponentiate()
        if classes is not None:
            self._name_classes(classes)
        elif self.class_names is not None:
            check_column_order(self.class_names, [y_true] if isinstance(y_true, str) else y_true)
        self.read_labels(stream)
        if self.weights is not None:
            self.read_weights()
        if self.logits:
            self.check_logits(stream)
        return self.samples()

    def _name_classes(self, classes: Sequence[Any]) -> None:
        """Store the names of the classes, check them against names of columns, and turn labels into
        class indices.
        """
        known = checked_class_names(classes, self.n_columns or 2, self.n_columns is not None)
        check_columns_of_classes(self.column_names, known)
        self.class_names = tuple(str(name) for name in known)
        self.encode(known, are_indices=isinstance(classes, Titles))

    @abstractmethod
    def read(
        self, y_true: Any, y_proba: Any, sample_weight: Any, votes: Any, *, drop: bool
    ) -> None:
        """Store the arguments, and check the predictions. With `drop`, drop the rows in which a
        value is missing.
        """

    @abstractmethod
    def exponentiate(self) -> None:
        """Turn log-probabilities into probabilities."""

    @abstractmethod
    def encode(self, classes: list[Any], *, are_indices: bool) -> None:
        """Turn labels into indices of these classes, and note how labels were read. `are_indices`:
        labels are class indices already, and stay.
        """

    @abstractmethod
    def read_labels(self, stream: bool) -> None:
        """Turn counts of votes into shares, and check that targets fit the predictions. `stream`:
        the rows are one part of many.
        """

    @abstractmethod
    def read_weights(self) -> None:
        """Check that weights are one number per row, and scale weights whose powers would
        overflow.
        """

    @abstractmethod
    def check_logits(self, stream: bool) -> None:
        """Raise InputError, or warn, if logits look like probabilities or log-probabilities.
        `stream`: the rows are one part of many.
        """

    @abstractmethod
    def samples(self) -> S:
        """The samples, with notes on how the input was read."""
