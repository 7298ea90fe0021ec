"""Tables for papers: predictors by measures, with intervals, the best in bold, ties marked; and
the measures of one predictor.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from calibrant._core.errors import InputError, counted, nearest, one_of
from calibrant.results._plots.typing import ComparisonData
from calibrant.results._rendering import markdown_text, percent, scale_of

# An `Estimate` of an evaluation, whose module lies above.
Estimate: TypeAlias = Any

_LATEX_ESCAPES = {
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
# Beside a recalibrated model, "raw" would be read as "not recalibrated".
_SAMPLE = "sample"
_SAMPLE_NOTE = (
    f"{_SAMPLE}: the value in the sample; the other number is the bias-corrected estimate"
)
_NEAR_NOTE = "→: better the closer to this number; differences are those of the distances from it"
# Where intervals stand.
LAYOUTS = ("beside", "stacked")
_SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
# The fewest and the most decimal places that are chosen by the widths of intervals.
_DIGITS = 1, 6
# Numbers that print alike with one decimal place fewer than this count as equal.
_MOST_DIGITS = 12


@dataclass(frozen=True)
class Cell:
    """One predictor's value of a measure, as texts.

    `value` is the bias-corrected estimate, `interval` its limits in brackets (or empty), `raw` the
    value of the sample. `best` is printed bold; `tied` (a dagger) is not significantly different
    from the best.
    """

    value: str
    interval: str
    raw: str
    best: bool
    tied: bool


@dataclass(frozen=True)
class MeasureColumn:
    """One measure of a table: its title, its direction, its scale and a cell for each row.

    The numbers in the cells are multiples of ``10 ** exponent``.
    """

    title: str
    higher_is_better: bool
    exponent: int
    cells: tuple[Cell, ...]
    # Whether a second column follows, of the values of the sample.
    raw: bool
    # The value that is best, for slopes and intercepts.
    target: float | None = None


class PaperTable(NamedTuple):
    """A table before it is written: a row per predictor (or annotator), a column per measure."""

    names: tuple[str, ...]
    # The first so many rows are predictors, the rest are annotators.
    n_predictors: int
    columns: list[MeasureColumn]
    level: float
    # Whether confidence intervals stand at the estimates, and whether under and not beside them.
    intervals: bool
    stacked: bool
    # Remarks on rows and measures, for the notes of a LaTeX table.
    about: str = ""


class Markup(NamedTuple):
    """How LaTeX or Markdown writes what a table holds.

    `text` escapes a text, `bold`, `interval` and `under` (an interval below) are formats, `tied` is
    the mark of a tie, `higher` and `lower` are arrows that say what is better, `near` is
    the format of a value that is best, and `power_of_ten` writes the scale of a column.
    """

    text: Callable[[str], str]
    bold: str
    tied: str
    interval: str
    under: str
    higher: str
    lower: str
    near: str
    power_of_ten: Callable[[int], str]


def paper_table(
    comparison: ComparisonData,
    titles: Sequence[tuple[str, str, bool]],
    *,
    intervals: bool,
    digits: int | None,
    raw: bool,
    rows: Sequence[str] | Mapping[str, str] | None = None,
    layout: str = "beside",
) -> PaperTable:
    """The table of a comparison for a paper: a row per predictor, a column per measure.

    `titles` has the name, the title and whether higher is better of each measure. `digits` are
    those after the point; None chooses them for each measure. With `raw`, a measure whose sample
    values print differently from the estimates also has a column of sample values. `rows` are
    predictors that come first, in this order, and what they are called if it is a mapping.
    """
    _check_digits(digits)
    one_of("layout", layout, LAYOUTS)
    order, called = _row_names(comparison.names, rows)
    columns = [_measure_column(comparison, *each, digits, order) for each in titles]
    if not raw:
        columns = [replace(column, raw=False) for column in columns]
    annotators = (line.name for line in comparison.ceiling or ())
    names = (*(called.get(name, name) for name in order), *annotators)
    stacked = layout == "stacked"
    about = _about_measures(comparison, [name for name, *_ in titles])
    return PaperTable(names, len(order), columns, comparison.level, intervals, stacked, about)


def _about_measures(comparison: ComparisonData, measures: Sequence[str]) -> str:
    """The number of rows, the bins of the ECE, and the range of a Brier score of classes."""
    recipe = comparison.recipe
    parts = [counted(recipe["n"], "row")]
    parts += [f"ECE in {recipe['bins']}"] if {"ece", "soft_ece"} & set(measures) else []
    if "brier" in measures and recipe["n_classes"] > 2:
        parts.append("Brier score summed over classes, 0 to 2")
    return "; ".join(parts)


def _check_digits(digits: Any) -> None:
    """Raise an InputError unless the number of digits after the point is one, or None."""
    if digits is not None and (isinstance(digits, bool) or not 0 <= digits <= 15):
        raise InputError(f"digits must be a number from 0 to 15; got {digits!r}")


def _row_names(
    names: Sequence[str], rows: Sequence[str] | Mapping[str, str] | None
) -> tuple[list[str], Mapping[str, str]]:
    """All predictors, those of `rows` first, and what those are called that have another name."""
    first = [rows] if isinstance(rows, str) else list(rows or ())
    for name in first:
        if name not in names:
            raise InputError(f"rows: no predictor is called {name!r}: {nearest(name, names)}")
    called = dict(rows) if isinstance(rows, Mapping) else {}
    return list(dict.fromkeys((*first, *names))), called


def _measure_column(
    comparison: ComparisonData,
    measure: str,
    title: str,
    higher: bool,
    digits: int | None,
    order: Sequence[str],
) -> MeasureColumn:
    """The column of one measure; `higher` says whether a higher value is better.

    If `digits` is None, the widths of the intervals decide the number of digits; more are added if
    a bold number would print like another.
    """
    limits = comparison.intervals(measure)
    names = limits["predictor"]
    raw, estimates, lows, highs = (
        np.array(limits[name]) for name in (measure, "estimate", "low", "high")
    )
    exponent = scale_of([*raw, *lows, *highs], below=0.01)
    scale = 10.0**-exponent
    best, tied = comparison.leaders(measure), comparison.tied(measure)
    if digits is None:
        bold = np.array([name in best for name in names])
        digits = _distinct_places(
            estimates * scale, bold, _places_for_widths((highs - lows) * scale)
        )

    def text(number: float) -> str:
        """A number as text: a multiple of the column's power of ten, with the column's digits."""
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
    own = [by_name[name] for name in order]
    for line in comparison.ceiling or ():
        ends = [text(end) for end in line.intervals.get(measure, ())]
        value = text(line.values[measure])
        interval = f"[{', '.join(ends)}]" if ends else ""
        own.append(Cell(value=value, interval=interval, raw=value, best=False, tied=False))
    differs = any(cell.raw != cell.value for cell in own)
    near = comparison.closeness.get(measure)
    target = None if near is None else near.target
    return MeasureColumn(title, higher, exponent, tuple(own), differs, target)


def _places_for_widths(widths: Any) -> int:
    """The number of decimal places that shows the median width of intervals with two digits.

    There are 1 to 6; 3 where no width is known.
    """
    known = widths[np.isfinite(widths) & (widths > 0)]
    if not known.size:
        return 3
    places = 1 - math.floor(math.log10(float(np.median(known))))
    return min(max(places, _DIGITS[0]), _DIGITS[1])


def _distinct_places(estimates: Any, bold: Any, places: int) -> int:
    """The fewest decimal places, from `places` up, at which no bold number prints like another.

    `bold` is a mask of the estimates. The result is `places` if even 11 are not enough.
    """
    for more in range(places, _MOST_DIGITS):
        best_values, others = estimates[bold], estimates[~bold]
        alike = [a != b and f"{a:.{more}f}" == f"{b:.{more}f}" for a in best_values for b in others]
        if not any(alike):
            return more
    return places


def _headings(table: PaperTable, markup: Markup) -> list[str]:
    """The heading of each column: title, arrow and power of ten, or `sample` for sample values."""
    heads = []
    for column in table.columns:
        power = markup.power_of_ten(column.exponent) if column.exponent else ""
        arrow = markup.higher if column.higher_is_better else markup.lower
        arrow = arrow if column.target is None else markup.near.format(column.target)
        head = f"{markup.text(column.title)} {arrow}{power}"
        heads += [head, _SAMPLE] if column.raw else [head]
    return heads


def _row_texts(table: PaperTable, i: int, markup: Markup) -> list[str]:
    """The texts of row i of the table: the cell of each measure, and its sample value if shown."""
    out = []
    interval = markup.under if table.stacked else markup.interval
    for column in table.columns:
        cell = column.cells[i]
        text = markup.bold.format(cell.value) if cell.best else cell.value
        text += markup.tied if cell.tied else ""
        if table.intervals and cell.interval:
            text += interval.format(cell.interval)
        out += [text, cell.raw] if column.raw else [text]
    return out


def _table_notes(table: PaperTable) -> list[str]:
    """The notes below the table: what daggers and columns `sample` mean, if it has any."""
    notes = []
    if any(cell.tied for column in table.columns for cell in column.cells):
        notes.append(
            f"† not significantly different from the best: the {percent(table.level)} "
            "interval of the difference includes 0"
        )
    if any(column.target is not None for column in table.columns):
        notes.append(_NEAR_NOTE)
    if any(column.raw for column in table.columns):
        notes.append(_SAMPLE_NOTE)
    return notes


def latex_table(table: PaperTable, *, caption: str | None, label: str | None) -> str:
    """The LaTeX of a table, a booktabs tabular.

    With a caption or a label it is inside a table environment.
    """
    body = []
    for i, name in enumerate(table.names):
        body += [r"\midrule"] if i == table.n_predictors else []
        body.append(" & ".join([_first_cell(name), *_row_texts(table, i, _LATEX)]) + r" \\")
        body += _row_of_intervals(table, i) if table.stacked and table.intervals else []
    cells = [cell for column in table.columns for cell in column.cells]
    marks = ["bold: the best estimate"] if any(cell.best for cell in cells) else []
    if table.intervals and any(cell.interval for cell in cells):
        marks.append(f"in brackets: the {percent(table.level)} confidence interval")
    notes = [*_table_notes(table), "; ".join(marks)]
    notes = [
        latex_text(note).replace("†", _LATEX.tied).replace("→", r"$\to$")
        for note in (*notes, table.about)
        if note
    ]
    return _tabular(["", *_headings(table, _LATEX)], body, notes, caption, label)


def _row_of_intervals(table: PaperTable, i: int) -> list[str]:
    """The LaTeX of the intervals below row i, and of a gap before the next; none if it has none."""
    texts = []
    for column in table.columns:
        interval = column.cells[i].interval
        texts.append(_LATEX.interval.format(interval).strip() if interval else "")
        texts += [""] if column.raw else []
    row = " & ".join(["", *texts]).strip() + r" \\"
    gap = [] if i + 1 in (table.n_predictors, len(table.names)) else [r"\addlinespace"]
    return [row, *gap] if any(texts) else []


def _tabular(
    heads: Sequence[str],
    body: Sequence[str],
    notes: Sequence[str],
    caption: str | None,
    label: str | None,
) -> str:
    """A booktabs tabular, in a table environment with a caption or a label; the first column holds
    names, and its head may be empty.
    """
    head = " & ".join(heads).lstrip() + r" \\"
    start = rf"\begin{{tabular}}{{l{'r' * (len(heads) - 1)}}}"
    lines = [start, r"\toprule", head, r"\midrule", *body, r"\bottomrule"]
    for text in notes:
        lines.append(rf"\multicolumn{{{len(heads)}}}{{l}}{{\footnotesize {text}}} \\")
    lines.append(r"\end{tabular}")
    return _in_table_environment(lines, caption, label)


def latex_of_texts(
    columns: Mapping[str, Sequence[str]], *, caption: str | None, label: str | None
) -> str:
    """The LaTeX of columns of texts, a booktabs tabular; numbers are written by the caller."""
    rows = [
        " & ".join([_first_cell(first), *map(latex_text, others)]) + r" \\"
        for first, *others in zip(*columns.values(), strict=True)
    ]
    return _tabular(list(map(latex_text, columns)), rows, [], caption, label)


def value_with_limits(value: float, low: float, high: float) -> str:
    """A number with its limits in parentheses, with as many digits as its interval deserves."""
    digits = max(2, _places_for_widths(np.array([high - low])))
    limits = f" ({low:.{digits}f} to {high:.{digits}f})" if low == low else ""
    return f"{value:.{digits}f}{limits}"


def _in_table_environment(lines: list[str], caption: str | None, label: str | None) -> str:
    """The lines of a tabular as text; with a caption or a label inside a table environment."""
    if caption is None and label is None:
        return "\n".join(lines) + "\n"
    start = [r"\begin{table}", r"\centering"]
    start += [rf"\caption{{{latex_text(caption)}}}"] if caption is not None else []
    start += [rf"\label{{{_check_latex_label(label)}}}"] if label is not None else []
    return "\n".join([*start, *lines, r"\end{table}"]) + "\n"


def latex_of_measures(
    rows: Sequence[tuple[str, Estimate]],
    level: float,
    digits: int | None,
    *,
    caption: str | None,
    label: str | None,
) -> str:
    """The LaTeX of one predictor's measures, a row for each title; as `latex_table` has it."""
    _check_digits(digits)
    cells = [_cells_of_measure(title, estimate, digits) for title, estimate in rows]
    known = any(interval for _, _, interval, _ in cells)
    raw = any(value != estimate for _, estimate, _, value in cells)
    keep = slice(None, None if raw else 3) if known else slice(None, 2)
    heads = ["estimate", latex_text(f"{percent(level)} CI"), _SAMPLE] if known else ["value"]
    body = [" & ".join(each[keep]) + r" \\" for each in cells]
    notes = [latex_text(_SAMPLE_NOTE)] if known and raw else []
    return _tabular(["", *heads][: len(cells[0][keep])], body, notes, caption, label)


