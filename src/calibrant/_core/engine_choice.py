"""The engine and the threads that the caller asked for: inside a `with`, or in the environment."""

from __future__ import annotations

import os
from contextvars import ContextVar

from calibrant._core.errors import InputError

chosen: ContextVar[str | None] = ContextVar("calibrant_engine", default=None)


def asked_for() -> str | None:
    """The name that was asked for, or None. "torch" is for tensors in memory: like those on a
    device they are then summed by torch, where otherwise they are read as arrays.
    """
    return chosen.get() or os.environ.get("CALIBRANT_ENGINE") or None


def n_threads() -> int:
    """Threads for large samples: CALIBRANT_THREADS, or two where there are two cores."""
    asked = os.environ.get("CALIBRANT_THREADS")
    if asked is None:
        return min(2, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 2)
    if not asked.isdigit() or int(asked) < 1:
        raise InputError(f"CALIBRANT_THREADS must be a whole number from 1; got {asked!r}")
    return int(asked)
