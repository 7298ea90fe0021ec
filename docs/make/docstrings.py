"""How the reference reads docstrings: formulas become fences, and choices are said in words.

Docstrings of recalibration maps are completed when the classes are defined: they are read there.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import re
from pathlib import Path
from typing import Any

import griffe

# This file is loaded by its path, so its neighbours must be too.
_spec = importlib.util.spec_from_file_location("formulas", Path(__file__).with_name("formulas.py"))
assert _spec is not None and _spec.loader is not None
formulas = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(formulas)


# A parameter with choices. The parser takes the first of them for a default that nobody wrote.
_CHOICES = re.compile(r"^(\w+ : )\{(.+)\}(?=,|$)", re.MULTILINE)


class Docstrings(griffe.Extension):
    """`.. math::` paragraphs of every docstring as ```math fences, `{"a", "b"}` as one of these."""

    def on_instance(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring is not None:
            text = obj.docstring.value
            if obj.is_class and obj.path.startswith("calibrant.scaling."):
                module = importlib.import_module(obj.path.rpartition(".")[0])
                text = str(inspect.getdoc(getattr(module, obj.name)))
            text = _CHOICES.sub(r"\1one of \2", text)
            obj.docstring.value = formulas.fenced(text)

    def on_module_members(self, *, mod: griffe.Module, **_: Any) -> None:
        """A function that a stub has as overloads alone is shown by the first of them."""
        for name, overloads in mod.overloads.items():
            if name not in mod.members:
                mod.set_member(name, overloads[0])