def _cells_of_measure(
    title: str, measured: Estimate, digits: int | None
) -> tuple[str, str, str, str]:
    """The texts of a measure in LaTeX: its title, estimate, interval, and sample value."""
    interval = measured.interval
    ends = () if interval is None or math.isnan(interval.low) else (interval.low, interval.high)
    exponent = scale_of([measured.value, *ends], below=0.01)
    scale = 10.0**-exponent
    width = np.array([ends[1] - ends[0] if ends else math.nan]) * scale
    places = _places_for_widths(width) if digits is None else digits
    text = f"{latex_text(title)} {_LATEX.higher if measured.higher_is_better else _LATEX.lower}"
    text += _LATEX.power_of_ten(exponent) if exponent else ""
    estimate = measured.estimate if ends else measured.value
    value, middle, *limits = (
        f"{each * scale:.{places}f}" for each in (measured.value, estimate, *ends)
    )
    # Braces keep LaTeX from reading the bracket as an option of the line break before it.
    return text, middle, f"{{[{', '.join(limits)}]}}" if ends else "", value


def _first_cell(name: str) -> str:
    """A predictor's name as the first cell of a LaTeX row, escaped.

    LaTeX would read a leading bracket or star as an option of the line break before it: braces
    prevent that.
    """
    text = latex_text(name)
    return f"{{}}{text}" if text.startswith(("[", "*")) else text


