"""Bounds: the smallest and the largest value of each measure over labels that are sets."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from calibrant._core.bin_tables import BinTable, ratio
from calibrant._core.errors import InputError, counted, nearest
from calibrant._measures.binned import binned_error
from calibrant._measures.catalogue import HEADLINE, canonical, find
from calibrant.results._base import Record, Result
from calibrant.results._notebook import (
    Drawing,
    html_box,
    html_details,
    html_list,
    html_table,
    side_by_side,
)
from calibrant.results._reliability import ReliabilityTable
from calibrant.results._rendering import json_value, shown
from calibrant.results._sketch import reliability_sketch
from calibrant.results._with_diagram import WithDiagram
from calibrant.results._with_page import WithPage

if TYPE_CHECKING:
    from calibrant.results._plots.reliability import ReliabilityDisplay

OUTER = (
    "bounds of means over classes are not exact: each class can reach its own, but perhaps not "
    "all classes with the same labels. The exact bounds may be narrower"
)


@dataclass(frozen=True)
class Bound(Record):
    """The smallest and the largest value of one measure over all labels in their sets.

    Attributes
    ----------
    name, title : str
        The measure.
    low, high : float
        The bounds.
    notion : str
        What it measures: "binary", "confidence", "classwise", "loss".
    rule : str
        Its bins; empty where it has none.
    exact : bool
        Whether some labels in the sets give `low`, and some give `high`. If not, as for means over
        classes, no labels give less than `low` or more than `high`.

    Examples
    --------
    >>> import calibrant as cal
    >>> bounds = cal.evaluate(cal.Between([0.1, 0.6], [0.3, 0.9]), [0.5, 0.5], bins=1)
    >>> round(bounds["brier"].low, 3), round(bounds["brier"].high, 3)
    (0.025, 0.16)
    """

    _json_keys = "name low high title notion bins=rule exact"

    name: str
    low: float
    high: float
    title: str
    notion: str
    rule: str
    exact: bool


class _Bars(ReliabilityTable):
    """The bins as a reliability diagram draws them: a bar for each, and a dot on it."""

    def __init__(self, near: ReliabilityTable, far: BinTable, low: BinTable, high: BinTable):
        super().__init__(near.table, near.rule, near.cuts, near.notion)
        object.__setattr__(self, "_others", (far, low, high))
        self._others: tuple[BinTable, BinTable, BinTable]

    is_hard = False

    def words(self, level: float | None) -> tuple[str, str]:
        """The range of the error, and what the bars are."""
        return (
            f"SMECE {self.ece:.3f} to {binned_error(self._others[0]):.3f}",
            "interval of the mean label",
        )

    def intervals(self, level: float = 0.95, method: str | None = None) -> dict[str, list[Any]]:
        """The columns of bins with the ends of the mean label, `low` and `high`, at no level."""
        low, high = (end.mean_z[0].tolist() for end in self._others[1:])
        return {**self.columns(), "low": low, "high": high}


@dataclass(frozen=True, eq=False, repr=False)
class ReliabilityBounds(WithDiagram["ReliabilityDisplay"], Result):
    """Bins whose mean label is known only to lie between two ends.

    Part of `Bounds`. In its diagram the bar of a bin is where its mean label may lie, and the dot
    is the place on it that is nearest to the diagonal.

    Attributes
    ----------
    near : ReliabilityTable
        The bins with the labels that are nearest to the predictions.
    far, low, high : BinTable
        The bins with the labels farthest from the predictions, with the lower ends and with the
        upper ends.

    Examples
    --------
    >>> import calibrant as cal
    >>> bounds = cal.evaluate(cal.Between([0.1, 0.6], [0.3, 0.9]), [0.25, 0.5], bins=2)
    >>> bounds.reliability
    binary, 2 equal-width bins, left-closed
      bin   lower   upper  n  mean_predicted     low    high  gap_low  gap_high
        0  0.0000  0.5000  1          0.2500  0.1000  0.3000   0.0000    0.1500
        1  0.5000  1.0000  1          0.5000  0.6000  0.9000   0.1000    0.4000
    """

    _json_keys = ReliabilityTable._json_keys
    _json_types: ClassVar = {
        **ReliabilityTable._json_types,
        "notion": str,
        "n_dropped": int,
        "note": str,
    }

    near: ReliabilityTable
    far: BinTable
    low: BinTable
    high: BinTable

    @property
    def title(self) -> str:
        """What is measured, the rule that made the bins, and rows in no bin."""
        return self.near.title

    def columns(self) -> dict[str, list[Any]]:
        """Give the table as named columns.

        Returns
        -------
        dict of str to list
            `bin`, `lower`, `upper`, `n`, `weight`, `mean_predicted`, the ends of the mean label
            `low` and `high`, and the smallest and the largest absolute gap, `gap_low` and
            `gap_high`; NaN where a bin is empty.
        """
        columns = self.near.columns()
        del columns["mean_target"], columns["gap"]
        ends = {"low": self.low.mean_z[0], "high": self.high.mean_z[0]}
        for name, table in (("gap_low", self.near.table), ("gap_high", self.far)):
            ends[name] = np.abs(ratio(table.residual[0], table.sum_w[0]))
        return {**columns, **{name: values.tolist() for name, values in ends.items()}}

    def display_columns(self) -> dict[str, list[Any]]:
        columns = self.columns()
        if columns["weight"] == columns["n"]:
            del columns["weight"]
        return columns

    def _content(self) -> dict[str, Any]:
        return {
            **self.near._content(),
            "bins": json_value(self.columns()),
        }

    def bars(self) -> ReliabilityTable:
        """Give the bins as diagrams draw them.

        Returns
        -------
        ReliabilityTable
            Its `intervals` are the ends of the mean label, and its mean targets the nearest ones.
        """
        return _Bars(self.near, self.far, self.low, self.high)

    def sketch(self) -> Drawing:
        """Draw the reliability diagram as a small SVG, which needs no package.

        Returns
        -------
        str
            The drawing as SVG.
        """
        top = self.near.notion == "confidence"
        axes = ("mean confidence" if top else "mean prediction", "mean label")
        return reliability_sketch(
            self.bars().intervals(), axes, {"prediction": [], "mean_target": []}
        )

    def _display(self, name: str | None) -> tuple[ReliabilityDisplay, dict[str, Any]]:
        """The bar of each bin on which its mean label lies."""
        from calibrant.results._plots.reliability import ReliabilityDisplay

        return ReliabilityDisplay(self.bars(), name=name), {"line_kwargs": {"linestyle": "none"}}


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Bounds(WithPage, WithDiagram["ReliabilityDisplay"], Result):
    """Bounds of every measure over labels that are sets.

    Made by `evaluate` and `report` of labels `Between` two ends. Look a measure up by name:
    ``bounds["ece"].low``. They describe these rows and do not include sampling error.

    Attributes
    ----------
    bounds : tuple of Bound
        The measures.
    reliability : ReliabilityBounds
        The bins of the calibration error.
    inferred : tuple of str
        How the input was interpreted.
    notes : tuple of str
        What was clipped, dropped or not computed.
    recipe : dict
        The options that reproduce the numbers.
    name : str or None
        The title of the page, from `report`.
    source : mapping, str or None
        Where the rows come from, from `report`.

    Examples
    --------
    >>> import calibrant as cal
    >>> labels = cal.Between([0.0, 0.6, 0.8, 0.3], [0.2, 0.8, 1.0, 0.5])
    >>> cal.evaluate(labels, [0.3, 0.7, 0.9, 0.4], measures=["ece", "brier"], bins=10)
    Bounds over the labels of 4 rows
      SMECE of these rows is at least 0.0250 and at most 0.1500.
      binary probabilities
      labels are intervals: each lies between lo and hi
    <BLANKLINE>
      measure     low    high  exact  notion  bins
      ece      0.0250  0.1500    yes  binary  10 equal-width bins, left-closed
      brier    0.0025  0.0300    yes  loss
    """

    _json_keys = "bounds reliability inferred notes recipe"
    _hidden = "title"

    bounds: tuple[Bound, ...]
    reliability: ReliabilityBounds
    inferred: tuple[str, ...]
    notes: tuple[str, ...]
    recipe: dict[str, Any]
    name: str | None = None
    source: Any = None

    def __getitem__(self, name: str) -> Bound:
        """Give the bounds of a measure, by its name or an alias."""
        own = canonical(name)
        for bound in self.bounds:
            if bound.name == own:
                return bound
        known = [bound.name for bound in self.bounds]
        raise InputError(f"these bounds have no measure {name!r}: {nearest(name, known)}")

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names of the measures."""
        return iter([bound.name for bound in self.bounds])

    def __len__(self) -> int:
        return len(self.bounds)

    @property
    def low(self) -> dict[str, float]:
        """The smallest value of each measure, by name."""
        return {bound.name: bound.low for bound in self.bounds}

    @property
    def high(self) -> dict[str, float]:
        """The largest value of each measure, by name."""
        return {bound.name: bound.high for bound in self.bounds}

    @property
    def title(self) -> str:
        """The number of rows, in one line."""
        return f"Bounds over the labels of {counted(self.recipe['n'], 'row')}"

    @property
    def sentence(self) -> str:
        """The bounds of the first measure (the ECE, if present) as a sentence."""
        first = self[HEADLINE] if HEADLINE in self.low else self.bounds[0]
        called = (
            first.title if first.name != HEADLINE else find(HEADLINE, "binary").called(soft=True)
        )
        low, high = shown(first.low), shown(first.high)
        return f"{called} of these rows is at least {low} and at most {high}."

    def _messages(self) -> tuple[str, ...]:
        """Sentences shown with the table: the first bounds, what was inferred, and notes."""
        outer = () if all(bound.exact for bound in self.bounds) else (OUTER,)
        return (*super()._messages(), *outer)

    def columns(self) -> dict[str, list[Any]]:
        """Give a row per measure.

        Returns
        -------
        dict of str to list
            `measure`, `low`, `high`, `exact`, `notion`, `bins` and `title`.
        """
        own = ("name", "low", "high", "exact", "notion", "rule", "title")
        names = {"name": "measure", "rule": "bins"}
        return {names.get(each, each): [getattr(b, each) for b in self.bounds] for each in own}

    def _display(self, name: str | None) -> tuple[ReliabilityDisplay, dict[str, Any]]:
        """The reliability diagram: the bar of each bin on which its mean label lies."""
        return self.reliability._display(name)

    def _page(self, name: str | None, source: Any) -> str:
        from calibrant.results._pages.small_pages import bounds_page

        return bounds_page(self, name or self.name, source or self.source)

    def _repr_html_(self) -> str:
        """The diagram, the measures and the bins as HTML, for notebooks."""
        head = f"<p>{self.title}</p>{html_list(self._messages())}"
        bins = html_table(self.reliability.display_columns())
        return html_box(
            side_by_side(self.reliability.sketch(), head),
            html_table(self.display_columns(), ""),
            html_details(f"Reliability: {self.reliability.title}", bins),
        )
