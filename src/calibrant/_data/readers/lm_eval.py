"""Sample logs of lm-evaluation-harness: samples_TASK_DATE.jsonl, a record for each document.

For multiple choice, `filtered_resps` has a log-likelihood for each choice, and `target` is the
right one, by its index or by its text. Their softmax is what the harness's own Brier score takes.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

from calibrant._core.errors import InputError, counted, nearest
from calibrant._core.messages import name_of, setting
from calibrant._data.readers.chunks import plain_number, shortened
from calibrant._data.readers.find import File
from calibrant._data.readers.jsonl import Record, block_of, lines_of
from calibrant._data.readers.records import NoConfidence, Pair, RecordReader

KIND = "lm-evaluation-harness sample log"
_NAMED = re.compile(r"samples_(.+?)(?:_\d{4}-\d\d-\d\dT[\d.:-]+)?")


@dataclass(frozen=True)
class _Document:
    """The parts of one record from which columns are made."""

    line: int
    doc_id: Any
    filter: str
    logs: list[float]
    choices: list[str]
    target: str
    # The metric acc: 1 if the harness counts the likeliest choice as right; None if there is none.
    right: float | None
    metrics: Record


class LmEvalReader(RecordReader):
    """A sample log as columns: target, probs, confidence, correct, task, id, filter and the log's
    metrics. `correct` is whether the likeliest choice is right, and `confidence` is its
    probability.
    """

    slices, ids = "task", "id"

    def __init__(self, file: File) -> None:
        """Read the whole log into memory; raise InputError if it is not a log of
        multiple choice.
        """
        documents = [
            _document(file, record, line)
            for block in (block_of(file, lines) for lines in lines_of(file))
            for record, line in zip(block.records, block.lines, strict=True)
        ]
        self._filters = tuple(dict.fromkeys(each.filter for each in documents))
        chosen = _choose_documents(file, documents, self._filters)
        _check_right_or_wrong(file, chosen)
        task = task_of(file.path)
        reading, golds = _right_choices(file, chosen)
        if file.acc_norm is not None:
            chosen = [
                _normalised(file, each, gold) for each, gold in zip(chosen, golds, strict=True)
            ]
        records = [_columns(each, gold, task) for each, gold in zip(chosen, golds, strict=True)]
        n_positive = sum(max(each.logs, default=0.0) > 0.0 for each in chosen)
        # Densities, or scores of another kind: their softmax is still what the harness takes.
        self._positive = (
            (
                f"{task}: {n_positive:,} of {counted(len(chosen), 'document')} have a "
                "log-likelihood above 0, which no probability has",
            )
            if n_positive
            else ()
        )
        super().__init__(file, records, [each.line for each in chosen])
        widths = self.widths = {len(each.logs) for each in chosen}
        top = Pair("correct", "confidence")
        k = max(widths, default=1)
        if len(widths) == 1 and reading is not None:
            self.pairs = (Pair("target", "probs", k), top)
        else:
            self.pairs = (top,)
        self._targets = (
            (f"{task}: targets are {reading}",) if reading is not None else _odd_target_note(chosen)
        )

    @property
    def messages(self) -> tuple[str, ...]:  # type: ignore[override]
        """Notes on how the log was recognised and read, which results repeat."""
        # Readers are cached, so Python and the command may ask the same one in turn.
        return (
            f"{KIND}, recognised by its fields; {setting('format', 'jsonl')} reads all fields of "
            "its records unchanged",
            "probabilities are the softmax of the choices' log-likelihoods"
            + (
                f", each divided by its length in {self.file.acc_norm}: they are flatter than the "
                "model's own, so their ECE says little about the model"
                if self.file.acc_norm
                else ""
            ),
            *self._targets,
            *self._positive,
        )

    def pieces(self, fields: Any) -> Any:
        """All rows as one piece; raise InputError if the log has several filters and the user chose
        none.
        """
        if self.file.filter is None and len(self._filters) > 1:
            named = ", ".join(map(repr, self._filters))
            raise NoConfidence(
                f"{self.file} has the filters {named}, each with a row for every document: choose "
                f"one with {setting('filter', self._filters[0])}",
                f"it has the filters {named}, and {setting('filter')} names none of them",
            )
        return super().pieces(fields)


def task_of(path: Path) -> str:
    """The task in the name of a sample log: TASK in samples_TASK_DATE.jsonl."""
    stem = path.name.partition(".jsonl")[0].partition(".json")[0]
    match = _NAMED.fullmatch(stem)
    return match[1] if match else stem


def _choose_documents(
    file: File, documents: list[_Document], filters: tuple[str, ...]
) -> list[_Document]:
    """The documents of the filter that the user chose, or all if the user chose none; raise
    InputError if the log does not have that filter. `filters` are those in the log.
    """
    if file.filter is None:
        return documents
    if file.filter not in filters:
        raise InputError(
            f"{file} has no filter {file.filter!r}: {nearest(file.filter, list(filters))}"
        )
    return [each for each in documents if each.filter == file.filter]


def _check_right_or_wrong(file: File, documents: list[_Document]) -> None:
    """Raise InputError if the metric acc of a document is neither 0 nor 1. In tasks with several
    right choices (truthfulqa_mc2) it is their probability, which does not say whether the answer
    was right.
    """
    for each in documents:
        if each.right not in (None, 0.0, 1.0):
            raise NoConfidence(
                f"{file}, line {each.line}: acc is {each.right:.6g}, but an answer is right (1) or "
                "wrong (0). In tasks with several right choices, such as truthfulqa_mc2, acc is "
                "their probability, so this log has no correctness. Leave the file out (use "
                f"truthfulqa_mc1), or read its records with {setting('format', 'jsonl')}",
                "several choices are right, and acc is their probability",
            )


def _document(file: File, record: Record, line: int) -> _Document:
    """The parts of a record, at a line of the file, from which columns are made; raise InputError
    unless the record has log-likelihoods of at least two choices.
    """
    location = f"{file}, line {line}"
    logs = [
        _log_likelihood(location, pair, i)
        for i, pair in enumerate(_filtered_responses(location, record))
    ]
    metrics = record.get("metrics")
    names = metrics if isinstance(metrics, list) else ["acc", *METRICS.values()]
    own = {name: record[name] for name in map(str, names) if _is_number(record.get(name))}
    choices = _choices(record)
    if "acc_mutual_info" in own and len(logs) % 2 == 0:
        # The second half are log-likelihoods of the choices without their question.
        logs, choices = logs[: len(logs) // 2], choices[: len(logs) // 2]
    if logs and max(logs) == -math.inf:
        raise InputError(f"{location}: every choice has the log-likelihood -inf")
    if len(logs) < 2:
        raise NoConfidence(
            f"{location}: filtered_resps holds one log-likelihood, but multiple choice has one for "
            "each choice: this log has no confidence to measure",
            "it has one log-likelihood per document, and no choices",
        )
    right = own.get("acc")
    return _Document(
        line,
        record.get("doc_id"),
        str(record.get("filter", "none")),
        logs,
        choices if len(choices) == len(logs) else [],
        str(record.get("target", "")).strip(),
        None if right is None else _as_float(right),
        own,
    )


# The metric of the harness for each unit of length.
METRICS = {"characters": "acc_norm", "bytes": "acc_bytes"}


def _normalised(file: File, document: _Document, gold: int | None) -> _Document:
    """A document with log-likelihoods divided by the lengths of the choices, as the harness does
    for its metric acc_norm (characters) or acc_bytes; `gold` is the index of the right choice.

    Raise InputError if choices have no length, or if the metric in the log says otherwise.
    """
    unit, where = str(file.acc_norm), f"{file}, line {document.line}"
    texts = document.choices
    sizes = [len(text.encode()) if unit == "bytes" else len(text) for text in texts]
    if not sizes or 0 in sizes:
        raise InputError(
            f"{where}: {setting('acc_norm', unit)} needs the texts of the choices, but arguments "
            "does not have them: leave it out"
        )
    logs = [log / size for log, size in zip(document.logs, sizes, strict=True)]
    metric = METRICS[unit]
    logged = document.metrics.get(metric)
    right = None if gold is None else float(_likeliest(logs) == gold)
    if logged is None and right is None:
        raise InputError(
            f"{where}: the target names no choice, and the log has no {metric} to say whether the "
            f"answer was right: leave out {name_of('acc_norm')}"
        )
    if None not in (logged, right) and logged != right:
        raise InputError(
            f"{where}: {metric} is {logged:g}, but by log-likelihoods divided by lengths in {unit} "
            f"the answer is {'right' if right else 'wrong'}: the log follows another rule, so "
            f"leave out {name_of('acc_norm')}"
        )
    return replace(document, logs=logs, right=logged if right is None else right)


def _is_number(value: Any) -> bool:
    """Whether a value is a number; True and False count as numbers."""
    return isinstance(value, int | float)


def _as_float(value: float) -> float:
    """A number as a float; infinite for a whole number that is too large."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _filtered_responses(location: str, record: Record) -> list[Any]:
    """The record's `filtered_resps`, with a list for each choice that begins with its
    log-likelihood; raise InputError if it has another form.
    """
    answers = record.get("filtered_resps")
    if not isinstance(answers, list) or not answers:
        raise InputError(
            f"{location} has no filtered_resps, which every record of a sample log has: "
            f"{setting('format', 'jsonl')} reads all fields of records unchanged"
        )
    if not all(isinstance(each, list) and each for each in answers):
        raise NoConfidence(
            f"{location}: filtered_resps holds text and no log-likelihoods, so it has no "
            "confidence. Logs of multiple choice have a log-likelihood for each choice; for "
            f"generated answers, give records with a confidence ({setting('format', 'jsonl')})",
            "its answers are generated, without log-likelihoods",
        )
    return answers


