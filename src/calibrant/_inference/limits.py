"""Limits of a true value, as the methods of intervals give them."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Limits:
    """A confidence interval from `low` to `high`, and the method that gave it.

    `error` is the standard error of the value, and `estimate` the value without its bias; each is
    None where the method does not give it.
    """

    low: float
    high: float
    method: str
    error: float | None = None
    estimate: float | None = None

    def covering(self, value: float) -> Limits:
        """The limits, widened where necessary to hold a value."""
        return replace(self, low=min(self.low, value), high=max(self.high, value))

    def within(self, lowest: float, highest: float) -> Limits:
        """The limits, clipped to the range from `lowest` to `highest`."""
        low = min(max(self.low, lowest), highest)
        return replace(self, low=low, high=min(max(self.high, low), highest))
