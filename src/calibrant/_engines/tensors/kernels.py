"""Triton kernels that read (n, k) predictions once. `fused` calls them; nothing else knows them.

A row is held by one warp (more for long rows) as groups of WIDTH neighbours, so that a thread loads
16 bytes at a time and the largest entry of a group costs no exchange. Half and single precision are
computed in float32 and summed in float64.
"""

import triton
import triton.language as tl

LOG2E = tl.constexpr(1.4426950408889634)
LOG_LIMIT = tl.constexpr(27.631021115928547)  # -log(1e-12): LOG_FLOOR
OVERSHOOT = tl.constexpr(1e-4)
ROW_SUM_TOLD = tl.constexpr(1e-5)
# Stands in the place of columns that are not there: below every logit, and finite.
NOTHING = tl.constexpr(-1.0e38)
# Sums of each program of losses: Brier, log, spherical, classification and confidence loss, and
# the number of clipped logarithms.
N_LOSSES = tl.constexpr(6)
# Sums of a bin: rows, confidence u, u^2, hits z, u z.
N_SUMS = tl.constexpr(5)


@triton.jit
def store_sums(out, values, N: tl.constexpr):
    """Sum each of N values over the threads, and store the N sums side by side, in float64."""
    for j in tl.static_range(N):
        tl.store(out + j, tl.sum(values[j].to(tl.float64), axis=0))


@triton.jit
def load_row(
    x_ptr,
    row,
    cols,
    inside,
    STRIDE: tl.constexpr,
    WIDTH: tl.constexpr,
    ALIGNED: tl.constexpr,
    EVEN: tl.constexpr,
):
    """Load one row of predictions as (groups, WIDTH), with NOTHING in columns beyond the last.
    `cols` are the columns' numbers, `inside` says which exist.
    """
    start = row.to(tl.int64) * STRIDE
    if ALIGNED:
        start = tl.multiple_of(start, WIDTH)
    if EVEN:
        x = tl.load(x_ptr + start + cols)
    else:
        x = tl.load(x_ptr + start + cols, mask=inside, other=NOTHING)
    return x


