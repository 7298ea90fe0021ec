"""Conventions: the ECE of each well-known tool, and why they differ."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from calibrant.results._base import TableOfRows, column
from calibrant.results._notebook import html_box, html_list, html_table
from calibrant.results._rendering import shown
from calibrant.results._text_tables import as_text


@dataclass(frozen=True, kw_only=True)
class Convention:
    """One tool's answer: with its own default number of bins, and with a common one.

    Attributes
    ----------
    tool, version : str
        The tool.
    default_bins : int
        Its default number of bins; 0 if it has none, which tables leave blank.
    at_default, at_common : float or None
        Its value with its own bins, and with the common number; None where it gives none.
    answer : str
        Whether it gives a value.
    rule : str
        Its rule, in words.
    why : str
        Why its value differs.

    Examples
    --------
    >>> import calibrant as cal
    >>> cal.conventions([0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4]).rows[0].answer
    'as defined'
    """

    tool: str
    version: str
    default_bins: int = field(metadata=column("its_bins"))
    at_default: float | None = field(metadata=column("with_its_bins"))
    at_common: float | None = field(metadata=column("with_{bins}_bins"))
    answer: str
    rule: str
    why: str


@dataclass(frozen=True, repr=False)
class Conventions(TableOfRows[Convention]):
    """The ECE of the same data by every tool's rule, starting with Calibrant's.

    Made by `conventions`.

    Attributes
    ----------
    rows : tuple of Convention
        The tools.
    bins : int
        The common number of bins.
    notion : str
        What is measured: "binary", or "confidence" for the top label.
    note : str
        Remarks, such as which of two columns was used.

    Examples
    --------
    >>> import calibrant as cal
    >>> tools = cal.conventions([0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4])
    >>> tools.rows[0].tool, len(tools) > 3
    ('Calibrant', True)
    """

    _json_keys = "bins notion tools note"
    _table_key = "tools"

    rows: tuple[Convention, ...]
    bins: int
    notion: str
    note: str = ""

    @property
    def title(self) -> str:
        """What is measured, in one line."""
        return f"Conventions ({self.notion})"

    @property
    def _differing(self) -> tuple[Convention, ...]:
        """The tools that give another number than the definition in as many bins, or none."""
        own, *others = self.rows
        return tuple(row for row in others if shown(row.at_common) != shown(own.at_common))

    @property
    def _agreement(self) -> str:
        """Which tools give Calibrant's number in as many bins and which another, in sentences."""
        own, *others = self.rows
        value = shown(own.at_common)
        given = [row for row in others if row.at_common is not None]
        same = [row.tool for row in given if shown(row.at_common) == value]
        other = [row.tool for row in given if shown(row.at_common) != value]
        sentences = [
            f"these give Calibrant's {value}: {'; '.join(same)}" if same else "",
            f"these give another number: {'; '.join(other)}" if other else "",
        ]
        some = [sentence for sentence in sentences if sentence] or ["no tool gives a number"]
        some[0] = f"With {self.bins} bins, {some[0]}"
        return " ".join(f"{sentence[0].upper()}{sentence[1:]}." for sentence in some)

    def display_columns(self) -> dict[str, list[Any]]:
        columns = self.columns()
        return columns | {"its_bins": [number or None for number in columns["its_bins"]]}

    def _short_columns(self) -> dict[str, list[Any]]:
        """The table without rules and versions, under short names that fit a terminal."""
        columns = self.display_columns()
        common = f"with_{self.bins}_bins"
        names = {"tool": "tool", "its_bins": "bins", "with_its_bins": "value"}
        names |= {common: common.replace("_", " "), "answer": "answer"}
        return {short: columns[name] for name, short in names.items()}

    def __repr__(self) -> str:
        """The table without rules and versions, and why each tool differs, as text."""
        short = self._short_columns()
        why = "\n".join(f"  {row.tool}: {row.why}" for row in self.rows)
        notes = "".join(f"\n  {line}" for line in filter(None, [self.note, self._agreement]))
        return f"{self.title}{notes}\n{as_text(short, indent='  ')}\n\n{why}"

    def _repr_html_(self) -> str:
        """The table as HTML, for notebooks; the rule of each tool is a tooltip."""
        columns = self.display_columns()
        rules = columns.pop("rule")
        tips = {"tool": rules, "why": rules}
        return html_box(
            html_list(filter(None, [self.note, self._agreement])),
            html_table(columns, self.title, tips=tips),
        )
