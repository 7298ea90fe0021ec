"""The rows of files in memory, for what needs them more than once: intervals, pairs, fits."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant._core.errors import InputError, counted
from calibrant._core.messages import name_of
from calibrant._core.progress import RowProgress
from calibrant._core.typing import Index, Shape
from calibrant._core.validation import public
from calibrant._data.answers import as_answers
from calibrant._data.explain import first_bad_row
from calibrant._data.labels import Titles
from calibrant._data.readers.batches import Batch
from calibrant._data.readers.columns import ColumnMapping, ReadRequest, require
from calibrant._data.readers.confidences import UNANSWERED
from calibrant._data.readers.passes import over_pieces
from calibrant._data.readers.source import FileRows, file_rows, files_of, open_reader
from calibrant._data.readers.vote_rows import counted_labels, votes_by_item
from calibrant._data.samples import shape_of
from calibrant._data.vote_table import VoteTable, spread_of


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows in memory. Labels are class indices, or rows of probabilities or counts; `others` are
    further columns, as text, by name.
    """

    y_true: NDArray[Any]
    y_proba: NDArray[Any]
    sample_weight: NDArray[Any] | None
    others: dict[str, NDArray[Any]]
    # The position of each row among all rows of the files, dropped ones counted.
    positions: Index
    chosen: ColumnMapping
    n_files: int
    n_missing: int
    # What was inferred about the files.
    messages: tuple[str, ...]
    # How many answers had no confidence, where there is a rule for them.
    n_unanswered: int | None = None
    # Numbers of votes behind soft labels or counts, and who voted for what, if rows were votes.
    votes: NDArray[Any] | None = None
    vote_table: VoteTable | None = None
    # What the other columns hold in the rows that were dropped.
    others_dropped: dict[str, NDArray[Any]] = field(default_factory=dict)

    @property
    def n(self) -> int:
        """The number of rows."""
        return int(self.y_proba.shape[0])

    @property
    def multiclass(self) -> bool:
        """Whether predictions are (n, k), a column for each class."""
        return self.y_proba.ndim == 2

    @property
    def answers(self) -> bool:
        """Whether labels say if an answer was right."""
        return self.chosen.answers and not self.multiclass

    @property
    def shape(self) -> Shape:
        """The kind of problem: "binary", "answers" or "multiclass"."""
        return "multiclass" if self.multiclass else shape_of(1, self.answers)

    @property
    def class_names(self) -> Titles | None:
        """Names of the classes of predictions (n, k), of which labels are indices; None for a
        binary problem, or if there are no names.
        """
        return self.chosen.class_names if self.multiclass else None

    def other(self, option: str, name: str) -> NDArray[Any]:
        """The values of a further column; raise InputError if a row has none. `option` is the
        option that named the column, for the message.
        """
        values = self.others[name]
        gone = [value is None or value != value for value in values.tolist()]
        if any(gone):
            at = int(self.positions[gone.index(True)])
            raise InputError(
                f"{name_of(option)} names the column {name!r}, which is empty in "
                f"{counted(sum(gone), 'row', '')}, first in row {at}: every row needs a value there"
            )
        return values

    def take(self, rows: Index) -> Rows:
        """The rows with these numbers, without the vote table."""
        weights = self.sample_weight
        return replace(
            self,
            y_true=self.y_true[rows],
            y_proba=self.y_proba[rows],
            sample_weight=None if weights is None else weights[rows],
            others={name: values[rows] for name, values in self.others.items()},
            positions=self.positions[rows],
            votes=None if self.votes is None else self.votes[rows],
            vote_table=None,
        )

    def take_positions(self, positions: Index) -> Rows:
        """The rows at these positions, which are counted among all rows of the files, dropped ones
        included.
        """
        return self.take(np.searchsorted(self.positions, positions))


class TooLarge(Exception):
    """The files hold more predictions than the caller allows to be read into memory."""


def read_rows(request: ReadRequest, *, at_most: int | None = None) -> Rows:
    """Read the rows into memory and check every value. Raise TooLarge as soon as there are more
    than `at_most` predictions; a row of k classes counts as k.
    """
    total = 0

    def checked(batches: Iterable[Batch]) -> list[Batch]:
        """The batches of a piece in a list, after all their values were checked."""
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

    _, read = _read(request, checked, at_most=at_most, label="reading")
    labels = read.y_true
    if labels.ndim == 1 and labels.dtype.kind == "f" and (labels == np.floor(labels)).all():
        labels = labels.astype(np.int64)  # text files have them as 3.0
    return replace(read, y_true=as_answers(labels) if read.answers else labels)


