"""Measure: what an entry of the catalogue says about a measure, and what follows from it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from calibrant._core.bin_tables import BinTable
from calibrant._core.typing import Array, Shape
from calibrant._measures.cell_formulas import CellSums, each_draw, levels_of_draws
from calibrant._measures.ranking import RowInfluence
from calibrant._measures.statistics import STATISTICS, OneTable, Statistics

# True, False, or None where the property does not apply.
Claim = bool | None


@dataclass(frozen=True)
class Claims:
    """What a measure promises, for its default rule of binning.

    Truthful: reporting the true probabilities minimises its expectation, at every n. Continuous: it
    does not jump when a prediction moves by a hair. Complete: it tends to 0 for calibrated
    predictors. Sound: for the others it stays above what calibrated ones tend to. Both are limits
    where bins grow in number while each still fills, and where the noise of the logit-smoothed
    error shrinks; sums of squares over W^2 are multiplied by the number of bins. Weighted: weights
    are shares, times a constant they change nothing. `audit` tests every claim.
    """

    truthful: Claim
    continuous: Claim
    complete: Claim
    sound: Claim
    weighted: Claim = True


@dataclass(frozen=True)
class Listed:
    """The lists that include a measure when none is named, and its rank in each; 0: not included.

    Parameters
    ----------
    headline : int, default 0
        The first lines of the report page.
    bins : int, default 0
        The report page's chart of measures against the number of bins.
    recalibration : int, default 0
        The report page's table before and after recalibration.
    compare : int, default 0
        `compare`.
    board : int, default 0
        `compare` of answers that are right or wrong, where that is not the rank in `compare`.
    robustness : int, default 0
        The rank correlations of errors and losses in `compare`.
    monitor : int, default 0
        `Monitor`.
    scale : int, default 0
        `calibrant scale`.
    metric : int, default 0
        The metric for the Hugging Face library `evaluate`.
    clinical : int, default 0
        `clinical_summary`.
    ceiling : int, default 0
        `annotator_ceiling`.
    judge : int, default 0
        The calibration of a judge's scores (`judge`) and of answers (`sampled_answers`).
    summary : int, default 0
        Summaries of an evaluation or a comparison of many measures.
    """

    headline: int = 0
    bins: int = 0
    recalibration: int = 0
    compare: int = 0
    board: int = 0
    robustness: int = 0
    monitor: int = 0
    scale: int = 0
    metric: int = 0
    clinical: int = 0
    ceiling: int = 0
    judge: int = 0
    summary: int = 0


Group = Literal[
    "binned", "unbinned", "truthful", "classwise", "losses", "decomposition", "distribution",
    "ranking",
]  # fmt: skip
# Title and description of each group of measures, in the order of the report page.
GROUPS: dict[Group, tuple[str, str]] = {
    "binned": ("Errors over bins", "gaps between mean prediction and mean target, bin by bin"),
    "unbinned": ("Errors without bins", "smoothed, or in order of the predictions"),
    "truthful": ("Truthful errors", "the true probabilities have the smallest expected value"),
    "classwise": ("Over all classes", "every class against the rest"),
    "losses": ("Losses", "calibration and sharpness together"),
    "decomposition": (
        "The Brier score taken apart", "miscalibration minus discrimination plus uncertainty"
    ),
    "distribution": ("Whole distributions", "soft labels against all predicted probabilities"),
    "ranking": (
        "Accuracy, ranking and abstention",
        "not calibration: how many are right, and whether these have higher predictions",
    ),
}  # fmt: skip

# How a confidence interval is computed: that of a mean of rows, of the rate of outcomes, of the
# Brier score's discrimination, from what each row moves a value by, from the intervals of two
# parts, by test inversion over a family of populations, or by resampling.
IntervalMethod = Literal[
    "mean", "rate", "discrimination", "influence", "parts", "inversion", "bootstrap"
]
# The cost of an interval: a second for any number of rows; time in proportion to the entries of the
# predictions; seconds; or too long unless the measure is named.
Cost = Literal["low", "rows", "medium", "high"]


@dataclass(frozen=True)
class Measure:
    """One entry of the catalogue: everything that Calibrant knows about a measure.

    Parameters
    ----------
    name, title, formula : str
        Its name in code, its name in full, and its formula in short.
    notion : str
        The kind of calibration: "scalar" (P(y = 1), or the top label), "confidence", "confidence by
        class" (given the class that is predicted), "classwise", "full", "loss" or "distribution".
    shapes : tuple of {"binary", "multiclass"}
        The shapes of predictions that it is defined for: (n,), (n, k), or both.
    statistic : str
        A name of `STATISTICS`: what `compute` reads.
    low, high : float
        The ends of its range.
    claims : Claims
        The properties that it is claimed to have.
    reference : str
        The paper that it comes from.
    function : str
        Its public function, with options if it is a variant: ``ece(norm='l2')``.
    compute : callable
        From `Statistics` to its value.
    higher_is_better : bool, default False
        Whether larger values are better.
    on_request : bool, default False
        Whether it is computed only if named, or in a list that includes it.
    soft_only : bool, default False
        Whether `evaluate` leaves it out for hard labels, where it says nothing of its own.
    of_tables : callable, optional
        Its value for every class of a bin table at once. This and the next three are for speed:
        without them `compute` is called for each of many samples.
    of_population : callable, optional
        The same of a whole population, where the measure corrects for the number of rows.
    of_cells : callable, optional
        Its value for many drawn samples from sums over fine cells, where it is not of bins.
    of_vectors : callable, optional
        Its value for residuals (draws, cells times classes) and total weights (draws,).
    high_text : str, default ""
        The upper end in words, where it depends on the data.
    power : int, default 1
        The power of a gap that a value is: 2 for sums of squares (see `gap_scale`).
    form : {"", "squares", "nearness"}, default ""
        The quadratic form of the mean residuals R that it is, where it is one: the sum of their
        squares, as a mean over classes, or ``sum_ij (1 - |u_i - u_j|) R_i R_j``. Its interval is
        then found in closed form.
    rate : float, default 0.5
        The noise of calibrated predictions, as a gap, falls like n to the minus this.
    aliases : tuple of str, default ()
        Its other names, in papers and other libraries.
    group : str
        The group of measures that it belongs to, a key of `GROUPS`.
    rank : int, default 100
        Its rank in that group; measures of equal rank keep the catalogue's order.
    label, soft_label : str, default ""
        The field's name for it in sentences, and for soft labels if that is another; else the
        title is used.
    listed, listed_multiclass : Listed, optional
        The lists that include it when no measures are named; for (n, k) predictions, if those are
        others.
    attribute : str, default ""
        The attribute of what its function returns that it is, if that is no number.
    interval : str, default ""
        How its confidence interval is computed; "" for the way that fits its statistic.
    null_mean : callable, optional
        From predictions u and weights w to its exact mean where u are calibrated and labels hard.
    cost, cost_soft : {"", "low", "rows", "medium", "high"}, default ""
        The cost of its interval, and for soft labels, if that differs; "" for the cost of its
        statistic.
    gaps : {"mean", "root", "largest"}, default "mean"
        How gaps make up its value: a fault in a share s of the rows counts s, sqrt(s), or in full.
    equal_mass : bool, default False
        Whether it is defined by bins of equal mass, whatever rule is given for all measures.
    needs_order : bool, default True
        Whether it needs the order of the predictions, where its statistic has it.
    loss : str, default ""
        The field of `LossSums` whose mean it is, or 1 minus that mean.
    spread : callable, optional
        From `Statistics` to its value if every row had a gap of 1, where it is a square of gaps
        that is not over bins; 1 by default.
    moved : callable, optional
        From the scalar problem to what each row moves its value by: its interval, and that of a
        difference of two predictors, is then found from these. Only the order of predictions
        counts: it is given the number of each row's among the distinct ones, z and w.
    vote_excess : callable, optional
        From predictions (n, k) and the variances of the labels' shares (n, k) to what the noise of
        votes adds to the square of each row: it can then be taken out exactly.
    vote_model : bool, default False
        Whether it is neither linear nor a square of the labels, row by row: votes then identify it
        only in part, and it has bounds.
    parts : tuple of Measure, optional
        The two measures that it is the difference of.
    folds : bool, default False
        Whether it maps (n,) predictions to one of two classes by the threshold 1/2: it is not
        defined if labels say whether an answer was right.
    label_bounds : {"", "bins", "distance", "score"}, default ""
        How its bounds are found if labels are only known to lie between two bounds (`Between`): it
        grows with each |R_B| of its bins and reads no other sum of labels; it is a distance of each
        row to its label; or it falls as the label's mass moves to what is predicted most.
    certifiable : bool, default False
        Whether it, or its root if `power` is 2, is the largest mean of ``f(u) (u - z)`` over
        functions f between -1 and 1 that are fixed before the rows are seen: `certify` has a bound.
    """

    name: str
    title: str
    formula: str
    notion: str
    shapes: tuple[Shape, ...]
    statistic: str
    low: float
    high: float
    claims: Claims
    reference: str
    function: str
    compute: Callable[[Statistics], float]
    higher_is_better: bool = False
    soft_only: bool = False
    on_request: bool = field(default=False, kw_only=True)
    of_tables: Callable[[BinTable], Array] | None = None
    of_population: Callable[[BinTable], Array] | None = None
    of_cells: Callable[[CellSums], Array] | None = None
    of_vectors: Callable[[Array, Array], Array] | None = None
    high_text: str = ""
    power: int = 1
    form: Literal["", "squares", "nearness"] = field(default="", kw_only=True)
    rate: float = 0.5
    aliases: tuple[str, ...] = ()
    group: Group = field(kw_only=True)
    rank: int = 100
    label: str = ""
    soft_label: str = ""
    listed: Listed = Listed()
    listed_multiclass: Listed | None = None
    attribute: str = ""
    interval: IntervalMethod | Literal[""] = ""
    null_mean: Callable[[Array, Array], float] | None = None
    cost: Cost | Literal[""] = ""
    cost_soft: Cost | Literal[""] = ""
    gaps: Literal["mean", "root", "largest"] = "mean"
    equal_mass: bool = False
    needs_order: bool = True
    loss: str = ""
    spread: Callable[[Statistics], float] | None = None
    moved: Callable[..., RowInfluence] | None = None
    vote_excess: Callable[[Array, Array], Array] | None = None
    vote_model: bool = False
    parts: tuple[Measure, Measure] | None = field(default=None, kw_only=True)
    folds: bool = field(default=False, kw_only=True)
    label_bounds: Literal["", "bins", "distance", "score"] = field(default="", kw_only=True)
    certifiable: bool = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        if self.statistic not in STATISTICS:
            raise ValueError(f"{self.name}: there is no statistic {self.statistic!r}")

    @property
    def range(self) -> str:
        """The smallest and the largest value as text: "[0, 1]"."""
        return f"[{self.low:g}, {self.high_text or format(self.high, 'g')}]"

    @property
    def is_error(self) -> bool:
        """Whether it is a calibration error: near 0 where predictions are calibrated."""
        return self.notion not in ("loss", "distribution") and self.claims.complete is not None

    @property
    def is_ranking(self) -> bool:
        """Whether it is about right answers and their order alone.

        Calibration then has no part in it, and calibrated predictions have no value of their own.
        """
        return self.group == "ranking"

    @property
    def in_place_of_calibration(self) -> str:
        """What it measures if not calibration: "accuracy" or "ranking"."""
        return "ranking" if self.needs_order and not self.loss else "accuracy"

    @property
    def is_binned(self) -> bool:
        """Whether its value depends on a rule of binning."""
        return STATISTICS[self.statistic].is_binned

    @property
    def scale(self) -> str:
        """What its values are, as the axis of a chart says: values of one scale share an axis."""
        if self.notion in ("loss", "distribution") or self.is_ranking:
            return self.title
        if self.gaps == "largest":
            return "largest gap"
        squares = self.power == 2 and (self.is_binned or self.spread is not None)
        return "squared gap" if squares else "mean gap"

    @property
    def interval_method(self) -> IntervalMethod:
        """How its confidence interval is computed."""
        if self.interval:
            return self.interval
        if self.moved is not None:
            return "influence"
        if self.parts is not None:
            return "parts"
        if STATISTICS[self.statistic].problem == "rows":
            return "mean"
        return "inversion" if self._batch_formula is not None else "bootstrap"

    @property
    def votes_add(self) -> bool:
        """Whether the noise of votes adds to its value, whatever the number of rows."""
        return self.vote_model or (self.vote_excess is not None and not self.is_binned)

    @property
    def vote_noise(self) -> str:
        """What the noise of votes, where labels are shares of them, does to its value."""
        if self.vote_model:
            return (
                "adds to the value at any number of rows; votes identify the rest only in part, "
                "so intervals are bounds"
            )
        if self.votes_add:
            return (
                "adds to the value at any number of rows; removed exactly, by the variance of "
                "each row's shares"
            )
        if self.vote_excess is not None:
            return "averages out over many rows; removed exactly for these rows"
        return "averages out over many rows"

    @property
    def _batch_formula(self) -> object:
        """The formula that computes the measure for many samples at once, of whatever kind; None if
        there is none.
        """
        return self.table_formula or self.cell_formula or self.of_vectors

    @property
    def table_formula(self) -> Callable[[BinTable], Array] | None:
        """A function from a bin table to its value for each class, (classes,).

        None where it is not computed from one bin table.
        """
        statistic = STATISTICS[self.statistic]
        if self.parts is not None:
            return None
        if self.of_tables is not None or not statistic.is_binned or statistic.problem == "full":
            return self.of_tables if statistic.is_binned else None

        def formula(table: BinTable) -> Array:
            parts = (OneTable(table.of_class(r)) for r in range(table.n_classes))
            return np.array([self.compute(part) for part in parts])

        return formula

    @property
    def cell_formula(self) -> Callable[[CellSums], Array] | None:
        """A function from sums over fine cells to its value in each of many drawn samples.

        None where it has no such formula. A cell holds rows with nearly the same prediction.
        """
        own = self.of_cells is not None or self.interval or self.moved is not None
        if own or self.statistic != "levels":
            return self.of_cells
        if self.of_tables is not None:
            many = self.of_tables
            return lambda sums: many(levels_of_draws(sums))
        return lambda sums: each_draw(sums, lambda table: self.compute(OneTable(table)))

    def resampling_cost(self, *, soft: bool = False) -> Cost:
        """What its confidence interval costs, on soft labels or on others; see `Cost`."""
        if soft and self.cost_soft:
            return self.cost_soft
        if self.cost:
            return self.cost
        if self.statistic == "losses":
            return "rows"
        of_few_bins = self.of_tables is not None and not STATISTICS[self.statistic].over_classes
        return "low" if of_few_bins and self.is_binned else "medium"

    def called(self, *, soft: bool = False) -> str:
        """The name of the measure in a sentence: "ECE", or "SMECE" for soft labels."""
        return (self.soft_label if soft else "") or self.label or self.title

    def rank_in(self, where: str, shape: Shape) -> int:
        """Its rank in a list of measures (a field of `Listed`); 0 where it is not included."""
        other = self.listed_multiclass if shape == "multiclass" else None
        listed = other or self.listed
        own = listed.board if where == "compare" and shape == "answers" else 0
        return own or int(getattr(listed, where))


def only_distance(measures: Iterable[Measure]) -> str | None:
    """The one distance between distributions that the measures read, a field of `LossSums`; None if
    there are none or several.
    """
    read = {m.loss for m in measures if m.notion == "distribution"}
    return (read.pop() or None) if len(read) == 1 else None
