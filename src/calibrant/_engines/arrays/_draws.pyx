# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
# cython: initializedcheck=False, embedsignature=True
"""Compiled passes over many drawn samples: outcomes, labels, isotonic fits, rising bins.

A row of each array is one draw, a column a cell. `calibrant._engines.arrays.draws` has the same in
NumPy, number for number.
"""
from libc.stdint cimport int32_t, int64_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc

cdef enum:
    STEP = 256  # rows at a time, so that what belongs to them stays at hand


def fill_numbers(int32_t[::1] numbers, uint64_t[::1] state):
    """Write whole numbers of 31 bits, two of each 64 of SFC64, the lower half first.

    `state` is that of `numpy.random.SFC64`, and is left where the generator would be.
    """
    cdef Py_ssize_t i, size = numbers.shape[0]
    cdef uint64_t a = state[0], b = state[1], c = state[2], counter = state[3], drawn
    with nogil:
        for i from 0 <= i < size by 2:
            drawn = a + b + counter
            counter += 1
            a = b ^ (b >> 11)
            b = c + (c << 3)
            c = ((c << 24) | (c >> 40)) + drawn
            numbers[i] = <int32_t> (<uint32_t> drawn >> 1)
            if i + 1 < size:
                numbers[i + 1] = <int32_t> (drawn >> 33)
    state[0] = a
    state[1] = b
    state[2] = c
    state[3] = counter


cdef inline Py_ssize_t how_many_below(int32_t x, const int32_t* lasts, Py_ssize_t k) noexcept nogil:
    """How many of k rising numbers are below x; without a branch that nobody can foresee."""
    cdef Py_ssize_t at = 0, half
    while k > 1:
        half = k >> 1
        at += half * (lasts[at + half - 1] < x)
        k -= half
    return at + (k == 1 and lasts[at] < x)


def count_steps(
    double[:, ::1] hits, const int32_t[:, ::1] numbers, const int32_t[::1] lasts,
    const int64_t[::1] firsts,
):
    """Write how many of the rising `lasts` of each cell are below its number."""
    cdef Py_ssize_t d, c, start
    if lasts.shape[0] == 0:
        hits[:, :] = 0.0
        return
    with nogil:
        for start from 0 <= start < hits.shape[1] by STEP:
            for d in range(hits.shape[0]):
                for c in range(start, min(start + STEP, hits.shape[1])):
                    hits[d, c] = <double> how_many_below(
                        numbers[d, c], &lasts[0] + firsts[c], firsts[c + 1] - firsts[c]
                    )


cdef inline int32_t how_many_within(
    const int32_t* numbers, Py_ssize_t n, int32_t last, const int32_t* end
) noexcept nogil:
    """How many of n numbers are not above the last; memory is theirs up to `end`.

    Where cells have a row or two, now more and now fewer, a loop of so many steps costs more for
    its end, which nobody can foresee, than four comparisons of which some do not count.
    """
    cdef Py_ssize_t i
    cdef int32_t count = 0
    if n <= 4 and end - numbers >= 4:
        count = (n > 0) & (numbers[0] <= last)
        count += (n > 1) & (numbers[1] <= last)
        count += (n > 2) & (numbers[2] <= last)
        count += (n > 3) & (numbers[3] <= last)
        return count
    for i in range(n):
        count += numbers[i] <= last
    return count


def count_outcomes(
    double[:, ::1] hits, const int32_t[:, ::1] numbers, const int64_t[:, ::1] rows,
    const int32_t[::1] lasts,
):
    """Write how many of the numbers of each cell are not above its last; cells have `rows`."""
    cdef Py_ssize_t d, c, n, last_row = rows.shape[0] - 1
    cdef const int32_t* at
    cdef const int32_t* end
    if numbers.shape[0] == 0 or numbers.shape[1] == 0:
        return
    end = &numbers[0, 0] + numbers.shape[0] * numbers.shape[1]
    with nogil:
        for d in range(hits.shape[0]):
            at = &numbers[d, 0]
            for c in range(hits.shape[1]):
                n = rows[d if d < last_row else last_row, c]
                hits[d, c] = how_many_within(at, n, lasts[c], end)
                at += n


