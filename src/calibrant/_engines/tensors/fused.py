"""One read of (n, k) predictions on a CUDA device: top label, losses and classwise bins.

Half and single precision are computed in float32, so that probabilities err by some 2e-7, and
summed in float64. Confidences of logits that close to an edge of a bin are computed again in
float64: the top label's counts are those of float64. Entries of other classes that close to an edge
may fall on either side of it. Squares of the classes' predictions are not summed (NaN).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import torch
import triton
from numpy.typing import NDArray
from torch import Tensor

from calibrant._core.binning import Cuts
from calibrant._core.loss_sums import FIELDS as LOSS_FIELDS
from calibrant._data.samples import BadRow
from calibrant._data.tensor_samples import TensorSamples
from calibrant._engines.arrays.passes import MatrixSums
from calibrant._engines.protocol import Findings
from calibrant._engines.tensors import kernels
from calibrant._engines.tensors.sums import fields_of_labels

# Rows of one launch: places in lists and tables stay within 32 bits.
ROWS = 1 << 26
LONGEST_IN_REGISTERS = 4096
LONGEST = 1 << 18
FEW_BINS = 16
# Confidences this close to an edge are computed again: five times the error seen.
MARGIN = 1e-6
# Programs that do so.
REFINERS = 512
N_SUMS = 5
N_LOSSES = 6


def fits(samples: TensorSamples, classwise: Cuts | None) -> bool:
    """Whether the kernels can read these: hard labels, no weights, half or single precision."""
    predictions, targets = samples.predictions, samples.targets
    longest = LONGEST if samples.from_logits and classwise is None else LONGEST_IN_REGISTERS
    return (
        predictions.is_cuda
        and predictions.dtype in (torch.float16, torch.bfloat16, torch.float32)
        and predictions.ndim == 2
        and samples.n > 0
        and 2 <= predictions.shape[1] <= longest
        and predictions.stride(1) == 1
        and targets.ndim == 1
        and not targets.is_floating_point()
        and samples.weights is None
    )


def row_pass(
    samples: TensorSamples, classwise: Cuts | None, confidence: Cuts | None, losses: bool
) -> MatrixSums:
    """The sums of a read, in as many launches as there are runs of ROWS rows."""
    total: MatrixSums | None = None
    for start in range(0, samples.n, ROWS):
        stop = min(start + ROWS, samples.n)
        part = _Read(samples, start, stop).sums(classwise, confidence, losses)
        total = part if total is None else total + part
    assert total is not None
    return total


def confidences(samples: TensorSamples) -> tuple[Tensor, Tensor, Findings]:
    """Each row's confidence in float32 and whether its top label is right, on the device."""
    u, hit, findings = [], [], Findings()
    for start in range(0, samples.n, ROWS):
        read = _Read(samples, start, min(start + ROWS, samples.n))
        findings = findings + read.sums(None, None, False).findings
        u.append(read.u)
        hit.append(read.hit)
    return (u[0], hit[0], findings) if len(u) == 1 else (torch.cat(u), torch.cat(hit), findings)


def norms(samples: TensorSamples) -> tuple[Tensor, Tensor, Findings]:
    """Each row's largest logit and 1 over the sum of exponentials below it, once every row is known
    to be sound.
    """
    read = _Read(samples, 0, samples.n, norms=True)
    findings = read.sums(None, None, False).findings
    return read.top, read.share, findings


