"""Scalar problems in order, on a CUDA device: one sort of packed keys serves every measure that
needs it.

A key holds a prediction and its label and nothing else, four bytes a row in single precision and
eight in double; the sort takes about four times as much for a moment. What comes to the host are
sums over runs of keys.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from calibrant._core.bin_tables import FIELDS, BinTable, OrderedLevels
from calibrant._core.binning import ROUNDING, Cuts
from calibrant._core.typing import Array
from calibrant._data.samples import Notion
from calibrant._data.tensor_samples import TensorSamples
from calibrant._engines.protocol import Findings
from calibrant._engines.tensors import order_kernels as kernels
from calibrant._engines.tensors.scalars import Column, column_of, shared_results
from calibrant._engines.tensors.sums import fields_of_labels

CHUNK = 4096
BLOCK = 1024
# Programs that share the runs of keys.
PROGRAMS = 4096
# With at most this many points, the rest of the isotonic fit is left to the host.
FEW_POINTS = 1 << 18
# With more points than this after all rounds, the levels themselves go to the host.
MOST_POINTS = 1 << 22
ROUNDS = 64
N_SUMS = 5


class Order:
    """A scalar problem of 0/1 targets, sorted by prediction on a device. It holds a sorted key for
    each row: the bits of the prediction u times 2, plus the target z. A level is a distinct
    prediction: a run of keys.
    """

    def __init__(self, column: Column, keys: Tensor, findings: Findings) -> None:
        self.keys, self.findings = keys, findings
        self.n, self.double = column.n, column.double

    @property
    def device(self) -> torch.device:
        return self.keys.device

    @cached_property
    def _ones(self) -> Tensor:
        """The number of targets 1 up to and including each key."""
        return (self.keys & 1).cumsum(0, dtype=torch.int32)

    def ones_before(self, positions: Tensor) -> Tensor:
        """The number of targets 1 before each position among the sorted keys."""
        return torch.where(positions > 0, self._ones[(positions - 1).clamp(min=0)], 0).long()

    def largest_partial(self) -> float:
        """The largest absolute partial sum of prediction less target, over the keys from the first
        to the end of any level.
        """
        n_chunks = -(-self.n // CHUNK)
        sums, largest = torch.empty((2, n_chunks), dtype=torch.float64, device=self.device)
        sizes = {"DOUBLE": self.double, "CHUNK": CHUNK, "BLOCK": BLOCK}
        kernels.add_chunks[(n_chunks,)](self.keys, sums, self.n, **sizes)
        before = sums.cumsum(0) - sums
        kernels.largest_partial_sums[(n_chunks,)](self.keys, before, largest, self.n, **sizes)
        return float(largest.max())

    def n_levels(self) -> int:
        """The number of distinct predictions."""
        return self._level_borders.numel() - 1

    def rising(self) -> bool:
        """Whether the mean target never falls from one level to the next."""
        at = self._level_borders
        w, z = at.diff(), self.ones_before(at).diff()
        return bool((z[:-1] * w[1:] <= z[1:] * w[:-1]).all())  # of whole numbers: exact

    def borders(self, j: Tensor, m: Tensor | float) -> tuple[Tensor, Tensor, Tensor]:
        """The position among the keys where the bin j (from 0) of m bins of equal mass begins,
        equal predictions together; the bits of the prediction at that border; and whether this
        prediction belongs to the bin before.
        """
        at = ((j * self.n / m).ceil() - 1).long().clamp(0, self.n - 1)
        bits = self.keys[at] >> 1
        start = torch.searchsorted(self.keys, bits * 2)
        stop = torch.searchsorted(self.keys, bits * 2 + 2)
        in_lower = (start + stop).double() * m <= 2.0 * j * self.n * (1 + ROUNDING)
        return torch.where(in_lower, stop, start), bits, in_lower

    def sums(self, firsts: Tensor) -> Tensor:
        """The sums (bins, fields of BinTable) of bins that begin at the positions `firsts`, whose
        last is the end.
        """
        _, z, u, u2, uz = self.sums_between(firsts).unbind(1)
        return fields_of_labels(firsts.diff().double(), u, u2, z, uz)

    def sums_between(self, firsts: Tensor, programs: int | None = None) -> Tensor:
        """Sums over the runs of keys from each of `firsts` to the next, (runs, 5): targets z,
        predictions u, u^2 and u z in the columns 1 to 4; the column 0 is unset. `programs` limits
        the programs of the device.
        """
        m = firsts.numel() - 1
        pieces = max(1, min((programs or PROGRAMS) // m, -(-self.n // BLOCK)))
        parts = torch.empty((m, pieces, N_SUMS), dtype=torch.float64, device=self.device)
        kernels.add_ranges[(m, pieces)](
            self.keys, firsts, parts, pieces, DOUBLE=self.double, BLOCK=BLOCK if pieces > 1 else 128
        )
        return parts.sum(dim=1)

    def predictions(self, bits: Tensor) -> Tensor:
        """The predictions in float64 with these bits."""
        return bits.view(torch.float64 if self.double else torch.float32).double()

    def with_ends(self, inner: Tensor) -> Tensor:
        """The positions with 0 added before them, and the number of keys after them."""
        ends = torch.tensor([0, self.n], device=self.device)
        return torch.cat([ends[:1], inner, ends[1:]])

    def quantile_table(self, m: int) -> tuple[BinTable, Cuts]:
        """The table of m bins of equal mass and the cuts between them, as
        `quantiles.quantile_edges` finds them.
        """
        j = torch.arange(1, m, dtype=torch.float64, device=self.device)
        positions, bits, in_lower = self.borders(j, float(m))
        values = self.predictions(bits)
        above = torch.nextafter(values, values.new_full((), torch.inf))
        edges = torch.where(in_lower, above, values)
        packed = torch.cat([self.sums(self.with_ends(positions)).reshape(-1), edges]).cpu().numpy()
        sums, inner = np.split(packed, [m * len(FIELDS)])
        return BinTable(sums.reshape(1, m, len(FIELDS))), Cuts(np.maximum.accumulate(inner))

    def fixed_sums(self, cuts: Cuts) -> Array:
        """The sums (bins, fields) in any number of bins between the cuts."""
        inner = torch.from_numpy(cuts.inner.copy()).to(self.device)
        if self.double:
            keys = inner.clamp(min=0.0).view(torch.int64) * 2
        else:  # the first number at or above an edge: a prediction reaches both or neither
            single = inner.clamp(min=0.0).float()
            up = torch.nextafter(single, single.new_full((), torch.inf))
            keys = torch.where(single.double() >= inner, single, up).view(torch.int32) * 2
        return self.sums(self.with_ends(torch.searchsorted(self.keys, keys))).cpu().numpy()

    @cached_property
    def _level_borders(self) -> Tensor:
        """The positions among the keys at which levels begin, followed by the end."""
        bits = self.keys >> 1
        return self.with_ends((bits[1:] != bits[:-1]).nonzero()[:, 0] + 1)

    @cached_property
    def _ones_at_borders(self) -> Tensor:
        """The number of targets 1 before each level, and before the end."""
        return self.ones_before(self._level_borders)

    def levels(self) -> tuple[Array, Array]:
        """The sums of every level, (levels, fields), and each level's prediction, brought to the
        host.
        """
        firsts = self._level_borders
        u = self.predictions(self.keys[firsts[:-1]] >> 1)
        n, z = self.rows_and_ones()
        sums = fields_of_labels(n, n * u, n * u * u, z, z * u)
        return sums.cpu().numpy(), u.cpu().numpy()

    def path(self) -> tuple[Tensor, Tensor]:
        """Each level's prediction, and the partial sum of prediction less target up to and
        including the level.
        """
        firsts = self._level_borders
        u = self.predictions(self.keys[firsts[:-1]] >> 1)
        rows, ones = self.rows_and_ones()
        return u, (rows * u - ones).cumsum(0)

    def rows_and_ones(self) -> tuple[Tensor, Tensor]:
        """The number of rows, and of targets 1, of each level."""
        return self._level_borders.diff().double(), self._ones_at_borders.diff().double()

    def hull(self) -> Tensor | None:
        """Positions among the keys at which a block of the isotonic fit (a run of equal fitted
        values) may begin, and the end; None if too many remain.

        They are the levels at which the cumulative sum of targets, against that of rows, is not
        above the chord of its neighbours; levels above it are removed in rounds.
        """
        at, ones = self._level_borders, self._ones_at_borders
        for _ in range(ROUNDS):
            if at.numel() <= FEW_POINTS:
                break
            # Whole numbers: the products are exact.
            w, z = at.diff(), ones.diff()
            turns_up = z[:-1] * w[1:] < z[1:] * w[:-1]
            stays = (torch.nn.functional.pad(turns_up, (1, 1), value=True)).nonzero()[:, 0]
            if stays.numel() == at.numel():
                break
            at, ones = at[stays], ones[stays]
        return at if at.numel() <= MOST_POINTS else None


class DeviceLevels(OrderedLevels):
    """The level sets (sums of each distinct prediction) of a scalar problem that is sorted on a
    device. Its methods are those of `OrderedLevels`.
    """

    def __init__(self, order: Order) -> None:
        super().__init__(lambda: order.levels()[0][None], float(order.n))
        object.__setattr__(self, "_order", order)
        self._order: Order

    def largest_partial_residual(self) -> float:
        """The largest absolute partial sum of residuals (prediction less target), up to the end of
        any level.
        """
        return self._order.largest_partial()

    def partial_residual_range(self) -> float:
        """The highest less the lowest partial sum of residuals (prediction less target) up to the
        end of a level; the sum 0 before the first level counts.
        """
        _, partial = self._order.path()
        return float(partial.max().clamp(min=0.0) - partial.min().clamp(max=0.0))

    def averaged_two_bins(self, norm: str) -> float:
        """The averaged two-bin error of squares ("l2") or of absolute values ("l1");
        `_measures.cutoffs` defines it.
        """
        u, partial = self._order.path()
        rest = partial[-1] - partial
        two = partial.abs() + rest.abs() if norm == "l1" else partial**2 + rest**2
        widths = torch.diff(u, append=u.new_ones(1))
        # A border below the first prediction has all rows above it.
        total = widths @ two + u[0] * two[-1]
        return float(total) / float(self._order.n) ** (1 if norm == "l1" else 2)

    def ranked_pairs(self) -> float:
        """The number of pairs of a target 1 and a target 0 in which the 1 has the higher
        prediction; ties count one half.
        """
        rows, ones = self._order.rows_and_ones()
        rest = rows - ones
        return float(ones @ (rest.cumsum(0) - rest / 2.0))

    def mean_risk(self) -> float:
        """The mean, over rows, of the share of targets 0 among the rows predicted at least as
        high.
        """
        rows, ones = (part.flip(0) for part in self._order.rows_and_ones())
        risk = ((rows - ones).cumsum(0) / rows.cumsum(0)).clamp(0.0, 1.0)
        return float(rows @ risk) / float(self._order.n)

    def highest_targets(self, coverage: float) -> float:
        """The sum of targets over the share `coverage` of rows with the highest predictions."""
        rows, ones = (part.flip(0) for part in self._order.rows_and_ones())
        room = coverage * float(self._order.n) - (rows.cumsum(0) - rows)
        return float((room / rows).clamp(0.0, 1.0) @ ones)

    def pooled(self) -> BinTable:
        """A table in which levels of one block of the isotonic fit are merged, some or all of
        them.
        """
        points = self._order.hull()
        if points is None:
            return self
        return BinTable(self._order.sums(points).cpu().numpy()[None])

    @cached_property
    def n_levels(self) -> int:
        """The number of distinct predictions."""
        return self._order.n_levels()

    @cached_property
    def rising(self) -> bool:
        """Whether the mean target never falls from one level to the next."""
        return self._order.rising()

    @cached_property
    def totals(self) -> Array:
        """The number of rows, and of targets 1, as an array of two."""
        order = self._order
        end = torch.tensor([order.n], device=order.device)
        return np.array([order.n, int(order.ones_before(end))], dtype=np.float64)

    def sums_before(self, j: Array, m: Array) -> Array:
        """The numbers of rows and of targets 1 before the bin j (from 0) of m bins of equal mass,
        (2, bins).
        """
        order = self._order
        of_bins, of_counts = (torch.from_numpy(part).to(order.device) for part in (j, m))
        positions, _, _ = order.borders(of_bins, of_counts)
        both = torch.stack([positions, order.ones_before(positions)]).double()
        return both.cpu().numpy()

    def merged(self, m: int) -> BinTable:
        """The table of m bins of equal mass."""
        return self._order.quantile_table(m)[0]


class LevelCuts(Cuts):
    """The edges between level sets on a device, brought to the host at the first use."""

    def __init__(self, order: Order) -> None:
        object.__setattr__(self, "_order", order)
        self._order: Order

    @cached_property
    def inner(self) -> Array:
        """The distinct predictions except the first, in increasing order."""
        return self._order.levels()[1][1:]


def order_of(samples: TensorSamples, notion: Notion) -> Order | None:
    """The binary or the confidence problem in order, as sorted keys, cached for other statistics;
    None if the kernels cannot read the problem.
    """
    orders = shared_results(samples).orders
    if notion not in orders:
        column = column_of(samples, notion)
        orders[notion] = None if column is None else sorted_keys(column)
    return orders[notion]


def sorted_keys(column: Column) -> Order | None:
    """The column in order, as sorted keys; None if some target is neither 0 nor 1."""
    kind = torch.int64 if column.double else torch.int32
    keys = torch.empty(column.n, dtype=kind, device=column.u.device)
    status = column.new_status()
    kernels.pack[(-(-column.n // BLOCK),)](
        column.u, column.z, keys, status, column.n, **column.flags, BLOCK=BLOCK
    )
    keys = keys.sort().values
    found = column.resolved(status)
    return None if found is None else Order(column, keys, found[0])
