"""Declarations of options: how one is written, those that several verbs have, and their names."""

from __future__ import annotations

from calibrant._cli.parsing import Group, Parser, names
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
    "hle",
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


def add_files(parser: Parser, *, needed: bool = True) -> None:
    """Add the argument FILE...: the files of one set of rows, of which one is `needed`."""
    nargs = "+" if needed else "*"
    parser.add_argument("files", nargs=nargs, metavar="FILE", help="file, folder or pattern")


def add_models(parser: Parser) -> None:
    """Add the argument [NAME=]FILE...: the files of one model or of several."""
    parser.add_argument(
        "files", nargs="+", metavar="[NAME=]FILE", help="one file, or one per model"
    )


def add_columns(parser: Parser, *, weight: bool = True) -> None:
    """Add the options that name columns (labels, predictions, weights, votes) and the format.

    Without `weight`, --weight is not offered, and its value is None.
    """
    group = parser.group("columns")
    group.option("--label COLUMN", "labels (y_true)", type=names)
    group.option(
        "--proba COLUMN[,...]",
        "predictions (y_proba): a column, or one per class; repeat it, or give a list",
        action="extend",
    )
    if weight:
        group.option("--weight COLUMN", "weight of each row")
    else:
        parser.set_defaults(weight=None)
    group.option(
        "--votes COLUMN",
        "number of votes behind each soft label, or behind a count of votes for class 1",
    )
    group.option(
        "--counts COLUMN,...",
        "counts of votes, a column for each class, in place of labels; for a binary problem, "
        "NEGATIVE,POSITIVE",
    )
    group.option(
        "--item COLUMN", "rows are one vote each (--label), on the item that this column names"
    )
    group.option("--annotator COLUMN", "who gave the vote, where rows are one vote each")
    group.option(
        "--classes NAME,...",
        "labels in the order of the columns of predictions; for a binary problem, "
        "NEGATIVE,POSITIVE",
        type=names,
    )
    group.option(
        "--answer COLUMN",
        "answers, to be compared with --gold, in place of labels; or those of --question",
    )
    group.option("--gold COLUMN", "right answers")
    group.option("--from-logits", "predictions are logits")
    group.option("--from-logprobs", "predictions are log-probabilities")
    group.option("--percent", 'predictions are percentages: 85, or "85%%"')
    group.option(
        "--words WORD=P,...",
        "predictions are words, each with its probability: likely=0.7,unlikely=0.2; or a file "
        "with such a pair a line, or with a JSON record",
    )
    group.option(
        "--confidence",
        'predictions are confidences as models write them ("85%%", 0.85, "85 out of 100", words of '
        "--words, refusals): auto reads each by the rule for its form, and says how many were of "
        "which; labels say whether the answer was right (0/1, yes/no, C/I, true/false)",
        choices=("auto",),
    )
    group.option(
        "--missing",
        "rows in which something is missing: an error (the default), or dropped and counted",
        choices=("error", "drop"),
        default="error",
    )
    group.option(
        "--refusals",
        "answers without a confidence: excluded, or wrong answers at confidence 0; the default is "
        "that of --missing",
        choices=("excluded", "wrong"),
    )
    group.option(
        "--format", "format of the files, if their names or fields do not say", choices=FORMATS
    )
    group.option("--filter NAME", "filter of a log of lm-evaluation-harness, of several")
    group.option("--task NAME,...", "only these tasks, of logs of several", type=names)
    group.option(
        "--skip NAME,...",
        "without these tasks; tasks that have no confidence are skipped, with a line",
        type=names,
    )
    group.option(
        "--acc-norm",
        "divide log-likelihoods by the lengths of the choices, as the harness does for acc_norm "
        "(characters) and acc_bytes (bytes)",
        choices=("characters", "bytes"),
    )


def add_bins(parser: Parser) -> None:
    """Add --bins, the rule of the bins, by default 15 of equal width."""
    parser.option(
        "--bins BINS",
        "a count (the default is 15), edges such as 0,0.5,1, quantile:15, cells:COLUMN,... (a bin "
        "for each of their values), or a count that follows from the rows: cbrt (their cube root) "
        "or auto (the same, from 5 to 100)",
        default=15,
    )


def add_slices(parser: Parser, purpose: str) -> None:
    """Add --by, for slices, whose help is `purpose`, and --groups, for clusters."""
    parser.option("--by COLUMN,...", purpose)
    parser.option("--groups COLUMN", f"{CLUSTERS} (patient, day), for intervals and p-values")


def add_chance(parser: Parser) -> None:
    """Add the options of intervals: --level and --seed."""
    parser.option("--level LEVEL", "confidence level of intervals; default 0.95", default=0.95)
    parser.option("--seed SEED", "seed of the resampling; default 0", default=0)


def add_tolerance(parser: Parser, where: str = "") -> None:
    """Add --tolerance; `where` is a text in its help on where it applies."""
    parser.option(
        "--tolerance TOLERANCE",
        f"largest error that would not matter{where}, as a gap between prediction and outcome; "
        "default 0.05",
        default=0.05,
    )


def add_own_labels(parser: Parser | Group) -> None:
    """Add --own-labels, for files in which each model has labels of its own."""
    parser.option(
        "--own-labels",
        "each file has its model's own labels, such as whether its own answer was right; of "
        "columns called correct this is known",
    )


# Arguments whose option has another name than the argument.
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
    """Words arguments as options of the command: `missing='drop'` is `--missing drop`."""

    is_command, between = True, " "

    def name(self, argument: str) -> str:
        """The option for an argument of the library, such as `--label` for `y_true`."""
        return _OPTIONS.get(argument, f"--{argument.replace('_', '-')}")

    def setting(self, argument: str, value: object) -> str:
        """An option with its value, as it is typed.

        It is the option alone if the value is True, or `...` for one that the user chooses.
        """
        if isinstance(value, str | bool) and (argument, value) in _FLAGS:
            return _FLAGS[argument, value]
        option = self.name(argument)
        return option if value is ... or value is True else f"{option} {_as_typed(value)}"


def _as_typed(value: object) -> str:
    """Write a value as it is typed behind its option: quantile:15, or ece=0.05 for a dict.

    `...` stands for a value that the user chooses, and is kept.
    """
    from calibrant._core.binning import Quantile

    if value == [...]:
        return "A,B,..."
    if isinstance(value, dict):
        pairs = " ".join(f"{name}={'...' if v is ... else v}" for name, v in value.items())
        return f'"{pairs}"' if any(" " in str(name) for name in value) else pairs
    if isinstance(value, Quantile):
        return f"quantile:{value.m}"
    return str(value)
