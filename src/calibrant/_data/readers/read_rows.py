"""The rows of files in memory, for what needs them more than once: intervals, pairs, fits."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant._core.errors import InputError
from calibrant._core.progress import RowProgress
from calibrant._core.validation import public
from calibrant._data.checks import check_bool
from calibrant._data.explain import explain, first_bad_row
from calibrant._data.labels import Titles
from calibrant._data.missing import check_missing
from calibrant._data.readers.batches import Batch
from calibrant._data.readers.chunks import Names, place_of
from calibrant._data.readers.columns import ColumnMapping, require
from calibrant._data.readers.find import find_files
from calibrant._data.readers.passes import over_pieces
from calibrant._data.readers.source import FileRows, file_rows, open_reader


@dataclass(frozen=True)
class ReadRequest:
    """Which files to read, and which of their columns are what."""

    path: Any
    y_true: Any = None
    y_proba: Any = None
    sample_weight: str | None = None
    classes: Sequence[Any] | None = None
    from_logits: bool = False
    missing: str = "error"
    format: str | None = None
    # Without labels, `y_true` is any column of numbers, which is not used.
    labelled: bool = True
    # Other columns, to be read as text, and the options that ask for them.
    others: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows in memory, with labels as class indices."""

    y_true: NDArray[Any]
    y_proba: NDArray[Any]
    sample_weight: NDArray[Any] | None
    others: dict[str, NDArray[Any]]
    # Where each row is among all rows of the files, dropped ones counted.
    positions: NDArray[np.intp]
    chosen: ColumnMapping
    n_files: int
    n_missing: int
    # What was inferred about the files.
    messages: tuple[str, ...]

    @property
    def n(self) -> int:
        return int(self.y_proba.shape[0])

    @property
    def multiclass(self) -> bool:
        return self.y_proba.ndim == 2

    @property
    def class_names(self) -> Titles | None:
        """What the columns of (n, k) predictions are called; labels are indices of these."""
        return self.chosen.class_names if self.multiclass else None

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

    def take(self, rows: NDArray[np.intp]) -> Rows:
        """Some of these rows, by number."""
        weights = self.sample_weight
        return replace(
            self,
            y_true=self.y_true[rows],
            y_proba=self.y_proba[rows],
            sample_weight=None if weights is None else weights[rows],
            others={name: values[rows] for name, values in self.others.items()},
            positions=self.positions[rows],
        )

    def at(self, positions: NDArray[np.intp]) -> Rows:
        """The rows at some positions of the files."""
        return self.take(np.searchsorted(self.positions, positions))


class TooLarge(Exception):
    """There are more predictions than were to be read into memory."""


def read_rows(request: ReadRequest, *, at_most: int | None = None) -> Rows:
    """The rows, with every value checked; TooLarge as soon as there are more than so many
    predictions, (n, k) counted as n k.
    """
    _require_others(request)
    rows = _file_rows(request)
    total = 0

    def checked(batches: Iterable[Batch]) -> list[Batch]:
        nonlocal total
        out = []
        for batch in batches:
            total += batch.y_proba.size  # threads may miss a little: it is no exact limit
            if at_most is not None and total > at_most:
                raise TooLarge
            if not request.labelled:
                batch = replace(batch, y_true=np.zeros(batch.n, dtype=np.int64))
            _check_values(batch, request.from_logits)
            out.append(batch)
        return out

    with RowProgress(rows.n_bytes, label="reading") as progress:
        batches = [batch for piece in over_pieces(rows, checked, progress) for batch in piece]
    read = _combine(rows, batches)
    labels = read.y_true
    if labels.ndim == 1 and labels.dtype.kind == "f" and (labels == np.floor(labels)).all():
        return replace(read, y_true=labels.astype(np.int64))  # text files have them as 3.0
    return read


@dataclass(frozen=True, eq=False)
class FileArrays:
    """Rows of files in memory, with labels as class indices; `inferred` says what was found out."""

    y_true: NDArray[Any]
    y_proba: NDArray[Any]
    sample_weight: NDArray[Any] | None
    class_names: tuple[str, ...] | None
    inferred: tuple[str, ...]
    n_missing: int


