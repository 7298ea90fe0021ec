"""Labels that say whether an answer was right: what they are called, and what follows from it.

The prediction beside them is the confidence in the answer that was given. It is not held against
1/2: an answer given with a confidence of 0.3 is still the answer.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant._core.messages import Note

# What a column is called that says whether an answer was right.
_NAMES = ("correct", "is_correct", "correctness", "is_right", "accuracy")
_WORDS = {"correct", "correctness"}

ANSWERS = Note(
    "labels say whether an answer was right: confidences are not held against 1/2", "answers"
)


def says_right(name: Any) -> bool:
    """Whether a column of this name says whether an answer was right: correct, model.correct,
    correct_gpt.
    """
    if not isinstance(name, str):
        return False
    last = name.rpartition(".")[2].lower()
    return last in _NAMES or not _WORDS.isdisjoint(re.split(r"[\s_-]+", last))


class Answers(np.ndarray[Any, Any]):
    """Labels that are known to say whether an answer was right, as the columns of files are.

    Some of them are too; what is computed from them is an array like any other.
    """

    def __array_wrap__(
        self, array: NDArray[Any], context: Any = None, return_scalar: bool = False
    ) -> Any:
        plain = np.asarray(array)
        return plain if plain.ndim else plain[()]

    def __repr__(self) -> str:
        return repr(np.asarray(self))


def as_answers(labels: NDArray[Any]) -> NDArray[Any]:
    """Labels marked as answers; rows of several columns stay unmarked."""
    return labels.view(Answers) if labels.ndim == 1 else labels


def are_answers(y_true: Any, data: Any) -> bool:
    """Whether labels are so marked, or called so: the column of a frame, or a series."""
    if data is not None:
        return says_right(y_true)
    return isinstance(y_true, Answers) or says_right(getattr(y_true, "name", None))
