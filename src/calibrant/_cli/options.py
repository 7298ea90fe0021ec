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
    "Inspect AI, or tables of Excel, Stata, SAS or R. Columns that you do not name are found by "
    "their usual names, and the output says which they are."
)
CLUSTERS = "the column that names the cluster of each row"


def add_files(parser: Parser, *, needed: bool = True) -> None:
    """Add the argument FILE...: the files of one set of rows, of which one is `needed`."""
    nargs = "+" if needed else "*"
    parser.add_argument("files", nargs=nargs, metavar="FILE", help="a file, folder or pattern")


def add_models(parser: Parser) -> None:
    """Add the argument [NAME=]FILE...: the files of one model or of several."""
    parser.add_argument(
        "files", nargs="+", metavar="[NAME=]FILE", help="one file, or one for each model"
    )


def add_columns(parser: Parser, *, weight: bool = True) -> None:
    """Add the options that name columns (labels, predictions, weights, votes) and the format.

    Without `weight`, --weight is not offered, and its value is None.
    """
    group = parser.group("columns")
    group.option("--label COLUMN", "the column of labels (y_true)", type=names)
    group.option(
        "--proba COLUMN[,...]",
        "the column of predictions (y_proba), or one for each class: give a list, or repeat it",
        action="extend",
    )
    if weight:
        group.option("--weight COLUMN", "the column of row weights")
    else:
        parser.set_defaults(weight=None)
    group.option(
        "--votes COLUMN",
        "the column with the number of votes of each row, if labels are vote shares or vote counts",
    )
    group.option(
        "--counts COLUMN,...",
        "the columns of vote counts, one for each class, instead of --label; for two classes "
        "NEGATIVE,POSITIVE",
    )
    group.option(
        "--item COLUMN",
        "each row is one vote (--label); this column names the item that was voted on",
    )
    group.option("--annotator COLUMN", "with --item: the column that names who voted")
    group.option(
        "--classes NAME,...",
        "the names of the classes, in the order of the prediction columns; for two classes "
        "NEGATIVE,POSITIVE",
        type=names,
    )
    group.option(
        "--answer COLUMN",
        "the column of answers, which are compared with --gold to make labels; with --question "
        "the sampled answers",
    )
    group.option("--gold COLUMN", "the column of right answers")
    group.option("--from-logits", "the predictions are logits")
    group.option("--from-logprobs", "the predictions are log-probabilities")
    group.option("--percent", 'the predictions are percentages: 85, or "85%%"')
    group.option(
        "--words WORD=P,...",
        "the predictions are words, and these are their probabilities: likely=0.7,unlikely=0.2; "
        "or a file with one pair per line or one JSON record",
    )
    group.option(
        "--confidence",
        "auto: the predictions are confidences as language models "
        'write them ("85%%", 0.85, "85 out '
        'of 100", words of --words, refusals). Each is read by the rule for its form, and the '
        "output counts the forms. Labels say whether the answer was right (0/1, yes/no, C/I, "
        "true/false)",
        choices=("auto",),
    )
    group.option(
        "--missing",
        "what to do with rows that lack a value: error (the default), or drop them and count them",
        choices=("error", "drop"),
        default="error",
    )
    group.option(
        "--refusals",
        "with --confidence: answers without a confidence are excluded, or count as wrong answers "
        "with confidence 0; by default --missing decides",
        choices=("excluded", "wrong"),
    )
    group.option(
        "--format",
        "the format of the files, if their names and fields do not show it",
        choices=FORMATS,
    )
    group.option("--filter NAME", "the lm-evaluation-harness filter to use, if a log has several")
    group.option("--task NAME,...", "use only these tasks of the logs", type=names)
    group.option(
        "--skip NAME,...",
        "skip these tasks; tasks without confidences are skipped anyway, and the output names them",
        type=names,
    )
    group.option(
        "--acc-norm",
        "divide log-likelihoods by the length of each choice, as lm-evaluation-harness does for "
        "acc_norm (characters) and acc_bytes (bytes)",
        choices=("characters", "bytes"),
    )


def add_bins(parser: Parser) -> None:
    """Add --bins, the rule of the bins, by default 15 of equal width."""
    parser.option(
        "--bins BINS",
        "a number of bins (default 15); edges such as 0,0.5,1; quantile:15; cells:COLUMN,... for a "
        "bin per value of these columns; cbrt for the cube root of the number of rows; or auto, "
        "which is cbrt kept from 5 to 100",
        default=15,
    )


def add_slices(parser: Parser, purpose: str) -> None:
    """Add --by, for slices, whose help is `purpose`, and --groups, for clusters."""
    parser.option("--by COLUMN,...", purpose)
    parser.option("--groups COLUMN", f"{CLUSTERS} (patient, day), for intervals and p-values")


def add_chance(parser: Parser) -> None:
    """Add the options of intervals: --level and --seed."""
    parser.option("--level LEVEL", "the confidence level of intervals; default 0.95", default=0.95)
    parser.option("--seed SEED", "the seed of the resampling; default 0", default=0)


def add_tolerance(parser: Parser, where: str = "") -> None:
    """Add --tolerance; `where` is a text in its help on where it applies."""
    parser.option(
        "--tolerance TOLERANCE",
        f"the largest error{where} that you can live with, as a gap between predictions and "
        "outcomes; default 0.05",
        default=0.05,
    )


def add_own_labels(parser: Parser | Group) -> None:
    """Add --own-labels, for files in which each model has labels of its own."""
    parser.option(
        "--own-labels",
        "each file has its model's own labels, such as whether its own answer was right; this is "
        "implied if the column is named correct",
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
