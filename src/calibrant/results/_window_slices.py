"""WindowSlices: the windows of each slice of a monitor, with alarms corrected for their number."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from calibrant._data.times import time_as_text
from calibrant.results._base import TableOfRows, column
from calibrant.results._rendering import Evidence


@dataclass(frozen=True, eq=False, kw_only=True)
class WindowSlice:
    """One slice of a monitor: its newest window, and the evidence in all of its windows.

    Attributes
    ----------
    name : str
        The value of the column.
    n : int
        Rows in all windows that are shown.
    start : datetime
        When its newest window begins, in UTC.
    mean_predicted, mean_target, value : float
        Mean prediction, mean target and the value of the measure in that window.
    e_value : float
        The evidence against calibration in all windows of the slice or, beside a fixed baseline, of
        a change from it.
    e_corrected : float
        The evidence corrected for the number of slices: the least mean of this slice's with others'
        (closed testing; Vovk and Wang, 2021). The chance that it ever reaches 20 for any slice
        without a fault is at most 5%.
    alarm : datetime or None
        The start of the first window by which `e_corrected` had reached 20.
    windows : Windows
        All windows of the slice.

    Examples
    --------
    >>> import calibrant as cal
    >>> monitor = cal.Monitor(by="country")
    >>> countries = ["de", "de", "fr"]
    >>> _ = monitor.update([0, 1, 1], [0.2, 0.7, 0.9], time="2026-01-05", by=countries)
    >>> monitor.evaluate().slices["de"].n
    2
    """

    name: str = field(metadata=column("{by}"))
    n: int
    start: datetime
    mean_predicted: float
    mean_target: float
    value: float = field(default=math.nan, metadata=column("{measure}"))
    e_value: float = field(default=math.nan, metadata=column("{evidence}"))
    e_corrected: float = math.nan
    alarm: datetime | None = None
    # A Windows, whose module imports this one.
    windows: Any = field(metadata=column(None))


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class WindowSlices(TableOfRows[WindowSlice]):
    """The slices of a monitor, those with most evidence first.

    Attributes
    ----------
    by : str
        The columns by which rows are split.
    measure : str
        The measure of the newest windows.
    evidence : str
        The column of the windows that the evidence is: "e_value" or "e_change".
    rows : tuple of WindowSlice
        The slices.
    notes : tuple of str
        What to know about them.

    Examples
    --------
    >>> import calibrant as cal
    >>> monitor = cal.Monitor(by="country")
    >>> countries = ["de", "de", "fr"]
    >>> _ = monitor.update([0, 1, 1], [0.2, 0.7, 0.9], time="2026-01-05", by=countries)
    >>> sorted(each.name for each in monitor.evaluate().slices)
    ['de', 'fr']
    """

    _json_keys = "by measure evidence slices notes"
    _table_key = "slices"

    by: str
    measure: str
    evidence: str
    rows: tuple[WindowSlice, ...]
    notes: tuple[str, ...] = ()

    def __getitem__(self, name: Any) -> WindowSlice:
        """Give the slice of this name; an error if there is none."""
        return self._row_named(name, f"there is no slice {name!r} of {self.by!r}")

    @property
    def alarms(self) -> tuple[WindowSlice, ...]:
        """The slices with an alarm, corrected for the number of slices."""
        return tuple(row for row in self.rows if row.alarm is not None)

    def display_columns(self) -> dict[str, list[Any]]:
        """Give the columns for display: times as text, evidence in one notation.

        Returns
        -------
        dict of str to list
            Columns of equal length.
        """
        columns = super().display_columns()
        for name in (self.evidence, "e_corrected"):
            columns[name] = [Evidence(value) for value in columns[name]]
        for name in ("start", "alarm"):
            columns[name] = ["" if time is None else time_as_text(time) for time in columns[name]]
        return columns

    @property
    def title(self) -> str:
        """What is shown, in one line."""
        return f"Slices by {self.by}, most evidence first"
