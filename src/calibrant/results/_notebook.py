"""Results in a notebook: compact HTML that takes its colours from the page, light or dark."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

from calibrant.results._rendering import Columns, shown_in

# A table of more rows than this shows only its first and last ones.
MOST_ROWS = 30
_FIRST, _LAST = 20, 5
# A cell of more letters than this is cut; its tooltip has the whole text.
_MOST_LETTERS = 120
# A word longer than this may be broken.
_WORD = 30

_LEFT = ",".join(f".calibrant .l{j} :is(th,td):nth-child({j})" for j in range(1, 13))
_STYLE = (
    ".calibrant{font-size:90%;line-height:1.4}"
    ".calibrant table{border-collapse:collapse;margin:.3em 0 .6em}"
    ".calibrant caption{caption-side:top;text-align:left;font-weight:600;color:inherit;"
    "padding:.2em 0;white-space:normal}"
    ".calibrant th,.calibrant td{text-align:right;padding:.15em .9em .15em 0;max-width:28em;"
    "white-space:nowrap;font-variant-numeric:tabular-nums;"
    "border-bottom:1px solid rgba(128,128,128,.25);vertical-align:top}"
    ".calibrant tbody tr:last-child td{border-bottom:0}"
    ".calibrant ul{margin:.2em 0 .5em;padding-left:1.3em}"
    ".calibrant summary{cursor:pointer;font-weight:600;margin:.2em 0}"
    ".calibrant p{margin:.2em 0;font-weight:600}"
    ".calibrant .side{display:flex;flex-wrap:wrap;gap:.5em 1.5em;align-items:flex-start}"
    ".calibrant .side>div{flex:1 1 22em;min-width:0}.calibrant .side>:first-child{flex:none}"
    ".calibrant .scroll{overflow-x:auto}"
    f"{_LEFT}{{text-align:left;white-space:normal}}"
)


class Drawing(str):
    """A cell of a table that is HTML already, such as an SVG: made by us, never a user's text."""


def html_box(*parts: str) -> str:
    """The HTML of a result in a notebook: its parts in one box, with their style sheet."""
    return f'<div class="calibrant"><style>{_STYLE}</style>{"".join(parts)}</div>'


def html_table(
    columns: Columns, caption: str = "", *, tips: Mapping[str, Sequence[str]] = {}
) -> str:
    """An HTML table of columns, texts to the left and numbers to the right; all text is escaped.

    A table of more than 30 rows shows its first 20 and its last 5. `tips` has, by the name of a
    column, the tooltip of each of its cells.
    """
    rows = list(zip(*columns.values(), strict=True))
    places: list[int | None] = list(range(len(rows)))
    if len(rows) > MOST_ROWS:
        places = [*places[:_FIRST], None, *places[len(rows) - _LAST :]]
    left = [
        f"l{j}"
        for j, values in enumerate(columns.values(), 1)
        if not any(isinstance(v, int | float) and not isinstance(v, bool) for v in values)
    ]
    head = "".join(f"<th>{_breakable_text(name)}</th>" for name in columns)
    body = ""
    for i in places:
        if i is None:
            body += _omission_row(len(rows), len(columns))
            continue
        own = [tips[name][i] if name in tips else "" for name in columns]
        body += f"<tr>{''.join(map(_html_cell, columns, rows[i], own))}</tr>"
    title = f"<caption>{escape(caption)}</caption>" if caption else ""
    return (
        f'<div class="scroll {" ".join(left)}"><table>{title}<thead><tr>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


def _html_cell(column: str, value: Any, tip: str) -> str:
    """The HTML of one cell of a table, in the column of this name, with its tooltip if any.

    A text of more than 120 letters is cut; its tooltip is the whole text unless it has another.
    """
    if isinstance(value, Drawing):
        return f"<td>{value}</td>"
    text = shown_in(column, value)
    if len(text) > _MOST_LETTERS:
        tip, text = tip or text, f"{text[: _MOST_LETTERS - 1]}…"
    inside = _breakable_text(text)
    return f'<td title="{escape(tip)}">{inside}</td>' if tip else f"<td>{inside}</td>"


def _breakable_text(text: str) -> str:
    """Escape a text as HTML, and let words of more than 30 letters break across lines."""
    if all(len(word) <= _WORD for word in text.split()):
        return escape(text)
    pieces = (text[i : i + _WORD] for i in range(0, len(text), _WORD))
    return "<wbr>".join(map(escape, pieces))


def _omission_row(n: int, width: int) -> str:
    """The HTML row of a table that says how many of n rows are omitted; `width` counts columns."""
    n_omitted = n - _FIRST - _LAST
    return f'<tr><td colspan="{width}">… {n_omitted:,} more rows: to_frame() has them</td></tr>'


def html_list(lines: Iterable[str]) -> str:
    """The HTML of a list of sentences; an empty text without sentences."""
    items = "".join(f"<li>{escape(line)}</li>" for line in lines)
    return f"<ul>{items}</ul>" if items else ""


def html_details(title: str, inside: str) -> str:
    """The HTML of a section that the reader can open, from its title and its inside (HTML)."""
    return f"<details><summary>{escape(title)}</summary>{inside}</details>"


def side_by_side(*parts: str) -> str:
    """The HTML of parts side by side where there is room, else one below the other."""
    return f'<div class="side">{"".join(f"<div>{part}</div>" for part in parts)}</div>'
