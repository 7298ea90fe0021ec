# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
# cython: initializedcheck=False, embedsignature=True
"""Compiled LS-ECE with uniform noise, of logits in order.

The formula is that of ``calibrant._measures.smooth.ls_ece_uniform``, its twin: between the ends
h - sigma/2 and h + sigma/2 of the samples' intervals the integrand is Z (1 - rho) - N rho.

The ends are those of one order: h[i] enters before h[j] leaves where h[i] - h[j] <= sigma. Of the
first q ends, i are entries and q - i are leaves, and a search finds i, so that segments of the ends
can be integrated apart. Where the integrand cannot change its sign within a block of ends, every
end adds what it changes, in any order; elsewhere the stretches are integrated one by one.
"""
from libc.math cimport exp, expm1, fabs, log, log1p

# Stretches at most this long are integrated by a few terms around their middle, to the last digit;
# and this far from a point rho is its Taylor series there.
cdef double SHORT = 1.0 / 64.0
cdef double NEAR = 1.0 / 256.0

cdef enum:
    FEW_ENDS = 16  # a block of fewer ends is not worth its bounds
    MOST_ENDS = 256


cdef struct Point:
    double at
    double up
    double down
    double c[5]


cdef inline void move(Point* p, double t) noexcept nogil:
    """Take rho, 1 - rho and the Taylor coefficients of rho at t."""
    cdef double odds = exp(-t if t > -700.0 else 700.0), s, q
    p.at = t
    p.up = 1.0 / (1.0 + odds)
    p.down = odds * p.up
    s = p.up * p.down
    q = p.down - p.up
    p.c[0] = s
    p.c[1] = s * q / 2.0
    p.c[2] = s * (1.0 - 6.0 * s) / 6.0
    p.c[3] = s * q * (1.0 - 12.0 * s) / 24.0
    p.c[4] = s * (1.0 - 30.0 * s + 120.0 * s * s) / 120.0


cdef inline double softplus(double t) noexcept nogil:
    return (t if t > 0.0 else 0.0) + log1p(exp(-fabs(t)))


cdef inline double signed_integral(double plus, double minus, double a, double d) noexcept nogil:
    """The integral of Z (1 - rho) - N rho from a to a + d, whatever d is."""
    cdef Point p
    if d <= 0.0:
        return 0.0
    if d < 1.0:
        move(&p, a)
        return -plus * log1p(p.down * expm1(-d)) - minus * log1p(p.up * expm1(d))
    return (plus * (softplus(-a) - softplus(-a - d)) - minus * (softplus(a + d) - softplus(a)))


cdef inline double across(double plus, double minus, double a, double d) noexcept nogil:
    """The integral of its absolute value, where the integrand may change its sign."""
    cdef double c
    if plus <= 0.0 or minus <= 0.0:
        return fabs(signed_integral(plus, minus, a, d))
    c = log(plus) - log(minus) - a
    c = 0.0 if c < 0.0 else (d if c > d else c)
    return (fabs(signed_integral(plus, minus, a, c))
            + fabs(signed_integral(plus, minus, a + c, d - c)))


cdef inline double stretch(
    Point* p, double plus, double minus, double a, double d
) noexcept nogil:
    """The integral of the absolute value over a stretch of one set of samples."""
    cdef double t, x, up, down, s, bend, middle, reach
    if d > SHORT:
        return across(plus, minus, a, d)
    t = a + 0.5 * d
    if fabs(t - p.at) > NEAR:
        move(p, t)
    x = t - p.at
    x *= p.c[0] + x * (p.c[1] + x * (p.c[2] + x * (p.c[3] + x * p.c[4])))
    up = p.up + x
    down = p.down - x
    s = up * down
    middle = plus * down - minus * up
    # The integrand falls all the way: by no more than this to either side of the middle.
    reach = 0.51 * d * (plus + minus) * s
    if fabs(middle) <= reach:
        return across(plus, minus, a, d)
    bend = s * (down - up) * (d * d) * (1.0 / 24.0 + d * d * (1.0 - 12.0 * s) / 1920.0)
    return fabs(d * (middle - (plus + minus) * bend))


