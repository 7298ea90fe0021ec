"""FileRows: the rows of some files, read as often as needed and never kept in memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import lru_cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any
from urllib.parse import unquote

import numpy as np

from calibrant._core.errors import InputError, nearest
from calibrant._core.messages import name_of, setting, worded
from calibrant._core.texts import message
from calibrant._data.readers.batches import Batch, batch_of
from calibrant._data.readers.chunks import (
    Chunk,
    Column,
    Field,
    Names,
    Reader,
    not_a_number,
    plain_number,
)
from calibrant._data.readers.columns import (
    ColumnMapping,
    ReadRequest,
    check_no_more_classes,
    choose_columns,
    require,
)
from calibrant._data.readers.confidences import note_on_forms, note_on_unanswered
from calibrant._data.readers.find import LOGS, READ_WHOLE, File, Fingerprint
from calibrant._data.readers.lm_eval import task_of
from calibrant._data.readers.recognise import find_files
from calibrant._data.readers.records import (
    NoConfidence,
    check_has_confidence,
    check_one_run,
    log_columns,
    tasks_of,
)
from calibrant._data.readers.vote_rows import check_vote_columns
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
    "hle": ("hle", "HleReader"),
    **dict.fromkeys(("excel", "stata", "sas", "r"), ("tables", "TableReader")),
}
# The most predictions in a chunk: enough to outweigh its cost, few enough for one thread.
CHUNK = 1 << 19

Piece = tuple[Reader, Any]


def open_reader(file: File) -> Reader:
    """The reader for a file, by its format, with the columns that the names of its folders add. The
    reader of a format that is read as a whole stays in memory, so that the file is not parsed again
    for every pass.
    """
    reader = (
        _cached_reader(file, file.fingerprint()) if file.format in READ_WHOLE else _new_reader(file)
    )
    return with_folders(reader)


def _new_reader(file: File) -> Reader:
    """Make a reader of the class for the file's format, whose module is imported only now."""
    module, name = _READERS[file.format]
    if file.format == "csv" and find_spec("pyarrow") is None:
        name = "PlainCsvReader"
    return getattr(import_module(f"calibrant._data.readers.{module}"), name)(file)


@lru_cache(maxsize=64)
def _cached_reader(file: File, fingerprint: Fingerprint) -> Reader:
    """The reader of a file that is read as a whole, cached as long as the file's fingerprint is the
    same.
    """
    return _new_reader(file)


@dataclass(frozen=True, eq=False)
class FileRows:
    """The rows of some files: the columns that are meant, and the files' fingerprints at the start,
    by which a change of a file is noticed.
    """

    files: tuple[File, ...]
    fingerprints: tuple[Fingerprint, ...]
    chosen: ColumnMapping
    chunk_rows: int
    # Whether predictions are (n, k): several columns, or lists.
    multiclass: bool
    # The number of files that are known to hold no rows.
    n_empty: int
    # Whether predictions become float64, because files have them in several precisions.
    as_double: bool
    missing: str
    # What was inferred before the rows were read.
    found: tuple[str, ...]
    # How predictions are written.
    written: Written = PLAIN
    # The fewest rows that the files hold together, according to their footers; some may lack a
    # value.
    n_rows: int = 0
    # How many confidences are written in which form, known after the first pass.
    forms: Counter[str] = field(default_factory=Counter)
    # How to treat answers without a confidence (`REFUSALS`); None: like any missing value.
    refusals: str | None = None

    @property
    def messages(self) -> tuple[str, ...]:
        """What was inferred, and in which forms confidences are written if rows were read."""
        refused = () if self.refusals is None else (note_on_unanswered(self.forms, self.refusals),)
        return (*self.found, *note_on_forms(self.forms), *refused)

    @property
    def called(self) -> str:
        """The files as the beginning of a message, with the verb: "a.csv holds", "the 3 files
        hold".
        """
        return _files_hold(self.files)

    @property
    def n_bytes(self) -> int:
        """The total size of all files in bytes."""
        return sum(fingerprint[0] for fingerprint in self.fingerprints)

    def pieces(self) -> Iterator[Piece]:
        """Yield all pieces of the files in order, each with its reader. Pieces are parts that can
        be read independently of each other.
        """
        fields = self.chosen.fields()
        for file in self.files:
            reader = open_reader(file)
            if reader.names:
                yield from ((reader, piece) for piece in reader.pieces(fields))

    def batches(self, piece: Piece) -> Generator[Batch, None, None]:
        """Yield the rows of a piece in batches of at most `chunk_rows` rows each."""
        reader, within = piece
        fields = self.chosen.fields()
        with closing(reader.chunks(within, fields, self.chunk_rows)) as chunks:
            for chunk in chunks:
                yield batch_of(
                    chunk,
                    self.chosen,
                    missing=self.missing,
                    as_double=self.as_double,
                    written=self.written,
                    refusals=self.refusals,
                )

    def check_unchanged(self) -> None:
        """Raise InputError if a file has changed since the start."""
        for file, before in zip(self.files, self.fingerprints, strict=True):
            if file.fingerprint() != before:
                raise InputError(
                    f"{file} changed while it was read. Measure a copy that no process writes to; "
                    f"or use {setting('exact', False)}, which reads the file once"
                )