@dataclass(frozen=True, eq=False)
class FileArrays:
    """Rows of files in memory, as `read_file` returns them.

    Attributes
    ----------
    y_true : ndarray of shape (n,) or (n, k)
        Labels: class indices, or probabilities (soft labels).
    y_proba : ndarray of shape (n,) or (n, k)
        Predicted probabilities, or logits unchanged from the files.
    sample_weight : ndarray of shape (n,) or None
        Weight of each row, if there is a column of weights.
    class_names : tuple of str or None
        Names of the classes, if the files have any.
    inferred : tuple of str
        Which columns were found, and how labels were read.
    n_missing : int
        Number of rows dropped by ``missing="drop"``.
    columns : dict of str to ndarray of shape (n,)
        Further requested columns, as text.
    votes : ndarray of shape (n,) or None
        Number of votes of each row, if the files have it.
    vote_table : VoteTable or None
        The votes themselves, if each row of the files was one.
    """

    y_true: NDArray[Any]
    y_proba: NDArray[Any]
    sample_weight: NDArray[Any] | None
    class_names: tuple[str, ...] | None
    inferred: tuple[str, ...]
    n_missing: int
    columns: dict[str, NDArray[Any]] = field(default_factory=dict)
    votes: NDArray[Any] | None = None
    vote_table: VoteTable | None = None


