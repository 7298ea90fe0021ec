# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
# cython: initializedcheck=False, embedsignature=True
"""Compiled ordering of predictions, and the sums of each distinct one.

`calibrant._engines.arrays.ordering` says how the passes fit together.
"""
from libc.stdint cimport int64_t, uint64_t
from libc.string cimport memcpy

from calibrant._engines.arrays._common cimport (
    BAD_ROW, N_CLIPPED, SOFT, clip_overshoot, is_weight, prediction_t, target_t, unit,
)

cdef extern from "_order.h" nogil:
    ctypedef struct keyed_t:
        uint64_t key
        uint64_t row
    const Py_ssize_t N_CELLS
    Py_ssize_t cell_of(double x) noexcept
    uint64_t key_of_prediction(double x, uint64_t label) noexcept
    double prediction_of_key(uint64_t key) noexcept
    void sort_keys(uint64_t* items, uint64_t* other, Py_ssize_t n) noexcept
    void sort_keyed(keyed_t* items, keyed_t* other, Py_ssize_t n) noexcept


def n_cells():
    """How many cells rows are dealt into."""
    return N_CELLS


def count_cells(
    int64_t[::1] counts, const prediction_t[::1] predictions, const target_t[::1] targets,
    const double[::1] weights, int64_t[::1] status,
):
    """Count the rows of each cell, and check all values."""
    cdef Py_ssize_t n = predictions.shape[0], i
    cdef bint weighted = weights is not None
    cdef int64_t n_clipped = 0, soft = 0
    cdef double x, z
    with nogil:
        for i in range(n):
            x = predictions[i]
            z = <double> targets[i]
            if not ((x >= 0.0) & (x <= 1.0) & (z >= 0.0) & (z <= 1.0)):
                if not (clip_overshoot(&z, &n_clipped) and clip_overshoot(&x, &n_clipped)):
                    status[BAD_ROW] = i
                    break
            if weighted and not is_weight(weights[i]):
                status[BAD_ROW] = i
                break
            soft |= (z != 0.0) & (z != 1.0)
            counts[cell_of(unit(x))] += 1
    status[N_CLIPPED] += n_clipped
    status[SOFT] |= soft


def fold(
    prediction_t[::1] confidences, double[::1] hits, const prediction_t[::1] predictions,
    const target_t[::1] targets,
):
    """Binary rows as a two-class top-label problem; at 1/2 the lower class, 0, is predicted."""
    cdef Py_ssize_t n = predictions.shape[0], i
    cdef prediction_t u, below
    cdef double z
    with nogil:
        for i in range(n):
            u = predictions[i]
            below = 1 - u
            z = <double> targets[i]
            confidences[i] = u if u > 0.5 else below
            hits[i] = z if u > 0.5 else 1.0 - z


def deal_keys(
    uint64_t[::1] keys, int64_t[::1] places, const prediction_t[::1] predictions,
    const target_t[::1] targets,
):
    """Deal predictions with their 0/1 labels out to their cells, the next of which is at `places`."""
    cdef Py_ssize_t n = predictions.shape[0], i, cell
    cdef double x
    with nogil:
        for i in range(n):
            x = unit(predictions[i])
            cell = cell_of(x)
            keys[places[cell]] = key_of_prediction(x, (<double> targets[i]) > 0.5)
            places[cell] += 1


def deal_rows(
    uint64_t[:, ::1] keyed, int64_t[::1] places, const prediction_t[::1] predictions,
    Py_ssize_t first,
):
    """Deal predictions out with the numbers of their rows, of which these begin at `first`."""
    cdef Py_ssize_t n = predictions.shape[0], i, cell
    cdef double x
    with nogil:
        for i in range(n):
            x = unit(predictions[i])
            cell = cell_of(x)
            keyed[places[cell], 0] = key_of_prediction(x, 0)
            keyed[places[cell], 1] = first + i
            places[cell] += 1


