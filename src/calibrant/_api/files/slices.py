"""One evaluation for each value of a column, in the same pass that reads the files."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from calibrant._api.slices import ranked
from calibrant._api.streaming.accumulator import Accumulator
from calibrant._core.binning import FixedRule
from calibrant._core.errors import InputError
from calibrant._data.readers.chunks import Names
from calibrant._data.samples import Samples
from calibrant._data.slice_names import Key, key_of, names_of
from calibrant._inference.streams import NO_FLOOR, StreamFloor, counts_once, noise_floor
from calibrant._measures.catalogue import Measure
from calibrant.results._evaluation import Evaluation
from calibrant.results._slices import Slice, Slices

# Each slice holds sums of its own; a column with more values is not one to slice by.
MOST = 10_000


@dataclass
class SliceSums:
    """The sums of every slice seen so far."""

    by: tuple[str, ...]
    rule: FixedRule
    from_logits: bool
    measures: tuple[str, ...]
    headline: Measure
    # What a reader should know of measures that are not here.
    notes: list[str]
    sums: dict[Key, Accumulator] = field(default_factory=dict)

    def add(self, names: Sequence[Names], samples: Samples) -> None:
        """The rows of a batch to their slices."""
        for key, rows in _rows_by_key(names):
            part = samples.take(rows)
            sums = self._of(key)
            sums.add(sums.sums_of(part), part.n_columns)

    def merge(self, other: SliceSums) -> None:
        for key, sums in other.sums.items():
            self._of(key).merge(sums)

    def _of(self, key: Key) -> Accumulator:
        if key not in self.sums:
            if len(self.sums) == MOST:
                raise InputError(
                    f"by={', '.join(self.by)!r} has more than {MOST:,} values: slice by something "
                    "coarser, a day or a region"
                )
            self.sums[key] = Accumulator(
                bins=self.rule, from_logits=self.from_logits, measures=self.measures
            )
        return self.sums[key]

    def evaluated(self) -> Slices:
        """The slices with what their errors are worth, the worst first."""
        headline, found, notes = self.headline, [], list(self.notes)
        by_name = {name: self.sums[key] for key, name in names_of(self.sums).items()}
        for label, sums in sorted(by_name.items()):
            if not sums.weight > 0:
                notes.append(f"{label}: {sums.n_rows} rows without weight, left out")
                continue
            evaluation = sums.evaluate()
            floor = _floor(sums, evaluation, headline)
            found.append(
                Slice(label, sums.n_rows, evaluation.values, floor.upper, floor.p_value, math.nan)
            )
        name = ", ".join(self.by)
        if not found:
            raise InputError(f"by={name!r} leaves no slice with weight")
        return Slices(name, headline.name, ranked(found, headline.name), tuple(notes))


def _floor(sums: Accumulator, evaluation: Evaluation, headline: Measure) -> StreamFloor:
    """The noise floor, where the sums are enough for one: hard labels, every row once."""
    table = evaluation.reliability.table
    dropping = sums.rule.drops_one
    if sums.soft or dropping or headline.of_tables is None or not counts_once(table):
        return NO_FLOOR
    return noise_floor(table, headline.of_tables, evaluation[headline.name])


def _rows_by_key(names: Sequence[Names]) -> Iterator[tuple[Key, NDArray[np.intp]]]:
    """Each slice that occurs, and its rows in order."""
    key = names[0].codes
    for more in names[1:]:
        key = key * len(more.known) + more.codes
    held, codes = np.unique(key, return_inverse=True)
    order = np.argsort(codes, kind="stable")
    ends = np.cumsum(np.bincount(codes, minlength=held.size))
    by_key: dict[Key, list[NDArray[np.intp]]] = {}
    for code, rows in zip(held.tolist(), np.split(order, ends[:-1]), strict=True):
        parts = []
        for column in reversed(names):
            code, at = divmod(code, len(column.known))
            parts.append(column.known[at])
        # Two values may be one text: 1 and "1".
        by_key.setdefault(key_of(reversed(parts)), []).append(rows)
    for found, several in by_key.items():
        yield found, several[0] if len(several) == 1 else np.sort(np.concatenate(several))
