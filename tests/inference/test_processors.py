"""Limits that are found by draws are the same on every processor."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import cache

import numpy as np
import pytest

LIMITS = """
import json
import numpy as np
import calibrant as cal

rng = np.random.default_rng(5)
p = rng.beta(2, 3, (2, 400))
y = rng.random(400) < p[0]
found = cal.interval(y, p[1], measure="ece")
difference = cal.compare(y, {"a": p[0], "b": p[1]}, measures=["ece"]).difference("a", "b")
print(json.dumps([found.low, found.high, difference.low, difference.high]))
"""


@cache
def limits_with_kernels_of(processor: str) -> list[float]:
    """Limits of an error and of a difference, with the matrix kernels of a processor."""
    variables = {"OPENBLAS_CORETYPE": processor, "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", LIMITS],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    return json.loads(done.stdout)


# Kernels that every 64-bit Intel or AMD processor runs; elsewhere the name is ignored.
@pytest.mark.parametrize("processor", ["Prescott", "Nehalem"])
def test_limits_do_not_depend_on_the_processor(processor):
    np.testing.assert_allclose(
        limits_with_kernels_of(processor), limits_with_kernels_of(""), rtol=1e-6
    )
