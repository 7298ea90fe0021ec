/* Reads of one row of probabilities, written so that a compiler can use vector registers.
 *
 * Two tricks. The bits of numbers that are not negative sort as the numbers do, and integers may be
 * compared and combined in any order, so largest entries are sought among bits. And where the order
 * of a sum does not matter, RESHUFFLED lets the compiler choose it; every result that must come out
 * the same for two kinds of target is summed by the same function.
 *
 * Each function exists for rows of float and of double: REPORT is the type, BITS its integer.
 */
#ifndef CALIBRANT_ROWS_H
#define CALIBRANT_ROWS_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__clang__)
#define RESHUFFLED
#elif defined(__GNUC__)
#define RESHUFFLED \
    __attribute__((optimize("O3,associative-math,no-signed-zeros,no-trapping-math"), noinline))
#else
#define RESHUFFLED
#endif

#if defined(_MSC_VER)
#define ALONE __restrict
#else
#define ALONE __restrict__
#endif

/* Entries that are looked at together before any of them is looked at alone. */
#define RUN 32

RESHUFFLED static double sum_of_squares(const double *values, ptrdiff_t k)
{
    double s = 0.0;
    for (ptrdiff_t r = 0; r < k; r++) s += values[r] * values[r];
    return s;
}

#define REPORT float
#define BITS int32_t
#define NAME(x) x##_float
#define NEXT_ABOVE(x) nextafterf(x, INFINITY)
#include "_rows_of.h"
#undef REPORT
#undef BITS
#undef NAME
#undef NEXT_ABOVE

#define REPORT double
#define BITS int64_t
#define NAME(x) x##_double
#define NEXT_ABOVE(x) nextafter(x, INFINITY)
#include "_rows_of.h"
#undef REPORT
#undef BITS
#undef NAME
#undef NEXT_ABOVE

#endif
