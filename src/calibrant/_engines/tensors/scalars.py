"""Scalar problems on a CUDA device in one read each: bins, losses and grids of one prediction and
one label a row.

These are binary predictions, or the top label of (n, k) ones, whose confidences `fused` writes
down in its read of the rows. Targets that are not labels, weights and logits are left to plain
torch: every function here returns None then.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import torch
from torch import Tensor

from calibrant._core.bin_tables import FIELDS
from calibrant._core.binning import Cuts
from calibrant._core.loss_sums import FIELDS as LOSS_FIELDS
from calibrant._core.loss_sums import LossSums
from calibrant._core.typing import Array
from calibrant._data.samples import BadRow, Notion
from calibrant._data.tensor_samples import TensorSamples
from calibrant._engines.protocol import Findings
from calibrant._engines.tensors import fused, grid_kernels
from calibrant._engines.tensors import scalar_kernels as kernels
from calibrant._engines.tensors.choice import has_kernels
from calibrant._engines.tensors.sums import fields_of_labels
from calibrant._engines.tensors.tally import to_host

# The most rows: their numbers fit 32 bits, with room for a step beyond the end.
MOST_ROWS = 1 << 30
FEW_BINS = 16
# Programs that share the rows: several for each multiprocessor of a large device.
PROGRAMS = 132 * 8
# Programs of one warp, whose threads never wait: how many programs, threads of each, rows that a
# thread reads in a step, and rows that it may see in all (`short_kernels.HITS`).
WARPS, WARP, DEPTH, MOST_OF_THREAD = 4 * PROGRAMS, 32, 4, 4096
# Copies of a grid, so that rows with nearly equal predictions wait less for each other.
COPIES = 16
# Nodes that one program sums.
NODES = 128
N_SUMS, N_LOSSES, N_STATUS = 5, 5, 4


@dataclass(frozen=True, eq=False)
class Column:
    """A scalar problem of 0/1 targets on a device: predictions `u` and targets `z`, an entry per
    row.
    """

    u: Tensor
    z: Tensor
    # Whether the problem is that of the larger of u and 1 - u.
    confidence: bool = False
    # What a pass over the rows has found already.
    findings: Findings = Findings()
    # What `unit_grids` keeps from its read of the rows.
    kept: dict[str, Any] = field(default_factory=dict)

    @property
    def n(self) -> int:
        """The number of rows."""
        return int(self.u.numel())

    @property
    def double(self) -> bool:
        """Whether predictions are float64; kernels read all others as float32."""
        return self.u.dtype == torch.float64

    @property
    def flags(self) -> dict[str, bool]:
        """The compile-time constants that kernels take from a column, by name."""
        return {"CONFIDENCE": self.confidence, "DOUBLE": self.double}

    def programs(self, block: int, most: int | None = None) -> int:
        """The number of programs that share the rows, each reading `block` rows at a time: at most
        `most` (None: PROGRAMS).
        """
        return min(-(-self.n // block), PROGRAMS if most is None else most)

    def warps(self) -> int:
        """The number of programs of one warp that share the rows, where each thread reads DEPTH
        rows at a time and fewer than MOST_OF_THREAD in all.
        """
        most = max(WARPS, self.n // (WARP * (MOST_OF_THREAD - DEPTH)) + 1)
        return self.programs(WARP * DEPTH, most)

    def new_status(self) -> Tensor:
        """A status of zeros for kernels to fill: how far the first invalid row is from the end,
        then three counters (clipped predictions, targets that are neither 0 nor 1, clipped
        logarithms or logits).
        """
        return torch.zeros(N_STATUS, dtype=torch.int64, device=self.u.device)

    def resolved(self, status: Tensor, *sums: Tensor) -> tuple[Findings, int, list[Array]] | None:
        """The findings, the number of clipped logarithms or logits, and the sums, all brought to
        the host in one transfer. None if some target is neither 0 nor 1; raises BadRow if a row is
        invalid.
        """
        counts, *arrays = to_host(status.view(torch.float64), *sums)
        from_end, clipped, fractions, moved = counts.view(np.int64).tolist()
        if fractions:  # plain torch takes them, or says what is wrong with them
            return None
        if from_end:
            raise BadRow(self.n - from_end)
        return self.findings + Findings(n_predictions_clipped=clipped), moved, arrays


@dataclass(eq=False)
class _SharedResults:
    """Intermediate results of some samples that several statistics share."""

    columns: dict[Notion, Column | None] = field(default_factory=dict)
    orders: dict[Notion, Any] = field(default_factory=dict)


_shared_results: WeakKeyDictionary[TensorSamples, _SharedResults] = WeakKeyDictionary()


def shared_results(samples: TensorSamples) -> _SharedResults:
    """The intermediate results of these samples, cached for as long as the samples live."""
    return _shared_results.setdefault(samples, _SharedResults())


def column_of(samples: TensorSamples, notion: Notion) -> Column | None:
    """The binary or the confidence problem as a column, cached for other statistics; None if the
    kernels cannot read it.
    """
    if not has_kernels(samples.predictions) or notion == "classwise":
        return None
    columns = shared_results(samples).columns
    if notion not in columns:
        columns[notion] = _column(samples, notion)
    return columns[notion]


def _column(samples: TensorSamples, notion: Notion) -> Column | None:
    """The binary or the confidence problem as a column; None for weighted samples, no rows or too
    many, and other samples that the kernels cannot read.
    """
    if not 0 < samples.n <= MOST_ROWS or samples.weights is not None:
        return None
    if samples.multiclass:
        if not fused.can_read(samples, None):
            return None
        u, hit, findings = fused.confidences(samples)
        return Column(u, hit, findings=findings)
    return binary_column(samples, notion)


def binary_column(samples: TensorSamples, notion: Notion) -> Column | None:
    """The column of a binary problem; None for logits, whole numbers as predictions, and rows of
    targets.
    """
    u, z = samples.predictions, samples.targets
    if samples.from_logits or not u.is_floating_point() or z.ndim != 1:
        return None
    z = z.view(torch.uint8) if z.dtype == torch.bool else z
    return Column(u.contiguous(), z.contiguous(), notion == "confidence")


def bin_sums(
    samples: TensorSamples, notion: Notion, cuts: Cuts, *, squares: bool
) -> tuple[Array, Findings] | None:
    """The sums (bins, fields) of a scalar problem in the bins between the cuts, and the findings;
    None for more than FEW_BINS bins, or samples that the kernels cannot read.
    """
    column = column_of(samples, notion) if cuts.m <= FEW_BINS else None
    return None if column is None else few_bins(column, cuts, squares=squares)


def few_bins(column: Column, cuts: Cuts, *, squares: bool = True) -> tuple[Array, Findings] | None:
    """The sums (bins, fields) of a column in few bins, and the findings; None if some target is
    neither 0 nor 1. Without `squares` the sums of u^2 and u z are NaN.
    """
    programs, status = column.warps(), column.new_status()
    parts = _empty(column, programs, cuts.m, N_SUMS)
    kernels.add_to_few_bins[(programs,)](
        column.u,
        column.z,
        edges_on(column, cuts),
        parts,
        status,
        column.n,
        programs * WARP * DEPTH,
        **column.flags,
        SQUARES=squares,
        M=cuts.m,
        BLOCK=WARP,
        DEPTH=DEPTH,
        num_warps=1,
    )
    n, z, u, u2, uz = parts.sum(dim=0).unbind(1)
    found = column.resolved(status, fields_of_labels(n, u, u2, z, uz))
    if found is None:
        return None
    findings, _, (sums,) = found
    if not squares:  # the kernel leaves their place as it was
        sums[:, [FIELDS.index("sum_wu2"), FIELDS.index("sum_wuz")]] = np.nan
    return sums, findings


def edges_on(column: Column, cuts: Cuts) -> Tensor:
    """The inner edges on the device, followed by an infinite edge. For float32 predictions an edge
    becomes the smallest float32 at or above it: a prediction reaches both or neither.
    """
    inner = cuts.inner if column.double else fused.single_edges(cuts.inner.tobytes())
    return fused.edges_on(column.u.device, inner.tobytes())


def loss_sums(samples: TensorSamples) -> tuple[LossSums, Findings] | None:
    """The sums of the proper losses of binary predictions, and the findings; None for (n, k)
    predictions, or samples that the kernels cannot read.
    """
    column = None if samples.multiclass else column_of(samples, "binary")
    return None if column is None else losses_of(column)


def losses_of(column: Column) -> tuple[LossSums, Findings] | None:
    """The sums of the proper losses of a column, and the findings; None if some target is neither 0
    nor 1.
    """
    block = 256
    programs, status = column.programs(block), column.new_status()
    parts = _empty(column, programs, N_LOSSES)
    kernels.add_losses[(programs,)](
        column.u,
        column.z,
        parts,
        status,
        column.n,
        programs * block,
        DOUBLE=column.double,
        BLOCK=block,
        num_warps=4,
    )
    found = column.resolved(status, parts.sum(dim=0))
    if found is None:
        return None
    findings, n_log_clipped, (losses,) = found
    sums = np.zeros(len(LOSS_FIELDS))
    sums[:2] = column.n
    sums[2 : 2 + N_LOSSES] = losses
    return LossSums(sums, 2), findings + Findings(n_log_clipped=n_log_clipped)


def logit_masses(
    column: Column, spacing: float, eps: float, n_nodes: int
) -> tuple[Array, Findings, int] | None:
    """The masses on a logit grid, (2, nodes), of rows with the target 1 and with the target 0, the
    findings, and how many predictions were clipped to [eps, 1 - eps]. None if some target is
    neither 0 nor 1.
    """
    status, middle = column.new_status(), (n_nodes - 1) // 2
    moments = deposit(column, status, 2, n_nodes, 1.0 / spacing, middle, eps, 1.0 - eps)
    resolved = column.resolved(status, masses(moments))
    if resolved is None:
        return None
    findings, n_clipped, (sums,) = resolved
    return sums, findings, n_clipped


def deposit(
    column: Column,
    status: Tensor,
    rows: int,
    n_nodes: int,
    per_unit: float,
    middle: int,
    low: float,
    high: float,
) -> Tensor:
    """The moments of the rows' masses in the cells between grid nodes, (copies, rows, nodes, 4),
    from one read; `grid_kernels.deposit` describes them.

    `rows` is 2 for a logit grid and 1 for a unit grid. A row's position in nodes is `middle` plus
    its logit (of predictions clipped to [low, high]) or prediction, times `per_unit`.
    """
    # One warp a program: what a row's thread computes reaches its four neighbours without a wait.
    block = 32
    programs = column.programs(block, WARPS)
    copies = min(COPIES, programs)
    device = column.u.device
    moments = torch.zeros((copies, rows, n_nodes, 4), dtype=torch.float64, device=device)
    # Plain arguments would become float32, so double numbers are passed as a tensor.
    numbers = doubles(device, per_unit, low, high)
    grid_kernels.deposit[(programs,)](
        column.u,
        column.z,
        moments,
        status,
        numbers,
        column.n,
        n_nodes,
        middle,
        programs * block,
        **column.flags,
        LOGITS=rows == 2,
        COPIES=copies,
        BLOCK=block,
        num_warps=1,
    )
    return moments


def masses(moments: Tensor) -> Tensor:
    """The masses at grid nodes, (rows, nodes), from the moments of the cells between them (copies,
    rows, nodes, 4).
    """
    copies, rows, n_nodes, _ = moments.shape
    out = torch.empty((rows, n_nodes), dtype=torch.float64, device=moments.device)
    grid_kernels.masses_at_nodes[(-(-n_nodes // NODES), rows)](
        moments, out, n_nodes, rows, COPIES=copies, BLOCK=NODES, num_warps=4
    )
    return out


def doubles(device: torch.device, *values: float) -> Tensor:
    """A float64 tensor of numbers on a device, as an argument of a kernel."""
    return fused.edges_on(device, np.array(values).tobytes())


def _empty(column: Column, *shape: int) -> Tensor:
    """A float64 tensor on the column's device with unset values."""
    return torch.empty(shape, dtype=torch.float64, device=column.u.device)