@triton.jit
def read_rows(
    x_ptr,
    y_ptr,
    u_ptr,
    hit_ptr,
    p_y_ptr,
    p2_ptr,
    gap_ptr,
    found_ptr,
    bad_ptr,
    top_ptr,
    share_ptr,
    column_ptr,
    list_ptr,
    listed_ptr,
    n,
    rows_each,
    room,
    first_edge,
    tolerance,
    K: tl.constexpr,
    STRIDE: tl.constexpr,
    GROUPS: tl.constexpr,
    WIDTH: tl.constexpr,
    ALIGNED: tl.constexpr,
    LOGITS: tl.constexpr,
    CLASSWISE: tl.constexpr,
    MASKED: tl.constexpr,
    NORMS: tl.constexpr,
):
    """Read (n, k) predictions x and labels y; each program reads `rows_each` rows in sequence.

    For each row it stores the confidence u, whether the top label is right (`hit`), the label's
    probability `p_y`, the sum of squared probabilities `p2`, and how far the label's logit is below
    the largest (`gap`). With CLASSWISE it also stores the sum of each column's entries in the first
    bin, and a list of the groups of columns with an entry above the first bin. With NORMS it stores
    what turns logits into probabilities: the largest logit and 1 over the sum.
    """
    program = tl.program_id(0)
    g = tl.arange(0, GROUPS)
    j = tl.arange(0, WIDTH)
    cols = g[:, None] * WIDTH + j[None, :]
    EVEN: tl.constexpr = GROUPS * WIDTH == K
    if K % WIDTH == 0:
        inside = (g < K // WIDTH)[:, None] & (j < WIDTH)[None, :]
    else:
        inside = cols < K
    n_clipped, n_off = 0, 0
    if CLASSWISE:
        n_listed = 0
        column = tl.zeros([GROUPS, WIDTH], tl.float32)
    first = program * rows_each
    last = tl.minimum(first + rows_each, n)
    # The next row is loaded while this one is worked on.
    raw = load_row(x_ptr, first, cols, inside, STRIDE, WIDTH, ALIGNED, EVEN)
    y_next = tl.load(y_ptr + first)
    for t in range(last - first):
        row = first + t
        x = raw.to(tl.float32)
        known = (y_next >= 0) & (y_next < K)
        y = tl.where(known, y_next, 0).to(tl.int32)
        following = tl.minimum(row + 1, n - 1)
        raw = load_row(x_ptr, following, cols, inside, STRIDE, WIDTH, ALIGNED, EVEN)
        y_next = tl.load(y_ptr + following)
        g_y = y // WIDTH
        cols_y = g_y * WIDTH + j
        start = row.to(tl.int64) * STRIDE
        by_label = tl.load(x_ptr + start + cols_y, mask=cols_y < K, other=NOTHING).to(tl.float32)
        x_y = tl.sum(tl.where(cols_y == y, by_label, 0.0), axis=0)
        group_top = tl.max(x, axis=1)
        top = tl.max(group_top, axis=0)
        if LOGITS:
            # The product is rounded once, alike for all entries, so that its error cancels.
            shift = top * LOG2E
            e = tl.exp2(x * LOG2E - shift) + x * 0.0  # NaN where anything is not finite
            if MASKED:  # elsewhere what stands in for absent columns is far enough below to be 0
                e = tl.where(inside, e, 0.0)
            total = tl.sum(tl.sum(e, axis=1), axis=0)
            squares = tl.sum(tl.sum(e * e, axis=1), axis=0)
            share = 1.0 / total
            u = tl.exp2(top * LOG2E - shift) * share
            p_y = tl.exp2(x_y * LOG2E - shift) * share
            good = (total == total) & (top < 3.0e38)
        else:
            e = tl.minimum(tl.maximum(x, 0.0), 1.0)
            if not EVEN:
                e = tl.where(inside, e, 0.0)
                x = tl.where(inside, x, 0.0)
            total = tl.sum(tl.sum(x, axis=1), axis=0)
            lowest = tl.min(tl.min(x, axis=1), axis=0)
            squares = tl.sum(tl.sum(e * e, axis=1), axis=0)
            moved = tl.sum(tl.sum((x != e).to(tl.int32), axis=1), axis=0)
            share = 1.0
            u = tl.minimum(tl.maximum(top, 0.0), 1.0)
            p_y = tl.minimum(tl.maximum(x_y, 0.0), 1.0)
            off = tl.abs(total - 1.0)
            good = (lowest >= -OVERSHOOT) & (top <= 1.0 + OVERSHOOT) & (off <= tolerance)
            n_clipped += moved
            n_off += (off > ROW_SUM_TOLD).to(tl.int32)
        if (good & known) == 0:
            tl.atomic_max(bad_ptr, (n - row).to(tl.int64), sem="relaxed")
        # The label is the top label if it is the first of the largest entries.
        hit = x_y == top
        if hit:
            before = tl.max(((group_top == top) & (g < g_y)).to(tl.int32), axis=0)
            beside = tl.max(((by_label == top) & (cols_y < y)).to(tl.int32), axis=0)
            hit = (before == 0) & (beside == 0)
        tl.store(u_ptr + row, u)
        tl.store(hit_ptr + row, hit.to(tl.uint8))
        tl.store(p_y_ptr + row, p_y)
        tl.store(p2_ptr + row, squares * share * share)
        if LOGITS:
            tl.store(gap_ptr + row, top - x_y)
        if NORMS:
            tl.store(top_ptr + row, top)
            tl.store(share_ptr + row, share)
        if CLASSWISE:
            p = e * share
            column += tl.where(p < first_edge, p, 0.0)
            if LOGITS:
                above = tl.exp2(group_top * LOG2E - shift) * share >= first_edge
            else:
                above = group_top >= first_edge
            place = n_listed + tl.cumsum(above.to(tl.int32), axis=0) - 1
            n_listed += tl.sum(above.to(tl.int32), axis=0)
            where = list_ptr + program.to(tl.int64) * room + place
            tl.store(where, (row - first) * GROUPS + g, mask=above)
    if CLASSWISE:
        tl.store(column_ptr + program.to(tl.int64) * (GROUPS * WIDTH) + cols, column)
        tl.store(listed_ptr + program, n_listed)
    if not LOGITS:
        tl.atomic_add(found_ptr, n_clipped.to(tl.int64), sem="relaxed")
        tl.atomic_add(found_ptr + 1, n_off.to(tl.int64), sem="relaxed")


@triton.jit
def add_losses(
    u_ptr,
    hit_ptr,
    p_y_ptr,
    p2_ptr,
    gap_ptr,
    parts_ptr,
    n,
    LOGITS: tl.constexpr,
    BLOCK: tl.constexpr,
    LOOPS: tl.constexpr,
):
    """Sum the losses of rows from the numbers that `read_rows` stored, a thread for each row:
    N_LOSSES sums for each program, the last of which counts clipped logarithms.
    """
    program = tl.program_id(0)
    nothing = tl.zeros([BLOCK], tl.float64)
    brier, log, spherical, wrong, confident = nothing, nothing, nothing, nothing, nothing
    n_log = nothing
    for t in range(LOOPS):
        rows = (program * LOOPS + t) * BLOCK + tl.arange(0, BLOCK)
        there = rows < n
        u = tl.load(u_ptr + rows, mask=there, other=0.0)
        z = tl.load(hit_ptr + rows, mask=there, other=1).to(tl.float32)
        p_y = tl.load(p_y_ptr + rows, mask=there, other=1.0)
        p2 = tl.load(p2_ptr + rows, mask=there, other=1.0)
        if LOGITS:
            nll = tl.load(gap_ptr + rows, mask=there, other=0.0) - tl.log(tl.where(there, u, 1.0))
        else:
            nll = -tl.log(tl.maximum(p_y, 1.0e-20))
        brier += (p2 - 2.0 * p_y + 1.0).to(tl.float64)
        log += tl.minimum(nll, LOG_LIMIT).to(tl.float64)
        n_log += (nll > LOG_LIMIT).to(tl.float64)
        spherical += (1.0 - p_y / tl.sqrt(p2)).to(tl.float64)
        wrong += (1.0 - z).to(tl.float64)
        miss = tl.where(there, (1.0 - z) + (u - z) * (u - z), 0.0)
        confident += miss.to(tl.float64)
    losses = (brier, log, spherical, wrong, confident, n_log)
    store_sums(parts_ptr + program * N_LOSSES, losses, N_LOSSES)


@triton.jit
def read_long_rows(
    x_ptr,
    y_ptr,
    u_ptr,
    hit_ptr,
    p_y_ptr,
    p2_ptr,
    gap_ptr,
    bad_ptr,
    n,
    K: tl.constexpr,
    STRIDE: tl.constexpr,
    GROUPS: tl.constexpr,
    WIDTH: tl.constexpr,
    ALIGNED: tl.constexpr,
):
    """Do the work of `read_rows` without classes, for rows of logits too long for registers: a
    program reads its row in chunks, and its sums are relative to the largest logit so far.
    """
    row = tl.program_id(0)
    CHUNK: tl.constexpr = GROUPS * WIDTH
    g = tl.arange(0, GROUPS)
    j = tl.arange(0, WIDTH)
    cols = g[:, None] * WIDTH + j[None, :]
    start = row.to(tl.int64) * STRIDE
    y = tl.load(y_ptr + row)
    known = (y >= 0) & (y < K)
    y = tl.where(known, y, 0).to(tl.int32)
    x_y = tl.load(x_ptr + start + y).to(tl.float32)
    if ALIGNED:
        start = tl.multiple_of(start, WIDTH)
    # For each group: the largest entry so far, where it first was, and sums relative to it.
    high = tl.zeros([GROUPS], tl.float32) + NOTHING
    place = tl.zeros([GROUPS], tl.int32) + K
    sums = tl.zeros([GROUPS], tl.float32)
    squares = tl.zeros([GROUPS], tl.float32)
    for at in range(0, K, CHUNK):
        if K % WIDTH == 0:
            inside = (at + g * WIDTH < K)[:, None] & (j < WIDTH)[None, :]
        else:
            inside = at + cols < K
        x = tl.load(x_ptr + start + at + cols, mask=inside, other=NOTHING).to(tl.float32)
        here = tl.max(x, axis=1)
        higher = tl.maximum(high, here)
        place = tl.where(here > high, at + g * WIDTH, place)
        shrunk = tl.exp2((high - higher) * LOG2E)
        e = tl.exp2((x - higher[:, None]) * LOG2E) + x * 0.0
        e = tl.where(inside, e, 0.0)
        sums = sums * shrunk + tl.sum(e, axis=1)
        squares = squares * shrunk * shrunk + tl.sum(e * e, axis=1)
        high = higher
    top = tl.max(high, axis=0)
    shrunk = tl.exp2((high - top) * LOG2E)
    total = tl.sum(sums * shrunk, axis=0)
    u = 1.0 / total
    p2 = tl.sum(squares * shrunk * shrunk, axis=0) * u * u
    if ((total == total) & (top < 3.0e38) & known) == 0:
        tl.atomic_max(bad_ptr, (n - row).to(tl.int64), sem="relaxed")
    # The label is the top label if it is the first largest entry of the first group that has one.
    first_of = tl.min(tl.where(high == top, place, K), axis=0)
    in_group = tl.load(x_ptr + start + first_of + j, mask=first_of + j < K, other=NOTHING)
    at_top = in_group.to(tl.float32) == top
    hit = tl.min(tl.where(at_top, first_of + j, K), axis=0) == y
    tl.store(u_ptr + row, u)
    tl.store(hit_ptr + row, hit.to(tl.uint8))
    tl.store(p_y_ptr + row, tl.exp2((x_y - top) * LOG2E) * u)
    tl.store(p2_ptr + row, p2)
    tl.store(gap_ptr + row, top - x_y)


@triton.jit
def bins_of(u, there, edges_ptr, m, STEPS: tl.constexpr):
    """The bin of each prediction u among m: the number of inner edges at or below it, by bisection
    in STEPS steps.
    """
    low = tl.where(there, 0, 0)
    high = low + (m - 1)
    for _ in range(STEPS):
        middle = (low + high) // 2
        open_ = there & (low < high)
        edge = tl.load(edges_ptr + middle, mask=open_, other=float("inf"))
        up = open_ & (edge <= u)
        low = tl.where(up, middle + 1, low)
        high = tl.where(open_ & (up == 0), middle, high)
    return low


@triton.jit
def read_listed(
    x_ptr,
    y_ptr,
    top_ptr,
    share_ptr,
    list_ptr,
    listed_ptr,
    table_ptr,
    edges_ptr,
    rows_each,
    room,
    m,
    K: tl.constexpr,
    STRIDE: tl.constexpr,
    GROUPS: tl.constexpr,
    WIDTH: tl.constexpr,
    LOGITS: tl.constexpr,
    BLOCK: tl.constexpr,
    STEPS: tl.constexpr,
):
    """Add the entries above the first bin, from the list that `read_rows` made, to a table
    (classes, m bins, 2, 2): for each class, bin, and whether the class is the row's label, the
    number of entries and the sum of their probabilities.
    """
    program = tl.program_id(0)
    j = tl.arange(0, WIDTH)
    first_edge = tl.load(edges_ptr)
    count = tl.load(listed_ptr + program)
    for at in range(0, count, BLOCK):
        i = at + tl.arange(0, BLOCK)
        there = i < count
        entry = tl.load(list_ptr + program.to(tl.int64) * room + i, mask=there, other=0)
        row = program * rows_each + entry // GROUPS
        col = (entry % GROUPS)[:, None] * WIDTH + j[None, :]
        mask = there[:, None] & (col < K)
        start = row.to(tl.int64)[:, None] * STRIDE
        x = tl.load(x_ptr + start + col, mask=mask, other=0.0).to(tl.float32)
        y = tl.load(y_ptr + row, mask=there, other=0).to(tl.int32)
        if LOGITS:
            top = tl.load(top_ptr + row, mask=there, other=0.0)
            share = tl.load(share_ptr + row, mask=there, other=0.0)
            p = tl.exp2(x * LOG2E - (top * LOG2E)[:, None]) * share[:, None]
        else:
            p = tl.minimum(x, 1.0)
        above = mask & (p >= first_edge)
        b = bins_of(p, above, edges_ptr, m, STEPS)
        right = (col == y[:, None]).to(tl.int32)
        cell = table_ptr + ((col * m + b) * 2 + right) * 2
        tl.atomic_add(cell, 1.0, mask=above, sem="relaxed")
        tl.atomic_add(cell + 1, p.to(tl.float64), mask=above, sem="relaxed")


@triton.jit
def read_low_labels(y_ptr, p_y_ptr, table_ptr, n, m, first_edge, BLOCK: tl.constexpr):
    """Add the labels whose probability is in the first bin to the table of `read_listed`: their
    number and the sum of their probabilities.
    """
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    there = rows < n
    y = tl.load(y_ptr + rows, mask=there, other=0)
    p = tl.load(p_y_ptr + rows, mask=there, other=1.0e9)
    low = there & (p < first_edge)
    cell = table_ptr + ((y * m) * 2 + 1) * 2
    tl.atomic_add(cell, 1.0, mask=low, sem="relaxed")
    tl.atomic_add(cell + 1, p.to(tl.float64), mask=low, sem="relaxed")


@triton.jit
def add_columns(column_ptr, out_ptr, programs, each, WIDE: tl.constexpr, BLOCK: tl.constexpr):
    """Add up the sums of each column that the programs of `read_rows` stored, in float64; each
    program here adds those of `each` programs.
    """
    cols = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    first = tl.program_id(1) * each
    total = tl.zeros([BLOCK], tl.float64)
    for t in range(tl.maximum(0, tl.minimum(each, programs - first))):
        start = (first + t).to(tl.int64) * WIDE
        total += tl.load(column_ptr + start + cols).to(tl.float64)
    tl.atomic_add(out_ptr + cols, total, sem="relaxed")


@triton.jit
def single_at_or_above(edges):
    """The smallest float32 at or above each edge, for edges of 0 or more. (Negative edges, which
    lie below every prediction, are only rounded.)
    """
    single = edges.to(tl.float32)
    up = (single.to(tl.int32, bitcast=True) + 1).to(tl.float32, bitcast=True)
    return tl.where((single.to(tl.float64) < edges) & (single >= 0.0), up, single)


@triton.jit
def add_to_few_bins(
    u_ptr, hit_ptr, table_ptr, edges_ptr, n, m, step, BLOCK: tl.constexpr, BINS: tl.constexpr
):
    """Sum rows into at most BINS bins, with the sums of all bins in each thread's registers: N_SUMS
    sums (rows, u, u^2, hits, u of hits) for each program and bin, u being the confidence.
    """
    program = tl.program_id(0)
    bin_ = tl.arange(0, BINS)
    low = tl.load(edges_ptr + bin_ - 1, mask=(bin_ > 0) & (bin_ < m), other=-9.0)
    low = tl.where(bin_ < m, low, 9.0)
    high = tl.load(edges_ptr + bin_, mask=bin_ < m - 1, other=9.0)
    # The smallest float32 at or above each edge: a confidence reaches both or neither.
    low, high = single_at_or_above(low), single_at_or_above(high)
    # The lower half of a word counts rows, the upper hits: no thread sees 32,768 rows.
    counts = tl.zeros([BINS, BLOCK], tl.int32)
    sum_u = tl.zeros([BINS, BLOCK], tl.float64)
    sum_u2 = tl.zeros([BINS, BLOCK], tl.float64)
    sum_uz = tl.zeros([BINS, BLOCK], tl.float64)
    for first in range(program * BLOCK, n, step):
        rows = first + tl.arange(0, BLOCK)
        there = rows < n
        u = tl.load(u_ptr + rows, mask=there, other=0.0)
        z = tl.load(hit_ptr + rows, mask=there, other=0) > 0
        mine = (low[:, None] <= u[None, :]) & (u[None, :] < high[:, None]) & there[None, :]
        exact = u.to(tl.float64)
        counts += tl.where(mine, tl.where(z, 65537, 1)[None, :], 0)
        sum_u += tl.where(mine, exact[None, :], 0.0)
        sum_u2 += tl.where(mine, (exact * exact)[None, :], 0.0)
        sum_uz += tl.where(mine, tl.where(z, exact, 0.0)[None, :], 0.0)
    out = table_ptr + (program * BINS + bin_) * N_SUMS
    tl.store(out, tl.sum(counts & 65535, axis=1).to(tl.float64))
    tl.store(out + 1, tl.sum(sum_u, axis=1))
    tl.store(out + 2, tl.sum(sum_u2, axis=1))
    tl.store(out + 3, tl.sum(counts >> 16, axis=1).to(tl.float64))
    tl.store(out + 4, tl.sum(sum_uz, axis=1))


@triton.jit
def add_to_bins(
    u_ptr,
    hit_ptr,
    table_ptr,
    near_ptr,
    near_n_ptr,
    edges_ptr,
    n,
    m,
    margin,
    BLOCK: tl.constexpr,
    STEPS: tl.constexpr,
    COPIES: tl.constexpr,
):
    """Sum rows into any number of bins: N_SUMS sums (rows, u, u^2, hits, u of hits) of each bin, u
    being the confidence. COPIES of the table let fewer threads meet. Rows whose confidence is
    within `margin` of an edge are listed in `near`.
    """
    program = tl.program_id(0)
    rows = program * BLOCK + tl.arange(0, BLOCK)
    there = rows < n
    u = tl.load(u_ptr + rows, mask=there, other=0.0).to(tl.float64)
    z = tl.load(hit_ptr + rows, mask=there, other=0) > 0
    b = bins_of(u, there, edges_ptr, m, STEPS)
    below = tl.load(edges_ptr + b - 1, mask=there & (b > 0), other=-9.0)
    above = tl.load(edges_ptr + b, mask=there & (b < m - 1), other=9.0)
    near = there & ((u - below < margin) | (above - u < margin))
    slot = tl.atomic_add(near_n_ptr + b * 0, 1, mask=near, sem="relaxed")
    tl.store(near_ptr + slot, rows, mask=near)
    cell = table_ptr + ((program % COPIES) * m + b) * N_SUMS
    right = there & z
    tl.atomic_add(cell, 1.0, mask=there, sem="relaxed")
    tl.atomic_add(cell + 1, u, mask=there, sem="relaxed")
    tl.atomic_add(cell + 2, u * u, mask=there, sem="relaxed")
    tl.atomic_add(cell + 3, 1.0, mask=right, sem="relaxed")
    tl.atomic_add(cell + 4, u, mask=right, sem="relaxed")


@triton.jit
def refine_near(
    x_ptr,
    u_ptr,
    hit_ptr,
    table_ptr,
    near_ptr,
    near_n_ptr,
    edges_ptr,
    m,
    programs,
    K: tl.constexpr,
    STRIDE: tl.constexpr,
    CHUNK: tl.constexpr,
    STEPS: tl.constexpr,
):
    """Compute the confidences listed as near an edge again from their logits in float64; take each
    row out of the bin it was in, and add it to the right one.
    """
    cols = tl.arange(0, CHUNK)
    program = tl.program_id(0)
    count = tl.load(near_n_ptr)
    for t in range(tl.maximum(0, (count - program + programs - 1) // programs)):
        row = tl.load(near_ptr + program + t * programs)
        start = row.to(tl.int64) * STRIDE
        high = tl.zeros([CHUNK], tl.float32) + NOTHING
        for at in range(0, K, CHUNK):
            inside = at + cols < K
            x = tl.load(x_ptr + start + at + cols, mask=inside, other=NOTHING)
            high = tl.maximum(high, x.to(tl.float32))
        top = tl.max(high, axis=0).to(tl.float64)
        total = tl.zeros([CHUNK], tl.float64)
        for at in range(0, K, CHUNK):
            inside = at + cols < K
            x = tl.load(x_ptr + start + at + cols, mask=inside, other=0.0)
            total += tl.where(inside, tl.exp(x.to(tl.float64) - top), 0.0)
        # Two threads: one takes the float32 confidence out of its bin, one adds the float64 one.
        lane = tl.arange(0, 2)
        rough = tl.load(u_ptr + row).to(tl.float64)
        u = tl.where(lane == 0, rough, 1.0 / tl.sum(total, axis=0))
        sign = tl.where(lane == 0, -1.0, 1.0).to(tl.float64)
        z = tl.load(hit_ptr + row).to(tl.float64)
        cell = table_ptr + bins_of(u, lane >= 0, edges_ptr, m, STEPS) * N_SUMS
        tl.atomic_add(cell, sign, sem="relaxed")
        tl.atomic_add(cell + 1, sign * u, sem="relaxed")
        tl.atomic_add(cell + 2, sign * u * u, sem="relaxed")
        tl.atomic_add(cell + 3, sign * z, sem="relaxed")
        tl.atomic_add(cell + 4, sign * u * z, sem="relaxed")
