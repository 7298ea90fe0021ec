"""Bins of equal mass of every class against the rest, compiled.

Columns of a matrix in the order of rows are far apart, so a few of them are copied out together.
Each is then put in order cell by cell, cut into bins and summed while it is in the cache
(`_columns.h`); with weights, or soft labels, the weight of cells tells where bins begin, and only
what lies in these cells is put in order. Memory beyond the input: the copies, one group for each
thread.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant._core.bin_tables import FIELDS
from calibrant._core.binning import ROUNDING, Quantile, Rule
from calibrant._core.engine_choice import n_threads
from calibrant._core.errors import NO_WEIGHT, InputError
from calibrant._core.typing import Array
from calibrant._data.samples import Samples
from calibrant._engines.arrays.passes import THREADS_FROM, in_threads, row_block
from calibrant._engines.arrays.selection import kernels

# Columns that are copied out together: whole cache lines, and few enough to stay near.
MOST_COLUMNS, FEWEST_COLUMNS = 64, 4
GROUP_BYTES = 1 << 24
# Beyond the copies of columns: so that they do not all begin at the same place of the cache.
PADDING = 48
# Ranks are counted in 32 bits.
MOST_ROWS = 1 << 31

Sums = Array


@dataclass(frozen=True, eq=False)
class ClassSums:
    """Bin sums (classes x bins x fields): of all predictions, and of those above a threshold."""

    every: Sums | None
    above: Sums | None


def is_compiled(samples: Samples, rule: Rule) -> bool:
    """Whether there is a kernel for these rows and this rule."""
    together = isinstance(rule, Quantile) and rule.ties == "together"
    return together and kernels().name == "native" and samples.n < MOST_ROWS


def class_sums(
    samples: Samples, m: int, *, every: bool = True, threshold: float | None = None
) -> ClassSums:
    """The sums of m bins of equal mass of each class, of rows that were checked as rows.

    With a `threshold` also those of its predictions above the threshold; a class without any has
    sums of 0.
    """
    from calibrant._engines.arrays.native import classes

    n, k = samples.predictions.shape
    weights = None if samples.weights is None else samples.weights.astype(np.float64)
    if weights is not None and not weights.sum() > 0:
        raise InputError(NO_WEIGHT)
    soft = samples.targets.ndim == 2
    rows, firsts = (None, None) if soft else _rows_by_label(samples)
    shape = (k, m, len(FIELDS))
    sums = np.zeros(shape) if every else None
    above = None if threshold is None else np.zeros(shape)
    bound = 0.0 if threshold is None else _in_precision(threshold, samples)
    columns = _Columns(samples)

    def work(groups: list[int]) -> None:
        targets = np.empty((columns.size, n)) if soft else None
        for first, group in columns.read(groups):
            last = first + len(group)
            some = slice(first, last)
            own = None if firsts is None else firsts[first : last + 1]
            into = None if sums is None else sums[some], None if above is None else above[some]
            if rows is not None and own is not None and weights is None:
                edges = np.empty((len(group), m - 1))
                classes.add_bins(group, n, rows, own, 1 + ROUNDING, into[0], edges, into[1], bound)
                continue
            if targets is not None:
                classes.take_columns(samples.targets[:, some].astype(np.float64), targets)
            classes.add_weighed_bins(
                group, n, weights, rows, own, targets, 1 + ROUNDING, *into, bound
            )

    threads = n_threads() if n * k >= THREADS_FROM else 1
    # Each thread keeps one group's memory and goes from group to group.
    in_threads(work, [columns.firsts[t::threads] for t in range(threads)], threads)
    return ClassSums(sums, above)


def _rows_by_label(samples: Samples) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The rows in order of their labels, and where each class's begin and the last one's end."""
    k = samples.n_classes
    # Short labels are sorted in one pass.
    labels = samples.targets.astype(np.uint16 if k <= 1 << 16 else np.int64)
    counts = np.bincount(labels, minlength=k)
    return np.argsort(labels, kind="stable"), np.append(0, np.cumsum(counts))


def _in_precision(threshold: float, samples: Samples) -> float:
    """A threshold as predictions meet it: a float32 one is compared with it rounded to float32."""
    return float(np.asarray(threshold, dtype=samples.precision))


class _Columns:
    """Groups of columns as probabilities in [0, 1], each column as a run."""

    def __init__(self, samples: Samples) -> None:
        self.samples = samples
        self.log_total = log_normaliser(samples) if samples.from_logits else None
        raw = samples.predictions.dtype
        half = np.dtype(np.float32 if raw == np.float16 else np.float64)
        self.precision = raw if raw in (np.float32, np.float64) and raw.isnative else half
        if samples.from_logits:
            self.precision = np.dtype(np.float64)
        room = GROUP_BYTES // max(1, samples.n * self.precision.itemsize)
        self.size = min(max(room, FEWEST_COLUMNS), MOST_COLUMNS, samples.n_classes)
        self.firsts = list(range(0, samples.n_classes, self.size))

    def read(self, firsts: list[int]) -> Iterator[tuple[int, NDArray[Any]]]:
        """The groups that begin at these classes; each is gone when the next one comes."""
        from calibrant._engines.arrays.native import classes

        n, k = self.samples.predictions.shape
        room = np.empty((self.size, n + PADDING), dtype=self.precision)
        for first in firsts:
            last = min(first + self.size, k)
            group = self.samples.predictions[:, first:last]
            if self.log_total is not None:
                with np.errstate(over="ignore"):  # past the largest double: a probability of 0
                    group = np.exp(group.T.astype(np.float64) - self.log_total).T
            classes.take_columns(group.astype(self.precision, copy=False), room)
            yield first, room[: last - first]


def log_normaliser(samples: Samples) -> Array:
    """log sum exp of each row, so that one class's probability needs no other class."""
    out = np.empty(samples.n)
    rows = row_block(samples.n_classes)
    for start in range(0, samples.n, rows):
        h = samples.predictions[start : start + rows].astype(np.float64)
        top = h.max(axis=1)
        with np.errstate(over="ignore"):
            out[start : start + rows] = top + np.log(np.exp(h - top[:, None]).sum(axis=1))
    return out
