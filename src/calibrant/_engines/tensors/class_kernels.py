"""Triton kernels over every entry of (n, k) predictions, for bins of equal mass in each class.
`class_quantiles` calls them; nothing else knows them.

A thread owns a class: what it compares with and what it sums stay in its registers from row to row.
A probability in single precision is 30 bits, which order it; they are counted 12, 9 and 9 at a
time.
"""

import triton
import triton.language as tl

LOG2E = tl.constexpr(1.4426950408889634)
# Edges of a class, at most.
EDGES = tl.constexpr(16)
PARTS = tl.constexpr(512)
CELLS = tl.constexpr(4096)


@triton.jit
def probability(x_ptr, top_ptr, share_ptr, row, col, there, STRIDE, LOGITS: tl.constexpr):
    """Entries as probabilities in float32: the same from the same row, whoever asks."""
    x = tl.load(x_ptr + row.to(tl.int64) * STRIDE + col, mask=there, other=0.0).to(tl.float32)
    if LOGITS:
        top = tl.load(top_ptr + row, mask=there, other=0.0)
        share = tl.load(share_ptr + row, mask=there, other=0.0)
        p = tl.exp2(x * LOG2E - top * LOG2E) * share
    else:
        p = x
    # Zero is added so that -0 and 0 are one.
    return tl.minimum(tl.maximum(p, 0.0), 1.0) + 0.0


@triton.jit
def lanes(K, COLS: tl.constexpr, LANES: tl.constexpr):
    """The class of each thread, and how many rows it is from the first."""
    lane = tl.arange(0, LANES)
    col = tl.program_id(0) * COLS + lane % COLS
    return col, lane // COLS, col < K


@triton.jit
def count_cells(
    x_ptr, top_ptr, share_ptr, counts_ptr, n, K, STRIDE, rows_each, above,
    LOGITS: tl.constexpr, COLS: tl.constexpr, LANES: tl.constexpr,
    UNROLL: tl.constexpr,
):  # fmt: skip
    """Entries of each class above a number (as bits), by the leading 12 bits: (classes, CELLS)."""
    col, offset, known = lanes(K, COLS, LANES)
    ROWS: tl.constexpr = LANES // COLS
    first = tl.program_id(1) * rows_each
    for start in tl.range(first, tl.minimum(first + rows_each, n), ROWS, loop_unroll_factor=UNROLL):
        row = start + offset
        there = known & (row < n)
        p = probability(x_ptr, top_ptr, share_ptr, row, col, there, STRIDE, LOGITS)
        bits = p.to(tl.int32, bitcast=True)
        cell = counts_ptr + col * CELLS + (bits >> 18)
        tl.atomic_add(cell, 1, mask=there & (bits > above), sem="relaxed")


@triton.jit
def count_parts(
    x_ptr, top_ptr, share_ptr, prefixes_ptr, counts_ptr, n, K, STRIDE, rows_each, above,
    SHIFT: tl.constexpr, LOGITS: tl.constexpr, COLS: tl.constexpr, LANES: tl.constexpr,
    UNROLL: tl.constexpr,
):  # fmt: skip
    """Entries that share their leading bits with an edge of their class, by the next 9 bits:
    (classes, EDGES, PARTS), where equal leading bits share the place of the first.
    """
    col, offset, known = lanes(K, COLS, LANES)
    ROWS: tl.constexpr = LANES // COLS
    edge = tl.arange(0, EDGES)
    prefixes = tl.load(
        prefixes_ptr + col[None, :] * EDGES + edge[:, None],
        mask=known[None, :] & (edge < EDGES)[:, None], other=2147483647,
    )  # fmt: skip
    first = tl.program_id(1) * rows_each
    for start in tl.range(first, tl.minimum(first + rows_each, n), ROWS, loop_unroll_factor=UNROLL):
        row = start + offset
        there = known & (row < n)
        p = probability(x_ptr, top_ptr, share_ptr, row, col, there, STRIDE, LOGITS)
        bits = p.to(tl.int32, bitcast=True)
        prefix = bits >> SHIFT
        place = tl.sum((prefixes < prefix[None, :]).to(tl.int32), axis=0)
        following = tl.load(prefixes_ptr + col * EDGES + place, mask=there, other=-1)
        beside = following == prefix
        part = (bits >> (SHIFT - 9)) & (PARTS - 1)
        cell = counts_ptr + (col * EDGES + place) * PARTS + part
        tl.atomic_add(cell, 1, mask=there & beside & (bits > above), sem="relaxed")