cdef struct Order:
    const double* h
    const double* w  # sums of w and of w z at each logit
    const double* wz
    Py_ssize_t n
    double sigma
    double half


cdef struct Place:
    # So many have entered and left, and these are sums over those in between.
    Py_ssize_t i
    Py_ssize_t j
    double plus
    double minus
    # The last end: a logit and the side of it.
    double last
    double side


cdef inline Py_ssize_t entries_of(
    const Order* o, Py_ssize_t q, Py_ssize_t low, Py_ssize_t high
) noexcept nogil:
    """How many of the first q ends are entries: between `low` and `high`."""
    cdef Py_ssize_t i
    low = low if low > q - o.n else q - o.n
    high = high if high < q else q
    high = high if high < o.n else o.n
    while low < high:
        i = (low + high) >> 1
        # By differences of logits, which are exact where sigma is small.
        if o.h[i] - o.h[q - i - 1] <= o.sigma:
            low = i + 1
        else:
            high = i
    return low


cdef inline void go_to(Place* at, const Order* o, Py_ssize_t i, Py_ssize_t j) noexcept nogil:
    """Take the last end where i have entered and j have left."""
    at.i = i
    at.j = j
    if j and (i == 0 or o.h[i - 1] - o.h[j - 1] <= o.sigma):
        at.last = o.h[j - 1]
        at.side = o.half
    else:
        at.last = o.h[i - 1]
        at.side = -o.half


cdef inline void add_window(Place* at, const Order* o) noexcept nogil:
    cdef Py_ssize_t i
    at.plus = at.minus = 0.0
    for i in range(at.j, at.i):
        at.plus += o.wz[i]
        at.minus += o.w[i] - o.wz[i]


cdef inline double step(Place* at, Point* p, const Order* o) noexcept nogil:
    """Pass one end; returns the integral over the stretch before it."""
    cdef double d, here, side, integral = 0.0
    cdef bint enters = at.i < o.n and o.h[at.i] - o.h[at.j] <= o.sigma
    here = o.h[at.i] if enters else o.h[at.j]
    side = -o.half if enters else o.half
    if at.i > at.j:
        d = (here - at.last) + (side - at.side)
        if d > 0.0:
            integral = stretch(p, at.plus, at.minus, at.last + at.side, d)
    if enters:
        at.plus += o.wz[at.i]
        at.minus += o.w[at.i] - o.wz[at.i]
        at.i += 1
    else:
        at.plus -= o.wz[at.j]
        at.minus -= o.w[at.j] - o.wz[at.j]
        at.plus = at.plus if at.plus > 0.0 else 0.0
        at.minus = at.minus if at.minus > 0.0 else 0.0
        at.j += 1
        if at.i == at.j:
            at.plus = at.minus = 0.0
    at.last = here
    at.side = side
    return integral


cdef struct Sums:
    double w
    double plus
    double minus


cdef inline Sums sums_over(const Order* o, Py_ssize_t first, Py_ssize_t stop) noexcept nogil:
    cdef Sums s
    cdef Py_ssize_t i
    s.w = s.plus = 0.0
    for i in range(first, stop):
        s.w += o.w[i]
        s.plus += o.wz[i]
    s.minus = s.w - s.plus
    return s


cdef inline double bent(const Point* p, double x) noexcept nogil:
    """The integral of rho from p to p + x, but for its first term."""
    return x * x * (p.c[0] / 2.0 + x * (p.c[1] / 3.0 + x * (
        p.c[2] / 4.0 + x * (p.c[3] / 5.0 + x * (p.c[4] / 6.0)))))


