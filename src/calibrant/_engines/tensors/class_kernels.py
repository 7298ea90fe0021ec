"""Triton kernels over every entry of (n, k) predictions, for bins of equal mass in each class.
`class_bins` calls them; nothing else knows them.

A thread owns a class: what it compares with and what it sums stay in its registers from row to row,
one tensor of threads for each edge, in tuples. (A tensor of edges and threads would be spread over
threads by both, and every row would cross between them.) Several rows are asked for before the
first is used. A probability in single precision is 30 bits, which order it; they are counted 12, 9
and 9 at a time.
"""

import triton
import triton.language as tl

from calibrant._engines.tensors.kernels import LOG2E
from calibrant._engines.tensors.short_kernels import copies_of

# The most edges of a class.
EDGES = tl.constexpr(16)
PARTS = tl.constexpr(512)
CELLS = tl.constexpr(4096)
# Stands in the place of an entry that does not count: above every edge.
NO_ENTRY = tl.constexpr(9.0)


@triton.jit
def probability(entries, row, col, there, LOGITS: tl.constexpr):
    """The entries at these rows and columns as probabilities in float32, bit for bit the same in
    every kernel.

    `entries` are the predictions, each row's largest logit, 1 over its sum of exponentials, and the
    step between rows; `there` says which entries to load.
    """
    x_ptr, top_ptr, share_ptr, STRIDE = entries
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
    """The class that each thread reads, the row that it begins at (counted from the program's
    first), and whether it has a class.
    """
    lane = tl.arange(0, LANES)
    col = tl.program_id(0) * COLS + lane % COLS
    return col, lane // COLS, (col < K) & (lane < LANES // COLS * COLS)


@triton.jit
def some_entries(
    entries,
    lane,
    start,
    last,
    above,
    LOGITS: tl.constexpr,
    ROWS: tl.constexpr,
    DEPTH: tl.constexpr,
):
    """DEPTH entries of each thread's class, as a tuple of tensors; NO_ENTRY where there is no
    entry, or one that is not above the number `above`, given as bits.

    `entries` are the arguments of `probability` that are the same for all rows, `lane` is the
    result of `lanes`.
    """
    col, offset, known = lane
    out = ()
    for t in tl.static_range(DEPTH):
        row = start + t * ROWS + offset
        there = known & (row < last)
        p = probability(entries, row, col, there, LOGITS)
        counts = there & (p.to(tl.int32, bitcast=True) > above)
        out = out + (tl.where(counts, p, NO_ENTRY),)
    return out


@triton.jit
def load_of_edges(ptr, col, known, other, N: tl.constexpr):
    """The first N numbers of each thread's class `col` from a table (classes, EDGES), as a tuple of
    tensors; `other` where the class is not `known`.
    """
    out = ()
    for j in tl.static_range(N):
        out = out + (tl.load(ptr + col * EDGES + j, mask=known, other=other),)
    return out


@triton.jit
def count_cells(
    x_ptr,
    top_ptr,
    share_ptr,
    counts_ptr,
    n,
    K,
    STRIDE,
    rows_each,
    above,
    LOGITS: tl.constexpr,
    COLS: tl.constexpr,
    LANES: tl.constexpr,
    DEPTH: tl.constexpr,
):
    """Count the entries of each class above a number, given as bits, by their leading 12 bits, and
    add to the counts (classes, CELLS).
    """
    lane = lanes(K, COLS, LANES)
    col = lane[0]
    entries = (x_ptr, top_ptr, share_ptr, STRIDE)
    ROWS: tl.constexpr = LANES // COLS
    first = tl.program_id(1) * rows_each
    last = tl.minimum(first + rows_each, n)
    for start in range(first, last, ROWS * DEPTH):
        ps = some_entries(entries, lane, start, last, above, LOGITS, ROWS, DEPTH)
        for t in tl.static_range(DEPTH):
            cell = counts_ptr + col * CELLS + (ps[t].to(tl.int32, bitcast=True) >> 18)
            tl.atomic_add(cell, 1, mask=ps[t] < NO_ENTRY, sem="relaxed")


