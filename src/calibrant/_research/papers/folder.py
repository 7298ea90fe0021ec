"""Reproduction: a paper's results as data, and the folder they are written to.

A paper's module builds one of these and returns it; nothing is drawn or written until asked:

    Reproduction(
        name="soft-mean", title="...", paper="who (when), what, where",
        sections=(
            Section(
                "Experiment 1", paragraphs=("What was done.",),
                tables=(Table("table_2", "caption", {"model": [...], "paper": [...]}),),
                figures=(Figure("reliability", "caption", draw=a_function),),
            ),
        ),
        errata=(Erratum("1", "table 6", "what is printed", "what it is"),),
        recipe={"seed": 42},
    ).write("out")

`Table.columns` maps names to equally long lists. `Table.marks` maps (row, column name) to the
number of an erratum: the cell is highlighted and points to it. `Table.on_page=False` leaves a table
to the files. `Figure.draw` is called once for each format, so importing needs no matplotlib;
`Figure.data` are the columns that it draws. Paragraphs and captions are plain text: the page
(`templates/reproduction.html`) escapes them.

The folder holds `index.html`, which needs no other file and no network; `tables/NAME.csv` and
`.json`; `figures/NAME.svg`, `.png` and, for its data, `.csv`; and `reproduction.json`, which lists
them all, so that the next run can replace the folder.
"""

from __future__ import annotations

import base64
import csv
import io
import json
import os
import platform
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from calibrant._research.papers.figures import render_files
from calibrant._research.papers.output import replace_folder
from calibrant.results._pages.page import environment
from calibrant.results._rendering import json_value, shown

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

Columns = Mapping[str, Sequence[Any]]


class PageRow(NamedTuple):
    """A row of a table on the page: the texts of its cells, and the erratum that each points to.

    A mark is the number of an erratum, or None. `begins_group` says that the first cell differs
    from the one above.
    """

    texts: list[str]
    marks: list[str | None]
    begins_group: bool


@dataclass(frozen=True)
class Table:
    """Columns with a caption, and marks: numbers of errata by (row, column) of a cell."""

    name: str
    caption: str
    columns: Columns
    notes: tuple[str, ...] = ()
    marks: Mapping[tuple[int, str], str] = field(default_factory=dict)
    on_page: bool = True

    def to_csv(self) -> str:
        """The table as comma-separated values, floats with all their digits, without the marks."""
        return as_csv(self.columns)

    def numeric(self) -> list[bool]:
        """Whether each column holds numbers, or texts of numbers such as "0.0766 ± 0.0034"."""
        columns = [[shown(value) for value in values] for values in self.columns.values()]
        return [
            any(texts) and all(not text or text.lstrip("-+")[:1].isdigit() for text in texts)
            for texts in columns
        ]

    def page_rows(self) -> list[PageRow]:
        """The rows as the page shows them, where a first cell equal to the one above is empty.

        The printed, measured and corrected values of one thing so form a group.
        """
        rows: list[PageRow] = []
        previous = None
        for i, values in enumerate(zip(*self.columns.values(), strict=True)):
            repeats = values[0] == previous
            texts = [_unbroken(shown(value)) for value in values]
            if repeats:
                texts[0] = ""
            marks = [self.marks.get((i, name)) for name in self.columns]
            rows.append(PageRow(texts, marks, bool(i) and not repeats))
            previous = values[0]
        return rows

    def to_dict(self) -> dict[str, Any]:
        """The table as plain dicts and lists, for a JSON file."""
        return {
            "name": self.name,
            "caption": self.caption,
            "columns": json_value(self.columns),
            "notes": list(self.notes),
            "marks": [
                {"row": row, "column": column, "erratum": erratum}
                for (row, column), erratum in self.marks.items()
            ],
        }


@dataclass(frozen=True, eq=False)
class Figure:
    """A figure that is drawn on demand, and the columns that it shows.

    `draw` is a function of a module, or a `functools.partial` of one, so that it can be pickled.
    """

    name: str
    caption: str
    draw: Callable[[], Drawing]
    data: Columns = field(default_factory=dict)

    @cached_property
    def _file_bytes(self) -> dict[str, bytes]:
        """The bytes of the figure's files by kind, "svg" and "png", drawn once for both."""
        return render_files(self.draw())

    @cached_property
    def svg(self) -> bytes:
        """The bytes of the figure's SVG file, drawn without the PNG unless both exist already."""
        drawn = "_file_bytes" in vars(self)
        return (self._file_bytes if drawn else render_files(self.draw(), ("svg",)))["svg"]

    @property
    def png(self) -> bytes:
        """The bytes of the figure's PNG file."""
        return self._file_bytes["png"]


