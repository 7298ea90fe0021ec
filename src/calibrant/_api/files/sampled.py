"""One more read of files that are summed: rows drawn at random, and sums in other cells."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from calibrant._api.files.refinement import Refiner
from calibrant._core.typing import Array
from calibrant._data.readers.batches import Batch
from calibrant._data.samples import Notion, Samples
from calibrant._engines.arrays.passes import scalar_sums
from calibrant._engines.cells import Cells


class SampledFiles(NamedTuple):
    """Rows drawn at random from files, in the order of these, and the sums of all rows by cell."""

    samples: Samples
    sums: Array


def sample_files(
    refiner: Refiner, notion: Notion, cells: Cells, share: float, seed: int
) -> SampledFiles:
    """Draw each row with the probability `share`, and sum all rows in `cells`, in one read.

    What is drawn depends on the seed and on where rows stand in the files, not on threads.
    """
    numbers = {file: number for number, file in enumerate(refiner.rows.files)}

    def work(batches: Iterator[Batch]) -> tuple[list[Samples], Array]:
        """The drawn rows of some batches, and the sums of all of them."""
        drawn, sums = [], Cells.empty(cells.m)
        for batch in batches:
            if not batch.n:
                continue
            samples, place = refiner.samples_of(batch), batch.chunk.location
            with batch.explained(samples):
                sums += scalar_sums(samples, notion, cells.cuts(samples.precision))[0]
            rng = np.random.default_rng((seed, 18, numbers[batch.file], place.first))
            wanted = rng.binomial(batch.n, share)
            rows = rng.choice(batch.n, wanted, replace=False, shuffle=False)
            drawn.append(samples.take(np.sort(rows)))
        return drawn, sums

    every: list[Samples] = []
    total = Cells.empty(cells.m)
    for drawn, sums in refiner.read_again(work):
        every += drawn
        total = total + sums
    return SampledFiles(_together(every), total)


def _together(parts: list[Samples]) -> Samples:
    """The rows of several samples of the same kind as one, without weights and votes."""
    return replace(
        parts[0],
        predictions=np.concatenate([part.predictions for part in parts]),
        targets=np.concatenate([part.targets for part in parts]),
    )
