"""The measures' pages: one a name of the catalogue, and the table of all of them."""

from __future__ import annotations

from functools import cache

import calibrant as cal
from calibrant._measures.catalogue import GROUPS, Measure
from measure_page import page_of
from tables import table
from verdicts import PROPERTIES, Verdicts, found, verdicts

_INTRODUCTION = """\
Every measure of the [catalogue](../reference/glossary.md#catalogue) (`cal.catalogue()`), with what
it promises. [Which one to use](../concepts/which-measure.md) is another page.

Under a measure that is not [*truthful*](../reference/glossary.md#truthful) a predictor can gain by
a misreport. A measure that is not [*continuous*](../reference/glossary.md#continuous) may jump when
a prediction moves by a hair. [*Complete*](../reference/glossary.md#complete-and-sound) ones tend to
0 for calibrated predictors, and *sound* ones stay above that for all others. Each yes and no is
what [the audit](../research/audit.md) found and the catalogue claims; a `!` would mark a claim that
is not confirmed.
"""
_END = """\
All of these take soft labels and weights. What the audit found is also in [audit.csv](audit.csv),
which `calibrant audit -o FOLDER` writes."""


@cache
def pages() -> dict[str, str]:
    """Every page: its path, and its text. Its examples are run to see what they say."""
    known = verdicts()
    by_name: dict[str, list[Measure]] = {}
    for measure in cal.catalogue():
        by_name.setdefault(measure.name, []).append(measure)
    made = {f"measures/{name}.md": page_of(entries, known) for name, entries in by_name.items()}
    return {"measures/index.md": _index(by_name, known), **made}


def groups() -> dict[str, list[str]]:
    """The names of the measures under the headings of the navigation: the catalogue's groups."""
    named: dict[str, list[str]] = {}
    for key, (title, _) in GROUPS.items():
        ranked = sorted((m for m in cal.catalogue() if m.group == key), key=lambda m: m.rank)
        named[title] = list(dict.fromkeys(m.name for m in ranked))
    return named


def _index(by_name: dict[str, list[Measure]], known: Verdicts) -> str:
    head = ["measure", "what it is", "predictions", "range", *PROPERTIES]
    parts = ["# The measures", _INTRODUCTION.strip()]
    for title, names in groups().items():
        rows = [row for name in names for row in _rows(by_name[name], known)]
        parts += [f"## {title}", table(head, rows)]
    return "\n\n".join([*parts, _END]) + "\n"


def _rows(entries: list[Measure], known: Verdicts) -> list[list[str]]:
    """One row for both shapes of predictions if the same is to be said of them."""
    lines: dict[tuple[str, ...], list[str]] = {}
    for entry in entries:
        for shape in entry.shapes:
            link = f"[`{entry.name}`]({entry.name}.md)"
            cells = (found(entry, shape, name, known) for name in PROPERTIES)
            lines.setdefault((link, entry.title, entry.range, *cells), []).append(shape)
    return [
        [*line[:2], "both" if len(shapes) > 1 else shapes[0], *line[2:]]
        for line, shapes in lines.items()
    ]
