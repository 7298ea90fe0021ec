"""Files of records that are known by what they hold: lists, and logs of evaluations."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from calibrant._core.errors import InputError
from calibrant._core.messages import setting
from calibrant._data.readers.find import File, list_files, opened

# The first bytes by which a file of records is recognised, and the most that its first record has.
HEAD, FIRST = 1 << 16, 1 << 26
_LM_EVAL = ("doc_id", "target", "filtered_resps")
_INSPECT = ("version", "status", "eval")
_HLE = b'"judge_response"'


def recognise_format(file: File) -> str:
    """The format of a file of records, recognised by its content: "json" (a list), "lm-eval",
    "inspect" or "hle" (logs, by their fields), else "jsonl".
    """
    with opened(file) as (stream, _):
        head = stream.read(HEAD).removeprefix(b"\xef\xbb\xbf").lstrip()
        if head.startswith(b"["):
            return "json"
        if all(f'"{name}"'.encode() in head for name in _INSPECT) and not _first_record(head):
            return "inspect"
        # A record that has the field itself is a row, and not many rows by id.
        if _HLE in head and head.startswith(b"{") and "judge_response" not in _first_record(head):
            return "hle"
        if b'"doc_id"' not in head and b'"eval"' not in head:
            return "jsonl"
        first = head.partition(b"\n")
        text = first[0] if first[1] else head + stream.readline(FIRST)
    record = _first_record(text)
    if all(name in record for name in _LM_EVAL):
        return "lm-eval"
    return "inspect" if all(name in record for name in _INSPECT) else "jsonl"


def _first_record(text: bytes) -> dict[str, Any]:
    """The record in the first line of a text; {} if that line is not a record."""
    return _parse_record(text.partition(b"\n")[0])


def _parse_record(text: bytes) -> dict[str, Any]:
    """Parse a text into a record; {} if it is not a record."""
    try:
        record = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return record if isinstance(record, dict) else {}


def find_files(path: Any, format: str | None = None) -> list[File]:
    """The files that a path stands for, with their formats: `format` if it is given, else the
    format of their names; files of records are recognised by their content.
    """
    files = list_files(path, format)
    if format is not None:
        return files
    known = [
        replace(file, format=recognise_format(file)) if file.format == "jsonl" else file
        for file in files
    ]
    if len(known) == 1 and known[0].format == "jsonl":
        _check_not_columns(known[0])
    return known


def _check_not_columns(file: File) -> None:
    """Raise InputError if a file is one record of columns, {"label": [0, 1], "p": [0.4, 0.5]},
    which would be read as one row.
    """
    with opened(file) as (stream, _):
        line = stream.readline(FIRST).removeprefix(b"\xef\xbb\xbf")
        more = stream.read(HEAD)
        record = _parse_record(line)
        if not record and line.lstrip().startswith(b"{"):  # of several lines, as for a reader
            record, more = _parse_record(line + more + stream.read(FIRST)), b""
    columns = [] if more.strip() else list(record.values())
    if len(columns) > 1 and _are_columns(columns):
        raise InputError(
            f"{file} is one record of columns, {{name: [...], ...}}, but each line must be the "
            "record of one row: write it with pandas.DataFrame(...).to_json(file, "
            f"orient='records', lines=True). If it is one row, pass {setting('format', 'jsonl')}"
        )


def _are_columns(columns: list[Any]) -> bool:
    """Whether all values are lists of one length above 1, or records with the same keys (the form
    in which pandas writes columns).
    """
    if all(isinstance(column, list) for column in columns):
        return len(columns[0]) > 1 and len({len(column) for column in columns}) == 1
    if all(isinstance(column, dict) for column in columns):
        return len(columns[0]) > 1 and len({tuple(column) for column in columns}) == 1
    return False
