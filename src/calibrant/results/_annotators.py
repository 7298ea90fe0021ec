"""Annotators: each one's agreement with the rest, and a predictor's calibration for each."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from calibrant._core.errors import counted
from calibrant.results._base import TableOfRows, column

if TYPE_CHECKING:
    from calibrant.results._plots.annotators import AnnotatorsDisplay


@dataclass(frozen=True, eq=False, kw_only=True)
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

    name: str = field(metadata=column("{by}"))
    n: int
    n_shared: int = field(metadata=column(shown=False))
    agreement: float
    low: float
    high: float
    expected: float
    p_agreement: float = field(metadata=column(shown=False))
    p_agreement_corrected: float = math.nan
    value: float = field(default=math.nan, metadata=column("{measure}", when="measure"))
    noise_95: float = field(default=math.nan, metadata=column(when="measure"))
    p_calibration: float = field(default=math.nan, metadata=column(when="measure", shown=False))
    p_calibration_corrected: float = field(default=math.nan, metadata=column(when="measure"))
    verdict: str = ""


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Annotators(TableOfRows[Annotator]):
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

    _json_keys = "by measure n_items level annotators notes"
    _table_key = "annotators"

    rows: tuple[Annotator, ...]
    by: str
    measure: str
    n_items: int
    level: float
    notes: tuple[str, ...] = ()

    def __getitem__(self, name: Any) -> Annotator:
        """Give the annotator, or group, of this name; an error if there is none."""
        return self._row_named(name, f"there is no {self.by} {name!r}")

    @property
    def standing_out(self) -> tuple[Annotator, ...]:
        """The annotators that have a verdict: it is empty for those that do not stand out."""
        return tuple(row for row in self.rows if row.verdict)

    def plot(
        self,
        *,
        cap: int = 30,
        ax: Any = None,
        color: Any = None,
        legend: bool | str = True,
        size: str | tuple[float, float] | None = None,
    ) -> AnnotatorsDisplay:
        """Draw how far each agrees with the rest, beside what any votes would. Needs matplotlib.

        Parameters
        ----------
        cap : int, default 30
            The largest number of annotators shown.
        ax : matplotlib Axes, optional
            Axes to draw on; by default, a new figure.
        color : matplotlib color, optional
            Color of the dots.
        legend : bool or str, default True
            Whether to draw a legend where there is room, or its location inside the axes.
        size : "column" or tuple of two floats, optional
            Size of a new figure: 3.3 x 2.6 inches, or (width, height) in inches.

        Returns
        -------
        AnnotatorsDisplay
            The diagram; its `save` writes it to a file.
        """
        from calibrant.results._plots.annotators import AnnotatorsDisplay

        return AnnotatorsDisplay(self).plot(cap=cap, ax=ax, color=color, legend=legend, size=size)

    @property
    def title(self) -> str:
        """How many annotators (or groups) and items there are, and how many stand out."""
        out = len(self.standing_out)
        items = counted(self.n_items, "item", "")
        return (
            f"{counted(len(self.rows), self.by, '')} on {items}, {out} significantly different "
            "from the others"
        )
