"""The predictions of several models on the same rows, out of one file or of several.

Rows of several files are the same rows by their order, or by a column of ids.
"""

from __future__ import annotations

import argparse
import glob
import os
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant._api.baseline import needs_ids
from calibrant._cli import inputs
from calibrant._cli.file_messages import messages_by_file
from calibrant._cli.parsing import replace_options
from calibrant._cli.same_rows import keep_complete_rows, match_by_id, match_by_position
from calibrant._core.errors import InputError, nearest
from calibrant._data.columns import (
    check_different_columns,
    check_label_is_shared,
    check_labels_are_own,
)
from calibrant._data.readers.columns import ReadRequest
from calibrant._data.readers.read_rows import Rows, read_rows
from calibrant._data.readers.recognise import find_files
from calibrant._data.readers.source import open_reader


@dataclass(frozen=True, eq=False)
class Models:
    """The predictions of each model by name, and the rows of the first model, shared by all.

    `messages` say what was inferred about the files, `notes` what was dropped.
    """

    first: Rows
    predictions: dict[str, NDArray[Any]]
    messages: tuple[str, ...]
    notes: tuple[str, ...]
    # Labels by model, where each has its own.
    labels: dict[str, NDArray[Any]] | None = None
    # The share of rows with a confidence by model, where there is a rule for refusals.
    answered: dict[str, float] | None = None

    @classmethod
    def from_matched_rows(
        cls,
        rows_by_model: Mapping[str, Rows],
        messages: tuple[str, ...],
        notes: tuple[str, ...],
        answered: dict[str, float] | None,
        *,
        own_labels: bool = True,
    ) -> Models:
        """Collect models from the rows of each, which are the same rows in the same order.

        With `own_labels` each model keeps its labels; otherwise those of the first model count for
        all.
        """
        labels = {name: rows.y_true for name, rows in rows_by_model.items()}
        return cls(
            first=next(iter(rows_by_model.values())),
            predictions={name: rows.y_proba for name, rows in rows_by_model.items()},
            messages=messages,
            notes=notes,
            labels=labels if own_labels else None,
            answered=answered,
        )


def read_models(options: argparse.Namespace) -> Models:
    """Read the predictions of every model that the options name.

    Models are in a long table (--model-column), in columns of one file (--models), or in one file
    each.
    """
    if options.own_labels and options.id is None:
        raise needs_ids()
    if options.model_column is not None:
        return _read_long_table(options)
    files = named_files(options)
    if options.labels is not None and options.models is None:
        raise InputError("--labels needs --models, which names the models")
    if options.models is None:
        if len(files) == 1:
            raise InputError(
                "there is one file and nothing to compare it with: name another, or the models in "
                "it with --models a=COLUMN b=COLUMN"
            )
        return _read_file_each(options, files)
    if len(files) > 1:
        raise InputError("--models names columns of one file; there are several files")
    if options.proba is not None:
        raise InputError("--models already names the prediction columns: leave out --proba")
    return _read_one_file(options, next(iter(files.values())))


def named_files(options: argparse.Namespace) -> dict[str, str]:
    """Give the path of each file by the name of its model.

    The name is that of NAME=FILE, else the file name without its ending, or the whole path if two
    files would have the same name. A single folder or pattern stands for its files. The files of a
    long table are named by their paths.
    """
    given: list[str] = options.files
    if options.model_column is not None:  # all files are one table
        return {path: path for path in given}
    if options.models is None and len(given) == 1 and _is_folder_or_pattern(given[0]):
        given = [str(file) for file in find_files(given[0], options.format)]
    typed = list(map(_split_name, given))
    short = [Path(path).stem if name == path else name for name, path in typed]
    twice = {name for name, n in Counter(short).items() if n > 1}
    names = [
        path if own in twice and name == path else own
        for own, (name, path) in zip(short, typed, strict=True)
    ]
    again = [name for name, n in Counter(names).items() if n > 1]
    if again:
        raise InputError(f"two models are called {again[0]!r}: tell them apart with NAME=FILE")
    if not all(names):
        raise InputError("a model has no name: write NAME=FILE")
    return {name: path for name, (_, path) in zip(names, typed, strict=True)}


def paths_of(texts: Sequence[str]) -> list[str]:
    """Give the paths in words written [NAME=]FILE, without the names."""
    return [_split_name(text)[1] for text in texts]


def _split_name(text: str) -> list[str]:
    """Split NAME=FILE into [name, path]; give [path, path] for a path alone.

    A word with "=" that is itself the path of a file has no name.
    """
    return text.split("=", 1) if "=" in text and not os.path.exists(text) else [text, text]


