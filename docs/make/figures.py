"""Figures of the site: what the examples of a page draw, where the page asks for it.

`<!-- figure: NAME -->` in a guide stands for the figure that was drawn last by the examples above
it. They are run while the site is built, so a figure shows what its code does now.
"""

from __future__ import annotations

import contextlib
import doctest
import io
import posixpath
import re
import tempfile
from typing import Any

_MARK = re.compile(r"<!-- figure: ([\w-]+) -->")


def drawn(page: str, text: str) -> dict[str, bytes]:
    """Every figure that a page asks for: its path, and its content."""
    found: dict[str, bytes] = {}
    scope: dict[str, Any] = {}
    start = 0
    for mark in _MARK.finditer(text):
        _run(text[start : mark.start()], scope)
        found[_path(page, mark[1])] = _latest()
        start = mark.end()
    return found


def placed(page: str, text: str) -> str:
    """The page with its figures in their places."""

    def image(mark: re.Match[str]) -> str:
        where = posixpath.relpath(_path(page, mark[1]), posixpath.dirname(page) or ".")
        return f"![drawn by the example above: {mark[1].replace('-', ' ')}]({where})"

    return _MARK.sub(image, text)


def _path(page: str, name: str) -> str:
    return f"assets/{page.removesuffix('.md').replace('/', '-')}-{name}.svg"


def _run(text: str, scope: dict[str, Any]) -> None:
    """The sessions of a text, without what they print. A test sees to it that this is right."""
    import matplotlib as mpl

    mpl.use("Agg")
    with (
        tempfile.TemporaryDirectory() as folder,
        contextlib.chdir(folder),
        contextlib.redirect_stdout(io.StringIO()),
    ):
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