def _check_latex_label(label: str) -> str:
    """Check a LaTeX label; characters that are special in LaTeX are an error."""
    if any(letter in label for letter in "\\{}%#$^~&") or not label.isprintable():
        raise InputError(f"label must be a plain name such as tab:models; got {label!r}")
    return label


def latex_text(text: str) -> str:
    """Escape a text for LaTeX, and put it on one line."""
    return "".join(_LATEX_ESCAPES.get(letter, letter) for letter in " ".join(text.split()))


def markdown_table(table: PaperTable) -> str:
    """The Markdown of a table, with the notes on ties and raw values below it."""
    heads = _headings(table, _MARKDOWN)
    lines = [f"| predictor | {' | '.join(heads)} |", "|---|" + "---:|" * len(heads)]
    for i, name in enumerate(table.names):
        lines.append(f"| {markdown_text(name)} | {' | '.join(_row_texts(table, i, _MARKDOWN))} |")
    for note in _table_notes(table):
        lines += ["", note]
    return "\n".join(lines)


_LATEX = Markup(
    text=latex_text,
    bold=r"\textbf{{{}}}",
    tied=r"$^\dagger$",
    # Braces keep LaTeX from reading the bracket as an option of the line break before it.
    interval=r" {{\footnotesize {}}}",
    under="",  # they are a row of their own
    higher=r"$\uparrow$",
    lower=r"$\downarrow$",
    near=r"$\to {:g}$",
    power_of_ten=lambda exponent: rf" ($\times 10^{{{exponent}}}$)",
)
_MARKDOWN = Markup(
    text=markdown_text,
    bold="**{}**",
    tied="†",
    interval=" {}",
    under="<br>{}",
    higher="↑",
    lower="↓",
    near="→ {:g}",
    power_of_ten=lambda exponent: f" (×10{str(exponent).translate(_SUPERSCRIPT)})",
)
