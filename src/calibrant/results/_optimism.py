"""Optimism: how much better a model looks on the rows that it was fitted to."""

from __future__ import annotations

from dataclasses import dataclass

from calibrant._core.errors import counted
from calibrant.results._base import TableOfRows


@dataclass(frozen=True, eq=False, kw_only=True)
class OptimismOfMeasure:
    """One measure: what the fitted model shows, and what it will show on new rows.

    Attributes
    ----------
    measure : str
        The name of the measure.
    apparent : float
        Its value on the rows that the model was fitted to.
    optimism : float
        How much larger the value is on rows that a model was fitted to than on others, on average.
    corrected : float
        The apparent value less the optimism.
    error : float
        The standard error of the optimism, from the number of resamples alone.
    resamples : int
        How many resamples gave a value.

    Examples
    --------
    >>> import calibrant as cal
    >>> rate = lambda X, y: (lambda Z: [sum(y) / len(y)] * len(Z))
    >>> found = cal.optimism(rate, [[0]] * 60, [0, 0, 1] * 20, measures=["brier"], n_resamples=50)
    >>> found["brier"].resamples
    50
    """

    measure: str
    apparent: float
    optimism: float
    corrected: float
    error: float
    resamples: int


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Optimism(TableOfRows[OptimismOfMeasure]):
    """Apparent and corrected performance of a model. Made by `optimism`.

    Attributes
    ----------
    rows : tuple of OptimismOfMeasure
        A row per measure.
    n : int
        The number of rows that the model was fitted to.
    n_resamples : int
        The number of refitted models.
    note : str
        Resamples that could not be fitted, and why.

    Examples
    --------
    >>> import calibrant as cal
    >>> rate = lambda X, y: (lambda Z: [sum(y) / len(y)] * len(Z))
    >>> found = cal.optimism(rate, [[0]] * 60, [0, 0, 1] * 20, measures=["brier"], n_resamples=50)
    >>> round(found["brier"].apparent, 3)
    0.222
    """

    _json_keys = "n n_resamples table note"
    _table_key = "table"

    rows: tuple[OptimismOfMeasure, ...]
    n: int
    n_resamples: int
    note: str = ""

    def __getitem__(self, measure: str) -> OptimismOfMeasure:
        """Give a measure by its name."""
        return self._row_named(measure, f"no measure is called {measure!r}", "measure")

    @property
    def notes(self) -> tuple[str, ...]:
        """What to know of the resamples."""
        return (self.note,) if self.note else ()

    @property
    def title(self) -> str:
        """Rows and refitted models, in one line."""
        fits = counted(self.n_resamples, "bootstrap sample")
        return f"Optimism of a model fitted to {counted(self.n, 'row')}, refitted to {fits}"
