"""Sentences in lines of a width, and names that are too long for one."""

from __future__ import annotations

import textwrap


def shortened_middle(name: str, most: int) -> str:
    """Cut a name to `most` letters by an ellipsis in its middle: both ends tell names apart."""
    if len(name) <= most:
        return name
    kept = max(most - 1, 2)
    tail = kept // 2
    return f"{name[: kept - tail]}…{name[len(name) - tail :]}"


def wrapped(text: str, width: int, *, hanging: str = "") -> list[str]:
    """Break a line at spaces into lines of at most `width` columns.

    Further lines are indented as the first one is, and by `hanging`. Words that are longer than a
    line, such as names of files, are shortened in the middle.
    """
    if len(text) <= width:
        return [text]
    body = text.lstrip(" ")
    indent = text[: len(text) - len(body)]
    further = indent + hanging
    words = [shortened_middle(word, width - len(further)) for word in body.split(" ")]
    lines = textwrap.wrap(
        " ".join(words),
        width,
        initial_indent=indent,
        subsequent_indent=further,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return lines or [""]
