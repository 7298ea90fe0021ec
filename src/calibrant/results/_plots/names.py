"""Names that users give, as labels of a figure: short, on one line, and taken as plain text."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from itertools import takewhile

# Letters that fit into a legend under a figure one column of a paper wide.
LEGEND = 30


def short_name(name: object, most: int = LEGEND) -> str:
    """Shorten a name to at most `most` letters, by an ellipsis for its middle.

    Dollar signs, which would begin a formula, are escaped, and unprintable letters are dropped.
    """
    return _escape_dollars(_shorten(_on_one_line(name), most))


def legend_label(name: object | None, text: str, most: int = LEGEND) -> str:
    """A line of a legend: ``name: text``, or the text alone if `name` is None.

    The name is shortened to `most` letters.
    """
    return text if name is None else f"{short_name(name, most)}: {text}"


def short_names(names: Iterable[object], most: int = LEGEND) -> list[str]:
    """Shorten several names so that they differ, each to at most `most` letters.

    Names with the same short form show the part in which they differ instead; equal names are
    numbered.
    """
    texts = [_on_one_line(name) for name in names]
    alike: dict[str, list[str]] = {}
    for text in dict.fromkeys(texts):
        alike.setdefault(_shorten(text, most), []).append(text)
    short: dict[str, str] = {}
    for form, group in alike.items():
        forms = [form] if len(group) == 1 else _distinct_parts(group, most)
        short |= dict(zip(group, forms, strict=True))
    return [
        _escape_dollars(text) for text in _number_repeats([short[text] for text in texts], most)
    ]


def _on_one_line(name: object) -> str:
    """Put a name on one line, with single spaces and without unprintable letters."""
    text = " ".join(str(name).split())
    return "".join(letter for letter in text if letter.isprintable())


def _escape_dollars(text: str) -> str:
    """Escape the dollar signs of a text, which would begin a formula in matplotlib."""
    return text.replace("$", r"\$")


def _number_repeats(texts: list[str], most: int) -> list[str]:
    """Number repeated texts: the second of two equal ones becomes ``name (2)``.

    A numbered text is shortened to at most `most` letters.
    """
    out: list[str] = []
    for text in texts:
        shown, number = text, 1
        while shown in out:
            number += 1
            end = f" ({number})"
            shown = _shorten(text, most - len(end)) + end
        out.append(shown)
    return out


def _distinct_parts(texts: list[str], most: int) -> list[str]:
    """The parts in which names that begin and end alike differ, at most `most` letters wide."""
    start = _n_common_letters(texts)
    end = _n_common_letters([text[start:][::-1] for text in texts])
    return [_excerpt(text, start, len(text) - end, most) for text in texts]


def _n_common_letters(texts: list[str]) -> int:
    """The length of the longest prefix that all texts have in common."""
    pairs = zip(min(texts), max(texts), strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _excerpt(text: str, start: int, stop: int, most: int) -> str:
    """The part of a text from `start` to `stop`, extended by words around it to `most` letters.

    A part that is wider than `most` letters has an ellipsis for its middle.
    """
    if _width(_with_ellipses(text, start, stop)) > most:
        return f"…{_shorten(text[start:stop].strip(), most - 2)}…"
    first, last = start, stop
    while last < len(text) and _splits_word(text, last) and _fits(text, first, last + 1, most):
        last += 1
    while first > 0 and _fits(text, first - 1, last, most):
        first -= 1
    if first < start and _splits_word(text, first):  # leave a word out whole if it does not fit
        first = next((i for i in range(first, start) if not _splits_word(text, i)), first)
    stop = last
    while last < len(text) and _fits(text, first, last + 1, most):
        last += 1
    if last < len(text) and _splits_word(text, last):
        last = next((i for i in range(last, stop, -1) if not _splits_word(text, i)), last)
    return _with_ellipses(text, first, last)


def _splits_word(text: str, at: int) -> bool:
    """Whether a cut before the letter with index `at` splits a word."""
    return 0 < at < len(text) and text[at - 1].isalnum() and text[at].isalnum()


def _fits(text: str, start: int, stop: int, most: int) -> bool:
    """Whether the part of a text, with its ellipses, is at most `most` letters wide."""
    return _width(_with_ellipses(text, start, stop)) <= most


def _with_ellipses(text: str, start: int, stop: int) -> str:
    """The part of a text from `start` to `stop`, with an ellipsis at an end that is cut."""
    return f"{'…' * (start > 0)}{text[start:stop].strip()}{'…' * (stop < len(text))}"


def _shorten(text: str, most: int) -> str:
    """Shorten a text to at most `most` letters, by an ellipsis for its middle."""
    if _width(text) <= most:
        return text
    head, tail = "", ""
    for letter in text:
        if _width(head + letter) > (most - 1) * 2 // 3:
            break
        head += letter
    for letter in reversed(text):
        if _width(head + letter + tail) > most - 1:
            break
        tail = letter + tail
    return f"{head.rstrip()}…{tail.lstrip()}"


def _width(text: str) -> int:
    """The width of a text in letters; a wide letter of East Asia counts twice."""
    return sum(2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in text)
