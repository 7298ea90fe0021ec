"""JudgedRate: the rate behind the answers of a judge that is itself a model."""

from __future__ import annotations

import math
from dataclasses import dataclass

from calibrant._core.errors import counted
from calibrant.results._base import TableOfRows
from calibrant.results._evaluation import Evaluation
from calibrant.results._rendering import interval_text, shown

# The names of rows, and what must be true for the first four to be near the true rate.
POWERED, ROGAN_GLADEN, HUMAN, ALONE = (
    "prediction-powered rate",
    "Rogan-Gladen rate",
    "rate by human labels alone",
    "rate by the judge alone",
)
HOLDS = {
    POWERED: "labelled rows are a random sample of all rows",
    ROGAN_GLADEN: "sensitivity and specificity are the same in the unlabelled rows",
    HUMAN: "labelled rows are a random sample of all rows",
    ALONE: "false positives and false negatives are equally frequent",
}


@dataclass(frozen=True)
class JudgedQuantity:
    """One line of the table: a rate, or how far judge and people agree.

    Attributes
    ----------
    quantity : str
        Its name, such as "prediction-powered rate" or "sensitivity".
    value, low, high : float
        The estimate and its confidence interval; NaN where there is none.
    holds_where : str
        What must be true of the rows; empty for what is only about the labelled rows.

    Examples
    --------
    >>> import calibrant as cal
    >>> result = cal.judge([1, 0, 1, 0] * 10, [1, 0, 1, 1] * 10)
    >>> result["sensitivity"].value
    1.0
    """

    quantity: str
    value: float
    low: float
    high: float
    holds_where: str = ""


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class JudgedRate(TableOfRows[JudgedQuantity]):
    """The true rate, corrected for a judge's errors, and the reliability of the judge.

    Made by `judge`; look a line of the table up by its name.

    Attributes
    ----------
    rows : tuple of JudgedQuantity
        The rates first, then the judge's bias and its agreement with people.
    n : int
        Rows with a human label.
    n_unlabelled : int
        Rows that only the judge has answered.
    level : float
        Level of the intervals.
    threshold : float or None
        The score from which the judge's answer counts as yes; None if answers are 0 and 1.
    p_value : float
        The p-value of the hypothesis that the judge's mean answer is the same in labelled and
        unlabelled rows, as it is if labelled rows are a random sample; NaN without unlabelled rows.
    width : float
        The interval width that `labels_needed` refers to.
    labels_needed : int
        The number of human labels needed for it, including existing ones.
    rows_needed : tuple of two ints, or None
        Human labels, and answers by the judge in all, that would give it with fewer labels than
        without the judge; None if a judge like this saves none.
    calibration : Evaluation or None
        ECE, smooth ECE and Brier score of the judge's scores in the labelled rows, with intervals.
    notes : tuple of str
        What to know about the numbers.

    Examples
    --------
    >>> import calibrant as cal
    >>> result = cal.judge([1, 0, 1, 0] * 25, [1, 0, 1, 1] * 25, [1, 1, 1, 0] * 200)
    >>> round(result.rate, 2), result.rate == result["prediction-powered rate"].value
    (0.5, True)
    """

    _json_keys = (
        "n n_unlabelled level rate interval kappa threshold p_value width labels_needed quantities "
        "calibration notes"
    )
    _table_key = "quantities"

    rows: tuple[JudgedQuantity, ...]
    n: int
    n_unlabelled: int
    level: float
    threshold: float | None
    p_value: float
    width: float
    labels_needed: int
    rows_needed: tuple[int, int] | None = None
    calibration: Evaluation | None = None
    notes: tuple[str, ...] = ()

    def __getitem__(self, name: str) -> JudgedQuantity:
        """Give the line of this name; an error if there is none."""
        return self._row_named(name, f"there is no line {name!r} in the table", "quantity")

    @property
    def rate(self) -> float:
        """The prediction-powered rate; without unlabelled rows, that of the human labels."""
        return self.rows[0].value

    @property
    def interval(self) -> tuple[float, float]:
        """The confidence interval of `rate`."""
        return self.rows[0].low, self.rows[0].high

    @property
    def kappa(self) -> float:
        """Cohen's kappa of judge and people; NaN where it is not defined."""
        return next((row.value for row in self.rows if row.quantity == "kappa"), math.nan)

    @property
    def title(self) -> str:
        """How many rows people and the judge have answered, in one line."""
        alone = f", {counted(self.n_unlabelled, 'row')} with only the judge's answer"
        return f"A judge on {counted(self.n, 'row')} with a human label" + (
            alone if self.n_unlabelled else ""
        )

    @property
    def sentence(self) -> str:
        """The rate, and how far off the judge alone is, in words."""
        bias = self["bias of the judge"]
        way = "too high" if bias.value > 0 else "too low"
        off = (
            f"its answers are {abs(bias.value):.3f} {way} on average"
            if bias.low > 0 or bias.high < 0
            else "its answers have no significant bias in the labelled rows"
        )
        return (
            f"The rate is {shown(self.rate)} ({interval_text(*self.interval, self.level)}). The "
            f"judge alone gives {shown(self[ALONE].value)}: {off}."
        )

    def _messages(self) -> tuple[str, ...]:
        """The sentence, how many labels are still needed, the p-value, and the notes."""
        return (self.sentence, self._need(), *self._random_part(), *self.notes)

    def _need(self) -> str:
        """How many more labels an interval of the wanted width needs, or what else gives it."""
        more, total = self.labels_needed - self.n, self.n + self.n_unlabelled
        needs = f"An interval of width {self.width:.3g} needs {self.labels_needed:,} human labels"
        if more <= 0:
            return f"The interval is already narrower than {self.width:.3g}."
        if self.labels_needed <= total:
            return f"{needs} in all, {more:,} more."
        reached = self.width * math.sqrt(self.labels_needed / total)
        if self.n_unlabelled:
            text = (
                f"{needs}, more than these {counted(total, 'row')}: labels for all of them would "
                f"give about {reached:.3g}."
            )
        else:
            text = f"{needs}, {more:,} more. All of these {counted(total, 'row')} have one already."
        if self.rows_needed is None:
            return text
        labels, answers = self.rows_needed
        return (
            f"{text} With {answers:,} answers by the judge in all, about {labels:,} labels "
            "would suffice."
        )

    def _random_part(self) -> tuple[str, ...]:
        """The p-value of labelled rows as a random sample, in words; () without unlabelled rows."""
        if math.isnan(self.p_value):
            return ()
        return (
            "The judge's mean answer in labelled and in unlabelled rows: p-value "
            f"{self.p_value:.2g} of a difference (small if labelled rows are no random sample).",
        )