def levels_of_keys(
    uint64_t[::1] keys, uint64_t[::1] other, double[::1] hits, const int64_t[::1] starts,
    Py_ssize_t first, Py_ssize_t last,
):
    """Sort the cells first..last, and sum each distinct prediction; returns how many there are.

    From the place of the first cell on, `keys` then holds the predictions and `other` their counts,
    both as doubles, and `hits` the counts of the label 1. Levels are never more than rows, so they
    overwrite only what has been read.
    """
    cdef Py_ssize_t cell, start, size, i, at = starts[first], begin = starts[first]
    cdef uint64_t key
    cdef double value, count, hit
    cdef double* values = <double*> &keys[0]
    cdef double* counts = <double*> &other[0]
    with nogil:
        for cell in range(first, last):
            start = starts[cell]
            size = starts[cell + 1] - start
            if size == 0:
                continue
            sort_keys(&keys[start], &other[start], size)
            i = start
            while i < start + size:
                key = keys[i] >> 1
                value = prediction_of_key(keys[i])
                count = hit = 0.0
                while i < start + size and keys[i] >> 1 == key:
                    count += 1.0
                    hit += keys[i] & 1
                    i += 1
                memcpy(values + at, &value, sizeof(double))
                memcpy(counts + at, &count, sizeof(double))
                hits[at] = hit
                at += 1
    return at - begin


def levels_of_rows(
    double[:, ::1] columns, uint64_t[:, ::1] keyed, uint64_t[:, ::1] other,
    const target_t[::1] targets, const double[::1] weights, const int64_t[::1] starts,
    Py_ssize_t first, Py_ssize_t last,
):
    """Sort the cells first..last, and sum each distinct prediction; returns how many there are.

    `columns` get, from the place of the first cell on: predictions, rows, and sums of z and z^2; or
    with weights: predictions, rows of some weight, and sums of w, w^2, w z, w z^2 and w^2 z.
    """
    cdef Py_ssize_t cell, start, size, i, at = starts[first], begin = starts[first]
    cdef uint64_t key
    cdef double z, w, n, sum_w, sum_w2, sum_wz, sum_wz2, sum_w2z
    cdef bint weighted = weights is not None
    with nogil:
        for cell in range(first, last):
            start = starts[cell]
            size = starts[cell + 1] - start
            if size == 0:
                continue
            sort_keyed(<keyed_t*> &keyed[start, 0], <keyed_t*> &other[start, 0], size)
            i = start
            while i < start + size:
                key = keyed[i, 0]
                n = sum_w = sum_w2 = sum_wz = sum_wz2 = sum_w2z = 0.0
                while i < start + size and keyed[i, 0] == key:
                    z = unit(<double> targets[keyed[i, 1]])
                    if weighted:
                        w = weights[keyed[i, 1]]
                        n += w > 0.0
                        sum_w += w
                        sum_w2 += w * w
                        sum_wz += w * z
                        sum_wz2 += w * (z * z)
                        sum_w2z += (w * w) * z
                    else:
                        n += 1.0
                        sum_wz += z
                        sum_wz2 += z * z
                    i += 1
                if n == 0.0:  # a level that only rows of weight 0 hold is not a level
                    continue
                columns[0, at] = prediction_of_key(key)
                columns[1, at] = n
                if weighted:
                    columns[2, at] = sum_w
                    columns[3, at] = sum_w2
                    columns[4, at] = sum_wz
                    columns[5, at] = sum_wz2
                    columns[6, at] = sum_w2z
                else:
                    columns[2, at] = sum_wz
                    columns[3, at] = sum_wz2
                at += 1
    return at - begin


def sort_rows(
    uint64_t[:, ::1] keyed, uint64_t[:, ::1] other, const int64_t[::1] starts, Py_ssize_t first,
    Py_ssize_t last,
):
    """Sort the cells first..last; equal predictions stay in the order of their rows."""
    cdef Py_ssize_t cell, start, size
    with nogil:
        for cell in range(first, last):
            start = starts[cell]
            size = starts[cell + 1] - start
            if size:
                sort_keyed(<keyed_t*> &keyed[start, 0], <keyed_t*> &other[start, 0], size)


def pool(
    double[:, ::1] blocks, const double[::1] w, const double[::1] wz, const double[::1] wz2
):
    """Sums of w, w z and w z^2 over the blocks of an increasing fit; returns how many there are.

    Means are compared without a division, which would be slower than all the rest.
    """
    cdef Py_ssize_t n = w.shape[0], i, top = -1
    with nogil:
        for i in range(n):
            top += 1
            blocks[0, top] = w[i]
            blocks[1, top] = wz[i]
            blocks[2, top] = wz2[i]
            while top > 0 and (
                    blocks[1, top - 1] * blocks[0, top] >= blocks[1, top] * blocks[0, top - 1]):
                blocks[0, top - 1] += blocks[0, top]
                blocks[1, top - 1] += blocks[1, top]
                blocks[2, top - 1] += blocks[2, top]
                top -= 1
    return top + 1