cdef inline double change(
    const Point* p, const Order* o, Py_ssize_t first, Py_ssize_t stop, double base, double offset,
    double half_d,
) noexcept nogil:
    """The integral over what the samples first..stop bring, from their ends to the block's."""
    cdef Py_ssize_t i
    cdef double x, w, z, total = 0.0, whole = bent(p, half_d)
    cdef double a1 = p.c[0] / 2.0, a2 = p.c[1] / 3.0, a3 = p.c[2] / 4.0, a4 = p.c[3] / 5.0
    cdef double a5 = p.c[4] / 6.0
    for i in range(first, stop):
        x = (o.h[i] - base) + offset
        w = o.w[i]
        z = o.wz[i]
        total += (half_d - x) * (z * p.down - (w - z) * p.up) - w * (
            whole - x * x * (a1 + x * (a2 + x * (a3 + x * (a4 + x * a5)))))
    return total


cdef inline bint block(
    Place* at, Point* p, const Order* o, Py_ssize_t stop, double* total
) noexcept nogil:
    """Pass the ends up to the `stop`-th at once, if the integrand keeps its sign on the way."""
    cdef Py_ssize_t q = at.i + at.j, i = entries_of(o, stop, at.i, at.i + stop - q), j = stop - i
    cdef Place then
    cdef Sums enter, leave
    cdef double d, half_d, value, rise, lower, upper
    go_to(&then, o, i, j)
    d = (then.last - at.last) + (then.side - at.side)
    if d > SHORT:
        return False
    half_d = 0.5 * d
    move(p, at.last + at.side + half_d)
    enter = sums_over(o, at.i, i)
    leave = sums_over(o, at.j, j)
    # rho rises by no more than this to either side of the middle.
    rise = 0.51 * d * p.up * p.down
    lower = (at.plus - leave.plus) * (p.down - rise) - (at.minus + enter.minus) * (p.up + rise)
    upper = (at.plus + enter.plus) * (p.down + rise) - (at.minus - leave.minus) * (p.up - rise)
    if not (lower > 0.0 or upper < 0.0):
        return False
    value = d * (at.plus * p.down - at.minus * p.up)
    value -= (at.plus + at.minus) * (bent(p, half_d) - bent(p, -half_d))
    # Where an end lies, seen from the middle of the block.
    value += change(p, o, at.i, i, at.last, (-o.half - at.side) - half_d, half_d)
    value -= change(p, o, at.j, j, at.last, (o.half - at.side) - half_d, half_d)
    total[0] += fabs(value)
    then.plus = at.plus + (enter.plus - leave.plus)
    then.minus = at.minus + (enter.minus - leave.minus)
    then.plus = then.plus if then.plus > 0.0 else 0.0
    then.minus = then.minus if then.minus > 0.0 else 0.0
    if i == j:
        then.plus = then.minus = 0.0
    at[0] = then
    return True


def uniform_error(
    const double[::1] h, const double[::1] w, const double[::1] wz, double sigma,
    Py_ssize_t start, Py_ssize_t stop,
):
    """The integral of |Z (1 - rho) - N rho| for logits in order, up to the ends start..stop of all.

    `w` and `wz` are sums of w and w z at each logit.
    """
    cdef Order o
    cdef Place at
    cdef Point p
    cdef Py_ssize_t size = MOST_ENDS, q
    cdef double total = 0.0, part = 0.0
    o.h, o.w, o.wz = &h[0], &w[0], &wz[0]
    o.n, o.sigma, o.half = h.shape[0], sigma, sigma / 2.0
    with nogil:
        at.i = entries_of(&o, start, 0, start)
        at.j = start - at.i
        at.last = h[0]
        at.side = -o.half
        if start:
            go_to(&at, &o, at.i, at.j)
        add_window(&at, &o)
        move(&p, at.last + at.side)
        while at.i + at.j < stop:
            total += part
            part = 0.0
            q = at.i + at.j
            q = q + size if q + size < stop else stop
            if at.i > at.j and size >= FEW_ENDS:
                if block(&at, &p, &o, q, &part):
                    size = 2 * size if size < MOST_ENDS else MOST_ENDS
                else:
                    size = size >> 1
                continue
            while at.i + at.j < q:
                part += step(&at, &p, &o)
            size = FEW_ENDS
    return total + part
