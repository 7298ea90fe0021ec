# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
# cython: initializedcheck=False, embedsignature=True
"""Compiled sums over one block of samples.

Every function checks the values in the same pass that sums them. A block that holds a bad value
stops at its row: ``status[BAD_ROW]`` becomes that row (within the block) and the sums are void.
The twin of this file, in plain NumPy, is ``numpy_kernels``; both are held to one boundary table.
"""
from libc.math cimport fabs, log, sqrt
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memset

from calibrant._engines.arrays._common cimport (
    BAD_ROW, FIELDS, LOSS_BRIER, LOSS_CLASS, LOSS_CONFIDENCE, LOSS_LOG, LOSS_SPHERICAL, N,
    N_CLIPPED, N_LOG_CLIPPED, N_ROWS_OFF, OVERSHOOT, SOFT, W, W2, W2Z, WU, WU2, WUZ, WZ, WZ2,
    clip_overshoot, is_weight, prediction_t, target_t, unit,
)

cdef extern from *:
    """
    #define ROW_SUM_TOLD 1e-5  /* calibrant._data.tolerances */
    """
    const double ROW_SUM_TOLD

cdef extern from "_rows.h" nogil:
    double sum_of_squares(const double*, Py_ssize_t) noexcept
    void scan_row_float(const float*, Py_ssize_t, double*, double*, int*) noexcept
    void scan_row_double(const double*, Py_ssize_t, double*, double*, int*) noexcept
    Py_ssize_t first_at_least_float(const float*, Py_ssize_t, Py_ssize_t, double) noexcept
    Py_ssize_t first_at_least_double(const double*, Py_ssize_t, Py_ssize_t, double) noexcept
    void add_below_float(const float*, Py_ssize_t, double, double*, double*, int) noexcept
    void add_below_double(const double*, Py_ssize_t, double, double*, double*, int) noexcept
    void subtract_float(double*, const float*, const double*, Py_ssize_t, Py_ssize_t) noexcept
    void subtract_double(double*, const double*, const double*, Py_ssize_t, Py_ssize_t) noexcept


cdef inline Py_ssize_t first_at_least(
    const prediction_t* row, Py_ssize_t r, Py_ssize_t k, double bound
) noexcept nogil:
    if prediction_t is float:
        return first_at_least_float(row, r, k, bound)
    else:
        return first_at_least_double(row, r, k, bound)


cdef extern from "_bins.h" nogil:
    ctypedef struct cuts_t:
        const double* edges
        const int32_t* start
        double cells
        int crowded
    Py_ssize_t bin_of(double x, const cuts_t* cuts) noexcept
    void add_to_cell(double*, double, uint64_t, const cuts_t*, int) noexcept
    Py_ssize_t add_groups_float_u8(
        double*, Py_ssize_t, const float*, const uint8_t*, Py_ssize_t, Py_ssize_t, cuts_t, int) noexcept
    Py_ssize_t add_groups_float_i32(
        double*, Py_ssize_t, const float*, const int32_t*, Py_ssize_t, Py_ssize_t, cuts_t, int) noexcept
    Py_ssize_t add_groups_float_i64(
        double*, Py_ssize_t, const float*, const int64_t*, Py_ssize_t, Py_ssize_t, cuts_t, int) noexcept
    Py_ssize_t add_groups_float_f64(
        double*, Py_ssize_t, const float*, const double*, Py_ssize_t, Py_ssize_t, cuts_t, int) noexcept
    Py_ssize_t add_groups_double_u8(
        double*, Py_ssize_t, const double*, const uint8_t*, Py_ssize_t, Py_ssize_t, cuts_t, int) noexcept
    Py_ssize_t add_groups_double_i32(
        double*, Py_ssize_t, const double*, const int32_t*, Py_ssize_t, Py_ssize_t, cuts_t, int) noexcept
    Py_ssize_t add_groups_double_i64(
        double*, Py_ssize_t, const double*, const int64_t*, Py_ssize_t, Py_ssize_t, cuts_t, int) noexcept
    Py_ssize_t add_groups_double_f64(
        double*, Py_ssize_t, const double*, const double*, Py_ssize_t, Py_ssize_t, cuts_t, int) noexcept


