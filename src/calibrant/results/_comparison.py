"""Comparison: several predictors side by side, with the uncertainty of their order."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from calibrant._core.errors import InputError, counted
from calibrant._measures.catalogue import Shape
from calibrant._measures.coefficients import find_compared
from calibrant.results._annotator_ceiling import AnnotatorCeiling
from calibrant.results._base import Result
from calibrant.results._notebook import html_box, html_details, html_list, html_table
from calibrant.results._order_bias import OrderBias
from calibrant.results._paper_tables import (
    PaperTable,
    latex_table,
    markdown_table,
    paper_table,
)
from calibrant.results._ranked_pairs import CoefficientDifference, Difference, RankedPairs
from calibrant.results._reliability import ReliabilityTable
from calibrant.results._rendering import (
    as_frame,
    json_value,
    range_text,
    scaled_columns,
    shown,
)
from calibrant.results._report import Entry, entry
from calibrant.results._risk_coverage import RiskCoverage
from calibrant.results._robustness import RankRobustness
from calibrant.results._slices import Slices
from calibrant.results._text_tables import as_text
from calibrant.results._with_page import WithPage

if TYPE_CHECKING:
    from calibrant.results._plots.comparison import ComparisonDisplay
    from calibrant.results._plots.risk_coverage import RiskCoverageDisplay

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Comparison(RankedPairs, WithPage, Result):
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
        Each sample value.
    limits : ndarray of shape (predictors, measures, 3)
        Confidence interval and bias-corrected estimate of each value.
    pairs : ndarray of shape (measures, predictors, predictors, 3)
        Confidence interval and bias-corrected estimate of each difference; ranks, ties and the
        confidence of being best come from these.
    level : float
        Level of the intervals.
    robustness : RankRobustness or None
        Whether errors preserve the order of the predictors.
    slices : dict of str to Slices or None
        Slices of each predictor, with ``by=``.
    inferred : tuple of str
        How the input was interpreted.
    notes : tuple of str
        What to know about the values.
    recipe : dict
        The options that reproduce the numbers.
    shape : {"binary", "multiclass", "answers"}
        The kind of predictions: two classes, several, or answers that are right or wrong.
    soft : bool
        Whether labels are probabilities.
    tables : tuple of ReliabilityTable
        The bins of each predictor.
    ceiling : AnnotatorCeiling or None
        How well annotators predict each other by the same measures, with ``ceiling=True``; its
        lines are rows of what is printed.
    order_bias : dict of str to OrderBias or None
        Whether the order by each named truthful error is that of the losses.
    risks : tuple of RiskCoverage
        The risk-coverage curve of each predictor, where `aurc` is among the measures.
    closeness : dict of str to Closeness
        For slopes and intercepts among the measures: how much farther from 1 or 0 each predictor is
        than each other, which orders them.
    answered : tuple of float or None
        Share of the questions to which each predictor gave a confidence, if that is known.

    Examples
    --------
    >>> import calibrant as cal
    >>> y = [0, 1, 1, 0] * 25
    >>> models = {"good": [0.1, 0.8, 0.9, 0.2] * 25, "bad": [0.3, 0.5, 0.6, 0.6] * 25}
    >>> comparison = cal.compare(y, models, measures=["brier"])
    >>> comparison.order("brier"), comparison.difference("bad", "good", "brier").better
    (['good', 'bad'], 'good')
    """

    _json_keys = (
        "values intervals rankings differences robustness slices inferred notes recipe ceiling "
        "order_bias"
    )
    _table_key = "values"
    _json_optional = "ceiling order_bias"
    _json_types: ClassVar = {
        "intervals": dict[str, dict[str, list[Any]]],
        "rankings": dict[str, dict[str, list[Any]]],
        "differences": dict[str, list[Difference | CoefficientDifference]],
    }

    robustness: RankRobustness | None
    slices: dict[str, Slices] | None
    inferred: tuple[str, ...]
    notes: tuple[str, ...]
    recipe: dict[str, Any]
    shape: Shape
    soft: bool
    tables: tuple[ReliabilityTable, ...] = ()
    ceiling: AnnotatorCeiling | None = None
    order_bias: dict[str, OrderBias] | None = None
    risks: tuple[RiskCoverage, ...] = ()
    answered: tuple[float, ...] | None = None

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
        return float(self.values[self._predictor_index(name), self._measure_index(measure)])

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
        j = self._measure_index(measure)
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
            `predictor`, `answered` where it is known, and every measure.
        """
        columns: dict[str, list[Any]] = {"predictor": list(self.names)}
        if self.answered is not None:
            columns["answered"] = list(self.answered)
        for j, measure in enumerate(self.measures):
            columns[measure] = self.values[:, j].tolist()
        return columns

    def display_columns(self) -> dict[str, list[Any]]:
        """Give the columns for display: small values on their own scale.

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
            if self.answered is not None:
                columns["answered"].append(None)
            for measure in self.measures:
                columns[measure].append(line.values[measure])
        return scaled_columns(columns)

    def _estimate_columns(self, measures: Sequence[str] | None = None) -> dict[str, list[Any]]:
        """Bias-corrected estimates with their intervals, as texts, best first; of two predictors
        also the difference.

        They are of these measures, as far as the comparison has them; of all where it has none.
        """
        chosen = [name for name in self.measures if measures is None or name in measures]
        chosen = chosen or list(self.measures)
        order = [self.names.index(name) for name in self.order(chosen[0])]
        out: dict[str, list[Any]] = {"predictor": [self.names[i] for i in order]}
        for measure in chosen:
            limits = self.limits[:, self._measure_index(measure)]
            out[self._sentence_names[measure]] = [
                f"{shown(estimate)} ({range_text(low, high)})" if low == low else shown(estimate)
                for low, high, estimate in limits[order].tolist()
            ]
            if len(order) == 2:
                out[self._sentence_names[measure]].append(self._difference_text(measure, order))
        if len(order) == 2:
            out["predictor"].append(" - ".join(self.names[i] for i in reversed(order)))
        return out

    def _difference_text(self, measure: str, order: Sequence[int]) -> str:
        """How much larger a measure is for the second than for the first in an order of two; ""
        if that has no interval.
        """
        first, second = (self.names[i] for i in order)
        found = self.difference(second, first, measure)
        if found.low != found.low:
            return ""
        return f"{shown(found.estimate)} ({range_text(found.low, found.high)})"

    def to_frame(self, backend: str | None = None, *, intervals: bool = False) -> Any:
        """Give the table as a frame, optionally with intervals and ranks.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}, optional
            Library of the frame; by default, the first of them that is installed.
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
            columns |= self._interval_columns(measure)
        return as_frame(columns, backend)

    def _interval_columns(self, measure: str) -> dict[str, list[Any]]:
        """The columns of one measure with its uncertainty, a row for each predictor.

        They are the value, its limits `_low` and `_high`, `_estimate`, `_rank` with its limits, and
        `_tied`: whether the predictor is the best or not significantly different from it.
        """
        j, ranks = self._measure_index(measure), self._ranks(measure)
        tied = {self.order(measure)[0], *self.tied(measure)}
        low, high, estimate = self.limits[:, j].T.tolist()
        return {
            measure: self.values[:, j].tolist(),
            f"{measure}_low": low,
            f"{measure}_high": high,
            f"{measure}_estimate": estimate,
            f"{measure}_rank": ranks.rank.tolist(),
            f"{measure}_rank_low": ranks.low.tolist(),
            f"{measure}_rank_high": ranks.high.tolist(),
            f"{measure}_tied": [name in tied for name in self.names],
        }

    def _json_item(self, attribute: str) -> Any:
        """The value of an attribute in the JSON of the result (`to_dict`).

        Intervals, rankings and differences are methods: JSON has what they give, by measure.
        """
        by_measure: dict[str, Callable[[str], Any]] = {
            "intervals": self.intervals,
            "rankings": self.ranking,
            "differences": self.differences,
        }
        if attribute in by_measure:
            return {name: json_value(by_measure[attribute](name)) for name in self.measures}
        return super()._json_item(attribute)

    def plot(
        self,
        *,
        ax: Any = None,
        kind: str = "values",
        measures: Sequence[str] | None = None,
        cap: int = 30,
        legend: bool | str = True,
        size: str | tuple[float, float] | None = None,
    ) -> ComparisonDisplay:
        """Draw the predictors, best first, with uncertainty. Needs matplotlib.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw on, or to replace by one axes per measure; by default, a new figure.
        kind : {"values", "ranks", "differences"}, default "values"
            What to draw for each predictor; differences are from the best.
        measures : sequence of str, optional
            Measures to draw; by default, the first.
        cap : int, default 30
            The largest number of predictors shown.
        legend : bool or str, default True
            Whether to draw a legend where there is room, or its location inside the axes.
        size : "column" or tuple of two floats, optional
            Size of a new figure: 3.3 x 2.6 inches, or (width, height) in inches.

        Returns
        -------
        ComparisonDisplay
            The diagram; its `save` writes it to a file.
        """
        from calibrant.results._plots.comparison import ComparisonDisplay

        return ComparisonDisplay(self).plot(
            ax=ax, kind=kind, measures=measures, cap=cap, legend=legend, size=size
        )

    def plot_risk(
        self,
        *,
        ax: Any = None,
        legend: bool | str = True,
        size: str | tuple[float, float] | None = None,
    ) -> RiskCoverageDisplay:
        """Draw the risk-coverage curves of all predictors in one diagram. Needs matplotlib.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw on; by default, a new figure.
        legend : bool or str, default True
            Whether to draw a legend where there is room, or its location inside the axes.
        size : "column" or tuple of two floats, optional
            Size of a new figure: 3.3 x 2.6 inches, or (width, height) in inches.

        Returns
        -------
        RiskCoverageDisplay
            The diagram, with all curves on one axes; its `save` writes it to a file.
        """
        from calibrant.results._plots.risk_coverage import RiskCoverageDisplay

        if not self.risks:
            raise InputError(
                "this comparison has no risk-coverage curves: they need 'aurc' in measures=, and "
                "rows in memory"
            )
        band, shown = len(self.risks) == 1, None
        for name, curve in zip(self.names, self.risks, strict=True):
            shown = RiskCoverageDisplay(curve, name=name).plot(
                ax=ax, band=band, legend=legend, size=size
            )
            ax, size = shown.ax_, None
        assert shown is not None
        if self.shape == "answers":
            ax.set_ylabel("risk: error rate")
        return shown

    @property
    def glossary(self) -> tuple[Entry, ...]:
        """The catalogue's entries of the measures."""
        return tuple(entry(name, self.shape) for name in self.measures)

    def to_latex(
        self,
        *,
        measures: Sequence[str] | None = None,
        intervals: bool = True,
        digits: int | None = None,
        raw: bool = True,
        rows: Sequence[str] | Mapping[str, str] | None = None,
        layout: str = "beside",
        caption: str | None = None,
        label: str | None = None,
    ) -> str:
        """Give the table for a paper, in LaTeX with booktabs.

        Numbers are bias-corrected estimates, which the intervals contain. The best of each measure
        is bold. A dagger marks those that are not significantly different from it: the confidence
        interval of their difference includes 0. Small numbers are printed as multiples of a power
        of ten, which the heading names.

        Parameters
        ----------
        measures : sequence of str, optional
            Measures of this comparison; by default, all.
        intervals : bool, default True
            Whether to print confidence intervals beside the estimates.
        digits : int, optional
            Decimal places; by default, enough to show the intervals and to distinguish bold numbers
            from others.
        raw : bool, default True
            Whether a measure whose sample values are biased has a column of these.
        rows : sequence of str or mapping of str to str, optional
            Predictors in the order of their rows; a mapping also renames them. Predictors that are
            not named follow.
        layout : {"beside", "stacked"}, default "beside"
            Whether intervals stand beside the estimates or under them, which takes less width.
        caption, label : str, optional
            With one of them, the output is wrapped in a ``table`` environment; text is escaped.

        Returns
        -------
        str
            A ``tabular``, or a ``table`` around it; needs ``\\usepackage{booktabs}``.

        Examples
        --------
        >>> import calibrant as cal
        >>> y = [0, 1, 1, 0] * 25
        >>> models = {"a_1": [0.1, 0.8, 0.9, 0.2] * 25, "b": [0.3, 0.5, 0.6, 0.6] * 25}
        >>> print(cal.compare(y, models, measures=["brier"]).to_latex(intervals=False))
        \\begin{tabular}{lr}
        \\toprule
        & Brier score $\\downarrow$ \\\\
        \\midrule
        a\\_1 & \\textbf{0.025} \\\\
        b & 0.215 \\\\
        \\bottomrule
        \\multicolumn{2}{l}{\\footnotesize bold: the best estimate} \\\\
        \\multicolumn{2}{l}{\\footnotesize 100 rows} \\\\
        \\end{tabular}
        <BLANKLINE>
        """
        table = self._paper_table(
            measures, intervals=intervals, digits=digits, raw=raw, rows=rows, layout=layout
        )
        return latex_table(table, caption=caption, label=label)

    def to_markdown(
        self,
        *,
        measures: Sequence[str] | None = None,
        intervals: bool = True,
        digits: int | None = None,
        raw: bool = True,
        rows: Sequence[str] | Mapping[str, str] | None = None,
        layout: str = "beside",
    ) -> str:
        """Give the table as Markdown: intervals, the best in bold, ties marked.

        Parameters
        ----------
        measures : sequence of str, optional
            Measures of this comparison; by default, all.
        intervals : bool, default True
            Whether to print confidence intervals beside the estimates.
        digits : int, optional
            Decimal places; by default, enough to show the intervals and to distinguish bold numbers
            from others.
        raw : bool, default True
            Whether a measure whose sample values are biased has a column of these.
        rows : sequence of str or mapping of str to str, optional
            Predictors in the order of their rows; a mapping also renames them.
        layout : {"beside", "stacked"}, default "beside"
            Whether intervals stand beside the estimates or under them.

        Returns
        -------
        str
            A pipe table, as `to_latex` has it.
        """
        table = self._paper_table(
            measures, intervals=intervals, digits=digits, raw=raw, rows=rows, layout=layout
        )
        return markdown_table(table)

    def methods(self, *, measures: Sequence[str] | None = None) -> str:
        """Say what was compared in the sentences that a paper's methods section needs.

        Parameters
        ----------
        measures : sequence of str, optional
            Measures of this comparison to name; left out, its first calibration error and its first
            loss.

        Returns
        -------
        str
            The rows, the estimates with their intervals, which predictor is best, its difference
            from the next one, the resamples and the version.

        Examples
        --------
        >>> import calibrant as cal
        >>> y = [0, 1, 1, 0] * 25
        >>> models = {"good": [0.1, 0.8, 0.9, 0.2] * 25, "bad": [0.3, 0.5, 0.6, 0.6] * 25}
        >>> text = cal.compare(y, models, measures=["brier"]).methods()
        >>> [each for each in text.split(". ") if each.startswith("By")]
        ['By Brier score, good is best: bad is significantly worse']
        """
        from calibrant.results._methods import methods_of_comparison

        return methods_of_comparison(self, measures)

    def _paper_table(self, measures: Sequence[str] | None, **options: Any) -> PaperTable:
        """The table of predictors and measures that `to_latex` and `to_markdown` write.

        `measures` are names of measures; None takes all. `options` are those of `paper_table`.
        """
        chosen = [
            self._measure_index(name) for name in (self.measures if measures is None else measures)
        ]
        if not chosen:
            raise InputError("measures must name one measure or more")
        called, names = self._sentence_names, self.measures
        titles = [(names[j], called[names[j]], self.higher_is_better[j]) for j in chosen]
        return paper_table(self, titles, **options)

    @property
    def _sentence_names(self) -> dict[str, str]:
        """The name of each measure in sentences, such as SMECE for ECE of soft labels."""
        return {
            name: find_compared(name, self.shape).called(soft=self.soft) for name in self.measures
        }

    def _page(self, name: str | None, source: Any) -> str:
        """The HTML page of the result; `name` is its title, `source` says where rows come from."""
        from calibrant.results._pages.comparison_page import comparison_page

        return comparison_page(self, self._sentence_names, name, source)

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
        """Sentences shown with the table: what was inferred, and all notes."""
        return (*self.inferred, *self.notes, *(self.ceiling.notes if self.ceiling else ()))

    def __repr__(self) -> str:
        """The values, the ranks by the first measure, and the rank correlations, as text."""
        messages = "\n".join(f"  {line}" for line in self._messages())
        head = f"{self.title}\n{messages}\n\n"
        parts = ["Sample values\n" + as_text(self.display_columns(), indent="  ")]
        main = self.measures[0]
        ranks = as_text(self.ranked(main), indent="  ")
        parts.append(f"Ranks by {main}\n{ranks}\n  {self.sentence(main)}")
        parts += [f"{each!r}" for each in (self.order_bias or {}).values()]
        if self.robustness is not None:
            parts.append(
                f"{self.robustness.title}\n" + as_text(self.robustness.table(), indent="  ")
            )
        return head + "\n\n".join(parts)

    def _repr_html_(self) -> str:
        """The result as HTML, which notebooks show."""
        main = self.measures[0]
        parts = [
            html_table(self.display_columns(), f"{self.title}: sample values"),
            html_list(self._messages()),
            html_table(self.ranked(main), f"Ranks by {main}"),
            html_list((self.sentence(main),)),
            *(each._repr_html_() for each in (self.order_bias or {}).values()),
        ]
        if self.robustness is not None:
            parts.append(html_details(self.robustness.title, html_table(self.robustness.table())))
        return html_box(*parts)
