"""Confidences as models write them, and answers called right in words: one rule for each form.

The first rule that fits a value reads it, and how many were read by which is said. A value that two
readings fit, such as 1 (1 % or certain), and one that none fits, are errors that name their rows.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from calibrant._core.errors import InputError, counted
from calibrant._core.messages import EXCLUDED, Note, setting
from calibrant._core.validation import check_flag, public
from calibrant._data.answers import as_answers
from calibrant._data.readers.chunks import Column, Location, Names, plain_number, shortened
from calibrant._data.readers.csv_errors import EMPTY

# The forms, in the order of their rules, with what a result says of them.
FORMS = {
    "word": "words",
    "one": "numbers whose meaning was given (1)",
    "empty": "empty",
    "refusal": "refusals",
    "sign": "with a percent sign (85%)",
    "share": "shares (85 out of 100)",
    "number": "probabilities (0.85)",
    "percent": "percentages without a sign (85)",
}
# Counted beside the forms: rows without a confidence, where there is a rule for them.
UNANSWERED = "unanswered"
# Those among them that the file calls right, and the rule counts as wrong.
OVERRULED = "overruled"
# And all rows that were read.
ALL_ROWS = "all rows"
REFUSALS = {"excluded": "dropped", "wrong": "wrong answers at confidence 0"}
_SIGN = re.compile(r"(.*?)\s*(?:%|percent|per cent)")
_SHARE = re.compile(r"([\d.]+)\s*(?:/|out of|of)\s*([\d.]+)")
# A text with a number is none of these: it may hold a confidence after all.
_REFUSAL = re.compile(
    r"refus(?:e|ed|al)|declined?|abstain(?:ed)?|no (?:answer|confidence)|not (?:given|stated)"
    r"|(?:(?:i'm|i am) )?(?:very )?(?:sorry|unable)\b\D*"
    r"|i (?:(?:can't|cannot|can not|won't) (?!be\b)|(?:do not|don't) know\b)\D*"
)
CORRECTNESS = {
    **dict.fromkeys(("yes", "y", "true", "t", "correct", "c", "right"), 1),
    **dict.fromkeys(("no", "n", "false", "f", "incorrect", "i", "wrong"), 0),
}
IN_WORDS = (
    "right answers are yes, y, true, correct, c, right or 1, and wrong ones are no, n, false, "
    "incorrect, i, wrong or 0"
)
# How many rows, and how many other values, an error names.
_NAMED = 5

Words: TypeAlias = Mapping[str, float | None]


def plain_text(value: Any) -> str:
    """A value in the form in which it is looked up: small letters, single spaces, 1 for 1.0."""
    number = plain_number(value) if isinstance(value, str) else value
    if isinstance(number, int | float) and not isinstance(value, bool):
        whole = float(number).is_integer()
        return str(int(number)) if whole else repr(float(number))
    return " ".join(str(value).casefold().replace("\N{RIGHT SINGLE QUOTATION MARK}", "'").split())


def read_confidence(value: Any, words: Words, percent: bool) -> tuple[str, float | str | None]:
    """The form of a confidence, and its probability: None if it has none, or a text that says why
    it cannot be read.

    `words` have the form of `plain_text`; with `percent`, numbers without a sign are percentages.
    """
    text = plain_text(value)
    if text in words:
        number, form = words[text], "word" if plain_number(text) is None else "one"
        return "refusal" if number is None else form, number
    if value is None or value != value or text == "none" or str(value).strip() in EMPTY:
        return "empty", None
    if _REFUSAL.fullmatch(text.rstrip(".! ")):
        return "refusal", None
    signed, share = _SIGN.fullmatch(text), _SHARE.fullmatch(text)
    if share is not None:
        part, whole = map(plain_number, share.groups())
        if part is None or whole is None or not 0 <= part <= whole or whole == 0:
            return "share", "which is not a share: the first number must not exceed the second"
        return "share", part / whole
    bare = plain_number(signed[1] if signed else text)
    if bare is None or isinstance(value, bool):
        is_word = isinstance(value, str) and text.replace(" ", "").isalpha()
        return "word", "a word" if is_word else "which cannot be read"
    if not 0 <= bare <= 100:
        return "percent", "but confidences lie between 0 and 1, or 0 and 100 %"
    if signed is not None:
        return "sign", bare / 100
    return _bare_number(bare, percent)


def _bare_number(number: float, percent: bool) -> tuple[str, float | str | None]:
    """The reading of a number without a sign: 1 may be 1 % or certain, and where numbers are
    `percent`, what lies between 0 and 1 may be a probability.
    """
    if percent:
        unclear = 0 < number < 1
        return "percent", "which may be a percentage or a probability" if unclear else number / 100
    if number == 1:
        return "number", "which may be 1 % or certain"
    return ("number", number) if number < 1 else ("percent", number / 100)


def read_correctness(value: Any) -> int | str | None:
    """Whether an answer was right, 1 or 0; None if it is not said, and a text if it cannot be
    read.
    """
    if value is None or value != value or str(value).strip() in EMPTY:
        return None
    text = plain_text(value)
    if text in ("0", "1"):
        return int(text)
    return CORRECTNESS.get(text, "which is neither right nor wrong")


@dataclass(frozen=True, eq=False)
class Confidences:
    """Confidences as `read_confidences` returns them, with a value for each row.

    Attributes
    ----------
    y_true : ndarray of shape (n,) or None
        1 if the answer was right, 0 if it was wrong, NaN if unknown.
    y_proba : ndarray of shape (n,)
        Probability that each answer is right; NaN if there is none.
    forms : dict of str to int
        Number of rows in each form: "word", "one" (a number of `words`), "empty", "refusal",
        "sign", "share", "number", "percent".
    inferred : tuple of str
        The same in words.
    """

    y_true: NDArray[Any] | None
    y_proba: NDArray[Any]
    forms: dict[str, int]
    inferred: tuple[str, ...]

    @property
    def answered(self) -> float:
        """The share of rows that have a confidence."""
        return float(1.0 - np.isnan(self.y_proba).mean())


@public
def read_confidences(
    y_true: Any,
    y_proba: Any,
    *,
    words: Mapping[str, float | None] | None = None,
    percent: bool = False,
) -> Confidences:
    """Read confidences as written by models, and words for right and wrong answers.

    The first rule that fits a value reads it: a word of `words`; an empty value; a refusal ("I
    cannot say", "refused"); a percentage with its sign ("85%", "85 percent"); a share ("85 out of
    100", "85/100"); a number from 0 to 1, a probability; a number above 1 and up to 100, a
    percentage. A 1 may be 1 % or certain, so it is an error unless `words` or `percent` decides.

    Parameters
    ----------
    y_true : sequence of shape (n,) or None
        Whether each answer was right: 0/1, true/false, yes/no, Y/N, C/I, correct/incorrect,
        right/wrong.
    y_proba : sequence of shape (n,)
        Confidences: numbers, texts, None.
    words : mapping of str to float or None, optional
        The probability of each word, such as ``{"very likely": 0.9}``; None for a refusal.
    percent : bool, default False
        Whether numbers without a sign are percentages; one between 0 and 1 is then an error.

    Returns
    -------
    Confidences
        `y_true` and `y_proba`, with NaN for missing values, `forms`, `answered` and `inferred`.

    Raises
    ------
    InputError
        If no rule fits a value, or a value is ambiguous; the message names the rows.

    Examples
    --------
    >>> import calibrant as cal
    >>> said = ["85%", 0.9, "very likely", "7 out of 10", None]
    >>> rows = cal.read_confidences(["yes", "N", "C", True, "no"], said, words={"very likely": 0.9})
    >>> rows.y_proba.tolist(), rows.answered
    ([0.85, 0.9, 0.9, 0.7, nan], 0.8)
    >>> rows.y_true.tolist()
    [1, 0, 1, 1, 0]
    """
    check_flag("percent", percent)
    table = {} if words is None else check_words(words)
    confidences, labels = _named("y_proba", y_proba), None
    location = _Entries(cast("Any", None), 0, lambda row: f"entry {row}")
    found, forms = confidence_column(location, "y_proba", confidences, table, percent)
    if y_true is not None:
        column = correctness_column(location, _named("y_true", y_true))
        if column.values.size != found.values.size:
            raise InputError(
                f"y_true has {column.values.size} entries, y_proba {found.values.size}: give one "
                "of each for every answer"
            )
        labels = as_answers(column.values if column.gaps is None else _with_nan(column))
    return Confidences(labels, _with_nan(found), dict(forms), note_on_forms(forms))


class _Entries(Location):
    """The place of a value that is of no file."""

    def row(self, row: int) -> str:
        """The place in words."""
        return self.place(row)


def _named(argument: str, values: Any) -> Names:
    """The values of an argument of any kinds as names; raise InputError if it has none."""
    try:
        names = Names.of_values(values.tolist() if hasattr(values, "tolist") else values)
    except TypeError:  # no sequence, or one of lists
        names = Names.of_values(())
    if not names.known:
        raise InputError(
            f"{argument} must be a sequence with one value for each answer; got "
            f"{shortened(repr(values))}"
        )
    return names


def _with_nan(column: Column) -> NDArray[Any]:
    """The values of a column, with NaN for gaps."""
    values = column.values.astype(np.float64)
    return values if column.gaps is None else np.where(column.gaps, np.nan, values)


def check_words(words: Any) -> dict[str, float | None]:
    """The probabilities of words, with the words in the form of `plain_text`; raise InputError
    unless all probabilities lie in [0, 1]. None stands for a refusal.
    """
    if not isinstance(words, Mapping) or not words:
        raise InputError(
            f"words must map words to probabilities, such as {{'likely': 0.7}}; got {words!r}"
        )
    out: dict[str, float | None] = {}
    for word, value in words.items():
        number = value if isinstance(value, int | float) and not isinstance(value, bool) else None
        if value is not None and (number is None or not 0 <= number <= 1):
            raise InputError(
                f"words[{word!r}] is {value!r}: it must be a probability in [0, 1], or None for a "
                "refusal"
            )
        key = plain_text(word)
        if out.setdefault(key, number) != number:
            raise InputError(f"words has {key!r} twice, with two probabilities")
    return out


def confidence_column(
    location: Location, name: str, given: Column | Names, words: Words, percent: bool
) -> tuple[Column, Counter[str]]:
    """A column of confidences as probabilities, and how many rows were of which form. Raise
    InputError for the first that cannot be read; it names the others too.
    """
    names = given if isinstance(given, Names) else Names.of_numbers(given)
    forms, read = zip(*(read_confidence(each, words, percent) for each in names.known), strict=True)
    column = _numbers(location, name, names, read, _advice_on)
    counts: Counter[str] = Counter()
    for form, count in zip(forms, np.bincount(names.codes, minlength=len(forms)), strict=True):
        counts[form] += int(count)
    return column, counts


def correctness_column(location: Location, given: Names) -> Column:
    """A column of words, such as yes and no, as 1 (right) and 0 (wrong)."""
    read = [read_correctness(each) for each in given.known]
    return _numbers(location, "y_true", given, read, lambda _: IN_WORDS, np.int64)


def note_on_forms(counts: Mapping[str, int]) -> tuple[str, ...]:
    """What a result says of the forms in which confidences were written: how many of each."""
    found = [f"{text} {counts[form]:,}" for form, text in FORMS.items() if counts.get(form)]
    return (f"confidences by form: {', '.join(found)}",) if found else ()


def note_on_unanswered(counts: Mapping[str, int], rule: str) -> Note:
    """What a result says of the answers without a confidence: how many of the rows, how many of
    them are refusals, and what the rule ("excluded" or "wrong") made of them.
    """
    n, n_refusals, n_rows = (counts.get(each, 0) for each in (UNANSWERED, "refusal", ALL_ROWS))
    kinds = ""
    if 0 < n_refusals <= n:
        missing = f" and {n - n_refusals:,} missing" if n > n_refusals else ""
        kinds = f" ({counted(n_refusals, 'refusal')}{missing})"
    right = counts.get(OVERRULED, 0)
    although = f", although {right:,} of them are labelled correct" if right else ""
    text = (
        f"{n_rows - n:,} of {counted(n_rows, 'answer')} have a confidence; {n:,} without one"
        f"{kinds}: {REFUSALS[rule]}{although} ({setting('refusals', rule)})"
    )
    return Note(text, EXCLUDED if rule == "excluded" else UNANSWERED, n=n)


def _numbers(
    location: Location,
    name: str,
    given: Names,
    read: Sequence[float | str | None],
    advice_on: Callable[[str], str],
    dtype: type[Any] = np.float64,
) -> Column:
    """The number of each row: None is a gap. A text says why a value cannot be read: an InputError
    for its first row, which names further rows, other unreadable values, and what to do.
    """

    def error(first: int, why: str) -> InputError:
        """The error for the first row whose value cannot be read, for the reason `why`."""
        wrong = np.array([isinstance(each, str) for each in read], dtype=np.bool_)
        rows = np.flatnonzero(wrong[given.codes])
        texts = [plain_text(given.known[each]) for each in given.codes[rows].tolist()]
        value = shortened(str(given.known[given.codes[first]]))
        same = [row for row, text in zip(rows.tolist(), texts, strict=True) if text == texts[0]]
        others = [repr(shortened(text)) for text in dict.fromkeys(texts) if text != texts[0]]
        more = _listed([location.place(row) for row in same[1:]], "row")
        return InputError(
            f"{location.row(first)}: {name} is {value!r}, {why}"
            + (f", here and in {more}" if more else "")
            + f": {advice_on(value)}"
            + (f". Not read either: {_listed(others, 'value')}" if others else "")
        )

    return given.as_numbers(read, error, dtype)


def _listed(texts: list[str], what: str) -> str:
    """Some texts of a list, and how many more there are."""
    more = len(texts) - _NAMED
    rest = [f"{more:,} more {what}{'s' if more > 1 else ''}"] if more > 0 else []
    return ", ".join([*texts[:_NAMED], *rest])


def _advice_on(value: str) -> str:
    """What to do about a confidence that no rule reads: say its probability, or that there is
    none.
    """
    if plain_text(value) == "1":
        certain, hundredth = (setting("words", {"1": number}) for number in (1.0, 0.01))
        return f"choose between {certain} and {hundredth}"
    word = plain_text(value)
    return (
        f"give its probability with {setting('words', {word: ...})}, or call it a refusal with "
        f"{setting('words', {word: None})}"
    )
