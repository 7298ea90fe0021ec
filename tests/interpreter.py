"""Triton's interpreter, prepared once for a kernel.

The interpreter puts its own functions in the place of the language's, and looks for them again at
every call of a helper from within a kernel: most of the time that a test of kernels took. At every
operation it writes down all types of NumPy again, to look one of them up: a tenth of what was left.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from needs import need


def prepare_once() -> None:
    """Have the language prepared at a kernel's launch, and not again until the launch is over."""
    interpreter = need("triton.runtime.interpreter")
    prepare = getattr(interpreter, "_patch_lang", None)
    known = prepare is not None and hasattr(interpreter, "_LangPatchScope")
    if known and os.environ.get("TRITON_INTERPRET") == "1" and not isinstance(prepare, _Once):
        interpreter._patch_lang = _Once(interpreter, prepare)
        interpreter._get_np_dtype = _by_name(interpreter._get_np_dtype)


def _by_name(find: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The type of NumPy for one of Triton's, or for a block of them: found once for a name."""
    known: dict[str, Any] = {}

    def found(kind: Any) -> Any:
        name = kind.scalar.name
        if name not in known:
            known[name] = find(kind)
        return known[name]

    return found


class _Once:
    def __init__(self, interpreter: Any, prepare: Callable[[Any], Any]) -> None:
        self.interpreter, self.prepare = interpreter, prepare
        # The modules that the present launch was prepared for, by what its functions see of them.
        self.prepared: set[frozenset[str]] = set()

    def __call__(self, function: Any) -> Any:
        seen = self._seen(function)
        if seen in self.prepared:
            return self.interpreter._LangPatchScope()
        scope = self.prepare(function)
        if not self.prepared:
            restore = scope.restore

            def over() -> None:
                self.prepared.clear()
                restore()

            scope.restore = over
        self.prepared.add(seen)
        return scope

    def _seen(self, function: Any) -> frozenset[str]:
        language = self.interpreter.tl
        values = function.__globals__.values()
        return frozenset(v.__name__ for v in values if v is language or v is language.core)
