"""Comparison: several predictors side by side, with the uncertainty of their order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from calibrant._core.errors import InputError, counted
from calibrant._data.checks import noted_shape, noted_soft
from calibrant._measures.catalogue import find
from calibrant.results._annotator_ceiling import AnnotatorCeiling
from calibrant.results._base import Result
from calibrant.results._notebook import boxed, folded, html_table, notes
from calibrant.results._paper_tables import PaperTables
from calibrant.results._ranked_pairs import RankedPairs
from calibrant.results._reliability import ReliabilityTable
from calibrant.results._rendering import as_frame, as_text, json_value, scaled_columns
from calibrant.results._report import Entry, entry
from calibrant.results._robustness import RankRobustness
from calibrant.results._slices import Slices
from calibrant.results._with_page import WithPage

if TYPE_CHECKING:
    from calibrant.results._plots.comparison import ComparisonDisplay

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(RankedPairs, PaperTables, WithPage, Result):
    """Several predictors on the same rows: values, ranks and differences, with uncertainty.

    Made by `compare`.

    Attributes
    ----------
    names : tuple of str
        The predictors.
    measures : tuple of str
        The measures; the first one orders what is printed.
    higher_is_better : tuple of bool
        For each measure.
    values : ndarray of shape (predictors, measures)
        Each value, as it is in the sample.
    limits : ndarray of shape (predictors, measures, 3)
        Confidence limits and bias-corrected estimate of each value.
    pairs : ndarray of shape (measures, predictors, predictors, 3)
        Confidence limits and bias-corrected estimate of each difference; ranks, ties and the
        confidence of being best come from these.
    level : float
        Level of the intervals.
    robustness : RankRobustness or None
        Whether errors keep the order of the predictors.
    slices : dict of str to Slices or None
        Slices of each predictor, with ``by=``.
    inferred : tuple of str
        What the input was taken for.
    notes : tuple of str
        What to know about the values.
    recipe : dict
        The options that give the same numbers again.
    tables : tuple of ReliabilityTable
        The bins of each predictor.
    ceiling : AnnotatorCeiling or None
        How well annotators predict each other by the same measures, with ``ceiling=True``; its
        lines are rows of what is printed.

    Examples
    --------
    >>> import calibrant as cal
    >>> y = [0, 1, 1, 0] * 25
    >>> models = {"good": [0.1, 0.8, 0.9, 0.2] * 25, "bad": [0.3, 0.5, 0.6, 0.6] * 25}
    >>> comparison = cal.compare(y, models, measures=["brier"])
    >>> comparison.order("brier"), comparison.difference("bad", "good", "brier").better
    (['good', 'bad'], 'good')
    """

    names: tuple[str, ...]
    measures: tuple[str, ...]
    higher_is_better: tuple[bool, ...]
    values: Array
    limits: Array
    pairs: Array
    level: float
    robustness: RankRobustness | None
    slices: dict[str, Slices] | None
    inferred: tuple[str, ...]
    notes: tuple[str, ...]
    recipe: dict[str, Any]
    tables: tuple[ReliabilityTable, ...] = ()
    ceiling: AnnotatorCeiling | None = None

    def value(self, name: str, measure: str) -> float:
        """Give one predictor's value of a measure.

        Parameters
        ----------
        name : str
            Name of the predictor.
        measure : str
            Name of the measure.

        Returns
        -------
        float
            The value.
        """
        return float(self.values[self._name(name), self._measure(measure)])

    def intervals(self, measure: str = "ece") -> dict[str, list[Any]]:
        """Give each predictor's estimate with its confidence interval, best first.

        Parameters
        ----------
        measure : str, default "ece"
            Name of the measure.

        Returns
        -------
        dict of str to list
            `predictor`, the measure's sample value, `low`, `high`, and the bias-corrected
            `estimate`. Raw values of errors are biased upwards and may lie above `high`; the
            estimate never does.
        """
        j = self._measure(measure)
        order = [self.names.index(name) for name in self.order(measure)]
        limits = self.limits[:, j]
        return {
            "predictor": [self.names[i] for i in order],
            measure: [float(self.values[i, j]) for i in order],
            "low": [float(limits[i, 0]) for i in order],
            "high": [float(limits[i, 1]) for i in order],
            "estimate": [float(limits[i, 2]) for i in order],
        }

    def columns(self) -> dict[str, list[Any]]:
        """Give a row per predictor.

        Returns
        -------
        dict of str to list
            `predictor` and every measure.
        """
        columns: dict[str, list[Any]] = {"predictor": list(self.names)}
        for j, measure in enumerate(self.measures):
            columns[measure] = self.values[:, j].tolist()
        return columns

    def display_columns(self) -> dict[str, list[Any]]:
        """Give the columns that a person reads: small values on a scale of their own.

        Returns
        -------
        dict of str to list
            `columns`, where a measure whose values are all below 0.001 has a name such as
            ``lin_ce (1e-6)`` and its values in that unit; below the predictors the annotators,
            where their ceiling is known.
        """
        columns = self.columns()
        for line in self.ceiling or ():
            columns["predictor"].append(line.name)
            for measure in self.measures:
                columns[measure].append(line.values[measure])
        return scaled_columns(columns)

    def to_frame(self, backend: str | None = None, *, intervals: bool = False) -> Any:
        """Give the table as a frame, with intervals and ranks if asked for.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}, optional
            Whose frame; left out, the first of them that is installed.
        intervals : bool, default False
            Whether each measure is followed by its confidence interval (``ece_low``,
            ``ece_high``), its bias-corrected value (``ece_estimate``), its rank and the range of
            ranks (``ece_rank``, ``ece_rank_low``, ``ece_rank_high``), and whether it is the best or
            not significantly different from it (``ece_tied``).

        Returns
        -------
        frame
            A row for each predictor.
        """
        if not intervals:
            return as_frame(self.columns(), backend)
        columns: dict[str, list[Any]] = {"predictor": list(self.names)}
        for measure in self.measures:
            columns |= self._with_intervals(measure)
        return as_frame(columns, backend)

    def _with_intervals(self, measure: str) -> dict[str, list[Any]]:
        limits, ranks = self.intervals(measure), self.ranking(measure)
        found = {name: row for row, name in enumerate(limits["predictor"])}
        ranked = {name: row for row, name in enumerate(ranks["predictor"])}
        tied = {self.order(measure)[0], *self.tied(measure)}
        out = {measure: [self.value(name, measure) for name in self.names]}
        for end in ("low", "high", "estimate"):
            out[f"{measure}_{end}"] = [limits[end][found[name]] for name in self.names]
        for end in ("rank", "rank_low", "rank_high"):
            out[f"{measure}_{end}"] = [ranks[end][ranked[name]] for name in self.names]
        out[f"{measure}_tied"] = [name in tied for name in self.names]
        return out

    def to_dict(self) -> dict[str, Any]:
        """Give the comparison as JSON has it.

        Returns
        -------
        dict
            `values`, `intervals`, `rankings`, `differences`, `robustness`, `slices`, `inferred`,
            `notes` and `recipe`; `ceiling`, where it was asked for.
        """
        return {
            "values": json_value(self.columns()),
            "intervals": {m: json_value(self.intervals(m)) for m in self.measures},
            "rankings": {m: json_value(self.ranking(m)) for m in self.measures},
            "differences": {
                m: [json_value(vars(d)) for d in self.differences(m)] for m in self.measures
            },
            "robustness": None if self.robustness is None else self.robustness.to_dict(),
            "slices": (
                None if self.slices is None
                else {name: slices.to_dict() for name, slices in self.slices.items()}
            ),
            "inferred": list(self.inferred),
            "notes": list(self.notes),
            "recipe": json_value(self.recipe),
            **({} if self.ceiling is None else {"ceiling": self.ceiling.to_dict()}),
        }  # fmt: skip

    def plot(
        self,
        *,
        ax: Any = None,
        kind: str = "values",
        measures: Sequence[str] | None = None,
        cap: int = 30,
    ) -> ComparisonDisplay:
        """Draw the predictors, best first, with uncertainty. Needs matplotlib.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw, or whose place several measures take; left out, a new figure.
        kind : {"values", "ranks", "differences"}, default "values"
            What is drawn of each predictor; differences are from the best.
        measures : sequence of str, optional
            Measures to draw; left out, the first.
        cap : int, default 30
            The largest number of predictors shown.

        Returns
        -------
        ComparisonDisplay
            The diagram; its `save` writes it to a file.
        """
        from calibrant.results._plots.comparison import ComparisonDisplay

        return ComparisonDisplay(self).plot(ax=ax, kind=kind, measures=measures, cap=cap)

    @property
    def glossary(self) -> tuple[Entry, ...]:
        """The catalogue's entries of the measures."""
        shape = noted_shape(self.inferred)
        return tuple(entry(name, shape) for name in self.measures)

    def _paper_columns(self, measures: Sequence[str] | None) -> list[tuple[str, str, bool]]:
        chosen = self.measures if measures is None else tuple(measures)
        rows = [self._measure(measure) for measure in chosen]
        if not rows:
            raise InputError("measures must name one measure or more")
        called = self._called
        names = [self.measures[j] for j in rows]
        return [
            (name, called[name], self.higher_is_better[j])
            for name, j in zip(names, rows, strict=True)
        ]

    @property
    def _called(self) -> dict[str, str]:
        """What each measure is called in sentences: SMECE, not ECE, for soft labels."""
        soft, shape = noted_soft(self.inferred), noted_shape(self.inferred)
        return {name: find(name, shape).called(soft=soft) for name in self.measures}

    def _page(self, name: str | None, source: Any) -> str:
        from calibrant.results._pages.comparison_page import comparison_page

        return comparison_page(self, self._called, name, source)

    def chart(self) -> Any:
        """Draw values with intervals interactively, for notebooks. Needs Altair.

        Returns
        -------
        altair.Chart
            A chart in which the measure is chosen from a list.
        """
        from calibrant.results._plots.notebook_charts import comparison_chart

        return comparison_chart(self)

    @property
    def title(self) -> str:
        """The numbers of predictors and rows, in one line."""
        rows = counted(self.recipe["n"], "row", "")
        return f"Comparison of {counted(len(self.names), 'predictor', '')} on {rows}"

    def _messages(self) -> tuple[str, ...]:
        return (*self.inferred, *self.notes, *(self.ceiling.notes if self.ceiling else ()))

    def __repr__(self) -> str:
        messages = "\n".join(f"  {line}" for line in self._messages())
        head = f"{self.title}\n{messages}\n\n"
        parts = ["Sample values\n" + as_text(self.display_columns(), indent="  ")]
        main = self.measures[0]
        parts.append(
            f"Ranks by {main}\n" + as_text(self.ranked(main), indent="  ")
            + f"\n  {self.sentence(main)}"
        )  # fmt: skip
        if self.robustness is not None:
            parts.append(
                f"{self.robustness.title}\n" + as_text(self.robustness.table(), indent="  ")
            )
        return head + "\n\n".join(parts)

    def _repr_html_(self) -> str:
        main = self.measures[0]
        parts = [
            html_table(self.display_columns(), f"{self.title}: sample values"),
            notes(self._messages()),
            html_table(self.ranked(main), f"Ranks by {main}"),
            notes((self.sentence(main),)),
        ]
        if self.robustness is not None:
            parts.append(folded(self.robustness.title, html_table(self.robustness.table())))
        return boxed(*parts)
