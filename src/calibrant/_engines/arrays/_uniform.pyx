# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
# cython: initializedcheck=False, embedsignature=True
"""Compiled LS-ECE with uniform noise, of logits in order.

The formula is that of ``calibrant._measures.smooth.ls_ece_uniform``, its twin: between the ends
h - sigma/2 and h + sigma/2 of the samples' intervals the integrand is Z (1 - rho) - N rho.
"""
from libc.math cimport exp, expm1, fabs, log, log1p

# Stretches at most this long are integrated by a few terms around their middle, to the last digit;
# and this far from a point rho is its Taylor series there.
cdef double SHORT = 1.0 / 64.0
cdef double NEAR = 1.0 / 256.0


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


def uniform_error(
    const double[::1] h, const double[::1] plus, const double[::1] minus, double sigma
):
    """The integral of |Z (1 - rho) - N rho| over the line, for logits in order.

    `plus` and `minus` are sums of w z and w (1 - z) at each logit.
    """
    cdef Py_ssize_t n = h.shape[0], i = 0, j = 0
    cdef double half = sigma / 2.0, z = 0.0, m = 0.0, total = 0.0, part = 0.0, d
    cdef double last = 0.0, last_side = 0.0, side, here
    cdef Point p
    cdef bint enters
    with nogil:
        move(&p, h[0] - half)
        while j < n:
            # By differences of logits, which are exact where sigma is small.
            enters = i < n and h[i] - h[j] <= sigma
            here = h[i] if enters else h[j]
            side = -half if enters else half
            if i > j:
                d = (here - last) + (side - last_side)
                if d > 0.0:
                    part += stretch(&p, z, m, last + last_side, d)
            if enters:
                z += plus[i]
                m += minus[i]
                i += 1
            else:
                z -= plus[j]
                m -= minus[j]
                z = z if z > 0.0 else 0.0
                m = m if m > 0.0 else 0.0
                j += 1
                if i == j:
                    z = m = 0.0
            last = here
            last_side = side
            if not i & 1023:
                total += part
                part = 0.0
    return total + part