def draw_labels(
    uint16_t[:, ::1] labels, const int32_t[:, :] lasts, const int32_t[:, ::1] numbers
):
    """Write the class that each number falls into: `lasts` (n, k - 1) are those of each class.

    Those of one class side by side are compared many at a time; of a row side by side, searched.
    """
    cdef Py_ssize_t d, i, r, start, some, n = lasts.shape[0], k = lasts.shape[1]
    cdef bint side_by_side = lasts.strides[0] == sizeof(int32_t)
    cdef int32_t label[STEP]
    cdef const int32_t* x
    cdef const int32_t* last
    with nogil:
        for start from 0 <= start < n by STEP:
            some = min(STEP, n - start)
            for d in range(labels.shape[0]):
                x = &numbers[d, start]
                for i in range(some):
                    label[i] = 0
                if side_by_side:
                    for r in range(k):
                        last = &lasts[start, r]
                        for i in range(some):
                            label[i] += x[i] > last[i]
                elif k > 0:
                    for i in range(some):
                        label[i] = <int32_t> how_many_below(x[i], &lasts[start + i, 0], k)
                for i in range(some):
                    labels[d, start + i] = <uint16_t> label[i]


def count_labels(
    double[:, ::1] sums, const uint16_t[:, ::1] labels, const int32_t[:, ::1] index,
    const double[::1] weights,
):
    """Add the weight (or 1) of each row to the bin that its label has there; below 0 is none."""
    cdef Py_ssize_t d, i, start, n = index.shape[0]
    cdef int32_t at
    cdef bint weighted = weights is not None
    with nogil:
        for start from 0 <= start < n by STEP:
            for d in range(labels.shape[0]):
                for i in range(start, min(start + STEP, n)):
                    at = index[i, labels[d, i]]
                    if at >= 0:
                        sums[d, at] += weights[i] if weighted else 1.0


def fit_isotonic(double[:, ::1] fits, const double[:, ::1] w, const double[:, ::1] wz):
    """Write the rising means that fit wz / w best, of each draw; 0 where a cell has no weight."""
    cdef Py_ssize_t d, c, i, size = w.shape[1], top
    cdef double* weight = <double*> malloc((size + 1) * (2 * sizeof(double) + sizeof(Py_ssize_t)))
    if weight == NULL:
        raise MemoryError
    cdef double* total = weight + size + 1
    cdef Py_ssize_t* first = <Py_ssize_t*> (total + size + 1)
    cdef double mean
    with nogil:
        for d in range(w.shape[0]):
            top = 0
            for c in range(size):
                fits[d, c] = 0.0
                if not w[d, c] > 0.0:
                    continue
                weight[top] = w[d, c]
                total[top] = wz[d, c]
                first[top] = c
                # A pool whose mean is not above that of the one before joins it.
                while top > 0 and total[top - 1] * weight[top] >= total[top] * weight[top - 1]:
                    weight[top - 1] += weight[top]
                    total[top - 1] += total[top]
                    top -= 1
                top += 1
            first[top] = size
            for i in range(top):
                mean = total[i] / weight[i]
                for c in range(first[i], first[i + 1]):
                    if w[d, c] > 0.0:
                        fits[d, c] = mean
    free(weight)


def isotonic_with_a_one(double[::1] up, double[::1] of, const double[::1] x, const double[::1] y):
    """What `calibrant.scaling._venn_abers.with_a_one` finds, by the same steps."""
    cdef Py_ssize_t n = x.shape[0], j, b, c, at, top
    cdef double dx, dy, new_x, new_y
    cdef double* xs = <double*> malloc((n + 1) * (2 * sizeof(double) + sizeof(Py_ssize_t)))
    if xs == NULL:
        raise MemoryError
    cdef double* ys = xs + n + 1
    cdef Py_ssize_t* follows = <Py_ssize_t*> (ys + n + 1)
    with nogil:
        # Each point's next corner on the lower convex hull of itself and all points after it.
        for j in range(n - 1, -1, -1):
            c = j + 1
            while c < n and follows[c] < n and (
                (y[c] - y[j]) * (x[follows[c]] - x[c]) >= (y[follows[c]] - y[c]) * (x[c] - x[j])
            ):
                c = follows[c]
            follows[j] = c
        xs[0] = ys[0] = -1.0
        at = b = 0
        top = 1
        for j in range(n):
            b = max(b, j)
            while True:
                dx = x[b] - xs[at]
                dy = y[b] - ys[at]
                c = follows[b]
                while c < n and (y[c] - y[b]) * dx < dy * (x[c] - x[b]):
                    b = c
                    dx = x[b] - xs[at]
                    dy = y[b] - ys[at]
                    c = follows[b]
                if at + 1 == top or (ys[at + 1] - ys[at]) * dx >= dy * (xs[at + 1] - xs[at]):
                    break
                at += 1
            up[j] = dy
            of[j] = dx
            new_x = x[j] - 1.0
            new_y = y[j] - 1.0
            while top > at + 1 and (
                (ys[top - 1] - ys[top - 2]) * (new_x - xs[top - 1])
                >= (new_y - ys[top - 1]) * (xs[top - 1] - xs[top - 2])
            ):
                top -= 1
            xs[top] = new_x
            ys[top] = new_y
            top += 1
    free(xs)


