"""`compare --scale-on`: the validation rows that maps are fitted to, of files or of a column."""

from __future__ import annotations

import argparse
import glob
import os
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from calibrant._cli.models import Models, named_files, read_models
from calibrant._core.errors import InputError, nearest
from calibrant._data.readers.recognise import find_files
from calibrant._data.readers.source import open_reader


def split_of(options: argparse.Namespace) -> tuple[str | None, str]:
    """The column and the value that divide the rows; None where --scale-on names files."""
    given = options.scale_on
    if given is None or len(given) != 1 or "=" not in given[0] or os.path.exists(given[0]):
        return None, ""
    name, _, value = given[0].partition("=")
    place = os.path.expanduser(value)
    if os.path.exists(place) or glob.glob(place):
        return None, ""
    known = open_reader(find_files(next(iter(named_files(options).values())), options.format)[0])
    if name not in known.names:
        raise InputError(
            f"--scale-on {given[0]}: there is no file {value!r}, nor a column {name!r} to divide "
            f"rows by: {nearest(name, known.names)}"
        )
    return name, value


def divided(models: Models, column: str, value: str) -> tuple[Models, Models]:
    """The rows to compare, and those to fit maps to."""
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
    compared = _some(models, np.flatnonzero(~chosen))
    return replace(compared, notes=(note, *models.notes)), _some(models, np.flatnonzero(chosen))


def _some(models: Models, rows: NDArray[np.intp]) -> Models:
    return replace(
        models,
        first=models.first.take(rows),
        predictions={name: each[rows] for name, each in models.predictions.items()},
        labels=None if models.labels is None else {n: y[rows] for n, y in models.labels.items()},
    )


def validation_models(options: argparse.Namespace, models: Models) -> Models:
    """The validation rows of every model, read as the others are."""
    own = argparse.Namespace(**vars(options))
    own.files, own.by, own.groups, own.id = options.scale_on, None, None, None
    if options.model_column is not None or (options.models is None and len(options.scale_on) > 1):
        own.id = options.id
    classes = models.first.chosen.classes
    if own.classes is None and classes is not None:
        own.classes = [str(name) for name in classes]
    try:
        for path in named_files(own).values():
            find_files(path, options.format)
        found = read_models(own)
    except InputError as error:
        raise InputError(f"--scale-on: {error}") from error
    names, others = list(models.predictions), list(found.predictions)
    if sorted(names) != sorted(others):
        raise InputError(
            f"--scale-on has the models {', '.join(others)}, and the rows to compare have "
            f"{', '.join(names)}: give the same names, with NAME=FILE where files are called "
            "otherwise"
        )
    return found
