"""Recommendation: which recalibration map suits some rows, and by how much it beats the others."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

from calibrant._measures.catalogue import find
from calibrant.results._base import TableOfRows
from calibrant.results._rendering import as_records, json_value, shown

UNCHANGED = "unchanged"


@dataclass(frozen=True, eq=False, kw_only=True)
class TriedMap:
    """One map: its loss on rows that it was not fitted to.

    Attributes
    ----------
    map : str
        Its name in `calibrant scale --map`; "unchanged" for no map.
    parameters : float
        How many numbers it fits; infinity where the rows decide.
    loss : float
        The mean loss of the rows, each through a map that was fitted to other folds.
    above : float
        The difference to the lowest loss, including that of the unchanged predictions.
    standard_error : float
        The standard error of `above`, paired by row.
    gain : float
        How much the map lowers the loss of the unchanged predictions; below 0, it raises the loss.

    Examples
    --------
    >>> import calibrant as cal
    >>> y, p = [0, 1, 1, 0, 1] * 40, [0.2, 0.7, 0.9, 0.4, 0.3] * 40
    >>> cal.recommend(y, p, maps=["temperature", "platt"])["unchanged"].gain
    0.0
    """

    map: str
    parameters: float
    loss: float
    above: float
    standard_error: float
    gain: float


def simplest_of(rows: tuple[TriedMap, ...]) -> TriedMap:
    """The simplest map whose loss is within one standard error of the lowest loss of all maps.

    If no map improves on the unchanged predictions, it is the map with the lowest loss.
    """
    maps = [row for row in rows if row.map != UNCHANGED]
    lowest = min(maps, key=lambda row: row.loss)
    if lowest.gain < 0:
        return lowest
    return next(row for row in maps if row.above <= row.standard_error)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Recommendation(TableOfRows[TriedMap]):
    """The simplest map within one standard error of the best, or none, and all maps tried.

    Made by `recommend`; look a map up by its name.

    Attributes
    ----------
    best : str
        The recommended map, by its name in `calibrant scale --map`; "unchanged" if no map improves
        the predictions by more than one standard error.
    helps : bool
        Whether a map is recommended.
    scaler : Scaler
        The recommended map, fitted to all rows; if none helps, one that changes nothing (a
        `PriorShift` to the same class shares).
    rows : tuple of TriedMap
        Every map that was tried and the unchanged predictions, the simplest first.
    measure : str
        The loss that was compared.
    gain_error : float
        The standard error of the map's gain over the unchanged predictions. If none is recommended,
        it is for the simplest map within one standard error of the lowest loss.
    n : int
        Rows on which maps were tried.
    folds : int
        Number of folds.
    seed : int
        Seed of the random folds.
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

    _json_keys = "best helps measure gain_error n folds seed notes rows"
    _json_types: ClassVar = {"rows": list[dict[str, Any]]}

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
        """The row with the lowest loss: a map, or the unchanged predictions."""
        return min(self.rows, key=lambda row: row.loss)

    def __getitem__(self, name: Any) -> TriedMap:
        """Give the map of this name; an error if it was not tried."""
        return self._row_named(name, f"the map {name!r} was not tried", "map")

    def columns(self) -> dict[str, list[Any]]:
        """Give a row per map, the simplest first.

        Returns
        -------
        dict of str to list
            `map`, `parameters`, `loss`, `above`, `standard_error`, `gain` and `recommended`.
        """
        chosen = [row.map == self.best for row in self.rows]
        return super().columns() | {"recommended": chosen}

    def display_columns(self) -> dict[str, list[Any]]:
        """Give the columns for display.

        Returns
        -------
        dict of str to list
            Columns of equal length.
        """
        return {
            "map": self._values("map"),
            "parameters": [_parameter_text(row) for row in self.rows],
            self.measure: self._values("loss"),
            "above the lowest": self._values("above"),
            "standard error": self._values("standard_error"),
            "": ["recommended" if row.map == self.best else "" for row in self.rows],
        }

    def _json_item(self, attribute: str) -> Any:
        """The value of an attribute in JSON; that of `rows` is a record for each map."""
        if attribute != "rows":
            return super()._json_item(attribute)
        return json_value(as_records(self.columns()))

    @property
    def title(self) -> str:
        """What was compared, in one line."""
        folds = f"{self.folds}-fold cross-validated"
        return f"{self._called} of {self.n:,} rows by recalibration map, {folds}"

    @property
    def _called(self) -> str:
        """The loss as sentences name it."""
        return find(self.measure, "binary").called()

    @property
    def why(self) -> str:
        """Why this map or none, in words."""
        if not self.helps:
            return self._why_none
        chosen = self[self.best]
        gain = f"{shown(chosen.gain)} (standard error {shown(self.gain_error)})"
        reason = f"{self.best}: {self._why_this_map}."
        return f"{reason} It lowers the {self._called} by {gain}."

    @property
    def _why_this_map(self) -> str:
        """Why the recommended map was chosen among those that were tried, in words."""
        chosen, lowest = self[self.best], self.lowest
        if len(self.rows) == 2:
            return "the only map tried"
        if chosen is lowest:
            simpler = any(0 < row.parameters < chosen.parameters for row in self.rows)
            near = "no simpler map is within one standard error"
            rest = near if simpler else "no other map is simpler"
            return f"its {self._called} is the lowest, and {rest}"
        return (
            f"the simplest map within one standard error of the best, {lowest.map} (its "
            f"{self._called} is {shown(chosen.above)} lower, standard error "
            f"{shown(chosen.standard_error)})"
        )

    @property
    def _why_none(self) -> str:
        """Why no recalibration map is recommended, in words, with the gain or harm of the best."""
        first = simplest_of(self.rows)
        which = f"{first.map}, the simplest map within one standard error of the best,"
        if len(self.rows) == 2:
            which = f"{first.map}, the only map tried,"
        elif first.gain < 0 and self.lowest.map == UNCHANGED:
            which = f"{first.map}, the best map,"
        by = f"by {shown(abs(first.gain))} (standard error {shown(self.gain_error)})"
        if first.gain < 0:
            is_so = f"is worse than no map {by}"
        else:
            is_so = f"brings no clear gain: its {self._called} is lower {by}"
        return f"No map is recommended: {which} {is_so}."

    def _messages(self) -> tuple[str, ...]:
        """Sentences shown with the table: why this map or none is recommended, and notes."""
        return (self.why, *self.notes)


def _parameter_text(row: TriedMap) -> str:
    """The number of a map's parameters as text.

    It is "by rows" if the number grows with the rows, and empty for the unchanged predictions.
    """
    if row.map == UNCHANGED:
        return ""
    return "by rows" if row.parameters == float("inf") else f"{row.parameters:.0f}"
