"""Names that users give, as labels of a figure: short, on one line, and taken as plain text."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable

# What a legend one column wide has room for.
LEGEND = 30


def shown_name(name: object, most: int = LEGEND) -> str:
    """The name in at most so many letters: the middle of a long one is left out, not its ends.

    Dollar signs would begin a formula, so they are escaped; what cannot be printed is left out.
    """
    text = " ".join(str(name).split())
    text = "".join(letter for letter in text if letter.isprintable())
    return _shortened(text, most).replace("$", r"\$")


def shown_names(names: Iterable[object], most: int = LEGEND) -> list[str]:
    """Names side by side: those that would look the same are numbered."""
    out: list[str] = []
    seen: dict[str, int] = {}
    for name in names:
        text = shown_name(name, most)
        seen[text] = seen.get(text, 0) + 1
        out.append(text if seen[text] == 1 else f"{text} ({seen[text]})")
    return out


def _shortened(text: str, most: int) -> str:
    if _room(text) <= most:
        return text
    head, tail = "", ""
    for letter in text:
        if _room(head + letter) > (most - 1) * 2 // 3:
            break
        head += letter
    for letter in reversed(text):
        if _room(head + letter + tail) > most - 1:
            break
        tail = letter + tail
    return f"{head.rstrip()}…{tail.lstrip()}"


def _room(text: str) -> int:
    """Columns that a text takes: letters of East Asia are twice as wide."""
    return sum(2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in text)
