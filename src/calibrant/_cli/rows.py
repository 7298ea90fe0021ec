"""The rows of files in memory, for what must see them more than once: intervals, pairs, fits."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant._core.errors import InputError
from calibrant._core.progress import RowProgress
from calibrant._data.explain import explain, first_bad_row
from calibrant._data.labels import Titles
from calibrant._data.readers.batches import Batch
from calibrant._data.readers.chunks import Names, place_of
from calibrant._data.readers.columns import Chosen, require
from calibrant._data.readers.find import find_files
from calibrant._data.readers.passes import over_pieces
from calibrant._data.readers.source import FileRows, file_rows, open_reader


@dataclass(frozen=True)
class Wanted:
    """What to read: which files, and which of their columns are what."""

    path: Any
    label: Any = None
    proba: Any = None
    weight: str | None = None
    classes: Sequence[str] | None = None
    from_logits: bool = False
    missing: str = "error"
    format: str | None = None
    # Where there are no labels, `label` is any column of numbers, and nobody looks at it.
    labelled: bool = True
    # Other columns, to be kept as text, and the options that ask for them.
    others: Mapping[str, str] = field(default_factory=dict)

    @property
    def called(self) -> str:
        paths = [self.path] if isinstance(self.path, str) else list(self.path)
        return ", ".join(map(str, paths))


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows in memory, with labels as class indices."""

    y_true: NDArray[Any]
    y_proba: NDArray[Any]
    sample_weight: NDArray[Any] | None
    others: dict[str, NDArray[Any]]
    # Where each row is among all rows of the files, left out ones counted.
    positions: NDArray[np.intp]
    chosen: Chosen
    n_files: int
    n_missing: int
    said: tuple[str, ...]

    @property
    def n(self) -> int:
        return int(self.y_proba.shape[0])

    @property
    def multiclass(self) -> bool:
        return self.y_proba.ndim == 2

    @property
    def class_names(self) -> Titles | None:
        """What the columns of (n, k) predictions are called; labels are indices of these."""
        if not self.multiclass:
            return None
        if self.chosen.classes is not None:
            return Titles(str(name) for name in self.chosen.classes)
        return Titles(self.chosen.y_proba.names) if self.chosen.y_proba.stacked else None

    def other(self, option: str, name: str) -> NDArray[Any]:
        """A column of text in which nothing may be missing."""
        values = self.others[name]
        gone = [value is None or value != value for value in values.tolist()]
        if any(gone):
            at = int(self.positions[gone.index(True)])
            raise InputError(
                f"{option} names the column {name!r}, which is empty in {sum(gone)} rows, first in "
                f"row {at}: every row needs a value there"
            )
        return values


class TooLarge(Exception):
    """There are more numbers than were to be held."""


def read_rows(wanted: Wanted, *, at_most: int | None = None) -> Rows:
    """The rows; TooLarge as soon as there are more than so many predictions, (n, k) counted as n
    k.
    """
    _require_others(wanted)
    rows = file_rows(
        wanted.path, y_true=wanted.label, y_proba=wanted.proba, sample_weight=wanted.weight,
        by=list(wanted.others) or None, classes=wanted.classes, from_logits=wanted.from_logits,
        missing=wanted.missing, format=wanted.format,
    )  # fmt: skip
    total = 0

    def held(batches: Iterable[Batch]) -> list[Batch]:
        nonlocal total
        out = []
        for batch in batches:
            total += batch.y_proba.size  # threads may miss a little: it is no exact limit
            if at_most is not None and total > at_most:
                raise TooLarge
            if not wanted.labelled:
                batch = replace(batch, y_true=np.zeros(batch.n, dtype=np.int64))
            _check(batch, wanted.from_logits)
            out.append(batch)
        return out

    with RowProgress(rows.n_bytes, label="reading") as shown:
        batches = [batch for part in over_pieces(rows, held, shown) for batch in part]
    return _together(rows, batches)


def _require_others(wanted: Wanted) -> None:
    if wanted.others:
        reader = open_reader(find_files(wanted.path, wanted.format)[0])
        for name, option in wanted.others.items() if reader.names else ():
            require(reader, option, name)


def _check(batch: Batch, from_logits: bool) -> None:
    """An error with the place of the first row that no measure can take."""
    if not batch.n:
        return
    samples = batch.samples(from_logits, None)
    row = first_bad_row(samples, samples.n)
    if row < samples.n:
        number = batch.chunk.first_row + int(row if batch.rows is None else batch.rows[row])
        place = place_of(batch.file, number, batch.chunk.line)
        raise InputError(f"{place}: {explain(samples, row, shown=number)}")


def _together(rows: FileRows, batches: list[Batch]) -> Rows:
    n_missing = sum(batch.n_missing for batch in batches)
    positions = list(_positions(batches))
    held = [batch for batch in batches if batch.n]
    if not held:
        said = f"{n_missing} rows, and in each something is missing" if n_missing else "no rows"
        raise InputError(f"{rows.called} {said}: there is nothing to measure")
    for batch in held:
        if batch.y_proba.shape[1:] != held[0].y_proba.shape[1:]:
            raise InputError(
                f"y_proba has {_width(held[0])} columns in {held[0].file}, {_width(batch)} in "
                f"{batch.file}"
            )
    y_true = np.concatenate([batch.y_true for batch in held])
    y_proba = np.concatenate([batch.y_proba for batch in held])
    if y_true.ndim == 1 and y_true.dtype.kind == "f" and (y_true == np.floor(y_true)).all():
        y_true = y_true.astype(np.int64)  # text files have them as 3.0
    weights = [batch.sample_weight for batch in held if batch.sample_weight is not None]
    return Rows(
        y_true,
        y_proba,
        np.concatenate(weights) if weights else None,
        {
            name: np.concatenate([_texts(batch.by[j]) for batch in held])
            for j, name in enumerate(rows.chosen.by)
        },
        np.concatenate(positions),
        rows.chosen,
        len(rows.files),
        n_missing,
        (*rows.said, *dict.fromkeys(batch.taken for batch in held if batch.taken)),
    )


def _width(batch: Batch) -> int:
    return int(batch.y_proba.shape[1]) if batch.y_proba.ndim == 2 else 1


def _positions(batches: Iterable[Batch]) -> Iterator[NDArray[np.intp]]:
    first = 0
    for batch in batches:
        rows = np.arange(batch.chunk.n_rows) if batch.rows is None else batch.rows
        yield first + rows
        first += batch.chunk.n_rows


def _texts(names: Names) -> NDArray[Any]:
    known = np.empty(len(names.known), dtype=object)
    known[:] = names.known
    return known[names.codes]
