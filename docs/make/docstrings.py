"""How the reference reads docstrings: formulas become fences."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import griffe

# This file is loaded by its path, so its neighbours must be too.
_spec = importlib.util.spec_from_file_location("formulas", Path(__file__).with_name("formulas.py"))
assert _spec is not None and _spec.loader is not None
formulas = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(formulas)


class Formulas(griffe.Extension):
    """`.. math::` paragraphs of every docstring, as ```math fences."""

    def on_instance(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = formulas.fenced(obj.docstring.value)
