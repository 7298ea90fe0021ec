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
import triton.language as tl
from torch import Tensor

from calibrant._core.binning import Cuts
from calibrant._core.loss_sums import FIELDS as LOSS_FIELDS
from calibrant._core.typing import Array
from calibrant._data.samples import BadRow
from calibrant._data.tensor_samples import TensorSamples
from calibrant._engines.arrays.passes import MatrixSums
from calibrant._engines.protocol import Findings
from calibrant._engines.tensors import kernels, short_kernels
from calibrant._engines.tensors.class_bins import MOST_BINS, NOTHING, Entries
from calibrant._engines.tensors.sums import fields_of_labels
from calibrant._engines.tensors.tally import to_host

# The most rows of one launch, so that places in lists of rows and entries stay within 32 bits;
# rows of few classes have no lists of entries, so that more may be read.
ROWS, MOST_SHORT_ROWS = 1 << 26, 1 << 30
LONGEST_IN_REGISTERS = 4096
LONGEST = 1 << 18
# Up to this many classes a thread reads a row by itself; the second is for bins of every class.
SHORT, SHORT_CLASSES = 128, 128
SHORTEST = 32
# Programs that share the rows: several for each multiprocessor of a large device.
PROGRAMS = 132 * 16
FEW_BINS = 16
# The most rows that a thread sums in single precision.
MOST_LOOPS = 256
# Confidences this close to an edge are computed again: five times the error seen.
MARGIN = 1e-6
# Programs that compute these confidences.
REFINERS = 512
N_SUMS = 5
N_LOSSES = 6


def can_read(samples: TensorSamples, classwise: Cuts | None) -> bool:
    """Whether the kernels can read these samples: hard labels, no weights, half or single
    precision, and not too many classes (fewer if sums of every class are requested).
    """
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
    """The requested sums of (n, k) predictions (see `rows.matrix_sums`), from one read by the
    kernels, in as many launches as rows require.
    """
    total: MatrixSums | None = None
    short = samples.n_classes <= (SHORT if classwise is None else SHORT_CLASSES)
    step = MOST_SHORT_ROWS if short else ROWS
    for start in range(0, samples.n, step):
        stop = min(start + step, samples.n)
        read = _RowRead(samples, start, stop, classwise=classwise)
        part = read.sums(classwise, confidence, losses)
        total = part if total is None else total + part
    assert total is not None
    return total


def confidences(samples: TensorSamples) -> tuple[Tensor, Tensor, Findings]:
    """Each row's largest probability in float32, whether that class is the label (both on the
    device), and the findings.
    """
    u, hit, findings = [], [], Findings()
    for start in range(0, samples.n, ROWS):
        read = _RowRead(samples, start, min(start + ROWS, samples.n))
        findings = findings + read.sums(None, None, False).findings
        u.append(read.u)
        hit.append(read.hit)
    return (u[0], hit[0], findings) if len(u) == 1 else (torch.cat(u), torch.cat(hit), findings)


def norms(samples: TensorSamples) -> tuple[Tensor, Tensor, Findings]:
    """Each row's largest logit, 1 over its sum of exponentials relative to that logit, and the
    findings. Raises BadRow if a row is invalid.
    """
    read = _RowRead(samples, 0, samples.n, norms=True)
    findings = read.sums(None, None, False).findings
    return read.top, read.share, findings


def fits_class_quantiles(samples: TensorSamples, m: int) -> bool:
    """Whether the kernels can read these samples and cut each class into m bins of equal mass."""
    short = samples.n_classes <= LONGEST_IN_REGISTERS and samples.n <= ROWS
    return m <= MOST_BINS and short and can_read(samples, None)


def class_quantiles(
    samples: TensorSamples, m: int, above: float | None = None, *, squares: bool = True
) -> tuple[Array, Findings]:
    """Sums of each class in m bins of equal mass, (classes, m, fields), found without a sort, and
    the findings. With `above` only predictions above that number count.

    The memory taken is two numbers for each row. Without `squares` the sums of squared predictions
    are NaN.
    """
    top, share, findings = norms(samples)
    low = NOTHING if above is None else _bits_at_most(above)
    x, y = samples.predictions, samples.targets.long()
    entries = Entries(x, y, samples.from_logits, top, share, low)
    return entries.quantile_fields(m, squares=squares).cpu().numpy(), findings


