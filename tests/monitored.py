"""Rows with times, and what a monitor holds of them, for the tests of monitors."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np

rng = np.random.default_rng(11)
N, K = 3000, 4
DAY = 86_400
BEGIN = datetime(2026, 1, 5, tzinfo=UTC)
REPORTS = rng.random(N)
OUTCOMES = (rng.random(N) < REPORTS**1.2).astype(int)
LOGITS = rng.normal(size=(N, K)) * 2
ROWS = np.exp(LOGITS) / np.exp(LOGITS).sum(axis=1, keepdims=True)
LABELS = rng.integers(0, K, N)
SOFT_ROWS = rng.dirichlet(np.ones(K), N)
WEIGHTS = rng.random(N)
SECONDS = BEGIN.timestamp() + rng.random(N) * 5 * DAY
STREAMS = {
    "binary": (OUTCOMES, REPORTS),
    "binary soft": (REPORTS**1.2, REPORTS),
    "multiclass": (LABELS, ROWS),
    "multiclass soft": (SOFT_ROWS, ROWS),
}


def states(monitor):
    """Everything a monitor holds, to be compared bit for bit."""
    held = {start: stream.packed() for start, stream in monitor.windows().items()}
    if monitor.earlier is not None:
        held["earlier"] = monitor.earlier.packed()
    return {
        key: {name: (array.shape, array.tobytes()) for name, array in arrays.items()}
        for key, arrays in held.items()
    }


def counts(monitor):
    """What does not depend on the order of summing: rows per window and bin."""
    return {
        start: (stream.n_rows, stream.packed()["cells"][:, 0].tolist())
        for start, stream in monitor.windows().items()
    }
