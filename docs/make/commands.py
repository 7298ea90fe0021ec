"""The options of every command, from its parser: a table stands for `<!-- options: NAME -->`.

NAME is a command, or "columns": what commands that read files have in common stands there once.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from functools import cache

from calibrant._cli.command import build_parser
from calibrant._cli.parsing import Verb
from tables import table

COLUMNS = "columns"
# Every command has these: the page says so once.
_EVERYWHERE = {"--help", "--json", "--debug"}
_MARK = re.compile(r"<!-- options: ([\w-]+) -->")


def placed(markdown: str) -> str:
    """A page with tables of options in their places."""
    return _MARK.sub(lambda mark: options_of(mark[1]), markdown)


@cache
def commands() -> dict[str, Verb]:
    """The parser of every command."""
    return {command.name: command for command in build_parser().verbs()}


def options_of(name: str) -> str:
    """The table of a command's own options; for "columns", of those that report shares."""
    shared = name == COLUMNS
    groups = commands()["report" if shared else name]._action_groups
    rows = [
        row for group in groups if (group.title == COLUMNS) is shared for row in _rows(group)
    ]  # fmt: skip
    return table(["option", "what it does"], rows)


def _rows(group: argparse._ArgumentGroup) -> Iterator[tuple[str, str]]:
    for action in group._group_actions:
        if not _EVERYWHERE & set(action.option_strings):
            help_text = " ".join((action.help or "").split()).replace("%%", "%")
            yield f"`{_written(action)}`", _plain(help_text)


def _written(action: argparse.Action) -> str:
    """An option as it is typed, the values of long lists of choices left out."""
    value = action.metavar or (action.dest.upper() if action.nargs != 0 else "")
    if action.choices is not None and action.metavar is None:
        listed = [str(choice) for choice in action.choices]
        value = f"{{{','.join(listed)}}}" if len(listed) < 8 else "NAME"
    many = " ..." if action.nargs in ("+", "*") else ""
    return f"{', '.join(action.option_strings)} {value}{many}".strip().replace(" | ", " or ")


def _plain(text: str) -> str:
    """Text in which no sign is taken for a mark."""
    return re.sub(r"([*_<])", r"\\\1", text)