def _bits_at_most(number: float) -> int:
    """The bits, as a whole number, of the largest float32 at or below a number in [0, 1]."""
    single = np.float32(number)
    if float(single) > number:
        single = np.nextafter(single, np.float32(0))
    return int(single.view(np.int32))


@dataclass(eq=False)
class _RowRead:
    """One read of the rows from `start` to `stop` by the kernels: their launches, and the tensors
    that they fill.
    """

    samples: TensorSamples
    start: int
    stop: int
    # Whether to keep what turns logits into probabilities: each row's largest, and 1 over the sum.
    norms: bool = False
    classwise: Cuts | None = None

    def __post_init__(self) -> None:
        x, y = self.samples.predictions, self.samples.targets
        if self.stop - self.start < self.samples.n:
            x, y = x[self.start : self.stop], y[self.start : self.stop]
        self.x, self.y = x, y.long()
        self.n, self.k = x.shape
        self.device = self.x.device
        self.width = 16 // self.x.element_size()
        self.groups = triton.next_power_of_2(-(-self.k // self.width))
        # The kernels store of each row its confidence, the label's probability, the sum of squared
        # probabilities, how far the label's logit is below the largest, and whether the top label
        # is right. With few classes the second to fourth are not needed.
        if self._short(self.classwise):
            self.u = self.p_y = self.p2 = self.gap = self._empty(self.n, torch.float32)
        else:
            self.u, self.p_y, self.p2, self.gap = self._empty(4, self.n, torch.float32).unbind(0)
        self.hit = self._empty(self.n, torch.uint8)
        # How far the first bad row is from the end, then the numbers of clipped entries, of rows
        # that do not sum to 1, and of rows near an edge.
        status = torch.zeros(4, dtype=torch.int64, device=self.device)
        self.found, self.near_n = status[:3], status[3:]

    @property
    def scalars(self) -> tuple[Tensor, ...]:
        """The tensors of five numbers stored for each row: confidence, whether the top label is
        right, the label's probability, the sum of squared probabilities, and how far the label's
        logit is below the largest.
        """
        return self.u, self.hit, self.p_y, self.p2, self.gap

    def _short(self, classwise: Cuts | None) -> bool:
        """Whether rows are short enough for a thread to read a whole row, and classes have few
        enough bins.
        """
        if classwise is None:
            return self.k <= SHORT
        return self.k <= SHORT_CLASSES and classwise.m <= MOST_BINS

    @property
    def _aligned(self) -> bool:
        """Whether every row begins at a multiple of 16 bytes."""
        return self.x.stride(0) % self.width == 0 and self.x.data_ptr() % 16 == 0

    def _empty(self, *shape: Any) -> Tensor:
        """A tensor on the device with unset values; the last argument is its type, those before are
        its shape.
        """
        return torch.empty(shape[:-1], dtype=shape[-1], device=self.device)

    def _zeros(self, *shape: int) -> Tensor:
        """A float64 tensor of zeros on the device."""
        return torch.zeros(shape, dtype=torch.float64, device=self.device)

    def sums(self, classwise: Cuts | None, confidence: Cuts | None, losses: bool) -> MatrixSums:
        """The requested sums (None for the others) and the findings, brought to the host in one
        transfer. Raises BadRow if a row is invalid.
        """
        by_class, loss_sums, bins = None, None, None
        if self.k > LONGEST_IN_REGISTERS:
            self._long_rows()
        elif self._short(classwise):
            self.norms = self.norms or classwise is not None
            loss_sums, bins = self._short_rows(losses, confidence)
            by_class = self._short_classes(classwise) if classwise is not None else None
        else:
            by_class = self._rows(classwise)
        pieces = [self.found.double()]
        if losses:
            pieces.append(self._losses() if loss_sums is None else loss_sums)
        if confidence is not None:
            pieces.append(self._top_label(confidence) if bins is None else bins)
        pieces += [by_class] if by_class is not None else []
        host = iter(to_host(*pieces))
        bad, n_clipped, n_off = next(host)
        if bad:
            raise BadRow(self.stop - int(bad))
        loss, n_log = np.zeros(len(LOSS_FIELDS)), 0.0
        if losses:
            loss[:2] = self.n
            *loss[2:7], n_log = next(host)
        top_label = next(host) if confidence is not None else None
        table = next(host) if classwise is not None else None
        findings = Findings(int(n_clipped), int(n_off), int(n_log))
        return MatrixSums(table, top_label, loss if losses else None, findings)

    def _rows(self, classwise: Cuts | None) -> Tensor | None:
        """Launch the kernels for rows that fit the registers, and return the sums of each class in
        the bins between the cuts, (classes, bins, fields), squares being NaN; None if there are no
        cuts.
        """
        rows_each = 32 if classwise is None else 128
        programs = -(-self.n // rows_each)
        wide = self.groups * self.width
        m = 1 if classwise is None else classwise.m
        # At most 1 / edge entries of a row are above an edge, which bounds the room for the list.
        first_edge = _float32_at_or_above(float(classwise.inner[0])) if classwise and m > 1 else 2.0
        room = rows_each * min(self.groups, int(1.001 / first_edge) + 1)
        norms = classwise is not None or self.norms
        if norms:
            self.top, self.share = self._empty(2, self.n, torch.float32).unbind(0)
        top, share = (self.top, self.share) if norms else (self.u, self.u)
        column, entries, listed = top, self.u, self.u
        if classwise is not None:
            column = self._empty(programs, wide, torch.float32)
            listed = self._empty(programs, torch.int32)
            entries = self._empty(programs * room, torch.int32)
        logits, stride = self.samples.from_logits, self.x.stride(0)
        kernels.read_rows[(programs,)](
            self.x,
            self.y,
            *self.scalars,
            self.found[1:],
            self.found,
            top,
            share,
            column,
            entries,
            listed,
            self.n,
            rows_each,
            room,
            first_edge,
            self.samples.row_sum_tolerance,
            K=self.k,
            STRIDE=stride,
            GROUPS=self.groups,
            WIDTH=self.width,
            ALIGNED=self._aligned,
            LOGITS=logits,
            CLASSWISE=classwise is not None,
            MASKED=wide != self.k and self.x.dtype == torch.float16,
            NORMS=norms,
            num_warps=max(1, wide // 1024),
        )
        if classwise is None:
            return None
        table, sums, edges = self._zeros(self.k, m, 2, 2), self._zeros(wide), self._edges(classwise)
        kernels.read_listed[(programs,)](
            self.x,
            self.y,
            top,
            share,
            entries,
            listed,
            table,
            edges,
            rows_each,
            room,
            m,
            K=self.k,
            STRIDE=stride,
            GROUPS=self.groups,
            WIDTH=self.width,
            LOGITS=logits,
            BLOCK=32,
            STEPS=m.bit_length(),
            num_warps=4,
        )
        kernels.read_low_labels[(-(-self.n // 1024),)](
            self.y, self.p_y, table, self.n, m, first_edge, BLOCK=1024
        )
        block, slices = min(256, wide), min(128, programs)
        kernels.add_columns[(wide // block, slices)](
            column, sums, programs, -(-programs // slices), WIDE=wide, BLOCK=block
        )
        return self._class_fields(table, sums[: self.k])

    def _short_rows(self, losses: bool, cuts: Cuts | None) -> tuple[Tensor, Tensor | None]:
        """Launch the kernel for rows of few classes, a thread for each row; return the sums of
        losses (unset unless requested), and the sums (bins, fields) of the top label or None.

        The second comes only for logits of more than SHORTEST classes in at most FEW_BINS bins.
        """
        logits = self.samples.from_logits
        rows, warps = (128, 4) if self.k <= 32 else (32, 1)
        width = min(self.width, self.k & -self.k, self.x.stride(0) & -self.x.stride(0))
        loops = max(1, min(MOST_LOOPS, -(-self.n // (rows * PROGRAMS))))
        programs = -(-self.n // (rows * loops))
        self.top = self.share = self.u
        if self.norms:
            self.top, self.share = self._empty(2, self.n, torch.float32).unbind(0)
        parts = self._empty(programs, N_LOSSES, torch.float64)
        # For the shortest rows the sums of bins would take more room than the rows themselves: a
        # later kernel makes them.
        fused = logits and self.k > SHORTEST
        m = cuts.m if cuts is not None and fused and cuts.m <= FEW_BINS else 0
        table = self._empty(programs, m, N_SUMS, torch.float64)
        inner = single_edges(cuts.inner.tobytes()) if cuts is not None and m else np.empty(0)
        near = self._near()
        short_kernels.read_short_rows[(programs,)](
            self.x,
            self.y,
            self.u,
            self.hit,
            self.top,
            self.share,
            parts,
            table,
            near,
            self.near_n,
            edges_on(self.device, inner.tobytes()),
            self.found,
            self.n,
            self.samples.row_sum_tolerance,
            MARGIN,
            loops,
            K=self.k,
            STRIDE=self.x.stride(0),
            WIDTH=width,
            ROWS=rows,
            LOGITS=logits,
            NORMS=self.norms,
            LOSSES=losses,
            M=m,
            EVEN_BINS=are_even(inner.tobytes()),
            SUM=tl.float32 if logits else tl.float64,
            num_warps=warps,
        )
        bins = None
        if cuts is not None and m:
            self._refine(cuts, table, near)
            bins = fields_of_labels(*table.sum(dim=0).unbind(1))
        return parts.sum(dim=0), bins

    def _short_classes(self, cuts: Cuts) -> Tensor:
        """The sums of each class in the bins between the cuts, (classes, bins, fields), squares
        being NaN, for rows of few classes: each thread sums one class.
        """
        entries = Entries(self.x, self.y, self.samples.from_logits, self.top, self.share)
        inner = edges_on(self.device, single_edges(cuts.inner.tobytes()).tobytes())
        return entries.fixed_fields(inner[:-1].float())

    def _losses(self) -> Tensor:
        """The sums of the proper losses, and the number of clipped logarithms, from the five
        numbers stored for each row.
        """
        block, loops = 256, 8
        programs = -(-self.n // (block * loops))
        parts = self._empty(programs, N_LOSSES, torch.float64)
        kernels.add_losses[(programs,)](
            *self.scalars, parts, self.n, LOGITS=self.samples.from_logits, BLOCK=block, LOOPS=loops
        )
        return parts.sum(dim=0)

    def _class_fields(self, table: Tensor, column: Tensor) -> Tensor:
        """The sums of each class, (classes, bins, fields): the first bin from `column`, each
        class's sum of predictions there; the other bins from `table`, the counts and sums of their
        entries (classes, bins, 2, 2).
        """
        n, u = table[..., 0].sum(dim=2), table[..., 1].sum(dim=2)
        n[:, 0] = self.n - n[:, 1:].sum(dim=1)
        u[:, 0] = column
        unknown = torch.full_like(u, float("nan"))
        return fields_of_labels(n, u, unknown, table[:, :, 1, 0], table[:, :, 1, 1])

    def _long_rows(self) -> None:
        """Launch the kernel for rows of logits that are too long for the registers."""
        kernels.read_long_rows[(self.n,)](
            self.x,
            self.y,
            *self.scalars,
            self.found,
            self.n,
            K=self.k,
            STRIDE=self.x.stride(0),
            GROUPS=4096 // self.width,
            WIDTH=self.width,
            ALIGNED=self._aligned,
            num_warps=8,
        )

    def _edges(self, cuts: Cuts) -> Tensor:
        """The inner edges of the bins on the device, followed by an infinite edge, so that there is
        at least one.
        """
        return edges_on(self.device, cuts.inner.tobytes())

    def _near(self) -> Tensor:
        """A list with unset values, to be filled with the numbers of rows whose confidence is very
        near an edge.
        """
        return self._empty(self.n, torch.int32)

    def _refine(self, cuts: Cuts, table: Tensor, near: Tensor) -> None:
        """Move the rows listed in `near` to the right bins of the table, by their confidences
        computed in float64; the counts are exact afterwards.
        """
        kernels.refine_near[(REFINERS,)](
            self.x,
            self.u,
            self.hit,
            table,
            near,
            self.near_n,
            self._edges(cuts),
            cuts.m,
            REFINERS,
            K=self.k,
            STRIDE=self.x.stride(0),
            CHUNK=min(1024, triton.next_power_of_2(self.k)),
            STEPS=cuts.m.bit_length(),
        )

    def _top_label(self, cuts: Cuts) -> Tensor:
        """The sums of the top label in the bins between the cuts, (bins, fields)."""
        m, edges = cuts.m, self._edges(cuts)
        margin = MARGIN if self.samples.from_logits else 0.0
        near = self._near()
        scalars = self.scalars[:2]
        if m <= FEW_BINS and margin:
            block, depth = 128, 4
            most = PROGRAMS // 4  # the end of a program, where threads meet, is its longest part
            loops = max(1, min(MOST_LOOPS // depth, -(-self.n // (block * depth * most))))
            programs = -(-self.n // (block * depth * loops))
            table = self._empty(programs, m, N_SUMS, torch.float64)
            inner = single_edges(cuts.inner.tobytes())
            short_kernels.add_confidences[(programs,)](
                *scalars,
                table,
                near,
                self.near_n,
                edges_on(self.device, inner.tobytes()),
                self.n,
                margin,
                loops,
                M=m,
                EVEN_BINS=are_even(inner.tobytes()),
                BLOCK=block,
                DEPTH=depth,
                num_warps=4,
            )
        elif m <= FEW_BINS:
            block = 128
            programs = min(-(-self.n // block), PROGRAMS)
            table = self._empty(programs, FEW_BINS, N_SUMS, torch.float64)
            kernels.add_to_few_bins[(programs,)](
                *scalars,
                table,
                edges,
                self.n,
                m,
                programs * block,
                BLOCK=block,
                BINS=FEW_BINS,
                num_warps=4,
            )
        else:
            table = self._zeros(64, m, N_SUMS)
            kernels.add_to_bins[(-(-self.n // 512),)](
                *scalars,
                table,
                near,
                self.near_n,
                edges,
                self.n,
                m,
                margin,
                BLOCK=512,
                STEPS=m.bit_length(),
                COPIES=64,
            )
        if margin:
            self._refine(cuts, table, near)
        return fields_of_labels(*table.sum(dim=0)[:m].unbind(1))


@lru_cache(maxsize=16)
def edges_on(device: torch.device, inner: bytes) -> Tensor:
    """Inner edges, given as the bytes of float64 numbers, as a tensor on a device, followed by an
    infinite edge, so that there is at least one.
    """
    # Cached: a transfer to the device would wait for the kernels before it.
    return torch.tensor(np.append(np.frombuffer(inner), np.inf), device=device)


@lru_cache(maxsize=16)
def single_edges(inner: bytes) -> Array:
    """The smallest float32 at or above each inner edge; edges are given as the bytes of float64
    numbers.
    """
    return np.array([_float32_at_or_above(edge) for edge in np.frombuffer(inner).tolist()])


@lru_cache(maxsize=16)
def are_even(edges: bytes) -> bool:
    """Whether inner edges, given as the bytes of float64 numbers, divide [0, 1] into bins of equal
    width, up to rounding.
    """
    inner = np.frombuffer(edges)
    even = np.arange(1, inner.size + 1) / (inner.size + 1)
    return bool((np.abs(inner - even) < 1e-7).all())


def _float32_at_or_above(edge: float) -> float:
    """The smallest float32 at or above an edge: for float32 predictions it replaces the edge
    exactly.
    """
    single = np.float32(edge)
    # Compared as Python's floats, since NumPy would compare in single precision.
    return float(single if float(single) >= edge else np.nextafter(single, np.float32(np.inf)))