def _is_folder_or_pattern(text: str) -> bool:
    """Whether the path is a folder or a pattern such as runs/*.csv."""
    place = os.path.expanduser(text)
    return os.path.isdir(place) or (glob.has_magic(place) and not os.path.lexists(place))


def _read_one_file(options: argparse.Namespace, path: str) -> Models:
    """Read the models whose predictions are columns of one file (--models).

    A row in which one model's prediction is missing is dropped for all models.
    """
    known = _column_names(path, options.format, getattr(options, "half", None))
    columns = _model_columns(options.models, known)
    request = inputs.request_of(options, path)
    own = _label_columns(options, columns)
    labels: Mapping[str, Any] = own or dict.fromkeys(columns, request.y_true)
    for name, typed in columns.items():
        check_different_columns(labels[name], typed)
    if own is None:
        may_own = options.own_labels is not None
        check_label_is_shared(request.y_true, columns, known, can_have_own=may_own)
    else:
        check_labels_are_own(own, columns, known)
    read = {
        name: read_rows(replace(request, y_proba=typed, y_true=labels[name]))
        for name, typed in columns.items()
    }
    kept = keep_complete_rows(read)
    first, total = next(iter(kept.values())), next(iter(read.values()))
    if not first.n:
        raise InputError(f"{path}: every row lacks the prediction of some model, so no row is left")
    messages = tuple(dict.fromkeys(line for rows in read.values() for line in rows.messages))
    notes = _dropped_note(total.n + total.n_missing - first.n)
    return Models.from_matched_rows(
        kept, messages, notes, _answered(read), own_labels=own is not None
    )


def _answered(read: Mapping[str, Rows]) -> dict[str, float] | None:
    """The share of rows with a confidence by model; None without a rule for refusals."""
    shares = {
        name: 1.0 - rows.n_unanswered / (rows.n + rows.n_missing)
        for name, rows in read.items()
        if rows.n_unanswered is not None
    }
    return shares or None


def _answered_in_table(
    options: argparse.Namespace, request: ReadRequest
) -> dict[str, float] | None:
    """The share of rows with a confidence by model of a long table, from one more reading."""
    if options.refusals is None:
        return None
    rows = read_rows(replace(request, refusals="excluded"))
    kept = Counter(rows.others[options.model_column].astype(str).tolist())
    gone = rows.others_dropped.get(options.model_column, np.empty(0)).astype(str)
    return {name: n / (n + (gone == name).sum()) for name, n in kept.items()}


def _label_columns(
    options: argparse.Namespace, columns: Mapping[str, Any]
) -> dict[str, str] | None:
    """Parse --labels: the column of each model's own labels, by model; None without --labels."""
    if options.labels is None:
        return None
    if options.label is not None or options.answer is not None:
        raise InputError(
            "--labels already names the labels of each model: leave out --label and --answer"
        )
    out: dict[str, str] = {}
    for text in options.labels:
        name, column = _split_column("--labels", text, "big=correct_big")
        if name not in columns:
            raise InputError(f"--labels {text}: no model has that name: {nearest(name, columns)}")
        out[name] = column
    absent = [name for name in columns if name not in out]
    if absent:
        raise InputError(f"--labels names no column for {absent[0]!r}: name one for each model")
    return out


def _read_long_table(options: argparse.Namespace) -> Models:
    """Read a long table, in which the rows of the models stand below each other."""
    if options.models is not None or options.labels is not None:
        raise InputError(
            "--model-column already names the model of each row: leave out --models and --labels"
        )
    if options.id is None:
        raise InputError("--model-column needs --id COLUMN, which matches the rows of the models")
    request = inputs.request_of(options, options.files)
    rows = read_rows(request)
    whose = rows.other("model_column", options.model_column).astype(str)
    names = list(dict.fromkeys(whose.tolist()))
    if len(names) < 2:
        raise InputError(f"--model-column {options.model_column} names one model, {names[0]!r}")
    read = {name: rows.take(np.flatnonzero(whose == name)) for name in names}
    kept, notes = match_by_id(read, options.id, drop=_may_drop(options), own_labels=True)
    notes = (*_dropped_note(rows.n_missing), *notes)
    answered = _answered_in_table(options, request)
    return Models.from_matched_rows(kept, rows.messages, notes, answered)


def _may_drop(options: argparse.Namespace) -> bool:
    """Whether rows that some model lacks may be dropped for all."""
    return options.missing == "drop" or options.refusals == "excluded"


