"""Segments: where predictions are wrong, and whether a search would find as much by chance."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from calibrant._core.errors import counted
from calibrant.results._base import TableOfRows, column
from calibrant.results._rendering import p_words, shown

# The most segments that are printed.
MOST_SHOWN = 15


@dataclass(frozen=True, eq=False, kw_only=True)
class Segment:
    """One segment: rows with these values, and how far predictions are off there.

    Attributes
    ----------
    name : str
        What its rows have in common, in words.
    values : dict of str to str
        The value, or range of values, of each column that it is made of.
    n : int
        Its rows.
    mean_predicted, mean_target : float
        The mean prediction and the observed frequency; of several classes the mean confidence and
        the accuracy.
    gap : float
        The mean prediction less the observed frequency: above 0, predictions are too high.
    ratio : float
        The sum of residuals over its standard deviation where predictions are right; of segments
        that are judged against all rows, `contrast` over its standard error.
    p_value : float
        The chance that the whole search finds as large a ratio where nothing is wrong.
    contrast : float
        The gap less that of all rows, where segments are judged against these; else the gap.
    at_least : float
        The lower end of the size of `contrast`, at once for all segments in 95 % of samples; 0
        where the segment may be off by nothing.

    Examples
    --------
    >>> import calibrant as cal
    >>> y, p = [0, 1, 1, 0] * 100, [0.2, 0.7, 0.9, 0.4] * 100
    >>> cal.find_segments(y, p, {"ward": ["a", "a", "b", "b"] * 100}).worst.values
    {'ward': 'b'}
    """

    name: str = field(metadata=column("segment"))
    values: dict[str, str] = field(metadata=column(None))
    n: int
    mean_predicted: float
    mean_target: float
    gap: float
    contrast: float
    at_least: float
    ratio: float
    p_value: float

    def __str__(self) -> str:
        """The segment in words: rows, mean prediction, mean target, and how far they are apart."""
        lean = "too high" if self.gap > 0 else "too low"
        return (
            f"{self.name}: {counted(self.n, 'row')}, predicted {shown(self.mean_predicted)}, "
            f"observed {shown(self.mean_target)}: {abs(100 * self.gap):.2g} points {lean}"
        )


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Segments(TableOfRows[Segment]):
    """Segments, ordered by the lower bound of their gap, largest first.

    Made by `find_segments`; look a segment up by its name.

    Attributes
    ----------
    rows : tuple of Segment
        Every segment that was tested.
    p_value : float
        The chance that the search finds a segment as extreme as the worst if predictions are
        calibrated.
    multicalibration_error : float
        The largest ``|sum over the segment of w (u - z)| / W``.
    columns_searched : tuple of str
        The columns.
    depth : int
        The largest number of columns that were crossed.
    n : int
        Rows that were searched.
    n_draws : int
        Number of draws for the p-values.
    notes : tuple of str
        What to know about the search.
    against_all_rows : bool
        Whether segments are compared with all rows.
    min_gap : float
        The smallest gap, or contrast, of a listed segment.

    Examples
    --------
    >>> import calibrant as cal
    >>> y, p = [0, 1, 1, 0] * 100, [0.2, 0.7, 0.9, 0.4] * 100
    >>> found = cal.find_segments(y, p, {"ward": ["a", "a", "b", "b"] * 100})
    >>> len(found), found.p_value < 0.01
    (2, True)
    """

    _json_keys = (
        "p_value multicalibration_error columns=columns_searched depth n n_draws segments "
        "against_all_rows min_gap notes"
    )
    _table_key = "segments"

    rows: tuple[Segment, ...]
    p_value: float
    multicalibration_error: float
    columns_searched: tuple[str, ...]
    depth: int
    n: int
    n_draws: int
    notes: tuple[str, ...] = ()
    against_all_rows: bool = False
    min_gap: float = 0.0

    @property
    def worst(self) -> Segment:
        """The segment with the largest lower bound of its gap; if all are 0, largest ratio."""
        return self.rows[0]

    def __getitem__(self, name: Any) -> Segment:
        """Give the segment of this name; an error if there is none."""
        return self._row_named(name, f"there is no segment {name!r}")

    def columns(self) -> dict[str, list[Any]]:
        """Give a row per segment.

        Returns
        -------
        dict of str to list
            `segment`, `depth`, `n`, `mean_predicted`, `mean_target`, `gap`, `contrast`,
            `at_least`, `ratio`, `p_value`.
        """
        depth = [len(row.values) for row in self.rows]
        return {"segment": self._values("name"), "depth": depth} | super().columns()

    @property
    def _printed_rows(self) -> slice:
        return slice(MOST_SHOWN)

    @property
    def title(self) -> str:
        """How much was searched, in one line."""
        shown_ = f", the worst {MOST_SHOWN} shown" if len(self.rows) > MOST_SHOWN else ""
        return f"{counted(len(self.rows), 'segment')} of {counted(self.n, 'row')}{shown_}"

    @property
    def sentence(self) -> str:
        """What was found, in words."""
        chance = f"{p_words(self.p_value)} for the whole search"
        worst = f"{self.worst}{self._contrast_words}"
        if self.min_gap and abs(self.worst.contrast) < self.min_gap:
            return f"No segment is off by {self.min_gap:g} or more: the worst is {worst}; {chance}."
        if self.p_value < 0.05:
            return f"Miscalibrated: {worst}; {chance}."
        none = "No segment is significantly miscalibrated"
        if self.against_all_rows:
            none = "No segment differs significantly from all rows together"
        return f"{none}: the worst is {worst}; {chance}."

    @property
    def _contrast_words(self) -> str:
        """The difference between the gap of the worst segment and that of all rows, in words.

        The gap is the mean prediction less the mean target. The text is empty if segments are not
        compared with all rows.
        """
        if not self.against_all_rows:
            return ""
        side = "above" if self.worst.contrast > 0 else "below"
        apart = f"{abs(100 * self.worst.contrast):.2g} points {side} the gap of all rows"
        if not self.worst.at_least:
            return f", {apart}"
        return f", {apart}, at least {100 * self.worst.at_least:.2g}"
