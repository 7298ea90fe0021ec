# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
# cython: initializedcheck=False, embedsignature=True
"""Compiled deposits of samples on smoothing grids, with the logit and all checks in the same pass.

A sample's mass goes to the four nodes around it with the weights of cubic interpolation, so that
sums over nodes of anything smooth are as exact as if the sample had stayed where it was.
"""
from libc.math cimport floor
from libc.stdint cimport int64_t

from calibrant._engines.arrays._common cimport (
    BAD_ROW, N_CLIPPED, N_LOGIT_CLIPPED, ROWS_AT_ONCE, SOFT, prediction_t, read_rows, target_t,
)

cdef extern from "_logit.h" nogil:
    void logits_in_place(double* x, int64_t n) noexcept

cdef extern from "_deposit.h" nogil:
    void deposit(double* node, double t, double mass) noexcept


def deposit_logits(
    double[::1] plus, double[::1] minus, const prediction_t[::1] predictions,
    const target_t[::1] targets, const double[::1] weights, double nodes_per_unit, double low,
    double high, bint from_logits, int64_t[::1] status,
):
    """Add w z to `plus` and w (1 - z) to `minus` at the logit of each prediction.

    Logits (or, of probabilities, predictions) beyond [low, high] are brought back to it and counted.
    The grids' middle node is the logit 0; they have two nodes to spare at either end.
    """
    cdef Py_ssize_t n = predictions.shape[0], start, rows, i, j, bad
    cdef Py_ssize_t middle = (plus.shape[0] - 1) // 2
    cdef double x, z, w = 1.0, place
    cdef double* grids[2]
    cdef double places[ROWS_AT_ONCE]
    cdef double happened[ROWS_AT_ONCE]
    cdef int64_t n_clipped = 0, any_soft = 0, n_logit_clipped = 0
    cdef bint weighted = weights is not None
    cdef const double* wp = NULL
    grids[0], grids[1] = &minus[0], &plus[0]
    with nogil:
        for start from 0 <= start < n by ROWS_AT_ONCE:
            rows = min(n - start, <Py_ssize_t> ROWS_AT_ONCE)
            if weighted:
                wp = &weights[start]
            bad = read_rows(places, happened, &predictions[start], &targets[start], wp, rows,
                            from_logits, &n_clipped)
            if bad < rows:
                status[BAD_ROW] = start + bad
                break
            for i in range(rows):
                x = places[i]
                n_logit_clipped += (x < low) | (x > high)
                x = low if x < low else x
                places[i] = high if x > high else x
            if not from_logits:
                logits_in_place(places, rows)
            for i in range(rows):
                z = happened[i]
                if weighted:
                    w = wp[i]
                place = places[i] * nodes_per_unit
                j = <Py_ssize_t> floor(place)
                place -= j
                j += middle - 1
                if z == 0.0 or z == 1.0:
                    # A choice of address, not of path: no processor foresees a label.
                    deposit(&grids[z == 1.0][j], place, w)
                else:
                    deposit(&plus[j], place, w * z)
                    deposit(&minus[j], place, w * (1.0 - z))
                    any_soft = 1
    status[N_CLIPPED] += n_clipped
    status[SOFT] |= any_soft
    status[N_LOGIT_CLIPPED] += n_logit_clipped


def deposit_units(
    double[:, ::1] nodes, const prediction_t[::1] predictions, const target_t[::1] targets,
    const double[::1] weights, int64_t[::1] status,
):
    """Add w (z - u) at each prediction, on a grid of [0, 1]; with three rows of `nodes`: w, w u, w z.

    The grid has one node to spare before 0 and two after 1; what falls there is folded back by the
    caller, because the reflected kernel is even about both ends.
    """
    cdef Py_ssize_t n = predictions.shape[0], start, rows, i, j, bad
    cdef double cells = nodes.shape[1] - 4, x, z, w = 1.0, t
    cdef bint residual_only = nodes.shape[0] == 1
    cdef int64_t n_clipped = 0, any_soft = 0
    cdef bint weighted = weights is not None
    cdef double u[ROWS_AT_ONCE]
    cdef double happened[ROWS_AT_ONCE]
    cdef const double* wp = NULL
    with nogil:
        for start from 0 <= start < n by ROWS_AT_ONCE:
            rows = min(n - start, <Py_ssize_t> ROWS_AT_ONCE)
            if weighted:
                wp = &weights[start]
            bad = read_rows(u, happened, &predictions[start], &targets[start], wp, rows, False,
                            &n_clipped)
            if bad < rows:
                status[BAD_ROW] = start + bad
                break
            for i in range(rows):
                x = u[i]
                z = happened[i]
                if weighted:
                    w = wp[i]
                t = x * cells
                j = <Py_ssize_t> floor(t)
                t -= j
                if residual_only:
                    deposit(&nodes[0, j], t, w * (z - x))
                else:
                    deposit(&nodes[0, j], t, w)
                    deposit(&nodes[1, j], t, w * x)
                    deposit(&nodes[2, j], t, w * z)
                any_soft |= (z > 0.0) & (z < 1.0)
    status[N_CLIPPED] += n_clipped
    status[SOFT] |= any_soft