def ids_of_logs(options: argparse.Namespace) -> tuple[argparse.Namespace, tuple[str, ...]]:
    """Fill in --id and --groups for logs of evaluations, unless the user gave them.

    --id becomes the column of ids that matches rows; --groups becomes the samples, whose epochs are
    one cluster. Return the options, and messages on what was filled in. For other files nothing
    changes.
    """
    if options.models is not None or options.model_column is not None:
        return options, ()
    logs: list[Any] = []
    for path in named_files(options).values():  # one by one: two models may share a file
        opened = inputs.open_logs([path], options)
        if not opened:
            return options, ()
        logs += opened
    messages, taken = [], {}
    if options.id is None:
        taken["id"] = "id"
        messages.append("rows of the logs are matched by 'id'")
    if options.groups is None and any(getattr(log, "clusters", None) for log in logs):
        taken["groups"] = "sample"
        messages.append("clusters are 'sample': epochs of a sample belong together")
    return replace_options(options, **taken), tuple(messages)


def _dropped_note(n: int) -> tuple[str, ...]:
    """Give a note that n rows were dropped, in a tuple; () if n is 0."""
    return (f"{n} rows were dropped because something was missing",) if n else ()


def _column_names(path: str, format: str | None, half: str | None = None) -> tuple[str, ...]:
    """Give the names of the columns of a file, or of the first file in a folder or pattern."""
    return open_reader(replace(find_files(path, format)[0], half=half)).names


def _split_column(option: str, text: str, example: str) -> tuple[str, str]:
    """Split NAME=COLUMN into name and column; `option` and `example` are for the error."""
    name, _, column = (part.strip() for part in text.partition("="))
    if not (name and column):
        raise InputError(f"{option} {text}: write NAME=COLUMN, such as {example}")
    return name, column


def _model_columns(models: Sequence[str], known: tuple[str, ...]) -> dict[str, Any]:
    """Parse --models: the column of each model, or its list of columns, one per class.

    `known` are the columns of the file.
    """
    out: dict[str, Any] = {}
    for text in models:
        name, typed = _split_column("--models", text, "big=p_big; files come before it")
        if name in out:
            raise InputError(f"--models names {name!r} twice: give each model its own name")
        columns = [
            column
            for each in typed.split(",")
            for column in _matching_columns(each.strip(), known, text)
        ]
        alone = typed in known or ("*" not in typed and len(columns) == 1)
        out[name] = columns[0] if alone else columns
    return out


def _matching_columns(typed: str, known: tuple[str, ...], text: str) -> list[str]:
    """Find the columns that match a name or a pattern with *, in the order of their numbers.

    `known` are the columns of the file; `text` is the whole word, for the error. If any name has a
    point, an unknown name is kept for the reader to look up (a nested field).
    """
    if typed in known or "*" not in typed:
        if typed not in known and not any("." in name for name in (typed, *known)):
            raise InputError(
                f"--models {text}: there is no column {typed!r}: {nearest(typed, known)}"
            )
        return [typed]
    matches = [name for name in known if fnmatchcase(name, typed)]
    if not matches:
        raise InputError(f"--models {text}: no column has a name like {typed!r}")
    parts = {name: re.split(r"(\d+)", name) for name in matches}
    return sorted(matches, key=lambda name: [int(p) if p.isdigit() else -1 for p in parts[name]])


def _read_file_each(options: argparse.Namespace, files: Mapping[str, str]) -> Models:
    """Read one file per model, and match rows by --id, or by their order without --id."""
    read: dict[str, Rows] = {}
    for name, path in files.items():
        request: ReadRequest = inputs.request_of(options, path)
        if read and options.classes is None:
            # All files get the class order of the first.
            request = replace(request, classes=inputs.class_texts(next(iter(read.values()))))
        read[name] = read_rows(request)
    if options.classes is None:
        _check_classes_named(read)
    notes = tuple(
        f"{name}: {line}" for name, rows in read.items() for line in _dropped_note(rows.n_missing)
    )
    more: tuple[str, ...] = ()
    answered = _answered(read)
    if options.id is None:
        read = match_by_position(read, own_labels=options.own_labels)
    else:
        drop, own = _may_drop(options), options.own_labels
        read, more = match_by_id(read, options.id, drop=drop, own_labels=own)
    messages = messages_by_file({name: rows.messages for name, rows in read.items()})
    return Models.from_matched_rows(read, messages, (*notes, *more), answered)