cdef inline Py_ssize_t add_groups(
    double* cells, Py_ssize_t replica, const prediction_t* u, const target_t* t, Py_ssize_t i,
    Py_ssize_t n, cuts_t cuts, bint squares,
) noexcept nogil:
    if prediction_t is float:
        if target_t is uint8_t:
            return add_groups_float_u8(cells, replica, u, t, i, n, cuts, squares)
        elif target_t is int32_t:
            return add_groups_float_i32(cells, replica, u, t, i, n, cuts, squares)
        elif target_t is int64_t:
            return add_groups_float_i64(cells, replica, u, t, i, n, cuts, squares)
        else:
            return add_groups_float_f64(cells, replica, u, t, i, n, cuts, squares)
    else:
        if target_t is uint8_t:
            return add_groups_double_u8(cells, replica, u, t, i, n, cuts, squares)
        elif target_t is int32_t:
            return add_groups_double_i32(cells, replica, u, t, i, n, cuts, squares)
        elif target_t is int64_t:
            return add_groups_double_i64(cells, replica, u, t, i, n, cuts, squares)
        else:
            return add_groups_double_f64(cells, replica, u, t, i, n, cuts, squares)


cdef inline cuts_t cuts_of(
    const double[::1] inner, const int32_t[::1] start, bint crowded
) noexcept:
    cdef cuts_t cuts
    cuts.edges = &inner[0]
    cuts.start = &start[0]
    cuts.cells = start.shape[0] - 2
    cuts.crowded = crowded
    return cuts


cdef int check_width(Py_ssize_t fields) except -1:
    """Nothing is checked while sums are written: a table of another width would be overrun."""
    if fields != FIELDS:
        raise ValueError(f"a row of sums has {FIELDS} columns; got {fields}")
    return 0


def add_unweighted(
    double[:, ::1] sums, const prediction_t[::1] predictions, const target_t[::1] targets,
    const double[::1] inner, const int32_t[::1] start, bint crowded, bint squares,
    Py_ssize_t block, int64_t[::1] status,
):
    """Add unweighted samples to `sums` (bins x fields); without `squares`, sum_wu2 stays as it is.

    A 0/1 target, whatever its type, goes to a cell (bin, label): the label's own sums then come
    free, two or three additions a sample. A fraction goes to cells of its own, with all fields.
    """
    check_width(sums.shape[1])
    cdef Py_ssize_t n = predictions.shape[0], m = sums.shape[0], i = 0, b, stop, end
    cdef Py_ssize_t replica = 8 * m if m <= 1024 else 0
    cdef Py_ssize_t n_hard = (4 if replica else 1) * 8 * m
    cdef Py_ssize_t n_soft = m * FIELDS if target_t is double else 0
    cdef double* hard = <double*> calloc(n_hard + n_soft, sizeof(double))
    if hard == NULL:
        raise MemoryError()
    cdef double* soft = hard + n_hard
    cdef double* cell
    cdef double* other
    cdef cuts_t cuts = cuts_of(inner, start, crowded)
    cdef double x, z
    cdef int64_t n_clipped = 0, any_soft = 0
    cdef int r, f
    if n == 0:
        free(hard)
        return
    cdef const prediction_t* u = &predictions[0]
    cdef const target_t* t = &targets[0]
    with nogil:
        while i < n and status[BAD_ROW] < 0:
            # A block's sums are put together on their own, however many blocks come in one call.
            end = i + block if i + block < n else n
            memset(hard, 0, (n_hard + n_soft) * sizeof(double))
            while i < end and status[BAD_ROW] < 0:
                # Groups of four while all is plain; one by one around a value that needs a look.
                i = add_groups(hard, replica, u, t, i, end, cuts, squares)
                stop = i + 4 if i + 4 < end else end
                while i < stop:
                    x = u[i]
                    z = <double> t[i]
                    if not (clip_overshoot(&z, &n_clipped) and clip_overshoot(&x, &n_clipped)):
                        status[BAD_ROW] = i
                        break
                    if z == 0.0 or z == 1.0:
                        add_to_cell(hard + (i & 3) * replica, x, <uint64_t> z, &cuts, squares)
                    else:
                        any_soft = 1
                        cell = soft + FIELDS * bin_of(x, &cuts)
                        cell[N] += 1.0
                        cell[WU] += x
                        cell[WZ] += z
                        cell[WU2] += x * x
                        cell[WUZ] += x * z
                        cell[WZ2] += z * z
                    i += 1
            for r in range(4 if replica else 1):
                for b in range(m):
                    cell = hard + r * replica + 8 * b
                    other = cell + 4
                    sums[b, N] += cell[0] + other[0]
                    sums[b, WU] += cell[1] + other[1]
                    sums[b, WZ] += other[0]
                    sums[b, WU2] += cell[2] + other[2]
                    sums[b, WUZ] += other[1]
                    sums[b, WZ2] += other[0]
            if any_soft:
                for b in range(m):
                    for f in range(FIELDS):
                        sums[b, f] += soft[FIELDS * b + f]
        for b in range(m):
            sums[b, W] = sums[b, N]
            sums[b, W2] = sums[b, N]
            sums[b, W2Z] = sums[b, WZ]
    status[N_CLIPPED] += n_clipped
    status[SOFT] |= any_soft
    free(hard)