@triton.jit
def add_to_class_bins(
    x_ptr, top_ptr, share_ptr, edges_ptr, sums_ptr, n, K, STRIDE, rows_each, above,
    SUM: tl.constexpr, SQUARES: tl.constexpr, LOGITS: tl.constexpr, COLS: tl.constexpr,
    LANES: tl.constexpr, UNROLL: tl.constexpr,
):  # fmt: skip
    """Sums of u and u^2 below each edge of each class, (2, classes, EDGES). The differences of
    neighbours are sums of bins: what is below an edge is the smaller part, so that they are exact.

    Sums are taken in SUM over some rows, and in float64 over all.
    """
    col, offset, known = lanes(K, COLS, LANES)
    ROWS: tl.constexpr = LANES // COLS
    edge = tl.arange(0, EDGES)[:, None]
    high = tl.load(
        edges_ptr + col[None, :] * EDGES + edge, mask=known[None, :] & (edge >= 0), other=-1.0
    )
    total_u = tl.zeros([EDGES, LANES], tl.float64)
    total_u2 = tl.zeros([EDGES, LANES], tl.float64)
    first = tl.program_id(1) * rows_each
    last = tl.minimum(first + rows_each, n)
    for run in range(first, last, ROWS * 64):
        sum_u = tl.zeros([EDGES, LANES], SUM)
        sum_u2 = tl.zeros([EDGES, LANES], SUM)
        end = tl.minimum(run + ROWS * 64, last)
        for start in tl.range(run, end, ROWS, loop_unroll_factor=UNROLL):
            row = start + offset
            there = known & (row < last)
            p = probability(x_ptr, top_ptr, share_ptr, row, col, there, STRIDE, LOGITS)
            there = there & (p.to(tl.int32, bitcast=True) > above)
            p = tl.where(there, p, 9.0)
            u = p.to(SUM)
            below = p[None, :] < high
            sum_u += tl.where(below, u[None, :], 0.0)
            if SQUARES:
                sum_u2 += tl.where(below, (u * u)[None, :], 0.0)
        total_u += sum_u
        total_u2 += sum_u2
    out = sums_ptr + col[None, :] * EDGES + edge
    tl.atomic_add(out, total_u, mask=known[None, :] & (edge >= 0), sem="relaxed")
    if SQUARES:
        there = known[None, :] & (edge >= 0)
        tl.atomic_add(out + K * EDGES, total_u2, mask=there, sem="relaxed")


@triton.jit
def add_labels(
    x_ptr, top_ptr, share_ptr, y_ptr, edges_ptr, sums_ptr, n, K, STRIDE, above,
    LOGITS: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """Labels' own entries by class and bin: how many, and their u, (2, classes, EDGES)."""
    row = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    there = row < n
    y = tl.load(y_ptr + row, mask=there, other=0)
    p = probability(x_ptr, top_ptr, share_ptr, row, y, there, STRIDE, LOGITS)
    there = there & (p.to(tl.int32, bitcast=True) > above)
    bin_ = tl.where(there, 0, 0)
    for j in range(EDGES - 1):
        edge = tl.load(edges_ptr + y * EDGES + j, mask=there, other=3.0)
        bin_ += (p >= edge).to(tl.int32)
    out = sums_ptr + y * EDGES + bin_
    tl.atomic_add(out, 1.0, mask=there, sem="relaxed")
    tl.atomic_add(out + K * EDGES, p.to(tl.float64), mask=there, sem="relaxed")
