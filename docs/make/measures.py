"""The measures' pages: one a name of the catalogue, and the table of all of them."""

from __future__ import annotations

from functools import cache

import calibrant as cal
from calibrant._measures.catalogue import GROUPS, Measure
from measure_page import page_of
from tables import table
from verdicts import PROPERTIES, Verdicts, found, verdicts

_INTRODUCTION = """\
Every measure of the [catalogue](../reference/glossary.md#catalogue) (`cal.catalogue()`), with its
formula, a picture, and when to use it. [Which measure to use](../concepts/which-measure.md) helps
you choose.

| property | meaning |
| --- | --- |
| [truthful](../reference/glossary.md#truthful) | a predictor gains nothing by a misreport |
| [continuous](../reference/glossary.md#continuous) | no jump when a prediction moves by a hair |
| [complete](../reference/glossary.md#complete-and-sound) | tends to 0 for calibrated predictors |
| [sound](../reference/glossary.md#complete-and-sound) | stays above that for all others |

Each yes and no is claimed by the catalogue and confirmed by [the audit](../research/audit.md).
"""
_END = """\
All measures take soft labels and weights. [audit.csv](audit.csv) has the audit's findings;
`calibrant audit -o FOLDER` writes them again."""


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
    parts = ["# Measures", _INTRODUCTION.strip()]
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
