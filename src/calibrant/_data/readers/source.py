"""FileRows: the rows of some files, read as often as needed and never kept in memory."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib import import_module
from typing import Any

from calibrant._core.errors import InputError
from calibrant._core.messages import setting
from calibrant._data.readers.batches import Batch, batch_of
from calibrant._data.readers.chunks import Reader
from calibrant._data.readers.columns import (
    Answers,
    ColumnMapping,
    check_no_more_classes,
    choose_columns,
    require,
)
from calibrant._data.readers.find import HELD, LOGS, File, Print
from calibrant._data.readers.folders import with_folders
from calibrant._data.readers.log_columns import check_one_run, columns_of
from calibrant._data.readers.recognise import find_files
from calibrant._data.readers.written import PLAIN, Written

# The module and the class of each format.
_READERS = {
    "parquet": ("parquet", "ParquetReader"),
    "csv": ("csv", "CsvReader"),
    "jsonl": ("jsonl", "JsonlReader"),
    "arrow": ("arrow", "ArrowReader"),
    "npz": ("npz", "NpzReader"),
    "json": ("records", "JsonListReader"),
    "lm-eval": ("lm_eval", "LmEvalReader"),
    "inspect": ("inspect_log", "InspectReader"),
    **dict.fromkeys(("excel", "stata", "sas", "r"), ("tables", "TableReader")),
}
# Numbers of a chunk: enough to outweigh what a chunk costs, few enough to be summed in one thread.
CHUNK = 1 << 19

Piece = tuple[Reader, Any]


def open_reader(file: File) -> Reader:
    """The reader of a file's format, imported when it is needed."""
    # What is in memory once need not be parsed again for every pass.
    reader = _in_memory(file, file.fingerprint()) if file.format in HELD else _opened(file)
    return with_folders(reader)


def _opened(file: File) -> Reader:
    module, name = _READERS[file.format]
    reader: Reader = getattr(import_module(f"calibrant._data.readers.{module}"), name)(file)
    return reader


@lru_cache(maxsize=64)
def _in_memory(file: File, print_: Print) -> Reader:
    return _opened(file)


@dataclass(frozen=True, eq=False)
class FileRows:
    """Files, the columns that are meant in them, and what they looked like at the start."""

    files: tuple[File, ...]
    prints: tuple[Print, ...]
    chosen: ColumnMapping
    chunk_rows: int
    # Whether predictions are rows: several columns, or lists.
    multiclass: bool
    # Files known to hold no rows.
    n_empty: int
    # Predictions of several precisions are taken as doubles, as they would be in one array.
    as_double: bool
    missing: str
    messages: tuple[str, ...]
    # How predictions are written.
    written: Written = PLAIN

    @property
    def called(self) -> str:
        return _called(self.files)

    @property
    def n_bytes(self) -> int:
        return sum(print_[0] for print_ in self.prints)

    def pieces(self) -> Iterator[Piece]:
        """Parts that can be read apart from each other, in order."""
        fields = self.chosen.fields()
        for file in self.files:
            reader = open_reader(file)
            if reader.names:
                yield from ((reader, piece) for piece in reader.pieces(fields))

    def batches(self, piece: Piece) -> Generator[Batch, None, None]:
        """The rows of a piece."""
        reader, within = piece
        fields = self.chosen.fields()
        with closing(reader.chunks(within, fields, self.chunk_rows)) as chunks:
            for chunk in chunks:
                yield batch_of(
                    reader.file, chunk, self.chosen, missing=self.missing,
                    as_double=self.as_double, written=self.written,
                )  # fmt: skip

    def check_unchanged(self) -> None:
        """An error if a file is no longer what it was."""
        for file, before in zip(self.files, self.prints, strict=True):
            if file.fingerprint() != before:
                raise InputError(
                    f"{file} changed while it was read. Measure a copy that nobody writes to; or "
                    f"with {setting('exact', False)}, which reads once"
                )


def file_rows(
    path: Any,
    *,
    y_true: Any = None,
    y_proba: Any = None,
    sample_weight: Any = None,
    votes: Any = None,
    by: Any = None,
    classes: Sequence[Any] | None = None,
    from_logits: bool = False,
    missing: str = "error",
    format: str | None = None,
    written: Written = PLAIN,
    answers: Answers | None = None,
    filter: str | None = None,
) -> FileRows:
    """The rows that are meant: files are found, and columns chosen by the first that has any."""
    files = [replace(file, filter=filter) for file in find_files(path, format)]
    of_logs: tuple[str, ...] = ()
    if any(file.format in LOGS for file in files):
        logs = list(map(open_reader, files))
        check_one_run(logs)
        if answers is None:
            y_true, y_proba, of_logs = columns_of(logs, y_true, y_proba)
    if filter is not None and any(file.format != "lm-eval" for file in files):
        raise InputError("filter is of logs of lm-evaluation-harness, and these files are none")
    prints = tuple(file.fingerprint() for file in files)
    chosen: ColumnMapping | None = None
    precisions: set[str] = set()
    messages: dict[str, None] = {}
    widths, n_empty = [1], 0
    for file in files:
        reader = open_reader(file)
        n_empty += reader.n_rows == 0
        if not reader.names:
            continue
        if chosen is None:
            chosen = choose_columns(
                reader, y_true, y_proba, sample_weight, by, classes, from_logits, answers,
                written.as_text, votes,
            )  # fmt: skip
        else:
            _require_all(reader, chosen)
        precisions |= {reader.precision(name) for name in chosen.y_proba.names}
        widths.append(sum(reader.width(name) for name in chosen.y_proba.names))
        messages |= dict.fromkeys(reader.messages)
    if chosen is None:
        raise InputError(f"{_called(files)} no rows: there is nothing to measure")
    return FileRows(
        tuple(files),
        prints,
        chosen,
        max(1, CHUNK // max(widths)),
        chosen.y_proba.stacked or max(widths) > 1,
        n_empty,
        len(precisions) > 1,
        missing,
        (*messages, *of_logs, *chosen.messages, *written.messages),
        written,
    )


def _called(files: Sequence[File]) -> str:
    return f"{files[0]} holds" if len(files) == 1 else f"the {len(files)} files hold"


def _require_all(reader: Reader, chosen: ColumnMapping) -> None:
    weights = () if chosen.sample_weight is None else (chosen.sample_weight,)
    votes = () if chosen.votes is None else (chosen.votes,)
    for argument, names in (
        ("y_true", chosen.y_true.names),
        ("y_proba", chosen.y_proba.names),
        ("sample_weight", weights),
        ("votes", votes),
        ("by", chosen.by),
    ):
        for name in names:
            require(reader, argument, name)
    for spec in (chosen.y_true, chosen.y_proba):
        check_no_more_classes(reader, spec)
