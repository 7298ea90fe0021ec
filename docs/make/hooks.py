"""What is done while the site is built: pages are made that would go stale if they were written.

The measures' pages come from the catalogue, the reference from the public names, and the pages of
the project from the files of the root. Nothing of it is kept in the repository.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import formulas
import measures
import reference
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[2]
# Files of the root that are pages too.
SHARED = {
    "benchmarks.md": "benchmarks/README.md",
    "contributing.md": "CONTRIBUTING.md",
    "changelog.md": "CHANGELOG.md",
}


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
    for path, source in SHARED.items():
        text = (ROOT / source).read_text(encoding="utf-8")
        files.append(File.generated(config, path, content=text))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Python with prompts is a session: the prompts and the answers are not part of what is typed."""
    return re.sub(r"^```python\n(?=>>> )", "```pycon\n", markdown, flags=re.MULTILINE)
