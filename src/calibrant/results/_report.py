"""Report: everything that the report page shows, as data; and the glossary of its measures."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from calibrant._core.errors import counted
from calibrant._core.messages import find_note
from calibrant._data.checks import TWO_COLUMNS
from calibrant._measures.catalogue import Shape
from calibrant._measures.coefficients import Coefficient, find_compared
from calibrant._measures.cutoffs import Cutoffs
from calibrant.results._annotators import Annotators
from calibrant.results._base import Record
from calibrant.results._conventions import Conventions
from calibrant.results._decision_curve import DecisionCurve
from calibrant.results._evaluation import Evaluation
from calibrant.results._reliability import ReliabilityTable
from calibrant.results._reliability_curve import ReliabilityCurve
from calibrant.results._rendering import json_value
from calibrant.results._risk_coverage import RiskCoverage
from calibrant.results._smooth_curve import SmoothCurve
from calibrant.results._vote_profile import VoteProfile


@dataclass(frozen=True)
class Entry:
    """A measure in the glossary of a page.

    Attributes
    ----------
    name, title, formula, range : str
        The measure, as the catalogue has it.
    better : str
        Whether higher or lower values are better, in words.
    claims : dict of str to bool or None
        The properties that it has.
    reference, function : str
        The paper, and the public function.

    Examples
    --------
    >>> import calibrant as cal
    >>> y, p = [0, 1, 1, 0] * 25, [0.2, 0.7, 0.9, 0.4] * 25
    >>> cal.report(y, p, bins=5, measures=["ece"]).glossary[0].title
    'expected calibration error'
    """

    name: str
    title: str
    formula: str
    range: str
    better: str
    claims: dict[str, bool | None]
    reference: str
    function: str


def entry(name: str, shape: Shape) -> Entry:
    """Give the glossary entry of a measure, from the catalogue of measures."""
    measure = find_compared(name, shape)
    better = "higher is better" if measure.higher_is_better else "lower is better"
    if isinstance(measure, Coefficient):
        better = f"better the closer to {measure.target:g}"
    names = ("name", "title", "formula", "range", "reference", "function")
    own = {name: getattr(measure, name) for name in names}
    return Entry(
        **own,
        better=better,
        claims=dict(measure.claims if isinstance(measure, Coefficient) else vars(measure.claims)),
    )


@dataclass(frozen=True, eq=False, kw_only=True)
class BinView:
    """One problem in every number of bins.

    Attributes
    ----------
    labels : str
        The labels that are measured against, in words.
    counts : tuple of int
        The numbers of bins.
    tables : dict of str to tuple of ReliabilityTable
        A table for each of `counts`, by rule.
    values : dict of str to dict of str to list of float
        The measures of those tables, by rule and name.
    curve : SmoothCurve
        The smoothed curve of the smooth calibration error.
    curves : dict of str to ReliabilityCurve
        Curves that follow the rows: "isotonic", which is drawn by default, and "local".
    cutoffs : Cutoffs or None
        The interval of predictions, from `lower` to `upper`, whose gaps add up to most, and that
        sum over all rows, `gap`: its size is the cutoff error.

    Examples
    --------
    >>> import calibrant as cal
    >>> y, p = [0, 1, 1, 0] * 25, [0.2, 0.7, 0.9, 0.4] * 25
    >>> cal.report(y, p, bins=5, measures=["ece"]).views[0].labels
    'labels as given'
    """

    labels: str
    counts: tuple[int, ...]
    tables: dict[str, tuple[ReliabilityTable, ...]]
    values: dict[str, dict[str, list[float]]]
    curve: SmoothCurve
    curves: dict[str, ReliabilityCurve]
    cutoffs: Cutoffs | None = None

    def table(self, rule: str, m: int) -> ReliabilityTable:
        """Give the table of a rule and a number of bins.

        Parameters
        ----------
        rule : {"equal-width", "quantile"}
            The rule of binning.
        m : int
            One of `counts`.

        Returns
        -------
        ReliabilityTable
            The table.
        """
        return self.tables[rule][self.counts.index(m)]

    def to_dict(self, level: float) -> dict[str, Any]:
        """Give the view as JSON has it.

        Parameters
        ----------
        level : float in (0, 1)
            Level of the intervals.

        Returns
        -------
        dict
            `labels`, `counts`, `tables`, `values`, `curve`, `curves` and `cutoffs`.
        """
        tables = {rule: [t._content(level) for t in tables] for rule, tables in self.tables.items()}
        own = vars(self).items()
        return {name: tables if name == "tables" else json_value(value) for name, value in own}


@dataclass(frozen=True)
class MeasureOverBins:
    """One measure over numbers of bins, by one rule.

    Attributes
    ----------
    measure, rule : str
        The measure and the rule.
    counts : tuple of int
        The numbers of bins.
    values : tuple of float
        The values.
    """

    measure: str
    rule: str
    counts: tuple[int, ...]
    values: tuple[float, ...]


@dataclass(frozen=True)
class Change:
    """One measure on the held-out half, before and after recalibration.

    Attributes
    ----------
    measure : str
        The measure.
    before, after : float
        Its values.
    low, high : float or None
        Limits of the change (after less before) from common resamples; None for errors over bins.
    before_limits, after_limits : tuple of float or None
        Limits of the values, for errors over bins.
    before_estimate, after_estimate : float or None
        Bias-corrected values between those limits.
    estimate : float or None
        The change, between its limits `low` and `high`.
    after_noise_95 : float or None
        The noise floor of the recalibrated predictions.

    Examples
    --------
    >>> from calibrant.results import Change
    >>> Change("brier", before=0.2, after=0.15).measure
    'brier'
    """

    measure: str
    before: float
    after: float
    low: float | None = None
    high: float | None = None
    before_limits: tuple[float, float] | None = None
    after_limits: tuple[float, float] | None = None
    after_noise_95: float | None = None
    before_estimate: float | None = None
    after_estimate: float | None = None
    estimate: float | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class BeforeAfter:
    """What recalibration does: a map fitted on one half of the rows, measured on the other.

    Attributes
    ----------
    method, learned : str
        The map, and its parameters in words.
    split : str
        How the rows were split.
    n_fitted, n_measured : int
        Rows of each half.
    changes : tuple of Change
        Each measure before and after.
    before, after : ReliabilityTable
        The bins of the measured half.
    notes : tuple of str
        What to know about the fit.
    why : str
        How the map was chosen.
    tried : dict of str to float
        The log loss of each map that was tried, on rows that it was not fitted to.
    outcome : str
        Whether it helps on the measured half.
    chosen : bool
        Whether it is the map that `recommend` chooses for all rows.
    reverses : bool
        Whether it turns the order of the predictions round.

    Examples
    --------
    >>> import calibrant as cal
    >>> y, p = [0, 1, 1, 0, 1] * 60, [0.2, 0.7, 0.9, 0.4, 0.3] * 60
    >>> cal.report(y, p, bins=5, measures=["ece"]).before_after.n_fitted
    150
    """

    method: str
    learned: str
    why: str = ""
    tried: dict[str, float] = field(default_factory=dict)
    outcome: str = ""
    chosen: bool = False
    reverses: bool = False
    split: str
    n_fitted: int
    n_measured: int
    changes: tuple[Change, ...]
    before: ReliabilityTable
    after: ReliabilityTable
    notes: tuple[str, ...] = ()

    @property
    def helps(self) -> bool:
        """Whether the map makes the Brier score of the measured half clearly better."""
        brier = [each for each in self.changes if each.measure == "brier"]
        return any(each.high is not None and each.high < 0 for each in brier)

    @property
    def method_name(self) -> str:
        """The map's name as people write it: Platt scaling."""
        return method_in_words(self.method)

    def to_dict(self, level: float) -> dict[str, Any]:
        """Give the change as JSON has it.

        Parameters
        ----------
        level : float in (0, 1)
            Level of the intervals.

        Returns
        -------
        dict
            Every attribute.
        """
        tables = {"before": self.before._content(level), "after": self.after._content(level)}
        return {name: tables.get(name) or json_value(value) for name, value in vars(self).items()}


