"""Messages on what was inferred about several files, once where they are alike in all of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from calibrant._core.messages import Note
from calibrant.results._summary import input_lines

_OF_FILE = "of a file"


def messages_by_file(messages: Mapping[str, Iterable[str]]) -> tuple[str, ...]:
    """The messages on files, given by the name of each file, with its name before each message."""
    return tuple(
        Note(f"{name}: {line}", _OF_FILE, file=name, line=line)
        for name, lines in messages.items()
        for line in lines
    )


def short_lines(messages: Iterable[str], files: int = 0) -> list[str]:
    """Messages as the first lines of an output; one that all files have stands there once.

    `files` is the number of files. A message on one file is dropped if it also stands without the
    name of a file.
    """
    messages = list(messages)
    holders: dict[str, set[str]] = {}
    for message in messages:
        if isinstance(message, Note) and message.code == _OF_FILE:
            holders.setdefault(message.values["line"], set()).add(message.values["file"])
    common = {line for line, names in holders.items() if len(names) == files} | set(messages)
    return input_lines(
        message.values["line"]
        if isinstance(message, Note) and message.values.get("line") in common
        else message
        for message in messages
    )