def _log_likelihood(location: str, answer: list[Any], i: int) -> float:
    """The log-likelihood of the i-th choice: the first entry of `answer`, a number or a text that
    writes one. Raise InputError for any other entry.
    """
    value: Any = plain_number(answer[0]) if isinstance(answer[0], str) else answer[0]
    number = _as_float(value) if _is_number(value) else math.nan
    if math.isnan(number) or number == math.inf:
        shown = shortened(repr(answer[0]))
        raise InputError(
            f"{location}: filtered_resps[{i}] is {shown}, which is not a log-likelihood"
        )
    return number


def _choices(record: Record) -> list[str]:
    """The texts of the choices that the model was asked to continue with; an empty list if the
    record does not have them.
    """
    arguments = record.get("arguments")
    pairs = list(arguments.values()) if isinstance(arguments, dict) else arguments
    if not isinstance(pairs, list):
        return []
    texts = []
    for pair in pairs:
        parts = list(pair.values()) if isinstance(pair, dict) else pair
        if not isinstance(parts, list | tuple) or len(parts) < 2:
            return []
        texts.append(str(parts[1]).strip())
    return texts


def _right_choices(file: File, documents: list[_Document]) -> tuple[str | None, list[int | None]]:
    """How targets are written, in words (None if they name no choice), and the index of the right
    choice for each document (None for all if targets name no choice).

    A target "1" may be the index or the text of a choice: acc, the harness's own count of right
    answers, tells which. Raise InputError if it is not enough to tell.
    """
    readings = {
        "indices of the choices": [_index_by_number(each) for each in documents],
        "texts of the choices": [_index_by_text(each) for each in documents],
    }
    full = {name: golds for name, golds in readings.items() if None not in golds}
    fitting = {
        name: golds for name, golds in full.items() if all(map(_agrees_with_acc, documents, golds))
    }
    if len(fitting) == 2 and len({tuple(golds) for golds in fitting.values()}) == 1:
        fitting.popitem()
    if len(fitting) == 1:
        name, golds = next(iter(fitting.items()))
        return name, list(golds)
    if len(fitting) > 1:
        raise NoConfidence(
            f"{file}: targets could be indices or texts of the choices, and acc is missing or fits "
            f"both: read the records with {setting('format', 'jsonl')}",
            "its targets could be indices or texts of the choices",
        )
    if all(each.right is not None for each in documents):
        return None, [None] * len(documents)
    if full:
        golds = next(iter(full.values()))
        each = next(
            d for d, gold in zip(documents, golds, strict=True) if not _agrees_with_acc(d, gold)
        )
        raise InputError(
            f"{file}, line {each.line}: target is {each.target!r}, which contradicts acc "
            f"{each.right!r}: read the records with {setting('format', 'jsonl')}"
        )
    each = next(d for d in documents if _index_by_number(d) is None and _index_by_text(d) is None)
    raise NoConfidence(
        f"{file}, line {each.line}: target is {each.target[:60]!r}, which is neither the index nor "
        "the text of a choice. There is no acc either to say whether the answer was right",
        "its targets name no choice, and there is no acc",
    )


