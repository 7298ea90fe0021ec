"""Recommendation: which recalibration map suits some rows, and by how much it beats the others."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from calibrant._core.errors import InputError, nearest
from calibrant.results._base import Result, Rows
from calibrant.results._rendering import json_value, shown

AS_THEY_ARE = "as they are"


@dataclass(frozen=True, eq=False)
class TriedMap:
    """One map: its loss on rows that it was not fitted to.

    Attributes
    ----------
    map : str
        Its name, as `calibrant scale --map` has it; "as they are" for no map at all.
    parameters : float
        How many numbers it fits; infinity where the rows decide.
    loss : float
        The mean loss of the rows, each through a map that was fitted to other folds.
    above : float
        By how much that is above the lowest of all maps.
    standard_error : float
        The standard error of `above`, paired by row.
    gain : float
        What the map takes off the loss of the predictions as they are; below 0 it does harm.

    Examples
    --------
    >>> import calibrant as cal
    >>> y, p = [0, 1, 1, 0, 1] * 40, [0.2, 0.7, 0.9, 0.4, 0.3] * 40
    >>> cal.recommend(y, p, maps=["temperature", "platt"])["as they are"].gain
    0.0
    """

    map: str
    parameters: float
    loss: float
    above: float
    standard_error: float
    gain: float


@dataclass(frozen=True, eq=False, repr=False)
class Recommendation(Rows[TriedMap], Result):
    """The simplest map within one standard error of the best, and all that were tried.

    Made by `recommend`; look a map up by its name.

    Attributes
    ----------
    best : str
        The map that is recommended, as `calibrant scale --map` has it.
    helps : bool
        Whether it is better than the predictions as they are by more than one standard error.
    scaler : Scaler
        That map, fitted to all rows.
    rows : tuple of TriedMap
        Every map that was tried and the predictions as they are, the simplest first.
    measure : str
        The loss that was compared.
    gain_error : float
        The standard error of what the map takes off the loss of the predictions as they are.
    n : int
        Rows on which maps were tried.
    folds : int
        Parts that these were divided into.
    seed : int
        Seed of the division.
    notes : tuple of str
        Maps that were not tried, and why.

    Examples
    --------
    >>> import numpy as np
    >>> import calibrant as cal
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.random(2000)
    >>> y = (rng.random(2000) < truth).astype(int)
    >>> found = cal.recommend(y, truth**2, maps=["temperature", "platt", "beta", "isotonic"])
    >>> found.best, found.helps, type(found.scaler).__name__
    ('beta', True, 'BetaCalibration')
    """

    best: str
    helps: bool
    rows: tuple[TriedMap, ...]
    measure: str
    gain_error: float
    n: int
    folds: int
    seed: int
    notes: tuple[str, ...] = ()
    scaler: Any = field(default=None, compare=False)

    @property
    def lowest(self) -> TriedMap:
        """The map with the lowest loss."""
        return min((row for row in self.rows if row.map != AS_THEY_ARE), key=lambda row: row.loss)

    def __getitem__(self, name: Any) -> TriedMap:
        for row in self.rows:
            if row.map == name:
                return row
        known = [row.map for row in self.rows]
        raise InputError(f"the map {name!r} was not tried: {nearest(str(name), known)}")

    def columns(self) -> dict[str, list[Any]]:
        """Give a row per map, the simplest first.

        Returns
        -------
        dict of str to list
            `map`, `parameters`, `loss`, `above`, `standard_error`, `gain` and `recommended`.
        """
        names = ("map", "parameters", "loss", "above", "standard_error", "gain")
        return {
            **{name: [getattr(row, name) for row in self.rows] for name in names},
            "recommended": [row.map == self.best for row in self.rows],
        }

    def display_columns(self) -> dict[str, list[Any]]:
        """Give the columns that a person reads.

        Returns
        -------
        dict of str to list
            Columns of equal length.
        """
        return {
            "map": [row.map for row in self.rows],
            "parameters": [
                "" if row.map == AS_THEY_ARE else "by rows" if row.parameters == float("inf")
                else f"{row.parameters:.0f}" for row in self.rows
            ],
            self.measure: [row.loss for row in self.rows],
            "above the lowest": [row.above for row in self.rows],
            "standard error": [row.standard_error for row in self.rows],
            "": ["recommended" if row.map == self.best else "" for row in self.rows],
        }  # fmt: skip

    def to_dict(self) -> dict[str, Any]:
        """Give the choice as JSON has it.

        Returns
        -------
        dict
            Every attribute but `scaler`; null for what is not finite.
        """
        table = self.columns()
        rows = [dict(zip(table, row, strict=True)) for row in zip(*table.values(), strict=True)]
        own = ("best", "helps", "measure", "gain_error", "n", "folds", "seed", "notes")
        values = {**{name: getattr(self, name) for name in own}, "rows": rows}
        return {name: json_value(value) for name, value in values.items()}

    @property
    def title(self) -> str:
        """What was compared, in one line."""
        return (
            f"{self.measure} of {self.n:,} rows through maps that were fitted to the others, "
            f"{self.folds} folds"
        )

    @property
    def why(self) -> str:
        """Why this map, in words."""
        chosen, lowest = self[self.best], self.lowest
        if len(self.rows) == 2:
            reason = f"{self.best}: the one map that was tried."
        elif chosen.map == lowest.map:
            simpler = any(0 < row.parameters < chosen.parameters for row in self.rows)
            rest = "no simpler map is within one standard error of it" if simpler else (
                "none is simpler"
            )  # fmt: skip
            reason = f"{self.best}: its {self.measure} is the lowest, and {rest}."
        else:
            reason = (
                f"{self.best}: the simplest map within one standard error of the lowest "
                f"{self.measure}, that of {lowest.map} ({shown(chosen.above)} above it, standard "
                f"error {shown(chosen.standard_error)})."
            )
        gain = f"{shown(abs(chosen.gain))}, standard error {shown(self.gain_error)}"
        if self.helps:
            return f"{reason} It takes {gain}, off the {self.measure} of the predictions."
        side = "lower" if chosen.gain >= 0 else "higher"
        return (
            f"{reason} But it is no clear gain over the predictions as they are ({side} by "
            f"{gain}): they may stay."
        )

    def _messages(self) -> tuple[str, ...]:
        return (self.why, *self.notes)
