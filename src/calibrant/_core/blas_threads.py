"""One thread for each product of matrices, where several are made at a time."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any


def one_blas_thread(*, beside: int) -> AbstractContextManager[Any]:
    """Inside, a product of matrices takes one thread beside so many of ours, if these are several
    and threadpoolctl is installed.

    Threads of ours that each wait for all threads of a product slow each other down: those of
    OpenBLAS spin while they wait, on the cores that the others need.
    """
    if beside == 1:
        return nullcontext()
    try:
        from threadpoolctl import threadpool_limits
    except ImportError:
        return nullcontext()
    return threadpool_limits(1, user_api="blas")
