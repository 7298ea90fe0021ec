"""Limits of a true value, as the methods of intervals give them."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Limits:
    """A confidence interval, the method that gave it, the standard error of the value, and an
    estimate without the value's bias; None where a method has no such number.
    """

    low: float
    high: float
    method: str
    error: float | None = None
    estimate: float | None = None

    def covering(self, value: float) -> Limits:
        """The limits, widened to hold a value."""
        return replace(self, low=min(self.low, value), high=max(self.high, value))

    def within(self, lowest: float, highest: float) -> Limits:
        """The limits, clipped to a range."""
        low = min(max(self.low, lowest), highest)
        return replace(self, low=low, high=min(max(self.high, low), highest))
