"""Triton kernels over one prediction and one target of 0 or 1 a row. `scalars` and `order` call
them; nothing else knows them.

A thread owns a row, and keeps sums of its own until the end: nothing waits for anything. Sums are
taken in float64.
"""

import triton
import triton.language as tl

from calibrant._engines.tensors.short_kernels import copies_of

OVERSHOOT = tl.constexpr(1e-4)
LOG_FLOOR = tl.constexpr(1e-12)
# Slots of the status: the first bad row, clips, targets that are no labels, clipped logarithms or
# logits.
CLIPPED = tl.constexpr(1)
FRACTIONS = tl.constexpr(2)
MOVED = tl.constexpr(3)
# Sums of a bin: n, z, u, u^2, uz.
N_SUMS = tl.constexpr(5)
N_LOSSES = tl.constexpr(5)


@triton.jit
def load_row(u_ptr, z_ptr, rows, there, CONFIDENCE: tl.constexpr, DOUBLE: tl.constexpr):
    """A prediction as it meets edges and in float64, whether its target is 1, and what of both is
    as it must be: the target a label, the prediction no further than an overshoot from [0, 1].
    """
    u = tl.load(u_ptr + rows, mask=there, other=0.5)
    z = tl.load(z_ptr + rows, mask=there, other=0)
    return checked_row(u, z, CONFIDENCE, DOUBLE)


@triton.jit
def checked_row(u, z, CONFIDENCE: tl.constexpr, DOUBLE: tl.constexpr):
    """What `load_row` returns, of numbers that were loaded."""
    if DOUBLE:
        u = u.to(tl.float64)
    else:
        u = u.to(tl.float32)
    one = z == 1
    label = one | (z == 0)
    if CONFIDENCE:
        # At 1/2 the lower class, 0, is predicted.
        upper = u > 0.5
        u = tl.where(upper, u, 1.0 - u)
        one = one == upper
    exact = u.to(tl.float64)
    sound = (exact >= -OVERSHOOT) & (exact <= 1.0 + OVERSHOOT)
    clipped = (exact < 0.0) | (exact > 1.0)
    # Zero is added so that -0 and 0 are one.
    u = tl.where(sound, tl.minimum(tl.maximum(u, 0.0), 1.0) + 0.0, 0.0)
    return u, u.to(tl.float64), one, label, sound, clipped & sound


@triton.jit
def note(status_ptr, bad, clipped, fractions, moved):
    """What a program found, into the status of all."""
    tl.atomic_min(status_ptr, tl.min(bad, axis=0).to(tl.int64), sem="relaxed")
    n_clipped = tl.sum(clipped, axis=0)
    n_fractions = tl.sum(fractions, axis=0)
    n_moved = tl.sum(moved, axis=0)
    if n_clipped > 0:
        tl.atomic_add(status_ptr + CLIPPED, n_clipped.to(tl.int64), sem="relaxed")
    if n_fractions > 0:
        tl.atomic_add(status_ptr + FRACTIONS, n_fractions.to(tl.int64), sem="relaxed")
    if n_moved > 0:
        tl.atomic_add(status_ptr + MOVED, n_moved.to(tl.int64), sem="relaxed")