@triton.jit
def count_windows(
    x_ptr,
    top_ptr,
    share_ptr,
    low_ptr,
    high_ptr,
    counts_ptr,
    reached_ptr,
    n,
    K,
    STRIDE,
    rows_each,
    above,
    M: tl.constexpr,
    LOGITS: tl.constexpr,
    COLS: tl.constexpr,
    LANES: tl.constexpr,
    DEPTH: tl.constexpr,
):
    """Count the entries of each class within its M increasing windows [low, high) by their leading
    12 bits, as `count_cells` does. Also stored are the numbers of entries at or above each low, and
    of all entries, (classes, EDGES + 1).
    """
    lane = lanes(K, COLS, LANES)
    col, _, known = lane
    entries = (x_ptr, top_ptr, share_ptr, STRIDE)
    ROWS: tl.constexpr = LANES // COLS
    lows = load_of_edges(low_ptr, col, known, 0.0, M)
    reached = copies_of(tl.zeros([LANES], tl.float32), M + 1)
    first = tl.program_id(1) * rows_each
    last = tl.minimum(first + rows_each, n)
    for start in range(first, last, ROWS * DEPTH):
        ps = some_entries(entries, lane, start, last, above, LOGITS, ROWS, DEPTH)
        for t in tl.static_range(DEPTH):
            there = ps[t] < NO_ENTRY
            p = tl.where(there, ps[t], -1.0)
            passed = tl.zeros([LANES], tl.float32)
            new = ()
            for j in tl.static_range(M):
                reaches = p >= lows[j]
                passed = tl.where(reaches, passed + 1.0, passed)
                new = new + (tl.where(reaches, reached[j] + 1.0, reached[j]),)
            reached = new + (tl.where(there, reached[M] + 1.0, reached[M]),)
            window = col * EDGES + passed.to(tl.int32) - 1
            high = tl.load(high_ptr + window, mask=passed > 0.0, other=-1.0)
            cell = counts_ptr + col * CELLS + (p.to(tl.int32, bitcast=True) >> 18)
            tl.atomic_add(cell, 1, mask=p < high, sem="relaxed")
    for j in tl.static_range(M + 1):
        out = reached_ptr + col * (EDGES + 1) + j
        tl.atomic_add(out, reached[j].to(tl.float64), mask=known, sem="relaxed")


@triton.jit
def count_parts(
    x_ptr,
    top_ptr,
    share_ptr,
    prefixes_ptr,
    counts_ptr,
    n,
    K,
    STRIDE,
    rows_each,
    above,
    M: tl.constexpr,
    SHIFT: tl.constexpr,
    LOGITS: tl.constexpr,
    COLS: tl.constexpr,
    LANES: tl.constexpr,
    DEPTH: tl.constexpr,
):
    """Count the entries that share their leading bits with one of the M edges of their class, by
    their next 9 bits: (classes, EDGES, PARTS). Edges with equal leading bits share the counts of
    the first.
    """
    lane = lanes(K, COLS, LANES)
    col, _, known = lane
    entries = (x_ptr, top_ptr, share_ptr, STRIDE)
    ROWS: tl.constexpr = LANES // COLS
    # For each edge, the smallest number above all that share its leading bits.
    beyond = ()
    for j in tl.static_range(M):
        prefix = tl.load(prefixes_ptr + col * EDGES + j, mask=known, other=0)
        beyond = beyond + (((prefix + 1) << SHIFT).to(tl.float32, bitcast=True),)
    first = tl.program_id(1) * rows_each
    last = tl.minimum(first + rows_each, n)
    for start in range(first, last, ROWS * DEPTH):
        ps = some_entries(entries, lane, start, last, above, LOGITS, ROWS, DEPTH)
        for t in tl.static_range(DEPTH):
            there = ps[t] < NO_ENTRY
            bits = ps[t].to(tl.int32, bitcast=True)
            passed = tl.zeros([LANES], tl.float32)
            for j in tl.static_range(M):
                passed = tl.where(ps[t] >= beyond[j], passed + 1.0, passed)
            place = col * EDGES + passed.to(tl.int32)
            following = tl.load(prefixes_ptr + place, mask=there, other=-1)
            part = (bits >> (SHIFT - 9)) & (PARTS - 1)
            beside = there & (following == bits >> SHIFT)
            tl.atomic_add(counts_ptr + place * PARTS + part, 1, mask=beside, sem="relaxed")


