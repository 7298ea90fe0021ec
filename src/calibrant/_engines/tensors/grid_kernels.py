"""Triton kernels of smoothing grids: from rows to masses at nodes, and from a unit grid to the
integral of its smoothed residual. `scalars` and `unit_grids` call them; nothing else knows them.
"""

import triton
import triton.language as tl

from calibrant._engines.tensors.scalar_kernels import load_row, note


@triton.jit
def deposit(
    u_ptr,
    z_ptr,
    moments_ptr,
    status_ptr,
    numbers_ptr,
    n,
    n_nodes,
    middle,
    step,
    CONFIDENCE: tl.constexpr,
    DOUBLE: tl.constexpr,
    LOGITS: tl.constexpr,
    COPIES: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """Add the rows' masses to the moments of the grid cells that they lie in: mass times 1, t, t^2
    and t^3, where t, from 0 to 1, is the position in the cell.

    With LOGITS a row has the mass 1 at the logit of its prediction, in the first table if its
    target is 1 and in the second if it is 0; else it has target less prediction at its prediction.
    The four moments lie in one memory sector, in neighbouring threads, and are added in one step.
    Tables are kept in several copies, so that crowded predictions wait less for each other.
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
    note(status_ptr, n, bad, n_clipped, n_fractions, n_moved)


@triton.jit
def moments_of(moments_ptr, table, cell, n_cells, n_nodes, COPIES: tl.constexpr):
    """The four moments of some grid cells of a table, summed over all copies; 0 for cells beyond
    the ends of the table.
    """
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
    """Store the masses at nodes, (tables, nodes), from the moments of the cells around them, with
    the weights of cubic interpolation: those of `grids._deposit`, multiplied out.
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
def damp(cosines_ptr, damped_ptr, exponent_bits, left, nodes, BLOCK: tl.constexpr):
    """Multiply the coefficient k of a cosine series by exp(k^2 times an exponent), as noise does,
    and store it as a complex number; coefficients beyond the number `left` become 0.

    The exponent comes as the bits of a double.
    """
    k = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    square = k.to(tl.float64) * k.to(tl.float64)
    exponent = (exponent_bits + k.to(tl.int64) * 0).to(tl.float64, bitcast=True)
    value = tl.load(cosines_ptr + k, mask=k <= left, other=0.0) * tl.exp(square * exponent)
    value = tl.where(k == nodes, 2.0 * value, value)
    tl.store(damped_ptr + 2 * k, value, mask=k <= nodes)
    tl.store(damped_ptr + 2 * k + 1, value * 0.0, mask=k <= nodes)


@triton.jit
def add_absolute(f_ptr, parts_ptr, nodes, BLOCK: tl.constexpr):
    """Store each program's part of the integral of |f|, in units of cells: the sum of |f| at the
    nodes 0 to `nodes`, the ends counting half, and corrections where f changes its sign (kinks of
    |f|). `smooth.integral_of_absolute` explains them.
    """
    j = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    cell = j < nodes
    f1 = tl.load(f_ptr + j, mask=j <= nodes, other=0.0)
    f2 = tl.load(f_ptr + j + 1, mask=cell, other=0.0)
    # Beyond an end f goes on as its mirror image.
    f0 = tl.load(f_ptr + tl.abs(j - 1), mask=cell, other=0.0)
    f3 = tl.load(f_ptr + tl.minimum(j + 2, 2 * nodes - 2 - j), mask=cell, other=0.0)
    total = tl.abs(f1) * tl.where((j == 0) | (j == nodes), 0.5, 1.0)
    changes = cell & ((f1 >= 0.0) != (f2 >= 0.0))
    c1 = f2 - f1 / 2.0 - f0 / 3.0 - f3 / 6.0
    c2 = (f0 + f2) / 2.0 - f1
    c3 = (f3 - f0) / 6.0 + (f1 - f2) / 2.0
    at = f1 / tl.where(changes, f1 - f2, 1.0)
    for _ in tl.static_range(2):
        slope = c1 + at * (2.0 * c2 + 3.0 * at * c3)
        flat = slope == 0.0
        step = (f1 + at * (c1 + at * (c2 + at * c3))) / tl.where(flat, 1.0, slope)
        # Where the cubic is flat at the crossing, the crossing of the chord is kept.
        moved = tl.minimum(tl.maximum(at - step, 0.0), 1.0)
        at = tl.where((flat == 0) & (tl.abs(step) < 1.0), moved, at)
    first = c1 + at * (2.0 * c2 + 3.0 * at * c3)
    second = 2.0 * c2 + 6.0 * c3 * at
    third = 6.0 * c3
    q = at * (at - 1.0)
    # Constants here are exact in float32, since some would be read as float32.
    kink = first * (6.0 * q + 1.0) / 12.0 - second * (q * (at - 0.5)) / 6.0
    kink += third * (30.0 * q * q - 1.0) / 720.0
    upward = tl.where(f2 >= 0.0, 2.0, -2.0)
    total += tl.where(changes, upward * kink, 0.0)
    tl.store(parts_ptr + tl.program_id(0), tl.sum(total, axis=0))
