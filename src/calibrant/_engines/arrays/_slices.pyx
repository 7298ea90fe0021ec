# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
# cython: initializedcheck=False, embedsignature=True
"""Compiled sums of many slices in one read: a row is added to the sums of its own slice.

Rows stay in their order: they are neither sorted by slice nor copied. Values are checked in the same
pass. The twin in plain NumPy is in ``numpy_kernels``.
"""
from libc.math cimport log, sqrt
from libc.stdint cimport int32_t, int64_t, uint64_t

from calibrant._engines.arrays._common cimport (
    BAD_ROW, FIELDS, LOSS_BRIER, LOSS_CLASS, LOSS_CONFIDENCE, LOSS_LOG, LOSS_SPHERICAL, N,
    N_CLIPPED, N_LOG_CLIPPED, SOFT, W, W2, W2Z, WU, WU2, WUZ, WZ, WZ2, clip_overshoot, is_weight,
    prediction_t, target_t,
)

cdef extern from "_slices.h" nogil:
    void add_to_label(double*, double, uint64_t, const cuts_t*) noexcept

cdef extern from "_bins.h" nogil:
    ctypedef struct cuts_t:
        const double* edges
        const int32_t* start
        double cells
        int crowded
    enum:
        CELL
    Py_ssize_t bin_of(double x, const cuts_t* cuts) noexcept
    uint64_t label_of_integer(uint64_t, uint64_t*) noexcept
    uint64_t label_of_double(double, uint64_t*) noexcept
    uint64_t outside_double(const double*) noexcept
    uint64_t outside_float(const float*) noexcept


cdef inline cuts_t cuts_of(
    const double[::1] inner, const int32_t[::1] start, bint crowded
) noexcept:
    cdef cuts_t cuts
    cuts.edges = &inner[0]
    cuts.start = &start[0]
    cuts.cells = start.shape[0] - 2
    cuts.crowded = crowded
    return cuts


cdef inline uint64_t label_of(const target_t* target, uint64_t* odd) noexcept nogil:
    if target_t is double:
        return label_of_double(target[0], odd)
    else:
        return label_of_integer(<uint64_t> target[0], odd)


cdef inline uint64_t outside(const prediction_t* prediction) noexcept nogil:
    if prediction_t is float:
        return outside_float(prediction)
    else:
        return outside_double(prediction)


cdef inline bint check(double* x, double* z, double w, int64_t* n_clipped) noexcept nogil:
    """Whether a row can be measured; values that overshot [0, 1] by rounding are brought back."""
    if (x[0] >= 0.0) & (x[0] <= 1.0) & (z[0] >= 0.0) & (z[0] <= 1.0) & is_weight(w):
        return True
    return is_weight(w) and clip_overshoot(z, n_clipped) and clip_overshoot(x, n_clipped)


def add_hard_slices(
    double[:, :, :, ::1] hard, const prediction_t[::1] predictions, const target_t[::1] targets,
    const int32_t[::1] slices, const double[::1] inner, const int32_t[::1] start, bint crowded,
    int64_t[::1] status,
):
    """Add unweighted rows to `hard` (slices x bins x labels x 4): the count of each label, and the
    sums of its predictions, of their squares and of their squared distances from the label. Returns
    how many rows were added: a row with a fraction as its target ends the pass.
    """
    if hard.shape[2] != 2 or hard.shape[3] != CELL:
        raise ValueError(f"sums of two labels have {CELL} columns each; got {hard.shape}")
    cdef Py_ssize_t n = predictions.shape[0], width = 2 * CELL * hard.shape[1], i = 0
    cdef uint64_t odd, label
    cdef cuts_t cuts = cuts_of(inner, start, crowded)
    cdef double x, z
    cdef int64_t n_clipped = 0
    if n == 0:
        return 0
    cdef double* cells = &hard[0, 0, 0, 0]
    cdef const prediction_t* u = &predictions[0]
    cdef const target_t* t = &targets[0]
    cdef const int32_t* own = &slices[0]
    with nogil:
        while i < n:
            odd = 0
            label = label_of(t + i, &odd)
            if (odd | (outside(u + i) >> 63)) == 0:
                add_to_label(cells + width * own[i], u[i], label, &cuts)
                i += 1
                continue
            x = u[i]
            z = <double> t[i]
            if not check(&x, &z, 1.0, &n_clipped):
                status[BAD_ROW] = i
                break
            if z != 0.0 and z != 1.0:
                break
            add_to_label(cells + width * own[i], x, <uint64_t> z, &cuts)
            i += 1
    status[N_CLIPPED] += n_clipped
    return i


