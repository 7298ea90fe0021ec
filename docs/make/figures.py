"""Figures and pages of the site: what the examples of a page make, where the page asks for it.

`<!-- figure: NAME -->` stands for the figure that the examples above it drew last, and
`<!-- page: NAME -->` for the page that they saved as ``NAME.html``. The examples (sessions, scripts
and commands, read as the tests read them) run while the site is built, so both show what their code
does now. A page whose examples print something else than it shows is not published.
"""

from __future__ import annotations

import contextlib
import io
import posixpath
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

from mkdocs.exceptions import PluginError

sys.path.append(str(Path(__file__).parents[2] / "tests"))

from page_examples import run_page

_MARK = re.compile(r"<!-- (figure|page): ([\w-]+) -->")
_ENDS = {"figure": "svg", "page": "html"}


def drawn(page: str, text: str) -> dict[str, bytes]:
    """Everything that a guide asks for: its path, and its content."""
    found: dict[str, bytes] = {}
    scope: dict[str, Any] = {}
    start = 0
    with tempfile.TemporaryDirectory() as folder:
        for mark in _MARK.finditer(text):
            kind, name = mark.groups()
            _run(page, text[: mark.start()], start, scope, folder)
            saved = Path(folder, f"{name}.html")
            found[_path(page, kind, name)] = saved.read_bytes() if kind == "page" else _latest()
            start = mark.end()
        if found:
            _run(page, text, start, scope, folder)
            _close()
    return found


def placed(page: str, text: str) -> str:
    """The guide with its figures and pages in their places."""

    def shown(mark: re.Match[str]) -> str:
        kind, name = mark.groups()
        where = posixpath.relpath(_path(page, kind, name), posixpath.dirname(page) or ".")
        told = name.replace("-", " ")
        if kind == "figure":
            return f"![drawn by the example above: {told}]({where})"
        return (
            f'<iframe class="page" src="{where}" title="{told}" loading="lazy"></iframe>\n\n'
            f'<a href="{where}" target="_blank">Open this page by itself</a>'
        )

    return _MARK.sub(shown, text)


def _path(page: str, kind: str, name: str) -> str:
    return f"assets/{page.removesuffix('.md').replace('/', '-')}-{name}.{_ENDS[kind]}"


def _run(page: str, text: str, start: int, scope: dict[str, Any], folder: str) -> None:
    """The examples of a text from a place on; they print what they show, or nothing is built."""
    import matplotlib as mpl

    mpl.use("Agg")
    above = "\n" * text.count("\n", 0, start)  # lines are named as in the whole page
    with contextlib.chdir(folder):
        _, wrong = run_page(above + text[start:], page, scope)
    if wrong:
        raise PluginError("".join(wrong))


def _close() -> None:
    """The next page starts without figures: matplotlib warns of more than twenty."""
    from matplotlib import pyplot

    pyplot.close("all")


def _latest() -> bytes:
    from matplotlib import pyplot, rc_context

    content = io.BytesIO()
    # Letters as shapes: the reader's machine need not have the font.
    with rc_context({"svg.fonttype": "path", "svg.hashsalt": "calibrant"}):
        pyplot.gcf().savefig(content, format="svg", metadata={"Date": None})
    return content.getvalue()
