"""Whether Triton's kernels read a tensor, or plain torch does."""

from __future__ import annotations

import os
from functools import cache
from importlib.util import find_spec

from torch import Tensor


def has_kernels(predictions: Tensor) -> bool:
    """Whether Triton kernels can read these predictions: they lie on a CUDA device, Triton is
    installed, and the environment variable CALIBRANT_FUSED is not 0.
    """
    return predictions.is_cuda and os.environ.get("CALIBRANT_FUSED") != "0" and _has_triton()


@cache
def _has_triton() -> bool:
    return find_spec("triton") is not None