@dataclass(frozen=True)
class Section:
    """A heading, paragraphs, then tables, then figures, in the order of the page."""

    heading: str
    paragraphs: tuple[str, ...] = ()
    tables: tuple[Table, ...] = ()
    figures: tuple[Figure, ...] = ()


@dataclass(frozen=True)
class Erratum:
    """An error in the paper: where it is, what the paper says, and what was found instead."""

    number: str
    where: str
    paper: str
    found: str


@dataclass(frozen=True)
class Reproduction:
    """A paper's results, computed again; `write` makes the folder.

    Attributes
    ----------
    name : str
        The name that `calibrant.reproduce` takes.
    title : str
        The title of the page.
    paper : str
        Authors, year, title and venue.
    sections : tuple of Section
        Paragraphs, tables and figures, in the order of the page.
    errata : tuple of Erratum
        Errors in the paper that came up.
    recipe : mapping
        Seed, options and versions: what it takes to get the same numbers again.
    """

    name: str
    title: str
    paper: str
    sections: tuple[Section, ...]
    errata: tuple[Erratum, ...] = ()
    recipe: Mapping[str, Any] = field(default_factory=dict)

    @property
    def tables(self) -> dict[str, Table]:
        """All tables by name."""
        return {table.name: table for section in self.sections for table in section.tables}

    @property
    def figures(self) -> dict[str, Figure]:
        """All figures by name."""
        return {figure.name: figure for section in self.sections for figure in section.figures}

    def to_dict(self) -> dict[str, Any]:
        """Everything but the drawings, as plain dicts and lists."""
        return {
            "name": self.name,
            "title": self.title,
            "paper": self.paper,
            "recipe": json_value(self.recipe),
            "errata": [vars(erratum) for erratum in self.errata],
            "tables": [table.to_dict() for table in self.tables.values()],
            "figures": {figure.name: figure.caption for figure in self.figures.values()},
        }

    def to_html(self) -> str:
        """The page as one HTML file, with its figures inside."""
        templates = environment("calibrant._research.papers")
        templates.filters["base64"] = lambda content: base64.b64encode(content).decode("ascii")
        marked = any(table.marks for table in self.tables.values())
        return str(templates.get_template("reproduction.html").render(paper=self, marked=marked))

    def files(self) -> dict[str, bytes]:
        """The content of the files that `write` writes, by path within the folder."""
        files: dict[str, bytes] = {}
        for table in self.tables.values():
            files[f"tables/{table.name}.csv"] = table.to_csv().encode()
            files[f"tables/{table.name}.json"] = _json_bytes(table.to_dict())
        for figure in self.figures.values():
            files[f"figures/{figure.name}.png"] = figure.png  # before SVG: drawn once for both
            files[f"figures/{figure.name}.svg"] = figure.svg
            if figure.data:
                files[f"figures/{figure.name}.csv"] = as_csv(figure.data).encode()
        files["index.html"] = self.to_html().encode()
        return files

    def write(self, folder: str | os.PathLike[str]) -> Path:
        """Write everything, or nothing; a folder of an earlier run is replaced."""
        return replace_folder(folder, self.files(), {"name": self.name, "recipe": self.recipe})


def _unbroken(text: str) -> str:
    """A text whose intervals, such as "0.75 [0.61, 0.84]", stay on one line with their values."""
    return re.sub(r"\S+ \[[^\]]*\]", lambda found: found[0].replace(" ", "\u00a0"), text)


def columns_of(rows: Iterable[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """Turn rows (dicts with the same keys) into columns: a list of values for each key."""
    listed = list(rows)
    return {name: [row[name] for row in listed] for name in listed[0]}


def as_csv(columns: Columns) -> str:
    """Columns as comma-separated values: floats with all their digits, an empty cell for None."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    return out.getvalue()


def _json_bytes(value: Any) -> bytes:
    """A value as the bytes of an indented JSON file in UTF-8."""
    return (json.dumps(json_value(value), indent=1, ensure_ascii=False) + "\n").encode()


def versions() -> dict[str, str]:
    """The versions of Python and of the packages that compute the numbers, by name."""
    packages = {name: metadata.version(name) for name in ("calibrant", "numpy")}
    with suppress(metadata.PackageNotFoundError):
        packages["matplotlib"] = metadata.version("matplotlib")
    return {**packages, "python": platform.python_version()}
