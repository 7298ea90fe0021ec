"""Triton kernels of scalar problems in order: keys that sort, sums over runs of sorted keys, and
bins of equal mass from windows around their borders. `order` and `column_quantiles` call them;
nothing else knows them.
"""

import triton
import triton.language as tl

from calibrant._engines.tensors.kernels import N_SUMS, store_sums
from calibrant._engines.tensors.scalar_kernels import (
    FLAGS,
    add_notes,
    flag_as_double,
    in_unit,
    load_row,
    note,
    plain_row,
    raw_rows,
)
from calibrant._engines.tensors.short_kernels import HITS, copies_of

# A key above all others.
LAST = tl.constexpr(2**31 - 1)


@triton.jit
def pack(
    u_ptr,
    z_ptr,
    keys_ptr,
    status_ptr,
    n,
    CONFIDENCE: tl.constexpr,
    DOUBLE: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """Store a key for each row that sorts by prediction, then target: the prediction's bits times
    2, plus the target. (A prediction in [0, 1] has its sign bit free.) Clipped values and invalid
    rows go to the status.
    """
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
        note(status_ptr, n, bad, (there & clipped).to(tl.int32), fractions, fractions * 0)


@triton.jit
def unpacked(keys, DOUBLE: tl.constexpr):
    """The predictions in float64, and whether their targets are 1, from the keys of rows."""
    bits = keys >> 1
    if DOUBLE:
        u = bits.to(tl.float64, bitcast=True)
    else:
        u = bits.to(tl.float32, bitcast=True).to(tl.float64)
    return u, (keys & 1) == 1


@triton.jit
def add_ranges(keys_ptr, firsts_ptr, parts_ptr, pieces, DOUBLE: tl.constexpr, BLOCK: tl.constexpr):
    """Store the sums over each run of sorted keys from one of `firsts` to the next: targets z,
    predictions u, u^2 and u z, in columns 1 to 4. `pieces` programs share a run, and store a sum
    each.
    """
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
    store_sums(out + 2, (sum_u, sum_u2, sum_uz), 3)


@triton.jit
def add_chunks(
    keys_ptr, sums_ptr, n, DOUBLE: tl.constexpr, CHUNK: tl.constexpr, BLOCK: tl.constexpr
):
    """Store the sum of prediction less target (u - z) over each chunk of CHUNK sorted keys."""
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
    keys_ptr,
    before_ptr,
    largest_ptr,
    n,
    DOUBLE: tl.constexpr,
    CHUNK: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """Store, for each chunk of sorted keys, the largest absolute sum of prediction less target from
    the first key of all to the end of a distinct prediction in the chunk. `before` has the sum
    before each chunk.
    """
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


@triton.jit
def split_by_windows(
    u_ptr,
    z_ptr,
    some_ptr,
    ranks_ptr,
    parts_ptr,
    keys_ptr,
    status_ptr,
    n,
    step,
    room,
    CONFIDENCE: tl.constexpr,
    M: tl.constexpr,
    BLOCK: tl.constexpr,
    DEPTH: tl.constexpr,
):
    """Sum the rows outside M windows of predictions, and collect the keys of the rows inside.

    A window reaches from one number of a sorted sample to another, both included; `ranks` (2, M)
    are their positions in the sample. Each program stores the number, targets z and predictions u
    of its rows below each window and of all its rows, (M + 1, 3), and `room` keys, the unused ones
    being `LAST`.
    """
    program = tl.program_id(0)
    lows, highs = (), ()
    for j in tl.static_range(M):
        lows = lows + (in_unit(tl.load(some_ptr + tl.load(ranks_ptr + j))),)
        highs = highs + (in_unit(tl.load(some_ptr + tl.load(ranks_ptr + M + j))),)
    counts = copies_of(tl.zeros([BLOCK], tl.float32), M + 1)
    sums = copies_of(tl.zeros([BLOCK], tl.float64), M + 1)
    nothing = tl.zeros([BLOCK], tl.int32)
    notes = (nothing + n, nothing, nothing)
    n_within = 0
    start = program * (BLOCK * DEPTH)
    next_u, next_z = raw_rows(u_ptr, z_ptr, start, n, BLOCK, DEPTH)
    for first in range(start, n, step):
        # The next rows are loaded while these are worked on.
        raw_u, raw_z = next_u, next_z
        next_u, next_z = raw_rows(u_ptr, z_ptr, first + step, n, BLOCK, DEPTH)
        keys, flags = (), ()
        inside, odd = nothing, nothing
        for d in tl.static_range(DEPTH):
            there = first + d * BLOCK + tl.arange(0, BLOCK) < n
            u, one, plain = plain_row(raw_u[d], raw_z[d], CONFIDENCE, False)
            odd += tl.where(plain, 0, 1)
            v = tl.where(there, u, 9.0)
            scaled = u.to(tl.float64) * FLAGS
            counted = tl.where(one, HITS + 1.0, 1.0)
            # For a row in no window, as many windows begin above it as end at or above it.
            windows = tl.zeros([BLOCK], tl.float32)
            new_n, new_u = (), ()
            for j in tl.static_range(M + 1):
                if j < M:
                    mine = tl.where(v < lows[j], 1.0, 0.0)
                    windows += tl.where(v <= highs[j], 1.0, 0.0)
                    windows -= mine
                else:
                    mine = tl.where(there, 1.0, 0.0)
                new_n = new_n + (counts[j] + mine * counted,)
                new_u = new_u + (sums[j] + flag_as_double(mine) * scaled,)
            counts, sums = new_n, new_u
            within = windows > 0.0
            keys = keys + (u.to(tl.int32, bitcast=True) * 2 + tl.where(one, 1, 0),)
            flags = flags + (within,)
            inside += within.to(tl.int32)
        if tl.max(odd, axis=0) > 0:
            notes = add_notes(notes, u_ptr, z_ptr, first, n, CONFIDENCE, False, BLOCK, DEPTH)
        place = n_within + tl.cumsum(inside, axis=0) - inside
        n_within += tl.sum(inside, axis=0)
        for d in tl.static_range(DEPTH):
            tl.store(keys_ptr + program * room + place, keys[d], mask=flags[d] & (place < room))
            place += flags[d].to(tl.int32)
    for at in range(n_within, room, BLOCK):
        rest = at + tl.arange(0, BLOCK)
        tl.store(keys_ptr + program * room + rest, nothing + LAST, mask=rest < room)
    for j in tl.static_range(M + 1):
        out = parts_ptr + (program * (M + 1) + j) * 3
        hits = tl.floor(counts[j] / HITS)
        store_sums(out, (counts[j] - hits * HITS, hits, sums[j]), 3)
    # Rows for which there was no room are counted in the place of moved logits.
    lost = tl.where(tl.arange(0, BLOCK) == 0, tl.maximum(n_within - room, 0), 0)
    note(status_ptr, n, notes[0], notes[1], notes[2], lost)


@triton.jit
def first_at_or_above(keys_ptr, wanted, n_keys, STEPS: tl.constexpr):
    """The position of the first sorted key at or above each wanted number."""
    low = wanted * 0
    high = low + n_keys
    for _ in range(STEPS):
        open_ = low < high
        middle = (low + high) // 2
        up = open_ & (tl.load(keys_ptr + middle, mask=open_, other=0) < wanted)
        low = tl.where(up, middle + 1, low)
        high = tl.where(open_ & (up == 0), middle, high)
    return low


@triton.jit
def find_borders(
    keys_ptr,
    below_ptr,
    some_ptr,
    ranks_ptr,
    numbers_ptr,
    firsts_ptr,
    found_ptr,
    n,
    n_keys,
    m,
    LANES: tl.constexpr,
    STEPS: tl.constexpr,
):
    """Find the borders between m bins of equal mass among the sorted keys of the rows in windows.

    Stored are the positions at which each window and the bin after each border begin, (m - 1, 2);
    and the prediction at the border, whether it belongs to the bin before, and whether it lies in
    the window, as it must, (m - 1, 3).
    """
    j = tl.arange(0, LANES)
    there = j < m - 1
    low = in_unit(tl.load(some_ptr + tl.load(ranks_ptr + j, mask=there, other=0)))
    high = in_unit(tl.load(some_ptr + tl.load(ranks_ptr + m - 1 + j, mask=there, other=0)))
    before = tl.load(below_ptr + j * 3, mask=there, other=0.0).to(tl.int32)
    number = (j + 1).to(tl.float64)
    rank = tl.ceil(number * n / m).to(tl.int32) - 1
    first = first_at_or_above(keys_ptr, low.to(tl.int32, bitcast=True) * 2, n_keys, STEPS)
    at = rank - before + first
    inside = (at >= first) & (at < n_keys)
    key = tl.load(keys_ptr + at, mask=there & inside, other=0)
    level = (key >> 1) * 2
    value = (key >> 1).to(tl.float32, bitcast=True)
    sound = inside & (value >= low) & (value <= high)
    start = first_at_or_above(keys_ptr, level, n_keys, STEPS)
    stop = first_at_or_above(keys_ptr, level + 2, n_keys, STEPS)
    # Twice the middle rank of equal predictions; in float64, since integers might overflow.
    middle = 2.0 * (before - first).to(tl.float64) + start.to(tl.float64) + stop.to(tl.float64)
    in_lower = middle * m <= 2.0 * number * n * tl.load(numbers_ptr)
    tl.store(firsts_ptr + 2 * j, first, mask=there)
    tl.store(firsts_ptr + 2 * j + 1, tl.where(in_lower, stop, start), mask=there)
    out = found_ptr + 3 * j
    tl.store(out, value.to(tl.float64), mask=there)
    tl.store(out + 1, tl.where(in_lower, 1.0, 0.0), mask=there)
    tl.store(out + 2, tl.where(sound, 1.0, 0.0), mask=there)
