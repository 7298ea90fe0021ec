"""Names that users give, as labels of a figure: short, on one line, and taken as plain text."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from itertools import takewhile

# Letters that fit into a legend under a figure one column of a paper wide.
LEGEND = 30


def short_name(name: object, most: int = LEGEND) -> str:
    """The name in at most `most` letters: a long one loses its middle.

    A dollar sign would begin a formula, so it is escaped; what cannot be printed is left out.
    """
    return _escaped(_shortened(_plain(name), most))


def legend_label(name: object | None, text: str, most: int = LEGEND) -> str:
    """A line of a legend: ``name: text``, or the text alone if `name` is None.

    The name is shortened to `most` letters.
    """
    return text if name is None else f"{short_name(name, most)}: {text}"


def short_names(names: Iterable[object], most: int = LEGEND) -> list[str]:
    """Short forms of several names, each at most `most` letters wide.

    Names that would have the same short form show the part in which they differ instead, and equal
    names are numbered.
    """
    texts = [_plain(name) for name in names]
    alike: dict[str, list[str]] = {}
    for text in dict.fromkeys(texts):
        alike.setdefault(_shortened(text, most), []).append(text)
    short: dict[str, str] = {}
    for form, group in alike.items():
        forms = [form] if len(group) == 1 else _distinct_parts(group, most)
        short |= dict(zip(group, forms, strict=True))
    return [_escaped(text) for text in _numbered([short[text] for text in texts], most)]


def _plain(name: object) -> str:
    """A name on one line: white space becomes single spaces, unprintable signs are left out."""
    text = " ".join(str(name).split())
    return "".join(letter for letter in text if letter.isprintable())


def _escaped(text: str) -> str:
    """A text in which dollar signs, which would begin a formula in matplotlib, are escaped."""
    return text.replace("$", r"\$")


def _numbered(texts: list[str], most: int) -> list[str]:
    """The texts, where the second and later of equal ones get a number: ``name (2)``.

    A numbered text is shortened so that it keeps to `most` letters.
    """
    out: list[str] = []
    for text in texts:
        shown, number = text, 1
        while shown in out:
            number += 1
            end = f" ({number})"
            shown = _shortened(text, most - len(end)) + end
        out.append(shown)
    return out


def _distinct_parts(texts: list[str], most: int) -> list[str]:
    """Short forms, at most `most` letters wide, of names that begin and end alike.

    They are the parts in which the names differ.
    """
    start = _n_common_letters(texts)
    end = _n_common_letters([text[start:][::-1] for text in texts])
    return [_excerpt(text, start, len(text) - end, most) for text in texts]


def _n_common_letters(texts: list[str]) -> int:
    """The length of the longest prefix that all texts have in common.

    It is the prefix of the first and the last text by alphabet.
    """
    pairs = zip(min(texts), max(texts), strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _excerpt(text: str, start: int, stop: int, most: int) -> str:
    """The part of a text from `start` to `stop`, with the words around it that fit into `most`.

    If the part itself is wider than `most`, it loses its middle.
    """
    if _width(_cut(text, start, stop)) > most:
        return f"…{_shortened(text[start:stop].strip(), most - 2)}…"
    first, last = start, stop
    while last < len(text) and _is_inside(text, last) and _fits(text, first, last + 1, most):
        last += 1
    while first > 0 and _fits(text, first - 1, last, most):
        first -= 1
    if first < start and _is_inside(text, first):  # leave a word out whole if it does not fit
        first = next((i for i in range(first, start) if not _is_inside(text, i)), first)
    stop = last
    while last < len(text) and _fits(text, first, last + 1, most):
        last += 1
    if last < len(text) and _is_inside(text, last):
        last = next((i for i in range(last, stop, -1) if not _is_inside(text, i)), last)
    return _cut(text, first, last)


def _is_inside(text: str, at: int) -> bool:
    """Whether a cut before the letter with index `at` goes through a word."""
    return 0 < at < len(text) and text[at - 1].isalnum() and text[at].isalnum()


def _fits(text: str, start: int, stop: int, most: int) -> bool:
    """Whether the part from `start` to `stop`, with its ellipses, has at most `most` letters."""
    return _width(_cut(text, start, stop)) <= most


def _cut(text: str, start: int, stop: int) -> str:
    """The part of a text from `start` to `stop`, with an ellipsis where letters are left out."""
    return f"{'…' * (start > 0)}{text[start:stop].strip()}{'…' * (stop < len(text))}"


def _shortened(text: str, most: int) -> str:
    """A text of at most `most` letters: a longer one has an ellipsis for its middle."""
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
