"""Triton kernels in which a thread owns a row and sums bins of confidences in single precision over
some rows: rows of few classes, and confidences of logits. `fused` calls them; nothing else knows
them.

What a thread keeps for each bin is a tensor of its own, in tuples: a tensor of bins and threads
would be spread over threads by both.
"""

import triton
import triton.language as tl

from calibrant._engines.tensors.kernels import (
    LOG2E,
    LOG_LIMIT,
    N_LOSSES,
    N_SUMS,
    NOTHING,
    OVERSHOOT,
    ROW_SUM_TOLD,
    store_sums,
)

# One number counts rows and, times this, hits: a thread sees fewer rows than this.
HITS = tl.constexpr(4096.0)


@triton.jit
def copies_of(value, N: tl.constexpr):
    """A tuple that holds the value N times."""
    out = ()
    for _ in tl.static_range(N):
        out = out + (value,)
    return out


@triton.jit
def single_edges(edges_ptr, M: tl.constexpr):
    """The M - 1 inner edges of M bins, loaded in float32, as a tuple."""
    out = ()
    for b in tl.static_range(M - 1):
        out = out + (tl.load(edges_ptr + b).to(tl.float32),)
    return out


@triton.jit
def add_to_each_bin(bins, u, hit, there, edges, M: tl.constexpr):
    """The sums of each bin (rows and hits in one number, confidences u, u^2, u of hits) with one
    more row for each thread added. Threads whose row is not `there` add nothing.
    """
    v = tl.where(there, u, float("nan"))  # in no bin
    uz = tl.where(hit, u, 0.0)
    both = tl.where(hit, HITS + 1.0, 1.0)
    out = ()
    for b in tl.static_range(M):
        if M == 1:
            mine = there
        elif b == 0:
            mine = v < edges[0]
        elif b == M - 1:
            mine = v >= edges[M - 2]
        else:
            mine = (v >= edges[b - 1]) & (v < edges[b])
        # Written this way, an addition that does not apply costs nothing.
        new = (
            tl.where(mine, bins[b][0] + both, bins[b][0]),
            tl.where(mine, bins[b][1] + u, bins[b][1]),
            tl.where(mine, bins[b][2] + u * u, bins[b][2]),
            tl.where(mine, bins[b][3] + uz, bins[b][3]),
        )
        out = out + (new,)
    return out


@triton.jit
def is_near(u, there, edges, margin, M: tl.constexpr, EVEN_BINS: tl.constexpr):
    """Whether a confidence is within `margin` of an edge, so that it must be computed again in
    float64. EVEN_BINS says that the bins have equal widths.
    """
    if EVEN_BINS:
        scaled = u * M
        near = tl.abs(scaled - tl.floor(scaled + 0.5)) < margin * M
        near = near & (scaled > 0.5) & (scaled < M - 0.5)
    else:
        gap = u * 0.0 + 9.0
        for b in tl.static_range(M - 1):
            gap = tl.minimum(gap, tl.abs(u - edges[b]))
        near = gap < margin
    return there & near


@triton.jit
def store_bins(out, bins, M: tl.constexpr):
    """Store the sums of a program's bins in float64: rows, u, u^2, hits, u of hits (u being the
    confidence).
    """
    for b in tl.static_range(M):
        hits = tl.floor(bins[b][0] / HITS)
        n = bins[b][0] - hits * HITS
        store_sums(out + b * N_SUMS, (n, bins[b][1], bins[b][2], hits, bins[b][3]), N_SUMS)


