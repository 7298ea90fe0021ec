"""Records in memory, read as columns: lists of records, and logs of evaluations."""

from __future__ import annotations

import json
from collections.abc import Generator, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from calibrant._core.errors import InputError
from calibrant._core.messages import setting, settings
from calibrant._data.readers.chunks import Chunk, Field, Location, Reader
from calibrant._data.readers.find import LOGS, File, opened
from calibrant._data.readers.json_values import not_json
from calibrant._data.readers.jsonl import (
    KINDS,
    FieldReader,
    Record,
    flatten,
    record_columns,
    whole_number,
)


class NoConfidence(InputError):
    """A log of a task that has no confidence to measure; `why` says so in a clause.

    Among logs of several tasks such a task is skipped, where a damaged file is an error.
    """

    def __init__(self, message: str, why: str = "") -> None:
        """Store the message, and the clause."""
        super().__init__(message)
        self.why = why


@dataclass(frozen=True)
class Pair:
    """Two columns of a log that belong together: labels, and the predictions of these labels.

    Files of one evaluation are all read by the same pair, the first that all have with one `width`.
    """

    y_true: str
    y_proba: str
    width: int = 1


class RecordReader(FieldReader):
    """Records in memory as a file's columns; `places` are their lines, or texts that say where they
    are.
    """

    # Pairs of columns of labels and predictions; the first that fits is taken by default.
    pairs: tuple[Pair, ...] = ()
    # Columns of a log by which rows are sliced, clustered and identified; None if there is none.
    slices: str | None = None
    clusters: str | None = None
    ids: str | None = None

    def __init__(self, file: File, records: list[Record], places: Sequence[int | str]) -> None:
        """Store the records of a file, and the place of each: its line, or a text."""
        self.file = file
        self.records, self.places = records, places
        self._head = {}
        for record in records:
            flatten(record, "", self._head)
        self.names = tuple(self._head)
        self.n_rows = len(records)

    def pieces(self, fields: Sequence[Field]) -> Iterable[Any]:
        """One piece, None, for all records; an empty list if there are no records."""
        return [None] if self.records else []

    def chunks(
        self, piece: Any, fields: Sequence[Field], rows: int
    ) -> Generator[Chunk, None, None]:
        """Yield the columns of the records in chunks of at most `rows`; the only piece is None."""
        n_bytes = self.file.size
        for start in range(0, len(self.records), rows):
            records = self.records[start : start + rows]
            location = Location(self.file, start, self.places.__getitem__)
            columns = record_columns(location, fields, records)
            yield Chunk(location, len(records), n_bytes, columns)
            n_bytes = 0


class JsonListReader(RecordReader):
    """A file that is one JSON list of records."""

    def __init__(self, file: File) -> None:
        """Read the whole list into memory."""
        records, lines = _list_of_records(file)
        super().__init__(file, records, lines)
        self.messages = ("the file is a JSON list of records",)


def json_of(file: File) -> Any:
    """The value of a file that is one JSON document; raise InputError if it is none."""
    text = _text_of(file)
    try:
        return json.loads(text, parse_int=whole_number)
    except json.JSONDecodeError as error:
        raise _not_json_error(file, error) from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"{file} is not JSON: {error}") from None


def _text_of(file: File) -> str:
    """The whole text of a file, uncompressed; raise InputError unless it is UTF-8."""
    with opened(file) as (stream, _):
        content = stream.read().removeprefix(b"\xef\xbb\xbf")
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise InputError(f"{file}, line {line} is not UTF-8 text: save the file as UTF-8") from None


def _list_of_records(file: File) -> tuple[list[Record], list[int]]:
    """Parse a file that is a JSON list: the records, and the line in which each of them begins."""
    text = _text_of(file)
    decoder = json.JSONDecoder(parse_int=whole_number)
    records: list[Record] = []
    lines: list[int] = []
    at, line, counted = _skip_blanks(text, 0), 1, 0
    if text[at : at + 1] != "[":
        raise InputError(f"{file} is not a JSON list of records: it must begin with [")
    at = _skip_blanks(text, at + 1)
    while text[at : at + 1] != "]":
        line, counted = line + text.count("\n", counted, at), at
        try:
            record, at = decoder.raw_decode(text, at)
        except json.JSONDecodeError as error:
            raise _not_json_error(file, error) from None
        except RecursionError:
            raise InputError(f"{file}, line {line} is nested too deeply") from None
        if not isinstance(record, dict):
            raise InputError(
                f"{file}, line {line}: the list holds a {KINDS[type(record)]}, but each entry must "
                "be one record, {...}"
            )
        records.append(record)
        lines.append(line)
        at = _skip_blanks(text, at)
        if text[at : at + 1] == ",":
            at = _skip_blanks(text, at + 1)
        elif text[at : at + 1] != "]":
            raise _not_json_error(file, json.JSONDecodeError("Expecting ',' delimiter", text, at))
    if text[_skip_blanks(text, at + 1) :]:
        raise _not_json_error(
            file, json.JSONDecodeError("Extra data", text, _skip_blanks(text, at + 1))
        )
    return records, lines


def _skip_blanks(text: str, at: int) -> int:
    """The position of the first character from `at` on that is not blank."""
    while at < len(text) and text[at] in " \t\r\n":
        at += 1
    return at


def _not_json_error(file: File, error: json.JSONDecodeError) -> InputError:
    """The error for a file that is not JSON, with the line."""
    return InputError(f"{file}, line {error.lineno} {not_json(error)}")


