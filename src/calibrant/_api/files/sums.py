"""The first pass over files: what is to be summed (Plan), and sums of all rows and slices
(Tally).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from calibrant._api.evaluate_samples import choose_measures
from calibrant._api.slices import SlicesOfSums
from calibrant._api.streaming.accumulator import Accumulator
from calibrant._core.binning import Edges, FixedRule
from calibrant._core.errors import InputError
from calibrant._core.messages import setting
from calibrant._core.typing import Array, Index
from calibrant._data.labels import Titles
from calibrant._data.readers.batches import Batch
from calibrant._data.readers.chunks import Names
from calibrant._data.readers.columns import ColumnMapping
from calibrant._data.readers.find import File
from calibrant._data.samples import Samples, Shape, shape_of
from calibrant._data.slice_names import Key, key_of, names_of
from calibrant._engines.arrays.counting import class_columns
from calibrant._engines.arrays.passes import scalar_sums
from calibrant._engines.arrays.streams import NO_SQUARES, StreamSums, stream_sums
from calibrant._engines.cells import N_LINEAR, Cells
from calibrant._measures.catalogue import THRESHOLD
from calibrant._measures.statistics import STATISTICS
from calibrant._summaries.requirements import holdings, needs_fine_cells
from calibrant.results._slices import Slices

# The most slices. Each has sums of its own, and a column with more values is not one to slice by.
MOST_SLICES = 10_000


@dataclass
class SliceSums:
    """The sums of every slice so far. A slice's key has a text for each column sliced by."""

    slices: SlicesOfSums
    rule: FixedRule
    from_logits: bool
    sums: dict[Key, Accumulator] = field(default_factory=dict)

    def add(self, names: Sequence[Names], samples: Samples) -> None:
        """Add the rows of a batch to their slices; `names` has each row's value by column."""
        for key, rows in _rows_by_key(names):
            subset = samples.take(rows)
            sums = self._slice_sums(key)
            sums.add(sums.sums_of(subset), subset.n_columns)

    def merge(self, other: SliceSums) -> None:
        """Add the sums of other rows, slice by slice."""
        for key, sums in other.sums.items():
            self._slice_sums(key).merge(sums)

    def _slice_sums(self, key: Key) -> Accumulator:
        """The sums of a slice, empty if it is new; an InputError if slices are too many."""
        if key not in self.sums:
            if len(self.sums) == MOST_SLICES:
                by = setting("by", ", ".join(self.slices.by))
                raise InputError(
                    f"{by} has more than {MOST_SLICES:,} values: slice by something coarser, "
                    "a day or a region"
                )
            self.sums[key] = Accumulator(
                bins=self.rule,
                from_logits=self.from_logits,
                measures=[measure.name for measure in self.slices.measures],
            )
        return self.sums[key]

    def evaluate_slices(self) -> Slices:
        """The table of slices with their noise floors, the largest error first."""
        by_name = {name: self.sums[key] for key, name in names_of(self.sums).items()}
        return self.slices.evaluate_slices(
            (label, sums.n_rows, sums.summary()) for label, sums in sorted(by_name.items())
        )


def _rows_by_key(names: Sequence[Names]) -> Iterator[tuple[Key, Index]]:
    """Yield the key of each slice that occurs in a batch, and its row numbers in increasing order.

    `names` has, for each column sliced by, the distinct values and the code of each row's value.
    """
    key = names[0].codes
    for more in names[1:]:
        key = key * len(more.known) + more.codes
    present, codes = np.unique(key, return_inverse=True)
    order = np.argsort(codes, kind="stable")
    ends = np.cumsum(np.bincount(codes, minlength=present.size))
    by_key: dict[Key, list[Index]] = {}
    for code, rows in zip(present.tolist(), np.split(order, ends[:-1]), strict=True):
        values = []
        for column in reversed(names):
            code, at = divmod(code, len(column.known))
            values.append(column.known[at])
        # Two values may have the same text, as 1 and "1": they are one slice.
        by_key.setdefault(key_of(reversed(values)), []).append(rows)
    for name, runs in by_key.items():
        yield name, runs[0] if len(runs) == 1 else np.sort(np.concatenate(runs))


# The number of cells of all classes together, about.
MOST_CLASS_CELLS = 1 << 16


def class_cells(n_classes: int) -> Cells:
    """The cells that predictions of each class are summed in: fewer with more classes.

    `THRESHOLD` is one of their edges, so that the cells from there on hold the predictions above
    it.
    """
    few = MOST_CLASS_CELLS // n_classes
    if few > N_LINEAR:
        return Cells(Edges([0.0, THRESHOLD, 1.0], closed="right"))
    count = max(16, few)
    edges = np.unique([THRESHOLD, *(np.arange(count + 1) / count)])
    return Cells(Edges(edges.tolist(), closed="right"), fine=False)