def file_rows(request: ReadRequest) -> FileRows:
    """The rows that a request stands for: find the files, choose the columns by the first file that
    has any, and check that the other files have them too.
    """
    check_vote_columns(request)
    files, skipped = files_of(request)
    of_logs: tuple[str, ...] = ()
    if any(file.format in LOGS for file in files):
        logs = list(map(open_reader, files))
        check_one_run(logs)
        if request.answers is None:
            y_true, y_proba, of_logs = log_columns(logs, request.labels, request.y_proba)
            request = replace(request, y_true=y_true, y_proba=y_proba, counts=None)
    for name in ("filter", "acc_norm"):
        if getattr(request, name) is not None and any(f.format != "lm-eval" for f in files):
            raise InputError(
                f"{name_of(name)} is for logs of lm-evaluation-harness, and these files are not"
            )
    fingerprints = tuple(file.fingerprint() for file in files)
    chosen: ColumnMapping | None = None
    precisions: set[str] = set()
    messages: dict[str, None] = {}
    widths, n_empty, n_rows = [1], 0, 0
    for file in files:
        reader = open_reader(file)
        n_empty += reader.n_rows == 0
        n_rows += reader.n_rows or 0
        if not reader.names:
            continue
        if chosen is None:
            chosen = choose_columns(reader, request)
        else:
            _require_all(reader, chosen)
        precisions |= {reader.precision(name) for name in chosen.y_proba.names}
        widths.append(sum(reader.width(name) for name in chosen.y_proba.names))
        messages |= dict.fromkeys(reader.messages)
    if chosen is None:
        raise InputError(message("no_rows", holder=_files_hold(files)))
    if request.refusals == "wrong" and not chosen.answers:
        raise InputError(
            f"{setting('refusals', 'wrong')} needs labels that say whether an answer was right, "
            f"and {chosen.y_true.names[0]!r} does not say so: name a column called correct, give "
            f"{name_of('answer')} and {name_of('gold')}, or exclude refusals with "
            f"{setting('refusals', 'excluded')}"
        )
    if chosen.answers:
        _check_one_model(files, request)
    return FileRows(
        tuple(files),
        fingerprints,
        chosen,
        max(1, CHUNK // max(widths)),
        chosen.y_proba.stacked or max(widths) > 1,
        n_empty,
        len(precisions) > 1,
        request.missing,
        (*skipped, *messages, *of_logs, *chosen.messages, *request.written.messages),
        request.written,
        n_rows,
        refusals=request.refusals,
    )


# Names of columns that name the model of each answer.
_MODEL = ("model", "model_name", "model_id", "llm")


def _check_one_model(files: Sequence[File], request: ReadRequest) -> None:
    """Raise InputError if answers are of several models, by a column whose name says so, and the
    request names that column nowhere. Logs are of one model each.
    """
    given = request.text_columns or ()
    asked = {given} if isinstance(given, str) else set(given)
    for name in _MODEL:
        known: dict[str, None] = {}
        for reader in (open_reader(file) for file in files if file.format not in LOGS):
            field = Field(name, "text")
            if name in asked or name not in reader.names:
                continue
            for chunk in reader.all_chunks([field], CHUNK):
                column = chunk.columns[field]
                assert isinstance(column, Names)
                codes = np.unique(column.codes).tolist()
                known |= dict.fromkeys(str(column.known[code]) for code in codes)
        if len(known) > 1:
            raise _several_models_error(files, name, list(known))


def _several_models_error(files: Sequence[File], column: str, models: list[str]) -> InputError:
    """The error for answers of several models in one set of rows."""
    shown = ", ".join(map(repr, models[:3])) + (", ..." if models[3:] else "")
    compare = worded(
        python=f"cal.compare(..., models={column!r}, ids=..., data=frame)",
        command=f"calibrant compare FILE --model-column {column} --id ID",
    )
    by = setting("by", column)
    by = worded(python=f"{by} (columns={column!r} of read_file)", command=by)
    return InputError(
        f"{_files_hold(files)} answers of {len(models)} models, by the column {column!r} "
        f"({shown}), and a measure of all together describes none of them. Compare them "
        f"({compare}), give a file of one model, or pool them on purpose with {by}"
    )


def files_of(request: ReadRequest) -> tuple[list[File], tuple[str, ...]]:
    """The files of a request, and a note on each task that is left out of several logs: one that
    has no confidence, or that the caller does not want (`task`, `skip`).
    """
    files = [
        replace(file, filter=request.filter, acc_norm=request.acc_norm, half=request.half)
        for file in find_files(request.path, request.format)
    ]
    wanted, unwanted = _names(request.task), _names(request.skip)
    if not all(file.format in LOGS for file in files):
        if wanted or unwanted:
            name = name_of("task" if wanted else "skip")
            raise InputError(f"{name} is for logs of evaluations, and these files are not")
        return files, ()
    kept, notes, known = [], {}, set()
    for file in files:
        try:
            # The name tells the task of a log that cannot be read.
            tasks = (
                {task_of(file.path)} if file.format == "lm-eval" else tasks_of(open_reader(file))
            )
            known |= tasks
            if (wanted and not tasks & wanted) or tasks & unwanted:
                continue
            reader = open_reader(file)
            reader.pieces(())
            if len(files) > 1 and request.y_proba is None and request.answers is None:
                check_has_confidence(reader)
            kept.append(file)
        except NoConfidence as error:
            if len(files) == 1 or tasks & wanted:
                raise
            notes[f"the task {', '.join(sorted(tasks))} is skipped: {error.why}"] = error
    for name in (wanted | unwanted) - known:
        raise InputError(f"no log has the task {name!r}: {nearest(name, sorted(known))}")
    if not kept and notes:
        raise next(iter(notes.values()))
    if not kept:
        raise InputError(f"no log is left: {name_of('skip')} leaves out all of them")
    return kept, tuple(notes)


def _names(given: str | Sequence[str] | None) -> set[str]:
    """The names in an argument that takes one or several."""
    return set() if given is None else {given} if isinstance(given, str) else set(given)


def _files_hold(files: Sequence[File]) -> str:
    """The files as the beginning of a message, with the verb: "a.csv holds", "the 3 files hold"."""
    return f"{files[0]} holds" if len(files) == 1 else f"the {len(files)} files hold"


def _require_all(reader: Reader, chosen: ColumnMapping) -> None:
    """Raise InputError if a file lacks a column that was chosen by an earlier file, or if it has a
    column for a class that the earlier file does not have.
    """
    for argument, names in (
        ("y_true", chosen.y_true.names),
        ("y_proba", chosen.y_proba.names),
        *((argument, (name,)) for argument, name in chosen.numbers.items()),
        ("by", chosen.by),
    ):
        for name in names:
            require(reader, argument, name)
    for spec in (chosen.y_true, chosen.y_proba):
        check_no_more_classes(reader, spec)


# How Hive, Spark and others write that there is no value.
NO_VALUE = "__HIVE_DEFAULT_PARTITION__"


def with_folders(reader: Reader) -> Reader:
    """The reader with additional columns: those in the names of its file's folders (day=2024-01-31)
    that the file itself does not have.
    """
    in_folders = folder_columns(reader.file)
    own = {name: value for name, value in in_folders.items() if name not in reader.names}
    return FolderReader(reader, own) if own and reader.names else reader


def folder_columns(file: File) -> dict[str, str | None]:
    """The columns that the folders above a file name as NAME=VALUE, with their values. If two
    folders have one name, the inner one counts; the value is None for Hive's mark of a missing
    value.
    """
    pairs = (part.partition("=") for part in file.path.parts[:-1])
    return {
        unquote(name): None if value == NO_VALUE else unquote(value)
        for name, sign, value in pairs
        if sign and name
    }


class FolderReader(Reader):
    """A reader that adds columns with one value for all rows, from the names of folders."""

    def __init__(self, inner: Reader, own: dict[str, str | None]) -> None:
        """Store the reader of the file, and the values of the added columns by name (`own`)."""
        self.inner, self._own = inner, own
        self.file = inner.file
        self.names = (*inner.names, *own)
        self.n_rows = inner.n_rows
        self.messages = inner.messages

    def has(self, name: str) -> bool:
        """Whether the folders or the file have a column of this name."""
        return name in self._own or self.inner.has(name)

    def width(self, name: str) -> int:
        """The number of numbers per row of a column: 1, or the length of its lists."""
        return 1 if name in self._own else self.inner.width(name)

    def precision(self, name: str) -> str:
        """The precision of a column's numbers: "half", "single" or "double"."""
        return "double" if name in self._own else self.inner.precision(name)

    def pieces(self, fields: Sequence[Field]) -> Iterable[Any]:
        """The pieces of the file: parts that can be read independently of each other."""
        return self.inner.pieces(self._file_fields(fields))

    def chunks(
        self, piece: Any, fields: Sequence[Field], rows: int
    ) -> Generator[Chunk, None, None]:
        """Yield the chunks of the file, with the columns of the folders added."""
        mine = [field for field in fields if field.name in self._own]
        with closing(self.inner.chunks(piece, self._file_fields(fields), rows)) as chunks:
            for chunk in chunks:
                same = {field: self._column(field, chunk.n_rows) for field in mine}
                yield replace(chunk, columns=chunk.columns | same)

    def _file_fields(self, fields: Sequence[Field]) -> list[Field]:
        """Those of the fields that are columns of the file itself."""
        return [field for field in fields if field.name not in self._own]

    def _column(self, field: Field, n: int) -> Column | Names:
        """A column of n rows that all have the folder's value, as a name or a number: whichever the
        field's role needs.
        """
        value = self._own[field.name]
        number = None if value is None else plain_number(value)
        if field.role in ("text", "name") or (field.role == "label" and number is None):
            return Names(np.zeros(n, dtype=np.intp), [value])
        if value is not None and number is None:
            raise not_a_number(str(self.file), field, value)
        gaps = np.ones(n, dtype=np.bool_) if value is None else None
        return Column(np.full(n, 0.0 if number is None else number), gaps)
