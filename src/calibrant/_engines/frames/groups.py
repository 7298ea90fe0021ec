"""Groups of rows and their sums, as they came back, and what they are put together to.

A group's cell is that of its predictions by the interval rule itself; its position on the unit grid
that of its smallest prediction; its position on the logit grid is part of its key.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant._core.bin_tables import FIELDS
from calibrant._core.binning import Cuts
from calibrant._core.errors import CalibrantError, check_squares
from calibrant._core.typing import Array, Index
from calibrant._data.frame_samples import FrameSamples
from calibrant._data.logits import (
    LOG_PROBABILITIES,
    PROBABILITIES,
    ROWS_THAT_TELL,
    VALUES_THAT_TELL,
    check_kind_of_logits,
)
from calibrant._engines.frames.columns import check_rows
from calibrant._engines.protocol import Findings

# The keys of neighbouring cells of the logit grid differ by this much; all steps sum to less.
APART = 2**40


@dataclass(frozen=True, eq=False)
class Groups:
    """The result of a query in memory: `columns` has the key, the sums, and the smallest and
    largest prediction of each group, an entry per group.
    """

    samples: FrameSamples
    columns: dict[str, NDArray[Any]]

    @classmethod
    def from_result(cls, samples: FrameSamples, result: Any) -> Groups:
        """The groups from the collected frame of a query."""
        return cls(
            samples, {series.name: _column_array(series) for series in result.iter_columns()}
        )

    def __getitem__(self, name: str) -> Array:
        """A column of the result as floats, an entry per group."""
        return self.columns[name].astype(np.float64)

    def __contains__(self, name: str) -> bool:
        return name in self.columns

    def select(self, chosen: NDArray[Any]) -> Groups:
        """The chosen groups, by a mask or by their positions in a new order."""
        return Groups(self.samples, {name: v[chosen] for name, v in self.columns.items()})

    def total(self, name: str) -> float:
        """The sum of a column over all groups; 0 if the query did not request the column."""
        return float(self[name].sum()) if name in self else 0.0

    def check_rows(self) -> None:
        """Raise InputError if some row is invalid, or if there are no rows."""
        check_rows(self.samples, self.total("rows"), self.total("found_ok"), self.n_missing)
        if self.samples.weighted and "ww" in self:
            check_squares(self.total("w"), self.total("ww"))
        if "found_unit" in self:
            self._check_logits()

    def _check_logits(self) -> None:
        """Raise InputError if all logits lie in [0, 1] as probabilities do, or all at or below 0 as
        log-probabilities do. A few rows alone are not judged.
        """
        n, rows = self.n_rows, self.samples.multiclass
        if n < (ROWS_THAT_TELL if rows else VALUES_THAT_TELL):
            return
        unit, low = self.total("found_unit") == n, self.total("found_low") == n
        if unit != low:
            kind = PROBABILITIES if unit else LOG_PROBABILITIES
            check_kind_of_logits(kind, multiclass=rows)

    @property
    def n_missing(self) -> int:
        """The number of rows dropped because a prediction, a label or a weight is missing."""
        return int(self.total("found_gone"))

    @property
    def n_rows(self) -> int:
        """The number of rows that were not dropped."""
        return int(self.total("rows")) - self.n_missing

    @property
    def findings(self) -> Findings:
        """Counts of clipped and tolerated values in the rows of all groups, and whether some label
        is soft.
        """
        return Findings(
            int(self.total("found_clipped")),
            int(self.total("found_off")),
            int(self.total("found_log_clipped")),
            self.total("found_fraction") > 0,
        )

    @property
    def fields(self) -> Array:
        """The sums of each group in the order of `BinTable.FIELDS`, (groups, fields)."""
        return self._fields("wu", "wz", "wuu", "wuz", "wzz", "wwz")

    @property
    def top_fields(self) -> Array:
        """The sums of the confidence problem of binary rows in each group, (groups, fields). The
        confidence is the larger of u and 1 - u for the prediction u of class 1.
        """
        return self._fields("wf", "wh", "wff", "wfh", "whh", "wwh")

    def _fields(self, *names: str) -> Array:
        """The sums of each group in the order of `BinTable.FIELDS`, (groups, fields). `names` are
        the columns with the sums of w u, w z, w u^2, w u z, w z^2 and w^2 z (weight w, prediction
        u, target z).
        """
        # Weights of 1 and hard labels equal their squares, whose sums were not asked for.
        weights = [self[name] if name in self else self["rows"] for name in ("n", "w", "ww")]
        squares = [name if name in self else names[1] for name in names[-2:]]
        return np.stack([*weights, *(self[name] for name in (*names[:-2], *squares))], axis=1)

    @property
    def logit_cell(self) -> Index:
        """The cell of the logit grid that each group lies in, decoded from the group's key."""
        key = self.columns["key"]
        return np.floor_divide(key + APART // 2, APART).astype(np.intp)

    def binned(self, cuts: Cuts, fields: Array | None = None, *, fold: bool = False) -> Array:
        """Sums per bin, (bins, fields): each group is added to the bin, between the cuts, that its
        predictions lie in.

        `fields` (groups, fields) are the sums to add, by default those of the problem itself. With
        `fold` the bin is that of the confidence, the larger of u and 1 - u for the prediction u.
        """
        low, high = self["low"], self["high"]
        if fold:
            low, high = (fold_of(ends, self.samples.precision) for ends in (low, high))
        at = cuts.find(low)
        if not np.array_equal(at, cuts.find(high)):
            raise CalibrantError(
                f"{self.samples.where} put predictions of two bins into one group: its doubles "
                "are not those of IEEE 754. Collect the frame and measure it in memory"
            )
        out = np.zeros((cuts.m, len(FIELDS)))
        np.add.at(out, at, self.fields if fields is None else fields)
        return out


def fold_of(u: Array, precision: np.dtype[Any]) -> Array:
    """The larger of u and 1 - u for each prediction u, rounded as `problem.folded` rounds it in a
    query.
    """
    mirrored = 1.0 - u
    if precision.itemsize < 8:
        mirrored = mirrored.astype(np.float32).astype(np.float64)
    return np.where(u > 0.5, u, mirrored)


def _column_array(series: Any) -> NDArray[Any]:
    """A column of a query's result as an array. A column by which rows were grouped becomes an
    array of Python objects, with None for null.
    """
    if not series.name.startswith("by"):
        return series.to_numpy()
    objects = np.empty(len(series), dtype=object)
    pairs = zip(series.to_list(), series.is_null().to_list(), strict=True)
    objects[:] = [None if null else value for value, null in pairs]
    return objects
