"""Tables for papers: predictors by measures, with intervals, the best in bold, ties marked."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from calibrant._core.errors import InputError
from calibrant.results._plots.typing import ComparisonData
from calibrant.results._rendering import markdown_text, percent, scale_of

_LATEX = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
}
_RAW = "raw"
_SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
# The smallest and the largest number of digits after the point.
_DIGITS = 1, 6
# Numbers that agree to this many digits count as equal.
_MOST_DIGITS = 12


@dataclass(frozen=True)
class Cell:
    """One predictor's estimate of a measure: as text, and how it compares with the best; and the
    value of the sample.
    """

    value: str
    interval: str
    raw: str
    best: bool
    tied: bool


@dataclass(frozen=True)
class MeasureColumn:
    """One measure of a table: its title, its direction, its scale and its cells."""

    title: str
    higher_is_better: bool
    exponent: int
    cells: tuple[Cell, ...]
    # Whether a column of the values of the sample follows.
    raw: bool


def measure_columns(
    comparison: ComparisonData,
    titles: Sequence[tuple[str, str, bool]],
    digits: int | None,
    raw: bool,
) -> list[MeasureColumn]:
    """The columns of a table; `titles` has each measure's name, title and direction. With `raw`,
    measures whose sample values are other numbers than the estimates have a column of these.
    """
    if digits is not None and (isinstance(digits, bool) or not 0 <= digits <= 15):
        raise InputError(f"digits must be a number from 0 to 15; got {digits!r}")
    columns = [_column(comparison, *each, digits) for each in titles]
    return columns if raw else [replace(column, raw=False) for column in columns]


def _column(
    comparison: ComparisonData, measure: str, title: str, higher: bool, digits: int | None
) -> MeasureColumn:
    found = comparison.intervals(measure)
    names = found["predictor"]
    raw, estimates, lows, highs = (
        np.array(found[name]) for name in (measure, "estimate", "low", "high")
    )
    exponent = scale_of([*raw, *lows, *highs], below=0.01)
    scale = 10.0**-exponent
    best, tied = comparison.leaders(measure), comparison.tied(measure)
    if digits is None:
        bold = np.array([name in best for name in names])
        digits = _distinct_places(estimates * scale, bold, _places((highs - lows) * scale))

    def text(number: float) -> str:
        return f"{number * scale:.{digits}f}"

    by_name = {}
    for name, value, estimate, low, high in zip(names, raw, estimates, lows, highs, strict=True):
        by_name[name] = Cell(
            value=text(estimate),
            interval=f"[{text(low)}, {text(high)}]" if low == low else "",
            raw=text(value),
            best=name in best,
            tied=name in tied and name not in best,
        )
    own = [by_name[name] for name in comparison.names]
    for line in comparison.ceiling or ():
        ends = [text(end) for end in line.intervals.get(measure, ())]
        value = text(line.values[measure])
        interval = f"[{', '.join(ends)}]" if ends else ""
        own.append(Cell(value=value, interval=interval, raw=value, best=False, tied=False))
    differs = any(cell.raw != cell.value for cell in own)
    return MeasureColumn(title, higher, exponent, tuple(own), differs)


def _people(comparison: ComparisonData) -> list[str]:
    """The annotators, whose cells come after those of the predictors."""
    return [line.name for line in comparison.ceiling or ()]


def _places(widths: Any) -> int:
    """As many places as show the usual interval's width with two digits."""
    known = widths[np.isfinite(widths) & (widths > 0)]
    if not known.size:
        return 3
    places = 1 - math.floor(math.log10(float(np.median(known))))
    return min(max(places, _DIGITS[0]), _DIGITS[1])


def _distinct_places(estimates: Any, bold: Any, places: int) -> int:
    """As many places as tell the bold numbers from the others."""
    for more in range(places, _MOST_DIGITS):
        best_values, others = estimates[bold], estimates[~bold]
        alike = [a != b and f"{a:.{more}f}" == f"{b:.{more}f}" for a in best_values for b in others]
        if not any(alike):
            return more
    return places


def latex_table(
    comparison: ComparisonData,
    columns: Sequence[MeasureColumn],
    *,
    intervals: bool,
    caption: str | None,
    label: str | None,
) -> str:
    """A booktabs table; a float where it has a caption or a label."""
    heads = []
    for c in columns:
        unit = rf" ($\times 10^{{{c.exponent}}}$)" if c.exponent else ""
        arrow = "$" + _arrow(c, "uparrow", "downarrow") + "$"
        heads.append(f"{latex_text(c.title)} {arrow}{unit}")
        heads += [_RAW] if c.raw else []
    head = " & ".join(["", *heads]).lstrip() + r" \\"
    lines = [rf"\begin{{tabular}}{{l{'r' * len(heads)}}}", r"\toprule", head, r"\midrule"]
    people = _people(comparison)
    for i, name in enumerate((*comparison.names, *people)):
        cells = _row(columns, i, partial(_latex_cell, intervals=intervals))
        lines += [r"\midrule"] if people and i == len(comparison.names) else []
        lines.append(" & ".join([_first_cell(name), *cells]) + r" \\")
    lines.append(r"\bottomrule")
    for note in _table_notes(comparison, columns):
        text = latex_text(note).replace("†", r"$^\dagger$")
        lines.append(rf"\multicolumn{{{len(heads) + 1}}}{{l}}{{\footnotesize {text}}} \\")
    lines.append(r"\end{tabular}")
    if caption is None and label is None:
        return "\n".join(lines) + "\n"
    start = [r"\begin{table}", r"\centering"]
    start += [rf"\caption{{{latex_text(caption)}}}"] if caption is not None else []
    start += [rf"\label{{{_latex_label(label)}}}"] if label is not None else []
    return "\n".join([*start, *lines, r"\end{table}"]) + "\n"