@dataclass(eq=False)
class _Read:
    """A run of rows on its way through the kernels."""

    samples: TensorSamples
    start: int
    stop: int
    # Whether to keep what makes probabilities of logits: each row's largest, and 1 over the sum.
    norms: bool = False

    def __post_init__(self) -> None:
        self.x = self.samples.predictions[self.start : self.stop]
        self.y = self.samples.targets[self.start : self.stop].long()
        self.n, self.k = self.x.shape
        self.device = self.x.device
        self.width = 16 // self.x.element_size()
        self.groups = triton.next_power_of_2(-(-self.k // self.width))
        # What a row leaves: its confidence, whether it is right, the label's probability, the sum
        # of squares, and how far the label's logit is below the largest.
        self.u, self.p_y, self.p2, self.gap = (self._empty(self.n, torch.float32) for _ in range(4))
        self.hit = self._empty(self.n, torch.uint8)
        # The first bad row, clips, rows off the simplex.
        self.found = torch.zeros(3, dtype=torch.int64, device=self.device)
        self.found[:1] = self.n

    @property
    def scalars(self) -> tuple[Tensor, ...]:
        return self.u, self.hit, self.p_y, self.p2, self.gap

    @property
    def _aligned(self) -> bool:
        """Whether every row begins at a multiple of 16 bytes."""
        return self.x.stride(0) % self.width == 0 and self.x.data_ptr() % 16 == 0

    def _empty(self, *shape: Any) -> Tensor:
        return torch.empty(shape[:-1], dtype=shape[-1], device=self.device)

    def _zeros(self, *shape: int) -> Tensor:
        return torch.zeros(shape, dtype=torch.float64, device=self.device)

    def sums(self, classwise: Cuts | None, confidence: Cuts | None, losses: bool) -> MatrixSums:
        """Everything asked for, brought to the host in one piece."""
        by_class = None
        if self.k > LONGEST_IN_REGISTERS:
            self._long_rows()
        else:
            by_class = self._rows(classwise)
        pieces = [self.found.double()]
        pieces += [self._losses()] if losses else []
        pieces += [self._top_label(confidence)] if confidence is not None else []
        pieces += [by_class] if by_class is not None else []
        host = iter(_brought(pieces))
        bad, n_clipped, n_off = next(host)
        if bad < self.n:
            raise BadRow(self.start + int(bad))
        loss, n_log = np.zeros(len(LOSS_FIELDS)), 0.0
        if losses:
            loss[:2] = self.n
            *loss[2:7], n_log = next(host)
        bins = next(host) if confidence is not None else None
        table = next(host) if classwise is not None else None
        findings = Findings(int(n_clipped), int(n_off), int(n_log))
        return MatrixSums(table, bins, loss if losses else None, findings)

    def _rows(self, classwise: Cuts | None) -> Tensor | None:
        """Rows that fit the registers; with classes, n, u, u^2, z and uz of each class and bin."""
        rows_each = 32 if classwise is None else 128
        programs = -(-self.n // rows_each)
        wide = self.groups * self.width
        m = 1 if classwise is None else classwise.m
        # No row of probabilities has m entries above 1/m; other edges may be lower.
        first_edge = _at_least(classwise)
        room = rows_each * min(self.groups, int(1.001 / first_edge) + 1)
        each = self.n if classwise is not None or self.norms else 1
        self.top, self.share = (self._empty(each, torch.float32) for _ in range(2))
        top, share = self.top, self.share
        column = self._empty(programs, wide, torch.float32) if classwise is not None else top
        listed = self._empty(programs, torch.int32)
        entries = self._empty(programs * room if classwise is not None else 1, torch.int32)
        logits, stride = self.samples.from_logits, self.x.stride(0)
        kernels.read_rows[(programs,)](
            self.x, self.y, *self.scalars, self.found[1:], self.found,
            top, share, column, entries, listed,
            self.n, rows_each, room, first_edge, self.samples.row_sum_tolerance,
            K=self.k, STRIDE=stride, GROUPS=self.groups, WIDTH=self.width, ALIGNED=self._aligned,
            LOGITS=logits, CLASSWISE=classwise is not None,
            MASKED=wide != self.k and self.x.dtype == torch.float16,
            NORMS=classwise is not None or self.norms,
            num_warps=max(1, wide // 1024),
        )  # fmt: skip
        if classwise is None:
            return None
        table, sums, edges = self._zeros(self.k, m, 2, 2), self._zeros(wide), self._edges(classwise)
        kernels.read_listed[(programs,)](
            self.x, self.y, top, share, entries, listed, table, edges, rows_each, room, m,
            K=self.k, STRIDE=stride, GROUPS=self.groups, WIDTH=self.width, LOGITS=logits,
            BLOCK=32, STEPS=m.bit_length(), num_warps=4,
        )  # fmt: skip
        kernels.read_low_labels[(-(-self.n // 1024),)](
            self.y, self.p_y, table, self.n, m, first_edge, BLOCK=1024
        )
        block, slices = min(256, wide), min(128, programs)
        kernels.add_columns[(wide // block, slices)](
            column, sums, programs, -(-programs // slices), WIDE=wide, BLOCK=block
        )
        return self._by_class(table, sums[: self.k])

    def _losses(self) -> Tensor:
        block, loops = 256, 8
        programs = -(-self.n // (block * loops))
        parts = self._empty(programs, N_LOSSES, torch.float64)
        kernels.add_losses[(programs,)](
            *self.scalars, parts, self.n,
            LOGITS=self.samples.from_logits, BLOCK=block, LOOPS=loops,
        )  # fmt: skip
        return parts.sum(dim=0)

    def _by_class(self, table: Tensor, column: Tensor) -> Tensor:
        """All but the first bin from the entries above it; the first from the columns' sums."""
        n, u = table[..., 0].sum(dim=2), table[..., 1].sum(dim=2)
        n[:, 0] = self.n - n[:, 1:].sum(dim=1)
        u[:, 0] = column
        unknown = torch.full_like(u, float("nan"))
        return fields_of_labels(n, u, unknown, table[:, :, 1, 0], table[:, :, 1, 1])

    def _long_rows(self) -> None:
        kernels.read_long_rows[(self.n,)](
            self.x, self.y, *self.scalars, self.found,
            K=self.k, STRIDE=self.x.stride(0), GROUPS=4096 // self.width, WIDTH=self.width,
            ALIGNED=self._aligned, num_warps=8,
        )  # fmt: skip

    def _edges(self, cuts: Cuts) -> Tensor:
        """Inner edges, and one that nothing reaches, so that there always is one."""
        return edges_on(self.device, cuts.inner.tobytes())

    def _top_label(self, cuts: Cuts) -> Tensor:
        """n, u, u^2, z and uz of the top label in bins."""
        m, edges = cuts.m, self._edges(cuts)
        margin = MARGIN if self.samples.from_logits else 0.0
        near_n = torch.zeros(1, dtype=torch.int32, device=self.device)
        near = self._empty(self.n, torch.int32)
        scalars = self.scalars[:2]
        if m <= FEW_BINS:
            block, loops = 64, 32
            programs = -(-self.n // (block * loops))
            table = self._empty(programs, FEW_BINS, N_SUMS, torch.float64)
            kernels.add_to_few_bins[(programs,)](
                *scalars, table, near, near_n, edges, self.n, m, margin,
                BLOCK=block, BINS=FEW_BINS, LOOPS=loops, num_warps=4,
            )  # fmt: skip
        else:
            table = self._zeros(64, m, N_SUMS)
            kernels.add_to_bins[(-(-self.n // 512),)](
                *scalars, table, near, near_n, edges, self.n, m, margin,
                BLOCK=512, STEPS=m.bit_length(), COPIES=64,
            )  # fmt: skip
        if margin:
            kernels.refine_near[(REFINERS,)](
                self.x, *scalars, table, near, near_n, edges, m, REFINERS,
                K=self.k, STRIDE=self.x.stride(0),
                CHUNK=min(1024, triton.next_power_of_2(self.k)), STEPS=m.bit_length(),
            )  # fmt: skip
        return fields_of_labels(*table.sum(dim=0)[:m].unbind(1))


@lru_cache(maxsize=16)
def edges_on(device: torch.device, inner: bytes) -> Tensor:
    """Inner edges, and one that nothing reaches, so that there always is one."""
    # Kept: a transfer from here would wait for the kernels before it.
    return torch.tensor(np.append(np.frombuffer(inner), np.inf), device=device)


def _brought(pieces: list[Tensor]) -> list[NDArray[np.float64]]:
    """Tensors as arrays on the host, in one transfer."""
    ends = np.cumsum([part.numel() for part in pieces])[:-1]
    whole = torch.cat([part.reshape(-1) for part in pieces]).cpu().numpy()
    return [
        array.reshape(part.shape) for array, part in zip(np.split(whole, ends), pieces, strict=True)
    ]


def _at_least(cuts: Cuts | None) -> float:
    """The smallest float32 at or above the first inner edge: p reaches both or neither."""
    if cuts is None or cuts.m == 1:
        return 2.0
    edge = float(cuts.inner[0])
    single = np.float32(edge)
    return float(single if single >= edge else np.nextafter(single, np.float32(np.inf)))