@triton.jit
def add_to_few_bins(
    u_ptr, z_ptr, edges_ptr, parts_ptr, status_ptr, n, m, step,
    CONFIDENCE: tl.constexpr, DOUBLE: tl.constexpr, SQUARES: tl.constexpr,
    BINS: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """Rows to at most BINS bins, each thread with all bins of its own in registers."""
    program = tl.program_id(0)
    bin_ = tl.arange(0, BINS)
    low = tl.load(edges_ptr + bin_ - 1, mask=(bin_ > 0) & (bin_ < m), other=-9.0)
    low = tl.where(bin_ < m, low, 9.0)
    high = tl.load(edges_ptr + bin_, mask=bin_ < m - 1, other=9.0)
    if not DOUBLE:
        low, high = low.to(tl.float32), high.to(tl.float32)
    # Rows in the lower half of a word, targets in the upper: no thread sees 32,768 rows.
    counts = tl.zeros([BINS, BLOCK], tl.int32)
    sum_u = tl.zeros([BINS, BLOCK], tl.float64)
    sum_u2 = tl.zeros([BINS, BLOCK], tl.float64)
    sum_uz = tl.zeros([BINS, BLOCK], tl.float64)
    bad = tl.zeros([BLOCK], tl.int32) + n
    n_clipped = tl.zeros([BLOCK], tl.int32)
    n_fractions = tl.zeros([BLOCK], tl.int32)
    for first in range(program * BLOCK, n, step):
        rows = first + tl.arange(0, BLOCK)
        there = rows < n
        u, exact, one, label, sound, clipped = load_row(
            u_ptr, z_ptr, rows, there, CONFIDENCE, DOUBLE
        )
        bad = tl.minimum(bad, tl.where(there & (sound == 0), rows, n))
        n_clipped += (there & clipped).to(tl.int32)
        n_fractions += (there & (label == 0)).to(tl.int32)
        mine = (u[None, :] >= low[:, None]) & (u[None, :] < high[:, None]) & there[None, :]
        counted = tl.where(one, 65537, 1)
        counts += tl.where(mine, counted[None, :], 0)
        sum_u += tl.where(mine, exact[None, :], 0.0)
        sum_uz += tl.where(mine, tl.where(one, exact, 0.0)[None, :], 0.0)
        if SQUARES:
            sum_u2 += tl.where(mine, (exact * exact)[None, :], 0.0)
    out = parts_ptr + (program * BINS + bin_) * N_SUMS
    tl.store(out, tl.sum(counts & 65535, axis=1).to(tl.float64))
    tl.store(out + 1, tl.sum(counts >> 16, axis=1).to(tl.float64))
    tl.store(out + 2, tl.sum(sum_u, axis=1))
    tl.store(out + 3, tl.sum(sum_u2, axis=1))
    tl.store(out + 4, tl.sum(sum_uz, axis=1))
    note(status_ptr, bad, n_clipped, n_fractions, n_clipped * 0)


@triton.jit
def add_losses(
    u_ptr, z_ptr, parts_ptr, status_ptr, n, step, DOUBLE: tl.constexpr, BLOCK: tl.constexpr
):
    """Proper losses of two classes with the probabilities 1 - u and u."""
    program = tl.program_id(0)
    nothing = tl.zeros([BLOCK], tl.float64)
    floor = nothing + LOG_FLOOR  # as an argument of a function it would be single
    brier, log, spherical, wrong, confident = nothing, nothing, nothing, nothing, nothing
    bad = tl.zeros([BLOCK], tl.int32) + n
    n_clipped = tl.zeros([BLOCK], tl.int32)
    n_fractions = tl.zeros([BLOCK], tl.int32)
    n_moved = tl.zeros([BLOCK], tl.int32)
    for first in range(program * BLOCK, n, step):
        rows = first + tl.arange(0, BLOCK)
        there = rows < n
        _, u, one, label, sound, clipped = load_row(u_ptr, z_ptr, rows, there, False, DOUBLE)
        bad = tl.minimum(bad, tl.where(there & (sound == 0), rows, n))
        n_clipped += (there & clipped).to(tl.int32)
        n_fractions += (there & (label == 0)).to(tl.int32)
        rest = 1.0 - u
        own = tl.where(one, u, rest)
        residual = tl.where(one, u - 1.0, u)
        brier += tl.where(there, residual * residual, 0.0)
        moved = there & (own < LOG_FLOOR)
        n_moved += moved.to(tl.int32)
        log += tl.where(there, -tl.log(tl.maximum(own, floor)), 0.0)
        spherical += tl.where(there, 1.0 - own / tl.sqrt(u * u + rest * rest), 0.0)
        upper = u > rest
        miss = tl.where(one == upper, 0.0, 1.0).to(tl.float64)
        gap = tl.where(upper, u, rest) - (1.0 - miss)
        wrong += tl.where(there, miss, 0.0)
        confident += tl.where(there, miss + gap * gap, 0.0)
    out = parts_ptr + program * N_LOSSES
    tl.store(out, tl.sum(brier, axis=0))
    tl.store(out + 1, tl.sum(log, axis=0))
    tl.store(out + 2, tl.sum(spherical, axis=0))
    tl.store(out + 3, tl.sum(wrong, axis=0))
    tl.store(out + 4, tl.sum(confident, axis=0))
    note(status_ptr, bad, n_clipped, n_fractions, n_moved)


@triton.jit
def deposit(
    u_ptr, z_ptr, moments_ptr, status_ptr, numbers_ptr, n, n_nodes, middle, step,
    CONFIDENCE: tl.constexpr, DOUBLE: tl.constexpr, LOGITS: tl.constexpr,
    COPIES: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """Of each cell between two nodes the moments of its masses: a row's mass times 1, t, t^2 and
    t^3, where t is how far it is into the cell. The mass is 1 at the row's logit, in the first
    table if its target is 1 and in the second if it is 0; or z - u at its prediction.

    The four lie in one sector, in neighbouring threads: the memory adds them in one step. Tables
    are kept in several copies, so that predictions that crowd wait less for each other.
    """
    program = tl.program_id(0)
    offset = tl.arange(0, 4)
    per_unit = tl.load(numbers_ptr)
    low = tl.load(numbers_ptr + 1)
    high = tl.load(numbers_ptr + 2)
    bad = tl.zeros([BLOCK], tl.int32) + n
    n_clipped = tl.zeros([BLOCK], tl.int32)
    n_fractions = tl.zeros([BLOCK], tl.int32)
    n_moved = tl.zeros([BLOCK], tl.int32)
    ROWS: tl.constexpr = 2 if LOGITS else 1
    table = moments_ptr + (program % COPIES) * (ROWS * n_nodes * 4)
    for first in range(program * BLOCK, n, step):
        rows = first + tl.arange(0, BLOCK)
        there = rows < n
        _, u, one, label, sound, clipped = load_row(u_ptr, z_ptr, rows, there, CONFIDENCE, DOUBLE)
        bad = tl.minimum(bad, tl.where(there & (sound == 0), rows, n))
        n_clipped += (there & clipped).to(tl.int32)
        n_fractions += (there & (label == 0)).to(tl.int32)
        if LOGITS:
            n_moved += (there & ((u < low) | (u > high))).to(tl.int32)
            u = tl.minimum(tl.maximum(u, low), high)
            position = tl.log(u / (1.0 - u)) * per_unit + middle
            mass = tl.where(there, 1.0, 0.0).to(tl.float64)
            row = tl.where(one, 0, n_nodes)
        else:
            position = u * per_unit + middle
            mass = tl.where(one, 1.0 - u, -u)
            row = tl.where(one, 0, 0)
        j = tl.floor(position)
        t = position - j
        cell = (row + j.to(tl.int32)) * 4
        o = offset[None, :]
        power = t[:, None]
        moment = tl.where(o < 2, tl.where(o == 0, 1.0, power), power * power)
        moment = tl.where(o == 3, moment * power, moment) * mass[:, None]
        tl.atomic_add(
            table + cell[:, None] + o, moment, mask=there[:, None] & (o >= 0), sem="relaxed"
        )
    note(status_ptr, bad, n_clipped, n_fractions, n_moved)


@triton.jit
def moments_of(moments_ptr, table, cell, n_cells, n_nodes, COPIES: tl.constexpr):
    """The four moments of some cells, over all copies; 0 of cells that are not there."""
    there = (cell >= 0) & (cell < n_nodes)
    one = tl.zeros(cell.shape, tl.float64)
    t, t2, t3 = one, one, one
    for copy in range(COPIES):
        at = moments_ptr + (copy * n_cells + table * n_nodes + cell) * 4
        one += tl.load(at, mask=there, other=0.0)
        t += tl.load(at + 1, mask=there, other=0.0)
        t2 += tl.load(at + 2, mask=there, other=0.0)
        t3 += tl.load(at + 3, mask=there, other=0.0)
    return one, t, t2, t3


@triton.jit
def masses_at_nodes(
    moments_ptr, masses_ptr, n_nodes, tables, COPIES: tl.constexpr, BLOCK: tl.constexpr
):
    """The masses at nodes (tables, nodes), from the moments of the cells around them, with the
    weights of cubic interpolation: those of `grids._deposit`, multiplied out.
    """
    node = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    table = tl.program_id(1)
    cells = tables * n_nodes
    one, t, t2, t3 = moments_of(moments_ptr, table, node + 1, cells, n_nodes, COPIES)
    mass = t2 / 2.0 - t / 3.0 - t3 / 6.0
    one, t, t2, t3 = moments_of(moments_ptr, table, node, cells, n_nodes, COPIES)
    mass += one - t / 2.0 - t2 + t3 / 2.0
    one, t, t2, t3 = moments_of(moments_ptr, table, node - 1, cells, n_nodes, COPIES)
    mass += t + t2 / 2.0 - t3 / 2.0
    one, t, t2, t3 = moments_of(moments_ptr, table, node - 2, cells, n_nodes, COPIES)
    mass += (t3 - t) / 6.0
    tl.store(masses_ptr + table * n_nodes + node, mass, mask=node < n_nodes)


@triton.jit
def pack(
    u_ptr, z_ptr, keys_ptr, status_ptr, n,
    CONFIDENCE: tl.constexpr, DOUBLE: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """Keys that sort by prediction, then target: a prediction in [0, 1] has its sign bit free."""
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    there = rows < n
    u, _, one, label, sound, clipped = load_row(u_ptr, z_ptr, rows, there, CONFIDENCE, DOUBLE)
    if DOUBLE:
        bits = u.to(tl.int64, bitcast=True)
    else:
        bits = u.to(tl.int32, bitcast=True)
    tl.store(keys_ptr + rows, bits * 2 + tl.where(one, 1, 0), mask=there)
    bad = tl.where(there & (sound == 0), rows, n)
    if (tl.min(bad, axis=0) < n) | (tl.max((there & (clipped | (label == 0))).to(tl.int32), 0) > 0):
        fractions = (there & (label == 0)).to(tl.int32)
        note(status_ptr, bad, (there & clipped).to(tl.int32), fractions, fractions * 0)


@triton.jit
def split_by_windows(
    u_ptr, z_ptr, windows_ptr, parts_ptr, keys_ptr, status_ptr, n, step, room,
    CONFIDENCE: tl.constexpr, M: tl.constexpr, BLOCK: tl.constexpr, DEPTH: tl.constexpr,
):  # fmt: skip
    """Rows in none of M windows [low, high), as sums of those below each low, and of all: n, z, u
    and uz, (M + 1, 4) a program; and the keys of those within, in a program's own room. Lows and
    highs are single numbers, (2, M).
    """
    program = tl.program_id(0)
    lows, highs = (), ()
    for j in tl.static_range(M):
        lows = lows + (tl.load(windows_ptr + j),)
        highs = highs + (tl.load(windows_ptr + M + j),)
    # Rows in the lower half of a word, targets in the upper: no thread sees 32,768 rows.
    counts = copies_of(tl.zeros([BLOCK], tl.int32), M + 1)
    sums_u = copies_of(tl.zeros([BLOCK], tl.float64), M + 1)
    sums_uz = copies_of(tl.zeros([BLOCK], tl.float64), M + 1)
    bad = tl.zeros([BLOCK], tl.int32) + n
    n_clipped = tl.zeros([BLOCK], tl.int32)
    n_fractions = tl.zeros([BLOCK], tl.int32)
    n_within = 0
    for first in range(program * (BLOCK * DEPTH), n, step):
        # All are on their way before the first is used.
        raw_u, raw_z = (), ()
        for d in tl.static_range(DEPTH):
            rows = first + d * BLOCK + tl.arange(0, BLOCK)
            raw_u = raw_u + (tl.load(u_ptr + rows, mask=rows < n, other=0.5),)
            raw_z = raw_z + (tl.load(z_ptr + rows, mask=rows < n, other=0),)
        keys, flags = (), ()
        inside = tl.zeros([BLOCK], tl.int32)
        for d in tl.static_range(DEPTH):
            rows = first + d * BLOCK + tl.arange(0, BLOCK)
            there = rows < n
            u, exact, one, label, sound, clipped = checked_row(
                raw_u[d], raw_z[d], CONFIDENCE, False
            )
            bad = tl.minimum(bad, tl.where(there & (sound == 0), rows, n))
            n_clipped += (there & clipped).to(tl.int32)
            n_fractions += (there & (label == 0)).to(tl.int32)
            within = rows < 0
            for j in tl.static_range(M):
                within = within | ((u >= lows[j]) & (u < highs[j]))
            within = within & there
            v = tl.where(within | (there == 0), 9.0, u)
            uz = tl.where(one, exact, 0.0)
            counted = tl.where(one, 65537, 1)
            new_n, new_u, new_uz = (), (), ()
            for j in tl.static_range(M + 1):
                if j < M:
                    mine = v < lows[j]
                else:
                    mine = v < 9.0
                new_n = new_n + (counts[j] + tl.where(mine, counted, 0),)
                new_u = new_u + (sums_u[j] + tl.where(mine, exact, 0.0),)
                new_uz = new_uz + (sums_uz[j] + tl.where(mine, uz, 0.0),)
            counts, sums_u, sums_uz = new_n, new_u, new_uz
            keys = keys + (u.to(tl.int32, bitcast=True) * 2 + tl.where(one, 1, 0),)
            flags = flags + (within,)
            inside += within.to(tl.int32)
        place = n_within + tl.cumsum(inside, axis=0) - inside
        n_within += tl.sum(inside, axis=0)
        for d in tl.static_range(DEPTH):
            tl.store(keys_ptr + program * room + place, keys[d], mask=flags[d] & (place < room))
            place += flags[d].to(tl.int32)
    for j in tl.static_range(M + 1):
        out = parts_ptr + (program * (M + 1) + j) * 4
        tl.store(out, tl.sum(counts[j] & 65535, axis=0).to(tl.float64))
        tl.store(out + 1, tl.sum(counts[j] >> 16, axis=0).to(tl.float64))
        tl.store(out + 2, tl.sum(sums_u[j], axis=0))
        tl.store(out + 3, tl.sum(sums_uz[j], axis=0))
    # What found no room is told as rows that were moved.
    lost = tl.where(tl.arange(0, BLOCK) == 0, tl.maximum(n_within - room, 0), 0)
    note(status_ptr, bad, n_clipped, n_fractions, lost)


@triton.jit
def unpacked(keys, DOUBLE: tl.constexpr):
    """Predictions in float64, and whether targets are 1."""
    bits = keys >> 1
    if DOUBLE:
        u = bits.to(tl.float64, bitcast=True)
    else:
        u = bits.to(tl.float32, bitcast=True).to(tl.float64)
    return u, (keys & 1) == 1


@triton.jit
def add_ranges(keys_ptr, firsts_ptr, parts_ptr, pieces, DOUBLE: tl.constexpr, BLOCK: tl.constexpr):
    """Sums over runs of keys in order: the sums of a bin, in as many pieces as there are."""
    bin_ = tl.program_id(0)
    piece = tl.program_id(1)
    start = tl.load(firsts_ptr + bin_)
    stop = tl.load(firsts_ptr + bin_ + 1)
    n_z = tl.zeros([BLOCK], tl.int32)
    sum_u = tl.zeros([BLOCK], tl.float64)
    sum_u2 = tl.zeros([BLOCK], tl.float64)
    sum_uz = tl.zeros([BLOCK], tl.float64)
    for first in range(start + piece * BLOCK, stop, pieces * BLOCK):
        rows = first + tl.arange(0, BLOCK)
        there = rows < stop
        u, one = unpacked(tl.load(keys_ptr + rows, mask=there, other=0), DOUBLE)
        n_z += one.to(tl.int32)
        sum_u += u
        sum_u2 += u * u
        sum_uz += tl.where(one, u, 0.0)
    out = parts_ptr + (bin_ * pieces + piece) * N_SUMS
    tl.store(out + 1, tl.sum(n_z, axis=0).to(tl.float64))
    tl.store(out + 2, tl.sum(sum_u, axis=0))
    tl.store(out + 3, tl.sum(sum_u2, axis=0))
    tl.store(out + 4, tl.sum(sum_uz, axis=0))


@triton.jit
def add_chunks(
    keys_ptr, sums_ptr, n, DOUBLE: tl.constexpr, CHUNK: tl.constexpr, BLOCK: tl.constexpr
):
    """Sums of u - z over chunks of keys in order."""
    chunk = tl.program_id(0)
    total = tl.zeros([BLOCK], tl.float64)
    for t in range(CHUNK // BLOCK):
        rows = chunk * CHUNK + t * BLOCK + tl.arange(0, BLOCK)
        there = rows < n
        u, one = unpacked(tl.load(keys_ptr + rows, mask=there, other=0), DOUBLE)
        total += u - tl.where(one, 1.0, 0.0)
    tl.store(sums_ptr + chunk, tl.sum(total, axis=0))


@triton.jit
def largest_partial_sums(
    keys_ptr, before_ptr, largest_ptr, n, DOUBLE: tl.constexpr, CHUNK: tl.constexpr,
    BLOCK: tl.constexpr,
):  # fmt: skip
    """The largest |sum of u - z| up to the end of a level, in each chunk of keys in order."""
    chunk = tl.program_id(0)
    carried = tl.load(before_ptr + chunk)
    largest = tl.zeros([BLOCK], tl.float64)
    for t in range(CHUNK // BLOCK):
        rows = chunk * CHUNK + t * BLOCK + tl.arange(0, BLOCK)
        there = rows < n
        keys = tl.load(keys_ptr + rows, mask=there, other=0)
        following = tl.load(keys_ptr + rows + 1, mask=rows + 1 < n, other=-2)
        u, one = unpacked(keys, DOUBLE)
        residual = tl.where(there, u - tl.where(one, 1.0, 0.0), 0.0)
        partial = carried + tl.cumsum(residual, axis=0)
        ends = there & ((keys >> 1) != (following >> 1))
        largest = tl.maximum(largest, tl.where(ends, tl.abs(partial), 0.0))
        carried += tl.sum(residual, axis=0)
    tl.store(largest_ptr + chunk, tl.max(largest, axis=0))
