"""Windows: one row for each window of a monitor, in the order of time."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from calibrant._core.errors import InputError
from calibrant.results._notebook import boxed, html_table, notes
from calibrant.results._rendering import as_frame, as_text, json_value

if TYPE_CHECKING:
    from calibrant.results._plots.windows import WindowsDisplay

# Evidence that calibrated predictions ever reach with a chance of 5 % at most.
ALARM = 20.0


@dataclass(frozen=True, eq=False)
class Window:
    """One window: its rows, every measure's value, and what chance alone would show.

    `noise_95` is what calibrated predictions would stay below in 95 of 100 windows, `p_value` the
    chance that they show as much as was seen. `shift` is how far mean target less mean prediction
    has moved from the baseline, bins compared with like bins; `p_change` the chance of as large a
    change, together or bin by bin, where nothing has changed. NaN where something cannot be had.

    One window in twenty has a p-value below 0.05 by chance. `p_corrected` is corrected for looking
    at all windows of this table (Holm, 1979). `e_value` is the evidence against calibration in all
    windows up to this one: for calibrated predictions the chance that it ever reaches 20 is at most
    5 %, however often one looks.
    """

    start: datetime
    n: int
    n_missing: int
    mean_predicted: float
    mean_target: float
    values: dict[str, float]
    noise_95: float = math.nan
    p_value: float = math.nan
    shift: float = math.nan
    p_change: float = math.nan
    p_corrected: float = math.nan
    e_value: float = math.nan


@dataclass(frozen=True, eq=False)
class Windows:
    """Evaluations of a monitor's windows, the oldest first; windows without rows are not there.

    `every` is their width, `measure` the one that noise floors are of, `baseline` what changes are
    measured against, `shown` the measures that a reader sees; `columns()` has them all.
    """

    every: str
    measure: str | None
    parts: tuple[Window, ...]
    notes: tuple[str, ...] = ()
    baseline: str | None = None
    shown: tuple[str, ...] = ()

    def __getitem__(self, start: datetime | str) -> Window:
        """The window that begins then; times without a zone are in UTC."""
        wanted = start
        if isinstance(start, str):
            try:
                wanted = datetime.fromisoformat(start)
            except ValueError:
                raise InputError(f"{start!r} is not a time: give the start of a window") from None
        if isinstance(wanted, datetime) and wanted.tzinfo is None:
            wanted = wanted.replace(tzinfo=UTC)
        for part in self.parts:
            if part.start == wanted:
                return part
        raise InputError(
            f"no window with rows begins at {start}: the first begins at "
            f"{self.parts[0].start.isoformat()}, the last at {self.parts[-1].start.isoformat()}"
        )

    def __iter__(self) -> Iterator[Window]:
        return iter(self.parts)

    def __len__(self) -> int:
        return len(self.parts)

    @property
    def standing_out(self) -> tuple[Window, ...]:
        """Windows that are miscalibrated even when all of this table are looked at."""
        return tuple(part for part in self.parts if part.p_corrected < 0.05)

    @property
    def alarm(self) -> Window | None:
        """The first window by which the evidence against calibration has reached 20, or None.

        That happens to calibrated predictions with a chance of at most 5 %, at whatever times and
        however often the table is looked at; `p_value` and `p_corrected` hold for one look.
        """
        return next((part for part in self.parts if part.e_value >= ALARM), None)

    @property
    def latest(self) -> Window:
        """The newest window."""
        return self.parts[-1]

    def columns(self) -> dict[str, list[Any]]:
        def column(name: str) -> list[Any]:
            return [getattr(part, name) for part in self.parts]

        plain = ("start", "n", "n_missing", "mean_predicted", "mean_target")
        floor = ("noise_95", "p_value", "p_corrected") if self.measure is not None else ()
        worth = (*floor, "e_value")
        change = ("shift", "p_change") if self.baseline is not None else ()
        return {
            **{name: column(name) for name in plain},
            **{name: [part.values[name] for part in self.parts] for name in self.parts[0].values},
            **{name: column(name) for name in (*worth, *change)},
        }

    def to_frame(self, backend: str | None = None) -> Any:
        """A row per window, as a pandas, polars or pyarrow frame."""
        return as_frame(self.columns(), backend)

    def to_dict(self) -> dict[str, Any]:
        columns = self.columns()
        columns["start"] = [start.isoformat() for start in columns["start"]]
        return {
            "every": self.every,
            "measure": self.measure,
            "baseline": self.baseline,
            "windows": json_value(columns),
            "alarm": None if self.alarm is None else self.alarm.start.isoformat(),
            "notes": list(self.notes),
        }

    def to_json(self) -> str:
        return json.dumps(self.to_dict())

    def plot(self, *, ax: Any = None, measure: str | None = None) -> WindowsDisplay:
        """A measure over time with its noise floor, on `ax` or a new figure. Needs matplotlib."""
        from calibrant.results._plots.windows import WindowsDisplay

        return WindowsDisplay(self).plot(ax=ax, measure=measure)

    def chart(self) -> Any:
        """The measure over time as an interactive Altair chart, for notebooks. Needs Altair."""
        from calibrant.results._plots.notebook_charts import windows_chart

        return windows_chart(self)

    def display_columns(self) -> dict[str, list[Any]]:
        """The columns a person reads: starts without what is the same in all of them."""
        hidden = set(self.parts[0].values) - set(self.shown)
        columns = {name: v for name, v in self.columns().items() if name not in hidden}
        if all(math.isnan(value) for value in columns["e_value"]):
            del columns["e_value"]
        else:
            columns["e_value"] = [float(f"{value:.3g}") for value in columns["e_value"]]
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

    @property
    def title(self) -> str:
        against = "" if self.baseline is None else f", against {self.baseline}"
        return f"Windows of {self.every}, UTC{against}"

    def __repr__(self) -> str:
        said = "".join(f"\n  {note}" for note in self.notes)
        return f"{self.title}{said}\n\n{as_text(self.display_columns(), indent='  ', most=200)}"

    def _repr_html_(self) -> str:
        return boxed(html_table(self.display_columns(), self.title), notes(self.notes))