@public
def read_file(
    path: Any,
    *,
    y_true: Any = None,
    y_proba: Any = None,
    sample_weight: str | None = None,
    votes: str | None = None,
    counts: str | Sequence[str] | None = None,
    item: str | None = None,
    annotator: str | None = None,
    classes: Sequence[Any] | None = None,
    from_logits: bool = False,
    from_logprobs: bool = False,
    missing: str = "error",
    format: str | None = None,
    filter: str | None = None,
    task: str | Sequence[str] | None = None,
    skip: str | Sequence[str] | None = None,
    acc_norm: str | None = None,
    percent: bool = False,
    words: Mapping[str, float | None] | None = None,
    confidence: str | None = None,
    refusals: str | None = None,
    answer: str | None = None,
    gold: str | None = None,
    columns: str | Sequence[str] | None = None,
    progress: bool | None = None,
) -> FileArrays:
    r"""Read the rows of files as arrays, for functions that need rows in memory: intervals, fits.

    Columns are found as by `evaluate_file`; the function that gets the values checks them.

    Parameters
    ----------
    path : str, path-like or list of these
        File, folder, pattern such as `"day-*.parquet"`, or a list of these.
    y_true : str or list of str, optional
        Column of labels; found by its usual names by default. Two candidates are an error.
    y_proba : str or list of str, optional
        Column of probabilities (numbers, lists or records), or one column per class; found by its
        usual names by default.
    sample_weight : str, optional
        Column of weights; every row counts 1 by default.
    votes : str, optional
        Column of the number of votes of each soft label, or of each count for class 1.
    counts : str or list of str, optional
        Columns of vote counts, one per class (or one column of lists), instead of `y_true`.
    item, annotator : str, optional
        Columns of long tables with one row per vote: the item and the annotator. `y_true` is then
        the vote, and predictions are repeated in each row of an item.
    classes : sequence, optional
        Names of the classes in the order of the columns; labels belong to the class of their name.
    from_logits : bool, default False
        Whether `y_proba` holds logits: a sigmoid is applied to (n,), a softmax to (n, k).
    from_logprobs : bool, default False
        Whether `y_proba` holds log-probabilities: exp is applied to (n,), a softmax to (n, k).
    missing : {"error", "drop"}, default "error"
        What to do with rows in which a value is missing: raise an error, or drop and count them.
    format : str, optional
        Format of the files: "parquet", "csv", "jsonl", "arrow", "npz", "json", "lm-eval",
        "inspect", "hle", "excel", "stata", "sas" or "r"; by default it follows from their names,
        and for records from their fields: a JSON list, a log of lm-evaluation-harness, Inspect AI
        or Humanity's Last Exam.
    filter : str, optional
        Filter to use from a log of lm-evaluation-harness that has several.
    task, skip : str or list of str, optional
        Tasks to read, and tasks to leave out, from logs of several tasks. Tasks without a
        confidence are skipped, and `inferred` names them.
    acc_norm : {"characters", "bytes"}, optional
        Divide the log-likelihood of each choice by its length in this unit, as the harness does
        for its metrics acc_norm and acc_bytes.
    percent : bool, default False
        Whether `y_proba` is in percent, as 85 or "85%".
    words : mapping of str to float, optional
        The probability that each word of `y_proba` stands for, such as ``{"likely": 0.7}``; None
        for a refusal. With `percent`, a column may have words and percentages.
    confidence : {"auto"}, optional
        Read each confidence by the rule for its form: words of `words`, "85%", "85 out of 100",
        numbers up to 1 and above 1, refusals, missing values. `inferred` has the number of each
        form; 1, which may be 1 % or certain, is an error. Labels say whether the answer was right.
    refusals : {"excluded", "wrong"}, optional
        How to treat answers without a confidence: drop them, or count them as wrong answers at
        confidence 0; by default according to `missing`.
    answer, gold : str, optional
        Columns of answers and of right answers, instead of `y_true`: a row is 1 if both are equal.
    columns : str or list of str, optional
        Further columns to read as text: slices, clusters, ids.
    progress : bool, optional
        Whether to draw a line of rows and rate; by default only on a terminal.

    Returns
    -------
    FileArrays
        `y_true`, `y_proba`, `sample_weight`, `class_names`, `inferred`, `n_missing`, `columns`,
        `votes`, `vote_table`.

    Raises
    ------
    InputError
        If a file, column or value cannot be read; the message names the file and its first bad row.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import calibrant as cal
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "answers.jsonl"
    >>> _ = file.write_text('{"correct": 1, "confidence": 0.9}\n{"correct": 0, "confidence": 0.4}')
    >>> rows = cal.read_file(file)
    >>> rows.y_true.tolist(), rows.y_proba.tolist()
    ([1, 0], [0.9, 0.4])
    """
    wanted = [columns] if isinstance(columns, str) else list(columns or ())
    request = ReadRequest.build(
        path,
        from_logits=from_logits,
        from_logprobs=from_logprobs,
        percent=percent,
        words=words,
        confidence=confidence,
        answer=answer,
        gold=gold,
        missing=missing,
        acc_norm=acc_norm,
        refusals=refusals,
        y_true=y_true,
        y_proba=y_proba,
        sample_weight=sample_weight,
        classes=classes,
        format=format,
        filter=filter,
        task=task,
        skip=skip,
        votes=votes,
        counts=counts,
        item=item,
        annotator=annotator,
        others=dict.fromkeys(wanted, "columns"),
    )
    files, rows = _read(request, list, show=progress)
    return FileArrays(
        as_answers(rows.y_true) if rows.answers else rows.y_true,
        rows.y_proba,
        rows.sample_weight,
        rows.chosen.class_names,
        files.messages if rows.votes is None else rows.messages,
        rows.n_missing,
        rows.others,
        rows.votes,
        rows.vote_table,
    )


def _read(
    request: ReadRequest,
    work: Callable[[Iterator[Batch]], list[Batch]],
    *,
    at_most: int | None = None,
    **progress: Any,
) -> tuple[FileRows, Rows]:
    """Read the files of a request: the files, and the rows of the batches that `work` returns for
    each piece (independently readable part). `progress` are options of the line that shows
    progress. Raise TooLarge at once where footers tell that there are more than `at_most` rows.
    """
    _require_others(request)
    files = file_rows(request)
    # If rows may be dropped, the number of rows left is unknown.
    if at_most is not None and request.missing == "error" and files.n_rows > at_most:
        raise TooLarge
    with RowProgress(files.n_bytes, **progress) as shown:
        batches = [batch for piece in over_pieces(files, work, shown) for batch in piece]
    return files, with_votes(_combine(files, batches), request)


def _require_others(request: ReadRequest) -> None:
    """Raise InputError if the first file lacks a further column that the request names: of slices,
    items or annotators, for example.
    """
    wanted = dict(request.others)
    wanted |= {str(request.item): "item"} if request.item is not None else {}
    wanted |= {str(request.annotator): "annotator"} if request.annotator is not None else {}
    if wanted:
        reader = open_reader(files_of(request)[0][0])
        for name, option in wanted.items() if reader.names else ():
            require(reader, option, name)


