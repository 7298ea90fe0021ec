"""Annotators: each one's agreement with the rest, and a predictor's calibration for each."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from calibrant._core.errors import InputError, counted, nearest
from calibrant.results._base import Result, Rows
from calibrant.results._rendering import json_value

if TYPE_CHECKING:
    from calibrant.results._plots.annotators import AnnotatorsDisplay


@dataclass(frozen=True, eq=False)
class Annotator:
    """One annotator, or group of them: agreement with the rest, and a predictor's error.

    What cannot be had from these votes is NaN.

    Attributes
    ----------
    name : str
        The annotator or group.
    n, n_shared : int
        Votes, and those on items that others voted on too.
    agreement, low, high : float
        The mean share of the other votes on an item that agree, with its interval.
    expected : float
        The agreement that any votes of the same items would have.
    p_agreement, p_agreement_corrected : float
        The chance of an agreement as far from that, and corrected for the number of annotators
        (Holm, 1979).
    value : float
        The measure of the predictor against these votes.
    noise_95 : float
        What it stays below in 95% of samples of this size if votes come from the predictions.
    p_calibration, p_calibration_corrected : float
        The chance that it is as large then, and corrected.
    verdict : str
        What stands out once the number of annotators is taken into account.

    Examples
    --------
    >>> import calibrant as cal
    >>> long = {"item": [1, 1, 1, 2, 2, 2], "label": [0, 0, 1, 1, 1, 1], "who": list("abcabc")}
    >>> votes = cal.count_votes(long, item="item", label="label", annotator="who")
    >>> cal.annotators(votes)["c"].agreement
    0.5
    """

    name: str
    n: int
    n_shared: int
    agreement: float
    low: float
    high: float
    expected: float
    p_agreement: float
    p_agreement_corrected: float = math.nan
    value: float = math.nan
    noise_95: float = math.nan
    p_calibration: float = math.nan
    p_calibration_corrected: float = math.nan
    verdict: str = ""


@dataclass(frozen=True, eq=False, repr=False)
class Annotators(Rows[Annotator], Result):
    """A table of annotators, those that stand out first.

    Made by `annotators`; look one up by name.

    Attributes
    ----------
    rows : tuple of Annotator
        The annotators or groups.
    by : str
        What a row is: "annotator" or "group".
    measure : str
        The measure of the predictor; empty without one.
    n_items : int
        Items voted on.
    level : float
        Level of the intervals and of the verdicts.
    notes : tuple of str
        What to know about the numbers.

    Examples
    --------
    >>> import calibrant as cal
    >>> long = {"item": [1, 1, 1, 2, 2, 2], "label": [0, 0, 1, 1, 1, 1], "who": list("abcabc")}
    >>> votes = cal.count_votes(long, item="item", label="label", annotator="who")
    >>> sorted(each.name for each in cal.annotators(votes))
    ['a', 'b', 'c']
    """

    rows: tuple[Annotator, ...]
    by: str
    measure: str
    n_items: int
    level: float
    notes: tuple[str, ...] = ()

    def __getitem__(self, name: Any) -> Annotator:
        for row in self.rows:
            if row.name == str(name):
                return row
        known = [row.name for row in self.rows]
        raise InputError(f"there is no {self.by} {name!r}: {nearest(str(name), known)}")

    @property
    def standing_out(self) -> tuple[Annotator, ...]:
        """Those with a verdict."""
        return tuple(row for row in self.rows if row.verdict)

    def columns(self) -> dict[str, list[Any]]:
        """Give a row per annotator.

        Returns
        -------
        dict of str to list
            The fields of `Annotator`; those of a predictor only where there is one.
        """
        agreed = (
            "n", "n_shared", "agreement", "low", "high", "expected", "p_agreement",
            "p_agreement_corrected",
        )  # fmt: skip
        judged = ("noise_95", "p_calibration", "p_calibration_corrected") if self.measure else ()
        out: dict[str, list[Any]] = {self.by: [row.name for row in self.rows]}
        out |= {name: [getattr(row, name) for row in self.rows] for name in agreed}
        if self.measure:
            out[self.measure] = [row.value for row in self.rows]
        out |= {name: [getattr(row, name) for row in self.rows] for name in (*judged, "verdict")}
        return out

    def display_columns(self) -> dict[str, list[Any]]:
        """Give the columns that a person reads, without uncorrected p-values.

        Returns
        -------
        dict of str to list
            Columns of equal length.
        """
        hidden = ("n_shared", "p_agreement", "p_calibration")
        return {name: values for name, values in self.columns().items() if name not in hidden}

    def plot(self, *, cap: int = 30, ax: Any = None, color: Any = None) -> AnnotatorsDisplay:
        """Draw how far each agrees with the rest, beside what any votes would. Needs matplotlib.

        Parameters
        ----------
        cap : int, default 30
            The largest number of annotators shown.
        ax : matplotlib Axes, optional
            Where to draw; left out, on a new figure.
        color : matplotlib color, optional
            Color of the dots.

        Returns
        -------
        AnnotatorsDisplay
            The diagram; its `save` writes it to a file.
        """
        from calibrant.results._plots.annotators import AnnotatorsDisplay

        return AnnotatorsDisplay(self).plot(cap=cap, ax=ax, color=color)

    def to_dict(self) -> dict[str, Any]:
        """Give the table as JSON has it.

        Returns
        -------
        dict
            `by`, `measure`, `n_items`, `level`, the columns as `annotators`, and `notes`.
        """
        return {
            "by": self.by,
            "measure": self.measure,
            "n_items": self.n_items,
            "level": self.level,
            "annotators": json_value(self.columns()),
            "notes": list(self.notes),
        }

    @property
    def title(self) -> str:
        """How many of what, in one line."""
        out = len(self.standing_out)
        items = counted(self.n_items, "item", "")
        return f"{counted(len(self.rows), self.by, '')} on {items}, {out} standing out"

    def _messages(self) -> tuple[str, ...]:
        return self.notes