def _check_classes_named(rows_by_model: Mapping[str, Rows]) -> None:
    """Raise an error if columns name their classes for some models only.

    The class order of the other models is unknown.
    """
    named = {name: rows.chosen.named for name, rows in rows_by_model.items() if rows.multiclass}
    if len(set(named.values())) > 1:
        unnamed, other = (
            next(name for name, is_named in named.items() if is_named == wanted)
            for wanted in (False, True)
        )
        raise InputError(
            f"the columns of {other} name their classes, and those of {unnamed} do not: give the "
            f"order of the classes in {unnamed} with --classes A,B,..."
        )


# --- `compare --scale-on`: validation rows that maps are fitted to, of files or of a column ------


def parse_scale_on(options: argparse.Namespace) -> tuple[str | None, str]:
    """Parse --scale-on COLUMN=VALUE into the column and the value.

    They are (None, "") without the option, or if it names files.
    """
    given = options.scale_on
    if given is None or len(given) != 1 or "=" not in given[0] or os.path.exists(given[0]):
        return None, ""
    name, _, value = given[0].partition("=")
    place = os.path.expanduser(value)
    if os.path.exists(place) or glob.glob(place):
        return None, ""
    known = _column_names(next(iter(named_files(options).values())), options.format)
    if name not in known:
        raise InputError(
            f"--scale-on {given[0]}: there is no file {value!r}, nor a column {name!r} to divide "
            f"rows by: {nearest(name, known)}"
        )
    return name, value


def split_models(models: Models, column: str, value: str) -> tuple[Models, Models]:
    """Split the rows into rows to compare and rows to fit maps to, in this order.

    Maps are fitted to the rows with this value in the column.
    """
    values = models.first.other("scale_on", column).astype(str)
    chosen = values == value
    if chosen.all() or not chosen.any():
        seen = ", ".join(map(repr, sorted(set(values.tolist()))[:5]))
        which = "every row" if chosen.all() else "no row"
        raise InputError(
            f"--scale-on {column}={value}: {which} has that value, and there must be rows to fit "
            f"to and rows to compare; the values are {seen}"
        )
    n = int(chosen.sum())
    note = (
        f"maps are fitted to the {n:,} rows in which {column} is {value}; the others are compared"
    )
    compared = _take_rows(models, np.flatnonzero(~chosen))
    return replace(compared, notes=(note, *models.notes)), _take_rows(
        models, np.flatnonzero(chosen)
    )


def _take_rows(models: Models, rows: NDArray[np.intp]) -> Models:
    """Give the models with only the rows of these numbers."""
    return replace(
        models,
        first=models.first.take(rows),
        predictions={name: each[rows] for name, each in models.predictions.items()},
        labels=None if models.labels is None else {n: y[rows] for n, y in models.labels.items()},
    )


def with_halves(options: argparse.Namespace) -> argparse.Namespace:
    """Compare the arrays test_... of NPZ files that have them beside val_..., for --scale-on.

    Columns may be named with or without test_.
    """
    if not inputs.have_halves(list(named_files(options).values()), options.format):
        return options
    texts = {name: getattr(options, name) for name in ("label", "proba", "models", "weight")}
    for name, given in texts.items():
        if given is not None:
            bare = [re.sub(r"(^|[=,])test_", r"\1", each) for each in np.atleast_1d(given)]
            texts[name] = bare[0] if isinstance(given, str) else bare
    return replace_options(options, **texts, half="test")


def validation_models(options: argparse.Namespace, models: Models) -> Models:
    """Read the validation rows of every model from the files of --scale-on.

    They are read with the same options as `models`. It is an error if the names of models differ.
    """
    matched = options.model_column is not None or (
        options.models is None and len(options.scale_on) > 1
    )
    own = replace_options(
        options,
        files=options.scale_on,
        by=None,
        groups=None,
        id=options.id if matched else None,
        classes=options.classes or inputs.class_texts(models.first),
    )
    try:
        for path in named_files(own).values():
            find_files(path, options.format)
        paths = list(named_files(own).values())
        own.half = "val" if inputs.have_halves(paths, options.format) else None
        validation = read_models(own)
    except InputError as error:
        raise InputError(f"--scale-on: {error}") from error
    names, others = list(models.predictions), list(validation.predictions)
    if sorted(names) != sorted(others):
        raise InputError(
            f"--scale-on has the models {', '.join(others)}, and the rows to compare have "
            f"{', '.join(names)}: give the same names, with NAME=FILE where files are called "
            "otherwise"
        )
    fitted = ("maps are fitted to the arrays val_... of the files of --scale-on",)
    return replace(validation, notes=fitted if own.half else ())
