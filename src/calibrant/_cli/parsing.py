"""Parsing of options, shared by all verbs: types of values, and errors with the nearest choice."""

from __future__ import annotations

import argparse
import math
import shlex
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any, NoReturn

from calibrant._cli.exit_codes import NOT_DONE
from calibrant._cli.terminal import columns_of, print_wrapped
from calibrant._core.errors import InputError, nearest

# Names that options have in Python and in other programs.
_OTHER_NAMES = {
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


# Names that verbs have in other programs.
_OTHER_VERBS = {
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


def _nearest_option(typed: str, known: list[str]) -> str:
    """Suggest one of the `known` options for an unknown one, as words of an error.

    Names that other programs use for an option are recognised too.
    """
    option = typed.partition("=")[0].replace("_", "-")
    meant = _OTHER_NAMES.get(option)
    if meant is None and option in known:  # written with an underscore
        meant = option
    if meant in known:
        return f"did you mean {meant!r}?"
    return nearest(option, known, cutoff=0.6)


def names(text: str) -> list[str]:
    """Parse names separated by commas."""
    parsed = [name.strip() for name in text.split(",")]
    if not all(parsed):
        raise argparse.ArgumentTypeError(f"{text!r} has an empty name: give names such as a,b,c")
    return parsed


def distinct_names(text: str) -> list[str]:
    """Parse names separated by commas; a repeated name counts once."""
    return list(dict.fromkeys(names(text)))


def class_shares(text: str) -> float | list[float]:
    """Parse the share of class 1, or the shares of all classes separated by commas."""
    try:
        parsed = [float(each) for each in text.split(",")]
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a share: give one such as 0.02, or those "
            "of all classes such as .5,.3,.2"
        ) from None
    return parsed[0] if len(parsed) == 1 else parsed


def bins(text: str) -> Any:
    """Parse bins: a count, edges, quantile:COUNT, cells:COLUMN,..., cbrt or auto.

    cbrt and auto are counts that follow from the number of rows.
    """
    from calibrant._core.bin_counts import is_by_rows

    if is_by_rows(text):
        return text
    try:
        if text.startswith("quantile:"):
            from calibrant._core.binning import Quantile

            return Quantile(int(text.removeprefix("quantile:")))
        if text.startswith("cells:"):
            from calibrant._core.given_cells import Cells

            return Cells(*names(text.removeprefix("cells:")))
        return [float(edge) for edge in text.split(",")] if "," in text else int(text)
    except InputError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"{text!r} is neither a count, nor edges such as 0,0.5,1, nor quantile:15, cbrt or auto"
        ) from None


def bin_count(text: str) -> Any:
    """Parse a count of bins, or cbrt or auto, which follow from the number of rows."""
    from calibrant._core.bin_counts import is_by_rows

    return text if is_by_rows(text) else whole_number(text)


def word_table(text: str) -> dict[str, float | None]:
    """Parse the probabilities of words: WORD=PROBABILITY,... or the path of a file of them.

    The file has such a pair in each line (a comma may stand for =), or one JSON record.
    """
    from pathlib import Path

    if "=" not in text or Path(text).is_file():
        try:
            content = Path(text).read_text(encoding="utf-8")
        except (OSError, ValueError):
            raise argparse.ArgumentTypeError(
                f"{text!r} is neither pairs such as likely=0.7,unlikely=0.2 nor a file of them"
            ) from None
        if content.lstrip().startswith("{"):
            return _word_record(text, content)
        pairs = [line for line in content.splitlines() if line.strip()]
    else:
        pairs = text.split(",")
    return dict(_word_pair(pair) for pair in pairs)


def _word_record(path: str, content: str) -> dict[str, float | None]:
    """Parse `content`, the JSON record of a file, into the probability of each word."""
    import json

    try:
        record: dict[str, float | None] = json.loads(content)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{path} is not JSON: {error}") from None
    return record


def _word_pair(pair: str) -> tuple[str, float | None]:
    """Parse WORD=PROBABILITY, or WORD,PROBABILITY; the probability none is that of a refusal."""
    word, sign, value = pair.rpartition("=" if "=" in pair else ",")
    if not sign or not word.strip():
        raise argparse.ArgumentTypeError(f"{pair!r} is not of the form likely=0.7")
    refusal = value.strip().lower() == "none"
    return word.strip(), None if refusal else finite_number(value.strip())


def whole_number(text: str) -> int:
    """Parse a whole number."""
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number") from None


def at_least_one(text: str) -> int:
    """Parse a whole number of at least 1."""
    parsed = whole_number(text)
    if parsed < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not 1 or more")
    return parsed


def between_0_and_1(text: str) -> float:
    """Parse a number between 0 and 1, both excluded."""
    parsed = finite_number(text)
    if not 0 < parsed < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not between 0 and 1, such as 0.95")
    return parsed


def finite_number(text: str) -> float:
    """Parse a finite number."""
    try:
        parsed = float(text)
    except ValueError:
        parsed = math.nan
    if not math.isfinite(parsed):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number")
    return parsed


def named_number(text: str) -> tuple[str, float]:
    """Parse NAME=NUMBER into the name and the number."""
    name, sign, value = text.partition("=")
    if not sign or not name.strip():
        raise argparse.ArgumentTypeError(f"{text!r} is not of the form ece=0.05")
    return name.strip(), finite_number(value)


def replace_options(options: argparse.Namespace, **values: Any) -> argparse.Namespace:
    """Copy the options, with new values for some of them."""
    return argparse.Namespace(**{**vars(options), **values})


