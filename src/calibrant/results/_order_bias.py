"""OrderBias: whether predictors stand in the order of their losses by a truthful error."""

from __future__ import annotations

from dataclasses import dataclass

from calibrant._core.errors import InputError, counted
from calibrant.results._base import TableOfRows


@dataclass(frozen=True)
class PredictorBias:
    """One predictor: what its error consists of, and how many of its leads are covered.

    Attributes
    ----------
    predictor : str
        Name of the predictor.
    loss : float
        Its loss after recalibration, cross-fitted.
    bias, low, high : float
        What n times its expected error exceeds that loss by, with a confidence interval.
    covered, undecided, not_covered : int
        Predictors behind it, by whether the theorem covers that they are.

    Examples
    --------
    >>> from calibrant.results import PredictorBias
    >>> PredictorBias("a", 0.17, 0.01, 0.0, 0.04, 1, 0, 0).covered
    1
    """

    predictor: str
    loss: float
    bias: float
    low: float
    high: float
    covered: int
    undecided: int
    not_covered: int


@dataclass(frozen=True)
class CoveredOrder:
    """Two predictors, the first ahead of the second by the error of the sample.

    Attributes
    ----------
    first, second : str
        The predictors.
    margin, low, high : float
        The second's loss after recalibration less n times the first's expected error, with a
        confidence interval: the gap of their losses less the first's bias.
    covered : bool or None
        Whether the margin is above 0; None if its limits leave that open.

    Examples
    --------
    >>> from calibrant.results import CoveredOrder
    >>> CoveredOrder("a", "b", 0.05, 0.03, 0.07, True).covered
    True
    """

    first: str
    second: str
    margin: float
    low: float
    high: float
    covered: bool | None


@dataclass(frozen=True, repr=False, kw_only=True)
class OrderBias(TableOfRows[PredictorBias]):
    """Whether the order by a truthful error is that of the losses after recalibration.

    Made by `compare` for truthful errors that it is asked for by name.

    Attributes
    ----------
    measure : str
        The error.
    label : str
        Its name in sentences.
    rows : tuple of PredictorBias
        The predictors, in the order of the error in the sample.
    pairs : tuple of CoveredOrder
        Each two of them.
    level : float
        Confidence level of the intervals.

    Examples
    --------
    >>> import numpy as np
    >>> import calibrant as cal
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.random(2000)
    >>> y = (rng.random(2000) < truth).astype(int)
    >>> models = {"informed": truth, "constant": np.full(2000, 0.6)}
    >>> found = cal.compare(y, models, measures=["lin_ce"], bins=cal.Quantile(200))
    >>> found.order_bias["lin_ce"].pair("informed", "constant").covered
    True
    """

    _json_keys = "measure level predictors pairs"
    _table_key = "predictors"

    measure: str
    label: str
    rows: tuple[PredictorBias, ...]
    pairs: tuple[CoveredOrder, ...]
    level: float

    def pair(self, first: str, second: str) -> CoveredOrder:
        """Look up what is known of the order of two predictors.

        Parameters
        ----------
        first, second : str
            Names of the predictors, in either order.

        Returns
        -------
        CoveredOrder
            Whether the theorem covers their order.
        """
        for pair in self.pairs:
            if {pair.first, pair.second} == {first, second}:
                return pair
        known = ", ".join(row.predictor for row in self.rows)
        raise InputError(f"first and second must be two of {known}; got {first!r} and {second!r}")

    @property
    def title(self) -> str:
        """What the table is, in one line."""
        return f"Order by {self.label}: losses after recalibration, and the bias"

    @property
    def sentence(self) -> str:
        """For how many pairs the theorem of Lu, Wu, Hartline and Hu covers the order, in words."""
        covered, open_, n = (
            sum(getattr(row, name) for row in self.rows)
            for name in ("covered", "undecided", "not_covered")
        )
        pairs = counted(covered + open_ + n, "pair", "")
        parts = [
            f"The order by {self.label} is guaranteed to be that of the losses after recalibration "
            f"for {covered} of {pairs} of predictors (theorem 4.3 of Lu et al., arXiv:2510.06388)"
        ]
        if open_:
            parts.append(f"{open_} cannot be decided with this much data")
        if n:
            parts.append(f"in {n} the bias exceeds the gap of the losses")
        return "; ".join(parts) + "."
