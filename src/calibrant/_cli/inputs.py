"""From options to what the library is called with: requests to read, and arguments by row.

`options` are the parsed options of a verb. Rows (`Rows`) are what was read of its files.
"""

from __future__ import annotations

import argparse
import shlex
from collections import Counter
from collections.abc import Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from calibrant._cli.parsing import replace_options
from calibrant._core.errors import InputError
from calibrant._core.messages import name_of

if TYPE_CHECKING:
    from calibrant._data.readers.columns import ReadRequest
    from calibrant._data.readers.read_rows import Rows
    from calibrant._data.samples import Samples

# Predictions from which on sums are made in place of reading all rows, if these suffice: rows would
# take gigabytes.
SUMMED_FROM = 5_000_000
# Options that name further columns, and the argument by which an error names each.
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


def column_arguments(options: argparse.Namespace) -> dict[str, Any]:
    """Collect the arguments that say what columns hold, under their names in the library.

    An option that the user did not give is None, or its default.
    """
    return {
        "y_true": unpack_single(options.label),
        "y_proba": unpack_single(options.proba),
        "sample_weight": options.weight,
        "counts": unpack_single(options.counts),
        **options_by_name(options, "votes", "classes", "from_logits", "from_logprobs", "percent"),
        **options_by_name(options, "words", "confidence", "answer", "gold", "missing"),
        **options_by_name(options, "refusals", "format", "filter", "task", "skip", "acc_norm"),
    }


def request_of(options: argparse.Namespace, path: Any) -> ReadRequest:
    """Make the request to read the file or files at `path`, with the columns in the options."""
    from calibrant._data.columns import check_different_columns
    from calibrant._data.readers.columns import ReadRequest

    check_different_columns(options.label, options.proba)
    others: dict[str, str] = {}
    for option, argument in _OTHER_COLUMNS.items():
        named = getattr(options, option, None) or []
        for name in [named] if isinstance(named, str) else named:
            others.setdefault(name, argument)
    for name in getattr(getattr(options, "bins", None), "names", ()):
        others.setdefault(name, "bins")
    return ReadRequest.build(
        unpack_single(path) if isinstance(path, list) else path,
        **column_arguments(options),
        **options_by_name(options, "item", "annotator"),
        half=getattr(options, "half", None),
        others=others,
    )


def have_halves(paths: list[str], format: str | None) -> bool:
    """Whether all files are NPZ archives with arrays val_... and test_... of the same names."""
    from calibrant._data.readers.recognise import find_files
    from calibrant._data.readers.source import open_reader

    for file in (file for path in paths for file in find_files(path, format)):
        names = open_reader(file).names if file.format == "npz" else ()
        val, test = (
            {name.removeprefix(half) for name in names if name.startswith(half)}
            for half in ("val_", "test_")
        )
        if len(val & test) < 2:  # labels and predictions
            return False
    return True


def open_logs(paths: Sequence[str], options: argparse.Namespace) -> list[Any]:
    """Open the files if all are logs of evaluations; give an empty list if one is not."""
    from calibrant._data.readers.columns import ReadRequest
    from calibrant._data.readers.find import LOGS
    from calibrant._data.readers.source import files_of, open_reader

    given = options_by_name(options, "format", "filter", "task", "skip", "acc_norm")
    files, _ = files_of(ReadRequest(list(paths), y_proba=options.proba, **given))
    return [open_reader(file) for file in files] if all(f.format in LOGS for f in files) else []


def columns_of_logs(
    options: argparse.Namespace, *, by: bool, in_memory: bool
) -> tuple[argparse.Namespace, tuple[str, ...]]:
    """Fill in --groups and --by for logs of evaluations, unless the user gave them.

    --groups becomes the samples, whose epochs are one cluster, if rows are in memory (`in_memory`);
    --by becomes the tasks, if `by`. Return the options, and messages on what was filled in. For
    other files nothing changes.
    """
    logs = [getattr(log, "inner", log) for log in open_logs(options.files, options)]
    if not logs:
        return options, ()
    messages, taken = [], {}
    if in_memory and options.groups is None and any(log.clusters for log in logs):
        taken["groups"] = next(log.clusters for log in logs if log.clusters)
        messages.append(f"clusters are {taken['groups']!r}: epochs of a sample belong together")
    elif in_memory and options.groups is None and _have_samples_twice(logs):
        taken["groups"] = "sample"
        messages.append("clusters are 'sample': answers of several models to it belong together")
    tasks = {record.get("task") for log in logs for record in log.records}
    if by and options.by is None and len(tasks) > 1:
        taken["by"] = [logs[0].slices]
        messages.append(f"slices by {logs[0].slices!r}, of which there are {len(tasks)}")
    return replace_options(options, **taken), tuple(messages)


