"""Which kernels are in use."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import cast

from calibrant._core.engine_choice import chosen, requested_engine
from calibrant._core.errors import InputError, one_of
from calibrant._engines.arrays import numpy_kernels
from calibrant._engines.protocol import Kernels

try:
    from calibrant._engines.arrays import native
except ImportError as error:  # not built: no C compiler at install time
    _native: Kernels | None = None
    why_not_native = str(error)
else:
    _native = cast(Kernels, native)
    why_not_native = ""
_USUAL = _native or cast(Kernels, numpy_kernels)

# What may be asked for. "torch" is about tensors; arrays then have their usual kernels.
NAMES = ("native", "numpy", "torch")


def kernels() -> Kernels:
    """The kernels in use: compiled ones where built, unless the environment variable
    CALIBRANT_ENGINE or the context manager `engine` chooses others.
    """
    asked = requested_engine()
    if asked is None:
        return _USUAL
    name = one_of("CALIBRANT_ENGINE", asked, NAMES)
    if name == "torch":
        return _USUAL
    if name == "numpy":
        return cast(Kernels, numpy_kernels)
    if _native is None:
        raise InputError(f"the native engine was not built on this machine ({why_not_native})")
    return _native


def available() -> tuple[str, ...]:
    """The engines that work here, the fastest first."""
    return ("native", "numpy") if _native else ("numpy",)


@contextmanager
def engine(name: str) -> Iterator[None]:
    """Context manager: use the engine of this name inside a `with`, for tests and comparisons.
    Results are the same with every engine.
    """
    token = chosen.set(one_of("engine", name, NAMES))
    try:
        yield
    finally:
        chosen.reset(token)
