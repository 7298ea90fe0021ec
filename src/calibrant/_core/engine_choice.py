"""Which engine the caller asked for: inside a `with`, or in the environment."""

from __future__ import annotations

import os
from contextvars import ContextVar

chosen: ContextVar[str | None] = ContextVar("calibrant_engine", default=None)


def asked_for() -> str | None:
    """The name that was asked for, or None. "torch" is for tensors in memory: like those on a
    device they are then summed by torch, where otherwise they are read as arrays.
    """
    return chosen.get() or os.environ.get("CALIBRANT_ENGINE") or None
