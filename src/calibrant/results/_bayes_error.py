"""BayesError: the smallest classification error that is possible, with its interval."""

from __future__ import annotations

from typing import Any, ClassVar

from calibrant._core.errors import counted
from calibrant.results._base import Record
from calibrant.results._rendering import interval_text, shown


class BayesError(float, Record):
    """The smallest classification error that is possible, with its interval.

    Made by `bayes_error`. It is a float: compare it, format it, compute with it.

    Attributes
    ----------
    low, high : float
        Limits of the interval.
    level : float
        Level of the interval.
    plug_in : float
        One less the mean of the largest shares, without any correction.
    method : str
        How the value and its limits were found.
    note : str
        What to know about it; empty if nothing.
    n : int
        Number of rows.

    Examples
    --------
    >>> import calibrant as cal
    >>> found = cal.bayes_error([[3, 0], [2, 1], [0, 3], [1, 2]] * 25)
    >>> found.low < found < found.high, found.plug_in < found
    (True, True)
    """

    _json_keys = "value low high level plug_in method note n"
    _json_types: ClassVar = {"value": float}

    low: float
    high: float
    level: float
    plug_in: float
    method: str
    note: str
    n: int

    def __new__(
        cls,
        value: float,
        low: float,
        high: float,
        level: float,
        plug_in: float,
        method: str,
        note: str,
        n: int,
    ) -> BayesError:
        out = super().__new__(cls, value)
        out.low, out.high, out.level, out.plug_in = low, high, level, plug_in
        out.method, out.note, out.n = method, note, n
        return out

    def __getnewargs__(self) -> tuple[Any, ...]:
        """The arguments of `__new__`, for pickle and copy."""
        own = self.low, self.high, self.level, self.plug_in, self.method, self.note, self.n
        return float(self), *own

    @property
    def interval(self) -> tuple[float, float]:
        """The lower and the upper end of the confidence interval."""
        return self.low, self.high

    @property
    def best_accuracy(self) -> float:
        """The highest accuracy that any classifier can have."""
        return 1.0 - float(self)

    def _json_item(self, attribute: str) -> Any:
        """The value of an attribute in JSON; that of `value` is the number itself."""
        return float(self) if attribute == "value" else super()._json_item(attribute)

    def __repr__(self) -> str:
        line = (
            f"Bayes error {shown(float(self))}, {interval_text(*self.interval, self.level)} "
            f"({counted(self.n, 'row', '')}; {self.method})"
        )
        return line + (f"\n  {self.note}" if self.note else "")

    __str__ = __repr__
