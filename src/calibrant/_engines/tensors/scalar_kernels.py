"""Triton kernels over one prediction and one target of 0 or 1 a row. `scalars` calls
them, and the kernels of grids and of order read rows with them.

A thread owns a row, and keeps sums of its own until the end: nothing waits for anything. Sums are
taken in float64.
"""

import triton
import triton.language as tl

from calibrant._engines.tensors.kernels import N_SUMS, OVERSHOOT, store_sums
from calibrant._engines.tensors.short_kernels import HITS, copies_of

LOG_FLOOR = tl.constexpr(1e-12)
# Positions in the status after the first, which says how far the first bad row is from the end:
# clipped predictions, targets that are neither 0 nor 1, clipped logarithms or logits.
CLIPPED = tl.constexpr(1)
FRACTIONS = tl.constexpr(2)
MOVED = tl.constexpr(3)
N_LOSSES = tl.constexpr(5)
# The factor that makes up for flags of 2^-7 (see `flag_as_double`).
FLAGS = tl.constexpr(128.0)


@triton.jit
def load_row(u_ptr, z_ptr, rows, there, CONFIDENCE: tl.constexpr, DOUBLE: tl.constexpr):
    """Load a prediction and its target for each thread, check them, and return the result of
    `checked_row`.
    """
    u = tl.load(u_ptr + rows, mask=there, other=0.5)
    z = tl.load(z_ptr + rows, mask=there, other=0)
    return checked_row(u, z, CONFIDENCE, DOUBLE)


@triton.jit
def as_problem(u, z, CONFIDENCE: tl.constexpr, DOUBLE: tl.constexpr):
    """The prediction in float32 or float64 (DOUBLE), whether its target is 1, and whether the
    target is 0 or 1 at all. With CONFIDENCE both are those of the larger of u and 1 - u.
    """
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
    return u, one, label


@triton.jit
def checked_row(u, z, CONFIDENCE: tl.constexpr, DOUBLE: tl.constexpr):
    """Six values of a row: the prediction in its own precision and in float64, whether its target
    is 1, whether the target is 0 or 1 at all, whether the prediction is valid, and whether it was
    clipped. A valid one is no further than an overshoot from [0, 1]; others become 0.
    """
    u, one, label = as_problem(u, z, CONFIDENCE, DOUBLE)
    exact = u.to(tl.float64)
    sound = (exact >= -OVERSHOOT) & (exact <= 1.0 + OVERSHOOT)
    clipped = (exact < 0.0) | (exact > 1.0)
    u = tl.where(sound, in_unit(u), 0.0)
    return u, u.to(tl.float64), one, label, sound, clipped & sound


@triton.jit
def in_unit(u):
    """The prediction clipped to [0, 1]; zero is added so that -0 and 0 are one."""
    return tl.minimum(tl.maximum(u, 0.0), 1.0) + 0.0


@triton.jit
def plain_row(u, z, CONFIDENCE: tl.constexpr, DOUBLE: tl.constexpr):
    """A shorter `checked_row`: the prediction clipped to [0, 1], whether its target is 1, and
    whether the row needs neither a clip nor a note.
    """
    u, one, label = as_problem(u, z, CONFIDENCE, DOUBLE)
    return in_unit(u), one, label & (u >= 0.0) & (u <= 1.0)


@triton.jit
def raw_rows(u_ptr, z_ptr, first, n, BLOCK: tl.constexpr, DEPTH: tl.constexpr):
    """The unchecked predictions and targets of DEPTH rows for each thread: two tuples of
    tensors.
    """
    us, zs = (), ()
    for d in tl.static_range(DEPTH):
        rows = first + d * BLOCK + tl.arange(0, BLOCK)
        us = us + (tl.load(u_ptr + rows, mask=rows < n, other=0.5),)
        zs = zs + (tl.load(z_ptr + rows, mask=rows < n, other=0),)
    return us, zs


@triton.jit
def add_notes(
    notes,
    u_ptr,
    z_ptr,
    first,
    n,
    CONFIDENCE: tl.constexpr,
    DOUBLE: tl.constexpr,
    BLOCK: tl.constexpr,
    DEPTH: tl.constexpr,
):
    """Check some more rows, and return the updated `notes`: the first invalid row, and the numbers
    of clipped predictions and of targets that are neither 0 nor 1.

    The rows are read again: most never have anything to note, and need not be kept for it.
    """
    bad, n_clipped, n_fractions = notes
    us, zs = raw_rows(u_ptr, z_ptr, first, n, BLOCK, DEPTH)
    for d in tl.static_range(DEPTH):
        rows = first + d * BLOCK + tl.arange(0, BLOCK)
        there = rows < n
        _, _, _, label, sound, clipped = checked_row(us[d], zs[d], CONFIDENCE, DOUBLE)
        bad = tl.minimum(bad, tl.where(there & (sound == 0), rows, n))
        n_clipped += (there & clipped).to(tl.int32)
        n_fractions += (there & (label == 0)).to(tl.int32)
    return bad, n_clipped, n_fractions