# The value of an option as --help shows it, and how it is parsed. Other values stay text.
_PARSED: dict[str, Callable[[str], Any]] = {
    "BINS": bins,
    "COLUMN,...": names,
    "COLUMN[,...]": names,
    "DEPTH": at_least_one,
    "LEVEL": between_0_and_1,
    "MEASURE=LIMIT": named_number,
    "N": at_least_one,
    "NAME,...": distinct_names,
    "SCORE": between_0_and_1,
    "SD": finite_number,
    "SEED": whole_number,
    "SHARE": class_shares,
    "TAU": between_0_and_1,
    "TOLERANCE": between_0_and_1,
    "W": between_0_and_1,
    "WORD=P,...": word_table,
}


# Choices of more letters stand in the text of --help, not in the usage.
_LONGEST_CHOICES = 40


class _WithOptions(argparse._ActionsContainer):
    """Adds options to a parser, or to a group of options in its help."""

    def option(self, option: str, help: str, **settings: Any) -> None:
        """Add an option, written as --help shows it, such as `--id COLUMN`.

        Without a value or choices it is a flag. `settings` are arguments of argparse's
        add_argument.
        """
        names = [word for word in option.split() if word.startswith("-")]
        value = option.removeprefix(" ".join(names)).strip()
        if value:
            settings.setdefault("type", _PARSED.get(value))
            # argparse derives the same word from the name; shells complete it in small letters.
            if value.lower() != names[-1].removeprefix("--"):
                settings["metavar"] = value
        elif "choices" not in settings:
            settings.setdefault("action", "store_true")
        elif len(",".join(settings["choices"])) > _LONGEST_CHOICES:
            settings["metavar"] = names[-1].removeprefix("--").upper()
            help += f"; one of {', '.join(settings['choices'])}"
        self.add_argument(*names, help=help, **settings)


class Group(_WithOptions, argparse._ArgumentGroup):
    """A group of options under a heading of its own in --help."""


class _Help(argparse.HelpFormatter):
    """The text of --help, as wide as all that the command prints."""

    def __init__(self, prog: str) -> None:
        """Make the formatter of the help of `prog`."""
        super().__init__(prog, width=columns_of(sys.stdout))


class Parser(_WithOptions, argparse.ArgumentParser):
    """A parser whose errors are one line and name the nearest choice. The exit code is 3, because
    argparse's 2 is that of an undecided check.
    """

    def __init__(self, **settings: Any) -> None:
        """Make the parser; `settings` are arguments of argparse's ArgumentParser."""
        # A mistyped option must not be taken for an abbreviation of another one.
        super().__init__(**{"allow_abbrev": False, "formatter_class": _Help, **settings})

    def group(self, title: str) -> Group:
        """Begin a group of options, which --help shows under this title."""
        group = Group(self, title)
        self._action_groups.append(group)
        return group

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse the words of a command; an error for a word that no option takes.

        The result has, beside the options, `typed`, the whole command, and `parser`, this parser.
        """
        parsed, rest = self.parse_known_args(args, namespace)
        if rest:
            verb = getattr(parsed, "verb", self)
            known = [text for action in verb._actions for text in action.option_strings]
            hint = f": {_nearest_option(rest[0], known)}" if rest[0].startswith("-") else ""
            verb.error(f"{rest[0]!r} is not understood{hint}")
        # Pages show what was typed; completion describes the parser.
        parsed.typed, parsed.parser = shlex.join([self.prog, *args]), self
        return parsed

    def verbs(self) -> Iterator[Verb]:
        """Yield the parser of each verb, with its options added."""
        for action in self._actions:
            if isinstance(action, argparse._SubParsersAction):
                for verb in action.choices.values():
                    verb.declare()
                    yield verb

    def error(self, message: str) -> NoReturn:
        """End the process with one line on what is wrong, and the exit code 3."""
        text = f"{self.prog}: {message} (see {self.prog} --help)"
        print_wrapped(text, file=sys.stderr, hanging="  ")
        self.exit(NOT_DONE)

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """Raise an error, with the nearest choice, if a value is not among an option's choices."""
        if action.choices is not None and value not in action.choices:
            what = "command" if action.dest == "command" else "value"
            meant = _OTHER_VERBS.get(value) if what == "command" else None
            hint = f"did you mean {meant!r}?" if meant else nearest(value, map(str, action.choices))
            raise argparse.ArgumentError(
                None if what == "command" else action, f"no {what} is called {value!r}: {hint}"
            )


DEBUG_HELP = "print where in the code an error comes from"


class Verb(Parser):
    """The parser of a verb, whose module is imported only when its options are needed."""

    def __init__(self, *, module: str, summary: str, **settings: Any) -> None:
        """Make the parser of the verb in `module`; `summary` is its line in the help."""
        super().__init__(**settings)
        self.name, self.summary = module, summary
        self._declared = False

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Add the options of the verb, then parse them."""
        self.declare()
        return super().parse_known_args(args, namespace)

    def declare(self) -> None:
        """Add the verb's own options, from its module, and those that all verbs have.

        Further calls do nothing.
        """
        if self._declared:
            return
        self._declared = True
        module = import_module(f"calibrant._cli.{self.name}")
        self.description = module.DESCRIPTION
        module.add_options(self)
        self.set_defaults(run=module.run, verb=self)
        if self.name != "completion":  # it prints a script
            self.option("--json", "print everything as JSON, and nothing else")
        # --debug may stand before the verb too: a default here would overwrite that.
        self.option("--debug", DEBUG_HELP, default=argparse.SUPPRESS)
