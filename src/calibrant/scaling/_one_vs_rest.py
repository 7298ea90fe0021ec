"""Maps of one probability, used on each class against the rest."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from calibrant._data.links import both_classes
from calibrant.scaling._predictions import FloatArray, Predictions
from calibrant.scaling._problem import Learned, Problem, Solution, named_classes
from calibrant.scaling._scaler import Scaler
from calibrant.scaling._softmax_fit import not_reached
from calibrant.scaling._summed_rows import MOST_VIEWS, SummedRows, one_against_rest


@dataclass(frozen=True, eq=False)
class Column:
    """One class against the rest, as its map is fitted to it: the number that the map reads of each
    prediction, its targets in [0, 1], the weights of the rows, and the precision in which the
    predictions came.
    """

    predictions: FloatArray
    targets: FloatArray
    weights: FloatArray
    precision: np.dtype[Any]
    # The sum of the squared shares of the rows that these stand for; None where they are the rows.
    squares: float | None = None

    @property
    def shares(self) -> FloatArray:
        """The weights, scaled to sum to 1."""
        return self.weights / self.weights.sum()


@dataclass(frozen=True)
class ColumnFit:
    """The fitted attributes of one class's map, in the order of `Scaler._learned`; the steps of the
    search, whether it reached a minimum, and whether the map is right on every row (`separable`).
    """

    learned: tuple[float | FloatArray, ...]
    n_iter: int = 0
    reached: bool = True
    separable: bool = False


class OneVsRest(Scaler):
    """A scaler with one binary map for each class; the probabilities of a row are divided by their
    sum. Two classes take one map only, that of class 1. A row whose classes are all mapped to 0 has
    no sum to divide by, and is returned unchanged.
    """

    # The number of parameters of each map; infinity where it depends on the rows.
    _parameters_per_map: ClassVar[float] = math.inf

    @classmethod
    def _n_parameters(cls, k: int) -> float:
        """The number of fitted parameters for k classes, over all maps."""
        return cls._parameters_per_map * cls._n_maps(k)

    def _read(self, predictions: Predictions) -> FloatArray:
        """The number that the map reads of each prediction, in the shape of the predictions: the
        logit of the class against the rest, or its probability.
        """
        return predictions.log_odds() if self._of_logarithms else predictions.probabilities()

    @abstractmethod
    def _fit_column(self, column: Column) -> ColumnFit:
        """Fit the map of one class."""

    @abstractmethod
    def _map(self, j: int, values: FloatArray, precision: np.dtype[Any]) -> FloatArray:
        """The probabilities that the j-th map gives for the numbers `values` (n,), which `_read`
        returned; `precision` is that in which the predictions came.
        """

    @staticmethod
    def _n_maps(k: int) -> int:
        """The number of maps for k classes: one for two classes, else k."""
        return k if k > 2 else 1

    def _check_learned(self) -> None:
        """Raise a ValueError unless each fitted attribute read from a file has an entry for each
        map.
        """
        n_maps = self._n_maps(self.n_classes_)
        for name in self._learned:
            values = getattr(self, name)
            flat = isinstance(values, tuple) or np.ndim(values) == 1
            if not flat or len(values) != n_maps or any(np.ndim(each) > 1 for each in values):
                raise ValueError(f"{name} does not fit {n_maps} maps")

    def _solve(self, problem: Problem) -> Solution:
        """Fit all maps, class by class, and return their fitted attributes."""
        read = as_columns(self._read(problem.predictions))
        targets = as_columns(problem.targets)
        precision, w = problem.predictions.precision, problem.weights
        columns = [
            Column(*each, w, precision, problem.squares)
            for each in zip(read.T, targets.T, strict=True)
        ]
        return self._solution(columns, list(map(self._fit_column, columns)), problem.class_names)

    def _solve_sums(self, rows: SummedRows) -> tuple[Solution, float | None]:
        """Fit the maps of classes (n, k) that are summed, class by class."""
        columns, fits = [], []
        for r, cells in zip(one_against_rest(rows.columns or 2), rows.class_cells(), strict=True):
            for _ in range(MOST_VIEWS):
                pooled = cells.rows()
                read = self._read(Predictions(pooled.h, True, np.dtype(np.float64)))
                column = Column(read, pooled.targets, pooled.weights, read.dtype, cells.squares)
                fit = self._fit_column(column)
                view = None if fit.separable else pooled.finer(self._curve(fit, read))
                if view is None:
                    break
                cells = rows.cells(view, r)
            columns.append(column)
            fits.append(fit)
        return self._solution(columns, fits, rows.class_names), None

    def _curve(self, fit: ColumnFit, values: FloatArray) -> FloatArray:
        """The logits of the map of a fit, at the numbers that it reads."""
        one = type(self)(**self.get_params())
        one._set_learned(self._solution([], [fit], ("",)))
        return Predictions(
            one._map(0, values, np.dtype(np.float64)), False, values.dtype
        ).log_odds()

    def _solution(
        self, columns: Sequence[Column], fits: Sequence[ColumnFit], class_names: tuple[str, ...]
    ) -> Solution:
        """The fits of the columns as fitted attributes, with warnings."""
        learned: dict[str, Learned] = {}
        for i, name in enumerate(self._learned):
            values = [fit.learned[i] for fit in fits]
            numbers = all(isinstance(value, float) for value in values)
            learned[name] = np.array(values) if numbers else tuple(map(np.asarray, values))
        names = class_names if len(fits) > 1 else ("",)
        steep = [name for name, fit in zip(names, fits, strict=True) if fit.separable]
        n_iter = max(fit.n_iter for fit in fits)
        reached = all(fit.reached or fit.separable for fit in fits)
        cautions = (*_about_separable(steep), *(() if reached else (not_reached(n_iter),)))
        return Solution(learned, cautions, n_iter)

    def _apply(self, predictions: Predictions) -> FloatArray:
        """Recalibrated probabilities, in the shape of the predictions."""
        read = as_columns(self._read(predictions))
        if read.shape[1] == 1:
            one = self._map(0, read[:, 0], predictions.precision)
            return one if predictions.columns is None else both_classes(one)
        mapped = np.stack(
            [self._map(j, read[:, j], predictions.precision) for j in range(read.shape[1])], axis=1
        )
        total = mapped.sum(axis=1, keepdims=True)
        kept = predictions.probabilities()
        mapped = np.where(total > 0, mapped, kept)
        return mapped / mapped.sum(axis=1, keepdims=True)


def as_columns(values: FloatArray) -> FloatArray:
    """The values with one column for each one-vs-rest map: all k columns, but for (n,) and for two
    classes that of class 1 alone, (n, 1).
    """
    if values.ndim == 1:
        return values[:, None]
    return values[:, 1:] if values.shape[1] == 2 else values


def _about_separable(names: list[str]) -> tuple[str, ...]:
    """The warning for maps that are right on every row, as a tuple of one text; an empty tuple if
    there are none. `names` are their classes, or [""] for a single map.
    """
    if not names:
        return ()
    which = f" of {named_classes(names)}" if names[0] else ""
    maps, verb = ("maps", "are") if len(names) > 1 else ("map", "is")
    return (
        f"the {maps}{which} {verb} right on every row, so a steeper map always fits better and the "
        "search has no end: the parameters are those of its last step. Fit on more rows, or "
        "smooth the targets",
    )