@dataclass(frozen=True, eq=False)
class Plan:
    """What the first pass over files sums: columns, bins and measures (None for all measures)."""

    chosen: ColumnMapping
    rule: FixedRule
    measures: tuple[str, ...] | None
    from_logits: bool
    # Whether the files may be read again. The first pass then sums each class in cells of its own.
    exact: bool = False
    # Whether rows are summed in fine cells whatever the measures need: intervals rest on these.
    fine: bool = False

    @property
    def class_names(self) -> Titles | None:
        """The names of the classes; None if they have none."""
        return self.chosen.class_names

    @property
    def shape(self) -> Shape:
        """The shape of predictions in one column: "answers" (right or wrong) or "binary"."""
        return shape_of(1, self.chosen.answers)

    def samples(self, batch: Batch) -> Samples:
        """The rows of a batch as validated samples."""
        return batch.samples(self.from_logits, self.class_names)

    @property
    def lean(self) -> bool:
        """Whether sums in the ordinary bins suffice, without fine cells and squared predictions."""
        return not (self.fine or needs_fine_cells(self.measures))

    @property
    def cells(self) -> Cells:
        """The cells in which predictions are summed; a lean plan has the ordinary bins alone."""
        return Cells(self.rule, not self.lean)

    def sums_of(self, samples: Samples) -> StreamSums:
        """The sums of the samples that the plan's measures need."""
        holds = holdings(self.measures, samples.multiclass)
        return stream_sums(samples, self.cells, holds | {NO_SQUARES} if self.lean else holds)

    def class_sums(self, samples: Samples) -> Array | None:
        """The sums in the cells of each class against the rest, (classes, cells, fields).

        (n,) predictions have one class. None unless files may be read again and a measure needs
        quantile bins of each class.
        """
        chosen = choose_measures(self.measures, samples.shape)
        if not self.exact or not any(STATISTICS[m.statistic].has_class_quantiles for m in chosen):
            return None
        columns = class_columns(samples) if samples.multiclass else [samples]
        cuts = class_cells(samples.n_classes).cuts(samples.precision)
        return np.stack([scalar_sums(column, "binary", cuts)[0] for column in columns])

    def tally(self, batches: Iterable[Batch] = ()) -> Tally:
        """The sums of all rows in some batches; empty ones if there are none."""
        total = Accumulator(bins=self.rule, from_logits=self.from_logits, measures=self.measures)
        # Intervals need fine cells, whatever the measures need.
        total._cells = self.cells
        out = Tally(self, total)
        for batch in batches:
            out.add(batch)
        return out


@dataclass(eq=False)
class Tally:
    """The running sums of the rows of files, in total and for each slice."""

    plan: Plan
    total: Accumulator
    slices: SliceSums | None = None
    # The first row, which tells what all rows were taken for, and the file it is from.
    example: Samples | None = None
    file: File | None = None
    # Whether every prediction so far was 0 or 1, as labels are.
    like_labels: bool = True
    class_sums: Array | None = None

    def add(self, batch: Batch) -> None:
        """Add the rows of a batch to the sums."""
        if not batch.n:
            self.total.n_missing += batch.n_missing
            return
        samples = self.plan.samples(batch)
        with batch.explained(samples):
            sums = self.plan.sums_of(samples)
            by_class = self.plan.class_sums(samples)
        try:
            self.total.add(sums, samples.n_columns)
        except InputError as error:
            raise InputError(f"{batch.file}: {error}") from None
        self._add_class_sums(by_class)
        if self.example is None:
            self.example, self.file = samples.row(0), batch.file
        self.like_labels = (
            self.like_labels and not samples.voted and samples.every_prediction_is_zero_or_one()
        )
        if batch.by:
            self._slices(samples).add(batch.by, samples)

    def _add_class_sums(self, sums: Array | None) -> None:
        """Add the sums of each class, (classes, cells, fields), to the total; nothing for None."""
        if sums is not None:
            self.class_sums = sums if self.class_sums is None else self.class_sums + sums

    def _slices(self, samples: Samples) -> SliceSums:
        """The sums of slices, made when the first samples come.

        The shape of these samples (binary, answers, multiclass) decides which measures slices have.
        """
        if self.slices is None:
            plan, shape = self.plan, samples.shape
            chosen, asked = choose_measures(plan.measures, shape), plan.measures is not None
            slices = SlicesOfSums.from_measures(plan.chosen.by, chosen, shape, asked=asked)
            self.slices = SliceSums(slices, plan.rule, plan.from_logits)
        return self.slices

    def merge(self, other: Tally) -> None:
        """Add the sums of later rows; an InputError if they have another number of columns."""
        mine, others = self.total.columns, other.total.columns
        if 0 not in (mine, others) and mine != others:
            raise InputError(f"y_proba has {mine} columns in {self.file}, {others} in {other.file}")
        self.total.merge(other.total)
        self._add_class_sums(other.class_sums)
        self.file = self.file or other.file
        self.example = self.example or other.example
        self.like_labels = self.like_labels and other.like_labels
        if self.slices is None:
            self.slices = other.slices
        elif other.slices is not None:
            self.slices.merge(other.slices)

    @property
    def precision(self) -> np.dtype[Any]:
        """The dtype of the predictions in the first row, such as float32."""
        assert self.example is not None
        return self.example.precision
