"""Options that name files and columns, shared by all verbs, and how they are read."""

from __future__ import annotations

import argparse
import shlex
from collections import Counter
from collections.abc import Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from calibrant._cli.parsing import bins, changed, names, share, whole, word_table
from calibrant._core.errors import InputError

if TYPE_CHECKING:
    from calibrant._data.readers.columns import ReadRequest
    from calibrant._data.readers.read_rows import Rows

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
DESCRIPTION = (
    "Files are Parquet, CSV, JSONL, JSON lists, Arrow, NPZ, logs of lm-evaluation-harness and "
    "Inspect AI, or tables of Excel, Stata, SAS or R. Columns are found by their usual names "
    "unless you name them; the output says which were used."
)


def add_columns(parser: argparse.ArgumentParser, *, weight: bool = True, many: bool = True) -> None:
    """Add the options that name columns: labels, predictions, weights, votes."""
    group = parser.add_argument_group("columns")
    group.add_argument("--label", type=names, metavar="COLUMN", help="labels (y_true)")
    if many:
        group.add_argument(
            "--proba",
            type=names,
            action="extend",
            metavar="COLUMN[,...]",
            help="predictions (y_proba): a column, or one per class; repeat it, or give a list",
        )
    if weight:
        group.add_argument("--weight", metavar="COLUMN", help="weight of each row")
    group.add_argument(
        "--votes",
        metavar="COLUMN",
        help="number of votes behind each soft label, or behind a count of votes for class 1",
    )
    group.add_argument(
        "--counts",
        type=names,
        metavar="COLUMN,...",
        help="counts of votes, a column for each class, in place of labels; for a binary problem, "
        "NEGATIVE,POSITIVE",
    )
    group.add_argument(
        "--item",
        metavar="COLUMN",
        help="rows are one vote each (--label), on the item that this column names",
    )
    group.add_argument(
        "--annotator", metavar="COLUMN", help="who gave the vote, where rows are one vote each"
    )
    group.add_argument(
        "--classes",
        type=names,
        metavar="NAME,...",
        help="labels in the order of the columns of predictions; for a binary problem, "
        "NEGATIVE,POSITIVE",
    )
    group.add_argument(
        "--answer", metavar="COLUMN", help="answers, to be compared with --gold, in place of labels"
    )
    group.add_argument("--gold", metavar="COLUMN", help="right answers")
    group.add_argument("--from-logits", action="store_true", help="predictions are logits")
    group.add_argument(
        "--from-logprobs", action="store_true", help="predictions are log-probabilities"
    )
    group.add_argument(
        "--percent", action="store_true", help='predictions are percentages: 85, or "85%%"'
    )
    group.add_argument(
        "--words",
        type=word_table,
        metavar="WORD=P,...",
        help="predictions are words, each with its probability: likely=0.7,unlikely=0.2; or a file "
        "with such a pair a line, or with a JSON record",
    )
    group.add_argument(
        "--missing",
        choices=("error", "drop"),
        default="error",
        help="rows in which something is missing: an error (the default), or dropped and counted",
    )
    group.add_argument(
        "--format", choices=FORMATS, help="format of the files, if their names or fields do not say"
    )
    group.add_argument(
        "--filter", metavar="NAME", help="filter of a log of lm-evaluation-harness, of several"
    )


def add_bins(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--bins",
        type=bins,
        default=15,
        help="a count (the default is 15), edges such as 0,0.5,1, quantile:15, or a count that "
        "follows from the rows: cbrt (their cube root) or auto (the same, from 5 to 100)",
    )


def add_groups(parser: argparse.ArgumentParser, purpose: str) -> None:
    """Add the options of slices and clusters."""
    parser.add_argument("--by", type=names, metavar="COLUMN,...", help=purpose)
    parser.add_argument(
        "--groups",
        metavar="COLUMN",
        help="column that names the cluster of each row (patient, day), for intervals and p-values",
    )


def add_chance(parser: argparse.ArgumentParser) -> None:
    """Add the options of intervals: level and seed."""
    parser.add_argument(
        "--level", type=share, default=0.95, help="confidence level of intervals; default 0.95"
    )
    parser.add_argument("--seed", type=whole, default=0, help="seed of the resampling; default 0")


# Options that name further columns, and the arguments that errors name them by.
_OTHER_COLUMNS = {
    "by": "by",
    "groups": "groups",
    "id": "ids",
    "keep": "keep",
    "model_column": "model_column",
    "segments": "segments",
    "split": "scale_on",
    "time": "time",
}


def request_of(options: argparse.Namespace, path: Any) -> ReadRequest:
    """Make the request to read a file from the options."""
    from calibrant._data.columns import check_apart
    from calibrant._data.readers.columns import ReadRequest, answers_of
    from calibrant._data.readers.written import written_as

    check_apart(options.label, getattr(options, "proba", None))
    others: dict[str, str] = {}
    for option, argument in _OTHER_COLUMNS.items():
        named = getattr(options, option, None) or []
        for name in [named] if isinstance(named, str) else named:
            others.setdefault(name, argument)
    return ReadRequest(
        path[0] if isinstance(path, list) and len(path) == 1 else path,
        y_true=one_or_several(options.label),
        y_proba=one_or_several(getattr(options, "proba", None)),
        sample_weight=getattr(options, "weight", None),
        written=written_as(**given(options, "from_logits", "from_logprobs", "percent", "words")),
        answers=answers_of(options.answer, options.gold),
        counts=one_or_several(options.counts),
        others=others,
        **given(options, "classes", "from_logits", "missing", "format", "filter"),
        **given(options, "votes", "item", "annotator"),
    )


