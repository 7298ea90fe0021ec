"""Formulas: TeX to MathML, which browsers draw by themselves, without a script or a font."""

from __future__ import annotations

import re
from typing import Any

from latex2mathml.converter import convert

_SESSION = re.compile(r"^>>> .*(?:\n.+)*", re.MULTILINE)
_DIRECTIVE = re.compile(r"^\.\. math::[ ]*(.+(?:\n[ ]+.+)*)", re.MULTILINE)


# What the converter does not know, and what says the same.
_KNOWN = {r"\Bigl\|": r"\lVert", r"\Bigr\|": r"\rVert", r"\arg\max": r"\operatorname{arg max}"}


def mathml(tex: str) -> str:
    """One formula on a line of its own."""
    for unknown, known in _KNOWN.items():
        tex = tex.replace(unknown, known)
    return convert(_one_line(tex), display="block")


def fenced(docstring: str) -> str:
    """A docstring whose `.. math::` paragraphs and sessions are fences that Markdown knows."""
    text = _DIRECTIVE.sub(lambda found: f"```math\n{_one_line(found[1])}\n```", docstring)
    return _SESSION.sub(lambda found: f"```pycon\n{found[0]}\n```", text)


def first_formula(docstring: str) -> str | None:
    """The TeX of the first formula of a docstring."""
    found = _DIRECTIVE.search(docstring)
    return None if found is None else _one_line(found[1])


def without_formulas(docstring: str) -> str:
    return _DIRECTIVE.sub("", docstring)


def _one_line(tex: str) -> str:
    return " ".join(tex.split())


def fence(source: str, *_: Any, **__: Any) -> str:
    """What stands in a ```math fence, as superfences asks for it."""
    return f'<div class="formula">{mathml(source)}</div>'
