"""Groups of rows and their sums, as they came back, and what they are put together to.

A group's cell is that of its predictions by the interval rule itself; its position on the unit grid
that of its smallest prediction; its position on the logit grid is part of its key.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

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


# How a column of the groups is computed from others.
Derived: TypeAlias = Callable[["Groups"], Array]


@dataclass(frozen=True, eq=False)
class Groups:
    """The result of a query in memory: `columns` has the key, the sums, and the smallest and
    largest prediction of each group, an entry per group; `derived` says how to compute more of
    them, and `counts` has the findings that were counted for all rows together.
    """

    samples: FrameSamples
    columns: dict[str, NDArray[Any]]
    derived: Mapping[str, Derived] = field(default_factory=dict)
    counts: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def from_result(
        cls, samples: FrameSamples, result: Any, derived: Mapping[str, Derived]
    ) -> Groups:
        """The groups from the collected frame of a query, in the order of their keys. Engines
        return groups in any order, but a seed must always give the same draws.
        """
        keys = [_sortable(series) for series in result.iter_columns() if _is_key(series.name)]
        ordered = result[np.lexsort(keys)]
        columns = {series.name: _column_array(series) for series in ordered.iter_columns()}
        return cls(samples, columns, derived)

    def __getitem__(self, name: str) -> Array:
        """A column as floats, an entry per group."""
        if name in self.derived:
            return self.derived[name](self)
        return self.columns[name].astype(np.float64)

    def __contains__(self, name: str) -> bool:
        return name in self.columns or name in self.derived

    def select(self, chosen: NDArray[Any]) -> Groups:
        """The chosen groups, by a mask or by their positions in a new order."""
        columns = {name: values[chosen] for name, values in self.columns.items()}
        return replace(self, columns=columns)

    def with_targets_joined(self, products: Mapping[str, str]) -> Groups:
        """The groups whose rows were summed in four parts: a key is four times the group's own,
        plus 2 for a target of 1 and 1 for rows about which there is a finding. A new column `odd`
        has the number of these.

        `products` has the names of sums of a factor times the target, and of the factor's own sum,
        which for a target of 1 is the same.
        """
        key, part = np.divmod(self.columns["key"], 4)
        own, at = np.unique(key, return_inverse=True)
        hit, odd = part >= 2, part % 2 == 1
        out: dict[str, NDArray[Any]] = {"key": own}
        for name in self.columns.keys() - {"key", "low", "high"}:
            out[name] = np.bincount(at, self[name], own.size)
        for name, factor in products.items():
            values = self.weight if factor == "w" else self[factor]
            out[name] = np.bincount(at[hit], values[hit], own.size)
        out["odd"] = np.bincount(at[odd], self["rows"][odd], own.size)
        if "low" in self.columns:
            out["low"], out["high"] = np.full(own.size, np.inf), np.full(own.size, -np.inf)
            np.minimum.at(out["low"], at, self["low"])
            np.maximum.at(out["high"], at, self["high"])
        return replace(self, columns=out)

    def joined(self, order: Index, numbers: Sequence[Index]) -> tuple[Groups, Index]:
        """The groups in an order by the `numbers` of each, those with equal numbers joined; and the
        position of the first of each.
        """
        changes = np.zeros(order.size, dtype=np.bool_)
        changes[:1] = True
        for each in numbers:
            changes[1:] |= each[order][1:] != each[order][:-1]
        starts, ends = np.flatnonzero(changes), {"low": np.minimum, "high": np.maximum}
        out = {}
        for name, values in self.columns.items():
            if _is_key(name):
                out[name] = values[order][starts]
            else:
                out[name] = ends.get(name, np.add).reduceat(self[name][order], starts)
        return replace(self, columns=out), order[starts]

    def ends(self, name: str = "u") -> Array:
        """The smallest and the largest value of a column of predictions (one of `Query.ends`) in
        each group, (2, groups).
        """
        suffix = "" if name == "u" else f" of {name}"
        return np.stack([self[f"low{suffix}"], self[f"high{suffix}"]])

    def powers(self, name: str, count: int) -> Array:
        """The columns `{name}0`, `{name}1`, ..., as many as `count`, (groups, count)."""
        return np.stack([self[f"{name}{j}"] for j in range(count)], axis=1)

    @property
    def weight(self) -> Array:
        """The sum of the weights in each group."""
        return self["w" if "w" in self else "rows"]

    def total(self, name: str) -> float:
        """The sum of a column over all groups; 0 if the query did not request the column."""
        if name in self.counts:
            return self.counts[name]
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
    def outer_cell(self) -> Index:
        """The cell of the logit grid (or of the label) that each group lies in, decoded from the
        group's key.
        """
        key = self.columns["key"]
        return np.floor_divide(key + APART // 2, APART).astype(np.intp)

    @property
    def cell_part(self) -> Index:
        """What is left of each group's key without the `outer_cell`: it grows with predictions."""
        return self.columns["key"].astype(np.intp) - self.outer_cell * APART

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
                f"{self.samples.where} put predictions of two bins into one group, because its "
                "floating-point numbers do not follow IEEE 754. Collect the frame and measure it "
                "in memory"
            )
        out = np.zeros((cuts.m, len(FIELDS)))
        np.add.at(out, at, self.fields if fields is None else fields)
        return out


def mirrored_sums() -> dict[str, Derived]:
    """The sums of the confidence problem of binary rows, from those of the prediction: of groups
    that lie on one side of 1/2.
    """

    def either(own: Derived, mirrored: Derived) -> Derived:
        """The sum of each group: its own above 1/2, and another one below."""
        return lambda groups: np.where(groups["low"] > 0.5, own(groups), mirrored(groups))

    return {
        "wf": either(lambda g: g["wu"], lambda g: g.weight - g["wu"]),
        "wff": either(lambda g: g["wuu"], lambda g: g.weight - 2 * g["wu"] + g["wuu"]),
        "wfz": either(lambda g: g["wuz"], lambda g: g["wz"] - g["wuz"]),
        "wh": either(lambda g: g["wz"], lambda g: g.weight - g["wz"]),
        "wfh": either(lambda g: g["wfz"], lambda g: g["wf"] - g["wfz"]),
        "whh": either(
            lambda g: g["wzz" if "wzz" in g else "wz"],
            lambda g: g.weight - 2 * g["wz"] + g["wzz" if "wzz" in g else "wz"],
        ),
        "wwh": either(
            lambda g: g["wwz" if "wwz" in g else "wz"],
            lambda g: g["ww" if "ww" in g else "rows"] - g["wwz" if "wwz" in g else "wz"],
        ),
    }


def products_of(prediction: str, target: str, value: Derived) -> dict[str, Derived]:
    """The sums of weight times prediction, its square, and prediction times target, in groups of
    one prediction each, whose `value` it is.
    """
    return {
        f"w{prediction}": lambda groups: groups.weight * value(groups),
        f"w{prediction}{prediction}": lambda groups: groups.weight * value(groups) ** 2,
        f"w{prediction}{target}": lambda groups: groups[f"w{target}"] * value(groups),
    }


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


def _is_key(name: str) -> bool:
    """Whether rows were grouped by the column of this name."""
    return name == "key" or name.startswith("by")


def _sortable(series: Any) -> NDArray[Any]:
    """A key of the groups as values that NumPy can sort."""
    if series.dtype.is_numeric() and not series.is_null().any():
        return np.asarray(series.to_numpy())
    values = series.to_list()
    kinds = {type(value) for value in values}
    # Other values, such as dates and missing ones, are sorted by their texts.
    return np.array(values if kinds in ({int}, {float}, {str}) else [*map(repr, values)])
