/* The bin of a prediction, and sums of unweighted predictions with 0/1 labels, four samples at a time. */
#ifndef CALIBRANT_BINS_H
#define CALIBRANT_BINS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "_tolerance.h"

/* The loops below are only fast when everything in them is compiled in place. */
#if defined(__GNUC__)
#define IN_PLACE static inline __attribute__((always_inline))
#else
#define IN_PLACE static inline
#endif

/* Inner edges with a sentinel, and the table of cells that gives a first guess (calibrant.binning:
 * Cuts). `cells` is a power of two, so the product is exact and the guess is never too high. */
typedef struct {
    const double *edges;
    const int32_t *start;
    double cells;
    int crowded;
} cuts_t;

/* The number of inner edges at or below x, which lies in [0, 1]. */
IN_PLACE ptrdiff_t bin_of(double x, const cuts_t *cuts)
{
    ptrdiff_t cell = (ptrdiff_t)(x * cuts->cells);
    ptrdiff_t low = cuts->start[cell];
    if (cuts->crowded) {
        ptrdiff_t high = cuts->start[cell + 1];
        while (low < high) {
            ptrdiff_t middle = (low + high) >> 1;
            if (x >= cuts->edges[middle])
                low = middle + 1;
            else
                high = middle;
        }
    }
    while (x >= cuts->edges[low]) low++;
    return low;
}

/* A cell (bin, label) holds the count, the sum and the sum of squares of its predictions. */
#define CELL 4

IN_PLACE void add_to_cell(double *cells, double x, uint64_t label, const cuts_t *cuts,
                               int squares)
{
    double *cell = cells + CELL * (2 * bin_of(x, cuts) + (ptrdiff_t)label);
#if defined(__GNUC__)
    /* Count and sum in one 16-byte addition. */
    typedef double pair __attribute__((vector_size(16)));
    pair both;
    memcpy(&both, cell, sizeof both);
    both += (pair){1.0, x};
    memcpy(cell, &both, sizeof both);
#else
    cell[0] += 1.0;
    cell[1] += x;
#endif
    if (squares) cell[2] += x * x;
}

/* The label of a target that is 0 or 1; `odd` gets a bit if it is anything else. */
IN_PLACE uint64_t label_of_integer(uint64_t target, uint64_t *odd)
{
    *odd |= target >> 1;
    return target;
}

IN_PLACE uint64_t label_of_double(double target, uint64_t *odd)
{
    const uint64_t one = (uint64_t)1023 << 52; /* the bits of 1.0; those of 0.0 are all 0 */
    uint64_t bits, label;
    memcpy(&bits, &target, sizeof bits);
    label = (bits >> 52) & 1;
    *odd |= bits ^ (one & (0 - label));
    return label;
}

/* Whether a prediction is outside [0, 1], or NaN, in the top bit: its bits are above those of 1, or it
 * has a sign. (-0.0 has one too, and takes the slow way.) In integers, because the other unit is
 * busy with the sums. */
IN_PLACE uint64_t outside_double(const double *prediction)
{
    uint64_t bits;
    memcpy(&bits, prediction, sizeof bits);
    return (((uint64_t)1023 << 52) - bits) | bits;
}

IN_PLACE uint64_t outside_float(const float *prediction)
{
    uint32_t bits;
    memcpy(&bits, prediction, sizeof bits);
    return (uint64_t)((((uint32_t)127 << 23) - bits) | bits) << 32;
}

/* Add groups of four samples to four replicas of the cells, in turn, so that no addition waits for
 * the one before. Stops before a group that holds a prediction outside [0, 1] or a target that is not
 * 0 or 1; returns how many samples were added. */
#define DEFINE_ADD_GROUPS(NAME, REPORT, TARGET, LABEL)                                            \
    IN_PLACE ptrdiff_t NAME##_with(double *cells, ptrdiff_t replica, const REPORT *u,             \
                                   const TARGET *t, ptrdiff_t i, ptrdiff_t n, cuts_t cuts,        \
                                   const int squares)                                             \
    {                                                                                             \
        double *c1 = cells + replica, *c2 = c1 + replica, *c3 = c2 + replica;                     \
        for (; i + 4 <= n; i += 4) {                                                              \
            uint64_t odd = 0, out = outside_##REPORT(u + i) | outside_##REPORT(u + i + 1)         \
                                    | outside_##REPORT(u + i + 2) | outside_##REPORT(u + i + 3);  \
            uint64_t y0 = LABEL(t[i], &odd), y1 = LABEL(t[i + 1], &odd);                          \
            uint64_t y2 = LABEL(t[i + 2], &odd), y3 = LABEL(t[i + 3], &odd);                      \
            if ((odd | (out >> 63)) != 0) break;                                                  \
            add_to_cell(cells, u[i], y0, &cuts, squares);                                         \
            add_to_cell(c1, u[i + 1], y1, &cuts, squares);                                        \
            add_to_cell(c2, u[i + 2], y2, &cuts, squares);                                        \
            add_to_cell(c3, u[i + 3], y3, &cuts, squares);                                        \
        }                                                                                         \
        return i;                                                                                 \
    }                                                                                             \
    /* One compiled loop for each kind of cuts and with or without squares. */                    \
    static ptrdiff_t NAME(double *cells, ptrdiff_t replica, const REPORT *u, const TARGET *t,     \
                          ptrdiff_t i, ptrdiff_t n, cuts_t cuts, int squares)                     \
    {                                                                                             \
        if (cuts.crowded) return NAME##_with(cells, replica, u, t, i, n, cuts, squares);          \
        cuts.crowded = 0;                                                                         \
        if (squares) return NAME##_with(cells, replica, u, t, i, n, cuts, 1);                     \
        return NAME##_with(cells, replica, u, t, i, n, cuts, 0);                                  \
    }

DEFINE_ADD_GROUPS(add_groups_float_u8, float, uint8_t, label_of_integer)
DEFINE_ADD_GROUPS(add_groups_float_i32, float, int32_t, label_of_integer)
DEFINE_ADD_GROUPS(add_groups_float_i64, float, int64_t, label_of_integer)
DEFINE_ADD_GROUPS(add_groups_float_f64, float, double, label_of_double)
DEFINE_ADD_GROUPS(add_groups_double_u8, double, uint8_t, label_of_integer)
DEFINE_ADD_GROUPS(add_groups_double_i32, double, int32_t, label_of_integer)
DEFINE_ADD_GROUPS(add_groups_double_i64, double, int64_t, label_of_integer)
DEFINE_ADD_GROUPS(add_groups_double_f64, double, double, label_of_double)

#endif
