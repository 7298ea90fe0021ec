"""The predictions of several models on the same rows, out of one file or of several.

Rows of several files are the same rows by their order, or by a column of ids.
"""

from __future__ import annotations

import argparse
import glob
import os
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant._cli import inputs
from calibrant._core.errors import InputError, nearest
from calibrant._data.align_rows import align, row_of_id
from calibrant._data.columns import OWN_LABELS, check_label_is_shared
from calibrant._data.readers.find import find_files
from calibrant._data.readers.read_rows import ReadRequest, Rows, read_rows
from calibrant._data.readers.source import open_reader


@dataclass(frozen=True, eq=False)
class Models:
    """Predictions by name, and the rows of the first model, which are everyone's."""

    first: Rows
    predictions: dict[str, NDArray[Any]]
    messages: tuple[str, ...]
    notes: tuple[str, ...]


def read_models(options: argparse.Namespace) -> Models:
    """Every model that the options name."""
    files = named_files(options)
    if options.models is None:
        if len(files) == 1:
            raise InputError(
                "there is one file and nothing to compare it with: name another, or the models in "
                "it with --models a=COLUMN b=COLUMN"
            )
        return _a_file_each(options, files)
    if len(files) > 1:
        raise InputError("--models names columns of one file; there are several files")
    if options.proba is not None:
        raise InputError("--models says which columns are predictions: leave out --proba")
    return _in_one_file(options, next(iter(files.values())))


def named_files(options: argparse.Namespace) -> dict[str, str]:
    """Files by name: as given by NAME=FILE, or by what differs in their paths."""
    given: list[str] = options.files
    if options.models is None and len(given) == 1 and _stands_for_several(given[0]):
        given = [str(file) for file in find_files(given[0], options.format)]
    given_text = list(map(_named, given))
    short = [Path(path).stem if name == path else name for name, path in given_text]
    twice = {name for name, n in Counter(short).items() if n > 1}
    names = [
        path if own in twice and name == path else own
        for own, (name, path) in zip(short, given_text, strict=True)
    ]
    again = [name for name, n in Counter(names).items() if n > 1]
    if again:
        raise InputError(f"two models are called {again[0]!r}: tell them apart with NAME=FILE")
    if not all(names):
        raise InputError("a model has no name: write NAME=FILE")
    return {name: path for name, (_, path) in zip(names, given_text, strict=True)}


def given_paths(options: argparse.Namespace) -> list[str]:
    """The files, folders and patterns of a command, without the names given to them."""
    return [_named(text)[1] for text in options.files]


def _named(text: str) -> list[str]:
    """NAME and FILE, or the file twice."""
    return text.split("=", 1) if "=" in text and not os.path.exists(text) else [text, text]


def _stands_for_several(text: str) -> bool:
    """Whether it is a folder or a pattern. Among other files each is one model in several parts."""
    place = os.path.expanduser(text)
    return os.path.isdir(place) or (glob.has_magic(place) and not os.path.lexists(place))


def _in_one_file(options: argparse.Namespace, path: str) -> Models:
    columns = _columns(options, path)
    request = inputs.request_of(options, path)
    known = open_reader(find_files(path, options.format)[0]).names
    check_label_is_shared(request.y_true, columns, known)
    read = {
        name: read_rows(replace(request, y_proba=given_text))
        for name, given_text in columns.items()
    }
    # Rows that one model has nothing to say about are dropped for all.
    common = next(iter(read.values())).positions
    for rows in read.values():
        common = np.intersect1d(common, rows.positions, assume_unique=True)
    if not common.size:
        raise InputError(f"{path}: in each row some model's prediction is missing: nothing is left")
    kept = {name: rows.at(common) for name, rows in read.items()}
    first = next(iter(kept.values()))
    messages = tuple(dict.fromkeys(line for rows in read.values() for line in rows.messages))
    total = next(iter(read.values()))
    n_gone = total.n + total.n_missing - common.size
    return Models(
        first, {name: rows.y_proba for name, rows in kept.items()}, messages, _dropped_note(n_gone)
    )


def _dropped_note(n: int) -> tuple[str, ...]:
    return (f"{n} rows were dropped because something was missing",) if n else ()


def _columns(options: argparse.Namespace, path: str) -> dict[str, Any]:
    """The columns of each model."""
    known = open_reader(find_files(path, options.format)[0]).names
    out: dict[str, Any] = {}
    for text in options.models:
        name, sign, given_text = (part.strip() for part in text.partition("="))
        if not (name and sign and given_text):
            raise InputError(
                f"--models {text}: write NAME=COLUMN, such as big=p_big; files come before it"
            )
        if name in out:
            raise InputError(f"--models names {name!r} twice: give each model its own name")
        columns: list[str] = []
        for one in given_text.split(","):
            columns += _matching(one.strip(), known, text)
        alone = given_text in known or ("*" not in given_text and len(columns) == 1)
        out[name] = columns[0] if alone else columns
    return out


def _matching(given_text: str, known: tuple[str, ...], text: str) -> list[str]:
    """The columns of a pattern, numbers in their order, or the one column."""
    if given_text in known or "*" not in given_text:
        if given_text not in known and not any("." in name for name in (given_text, *known)):
            raise InputError(
                f"--models {text}: there is no column {given_text!r}: {nearest(given_text, known)}"
            )
        return [given_text]
    matches = [name for name in known if fnmatchcase(name, given_text)]
    if not matches:
        raise InputError(f"--models {text}: no column has a name like {given_text!r}")
    parts = {name: re.split(r"(\d+)", name) for name in matches}
    return sorted(matches, key=lambda name: [int(p) if p.isdigit() else -1 for p in parts[name]])


