# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
# cython: initializedcheck=False, embedsignature=True
"""Compiled bins of equal mass of every class against the rest.

Nothing is checked here: rows have been read and found sound before they are taken apart.
`calibrant._engines.arrays.counting` says how the functions fit together.
"""
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t
from libc.math cimport nextafter
from libc.stdlib cimport free, malloc, qsort
from libc.string cimport memcpy, memset

from calibrant._engines.arrays._common cimport (
    FIELDS, N, W, W2, W2Z, WU, WU2, WUZ, WZ, WZ2, prediction_t, unit,
)

cdef extern from "_columns.h" nogil:
    enum:
        MOST_CELLS
    ctypedef struct cells_float:
        int32_t* keys
        int32_t* spare
        uint32_t* ends
        uint8_t* sorted
        Py_ssize_t n
    ctypedef struct cells_double:
        int64_t* keys
        int64_t* spare
        uint32_t* ends
        uint8_t* sorted
        Py_ssize_t n
    void take_columns_float(const char*, Py_ssize_t, Py_ssize_t, Py_ssize_t, Py_ssize_t, int32_t*,
                            Py_ssize_t) noexcept
    void take_columns_double(const char*, Py_ssize_t, Py_ssize_t, Py_ssize_t, Py_ssize_t, int64_t*,
                             Py_ssize_t) noexcept
    void put_in_cells_float(cells_float*, const int32_t*) noexcept
    void put_in_cells_double(cells_double*, const int64_t*) noexcept
    Py_ssize_t up_to_float(cells_float*, double) noexcept
    Py_ssize_t up_to_double(cells_double*, double) noexcept
    void equal_mass_float(cells_float*, Py_ssize_t, Py_ssize_t, double, double*, Py_ssize_t*) noexcept
    void equal_mass_double(cells_double*, Py_ssize_t, Py_ssize_t, double, double*, Py_ssize_t*) noexcept
    void sum_between_float(const cells_float*, Py_ssize_t, Py_ssize_t, double*, double*) noexcept
    void sum_between_double(const cells_double*, Py_ssize_t, Py_ssize_t, double*, double*) noexcept
    Py_ssize_t bin_among(double, const double*, Py_ssize_t) noexcept


def take_columns(const prediction_t[:, :] predictions, prediction_t[:, ::1] out):
    """Copy every column of `predictions` to the head of a row of `out`, clipped to [0, 1]."""
    cdef Py_ssize_t n = predictions.shape[0], k = predictions.shape[1], stride = out.shape[1]
    if out.shape[0] < k or stride < n:
        raise ValueError(f"no room for {k} columns of {n} rows")
    if n == 0 or k == 0:
        return
    cdef const char* matrix = <const char*> &predictions[0, 0]
    with nogil:
        if prediction_t is float:
            take_columns_float(matrix, n, predictions.strides[0], predictions.strides[1], k,
                               <int32_t*> &out[0, 0], stride)
        else:
            take_columns_double(matrix, n, predictions.strides[0], predictions.strides[1], k,
                                <int64_t*> &out[0, 0], stride)


