# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
# cython: initializedcheck=False, embedsignature=True
"""Compiled sums of the proper losses of binary predictions, checked in the same pass.

The twin in plain NumPy is ``numpy_kernels.add_losses``.
"""
from libc.math cimport log, sqrt
from libc.stdint cimport int64_t

from calibrant._engines.arrays._common cimport (
    BAD_ROW, LOSS_BRIER, LOSS_CLASS, LOSS_CONFIDENCE, LOSS_LOG, LOSS_SPHERICAL, N_CLIPPED,
    N_LOG_CLIPPED, ROWS_AT_ONCE, SOFT, prediction_t, read_rows, target_t,
)

cdef extern from "_losses.h" nogil:
    double sum_in_lanes(const double*, Py_ssize_t) noexcept
    double sum_of_squared_gaps(const double*, const double*, Py_ssize_t) noexcept
    void of_outcomes(double*, const double*, const double*, Py_ssize_t) noexcept
    int64_t lift(double*, Py_ssize_t, double) noexcept
    double minus_logs(const double*, Py_ssize_t) noexcept
    double sum_of_spherical(double*, const double*, const double*, Py_ssize_t) noexcept
    void of_top_label(double*, double*, const double*, const double*, Py_ssize_t) noexcept


cdef struct Rows:
    double u[ROWS_AT_ONCE]
    double z[ROWS_AT_ONCE]
    double at[ROWS_AT_ONCE]
    double other[ROWS_AT_ONCE]


def add_losses(
    double[::1] losses, const prediction_t[::1] predictions, const target_t[::1] targets,
    const double[::1] weights, double log_floor, int wanted, int64_t[::1] status,
):
    """Add the losses of binary predictions; `wanted` has a bit for each field to be summed.

    Rows and weights are always counted. Bit 0 asks that predictions below the floor of logarithms
    are counted even if the log loss is not summed.
    """
    cdef Py_ssize_t n = predictions.shape[0], start, rows, i, bad
    cdef bint weighted = weights is not None, soft
    cdef int64_t n_clipped = 0, n_floored = 0, any_soft = 0
    cdef Rows r
    cdef const double* wp = NULL
    with nogil:
        for start from 0 <= start < n by ROWS_AT_ONCE:
            rows = min(n - start, <Py_ssize_t> ROWS_AT_ONCE)
            if weighted:
                wp = &weights[start]
            bad = read_rows(r.u, r.z, &predictions[start], &targets[start], wp, rows, False,
                            &n_clipped)
            if bad < rows:
                status[BAD_ROW] = start + bad
                break
            soft = False
            for i in range(rows):
                soft |= (r.z[i] != 0.0) & (r.z[i] != 1.0)
            any_soft |= soft
            if soft or weighted:
                n_floored += add_each(&losses[0], &r, wp, rows, log_floor, wanted)
            else:
                n_floored += add_together(&losses[0], &r, rows, log_floor, wanted)
    status[N_CLIPPED] += n_clipped
    status[N_LOG_CLIPPED] += n_floored
    status[SOFT] |= any_soft


cdef inline int64_t add_together(
    double* losses, Rows* r, Py_ssize_t rows, double log_floor, int wanted
) noexcept nogil:
    """Rows of weight 1 whose targets are 0 or 1."""
    cdef int64_t n_floored = 0
    losses[0] += rows
    losses[1] += rows
    if wanted & (1 << LOSS_BRIER):
        losses[LOSS_BRIER] += sum_of_squared_gaps(r.u, r.z, rows)
    if wanted & (1 | 1 << LOSS_LOG | 1 << LOSS_SPHERICAL):
        of_outcomes(r.at, r.u, r.z, rows)
    if wanted & (1 << LOSS_SPHERICAL):
        losses[LOSS_SPHERICAL] += sum_of_spherical(r.other, r.u, r.at, rows)
    if wanted & (1 | 1 << LOSS_LOG):
        n_floored = lift(r.at, rows, log_floor)
    if wanted & (1 << LOSS_LOG):
        losses[LOSS_LOG] += minus_logs(r.at, rows)
    if wanted & (1 << LOSS_CLASS | 1 << LOSS_CONFIDENCE):
        of_top_label(r.at, r.other, r.u, r.z, rows)
        add_top_label(losses, r, NULL, rows)
    return n_floored


cdef inline int64_t add_each(
    double* losses, Rows* r, const double* weights, Py_ssize_t rows, double log_floor, int wanted
) noexcept nogil:
    """Rows with weights, or with targets between 0 and 1: one by one."""
    cdef double u, below, z, w = 1.0
    cdef int64_t n_floored = 0
    cdef Py_ssize_t i
    for i in range(rows):
        u = r.u[i]
        z = r.z[i]
        below = 1.0 - u
        if weights != NULL:
            w = weights[i]
        losses[0] += w > 0.0
        losses[1] += w
        losses[LOSS_BRIER] += w * ((u - z) * (u - z))
        if wanted & (1 << LOSS_SPHERICAL):
            losses[LOSS_SPHERICAL] += w * (
                1.0 - ((1.0 - z) * below + z * u) / sqrt(below * below + u * u))
        if wanted & (1 << LOSS_LOG) == 0 and wanted & 1:
            n_floored += (z < 1.0) & (below < log_floor)
            n_floored += (z > 0.0) & (u < log_floor)
        if wanted & (1 << LOSS_LOG):
            if z < 1.0:
                n_floored += below < log_floor
                losses[LOSS_LOG] -= w * ((1.0 - z) * log(below if below > log_floor else log_floor))
            if z > 0.0:
                n_floored += u < log_floor
                losses[LOSS_LOG] -= w * (z * log(u if u > log_floor else log_floor))
    if wanted & (1 << LOSS_CLASS | 1 << LOSS_CONFIDENCE):
        of_top_label(r.at, r.other, r.u, r.z, rows)
        add_top_label(losses, r, weights, rows)
    return n_floored


cdef inline void add_top_label(
    double* losses, Rows* r, const double* weights, Py_ssize_t rows
) noexcept nogil:
    """The losses of the top label, whose target is in `at` and whose confidence in `other`."""
    cdef double miss, gap, w = 1.0
    cdef Py_ssize_t i
    for i in range(rows):
        if weights != NULL:
            w = weights[i]
        miss = 1.0 - r.at[i]
        gap = r.other[i] - r.at[i]
        r.at[i] = w * miss
        r.other[i] = w * (miss + gap * gap)
    losses[LOSS_CLASS] += sum_in_lanes(r.at, rows)
    losses[LOSS_CONFIDENCE] += sum_in_lanes(r.other, rows)