def method_in_words(method: str) -> str:
    """The name of a recalibration map (its class) in words: PlattScaling is "Platt scaling"."""
    if method == "VennAbers":
        return "Venn-Abers"
    first, *rest = re.findall(r"[A-Z][a-z]+", method) or [method]
    return " ".join([first, *map(str.lower, rest)])


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Report(Record):
    """Everything that the report page shows.

    Made by `report`. `save` writes the page, one HTML file that needs no other.

    Attributes
    ----------
    name : str
        The title of the page.
    answer : str
        Whether the predictions can be believed, in a few words.
    sentences : tuple of str
        The verdict, its direction, and the worst class or slice.
    evaluation : Evaluation
        Every measure, with its interval and noise floor.
    headlines : tuple of str
        The measures that are shown first.
    groups : tuple of (title, description, measures)
        All measures, by kind.
    views : tuple of BinView
        The predictions in every number of bins; for soft labels also against hard ones.
    sensitivity : tuple of MeasureOverBins
        Each measure over numbers of bins.
    before_after : BeforeAfter or None
        What the recalibration map does that was chosen on one half of the rows.
    conventions : Conventions or None
        The ECE of other tools.
    glossary : tuple of Entry
        What each measure is.
    absent : dict of str to str
        What is not on the page, and why.
    recipe : dict
        The options that reproduce the numbers.
    risk : RiskCoverage or None
        Ranking and abstention: the risk of answering only what is surest.
    decisions : DecisionCurve or None
        The net benefit of acting on a binary prediction, by threshold.
    histogram : tuple of list or None
        Edges, and the rows with and without the event (or right and wrong) between them.
    recalibrations : tuple of BeforeAfter
        What each map does, fitted and measured on the same rows; the suitable one is `chosen`.
    votes : VoteProfile or None
        Predictions beside the votes, where labels come with their numbers of votes.
    annotators : Annotators or None
        Each annotator's agreement with the rest, where the table was given.

    Examples
    --------
    >>> import calibrant as cal
    >>> y, p = [0, 1, 1, 0] * 25, [0.2, 0.7, 0.9, 0.4] * 25
    >>> report = cal.report(y, p, name="demo", bins=5, measures=["ece"])
    >>> report.answer
    'No: they are miscalibrated.'
    """

    _json_keys = (
        "name answer sentences evaluation headlines groups views sensitivity before_after "
        "recalibrations conventions glossary absent recipe risk_coverage=risk decisions histogram "
        "votes annotators"
    )
    _json_types: ClassVar = {"groups": list[dict[str, Any]]}

    name: str
    answer: str
    sentences: tuple[str, ...]
    evaluation: Evaluation
    headlines: tuple[str, ...]
    groups: tuple[tuple[str, str, tuple[str, ...]], ...]
    views: tuple[BinView, ...]
    sensitivity: tuple[MeasureOverBins, ...]
    before_after: BeforeAfter | None
    conventions: Conventions | None
    glossary: tuple[Entry, ...]
    absent: dict[str, str]
    recipe: dict[str, Any]
    risk: RiskCoverage | None = None
    decisions: DecisionCurve | None = None
    histogram: tuple[list[float], list[float], list[float]] | None = None
    recalibrations: tuple[BeforeAfter, ...] = ()
    votes: VoteProfile | None = None
    annotators: Annotators | None = None

    @property
    def level(self) -> float:
        """The level of the intervals."""
        return float(self.recipe["options"]["level"])

    def _json_item(self, attribute: str) -> Any:
        """The value of an attribute in the JSON of the result (`to_dict`).

        Groups are records, and the tables of views and recalibrations have intervals at the
        report's level.
        """
        if attribute == "groups":
            names = ("title", "what", "measures")
            return [json_value(dict(zip(names, group, strict=True))) for group in self.groups]
        if attribute in ("views", "recalibrations"):
            return [each.to_dict(self.level) for each in getattr(self, attribute)]
        if attribute == "before_after" and self.before_after is not None:
            return self.before_after.to_dict(self.level)
        return super()._json_item(attribute)

    def to_html(self) -> str:
        """Give the page as text. Needs the extra ``report``.

        Returns
        -------
        str
            HTML that needs no other file.
        """
        from calibrant.results._pages.report_page import report_page

        return report_page(self)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the page; an interruption leaves the old file or the new one, whole.

        Parameters
        ----------
        path : str or path
            A file that ends in .html.

        Returns
        -------
        pathlib.Path
            The file.
        """
        from calibrant.results._pages.page import write_page

        return write_page(path, self.to_html)

    def __repr__(self) -> str:
        """The name, the number of rows and the sentences of the report, as text."""
        noted = filter(None, [find_note(self.evaluation.inferred, TWO_COLUMNS.code)])
        sentences = "\n".join(f"  {line}" for line in (self.answer, *self.sentences, *noted))
        rows = counted(self.evaluation.recipe["n"], "row")
        return f"Report on {self.name!r}, {rows}\n{sentences}\n  save(path) writes the page"

    def _repr_html_(self) -> str:
        """The evaluation as HTML, for notebooks; `save` writes the whole page."""
        return self.evaluation._repr_html_()
