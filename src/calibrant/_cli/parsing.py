"""What every verb's options have in common: how they are read, and what a wrong one gets."""

from __future__ import annotations

import argparse
import math
import shlex
from collections.abc import Iterator
from typing import Any, NoReturn

from calibrant._cli.exit_codes import NOT_DONE
from calibrant._core.errors import InputError, nearest

# Not argparse's 2, which is a check's "undecided".


# What options are called in Python, and in other programs.
_CALLED = {
    "--y-true": "--label",
    "--labels": "--label",
    "--target": "--label",
    "--truth": "--label",
    "--y-proba": "--proba",
    "--y-prob": "--proba",
    "--y-pred": "--proba",
    "--sample-weight": "--weight",
    "--weights": "--weight",
    "--output": "-o",
    "--at-most": "--max",
    "--at-least": "--min",
    "--ids": "--id",
    "--measure": "--measures",
    "--metrics": "--measures",
    "--n-bins": "--bins",
}


# What other programs call verbs.
_VERBS = {
    "evaluate": "report",
    "eval": "report",
    "fit": "scale",
    "calibrate": "scale",
    "recalibrate": "scale",
    "transform": "scale",
    "update": "monitor",
    "diff": "compare",
    "test": "check",
}


def _nearest_option(given: str, known: list[str]) -> str:
    option = given.partition("=")[0].replace("_", "-")
    meant = _CALLED.get(option)
    if meant is None and option in known:  # written with an underscore
        meant = option
    if meant in known:
        return f"did you mean {meant!r}?"
    return nearest(option, known, cutoff=0.6)


class Parser(argparse.ArgumentParser):
    """A parser whose errors are one line, name the nearest choice and end with 3."""

    def __init__(self, **settings: Any) -> None:
        # A short form of an option that is mistyped may be another option.
        super().__init__(**{"allow_abbrev": False, **settings})

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        parsed, rest = self.parse_known_args(args, namespace)
        if rest:
            verb = next((each for name, each in self.verbs() if name == parsed.command), self)
            known = [text for action in verb._actions for text in action.option_strings]
            hint = f": {_nearest_option(rest[0], known)}" if rest[0].startswith("-") else ""
            verb.error(f"{rest[0]!r} is not understood{hint}")
        # What was typed stands on pages; completion describes the parser.
        parsed.typed, parsed.parser = shlex.join([self.prog, *args]), self
        return parsed

    def verbs(self) -> Iterator[tuple[str, argparse.ArgumentParser]]:
        """The parsers of verbs, by name."""
        for action in self._actions:
            if isinstance(action, argparse._SubParsersAction):
                yield from action.choices.items()

    def help_of(self, name: str) -> str | None:
        """The line that says what a verb does."""
        groups = [a for a in self._actions if isinstance(a, argparse._SubParsersAction)]
        return next(
            (each.help for group in groups for each in group._choices_actions if each.dest == name),
            None,
        )

    def error(self, message: str) -> NoReturn:
        from calibrant._cli.terminal import visible

        self.exit(NOT_DONE, f"{self.prog}: {visible(message)} (see {self.prog} --help)\n")

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            what = "command" if action.dest == "command" else "value"
            meant = _VERBS.get(value) if what == "command" else None
            hint = f"did you mean {meant!r}?" if meant else nearest(value, map(str, action.choices))
            raise argparse.ArgumentError(
                None if what == "command" else action, f"no {what} is called {value!r}: {hint}"
            )


def names(text: str) -> list[str]:
    """Names with commas between them."""
    parsed = [name.strip() for name in text.split(",")]
    if not all(parsed):
        raise argparse.ArgumentTypeError(f"{text!r} has an empty name: give names such as a,b,c")
    return parsed


def distinct(text: str) -> list[str]:
    """Names with commas between them, each once."""
    return list(dict.fromkeys(names(text)))


def shares(text: str) -> float | list[float]:
    """The share of class 1, or of every class with commas between them."""
    try:
        parsed = [float(each) for each in text.split(",")]
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"{text!r} is no share: give one such as 0.02, or those of all classes such as .5,.3,.2"
        ) from None
    return parsed[0] if len(parsed) == 1 else parsed


def bins(text: str) -> Any:
    """A count, edges, quantile:COUNT, or a count that follows from the rows: cbrt, auto."""
    from calibrant._core.bin_counts import is_by_rows

    if is_by_rows(text):
        return text
    try:
        if text.startswith("quantile:"):
            from calibrant._core.binning import Quantile

            return Quantile(int(text.removeprefix("quantile:")))
        return [float(edge) for edge in text.split(",")] if "," in text else int(text)
    except InputError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"{text!r} is neither a count, nor edges such as 0,0.5,1, nor quantile:15, cbrt or auto"
        ) from None


def bin_count(text: str) -> Any:
    """A count, or one that follows from the rows."""
    from calibrant._core.bin_counts import is_by_rows

    return text if is_by_rows(text) else whole(text)


def worded(text: str) -> dict[str, float]:
    """WORD=PROBABILITY,... or a file with such a pair a line, or with a JSON record."""
    from pathlib import Path

    if "=" not in text or Path(text).is_file():
        try:
            content = Path(text).read_text(encoding="utf-8")
        except (OSError, ValueError):
            raise argparse.ArgumentTypeError(
                f"{text!r} is neither pairs such as likely=0.7,unlikely=0.2 nor a file of them"
            ) from None
        if content.lstrip().startswith("{"):
            return _worded_record(text, content)
        pairs = [line for line in content.splitlines() if line.strip()]
    else:
        pairs = text.split(",")
    return dict(_worded_pair(pair) for pair in pairs)


def _worded_record(path: str, content: str) -> dict[str, float]:
    import json

    try:
        record: dict[str, float] = json.loads(content)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{path} is not JSON: {error}") from None
    return record


def _worded_pair(pair: str) -> tuple[str, float]:
    word, sign, value = pair.rpartition("=" if "=" in pair else ",")
    if not sign or not word.strip():
        raise argparse.ArgumentTypeError(f"{pair!r} is not of the form likely=0.7")
    return word.strip(), number(value.strip())


def whole(text: str) -> int:
    """A count."""
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number") from None


def at_least_one(text: str) -> int:
    """A count that cannot be 0."""
    parsed = whole(text)
    if parsed < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not 1 or more")
    return parsed


def share(text: str) -> float:
    """A number between 0 and 1."""
    parsed = number(text)
    if not 0 < parsed < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not between 0 and 1, such as 0.95")
    return parsed


def number(text: str) -> float:
    """A finite number."""
    try:
        parsed = float(text)
    except ValueError:
        parsed = math.nan
    if not math.isfinite(parsed):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number")
    return parsed


def named_number(text: str) -> tuple[str, float]:
    """NAME=NUMBER."""
    name, sign, value = text.partition("=")
    if not sign or not name.strip():
        raise argparse.ArgumentTypeError(f"{text!r} is not of the form ece=0.05")
    return name.strip(), number(value)


def changed(options: argparse.Namespace, **values: Any) -> argparse.Namespace:
    """The options with other values for some; those that were parsed stay as they are."""
    return argparse.Namespace(**{**vars(options), **values})


def add_json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print JSON only")