@triton.jit
def add_confidences(
    u_ptr,
    hit_ptr,
    table_ptr,
    near_ptr,
    near_n_ptr,
    edges_ptr,
    n,
    margin,
    loops,
    M: tl.constexpr,
    EVEN_BINS: tl.constexpr,
    BLOCK: tl.constexpr,
    DEPTH: tl.constexpr,
):
    """Sum confidences of logits into M bins, and list in `near` the rows within `margin` of an
    edge.
    """
    program = tl.program_id(0)
    edges = single_edges(edges_ptr, M)
    bins = copies_of(copies_of(tl.zeros([BLOCK], tl.float32), 4), M)
    for t in range(loops):
        first = (program * loops + t) * (BLOCK * DEPTH) + tl.arange(0, BLOCK)
        us, zs = (), ()
        for d in tl.static_range(DEPTH):
            row = first + d * BLOCK
            us = us + (tl.load(u_ptr + row, mask=row < n, other=0.0),)
            zs = zs + (tl.load(hit_ptr + row, mask=row < n, other=0) > 0,)
        for d in tl.static_range(DEPTH):
            row = first + d * BLOCK
            bins = add_to_each_bin(bins, us[d], zs[d], row < n, edges, M)
            near = is_near(us[d], row < n, edges, margin, M, EVEN_BINS)
            slot = tl.atomic_add(near_n_ptr + row * 0, 1, mask=near, sem="relaxed")
            tl.store(near_ptr + slot, row, mask=near)
    store_bins(table_ptr + program * (M * N_SUMS), bins, M)