def add_weighted(
    double[:, ::1] sums, const prediction_t[::1] predictions, const double[::1] targets,
    const double[::1] weights, const double[::1] inner, const int32_t[::1] start, bint crowded,
    int64_t[::1] status,
):
    """Add weighted samples with targets in [0, 1] to `sums` (bins x fields)."""
    check_width(sums.shape[1])
    cdef Py_ssize_t n = predictions.shape[0], m = sums.shape[0], i, b
    cdef Py_ssize_t replica = m * FIELDS if m <= 1024 else 0
    cdef double* a = <double*> calloc((4 if replica else 1) * m * FIELDS, sizeof(double))
    if a == NULL:
        raise MemoryError()
    cdef double* cell
    cdef cuts_t cuts = cuts_of(inner, start, crowded)
    cdef double x, z, w
    cdef int64_t n_clipped = 0, any_soft = 0
    cdef int r, f
    if n == 0:
        free(a)
        return
    cdef const prediction_t* u = &predictions[0]
    cdef const double* t = &targets[0]
    cdef const double* wp = &weights[0]
    with nogil:
        for i in range(n):
            x = u[i]
            z = t[i]
            w = wp[i]
            if not ((x >= 0.0) & (x <= 1.0) & (z >= 0.0) & (z <= 1.0)
                    & is_weight(w)):
                if not (is_weight(w) and clip_overshoot(&z, &n_clipped)
                        and clip_overshoot(&x, &n_clipped)):
                    status[BAD_ROW] = i
                    break
            any_soft |= (z != 0.0) & (z != 1.0)
            cell = a + (i & 3) * replica + FIELDS * bin_of(x, &cuts)
            cell[N] += w > 0.0
            cell[W] += w
            cell[W2] += w * w
            cell[WU] += w * x
            cell[WZ] += w * z
            cell[WU2] += w * (x * x)
            cell[WUZ] += w * (x * z)
            cell[WZ2] += w * (z * z)
            cell[W2Z] += (w * w) * z
        for r in range(4 if replica else 1):
            for b in range(m):
                for f in range(FIELDS):
                    sums[b, f] += a[r * replica + FIELDS * b + f]
    status[N_CLIPPED] += n_clipped
    status[SOFT] |= any_soft
    free(a)


cdef inline bint check_row(
    const prediction_t* row, Py_ssize_t k, double tolerance, double* clipped, double* total,
    double* top, int64_t* n_clipped,
) noexcept nogil:
    """Sum and maximum of one row; False if it is not a probability row.

    A row with an entry just past an end is copied to `clipped` and mended there; the caller learns
    of it because `n_clipped` grew.
    """
    cdef int negative
    cdef Py_ssize_t r
    if prediction_t is float:
        scan_row_float(row, k, total, top, &negative)
    else:
        scan_row_double(row, k, total, top, &negative)
    if not fabs(total[0] - 1.0) <= tolerance:  # also when an entry is NaN
        return False
    if negative or top[0] > 1.0:
        for r in range(k):
            clipped[r] = row[r]
            if not clip_overshoot(clipped + r, n_clipped):
                return False
        top[0] = 1.0 if top[0] > 1.0 else top[0]
    return True