cdef inline double place_of(double doubled, double m, double twice, double less) noexcept nogil:
    """Where a level lies among m bins: the formula of `calibrant._core.binning.MiddleRanks`."""
    return doubled * m / twice * less


cdef inline Py_ssize_t begin_of(
    const double* doubled, Py_ssize_t size, Py_ssize_t a, Py_ssize_t guess, double j, double m,
    double twice, double less,
) noexcept nogil:
    """The first level from `a` on whose place among m bins is above j; near `guess`, if it can be
    guessed.
    """
    cdef Py_ssize_t b = size, middle, step = 1
    cdef double bound = j * twice / m, near = 1e-9 * bound
    if a < guess < size:  # steps away from the guess double until the level is between two of them
        if doubled[guess] < bound:
            a = guess + 1
            while a + step < size and doubled[a + step] < bound:
                a += step + 1
                step += step
            b = min(size, a + step)
        else:
            b = guess
            while b - step > a and doubled[b - step] >= bound:
                b -= step
                step += step
            a = max(a, b - step)
    while a < b:
        middle = (a + b) >> 1
        if doubled[middle] < bound:
            a = middle + 1
        else:
            b = middle
    # Places are divided and compared only where rounding could decide.
    if (a == 0 or doubled[a - 1] < bound - near) and (a == size or doubled[a] > bound + near):
        return a
    while a > 0 and place_of(doubled[a - 1], m, twice, less) > j:
        a -= 1
    while a < size and place_of(doubled[a], m, twice, less) <= j:
        a += 1
    return a


def rising_bins(
    int32_t[:, ::1] bins, const double[:, ::1] w, const double[:, ::1] wz, double rounding
):
    """Write each cell's bin, of the most bins of equal mass whose mean targets never fall.

    The number of bins is raised until the first fall, draw by draw.
    """
    cdef Py_ssize_t d, c, size = w.shape[1], n, m, j, at, last, best, width
    cdef double* doubled = <double*> malloc(3 * (size + 1) * sizeof(double))
    if doubled == NULL:
        raise MemoryError
    cdef double* weight = doubled + size + 1
    cdef double* target = weight + size + 1
    cdef double twice, before, mean, less = 1.0 - rounding
    cdef bint falls, some
    with nogil:
        for d in range(w.shape[0]):
            n = 0
            weight[0] = 0.0
            target[0] = 0.0
            for c in range(size):
                if w[d, c] > 0.0:
                    weight[n + 1] = weight[n] + w[d, c]
                    target[n + 1] = target[n] + wz[d, c]
                    doubled[n] = 2.0 * (weight[n + 1] - w[d, c]) + w[d, c]
                    n += 1
            twice = 2.0 * weight[n]
            best = max(n, 1)
            for m in range(2, n + 1):
                falls = False
                some = False
                before = 0.0
                last = 0
                width = 0
                for j in range(1, m + 1):
                    if j == m:
                        at = n
                    else:  # bins of equal mass have about as many levels as the one before
                        at = begin_of(doubled, n, last, last + width, j, m, twice, less)
                    if at > last:
                        width = at - last
                        mean = (target[at] - target[last]) / (weight[at] - weight[last])
                        if some and mean - before < -rounding:
                            falls = True
                            break
                        before = mean
                        some = True
                        last = at
                if falls:
                    best = m - 1
                    break
            at = 0
            j = 0
            for c in range(size):
                bins[d, c] = <int32_t> j
                if w[d, c] > 0.0:
                    while j + 1 < best and place_of(doubled[at], best, twice, less) > j + 1:
                        j += 1
                    bins[d, c] = <int32_t> j
                    at += 1
    free(doubled)
