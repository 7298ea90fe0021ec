"""One thread for each product of matrices, where several are made at a time."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any


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