def log_columns(
    readers: Sequence[Reader], y_true: Any, y_proba: Any
) -> tuple[Any, Any, tuple[str, ...]]:
    """The columns of labels and of predictions in logs of evaluations, and notes on what was
    chosen.

    Columns that the caller names stay; the others are those of the first pair that all logs have.
    If some files are no logs, the arguments are returned unchanged, with no notes.
    """
    logs = [reader for reader in readers if reader.file.format in LOGS and reader.names]
    if (y_true is not None and y_proba is not None) or len(logs) < len(readers):
        return y_true, y_proba, ()
    shared = [pair for pair in pairs_of(logs[0]) if all(pair in pairs_of(log) for log in logs)]
    chosen = [
        pair for pair in shared if y_proba in (None, pair.y_proba) and y_true in (None, pair.y_true)
    ]
    if not chosen and y_proba is not None:
        # A confidence by another name goes with the correctness beside it.
        y_true = _correctness_beside(logs[0], str(y_proba)) if y_true is None else y_true
        return y_true, y_proba, () if y_true is None else (_note_of_columns(y_true, y_proba),)
    if not chosen:
        raise _no_confidence_error(logs[0], y_true)
    if len(chosen) > 1 and logs[0].file.format == "inspect":
        options = " or ".join(settings(y_true=p.y_true, y_proba=p.y_proba) for p in chosen)
        raise InputError(f"{logs[0].file} has several confidences: choose one with {options}")
    pair = chosen[0]
    of_choices = logs[0].file.format == "lm-eval" and pair.y_proba == "confidence"
    why = _top_choice_note(logs) if of_choices and y_proba is None else ()
    return pair.y_true, pair.y_proba, (_note_of_columns(pair.y_true, pair.y_proba), *why)


def _correctness_beside(log: Reader, y_proba: str) -> str | None:
    """The column that says whether the answer was right, for a column of confidences in a scorer's
    metadata: "SCORER.correct" of the same scorer. None if there is none. The scorer's name may have
    dots in it.
    """
    parts = y_proba.split(".")
    names = (".".join([*parts[:n], "correct"]) for n in range(len(parts) - 1, 0, -1))
    return next((name for name in names if log.has(name)), None)


def check_one_run(readers: Sequence[Reader]) -> None:
    """Raise InputError if a document of an evaluation occurs twice, as when the evaluation was run
    twice. Such rows are not more data, and intervals would be too narrow.
    """
    seen: dict[tuple[Any, ...], tuple[Any, Any]] = {}
    for reader in readers:
        log = _log_reader(reader)
        if reader.file.format not in LOGS or log.ids is None:
            continue
        for record, place in zip(log.records, log.places, strict=True):
            key = record[log.ids], record.get("filter"), record.get("model")
            if key in seen:
                raise _seen_twice_error(record[log.ids], seen[key], (reader.file, place))
            seen[key] = reader.file, place


def _seen_twice_error(name: str, first: tuple[Any, Any], second: tuple[Any, Any]) -> InputError:
    """The error for a document that occurs twice; `first` and `second` are pairs of a file and a
    place in it.
    """
    both, where = f"{first[0]} and in {second[0]}", "choose the files of one run"
    if first[0] == second[0]:
        places = f"{_place_text(first[1])} and {_place_text(second[1])}"
        both, where = f"{first[0]} twice, at {places}", "keep one run"
    return InputError(
        f"{name!r} is in {both}: several runs of one evaluation repeat the same rows, so {where}. "
        "To compare runs of several models, use calibrant compare"
    )


def _place_text(place: Any) -> str:
    """The place of a record in words: "line 3" for a line number; a text stays."""
    return place if isinstance(place, str) else f"line {place}"


def _note_of_columns(y_true: str, y_proba: str) -> str:
    """The note that says which columns were chosen as labels and predictions."""
    return f"y_true is {y_true!r}, y_proba is {y_proba!r}"


def _top_choice_note(logs: Sequence[Reader]) -> tuple[str, ...]:
    """The note that says why documents of multiple choice are judged by their likeliest choice
    alone: they have different numbers of choices, or their targets do not name one choice.
    """
    widths: set[int] = set().union(*(getattr(_log_reader(log), "widths", ()) for log in logs))
    if len(widths) > 1:
        return (
            f"documents have {min(widths)} to {max(widths)} choices, so each is evaluated by its "
            "likeliest one: its probability, and whether it is right",
        )
    return (
        "targets do not name one choice each, so each document is evaluated by its likeliest "
        "choice, and acc says whether it is right",
    )


def _log_reader(reader: Any) -> Any:
    """The reader of the log itself, if `reader` is one that adds columns named by folders to it."""
    return getattr(reader, "inner", reader)


def pairs_of(reader: Any) -> tuple[Pair, ...]:
    """The pairs of columns of a log, labels with predictions; () for any other file."""
    return getattr(_log_reader(reader), "pairs", ())


def _no_confidence_error(reader: Reader, y_true: Any) -> InputError:
    """The error for a log in which no column has a usual name of a confidence; `y_true` is the
    column of labels that the user named, or None.
    """
    shown = [name for name in reader.names if name not in ("id", "sample", "epoch")][:30]
    what = "" if y_true is None else f" beside {y_true!r}"
    return NoConfidence(
        f"{reader.file}: no score{what} has a confidence in its metadata under a usual name. Name "
        f"it, such as {setting('y_proba', 'SCORER.metadata.KEY')}. The columns are "
        f"{', '.join(map(repr, shown))}",
        "no score has a confidence in its metadata under a usual name",
    )


def tasks_of(reader: Any) -> set[str]:
    """The tasks of the documents in a log."""
    return {str(record.get("task")) for record in _log_reader(reader).records}


def check_has_confidence(reader: Reader) -> None:
    """Raise NoConfidence if a log has no pair of columns by usual names."""
    if reader.names and not pairs_of(reader):
        raise _no_confidence_error(reader, None)