@triton.jit
def read_short_rows(
    x_ptr,
    y_ptr,
    u_ptr,
    hit_ptr,
    top_ptr,
    share_ptr,
    parts_ptr,
    table_ptr,
    near_ptr,
    near_n_ptr,
    edges_ptr,
    found_ptr,
    n,
    tolerance,
    margin,
    loops,
    K: tl.constexpr,
    STRIDE: tl.constexpr,
    WIDTH: tl.constexpr,
    ROWS: tl.constexpr,
    LOGITS: tl.constexpr,
    NORMS: tl.constexpr,
    LOSSES: tl.constexpr,
    M: tl.constexpr,
    EVEN_BINS: tl.constexpr,
    SUM: tl.constexpr,
):
    """Do the work of `read_rows` for few classes: a thread reads its whole row into registers, and
    sums losses and M bins of the top label at once.

    With M = 0 there are no bins, and confidences and hits are stored instead; else only those of
    rows near an edge are. Sums are taken in the type SUM over the `loops` rows of a thread, and in
    float64 over threads.
    """
    program = tl.program_id(0)
    j = tl.arange(0, WIDTH)
    edges = single_edges(edges_ptr, M)
    zero = tl.zeros([ROWS], SUM)
    brier, log, spherical, wrong, confident, n_log = zero, zero, zero, zero, zero, zero
    bins = copies_of(copies_of(tl.zeros([ROWS], tl.float32), 4), M)
    bad = tl.zeros([ROWS], tl.int32)
    n_clipped = tl.zeros([ROWS], tl.int32)
    n_off = tl.zeros([ROWS], tl.int32)
    for t in range(loops):
        row = (program * loops + t) * ROWS + tl.arange(0, ROWS)
        there = row < n
        start = row.to(tl.int64) * STRIDE
        y_raw = tl.load(y_ptr + row, mask=there, other=0)
        xs, tops = (), ()
        top = tl.zeros([ROWS], tl.float32) + NOTHING
        for at in tl.static_range(0, K, WIDTH):
            cols = at + j
            x = tl.load(x_ptr + start[:, None] + cols[None, :], mask=there[:, None], other=0.0)
            xs = xs + (x.to(tl.float32),)
        known = (y_raw >= 0) & (y_raw < K)
        y = tl.where(known, y_raw, 0).to(tl.int32)
        g_y = y // WIDTH
        by_label = tl.load(
            x_ptr + start[:, None] + (g_y * WIDTH)[:, None] + j[None, :],
            mask=there[:, None],
            other=0.0,
        ).to(tl.float32)
        place = y - g_y * WIDTH
        x_y = tl.sum(tl.where(j[None, :] == place[:, None], by_label, 0.0), axis=1)
        for g in tl.static_range(K // WIDTH):
            here = tl.max(xs[g], axis=1)
            tops = tops + (here,)
            top = tl.maximum(top, here)
        # The label is the top label if it is the first of the largest entries.
        beside = (by_label == top[:, None]) & (j[None, :] < place[:, None])
        earlier = tl.max(beside.to(tl.int32), axis=1) > 0
        for g in tl.static_range(K // WIDTH):
            earlier = earlier | ((tops[g] == top) & (g < g_y))
        hit = (x_y == top) & (earlier == 0)
        total = tl.zeros([ROWS], tl.float32)
        squares = tl.zeros([ROWS], tl.float32)
        if LOGITS:
            # The product is rounded once, alike for all entries, so that its error cancels.
            shift = top * LOG2E
            for g in tl.static_range(K // WIDTH):
                x = xs[g]
                e = tl.exp2(x * LOG2E - shift[:, None]) + x * 0.0  # NaN where not finite
                total += tl.sum(e, axis=1)
                squares += tl.sum(e * e, axis=1)
            share = 1.0 / total
            u = tl.minimum(tl.exp2(top * LOG2E - shift) * share, 1.0)
            p_y = tl.exp2(x_y * LOG2E - shift) * share
            good = (total == total) & (top < 3.0e38)
        else:
            lowest = top
            for g in tl.static_range(K // WIDTH):
                x = xs[g]
                e = tl.minimum(tl.maximum(x, 0.0), 1.0)
                total += tl.sum(x, axis=1)
                squares += tl.sum(e * e, axis=1)
                lowest = tl.minimum(lowest, tl.min(x, axis=1))
                n_clipped += tl.where(there, tl.sum((x != e).to(tl.int32), axis=1), 0)
            share = tl.zeros([ROWS], tl.float32) + 1.0
            u = tl.minimum(tl.maximum(top, 0.0), 1.0)
            p_y = tl.minimum(tl.maximum(x_y, 0.0), 1.0)
            off = tl.abs(total - 1.0)
            good = (lowest >= -OVERSHOOT) & (top <= 1.0 + OVERSHOOT) & (off <= tolerance)
            n_off += (there & (off > ROW_SUM_TOLD)).to(tl.int32)
        bad = tl.maximum(bad, tl.where(there & ((good & known) == 0), n - row, 0))
        if NORMS:
            tl.store(top_ptr + row, top, mask=there)
            tl.store(share_ptr + row, share, mask=there)
        if LOSSES:
            p2 = squares * share * share
            z = hit.to(tl.float32)
            if LOGITS:
                nll = top - x_y - tl.log(u)
            else:
                nll = -tl.log(tl.maximum(p_y, 1.0e-20))
            miss = (1.0 - z) + (u - z) * (u - z)
            brier += tl.where(there, p2 - 2.0 * p_y + 1.0, 0.0).to(SUM)
            log += tl.where(there, tl.minimum(nll, LOG_LIMIT), 0.0).to(SUM)
            n_log += tl.where(there & (nll > LOG_LIMIT), 1.0, 0.0).to(SUM)
            spherical += tl.where(there, 1.0 - p_y / tl.sqrt(p2), 0.0).to(SUM)
            wrong += tl.where(there, 1.0 - z, 0.0).to(SUM)
            confident += tl.where(there, miss, 0.0).to(SUM)
        if M == 0:
            tl.store(u_ptr + row, u, mask=there)
            tl.store(hit_ptr + row, hit.to(tl.uint8), mask=there)
        else:
            bins = add_to_each_bin(bins, u, hit, there, edges, M)
            if LOGITS:
                near = is_near(u, there, edges, margin, M, EVEN_BINS)
                slot = tl.atomic_add(near_n_ptr + row * 0, 1, mask=near, sem="relaxed")
                tl.store(near_ptr + slot, row, mask=near)
                tl.store(u_ptr + row, u, mask=near)
                tl.store(hit_ptr + row, hit.to(tl.uint8), mask=near)
    tl.atomic_max(found_ptr, tl.max(bad, axis=0).to(tl.int64), sem="relaxed")
    if not LOGITS:
        tl.atomic_add(found_ptr + 1, tl.sum(n_clipped, axis=0).to(tl.int64), sem="relaxed")
        tl.atomic_add(found_ptr + 2, tl.sum(n_off, axis=0).to(tl.int64), sem="relaxed")
    if LOSSES:
        losses = (brier, log, spherical, wrong, confident, n_log)
        store_sums(parts_ptr + program * N_LOSSES, losses, N_LOSSES)
    store_bins(table_ptr + program * (M * N_SUMS), bins, M)
