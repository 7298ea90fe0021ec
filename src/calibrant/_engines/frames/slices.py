"""The bins and losses of every slice of a frame, from one query that groups by slice and bin."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from numpy.typing import NDArray

from calibrant._core.errors import InputError
from calibrant._core.messages import setting
from calibrant._data.frame_samples import FrameSamples
from calibrant._engines.arrays.streams import StreamSums, loss_arrays
from calibrant._engines.cells import Cells
from calibrant._engines.frames.losses import ask_losses, losses_of
from calibrant._engines.frames.query import Query

# Groups, slices times bins, that may come here.
MOST_GROUPS = 1 << 20


def slice_groups(
    samples: FrameSamples,
    by: Sequence[str],
    cells: Cells,
    row_names: Callable[[Sequence[Any]], NDArray[Any]],
    *,
    losses: bool,
) -> Iterator[tuple[str, StreamSums]]:
    """Every slice by name, in order, with the sums of its cells and losses."""
    query = Query(samples, "confidence" if samples.multiclass else "binary", by=by)
    query.add_fields().add_cells(cells)
    if losses:
        ask_losses(query)
    groups = query.run(MOST_GROUPS + 1)
    if groups["low"].size > MOST_GROUPS:
        raise InputError(
            f"{setting('by', ', '.join(by))} has too many values: slices times bins must not "
            f"exceed {MOST_GROUPS:,}. Choose a coarser column, such as a day for a time"
        )
    parts = [groups.columns[f"by{j}"] for j in range(len(by))]
    names = row_names(parts)
    cuts = cells.cuts(samples.precision)
    for name in sorted(set(names.tolist())):
        part = groups.select(names == name)
        arrays = {"cells": part.binned(cuts)}
        if losses:
            arrays |= loss_arrays(losses_of(part, samples.n_classes))
        yield name, StreamSums(arrays, part.findings, part.n_rows, part.n_missing)
