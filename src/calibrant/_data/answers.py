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

# Names of columns that say whether an answer was right.
_NAMES = ("correct", "is_correct", "correctness", "is_right", "accuracy")
_WORDS = {"correct", "correctness"}

ANSWERS = Note(
    "labels say whether an answer was right: confidences are not compared with 1/2", "answers"
)


def says_right(name: Any) -> bool:
    """Whether a column's name, such as correct, model.correct or correct_gpt, says that the column
    tells right from wrong answers.
    """
    if not isinstance(name, str):
        return False
    last = name.rpartition(".")[2].lower()
    return last in _NAMES or not _WORDS.isdisjoint(re.split(r"[\s_-]+", last))


class Answers(np.ndarray[Any, Any]):
    """An array of labels that are marked as saying whether an answer was right.

    Slices of it are marked too; what is computed from it is an unmarked array.
    """

    def __array_wrap__(
        self, array: NDArray[Any], context: Any = None, return_scalar: bool = False
    ) -> Any:
        """Make results computed from marked labels unmarked: a plain array or number."""
        plain = np.asarray(array)
        return plain if plain.ndim else plain[()]

    def __repr__(self) -> str:
        """The text of the labels, which is that of a plain array."""
        return repr(np.asarray(self))


def as_answers(labels: NDArray[Any]) -> NDArray[Any]:
    """Mark labels (n,) as saying whether an answer was right; labels (n, k) are
    returned unmarked.
    """
    return labels.view(Answers) if labels.ndim == 1 else labels


def are_answers(y_true: Any, data: Any) -> bool:
    """Whether labels say if an answer was right: the array is marked so (`Answers`), or the column
    of `data` or the series that holds the labels has such a name.
    """
    if data is not None:
        return says_right(y_true)
    return isinstance(y_true, Answers) or says_right(getattr(y_true, "name", None))
