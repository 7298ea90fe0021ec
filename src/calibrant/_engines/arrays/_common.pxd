# What the compiled kernels share: types, places of sums, and the check of a row. All of it is
# compiled into each of them, so that a loop calls nothing.
from libc.stdint cimport int32_t, int64_t, uint8_t

ctypedef fused prediction_t:
    float
    double

ctypedef fused target_t:
    uint8_t
    int32_t
    int64_t
    double

# Slots of `status`; calibrant._engines.protocol names them for Python.
cdef enum:
    BAD_ROW = 0
    N_CLIPPED = 1
    N_ROWS_OFF = 2
    SOFT = 3
    N_LOG_CLIPPED = 4
    N_LOGIT_CLIPPED = 5

# Columns of a bin's row of sums, in the order of calibrant._core.bin_tables.FIELDS.
cdef enum:
    N = 0
    W = 1
    W2 = 2
    WU = 3
    WZ = 4
    WU2 = 5
    WUZ = 6
    WZ2 = 7
    W2Z = 8
    FIELDS = 9

# Columns of the loss sums, in the order of calibrant._core.loss_sums.FIELDS.
cdef enum:
    LOSS_BRIER = 2
    LOSS_LOG = 3
    LOSS_SPHERICAL = 4
    LOSS_CLASS = 5
    LOSS_CONFIDENCE = 6

cdef enum:
    ROWS_AT_ONCE = 256  # of binary predictions, copied out as doubles

cdef extern from "_tolerance.h" nogil:
    const double OVERSHOOT
    bint clip_overshoot(double* x, int64_t* n_clipped) noexcept


cdef inline double unit(double x) noexcept nogil:
    """A number that passed the check, without what rounding added to it, or the sign of -0.0."""
    x = x if x > 0.0 else 0.0
    return x if x < 1.0 else 1.0


cdef inline bint is_weight(double w) noexcept nogil:
    """Whether a number is finite and not negative: w - w is NaN for an infinite one."""
    return (w - w == 0.0) & (w >= 0.0)


cdef inline Py_ssize_t read_rows(
    double* u, double* z, const prediction_t* predictions, const target_t* targets,
    const double* weights, Py_ssize_t n, bint from_logits, int64_t* n_clipped,
) noexcept nogil:
    """Copy rows out as doubles, those that overshot [0, 1] brought back; the first bad row, or n."""
    cdef bint sound = not from_logits
    cdef Py_ssize_t i
    for i in range(n):
        u[i] = predictions[i]
        z[i] = <double> targets[i]
        sound &= (u[i] >= 0.0) & (u[i] <= 1.0) & (z[i] >= 0.0) & (z[i] <= 1.0)
    if weights != NULL:
        for i in range(n):
            sound &= is_weight(weights[i])
    if sound:
        return n
    for i in range(n):
        if not (clip_overshoot(&z[i], n_clipped)
                and (u[i] - u[i] == 0.0 if from_logits else clip_overshoot(&u[i], n_clipped))):
            return i
        if weights != NULL and not is_weight(weights[i]):
            return i
    return n
