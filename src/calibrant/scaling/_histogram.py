"""Histogram binning: every prediction becomes its bin's mean target."""

from __future__ import annotations

from typing import Any

import numpy as np

from calibrant._core.bin_counts import is_by_rows
from calibrant._core.binning import (
    Bins,
    Cuts,
    Edges,
    EqualWidth,
    LevelSets,
    Quantile,
    as_rule,
    fixed_cuts,
)
from calibrant._core.errors import InputError
from calibrant._core.given_cells import Cells
from calibrant._core.validation import public
from calibrant._data.to_samples import to_samples
from calibrant._engines.arrays.counting import bin_table
from calibrant._engines.logit_cells import LogitCells
from calibrant.scaling._docstrings import documented
from calibrant.scaling._one_vs_rest import Column, ColumnFit, OneVsRest
from calibrant.scaling._predictions import FloatArray
from calibrant.scaling._problem import Solution, log_loss
from calibrant.scaling._summed_rows import SummedRows


@documented
class HistogramBinning(OneVsRest):
    r"""Histogram binning: every prediction becomes the mean target of its bin.

    .. math:: q_i = \frac{\sum_{l \in B(i)} w_l z_l}{\sum_{l \in B(i)} w_l}

    where B(i) is the bin of prediction i. A prediction in a bin that was empty in the fit is not
    changed.

    Predictions (n, k) get a map for each class against the rest, and rows are divided by their sum;
    a row whose classes are all mapped to 0 is returned unchanged.

    Parameters
    ----------
    bins : int or binning rule, default 15
        A number of equal-width bins, or a rule that puts equal predictions into one bin, such as
        ``calibrant.Quantile(15)`` or ``calibrant.Edges([...])``.

    Attributes
    ----------
    edges_ : tuple of ndarray
        The inner edges of each map (a prediction's bin is the number of edges at or below it): one
        map for two classes, k for k > 2.
    values_ : tuple of ndarray
        The mean target of each bin; NaN where the bin was empty.

    References
    ----------
    Zadrozny and Elkan (2001), Obtaining calibrated probability estimates from decision trees and
    naive Bayesian classifiers, ICML.

    Examples
    --------
    >>> from calibrant.scaling import HistogramBinning
    >>> scaler = HistogramBinning(bins=4).fit([0, 1, 0, 1], [0.1, 0.2, 0.3, 0.8])
    >>> scaler.transform([0.05, 0.4, 0.6, 0.9]).tolist()
    [0.5, 0.0, 0.6, 1.0]
    """

    _of_logarithms = False
    _may_be_unknown = ("values_",)  # bins that were empty in the fit
    _learned = ("edges_", "values_")
    edges_: tuple[FloatArray, ...]
    values_: tuple[FloatArray, ...]

    @public
    def __init__(
        self, *, bins: Bins = 15, from_logits: bool = False, from_logprobs: bool = False
    ) -> None:
        self.bins = bins
        super().__init__(from_logits=from_logits, from_logprobs=from_logprobs)

    def _check_options(self) -> None:
        """Raise an InputError if an option, such as the binning rule, is invalid."""
        super()._check_options()
        self._rule()

    def _rule(self, n: int | None = None) -> EqualWidth | Quantile | Edges:
        """The binning rule of the option `bins`; an InputError for a rule that does not give every
        new prediction one bin.

        A number of bins that depends on the number of rows is computed for `n` rows; without `n` it
        is the number used in the fit, or 15 before the fit.
        """
        if is_by_rows(self.bins) and n is None:
            return EqualWidth(self.values_[0].size if hasattr(self, "values_") else 15)
        rule = as_rule(self.bins, n=n)
        by_rank = isinstance(rule, Quantile) and rule.ties == "rank"
        dropping = rule.drops_one
        if isinstance(rule, LevelSets | Cells) or by_rank or dropping:
            raise InputError(
                f"bins={self.bins!r} does not put every new prediction into one bin: use a number "
                "of equal-width bins, Quantile(m) or Edges([...])"
            )
        return rule

    def _check_learned(self) -> None:
        """Raise a ValueError if edges and values read from a file have different sizes, or are no
        probabilities.
        """
        super()._check_learned()
        rule = self._rule()
        for edges, values in zip(self.edges_, self.values_, strict=True):
            inner = len(edges) if isinstance(rule, Quantile) else rule.m - 1
            if np.shape(edges) != (inner,) or np.shape(values) != (inner + 1,):
                raise ValueError("the number of values does not fit the bins")
            if not (np.isnan(values) | ((values >= 0) & (values <= 1))).all():
                raise ValueError("a value of a bin is not a probability")

    def _fit_column(self, column: Column) -> ColumnFit:
        """The inner edges of the bins of one class, and the mean target of each bin;
        NaN if it is empty.
        """
        # Predictions are binned in their own precision, so that 0.7 in single precision lies at the
        # edge 0.7.
        predictions = column.predictions.astype(column.precision)
        samples = to_samples(column.targets, predictions, sample_weight=column.weights)
        table, cuts, _ = bin_table(samples, "binary", self._rule(samples.n))
        mass, total = table.sum_w[0], table.sum_wz[0]
        return _of_bins(cuts.inner, mass, total)

    def _fit_cells(self, rows: SummedRows, cells: LogitCells) -> tuple[Solution, float | None]:
        """Fit the map of rows (n,) that are summed; these are so many as the cells have."""
        (bins,) = rows.bins(self._rule, int(cells.n.sum()))
        solution = self._solution([], [_of_bins(*bins)], rows.class_names)
        _, mass, total = (each[bins[1] > 0] if each is not bins[0] else each for each in bins)
        means = np.clip(total / mass, 0.0, 1.0)
        return solution, log_loss(means, mass / mass.sum(), means)

    def _solve_sums(self, rows: SummedRows) -> tuple[Solution, float | None]:
        """Fit the maps of classes whose bins are summed."""
        fits = [_of_bins(*bins) for bins in rows.bins(self._rule, rows.facts.n_rows)]
        return self._solution([], fits, rows.class_names), None

    def _map(self, j: int, values: FloatArray, precision: np.dtype[Any]) -> FloatArray:
        """The mean target of each value's bin in the j-th map; a value in an empty bin stays as it
        is. Values are compared with the edges in their own `precision`.
        """
        rule = self._rule()
        cuts = Cuts(self.edges_[j]) if isinstance(rule, Quantile) else fixed_cuts(rule, precision)
        means = self.values_[j][cuts.find(values)]
        return np.where(np.isnan(means), values, means)


def _of_bins(inner: FloatArray, mass: FloatArray, total: FloatArray) -> ColumnFit:
    """The map of one class from its bins: inner edges, and sums of weights and of targets."""
    values = np.divide(total, mass, out=np.full(mass.shape, np.nan), where=mass > 0)
    return ColumnFit((inner, np.clip(values, 0.0, 1.0)))
