"""Which columns are labels, predictions and weights: as given, or by their usual names."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from calibrant._core.errors import InputError, nearest, one_of
from calibrant._core.messages import (
    CLASSES,
    FOUND,
    Note,
    name_of,
    setting,
    settings,
    worded,
)
from calibrant._core.texts import message
from calibrant._data.answers import says_right
from calibrant._data.columns import (
    are_consecutive,
    check_column_order,
    check_columns_of_classes,
    check_order_of_classes,
    check_paired,
)
from calibrant._data.labels import Titles, number_of
from calibrant._data.missing import check_missing
from calibrant._data.readers.chunks import Field, Reader, Role, new_class_error
from calibrant._data.readers.confidences import REFUSALS
from calibrant._data.readers.lm_eval import METRICS
from calibrant._data.readers.written import PLAIN, Written, written_as


def _words(text: str) -> tuple[str, ...]:
    """Split a text into its words."""
    return tuple(text.split())


# Usual names, in small letters; capitals in a column's name do not matter.
USUAL = {
    "y_true": _words("y_true label labels target targets y outcome correct is_correct"),
    "y_proba": _words(
        "y_proba y_prob proba probas prob probs probability probabilities p confidence"
    ),
    "logits": _words("logits logit y_logits y_logit"),
}
# Names that are taken only if no column has a usual one.
LESS_USUAL = {
    "y_true": _words("truth ground_truth gold observed event y_test"),
    "y_proba": _words(
        "risk predicted_risk predicted_probability predicted_prob pred_proba pred_prob conf "
        "forecast y_score score"
    ),
    "logits": (),
}
# If a column has one of the names TRUTHS, one of the names ANSWERED may be the model's answer.
ANSWERED = ("label", "labels")
TRUTHS = ("truth", "ground_truth", "gold", "y_test")
# Names of labels that say if an answer was right, and names of confidences in an answer.
RIGHT = ("correct", "is_correct")
CONFIDENCES = ("confidence", "conf")
PREDICTED = _words(
    "prediction predicted pred y_pred predicted_label pred_label predicted_class pred_class answer"
)
# A column for each class: p0, p1, ... or prob_0, prob_1, ...
NUMBERED = {
    "y_true": ("y_true", "label", "target"),
    "y_proba": ("y_proba", "y_prob", "proba", "prob", "probability", "p"),
    "logits": ("logits", "logit"),
}
# The same with the classes' names: proba_cat, proba_dog, ...
NAMED = {
    "y_true": (),
    "y_proba": ("y_proba", "y_prob", "proba", "prob", "probability"),
    "logits": ("logits", "logit"),
}
SHOWN = 30
# Doubles hold every whole number up to here.
EXACT = 2**53
# The columns of answers and of right answers.
Answers = tuple[str, str]
COMPARED = (
    "y_true is whether {!r} equals {!r}: as numbers where both are, else as text without the "
    "spaces around it"
)

COUNTED = "votes for class 0 are {!r}, votes for class 1 are {!r}, by their order"


@dataclass(frozen=True)
class ReadRequest:
    """Which files to read, what each of their columns is, and how predictions are written."""

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
    # How predictions are written, and the columns of answers to compare.
    written: Written = PLAIN
    answers: Answers | None = None
    # The filter of a log, the tasks to read from several, and the unit of length by which
    # log-likelihoods of choices are divided.
    filter: str | None = None
    task: Sequence[str] | None = None
    skip: Sequence[str] | None = None
    acc_norm: str | None = None
    # Which arrays of an NPZ archive are meant, by the beginning of their names: "val" or "test".
    half: str | None = None
    # The column of numbers of votes; the columns of counts, in place of `y_true`; and of rows that
    # are one vote each, the columns of items and of annotators.
    votes: str | None = None
    counts: Any = None
    item: str | None = None
    annotator: str | None = None
    # How to treat answers without a confidence: "excluded" or "wrong".
    refusals: str | None = None
    # Columns to slice by, or other columns and the options that ask for them: read as text.
    by: Any = None
    others: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def build(
        cls,
        path: Any,
        *,
        from_logits: bool = False,
        from_logprobs: bool = False,
        percent: bool = False,
        words: Mapping[str, float | None] | None = None,
        confidence: str | None = None,
        answer: str | None = None,
        gold: str | None = None,
        missing: str = "error",
        acc_norm: str | None = None,
        refusals: str | None = None,
        **columns: Any,
    ) -> ReadRequest:
        """Make the request from the arguments of `evaluate_file`; raise InputError if they
        contradict each other, or if one is not known.
        """
        written = written_as(
            from_logits=from_logits,
            from_logprobs=from_logprobs,
            percent=percent,
            words=words,
            confidence=confidence,
        )
        return cls(
            path,
            from_logits=bool(from_logits),
            written=written,
            answers=_answers_of(answer, gold),
            missing=check_missing(missing),
            acc_norm=None if acc_norm is None else one_of("acc_norm", acc_norm, METRICS),
            refusals=None if refusals is None else one_of("refusals", refusals, REFUSALS),
            **columns,
        )

    @property
    def labels(self) -> Any:
        """The columns of labels that the user names: `counts` if that is given, else `y_true`."""
        return self.y_true if self.counts is None else self.counts

    @property
    def text_columns(self) -> Any:
        """The names of the columns that are read as text, each once; None if there are none."""
        if self.by is not None:
            return self.by
        people = [name for name in (self.item, self.annotator) if name is not None]
        return list(dict.fromkeys((*self.others, *people))) or None


@dataclass(frozen=True)
class ColumnSpec:
    """The columns that one argument stands for. If `stacked`, they become an array (n, k), one
    column per class; else there is a single column.

    `classes` are the names of the columns' classes, if the names of the columns contain them.
    `record` is the name of the record, {"A": 0.7, "B": 0.3}, of which the columns are the fields,
    or None.
    """

    names: tuple[str, ...]
    stacked: bool
    classes: tuple[str, ...] | None = None
    record: str | None = None
    # The pattern of the columns' names, if the columns were found by it and not named one by one;
    # its group 1 is the class.
    family: re.Pattern[str] | None = None

    def fields(self, role: Role) -> list[Field]:
        """The fields to read (columns with their role), one for each column. Fields of one record
        also name that record.
        """
        return [Field(name, role, self.record) for name in self.names]

    def match(self, name: str) -> re.Match[str] | None:
        """Match a name with the pattern of these columns' names, whose group 1 is the class; None
        if it does not match, or if there is no pattern.
        """
        return None if self.family is None else self.family.fullmatch(name)


@dataclass(frozen=True)
class ColumnMapping:
    """The columns that stand for each argument, and notes on what was inferred."""

    y_true: ColumnSpec
    y_proba: ColumnSpec
    sample_weight: str | None
    by: tuple[str, ...]
    # The classes in column order, if the caller or the columns' names say them.
    classes: tuple[Any, ...] | None
    messages: tuple[str, ...]
    # Whether the columns' names contain their classes.
    named: bool = False
    # Whether these names are the numbers of columns that are numbered from 1.
    from_one: bool = False
    # Whether labels are two columns, an answer and the right one, to be compared.
    compared: bool = False
    # The role in which predictions are read: "text" if they are written as percentages or words.
    proba_role: Role = "proba"
    # The column of numbers of votes.
    votes: str | None = None
    # Whether predictions are confidences written by a model; labels then say whether it is right.
    stated: bool = False

    @property
    def answers(self) -> bool:
        """Whether labels say if an answer was right."""
        return (
            self.compared
            or self.stated
            or (not self.y_true.stacked and says_right(self.y_true.names[0]))
        )

    @property
    def label_role(self) -> Role:
        """The role in which labels are read: "text" if answers are compared, "number" for soft
        labels, and "label" for others. It is "name" if a class is called by a text that writes a
        number, or by a number that doubles cannot hold exactly.
        """
        numbers = {name: number_of(name) for name in self.classes or ()}
        odd = any(
            number is not None and (isinstance(name, str) or abs(number) >= EXACT)
            for name, number in numbers.items()
        )
        if self.compared:
            return "text"
        return "number" if self.y_true.stacked else "name" if odd else "label"

    @property
    def class_names(self) -> Titles | None:
        """Names of the classes, from the options or from the columns' names; None if neither has
        any.
        """
        if self.classes is not None:
            return Titles(str(name) for name in self.classes)
        return Titles(self.y_proba.names) if self.y_proba.stacked else None

    @property
    def numbers(self) -> dict[str, str]:
        """The columns of weights and of numbers of votes, by argument, where there are any."""
        named = {"sample_weight": self.sample_weight, "votes": self.votes}
        return {argument: name for argument, name in named.items() if name is not None}

    def fields(self) -> list[Field]:
        """The fields to read (columns with their role); a column with several roles has one field
        for each.
        """
        fields = [
            *self.y_true.fields(self.label_role),
            *self.y_proba.fields(self.proba_role),
            *(Field(name, "number") for name in self.numbers.values()),
            *(Field(name, "text") for name in self.by),
        ]
        return list(dict.fromkeys(fields))


def choose_columns(reader: Reader, request: ReadRequest) -> ColumnMapping:
    """Choose the columns of a file for each argument: those that the request names, else columns
    with usual names. Raise InputError if a column does not exist, or if it is not clear which one
    is meant.
    """
    y_true, y_proba = request.labels, request.y_proba
    classes, answers = request.classes, request.answers
    messages: list[str] = []
    if answers is not None:
        labels = _answer_columns(reader, y_true, classes, answers)
        messages.append(COMPARED.format(*answers))
    elif y_true is None:
        labels = _guess_columns(reader, "y_true", ("y_true",))
        text = f"y_true is {_in_words(labels)}, by its name"
        messages.append(Note(text, FOUND, argument="y_true", columns=labels.names))
    else:
        labels = _named_spec(reader, "y_true", y_true)
    if y_proba is None:
        predictions = _guess_columns(
            reader, "y_proba", ("logits", "y_proba") if request.from_logits else ("y_proba",)
        )
        if answers is None:
            _check_whose_confidence(reader, labels, predictions)
        text = f"y_proba is {_in_words(predictions)}, by name"
        messages.append(Note(text, FOUND, argument="y_proba", columns=predictions.names))
    else:
        predictions = _named_spec(reader, "y_proba", y_proba)
    predictions = _classes_from_one(predictions, classes)
    if predictions.classes is None and predictions.stacked and classes is None:
        check_column_order(predictions.names, labels.names)
    weights = _one_column(reader, "sample_weight", request.sample_weight)
    order = None if classes is None else tuple(classes)
    named = predictions.classes is not None
    from_one = predictions.record is None and "1" in (predictions.classes or ())
    if named:
        predictions, order = _order_by_classes(predictions, order, "y_proba")
        if classes is None:
            text = f"classes are {', '.join(map(repr, order))}, by the columns' names"
            messages.append(Note(text, CLASSES))
    messages += _order_of_counts_note(reader, labels, predictions)
    if labels.classes is not None:
        labels, order = _order_by_classes(labels, order, "y_true")
    elif labels.stacked and order is not None:
        check_order_of_classes(labels.names, order, "y_true")
    if labels.stacked and predictions.stacked:
        check_paired(labels.names, predictions.names)
    if predictions.stacked and order is not None:
        check_columns_of_classes(predictions.names, order)
    by = request.text_columns
    is_list = any(reader.width(name) > 1 for name in predictions.names)
    if request.written.auto and (is_list or predictions.stacked):
        raise InputError(
            f"{setting('confidence', 'auto')} reads one confidence a row, but "
            f"{_in_words(predictions)} of {reader.file} "
            f"{'has lists' if is_list else 'are one for each class'}: leave it out"
        )
    as_text = request.written.as_text and not is_list
    return ColumnMapping(
        labels,
        predictions,
        weights,
        () if by is None else _named_spec(reader, "by", by).names,
        order,
        tuple(messages),
        named=named,
        from_one=from_one,
        compared=answers is not None,
        proba_role="text" if as_text else "proba",
        votes=_one_column(reader, "votes", request.votes),
        stated=request.written.auto,
    )


def _order_of_counts_note(reader: Reader, labels: ColumnSpec, predictions: ColumnSpec) -> list[str]:
    """A note, in a list, on which of two columns counts the votes for class 0 and which those for
    class 1; an empty list if there are no such columns, or if their names say so.
    """
    if predictions.stacked or reader.width(predictions.names[0]) > 1:
        return []
    first, *others = labels.names
    if labels.stacked and len(others) == 1 and labels.classes is None:
        return [COUNTED.format(first, others[0])]
    if not others and reader.width(first) == 2:
        return [COUNTED.format(f"{first}[0]", f"{first}[1]")]
    return []


def _answer_columns(reader: Reader, y_true: Any, classes: Any, answers: Answers) -> ColumnSpec:
    """The columns of answers and right answers, which are compared to get labels. Raise InputError
    if other options for labels are given too, or if the columns do not exist.
    """
    if y_true is not None or classes is not None:
        other = "y_true" if y_true is not None else "classes"
        raise InputError(
            f"{name_of('answer')} and {name_of('gold')} say which answers are right, and "
            f"{name_of(other)} gives the labels too: leave out one"
        )
    for argument, name in zip(("answer", "gold"), answers, strict=True):
        if not isinstance(name, str):
            raise InputError(f"{name_of(argument)} must be the name of one column; got {name!r}")
        require(reader, argument, name)
    if answers[0] == answers[1]:
        raise InputError(
            f"{name_of('answer')} and {name_of('gold')} are both the column {answers[0]!r}: name "
            "one column for each"
        )
    return ColumnSpec(answers, False)


def _answers_of(answer: Any, gold: Any) -> Answers | None:
    """The names of the columns of answers and of right answers as a pair; None if neither is given.
    Raise InputError if only one is given.
    """
    if (answer is None) != (gold is None):
        named, other = ("answer", "gold") if gold is None else ("gold", "answer")
        raise InputError(
            f"{name_of(named)} is given without {name_of(other)}: an answer is right if the two "
            "are equal, so give both"
        )
    return None if answer is None else (answer, gold)


def require(reader: Reader, argument: str, name: str) -> None:
    """Raise InputError if the file has no column `name`, or two of them. The message gives the most
    similar name; `argument` is the argument that named the column.
    """
    if not reader.has(name):
        raise InputError(
            f"{name_of(argument)} names the column {name!r}, which {reader.file} does not have: "
            f"{nearest(name, reader.names[:SHOWN])}"
        )
    if reader.names.count(name) > 1:
        raise InputError(f"{reader.file} has two columns {name!r}: rename one")


def check_no_more_classes(reader: Reader, spec: ColumnSpec) -> None:
    """Raise InputError if a file has a column for a class that is not among the columns `spec`,
    which were chosen in an earlier file.
    """
    for name in reader.names:
        match = spec.match(name)
        if match is not None and name not in spec.names:
            raise new_class_error(str(reader.file), name, match[1])


def _one_column(reader: Reader, argument: str, value: Any) -> str | None:
    """The name of the one column that an argument names, after checks; None if `value` is None.
    Raise InputError if the argument names several columns.
    """
    if value is None:
        return None
    spec = _named_spec(reader, argument, value)
    if spec.stacked:
        raise InputError(f"{name_of(argument)} must be the name of one column; got {value!r}")
    return spec.names[0]


def _named_spec(reader: Reader, argument: str, value: Any) -> ColumnSpec:
    """The columns that the value of an argument, a name or a list of names, stands for; raise
    InputError if one of them does not exist.
    """
    names = (value,) if isinstance(value, str) else value
    if not isinstance(names, list | tuple) or not all(isinstance(name, str) for name in names):
        raise InputError(
            f"{name_of(argument)} must be a column's name or a list of names; got {value!r}. For "
            "arrays, call evaluate(y_true, y_proba)"
        )
    if not names:
        raise InputError(f"{name_of(argument)} is an empty list: name the columns")
    for name in names:
        require(reader, argument, name)
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InputError(f"{name_of(argument)} names the column {twice!r} twice")
    if isinstance(value, str) and argument in ("y_true", "y_proba"):
        return _column_or_record(reader.names, value)
    return ColumnSpec(tuple(names), not isinstance(value, str))


def _column_or_record(names: Sequence[str], name: str) -> ColumnSpec:
    """The column of this name. If it is a record with a number for each class, {"A": 0.7, "B":
    0.3}, the record's fields as one column per class.
    """
    fields = tuple(each for each in names if each.startswith(f"{name}."))
    if len(fields) < 2:
        return ColumnSpec((name,), False)
    classes = tuple(each.removeprefix(f"{name}.") for each in fields)
    family = re.compile(rf"{re.escape(name)}\.(.+)", re.DOTALL)
    return ColumnSpec(fields, True, classes, name, family)


def _usual_candidates(names: Sequence[str], kind: str) -> list[ColumnSpec]:
    """All candidates among these names for "y_true", "y_proba" or "logits" (`kind`): columns, and
    families of columns (one per class), with usual names; if there are none, columns with less
    usual names; if there are none, fields of records with usual names.
    """
    usual = {name: [piece.lower() in USUAL[kind] for piece in name.split(".")] for name in names}
    within = [name for name, parts in usual.items() if parts[-1] and not any(parts[:-1])]
    if kind == "y_true":
        names_of_truth = [name for name in names if name.lower() in TRUTHS]
        found = [name for name in names if name.lower() in USUAL[kind]]
        if names_of_truth and found and all(name.lower() in ANSWERED for name in found):
            return [_column_or_record(names, name) for name in (*found, *names_of_truth)]
    return (
        [_column_or_record(names, name) for name in names if name.lower() in USUAL[kind]]
        + _numbered_families(names, NUMBERED[kind])
        + _named_families(names, NAMED[kind])
        or [_column_or_record(names, name) for name in names if name.lower() in LESS_USUAL[kind]]
        or [_column_or_record(names, name) for name in within]
    )


def has_usual(names: Sequence[str], kind: str) -> bool:
    """Whether some column has a usual name for "y_true", "y_proba" or "logits" (`kind`)."""
    return bool(_usual_candidates(names, kind))


def _guess_columns(reader: Reader, argument: str, kinds: tuple[str, ...]) -> ColumnSpec:
    """Guess, by usual names, the column or the family of columns (one per class) for an argument
    that the user left out. `kinds` are tried in order, and the first with candidates counts. Raise
    InputError if there are several candidates or none.
    """
    for kind in kinds:
        candidates = _usual_candidates(reader.names, kind)
        if len(candidates) == 1:
            for name in candidates[0].names:
                require(reader, argument, name)
            return candidates[0]
        if candidates:
            options = " or ".join(_in_words(spec) for spec in candidates)
            raise InputError(
                worded(
                    python=message(
                        "which_column", argument=argument, candidates=options, file=reader.file
                    ),
                    command=(
                        f"the {_MEANING[argument]} could be {options} of {reader.file}: choose one "
                        f"with {name_of(argument)}"
                    ),
                )
            )
    shown = ", ".join(map(repr, reader.names[:SHOWN])) + (", ..." if reader.names[SHOWN:] else "")
    logits = [name for name in reader.names if name.lower() in USUAL["logits"]]
    hint = _hint_of_halves(reader.names)
    if argument == "y_proba" and logits:
        hint = f". If these are logits: {settings(y_proba=logits[0], from_logits=True)}"
    voted = [name for name in reader.names if "votes" in name.lower()]
    if argument == "y_true" and voted:
        hint = (
            f". If labels are votes: {settings(y_true='VOTES_FOR_CLASS_1', votes='ALL_VOTES')}, "
            f"or the counts of each class with {name_of('counts')}"
        )
    usual = ", ".join(USUAL[kinds[-1]] + LESS_USUAL[kinds[-1]])
    raise InputError(
        worded(
            python=message(
                "no_column",
                argument=argument,
                file=reader.file,
                names=usual,
                columns=shown,
                hint=hint,
            ),
            command=f"the {_MEANING[argument]} are not given ({name_of(argument)}), and no column "
            f"of {reader.file} has a usual name for them ({usual}). The columns are {shown}{hint}",
        )
    )


def _hint_of_halves(names: Sequence[str]) -> str:
    """The end of an error: how to name the columns of one half (test_labels and test_probs beside
    val_labels and val_probs), that of the test if there is one; "" if there are no halves.
    """
    starts = dict.fromkeys(f"{name.partition('_')[0]}_" for name in names if "_" in name)
    for start in sorted(starts, key=lambda each: each.lower() != "test_"):
        own = [name.removeprefix(start) for name in names if name.startswith(start)]
        labels = _usual_candidates(own, "y_true")
        for kind in ("y_proba", "logits"):
            found = _usual_candidates(own, kind)
            if [len(each) for each in (labels, found)] == [1, 1] and not found[0].stacked:
                given = {"y_true": start + labels[0].names[0], "y_proba": start + found[0].names[0]}
                logits: dict[str, Any] = {"from_logits": True} if kind == "logits" else {}
                return f". For the {start}... columns: {settings(**given, **logits)}"
    return ""


_MEANING = {"y_true": "labels", "y_proba": "predictions"}


def _check_whose_confidence(reader: Reader, labels: ColumnSpec, predictions: ColumnSpec) -> None:
    """Raise InputError if a column of confidences is ambiguous: beside a column of predicted
    classes it may hold the probability of the predicted class instead of that of class 1.
    """
    found, label = predictions.names[0], labels.names[0]
    answers = [name for name in reader.names if name.lower() in PREDICTED]
    if (
        answers
        and found.lower() in CONFIDENCES
        and label.lower() not in RIGHT
        and not predictions.stacked
        and reader.width(found) <= 1
    ):
        raise InputError(
            message(
                "whose_confidence",
                subject=worded(python="y_proba", command="the predictions"),
                found=repr(found),
                file=reader.file,
                answer=repr(answers[0]),
                if_so=settings(answer=answers[0], gold=label, y_proba=found),
                if_not=setting("y_proba", found),
            )
        )


def _numbered_families(names: Sequence[str], prefixes: tuple[str, ...]) -> list[ColumnSpec]:
    """Families of columns, one per class, with names of a prefix and a number (p_0, p_1, ...). The
    numbers go up from 0 or 1 without a gap, and the columns are in their order.
    """
    out = []
    for prefix in prefixes:
        pattern = re.compile(rf"{prefix}_?(\d+)", re.IGNORECASE)
        by_number: dict[int, str] = {}
        for name in names:
            match = pattern.fullmatch(name)
            if match:
                by_number.setdefault(int(match[1]), name)
        numbers = sorted(by_number)
        if len(numbers) > 1 and are_consecutive(numbers):
            columns = tuple(by_number[number] for number in numbers)
            out.append(ColumnSpec(columns, True, family=pattern))
    return out


def _classes_from_one(spec: ColumnSpec, classes: Sequence[Any] | None) -> ColumnSpec:
    """The columns with the classes "1", "2", ..., if their names are numbered from 1 and `classes`
    (None: not given) does not name the classes otherwise; else unchanged. Labels then count from 1
    too.
    """
    matches = list(filter(None, map(spec.match, spec.names)))
    if spec.classes is not None or not matches:
        return spec
    named = tuple(str(int(match[1])) for match in matches)
    if named[0] != "1" or (classes is not None and sorted(map(str, classes)) != sorted(named)):
        return spec
    return replace(spec, classes=named)


def _named_families(names: Sequence[str], prefixes: tuple[str, ...]) -> list[ColumnSpec]:
    """Families of columns, one per class, with names of a prefix and the class's name (proba_cat,
    proba_dog).
    """
    out = []
    for prefix in prefixes:
        longer = [p for p in prefixes if p.startswith(f"{prefix}_")]
        pattern = re.compile(rf"{prefix}_(?!\d+$)(.+)", re.IGNORECASE)
        candidates = [(name, match[1]) for name in names if (match := pattern.fullmatch(name))]
        candidates = [
            (name, rest) for name, rest in candidates if not name.lower().startswith(tuple(longer))
        ]
        if len(candidates) > 1:
            columns, classes = zip(*candidates, strict=True)
            out.append(ColumnSpec(columns, True, classes, family=pattern))
    return out


def _order_by_classes(
    spec: ColumnSpec, classes: tuple[Any, ...] | None, argument: str
) -> tuple[ColumnSpec, tuple[Any, ...]]:
    """Put the columns into the order of `classes`: returns the columns and the classes. If
    `classes` is None, the columns stay in order, and the classes are those in their names. Raise
    InputError if columns and classes do not match.
    """
    by_name = dict(zip(spec.classes or (), spec.names, strict=True))
    if classes is None:
        return spec, tuple(by_name)
    if sorted(map(str, classes)) != sorted(by_name):
        raise InputError(
            f"the classes are {', '.join(map(repr, classes))}, but the columns are "
            f"{', '.join(map(repr, spec.names))}: name the class of each column with "
            f"{setting(argument, [...])}"
        )
    columns = tuple(by_name[str(name)] for name in classes)
    return replace(spec, names=columns, classes=None), classes


def _in_words(spec: ColumnSpec) -> str:
    """The columns in words: "the column 'p'", "the columns 'p_0' to 'p_9'"."""
    if len(spec.names) == 1:
        return f"the column {spec.names[0]!r}"
    return f"the columns {spec.names[0]!r} to {spec.names[-1]!r}"