def _first_cell(name: str) -> str:
    """A name at the beginning of a row, where a bracket or a star would be an option of the line
    before it.
    """
    text = latex_text(name)
    return f"{{}}{text}" if text.startswith(("[", "*")) else text


def _row(columns: Sequence[MeasureColumn], i: int, written: Callable[[Cell], str]) -> list[str]:
    """The cells of one predictor, those of raw values included."""
    out = []
    for column in columns:
        out.append(written(column.cells[i]))
        out += [column.cells[i].raw] if column.raw else []
    return out


def _latex_cell(cell: Cell, intervals: bool) -> str:
    value = rf"\textbf{{{cell.value}}}" if cell.best else cell.value
    mark = r"$^\dagger$" if cell.tied else ""
    # Braces keep LaTeX from reading the bracket as an option of the line break before it.
    interval = f" {{\\footnotesize {cell.interval}}}" if intervals and cell.interval else ""
    return f"{value}{mark}{interval}"


def _latex_label(label: str) -> str:
    if any(letter in label for letter in "\\{}%#$^~&") or not label.isprintable():
        raise InputError(f"label must be a plain name such as tab:models; got {label!r}")
    return label


def latex_text(text: str) -> str:
    """Text that LaTeX prints as it is."""
    return "".join(_LATEX.get(letter, letter) for letter in " ".join(text.split()))


def markdown_table(
    comparison: ComparisonData, columns: Sequence[MeasureColumn], *, intervals: bool
) -> str:
    """A pipe table, and a line about ties."""
    heads = []
    for c in columns:
        unit = f" (×10{str(c.exponent).translate(_SUPERSCRIPT)})" if c.exponent else ""
        heads.append(f"{markdown_text(c.title)} {_arrow(c, '↑', '↓')}{unit}")
        heads += [_RAW] if c.raw else []
    lines = [f"| predictor | {' | '.join(heads)} |", "|---|" + "---:|" * len(heads)]
    for i, name in enumerate((*comparison.names, *_people(comparison))):
        cells = _row(columns, i, partial(_markdown_cell, intervals=intervals))
        lines.append(f"| {markdown_text(name)} | {' | '.join(cells)} |")
    for note in _table_notes(comparison, columns):
        lines += ["", note]
    return "\n".join(lines)


def _markdown_cell(cell: Cell, intervals: bool) -> str:
    value = f"**{cell.value}**" if cell.best else cell.value
    mark = "†" if cell.tied else ""
    interval = f" {cell.interval}" if intervals and cell.interval else ""
    return f"{value}{mark}{interval}"


def _arrow(column: MeasureColumn, up: str, down: str) -> str:
    arrow = up if column.higher_is_better else down
    return arrow if len(arrow) == 1 else f"\\{arrow}"


def _table_notes(comparison: ComparisonData, columns: Sequence[MeasureColumn]) -> list[str]:
    """What daggers and columns of raw values say."""
    notes = []
    if any(cell.tied for column in columns for cell in column.cells):
        notes.append(
            f"† not significantly different from the best: the {percent(comparison.level)} "
            "interval of the difference includes 0"
        )
    if any(column.raw for column in columns):
        notes.append(f"{_RAW}: the value of the sample; beside it the bias-corrected estimate")
    return notes


class PaperTables:
    """A result with tables for papers: predictors by measures.

    Examples
    --------
    >>> import calibrant as cal
    >>> y, p = [0, 1, 1, 0] * 25, [0.1, 0.8, 0.9, 0.2] * 25
    >>> found = cal.compare(y, {"a": p, "b": [0.5] * 100}, measures=["brier"], n_resamples=50)
    >>> "**0.025**" in found.to_markdown(intervals=False)
    True
    """

    @abstractmethod
    def _paper_columns(self, measures: Sequence[str] | None) -> list[tuple[str, str, bool]]:
        """The measures: name, title, and whether higher is better."""

    def to_latex(
        self,
        *,
        measures: Sequence[str] | None = None,
        intervals: bool = True,
        digits: int | None = None,
        raw: bool = True,
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
            Measures of this comparison; left out, all.
        intervals : bool, default True
            Whether confidence intervals stand beside the estimates.
        digits : int, optional
            Digits after the point; left out, as many as show the intervals and tell bold numbers
            from others.
        raw : bool, default True
            Whether a measure whose sample values are biased has a column of these.
        caption, label : str, optional
            Of the table, which is then a float; text is escaped.

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
        \\end{tabular}
        <BLANKLINE>
        """
        comparison: Any = self
        columns = measure_columns(comparison, self._paper_columns(measures), digits, raw)
        return latex_table(comparison, columns, intervals=intervals, caption=caption, label=label)

    def to_markdown(
        self,
        *,
        measures: Sequence[str] | None = None,
        intervals: bool = True,
        digits: int | None = None,
        raw: bool = True,
    ) -> str:
        """Give the table as Markdown: intervals, the best in bold, ties marked.

        Parameters
        ----------
        measures : sequence of str, optional
            Measures of this comparison; left out, all.
        intervals : bool, default True
            Whether confidence intervals stand beside the estimates.
        digits : int, optional
            Digits after the point; left out, as many as show the intervals and tell bold numbers
            from others.
        raw : bool, default True
            Whether a measure whose sample values are biased has a column of these.

        Returns
        -------
        str
            A pipe table, as `to_latex` has it.
        """
        comparison: Any = self
        columns = measure_columns(comparison, self._paper_columns(measures), digits, raw)
        return markdown_table(comparison, columns, intervals=intervals)
