"""Names that users give, as labels of a figure: short, on one line, and taken as plain text."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from itertools import takewhile

# Letters that fit into a legend one column wide.
LEGEND = 30


def short_name(name: object, most: int = LEGEND) -> str:
    """The name in at most `most` letters: a long one loses its middle.

    Dollar signs would begin a formula, so they are escaped; what cannot be printed is left out.
    """
    return _escaped(_shortened(_plain(name), most))


def legend_label(name: object | None, text: str, most: int = LEGEND) -> str:
    """A line of a legend: the text, after the name of the predictor where it has one."""
    return text if name is None else f"{short_name(name, most)}: {text}"


def short_names(names: Iterable[object], most: int = LEGEND) -> list[str]:
    """Short forms of several names. Names whose short forms are equal show the part in which they
    differ, and equal names are numbered.
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
    text = " ".join(str(name).split())
    return "".join(letter for letter in text if letter.isprintable())


def _escaped(text: str) -> str:
    return text.replace("$", r"\$")


def _numbered(texts: list[str], most: int) -> list[str]:
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
    """Short forms of names that begin and end alike: the parts in which they differ."""
    start = _n_common_letters(texts)
    end = _n_common_letters([text[start:][::-1] for text in texts])
    return [_excerpt(text, start, len(text) - end, most) for text in texts]


def _n_common_letters(texts: list[str]) -> int:
    """Length of the common prefix, which the first and the last by alphabet share."""
    pairs = zip(min(texts), max(texts), strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _excerpt(text: str, start: int, stop: int, most: int) -> str:
    """A part of a text, with as many of the words around it as there is room for."""
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
    """Whether a cut there goes through a word."""
    return 0 < at < len(text) and text[at - 1].isalnum() and text[at].isalnum()


def _fits(text: str, start: int, stop: int, most: int) -> bool:
    return _width(_cut(text, start, stop)) <= most


def _cut(text: str, start: int, stop: int) -> str:
    return f"{'…' * (start > 0)}{text[start:stop].strip()}{'…' * (stop < len(text))}"


def _shortened(text: str, most: int) -> str:
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
    """Columns that a text takes: letters of East Asia are twice as wide."""
    return sum(2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in text)
