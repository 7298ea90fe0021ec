"""The true value of a measure: its value in the whole population, in the bins of a sample.

Right probabilities stand in for labels, on so many rows that nothing is left of chance. Bins of
equal mass are those of the sample; other bins are the same everywhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np

import calibrant as cal
from calibrant._core.bin_tables import BinTable
from calibrant._core.binning import Edges, EqualWidth, Quantile
from calibrant._data.samples import Samples
from calibrant._data.to_samples import to_samples
from calibrant._engines.arrays.counting import bin_table, class_columns
from calibrant._measures.catalogue import Measure
from calibrant._measures.coefficients import Coefficient
from calibrant._measures.statistics import STATISTICS
from calibrant._summaries.samples import Summary

from .estimates import fitted
from .populations import Array, Population

FIXED, MASS = EqualWidth(15), Quantile(15)
# Rows that stand for infinitely many: of one probability a row, and of many classes together.
VERY_MANY = 200_000
ENTRIES = 4_000_000
# Rows of every class against the rest, whose bins are those of each sample.
OF_CLASSES = 40_000
# Rows for a sweep over as many bins as there are rows.
FEW = 2000
SWEPT = ("sweep_ece",)
# Parts of the Brier score that are not 0 for right predictions.
PARTS = ("brier_discrimination", "brier_uncertainty")


class Truth:
    """A population of very many rows, with its right probabilities as soft labels."""

    def __init__(self, population: Population) -> None:
        self.population = population
        self.k = population.n_classes
        self._whole: dict[str, float] = {}
        self._tables: dict[Any, BinTable] = {}

    def value(self, measure: Measure | Coefficient, like: Samples | None) -> float:
        """The measure in the population, in the bins of a sample."""
        if isinstance(measure, Coefficient):
            u, q, _ = self.top
            if measure.name not in self._whole:
                self._whole[measure.name] = fitted(q, u, None, measure.name).value
            return self._whole[measure.name]
        if self.population.calibrated and _is_zero_if_calibrated(measure):
            return 0.0
        statistic = STATISTICS[measure.statistic]
        if statistic.binning == "quantile":
            assert like is not None
            return self._in_bins_of(measure, like)
        if measure.name not in self._whole:
            self._whole[measure.name] = self._everywhere(measure)
        return self._whole[measure.name]

    # --- rows ---

    @cached_property
    def rows(self) -> tuple[Array, Array]:
        """Predictions and right probabilities, of as many rows as memory should hold."""
        n = min(VERY_MANY, ENTRIES // self.k)
        return self.population.draw(n, np.random.default_rng(12345))

    @cached_property
    def top(self) -> tuple[Array, Array, Array]:
        """Predictions, right probabilities and class of the scalar problem, of very many rows."""
        if self.k == 1:
            return (*self.rows, np.zeros(len(self.rows[0]), int))
        parts, size = [], len(self.rows[0])
        for part in range(-(-VERY_MANY // size)):
            u, q = self.population.draw(size, np.random.default_rng(12345 + part))
            rows, top = np.arange(size), u.argmax(axis=1)
            parts.append((u[rows, top], q[rows, top], top))
        u, q, top = (np.concatenate(column) for column in zip(*parts, strict=True))
        return u, q, top

    @cached_property
    def scalar(self) -> Samples:
        return to_samples(self.top[1], self.top[0])

    @cached_property
    def classes(self) -> Samples:
        return to_samples(self.rows[1][:OF_CLASSES], self.rows[0][:OF_CLASSES])

    @cached_property
    def _scalar_summary(self) -> Summary:
        return Summary(self.scalar, FIXED, MASS)

    @cached_property
    def _summary(self) -> Summary:
        return Summary(to_samples(self.rows[1], self.rows[0]), FIXED, MASS)

    # --- measures whose bins, if any, are the same for every sample ---

    def _everywhere(self, measure: Measure) -> float:
        if measure.statistic == "losses":
            return self._mean_loss(measure)
        u, q, top = self.top
        if measure.name == "brier_uncertainty":
            return float(q.mean() * (1 - q.mean()))
        if measure.statistic == "confidence_by_class":
            shares = np.bincount(top) / len(top)
            errors = [cal.ece(q[top == c], u[top == c]) * shares[c] for c in np.flatnonzero(shares)]
            return float(np.sum(errors))
        if measure.name in SWEPT:
            return float(measure.compute(Summary(to_samples(q[:FEW], u[:FEW]), FIXED, MASS)))
        scalar = STATISTICS[measure.statistic].problem == "scalar"
        return float(measure.compute(self._scalar_summary if scalar else self._summary))

    def _mean_loss(self, measure: Measure) -> float:
        """The expected loss: outcomes scatter about the right probabilities."""
        value = float(measure.compute(self._summary))
        labels = self.population.labels
        if labels == "exact" or self.population.votes_known:
            return value
        if labels != "outcomes":
            raise ValueError("losses of soft labels whose votes are not known have no simple truth")
        u, q = self.rows
        if measure.loss == "brier":
            spread = q * (1 - q) if self.k == 1 else 1 - (q**2).sum(axis=1)
            return value + float(spread.mean())
        if measure.loss == "confidence":
            if self.k > 1:
                q = q[np.arange(len(u)), u.argmax(axis=1)]
            return value + float((q * (1 - q)).mean())
        return value

    # --- measures in bins of equal mass, which each sample has of its own ---

    def _in_bins_of(self, measure: Measure, like: Samples) -> float:
        if measure.notion == "classwise" or measure.statistic == "above":
            mine = self.classes if like.multiclass else self.scalar
            columns = zip(_columns(mine), _columns(like), strict=True)
            errors = [self._of_class(measure, each, own) for each, own in columns]
            return float(np.mean([e for e in errors if e is not None]))
        if measure.statistic == "full_bins":
            return self._in_full_bins(measure, like)
        edges = _edges(like, "confidence" if like.multiclass else "binary")
        formula = measure.of_population or measure.table_formula
        assert formula is not None
        return float(formula(self._table(edges))[0])

    def _in_full_bins(self, measure: Measure, like: Samples) -> float:
        """Residuals of all classes, in bins of the top label's class and confidence."""
        edges, (u, q) = _edges(like, "confidence"), self.rows
        inner = np.asarray(edges.edges)[1:-1]
        cell = u.argmax(axis=1) * edges.m + np.searchsorted(inner, u.max(axis=1), side="right")
        size = int(cell.max()) + 1
        residual = np.ravel([np.bincount(cell, column, size) for column in (u - q).T])
        assert measure.of_vectors is not None
        return float(measure.of_vectors(residual[None].astype(float), np.array([float(len(u))]))[0])

    def _table(self, edges: Edges) -> BinTable:
        """Made once for all measures that share the bins of a sample."""
        key = tuple(edges.edges)
        if key not in self._tables:
            self._tables = {key: bin_table(self.scalar, "binary", edges)[0]}
        return self._tables[key]

    @staticmethod
    def _of_class(measure: Measure, mine: Samples, own: Samples) -> float | None:
        if measure.statistic == "above":
            mine, own = (
                Samples(s.predictions[s.predictions > 0.01], s.targets[s.predictions > 0.01])
                for s in (mine, own)
            )
            if not own.n:
                return None
        table, _, _ = bin_table(mine, "binary", _edges(own, "binary"))
        assert measure.table_formula is not None
        return float(measure.table_formula(table)[0])


def _is_zero_if_calibrated(measure: Measure) -> bool:
    rows = STATISTICS[measure.statistic].problem == "rows"
    return not (rows or measure.is_ranking or measure.name in PARTS)


def _columns(samples: Samples) -> Iterator[Samples]:
    return class_columns(samples) if samples.multiclass else iter([samples])


def _edges(samples: Samples, notion: Any) -> Edges:
    """The bins of equal mass of a sample."""
    _, cuts, _ = bin_table(samples, notion, MASS)
    inner = np.unique(cuts.inner)
    inner = inner[(inner > 0) & (inner < 1)]
    return Edges([0.0, *inner.tolist(), 1.0])
