"""A reproduction as one HTML page that needs no other file: it reads like a results section."""

from __future__ import annotations

import base64
from html import escape
from typing import TYPE_CHECKING

from calibrant.results._rendering import shown

if TYPE_CHECKING:
    from calibrant._research.papers.folder import Erratum, Figure, Reproduction, Section, Table

_STYLE = """
:root { color-scheme: light; }
body { font: 16px/1.55 Georgia, 'Times New Roman', serif; color: #1a1a1a; background: #fff;
  max-width: 62rem; margin: 2rem auto; padding: 0 1.25rem; }
h1 { font-size: 1.7rem; line-height: 1.25; margin-bottom: .2rem; }
h2 { font-size: 1.25rem; margin-top: 2.4rem; border-bottom: 1px solid #ddd; padding-bottom: .2rem; }
p { max-width: 46rem; }
.paper { color: #555; margin-top: 0; }
nav { font-size: .9rem; } nav a { margin-right: 1rem; white-space: nowrap; }
.wide { overflow-x: auto; margin: 1.4rem 0; }
table { border-collapse: collapse; font: .82rem/1.35 system-ui, sans-serif;
  font-variant-numeric: tabular-nums; border-bottom: 2px solid #333; }
caption { text-align: left; font: .92rem/1.45 Georgia, serif; padding-bottom: .4rem;
  max-width: 46rem; }
th { border-top: 2px solid #333; border-bottom: 1px solid #333; text-align: left; }
th, td { padding: .16rem .6rem; vertical-align: top; }
td.number { text-align: right; white-space: nowrap; }
th.number { text-align: right; }
tr.group td { border-top: 1px solid #ddd; }
td.marked { background: #fff0c2; }
sup { display: inline-block; width: 0; line-height: 0; } /* numbers stay in line */
sup a { text-decoration: none; font-weight: bold; margin-left: .1rem; }
.notes { font-size: .85rem; color: #444; margin: .3rem 0 0; max-width: 46rem; }
figure { margin: 1.6rem 0; } figure img { max-width: 100%; height: auto; }
figcaption { font-size: .92rem; max-width: 46rem; }
code { font-size: .85rem; overflow-wrap: anywhere; }
a { color: #0b5394; }
@media print { nav { display: none; } body { margin: 0; max-width: none; } }
"""


def page(reproduction: Reproduction) -> str:
    """The whole page; every text is escaped."""
    sections = [_section(section, i) for i, section in enumerate(reproduction.sections)]
    links = [(f"s{i}", section.heading) for i, section in enumerate(reproduction.sections)]
    if reproduction.errata:
        links.append(("errata", "Errata"))
        marked = any(table.marks for table in reproduction.tables.values())
        sections.append(_errata(reproduction.errata, marked))
    links.append(("recipe", "Recipe"))
    nav = " ".join(f'<a href="#{to}">{escape(text)}</a>' for to, text in links)
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(reproduction.title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n"
        f"<h1>{escape(reproduction.title)}</h1>\n"
        f'<p class="paper">{escape(reproduction.paper)}</p>\n<nav>{nav}</nav>\n'
        + "\n".join(sections)
        + _recipe(reproduction)
        + "\n</body>\n</html>\n"
    )


def _section(section: Section, number: int) -> str:
    parts = [f'<section id="s{number}">\n<h2>{escape(section.heading)}</h2>']
    parts += [f"<p>{escape(text)}</p>" for text in section.paragraphs]
    parts += [_table(table) for table in section.tables if table.on_page]
    parts += [_figure(figure) for figure in section.figures]
    return "\n".join(parts) + "\n</section>"


def _table(table: Table) -> str:
    names = list(table.columns)
    numeric = {name: _is_numeric(table, name) for name in names}
    head = "".join(f'<th scope="col"{_number(numeric[name])}>{escape(name)}</th>' for name in names)
    rows, before = [], None
    for i, values in enumerate(zip(*table.columns.values(), strict=True)):
        # Said once and parted by a line: paper, measured and corrected stay together.
        again = values[0] == before
        cells = "".join(
            _cell(
                "" if again and not j else shown(value), numeric[name], table.marks.get((i, name))
            )
            for j, (name, value) in enumerate(zip(names, values, strict=True))
        )
        group = ' class="group"' if i and not again else ""
        rows.append(f"<tr{group}>{cells}</tr>")
        before = values[0]
    notes = "".join(f'<p class="notes">{escape(note)}</p>' for note in table.notes)
    return (
        f'<div class="wide" id="{escape(table.name)}"><table><caption>{escape(table.caption)}'
        f"</caption><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>{notes}"
        "</div>"
    )


def _is_numeric(table: Table, name: str) -> bool:
    """Numbers, or texts of numbers such as "0.0766 ± 0.0034", stand to the right."""
    texts = [shown(value) for value in table.columns[name]]
    return any(texts) and all(not text or text.lstrip("-+")[:1].isdigit() for text in texts)


def _number(numeric: bool) -> str:
    return ' class="number"' if numeric else ""


def _cell(text: str, numeric: bool, mark: str | None) -> str:
    if mark is None:
        return f"<td{_number(numeric)}>{escape(text)}</td>"
    kind = "number marked" if numeric else "marked"
    link = f'<sup><a href="#erratum-{escape(mark)}">{escape(mark)}</a></sup>'
    return f'<td class="{kind}" title="erratum {escape(mark)}">{escape(text)}{link}</td>'


def _figure(figure: Figure) -> str:
    # As an image and not inline: the names within one drawing cannot meet those of another.
    picture = base64.b64encode(figure.svg).decode("ascii")
    return (
        f'<figure id="{escape(figure.name)}"><img alt="{escape(figure.caption)}" '
        f'src="data:image/svg+xml;base64,{picture}"><figcaption>{escape(figure.caption)}'
        "</figcaption></figure>"
    )


def _errata(errata: tuple[Erratum, ...], marked: bool) -> str:
    said = "Found by doing it again." + " Marked cells above point here." * marked
    rows = "".join(
        f'<tr class="group" id="erratum-{escape(e.number)}"><td class="marked">'
        f"{escape(e.number)}</td><td>{escape(e.where)}</td><td>{escape(e.paper)}</td>"
        f"<td>{escape(e.found)}</td></tr>"
        for e in errata
    )
    head = "".join(
        f'<th scope="col">{name}</th>' for name in ("", "where", "the paper", "what it is")
    )
    return (
        f'<section id="errata">\n<h2>Errata</h2>\n<p>{said}</p>\n'
        f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{rows}'
        "</tbody></table></div>\n</section>"
    )


def _recipe(reproduction: Reproduction) -> str:
    rows = "".join(
        f'<tr class="group"><td>{escape(str(name))}</td><td><code>{escape(shown(value))}</code>'
        "</td></tr>"
        for name, value in reproduction.recipe.items()
    )
    return (
        '\n<section id="recipe">\n<h2>Recipe</h2>\n<p>What to run, and with what, for the same '
        f'numbers to come out again.</p>\n<div class="wide"><table><tbody>{rows}</tbody></table>'
        "</div>\n</section>"
    )