cdef inline int64_t add_row_losses(
    double* losses, const prediction_t* row, const double* target, Py_ssize_t label, Py_ssize_t k,
    double w, double top, double hit, double log_floor, double* scratch,
) noexcept nogil:
    """Add one row's losses; returns how many of its predictions were lifted to the log's floor.

    Without a `target` row the target is the label. Both kinds are summed in the same order, so
    that a one-hot row gives a label's bits.
    """
    cdef double length, distance, x, at_target = 0.0, cross = 0.0
    cdef int64_t n_floored = 0
    cdef Py_ssize_t r
    if prediction_t is float:
        subtract_float(scratch, row, target, label, k)
    else:
        subtract_double(scratch, row, target, label, k)
    distance = sum_of_squares(scratch, k)
    for r in range(k):
        scratch[r] = row[r]
    length = sum_of_squares(scratch, k)
    for r in range(k if target != NULL else 1):
        if target == NULL:
            r = label
        elif target[r] <= 0.0:
            continue
        x = row[r]
        at_target += x if target == NULL else target[r] * x
        if x < log_floor:
            n_floored += 1
            x = log_floor
        cross -= log(x) if target == NULL else target[r] * log(x)
    losses[0] += w > 0.0
    losses[1] += w
    losses[LOSS_BRIER] += w * distance
    losses[LOSS_LOG] += w * cross
    losses[LOSS_SPHERICAL] += w * (1.0 - at_target / sqrt(length))
    losses[LOSS_CLASS] += w * (1.0 - hit)
    losses[LOSS_CONFIDENCE] += w * (1.0 - hit + (top - hit) * (top - hit))
    return n_floored


