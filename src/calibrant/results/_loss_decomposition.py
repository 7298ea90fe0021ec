"""LossDecomposition: how much of a loss a recalibration map would remove."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from calibrant._measures.catalogue import find
from calibrant.results._base import Result
from calibrant.results._rendering import interval_text, shown


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class LossDecomposition(Result):
    """The decomposition of a proper loss: ``loss = calibration + refinement``.

    Made by `decompose`.

    Attributes
    ----------
    measure : str
        The loss.
    loss : float
        Its mean over the rows.
    calibration : float
        The part that recalibration removes, on rows that the map was not fitted to. Below 0, the
        map makes the loss larger.
    refinement : float
        What is left.
    overconfidence, underconfidence : float
        The parts of `calibration` in rows whose top probability the map lowers, and raises.
    in_sample : float
        What the map removes on the rows that it is fitted to, which is too much by its optimism.
    intervals : dict of str to (float, float)
        The confidence interval of each part, from the same rows.
    map : str
        The recalibration map.
    candidates : dict of str to float
        The refinement by each map that was tried.
    n : int
        Number of rows.
    level : float
        Level of the intervals.
    notes : tuple of str
        What to know about the result.

    Examples
    --------
    >>> import calibrant as cal
    >>> found = cal.decompose([0, 1, 1, 0] * 50, [0.2, 0.7, 0.9, 0.4] * 50)
    >>> round(found.calibration + found.refinement - found.loss, 12)
    0.0
    """

    measure: str
    loss: float
    calibration: float
    refinement: float
    overconfidence: float
    underconfidence: float
    in_sample: float
    intervals: dict[str, tuple[float, float]]
    map: str
    candidates: dict[str, float]
    n: int
    level: float
    notes: tuple[str, ...] = ()

    def columns(self) -> dict[str, list[Any]]:
        """Give a row per part.

        Returns
        -------
        dict of str to list
            `part`, `value`, `low` and `high`.
        """
        names = ("loss", "calibration", "overconfidence", "underconfidence", "refinement")
        return {
            "part": [*names, "calibration, in sample"],
            "value": [*(getattr(self, name) for name in names), self.in_sample],
            "low": [*(self.intervals[name][0] for name in names), None],
            "high": [*(self.intervals[name][1] for name in names), None],
        }

    @property
    def title(self) -> str:
        """The loss and the map, in one line."""
        loss = find(self.measure, "binary").called()
        return f"Decomposition of the {loss} of {self.n:,} rows by the map {self.map}"

    @property
    def sentence(self) -> str:
        """What recalibration would gain, in words."""
        low, high = self.intervals["calibration"]
        limits = interval_text(low, high, self.level)
        if low <= 0 <= high:
            return f"Recalibration brings no significant gain ({limits})."
        if high < 0:
            return f"Recalibration makes these predictions worse ({limits})."
        share = 100 * self.calibration / self.loss if self.loss else 0.0
        over = self.overconfidence >= self.underconfidence
        larger = "overconfidence" if over else "underconfidence"
        percents = f"{share:.0f}" if share >= 10 else f"{share:.2g}"
        return (
            f"Recalibration removes {shown(self.calibration)} of {shown(self.loss)}, {percents} % "
            f"({limits}). Most of this is {larger}."
        )
