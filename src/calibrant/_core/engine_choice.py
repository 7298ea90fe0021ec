"""The engine and the threads that the caller asked for: inside a `with`, or in the environment."""

from __future__ import annotations

import os
from contextlib import AbstractContextManager, nullcontext
from contextvars import ContextVar
from typing import Any

from calibrant._core.errors import InputError

chosen: ContextVar[str | None] = ContextVar("calibrant_engine", default=None)


def requested_engine() -> str | None:
    """The name of the engine (module that sums samples) that the caller requested, "numpy" for
    example; None if no engine was requested. "torch" means that torch also sums tensors in memory,
    which are otherwise read as arrays; tensors on a device are always summed by torch.
    """
    return chosen.get() or os.environ.get("CALIBRANT_ENGINE") or None


def n_threads() -> int:
    """The number of threads for large samples: CALIBRANT_THREADS, or 2 (1 on a single
    core) if unset.
    """
    asked = os.environ.get("CALIBRANT_THREADS")
    if asked is None:
        return min(2, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 2)
    if not asked.isdigit() or int(asked) < 1:
        raise InputError(f"CALIBRANT_THREADS must be a whole number of at least 1; got {asked!r}")
    return int(asked)


def one_blas_thread(*, beside: int) -> AbstractContextManager[Any]:
    """A context in which each product of matrices takes one thread, for callers that run `beside`
    threads themselves. It does nothing if `beside` is 1 or threadpoolctl is not installed.

    Several threads that each start a product on all cores slow each other down: the threads of
    OpenBLAS spin while they wait, on cores that the others need.
    """
    if beside == 1:
        return nullcontext()
    try:
        from threadpoolctl import threadpool_limits
    except ImportError:
        return nullcontext()
    return threadpool_limits(1, user_api="blas")
