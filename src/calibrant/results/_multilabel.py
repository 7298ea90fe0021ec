"""Multilabel: every label a binary problem of its own, their mean, and the worst of them."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar

from calibrant._core.errors import counted
from calibrant._measures.catalogue import find
from calibrant.results._rendering import interval_text, shown
from calibrant.results._slices import Slice, Slices


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Multilabel(Slices):
    """Evaluations of labels, the worst first, and their mean.

    Made by `multilabel`; look a label up by its name. Labels are in the order of `measure`, the
    worst first; p-values are corrected for the number of labels (Holm, 1979).

    Attributes
    ----------
    by : str
        What a row of the table is: "label".
    measure : str
        The measure used to order and judge labels.
    rows : tuple of Slice
        The labels; `n` counts the rows in which a label is annotated.
    notes : tuple of str
        What to know about them.
    level : float
        Level of the intervals.
    tolerance : float or None
        The tolerance of the verdicts, as a gap; None without verdicts.
    n : int
        Rows that were given.
    n_missing : dict of str to int
        By label, the rows in which it is not annotated.
    mean : dict of str to float
        Every measure's mean over the labels that have it, of sample values; that of the
        bias-corrected ones is `mean_estimate`.
    mean_low, mean_high : float
        Confidence interval of the mean of `measure`, with ``uncertainty=True``: the mean of the
        labels' interval ends, which is valid for any dependence between the labels of a row. The
        lower end counts as 0 for labels whose error may be due to chance among so many labels.
    mean_estimate : float
        The mean of the labels' bias-corrected estimates, which lies in that interval.

    Examples
    --------
    >>> import calibrant as cal
    >>> y = [[0, 1], [1, 1], [0, 0], [1, 0]] * 50
    >>> p = [[0.1, 0.6], [0.8, 0.9], [0.3, 0.2], [0.7, 0.8]] * 50
    >>> result = cal.multilabel(y, p, labels=["rain", "wind"])
    >>> result.worst.name, round(result.mean["ece"], 4)
    ('wind', 0.3)
    """

    _json_keys = (
        "measure level tolerance n mean mean_estimate mean_low mean_high worst labels notes"
    )
    _table_key = "labels"
    _json_types: ClassVar = {"worst": str}

    n: int = 0
    n_missing: dict[str, int] = field(default_factory=dict)
    mean: dict[str, float] = field(default_factory=dict)
    mean_low: float = math.nan
    mean_high: float = math.nan
    mean_estimate: float = math.nan

    def __getitem__(self, name: Any) -> Slice:
        """Give the label of this name; an error if there is none."""
        return self._row_named(name, f"there is no label {name!r}")

    @property
    def miscalibrated(self) -> tuple[str, ...]:
        """Labels whose corrected p-value is below ``1 - level``."""
        return tuple(row.name for row in self.rows if row.p_corrected < 1.0 - self.level)

    def columns(self) -> dict[str, list[Any]]:
        """Give a row per label.

        Returns
        -------
        dict of str to list
            `label`, `n`, `n_missing`, every measure, and its uncertainty if computed.
        """
        columns = super().columns()
        before = {name: columns[name] for name in (self.by, "n")}
        missing = {"n_missing": [self.n_missing[row.name] for row in self.rows]}
        return before | missing | columns

    def _is_shown(self, name: str) -> bool:
        """Whether the column of this name is printed.

        `n_missing` is printed only if a label is missing in some row.
        """
        return super()._is_shown(name) and (name != "n_missing" or any(self.n_missing.values()))

    def _json_item(self, attribute: str) -> Any:
        """The value of an attribute in JSON; that of `worst` is the name of the label."""
        return self.worst.name if attribute == "worst" else super()._json_item(attribute)

    @property
    def title(self) -> str:
        """How many labels there are, in one line."""
        labels = "1 label" if len(self.rows) == 1 else f"{len(self.rows)} labels"
        return f"{labels} of {counted(self.n, 'row')}, the worst first"

    @property
    def sentence(self) -> str:
        """The mean, the worst label, and how many are beyond chance, in words."""
        called, worst = find(self.measure, "binary").called(), self.worst
        mean = self._value_text(
            self.mean[self.measure], self.mean_estimate, self.mean_low, self.mean_high
        )
        own = self._value_text(worst.values[self.measure], worst.estimate, worst.low, worst.high)
        out = f"The mean {called} of the labels is {mean}; the worst is {worst.name}, {own}."
        known = sum(not math.isnan(row.p_corrected) for row in self.rows)
        if not known:
            return out
        beyond = len(self.miscalibrated)
        labels, are = "labels" if known > 1 else "label", "is" if 1 in (beyond, known) else "are"
        return (
            f"{out} {beyond} of {known} {labels} {are} miscalibrated (p-values below "
            f"{1.0 - self.level:.4g}, corrected for their number)."
        )

    def _value_text(self, value: float, estimate: float, low: float, high: float) -> str:
        """A value as text; with an interval, the bias-corrected estimate before the sample value.

        The sample value is left out if it prints alike. `low` is NaN without an interval.
        """
        if math.isnan(low):
            return shown(value)
        limits = interval_text(low, high, self.level)
        if shown(value) == shown(estimate):
            return f"{shown(estimate)} ({limits})"
        return f"{shown(estimate)} ({limits}, bias-corrected; sample value {shown(value)})"
