/* Logits of many probabilities at once, in a form that compilers turn into vector instructions. */
#ifndef CALIBRANT_LOGIT_H
#define CALIBRANT_LOGIT_H

#include <stdint.h>
#include <string.h>

/* Replace x, within (0, 1) and not subnormal, by log(x / (1 - x)), to a few units of 1e-16.
 *
 * With x = 2^e a and 1 - x = 2^f b, a and b in [1, 2), the logit is (e - f) log 2 + log(a / b), and
 * log(a / b) = 2 artanh(s) with s = (a - b) / (a + b): the only division. |s| < 1/3, so fourteen
 * terms of the series are enough. */
static inline void logits_in_place(double *x, int64_t n)
{
    const uint64_t mantissa = 0xFFFFFFFFFFFFFull, one = 0x3FF0000000000000ull;
    for (int64_t i = 0; i < n; i++) {
        double below = 1.0 - x[i], a, b;
        uint64_t xa, xb;
        memcpy(&xa, &x[i], 8);
        memcpy(&xb, &below, 8);
        double exponent = (double)((int64_t)(xa >> 52) - (int64_t)(xb >> 52));
        xa = (xa & mantissa) | one;
        xb = (xb & mantissa) | one;
        memcpy(&a, &xa, 8);
        memcpy(&b, &xb, 8);
        double s = (a - b) / (a + b), q = s * s, qq = q * q;
        /* Even and odd powers of q apart: two short chains run side by side. */
        double even = ((((((1.0 / 25) * qq + 1.0 / 21) * qq + 1.0 / 17) * qq + 1.0 / 13) * qq
                        + 1.0 / 9) * qq + 1.0 / 5) * qq + 1.0;
        double odd = ((((((1.0 / 27) * qq + 1.0 / 23) * qq + 1.0 / 19) * qq + 1.0 / 15) * qq
                       + 1.0 / 11) * qq + 1.0 / 7) * qq + 1.0 / 3;
        double series = even + q * odd;
        x[i] = exponent * 0.6931471805599453 + 2.0 * s * series;
    }
}

#endif
