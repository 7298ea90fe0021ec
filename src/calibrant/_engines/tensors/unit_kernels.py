"""Triton kernels that smooth a unit grid. `unit_grids` calls them; nothing else knows them."""

import triton
import triton.language as tl


@triton.jit
def damp(cosines_ptr, damped_ptr, exponent_bits, left, nodes, BLOCK: tl.constexpr):
    """Coefficients of cosines after noise, as complex numbers: times exp of k^2 times an exponent,
    which comes as the bits of a double, and 0 beyond the number `left`.
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
    """Sums of |f| at nodes from 0 to `nodes`, of which the ends count half, and of the terms of its
    kinks: what `smooth.integral_of_absolute` adds up, which says where they come from.
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
        # A cubic that is flat where it should cross says nothing: the chord's crossing stays.
        moved = tl.minimum(tl.maximum(at - step, 0.0), 1.0)
        at = tl.where((flat == 0) & (tl.abs(step) < 1.0), moved, at)
    first = c1 + at * (2.0 * c2 + 3.0 * at * c3)
    second = 2.0 * c2 + 6.0 * c3 * at
    third = 6.0 * c3
    q = at * (at - 1.0)
    # Only numbers that single precision holds are written here: some would be taken as such.
    kink = first * (6.0 * q + 1.0) / 12.0 - second * (q * (at - 0.5)) / 6.0
    kink += third * (30.0 * q * q - 1.0) / 720.0
    upward = tl.where(f2 >= 0.0, 2.0, -2.0)
    total += tl.where(changes, upward * kink, 0.0)
    tl.store(parts_ptr + tl.program_id(0), tl.sum(total, axis=0))
