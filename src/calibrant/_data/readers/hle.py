"""`judged_*.json` of Humanity's Last Exam: a record of answers by question, as its judge writes it:
``{id: {"model": .., "judge_response": {"correct": "yes", "confidence": 85, ..}}}``.
"""

from __future__ import annotations

from typing import Any

from calibrant._core.errors import InputError, counted
from calibrant._data.readers.chunks import plain_number
from calibrant._data.readers.find import File
from calibrant._data.readers.jsonl import Record
from calibrant._data.readers.records import Pair, RecordReader, json_of

# The field by which such a file is recognised.
JUDGED = "judge_response"
_YES_AND_NO = {"yes": 1.0, "no": 0.0}


class HleReader(RecordReader):
    """The answers as columns: id, model, correct (0 or 1), confidence (divided by 100)."""

    ids = "id"
    pairs = (Pair("correct", "confidence"),)

    def __init__(self, file: File) -> None:
        """Read the whole file into memory, a record for each question."""
        answers = json_of(file)
        if not isinstance(answers, dict):
            raise InputError(f"{file} must be one record, {{id: {{'{JUDGED}': {{...}}}}, ...}}")
        rows = [_row(file, name, answer) for name, answer in answers.items()]
        super().__init__(file, rows, [f"question {name}" for name in answers])
        unjudged = sum(row["correct"] is None for row in rows)
        self.messages = (
            "judged answers of Humanity's Last Exam, recognised by their fields",
            "confidences are in percent, divided by 100; hle_rms is the number that the exam "
            "itself reports",
            *([f"{counted(unjudged, 'answer')} not judged"] if unjudged else []),
        )


def _row(file: File, name: str, answer: Any) -> Record:
    """The row of an answer; its correctness and confidence are None where it was not judged."""
    answer = answer if isinstance(answer, dict) else {}
    verdict = answer.get(JUDGED)
    verdict = verdict if isinstance(verdict, dict) else {}
    right, sure = verdict.get("correct"), verdict.get("confidence")
    correct = None
    if right is not None:
        correct = _YES_AND_NO.get(str(right).strip().lower())
        if correct is None:
            raise InputError(
                f"{file}, question {name}: correct is {right!r}, but must be yes or no"
            )
    number = None
    if sure is not None:
        number = plain_number(str(sure).strip().removesuffix("%"))
        if number is None or not 0 <= number <= 100:
            raise InputError(
                f"{file}, question {name}: confidence is {sure!r}: it must be a percentage from 0 "
                "to 100"
            )
    model = answer.get("model")
    return {
        "id": str(name),
        "model": None if model is None else str(model),
        "correct": correct,
        "confidence": None if number is None else number / 100.0,
    }
