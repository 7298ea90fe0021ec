"""Test inversion along a path of populations, from a calibrated one to ever worse ones.

At each point of a path the true value is known, and what samples show there can be drawn. A limit
is the true value where the one seen would be just as extreme as the level allows (DiCiccio and
Romano, 1990, Nonparametric confidence limits by resampling methods and least favorable families).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from calibrant._core.typing import Array
from calibrant._inference.rounding import ROUNDED_ERROR, SLACK
from calibrant._inference.tails import Law


@dataclass(eq=False)
class Path:
    """Points of a path in order, along which true values and what is usual rise.

    `at` gives the true value at a point, and what samples show there.
    """

    points: Sequence[float]
    at: Callable[[float], tuple[float, Array]]
    _known: dict[float, tuple[float, Law]] = field(default_factory=dict)

    def point(self, j: int) -> tuple[float, Law]:
        """The true value at a point, and the law of what samples show there."""
        t = self.points[j]
        if t not in self._known:
            truth, shown = self.at(t)
            self._known[t] = (0.0 if abs(truth) < ROUNDED_ERROR else truth), Law(shown)
        return self._known[t]

    def usual(self, j: int, q: float) -> float:
        """The q-quantile of what samples show at a point."""
        return self.point(j)[1].quantile(q)

    def crossing(self, q: float, value: float) -> float:
        """The true value where the q-quantile of what samples show is `value`.

        Beyond the last point what is usual is taken to keep its distance from what is true: rates
        end at 0 and at 1, so a path may end before all its samples are above the value.
        """
        # What differs by rounding is the same, and a limit is on the far side of it.
        value *= 1.0 - SLACK if q > 0.5 else 1.0 + SLACK
        last = len(self.points) - 1
        if self.usual(0, q) >= value:
            return self.point(0)[0]
        if self.usual(last, q) < value:
            return self.point(last)[0] + value - self.usual(last, q)
        below, above = 0, last
        while above - below > 1:
            middle = (below + above) // 2
            below, above = (middle, above) if self.usual(middle, q) < value else (below, middle)
        low, high = self.usual(below, q), self.usual(above, q)
        share = (value - low) / (high - low) if high > low else 1.0
        least, most = self.point(below)[0], self.point(above)[0]
        return least + share * (most - least)
