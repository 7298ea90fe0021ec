"""BinSensitivity: each measure at every number of bins."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from calibrant._core.errors import InputError, counted, nearest
from calibrant._measures.catalogue import canonical
from calibrant.results._base import Result
from calibrant.results._notebook import html_box, html_list, html_table
from calibrant.results._sketch import sparkline

if TYPE_CHECKING:
    from calibrant.results._plots.bin_sensitivity import BinSensitivityDisplay


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class BinSensitivity(Result):
    """Each measure at every number of bins.

    Made by `bin_sensitivity`. Look a measure's values up by its name: ``sensitivity["ece"]``.

    Attributes
    ----------
    bins : tuple of int
        The numbers of bins.
    values : mapping of str to tuple of float
        Each measure's values, in the order of `bins`.
    scales : mapping of str to str
        What each measure is in: "mean gap", "squared gap" and so on.
    flat : tuple of str
        Measures that have no bins.
    n : int
        Number of rows.
    inferred : tuple of str
        How the input was interpreted.
    notes : tuple of str
        What to know about the values.

    Examples
    --------
    >>> import calibrant as cal
    >>> y, p = [0, 1, 1, 0] * 5, [0.2, 0.7, 0.9, 0.4] * 5
    >>> cal.bin_sensitivity(y, p, bins=[5, 10], measures=["ece"])["ece"]
    (0.25, 0.25)
    """

    _json_keys = "bins values scales flat n inferred notes"

    bins: tuple[int, ...]
    values: Mapping[str, tuple[float, ...]]
    scales: Mapping[str, str]
    flat: tuple[str, ...]
    n: int
    inferred: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def measures(self) -> tuple[str, ...]:
        """The names of the measures."""
        return tuple(self.values)

    def __getitem__(self, measure: str) -> tuple[float, ...]:
        """Give a measure's values, one for each number of bins."""
        measure = canonical(measure)
        if measure not in self.values:
            raise InputError(
                f"there is no measure {measure!r} here: {nearest(measure, self.values)}"
            )
        return self.values[measure]

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names of the measures."""
        return iter(self.values)

    def __len__(self) -> int:
        return len(self.values)

    def at(self, m: int) -> dict[str, float]:
        """Give every measure at m bins.

        Parameters
        ----------
        m : int
            One of `bins`.

        Returns
        -------
        dict of str to float
            Each measure's value.
        """
        if m not in self.bins:
            near = min(self.bins, key=lambda count: abs(count - m))
            raise InputError(f"{m!r} bins were not computed; the nearest number is {near}")
        index = self.bins.index(m)
        return {name: values[index] for name, values in self.values.items()}

    def columns(self) -> dict[str, list[Any]]:
        """Give a row per number of bins.

        Returns
        -------
        dict of str to list
            `bins` and each measure.
        """
        return {"bins": list(self.bins)} | {name: list(v) for name, v in self.values.items()}

    def spread(self) -> dict[str, list[Any]]:
        """Give a row per measure: its lowest and highest value, and at how many bins.

        Returns
        -------
        dict of str to list
            `measure`, `lowest`, `lowest_at`, `highest` and `highest_at`.
        """
        lowest = {name: min(values) for name, values in self.values.items()}
        highest = {name: max(values) for name, values in self.values.items()}
        return {
            "measure": list(self.values),
            "lowest": list(lowest.values()),
            "lowest_at": [self._bins_at(name, lowest[name]) for name in self.values],
            "highest": list(highest.values()),
            "highest_at": [self._bins_at(name, highest[name]) for name in self.values],
        }

    display_columns = spread

    def _bins_at(self, name: str, value: float) -> int:
        """The number of bins at which a measure has this value; the first of several."""
        return self.bins[self.values[name].index(value)]

    def plot(
        self,
        *,
        ax: Any = None,
        measures: Sequence[str] | None = None,
        legend: bool | str = True,
        size: str | tuple[float, float] | None = None,
    ) -> BinSensitivityDisplay:
        """Draw each measure against the number of bins. Needs matplotlib.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw on, or to replace by several panels; by default, a new figure.
        measures : sequence of str, optional
            Measures to draw; by default, all.
        legend : bool or str, default True
            Whether to draw a legend where there is room, or its location inside the axes.
        size : "column" or tuple of two floats, optional
            Size of a new figure: 3.3 x 2.6 inches, or (width, height) in inches.

        Returns
        -------
        BinSensitivityDisplay
            The diagram; its `save` writes it to a file.
        """
        from calibrant.results._plots.bin_sensitivity import BinSensitivityDisplay

        return BinSensitivityDisplay(self).plot(ax=ax, measures=measures, legend=legend, size=size)

    def chart(self) -> Any:
        """Draw the lines interactively, for notebooks. Needs Altair.

        Returns
        -------
        altair.Chart
            The chart.
        """
        from calibrant.results._plots.notebook_charts import bin_sensitivity_chart

        return bin_sensitivity_chart(self)

    @property
    def title(self) -> str:
        """Measures, rows and numbers of bins, in one line."""
        counts = f"{self.bins[0]} to {self.bins[-1]} bins" if len(self.bins) > 1 else "one number"
        measures = counted(len(self.values), "measure", "")
        return f"{measures} of {counted(self.n, 'row', '')} at {counts}"

    def _repr_html_(self) -> str:
        """The table as HTML, with a small line of each measure's values, for notebooks."""
        lines = [sparkline(self.values[name]) for name in self.values]
        ends = f"{self.bins[0]} to {self.bins[-1]} bins"
        columns = {**self.spread(), ends: lines}
        return html_box(html_table(columns, self.title), html_list(self._messages()))