def _odd_target_note(documents: list[_Document]) -> list[str]:
    """A note, in a list, on the first target that is neither the index nor the text of a choice;
    empty if there is none. One target like this keeps all targets from being read as choices.
    """
    odd = (d for d in documents if _index_by_number(d) is None and _index_by_text(d) is None)
    return [f"line {d.line}: target {d.target[:60]!r} is no choice" for d in islice(odd, 1)]


def _index_by_number(document: _Document) -> int | None:
    """The index of the right choice, if the target is written as an index; else None."""
    text = document.target
    if not re.fullmatch(r"\d{1,6}", text) or int(text) >= len(document.logs):
        return None
    return int(text)


def _index_by_text(document: _Document) -> int | None:
    """The index of the right choice, if the target is the text of exactly one choice; else None."""
    return (
        document.choices.index(document.target)
        if document.choices.count(document.target) == 1
        else None
    )


def _agrees_with_acc(document: _Document, gold: int | None) -> bool:
    """Whether the index of the right choice, `gold`, agrees with the harness's metric acc, which is
    1 if and only if the likeliest choice is right. True if there is no acc.
    """
    if document.right is None:
        return True
    return (_likeliest(document.logs) == gold) == (document.right == 1)


def _likeliest(logs: list[float]) -> int:
    """The index of the likeliest choice; `logs` are the log-likelihoods of the choices."""
    return logs.index(max(logs))


def _columns(document: _Document, gold: int | None, task: str) -> Record:
    """The row for a document: a record with a value for each column. `gold` is the index of the
    right choice; if it is None (not known), `correct` is the harness's metric acc.
    """
    top = max(document.logs)
    weights = [math.exp(log - top) for log in document.logs]
    total = math.fsum(weights)
    right = document.right if gold is None else float(_likeliest(document.logs) == gold)
    return {
        "target": gold,
        "probs": [weight / total for weight in weights],
        "correct": right,
        "confidence": max(weights) / total,
        "n_choices": len(weights),
        "task": task,
        "doc_id": document.doc_id,
        "id": f"{task}/{document.doc_id}",
        "filter": document.filter,
        **{name: value for name, value in document.metrics.items() if name not in _OWN},
    }


_OWN = frozenset(
    ("target", "probs", "correct", "confidence", "n_choices", "task", "doc_id", "id", "filter")
)
