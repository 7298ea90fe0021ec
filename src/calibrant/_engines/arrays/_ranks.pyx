# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
# cython: initializedcheck=False, embedsignature=True
"""Compiled passes of the search for exact quantiles: cells, finer cells, and what is left of them.

`calibrant._engines.arrays.quantiles` says how they fit together.
"""
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.string cimport memcpy

from calibrant._engines.arrays._common cimport BAD_ROW, clip_overshoot, is_weight, prediction_t


cdef inline uint64_t key_of(double x) noexcept nogil:
    """The bits of a non-negative double, which sort as the numbers do."""
    cdef uint64_t key
    memcpy(&key, &x, 8)
    return key


def add_cells(double[::1] mass, const prediction_t[::1] predictions, const double[::1] weights,
              int64_t[::1] status):
    """Add the weights (or 1) to `mass` of the linear cell of each prediction; 1 has its own cell.

    `len(mass) - 1` is a power of two, so that the product is exact.
    """
    cdef Py_ssize_t n = predictions.shape[0], i
    cdef double scale = mass.shape[0] - 1, x, w
    cdef bint weighted = weights is not None
    cdef int64_t n_clipped = 0
    with nogil:
        for i in range(n):
            x = predictions[i]
            if not ((x >= 0.0) & (x <= 1.0)):
                if not clip_overshoot(&x, &n_clipped):
                    status[BAD_ROW] = i
                    break
            if weighted:
                w = weights[i]
                if not is_weight(w):
                    status[BAD_ROW] = i
                    break
                mass[<Py_ssize_t> (x * scale)] += w
            else:
                mass[<Py_ssize_t> (x * scale)] += 1.0


cdef inline Py_ssize_t range_of(
    uint64_t key, const uint64_t* low, const uint64_t* high, Py_ssize_t n_ranges
) noexcept nogil:
    """The range [low, high) that holds the key, or -1. Ranges are sorted and disjoint."""
    cdef Py_ssize_t a = 0, b = n_ranges, middle
    while a < b:
        middle = (a + b) >> 1
        if key >= high[middle]:
            a = middle + 1
        else:
            b = middle
    if a < n_ranges and key >= low[a]:
        return a
    return -1


def add_subcells(
    double[:, ::1] mass, uint64_t[:, ::1] smallest, uint64_t[:, ::1] largest,
    const prediction_t[::1] predictions, const double[::1] weights, const uint8_t[::1] wanted,
    const uint64_t[::1] low, const uint64_t[::1] high, const int32_t[::1] shift,
):
    """Add the weights to the subcells of the key ranges; `wanted` marks their linear cells.

    The smallest and the largest key of each subcell tell a subcell that holds one value only.
    """
    cdef Py_ssize_t n = predictions.shape[0], i, j, sub
    cdef double scale = wanted.shape[0] - 1, x, w = 1.0
    cdef bint weighted = weights is not None
    cdef uint64_t key
    with nogil:
        for i in range(n):
            x = predictions[i]
            x = 0.0 if x <= 0.0 else (1.0 if x > 1.0 else x)
            if not wanted[<Py_ssize_t> (x * scale)]:
                continue
            key = key_of(x)
            j = range_of(key, &low[0], &high[0], low.shape[0])
            if weighted:
                w = weights[i]
            if j >= 0 and w > 0.0:
                sub = <Py_ssize_t> ((key - low[j]) >> shift[j])
                mass[j, sub] += w
                if key < smallest[j, sub]:
                    smallest[j, sub] = key
                if key > largest[j, sub]:
                    largest[j, sub] = key


def gather(
    double[::1] values, double[::1] masses, const prediction_t[::1] predictions,
    const double[::1] weights, const uint8_t[::1] wanted, const uint64_t[::1] low,
    const uint64_t[::1] high,
):
    """Copy the predictions in the key ranges (and their weights) out; returns how many there were."""
    cdef Py_ssize_t n = predictions.shape[0], i, found = 0, room = values.shape[0]
    cdef double scale = wanted.shape[0] - 1, x
    cdef bint weighted = weights is not None
    with nogil:
        for i in range(n):
            x = predictions[i]
            x = 0.0 if x <= 0.0 else (1.0 if x > 1.0 else x)
            if not wanted[<Py_ssize_t> (x * scale)]:
                continue
            if weighted and weights[i] == 0.0:
                continue
            if range_of(key_of(x), &low[0], &high[0], low.shape[0]) >= 0:
                if found < room:
                    values[found] = x
                    masses[found] = weights[i] if weighted else 1.0
                found += 1
    return found
