"""Confidence as people and language models write it: log-probabilities, percentages, words."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant._core.errors import InputError, nearest
from calibrant._core.messages import name_of, worded
from calibrant._core.typing import Mask
from calibrant._core.validation import check_flag
from calibrant._data.logits import VALUES_THAT_TELL
from calibrant._data.logprobs import (
    FROM_LOGPROBS,
    above_zero_message,
    exponentials,
    first_above_zero,
    first_impossible,
    given_as,
)
from calibrant._data.readers.chunks import Column, Location, Names, plain_number
from calibrant._data.readers.confidences import (
    Words,
    check_words,
    confidence_column,
    plain_text,
)


@dataclass(frozen=True)
class Written:
    """How predictions are written in files: as log-probabilities, in percent or in words. If none
    of these is set, they are probabilities or logits.
    """

    logprobs: bool = False
    percent: bool = False
    # Words in small letters, each with the probability that it stands for, None for a refusal.
    words: Words | None = None
    # Each value by the rule for its form (`confidences.py`).
    auto: bool = False

    @property
    def as_text(self) -> bool:
        """Whether a column of predictions may hold text: "85%", "very likely"."""
        return self.auto or self.percent or self.words is not None

    @property
    def messages(self) -> tuple[str, ...]:
        """Notes on how predictions are written, which results repeat."""
        if self.logprobs:
            return (FROM_LOGPROBS,)
        notes = ["y_proba is in percent, divided by 100"] if self.percent else []
        if self.words is not None:
            means = {w: "a refusal" if p is None else f"{p:g}" for w, p in self.words.items()}
            meant = ", ".join(f"{word!r} {mean}" for word, mean in means.items())
            notes.append(f"y_proba is in words: {meant}")
        return tuple(notes)


PLAIN = Written()


def written_as(
    *,
    from_logits: bool,
    from_logprobs: bool,
    percent: bool,
    words: Words | None,
    confidence: str | None = None,
) -> Written:
    """How predictions are written, from the user's options; raise InputError if two options
    contradict each other.
    """
    given_as(from_logits, from_logprobs)
    check_flag("percent", percent)
    if confidence not in (None, "auto"):
        raise InputError(f"confidence must be 'auto' or None; got {confidence!r}")
    logs = {"from_logits": from_logits, "from_logprobs": from_logprobs}
    texts = {"percent": percent, "words": words is not None, "confidence": confidence}
    given = [name for name, value in (logs | texts).items() if value]
    if given and given[0] in logs and len(given) > 1:
        raise InputError(f"{given[0]} and {given[1]} contradict each other: leave out one")
    known = None if words is None else check_words(words)
    return Written(bool(from_logprobs), bool(percent), known, confidence == "auto")


def number_column(
    location: Location, name: str, given: Column | Names, how: Written
) -> tuple[Column, Counter[str]]:
    """A column of predictions in percent or in words, as probabilities, and how many were of which
    form if each is read by its form; numbers stay if they are not in percent. Raise InputError,
    with the location, for text that cannot be read.
    """
    words = how.words or {}
    if how.auto:
        return confidence_column(location, name, given, words, how.percent)
    if isinstance(given, Column):
        return Column(given.values / 100.0, given.gaps) if how.percent else given, Counter()
    signed = any(isinstance(value, str) and "%" in value for value in given.known)

    def number(value: Any) -> float | str | None:
        """The probability of one distinct value; None for a blank one or a refusal; a text that
        says why if there is none.
        """
        if is_blank(value):
            return None
        word = plain_text(value)
        if word in words:
            return words[word]
        if not how.percent:
            hint = f"{nearest(word, list(words))}, or add it with its probability"
            return f"{value!r}, which is not in {name_of('words')}: {hint}"
        number = percentage(value)
        is_small = isinstance(number, float) and 0 < number <= 0.01
        if signed and is_small and "%" not in str(value):
            return f"{value!r} without a % sign, but other values have one: is it a percentage?"
        return number

    def error(row: int, why: str) -> InputError:
        """The error for a row: its place, and why its value has no probability."""
        return InputError(f"{location.row(row)}: {name} is {why}")

    return given.as_numbers([number(value) for value in given.known], error), Counter()


def is_blank(value: Any) -> bool:
    """Whether a value is missing: None, NaN, or text of blanks only."""
    return value is None or value != value or (isinstance(value, str) and not value.strip())


def percentage(value: Any) -> float | str:
    """The probability of a percentage, written as 85, "85", "85%" or "85 %"; for any other value a
    text that says why it is not a percentage.
    """
    number = value
    if isinstance(value, str):
        number = plain_number(value.strip().removesuffix("%").strip())
    if number is None or isinstance(number, bool) or not isinstance(number, int | float):
        return f"{value!r}, which is not a percentage such as 85 or '85%'"
    if not 0 <= number <= 100:
        return f"{value!r}: percentages lie between 0 and 100"
    return float(number) / 100.0


class PercentSeen:
    """Finds out whether values called percentages may be probabilities, because no value of any row
    is above 1. Some rows may well have no value above 1, so that all rows are seen before an error
    is raised.
    """

    def __init__(self) -> None:
        """Begin with no values seen."""
        # Several threads add at the same time: flags only become True, and appending to a list is
        # safe.
        self._sizes: list[int] = []
        self._some = self._above = False

    def add(self, values: NDArray[Any]) -> None:
        """Look at the values of some rows, which have been divided by 100."""
        self._sizes.append(values.size)
        if values.any():
            self._some = True
        if (values > 0.01).any():
            self._above = True

    def check(self, called: str) -> None:
        """Raise InputError if no value of all those seen was above 1 percent. Nothing is raised if
        there were too few values, or if all were 0. `called` names the files in the message.
        """
        if sum(self._sizes) >= VALUES_THAT_TELL and self._some and not self._above:
            raise InputError(
                f"{called} no y_proba above 1, "
                f"{worded(python='while percent is True', command='under --percent')}: if these "
                f"are probabilities, leave out {name_of('percent')}"
            )


def probabilities(location: Location, given: Column) -> Column:
    """A column of log-probabilities, (n,) or (n, k), as probabilities; raise InputError, with the
    location, for a value above 0, or a row with -inf for every class.
    """
    logs = given.values.astype(np.float64)
    if given.gaps is not None:
        logs[given.gaps] = 0.0
    row = first_above_zero(logs)
    if row is not None:
        name = f"y_proba[{location.number(row)}]"
        raise InputError(f"{location.row(row)}: {above_zero_message(name, given.values[row])}")
    row = first_impossible(logs)
    if row is not None:
        raise InputError(f"{location.row(row)}: y_proba is -inf for every class")
    return Column(exponentials(logs), given.gaps)


def is_right_answer(answer: Any, gold: Any) -> bool:
    """Whether an answer is equal to the right one, `gold`: as numbers if both are numbers, else as
    text without the blanks around it.
    """
    first, second = str(answer).strip(), str(gold).strip()
    if isinstance(answer, bool) or isinstance(gold, bool):
        # JSON writes true, Python True; texts of a language model have either.
        return first.casefold() == second.casefold()
    if first == second:
        return True
    one, other = _exact_number(first), _exact_number(second)
    return one is not None and other is not None and one == other


def answer_key(answer: Any) -> Any:
    """A value that is equal for answers that are the same by `is_right_answer`."""
    text = str(answer).strip()
    if isinstance(answer, bool) or text in ("true", "false", "True", "False"):
        return text.casefold()
    number = _exact_number(text)
    return text if number is None or not number.is_finite() else number


def _exact_number(text: str) -> Decimal | None:
    """The number that a text writes, with all its digits, where a double holds about 16; None if
    the text is not a number.
    """
    try:
        return None if plain_number(text) is None else Decimal(text)
    except ArithmeticError:  # an exponent beyond all bounds
        return None


def compare_answers(answer: Names, gold: Names) -> Column:
    """Compare answers with the right ones, `gold`: a column with 1 where they are equal, 0 where
    they differ, and a gap where one of them is missing.
    """

    def absent(names: Names) -> Mask:
        """A mask (n,) of the rows that have no name."""
        return np.array([is_blank(name) for name in names.known], dtype=np.bool_)[names.codes]

    pairs = np.column_stack([answer.codes, gold.codes])
    distinct, where = np.unique(pairs, axis=0, return_inverse=True)
    right = np.array(
        [is_right_answer(answer.known[a], gold.known[b]) for a, b in distinct.tolist()],
        dtype=np.int64,
    )
    gaps = absent(answer) | absent(gold)
    return Column(right[where.reshape(-1)], gaps if gaps.any() else None)
