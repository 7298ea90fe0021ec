"""CurveOfRows: fits a curve to the rows behind a reliability table, when one is first asked for."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np

from calibrant._api.reliability_curve import scalar_problem
from calibrant._api.row_curves import BANDS_OF, fitted_curve
from calibrant._core.binning import Rule
from calibrant._core.typing import Index
from calibrant._data.samples import Notion, Samples
from calibrant._data.source import Source
from calibrant._data.tensor_samples import TensorSamples
from calibrant._engines.dispatch import engine_of
from calibrant._summaries.samples import Summary
from calibrant.results._reliability import ReliabilityTable
from calibrant.results._reliability_curve import ReliabilityCurve

RowsInMemory = Samples | TensorSamples
# A table keeps its rows if they hold at most so many numbers. Of more it has weak references: a
# result that someone keeps is not to keep gigabytes in memory.
MOST_KEPT = 4_000_000


class CurveOfRows:
    """Reliability curves of some rows; each is fitted when it is first asked for.

    `column` is the index of a class, for its curve against the rest; None for P(y = 1) or the
    confidence. When pickled, the object has its fitted curves, the isotonic one at 95 % among them,
    but not the rows.
    """

    def __init__(
        self,
        samples: RowsInMemory,
        notion: Notion,
        groups: Index | None = None,
        column: int | None = None,
    ) -> None:
        self._rows = _keep_rows(samples)
        self._notion, self._groups, self._column = notion, groups, column
        self._fitted: dict[tuple[str, float, bool], ReliabilityCurve] = {}

    def __call__(
        self, method: str = "isotonic", level: float = 0.95, *, band: bool = True
    ) -> ReliabilityCurve | None:
        """The curve by this method, with its band; None if the rows are gone from memory.

        If they are gone, a curve that was fitted earlier is returned, without its band.
        """
        key = (method, float(level), band)
        if key not in self._fitted:
            samples = self._rows()
            if samples is None:
                return self._fitted_before(method)
            self._fitted[key] = self._fit(samples, *key)
        return self._fitted[key]

    def _fitted_before(self, method: str) -> ReliabilityCurve | None:
        """The curve that this method fitted earlier, without its band; None if there is none.

        The band is dropped because it may have been for another level.
        """
        fitted = (curve for (name, *_), curve in self._fitted.items() if name == method)
        known = next(fitted, None)
        return None if known is None else known.without_band()

    def _fit(self, samples: RowsInMemory, method: str, level: float, band: bool) -> Any:
        """Fit the curve to rows that are still in memory."""
        if self._column is not None:
            columns = engine_of(samples).class_columns(samples)
            samples = next(islice(columns, self._column, None))
        if isinstance(samples, TensorSamples):
            samples = samples.in_memory()
        inside: Notion = self._notion if self._column is None else "binary"
        problem, groups = scalar_problem(samples, inside, self._groups)
        kind = BANDS_OF[method][0] if band else None
        return fitted_curve(problem, self._notion, method, kind, level, groups=groups)

    def __getstate__(self) -> dict[str, Any]:
        """The attributes to pickle: fitted curves, the isotonic one at 95 % among them, no rows."""
        self("isotonic", 0.95)
        return {**vars(self), "_rows": _nothing, "_groups": None}


def curve_of_rows(
    samples: Source, notion: Notion, groups: Index | None = None, column: int | None = None
) -> CurveOfRows | None:
    """An object that fits curves to these rows on demand; None for a lazy frame."""
    if isinstance(samples, Samples | TensorSamples):
        return CurveOfRows(samples, notion, groups, column)
    return None


def reliability_table(
    summary: Summary, rule: Rule | None = None, notion: Notion | None = None
) -> ReliabilityTable:
    """The reliability table of a summary, whose curves are fitted on demand.

    By default it is about P(y = 1) or the confidence, in the fixed bins of the summary.
    """
    notion, rule = notion or summary.scalar, rule or summary.fixed
    table, cuts = summary.table_with_cuts(notion, rule)
    return ReliabilityTable(table, rule, cuts, notion, fit=curve_of_rows(summary.samples, notion))


def _nothing() -> None:
    """Return None instead of the rows, which an unpickled result does not have."""
    return


def _keep_rows(samples: RowsInMemory) -> Callable[[], RowsInMemory | None]:
    """A function that returns the rows, or None once they are gone from memory.

    Up to MOST_KEPT numbers are kept in memory; of more rows only weak references are.
    """
    arrays: list[Any] = [samples.predictions, samples.targets, samples.weights]
    if sum(int(np.prod(each.shape)) for each in arrays if each is not None) <= MOST_KEPT:
        return lambda: samples
    places = [None if each is None else weakref.ref(each) for each in arrays]
    none: Any = None
    bare = replace(samples, predictions=none, targets=none, weights=none)

    def find_rows() -> RowsInMemory | None:
        """The rows, if all of their arrays still exist; otherwise None."""
        found: list[Any] = [None if place is None else place() for place in places]
        if any(p is not None and f is None for p, f in zip(places, found, strict=True)):
            return None
        return replace(bare, predictions=found[0], targets=found[1], weights=found[2])

    return find_rows
