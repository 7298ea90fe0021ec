"""The first pass over files: what is to be summed, and the sums."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from calibrant.accumulator import Accumulator
from calibrant.binning import Edges, EqualWidth
from calibrant.engines.cells import Cells
from calibrant.engines.streams import NO_SQUARES, StreamSums, stream_sums
from calibrant.errors import InputError
from calibrant.evaluation import choose
from calibrant.files.slices import SliceSums
from calibrant.holdings import holdings, needs_fine_cells
from calibrant.inputs.labels import Titles
from calibrant.inputs.readers.batches import Batch
from calibrant.inputs.readers.columns import Chosen
from calibrant.inputs.readers.find import File
from calibrant.measures.catalogue import Shape
from calibrant.samples.samples import Samples
from calibrant.slicing import not_of_sums, slice_measures


@dataclass(frozen=True, eq=False)
class Plan:
    """What to make of the rows."""

    chosen: Chosen
    rule: EqualWidth | Edges
    measures: tuple[str, ...] | None
    from_logits: bool

    @property
    def class_names(self) -> Titles | None:
        if self.chosen.classes is not None:
            return Titles(str(name) for name in self.chosen.classes)
        return Titles(self.chosen.y_proba.names) if self.chosen.y_proba.stacked else None

    def samples(self, batch: Batch) -> Samples:
        return batch.samples(self.from_logits, self.class_names)

    @property
    def lean(self) -> bool:
        """Whether the bins alone are needed: then nothing reads their sums of squared reports."""
        return not needs_fine_cells(self.measures)

    @property
    def cells(self) -> Cells:
        return Cells(self.rule, not self.lean)

    def sums_of(self, samples: Samples) -> StreamSums:
        """What the measures need of some rows."""
        holds = holdings(self.measures, samples.multiclass)
        return stream_sums(samples, self.cells, holds | {NO_SQUARES} if self.lean else holds)

    def tally(self, batches: Iterable[Batch] = ()) -> Tally:
        """The sums of some rows."""
        total = Accumulator(bins=self.rule, from_logits=self.from_logits, measures=self.measures)
        out = Tally(self, total)
        for batch in batches:
            out.add(batch)
        return out


@dataclass(eq=False)
class Tally:
    """Sums of everything, and of each slice."""

    plan: Plan
    total: Accumulator
    slices: SliceSums | None = None
    # A row, to tell what all were taken for, and the file it is from.
    example: Samples | None = None
    file: File | None = None
    # Whether every report so far was 0 or 1, as labels are.
    like_labels: bool = True

    def add(self, batch: Batch) -> None:
        if not batch.n:
            self.total.n_missing += batch.n_missing
            return
        samples = self.plan.samples(batch)
        with batch.explained(samples):
            sums = self.plan.sums_of(samples)
        try:
            self.total.add(sums, samples.n_classes if samples.multiclass else 1)
        except InputError as error:
            raise InputError(f"{batch.file}: {error}") from None
        if self.example is None:
            self.example, self.file = samples.row(0), batch.file
        self.like_labels = self.like_labels and samples.every_report_is_zero_or_one()
        if batch.by:
            self._slices(samples).add(batch.by, samples)

    def _slices(self, samples: Samples) -> SliceSums:
        if self.slices is None:
            plan = self.plan
            shape: Shape = "multiclass" if samples.multiclass else "binary"
            chosen, asked = choose(plan.measures, shape), plan.measures is not None
            headline, shown = slice_measures(chosen, shape, asked=asked, of_sums=True)
            self.slices = SliceSums(
                plan.chosen.by,
                plan.rule,
                plan.from_logits,
                tuple(measure.name for measure in shown),
                headline,
                not_of_sums(chosen, shown) if asked else [],
            )
        return self.slices

    def merge(self, other: Tally) -> None:
        """Add the sums of later rows."""
        mine, others = self.total.columns, other.total.columns
        if 0 not in (mine, others) and mine != others:
            raise InputError(f"y_proba has {mine} columns in {self.file}, {others} in {other.file}")
        self.total.merge(other.total)
        self.file = self.file or other.file
        self.example = self.example or other.example
        self.like_labels = self.like_labels and other.like_labels
        if self.slices is None:
            self.slices = other.slices
        elif other.slices is not None:
            self.slices.merge(other.slices)

    @property
    def precision(self) -> np.dtype[Any]:
        assert self.example is not None
        return self.example.precision
