"""What is done while the site is built: pages are made that would go stale if they were written.

The measures' pages come from the catalogue, the reference from the public names, and others from
files that lie elsewhere in the repository; figures are drawn by the examples. They are made anew
with every build and kept nowhere.
"""

from __future__ import annotations

import json
import posixpath
import re
import tomllib
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.plugins import event_priority
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

import commands
import figures
import formulas
import measure_pictures
import measures
import reference
from calibrant._api.measure_page import measure_page
from calibrant._core.version import __version__
from calibrant.results._schema import all_schemas

ROOT = Path(__file__).parents[2]
# Files of the repository that are pages too.
SHARED = {
    "research/benchmarks.md": "benchmarks/README.md",
    "research/contributing.md": "CONTRIBUTING.md",
    "research/example.md": "src/calibrant/examples/README.md",
    "reference/changelog.md": "CHANGELOG.md",
}
# One for each class of results, published beside the pages.
SCHEMAS = all_schemas()
_PAGE_OF = {source: page for page, source in SHARED.items()}
# Fences that hold sessions, and how these are coloured.
_SESSIONS = {
    re.compile(r"^```python\n(?=>>> )", re.MULTILINE): "```pycon\n",
    re.compile(r"^```text\n(?=\$ )", re.MULTILINE): "```console\n",
}
# Papers, as references name them.
_PAPERS = {
    re.compile(r"(?<![\w>])arXiv:(\d{4}\.\d{4,5})"): "https://arxiv.org/abs/",
    re.compile(r"(?<![\w>])doi:(10\.\d{4,}/[^\s;,<)]*[^\s;,.<)])"): "https://doi.org/",
}
# Tasks and explanations are found before the pages that name every option.
_SOUGHT = {"start": 2, "howto": 3, "concepts": 3}
# The header's button that opens the search: the version stands before it.
_SEARCH = '<label class="md-header__button md-icon" for="__search">'
_LINK = re.compile(r"(?<=\]\()(?![a-z]+:|#)([^)#\s]+)")


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    fence = {"name": "math", "class": "formula", "format": formulas.fence}
    config.mdx_configs.setdefault("pymdownx.superfences", {})["custom_fences"] = [fence]
    listed = _section(_section(config.nav, "Reference"), "Measures")
    for title, names in measures.groups().items():
        listed.append({title: [{name: f"measures/{name}.md"} for name in names]})
    _section(_section(config.nav, "Reference"), "Python").extend(reference.nav())
    return config


def _section(nav: list[Any], title: str) -> list[Any]:
    """The entries below a title of the navigation."""
    return next(entry[title] for entry in nav if isinstance(entry, dict) and title in entry)


@event_priority(100)  # before the redirects, which ask whether their targets exist
def on_files(files: Files, config: MkDocsConfig) -> Files:
    for path, text in {**measures.pages(), **reference.pages()}.items():
        files.append(File.generated(config, path, content=text))
    for path, picture in measure_pictures.pictures().items():
        files.append(File.generated(config, path, content=picture))
    for page in list(files.documentation_pages()):
        for path, drawn in figures.drawn(page.src_uri, page.content_string).items():
            files.append(File.generated(config, path, content=drawn))
    files.append(File.generated(config, "assets/measure.html", content=measure_page()))
    for name, schema in SCHEMAS.items():
        text = json.dumps(schema, indent=1) + "\n"
        files.append(File.generated(config, f"schema/{name}.json", content=text))
    for path, source in SHARED.items():
        text = (ROOT / source).read_text(encoding="utf-8")
        files.append(File.generated(config, path, content=text))
    return files


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """Sessions are marked, links lead to pages wherever the file lies, and figures are placed."""
    folder = page.file.src_uri.partition("/")[0]
    page.meta.setdefault("search", {"boost": _SOUGHT.get(folder, 1)})
    for fence, session in _SESSIONS.items():
        markdown = fence.sub(session, markdown)
    links = [f"[`{name}`](../schema/{name}.json)" for name in SCHEMAS]
    markdown = markdown.replace("<!-- schemas -->", ", ".join(links))
    markdown = commands.placed(markdown)
    linked = _LINK.sub(lambda found: _led(found[1], page.file.src_uri), markdown)
    return figures.placed(page.file.src_uri, linked)


def _led(link: str, page: str) -> str:
    """A link between files of the repository, as one between pages."""
    here = SHARED.get(page, f"docs/{page}")
    there = posixpath.normpath(posixpath.join(posixpath.dirname(here), link))
    target = _PAGE_OF.get(there, there.removeprefix("docs/"))
    return posixpath.relpath(target, posixpath.dirname(page) or ".")


def on_page_content(html: str, **_: Any) -> str:
    """Names of papers lead to them."""
    for name, home in _PAPERS.items():
        html = name.sub(rf'<a href="{home}\1">\g<0></a>', html)
    return html


def on_post_page(output: str, page: Page, **_: Any) -> str:
    """The header has the version; the reference names public paths, in titles of links too."""
    before, search, after = output.partition(_SEARCH)
    if not search:
        raise PluginError(f"{page.file.src_uri}: the header has no search to stand beside")
    output = f'{before}<div class="version">{_version()}</div>{search}{after}'
    if page.file.src_uri.startswith("reference/"):
        return reference.public_paths(output)
    return output


@cache
def _version() -> str:
    """The version, and the repository's address if the project names one.

    The theme's own link asks the network for the repository's stars; this one asks for nothing.
    """
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    address = project.get("urls", {}).get("Repository")
    link = f'<a href="{escape(address)}">Repository</a> ' if address else ""
    return f"{link}<span>{escape(__version__)}</span>"
