"""sampled_answers(): calibration where every question was answered several times."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calibrant._api.evaluate import evaluate
from calibrant._api.rows import read_groups
from calibrant._core.binning import Bins
from calibrant._core.errors import InputError, counted
from calibrant._core.messages import name_of
from calibrant._core.typing import Array, Index, Mask
from calibrant._core.validation import check_level, check_seed, public
from calibrant._data.columns import pick
from calibrant._data.missing import find_missing_rows
from calibrant._data.readers.written import answer_key
from calibrant._inference.blocks import as_groups
from calibrant._measures.catalogue import listed
from calibrant.results._evaluation import Evaluation
from calibrant.results._sampled_answers import SampledAnswers, SampledConfidence

_MEASURES = tuple(measure.name for measure in listed("judge", "binary"))


@public
def sampled_answers(
    question: ArrayLike,
    answer: ArrayLike,
    correct: ArrayLike,
    confidence: ArrayLike | None = None,
    *,
    bins: Bins = 15,
    level: float = 0.95,
    seed: int = 0,
    data: Any = None,
) -> SampledAnswers:
    r"""Measure calibration if a model has answered every question several times.

    Suppose c of the k answers to a question equal the most frequent (modal) one. Self-consistency
    uses their share c / k as the confidence that the modal answer is right. The same answers choose
    and measure it, so the share is too high. Held out, it is how often an answer agrees with the
    modal answer of the other k - 1:

    .. math:: \frac{1}{k} \sum_{i=1}^{k} \Pr[a_i = \mathrm{mode}(a_{-i})]

    where ties are broken at random. A stated confidence is compared with its own answer, with
    questions as clusters; and its mean over a question's answers is compared with the share of
    right answers, the capability of the question (SMECE with counts, whose interval is for
    infinitely many answers).

    Parameters
    ----------
    question : array-like of shape (n,) or str
        The question of each answer, by any name. With `data`, a column's name.
    answer : array-like of shape (n,) or str
        The answers: equal as numbers, or as text without the spaces around it. A missing answer
        agrees with none.
    correct : array-like of shape (n,) or str
        Whether each answer is right: 0/1 or truth values.
    confidence : array-like of shape (n,) or str, optional
        Confidence stated with each answer, in [0, 1].
    bins (equal-width)
    level
    seed
    data (in memory)

    Returns
    -------
    SampledAnswers
        A line for each confidence, with ECE and interval; `evaluations` has all measures by line.

    Raises
    ------
    InputError
        If columns differ in length or have values that cannot be read, or if no question has two
        answers.

    References
    ----------
    Wang et al. (2023), self-consistency, arXiv:2203.11171; Wu et al. (2026), capability
    calibration, arXiv:2602.13540; arXiv:2605.08432 on same-sample and held-out shares.

    Examples
    --------
    >>> import numpy as np
    >>> import calibrant as cal
    >>> rng = np.random.default_rng(0)
    >>> question = np.repeat(np.arange(300), 8)
    >>> skill = rng.beta(2, 1, 300)[question]  # chance of the right answer
    >>> answer = np.where(rng.random(2400) < skill, 0, rng.integers(1, 4, 2400))
    >>> result = cal.sampled_answers(question, answer, answer == 0)
    >>> [round(line.mean_confidence, 2) for line in result]
    [0.69, 0.63]
    """
    check_level(level)
    check_seed(seed)
    given = _Answers.read(question, answer, correct, confidence, data)
    votes = [_vote(given, rows) for rows in given.by_question]
    if not any(vote.k > 1 for vote in votes):
        raise InputError(
            f"every {name_of('question')} has one answer: self-consistency needs two or more. If "
            "that column numbers the answers, name the column of questions"
        )
    several = [vote for vote in votes if vote.k > 1]
    right = np.array([vote.right for vote in several], dtype=np.int64)
    lines: dict[str, tuple[Any, Any, Any]] = {
        "share of the modal answer": (right, [vote.share for vote in several], None),
        "the same, held out": (right, [vote.held_out for vote in several], None),
    }
    if given.confidence is not None:
        lines["stated, of an answer"] = (given.correct, given.confidence, given.question)
        correct = [given.correct[rows] for rows in given.by_question]
        counts = np.array([[(1 - each).sum(), each.sum()] for each in correct], dtype=np.int64)
        stated = [float(given.confidence[rows].mean()) for rows in given.by_question]
        lines["stated, of a question"] = (counts, stated, None)
    evaluations = {
        name: evaluate(
            y,
            np.asarray(p, dtype=np.float64),
            measures=_MEASURES,
            uncertainty=True,
            groups=groups,
            bins=bins,
            level=level,
            seed=seed,
        )
        for name, (y, p, groups) in lines.items()
    }
    return SampledAnswers(
        rows=tuple(_line(name, *lines[name][:2], each) for name, each in evaluations.items()),
        evaluations=evaluations,
        n=len(votes),
        n_answers=given.question.size,
        level=float(level),
        notes=_notes(given, votes),
    )


def _line(name: str, y: Array, p: Sequence[float], evaluation: Evaluation) -> SampledConfidence:
    """The line of a confidence p, compared with labels or counts y."""
    mean = float(np.mean(y)) if y.ndim == 1 else float(np.mean(y[:, 1] / y.sum(axis=1)))
    interval = evaluation.estimate("ece").interval
    ece, low, high = evaluation["ece"], np.nan, np.nan
    if interval is not None:
        ece, low, high = interval.estimate, interval.low, interval.high
    brier = evaluation["brier"]
    return SampledConfidence(name, len(y), float(np.mean(p)), mean, ece, low, high, brier)


def _notes(given: _Answers, votes: Sequence[_Vote]) -> tuple[str, ...]:
    """What the reader should know of ties, contradictions, gaps and single answers."""
    notes = []
    for n, text in (
        (sum(vote.k < 2 for vote in votes), "with one answer dropped from self-consistency"),
        (sum(vote.tied for vote in votes), "with several modal answers: the first is used"),
        (
            sum(vote.contradicted for vote in votes),
            "whose equal answers were judged differently: the majority is used",
        ),
    ):
        if n:
            notes.append(f"{counted(n, 'question')} {text}")
    if given.gaps.any():
        gone = counted(int(given.gaps.sum()), "answer")
        notes.append(f"{gone} missing: a missing answer agrees with no other")
    if given.confidence is None:
        notes.append("no stated confidence was given, so there is no capability calibration")
    return tuple(notes)


@dataclass(frozen=True)
class _Vote:
    """What the answers to a question say: how many, the share of the modal one, that held out,
    whether it is right, whether others are as frequent, and whether it was judged both ways.
    """

    k: int
    share: float
    held_out: float
    right: bool
    tied: bool
    contradicted: bool


def _vote(given: _Answers, rows: Index) -> _Vote:
    """The vote of the answers in these rows."""
    keys = [given.keys[row] for row in rows]
    counts = Counter(keys)
    modal, c = counts.most_common(1)[0]  # of equal counts the first given
    second = [n for key, n in counts.items() if key != modal]
    runner_up = max(second, default=0)
    # Without one of its own, the modal answer is still the most frequent, or one of the tied.
    ties = 1 + second.count(c - 1) if c - 1 == runner_up else 1
    stays = 0.0 if c == runner_up else 1.0 / ties
    verdicts = given.correct[rows[[key == modal for key in keys]]]
    return _Vote(
        k=len(keys),
        share=c / len(keys),
        held_out=c / len(keys) * stays,
        right=float(verdicts.mean()) > 0.5,
        tied=c == runner_up,
        contradicted=bool(verdicts.min() != verdicts.max()),
    )


@dataclass(frozen=True, eq=False)
class _Answers:
    """The answers in order: their questions as numbers, keys that are equal for equal answers, a
    mask of missing ones, whether they are right, and their stated confidence.
    """

    question: Index
    keys: list[Any]
    gaps: Mask
    correct: NDArray[np.int64]
    confidence: Array | None
    by_question: list[Index]

    @classmethod
    def read(cls, question: Any, answer: Any, correct: Any, confidence: Any, data: Any) -> _Answers:
        """Read the columns; raise InputError for what cannot be read."""
        names, no_name = read_groups(question, data)
        n = names.size
        if no_name.any():
            raise InputError(
                f"{name_of('question')} is missing in row {int(np.argmax(no_name))}: every answer "
                "needs its question"
            )
        texts, gaps = find_missing_rows(_column_of(answer, "answer", data), "answer")
        right = _numbers(correct, "correct", data, n)
        if not np.isin(right, (0.0, 1.0)).all():
            row = int(np.argmin(np.isin(right, (0.0, 1.0))))
            raise InputError(f"{name_of('correct')}[{row}] is {right[row]:g}: it must be 0 or 1")
        if texts.shape != (n,):
            raise InputError(
                f"{name_of('answer')} has {texts.size} rows, {name_of('question')} {n}"
            )
        stated = None if confidence is None else _numbers(confidence, "confidence", data, n)
        codes = as_groups(names, n)
        order = np.argsort(codes, kind="stable")
        keys = [
            ("missing", row) if gap else answer_key(value)
            for row, (value, gap) in enumerate(zip(texts.tolist(), gaps.tolist(), strict=True))
        ]
        by_question = np.split(order, np.flatnonzero(np.diff(codes[order])) + 1)
        return cls(codes, keys, gaps, right.astype(np.int64), stated, by_question)


def _column_of(given: Any, argument: str, data: Any) -> Any:
    """A column as it was given, or the one that it names in `data`."""
    return given if data is None else pick(data, given, argument)


def _numbers(given: Any, argument: str, data: Any, n: int) -> Array:
    """A column of n numbers in [0, 1] without gaps; raise InputError for any other."""
    array, gaps = find_missing_rows(_column_of(given, argument, data), argument)
    if array.shape != (n,) or array.dtype.kind not in "biuf":
        raise InputError(
            f"{name_of(argument)} must be numbers, one for each of the {n} answers; got shape "
            f"{array.shape} of {array.dtype}"
        )
    values = array.astype(np.float64)
    wrong = gaps | ~((values >= 0.0) & (values <= 1.0))
    if wrong.any():
        row = int(np.argmax(wrong))
        what = "missing" if gaps[row] else f"{values[row]:g}"
        raise InputError(
            f"{name_of(argument)}[{row}] is {what}: every answer needs a number from 0 to 1. Drop "
            "rows without one"
        )
    return values
