"""Prediction sets of public repositories: where they lie in a folder, and how their rows are read.

The folder holds a checkout of each repository as ``OWNER+NAME``. `printed/sets.csv` has a line for
each set of predictions: its file, which rows of it, and the columns of predictions and outcomes.
A little grammar says what authors say in code:

    file        results/a.csv; a.json#configurations/config1/results; main/x-*.txt (all that match)
    rows        model = A & split = test; confidence != (not empty)
    prediction  confidence; confidence / 100; 0.7 * p + 0.15; p_0, p_1, p_2 (one for each class)
    outcome     label; predicted == label; grade == Correct; ../labels.json: label (another file)
    clusters    question; @line PATTERN (the line number, and the file name without PATTERN)
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from itertools import compress
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from calibrant._core.typing import Array, Mask

Columns: TypeAlias = dict[str, list[str]]

_WORDS = {"true": "1", "yes": "1", "false": "0", "no": "0", "none": "nan", "": "nan"}
_AFFINE = re.compile(
    r"(?:(?P<factor>[\d.]+) \* )?(?P<column>.+?)(?: / (?P<divisor>[\d.]+))?"
    r"(?: \+ (?P<shift>[\d.]+))?$"
)


class NotAtHand(Exception):
    """A file, a column or the rows of a set are not in the folder."""


@dataclass(frozen=True)
class PredictionSet:
    """A line of `printed/sets.csv`: predictions of one model on one set of rows.

    Sets of the same `pool` are about the same rows, in the same order or with clusters by which
    they can be matched.
    """

    name: str
    source: str
    file: str
    rows: str
    prediction: str
    outcome: str
    clusters: str
    pool: str


@dataclass(frozen=True, eq=False)
class Rows:
    """Predictions, (n,) or (n, k), what happened, and the name of each row's cluster, or None."""

    predictions: Array
    outcomes: Array
    clusters: NDArray[Any] | None

    @property
    def are_probabilities(self) -> bool:
        """Whether all predictions lie in [0, 1]; ranking scores need not."""
        return bool((self.predictions >= 0).all() and (self.predictions <= 1 + 1e-6).all())

    def of_top_label(self) -> tuple[Array, Array]:
        """Whether the prediction came true, and its probability: the top label's if (n, k)."""
        if self.predictions.ndim == 1:
            return self.outcomes, self.predictions
        right = self.predictions.argmax(axis=1) == self.outcomes
        return right.astype(np.float64), self.predictions.max(axis=1)


def read_registry(name: str) -> list[dict[str, str]]:
    """The lines of a table that comes with the library: "sets", "printed" or "sources"."""
    folder = resources.files("calibrant._research.papers") / "printed"
    text = (folder / f"{name}.csv").read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines()))


def read_rows(folder: Path, wanted: PredictionSet) -> Rows:
    """Read the rows of a set; NotAtHand if the folder does not have them."""
    columns = _columns(folder / wanted.source, wanted.file)
    kept = _select(columns, wanted.rows)
    outcomes = _outcomes(folder, wanted, columns)[kept]
    if not kept.all():
        columns = {name: list(compress(cells, kept)) for name, cells in columns.items()}
    predictions = [_affine(columns, text) for text in wanted.prediction.split(", ")]
    if not len(outcomes):
        raise NotAtHand(f"{wanted.file} has no rows with {wanted.rows}")
    shaped = predictions[0] if len(predictions) == 1 else np.column_stack(predictions)
    return Rows(shaped, outcomes, _clusters(columns, wanted.clusters))


def _columns(folder: Path, file: str) -> Columns:
    """The columns of a file, or of all files that match, one after the other."""
    name, _, pointer = file.partition("#")
    paths = sorted(folder.glob(name)) if "*" in name else [folder / name]
    if not paths or not paths[0].is_file():
        raise NotAtHand(f"{folder.name}/{name} is not there")
    if len(paths) == 1:
        return _read(paths[0], pointer)
    tables = [_read(path, pointer) for path in paths]
    return {name: [cell for table in tables for cell in table[name]] for name in tables[0]}


@lru_cache(maxsize=512)
def _read(path: Path, pointer: str) -> Columns:
    """A table as texts by column, with the name of its file and the number of each line."""
    text = path.read_text(encoding="utf-8-sig")
    if path.suffix == ".json":
        records = _records(text, pointer)
        columns = {name: [str(record.get(name, "")) for record in records] for name in records[0]}
    elif path.suffix == ".csv":
        names, *lines = csv.reader(text.splitlines())
        cells = zip(*lines, strict=True)
        columns = {name: list(column) for name, column in zip(names, cells, strict=True)}
    else:
        names, words = text.partition("\n")[0].split(), text.split()
        columns = {name: words[len(names) + i :: len(names)] for i, name in enumerate(names)}
    n = len(next(iter(columns.values())))
    return {**columns, "@file": [path.name] * n, "@line": [str(i) for i in range(n)]}


def _records(text: str, pointer: str) -> list[dict[str, Any]]:
    """The records of a JSON document at a place in it, or of one record a line."""
    try:
        found = json.loads(text)
    except json.JSONDecodeError:
        return [json.loads(line) for line in text.splitlines() if line.strip()]
    for key in filter(None, pointer.split("/")):
        found = found[key]
    return list(found)


def _column(columns: Columns, name: str) -> list[str]:
    """A column by its name; NotAtHand if there is none."""
    if name not in columns:
        raise NotAtHand(f"there is no column {name!r}")
    return columns[name]


def _select(columns: Columns, rows: str) -> Mask:
    """Which rows meet all conditions."""
    kept = np.ones(len(columns["@line"]), bool)
    for condition in filter(None, rows.split(" & ")):
        name, unlike, value = re.split(r" (!?)= ?", condition, maxsplit=1)
        same = np.array([cell == value for cell in _column(columns, name)], bool)
        kept &= ~same if unlike else same
    return kept


def _numbers(cells: Iterable[str]) -> Array:
    """Texts as numbers: true and yes are 1, false and no 0, an empty cell is not a number."""
    plain = (cell.strip().lower() for cell in cells)
    return np.array([_WORDS.get(cell, cell) for cell in plain]).astype(np.float64)


def _affine(columns: Columns, text: str) -> Array:
    """A column, times a factor, over a divisor, plus a shift."""
    found = _AFFINE.match(text)
    assert found is not None
    value = _numbers(_column(columns, found["column"]))
    value = value * float(found["factor"] or 1) / float(found["divisor"] or 1)
    return value + float(found["shift"] or 0)


def _outcomes(folder: Path, wanted: PredictionSet, columns: Columns) -> Array:
    """The outcome of each row: a column, here or in another file, or whether two cells agree."""
    file, other, text = wanted.outcome.rpartition(": ")
    if other:
        beside = folder / wanted.source / wanted.file.partition("#")[0]
        columns = _columns(beside.parent, file)
    first, agree, second = text.partition(" == ")
    if not agree:
        return _numbers(_column(columns, text))
    here = _column(columns, first)
    there: Sequence[str] = columns.get(second, [second] * len(here))
    return np.array([a == b for a, b in zip(here, there, strict=True)], np.float64)


def _clusters(columns: Columns, text: str) -> NDArray[Any] | None:
    """The cluster of each row, or None."""
    if not text:
        return None
    if not text.startswith("@line "):
        return np.array(_column(columns, text))
    ignored = re.compile(text.removeprefix("@line "))
    stems = [ignored.sub("", name) for name in columns["@file"]]
    return np.array([f"{a} {b}" for a, b in zip(stems, columns["@line"], strict=True)])
