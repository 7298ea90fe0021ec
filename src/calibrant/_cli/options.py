"""Declarations of options: how one is written, those that several verbs have, and their names."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

from calibrant._cli import parsing
from calibrant._core.messages import Naming

FORMATS = (
    "parquet",
    "csv",
    "jsonl",
    "arrow",
    "npz",
    "json",
    "lm-eval",
    "inspect",
    "excel",
    "stata",
    "sas",
    "r",
)
READS_FILES = (
    "Files are Parquet, CSV, JSONL, JSON lists, Arrow, NPZ, logs of lm-evaluation-harness and "
    "Inspect AI, or tables of Excel, Stata, SAS or R. Columns are found by their usual names "
    "unless you name them; the output says which were used."
)
CLUSTERS = "column that names the cluster of each row"

# The value of an option as --help shows it, and how it is parsed. Other values stay text.
_PARSED: dict[str, Callable[[str], Any]] = {
    "BINS": parsing.bins,
    "COLUMN,...": parsing.names,
    "COLUMN[,...]": parsing.names,
    "DEPTH": parsing.at_least_one,
    "LEVEL": parsing.share,
    "MEASURE=LIMIT": parsing.named_number,
    "N": parsing.at_least_one,
    "NAME,...": parsing.distinct,
    "SEED": parsing.whole,
    "SHARE": parsing.shares,
    "TOLERANCE": parsing.share,
    "WORD=P,...": parsing.word_table,
}


def add_option(parser: argparse._ActionsContainer, option: str, help: str, **settings: Any) -> None:
    """Add an option, written as --help shows it: its names and its value, such as `--id COLUMN`.

    Without a value or choices it is a flag. `settings` are those of argparse.
    """
    names = [word for word in option.split() if word.startswith("-")]
    value = option.removeprefix(" ".join(names)).strip()
    if value:
        settings.setdefault("type", _PARSED.get(value))
        # argparse makes the same of the name; shells complete it in small letters.
        if value.lower() != names[-1].removeprefix("--"):
            settings["metavar"] = value
    elif "choices" not in settings:
        settings.setdefault("action", "store_true")
    parser.add_argument(*names, help=help, **settings)


def add_files(parser: argparse.ArgumentParser) -> None:
    """Add the files of one set of rows."""
    parser.add_argument("files", nargs="+", metavar="FILE", help="file, folder or pattern")


def add_models(parser: argparse.ArgumentParser) -> None:
    """Add the files of one model or of several."""
    parser.add_argument(
        "files", nargs="+", metavar="[NAME=]FILE", help="one file, or one per model"
    )


def add_columns(parser: argparse.ArgumentParser, *, weight: bool = True) -> None:
    """Add the options that name columns (labels, predictions, weights, votes) and the format."""
    group = parser.add_argument_group("columns")
    add_option(group, "--label COLUMN", "labels (y_true)", type=parsing.names)
    add_option(
        group,
        "--proba COLUMN[,...]",
        "predictions (y_proba): a column, or one per class; repeat it, or give a list",
        action="extend",
    )
    if weight:
        add_option(group, "--weight COLUMN", "weight of each row")
    else:
        parser.set_defaults(weight=None)
    add_option(
        group,
        "--votes COLUMN",
        "number of votes behind each soft label, or behind a count of votes for class 1",
    )
    add_option(
        group,
        "--counts COLUMN,...",
        "counts of votes, a column for each class, in place of labels; for a binary problem, "
        "NEGATIVE,POSITIVE",
    )
    add_option(
        group,
        "--item COLUMN",
        "rows are one vote each (--label), on the item that this column names",
    )
    add_option(group, "--annotator COLUMN", "who gave the vote, where rows are one vote each")
    add_option(
        group,
        "--classes NAME,...",
        "labels in the order of the columns of predictions; for a binary problem, "
        "NEGATIVE,POSITIVE",
        type=parsing.names,
    )
    add_option(group, "--answer COLUMN", "answers, to be compared with --gold, in place of labels")
    add_option(group, "--gold COLUMN", "right answers")
    add_option(group, "--from-logits", "predictions are logits")
    add_option(group, "--from-logprobs", "predictions are log-probabilities")
    add_option(group, "--percent", 'predictions are percentages: 85, or "85%%"')
    add_option(
        group,
        "--words WORD=P,...",
        "predictions are words, each with its probability: likely=0.7,unlikely=0.2; or a file "
        "with such a pair a line, or with a JSON record",
    )
    add_option(
        group,
        "--missing",
        "rows in which something is missing: an error (the default), or dropped and counted",
        choices=("error", "drop"),
        default="error",
    )
    add_option(
        group,
        "--format",
        "format of the files, if their names or fields do not say",
        choices=FORMATS,
    )
    add_option(group, "--filter NAME", "filter of a log of lm-evaluation-harness, of several")


def add_bins(parser: argparse.ArgumentParser) -> None:
    add_option(
        parser,
        "--bins BINS",
        "a count (the default is 15), edges such as 0,0.5,1, quantile:15, or a count that "
        "follows from the rows: cbrt (their cube root) or auto (the same, from 5 to 100)",
        default=15,
    )


def add_slices(parser: argparse.ArgumentParser, purpose: str) -> None:
    """Add the options of slices and clusters."""
    add_option(parser, "--by COLUMN,...", purpose)
    add_option(parser, "--groups COLUMN", f"{CLUSTERS} (patient, day), for intervals and p-values")


def add_chance(parser: argparse.ArgumentParser) -> None:
    """Add the options of intervals: level and seed."""
    add_option(parser, "--level LEVEL", "confidence level of intervals; default 0.95", default=0.95)
    add_option(parser, "--seed SEED", "seed of the resampling; default 0", default=0)


def add_tolerance(parser: argparse.ArgumentParser, where: str = "") -> None:
    add_option(
        parser,
        "--tolerance TOLERANCE",
        f"largest error that would not matter{where}, as a gap between prediction and outcome; "
        "default 0.05",
        default=0.05,
    )


def add_own_labels(parser: argparse._ActionsContainer) -> None:
    add_option(
        parser,
        "--own-labels",
        "each file has its model's own labels, such as whether its own answer was right; of "
        "columns called correct this is known",
    )


# Arguments whose option is not their own name with hyphens.
_OPTIONS = {
    "y_true": "--label",
    "y_proba": "--proba",
    "sample_weight": "--weight",
    "ids": "--id",
    "paired": "--unpaired",
    "at_most": "--max",
    "at_least": "--min",
    "out": "-o",
    "columns": "--label or --groups",
}
# Settings that have an option of their own.
_FLAGS = {
    ("paired", False): "--unpaired",
    ("exact", False): "--one-pass",
    ("intervals", "all"): "--all-intervals",
}


class OptionNames(Naming):
    """Arguments as the options that give them: `missing='drop'` is `--missing drop`."""

    is_command, between = True, " "

    def name(self, argument: str) -> str:
        return _OPTIONS.get(argument, f"--{argument.replace('_', '-')}")

    def setting(self, argument: str, value: object) -> str:
        if isinstance(value, str | bool) and (argument, value) in _FLAGS:
            return _FLAGS[argument, value]
        option = self.name(argument)
        return option if value is ... or value is True else f"{option} {_typed(value)}"


def _typed(value: object) -> str:
    """A value as it is typed behind its option."""
    from calibrant._core.binning import Quantile

    if value == [...]:
        return "A,B,..."
    if isinstance(value, dict):
        return " ".join(f"{name}={'...' if v is ... else v}" for name, v in value.items())
    if isinstance(value, Quantile):
        return f"quantile:{value.m}"
    return str(value)