@triton.jit
def flag_as_double(flag):
    """2^-7 as a double where the float32 flag is 1, 0 where it is 0: the flag's bits become the
    upper half of the double's. To choose between two doubles would take two steps more.
    """
    return (flag.to(tl.int32, bitcast=True).to(tl.int64) << 32).to(tl.float64, bitcast=True)


@triton.jit
def note(status_ptr, n, bad, clipped, fractions, moved):
    """Add a program's counts to the status of all: how far the first invalid row is from the end,
    and the numbers of clipped predictions, of targets that are neither 0 nor 1, and of clipped
    logarithms or logits (`moved`).
    """
    from_end = n - tl.min(bad, axis=0)
    if from_end > 0:
        tl.atomic_max(status_ptr, from_end.to(tl.int64), sem="relaxed")
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
    u_ptr,
    z_ptr,
    edges_ptr,
    parts_ptr,
    status_ptr,
    n,
    step,
    CONFIDENCE: tl.constexpr,
    DOUBLE: tl.constexpr,
    SQUARES: tl.constexpr,
    M: tl.constexpr,
    BLOCK: tl.constexpr,
    DEPTH: tl.constexpr,
):
    """Sum rows into M bins, with the sums of all bins in each thread's registers: the numbers of
    rows and of targets z = 1, the predictions u, and with SQUARES u^2 and u z, for each program and
    bin.

    A row's addition to a bin is multiplied by a flag, 1 or 0: products take none of the units that
    comparisons and choices between numbers keep busy.
    """
    program = tl.program_id(0)
    edges = ()
    for b in tl.static_range(M - 1):
        edge = tl.load(edges_ptr + b)
        if not DOUBLE:
            edge = edge.to(tl.float32)
        edges = edges + (edge,)
    counts = copies_of(tl.zeros([BLOCK], tl.float32), M)
    sum_u = copies_of(tl.zeros([BLOCK], tl.float64), M)
    sum_u2 = copies_of(tl.zeros([BLOCK], tl.float64), M)
    sum_uz = copies_of(tl.zeros([BLOCK], tl.float64), M)
    nothing = tl.zeros([BLOCK], tl.int32)
    notes = (nothing + n, nothing, nothing)
    start = program * (BLOCK * DEPTH)
    next_u, next_z = raw_rows(u_ptr, z_ptr, start, n, BLOCK, DEPTH)
    for first in range(start, n, step):
        # The next rows are loaded while these are worked on.
        raw_u, raw_z = next_u, next_z
        next_u, next_z = raw_rows(u_ptr, z_ptr, first + step, n, BLOCK, DEPTH)
        odd = nothing
        for d in tl.static_range(DEPTH):
            there = first + d * BLOCK + tl.arange(0, BLOCK) < n
            u, one, plain = plain_row(raw_u[d], raw_z[d], CONFIDENCE, DOUBLE)
            odd += tl.where(plain, 0, 1)
            v = tl.where(there, u, 9.0)
            scaled = u.to(tl.float64) * FLAGS
            with_target = tl.where(one, scaled, 0.0)
            square = scaled * u.to(tl.float64)
            counted = tl.where(one, HITS + 1.0, 1.0)
            below = tl.zeros([BLOCK], tl.float32)
            new_n, new_u, new_u2, new_uz = (), (), (), ()
            for b in tl.static_range(M):
                if b < M - 1:
                    upto = tl.where(v < edges[b], 1.0, 0.0)
                else:
                    upto = tl.where(there, 1.0, 0.0)
                mine = upto - below
                below = upto
                new_n = new_n + (counts[b] + mine * counted,)
                new_u = new_u + (sum_u[b] + flag_as_double(mine) * scaled,)
                if SQUARES:
                    new_u2 = new_u2 + (sum_u2[b] + flag_as_double(mine) * square,)
                    new_uz = new_uz + (sum_uz[b] + flag_as_double(mine) * with_target,)
            counts, sum_u = new_n, new_u
            if SQUARES:
                sum_u2, sum_uz = new_u2, new_uz
        if tl.max(odd, axis=0) > 0:
            notes = add_notes(notes, u_ptr, z_ptr, first, n, CONFIDENCE, DOUBLE, BLOCK, DEPTH)
    for b in tl.static_range(M):
        out = parts_ptr + (program * M + b) * N_SUMS
        hits = tl.floor(counts[b] / HITS)
        store_sums(out, (counts[b] - hits * HITS, hits, sum_u[b]), 3)
        if SQUARES:
            store_sums(out + 3, (sum_u2[b], sum_uz[b]), 2)
    note(status_ptr, n, notes[0], notes[1], notes[2], nothing)


@triton.jit
def add_losses(
    u_ptr, z_ptr, parts_ptr, status_ptr, n, step, DOUBLE: tl.constexpr, BLOCK: tl.constexpr
):
    """Sum the proper losses of two classes with the probabilities 1 - u and u: N_LOSSES sums for
    each program.
    """
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
    losses = (brier, log, spherical, wrong, confident)
    store_sums(parts_ptr + program * N_LOSSES, losses, N_LOSSES)
    note(status_ptr, n, bad, n_clipped, n_fractions, n_moved)