def _a_file_each(options: argparse.Namespace, files: Mapping[str, str]) -> Models:
    read: dict[str, Rows] = {}
    for name, path in files.items():
        request: ReadRequest = inputs.request_of(options, path)
        if read and options.classes is None:
            # The order of the first file's classes is everyone's.
            request = replace(request, classes=_classes(next(iter(read.values()))))
        read[name] = read_rows(request)
    if options.classes is None:
        _check_alike(read)
    notes = tuple(f"{name}: {line}" for name, rows in read.items()
                  for line in _dropped_note(rows.n_missing))  # fmt: skip
    more: tuple[str, ...] = ()
    if options.id is None:
        read = by_position(read)
    else:
        read, more = by_id(read, options.id, drop=options.missing == "drop")
    first = next(iter(read.values()))
    messages = tuple(f"{name}: {line}" for name, rows in read.items() for line in rows.messages)
    predictions = {name: rows.y_proba for name, rows in read.items()}
    return Models(first, predictions, messages, (*notes, *more))


def _check_alike(read: Mapping[str, Rows]) -> None:
    """An error if some columns say which class they are of and others do not: what stands where
    could not be told.
    """
    named = {name: rows.chosen.named for name, rows in read.items() if rows.multiclass}
    if len(set(named.values())) > 1:
        mute = next(name for name, is_so in named.items() if not is_so)
        loud = next(name for name, is_so in named.items() if is_so)
        raise InputError(
            f"the columns of {loud} say which class each is of, those of {mute} do not: say the "
            f"order of the classes in {mute} with --classes A,B,..."
        )


def _classes(rows: Rows) -> list[str] | None:
    return None if rows.chosen.classes is None else [str(name) for name in rows.chosen.classes]


def by_position(read: dict[str, Rows]) -> dict[str, Rows]:
    """The same rows of every file; an error if they are not the same."""
    (first_name, first), *others = read.items()
    total = first.n + first.n_missing
    common = first.positions
    for name, rows in others:
        if rows.n + rows.n_missing != total:
            raise InputError(
                f"{first_name} has {total:,} rows, {name} has {rows.n + rows.n_missing:,}: they "
                "must be the same rows. Match them by a column that names each row: --id COLUMN"
            )
        common = np.intersect1d(common, rows.positions, assume_unique=True)
    if not common.size:
        raise InputError("in each row something is missing for some model: nothing is left")
    kept = {name: rows.at(common) for name, rows in read.items()}
    _check_same_rows(kept, "in the same order, or match them with --id COLUMN")
    return kept


def by_id(
    read: dict[str, Rows], column: str, *, drop: bool
) -> tuple[dict[str, Rows], tuple[str, ...]]:
    """The rows of every file in the order of the first, matched by a column."""
    ids: dict[str, dict[str, int]] = {}
    for name, rows in read.items():
        try:
            ids[name] = row_of_id(rows.other("--id", column).tolist())
        except KeyError as error:
            raise InputError(
                f"{name}: --id {column} must name each row once; {error.args[0]!r} is twice"
            ) from None
    aligned = align(ids)
    for name, keys in aligned.unmatched.items():
        if keys and not drop:
            raise InputError(
                f"{name}: {len(keys):,} rows are not in every file, such as {keys[0]!r}: give the "
                "same rows, or drop these with --missing drop"
            )
    if not next(iter(aligned.rows.values())).size:
        raise InputError(f"no value of --id {column} is in every file: nothing is left")
    notes = tuple(
        f"{name}: {len(keys):,} rows were dropped because not every file has them"
        for name, keys in aligned.unmatched.items() if keys
    )  # fmt: skip
    kept = {name: rows.take(aligned.rows[name]) for name, rows in read.items()}
    _check_same_rows(kept, f"for the same {column}")
    return kept, notes


def _check_same_rows(read: dict[str, Rows], hint: str) -> None:
    (first_name, first), *others = read.items()
    for name, rows in others:
        if rows.y_true.shape != first.y_true.shape:
            raise InputError(
                f"the labels of {name} have the shape {rows.y_true.shape}, those of {first_name} "
                f"{first.y_true.shape}"
            )
        _check_weights(name, first_name, rows, first)
        other = rows.y_true != first.y_true
        other = other if other.ndim == 1 else other.any(axis=1)
        if other.any():
            row = int(np.argmax(other))
            fault = (
                f"{name} and {first_name} have different labels in {int(other.sum()):,} of "
                f"{first.n:,} rows, first in row {int(first.positions[row])} "
                f"({rows.y_true[row]} and {first.y_true[row]})"
            )
            if _may_be_own(rows) and _may_be_own(first):
                alone = "evaluate each file by itself with calibrant report"
                if _is_correctness(rows) or _is_correctness(first):
                    raise InputError(f"{fault}. {OWN_LABELS}: {alone}")
                hint = f"{hint}. If they say whether each model's own answer was right: {alone}"
            raise InputError(f"{fault}: give the same labels {hint}")


# What a column is called that says whether an answer was right.
_CORRECT = ("correct", "is_correct", "correctness", "is_right", "accuracy")


def _may_be_own(rows: Rows) -> bool:
    """Whether labels may be of the model and not of the rows: right or wrong."""
    return rows.y_true.ndim == 1 and not rows.multiclass


def _is_correctness(rows: Rows) -> bool:
    return rows.chosen.y_true.names[0].rpartition(".")[2].lower() in _CORRECT


def _check_weights(name: str, first_name: str, rows: Rows, first: Rows) -> None:
    mine, others = first.sample_weight, rows.sample_weight
    if mine is not None and others is not None and not np.array_equal(mine, others):
        raise InputError(f"{name} and {first_name} have different weights for the same rows")
