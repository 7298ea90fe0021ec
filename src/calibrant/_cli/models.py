"""The predictions of several models on the same rows, out of one file or of several."""

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
from calibrant._cli.matching import at, by_id, by_position
from calibrant._cli.rows import Rows, Wanted, read_rows
from calibrant._core.errors import InputError, nearest
from calibrant._data.columns import check_label_is_shared
from calibrant._data.readers.find import find_files
from calibrant._data.readers.source import open_reader


@dataclass(frozen=True, eq=False)
class Models:
    """Predictions by name, and the rows of the first model, which are everyone's."""

    first: Rows
    predictions: dict[str, NDArray[Any]]
    said: tuple[str, ...]
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
    """Files by name: as told with NAME=FILE, or by what tells their paths apart."""
    given: list[str] = options.files
    if options.models is None and len(given) == 1 and _stands_for_several(given[0]):
        given = [str(file) for file in find_files(given[0], options.format)]
    told = [text.split("=", 1) if "=" in text and not os.path.exists(text) else [text, text]
            for text in given]  # fmt: skip
    short = [Path(path).stem if name == path else name for name, path in told]
    twice = {name for name, n in Counter(short).items() if n > 1}
    names = [
        path if own in twice and name == path else own
        for own, (name, path) in zip(short, told, strict=True)
    ]
    again = [name for name, n in Counter(names).items() if n > 1]
    if again:
        raise InputError(f"two models are called {again[0]!r}: tell them apart with NAME=FILE")
    if not all(names):
        raise InputError("a model has no name: write NAME=FILE")
    return {name: path for name, (_, path) in zip(names, told, strict=True)}


def _stands_for_several(text: str) -> bool:
    """Whether it is a folder or a pattern. Among other files each is one model in several parts."""
    place = os.path.expanduser(text)
    return os.path.isdir(place) or (glob.has_magic(place) and not os.path.lexists(place))


def _in_one_file(options: argparse.Namespace, path: str) -> Models:
    columns = _columns(options, path)
    wanted = inputs.wanted_of(options, path)
    known = open_reader(find_files(path, options.format)[0]).names
    check_label_is_shared(wanted.label, columns, known)
    read = {name: read_rows(replace(wanted, proba=told)) for name, told in columns.items()}
    # Rows that one model has nothing to say about are left out for all.
    common = next(iter(read.values())).positions
    for rows in read.values():
        common = np.intersect1d(common, rows.positions, assume_unique=True)
    if not common.size:
        raise InputError(f"{path}: in each row some model's prediction is missing: nothing is left")
    kept = {name: at(rows, common) for name, rows in read.items()}
    first = next(iter(kept.values()))
    said = tuple(dict.fromkeys(line for rows in read.values() for line in rows.said))
    total = next(iter(read.values()))
    n_gone = total.n + total.n_missing - common.size
    return Models(
        first, {name: rows.y_proba for name, rows in kept.items()}, said, _left_out(n_gone)
    )


def _left_out(n: int) -> tuple[str, ...]:
    return (f"{n} rows were left out because something was missing",) if n else ()


def _columns(options: argparse.Namespace, path: str) -> dict[str, Any]:
    """The columns of each model."""
    known = open_reader(find_files(path, options.format)[0]).names
    out: dict[str, Any] = {}
    for text in options.models:
        name, sign, told = (part.strip() for part in text.partition("="))
        if not (name and sign and told):
            raise InputError(
                f"--models {text}: write NAME=COLUMN, such as big=p_big; files come before it"
            )
        if name in out:
            raise InputError(f"--models names {name!r} twice: give each model its own name")
        columns: list[str] = []
        for one in told.split(","):
            columns += _matching(one.strip(), known, text)
        alone = told in known or ("*" not in told and len(columns) == 1)
        out[name] = columns[0] if alone else columns
    return out


def _matching(told: str, known: tuple[str, ...], text: str) -> list[str]:
    """The columns of a pattern, numbers in their order, or the one column."""
    if told in known or "*" not in told:
        if told not in known and not any("." in name for name in (told, *known)):
            raise InputError(
                f"--models {text}: there is no column {told!r}: {nearest(told, known)}"
            )
        return [told]
    found = [name for name in known if fnmatchcase(name, told)]
    if not found:
        raise InputError(f"--models {text}: no column has a name like {told!r}")
    parts = {name: re.split(r"(\d+)", name) for name in found}
    return sorted(found, key=lambda name: [int(p) if p.isdigit() else -1 for p in parts[name]])


def _a_file_each(options: argparse.Namespace, files: Mapping[str, str]) -> Models:
    read: dict[str, Rows] = {}
    for name, path in files.items():
        wanted: Wanted = inputs.wanted_of(options, path)
        if read and options.classes is None:
            # The order of the first file's classes is everyone's.
            wanted = replace(wanted, classes=_classes(next(iter(read.values()))))
        read[name] = read_rows(wanted)
    if options.classes is None:
        _check_alike(read)
    notes = tuple(f"{name}: {line}" for name, rows in read.items()
                  for line in _left_out(rows.n_missing))  # fmt: skip
    more: tuple[str, ...] = ()
    if options.id is None:
        read = by_position(read)
    else:
        read, more = by_id(read, options.id, drop=options.missing == "drop")
    first = next(iter(read.values()))
    said = tuple(f"{name}: {line}" for name, rows in read.items() for line in rows.said)
    predictions = {name: rows.y_proba for name, rows in read.items()}
    return Models(first, predictions, said, (*notes, *more))


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
