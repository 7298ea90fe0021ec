"""Test inversion along a path of populations, along which the true value increases.

At each point of a path the true value is known, and values of samples can be drawn. A limit is the
true value at which the observed value is just as extreme as the level allows (DiCiccio and Romano,
1990, Nonparametric confidence limits by resampling methods and least favorable families).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from calibrant._core.typing import Array
from calibrant._inference.rounding import ROUNDED_ERROR, SLACK
from calibrant._inference.tails import DrawnLaw


@dataclass(eq=False)
class Path:
    """A path of populations, along whose points true values and sample values increase.

    `at` maps a point to the true value there and to values of samples drawn there, (draws,).
    """

    points: Sequence[float]
    at: Callable[[float], tuple[float, Array]]
    _cache: dict[float, tuple[float, DrawnLaw]] = field(default_factory=dict)

    def point(self, j: int) -> tuple[float, DrawnLaw]:
        """The true value at the j-th point, and the distribution of sample values there."""
        t = self.points[j]
        if t not in self._cache:
            truth, drawn = self.at(t)
            self._cache[t] = (0.0 if abs(truth) < ROUNDED_ERROR else truth), DrawnLaw(drawn)
        return self._cache[t]

    def quantile(self, j: int, q: float) -> float:
        """The q-quantile of sample values at the j-th point."""
        return self.point(j)[1].quantile(q)

    def crossing(self, q: float, value: float) -> float:
        """The true value at which the q-quantile of sample values equals `value`.

        Between points it is interpolated. Before the first point it is the true value there. Beyond
        the last point the quantile is taken to keep its distance from the true value: rates end at
        0 and 1, so that a path may end too early.
        """
        # Values that differ by rounding count as equal, in the direction of wider limits.
        value *= 1.0 - SLACK if q > 0.5 else 1.0 + SLACK
        last = len(self.points) - 1
        if self.quantile(0, q) >= value:
            return self.point(0)[0]
        if self.quantile(last, q) < value:
            return self.point(last)[0] + value - self.quantile(last, q)
        below, above = 0, last
        while above - below > 1:
            middle = (below + above) // 2
            below, above = (middle, above) if self.quantile(middle, q) < value else (below, middle)
        low, high = self.quantile(below, q), self.quantile(above, q)
        share = (value - low) / (high - low) if high > low else 1.0
        least, most = self.point(below)[0], self.point(above)[0]
        return least + share * (most - least)
