"""One evaluation for each value of a column, in the same pass that reads the files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from calibrant._api.slices import no_weight_note, ranked_slices, slice_of_sums
from calibrant._api.streaming.accumulator import Accumulator
from calibrant._core.binning import FixedRule
from calibrant._core.errors import InputError
from calibrant._core.messages import setting
from calibrant._data.readers.chunks import Names
from calibrant._data.samples import Samples
from calibrant._data.slice_names import Key, key_of, names_of
from calibrant._measures.catalogue import Measure
from calibrant.results._slices import Slices

# Each slice has sums of its own; a column with more values is not one to slice by.
MOST = 10_000


@dataclass
class SliceSums:
    """The sums of every slice seen so far."""

    by: tuple[str, ...]
    rule: FixedRule
    from_logits: bool
    measures: tuple[Measure, ...]
    headline: Measure
    # Notes on measures that are not here.
    notes: list[str]
    sums: dict[Key, Accumulator] = field(default_factory=dict)

    def add(self, names: Sequence[Names], samples: Samples) -> None:
        """The rows of a batch to their slices."""
        for key, rows in _rows_by_key(names):
            subset = samples.take(rows)
            sums = self._of(key)
            sums.add(sums.sums_of(subset), subset.n_columns)

    def merge(self, other: SliceSums) -> None:
        for key, sums in other.sums.items():
            self._of(key).merge(sums)

    def _of(self, key: Key) -> Accumulator:
        if key not in self.sums:
            if len(self.sums) == MOST:
                raise InputError(
                    f"{setting('by', ', '.join(self.by))} has more than {MOST:,} values: slice by "
                    "something coarser, a day or a region"
                )
            self.sums[key] = Accumulator(
                bins=self.rule,
                from_logits=self.from_logits,
                measures=[measure.name for measure in self.measures],
            )
        return self.sums[key]

    def evaluated(self) -> Slices:
        """The slices with their noise floors, the worst first."""
        slices, notes = [], list(self.notes)
        by_name = {name: self.sums[key] for key, name in names_of(self.sums).items()}
        for label, sums in sorted(by_name.items()):
            if sums.weight > 0:
                summary = sums.summary()
                slices.append(
                    slice_of_sums(label, sums.n_rows, summary, self.measures, self.headline)
                )
            else:
                notes.append(no_weight_note(label, sums.n_rows))
        return ranked_slices(", ".join(self.by), self.headline, slices, notes)


def _rows_by_key(names: Sequence[Names]) -> Iterator[tuple[Key, NDArray[np.intp]]]:
    """Each slice that occurs, and its rows in order."""
    key = names[0].codes
    for more in names[1:]:
        key = key * len(more.known) + more.codes
    present, codes = np.unique(key, return_inverse=True)
    order = np.argsort(codes, kind="stable")
    ends = np.cumsum(np.bincount(codes, minlength=present.size))
    by_key: dict[Key, list[NDArray[np.intp]]] = {}
    for code, rows in zip(present.tolist(), np.split(order, ends[:-1]), strict=True):
        values = []
        for column in reversed(names):
            code, at = divmod(code, len(column.known))
            values.append(column.known[at])
        # Two values may be one text: 1 and "1".
        by_key.setdefault(key_of(reversed(values)), []).append(rows)
    for name, runs in by_key.items():
        yield name, runs[0] if len(runs) == 1 else np.sort(np.concatenate(runs))