@triton.jit
def add_to_class_bins(
    x_ptr,
    top_ptr,
    share_ptr,
    edges_ptr,
    sums_ptr,
    n,
    K,
    STRIDE,
    rows_each,
    above,
    M: tl.constexpr,
    SUM: tl.constexpr,
    SQUARES: tl.constexpr,
    COUNTS: tl.constexpr,
    LOGITS: tl.constexpr,
    COLS: tl.constexpr,
    LANES: tl.constexpr,
    DEPTH: tl.constexpr,
    RUN: tl.constexpr,
):
    """Add up the entries below each of M edges of their class, (2, classes, EDGES): predictions u,
    and u^2 (SQUARES) or the number of entries (COUNTS). The sums of a bin are the differences of
    neighbours.

    Sums are taken in the type SUM over some rows, and in float64 over all; numbers of entries are
    exact. Two edges with no entry between them have sums that are equal to the last bit, so that an
    empty bin is 0.
    """
    lane = lanes(K, COLS, LANES)
    col, _, known = lane
    entries = (x_ptr, top_ptr, share_ptr, STRIDE)
    ROWS: tl.constexpr = LANES // COLS
    edges = load_of_edges(edges_ptr, col, known, -1.0, M)
    total_u = copies_of(tl.zeros([LANES], tl.float64), M)
    total_u2 = copies_of(tl.zeros([LANES], tl.float64), M)
    counts = copies_of(tl.zeros([LANES], tl.float32), M)
    first = tl.program_id(1) * rows_each
    last = tl.minimum(first + rows_each, n)
    for run in range(first, last, ROWS * RUN):
        sum_u = copies_of(tl.zeros([LANES], SUM), M)
        sum_u2 = copies_of(tl.zeros([LANES], SUM), M)
        for start in range(run, tl.minimum(run + ROWS * RUN, last), ROWS * DEPTH):
            ps = some_entries(entries, lane, start, last, above, LOGITS, ROWS, DEPTH)
            for t in tl.static_range(DEPTH):
                u = ps[t].to(SUM)
                new_u, new_u2, new_n = (), (), ()
                for j in tl.static_range(M):
                    below = ps[t] < edges[j]
                    # Written this way, an addition that does not apply costs nothing.
                    new_u = new_u + (tl.where(below, sum_u[j] + u, sum_u[j]),)
                    if SQUARES:
                        new_u2 = new_u2 + (tl.where(below, sum_u2[j] + u * u, sum_u2[j]),)
                    if COUNTS:
                        new_n = new_n + (tl.where(below, counts[j] + 1.0, counts[j]),)
                sum_u = new_u
                if SQUARES:
                    sum_u2 = new_u2
                if COUNTS:
                    counts = new_n
        all_u, all_u2 = (), ()
        for j in tl.static_range(M):
            all_u = all_u + (total_u[j] + sum_u[j].to(tl.float64),)
            if SQUARES:
                all_u2 = all_u2 + (total_u2[j] + sum_u2[j].to(tl.float64),)
        total_u = all_u
        if SQUARES:
            total_u2 = all_u2
    for j in tl.static_range(M):
        out = sums_ptr + col * EDGES + j
        tl.atomic_add(out, total_u[j], mask=known, sem="relaxed")
        if SQUARES:
            tl.atomic_add(out + K * EDGES, total_u2[j], mask=known, sem="relaxed")
        if COUNTS:
            tl.atomic_add(out + K * EDGES, counts[j].to(tl.float64), mask=known, sem="relaxed")


@triton.jit
def add_labels(
    x_ptr,
    top_ptr,
    share_ptr,
    y_ptr,
    edges_ptr,
    sums_ptr,
    n,
    K,
    STRIDE,
    above,
    LOGITS: tl.constexpr,
    BLOCK: tl.constexpr,
    COPIES: tl.constexpr,
):
    """Add up the probabilities of the rows' labels by class and bin: their number and their sum,
    (copies, classes, EDGES, 2).

    There are several copies because with few classes many labels meet in one place. Both numbers
    lie side by side, in neighbouring threads, and are added in one step.
    """
    row = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    there = row < n
    y = tl.load(y_ptr + row, mask=there, other=0)
    p = probability((x_ptr, top_ptr, share_ptr, STRIDE), row, y, there, LOGITS)
    there = there & (p.to(tl.int32, bitcast=True) > above)
    bin_ = tl.where(there, 0, 0)
    for j in range(EDGES - 1):
        edge = tl.load(edges_ptr + y * EDGES + j, mask=there, other=3.0)
        bin_ += (p >= edge).to(tl.int32)
    copy = (tl.program_id(0) % COPIES) * (2 * K * EDGES)
    cell = copy + (y * EDGES + bin_) * 2
    o = tl.arange(0, 2)[None, :]
    value = tl.where(o == 0, 1.0, p[:, None]).to(tl.float64)
    mask = there[:, None] & (o >= 0)
    tl.atomic_add(sums_ptr + cell[:, None] + o, value, mask=mask, sem="relaxed")
