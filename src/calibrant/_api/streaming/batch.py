"""Batch: what rows with times add to the windows of a monitor."""

from __future__ import annotations

from dataclasses import dataclass

from calibrant._engines.arrays.streams import StreamSums


@dataclass(frozen=True, eq=False)
class Batch:
    """The sums of a batch by the start of their window; columns of y_proba; rows without a time."""

    parts: list[tuple[int, StreamSums]]
    columns: int
    n_without_time: int = 0
