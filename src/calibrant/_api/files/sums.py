"""The first pass over files: what is to be summed (Plan), and sums of all rows and slices
(Tally).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from calibrant._api.evaluate_samples import choose_measures
from calibrant._api.slices import SlicesOfSums
from calibrant._api.streaming.accumulator import Accumulator
from calibrant._core.bin_tables import FIELDS
from calibrant._core.binning import Edges, FixedRule
from calibrant._core.errors import InputError
from calibrant._core.loss_sums import COMPLEMENTS
from calibrant._core.loss_sums import FIELDS as LOSS_FIELDS
from calibrant._core.messages import setting
from calibrant._core.typing import Array, Index, Shape
from calibrant._data.labels import Titles
from calibrant._data.readers.batches import Batch
from calibrant._data.readers.chunks import Names
from calibrant._data.readers.columns import ColumnMapping
from calibrant._data.readers.find import File
from calibrant._data.samples import Samples, shape_of
from calibrant._data.slice_names import Key, key_of, names_of
from calibrant._engines.arrays.counting import class_columns
from calibrant._engines.arrays.passes import scalar_sums
from calibrant._engines.arrays.slices import SliceArrays
from calibrant._engines.arrays.streams import NO_SQUARES, StreamSums, stream_sums
from calibrant._engines.cells import N_LINEAR, N_OF_SLICES, Cells
from calibrant._engines.protocol import Findings
from calibrant._measures.catalogue import THRESHOLD, Measure
from calibrant._measures.statistics import STATISTICS
from calibrant._summaries.requirements import holdings, needs_fine_cells
from calibrant._summaries.stream import StreamSummary
from calibrant.results._slices import Slices

# The most slices. Each has sums of its own, and a column with more values is not one to slice by.
MOST_SLICES = 10_000


@dataclass(eq=False)
class SliceSums:
    """The sums of every slice so far. A slice's key has a text for each column sliced by."""

    slices: SlicesOfSums
    arrays: SliceArrays
    columns: int
    # The number of each slice, its place in the arrays; and how many rows each has.
    numbers: dict[Key, int] = field(default_factory=dict)
    n_rows: list[int] = field(default_factory=list)

    def add(self, names: Sequence[Names], samples: Samples) -> None:
        """Add the rows of a batch to their slices; `names` has each row's value by column."""
        codes, key_of_code = codes_of(names)
        counts = np.bincount(codes)
        number_of_code = np.zeros(counts.size, dtype=np.int32)
        for code in np.flatnonzero(counts).tolist():
            number_of_code[code] = number = self._number(key_of_code(code))
            self.n_rows[number] += int(counts[code])
        self.arrays.add(samples, number_of_code.take(codes), len(self.numbers))

    def merge(self, other: SliceSums) -> None:
        """Add the sums of other rows, slice by slice."""
        numbers = np.array([self._number(key) for key in other.numbers], dtype=np.intp)
        for number, n in zip(numbers.tolist(), other.n_rows, strict=True):
            self.n_rows[number] += n
        self.arrays.merge(other.arrays, numbers, len(self.numbers))

    def _number(self, key: Key) -> int:
        """The number of a slice, a new one if it is new; an InputError if slices are too many."""
        if key not in self.numbers:
            if len(self.numbers) == MOST_SLICES:
                by = setting("by", ", ".join(self.slices.by))
                raise InputError(
                    f"{by} has more than {MOST_SLICES:,} values: slice by a coarser column, such "
                    "as a day or a region"
                )
            self.numbers[key] = len(self.numbers)
            self.n_rows.append(0)
        return self.numbers[key]

    def summaries(self) -> Iterator[tuple[str, int, StreamSummary]]:
        """Yield the name, the number of rows and the sums of each slice, by name."""
        by_name = {name: self.numbers[key] for key, name in names_of(self.numbers).items()}
        for name, number in sorted(by_name.items()):
            sums = self.arrays.sums_of(number)
            # Squares of labels that are 0 or 1 are these labels.
            of_z, of_squares = (sums["cells"][:, FIELDS.index(f)] for f in ("sum_wz", "sum_wz2"))
            found = Findings(soft=bool((of_z != of_squares).any()))
            summary = StreamSummary(self.arrays.cells, sums, self.columns, found)
            yield name, self.n_rows[number], summary

    def evaluate_slices(self) -> Slices:
        """The table of slices with their noise floors, the largest error first."""
        return self.slices.evaluate_slices(self.summaries())


# The most combinations of codes, column by column, that are numbered whether a row has them or not;
# of more, only those that some row has.
MOST_CODES = 1 << 20


def codes_of(names: Sequence[Names]) -> tuple[Index, Callable[[int], Key]]:
    """A number for each row that tells combinations of values apart, and the key of this number.

    `names` has, for each column, the distinct values and the code of each row's value.
    """
    codes, n_codes = names[0].codes, len(names[0].known)
    # The code of each combination in each column so far; None while it is the only column.
    columns: list[Index] = [np.arange(n_codes)]
    for more in names[1:]:
        k = len(more.known)
        codes = codes * k + more.codes
        if n_codes * k > MOST_CODES:
            pairs, codes = np.unique(codes, return_inverse=True)
        else:
            pairs = np.arange(n_codes * k)
        columns = [*(column[pairs // k] for column in columns), pairs % k]
        n_codes = pairs.size

    def key(code: int) -> Key:
        """The key of the slice that a code stands for. Two values may have the same text, as 1 and
        "1": they are one slice.
        """
        return key_of(column.known[at[code]] for column, at in zip(names, columns, strict=True))

    return codes, key


def loss_positions(measures: Iterable[Measure]) -> tuple[int, ...]:
    """The positions in `loss_sums.FIELDS` of the losses that measures read."""
    names = {m.loss for m in measures if m.statistic == "losses"}
    return tuple(sorted(LOSS_FIELDS.index(COMPLEMENTS.get(name, name)) for name in names))


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
    # Whether rows, and those of slices, are summed in fine cells whatever the measures need:
    # intervals rest on these.
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
        holds = holds | {NO_SQUARES} if self.lean else holds
        losses = None
        if self.measures is not None:
            losses = loss_positions(choose_measures(self.measures, samples.shape))
        return stream_sums(samples, self.cells, holds, losses)

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
    # The first row, for the message on what all rows were taken for, and the file it is from.
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
            cells = Cells(plan.rule, plan.fine, N_OF_SLICES)
            arrays = SliceArrays(cells, loss_positions(slices.measures))
            self.slices = SliceSums(slices, arrays, samples.n_columns)
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
