"""Logs of Inspect AI: `.eval` files (zipped JSON) and `.json`, a record for each sample and epoch.

Each scorer's value says whether the answer was right; its metadata may say how sure the model was.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import struct
import zipfile
import zlib
from collections.abc import Iterator
from typing import Any

from calibrant._core.errors import InputError, counted
from calibrant._core.messages import setting
from calibrant._core.optional import need
from calibrant._data.readers.columns import USUAL
from calibrant._data.readers.find import File, unreadable
from calibrant._data.readers.jsonl import Record, whole_number
from calibrant._data.readers.records import Pair, RecordReader, json_of

KIND = "Inspect AI log"
# How Inspect's own value_to_float reads scores.
_VALUES = {"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0}
_WORDS = {"yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}
# Usual names of a confidence in a score's metadata or value; and of the correctness, if the value
# is a record.
CONFIDENCE = (*USUAL["y_proba"], "conf", "p_true", "stated_confidence", "verbalized_confidence")
CORRECT = ("score", "correct", "is_correct", "correctness", "accuracy")
# Names of the members of a log that are samples.
_SAMPLE = re.compile(r"samples/.*\.json", re.DOTALL)
_ZSTD = 93
# Columns of the log itself; a scorer with such a name is renamed.
_OWN = ("id", "sample", "epoch", "task", "model", "metadata")
# Bytes that a sample may have, unpacked: only one at a time is in memory.
LARGEST = 1 << 26
# The longest text or list that is kept; and how many characters of a longer text are shown.
LONG, SHOWN = 4096, 200


class InspectReader(RecordReader):
    """A log as columns: id, epoch, sample, task, model, and of every scorer correct, value,
    answer and metadata.
    """

    slices, ids = "task", "id"

    def __init__(self, file: File) -> None:
        """Read the whole log into memory, a record for each sample and epoch."""
        rows, again = _read_rows(file)
        records, places = [record for record, _ in rows], [place for _, place in rows]
        super().__init__(file, records, places)
        epochs = len({str(record["epoch"]) for record in records})
        self.clusters = "sample" if epochs > 1 else None
        self.pairs = _pairs(records)
        self.messages = (
            f"{KIND}, recognised by its fields",
            "scores C, I, P and N are 1, 0, 0.5 and 0, as in Inspect",
            *([f"samples were answered in {epochs} epochs"] if epochs > 1 else []),
            *(
                [f"{counted(again, 'sample')} logged more than once: the last entry counts"]
                if again
                else []
            ),
            *_partial_score_notes(records),
        )


def _partial_score_notes(records: list[Record]) -> list[str]:
    """A note for each scorer with a numeric score between 0 and 1, which need not mean that an
    answer is partly right.
    """
    found: dict[str, float] = {}
    for record in records:
        for name, score in _scores(record):
            value = score["correct"]
            is_letter = isinstance(score["value"], str)
            if isinstance(value, float) and 0.0 < value < 1.0 and not is_letter:
                found.setdefault(name, value)
    return [
        f"{name} has scores between 0 and 1, such as {value:.6g}: each is read as the probability "
        "that the answer is right"
        for name, value in found.items()
    ]


def _scores(record: Record) -> Iterator[tuple[str, Record]]:
    """Yield the name and the score of each scorer in a row made by `_columns`."""
    for name, content in record.items():
        if name not in _OWN and isinstance(content, dict):
            yield name, content


def _place(sample: Record) -> str:
    """The place of a sample in words: its id and epoch."""
    return f"sample {sample.get('id')}, epoch {sample.get('epoch')}"


def _columns(evaluation: Record, sample: Record) -> Record:
    """The row for a sample, as a record: id, sample, epoch, task, model, metadata if there is any,
    and a record for each scorer. `evaluation` is the log's own record, with task and model.
    """
    task, number = str(evaluation.get("task", "")), sample.get("id")
    out: Record = {
        "id": f"{task}/{number}/{sample.get('epoch')}",
        "sample": f"{task}/{number}",
        "epoch": sample.get("epoch"),
        "task": task,
        "model": None if evaluation.get("model") is None else str(evaluation["model"]),
    }
    metadata = sample.get("metadata")
    if isinstance(metadata, dict) and metadata:
        out["metadata"] = metadata
    scores = sample.get("scores")
    for scorer, score in (scores if isinstance(scores, dict) else {}).items():
        if isinstance(score, dict):
            out[f"{scorer}_scorer" if scorer in _OWN else str(scorer)] = _score(score)
    return {name: _without_long_parts(value) for name, value in out.items()}


def _without_long_parts(value: Any) -> Any:
    """A value without long parts, which may be whole transcripts: a long text becomes its beginning
    and a hash, a long list None.
    """
    if isinstance(value, str) and len(value) > LONG:
        digest = hashlib.sha256(value.encode("utf-8", "surrogatepass")).hexdigest()[:16]
        return f"{value[:SHOWN]}... ({len(value):,} characters, {digest})"
    if isinstance(value, dict):
        return {key: _without_long_parts(each) for key, each in value.items()}
    if isinstance(value, list):
        return None if len(value) > LONG else [_without_long_parts(each) for each in value]
    return value


def _score(score: Record) -> Record:
    """A scorer's score as a record: correct (a number), value (unchanged), answer, and metadata if
    there is any.
    """
    value = score.get("value")
    inner = value
    if isinstance(value, dict):
        inner = next((value[key] for key in CORRECT if key in value), None)
    return {
        "correct": correctness(inner),
        "value": value,
        "answer": score.get("answer"),
        **({"metadata": score["metadata"]} if isinstance(score.get("metadata"), dict) else {}),
    }


def correctness(value: Any) -> Any:
    """A score as a number, by Inspect's rules; None for NaN and for values that are no score. Text
    that Inspect cannot read stays text, which is an error later.
    """
    if isinstance(value, bool):
        return float(value)
    if isinstance(value, str):
        if value in _VALUES:
            return _VALUES[value]
        return _WORDS.get(value.lower(), value)
    if isinstance(value, float) and math.isnan(value):
        return None
    return value if isinstance(value, int | float) else None


def _pairs(records: list[Record]) -> tuple[Pair, ...]:
    """Pairs of columns (labels, predictions): the correctness of each scorer with each confidence
    in its metadata or value. If no scorer has a confidence, with those in the sample's metadata.
    """
    scorers: dict[str, dict[str, None]] = {}
    of_sample: dict[str, None] = {}
    for record in records:
        of_sample |= _confidences(record.get("metadata"), "metadata")
        for name, score in _scores(record):
            found = scorers.setdefault(name, {})
            for part in ("metadata", "value"):
                found |= _confidences(score.get(part), f"{name}.{part}")
    pairs = [Pair(f"{name}.correct", each) for name, found in scorers.items() for each in found]
    if not pairs:
        pairs = [Pair(f"{name}.correct", each) for name in scorers for each in of_sample]
    return tuple(pairs)


def _confidences(content: Any, prefix: str) -> dict[str, None]:
    """The fields in `content` with a usual name of a confidence, as dotted names that begin with
    the prefix. They are the keys of a dict, which keeps their order; the values are None.
    """
    if not isinstance(content, dict):
        return {}
    return {f"{prefix}.{key}": None for key in content if str(key).lower() in CONFIDENCE}


def _read_rows(file: File) -> tuple[list[tuple[Record, str]], int]:
    """Read the rows of a log, in the order of epochs: pairs of a record and its place in words.
    Also the number of samples that occur again, as when an evaluation is resumed; the last
    occurrence counts.
    """
    if not zipfile.is_zipfile(file.path):
        header_of_json, samples = _from_json(file)
        return [(_columns(header_of_json, sample), _place(sample)) for sample in samples], 0
    try:
        with zipfile.ZipFile(file.path) as log:
            members = [each for each in log.infolist() if _SAMPLE.fullmatch(each.filename)]
            known = set(log.namelist())
            header = next((n for n in ("header.json", "_journal/start.json") if n in known), None)
            if header is None:
                raise _no_log_error(file)
            evaluation = _read_member(file, log, log.getinfo(header)).get("eval")
            evaluation = evaluation if isinstance(evaluation, dict) else {}
            last: dict[tuple[str, str], tuple[Record, str]] = {}
            for each in members:
                sample = _read_member(file, log, each)
                record = _columns(evaluation, sample)
                last[each.filename, record["id"]] = record, _place(sample)
    except zipfile.BadZipFile as error:
        raise InputError(f"{file} is damaged: {error}") from None
    except OSError as error:
        raise unreadable(file, error) from None
    rows = sorted(last.values(), key=lambda row: _epoch_number(row[0]["epoch"]))
    return rows, len(members) - len(rows)


def _epoch_number(value: Any) -> int:
    """The number of an epoch, by which rows are sorted; 0 if the value is not a number."""
    return value if isinstance(value, int) else 0


def _no_log_error(file: File) -> InputError:
    """The error for a file that is not a log of Inspect."""
    return InputError(f"{file} is not an Inspect log: it has neither header.json nor samples")


def _read_member(file: File, log: zipfile.ZipFile, member: zipfile.ZipInfo) -> Record:
    """Read the JSON record in a member of the zip archive; raise InputError if it is too large or
    not a record.
    """
    if member.file_size > LARGEST:
        raise InputError(
            f"{file}, {member.filename} has {member.file_size >> 20:,} MiB when decompressed; a "
            f"sample may have at most {LARGEST >> 20}. Write the log without images (inspect eval "
            f"--no-log-images), or give its scores as records ({setting('format', 'jsonl')})"
        )
    try:
        content = _unpack_member(file, log, member)
        record = json.loads(content, parse_int=whole_number)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{file}, {member.filename} is not JSON: {error}") from None
    if not isinstance(record, dict):
        raise InputError(f"{file}, {member.filename} must hold one record, {{...}}")
    return record


def _unpack_member(file: File, log: zipfile.ZipFile, member: zipfile.ZipInfo) -> bytes:
    """Decompress a member of the zip archive. Inspect compresses with zstd, which `zipfile` reads
    from Python 3.14 on; before that PyArrow decompresses it.
    """
    if member.compress_type != _ZSTD or hasattr(zipfile, "ZIP_ZSTANDARD"):
        return log.read(member)
    pa = need("pyarrow", "reading .eval logs")
    with file.path.open("rb") as raw:
        raw.seek(member.header_offset)
        start = raw.read(30)
        if len(start) < 30 or start[:4] != b"PK\x03\x04":
            raise zipfile.BadZipFile(f"{member.filename} has a wrong position")
        name_length, extra_length = struct.unpack("<HH", start[26:30])
        raw.seek(name_length + extra_length, 1)
        packed = raw.read(member.compress_size)
    try:
        with pa.CompressedInputStream(pa.BufferReader(packed), "zstd") as stream:
            content: bytes = stream.read(member.file_size + 1)
    except OSError as error:
        raise zipfile.BadZipFile(f"{member.filename}: {error}") from None
    if zlib.crc32(content) != member.CRC:
        raise zipfile.BadZipFile(f"{member.filename} has a wrong checksum")
    return content


def _from_json(file: File) -> tuple[Record, list[Record]]:
    """Read a log that is a JSON file: the record of the evaluation, and the list of samples. Raise
    InputError if there are no samples.
    """
    log = json_of(file)
    if not isinstance(log, dict) or "eval" not in log:
        raise _no_log_error(file)
    samples = log.get("samples")
    if not isinstance(samples, list) or not all(isinstance(each, dict) for each in samples):
        raise InputError(
            f"{file} is an Inspect log without samples: it was written with --no-log-samples, or "
            "only its header was kept"
        )
    evaluation = log["eval"]
    return evaluation if isinstance(evaluation, dict) else {}, samples
