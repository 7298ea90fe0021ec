"""What is done while the site is built: pages are made that would go stale if they were written.

The measures' pages come from the catalogue, the reference from the public names, and others from
files that lie elsewhere in the repository; figures are drawn by the examples. They are made anew
with every build and kept nowhere.
"""

from __future__ import annotations

import json
import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

import commands
import figures
import formulas
import measure_pictures
import measures
import reference
from calibrant._api.measure_page import measure_page
from calibrant.results._schema import all_schemas

ROOT = Path(__file__).parents[2]
# Files of the repository that are pages too.
SHARED = {
    "benchmarks.md": "benchmarks/README.md",
    "contributing.md": "CONTRIBUTING.md",
    "changelog.md": "CHANGELOG.md",
    "example.md": "src/calibrant/examples/README.md",
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
_LINK = re.compile(r"(?<=\]\()(?![a-z]+:|#)([^)#\s]+)")


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    fence = {"name": "math", "class": "formula", "format": formulas.fence}
    config.mdx_configs.setdefault("pymdownx.superfences", {})["custom_fences"] = [fence]
    sections = {title: item for entry in config.nav for title, item in entry.items()}
    for title, names in measures.groups().items():
        sections["Measures"].append({title: [{name: f"measures/{name}.md"} for name in names]})
    sections["Reference"].extend(reference.nav())
    return config


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
    """The reference names what is public by its public path, in titles of links too."""
    if page.file.src_uri.startswith("reference/"):
        return reference.public_paths(output)
    return output