def _have_samples_twice(logs: Sequence[Any]) -> bool:
    """Whether a sample occurs twice in the logs, because several models answered it."""
    samples = [record["sample"] for log in logs for record in log.records if "sample" in record]
    return len(set(samples)) < len(samples)


def streamed_arguments(options: argparse.Namespace) -> dict[str, Any]:
    """Collect the arguments of `evaluate_file` that say which files and columns to read."""
    if options.item is not None:
        raise InputError(
            "--item counts votes by item, which needs the rows in memory: give fewer rows, or "
            "leave out --stream"
        )
    return {"path": unpack_single(options.files), **column_arguments(options)}


def samples_of(rows: Rows, *, from_logits: bool) -> Samples:
    """Turn rows that were read from files into validated samples."""
    from calibrant._data.to_samples import to_samples

    return to_samples(
        rows.y_true,
        rows.y_proba,
        rows.sample_weight,
        from_logits,
        rows.class_names,
        votes=rows.votes,
    )


def options_by_name(options: argparse.Namespace, *names: str) -> dict[str, Any]:
    """Collect the options of these names, as arguments of the same names."""
    return {name: getattr(options, name) for name in names}


def check_without(options: argparse.Namespace, names: str, other: str) -> None:
    """Raise an error if an option is given that cannot be combined with the option `other`.

    `names` are the options that cannot, with spaces between; `other` ends with why they cannot.
    """
    for name in names.split():
        if getattr(options, name):
            raise InputError(f"{name_of(name)} cannot be combined with {other}: leave it out")


def row_arguments(rows: Rows, options: argparse.Namespace) -> dict[str, Any]:
    """Collect the arguments with a value for each row, except labels and predictions.

    They are sample_weight, votes, by and groups; None for those that rows do not have.
    """
    return {
        "sample_weight": rows.sample_weight,
        "votes": rows.votes,
        "by": slices_of(rows, options.by),
        "groups": groups_of(rows, options.groups),
    }


def unpack_single(names: list[str] | None) -> Any:
    """Give the one name of a list of length 1; longer lists and None are returned unchanged.

    One column has the predictions (n,), several are one column per class.
    """
    return names[0] if names is not None and len(names) == 1 else names


def format_files(files: list[str]) -> str:
    """Write the file names of a command as text; of more than three, the first and a count."""
    return ", ".join(files) if len(files) <= 3 else f"{files[0]} and {len(files) - 1} more"


def file_names(paths: Sequence[str]) -> list[str]:
    """Shorten paths to file names.

    Two different paths with the same file name keep as many folders as distinguish them.
    """
    parts = [PurePath(path).parts or (path,) for path in paths]
    names = [each[-1] for each in parts]
    for n_parts in range(2, 1 + max(map(len, parts), default=1)):
        owners = Counter(name for name, _ in set(zip(names, parts, strict=True)))
        names = [
            str(PurePath(*each[-n_parts:])) if owners[name] > 1 else name
            for name, each in zip(names, parts, strict=True)
        ]
    return names


def command_without_folders(options: argparse.Namespace, paths: Sequence[str]) -> dict[str, str]:
    """Give the command and its files without folders, for a page that others read.

    The keys are `command` and `files`. `paths` are those in `options.files`, where they may be
    written NAME=FILE.
    """
    short = dict(zip(paths, file_names(paths), strict=True))
    short |= dict(zip([options.out], file_names([options.out]), strict=True))

    def shorten(word: str) -> str:
        """Remove the folders of a word that is a path or NAME=FILE; other words stay."""
        name, _, path = word.partition("=")
        return short.get(word) or (f"{name}={short[path]}" if path in short else word)

    return {
        "command": shlex.join(map(shorten, shlex.split(options.typed))),
        "files": format_files(list(map(shorten, options.files))),
    }


def class_texts(rows: Rows) -> list[str] | None:
    """Give the names of the classes as texts; None if classes have no names."""
    return None if rows.chosen.classes is None else [str(name) for name in rows.chosen.classes]


def slices_of(rows: Rows, by: list[str] | None) -> Any:
    """Give the name of each row's slice, from its values in the columns `by`; None for None."""
    if by is None:
        return None
    from calibrant._data.slice_names import row_names

    return row_names([rows.others[name] for name in by])


def bins_of(rows: Rows, bins: Any) -> Any:
    """The option --bins, where cells have the values of their columns."""
    from calibrant._core.given_cells import Cells

    if not isinstance(bins, Cells):
        return bins
    return bins.with_columns([rows.other("bins", name).astype(str) for name in bins.names])


def groups_of(rows: Rows, name: str | None) -> Any:
    """Give the cluster of each row as text, from the column `name`; None for None."""
    return None if name is None else rows.other("groups", name).astype(str)
