"""Windows: one row for each window of a monitor, in the order of time."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, ClassVar

from calibrant._core.errors import InputError
from calibrant.results._base import TableOfRows, column
from calibrant.results._rendering import Evidence
from calibrant.results._with_page import WithPage

if TYPE_CHECKING:
    from calibrant.results._plots.windows import WindowsDisplay
    from calibrant.results._window_slices import WindowSlices

# Calibrated predictions ever reach this e-value with a probability of at most 5 %.
ALARM = 20.0


@dataclass(frozen=True, eq=False, kw_only=True)
class Window:
    """One window: its rows, every measure's value, and what chance alone would show.

    One window in twenty has a p-value below 0.05 by chance: `p_corrected` and `e_value` account for
    looking at many windows. What cannot be computed is NaN.

    Attributes
    ----------
    start : datetime
        When the window begins, in UTC.
    n, n_missing : int
        Rows, and rows that were dropped because of a missing value.
    mean_predicted, mean_target : float
        Mean prediction and mean target.
    values : dict of str to float
        Each measure's value.
    noise_95 : float
        What calibrated predictions would stay below in 95 of 100 windows.
    p_value : float
        The chance that calibrated predictions show as large an error.
    shift : float
        How far mean target less mean prediction has moved from the baseline, bin by bin.
    p_change : float
        The chance of as large a change, together or bin by bin, where nothing has changed.
    e_change : float
        The evidence that this window or windows before it differ from a fixed baseline: without a
        change the chance that it ever reaches 20 is at most 5%, however often one looks.
    p_corrected : float
        The p-value corrected for the number of windows in the table (Holm, 1979).
    e_value : float
        The evidence against calibration in all windows up to this one: for calibrated predictions
        the chance that it ever reaches 20 is at most 5%, however often one looks.

    Examples
    --------
    >>> import calibrant as cal
    >>> monitor = cal.Monitor(every="1d")
    >>> days = ["2026-01-05", "2026-01-05", "2026-01-06", "2026-01-06"]
    >>> monitor.update([0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4], time=days).evaluate().latest.n
    2
    """

    start: datetime
    n: int
    n_missing: int
    mean_predicted: float
    mean_target: float
    values: dict[str, float] = field(metadata=column(each_entry=True))
    noise_95: float = field(default=math.nan, metadata=column(when="measure"))
    p_value: float = field(default=math.nan, metadata=column(when="measure"))
    p_corrected: float = field(default=math.nan, metadata=column(when="measure"))
    e_value: float = math.nan
    shift: float = field(default=math.nan, metadata=column(when="baseline"))
    p_change: float = field(default=math.nan, metadata=column(when="baseline"))
    e_change: float = field(default=math.nan, metadata=column(when="baseline"))


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Windows(WithPage, TableOfRows[Window]):
    """Evaluations of a monitor's windows, the oldest first, without empty windows.

    Made by `Monitor.evaluate`. Look a window up by its start: ``windows["2026-01-05"]``; times
    without a time zone are in UTC.

    Attributes
    ----------
    every : str
        The width of a window.
    measure : str or None
        The measure that has noise floors.
    rows : tuple of Window
        The windows.
    notes : tuple of str
        What to know about them.
    baseline : str or None
        What changes are measured against.
    shown : tuple of str
        The measures that are printed; `columns` has all.
    slices : WindowSlices or None
        The windows of each slice, of a monitor that was made with `by`.

    Examples
    --------
    >>> import calibrant as cal
    >>> monitor = cal.Monitor(every="1d")
    >>> days = ["2026-01-05", "2026-01-05", "2026-01-06", "2026-01-06"]
    >>> windows = monitor.update([0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4], time=days).evaluate()
    >>> windows["2026-01-06"].n, len(windows)
    (2, 2)
    """

    _json_keys = "every measure baseline windows alarm change_alarm slices notes"
    _table_key = "windows"
    _json_types: ClassVar = dict.fromkeys(("alarm", "change_alarm"), datetime | None)

    every: str
    measure: str | None
    rows: tuple[Window, ...]
    notes: tuple[str, ...] = ()
    baseline: str | None = None
    shown: tuple[str, ...] = ()
    slices: WindowSlices | None = None

    def __getitem__(self, start: datetime | str) -> Window:
        """Give the window that begins at this time, a datetime or an ISO text.

        A time without a zone is in UTC. It is an error if no window with rows begins then.
        """
        wanted = start
        if isinstance(start, str):
            try:
                wanted = datetime.fromisoformat(start)
            except ValueError:
                raise InputError(f"{start!r} is not a time: give the start of a window") from None
        if isinstance(wanted, datetime) and wanted.tzinfo is None:
            wanted = wanted.replace(tzinfo=UTC)
        for row in self.rows:
            if row.start == wanted:
                return row
        raise InputError(
            f"no window with rows begins at {start}: the first begins at "
            f"{self.rows[0].start.isoformat()}, the last at {self.rows[-1].start.isoformat()}"
        )

    @property
    def standing_out(self) -> tuple[Window, ...]:
        """Windows that are miscalibrated, corrected for the number of windows."""
        return tuple(row for row in self.rows if row.p_corrected < 0.05)

    @property
    def alarm(self) -> Window | None:
        """The first window at which the evidence against calibration reached 20, or None.

        The chance of that is at most 5% for calibrated predictions, whenever and however often it
        is computed; `p_value` and `p_corrected` are valid if they are computed once.
        """
        return next((row for row in self.rows if row.e_value >= ALARM), None)

    @property
    def change_alarm(self) -> Window | None:
        """The first window at which the evidence of a change from the baseline reached 20, or None.

        An error that the model already has in the baseline raises no alarm.
        """
        return next((row for row in self.rows if row.e_change >= ALARM), None)

    @property
    def latest(self) -> Window:
        """The newest window."""
        return self.rows[-1]

    def _json_item(self, attribute: str) -> Any:
        """The value of an attribute in JSON; that of an alarm is its window's start, or null."""
        if attribute in ("alarm", "change_alarm"):
            window: Window | None = getattr(self, attribute)
            return None if window is None else window.start.isoformat()
        return super()._json_item(attribute)

    def plot(
        self,
        *,
        ax: Any = None,
        measure: str | None = None,
        counts: bool = True,
        legend: bool | str = True,
        size: str | tuple[float, float] | None = None,
    ) -> WindowsDisplay:
        """Draw a measure over time with its noise floor. Needs matplotlib.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw on; by default, a new figure.
        measure : str, optional
            A numeric column; by default, the measure with a noise floor.
        counts : bool, default True
            Whether to draw the strip of rows.
        legend : bool or str, default True
            Whether to draw a legend where there is room, or its location inside the axes.
        size : "column" or tuple of two floats, optional
            Size of a new figure: 3.3 x 2.6 inches, or (width, height) in inches.

        Returns
        -------
        WindowsDisplay
            The diagram; its `save` writes it to a file.
        """
        from calibrant.results._plots.windows import WindowsDisplay

        return WindowsDisplay(self).plot(
            ax=ax, measure=measure, counts=counts, legend=legend, size=size
        )

    def to_openmetrics(self, *, model: str | None = None) -> str:
        """Give the newest window as OpenMetrics text, which Prometheus and others scrape.

        Parameters
        ----------
        model : str, optional
            Value of the label `model` of every number.

        Returns
        -------
        str
            Gauges named ``calibrant_...``, of all rows and of each slice, and alarms as 0 or 1;
            unknown values are omitted.

        Examples
        --------
        >>> import calibrant as cal
        >>> monitor = cal.Monitor().update([0, 1], [0.2, 0.7], time="2026-01-05")
        >>> print(monitor.evaluate().to_openmetrics(model="churn")[:136])
        # TYPE calibrant_window_start_seconds gauge
        # UNIT calibrant_window_start_seconds seconds
        # HELP calibrant_window_start_seconds When the
        """
        from calibrant.results._openmetrics import openmetrics_text

        return openmetrics_text(self, model)

    def chart(self) -> Any:
        """Draw the measure over time interactively, for notebooks. Needs Altair.

        Returns
        -------
        altair.Chart
            The chart.
        """
        from calibrant.results._plots.notebook_charts import windows_chart

        return windows_chart(self)

    def _page(self, name: str | None, source: Any) -> str:
        """The HTML page of the result; `name` is its title, `source` says where rows come from."""
        from calibrant.results._pages.windows_page import windows_page

        return windows_page(self, ALARM, name, source)

    def display_columns(self) -> dict[str, list[Any]]:
        """Give the columns for display: starts in the shortest form.

        Returns
        -------
        dict of str to list
            Columns of equal length.
        """
        columns = super().display_columns()
        for name in {"e_value", "e_change"} & columns.keys():
            if all(math.isnan(value) for value in columns[name]):
                del columns[name]
            else:
                columns[name] = [Evidence(value) for value in columns[name]]
        if not any(columns["n_missing"]):
            del columns["n_missing"]
        starts = columns.pop("start")
        form = "%Y-%m-%d %H:%M:%S.%f"
        for shorter, ended in (("%Y-%m-%d %H:%M:%S", ".000000"), ("%Y-%m-%d %H:%M", ":00")):
            if all(start.strftime(form).endswith(ended) for start in starts):
                form = shorter
        if all(start.strftime("%H:%M:%S.%f") == "00:00:00.000000" for start in starts):
            form = "%Y-%m-%d"
        return {"start": [start.strftime(form) for start in starts], **columns}

    def _is_shown(self, name: str) -> bool:
        """Whether the column of this name is printed; of measures only those in `shown` are."""
        own = name in self.shown or name not in self.rows[0].values
        return own and super()._is_shown(name)

    @property
    def title(self) -> str:
        """The width of the windows and the baseline, in one line."""
        against = "" if self.baseline is None else f", against {self.baseline}"
        return f"Windows of {self.every}, UTC{against}"
