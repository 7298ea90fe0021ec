"""Triton's interpreter, prepared once for a kernel.

The interpreter puts its own functions in the place of the language's, and looks for them again at
every call of a helper from within a kernel: most of the time that a test of kernels took. At every
operation it writes down all types of NumPy again, to look one of them up; makes the type of a block
and its shape anew; compares shapes in words of its own; looks for constants in what holds none; and
finds out whether a whole number overflows, without telling: two thirds of what was left.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from needs import need


def prepare_once() -> None:
    """Have the language prepared at a kernel's launch, and not again until the launch is over."""
    interpreter = need("triton.runtime.interpreter")
    prepare = getattr(interpreter, "_patch_lang", None)
    known = prepare is not None and hasattr(interpreter, "_LangPatchScope")
    if known and os.environ.get("TRITON_INTERPRET") == "1" and not isinstance(prepare, _Once):
        interpreter._patch_lang = _Once(interpreter, prepare)
        interpreter._patch_builtin = _of_known(interpreter)
        interpreter._get_np_dtype = _by_name(interpreter._get_np_dtype)
        _make_once(interpreter.tl.core)
        _look_closer_at_few(interpreter.tl.core)
        _leave_equal_shapes(type(interpreter.interpreter_semantic))
        builder = interpreter.interpreter_builder
        if not builder.options.debug:  # what is found of overflows is not looked at
            builder.options = replace(builder.options, sanitize_overflow=False)


def _of_known(interpreter: Any) -> Callable[..., None]:
    """Put functions in the place of a module's own, which are looked for once."""
    known: dict[Any, list[tuple[str, Any]]] = {}

    def patch(module: Any, builder: Any, scope: Any) -> None:
        if module not in known:
            known[module] = inspect.getmembers(module, interpreter.tl.core.is_builtin)
        for name, function in known[module]:
            if getattr(module, name) is function:  # and not one that was put there
                interpreter._patch_attr(module, name, function, builder, scope)

    return patch


def _by_name(find: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The type of NumPy for one of Triton's, or for a block of them: found once for a name."""
    known: dict[str, Any] = {}

    def found(kind: Any) -> Any:
        name = kind.scalar.name
        if name not in known:
            known[name] = find(kind)
        return known[name]

    return found


def _make_once(core: Any) -> None:
    """Types of blocks, and what a tensor has of its type, by the names of types and by shapes."""
    make_type, make_tensor = core.block_type.__init__, core.tensor.__init__
    types: dict[tuple[str, tuple[int, ...]], dict[str, Any]] = {}
    tensors: dict[str, dict[str, Any]] = {}

    def of_type(self: Any, element_ty: Any, shape: Any) -> None:
        sizes = tuple(getattr(size, "value", size) for size in shape)
        made = types.get((element_ty.name, sizes))
        if made is None:
            make_type(self, element_ty, shape)
            made = types[element_ty.name, sizes] = dict(vars(self))
        vars(self).update(made, element_ty=element_ty)

    def of_tensor(self: Any, handle: Any, type: Any) -> None:
        made = tensors.get(type.name)
        if made is None:
            make_tensor(self, handle, type)
            made = tensors[type.name] = dict(vars(self))
        vars(self).update(made, handle=handle, type=type)

    core.block_type.__init__, core.tensor.__init__ = of_type, of_tensor


def _look_closer_at_few(core: Any) -> None:
    """Tensors, types and numbers are no constants to take apart, and a type is equal to itself."""
    unwrap, equal = core._unwrap_if_constexpr, core.dtype.__eq__
    plain = {core.tensor, core.dtype, core.block_type, core.pointer_type, int, float, bool}

    def unwrapped(value: Any) -> Any:
        return value if type(value) in plain else unwrap(value)

    core._unwrap_if_constexpr = unwrapped
    core.dtype.__eq__ = lambda self, other: self is other or equal(self, other)


def _leave_equal_shapes(semantic: Any) -> None:
    """Two numbers, or two blocks of one shape, need not be brought to one: most operations."""
    broadcast = semantic.broadcast_impl_value

    def brought(self: Any, left: Any, right: Any) -> Any:
        a, b = left.type, right.type
        blocks = a.is_block(), b.is_block()
        if blocks == (False, False) or (all(blocks) and a.shape.values == b.shape.values):
            return left, right
        return broadcast(self, left, right)

    semantic.broadcast_impl_value = brought


class _Once:
    def __init__(self, interpreter: Any, prepare: Callable[[Any], Any]) -> None:
        self.interpreter, self.prepare = interpreter, prepare
        # The modules that the present launch was prepared for, by what its functions see of them.
        self.prepared: set[frozenset[str]] = set()
        self.seen: dict[Any, frozenset[str]] = {}

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
        if function not in self.seen:
            language = self.interpreter.tl
            values = function.__globals__.values()
            names = (v.__name__ for v in values if v is language or v is language.core)
            self.seen[function] = frozenset(names)
        return self.seen[function]