def columns_of_logs(
    options: argparse.Namespace, *, by: bool, held: bool = True
) -> tuple[argparse.Namespace, tuple[str, ...]]:
    """Fill in options from logs of evaluations, unless they are given: clusters (epochs of a
    sample) and, if `by`, slices (tasks). Return the options, and messages on what was filled in.
    """
    from calibrant._data.readers.find import LOGS
    from calibrant._data.readers.recognise import find_files
    from calibrant._data.readers.source import open_reader

    files = find_files(options.files, options.format)
    if not all(file.format in LOGS for file in files):
        return options, ()
    logs: list[Any] = [open_reader(file) for file in files]
    logs = [getattr(log, "inner", log) for log in logs]
    messages, taken = [], {}
    if held and options.groups is None and any(log.clusters for log in logs):
        taken["groups"] = next(log.clusters for log in logs if log.clusters)
        messages.append(f"clusters are {taken['groups']!r}: epochs of a sample belong together")
    elif held and options.groups is None and _have_samples_twice(logs):
        taken["groups"] = "sample"
        messages.append("clusters are 'sample': answers of several models to it belong together")
    tasks = {record.get("task") for log in logs for record in log.records}
    if by and options.by is None and len(tasks) > 1:
        taken["by"] = [logs[0].slices]
        messages.append(f"slices by {logs[0].slices!r}, of which there are {len(tasks)}")
    return changed(options, **taken), tuple(messages)


def _have_samples_twice(logs: Sequence[Any]) -> bool:
    """Whether several models answered the same samples."""
    samples = [record["sample"] for log in logs for record in log.records if "sample" in record]
    return len(set(samples)) < len(samples)


def streamed_arguments(options: argparse.Namespace) -> dict[str, Any]:
    """Make the arguments of `evaluate_file` from the options."""
    request = request_of(options, options.files)
    if request.item is not None:
        raise InputError(
            "--item counts votes by item, which needs the rows in memory: give fewer rows, or "
            "leave out --stream"
        )
    return {
        "path": request.path,
        "y_true": request.y_true,
        "y_proba": request.y_proba,
        "sample_weight": request.sample_weight,
        "counts": request.counts,
        **given(options, "classes", "from_logits", "from_logprobs", "percent", "words", "answer"),
        **given(options, "gold", "filter", "missing", "format", "votes"),
    }


def given(options: argparse.Namespace, *names: str) -> dict[str, Any]:
    """Collect options that are arguments of the same name."""
    return {name: getattr(options, name) for name in names}


def row_arguments(rows: Rows, options: argparse.Namespace) -> dict[str, Any]:
    """Collect the arguments that hold a value for each row, beside labels and predictions."""
    return {
        "sample_weight": rows.sample_weight,
        "votes": rows.votes,
        "by": slices_of(rows, options.by),
        "groups": groups_of(rows, options.groups),
    }


def one_or_several(given: list[str] | None) -> Any:
    """Unpack a single name: one column is read as it is, several are one column per class."""
    return given[0] if given is not None and len(given) == 1 else given


def format_files(files: list[str]) -> str:
    """List the files of a command; of more than three, the first and how many more."""
    return ", ".join(files) if len(files) <= 3 else f"{files[0]} and {len(files) - 1} more"


def file_names(paths: Sequence[str]) -> list[str]:
    """Shorten paths to file names, with as many folders as tell two of one name apart."""
    parts = [PurePath(path).parts or (path,) for path in paths]
    names = [each[-1] for each in parts]
    for n_parts in range(2, 1 + max(map(len, parts), default=1)):
        owners = Counter(name for name, _ in set(zip(names, parts, strict=True)))
        names = [
            str(PurePath(*each[-n_parts:])) if owners[name] > 1 else name
            for name, each in zip(names, parts, strict=True)
        ]
    return names


def without_folders(options: argparse.Namespace, paths: Sequence[str]) -> dict[str, str]:
    """Give the files and the command without folders, as a page shows them to other readers.

    `paths` are those in `options.files`, there perhaps as NAME=FILE.
    """
    short = dict(zip(paths, file_names(paths), strict=True))
    short |= dict(zip([options.out], file_names([options.out]), strict=True))

    def shortened(word: str) -> str:
        name, _, path = word.partition("=")
        return short.get(word) or (f"{name}={short[path]}" if path in short else word)

    return {
        "command": shlex.join(map(shortened, shlex.split(options.typed))),
        "files": format_files(list(map(shortened, options.files))),
    }


def class_texts(rows: Rows) -> list[str] | None:
    """Give the names of the classes as --classes takes them."""
    return None if rows.chosen.classes is None else [str(name) for name in rows.chosen.classes]


def slices_of(rows: Rows, by: list[str] | None) -> Any:
    """Give the name of every row's slice."""
    if by is None:
        return None
    from calibrant._data.slice_names import row_names

    return row_names([rows.others[name].tolist() for name in by])


def groups_of(rows: Rows, name: str | None) -> Any:
    """Give the cluster of every row."""
    return None if name is None else rows.other("groups", name).astype(str)