def _check_values(batch: Batch, from_logits: bool) -> None:
    """Raise InputError, with the place in the file, for the first row that no measure can take."""
    if not batch.n:
        return
    samples = batch.samples(from_logits, None, in_memory=True)
    row = first_bad_row(samples, samples.n)
    if row < samples.n:
        raise batch.error_of_row(samples, row)


def _combine(rows: FileRows, batches: list[Batch]) -> Rows:
    """Join the rows of all batches; raise InputError if there are none, or if files have different
    numbers of classes.
    """
    n_missing = sum(batch.n_missing for batch in batches)
    positions = list(_positions(batches))
    nonempty, gappy = [b for b in batches if b.n], [b for b in batches if b.n_missing]
    if not nonempty:
        what = f"{n_missing} rows, each with a missing value" if n_missing else "no rows"
        raise InputError(f"{rows.called} {what}: there is nothing to measure")
    first = nonempty[0]
    for batch in nonempty:
        if batch.y_proba.shape[1:] != first.y_proba.shape[1:]:
            raise InputError(
                f"y_proba has {_width(first)} columns in {first.file}, but {_width(batch)} in "
                f"{batch.file}"
            )
    weights = [batch.sample_weight for batch in nonempty if batch.sample_weight is not None]
    votes = [batch.votes for batch in nonempty if batch.votes is not None]
    return Rows(
        np.concatenate([batch.y_true for batch in nonempty]),
        np.concatenate([batch.y_proba for batch in nonempty]),
        np.concatenate(weights) if weights else None,
        {
            name: np.concatenate([batch.by[j].of_rows() for batch in nonempty])
            for j, name in enumerate(rows.chosen.by)
        },
        np.concatenate(positions),
        rows.chosen,
        len(rows.files),
        n_missing,
        (*rows.messages, *dict.fromkeys(batch.taken for batch in nonempty if batch.taken)),
        None if rows.refusals is None else rows.forms[UNANSWERED],
        np.concatenate(votes) if votes else None,
        others_dropped={
            name: np.concatenate([batch.by_dropped[j].of_rows() for batch in gappy])
            for j, name in enumerate(rows.chosen.by if gappy else ())
        },
    )


def with_votes(rows: Rows, request: ReadRequest) -> Rows:
    """The rows with the number of votes behind each, if that is known. If the request names a
    column of items, each row is one vote, and the result has one row per item, with counts as
    labels.
    """
    if not request.labelled:
        return rows
    if request.item is None:
        asked = request.counts is not None
        labels, votes = counted_labels(rows.y_true, rows.y_proba, rows.votes, asked=asked)
        notes = () if votes is None else (f"votes per row: {spread_of(votes)}",)
        return replace(rows, y_true=labels, votes=votes, messages=(*rows.messages, *notes))
    kept = [name for name in rows.others if name not in (request.item, request.annotator)]
    parts: dict[str, NDArray[Any] | None]
    parts = {"y_proba": rows.y_proba, "sample_weight": rows.sample_weight}
    classes = rows.class_names or tuple(range(rows.y_proba.shape[1] if rows.multiclass else 2))
    annotators = None
    if request.annotator is not None:
        annotators = rows.other("annotator", request.annotator)
    items = rows.other("item", request.item)
    parts |= {name: rows.others[name] for name in kept}
    table, first = votes_by_item(rows.y_true, parts, items, annotators, tuple(classes))
    spread = spread_of(table.votes)
    note = f"each row is a vote: {table.item_index.size:,} on {first.size:,} items, {spread} each"
    return replace(
        rows.take(first),
        y_true=table.counts,
        votes=table.votes,
        vote_table=table,
        messages=(*rows.messages, note),
    )


def _width(batch: Batch) -> int:
    """The number of columns of a batch's predictions."""
    return int(batch.y_proba.shape[1]) if batch.y_proba.ndim == 2 else 1


def _positions(batches: Iterable[Batch]) -> Iterator[Index]:
    """Yield the positions of each batch's rows among all rows of the files, dropped
    ones included.
    """
    first = 0
    for batch in batches:
        rows = np.arange(batch.chunk.n_rows) if batch.rows is None else batch.rows
        yield first + rows
        first += batch.chunk.n_rows
