"""SampledAnswers: calibration where every question was answered several times."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from calibrant._core.errors import counted
from calibrant.results._base import TableOfRows
from calibrant.results._evaluation import Evaluation
from calibrant.results._rendering import interval_text, shown
from calibrant.results._with_page import WithPage


@dataclass(frozen=True)
class SampledConfidence:
    """One line of the table: a confidence, and what it is held against.

    Attributes
    ----------
    confidence : str
        "share of the modal answer", "the same, held out", "stated, of an answer" or "stated, of a
        question".
    n : int
        Its rows: questions, or answers.
    mean_confidence, mean_right : float
        The means of both sides.
    ece, low, high : float
        Bias-corrected ECE with its confidence interval; SMECE for a question's share of right
        answers.
    brier : float
        The Brier score.

    Examples
    --------
    >>> import calibrant as cal
    >>> q, a = [i // 4 for i in range(80)], ["x", "x", "y", "x"] * 20
    >>> cal.sampled_answers(q, a, [1, 1, 0, 1] * 20).rows[0].mean_confidence
    0.75
    """

    confidence: str
    n: int
    mean_confidence: float
    mean_right: float
    ece: float
    low: float
    high: float
    brier: float


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class SampledAnswers(WithPage, TableOfRows[SampledConfidence]):
    """Calibration of confidences if every question was answered several times.

    Made by `sampled_answers`; look a line up by its name.

    Attributes
    ----------
    rows : tuple of SampledConfidence
        The share of the modal answer, plain and held out, and stated confidences if there are any.
    evaluations : dict of str to Evaluation
        All measures of every line, with bins and intervals.
    n : int
        Number of questions.
    n_answers : int
        Number of answers.
    level : float
        Level of the intervals.
    notes : tuple of str
        What to know about the numbers.

    Examples
    --------
    >>> import calibrant as cal
    >>> q, a = [i // 4 for i in range(80)], ["x", "x", "y", "x"] * 20
    >>> result = cal.sampled_answers(q, a, [1, 1, 0, 1] * 20)
    >>> result["share of the modal answer"].mean_right, result.n
    (1.0, 20)
    """

    _json_keys = "n n_answers level confidences evaluations notes"
    _table_key = "confidences"

    rows: tuple[SampledConfidence, ...]
    evaluations: Mapping[str, Evaluation]
    n: int
    n_answers: int
    level: float
    notes: tuple[str, ...] = ()

    def __getitem__(self, name: str) -> SampledConfidence:
        """Give the line of this name; an error if there is none."""
        return self._row_named(name, f"there is no line {name!r} in the table", "confidence")

    def _page(self, name: str | None, source: Any) -> str:
        from calibrant.results._pages.small_pages import sampled_page

        return sampled_page(self, name, source)

    @property
    def title(self) -> str:
        """The questions and their answers, in one line."""
        each = self.n_answers / self.n
        return f"{counted(self.n, 'question')}, {self.n_answers:,} answers ({each:.3g} a question)"

    @property
    def sentence(self) -> str:
        """The gap between held-out share and accuracy of the modal answer, in words."""
        line = self.rows[1]
        gap = line.mean_confidence - line.mean_right
        way = "over" if gap > 0 else "under"
        limits = (
            "" if math.isnan(line.low) else f", {interval_text(line.low, line.high, self.level)}"
        )
        return (
            f"The modal answer is right for {shown(line.mean_right)} of the questions, and its "
            f"held-out share is {shown(line.mean_confidence)}: {way}confident by {abs(gap):.3f} on "
            f"average (ECE {shown(line.ece)}{limits})."
        )
