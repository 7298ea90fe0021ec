# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
# cython: initializedcheck=False, embedsignature=True
"""Compiled deposits of samples on smoothing grids, with the logit and all checks in the same pass.

A sample's mass goes to the four nodes around it with the weights of cubic interpolation, so that
sums over nodes of anything smooth are as exact as if the sample had stayed where it was.
"""
from libc.math cimport floor
from libc.stdint cimport int64_t

ctypedef fused prediction_t:
    float
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


cdef inline void deposit(double* node, double t, double mass) noexcept nogil:
    """Add `mass` at the offset t in [0, 1) after node[1] to node[0] .. node[3]."""
    cdef double a = t + 1.0, b = t - 1.0, c = t - 2.0
    node[0] -= mass * (t * b * c) * (1.0 / 6.0)
    node[1] += mass * (a * b * c) * 0.5
    node[2] -= mass * (a * t * c) * 0.5
    node[3] += mass * (a * t * b) * (1.0 / 6.0)


def deposit_logits(
    double[::1] plus, double[::1] minus, const prediction_t[::1] predictions, const double[::1] targets,
    const double[::1] weights, double nodes_per_unit, double low, double high, bint from_logits,
    int64_t[::1] status,
):
    """Add w z to `plus` and w (1 - z) to `minus` at the logit of each prediction.

    Logits (or, of probabilities, predictions) beyond [low, high] are brought back to it and counted.
    The grids' middle node is the logit 0; they have two nodes to spare at either end.
    """
    cdef Py_ssize_t n = predictions.shape[0], start, rows, i, j
    cdef Py_ssize_t middle = (plus.shape[0] - 1) // 2
    cdef double x, z, w = 1.0, place
    cdef double* grids[2]
    cdef double places[ROWS_AT_ONCE]
    cdef double happened[ROWS_AT_ONCE]
    cdef int64_t n_clipped = 0, any_soft = 0, n_logit_clipped = 0
    cdef bint weighted = weights is not None, sound = True
    grids[0], grids[1] = &minus[0], &plus[0]
    with nogil:
        for start from 0 <= start < n by ROWS_AT_ONCE:
            rows = min(n - start, <Py_ssize_t> ROWS_AT_ONCE)
            for i in range(rows):
                x = predictions[start + i]
                z = targets[start + i]
                if weighted:
                    w = weights[start + i]
                if not (w - w == 0.0 and w >= 0.0 and clip_overshoot(&z, &n_clipped)
                        and (x - x == 0.0 if from_logits else clip_overshoot(&x, &n_clipped))):
                    status[BAD_ROW] = start + i
                    sound = False
                    break
                if x < low:
                    x = low
                    n_logit_clipped += 1
                elif x > high:
                    x = high
                    n_logit_clipped += 1
                places[i] = x
                happened[i] = z
            if not sound:
                break
            if not from_logits:
                logits_in_place(places, rows)
            for i in range(rows):
                z = happened[i]
                if weighted:
                    w = weights[start + i]
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
    double[:, ::1] nodes, const prediction_t[::1] predictions, const double[::1] targets,
    const double[::1] weights, int64_t[::1] status,
):
    """Add w (z - u) at each prediction, on a grid of [0, 1]; with three rows of `nodes`: w, w u, w z.

    The grid has one node to spare before 0 and two after 1; what falls there is folded back by the
    caller, because the reflected kernel is even about both ends.
    """
    cdef Py_ssize_t n = predictions.shape[0], i, j
    cdef double cells = nodes.shape[1] - 4, x, z, w = 1.0, t
    cdef bint residual_only = nodes.shape[0] == 1
    cdef int64_t n_clipped = 0, any_soft = 0
    cdef bint weighted = weights is not None
    with nogil:
        for i in range(n):
            x = predictions[i]
            z = targets[i]
            if weighted:
                w = weights[i]
            if not (w - w == 0.0 and w >= 0.0 and clip_overshoot(&z, &n_clipped)
                    and clip_overshoot(&x, &n_clipped)):
                status[BAD_ROW] = i
                break
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
