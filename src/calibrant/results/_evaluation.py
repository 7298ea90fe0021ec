"""Evaluation: every measure that applies, with what was inferred and the options to repeat it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from calibrant._core.errors import InputError, counted, nearest
from calibrant._core.lines import wrapped
from calibrant._data.checks import shape_from_notes
from calibrant._measures.catalogue import canonical, find
from calibrant.results._base import Record, Result
from calibrant.results._clinical import ClinicalSummary
from calibrant.results._notebook import html_box, html_details, html_list, html_table, side_by_side
from calibrant.results._reliability import ReliabilityTable
from calibrant.results._rendering import percent, range_text
from calibrant.results._summary import input_lines, main_estimates, summary_columns, summary_notes
from calibrant.results._text_tables import as_text, fitted_text

if TYPE_CHECKING:
    from calibrant.results._plots.reliability import ReliabilityDisplay
    from calibrant.results._segments import Segments
    from calibrant.results._slices import Slices
    from calibrant.results._uncertainty import Interval, NoiseFloor, Verdict

# Columns of a line of the summary, and what it names and does not show.
_WIDTH = 88
_BESIDE = {
    "slices": "the slices are",
    "segments": "the segments are",
    "clinical": "the clinical summary is",
}


@dataclass(frozen=True)
class Estimate(Record):
    """One measure's value, with how it was computed; ``float(estimate)`` is the value.

    Attributes
    ----------
    name, title : str
        The measure.
    value : float
        Its value.
    notion : str
        What it measures: "binary", "confidence", "classwise", "loss" and so on.
    rule : str
        Its bins; empty where it has none.
    truthful : bool or None
        Whether predicting the true probabilities minimises its expectation.
    higher_is_better : bool
        Whether a higher value is better.
    interval : Interval or None
        Its confidence interval, with ``uncertainty=True``.
    noise_floor : NoiseFloor or None
        What calibrated predictions would show, with ``uncertainty=True``.

    Examples
    --------
    >>> import calibrant as cal
    >>> evaluation = cal.evaluate([0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4], measures=["ece"], bins=10)
    >>> float(evaluation.estimate("ece"))
    0.25
    """

    _json_keys = (
        "name value estimate title notion bins=rule truthful higher_is_better interval noise_floor"
    )

    _json_types: ClassVar = {"bins": str | None}

    name: str
    value: float
    title: str
    notion: str
    rule: str
    truthful: bool | None
    higher_is_better: bool = False
    interval: Interval | None = None
    noise_floor: NoiseFloor | None = None

    def __float__(self) -> float:
        return self.value

    @property
    def estimate(self) -> float:
        """The bias-corrected value; NaN where there is no interval."""
        return math.nan if self.interval is None else self.interval.estimate

    def _json_item(self, attribute: str) -> Any:
        """The value of an attribute in JSON; `rule` is null for a measure without bins."""
        return (self.rule or None) if attribute == "rule" else super()._json_item(attribute)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Evaluation(Result):
    """Every measure of a set of predictions.

    Made by `evaluate`. Look a value up by name: ``evaluation["ece"]``.

    Attributes
    ----------
    estimates : tuple of Estimate
        The measures.
    reliability : ReliabilityTable
        The bins of the calibration error.
    classes : dict of str to list or None
        A row per class, for predictions of several classes.
    inferred : tuple of str
        What the input was taken for.
    notes : tuple of str
        What was clipped, dropped or tolerated.
    recipe : dict
        The options that give the same numbers again.
    verdict : Verdict or None
        Whether the predictions are calibrated, with ``uncertainty=True``.
    slices : Slices or None
        An evaluation for each value of a column, with ``by=``.
    clinical : ClinicalSummary or None
        Slope, O:E, C-statistic, ICI and others of a binary outcome, with ``uncertainty=True`` and
        all measures.
    segments : Segments or None
        Where predictions are wrong, of a report with ``segments=``.

    Examples
    --------
    >>> import calibrant as cal
    >>> evaluation = cal.evaluate([0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4], measures=["ece", "brier"])
    >>> round(evaluation["brier"], 4)
    0.075
    """

    _json_keys = (
        "measures=estimates reliability classes inferred notes recipe verdict slices clinical "
        "segments"
    )
    _hidden = "title"

    estimates: tuple[Estimate, ...]
    reliability: ReliabilityTable
    classes: dict[str, list[Any]] | None
    inferred: tuple[str, ...]
    notes: tuple[str, ...]
    recipe: dict[str, Any]
    verdict: Verdict | None = None
    slices: Slices | None = None
    clinical: ClinicalSummary | None = None
    segments: Segments | None = None

    def estimate(self, name: str) -> Estimate:
        """Give one measure with its bins, interval and noise floor.

        Parameters
        ----------
        name : str
            A name of the catalogue, or an alias.

        Returns
        -------
        Estimate
            The measure.
        """
        own = canonical(name)
        for estimate in self.estimates:
            if estimate.name == own:
                return estimate
        if shape_from_notes(self.inferred) == "answers":
            find(own, "answers")  # raises an error that says why answers lack this measure
        known = [estimate.name for estimate in self.estimates]
        raise InputError(f"this evaluation has no measure {name!r}: {nearest(name, known)}")

    def __getitem__(self, name: str) -> float:
        """Give the value of a measure; an error if it was not computed."""
        return self.estimate(name).value

    def __contains__(self, name: object) -> bool:
        """Whether the measure of this name was computed."""
        own = canonical(name)
        return any(estimate.name == own for estimate in self.estimates)

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names of the measures."""
        return iter(self.values)

    def __len__(self) -> int:
        return len(self.estimates)

    @property
    def values(self) -> dict[str, float]:
        """Every measure's value by name."""
        return {estimate.name: estimate.value for estimate in self.estimates}

    def columns(self) -> dict[str, list[Any]]:
        """Give a row per measure.

        Returns
        -------
        dict of str to list
            `measure`, `value`, `notion`, `bins`, `truthful` and `title`; with uncertainty also
            `estimate`, `low`, `high`, `noise_mean`, `noise_95` and `p_value`.
        """
        return {
            "measure": [e.name for e in self.estimates],
            "value": [e.value for e in self.estimates],
            **self._uncertainty_columns(),
            "notion": [e.notion for e in self.estimates],
            "bins": [e.rule for e in self.estimates],
            "truthful": [e.truthful for e in self.estimates],
            "title": [e.title for e in self.estimates],
        }

    def to_latex(
        self,
        *,
        measures: Sequence[str] | Mapping[str, str] | None = None,
        digits: int | None = None,
        caption: str | None = None,
        label: str | None = None,
    ) -> str:
        """Give the measures as a table for a paper, in LaTeX with booktabs: a row each.

        With uncertainty, numbers are bias-corrected estimates with their confidence intervals;
        where the sample's values are others, they have a column `sample`.

        Parameters
        ----------
        measures : sequence of str or mapping of str to str, optional
            Measures of this evaluation, in the order of their rows; a mapping also says what each
            is called. Left out, all.
        digits : int, optional
            Digits after the point; left out, as many as show the intervals.
        caption, label : str, optional
            Of the table, which is then a float; text is escaped.

        Returns
        -------
        str
            A ``tabular``, or a ``table`` around it; needs ``\\usepackage{booktabs}``.

        Examples
        --------
        >>> import calibrant as cal
        >>> y, p = [0, 1, 1, 0] * 25, [0.2, 0.7, 0.9, 0.4] * 25
        >>> print(cal.evaluate(y, p).to_latex(measures=["brier", "auroc"]))
        \\begin{tabular}{lr}
        \\toprule
        & value \\\\
        \\midrule
        Brier score $\\downarrow$ & 0.075 \\\\
        AUROC $\\uparrow$ & 1.000 \\\\
        \\bottomrule
        \\end{tabular}
        <BLANKLINE>
        """
        from calibrant.results._paper_tables import latex_of_measures

        chosen = [self.estimate(name) for name in (self if measures is None else measures)]
        if not chosen:
            raise InputError("measures must name one measure or more")
        called = self._sentence_names
        if isinstance(measures, Mapping):
            called = {canonical(name): title for name, title in measures.items()}
        rows = [(called[each.name], each) for each in chosen]
        level = self.recipe.get("level", 0.95)
        return latex_of_measures(rows, level, digits, caption=caption, label=label)

    def methods(self, *, measures: Sequence[str] | None = None) -> str:
        """Say what was measured in the sentences that a paper's methods section needs.

        Parameters
        ----------
        measures : sequence of str, optional
            Measures of this evaluation to name; left out, its first calibration error and its first
            loss.

        Returns
        -------
        str
            The rows, each value with its bins, interval and noise floor, how intervals were found,
            the resamples and the version.

        Examples
        --------
        >>> import calibrant as cal
        >>> y, p = [0, 1, 1, 0] * 25, [0.2, 0.7, 0.9, 0.4] * 25
        >>> text = cal.evaluate(y, p, measures=["brier"]).methods()
        >>> text.partition(" Computed")[0]
        'On 100 rows, the Brier score is 0.075.'
        """
        from calibrant.results._methods import methods_of_evaluation

        return methods_of_evaluation(self, measures)

    @property
    def _sentence_names(self) -> dict[str, str]:
        """The name of each measure in sentences, such as SMECE for ECE of soft labels."""
        shape, soft = shape_from_notes(self.inferred), not self.reliability.is_hard
        return {e.name: find(e.name, shape).called(soft=soft) for e in self.estimates}

    def _uncertainty_columns(self) -> dict[str, list[Any]]:
        """The columns of uncertainty, a row for each measure; empty if none was computed.

        They are `estimate`, `low`, `high`, `noise_mean`, `noise_95` and `p_value`, NaN for a
        measure without them.
        """
        if not any(e.interval or e.noise_floor for e in self.estimates):
            return {}
        # What was not computed is None, and has none of these attributes.
        out = {
            end: [getattr(e.interval, end, math.nan) for e in self.estimates]
            for end in ("estimate", "low", "high")
        }
        for name, own in (("noise_mean", "mean"), ("noise_95", "upper"), ("p_value", "p_value")):
            out[name] = [getattr(e.noise_floor, own, math.nan) for e in self.estimates]
        return out

    def _json_item(self, attribute: str) -> Any:
        """The value of an attribute in the JSON of the result (`to_dict`).

        The reliability table has intervals if the evaluation was made with a level.
        """
        if attribute == "reliability":
            return self.reliability._content(self.recipe.get("level"))
        return super()._json_item(attribute)

    def plot(
        self,
        *,
        ax: Any = None,
        name: str | None = None,
        level: float | None = 0.95,
        curve: str | None = "default",
        style: str = "points",
        counts: bool = True,
        legend: bool | str = True,
        size: str | tuple[float, float] | None = None,
    ) -> ReliabilityDisplay:
        """Draw the reliability diagram: a curve of the rows, and the bins. Needs matplotlib.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; left out, on a new figure.
        name : str, optional
            The name of the predictor, for the legend.
        level : float or None, default 0.95
            Level of the intervals and of the curve's band; None draws none.
        curve : {"default", "isotonic", "local"} or None, default "default"
            The curve of the rows: isotonic by default, where rows are in memory. None joins the
            bins by a line.
        style : {"points", "bars"}, default "points"
            How bins are drawn: as points with a curve of the rows, or as bars with the gap to the
            mean prediction shaded.
        counts : bool, default True
            Whether to draw the strip that shows the share of rows in each bin.
        legend : bool or str, default True
            Whether to draw a legend where there is room, or its location inside the axes.
        size : "column" or tuple of two floats, optional
            Size of a new figure: 3.3 x 2.6 inches, or (width, height) in inches.

        Returns
        -------
        ReliabilityDisplay
            The diagram; its `save` writes it to a file.
        """
        return self.reliability.plot(
            ax=ax,
            name=name,
            level=level,
            curve=curve,
            style=style,
            counts=counts,
            legend=legend,
            size=size,
        )

    def chart(self, *, level: float = 0.95, curve: str | None = "default") -> Any:
        """Draw an interactive reliability diagram, for notebooks. Needs Altair.

        Parameters
        ----------
        level : float in (0, 1), default 0.95
            Level of the intervals and of the curve's band.
        curve : {"default", "isotonic", "local"} or None, default "default"
            The curve of the rows, as in `plot`.

        Returns
        -------
        altair.Chart
            The diagram.
        """
        return self.reliability.chart(level=level, curve=curve)

    @property
    def title(self) -> str:
        """The number of rows, in one line."""
        return f"Evaluation of {counted(self.recipe['n'], 'row')}"

    def to_text(self) -> str:
        """Give everything as text: every measure, the slices and the segments.

        ``repr`` is a summary of about ten lines; this is the whole.

        Returns
        -------
        str
            The verdict, what was inferred, the notes, and a table with a row for each measure.

        Examples
        --------
        >>> import calibrant as cal
        >>> evaluation = cal.evaluate([0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4], measures=["ece"], bins=5)
        >>> print(evaluation.to_text())
        Evaluation of 4 rows
          binary probabilities
          labels are hard (0 or 1)
        <BLANKLINE>
          measure   value  notion  bins                             truthful
          ece      0.2500  binary  5 equal-width bins, left-closed        no
        """
        messages = "\n".join(f"  {line}" for line in self._messages())
        slices = f"\n\n{self.slices!r}" if self.slices else ""
        segments = f"\n\n{self.segments!r}" if self.segments else ""
        table = as_text(self.display_columns(), indent="  ")
        return f"{self.title}\n{messages}\n\n{table}{slices}{segments}"

    def __repr__(self) -> str:
        """A summary for people: the verdict, the main measures with their intervals, the notes."""
        before, notes = self._summary_lines()
        table = fitted_text(summary_columns(self), _WIDTH, indent="  ")
        after = _indented([*notes, *self._hints()])
        return "\n".join([self.title, _indented(before), "", table, "", after]).rstrip()

    def _summary_lines(self) -> tuple[list[str], list[str]]:
        """The sentences of a summary: those before its table, and the notes after it."""
        verdict = [str(self.verdict)] if self.verdict else []
        notes = summary_notes(self.notes, main_estimates(self))
        return [*verdict, *input_lines(self.inferred)], notes

    def _hints(self) -> Iterator[str]:
        """Where to find what the summary does not show, in sentences."""
        n = len(self.estimates)
        there = [f"all {n} measures are in to_text() and to_frame()"]
        there = there if len(main_estimates(self)) < n else []
        beside = (name for name in _BESIDE if getattr(self, name) is not None)
        if there := [*there, *(f"{_BESIDE[name]} in .{name}" for name in beside)]:
            yield ", ".join(there)
        if not any(each.interval for each in self.estimates):
            yield "uncertainty=True adds confidence intervals and a verdict"

    def _messages(self) -> tuple[str, ...]:
        """Sentences shown with the table: the verdict if any, what was inferred, and notes."""
        verdict = (str(self.verdict),) if self.verdict else ()
        return (*verdict, *self.inferred, *self.notes)

    def _repr_html_(self) -> str:
        """The evaluation as HTML, for notebooks: a diagram, a summary, and sections to open."""
        columns = self.columns()
        titles = columns.pop("title")
        level = self.recipe.get("level", 0.95)
        every = html_table(_compact_columns(columns, level), "", tips={"measure": titles})
        bins = html_table(self.reliability.display_columns(level))
        before, notes = self._summary_lines()
        head = f"<p>{self.title}</p>{html_list(before)}{html_table(summary_columns(self))}"
        parts = [
            side_by_side(self.reliability.sketch(level), head + html_list(notes)),
            html_details(f"All {len(self.estimates)} measures", every),
            html_details(f"Reliability: {self.reliability.title}", bins),
        ]
        if self.classes is not None:
            n = len(self.classes["class"])
            parts.append(html_details(f"{n} classes, worst first", html_table(self.classes)))
        for beside in (self.slices, self.segments, self.clinical):
            if beside is not None:
                table = html_table(beside.display_columns()) + html_list(beside._messages())
                parts.append(html_details(beside.title, table))
        return html_box(*parts)


def _indented(lines: Sequence[str]) -> str:
    """Sentences as indented lines of a width that fits a terminal."""
    return "\n".join(each for line in lines for each in wrapped(f"  {line}", _WIDTH, hanging="  "))


def _compact_columns(columns: dict[str, list[Any]], level: float) -> dict[str, list[Any]]:
    """The columns of the table of measures, fewer for notebooks.

    Both limits become one column, named after the level, and the mean of the noise is dropped.
    Columns without intervals are unchanged.
    """
    out = dict(columns)
    if "low" in out:
        limits = zip(out.pop("low"), out.pop("high"), strict=True)
        intervals = [range_text(low, high) if low == low else "" for low, high in limits]
        noise, p = out.pop("noise_95"), out.pop("p_value")
        del out["noise_mean"]
        first = {name: out.pop(name) for name in ("measure", "value", "estimate")}
        out = {**first, f"{percent(level)} CI": intervals, "noise_95": noise, "p_value": p, **out}
    return out
