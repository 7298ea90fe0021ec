"""Figures and pages of the site: what the examples of a guide make, where the guide asks for it.

`<!-- figure: NAME -->` in a guide stands for the figure that was drawn last by the examples above
it, `<!-- page: NAME -->` for the page that they saved as ``NAME.html``. They are run while the site
is built, so both show what their code does now.
"""

from __future__ import annotations

import contextlib
import doctest
import io
import posixpath
import re
import tempfile
from pathlib import Path
from typing import Any

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
            _run(text[start : mark.start()], scope, folder)
            saved = Path(folder, f"{name}.html")
            found[_path(page, kind, name)] = saved.read_bytes() if kind == "page" else _latest()
            start = mark.end()
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


def _run(text: str, scope: dict[str, Any], folder: str) -> None:
    """The sessions of a text, without what they print. A test sees to it that this is right."""
    import matplotlib as mpl

    mpl.use("Agg")
    with contextlib.chdir(folder), contextlib.redirect_stdout(io.StringIO()):
        for example in doctest.DocTestParser().get_examples(text):
            if example.exc_msg is None:
                exec(compile(example.source, "<guide>", "single"), scope)


def _latest() -> bytes:
    from matplotlib import pyplot, rc_context

    content = io.BytesIO()
    # Letters as shapes: the reader's machine need not have the font.
    with rc_context({"svg.fonttype": "path", "svg.hashsalt": "calibrant"}):
        pyplot.gcf().savefig(content, format="svg", metadata={"Date": None})
    return content.getvalue()
