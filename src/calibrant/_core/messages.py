"""How messages name what a reader types, and notes that programs can tell apart.

A message is made once, where its reason is known, and in the words of whoever reads it:
`missing='drop'` in Python, `--missing drop` on the command line. A front end that calls arguments
otherwise says so with `named_by`. Nobody looks into the text of a message afterwards.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any


class Naming:
    """Arguments as a Python user types them. A front end, such as the command line, overrides what
    its users type otherwise.
    """

    # Whether the reader types a command, and the text between two settings.
    is_command, between = False, ", "
    # The order of labels and predictions in a call.
    order: tuple[str, str] = ("y_true", "y_proba")

    def name(self, argument: str) -> str:
        """The name of an argument as its user knows it: `y_true`."""
        return argument

    def setting(self, argument: str, value: object) -> str:
        """An argument with its value, as in a call: `missing='drop'`. The value `...` means that
        the reader fills it in: `votes=`.
        """
        return f"{argument}=" if value is ... else f"{argument}={_shown(value)}"

    def values(self, argument: str) -> str:
        """The name that messages put before a row number in brackets: `y_proba` in `y_proba[3]`."""
        return argument


def _shown(value: object) -> str:
    """A value as Python code. An Ellipsis, also inside a list or dict, becomes "...", which stands
    for what the reader fills in.
    """
    if value is ...:
        return "..."
    if isinstance(value, list):
        return f"[{', '.join(map(_shown, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{key!r}: {_shown(each)}' for key, each in value.items())}}}"
    return repr(value)


_NAMING: ContextVar[Naming] = ContextVar("naming", default=Naming())  # noqa: B039 - has no state


@contextmanager
def named_by(naming: Naming) -> Iterator[None]:
    """Inside the block, messages call arguments by the names of a front end (`naming`), also
    messages made in threads.
    """
    token = _NAMING.set(naming)
    try:
        yield
    finally:
        _NAMING.reset(token)


def name_of(argument: str) -> str:
    """An argument's name as the user types it: `y_true` in Python, `--label` on the
    command line.
    """
    return _NAMING.get().name(argument)


def setting(argument: str, value: object = ...) -> str:
    """An argument with its value, as the reader types it: `missing='drop'`, or `--missing drop`.

    Without a value, `votes=` or `--votes`. An Ellipsis inside the value, as in [...], stands for
    what the reader fills in.
    """
    return _NAMING.get().setting(argument, value)


def settings(**given: object) -> str:
    """Several arguments with their values: `answer='a', gold='b'`, or `--answer a --gold b`."""
    return _NAMING.get().between.join(setting(name, value) for name, value in given.items())


def values_of(argument: str) -> str:
    """The name that messages put before a row number in brackets: `y_proba` in `y_proba[3]`. The
    command line has such a name also for arguments that are no options there.
    """
    return _NAMING.get().values(argument)


def argument_order() -> str:
    """The order in which a call takes labels and predictions, as text: "(y_true, y_proba)"."""
    return f"({', '.join(map(values_of, _NAMING.get().order))})"


def worded(*, python: str, command: str) -> str:
    """The text `python` for a reader who calls Python, `command` for one who types a command; for
    messages that differ in more than the names of arguments.
    """
    return command if _NAMING.get().is_command else python


def two_classes() -> str:
    """The option that names both classes, as the reader types it: "classes=[negative,
    positive]".
    """
    return worded(python="classes=[negative, positive]", command="--classes NEGATIVE,POSITIVE")


class Note(str):
    """A sentence for the reader. Programs recognise it by its `code` and read its
    `values`, not its text.
    """

    code: str
    values: Mapping[str, Any]

    def __new__(cls, text: str, code: str, **values: Any) -> Note:
        """A note with this text. `code` identifies the kind of note; `values` are the facts in its
        sentence, by name.
        """
        note = super().__new__(cls, text)
        note.code, note.values = code, values
        return note

    def __getnewargs_ex__(self) -> tuple[tuple[str, str], Mapping[str, Any]]:
        """The positional and keyword arguments that remake the note, for pickle and copy."""
        return (str(self), self.code), self.values


# The codes of notes on columns that were found by their names (`argument`, and `columns` in words),
# and on how labels stand for classes.
FOUND, CLASSES = "found", "classes"
# The code of notes on single measures, whose names are their value `names`.
ABOUT_MEASURES = "about measures"
# The code of the note on answers without a confidence that were dropped; their number is `n`.
EXCLUDED = "excluded"


def about_measures(text: str, names: Iterable[str]) -> Note:
    """A note on these measures alone, which a summary without them leaves out."""
    return Note(text, ABOUT_MEASURES, names=tuple(names))


def find_note(notes: Iterable[str], *codes: str) -> Note | None:
    """The first note that has one of the codes; None if no note has."""
    return next((note for note in notes if isinstance(note, Note) and note.code in codes), None)
