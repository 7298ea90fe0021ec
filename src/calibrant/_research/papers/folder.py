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
to the files. `Figure.draw` is called once a format, so importing needs no matplotlib; `Figure.data`
are the columns that it draws. Paragraphs and captions are plain text: the page escapes them.

The folder holds `index.html`, which needs no other file and no network; `tables/NAME.csv` and
`.json`; `figures/NAME.svg`, `.png` and, for its data, `.csv`; and `reproduction.json`, which lists
them all and tells the next run that the folder is ours to replace.
"""

from __future__ import annotations

import csv
import io
import json
import os
import platform
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

import calibrant as cal
from calibrant._research.papers.figures import rendered
from calibrant._research.papers.output import replace_folder
from calibrant.results._rendering import json_value

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

Columns = Mapping[str, Sequence[Any]]


@dataclass(frozen=True)
class Table:
    """Columns with a caption; see the top of the file."""

    name: str
    caption: str
    columns: Columns
    notes: tuple[str, ...] = ()
    marks: Mapping[tuple[int, str], str] = field(default_factory=dict)
    on_page: bool = True

    def to_csv(self) -> str:
        """Comma-separated values, floats with all their digits, without the marks."""
        return as_csv(self.columns)

    def to_dict(self) -> dict[str, Any]:
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
    """A figure that is drawn when it is wanted, and the columns that it shows.

    `draw` is a function of a module, or a `functools.partial` of one, so that it can be pickled.
    """

    name: str
    caption: str
    draw: Callable[[], Drawing]
    data: Columns = field(default_factory=dict)

    @cached_property
    def svg(self) -> bytes:
        return rendered(self.draw(), "svg")

    @cached_property
    def png(self) -> bytes:
        return rendered(self.draw(), "png")


@dataclass(frozen=True)
class Section:
    """A heading, paragraphs, then tables, then figures, in the order of the page."""

    heading: str
    paragraphs: tuple[str, ...] = ()
    tables: tuple[Table, ...] = ()
    figures: tuple[Figure, ...] = ()


@dataclass(frozen=True)
class Erratum:
    """Where the paper is not right: what it says, and what it is."""

    number: str
    where: str
    paper: str
    found: str


@dataclass(frozen=True)
class Reproduction:
    """A paper's results; `write` makes the folder."""

    name: str
    title: str
    paper: str
    sections: tuple[Section, ...]
    errata: tuple[Erratum, ...] = ()
    recipe: Mapping[str, Any] = field(default_factory=dict)

    @property
    def tables(self) -> dict[str, Table]:
        return {table.name: table for section in self.sections for table in section.tables}

    @property
    def figures(self) -> dict[str, Figure]:
        return {figure.name: figure for section in self.sections for figure in section.figures}

    def to_dict(self) -> dict[str, Any]:
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
        """The page: self-contained, figures within."""
        from calibrant._research.papers.page import page

        return page(self)

    def files(self) -> dict[str, bytes]:
        """What `write` writes, by path within the folder."""
        found: dict[str, bytes] = {}
        for table in self.tables.values():
            found[f"tables/{table.name}.csv"] = table.to_csv().encode()
            found[f"tables/{table.name}.json"] = _json(table.to_dict())
        for figure in self.figures.values():
            found[f"figures/{figure.name}.svg"] = figure.svg
            found[f"figures/{figure.name}.png"] = figure.png
            if figure.data:
                found[f"figures/{figure.name}.csv"] = as_csv(figure.data).encode()
        found["index.html"] = self.to_html().encode()
        return found

    def write(self, folder: str | os.PathLike[str]) -> Path:
        """Write everything, or nothing; a folder of an earlier run is replaced."""
        return replace_folder(folder, self.files(), {"name": self.name, "recipe": self.recipe})


def as_csv(columns: Columns) -> str:
    """Columns as comma-separated values: floats with all their digits, empty for None."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    return out.getvalue()


def _json(value: Any) -> bytes:
    return (json.dumps(json_value(value), indent=1, ensure_ascii=False) + "\n").encode()


def versions() -> dict[str, str]:
    """What a recipe must name for the same numbers to come out again."""
    found = {"calibrant": cal.__version__, "numpy": metadata.version("numpy")}
    with suppress(metadata.PackageNotFoundError):
        found["matplotlib"] = metadata.version("matplotlib")
    return {**found, "python": platform.python_version()}
