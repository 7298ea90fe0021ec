/* Sums of the proper losses of one probability a row, over a few hundred checked rows at a time.
 *
 * Plain loops over short arrays, which compilers turn into vector instructions. Sums run in four
 * lanes in a fixed order: the same bits from every compiler.
 */
#ifndef CALIBRANT_LOSSES_H
#define CALIBRANT_LOSSES_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>

static inline double sum_in_lanes(const double *values, ptrdiff_t n)
{
    double s[4] = {0.0, 0.0, 0.0, 0.0};
    ptrdiff_t i = 0;
    for (; i + 4 <= n; i += 4)
        for (int j = 0; j < 4; j++) s[j] += values[i + j];
    for (; i < n; i++) s[i & 3] += values[i];
    return (s[0] + s[1]) + (s[2] + s[3]);
}

static inline double sum_of_squared_gaps(const double *u, const double *z, ptrdiff_t n)
{
    double s[4] = {0.0, 0.0, 0.0, 0.0};
    ptrdiff_t i = 0;
    for (; i + 4 <= n; i += 4)
        for (int j = 0; j < 4; j++) {
            double gap = u[i + j] - z[i + j];
            s[j] += gap * gap;
        }
    for (; i < n; i++) {
        double gap = u[i] - z[i];
        s[i & 3] += gap * gap;
    }
    return (s[0] + s[1]) + (s[2] + s[3]);
}

/* The probability of what happened, where z is 0 or 1: exact, for one of the products is 0. */
static inline void of_outcomes(double *out, const double *u, const double *z, ptrdiff_t n)
{
    for (ptrdiff_t i = 0; i < n; i++) out[i] = z[i] * u[i] + (1.0 - z[i]) * (1.0 - u[i]);
}

/* Lift numbers to the floor; returns how many were below it. */
static inline int64_t lift(double *x, ptrdiff_t n, double floor)
{
    int64_t below = 0;
    for (ptrdiff_t i = 0; i < n; i++) {
        below += x[i] < floor;
        x[i] = x[i] < floor ? floor : x[i];
    }
    return below;
}

/* The sum of -log x of numbers in [1e-12, 1]: one logarithm for the product of eight.
 *
 * A product above 1/2 has lost the digits of its small logarithm: then its distance from 1 is put
 * together from theirs, which are exact. */
static inline double minus_logs(const double *x, ptrdiff_t n)
{
    double total = 0.0;
    for (ptrdiff_t i = 0; i < n; i += 8) {
        ptrdiff_t end = i + 8 < n ? i + 8 : n;
        double product;
        if (end == i + 8) {
            product = ((x[i] * x[i + 1]) * (x[i + 2] * x[i + 3]))
                      * ((x[i + 4] * x[i + 5]) * (x[i + 6] * x[i + 7]));
        } else {
            product = 1.0;
            for (ptrdiff_t j = i; j < end; j++) product *= x[j];
        }
        if (product <= 0.5) {
            total -= log(product);
        } else {
            double away = 0.0;
            for (ptrdiff_t j = i; j < end; j++) away += (1.0 - x[j]) * (1.0 - away);
            total -= log1p(-away);
        }
    }
    return total;
}

/* 1 - (z u + (1 - z)(1 - u)) / |(1 - u, u)|: `at` is the numerator. */
static inline double sum_of_spherical(double *scratch, const double *u, const double *at,
                                      ptrdiff_t n)
{
    for (ptrdiff_t i = 0; i < n; i++) {
        double below = 1.0 - u[i];
        scratch[i] = 1.0 - at[i] / sqrt(below * below + u[i] * u[i]);
    }
    return sum_in_lanes(scratch, n);
}

/* The top label's target and confidence; at 1/2 the lower class, 0, is predicted. */
static inline void of_top_label(double *hit, double *top, const double *u, const double *z,
                                ptrdiff_t n)
{
    for (ptrdiff_t i = 0; i < n; i++) {
        double below = 1.0 - u[i], miss = 1.0 - z[i];
        hit[i] = u[i] > 0.5 ? z[i] : miss;
        top[i] = u[i] > 0.5 ? u[i] : below;
    }
}

#endif
