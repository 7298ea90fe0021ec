"""Bringing sums here: the only place where an engine is told to work."""

from __future__ import annotations

import os
from typing import Any

from calibrant.engines.frames.expressions import Frame


def collected(frame: Frame) -> Any:
    """The rows of a lazy frame as a narwhals DataFrame; to be called on sums only.

    Polars streams, so that its memory stays bounded, unless its own settings say other.
    """
    if frame.implementation.is_polars() and "POLARS_ENGINE_AFFINITY" not in os.environ:
        return frame.collect(engine="streaming")
    return frame.collect()