def add_bins(
    const prediction_t[:, ::1] columns, Py_ssize_t n, const int64_t[::1] rows,
    const int64_t[::1] firsts, double slack, double[:, :, ::1] sums, double[:, ::1] edges,
    double[:, :, ::1] above, double threshold,
):
    """Sums of m bins of equal mass (classes x m x fields) of columns that are clipped to [0, 1].

    A column's first `n` numbers are the predictions of a class, whose label the `rows` from
    ``firsts[r]`` to ``firsts[r + 1]`` have. `sums` are of all predictions, with their `edges`
    (classes x m - 1), and `above` of those above a threshold; either may be None.
    """
    cdef Py_ssize_t k = columns.shape[0], m, r, from_rank
    cdef bint want_all = sums is not None, want_above = above is not None
    if (want_all and sums.shape[2] != FIELDS) or (want_above and above.shape[2] != FIELDS):
        raise ValueError(f"a row of sums has {FIELDS} columns")
    m = sums.shape[1] if want_all else above.shape[1]
    if n == 0 or k == 0:
        return
    cdef Py_ssize_t item = sizeof(prediction_t)
    cdef char* room = <char*> malloc(
        2 * n * item + MOST_CELLS * 5 + (m + 1) * (sizeof(double) + sizeof(Py_ssize_t)))
    if room == NULL:
        raise MemoryError()
    cdef double* bounds = <double*> room
    cdef Py_ssize_t* starts = <Py_ssize_t*> (room + (m + 1) * sizeof(double))
    cdef char* after = room + (m + 1) * (sizeof(double) + sizeof(Py_ssize_t))
    cdef cells_float narrow
    cdef cells_double wide
    cdef Py_ssize_t j
    if prediction_t is float:
        narrow.n = n
        narrow.keys = <int32_t*> after
        narrow.spare = narrow.keys + n
        narrow.ends = <uint32_t*> (after + 2 * n * item)
        narrow.sorted = <uint8_t*> (narrow.ends + MOST_CELLS)
    else:
        wide.n = n
        wide.keys = <int64_t*> after
        wide.spare = wide.keys + n
        wide.ends = <uint32_t*> (after + 2 * n * item)
        wide.sorted = <uint8_t*> (wide.ends + MOST_CELLS)
    with nogil:
        for r in range(k):
            if prediction_t is float:
                put_in_cells_float(&narrow, <const int32_t*> &columns[r, 0])
            else:
                put_in_cells_double(&wide, <const int64_t*> &columns[r, 0])
            if want_all:
                if prediction_t is float:
                    equal_mass_float(&narrow, 0, m, slack, bounds, starts)
                    add_ordered(&sums[r, 0, 0], &narrow, NULL, starts, m)
                else:
                    equal_mass_double(&wide, 0, m, slack, bounds, starts)
                    add_ordered(&sums[r, 0, 0], NULL, &wide, starts, m)
                add_labels(&sums[r, 0, 0], &columns[r, 0], &rows[0], firsts[r], firsts[r + 1],
                           bounds, m, -1.0)
                for j in range(m - 1):
                    edges[r, j] = bounds[j]
            if want_above:
                if prediction_t is float:
                    from_rank = up_to_float(&narrow, threshold)
                else:
                    from_rank = up_to_double(&wide, threshold)
                if from_rank == n:
                    continue
                if prediction_t is float:
                    equal_mass_float(&narrow, from_rank, m, slack, bounds, starts)
                    add_ordered(&above[r, 0, 0], &narrow, NULL, starts, m)
                else:
                    equal_mass_double(&wide, from_rank, m, slack, bounds, starts)
                    add_ordered(&above[r, 0, 0], NULL, &wide, starts, m)
                add_labels(&above[r, 0, 0], &columns[r, 0], &rows[0], firsts[r], firsts[r + 1],
                           bounds, m, threshold)
    free(room)


cdef void add_ordered(
    double* table, const cells_float* narrow, const cells_double* wide, const Py_ssize_t* starts,
    Py_ssize_t m,
) noexcept nogil:
    """What bins hold of the predictions alone, one run of ranks after the other."""
    cdef Py_ssize_t b
    cdef double total, squares
    cdef double* cell
    for b in range(m):
        cell = table + FIELDS * b
        if narrow != NULL:
            sum_between_float(narrow, starts[b], starts[b + 1], &total, &squares)
        else:
            sum_between_double(wide, starts[b], starts[b + 1], &total, &squares)
        cell[N] = cell[W] = cell[W2] = <double> (starts[b + 1] - starts[b])
        cell[WU] = total
        cell[WU2] = squares


cdef void add_labels(
    double* table, const prediction_t* column, const int64_t* rows, int64_t first, int64_t last,
    const double* edges, Py_ssize_t m, double threshold,
) noexcept nogil:
    """What bins hold of the rows that have the class's label, of predictions above a threshold."""
    cdef int64_t i
    cdef prediction_t given
    cdef double x
    cdef double* cell
    for i in range(first, last):
        memcpy(&given, column + rows[i], sizeof(given))  # written as bits
        x = given
        if x > threshold:
            cell = table + FIELDS * bin_among(x, edges, m - 1)
            cell[WZ] += 1.0
            cell[WUZ] += x
            cell[WZ2] += 1.0
            cell[W2Z] += 1.0


# --- soft labels and weights ----------------------------------------------------------------------

cdef struct level:
    double x
    double w

cdef struct weighed:
    # By cell: the weight of its predictions, that below it, and the bins that it begins and ends in.
    double* mass
    double* below
    int32_t* low
    int32_t* high
    # The predictions of cells in which a bin begins, with their weights.
    level* levels


