"""`calibrant check --config`: options of a check in a TOML file, as if they were typed."""

from __future__ import annotations

import argparse
import os
import shlex
import tomllib
from collections.abc import Iterator
from typing import Any

from calibrant._cli.parsing import replace_options
from calibrant._core.errors import InputError, nearest

LIMIT = "MEASURE=LIMIT"
# The keys of the table [slices], and the options that they are.
SLICES = {"by": "by", "tolerance": "tolerance", "undecided": "undecided-slices"}
# Options of one run, and what names them.
_TYPED_ONLY = ("config", "help", "json", "debug")


def with_config(options: argparse.Namespace) -> tuple[argparse.Namespace, tuple[str, ...]]:
    """Add the options in the file of --config to those typed, which come first where both say one.

    Return all options, and a message on what the file says.
    """
    if options.config is None:
        return options, ()
    path, words = options.config, []
    typed = shlex.split(options.typed)
    typed = typed[typed.index("check") + 1 :]
    given = {word.partition("=")[0] for word in typed}
    files: list[str] = []
    for key, value in _entries(path):
        where = f"{path}: {key}"
        if key == "files":
            texts = value if isinstance(value, list) else [value]
            files = [_path_from_config(path, _as_text(where, text)) for text in texts]
            continue
        action = _find_option(options, path, key)
        if action.metavar == LIMIT:
            for name, limit in _checked_table(where, value).items():
                if name not in dict(getattr(options, action.dest)):
                    text = _checked_text(f"{where}.{name}", action, f"{name}={limit}")
                    words += [f"--{key}", text]
        elif f"--{key}" not in given:
            words += _typed_words(where, path, action, value)
    parsed, _ = options.verb.parse_known_args([*words, *typed])
    parsed.files = parsed.files or files
    said = shlex.join([*words, *(files if parsed.files is files else ())])
    return replace_options(options, **vars(parsed)), (f"options from {path}: {said or 'none'}",)


def _entries(path: str) -> Iterator[tuple[str, Any]]:
    """Yield the options of the file, by their names without dashes, and their values."""
    try:
        with open(path, "rb") as file:
            content = tomllib.load(file)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}") from None
    except ValueError as error:
        raise InputError(f"{path} is not TOML: {error}") from None
    for key, value in content.items():
        if key != "slices":
            yield key.replace("_", "-"), value
            continue
        for own, given in _checked_table(f"{path}: slices", value).items():
            if own not in SLICES:
                raise InputError(f"{path}: slices has no key {own!r}: {nearest(own, SLICES)}")
            yield SLICES[own], given


def _find_option(options: argparse.Namespace, path: str, key: str) -> argparse.Action:
    """The option of `check` that a key names; an error if there is none."""
    known = {
        text.removeprefix("--"): action
        for text, action in options.verb._option_string_actions.items()
        if text.startswith("--") and text.removeprefix("--") not in _TYPED_ONLY
    }
    if key not in known:
        names = [*known, "files", "slices"]
        raise InputError(f"{path}: there is no option {key!r}: {nearest(key, names)}")
    action: argparse.Action = known[key]
    return action


def _typed_words(where: str, path: str, action: argparse.Action, value: Any) -> list[str]:
    """The words by which an option with this value is typed."""
    option = action.option_strings[-1]
    if action.nargs == 0:
        if not isinstance(value, bool):
            raise InputError(f"{where} must be true or false; got {value!r}")
        return [option] if value else []
    if isinstance(value, dict):
        value = [f"{name}={_as_text(where, each)}" for name, each in value.items()]
    texts = [_as_text(where, each) for each in (value if isinstance(value, list) else [value])]
    text = ",".join(texts)
    if action.metavar == "FILE" or action.dest in ("baseline", "junit"):
        text = _path_from_config(path, text)
    return [option, _checked_text(where, action, text)]


def _checked_text(where: str, action: argparse.Action, text: str) -> str:
    """The text, unchanged, if the option takes it; else an error."""
    try:
        value = action.type(text) if callable(action.type) else text
    except argparse.ArgumentTypeError as error:
        raise InputError(f"{where}: {error}") from None
    if action.choices is not None and value not in action.choices:
        raise InputError(f"{where}: {text!r} is not known: {nearest(text, action.choices)}")
    return text


def _checked_table(where: str, value: Any) -> dict[str, Any]:
    """The value, unchanged, if it is a table; else an error."""
    if not isinstance(value, dict):
        raise InputError(
            f"{where} must be a table, such as [{where.rpartition(' ')[2]}]; got {value!r}"
        )
    return value


def _as_text(where: str, value: Any) -> str:
    """A text or number of the file as text; an error for anything else."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise InputError(f"{where} must be a text or a number; got {value!r}")
    return str(value)


def _path_from_config(path: str, file: str) -> str:
    """The path of a file that the configuration names, from the folder of the configuration."""
    return os.path.join(os.path.dirname(path), os.path.expanduser(file))
