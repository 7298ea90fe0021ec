"""Difference: one measure of two predictors on the same rows."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Difference:
    """One measure of `first` less that of `second`, on the same rows.

    The limits come from resamples of the rows that both have in common, so they shrink as the two
    agree.

    Attributes
    ----------
    measure : str
        The measure.
    first, second : str
        The predictors.
    value : float
        The difference of the sample's values.
    low, high : float
        Confidence interval of the true difference; it contains `estimate`.
    level : float
        Level of the interval.
    better : str or None
        The better predictor; None where the interval includes 0.
    estimate : float
        The bias-corrected difference: the bias of the two values may be of different size.

    Examples
    --------
    >>> import calibrant as cal
    >>> y = [0, 1, 1, 0] * 25
    >>> models = {"good": [0.1, 0.8, 0.9, 0.2] * 25, "bad": [0.3, 0.5, 0.6, 0.6] * 25}
    >>> cal.compare(y, models, measures=["brier"]).difference("bad", "good", "brier").better
    'good'
    """

    measure: str
    first: str
    second: str
    value: float
    low: float
    high: float
    level: float
    better: str | None
    estimate: float = 0.0