cdef inline Py_ssize_t cell_of(double x) noexcept nogil:
    """The cell of a number in [0, 1] by its leading bits: it never falls as the number rises."""
    cdef float narrow = <float> x
    cdef int32_t bits
    memcpy(&bits, &narrow, sizeof(bits))
    return bits >> 18


cdef int by_prediction(const void* a, const void* b) noexcept nogil:
    cdef double x = (<const level*> a).x, y = (<const level*> b).x
    return (x > y) - (x < y)


def add_weighed_bins(
    const prediction_t[:, ::1] columns, Py_ssize_t n, const double[::1] weights,
    const int64_t[::1] rows, const int64_t[::1] firsts, const double[:, ::1] targets, double slack,
    double[:, :, ::1] sums, double[:, :, ::1] above, double threshold,
):
    """The same as `add_bins` for rows that have `weights` (or None), and `targets` (classes x
    rows) in place of labels (or None); bins are of equal weight.
    """
    cdef Py_ssize_t k = columns.shape[0], m, r
    cdef bint want_all = sums is not None, want_above = above is not None
    if (want_all and sums.shape[2] != FIELDS) or (want_above and above.shape[2] != FIELDS):
        raise ValueError(f"a row of sums has {FIELDS} columns")
    m = sums.shape[1] if want_all else above.shape[1]
    if n == 0 or k == 0:
        return
    cdef char* room = <char*> malloc(
        n * sizeof(level) + MOST_CELLS * (2 * sizeof(double) + 2 * sizeof(int32_t))
        + m * sizeof(double))
    if room == NULL:
        raise MemoryError()
    cdef weighed at
    at.levels = <level*> room
    at.mass = <double*> (at.levels + n)
    at.below = at.mass + MOST_CELLS
    cdef double* edges = at.below + MOST_CELLS
    at.low = <int32_t*> (edges + m)
    at.high = at.low + MOST_CELLS
    cdef const double* w = NULL
    cdef const double* z
    cdef const int64_t* own = NULL
    if weights is not None:
        w = &weights[0]
    if targets is None:
        own = &rows[0]
    cdef int64_t first = 0, last = 0
    with nogil:
        for r in range(k):
            z = NULL
            if own == NULL:
                z = &targets[r, 0]
            else:
                first = firsts[r]
                last = firsts[r + 1]
            if want_all and weighed_edges(&at, &columns[r, 0], n, w, -1.0, m, slack, edges):
                add_weighed(&sums[r, 0, 0], &at, &columns[r, 0], n, w, z, own, first, last, edges,
                            -1.0)
            if want_above and weighed_edges(&at, &columns[r, 0], n, w, threshold, m, slack, edges):
                add_weighed(&above[r, 0, 0], &at, &columns[r, 0], n, w, z, own, first, last, edges,
                            threshold)
    free(room)


cdef bint weighed_edges(
    weighed* at, const prediction_t* column, Py_ssize_t n, const double* weights, double threshold,
    Py_ssize_t m, double slack, double* edges,
) noexcept nogil:
    """The m - 1 edges of bins of equal weight of the predictions above a threshold, in increasing
    order; False if these have no weight.
    """
    cdef Py_ssize_t i, j, c, last = 0, here = -1, n_levels = 0, position = 0
    cdef double x = 0.0, total = 0.0, target, through = 0.0, mass = 0.0
    memset(at.mass, 0, MOST_CELLS * sizeof(double))
    memset(at.low, 0, MOST_CELLS * sizeof(int32_t))
    for i in range(n):
        x = read_bits(column + i)
        if x > threshold:
            at.mass[cell_of(x)] += 1.0 if weights == NULL else weights[i]
    for c in range(MOST_CELLS):
        at.below[c] = total
        total += at.mass[c]
        if at.mass[c] > 0.0:
            last = c
    if not total > 0.0:
        return False
    # The cells in which a sought rank lies, marked; their predictions are put in order.
    c = 0
    for j in range(1, m):
        while c < last and at.below[c] + at.mass[c] < j * total / m:
            c += 1
        at.low[c] = 1
    for i in range(n):
        x = read_bits(column + i)
        if x > threshold and at.low[cell_of(x)]:
            at.levels[n_levels].x = x
            at.levels[n_levels].w = 1.0 if weights == NULL else weights[i]
            n_levels += 1
    qsort(at.levels, n_levels, sizeof(level), by_prediction)
    c = 0
    for j in range(1, m):
        target = j * total / m
        while c < last and at.below[c] + at.mass[c] < target:
            c += 1
        # On to the level with the rank: to its cell, and no further than that.
        while here < c or (
            through + mass < target and position < n_levels
            and cell_of(at.levels[position].x) == c
        ):
            x = at.levels[position].x
            through = through + mass if here == cell_of(x) else at.below[cell_of(x)]
            here = cell_of(x)
            mass = 0.0
            while position < n_levels and at.levels[position].x == x:
                mass += at.levels[position].w
                position += 1
        # A prediction's middle rank decides on which side of its edge it falls.
        edges[j - 1] = x
        if (2.0 * through + mass) * m <= 2.0 * j * total * slack:
            edges[j - 1] = nextafter(x, 2.0)
        if j > 1 and edges[j - 1] < edges[j - 2]:
            edges[j - 1] = edges[j - 2]
    # Bins by cell: an edge in a lower cell is below all predictions of a cell.
    j = 0
    for c in range(MOST_CELLS):
        at.low[c] = <int32_t> j
        while j < m - 1 and cell_of(edges[j]) <= c:
            j += 1
        at.high[c] = <int32_t> j
    return True


