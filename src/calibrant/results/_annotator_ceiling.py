"""AnnotatorCeiling: how well annotators predict each other, beside models."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from calibrant._core.errors import counted
from calibrant.results._base import TableOfRows


@dataclass(frozen=True, eq=False)
class Predictor:
    """One line of the table: annotators, or a model, and each measure's value.

    Attributes
    ----------
    name : str
        "one annotator", "half of the votes", "as many annotators again", or a model's name.
    kind : str
        "annotators" or "model".
    values : dict of str to float
        Each measure's value.
    intervals : dict of str to tuple of float
        Limits of the measures that are means of rows.

    Examples
    --------
    >>> import calibrant as cal
    >>> table = cal.annotator_ceiling([[4, 1], [2, 3], [0, 5]], measures=["dist_ce"])
    >>> table["one annotator"].kind
    'annotators'
    """

    name: str
    kind: str
    values: dict[str, float]
    intervals: dict[str, tuple[float, float]]


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class AnnotatorCeiling(TableOfRows[Predictor]):
    """How well annotators predict each other, in one table with models.

    Made by `annotator_ceiling`; look a line up by its name.

    Attributes
    ----------
    rows : tuple of Predictor
        Annotators first, then models.
    measures : dict of str to str
        What each measure is, and which direction is better.
    n : int
        Items with two votes or more.
    votes : tuple of int
        The smallest and the largest number of votes of an item.
    level : float
        Level of the intervals.
    notes : tuple of str
        What to know about the numbers.

    Examples
    --------
    >>> import calibrant as cal
    >>> table = cal.annotator_ceiling([[4, 1], [2, 3], [0, 5]], measures=["dist_ce"])
    >>> [line.name for line in table]
    ['one annotator', 'half of the votes', 'as many annotators again']
    """

    _json_keys = "n votes level measures predictors notes"
    _table_key = "predictors"

    rows: tuple[Predictor, ...]
    measures: Mapping[str, str]
    n: int
    votes: tuple[int, int]
    level: float
    notes: tuple[str, ...] = ()

    def __getitem__(self, name: str) -> Predictor:
        """Give the line of this name; an error if there is none."""
        return self._row_named(name, f"there is no line {name!r} in the table")

    def columns(self) -> dict[str, list[Any]]:
        """Give a row per predictor.

        Returns
        -------
        dict of str to list
            The predictor, its kind, and each measure with its limits (NaN where there are none).
        """
        out = {"predictor": self._values("name"), "kind": self._values("kind")}
        nothing = (float("nan"), float("nan"))
        for name in self.measures:
            out[name] = [row.values[name] for row in self.rows]
            for j, end in enumerate(("low", "high")):
                out[f"{name}_{end}"] = [row.intervals.get(name, nothing)[j] for row in self.rows]
        return out

    def display_columns(self) -> dict[str, list[Any]]:
        """Give the predictors and each measure's value.

        Returns
        -------
        dict of str to list
            Columns of equal length.
        """
        columns = self.columns()
        return {name: columns[name] for name in ("predictor", *self.measures)}

    @property
    def title(self) -> str:
        """The items and their votes, in one line."""
        low, high = self.votes
        each = f"{low}" if low == high else f"{low} to {high}"
        return f"Annotators' ceiling: {counted(self.n, 'item', '')} of {each} votes"

    def _messages(self) -> tuple[str, ...]:
        """Sentences shown with the table: one on each measure, and the notes."""
        return (*(f"{name}: {what}" for name, what in self.measures.items()), *self.notes)
