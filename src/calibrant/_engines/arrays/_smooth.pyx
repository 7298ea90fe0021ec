# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
# cython: initializedcheck=False, embedsignature=True
"""Compiled deposits of samples on smoothing grids, with the logit and all checks in the same pass.

A sample's mass goes to the four nodes around it with the weights of cubic interpolation, so that
sums over nodes of anything smooth are as exact as if the sample had stayed where it was.
"""
from libc.math cimport floor
from libc.stdint cimport int32_t, int64_t, uint8_t

ctypedef fused prediction_t:
    float
    double

ctypedef fused target_t:
    uint8_t
    int32_t
    int64_t
    double

cdef enum:
    BAD_ROW = 0  # slots of `status`, as in calibrant._engines.protocol
    N_CLIPPED = 1
    SOFT = 3
    N_LOGIT_CLIPPED = 5
    ROWS_AT_ONCE = 256

cdef extern from "_tolerance.h" nogil:
    bint clip_overshoot(double* x, int64_t* n_clipped) noexcept

cdef extern from "_logit.h" nogil:
    void logits_in_place(double* x, int64_t n) noexcept


cdef extern from "_deposit.h" nogil:
    void deposit(double* node, double t, double mass) noexcept


cdef inline bint load(
    double* u, double* z, const prediction_t* predictions, const target_t* targets, Py_ssize_t n
) noexcept nogil:
    """Rows as doubles; whether all of them lie in [0, 1]."""
    cdef bint inside = True
    cdef Py_ssize_t i
    for i in range(n):
        u[i] = predictions[i]
        z[i] = <double> targets[i]
        inside &= (u[i] >= 0.0) & (u[i] <= 1.0) & (z[i] >= 0.0) & (z[i] <= 1.0)
    return inside


cdef inline Py_ssize_t first_bad(
    double* u, double* z, const double* weights, Py_ssize_t n, bint from_logits, int64_t* n_clipped
) noexcept nogil:
    """Bring back what overshot [0, 1]; the first row that cannot be, or n."""
    cdef Py_ssize_t i
    for i in range(n):
        if not (clip_overshoot(&z[i], n_clipped)
                and (u[i] - u[i] == 0.0 if from_logits else clip_overshoot(&u[i], n_clipped))):
            return i
        if weights != NULL and not (weights[i] - weights[i] == 0.0 and weights[i] >= 0.0):
            return i
    return n


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
    cdef bint weighted = weights is not None, inside
    cdef const double* wp = NULL
    grids[0], grids[1] = &minus[0], &plus[0]
    with nogil:
        for start from 0 <= start < n by ROWS_AT_ONCE:
            rows = min(n - start, <Py_ssize_t> ROWS_AT_ONCE)
            if weighted:
                wp = &weights[start]
            inside = load(places, happened, &predictions[start], &targets[start], rows)
            if weighted or from_logits or not inside:
                bad = first_bad(places, happened, wp, rows, from_logits, &n_clipped)
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
    cdef bint weighted = weights is not None, inside
    cdef double u[ROWS_AT_ONCE]
    cdef double happened[ROWS_AT_ONCE]
    cdef const double* wp = NULL
    with nogil:
        for start from 0 <= start < n by ROWS_AT_ONCE:
            rows = min(n - start, <Py_ssize_t> ROWS_AT_ONCE)
            if weighted:
                wp = &weights[start]
            inside = load(u, happened, &predictions[start], &targets[start], rows)
            if weighted or not inside:
                bad = first_bad(u, happened, wp, rows, False, &n_clipped)
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