cdef inline double read_bits(const prediction_t* at) noexcept nogil:
    cdef prediction_t given
    memcpy(&given, at, sizeof(given))  # written as bits
    return given


cdef inline Py_ssize_t weighed_bin(const weighed* at, double x, const double* edges) noexcept nogil:
    cdef Py_ssize_t c = cell_of(x), b
    b = at.low[c]
    while b < at.high[c] and edges[b] <= x:
        b += 1
    return b


cdef void add_weighed(
    double* table, const weighed* at, const prediction_t* column, Py_ssize_t n,
    const double* weights, const double* targets, const int64_t* rows, int64_t first, int64_t last,
    const double* edges, double threshold,
) noexcept nogil:
    """The sums of bins, with targets, or with the rows that have the class's label."""
    cdef Py_ssize_t i
    cdef int64_t j
    cdef double x, w = 1.0, z
    cdef double* cell
    for i in range(n):
        x = read_bits(column + i)
        if not x > threshold:
            continue
        if weights != NULL:
            w = weights[i]
        cell = table + FIELDS * weighed_bin(at, x, edges)
        cell[N] += w > 0.0
        cell[W] += w
        cell[W2] += w * w
        cell[WU] += w * x
        cell[WU2] += w * (x * x)
        if targets != NULL:
            z = targets[i]
            cell[WZ] += w * z
            cell[WUZ] += w * (x * z)
            cell[WZ2] += w * (z * z)
            cell[W2Z] += (w * w) * z
    if targets != NULL:
        return
    for j in range(first, last):
        x = read_bits(column + rows[j])
        if x > threshold:
            if weights != NULL:
                w = weights[rows[j]]
            cell = table + FIELDS * weighed_bin(at, x, edges)
            cell[WZ] += w
            cell[WUZ] += w * x
            cell[WZ2] += w
            cell[W2Z] += w * w


def add_residuals(
    double[:, ::1] residual, const prediction_t[:, ::1] predictions, const int64_t[::1] labels,
    const double[:, ::1] targets, const double[::1] weights, const int64_t[::1] rows,
    const int64_t[::1] cells,
):
    """Add w (p - z) of each of the `rows` to its cell's row of `residual`.

    Targets are class indices (`labels`) or rows of numbers (`targets`). Rows that come in the
    order of their cells find the sums of a cell in the cache.
    """
    cdef Py_ssize_t k = predictions.shape[1], j, r, i
    cdef bint hard = labels is not None, weighted = weights is not None
    if residual.shape[1] != k:
        raise ValueError(f"a cell's residual has {k} columns; got {residual.shape[1]}")
    cdef double* out
    cdef const prediction_t* p
    cdef const double* q
    cdef double w = 1.0, x, at_label = 0.0
    with nogil:
        for j in range(rows.shape[0]):
            i = rows[j]
            out = &residual[cells[j], 0]
            p = &predictions[i, 0]
            if weighted:
                w = weights[i]
            if hard:
                at_label = out[labels[i]] + w * (unit(p[labels[i]]) - 1.0)
                for r in range(k):
                    out[r] += w * unit(p[r])
                out[labels[i]] = at_label
            else:
                q = &targets[i, 0]
                for r in range(k):
                    out[r] += w * (unit(p[r]) - q[r])