@public
def read_file(
    path: Any,
    *,
    y_true: Any = None,
    y_proba: Any = None,
    sample_weight: str | None = None,
    classes: Sequence[Any] | None = None,
    from_logits: bool = False,
    missing: str = "error",
    format: str | None = None,
    progress: bool | None = None,
) -> FileArrays:
    """Read labels and predictions from files into memory.

    For what needs the rows more than once: intervals, comparisons, recalibration. The columns are
    found as by `evaluate_file`, which needs no memory for the rows.

    Parameters
    ----------
    path : str, path or list of these
        A Parquet, CSV, JSONL, Arrow or NPZ file, a folder, or a pattern such as
        ``"day-*.parquet"``. Several files are one set of rows.
    y_true : str or list of str, optional
        Column of labels, or one column of soft labels for each class. By default the column with
        a usual name, such as ``label``; two candidates are an error.
    y_proba : str or list of str, optional
        Column of predictions (numbers, or lists with one number for each class), or one column
        for each class. By default found by its usual name.
    sample_weight : str, optional
        Column of weights.
    classes : sequence, optional
        The labels in the order of the columns of predictions; of a binary problem, the negative
        and the positive label.
    from_logits : bool, default False
        Whether the predictions are logits.
    missing : {"error", "drop"}, default "error"
        What to do with rows in which a prediction, label or weight is missing.
    format : {"parquet", "csv", "jsonl", "arrow", "npz"}, optional
        The format of the files, where their names do not say.
    progress : bool, optional
        Whether to show the number of rows read; by default on a terminal.

    Returns
    -------
    FileArrays
        ``y_true`` (n,) or (n, k), with labels as class indices; ``y_proba`` (n,) or (n, k);
        ``sample_weight`` (n,) or None; ``class_names``; ``inferred``, what was found out about
        the files; ``n_missing``, the number of dropped rows.

    Raises
    ------
    InputError
        If a file cannot be read, or a column is not found. Values are checked by what is done with
        them.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import calibrant as cal
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "answers.jsonl"
    >>> _ = file.write_text('{"label": 0, "p": 0.2}\\n{"label": 1, "p": 0.7}\\n')
    >>> rows = cal.read_file(file)
    >>> rows.y_proba
    array([0.2, 0.7])
    >>> rows.inferred
    ("y_true is the column 'label', by its name", "y_proba is the column 'p', by name")
    """
    request = ReadRequest(
        path, y_true, y_proba, sample_weight, classes, check_bool(from_logits),
        check_missing(missing), format,
    )  # fmt: skip
    files = _file_rows(request)
    with RowProgress(files.n_bytes, show=progress) as shown:
        batches = [batch for piece in over_pieces(files, list, shown) for batch in piece]
    rows = _combine(files, batches)
    return FileArrays(
        rows.y_true,
        rows.y_proba,
        rows.sample_weight,
        rows.chosen.class_names,
        files.messages,
        rows.n_missing,
    )


def _file_rows(request: ReadRequest) -> FileRows:
    return file_rows(
        request.path, y_true=request.y_true, y_proba=request.y_proba,
        sample_weight=request.sample_weight, by=list(request.others) or None,
        classes=request.classes, from_logits=request.from_logits, missing=request.missing,
        format=request.format,
    )  # fmt: skip


def _require_others(request: ReadRequest) -> None:
    if request.others:
        reader = open_reader(find_files(request.path, request.format)[0])
        for name, option in request.others.items() if reader.names else ():
            require(reader, option, name)


def _check_values(batch: Batch, from_logits: bool) -> None:
    """An error with the place of the first row that no measure can take."""
    if not batch.n:
        return
    samples = batch.samples(from_logits, None)
    row = first_bad_row(samples, samples.n)
    if row < samples.n:
        number = batch.chunk.first_row + int(row if batch.rows is None else batch.rows[row])
        place = place_of(batch.file, number, batch.chunk.line)
        raise InputError(f"{place}: {explain(samples, row, shown=number)}")


def _combine(rows: FileRows, batches: list[Batch]) -> Rows:
    n_missing = sum(batch.n_missing for batch in batches)
    positions = list(_positions(batches))
    nonempty = [batch for batch in batches if batch.n]
    if not nonempty:
        what = f"{n_missing} rows, and in each something is missing" if n_missing else "no rows"
        raise InputError(f"{rows.called} {what}: there is nothing to measure")
    first = nonempty[0]
    for batch in nonempty:
        if batch.y_proba.shape[1:] != first.y_proba.shape[1:]:
            raise InputError(
                f"y_proba has {_width(first)} columns in {first.file}, {_width(batch)} in "
                f"{batch.file}"
            )
    weights = [batch.sample_weight for batch in nonempty if batch.sample_weight is not None]
    return Rows(
        np.concatenate([batch.y_true for batch in nonempty]),
        np.concatenate([batch.y_proba for batch in nonempty]),
        np.concatenate(weights) if weights else None,
        {
            name: np.concatenate([_texts(batch.by[j]) for batch in nonempty])
            for j, name in enumerate(rows.chosen.by)
        },
        np.concatenate(positions),
        rows.chosen,
        len(rows.files),
        n_missing,
        (*rows.messages, *dict.fromkeys(batch.taken for batch in nonempty if batch.taken)),
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