def add_slices(
    double[:, :, ::1] sums, const prediction_t[::1] predictions, const target_t[::1] targets,
    const double[::1] weights, const int32_t[::1] slices,
    const double[::1] inner, const int32_t[::1] start, bint crowded, int64_t[::1] status,
):
    """Add rows to `sums` (slices x bins x fields), each in the bin of its own slice."""
    if sums.shape[2] != FIELDS:
        raise ValueError(f"a row of sums has {FIELDS} columns; got {sums.shape[2]}")
    cdef Py_ssize_t n = predictions.shape[0], m = sums.shape[1], i
    cdef bint weighted = weights is not None
    cdef double* cell
    cdef cuts_t cuts = cuts_of(inner, start, crowded)
    cdef double x, z, w = 1.0
    cdef int64_t n_clipped = 0, any_soft = 0
    if n == 0:
        return
    cdef double* all_sums = &sums[0, 0, 0]
    with nogil:
        for i in range(n):
            x = predictions[i]
            z = <double> targets[i]
            if weighted:
                w = weights[i]
            if not check(&x, &z, w, &n_clipped):
                status[BAD_ROW] = i
                break
            cell = all_sums + FIELDS * (m * slices[i] + bin_of(x, &cuts))
            if weighted:
                cell[N] += w > 0.0
                cell[W] += w
                cell[W2] += w * w
                cell[WU] += w * x
                cell[WZ] += w * z
                cell[WU2] += w * (x * x)
                cell[WUZ] += w * (x * z)
                cell[WZ2] += w * (z * z)
                cell[W2Z] += (w * w) * z
            else:
                cell[N] += 1.0
                cell[W] += 1.0
                cell[W2] += 1.0
                cell[WU] += x
                cell[WZ] += z
                cell[WU2] += x * x
                cell[WUZ] += x * z
                cell[WZ2] += z * z
                cell[W2Z] += z
            any_soft |= (z != 0.0) & (z != 1.0)
    status[N_CLIPPED] += n_clipped
    status[SOFT] |= any_soft


def add_losses_of_slices(
    double[:, ::1] losses, const prediction_t[::1] predictions, const target_t[::1] targets,
    const double[::1] weights, const int32_t[::1] slices,
    double log_floor, int wanted, int64_t[::1] status,
):
    """Add the losses of binary predictions to `losses` (slices x fields), each to its own slice's.

    `wanted` has a bit for each field to be summed; rows and weights are always counted.
    """
    cdef Py_ssize_t n = predictions.shape[0], width = losses.shape[1], i
    cdef bint weighted = weights is not None
    cdef bint want_log = wanted & (1 << LOSS_LOG), want_spherical = wanted & (1 << LOSS_SPHERICAL)
    cdef bint want_top = wanted & (1 << LOSS_CLASS | 1 << LOSS_CONFIDENCE)
    cdef double* own
    cdef double u, below, z, hit, top, w = 1.0
    cdef int64_t n_clipped = 0, n_floored = 0
    if n == 0:
        return
    if width <= LOSS_CONFIDENCE:
        raise ValueError(f"a row of losses has more than {LOSS_CONFIDENCE} columns; got {width}")
    cdef double* all_losses = &losses[0, 0]
    with nogil:
        for i in range(n):
            u = predictions[i]
            z = <double> targets[i]
            if weighted:
                w = weights[i]
            if not check(&u, &z, w, &n_clipped):
                status[BAD_ROW] = i
                break
            own = all_losses + width * slices[i]
            own[0] += w > 0.0
            own[1] += w
            own[LOSS_BRIER] += w * ((u - z) * (u - z))
            below = 1.0 - u
            if want_spherical:
                own[LOSS_SPHERICAL] += w * (
                    1.0 - ((1.0 - z) * below + z * u) / sqrt(below * below + u * u))
            if want_log:
                if z < 1.0:
                    n_floored += below < log_floor
                    own[LOSS_LOG] -= w * ((1.0 - z) * log(below if below > log_floor else log_floor))
                if z > 0.0:
                    n_floored += u < log_floor
                    own[LOSS_LOG] -= w * (z * log(u if u > log_floor else log_floor))
            if want_top:
                top = u if u > 0.5 else below
                hit = z if u > 0.5 else 1.0 - z
                own[LOSS_CLASS] += w * (1.0 - hit)
                own[LOSS_CONFIDENCE] += w * (1.0 - hit + (top - hit) * (top - hit))
    status[N_CLIPPED] += n_clipped
    status[N_LOG_CLIPPED] += n_floored