def add_rows(
    const prediction_t[:, ::1] predictions, const int64_t[::1] labels, const double[:, ::1] targets,
    const double[::1] weights, double[::1] confidences, double[::1] hits,
    double[:, :, ::1] classwise, double[::1] losses, const double[::1] inner,
    const int32_t[::1] start, bint crowded, bint squares, double tolerance,
    double label_tolerance, double log_floor, int64_t[::1] status,
):
    """One read of a block of probability rows, for all that can be had from it.

    Fills `confidences` and `hits` (the top-label problem) and adds to `classwise` (class x bin x
    field) and `losses` where these are given. Targets are class indices (`labels`) or rows on the
    simplex (`targets`). `classwise` must come zeroed: a block is summed on its own.
    """
    if classwise is not None:
        check_width(classwise.shape[2])
    cdef Py_ssize_t n = predictions.shape[0], k = predictions.shape[1], i, r, b, top_class, y = 0
    cdef bint hard = labels is not None, weighted = weights is not None
    cdef bint want_classes = classwise is not None, want_losses = losses is not None
    cdef Py_ssize_t m = classwise.shape[1] if want_classes else 1
    cdef bint dense = hard and not weighted and want_classes
    cdef double* scratch = <double*> calloc(4 * k, sizeof(double))
    if scratch == NULL:
        raise MemoryError()
    cdef double* clipped = scratch
    cdef double* first_u = scratch + k
    cdef double* first_u2 = scratch + 2 * k
    cdef double* difference = scratch + 3 * k
    cdef cuts_t cuts = cuts_of(inner, start, crowded)
    cdef double lowest_edge = inner[0]
    cdef const prediction_t* row
    cdef const double* q_row = NULL
    cdef double* table = &classwise[0, 0, 0] if want_classes else NULL
    cdef double* cell
    cdef double total, top, x, z, w = 1.0, hit
    cdef int64_t n_clipped = 0, n_before, n_rows_off = 0, n_log_clipped = 0, soft = 0
    cdef bint mended
    with nogil:
        for i in range(n):
            row = &predictions[i, 0]
            n_before = n_clipped
            if weighted:
                w = weights[i]
            if hard:
                y = labels[i]
            else:
                q_row = &targets[i, 0]
            if (not is_weight(w) or (hard and (y < 0 or y >= k))
                    or (not hard and not simplex_row(q_row, k, label_tolerance, &soft))
                    or not check_row(row, k, tolerance, clipped, &total, &top, &n_clipped)):
                status[BAD_ROW] = i
                break
            mended = n_clipped > n_before
            n_rows_off += fabs(total - 1.0) > ROW_SUM_TOLD
            # At least: an entry past 1 was brought back to the top.
            top_class = first_at_least(row, 0, k, top)
            hit = (1.0 if y == top_class else 0.0) if hard else unit(q_row[top_class])
            confidences[i] = top
            hits[i] = hit
            if want_losses:
                if mended:
                    n_log_clipped += add_row_losses(
                        &losses[0], clipped, q_row, y, k, w, top, hit, log_floor, difference)
                else:
                    n_log_clipped += add_row_losses(
                        &losses[0], row, q_row, y, k, w, top, hit, log_floor, difference)
            if not want_classes:
                continue
            if dense:
                # Most entries of a long row lie in the first bin: sum those in memory order and
                # look for a bin only for the few above its edge.
                if mended:
                    add_below_double(clipped, k, lowest_edge, first_u, first_u2, squares)
                elif prediction_t is float:
                    add_below_float(row, k, lowest_edge, first_u, first_u2, squares)
                else:
                    add_below_double(row, k, lowest_edge, first_u, first_u2, squares)
                r = first_at_least(row, 0, k, lowest_edge)
                while r < k:
                    x = clipped[r] if mended else row[r]
                    cell = table + FIELDS * (r * m + bin_of(x, &cuts))
                    cell[N] += 1.0
                    cell[WU] += x
                    cell[WU2] += x * x
                    r = first_at_least(row, r + 1, k, lowest_edge)
                x = clipped[y] if mended else row[y]
                cell = table + FIELDS * (y * m + bin_of(x, &cuts))
                cell[WZ] += 1.0
                cell[WUZ] += x
            else:
                for r in range(k):
                    x = clipped[r] if mended else row[r]
                    z = (1.0 if r == y else 0.0) if hard else unit(q_row[r])
                    cell = table + FIELDS * (r * m + bin_of(x, &cuts))
                    cell[N] += w > 0.0
                    cell[W] += w
                    cell[W2] += w * w
                    cell[WU] += w * x
                    cell[WZ] += w * z
                    cell[WU2] += w * (x * x)
                    cell[WUZ] += w * (x * z)
                    cell[WZ2] += w * (z * z)
                    cell[W2Z] += (w * w) * z
        if dense and status[BAD_ROW] < 0:
            for r in range(k):
                cell = table + FIELDS * r * m
                cell[WU] = first_u[r]
                cell[WU2] = first_u2[r]
                total = 0.0
                for b in range(1, m):
                    total += cell[FIELDS * b + N]
                cell[N] = n - total
                for b in range(m):
                    cell[FIELDS * b + W] = cell[FIELDS * b + N]
                    cell[FIELDS * b + W2] = cell[FIELDS * b + N]
                    cell[FIELDS * b + WZ2] = cell[FIELDS * b + WZ]
                    cell[FIELDS * b + W2Z] = cell[FIELDS * b + WZ]
    status[N_CLIPPED] += n_clipped
    status[N_ROWS_OFF] += n_rows_off
    status[N_LOG_CLIPPED] += n_log_clipped
    status[SOFT] |= soft
    free(scratch)


cdef inline bint simplex_row(
    const double* row, Py_ssize_t k, double tolerance, int64_t* soft
) noexcept nogil:
    """Whether a row of soft labels is one: entries in [0, 1], summing to 1 within the tolerance."""
    cdef double total = 0.0
    cdef Py_ssize_t r
    for r in range(k):
        if not (row[r] >= -OVERSHOOT and row[r] <= 1.0 + OVERSHOOT):
            return False
        soft[0] |= (row[r] != 0.0) & (row[r] != 1.0)
        total += row[r]
    return fabs(total - 1.0) <= tolerance
