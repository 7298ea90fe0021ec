"""ClinicalSummary: what clinical papers report of predicted risks, each with its interval."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from calibrant._core.errors import InputError, counted, nearest
from calibrant.results._base import Record, Result
from calibrant.results._paper_tables import latex_of_texts, value_with_limits
from calibrant.results._rendering import as_markdown, in_full, percent, shown

# What quantities are called in the table of a paper.
_NAMES = {
    "slope": "calibration slope",
    "intercept": "intercept (with the slope)",
    "intercept_in_the_large": "calibration in the large",
    "observed_expected": "O:E ratio",
    "c_statistic": "C-statistic",
    "brier": "Brier score",
    "scaled_brier": "scaled Brier score",
    "ici": "ICI",
    "e50": "E50",
    "e90": "E90",
    "emax": "Emax",
}


class ClinicalValue(float, Record):
    """A number with its limits; NaN where it cannot be estimated, and `note` says why.

    It is a float: compare it, format it, compute with it.

    Attributes
    ----------
    low, high : float
        The limits.
    method : str
        How the limits were found.
    note : str
        Why it could not be estimated, or what to know about it.
    title : str
        What it is, in words.
    estimate : float
        The bias-corrected value, between the limits; the value itself unless it is a distance to
        the diagonal (`ici`, `e50`, `e90`, `emax`), whose raw values are biased upwards.

    Examples
    --------
    >>> import calibrant as cal
    >>> slope = cal.clinical_summary([0, 1, 0, 1] * 9, [0.1, 0.6, 0.5, 0.3] * 9)["slope"]
    >>> slope.low < slope < slope.high
    True
    """

    _json_keys = "value estimate low high method note title"
    _json_types: ClassVar = {"value": float}

    low: float
    high: float
    method: str
    note: str
    title: str
    estimate: float

    def __new__(
        cls,
        value: float,
        low: float,
        high: float,
        method: str,
        note: str,
        title: str,
        estimate: float | None = None,
    ) -> ClinicalValue:
        """Make the number; without an `estimate` it is the value itself."""
        out = super().__new__(cls, value)
        out.low, out.high, out.method, out.note, out.title = low, high, method, note, title
        out.estimate = float(value if estimate is None else estimate)
        return out

    def like(self, other: ClinicalValue) -> ClinicalValue:
        """Give another number, under its own title, with the limits and the note of this one.

        Parameters
        ----------
        other : ClinicalValue
            The number and its title.

        Returns
        -------
        ClinicalValue
            The other number.
        """
        return ClinicalValue(float(other), self.low, self.high, self.method, self.note, other.title)

    def __getnewargs__(self) -> tuple[Any, ...]:
        """The arguments of `__new__`, for pickle and copy."""
        own = self.low, self.high, self.method, self.note, self.title, self.estimate
        return float(self), *own

    @property
    def estimable(self) -> bool:
        """Whether these rows give a value."""
        return not math.isnan(self)

    @property
    def value(self) -> float | None:
        """The number; None where it cannot be estimated."""
        return float(self) if self.estimable else None

    def __repr__(self) -> str:
        if not self.estimable:
            return "not estimable" + (f": {self.note}" if self.note else "")
        sample = f", sample value {self.sample}" if self.sample else ""
        return f"{shown(self.estimate)} [{shown(self.low)}, {shown(self.high)}]{sample}"

    @property
    def sample(self) -> str:
        """The sample value as text; empty where it prints like the estimate."""
        text = shown(float(self))
        return "" if text == shown(self.estimate) else text


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class ClinicalSummary(Result, Mapping[str, ClinicalValue]):
    """Slope, intercepts, O:E, C-statistic, Brier scores and distances to the diagonal.

    Made by `clinical_summary`, and by `evaluate` of binary outcomes with uncertainty. A mapping of
    names to `ClinicalValue`.

    Attributes
    ----------
    values_ : dict of str to ClinicalValue
        `slope`, `intercept`, `intercept_in_the_large`, `observed_expected`, `c_statistic`, `brier`,
        `scaled_brier`, `ici`, `e50`, `e90` and `emax`.
    n : int
        The number of rows with positive weight.
    events : float
        The sum of the outcomes (of their weight).
    level : float
        The confidence level of the intervals.
    by : str
        What the subgroups are by; empty without any.
    subgroups : dict of str to ClinicalSummary
        The summary of each subgroup.
    n_weighted : float or None
        The sum of the weights, which `events` are of; None where every row counts 1.
    prevalence : float or None
        The share of events in the population that rows were reweighted to; None if they were not.

    Examples
    --------
    >>> import calibrant as cal
    >>> found = cal.clinical_summary([0, 1, 0, 1] * 9, [0.1, 0.6, 0.5, 0.3] * 9)
    >>> round(found["c_statistic"], 3), round(found["observed_expected"], 3)
    (0.75, 1.333)
    """

    _json_keys = "n events n_weighted prevalence level values=values_ by subgroups"

    values_: dict[str, ClinicalValue]
    n: int
    events: float
    level: float
    by: str
    subgroups: dict[str, ClinicalSummary]
    n_weighted: float | None = None
    prevalence: float | None = None

    def __getitem__(self, name: str) -> ClinicalValue:
        """Give the value of this name; a KeyError if there is none."""
        if name not in self.values_:
            raise KeyError(f"no clinical value is called {name!r}: {nearest(name, self.values_)}")
        return self.values_[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.values_)

    def __len__(self) -> int:
        return len(self.values_)

    def subgroup(self, name: Any) -> ClinicalSummary:
        """Give the summary of a subgroup.

        Parameters
        ----------
        name : str
            A key of `subgroups`.

        Returns
        -------
        ClinicalSummary
            Its summary.
        """
        if str(name) not in self.subgroups:
            raise InputError(f"no subgroup is called {name!r}: {nearest(name, self.subgroups)}")
        return self.subgroups[str(name)]

    def columns(self) -> dict[str, list[Any]]:
        """Give a row per value; with subgroups, all rows first and then those of each.

        Returns
        -------
        dict of str to list
            `subgroup` (where there are some), `quantity`, `n`, `events`, `value`, `estimate`,
            `low`, `high`, `note`.
        """
        parts: list[tuple[str, ClinicalSummary]] = [("all", self), *self.subgroups.items()]
        rows = [(name, part, key) for name, part in parts for key in part]
        out: dict[str, list[Any]] = {}
        if self.subgroups:
            out["subgroup"] = [name for name, _, _ in rows]
        out["quantity"] = [key for _, _, key in rows]
        out["n"] = [part.n for _, part, _ in rows]
        out["events"] = [part.events for _, part, _ in rows]
        values = [part[key] for _, part, key in rows]
        out["value"] = [float(value) for value in values]
        for name in ("estimate", "low", "high", "note"):
            out[name] = [getattr(value, name) for value in values]
        return out

    def display_columns(self) -> dict[str, list[Any]]:
        """Give the columns for display.

        Returns
        -------
        dict of str to list
            Columns of equal length; "not estimable" in place of a number that there is none of.
        """
        columns = self.columns()
        columns["value"] = [
            "not estimable" if value != value else shown(value) for value in columns["value"]
        ]
        for name in ("n", "events"):
            del columns[name]
        notes = columns.pop("note")
        return {**columns, "note": notes} if any(notes) else columns

    def _messages(self) -> tuple[str, ...]:
        """Which estimates differ from values, and why."""
        parts = (self, *self.subgroups.values())
        own = [name for name in self if any(part[name].sample for part in parts)]
        if not own:
            return ()
        return (
            f"value: of the sample; estimate: bias-corrected, which differs for {', '.join(own)} "
            "alone (distances to the diagonal are biased upwards)",
        )

    def paper_columns(self) -> dict[str, list[str]]:
        """Give the table of a paper: a row per quantity, a column for all rows and each subgroup.

        Returns
        -------
        dict of str to list of str
            `quantity`, and texts such as "0.74 (0.62 to 0.86)" of bias-corrected estimates.
        """
        parts = {"all rows": self, **self.subgroups}
        out = {"quantity": ["rows", "events", *(_NAMES[name] for name in self)]}
        for label, part in parts.items():
            values = [
                value_with_limits(each.estimate, each.low, each.high)
                if each.estimable
                else "not estimable"
                for each in part.values()
            ]
            events = "" if math.isnan(part.events) else f"{part.events:,.6g}"
            out[label] = [f"{part.n:,}", events, *values]
        return out

    def to_latex(self, *, caption: str | None = None, label: str | None = None) -> str:
        """Give the table of a paper in LaTeX with booktabs.

        Parameters
        ----------
        caption, label : str, optional
            With one of them the output is wrapped in a ``table`` environment.

        Returns
        -------
        str
            A ``tabular``; needs ``\\usepackage{booktabs}``.

        Examples
        --------
        >>> import calibrant as cal
        >>> found = cal.clinical_summary([0, 1, 0, 1] * 9, [0.1, 0.6, 0.5, 0.3] * 9)
        >>> print(found.to_latex().splitlines()[4])
        rows & 36 \\\\
        """
        return latex_of_texts(self.paper_columns(), caption=caption, label=label)

    def to_markdown(self) -> str:
        """Give the table of a paper as Markdown.

        Returns
        -------
        str
            A pipe table: a row per quantity, a column for all rows and each subgroup.

        Examples
        --------
        >>> import calibrant as cal
        >>> found = cal.clinical_summary([0, 1, 0, 1] * 9, [0.1, 0.6, 0.5, 0.3] * 9)
        >>> print(found.to_markdown().splitlines()[2])
        | rows | 36 |
        """
        return as_markdown(self.paper_columns())

    @property
    def title(self) -> str:
        """Rows, events and the level, in one line."""
        named = self.by if self.by != "slice" else "subgroup"
        by = f", by {named}" if self.subgroups else ""
        rows, events = counted(self.n, "row"), counted(self.events, "event", ",.6g")
        if self.n_weighted is not None:
            events += f" of a total weight of {self.n_weighted:,.6g}"
        if self.prevalence is not None:
            events += f", reweighted to a prevalence of {in_full(self.prevalence)}"
        return (
            f"Clinical summary of {rows}, {events}{by}; {percent(self.level)} confidence intervals"
        )
